/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule: blocks, their warps and the ways that lanes go.
 *
 * Blocks are shared out among host threads and run one after the other on each. In a block, warps run until they wait. In a warp,
 * the split with the lowest priority (flow.c) runs until the next block of instructions, where it may meet others. What waits, waits
 * for itself: correctness never depends on who runs first, which a seed can change.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "count.h"
#include "progress.h"
#include "schedule.h"

enum { QUANTUM = 1 << 16, STREAK = 20000, LOOK = 1 << 16 }; /* instructions; LOOK: between two looks at a block's progress */

/* Why a warp stopped running. */
typedef enum stop { STOP_WAITS, STOP_DONE, STOP_TURN, STOP_FAILED } stop;

static uint64_t next_random(emu_block *block)
{
    uint64_t x = block->random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return block->random = x;
}

static bool has_failed(const emu_warp *warp)
{
    return atomic_load_explicit(&warp->block->launch->failed, memory_order_relaxed) != 0;
}

/* ---- splits ---------------------------------------------------------------------------------------------------------- */

static emu_split *add_split(emu_warp *warp, const emu_split *like, uint32_t pc, uint32_t mask)
{
    emu_split *s = &warp->split[warp->splits++]; /* at most one for each lane */

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

/* Let all that stand where split index stands join it; whoever waited for them may try again. Returns its new index. */
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

/* The split to run next, or splits if all wait. */
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
    if (is_turn_over) /* whoever runs may be waiting for another: a lock, for example */
        return runnable[warp->executed / STREAK % n];
    if (warp->block->launch->seed && next_random(warp->block) % 4 == 0)
        return runnable[next_random(warp->block) % n];
    return best;
}

static void end_lanes(emu_warp *warp, uint32_t index, uint32_t mask)
{
    warp->alive &= ~mask;
    warp->exited |= mask;
    warp->block->progress.steps++;
    warp->split[index].mask &= ~mask;
    if (warp->split[index].mask == 0)
        remove_split(warp, index);
    /* Members that returned are waited for no longer. */
    for (uint32_t i = 0; i < warp->splits; i++)
        if (warp->split[i].state == R_COLLECTIVE)
            warp->split[i].state = R_RUN;
}

/* ---- calls ----------------------------------------------------------------------------------------------------------- */

static void copy_frames(emu_warp *warp, uint32_t mask, uint32_t from, uint32_t to, uint32_t bytes)
{
    const size_t frame = warp->block->launch->function->frame_bytes;

    EMU_EACH_LANE (i, mask)
        memcpy(warp->frame + (size_t)i * frame + to, warp->frame + (size_t)i * frame + from, bytes);
}

/* Text of the program at a generic address, for messages. */
static void read_text(uint64_t address, char *text, size_t bytes)
{
    const emu_allocation *one = emu_memory_find(address);
    size_t n = 0;

    while (one && n + 1 < bytes && address + n < one->base + one->size && one->host[address + n - one->base]) {
        text[n] = (char)one->host[address + n - one->base];
        n++;
    }
    text[n] = '\0';
}

static uint64_t frame_word(const emu_warp *warp, int lane, uint32_t offset, unsigned bytes)
{
    uint64_t value = 0;

    memcpy(&value, warp->frame + (size_t)lane * warp->block->launch->function->frame_bytes + offset, bytes);
    return value;
}

/* printf("%d %f\n", ...): the arguments lie in local memory, each aligned to its size. */
static void print(emu_warp *warp, const emu_call *call, int lane)
{
    const uint64_t list = frame_word(warp, lane, call->input_from[1], 8) - EMU_LOCAL_WINDOW;
    const uint64_t local_bytes = warp->block->launch->function->local_bytes;
    const uint8_t *local = warp->local + (size_t)lane * local_bytes;
    uint64_t at = list;
    char format[1024], text[1024];

    read_text(frame_word(warp, lane, call->input_from[0], 8), format, sizeof format);
    for (const char *p = format; *p; p++) {
        char piece[32];
        size_t n = 0;
        uint64_t bits = 0;
        unsigned bytes;
        if (*p != '%' || p[1] == '%') {
            p += *p == '%';
            putchar(*p);
            continue;
        }
        while (*p && n < sizeof piece - 4 && !strchr("diouxXcsfFeEgGaAp", *p))
            piece[n++] = *p++;
        if (!*p)
            break;
        bytes = strchr("fFeEgGaAsp", *p) || memchr(piece, 'l', n) ? 8 : 4;
        at = (at + bytes - 1) / bytes * bytes;
        if (at + bytes > local_bytes)
            break;
        memcpy(&bits, local + at, bytes);
        at += bytes;
        piece[n++] = *p;
        piece[n] = '\0';
        if (strchr("fFeEgGaA", *p)) {
            double value;
            memcpy(&value, &bits, 8);
            printf(piece, value);
        } else if (*p == 's') {
            read_text(bits, text, sizeof text);
            printf(piece, text);
        } else if (*p == 'p') {
            printf("0x%llx", (unsigned long long)bits);
        } else if (bytes == 8) {
            printf(piece, (unsigned long long)bits);
        } else {
            printf(piece, (unsigned)bits);
        }
    }
    fflush(stdout);
}

static void call_builtin(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;
    const emu_call *call = inst->call;

    if (call->kind == CALL_ASSERT) {
        const int lane = __builtin_ctz(mask);
        char what[128], file[128];
        read_text(frame_word(warp, lane, call->input_from[0], 8), what, sizeof what);
        read_text(frame_word(warp, lane, call->input_from[1], 8), file, sizeof file);
        emu_find(warp, inst, CUEMU_ASSERT, lane, 0, "assertion failed: %s, %s:%u", what, file,
                 (unsigned)frame_word(warp, lane, call->input_from[2], 4));
        return;
    }
    pthread_mutex_lock(&output);
    EMU_EACH_LANE (i, mask)
        print(warp, call, i);
    pthread_mutex_unlock(&output);
}

/* false: too deep */
static bool enter(emu_warp *warp, emu_split *s, const emu_inst *inst)
{
    const emu_call *call = inst->call;

    if (call->kind != CALL_FUNCTION) {
        call_builtin(warp, inst, s->mask);
        s->pc++;
        return true;
    }
    if (s->depth == EMU_MAX_DEPTH) {
        emu_find(warp, inst, CUEMU_ILLEGAL, __builtin_ctz(s->mask), 0, "more than %d calls inside each other", EMU_MAX_DEPTH);
        return false;
    }
    for (uint32_t i = 0; i < call->inputs; i++)
        copy_frames(warp, s->mask, call->input_from[i], call->input_to[i], call->input_bytes[i]);
    s->call_from[s->depth] = s->pc;
    s->return_to[s->depth++] = s->pc + 1;
    s->pc = call->callee->first_inst;
    return true;
}

static void leave(emu_warp *warp, emu_split *s)
{
    const emu_call *call = warp->block->launch->module->inst[s->call_from[s->depth - 1]].call;

    for (uint32_t i = 0; i < call->outputs; i++)
        copy_frames(warp, s->mask, call->output_from[i], call->output_to[i], call->output_bytes[i]);
    s->pc = s->return_to[--s->depth];
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
        for (unsigned i = inst->outputs; i < inst->operands; i++)
            defined &= emu_defined(warp, &inst->operand[i]);
    }
    for (unsigned i = 0; i < inst->outputs; i++)
        emu_set_defined(warp, &inst->operand[i], defined, mask);
}

static void count_inst(emu_warp *warp, const emu_inst *inst, uint32_t mask)
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

/* mma, ldmatrix, stmatrix, movmatrix: they have no member mask */
static bool is_of_whole_warp(const emu_inst *inst)
{
    return inst->text_length > 3 && (memcmp(inst->text, "mma", 3) == 0 || memcmp(inst->text, "ldm", 3) == 0 ||
                                     memcmp(inst->text, "stm", 3) == 0 || memcmp(inst->text, "mov", 3) == 0);
}

/* Members of a collective, seen from one lane. */
static uint32_t members(const emu_warp *warp, const emu_inst *inst, int lane)
{
    if (is_of_whole_warp(inst))
        return UINT32_MAX;
    return (uint32_t)emu_unsigned(warp, &inst->operand[inst->operands - 1], lane);
}

/* The lanes of mask that want these members. */
static uint32_t members_alike(const emu_warp *warp, const emu_inst *inst, uint32_t mask, uint32_t wanted)
{
    uint32_t alike = 0;

    EMU_EACH_LANE (i, mask)
        alike |= (uint32_t)(members(warp, inst, i) == wanted) << i;
    return alike;
}

/* Execute a collective for the lanes of mask, group by group; false: some of the members are elsewhere still. */
static bool try_collective(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    uint32_t left = mask, group;

    if (is_of_whole_warp(inst) && warp->alive != UINT32_MAX) {
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

/* brx.idx: a split for each target. */
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

/* Run split index until it ends, waits, parts or comes to where others may join. Returns instructions executed. */
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
            if (executed >= limit || warp->splits > 1 || has_failed(warp))
                return executed;
        }
        executed++;
        if (inst->is_guarded) {
            const uint32_t p = *(const uint32_t *)emu_lanes(warp, &inst->guard);
            if (tracks && mask & ~emu_defined(warp, &inst->guard))
                emu_check_defined(warp, inst, &inst->guard, mask, "as the guard of an instruction");
            mask &= inst->guard_negated ? ~p : p;
        }
        if (warp->block->line && inst->flow != F_COLLECTIVE)
            count_inst(warp, inst, mask);
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
                    leave(warp, s);
                    continue;
                }
                if (mask) {
                    add_split(warp, s, s->pc, mask);
                    s->mask &= ~mask;
                    leave(warp, &warp->split[warp->splits - 1]);
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
                    enter(warp, inside, inst);
                }
                s->pc++;
                return executed;
            }
            if (!enter(warp, s, inst))
                return executed;
            continue;
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
            if (inst->flow == F_COLLECTIVE && try_collective(warp, inst, mask)) {
                if (warp->block->line) /* once, not at each try */
                    count_inst(warp, inst, mask);
                s->pc++;
                if (warp->splits > 1)
                    return executed;
                continue;
            }
            s->state = inst->flow == F_COLLECTIVE ? R_COLLECTIVE : R_BARRIER;
            return executed;
        }
    }
}

/* ---- warps ----------------------------------------------------------------------------------------------------------- */

static stop run_warp(emu_warp *warp, uint64_t quantum)
{
    uint64_t executed = 0, streak = 0;

    while (executed < quantum) {
        uint32_t index;
        uint64_t n;
        if (has_failed(warp))
            return STOP_FAILED;
        if (warp->splits == 0)
            return STOP_DONE;
        index = pick(warp, streak > STREAK);
        if (index == warp->splits)
            return STOP_WAITS;
        if (streak > STREAK)
            streak = 0;
        index = join(warp, index);
        warp->split[index].state = R_RUN;
        n = run_split(warp, index, quantum - executed < STREAK ? quantum - executed : STREAK);
        executed += n;
        streak += n;
        warp->executed += n;
    }
    return STOP_TURN;
}

static bool is_aligned(const emu_inst *inst)
{
    return memcmp(inst->text, "barrier", 7) != 0 || memmem(inst->text, inst->text_length, ".aligned", 8) != NULL;
}

/* All lanes that live stand at barriers: is it one the warp may enter? Merges them into the first split. */
static bool meet_at_barrier(emu_warp *warp)
{
    const emu_inst *insts = warp->block->launch->module->inst, *first = &insts[warp->split[0].pc];
    const uint32_t id = (uint32_t)emu_unsigned(warp, &first->operand[first->outputs], __builtin_ctz(warp->split[0].mask));

    for (uint32_t i = 0; i < warp->splits; i++) {
        const emu_inst *inst = &insts[warp->split[i].pc];
        const int lane = __builtin_ctz(warp->split[i].mask);
        const bool is_same = inst == first;
        if (warp->split[i].state == R_COLLECTIVE) {
            emu_find(warp, inst, CUEMU_DIVERGENT, lane, 0, "waits for lanes of its member mask that are at line %u",
                     insts[warp->split[i ? 0 : warp->splits - 1].pc].line);
            return false;
        }
        if (!is_same &&
            (is_aligned(inst) || is_aligned(first) || emu_unsigned(warp, &inst->operand[inst->outputs], lane) != id)) {
            emu_find(warp, inst, CUEMU_DIVERGENT, lane, 0, "waits here while other lanes of its warp wait at line %u",
                     first->line);
            return false;
        }
    }
    return true;
}

/* What a barrier instruction wants: its number, threads (0: all), and what it does. */
typedef struct barrier {
    uint32_t id, threads;
    bool arrives, reduces;
    int how; /* and or popc */
} barrier;

static barrier barrier_of(const emu_warp *warp, const emu_inst *inst)
{
    const int lane = __builtin_ctz(warp->split[0].mask);
    barrier b = {.id = (uint32_t)emu_unsigned(warp, &inst->operand[inst->outputs], lane),
                 .arrives = inst->choice[1] == 2,
                 .reduces = inst->choice[1] == 3,
                 .how = inst->choice[2]};
    if (!b.reduces && inst->operands > 1)
        b.threads = (uint32_t)emu_unsigned(warp, &inst->operand[1], lane);
    return b;
}

/* Warps that wait at barrier id; *live: warps that have not returned. */
static uint32_t count_waiting(const emu_block *block, uint32_t id, uint32_t *live)
{
    const emu_inst *insts = block->launch->module->inst;
    uint32_t waiting = 0;

    *live = 0;
    for (uint32_t w = 0; w < block->launch->warps; w++) {
        const emu_warp *warp = &block->warp[w];
        *live += warp->splits > 0;
        if (warp->splits > 0 && warp->split[0].state == R_BARRIER && warp->barrier_threads != UINT32_MAX &&
            barrier_of(warp, &insts[warp->split[0].pc]).id == id)
            waiting++;
    }
    return waiting;
}

static void release(emu_block *block, uint32_t id)
{
    const emu_inst *insts = block->launch->module->inst;
    uint32_t all = 1, any = 0, sum = 0, exited = 0;
    emu_warp *first = NULL;

    for (uint32_t w = 0; w < block->launch->warps; w++) {
        emu_warp *warp = &block->warp[w];
        const emu_inst *inst = warp->splits ? &insts[warp->split[0].pc] : NULL;
        exited |= warp->exited;
        if (!inst || warp->split[0].state != R_BARRIER || barrier_of(warp, inst).id != id)
            continue;
        first = first ? first : warp;
        if (barrier_of(warp, inst).reduces) {
            const uint32_t yes = emu_predicate(warp, &inst->operand[inst->operands - 1]) & warp->alive;
            all &= yes == warp->alive;
            any |= yes != 0;
            sum += emu_popcount(yes);
        }
    }
    /* A barrier that counts its threads does not wait for those of the whole block. */
    if (exited && block->launch->checks & CUEMU_CHECK_BARRIERS && first && first->barrier_threads == 0)
        emu_find(first, &insts[first->split[0].pc], CUEMU_EXITED_BARRIER, __builtin_ctz(first->split[0].mask), 0,
                 "threads of the block have returned and never reach this barrier, which waits for the others only");
    if (first && block->line)
        emu_line(first, &insts[first->split[0].pc])->block_barriers++;
    for (uint32_t w = 0; w < block->launch->warps; w++) {
        emu_warp *warp = &block->warp[w];
        const emu_inst *inst = warp->splits ? &insts[warp->split[0].pc] : NULL;
        if (!inst || warp->split[0].state != R_BARRIER || barrier_of(warp, inst).id != id)
            continue;
        if (barrier_of(warp, inst).reduces) {
            const uint32_t result = inst->choice[2] == 1 ? all : inst->choice[2] == 2 ? any : sum;
            if (inst->operand[0].bytes == 0)
                emu_set_predicate(warp, &inst->operand[0], result ? UINT32_MAX : 0, warp->alive);
            else
                EMU_EACH_LANE (i, warp->alive)
                    emu_set_unsigned(warp, &inst->operand[0], i, inst->choice[2] == 3 ? result : result ? UINT32_MAX : 0);
            emu_set_defined(warp, &inst->operand[0], UINT32_MAX, warp->alive);
        }
        for (uint32_t i = 0; i < warp->splits; i++) {
            warp->split[i].state = R_RUN;
            warp->split[i].pc++;
        }
        warp->step++;
    }
    block->arrived[id] = 0;
    block->epoch++;
}

/* Warps that came to a barrier since the last turn: those that only arrive go on. Returns whether any could. */
static bool enter_barriers(emu_block *block)
{
    const emu_inst *insts = block->launch->module->inst;
    bool moved = false;

    for (uint32_t w = 0; w < block->launch->warps; w++) {
        emu_warp *warp = &block->warp[w];
        const emu_inst *inst;
        barrier b;
        if (warp->splits == 0 || warp->barrier_threads != UINT32_MAX)
            continue; /* done, or counted already */
        if (!meet_at_barrier(warp))
            return false;
        inst = &insts[warp->split[0].pc];
        b = barrier_of(warp, inst);
        if (b.id >= EMU_BARRIERS || b.threads % 32 != 0 || b.threads > block->launch->warps * 32) {
            emu_find(warp, inst, CUEMU_ILLEGAL, __builtin_ctz(warp->split[0].mask), 0,
                     "barrier %u of %u threads: there are %d barriers, for whole warps of the block", b.id, b.threads,
                     EMU_BARRIERS);
            return false;
        }
        if (warp->block->line)
            emu_line(warp, inst)->barriers++;
        warp->barrier_threads = b.threads;
        if (b.arrives) {
            block->arrived[b.id]++;
            for (uint32_t i = 0; i < warp->splits; i++) {
                warp->split[i].state = R_RUN;
                warp->split[i].pc++;
            }
            moved = true;
        }
    }
    return moved;
}

/* Let go all barriers that are complete; returns whether there was one. */
static bool release_barriers(emu_block *block)
{
    const emu_inst *insts = block->launch->module->inst;
    bool moved = false;

    for (uint32_t w = 0; w < block->launch->warps; w++) {
        emu_warp *warp = &block->warp[w];
        uint32_t waiting, live, wanted;
        barrier b;
        if (warp->splits == 0 || warp->split[0].state != R_BARRIER)
            continue;
        b = barrier_of(warp, &insts[warp->split[0].pc]);
        waiting = count_waiting(block, b.id, &live);
        wanted = b.threads ? b.threads / 32 : live;
        if (waiting + block->arrived[b.id] >= wanted) {
            release(block, b.id);
            moved = true;
        }
    }
    return moved;
}

static void report_deadlock(emu_block *block)
{
    const emu_inst *insts = block->launch->module->inst;
    char text[200] = "";
    size_t n = 0;

    for (uint32_t w = 0; w < block->launch->warps && n < sizeof text - 40; w++)
        if (block->warp[w].splits)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s warp %u at line %u", n ? "," : "", w,
                                  insts[block->warp[w].split[0].pc].line);
    for (uint32_t w = 0; w < block->launch->warps; w++)
        if (block->warp[w].splits) {
            emu_find(&block->warp[w], &insts[block->warp[w].split[0].pc], CUEMU_DEADLOCK,
                     __builtin_ctz(block->warp[w].split[0].mask), 0, "no warp can go on:%s", text);
            return;
        }
}

/* ---- blocks ---------------------------------------------------------------------------------------------------------- */

static uint64_t special_value(const emu_warp *warp, int kind, uint32_t lane)
{
    const emu_block *block = warp->block;
    const emu_launch *launch = block->launch;
    const uint32_t thread = warp->number * 32 + lane;

    switch (kind) {
    case SR_TID_X:
        return thread % launch->block[0];
    case SR_TID_Y:
        return thread / launch->block[0] % launch->block[1];
    case SR_TID_Z:
        return thread / launch->block[0] / launch->block[1];
    case SR_NTID_X:
    case SR_NTID_Y:
    case SR_NTID_Z:
        return launch->block[kind - SR_NTID_X];
    case SR_CTAID_X:
    case SR_CTAID_Y:
    case SR_CTAID_Z:
        return block->index[kind - SR_CTAID_X];
    case SR_NCTAID_X:
    case SR_NCTAID_Y:
    case SR_NCTAID_Z:
        return launch->grid[kind - SR_NCTAID_X];
    case SR_LANEID:
        return lane;
    case SR_WARPID:
        return warp->number;
    case SR_NWARPID:
        return launch->warps;
    case SR_SMID:
        return block->number % (uint64_t)launch->device->processors;
    case SR_NSMID:
        return (uint64_t)launch->device->processors;
    case SR_GRIDID:
        return launch->number;
    case SR_LANEMASK_EQ:
        return UINT64_C(1) << lane;
    case SR_LANEMASK_LE:
        return (UINT64_C(2) << lane) - 1;
    case SR_LANEMASK_LT:
        return (UINT64_C(1) << lane) - 1;
    case SR_LANEMASK_GE:
        return ~((UINT64_C(1) << lane) - 1) & UINT32_MAX;
    case SR_LANEMASK_GT:
        return ~((UINT64_C(2) << lane) - 1) & UINT32_MAX;
    case SR_DYNAMIC_SMEM:
        return launch->dynamic_shared;
    case SR_TOTAL_SMEM:
        return launch->dynamic_shared + launch->function->static_shared;
    default:
        return 0;
    }
}

static void start_warp(emu_warp *warp, const emu_launch *launch, uint32_t number)
{
    const uint32_t left = launch->threads - number * 32, lanes = left < 32 ? left : 32;

    warp->number = number;
    warp->alive = lanes == 32 ? UINT32_MAX : (1u << lanes) - 1;
    warp->exited = 0;
    warp->splits = 1;
    warp->split[0] = (emu_split){.pc = launch->function->first_inst, .mask = warp->alive, .state = R_RUN};
    warp->step = 0;
    memset(warp->synced, 0, sizeof warp->synced);
    warp->copies = 0;
    warp->carry = 0;
    warp->executed = 0;
    warp->barrier_threads = UINT32_MAX;
    memset(warp->group, 0, sizeof warp->group);
    for (size_t i = 0; i < launch->function->specials; i++)
        for (uint32_t lane = 0; lane < 32; lane++)
            emu_set_unsigned(warp, &launch->function->special[i].place, (int)lane,
                             special_value(warp, launch->function->special[i].kind, lane));
    if (launch->checks) {
        memset(warp->defined, 0, launch->function->registers * sizeof *warp->defined);
        if (warp->local_defined)
            memset(warp->local_defined, 0, (size_t)launch->function->local_bytes * 32);
    }
    warp->defined[0] = UINT32_MAX;
}

static void start_block(emu_block *block, uint64_t number)
{
    const emu_launch *launch = block->launch;

    block->number = number;
    block->index[0] = (uint32_t)(number % launch->grid[0]);
    block->index[1] = (uint32_t)(number / launch->grid[0] % launch->grid[1]);
    block->index[2] = (uint32_t)(number / launch->grid[0] / launch->grid[1]);
    block->epoch = 1;
    block->tickets = 0;
    block->progress.steps = block->progress.executed = 0;
    block->progress.next_look = LOOK;
    block->progress.is_watched = false;
    block->random = launch->seed * UINT64_C(0x9e3779b97f4a7c15) + number + 1;
    memset(block->arrived, 0, sizeof block->arrived);
    memset(block->shared, 0xff, launch->shared_bytes);
    if (block->shared_defined)
        memset(block->shared_defined, 0, launch->shared_bytes);
    if (block->byte)
        memset(block->byte, 0, launch->shared_bytes * sizeof *block->byte);
    for (uint32_t w = 0; w < launch->warps; w++)
        start_warp(&block->warp[w], launch, w);
}

static uint64_t cpu_time(void)
{
    struct timespec t = {0, 0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * Has a warp of a block run on without an end? A long kernel gets on to other data, or has many blocks that each come to their end; what
 * does neither for long is taken for endless. CPU time tells the same on a busy host. A block of the usual length is not watched.
 */
static void check_endless(emu_warp *warp, uint64_t executed)
{
    const emu_launch *launch = warp->block->launch;
    emu_progress *p = &warp->block->progress;
    const emu_inst *inst = &launch->module->inst[warp->split[0].pc];
    const int lane = __builtin_ctz(warp->split[0].mask);
    uint64_t now;

    p->executed += executed;
    if (p->executed > launch->budget)
        emu_find(warp, inst, CUEMU_ENDLESS, lane, 0,
                 "more than %llu warp instructions in one block, probably in a loop without an end; CUDA_EMULATOR_BUDGET=N "
                 "allows N",
                 (unsigned long long)launch->budget);
    if (p->executed < p->next_look || !launch->patience)
        return;
    now = cpu_time();
    p->next_look = p->executed + LOOK;
    if (!p->is_watched) {
        memset(p->line, 0, sizeof p->line);
        p->lines = 0;
    }
    if (!p->is_watched || p->steps != p->seen) {
        p->is_watched = true;
        p->seen = p->steps;
        p->since = now;
    } else if (now - p->since > launch->patience * 1000000000) {
        emu_find(warp, inst, CUEMU_ENDLESS, lane, 0,
                 "no thread of the block has ended or come to new data for %llu s, probably in a loop without an end; "
                 "CUDA_EMULATOR_PATIENCE=N waits N seconds, 0 for ever",
                 (unsigned long long)launch->patience);
    }
}

static void run_block(emu_block *block, uint64_t number)
{
    emu_launch *launch = block->launch;
    const uint64_t quantum = launch->budget < QUANTUM ? launch->budget + 1 : QUANTUM;
    uint32_t done = 0;

    start_block(block, number);
    while (done < launch->warps) {
        const uint32_t start = launch->seed ? (uint32_t)(next_random(block) % launch->warps) : 0;
        bool moved;
        done = 0;
        for (uint32_t n = 0; n < launch->warps; n++) {
            emu_warp *warp = &block->warp[(start + n) % launch->warps];
            const uint64_t before = warp->executed;
            stop why;
            if (warp->splits == 0) {
                done++;
                continue;
            }
            why = run_warp(warp, launch->seed ? 1 + next_random(block) % 500 : quantum);
            if (warp->executed > before)
                warp->barrier_threads = UINT32_MAX; /* whatever it waits at, it came there now */
            if (why != STOP_FAILED && warp->splits)
                check_endless(warp, warp->executed - before);
            if (has_failed(warp))
                return;
            done += warp->splits == 0;
        }
        if (done == launch->warps)
            return;
        {
            /* Only warps of which no lane can run are at a barrier. */
            bool all_wait = true;
            for (uint32_t w = 0; w < launch->warps; w++)
                for (uint32_t i = 0; i < block->warp[w].splits; i++)
                    all_wait &= block->warp[w].split[i].state != R_RUN;
            if (!all_wait)
                continue;
        }
        moved = enter_barriers(block);
        if (atomic_load(&launch->failed))
            return;
        moved |= release_barriers(block);
        if (!moved) {
            report_deadlock(block);
            return;
        }
    }
}

/* ---- workers --------------------------------------------------------------------------------------------------------- */

static void free_block(emu_block *block)
{
    for (uint32_t w = 0; block->warp && w < block->launch->warps; w++) {
        free(block->warp[w].bank[0]);
        free(block->warp[w].defined);
        free(block->warp[w].local);
        free(block->warp[w].local_defined);
        free(block->warp[w].frame);
        free(block->warp[w].copy);
    }
    free(block->warp);
    free(block->shared);
    free(block->shared_defined);
    free(block->byte);
    free(block->line);
}

static bool make_block(emu_block *block, emu_launch *launch)
{
    const emu_function *f = launch->function;
    bool is_whole;

    *block = (emu_block){.launch = launch};
    block->warp = calloc(launch->warps, sizeof *block->warp);
    block->shared = aligned_alloc(128, ((size_t)launch->shared_bytes + 255) / 128 * 128);
    is_whole = block->warp && block->shared;
    if (launch->checks & CUEMU_CHECK_UNINITIALISED)
        is_whole &= (block->shared_defined = malloc(launch->shared_bytes + 1)) != NULL;
    if (launch->checks & (CUEMU_CHECK_RACES | CUEMU_CHECK_ASYNC))
        is_whole &= (block->byte = malloc((launch->shared_bytes + 1) * sizeof *block->byte)) != NULL;
    if (launch->counts)
        is_whole &= (block->line = calloc(launch->module->insts, sizeof *block->line)) != NULL;
    for (uint32_t w = 0; is_whole && w < launch->warps; w++) {
        emu_warp *warp = &block->warp[w];
        warp->block = block;
        warp->bank[0] = aligned_alloc(64, ((size_t)f->register_bytes + 127) / 64 * 64);
        warp->bank[1] = launch->module->constants;
        warp->defined = calloc(f->registers + 1, sizeof *warp->defined);
        warp->local = calloc(32, f->local_bytes + 1);
        warp->frame = calloc(32, f->frame_bytes + 1);
        if (launch->checks & CUEMU_CHECK_UNINITIALISED && f->local_bytes)
            is_whole &= (warp->local_defined = calloc(32, f->local_bytes)) != NULL;
        is_whole &= warp->bank[0] && warp->defined && warp->local && warp->frame;
        if (is_whole)
            memset(warp->bank[0], 0xff, f->register_bytes);
    }
    return is_whole;
}

static pthread_mutex_t merging = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument)
{
    emu_launch *launch = argument;
    emu_block block;

    if (!make_block(&block, launch)) {
        emu_find(NULL, NULL, CUEMU_ILLEGAL, 0, 0, "out of memory for the blocks of %.*s", (int)launch->function->name_length,
                 launch->function->name);
        atomic_store(&launch->failed, CUEMU_ILLEGAL);
    }
    while (!atomic_load(&launch->failed)) {
        const uint64_t number = atomic_fetch_add(&launch->next_block, 1);
        if (number >= launch->blocks)
            break;
        run_block(&block, number);
        emu_progress_step();
    }
    if (block.line) {
        pthread_mutex_lock(&merging);
        for (uint32_t i = 0; i < launch->module->insts; i++)
            emu_counters_add(&launch->line[i], &block.line[i]);
        pthread_mutex_unlock(&merging);
    }
    free_block(&block);
    return NULL;
}

void emu_run(emu_launch *launch)
{
    pthread_t thread[256];
    uint32_t started = 0;

    while (started + 1 < launch->workers && started < 256 && pthread_create(&thread[started], NULL, work, launch) == 0)
        started++;
    work(launch); /* also if no thread could be started */
    for (uint32_t i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
}
