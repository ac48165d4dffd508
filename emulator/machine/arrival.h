/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arrival: what comes by itself some time after it was issued.
 *
 * A program must wait for it, so it comes late: when nobody in the cluster can go on without, or when it has been on its way for
 * many turns. Under another schedule it may come at any time, and in any order.
 */
#ifndef EMU_ARRIVAL_H
#define EMU_ARRIVAL_H

#include "cluster.h"
#include "tensor.h"

typedef struct emu_arrival {
    void (*land)(const struct emu_arrival *arrival);
    emu_warp *warp; /* that issued it, */
    const emu_inst *inst;
    int lane;
    uint32_t ticket;           /* the group of copies that it is of; */
    bool is_in_group;          /* who waits for that one alone makes it come */
    uint64_t round;            /* when */
    emu_block *block;          /* the mbarrier's, or NULL; */
    uint32_t mbarrier;         /* and its offset */
    emu_block *writes, *reads; /* whose shared memory, or NULL: then it is global memory; */
    uint32_t to, from;         /* offsets, */
    uint32_t bytes;
    emu_allocation *allocation; /* and an address */
    uint64_t address;
    uint8_t value[16]; /* of st.async */
    uint8_t how, type; /* of a reduction: reduce.h, emu_type */
    emu_tensor tensor; /* of a tile, and where that begins */
    int32_t coordinate[EMU_DIMENSIONS];
} emu_arrival;

/** Issue one. false: out of memory, as a finding says. */
bool emu_await(const emu_arrival *arrival);

/** A new round of turns begins: what is due comes. */
void emu_land_due(emu_cluster *cluster);

/** What was issued first comes. false: nothing is on its way. */
bool emu_land_first(emu_cluster *cluster);

/** Is anything on its way that completes on the mbarrier at an offset of a block? */
bool emu_is_due_at(const emu_block *block, uint32_t mbarrier);

/** Copies of a lane's groups come but for the newest ones. */
void emu_land_groups(const emu_warp *warp, int lane, uint32_t newest);

/** A block ends: nothing that touches its shared memory may be on its way. */
void emu_land_last(emu_block *block);

/** What cp.async.mbarrier.arrive issues: the copies of its lane, then an arrival at the mbarrier. */
void emu_land_copies(const emu_arrival *arrival);

#endif
