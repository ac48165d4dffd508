/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight: asynchronous copies, from the instruction that issues one to the one that waits for it.
 *
 * The data of a copy is visible once it completes. The issuing and the waiting instruction agree on the meaning of its ticket;
 * for cp.async it is the number of a group that the lane commits.
 */
#ifndef EMU_FLIGHT_H
#define EMU_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "memory.h"

/** A copy between the shared memory of blocks, or between a block's shared memory and an allocation. */
typedef struct emu_copy {
    uint8_t *to, *from;         /* host addresses */
    emu_allocation *allocation; /* or NULL */
    uint32_t inst;              /* its number */
    uint32_t bytes, ticket;
    uint8_t missing; /* zero bytes at the end, past the end of the source */
    uint8_t lane;
    bool is_store; /* the allocation is the target */
} emu_copy;

/** The pending copies of a warp, in order of issue. */
typedef struct emu_flight {
    emu_copy *copy;
    uint32_t copies, capacity;
} emu_flight;

/** Issue a copy. false: out of memory, and a finding says so. */
bool emu_depart(struct emu_warp *warp, const emu_copy *copy);

/** Write the data of a copy. */
void emu_complete(struct emu_warp *warp, const emu_copy *copy);

/** Complete the copies that are due. */
static inline void emu_land(struct emu_warp *warp, emu_flight *flight, bool (*is_due)(const emu_copy *copy, const void *wait),
                            const void *wait)
{
    uint32_t left = 0;

    for (uint32_t n = 0; n < flight->copies; n++) {
        if (is_due(&flight->copy[n], wait))
            emu_complete(warp, &flight->copy[n]);
        else if (left++ < n)
            flight->copy[left - 1] = flight->copy[n];
    }
    flight->copies = left;
}

#endif
