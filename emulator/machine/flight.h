/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight: asynchronous copies, from the instruction that issues one to the one that waits for it.
 *
 * What a copy brings is seen when it lands. What it waits for is its ticket, whose meaning is the affair of the two instructions:
 * for cp.async it is the number of a group that its lane commits.
 */
#ifndef EMU_FLIGHT_H
#define EMU_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "memory.h"

typedef struct emu_copy {
    emu_place to, from;
    uint32_t bytes, source_bytes; /* what the source lacks is zero */
    uint64_t ticket;
    const emu_inst *inst;
    int lane;
} emu_copy;

/** The copies of a warp that are on their way, in the order in which they were issued. */
typedef struct emu_flight {
    emu_copy *copy;
    uint32_t copies, capacity;
} emu_flight;

/** Issue a copy. false: out of memory, as a finding says. */
bool emu_depart(struct emu_warp *warp, const emu_copy *copy);

/** Complete the copies that are due. */
void emu_land(struct emu_warp *warp, bool (*is_due)(const struct emu_warp *warp, const emu_copy *copy, const void *wait),
              const void *wait);

#endif
