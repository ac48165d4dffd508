/* SPDX-License-Identifier: Apache-2.0 */
/* copy: asynchronous copies, and their waits. */
#include "counters.h"
#include "finding.h"
#include "request.h"

/* cp.async.cg.shared.global [to], [from], size{, from_size}: shared memory does not change before the wait. */
static void copy_async(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const unsigned bytes = ((const uint32_t *)emu_lanes(warp, &inst->operand[2]))[__builtin_ctz(mask)];
    const bool has_source_size = inst->operands > 3 && inst->operand[3].bytes == 4;
    cuEmuCounters *line = emu_line(warp, inst);
    uint32_t reads = mask, parts = 0, missing = 0, part[EMU_LANES];
    emu_request to, from;

    if ((bytes != 4 && bytes != 8 && bytes != 16) || (inst->choice[0] == 2 && bytes != 16)) {
        emu_find(warp, inst, CUEMU_ILLEGAL, __builtin_ctz(mask), 0,
                 "a copy of %u bytes; cp.async takes 4, 8 or 16, with .cg 16", bytes);
        return;
    }
    if (inst->operands > 3 && !has_source_size) /* ignore-src predicate */
        reads &= ~emu_predicate(warp, &inst->operand[3]);
    EMU_EACH_LANE (i, mask) {
        part[i] = has_source_size ? (uint32_t)emu_unsigned(warp, &inst->operand[3], i) : reads >> i & 1 ? bytes : 0;
        if (part[i] > bytes) {
            emu_find(warp, inst, CUEMU_ILLEGAL, i, 0, "reads %u bytes of a copy of %u", part[i], bytes);
            return;
        }
        if (part[i] == 0)
            reads &= ~(1u << i);
        else if (part[i] < bytes)
            parts |= 1u << i, missing += bytes - part[i];
    }
    if (!emu_resolve(warp, inst, S_SHARED, mask, &inst->operand[0], bytes, &to))
        return;
    /* Without a read, the source may be any address; a lane that reads a part needs only that part to exist. */
    EMU_EACH_LANE (i, parts) {
        const uint64_t address = emu_address_of(warp, &inst->operand[1], i);
        if (address & (bytes - 1)) {
            emu_find(warp, inst, CUEMU_MISALIGNED, i, address, "%u bytes at 0x%llx, which is not a multiple of %u", bytes,
                     (unsigned long long)address, bytes);
            return;
        }
        if (!emu_resolve(warp, inst, S_GLOBAL, 1u << i, &inst->operand[1], part[i], &from))
            return;
    }
    if (reads & ~parts && !emu_resolve(warp, inst, S_GLOBAL, reads & ~parts, &inst->operand[1], bytes, &from))
        return;
    if (line) {
        emu_count_async(line, to.place, mask, reads, bytes);
        if (reads)
            emu_count_global(line, from.place, reads, bytes, bytes / 4, false);
        line->async_bytes -= missing; /* of copies with a partial source */
        line->global_load_bytes -= missing;
        line->global_loads -= missing / 4;
    }
    EMU_EACH_LANE (i, reads)
        if (from.place[i].space != S_GLOBAL) {
            emu_find(warp, inst, CUEMU_ILLEGAL, i, 0, "copies from the parameters of the kernel");
            return;
        }
    EMU_EACH_LANE (i, mask) {
        const emu_copy copy = {.to = to.place[i].at,
                               .from = part[i] ? from.place[i].at : to.place[i].at,
                               .allocation = part[i] ? from.place[i].allocation : NULL,
                               .inst = (uint32_t)(inst - warp->block->launch->module->inst),
                               .bytes = bytes,
                               .ticket = warp->group[i],
                               .missing = (uint8_t)(bytes - part[i]),
                               .lane = (uint8_t)i};
        if (!emu_depart(warp, &copy))
            return;
    }
}

static void commit_group(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)inst;
    EMU_EACH_LANE (i, mask)
        warp->group[i]++;
}

/* Let lanes wait until at most `groups` of their committed groups are pending, or for every copy. */
typedef struct wait {
    const uint32_t *group; /* of each lane */
    uint32_t mask, groups;
    bool for_all;
} wait;

static bool is_due(const emu_copy *copy, const void *what)
{
    const wait *w = what;

    return w->mask >> copy->lane & 1 && (w->for_all || w->group[copy->lane] - copy->ticket > w->groups);
}

static void wait_for_copies(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint32_t *groups = inst->operands ? emu_lanes(warp, &inst->operand[0]) : NULL;
    const wait w = {warp->group, mask, groups ? *groups : 0, !groups};

    emu_land(warp, &warp->flight, is_due, &w);
}

#define ASYNC "{*.ca,.cg}{*.shared.global,.shared::cta.global}{.L2::64B,.L2::128B,.L2::256B}{.L2::cache_hint}"

const emu_form emu_copy_forms[] = {
    {"cp.async" ASYNC, "@ @ N H", copy_async, NULL, 0, D_OWN, 0, 0, 80},
    {"cp.async" ASYNC, "@ @ N w H", copy_async, NULL, 0, D_OWN, 0, 0, 80},
    {"cp.async" ASYNC, "@ @ N p H", copy_async, NULL, 0, D_OWN, 0, 0, 80},
    {"cp.async.commit_group", "", commit_group, NULL, 0, D_OWN, 0, 0, 80},
    {"cp.async.wait_group", "N", wait_for_copies, NULL, 0, D_OWN, 0, 0, 80},
    {"cp.async.wait_all", "", wait_for_copies, NULL, 0, D_OWN, 0, 0, 80},
    {0},
};
