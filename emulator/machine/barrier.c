/* SPDX-License-Identifier: Apache-2.0 */
#include "barrier.h"

#include "cluster.h"
#include "counters.h"
#include "finding.h"

/* Operands of a barrier instruction: its number, threads (0: all), and operation. */
typedef struct barrier {
    const emu_inst *inst;
    uint32_t id, threads;
    bool arrives, reduces;
    int how; /* and or popc */
} barrier;

static const emu_inst *place_of(const emu_warp *warp, uint32_t split)
{
    return &warp->block->launch->module->inst[warp->split[split].pc];
}

static barrier barrier_of(const emu_warp *warp)
{
    const emu_inst *inst = place_of(warp, 0);
    const int lane = __builtin_ctz(warp->split[0].mask);
    barrier b = {.inst = inst,
                 .id = (uint32_t)emu_unsigned(warp, &inst->operand[inst->outputs], lane),
                 .arrives = inst->choice[1] == 2,
                 .reduces = inst->choice[1] == 3,
                 .how = inst->choice[2]};
    if (!b.reduces && inst->operands > 1)
        b.threads = (uint32_t)emu_unsigned(warp, &inst->operand[1], lane);
    return b;
}

static bool waits_at(const emu_warp *warp, uint32_t id)
{
    return warp->splits > 0 && warp->barrier_threads != UINT32_MAX && barrier_of(warp).id == id;
}

static void go_on(emu_warp *warp)
{
    warp->barrier_threads = UINT32_MAX;
    for (uint32_t i = 0; i < warp->splits; i++) {
        warp->split[i].state = R_RUN;
        warp->split[i].pc++;
    }
}

static bool is_aligned(const emu_inst *inst)
{
    return memcmp(inst->text, "barrier", 7) != 0 || memmem(inst->text, inst->text_length, ".aligned", 8) != NULL;
}

/* Do all live lanes wait at one barrier? */
static bool meet_at_barrier(emu_warp *warp)
{
    const barrier b = barrier_of(warp);

    for (uint32_t i = 0; i < warp->splits; i++) {
        const emu_inst *inst = place_of(warp, i);
        const int lane = __builtin_ctz(warp->split[i].mask);
        if (warp->split[i].state == R_COLLECTIVE) {
            emu_find(warp, inst, CUEMU_DIVERGENT, lane, 0, "waits for lanes of its member mask that are at line %u",
                     place_of(warp, i ? 0 : warp->splits - 1)->line);
            return false;
        }
        if (inst != b.inst &&
            (is_aligned(inst) || is_aligned(b.inst) || emu_unsigned(warp, &inst->operand[inst->outputs], lane) != b.id)) {
            emu_find(warp, inst, CUEMU_DIVERGENT, lane, 0, "waits here while other lanes of its warp wait at line %u",
                     b.inst->line);
            return false;
        }
    }
    return true;
}

/* Lanes that run, or wait for something else than a block barrier, and will arrive later. */
static bool has_lanes_elsewhere(const emu_warp *warp)
{
    for (uint32_t i = 0; i < warp->splits; i++)
        if (warp->split[i].state < R_BARRIER)
            return true;
    return false;
}

/* Count the warps that arrived since the last turn; those that only arrive go on. Returns whether any could. */
static bool enter_barriers(emu_block *block)
{
    bool moved = false;

    for (uint32_t w = 0; w < block->launch->warps; w++) {
        emu_warp *warp = &block->warp[w];
        barrier b;
        if (warp->splits == 0 || warp->barrier_threads != UINT32_MAX || has_lanes_elsewhere(warp))
            continue; /* done, counted already, or incomplete */
        if (!meet_at_barrier(warp))
            return false;
        b = barrier_of(warp);
        if (b.id >= EMU_BARRIERS || b.threads % 32 != 0 || b.threads > block->launch->warps * 32) {
            emu_find(warp, b.inst, CUEMU_ILLEGAL, __builtin_ctz(warp->split[0].mask), 0,
                     "barrier %u of %u threads: there are %d barriers, for whole warps of the block", b.id, b.threads,
                     EMU_BARRIERS);
            return false;
        }
        if (block->line)
            emu_line(warp, b.inst)->barriers++;
        warp->barrier_threads = b.threads;
        if (b.arrives) {
            block->arrived[b.id]++;
            emu_release(warp, &block->gathering[b.id]);
            go_on(warp);
            moved = true;
        }
    }
    return moved;
}

/* bar.red: give all threads the same result. */
static void give_result(emu_warp *warp, const barrier *b, uint32_t result)
{
    const emu_operand *d = &b->inst->operand[0];

    if (d->bytes == 0)
        emu_set_predicate(warp, d, result ? UINT32_MAX : 0, warp->alive);
    else
        EMU_EACH_LANE (i, warp->alive)
            emu_set_unsigned(warp, d, i, b->how == 3 ? result : result ? UINT32_MAX : 0);
    emu_set_defined(warp, d, UINT32_MAX, warp->alive);
}

/* Release all warps that wait at a barrier, starting with `first`. */
static void release(emu_block *block, emu_warp *first)
{
    const barrier at = barrier_of(first);
    uint32_t all = 1, any = 0, sum = 0, exited = 0;

    for (uint32_t w = 0; w < block->launch->warps; w++) {
        const emu_warp *warp = &block->warp[w];
        exited |= warp->exited;
        if (waits_at(warp, at.id) && barrier_of(warp).reduces) {
            const emu_inst *inst = place_of(warp, 0);
            const uint32_t yes = emu_predicate(warp, &inst->operand[inst->operands - 1]) & warp->alive;
            all &= yes == warp->alive;
            any |= yes != 0;
            sum += emu_popcount(yes);
        }
    }
    /* A barrier with a thread count does not wait for the whole block. */
    if (exited && block->launch->checks & CUEMU_CHECK_BARRIERS && first->barrier_threads == 0)
        emu_find(first, at.inst, CUEMU_EXITED_BARRIER, __builtin_ctz(first->split[0].mask), 0,
                 "threads of the block have returned and never reach this barrier, which waits for the others only");
    if (block->line)
        emu_line(first, at.inst)->block_barriers++;
    for (uint32_t w = 0; w < block->launch->warps; w++)
        if (waits_at(&block->warp[w], at.id) || (at.threads == 0 && block->warp[w].splits == 0))
            emu_release(&block->warp[w], &block->gathering[at.id]);
    for (uint32_t w = 0; w < block->launch->warps; w++) {
        emu_warp *warp = &block->warp[w];
        if (!waits_at(warp, at.id))
            continue;
        const barrier b = barrier_of(warp);
        if (b.reduces)
            give_result(warp, &b, b.how == 1 ? all : b.how == 2 ? any : sum);
        emu_acquire(warp, &block->gathering[at.id]);
        go_on(warp);
        warp->step++;
    }
    block->arrived[at.id] = 0;
    block->epoch++;
    emu_past_clear(&block->gathering[at.id], block->cluster->slots);
}

/* Release all complete barriers; returns whether there was one. */
static bool release_barriers(emu_block *block)
{
    bool moved = false;

    for (uint32_t w = 0; w < block->launch->warps; w++) {
        emu_warp *warp = &block->warp[w];
        uint32_t waiting = 0, live = 0;
        barrier b;
        if (warp->splits == 0 || warp->barrier_threads == UINT32_MAX)
            continue;
        b = barrier_of(warp);
        for (uint32_t other = 0; other < block->launch->warps; other++) {
            live += block->warp[other].splits > 0;
            waiting += waits_at(&block->warp[other], b.id);
        }
        if (waiting + block->arrived[b.id] >= (b.threads ? b.threads / 32 : live)) {
            release(block, warp);
            moved = true;
        }
    }
    return moved;
}

bool emu_pass_barriers(emu_block *block)
{
    const bool has_arrived = enter_barriers(block);

    return !emu_has_failed(block->warp) && (release_barriers(block) || has_arrived);
}
