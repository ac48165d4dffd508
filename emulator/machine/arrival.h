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

typedef struct emu_arrival {
    void (*land)(const struct emu_arrival *arrival);
    emu_warp *warp; /* that issued it, */
    const emu_inst *inst;
    int lane;
    uint32_t ticket;   /* the group of copies that it comes with */
    uint64_t round;    /* when */
    emu_block *block;  /* the mbarrier's, */
    uint32_t mbarrier; /* and its offset */
} emu_arrival;

/** Issue one. false: out of memory, as a finding says. */
bool emu_await(const emu_arrival *arrival);

/** A new round of turns begins: what is due comes. */
void emu_land_due(emu_cluster *cluster);

/** What was issued first comes. false: nothing is on its way. */
bool emu_land_first(emu_cluster *cluster);

/** A block ends: what its threads have issued comes, as far as it concerns this block. */
void emu_land_last(emu_block *block);

/** What cp.async.mbarrier.arrive issues: the copies of its lane, then an arrival at the mbarrier. */
void emu_land_copies(const emu_arrival *arrival);

#endif
