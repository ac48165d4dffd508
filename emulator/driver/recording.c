/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recording: streams under capture. Work and its dependencies are recorded instead of run; a call that captures do not allow
 * invalidates them.
 */
#include "driver.h"

#include <stdlib.h>

static emu_capture *captures; /* under way, including invalid ones */

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

bool emu_is_legacy_blocked(const emu_context *context, bool invalidates)
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
    return emu_is_legacy_blocked(context, true) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

/* A context with a capture cannot be waited for. */
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

bool emu_capture_begin(emu_stream *stream, int mode)
{
    emu_capture *made = calloc(1, sizeof *made);

    if (made)
        made->graph = emu_graph_new();
    if (!made || !made->graph) {
        free(made);
        return false;
    }
    made->id = emu_next_id();
    made->thread = emu_thread();
    made->mode = mode;
    made->context = stream->context;
    made->origin = stream;
    made->next = captures;
    stream->capture = captures = made;
    return true;
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
