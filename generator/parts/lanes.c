/* SPDX-License-Identifier: Apache-2.0 */
#include "lanes.h"

#include <string.h>

enum { SECTOR = 32, BANKS = 32, BANK_BYTES = 4 };

/* Added to every address, because negative addresses would divide towards zero. */
static const int64_t FAR = INT64_C(1) << 62;

/* ---- one request -------------------------------------------------------------------------------------------------- */

/* The distinct numbers of one request, by bank. */
typedef struct number_set {
    int64_t value[TJ_WARP];
    uint8_t next[TJ_WARP], first[BANKS], in_bank[BANKS]; /* next, first: indexes into value, counted from 1; 0: none */
    int count, most;                                     /* most: the largest number of values in one bank */
} number_set;

static void clear(number_set *set)
{
    memset(set->first, 0, sizeof set->first);
    memset(set->in_bank, 0, sizeof set->in_bank);
    set->count = set->most = 0;
}

/* banks: a power of two. */
static void add(number_set *set, int64_t value, int32_t banks)
{
    const uint64_t bank = (uint64_t)value & (uint64_t)(banks - 1);

    for (int i = set->first[bank]; i > 0; i = set->next[i - 1])
        if (set->value[i - 1] == value)
            return;
    set->value[set->count] = value;
    set->next[set->count] = set->first[bank];
    set->first[bank] = (uint8_t)++set->count;
    set->most = ++set->in_bank[bank] > set->most ? set->in_bank[bank] : set->most;
}

/* Return the logarithm of a power of two, to replace the division of very many addresses by shifts. */
static int log2_of(int32_t power)
{
    int shift = 0;

    while (power >> shift > 1)
        shift++;
    return shift;
}

/*
 * Return the number of passes for lanes that are served together: the largest number of distinct words in one bank. Global
 * memory lies in the L1 in the same banks; the L1 also looks up two lines at a time.
 */
static int64_t count_passes(bool is_shared, int32_t bytes, const int64_t *address, int count)
{
    /* Wide accesses are aligned to their size: count each as one wide word in one of fewer, wider banks. */
    const int32_t word_bytes = bytes > BANK_BYTES ? bytes : BANK_BYTES, banks = BANKS * BANK_BYTES / word_bytes;
    const int word_shift = log2_of(word_bytes);
    number_set words, lines;

    clear(&words);
    clear(&lines);
    for (int i = 0; i < count; i++) {
        add(&words, address[i] >> word_shift, banks);
        if (!is_shared)
            add(&lines, address[i] / TJ_LINE, BANKS);
    }
    return (lines.count + 1) / 2 > words.most ? (lines.count + 1) / 2 : words.most;
}

void tj_lanes_add(tj_traffic *traffic, const tj_lanes *lanes, int64_t begin, int64_t times)
{
    const int32_t width = lanes->width > 1 ? lanes->width : 1, bytes = lanes->element_bytes * width;
    /* 8 bytes a lane are served in two halves of the warp, 16 bytes in four quarters. */
    const int part_shift = log2_of(bytes <= BANK_BYTES ? TJ_WARP : TJ_WARP * BANK_BYTES / bytes);
    int64_t address[TJ_WARP], wavefronts = 0;
    number_set sectors;

    if (lanes->count == 0)
        return;
    clear(&sectors);
    for (int i = 0; i < lanes->count; i++) {
        address[i] = FAR + begin + lanes->address[i];
        if (!lanes->is_shared)
            add(&sectors, address[i] / SECTOR, BANKS);
    }
    for (int first = 0, end = 0; first < lanes->count; first = end) {
        while (end < lanes->count && lanes->lane[end] >> part_shift == lanes->lane[first] >> part_shift)
            end++;
        wavefronts += count_passes(lanes->is_shared, bytes, address + first, end - first);
    }
    traffic->elements += times * lanes->count * width;
    traffic->bytes += times * lanes->count * bytes;
    traffic->requests += times;
    traffic->wavefronts += times * wavefronts;
    traffic->sectors += times * sectors.count;
    traffic->merged += times * wavefronts / (lanes->merges > 1 ? lanes->merges : 1);
}

/* ---- many requests ------------------------------------------------------------------------------------------------- */

int32_t tj_place_of(int64_t address)
{
    return (int32_t)(((address % TJ_LINE) + TJ_LINE) % TJ_LINE);
}

tj_places tj_places_of(int64_t first, int64_t count, int64_t step)
{
    int64_t period = 1; /* number of steps that lead back to the first place */
    tj_places result;

    memset(&result, 0, sizeof result);
    while (tj_place_of(period * tj_place_of(step)) != 0)
        period *= 2;
    for (int64_t i = 0; i < period && i < count; i++)
        result.count[tj_place_of((first + i) % period * tj_place_of(step))] += count / period + (i < count % period);
    return result;
}

tj_places tj_places_combine(const tj_places *a, const tj_places *b)
{
    tj_places result;
    int taken[TJ_LINE], count = 0;

    memset(&result, 0, sizeof result);
    for (int k = 0; k < TJ_LINE; k++)
        if (b->count[k])
            taken[count++] = k;
    for (int i = 0; i < TJ_LINE; i++)
        for (int k = 0; a->count[i] && k < count; k++)
            result.count[(i + taken[k]) % TJ_LINE] += a->count[i] * b->count[taken[k]];
    return result;
}

void tj_lanes_add_at(tj_traffic *traffic, const tj_lanes *lanes, const tj_places *places, int64_t times)
{
    for (int place = 0; place < TJ_LINE; place++)
        if (places->count[place] > 0)
            tj_lanes_add(traffic, lanes, place, places->count[place] * times);
}

bool tj_lanes_are_alike(const tj_lanes *a, const tj_lanes *b)
{
    return a->count == b->count && memcmp(a->lane, b->lane, (size_t)a->count * sizeof a->lane[0]) == 0 &&
           memcmp(a->address, b->address, (size_t)a->count * sizeof a->address[0]) == 0;
}
