/* SPDX-License-Identifier: Apache-2.0 */
/* bulk: asynchronous copies of many bytes by one thread, which complete on an mbarrier or in a group. */
#include "bulk.h"
#include "counters.h"
#include "finding.h"
#include "reduce.h"
#include "request.h"

/* ---- landing ----------------------------------------------------------------------------------------------------------- */

void emu_bulk_complete(const emu_arrival *a)
{
    emu_cluster *cluster = a->warp->block->cluster;
    const bool is_linear = a->tensor.rank < 2; /* the bytes may have been laid out earlier */
    emu_mbarrier *m;

    if (a->writes) {
        emu_copy_arrives(a->writes, a->to, a->bytes, emu_copy_slot(cluster, a->mbarrier), a->how != 0);
        emu_note_swizzle(a->writes, a->to, a->bytes, is_linear ? EMU_LINEAR : a->tensor.swizzle);
    }
    if (a->reads)
        emu_copy_has_read(a->reads, a->from, a->bytes);
    if (!a->block || a->block->has_ended)
        return;
    m = emu_mbarrier_at(a->warp, a->inst, a->lane, a->block, a->mbarrier);
    if (!m)
        return;
    if (m->gathering.seen)
        m->gathering.seen[emu_copy_slot(cluster, a->mbarrier)] = cluster->now;
    if (a->block != a->warp->block)
        emu_note_visit(a->block, emu_copy_slot(cluster, a->mbarrier), a->warp, a->inst);
    cluster->now++;
    emu_mbarrier_count(a->warp, a->inst, a->lane, m, -(int64_t)a->bytes);
    emu_mbarrier_try(m);
}

static emu_place place_in(const emu_arrival *a, bool is_target)
{
    emu_block *block = is_target ? a->writes : a->reads;
    const uint32_t offset = is_target ? a->to : a->from;

    if (block)
        return (emu_place){block->shared + offset, NULL, offset, S_SHARED, block};
    return (emu_place){a->allocation->host + (a->address - a->allocation->base), a->allocation, a->address, S_GLOBAL, NULL};
}

void emu_bulk_move(const emu_arrival *a, const emu_place *to, const emu_place *from, uint32_t bytes)
{
    const uint8_t *known = emu_defined_bytes(a->warp, a->lane, from);
    uint8_t *defined = emu_defined_bytes(a->warp, a->lane, to);
    const emu_request r = {.mask = 1, .bytes = bytes};

    if (from->allocation)
        emu_check_access(a->warp, a->inst, a->lane, from, bytes, NULL, false, false);
    if (to->allocation) {
        emu_request written = r;
        written.place[0] = *to;
        emu_check_access(a->warp, a->inst, a->lane, to, bytes, from->at, true, false);
        emu_note_write(&written, 0);
        if (known && memchr(known, 0, bytes))
            emu_find(a->warp, a->inst, CUEMU_UNINITIALISED, a->lane, from->address,
                     "stores to global memory what was never written: shared offset 0x%llx",
                     (unsigned long long)from->address + (uint64_t)((const uint8_t *)memchr(known, 0, bytes) - known));
    }
    memcpy(to->at, from->at, bytes);
    if (defined && known && !to->allocation)
        memcpy(defined, known, bytes);
    else if (defined)
        memset(defined, 1, bytes);
}

static void land(const emu_arrival *a)
{
    const emu_place to = place_in(a, true), from = place_in(a, false);

    emu_bulk_move(a, &to, &from, a->bytes);
    emu_bulk_complete(a);
}

void emu_bulk_combine(const emu_arrival *a, const emu_place *to, const emu_place *from, uint32_t bytes)
{
    const emu_type type = (emu_type)a->type;
    const unsigned size = emu_type_bytes(type);
    uint8_t *defined = emu_defined_bytes(a->warp, a->lane, to);

    emu_check_access(a->warp, a->inst, a->lane, to, bytes, NULL, true, true);
    if (defined && memchr(defined, 0, bytes))
        emu_find(a->warp, a->inst, CUEMU_UNINITIALISED, a->lane, to->address,
                 "combines a value with memory that was never written");
    if (defined)
        memset(defined, 1, bytes);
    emu_atomics_lock();
    for (uint32_t at = 0; at < bytes; at += size) {
        uint64_t old = 0, value = 0;
        memcpy(&old, to->at + at, size);
        memcpy(&value, from->at + at, size);
        value = emu_combine_atomic(a->how, type, old, value, 0, false);
        memcpy(to->at + at, &value, size);
    }
    emu_atomics_unlock();
}

static void land_reduction(const emu_arrival *a)
{
    const emu_place to = place_in(a, true), from = place_in(a, false);

    emu_bulk_combine(a, &to, &from, a->bytes);
    emu_bulk_complete(a);
}

static void land_value(const emu_arrival *a)
{
    const emu_place to = place_in(a, true), from = {(uint8_t *)(uintptr_t)a->value, NULL, 0, S_GENERIC, NULL};

    if (a->how)
        emu_bulk_combine(a, &to, &from, a->bytes);
    else
        emu_bulk_move(a, &to, &from, a->bytes);
    emu_bulk_complete(a);
}

/* ---- issuing ----------------------------------------------------------------------------------------------------------- */

/*
 * Report a copy that completes on an mbarrier that no fence made visible to the async proxy. Without a cluster most programs
 * omit the fence, and no device is known to fail then: one warning tells them.
 */
static void find_missing_fence(emu_warp *warp, const emu_inst *inst, int lane, const emu_mbarrier *m)
{
    const bool is_warning = warp->block->cluster->blocks == 1;

    if (is_warning && atomic_exchange(&warp->block->launch->lacks_init_fence, true))
        return;
    emu_find(warp, inst, is_warning ? CUEMU_INIT_FENCE : CUEMU_PROXY_FENCE, lane, m->offset,
             "completes on the mbarrier at shared offset 0x%x, which was initialised with neither fence.mbarrier_init nor "
             "fence.proxy.async since",
             m->offset);
}

/* May a copy into one block of a pair complete on an mbarrier of the other? */
static bool is_of_pair(const emu_arrival *a)
{
    return (a->block->rank ^ a->writes->rank) == 1 && memmem(a->inst->text, a->inst->text_length, ".cta_group::2", 13);
}

/* Find the mbarrier that a copy completes on. It must be visible to the async proxy. */
static bool take_mbarrier(emu_warp *warp, int lane, const emu_place *place, emu_arrival *a)
{
    emu_mbarrier *m;

    a->block = place->block ? place->block : warp->block;
    a->mbarrier = (uint32_t)place->address;
    if (place->space != S_SHARED || (a->writes && a->block != a->writes && !is_of_pair(a))) {
        emu_find(warp, a->inst, CUEMU_MBARRIER, lane, place->address,
                 "the mbarrier is not in the shared memory that the copy writes");
        return false;
    }
    m = emu_mbarrier_use(warp, a->inst, lane, a->block, a->mbarrier);
    if (m && warp->past.seen && !m->is_fenced && warp->past.fenced[m->writer] < m->time &&
        warp->block->launch->checks & CUEMU_CHECK_ASYNC)
        find_missing_fence(warp, a->inst, lane, m);
    return m != NULL;
}

bool emu_bulk_aim(emu_warp *warp, int lane, const emu_operand *operand, emu_arrival *a)
{
    emu_request r;

    return emu_resolve(warp, a->inst, S_CLUSTER, 1u << lane, operand, EMU_MBARRIER_BYTES, &r) &&
           take_mbarrier(warp, lane, &r.place[lane], a);
}

bool emu_bulk_issue(emu_warp *warp, emu_arrival *a)
{
    if (a->reads)
        emu_copy_reads(warp, a->inst, a->lane, a->reads, a->from, a->bytes);
    if (a->writes)
        emu_copy_departs(warp, a->inst, a->lane, a->writes, a->to, a->bytes, a->how != 0);
    return emu_await(a);
}

bool emu_bulk_multicast(emu_warp *warp, emu_arrival *a, uint32_t blocks)
{
    emu_cluster *cluster = warp->block->cluster;

    if (blocks >> cluster->blocks || !blocks) {
        emu_find(warp, a->inst, CUEMU_ILLEGAL, a->lane, 0, "copies to blocks 0x%x of a cluster of %u", blocks, cluster->blocks);
        return false;
    }
    for (uint32_t rank = 0; rank < cluster->blocks; rank++) {
        const emu_place place = {.address = a->mbarrier, .space = S_SHARED, .block = &cluster->block[rank]};
        uint64_t address = emu_address_in(rank, a->to);
        emu_arrival one = *a;
        if (!(blocks >> rank & 1))
            continue;
        one.writes = emu_peer(warp, a->inst, a->lane, &address);
        if (!one.writes || !take_mbarrier(warp, a->lane, &place, &one) || !emu_bulk_issue(warp, &one))
            return false;
    }
    return true;
}

void emu_bulk_count(emu_warp *warp, const emu_inst *inst, uint64_t address, uint32_t bytes, bool is_write)
{
    enum { SECTOR = 32, WORD = 4 };
    cuEmuCounters *line = emu_line(warp, inst);
    const uint64_t sectors = (address + bytes - 1) / SECTOR - address / SECTOR + 1;

    if (!line)
        return;
    line->async_requests++;
    line->async_bytes += bytes;
    *(is_write ? &line->global_stores : &line->global_loads) += bytes / WORD;
    *(is_write ? &line->global_store_requests : &line->global_load_requests) += 1;
    *(is_write ? &line->global_store_sectors : &line->global_load_sectors) += sectors;
    *(is_write ? &line->global_store_bytes : &line->global_load_bytes) += bytes;
}

/* Return the bytes that a lane copies. */
static uint32_t length_of(emu_warp *warp, const emu_inst *inst, int lane, unsigned operand)
{
    if (warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED)
        emu_check_defined(warp, inst, &inst->operand[operand], 1u << lane, "as the length of a copy");
    return (uint32_t)emu_unsigned(warp, &inst->operand[operand], lane);
}

static emu_block *block_of(const emu_warp *warp, const emu_place *place)
{
    return place->block ? place->block : warp->block;
}

/* cp.async.bulk.shared.global [to], [from], size, [mbar]{, mask} */
static void load(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    enum { MULTICAST = 5 }; /* operands */

    EMU_EACH_LANE (i, mask) {
        emu_arrival a = {.land = land, .warp = warp, .inst = inst, .lane = i, .bytes = length_of(warp, inst, i, 2)};
        emu_place to, from;
        bool is_issued;
        if (!emu_resolve_span(warp, inst, inst->space, i, &inst->operand[0], a.bytes, &to) ||
            !emu_resolve_span(warp, inst, S_GLOBAL, i, &inst->operand[1], a.bytes, &from))
            return;
        a.writes = block_of(warp, &to);
        a.to = (uint32_t)to.address;
        a.allocation = from.allocation;
        a.address = from.address;
        if (!emu_bulk_aim(warp, i, &inst->operand[3], &a))
            return;
        emu_bulk_count(warp, inst, a.address, a.bytes, false);
        is_issued = inst->operands == MULTICAST
                        ? emu_bulk_multicast(warp, &a, (uint32_t)emu_unsigned(warp, &inst->operand[4], i))
                        : emu_bulk_issue(warp, &a);
        if (!is_issued)
            return;
    }
}

/* [to], [from], size, from this block's shared memory: copy, or combine with the target. */
static bool leave(emu_warp *warp, const emu_inst *inst, int lane, emu_space space, emu_place *to, emu_arrival *a)
{
    emu_place from;

    *a = (emu_arrival){.land = inst->type_count ? land_reduction : land,
                       .how = inst->choice[0],
                       .type = inst->type[0],
                       .warp = warp,
                       .inst = inst,
                       .lane = lane,
                       .bytes = length_of(warp, inst, lane, 2),
                       .reads = warp->block};
    if (!emu_resolve_span(warp, inst, space, lane, &inst->operand[0], a->bytes, to) ||
        !emu_resolve_span(warp, inst, S_SHARED, lane, &inst->operand[1], a->bytes, &from))
        return false;
    a->from = (uint32_t)from.address;
    return true;
}

/* cp.async.bulk.shared::cluster.shared::cta [to], [from], size, [mbar]: copy, or combine with the target. */
static void move(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    EMU_EACH_LANE (i, mask) {
        emu_place to;
        emu_arrival a;
        if (!leave(warp, inst, i, S_CLUSTER, &to, &a))
            return;
        a.writes = block_of(warp, &to);
        a.to = (uint32_t)to.address;
        if (!emu_bulk_aim(warp, i, &inst->operand[3], &a) || !emu_bulk_issue(warp, &a))
            return;
    }
}

/* cp.async.bulk.global.shared::cta [to], [from], size: copy, or combine with the target. */
static void store(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    EMU_EACH_LANE (i, mask) {
        emu_place to;
        emu_arrival a;
        if (!leave(warp, inst, i, S_GLOBAL, &to, &a))
            return;
        a.allocation = to.allocation;
        a.address = to.address;
        a.is_in_group = true;
        a.ticket = warp->bulk_group[i];
        emu_bulk_count(warp, inst, a.address, a.bytes, true);
        if (!emu_bulk_issue(warp, &a))
            return;
    }
}

/* st.async and red.async [to], values, [mbar] */
static void send_value(emu_warp *warp, const emu_inst *inst, uint32_t mask, bool reduces)
{
    const unsigned size = emu_type_bytes((emu_type)inst->type[0]), bytes = size * inst->vector;
    emu_request r;

    if (!emu_resolve(warp, inst, S_CLUSTER, mask, &inst->operand[0], bytes, &r))
        return;
    EMU_EACH_LANE (i, mask) {
        emu_arrival a = {.land = land_value,
                         .warp = warp,
                         .inst = inst,
                         .lane = i,
                         .bytes = bytes,
                         .how = reduces ? inst->choice[0] : 0,
                         .type = inst->type[0]};
        a.writes = block_of(warp, &r.place[i]);
        a.to = (uint32_t)r.place[i].address;
        for (unsigned n = 0; n < inst->vector; n++) {
            const uint64_t value = emu_unsigned(warp, &inst->operand[1 + n], i);
            memcpy(a.value + (size_t)n * size, &value, size);
        }
        if (!emu_bulk_aim(warp, i, &inst->operand[1 + inst->vector], &a) || !emu_bulk_issue(warp, &a))
            return;
    }
}

EMU_SETTLED(store_value, send_value, false)
EMU_SETTLED(reduce_value, send_value, true)

/* ---- groups ------------------------------------------------------------------------------------------------------------ */

static void commit_group(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)inst;
    EMU_EACH_LANE (i, mask)
        warp->bulk_group[i]++;
}

/* Nothing to wait for: the emulator reads the source and writes the target at once. */
static void wait_group(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    EMU_EACH_LANE (i, mask)
        emu_land_groups(warp, i, (uint32_t)emu_unsigned(warp, &inst->operand[0], i));
}

/* No effect, but the range must exist. */
static void prefetch(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_place place;

    EMU_EACH_LANE (i, mask)
        if (!emu_resolve_span(warp, inst, S_GLOBAL, i, &inst->operand[0], length_of(warp, inst, i, 1), &place))
            return;
}

/* Floating-point types can only be added. */
static emu_exec choose_reduction(const emu_inst *inst)
{
    return emu_type_is_float((emu_type)inst->type[0]) && inst->choice[0] != EMU_ADD ? NULL : store;
}

#define ON_BARRIER ".mbarrier::complete_tx::bytes"
#define HINT "{.L2::cache_hint}"
#define REDUCTIONS "{*.and,.or,.xor,.add,.min,.max,.inc,.dec}"

const emu_form emu_bulk_forms[] = {
    {"cp.async.bulk{*.shared::cluster.global,.shared::cta.global}" ON_BARRIER HINT, "@ @ w @ H", load, NULL, 0, D_USE, 0, 0,
     90},
    {"cp.async.bulk{*.shared::cluster.global}" ON_BARRIER ".multicast::cluster" HINT, "@ @ w @ h H", load, NULL, 0, D_USE, 0, 0,
     90},
    {"cp.async.bulk{*.shared::cluster.shared::cta}" ON_BARRIER, "@ @ w @", move, NULL, 0, D_USE, 0, 0, 90},
    {"cp.async.bulk{*.global.shared::cta}.bulk_group" HINT, "@ @ w H", store, NULL, 0, D_USE, 0, 0, 90},
    {"cp.async.bulk.prefetch.L2.global" HINT, "@ w H", prefetch, NULL, 0, D_USE, 0, 0, 90},
    {"cp.reduce.async.bulk" REDUCTIONS "{*.shared::cluster.shared::cta}" ON_BARRIER "{*.u32,.s32,.u64,.s64,.b32,.b64}",
     "@ @ w @", move, NULL, 0, D_USE, 0, 0, 90},
    {"cp.reduce.async.bulk" REDUCTIONS "{*.global.shared::cta}.bulk_group" HINT
     "{.noftz}{*.f16,.bf16,.b32,.u32,.s32,.b64,.u64,.s64,.f32,.f64}",
     "@ @ w H", NULL, choose_reduction, 0, D_ATOMIC, 0, 0, 90},
    {"cp.async.bulk.commit_group", "", commit_group, NULL, 0, D_OWN, 0, 0, 90},
    {"cp.async.bulk.wait_group{.read}", "N", wait_group, NULL, 0, D_OWN, 0, 0, 90},
    {"red.async" REDUCTIONS "{.relaxed}{.cluster}{.shared::cluster}" ON_BARRIER "{*.b32,.u32,.s32,.u64}", "@ T @", reduce_value,
     NULL, 0, D_USE, 0, 0, 90},
    {"st.async{.weak}{.shared::cluster}" ON_BARRIER "{.v2,.v4}{*.b32,.b64,.u32,.u64,.s32,.s64,.f32,.f64}", "@ vT @",
     store_value, NULL, 0, D_USE, 0, 0, 90},
    {0},
};
