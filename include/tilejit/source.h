/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h: problem + config -> CUDA text.
 */
#ifndef TILEJIT_SOURCE_H
#define TILEJIT_SOURCE_H

#include <tilejit/config.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Generated CUDA text and what a launch of it needs. Immutable after tj_generate; share it freely between threads. */
typedef struct tj_source tj_source;

/** What a kernel parameter receives. */
typedef enum tj_arg {
    TJ_ARG_M = 1,
    TJ_ARG_N,
    TJ_ARG_P,
    TJ_ARG_C, /* pointers */
    TJ_ARG_J,
    TJ_ARG_K,
    TJ_ARG_L, /* int: extents */
    TJ_ARG_LD_M,
    TJ_ARG_LD_N,
    TJ_ARG_LD_P,
    TJ_ARG_LD_C, /* long long: leading dimensions */
    TJ_ARG_STRIDE_M,
    TJ_ARG_STRIDE_N,
    TJ_ARG_STRIDE_P,
    TJ_ARG_STRIDE_C, /* long long: batch strides */
    TJ_ARG_BATCH,    /* int: products */
    TJ_ARG_ALPHA,
    TJ_ARG_BETA,     /* float, or double for f64 */
    TJ_ARG_WORKSPACE /* pointer: the partial sums of a split k */
} tj_arg;

enum { TJ_LAUNCH_MAX_ARGS = 24, TJ_KERNEL_NAME_BYTES = 64 };

/**
 * The second kernel of a text that splits k: it adds the partial sums up, in the order of the splits, and writes P.
 * All zero: there is none. Its grid is (ceil(elements of P / block_elements), 1, products).
 */
typedef struct tj_reduce_form {
    char kernel[TJ_KERNEL_NAME_BYTES]; /**< the extern "C" name, in the same text */
    int32_t arg[TJ_LAUNCH_MAX_ARGS];   /**< as of the launch form */
    int32_t arg_count;
    int32_t threads, block_elements; /**< of a block: threads, and elements of P that they sum */
    int32_t reserved;
    int64_t workspace_bytes; /**< of device memory, aligned to 16, for the partial sums of one launch */
} tj_reduce_form;

/**
 * How a generated kernel is launched. Plain data; every count is of elements, threads, blocks or bytes as named.
 *
 * The grid of a launch is
 *     row_blocks = ceil(rows of P / block_rows),  col_blocks = ceil(columns of P / block_cols)
 *     grid = (col_blocks, row_blocks, batch)          or, with rows_on_x, (row_blocks, col_blocks, batch)
 * where rows and columns are those of the text: of P itself, or of its transpose with is_swapped. With splits, grid.z is
 * batch * splits, and splits of one product are neighbours. A batch larger than grid.z takes several launches, the
 * pointers advanced by the strides, and arrays of pointers by a pointer a product. With products the grid is (ceil(batch / products), 1, 1) instead, in one launch.
 */
typedef struct tj_launch_form {
    char kernel[TJ_KERNEL_NAME_BYTES]; /**< the extern "C" name */
    int32_t arg[TJ_LAUNCH_MAX_ARGS];   /**< tj_arg of each kernel parameter, in order */
    int32_t arg_count;
    int32_t block_x, block_y;       /**< threads */
    int32_t block_rows, block_cols; /**< elements of P that one block computes */
    int32_t rows_on_x;              /**< 1: blockIdx.x counts rows of blocks */
    int32_t is_swapped;             /**< 1: the text computes the transpose of P, N^T . M^T */
    int32_t checks;                 /**< bit 0, 1, 2: the checks of the caller's j, k, l are in the text */
    int32_t tile_width;             /**< of the config; 0 if the family has none */
    int32_t tile_width_is_any;      /**< 1: the text reads TILE_WIDTH from blockDim: any width may be launched, and
                                             dynamic_shared_bytes grows with its square */
    int32_t least_target;           /**< 80: the text needs sm_80 or newer; 0: any target will do */
    int32_t sums_in_registers;      /**< 1: a thread keeps many sums in registers. A kernel for which the compiler found too few
                                             of them is never launched (TJ_ERR_SPILLS) */
    int64_t static_shared_bytes;    /**< declared in the text */
    int64_t dynamic_shared_bytes;   /**< to be given at launch */
    /** Bytes that the caller's matrices must be aligned to, because several elements are read or written at once; 0: an element.
     * Where pointers lead to them, each is; the array itself is aligned to its pointers. */
    int32_t align_m, align_n, align_p, align_c;
    int32_t splits;        /**< blocks that share the k of a tile of P; 0 and 1: one block walks all of it */
    int32_t products;      /**< whole products of the batch that one block computes; 0: blocks compute tiles of one product */
    tj_reduce_form reduce; /**< with splits: what turns their partial sums into P */
} tj_launch_form;

/**
 * Turn a problem and a config into CUDA text.
 *
 * Pure: reads no file, calls no CUDA, uses no global. The same request gives the same bytes on every machine and in
 * every locale. The text is ASCII, needs no header, and holds one extern "C" kernel, or
 * two where it splits k. The config is resolved first
 * (tj_config_resolve); NULL means the safe choice that a config without a family gets there.
 *
 * Owned:   *source belongs to the caller; release it with tj_source_free().
 * NULL:    problem and source must not be NULL; config and err may be.
 * Threads: any.
 * Errors:  as tj_config_resolve, and TJ_ERR_OUT_OF_MEMORY. On failure *source is NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_generate(const tj_problem *problem, const tj_config *config, tj_source **source,
                                           tj_error *err);

/**
 * How the text of a config would be launched, without the text: geometry, shared memory and target; the kernel's name and
 * arguments are left empty. For who weighs many configs. config is resolved first (tj_config_resolve) and comes back so.
 * NULL: only err may be NULL. Threads: any; pure. Errors: as tj_config_resolve; *form is then all zero.
 */
TJ_API TJ_MUST_CHECK tj_status tj_preview_launch(const tj_problem *problem, tj_config *config, tj_launch_form *form,
                                                 tj_error *err);

/** Release. NULL: accepted. */
TJ_API void tj_source_free(tj_source *source);

/** The CUDA text, NUL-terminated. Owned: borrowed from source. NULL: source must not be NULL. */
TJ_API const char *tj_source_text(const tj_source *source);

/** How to launch it. Owned: borrowed from source. */
TJ_API const tj_launch_form *tj_source_launch(const tj_source *source);

/** The problem it was generated from, transposes folded into layouts. Owned: borrowed from source. */
TJ_API const tj_problem *tj_source_problem(const tj_source *source);

/** The resolved config. Owned: borrowed from source. */
TJ_API const tj_config *tj_source_config(const tj_source *source);

/**
 * The boundary checks as a sentence, for people: which are in, which are not, and why ("k: 1000 is not a multiple of
 * TILE_WIDTH 16"). Owned: borrowed from source.
 */
TJ_API const char *tj_source_checks_text(const tj_source *source);

#ifdef __cplusplus
}
#endif
#endif
