/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start: the configs from which a search begins. MULTIPLIERS, BN, STAGES, BLOCKS.
 */
#include "form.h"

static const int32_t rows[][TJ_FAMILY_START_PARAMS] = {
    {2, 128}, {2, 160}, {2, 112}, {2, 96}, {2, 64}, {1, 128}, {1, 96}, {1, 64}, {1, 64, 0, 2}, {1, 32, 0, 2}, {3, 96},
};

const tj_family_values tj_wplanes_start = {sizeof rows / sizeof rows[0], rows};
