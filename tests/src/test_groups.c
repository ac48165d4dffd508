/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Groups of rows: what a problem and its offsets may be, and what a launch refuses. Only the kernel reads offsets in device
 * memory, and it must touch nothing but the caller's matrices, whatever the offsets are: the emulator stops at the first access
 * outside of an allocation, and the workbench's guards show the rest.
 */
#include <limits.h>

#include "product_test.h"
#include "scales.h"

#define KINDS "rows.kind is 9: use TJ_ROWS_AS_THEY_LIE, TJ_ROWS_IN_GROUPS, TJ_ROWS_MASKED or TJ_ROWS_ALONG_K"

enum { J = 50, J_MASKED = 51, K = 16, L = 32, GROUPS = 3 };

static tj_problem grouped(void)
{
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F16);

    problem.rows = (tj_rows){.kind = TJ_ROWS_IN_GROUPS, .groups = GROUPS};
    return problem;
}

/* With room for J_MASKED / GROUPS rows each, of which most are expected to be empty, and counts of 8 bytes. */
static tj_problem masked(void)
{
    tj_problem problem = TJ_PROBLEM_INIT(J_MASKED, K, L, TJ_F16);

    problem.rows = (tj_rows){.kind = TJ_ROWS_MASKED, .groups = GROUPS, .offset_bytes = 8, .expected = 6};
    return problem;
}

static void start(void)
{
    open_context("sm_90", TJ_PROVE_NEVER);
}

TestSuite(groups, .init = start, .fini = stop);

/* ---- problems ----------------------------------------------------------------------------------------------------- */

Test(groups, refuses_problems_that_cannot_be)
{
    const struct {
        tj_rows rows;
        int64_t batch, stride_n, stride_p;
        int16_t layout_m, layout_p;
        const char *says;
    } rows[] = {
        {{9, 0, 0, 0, 3, 0, 0}, 0, 0, 0, 0, 0, KINDS},
        {{TJ_ROWS_ALONG_K, 0, 0, 0, 3, 0, 0}, 2, 0, 0, 0, 0, "batch is 2 and rows.groups 3: groups along k are the products"},
        {{TJ_ROWS_ALONG_K, 1, 0, 0, 3, 0, 0}, 0, 0, 0, 0, 0, "groups along k have no index of rows"},
        {{TJ_ROWS_ALONG_K, 0, 0, 0, 3, 0, 0}, 0, 64, 0, 0, 0, "stride_n is 64, and groups along k share one N"},
        {{TJ_ROWS_MASKED, 0, 0, 0, 3, 0, 0}, 0, 0, 0, 0, 0, "j is 50, which is not a multiple of the 3 masked groups"},
        {{TJ_ROWS_MASKED, 0, 0, 0, 2, 0, 0, -1}, 0, 0, 0, 0, 0, "rows.expected is -1"},
        {{TJ_ROWS_IN_GROUPS, 0, 0, 0, 2, 0, 0, 5}, 0, 0, 0, 0, 0, "rows.expected is 5: use 0 or, with TJ_ROWS_MASKED"},
        {{TJ_ROWS_MASKED, 0, 0, 0, 1000, 4, 1}, 0, 0, 0, 0, 0, "1000 groups have 4000 bytes of counts"},
        {{TJ_ROWS_AS_THEY_LIE, 0, 0, 0, 3, 0, 0}, 0, 0, 0, 0, 0, "rows.groups is 3 and rows.kind TJ_ROWS_AS_THEY_LIE"},
        {{TJ_ROWS_IN_GROUPS, 0, 0, 0, 0, 0, 0}, 0, 0, 0, 0, 0, "rows.groups is 0: use 1 to 65535"},
        {{TJ_ROWS_IN_GROUPS, 0, 0, 0, -1, 0, 0}, 0, 0, 0, 0, 0, "rows.groups is -1: use 1 to 65535"},
        {{TJ_ROWS_IN_GROUPS, 0, 0, 0, 65536, 0, 0}, 0, 0, 0, 0, 0, "rows.groups is 65536"},
        {{TJ_ROWS_IN_GROUPS, 0, 0, 0, 3, 2, 0}, 0, 0, 0, 0, 0, "rows.offset_bytes is 2: use 4 or 8"},
        {{TJ_ROWS_IN_GROUPS, 0, 0, 0, 3, 4, 2}, 0, 0, 0, 0, 0, "rows.on_host is 2: use 0 or 1"},
        {{TJ_ROWS_IN_GROUPS, 0, 0, 0, 768, 4, 1}, 0, 0, 0, 0, 0, "768 groups have 3076 bytes of offsets"},
        {{TJ_ROWS_IN_GROUPS, 0, 0, 0, 384, 8, 1}, 0, 0, 0, 0, 0, "use 4 bytes for each"},
        {{TJ_ROWS_IN_GROUPS, 0, 0, 0, 3, 0, 0}, 2, 0, 0, 0, 0, "a batch or groups, not both"},
        {{TJ_ROWS_IN_GROUPS, 0, 0, 0, 3, 0, 0}, TJ_ANY, 0, 0, 0, 0, "a batch or groups, not both"},
        {{TJ_ROWS_IN_GROUPS, 0, 0, 0, 3, 0, 0}, 0, 0, 0, 1, 0, "M is column-major"},
        {{TJ_ROWS_IN_GROUPS, 0, 0, 0, 3, 0, 0}, 0, 0, 0, 0, 1, "P is column-major"},
        {{TJ_ROWS_IN_GROUPS, 0, 0, 0, 3, 0, 0}, 0, 0, TJ_POINTERS, 0, 0, "make only N an array of pointers"},
        {{TJ_ROWS_IN_GROUPS, 0, 0, 0, 3, 0, 0}, 0, -9, 0, 0, 0, "stride_n is -9"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = grouped();

        problem.rows = rows[i].rows;
        problem.batch = rows[i].batch;
        problem.n.stride = rows[i].stride_n;
        problem.p.stride = rows[i].stride_p;
        problem.m.layout = rows[i].layout_m;
        problem.p.layout = rows[i].layout_p;
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT), "row %zu", i);
        expect_said(rows[i].says);
    }
}

Test(groups, have_an_n_each)
{
    tj_problem problem = grouped(), c;

    cr_assert(eq(int, tj_problem_check(&problem, &err), TJ_OK));
    c = tj_problem_canonical(&problem);
    cr_expect(eq(i64, c.n.stride, K * L));
    cr_expect(eq(int, c.rows.offset_bytes, 4));
    cr_expect(eq(i64, tj_problem_span(&problem, TJ_MATRIX_M), J * K));
    cr_expect(eq(i64, tj_problem_span(&problem, TJ_MATRIX_N), GROUPS * K * L));
    cr_expect(eq(i64, tj_problem_span(&problem, TJ_MATRIX_P), J * L));
    problem.rows = (tj_rows){TJ_ROWS_AS_THEY_LIE, 0, 0, 0, 0, 7, 7}; /* none, so what else is said of them is forgotten */
    cr_assert(eq(int, tj_problem_check(&problem, &err), TJ_OK));
    c = tj_problem_canonical(&problem);
    cr_expect(eq(int, c.rows.offset_bytes | c.rows.on_host, 0));
}

Test(groups, refuses_configs_that_do_not_take_them)
{
    static const struct {
        const char *config, *says;
    } rows[] = {
        {"skinny", "family skinny takes no groups"},
        {"small_batch", "family small_batch takes no groups"},
        {"simt:splits=2", "use splits=1"},
        {"mma:pack=both", "does not copy groups"},
        {"mma:boundary=kl", "groups may end at any row"},
        {"wgmma:store=boxes", "without beta and without splits or groups"},
    };
    const tj_problem problem = grouped();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = TJ_CONFIG_INIT;

        cr_assert(eq(int, tj_config_parse(rows[i].config, &config, &err), TJ_OK));
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].config);
        expect_said(rows[i].says);
    }
}

/* ---- offsets ------------------------------------------------------------------------------------------------------ */

Test(groups, says_which_group_has_wrong_offsets)
{
    static const struct {
        int64_t at[GROUPS + 1], j;
        const char *says; /* NULL: nothing is wrong */
    } rows[] = {
        {{0, 20, 20, J}, 0, NULL},
        {{7, 7, 7, 7}, 0, NULL},
        {{0, 20, 20, J}, J - 1, "group 2 has the rows from 20 up to 50"},
        {{0, 20, 20, J + 9}, J + 9, NULL},
        {{-1, 20, 20, J}, 0, "group 0 has the rows from -1 up to 20"},
        {{0, 20, 19, J}, 0, "group 1 begins at row 20 and ends before row 19"},
        {{0, 20, INT32_MAX, J}, 0, "group 1 has the rows from 20 up to 2147483647"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int bytes = 4; bytes <= 8; bytes += 4) {
            const tj_status wanted = rows[i].says ? TJ_ERR_INVALID_ARGUMENT : TJ_OK;
            tj_problem problem = grouped();
            int32_t narrow[GROUPS + 1];

            for (int k = 0; k <= GROUPS; k++)
                narrow[k] = (int32_t)rows[i].at[k];
            problem.rows.offset_bytes = bytes;
            err.message[0] = '\0';
            cr_expect(
                eq(int, tj_groups_check(&problem, rows[i].j, bytes == 8 ? (const void *)rows[i].at : narrow, &err), wanted),
                "row %zu", i);
            expect_said(rows[i].says);
        }
}

Test(groups, says_which_masked_group_has_a_wrong_count)
{
    static const struct {
        int64_t count[GROUPS], j;
        const char *says; /* NULL: nothing is wrong */
    } rows[] = {
        {{0, 17, 5}, 0, NULL},
        {{0, 18, 5}, 0, "group 1 has 18 rows, and room for 0 to 17 of them"},
        {{0, 18, 5}, 54, NULL},
        {{0, 3, -1}, 0, "group 2 has -1 rows"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_status wanted = rows[i].says ? TJ_ERR_INVALID_ARGUMENT : TJ_OK;
        const tj_problem problem = masked();

        err.message[0] = '\0';
        cr_expect(eq(int, tj_groups_check(&problem, rows[i].j, rows[i].count, &err), wanted), "row %zu", i);
        expect_said(rows[i].says);
    }
}

Test(groups, have_no_offsets_where_there_are_none)
{
    const tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F32);
    const int32_t offsets[] = {0};

    cr_expect(eq(int, tj_groups_check(&problem, 0, offsets, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_groups_check(NULL, 0, offsets, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_groups_check(&problem, 0, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
}

/* ---- launches ----------------------------------------------------------------------------------------------------- */

static const char *const families[] = {"tiled", "naive", "simt:bm=16,bn=32,bk=16,tm=4,tn=4", "mma:bm=16,bn=16,wm=16,wn=16",
                                       "wgmma:bm=64,bn=32"};
enum { FAMILIES = sizeof families / sizeof families[0] };

/* Prepare a plan, and operands with these offsets. */
static const tj_plan *prepare_with(const tj_problem *problem, const char *text, const void *offsets, tj_workbench **bench)
{
    const tj_plan *const plan = prepare(problem, text, text);
    tj_workbench_options options = TJ_WORKBENCH_INIT;

    options.guard_bytes = 4096;
    options.offsets = offsets;
    cr_assert(eq(int, tj_workbench_create(context, problem, &options, bench, &err), TJ_OK), "%s", err.message);
    return plan;
}

Test(groups, launches_refuse_host_offsets_that_are_wrong)
{
    const int32_t right[] = {0, 20, 20, J}, falls[] = {0, 20, 10, J};
    tj_problem problem = grouped();
    tj_workbench *bench = NULL;
    const tj_plan *plan;
    tj_operands x;

    problem.rows.on_host = 1;
    plan = prepare_with(&problem, "simt", right, &bench);
    x = *tj_workbench_operands(bench);
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s", err.message);
    x.offsets = falls;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("group 1 begins at row 20 and ends before row 10");
    x.offsets = (const char *)right + 1;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("not aligned to its elements of 4 bytes");
    x.offsets = NULL;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("give the host address of the 4 offsets of 3 groups");
    cr_expect(eq(int, tj_synchronize(context, NULL, &err), TJ_OK));
    tj_workbench_free(bench);
}

Test(groups, launches_refuse_device_offsets_that_cannot_be_read)
{
    const tj_problem problem = grouped();
    tj_workbench *bench = NULL;
    const tj_plan *plan = prepare_with(&problem, "tiled", NULL, &bench);
    tj_operands x = *tj_workbench_operands(bench);

    x.offsets = NULL;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("give the device address of the 4 offsets");
    x.offsets = x.p.address;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("and the offsets at");
    tj_workbench_free(bench);
}

/* No offsets have an effect outside the operands, whatever they are; and right ones after them work as ever. */
static void survive(const char *family, int bytes)
{
    static const int64_t wrong[][GROUPS + 1] = {
        {-1, INT32_MIN, INT32_MAX, 0},
        {0, J + 1, 3 * J, INT32_MAX},
        {J, 0, J, 0},
        {0, J, 0, J},
        {INT32_MIN, 5, 5, INT32_MAX},
        {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX},
    };
    static const int64_t right[GROUPS + 1] = {1, 20, 20, J - 2};
    tj_problem problem = grouped();
    tj_workbench *bench = NULL;
    tj_buffer *offsets = NULL;
    int32_t narrow[GROUPS + 1];
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    const tj_plan *plan;
    char damage[160];
    tj_operands x;
    void *p;

    problem.rows.offset_bytes = bytes;
    for (int i = 0; i <= GROUPS; i++)
        narrow[i] = (int32_t)right[i];
    plan = prepare_with(&problem, family, bytes == 8 ? (const void *)right : narrow, &bench);
    p = malloc(tj_workbench_bytes(bench, TJ_MATRIX_P));
    cr_assert(eq(int, tj_buffer_create(context, sizeof right, &offsets, &err), TJ_OK));
    x = *tj_workbench_operands(bench);
    x.offsets = tj_buffer_address(offsets);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        for (int k = 0; k <= GROUPS; k++)
            narrow[k] = (int32_t)wrong[i][k];
        cr_assert(eq(
            int, tj_buffer_write(offsets, 0, bytes == 8 ? (const void *)wrong[i] : narrow, (size_t)bytes * (GROUPS + 1), &err),
            TJ_OK));
        cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s, row %zu: %s", family, i, err.message);
        cr_expect(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s, row %zu: %s", family, i, err.message);
        cr_expect(eq(int, tj_workbench_find_damage(bench, 0, NULL, damage, &err), TJ_OK));
        cr_expect(eq(str, damage, (char *)""), "%s, row %zu", family, i);
    }
    cr_expect(eq(int, tj_workbench_reset(bench, &err), TJ_OK));
    cr_expect(eq(int, tj_plan_launch(plan, tj_workbench_operands(bench), NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_workbench_read(bench, 0, p, &err), TJ_OK));
    cr_expect(eq(int, tj_workbench_check(bench, p, 0, 0, &report, &err), TJ_OK));
    cr_expect(report.passed, "%s: %s", family, report.reason);
    cr_expect(eq(i64, report.elements_total, (J - 3) * L));
    cr_expect(eq(int, tj_workbench_find_damage(bench, 0, p, damage, &err), TJ_OK));
    cr_expect(eq(str, damage, (char *)""), "%s", family);
    tj_buffer_free(offsets);
    tj_workbench_free(bench);
    free(p);
}

Test(groups, wrong_device_offsets_lead_nowhere)
{
    for (int i = 0; i < FAMILIES; i++)
        survive(families[i], i % 2 ? 8 : 4);
}

/* Read P back: it is the product, of so many elements, and nothing else was written. */
static void check_product(tj_workbench *bench, const char *family, int64_t elements)
{
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    void *const p = malloc(tj_workbench_bytes(bench, TJ_MATRIX_P));
    char damage[160];

    cr_expect(eq(int, tj_workbench_read(bench, 0, p, &err), TJ_OK));
    cr_expect(eq(int, tj_workbench_check(bench, p, 0, 0, &report, &err), TJ_OK));
    cr_expect(report.passed, "%s: %s", family, report.reason);
    cr_expect(eq(i64, report.elements_total, elements), "%s", family);
    cr_expect(eq(int, tj_workbench_find_damage(bench, 0, p, damage, &err), TJ_OK));
    cr_expect(eq(str, damage, (char *)""), "%s", family);
    free(p);
}

/* No row is computed that is not there, and the kernel settles wrong counts. j may be an argument. */
Test(groups, masked_rows_are_those_that_the_counts_say)
{
    static const int64_t right[GROUPS] = {0, 17, 5}, wrong[GROUPS] = {-3, INT64_C(1) << 40, 5};

    for (int i = 0; i < FAMILIES; i++) {
        tj_problem problem = masked();
        tj_workbench *bench = NULL;
        tj_buffer *counts = NULL;
        const tj_plan *plan;
        tj_operands x;

        problem.j.mode = i % 2 ? TJ_DIM_ANY : TJ_DIM_FIXED;
        plan = prepare_with(&problem, families[i], right, &bench);
        x = *tj_workbench_operands(bench);
        cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s: %s", families[i], err.message);
        check_product(bench, families[i], 22 * L);
        cr_assert(eq(int, tj_buffer_create(context, sizeof wrong, &counts, &err), TJ_OK));
        cr_assert(eq(int, tj_buffer_write(counts, 0, wrong, sizeof wrong, &err), TJ_OK));
        x.offsets = tj_buffer_address(counts);
        cr_expect(eq(int, tj_workbench_reset(bench, &err), TJ_OK));
        cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s: %s", families[i], err.message);
        check_product(bench, families[i], 22 * L);
        tj_buffer_free(counts);
        tj_workbench_free(bench);
    }
}

Test(groups, launches_refuse_rows_that_masked_groups_do_not_share)
{
    tj_problem problem = masked();
    tj_workbench *bench = NULL;
    const tj_plan *plan;
    tj_operands x;

    problem.j.mode = TJ_DIM_ANY;
    plan = prepare_with(&problem, "tiled", NULL, &bench);
    x = *tj_workbench_operands(bench);
    x.j = 50;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("j is 50, which is not a multiple of the 3 masked groups");
    x.j = J_MASKED;
    x.offsets = NULL;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("give the device address of the 3 counts of 3 groups");
    tj_workbench_free(bench);
}

/* A proof looks at the rows that are there. */
Test(groups, masked_ones_are_proven)
{
    const tj_problem problem = masked();
    tj_config config = TJ_CONFIG_INIT;
    tj_proof proof = TJ_PROOF_INIT;
    const tj_plan *plan = NULL;

    cr_assert(eq(int, tj_config_parse("mma:bm=16,bn=16,wm=16,wn=16", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_plan_prove(context, plan, &problem, 1, &proof, &err), TJ_OK), "%s", err.message);
    cr_expect(proof.passed, "%s", proof.reason);
}

/* Groups along k: some without elements, in every layout; wrong offsets lead to fewer elements, and nowhere else. */
Test(groups, may_divide_k)
{
    enum { K_OF_ALL = 77 };
    static const char *const along_k[] = {"naive", "tiled", "simt:bm=16,bn=32,bk=16,tm=4,tn=4", "mma:bm=16,bn=16,wm=16,wn=16",
                                          "mma:bm=16,bn=32,wm=16,wn=16,copy=registers"};
    static const int32_t right[GROUPS + 1] = {3, 40, 40, K_OF_ALL}, wrong[GROUPS + 1] = {-9, INT32_MAX, 5, INT32_MIN};

    for (size_t i = 0; i < 4 * sizeof along_k / sizeof along_k[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(J, K_OF_ALL, L, TJ_F16);
        const char *const family = along_k[i / 4];
        tj_workbench *bench = NULL;
        tj_buffer *offsets = NULL;
        const tj_plan *plan;
        char damage[160];
        tj_operands x;

        problem.rows = (tj_rows){.kind = TJ_ROWS_ALONG_K, .groups = GROUPS};
        problem.m.layout = i % 2;
        problem.n.layout = i / 2 % 2;
        problem.p.layout = i % 3 == 1;
        problem.k.mode = i % 5 == 3 ? TJ_DIM_ANY : TJ_DIM_FIXED;
        plan = prepare_with(&problem, family, right, &bench);
        x = *tj_workbench_operands(bench);
        cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s: %s", family, err.message);
        check_product(bench, family, GROUPS * J * L);
        cr_assert(eq(int, tj_buffer_create(context, sizeof wrong, &offsets, &err), TJ_OK));
        cr_assert(eq(int, tj_buffer_write(offsets, 0, wrong, sizeof wrong, &err), TJ_OK));
        x.offsets = tj_buffer_address(offsets);
        cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s: %s", family, err.message);
        cr_expect(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s: %s", family, err.message);
        cr_expect(eq(int, tj_workbench_find_damage(bench, 0, NULL, damage, &err), TJ_OK));
        cr_expect(eq(str, damage, (char *)""), "%s", family);
        tj_buffer_free(offsets);
        tj_workbench_free(bench);
    }
}

/* A promise about k is one about that of all groups, of which each may have any. */
Test(groups, along_k_end_anywhere_whatever_k_is_a_multiple_of)
{
    static const char *const along_k[] = {"tiled:tile_width=8", "simt:bm=16,bn=32,bk=16,tm=4,tn=4",
                                          "mma:bm=16,bn=16,wm=16,wn=16", "wgmma:bm=64,bn=32"};
    static const int32_t offsets[GROUPS + 1] = {0, 13, 27, 64};
    tj_config config = TJ_CONFIG_INIT;

    for (size_t i = 0; i < sizeof along_k / sizeof along_k[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(48, 64, L, TJ_F16);
        tj_workbench_options options = TJ_WORKBENCH_INIT;

        problem.rows = (tj_rows){.kind = TJ_ROWS_ALONG_K, .groups = GROUPS};
        problem.k = (tj_dim){64, TJ_DIM_ANY, 64};
        options.offsets = offsets;
        expect_right_product(&problem, along_k[i], &options, along_k[i]);
    }
    tj_problem fixed = TJ_PROBLEM_INIT(48, 64, L, TJ_F16);

    fixed.rows = (tj_rows){.kind = TJ_ROWS_ALONG_K, .groups = GROUPS};
    cr_assert(eq(int, tj_config_parse("mma:bm=16,bn=16,wm=16,wn=16,boundary=none", &config, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_config_resolve(&fixed, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("groups may end at any element");
}

Test(groups, along_k_are_proven_and_refused_by_others)
{
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F16);
    const int32_t offsets[GROUPS + 1] = {0, 20, 20, K};
    tj_config config = TJ_CONFIG_INIT;
    tj_proof proof = TJ_PROOF_INIT;
    const tj_plan *plan = NULL;

    problem.rows = (tj_rows){.kind = TJ_ROWS_ALONG_K, .groups = GROUPS};
    cr_expect(eq(int, tj_groups_check(&problem, 0, offsets, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("group 0 has the elements of k from 0 up to 20, and there are only those from 0 up to k = 16");
    for (int i = 0; i < 2; i++) {
        cr_assert(eq(int, tj_config_parse(i ? "wgmma:bm=64,bn=32" : "mma:bm=16,bn=16,wm=16,wn=16", &config, &err), TJ_OK));
        cr_assert(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, tj_plan_prove(context, plan, &problem, 1, &proof, &err), TJ_OK), "%s", err.message);
        cr_expect(proof.passed, "%s", proof.reason);
    }
    cr_assert(eq(int, tj_config_parse("skinny", &config, &err), TJ_OK));
    cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("family skinny takes no groups along k");
}

/* ---- groups along k in wgmma -------------------------------------------------------------------------------------- */

enum { ALONG_J = 150, ALONG_K = 333, ALONG_L = 80, ALONG_LD = 336, ALONG_GROUPS = 5 };

/* Groups along k that end anywhere, of which one is empty. */
static tj_problem along_k(tj_type type, bool m_across, bool n_across)
{
    tj_problem problem = TJ_PROBLEM_INIT(ALONG_J, ALONG_K, ALONG_L, (int32_t)type);

    problem.rows = (tj_rows){.kind = TJ_ROWS_ALONG_K, .groups = ALONG_GROUPS, .offset_bytes = 8};
    problem.m.layout = m_across;
    problem.n.layout = !n_across;
    problem.m.ld = m_across ? 160 : ALONG_LD;
    problem.n.ld = n_across ? ALONG_L : ALONG_LD;
    if (type == TJ_E4M3)
        problem.compute = TJ_COMPUTE_F32_FP8;
    if (type == TJ_F32)
        problem.compute = TJ_COMPUTE_TF32;
    return problem;
}

static const struct {
    tj_type type;
    const char *config;
    int layouts; /* of M and N: 1: both along k; 4: all */
} wgmma_along_k[] = {
    {TJ_F16, "wgmma:bm=64,bn=32", 4},
    {TJ_BF16, "wgmma:bm=128,bn=80,release=now,stages=2", 4},
    {TJ_BF16, "wgmma:bm=64,bn=32,pingpong=yes,multipliers=3", 4},
    {TJ_F16, "wgmma:bm=64,bn=24,swap=yes", 4},
    {TJ_E4M3, "wgmma:bm=128,bn=128", 4},
    {TJ_E4M3, "wgmma:bm=64,bn=48,pingpong=yes", 1},
    {TJ_F32, "wgmma:bm=64,bn=32", 4},
    {TJ_F32, "wgmma:bm=64,bn=64,pingpong=yes", 4},
    {TJ_S8, "wgmma:bm=128,bn=128", 4},
};
enum { WGMMA_ALONG_K = sizeof wgmma_along_k / sizeof wgmma_along_k[0] };

/* The copy engine brings what follows a group along k, wherever that ends, and the product is without it. */
Test(groups, along_k_may_be_copied_by_the_copy_engine)
{
    static const int64_t right[ALONG_GROUPS + 1] = {3, 68, 68, 101, 230, ALONG_K - 2},
                                              wrong[ALONG_GROUPS + 1] = {-9, INT64_C(1) << 40, 5, INT64_MIN, INT64_MAX, 7};
    for (size_t i = 0; i < 4 * WGMMA_ALONG_K; i++) {
        tj_problem problem = along_k(wgmma_along_k[i / 4].type, i % 2, i / 2 % 2);
        const char *const config = wgmma_along_k[i / 4].config;
        tj_workbench *bench = NULL;
        tj_buffer *offsets = NULL;
        const tj_plan *plan;
        char damage[160];
        tj_operands x;

        if ((int)i % 4 >= wgmma_along_k[i / 4].layouts)
            continue;
        problem.p.layout = i % 3 == 1;
        problem.epilogue.has_beta = i % 5 == 2;
        problem.k.mode = i % 5 == 3 ? TJ_DIM_ANY : TJ_DIM_FIXED;
        problem.rows.on_host = i % 7 == 4;
        if (i % 4 < 2) {
            problem.scale[TJ_MATRIX_M] = (tj_scale)SCALE_EACH;
            problem.scale[TJ_MATRIX_N] = (tj_scale)ONE_SCALE;
        }
        plan = prepare_with(&problem, config, right, &bench);
        x = *tj_workbench_operands(bench);
        cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s: %s", config, err.message);
        check_product(bench, config, (int64_t)ALONG_GROUPS * ALONG_J * ALONG_L);
        if (problem.rows.on_host) {
            tj_workbench_free(bench);
            continue; /* a launch refuses wrong ones */
        }
        cr_assert(eq(int, tj_buffer_create(context, sizeof wrong, &offsets, &err), TJ_OK));
        cr_assert(eq(int, tj_buffer_write(offsets, 0, wrong, sizeof wrong, &err), TJ_OK));
        x.offsets = tj_buffer_address(offsets);
        cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s: %s", config, err.message);
        cr_expect(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s: %s", config, err.message);
        cr_expect(eq(int, tj_workbench_find_damage(bench, 0, NULL, damage, &err), TJ_OK));
        cr_expect(eq(str, damage, (char *)""), "%s", config);
        tj_buffer_free(offsets);
        tj_workbench_free(bench);
    }
}

Test(groups, along_k_may_travel_with_the_launch)
{
    static const char *const configs[] = {"mma:bm=32,bn=32,wm=16,wn=16", "wgmma:bm=64,bn=32"};
    static const int64_t offsets[ALONG_GROUPS + 1] = {3, 68, 68, 101, 230, ALONG_K - 2};

    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        tj_problem problem = along_k(TJ_F16, true, true);
        tj_workbench *bench = NULL;

        problem.rows.on_host = 1;
        const tj_plan *const plan = prepare_with(&problem, configs[i], offsets, &bench);

        cr_expect(eq(int, tj_plan_launch(plan, tj_workbench_operands(bench), NULL, &err), TJ_OK), "%s", err.message);
        check_product(bench, configs[i], (int64_t)ALONG_GROUPS * ALONG_J * ALONG_L);
        tj_workbench_free(bench);
    }
}

/* A single group is one product, of a part of k. */
Test(groups, along_k_may_be_one)
{
    static const int64_t offsets[] = {5, 300};
    tj_workbench_options options = TJ_WORKBENCH_INIT;

    options.offsets = offsets;
    for (int i = 0; i < 4; i++) {
        static const char *const config[] = {"wgmma:bm=64,bn=48", "wgmma:bm=64,bn=32,pingpong=yes", "wgmma:swap=yes,bn=40",
                                             "mma"};
        tj_problem problem = along_k(TJ_BF16, i % 2, i / 2);

        problem.rows.groups = 1;
        expect_right_product(&problem, config[i], &options, config[i]);
    }
}

/* Every second group has no numbers: what the others are made of is 1, and nothing of their neighbours gets into their sums. */
static void check_apart(tj_type type, const char *config, bool m_across, bool n_across)
{
    static const int64_t offsets[ALONG_GROUPS + 1] = {0, 67, 90, 90, 231, ALONG_K};
    const uint32_t one = type == TJ_F32   ? 0x3f800000
                         : type == TJ_F16 ? 0x3c00
                                          : 0x38,
                   none = type == TJ_F32   ? 0x7fc00000
                          : type == TJ_F16 ? 0x7e00
                                           : 0x7f;
    const size_t bytes = tj_type_bytes(type), p_elements = (size_t)ALONG_GROUPS * ALONG_J * ALONG_L;
    tj_problem problem = along_k(type, m_across, n_across);
    tj_workbench *bench = NULL;
    tj_buffer *factor[2] = {NULL, NULL};
    tj_operands x;
    size_t wrong = 0;
    float *p;

    problem.p.type = TJ_F32;
    const tj_plan *const plan = prepare_with(&problem, config, offsets, &bench);

    x = *tj_workbench_operands(bench);
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_N; which++) {
        const bool across = which == TJ_MATRIX_M ? m_across : n_across;
        const size_t size = tj_workbench_bytes(bench, which), ld = (size_t)tj_problem_matrix(&problem, which)->ld;
        unsigned char *const data = malloc(size);

        for (size_t at = 0; at < size / bytes; at++) {
            const int64_t k = (int64_t)(across ? at / ld : at % ld);
            const bool is_odd = (k >= offsets[1] && k < offsets[2]) || (k >= offsets[3] && k < offsets[4]);

            memcpy(data + at * bytes, is_odd ? &none : &one, bytes);
        }
        cr_assert(eq(int, tj_buffer_create(context, size, &factor[which], &err), TJ_OK));
        cr_assert(eq(int, tj_buffer_write(factor[which], 0, data, size, &err), TJ_OK));
        free(data);
    }
    x.m.address = tj_buffer_address(factor[TJ_MATRIX_M]);
    x.n.address = tj_buffer_address(factor[TJ_MATRIX_N]);
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s: %s", config, err.message);
    cr_expect(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s: %s", config, err.message);
    p = malloc(p_elements * sizeof *p);
    cr_assert(eq(int, tj_workbench_read(bench, 0, p, &err), TJ_OK));
    for (size_t at = 0; at < p_elements; at++) {
        const size_t group = at / (p_elements / ALONG_GROUPS);

        wrong += group % 2 == 0 && p[at] != (float)(offsets[group + 1] - offsets[group]);
    }
    cr_expect(eq(sz, wrong, 0), "%s", config);
    free(p);
    tj_buffer_free(factor[TJ_MATRIX_M]);
    tj_buffer_free(factor[TJ_MATRIX_N]);
    tj_workbench_free(bench);
}

Test(groups, along_k_are_apart_from_their_neighbours)
{
    static const char *const config[] = {"wgmma:bm=64,bn=32", "wgmma:bm=128,bn=128", "mma:bm=16,bn=16,wm=16,wn=16"};
    for (int i = 0; i < 4; i++) {
        check_apart(TJ_F16, config[0], i % 2, i / 2);
        check_apart(TJ_E4M3, config[1], i % 2, i / 2);
        check_apart(TJ_F32, config[0], i % 2, i / 2);
    }
    check_apart(TJ_F16, config[2], true, true);
}

/* Each group's N has a number for the whole matrix, next to scales of parts of k. */
Test(groups, multiply_by_the_number_of_their_own_n)
{
    tj_problem problem = TJ_PROBLEM_INIT(140, 96, 80, TJ_E4M3);
    tj_workbench_options options = TJ_WORKBENCH_INIT;

    problem.rows = (tj_rows){.kind = TJ_ROWS_IN_GROUPS, .groups = GROUPS};
    problem.n.layout = TJ_COL_MAJOR;
    problem.p.type = TJ_BF16;
    problem.compute = TJ_COMPUTE_F32_FP8;
    problem.scale[TJ_MATRIX_N] = (tj_scale){TJ_E4M3, TJ_SCALES_IN_TILES, .whole = 1, .rows = 1, .k = 32};
    expect_right_product(&problem, "wgmma:bm=64,bn=48", &options, "whole");
    problem.scale[TJ_MATRIX_N].layout = TJ_SCALES_ROW_BY_ROW;
    expect_right_product(&problem, "mma:bm=32,bn=32,wm=16,wn=16", &options, "whole");
}

/* One plan for all numbers of rows, as a server has it that takes what comes. */
Test(groups, rows_may_be_an_argument)
{
    const int32_t offsets[] = {0, 5, 30, 33};
    tj_problem problem = grouped();
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    char damage[160];

    for (int i = 0; i < FAMILIES; i++) {
        tj_problem known = problem, asked;
        tj_workbench *bench = NULL;
        const tj_plan *plan;
        void *p;

        known.j.extent = 33;
        asked = known;
        asked.j.mode = TJ_DIM_ANY;
        plan = prepare_with(&asked, families[i], offsets, &bench);
        p = malloc(tj_workbench_bytes(bench, TJ_MATRIX_P));
        cr_expect(eq(int, tj_plan_launch(plan, tj_workbench_operands(bench), NULL, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, tj_workbench_read(bench, 0, p, &err), TJ_OK));
        cr_expect(eq(int, tj_workbench_check(bench, p, 0, 0, &report, &err), TJ_OK));
        cr_expect(report.passed, "%s: %s", families[i], report.reason);
        cr_expect(eq(int, tj_workbench_find_damage(bench, 0, p, damage, &err), TJ_OK));
        cr_expect(eq(str, damage, (char *)""), "%s", families[i]);
        tj_workbench_free(bench);
        free(p);
    }
}

/* A proof compares every line with the N of its group. */
Test(groups, are_proven)
{
    tj_problem problem = grouped();
    const tj_plan *plan = NULL;
    tj_config config = TJ_CONFIG_INIT;
    tj_proof proof = TJ_PROOF_INIT;

    problem.scale[TJ_MATRIX_N] = (tj_scale)SCALE_EACH;
    cr_assert(eq(int, tj_config_parse("mma:bm=16,bn=16,wm=16,wn=16", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_plan_prove(context, plan, &problem, 0, &proof, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, proof.passed, 1), "%s", proof.reason);
    cr_expect(eq(i64, proof.elements, J * L));
}
