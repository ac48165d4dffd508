/* SPDX-License-Identifier: Apache-2.0 */
#include "lanes.h"

enum { SECTOR = 32, LINE = 128, BANKS = 32, BANK_BYTES = 4, MOST_WORDS = 2 * TJ_WARP };

/* A set of numbers that most often come in ascending order. */
typedef struct number_set {
    int64_t value[MOST_WORDS];
    int64_t greatest;
    int count;
} number_set;

static void add(number_set *set, int64_t value)
{
    for (int i = set->count; i-- > 0 && value <= set->greatest;)
        if (set->value[i] == value)
            return;
    set->greatest = set->count == 0 || value > set->greatest ? value : set->greatest;
    set->value[set->count++] = value;
}

/* The lanes first to end - 1 go together: as many passes as different words want one bank, and in global memory at least one for
 * every two lines. */
static int passes(const tj_lanes *lanes, int first, int end, int64_t begin, int32_t bytes)
{
    number_set words, lines;
    int in_bank[BANKS] = {0}, most = 1;

    words.count = lines.count = 0;
    for (int i = first; i < end; i++) {
        const int64_t address = begin + lanes->address[i];

        for (int64_t word = address / BANK_BYTES; word <= (address + bytes - 1) / BANK_BYTES; word++)
            add(&words, word);
        if (!lanes->is_shared)
            add(&lines, address / LINE);
    }
    for (int i = 0; i < words.count; i++) {
        int *count = &in_bank[words.value[i] % BANKS];

        ++*count;
        most = *count > most ? *count : most;
    }
    return (lines.count + 1) / 2 > most ? (lines.count + 1) / 2 : most;
}

void tj_lanes_add(tj_traffic *traffic, const tj_lanes *lanes, int64_t begin, int64_t times)
{
    const int32_t bytes = lanes->element_bytes * lanes->width;
    /* 8 bytes a lane go in two halves of the warp, 16 in four quarters. */
    const int32_t part = bytes <= BANK_BYTES ? TJ_WARP : TJ_WARP * BANK_BYTES / bytes;
    int64_t wavefronts = 0;
    number_set sectors;

    sectors.count = 0;
    for (int i = 0; i < lanes->count && !lanes->is_shared; i++)
        add(&sectors, (begin + lanes->address[i]) / SECTOR);
    for (int first = 0, end = 0; first < lanes->count; first = end) {
        while (end < lanes->count && lanes->lane[end] / part == lanes->lane[first] / part)
            end++;
        wavefronts += passes(lanes, first, end, begin, bytes);
    }
    if (lanes->count == 0)
        return;
    traffic->elements += times * lanes->count * lanes->width;
    traffic->bytes += times * lanes->count * bytes;
    traffic->requests += times;
    traffic->wavefronts += times * wavefronts;
    traffic->sectors += times * sectors.count;
    traffic->merged += times * wavefronts;
}
