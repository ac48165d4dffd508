/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective: operations of a warp's lanes together: shuffles, votes, matches, and the ends and joins of splits.
 *
 * A function of F_COLLECTIVE is executed (step.c) only when all lanes of its member mask, which is its last operand, have
 * reached it.
 */
#include "finding.h"
#include "lanes.h"
#include "number.h"
#include "reduce.h"
#include "shadow.h"
#include "warpgroup.h"

static void do_nothing(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)warp, (void)inst, (void)mask;
}

/* The only collective that orders memory: shuffles and votes wait for the other members but order no earlier stores. */
static void warp_sync(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)inst;
    warp->step++;
    EMU_EACH_LANE (i, mask)
        warp->synced[i] = warp->step;
}

/* Give all members one result. */
static void answer(emu_warp *warp, const emu_inst *inst, uint32_t mask, uint32_t result)
{
    uint32_t *d = emu_lanes(warp, &inst->operand[0]);

    EMU_EACH_LANE (i, mask)
        d[i] = result;
    emu_set_defined(warp, &inst->operand[0], UINT32_MAX, mask);
}

static void answer_predicate(emu_warp *warp, const emu_operand *operand, uint32_t mask, uint32_t bits)
{
    emu_set_predicate(warp, operand, bits, mask);
    emu_set_defined(warp, operand, UINT32_MAX, mask);
}

/* ---- shuffles -------------------------------------------------------------------------------------------------------- */

enum { UP = 1 }; /* then down, butterfly, index */

/* shfl.sync.mode.b32 d|p, a, b, c, membermask: c holds the width of a segment and the clamp. */
static void shfl(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    uint32_t *d = emu_lanes(warp, &inst->operand[0]);
    const uint32_t *a = emu_lanes(warp, &inst->operand[2]), *b = emu_lanes(warp, &inst->operand[3]);
    const uint32_t *c = emu_lanes(warp, &inst->operand[4]);
    const uint32_t known = emu_defined(warp, &inst->operand[2]);
    uint32_t before[EMU_LANES], in_range = 0, defined = 0;

    for (int i = 0; i < EMU_LANES; i++)
        before[i] = a[i];
    EMU_EACH_LANE (i, mask) {
        const uint32_t by = b[i] & 31, clamp = c[i] & 31, segment = c[i] >> 8 & 31;
        const uint32_t last = ((uint32_t)i & segment) | (clamp & ~segment), first = (uint32_t)i & segment;
        const uint32_t of_mode[] = {0, (uint32_t)i - by, (uint32_t)i + by, (uint32_t)i ^ by, first | (by & ~segment)};
        const int source = (int)of_mode[inst->choice[0]];
        const bool is_inside = inst->choice[0] == UP ? source >= (int)last : source <= (int)last;
        const int from = is_inside ? source : i;
        if (!(mask >> from & 1))
            emu_find(warp, inst, CUEMU_ILLEGAL, i, 0, "lane %d reads from lane %d, which does not take part", i, from);
        d[i] = before[from];
        in_range |= (uint32_t)is_inside << i;
        defined |= (known >> from & 1) << i;
    }
    emu_set_defined(warp, &inst->operand[0], defined, mask);
    answer_predicate(warp, &inst->operand[1], mask, in_range);
}

/* ---- votes ----------------------------------------------------------------------------------------------------------- */

/* Return the members whose predicate is set. */
static uint32_t votes(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    if (warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED)
        emu_check_defined(warp, inst, &inst->operand[1], mask, "in a vote");
    return emu_predicate(warp, &inst->operand[1]) & mask;
}

static void vote(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint32_t yes = votes(warp, inst, mask);
    const bool all = yes == mask, any = yes != 0, result[] = {false, all, any, all || !any};

    answer_predicate(warp, &inst->operand[0], mask, result[inst->choice[0]] ? UINT32_MAX : 0);
}

static void ballot(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    answer(warp, inst, mask, votes(warp, inst, mask));
}

static void match(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const emu_operand *a = &inst->operand[2];
    uint32_t *d = emu_lanes(warp, &inst->operand[0]), result[EMU_LANES] = {0};
    bool is_same = true;

    EMU_EACH_LANE (i, mask)
        EMU_EACH_LANE (n, mask)
            result[i] |= (uint32_t)(emu_unsigned(warp, a, i) == emu_unsigned(warp, a, n)) << n;
    EMU_EACH_LANE (i, mask) {
        is_same &= result[i] == mask;
        d[i] = result[i];
    }
    if (inst->choice[0] == 1) /* all */
        EMU_EACH_LANE (i, mask)
            d[i] = is_same ? mask : 0;
    emu_set_defined(warp, &inst->operand[0], UINT32_MAX, mask);
    answer_predicate(warp, &inst->operand[1], mask, is_same ? UINT32_MAX : 0);
}

static void redux(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint32_t *a = emu_lanes(warp, &inst->operand[1]);
    uint64_t result = a[__builtin_ctz(mask)];

    EMU_EACH_LANE (i, mask & (mask - 1))
        result = emu_reduce(inst->choice[0], inst->type[0], result, a[i]);
    answer(warp, inst, mask, (uint32_t)result);
}

/* redux of f32: choice: min or max, abs, NaN. */
static void redux_f32(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const float *a = emu_lanes(warp, &inst->operand[1]);
    uint32_t result = 0x7fffffffu;
    bool is_nan = false, is_first = true;

    EMU_EACH_LANE (i, mask) {
        const uint32_t bits = emu_f32_bits(a[i]) & (inst->choice[1] ? 0x7fffffffu : UINT32_MAX);
        /* Map floats to integers of the same order, -0 below +0. */
        const int32_t place = bits >> 31 ? (int32_t) ~(bits & 0x7fffffffu) : (int32_t)bits;
        const int32_t best = result >> 31 ? (int32_t) ~(result & 0x7fffffffu) : (int32_t)result;
        if (a[i] != a[i]) {
            is_nan = true;
        } else if (is_first || (inst->choice[0] == 1 ? place < best : place > best)) {
            result = bits;
            is_first = false;
        }
    }
    answer(warp, inst, mask, inst->choice[2] && is_nan ? 0x7fffffffu : result);
}

static void activemask(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    answer(warp, inst, mask, mask);
}

/* elect.sync d|p, membermask: the lowest member */
static void elect(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    answer(warp, inst, mask, (uint32_t)__builtin_ctz(mask));
    answer_predicate(warp, &inst->operand[1], mask, mask & (0 - mask));
}

/* A lane that sleeps waits for another. */
static void yield(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)inst, (void)mask;
    warp->yields = true;
}

enum { INCREASE = 1, FEWEST_REGISTERS = 24, MOST_REGISTERS = 256 };

/* Return a warpgroup's registers to its block, or wait until other warpgroups have returned enough. */
static void setmaxnreg(emu_warp *first, const emu_inst *inst, uint32_t mask)
{
    const uint32_t now = first->registers, count = (uint32_t)emu_unsigned(first, &inst->operand[0], 0);
    const bool increases = inst->choice[0] == INCREASE;
    emu_block *block = first->block;

    (void)mask;
    if (count < FEWEST_REGISTERS || count > MOST_REGISTERS || count % 8 != 0) {
        emu_find(first, inst, CUEMU_ILLEGAL, 0, 0, "%u registers: a thread can have a multiple of 8 from %d to %d", count,
                 FEWEST_REGISTERS, MOST_REGISTERS);
        return;
    }
    if (!increases && count > now) {
        emu_find(first, inst, CUEMU_ILLEGAL, 0, 0, "gives registers back to have %u, where each thread has %u", count, now);
        return;
    }
    if (increases && count < now) {
        emu_find(first, inst, CUEMU_ILLEGAL, 0, 0,
                 "takes registers to have %u, where each thread has %u: setmaxnreg.dec gives them back", count, now);
        return;
    }
    if (count > now && (count - now) * EMU_GROUP * EMU_LANES > block->registers) {
        block->is_held = true;
        return;
    }
    block->registers += (now - count) * EMU_GROUP * EMU_LANES;
    for (int w = 0; w < EMU_GROUP; w++)
        first[w].registers = count;
    if (count < now)
        emu_wake_warpgroups(block);
}

static void trap(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_find(warp, inst, CUEMU_ASSERT, __builtin_ctz(mask), 0, "trap");
}

const emu_form emu_warp_forms[] = {
    {"bra{.uni}", "L", do_nothing, NULL, F_BRANCH, D_USE, 0, 0},
    {"brx.idx{.uni}", "w L", do_nothing, NULL, F_BRANCH_TABLE, D_USE, 0, 0},
    {"ret{.uni}", "", do_nothing, NULL, F_RETURN, D_USE, 0, 0},
    {"exit", "", do_nothing, NULL, F_EXIT, D_USE, 0, 0},
    {"trap", "", trap, NULL, 0, D_USE, 0, 0},
    {"brkpt", "", do_nothing, NULL, 0, D_USE, 0, 0},
    {"nanosleep.u32", "w", yield, NULL, 0, D_USE, 0, 0},
    {"setmaxnreg{*.inc,.dec}.sync.aligned.u32", "N", setmaxnreg, NULL, F_WARPGROUP, D_USE, 0, 0, 90},
    {"pmevent{.mask}", "N", do_nothing, NULL, 0, D_USE, 0, 0},
    /* choice[0]: sync, arrive, red; choice[1]: popc, and, or */
    {"bar{.cta}{*.sync}", "w w?", do_nothing, NULL, F_BARRIER, D_USE, 0, 0},
    {"barrier{.cta}{*.sync}{.aligned}", "w w?", do_nothing, NULL, F_BARRIER, D_USE, 0, 0},
    {"bar{.cta}{*.sync,.arrive}", "w w", do_nothing, NULL, F_BARRIER, D_USE, 0, 0},
    {"barrier{.cta}{*.sync,.arrive}{.aligned}", "w w", do_nothing, NULL, F_BARRIER, D_USE, 0, 0},
    {"bar{.cta}{*.-,.-,.red}{*.and,.or}.pred", "=p w p", do_nothing, NULL, F_BARRIER, D_OWN, 0, 0},
    {"barrier{.cta}{*.-,.-,.red}{*.and,.or}{.aligned}.pred", "=p w p", do_nothing, NULL, F_BARRIER, D_OWN, 0, 0},
    {"bar{.cta}{*.-,.-,.red}{*.and,.or,.popc}.u32", "=w w p", do_nothing, NULL, F_BARRIER, D_OWN, 0, 0},
    {"barrier{.cta}{*.-,.-,.red}{*.and,.or,.popc}{.aligned}.u32", "=w w p", do_nothing, NULL, F_BARRIER, D_OWN, 0, 0},
    {"bar.warp.sync", "w", warp_sync, NULL, F_COLLECTIVE, D_USE, 0, 0},
    {"shfl.sync{*.up,.down,.bfly,.idx}.b32", "=w|p w w w w", shfl, NULL, F_COLLECTIVE, D_OWN, 0, 0},
    {"vote.sync{*.all,.any,.uni}.pred", "=p p w", vote, NULL, F_COLLECTIVE, D_OWN, 0, 0},
    {"vote.sync.ballot.b32", "=w p w", ballot, NULL, F_COLLECTIVE, D_OWN, 0, 0},
    {"match{*.all,.any}.sync{*.b32,.b64}", "=w|p T w", match, NULL, F_COLLECTIVE, D_OWN, 0, 0},
    {"redux.sync{*.and,.or,.xor,.add,.min,.max}{*.u32,.s32,.b32}", "=w w w", redux, NULL, F_COLLECTIVE, D_OWN, 0, 0},
    {"redux.sync{*.min,.max}{.abs}{.NaN}.f32", "=w w w", redux_f32, NULL, F_COLLECTIVE, D_OWN, 0, 0},
    {"activemask.b32", "=w", activemask, NULL, 0, 0, 0, 0},
    {"elect.sync", "=w|p w", elect, NULL, F_COLLECTIVE, D_OWN, 0, 0},
    {0},
};
