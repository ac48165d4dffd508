/* SPDX-License-Identifier: Apache-2.0 */
/*
 * predict: from counts to a time.
 *
 * A multiprocessor executes its blocks through pipes, each of which takes a number of cycles per block: multiply-adds, issuing
 * instructions, shared memory and L1 (one and the same pipe), starting a block. In addition a block has latencies, one after
 * the other, which more resident blocks hide. L2 and memory bound the device as a whole. docs/analysis.md has the formulas and
 * the sources of the constants.
 */
#include "estimate.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "architectures.h"
#include "model.h"

static const double L2_LINE = 128; /* bytes */

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

    return c->halves > 0 && architecture &&
           (architecture->halves == TJ_HALVES_ALWAYS || (architecture->halves == TJ_HALVES_FOR_SUMS && !c->truncates));
}

/* Return the warps of a block without those that only copy tiles. */
static double warps_of(const tj_counts *c)
{
    return ceil(c->threads_per_block / 32.0) - c->producers;
}

/* Return the latencies of a block that nothing hides. */
static double latency_of(const tj_device_facts *facts, const tj_counts *c, double step_issue)
{
    const tj_model *model = c->model;
    const tj_model_block *own = &model->block;
    const tj_shared_model *common = model->shared;
    const double from_memory = facts->l2_bytes > 0 ? common->memory_wait : common->cold_wait;
    const double wait = model->wait > 0 ? model->wait : c->work[TJ_PIPE_MEMORY] > facts->l2_bytes ? from_memory : common->wait;
    const double first_wait = c->gathered > 0 && c->ahead == 0 ? fmax(wait, own->gather_wait) : wait;
    const double chain = (double)c->chain, phases = (double)c->phases;
    const double warps = (double)c->blocks * warps_of(c);
    const double requests = (double)c->shared_load.requests / fmax(1, warps * chain);
    const double drain = is_halves(facts, c) ? own->half_drain : 0;
    const double shared_wait = own->shared_wait + own->request_wait * fmax(0, requests - 2);
    double cycles = own->ends + phases * (own->phase_cycles + drain) + (double)c->waits * first_wait +
                    (double)c->barriers / (double)c->blocks * common->barrier + c->exchanged * common->exchange;

    if (c->ahead == 0)
        return cycles + chain * common->step;
    /* Loads of later phases, and of the next step, are in flight while this step is multiplied. */
    cycles += chain * fmax(0, shared_wait - step_issue);
    if (c->async_bytes == 0)
        cycles += phases * common->store;
    return cycles +
           fmax(0, phases - c->ahead) * fmax(0, wait / c->ahead - chain / fmax(1, phases) * fmax(shared_wait, step_issue));
}

/*
 * A phase is long straight-line code. The part beyond the instruction cache is fetched again in every phase. If copies are
 * spread over the phase, fetching overlaps twice the code. For complex numbers the limit counts elements instead, however copies
 * are spread: in c64 an H200 reaches 0.7 of its peak with 1024 to 4096 multiply-adds in a phase, and 0.45 with 8192.
 */
static double fetch_slowdown(const tj_counts *c)
{
    const double fetch_free = c->model->shared->fetch_free;
    const double text = (double)c->chain / fmax(1, (double)c->phases) * c->chain_fma;
    const double held = fetch_free * (c->element_fma > 1 ? c->element_fma : c->pieces > 0 ? 2 : 1);

    return text > held ? 1 + c->model->block.fetch_loss * (1 - held / text) : 1;
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
    const tj_model_block *own = &c->model->block;
    const tj_shared_model *common = c->model->shared;
    const tj_traffic *const global[] = {&c->load_m, &c->load_n, c->splits > 1 ? &c->store_w : &c->store_p, &c->load_c};
    const size_t globals = c->splits > 1 ? 3 : 4; /* with splits, the second kernel reads C */
    const tj_traffic *const shared[] = {&c->shared_load, &c->shared_store};
    const double blocks = (double)c->blocks, warps = warps_of(c), chain = (double)c->chain;
    const double spilled = common->spill_requests * c->spilled * warps * chain;
    const double copies = own->copy_instructions * sum(global, 2, false);
    const double halves = is_halves(facts, c) ? (double)c->halves : 0;
    /* For each thread: lanes of a partial warp count too. */
    const double lanes = (warps + c->producers) * 32 / c->threads_per_block;
    /* Tensor cores do many multiply-adds per instruction. */
    const int64_t fma = (c->work[TJ_PIPE_F32] + c->work[TJ_PIPE_F64]) / 2 + c->work[TJ_PIPE_F16] / 4; /* packed: two at once */
    const double instructions = lanes * (double)(fma + c->sums) / 32 / blocks +
                                ((double)(c->mma + c->conversions) + halves) / blocks +
                                (sum(global, globals, false) + copies + sum(shared, 2, false)) / blocks + spilled +
                                (own->phase_instructions + common->piece_instructions * c->pieces) * warps * (double)c->phases +
                                own->step_instructions * warps * chain;
    const double passes = own->shared_passes * (double)c->shared_load.merged + (double)c->shared_store.merged;
    const double clocks = facts->sm_count * peaks->clock_hz; /* of all multiprocessors, per second */
    /* Cycles of a step's multiply-adds for one warp, and for the warps of the busiest scheduler. */
    const double step_products = c->chain_fma * 2 * 32 * TJ_SCHEDULERS / product_rate(facts, c, peaks);
    const double step_issue = step_products * ceil(warps / TJ_SCHEDULERS);
    const double product_lone_warp = own->product_lone_warp + own->product_latency / step_products;
    /*
     * Spread copies let warps drift apart; complex numbers, whose phases are long, lose in the FP32 cores even so. Tensor cores make
     * four products of each of their fragments between two barriers.
     */
    const double shared_by = resident * (c->mma > 0 ? fmax(1, c->element_fma) : 1);
    const double in_step = c->pieces == 0 || c->element_fma > 1 ? 1 - own->barrier_loss / shared_by : 1;
    const double slots = own->issue / fetch_slowdown(c) * in_step;
    const double efficiency = slots * taking_turns(warps * resident, own->lone_warp);
    const double of_products = slots * taking_turns(warps * resident, product_lone_warp);
    block_cycles one = {.latency = latency_of(facts, c, step_issue), .sharpness = c->model->sharpness};

    for (int p = 0; p < TJ_PIPE_ISSUE; p++)
        if (c->work[p] > 0)
            one.pipe[p] = lanes * (double)c->work[p] / blocks /
                          (p == c->pipe ? product_rate(facts, c, peaks) * of_products : peaks->per_s[p] / clocks * efficiency);
    one.pipe[TJ_PIPE_ISSUE] = instructions / fmin(TJ_SCHEDULERS, warps * resident) / efficiency;
    one.pipe[TJ_PIPE_SHARED] = (passes + (double)c->work[TJ_PIPE_SHARED]) / blocks / own->pipe_efficiency;
    one.pipe[TJ_PIPE_L1] =
        ((sum(global, globals, true) + own->narrow_passes * (double)c->narrow) / blocks + spilled) / own->pipe_efficiency;
    one.pipe[TJ_PIPE_START] = own->start + own->warp_start * warps;
    one.fetch = own->fetch_cycles * instructions / warps / fmax(1, (double)c->phases);
    one.longest = one.pipe[TJ_PIPE_SHARED] + one.pipe[TJ_PIPE_L1]; /* they share the pipe */
    if (own->pipe_sharpness > 0)
        one.longest = soft_maximum(one.longest, one.pipe[c->pipe], own->pipe_sharpness);
    for (int p = 0; p < TJ_PIPE_SHARED; p++)
        one.longest = fmax(one.longest, one.pipe[p]);
    one.alone = fmax(one.longest, chain * step_issue / own->issue / taking_turns(warps, product_lone_warp));
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
    const tj_model *model = c->model;
    const tj_model_walk *walk = &model->walk;
    const double tiles = (double)c->blocks, phases = (double)c->phases, sms = facts->sm_count;
    const double blocks = fmin(tiles, sms * fmin(resident, c->walkers)), here = ceil(blocks / sms),
                 turns = ceil(tiles / blocks);
    const double elements = (double)c->block_rows * c->block_cols;
    const double laid = (double)(c->shared_load.wavefronts + c->shared_store.wavefronts) / tiles;
    const double cool = (double)c->work[c->pipe] / tiles / product_rate(facts, c, peaks) / walk->rate;
    const double products = cool * (1 + walk->throttle * turns * cool / (turns * cool + walk->throttle_cycles));
    const double transposed = 8 * (double)c->transposed / tiles; /* wavefronts: four of a load, and four of a store */
    const double shared = (double)c->work[TJ_PIPE_SHARED] / tiles + laid + (walk->transpose_passes - 1) * transposed;
    const bool is_packed = c->pack.load.elements > 0;
    const double line = is_packed ? walk->line * walk->packed_line : walk->line;
    const double lines = line * (double)(c->load_m.merged + c->load_n.merged) / tiles;
    const double wait = (is_packed ? walk->packed_wait : model->wait) + (c->transposed > 0 ? walk->transpose_wait : 0);
    /* A warpgroup that makes factors of weights, and adds up parts of k, waits for its products; others multiply meanwhile. */
    const double groups = fmax(1, c->threads_per_block / 128.0 - 1);
    const double widened = is_packed ? 0 : walk->widen * (double)c->conversions / (4 * groups) / tiles;
    const double parts = c->work[TJ_PIPE_F32] > 0 && widened > 0 ? (double)c->work[TJ_PIPE_F32] / 2 / elements / tiles : 0;
    /* Those of weights say how often they are added up: in each phase, or once for each block or slice that shares k. */
    const double sums = widened > 0 ? fmin(phases, (double)c->sums / elements / tiles) : c->sums > 0 ? phases : 0;
    const double summed = products + (c->promotions > 0 ? phases * c->promotions * walk->promote : sums * walk->add);
    const double own_parts = parts * (double)c->chain / fmax(1, phases); /* of a slice */
    const double own = products / groups + widened + own_parts * (walk->part + elements / groups / 128);
    const double made = widened > 0 ? soft_maximum(summed, own, model->sharpness / 2) : summed;
    const double in_turn = fmax(made, phases * wait / fmax(1, c->ahead));
    /* All warps of a multiprocessor take turns to issue what makes factors. */
    const double made_by_all =
        widened > 0 ? walk->issue * ((double)c->conversions + walk->unit * (double)c->factors) / 4 / tiles : 0;
    const double most = here * fmax(fmax(made, made_by_all), fmax(shared, lines));
    const double flight = c->ahead > 5 ? blocks * c->ahead * (double)c->phase.loads * c->element_bytes : 0;
    const double crowd = 1 + walk->flight_cost * fmax(0, flight / walk->flight - 1);
    const double copied = walk->gather * (double)c->copied / tiles;
    const double tile = soft_maximum(most, in_turn, model->sharpness) * crowd + copied;
    /*
     * The epilogue's expression: the few warps of one part of a block leave half of the lanes unused; those of one warpgroup
     * leave more.
     */
    const double lanes = 32 * TJ_SCHEDULERS;
    const double operations = (double)c->finish / tiles;
    const double finish = walk->finish * here * (walk->round * elements + operations) / lanes;
    const double alone = walk->alone * here * (operations - walk->hidden * elements) / lanes;
    /* Lanes load accumulators from shared memory and store them, unless the copy engine stores P. */
    const double taken = (double)(c->shared_load.requests - c->transposed - c->factors);
    const double requests = taken + (double)(c->splits > 1 ? c->store_w : c->store_p).requests;
    /* Warpgroups that share a tile's lines, without the one that copies tiles. */
    const double storing = c->alternates ? 1 : fmax(1, c->threads_per_block / 128.0 - 1);
    const double stored = taken > 0 ? walk->lanes * here * requests / tiles / storing : 0;
    const double last = walk->store + finish + stored;
    const double exposed = c->alternates ? fmax(0, fmax(alone, 2 * finish + stored - tile)) : last;

    memset(one, 0, sizeof *one);
    one->pipe[c->pipe] = here * products;
    one->pipe[TJ_PIPE_SHARED] = here * shared;
    one->pipe[TJ_PIPE_L1] = here * lines;
    one->latency = walk->start + walk->store;
    return walk->start + turns * tile + (turns - 1) * exposed + last; /* nothing is left to multiply after the last tile */
}

/*
 * The cycles of the kernel that packs operands: from memory to the L2, through the L1 element by element and, if it transposes,
 * through shared memory, which is the same pipe; and the launches of other kernels that move little.
 */
static double pack_cycles(const tj_device_facts *facts, const tj_counts *c, const tj_peaks *peaks)
{
    const tj_shared_model *common = c->model->shared;
    const int64_t shared = c->pack.shared_load.wavefronts + c->pack.shared_store.wavefronts;
    const double blocks = c->pack.blocks > 0 ? (double)c->pack.blocks : facts->sm_count;
    const double fullest = ceil(blocks / facts->sm_count) / blocks; /* the share of the busiest multiprocessor */
    const double through_l1 = fullest * (double)(c->pack.load.merged + c->pack.store.merged + shared) / common->pack_efficiency;
    const double moved = (double)(c->pack.load.bytes + c->pack.store.bytes) / (peaks->per_s[TJ_PIPE_MEMORY] / peaks->clock_hz);

    const double products = (double)c->blocks / (double)(c->row_blocks * c->col_blocks * c->splits);
    const double starts =
        fmax(1, c->pack.kernels) * common->pack + (shared > 0) * common->pack_transpose + (products - 1) * common->pack_next;
    /* For a transposed tile, 128 bytes square, a thread loads four chunks if an element has one byte, and waits for each. */
    const double waits = shared > 0 ? fmax(1, 4.0 / c->element_bytes) : 1;

    return c->pack.load.elements > 0 ? starts + waits * common->pack_wait + fmax(through_l1, moved) : 0;
}

/* The cycles of the second kernel of split k: it begins when the first has ended, and reads results from the L2. */
static double reduce_cycles(const tj_device_facts *facts, const tj_counts *c, const tj_peaks *peaks)
{
    const double blocks = (double)c->reduce.blocks;
    const tj_model *model = c->model;
    const tj_shared_model *common = model->shared;
    const double moved = model->workspace_passes * (double)c->load_w.bytes + (double)(c->load_c.bytes + c->store_p.bytes);

    if (c->splits <= 1)
        return 0;
    return model->next_kernel + common->reduce_ends + common->wait + ceil(blocks / facts->sm_count) * common->reduce_start +
           moved / (peaks->per_s[TJ_PIPE_L2] / peaks->clock_hz);
}

/* The cycles of the kernel that finishes P: it begins when the product has ended, and most of what it moves passes the L2. */
static double after_cycles(const tj_counts *c, const tj_peaks *peaks)
{
    const tj_model *model = c->model;

    if (c->after_bytes == 0)
        return 0;
    return model->next_kernel + model->shared->reduce_ends + model->shared->wait +
           (double)c->after_bytes / (peaks->per_s[TJ_PIPE_MEMORY] / peaks->clock_hz);
}

/*
 * Return the share of the shorter of computing and moving that the longer does not hide: only other blocks hide a block's first
 * phase and last store. The share is small for blocks of many phases, and for multiprocessors with many blocks. Waves of blocks
 * overlap only if a multiprocessor holds more than two.
 */
static double exposed_share(const tj_device_facts *facts, const tj_counts *c, double resident)
{
    const double blocks = fmin(resident, ceil((double)c->blocks / facts->sm_count));
    const double waves = c->model->overlaps_waves && blocks > 2 ? (double)c->blocks / (facts->sm_count * blocks) : 1;

    return fmin(1, c->model->overlap_blocks / blocks) / fmax(1, (double)c->phases) / fmax(1, waves);
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
    const double per_us = peaks->clock_hz / 1e6, resident = occupancy->blocks_per_sm;
    tj_prediction p;
    const tj_shared_model *common;
    double *const us = p.term_us;
    block_cycles one;
    double full_waves, last, turns, busy, device, l2_bytes;

    memset(&p, 0, sizeof p);
    p.bound = "?";
    if (!counts->model || counts->blocks < 1 || resident < 1 || per_us <= 0 || peaks->per_s[TJ_PIPE_MEMORY] <= 0 ||
        facts->sm_count < 1)
        return p;
    common = counts->model->shared;
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
               fmax(common->sector_store * (double)counts->store_p.sectors, (double)counts->store_p.bytes);
    us[TJ_PIPE_L2] = l2_bytes / (peaks->per_s[TJ_PIPE_L2] / peaks->clock_hz) / per_us;
    us[TJ_PIPE_MEMORY] = (double)counts->work[TJ_PIPE_MEMORY] / peaks->per_s[TJ_PIPE_MEMORY] /
                         (peaks->is_measured ? 1 : common->memory_efficiency) * 1e6;
    us[TJ_TERM_LATENCY] = (full_waves + (last > 0)) * one.latency / per_us;
    us[TJ_TERM_PACK] = pack_cycles(facts, counts, peaks) / per_us;
    us[TJ_TERM_REDUCE] = (reduce_cycles(facts, counts, peaks) + after_cycles(counts, peaks)) / per_us;
    us[TJ_TERM_LAUNCH] = common->launch_us;
    device = soft_maximum(us[TJ_PIPE_L2], us[TJ_PIPE_MEMORY], common->sharpness) +
             counts->model->block.shared_sector * shared_sectors(counts) / per_us;
    p.us = common->launch_us + soft_maximum(busy / per_us, device, counts->model->device_sharpness) +
           exposed_share(facts, counts, resident) * fmin(busy / per_us, device) + us[TJ_TERM_PACK] + us[TJ_TERM_REDUCE];
    p.flop_per_s = (double)counts->flop / p.us * 1e6;
    p.bound = longest(us);
    return p;
}
