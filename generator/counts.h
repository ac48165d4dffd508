/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts: the work of a launch as its family states it, with all that the model of its time reads (analysis/predict.c).
 */
#ifndef TJ_GENERATOR_COUNTS_H
#define TJ_GENERATOR_COUNTS_H

#include <tilejit/analysis.h>

/**
 * The traffic of the first kernel, if a family has one that copies operands to the workspace, or splits them; otherwise all
 * zero. The requests and sectors of its loads are an estimate. Operands that it transposes pass through shared memory.
 */
typedef struct tj_pack_counts {
    int64_t blocks; /**< with something to copy; not counted for a kernel that splits operands */
    int64_t barriers;
    tj_traffic load, store;
    tj_traffic shared_load, shared_store; /**< not counted for a kernel that splits operands */
    int32_t kernels; /**< in addition to the one that multiplies, one after the other; 0: one if there are loads, else none */
    int32_t reserved;
} tj_pack_counts;

/**
 * The work of the second kernel if k is split over blocks; otherwise all zero. Its loads and stores are load_w, load_c and
 * store_p of the launch.
 */
typedef struct tj_reduce_counts {
    int64_t blocks, barriers;
    int64_t sums; /**< additions */
    int64_t fma;  /**< those of beta */
    tj_traffic shared_load, shared_store;
    tj_traffic load_pointers;
    tj_traffic load_scales;
    int32_t threads_per_block;
    int32_t reserved;
} tj_reduce_counts;

/**
 * The work of a launch, for the whole batch. The counts are exact, with clipped edges: zeros that fill up a tile cost no load.
 * Requests and wavefronts are those of the source as written; the compiler may merge neighbouring requests into wider
 * instructions.
 */
typedef struct tj_counts {
    const struct tj_model *model; /**< the constants of the kernel's predicted time: static, for tj_predict alone */
    int64_t flop;                 /**< the product's own: 2 j k l, and what alpha and beta add */
    /**
     * The work of each pipe, in its unit. Arithmetic: 2 for each multiply-add executed, those on zero fill and of beta
     * included. Memory: every matrix once, which no kernel can undercut. Estimates: for the L2, the remainder if the L1 serves
     * all repeated reads of a block; for shared memory, the share of asynchronous copies. It does not include work that follows
     * from blocks and requests.
     */
    int64_t work[TJ_PIPES];
    int64_t blocks;     /**< of the launch or launches */
    int64_t row_blocks; /**< along the rows of P as stored by the source (its columns, if P is column-major) */
    int64_t col_blocks;
    int32_t pipe; /**< tj_pipe: where the products are accumulated */
    int32_t threads_per_block;
    int32_t block_rows, block_cols; /**< of P, that one block computes */
    int32_t element_bytes;          /**< of M */
    int32_t n_element_bytes;        /**< of N */
    int32_t sum_bytes;              /**< of the accumulator's type, and of the elements in shared memory */
    int64_t phases;                 /**< at most, per block: ceil(k / depth) of its split; 0 for a family without phases */
    int64_t barriers;               /**< passed by whole blocks, all blocks together */
    int64_t shared_bytes;           /**< per block, static and dynamic together */
    int64_t splits;                 /**< blocks that share the k of a tile of P; 1: one block takes all of it */
    tj_traffic load_m, load_n, load_c, store_p; /**< global memory */
    tj_traffic store_w, load_w;                 /**< the workspace of split k, in global memory */
    tj_traffic load_pointers;                   /**< from the arrays of pointers (TJ_POINTERS), in global memory */
    /**
     * From the scales of M and N, in global memory, and, as an estimate, from the operands of an expression; for planes, also
     * the selector word and the row and column exponents.
     */
    tj_traffic load_scales;
    tj_traffic shared_load, shared_store; /**< shared memory */
    int64_t global_bytes;                 /**< of global memory in total */
    int64_t mma;                          /**< products of small matrices that warps issue to the tensor cores (mma.sync) */
    int64_t conversions; /**< warp instructions that convert elements of shared memory for tensor cores, or weights for shared
                              memory */
    int64_t halves;      /**< warp instructions in addition to the products, if mma.sync multiplies 8-bit floats as halves */
    int32_t truncates;   /**< sums of a part of k may have 13 bits: mma.sync then multiplies no halves where it has such sums */
    int64_t transposed;  /**< requests of shared_load that transpose tiles; shared_store has the same number */
    int64_t factors;     /**< requests of shared_load for factors that tensor cores take from registers, and not from there */
    int64_t copied;      /**< warp instructions that copy rows of M that an index gathers, next to the copy engine */
    int64_t narrow;      /**< requests of asynchronous copies of less than 16 bytes, which pass through the L1: of mma */
    int64_t gathered;    /**< requests that load one element per lane, several of which form one shared memory store */
    /**
     * Additions besides the multiply-adds, if several threads or blocks share an accumulator; also operations that widen
     * weights in f32, or multiply by scales along k.
     */
    int64_t sums;
    int32_t promotions;  /**< in a phase: the parts of k whose sums a thread waits for and adds up; 0: it does not */
    int64_t async_bytes; /**< bytes loaded by asynchronous copies to shared memory, without stores by threads */
    int64_t waits;       /**< times that a block waits for global memory, in sequence: an estimate */
    int64_t chain;       /**< length of a thread's chain of dependent multiply-adds */
    int32_t chain_fma;   /**< independent multiply-adds at each link of that chain: the thread tile; at least 1 */
    int32_t element_fma; /**< multiply-adds of two elements: 1, or 4 of complex numbers */
    int32_t pieces;      /**< in which the copies of a phase are issued, some iterations apart; 0: together */
    int32_t ahead;       /**< phases whose loads are in flight while one is multiplied; 0: all wait (waits) */
    int32_t walkers;     /**< resident blocks of a multiprocessor that walk the tiles of P; 0: each tile has its own block */
    int32_t alternates;  /**< 1: while one part of such a block stores its tile, another multiplies the next */
    int64_t finish;      /**< operations of the epilogue's expression; 0: there is none */
    int32_t producers;   /**< producer warps of a block, which issue tile copies for the others, if no block walks */
    int32_t exchanged;   /**< partial sums that one thread exchanges with others through shared memory; each level of a
                                  reduction tree counts as four */
    int32_t registers;   /**< per thread, before the compiler has been asked: an estimate */
    int32_t registers_least; /**< likely minimum; the same number if known */
    int32_t registers_most;  /**< likely maximum */
    int32_t spilled;         /**< registers per thread beyond the launch bounds: an estimate */
    int64_t after_bytes;     /**< that a kernel after the product moves to finish P (parts/after.h); 0: there is none */
    double intensity;        /**< flop / global_bytes */
    tj_pack_counts pack;
    tj_reduce_counts reduce;
    tj_phase_counts phase;
} tj_counts;

#endif
