/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include <stdio.h>

#include "cluster.h"
#include "counters.h"
#include "finding.h"

/* Return the allocation that holds [low, low + bytes), or NULL; try the most recent ones first. */
static emu_allocation *find_allocation(emu_block *block, uint64_t low, uint64_t bytes)
{
    emu_allocation *one;

    for (unsigned i = 0; i < sizeof block->last / sizeof block->last[0]; i++) {
        one = block->last[i];
        if (one && low - one->base < one->size && bytes <= one->size - (low - one->base))
            return one;
    }
    one = emu_memory_find(low);
    if (!one || bytes > one->size - (low - one->base))
        return NULL;
    block->last[block->last_next++ % (sizeof block->last / sizeof block->last[0])] = one;
    return one;
}

static const emu_shared_range *find_range(const emu_launch *launch, uint64_t low, uint64_t bytes)
{
    for (uint32_t i = 0; i < launch->ranges; i++)
        if (low >= launch->range[i].begin && low < launch->range[i].end && bytes <= launch->range[i].end - low)
            return &launch->range[i];
    return NULL;
}

static void out_of_bounds(emu_warp *warp, const emu_inst *inst, int lane, emu_space space, uint64_t address, unsigned bytes)
{
    const emu_launch *launch = warp->block->launch;
    char where[200] = "";

    if (space == S_SHARED) {
        for (uint32_t i = 0; i < launch->ranges; i++) {
            const emu_shared_range *r = &launch->range[i];
            const uint64_t before = r->begin - address, behind = address + bytes - r->end;
            if (before < EMU_RED_ZONE / 2 || behind < EMU_RED_ZONE)
                snprintf(where, sizeof where, ", %llu bytes %s %.*s, which has %u bytes",
                         (unsigned long long)(before < EMU_RED_ZONE / 2 ? before : behind),
                         before < EMU_RED_ZONE / 2 ? "before" : "beyond the end of",
                         r->symbol ? (int)(r->symbol->name_length < 80 ? r->symbol->name_length : 80) : 24,
                         r->symbol ? r->symbol->name : "the dynamic shared array", r->end - r->begin);
        }
        emu_find(warp, inst, CUEMU_OUT_OF_BOUNDS, lane, address, "%u bytes at shared offset 0x%llx%s", bytes,
                 (unsigned long long)address, where[0] ? where : ", outside every shared array");
    } else if (space == S_GLOBAL || space == S_GENERIC) {
        emu_find(warp, inst, CUEMU_OUT_OF_BOUNDS, lane, address, "%u bytes at 0x%llx, %s", bytes, (unsigned long long)address,
                 emu_describe_address(address, where, sizeof where));
    } else {
        emu_find(warp, inst, CUEMU_OUT_OF_BOUNDS, lane, address, "%u bytes at 0x%llx of %s memory", bytes,
                 (unsigned long long)address,
                 space == S_LOCAL   ? "local"
                 : space == S_CONST ? "constant"
                                    : "parameter");
    }
}

/* Resolve one lane's address; false: it may not be accessed, and a finding says why. */
static bool resolve_lane(emu_warp *warp, const emu_inst *inst, emu_place *place, int lane, unsigned bytes)
{
    const emu_block *block = warp->block;
    emu_block *other = NULL;
    const emu_function *f = block->launch->function;
    const size_t n = (size_t)lane;
    emu_space space = place->space;
    uint64_t address = place->address, size;
    uint8_t *base;

    if (space == S_GENERIC) {
        if (address - EMU_SHARED_WINDOW < EMU_CLUSTER_BYTES) {
            space = S_CLUSTER;
            address -= EMU_SHARED_WINDOW;
        } else if (address - EMU_LOCAL_WINDOW < EMU_WINDOW_BYTES) {
            space = S_LOCAL;
            address -= EMU_LOCAL_WINDOW;
        } else {
            space = S_GLOBAL;
        }
    }
    if (space == S_CLUSTER) {
        other = emu_peer(warp, inst, lane, &address);
        if (!other)
            return false;
        space = S_SHARED;
        block = other;
    }
    if (space == S_GLOBAL && address - EMU_PARAM_WINDOW < EMU_WINDOW_BYTES) {
        space = S_PARAM;
        address -= EMU_PARAM_WINDOW;
    }
    if ((space == S_LOCAL || space == S_PARAM) && address - EMU_FRAMES_IN_LOCAL < EMU_WINDOW_BYTES - EMU_FRAMES_IN_LOCAL) {
        space = S_FRAME;
        address -= EMU_FRAMES_IN_LOCAL;
    }
    *place = (emu_place){.address = address, .space = space, .block = other};
    switch (space) {
    case S_SHARED:
        base = block->shared;
        size = find_range(block->launch, address, bytes) ? EMU_WINDOW_BYTES : 0;
        break;
    case S_GLOBAL:
    case S_CONST:
        place->allocation = find_allocation(warp->block, address, bytes);
        if (place->allocation)
            place->at = place->allocation->host + (address - place->allocation->base);
        else
            out_of_bounds(warp, inst, lane, space, address, bytes);
        return place->allocation != NULL;
    case S_LOCAL:
        base = warp->local + n * f->local_bytes;
        size = f->local_bytes;
        break;
    case S_FRAME:
        base = warp->frame + n * f->frame_bytes;
        size = f->frame_bytes;
        break;
    default:
        base = (uint8_t *)(uintptr_t)block->launch->parameters;
        size = f->param_bytes;
        break;
    }
    if (address > size || bytes > size - address) {
        out_of_bounds(warp, inst, lane, space, address, bytes);
        return false;
    }
    place->at = base + address;
    return true;
}

bool emu_resolve_at(emu_warp *warp, const emu_inst *inst, emu_space space, uint32_t mask, const uint64_t address[EMU_LANES],
                    unsigned bytes, emu_request *r)
{
    const unsigned align = bytes & (0 - bytes); /* access sizes are powers of two */
    uint64_t low = UINT64_MAX, high = 0, bits = 0;
    emu_block *block = warp->block;
    emu_allocation *one = NULL;
    uint64_t shift = 0; /* from an address to its host address */
    bool is_resolved = false;

    r->mask = mask;
    r->bytes = bytes;
    EMU_LANEWISE(mask, {
        low = address[i] < low ? address[i] : low;
        high = address[i] > high ? address[i] : high;
        bits |= address[i];
    });
    if (bits & (align - 1)) {
        EMU_EACH_LANE (i, mask)
            if (address[i] & (align - 1)) {
                emu_find(warp, inst, CUEMU_MISALIGNED, i, address[i], "%u bytes at 0x%llx, which is not a multiple of %u",
                         bytes, (unsigned long long)address[i], align);
                return false;
            }
    }
    /* All lanes in one array or allocation: the usual case. */
    if (space == S_SHARED && high - low < UINT32_MAX && find_range(block->launch, low, high - low + bytes)) {
        shift = (uintptr_t)block->shared;
        is_resolved = true;
    } else if (space == S_GLOBAL || (space == S_GENERIC && high < EMU_SHARED_WINDOW)) {
        if (block->patience.is_watched) {
            emu_touch(&block->patience, low);
            emu_touch(&block->patience, high);
        }
        one = find_allocation(block, low, high - low + bytes);
        if (one) {
            shift = (uintptr_t)one->host - one->base;
            space = S_GLOBAL;
            is_resolved = true;
        }
    }
    EMU_LANEWISE(mask, r->place[i] = ((emu_place){(uint8_t *)(uintptr_t)(address[i] + shift), one, address[i], space, NULL}));
    EMU_EACH_LANE (i, is_resolved ? 0 : mask)
        if (!resolve_lane(warp, inst, &r->place[i], i, bytes))
            return false;
    return true;
}

bool emu_resolve(emu_warp *warp, const emu_inst *inst, emu_space space, uint32_t mask, const emu_operand *operand,
                 unsigned bytes, emu_request *r)
{
    const uint64_t displacement = (uint64_t)operand->displacement;
    const uint64_t *wide = emu_lanes(warp, operand);
    uint64_t address[EMU_LANES];

    if (warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED)
        emu_check_defined(warp, inst, operand, mask, "as an address");
    if (operand->bytes == 8)
        EMU_LANEWISE(mask, address[i] = wide[i] + displacement);
    else
        EMU_LANEWISE(mask, address[i] = emu_unsigned(warp, operand, i) + displacement);
    return emu_resolve_at(warp, inst, space, mask, address, bytes, r);
}

bool emu_resolve_span(emu_warp *warp, const emu_inst *inst, emu_space space, int lane, const emu_operand *operand,
                      uint32_t bytes, emu_place *place)
{
    enum { UNIT = 16 };
    emu_request r;

    if (bytes % UNIT) {
        emu_find(warp, inst, CUEMU_MISALIGNED, lane, bytes, "copies %u bytes, which is not a multiple of %d", bytes, UNIT);
        return false;
    }
    if (!emu_resolve(warp, inst, space, 1u << lane, operand, UNIT, &r))
        return false;
    *place = r.place[lane];
    if (place->space == S_SHARED
            ? find_range(warp->block->launch, place->address, bytes) != NULL
            : place->allocation && bytes <= place->allocation->size - (place->address - place->allocation->base))
        return true;
    out_of_bounds(warp, inst, lane, place->space, place->address, bytes);
    return false;
}

bool emu_is_forbidden(emu_warp *warp, const emu_inst *inst, const emu_request *r)
{
    const uint32_t lanes = emu_lanes_in(r, S_PARAM) | emu_lanes_in(r, S_CONST);
    const int lane = lanes ? __builtin_ctz(lanes) : 0;

    if (lanes)
        emu_find(warp, inst, CUEMU_ILLEGAL, lane, r->place[lane].address, "a store to memory that is read only");
    return lanes != 0;
}

void emu_count_request(const emu_warp *warp, const emu_inst *inst, const emu_request *r, unsigned elements, bool is_write)
{
    cuEmuCounters *line = emu_line(warp, inst);
    uint32_t lanes;

    if (!line)
        return;
    lanes = emu_lanes_in(r, S_GLOBAL);
    if (lanes)
        emu_count_global(line, r->place, lanes, r->bytes, elements, is_write);
    lanes = emu_lanes_in(r, S_SHARED);
    if (lanes)
        emu_count_shared(line, r->place, lanes, r->bytes, elements, is_write);
    line->local_requests += emu_lanes_in(r, S_LOCAL) != 0;
}
