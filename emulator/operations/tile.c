/* SPDX-License-Identifier: Apache-2.0 */
/* tile: copies of tiles of a tensor that a tensor map describes. */
#include "bulk.h"
#include "finding.h"
#include "reduce.h"
#include "request.h"
#include "tcgen05.h"
#include "tensormap.h"

enum { TILE_ALIGNMENT = 128, CHUNK = 16, MOST_LINE = EMU_MOST_OF_BOX * 8 };

/* ---- landing ----------------------------------------------------------------------------------------------------------- */

static uint32_t lines_of(const emu_tensor *t)
{
    return emu_tile_bytes(t) / (t->box[0] * emu_element_bytes((emu_element)t->element));
}

/* Find the part of a row that lies in the tensor. false: no memory there, and a finding says so. */
static bool find_line(const emu_arrival *a, const emu_tile_line *line, emu_place *place)
{
    const uint64_t bytes = (uint64_t)line->count * emu_element_bytes((emu_element)a->tensor.element);
    char where[200];

    *place = (emu_place){.address = line->address, .space = S_GLOBAL};
    place->at = emu_memory_range(line->address, bytes, &place->allocation);
    if (!place->at)
        emu_find(a->warp, a->inst, CUEMU_OUT_OF_BOUNDS, a->lane, line->address, "a line of the tile: %llu bytes at 0x%llx, %s",
                 (unsigned long long)bytes, (unsigned long long)line->address,
                 emu_describe_address(line->address, where, sizeof where));
    return place->at != NULL;
}

/* Copy a row between its swizzled place in shared memory and contiguous elements. */
static void scatter(const emu_tensor *t, uint8_t *shared, uint32_t at, const uint8_t *line, uint32_t bytes)
{
    for (uint32_t n = 0; n < bytes; n += CHUNK)
        memcpy(shared + emu_swizzled(t, at + n), line + n, CHUNK);
}

static void gather(const emu_tensor *t, const uint8_t *shared, uint32_t at, uint8_t *line, uint32_t bytes)
{
    for (uint32_t n = 0; n < bytes; n += CHUNK)
        memcpy(line + n, shared + emu_swizzled(t, at + n), CHUNK);
}

static void convert(const emu_tensor *t, uint8_t *line, uint32_t bytes)
{
    const unsigned size = emu_element_bytes((emu_element)t->element);

    for (uint32_t n = 0; n < bytes && t->element >= EL_F32_FTZ; n += size) {
        uint64_t bits = 0;
        memcpy(&bits, line + n, size);
        bits = emu_element_converted((emu_element)t->element, bits);
        memcpy(line + n, &bits, size);
    }
}

static void land_load(const emu_arrival *a)
{
    const emu_tensor *t = &a->tensor;
    const unsigned size = emu_element_bytes((emu_element)t->element);
    const uint32_t bytes = t->box[0] * size, lines = lines_of(t);
    const uint64_t outside = emu_element_outside(t);
    uint8_t line[MOST_LINE], known[MOST_LINE];

    for (uint32_t n = 0; n < lines; n++) {
        const emu_tile_line where = emu_tile_line_at(t, a->coordinate, n);
        const uint32_t first = where.first * size, length = where.count * size;
        emu_place from;
        for (uint32_t i = 0; i < bytes; i += size)
            memcpy(line + i, &outside, size);
        memset(known, 1, bytes);
        if (where.is_inside) {
            emu_place to = {line + first, NULL, 0, S_GENERIC, NULL};
            const uint8_t *defined;
            if (!find_line(a, &where, &from))
                return;
            emu_bulk_move(a, &to, &from, length);
            defined = emu_defined_bytes(a->warp, a->lane, &from);
            if (defined)
                memcpy(known + first, defined, length);
            convert(t, line + first, length);
        }
        scatter(t, a->writes->shared, a->to + n * bytes, line, bytes);
        if (a->writes->shared_defined)
            scatter(t, a->writes->shared_defined, a->to + n * bytes, known, bytes);
    }
    emu_bulk_complete(a);
}

/*
 * Return the part of a row that a store writes: a GPU stores 16-byte chunks, the last one whole, even if the tensor ends within
 * it (H100).
 */
static emu_tile_line stored_line(const emu_arrival *a, uint32_t n)
{
    emu_tile_line line = emu_tile_line_at(&a->tensor, a->coordinate, n);
    const uint32_t elements = CHUNK / emu_element_bytes((emu_element)a->tensor.element);

    if (line.is_inside)
        line.count += (elements - (line.first + line.count) % elements) % elements;
    return line;
}

static void land_lines(const emu_arrival *a, void (*put)(const emu_arrival *, const emu_place *, const emu_place *, uint32_t))
{
    const emu_tensor *t = &a->tensor;
    const unsigned size = emu_element_bytes((emu_element)t->element);
    const uint32_t bytes = t->box[0] * size, lines = lines_of(t);
    uint8_t line[MOST_LINE], known[MOST_LINE];

    for (uint32_t n = 0; n < lines; n++) {
        const emu_tile_line where = stored_line(a, n);
        const uint32_t first = where.first * size, length = where.count * size;
        const emu_place from = {line + first, NULL, 0, S_GENERIC, NULL};
        emu_place to;
        if (!where.is_inside)
            continue;
        if (!find_line(a, &where, &to))
            return;
        gather(t, a->reads->shared, a->from + n * bytes, line, bytes);
        if (a->reads->shared_defined) {
            gather(t, a->reads->shared_defined, a->from + n * bytes, known, bytes);
            if (memchr(known + first, 0, length))
                emu_find(a->warp, a->inst, CUEMU_UNINITIALISED, a->lane, a->from + n * bytes,
                         "stores to global memory what was never written, in line %u of the tile at shared offset 0x%x", n,
                         a->from);
        }
        convert(t, line + first, length);
        put(a, &to, &from, length);
    }
    emu_bulk_complete(a);
}

static void land_store(const emu_arrival *a)
{
    land_lines(a, emu_bulk_move);
}

/* ---- issuing ----------------------------------------------------------------------------------------------------------- */

/* Read the map that an operand names, and the coordinates in the operands after it. false: the launch has failed. */
static bool take_map(emu_warp *warp, const emu_inst *inst, int lane, unsigned operand, emu_arrival *a)
{
    const unsigned rank = inst->choice[0];

    if (!emu_read_map(warp, inst, lane, S_GENERIC, &inst->operand[operand], &a->tensor) ||
        !emu_check_map(warp, inst, lane, &inst->operand[operand], &a->tensor))
        return false;
    if (a->tensor.rank != rank) {
        emu_find(warp, inst, CUEMU_ILLEGAL, lane, emu_address_of(warp, &inst->operand[operand], lane),
                 "the tensor map is one of %u dimensions", a->tensor.rank);
        return false;
    }
    for (unsigned i = 0; i < rank; i++) {
        const emu_operand *c = &inst->operand[operand + 1 + i];
        if (warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED)
            emu_check_defined(warp, inst, c, 1u << lane, "as a coordinate");
        a->coordinate[i] = (int32_t)emu_unsigned(warp, c, lane);
    }
    a->bytes = emu_tile_bytes(&a->tensor);
    if (a->coordinate[0] * (int64_t)emu_element_bytes((emu_element)a->tensor.element) % CHUNK) {
        emu_find(warp, inst, CUEMU_ILLEGAL, lane, a->tensor.address,
                 "the tile begins at element %d of a line, which is not a multiple of %d bytes", a->coordinate[0], CHUNK);
        return false;
    }
    return true;
}

/* Find a tile in shared memory. */
static bool take_shared(emu_warp *warp, const emu_inst *inst, int lane, emu_space space, const emu_operand *operand,
                        uint32_t bytes, emu_place *place)
{
    if (!emu_resolve_span(warp, inst, space, lane, operand, bytes, place))
        return false;
    if (place->address % TILE_ALIGNMENT) {
        emu_find(warp, inst, CUEMU_MISALIGNED, lane, place->address,
                 "a tile at shared offset 0x%llx, which is not a multiple of %d", (unsigned long long)place->address,
                 TILE_ALIGNMENT);
        return false;
    }
    return true;
}

/* Count the rows in global memory, and note them as progress. */
static void note_lines(emu_warp *warp, const emu_arrival *a, bool is_write)
{
    const unsigned size = emu_element_bytes((emu_element)a->tensor.element);
    emu_patience *patience = &warp->block->patience;

    for (uint32_t n = 0; (warp->block->line || patience->is_watched) && n < lines_of(&a->tensor); n++) {
        const emu_tile_line line = emu_tile_line_at(&a->tensor, a->coordinate, n);
        if (!line.is_inside)
            continue;
        emu_bulk_count(warp, a->inst, line.address, line.count * size, is_write);
        if (patience->is_watched)
            emu_touch(patience, line.address);
    }
}

/* cp.async.bulk.tensor.shared.global [to], [map, {coordinates}], [mbar]{, mask} */
static void load(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const unsigned mbarrier = 2u + inst->choice[0];

    EMU_EACH_LANE (i, mask) {
        emu_arrival a = {.land = land_load, .warp = warp, .inst = inst, .lane = i};
        emu_place to;
        bool is_issued;
        if (!take_map(warp, inst, i, 1, &a) || !take_shared(warp, inst, i, inst->space, &inst->operand[0], a.bytes, &to))
            return;
        a.writes = to.block ? to.block : warp->block;
        a.to = (uint32_t)to.address;
        if (!emu_bulk_aim(warp, i, &inst->operand[mbarrier], &a))
            return;
        note_lines(warp, &a, false);
        is_issued = inst->operands > mbarrier + 1
                        ? emu_bulk_multicast(warp, &a, (uint32_t)emu_unsigned(warp, &inst->operand[mbarrier + 1], i))
                        : emu_bulk_issue(warp, &a);
        if (!is_issued)
            return;
    }
}

/* cp.async.bulk.tensor.global.shared::cta [map, {coordinates}], [from] */
static void issue_store(emu_warp *warp, const emu_inst *inst, uint32_t mask, void (*land)(const emu_arrival *))
{
    EMU_EACH_LANE (i, mask) {
        emu_arrival a = {
            .land = land, .warp = warp, .inst = inst, .lane = i, .is_in_group = true, .ticket = warp->bulk_group[i]};
        emu_place from;
        if (!take_map(warp, inst, i, 0, &a) ||
            !take_shared(warp, inst, i, S_SHARED, &inst->operand[1 + inst->choice[0]], a.bytes, &from))
            return;
        a.reads = warp->block;
        a.from = (uint32_t)from.address;
        note_lines(warp, &a, true);
        if (!emu_bulk_issue(warp, &a))
            return;
    }
}

EMU_SETTLED(store, issue_store, land_store)

/* Return the type in which a reduction combines a map's elements; T_NONE: none. */
static emu_type type_of(const emu_tensor *t, int how)
{
    static const emu_type types[EL_COUNT] = {[EL_U32] = T_U32, [EL_S32] = T_S32, [EL_U64] = T_U64, [EL_S64] = T_S64,
                                             [EL_F16] = T_F16, [EL_F32] = T_F32, [EL_F64] = T_F64, [EL_BF16] = T_BF16};

    return emu_element_is_float((emu_element)t->element) && how != EMU_ADD ? T_NONE : types[t->element];
}

static void land_any_reduction(const emu_arrival *a)
{
    emu_arrival typed = *a;

    typed.how = a->inst->choice[1];
    typed.type = (uint8_t)type_of(&a->tensor, typed.how);
    if (typed.type == T_NONE)
        emu_find(a->warp, a->inst, CUEMU_ILLEGAL, a->lane, 0, "a reduction that the elements of the tensor map do not have");
    else
        land_lines(&typed, emu_bulk_combine);
}

EMU_SETTLED(reduce, issue_store, land_any_reduction)

static void prefetch(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_arrival a;

    EMU_EACH_LANE (i, mask)
        if (!take_map(warp, inst, i, 0, &a))
            return;
}

#define DIMENSIONS "{*.1d,.2d,.3d,.4d,.5d}"
#define ON_BARRIER ".mbarrier::complete_tx::bytes"
#define HINT "{.L2::cache_hint}"
#define PAIR "{*.cta_group::1,.cta_group::2}"
#define LOAD "cp.async.bulk.tensor" DIMENSIONS "{*.shared::cluster.global,.shared::cta.global}{.tile}"
#define LOAD_WIDE "cp.async.bulk.tensor" DIMENSIONS "{*.shared::cluster.global}{.tile}"

const emu_form emu_tile_forms[] = {
    {LOAD ON_BARRIER HINT, "@ C @ H", load, NULL, 0, D_OWN, 0, 0, 90},
    {LOAD_WIDE ON_BARRIER ".multicast::cluster" HINT, "@ C @ h H", load, NULL, 0, D_OWN, 0, 0, 90},
    {LOAD ON_BARRIER PAIR HINT, "@ C @ H", load, NULL, 0, D_OWN, 0, 0, EMU_DATACENTER},
    {LOAD_WIDE ON_BARRIER ".multicast::cluster" PAIR HINT, "@ C @ h H", load, NULL, 0, D_OWN, 0, 0, EMU_DATACENTER},
    {"cp.async.bulk.tensor" DIMENSIONS "{*.global.shared::cta}{.tile}.bulk_group" HINT, "C @ H", store, NULL, 0, D_OWN, 0, 0,
     90},
    {"cp.reduce.async.bulk.tensor" DIMENSIONS
     "{*.and,.or,.xor,.add,.min,.max,.inc,.dec}{*.global.shared::cta}{.tile}.bulk_group" HINT,
     "C @ H", reduce, NULL, 0, D_ATOMIC, 0, 0, 90},
    {"cp.async.bulk.prefetch.tensor" DIMENSIONS ".L2.global{.tile}" HINT, "C H", prefetch, NULL, 0, D_OWN, 0, 0, 90},
    {0},
};
