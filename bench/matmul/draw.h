/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draw: shapes from a seed, to judge a model by shapes that nobody fitted it to.
 *
 * They come as the lines of a file of shapes (category,j,k,l,batch), the same on every machine: only whole numbers are computed with.
 * The first 100 of 200 are the 100 of the same seed. Of 20 in a row
 *
 *     5 square   extents within a factor of 2 of each other, 32 to 8192
 *     5 few      1 to 32 rows or columns
 *     2 deep_k   k from 4096 to 500 000, j and l to 512
 *     2 outer    k from 1 to 64, j and l from 128
 *     3 odd      odd extents
 *     3 batch    2 to 4096 products, extents of 4 to 512
 *
 * Sizes are as many in each octave; of those that are not odd by name, half are rounded up to a multiple of 8 to 64. A shape has at most
 * 3e10 FLOP, and 300 MB of M, N and P in 4 bytes an element. No two are alike.
 */
#ifndef BENCH_DRAW_H
#define BENCH_DRAW_H

#include <tilejit/tilejit.h>

/** words: COUNT:SEED. Release what comes with free(). NULL: err names the words and what they should be. */
char *draw_shapes(const char *words, tj_error *err);

#endif
