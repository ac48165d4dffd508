/* SPDX-License-Identifier: Apache-2.0 */
/* capture: begin, end and query captures. */
#include "driver.h"

#include <stdlib.h>

CUresult EMU_EXPORT cuStreamBeginCapture_v2(CUstream stream, int mode)
{
    emu_stream *known;
    const CUresult result = emu_stream_enter(stream, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (known->is_legacy || known->capture)
        return emu_leave(known->is_legacy ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_ERROR_ILLEGAL_STATE);
    return emu_leave(emu_capture_begin(known, mode) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult EMU_EXPORT cuStreamBeginCapture(CUstream stream)
{
    return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* Has the capture work that the origin stream does not depend on? */
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
    if (known->is_legacy && emu_is_legacy_blocked(known->context, false))
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
        *edge = NULL; /* all dependencies have no edge data */
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
