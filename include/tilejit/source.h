/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h: turn a problem and a config into CUDA text.
 */
#ifndef TILEJIT_SOURCE_H
#define TILEJIT_SOURCE_H

#include <tilejit/config.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Generated CUDA text, and what a launch of it needs. It never changes, and threads may share it. */
typedef struct tj_source tj_source;

/** What a text may need of its target, as bits. Which devices have it: tj_device_features. */
typedef enum tj_feature {
    TJ_FEATURE_CP_ASYNC = 1 << 0,    /**< copies to shared memory past the registers */
    TJ_FEATURE_LDMATRIX = 1 << 1,    /**< fragments of matrices loaded by a warp */
    TJ_FEATURE_STMATRIX = 1 << 2,    /**< and stored */
    TJ_FEATURE_MMA_F16 = 1 << 3,     /**< products by a warp (mma.sync), by type */
    TJ_FEATURE_MMA_S8 = 1 << 4,      /**< */
    TJ_FEATURE_MMA_BF16 = 1 << 5,    /**< */
    TJ_FEATURE_MMA_TF32 = 1 << 6,    /**< */
    TJ_FEATURE_MMA_F64 = 1 << 7,     /**< */
    TJ_FEATURE_FP8 = 1 << 8,         /**< e4m3 and e5m2: conversions and products */
    TJ_FEATURE_DEPENDENTS = 1 << 9,  /**< a kernel that waits by itself for the one ahead (griddepcontrol) */
    TJ_FEATURE_CLUSTER = 1 << 10,    /**< clusters of blocks */
    TJ_FEATURE_TMA = 1 << 11,        /**< bulk and tensor copies */
    TJ_FEATURE_SETMAXNREG = 1 << 12, /**< registers moved between warpgroups */
    TJ_FEATURE_WGMMA = 1 << 13,      /**< products by a warpgroup */
    TJ_FEATURE_FP8_SUMS = 1 << 14    /**< products of e4m3 and e5m2 by a warp, with sums of all bits of f32: sm_89 keeps 13 */
} tj_feature;

/** What a kernel parameter receives. */
typedef enum tj_argument_kind {
    TJ_ARG_POINTER = 1,  /**< pointer to a matrix, or to the array of pointers to it; index: tj_which */
    TJ_ARG_EXTENT,       /**< int: an extent; index: tj_extent */
    TJ_ARG_LD,           /**< long long: a leading dimension; index: tj_which */
    TJ_ARG_STRIDE,       /**< long long: from one product of the batch to the next; index: tj_which */
    TJ_ARG_BATCH,        /**< int: how many products */
    TJ_ARG_ALPHA,        /**< alpha: a double for TJ_COMPUTE_F64, a long long where the epilogue is of integers, else a float */
    TJ_ARG_BETA,         /**< beta, of the same type */
    TJ_ARG_WORKSPACE,    /**< pointer into the workspace; index: of slice */
    TJ_ARG_TENSOR_MAP,   /**< a CUtensorMap by value, 128 bytes aligned to 128; index: of tensor_map */
    TJ_ARG_SCALE,        /**< pointer to the scales of a matrix, which are float; index: tj_which, of M or N */
    TJ_ARG_SCALE_STRIDE, /**< long long: from the scales of one product of the batch to those of the next; index: tj_which */
    TJ_ARG_CUSTOM,       /**< of a family of the application's own (custom.h): 4 or 8 bytes; index: how many */
    TJ_ARG_OFFSETS,      /**< where groups begin; index 0: pointer to the offsets, 1: the offsets themselves, by value */
    /**
     * Of the operand with that index in the epilogue's expression: pointer to its elements, leading dimension (long long),
     * from one product of the batch to the next (long long), and, of one that is a number, the number, as alpha is one.
     */
    TJ_ARG_WITH,
    TJ_ARG_WITH_LD,     /**< */
    TJ_ARG_WITH_STRIDE, /**< */
    TJ_ARG_WITH_NUMBER, /**< */
    TJ_ARG_SCALE_LD /**< long long: of scales along k, from those of one part of k to those of the next; index: tj_which, of M
                         or N */
} tj_argument_kind;

typedef enum tj_extent { TJ_EXTENT_J, TJ_EXTENT_K, TJ_EXTENT_L } tj_extent;

typedef struct tj_argument {
    int32_t kind;  /**< tj_argument_kind */
    int32_t index; /**< as the kind says; otherwise 0 */
} tj_argument;

/**
 * A tensor map is encoded at each launch, for a matrix of the caller or for one that lies in the workspace. Its dimensions
 * are the elements of a line, the lines, and, with rank 3, the products of the batch. Elements outside are read as 0 and not
 * written. The matrix, its lines and its products must begin at multiples of 16 bytes.
 */
typedef struct tj_tensor_map {
    int32_t matrix;  /**< tj_which, of the caller, but not a matrix to which pointers lead; in the workspace: index of slice */
    int32_t type;    /**< tj_type that the copy sees, of as many bytes as the caller's matrix has; 0: that matrix's own */
    int32_t rank;    /**< 2 or 3 */
    int32_t box[3];  /**< elements of one copy, first along a line; 1 to 256 each */
    int32_t swizzle; /**< bytes of the pattern in shared memory: 0 (none), 32, 64, 128 */
    int32_t rounds;  /**< 1: elements of f32 are rounded to tf32 on their way */
    int32_t joins;   /**< so many lines of the caller's matrix are one of the map, for no gap is between them; 0: one */
    /** A matrix in the workspace has this many lines, of so many elements, which begin ld elements apart; with rank 3, the
     * products follow each other lines * ld elements apart. 0 lines: it is the caller's, who says all that. */
    int64_t lines, width, ld;
} tj_tensor_map;

/** How many blocks a step launches. */
typedef enum tj_grid_rule {
    /** (col_blocks, row_blocks, products * splits), or with rows_on_x (row_blocks, col_blocks, products * splits), where
     * row_blocks = ceil(rows / block_rows), and one more for each group but the first, col_blocks = ceil(cols / block_cols),
     * and rows and columns are those of the text's
     * P. Splits of one product are neighbours on z. */
    TJ_GRID_TILES = 1,
    TJ_GRID_ELEMENTS, /**< (ceil(elements of P / block_cols), 1, products) */
    TJ_GRID_PRODUCTS, /**< (ceil(batch / block_products), 1, 1), in one launch whatever the batch */
    TJ_GRID_ONCE,     /**< (ceil(elements of P / block_cols), 1, 1): once for all products that are launched together */
    TJ_GRID_WALK,     /**< (blocks, 1, products * splits): as many as the device holds, resident on each multiprocessor, but no
                           more than row_blocks * col_blocks and at least one. A block walks tiles of P, gridDim.x apart. */
    TJ_GRID_LINES     /**< (ceil(rows or columns of P, whichever are more / block_cols), 1, products) */
} tj_grid_rule;

enum { TJ_LAUNCH_MAX_STEPS = 7, TJ_LAUNCH_MAX_ARGS = 48, TJ_LAUNCH_MAX_SLICES = 5, TJ_LAUNCH_MAX_MAPS = 4 };
enum { TJ_KERNEL_NAME_BYTES = 64 };

/** One kernel of a launch. */
typedef struct tj_launch_step {
    char kernel[TJ_KERNEL_NAME_BYTES];   /**< the extern "C" name */
    tj_argument arg[TJ_LAUNCH_MAX_ARGS]; /**< what each kernel parameter receives, in order */
    int32_t arg_count;
    int32_t grid;                   /**< tj_grid_rule */
    int32_t rows_on_x;              /**< TJ_GRID_TILES, 1: blockIdx.x counts rows of blocks */
    int32_t block_x, block_y;       /**< threads */
    int32_t block_rows, block_cols; /**< elements of P that one block computes */
    int32_t block_products;         /**< TJ_GRID_PRODUCTS: whole products that one block computes */
    int32_t resident;               /**< TJ_GRID_WALK: blocks that a multiprocessor holds */
    int32_t splits;     /**< TJ_GRID_TILES, TJ_GRID_WALK: blocks that share the k of a tile of P; 0 and 1: one has all of it */
    int32_t cluster[3]; /**< blocks of a cluster along x, y, z, 0 and 1: one. The grid is rounded up to whole clusters */
    int32_t overlaps;   /**< 1: where its target lets it (TJ_FEATURE_DEPENDENTS), the text itself waits for
                                     the kernel ahead in the stream, so that this step may be launched beside it */
    int32_t sums_in_registers;    /**< 1: a thread keeps many sums in registers. A kernel for which the compiler found too few
                                             of them is never launched (TJ_ERR_SPILLS) */
    int64_t static_shared_bytes;  /**< declared in the text */
    int64_t dynamic_shared_bytes; /**< to be requested at launch */
} tj_launch_step;

/**
 * How a generated text is launched: its kernels, one after the other in the stream.
 *
 * grid.z counts products of the batch. A batch that is larger than grid.z can be takes several launches of all steps, which
 * share one workspace. From one to the next, pointers advance by the strides, and arrays of pointers by one pointer for each
 * product.
 */
typedef struct tj_launch_form {
    tj_launch_step step[TJ_LAUNCH_MAX_STEPS];
    int32_t steps;
    int32_t product;    /**< the step that multiplies: what is said of the text's tiles and threads is said of it */
    int32_t is_swapped; /**< 1: the text computes the transpose of P, N^T . M^T, and its rows are P's columns */
    int32_t checks;     /**< bit 0, 1, 2: the checks of the caller's j, k, l are in the text */
    /** The widths that tj_operands.tile_width may ask for. Such a text reads the edge of its block and tile from blockDim, and
     * its dynamic_shared_bytes grow with the square. 0: the text has a width of its own. */
    int32_t least_tile_width, most_tile_width;
    uint32_t needs; /**< of its target: tj_feature bits; 0: any target will do */
    /** To how many bytes the caller's matrices (tj_which) must be aligned, because several elements are read or written at
     * once; 0: to an element. Where pointers lead to matrices, each must be; the array itself is aligned to its pointers. */
    int32_t align[TJ_MATRICES];
    int32_t most_k;          /**< the longest k that a launch may bring; 0: any */
    int64_t workspace_bytes; /**< of device memory, aligned to 16, that one launch needs */
    int64_t result_bytes;    /**< of them, for what blocks find of rows and columns that an epilogue reduces */
    int32_t paths;           /**< the workspace begins with so many tj_path, one for each product of a launch; 0: none */
    int64_t slice[TJ_LAUNCH_MAX_SLICES]; /**< where the workspace's parts begin, in bytes, at multiples of 16 */
    tj_tensor_map tensor_map[TJ_LAUNCH_MAX_MAPS];
} tj_launch_form;

/** The step that multiplies. Owned: borrowed from form. NULL: form must not be NULL. */
static inline const tj_launch_step *tj_product_step(const tj_launch_form *form)
{
    return &form->step[form->product];
}

/**
 * Turn a problem and a config into CUDA text.
 *
 * This is pure: it reads no file, calls no CUDA and uses no global variable. The same request gives the same bytes on every
 * machine and in every locale. The text is ASCII, needs no header, and holds one extern "C" kernel for each step of its launch.
 * The config is resolved first (tj_config_resolve); NULL means the safe choice that a config without a family gets there.
 *
 * Owned:   *source belongs to the caller; tj_source_free().
 * NULL:    config and err may be NULL.
 * Threads: any.
 * Errors:  those of tj_config_resolve, and TJ_ERR_OUT_OF_MEMORY. On failure *source is NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_generate(const tj_problem *problem, const tj_config *config, tj_source **source,
                                           tj_error *err);

/**
 * How the text of a config would be launched: geometry, shared memory and target, without the text and without the names and
 * arguments of kernels. Use this to compare many configs cheaply. config becomes the resolved config (tj_config_resolve).
 * NULL: only err may be NULL. Threads: any; pure. Errors: those of tj_config_resolve; *form is then all zero.
 */
TJ_API TJ_MUST_CHECK tj_status tj_preview_launch(const tj_problem *problem, tj_config *config, tj_launch_form *form,
                                                 tj_error *err);

/** Free a source. NULL: accepted. */
TJ_API void tj_source_free(tj_source *source);

/** The CUDA text, NUL-terminated. Owned: borrowed from source. NULL: source must not be NULL. */
TJ_API const char *tj_source_text(const tj_source *source);

/** How to launch it. Owned: borrowed from source. */
TJ_API const tj_launch_form *tj_source_launch(const tj_source *source);

/** The name of the kernel that multiplies; messages use it as the name of the text. Owned: borrowed from source. */
static inline const char *tj_source_kernel(const tj_source *source)
{
    return tj_product_step(tj_source_launch(source))->kernel;
}

/** The problem it was generated from, transposes folded into layouts; NULL for that of tj_custom_generate. Owned: borrowed from
 * source. */
TJ_API const tj_problem *tj_source_problem(const tj_source *source);

/** The resolved config. Owned: borrowed from source. */
TJ_API const tj_config *tj_source_config(const tj_source *source);

/**
 * The boundary checks as a sentence for people: which are in the text, which are not, and why ("k: 1000 is not a multiple of
 * TILE_WIDTH 16"). Owned: borrowed from source.
 */
TJ_API const char *tj_source_checks_text(const tj_source *source);

#ifdef __cplusplus
}
#endif
#endif
