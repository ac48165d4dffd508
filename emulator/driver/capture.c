/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture: streams being captured. Work is recorded instead of done, with what it depends on; a call that a capture does not
 * allow makes it invalid.
 */
#include "driver.h"

#include <stdlib.h>

static emu_capture *captures; /* under way, invalid ones included */

emu_capture *emu_capture_find(uint64_t id)
{
    for (emu_capture *one = captures; one; one = one->next)
        if (one->id == id)
            return one;
    return NULL;
}

void emu_capture_end(emu_capture *capture)
{
    size_t at = 0;

    for (emu_object *one; (one = emu_handle_next(&at, O_STREAM));) {
        emu_stream *stream = (emu_stream *)one;
        if (stream->capture == capture) {
            stream->capture = NULL;
            emu_frontier_clear(&stream->frontier);
        }
    }
    for (emu_capture **link = &captures; *link; link = &(*link)->next)
        if (*link == capture) {
            *link = capture->next;
            break;
        }
    free(capture);
}

CUresult emu_allow_unsafe(void)
{
    const int mode = *emu_thread_mode();
    CUresult result = CUDA_SUCCESS;

    if (mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    for (emu_capture *one = captures; one; one = one->next) {
        const bool is_own = one->thread == emu_thread();
        if (one->is_invalid || one->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
            continue;
        if (is_own || (mode == CU_STREAM_CAPTURE_MODE_GLOBAL && one->mode == CU_STREAM_CAPTURE_MODE_GLOBAL)) {
            one->is_invalid = true;
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return result;
}

/* Does a stream that waits for the legacy one take part in a valid capture of the context? Such captures may be made invalid. */
static bool is_legacy_blocked(const emu_context *context, bool invalidates)
{
    bool is_blocked = false;
    size_t at = 0;

    if (!captures)
        return false;
    for (emu_object *one; (one = emu_handle_next(&at, O_STREAM));) {
        emu_stream *stream = (emu_stream *)one;
        if (stream->context != context || !stream->capture || stream->capture->is_invalid ||
            (stream->flags & CU_STREAM_NON_BLOCKING))
            continue;
        is_blocked = true;
        if (invalidates)
            stream->capture->is_invalid = true;
    }
    return is_blocked;
}

CUresult emu_allow_legacy(emu_context *context)
{
    return is_legacy_blocked(context, true) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

/* A context that is captured in cannot be waited for. */
CUresult emu_captures_break(const emu_context *context)
{
    CUresult result = CUDA_SUCCESS;

    for (emu_capture *one = captures; one; one = one->next)
        if (one->context == context && !one->is_invalid) {
            one->is_invalid = true;
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    return result;
}

emu_graph_memory *emu_capture_memory(const emu_capture *capture, CUdeviceptr address)
{
    const emu_graph *graph = capture->graph;

    for (size_t i = 0; i < graph->nodes; i++) {
        emu_graph_memory *memory = graph->node[i]->work.memory;
        if (memory && memory->address == address && !memory->is_freed)
            return memory;
    }
    return NULL;
}

bool emu_graph_is_captured(const emu_graph *graph)
{
    for (const emu_capture *one = captures; one; one = one->next)
        if (one->graph == graph)
            return true;
    return false;
}

CUresult emu_capture_record(emu_stream *stream, const emu_work *work)
{
    emu_node *node;

    if (stream->capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!emu_frontier_add(&stream->frontier, &(emu_frontier){NULL, 0})) /* room for one node */
        return CUDA_ERROR_OUT_OF_MEMORY;
    node = emu_graph_add(stream->capture->graph, work, stream->frontier.node, stream->frontier.nodes);
    if (!node) {
        stream->capture->is_invalid = true;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->frontier.node[0] = node;
    stream->frontier.nodes = 1;
    return CUDA_SUCCESS;
}

CUresult emu_capture_join(emu_stream *stream, const emu_event *event)
{
    emu_capture *capture = emu_capture_find(event->capture);

    if (!capture)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (stream->is_legacy) {
        capture->is_invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (stream->capture && stream->capture != capture) {
        capture->is_invalid = stream->capture->is_invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->context != capture->context) {
        capture->is_invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (!emu_frontier_add(&stream->frontier, &event->frontier))
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->capture = capture;
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuStreamBeginCapture_v2(CUstream stream, int mode)
{
    emu_stream *known;
    const CUresult result = emu_stream_enter(stream, &known);
    emu_capture *made;

    if (result != CUDA_SUCCESS)
        return result;
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (known->is_legacy || known->capture)
        return emu_leave(known->is_legacy ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_ERROR_ILLEGAL_STATE);
    made = calloc(1, sizeof *made);
    if (made)
        made->graph = emu_graph_new();
    if (!made || !made->graph) {
        free(made);
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->id = emu_next_id();
    made->thread = emu_thread();
    made->mode = mode;
    made->context = known->context;
    made->origin = known;
    made->next = captures;
    captures = made;
    known->capture = made;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuStreamBeginCapture(CUstream stream)
{
    return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* Is there work that the origin does not come after? */
static bool is_unjoined(const emu_capture *capture)
{
    for (size_t i = 0; i < capture->graph->nodes; i++)
        if (!capture->graph->node[i]->has_dependents && !emu_frontier_has(&capture->origin->frontier, capture->graph->node[i]))
            return true;
    return false;
}

CUresult EMU_EXPORT cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    emu_stream *known;
    CUresult result = emu_stream_enter(stream, &known);
    emu_capture *capture;

    if (result != CUDA_SUCCESS)
        return result;
    capture = known->capture;
    if (!graph || !capture)
        return emu_leave(capture ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_ILLEGAL_STATE);
    *graph = NULL;
    if (capture->origin != known) {
        capture->is_invalid = true;
        return emu_leave(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    }
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != emu_thread())
        return emu_leave(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    if (capture->is_invalid)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (is_unjoined(capture))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (result == CUDA_SUCCESS)
        *graph = capture->graph->object.handle;
    else
        emu_graph_free(capture->graph);
    emu_capture_end(capture);
    return emu_leave(result);
}

static int status_of(const emu_stream *stream)
{
    if (!stream->capture)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream->capture->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult EMU_EXPORT cuStreamGetCaptureInfo_v2(CUstream stream, int *status, uint64_t *id, CUgraph *graph,
                                              const CUgraphNode **node, size_t *nodes)
{
    emu_stream *known;
    CUresult result = emu_stream_enter(stream, &known);
    CUgraphNode *told;

    if (result != CUDA_SUCCESS)
        return result;
    if (!status)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (known->is_legacy && is_legacy_blocked(known->context, false))
        return emu_leave(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    *status = status_of(known);
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return emu_leave(CUDA_SUCCESS);
    if (id)
        *id = known->capture->id;
    if (graph)
        *graph = known->capture->graph->object.handle;
    told = realloc(known->told, (known->frontier.nodes + 1) * sizeof(CUgraphNode));
    if (!told)
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    known->told = told;
    for (size_t i = 0; i < known->frontier.nodes; i++)
        told[i] = known->frontier.node[i]->object.handle;
    if (node)
        *node = told;
    if (nodes)
        *nodes = known->frontier.nodes;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuStreamGetCaptureInfo_v3(CUstream stream, int *status, uint64_t *id, CUgraph *graph,
                                              const CUgraphNode **node, const void **edge, size_t *nodes)
{
    if (edge)
        *edge = NULL; /* all are plain */
    return cuStreamGetCaptureInfo_v2(stream, status, id, graph, node, nodes);
}

CUresult EMU_EXPORT cuStreamGetCaptureInfo(CUstream stream, int *status, uint64_t *id)
{
    return cuStreamGetCaptureInfo_v2(stream, status, id, NULL, NULL, NULL);
}

CUresult EMU_EXPORT cuStreamIsCapturing(CUstream stream, int *status)
{
    return cuStreamGetCaptureInfo_v2(stream, status, NULL, NULL, NULL, NULL);
}

CUresult EMU_EXPORT cuThreadExchangeStreamCaptureMode(int *mode)
{
    int *own = emu_thread_mode();
    const CUresult result = emu_enter_driver();
    int before;

    if (result != CUDA_SUCCESS)
        return result;
    if (!mode || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    before = *own;
    *own = *mode;
    *mode = before;
    return emu_leave(CUDA_SUCCESS);
}
