/* SPDX-License-Identifier: Apache-2.0 */
#include "flight.h"

#include <stdlib.h>

#include "finding.h"
#include "shadow.h"

static void mark(emu_warp *warp, const emu_copy *copy, int delta)
{
    emu_shared_byte *byte = copy->to.space == S_SHARED ? warp->block->byte : NULL;

    for (unsigned b = 0; byte && b < copy->bytes; b++)
        if (delta > 0 || byte[copy->to.address + b].in_flight) /* a finding has set it to 0 */
            byte[copy->to.address + b].in_flight = (uint8_t)(byte[copy->to.address + b].in_flight + delta);
}

bool emu_depart(emu_warp *warp, const emu_copy *copy)
{
    emu_flight *flight = &warp->flight;

    if (flight->copies == flight->capacity) {
        const uint32_t capacity = flight->capacity * 2 + 256;
        emu_copy *larger = realloc(flight->copy, capacity * sizeof *larger);
        if (!larger) {
            emu_find(warp, copy->inst, CUEMU_ILLEGAL, copy->lane, 0, "out of memory for copies on their way");
            return false;
        }
        flight->copy = larger;
        flight->capacity = capacity;
    }
    flight->copy[flight->copies++] = *copy;
    emu_check_access(warp, copy->inst, copy->lane, &copy->to, copy->bytes, NULL, true, false);
    mark(warp, copy, 1);
    return true;
}

static void complete(emu_warp *warp, const emu_copy *copy)
{
    const uint8_t *known = emu_defined_bytes(warp, copy->lane, &copy->from);
    uint8_t *defined = emu_defined_bytes(warp, copy->lane, &copy->to);
    const uint32_t bytes = copy->source_bytes;

    mark(warp, copy, -1);
    emu_check_access(warp, copy->inst, copy->lane, &copy->to, copy->bytes, NULL, true, false);
    memset(copy->to.at + bytes, 0, copy->bytes - bytes);
    if (defined)
        memset(defined, 1, copy->bytes);
    if (!bytes)
        return;
    emu_check_access(warp, copy->inst, copy->lane, &copy->from, bytes, NULL, false, false);
    memcpy(copy->to.at, copy->from.at, bytes);
    if (defined && known)
        memcpy(defined, known, bytes);
}

void emu_land(emu_warp *warp, bool (*is_due)(const emu_warp *, const emu_copy *, const void *), const void *wait)
{
    emu_flight *flight = &warp->flight;
    uint32_t left = 0;

    for (uint32_t n = 0; n < flight->copies; n++) {
        if (is_due(warp, &flight->copy[n], wait))
            complete(warp, &flight->copy[n]);
        else
            flight->copy[left++] = flight->copy[n];
    }
    flight->copies = left;
}
