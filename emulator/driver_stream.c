/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_stream: streams, events, captures and graphs.
 *
 * Work is done when it is submitted, by the calling thread, so a stream has nothing to wait for. While it is captured, work is
 * recorded instead, with what it depends on; a graph does it in the order of recording, which is one that its dependencies allow.
 */
#include "driver.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

static emu_capture *captures;   /* under way, invalid ones included */
static emu_stream *own_streams; /* of threads */

enum { GREATEST_PRIORITY = -5, GRAPH_FLAGS = 15, GRAPH_DEVICE_LAUNCH = 4, EXTERNAL = 1 };

/* ---- frontiers and nodes ------------------------------------------------------------------------------------------ */

static void clear_frontier(emu_frontier *frontier)
{
    free(frontier->node);
    *frontier = (emu_frontier){NULL, 0};
}

static bool has_node(const emu_frontier *frontier, const emu_node *node)
{
    for (size_t i = 0; i < frontier->nodes; i++)
        if (frontier->node[i] == node)
            return true;
    return false;
}

static bool add_to_frontier(emu_frontier *frontier, const emu_frontier *other)
{
    emu_node **larger = realloc(frontier->node, (frontier->nodes + other->nodes + 1) * sizeof *larger);

    if (!larger)
        return false;
    frontier->node = larger;
    for (size_t i = 0; i < other->nodes; i++)
        if (!has_node(frontier, other->node[i]))
            frontier->node[frontier->nodes++] = other->node[i];
    return true;
}

void emu_graph_memory_drop(emu_graph_memory *memory)
{
    if (!memory || --memory->users)
        return;
    (void)emu_memory_free(memory->address); /* a context that is gone took it along */
    free(memory);
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

static bool copy_work(emu_work *to, const emu_work *from)
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

static void drop_work(emu_work *work)
{
    free(work->parameters);
    emu_graph_memory_drop(work->memory);
}

static void free_node(emu_node *node)
{
    emu_handle_drop(&node->object);
    drop_work(&node->work);
    free(node->after);
    free(node);
}

static void free_graph(emu_graph *graph)
{
    for (size_t i = 0; i < graph->nodes; i++)
        free_node(graph->node[i]);
    emu_handle_drop(&graph->object);
    free(graph->node);
    free(graph);
}

static emu_graph *make_graph(void)
{
    emu_graph *made = calloc(1, sizeof *made);

    if (made && !emu_handle_new(&made->object, O_GRAPH)) {
        free(made);
        made = NULL;
    }
    return made;
}

/* Add a node behind others. */
static emu_node *add_node(emu_graph *graph, const emu_work *work, emu_node *const *after, size_t afters)
{
    emu_node *made = calloc(1, sizeof *made);
    emu_node **larger = realloc(graph->node, (graph->nodes + 1) * sizeof *larger);

    if (larger)
        graph->node = larger;
    if (made)
        made->after = malloc((afters + 1) * sizeof(emu_node *));
    if (!made || !larger || !made->after || !copy_work(&made->work, work) || !emu_handle_new(&made->object, O_NODE)) {
        if (made) {
            drop_work(&made->work);
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

/* ---- captures ----------------------------------------------------------------------------------------------------- */

static emu_capture *find_capture(uint64_t id)
{
    for (emu_capture *one = captures; one; one = one->next)
        if (one->id == id)
            return one;
    return NULL;
}

/* Take all streams out of a capture, and forget it. Its graph is the caller's. */
static void end_capture(emu_capture *capture)
{
    size_t at = 0;

    for (emu_object *one; (one = emu_handle_next(&at, O_STREAM));) {
        emu_stream *stream = (emu_stream *)one;
        if (stream->capture == capture) {
            stream->capture = NULL;
            clear_frontier(&stream->frontier);
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

/* ---- turns -------------------------------------------------------------------------------------------------------- */

/*
 * Work is done by the thread that submits it. What several threads submit to one stream is done one after the other all the same,
 * and the legacy stream takes turns with the streams that wait for it. A host function takes no turn: it may wait for another
 * thread, which a real driver lets submit meanwhile.
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

/* Locked; unlocked while it waits, and by then *stream may be another object, be captured, or be gone. */
static CUresult begin_work(CUstream handle, emu_stream **stream)
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

/* Locked. The stream may have been destroyed meanwhile. */
static void end_work_of(CUcontext where, CUstream handle)
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
    made->id = emu_next_id() + 16; /* the default streams have small ones */
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
            free_graph(capture->graph);
            end_capture(capture);
        }
    }
    for (emu_stream **link = &own_streams; *link; link = &(*link)->next)
        if (*link == stream) {
            *link = stream->next;
            break;
        }
    clear_frontier(&stream->frontier);
    emu_handle_drop(&stream->object);
    free(stream->told);
    free(stream);
}

static void free_event(emu_event *event)
{
    clear_frontier(&event->frontier);
    emu_handle_drop(&event->object);
    free(event);
}

void emu_streams_close(emu_context *context)
{
    size_t at = 0;

    for (emu_object *one; (one = emu_handle_next(&at, O_STREAM));)
        if (((emu_stream *)one)->context == context)
            free_stream((emu_stream *)one);
    at = 0;
    for (emu_object *one; (one = emu_handle_next(&at, O_EVENT));)
        if (((emu_event *)one)->context == context)
            free_event((emu_event *)one);
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

/* Record work in the capture of a stream. */
static CUresult record(emu_stream *stream, const emu_work *work)
{
    emu_node *node;

    if (stream->capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!add_to_frontier(&stream->frontier, &(emu_frontier){NULL, 0})) /* room for one node */
        return CUDA_ERROR_OUT_OF_MEMORY;
    node = add_node(stream->capture->graph, work, stream->frontier.node, stream->frontier.nodes);
    if (!node) {
        stream->capture->is_invalid = true;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->frontier.node[0] = node;
    stream->frontier.nodes = 1;
    return CUDA_SUCCESS;
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
        result = begin_work(handle, &stream);
    if (result != CUDA_SUCCESS)
        return emu_leave(result);
    where = stream->context->object.handle;
    if (!stream->capture) {
        emu_unlock();
        result = emu_work_do(where, work, false);
        emu_lock();
        if (takes_turn)
            end_work_of(where, handle);
        return emu_leave(result);
    }
    emu_unlock();
    result = emu_work_do(where, work, true);
    emu_lock();
    context = emu_handle_get(O_CONTEXT, where); /* all may have changed */
    if (result == CUDA_SUCCESS)
        result = context ? emu_stream_get(context, handle, &stream) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (result == CUDA_SUCCESS)
        result = stream->capture ? record(stream, work) : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return emu_leave(result);
}

/* A stream by handle, of any context. Locked on success. */
static CUresult enter_stream(CUstream handle, emu_stream **stream)
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

CUresult EMU_EXPORT cuStreamCreate(CUstream *stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult EMU_EXPORT cuStreamDestroy_v2(CUstream stream)
{
    CUresult result = emu_enter_driver();
    emu_stream *known;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_STREAM, stream);
    if (!known || known->thread)
        return emu_leave(CUDA_ERROR_INVALID_HANDLE);
    result = known->context->sticky;
    free_stream(known);
    return emu_leave(result);
}

CUresult EMU_EXPORT cuStreamDestroy(CUstream stream)
{
    return cuStreamDestroy_v2(stream);
}

/* Waiting for a stream, or asking whether one need to: nothing of it is left to do, but captures forbid it. */
static CUresult wait_for(CUstream handle)
{
    emu_stream *stream;
    CUresult result = enter_stream(handle, &stream);

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

CUresult EMU_EXPORT cuStreamSynchronize(CUstream stream)
{
    return wait_for(stream);
}

CUresult EMU_EXPORT cuStreamQuery(CUstream stream)
{
    return wait_for(stream);
}

/* A context that is captured in cannot be waited for. */
static CUresult wait_for_context(const emu_context *context)
{
    CUresult result = CUDA_SUCCESS;

    for (emu_capture *one = captures; one; one = one->next)
        if (one->context == context && !one->is_invalid) {
            one->is_invalid = true;
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    return result;
}

CUresult EMU_EXPORT cuCtxSynchronize(void)
{
    emu_context *context;
    const CUresult result = emu_enter(&context);

    return result == CUDA_SUCCESS ? emu_leave(wait_for_context(context)) : result;
}

CUresult EMU_EXPORT cuCtxSynchronize_v2(CUcontext context)
{
    emu_context *known;
    CUresult result;

    if (!context)
        return cuCtxSynchronize();
    result = emu_enter_driver();
    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_CONTEXT, context);
    if (!known || known->sticky)
        return emu_leave(known ? known->sticky : CUDA_ERROR_INVALID_CONTEXT);
    return emu_leave(wait_for_context(known));
}

CUresult EMU_EXPORT cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    emu_stream *known;
    const CUresult result = enter_stream(stream, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!context)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *context = known->context->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuStreamGetCtx_v2(CUstream stream, CUcontext *context, void **green)
{
    if (green)
        *green = NULL;
    return cuStreamGetCtx(stream, context);
}

CUresult EMU_EXPORT cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    emu_stream *known;
    const CUresult result = enter_stream(stream, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!device)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *device = known->context->ordinal;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuStreamGetFlags(CUstream stream, unsigned *flags)
{
    emu_stream *known;
    const CUresult result = enter_stream(stream, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!flags)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *flags = known->flags;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuStreamGetId(CUstream stream, unsigned long long *id)
{
    emu_stream *known;
    const CUresult result = enter_stream(stream, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!id)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *id = known->id;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuStreamGetPriority(CUstream stream, int *priority)
{
    emu_stream *known;
    const CUresult result = enter_stream(stream, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!priority)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
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
    CUresult result = enter_stream(stream, &known);

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

/* ---- events ------------------------------------------------------------------------------------------------------- */

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

/* An event by handle, of any context. Locked on success. */
static CUresult enter_event(CUevent handle, emu_event **event)
{
    CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    *event = emu_handle_get(O_EVENT, handle);
    result = *event ? (*event)->context->sticky : CUDA_ERROR_INVALID_HANDLE;
    return result == CUDA_SUCCESS ? result : emu_leave(result);
}

CUresult EMU_EXPORT cuEventDestroy_v2(CUevent event)
{
    CUresult result = emu_enter_driver();
    emu_event *known;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_EVENT, event);
    if (!known)
        return emu_leave(CUDA_ERROR_INVALID_HANDLE);
    result = known->context->sticky;
    free_event(known);
    return emu_leave(result);
}

CUresult EMU_EXPORT cuEventDestroy(CUevent event)
{
    return cuEventDestroy_v2(event);
}

CUresult EMU_EXPORT cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
    emu_stream *where;
    CUresult result = enter_stream(stream, &where);
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
    clear_frontier(&known->frontier);
    known->capture = 0;
    if (where->capture) {
        if (!add_to_frontier(&known->frontier, &where->frontier))
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

/* Everything that was recorded has happened. */
static CUresult ask_event(CUevent event)
{
    emu_event *known;
    CUresult result = enter_event(event, &known);
    emu_capture *capture;

    if (result != CUDA_SUCCESS)
        return result;
    if (known->capture) {
        capture = find_capture(known->capture);
        if (capture)
            capture->is_invalid = true;
        return emu_leave(CUDA_ERROR_CAPTURED_EVENT);
    }
    return emu_leave(emu_allow_unsafe());
}

CUresult EMU_EXPORT cuEventQuery(CUevent event)
{
    return ask_event(event);
}

CUresult EMU_EXPORT cuEventSynchronize(CUevent event)
{
    return ask_event(event);
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

CUresult EMU_EXPORT cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    return cuEventElapsedTime_v2(milliseconds, start, end);
}

/* Wait for an event of a capture: the stream joins it, or the capture gets one more dependency. */
static CUresult wait_captured(emu_stream *stream, const emu_event *event)
{
    emu_capture *capture = find_capture(event->capture);

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
    if (!add_to_frontier(&stream->frontier, &event->frontier))
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->capture = capture;
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    emu_stream *where;
    CUresult result = enter_stream(stream, &where);
    const emu_event *known;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_EVENT, event);
    if (!known)
        return emu_leave(CUDA_ERROR_INVALID_HANDLE);
    if (flags > EXTERNAL)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (known->capture)
        return emu_leave(wait_captured(where, known));
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

/* ---- capturing ---------------------------------------------------------------------------------------------------- */

CUresult EMU_EXPORT cuStreamBeginCapture_v2(CUstream stream, int mode)
{
    emu_stream *known;
    const CUresult result = enter_stream(stream, &known);
    emu_capture *made;

    if (result != CUDA_SUCCESS)
        return result;
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (known->is_legacy || known->capture)
        return emu_leave(known->is_legacy ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_ERROR_ILLEGAL_STATE);
    made = calloc(1, sizeof *made);
    if (made)
        made->graph = make_graph();
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
        if (!capture->graph->node[i]->has_dependents && !has_node(&capture->origin->frontier, capture->graph->node[i]))
            return true;
    return false;
}

CUresult EMU_EXPORT cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    emu_stream *known;
    CUresult result = enter_stream(stream, &known);
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
        free_graph(capture->graph);
    end_capture(capture);
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
    CUresult result = enter_stream(stream, &known);
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

/* ---- graphs ------------------------------------------------------------------------------------------------------- */

/* A finished graph. Locked on success. */
static CUresult enter_graph(CUgraph handle, emu_graph **graph)
{
    const CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    *graph = emu_handle_get(O_GRAPH, handle);
    return *graph ? CUDA_SUCCESS : emu_leave(CUDA_ERROR_INVALID_VALUE);
}

static bool is_being_captured(const emu_graph *graph)
{
    for (const emu_capture *one = captures; one; one = one->next)
        if (one->graph == graph)
            return true;
    return false;
}

static void free_executable(emu_executable *executable)
{
    for (size_t i = 0; executable->work && i < executable->works; i++)
        drop_work(&executable->work[i]);
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
    if (!executable || !known || (flags & ~(unsigned long long)GRAPH_FLAGS) || is_being_captured(known))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (flags & GRAPH_DEVICE_LAUNCH)
        return emu_leave(CUDA_ERROR_NOT_SUPPORTED);
    made = calloc(1, sizeof *made);
    if (made)
        made->work = calloc(known->nodes + 1, sizeof *made->work);
    is_whole = made && made->work;
    for (size_t i = 0; is_whole && i < known->nodes; i++) {
        is_whole = copy_work(&made->work[i], &known->node[i]->work);
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

CUresult EMU_EXPORT cuGraphInstantiate(CUgraphExec *executable, CUgraph graph, CUgraphNode *node, char *log, size_t bytes)
{
    return cuGraphInstantiate_v2(executable, graph, node, log, bytes);
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

/* Record all of a graph in a stream that is captured. */
static CUresult record_all(emu_stream *stream, const emu_executable *executable)
{
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < executable->works && result == CUDA_SUCCESS; i++)
        result = record(stream, &executable->work[i]);
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
    CUresult result = enter_stream(stream, &where);
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
        result = begin_work(stream, &where);
    if (result == CUDA_SUCCESS && where->capture) {
        result = record_all(where, known);
    } else if (result == CUDA_SUCCESS) {
        context = where->context->object.handle;
        emu_unlock();
        for (size_t i = 0; i < known->works && result == CUDA_SUCCESS; i++)
            result = emu_work_do(context, &known->work[i], false);
        emu_lock();
        if (takes_turn)
            end_work_of(context, stream);
    }
    if (--known->users == 0 && known->is_destroyed)
        free_executable(known);
    return emu_leave(result);
}

CUresult EMU_EXPORT cuGraphUpload(CUgraphExec executable, CUstream stream)
{
    emu_stream *where;
    const CUresult result = enter_stream(stream, &where);

    if (result != CUDA_SUCCESS)
        return result;
    return emu_leave(emu_handle_get(O_EXECUTABLE, executable) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult EMU_EXPORT cuGraphExecDestroy(CUgraphExec executable)
{
    const CUresult result = emu_enter_driver();
    emu_executable *known;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_EXECUTABLE, executable);
    if (!known)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    emu_handle_drop(&known->object);
    known->is_destroyed = true;
    if (!known->users)
        free_executable(known);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuGraphExecGetFlags(CUgraphExec executable, uint64_t *flags)
{
    const CUresult result = emu_enter_driver();
    const emu_executable *known;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_EXECUTABLE, executable);
    if (!known || !flags)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *flags = known->flags;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuGraphDestroy(CUgraph graph)
{
    emu_graph *known;
    const CUresult result = enter_graph(graph, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (is_being_captured(known))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    free_graph(known);
    return emu_leave(CUDA_SUCCESS);
}

/* The node of a clone that stands where node stands in its graph. */
static emu_node *counterpart(const emu_graph *clone, const emu_node *node)
{
    for (size_t i = 0; i < clone->nodes; i++)
        if (node->graph->node[i] == node)
            return clone->node[i];
    return NULL;
}

CUresult EMU_EXPORT cuGraphClone(CUgraph *clone, CUgraph graph)
{
    emu_graph *known, *made;
    const CUresult result = enter_graph(graph, &known);
    bool is_whole;

    if (result != CUDA_SUCCESS)
        return result;
    if (!clone || is_being_captured(known))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < known->nodes; i++)
        if (known->node[i]->work.memory)
            return emu_leave(CUDA_ERROR_NOT_SUPPORTED);
    made = make_graph();
    is_whole = made;
    for (size_t i = 0; is_whole && i < known->nodes; i++) {
        const emu_node *node = known->node[i];
        emu_frontier after = {malloc((node->afters + 1) * sizeof(emu_node *)), node->afters};
        for (size_t n = 0; after.node && n < node->afters; n++)
            after.node[n] = counterpart(made, node->after[n]);
        is_whole = after.node && add_node(made, &node->work, after.node, after.nodes);
        clear_frontier(&after);
    }
    if (!is_whole) {
        if (made)
            free_graph(made);
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *clone = made->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

/* Hand out nodes: as many as there is room for, the rest NULL; or only how many there are. */
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
    emu_graph *known;
    const CUresult result = enter_graph(graph, &known);

    return result == CUDA_SUCCESS ? emu_leave(hand_out(known->node, known->nodes, false, node, nodes)) : result;
}

CUresult EMU_EXPORT cuGraphGetRootNodes(CUgraph graph, CUgraphNode *node, size_t *nodes)
{
    emu_graph *known;
    const CUresult result = enter_graph(graph, &known);

    return result == CUDA_SUCCESS ? emu_leave(hand_out(known->node, known->nodes, true, node, nodes)) : result;
}

CUresult EMU_EXPORT cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *dependency, size_t *dependencies)
{
    const CUresult result = emu_enter_driver();
    const emu_node *known;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_NODE, node);
    return emu_leave(known ? hand_out(known->after, known->afters, false, dependency, dependencies) : CUDA_ERROR_INVALID_VALUE);
}

CUresult EMU_EXPORT cuGraphNodeGetType(CUgraphNode node, int *type)
{
    static const int types[] = {[W_KERNEL] = CU_GRAPH_NODE_TYPE_KERNEL,      [W_COPY] = CU_GRAPH_NODE_TYPE_MEMCPY,
                                [W_FILL] = CU_GRAPH_NODE_TYPE_MEMSET,        [W_HOST] = CU_GRAPH_NODE_TYPE_HOST,
                                [W_ALLOCATE] = CU_GRAPH_NODE_TYPE_MEM_ALLOC, [W_FREE] = CU_GRAPH_NODE_TYPE_MEM_FREE};
    const CUresult result = emu_enter_driver();
    const emu_node *known;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_NODE, node);
    if (!known || !type)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *type = types[known->work.kind];
    return emu_leave(CUDA_SUCCESS);
}
