/* SPDX-License-Identifier: Apache-2.0 */
/* nodes: operations and their order, as captures record them and graphs run them. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* ---- frontiers ---------------------------------------------------------------------------------------------------- */

void emu_frontier_clear(emu_frontier *frontier)
{
    free(frontier->node);
    *frontier = (emu_frontier){NULL, 0};
}

bool emu_frontier_has(const emu_frontier *frontier, const emu_node *node)
{
    for (size_t i = 0; i < frontier->nodes; i++)
        if (frontier->node[i] == node)
            return true;
    return false;
}

bool emu_frontier_add(emu_frontier *frontier, const emu_frontier *other)
{
    emu_node **larger = realloc(frontier->node, (frontier->nodes + other->nodes + 1) * sizeof *larger);

    if (!larger)
        return false;
    frontier->node = larger;
    for (size_t i = 0; i < other->nodes; i++)
        if (!emu_frontier_has(frontier, other->node[i]))
            frontier->node[frontier->nodes++] = other->node[i];
    return true;
}

/* ---- nodes -------------------------------------------------------------------------------------------------------- */

void emu_graph_memory_drop(emu_graph_memory *memory)
{
    if (!memory || --memory->users)
        return;
    (void)emu_memory_free(memory->address, M_DEVICE); /* a destroyed context has freed it already */
    free(memory);
}

bool emu_work_copy(emu_work *to, const emu_work *from)
{
    *to = *from;
    to->parameters = NULL;
    if (to->memory)
        to->memory->users++;
    if (!from->parameter_bytes)
        return true;
    to->parameters = malloc(from->parameter_bytes);
    if (to->parameters)
        memcpy(to->parameters, from->parameters, from->parameter_bytes);
    return to->parameters;
}

void emu_work_drop(emu_work *work)
{
    free(work->parameters);
    emu_graph_memory_drop(work->memory);
}

static void free_node(emu_node *node)
{
    emu_handle_drop(&node->object);
    emu_work_drop(&node->work);
    free(node->after);
    free(node);
}

void emu_graph_free(emu_graph *graph)
{
    for (size_t i = 0; i < graph->nodes; i++)
        free_node(graph->node[i]);
    emu_holds_drop(&graph->holds);
    emu_handle_drop(&graph->object);
    free(graph->node);
    free(graph);
}

emu_graph *emu_graph_new(void)
{
    emu_graph *made = calloc(1, sizeof *made);

    if (made && !emu_handle_new(&made->object, O_GRAPH)) {
        free(made);
        made = NULL;
    }
    return made;
}

emu_node *emu_graph_add(emu_graph *graph, const emu_work *work, emu_node *const *after, size_t afters)
{
    emu_node *made = calloc(1, sizeof *made);
    emu_node **larger = realloc(graph->node, (graph->nodes + 1) * sizeof *larger);

    if (larger)
        graph->node = larger;
    if (made)
        made->after = malloc((afters + 1) * sizeof(emu_node *));
    if (!made || !larger || !made->after || !emu_work_copy(&made->work, work) || !emu_handle_new(&made->object, O_NODE)) {
        if (made) {
            emu_work_drop(&made->work);
            free(made->after);
        }
        free(made);
        return NULL;
    }
    made->graph = graph;
    made->afters = afters;
    for (size_t i = 0; i < afters; i++) {
        made->after[i] = after[i];
        after[i]->has_dependents = true;
    }
    graph->node[graph->nodes++] = made;
    return made;
}
