/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start: where a search begins. BM, BN, STEPS, WM, WN, SPLITS, STAGES, BLOCKS.
 */
#include "form.h"

static const int32_t rows[][TJ_FAMILY_START_PARAMS] = {
    {128, 128, 4, 64, 64, 1, 3, 2},
    {64, 64, 4, 32, 32, 1, 4, 2},
    {64, 64, 2, 32, 32, 1, 3, 3},
    {64, 128, 2, 32, 64, 1, 3, 1},
    {16, 64, 4, 16, 16, 8, 6, 1},
};

const tj_family_values tj_mma_start = {sizeof rows / sizeof rows[0], rows};
