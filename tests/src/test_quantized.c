/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * A P whose scales the kernel finds: right products of every family, by the kernel that multiplies and by one after it; the same
 * bits as the reference where sums are exact; scales that are written where they belong, and nowhere else.
 */
#include <math.h>

#include "product_test.h"
#include "scales.h"

TestSuite(quantized, .fini = stop, .timeout = 300);

/* Launch between guards, with an alpha where there is one; P is checked with its scales. config NULL: the library chooses. */
static void expect_right_scales(const tj_problem *problem, const char *config)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;

    options.alpha = 1.5;
    options.guard_bytes = 256;
    expect_right_product(problem, config, &options, config ? config : "the library's choice");
}

#define E8M0_BLOCKS(layout_, k_) SCALES_OF(TJ_E8M0, layout_, 1, k_)

/* fused: does the kernel that multiplies quantise, too? */
static const struct row {
    const char *config, *epilogue;
    int64_t j, k, l, batch;
    int32_t type, p, layout_n, groups;
    bool fused;
    tj_scale scale;
    bool is_masked;
} rows[] = {
    {"naive", NULL, 21, 35, 70, 1, TJ_BF16, TJ_E4M3, 0, 0, false, BY_ROW(1, 32)},
    {"tiled", NULL, 21, 35, 70, 3, TJ_BF16, TJ_E5M2, 0, 0, false, TJ_SCALE_INIT(TJ_F32, 1, 32)},
    {"tiled:shared=dynamic", "alpha * acc", 21, 35, 70, 1, TJ_F32, TJ_S8, 0, 0, false, SCALE_EACH},
    {"tiled", "silu(acc[2*col] + bias[col]) * acc[2*col+1]", 21, 35, 140, 1, TJ_F16, TJ_E4M3, 0, 0, false, BY_ROW(1, 64)},
    {"tiled", "peak[row] = max(abs(acc)); acc", 21, 35, 70, 1, TJ_F16, TJ_E4M3, 0, 0, false, BY_ROW(1, 64)},
    {"tiled", NULL, 50, 16, 40, 1, TJ_F16, TJ_E4M3, 0, 3, false, E8M0_BLOCKS(TJ_SCALES_PART_BY_PART, 32)},
    {"tiled", NULL, 51, 16, 40, 1, TJ_F16, TJ_E4M3, 0, 3, false, BY_ROW(1, 32), .is_masked = true},
    {"tiled", NULL, 21, 35, 70, 3, TJ_BF16, TJ_E2M1, 0, 0, false, E8M0_BLOCKS(TJ_SCALES_ROW_BY_ROW, 32)},
    {"naive", NULL, 50, 16, 40, 1, TJ_F16, TJ_E2M1, 0, 3, false, E8M0_BLOCKS(TJ_SCALES_IN_TILES, 32)},
    {"mma:bm=32,bn=64,wm=16,wn=32,slices=1", "silu(acc[2*col]) * acc[2*col+1]", 70, 64, 320, 1, TJ_BF16, TJ_E2M1, 0, 0, false,
     BY_ROW(1, 32)},
    {"mma:bm=32,bn=64,wm=16,wn=32,slices=1,splits=2", NULL, 70, 128, 300, 2, TJ_BF16, TJ_E2M1, 0, 0, false, BY_ROW(1, 32)},
    {"planes", NULL, 64, 64, 96, 1, TJ_F32, TJ_E2M1, 0, 0, false, BY_ROW(1, 64)},
    {"mma:bm=32,bn=64,wm=16,wn=32,slices=1", NULL, 70, 64, 300, 2, TJ_BF16, TJ_E2M1, 0, 0, true,
     E8M0_BLOCKS(TJ_SCALES_ROW_BY_ROW, 32)},
    {"mma:bm=32,bn=64,wm=16,wn=64,slices=1", "relu(acc)", 70, 64, 300, 1, TJ_E4M3, TJ_E2M1, 0, 3, true, BY_ROW(1, 64)},
    {"wgmma:bn=128", NULL, 70, 64, 320, 2, TJ_BF16, TJ_E2M1, 1, 0, true, E8M0_BLOCKS(TJ_SCALES_IN_TILES, 32)},
    {"wgmma:bn=64,pingpong=yes", "acc + bias[col]", 150, 64, 200, 1, TJ_F16, TJ_E2M1, 0, 0, true, BY_ROW(1, 64)},
    {"wgmma:bn=128", NULL, 70, 64, 200, 1, TJ_BF16, TJ_E2M1, 1, 0, false, SCALE_EACH},
    {"naive", NULL, 140, 16, 170, 2, TJ_S8, TJ_E4M3, 0, 0, false, E8M0_BLOCKS(TJ_SCALES_IN_TILES, 32)},
    {"simt:copy=registers,bm=32,bn=32,bk=8,tm=4,tn=4,splits=2", NULL, 33, 64, 70, 2, TJ_F32, TJ_E4M3, 0, 0, false,
     BY_ROW(1, 64)},
    {"skinny:stream=m", NULL, 70, 64, 5, 1, TJ_F16, TJ_E4M3, 0, 0, false, SCALE_EACH},
    {"strip", NULL, 70, 64, 5, 1, TJ_F16, TJ_S8, 0, 0, false, E8M0_BLOCKS(TJ_SCALES_ROW_BY_ROW, 64)},
    {"small_batch:copy=registers", NULL, 12, 16, 40, 5, TJ_F32, TJ_E4M3, 0, 0, false, BY_ROW(1, 32)},
    {"planes", NULL, 64, 64, 96, 1, TJ_F32, TJ_E4M3, 0, 0, false, BY_ROW(1, 64)},
    {"mma:bm=32,bn=32,wm=16,wn=16,splits=2", NULL, 40, 128, 70, 1, TJ_BF16, TJ_E4M3, 0, 0, false, BY_ROW(1, 32)},
    {"mma:bm=32,bn=64,wm=16,wn=32,slices=1", "alpha * acc", 70, 64, 300, 2, TJ_BF16, TJ_E4M3, 0, 0, true,
     E8M0_BLOCKS(TJ_SCALES_IN_TILES, 32)},
    {"mma:bm=32,bn=128,wm=16,wn=64,slices=1", "silu(acc[2*col] + bias[col]) * acc[2*col+1]", 70, 64, 320, 1, TJ_F16, TJ_S8, 0,
     0, true, BY_ROW(1, 32)},
    {"mma:bm=32,bn=64,wm=16,wn=64,slices=1", NULL, 70, 64, 320, 1, TJ_E4M3, TJ_E5M2, 0, 3, true, BY_ROW(1, 64)},
    {"wgmma:bn=64,swap=yes", NULL, 70, 64, 64, 1, TJ_BF16, TJ_E4M3, 1, 0, false, BY_ROW(1, 32)},
    {"wgmma:bn=64", NULL, 70, 64, 80, 1, TJ_S8, TJ_S8, 1, 0, false, BY_ROW(1, 32)},
    {"wgmma:bn=128", NULL, 128, 64, 256, 1, TJ_BF16, TJ_E4M3, 0, 0, true, BY_ROW(1, 128)},
    {"wgmma:bn=128,store=lines", "alpha * acc", 70, 64, 200, 2, TJ_BF16, TJ_E5M2, 1, 0, true,
     E8M0_BLOCKS(TJ_SCALES_PART_BY_PART, 32)},
    {"wgmma:bm=64,bn=128,pingpong=yes", "other[row, col] = acc; acc * gain[row]", 70, 64, 200, 1, TJ_F16, TJ_S8, 0, 0, true,
     E8M0_BLOCKS(TJ_SCALES_IN_TILES, 32)},
    {"wgmma:bn=256", "silu(acc[2*col] + bias[col]) * acc[2*col+1]", 70, 64, 520, 1, TJ_BF16, TJ_E4M3, 0, 0, true,
     BY_ROW(1, 128)},
    {"wgmma:bn=128", "acc[2*col] * acc[2*col+1]", 70, 64, 576, 2, TJ_F16, TJ_S8, 0, 0, true,
     E8M0_BLOCKS(TJ_SCALES_ROW_BY_ROW, 32)},
    {"wgmma:bn=256", "silu(acc[2*col]) * acc[2*col+1]", 70, 256, 512, 1, TJ_E4M3, TJ_E4M3, 1, 0, true, BY_ROW(1, 128)},
    {"wgmma:bn=64", NULL, 150, 64, 128, 1, TJ_BF16, TJ_E4M3, 1, 4, true, BY_ROW(1, 64)},
    {"wgmma:bn=64", NULL, 152, 64, 128, 1, TJ_BF16, TJ_E4M3, 1, 4, true, BY_ROW(1, 64), .is_masked = true},
    {"wgmma:bn=128,cluster=k2", NULL, 70, 128, 128, 1, TJ_BF16, TJ_E4M3, 1, 0, true, TJ_SCALE_INIT(TJ_F32, 1, 128)},
};

static tj_problem problem_of(const struct row *row)
{
    tj_problem problem = TJ_PROBLEM_INIT(row->j, row->k, row->l, row->type);

    problem.p.type = row->p;
    problem.n.layout = (int8_t)row->layout_n;
    problem.batch = row->batch;
    problem.scale[TJ_MATRIX_P] = row->scale;
    problem.scale[TJ_MATRIX_M] = nth_scale(row->j % 3);
    problem.scale[TJ_MATRIX_N] = nth_scale(row->l % 3);
    if (row->groups)
        problem.rows = (tj_rows){.kind = row->is_masked ? TJ_ROWS_MASKED : TJ_ROWS_IN_GROUPS, .groups = row->groups};
    if (row->type == TJ_E4M3 && row->config[0] == 'w')
        problem.compute = TJ_COMPUTE_F32_FP8;
    if (strncmp(row->config, "planes", 6) == 0)
        problem.compute = TJ_COMPUTE_F32_SPLIT;
    if (row->epilogue)
        cr_assert(eq(int, tj_epilogue_parse(row->epilogue, &problem.epilogue, &err), TJ_OK), "%s", err.message);
    return problem;
}

Test(quantized, products_of_every_family_are_right)
{
    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = problem_of(&rows[i]);

        expect_right_scales(&problem, rows[i].config);
    }
}

/* The stride of a batch follows from a leading dimension that the launch brings. */
Test(quantized, products_of_a_batch_follow_an_open_leading_dimension)
{
    tj_problem problem = TJ_PROBLEM_INIT(20, 16, 40, TJ_F16);

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    problem.p = (tj_matrix){.type = TJ_E4M3, .ld = TJ_ANY};
    problem.scale[TJ_MATRIX_P] = (tj_scale)BY_ROW(1, 32);
    problem.batch = 3;
    expect_right_scales(&problem, "tiled");
    expect_right_scales(&problem, "mma:bm=32,bn=64,wm=16,wn=32,slices=1");
}

/* Where tiles have whole blocks, no kernel and no workspace is added. */
Test(quantized, tiles_that_have_whole_blocks_need_no_second_kernel)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = problem_of(&rows[i]);
        tj_config config = TJ_CONFIG_INIT;
        tj_source *source = NULL;

        cr_assert(eq(int, tj_config_parse(rows[i].config, &config, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s: %s", rows[i].config, err.message);
        cr_expect(eq(int, strstr(tj_source_text(source), "\nquantize_") == NULL, rows[i].fused), "%s", rows[i].config);
        tj_source_free(source);
    }
}

Test(quantized, products_are_chosen_a_config_and_proven)
{
    open_context("sm_90", TJ_PROVE_BEFORE);
    if (!has_nvrtc())
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i += 3) {
        const tj_problem problem = problem_of(&rows[i]);

        expect_right_scales(&problem, NULL);
    }
}

/* ---- bits --------------------------------------------------------------------------------------------------------- */

enum { J = 16, L = 96, K = 8, PAD = 3 };

/*
 * The outer product of a column and a row, which every kernel computes exactly, though k is 8. Both types hold the numbers; of the
 * column: powers of two up to both ends of f32, zero, infinity and NaN.
 */
static void fill(tj_type type, void *m, void *n)
{
    static const float column[J] = {1,        -2,  0,    0x1p-100f, 0x1p-126f, 0x1p-133f, 0x1p100f, 0x1p120f,
                                    INFINITY, NAN, 0.5f, 3,         448,       127,       57344,    -0.0f};
    float m_all[J * K] = {0}, n_all[K * L] = {0};

    for (int row = 0; row < J; row++)
        m_all[row * K] = column[row];
    for (int col = 0; col < L; col++)
        n_all[col] = (float)(col % 61 + 1) * (col % 2 ? -0.25f : 1);
    for (int col = 64; col < L; col++) /* a block of ties of e4m3 and s8, times its largest number */
        n_all[col] = col == 64 ? 1 : (float)(2 * (col - 64) + 1) / 128;
    tj_convert(type, m, TJ_F32, m_all, J * K);
    tj_convert(type, n, TJ_F32, n_all, K * L);
}

static void *on_device(const void *host, size_t bytes, tj_buffer **buffer)
{
    cr_assert(eq(int, tj_buffer_create(context, bytes, buffer, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_write(*buffer, 0, host, bytes, &err), TJ_OK), "%s", err.message);
    return tj_buffer_address(*buffer);
}

/* P and its scales, with padding that keeps what was there, are those of the reference to the last bit. */
static void expect_same_bits(tj_type type, tj_type p_type, tj_scale scale, const char *config)
{
    enum { SCALES = 4096 };
    static float m[J * K], n[K * L];
    uint8_t p[J * L], right[J * L];
    static uint8_t scales[SCALES], right_scales[SCALES];
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, type);
    const int64_t parts = scale.k > 0 ? (L + scale.k - 1) / scale.k : 1;
    const int64_t ld = scale.layout == TJ_SCALES_ROW_BY_ROW ? parts + PAD : scale.layout == TJ_SCALES_IN_TILES ? 512 : J + PAD;
    tj_host_operands host = TJ_HOST_OPERANDS(m, n);
    tj_operands x = TJ_OPERANDS_INIT;
    tj_buffer *buffer[4];

    problem.p.type = p_type;
    problem.scale[TJ_MATRIX_P] = scale;
    fill(type, m, n);
    memset(p, 0xee, sizeof p);
    memset(right, 0xee, sizeof right);
    memset(scales, 0xee, sizeof scales);
    memset(right_scales, 0xee, sizeof right_scales);
    host.scale[TJ_MATRIX_P] = (tj_host_operand){right_scales, scale.k > 0 ? ld : 0, 0};
    cr_assert(eq(int, tj_reference_product(&problem, &host, right, 1, &err), TJ_OK), "%s", err.message);
    x.m.address = on_device(m, J * K * tj_type_bytes(type), &buffer[0]);
    x.n.address = on_device(n, K * L * tj_type_bytes(type), &buffer[1]);
    x.p.address = on_device(p, sizeof p, &buffer[2]);
    x.scale[TJ_MATRIX_P] = (tj_operand){on_device(scales, sizeof scales, &buffer[3]), scale.k > 0 ? ld : 0, 0};
    cr_assert(eq(int, tj_plan_launch(prepare(&problem, config, config), &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_read(buffer[2], 0, p, sizeof p, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_read(buffer[3], 0, scales, sizeof scales, &err), TJ_OK), "%s", err.message);
    for (size_t i = 0; i < sizeof p; i++) {
        float is, should;

        tj_convert(TJ_F32, &is, p_type, &p[i], 1);
        tj_convert(TJ_F32, &should, p_type, &right[i], 1);

        const bool is_same = p[i] == right[i] || (isnan(is) && isnan(should));

        cr_expect(is_same, "%s, %s of %d: row %zu, column %zu is %g, not %g", config, tj_type_name(p_type), scale.k, i / L,
                  i % L, is, should);
    }
    for (size_t i = 0; i < sizeof scales; i += tj_type_bytes((tj_type)scale.type)) {
        float is = 0, should = 0;

        if (scale.type == TJ_F32) {
            memcpy(&is, &scales[i], sizeof is);
            memcpy(&should, &right_scales[i], sizeof should);
        }

        const bool is_same =
            (isnan(is) && isnan(should)) || memcmp(&scales[i], &right_scales[i], tj_type_bytes((tj_type)scale.type)) == 0;

        cr_expect(is_same, "%s, %s of %d: the scale at byte %zu is %g, not %g", config, tj_type_name(p_type), scale.k, i, is,
                  should);
    }
    for (int i = 0; i < 4; i++)
        tj_buffer_free(buffer[i]);
}

Test(quantized, values_are_rounded_as_the_reference_rounds_them)
{
    static const tj_type types[] = {TJ_E4M3, TJ_E5M2, TJ_S8, TJ_E2M1};
    static const tj_scale scales[] = {BY_ROW(1, 32), E8M0_BLOCKS(TJ_SCALES_PART_BY_PART, 32),
                                      E8M0_BLOCKS(TJ_SCALES_IN_TILES, 32)};

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    for (size_t type = 0; type < 3; type++)
        for (size_t i = 0; i < 3; i++) {
            expect_same_bits(TJ_F32, types[type], scales[i], "naive");
            expect_same_bits(TJ_BF16, types[type], scales[i], "wgmma:bm=64,bn=32");
        }
    expect_same_bits(TJ_F32, TJ_E4M3, (tj_scale)SCALE_EACH, "tiled");
}

/* More products than grid.z counts take several launches, which share the workspace; small_batch has one launch for all. */
Test(quantized, products_of_a_large_batch_are_right)
{
    tj_problem problem = TJ_PROBLEM_INIT(2, 1, 2, TJ_F32);
    tj_config config = TJ_CONFIG_INIT;

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    problem.p.type = TJ_S8;
    problem.batch = 66000;
    problem.scale[TJ_MATRIX_P] = (tj_scale)SCALE_EACH;
    expect_right_scales(&problem, NULL);
    cr_assert(eq(int, tj_config_parse("small_batch", &config, &err), TJ_OK));
    cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("quantises 65535 of the 66000 products: use another family"), "%s", err.message);
}

/* A P that begins at an odd byte goes to another kernel, with the same bits. */
Test(quantized, p_may_lie_anywhere)
{
    enum { ROWS = 64, COLS = 256, SUMS = 64 };
    static float numbers[SUMS * COLS];
    static uint16_t m[ROWS * SUMS], n[SUMS * COLS];
    static uint8_t p[2][ROWS * COLS + 1], scales[2][ROWS * COLS / 128 * sizeof(float)];
    tj_problem problem = TJ_PROBLEM_INIT(ROWS, SUMS, COLS, TJ_BF16);
    tj_operands x = TJ_OPERANDS_INIT;
    tj_buffer *buffer[4];

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    for (int i = 0; i < SUMS * COLS; i++)
        numbers[i] = (float)(i * 7 % 11 - 5); /* whole ones, so that every order of summation is exact */
    tj_convert(TJ_BF16, m, TJ_F32, numbers, ROWS * SUMS);
    tj_convert(TJ_BF16, n, TJ_F32, numbers, SUMS * COLS);
    problem.p.type = TJ_E4M3;
    problem.scale[TJ_MATRIX_P] = (tj_scale)BY_ROW(1, 128);
    x.m.address = on_device(m, sizeof m, &buffer[0]);
    x.n.address = on_device(n, sizeof n, &buffer[1]);
    for (int is_odd = 0; is_odd < 2; is_odd++) {
        x.p.address = (char *)on_device(p[is_odd], sizeof p[is_odd], &buffer[2]) + is_odd;
        x.scale[TJ_MATRIX_P].address = on_device(scales[is_odd], sizeof scales[is_odd], &buffer[3]);
        cr_assert(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_buffer_read(buffer[2], 0, p[is_odd], sizeof p[is_odd], &err), TJ_OK));
        cr_assert(eq(int, tj_buffer_read(buffer[3], 0, scales[is_odd], sizeof scales[is_odd], &err), TJ_OK));
        tj_buffer_free(buffer[2]);
        tj_buffer_free(buffer[3]);
    }
    cr_expect(eq(int, memcmp(p[0], p[1] + 1, ROWS * COLS), 0));
    cr_expect(eq(int, memcmp(scales[0], scales[1], sizeof scales[0]), 0));
    tj_buffer_free(buffer[0]);
    tj_buffer_free(buffer[1]);
}

/* The reference's own product passes; one with a wrong element, or a wrong scale, does not. */
Test(quantized, wrong_elements_and_scales_are_found)
{
    static float m[J * K], n[K * L], scales[J * 3];
    static uint8_t p[J * L];
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F32);
    tj_host_operands host = TJ_HOST_OPERANDS(m, n);
    tj_check_report report = TJ_CHECK_REPORT_INIT;

    tj_fill_random(TJ_F32, m, J * K, 1);
    tj_fill_random(TJ_F32, n, K * L, 2);
    problem.p.type = TJ_E4M3;
    problem.scale[TJ_MATRIX_P] = (tj_scale)BY_ROW(1, 32);
    cr_expect(eq(int, tj_reference_product(&problem, &host, p, 1, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("scale_p is NULL"), "%s", err.message);
    host.scale[TJ_MATRIX_P].address = scales;
    cr_assert(eq(int, tj_reference_product(&problem, &host, p, 1, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_reference_check(&problem, &host, p, 0, 1, &report, &err), TJ_OK), "%s", err.message);
    cr_expect(report.passed && report.max_ratio <= 1, "%s", report.reason);
    p[5 * L + 40] += 2;
    cr_assert(eq(int, tj_reference_check(&problem, &host, p, 0, 1, &report, &err), TJ_OK));
    cr_expect(eq(int, report.passed, 0));
    cr_expect(report.worst_row == 5 && report.worst_col == 40, "%s", report.reason);
    p[5 * L + 40] -= 2;
    for (int i = 0; i < 32; i++)
        p[7 * L + 32 + i] = p[8 * L + 32 + i];
    scales[7 * 3 + 1] = scales[8 * 3 + 1];
    cr_assert(eq(int, tj_reference_check(&problem, &host, p, 0, 1, &report, &err), TJ_OK));
    cr_expect(eq(int, report.passed, 0), "another row's block");
    cr_assert(eq(int, tj_reference_product(&problem, &host, p, 1, &err), TJ_OK));
    scales[7 * 3 + 1] *= 2; /* e4m3 of half the size, times twice the scale: elements are right, the scale is not */
    for (int i = 0; i < 32; i++) {
        float half;

        tj_convert(TJ_F32, &half, TJ_E4M3, &p[7 * L + 32 + i], 1);
        half /= 2;
        tj_convert(TJ_E4M3, &p[7 * L + 32 + i], TJ_F32, &half, 1);
    }
    cr_assert(eq(int, tj_reference_check(&problem, &host, p, 0, 1, &report, &err), TJ_OK));
    cr_expect(ne(ptr, strstr(report.reason, "the scale of row 7 from column 32 on, product 0, is"), NULL), "%s", report.reason);
}

/* A launch wants memory for the scales that overlaps nothing. */
Test(quantized, scales_want_memory_of_their_own)
{
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F32);
    static float m[J * K], n[K * L];
    tj_buffer *buffer[3];
    tj_operands x = TJ_OPERANDS_INIT;
    const tj_plan *plan;

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    problem.p.type = TJ_E4M3;
    problem.scale[TJ_MATRIX_P] = (tj_scale)BY_ROW(1, 32);
    plan = prepare(&problem, "tiled", "tiled");
    x.m.address = on_device(m, sizeof m, &buffer[0]);
    x.n.address = on_device(n, sizeof n, &buffer[1]);
    x.p.address = on_device(n, J * L, &buffer[2]);
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("scale_p is NULL: give the device address of the scales of P"), "%s", err.message);
    x.scale[TJ_MATRIX_P].address = (char *)x.n.address + 64;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("the scales of P at 0x"), "%s", err.message);
    x.scale[TJ_MATRIX_P].address = (char *)x.p.address + 64;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("overlap"), "%s", err.message);
    x.scale[TJ_MATRIX_P] = (tj_operand){x.m.address, 2, 0};
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("scale_p.ld is 2, and a stored row of the scales of P has 3 elements"), "%s", err.message);
    for (int i = 0; i < 3; i++)
        tj_buffer_free(buffer[i]);
}
