/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start: the configs from which a search begins: fast by the counts, but not measured yet. BM, BN, STEPS, WM, WN, STAGES,
 * BLOCKS.
 */
#include "form.h"

static const int32_t rows[][TJ_FAMILY_START_PARAMS] = {
    {128, 128, 2, 64, 32, 3, 1}, {128, 128, 2, 64, 32, 4, 1}, {128, 128, 2, 32, 64, 4, 1}, {128, 128, 4, 64, 32, 3, 1},
    {128, 128, 2, 32, 32, 4, 1}, {128, 64, 2, 64, 32, 3, 2},  {128, 64, 2, 32, 32, 3, 2},  {64, 128, 2, 32, 32, 3, 2},
    {64, 64, 2, 32, 32, 4, 3},   {64, 64, 2, 32, 32, 3, 3},
};

const tj_family_values tj_planes_start = {sizeof rows / sizeof rows[0], rows};
