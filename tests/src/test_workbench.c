/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * The workbench, on the emulator: operands lie where it says, in every set; a product passes its check whichever way the matrices of
 * a batch are reached; what is written where it must not be is found and named.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>
#include <tilejit/workbench.h>

#include "workbench.h"

static tj_error err;
static tj_context *context;
static tj_workbench *bench;

/* Past the library, in the primary context, which it uses too. */
static int (*copy_in)(uint64_t, const void *, size_t), (*copy_out)(void *, uint64_t, size_t);

static void open_driver(void)
{
    void *driver = dlopen(EMULATOR_PATH, RTLD_NOW), *primary = NULL;
    int (*init)(unsigned), (*retain)(void **, int), (*set_current)(void *);

    cr_assert(driver != NULL, "%s", dlerror());
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    *(void **)&set_current = dlsym(driver, "cuCtxSetCurrent");
    *(void **)&copy_in = dlsym(driver, "cuMemcpyHtoD_v2");
    *(void **)&copy_out = dlsym(driver, "cuMemcpyDtoH_v2");
    cr_assert(init(0) == 0 && retain(&primary, 0) == 0 && set_current(primary) == 0);
}

static void peek(void *host, const void *address, size_t bytes)
{
    cr_assert(eq(int, copy_out(host, (uintptr_t)address, bytes), 0));
}

static void start(void)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;

    setenv("TILEJIT_EMULATOR", EMULATOR_PATH, 1);
    setenv("CUDA_EMULATOR_DEVICES", "sm_90", 1);
    options.driver = "emulator";
    options.cache_dir = "";
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    open_driver();
}

static void stop(void)
{
    tj_workbench_free(bench);
    tj_context_free(context);
}

TestSuite(workbench, .init = start, .fini = stop, .timeout = 60);

static bool has_nvrtc(void)
{
    const char *const *targets;
    const bool has = tj_targets(context, &targets, &err) == TJ_OK;

    if (!has && getenv("TILEJIT_REQUIRE_NVRTC"))
        cr_assert(has, "%s", err.message);
    return has;
}

/* Padded lines, gaps between the products, C; M and P reached by pointers. */
static tj_problem rich_problem(void)
{
    tj_problem problem = TJ_PROBLEM_INIT(5, 7, 9, TJ_F32);

    problem.batch = 3;
    problem.m.stride = problem.p.stride = TJ_POINTERS;
    problem.n.ld = problem.p.ld = 12;
    problem.n.stride = 100;
    problem.epilogue.has_alpha = problem.epilogue.has_beta = 1;
    return problem;
}

static void create(const tj_problem *problem, const tj_workbench_options *options)
{
    cr_assert(eq(int, tj_workbench_create(context, problem, options, &bench, &err), TJ_OK), "%s", err.message);
}

/* Launch every set of the bench and check its P. */
static void expect_right_products(const tj_problem *problem, size_t sets)
{
    const tj_plan *plan;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    void *p = malloc(tj_workbench_bytes(bench, TJ_MATRIX_P));
    char damage[160];

    cr_assert(eq(int, tj_plan_prepare(context, problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_workbench_fit(bench, tj_plan_workspace_bytes(plan), &err), TJ_OK), "%s", err.message);
    for (size_t i = 0; i < sets; i++) {
        cr_assert(eq(int, tj_plan_launch(plan, &tj_workbench_operands(bench)[i], NULL, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_workbench_read(bench, i, p, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_workbench_check(bench, p, 0, 1, &report, &err), TJ_OK), "%s", err.message);
        cr_expect(report.passed, "set %zu: %s", i, report.reason);
        cr_assert(eq(int, tj_workbench_find_damage(bench, i, p, damage, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(str, damage, ""));
    }
    free(p);
}

Test(workbench, serves_launches_of_every_set)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    const tj_problem problem = rich_problem();

    if (!has_nvrtc())
        cr_skip_test("no NVRTC: %s", err.message);
    options.sets = 3;
    options.guard_bytes = 512;
    options.alpha = 1.5;
    options.beta = -2;
    create(&problem, &options);
    expect_right_products(&problem, 3);
}

Test(workbench, settles_what_is_left_to_the_launch)
{
    tj_problem problem = TJ_PROBLEM_INIT(20, 30, 40, TJ_F64);

    if (!has_nvrtc())
        cr_skip_test("no NVRTC: %s", err.message);
    problem.j.mode = problem.l.mode = TJ_DIM_ANY;
    problem.m.ld = problem.p.ld = TJ_ANY;
    problem.batch = TJ_ANY;
    problem.p.stride = TJ_ANY;
    create(&problem, NULL);
    cr_expect(eq(i64, tj_workbench_problem(bench)->m.ld, 30));
    cr_expect(eq(i64, tj_workbench_operands(bench)->batch, 1));
    expect_right_products(&problem, 1);
}

Test(workbench, keeps_sets_and_guards_apart)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    const tj_problem problem = TJ_PROBLEM_INIT(5, 7, 9, TJ_F16);

    options.sets = 4;
    options.guard_bytes = 256;
    create(&problem, &options);
    for (int which = TJ_MATRIX_M; which <= TJ_MATRIX_P; which++)
        for (size_t i = 1; i < 4; i++) {
            const char *a = tj_workbench_address(bench, i - 1, (tj_which)which),
                       *b = tj_workbench_address(bench, i, (tj_which)which);

            cr_expect(ge(i64, b - a, (int64_t)tj_workbench_bytes(bench, (tj_which)which) + 512));
            cr_expect(zero(i64, (intptr_t)b % 256));
        }
    cr_expect(eq(sz, tj_workbench_bytes(bench, TJ_MATRIX_C), 0));
    cr_expect(eq(ptr, tj_workbench_address(bench, 0, TJ_MATRIX_C), NULL));
    cr_expect(eq(ptr, tj_workbench_address(bench, 4, TJ_MATRIX_M), NULL));
}

/* One byte of device memory, changed. */
static void spoil(void *address)
{
    unsigned char byte;

    peek(&byte, address, 1);
    byte ^= 0x55;
    cr_assert(eq(int, copy_in((uintptr_t)address, &byte, 1), 0));
}

Test(workbench, finds_what_was_written_where_it_must_not_be)
{
    static const struct {
        tj_which which;
        int from_end;
        int64_t offset;
        const char *words;
    } rows[] = {
        {TJ_MATRIX_M, 0, 0, "it writes to M"},        {TJ_MATRIX_C, 0, 5, "it writes to C"},
        {TJ_MATRIX_N, 0, -1, "it writes before N"},   {TJ_MATRIX_P, 1, 0, "it writes after P"},
        {TJ_MATRIX_P, 0, -256, "it writes before P"}, {TJ_MATRIX_P, 0, 9 * 4, "it writes between the lines of P, at byte 36"},
    };
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    const tj_problem problem = rich_problem();
    char damage[160];

    options.sets = 2;
    options.guard_bytes = 256;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned char *p;

        create(&problem, &options);
        p = malloc(tj_workbench_bytes(bench, TJ_MATRIX_P));
        spoil((char *)tj_workbench_address(bench, 1, rows[i].which) + rows[i].offset +
              (rows[i].from_end ? tj_workbench_bytes(bench, rows[i].which) : 0));
        cr_assert(eq(int, tj_workbench_read(bench, 0, p, &err), TJ_OK));
        cr_assert(eq(int, tj_workbench_find_damage(bench, 0, p, damage, &err), TJ_OK));
        cr_expect(eq(str, damage, ""), "the other set");
        cr_assert(eq(int, tj_workbench_read(bench, 1, p, &err), TJ_OK));
        cr_assert(eq(int, tj_workbench_find_damage(bench, 1, p, damage, &err), TJ_OK));
        cr_expect(eq(str, damage, (char *)rows[i].words));
        free(p);
        tj_workbench_free(bench);
        bench = NULL;
    }
}

Test(workbench, repeats_operands_that_the_host_has_no_room_for)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    const tj_problem problem = TJ_PROBLEM_INIT(40, 50, 60, TJ_F32);
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_host_operands x = TJ_HOST_OPERANDS(NULL, NULL);
    const float *host;
    float m[40 * 50], n[50 * 60], p[40 * 60];

    options.period = 101;
    create(&problem, &options);
    peek(m, tj_workbench_address(bench, 0, TJ_MATRIX_M), sizeof m);
    host = tj_workbench_host(bench, TJ_MATRIX_M);
    for (int i = 0; i < 40 * 50; i++)
        cr_assert(m[i] == host[i % 101], "element %d", i);
    peek(n, tj_workbench_address(bench, 0, TJ_MATRIX_N), sizeof n);
    x.m = m;
    x.n = n;
    cr_assert(eq(int, tj_reference_product(&problem, &x, p, 1, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_workbench_check(bench, p, 0, 1, &report, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, report.passed, 1));
    p[39 * 60 + 59] += 1; /* beyond the first period of each operand */
    cr_assert(eq(int, tj_workbench_check(bench, p, 0, 1, &report, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, report.passed, 0));
}

Test(workbench, takes_the_callers_operands)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    const tj_problem problem = TJ_PROBLEM_INIT(1, 2, 1, TJ_F32);
    const float m[] = {1, 2}, n[] = {3, 4}, p[] = {5};
    float now[2];

    options.host[TJ_MATRIX_M] = m;
    options.host[TJ_MATRIX_N] = n;
    options.host[TJ_MATRIX_P] = p;
    create(&problem, &options);
    peek(now, tj_workbench_address(bench, 0, TJ_MATRIX_N), sizeof n);
    cr_expect(zero(int, memcmp(now, n, sizeof n)));
    peek(now, tj_workbench_address(bench, 0, TJ_MATRIX_P), sizeof p);
    cr_expect(zero(int, memcmp(now, p, sizeof p)));
    cr_assert(eq(int, tj_workbench_reset(bench, &err), TJ_OK));
    peek(now, tj_workbench_address(bench, 0, TJ_MATRIX_P), sizeof p);
    cr_expect(isnan(now[0]));
}

Test(workbench, names_what_is_wrong_with_its_options)
{
    struct {
        tj_workbench_options options;
        const char *words;
    } rows[4];
    const tj_problem problem = TJ_PROBLEM_INIT(2, 3, 4, TJ_F32);
    tj_problem wrong = problem;

    for (size_t i = 0; i < 4; i++)
        rows[i].options = (tj_workbench_options)TJ_WORKBENCH_INIT;
    rows[0].options.struct_size = 0, rows[0].words = "TJ_WORKBENCH_INIT";
    rows[1].options.sets = 5000, rows[1].words = "sets is 5000";
    rows[2].options.guard_bytes = 100, rows[2].words = "guard_bytes is 100";
    rows[3].options.period = -1, rows[3].words = "period is -1";
    for (size_t i = 0; i < 4; i++) {
        cr_expect(eq(int, tj_workbench_create(context, &problem, &rows[i].options, &bench, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(strstr(err.message, rows[i].words) != NULL, "%s", err.message);
        cr_expect(eq(ptr, bench, NULL));
    }
    wrong.j.extent = 0;
    cr_expect(eq(int, tj_workbench_create(context, &wrong, NULL, &bench, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "j is 0") != NULL, "%s", err.message);
    create(&problem, NULL);
    cr_expect(eq(int, tj_workbench_read(bench, 1, &wrong, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "set 1 of a workbench that has 1") != NULL, "%s", err.message);
    cr_expect(eq(int, tj_workbench_read_operand(bench, 0, TJ_OPERAND_SCALE, &wrong, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_workbench_read_operand(bench, 0, TJ_OPERANDS_MOST, &wrong, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_workbench_read_operand(bench, 0, -1, &wrong, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "operand is -1: the problem has none of that number") != NULL, "%s", err.message);
}
