/* SPDX-License-Identifier: Apache-2.0 */
#include "past.h"

#include <stdlib.h>

#include "cluster.h"

bool emu_past_make(emu_past *past, uint32_t slots)
{
    past->seen = calloc(2 * (size_t)slots, sizeof *past->seen);
    past->fenced = past->seen ? past->seen + slots : NULL;
    return past->seen != NULL;
}

void emu_past_free(emu_past *past)
{
    free(past->seen);
    *past = (emu_past){NULL, NULL};
}

void emu_release(emu_warp *warp, emu_past *to)
{
    emu_cluster *cluster = warp->block->cluster;

    if (!to->seen)
        return;
    warp->past.seen[warp->slot] = cluster->now;
    emu_past_join(to, &warp->past, cluster->slots);
    cluster->now++;
}

void emu_release_fenced(emu_warp *warp, emu_past *to)
{
    if (!to->seen)
        return;
    emu_past_join(to, &warp->fenced, warp->block->cluster->slots);
    if (to->seen[warp->slot] < EMU_BEGUN)
        to->seen[warp->slot] = EMU_BEGUN;
}

void emu_acquire(emu_warp *warp, const emu_past *from)
{
    if (from->seen)
        emu_past_join(&warp->past, from, warp->block->cluster->slots);
}

void emu_fence_proxy(emu_warp *warp)
{
    emu_cluster *cluster = warp->block->cluster;

    if (!warp->past.seen)
        return;
    for (uint32_t i = 0; i < cluster->slots; i++)
        if (warp->past.seen[i] > warp->past.fenced[i])
            warp->past.fenced[i] = warp->past.seen[i];
    warp->past.fenced[warp->slot] = cluster->now++;
}
