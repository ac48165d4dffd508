/* SPDX-License-Identifier: Apache-2.0 */
#include "arrival.h"

#include <stdlib.h>

#include "finding.h"
#include "mbarrier.h"

enum { LATEST = 8 }; /* rounds */

bool emu_await(const emu_arrival *arrival)
{
    emu_cluster *cluster = arrival->warp->block->cluster;

    if (emu_is_early(arrival->warp)) { /* at once, as a device may: a later copy would hide the missing wait */
        arrival->land(arrival);
        return true;
    }
    if (cluster->arrivals == cluster->arrival_capacity) {
        const uint32_t capacity = cluster->arrival_capacity * 2 + 64;
        emu_arrival *larger = realloc(cluster->arrival, capacity * sizeof *larger);
        if (!larger) {
            emu_find(arrival->warp, arrival->inst, CUEMU_ILLEGAL, arrival->lane, 0, "out of memory for what is on its way");
            return false;
        }
        cluster->arrival = larger;
        cluster->arrival_capacity = capacity;
    }
    cluster->arrival[cluster->arrivals] = *arrival;
    cluster->arrival[cluster->arrivals++].round = cluster->round;
    return true;
}

/* Deliver arrival number index. */
static void land(emu_cluster *cluster, uint32_t index)
{
    const emu_arrival arrival = cluster->arrival[index];

    memmove(&cluster->arrival[index], &cluster->arrival[index + 1], (--cluster->arrivals - index) * sizeof arrival);
    arrival.land(&arrival);
}

void emu_land_due(emu_cluster *cluster)
{
    cluster->round++;
    for (uint32_t i = 0; i < cluster->arrivals;)
        if (!cluster->arrival[i].is_in_group && cluster->round - cluster->arrival[i].round > LATEST)
            land(cluster, i);
        else
            i++;
    if (cluster->launch->seed && emu_random(cluster->block) % 4 == 0)
        (void)emu_land_first(cluster);
}

bool emu_land_first(emu_cluster *cluster)
{
    const uint32_t start =
        cluster->launch->seed && cluster->arrivals ? (uint32_t)(emu_random(cluster->block) % cluster->arrivals) : 0;

    for (uint32_t n = 0; n < cluster->arrivals; n++) {
        const uint32_t i = (start + n) % cluster->arrivals;
        if (cluster->arrival[i].is_in_group)
            continue;
        land(cluster, i);
        return true;
    }
    return false;
}

bool emu_is_due_at(const emu_block *block, uint32_t mbarrier)
{
    const emu_cluster *cluster = block->cluster;

    for (uint32_t i = 0; i < cluster->arrivals; i++)
        if (cluster->arrival[i].block == block && cluster->arrival[i].mbarrier == mbarrier)
            return true;
    return false;
}

void emu_land_groups(const emu_warp *warp, int lane, uint32_t newest)
{
    emu_cluster *cluster = warp->block->cluster;

    for (uint32_t i = 0; i < cluster->arrivals;) {
        const emu_arrival *one = &cluster->arrival[i];
        if (one->is_in_group && one->warp == warp && one->lane == lane && warp->bulk_group[lane] - one->ticket > newest)
            land(cluster, i);
        else
            i++;
    }
}

void emu_land_last(emu_block *block)
{
    emu_cluster *cluster = block->cluster;

    for (uint32_t i = 0; i < cluster->arrivals;) {
        const emu_arrival one = cluster->arrival[i];
        const bool is_touched = one.writes == block || one.reads == block;
        if (!is_touched && one.block != block) {
            i++;
            continue;
        }
        if (is_touched && cluster->launch->checks & CUEMU_CHECK_ASYNC)
            emu_find(one.warp, one.inst, CUEMU_ASYNC_IN_FLIGHT, one.lane, 0,
                     "block (%u, %u, %u) ends while this copy is on its way %s its shared memory", block->index[0],
                     block->index[1], block->index[2], one.writes == block ? "into" : "from");
        land(cluster, i);
    }
}

/* Is it a copy of the lane in a group that was committed no later? */
static bool comes_with(const emu_copy *copy, const void *what)
{
    const emu_arrival *arrival = what;

    return copy->lane == arrival->lane && (int32_t)(copy->ticket - arrival->ticket) <= 0;
}

void emu_land_copies(const emu_arrival *arrival)
{
    emu_warp *warp = arrival->warp;
    emu_cluster *cluster = warp->block->cluster;
    emu_mbarrier *m;

    emu_land(warp, &warp->flight, comes_with, arrival);
    m = emu_mbarrier_at(warp, arrival->inst, arrival->lane, arrival->block, arrival->mbarrier);
    if (!m)
        return;
    if (m->gathering.seen)
        m->gathering.seen[warp->slot] = cluster->now++;
    emu_mbarrier_arrive(warp, arrival->inst, arrival->lane, m, 1, false);
    emu_mbarrier_try(m);
}
