/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start: the configs from which a search begins: the distinct ones among the fastest of 680 variants for three shapes that were
 * measured on an H200; and boxes, with rows that make whole waves. TM, TN, ROW_LANES, COL_LANES, STEPS, WARPS, STAGES, SPLITS,
 * BLOCKS, COPIES.
 */
#include "form.h"

static const int32_t rows[][TJ_FAMILY_START_PARAMS] = {
    {5, 0, 8, 2, 4, 4, 3, 0, 1},  {5, 0, 8, 2, 4, 2, 2, 0, 4},  {10, 0, 4, 2, 2, 4, 3, 0, 1},
    {10, 0, 4, 2, 2, 1, 3, 0, 4}, {10, 0, 4, 4, 4, 4, 3, 0, 1}, {10, 0, 2, 4, 2, 8, 4, 0, 1},
    {4, 0, 2, 1, 1, 4, 4, 0, 1},  {7, 0, 1, 1, 1, 4, 3, 0, 1},  {0, 0, 0, 0, 1, 4, 0, 0, 1, TJ_STRIP_BOXES},
};

const tj_family_values tj_strip_start = {sizeof rows / sizeof rows[0], rows};
