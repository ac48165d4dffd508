/* SPDX-License-Identifier: Apache-2.0 */
#include "step.h"

#include "call.h"
#include "cluster.h"
#include "counters.h"
#include "finding.h"
#include "shadow.h"
#include "sums.h"
#include "warpgroup.h"

enum { STREAK = 20000 }; /* instructions before another split has its turn */

/* ---- splits ---------------------------------------------------------------------------------------------------------- */

static emu_split *add_split(emu_warp *warp, const emu_split *like, uint32_t pc, uint32_t mask)
{
    emu_split *s = &warp->split[warp->splits++]; /* at most one split per lane */

    *s = *like;
    s->pc = pc;
    s->mask = mask;
    s->state = R_RUN;
    return s;
}

static void remove_split(emu_warp *warp, uint32_t index)
{
    warp->split[index] = warp->split[--warp->splits];
}

static bool may_join(const emu_split *a, const emu_split *b)
{
    return a->pc == b->pc && a->depth == b->depth &&
           memcmp(a->return_to, b->return_to, a->depth * sizeof a->return_to[0]) == 0 &&
           memcmp(a->call_from, b->call_from, a->depth * sizeof a->call_from[0]) == 0;
}

/* Join all splits at the place of split `index` with it; lanes that waited for them may try again. Returns its new index. */
static uint32_t join(emu_warp *warp, uint32_t index)
{
    for (uint32_t i = 0; i < warp->splits; i++) {
        if (i == index || warp->split[i].state == R_BARRIER || !may_join(&warp->split[index], &warp->split[i]))
            continue;
        warp->split[index].mask |= warp->split[i].mask;
        remove_split(warp, i);
        if (index == warp->splits)
            index = i;
        i--;
    }
    return index;
}

/* Return the split to run next, or warp->splits if all wait. */
static uint32_t pick(emu_warp *warp, bool is_turn_over)
{
    const emu_inst *inst = warp->block->launch->module->inst;
    uint32_t best = warp->splits, runnable[EMU_LANES], n = 0;

    for (uint32_t i = 0; i < warp->splits; i++) {
        if (warp->split[i].state != R_RUN)
            continue;
        runnable[n++] = i;
        if (best == warp->splits || inst[warp->split[i].pc].priority < inst[warp->split[best].pc].priority)
            best = i;
    }
    if (n < 2)
        return best;
    if (is_turn_over) /* the running split may wait for another: for a lock, for example */
        return runnable[warp->executed / STREAK % n];
    if (warp->block->launch->seed && emu_random(warp->block) % 4 == 0)
        return runnable[emu_random(warp->block) % n];
    return best;
}

static void end_lanes(emu_warp *warp, uint32_t index, uint32_t mask)
{
    warp->alive &= ~mask;
    warp->exited |= mask;
    warp->block->patience.steps++;
    warp->split[index].mask &= ~mask;
    if (warp->split[index].mask == 0)
        remove_split(warp, index);
    /* Do not wait for members that returned. */
    for (uint32_t i = 0; i < warp->splits; i++)
        if (warp->split[i].state == R_COLLECTIVE)
            warp->split[i].state = R_RUN;
    emu_cluster_leave(warp->block);
}

/* ---- one instruction ------------------------------------------------------------------------------------------------- */

static void track(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    uint32_t defined = UINT32_MAX;

    if (inst->tracking == D_SELECT) {
        const uint32_t p = emu_predicate(warp, &inst->operand[3]);
        defined = emu_defined(warp, &inst->operand[3]) &
                  ((p & emu_defined(warp, &inst->operand[1])) | (~p & emu_defined(warp, &inst->operand[2])));
    } else {
        for (unsigned i = inst->tracking == D_LAST ? inst->operands - 1U : inst->outputs; i < inst->operands; i++)
            defined &= emu_defined(warp, &inst->operand[i]);
    }
    for (unsigned i = 0; i < inst->outputs; i++)
        emu_set_defined(warp, &inst->operand[i], defined, mask);
}

void emu_count_inst(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    cuEmuCounters *line = emu_line(warp, inst);
    const uint64_t lanes = emu_popcount(mask);
    const unsigned pair = inst->type[0] == T_F16X2 || inst->type[0] == T_BF16X2 || inst->type[0] == T_F32X2 ? 2 : 1;

    line->instructions++;
    line->lane_instructions += lanes;
    line->flops += lanes * inst->flops * pair;
    line->fma += lanes * inst->is_fma * pair;
    line->mma_flops += mask ? inst->mma_flops : 0;
}

/* Return the members of a collective, as one lane names them. */
static uint32_t members(const emu_warp *warp, const emu_inst *inst, int lane)
{
    return inst->flow >= F_WARP ? UINT32_MAX : (uint32_t)emu_unsigned(warp, &inst->operand[inst->operands - 1], lane);
}

/* Return the lanes of mask that name these members. */
static uint32_t members_alike(const emu_warp *warp, const emu_inst *inst, uint32_t mask, uint32_t wanted)
{
    uint32_t alike = 0;

    EMU_EACH_LANE (i, mask)
        alike |= (uint32_t)(members(warp, inst, i) == wanted) << i;
    return alike;
}

/* Execute a collective for the lanes of mask, group by group; false: some members have not arrived. */
static bool try_collective(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    uint32_t left = mask, group;

    if (inst->flow >= F_WARP && warp->alive != UINT32_MAX) {
        emu_find(warp, inst, CUEMU_ILLEGAL, __builtin_ctz(mask), 0,
                 "needs all 32 lanes of the warp; those of 0x%08x have returned or never were", ~warp->alive);
        return true;
    }
    for (; left; left &= ~group) {
        const uint32_t wanted = members(warp, inst, __builtin_ctz(left));
        group = members_alike(warp, inst, left, wanted);
        if (group & ~wanted && warp->block->launch->checks & CUEMU_CHECK_MASKS) {
            emu_find(warp, inst, CUEMU_ILLEGAL, __builtin_ctz(group & ~wanted), 0,
                     "the lane is not in its own member mask 0x%08x", wanted);
            return true;
        }
        if ((group & wanted) != (wanted & warp->alive))
            return false;
    }
    for (left = mask; left; left &= ~group) {
        group = members_alike(warp, inst, left, members(warp, inst, __builtin_ctz(left)));
        inst->exec(warp, inst, group);
    }
    return true;
}

/* Execute an instruction that each lane waits at for itself; false: some lanes still wait, in a split of their own. */
static bool try_to_go_on(emu_warp *warp, emu_split *s, const emu_inst *inst, uint32_t mask)
{
    const uint32_t here = s->pc;
    uint32_t waiting = 0;

    warp->waiting = 0;
    warp->waits_for = NULL;
    if (mask)
        inst->exec(warp, inst, mask);
    waiting = warp->waiting & mask;
    if (warp->block->line && mask != waiting) /* count once, not at each try */
        emu_count_inst(warp, inst, mask & ~waiting);
    if (waiting == s->mask) {
        s->state = R_WAIT;
        return false;
    }
    s->pc++;
    if (!waiting)
        return true;
    s->mask &= ~waiting;
    add_split(warp, s, here, waiting)->state = R_WAIT;
    return false;
}

/* Return R_RUN if the lanes of mask executed it with all others that must; otherwise the state in which they wait for these. */
static emu_state try_together(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    if (inst->flow == F_BARRIER)
        return R_BARRIER;
    if (inst->flow == F_WARPGROUP && mask == UINT32_MAX)
        return emu_meet_warpgroup(warp, inst) ? R_RUN : R_WARPGROUP;
    warp->is_held = false;
    if (!try_collective(warp, inst, mask))
        return R_COLLECTIVE;
    warp->waits_for = warp->is_held ? NULL : warp->waits_for;
    return warp->is_held ? R_WAIT : R_RUN;
}

/* brx.idx: make a split for each target. */
static void branch_by_table(emu_warp *warp, const emu_split *s, const emu_inst *inst, uint32_t mask)
{
    const uint32_t *which = emu_lanes(warp, &inst->operand[0]);

    if (warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED)
        emu_check_defined(warp, inst, &inst->operand[0], mask, "as the index of a branch");
    for (uint32_t left = mask, group; left; left &= ~group) {
        const uint32_t to = which[__builtin_ctz(left)];
        group = 0;
        EMU_EACH_LANE (i, left)
            group |= (uint32_t)(which[i] == to) << i;
        if (to < inst->table_length)
            add_split(warp, s, inst->table[to], group);
        else
            emu_find(warp, inst, CUEMU_ILLEGAL, __builtin_ctz(group), 0, "branch %u of %u", to, inst->table_length);
    }
}

/* Run split `index` until it ends, waits, diverges or reaches a place where others may join. Returns instructions executed. */
static uint64_t run_split(emu_warp *warp, uint32_t index, uint64_t limit)
{
    const emu_launch *launch = warp->block->launch;
    const emu_inst *insts = launch->module->inst;
    const bool tracks = launch->checks & CUEMU_CHECK_UNINITIALISED;
    emu_split *s = &warp->split[index];
    uint64_t executed = 0;

    for (;;) {
        const emu_inst *inst = &insts[s->pc];
        uint32_t mask = s->mask;

        if (inst->is_block_start && executed) {
            if (executed >= limit || warp->splits > 1 || warp->yields || emu_has_failed(warp))
                return executed;
        }
        executed++;
        if (inst->is_guarded) {
            const uint32_t p = *(const uint32_t *)emu_lanes(warp, &inst->guard);
            if (tracks && mask & ~emu_defined(warp, &inst->guard))
                emu_check_defined(warp, inst, &inst->guard, mask, "as the guard of an instruction");
            mask &= inst->guard_negated ? ~p : p;
        }
        if (inst->meets_sums && warp->sums && mask)
            emu_sums_touch(warp, inst);
        if (warp->block->line && inst->flow < F_COLLECTIVE && inst->flow != F_WAIT)
            emu_count_inst(warp, inst, mask);
        switch (inst->flow) {
        case F_NEXT:
            if (mask) {
                if (tracks && inst->tracking <= D_SELECT)
                    track(warp, inst, mask);
                inst->exec(warp, inst, mask);
            }
            s->pc++;
            continue;
        case F_BRANCH:
            if (mask == s->mask) {
                s->pc = inst->target;
                continue;
            }
            if (!mask) {
                s->pc++;
                continue;
            }
            if (warp->block->line)
                emu_line(warp, inst)->divergences++;
            s->mask &= ~mask;
            s->pc++;
            add_split(warp, s, inst->target, mask);
            return executed;
        case F_BRANCH_TABLE:
            if (mask)
                branch_by_table(warp, s, inst, mask);
            s->mask &= ~mask;
            s->pc++;
            if (s->mask == 0)
                remove_split(warp, index);
            return executed;
        case F_EXIT:
        case F_RETURN:
            if (inst->flow == F_RETURN && s->depth > 0) {
                if (mask == s->mask) {
                    emu_leave_call(warp, s);
                    continue;
                }
                if (mask) {
                    add_split(warp, s, s->pc, mask);
                    s->mask &= ~mask;
                    emu_leave_call(warp, &warp->split[warp->splits - 1]);
                }
                s->pc++;
                return executed;
            }
            s->pc++;
            if (mask)
                end_lanes(warp, index, mask);
            return executed;
        case F_CALL:
            if (mask != s->mask) {
                if (mask) {
                    emu_split *inside = add_split(warp, s, s->pc, mask);
                    s->mask &= ~mask;
                    emu_enter_call(warp, inside, inst);
                }
                s->pc++;
                return executed;
            }
            if (!emu_enter_call(warp, s, inst))
                return executed;
            continue;
        case F_WAIT:
            if (try_to_go_on(warp, s, inst, mask))
                continue;
            return executed;
        case F_BARRIER:
        default:
            if (!mask) {
                s->pc++;
                continue;
            }
            if (mask != s->mask) {
                const uint32_t here = s->pc;
                s->mask &= ~mask;
                s->pc++;
                s = add_split(warp, s, here, mask);
            }
            s->state = (uint8_t)try_together(warp, inst, mask);
            if (s->state == R_RUN) {
                if (warp->block->line) /* count once, not at each try */
                    emu_count_inst(warp, inst, mask);
                s->pc++;
                if (warp->splits > 1)
                    return executed;
                continue;
            }
            return executed;
        }
    }
}

/* ---- warps ----------------------------------------------------------------------------------------------------------- */

/* Let waiting lanes try again if anything happened that they may wait for. */
static void wake(emu_warp *warp)
{
    const uint64_t events = warp->block->cluster->events;

    for (uint32_t i = 0; i < warp->splits && warp->events != events; i++)
        if (warp->split[i].state == R_WAIT)
            warp->split[i].state = R_RUN;
    warp->events = events;
}

bool emu_run_warp(emu_warp *warp, uint64_t quantum)
{
    uint64_t executed = 0, streak = 0;

    warp->yields = false;
    wake(warp);
    while (executed < quantum && !warp->yields) {
        uint32_t index;
        uint64_t n;
        if (emu_has_failed(warp))
            return false;
        if (warp->splits == 0)
            return true;
        index = pick(warp, streak > STREAK);
        if (index == warp->splits)
            return true;
        if (streak > STREAK)
            streak = 0;
        index = join(warp, index);
        warp->split[index].state = R_RUN;
        n = run_split(warp, index, quantum - executed < STREAK ? quantum - executed : STREAK);
        executed += n;
        streak += n;
        warp->executed += n;
    }
    return true;
}
