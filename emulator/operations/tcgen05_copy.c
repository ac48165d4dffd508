/* SPDX-License-Identifier: Apache-2.0 */
/* tcgen05_copy: copies from shared to tensor memory, and the commit that tells when they and products are complete. */
#include <stdarg.h>
#include <stdio.h>

#include "arrival.h"
#include "descriptor.h"
#include "finding.h"
#include "mbarrier.h"
#include "request.h"
#include "tcgen05.h"

enum { CHUNK = 16 };

/* ---- what threads issue ------------------------------------------------------------------------------------------------ */

bool emu_misuse(const emu_issued *by, const char *format, ...)
{
    char text[200];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    emu_find(by->warp, by->inst, CUEMU_ILLEGAL, by->lane, 0, "%s", text);
    return false;
}

bool emu_find_blocks(emu_issued *by, emu_warp *warp, const emu_inst *inst, int lane)
{
    emu_block *own = warp->block;
    emu_cluster *cluster = own->cluster;

    *by = (emu_issued){warp, inst, lane, {own, NULL}, inst->choice[0]};
    if (!emu_tensor_group(warp, inst, lane, by->blocks))
        return false;
    if (by->blocks == 1)
        return true;
    if ((own->rank | 1) >= cluster->blocks)
        return emu_misuse(by, "is of a pair of blocks, where the cluster has %u", cluster->blocks);
    by->block[0] = &cluster->block[own->rank & ~1u];
    by->block[1] = &cluster->block[own->rank | 1];
    if (by->block[0]->has_ended || by->block[1]->has_ended)
        return emu_misuse(by, "is of a pair of blocks, of which the other one has ended");
    return true;
}

const uint8_t *emu_read_chunk(const emu_issued *by, emu_block *block, uint64_t descriptor, uint32_t offset, int used)
{
    emu_warp *const reader = block == by->warp->block ? by->warp : &block->warp[0];
    const uint64_t address[EMU_LANES] = {offset};
    uint8_t *known = block->shared_defined ? block->shared_defined + offset : NULL;
    emu_request r;

    if (!emu_resolve_at(reader, by->inst, S_SHARED, 1, address, CHUNK, &r))
        return NULL;
    emu_product_reads(by->warp, by->inst, block, offset, emu_swizzle_of(descriptor), by->warp->number % EMU_PRODUCT_SLOTS);
    if (known && memchr(known, 0, (size_t)used)) {
        emu_find(by->warp, by->inst, CUEMU_UNINITIALISED, by->lane, offset,
                 "reads what was never written, of the 16 bytes at shared offset 0x%x", offset);
        memset(known, 1, (size_t)used); /* report once */
    }
    return r.place[0].at;
}

/* ---- copies ------------------------------------------------------------------------------------------------------------ */

/* Copy rows of a matrix in the shared memory of a block to its tensor memory. */
static bool copy_rows(const emu_issued *by, emu_block *block, uint64_t descriptor, uint32_t first)
{
    /* By shape: rows, chunks in a row, lanes from one group of 32 rows to the next, copies, lanes from one copy to the next. */
    static const struct {
        int rows, chunks, apart, copies, further;
    } shapes[] = {{0},
                  {128, 2, 32, 1, 0},
                  {4, 2, 0, 1, 0},
                  {128, 1, 32, 1, 0},
                  {64, 1, 32, 2, 64},
                  {64, 1, 64, 2, 32},
                  {32, 1, 0, 4, 32}};
    enum { FOUR_ROWS = 2 };
    const int shape = by->inst->choice[1], rows = shapes[shape].rows, words = shapes[shape].chunks * CHUNK / 4;
    emu_tensor_memory *t = emu_tensor_columns(by->warp, by->inst, by->lane, block, first, (uint32_t)words);

    for (int row = 0; t && row < rows; row++)
        for (int chunk = 0; chunk < shapes[shape].chunks; chunk++) {
            const uint8_t *from = emu_read_chunk(by, block, descriptor, emu_chunk_offset(descriptor, false, row, chunk), CHUNK);
            if (!from)
                return false;
            for (int copy = 0; copy < shapes[shape].copies; copy++)
                for (int word = 0; word < CHUNK / 4; word++) {
                    const int lane = shape == FOUR_ROWS ? row * EMU_QUARTER
                                                        : row / EMU_QUARTER * shapes[shape].apart + row % EMU_QUARTER +
                                                              copy * shapes[shape].further;
                    const uint32_t column = first + (uint32_t)(chunk * CHUNK / 4 + word);
                    if (lane % EMU_PART == 0)
                        emu_tensor_touch(by->warp, by->inst, by->lane, t, column, (uint32_t)lane / EMU_PART, EMU_PRODUCT_WRITE);
                    memcpy(&t->value[column][lane], from + 4 * word, 4);
                    t->known[column][lane] = true;
                }
        }
    return t != NULL;
}

/* tcgen05.cp [to], descriptor */
static void copy(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    EMU_EACH_LANE (i, mask) {
        const uint32_t address = (uint32_t)emu_address_of(warp, &inst->operand[0], i);
        const uint64_t descriptor = emu_unsigned(warp, &inst->operand[1], i);
        emu_issued by;
        for (unsigned n = 0; n < 2 && warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED; n++)
            emu_check_defined(warp, inst, &inst->operand[n], 1u << i, "in a copy to tensor memory");
        if (!emu_find_blocks(&by, warp, inst, i))
            return;
        if (address >> 16)
            (void)emu_misuse(&by, "copies to lane %u of tensor memory, not to 0", address >> 16);
        for (int b = 0; !(address >> 16) && b < by.blocks; b++)
            if (!copy_rows(&by, by.block[b], descriptor, address & 0xffff))
                return;
    }
}

/* ---- commit ------------------------------------------------------------------------------------------------------------ */

/*
 * Let those who wait for the mbarrier know that a warp's products are complete, and all that came before them: copies into their
 * factors, for example. The warp's own loads and stores need a release of their own.
 */
static void publish(const emu_warp *warp, const emu_arrival *a, emu_past *to)
{
    const emu_cluster *cluster = warp->block->cluster;
    const uint32_t number = warp->number % EMU_PRODUCT_SLOTS, rank = warp->block->rank, own = to->seen[warp->slot];

    emu_past_join(to, &warp->past, cluster->slots);
    to->seen[warp->slot] = own;
    for (uint32_t r = rank & ~1u; r <= (rank | 1) && r < cluster->blocks; r++) {
        uint32_t *seen = &to->seen[emu_product_slot(cluster, r, number)];
        if (r == rank || a->inst->choice[0] == 2)
            *seen = *seen < a->ticket ? a->ticket : *seen;
    }
}

/* Arrive at an mbarrier once the products that the thread had issued are complete; ticket: the time of the commit. */
static void land_commit(const emu_arrival *a)
{
    emu_mbarrier *m = a->block->has_ended ? NULL : emu_mbarrier_at(a->warp, a->inst, a->lane, a->block, a->mbarrier);

    if (!m)
        return;
    if (m->gathering.seen)
        publish(a->warp, a, &m->gathering);
    emu_mbarrier_arrive(a->warp, a->inst, a->lane, m, 1, false);
    emu_mbarrier_try(m);
}

/* Record a commit that arrives in another block; it comes before a later commit of the same warp. */
static void note_visit(const emu_warp *warp, const emu_inst *inst, emu_block *block)
{
    if (block != warp->block)
        emu_note_visit(block, emu_product_slot(block->cluster, warp->block->rank, warp->number % EMU_PRODUCT_SLOTS), warp,
                       inst);
}

static void commit(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    emu_cluster *cluster = warp->block->cluster;
    const bool is_multicast = inst->operands > 1;
    emu_request r;

    if (!emu_resolve(warp, inst, inst->space, mask, &inst->operand[0], EMU_MBARRIER_BYTES, &r))
        return;
    EMU_EACH_LANE (i, mask) {
        const emu_place *place = &r.place[i];
        emu_block *target = place->block ? place->block : warp->block;
        const uint32_t to = is_multicast ? (uint32_t)emu_unsigned(warp, &inst->operand[1], i) : 1u << target->rank;
        if (!emu_tensor_group(warp, inst, i, inst->choice[0]))
            return;
        if (place->space != S_SHARED || !to || to >> cluster->blocks) {
            emu_find(warp, inst, CUEMU_ILLEGAL, i, place->address,
                     place->space == S_SHARED ? "commits to blocks 0x%x of a cluster of %u"
                                              : "commits to an mbarrier that is not in shared memory",
                     to, cluster->blocks);
            return;
        }
        for (uint32_t rank = 0; rank < cluster->blocks; rank++) {
            uint64_t address = emu_address_in(rank, place->address);
            const emu_arrival a = {.land = land_commit,
                                   .warp = warp,
                                   .inst = inst,
                                   .lane = i,
                                   .ticket = cluster->now,
                                   .block = &cluster->block[rank],
                                   .mbarrier = (uint32_t)place->address};
            if (!(to >> rank & 1))
                continue;
            note_visit(warp, inst, a.block);
            if (!emu_peer(warp, inst, i, &address) || !emu_mbarrier_use(warp, inst, i, a.block, a.mbarrier) || !emu_await(&a))
                return;
        }
        cluster->now++; /* later products are not part of it */
    }
}

#define SHAPES "{*.128x256b,.4x256b,.128x128b,.64x128b.warpx2::02_13,.64x128b.warpx2::01_23,.32x128b.warpx4}"
#define COMMIT "tcgen05.commit" EMU_GROUPS ".mbarrier::arrive::one{.shared::cluster}"

const emu_form emu_tcgen05_copy_forms[] = {
    {"tcgen05.cp" EMU_GROUPS SHAPES, "@ d", copy, NULL, 0, D_OWN, 0, 0, EMU_DATACENTER},
    {COMMIT ".b64", "@", commit, NULL, 0, D_OWN, 0, 0, EMU_DATACENTER},
    {COMMIT ".multicast::cluster.b64", "@ h", commit, NULL, 0, D_OWN, 0, 0, EMU_DATACENTER},
    {0},
};
