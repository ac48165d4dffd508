/* SPDX-License-Identifier: Apache-2.0 */
#include "counters.h"

/* Count distinct values; n is small. */
static unsigned distinct(const uint64_t *value, unsigned n)
{
    unsigned count = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned k = 0;
        while (k < i && value[k] != value[i])
            k++;
        count += k == i;
    }
    return count;
}

void emu_count_global(cuEmuCounters *line, const emu_place *place, uint32_t mask, unsigned bytes, unsigned elements,
                      bool is_write)
{
    const uint64_t lanes = emu_popcount(mask);
    uint64_t sector[EMU_LANES];
    unsigned n = 0, sectors;

    EMU_EACH_LANE (i, mask)
        sector[n++] = place[i].address >> 5;
    sectors = distinct(sector, n);
    if (is_write) {
        line->global_store_requests++;
        line->global_stores += lanes * elements;
        line->global_store_sectors += sectors;
        line->global_store_bytes += lanes * bytes;
    } else {
        line->global_load_requests++;
        line->global_loads += lanes * elements;
        line->global_load_sectors += sectors;
        line->global_load_bytes += lanes * bytes;
    }
}

/* Return the passes for lanes first to first + lanes - 1: the most loaded bank decides. */
static unsigned passes(const emu_place *place, uint32_t mask, unsigned first, unsigned lanes, unsigned bytes)
{
    const unsigned words = bytes <= 4 ? 1 : bytes / 4;
    uint64_t seen[32][EMU_LANES];
    uint8_t count[32] = {0};
    unsigned most = 0;

    for (unsigned i = first; i < first + lanes; i++) {
        if (!(mask >> i & 1))
            continue;
        for (unsigned w = 0; w < words; w++) {
            const uint64_t word = (place[i].address >> 2) + w;
            const unsigned bank = word & 31;
            unsigned k = 0;
            while (k < count[bank] && seen[bank][k] != word)
                k++;
            if (k < count[bank] || k == EMU_LANES)
                continue;
            seen[bank][count[bank]++] = word;
            most = count[bank] > most ? count[bank] : most;
        }
    }
    return most;
}

/* Return the passes of a request; those above the minimum are added to the conflicts. */
static unsigned wavefronts_of(const emu_place *place, uint32_t mask, unsigned bytes, uint64_t *conflicts)
{
    const unsigned parts = bytes <= 4 ? 1 : bytes / 4, lanes = EMU_LANES / parts;
    unsigned wavefronts = 0, least = 0;

    /* 8 bytes per lane take two halves of the warp, 16 take four quarters. */
    for (unsigned first = 0; first < EMU_LANES; first += lanes) {
        const unsigned n = passes(place, mask, first, lanes, bytes);
        wavefronts += n;
        least += n > 0;
    }
    *conflicts += wavefronts - least;
    return wavefronts;
}

void emu_count_async(cuEmuCounters *line, const emu_place *target, uint32_t mask, uint32_t reads, unsigned bytes)
{
    line->async_requests++;
    line->async_bytes += (uint64_t)emu_popcount(reads) * bytes;
    line->async_wavefronts += wavefronts_of(target, mask, bytes, &line->async_conflicts);
}

void emu_count_shared(cuEmuCounters *line, const emu_place *place, uint32_t mask, unsigned bytes, unsigned elements,
                      bool is_write)
{
    const unsigned wavefronts = wavefronts_of(place, mask, bytes, &line->bank_conflicts);

    if (is_write) {
        line->shared_store_requests++;
        line->shared_stores += (uint64_t)emu_popcount(mask) * elements;
        line->shared_store_wavefronts += wavefronts;
    } else {
        line->shared_load_requests++;
        line->shared_loads += (uint64_t)emu_popcount(mask) * elements;
        line->shared_load_wavefronts += wavefronts;
    }
}

void emu_counters_add(cuEmuCounters *a, const cuEmuCounters *b)
{
    uint64_t *to = (uint64_t *)a;
    const uint64_t *from = (const uint64_t *)b;

    for (size_t i = 0; i < sizeof *a / sizeof *to; i++)
        to[i] += from[i];
}
