/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (it needs a GPU) */
/* tier: change; run: emulator/f32_split small; cost: 100 */
/*
 * f32_split: products by planes on the device, of matrices of several distributions: the path that it took, errors within the
 * bound of plain f32, and their size next to those of plain f32. `f32_split small` has one shape, for the emulator.
 */
#include "gpu_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef double (*number_fn)(bool is_m, int64_t at);

static uint64_t state = 1;

static double uniform(void) /* in (0, 1) */
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return ((double)(state >> 12) + 0.5) * 0x1p-52;
}

static double is_uniform(bool is_m, int64_t at)
{
    (void)is_m, (void)at;
    return 2 * uniform() - 1;
}

static double is_normal(bool is_m, int64_t at)
{
    const double size = sqrt(-2 * log(uniform()));

    (void)is_m, (void)at;
    return size * cos(6.283185307179586 * uniform());
}

static double is_lognormal(bool is_m, int64_t at)
{
    return exp(is_normal(is_m, at));
}

static double is_lognormal_6(bool is_m, int64_t at)
{
    return exp(6 * is_normal(is_m, at)) * (uniform() < 0.5 ? -1 : 1);
}

static double has_infinity(bool is_m, int64_t at)
{
    return is_m && at == 77 ? INFINITY : is_uniform(is_m, at);
}

static const struct kind {
    const char *name;
    number_fn number;
    int32_t path;
} kinds[] = {
    {"uniform", is_uniform, TJ_PATH_F16},       {"normal", is_normal, TJ_PATH_F16},
    {"log-normal", is_lognormal, TJ_PATH_F16},  {"log-normal, sigma 6", is_lognormal_6, TJ_PATH_BF16},
    {"an infinity", has_infinity, TJ_PATH_F32},
};
enum { UNIFORM = 1, LOGNORMAL = 4, LOGNORMAL_6 = 8, AN_INFINITY = 16, ALL_KINDS = 31 };

static const char *const families[] = {"planes", "wgmma_planes"};

/* The matrices of a product, here and on the device. */
typedef struct product {
    tj_problem problem;
    float *host[3];
    tj_buffer *device[3], *workspace;
} product;

static size_t count_of(const product *x, int which)
{
    return (size_t)tj_problem_span(&x->problem, (tj_which)which);
}

static bool place(tj_context *context, product *x, const struct kind *kind)
{
    tj_error err = {TJ_OK, ""};

    for (int which = 0; which < 3; which++) {
        const size_t count = count_of(x, which), bytes = count * sizeof(float);

        x->host[which] = malloc(bytes);
        for (size_t i = 0; i < count && which < 2; i++)
            x->host[which][i] = (float)kind->number(which == 0, (int64_t)i);
        if (!expect(tj_buffer_create(context, bytes, &x->device[which], &err) == TJ_OK &&
                        (which == 2 || tj_buffer_write(x->device[which], 0, x->host[which], bytes, &err) == TJ_OK),
                    "%s", err.message))
            return false;
    }
    return true;
}

static void drop(product *x)
{
    for (int which = 0; which < 3; which++) {
        free(x->host[which]);
        tj_buffer_free(x->device[which]);
    }
    tj_buffer_free(x->workspace);
    x->workspace = NULL;
}

/* Multiply by a config; the largest error over the root mean square of P, or -1. path: 0 where there is one way alone, or none. */
static double multiply(tj_context *context, product *x, int32_t compute, const char *name, int32_t *path)
{
    const double max_flop = 5e8; /* of the reference: as many rows as that allows */
    tj_host_operands host = TJ_HOST_OPERANDS(x->host[0], x->host[1]);
    tj_problem problem = x->problem, plain = x->problem;
    tj_operands operands = TJ_OPERANDS_INIT;
    tj_error err = {TJ_OK, ""};
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    const tj_plan *plan = NULL;
    tj_config config;
    bool is_right;

    *path = 0;
    problem.compute = compute;
    if (!expect(tj_config_parse(name, &config, &err) == TJ_OK &&
                    (tj_plan_prepare(context, &problem, &config, &plan, &err) == TJ_OK || err.status == TJ_ERR_UNSUPPORTED),
                "%s: %s", name, err.message) ||
        !plan)
        return -1;
    operands.m.address = tj_buffer_address(x->device[0]);
    operands.n.address = tj_buffer_address(x->device[1]);
    operands.p.address = tj_buffer_address(x->device[2]);
    operands.workspace_bytes = tj_plan_workspace_bytes(plan);
    tj_buffer_free(x->workspace);
    x->workspace = NULL;
    if (operands.workspace_bytes > 0) {
        if (!expect(tj_buffer_create(context, operands.workspace_bytes, &x->workspace, &err) == TJ_OK &&
                        tj_buffer_fill(x->workspace, 0xff, &err) == TJ_OK,
                    "%s", err.message))
            return -1;
    }
    operands.workspace = x->workspace ? tj_buffer_address(x->workspace) : NULL;
    is_right =
        expect(tj_buffer_fill(x->device[2], 0xff, &err) == TJ_OK && tj_plan_launch(plan, &operands, NULL, &err) == TJ_OK &&
                   (tj_kernel_path_count(tj_plan_kernel(plan)) == 0 ||
                    tj_kernel_copy_paths(tj_plan_kernel(plan), operands.workspace, path, 1, NULL, &err) == TJ_OK) &&
                   tj_synchronize(context, NULL, &err) == TJ_OK &&
                   tj_buffer_read(x->device[2], 0, x->host[2], count_of(x, 2) * sizeof(float), &err) == TJ_OK &&
                   tj_reference_check(&plain, &host, x->host[2], max_flop, 0, &report, &err) == TJ_OK,
               "%s: %s", name, err.message) &&
        expect(report.passed, "%s: %s", name, report.reason);
    return is_right ? report.max_error / (report.norm / sqrt((double)report.elements)) : -1;
}

/* With the numbers of those kinds whose bits are set. */
static void test_shape(tj_context *context, int64_t j, int64_t k, int64_t l, int layouts, unsigned chosen)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!(chosen >> i & 1))
            continue;
        product x = {.problem = TJ_PROBLEM_INIT(j, k, l, TJ_F32)};
        int32_t path, none;

        x.problem.m.layout = layouts & 1;
        x.problem.n.layout = (layouts >> 1) & 1;
        x.problem.p.layout = layouts >> 2;
        if (place(context, &x, &kinds[i])) {
            const double plain = multiply(context, &x, TJ_COMPUTE_F32, "simt", &none);

            for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
                const double ours = multiply(context, &x, TJ_COMPUTE_F32_SPLIT, families[f], &path);

                if (path == 0)
                    continue; /* a family that this device lacks */
                expect(path == kinds[i].path, "%s: by %s", kinds[i].name, tj_path_name((tj_path)path));
                printf("%lldx%lldx%lld %-20s %-12s %-7s largest error / rms of P: %.2e, plain f32 %.2e\n", (long long)j,
                       (long long)k, (long long)l, kinds[i].name, families[f], tj_path_name((tj_path)path), ours, plain);
            }
        }
        drop(&x);
    }
}

int main(int argc, char **argv)
{
    tj_context *context = open_gpu("f32_split", NULL);

    test_shape(context, 70, 203, 66, 0, ALL_KINDS);
    if (argc < 2 || strcmp(argv[1], "small") != 0) {
        for (int layouts = 0; layouts < 8; layouts++) /* each path, in half of the layouts */
            test_shape(context, 1023, 511, 777, layouts, layouts % 2 ? LOGNORMAL | AN_INFINITY : UNIFORM | LOGNORMAL_6);
        test_shape(context, 512, 512, 512, 0, ALL_KINDS);
        test_shape(context, 4096, 4096, 4096, 0, ALL_KINDS);
        test_shape(context, 300, 100000, 260, 2, UNIFORM | LOGNORMAL_6 | AN_INFINITY);
    }
    tj_context_free(context);
    return finish("f32_split");
}
