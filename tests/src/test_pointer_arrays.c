/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Products of matrices that lie anywhere, from tj_matmul to the emulator, which stops at the first access that is misaligned or
 * outside of an allocation: every matrix is an allocation of its own.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

enum { J = 20, K = 36, L = 28, BATCH = 5, MOST = 1024 };

static tj_error err;

static tj_context *open_context(tj_specialize specialize)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = NULL;

    cr_assert(setenv("TILEJIT_EMULATOR", EMULATOR_PATH, 1) == 0);
    options.driver = "emulator";
    options.cache_dir = "";
    options.specialize = specialize;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    return context;
}

static void point_to(tj_problem *problem, int64_t kind)
{
    problem->m.stride = problem->n.stride = problem->p.stride = problem->c.stride = kind;
}

/* One operand: a matrix for each product, in host and device memory, and arrays of pointers to both. */
typedef struct operand {
    float host[BATCH][MOST];
    const void *to_host[BATCH], *to_device[BATCH];
    tj_buffer *device[BATCH], *array;
    size_t skew;
} operand;

/* Each matrix begins skew bytes past an address that is aligned to 256. */
static void place(tj_context *context, operand *x, size_t elements, size_t skew, uint64_t seed)
{
    x->skew = skew;
    tj_fill_random(TJ_F32, x->host, BATCH * MOST, seed);
    for (int i = 0; i < BATCH; i++) {
        cr_assert(eq(int, tj_buffer_create(context, skew + elements * 4, &x->device[i], &err), TJ_OK));
        cr_assert(eq(int, tj_buffer_write(x->device[i], skew, x->host[i], elements * 4, &err), TJ_OK));
        x->to_host[i] = x->host[i];
        x->to_device[i] = (char *)tj_buffer_address(x->device[i]) + skew;
    }
    cr_assert(eq(int, tj_buffer_create(context, sizeof x->to_device, &x->array, &err), TJ_OK));
    cr_assert(eq(int, tj_buffer_write(x->array, 0, x->to_device, sizeof x->to_device, &err), TJ_OK));
}

static void drop(operand *x)
{
    for (int i = 0; i < BATCH; i++)
        tj_buffer_free(x->device[i]);
    tj_buffer_free(x->array);
}

/* All operands through pointers; config NULL: the library's choice. The status of the launch and of the wait for it. */
static tj_status compute(tj_context *context, const tj_problem *problem, const char *config_text, size_t skew, bool with_c)
{
    static operand m, n, p, c;
    const bool reads_c = problem->epilogue.has_beta && with_c;
    const tj_host_operands host = {sizeof host, m.to_host, n.to_host, c.to_host, 1.0, reads_c ? 2.0 : 0.0};
    tj_operands x = TJ_OPERANDS_INIT;
    tj_config config;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    const tj_plan *plan;
    tj_status status;

    place(context, &m, J * K, skew, 1);
    place(context, &n, K * L, skew, 2);
    place(context, &p, J * L, skew, 3);
    place(context, &c, J * L, skew, 4);
    x.m.address = tj_buffer_address(m.array);
    x.n.address = tj_buffer_address(n.array);
    x.p.address = tj_buffer_address(p.array);
    x.c.address = reads_c ? tj_buffer_address(c.array) : NULL;
    x.beta = host.beta;
    x.batch = BATCH;
    if (config_text) {
        cr_assert(eq(int, tj_config_parse(config_text, &config, &err), TJ_OK), "%s", err.message);
        status = tj_plan_prepare(context, problem, &config, &plan, &err);
        status = status == TJ_OK ? tj_plan_launch(plan, &x, NULL, &err) : status;
    } else {
        status = tj_matmul(context, problem, &x, NULL, &err);
    }
    if (status == TJ_OK)
        status = tj_synchronize(context, NULL, &err);
    if (status != TJ_OK)
        return status;
    for (int i = 0; i < BATCH; i++)
        cr_assert(eq(int, tj_buffer_read(p.device[i], skew, p.host[i], J * L * 4, &err), TJ_OK));
    {
        tj_problem known = *problem;

        known.batch = problem->batch == TJ_ANY ? BATCH : problem->batch;
        cr_assert(eq(int, tj_reference_check(&known, &host, p.to_host, 0, 1, &report, &err), TJ_OK), "%s", err.message);
        cr_expect(report.passed == 1, "%s: %s", config_text ? config_text : "chosen", report.reason);
    }
    drop(&m);
    drop(&n);
    drop(&p);
    drop(&c);
    return TJ_OK;
}

static tj_problem some_problem(int64_t kind)
{
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F32);

    problem.batch = BATCH;
    problem.epilogue.has_beta = 1;
    point_to(&problem, kind);
    return problem;
}

static const char *const configs[] = {"naive:tile_width=8",      "tiled",
                                      "tiled:shared=dynamic",    "simt",
                                      "simt:copy=registers",     "simt:splits=2,bm=32,bn=64,tm=4,tn=4",
                                      "skinny:splits=1",         "skinny:splits=3",
                                      "small_batch:products=2",  "small_batch",
                                      "small_batch:products=20", "small_batch:copy=registers,products=3"};
enum { CONFIGS = sizeof configs / sizeof configs[0] };

/* An address is asked for no more than its elements ask for. */
Test(pointer_arrays, may_lead_to_any_element)
{
    tj_context *context = open_context(TJ_SPECIALIZE_SHAPES);

    for (int i = 0; i < CONFIGS; i++) {
        const tj_problem problem = some_problem(TJ_POINTERS);

        for (size_t skew = 0; skew <= 12; skew += 4)
            cr_expect(eq(int, compute(context, &problem, configs[i], skew, skew != 8), TJ_OK), "%s: %s", configs[i],
                      err.message);
    }
    tj_context_free(context);
}

Test(pointer_arrays, with_a_promise_lead_to_multiples_of_16_bytes)
{
    tj_context *context = open_context(TJ_SPECIALIZE_SHAPES);

    for (int i = 0; i < CONFIGS; i++) {
        const tj_problem problem = some_problem(TJ_POINTERS_16);

        cr_expect(eq(int, compute(context, &problem, configs[i], 16, true), TJ_OK), "%s: %s", configs[i], err.message);
    }
    tj_context_free(context);
}

/* No product at all, rather than a wrong one. */
Test(pointer_arrays, with_a_broken_promise_end_in_the_error_of_the_device)
{
    tj_context *context = open_context(TJ_SPECIALIZE_SHAPES);
    const tj_problem problem = some_problem(TJ_POINTERS_16);

    cr_expect(eq(int, compute(context, &problem, "small_batch", 4, true), TJ_ERR_DEVICE_LOST));
    cr_expect(strstr(err.message, "MISALIGNED") != NULL, "%s", err.message);
    tj_context_free(context);
}

/* C is not looked for where beta is 0, not even in an array that ends before the batch. */
Test(pointer_arrays, of_whatever_the_library_chooses_and_for_any_shape)
{
    static const tj_specialize tiers[] = {TJ_SPECIALIZE_SHAPES, TJ_SPECIALIZE_TYPES};

    for (int tier = 0; tier < 2; tier++) {
        tj_context *context = open_context(tiers[tier]);

        for (int kind = 0; kind < 2; kind++)
            for (int is_passed = 0; is_passed < 2; is_passed++) {
                tj_problem problem = some_problem(kind ? TJ_POINTERS_16 : TJ_POINTERS);

                problem.batch = is_passed ? TJ_ANY : BATCH;
                cr_expect(eq(int, compute(context, &problem, NULL, kind ? 16 : 4, true), TJ_OK), "%s", err.message);
                cr_expect(eq(int, compute(context, &problem, NULL, kind ? 16 : 4, false), TJ_OK), "%s", err.message);
            }
        tj_context_free(context);
    }
}

Test(pointer_arrays, may_hold_one_pointer)
{
    tj_context *context = open_context(TJ_SPECIALIZE_SHAPES);

    for (int i = 0; i < CONFIGS; i++) {
        tj_problem problem = some_problem(TJ_POINTERS);

        problem.batch = 1;
        if (strstr(configs[i], "products"))
            continue; /* several to a block */
        cr_expect(eq(int, compute(context, &problem, configs[i], 4, true), TJ_OK), "%s: %s", configs[i], err.message);
    }
    tj_context_free(context);
}

Test(pointer_arrays, on_the_host_are_named_with_the_remedy)
{
    static const void *on_the_host[BATCH];
    tj_context *context = open_context(TJ_SPECIALIZE_SHAPES);
    const tj_problem problem = some_problem(TJ_POINTERS);
    tj_operands x = TJ_OPERANDS_INIT;

    x.m.address = on_the_host;
    x.n.address = on_the_host;
    x.p.address = (void *)(uintptr_t)(on_the_host + 1);
    cr_expect(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "the array of pointers to M at 0x") && strstr(err.message, "copy it to the device first"),
              "%s", err.message);
    tj_context_free(context);
}
