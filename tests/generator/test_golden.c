/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Golden files: a request in, the text out, byte for byte, in every locale. A file `.cu` holds the whole text; a file `.diff` holds
 * the difference from the `.cu` above it in the table (text_diff.h). TJ_UPDATE_GOLDEN=1 rewrites both.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/source.h>

#include "input.h"
#include "locales.h"
#include "text_diff.h"
#include "scales.h"

typedef struct golden {
    const char *file, *config;
    tj_problem problem;
} golden;

#define FIXED(extent)             \
    {                             \
        (extent), TJ_DIM_FIXED, 0 \
    }
#define ANY(promise)             \
    {                            \
        0, TJ_DIM_ANY, (promise) \
    }
#define PROBLEM(j_, k_, l_, ...)                                                  \
    {                                                                             \
        .struct_size = sizeof(tj_problem), .j = j_, .k = k_, .l = l_, __VA_ARGS__ \
    }

static const golden rows[] = {
    {"naive/square.cu", "naive", PROBLEM(FIXED(1024), FIXED(1024), FIXED(1024), .m.type = TJ_F32)},
    {"naive/primes.diff", "naive:tile_width=8", PROBLEM(FIXED(97), FIXED(89), FIXED(101), .m.type = TJ_F32)},
    {"naive/column_major.diff", "naive",
     PROBLEM(FIXED(64), FIXED(32), FIXED(48), .m.type = TJ_F64, .m.layout = 1, .n.layout = 1)},
    {"naive/c64.diff", "naive",
     PROBLEM(FIXED(1024), FIXED(1024), FIXED(1024), .m = {.type = TJ_C64, .conjugated = 1},
             .epilogue = {.has_alpha = 1, .has_beta = 1})},
    {"naive/scales_of_blocks.diff", "naive",
     PROBLEM(FIXED(64), FIXED(512), FIXED(256), .m.type = TJ_E4M3, .p.type = TJ_BF16, .n.layout = TJ_COL_MAJOR,
             .scale[TJ_MATRIX_M] = {TJ_F32, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 128},
             .scale[TJ_MATRIX_N] = {TJ_F32, TJ_SCALES_ROW_BY_ROW, .rows = 128, .k = 128})},
    {"naive/repacked.diff", "naive",
     PROBLEM(FIXED(64), FIXED(512), FIXED(256), .m.type = TJ_BF16, .n.type = TJ_E2M1, .n.layout = TJ_COL_MAJOR,
             .n.order = TJ_ORDER_REPACKED, .scale[TJ_MATRIX_N] = {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 32})},
    {"naive/s8_u8_scaled.diff", "naive",
     PROBLEM(FIXED(64), FIXED(48), FIXED(80), .m.type = TJ_S8, .n.type = TJ_U8, .p.type = TJ_S8,
             .scale[TJ_MATRIX_M] = ONE_SCALE, .scale[TJ_MATRIX_N] = SCALE_EACH, .epilogue.has_beta = 1, .batch = 3)},
    {"naive/quantized.diff", "naive",
     PROBLEM(FIXED(1024), FIXED(1024), FIXED(1024), .m.type = TJ_F32, .p.type = TJ_S8, .scale[TJ_MATRIX_P] = SCALE_EACH)},
    {"naive/lower.diff", "naive",
     PROBLEM(FIXED(1024), FIXED(1024), FIXED(1024), .m.type = TJ_F32, .n.layout = 1, .symmetric = TJ_SYMMETRIC_LOWER)},
    {"naive/hermitian.diff", "naive",
     PROBLEM(FIXED(64), FIXED(64), FIXED(64), .m.type = TJ_C64, .n.layout = 1, .n.conjugated = 1,
             .symmetric = TJ_HERMITIAN_BOTH)},
    {"tiled/rectangular.cu", "tiled", PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32)},
    {"tiled/symmetric.diff", "tiled",
     PROBLEM(FIXED(500), FIXED(300), FIXED(500), .m.type = TJ_F32, .n.layout = 1, .symmetric = TJ_SYMMETRIC_BOTH)},
    {"tiled/square.diff", "tiled", PROBLEM(FIXED(1024), FIXED(1024), FIXED(1024), .m.type = TJ_F32)},
    {"tiled/primes.diff", "tiled:tile_width=7", PROBLEM(FIXED(97), FIXED(89), FIXED(101), .m.type = TJ_F32)},
    {"tiled/dynamic.diff", "tiled:shared=dynamic", PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32)},
    {"tiled/m_column_major.diff", "tiled", PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32, .m.layout = 1)},
    {"tiled/n_column_major.diff", "tiled", PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32, .n.layout = 1)},
    {"tiled/p_column_major.diff", "tiled", PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32, .p.layout = 1)},
    {"tiled/f16.diff", "tiled", PROBLEM(FIXED(64), FIXED(64), FIXED(64), .m.type = TJ_F16)},
    {"tiled/bf16_into_f32.diff", "tiled", PROBLEM(FIXED(64), FIXED(64), FIXED(64), .m.type = TJ_BF16, .p.type = TJ_F32)},
    {"tiled/f64.diff", "tiled:tile_width=32", PROBLEM(FIXED(64), FIXED(64), FIXED(64), .m.type = TJ_F64)},
    {"tiled/c128.diff", "tiled", PROBLEM(FIXED(64), FIXED(64), FIXED(64), .m.type = TJ_C128, .n.conjugated = 1)},
    {"tiled/any.diff", "tiled", PROBLEM(ANY(0), ANY(0), ANY(0), .m.type = TJ_F32, .m.ld = TJ_ANY)},
    {"tiled/any_promised.diff", "tiled", PROBLEM(ANY(16), ANY(32), ANY(64), .m.type = TJ_F32)},
    {"tiled/scales_in_tiles.diff", "tiled",
     PROBLEM(FIXED(60), FIXED(500), FIXED(80), .m.type = TJ_E4M3, .p.type = TJ_F16, .n.layout = TJ_COL_MAJOR,
             .scale[TJ_MATRIX_M] = {TJ_E8M0, TJ_SCALES_IN_TILES, .rows = 1, .k = 32},
             .scale[TJ_MATRIX_N] = {TJ_E8M0, TJ_SCALES_IN_TILES, .rows = 1, .k = 32})},
    {"tiled/zero_points.diff", "tiled:shared=dynamic",
     PROBLEM(FIXED(64), FIXED(512), FIXED(64), .m.type = TJ_F16, .n.type = TJ_S8, .batch = 3,
             .scale[TJ_MATRIX_N] = {TJ_F16, .zero = TJ_U8, .whole = 1, .rows = 1, .k = 128})},
    {"tiled/alpha_beta.diff", "tiled",
     PROBLEM(FIXED(64), FIXED(64), FIXED(64), .m.type = TJ_F32, .epilogue.has_alpha = 1, .epilogue.has_beta = 1, .c.ld = 80)},
    {"tiled/batch.diff", "tiled",
     PROBLEM(FIXED(64), FIXED(64), FIXED(64), .m.type = TJ_F32, .batch = 8, .n.stride = TJ_BROADCAST)},
    {"tiled/pointers.diff", "tiled",
     PROBLEM(FIXED(64), FIXED(64), FIXED(64), .m.type = TJ_F32, .epilogue.has_beta = 1, .batch = 8, .m.stride = TJ_POINTERS,
             .n.stride = TJ_BROADCAST, .p.stride = TJ_POINTERS, .c.stride = TJ_POINTERS)},
    {"tiled/groups.diff", "tiled",
     PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32, .rows = {TJ_ROWS_IN_GROUPS, 0, 0, 0, 8, 0, 0})},
    {"tiled/e4m3_e5m2.diff", "tiled",
     PROBLEM(FIXED(64), FIXED(48), FIXED(80), .m.type = TJ_E4M3, .n.type = TJ_E5M2, .p.type = TJ_F16)},
    {"tiled/s8_into_itself.diff", "tiled",
     PROBLEM(FIXED(64), FIXED(48), FIXED(80), .m.type = TJ_S8, .p.type = TJ_S8, .epilogue.has_alpha = 1)},
    {"tiled/tall.diff", "tiled", PROBLEM(FIXED(2000000), FIXED(64), FIXED(16), .m.type = TJ_F32)},
    {"simt/square.cu", "simt", PROBLEM(FIXED(1024), FIXED(1024), FIXED(1024), .m.type = TJ_F32)},
    {"simt/c64.diff", "simt:tn=4,splits=2",
     PROBLEM(FIXED(1024), FIXED(1024), FIXED(1024), .m.type = TJ_C64, .n = {.layout = TJ_COL_MAJOR, .conjugated = 1})},
    {"simt/primes.diff", "simt:bm=32,bn=64,bk=16,tm=8,tn=4", PROBLEM(FIXED(97), FIXED(89), FIXED(101), .m.type = TJ_F32)},
    {"simt/small.diff", "simt:bm=8,bn=32,bk=16,tm=2,tn=1", PROBLEM(FIXED(7), FIXED(100), FIXED(90), .m.type = TJ_F32)},
    {"simt/lines.diff", "simt:bm=4,bn=32,bk=64,tm=1,tn=2",
     PROBLEM(FIXED(1), FIXED(1024), FIXED(1024), .m.type = TJ_F32, .n.layout = TJ_COL_MAJOR)},
    {"simt/spread.diff", "simt:bm=64,bn=128,bk=32,slices=2,start=spread",
     PROBLEM(FIXED(1009), FIXED(499), FIXED(2003), .m.type = TJ_F32)},
    {"simt/columns_beta.diff", "simt:bm=64,bn=64,tm=4,tn=8",
     PROBLEM(ANY(0), FIXED(64), ANY(64), .m.type = TJ_F64, .m.layout = 1, .n.layout = 1, .epilogue.has_alpha = 1,
             .epilogue.has_beta = 1, .batch = 3)},
    {"simt/split.diff", "simt:splits=12,slices=2",
     PROBLEM(FIXED(256), FIXED(60000), FIXED(250), .m.type = TJ_F32, .epilogue.has_alpha = 1, .batch = 2)},
    {"simt/pointers_split.diff", "simt:splits=12",
     PROBLEM(FIXED(256), FIXED(60000), FIXED(256), .m.type = TJ_F32, .epilogue.has_beta = 1, .batch = 2,
             .m.stride = TJ_POINTERS_16, .n.stride = TJ_POINTERS_16, .p.stride = TJ_POINTERS_16, .c.stride = TJ_POINTERS_16)},
    {"simt/groups.diff", "simt",
     PROBLEM(ANY(0), FIXED(300), FIXED(700), .m.type = TJ_F32, .rows = {TJ_ROWS_IN_GROUPS, 0, 0, 0, 100, 8, 0},
             .n.stride = TJ_POINTERS, .epilogue.has_beta = 1)},
    {"simt/scaled_split.diff", "simt:splits=4",
     PROBLEM(FIXED(256), FIXED(4096), FIXED(256), .m.type = TJ_F32, .p.layout = TJ_COL_MAJOR, .scale[TJ_MATRIX_M] = SCALE_EACH,
             .scale[TJ_MATRIX_N] = ONE_SCALE, .epilogue.has_alpha = 1)},
    {"simt/scaled.diff", "simt",
     PROBLEM(FIXED(256), FIXED(256), FIXED(256), .m.type = TJ_F32, .scale[TJ_MATRIX_M] = SCALE_EACH,
             .scale[TJ_MATRIX_N] = SCALE_EACH, .epilogue.has_beta = 1)},
    {"simt/symmetric.diff", "simt",
     PROBLEM(FIXED(1000), FIXED(300), FIXED(1000), .m.type = TJ_F32, .n.layout = 1, .symmetric = TJ_SYMMETRIC_BOTH)},
    {"simt/registers_f16.cu", "simt:bm=64,bn=64,bk=16,tm=8,tn=4",
     PROBLEM(FIXED(128), FIXED(100), FIXED(101), .m.type = TJ_F16)},
    {"simt/registers_columns.diff", "simt:bm=64,bn=64,bk=16,tm=8,tn=4",
     PROBLEM(FIXED(128), FIXED(96), FIXED(192), .m.type = TJ_BF16, .m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"tiled/quantized_to_pairs.cu", "tiled",
     PROBLEM(FIXED(256), FIXED(256), FIXED(256), .m.type = TJ_F32, .p.type = TJ_E2M1,
             .scale[TJ_MATRIX_P] = {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 32})},
    {"skinny/decode.cu", "skinny:splits=1", PROBLEM(FIXED(16), FIXED(4096), FIXED(4096), .m.type = TJ_F32)},
    {"skinny/long_row.diff", "skinny:slices=8,k_thread=16,splits=1",
     PROBLEM(FIXED(1), FIXED(4096), FIXED(512), .m.type = TJ_F16)},
    {"skinny/columns_split.diff", "skinny:splits=8",
     PROBLEM(FIXED(512), FIXED(5000), FIXED(7), .m.type = TJ_F32, .epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"skinny/odd.diff", "skinny", PROBLEM(FIXED(3), ANY(0), FIXED(101), .m.type = TJ_BF16, .p.type = TJ_F32, .batch = 5)},
    {"skinny/pairs.diff", "skinny",
     PROBLEM(FIXED(4), FIXED(4096), FIXED(1000), .m.type = TJ_BF16, .n.type = TJ_S4, .n.layout = TJ_COL_MAJOR,
             .scale[TJ_MATRIX_N] = SCALE_ALONG_K(64))},
    {"strip/rows.cu", "strip:splits=1", PROBLEM(FIXED(1760), FIXED(1760), FIXED(16), .m.type = TJ_F32)},
    {"strip/c64.diff", "strip", PROBLEM(FIXED(1760), FIXED(1760), FIXED(16), .m.type = TJ_C64)},
    {"strip/columns_split.diff", "strip",
     PROBLEM(FIXED(7), FIXED(5000), FIXED(300), .m.type = TJ_F64, .m.layout = 1, .n.layout = 1, .epilogue.has_alpha = 1,
             .epilogue.has_beta = 1)},
    {"strip/boxes.cu", "strip:splits=1,copies=boxes", PROBLEM(FIXED(2560), FIXED(2560), FIXED(16), .m.type = TJ_F32)},
    {"thin/decode.cu", "thin",
     PROBLEM(FIXED(16), FIXED(4096), FIXED(14336), .m.type = TJ_BF16, .n.type = TJ_S4, .n.layout = TJ_COL_MAJOR,
             .scale[TJ_MATRIX_N] = {TJ_BF16, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 128})},
    {"thin/by_table.diff", "thin:splits=2",
     PROBLEM(FIXED(16), FIXED(4096), FIXED(14336), .m.type = TJ_BF16, .n.type = TJ_E2M1, .n.layout = TJ_COL_MAJOR,
             .scale[TJ_MATRIX_N] = {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 32})},
    {"thin/zero_points.diff", "thin",
     PROBLEM(FIXED(5), FIXED(4096), FIXED(1000), .m.type = TJ_F16, .n.type = TJ_U4, .n.layout = TJ_COL_MAJOR, .batch = 3,
             .scale[TJ_MATRIX_N] = {TJ_F16, TJ_SCALES_ROW_BY_ROW, .zero = TJ_U4, .rows = 1, .k = 32})},
    {"thin/repacked.diff", "thin",
     PROBLEM(FIXED(5), FIXED(4096), FIXED(1000), .m.type = TJ_F16, .n.type = TJ_U4, .n.layout = TJ_COL_MAJOR,
             .n.order = TJ_ORDER_REPACKED,
             .scale[TJ_MATRIX_N] = {TJ_F16, TJ_SCALES_ROW_BY_ROW, .zero = TJ_U4, .rows = 1, .k = 128})},
    {"thin/repacked_powers.diff", "thin",
     PROBLEM(FIXED(16), FIXED(4096), FIXED(14336), .m.type = TJ_BF16, .n.type = TJ_E2M1, .n.layout = TJ_COL_MAJOR,
             .n.order = TJ_ORDER_REPACKED, .scale[TJ_MATRIX_N] = {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 32})},
    {"small_batch/cubes.cu", "small_batch", PROBLEM(FIXED(16), FIXED(16), FIXED(16), .m.type = TJ_F32, .batch = 10000)},
    {"small_batch/odd.diff", "small_batch:copy=registers,products=3",
     PROBLEM(FIXED(23), FIXED(13), FIXED(21), .m.type = TJ_F16, .p.type = TJ_F32, .epilogue.has_alpha = 1,
             .epilogue.has_beta = 1, .batch = TJ_ANY, .n.stride = TJ_BROADCAST)},
    {"small_batch/columns.diff", "small_batch",
     PROBLEM(FIXED(64), FIXED(40), FIXED(48), .m.type = TJ_F64, .m.layout = 1, .n.layout = 1, .batch = 7)},
    {"small_batch/pointers.diff", "small_batch",
     PROBLEM(FIXED(16), FIXED(16), FIXED(16), .m.type = TJ_F32, .epilogue.has_beta = 1, .batch = 10001,
             .m.stride = TJ_POINTERS_16, .n.stride = TJ_POINTERS, .p.stride = TJ_POINTERS_16, .c.stride = TJ_POINTERS_16)},
    {"planes/rectangular.cu", "planes",
     PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32, .compute = TJ_COMPUTE_F32_SPLIT)},
    {"planes/batch.diff", "planes:bm=64,bn=64,group=8",
     PROBLEM(FIXED(64), FIXED(256), FIXED(101), .m.type = TJ_F32, .m.layout = TJ_COL_MAJOR, .n.stride = TJ_BROADCAST,
             .batch = 3, .compute = TJ_COMPUTE_F32_SPLIT, .epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"wgmma_planes/rectangular.cu", "wgmma_planes",
     PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32, .compute = TJ_COMPUTE_F32_SPLIT)},
    {"tcgen05/rectangular.cu", "tcgen05", PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_BF16)},
    {"tcgen05/lines.diff", "tcgen05:bm=64,bn=96",
     PROBLEM(FIXED(512), FIXED(304), FIXED(700), .m.type = TJ_F16, .epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"tcgen05/swapped_splits.diff", "tcgen05:swap=yes,bn=80,splits=4",
     PROBLEM(FIXED(72), FIXED(4096), FIXED(1024), .m.type = TJ_BF16, .n.layout = TJ_COL_MAJOR)},
    {"tcgen05/groups.diff", "tcgen05:bn=256",
     PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_BF16, .rows = {TJ_ROWS_IN_GROUPS, 0, 0, 0, 8, 0, 0})},
    {"tcgen05/pair.diff", "tcgen05:pair=yes,bn=256", PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_BF16)},
    {"tcgen05/e4m3.diff", "tcgen05:bn=256",
     PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_E4M3, .n.type = TJ_E5M2, .p.type = TJ_BF16)},
    {"tcgen05/s8.diff", "tcgen05", PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_S8, .n.layout = TJ_COL_MAJOR)},
    {"tcgen05/tf32.diff", "tcgen05",
     PROBLEM(FIXED(512), FIXED(304), FIXED(704), .compute = TJ_COMPUTE_TF32, .n.layout = TJ_COL_MAJOR)},
    {"tcgen05/mxfp8.diff", "tcgen05",
     PROBLEM(FIXED(512), FIXED(4000), FIXED(704), .m.type = TJ_E4M3, .n.layout = TJ_COL_MAJOR, .p.type = TJ_BF16,
             .scale = {SCALES_OF(TJ_E8M0, TJ_SCALES_ROW_BY_ROW, 1, 32), SCALES_OF(TJ_E8M0, TJ_SCALES_IN_TILES, 1, 32)})},
    {"tcgen05/nvfp4.diff", "tcgen05:bn=192",
     PROBLEM(FIXED(512), FIXED(4096), FIXED(704), .m.type = TJ_E2M1, .n = {.type = TJ_E2M1, .layout = TJ_COL_MAJOR},
             .p.type = TJ_BF16,
             .scale = {SCALES_OF(TJ_E4M3, TJ_SCALES_ROW_BY_ROW, 1, 16), SCALES_OF(TJ_E4M3, TJ_SCALES_ROW_BY_ROW, 1, 16)})},
    {"tcgen05/batch.diff", "tcgen05:bn=192", PROBLEM(ANY(16), ANY(16), ANY(16), .m.type = TJ_BF16, .batch = TJ_ANY)},
    {"wgmma/rectangular.cu", "wgmma", PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_BF16)},
    {"wgmma/pingpong.diff", "wgmma:bm=128,bn=192,pingpong=yes",
     PROBLEM(FIXED(8192), FIXED(8192), FIXED(8192), .m.type = TJ_BF16)},
    {"wgmma/transposed.diff", "wgmma:bm=256,bn=160",
     PROBLEM(FIXED(256), FIXED(3584), FIXED(18944), .m.type = TJ_F32, .compute = TJ_COMPUTE_TF32)},
    {"wgmma/registers.diff", "wgmma:bm=128,bn=256",
     PROBLEM(FIXED(4096), FIXED(4096), FIXED(1024), .m.type = TJ_F32, .m.layout = 1, .n.layout = 1,
             .compute = TJ_COMPUTE_TF32)},
    {"wgmma/lines.diff", "wgmma:bm=64,bn=96,blocks=2,release=now",
     PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_F16, .n.layout = 1, .epilogue.has_beta = 1, .batch = 3)},
    {"wgmma/promoted.diff", "wgmma:bm=128,bn=128",
     PROBLEM(FIXED(512), ANY(16), FIXED(704), .m.type = TJ_E4M3, .n.layout = 1, .compute = TJ_COMPUTE_F32_FP8)},
    {"wgmma/scaled.diff", "wgmma:bm=128,bn=160",
     PROBLEM(FIXED(4096), FIXED(7168), FIXED(2112), .m.type = TJ_E4M3, .n.layout = TJ_COL_MAJOR, .p.type = TJ_BF16,
             .compute = TJ_COMPUTE_F32_FP8,
             .scale = {{TJ_F32, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 128}, TJ_SCALE_INIT(TJ_F32, 128, 128)})},
    {"wgmma/scaled_swapped.diff", "wgmma:swap=yes,cluster=k2,bn=16",
     PROBLEM(FIXED(16), FIXED(2064), FIXED(4096), .m.type = TJ_E4M3, .n.layout = TJ_COL_MAJOR, .p.type = TJ_BF16,
             .compute = TJ_COMPUTE_F32_FP8, .scale = {TJ_SCALE_INIT(TJ_F32, 1, 32), TJ_SCALE_INIT(TJ_F32, 1, 32)})},
    {"wgmma/quantized.diff", "wgmma:bm=128,bn=128",
     PROBLEM(FIXED(512), FIXED(304), FIXED(768), .m.type = TJ_BF16, .p.type = TJ_E4M3,
             .scale[TJ_MATRIX_P] = {TJ_F32, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 128}, .epilogue.has_alpha = 1)},
    {"wgmma/groups.diff", "wgmma",
     PROBLEM(FIXED(1024), FIXED(4096), FIXED(14336), .m.type = TJ_E4M3, .n.layout = TJ_COL_MAJOR, .compute = TJ_COMPUTE_F32_FP8,
             .rows = {TJ_ROWS_IN_GROUPS, 0, 0, 0, 8, 0, 0}, .scale[TJ_MATRIX_M] = SCALE_EACH, .scale[TJ_MATRIX_N] = ONE_SCALE)},
    {"wgmma/masked.diff", "wgmma",
     PROBLEM(FIXED(32768), FIXED(4096), FIXED(14336), .m.type = TJ_BF16, .rows = {TJ_ROWS_MASKED, 0, 0, 0, 8, 0, 0, 20})},
    {"wgmma/by_index.diff", "wgmma:bm=128,bn=128",
     PROBLEM(FIXED(1024), FIXED(4096), FIXED(14336), .m.type = TJ_BF16, .rows = {TJ_ROWS_IN_GROUPS, 1, 0, 0, 8, 0, 0},
             .scale[TJ_MATRIX_M] = SCALE_EACH)},
    {"wgmma/by_index_scaled.diff", "wgmma:bm=128,bn=128",
     PROBLEM(FIXED(1024), FIXED(4096), FIXED(14336), .m.type = TJ_E4M3, .n.layout = TJ_COL_MAJOR, .p.type = TJ_BF16,
             .compute = TJ_COMPUTE_F32_FP8, .rows = {.kind = TJ_ROWS_IN_GROUPS, .gathered = 1, .groups = 8},
             .scale = {{TJ_F32, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 128}, TJ_SCALE_INIT(TJ_F32, 128, 128)})},
    {"wgmma/along_k.diff", "wgmma:bm=128,bn=192,pingpong=yes",
     PROBLEM(FIXED(4096), FIXED(8192), FIXED(14336), .m.type = TJ_BF16, .m.layout = TJ_COL_MAJOR,
             .rows = {TJ_ROWS_ALONG_K, 0, 0, 0, 8, 0, 0})},
    {"wgmma/along_k_lines.diff", "wgmma:bm=128,bn=128",
     PROBLEM(FIXED(512), FIXED(8192), FIXED(704), .m.type = TJ_E4M3, .compute = TJ_COMPUTE_F32_FP8,
             .rows = {TJ_ROWS_ALONG_K, 0, 0, 0, 3, 0, 0})},
    {"wgmma/swapped.diff", "wgmma:swap=yes,bn=40",
     PROBLEM(FIXED(72), FIXED(4096), FIXED(4096), .m.type = TJ_BF16, .n.layout = TJ_COL_MAJOR)},
    {"wgmma/swapped_splits.diff", "wgmma:swap=yes,bn=72,splits=2",
     PROBLEM(FIXED(72), FIXED(4096), FIXED(4096), .m.type = TJ_BF16)},
    {"wgmma/clustered.diff", "wgmma:swap=yes,cluster=m2,bn=40",
     PROBLEM(FIXED(72), FIXED(4096), FIXED(4096), .m.type = TJ_BF16, .n.layout = TJ_COL_MAJOR)},
    {"wgmma/gathered.diff", "wgmma:swap=yes,cluster=k2,bn=72",
     PROBLEM(FIXED(72), FIXED(4096), FIXED(2048), .m.type = TJ_BF16, .n.layout = TJ_COL_MAJOR)},
    {"wgmma/weights_of_4.diff", "wgmma:swap=yes,cluster=k2,bn=64,bm=128",
     PROBLEM(FIXED(64), FIXED(4096), FIXED(4096), .m.type = TJ_BF16, .n.type = TJ_S4, .n.layout = TJ_COL_MAJOR,
             .scale[TJ_MATRIX_N] = SCALE_ALONG_K(32))},
    {"wgmma/weights_in_slices.diff", "wgmma:swap=yes,cluster=k2,bn=64,bm=64,multipliers=2",
     PROBLEM(FIXED(64), FIXED(4096), FIXED(4096), .m.type = TJ_BF16, .n.type = TJ_S4, .n.layout = TJ_COL_MAJOR,
             .scale[TJ_MATRIX_N] = {TJ_BF16, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 128})},
    {"wgmma/weights_with_zeros.diff", "wgmma:swap=yes,bn=64,bm=128",
     PROBLEM(FIXED(64), FIXED(4096), FIXED(4000), .m.type = TJ_F16, .n.type = TJ_U4, .n.layout = TJ_COL_MAJOR,
             .scale[TJ_MATRIX_N] = {TJ_F16, TJ_SCALES_ROW_BY_ROW, TJ_U4, 0, 1, 128})},
    {"wgmma/weights_times_scales.diff", "wgmma:swap=yes,bn=64,bm=128",
     PROBLEM(FIXED(64), FIXED(2912), FIXED(2880), .m.type = TJ_BF16, .n.type = TJ_E2M1, .n.layout = TJ_COL_MAJOR,
             .scale[TJ_MATRIX_N] = {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 32})},
    {"wgmma/repacked.diff", "wgmma:swap=yes,cluster=k2,bn=64,bm=64,multipliers=2",
     PROBLEM(FIXED(64), FIXED(4096), FIXED(4096), .m.type = TJ_BF16, .n.type = TJ_E2M1, .n.layout = TJ_COL_MAJOR,
             .n.order = TJ_ORDER_REPACKED, .scale[TJ_MATRIX_N] = {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 32})},
    {"wgmma/quantized_to_pairs.diff", "wgmma",
     PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_BF16, .p.type = TJ_E2M1,
             .scale[TJ_MATRIX_P] = {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 32})},
    {"wgmma/weights_by_e4m3.diff", "wgmma:swap=yes,bn=64,bm=128",
     PROBLEM(FIXED(64), FIXED(4096), FIXED(4096), .m.type = TJ_E4M3, .n.type = TJ_S4, .n.layout = TJ_COL_MAJOR,
             .compute = TJ_COMPUTE_F32_FP8, .scale[TJ_MATRIX_N] = SCALE_ALONG_K(128))},
    {"wgmma/weights_of_8.diff", "wgmma:swap=yes,bn=256,bm=128",
     PROBLEM(FIXED(512), FIXED(1000), FIXED(700), .m.type = TJ_F16, .n.type = TJ_U8, .n.layout = TJ_COL_MAJOR, .n.ld = 1008)},
    {"wgmma/symmetric.diff", "wgmma:pingpong=yes",
     PROBLEM(FIXED(4096), FIXED(1024), FIXED(4096), .m.type = TJ_BF16, .n.layout = 1, .symmetric = TJ_SYMMETRIC_BOTH)},
    {"wgmma/upper.diff", "wgmma",
     PROBLEM(FIXED(1000), FIXED(1024), FIXED(1000), .m.type = TJ_BF16, .n.layout = 1, .batch = 3, .epilogue.has_beta = 1,
             .symmetric = TJ_SYMMETRIC_UPPER)},
    {"wgmma/tall.diff", "wgmma:bm=256,bn=128",
     PROBLEM(FIXED(4096), FIXED(1024), FIXED(4096), .m.type = TJ_BF16, .n.layout = 1, .symmetric = TJ_SYMMETRIC_BOTH)},
    {"wgmma/by_f32.diff", "wgmma:swap=yes,cluster=m2,bn=64,bm=128",
     PROBLEM(FIXED(4096), FIXED(7168), FIXED(256), .m.type = TJ_BF16, .n.type = TJ_F32, .n.layout = TJ_COL_MAJOR)},
    {"wgmma/by_f32_across.diff", "wgmma:swap=yes,cluster=m2,bn=64,bm=128",
     PROBLEM(FIXED(4096), FIXED(7168), FIXED(256), .m.type = TJ_BF16, .n.type = TJ_F32)},
    {"mma/rectangular.cu", "mma", PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_BF16)},
    {"mma/c128.diff", "mma:bm=32,bn=32,wm=16,wn=16",
     PROBLEM(FIXED(1024), FIXED(1024), FIXED(1024), .m = {.type = TJ_C128, .conjugated = 1})},
    {"mma/c64_tf32.diff", "mma:bm=64,bn=64,wm=32,wn=32",
     PROBLEM(FIXED(1024), FIXED(1024), FIXED(1024), .m.type = TJ_C64, .n = {.layout = TJ_COL_MAJOR, .conjugated = 1},
             .compute = TJ_COMPUTE_TF32)},
    {"mma/c64_split.diff", "mma:bm=64,bn=64,wm=32,wn=32,splits=2",
     PROBLEM(FIXED(1000), FIXED(1024), FIXED(1024), .m.type = TJ_C64, .compute = TJ_COMPUTE_F32_SPLIT)},
    {"mma/f64_passed.diff", "mma:bm=64,bn=64,wm=32,wn=32,stages=4",
     PROBLEM(ANY(0), ANY(2), ANY(2), .m.type = TJ_F64, .epilogue.has_alpha = 1, .epilogue.has_beta = 1, .batch = 3)},
    {"mma/split.diff", "mma:bm=64,bn=64,splits=12,group=8",
     PROBLEM(FIXED(1024), FIXED(60000), FIXED(1000), .m.type = TJ_F16, .p.type = TJ_F32, .epilogue.has_alpha = 1)},
    {"mma/packed.diff", "mma:steps=4",
     PROBLEM(FIXED(1001), FIXED(999), FIXED(1003), .m.type = TJ_BF16, .batch = 2, .n.stride = TJ_BROADCAST)},
    {"mma/transposed.diff", "mma:pack=both,transpose=yes",
     PROBLEM(FIXED(1000), FIXED(999), FIXED(1008), .m.type = TJ_S8, .p.type = TJ_F32)},
    {"mma/gathered.diff", "mma:bm=64,bn=64", PROBLEM(ANY(0), ANY(0), FIXED(704), .m.type = TJ_S8)},
    {"mma/needed.diff", "mma:bm=64,bn=128,wm=32,wn=64,steps=4,pack=none",
     PROBLEM(FIXED(1023), FIXED(1023), FIXED(1023), .m.type = TJ_F32, .compute = TJ_COMPUTE_TF32)},
    {"mma/e4m3.diff", "mma",
     PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_E4M3, .n.type = TJ_E5M2, .n.layout = TJ_COL_MAJOR)},
    {"mma/f32_fp8.diff", "mma", PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_E4M3, .compute = TJ_COMPUTE_F32_FP8)},
    {"mma/mxfp8.diff", "mma:bm=64,bn=128,wn=32,steps=4,scales=instruction",
     PROBLEM(FIXED(512), FIXED(4000), FIXED(704), .m.type = TJ_E4M3, .n.layout = TJ_COL_MAJOR, .p.type = TJ_BF16,
             .scale = {SCALES_OF(TJ_E8M0, TJ_SCALES_ROW_BY_ROW, 1, 32), SCALES_OF(TJ_E8M0, TJ_SCALES_IN_TILES, 1, 32)})},
    {"mma/nvfp4.diff", "mma:bm=64,bn=128,wn=32",
     PROBLEM(FIXED(512), FIXED(4096), FIXED(704), .m.type = TJ_E2M1, .n.type = TJ_E2M1, .n.layout = TJ_COL_MAJOR,
             .p.type = TJ_BF16,
             .scale = {SCALES_OF(TJ_E4M3, TJ_SCALES_ROW_BY_ROW, 1, 16), SCALES_OF(TJ_E4M3, TJ_SCALES_ROW_BY_ROW, 1, 16)})},
    {"mma/fp8_block.diff", "mma:bm=64,bn=128,wn=32",
     PROBLEM(FIXED(512), FIXED(4096), FIXED(704), .m.type = TJ_E4M3, .n.layout = TJ_COL_MAJOR, .p.type = TJ_BF16,
             .compute = TJ_COMPUTE_F32_FP8, .scale = {{TJ_F32, 1, 0, 0, 1, 128}, {TJ_F32, 1, 0, 0, 128, 128}})},
    {"mma/weights.diff", "mma", PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_BF16, .n.type = TJ_S8)},
    {"mma/weights_of_4.diff", "mma:bm=16,bn=128,wn=32",
     PROBLEM(FIXED(16), FIXED(4096), FIXED(6144), .m.type = TJ_BF16, .n.type = TJ_S4, .scale[TJ_MATRIX_N] = SCALE_ALONG_K(64))},
    {"mma/weights_along_k.diff", "mma",
     PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_BF16, .n.type = TJ_S8, .n.layout = TJ_COL_MAJOR)},
    {"mma/weights_by_e4m3.diff", "mma:bm=16,bn=128,wn=32",
     PROBLEM(FIXED(16), FIXED(4096), FIXED(6144), .m.type = TJ_E4M3, .n.type = TJ_E2M1, .n.layout = TJ_COL_MAJOR)},
    {"mma/weights_in_words.diff", "mma:bm=16,bn=128,wn=32,steps=4",
     PROBLEM(FIXED(16), FIXED(4096), FIXED(6144), .m.type = TJ_BF16, .n.type = TJ_S4, .n.layout = TJ_COL_MAJOR)},
    {"mma/repacked.diff", "mma:bm=16,bn=128,wn=32,steps=4",
     PROBLEM(FIXED(16), FIXED(4096), FIXED(6144), .m.type = TJ_BF16, .n.type = TJ_E2M1, .n.layout = TJ_COL_MAJOR,
             .n.order = TJ_ORDER_REPACKED, .scale[TJ_MATRIX_N] = {TJ_E4M3, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 16})},
    {"mma/float_zero_points.diff", "mma:bm=16,bn=128,wn=64,steps=4",
     PROBLEM(FIXED(16), FIXED(4096), FIXED(6144), .m.type = TJ_F16, .n.type = TJ_U4, .n.layout = TJ_COL_MAJOR,
             .scale[TJ_MATRIX_N] = {.type = TJ_F16, .layout = TJ_SCALES_ROW_BY_ROW, .zero = TJ_F16, .rows = 1, .k = 32})},
    {"mma/zero_points.diff", "mma:bm=16,bn=128,wn=64,steps=4",
     PROBLEM(FIXED(16), FIXED(4096), FIXED(6144), .m.type = TJ_BF16, .n.type = TJ_U4, .n.layout = TJ_COL_MAJOR,
             .scale[TJ_MATRIX_N] = {.type = TJ_F16, .layout = TJ_SCALES_ROW_BY_ROW, .zero = TJ_U4, .rows = 1, .k = 32})},
    {"mma/slices.diff", "mma:bm=16,bn=64,wn=32,steps=4,slices=4",
     PROBLEM(FIXED(16), FIXED(4096), FIXED(6144), .m.type = TJ_BF16, .n.layout = TJ_COL_MAJOR)},
    {"mma/registers.diff", "mma:stages=2,copy=registers", PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_F16)},
    {"mma/columns.diff", "mma:bm=64,bn=64",
     PROBLEM(FIXED(512), FIXED(320), FIXED(704), .m.type = TJ_F16, .m.layout = 1, .n.layout = 1, .p.layout = 1,
             .epilogue.has_beta = 1)},
    {"mma/quantized.diff", "mma:bm=64,bn=64,wm=32,wn=32,slices=1",
     PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F16, .p.type = TJ_S8,
             .scale[TJ_MATRIX_P] = {TJ_E8M0, TJ_SCALES_IN_TILES, .rows = 1, .k = 32})},
    {"mma/pairs.diff", "mma", PROBLEM(FIXED(512), FIXED(300), FIXED(701), .m.type = TJ_F16, .n.type = TJ_S4)},
    {"mma/e2m1.diff", "mma", PROBLEM(FIXED(16), FIXED(4096), FIXED(6144), .m.type = TJ_BF16, .n.type = TJ_E2M1)},
    {"mma/e4m3_weights.diff", "mma",
     PROBLEM(FIXED(16), FIXED(4096), FIXED(6144), .m.type = TJ_F16, .n.type = TJ_E4M3, .n.layout = TJ_COL_MAJOR)},
    {"mma/packed_u4.diff", "mma", PROBLEM(FIXED(512), FIXED(300), FIXED(701), .m.type = TJ_BF16, .n.type = TJ_U4)},
    {"mma/scattered.diff", "mma", PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_BF16, .rows.scattered = 1)},
    {"mma/combined.diff", "mma",
     PROBLEM(FIXED(512), FIXED(304), FIXED(700), .m.type = TJ_BF16, .rows = {.combined = 2}, .epilogue.has_beta = 1)},
    {"mma/combined_groups.diff", "mma",
     PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_BF16, .p.ld = TJ_ANY,
             .rows = {.kind = TJ_ROWS_MASKED, .combined = 4, .groups = 8})},
    {"mma/symmetric.diff", "mma:splits=2",
     PROBLEM(FIXED(512), FIXED(304), FIXED(512), .m.type = TJ_BF16, .n.layout = 1, .symmetric = TJ_SYMMETRIC_BOTH)},
    {"mma/by_index.diff", "mma", PROBLEM(ANY(0), FIXED(304), FIXED(704), .m.type = TJ_BF16, .rows.gathered = 1)},
    {"mma/groups.diff", "mma",
     PROBLEM(FIXED(1024), FIXED(4096), FIXED(14336), .m.type = TJ_BF16, .rows = {TJ_ROWS_IN_GROUPS, 0, 0, 0, 8, 4, 1},
             .scale[TJ_MATRIX_M] = SCALE_EACH, .scale[TJ_MATRIX_N] = SCALE_EACH)},
    {"tiled/e2m1.cu", "tiled", PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32, .n.type = TJ_E2M1)},
    {"tiled/e4m3_weights.cu", "tiled", PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_BF16, .n.type = TJ_E4M3)},
};

/* Texts of the examples' own families: what a program of examples/ prints. */
static const struct {
    const char *file, *program;
} examples[] = {
    {"custom/convolution_4096x4096x2.cu", "05_convolution --text 4096 4096 2"},
    {"custom/convolution_1080x1921x3.diff", "05_convolution --text 1080 1921 3"},
    {"custom/softmax_4096.cu", "06_softmax --text 64 4096"},
    {"custom/softmax_1000.diff", "06_softmax --text 64 1000"},
};

enum { ROWS = sizeof rows / sizeof rows[0], EXAMPLES = sizeof examples / sizeof examples[0] };

/* ---- files -------------------------------------------------------------------------------------------------------- */

/* Does this run write the files? Tests that only read them then pass: Criterion runs them at the same time. */
static bool is_update(void)
{
    return getenv("TJ_UPDATE_GOLDEN") != NULL;
}

static bool is_whole(const char *file)
{
    return strcmp(strrchr(file, '.'), ".cu") == 0;
}

static void write_golden(const char *file, const char *content)
{
    char path[512];
    FILE *stream;

    (void)snprintf(path, sizeof path, "%s/tests/golden/%s", TJ_SOURCE_DIR, file);
    stream = fopen(path, "wb");
    cr_assert(stream && fputs(content, stream) >= 0 && fclose(stream) == 0, "%s cannot be written", path);
}

/* free() it. */
static char *read_golden(const char *file)
{
    char path[512], *content = NULL;
    size_t size;
    tj_error err = {0};

    (void)snprintf(path, sizeof path, "%s/tests/golden/%s", TJ_SOURCE_DIR, file);
    cr_assert(eq(int, tj_input_read_whole(path, TEXT_MAX_BYTES, &content, &size, &err), TJ_OK), "%s", err.message);
    return content;
}

/* Report the first line in which two texts differ, with both sides. */
static void show_difference(const char *file, const char *got, const char *want)
{
    text_lines a = text_lines_of(got), b = text_lines_of(want);
    const text_line none = {"(the text ends before it)", 25};
    size_t i = 0;

    while (i < a.count && i < b.count && text_line_equal(a.line[i], b.line[i]))
        i++;
    const text_line x = i < a.count ? a.line[i] : none, y = i < b.count ? b.line[i] : none;
    cr_expect(false, "%s: line %zu of the text\n    generated: %.*s\n    golden:    %.*s", file, i + 1, (int)x.length, x.start,
              (int)y.length, y.start);
    free(a.line);
    free(b.line);
}

/*
 * Compare a text with its golden file. *base is the text generated for the `.cu` above it: that row compares it with its file, so a
 * changed line that a family shares is reported once. free(*base) after the last row.
 */
static void check_golden(const char *file, const char *text, char **base)
{
    char *content, *made, *want, fault[128];

    cr_assert(text[0] != 0 && text[strlen(text) - 1] == '\n', "%s: the last line has no end", file);
    for (const char *c = text; *c; c++)
        cr_assert(ge(chr, *c, *c == '\n' ? '\n' : ' '), "%s: not ASCII, or a tab", file);
    cr_expect(eq(ptr, strstr(text, "//@"), NULL), "%s: a directive is left", file);
    if (is_whole(file)) {
        free(*base);
        *base = strdup(text);
    }
    cr_assert(ne(ptr, *base, NULL), "%s: no .cu is above it in the table", file);
    made = is_whole(file) ? strdup(text) : text_diff_make(*base, text);
    if (is_update())
        write_golden(file, made);
    content = read_golden(file);
    want = is_whole(file) ? strdup(content) : text_diff_apply(*base, content, fault);
    if (!want)
        cr_expect(false, "%s: %s. TJ_UPDATE_GOLDEN=1 writes it anew.", file, fault);
    else if (strcmp(text, want) != 0)
        show_difference(file, text, want);
    else
        cr_expect(eq(str, content, made), "%s is not what TJ_UPDATE_GOLDEN=1 writes", file);
    free(made);
    free(content);
    free(want);
}

static void check_rows(void)
{
    char *base = NULL;

    for (size_t i = 0; i < ROWS; i++) {
        tj_config config = TJ_CONFIG_INIT;
        tj_source *source = NULL;
        tj_error err = {0};

        cr_assert(eq(int, tj_config_parse(rows[i].config, &config, &err), TJ_OK), "%s: %s", rows[i].file, err.message);
        cr_assert(eq(int, tj_generate(&rows[i].problem, &config, &source, &err), TJ_OK), "%s: %s", rows[i].file, err.message);
        check_golden(rows[i].file, tj_source_text(source), &base);
        tj_source_free(source);
    }
    free(base);
}

/* ---- tests -------------------------------------------------------------------------------------------------------- */

Test(golden, files_match_byte_for_byte)
{
    check_rows();
}

Test(golden, the_examples_write_what_they_wrote)
{
    static char text[TEXT_MAX_BYTES];
    char *base = NULL;

    for (size_t i = 0; i < EXAMPLES; i++) {
        char command[512];
        FILE *stream;

        (void)snprintf(command, sizeof command, "%s/examples_%s", EXAMPLES_DIR, examples[i].program);
        stream = popen(command, "r");
        cr_assert(ne(ptr, stream, NULL));
        text[fread(text, 1, sizeof text - 1, stream)] = '\0';
        cr_assert(eq(int, pclose(stream), 0), "%s", command);
        check_golden(examples[i].file, text, &base);
    }
    free(base);
}

Test(golden, no_locale_changes_a_byte)
{
    char folder[] = "/tmp/tilejit-golden-XXXXXX", command[64];

    if (is_update())
        return;
    cr_assert(mkdtemp(folder) != NULL);
    for (size_t i = 0; i < TEST_LOCALES; i++)
        if (enter_locale(folder, test_locales[i]))
            check_rows();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_expect(eq(int, system(command), 0));
}

Test(golden, every_file_has_a_row)
{
    glob_t found = {0};

    cr_assert(eq(int, glob(TJ_SOURCE_DIR "/tests/golden/*/*", 0, NULL, &found), 0));
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *const file = found.gl_pathv[i] + strlen(TJ_SOURCE_DIR "/tests/golden/");
        bool has_row = false;

        for (size_t row = 0; row < ROWS; row++)
            has_row = has_row || strcmp(rows[row].file, file) == 0;
        for (size_t row = 0; row < EXAMPLES; row++)
            has_row = has_row || strcmp(examples[row].file, file) == 0;
        cr_expect(has_row, "tests/golden/%s has no row: delete it", file);
    }
    globfree(&found);
}

/* Put two longer lines in place of each line that the diff does not quote. */
static char *reworded(const char *text, text_lines diff)
{
    text_lines lines = text_lines_of(text);
    tj_text out = TJ_TEXT_INIT(TEXT_MAX_BYTES);

    for (size_t i = 0; i < lines.count; i++) {
        bool is_quoted = false;

        for (size_t k = 0; k < diff.count && !is_quoted; k++)
            is_quoted = text_line_equal(lines.line[i], text_line_quoted(diff.line[k]));
        for (int again = 0; again < (is_quoted ? 1 : 2); again++) {
            tj_text_append_bytes(&out, lines.line[i].start, lines.line[i].length);
            tj_text_append(&out, is_quoted ? "\n" : again ? " - again\n" : " - reworded\n");
        }
    }
    free(lines.line);
    return text_taken(&out);
}

/* Lines that the base and a variant share are written once, in the base: an edit of one of them edits one file. */
Test(golden, no_variant_repeats_its_base)
{
    const char *base = NULL;
    size_t hunks = 0, anchors = 0;

    if (is_update())
        return;
    for (size_t i = 0; i < ROWS; i++) {
        char *whole, *diff, *text, *whole_reworded, *text_reworded, *again, fault[128];
        text_lines lines;

        if (is_whole(rows[i].file)) {
            base = rows[i].file;
            continue;
        }
        whole = read_golden(base);
        diff = read_golden(rows[i].file);
        text = text_diff_apply(whole, diff, fault);
        cr_assert(ne(ptr, text, NULL), "%s on %s: %s", rows[i].file, base, fault);
        cr_expect(lt(sz, strlen(diff), strlen(text)), "%s: the whole text is shorter: make it a .cu", rows[i].file);
        lines = text_lines_of(diff);
        whole_reworded = reworded(whole, lines);
        text_reworded = reworded(text, lines);
        again = text_diff_make(whole_reworded, text_reworded);
        cr_expect(eq(str, again, diff), "%s", rows[i].file);
        for (size_t k = 0; k < lines.count; k++) {
            hunks += lines.line[k].length && *lines.line[k].start == '@';
            anchors += !lines.line[k].length || *lines.line[k].start == ' ';
        }
        free(lines.line);
        free(whole);
        free(diff);
        free(text);
        free(whole_reworded);
        free(text_reworded);
        free(again);
    }
    cr_expect(lt(sz, 2 * anchors, hunks), "%zu hunks quote %zu lines that the base has too", hunks, anchors);
}
