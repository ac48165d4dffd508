/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster.h"

#include <stdlib.h>

#include "arrival.h"
#include "block.h"
#include "finding.h"
#include "mbarrier.h"
#include "shadow.h"
#include "tensor_memory.h"

/* ---- beginning and end ----------------------------------------------------------------------------------------------- */

bool emu_cluster_make(emu_cluster *cluster, emu_launch *launch)
{
    const uint32_t blocks = launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
    const bool is_checked = launch->checks & (CUEMU_CHECK_RACES | CUEMU_CHECK_ASYNC);
    bool is_whole;

    *cluster = (emu_cluster){.launch = launch, .slots = blocks * (EMU_BLOCK_SLOTS + EMU_PRODUCT_SLOTS) + EMU_COPY_SLOTS + 1};
    if (launch->module->has_tensor_memory)
        cluster->slots += blocks * EMU_BLOCK_SLOTS;
    cluster->block = calloc(blocks, sizeof *cluster->block);
    is_whole = cluster->block != NULL;
    for (uint32_t i = 0; is_whole && i < blocks; i++) {
        cluster->blocks++;
        is_whole = emu_block_make(&cluster->block[i], cluster, i);
    }
    if (is_whole && is_checked)
        is_whole = emu_past_make(&cluster->gathering, cluster->slots) && emu_past_make(&cluster->done, cluster->slots);
    return is_whole;
}

void emu_cluster_free(emu_cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->blocks; i++)
        emu_block_free(&cluster->block[i]);
    free(cluster->block);
    free(cluster->arrival);
    emu_past_free(&cluster->gathering);
    emu_past_free(&cluster->done);
}

void emu_cluster_start(emu_cluster *cluster, uint64_t number)
{
    const emu_launch *launch = cluster->launch;
    uint32_t in_grid[3];

    for (int i = 0; i < 3; i++)
        in_grid[i] = launch->grid[i] / launch->cluster[i];
    cluster->number = number;
    cluster->index[0] = (uint32_t)(number % in_grid[0]);
    cluster->index[1] = (uint32_t)(number / in_grid[0] % in_grid[1]);
    cluster->index[2] = (uint32_t)(number / in_grid[0] / in_grid[1]);
    cluster->now = EMU_BEGUN + 1;
    cluster->phase = 0;
    cluster->events = 0;
    cluster->since = 0;
    cluster->round = 0;
    cluster->arrivals = 0;
    cluster->last_refusal = NULL;
    emu_past_clear(&cluster->gathering, cluster->slots);
    emu_past_clear(&cluster->done, cluster->slots);
    for (uint32_t i = 0; i < cluster->blocks; i++)
        emu_block_start(&cluster->block[i]);
}

/* ---- the barrier ----------------------------------------------------------------------------------------------------- */

/* Have all live threads arrived? */
static bool is_complete(const emu_cluster *cluster)
{
    bool is_any = false;

    for (uint32_t b = 0; b < cluster->blocks; b++)
        for (uint32_t w = 0; w < cluster->launch->warps; w++) {
            const emu_warp *warp = &cluster->block[b].warp[w];
            if (warp->alive & ~warp->has_arrived)
                return false;
            is_any |= warp->has_arrived != 0;
        }
    return is_any;
}

static void try_to_pass(emu_cluster *cluster)
{
    if (!is_complete(cluster))
        return;
    cluster->phase++;
    cluster->events++;
    for (uint32_t b = 0; b < cluster->blocks; b++) {
        cluster->block[b].epoch++;
        for (uint32_t w = 0; w < cluster->launch->warps; w++) {
            emu_warp *warp = &cluster->block[b].warp[w];
            warp->may_pass |= warp->has_arrived;
            warp->has_arrived = 0;
        }
    }
    if (cluster->done.seen)
        emu_past_join(&cluster->done, &cluster->gathering, cluster->slots);
    emu_past_clear(&cluster->gathering, cluster->slots);
}

void emu_cluster_arrive(emu_warp *warp, const emu_inst *inst, uint32_t mask, bool releases)
{
    const uint32_t twice = mask & (warp->has_arrived | warp->may_pass);

    if (twice) {
        emu_find(warp, inst, CUEMU_ILLEGAL, __builtin_ctz(twice), 0,
                 "arrives at the barrier of the cluster again and has not waited for it since it did");
        return;
    }
    if (releases) {
        emu_fence(warp);
        emu_release(warp, &warp->block->cluster->gathering);
    } else {
        emu_release_fenced(warp, &warp->block->cluster->gathering);
        emu_tensor_release(warp, &warp->block->cluster->gathering);
        emu_mbarriers_publish(warp, &warp->block->cluster->gathering);
    }
    warp->has_arrived |= mask;
    try_to_pass(warp->block->cluster);
}

uint32_t emu_cluster_wait(emu_warp *warp, const emu_inst *inst, uint32_t mask, bool acquires)
{
    const uint32_t never = mask & ~(warp->has_arrived | warp->may_pass), pass = mask & warp->may_pass;

    if (never) {
        emu_find(warp, inst, CUEMU_ILLEGAL, __builtin_ctz(never), 0,
                 "waits for the barrier of the cluster, at which the thread has not arrived");
        return mask;
    }
    warp->may_pass &= ~pass;
    if (pass && acquires)
        emu_acquire(warp, &warp->block->cluster->done);
    if (pass)
        warp->step++;
    return pass;
}

/* Accesses by other blocks to the shared memory of an ending block must come before its end. */
static void check_end(emu_block *block)
{
    const emu_cluster *cluster = block->cluster;

    for (uint32_t slot = 0; block->touched && slot < cluster->slots; slot++) {
        uint32_t seen = 0;
        for (uint32_t w = 0; w < block->launch->warps; w++)
            seen = block->warp[w].past.seen[slot] > seen ? block->warp[w].past.seen[slot] : seen;
        if (!block->touched[slot] || seen >= block->touched[slot])
            continue;
        emu_find(
            block->touched_by[slot].warp, block->touched_by[slot].inst, CUEMU_RACE_SHARED, 0, 0,
            "touches shared memory of block (%u, %u, %u), which may have ended by then: it waits for no barrier that comes "
            "after this",
            block->index[0], block->index[1], block->index[2]);
    }
}

void emu_cluster_leave(emu_block *block)
{
    uint32_t alive = 0;

    for (uint32_t w = 0; w < block->launch->warps; w++)
        alive |= block->warp[w].alive;
    if (!alive && !block->has_ended) {
        emu_land_last(block);
        emu_mbarriers_check(block);
        emu_tensor_check_end(block);
        block->has_ended = true;
        check_end(block);
    }
    try_to_pass(block->cluster);
}

/* ---- shared memory of others ----------------------------------------------------------------------------------------- */

/* Does a warp know of any access by that block? Then the block has begun. */
static bool has_met(const emu_warp *warp, const emu_block *other)
{
    for (uint32_t i = 0; i < EMU_BLOCK_SLOTS; i++)
        if (warp->past.seen[other->rank * EMU_BLOCK_SLOTS + i])
            return true;
    return false;
}

void emu_note_visit(emu_block *block, uint32_t slot, const emu_warp *warp, const emu_inst *inst)
{
    if (!block->touched)
        return;
    block->touched[slot] = block->cluster->now;
    block->touched_by[slot] = (emu_visit){warp, inst};
}

emu_block *emu_peer(emu_warp *warp, const emu_inst *inst, int lane, uint64_t *address)
{
    emu_cluster *cluster = warp->block->cluster;
    const uint64_t rank = *address / EMU_WINDOW_BYTES - 1, given = *address;
    emu_block *other;

    if (given < EMU_WINDOW_BYTES)
        return warp->block;
    if (rank >= cluster->blocks) {
        emu_find(warp, inst, CUEMU_OUT_OF_BOUNDS, lane, given,
                 "an address in shared memory of block %llu of the cluster, which has %u", (unsigned long long)rank,
                 cluster->blocks);
        return NULL;
    }
    other = &cluster->block[rank];
    *address %= EMU_WINDOW_BYTES;
    if (other == warp->block)
        return other;
    if (other->has_ended) {
        emu_find(warp, inst, CUEMU_OUT_OF_BOUNDS, lane, given,
                 "shared offset 0x%llx of block (%u, %u, %u) of the cluster, which has ended", (unsigned long long)*address,
                 other->index[0], other->index[1], other->index[2]);
        return NULL;
    }
    if (cluster->launch->checks & CUEMU_CHECK_RACES) {
        if (!has_met(warp, other))
            emu_find(warp, inst, CUEMU_RACE_SHARED, lane, *address,
                     "touches shared memory of block (%u, %u, %u), which may not have begun: no barrier of the cluster comes "
                     "before",
                     other->index[0], other->index[1], other->index[2]);
        if (!inst->is_async) /* a copy is checked when it completes */
            emu_note_visit(other, warp->slot, warp, inst);
    }
    return other;
}
