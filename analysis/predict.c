/* SPDX-License-Identifier: Apache-2.0 */
/*
 * predict: from counts to a time.
 *
 * A multiprocessor executes its blocks through pipes, each of which takes a number of cycles per block: multiply-adds, issuing
 * instructions, shared memory and L1 (one and the same pipe), starting a block. In addition a block has latencies, one after
 * the other, which more resident blocks hide. L2 and memory bound the device as a whole. docs/analysis.md has the formulas and
 * the sources of the constants.
 */
#include <tilejit/analysis.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "architectures.h"

/*
 * Cycles, fitted to times of an H200 and rounded: naive and tiled (times_h200.txt), operands in the L2 as far as they fit it.
 */
static const double WAIT_CYCLES = 215;        /* global memory, from the L2 */
static const double MEMORY_WAIT_CYCLES = 600; /* from memory, if the matrices do not fit the L2 */
static const double COLD_WAIT_CYCLES = 1200;  /* the same if all operands come from memory, as in an estimate */
static const double STEP_CYCLES = 4;          /* a multiply-add that depends on the one before */
static const double BARRIER_CYCLES = 17;      /* and its part of the latency of shared memory */
static const double LAUNCH_US = 2.6;
static const double SHARPNESS = 4; /* of the maximum of overlapping terms: 1 adds, infinity takes the larger */

/* Fitted to trials of tuners (trials_h200*.txt), whose operands come from memory. */
static const double PACK_CYCLES = 2130;      /* launch and end of a kernel before the product */
static const double PACK_NEXT_CYCLES = 2000; /* delay of each further product of a batch */
static const double TURN_CYCLES = 456;       /* more delay if it transposes a tile in shared memory */
static const double STORE_CYCLES = 500;      /* a phase's tiles, from registers to shared memory; all wait for the last */
static const double EXCHANGE_CYCLES = 20;    /* for each partial sum that one thread passes to another */
static const double PIECE_INSTRUCTIONS = 35; /* of a warp, for each piece of the copies that are spread over a phase */
static const double SPILL_REQUESTS = 0.5;    /* for each spilled register in each step */
static const double FETCH_FREE = 1024;       /* multiply-adds of a phase whose unrolled code fits the instruction cache */
static const double L2_LINE = 128;           /* bytes */
static const double SECTOR_STORE = 80;       /* bytes' worth of L2 time for each sector that a store touches in part or whole */
static const double MEMORY_EFFICIENCY = 0.9; /* of the bandwidth that clock and bus give */

/* Constants that differ between kinds of kernels. */
typedef struct habits {
    double start;              /* least interval between new blocks of a multiprocessor, */
    double warp_start;         /* plus this for each warp of the block */
    double ends;               /* cycles from a block's start to its first load, plus those from its last store to its end */
    double wait;               /* latency of memory while all multiprocessors load; 0: they load from the L2 (WAIT_CYCLES) */
    double gather_wait;        /* the same for elements loaded one by one, with no other loads in flight; 0: not longer */
    double shared_wait;        /* cycles from a load of shared memory to its use */
    double request_wait;       /* plus this for each request of a warp in a step beyond two, because these are serial */
    double phase_cycles;       /* overhead of each phase of a block */
    double fetch_cycles;       /* from the L2, for each instruction of a phase's code: once, by the first blocks of a launch */
    double phase_instructions; /* of a warp: addresses, groups of copies, the loop */
    double step_instructions;  /* and those of each step of a phase */
    double half_drain;         /* wait of a phase for the last products of 8-bit floats, two of halves and an addition each */
    double copy_instructions;  /* for each load or copy of a phase: address, edge, loop */
    double issue;              /* share of issue slots that many warps can use; unrolled loops nearly always have work */
    double lone_warp;          /* share of a slot that a scheduler with one warp loses */
    double product_lone_warp;  /* the same for the pipe of the products */
    double product_latency;    /* more cycles per step if a warp of few products waits for their accumulators */
    double barrier_loss;       /* share of issue slots, if the only block of a multiprocessor waits for its last warp */
    double fetch_loss;         /* share of issue slots, for code far longer than FETCH_FREE */
    double shared_passes;      /* of a merged wavefront, if the lanes of a warp load the same words */
    double pipe_efficiency;    /* of the one pipe for shared memory and L1 */
    double pipe_sharpness;     /* of products and shared memory within a block; 0: infinity */
    double sharpness;          /* of resident blocks; those that copy ahead run in lockstep, and wait together */
    double device_sharpness;   /* of blocks and memory */
    double shared_sector;      /* cycles of an L2 line, for each sector that each of the blocks sharing it loads */
    double narrow_passes;      /* of the L1, for each request of asynchronous copies that are narrower than 16 bytes */
    double overlap_blocks;     /* blocks of a multiprocessor, below which no other block hides a block's work */
    double next_kernel;        /* cycles from a kernel's end to the start of the kernel that adds splits */
    double workspace_passes;   /* adding splits takes the L2 the time of this number of reads */
    /* of persistent blocks, which walk the tiles of P */
    double walk_wait;    /* latency of the L2: `wait` for operands that an earlier kernel has just packed */
    double walk_start;   /* cycles from a block's start to its first product */
    double walk_rate;    /* share of the tensor pipe's peak that products reach, */
    double walk_heat;    /* and the relative slowdown when power limits the clock, in a long launch; */
    double walk_warm;    /* after this number of cycles of products, half of that slowdown */
    double walk_add;     /* cycles of a phase that waits for its accumulators and adds them to those of all phases */
    double walk_store;   /* cycles from a tile's last product to the next tile's first, if one part of a block does both */
    double walk_round;   /* operations that rounding and storing an accumulator count as */
    double walk_finish;  /* cycles of all lanes for each operation of the epilogue's expression, */
    double walk_alone;   /* and if one warpgroup finishes while another multiplies, */
    double walk_hidden;  /* whose products hide this number of operations per accumulator */
    double walk_lanes;   /* cycles for each request of lanes that load P from shared memory and store it */
    double walk_line;    /* cycles of a multiprocessor for each L2 line that its copy engine touches, */
    double walk_packed;  /* and the factor of that if an earlier kernel has just written the line */
    double walk_flight;  /* bytes of all blocks that may be in flight, with more than six stages, */
    double walk_crowd;   /* and the share of a tile's time that each such excess costs */
    double walk_turn;    /* cycles from a tile's arrival to the end of its transpose, */
    double walk_squares; /* cycles of shared memory for each wavefront of the lanes that transpose tiles */
} habits;

static const habits plain = {
    /* naive, tiled, small_batch */
    .start = 157,
    .ends = 700,
    .shared_wait = 33,
    .phase_instructions = 47,
    .issue = 0.9,
    .lone_warp = 0.25,
    .product_lone_warp = 0.25,
    .shared_passes = 1,
    .pipe_efficiency = 0.88,
    .sharpness = 4,
    .device_sharpness = 4,
    .overlap_blocks = 2,
    .next_kernel = 3000,
    .workspace_passes = 2.4,
};
static const habits streams = {
    /* simt */
    .start = 157,
    .ends = 122,
    .fetch_cycles = 0.283,
    .wait = 787,
    .shared_wait = 6.69,
    .request_wait = 23.2,
    .phase_instructions = 26.3,
    .copy_instructions = 2.3,
    .issue = 0.987,
    .lone_warp = 0.161,
    .product_lone_warp = 0.308,
    .barrier_loss = 0.279,
    .fetch_loss = 0.454,
    .shared_passes = 1.73,
    .pipe_efficiency = 0.846,
    .sharpness = 1.24,
    .device_sharpness = 10.2,
    .overlap_blocks = 2,
    .next_kernel = 2860,
    .workspace_passes = 4.28,
};
static const habits dots = {
    /* skinny */
    .start = 193,
    .ends = 292,
    .fetch_cycles = 3.69,
    .wait = 804,
    .shared_wait = 23,
    .request_wait = 25,
    .phase_instructions = 22.1,
    .copy_instructions = 4.92,
    .issue = 0.855,
    .lone_warp = 0.375,
    .product_lone_warp = 0.25,
    .barrier_loss = 0.149,
    .fetch_loss = 0.25,
    .shared_passes = 0.415,
    .pipe_efficiency = 0.658,
    .sharpness = 1.42,
    .device_sharpness = 4.13,
    .overlap_blocks = 0.752,
    .next_kernel = 2940,
    .workspace_passes = 3.92,
};
/*
 * strip: values that lanes share cost little; copies in small pieces, besides the accumulators, leave some of the bandwidth
 * unused.
 */
static const habits strips = {
    .start = 157,
    .ends = 656,
    .fetch_cycles = 2.11,
    .wait = 804,
    .shared_wait = 20.8,
    .request_wait = 17.5,
    .phase_instructions = 36.8,
    .copy_instructions = 10.1,
    .issue = 1,
    .lone_warp = 0.36,
    .product_lone_warp = 0.25,
    .barrier_loss = 0.186,
    .fetch_loss = 0.25,
    .shared_passes = 0.627,
    .pipe_efficiency = 0.975,
    .sharpness = 0.514,
    .device_sharpness = 2.53,
    .overlap_blocks = 1.88,
    .next_kernel = 1570,
    .workspace_passes = 3.8,
};
/* strip with boxes from the copy engine: warps wait little, but few warps do not saturate the pipe of the products. */
static const habits boxes = {
    .start = 157,
    .ends = 687,
    .fetch_cycles = 0.29,
    .wait = 1060,
    .shared_wait = 23,
    .request_wait = 9.19,
    .phase_instructions = 14.7,
    .issue = 1,
    .lone_warp = 0.395,
    .product_lone_warp = 0.574,
    .barrier_loss = 0.213,
    .fetch_loss = 0.25,
    .shared_passes = 0.651,
    .pipe_efficiency = 0.86,
    .sharpness = 0.739,
    .device_sharpness = 8.06,
    .overlap_blocks = 3.17,
    .next_kernel = 4870,
    .workspace_passes = 3.6,
};
/* mma: a product of tensor cores is one instruction for all its multiply-adds, which every instruction cache holds. */
static const habits tensor = {
    .start = 452,
    .ends = 214,
    .warp_start = 20.2,
    .wait = 716,
    .gather_wait = 990,
    .half_drain = 185,
    .shared_wait = 10.5,
    .phase_cycles = 24.6,
    .fetch_cycles = 0.824,
    .phase_instructions = 0.931,
    .step_instructions = 1.93,
    .copy_instructions = 1.66,
    .issue = 0.397,
    .lone_warp = 0.454,
    .product_lone_warp = 0.119,
    .product_latency = 7.95,
    .barrier_loss = 0.104,
    .shared_passes = 1.36,
    .pipe_efficiency = 0.986,
    .pipe_sharpness = 3.38,
    .sharpness = 1.07,
    .device_sharpness = 19.8,
    .shared_sector = 0.139,
    .narrow_passes = 5.03,
    .overlap_blocks = 2,
    .next_kernel = 2660,
    .workspace_passes = 4.2,
};

/*
 * mma in f64: a product occupies the pipe for 32 cycles, so few warps saturate it. Fitted to 39 shapes on an H100
 * (trials_h100_f64.txt) and, with less weight, the 30 of trials_h200_mma.txt.
 */
static const habits tensor_f64 = {
    .start = 153,
    .ends = 700,
    .wait = 1340,
    .shared_wait = 74,
    .fetch_cycles = 0.4,
    .phase_cycles = 5.9,
    .phase_instructions = 1,
    .step_instructions = 3.5,
    .copy_instructions = 2.2,
    .issue = 1,
    .lone_warp = 0.21,
    .product_lone_warp = 0.205,
    .barrier_loss = 0.057,
    .shared_passes = 0.69,
    .pipe_efficiency = 1,
    .pipe_sharpness = 3.7,
    .sharpness = 1.12,
    .device_sharpness = 6.6,
    .overlap_blocks = 1.1,
    .next_kernel = 1570,
    .workspace_passes = 2.75,
};

/* wgmma: fitted with mma (docs/analysis.md). */
static const habits walks = {
    .wait = 2100,
    .sharpness = 6.35,
    .device_sharpness = 1.68,
    .overlap_blocks = 0.984,
    .next_kernel = 3080,
    .workspace_passes = 22.2,
    .walk_wait = 1500,
    .walk_start = 1200,
    .walk_rate = 0.892,
    .walk_heat = 0.18,
    .walk_warm = 19000,
    .walk_add = 200,
    .walk_store = 102,
    .walk_round = 0.37,
    .walk_finish = 1.5,
    .walk_alone = 1.8,
    .walk_hidden = 7,
    .walk_lanes = 3,
    .walk_line = 2.42,
    .walk_packed = 1.42,
    .walk_flight = 18e6,
    .walk_crowd = 0.1,
    .walk_turn = 1380,
    .walk_squares = 1.96,
};

static const habits *habits_of(const tj_counts *c)
{
    if (c->mma > 0 && c->pipe == TJ_PIPE_TENSOR_F64)
        return &tensor_f64;
    return c->walkers > 0    ? &walks
           : c->mma > 0      ? &tensor
           : c->bringers > 0 ? &boxes
           : c->warps_alone  ? &strips
           : c->streams > 1  ? &dots
           : c->streams      ? &streams
                             : &plain;
}

static double soft_maximum(double a, double b, double sharpness)
{
    const double high = fmax(a, b), low = fmin(a, b);

    return high > 0 ? high * pow(1 + pow(low / high, sharpness), 1 / sharpness) : 0;
}

/*
 * The cycles of one block: in each pipe of its multiprocessor, in the longest of them, in all of them together if it is alone,
 * and in latencies, which other blocks hide.
 */
typedef struct block_cycles {
    double pipe[TJ_PIPE_L2];
    double longest, alone, latency, sharpness;
    double fetch; /* of the first blocks only */
} block_cycles;

static double sum(const tj_traffic *const *traffic, size_t count, bool is_merged)
{
    double total = 0;

    for (size_t i = 0; i < count; i++)
        total += (double)(is_merged ? traffic[i]->merged : traffic[i]->requests);
    return total;
}

/* Does mma.sync multiply 8-bit floats as halves? */
static bool is_halves(const tj_device_facts *facts, const tj_counts *c)
{
    const tj_architecture *architecture = tj_architecture_of(facts);

    return c->halves > 0 && architecture && architecture->halves;
}

/* Return the warps of a block without those that only copy tiles. */
static double warps_of(const tj_counts *c)
{
    return ceil(c->threads_per_block / 32.0) - c->bringers;
}

/* Return the latencies of a block that nothing hides. */
static double latency_of(const tj_device_facts *facts, const tj_counts *c, double step_issue)
{
    const habits *h = habits_of(c);
    const double from_memory = facts->l2_bytes > 0 ? MEMORY_WAIT_CYCLES : COLD_WAIT_CYCLES;
    const double wait = h->wait > 0 ? h->wait : c->work[TJ_PIPE_MEMORY] > facts->l2_bytes ? from_memory : WAIT_CYCLES;
    const double first_wait = c->gathered > 0 && c->ahead == 0 ? fmax(wait, h->gather_wait) : wait;
    const double chain = (double)c->chain, phases = (double)c->phases;
    const double warps = (double)c->blocks * warps_of(c);
    const double requests = (double)c->shared_load.requests / fmax(1, warps * chain);
    const double drain = is_halves(facts, c) ? h->half_drain : 0;
    const double shared_wait = h->shared_wait + h->request_wait * fmax(0, requests - 2);
    double cycles = h->ends + phases * (h->phase_cycles + drain) + (double)c->waits * first_wait +
                    (double)c->barriers / (double)c->blocks * BARRIER_CYCLES + c->exchanged * EXCHANGE_CYCLES;

    if (c->ahead == 0)
        return cycles + chain * STEP_CYCLES;
    /* Loads of later phases, and of the next step, are in flight while this step is multiplied. */
    cycles += chain * fmax(0, shared_wait - step_issue);
    if (c->async_bytes == 0)
        cycles += phases * STORE_CYCLES;
    return cycles +
           fmax(0, phases - c->ahead) * fmax(0, wait / c->ahead - chain / fmax(1, phases) * fmax(shared_wait, step_issue));
}

/*
 * A phase is long straight-line code. The part beyond the instruction cache is fetched again in every phase. If copies are
 * spread over the phase, fetching overlaps twice the code.
 */
static double fetch_slowdown(const tj_counts *c)
{
    const double text = (double)c->chain / fmax(1, (double)c->phases) * c->chain_fma;
    const double held = c->pieces > 0 ? 2 * FETCH_FREE : FETCH_FREE;

    return text > held ? 1 + habits_of(c)->fetch_loss * (1 - held / text) : 1;
}

/* A single warp cannot issue in every cycle; several take turns. */
static double taking_turns(double warps, double lone_warp)
{
    const double turns = fmax(1, warps / TJ_SCHEDULERS);

    return turns / (turns + lone_warp);
}

/* Return the work per cycle of a multiprocessor's product pipe. mma.sync does not reach the full rate of the tensor cores. */
static double product_rate(const tj_device_facts *facts, const tj_counts *c, const tj_peaks *peaks)
{
    const tj_architecture *architecture = tj_architecture_of(facts);
    const double share = c->mma > 0 && c->pipe != TJ_PIPE_TENSOR_F64 && architecture ? architecture->mma_sync : 1;
    const int32_t pipe = is_halves(facts, c) ? TJ_PIPE_TENSOR_F16 : c->pipe;

    return share * peaks->per_s[pipe] / (facts->sm_count * peaks->clock_hz);
}

static block_cycles of_block(const tj_device_facts *facts, const tj_counts *c, const tj_peaks *peaks, double resident)
{
    const habits *h = habits_of(c);
    const tj_traffic *const global[] = {&c->load_m, &c->load_n, c->splits > 1 ? &c->store_w : &c->store_p, &c->load_c};
    const size_t globals = c->splits > 1 ? 3 : 4; /* with splits, the second kernel reads C */
    const tj_traffic *const shared[] = {&c->shared_load, &c->shared_store};
    const double blocks = (double)c->blocks, warps = warps_of(c), chain = (double)c->chain;
    const double spilled = SPILL_REQUESTS * c->spilled * warps * chain;
    const double copies = h->copy_instructions * sum(global, 2, false);
    const double halves = is_halves(facts, c) ? (double)c->halves : 0;
    /* For each thread: lanes of a partial warp count too. */
    const double lanes = (warps + c->bringers) * 32 / c->threads_per_block;
    /* Tensor cores do many multiply-adds per instruction. */
    const int64_t fma = (c->work[TJ_PIPE_F32] + c->work[TJ_PIPE_F64]) / 2 + c->work[TJ_PIPE_F16] / 4; /* packed: two at once */
    const double instructions = lanes * (double)(fma + c->sums) / 32 / blocks +
                                ((double)(c->mma + c->conversions) + halves) / blocks +
                                (sum(global, globals, false) + copies + sum(shared, 2, false)) / blocks + spilled +
                                (h->phase_instructions + PIECE_INSTRUCTIONS * c->pieces) * warps * (double)c->phases +
                                h->step_instructions * warps * chain;
    const double passes = h->shared_passes * (double)c->shared_load.merged + (double)c->shared_store.merged;
    const double clocks = facts->sm_count * peaks->clock_hz; /* of all multiprocessors, per second */
    /* Cycles of a step's multiply-adds for one warp, and for the warps of the busiest scheduler. */
    const double step_products = c->chain_fma * 2 * 32 * TJ_SCHEDULERS / product_rate(facts, c, peaks);
    const double step_issue = step_products * ceil(warps / TJ_SCHEDULERS);
    const double product_lone_warp = h->product_lone_warp + h->product_latency / step_products;
    const double in_step = c->pieces == 0 ? 1 - h->barrier_loss / resident : 1;
    const double slots = h->issue / fetch_slowdown(c) * in_step;
    const double efficiency = slots * taking_turns(warps * resident, h->lone_warp);
    const double of_products = slots * taking_turns(warps * resident, product_lone_warp);
    block_cycles one = {.latency = latency_of(facts, c, step_issue), .sharpness = h->sharpness};

    for (int p = 0; p < TJ_PIPE_ISSUE; p++)
        if (c->work[p] > 0)
            one.pipe[p] = lanes * (double)c->work[p] / blocks /
                          (p == c->pipe ? product_rate(facts, c, peaks) * of_products : peaks->per_s[p] / clocks * efficiency);
    one.pipe[TJ_PIPE_ISSUE] = instructions / fmin(TJ_SCHEDULERS, warps * resident) / efficiency;
    one.pipe[TJ_PIPE_SHARED] = (passes + (double)c->work[TJ_PIPE_SHARED]) / blocks / h->pipe_efficiency;
    one.pipe[TJ_PIPE_L1] =
        ((sum(global, globals, true) + h->narrow_passes * (double)c->narrow) / blocks + spilled) / h->pipe_efficiency;
    one.pipe[TJ_PIPE_START] = h->start + h->warp_start * warps;
    one.fetch = h->fetch_cycles * instructions / warps / fmax(1, (double)c->phases);
    one.longest = one.pipe[TJ_PIPE_SHARED] + one.pipe[TJ_PIPE_L1]; /* they share the pipe */
    if (h->pipe_sharpness > 0)
        one.longest = soft_maximum(one.longest, one.pipe[c->pipe], h->pipe_sharpness);
    for (int p = 0; p < TJ_PIPE_SHARED; p++)
        one.longest = fmax(one.longest, one.pipe[p]);
    one.alone = fmax(one.longest, chain * step_issue / h->issue / taking_turns(warps, product_lone_warp));
    return one;
}

/*
 * Return the cycles of a multiprocessor with `resident` blocks. While one block waits, or leaves schedulers idle with few
 * warps, others work.
 */
static double cycles_of(const block_cycles *one, double resident)
{
    return one->longest + soft_maximum((resident - 1) * fmax(one->longest, one->pipe[TJ_PIPE_START]),
                                       one->latency + one->alone - one->longest, one->sharpness);
}

/*
 * Persistent blocks walk the tiles. The copies of one tile directly follow those of the tile before, so a block waits for
 * memory once, and then as long as its pipeline's stages do not cover. Storing adds to that, unless another part of the block
 * multiplies meanwhile, which also hides a short expression.
 */
static double walk_cycles(const tj_device_facts *facts, const tj_counts *c, const tj_peaks *peaks, double resident,
                          block_cycles *one)
{
    const habits *h = &walks;
    const double tiles = (double)c->blocks, phases = (double)c->phases, sms = facts->sm_count;
    const double blocks = fmin(tiles, sms * fmin(resident, c->walkers)), here = ceil(blocks / sms),
                 turns = ceil(tiles / blocks);
    const double laid = (double)(c->shared_load.wavefronts + c->shared_store.wavefronts) / tiles;
    const double cool = (double)c->work[c->pipe] / tiles / product_rate(facts, c, peaks) / h->walk_rate;
    const double products = cool * (1 + h->walk_heat * turns * cool / (turns * cool + h->walk_warm));
    const double transposed = 8 * (double)c->transposed / tiles; /* wavefronts: four of a load, and four of a store */
    const double shared = (double)c->work[TJ_PIPE_SHARED] / tiles + laid + (h->walk_squares - 1) * transposed;
    const bool is_packed = c->pack.load.elements > 0;
    const double line = is_packed ? h->walk_line * h->walk_packed : h->walk_line;
    const double lines = line * (double)(c->load_m.merged + c->load_n.merged) / tiles;
    const double wait = (is_packed ? h->walk_wait : h->wait) + (c->transposed > 0 ? h->walk_turn : 0);
    const double made = products + phases * (h->phase_cycles + (c->sums > 0 ? h->walk_add : 0));
    const double in_turn = fmax(made, phases * wait / fmax(1, c->ahead));
    const double most = here * fmax(fmax(made, shared), lines);
    const double flight = c->ahead > 5 ? blocks * c->ahead * (double)c->phase.loads * c->element_bytes : 0;
    const double crowd = 1 + h->walk_crowd * fmax(0, flight / h->walk_flight - 1);
    const double tile = soft_maximum(most, in_turn, h->sharpness) * crowd;
    /*
     * The epilogue's expression: the few warps of one part of a block leave half of the lanes unused; those of one warpgroup
     * leave more.
     */
    const double elements = (double)c->block_rows * c->block_cols, lanes = 32 * TJ_SCHEDULERS;
    const double operations = (double)c->finish / tiles;
    const double finish = h->walk_finish * here * (h->walk_round * elements + operations) / lanes;
    const double alone = h->walk_alone * here * (operations - h->walk_hidden * elements) / lanes;
    /* Lanes load accumulators from shared memory and store them, unless the copy engine stores P. */
    const double taken = (double)(c->shared_load.requests - c->transposed);
    const double requests = taken + (double)(c->splits > 1 ? c->store_w : c->store_p).requests;
    /* Warpgroups that share a tile's lines, without the one that copies tiles. */
    const double storing = c->alternates ? 1 : fmax(1, c->threads_per_block / 128.0 - 1);
    const double stored = taken > 0 ? h->walk_lanes * here * requests / tiles / storing : 0;
    const double last = h->walk_store + finish + stored;
    const double exposed = c->alternates ? fmax(0, fmax(alone, 2 * finish + stored - tile)) : last;

    memset(one, 0, sizeof *one);
    one->pipe[c->pipe] = here * products;
    one->pipe[TJ_PIPE_SHARED] = here * shared;
    one->pipe[TJ_PIPE_L1] = here * lines;
    one->latency = h->walk_start + h->walk_store;
    return h->walk_start + turns * tile + (turns - 1) * exposed + last; /* nothing is left to multiply after the last tile */
}

/*
 * The cycles of the kernel that packs operands: from memory to the L2, through the L1 element by element and, if it transposes,
 * through shared memory, which is the same pipe; and the launches of other kernels that move little.
 */
static double pack_cycles(const tj_device_facts *facts, const tj_counts *c, const tj_peaks *peaks)
{
    const int64_t shared = c->pack.shared_load.wavefronts + c->pack.shared_store.wavefronts;
    const double blocks = c->pack.blocks > 0 ? (double)c->pack.blocks : facts->sm_count;
    const double fullest = ceil(blocks / facts->sm_count) / blocks; /* the share of the busiest multiprocessor */
    const double through_l1 = fullest * (double)(c->pack.load.merged + c->pack.store.merged + shared) / streams.pipe_efficiency;
    const double moved = (double)(c->pack.load.bytes + c->pack.store.bytes) / (peaks->per_s[TJ_PIPE_MEMORY] / peaks->clock_hz);

    const double products = (double)c->blocks / (double)(c->row_blocks * c->col_blocks * c->splits);
    const double starts =
        fmax(1, c->pack.kernels) * PACK_CYCLES + (shared > 0) * TURN_CYCLES + (products - 1) * PACK_NEXT_CYCLES;
    /* For a transposed tile, 128 bytes square, a thread loads four chunks if an element has one byte, and waits for each. */
    const double waits = shared > 0 ? fmax(1, 4.0 / c->element_bytes) : 1;

    return c->pack.load.elements > 0 ? starts + waits * streams.wait + fmax(through_l1, moved) : 0;
}

/* The cycles of the second kernel of split k: it begins when the first has ended, and reads results from the L2. */
static double reduce_cycles(const tj_device_facts *facts, const tj_counts *c, const tj_peaks *peaks)
{
    const double blocks = (double)c->reduce.blocks;
    const habits *h = habits_of(c);
    const double moved = h->workspace_passes * (double)c->load_w.bytes + (double)(c->load_c.bytes + c->store_p.bytes);

    if (c->splits <= 1)
        return 0;
    return h->next_kernel + plain.ends + WAIT_CYCLES + ceil(blocks / facts->sm_count) * plain.start +
           moved / (peaks->per_s[TJ_PIPE_L2] / peaks->clock_hz);
}

/*
 * Return the share of the shorter of computing and moving that the longer does not hide: only other blocks hide a block's first
 * phase and last store. The share is small for blocks of many phases, and for multiprocessors with many blocks. Waves of blocks
 * overlap only if a multiprocessor holds more than two.
 */
static double exposed_share(const tj_device_facts *facts, const tj_counts *c, double resident)
{
    const double blocks = fmin(resident, ceil((double)c->blocks / facts->sm_count));
    const habits *h = habits_of(c);
    const bool runs_on = h == &streams || h == &dots || h == &strips || h == &boxes;
    const double waves = runs_on && blocks > 2 ? (double)c->blocks / (facts->sm_count * blocks) : 1;

    return fmin(1, h->overlap_blocks / blocks) / fmax(1, (double)c->phases) / fmax(1, waves);
}

static double sectors_of_line(const tj_traffic *loads)
{
    return loads->bytes > 0 ? L2_LINE * (double)loads->sectors / (double)loads->bytes : 0;
}

/*
 * All blocks of a row of tiles load the same lines of M in the same phase, all of a column the same lines of N, and an L2 line
 * serves one request after the other. If a phase has few lines, as with an N of few columns, this bounds the device.
 */
static double shared_sectors(const tj_counts *c)
{
    return (double)c->phases *
           fmax((double)c->row_blocks * sectors_of_line(&c->load_n), (double)c->col_blocks * sectors_of_line(&c->load_m));
}

static const char *longest(const double *term_us)
{
    int32_t most = 0;

    for (int32_t t = 1; t < TJ_TERM_LAUNCH; t++)
        if (term_us[t] > term_us[most])
            most = t;
    return tj_term_at(most)->name;
}

tj_prediction tj_predict(const tj_device_facts *facts, const tj_counts *counts, const tj_occupancy *occupancy,
                         const tj_peaks *peaks)
{
    if (!facts || !counts || !occupancy || !peaks)
        return (tj_prediction){0};
    const double per_us = peaks->clock_hz / 1e6, resident = occupancy->blocks_per_sm;
    tj_prediction p;
    double *const us = p.term_us;
    block_cycles one;
    double full_waves, last, turns, busy, device, l2_bytes;

    memset(&p, 0, sizeof p);
    p.bound = "?";
    if (counts->blocks < 1 || resident < 1 || per_us <= 0 || peaks->per_s[TJ_PIPE_MEMORY] <= 0 || facts->sm_count < 1)
        return p;
    if (peaks->per_s[counts->pipe] <= 0) {
        p.us = us[counts->pipe] = INFINITY;
        p.bound = longest(us);
        return p;
    }
    /* Full waves overlap; the remaining blocks spread over the multiprocessors, of which the fullest decides. */
    full_waves = floor((double)counts->blocks / (double)occupancy->blocks_per_wave);
    last = ceil(((double)counts->blocks - full_waves * (double)occupancy->blocks_per_wave) / facts->sm_count);
    turns = full_waves * resident + last;
    if (counts->walkers > 0) {
        turns = ceil((double)counts->blocks / fmin((double)counts->blocks, facts->sm_count * fmin(resident, counts->walkers)));
        busy = walk_cycles(facts, counts, peaks, resident, &one);
    } else {
        one = of_block(facts, counts, peaks, full_waves > 0 ? resident : last);
        busy = one.fetch + full_waves * cycles_of(&one, resident) + (last > 0 ? cycles_of(&one, last) : 0);
    }
    for (int pipe = 0; pipe < TJ_PIPE_L2; pipe++)
        us[pipe] = turns * one.pipe[pipe] / per_us;
    /*
     * The copy engine loads whole lines, which is faster than other loads, and the rate of each multiprocessor bounds it
     * already.
     */
    l2_bytes = (counts->walkers > 0 ? 0 : (double)(counts->work[TJ_PIPE_L2] - counts->store_p.bytes)) +
               fmax(SECTOR_STORE * (double)counts->store_p.sectors, (double)counts->store_p.bytes);
    us[TJ_PIPE_L2] = l2_bytes / (peaks->per_s[TJ_PIPE_L2] / peaks->clock_hz) / per_us;
    us[TJ_PIPE_MEMORY] = (double)counts->work[TJ_PIPE_MEMORY] / peaks->per_s[TJ_PIPE_MEMORY] /
                         (peaks->is_measured ? 1 : MEMORY_EFFICIENCY) * 1e6;
    us[TJ_TERM_LATENCY] = (full_waves + (last > 0)) * one.latency / per_us;
    us[TJ_TERM_PACK] = pack_cycles(facts, counts, peaks) / per_us;
    us[TJ_TERM_REDUCE] = reduce_cycles(facts, counts, peaks) / per_us;
    us[TJ_TERM_LAUNCH] = LAUNCH_US;
    device = soft_maximum(us[TJ_PIPE_L2], us[TJ_PIPE_MEMORY], SHARPNESS) +
             habits_of(counts)->shared_sector * shared_sectors(counts) / per_us;
    p.us = LAUNCH_US + soft_maximum(busy / per_us, device, habits_of(counts)->device_sharpness) +
           exposed_share(facts, counts, resident) * fmin(busy / per_us, device) + us[TJ_TERM_PACK] + us[TJ_TERM_REDUCE];
    p.flop_per_s = (double)counts->flop / p.us * 1e6;
    p.bound = longest(us);
    return p;
}
