/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model: the constants of a predicted time. The formulas (analysis/predict.c) are the same for all kernels; kernels differ by
 * the row of constants that their family names. analysis/fit/ fits and prints the rows.
 */
#ifndef TJ_GENERATOR_MODEL_H
#define TJ_GENERATOR_MODEL_H

#include <stdbool.h>

/* clang-format off */
/** Constants that all kernels share: X(name, meaning). Times are in cycles. */
#define TJ_MODEL_SHARED(X)                                                                                                     \
    X(wait, "latency of global memory, from the L2")                                                                           \
    X(memory_wait, "the same from memory, if the matrices do not fit the L2")                                                  \
    X(cold_wait, "the same if all operands come from memory, as in an estimate")                                               \
    X(step, "a multiply-add that depends on the one before")                                                                   \
    X(barrier, "a barrier, and its part of the latency of shared memory")                                                      \
    X(launch_us, "an empty kernel, in microseconds")                                                                           \
    X(sharpness, "exponent of the soft maximum of L2 and memory: 1 adds, infinity takes the larger")                           \
    X(memory_efficiency, "share that is reached of the bandwidth that clock and bus give")                                     \
    X(sector_store, "bytes' worth of L2 time for each sector that a store touches in part or whole")                           \
    X(store, "a phase's tiles, from registers to shared memory; all wait for the last")                                        \
    X(exchange, "each partial sum that one thread passes to another")                                                          \
    X(piece_instructions, "instructions of a warp for each piece of the copies that are spread over a phase")                  \
    X(spill_requests, "requests for each spilled register in each step")                                                       \
    X(fetch_free, "multiply-adds of a phase whose unrolled code fits the instruction cache")                                   \
    X(pack, "launch and end of a kernel before the product")                                                                   \
    X(pack_next, "delay of each further product of a batch")                                                                   \
    X(pack_transpose, "more delay if it transposes a tile in shared memory")                                                   \
    X(pack_wait, "its latency of memory")                                                                                      \
    X(pack_efficiency, "share that it reaches of the one pipe for shared memory and L1")                                       \
    X(reduce_start, "least interval between new blocks of the kernel that adds splits")                                        \
    X(reduce_ends, "from a block's start to its first load, plus from its last store to its end")

/** Constants of every kind of kernel. */
#define TJ_MODEL_OF_ALL(X)                                                                                                     \
    X(wait, "latency of memory while all multiprocessors load; 0: they load from the L2")                                      \
    X(sharpness, "exponent of a soft maximum: resident blocks, or a walking block's products and copies")                      \
    X(device_sharpness, "the same of multiprocessors and memory")                                                              \
    X(overlap_blocks, "blocks of a multiprocessor, below which no other block hides a block's work")                           \
    X(next_kernel, "from a kernel's end to the start of the kernel that adds splits")                                          \
    X(workspace_passes, "adding splits takes the L2 the time of this number of reads")

/** Constants of blocks that compute one tile of P each. */
#define TJ_MODEL_OF_BLOCKS(X)                                                                                                  \
    X(start, "least interval between new blocks of a multiprocessor")                                                          \
    X(warp_start, "added to `start` for each warp of the block")                                                               \
    X(ends, "from a block's start to its first load, plus from its last store to its end")                                     \
    X(gather_wait, "`wait` of elements loaded one by one, without other loads in flight; 0: the same")                         \
    X(shared_wait, "from a load of shared memory to its use")                                                                  \
    X(request_wait, "added to `shared_wait` for each request of a warp in a step beyond two, because these are serial")        \
    X(phase_cycles, "overhead of each phase of a block")                                                                       \
    X(fetch_cycles, "fetch of each instruction of a phase from the L2, by the first blocks of a launch")                       \
    X(phase_instructions, "instructions of a warp in each phase: addresses, groups of copies, the loop")                       \
    X(step_instructions, "instructions of a warp in each step of a phase")                                                     \
    X(half_drain, "wait of a phase for the last products of 8-bit floats, two of halves and an addition each")                 \
    X(copy_instructions, "instructions for each load or copy of a phase: address, edge, loop")                                 \
    X(issue, "share of the issue slots that many warps can use")                                                               \
    X(lone_warp, "share of a slot that a scheduler with one warp loses")                                                       \
    X(product_lone_warp, "the same for the pipe of the products")                                                              \
    X(product_latency, "more cycles per step if a warp of few products waits for their accumulators")                          \
    X(barrier_loss, "share of the issue slots lost if the only block of a multiprocessor waits for its last warp")             \
    X(fetch_loss, "share of the issue slots lost by code far longer than the instruction cache")                               \
    X(shared_passes, "passes of a merged wavefront, if the lanes of a warp load the same words")                               \
    X(pipe_efficiency, "share that is reached of the one pipe for shared memory and L1")                                       \
    X(pipe_sharpness, "exponent of the soft maximum of products and shared memory within a block; 0: infinity")                \
    X(shared_sector, "of an L2 line, for each sector that each of the blocks sharing it loads")                                \
    X(narrow_passes, "passes of the L1 for each request of asynchronous copies narrower than 16 bytes")

/** Constants of persistent blocks, which walk the tiles of P. */
#define TJ_MODEL_OF_WALKS(X)                                                                                                   \
    X(packed_wait, "`wait` for operands that an earlier kernel has just packed, from the L2")                                  \
    X(start, "from a block's start to its first product")                                                                      \
    X(rate, "share of the tensor pipe's peak that products reach")                                                             \
    X(throttle, "relative slowdown when power limits the clock, in a long launch")                                             \
    X(throttle_cycles, "cycles of products after which half of that slowdown applies")                                         \
    X(add, "of a phase that waits for its accumulators and adds them to those of all phases")                                  \
    X(promote, "of a part of k whose accumulators a thread waits for; other products hide the additions")                      \
    X(widen, "of a warp for each of its instructions that make factors of weights")                                            \
    X(issue, "of a scheduler for each of its instructions that make factors of weights")                                       \
    X(unit, "other instructions for each request that loads weights")                                                          \
    X(part, "of a warpgroup that waits for the products of a part of k, to add them up")                                       \
    X(store, "from a tile's last product to the next tile's first, if one part of a block does both")                          \
    X(round, "operations that rounding and storing an accumulator count as")                                                   \
    X(finish, "of all lanes for each operation of the epilogue's expression")                                                  \
    X(alone, "the same if one warpgroup finishes while another multiplies")                                                    \
    X(hidden, "operations per accumulator that the other warpgroup's products hide")                                           \
    X(lanes, "for each request of lanes that load P from shared memory and store it")                                          \
    X(line, "of a multiprocessor for each L2 line that its copy engine touches")                                               \
    X(packed_line, "factor of `line` if an earlier kernel has just written the line")                                          \
    X(flight, "bytes of all blocks that may be in flight with more than six stages")                                           \
    X(flight_cost, "share of a tile's time that each further such number of bytes costs")                                      \
    X(transpose_wait, "from a tile's arrival to the end of its transpose in shared memory")                                    \
    X(transpose_passes, "of shared memory for each wavefront of the lanes that transpose tiles")                               \
    X(gather, "of a block for each instruction of the warps that copy gathered rows of M")
/* clang-format on */

#define TJ_MODEL_MEMBER(name, meaning) double name;

typedef struct tj_model_block {
    TJ_MODEL_OF_BLOCKS(TJ_MODEL_MEMBER)
} tj_model_block;

typedef struct tj_model_walk {
    TJ_MODEL_OF_WALKS(TJ_MODEL_MEMBER)
} tj_model_walk;

typedef struct tj_shared_model {
    TJ_MODEL_SHARED(TJ_MODEL_MEMBER)
} tj_shared_model;

typedef struct tj_model {
    const char *name;
    const tj_shared_model *shared;
    bool overlaps_waves; /* the blocks of a wave begin while those of the one before still end */
    TJ_MODEL_OF_ALL(TJ_MODEL_MEMBER)
    tj_model_block block;
    tj_model_walk walk;
} tj_model;

#undef TJ_MODEL_MEMBER

extern const tj_shared_model tj_model_shared;

/** The rows. A family that has two kinds of kernels has two. */
#define TJ_MODELS(X) \
    X(textbook) X(simt) X(skinny) X(strip) X(strip_boxes) X(thin) X(mma) X(mma_f64) X(mma_c64) X(wgmma) X(wgmma_planes)

#define TJ_DECLARE_MODEL(name) extern const tj_model tj_model_##name;
TJ_MODELS(TJ_DECLARE_MODEL)
#undef TJ_DECLARE_MODEL

#endif
