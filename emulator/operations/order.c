/* SPDX-License-Identifier: Apache-2.0 */
/* order: fences, and hints to caches and schedulers. */
#include "lanes.h"
#include "mbarrier.h"
#include "shadow.h"

/*
 * Lanes run one after the other, so memory is in order already. The fence count, and the past that a relaxed arrival publishes,
 * serve the race checks.
 */
static void fence_memory(emu_warp *warp, const emu_inst *inst, uint32_t mask, bool is_of_cluster)
{
    (void)inst, (void)mask;
    emu_fence(warp);
    if (is_of_cluster)
        emu_release(warp, &warp->fenced);
}

EMU_SETTLED(fence_block, fence_memory, false)
EMU_SETTLED(fence_wide, fence_memory, true)

static emu_exec choose_fence(const emu_inst *inst)
{
    enum { CTA = 1, ACQUIRE = 3 };
    const bool is_membar = inst->text[0] == 'm';

    if (is_membar)
        return inst->choice[0] == CTA ? fence_block : fence_wide;
    return inst->choice[1] == CTA || inst->choice[0] == ACQUIRE ? fence_block : fence_wide;
}

/* Asynchronous copies and other blocks may use the mbarriers that the warp has initialised. */
static void fence_init(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const emu_block *block = warp->block;

    (void)inst, (void)mask;
    for (uint32_t i = 0; i < block->mbarriers; i++)
        block->mbarrier[i]->is_fenced |= block->mbarrier[i]->writer == warp->slot;
}

static void fence_proxy(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    enum { GLOBAL = 1 };

    (void)mask;
    if (inst->choice[0] != GLOBAL)
        emu_fence_proxy(warp);
}

/* Grids run one after the other, so the preceding one has ended. */
static void await_grid(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    enum { WAIT = 2 };

    (void)mask;
    warp->has_waited |= inst->choice[0] == WAIT;
}

static void change_nothing(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)warp, (void)inst, (void)mask; /* no effect that a program could see */
}

/* A cache policy is opaque, and hints have no effect here. */
static void make_policy(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    EMU_EACH_LANE (i, mask)
        emu_set_unsigned(warp, &inst->operand[0], i, 0);
    emu_set_defined(warp, &inst->operand[0], UINT32_MAX, mask);
}

#define PRIORITIES \
    "{*.L2::evict_last,.L2::evict_normal,.L2::evict_first,.L2::evict_unchanged}{.L2::evict_first,.L2::evict_unchanged}"
#define RESTRICTIONS "{*.acquire.sync_restrict::shared::cluster,.release.sync_restrict::shared::cta}.cluster"

const emu_form emu_order_forms[] = {
    {"membar{*.cta,.gl,.sys}", "", NULL, choose_fence, 0, D_OWN, 0, 0},
    {"fence{.sc,.acq_rel,.acquire,.release}{.cta,.cluster,.gpu,.sys}", "", NULL, choose_fence, 0, D_OWN, 0, 0},
    /* A proxy is a way to access memory; a device does not order accesses by different proxies, such as copies and loads. */
    {"fence.proxy.async{.global,.shared::cta,.shared::cluster}", "", fence_proxy, NULL, 0, D_OWN, 0, 0},
    {"membar.proxy.async{.global,.shared::cta,.shared::cluster}", "", fence_proxy, NULL, 0, D_OWN, 0, 0},
    {"fence.proxy.alias{.global,.shared::cta,.shared::cluster}", "", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"membar.proxy.alias{.global,.shared::cta,.shared::cluster}", "", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"fence.proxy.async::generic" RESTRICTIONS, "", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"fence" RESTRICTIONS, "", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"fence.mbarrier_init.release.cluster", "", fence_init, NULL, 0, D_OWN, 0, 0},
    {"createpolicy.fractional" PRIORITIES ".b64", "=d w?", make_policy, NULL, 0, D_OWN, 0, 0},
    {"createpolicy.range{.global}" PRIORITIES ".b64", "=d @ w w", make_policy, NULL, 0, D_OWN, 0, 0},
    {"createpolicy.cvt.L2.b64", "=d d", make_policy, NULL, 0, D_OWN, 0, 0},
    {"applypriority{.global}.L2::evict_normal", "@ N", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"prefetch{.const,.param}.tensormap", "@", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"prefetchu.L1", "@", change_nothing, NULL, 0, D_OWN, 0, 0},
    {"griddepcontrol{*.launch_dependents,.wait}", "", await_grid, NULL, 0, D_OWN, 0, 0},
    {"prefetch{.global,.local}{*.L1,.L2,.L2::evict_last,.L2::evict_normal}", "@", change_nothing, NULL, 0, D_OWN, 0, 0},
    {0},
};
