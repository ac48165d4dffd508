/* SPDX-License-Identifier: Apache-2.0 */
#include "mbarrier.h"

#include <stdio.h>
#include <stdlib.h>

#include "arrival.h"
#include "finding.h"
#include "shadow.h"

/* ---- table of mbarriers ------------------------------------------------------------------------------------------------ */

static emu_mbarrier *find(const emu_block *block, uint32_t offset)
{
    for (uint32_t i = 0; i < block->mbarriers; i++)
        if (block->mbarrier[i]->offset == offset && block->mbarrier[i]->is_valid)
            return block->mbarrier[i];
    return NULL;
}

/* Return an unused one, or NULL: out of memory. */
static emu_mbarrier *take(emu_block *block)
{
    emu_mbarrier *made, **larger;

    for (uint32_t i = 0; i < block->mbarriers; i++)
        if (!block->mbarrier[i]->is_valid)
            return block->mbarrier[i];
    larger = realloc(block->mbarrier, (block->mbarriers + 1) * sizeof(emu_mbarrier *));
    made = larger ? calloc(1, sizeof *made) : NULL;
    if (larger)
        block->mbarrier = larger;
    if (made && block->cluster->done.seen &&
        (!emu_past_make(&made->gathering, block->cluster->slots) || !emu_past_make(&made->done, block->cluster->slots))) {
        emu_past_free(&made->gathering);
        free(made);
        return NULL;
    }
    if (made)
        block->mbarrier[block->mbarriers++] = made;
    return made;
}

/* The 8 bytes are opaque, and change with every update of the mbarrier. */
static void write_bits(emu_mbarrier *m)
{
    m->bits = ((uint64_t)m->phase << 40 ^ (uint64_t)m->pending << 20 ^ (uint64_t)m->transactions ^ m->offset) *
                  UINT64_C(0x9e3779b97f4a7c15) |
              1;
    memcpy(m->block->shared + m->offset, &m->bits, EMU_MBARRIER_BYTES);
}

static void check_bytes(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, bool is_write)
{
    const emu_place place = {block->shared + offset, NULL, offset, S_SHARED, block};

    emu_check_access(warp, inst, lane, &place, EMU_MBARRIER_BYTES, NULL, is_write, !is_write);
}

const char *emu_mbarrier_describe(const emu_mbarrier *m, char *text, size_t bytes)
{
    const emu_launch *launch = m->block->launch;
    const emu_symbol *symbol = NULL;
    int name_length;
    size_t n;

    for (uint32_t i = 0; i < launch->ranges; i++)
        if (m->offset >= launch->range[i].begin && m->offset < launch->range[i].end)
            symbol = launch->range[i].symbol;
    name_length = symbol && symbol->name_length < 40 ? (int)symbol->name_length : 40;
    n = (size_t)snprintf(text, bytes, "mbarrier %.*s%sat 0x%x: %u of %u arrivals missing", symbol ? name_length : 0,
                         symbol ? symbol->name : "", symbol ? " " : "", m->offset, m->pending, m->expected);
    if (m->transactions && n < bytes)
        snprintf(text + n, bytes - n, ", %lld bytes %s", (long long)llabs(m->transactions),
                 m->transactions > 0 ? "to come" : "too many");
    return text;
}

/* ---- life cycle ---------------------------------------------------------------------------------------------------------- */

void emu_mbarrier_begin(emu_warp *warp, const emu_inst *inst, int lane, uint32_t offset, uint32_t count)
{
    emu_block *block = warp->block;
    emu_mbarrier *m = find(block, offset);
    const bool is_new = !m;

    if (count == 0 || count > EMU_MBARRIER_COUNT) {
        emu_find(warp, inst, CUEMU_MBARRIER, lane, offset, "counts %u arrivals, where 1 to %d can be", count,
                 EMU_MBARRIER_COUNT);
        return;
    }
    if (m && (m->transactions || emu_is_due_at(block, offset))) {
        char text[160];
        emu_find(warp, inst, CUEMU_MBARRIER, lane, offset, "initialises it again while a copy is on its way to it: %s",
                 emu_mbarrier_describe(m, text, sizeof text));
        return;
    }
    check_bytes(warp, inst, lane, block, offset, true);
    m = is_new ? take(block) : m;
    if (!m) {
        emu_find(warp, inst, CUEMU_ILLEGAL, lane, offset, "out of memory for mbarriers");
        return;
    }
    *m = (emu_mbarrier){.block = block,
                        .offset = offset,
                        .expected = count,
                        .pending = count,
                        .writer = warp->slot,
                        .time = block->cluster->now,
                        .is_valid = true,
                        .gathering = m->gathering,
                        .done = m->done};
    emu_past_clear(&m->gathering, block->cluster->slots);
    emu_past_clear(&m->done, block->cluster->slots);
    write_bits(m);
    if (block->shared_defined)
        memset(block->shared_defined + offset, 1, EMU_MBARRIER_BYTES);
}

emu_mbarrier *emu_mbarrier_at(const emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset)
{
    emu_mbarrier *m = find(block, offset);

    if (!m) {
        emu_find(warp, inst, CUEMU_MBARRIER, lane, offset, "shared offset 0x%x holds no mbarrier: none was initialised there",
                 offset);
        return NULL;
    }
    if (memcmp(block->shared + offset, &m->bits, EMU_MBARRIER_BYTES) != 0) {
        emu_find(warp, inst, CUEMU_MBARRIER, lane, offset, "the mbarrier at shared offset 0x%x was written over", offset);
        return NULL;
    }
    return m;
}

void emu_mbarriers_publish(emu_warp *warp, emu_past *to)
{
    emu_block *block = warp->block;
    emu_cluster *cluster = block->cluster;

    for (uint32_t i = 0; to->seen && i < block->mbarriers; i++) {
        emu_mbarrier *m = block->mbarrier[i];
        if (m->is_valid && m->is_fenced && m->writer == warp->slot && !m->published)
            m->published = to->seen[emu_init_slot(cluster)] = cluster->now++;
    }
}

/* Check an access by a warp that may have learned only that the mbarrier was initialised. */
static void check_use(emu_warp *warp, const emu_inst *inst, int lane, const emu_mbarrier *m)
{
    uint32_t *seen = warp->past.seen ? &warp->past.seen[m->writer] : NULL;
    const uint32_t before = seen ? *seen : 0;

    if (m->published && warp->past.seen[emu_init_slot(m->block->cluster)] >= m->published && before < m->time)
        *seen = m->time;
    check_bytes(warp, inst, lane, m->block, m->offset, false);
    if (seen)
        *seen = before;
}

emu_mbarrier *emu_mbarrier_use(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset)
{
    emu_mbarrier *m = emu_mbarrier_at(warp, inst, lane, block, offset);

    if (m)
        check_use(warp, inst, lane, m);
    return m;
}

void emu_mbarrier_end(emu_warp *warp, const emu_inst *inst, int lane, emu_mbarrier *m)
{
    check_bytes(warp, inst, lane, m->block, m->offset, true);
    m->is_valid = false;
    if (m->block->shared_defined)
        memset(m->block->shared_defined + m->offset, 0, EMU_MBARRIER_BYTES);
}

void emu_mbarriers_check(emu_block *block)
{
    for (uint32_t i = 0; i < block->mbarriers; i++) {
        emu_mbarrier *m = block->mbarrier[i];
        if (m->is_valid && m->transactions)
            emu_find(m->counter, m->counted_by, CUEMU_MBARRIER, 0, m->offset,
                     "the transaction count of the mbarrier at shared offset 0x%x does not come out: at the end of the block "
                     "%lld bytes %s",
                     m->offset, (long long)llabs(m->transactions),
                     m->transactions > 0 ? "are expected that no copy brought" : "have come that were not expected");
        m->is_valid = false;
    }
}

/* ---- phases ---------------------------------------------------------------------------------------------------------------- */

void emu_mbarrier_try(emu_mbarrier *m)
{
    emu_cluster *cluster = m->block->cluster;

    if (m->pending == 0 && m->transactions == 0) {
        m->phase++;
        m->pending = m->expected;
        cluster->events++;
        m->block->epoch++;
        if (m->done.seen) {
            emu_past_join(&m->done, &m->gathering, cluster->slots);
            emu_past_clear(&m->gathering, cluster->slots);
        }
    }
    write_bits(m);
}

void emu_mbarrier_arrive(const emu_warp *warp, const emu_inst *inst, int lane, emu_mbarrier *m, uint32_t count, bool drops)
{
    if (count == 0 || count > m->pending || (drops && count > m->expected)) {
        emu_find(warp, inst, CUEMU_MBARRIER, lane, m->offset,
                 "arrives %u times at the mbarrier at shared offset 0x%x, which waits for %u more in this phase, of %u", count,
                 m->offset, m->pending, m->expected);
        return;
    }
    m->pending -= count;
    m->expected -= drops ? count : 0;
}

void emu_mbarrier_count(const emu_warp *warp, const emu_inst *inst, int lane, emu_mbarrier *m, int64_t bytes)
{
    m->transactions += bytes;
    m->counter = warp;
    m->counted_by = inst;
    if (m->transactions > EMU_MBARRIER_COUNT || m->transactions < -EMU_MBARRIER_COUNT)
        emu_find(warp, inst, CUEMU_MBARRIER, lane, m->offset,
                 "the transaction count of the mbarrier at shared offset 0x%x becomes %lld, which is not within %d of 0",
                 m->offset, (long long)m->transactions, EMU_MBARRIER_COUNT);
}
