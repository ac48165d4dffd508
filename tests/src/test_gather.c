/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Rows of M gathered by an index, and rows scattered to P: which problems and configs may have them, and what a launch refuses.
 * Only the kernel reads an index, and it must not read outside of M, whatever the index holds: M lies in a buffer of its own
 * size, and the emulator stops an access after its end.
 */
#include <limits.h>

#include "product_test.h"
#include "scales.h"

enum { J = 70, K = 24, L = 32, M_ROWS = 9, P_ROWS = 77, GROUPS = 3 };

static tj_problem gathered(void)
{
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F16);

    problem.rows.gathered = 1;
    return problem;
}

static void start(void)
{
    open_context("sm_90", TJ_PROVE_NEVER);
}

TestSuite(gather, .init = start, .fini = stop);

Test(gather, refuses_problems_that_cannot_be)
{
    const struct {
        int16_t gathered, layout_m;
        int64_t batch, stride_m;
        tj_scale scale_m;
        const char *says;
    } rows[] = {
        {2, 0, 0, 0, {0}, "rows.gathered is 2: use 0 or 1"},
        {1, 1, 0, 0, {0}, "M is column-major, and rows of M are gathered"},
        {1, 0, 3, 0, {0}, "batch is 3, and an index of rows is for one product"},
        {1, 0, 0, TJ_POINTERS, {0}, "a problem with groups or an index has one M"},
        {1, 0, 0, 0, TJ_SCALE_INIT(TJ_F32, 128, 0), "the scales of M are for 128 rows each"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = gathered();

        problem.rows.gathered = rows[i].gathered;
        problem.m.layout = rows[i].layout_m;
        problem.m.stride = rows[i].stride_m;
        problem.batch = rows[i].batch;
        problem.scale[TJ_MATRIX_M] = rows[i].scale_m;
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT), "row %zu", i);
        expect_said(rows[i].says);
    }
}

Test(gather, scatters_to_a_p_of_rows_without_scales)
{
    tj_problem problem = gathered();

    problem.rows.scattered = 2;
    cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("rows.scattered is 2: use 0 or 1");
    problem.rows = (tj_rows){.scattered = 1};
    problem.p.layout = TJ_COL_MAJOR;
    cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("P is column-major, and rows are scattered to P");
    problem.p.layout = TJ_ROW_MAJOR;
    problem.m.layout = TJ_COL_MAJOR;
    cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_OK), "%s", err.message);
    problem.epilogue.has_beta = 1;
    cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("leave out beta");
}

Test(gather, refuses_configs_that_do_not_take_it)
{
    static const struct {
        const char *config, *says;
    } rows[] = {
        {"simt", "family simt does not gather rows of M"},     {"mma:splits=2", "rows of M are gathered"},
        {"mma:pack=both", "does not copy gathered rows"},      {"wgmma:swap=yes", "the rows that are gathered are those of M"},
        {"wgmma:cluster=n2", "gathered rows is not for them"},
    };
    const tj_problem problem = gathered();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = TJ_CONFIG_INIT;

        cr_assert(eq(int, tj_config_parse(rows[i].config, &config, &err), TJ_OK));
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].config);
        expect_said(rows[i].says);
    }
}

/* ---- launches ----------------------------------------------------------------------------------------------------- */

static tj_buffer *put(const void *host, size_t bytes)
{
    tj_buffer *buffer = NULL;

    cr_assert(eq(int, tj_buffer_create(context, bytes, &buffer, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_write(buffer, 0, host, bytes, &err), TJ_OK), "%s", err.message);
    return buffer;
}

/* An M of fewer rows than the product has, whose index leads outside of it here and there, is multiplied as the reference does. */
static void multiply(tj_problem problem, const char *text)
{
    static const int32_t strange[] = {-1, INT32_MIN, INT32_MAX, M_ROWS};
    static uint16_t m[M_ROWS * K], n[GROUPS * K * L], p[P_ROWS * L];
    static float scale[M_ROWS];
    static const int32_t offsets[GROUPS + 1] = {0, 20, 20, J};
    int32_t index[J], to[J];
    tj_config config = TJ_CONFIG_INIT;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_host_operands host = TJ_HOST_OPERANDS(m, n);
    tj_operands x = TJ_OPERANDS_INIT;
    tj_buffer *buffer[7];
    const tj_plan *plan = NULL;

    for (int i = 0; i < J; i++)
        to[i] = i % 13 == 6 ? (i % 2 ? -1 - i : P_ROWS + i) : i * 3 % P_ROWS;
    for (int i = 0; i < J; i++)
        index[i] = i % 11 == 5 ? strange[i / 11 % 4] : i * 7 % M_ROWS;
    for (int i = 0; i < M_ROWS * K; i++)
        m[i] = (uint16_t)(0x3800 + i * 37 % 1024); /* 0.5 to 1 */
    for (int i = 0; i < GROUPS * K * L; i++)
        n[i] = (uint16_t)(0x3800 + i * 53 % 1024);
    for (int i = 0; i < M_ROWS; i++)
        scale[i] = 0.5F + (float)i;
    memset(p, 0xff, sizeof p);
    buffer[0] = put(m, sizeof m);
    buffer[1] = put(n, sizeof n);
    buffer[2] = put(p, sizeof p);
    buffer[3] = put(index, sizeof index);
    buffer[4] = put(scale, sizeof scale);
    buffer[5] = put(offsets, sizeof offsets);
    buffer[6] = put(to, sizeof to);
    x.m.address = tj_buffer_address(buffer[0]);
    x.n.address = tj_buffer_address(buffer[1]);
    x.p.address = tj_buffer_address(buffer[2]);
    x.m_index = tj_buffer_address(buffer[3]);
    x.scale[TJ_MATRIX_M].address = tj_buffer_address(buffer[4]);
    x.offsets = tj_buffer_address(buffer[5]);
    x.j = J;
    x.m_rows = host.m_rows = M_ROWS;
    host.m_index = index;
    x.p_index = tj_buffer_address(buffer[6]);
    host.p_index = to;
    x.p_rows = host.p_rows = P_ROWS;
    host.offsets = offsets;
    host.scale[TJ_MATRIX_M].address = scale;
    cr_assert(eq(int, tj_config_parse(text, &config, &err), TJ_OK));
    cr_assert(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_OK), "%s: %s", text, err.message);
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s: %s", text, err.message);
    cr_expect(eq(int, tj_buffer_read(buffer[2], 0, p, sizeof p, &err), TJ_OK), "%s: %s", text, err.message);
    problem.j.mode = TJ_DIM_FIXED;
    cr_expect(eq(int, tj_reference_check(&problem, &host, p, 0, 1, &report, &err), TJ_OK), "%s: %s", text, err.message);
    cr_expect(report.passed, "%s: %s", text, report.reason);
    for (int row = 0; row < P_ROWS && problem.rows.scattered; row++) {
        bool is_stored = false;

        for (int i = 0; i < J; i++)
            is_stored |= to[i] == row;
        cr_expect(is_stored || p[row * L] == 0xffff, "%s: row %d of P was written", text, row);
    }
    for (int i = 0; i < 7; i++)
        tj_buffer_free(buffer[i]);
}

Test(gather, takes_rows_of_m_where_the_index_says)
{
    static const char *const families[] = {"naive",
                                           "tiled",
                                           "tiled:shared=dynamic",
                                           "mma:bm=16,bn=16,wm=16,wn=16",
                                           "mma:bm=32,bn=32,wm=16,wn=16,copy=registers",
                                           "wgmma:bm=64,bn=32",
                                           "wgmma:bm=128,bn=32,stages=2",
                                           "wgmma:bm=64,bn=32,pingpong=yes,stages=3"};

    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        for (int variant = 0; variant < 5; variant++) {
            tj_problem problem = gathered();

            problem.j.mode = variant == 1 ? TJ_DIM_ANY : TJ_DIM_FIXED;
            if (variant > 0)
                problem.scale[TJ_MATRIX_M] = (tj_scale)SCALE_EACH;
            if (variant == 2)
                problem.rows = (tj_rows){.kind = TJ_ROWS_IN_GROUPS, .groups = GROUPS, .gathered = 1};
            problem.rows.scattered = variant >= 3;
            if (variant == 4)
                cr_assert(eq(int, tj_epilogue_parse("relu(acc * 2)", &problem.epilogue, &err), TJ_OK));
            multiply(problem, families[i]);
        }
}

/* Scales of parts of k follow the rows of M, in the families that multiply by them. */
Test(gather, takes_the_scales_of_blocks_too)
{
    static const char *const families[] = {"naive", "tiled", "mma:bm=32,bn=32,wm=16,wn=16", "tiled:shared=dynamic"};

    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(J, 256, L, TJ_E4M3);
        tj_workbench_options options = TJ_WORKBENCH_INIT;

        problem.rows.gathered = 1;
        problem.n.layout = TJ_COL_MAJOR;
        problem.compute = TJ_COMPUTE_F32_FP8;
        problem.scale[TJ_MATRIX_M] = (tj_scale)TJ_SCALE_INIT(TJ_F32, 1, 128);
        problem.scale[TJ_MATRIX_M].layout = i % 2 ? TJ_SCALES_ROW_BY_ROW : TJ_SCALES_PART_BY_PART;
        problem.scale[TJ_MATRIX_N] = (tj_scale)TJ_SCALE_INIT(TJ_F32, 128, 128);
        if (i == 3) /* which multiply the sum, and are narrower than it */
            problem.scale[TJ_MATRIX_M] = (tj_scale)TJ_SCALE_INIT(TJ_BF16, 1, 0);
        expect_right_product(&problem, families[i], &options, families[i]);
    }
}

/* In wgmma a warp brings the scales of the rows that others gather: of every layout and type, and of a k that ends in a part. */
Test(gather, takes_the_scales_of_blocks_next_to_copies)
{
    static const struct {
        const char *config;
        tj_scale m, n;
        int32_t k, groups;
    } rows[] = {
        {"wgmma:bm=64,bn=32", {TJ_F32, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 128}, TJ_SCALE_INIT(TJ_F32, 128, 128), 256, 0},
        {"wgmma:bm=128,bn=32,stages=2", TJ_SCALE_INIT(TJ_F32, 1, 128), TJ_SCALE_INIT(TJ_F32, 1, 128), 250, GROUPS},
        {"wgmma:bm=64,bn=32,pingpong=yes", TJ_SCALE_INIT(TJ_E8M0, 1, 32), TJ_SCALE_INIT(TJ_E8M0, 1, 32), 272, GROUPS},
        {"wgmma:bm=64,bn=32", {0}, TJ_SCALE_INIT(TJ_F32, 128, 128), 128, 0},
        {"wgmma:bm=64,bn=32", TJ_SCALE_INIT(TJ_F32, 1, 64), {0}, 384, GROUPS},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(J, rows[i].k, 48, TJ_E4M3);
        tj_workbench_options options = TJ_WORKBENCH_INIT;

        if (rows[i].groups > 0)
            problem.rows = (tj_rows){.kind = TJ_ROWS_IN_GROUPS, .groups = rows[i].groups};
        problem.rows.gathered = 1;
        problem.m.ld = problem.n.ld = 400;
        problem.n.layout = TJ_COL_MAJOR;
        problem.p.type = TJ_BF16;
        problem.compute = TJ_COMPUTE_F32_FP8;
        problem.scale[TJ_MATRIX_M] = rows[i].m;
        problem.scale[TJ_MATRIX_N] = rows[i].n;
        options.seed = i;
        options.guard_bytes = 4096;
        expect_right_product(&problem, rows[i].config, &options, rows[i].config);
    }
}

/* A row that is not stored counts as right, but the further outputs of it and of all others are those that were given. */
Test(gather, further_outputs_are_judged_where_a_row_is_not_stored)
{
    static const float m[3] = {1, 2, 3}, n[2] = {1, 10};
    static const int32_t p_index[3] = {1, -1, 0};
    float p[4] = {0}, other[6] = {0};
    tj_problem problem = TJ_PROBLEM_INIT(3, 1, 2, TJ_F32);
    tj_host_operands host = TJ_HOST_OPERANDS(m, n);
    tj_check_report report = TJ_CHECK_REPORT_INIT;

    problem.rows.scattered = 1;
    cr_assert(eq(int, tj_epilogue_parse("other[row, col] = acc; acc", &problem.epilogue, &err), TJ_OK), "%s", err.message);
    host.p_index = p_index;
    host.p_rows = 2;
    host.with[tj_epilogue_find(&problem.epilogue, "other")].address = other;
    cr_assert(eq(int, tj_reference_product(&problem, &host, p, 1, &err), TJ_OK), "%s", err.message);
    cr_expect(p[0] == 3 && p[1] == 30 && p[2] == 1 && p[3] == 10);
    cr_assert(eq(int, tj_reference_check(&problem, &host, p, 0, 1, &report, &err), TJ_OK), "%s", err.message);
    cr_expect(report.passed, "%s", report.reason);
    other[2] = 7;
    cr_assert(eq(int, tj_reference_check(&problem, &host, p, 0, 1, &report, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, report.passed, 0));
    cr_expect(eq(flt, other[2], 7));
}

Test(gather, launches_refuse_what_they_cannot_read)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_problem problem = gathered();
    tj_config config = TJ_CONFIG_INIT;
    tj_workbench *bench = NULL;
    const tj_plan *plan = NULL;
    tj_operands x;

    problem.rows.scattered = 1;
    cr_assert(eq(int, tj_config_parse("tiled", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_workbench_create(context, &problem, &options, &bench, &err), TJ_OK), "%s", err.message);
    x = *tj_workbench_operands(bench);
    x.m_rows = -4;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("m_rows is -4");
    x.m_rows = 0;
    x.m_index = (const int32_t *)((uintptr_t)x.m_index + 2);
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("not aligned to its elements of 4 bytes");
    x.m_index = x.p.address;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("and m_index at");
    x.m_index = tj_workbench_operands(bench)->m_index;
    x.p_index = NULL;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("p_index is NULL: give the device address of the row of P for each of the 70 rows");
    x.p_index = tj_workbench_operands(bench)->p_index;
    x.p_rows = -1;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("p_rows is -1");
    x.p_rows = 0;
    x.m_index = NULL;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("m_index is NULL: give the device address of the row of M for each of the 70 rows");
    tj_workbench_free(bench);
}

/* The proof multiplies the same rows by the simple kernel. */
Test(gather, is_proven)
{
    tj_problem problem = gathered();
    tj_config config = TJ_CONFIG_INIT;
    tj_proof proof = TJ_PROOF_INIT;
    const tj_plan *plan = NULL;

    problem.rows.scattered = 1;
    cr_assert(eq(int, tj_config_parse("mma:bm=16,bn=16,wm=16,wn=16", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_plan_prove(context, plan, &problem, 1, &proof, &err), TJ_OK), "%s", err.message);
    cr_expect(proof.passed, "%s", proof.reason);
}
