/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpgroup: four warps, the first of a number that 4 divides, that execute an instruction together.
 *
 * The warps of a group run one after the other like all warps. One that comes to an instruction of F_WARPGROUP waits there until all
 * four do; the last executes it for all.
 */
#ifndef EMU_WARPGROUP_H
#define EMU_WARPGROUP_H

#include "warp.h"

enum { EMU_GROUP = 4 }; /* warps */

/** The first of the warps in the group of a warp. */
static inline emu_warp *emu_group_of(const emu_warp *warp)
{
    return &warp->block->warp[warp->number / EMU_GROUP * EMU_GROUP];
}

/**
 * The whole warp has come to inst: execute it for the group, if the other warps are there, and let them go on. false: they are not,
 * or the function has set block->is_held, as it cannot be executed yet; the warp waits in R_WARPGROUP.
 */
bool emu_meet_warpgroup(emu_warp *warp, const emu_inst *inst);

/** What was waited for may have come: let all warps that wait in R_WARPGROUP try again. */
void emu_wake_warpgroups(emu_block *block);

/** Why a warp in R_WARPGROUP waits, for a message. */
const char *emu_describe_wait(const emu_warp *warp, char *text, size_t bytes);

#endif
