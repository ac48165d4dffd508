/* SPDX-License-Identifier: Apache-2.0 */
#include "warpgroup.h"

#include <stdio.h>

#include "finding.h"
#include "step.h"

static const emu_inst *place_of(const emu_warp *warp)
{
    return &warp->block->launch->module->inst[warp->split[0].pc];
}

/* Return another warp of the group that is not at inst; NULL: all are. */
static const emu_warp *missing_warp(const emu_warp *warp, const emu_inst *inst)
{
    const emu_warp *first = emu_group_of(warp);

    for (int i = 0; i < EMU_GROUP; i++)
        if (&first[i] != warp &&
            (first[i].splits != 1 || first[i].split[0].state != R_WARPGROUP || place_of(&first[i]) != inst))
            return &first[i];
    return NULL;
}

bool emu_meet_warpgroup(emu_warp *warp, const emu_inst *inst)
{
    emu_block *block = warp->block;
    emu_warp *first = emu_group_of(warp);
    const emu_warp *missing;

    if (warp->number / EMU_GROUP * EMU_GROUP + EMU_GROUP > block->launch->warps) {
        emu_find(warp, inst, CUEMU_ILLEGAL, 0, 0, "needs the four warps of a warpgroup; the block ends with warp %u",
                 block->launch->warps - 1);
        return true;
    }
    missing = missing_warp(warp, inst);
    if (missing && missing->splits == 0) {
        emu_find(warp, inst, CUEMU_DEADLOCK, 0, 0, "waits for warp %u of its warpgroup, which has returned", missing->number);
        return true;
    }
    if (missing && missing->splits == 1 && missing->split[0].state == R_WARPGROUP) {
        emu_find(warp, inst, CUEMU_DIVERGENT, 0, 0, "waits here while warp %u of its warpgroup waits at line %u",
                 missing->number, place_of(missing)->line);
        return true;
    }
    if (missing)
        return false;
    block->is_held = false;
    inst->exec(first, inst, UINT32_MAX);
    if (block->is_held)
        return false;
    for (int i = 0; i < EMU_GROUP; i++)
        if (&first[i] != warp) {
            if (block->line)
                emu_count_inst(&first[i], inst, UINT32_MAX);
            first[i].split[0].state = R_RUN;
            first[i].split[0].pc++;
        }
    return true;
}

void emu_wake_warpgroups(emu_block *block)
{
    for (uint32_t w = 0; w < block->launch->warps; w++)
        if (block->warp[w].splits && block->warp[w].split[0].state == R_WARPGROUP)
            block->warp[w].split[0].state = R_RUN;
}

const char *emu_describe_wait(const emu_warp *warp, char *text, size_t bytes)
{
    const emu_warp *missing = missing_warp(warp, place_of(warp));

    if (missing && missing->splits == 0)
        snprintf(text, bytes, "waits for warp %u of its warpgroup, which has returned", missing->number);
    else if (missing)
        snprintf(text, bytes, "waits for warp %u of its warpgroup, which is at line %u", missing->number,
                 place_of(missing)->line);
    else
        snprintf(text, bytes, "its warpgroup waits for registers, of which the block has %u left", warp->block->registers);
    return text;
}
