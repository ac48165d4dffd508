/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.h: device memory, copies and timing, for programs that have no CUDA runtime of their own.
 *
 * A program that uses the CUDA runtime, PyTorch or the like keeps its own memory and passes the addresses: nothing else in
 * TileJIT needs a tj_buffer. The command tilejit, the examples and the tests live on this page, so that they too
 * build and start on a machine without a toolkit.
 *
 * Every call runs in the CUDA context that is current, or in the primary context of the TileJIT context's device; a buffer
 * stays in the one that it was made in, whatever is current later.
 *
 * What another thread captures is not broken by these calls, in whatever mode: they step out of it, as loading a kernel does. Only
 * what goes through the legacy default stream cannot: while a stream is captured that waits for it, such a copy is refused by
 * the driver, and the capture with it. A stream of tj_stream_create has nothing to do with it.
 */
#ifndef TILEJIT_BUFFER_H
#define TILEJIT_BUFFER_H

#include <tilejit/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A stream that neither waits for the legacy default stream nor makes it wait. Of the CUDA context that is current, or the primary one.
 *
 * Owned:   *stream is the caller's; tj_stream_destroy(), before the context.
 * NULL:    only err may be NULL.
 * Threads: any.
 * Errors:  as tj_synchronize. On failure *stream is NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_stream_create(tj_context *context, struct CUstream_st **stream, tj_error *err);

/** Its work need not be done. No CUDA call in a forked child or after a loss. NULL: stream is accepted. Threads: any. */
TJ_API void tj_stream_destroy(tj_context *context, struct CUstream_st *stream);

/** A piece of device memory. Its address may be used from any thread; a buffer itself by one thread at a time. */
typedef struct tj_buffer tj_buffer;

/**
 * Allocate. The bytes are not set. A size of 0 gives a buffer that has an address all the same.
 *
 * Owned:   *buffer belongs to the caller; tj_buffer_free(), before the context.
 * NULL:    only err may be NULL.
 * Threads: any.
 * Errors:  TJ_ERR_NO_DRIVER, TJ_ERR_DEVICE_MEMORY (the message says what was wanted and what is free), TJ_ERR_DEVICE_LOST,
 *          TJ_ERR_DRIVER, TJ_ERR_FORKED. On failure *buffer is NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_buffer_create(tj_context *context, size_t bytes, tj_buffer **buffer, tj_error *err);

/** The same; copies to and from it go through a stream, and wait for that one alone. The stream lives as long as the buffer. */
TJ_API TJ_MUST_CHECK tj_status tj_buffer_create_in(tj_context *context, struct CUstream_st *stream, size_t bytes,
                                                   tj_buffer **buffer, tj_error *err);

/** Its device address, aligned to 256 bytes: what tj_operands wants. NULL: buffer must not be NULL. */
TJ_API void *tj_buffer_address(const tj_buffer *buffer);

/** The size it was made with. NULL: buffer must not be NULL. */
TJ_API size_t tj_buffer_bytes(const tj_buffer *buffer);

/**
 * Copy bytes from host memory to offset. On return the bytes are on the device, for every stream.
 * NULL: only err, and host if bytes is 0. Errors: TJ_ERR_INVALID_ARGUMENT (outside the buffer), and as tj_synchronize.
 */
TJ_API TJ_MUST_CHECK tj_status tj_buffer_write(tj_buffer *buffer, size_t offset, const void *host, size_t bytes, tj_error *err);

/**
 * Copy bytes from offset to host memory. Waits for the legacy default stream, or the one of tj_buffer_create_in; a product launched
 * on another stream must be waited for first (tj_synchronize).
 * NULL and Errors: as tj_buffer_write.
 */
TJ_API TJ_MUST_CHECK tj_status tj_buffer_read(const tj_buffer *buffer, size_t offset, void *host, size_t bytes, tj_error *err);

/** Set every byte. On return it is done, for every stream. NULL: only err may be NULL. Errors: as tj_synchronize. */
TJ_API TJ_MUST_CHECK tj_status tj_buffer_fill(tj_buffer *buffer, int byte, tj_error *err);

/** Release. Launches that use it must have completed. No CUDA call in a forked child or after a loss. NULL: accepted. */
TJ_API void tj_buffer_free(tj_buffer *buffer);

/**
 * Wait until all work of a stream is done. Trouble that a kernel ran into shows up here.
 * NULL: stream is the legacy default stream; only err besides. Threads: any.
 * Errors: TJ_ERR_DEVICE_LOST (an illegal address, say: restart the process), TJ_ERR_NO_DRIVER, TJ_ERR_DRIVER, TJ_ERR_FORKED.
 */
TJ_API TJ_MUST_CHECK tj_status tj_synchronize(tj_context *context, struct CUstream_st *stream, tj_error *err);

/** Free and total bytes of the device, as the driver counts them. NULL: only err may be NULL. Errors: as tj_synchronize. */
TJ_API TJ_MUST_CHECK tj_status tj_device_memory(tj_context *context, size_t *free_bytes, size_t *total_bytes, tj_error *err);

/**
 * Launch a plan warmup times, then repeat times with an event before and after each, all queued without a pause, and
 * wait. microseconds receives repeat durations in the order of the launches. The device's own clock: host time is not in
 * them, but the operands may well be in the L2 from the second launch on.
 *
 * NULL:    stream may be (the legacy default stream), err too.
 * Threads: any; other work on the stream would be timed as well.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (warmup below 0, repeat below 1 or above 100 000), those of tj_plan_launch and of
 *          tj_synchronize.
 */
TJ_API TJ_MUST_CHECK tj_status tj_time_launches(tj_context *context, const tj_plan *plan, const tj_operands *operands,
                                                struct CUstream_st *stream, int warmup, int repeat, double *microseconds,
                                                tj_error *err);

/**
 * The same over several sets of operands in turn: launch number i, warm-up included, takes set number i modulo count. Sets that
 * together exceed the L2 make every launch find it cold. per_event launches stand between two events, and a duration is
 * theirs divided by per_event: for kernels so short that an event would be felt. If per_event is a multiple of count, on a stream that
 * is not the legacy one, and the driver has graphs (CUDA 11.4), they are a CUDA graph, replayed once before it is timed: so the host,
 * which takes some 3 us to queue a launch, is not felt either. The call has the stream to itself then: it captures it. Operands for which a kernel has to be made first are
 * launched one by one.
 *
 * NULL, Threads: as tj_time_launches.
 * Errors:  those of tj_time_launches, and TJ_ERR_INVALID_ARGUMENT for a count of 0 or per_event outside 1 to 10 000.
 */
TJ_API TJ_MUST_CHECK tj_status tj_time_rotating(tj_context *context, const tj_plan *plan, const tj_operands *operands,
                                                size_t count, struct CUstream_st *stream, int warmup, int repeat, int per_event,
                                                double *microseconds, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
