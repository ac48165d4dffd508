/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.h: device memory, copies and streams, for programs that have no CUDA runtime of their own.
 *
 * A program that uses the CUDA runtime, PyTorch or the like keeps its own memory and passes addresses: no other call of TileJIT
 * needs a tj_buffer. The command, the examples and the tests use these calls, so that they too build and start on a machine
 * without a CUDA toolkit.
 *
 * Every call runs in the current CUDA context, or else in the primary context of the TileJIT context's device. A buffer stays
 * in the CUDA context in which it was created, whichever is current later.
 *
 * These calls do not break captures of other threads, whatever their mode: they leave the thread's capture mode for the call,
 * as loading a kernel does. The exception is a copy through the legacy default stream: while a stream that waits for that
 * stream is being captured, the driver refuses the copy, and this ends the capture. Streams of tj_stream_create do not wait for
 * it.
 */
#ifndef TILEJIT_BUFFER_H
#define TILEJIT_BUFFER_H

#include <tilejit/context.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* a CUstream, which is also a cudaStream_t; NULL is the legacy default stream */

/**
 * Make a stream that neither waits for the legacy default stream nor makes it wait.
 *
 * Owned:   *stream belongs to the caller; tj_stream_destroy(), before the context is freed.
 * NULL:    only err may be NULL.
 * Threads: any.
 * Errors:  as tj_synchronize. On failure *stream is NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_stream_create(tj_context *context, struct CUstream_st **stream, tj_error *err);

/**
 * Destroy a stream; its work need not have completed. Makes no CUDA call in a forked child or after the device was lost.
 * NULL: stream may be NULL. Threads: any.
 */
TJ_API void tj_stream_destroy(tj_context *context, struct CUstream_st *stream);

/** A piece of device memory. Any thread may use its address; only one thread at a time may use the buffer itself. */
typedef struct tj_buffer tj_buffer;

/**
 * Allocate device memory, with the context's allocator if it has one. Its bytes are not set. A buffer of size 0 has an address
 * too.
 *
 * Owned:   *buffer belongs to the caller; tj_buffer_free(), before the context is freed.
 * NULL:    only err may be NULL.
 * Threads: any.
 * Errors:  TJ_ERR_NO_DRIVER, TJ_ERR_DEVICE_MEMORY (the message states the bytes requested and the bytes free),
 *          TJ_ERR_DEVICE_LOST, TJ_ERR_DRIVER, TJ_ERR_FORKED. On failure *buffer is NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_buffer_create(tj_context *context, size_t bytes, tj_buffer **buffer, tj_error *err);

/** The same, but copies to and from the buffer use this stream and wait for it alone. The stream must outlive the buffer. */
TJ_API TJ_MUST_CHECK tj_status tj_buffer_create_in(tj_context *context, struct CUstream_st *stream, size_t bytes,
                                                   tj_buffer **buffer, tj_error *err);

/** Return its device address, aligned to 256 bytes, for tj_operands. NULL: buffer must not be NULL. */
TJ_API void *tj_buffer_address(const tj_buffer *buffer);

/**
 * Copy bytes from host memory to the buffer at offset. On return they are on the device, and every stream sees them.
 * NULL: err, and host if bytes is 0. Errors: TJ_ERR_INVALID_ARGUMENT (outside the buffer), and those of tj_synchronize.
 */
TJ_API TJ_MUST_CHECK tj_status tj_buffer_write(tj_buffer *buffer, size_t offset, const void *host, size_t bytes, tj_error *err);

/**
 * Copy bytes from the buffer at offset to host memory. The call waits for the legacy default stream, or for the stream of
 * tj_buffer_create_in. If the product was launched on another stream, call tj_synchronize first.
 * NULL, Errors: as tj_buffer_write.
 */
TJ_API TJ_MUST_CHECK tj_status tj_buffer_read(const tj_buffer *buffer, size_t offset, void *host, size_t bytes, tj_error *err);

/**
 * Set every byte of the buffer. On return every stream sees the bytes. NULL: only err may be NULL. Errors: those of
 * tj_synchronize.
 */
TJ_API TJ_MUST_CHECK tj_status tj_buffer_fill(tj_buffer *buffer, int byte, tj_error *err);

/**
 * Free a buffer. Launches that use it must have completed. Makes no CUDA call in a forked child or after the device was lost.
 * NULL: accepted.
 */
TJ_API void tj_buffer_free(tj_buffer *buffer);

/**
 * Wait until all work of a stream is done. This call reports the failure of a kernel.
 * NULL: stream (the legacy default stream) and err may be NULL. Threads: any.
 * Errors: TJ_ERR_DEVICE_LOST (for example an illegal address; restart the process), TJ_ERR_NO_DRIVER, TJ_ERR_DRIVER,
 * TJ_ERR_FORKED.
 */
TJ_API TJ_MUST_CHECK tj_status tj_synchronize(tj_context *context, struct CUstream_st *stream, tj_error *err);

/** Get the device's free and total memory from the driver. NULL: only err may be NULL. Errors: those of tj_synchronize. */
TJ_API TJ_MUST_CHECK tj_status tj_device_memory(tj_context *context, size_t *free_bytes, size_t *total_bytes, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
