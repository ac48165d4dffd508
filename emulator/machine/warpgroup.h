/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpgroup: four consecutive warps, the first with a number divisible by 4, that execute an instruction together.
 *
 * The warps of a group run one after the other like all warps. A warp that reaches an F_WARPGROUP instruction waits there until
 * all four do; the last one executes it for all.
 */
#ifndef EMU_WARPGROUP_H
#define EMU_WARPGROUP_H

#include "warp.h"

enum { EMU_GROUP = 4 }; /* warps */

/** Return the first warp of a warp's group. */
static inline emu_warp *emu_group_of(const emu_warp *warp)
{
    return &warp->block->warp[warp->number / EMU_GROUP * EMU_GROUP];
}

/**
 * Execute inst, which the whole warp has reached, for the group if the other warps have reached it too, and release them.
 * false: they have not, or the function has set block->is_held as it cannot be executed yet; the warp waits in R_WARPGROUP.
 */
bool emu_meet_warpgroup(emu_warp *warp, const emu_inst *inst);

/** Let all warps in R_WARPGROUP try again, as their event may have happened. */
void emu_wake_warpgroups(emu_block *block);

/** Describe why a warp in R_WARPGROUP waits, for a message. */
const char *emu_describe_wait(const emu_warp *warp, char *text, size_t bytes);

#endif
