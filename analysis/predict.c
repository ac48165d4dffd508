/* SPDX-License-Identifier: Apache-2.0 */
/*
 * predict: from counts to a time.
 *
 * A multiprocessor works its blocks off through pipes that each take so many cycles per block: multiply-adds, issuing
 * instructions, shared memory and L1 (one and the same pipe), starting a block. Beside them stands what one block waits for, one
 * thing after the other, which more resident blocks hide. The device as a whole is bounded by its L2 and its memory.
 * docs/analysis.md has the formulas and where the constants come from.
 */
#include <tilejit/analysis.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Cycles, fitted to times of an H200 and rounded: naive and tiled (times_h200.txt), operands in the L2 as far as they fit it. */
static const double START_CYCLES = 157;        /* a multiprocessor takes a new block this often at most */
static const double BLOCK_CYCLES = 700;        /* from a block's start to its first load, and from its last store to its end */
static const double WAIT_CYCLES = 215;         /* global memory, from the L2 */
static const double MEMORY_WAIT_CYCLES = 600;  /* from memory itself, where the matrices do not fit the L2 */
static const double STEP_CYCLES = 4;           /* a multiply-add that waits for the one before */
static const double BARRIER_CYCLES = 17;       /* and its part of the way through shared memory */
static const double SHARED_WAIT_CYCLES = 33;   /* from a load of shared memory to its use */
static const double ISSUE_EFFICIENCY = 0.9;    /* of a scheduler with many warps */
static const double NEXT_KERNEL_CYCLES = 3000; /* from a kernel's end to the next one's start in a stream */
static const double LONE_WARP = 0.25;          /* of a turn that a scheduler with one warp loses */
static const double PHASE_INSTRUCTIONS = 47;   /* of a warp: addresses, copies' groups, the loop */
static const double PIPE_EFFICIENCY = 0.88;    /* of the one pipe for shared memory and L1 */
static const double L2_BYTES_PER_CYCLE = 40;   /* for each multiprocessor */
static const double OVERLAP_WARPS = 2;         /* of a scheduler, below which nothing of one block hides behind another */
static const double SCHEDULERS = 4;
static const double LAUNCH_US = 2.6;
static const double SHARPNESS = 4; /* of the maximum of what overlaps: 1 adds, infinity takes the larger */

/* Of simt and skinny: fitted to trials of tuners (trials_h200*.txt), whose operands come from memory. */
static const double STREAM_WAIT_CYCLES = 830; /* from memory, while all multiprocessors ask it */
static const double BARRIER_LOSS = 0.18; /* of the issue slots, if the only block of a multiprocessor waits for its last warp */
static const double STORE_CYCLES = 500;  /* a phase's tiles, from registers to shared memory; all wait for the last */
static const double EXCHANGE_CYCLES = 11;    /* for each partial sum that goes from thread to thread */
static const double COPY_INSTRUCTIONS = 7.8; /* beside each load or copy of a phase: its address, its edge, its turn */
static const double PIECE_INSTRUCTIONS = 35; /* of a warp, for each piece of copies that are spread over a phase */
static const double SHARED_PASSES = 1.5;     /* of a merged wavefront, where a warp's lanes share what they read */
static const double SPILL_REQUESTS = 0.5;    /* for each spilled register in each step */
static const double FETCH_FREE = 1024;       /* multiply-adds of a phase whose unrolled text the instruction cache holds */
static const double FETCH_LOSS = 0.25;       /* of the issue slots, for a text far longer than that */
static const double STREAM_SHARPNESS = 1.19; /* blocks that copy ahead run in step, and wait together */
static const double WORKSPACE_PASSES = 2.4;  /* adding splits up keeps the L2 as busy as so many readings of them */
static const double MEMORY_EFFICIENCY = 0.9; /* of the bandwidth that clock and bus give */

static double soft_maximum(double a, double b, double sharpness)
{
    const double high = fmax(a, b), low = fmin(a, b);

    return high > 0 ? high * pow(1 + pow(low / high, sharpness), 1 / sharpness) : 0;
}

/* What one block takes, in cycles: of each pipe, of all of them together if it is alone, and of latency, which others hide. */
typedef struct block_cycles {
    double arithmetic, issue, shared, l1, latency, alone, sharpness;
} block_cycles;

static double sum(const tj_traffic *const *traffic, size_t count, bool is_merged)
{
    double total = 0;

    for (size_t i = 0; i < count; i++)
        total += (double)(is_merged ? traffic[i]->merged : traffic[i]->requests);
    return total;
}

/* What a block waits for where nothing else is there to do. */
static double latency_of(const tj_device_facts *facts, const tj_counts *c, double step_issue)
{
    const double wait = c->streams ? STREAM_WAIT_CYCLES : c->least_bytes > facts->l2_bytes ? MEMORY_WAIT_CYCLES : WAIT_CYCLES;
    const double chain = (double)c->chain, phases = (double)c->phases;
    double cycles = BLOCK_CYCLES + (double)c->waits * wait + (double)c->barriers / (double)c->blocks * BARRIER_CYCLES;

    if (c->ahead == 0)
        return cycles + chain * STEP_CYCLES;
    /* Loads of phases to come, and of the next step, are on their way while this step is multiplied. */
    cycles += chain * fmax(0, SHARED_WAIT_CYCLES - step_issue) + c->exchanged * EXCHANGE_CYCLES;
    if (c->async_bytes == 0)
        cycles += phases * STORE_CYCLES;
    return cycles + fmax(0, phases - c->ahead) *
                        fmax(0, wait / c->ahead - chain / fmax(1, phases) * fmax(SHARED_WAIT_CYCLES, step_issue));
}

/*
 * A phase is one long text without a loop. What of it the instruction cache does not hold is fetched anew in every phase; where copies are
 * spread over the phase, the fetching finds room for twice as much.
 */
static double fetch_slowdown(const tj_counts *c)
{
    const double text = (double)c->chain / fmax(1, (double)c->phases) * c->chain_fma;
    const double held = c->pieces > 0 ? 2 * FETCH_FREE : FETCH_FREE;

    return c->streams && text > held ? 1 + FETCH_LOSS * (1 - held / text) : 1;
}

/* One warp alone cannot issue at every cycle; several take turns. Unrolled loops have something to issue at nearly every one. */
static double issue_efficiency(double warps, bool streams)
{
    const double turns = fmax(1, warps / SCHEDULERS);

    return (streams ? 1 : ISSUE_EFFICIENCY) * turns / (turns + LONE_WARP);
}

static block_cycles of_block(const tj_device_facts *facts, const tj_counts *c, const tj_peaks *peaks, double resident)
{
    const tj_traffic *const global[] = {&c->load_m, &c->load_n, c->splits > 1 ? &c->store_w : &c->store_p, &c->load_c};
    const size_t globals = c->splits > 1 ? 3 : 4; /* C is the second kernel's then */
    const tj_traffic *const shared[] = {&c->shared_load, &c->shared_store};
    const double blocks = (double)c->blocks, warps = ceil(c->threads_per_block / 32.0), chain = (double)c->chain;
    const double spilled = SPILL_REQUESTS * c->spilled * warps * chain;
    const double copies = c->streams ? COPY_INSTRUCTIONS * sum(global, 2, false) : 0;
    const double lanes = warps * 32 / c->threads_per_block; /* for each thread: those without one take their turn too */
    const double instructions = lanes * (double)(c->fma + c->sums) / 32 / blocks +
                                (sum(global, globals, false) + copies + sum(shared, 2, false)) / blocks + spilled +
                                (PHASE_INSTRUCTIONS + PIECE_INSTRUCTIONS * c->pieces) * warps * (double)c->phases;
    const double passes = (c->streams ? SHARED_PASSES : 1) * (double)c->shared_load.merged + (double)c->shared_store.merged;
    /* A step's multiply-adds of the warps on the busiest of the four schedulers. */
    const double step_issue = c->chain_fma * ceil(warps / SCHEDULERS) * 32 * SCHEDULERS / peaks->units_per_sm;
    const double in_step = c->streams && c->pieces == 0 ? 1 - BARRIER_LOSS / resident : 1;
    const double efficiency = issue_efficiency(warps * resident, c->streams) / fetch_slowdown(c) * in_step;
    block_cycles one = {
        .arithmetic = lanes * (double)c->fma / blocks / peaks->units_per_sm / efficiency,
        .issue = instructions / SCHEDULERS / efficiency,
        .shared = (passes + (double)c->async_wavefronts) / blocks / PIPE_EFFICIENCY,
        .l1 = (sum(global, globals, true) / blocks + spilled) / PIPE_EFFICIENCY,
        .latency = latency_of(facts, c, step_issue),
        .sharpness = c->streams ? STREAM_SHARPNESS : SHARPNESS,
    };

    one.alone = fmax(fmax(one.arithmetic, one.issue),
                     fmax(one.shared + one.l1, chain * step_issue / issue_efficiency(warps, c->streams)));
    return one;
}

/* Cycles of a multiprocessor that has so many blocks at once. While one waits, or its few warps leave schedulers idle, others work. */
static double cycles_of(const block_cycles *one, double resident)
{
    const double pipe = fmax(fmax(one->arithmetic, one->issue), one->shared + one->l1);

    return pipe + soft_maximum((resident - 1) * fmax(pipe, START_CYCLES), one->latency + one->alone - pipe, one->sharpness);
}

/* The second kernel of split k: it begins when the first has ended, and reads what that has left in the L2. */
static double reduce_cycles(const tj_device_facts *facts, const tj_counts *c)
{
    const double blocks = (double)c->reduce.blocks;
    const double moved = WORKSPACE_PASSES * (double)c->load_w.bytes + (double)(c->load_c.bytes + c->store_p.bytes);

    if (c->splits <= 1)
        return 0;
    return NEXT_KERNEL_CYCLES + BLOCK_CYCLES + WAIT_CYCLES + ceil(blocks / facts->sm_count) * START_CYCLES +
           moved / (L2_BYTES_PER_CYCLE * facts->sm_count);
}

/*
 * Of the shorter one of computing and moving, the share that does not hide behind the longer one: a block's first phase and its last
 * store hide only behind other blocks. So a block of many phases has little of it, a multiprocessor of many warps as well.
 */
static double exposed_share(const tj_device_facts *facts, const tj_counts *c, double resident)
{
    const double blocks = fmin(resident, ceil((double)c->blocks / facts->sm_count));
    const double warps = blocks * ceil(c->threads_per_block / 32.0);

    return fmin(1, OVERLAP_WARPS * SCHEDULERS / warps) / fmax(1, (double)c->phases);
}

static const char *longest(const tj_prediction *p)
{
    const struct {
        const char *name;
        double us;
    } term[] = {
        {"arithmetic", p->arithmetic_us},   {"issuing instructions", p->issue_us},
        {"shared memory", p->shared_us},    {"L1", p->l1_us},
        {"starting blocks", p->start_us},   {"L2", p->l2_us},
        {"memory", p->memory_us},           {"latency", p->latency_us},
        {"adding splits up", p->reduce_us},
    };
    size_t most = 0;

    for (size_t i = 1; i < sizeof term / sizeof term[0]; i++)
        if (term[i].us > term[most].us)
            most = i;
    return term[most].name;
}

tj_prediction tj_predict(const tj_device_facts *facts, const tj_counts *counts, const tj_occupancy *occupancy,
                         const tj_peaks *peaks)
{
    if (!facts || !counts || !occupancy || !peaks)
        return (tj_prediction){0};
    const double per_us = peaks->clock_hz / 1e6, resident = occupancy->blocks_per_sm;
    tj_prediction p;
    block_cycles one;
    double full_waves, last, busy, device;

    memset(&p, 0, sizeof p);
    p.bound = "?";
    if (counts->blocks < 1 || resident < 1 || per_us <= 0 || peaks->bytes_per_s <= 0 || facts->sm_count < 1)
        return p;
    /* Full waves run into one another; what is left spreads over the multiprocessors, and the fullest decides. */
    full_waves = floor((double)counts->blocks / (double)occupancy->blocks_per_wave);
    last = ceil(((double)counts->blocks - full_waves * (double)occupancy->blocks_per_wave) / facts->sm_count);
    one = of_block(facts, counts, peaks, full_waves > 0 ? resident : last);
    busy = full_waves * cycles_of(&one, resident) + (last > 0 ? cycles_of(&one, last) : 0);
    {
        const double turns = full_waves * resident + last, waves = full_waves + (last > 0);

        p.arithmetic_us = turns * one.arithmetic / per_us;
        p.issue_us = turns * one.issue / per_us;
        p.shared_us = turns * one.shared / per_us;
        p.l1_us = turns * one.l1 / per_us;
        p.start_us = turns * START_CYCLES / per_us;
        p.latency_us = waves * one.latency / per_us;
    }
    p.l2_us = (double)counts->l2_bytes / (L2_BYTES_PER_CYCLE * facts->sm_count) / per_us;
    p.memory_us = (double)counts->least_bytes / peaks->bytes_per_s / (peaks->is_measured ? 1 : MEMORY_EFFICIENCY) * 1e6;
    p.launch_us = LAUNCH_US;
    device = soft_maximum(p.l2_us, p.memory_us, SHARPNESS);
    p.reduce_us = reduce_cycles(facts, counts) / per_us;
    p.us = LAUNCH_US + soft_maximum(busy / per_us, device, SHARPNESS) +
           exposed_share(facts, counts, resident) * fmin(busy / per_us, device) + p.reduce_us;
    p.flop_per_s = (double)counts->flop / p.us * 1e6;
    p.bound = longest(&p);
    return p;
}
