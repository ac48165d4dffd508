/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis.h: predict the traffic, the limits and the time of a product, without running it.
 *
 * Everything here is arithmetic on a problem, a config and the facts of a device. It uses no file, driver, compiler or global
 * variable. `tilejit explain`, the default tile width and the tuner all use these numbers.
 *
 *     tj_count        problem + config            -> FLOP, elements, bytes and requests of each memory space: exact
 *     tj_occupy       device + resources          -> blocks per multiprocessor, what limits them, waves and tail
 *     tj_find_peaks   device                      -> the peak of each pipe
 *     tj_roofline     counts + peaks              -> the side of the ridge, and the attainable rate
 *     tj_predict      all of it                   -> a time, term by term
 *     tj_estimate     the time alone, for ranking thousands of configs
 *     tj_widest_tile, tj_config_adapt             -> a tile width, and copies, for a device
 *
 * Words: a *pipe* is a part of the device that works by itself, such as the multiply-add units or the L2. A *request* is one
 * memory instruction of one warp. A *sector* is 32 bytes of global memory, the smallest transfer. A *wavefront* is one pass
 * through the 32 banks of shared memory, or through one 128-byte line of the L1. A *wave* is the set of blocks that a device
 * holds at once. docs/analysis.md derives every formula.
 */
#ifndef TILEJIT_ANALYSIS_H
#define TILEJIT_ANALYSIS_H

#include <tilejit/device.h>
#include <tilejit/family.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pipes -------------------------------------------------------------------------------------------------------- */

/** A part of the device that works at the same time as the others. tj_peaks, tj_counts, tj_prediction are arrays over these. */
typedef enum tj_pipe {
    /* arithmetic of a multiprocessor: multiply-add units by the accumulator type, tensor cores by that of the operands */
    TJ_PIPE_F32,
    TJ_PIPE_F64,
    TJ_PIPE_F16, /**< packed halves: no family accumulates in them, but mma widens weights */
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

/** The terms of a time: the pipes, then the terms that belong to no pipe. */
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
    const char *unit; /**< of a pipe's work, and of its peak per second: "FLOP"; NULL for a term that is not a pipe */
    double per_clock; /**< a multiprocessor's share of the peak, if every architecture has the same; else 0 */
} tj_term;

/** Return the facts of a tj_pipe or another term. NULL: there is no such number. Owned: static. Threads: any. */
TJ_API const tj_term *tj_term_at(int32_t term);

/* ---- counts ------------------------------------------------------------------------------------------------------- */

/** The traffic of one kind of access. */
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
    int64_t transposed;  /**< requests of shared_load that transpose tiles; shared_store has the same number */
    int64_t narrow;      /**< requests of asynchronous copies of less than 16 bytes, which pass through the L1: of mma */
    int64_t gathered;    /**< requests that load one element per lane, several of which form one shared memory store */
    /**
     * Additions besides the multiply-adds, if several threads or blocks share an accumulator; also operations that widen
     * weights in f32, or multiply by scales along k.
     */
    int64_t sums;
    int64_t async_bytes; /**< bytes loaded by asynchronous copies to shared memory, without stores by threads */
    int64_t waits;       /**< times that a block waits for global memory, in sequence: an estimate */
    int64_t chain;       /**< length of a thread's chain of dependent multiply-adds */
    int32_t chain_fma;   /**< independent multiply-adds at each link of that chain: the thread tile; at least 1 */
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
    double intensity;        /**< flop / global_bytes */
    tj_pack_counts pack;
    tj_reduce_counts reduce;
    tj_phase_counts phase;
} tj_counts;

/**
 * Count what a config does for a problem. The config is resolved first (tj_config_resolve). TJ_DIM_ANY dimensions have the
 * extent to launch with, leading dimensions and strides of TJ_ANY are tight, a batch of TJ_ANY is one, and matrices reached by
 * pointers are aligned to 128 bytes. beta is assumed not to be 0.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  as tj_config_resolve; TJ_ERR_UNSUPPORTED: the family states no counts, or they do not fit 63 bits.
 */
TJ_API TJ_MUST_CHECK tj_status tj_count(const tj_problem *problem, const tj_config *config, tj_counts *counts, tj_error *err);

/* ---- occupancy ---------------------------------------------------------------------------------------------------- */

/** The resources that one block needs of a multiprocessor. */
typedef struct tj_block_needs {
    int32_t threads;
    int32_t registers;    /**< per thread, of tj_image_resources or tj_kernel_get_facts; 0: unknown, no limit */
    int64_t shared_bytes; /**< static and dynamic together */
} tj_block_needs;

typedef enum tj_limit {
    TJ_LIMIT_THREADS = 1, /**< counted in warps of 32 */
    TJ_LIMIT_BLOCKS,
    TJ_LIMIT_REGISTERS,
    TJ_LIMIT_SHARED
} tj_limit;

enum { TJ_LIFT_BYTES = 160 };

/** The number of resident blocks, and its limit. */
typedef struct tj_occupancy {
    int32_t blocks_per_sm;                                  /**< 0: none fits */
    int32_t by_threads, by_blocks, by_registers, by_shared; /**< blocks that each resource alone admits */
    int32_t limit;                                          /**< tj_limit: the scarcest; the first of several equal ones */
    int32_t warps_per_sm, max_warps_per_sm;
    double fraction;          /**< warps_per_sm / max_warps_per_sm */
    int64_t registers_taken;  /**< per block, with the granularity of their allocation; 0 if not known */
    int64_t shared_taken;     /**< per block, with granularity and the system's share */
    int64_t blocks_per_wave;  /**< blocks_per_sm * multiprocessors */
    int64_t waves;            /**< of the launch, the last one counted whole */
    int64_t last_wave_blocks; /**< blocks of the last wave */
    double tail;              /**< share of the block slots of all waves that stay empty: 0 is best */
    char lift[TJ_LIFT_BYTES]; /**< the change that would admit one more block, or that every warp slot is taken */
} tj_occupancy;

/**
 * Compute the blocks per multiprocessor, like cuOccupancyMaxActiveBlocksPerMultiprocessor, from the device's facts and the
 * allocation rules of its compute capability (7.5 to 12.x; a newer one is treated as 12.x). blocks is the number of blocks of
 * the launch, for waves and tail; 0 leaves these 0.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: no threads, negative numbers, facts without multiprocessors or limits; TJ_ERR_UNSUPPORTED:
 *          a compute capability below 7.5. A block that does not fit is not an error: blocks_per_sm is 0.
 */
TJ_API TJ_MUST_CHECK tj_status tj_occupy(const tj_device_facts *facts, const tj_block_needs *needs, int64_t blocks,
                                         tj_occupancy *occupancy, tj_error *err);

/** "threads", "blocks", "registers", "shared memory"; "?" for a number that is not a limit. Owned: static text. */
TJ_API const char *tj_limit_name(tj_limit limit);

/* ---- roofline ----------------------------------------------------------------------------------------------------- */

/** The peaks of a device. */
typedef struct tj_peaks {
    double per_s[TJ_PIPES]; /**< in the unit of the pipe; 0: the device lacks the pipe, or no peak is published */
    double clock_hz;
    int32_t is_measured; /**< 1: the bandwidth of memory was measured, 0: it is its clock times the width of its bus */
    int32_t reserved;
} tj_peaks;

/**
 * Compute the peaks of a device: the published rates of its compute capability, times its multiprocessors and their clock.
 * Tensor cores count without sparsity. A measured_bytes_per_s above 0 replaces the bandwidth of the attributes.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_UNSUPPORTED: a compute capability below 7.5; TJ_ERR_INVALID_ARGUMENT: facts without clocks, and no measured
 *          bandwidth.
 */
TJ_API TJ_MUST_CHECK tj_status tj_find_peaks(const tj_device_facts *facts, double measured_bytes_per_s, tj_peaks *peaks,
                                             tj_error *err);

/** A point in the roofline diagram. */
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
 * Return the point of a program with that intensity, computing in that pipe. NULL: peaks must not be NULL. Threads: any; pure.
 * All is 0 for a pipe that does no arithmetic.
 */
TJ_API tj_roof tj_roofline(const tj_peaks *peaks, tj_pipe pipe, double intensity);

/* ---- predicted time ----------------------------------------------------------------------------------------------- */

/** The model's prediction for one launch. Times in microseconds; docs/analysis.md has the formulas. */
typedef struct tj_prediction {
    double us;                /**< launch + (softly) the longer of blocks and memory + what does not overlap + reduce */
    double term_us[TJ_TERMS]; /**< each alone; those of a multiprocessor's pipes include the tail */
    const char *bound;        /**< the name of the longest one, without the launch */
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

/** All of the above for one problem and config on one device. */
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
 * Count, occupy, find the peaks, and predict. registers is the number per thread; 0 if it is not known yet: then the estimate
 * of the family's form is used. measured_bytes_per_s is that of tj_find_peaks.
 *
 * NULL:    config (the safe choice, with the width for this device: tj_config_adapt) and err may be NULL.
 * Threads: any; pure.
 * Errors:  those of tj_count, tj_occupy and tj_find_peaks.
 */
TJ_API TJ_MUST_CHECK tj_status tj_analyze(const tj_device_facts *facts, const tj_problem *problem, const tj_config *config,
                                          int32_t registers, double measured_bytes_per_s, tj_analysis *analysis, tj_error *err);

/**
 * Predict the time alone, in microseconds, at a small part of the cost of tj_analyze: 1 to 5 us a call. Use this to compare
 * many configs cheaply. It visits one warp of each loop that accesses memory, while tj_count visits all; times differ by a few
 * percent if rows are not aligned. Operands come from memory, as when a tuner measures. The registers are a guess, and the time
 * is a mean over their likely range, so that a config whose occupancy depends on one register does not rank as if it were
 * certain.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  those of tj_analyze; TJ_ERR_UNSUPPORTED: the family states no counts, or the device cannot run it.
 */
TJ_API TJ_MUST_CHECK tj_status tj_estimate(const tj_device_facts *facts, const tj_problem *problem, const tj_config *config,
                                           double *us, tj_error *err);

/* ---- a tile for a device ------------------------------------------------------------------------------------------ */

/** The largest width of a square tile on a device, by each limit alone and by all together. */
typedef struct tj_tile_limits {
    int32_t by_shared; /**< 2 T^2 elements fit a block's shared memory: the lecture's square root, far too wide if used alone */
    int32_t by_threads;   /**< T^2 threads fit a block */
    int32_t by_registers; /**< there are registers for T^2 threads */
    int32_t widest;       /**< all three hold */
} tj_tile_limits;

/**
 * Compute the largest TILE_WIDTH on a device for elements of element_bytes, with `registers` registers per thread.
 * NULL: only err may be NULL. Threads: any; pure. Errors: TJ_ERR_INVALID_ARGUMENT: not 1 to 16 bytes, not 0 to 255 registers,
 * facts without limits.
 */
TJ_API TJ_MUST_CHECK tj_status tj_widest_tile(const tj_device_facts *facts, int32_t element_bytes, int32_t registers,
                                              tj_tile_limits *limits, tj_error *err);

/**
 * Set the parameters that the config leaves open and the device decides.
 *
 * copy: through registers on a device before sm_80, which has no asynchronous copies.
 *
 * tile_width: of 8, 16 and 32, if the device can run them, the one with the shortest predicted time, and the wider of two
 * within 2 %. A config without a family gets the library's safe choice first. The width is left alone if the config names it,
 * if the family has none, or if an extent or the batch is known only at launch; in the last case it is the form's default, 16.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  those of tj_config_resolve. A device that cannot be analysed is not an error: config is unchanged.
 */
TJ_API TJ_MUST_CHECK tj_status tj_config_adapt(const tj_device_facts *facts, const tj_problem *problem, tj_config *config,
                                               tj_error *err);

/**
 * Get the facts of a well-known device by the name of its target, to analyse an absent device: "sm_80" is an A100 80GB, "sm_90"
 * an H200, and so on, as for the emulator.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_NOT_FOUND: no such name; the message lists those that exist.
 */
TJ_API TJ_MUST_CHECK tj_status tj_device_named(const char *target, tj_device_facts *facts, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
