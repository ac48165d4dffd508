/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start: where a search begins: what was fastest, or nearly, for shapes that were measured on an H200. BM, BN, STEPS, WM, WN, SPLITS,
 * STAGES, BLOCKS, COPY, PACK, LOAD.
 */
#include "form.h"

#include "parts/copy.h"

static const int32_t rows[][TJ_FAMILY_START_PARAMS] = {
    /* large products: of 16 and 8 bits, and of f64 */
    {128, 128, 4, 64, 64, 1, 3, 2},
    {128, 256, 4, 64, 64, 1, 3, 1},
    {128, 128, 2, 64, 64, 1, 4, 2},
    {128, 128, 2, 64, 32, 1, 3, 1},
    {64, 64, 2, 32, 32, 1, 4, 3},
    {128, 64, 2, 64, 32, 1, 3, 2},
    {64, 128, 2, 64, 32, 1, 3, 2},
    {128, 64, 4, 32, 32, 4, 4, 1},
    {128, 128, 2, 32, 64, 1, 4, 1},
    /* fewer tiles than multiprocessors */
    {64, 64, 4, 32, 32, 1, 4, 2},
    {64, 64, 4, 32, 32, 3, 3, 3},
    {64, 64, 4, 32, 32, 66, 4, 2},
    {64, 64, 2, 32, 32, 4, 4, 3},
    {64, 128, 4, 32, 64, 1, 4, 1},
    {32, 128, 4, 32, 32, 1, 4, 2},
    {32, 128, 2, 32, 32, 1, 3, 2},
    {32, 128, 2, 32, 32, 12, 3, 3},
    {32, 64, 4, 32, 16, 1, 6, 2},
    {32, 64, 4, 32, 16, 3, 6, 2},
    {32, 64, 2, 16, 32, 8, 4, 3},
    {32, 64, 2, 16, 32, 4, 6, 3},
    {32, 32, 4, 16, 16, 1, 3, 4},
    {32, 32, 2, 16, 16, 1, 4, 4},
    {32, 32, 4, 16, 16, 66, 4, 2},
    /* batches of small products */
    {16, 16, 2, 16, 16, 1, 2, 4},
    /* few rows, or few columns: memory is what takes time */
    {16, 64, 8, 16, 16, 1, 4, 2},
    {16, 64, 4, 16, 16, 8, 4, 3},
    {16, 64, 2, 16, 16, 8, 4, 3},
    {16, 32, 4, 16, 16, 1, 4, 3},
    {16, 32, 4, 16, 16, 66, 4, 3},
    {16, 128, 2, 16, 32, 1, 6, 2},
    {16, 128, 2, 16, 32, 16, 6, 2},
    {16, 128, 4, 16, 64, 4, 5, 2},
    {16, 32, 8, 16, 16, 1, 6, 2},
    {16, 32, 8, 16, 32, 1, 6, 2},
    {16, 64, 8, 16, 16, 1, 5, 2},
    {16, 16, 8, 16, 16, 1, 6, 2},
    {32, 16, 8, 32, 16, 1, 6, 2},
    {64, 16, 8, 16, 16, 1, 4, 2},
    {64, 16, 4, 16, 16, 12, 4, 2},
    {64, 16, 2, 16, 16, 8, 4, 3},
    {64, 16, 4, 16, 16, 66, 4, 2},
    {128, 16, 4, 16, 16, 3, 4, 2},
    {128, 16, 2, 32, 16, 8, 6, 2},
    {128, 16, 4, 16, 16, 1, 5, 2},
    {64, 16, 4, 32, 16, 6, 5, 2},
    {32, 16, 4, 16, 16, 24, 4, 1},
    /* and a k that is far longer than both */
    {16, 64, 8, 16, 16, 264, 5, 3},
    {32, 16, 4, 16, 16, 264, 6, 1},
    /* tf32, whose fragments leave room for tiles that would spill if they were loaded ahead: not measured yet */
    {128, 128, 4, 64, 64, 1, 3, 2, 0, 0, TJ_MMA_NEEDED},
    {64, 128, 4, 32, 64, 1, 4, 2, 0, 0, TJ_MMA_NEEDED},
    {64, 64, 4, 32, 32, 1, 4, 4, 0, 0, TJ_MMA_NEEDED},
    {128, 128, 4, 64, 64, 1, 3, 2, 0, TJ_MMA_PACK_NONE, TJ_MMA_NEEDED},
    {64, 128, 4, 32, 64, 1, 4, 2, 0, TJ_MMA_PACK_NONE, TJ_MMA_NEEDED},
    {64, 64, 4, 32, 32, 1, 4, 3, 0, TJ_MMA_PACK_NONE, TJ_MMA_NEEDED},
    {64, 64, 4, 32, 32, 4, 4, 3, 0, TJ_MMA_PACK_NONE, TJ_MMA_NEEDED},
    /* lines that begin anywhere, where packing is not worth a kernel of its own */
    {64, 64, 4, 32, 32, 1, 2, 2, 0, TJ_MMA_PACK_NONE},
    {32, 64, 4, 16, 32, 1, 2, 3, 0, TJ_MMA_PACK_NONE},
    {32, 32, 4, 16, 16, 1, 2, 4, 0, TJ_MMA_PACK_NONE},
    {32, 32, 8, 16, 16, 1, 2, 1, 0, TJ_MMA_PACK_NONE},
    {32, 16, 8, 16, 16, 1, 2, 4, 0, TJ_MMA_PACK_NONE},
    {32, 32, 4, 16, 16, 16, 2, 4, 0, TJ_MMA_PACK_NONE},
    {16, 64, 4, 16, 16, 8, 2, 3, 0, TJ_MMA_PACK_NONE},
    {64, 16, 4, 16, 16, 8, 2, 3, 0, TJ_MMA_PACK_NONE},
    {16, 64, 2, 16, 16, 1, 2, 4, 0, TJ_MMA_PACK_NONE},
    {32, 32, 2, 16, 16, 1, 2, 4, 0, TJ_MMA_PACK_NONE},
    {16, 16, 4, 16, 16, 1, 2, 2, 0, TJ_MMA_PACK_NONE},
    {64, 16, 4, 16, 16, 1, 3, 1, 0, TJ_MMA_PACK_NONE},
    {32, 16, 2, 16, 16, 24, 2, 4, 0, TJ_MMA_PACK_NONE},
    {16, 32, 2, 16, 16, 12, 2, 4, 0, TJ_MMA_PACK_NONE},
    {16, 16, 2, 16, 16, 132, 2, 2, 0, TJ_MMA_PACK_NONE},
    /* without asynchronous copies: not measured, for there was no such device */
    {128, 128, 2, 64, 64, 1, 2, 1, TJ_COPY_REGISTERS},
    {128, 64, 2, 64, 32, 1, 2, 2, TJ_COPY_REGISTERS},
    {64, 64, 2, 32, 32, 1, 2, 3, TJ_COPY_REGISTERS},
    {64, 64, 4, 32, 32, 4, 2, 2, TJ_COPY_REGISTERS},
    {32, 32, 4, 16, 16, 1, 2, 4, TJ_COPY_REGISTERS},
    {16, 64, 4, 16, 16, 8, 2, 3, TJ_COPY_REGISTERS},
    {64, 16, 4, 16, 16, 8, 2, 3, TJ_COPY_REGISTERS},
};

const tj_family_values tj_mma_start = {sizeof rows / sizeof rows[0], rows};
