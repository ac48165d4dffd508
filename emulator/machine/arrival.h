/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrival: events that complete some time after their instruction.
 *
 * A program must wait for one, so it completes late: when the cluster cannot go on without it, or after many turns. Another
 * schedule may complete them at any time and in any order.
 */
#ifndef EMU_ARRIVAL_H
#define EMU_ARRIVAL_H

#include "cluster.h"
#include "tensor.h"

typedef struct emu_arrival {
    void (*land)(const struct emu_arrival *arrival);
    emu_warp *warp; /* that issued it */
    const emu_inst *inst;
    int lane;
    uint32_t ticket;           /* the group of copies that it belongs to */
    bool is_in_group;          /* only a wait for that group makes it complete */
    uint64_t round;            /* when it is due */
    emu_block *block;          /* the mbarrier's, or NULL */
    uint32_t mbarrier;         /* its offset */
    emu_block *writes, *reads; /* whose shared memory, or NULL: global memory */
    uint32_t to, from;         /* offsets */
    uint32_t bytes;
    emu_allocation *allocation; /* the global side */
    uint64_t address;
    uint8_t value[16]; /* for st.async */
    uint8_t how, type; /* for a reduction: reduce.h, emu_type */
    emu_tensor tensor; /* for a tile: its map and origin */
    int32_t coordinate[EMU_DIMENSIONS];
} emu_arrival;

/** Issue an arrival. false: out of memory, and a finding says so. */
bool emu_await(const emu_arrival *arrival);

/** Begin a new round of turns: complete the arrivals that are due. */
void emu_land_due(emu_cluster *cluster);

/** Complete the oldest arrival. false: there is none. */
bool emu_land_first(emu_cluster *cluster);

/** Is an arrival pending that completes on the mbarrier at an offset of a block? */
bool emu_is_due_at(const emu_block *block, uint32_t mbarrier);

/** Complete the copies of a lane's groups except the newest ones. */
void emu_land_groups(const emu_warp *warp, int lane, uint32_t newest);

/** End a block: complete every arrival that touches its shared memory. */
void emu_land_last(emu_block *block);

/** Complete a cp.async.mbarrier.arrive: first the copies of its lane, then an arrival at the mbarrier. */
void emu_land_copies(const emu_arrival *arrival);

#endif
