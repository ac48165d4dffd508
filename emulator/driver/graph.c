/* SPDX-License-Identifier: Apache-2.0 */
/* graph: the functions of graphs. Graphs come from captures. */
#include "driver.h"

#include <stdlib.h>

enum { GRAPH_FLAGS = 15, GRAPH_DEVICE_LAUNCH = 4 };

static void free_executable(emu_executable *executable)
{
    for (size_t i = 0; executable->work && i < executable->works; i++)
        emu_work_drop(&executable->work[i]);
    emu_holds_drop(&executable->holds);
    free(executable->work);
    free(executable);
}

CUresult EMU_EXPORT cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph, unsigned long long flags)
{
    emu_context *context;
    CUresult result = emu_enter(&context);
    const emu_graph *known;
    emu_executable *made;
    bool is_whole;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_GRAPH, graph);
    if (!executable || !known || (flags & ~(unsigned long long)GRAPH_FLAGS) || emu_graph_is_captured(known))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (flags & GRAPH_DEVICE_LAUNCH)
        return emu_leave(CUDA_ERROR_NOT_SUPPORTED);
    made = calloc(1, sizeof *made);
    if (made)
        made->work = calloc(known->nodes + 1, sizeof *made->work);
    is_whole = made && made->work && emu_holds_copy(&made->holds, &known->holds);
    for (size_t i = 0; is_whole && i < known->nodes; i++) {
        is_whole = emu_work_copy(&made->work[i], &known->node[i]->work);
        made->works = i + 1;
    }
    if (!is_whole || !emu_handle_new(&made->object, O_EXECUTABLE)) {
        if (made)
            free_executable(made);
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->flags = flags;
    *executable = made->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuGraphInstantiate_v2(CUgraphExec *executable, CUgraph graph, CUgraphNode *node, char *log, size_t bytes)
{
    if (node)
        *node = NULL;
    if (log && bytes)
        *log = '\0';
    return cuGraphInstantiateWithFlags(executable, graph, 0);
}

CUresult EMU_EXPORT cuGraphInstantiateWithParams(CUgraphExec *executable, CUgraph graph,
                                                 CUDA_GRAPH_INSTANTIATE_PARAMS *parameters)
{
    CUresult result;

    if (!parameters)
        return CUDA_ERROR_INVALID_VALUE;
    result = cuGraphInstantiateWithFlags(executable, graph, parameters->flags);
    parameters->error_node = NULL;
    parameters->result = result == CUDA_SUCCESS ? 0 : 1;
    return result;
}

/* Record a whole graph into a stream under capture. */
static CUresult record_all(emu_stream *stream, const emu_executable *executable)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < executable->works && result == CUDA_SUCCESS; i++)
        result = emu_capture_record(stream, &executable->work[i]);
    return result;
}

static bool calls_host(const emu_executable *executable)
{
    for (size_t i = 0; i < executable->works; i++)
        if (executable->work[i].kind == W_HOST)
            return true;
    return false;
}

CUresult EMU_EXPORT cuGraphLaunch(CUgraphExec executable, CUstream stream)
{
    emu_stream *where;
    CUresult result = emu_stream_enter(stream, &where);
    emu_executable *known;
    CUcontext context;
    bool takes_turn;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_EXECUTABLE, executable);
    if (!known)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (where->is_legacy)
        result = emu_allow_legacy(where->context);
    takes_turn = !calls_host(known);
    known->users++;
    if (result == CUDA_SUCCESS && takes_turn)
        result = emu_stream_begin_work(stream, &where);
    if (result == CUDA_SUCCESS && where->capture) {
        result = record_all(where, known);
    } else if (result == CUDA_SUCCESS) {
        context = where->context->object.handle;
        emu_unlock();
        for (size_t i = 0; i < known->works && result == CUDA_SUCCESS; i++)
            result = emu_work_do(context, &known->work[i], false);
        emu_lock();
        if (takes_turn)
            emu_stream_end_work(context, stream);
    }
    if (--known->users == 0 && known->is_destroyed)
        free_executable(known);
    return emu_leave(result);
}

CUresult EMU_EXPORT cuGraphUpload(CUgraphExec executable, CUstream stream)
{
    emu_stream *where;
    const CUresult result = emu_stream_enter(stream, &where);

    if (result != CUDA_SUCCESS)
        return result;
    return emu_leave(emu_handle_get(O_EXECUTABLE, executable) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult EMU_EXPORT cuGraphExecDestroy(CUgraphExec executable)
{
    CUresult result;
    emu_executable *known = emu_enter_object(O_EXECUTABLE, executable, &result);

    if (!known)
        return result;
    emu_handle_drop(&known->object);
    known->is_destroyed = true;
    if (!known->users)
        free_executable(known);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuGraphExecGetFlags(CUgraphExec executable, uint64_t *flags)
{
    CUresult result;
    const emu_executable *known = emu_ask_object(O_EXECUTABLE, executable, flags, &result);

    if (!known)
        return result;
    *flags = known->flags;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuGraphDestroy(CUgraph graph)
{
    CUresult result;
    emu_graph *known = emu_enter_object(O_GRAPH, graph, &result);

    if (!known)
        return result;
    if (emu_graph_is_captured(known))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    emu_graph_free(known);
    return emu_leave(CUDA_SUCCESS);
}

/* Return the node of a clone that corresponds to a node of the original. */
static emu_node *counterpart(const emu_graph *clone, const emu_node *node)
{
    for (size_t i = 0; i < clone->nodes; i++)
        if (node->graph->node[i] == node)
            return clone->node[i];
    return NULL;
}

CUresult EMU_EXPORT cuGraphClone(CUgraph *clone, CUgraph graph)
{
    CUresult result;
    emu_graph *known = emu_enter_object(O_GRAPH, graph, &result), *made;
    bool is_whole;

    if (!known)
        return result;
    if (!clone || emu_graph_is_captured(known))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < known->nodes; i++)
        if (known->node[i]->work.memory)
            return emu_leave(CUDA_ERROR_NOT_SUPPORTED);
    made = emu_graph_new();
    is_whole = made && emu_holds_copy(&made->holds, &known->holds);
    for (size_t i = 0; is_whole && i < known->nodes; i++) {
        const emu_node *node = known->node[i];
        emu_frontier after = {malloc((node->afters + 1) * sizeof(emu_node *)), node->afters};
        for (size_t n = 0; after.node && n < node->afters; n++)
            after.node[n] = counterpart(made, node->after[n]);
        is_whole = after.node && emu_graph_add(made, &node->work, after.node, after.nodes);
        emu_frontier_clear(&after);
    }
    if (!is_whole) {
        if (made)
            emu_graph_free(made);
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *clone = made->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

/* Fill an array of nodes: NULL past the last node; or return only their number. */
static CUresult hand_out(emu_node *const *from, size_t count, bool only_roots, CUgraphNode *node, size_t *nodes)
{
    size_t filled = 0;

    if (!nodes)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (only_roots && from[i]->afters)
            continue;
        if (node && filled < *nodes)
            node[filled] = from[i]->object.handle;
        filled++;
    }
    for (size_t i = filled; node && i < *nodes; i++)
        node[i] = NULL;
    if (!node || filled < *nodes)
        *nodes = filled;
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuGraphGetNodes(CUgraph graph, CUgraphNode *node, size_t *nodes)
{
    CUresult result;
    const emu_graph *known = emu_enter_object(O_GRAPH, graph, &result);

    return known ? emu_leave(hand_out(known->node, known->nodes, false, node, nodes)) : result;
}

CUresult EMU_EXPORT cuGraphGetRootNodes(CUgraph graph, CUgraphNode *node, size_t *nodes)
{
    CUresult result;
    const emu_graph *known = emu_enter_object(O_GRAPH, graph, &result);

    return known ? emu_leave(hand_out(known->node, known->nodes, true, node, nodes)) : result;
}

CUresult EMU_EXPORT cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *dependency, size_t *dependencies)
{
    CUresult result;
    const emu_node *known = emu_enter_object(O_NODE, node, &result);

    return known ? emu_leave(hand_out(known->after, known->afters, false, dependency, dependencies)) : result;
}

CUresult EMU_EXPORT cuGraphNodeGetType(CUgraphNode node, int *type)
{
    static const int types[] = {[W_KERNEL] = CU_GRAPH_NODE_TYPE_KERNEL,      [W_COPY] = CU_GRAPH_NODE_TYPE_MEMCPY,
                                [W_FILL] = CU_GRAPH_NODE_TYPE_MEMSET,        [W_HOST] = CU_GRAPH_NODE_TYPE_HOST,
                                [W_ALLOCATE] = CU_GRAPH_NODE_TYPE_MEM_ALLOC, [W_FREE] = CU_GRAPH_NODE_TYPE_MEM_FREE};
    CUresult result;
    const emu_node *known = emu_ask_object(O_NODE, node, type, &result);

    if (!known)
        return result;
    *type = types[known->work.kind];
    return emu_leave(CUDA_SUCCESS);
}
