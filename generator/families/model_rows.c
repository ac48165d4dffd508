/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_rows: the constants of predicted times, one row for each kind of kernel (model.h has their meanings). Written by
 * `python3 analysis/fit/fit.py fit --write`, which replaces a row and its comment; not by hand.
 */
#include "model.h"

/*
 * All kernels. The first seven: fitted by eye to 288 kernels of an H200 (tests/analysis/times_h200.txt), or published; the others with
 * the rows below.
 */
const tj_shared_model tj_model_shared = {
    .wait = 215,
    .memory_wait = 600,
    .cold_wait = 1200,
    .step = 4,
    .barrier = 17,
    .launch_us = 2.6,
    .sharpness = 4,
    .memory_efficiency = 0.9,
    .sector_store = 80,
    .store = 500,
    .exchange = 20,
    .piece_instructions = 35,
    .spill_requests = 0.5,
    .fetch_free = 1024,
    .pack = 2130,
    .pack_next = 2000,
    .pack_transpose = 456,
    .pack_wait = 787,
    .pack_efficiency = 0.846,
    .reduce_start = 157,
    .reduce_ends = 700,
};

/* naive, tiled and small_batch. Fitted by eye to 288 kernels of an H200 (tests/analysis/times_h200.txt). */
const tj_model tj_model_textbook = {
    .name = "textbook",
    .shared = &tj_model_shared,
    .sharpness = 4,
    .device_sharpness = 4,
    .overlap_blocks = 2,
    .next_kernel = 3000,
    .workspace_passes = 2.4,
    .block.start = 157,
    .block.ends = 700,
    .block.shared_wait = 33,
    .block.phase_instructions = 47,
    .block.issue = 0.9,
    .block.lone_warp = 0.25,
    .block.product_lone_warp = 0.25,
    .block.shared_passes = 1,
    .block.pipe_efficiency = 0.88,
};

/* Fitted to trials of November 2026, most of which are lost, and to 3 300 of 61 shapes on an H200 (sets h200_f32, h100_f32). */
const tj_model tj_model_simt = {
    .name = "simt",
    .shared = &tj_model_shared,
    .overlaps_waves = true,
    .wait = 787,
    .sharpness = 1.24,
    .device_sharpness = 10.2,
    .overlap_blocks = 2,
    .next_kernel = 2860,
    .workspace_passes = 4.28,
    .block.start = 157,
    .block.ends = 122,
    .block.shared_wait = 6.69,
    .block.request_wait = 23.2,
    .block.fetch_cycles = 0.283,
    .block.phase_instructions = 26.3,
    .block.copy_instructions = 2.3,
    .block.issue = 0.987,
    .block.lone_warp = 0.161,
    .block.product_lone_warp = 0.308,
    .block.barrier_loss = 0.279,
    .block.fetch_loss = 0.454,
    .block.shared_passes = 1.73,
    .block.pipe_efficiency = 0.846,
};

/* Fitted as simt was. */
const tj_model tj_model_skinny = {
    .name = "skinny",
    .shared = &tj_model_shared,
    .overlaps_waves = true,
    .wait = 804,
    .sharpness = 1.42,
    .device_sharpness = 4.13,
    .overlap_blocks = 0.752,
    .next_kernel = 2940,
    .workspace_passes = 3.92,
    .block.start = 193,
    .block.ends = 292,
    .block.shared_wait = 23,
    .block.request_wait = 25,
    .block.fetch_cycles = 3.69,
    .block.phase_instructions = 22.1,
    .block.copy_instructions = 4.92,
    .block.issue = 0.855,
    .block.lone_warp = 0.375,
    .block.product_lone_warp = 0.25,
    .block.barrier_loss = 0.149,
    .block.fetch_loss = 0.25,
    .block.shared_passes = 0.415,
    .block.pipe_efficiency = 0.658,
};

/*
 * Lanes copy: values that they share cost little, and copies in small pieces leave some of the bandwidth unused. Fitted to set
 * h200_strip and others that are lost.
 */
const tj_model tj_model_strip = {
    .name = "strip",
    .shared = &tj_model_shared,
    .overlaps_waves = true,
    .wait = 804,
    .sharpness = 0.514,
    .device_sharpness = 2.53,
    .overlap_blocks = 1.88,
    .next_kernel = 1570,
    .workspace_passes = 3.8,
    .block.start = 157,
    .block.ends = 656,
    .block.shared_wait = 20.8,
    .block.request_wait = 17.5,
    .block.fetch_cycles = 2.11,
    .block.phase_instructions = 36.8,
    .block.copy_instructions = 10.1,
    .block.issue = 1,
    .block.lone_warp = 0.36,
    .block.product_lone_warp = 0.25,
    .block.barrier_loss = 0.186,
    .block.fetch_loss = 0.25,
    .block.shared_passes = 0.627,
    .block.pipe_efficiency = 0.975,
};

/*
 * The copy engine copies: warps wait little, but few warps do not saturate the pipe of the products. Fitted to set h100_boxes and
 * others that are lost.
 */
const tj_model tj_model_strip_boxes = {
    .name = "strip_boxes",
    .shared = &tj_model_shared,
    .overlaps_waves = true,
    .wait = 1060,
    .sharpness = 0.739,
    .device_sharpness = 8.06,
    .overlap_blocks = 3.17,
    .next_kernel = 4870,
    .workspace_passes = 3.6,
    .block.start = 157,
    .block.ends = 687,
    .block.shared_wait = 23,
    .block.request_wait = 9.19,
    .block.fetch_cycles = 0.29,
    .block.phase_instructions = 14.7,
    .block.issue = 1,
    .block.lone_warp = 0.395,
    .block.product_lone_warp = 0.574,
    .block.barrier_loss = 0.213,
    .block.fetch_loss = 0.25,
    .block.shared_passes = 0.651,
    .block.pipe_efficiency = 0.86,
};

/* As skinny, but warps wait for each other in the end only. Fitted to set h200_thin. */
const tj_model tj_model_thin = {
    .name = "thin",
    .shared = &tj_model_shared,
    .overlaps_waves = true,
    .wait = 195,
    .sharpness = 1.88,
    .device_sharpness = 16,
    .overlap_blocks = 0.18,
    .next_kernel = 4370,
    .workspace_passes = 30.2,
    .block.start = 309,
    .block.ends = 1780,
    .block.shared_wait = 7.41,
    .block.fetch_cycles = 0.000138,
    .block.phase_instructions = 159,
    .block.copy_instructions = 2.75,
    .block.issue = 0.982,
    .block.lone_warp = 1.51,
    .block.product_lone_warp = 0.0172,
    .block.fetch_loss = 0.164,
    .block.shared_passes = 0.0841,
    .block.pipe_efficiency = 0.631,
};

/*
 * A product of tensor cores is one instruction for all its multiply-adds, which every instruction cache holds. Fitted to some
 * 23 000 trials of November 2026, of which the sets h200_mma, h200_decode, h200_e4m3, h100_drawn, h100_tf32 and h100_s8 are a
 * part; `start` by itself, later, to these and h200_batches.
 */
const tj_model tj_model_mma = {
    .name = "mma",
    .shared = &tj_model_shared,
    .wait = 716,
    .sharpness = 1.07,
    .device_sharpness = 19.8,
    .overlap_blocks = 2,
    .next_kernel = 2660,
    .workspace_passes = 4.2,
    .block.start = 340,
    .block.warp_start = 20.2,
    .block.ends = 214,
    .block.gather_wait = 990,
    .block.shared_wait = 10.5,
    .block.phase_cycles = 24.6,
    .block.fetch_cycles = 0.824,
    .block.phase_instructions = 0.931,
    .block.step_instructions = 1.93,
    .block.half_drain = 185,
    .block.copy_instructions = 1.66,
    .block.issue = 0.397,
    .block.lone_warp = 0.454,
    .block.product_lone_warp = 0.119,
    .block.product_latency = 7.95,
    .block.barrier_loss = 0.104,
    .block.shared_passes = 1.36,
    .block.pipe_efficiency = 0.986,
    .block.pipe_sharpness = 3.38,
    .block.shared_sector = 0.139,
    .block.narrow_passes = 5.03,
};

/*
 * A product occupies the pipe for 32 cycles, so few warps saturate it. Fitted to set h100_f64 and, with less weight, to the 30
 * shapes of f64 in h200_mma.
 */
const tj_model tj_model_mma_f64 = {
    .name = "mma_f64",
    .shared = &tj_model_shared,
    .wait = 1340,
    .sharpness = 1.12,
    .device_sharpness = 6.6,
    .overlap_blocks = 1.1,
    .next_kernel = 1570,
    .workspace_passes = 2.75,
    .block.start = 153,
    .block.ends = 700,
    .block.shared_wait = 74,
    .block.phase_cycles = 5.9,
    .block.fetch_cycles = 0.4,
    .block.phase_instructions = 1,
    .block.step_instructions = 3.5,
    .block.copy_instructions = 2.2,
    .block.issue = 1,
    .block.lone_warp = 0.21,
    .block.product_lone_warp = 0.205,
    .block.barrier_loss = 0.057,
    .block.shared_passes = 0.69,
    .block.pipe_efficiency = 1,
    .block.pipe_sharpness = 3.7,
};

/*
 * As f64: each fragment of complex numbers makes four products, of which tensor cores in tf32 make one in 8 cycles; `issue` is that
 * of f32_split 4096^3 on an H200.
 */
const tj_model tj_model_mma_c64 = {
    .name = "mma_c64",
    .shared = &tj_model_shared,
    .wait = 1340,
    .sharpness = 1.12,
    .device_sharpness = 6.6,
    .overlap_blocks = 1.1,
    .next_kernel = 1570,
    .workspace_passes = 2.75,
    .block.start = 153,
    .block.ends = 700,
    .block.shared_wait = 74,
    .block.phase_cycles = 5.9,
    .block.fetch_cycles = 0.4,
    .block.phase_instructions = 1,
    .block.step_instructions = 3.5,
    .block.copy_instructions = 2.2,
    .block.issue = 0.78,
    .block.lone_warp = 0.21,
    .block.product_lone_warp = 0.205,
    .block.barrier_loss = 0.057,
    .block.shared_passes = 0.69,
    .block.pipe_efficiency = 1,
    .block.pipe_sharpness = 3.7,
};

/* Fitted to sets h100_wgmma and h100_drawn, and others that are lost. */
const tj_model tj_model_wgmma = {
    .name = "wgmma",
    .shared = &tj_model_shared,
    .wait = 2100,
    .sharpness = 6.35,
    .device_sharpness = 1.68,
    .overlap_blocks = 0.984,
    .next_kernel = 3080,
    .workspace_passes = 22.2,
    .walk.packed_wait = 1500,
    .walk.start = 1200,
    .walk.rate = 0.892,
    .walk.throttle = 0.18,
    .walk.throttle_cycles = 19000,
    .walk.add = 200,
    .walk.promote = 200,
    .walk.widen = 2.6,
    .walk.issue = 1.4,
    .walk.unit = 36,
    .walk.part = 80,
    .walk.store = 102,
    .walk.round = 0.37,
    .walk.finish = 1.5,
    .walk.alone = 1.8,
    .walk.hidden = 7,
    .walk.lanes = 3,
    .walk.line = 2.42,
    .walk.packed_line = 1.42,
    .walk.flight = 18e6,
    .walk.flight_cost = 0.1,
    .walk.transpose_wait = 1380,
    .walk.transpose_passes = 1.96,
    .walk.gather = 6, /* from gathered and contiguous rows of 16384x2048x7168: 5.6 in 128x128, 6.1 in 128x256 */
};

/*
 * A warpgroup waits for the tensor cores twice in each phase. Fitted to 113 trials of 16 shapes; regret of held-out shapes
 * 1.008, before 1.035.
 */
const tj_model tj_model_wgmma_planes = {
    .name = "wgmma_planes",
    .shared = &tj_model_shared,
    .overlaps_waves = true,
    .wait = 1950,
    .sharpness = 1.12,
    .device_sharpness = 10.7,
    .overlap_blocks = 2,
    .next_kernel = 2860,
    .workspace_passes = 4.28,
    .block.start = 157,
    .block.ends = 122,
    .block.shared_wait = 6.69,
    .block.request_wait = 23.2,
    .block.phase_cycles = 511,
    .block.fetch_cycles = 0.283,
    .block.phase_instructions = 26.1,
    .block.copy_instructions = 2.29,
    .block.issue = 1,
    .block.lone_warp = 0.16,
    .block.product_lone_warp = 0.306,
    .block.barrier_loss = 0.26,
    .block.fetch_loss = 0.436,
    .block.shared_passes = 1.73,
    .block.pipe_efficiency = 0.846,
};
