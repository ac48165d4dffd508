/* SPDX-License-Identifier: Apache-2.0 */
/* mbarrier: arrive at mbarriers, and wait for their phases. */
#include "mbarrier.h"
#include "arrival.h"
#include "finding.h"
#include "request.h"
#include "tensor_memory.h"

enum { DROP = 2, EXPECT_TX = 1, NO_COMPLETE = 2, RELAXED = 2, PARITY = 1, PENDING_BITS = 20 };

/* Find each lane's mbarrier; false: the launch has failed. */
static bool find_places(emu_warp *warp, const emu_inst *inst, uint32_t mask, const emu_operand *operand, emu_request *r)
{
    if (!emu_resolve(warp, inst, inst->space, mask, operand, EMU_MBARRIER_BYTES, r))
        return false;
    EMU_EACH_LANE (i, mask)
        if (r->place[i].space != S_SHARED) {
            emu_find(warp, inst, CUEMU_ILLEGAL, i, r->place[i].address, "an mbarrier lies in shared memory, not at 0x%llx",
                     (unsigned long long)r->place[i].address);
            return false;
        }
    return true;
}

static emu_mbarrier *barrier_of(emu_warp *warp, const emu_inst *inst, int lane, const emu_place *place)
{
    return emu_mbarrier_use(warp, inst, lane, place->block ? place->block : warp->block, (uint32_t)place->address);
}

static void check_operands(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    for (unsigned n = inst->outputs + 1u; n < inst->operands && warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED; n++)
        emu_check_defined(warp, inst, &inst->operand[n], mask, "at an mbarrier");
}

/* ---- beginning and end --------------------------------------------------------------------------------------------------- */

static void init(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_request r;

    if (!find_places(warp, inst, mask, &inst->operand[0], &r))
        return;
    check_operands(warp, inst, mask);
    EMU_EACH_LANE (i, mask)
        emu_mbarrier_begin(warp, inst, i, (uint32_t)r.place[i].address, (uint32_t)emu_unsigned(warp, &inst->operand[1], i));
}

static void inval(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_request r;

    if (!find_places(warp, inst, mask, &inst->operand[0], &r))
        return;
    EMU_EACH_LANE (i, mask) {
        emu_mbarrier *m = emu_mbarrier_at(warp, inst, i, warp->block, (uint32_t)r.place[i].address);
        if (!m)
            return;
        emu_mbarrier_end(warp, inst, i, m);
    }
}

/* ---- arrivals -------------------------------------------------------------------------------------------------------------- */

/* expect_tx and complete_tx, which are not arrivals. */
static void count_bytes(emu_warp *warp, const emu_inst *inst, uint32_t mask, int sign)
{
    emu_request r;

    if (!find_places(warp, inst, mask, &inst->operand[0], &r))
        return;
    check_operands(warp, inst, mask);
    EMU_EACH_LANE (i, mask) {
        emu_mbarrier *m = barrier_of(warp, inst, i, &r.place[i]);
        if (!m)
            return;
        emu_mbarrier_count(warp, inst, i, m, sign * (int64_t)emu_unsigned(warp, &inst->operand[1], i));
        emu_mbarrier_try(m);
    }
}

EMU_SETTLED(expect_tx, count_bytes, 1)
EMU_SETTLED(complete_tx, count_bytes, -1)

static void arrive_lane(emu_warp *warp, const emu_inst *inst, int lane, emu_mbarrier *m)
{
    const uint32_t operand = inst->operands > 2 ? (uint32_t)emu_unsigned(warp, &inst->operand[2], lane) : 1;
    const bool expects = inst->choice[1] == EXPECT_TX;
    const uint64_t state = (uint64_t)m->phase << PENDING_BITS | m->pending;

    if (m->block != warp->block && !inst->operand[0].is_sink) {
        emu_find(warp, inst, CUEMU_MBARRIER, lane, m->offset, "an mbarrier of another block gives no state back");
        return;
    }
    if (expects)
        emu_mbarrier_count(warp, inst, lane, m, operand);
    emu_mbarrier_arrive(warp, inst, lane, m, expects ? 1 : operand, inst->choice[0] == DROP);
    if (inst->choice[1] == NO_COMPLETE && m->pending == 0)
        emu_find(warp, inst, CUEMU_MBARRIER, lane, m->offset,
                 "completes the phase of the mbarrier at shared offset 0x%x, which .noComplete must not", m->offset);
    emu_mbarrier_try(m);
    emu_set_unsigned(warp, &inst->operand[0], lane, state);
}

/* mbarrier.arrive state, [a]{, count or bytes}. Completing a phase wakes those who wait for it. */
static void arrive(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint64_t events = warp->block->cluster->events;
    emu_mbarrier *at[EMU_LANES], *last = NULL;
    emu_request r;

    if (!find_places(warp, inst, mask, &inst->operand[1], &r))
        return;
    check_operands(warp, inst, mask);
    EMU_EACH_LANE (i, mask) {
        at[i] = barrier_of(warp, inst, i, &r.place[i]);
        if (!at[i])
            return;
    }
    EMU_EACH_LANE (i, mask) {
        if (at[i] != last && inst->choice[2] == RELAXED)
            emu_tensor_release(warp, &at[i]->gathering);
        else if (at[i] != last) {
            if (at[i]->block != warp->block)
                emu_fence(warp);
            emu_release(warp, &at[i]->gathering);
        }
        last = at[i];
        arrive_lane(warp, inst, i, at[i]);
    }
    emu_set_defined(warp, &inst->operand[0], UINT32_MAX, mask);
    warp->yields |= warp->block->cluster->events != events;
}

/* cp.async.mbarrier.arrive{.noinc} [a]: arrive once the copies of the lane have completed. */
static void arrive_after_copies(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_request r;

    if (!find_places(warp, inst, mask, &inst->operand[0], &r))
        return;
    EMU_EACH_LANE (i, mask) {
        emu_mbarrier *m = barrier_of(warp, inst, i, &r.place[i]);
        emu_arrival arrival = {.land = emu_land_copies, .warp = warp, .inst = inst, .lane = i, .ticket = warp->group[i]};
        if (!m)
            return;
        if (inst->choice[0] == 0) {
            m->pending++;
            emu_mbarrier_try(m);
        }
        arrival.block = m->block;
        arrival.mbarrier = m->offset;
        if (!emu_await(&arrival))
            return;
    }
}

/* ---- waiting ---------------------------------------------------------------------------------------------------------------- */

/*
 * test_wait and try_wait p, [a], state or parity. Both may answer false, and do so only if nothing else can go on: a lane that
 * asks again waits, and one that does something else in between was slow.
 */
static void wait(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const emu_mbarrier *last = NULL;
    uint32_t yes = 0;
    emu_request r;

    if (!find_places(warp, inst, mask, &inst->operand[1], &r))
        return;
    check_operands(warp, inst, mask);
    EMU_EACH_LANE (i, mask) {
        const uint64_t wanted = emu_unsigned(warp, &inst->operand[2], i);
        emu_mbarrier *m = barrier_of(warp, inst, i, &r.place[i]);
        if (!m)
            return;
        if (m->block != warp->block || (inst->choice[1] == PARITY && wanted > 1)) {
            emu_find(warp, inst, CUEMU_MBARRIER, i, m->offset,
                     m->block != warp->block ? "waits at an mbarrier of another block"
                                             : "waits for a parity that is not 0 or 1");
            return;
        }
        if (inst->choice[1] == PARITY ? (m->phase & 1) != wanted : m->phase > wanted >> PENDING_BITS) {
            yes |= 1u << i;
            if (m != last && inst->choice[2] == RELAXED)
                emu_tensor_acquire(warp, &m->done);
            else if (m != last)
                emu_acquire(warp, &m->done);
            last = m;
        } else if (!(warp->gives_up >> i & 1)) {
            warp->waiting |= 1u << i;
            warp->waits_for = m;
        }
    }
    warp->gives_up &= ~mask;
    emu_set_predicate(warp, &inst->operand[0], yes, mask & ~warp->waiting);
    emu_set_defined(warp, &inst->operand[0], UINT32_MAX, mask & ~warp->waiting);
}

static void pending_count(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    EMU_EACH_LANE (i, mask)
        emu_set_unsigned(warp, &inst->operand[0], i, emu_unsigned(warp, &inst->operand[1], i) & ((1u << PENDING_BITS) - 1));
}

#define SPACES "{.shared,.shared::cta,.shared::cluster}"
#define ORDERS "{.release,.relaxed}{.cta,.cluster}" SPACES
#define WAITS "{.acquire,.relaxed}{.cta,.cluster}{.shared,.shared::cta}"

const emu_form emu_mbarrier_forms[] = {
    {"mbarrier.init{.shared,.shared::cta}.b64", "@ w", init, NULL, 0, D_OWN, 0, 0, 80},
    {"mbarrier.inval{.shared,.shared::cta}.b64", "@", inval, NULL, 0, D_OWN, 0, 0, 80},
    {"mbarrier.expect_tx{.relaxed}{.cta,.cluster}" SPACES ".b64", "@ w", expect_tx, NULL, 0, D_OWN, 0, 0, 90},
    {"mbarrier.complete_tx{.relaxed}{.cta,.cluster}" SPACES ".b64", "@ w", complete_tx, NULL, 0, D_OWN, 0, 0, 90},
    /* choice: arrive, arrive_drop; expect_tx, noComplete; release, relaxed */
    {"mbarrier{*.arrive,.arrive_drop}{.-}" ORDERS ".b64", "=d @ w?", arrive, NULL, 0, D_OWN, 0, 0, 80},
    {"mbarrier{*.arrive,.arrive_drop}{*.-,.noComplete}" ORDERS ".b64", "=d @ w", arrive, NULL, 0, D_OWN, 0, 0, 80},
    {"mbarrier{*.arrive,.arrive_drop}{*.expect_tx}" ORDERS ".b64", "=d @ w", arrive, NULL, 0, D_OWN, 0, 0, 90},
    /* choice: test_wait, try_wait; parity; acquire, relaxed */
    {"mbarrier{*.test_wait}{.-}" WAITS ".b64", "=p @ d", wait, NULL, F_WAIT, D_OWN, 0, 0, 80},
    {"mbarrier{*.test_wait}{*.parity}" WAITS ".b64", "=p @ w", wait, NULL, F_WAIT, D_OWN, 0, 0, 80},
    {"mbarrier{*.-,.try_wait}{.-}" WAITS ".b64", "=p @ d w?", wait, NULL, F_WAIT, D_OWN, 0, 0, 90},
    {"mbarrier{*.-,.try_wait}{*.parity}" WAITS ".b64", "=p @ w w?", wait, NULL, F_WAIT, D_OWN, 0, 0, 90},
    {"mbarrier.pending_count.b64", "=w d", pending_count, NULL, 0, 0, 0, 0, 80},
    {"cp.async.mbarrier.arrive{.noinc}{.shared,.shared::cta}.b64", "@", arrive_after_copies, NULL, 0, D_OWN, 0, 0, 80},
    {0},
};
