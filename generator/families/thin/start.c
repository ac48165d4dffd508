/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start: the configs from which a search begins. TM, TN, SLICES, WIDTH, AHEAD, SPLITS, BLOCKS.
 */
#include "form.h"

static const int32_t rows[][TJ_FAMILY_START_PARAMS] = {
    {0, 32, 8, 0, 2, 1, 2}, {0, 32, 16, 0, 1, 1, 1}, {0, 16, 8, 0, 2, 1, 2},
    {0, 32, 4, 0, 2, 1, 4}, {0, 16, 4, 0, 2, 1, 6},  {0, 64, 4, 0, 1, 1, 2},
};

const tj_family_values tj_thin_start = {sizeof rows / sizeof rows[0], rows};
