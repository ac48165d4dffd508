/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mbarrier: barriers in shared memory that count arrivals and bytes of asynchronous copies.
 *
 * A program sees 8 bytes that it must not touch; the emulator keeps their meaning elsewhere, so that it can tell every wrong
 * use.
 */
#ifndef EMU_MBARRIER_H
#define EMU_MBARRIER_H

#include "cluster.h"

typedef struct emu_mbarrier {
    emu_block *block;
    uint32_t offset;
    uint32_t expected, pending; /* arrivals per phase, and those still pending in this phase */
    int64_t transactions;       /* bytes still to come; below 0: bytes that came before they were expected */
    uint32_t phase;             /* phases completed */
    uint32_t writer, time;      /* the slot of the warp that initialised it, and the time */
    bool is_fenced;             /* copies may use it */
    uint32_t published;         /* time when its warp arrived at the cluster barrier after the fence, or 0 */
    bool is_valid;
    uint64_t bits;              /* content of the 8 bytes */
    emu_past gathering, done;   /* of arrivals in this phase, and in all earlier ones */
    const emu_warp *counter;    /* warp that last changed transactions */
    const emu_inst *counted_by; /* its instruction */
} emu_mbarrier;

enum { EMU_MBARRIER_BYTES = 8, EMU_MBARRIER_COUNT = (1 << 20) - 1 };

/** Initialise an mbarrier at an offset of the warp's own block; a finding reports errors. */
void emu_mbarrier_begin(emu_warp *warp, const emu_inst *inst, int lane, uint32_t offset, uint32_t count);

/**
 * Return the mbarrier at an offset of a block's shared memory; NULL: there is none that could be used, and a finding says so.
 */
emu_mbarrier *emu_mbarrier_at(const emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset);

/** Like emu_mbarrier_at, for a use by a lane. Other lanes may use it at once, but not initialise it. */
emu_mbarrier *emu_mbarrier_use(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset);

/** A relaxed arrival at the cluster barrier publishes only the mbarriers that the warp has initialised and fenced. */
void emu_mbarriers_publish(emu_warp *warp, emu_past *to);

/** Invalidate an mbarrier. */
void emu_mbarrier_end(emu_warp *warp, const emu_inst *inst, int lane, emu_mbarrier *m);

/** Arrive, for a lane or its asynchronous work. expected: arrivals that later phases no longer expect. */
void emu_mbarrier_arrive(const emu_warp *warp, const emu_inst *inst, int lane, emu_mbarrier *m, uint32_t count, bool drops);

/** Add expected bytes, or, below 0, bytes that came. */
void emu_mbarrier_count(const emu_warp *warp, const emu_inst *inst, int lane, emu_mbarrier *m, int64_t bytes);

/** End the phase if nothing is pending. Call after each change of the pending counts. */
void emu_mbarrier_try(emu_mbarrier *m);

/** Check at the end of a block that all expected bytes came. */
void emu_mbarriers_check(emu_block *block);

/** Describe what its phase still lacks: "mbarrier full at 0x10: 1 of 2 arrivals missing, 4096 bytes to come". */
const char *emu_mbarrier_describe(const emu_mbarrier *m, char *text, size_t bytes);

#endif
