/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * The tuner's bench alone: where operands lie, what a look and a check see of a launch. Products are the emulator's; a driver that
 * only pretends shows what is asked of it, and its memory is the host's.
 */
#include <math.h>

#include "clock.h"
#include "fake/fake_cuda.h"
#include "plan.h"
#include "tuner_test.h"
#include "verify.h"

/* Linked with --wrap. */
double __wrap_tj_clock_s(void);

double __wrap_tj_clock_s(void)
{
    return 1000;
}

static fake_cuda fake;
static tj_error err;
static tj_context *context;
static tj_bench bench;
static tj_anchor anchor;

static void open_context(const char *driver, const char *nvrtc)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;

    options.driver = driver;
    options.nvrtc = nvrtc;
    options.cache_dir = "";
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
}

static void start_emulator(void)
{
    char target[16];

    setenv("TILEJIT_EMULATOR", EMULATOR_PATH, 1);
    setenv("CUDA_EMULATOR_LOG", "0", 1);
    open_context("emulator", NULL);
    if (tj_target_for(context, 9, 0, target, &err) != TJ_OK) {
        cr_assert(getenv("TILEJIT_REQUIRE_NVRTC") == NULL, "NVRTC is required: %s", err.message);
        cr_skip_test("no NVRTC here: %s", err.message);
    }
}

static void start_fake(void)
{
    fake = fake_open(FAKE_CUDA_PATH);
    fake.fake_hide("cuFuncGetParamInfo");
    fake.fake_set_parameters(3, (const size_t[]){8, 8, 8});
    open_context(FAKE_CUDA_PATH, FAKE_NVRTC_PATH);
}

static void stop(void)
{
    tj_anchor_drop(&anchor);
    tj_bench_drop(&bench);
    tj_context_free(context);
}

TestSuite(check_of_a_trial, .init = start_emulator, .fini = stop, .timeout = 120);
TestSuite(bench, .init = start_fake, .fini = stop, .timeout = 60);

/* To be changed: what the device holds is not. */
static void *host_of(tj_which which)
{
    return (void *)(uintptr_t)tj_workbench_host(bench.operands, which);
}

static void place(const tj_problem *problem, int is_warm)
{
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    tj_request request;

    cr_assert(eq(int, tj_request_make(problem, &request, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_device_current(context, &device, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_bench_place(&context->host.gpu, NULL, &request, &device, 1, is_warm, &bench, &err), TJ_OK), "%s",
              err.message);
}

static const tj_program *program_of(const tj_problem *problem, const char *text)
{
    tj_config config = TJ_CONFIG_INIT;
    const tj_plan *plan = NULL;

    cr_assert(eq(int, tj_config_parse(text, &config, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_prepare(context, problem, &config, &plan, &err), TJ_OK), "%s", err.message);
    return &plan->program;
}

/* A trial that was right before. */
static tj_trial checked(const tj_program *program, double max_flop)
{
    tj_trial trial = {.state = TJ_TRIAL_TIMED, .is_verified = 1};

    cr_assert(eq(int, tj_verify(&bench, program, max_flop, false, &anchor, &trial, NULL, &err), TJ_OK), "%s", err.message);
    return trial;
}

static void expect_right(const tj_program *program, double max_flop)
{
    const tj_trial trial = checked(program, max_flop);

    cr_expect(trial.state == TJ_TRIAL_TIMED && trial.is_verified == 1, "%s", trial.why);
}

static void expect_wrong(const tj_program *program, double max_flop, const char *why)
{
    const tj_trial trial = checked(program, max_flop);

    cr_expect(trial.state == TJ_TRIAL_WRONG && trial.is_verified == 0);
    cr_expect(strstr(trial.why, why) != NULL, "\"%s\", not \"%s\"", trial.why, why);
}

/* ---- checks ------------------------------------------------------------------------------------------------------- */

static void expect_difference(const tj_program *program, int64_t index, double by, const char *why)
{
    float *const p = anchor.p, was = p[index];

    p[index] = (float)(was + by);
    expect_wrong(program, 0, why);
    p[index] = was;
}

/* First and last elements of the first and the last product, by very much and by little. */
Test(check_of_a_trial, compares_every_element_with_the_first_product)
{
    tj_problem problem = f32(3, 4, 5);
    const tj_program *program;
    float *p;

    problem.batch = 2;
    problem.p.ld = 7;
    place(&problem, 1);
    program = program_of(&problem, "naive:tile_width=4");
    expect_right(program, 0);
    p = anchor.p;
    expect_difference(program, 0, 1e-3, "P[0][0] of product 0");
    expect_difference(program, 4, -1e-5, "P[0][4] of product 0");
    expect_difference(program, 18, 1e-3, "P[2][4] of product 0");
    expect_difference(program, 21, 1e-3, "P[0][0] of product 1");
    expect_difference(program, 21 + 18, 1e-3, "P[2][4] of product 1");
    expect_difference(program, 21 + 8, (double)NAN, "P[1][1] of product 1");
    expect_right(program, 0);
    /* Rounding is not a difference, nor is a change between the rows. */
    p[18] = nextafterf(p[18], 2);
    p[5] = 1;
    expect_right(program, 0);
}

/* A search compares runs all over a large product, and every element of the winner's. */
Test(check_of_a_trial, looks_at_runs_of_a_large_product_or_at_all_of_it)
{
    const tj_problem problem = f32(1280, 1, 1024);
    const int64_t elements = 1280 * 1024, run = (4 << 20) / 16 / 4, step = (elements - run) / 15;
    const tj_program *program;
    tj_trial trial = {.state = TJ_TRIAL_TIMED};
    float *p;

    place(&problem, 1);
    program = program_of(&problem, "naive:tile_width=32");
    expect_right(program, 0);
    cr_expect(tj_verify_is_whole(&bench) == false);
    for (int64_t i = 0; i < 16; i += 5) {
        expect_difference(program, i * step + 1024, 1e-2, "of product 0");
        expect_difference(program, i * step + run - 1025, 1e-2, "of product 0");
    }
    expect_difference(program, 0, 1e-2, "P[0][0]");
    expect_difference(program, elements - 1, 1e-2, "P[1279][1023]");
    p = anchor.p;
    p[step - 2048] += 1; /* between two runs */
    expect_right(program, 0);
    cr_assert(eq(int, tj_verify(&bench, program, 0, true, &anchor, &trial, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, trial.state, TJ_TRIAL_WRONG));
}

Test(check_of_a_trial, compares_columns_and_long_ones)
{
    tj_problem problem = f32(1030, 1, 3);
    const tj_program *program;

    problem.p.layout = TJ_COL_MAJOR;
    place(&problem, 1);
    program = program_of(&problem, "naive:tile_width=32");
    expect_right(program, 0);
    expect_difference(program, 1023, 1e-3, "P[1023][0] of product 0");
    expect_difference(program, 1024, 1e-3, "P[1024][0] of product 0");
    expect_difference(program, 2 * 1030 + 1029, 1e-3, "P[1029][2] of product 0");
}

/* Without a product to compare with, whatever it costs; with one, where it is asked for. */
Test(check_of_a_trial, begins_with_the_reference)
{
    const tj_problem problem = f32(3, 4, 5);
    const tj_program *program;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_trial trial = {.state = TJ_TRIAL_TIMED};
    float was;

    place(&problem, 1);
    program = program_of(&problem, "naive:tile_width=4");
    was = *(float *)host_of(TJ_MATRIX_M);
    *(float *)host_of(TJ_MATRIX_M) = was + 1; /* of another product than the device's */
    expect_wrong(program, 0, "elements are");
    cr_expect(eq(ptr, anchor.p, NULL), "a wrong product is none to compare with");
    *(float *)host_of(TJ_MATRIX_M) = was;
    expect_right(program, 0);
    *(float *)host_of(TJ_MATRIX_M) = was + 1;
    expect_right(program, 0);
    expect_wrong(program, 1e9, "elements are");
    *(float *)host_of(TJ_MATRIX_M) = was;
    cr_assert(eq(int, tj_verify(&bench, program, 1e9, true, &anchor, &trial, &report, &err), TJ_OK), "%s", err.message);
    cr_expect(report.passed && report.elements == 15 && report.max_ratio <= 1);
    cr_expect(eq(int, trial.is_verified, 1));
    /* A product that passes the reference must also equal the first product: the reference saw some rows only. */
    *(float *)anchor.p += 1;
    expect_wrong(program, 1e9, "P[0][0] of product 0");
}

/* A launch of this driver writes nothing; what an earlier one left must not pass for its product. */
Test(bench, what_a_launch_does_not_write_cannot_pass)
{
    const tj_problem problem = f32(4, 1000, 64);
    tj_host_operands host;
    const tj_program *program;
    unsigned char *workspace;

    fake.fake_set_parameters_of("reduce", 2, (const size_t[]){8, 8});
    place(&problem, 1);
    host = (tj_host_operands)TJ_HOST_OPERANDS(host_of(TJ_MATRIX_M), host_of(TJ_MATRIX_N));
    program = program_of(&problem, "skinny:splits=4");
    cr_assert(eq(int, tj_reference_product(&bench.known, &host, tj_workbench_address(bench.operands, 0, TJ_MATRIX_P), 1, &err),
                 TJ_OK));
    expect_wrong(program, 0, "elements are");
    anchor.p = malloc(bench.p_bytes);
    cr_assert(eq(int, tj_reference_product(&bench.known, &host, tj_workbench_address(bench.operands, 0, TJ_MATRIX_P), 1, &err),
                 TJ_OK));
    memcpy(anchor.p, tj_workbench_address(bench.operands, 0, TJ_MATRIX_P), bench.p_bytes);
    expect_wrong(program, 0, "P[0][0] of product 0");
    /* The same goes for partial sums. */
    workspace = bench.set[0].workspace;
    cr_assert(workspace != NULL);
    memset(workspace, 0, bench.set[0].workspace_bytes);
    (void)checked(program, 0);
    for (size_t i = 0; i < bench.set[0].workspace_bytes; i++)
        cr_assert(eq(int, workspace[i], 0xff));
}

/* A textbook's kernel may take a second for what the best does in a millisecond. */
Test(bench, does_not_launch_what_the_model_gives_up)
{
    const tj_problem problem = f32(16, 16, 16);
    const tj_program *program;
    tj_trial trial = {.predicted_us = 1001}, likely = {.predicted_us = 999};

    place(&problem, 1);
    program = program_of(&problem, "naive:tile_width=4");
    cr_assert(eq(int, tj_bench_time(&bench, program, 100, &trial, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, trial.state, TJ_TRIAL_SLOW));
    cr_expect(eq(dbl, trial.us, 1001));
    cr_assert(eq(int, tj_bench_time(&bench, program, 100, &likely, &err), TJ_OK), "%s", err.message);
    cr_expect(likely.us < 999 || likely.us > 999, "it is measured");
}

/* ---- operands ----------------------------------------------------------------------------------------------------- */

/* Each set has the same matrices in places of its own. */
static void expect_sets(const void *(*operand)(const tj_operands *x), const void *host, size_t bytes)
{
    for (size_t i = 0; i < bench.sets; i++) {
        const char *address = operand(&bench.set[i]);

        cr_assert(address != NULL);
        cr_expect(eq(sz, (uintptr_t)address % 256, 0), "set %zu", i);
        cr_expect(host == NULL || memcmp(address, host, bytes) == 0, "set %zu", i);
        if (i > 0)
            cr_expect(bytes <= (size_t)(address - (const char *)operand(&bench.set[i - 1])), "set %zu", i);
    }
}

static const void *m_of(const tj_operands *x)
{
    return x->m.address;
}

static const void *n_of(const tj_operands *x)
{
    return x->n.address;
}

static const void *c_of(const tj_operands *x)
{
    return x->c.address;
}

static const void *p_of(const tj_operands *x)
{
    return x->p.address;
}

static tj_problem padded_problem(void)
{
    tj_problem problem = f32(30, 20, 40);

    problem.batch = 3;
    problem.epilogue.has_alpha = problem.epilogue.has_beta = 1;
    problem.m.ld = 21;
    problem.n.ld = 42;
    problem.p.ld = 43;
    problem.c.ld = 44;
    problem.m.stride = 1000;
    problem.n.stride = TJ_BROADCAST;
    problem.p.stride = 2000;
    problem.c.stride = 3000;
    return problem;
}

static size_t bytes_of(tj_which which)
{
    return sizeof(float) * (size_t)tj_problem_span(&bench.known, which);
}

Test(bench, rotates_sets_beyond_the_cache)
{
    const tj_problem problem = padded_problem();
    size_t all = 0;

    fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 200000);
    place(&problem, 0);
    for (int which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++)
        all += bench.sets * bytes_of((tj_which)which);
    cr_expect(bench.sets > 5 && all >= 3 * 200000, "%zu sets of %zu bytes in all", bench.sets, all);
    expect_sets(m_of, host_of(TJ_MATRIX_M), bytes_of(TJ_MATRIX_M));
    expect_sets(n_of, host_of(TJ_MATRIX_N), bytes_of(TJ_MATRIX_N));
    expect_sets(c_of, host_of(TJ_MATRIX_C), bytes_of(TJ_MATRIX_C));
    expect_sets(p_of, NULL, bytes_of(TJ_MATRIX_P));
    for (size_t i = 0; i < bench.sets; i++) {
        const tj_operands *x = &bench.set[i];

        cr_expect(x->j == 30 && x->k == 20 && x->l == 40 && x->batch == 3);
        cr_expect(x->m.ld == 21 && x->n.ld == 42 && x->p.ld == 43 && x->c.ld == 44);
        cr_expect(x->m.stride == 1000 && x->p.stride == 2000 && x->c.stride == 3000);
        cr_expect(x->alpha != 0 && x->alpha != 1 && x->beta != 0 && x->beta != 1, "or a kernel may forget them");
    }
}

Test(bench, leaves_warm_operands_where_they_are)
{
    const tj_problem problem = f32(30, 20, 40);

    fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 200000);
    place(&problem, 1);
    cr_expect(eq(sz, bench.sets, 1));
    cr_expect(bench.set[0].alpha == 1 && bench.set[0].beta == 0);
    cr_expect(eq(ptr, (void *)bench.set[0].c.address, NULL));
    cr_expect(bench.set[0].c.ld == 0 && bench.set[0].c.stride == 0);
}

/* The arrays of each set lead to the matrices of that set. */
Test(bench, points_to_the_matrices_of_each_set)
{
    tj_problem problem = padded_problem();
    int64_t distance;

    problem.m.stride = problem.c.stride = TJ_POINTERS;
    problem.n.stride = problem.p.stride = TJ_POINTERS_16;
    fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 200000);
    place(&problem, 0);
    cr_assert(bench.sets > 5);
    distance = (char *)((void *const *)bench.set[1].p.address)[0] - (char *)((void *const *)bench.set[0].p.address)[0];
    cr_expect(distance >= (int64_t)bytes_of(TJ_MATRIX_P));
    for (size_t i = 0; i < bench.sets; i++)
        for (int64_t b = 0; b < 3; b++) {
            const tj_operands *x = &bench.set[i];
            const float *m = ((const float *const *)x->m.address)[b], *n = ((const float *const *)x->n.address)[b];
            const float *c = ((const float *const *)x->c.address)[b], *p = ((const float *const *)x->p.address)[b];
            const int64_t at = (b + 1) % 3 * INT64_C(2147483629) % 3; /* not in the order in which they lie */

            cr_expect(memcmp(m, (float *)host_of(TJ_MATRIX_M) + at * bench.known.m.stride, 30 * 4) == 0, "%zu, %d", i, (int)b);
            cr_expect(memcmp(n, (float *)host_of(TJ_MATRIX_N) + at * bench.known.n.stride, 42 * 4) == 0, "%zu, %d", i, (int)b);
            cr_expect(memcmp(c, (float *)host_of(TJ_MATRIX_C) + at * bench.known.c.stride, 44 * 4) == 0, "%zu, %d", i, (int)b);
            cr_expect(p == (float *)tj_workbench_address(bench.operands, 0, TJ_MATRIX_P) + (int64_t)i * distance / 4 +
                               at * bench.known.p.stride);
        }
}

static void expect_workspace(size_t bytes)
{
    cr_assert(bench.set[0].workspace != NULL);
    for (size_t i = 0; i < bench.sets; i++) {
        cr_expect(eq(ptr, bench.set[i].workspace, bench.set[0].workspace), "set %zu", i);
        cr_expect(eq(sz, bench.set[i].workspace_bytes, bytes), "set %zu", i);
    }
}

Test(bench, makes_room_for_the_largest_workspace)
{
    const tj_problem problem = f32(4, 1000, 64);
    const tj_program *none, *small, *large;

    fake.fake_set_parameters_of("reduce", 2, (const size_t[]){8, 8});
    fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 400000);
    place(&problem, 0);
    cr_assert(bench.sets > 1);
    none = program_of(&problem, "naive");
    small = program_of(&problem, "skinny:splits=2");
    large = program_of(&problem, "skinny:splits=4");
    cr_assert(tj_program_workspace_bytes(small) > 0 && tj_program_workspace_bytes(large) > tj_program_workspace_bytes(small));
    cr_assert(eq(int, tj_bench_fit(&bench, none, &err), TJ_OK));
    cr_expect(eq(ptr, bench.set[0].workspace, NULL));
    cr_assert(eq(int, tj_bench_fit(&bench, small, &err), TJ_OK));
    expect_workspace(tj_program_workspace_bytes(small));
    cr_assert(eq(int, tj_bench_fit(&bench, large, &err), TJ_OK));
    expect_workspace(tj_program_workspace_bytes(large));
    cr_assert(eq(int, tj_bench_fit(&bench, small, &err), TJ_OK));
    expect_workspace(tj_program_workspace_bytes(large));
}

/* ---- times -------------------------------------------------------------------------------------------------------- */

/* Every launch takes a millisecond here. */
static unsigned long launches_of(const tj_program *program, double best_us, int32_t state)
{
    const unsigned long before = fake.fake_launches();
    tj_trial trial = {0};

    cr_assert(eq(int, tj_bench_time(&bench, program, best_us, &trial, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, trial.state, state));
    cr_expect(eq(dbl, trial.us, 1000));
    return fake.fake_launches() - before;
}

Test(bench, spends_launches_on_what_may_be_the_best)
{
    const tj_problem problem = f32(30, 20, 40);
    const tj_program *program;
    unsigned long slower, first, faster;

    place(&problem, 1);
    program = program_of(&problem, "naive");
    first = launches_of(program, 0, TJ_TRIAL_TIMED);
    faster = launches_of(program, 990, TJ_TRIAL_TIMED);
    slower = launches_of(program, 500, TJ_TRIAL_TIMED);
    cr_expect(eq(ulong, launches_of(program, 300, TJ_TRIAL_SLOW), 2));
    cr_expect(slower > 2 && slower < faster && faster == first, "%lu %lu %lu", slower, faster, first);
}

/* Return the launches before a deadline, that many seconds away. */
static unsigned long launches_within(const tj_program *program, double seconds)
{
    bench.deadline = tj_clock_s() + seconds;
    return launches_of(program, 0, TJ_TRIAL_TIMED);
}

/* The first ones run whatever the time; of the others those that will have ended. On this clock no time passes between two. */
Test(bench, begins_no_launch_that_would_end_too_late)
{
    const tj_problem problem = f32(30, 20, 40);
    const tj_program *program;
    unsigned long all;

    place(&problem, 1);
    program = program_of(&problem, "naive");
    all = launches_of(program, 0, TJ_TRIAL_TIMED);
    cr_expect(eq(ulong, launches_within(program, 3600), all));
    cr_expect(eq(ulong, launches_within(program, -1), 2));
    cr_expect(eq(ulong, launches_within(program, 0.0015), 2), "a sample would be the second millisecond's");
    cr_expect(eq(ulong, launches_within(program, 0.0035), 2 + 3 + 2),
              "two samples and a launch ahead; and two more without one");
    cr_expect(eq(dbl, tj_round_seconds(1000, bench.sets), 1e-3 * (1 + 3)));
}

/* A launch that the driver refuses is that config's trouble; a lost device is everybody's. */
Test(bench, tells_trouble_of_one_config_from_that_of_all)
{
    static const struct {
        CUresult result;
        tj_status status;
    } row[] = {{CUDA_ERROR_INVALID_VALUE, TJ_OK}, {CUDA_ERROR_ILLEGAL_ADDRESS, TJ_ERR_DEVICE_LOST}};
    const tj_problem problem = f32(30, 20, 40);
    const tj_program *program;

    place(&problem, 1);
    program = program_of(&problem, "naive");
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        tj_trial trial = {0};

        fake.fake_fail("cuLaunchKernel", 0, row[i].result);
        fake.fake_fail("cuLaunchKernelEx", 0, row[i].result);
        cr_expect(eq(int, tj_bench_time(&bench, program, 0, &trial, &err), row[i].status));
        if (row[i].status == TJ_OK)
            cr_expect(trial.state == TJ_TRIAL_REFUSED && trial.why[0] != '\0');
        else
            cr_expect(err.message[0] != '\0');
    }
}
