/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis.h: predict the memory traffic, the occupancy and the time of a product, without running it.
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
 * Words: a *pipe* is a part of the device that works in parallel with the others, such as the multiply-add units or the L2. A
 * *request* is one memory instruction of one warp. A *sector* is 32 bytes of global memory, the smallest transfer. A
 * *wavefront* is one pass through the 32 banks of shared memory, or through one 128-byte line of the L1. A *wave* is the set of
 * blocks that a device holds at once. docs/analysis.md derives every formula.
 */
#ifndef TILEJIT_ANALYSIS_H
#define TILEJIT_ANALYSIS_H

#include <tilejit/device.h>
#include <tilejit/family.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- pipes -------------------------------------------------------------------------------------------------------- */

/**
 * A part of the device that works in parallel with the others. tj_peaks, tj_work and tj_prediction have arrays indexed by it.
 */
typedef enum tj_pipe {
    /* arithmetic of a multiprocessor: multiply-add units by the accumulator type, tensor cores by that of the operands */
    TJ_PIPE_F32,
    TJ_PIPE_F64,
    TJ_PIPE_F16, /**< packed halves: no family accumulates in them, but mma uses them to widen weights */
    TJ_PIPE_TENSOR_F16,
    TJ_PIPE_TENSOR_BF16,
    TJ_PIPE_TENSOR_TF32,
    TJ_PIPE_TENSOR_F64,
    TJ_PIPE_TENSOR_S8,
    TJ_PIPE_TENSOR_FP8,
    TJ_PIPE_TENSOR_MXFP8, /**< 8-bit floats with block scales in the instruction, and e2m1 likewise: */
    TJ_PIPE_TENSOR_FP4,
    /* the rest of a multiprocessor */
    TJ_PIPE_ISSUE,
    TJ_PIPE_SHARED, /**< shares its hardware with the L1, so their times add up */
    TJ_PIPE_L1,
    TJ_PIPE_START,
    /* of all multiprocessors together */
    TJ_PIPE_L2,
    TJ_PIPE_MEMORY,
    TJ_PIPES
} tj_pipe;

/** The terms of a time: the pipes, then the terms that belong to no pipe. */
enum {
    TJ_TERM_LATENCY = TJ_PIPES, /**< the chain of dependent instructions of one block, times the number of waves */
    TJ_TERM_PACK,               /**< the kernel that copies operands to the workspace, before all other kernels */
    TJ_TERM_REDUCE,             /**< the second kernel of split k, after all other kernels */
    TJ_TERM_LAUNCH,             /**< an empty kernel */
    TJ_TERMS
};

typedef struct tj_term {
    const char *key;  /**< "l2": in JSON */
    const char *name; /**< "issuing instructions" */
    const char *unit; /**< unit of a pipe's work, and of its peak per second: "FLOP"; NULL for a term that is not a pipe */
    double per_clock; /**< the peak of one multiprocessor per clock, if it is the same on every architecture; else 0 */
} tj_term;

/** Return the facts of a tj_pipe or another term. NULL: there is no such number. Owned: static. Threads: any. */
TJ_API const tj_term *tj_term_at(int32_t term);

/* ---- counts ------------------------------------------------------------------------------------------------------- */

/** The traffic of one kind of access. */
typedef struct tj_traffic {
    int64_t elements;    /**< counted for each thread, as the textbook does */
    int64_t bytes;       /**< bytes of those elements */
    int64_t requests;    /**< instructions of warps with at least one active thread */
    int64_t wavefronts;  /**< wavefronts of the requests: see the top of this file */
    int64_t sectors;     /**< different 32-byte sectors in each request, added up; 0 for shared memory */
    int64_t merged;      /**< wavefronts after ptxas has merged neighbouring requests: an estimate, for predictions */
    int64_t is_estimate; /**< 1: the numbers are extrapolated from the first warp of each loop (tj_estimate); elements and bytes
                              are exact, or nearly so for small_batch */
} tj_traffic;

/**
 * The counts of one whole block in one whole phase: no edge is clipped. This gives the textbook's "512 loads for 8 192
 * operations".
 */
typedef struct tj_phase_counts {
    int64_t depth;         /**< elements of k in one phase; for a family without phases 1, one iteration of its loop */
    int64_t loads;         /**< elements from global memory */
    int64_t flop;          /**< multiplications and additions */
    int64_t shared_stores; /**< elements */
    int64_t shared_loads;  /**< elements */
    double intensity;      /**< flop / (loads * element_bytes): the textbook's FLOP/B, 0.25 for naive in f32 */
} tj_phase_counts;

/**
 * The kinds of access. A launch has a kernel that multiplies, and may have one that packs and one that adds up the splits of k
 * ("reduce"). Accesses are to global memory unless the comment states shared memory.
 */
typedef enum tj_access_kind {
    TJ_LOAD_M,
    TJ_LOAD_N,
    TJ_LOAD_C,
    TJ_STORE_P,
    TJ_STORE_W, /**< the workspace of split k */
    TJ_LOAD_W,
    TJ_LOAD_POINTERS, /**< from the arrays of pointers (TJ_POINTERS) */
    TJ_LOAD_SCALES, /**< scales of M and N; as an estimate, the operands of an expression; for planes, also the selector and the
                         row and column exponents */
    TJ_PACK_LOAD,   /**< loads of a kernel that copies operands to the workspace, or splits them; requests and sectors are an
                         estimate */
    TJ_PACK_STORE,
    TJ_PACK_SHARED_LOAD, /**< shared memory, used to transpose operands; not counted if they are split */
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
 * The work of a launch, for the whole batch. It is exact, and edges are clipped: zeros that pad a tile are not loaded. Requests
 * and wavefronts are those of the source as written; the compiler may merge neighbouring requests into wider instructions.
 */
typedef struct tj_work {
    int64_t flop; /**< the operations of the product itself: 2 j k l, and those of alpha and beta */
    /**
     * The work of each pipe, in its unit. Arithmetic: 2 for each multiply-add that is executed, those on zero padding and of
     * beta included, but not those of a kernel that adds up splits. Memory: every matrix once, the least that any kernel can
     * transfer. Estimates: for the L2, the traffic that remains if the L1 serves all repeated reads of a block; for shared
     * memory, the share of asynchronous copies.
     */
    int64_t pipe_work[TJ_PIPES];
    tj_traffic traffic[TJ_ACCESSES];
    int64_t global_bytes;   /**< bytes of global memory in total */
    double intensity;       /**< flop / global_bytes */
    int64_t blocks;         /**< number of blocks of the launch or launches */
    int64_t splits;         /**< blocks that share the k of a tile of P; 1: one block takes all of it */
    int64_t phases;         /**< at most, per block; 0 for a family without phases */
    int64_t barriers;       /**< number of barriers that blocks pass, all blocks together */
    int64_t sums;           /**< additions besides the multiply-adds, if threads or blocks share an accumulator */
    int64_t async_bytes;    /**< bytes loaded by asynchronous copies to shared memory, without stores by threads */
    int64_t shared_bytes;   /**< per block, static and dynamic together */
    int64_t other_barriers; /**< barriers of the kernels that pack and reduce */
    int64_t reduce_fma;     /**< multiply-adds of the kernel that reduces: those of beta */
    int32_t pipe;           /**< tj_pipe: where the products are accumulated */
    int32_t threads_per_block;
    int32_t block_rows, block_cols; /**< of P, that one block computes */
    int32_t element_bytes;          /**< of M */
    int32_t sum_bytes;              /**< of the accumulator's type, and of the elements in shared memory */
    int32_t phases_ahead;           /**< number of phases whose loads are in flight while one is multiplied; 0: none */
    int32_t spilled;                /**< registers per thread above the limit of the launch bounds: an estimate */
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
 * The number of resident blocks, as cuOccupancyMaxActiveBlocksPerMultiprocessor computes it, and the resource that limits it.
 * They follow from the device's facts and the allocation rules of its compute capability (7.5 to 12.x; a newer one is treated
 * as 12.x).
 */
typedef struct tj_occupancy {
    int32_t blocks_per_sm;                                  /**< 0: none fits */
    int32_t by_threads, by_blocks, by_registers, by_shared; /**< number of blocks that each resource alone allows */
    int32_t limit;                                          /**< tj_limit: the scarcest; the first of several equal ones */
    int32_t warps_per_sm, max_warps_per_sm;
    double fraction;          /**< warps_per_sm / max_warps_per_sm */
    int64_t registers_taken;  /**< per block, rounded up to the granularity of allocation; 0 if not known */
    int64_t shared_taken;     /**< per block, rounded up to the granularity, with the part that the system reserves */
    int64_t blocks_per_wave;  /**< blocks_per_sm * multiprocessors */
    int64_t waves;            /**< waves of the launch; the last one counts as a whole wave */
    int64_t last_wave_blocks; /**< blocks of the last wave */
    double tail;              /**< share of the block slots of all waves that stay empty: 0 is best */
    char lift[TJ_LIFT_BYTES]; /**< text: the change that would allow one more block, or the note that every warp slot is in
                                   use */
} tj_occupancy;

/** "threads", "blocks", "registers", "shared memory"; "?" for a number that is not a limit. Owned: static text. */
TJ_API const char *tj_limit_name(tj_limit limit);

/* ---- roofline ----------------------------------------------------------------------------------------------------- */

/** The peaks of a device. Start from TJ_PEAKS_INIT. */
typedef struct tj_peaks {
    size_t struct_size;
    double per_s[TJ_PIPES]; /**< in the unit of the pipe; 0: the device does not have the pipe, or no peak is published */
    double clock_hz;
    int32_t is_measured;      /**< 1: the memory bandwidth was measured; 0: it is the memory clock times the width of the bus */
    int32_t is_by_data_sheet; /**< 1: the rates are published ones; no kernel was timed on a device of this capability */
} tj_peaks;

#define TJ_PEAKS_INIT TJ_SIZED(tj_peaks)

/**
 * Compute the peaks of a device: the published rates of its compute capability, times its multiprocessors and their clock.
 * Tensor cores count without sparsity. A measured_bytes_per_s above 0 replaces the bandwidth that follows from the device's
 * attributes.
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
 * Return the point of a program with this intensity that computes in this pipe. NULL: peaks must not be NULL. Threads: any;
 * pure. All members are 0 for a pipe that does no arithmetic, and for peaks that were not initialised.
 */
TJ_API tj_roof tj_roofline(const tj_peaks *peaks, tj_pipe pipe, double intensity);

/* ---- predicted time ----------------------------------------------------------------------------------------------- */

/** The model's prediction for one launch. Times in microseconds; docs/analysis.md has the formulas. */
typedef struct tj_prediction {
    double us;                /**< launch + (softly) the longer of blocks and memory + what does not overlap + reduce */
    double term_us[TJ_TERMS]; /**< the time of each term alone; for the pipes of a multiprocessor with the tail */
    const char *bound;        /**< the name of the longest term, the launch excluded */
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
    int32_t multiprocessors; /**< that the launch may occupy (tj_problem), of those of the device */
    int32_t keeps_share;     /**< 1: it occupies no more of them wherever it may begin; 0: it may take others that are free */
} tj_analysis;

#define TJ_ANALYSIS_INIT TJ_SIZED(tj_analysis)

/**
 * Count the work, and compute the occupancy, the peaks and the predicted time. registers is the number per thread; if it is 0
 * (not known yet), the estimate of the family's form is used. measured_bytes_per_s is as for tj_find_peaks.
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
 * Predict only the time, in microseconds, at a small part of the cost of tj_analyze: 1 to 5 us per call. Use this to compare
 * many configs. It visits one warp of each loop that accesses memory, while tj_analyze visits all; times differ by a few
 * percent if rows are not aligned. The prediction assumes that operands come from memory, as when a tuner measures. The number
 * of registers is a guess, and the time is a mean over its likely range, so that the rank of a config does not depend on one
 * register more or less.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  those of tj_analyze; TJ_ERR_UNSUPPORTED: the family states no counts, or the device cannot run it.
 */
TJ_API TJ_MUST_CHECK tj_status tj_estimate(const tj_device_facts *facts, const tj_problem *problem, const tj_config *config,
                                           double *us, tj_error *err);

/* ---- a tile for a device ------------------------------------------------------------------------------------------ */

/**
 * The largest width of a square tile on a device, by each limit alone and by all limits together. Start from
 * TJ_TILE_LIMITS_INIT.
 */
typedef struct tj_tile_limits {
    size_t struct_size;
    int32_t by_shared;    /**< 2 T^2 elements fit in a block's shared memory: the textbook's square root, far too wide if used
                            alone */
    int32_t by_threads;   /**< T^2 threads fit in a block */
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
 * copy: copies go through registers on a device before sm_80, which has no asynchronous copies.
 *
 * tile_width: among 8, 16 and 32, as far as the device can run them, the width with the shortest predicted time, or the wider
 * of two within 2 %. A config without a family first gets the library's safe choice. The width does not change if the config
 * names it, if the family has none, or if an extent or the batch is known only at launch; in the last case it is the form's
 * default, 16.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  those of tj_config_resolve. A device that cannot be analysed is not an error: config is unchanged.
 */
TJ_API TJ_MUST_CHECK tj_status tj_config_adapt(const tj_device_facts *facts, const tj_problem *problem, tj_config *config,
                                               tj_error *err);

/**
 * Get the facts of a well-known device by the name of its target, to analyse a device that is not present: "sm_80" is an A100
 * 80GB, "sm_90" an H200, and so on, as for the emulator.
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
