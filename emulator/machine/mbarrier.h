/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mbarrier: barriers in shared memory, which count arrivals and bytes of asynchronous copies.
 *
 * What a program sees of one is 8 bytes that it must not touch; what they mean is kept beside them, so that every wrong use of them
 * can be told.
 */
#ifndef EMU_MBARRIER_H
#define EMU_MBARRIER_H

#include "cluster.h"

typedef struct emu_mbarrier {
    emu_block *block;
    uint32_t offset;
    uint32_t expected, pending; /* arrivals of each phase, and those that this one still lacks */
    int64_t transactions;       /* bytes that were expected and have not come; below 0: that came and were not expected */
    uint32_t phase;             /* completed ones */
    uint32_t writer, time;      /* the slot of the warp that initialised it, and when */
    bool is_fenced;             /* copies may use it */
    uint32_t published;         /* when its warp arrived at the barrier of the cluster after the fence, or 0 */
    bool is_valid;
    uint64_t bits;              /* what the 8 bytes hold */
    emu_past gathering, done;   /* of those who arrived in this phase, and in all before */
    const emu_warp *counter;    /* who touched transactions last; */
    const emu_inst *counted_by; /* and how */
} emu_mbarrier;

enum { EMU_MBARRIER_BYTES = 8, EMU_MBARRIER_COUNT = (1 << 20) - 1 };

/** Initialise one at an offset of the warp's own block; a finding says what is wrong with that. */
void emu_mbarrier_begin(emu_warp *warp, const emu_inst *inst, int lane, uint32_t offset, uint32_t count);

/** The one at an offset of a block's shared memory; NULL: there is none that could be used, and a finding says so. */
emu_mbarrier *emu_mbarrier_at(const emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset);

/** The same for a lane that uses it, which others may do at once, but not initialise it. */
emu_mbarrier *emu_mbarrier_use(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset);

/** A relaxed arrival at the barrier of the cluster hands on what the warp has initialised and fenced, and nothing else. */
void emu_mbarriers_publish(emu_warp *warp, emu_past *to);

/** It is one no longer. */
void emu_mbarrier_end(emu_warp *warp, const emu_inst *inst, int lane, emu_mbarrier *m);

/** Arrivals, by a lane or by what it has started. expected: they are no longer expected in later phases. */
void emu_mbarrier_arrive(const emu_warp *warp, const emu_inst *inst, int lane, emu_mbarrier *m, uint32_t count, bool drops);

/** Bytes to come, or, below 0, bytes that came. */
void emu_mbarrier_count(const emu_warp *warp, const emu_inst *inst, int lane, emu_mbarrier *m, int64_t bytes);

/** If nothing is missing, the phase ends. To be called after each change of what is. */
void emu_mbarrier_try(emu_mbarrier *m);

/** A block has ended: do the bytes come out? */
void emu_mbarriers_check(emu_block *block);

/** What is missing of its phase: "mbarrier full at 0x10: 1 of 2 arrivals missing, 4096 bytes to come". */
const char *emu_mbarrier_describe(const emu_mbarrier *m, char *text, size_t bytes);

#endif
