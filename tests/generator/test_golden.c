/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden files: a request in, the text out, byte for byte, in every locale. TJ_UPDATE_GOLDEN=1 rewrites them; the diff is the
 * review.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/source.h>

#include "locales.h"

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
    {"naive/square", "naive", PROBLEM(FIXED(1024), FIXED(1024), FIXED(1024), .m.type = TJ_F32)},
    {"naive/primes", "naive:tile_width=8", PROBLEM(FIXED(97), FIXED(89), FIXED(101), .m.type = TJ_F32)},
    {"naive/column_major", "naive", PROBLEM(FIXED(64), FIXED(32), FIXED(48), .m.type = TJ_F64, .m.layout = 1, .n.layout = 1)},
    {"tiled/square", "tiled", PROBLEM(FIXED(1024), FIXED(1024), FIXED(1024), .m.type = TJ_F32)},
    {"tiled/rectangular", "tiled", PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32)},
    {"tiled/primes", "tiled:tile_width=7", PROBLEM(FIXED(97), FIXED(89), FIXED(101), .m.type = TJ_F32)},
    {"tiled/dynamic", "tiled:shared=dynamic", PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32)},
    {"tiled/m_column_major", "tiled", PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32, .m.layout = 1)},
    {"tiled/n_column_major", "tiled", PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32, .n.layout = 1)},
    {"tiled/p_column_major", "tiled", PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32, .p.layout = 1)},
    {"tiled/f16", "tiled", PROBLEM(FIXED(64), FIXED(64), FIXED(64), .m.type = TJ_F16)},
    {"tiled/bf16_into_f32", "tiled", PROBLEM(FIXED(64), FIXED(64), FIXED(64), .m.type = TJ_BF16, .p.type = TJ_F32)},
    {"tiled/f64", "tiled:tile_width=32", PROBLEM(FIXED(64), FIXED(64), FIXED(64), .m.type = TJ_F64)},
    {"tiled/any", "tiled", PROBLEM(ANY(0), ANY(0), ANY(0), .m.type = TJ_F32, .m.ld = TJ_ANY)},
    {"tiled/any_promised", "tiled", PROBLEM(ANY(16), ANY(32), ANY(64), .m.type = TJ_F32)},
    {"tiled/alpha_beta", "tiled",
     PROBLEM(FIXED(64), FIXED(64), FIXED(64), .m.type = TJ_F32, .epilogue.has_alpha = 1, .epilogue.has_beta = 1, .c.ld = 80)},
    {"tiled/batch", "tiled", PROBLEM(FIXED(64), FIXED(64), FIXED(64), .m.type = TJ_F32, .batch = 8, .n.stride = TJ_BROADCAST)},
    {"simt/square", "simt", PROBLEM(FIXED(1024), FIXED(1024), FIXED(1024), .m.type = TJ_F32)},
    {"simt/primes", "simt:bm=32,bn=64,bk=16,tm=8,tn=4", PROBLEM(FIXED(97), FIXED(89), FIXED(101), .m.type = TJ_F32)},
    {"simt/spread", "simt:bm=64,bn=128,bk=32,slices=2,start=spread",
     PROBLEM(FIXED(1009), FIXED(499), FIXED(2003), .m.type = TJ_F32)},
    {"simt/columns_beta", "simt:bm=64,bn=64,tm=4,tn=8",
     PROBLEM(ANY(0), FIXED(64), ANY(64), .m.type = TJ_F64, .m.layout = 1, .n.layout = 1, .epilogue.has_alpha = 1,
             .epilogue.has_beta = 1, .batch = 3)},
    {"simt/registers_columns", "simt:bm=64,bn=64,bk=16,tm=8,tn=4",
     PROBLEM(FIXED(128), FIXED(96), FIXED(192), .m.type = TJ_BF16, .m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"simt/registers_f16", "simt:bm=64,bn=64,bk=16,tm=8,tn=4", PROBLEM(FIXED(128), FIXED(100), FIXED(101), .m.type = TJ_F16)},
    {"simt/split", "simt:splits=12,slices=2",
     PROBLEM(FIXED(256), FIXED(60000), FIXED(250), .m.type = TJ_F32, .epilogue.has_alpha = 1, .batch = 2)},
    {"skinny/decode", "skinny:splits=1", PROBLEM(FIXED(16), FIXED(4096), FIXED(4096), .m.type = TJ_F32)},
    {"skinny/long_row", "skinny:slices=8,k_thread=16,splits=1", PROBLEM(FIXED(1), FIXED(4096), FIXED(512), .m.type = TJ_F16)},
    {"skinny/columns_split", "skinny:splits=8",
     PROBLEM(FIXED(512), FIXED(5000), FIXED(7), .m.type = TJ_F32, .epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"skinny/odd", "skinny", PROBLEM(FIXED(3), ANY(0), FIXED(101), .m.type = TJ_BF16, .p.type = TJ_F32, .batch = 5)},
    {"strip/rows", "strip:splits=1", PROBLEM(FIXED(1760), FIXED(1760), FIXED(16), .m.type = TJ_F32)},
    {"strip/boxes", "strip:splits=1,copies=boxes", PROBLEM(FIXED(2560), FIXED(2560), FIXED(16), .m.type = TJ_F32)},
    {"strip/columns_split", "strip",
     PROBLEM(FIXED(7), FIXED(5000), FIXED(300), .m.type = TJ_F64, .m.layout = 1, .n.layout = 1, .epilogue.has_alpha = 1,
             .epilogue.has_beta = 1)},
    {"small_batch/cubes", "small_batch", PROBLEM(FIXED(16), FIXED(16), FIXED(16), .m.type = TJ_F32, .batch = 10000)},
    {"small_batch/odd", "small_batch:copy=registers,products=3",
     PROBLEM(FIXED(23), FIXED(13), FIXED(21), .m.type = TJ_F16, .p.type = TJ_F32, .epilogue.has_alpha = 1,
             .epilogue.has_beta = 1, .batch = TJ_ANY, .n.stride = TJ_BROADCAST)},
    {"small_batch/columns", "small_batch",
     PROBLEM(FIXED(64), FIXED(40), FIXED(48), .m.type = TJ_F64, .m.layout = 1, .n.layout = 1, .batch = 7)},
    {"planes/rectangular", "planes",
     PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32, .compute = TJ_COMPUTE_F32_SPLIT)},
    {"planes/batch", "planes:bm=64,bn=64,group=8",
     PROBLEM(FIXED(64), FIXED(256), FIXED(101), .m.type = TJ_F32, .m.layout = TJ_COL_MAJOR, .n.stride = TJ_BROADCAST,
             .batch = 3, .compute = TJ_COMPUTE_F32_SPLIT, .epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"wgmma_planes/rectangular", "wgmma_planes",
     PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32, .compute = TJ_COMPUTE_F32_SPLIT)},
    {"wgmma/rectangular", "wgmma", PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_BF16)},
    {"wgmma/pingpong", "wgmma:bm=128,bn=192,pingpong=yes", PROBLEM(FIXED(8192), FIXED(8192), FIXED(8192), .m.type = TJ_BF16)},
    {"wgmma/transposed", "wgmma:bm=256,bn=160",
     PROBLEM(FIXED(256), FIXED(3584), FIXED(18944), .m.type = TJ_F32, .compute = TJ_COMPUTE_TF32)},
    {"wgmma/lines", "wgmma:bm=64,bn=96,blocks=2,release=now",
     PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_F16, .n.layout = 1, .epilogue.has_beta = 1, .batch = 3)},
    {"wgmma/promoted", "wgmma:bm=128,bn=128",
     PROBLEM(FIXED(512), ANY(16), FIXED(704), .m.type = TJ_E4M3, .n.layout = 1, .compute = TJ_COMPUTE_F32_FP8)},
    {"mma/rectangular", "mma", PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_BF16)},
    {"mma/f64_passed", "mma:bm=64,bn=64,wm=32,wn=32,stages=4",
     PROBLEM(ANY(0), ANY(2), ANY(2), .m.type = TJ_F64, .epilogue.has_alpha = 1, .epilogue.has_beta = 1, .batch = 3)},
    {"mma/split", "mma:bm=64,bn=64,splits=12,group=8",
     PROBLEM(FIXED(1024), FIXED(60000), FIXED(1000), .m.type = TJ_F16, .p.type = TJ_F32, .epilogue.has_alpha = 1)},
    {"mma/packed", "mma:steps=4",
     PROBLEM(FIXED(1001), FIXED(999), FIXED(1003), .m.type = TJ_BF16, .batch = 2, .n.stride = TJ_BROADCAST)},
    {"mma/transposed", "mma:pack=both,transpose=yes",
     PROBLEM(FIXED(1000), FIXED(999), FIXED(1008), .m.type = TJ_S8, .p.type = TJ_F32)},
    {"mma/gathered", "mma:bm=64,bn=64", PROBLEM(ANY(0), ANY(0), FIXED(704), .m.type = TJ_S8)},
    {"mma/needed", "mma:bm=64,bn=128,wm=32,wn=64,steps=4,pack=none",
     PROBLEM(FIXED(1023), FIXED(1023), FIXED(1023), .m.type = TJ_F32, .compute = TJ_COMPUTE_TF32)},
    {"mma/weights", "mma", PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_BF16, .n.type = TJ_S8)},
    {"mma/weights_of_4", "mma:bm=16,bn=128,wn=32",
     PROBLEM(FIXED(16), FIXED(4096), FIXED(6144), .m.type = TJ_BF16, .n.type = TJ_S4, .epilogue.scale_n = TJ_SCALE_ALONG_K,
             .scale_k = 64)},
    {"mma/weights_along_k", "mma",
     PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_BF16, .n.type = TJ_S8, .n.layout = TJ_COL_MAJOR)},
    {"mma/registers", "mma:stages=2,copy=registers", PROBLEM(FIXED(512), FIXED(304), FIXED(704), .m.type = TJ_F16)},
    {"mma/columns", "mma:bm=64,bn=64",
     PROBLEM(FIXED(512), FIXED(320), FIXED(704), .m.type = TJ_F16, .m.layout = 1, .n.layout = 1, .p.layout = 1,
             .epilogue.has_beta = 1)},
    {"tiled/pointers", "tiled",
     PROBLEM(FIXED(64), FIXED(64), FIXED(64), .m.type = TJ_F32, .epilogue.has_beta = 1, .batch = 8, .m.stride = TJ_POINTERS,
             .n.stride = TJ_BROADCAST, .p.stride = TJ_POINTERS, .c.stride = TJ_POINTERS)},
    {"simt/pointers_split", "simt:splits=12",
     PROBLEM(FIXED(256), FIXED(60000), FIXED(256), .m.type = TJ_F32, .epilogue.has_beta = 1, .batch = 2,
             .m.stride = TJ_POINTERS_16, .n.stride = TJ_POINTERS_16, .p.stride = TJ_POINTERS_16, .c.stride = TJ_POINTERS_16)},
    {"small_batch/pointers", "small_batch",
     PROBLEM(FIXED(16), FIXED(16), FIXED(16), .m.type = TJ_F32, .epilogue.has_beta = 1, .batch = 10001,
             .m.stride = TJ_POINTERS_16, .n.stride = TJ_POINTERS, .p.stride = TJ_POINTERS_16, .c.stride = TJ_POINTERS_16)},
    {"naive/s8_u8_scaled", "naive",
     PROBLEM(FIXED(64), FIXED(48), FIXED(80), .m.type = TJ_S8, .n.type = TJ_U8, .p.type = TJ_S8,
             .epilogue.scale_m = TJ_SCALE_ONE, .epilogue.scale_n = TJ_SCALE_EACH, .epilogue.has_beta = 1, .batch = 3)},
    {"skinny/pairs", "skinny",
     PROBLEM(FIXED(4), FIXED(4096), FIXED(1000), .m.type = TJ_BF16, .n.type = TJ_S4, .n.layout = TJ_COL_MAJOR,
             .epilogue.scale_n = TJ_SCALE_ALONG_K, .scale_k = 64)},
    {"mma/pairs", "mma", PROBLEM(FIXED(512), FIXED(300), FIXED(701), .m.type = TJ_F16, .n.type = TJ_S4)},
    {"tiled/groups", "tiled", PROBLEM(FIXED(512), FIXED(300), FIXED(700), .m.type = TJ_F32, .groups.count = 8)},
    {"simt/groups", "simt",
     PROBLEM(ANY(0), FIXED(300), FIXED(700), .m.type = TJ_F32, .groups = {100, 8, 0}, .n.stride = TJ_POINTERS,
             .epilogue.has_beta = 1)},
    {"mma/groups", "mma",
     PROBLEM(FIXED(1024), FIXED(4096), FIXED(14336), .m.type = TJ_BF16, .groups = {8, 4, 1}, .epilogue.scale_m = TJ_SCALE_EACH,
             .epilogue.scale_n = TJ_SCALE_EACH)},
    {"wgmma/groups", "wgmma",
     PROBLEM(FIXED(1024), FIXED(4096), FIXED(14336), .m.type = TJ_E4M3, .n.layout = TJ_COL_MAJOR, .compute = TJ_COMPUTE_F32_FP8,
             .groups.count = 8, .epilogue.scale_m = TJ_SCALE_EACH, .epilogue.scale_n = TJ_SCALE_ONE)},
    {"tiled/e4m3_e5m2", "tiled",
     PROBLEM(FIXED(64), FIXED(48), FIXED(80), .m.type = TJ_E4M3, .n.type = TJ_E5M2, .p.type = TJ_F16)},
    {"tiled/s8_into_itself", "tiled",
     PROBLEM(FIXED(64), FIXED(48), FIXED(80), .m.type = TJ_S8, .p.type = TJ_S8, .epilogue.has_alpha = 1)},
    {"simt/scaled_split", "simt:splits=4",
     PROBLEM(FIXED(256), FIXED(4096), FIXED(256), .m.type = TJ_F32, .p.layout = TJ_COL_MAJOR, .epilogue.scale_m = TJ_SCALE_EACH,
             .epilogue.scale_n = TJ_SCALE_ONE, .epilogue.has_alpha = 1)},
    {"simt/scaled", "simt",
     PROBLEM(FIXED(256), FIXED(256), FIXED(256), .m.type = TJ_F32, .epilogue.scale_m = TJ_SCALE_EACH,
             .epilogue.scale_n = TJ_SCALE_EACH, .epilogue.has_beta = 1)},
    {"tiled/tall", "tiled", PROBLEM(FIXED(2000000), FIXED(64), FIXED(16), .m.type = TJ_F32)},
};

static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = file ? calloc(1, 1 << 16) : NULL;

    if (text && fread(text, 1, (1 << 16) - 1, file) == 0)
        text[0] = '\0';
    if (file)
        fclose(file);
    return text;
}

static void compare(const char *locale)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = TJ_CONFIG_INIT;
        tj_source *source = NULL;
        tj_error err = {0};
        char path[512], *want;

        cr_assert(eq(int, tj_config_parse(rows[i].config, &config, &err), TJ_OK), "%s: %s", rows[i].file, err.message);
        cr_assert(eq(int, tj_generate(&rows[i].problem, &config, &source, &err), TJ_OK), "%s: %s", rows[i].file, err.message);
        snprintf(path, sizeof path, "%s/tests/golden/%s.cu", TJ_SOURCE_DIR, rows[i].file);
        if (getenv("TJ_UPDATE_GOLDEN")) {
            FILE *file = fopen(path, "wb");
            cr_assert(ne(ptr, file, NULL), "%s", path);
            fputs(tj_source_text(source), file);
            fclose(file);
        }
        want = read_whole(path);
        cr_assert(ne(ptr, want, NULL), "no golden file %s", path);
        cr_expect(eq(str, (char *)tj_source_text(source), want), "%s in locale %s", rows[i].file, locale);
        for (const char *c = tj_source_text(source); *c; c++)
            cr_assert(ge(chr, *c, *c == 10 ? 10 : 32), "%s: not ASCII, or a tab", rows[i].file);
        cr_expect(eq(ptr, strstr(tj_source_text(source), "//@"), NULL), "%s: a directive is left", rows[i].file);
        free(want);
        tj_source_free(source);
    }
}

Test(golden, files_match_byte_for_byte)
{
    compare("C");
}

Test(golden, no_locale_changes_a_byte)
{
    char folder[] = "/tmp/tilejit-golden-XXXXXX", command[64];

    cr_assert(mkdtemp(folder) != NULL);
    for (size_t i = 0; i < TEST_LOCALES; i++)
        if (enter_locale(folder, test_locales[i]))
            compare(test_locales[i]);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_expect(eq(int, system(command), 0));
}
