/* SPDX-License-Identifier: Apache-2.0 */
/* event: events. Recorded work has already run, except in captures. */
#include "driver.h"

#include <stdlib.h>

enum { EXTERNAL = 1 };

static void free_event(emu_event *event)
{
    emu_frontier_clear(&event->frontier);
    emu_handle_drop(&event->object);
    free(event);
}

void emu_events_close(emu_context *context)
{
    size_t at = 0;

    for (emu_object *one; (one = emu_handle_next(&at, O_EVENT));)
        if (((emu_event *)one)->context == context)
            free_event((emu_event *)one);
}

CUresult EMU_EXPORT cuEventCreate(CUevent *event, unsigned flags)
{
    emu_context *context;
    CUresult result = emu_enter(&context);
    emu_event *made;

    if (result != CUDA_SUCCESS)
        return result;
    if (!event || (flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING)))
        return emu_leave(event && (flags & CU_EVENT_INTERPROCESS) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE);
    made = calloc(1, sizeof *made);
    if (!made || !emu_handle_new(&made->object, O_EVENT)) {
        free(made);
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->context = context;
    made->flags = flags;
    *event = made->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

/* Find an event by handle, in any context. Locked on success. */
static CUresult enter_event(CUevent handle, emu_event **event)
{
    CUresult result;

    *event = emu_enter_object(O_EVENT, handle, &result);
    return *event && (*event)->context->sticky ? emu_leave((*event)->context->sticky) : result;
}

CUresult EMU_EXPORT cuEventDestroy_v2(CUevent event)
{
    CUresult result;
    emu_event *known = emu_enter_object(O_EVENT, event, &result);

    if (!known)
        return result;
    result = known->context->sticky;
    free_event(known);
    return emu_leave(result);
}

CUresult EMU_EXPORT cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
    emu_stream *where;
    CUresult result = emu_stream_enter(stream, &where);
    emu_event *known;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_EVENT, event);
    if (!known || known->context != where->context)
        return emu_leave(CUDA_ERROR_INVALID_HANDLE);
    if (flags > EXTERNAL)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (where->is_legacy)
        result = emu_allow_legacy(where->context);
    if (where->capture && where->capture->is_invalid)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (where->capture && flags == EXTERNAL)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (result != CUDA_SUCCESS)
        return emu_leave(result);
    emu_frontier_clear(&known->frontier);
    known->capture = 0;
    if (where->capture) {
        if (!emu_frontier_add(&known->frontier, &where->frontier))
            return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
        known->capture = where->capture->id;
        return emu_leave(CUDA_SUCCESS);
    }
    known->is_recorded = true;
    known->time = emu_clock(where->context->ordinal);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuEventRecord(CUevent event, CUstream stream)
{
    return cuEventRecordWithFlags(event, stream, 0);
}

/* Nothing to wait for: recorded work has already run. */
CUresult EMU_EXPORT cuEventSynchronize(CUevent event)
{
    emu_event *known;
    CUresult result = enter_event(event, &known);
    emu_capture *capture;

    if (result != CUDA_SUCCESS)
        return result;
    if (known->capture) {
        capture = emu_capture_find(known->capture);
        if (capture)
            capture->is_invalid = true;
        return emu_leave(CUDA_ERROR_CAPTURED_EVENT);
    }
    return emu_leave(emu_allow_unsafe());
}

CUresult EMU_EXPORT cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
    emu_event *first, *last;
    CUresult result = enter_event(start, &first);

    if (result != CUDA_SUCCESS)
        return result;
    last = emu_handle_get(O_EVENT, end);
    if (!milliseconds)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (!last || first->context != last->context || !first->is_recorded || !last->is_recorded ||
        ((first->flags | last->flags) & CU_EVENT_DISABLE_TIMING))
        return emu_leave(CUDA_ERROR_INVALID_HANDLE);
    if (first->capture || last->capture)
        return emu_leave(CUDA_ERROR_CAPTURED_EVENT);
    *milliseconds = (float)(((double)last->time - (double)first->time) / 1e6);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    emu_stream *where;
    CUresult result = emu_stream_enter(stream, &where);
    const emu_event *known;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_EVENT, event);
    if (!known)
        return emu_leave(CUDA_ERROR_INVALID_HANDLE);
    if (flags > EXTERNAL)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (known->capture)
        return emu_leave(emu_capture_join(where, known));
    if (where->is_legacy)
        return emu_leave(emu_allow_legacy(where->context));
    if (where->capture && flags == EXTERNAL)
        return emu_leave(CUDA_ERROR_NOT_SUPPORTED);
    if (where->capture && known->is_recorded) {
        result = where->capture->is_invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
        where->capture->is_invalid = true;
    }
    return emu_leave(result);
}
