/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_draw COUNT:SEED: print a list of shapes drawn from a seed, to judge a model on shapes that it was not fitted to.
 *
 * The list is the same on every machine, as only integers are used. The first 100 of 200 are the 100 of the same seed. Each run of 20
 * shapes holds
 *
 *     5 square   extents within a factor of 2 of each other, 32 to 8192
 *     5 few      1 to 32 rows or columns
 *     2 deep_k   k from 4096 to 500 000, j and l to 512
 *     2 outer    k from 1 to 64, j and l from 128
 *     3 odd      odd extents
 *     3 batch    2 to 4096 products, extents of 4 to 512
 *
 * Each octave of sizes is equally likely; half of the sizes, except in category odd, are rounded up to a multiple of 8 to 64. A shape has
 * at most 3e10 FLOP, and 300 MB of M, N and P at 4 bytes per element. No two are alike. Types and layouts are options of the program that
 * reads the list.
 */
#include <errno.h>
#include <stdbool.h>

#include "program.h"

const char program[] = "bench_draw";

enum { MOST_SHAPES = 1000 };

static const uint64_t MOST_FLOP = 30000000000, MOST_BYTES = 300000000;

typedef struct shape_drawn {
    uint64_t j, k, l, batch;
} shape_drawn;

/* SplitMix64. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t between(uint64_t *state, uint64_t low, uint64_t high)
{
    return low + next(state) % (high - low + 1);
}

/* Draw from low to high, with equal probability for each octave above low. */
static uint64_t draw_size(uint64_t *state, uint64_t low, uint64_t high)
{
    uint64_t octaves = 1, from;

    while (low << octaves < high)
        octaves++;
    from = low << next(state) % octaves;
    return between(state, from, 2 * from < high ? 2 * from : high);
}

/* Round to a multiple of a vector or a tile, as real sizes often are. */
static void round_up(uint64_t *state, uint64_t *size)
{
    const uint64_t multiple = UINT64_C(8) << between(state, 0, 3);

    *size = (*size + multiple - 1) / multiple * multiple;
}

/* C does not order draws within one expression, so each size has its own statement. */
static shape_drawn draw_square(uint64_t *state)
{
    const uint64_t least = draw_size(state, 32, 4096);
    const uint64_t j = between(state, least, 2 * least), k = between(state, least, 2 * least);

    return (shape_drawn){j, k, between(state, least, 2 * least), 1};
}

static shape_drawn draw_few(uint64_t *state)
{
    const uint64_t few = draw_size(state, 1, 32), many = draw_size(state, 64, 32768), k = draw_size(state, 64, 32768);

    return next(state) % 2 ? (shape_drawn){few, k, many, 1} : (shape_drawn){many, k, few, 1};
}

static shape_drawn draw_deep_k(uint64_t *state)
{
    const uint64_t j = draw_size(state, 4, 512), l = draw_size(state, 4, 512);

    return (shape_drawn){j, draw_size(state, 4096, 500000), l, 1};
}

static shape_drawn draw_outer(uint64_t *state)
{
    const uint64_t j = draw_size(state, 128, 16384), l = draw_size(state, 128, 16384);

    return (shape_drawn){j, draw_size(state, 1, 64), l, 1};
}

static shape_drawn draw_odd(uint64_t *state)
{
    const uint64_t j = draw_size(state, 16, 4096) | 1, k = draw_size(state, 16, 4096) | 1;

    return (shape_drawn){j, k, draw_size(state, 16, 4096) | 1, 1};
}

static shape_drawn draw_batch(uint64_t *state)
{
    const uint64_t j = draw_size(state, 4, 512), k = draw_size(state, 4, 512), l = draw_size(state, 4, 512);

    return (shape_drawn){j, k, l, draw_size(state, 2, 4096)};
}

static const struct {
    const char *name;
    shape_drawn (*draw)(uint64_t *state);
    uint64_t share, rounded; /* of 20; lower limit of rounded sizes */
} category[] = {
    {"square", draw_square, 5, 1}, {"few", draw_few, 5, 33}, {"deep_k", draw_deep_k, 2, 33},
    {"outer", draw_outer, 2, 65},  {"odd", draw_odd, 3, 0},  {"batch", draw_batch, 3, 8},
};

static bool is_small_enough(const shape_drawn *s)
{
    const uint64_t elements = s->j * s->k + s->k * s->l + s->j * s->l;

    return 2 * s->j * s->k * s->l <= MOST_FLOP / s->batch && 4 * elements <= MOST_BYTES / s->batch;
}

static shape_drawn draw_one(uint64_t *state, size_t c)
{
    shape_drawn s;

    do {
        s = category[c].draw(state);
        if (category[c].rounded > 0 && next(state) % 2) {
            uint64_t *const size[] = {&s.j, &s.k, &s.l};

            for (int i = 0; i < 3; i++)
                if (*size[i] >= category[c].rounded)
                    round_up(state, size[i]);
        }
    } while (!is_small_enough(&s));
    return s;
}

static bool is_drawn(const shape_drawn *drawn, uint64_t count, const shape_drawn *s)
{
    for (uint64_t i = 0; i < count; i++)
        if (drawn[i].j == s->j && drawn[i].k == s->k && drawn[i].l == s->l && drawn[i].batch == s->batch)
            return true;
    return false;
}

/* Return the category of shape i: categories take turns by their shares. */
static size_t category_of(uint64_t i)
{
    size_t c = 0;

    for (i %= 20; i >= category[c].share; c++)
        i -= category[c].share;
    return c;
}

static int read_words(const char *words, uint64_t *count, uint64_t *seed)
{
    unsigned long long number[2];
    char *end;

    errno = 0;
    for (int i = 0; i < 2; i++) {
        if (*words < '0' || *words > '9')
            return 0;
        number[i] = strtoull(words, &end, 10);
        if (errno || *end != (i == 0 ? ':' : '\0'))
            return 0;
        words = end + 1;
    }
    *count = number[0];
    *seed = number[1];
    return *count >= 1 && *count <= MOST_SHAPES;
}

int main(int argc, char **argv)
{
    shape_drawn drawn[MOST_SHAPES];
    uint64_t count, state;

    if (argc != 2 || !read_words(argv[1], &count, &state))
        die(2, "write bench_draw COUNT:SEED, 1 to %d shapes and any whole number, such as 200:7", MOST_SHAPES);
    printf("# bench_draw %s\ncategory,j,k,l,batch\n", argv[1]);
    for (uint64_t i = 0; i < count; i++) {
        const size_t c = category_of(i);
        shape_drawn *const s = &drawn[i];

        do
            *s = draw_one(&state, c);
        while (is_drawn(drawn, i, s));
        printf("%s,%llu,%llu,%llu,%llu\n", category[c].name, (unsigned long long)s->j, (unsigned long long)s->k,
               (unsigned long long)s->l, (unsigned long long)s->batch);
    }
    return 0;
}
