/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start: the configs from which a search begins: for each shape that a tuner measured on an H200, one of these tiles was the
 * fastest, or nearly. STREAM, TM, TN, LANES, SLICES, VECTOR, K_THREAD, SPLITS, BLOCKS.
 */
#include "form.h"

static const int32_t rows[][TJ_FAMILY_START_PARAMS] = {
    {0, 0, 1, 1, 256, 0, 16, 0, 1}, /* a P with one column */
    {0, 0, 2, 1, 128, 0, 16, 0, 2}, {0, 0, 2, 4, 16, 0, 16, 0, 4}, {0, 0, 2, 4, 32, 0, 16, 0, 2}, {0, 0, 2, 8, 32, 0, 8, 0, 1},
    {0, 0, 2, 16, 32, 0, 8, 0, 2},  {0, 0, 2, 32, 8, 0, 16, 0, 2}, {0, 0, 4, 8, 32, 0, 8, 0, 1},  {0, 0, 4, 16, 8, 0, 16, 0, 2},
    {0, 0, 4, 32, 4, 0, 16, 0, 1},  {0, 0, 4, 32, 8, 0, 16, 0, 1}, {0, 0, 8, 4, 32, 0, 8, 0, 2},  {0, 0, 8, 16, 8, 0, 8, 0, 1},
};

const tj_family_values tj_skinny_start = {sizeof rows / sizeof rows[0], rows};
