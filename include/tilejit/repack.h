/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repack.h: weights of 4 bits in the order that tensor cores take them in (tj_order), written once, when they are loaded.
 *
 * A block of 32 neighbours along k, 16 bytes, stays where it is, and its numbers change places. So weights whose stored rows are
 * multiples of 16 bytes, those of all experts too, are one run of blocks and need one call, with any gaps between them; others
 * need one call for each row. k is a multiple of 32: fill up weights and activations with zeros before.
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
 * Write weights of 4 bits in device memory in another order. The kernel is queued on a stream, after what is there, and is
 * unloaded again: on return the weights are written.
 *
 * to receives bytes bytes, and may be from itself; otherwise the two do not overlap. Both are multiples of 16. order: that of to;
 * from has the other. bytes: a multiple of TJ_REPACKED_BYTES.
 *
 * NULL:    context must not be NULL, nor to and from unless bytes is 0; stream and err may be.
 * Threads: any. Not while the calling thread captures a stream.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: bytes is negative or not a multiple, an address is not one, or there is no such order; those
 *          of tj_image_obtain and tj_kernel_load, and those of a launch.
 */
TJ_API TJ_MUST_CHECK tj_status tj_repack(tj_context *context, void *to, const void *from, int64_t bytes, tj_order order,
                                         struct CUstream_st *stream, tj_error *err);

/**
 * The same in host memory, by the calling thread.
 *
 * NULL:    to and from must not be NULL unless bytes is 0; err may be.
 * Threads: any.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: bytes is negative or not a multiple, or there is no such order.
 */
TJ_API TJ_MUST_CHECK tj_status tj_repack_host(void *to, const void *from, int64_t bytes, tj_order order, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
