/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repack.h: rewrite weights of 4 bits in the order in which tensor cores take them (tj_order), once, when they are loaded.
 *
 * A block is 32 neighbours along k, 16 bytes. It stays in its place, and the numbers within it are reordered. So if stored rows
 * are multiples of 16 bytes, one call rewrites all weights, those of all experts and any gaps included; otherwise each row
 * needs a call. k is a multiple of 32: pad weights and activations with zeros first.
 */
#ifndef TILEJIT_REPACK_H
#define TILEJIT_REPACK_H

#include <tilejit/context.h>
#include <tilejit/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TJ_REPACKED_BYTES = 16 }; /**< of a block of TJ_REPACKED_BLOCK weights */

struct CUstream_st; /* a CUstream, which is also a cudaStream_t; NULL is the legacy default stream */

/**
 * Write weights of 4 bits in device memory in another order. The call queues a kernel on a stream, after earlier work, waits
 * for it and unloads it: on return the weights are written.
 *
 * to receives bytes bytes. It may equal from; otherwise the two must not overlap. Both addresses are multiples of 16. order is
 * the order of to; from has the other. bytes is a multiple of TJ_REPACKED_BYTES.
 *
 * NULL:    context must not be NULL, nor to and from unless bytes is 0; stream and err may be.
 * Threads: any. Not while the calling thread captures a stream.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: bytes is negative or not such a multiple, an address is not a multiple of 16, or there is
 *          no such order; those of tj_image_obtain and tj_kernel_load, and those of a launch.
 */
TJ_API TJ_MUST_CHECK tj_status tj_repack(tj_context *context, void *to, const void *from, int64_t bytes, tj_order order,
                                         struct CUstream_st *stream, tj_error *err);

/**
 * The same in host memory, by the calling thread.
 *
 * NULL:    to and from must not be NULL unless bytes is 0; err may be.
 * Threads: any.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: bytes is negative or not such a multiple, or there is no such order.
 */
TJ_API TJ_MUST_CHECK tj_status tj_repack_host(void *to, const void *from, int64_t bytes, tj_order order, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
