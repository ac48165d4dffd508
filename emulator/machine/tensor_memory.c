/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor_memory.h"

#include <stdio.h>
#include <stdlib.h>

#include "finding.h"

/* ---- allocation -------------------------------------------------------------------------------------------------------- */

void emu_tensor_start(emu_block *block)
{
    emu_tensor_memory *t = block->tensor;

    if (!t)
        return;
    memset(t->columns, 0, sizeof t->columns);
    memset(t->is_taken, 0, sizeof t->is_taken);
    memset(t->freed_by, 0, sizeof t->freed_by);
    t->relinquished_by = NULL;
    t->group = 0;
    t->asked = t->granted = 0;
}

static emu_tensor_memory *memory_of(emu_warp *warp, const emu_inst *inst)
{
    emu_block *block = warp->block;

    if (!block->tensor) {
        block->tensor = calloc(1, sizeof *block->tensor);
        if (!block->tensor)
            emu_find(warp, inst, CUEMU_ILLEGAL, 0, 0, "out of memory for tensor memory");
        else
            block->tensor->rank = block->rank;
    }
    return block->tensor;
}

bool emu_tensor_group(emu_warp *warp, const emu_inst *inst, int lane, int group)
{
    emu_tensor_memory *t = memory_of(warp, inst);

    if (t && t->group && t->group != group)
        emu_find(warp, inst, CUEMU_ILLEGAL, lane, 0,
                 "is of cta_group::%d, where the block has executed tcgen05 of cta_group::%d", group, t->group);
    else if (t)
        t->group = group;
    return t && t->group == group;
}

static bool are_free(const emu_tensor_memory *t, uint32_t first, uint32_t columns)
{
    for (uint32_t c = first; c < first + columns; c++)
        if (t->is_taken[c])
            return false;
    return true;
}

static void take(emu_tensor_memory *t, const emu_warp *warp, const emu_inst *inst, uint32_t first, uint32_t columns)
{
    for (uint32_t c = first; c < first + columns; c++) {
        t->is_taken[c] = true;
        t->freed_by[c] = NULL;
        t->taken_by[c] = inst;
        memset(t->known[c], 0, sizeof t->known[c]);
        memset(t->state[c], 0, sizeof t->state[c]);
    }
    t->columns[first] = (uint16_t)columns;
    t->taker = warp;
}

/* Take columns that are free in both memories, or in one. Returns whether there are any. */
static bool find_free(emu_tensor_memory *t, const emu_tensor_memory *other, emu_block *block, uint32_t columns, uint32_t *first)
{
    /* With a seed, an allocation may begin anywhere, as on a device where another block has columns. */
    const uint32_t places = EMU_TENSOR_COLUMNS / columns,
                   start = block->launch->seed ? (uint32_t)(emu_random(block) % places) : 0;

    for (uint32_t n = 0; n < places; n++) {
        *first = (start + n) % places * columns;
        if (are_free(t, *first, columns) && (!other || are_free(other, *first, columns)))
            return true;
    }
    return false;
}

/* Find the memory of the other block of a pair, whose warp waits for as many columns; NULL: it does not yet. */
static emu_tensor_memory *waiting_peer(emu_warp *warp, const emu_inst *inst, uint32_t columns)
{
    const emu_block *block = warp->block;
    emu_tensor_memory *peer = (block->rank ^ 1) < block->cluster->blocks ? block->cluster->block[block->rank ^ 1].tensor : NULL;

    if (peer && peer->asked && peer->asked != columns)
        emu_find(warp, inst, CUEMU_ILLEGAL, 0, columns, "allocates %u columns, where the other block of the pair asks for %u",
                 columns, peer->asked);
    return peer && peer->asked == columns ? peer : NULL;
}

bool emu_tensor_allocate(emu_warp *warp, const emu_inst *inst, uint32_t columns, uint32_t *first)
{
    emu_tensor_memory *t = warp->block->tensor, *peer = NULL;

    if (t->granted && t->asker == warp) {
        *first = t->granted - 1;
        t->granted = 0;
        return true;
    }
    t->asked = columns;
    t->asker = warp;
    t->asked_by = inst;
    if (t->group == 2 && !(peer = waiting_peer(warp, inst, columns)))
        return false;
    if (!find_free(t, peer, warp->block, columns, first))
        return false;
    take(t, warp, inst, *first, columns);
    t->asked = 0;
    if (peer) {
        take(peer, peer->asker, peer->asked_by, *first, columns);
        peer->asked = 0;
        peer->granted = *first + 1;
        warp->block->cluster->events++;
    }
    return true;
}

emu_tensor_memory *emu_tensor_columns(emu_warp *warp, const emu_inst *inst, int lane, const emu_block *block, uint32_t first,
                                      uint32_t columns)
{
    emu_tensor_memory *t = block->tensor;

    for (uint32_t c = first; c < first + columns; c++) {
        const emu_inst *freed = t && c < EMU_TENSOR_COLUMNS ? t->freed_by[c] : NULL;
        if (t && c < EMU_TENSOR_COLUMNS && t->is_taken[c])
            continue;
        if (freed)
            emu_find(warp, inst, CUEMU_TENSOR_MEMORY, lane, c,
                     "uses columns %u to %u of tensor memory; column %u was freed at line %u", first, first + columns - 1, c,
                     freed->line);
        else
            emu_find(warp, inst, CUEMU_TENSOR_MEMORY, lane, c,
                     "uses columns %u to %u of tensor memory; column %u is not allocated", first, first + columns - 1, c);
        return NULL;
    }
    return t;
}

/* ---- order ------------------------------------------------------------------------------------------------------------- */

static uint32_t product_slot_of(const emu_cluster *cluster, uint32_t slot)
{
    return emu_product_slot(cluster, slot / EMU_BLOCK_SLOTS, slot % EMU_PRODUCT_SLOTS);
}

/*
 * Say why an earlier access is not known to be complete; NULL: it is. by: the slot of its warp. kind: CUEMU_ASYNC_IN_FLIGHT, or
 * CUEMU_TENSOR_FENCE if only a fence lacks.
 */
static const char *why_pending(const emu_warp *warp, uint32_t by, uint32_t time, bool is_product, bool is_load, cuEmuKind *kind)
{
    const emu_cluster *cluster = warp->block->cluster;
    const uint32_t slot = is_product ? product_slot_of(cluster, by) : emu_offer_slot(cluster, by);
    const uint32_t waits_since = is_load ? warp->first_load : warp->first_store;

    *kind = CUEMU_ASYNC_IN_FLIGHT;
    if (by == warp->slot && !is_product)
        return !waits_since || waits_since > time ? NULL
               : is_load                          ? "no tcgen05.wait::ld comes between"
                                                  : "no tcgen05.wait::st comes between";
    if (is_product && warp->past.seen[slot] < time)
        return "no tcgen05.commit of it was waited for";
    if (by == warp->slot || warp->settled[slot] >= time)
        return NULL;
    if (is_product || warp->past.seen[slot] >= time || warp->past.seen[by] >= time)
        *kind = CUEMU_TENSOR_FENCE;
    if (is_product || warp->past.seen[slot] >= time)
        return "no tcgen05.fence::after_thread_sync comes after the wait";
    if (warp->past.seen[by] >= time)
        return is_load ? "no tcgen05.wait::ld and tcgen05.fence::before_thread_sync come before that warp's barrier"
                       : "no tcgen05.wait::st and tcgen05.fence::before_thread_sync come before that warp's barrier";
    return "no barrier comes between";
}

static void expect_complete(emu_warp *warp, const emu_inst *inst, int lane, uint32_t column, uint32_t part, bool writes,
                            uint32_t by, uint32_t time, bool is_product, bool is_write)
{
    cuEmuKind kind;
    const char *why = why_pending(warp, by, time, is_product, !is_write, &kind);

    if (why)
        emu_find(warp, inst, kind, lane, column, "%s column %u of tensor memory, lanes %u to %u, which %s of warp %u %s: %s",
                 writes ? "writes" : "reads", column, part * EMU_PART, part * EMU_PART + EMU_PART - 1,
                 is_product ? "a product"
                 : is_write ? "a tcgen05.st"
                            : "a tcgen05.ld",
                 by % EMU_BLOCK_SLOTS, is_write ? "writes" : "reads", why);
}

void emu_tensor_touch(emu_warp *warp, const emu_inst *inst, int lane, emu_tensor_memory *memory, uint32_t column, uint32_t part,
                      emu_tensor_access access)
{
    emu_tensor_state *s = &memory->state[column][part];
    const bool writes = access == EMU_STORE || access == EMU_PRODUCT_WRITE;
    const bool is_product = access == EMU_PRODUCT_READ || access == EMU_PRODUCT_WRITE;
    const uint32_t now = warp->block->cluster->now;
    const uint16_t self = (uint16_t)(warp->slot + 1);

    if (!warp->settled)
        return;
    /* Products of one warp are in order, and so are its loads and stores. */
    if (s->writer && !(s->writer == self && s->is_product == is_product && (is_product || access == EMU_STORE)))
        expect_complete(warp, inst, lane, column, part, writes, s->writer - 1u, s->write_time, s->is_product, true);
    if (writes && s->reader && !(s->reader == self && is_product))
        expect_complete(warp, inst, lane, column, part, true, s->reader - 1u, s->read_time, true, false);
    for (uint32_t i = 0; writes && i < sizeof s->load_time / sizeof s->load_time[0]; i++) {
        const uint32_t by = memory->rank * EMU_BLOCK_SLOTS + 4 * i + part * EMU_PART / EMU_QUARTER;
        if (s->load_time[i] && !(by == warp->slot && !is_product))
            expect_complete(warp, inst, lane, column, part, true, by, s->load_time[i], false, false);
    }
    if (writes) {
        s->writer = self;
        s->is_product = is_product;
        s->write_time = now;
        s->reader = 0;
        memset(s->load_time, 0, sizeof s->load_time);
    } else if (is_product) {
        s->reader = self;
        s->read_time = now;
    } else {
        s->load_time[warp->number / 4] = now;
    }
    if (access == EMU_LOAD && !warp->first_load)
        warp->first_load = now;
    if (access == EMU_STORE && !warp->first_store)
        warp->first_store = now;
}

void emu_tensor_wait(emu_warp *warp, bool is_load)
{
    *(is_load ? &warp->first_load : &warp->first_store) = 0;
    warp->block->cluster->now++;
}

void emu_tensor_offer(emu_warp *warp)
{
    emu_cluster *cluster = warp->block->cluster;
    uint32_t complete = cluster->now++;

    if (!warp->settled)
        return;
    if (warp->first_load && warp->first_load <= complete)
        complete = warp->first_load - 1;
    if (warp->first_store && warp->first_store <= complete)
        complete = warp->first_store - 1;
    warp->past.seen[emu_offer_slot(cluster, warp->slot)] = complete;
}

void emu_tensor_settle(emu_warp *warp)
{
    if (warp->settled)
        memcpy(warp->settled, warp->past.seen, warp->block->cluster->slots * sizeof *warp->settled);
}

/* Add what one past knows of products, loads and stores to another. */
static void join(const emu_cluster *cluster, emu_past *to, const emu_past *from)
{
    for (uint32_t i = emu_product_slot(cluster, 0, 0); i < emu_offer_slot(cluster, cluster->blocks * EMU_BLOCK_SLOTS); i++)
        to->seen[i] = from->seen[i] > to->seen[i] ? from->seen[i] : to->seen[i];
}

void emu_tensor_release(const emu_warp *warp, emu_past *to)
{
    if (to->seen && warp->settled)
        join(warp->block->cluster, to, &warp->past);
}

void emu_tensor_acquire(emu_warp *warp, const emu_past *from)
{
    if (from->seen && warp->settled)
        join(warp->block->cluster, &warp->past, from);
}

/* ---- the end of an allocation ------------------------------------------------------------------------------------------ */

/* Is an access complete, without the fences that an access to the same data would need? */
static bool is_over(const emu_warp *warp, uint32_t by, uint32_t time, bool is_product)
{
    const emu_cluster *cluster = warp->block->cluster;

    if (is_product)
        return warp->past.seen[product_slot_of(cluster, by)] >= time;
    if (by == warp->slot)
        return (!warp->first_load || warp->first_load > time) && (!warp->first_store || warp->first_store > time);
    return warp->past.seen[by] >= time || warp->past.seen[emu_offer_slot(cluster, by)] >= time;
}

/* Report an access to a column that may come after it is freed. */
static void find_late(emu_warp *warp, const emu_inst *inst, const emu_tensor_memory *t, uint32_t column)
{
    const uint32_t first = t->rank * EMU_BLOCK_SLOTS;

    for (uint32_t part = 0; part < EMU_TENSOR_LANES / EMU_PART; part++) {
        const emu_tensor_state *s = &t->state[column][part];
        const char *who = NULL;
        uint32_t by = 0;
        if (s->writer && !is_over(warp, s->writer - 1u, s->write_time, s->is_product)) {
            who = s->is_product ? "a product" : "a tcgen05.st";
            by = s->writer - 1u;
        } else if (s->reader && !is_over(warp, s->reader - 1u, s->read_time, true)) {
            who = "a product";
            by = s->reader - 1u;
        }
        for (uint32_t i = 0; !who && i < sizeof s->load_time / sizeof s->load_time[0]; i++) {
            by = first + 4 * i + part * EMU_PART / EMU_QUARTER;
            who = s->load_time[i] && !is_over(warp, by, s->load_time[i], false) ? "a tcgen05.ld" : NULL;
        }
        if (!who)
            continue;
        emu_find(warp, inst, CUEMU_ASYNC_IN_FLIGHT, 0, column,
                 "frees column %u of tensor memory, which %s of warp %u may still access: nothing waits for it", column, who,
                 by % EMU_BLOCK_SLOTS);
        return;
    }
}

void emu_tensor_free(emu_warp *warp, const emu_inst *inst, uint32_t first, uint32_t columns)
{
    emu_tensor_memory *t = emu_tensor_columns(warp, inst, 0, warp->block, first, columns);

    if (!t)
        return;
    if (t->columns[first] != columns) {
        emu_find(warp, inst, CUEMU_TENSOR_MEMORY, 0, first,
                 t->columns[first] ? "frees %u columns of tensor memory from column %u on, where %u were allocated"
                                   : "frees %u columns of tensor memory from column %u on, where no allocation begins",
                 columns, first, t->columns[first]);
        return;
    }
    for (uint32_t c = first; c < first + columns; c++) {
        if (warp->settled)
            find_late(warp, inst, t, c);
        t->is_taken[c] = false;
        t->freed_by[c] = inst;
    }
    t->columns[first] = 0;
    warp->block->cluster->events++; /* another warp may wait for them */
}

void emu_tensor_check_end(const emu_block *block)
{
    const emu_tensor_memory *t = block->tensor;

    for (uint32_t c = 0; t && c < EMU_TENSOR_COLUMNS; c++)
        if (t->columns[c])
            emu_find(t->taker, t->taken_by[c], CUEMU_TENSOR_MEMORY, 0, c,
                     "the block ends and has not freed these %u columns of tensor memory, from column %u on", t->columns[c], c);
}
