/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis.h: predict the traffic, the limits and the time of a product, without running it.
 *
 * Everything here is arithmetic on a problem, a config and the facts of a device. It uses no file, driver, compiler or global
 * variable. `tilejit explain`, the default tile width and the tuner all use these numbers.
 *
 *     tj_analyze      problem + config + device   -> tj_work: FLOP, elements, bytes and requests of each memory space, exact
 *                                                    tj_occupancy: blocks per multiprocessor, what limits them, waves, tail
 *                                                    tj_roof: the side of the ridge, and the attainable rate
 *                                                    tj_prediction: a time, term by term
 *     tj_find_peaks   device                      -> the peak of each pipe, for tj_roofline
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

/** A part of the device that works at the same time as the others. tj_peaks, tj_work, tj_prediction have arrays over these. */
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

/** The kinds of access. The kernels of a launch are the one that multiplies, and, if there are such, one that packs and one that
 * adds the splits of k up ("reduce"). Global memory, if not said otherwise. */
typedef enum tj_access_kind {
    TJ_LOAD_M,
    TJ_LOAD_N,
    TJ_LOAD_C,
    TJ_STORE_P,
    TJ_STORE_W, /**< the workspace of split k */
    TJ_LOAD_W,
    TJ_LOAD_POINTERS, /**< from the arrays of pointers (TJ_POINTERS) */
    TJ_LOAD_SCALES, /**< of M and N; as an estimate, from the operands of an expression; for planes, also the selector word and
                           the row and column exponents */
    TJ_PACK_LOAD,   /**< by a kernel that copies operands to the workspace, or splits them; requests and sectors: an estimate */
    TJ_PACK_STORE,
    TJ_PACK_SHARED_LOAD, /**< shared memory, through which operands pass that are transposed; not counted if they are split */
    TJ_PACK_SHARED_STORE,
    TJ_SHARED_LOAD, /**< shared memory, by the kernel that multiplies */
    TJ_SHARED_STORE,
    TJ_REDUCE_LOAD_POINTERS,
    TJ_REDUCE_LOAD_SCALES,
    TJ_REDUCE_SHARED_LOAD, /**< shared memory */
    TJ_REDUCE_SHARED_STORE,
    TJ_ACCESSES
} tj_access_kind;

/**
 * The work of a launch, for the whole batch. It is exact, with clipped edges: zeros that fill up a tile cost no load. Requests
 * and wavefronts are those of the source as written; the compiler may merge neighbouring requests into wider instructions.
 */
typedef struct tj_work {
    int64_t flop; /**< the product's own: 2 j k l, and what alpha and beta add */
    /**
     * By pipe, in its unit. Arithmetic: 2 for each multiply-add executed, those on zero fill and of beta included, except those of
     * a kernel that adds splits up. Memory: every matrix once, which no kernel can undercut. Estimates: for the L2, the remainder
     * if the L1 serves all repeated reads of a block; for shared memory, the share of asynchronous copies.
     */
    int64_t pipe_work[TJ_PIPES];
    tj_traffic traffic[TJ_ACCESSES];
    int64_t global_bytes;   /**< of global memory in total */
    double intensity;       /**< flop / global_bytes */
    int64_t blocks;         /**< of the launch or launches */
    int64_t splits;         /**< blocks that share the k of a tile of P; 1: one block takes all of it */
    int64_t phases;         /**< at most, per block; 0 for a family without phases */
    int64_t barriers;       /**< passed by whole blocks, all blocks together */
    int64_t sums;           /**< additions besides the multiply-adds, if threads or blocks share an accumulator */
    int64_t async_bytes;    /**< loaded by asynchronous copies to shared memory, without stores by threads */
    int64_t shared_bytes;   /**< per block, static and dynamic together */
    int64_t other_barriers; /**< of the kernels that pack and reduce */
    int64_t reduce_fma;     /**< multiply-adds of the kernel that reduces: those of beta */
    int32_t pipe;           /**< tj_pipe: where the products are accumulated */
    int32_t threads_per_block;
    int32_t block_rows, block_cols; /**< of P, that one block computes */
    int32_t element_bytes;          /**< of M */
    int32_t sum_bytes;              /**< of the accumulator's type, and of the elements in shared memory */
    int32_t phases_ahead;           /**< phases whose loads are in flight while one is multiplied; 0: all wait */
    int32_t spilled;                /**< registers per thread beyond the launch bounds: an estimate */
    tj_phase_counts phase;
} tj_work;

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

/**
 * The number of resident blocks, as cuOccupancyMaxActiveBlocksPerMultiprocessor computes it, and its limit: from the device's
 * facts and the allocation rules of its compute capability (7.5 to 12.x; a newer one is treated as 12.x).
 */
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

/** "threads", "blocks", "registers", "shared memory"; "?" for a number that is not a limit. Owned: static text. */
TJ_API const char *tj_limit_name(tj_limit limit);

/* ---- roofline ----------------------------------------------------------------------------------------------------- */

/** The peaks of a device. Start from TJ_PEAKS_INIT. */
typedef struct tj_peaks {
    size_t struct_size;
    double per_s[TJ_PIPES]; /**< in the unit of the pipe; 0: the device lacks the pipe, or no peak is published */
    double clock_hz;
    int32_t is_measured; /**< 1: the bandwidth of memory was measured, 0: it is its clock times the width of its bus */
    int32_t reserved;
} tj_peaks;

#define TJ_PEAKS_INIT TJ_SIZED(tj_peaks)

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
 * All is 0 for a pipe that does no arithmetic, and for peaks that were not initialised.
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

/** All of the above for one problem and config on one device. Start from TJ_ANALYSIS_INIT. */
typedef struct tj_analysis {
    size_t struct_size;
    tj_config config; /**< resolved */
    tj_block_needs needs;
    tj_occupancy occupancy;
    tj_peaks peaks;
    tj_roof roof;
    tj_prediction predicted;
    tj_work work;
} tj_analysis;

#define TJ_ANALYSIS_INIT TJ_SIZED(tj_analysis)

/**
 * Count the work, and compute the occupancy, the peaks and the predicted time. registers is the number per thread; 0 if it is not known yet: then the estimate
 * of the family's form is used. measured_bytes_per_s is that of tj_find_peaks.
 *
 * NULL:    config (the safe choice, with the width for this device: tj_config_adapt) and err may be NULL.
 * Threads: any; pure.
 * Errors:  as tj_config_resolve; TJ_ERR_UNSUPPORTED: the family states no counts, they do not fit 63 bits, or a compute
 *          capability below 7.5; TJ_ERR_INVALID_ARGUMENT: facts without multiprocessors, limits or clocks. A block that does not
 *          fit is not an error: blocks_per_sm is 0.
 */
TJ_API TJ_MUST_CHECK tj_status tj_analyze(const tj_device_facts *facts, const tj_problem *problem, const tj_config *config,
                                          int32_t registers, double measured_bytes_per_s, tj_analysis *analysis, tj_error *err);

/**
 * Predict the time alone, in microseconds, at a small part of the cost of tj_analyze: 1 to 5 us a call. Use this to compare
 * many configs cheaply. It visits one warp of each loop that accesses memory, while tj_analyze visits all; times differ by a few
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

/** The largest width of a square tile on a device, by each limit alone and by all together. Start from TJ_TILE_LIMITS_INIT. */
typedef struct tj_tile_limits {
    size_t struct_size;
    int32_t by_shared; /**< 2 T^2 elements fit a block's shared memory: the lecture's square root, far too wide if used alone */
    int32_t by_threads;   /**< T^2 threads fit a block */
    int32_t by_registers; /**< there are registers for T^2 threads */
    int32_t widest;       /**< all three hold */
} tj_tile_limits;

#define TJ_TILE_LIMITS_INIT TJ_SIZED(tj_tile_limits)

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
