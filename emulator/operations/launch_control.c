/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_control: clusterlaunchcontrol, by which a cluster takes over the work of one that has not begun yet.
 *
 * A response has the first block's index, and in its last word whether a cluster was taken; programs must not look at its bits. With
 * a seed some requests are answered "none" while there are clusters left, as a device may do that other programs share.
 */
#include "bulk.h"
#include "finding.h"
#include "progress.h"
#include "request.h"
#include "tcgen05.h"

enum { RESPONSE = 16 /* bytes */, TAKEN = 3 /* the word that tells */ };

/* Take a cluster that has not begun; false: none. */
static bool take_cluster(emu_block *block, uint32_t first[3])
{
    emu_launch *launch = block->launch;
    uint32_t in_grid[3];
    uint64_t number;

    if (launch->seed && emu_random(block) % 8 == 0)
        return false;
    number = atomic_fetch_add(&launch->next_cluster, 1);
    if (number >= launch->clusters)
        return false;
    for (int i = 0; i < 3; i++)
        in_grid[i] = launch->grid[i] / launch->cluster[i];
    first[0] = (uint32_t)(number % in_grid[0]) * launch->cluster[0];
    first[1] = (uint32_t)(number / in_grid[0] % in_grid[1]) * launch->cluster[1];
    first[2] = (uint32_t)(number / in_grid[0] / in_grid[1]) * launch->cluster[2];
    for (uint32_t i = 0; i < block->cluster->blocks; i++)
        emu_progress_step();
    return true;
}

static void land(const emu_arrival *a)
{
    const emu_place to = {a->writes->shared + a->to, NULL, a->to, S_SHARED, a->writes};
    const emu_place from = {(uint8_t *)(uintptr_t)a->value, NULL, 0, S_GENERIC, NULL};

    emu_bulk_move(a, &to, &from, a->bytes);
    emu_bulk_complete(a);
}

/* try_cancel [to], [mbar]: into this block, or the same place of every block of the cluster. */
static void try_to_cancel(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_block *const block = warp->block;
    const uint32_t all = (uint32_t)((UINT64_C(1) << block->cluster->blocks) - 1);
    const bool is_multicast = inst->choice[1];

    EMU_EACH_LANE (i, mask) {
        emu_arrival a = {.land = land, .warp = warp, .inst = inst, .lane = i, .bytes = RESPONSE, .writes = block};
        uint32_t response[RESPONSE / 4] = {0};
        emu_place to;
        if (block->cluster->last_refusal) {
            emu_find(warp, inst, CUEMU_ILLEGAL, i, 0,
                     "asks for another cluster after the block has seen, at line %u, that there is none",
                     block->cluster->last_refusal->line);
            return;
        }
        if (!emu_resolve_span(warp, inst, S_SHARED, i, &inst->operand[0], RESPONSE, &to))
            return;
        a.to = (uint32_t)to.address;
        if (!emu_bulk_aim(warp, i, &inst->operand[1], &a))
            return;
        response[TAKEN] = take_cluster(block, response);
        memcpy(a.value, response, sizeof response);
        if (!(is_multicast ? emu_bulk_multicast(warp, &a, all) : emu_bulk_issue(warp, &a)))
            return;
    }
}

static const uint32_t *response_of(const emu_warp *warp, const emu_operand *operand, int lane)
{
    return (const uint32_t *)emu_lanes(warp, operand) + lane * (RESPONSE / 4);
}

static void is_canceled(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    uint32_t yes = 0;

    EMU_EACH_LANE (i, mask) {
        const bool is_taken = response_of(warp, &inst->operand[1], i)[TAKEN];
        yes |= (uint32_t)is_taken << i;
        if (!is_taken)
            warp->block->cluster->last_refusal = inst;
    }
    emu_set_predicate(warp, &inst->operand[0], yes, mask);
}

/* Write the index of a response's first block, or one number of it, to the outputs. */
static void get_index(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    enum { ALL = 4 };
    const emu_operand *from = &inst->operand[inst->outputs];

    EMU_EACH_LANE (i, mask) {
        const uint32_t *response = response_of(warp, from, i);
        if (!response[TAKEN] && emu_defined(warp, from) >> i & 1) {
            emu_find(warp, inst, CUEMU_ILLEGAL, i, 0, "reads the index of a block from a response that there is none");
            return;
        }
        for (unsigned n = 0; n < inst->outputs; n++) {
            const unsigned word = inst->outputs == ALL ? n : inst->choice[0] - 1u;
            emu_set_unsigned(warp, &inst->operand[n], i, word == TAKEN ? 0 : response[word]);
        }
    }
}

#define TRY "clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier::complete_tx::bytes"

const emu_form emu_launch_control_forms[] = {
    {TRY "{.-}.b128", "@ @", try_to_cancel, NULL, 0, D_OWN, 0, 0, 100},
    {TRY "{*.multicast::cluster::all}.b128", "@ @", try_to_cancel, NULL, 0, D_OWN, 0, 0, EMU_DATACENTER},
    {TRY "{*.multicast::cluster::all}.b128", "@ @", try_to_cancel, NULL, 0, D_OWN, 0, 0, EMU_ONLY + 120},
    {"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128", "=p q", is_canceled, NULL, 0, 0, 0, 0, 100},
    {"clusterlaunchcontrol.query_cancel{*.get_first_ctaid::x,.get_first_ctaid::y,.get_first_ctaid::z}.b32.b128", "=w q",
     get_index, NULL, 0, 0, 0, 0, 100},
    {"clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128", "=4w q", get_index, NULL, 0, 0, 0, 0, 100},
    {0},
};
