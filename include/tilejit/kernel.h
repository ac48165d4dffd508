/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h: an image loaded on a device, and its launch.
 *
 * A kernel belongs to the CUDA context that is current when it is loaded. If none is, it belongs to the primary context of the
 * TileJIT context's device, which the CUDA runtime, PyTorch and cuBLAS use too. The library allocates no device memory, except
 * the workspace of a launch that needs one and is not given one.
 */
#ifndef TILEJIT_KERNEL_H
#define TILEJIT_KERNEL_H

#include <tilejit/image.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* a CUstream, which is also a cudaStream_t; NULL is the legacy default stream */

/** A loaded kernel. It never changes, and any thread may launch it. */
typedef struct tj_kernel tj_kernel;

/** One matrix of a launch, or of each product of its batch. */
typedef struct tj_operand {
    const void *address; /**< its device address. If the problem's stride is TJ_POINTERS or TJ_POINTERS_16, that of an array of
                              `batch` device addresses, which the device can reach and which must not change until the launch
                              has run */
    int64_t ld;          /**< used if the problem says TJ_ANY; 0: tight */
    int64_t stride;      /**< used if the problem says TJ_ANY; 0: tight; TJ_BROADCAST */
} tj_operand;

/**
 * The matrices and scalars of one launch. Start from TJ_OPERANDS or TJ_OPERANDS_INIT. Fields that the problem fixes are
 * ignored; an extent of 0 means the problem's.
 */
typedef struct tj_operands {
    size_t struct_size;
    tj_operand m, n;
    tj_operand p; /**< must not overlap M, N or C, but may be C itself if C is stored like P. A launch refuses a P that
                       certainly shares an address with an input: one of the two has no gaps, or both have the same leading
                       dimension, as blocks of one matrix have, which may lie side by side. Of batches with gaps between their
                       matrices the first matrices are compared. Matrices with different leading dimensions, and those reached
                       by arrays of pointers, are not compared */
    tj_operand c; /**< read if the problem adds beta * C and beta is not 0. Without an address it is P itself */
    /**
     * Read if the problem's epilogue has them: f32, one value, or one per row of M and per column of N. stride: from those of a
     * product to those of the next; 0: tight; TJ_BROADCAST. ld is used with TJ_SCALE_ALONG_K only, where each part of k has one
     * such vector: the distance from one vector to the next; 0: tight.
     */
    tj_operand scale_m, scale_n;
    /**
     * The operands of the epilogue's expression: tj_operands_set finds one by name, tj_epilogue_find gives its number. ld: of a
     * matrix, from one stored row (column) to the next; 0: tight. stride: from one product of the batch to the next; 0: tight;
     * TJ_BROADCAST. None may overlap P.
     */
    tj_operand with[TJ_EPILOGUE_OPERANDS];
    double number[TJ_EPILOGUE_OPERANDS]; /**< the expression's operands that are numbers; converted as alpha is */
    double alpha,
        beta;        /**< used if the problem's epilogue has them. f64 takes them as they are. A product of integers whose P is
                          an integer, without scales, takes whole numbers from -(2^31 - 1) to 2^31 - 1; any other number is an
                          error. Other products convert them to f32; one that would become infinite or 0 by that is an error */
    int64_t j, k, l; /**< used for TJ_DIM_ANY; 0: the extent in the problem */
    int64_t batch;   /**< used for TJ_ANY; 0: 1 */
    int32_t tile_width; /**< used by kernels with shared=dynamic; 0: the config's */
    int32_t reserved;   /**< must be 0 */
    /**
     * Used if the problem has groups: the offset of each group, and the end of the last one, groups.count + 1 signed integers
     * of groups.offset_bytes each. They count rows, from 0 to j, and never decrease.
     *
     * In host memory (groups.on_host) they are read before the call returns, and a launch refuses those that break this rule.
     * In device memory they are not checked before the launch, and the kernel enforces the rule itself: an offset below 0
     * counts as 0, one beyond j as j, and one below an earlier one as that one, so that its group has no rows. Nothing outside
     * of M, N, P and C is read or written, whatever the offsets are. tj_groups_check describes their defects.
     */
    const void *offsets;
    void *workspace; /**< device memory of tj_plan_workspace_bytes() bytes; launches that may run at the same time must not
                          share it. If it is NULL or too small, the launch allocates a workspace from the device's memory pool
                          (cuMemAllocAsync) and frees it, in its stream; that costs a few microseconds */
    size_t workspace_bytes; /**< the size of workspace */
} tj_operands;

/* clang-format off */
/** TJ_OPERANDS(M, N, P): three addresses, alpha = 1, beta = 0, everything else as in the problem. */
#define TJ_OPERANDS(m, n, p)                                                                                           \
    { sizeof(tj_operands), { (m), 0, 0 }, { (n), 0, 0 }, { (p), 0, 0 }, { NULL, 0, 0 }, { NULL, 0, 0 },           \
      { NULL, 0, 0 }, { { NULL, 0, 0 } }, { 0 }, 1.0, 0.0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0 }
#define TJ_OPERANDS_INIT TJ_OPERANDS(NULL, NULL, NULL)
/* clang-format on */

/**
 * Set an operand or output of the epilogue's expression: the address of an indexed one, or the value of a number. Its leading
 * dimension and stride stay as they are.
 *
 *     tj_operands x = TJ_OPERANDS(M, N, P);
 *     status = tj_operands_set(&x, &problem, "bias", bias, &err);
 *
 * NULL:    address (a launch then says that it is missing) and err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: the expression names no such operand (the message lists its operands), it is a number or is
 *          not, or the operands are not initialised. Nothing is written then.
 */
TJ_API TJ_MUST_CHECK tj_status tj_operands_set(tj_operands *operands, const tj_problem *problem, const char *name,
                                               const void *address, tj_error *err);
TJ_API TJ_MUST_CHECK tj_status tj_operands_set_number(tj_operands *operands, const tj_problem *problem, const char *name,
                                                      double number, tj_error *err);

/** The driver's facts about a loaded kernel. */
typedef struct tj_kernel_facts {
    int32_t registers;
    int32_t static_shared_bytes, local_bytes, constant_bytes;
    int32_t max_threads_per_block;
    int32_t ptx_version, binary_version; /**< 10 * major + minor */
} tj_kernel_facts;

/**
 * Load an image into the current CUDA context. Returns when the code is on the device, so that the first launch does not wait
 * for it.
 *
 * Owned:   *kernel belongs to the caller; tj_kernel_free(). It keeps all that it needs of source and image.
 * NULL:    only err may be NULL.
 * Errors:  TJ_ERR_NO_DRIVER, TJ_ERR_UNSUPPORTED (image and device do not match; the message names both), TJ_ERR_SPILLS (the
 *          source keeps its accumulators in registers, and the compiler spilled some; the message names a looser config),
 *          TJ_ERR_DEVICE_MEMORY, TJ_ERR_DRIVER, TJ_ERR_DEVICE_LOST, TJ_ERR_FORKED. On failure *kernel is NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_kernel_load(tj_context *context, const tj_source *source, const tj_image *image,
                                              tj_kernel **kernel, tj_error *err);

/**
 * Queue one launch on a stream of the kernel's CUDA context, and return before it has run. This takes no lock, and allocates
 * nothing except a workspace that operands leave out. k = 0 gives beta * C, and then m and n need no address unless they are
 * arrays of pointers; j and l are at least 1. The stream must exist: the driver itself does not survive a destroyed one.
 *
 * Later work in the stream begins when P is complete, with one exception of CUDA's: a kernel that is itself launched with
 * programmatic stream serialization may begin earlier, and has to wait (cudaGridDependencySynchronize) before it reads P.
 *
 * NULL:    stream (the legacy default stream) and err may be NULL.
 * Threads: any, several at once.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: a NULL or misaligned pointer, an alpha or beta that the product cannot take, an extent that
 *          breaks a promise or for which the kernel lacks a check, more blocks than a grid holds (the message has the remedy),
 *          another current context, a stream of another context (the message names both devices), or, with a driver before CUDA
 *          11.4, a missing workspace. TJ_ERR_DEVICE_MEMORY, TJ_ERR_UNSUPPORTED: no workspace can be had in the stream.
 *          TJ_ERR_DRIVER. TJ_ERR_DEVICE_LOST, which every later call returns again, except for calls with invalid operands. The
 *          memory at the pointers is not checked here: tj_matmul and tj_plan_launch do that (check_pointers of
 *          tj_context_options).
 */
TJ_API TJ_MUST_CHECK tj_status tj_kernel_launch(const tj_kernel *kernel, const tj_operands *operands,
                                                struct CUstream_st *stream, tj_error *err);

/** Ask the driver about a loaded kernel. NULL: only err may be NULL. Errors: TJ_ERR_DRIVER. */
TJ_API TJ_MUST_CHECK tj_status tj_kernel_get_facts(const tj_kernel *kernel, tj_kernel_facts *facts, tj_error *err);

/** The method that multiplied a product of TJ_COMPUTE_F32_SPLIT (docs/f32-split.md). */
typedef enum tj_path {
    TJ_PATH_F16 = 1, /**< by tensor cores, in three products of f16 */
    TJ_PATH_BF16 =
        2, /**< by tensor cores, in six products of bf16: elements of a row of M or a column of N span too much for f16 */
    TJ_PATH_F32 = 3 /**< in IEEE f32: infinities, NaN, values that may overflow or become subnormal */
} tj_path;

/** "f16x3", "bf16x6", "f32"; "?" for a number that is not a path. Owned: static text. Threads: any; pure. */
TJ_API const char *tj_path_name(tj_path path);

/**
 * Return the number of products for which one launch of a kernel chooses a path on the device: the batch, of which one launch
 * takes at most 65 535. 0: the kernel has a single path. NULL: a kernel of NULL answers 0. Threads: any; pure.
 */
TJ_API int64_t tj_kernel_path_count(const tj_kernel *kernel);

/**
 * Queue a copy of the paths that a launch took: paths receives a tj_path for each of the first count products. Call this after
 * the launch, in its stream, with the workspace of its operands (without one there are no paths to copy). The workspace keeps
 * them until the next launch that uses it. For a batch that takes several launches, they are those of the last.
 *
 * Owned:   paths and workspace stay the caller's. paths is filled when the stream has reached the copy (tj_synchronize).
 * NULL:    stream (the legacy default stream) and err may be NULL.
 * Threads: any, several at once.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: the kernel chooses none, count is 0 or above tj_kernel_path_count, or another CUDA context
 *          is current. TJ_ERR_DRIVER, TJ_ERR_DEVICE_LOST.
 */
TJ_API TJ_MUST_CHECK tj_status tj_kernel_copy_paths(const tj_kernel *kernel, const void *workspace, int32_t *paths,
                                                    size_t count, struct CUstream_st *stream, tj_error *err);

/** Unload a kernel, before its tj_context is freed. All its launches must have completed. NULL: accepted. */
TJ_API void tj_kernel_free(tj_kernel *kernel);

#ifdef __cplusplus
}
#endif
#endif
