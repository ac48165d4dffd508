/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start: the configs from which a search begins. SWAP, CLUSTER, BM, BN, MULTIPLIERS, PINGPONG, SPLITS, STAGES, BLOCKS, RELEASE, STORE, GROUP,
 * PACK, TRANSPOSE.
 */
#include "form.h"

static const int32_t rows[][TJ_FAMILY_START_PARAMS] = {
    /* large products: whole waves of large tiles */
    {1, 1, 128, 256, 2, 1, 1},
    {1, 1, 256, 128, 2, 1, 1},
    {1, 1, 128, 192, 2, 2, 1},
    {1, 1, 128, 128, 2, 2, 1},
    {1, 1, 128, 192, 2, 1, 1},
    {1, 1, 192, 192, 3, 1, 1},
    {1, 1, 192, 160, 3, 1, 1},
    {1, 1, 256, 96, 2, 1, 1},
    {1, 1, 128, 160, 2, 1, 1},
    {1, 1, 128, 128, 2, 1, 1},
    /* lines of N that begin anywhere: a tall tile reads N fewer times */
    {1, 1, 256, 192, 2, 1, 1},
    /* large products in tf32 with N by rows, which comes from registers */
    {2, 1, 128, 256, 2, 1, 1},
    {2, 1, 256, 128, 2, 1, 1},
    {2, 1, 192, 192, 3, 1, 1},
    {2, 1, 128, 192, 2, 1, 1},
    {2, 1, 128, 128, 2, 1, 1},
    /* large products in tf32 across k: packed once, instead of transposed by each block */
    {1, 1, 128, 256, 2, 1, 1, 0, 0, 0, 0, 0, 0, TJ_WGMMA_NONE},
    {1, 1, 256, 128, 2, 1, 1, 0, 0, 0, 0, 0, 0, TJ_WGMMA_NONE},
    {1, 1, 192, 192, 3, 1, 1, 0, 0, 0, 0, 0, 0, TJ_WGMMA_NONE},
    /* fewer tiles than multiprocessors */
    {1, 1, 128, 128, 2, 1, 2},
    {1, 1, 128, 96, 2, 1, 1},
    {1, 1, 128, 64, 2, 1, 1},
    {1, 1, 128, 64, 2, 1, 4},
    {1, 1, 128, 64, 2, 1, 16},
    {1, 1, 64, 128, 1, 1, 1, 0, 2},
    {1, 1, 64, 128, 1, 1, 4},
    {1, 1, 64, 64, 1, 1, 1, 0, 2},
    {1, 1, 64, 64, 1, 1, 4, 0, 2},
    /* few columns, or rows */
    {1, 1, 128, 32, 2, 1, 1},
    {1, 1, 128, 16, 2, 1, 1},
    {1, 1, 64, 32, 1, 1, 4, 0, 2},
    {1, 1, 64, 16, 1, 1, 4, 0, 2},
    {1, 1, 64, 256, 1, 1, 1},
    {1, 1, 64, 128, 2, 2, 1},
    {1, 1, 64, 64, 2, 2, 1},
    /* 17 to 256 rows, which bn divides: their number is not rounded up to 64 */
    {2, 1, 64, 0, 1, 1, 1},
    {2, 1, 64, 0, 1, 1, 2},
    {2, 1, 64, 0, 1, 1, 4},
    {2, 1, 128, 0, 2, 1, 1},
    {2, 1, 64, 40, 1, 1, 1},
    {2, 1, 64, 64, 1, 1, 1},
    {2, 1, 64, 32, 1, 1, 1},
    {2, 1, 64, 80, 1, 1, 1},
    /* the same with weights, whose warpgroups share k, and 64 or more rows */
    {2, TJ_WGMMA_K2, 64, 0, 2, 1, 1},
    {2, TJ_WGMMA_K2, 64, 32, 2, 1, 1},
    {2, TJ_WGMMA_K2, 64, 64, 2, 1, 1},
    {2, 1, 64, 32, 2, 1, 1},
    {2, 1, 64, 64, 2, 1, 1},
    {2, 1, 128, 64, 2, 1, 1},
    /* bf16 by f32, whose blocks share the wide f32 */
    {2, TJ_WGMMA_M2, 128, 64, 2, 1, 1},
    {2, TJ_WGMMA_M2, 128, 128, 2, 1, 1},
    {2, TJ_WGMMA_M2, 128, 96, 2, 1, 1},
    {2, TJ_WGMMA_K2, 128, 64, 2, 1, 1},
    {2, 1, 64, 0, 1, 1, 8},
    {2, 1, 64, 32, 1, 1, 16}, /* both numbers at once, which a climb does not reach */
};

const tj_family_values tj_wgmma_start = {sizeof rows / sizeof rows[0], rows};
