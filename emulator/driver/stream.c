/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream: streams. The calling thread runs work when it submits it, so a stream never has pending work.
 */
#include "driver.h"

#include <stdlib.h>

static emu_stream *own_streams; /* of threads */

enum { GREATEST_PRIORITY = -5 };

/* ---- turns -------------------------------------------------------------------------------------------------------- */

/*
 * The submitting thread runs its work. Work that several threads submit to one stream still runs in sequence, and the legacy
 * stream takes turns with the streams that wait for it. A host function takes no turn: it may wait for another thread, which a
 * real driver lets submit meanwhile.
 */
static bool is_blocking(const emu_stream *stream)
{
    return !stream->is_legacy && !(stream->flags & CU_STREAM_NON_BLOCKING);
}

static bool may_begin(const emu_stream *stream)
{
    const emu_context *context = stream->context;

    if (stream->is_at_work)
        return false;
    return stream->is_legacy ? context->blocking_at_work == 0 : !is_blocking(stream) || !context->legacy->is_at_work;
}

CUresult emu_stream_begin_work(CUstream handle, emu_stream **stream)
{
    const CUcontext where = (*stream)->context->object.handle;

    while (!(*stream)->capture && !may_begin(*stream)) {
        emu_context *context;
        CUresult result;

        emu_await_work();
        context = emu_handle_get(O_CONTEXT, where);
        result = context ? emu_stream_get(context, handle, stream) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (result != CUDA_SUCCESS)
            return result;
    }
    if (!(*stream)->capture) {
        (*stream)->is_at_work = true;
        (*stream)->context->blocking_at_work += is_blocking(*stream);
    }
    return CUDA_SUCCESS;
}

static void end_work(emu_stream *stream)
{
    if (!stream->is_at_work)
        return;
    stream->is_at_work = false;
    stream->context->blocking_at_work -= is_blocking(stream);
    emu_tell_work();
}

void emu_stream_end_work(CUcontext where, CUstream handle)
{
    emu_context *context = emu_handle_get(O_CONTEXT, where);
    emu_stream *stream;

    if (context && emu_stream_get(context, handle, &stream) == CUDA_SUCCESS)
        end_work(stream);
}

/* ---- streams ------------------------------------------------------------------------------------------------------ */

static emu_stream *make_stream(emu_context *context, unsigned flags, int priority)
{
    emu_stream *made = calloc(1, sizeof *made);

    if (!made || !emu_handle_new(&made->object, O_STREAM)) {
        free(made);
        return NULL;
    }
    made->context = context;
    made->id = emu_next_id() + 16; /* ids of the default streams are small */
    made->flags = flags;
    made->priority = priority > 0 ? 0 : priority < GREATEST_PRIORITY ? GREATEST_PRIORITY : priority;
    return made;
}

static void free_stream(emu_stream *stream)
{
    end_work(stream);
    if (stream->capture) {
        emu_capture *capture = stream->capture;
        capture->is_invalid = true;
        if (capture->origin == stream) {
            emu_graph_free(capture->graph);
            emu_capture_end(capture);
        }
    }
    for (emu_stream **link = &own_streams; *link; link = &(*link)->next)
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    emu_frontier_clear(&stream->frontier);
    emu_handle_drop(&stream->object);
    free(stream->told);
    free(stream);
}

void emu_streams_close(emu_context *context)
{
    size_t at = 0;

    for (emu_object *one; (one = emu_handle_next(&at, O_STREAM));)
        if (((emu_stream *)one)->context == context)
            free_stream((emu_stream *)one);
}

static emu_stream *own_stream(emu_context *context)
{
    emu_stream *made;

    for (emu_stream *one = own_streams; one; one = one->next)
        if (one->context == context && one->thread == emu_thread())
            return one;
    made = make_stream(context, 0, 0);
    if (made) {
        made->id = 2;
        made->thread = emu_thread();
        made->next = own_streams;
        own_streams = made;
    }
    return made;
}

CUresult emu_stream_get(emu_context *context, CUstream handle, emu_stream **stream)
{
    if (!handle || handle == CU_STREAM_LEGACY) {
        *stream = context->legacy;
        return CUDA_SUCCESS;
    }
    if (handle == CU_STREAM_PER_THREAD) {
        *stream = own_stream(context);
        return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    *stream = emu_handle_get(O_STREAM, handle);
    return *stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult emu_submit(emu_context *context, CUstream handle, const emu_work *work)
{
    const bool takes_turn = work->kind != W_HOST;
    emu_stream *stream;
    CUresult result = emu_stream_get(context, handle, &stream);
    CUcontext where;

    if (result == CUDA_SUCCESS && stream->is_legacy)
        result = emu_allow_legacy(context);
    if (result == CUDA_SUCCESS && stream->context != context && work->kind == W_KERNEL)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && takes_turn)
        result = emu_stream_begin_work(handle, &stream);
    if (result != CUDA_SUCCESS)
        return emu_leave(result);
    where = stream->context->object.handle;
    if (!stream->capture) {
        emu_unlock();
        result = emu_work_do(where, work, false);
        emu_lock();
        if (takes_turn)
            emu_stream_end_work(where, handle);
        return emu_leave(result);
    }
    emu_unlock();
    result = emu_work_do(where, work, true);
    emu_lock();
    context = emu_handle_get(O_CONTEXT, where); /* the context and stream may be gone */
    if (result == CUDA_SUCCESS)
        result = context ? emu_stream_get(context, handle, &stream) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (result == CUDA_SUCCESS)
        result = stream->capture ? emu_capture_record(stream, work) : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return emu_leave(result);
}

CUresult emu_stream_enter(CUstream handle, emu_stream **stream)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    result = emu_stream_get(context, handle, stream);
    if (result == CUDA_SUCCESS)
        result = (*stream)->context->sticky;
    return result == CUDA_SUCCESS ? result : emu_leave(result);
}

CUresult EMU_EXPORT cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    emu_context *context;
    CUresult result = emu_enter(&context);
    emu_stream *made;

    if (result != CUDA_SUCCESS)
        return result;
    if (!stream || flags > CU_STREAM_NON_BLOCKING)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    made = make_stream(context, flags, priority);
    if (!made)
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    *stream = made->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuStreamDestroy_v2(CUstream stream)
{
    CUresult result;
    emu_stream *known = emu_enter_object(O_STREAM, stream, &result);

    if (!known)
        return result;
    if (known->thread)
        return emu_leave(CUDA_ERROR_INVALID_HANDLE);
    result = known->context->sticky;
    free_stream(known);
    return emu_leave(result);
}

/* Nothing is ever pending, but captures forbid waiting and querying. */
CUresult EMU_EXPORT cuStreamSynchronize(CUstream handle)
{
    emu_stream *stream;
    CUresult result = emu_stream_enter(handle, &stream);

    if (result != CUDA_SUCCESS)
        return result;
    if (stream->is_legacy)
        return emu_leave(emu_allow_legacy(stream->context));
    if (stream->capture) {
        result = stream->capture->is_invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        stream->capture->is_invalid = true;
    }
    return emu_leave(result);
}

CUresult EMU_EXPORT cuStreamQuery(CUstream stream)
{
    return cuStreamSynchronize(stream);
}

CUresult EMU_EXPORT cuCtxSynchronize(void)
{
    emu_context *context;
    const CUresult result = emu_enter(&context);

    return result == CUDA_SUCCESS ? emu_leave(emu_captures_break(context)) : result;
}

CUresult EMU_EXPORT cuCtxSynchronize_v2(CUcontext context)
{
    const emu_context *known;
    CUresult result;

    if (!context)
        return cuCtxSynchronize();
    known = emu_enter_object(O_CONTEXT, context, &result);
    if (!known)
        return result;
    return emu_leave(known->sticky ? known->sticky : emu_captures_break(known));
}

/* Find a stream to query by its handle. Locked on success. */
static CUresult ask(CUstream stream, const void *answer, emu_stream **known)
{
    const CUresult result = emu_stream_enter(stream, known);

    return result == CUDA_SUCCESS && !answer ? emu_leave(CUDA_ERROR_INVALID_VALUE) : result;
}

CUresult EMU_EXPORT cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    emu_stream *known;
    const CUresult result = ask(stream, context, &known);

    if (result != CUDA_SUCCESS)
        return result;
    *context = known->context->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuStreamGetCtx_v2(CUstream stream, CUcontext *context, void **green)
{
    if (green)
        *green = NULL;
    return cuStreamGetCtx(stream, context);
}

/* The emulator has no green contexts, so no stream belongs to one. As on a device, the legacy stream breaks captures by this. */
CUresult EMU_EXPORT cuStreamGetGreenCtx(CUstream stream, void **green)
{
    emu_stream *known;
    const CUresult result = ask(stream, green, &known);

    if (result != CUDA_SUCCESS)
        return result;
    *green = NULL;
    return emu_leave(known->is_legacy ? emu_allow_legacy(known->context) : CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    emu_stream *known;
    const CUresult result = ask(stream, device, &known);

    if (result != CUDA_SUCCESS)
        return result;
    *device = known->context->ordinal;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuStreamGetFlags(CUstream stream, unsigned *flags)
{
    emu_stream *known;
    const CUresult result = ask(stream, flags, &known);

    if (result != CUDA_SUCCESS)
        return result;
    *flags = known->flags;
    return emu_leave(CUDA_SUCCESS);
}

/* As on a device: a capture does not survive the question, in any mode. */
CUresult EMU_EXPORT cuStreamGetId(CUstream stream, unsigned long long *id)
{
    emu_stream *known;
    const CUresult result = ask(stream, id, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (known->capture) {
        known->capture->is_invalid = true;
        return emu_leave(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    *id = known->id;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuStreamGetPriority(CUstream stream, int *priority)
{
    emu_stream *known;
    const CUresult result = ask(stream, priority, &known);

    if (result != CUDA_SUCCESS)
        return result;
    *priority = known->priority;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    const emu_work work = {.kind = W_HOST, .call = function, .data = data};
    emu_context *context;
    const CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    return function ? emu_submit(context, stream, &work) : emu_leave(CUDA_ERROR_INVALID_VALUE);
}

CUresult EMU_EXPORT cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data, unsigned flags)
{
    emu_stream *known;
    CUresult result = emu_stream_enter(stream, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!callback || flags)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (known->is_legacy)
        result = emu_allow_legacy(known->context);
    if (known->capture) {
        known->capture->is_invalid = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    emu_unlock();
    if (result == CUDA_SUCCESS)
        callback(stream, CUDA_SUCCESS, data);
    return result;
}
