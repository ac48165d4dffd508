/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis.h: what a product will move, what limits it, and how long it should take, without running it.
 *
 * Everything here is arithmetic on a problem, a config and the facts of a device. It takes no file, no driver, no compiler
 * and no global variable. `tilejit explain`, the default tile width and the tuner all use these numbers.
 *
 *     tj_count        problem + config            -> FLOP, elements, bytes and requests of each memory space: exact
 *     tj_occupy       device + resources          -> blocks per multiprocessor, what limits them, waves and tail
 *     tj_find_peaks   device                      -> what each of its pipes does at most
 *     tj_roofline     counts + peaks              -> which side of the ridge, and what is attainable there
 *     tj_predict      all of it                   -> a time, term by term
 *     tj_estimate     the time alone, for ranking thousands of configs
 *     tj_widest_tile, tj_config_adapt             -> a tile width, and copies, for a device
 *
 * Words: a *pipe* is a part of the device that works by itself, such as the multiply-add units or the L2. A *request* is one
 * memory instruction of one warp. A *sector* is 32 bytes of global memory, the least that is
 * moved. A *wavefront* is one pass through the 32 banks of shared memory, or through one 128-byte line of the L1. A *wave*
 * is as many blocks as a device holds at once. docs/analysis.md derives every formula.
 */
#ifndef TILEJIT_ANALYSIS_H
#define TILEJIT_ANALYSIS_H

#include <tilejit/config.h>
#include <tilejit/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pipes -------------------------------------------------------------------------------------------------------- */

/** A part of the device that works at the same time as the others. tj_peaks, tj_counts, tj_prediction are arrays over these. */
typedef enum tj_pipe {
    /* arithmetic of a multiprocessor: multiply-add units by the type of the sum, tensor cores by that of the operands */
    TJ_PIPE_F32,
    TJ_PIPE_F64,
    TJ_PIPE_F16, /**< packed halves: no family sums in them, but mma widens weights */
    TJ_PIPE_TENSOR_F16,
    TJ_PIPE_TENSOR_BF16,
    TJ_PIPE_TENSOR_TF32,
    TJ_PIPE_TENSOR_F64,
    TJ_PIPE_TENSOR_S8,
    TJ_PIPE_TENSOR_FP8,
    /* the rest of a multiprocessor */
    TJ_PIPE_ISSUE,
    TJ_PIPE_SHARED, /**< one pipe with the L1, which takes its turns */
    TJ_PIPE_L1,
    TJ_PIPE_START,
    /* of all multiprocessors together */
    TJ_PIPE_L2,
    TJ_PIPE_MEMORY,
    TJ_PIPES
} tj_pipe;

/** What takes time: the pipes, and then the terms that belong to no pipe. */
enum {
    TJ_TERM_LATENCY = TJ_PIPES, /**< the chain of dependent steps of one block, times the waves */
    TJ_TERM_PACK,               /**< the kernel that copies operands to the workspace, before all others */
    TJ_TERM_REDUCE,             /**< the second kernel of split k, after all of the others */
    TJ_TERM_LAUNCH,             /**< an empty kernel */
    TJ_TERMS
};

typedef struct tj_term {
    const char *key;  /**< "l2": in JSON */
    const char *name; /**< "issuing instructions" */
    const char *unit; /**< of a pipe's work, and of its peak per second: "FLOP"; NULL for a term that is no pipe */
    double per_clock; /**< a multiprocessor's share of the peak, where every architecture has the same; else 0 */
} tj_term;

/** A tj_pipe, or another term. NULL: there is no such number. Owned: static. Threads: any. */
TJ_API const tj_term *tj_term_at(int32_t term);

/* ---- counts ------------------------------------------------------------------------------------------------------- */

/** What one kind of access moves. */
typedef struct tj_traffic {
    int64_t elements;    /**< counted by threads, as the textbook does */
    int64_t bytes;       /**< of those elements */
    int64_t requests;    /**< instructions of warps with at least one active thread */
    int64_t wavefronts;  /**< passes that the requests take: see the top of this page */
    int64_t sectors;     /**< different 32-byte sectors in each request, added up; 0 for shared memory */
    int64_t merged;      /**< wavefronts after ptxas has merged neighbouring requests: an estimate, for predictions */
    int64_t is_estimate; /**< 1: the first warp of each loop stands for all (tj_estimate); elements and bytes are exact, or
                              nearly so for small_batch */
} tj_traffic;

/** One block in one phase, both whole: no edge is clipped. This gives the textbook's "512 loads for 8 192 operations". */
typedef struct tj_phase_counts {
    int64_t depth;         /**< steps of k in one phase; 1 for a family without phases: one turn of its loop */
    int64_t loads;         /**< elements from global memory */
    int64_t flop;          /**< multiplications and additions */
    int64_t shared_stores; /**< elements */
    int64_t shared_loads;  /**< elements */
    double intensity;      /**< flop / (loads * element_bytes): the textbook's FLOP/B, 0.25 for naive in f32 */
} tj_phase_counts;

/** What the first kernel moves where a family has one that copies operands to the workspace, or takes them apart; otherwise all
 * zero. The requests and sectors of its loads are an estimate. Operands that it transposes pass through shared memory. */
typedef struct tj_pack_counts {
    int64_t blocks; /**< that have something to copy; not counted of a kernel that takes operands apart */
    int64_t barriers;
    tj_traffic load, store;
    tj_traffic shared_load, shared_store; /**< not counted of a kernel that takes operands apart */
    int32_t kernels; /**< beside the one that multiplies, one after the other; 0: one where there are loads, else none */
    int32_t reserved;
} tj_pack_counts;

/** What the second kernel does if k is split over blocks; otherwise all zero. Its loads and stores are load_w, load_c and
 * store_p of the whole. */
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
 * What the launch of a product does, with its whole batch. The counts are exact, with clipped edges: zeros that fill up a
 * tile cost no load. Requests and wavefronts are those of the text as written; the compiler may merge neighbouring requests
 * into wider instructions.
 */
typedef struct tj_counts {
    int64_t flop; /**< the product's own: 2 j k l, and what alpha and beta add */
    /**
     * What is asked of each pipe, in its unit. Arithmetic: 2 for each multiply-add that is executed, those on zero fill and
     * of beta included. Memory: every matrix once, which no kernel can undercut. Estimates: of the L2, what is left if the L1
     * serves all that a block reads again; of shared memory, what asynchronous copies take. What follows from blocks and
     * requests is not in it.
     */
    int64_t work[TJ_PIPES];
    int64_t blocks;     /**< of the launch or launches */
    int64_t row_blocks; /**< along the rows of P as the text has them (its columns, if P is column-major) */
    int64_t col_blocks;
    int32_t pipe; /**< tj_pipe: where the products are added up */
    int32_t threads_per_block;
    int32_t block_rows, block_cols; /**< of P, that one block computes */
    int32_t element_bytes;          /**< of M */
    int32_t n_element_bytes;        /**< of N */
    int32_t sum_bytes;              /**< of the type that is summed in, and of what lies in shared memory */
    int64_t phases;                 /**< per block at most: ceil(k / depth), its split's; 0 for a family without any */
    int64_t barriers;               /**< passed by whole blocks, all blocks together */
    int64_t shared_bytes;           /**< per block, static and dynamic together */
    int64_t splits;                 /**< blocks that share the k of a tile of P; 1: one has all of it */
    tj_traffic load_m, load_n, load_c, store_p; /**< global memory */
    tj_traffic store_w, load_w;                 /**< the workspace of split k, in global memory */
    tj_traffic load_pointers;                   /**< from the arrays of pointers (TJ_POINTERS), in global memory */
    /**
     * From the scales of M and N, in global memory, and, as an estimate, from the operands of an expression; of planes also
     * the word that says which kernel works, and the exponents of rows and columns.
     */
    tj_traffic load_scales;
    tj_traffic shared_load, shared_store; /**< shared memory */
    int64_t global_bytes;                 /**< those of global memory together */
    int64_t mma;                          /**< products of small matrices that warps ask of the tensor cores (mma.sync) */
    int64_t conversions; /**< instructions of warps that make what tensor cores take of what shared memory holds, or
                                  what it holds of weights */
    int64_t halves;      /**< instructions of warps beside the products where mma.sync multiplies 8-bit floats as halves */
    int64_t transposed;  /**< requests of shared_load, and as many of shared_store, that transpose tiles */
    int64_t narrow;      /**< requests of asynchronous copies of less than 16 bytes, which pass through the L1: of mma */
    int64_t gathered; /**< requests that bring one element a lane, of which several make what shared memory is given at once */
    /** Additions beside the multiply-adds, where several threads or blocks share a sum; and what widens weights in f32, or
     * multiplies by scales along k. */
    int64_t sums;
    int64_t async_bytes; /**< of the loads, those that asynchronous copies bring to shared memory, which no thread stores */
    int64_t waits;       /**< times that a block waits for global memory, one after the other: an estimate */
    int64_t chain;       /**< multiply-adds of one thread that wait for one another */
    int32_t chain_fma;   /**< independent multiply-adds at each link of that chain: the thread tile; at least 1 */
    int32_t pieces;      /**< in which the copies of a phase are started, some steps apart; 0: together */
    int32_t ahead;       /**< phases whose loads are on their way while one is multiplied; 0: all wait (waits) */
    int32_t walkers; /**< blocks of a multiprocessor that stay, and walk the tiles of P; 0: each tile has a block of its own */
    int32_t alternates;      /**< 1: while one part of such a block stores its tile, another multiplies the next */
    int64_t finish;          /**< operations of the epilogue's expression; 0: there is none */
    int32_t streams;         /**< 1: loops are unrolled, and who waits for a load waits for memory, not for the L2; 2: likewise,
                                  and each thread loads what it multiplies of one operand to its own registers */
    int32_t warps_alone;     /**< 1: each warp copies for itself, and no barrier stands in the loop */
    int32_t bringers;        /**< warps of a block that have the copy engine bring tiles to the others, where no block walks */
    int32_t exchanged;       /**< partial sums that one thread hands to others in shared memory or takes from them; each
                                  level of a tree of sums counts as four */
    int32_t registers;       /**< per thread, before the compiler has been asked: an estimate */
    int32_t registers_least; /**< which they may well turn out to be; the same where they are known */
    int32_t registers_most;  /**< likewise */
    int32_t spilled;         /**< registers per thread that launch bounds leave no room for: an estimate */
    double intensity;        /**< flop / global_bytes */
    tj_pack_counts pack;
    tj_reduce_counts reduce;
    tj_phase_counts phase;
} tj_counts;

/**
 * Count what a config does for a problem. The config is resolved first (tj_config_resolve). TJ_DIM_ANY dimensions have the
 * extent to launch with, leading dimensions and strides of TJ_ANY are tight, a batch of TJ_ANY is one, and matrices to which
 * pointers lead are aligned to 128 bytes. A beta is taken not to be 0.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  as tj_config_resolve; TJ_ERR_UNSUPPORTED: the family states no counts, or they do not fit 63 bits.
 */
TJ_API TJ_MUST_CHECK tj_status tj_count(const tj_problem *problem, const tj_config *config, tj_counts *counts, tj_error *err);

/* ---- occupancy ---------------------------------------------------------------------------------------------------- */

/** What one block needs of a multiprocessor. */
typedef struct tj_block_needs {
    int32_t threads;
    int32_t registers;    /**< per thread, of tj_image_resources or tj_kernel_get_facts; 0: not known, no limit */
    int64_t shared_bytes; /**< static and dynamic together */
} tj_block_needs;

typedef enum tj_limit {
    TJ_LIMIT_THREADS = 1, /**< counted in warps of 32 */
    TJ_LIMIT_BLOCKS,
    TJ_LIMIT_REGISTERS,
    TJ_LIMIT_SHARED
} tj_limit;

enum { TJ_LIFT_BYTES = 160 };

/** How many blocks fit, and why not more. */
typedef struct tj_occupancy {
    int32_t blocks_per_sm;                                  /**< 0: not even one fits */
    int32_t by_threads, by_blocks, by_registers, by_shared; /**< blocks that each resource alone lets in */
    int32_t limit;                                          /**< tj_limit: the scarcest; the first of several equal ones */
    int32_t warps_per_sm, max_warps_per_sm;
    double fraction;          /**< warps_per_sm / max_warps_per_sm */
    int64_t registers_taken;  /**< per block, with the granularity of their allocation; 0 if not known */
    int64_t shared_taken;     /**< per block, with granularity and what the system keeps */
    int64_t blocks_per_wave;  /**< blocks_per_sm * multiprocessors */
    int64_t waves;            /**< of the launch, the last one counted whole */
    int64_t last_wave_blocks; /**< blocks of the last wave */
    double tail;              /**< share of the block slots of all waves that stay empty: 0 is best */
    char lift[TJ_LIFT_BYTES]; /**< what would allow one more block, or that every warp slot is taken */
} tj_occupancy;

/**
 * Compute the blocks per multiprocessor, like cuOccupancyMaxActiveBlocksPerMultiprocessor, from the device's facts and the
 * allocation rules of its compute capability (7.5 to 12.x; a newer one is treated as 12.x). blocks is the number of blocks of
 * the launch, for waves and tail; 0 leaves these 0.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: no threads, negative numbers, facts without multiprocessors or limits;
 *          TJ_ERR_UNSUPPORTED: a compute capability below 7.5. A block that does not fit is no error: blocks_per_sm is 0.
 */
TJ_API TJ_MUST_CHECK tj_status tj_occupy(const tj_device_facts *facts, const tj_block_needs *needs, int64_t blocks,
                                         tj_occupancy *occupancy, tj_error *err);

/** "threads", "blocks", "registers", "shared memory"; "?" for a number that is no limit. Owned: static text. */
TJ_API const char *tj_limit_name(tj_limit limit);

/* ---- roofline ----------------------------------------------------------------------------------------------------- */

/** What a device does at most. */
typedef struct tj_peaks {
    double per_s[TJ_PIPES]; /**< in the unit of the pipe; 0: the device has none, or nothing is published of it */
    double clock_hz;
    int32_t is_measured; /**< 1: the bandwidth of memory was measured, 0: it is its clock times the width of its bus */
    int32_t reserved;
} tj_peaks;

/**
 * The peaks of a device: what is published of its compute capability, times its multiprocessors and their clock. Tensor cores
 * count without sparsity. measured_bytes_per_s above 0 takes the place of the bandwidth that the attributes give.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_UNSUPPORTED: a compute capability below 7.5; TJ_ERR_INVALID_ARGUMENT: facts without clocks, and no measured
 *          bandwidth in their place.
 */
TJ_API TJ_MUST_CHECK tj_status tj_find_peaks(const tj_device_facts *facts, double measured_bytes_per_s, tj_peaks *peaks,
                                             tj_error *err);

/** A point under the roofs. */
typedef struct tj_roof {
    double peak;             /**< of the pipe, FLOP/s */
    double bandwidth;        /**< of memory, B/s */
    double ridge;            /**< peak / bandwidth: FLOP/B above which arithmetic is the roof */
    double intensity;        /**< FLOP/B */
    double attainable;       /**< min(peak, bandwidth * intensity), FLOP/s */
    double of_peak;          /**< attainable / peak */
    int32_t is_memory_bound; /**< 1: left of the ridge */
    int32_t reserved;
} tj_roof;

/**
 * Where a program of that intensity stands that computes in that pipe. NULL: peaks must not be NULL. Threads: any; pure.
 * All is 0 for a pipe that does no arithmetic.
 */
TJ_API tj_roof tj_roofline(const tj_peaks *peaks, tj_pipe pipe, double intensity);

/* ---- predicted time ----------------------------------------------------------------------------------------------- */

/** What the model says of one launch. Times in microseconds; docs/analysis.md has their formulas. */
typedef struct tj_prediction {
    double us;                /**< launch + (softly) the longer of blocks and memory + what does not overlap + reduce */
    double term_us[TJ_TERMS]; /**< each alone; of a multiprocessor's pipes with the tail included */
    const char *bound;        /**< the name of the longest of them, the launch left out */
    double flop_per_s;        /**< flop / us */
} tj_prediction;

/**
 * Predict the time of a launch from its counts, occupancy and device. It is infinite where counts->pipe has no peak.
 *
 * The model is made for ranking configs and for naming what limits one. docs/analysis.md gives its error on an H200; on other
 * devices it is untried.
 *
 * NULL:    none may be NULL.
 * Threads: any; pure.
 */
TJ_API tj_prediction tj_predict(const tj_device_facts *facts, const tj_counts *counts, const tj_occupancy *occupancy,
                                const tj_peaks *peaks);

/** Everything above for one problem and config on one device. */
typedef struct tj_analysis {
    tj_config config; /**< resolved */
    tj_counts counts;
    tj_block_needs needs;
    tj_occupancy occupancy;
    tj_peaks peaks;
    tj_roof roof;
    tj_prediction predicted;
} tj_analysis;

/**
 * Count, occupy, find the peaks, and predict. registers is the number per thread; 0 if it is not known yet, and then the
 * estimate of the family's form is used. measured_bytes_per_s is that of tj_find_peaks.
 *
 * NULL:    config (the safe choice, with the width for this device: tj_config_adapt) and err may be NULL.
 * Threads: any; pure.
 * Errors:  those of tj_count, tj_occupy and tj_find_peaks.
 */
TJ_API TJ_MUST_CHECK tj_status tj_analyze(const tj_device_facts *facts, const tj_problem *problem, const tj_config *config,
                                          int32_t registers, double measured_bytes_per_s, tj_analysis *analysis, tj_error *err);

/**
 * Predict the time alone, in microseconds, at a small part of the cost of tj_analyze: 1 to 5 us a call. Use this to compare
 * many configs cheaply. It looks at one warp of each loop that touches memory, where tj_count looks at all; times differ by a
 * few percent where rows are not aligned. Operands come from memory, as when a tuner measures. The registers are a guess, and
 * the time is a mean over as few and as many as there may well be, so that a config whose occupancy depends on one register
 * does not rank as if it were certain.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  those of tj_analyze; TJ_ERR_UNSUPPORTED: the family states no counts, or the device cannot run it.
 */
TJ_API TJ_MUST_CHECK tj_status tj_estimate(const tj_device_facts *facts, const tj_problem *problem, const tj_config *config,
                                           double *us, tj_error *err);

/* ---- a tile for a device ------------------------------------------------------------------------------------------ */

/** How wide a square tile may be on a device, by each of its limits alone and by all together. */
typedef struct tj_tile_limits {
    int32_t by_shared; /**< 2 T^2 elements fit a block's shared memory: the lecture's square root, far too wide if used alone */
    int32_t by_threads;   /**< T^2 threads fit a block */
    int32_t by_registers; /**< there are registers for T^2 threads */
    int32_t widest;       /**< all three hold */
} tj_tile_limits;

/**
 * The widest TILE_WIDTH of a device for tiles of elements of element_bytes, with registers per thread.
 * NULL: only err may be NULL. Threads: any; pure. Errors: TJ_ERR_INVALID_ARGUMENT: not 1 to 16 bytes, not 0 to 255 registers,
 * facts without limits.
 */
TJ_API TJ_MUST_CHECK tj_status tj_widest_tile(const tj_device_facts *facts, int32_t element_bytes, int32_t registers,
                                              tj_tile_limits *limits, tj_error *err);

/**
 * Set what the config leaves open and the device decides.
 *
 * copy: through registers on a device before sm_80, which has no asynchronous copies.
 *
 * tile_width: of 8, 16 and 32, as far as the device can run them, the one whose predicted time is shortest, and the wider of
 * two that are within 2 %. A config without a family gets the library's safe choice first. The width is left alone if the
 * config names it, if the family has none, or if an extent or the batch is known only at launch; in the last case it is the
 * form's default, 16.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  those of tj_config_resolve. A device that cannot be analysed is no error: config is unchanged.
 */
TJ_API TJ_MUST_CHECK tj_status tj_config_adapt(const tj_device_facts *facts, const tj_problem *problem, tj_config *config,
                                               tj_error *err);

/**
 * Get the facts of a well-known device by the name of its target, to look at a device that is not there: "sm_80" is an A100
 * 80GB, "sm_90" an H200, and so on, as for the emulator.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_NOT_FOUND: no such name; the message lists those that exist.
 */
TJ_API TJ_MUST_CHECK tj_status tj_device_named(const char *target, tj_device_facts *facts, tj_error *err);

/** What a device has of the features (tj_feature bits) that texts may need. NULL: answers 0. Threads: any; pure. */
TJ_API uint32_t tj_device_features(const tj_device_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
