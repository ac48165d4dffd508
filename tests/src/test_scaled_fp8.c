/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * 8-bit floats with scales of parts of k, by wgmma on the emulator: every type, layout and block of scales, next to splits, clusters,
 * batches, groups and short last parts; and what is refused.
 */
#include "dropped.h"
#include "product_test.h"
#include "scales.h"

static void start(void)
{
    open_context("sm_90", TJ_PROVE_NEVER);
}

TestSuite(scaled_fp8, .init = start, .fini = stop, .timeout = 300);

#define MX(layout_) SCALES_OF(TJ_E8M0, layout_, 1, 32)

static const struct row {
    const char *config;
    int64_t j, k, l, batch;
    tj_type m, n, p;
    int32_t groups;
    tj_scale scale_m, scale_n;
} rows[] = {
    {"wgmma:bm=128,bn=128", 130, 384, 272, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, 0, BY_ROW(1, 128), BY_ROW(128, 128)},
    {"wgmma:bm=256,bn=128", 260, 384, 144, 1, TJ_E4M3, TJ_E5M2, TJ_F16, 0, BY_PART(1, 128), BY_PART(128, 128)},
    {"wgmma:bm=128,bn=144", 70, 272, 304, 1, TJ_E5M2, TJ_E4M3, TJ_F32, 0, BY_ROW(1, 128), BY_ROW(1, 128)},
    {"wgmma:bm=64,bn=96,cluster=n2", 130, 256, 96, 1, TJ_E4M3, TJ_E4M3, TJ_E4M3, 0, BY_ROW(1, 128), BY_ROW(128, 128)},
    {"wgmma:bm=64,bn=64,pingpong=yes", 130, 256, 144, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, 0, BY_ROW(1, 128), BY_PART(1, 256)},
    {"wgmma:bm=64,bn=48,splits=2", 70, 512, 96, 3, TJ_E4M3, TJ_E4M3, TJ_BF16, 0, BY_ROW(1, 128), BY_ROW(128, 128)},
    {"wgmma:bm=64,bn=48", 70, 256, 96, 3, TJ_E4M3, TJ_E4M3, TJ_BF16, 0, BY_ROW(1, 128), BY_ROW(0, 128)},
    {"wgmma:bm=64,bn=48,splits=2,pack=both", 70, 500, 96, 3, TJ_E4M3, TJ_E4M3, TJ_BF16, 0, BY_ROW(1, 128), BY_ROW(128, 128)},
    {"wgmma:bm=64,bn=48,pack=both", 70, 250, 96, 3, TJ_E4M3, TJ_E4M3, TJ_BF16, 0, BY_ROW(1, 128), BY_ROW(128, 128)},
    {"wgmma:bm=64,bn=48", 130, 256, 96, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, 3, BY_ROW(1, 128), BY_ROW(128, 128)},
    {"wgmma:bm=256,bn=128,cluster=m2", 260, 1168, 272, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, 0, BY_ROW(1, 128), BY_ROW(128, 128)},
    {"wgmma:bm=64,bn=32,stages=3", 130, 848, 96, 2, TJ_E4M3, TJ_E4M3, TJ_BF16, 0, BY_PART(1, 64), BY_ROW(1, 64)},
    {"wgmma:swap=yes,bn=8", 5, 400, 200, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, 0, BY_ROW(1, 128), BY_ROW(128, 128)},
    {"wgmma:swap=yes,bn=24,cluster=k2", 20, 1024, 136, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, 0, BY_ROW(1, 128), BY_ROW(1, 128)},
    {"wgmma:bm=64,bn=32", 70, 336, 96, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, 0, MX(TJ_SCALES_ROW_BY_ROW), MX(TJ_SCALES_PART_BY_PART)},
    {"wgmma:bm=128,bn=64", 140, 288, 144, 2, TJ_E5M2, TJ_E4M3, TJ_BF16, 0, MX(TJ_SCALES_IN_TILES), MX(TJ_SCALES_IN_TILES)},
    {"wgmma:bm=64,bn=32", 70, 256, 96, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, 0, SCALES_OF(TJ_F16, TJ_SCALES_ROW_BY_ROW, 16, 64),
     SCALES_OF(TJ_BF16, TJ_SCALES_PART_BY_PART, 40, 128)},
    {"wgmma:bm=64,bn=32", 70, 256, 96, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, 0, BY_PART(1, 128), TJ_SCALE_INIT(TJ_F32, 1, 0)},
    {"wgmma:bm=64,bn=32", 70, 256, 96, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, 0, TJ_SCALE_INIT(TJ_F32, 0, 0), BY_PART(1, 128)},
};

Test(scaled_fp8, parts_are_multiplied_by_their_scales)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && has_nvrtc(); i++) {
        const struct row *const row = &rows[i];
        tj_problem problem = TJ_PROBLEM_INIT(row->j, row->k, row->l, row->m);
        tj_workbench_options options = TJ_WORKBENCH_INIT;

        options.guard_bytes = 256;
        problem.n.type = (int16_t)row->n;
        problem.p.type = (int16_t)row->p;
        problem.n.layout = TJ_COL_MAJOR;
        problem.batch = row->batch;
        problem.compute = TJ_COMPUTE_F32_FP8;
        problem.rows = rows_in_groups(row->groups);
        problem.scale[TJ_MATRIX_M] = row->scale_m;
        problem.scale[TJ_MATRIX_N] = row->scale_n;
        expect_right_product(&problem, row->config, &options, row->config);
    }
}

Test(scaled_fp8, scales_that_wgmma_does_not_take_are_refused_in_words)
{
    static const struct {
        const char *config, *message;
        tj_scale scale_m, scale_n;
        int32_t n_layout;
    } row[] = {
        {"wgmma", "family wgmma does not multiply by the scales of this problem", BY_ROW(1, 96), BY_ROW(1, 96), TJ_COL_MAJOR},
        {"wgmma:bn=128,transpose=n", "leaves no warp that brings the scales along k", BY_ROW(1, 128), BY_ROW(128, 128), 0},
        {"wgmma:bm=256,bn=128", "a thread 224 registers, and block tiles of 256 x 128 take", BY_ROW(1, 128), BY_ROW(1, 128),
         TJ_COL_MAJOR},
    };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(256, 384, 256, TJ_E4M3);
        tj_config config = TJ_CONFIG_INIT;

        problem.n.layout = (int8_t)row[i].n_layout;
        problem.compute = TJ_COMPUTE_F32_FP8;
        problem.scale[TJ_MATRIX_M] = row[i].scale_m;
        problem.scale[TJ_MATRIX_N] = row[i].scale_n;
        cr_assert(eq(int, tj_config_parse(row[i].config, &config, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT), "%s", row[i].config);
        cr_expect(says(row[i].message), "%s", err.message);
    }
}

/* Parts of one product each, for the rows of three warps of a thread, in a phase that is the only one (docs/compilers.md). */
Test(scaled_fp8, products_are_not_dropped)
{
    tj_problem problem = TJ_PROBLEM_INIT(200, 48, 16, TJ_E4M3);
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    tj_image *image = NULL;
    const void *cubin;
    size_t bytes;

    if (!has_nvrtc())
        return;
    problem.n.layout = TJ_COL_MAJOR;
    problem.compute = TJ_COMPUTE_F32_FP8;
    problem.scale[TJ_MATRIX_M] = (tj_scale)BY_ROW(1, 32);
    cr_assert(eq(int, tj_config_parse("wgmma:swap=yes,bm=192,bn=8,multipliers=1", &config, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_compile(context, source, "sm_90a", &image, &err), TJ_OK), "%s", err.message);
    cubin = tj_image_cubin(image, &bytes);
    cr_assert(ne(ptr, (void *)cubin, NULL));
    cr_expect(eq(int, tj_cubin_drops_products(cubin, bytes), 0));
    tj_image_free(image);
    tj_source_free(source);
}

/* ptxas serialises products whose accumulators it finds in use at the ends of a loop: the library then refuses the kernel. */
Test(scaled_fp8, products_are_not_serialized)
{
    static const struct {
        const char *config;
        int64_t j, k, l;
        int32_t groups, n_layout, scale_k;
    } row[] = {
        {"wgmma:cluster=n4,bm=192,bn=64,multipliers=3,splits=8,pack=both", 8, 88, 48, 0, TJ_ROW_MAJOR, 0},
        {"wgmma:swap=yes,cluster=m4,bm=128,bn=16,multipliers=2,splits=8,stages=3,pack=both", 2, 23, 16, 0, TJ_COL_MAJOR, 0},
        {"wgmma:swap=yes,cluster=n2,bm=64,bn=80,multipliers=1,splits=12,stages=4,pack=both", 8, 2000, 240, 0, TJ_COL_MAJOR, 0},
        {"wgmma:cluster=k2,bm=64,bn=80,multipliers=1,stages=3", 130, 4096, 24, 0, TJ_COL_MAJOR, 0},
        {"wgmma:bm=128,bn=128", 1258, 640, 144, 4, TJ_COL_MAJOR, 0},
        {"wgmma:swap=yes,bm=128,bn=80,multipliers=2,stages=4", 128, 128, 112, 0, TJ_COL_MAJOR, 0},
        {"wgmma:bm=128,bn=192,multipliers=2", 2048, 2048, 2112, 0, TJ_COL_MAJOR, 128},
        {"wgmma:swap=yes,bn=16", 16, 2048, 2048, 0, TJ_COL_MAJOR, 128},
    };

    for (size_t i = 0; i < sizeof row / sizeof row[0] && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(row[i].j, row[i].k, row[i].l, TJ_E4M3);
        tj_config config = TJ_CONFIG_INIT;
        tj_source *source = NULL;
        tj_image *image = NULL;

        problem.n.layout = (int8_t)row[i].n_layout;
        problem.p.type = TJ_BF16;
        problem.compute = TJ_COMPUTE_F32_FP8;
        problem.rows = rows_in_groups(row[i].groups);
        if (row[i].scale_k > 0) {
            problem.scale[TJ_MATRIX_M] = (tj_scale)BY_ROW(1, row[i].scale_k);
            problem.scale[TJ_MATRIX_N] = (tj_scale)BY_ROW(128, row[i].scale_k);
        }
        cr_assert(eq(int, tj_config_parse(row[i].config, &config, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s: %s", row[i].config, err.message);
        cr_assert(eq(int, tj_compile(context, source, "sm_90a", &image, &err), TJ_OK), "%s: %s", row[i].config, err.message);
        cr_expect(tj_image_log(image) && !strstr(tj_image_log(image), "serialized"), "%s: %s", row[i].config,
                  tj_image_log(image));
        tj_image_free(image);
        tj_source_free(source);
    }
}
