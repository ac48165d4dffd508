/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

#include <stdlib.h>

#include "cluster.h"
#include "mbarrier.h"
#include "shadow.h"
#include "sums.h"
#include "tensor_memory.h"

/* Set the special registers of a lane that never change. */
static void set_specials(const emu_warp *warp, uint32_t lane)
{
    const emu_block *block = warp->block;
    const emu_launch *launch = block->launch;
    const emu_cluster *cluster = block->cluster;
    const uint32_t thread = warp->number * 32 + lane, *size = launch->block, *grid = launch->grid, *unit = launch->cluster;
    const uint64_t values[SR_COUNT] = {
        [SR_TID_X] = thread % size[0],
        [SR_TID_Y] = thread / size[0] % size[1],
        [SR_TID_Z] = thread / size[0] / size[1],
        [SR_NTID_X] = size[0],
        [SR_NTID_Y] = size[1],
        [SR_NTID_Z] = size[2],
        [SR_CTAID_X] = block->index[0],
        [SR_CTAID_Y] = block->index[1],
        [SR_CTAID_Z] = block->index[2],
        [SR_NCTAID_X] = grid[0],
        [SR_NCTAID_Y] = grid[1],
        [SR_NCTAID_Z] = grid[2],
        [SR_LANEID] = lane,
        [SR_WARPID] = warp->number,
        [SR_NWARPID] = launch->warps,
        [SR_SMID] = block->number % (uint64_t)launch->device->processors,
        [SR_NSMID] = (uint64_t)launch->device->processors,
        [SR_GRIDID] = launch->number,
        [SR_LANEMASK_EQ] = UINT64_C(1) << lane,
        [SR_LANEMASK_LE] = (UINT64_C(2) << lane) - 1,
        [SR_LANEMASK_LT] = (UINT64_C(1) << lane) - 1,
        [SR_LANEMASK_GE] = ~((UINT64_C(1) << lane) - 1) & UINT32_MAX,
        [SR_LANEMASK_GT] = ~((UINT64_C(2) << lane) - 1) & UINT32_MAX,
        [SR_DYNAMIC_SMEM] = launch->dynamic_shared,
        [SR_TOTAL_SMEM] = launch->dynamic_shared + launch->function->static_shared,
        [SR_CLUSTERID_X] = cluster->index[0],
        [SR_CLUSTERID_Y] = cluster->index[1],
        [SR_CLUSTERID_Z] = cluster->index[2],
        [SR_NCLUSTERID_X] = grid[0] / unit[0],
        [SR_NCLUSTERID_Y] = grid[1] / unit[1],
        [SR_NCLUSTERID_Z] = grid[2] / unit[2],
        [SR_CLUSTER_CTAID_X] = block->index[0] % unit[0],
        [SR_CLUSTER_CTAID_Y] = block->index[1] % unit[1],
        [SR_CLUSTER_CTAID_Z] = block->index[2] % unit[2],
        [SR_CLUSTER_NCTAID_X] = unit[0],
        [SR_CLUSTER_NCTAID_Y] = unit[1],
        [SR_CLUSTER_NCTAID_Z] = unit[2],
        [SR_CLUSTER_CTARANK] = block->rank,
        [SR_CLUSTER_NCTARANK] = cluster->blocks,
        [SR_IS_EXPLICIT_CLUSTER] = launch->has_clusters ? UINT32_MAX : 0,
    };

    for (size_t i = 0; i < launch->function->specials; i++) {
        const emu_special *s = &launch->function->special[i];
        if (s->place.bytes)
            emu_set_unsigned(warp, &s->place, (int)lane, values[s->kind]);
        else
            emu_set_predicate(warp, &s->place, (uint32_t)values[s->kind], 1u << lane);
    }
}

/*
 * Return the registers that ptxas gives each thread if setmaxnreg can change them: at most an equal share of the register file.
 */
static uint32_t registers_of(const emu_launch *launch)
{
    const emu_function *f = launch->function;
    const uint32_t *most = f->reqntid[0] ? f->reqntid : f->maxntid;
    const uint64_t threads = most[0] ? (uint64_t)most[0] * most[1] * most[2] : launch->threads;
    const uint64_t part = 65536 / threads / (f->minnctapersm ? f->minnctapersm : 1) / 8 * 8;
    const uint32_t limit = f->maxnreg && f->maxnreg < f->most_asked ? f->maxnreg : f->most_asked;

    return part < limit ? (uint32_t)part : limit;
}

static void start_warp(emu_warp *warp, const emu_launch *launch, uint32_t number)
{
    const uint32_t left = launch->threads - number * 32, lanes = left < 32 ? left : 32;

    warp->number = number;
    warp->alive = lanes == 32 ? UINT32_MAX : (1u << lanes) - 1;
    warp->exited = 0;
    warp->splits = 1;
    warp->split[0] = (emu_split){.pc = launch->function->first_inst, .mask = warp->alive, .state = R_RUN};
    warp->step = 0;
    memset(warp->synced, 0, sizeof warp->synced);
    warp->flight.copies = 0;
    warp->carry = 0;
    warp->executed = 0;
    warp->barrier_threads = UINT32_MAX;
    memset(warp->group, 0, sizeof warp->group);
    memset(warp->bulk_group, 0, sizeof warp->bulk_group);
    emu_past_clear(&warp->past, warp->block->cluster->slots);
    emu_past_clear(&warp->fenced, warp->block->cluster->slots);
    if (warp->settled)
        memset(warp->settled, 0, warp->block->cluster->slots * sizeof *warp->settled);
    warp->first_load = warp->first_store = 0;
    warp->slot = warp->block->rank * EMU_BLOCK_SLOTS + number;
    warp->waiting = warp->has_arrived = warp->may_pass = 0;
    warp->has_waited = false;
    warp->events = 0;
    warp->gives_up = 0;
    warp->waits_for = NULL;
    warp->registers = registers_of(launch);
    if (warp->sums)
        emu_sums_start(warp);
    for (uint32_t lane = 0; lane < 32; lane++)
        set_specials(warp, lane);
    if (launch->checks) {
        memset(warp->defined, 0, launch->function->registers * sizeof *warp->defined);
        if (warp->local_defined)
            memset(warp->local_defined, 0, (size_t)launch->function->local_bytes * 32);
    }
    warp->defined[0] = UINT32_MAX;
}

void emu_block_start(emu_block *block)
{
    const emu_launch *launch = block->launch;
    const uint32_t *unit = launch->cluster, *cluster = block->cluster->index;

    block->index[0] = cluster[0] * unit[0] + block->rank % unit[0];
    block->index[1] = cluster[1] * unit[1] + block->rank / unit[0] % unit[1];
    block->index[2] = cluster[2] * unit[2] + block->rank / unit[0] / unit[1];
    block->number =
        block->index[0] + (uint64_t)launch->grid[0] * (block->index[1] + (uint64_t)launch->grid[1] * block->index[2]);
    block->has_ended = false;
    block->epoch = 1;
    block->tickets = block->maps = 0;
    memset(block->acquired, 0, sizeof block->acquired);
    emu_patience_begin(&block->patience);
    block->random = launch->seed * UINT64_C(0x9e3779b97f4a7c15) + block->number + 1;
    memset(block->arrived, 0, sizeof block->arrived);
    for (uint32_t i = 0; i < block->mbarriers; i++)
        block->mbarrier[i]->is_valid = false;
    for (int i = 0; i < EMU_BARRIERS; i++)
        emu_past_clear(&block->gathering[i], block->cluster->slots);
    if (block->touched)
        memset(block->touched, 0, block->cluster->slots * sizeof *block->touched);
    memset(block->shared, 0xff, launch->shared_bytes);
    if (block->shared_defined)
        memset(block->shared_defined, 0, launch->shared_bytes);
    if (block->swizzle)
        memset(block->swizzle, 0, launch->shared_bytes / EMU_SWIZZLED + 1);
    if (block->reads)
        memset(block->reads, 0, (launch->shared_bytes / EMU_CHUNK + 1) * sizeof *block->reads);
    block->registers = 0;
    emu_tensor_start(block);
    if (block->state)
        memset(block->state, 0, emu_words_in(launch->shared_bytes) * sizeof *block->state);
    for (uint32_t w = 0; w < launch->warps; w++)
        start_warp(&block->warp[w], launch, w);
}

void emu_block_free(emu_block *block)
{
    for (uint32_t w = 0; block->warp && w < block->launch->warps; w++) {
        free(block->warp[w].bank[0]);
        free(block->warp[w].defined);
        free(block->warp[w].local);
        free(block->warp[w].local_defined);
        free(block->warp[w].frame);
        free(block->warp[w].flight.copy);
        emu_past_free(&block->warp[w].past);
        emu_past_free(&block->warp[w].fenced);
        free(block->warp[w].settled);
        emu_sums_free(&block->warp[w]);
    }
    for (int i = 0; i < EMU_BARRIERS; i++)
        emu_past_free(&block->gathering[i]);
    for (uint32_t i = 0; i < block->mbarriers; i++) {
        emu_past_free(&block->mbarrier[i]->gathering);
        emu_past_free(&block->mbarrier[i]->done);
        free(block->mbarrier[i]);
    }
    free(block->mbarrier);
    free(block->touched);
    free(block->touched_by);
    free(block->warp);
    free(block->shared);
    free(block->shared_defined);
    free(block->state);
    free(block->reads);
    free(block->swizzle);
    free(block->tensor);
    free(block->line);
}

/* Allocate the state that finds races. */
static bool make_pasts(emu_block *block)
{
    const uint32_t slots = block->cluster->slots;
    const size_t words = emu_words_in(block->launch->shared_bytes);
    bool is_whole = (block->state = malloc((words + words * EMU_WORD) * sizeof *block->state)) != NULL;

    for (int i = 0; i < EMU_BARRIERS; i++)
        is_whole = is_whole && emu_past_make(&block->gathering[i], slots);
    for (uint32_t w = 0; w < block->launch->warps; w++)
        is_whole = is_whole && emu_past_make(&block->warp[w].past, slots) && emu_past_make(&block->warp[w].fenced, slots);
    is_whole = is_whole && (block->touched = calloc(slots, sizeof *block->touched)) != NULL;
    return is_whole && (block->touched_by = calloc(slots, sizeof *block->touched_by)) != NULL;
}

bool emu_block_make(emu_block *block, emu_cluster *cluster, uint32_t rank)
{
    emu_launch *launch = cluster->launch;
    const emu_function *f = launch->function;
    bool is_whole;

    *block = (emu_block){.launch = launch, .cluster = cluster, .rank = rank};
    block->warp = calloc(launch->warps, sizeof *block->warp);
    block->shared = aligned_alloc(128, ((size_t)launch->shared_bytes + 255) / 128 * 128);
    is_whole = block->warp && block->shared;
    if (launch->checks & CUEMU_CHECK_UNINITIALISED)
        is_whole &= (block->shared_defined = malloc(launch->shared_bytes + 1)) != NULL;
    if (is_whole && launch->checks & (CUEMU_CHECK_RACES | CUEMU_CHECK_ASYNC))
        is_whole = make_pasts(block);
    if (launch->checks & CUEMU_CHECK_ASYNC && launch->module->has_sums) {
        is_whole &= (block->reads = malloc((launch->shared_bytes / EMU_CHUNK + 1) * sizeof *block->reads)) != NULL;
        is_whole &= (block->swizzle = malloc(launch->shared_bytes / EMU_SWIZZLED + 1)) != NULL;
    }
    if (launch->counts)
        is_whole &= (block->line = calloc(launch->module->insts, sizeof *block->line)) != NULL;
    for (uint32_t w = 0; is_whole && w < launch->warps; w++) {
        emu_warp *warp = &block->warp[w];
        warp->block = block;
        warp->bank[0] = aligned_alloc(64, ((size_t)f->register_bytes + 127) / 64 * 64);
        warp->bank[1] = launch->module->constants;
        warp->defined = calloc(f->registers + 1, sizeof *warp->defined);
        warp->local = calloc(32, f->local_bytes + 1);
        warp->frame = calloc(32, f->frame_bytes + 1);
        if (launch->checks & CUEMU_CHECK_UNINITIALISED && f->local_bytes)
            is_whole &= (warp->local_defined = calloc(32, f->local_bytes)) != NULL;
        if (block->reads)
            is_whole &= emu_sums_make(warp);
        if (block->reads && launch->module->has_tensor_memory)
            is_whole &= (warp->settled = calloc(cluster->slots, sizeof *warp->settled)) != NULL;
        is_whole &= warp->bank[0] && warp->defined && warp->local && warp->frame;
        if (is_whole)
            memset(warp->bank[0], 0xff, f->register_bytes);
    }
    return is_whole;
}
