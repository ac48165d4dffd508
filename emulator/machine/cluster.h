/* SPDX-License-Identifier: Apache-2.0 */
/* cluster: blocks that run at once, access each other's shared memory, and share a barrier. */
#ifndef EMU_CLUSTER_H
#define EMU_CLUSTER_H

#include "warp.h"

/** A cluster. A block of a launch without clusters is a cluster of one. */
typedef struct emu_cluster {
    emu_launch *launch;
    emu_block *block;
    uint32_t blocks;
    uint64_t number;
    uint32_t index[3];
    struct emu_cluster *leader;  /* the first of the clusters that one host thread runs at once */
    uint64_t since;              /* of a leader: when one of its blocks last made progress; see emu_patience */
    uint32_t slots, now;         /* of a past: number of slots, current time; past.h */
    uint32_t phase;              /* cluster barriers passed */
    emu_past gathering, done;    /* of arrivals since the last barrier, and at all barriers passed */
    uint64_t events;             /* incremented when a waiting warp may go on */
    struct emu_arrival *arrival; /* pending, in order of issue: arrival.h */
    uint32_t arrivals, arrival_capacity;
    uint64_t round;               /* number of the round of turns */
    const emu_inst *last_refusal; /* the instruction that saw that no cluster is left to take; NULL: none has */
} emu_cluster;

/** Allocate memory for the clusters of a launch, one at a time. false: out of memory; free it all the same. */
bool emu_cluster_make(emu_cluster *cluster, emu_launch *launch);
void emu_cluster_free(emu_cluster *cluster);

/** Reset the cluster to the start of cluster `number`. */
void emu_cluster_start(emu_cluster *cluster, uint64_t number);

/** Let lanes arrive at the cluster barrier. */
void emu_cluster_arrive(emu_warp *warp, const emu_inst *inst, uint32_t mask, bool releases);

/** Return the lanes of mask, all waiting for the cluster barrier, that may go on. */
uint32_t emu_cluster_wait(emu_warp *warp, const emu_inst *inst, uint32_t mask, bool acquires);

/** Stop waiting for lanes of a block that ended. */
void emu_cluster_leave(emu_block *block);

/**
 * Return the block whose shared memory a lane accesses at an address of shared::cluster, and turn *address into an offset in
 * it. NULL: not accessible, and a finding says why.
 */
emu_block *emu_peer(emu_warp *warp, const emu_inst *inst, int lane, uint64_t *address);

/** Record that a warp of another block accesses a block's shared memory, at the time of a slot: the warp's, or a copy's. */
void emu_note_visit(emu_block *block, uint32_t slot, const emu_warp *warp, const emu_inst *inst);

/** Return the slot, in a past, of copies that complete on the mbarrier at an offset. */
static inline uint32_t emu_copy_slot(const emu_cluster *cluster, uint32_t mbarrier)
{
    return cluster->blocks * EMU_BLOCK_SLOTS + mbarrier / 8 % EMU_COPY_SLOTS;
}

/** Return the slot of the reads of a warpgroup's products, in the block of that rank. */
static inline uint32_t emu_product_slot(const emu_cluster *cluster, uint32_t rank, uint32_t group)
{
    return cluster->blocks * EMU_BLOCK_SLOTS + EMU_COPY_SLOTS + rank * EMU_PRODUCT_SLOTS + group;
}

/** Return the slot of the tensor memory's loads and stores that a warp, by its own slot, has offered. Only if the module has them. */
static inline uint32_t emu_offer_slot(const emu_cluster *cluster, uint32_t warp)
{
    return cluster->blocks * (EMU_BLOCK_SLOTS + EMU_PRODUCT_SLOTS) + EMU_COPY_SLOTS + warp;
}

/** Return the slot of mbarriers that were initialised and fenced, acquired at the cluster barrier. */
static inline uint32_t emu_init_slot(const emu_cluster *cluster)
{
    return cluster->slots - 1;
}

/** Return the address in shared::cluster of an offset in a block's shared memory. */
static inline uint64_t emu_address_in(uint32_t rank, uint64_t offset)
{
    return (offset & (EMU_WINDOW_BYTES - 1)) + (rank + 1) * EMU_WINDOW_BYTES;
}

#endif
