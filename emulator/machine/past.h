/* SPDX-License-Identifier: Apache-2.0 */
/*
 * past: the order of events among the warps of a cluster.
 *
 * Time is one counter per cluster, which grows when a warp publishes its progress. A past holds, for each warp, the time up to
 * which its accesses come before: a barrier gathers the pasts of the warps that arrive, and a warp that waits for it acquires
 * them. All warps begin at EMU_BEGUN, before their first access, so knowing only that time of a warp means knowing that it has
 * begun. The slots of asynchronous copies follow those of the warps, chosen by the mbarrier that they complete on; after them
 * comes one slot for the products of each warpgroup, and a warp that waits for a product learns that its factors have been
 * read. The last slot is for mbarriers that were initialised and fenced.
 *
 * The second row is the same for ordinary stores that asynchronous copies may read: the time up to which a proxy fence came
 * between.
 */
#ifndef EMU_PAST_H
#define EMU_PAST_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct emu_warp;

enum { EMU_BLOCK_SLOTS = 32, EMU_COPY_SLOTS = 32, EMU_PRODUCT_SLOTS = 8 /* of each block */, EMU_BEGUN = 1 };

/** Both rows share one allocation; NULL if no check needs them. */
typedef struct emu_past {
    uint32_t *seen, *fenced;
} emu_past;

/** Allocate; false: out of memory. */
bool emu_past_make(emu_past *past, uint32_t slots);
void emu_past_free(emu_past *past);

static inline void emu_past_clear(emu_past *past, uint32_t slots)
{
    if (past->seen)
        memset(past->seen, 0, sizeof *past->seen * 2 * slots);
}

/** Add the knowledge of `from` to `to`. */
static inline void emu_past_join(emu_past *to, const emu_past *from, uint32_t slots)
{
    for (uint32_t i = 0; to->seen && i < 2 * slots; i++)
        to->seen[i] = from->seen[i] > to->seen[i] ? from->seen[i] : to->seen[i];
}

/** Publish all that the warp did and learned so far: it comes before all actions of those who acquire `to`. */
void emu_release(struct emu_warp *warp, emu_past *to);

/** Like emu_release, for a relaxed arrival: only that the warp has begun, and what it had done at its last fence. */
void emu_release_fenced(struct emu_warp *warp, emu_past *to);

/** Let the warp acquire `from`. */
void emu_acquire(struct emu_warp *warp, const emu_past *from);

/** A proxy fence: asynchronous copies may now read the stores that the warp knows of. */
void emu_fence_proxy(struct emu_warp *warp);

#endif
