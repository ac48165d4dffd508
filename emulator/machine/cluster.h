/* SPDX-License-Identifier: Apache-2.0 */
/* cluster: blocks that run at once, reach each other's shared memory, and meet at a barrier of their own. */
#ifndef EMU_CLUSTER_H
#define EMU_CLUSTER_H

#include "warp.h"

/** Blocks of a launch that are not in clusters are each one of its own. */
typedef struct emu_cluster {
    emu_launch *launch;
    emu_block *block;
    uint32_t blocks;
    uint64_t number;
    uint32_t index[3];
    struct emu_cluster *leader;  /* the first of those that one host thread runs at once */
    uint64_t since;              /* of a leader: when a block of those got on last; see emu_patience */
    uint32_t slots, now;         /* of a past: past.h */
    uint32_t phase;              /* barriers of the cluster that were passed */
    emu_past gathering, done;    /* of those who arrived since, and at all passed ones */
    uint64_t events;             /* grows when somebody who waits may go on */
    struct emu_arrival *arrival; /* what is on its way, as it was issued: arrival.h */
    uint32_t arrivals, arrival_capacity;
    uint64_t round; /* of turns */
} emu_cluster;

/** Memory for clusters of a launch, one at a time. false: there is none; free it all the same. */
bool emu_cluster_make(emu_cluster *cluster, emu_launch *launch);
void emu_cluster_free(emu_cluster *cluster);

/** Put it to the beginning of cluster number. */
void emu_cluster_start(emu_cluster *cluster, uint64_t number);

/** Lanes arrive at the barrier of the cluster. */
void emu_cluster_arrive(emu_warp *warp, const emu_inst *inst, uint32_t mask, bool releases);

/** Lanes that have waited for it: those of mask that may go on. */
uint32_t emu_cluster_wait(emu_warp *warp, const emu_inst *inst, uint32_t mask, bool acquires);

/** Lanes of a block have ended: who waits does so no longer for them. */
void emu_cluster_leave(emu_block *block);

/**
 * The block whose shared memory a lane reaches at an address of shared::cluster, which becomes an offset in it. NULL: none that may be
 * reached, and a finding says why.
 */
emu_block *emu_peer(emu_warp *warp, const emu_inst *inst, int lane, uint64_t *address);

/** An instruction of another block's warp touches shared memory of a block, in the time of a slot: that of the warp, or of a copy. */
void emu_note_visit(emu_block *block, uint32_t slot, const emu_warp *warp, const emu_inst *inst);

/** The slot, in a past, of copies that complete on the mbarrier at an offset. */
static inline uint32_t emu_copy_slot(const emu_cluster *cluster, uint32_t mbarrier)
{
    return cluster->blocks * EMU_BLOCK_SLOTS + mbarrier / 8 % EMU_COPY_SLOTS;
}

/** The slot of what a warpgroup of the block of that rank reads for its products. */
static inline uint32_t emu_product_slot(const emu_cluster *cluster, uint32_t rank, uint32_t group)
{
    return cluster->blocks * EMU_BLOCK_SLOTS + EMU_COPY_SLOTS + rank * EMU_PRODUCT_SLOTS + group;
}

/** The slot of mbarriers that were initialised and fenced, for those who wait at the barrier of the cluster. */
static inline uint32_t emu_init_slot(const emu_cluster *cluster)
{
    return cluster->slots - 1;
}

/** The address in shared::cluster of an offset in a block's shared memory. */
static inline uint64_t emu_address_in(uint32_t rank, uint64_t offset)
{
    return (offset & (EMU_WINDOW_BYTES - 1)) + (rank + 1) * EMU_WINDOW_BYTES;
}

#endif
