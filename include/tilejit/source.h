/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h: turn a problem and a config into CUDA source.
 */
#ifndef TILEJIT_SOURCE_H
#define TILEJIT_SOURCE_H

#include <tilejit/family.h>
#include <tilejit/shape.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Generated CUDA source, and the facts that a launch needs. It never changes, and threads may share it. */
typedef struct tj_source tj_source;

/** Features of the target that a source may need, as bits. */
typedef enum tj_feature {
    TJ_FEATURE_CP_ASYNC = 1 << 0,    /**< copies to shared memory that bypass the registers */
    TJ_FEATURE_LDMATRIX = 1 << 1,    /**< fragments of matrices loaded by a warp */
    TJ_FEATURE_STMATRIX = 1 << 2,    /**< fragments of matrices stored by a warp */
    TJ_FEATURE_MMA_F16 = 1 << 3,     /**< products by a warp (mma.sync), by type */
    TJ_FEATURE_MMA_S8 = 1 << 4,      /**< */
    TJ_FEATURE_MMA_BF16 = 1 << 5,    /**< */
    TJ_FEATURE_MMA_TF32 = 1 << 6,    /**< */
    TJ_FEATURE_MMA_F64 = 1 << 7,     /**< */
    TJ_FEATURE_FP8 = 1 << 8,         /**< conversions to and from e4m3 and e5m2 */
    TJ_FEATURE_DEPENDENTS = 1 << 9,  /**< a kernel that waits on the device for its predecessor (griddepcontrol) */
    TJ_FEATURE_CLUSTER = 1 << 10,    /**< clusters of blocks */
    TJ_FEATURE_TMA = 1 << 11,        /**< bulk and tensor copies */
    TJ_FEATURE_SETMAXNREG = 1 << 12, /**< registers moved between warpgroups */
    TJ_FEATURE_WGMMA = 1 << 13,      /**< products by a warpgroup */
    TJ_FEATURE_MMA_FP8 = 1 << 14,    /**< products of e4m3 and e5m2 by a warp */
    TJ_FEATURE_MMA_SCALED = 1 << 15, /**< products by a warp with block scales, of 8-bit floats and of e2m1 */
    TJ_FEATURE_TCGEN05 = 1 << 16,    /**< products of shared memory whose sums are in tensor memory */
    TJ_FEATURE_TCGEN05_S8 = 1 << 17  /**< the same of 8-bit integers */
} tj_feature;

/** The value that a kernel parameter receives. */
typedef enum tj_argument_kind {
    TJ_ARG_POINTER = 1, /**< pointer to an operand, or to an array of pointers to matrices; index: its tj_which, or its number
                             in shape.h */
    TJ_ARG_EXTENT,      /**< int: an extent; index: tj_extent */
    TJ_ARG_LD,          /**< long long: the leading dimension of an operand; index as for TJ_ARG_POINTER */
    TJ_ARG_STRIDE,      /**< long long: elements from the operand of one product of the batch to that of the next; index as for
                             TJ_ARG_POINTER */
    TJ_ARG_BATCH,       /**< int: the number of products */
    TJ_ARG_ALPHA,       /**< alpha: a long long if the epilogue is in integers, else of the type of sums: a float, a double,
                             or two of either for a complex product, the real part first */
    TJ_ARG_BETA,        /**< beta, of the same type */
    TJ_ARG_NUMBER, /**< the value of a number of the epilogue's expression, converted as alpha is; index: TJ_OPERAND_WITH + i */
    TJ_ARG_WORKSPACE,  /**< pointer into the workspace; index: of slice */
    TJ_ARG_TENSOR_MAP, /**< a CUtensorMap by value, 128 bytes aligned to 128; index: of tensor_map */
    TJ_ARG_LIST,       /**< pointer to a list; index: tj_list */
    TJ_ARG_LIST_VALUE, /**< the elements of a list that lies in host memory, by value; index: tj_list */
    TJ_ARG_CUSTOM      /**< a value of a family of the application's own (custom.h): 4 or 8 bytes; index: the size */
} tj_argument_kind;

typedef enum tj_extent {
    TJ_EXTENT_J,
    TJ_EXTENT_K,
    TJ_EXTENT_L,
    TJ_EXTENT_M_ROWS, /**< rows of M, if its rows are gathered */
    TJ_EXTENT_P_ROWS  /**< rows of P, if rows are scattered to it */
} tj_extent;

typedef struct tj_argument {
    int32_t kind;  /**< tj_argument_kind */
    int32_t index; /**< as the kind says; otherwise 0 */
} tj_argument;

/**
 * A tensor map. It is encoded at each launch, for a matrix of the caller or for a matrix in the workspace. Its dimensions are
 * the elements of a stored row, the rows, and, with rank 3, the products of the batch. Elements outside are read as 0 and not
 * written. The matrix, its stored rows and its products must begin at multiples of 16 bytes.
 */
typedef struct tj_tensor_map {
    int32_t matrix;  /**< tj_which of a matrix of the caller, which is not reached by pointers; in the workspace: index of
                          slice */
    int32_t type;    /**< tj_type of the copy, of the same size as the matrix's type; 0: the matrix's own type */
    int32_t rank;    /**< 2 or 3 */
    int32_t box[3];  /**< elements of one copy, first along a stored row; 1 to 256 each */
    int32_t swizzle; /**< bytes of the pattern in shared memory: 0 (none), 32, 64, 128 */
    int32_t rounds;  /**< 1: the copy rounds elements of f32 to tf32 */
    int32_t joins;   /**< number of the caller's stored rows that form one row of the map, because there is no gap between them;
                          0: one */
    /**
     * A matrix in the workspace: its stored rows (lines), the elements of each (width), and their distance (ld) in elements;
     * with rank 3, products are lines * ld elements apart. lines 0: a matrix of the caller, whose operands state these numbers.
     */
    int64_t lines, width, ld;
} tj_tensor_map;

/** The rule for the number of blocks of a launch. */
typedef enum tj_grid_rule {
    /** (col_blocks, row_blocks, products * splits), or with rows_on_x (row_blocks, col_blocks, products * splits), where
     * row_blocks = ceil(rows / block_rows), and one more for each group but the first, col_blocks = ceil(cols / block_cols),
     * and rows and columns are those of P in the source. Splits of one product are neighbours on z. */
    TJ_GRID_TILES = 1,
    TJ_GRID_ELEMENTS, /**< (ceil(elements of P / block_cols), 1, products) */
    TJ_GRID_PRODUCTS, /**< (ceil(batch / block_products), 1, 1), in one launch for any batch */
    TJ_GRID_ONCE,     /**< (ceil(elements of P / block_cols), 1, 1): once for all products of a launch */
    TJ_GRID_WALK,     /**< (blocks, 1, products * splits): `resident` on each multiprocessor of its share, but no more than
                           row_blocks * col_blocks and at least one. A block computes one tile of P after the other, gridDim.x
                           apart. The blocks of a cluster along y walk the same tiles: then grid.y is their number. */
    TJ_GRID_LINES,    /**< (ceil(rows or columns of P, whichever are more / block_cols), 1, products) */
    TJ_GRID_WALK_ALL, /**< (blocks, 1, 1): as TJ_GRID_WALK, and a block walks the tiles of one product of the launch after the
                           other; there are no splits */
    TJ_GRID_ROWS      /**< (rows of P, ceil(columns of P / block_cols), 1) */
} tj_grid_rule;

enum { TJ_LAUNCH_MAX_STEPS = 8, TJ_LAUNCH_MAX_ARGS = 48, TJ_LAUNCH_MAX_SLICES = 6, TJ_LAUNCH_MAX_MAPS = 4 };
enum { TJ_KERNEL_NAME_BYTES = 64 };

/** One kernel of a launch. */
typedef struct tj_launch_step {
    char kernel[TJ_KERNEL_NAME_BYTES];   /**< the extern "C" name */
    tj_argument arg[TJ_LAUNCH_MAX_ARGS]; /**< the value of each kernel parameter, in order */
    int32_t arg_count;
    int32_t grid;             /**< tj_grid_rule */
    int32_t rows_on_x;        /**< TJ_GRID_TILES, 1: blockIdx.x counts rows of blocks */
    int32_t is_folded;        /**< 1: blocks compute the n x n tiles of one triangle alone (tj_symmetric). They are counted
                                         as a rectangle of (n + 1) / 2 rows and n / 2 * 2 + 1 columns. A tile may be one of
                                         block_rows / block_cols parts of a square */
    int32_t block_x, block_y; /**< threads */
    int32_t block_rows, block_cols; /**< elements of P that one block computes */
    int32_t block_products;         /**< TJ_GRID_PRODUCTS: whole products that one block computes */
    int32_t resident;               /**< TJ_GRID_WALK, TJ_GRID_WALK_ALL: blocks that a multiprocessor holds */
    int32_t splits;     /**< TJ_GRID_TILES, TJ_GRID_WALK: blocks that share the k of a tile of P; 0 and 1: one has all of it */
    int32_t cluster[3]; /**< blocks of a cluster along x, y, z, 0 and 1: one. The grid is rounded up to whole clusters */
    int32_t overlaps;   /**< 1: if its target allows (TJ_FEATURE_DEPENDENTS), the kernel waits on the device for its predecessor
                             in the stream, so that the two launches may overlap */
    int32_t sums_in_registers;    /**< 1: a thread keeps many accumulators in registers. A kernel that spills is never launched
                                       (TJ_ERR_SPILLS) */
    int64_t static_shared_bytes;  /**< declared in the source */
    int64_t dynamic_shared_bytes; /**< to be requested at launch */
} tj_launch_step;

/**
 * The launch of a generated source: its kernels, which run one after the other in the stream.
 *
 * grid.z counts products of the batch. A batch larger than the limit of grid.z takes several launches of all kernels, which
 * share one workspace. From one to the next, pointers advance by the strides, and arrays of pointers by one pointer for each
 * product.
 */
typedef struct tj_launch_form {
    tj_launch_step step[TJ_LAUNCH_MAX_STEPS];
    int32_t steps;
    int32_t product;    /**< index of the kernel that multiplies: facts about tiles and threads of the source concern it */
    int32_t is_swapped; /**< 1: the source computes the transpose of P, N^T . M^T, and its rows are P's columns */
    int32_t checks;     /**< bit 0, 1, 2: the checks of the caller's j, k, l are in the source */
    /**
     * The range of tj_operands.tile_width. Such a source reads the width of its block and tile from blockDim, and its
     * dynamic_shared_bytes grow with the square of the width. 0: the source has a fixed width.
     */
    int32_t least_tile_width, most_tile_width;
    uint32_t needs; /**< features that its target must have: tj_feature bits; 0: any target is suitable */
    /**
     * Required alignment in bytes of the caller's matrices (tj_which), because several elements are read or written at once; 0:
     * that of an element. With arrays of pointers it applies to each matrix; the array itself is aligned to its pointers.
     */
    int32_t align[TJ_MATRICES];
    int32_t most_k;          /**< the largest k of a launch; 0: any */
    int64_t workspace_bytes; /**< bytes of device memory, aligned to 16, that one launch needs */
    int64_t result_bytes;    /**< the part of them for partial results of rows and columns that an epilogue reduces */
    int32_t paths;           /**< number of tj_path values at the beginning of the workspace, one for each product of a launch;
                                  0: none */
    int64_t slice[TJ_LAUNCH_MAX_SLICES]; /**< offsets of the workspace's parts, in bytes, at multiples of 16 */
    tj_tensor_map tensor_map[TJ_LAUNCH_MAX_MAPS];
} tj_launch_form;

/** Return the kernel that multiplies. Owned: borrowed from form. NULL: form must not be NULL. */
static inline const tj_launch_step *tj_product_step(const tj_launch_form *form)
{
    return &form->step[form->product];
}

/**
 * Turn a problem and a config into CUDA source.
 *
 * The function is pure: it reads no file, does not call CUDA, and uses no global variable. The same request gives the same
 * bytes on every machine and in every locale. The source is ASCII, needs no header, and holds one extern "C" kernel for each
 * launch. The config is resolved first (tj_config_resolve); a config of NULL means the safe choice, as for a config without a
 * family.
 *
 * Owned:   *source belongs to the caller; tj_source_free().
 * NULL:    config and err may be NULL.
 * Threads: any.
 * Errors:  those of tj_config_resolve, and TJ_ERR_OUT_OF_MEMORY. On failure *source is NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_generate(const tj_problem *problem, const tj_config *config, tj_source **source,
                                           tj_error *err);

/** Free a source. NULL: accepted. */
TJ_API void tj_source_free(tj_source *source);

/** Return the CUDA source, NUL-terminated. Owned: borrowed from source. NULL: source must not be NULL. */
TJ_API const char *tj_source_text(const tj_source *source);

/** Return the facts that a launch needs. Owned: borrowed from source. */
TJ_API const tj_launch_form *tj_source_launch(const tj_source *source);

/** Return the name of the kernel that multiplies; messages use it as the name of the source. Owned: borrowed from source. */
static inline const char *tj_source_kernel(const tj_source *source)
{
    return tj_product_step(tj_source_launch(source))->kernel;
}

/**
 * Return the problem that the source was generated from, with transposes turned into layouts; NULL for a source of
 * tj_custom_generate. Owned: borrowed from source.
 */
TJ_API const tj_problem *tj_source_problem(const tj_source *source);

/** Return the resolved config. Owned: borrowed from source. */
TJ_API const tj_config *tj_source_config(const tj_source *source);

/**
 * Return a sentence for people about the boundary checks: which are in the source, which are left out, and why ("k: 1000 is not
 * a multiple of TILE_WIDTH 16"). Owned: borrowed from source.
 */
TJ_API const char *tj_source_checks_text(const tj_source *source);

#ifdef __cplusplus
}
#endif
#endif
