/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight: asynchronous copies, from the instruction that issues one to the one that waits for it.
 *
 * What a copy brings is seen when it lands. Its ticket says with what: the instruction that issues it and the one that waits agree on
 * what a ticket means. For cp.async it is the number of a group that its lane commits.
 */
#ifndef EMU_FLIGHT_H
#define EMU_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "memory.h"

/** A copy from and to the shared memory of a block, or, on one side, an allocation. */
typedef struct emu_copy {
    uint8_t *to, *from;         /* on the host */
    emu_allocation *allocation; /* or NULL */
    uint32_t inst;              /* its number */
    uint32_t bytes, ticket;
    uint8_t missing; /* bytes at the end that are zero, as the source lacks them */
    uint8_t lane;
    bool is_store; /* the allocation is the target's */
} emu_copy;

/** The copies of a warp that are on their way, in the order in which they were issued. */
typedef struct emu_flight {
    emu_copy *copy;
    uint32_t copies, capacity;
} emu_flight;

/** Issue a copy. false: out of memory, as a finding says. */
bool emu_depart(struct emu_warp *warp, const emu_copy *copy);

/** What a copy brings arrives. */
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
