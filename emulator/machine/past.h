/* SPDX-License-Identifier: Apache-2.0 */
/*
 * past: what came before what among the warps of a cluster.
 *
 * Time is one number of a cluster, which grows when a warp tells others how far it is. A past says up to which time the accesses of each
 * warp come before: a barrier gathers the pasts of those who arrive, and who waits for it learns them. All begin at EMU_BEGUN, before
 * the first access: who knows of that time, and of no later one, knows that a warp has begun. Asynchronous copies have slots of their
 * own behind those of the warps, chosen by the mbarrier that they complete on; the products of each warpgroup have one behind those,
 * and who waits for a product learns that it has been read. The last slot is of mbarriers that were initialised and fenced.
 *
 * The second row is the same for what is written by ordinary stores and may be read by asynchronous copies: up to which time a proxy
 * fence came between.
 */
#ifndef EMU_PAST_H
#define EMU_PAST_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct emu_warp;

enum { EMU_BLOCK_SLOTS = 32, EMU_COPY_SLOTS = 32, EMU_PRODUCT_SLOTS = 8 /* of each block */, EMU_BEGUN = 1 };

/** Both rows are of one allocation; NULL where nothing is checked that needs them. */
typedef struct emu_past {
    uint32_t *seen, *fenced;
} emu_past;

/** false: out of memory. */
bool emu_past_make(emu_past *past, uint32_t slots);
void emu_past_free(emu_past *past);

static inline void emu_past_clear(emu_past *past, uint32_t slots)
{
    if (past->seen)
        memset(past->seen, 0, sizeof *past->seen * 2 * slots);
}

/** What from knows, to knows too. */
static inline void emu_past_join(emu_past *to, const emu_past *from, uint32_t slots)
{
    for (uint32_t i = 0; to->seen && i < 2 * slots; i++)
        to->seen[i] = from->seen[i] > to->seen[i] ? from->seen[i] : to->seen[i];
}

/** All that the warp has done and learnt until now comes before what is done by those who learn of to. */
void emu_release(struct emu_warp *warp, emu_past *to);

/** The same of a relaxed arrival: only that the warp has begun, and what it had done at its last fence. */
void emu_release_fenced(struct emu_warp *warp, emu_past *to);

/** The warp learns of from. */
void emu_acquire(struct emu_warp *warp, const emu_past *from);

/** A proxy fence: what the warp knows of stores may be read by asynchronous copies. */
void emu_fence_proxy(struct emu_warp *warp);

#endif
