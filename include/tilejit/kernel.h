/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h: an image loaded on one device, and its launch.
 *
 * Interop: a kernel belongs to the CUDA context that is current when it is loaded; with none current, to the primary
 * context of the TileJIT context's device, the one that the CUDA runtime, PyTorch and cuBLAS use too. No device memory
 * is allocated behind the caller's back, but for the workspace of a launch that needs one and is given none.
 */
#ifndef TILEJIT_KERNEL_H
#define TILEJIT_KERNEL_H

#include <tilejit/image.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* a CUstream, which is also a cudaStream_t; NULL is the legacy default stream */

/** Immutable once loaded: launch it from any thread. */
typedef struct tj_kernel tj_kernel;

/** One matrix of a launch, or of each product of its batch. */
typedef struct tj_operand {
    const void *address; /**< device address; where the problem's stride is TJ_POINTERS or TJ_POINTERS_16, that of an array of
                              `batch` device addresses, in memory that the device reaches, unchanged until the launch has run */
    int64_t ld;          /**< where the problem says TJ_ANY; 0: tight */
    int64_t stride;      /**< where the problem says TJ_ANY; 0: tight; TJ_BROADCAST */
} tj_operand;

/**
 * The matrices and scalars of one launch. Start from TJ_OPERANDS or TJ_OPERANDS_INIT. What the problem fixes is ignored; an extent
 * of 0 means the problem's.
 */
typedef struct tj_operands {
    size_t struct_size;
    tj_operand m, n;
    tj_operand p; /**< overlaps neither M nor N nor C, but may be C itself, if C is stored as P is. Each launch refuses a P that
                       shares an address with what is read, as far as that is certain: whichever of the two has no gaps, or both
                       have the same leading dimension, as blocks of one matrix do, which may well lie side by side. Of batches with
                       gaps between their matrices the first ones are compared, of matrices with different leading dimensions and
                       what arrays of pointers lead to, nothing */
    tj_operand c; /**< read if the problem adds beta * C and beta is not 0; an address of NULL: P itself */
    double alpha, beta; /**< used if the problem's epilogue has them; converted to f32 unless sums are f64, where one that would
                             become infinite or 0 is an error */
    int64_t j, k, l;    /**< TJ_DIM_ANY dimensions; 0: the extent in the problem */
    int64_t batch;      /**< TJ_ANY; 0: 1 */
    int32_t tile_width; /**< shared=dynamic kernels only; 0: the config's */
    int32_t reserved;   /**< must be 0 */
    void *workspace;    /**< tj_plan_workspace_bytes() bytes of device memory, which launches that may run at the same time must
                          not share; NULL, or too few: the launch takes what it needs from the device's memory pool (cuMemAllocAsync)
                          and gives it back, both in its stream, which costs a few microseconds */
    size_t workspace_bytes; /**< of workspace */
} tj_operands;

/* clang-format off */
/** TJ_OPERANDS(M, N, P): three addresses, alpha = 1, beta = 0, all else as the problem has it. */
#define TJ_OPERANDS(m, n, p)                                                                                           \
    { sizeof(tj_operands), { (m), 0, 0 }, { (n), 0, 0 }, { (p), 0, 0 }, { NULL, 0, 0 }, 1.0, 0.0, 0, 0, 0, 0, 0, 0, NULL, 0 }
#define TJ_OPERANDS_INIT TJ_OPERANDS(NULL, NULL, NULL)
/* clang-format on */

/** What the driver says of a loaded kernel. */
typedef struct tj_kernel_facts {
    int32_t registers;
    int32_t static_shared_bytes, local_bytes, constant_bytes;
    int32_t max_threads_per_block;
    int32_t ptx_version, binary_version; /**< 10 * major + minor */
} tj_kernel_facts;

/**
 * Load an image into the current CUDA context. Blocks until the code is on the device, so that the first launch does
 * not pay for it.
 *
 * Owned:   *kernel belongs to the caller; tj_kernel_free(). It keeps what it needs of source and image.
 * NULL:    only err may be NULL.
 * Errors:  TJ_ERR_NO_DRIVER, TJ_ERR_UNSUPPORTED (image and device do not fit; both are named), TJ_ERR_SPILLS (the source keeps
 *          its sums in registers, and the compiler moved some to memory; a looser config is in the message),
 *          TJ_ERR_DEVICE_MEMORY, TJ_ERR_DRIVER, TJ_ERR_DEVICE_LOST, TJ_ERR_FORKED. On failure *kernel is NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_kernel_load(tj_context *context, const tj_source *source, const tj_image *image,
                                              tj_kernel **kernel, tj_error *err);

/**
 * Queue one launch on a stream of the kernel's CUDA context. Returns before it has run. Allocates nothing but a workspace
 * that operands leave out, takes no lock. k = 0 gives beta * C, and then m and n may be NULL unless they are arrays of pointers; j and l
 * are at least 1. A stream that was destroyed is the
 * caller's bug: the driver itself does not survive it.
 *
 * NULL:    kernel and operands must not be NULL; stream may be.
 * Threads: any, several at once.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: a NULL or misaligned pointer, an extent that breaks a promise or that the kernel was
 *          generated without a check for, more blocks than a grid holds (the remedy is in the message), another current
 *          context, with a driver before CUDA 11.4 a missing workspace; TJ_ERR_DEVICE_MEMORY,
 *          TJ_ERR_UNSUPPORTED: no workspace can be had in the stream; TJ_ERR_DRIVER, TJ_ERR_DEVICE_LOST (reported again by every later call).
 */
TJ_API TJ_MUST_CHECK tj_status tj_kernel_launch(const tj_kernel *kernel, const tj_operands *operands,
                                                struct CUstream_st *stream, tj_error *err);

/** NULL: only err may be NULL. Errors: TJ_ERR_DRIVER. */
TJ_API TJ_MUST_CHECK tj_status tj_kernel_get_facts(const tj_kernel *kernel, tj_kernel_facts *facts, tj_error *err);

/** Unload, before its tj_context is freed. All its launches must have completed. NULL: accepted. */
TJ_API void tj_kernel_free(tj_kernel *kernel);

#ifdef __cplusplus
}
#endif
#endif
