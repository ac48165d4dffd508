/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xla.c: the calls by which tilejit.jax runs inside a program of XLA, one for devices and one for the CPU.
 *
 * A call has everything from its attributes, which were made when the program was traced: the bytes of a tj_problem, those of
 * the tj_operands without their addresses, and for each buffer its place among the operands. So a program that XLA keeps on disk
 * runs in another process too.
 */
#include "binding.h"
#include "xla.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 64, ON_HOST = -1, BUFFERS = TJ_OPERANDS_MOST + 1, WORKSPACE = -1 };

/** The context of a device (its ordinal), or of products on the CPU; made by Python at its first use, and then kept. */
static tj_context *context_of(int device)
{
    static _Atomic(tj_context *) known[DEVICES + 1];
    tj_context *context;

    if (device < ON_HOST || device >= DEVICES)
        return NULL;
    context = atomic_load_explicit(&known[device + 1], memory_order_acquire);
    if (!context) {
        context = tjpy_context(device);
        atomic_store_explicit(&known[device + 1], context, memory_order_release);
    }
    return context;
}

static xla_error *fail(const xla_frame *frame, int code, const char *message)
{
    xla_error_create_args args = {sizeof args, NULL, message, code};

    return frame->api->error_create(&args);
}

static xla_error *failed(const xla_frame *frame, const tj_error *err)
{
    const int code = err->status == TJ_ERR_INVALID_ARGUMENT                                       ? XLA_INVALID_ARGUMENT
                     : err->status == TJ_ERR_DEVICE_MEMORY || err->status == TJ_ERR_OUT_OF_MEMORY ? XLA_RESOURCE_EXHAUSTED
                     : err->status == TJ_ERR_UNSUPPORTED                                          ? XLA_UNIMPLEMENTED
                     : err->status == TJ_ERR_NO_COMPILER || err->status == TJ_ERR_CAPTURE || err->status == TJ_ERR_FORKED
                         ? XLA_FAILED_PRECONDITION
                         : XLA_INTERNAL;

    return fail(frame, code, err->message);
}

/** Find an attribute that is an array; NULL: it is not there. */
static const xla_array *find(const xla_frame *frame, const char *name)
{
    for (int64_t i = 0; i < frame->attrs.size; i++) {
        const xla_span *each = frame->attrs.names[i];
        if (each->len == strlen(name) && memcmp(each->ptr, name, each->len) == 0)
            return frame->attrs.types[i] == XLA_IS_ARRAY ? frame->attrs.attrs[i] : NULL;
    }
    return NULL;
}

/** One call, read from its frame. */
typedef struct xla_call {
    tj_problem problem;
    tj_operands operands;
    size_t buffers, arguments, launches;
    const int64_t *place;  /* of each buffer: its number as an operand (shape.h), or WORKSPACE */
    const int64_t *bytes;  /* of each buffer */
    const int64_t *offset; /* of each launch: where it begins in each buffer */
    unsigned char *data[BUFFERS];
} xla_call;

/** Copy a structure that begins with its size; one of an older library is shorter. Returns 0 for one of a newer library. */
static int take(const xla_array *from, void *to, size_t size)
{
    if (!from || from->size > size)
        return 0;
    memcpy(to, from->data, from->size);
    return 1;
}

static xla_error *read_call(const xla_frame *frame, xla_call *call)
{
    const xla_array *place = find(frame, "place"), *bytes = find(frame, "bytes"), *offset = find(frame, "offset");

    memset(call, 0, sizeof *call);
    call->arguments = (size_t)frame->args.size;
    call->buffers = call->arguments + (size_t)frame->rets.size;
    if (!take(find(frame, "problem"), &call->problem, sizeof call->problem) ||
        !take(find(frame, "operands"), &call->operands, sizeof call->operands))
        return fail(frame, XLA_INVALID_ARGUMENT,
                    "this program was compiled with a newer TileJIT: trace it again with this one");
    if (call->buffers > BUFFERS || call->buffers == 0 || !place || !bytes || !offset || place->size != call->buffers ||
        bytes->size != call->buffers || offset->size % call->buffers != 0)
        return fail(frame, XLA_INVALID_ARGUMENT,
                    "the attributes of this call of tilejit.matmul do not match its buffers: trace it again");
    call->place = place->data;
    call->bytes = bytes->data;
    call->offset = offset->data;
    call->launches = offset->size / call->buffers;
    for (size_t i = 0; i < call->buffers; i++) {
        const xla_buffers *list = i < call->arguments ? &frame->args : &frame->rets;
        const size_t at = i < call->arguments ? i : i - call->arguments;
        if (list->types[at] != XLA_IS_BUFFER || call->place[i] < WORKSPACE || call->place[i] >= TJ_OPERANDS_MOST)
            return fail(frame, XLA_INVALID_ARGUMENT, "a buffer of this call of tilejit.matmul has no place among its operands");
        call->data[i] = ((const xla_buffer *)list->each[at])->data;
    }
    return NULL;
}

static tj_operand *operand_at(tj_operands *x, int64_t place)
{
    tj_operand *matrices[] = {&x->m, &x->n, &x->p, &x->c};

    return place < TJ_OPERAND_SCALE   ? matrices[place]
           : place < TJ_OPERAND_ZERO  ? &x->scale[place - TJ_OPERAND_SCALE]
           : place < TJ_OPERAND_WHOLE ? &x->zero[place - TJ_OPERAND_ZERO]
           : place < TJ_OPERAND_WITH  ? &x->whole[place - TJ_OPERAND_WHOLE]
                                      : &x->with[place - TJ_OPERAND_WITH];
}

/** Queue every launch of a call on its data. */
static tj_status launch(tj_context *context, const xla_call *call, void *stream, tj_error *err)
{
    for (size_t i = 0; i < call->launches; i++) {
        tj_operands x = call->operands;
        for (size_t b = 0; b < call->buffers; b++) {
            unsigned char *address = call->data[b] + call->offset[i * call->buffers + b];
            if (call->place[b] == WORKSPACE) {
                x.workspace = address;
                x.workspace_bytes = (size_t)call->bytes[b];
            } else {
                operand_at(&x, call->place[b])->address = address;
            }
        }
        const tj_status status = tj_matmul(context, &call->problem, &x, stream, err);
        if (status != TJ_OK)
            return status;
    }
    return TJ_OK;
}

/** Answer what XLA asks when a handler is registered. */
static xla_error *describe(const xla_frame *frame)
{
    xla_metadata *metadata = ((xla_metadata_extension *)frame->extension_start)->metadata;

    metadata->api_version.major_version = XLA_MAJOR;
    metadata->api_version.minor_version = XLA_MINOR;
    metadata->traits = XLA_MAY_BE_CAPTURED;
    return NULL;
}

static int is_a_question(const xla_frame *frame)
{
    return frame->extension_start && frame->extension_start->type == XLA_METADATA;
}

void *tjpy_xla_on_device(void *opaque)
{
    const xla_frame *frame = opaque;
    xla_device_ordinal_get_args ordinal = {sizeof ordinal, NULL, frame->ctx, 0};
    xla_stream_get_args stream = {sizeof stream, NULL, frame->ctx, NULL};
    const tj_plan *plan;
    tj_context *context;
    xla_error *error;
    tj_error err;
    xla_call call;

    if (is_a_question(frame))
        return describe(frame);
    error = read_call(frame, &call);
    if (!error && frame->api->struct_size > offsetof(xla_api, device_ordinal_get))
        error = frame->api->device_ordinal_get(&ordinal);
    if (error)
        return error;
    context = ordinal.device_ordinal >= 0 ? context_of(ordinal.device_ordinal) : NULL;
    if (!context)
        return fail(frame, XLA_INTERNAL, "TileJIT has no context for this device: the message is on stderr");
    if (frame->stage == XLA_INITIALIZE) { /* before any capture: a kernel that is not there yet is compiled now */
        if (tj_plan_prepare(context, &call.problem, NULL, &plan, &err) != TJ_OK)
            return failed(frame, &err);
        tj_plan_release(plan);
        return NULL;
    }
    error = frame->api->stream_get(&stream);
    if (error)
        return error;
    return launch(context, &call, stream.stream, &err) == TJ_OK ? NULL : failed(frame, &err);
}

/** Compute on copies in the memory of the device, or of the emulator. */
static tj_status launch_on_copies(tj_context *context, xla_call *call, tj_buffer **copies, tj_error *err)
{
    unsigned char *host[BUFFERS];

    memcpy(host, call->data, sizeof host);
    for (size_t i = 0; i < call->buffers; i++) {
        const size_t bytes = (size_t)call->bytes[i];
        tj_status status = tj_buffer_create(context, bytes, &copies[i], err);
        if (status == TJ_OK && i < call->arguments && bytes > 0)
            status = tj_buffer_write(copies[i], 0, host[i], bytes, err);
        if (status != TJ_OK)
            return status;
        call->data[i] = tj_buffer_address(copies[i]);
    }
    tj_status status = launch(context, call, NULL, err);
    if (status == TJ_OK)
        status = tj_synchronize(context, NULL, err);
    for (size_t i = call->arguments; i < call->buffers && status == TJ_OK; i++)
        status = tj_buffer_read(copies[i], 0, host[i], (size_t)call->bytes[i], err);
    return status;
}

void *tjpy_xla_on_host(void *opaque)
{
    const xla_frame *frame = opaque;
    tj_buffer *copies[BUFFERS] = {NULL};
    tj_context *context;
    tj_status status;
    xla_error *error;
    tj_error err;
    xla_call call;

    if (is_a_question(frame))
        return describe(frame);
    error = read_call(frame, &call);
    if (error)
        return error;
    context = context_of(ON_HOST);
    if (!context)
        return fail(frame, XLA_INTERNAL, "TileJIT has no context for the CPU: the message is on stderr");
    status = launch_on_copies(context, &call, copies, &err);
    for (size_t i = 0; i < call.buffers; i++)
        tj_buffer_free(copies[i]);
    return status == TJ_OK ? NULL : failed(frame, &err);
}
