/* SPDX-License-Identifier: Apache-2.0 */
#include "sums.h"

#include <stdlib.h>

#include "cluster.h"
#include "finding.h"
#include "warpgroup.h"

bool emu_sums_make(emu_warp *warp)
{
    warp->sums = calloc(1, sizeof *warp->sums);
    if (warp->sums)
        warp->sums->reg = calloc(warp->block->launch->function->registers + 1, sizeof *warp->sums->reg);
    return warp->sums && warp->sums->reg;
}

void emu_sums_start(emu_warp *warp)
{
    emu_sums *s = warp->sums;

    s->fences = s->groups = s->serial = s->done = s->issues = s->waits = 0;
    s->reported = NULL;
    memset(s->reg, 0, warp->block->launch->function->registers * sizeof *s->reg);
}

void emu_sums_free(emu_warp *warp)
{
    if (!warp->sums)
        return;
    free(warp->sums->issue);
    free(warp->sums->reg);
    free(warp->sums);
}

/* Return the pending product that has a register; NULL: there is none. */
static const emu_issue *owner_of(const emu_sums *s, const struct emu_sum_register *reg)
{
    const uint32_t age = s->serial - reg->serial;

    return reg->serial > s->done ? &s->issue[s->issues - 1 - age] : NULL;
}

static bool is_copy(const emu_inst *inst)
{
    return memcmp(inst->text, "mov.", 4) == 0 && inst->operands == 2 && inst->operand[1].reg;
}

/* ptxas moves constants freely, so moving one is not an access before a fence. */
static bool is_constant(const emu_inst *inst)
{
    return memcmp(inst->text, "mov.", 4) == 0 && inst->operands == 2 && !inst->operand[1].reg;
}

void emu_sums_load(emu_warp *warp, const emu_inst *inst)
{
    for (unsigned i = 0; warp->sums && i < inst->outputs; i++)
        warp->sums->reg[inst->operand[i].reg] = (struct emu_sum_register){.load = inst, .load_serial = warp->sums->waits};
}

/* Report an access to a result of a tcgen05.ld that may not have come yet. A copy to another register is none. */
static void touch_load(emu_warp *warp, const emu_inst *inst, const struct emu_sum_register *reg)
{
    if (reg->load && reg->load_serial == warp->sums->waits && reg->load != warp->sums->reported) {
        emu_find(warp, inst, CUEMU_ASYNC_IN_FLIGHT, 0, 0,
                 "uses a result of the tcgen05.ld at line %u before a tcgen05.wait::ld", reg->load->line);
        warp->sums->reported = reg->load; /* once for all its results */
    }
}

void emu_sums_touch(emu_warp *warp, const emu_inst *inst)
{
    emu_sums *s = warp->sums;

    for (unsigned i = 0; i < inst->operands; i++) {
        struct emu_sum_register *reg = &s->reg[inst->operand[i].reg];
        const emu_issue *owner = owner_of(s, reg);
        const bool is_written = i < inst->outputs;
        const bool renames = is_copy(inst) && owner_of(s, &s->reg[inst->operand[1].reg]);
        if (inst->operand[i].reg == 0 || (is_copy(inst) && !is_written))
            continue;
        if (owner && !renames && (is_written || reg->is_sum)) {
            emu_find(warp, inst, CUEMU_ASYNC_IN_FLIGHT, 0, 0,
                     "%s of the wgmma at line %u before a wgmma.wait_group that waits for it",
                     is_written ? reg->is_sum ? "writes a sum" : "writes a factor" : "reads a sum", owner->inst->line);
            reg->serial = 0; /* report once */
        }
        if (!is_copy(inst))
            touch_load(warp, inst, reg);
        if (is_copy(inst))
            *reg = s->reg[inst->operand[1].reg];
        else
            reg->touched = is_constant(inst) ? 0 : s->fences;
    }
}

static bool is_same_shape(const emu_inst *a, const emu_inst *b)
{
    return memcmp(a->shape, b->shape, sizeof a->shape) == 0 && memcmp(a->type, b->type, sizeof a->type) == 0;
}

/* Record a register of a product that is issued. */
static void take_register(emu_warp *warp, const emu_inst *inst, struct emu_sum_register *reg, bool is_sum)
{
    const emu_sums *s = warp->sums;
    const emu_issue *owner = owner_of(s, reg);

    if (owner && (is_sum != reg->is_sum || (is_sum && !is_same_shape(owner->inst, inst))))
        emu_find(warp, inst, CUEMU_ASYNC_IN_FLIGHT, 0, 0,
                 "takes a register of the wgmma at line %u, which has another %s, before a wgmma.wait_group that waits for it",
                 owner->inst->line, is_sum != reg->is_sum ? "use for it" : "shape");
    else if (!owner && s->fences == 0)
        emu_find(warp, inst, CUEMU_ASYNC_IN_FLIGHT, 0, 0, "no wgmma.fence stands before the warp's first wgmma");
    else if (!owner && reg->touched == s->fences)
        emu_find(warp, inst, CUEMU_ASYNC_IN_FLIGHT, 0, 0,
                 "no wgmma.fence stands between the last access to its registers and this wgmma");
    reg->touched = 0;
    reg->serial = s->serial + 1;
    reg->is_sum = is_sum;
}

void emu_sums_issue(emu_warp *warp, const emu_inst *inst)
{
    const emu_operand *a = inst->operand + inst->outputs;
    emu_sums *s = warp->sums;

    if (s->issues == s->capacity) {
        const uint32_t capacity = s->capacity * 2 + 8;
        emu_issue *larger = realloc(s->issue, capacity * sizeof *larger);
        if (!larger) {
            emu_find(warp, inst, CUEMU_ILLEGAL, 0, 0, "out of memory for products on their way");
            return;
        }
        s->issue = larger;
        s->capacity = capacity;
    }
    for (unsigned i = 0; i < inst->outputs; i++)
        take_register(warp, inst, &s->reg[inst->operand[i].reg], true);
    for (unsigned i = 0; a->bytes == 4 && i < 4; i++)
        take_register(warp, inst, &s->reg[a[i].reg], false);
    s->issue[s->issues++] = (emu_issue){inst, ++s->serial, s->groups, warp->block->cluster->now};
}

void emu_sums_commit(emu_warp *warp)
{
    warp->sums->groups++;
    warp->block->cluster->now++; /* the wait does not cover later reads */
}

void emu_sums_wait(emu_warp *warp, uint32_t groups)
{
    const emu_block *block = warp->block;
    emu_sums *s = warp->sums;
    uint32_t due = 0, *seen;

    while (due < s->issues && s->issue[due].group + groups < s->groups)
        due++;
    if (!due)
        return;
    s->done = s->issue[due - 1].serial;
    seen = &warp->past.seen[emu_product_slot(block->cluster, block->rank, warp->number / EMU_GROUP)];
    *seen = *seen < s->issue[due - 1].time ? s->issue[due - 1].time : *seen;
    s->issues -= due;
    memmove(s->issue, s->issue + due, s->issues * sizeof *s->issue);
}
