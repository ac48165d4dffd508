/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h: an image loaded on a device, and its launch.
 *
 * A kernel belongs to the CUDA context that is current when it is loaded. If none is, it belongs to the primary context of the
 * TileJIT context's device, which the CUDA runtime, PyTorch and cuBLAS use too. The library allocates no device memory, except
 * a workspace for a launch that needs one and whose operands have none.
 */
#ifndef TILEJIT_KERNEL_H
#define TILEJIT_KERNEL_H

#include <tilejit/image.h>
#include <tilejit/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A loaded kernel. It never changes, and any thread may launch it. */
typedef struct tj_kernel tj_kernel;

/** The driver's facts about a loaded kernel. Start from TJ_KERNEL_FACTS_INIT. */
typedef struct tj_kernel_facts {
    size_t struct_size;
    int32_t registers;
    int32_t static_shared_bytes, local_bytes, constant_bytes;
    int32_t max_threads_per_block;
    int32_t ptx_version, binary_version; /**< 10 * major + minor */
} tj_kernel_facts;

#define TJ_KERNEL_FACTS_INIT TJ_SIZED(tj_kernel_facts)

/**
 * Load an image into the current CUDA context. The call returns when the code is on the device, so the first launch does not
 * wait for it.
 *
 * Owned:   *kernel belongs to the caller; tj_kernel_free(). source and image may be freed before it.
 * NULL:    only err may be NULL.
 * Errors:  TJ_ERR_NO_DRIVER, TJ_ERR_UNSUPPORTED (image and device do not match; the message names both), TJ_ERR_SPILLS (the
 *          source keeps its accumulators in registers, and the compiler spilled some of them or omitted products; the message
 *          names a config that needs fewer registers), TJ_ERR_DEVICE_MEMORY, TJ_ERR_DRIVER, TJ_ERR_DEVICE_LOST, TJ_ERR_FORKED.
 *          On failure *kernel is NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_kernel_load(tj_context *context, const tj_source *source, const tj_image *image,
                                              tj_kernel **kernel, tj_error *err);

/**
 * Queue one launch on a stream of the kernel's CUDA context, as tj_plan_launch does, but always with this kernel.
 *
 * NULL:    stream (the legacy default stream) and err may be NULL.
 * Threads: any, several at once.
 * Errors:  those of tj_plan_launch, but a misaligned pointer is an error, and the memory at the pointers is not checked.
 */
TJ_API TJ_MUST_CHECK tj_status tj_kernel_launch(const tj_kernel *kernel, const tj_operands *operands,
                                                struct CUstream_st *stream, tj_error *err);

/**
 * Get the driver's facts about a loaded kernel.
 * NULL: only err may be NULL. Errors: TJ_ERR_DRIVER; TJ_ERR_INVALID_ARGUMENT: facts was not initialised.
 */
TJ_API TJ_MUST_CHECK tj_status tj_kernel_get_facts(const tj_kernel *kernel, tj_kernel_facts *facts, tj_error *err);

/** The method that multiplied a product of TJ_COMPUTE_F32_SPLIT (docs/f32-split.md). */
typedef enum tj_path {
    TJ_PATH_F16 = 1, /**< by tensor cores, in three products of f16 */
    TJ_PATH_BF16 =
        2, /**< by tensor cores, in six products of bf16: the elements of a row of M or a column of N have too wide a range for
                f16 */
    TJ_PATH_F32 = 3 /**< in IEEE f32: infinities, NaN, values that may overflow or become subnormal */
} tj_path;

/** "f16x3", "bf16x6", "f32"; "?" for a number that is not a path. Owned: static text. Threads: any; pure. */
TJ_API const char *tj_path_name(tj_path path);

/**
 * Return the number of products for which one launch of a kernel chooses a path on the device: the batch, of which one launch
 * takes at most 65 535. 0: the kernel has a single path. NULL: returns 0. Threads: any; pure.
 */
TJ_API int64_t tj_kernel_path_count(const tj_kernel *kernel);

/**
 * Queue a copy of the paths that a launch took: paths receives a tj_path for each of the first count products. Call this after
 * the launch, in its stream, with the workspace of its operands (without one there are no paths to copy). The workspace keeps
 * them until the next launch that uses it. For a batch that takes several launches, the paths are those of the last launch.
 *
 * Owned:   paths and workspace stay the caller's. paths is filled when the stream has reached the copy (tj_synchronize).
 * NULL:    stream (the legacy default stream) and err may be NULL.
 * Threads: any, several at once.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: the kernel chooses no path, count is 0 or above tj_kernel_path_count, or another CUDA
 *          context is current. TJ_ERR_DRIVER, TJ_ERR_DEVICE_LOST.
 */
TJ_API TJ_MUST_CHECK tj_status tj_kernel_copy_paths(const tj_kernel *kernel, const void *workspace, int32_t *paths,
                                                    size_t count, struct CUstream_st *stream, tj_error *err);

/** Return the source, image and kernel of a plan, for inspection. Owned: borrowed. NULL: plan must not be NULL. */
TJ_API const tj_source *tj_plan_source(const tj_plan *plan);
TJ_API const tj_image *tj_plan_image(const tj_plan *plan);
TJ_API const tj_kernel *tj_plan_kernel(const tj_plan *plan);

/** Unload a kernel, before its tj_context is freed. All its launches must have completed. NULL: accepted. */
TJ_API void tj_kernel_free(tj_kernel *kernel);

#ifdef __cplusplus
}
#endif
#endif
