/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * Repacked weights, in every family that reads them: the product of weights that tj_repack wrote is that of the same weights in
 * their natural order, which the reference multiplies. The order itself: tests/reference/test_repack.c. Random problems:
 * tests/gpu/draw.h.
 */
#include <stdint.h>
#include <stdlib.h>

#include "product_test.h"

static void start(void)
{
    open_context("sm_90", TJ_PROVE_NEVER);
}

TestSuite(repacked, .init = start, .fini = stop, .timeout = 300);

static void *filled(tj_type type, int64_t count, uint64_t seed)
{
    void *const values = calloc((size_t)count + 1, tj_type_bytes(type));

    cr_assert(ne(ptr, values, NULL));
    tj_fill_random(type, values, (size_t)count, seed);
    return values;
}

/* Launch with these arrays, of which N was repacked, and let the reference judge P with N in its natural order. */
static void compare(const tj_problem *problem, const tj_host_operands *natural, const void *const host[TJ_OPERANDS_MOST],
                    const char *config_text)
{
    const int64_t elements = tj_problem_span(problem, TJ_MATRIX_P);
    tj_problem as_it_was = *problem;
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_config config = TJ_CONFIG_INIT;
    void *const p = calloc((size_t)elements, sizeof(float));
    tj_workbench *bench;
    const tj_plan *plan;

    memcpy(options.host, host, sizeof options.host);
    cr_assert(eq(int, tj_config_parse(config_text, &config, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_prepare(context, problem, &config, &plan, &err), TJ_OK), "%s: %s", config_text, err.message);
    cr_assert(eq(int, tj_workbench_create(context, problem, &options, &bench, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_workbench_fit(bench, tj_plan_workspace_bytes(plan), &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_launch(plan, tj_workbench_operands(bench), NULL, &err), TJ_OK), "%s: %s", config_text,
              err.message);
    cr_assert(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_workbench_read(bench, 0, p, &err), TJ_OK), "%s", err.message);
    as_it_was.n.order = TJ_ORDER_NATURAL;
    cr_assert(eq(int, tj_reference_check(&as_it_was, natural, p, 0, 1, &report, &err), TJ_OK), "%s", err.message);
    cr_expect(report.passed, "%s, weights of %s: %s", config_text, tj_type_name((tj_type)problem->n.type), report.reason);
    tj_workbench_free(bench);
    tj_plan_release(plan);
    free(p);
}

/* Multiply by weights with those scales, none if their type is 0. */
static void multiply(int64_t j, int64_t l, tj_type activations, tj_type weights, tj_scale scale, const char *config_text)
{
    enum { K = 512 };
    tj_problem problem = TJ_PROBLEM_INIT(j, K, l, (int32_t)activations);
    const int64_t bytes = l * K / 2, scales = scale.k ? l * (K / scale.k) : 0;
    void *const m = filled(activations, j * K, 1), *const n = filled(weights, bytes, 2),
                *const repacked = calloc(1, (size_t)bytes),
                *const s = filled(scale.type ? (tj_type)scale.type : TJ_F32, scales, 3), *const z = filled(TJ_U4, scales, 4);
    tj_host_operands natural = TJ_HOST_OPERANDS(m, n);

    problem.n.type = (int32_t)weights;
    problem.n.layout = TJ_COL_MAJOR;
    problem.n.order = TJ_ORDER_REPACKED;
    problem.scale[TJ_MATRIX_N] = scale;
    cr_assert(eq(int, tj_repack_host(repacked, n, bytes, TJ_ORDER_REPACKED, &err), TJ_OK), "%s", err.message);
    natural.scale[TJ_MATRIX_N].address = s;
    natural.zero[TJ_MATRIX_N].address = z;
    compare(&problem, &natural,
            (const void *const[TJ_OPERANDS_MOST]){[TJ_MATRIX_M] = m,
                                                  [TJ_MATRIX_N] = repacked,
                                                  [TJ_OPERAND_SCALE + TJ_MATRIX_N] = scale.type ? s : NULL,
                                                  [TJ_OPERAND_ZERO + TJ_MATRIX_N] = scale.zero ? z : NULL},
            config_text);
    free(m), free(n), free(repacked), free(s), free(z);
}

#define NONE ((tj_scale){0})
#define OF(scale_type, each) ((tj_scale){.type = scale_type, .layout = TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = each})
#define ZEROS(scale_type, each) \
    ((tj_scale){.type = scale_type, .layout = TJ_SCALES_ROW_BY_ROW, .zero = TJ_U4, .rows = 1, .k = each})

static const char *const configs[] = {"naive:tile_width=8",
                                      "tiled:tile_width=8",
                                      "thin:slices=2",
                                      "mma:bm=16,bn=32,steps=4",
                                      "mma:bm=32,bn=32,wm=16,steps=8,slices=2,splits=2",
                                      "wgmma:swap=yes,bm=64,bn=16",
                                      "wgmma:swap=yes,bm=64,bn=16,cluster=k2,multipliers=2"};

/* Families with tensor cores take groups of 128; edges are ragged. */
Test(repacked, weights_of_all_types_are_multiplied_by_every_family)
{
    static const tj_type types[] = {TJ_S4, TJ_U4, TJ_E2M1};

    for (size_t c = 0; c < sizeof configs / sizeof configs[0] && has_nvrtc(); c++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
            multiply(5, 40, TJ_BF16, types[t], NONE, configs[c]);
            multiply(11, 72, TJ_F16, types[t], OF(TJ_F32, 128), configs[c]);
        }
}

Test(repacked, mxfp4_is_multiplied_by_every_family)
{
    for (size_t c = 0; c < sizeof configs / sizeof configs[0] && has_nvrtc(); c++)
        multiply(9, 40, TJ_BF16, TJ_E2M1, OF(TJ_E8M0, 32), configs[c]);
}

/* Thin loads blocks of 32, each with one scale at most. */
Test(repacked, shorter_groups_and_zero_points_are_taken_too)
{
    for (size_t c = 0; c < sizeof configs / sizeof configs[0] && has_nvrtc(); c++) {
        const bool is_thin = strncmp(configs[c], "thin", 4) == 0;

        multiply(9, 40, TJ_F16, TJ_U4, ZEROS(TJ_F16, is_thin ? 128 : 32), configs[c]);
        if (!is_thin)
            multiply(9, 40, TJ_BF16, TJ_E2M1, OF(TJ_E4M3, 16), configs[c]);
    }
}

/* A warp of thin with a scale above 2^4 multiplies in two steps; 255 is NaN. */
Test(repacked, scales_of_any_power_are_exact)
{
    enum { K = 512, COLS = 16 };
    static const char *const by_powers[] = {"thin:slices=2", "wgmma:swap=yes,bm=64,bn=8"};
    static uint8_t n[COLS * K / 2], s[COLS * K / 32];
    static uint16_t m[K];
    tj_problem problem = TJ_PROBLEM_INIT(1, K, COLS, TJ_BF16);
    tj_host_operands natural = TJ_HOST_OPERANDS(m, n);
    uint8_t repacked[sizeof n];

    tj_fill_random(TJ_BF16, m, K, 1);
    tj_fill_random(TJ_E2M1, n, sizeof n, 2);
    for (size_t i = 0; i < sizeof s; i++)
        s[i] = (uint8_t)(i / (K / 32) == 3 ? 255 : i / (K / 32) % 2 ? 120 + i % 30 : 118 + i % 10);
    problem.n.type = TJ_E2M1;
    problem.n.layout = TJ_COL_MAJOR;
    problem.n.order = TJ_ORDER_REPACKED;
    problem.scale[TJ_MATRIX_N] = OF(TJ_E8M0, 32);
    natural.scale[TJ_MATRIX_N].address = s;
    cr_assert(eq(int, tj_repack_host(repacked, n, sizeof n, TJ_ORDER_REPACKED, &err), TJ_OK), "%s", err.message);
    for (size_t c = 0; c < sizeof by_powers / sizeof by_powers[0] && has_nvrtc(); c++)
        compare(&problem, &natural,
                (const void *const[TJ_OPERANDS_MOST]){
                    [TJ_MATRIX_M] = m, [TJ_MATRIX_N] = repacked, [TJ_OPERAND_SCALE + TJ_MATRIX_N] = s},
                by_powers[c]);
}

/* The kernel writes what the host does, and back, in place too. */
Test(repacked, weights_on_the_device_are_those_of_the_host)
{
    enum { BYTES = 300 * TJ_REPACKED_BYTES };
    static uint8_t natural[BYTES], repacked[BYTES], got[BYTES];
    tj_buffer *from, *to;

    if (!has_nvrtc())
        return;
    tj_fill_random(TJ_U4, natural, BYTES, 1);
    cr_assert(eq(int, tj_repack_host(repacked, natural, BYTES, TJ_ORDER_REPACKED, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_create(context, BYTES, &from, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_create(context, BYTES, &to, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_write(from, 0, natural, BYTES, &err), TJ_OK), "%s", err.message);
    uint8_t *const address = tj_buffer_address(to);

    cr_assert(eq(int, tj_repack(context, address, tj_buffer_address(from), BYTES, TJ_ORDER_REPACKED, NULL, &err), TJ_OK), "%s",
              err.message);
    cr_assert(eq(int, tj_buffer_read(to, 0, got, BYTES, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, memcmp(got, repacked, BYTES), 0));
    cr_assert(eq(int, tj_repack(context, address, address, BYTES, TJ_ORDER_NATURAL, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_read(to, 0, got, BYTES, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, memcmp(got, natural, BYTES), 0));

    cr_expect(eq(int, tj_repack(context, address + 8, address, 16, TJ_ORDER_REPACKED, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(ne(ptr, strstr(err.message, "multiple of 16"), NULL), "%s", err.message);
    cr_expect(eq(int, tj_repack(context, address, address, 17, TJ_ORDER_REPACKED, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_repack(context, NULL, address, 16, TJ_ORDER_REPACKED, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_repack(NULL, address, address, 16, TJ_ORDER_REPACKED, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_repack(context, NULL, NULL, 0, TJ_ORDER_REPACKED, NULL, &err), TJ_OK));
    tj_buffer_free(from);
    tj_buffer_free(to);
}
