/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start: the configs from which a search begins. SWAP, PAIR, BM, BN, SPLITS, STAGES, STORE, GROUP, PACK.
 */
#include "form.h"

static const int32_t rows[][TJ_FAMILY_START_PARAMS] = {
    /* large products: pairs, and the widest tiles, read shared memory least */
    {1, 2, 128, 256, 1},
    {1, 2, 128, 224, 1},
    {1, 2, 128, 192, 1},
    {1, 2, 128, 128, 1},
    {1, 1, 128, 256, 1},
    {1, 1, 128, 224, 1},
    {1, 1, 128, 192, 1},
    {1, 1, 128, 160, 1},
    {1, 1, 128, 128, 1},
    /* fewer tiles than multiprocessors */
    {1, 1, 128, 96, 1},
    {1, 1, 128, 64, 1},
    {1, 1, 128, 128, 2},
    {1, 1, 128, 64, 4},
    {1, 1, 128, 64, 16},
    {1, 1, 64, 64, 1},
    {1, 1, 64, 64, 4},
    /* few columns, or rows */
    {1, 1, 128, 32, 1},
    {1, 1, 128, 32, 4},
    {1, 1, 64, 256, 1},
    {1, 1, 64, 128, 1},
    {2, 1, 128, 0, 1},
    {2, 1, 128, 0, 2},
    {2, 1, 128, 0, 4},
    {2, 1, 64, 0, 1},
    {2, 1, 64, 0, 4},
    {2, 1, 128, 64, 1},
    {2, 1, 128, 32, 1},
};

const tj_family_values tj_tcgen05_start = {sizeof rows / sizeof rows[0], rows};
