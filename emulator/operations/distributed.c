/* SPDX-License-Identifier: Apache-2.0 */
/* distributed: addresses in the shared memory of other blocks of a cluster, and the cluster barrier. */
#include "cluster.h"
#include "finding.h"
#include "lanes.h"
#include "operations.h"
#include "tensor_memory.h"

/* Convert a generic address to an offset in shared::cluster; -1: not in the window. */
static uint64_t in_cluster(const emu_inst *inst, uint64_t address)
{
    if (inst->space == S_GENERIC)
        address -= EMU_SHARED_WINDOW;
    return address < EMU_CLUSTER_BYTES ? address : UINT64_MAX;
}

/* mapa{.shared::cluster}.type d, a, rank: map an address of this block to the same place in another. */
static void map_address(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint64_t window = inst->space == S_GENERIC ? EMU_SHARED_WINDOW : 0;

    EMU_EACH_LANE (i, mask) {
        const uint64_t address = in_cluster(inst, emu_unsigned(warp, &inst->operand[1], i));
        const uint32_t rank = (uint32_t)emu_unsigned(warp, &inst->operand[2], i);
        if (address == UINT64_MAX || rank >= warp->block->cluster->blocks) {
            emu_find(warp, inst, CUEMU_ILLEGAL, i, 0,
                     address == UINT64_MAX ? "maps an address that is not in shared memory"
                                           : "maps an address to block %u of a cluster of %u",
                     rank, warp->block->cluster->blocks);
            return;
        }
        emu_set_unsigned(warp, &inst->operand[0], i, window + emu_address_in(rank, address));
    }
}

static void get_rank(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    EMU_EACH_LANE (i, mask) {
        const uint64_t address = in_cluster(inst, emu_unsigned(warp, &inst->operand[1], i));
        if (address == UINT64_MAX) {
            emu_find(warp, inst, CUEMU_ILLEGAL, i, 0, "asks for the block of an address that is not in shared memory");
            return;
        }
        emu_set_unsigned(warp, &inst->operand[0], i,
                         address < EMU_WINDOW_BYTES ? warp->block->rank : address / EMU_WINDOW_BYTES - 1);
    }
}

/*
 * and.b32 d, a, 0xfeffffff: programs for pairs of blocks turn an address of their own block into that of the first block's like this,
 * because on a device addresses in a cluster have the block's rank from bit 24 on. The emulator's have none in their own block. A
 * compiler may clear lower bits too.
 */
void emu_clear_rank(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const emu_block *block = warp->block;
    const bool is_second = block->rank & 1 && block->tensor && block->tensor->group == 2;

    EMU_EACH_LANE (i, mask) {
        const uint64_t value = emu_unsigned(warp, &inst->operand[1], i),
                       kept = value & emu_unsigned(warp, &inst->operand[2], i);
        const bool is_own = is_second && value < block->launch->shared_bytes;
        emu_set_unsigned(warp, &inst->operand[0], i, is_own ? emu_address_in(block->rank & ~1u, kept) : kept);
    }
}

enum { RELAXED = 2 };

static void arrive(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_cluster_arrive(warp, inst, mask, inst->choice[0] != RELAXED);
}

static void wait(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    warp->waiting = mask & ~emu_cluster_wait(warp, inst, mask, true);
}

const emu_form emu_distributed_forms[] = {
    {"mapa{.shared::cluster}{*.u32,.u64}", "=T T w", map_address, NULL, 0, 0, 0, 0, 90},
    {"getctarank{.shared::cluster}{*.u32,.u64}", "=w T", get_rank, NULL, 0, 0, 0, 0, 90},
    {"barrier.cluster.arrive{.release,.relaxed}{.aligned}", "", arrive, NULL, 0, D_OWN, 0, 0, 90},
    {"barrier.cluster.wait{.acquire}{.aligned}", "", wait, NULL, F_WAIT, D_OWN, 0, 0, 90},
    {0},
};
