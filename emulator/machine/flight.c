/* SPDX-License-Identifier: Apache-2.0 */
#include "flight.h"

#include <stdlib.h>

#include "finding.h"
#include "shadow.h"

static emu_place place_of(const emu_warp *warp, const emu_copy *copy, bool is_target)
{
    uint8_t *const at = is_target ? copy->to : copy->from;
    emu_allocation *one = copy->is_store == is_target ? copy->allocation : NULL;

    if (one)
        return (emu_place){at, one, one->base + (uint64_t)(at - one->host), S_GLOBAL, NULL};
    return (emu_place){at, NULL, (uint64_t)(at - warp->block->shared), S_SHARED, NULL};
}

/* Check the target of a copy. It is written at issue and at completion; no other access may come in between. */
static void check_target(emu_warp *warp, const emu_copy *copy, bool has_landed)
{
    const emu_inst *inst = &warp->block->launch->module->inst[copy->inst];
    const emu_place to = place_of(warp, copy, true);

    if (!to.allocation && !has_landed) {
        emu_copy_departs(warp, inst, copy->lane, warp->block, (uint32_t)to.address, copy->bytes, false);
        return;
    }
    if (!to.allocation)
        emu_copy_lands(warp->block, (uint32_t)to.address, copy->bytes);
    emu_check_access(warp, inst, copy->lane, &to, copy->bytes, NULL, true, false);
}

static void check_source(emu_warp *warp, const emu_copy *copy)
{
    const emu_place from = place_of(warp, copy, false);
    const uint32_t bytes = copy->bytes - copy->missing;

    if (bytes)
        emu_check_access(warp, &warp->block->launch->module->inst[copy->inst], copy->lane, &from, bytes, NULL, false, false);
}

bool emu_depart(emu_warp *warp, const emu_copy *copy)
{
    emu_flight *flight = &warp->flight;

    if (flight->copies == flight->capacity) {
        const uint32_t capacity = flight->capacity * 2 + 256;
        emu_copy *larger = realloc(flight->copy, capacity * sizeof *larger);
        if (!larger) {
            emu_find(warp, &warp->block->launch->module->inst[copy->inst], CUEMU_ILLEGAL, copy->lane, 0,
                     "out of memory for copies on their way");
            return false;
        }
        flight->copy = larger;
        flight->capacity = capacity;
    }
    flight->copy[flight->copies++] = *copy;
    if (warp->block->state)
        check_target(warp, copy, false);
    if (warp->block->launch->checks && emu_is_early(warp))
        check_source(warp, copy); /* a device may read at once: a read at the end would hide that a wait is missing */
    return true;
}

void emu_complete(emu_warp *warp, const emu_copy *copy)
{
    const uint32_t bytes = copy->bytes - copy->missing;

    if (warp->block->state)
        check_target(warp, copy, true);
    if (copy->missing)
        memset(copy->to + bytes, 0, copy->missing);
    if (bytes)
        emu_copy_bytes(copy->to, copy->from, bytes);
    if (warp->block->launch->checks) {
        const emu_place to = place_of(warp, copy, true), from = place_of(warp, copy, false);
        uint8_t *defined = emu_defined_bytes(warp, copy->lane, &to), *known = emu_defined_bytes(warp, copy->lane, &from);
        check_source(warp, copy);
        if (defined)
            memset(defined, 1, copy->bytes);
        if (defined && known && bytes)
            memcpy(defined, known, bytes);
    }
}
