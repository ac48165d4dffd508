/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (it needs a GPU) */
/* tier: change; run: emulator/epilogues 27 7 small; cost: 100 */
/* tier: change; run: emulator/epilogues_tcgen05 8 9 small tcgen05; env: CUDA_EMULATOR_DEVICES=sm_100; cost: 30 */
/* tier: nightly; run: emulator/epilogues_tcgen05_more 200 10 small tcgen05; env: CUDA_EMULATOR_DEVICES=sm_100; sanitizers: never (minutes of numbers) */
/* tier: nightly; run: emulator/epilogues_more 216 8 small; sanitizers: never (minutes of numbers) */
/*
 * epilogues [CASES [SEED [small [FAMILY]]]]: products with random expressions, in every family and type, on the device, compared with the float64
 * reference between guards. "small" keeps extents below 100, for the emulator.
 */
#include "gpu_test.h"
#include "scales.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static uint64_t random_state;

static uint64_t next(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int below(int count)
{
    return (int)(next() % (uint64_t)count);
}

/* ---- expressions -------------------------------------------------------------------------------------------------- */

enum { TEXT_BYTES = 1024, DEEPEST = 4, TYPES = 6 };

static int type_of_small, type_of_e; /* of operands, in this expression */
static bool takes_pairs;             /* of columns */

static void append(char *text, const char *more)
{
    if (strlen(text) + strlen(more) < TEXT_BYTES)
        strcat(text, more);
}

static void add_leaf(char *text, bool is_f64)
{
    static const char *const leaves[] = {
        "acc",    "acc",    "acc",          "bias[col]",    "gain[row]", "residual[row,col]", "slope",    "0.5", "2", "alpha",
        "beta*c", "row/16", "small:*[col]", "e:*[row,col]", "c",         "(col - row)/8",     "factor[0]"};
    static const char *const types[TYPES] = {"bf16", "f16", "e4m3", "e5m2", "s8", "f32"};
    const char *leaf = leaves[below((int)(sizeof leaves / sizeof leaves[0]))], *star = strchr(leaf, '*');

    if (!star || star[1] != '[') {
        append(text, strcmp(leaf, "acc") != 0 || !takes_pairs ? leaf : below(2) ? "acc[2*col]" : "acc[2 * col + 1]");
        return;
    }
    /* One type for each name, or it would have two. */
    strncat(text, leaf, (size_t)(star - leaf));
    append(text, is_f64 ? "f32" : types[leaf[0] == 's' ? type_of_small : type_of_e]);
    append(text, star + 1);
}

static void add_condition(char *text, bool is_f64, int depth);

/* Values stay within what f32 holds: arguments of exp and divisors are kept in bounds. */
static void add_value(char *text, bool is_f64, int depth)
{
    static const char *const calls[] = {"abs(",       "relu(",     "tanh(",          "erf(", "sigmoid(",
                                        "gelu(",      "silu(",     "gelu_tanh(",     "-(",   "exp(-abs(",
                                        "log(1+abs(", "sqrt(abs(", "rsqrt(0.25+abs("};
    static const char *const signs[] = {" + ", " - ", " * ", " + ", "min", "max", " / "};
    const int kind = depth >= DEEPEST ? 0 : below(10);

    if (kind < 2) {
        add_leaf(text, is_f64);
    } else if (kind < 5) {
        const char *call = calls[below((int)(sizeof calls / sizeof calls[0]))];

        append(text, call);
        add_value(text, is_f64, depth + 1);
        append(text, strstr(call, "abs(") && call[0] != 'a' ? "))" : ")");
    } else if (kind < 8) {
        const char *sign = signs[below((int)(sizeof signs / sizeof signs[0]))];

        append(text, sign[0] == 'm' ? sign : "");
        append(text, "(");
        add_value(text, is_f64, depth + 1);
        append(text, sign[0] == 'm' ? ", " : sign);
        append(text, sign[1] == '/' ? "(1 + abs(" : "");
        add_value(text, is_f64, depth + 1);
        append(text, sign[1] == '/' ? ")))" : ")");
    } else if (kind == 8) {
        append(text, "select(");
        add_condition(text, is_f64, depth + 1);
        append(text, ", ");
        add_value(text, is_f64, depth + 1);
        append(text, ", ");
        add_value(text, is_f64, depth + 1);
        append(text, ")");
    } else {
        append(text, is_f64 ? "f32(" : below(2) ? "bf16(" : "s8(");
        add_value(text, is_f64, depth + 1);
        append(text, ")");
    }
}

static void add_condition(char *text, bool is_f64, int depth)
{
    static const char *const signs[] = {" < ", " <= ", " > ", " >= ", " == ", " != "};

    switch (below(4)) {
    case 0:
        append(text, "row >= col && col != 3");
        break;
    case 1:
        append(text, "!(row < 5) || col < 7");
        break;
    default:
        add_value(text, is_f64, depth);
        append(text, signs[below(6)]);
        add_value(text, is_f64, depth);
    }
}

/* An output for each row or column, or both. */
static void add_reductions(char *text, bool is_f64)
{
    static const char *const starts[] = {"peak[row] = max(abs(", "total[col] = sum((", "most[col] = max((", "sums[row] = sum((",
                                         "few:bf16[col] = max(abs("};
    const int count = 1 + below(3), first = below(5);

    for (int i = 0; i < count; i++) {
        append(text, starts[is_f64 ? (first + i) % 4 : (first + i) % 5]);
        add_value(text, is_f64, 2);
        append(text, ")); ");
    }
}

/* Draw one that parses: a text may be too long, or have beta without c. */
static void draw_epilogue(bool is_f64, bool pairs, bool reduces, tj_epilogue *epilogue)
{
    char text[TEXT_BYTES];

    takes_pairs = pairs;
    do {
        type_of_small = below(TYPES);
        type_of_e = below(TYPES);
        text[0] = '\0';
        if (below(4) == 0) { /* a further output */
            strcpy(text, is_f64 ? "pre[row, col] = " : below(2) ? "pre:bf16[row, col] = " : "pre[row, col] = ");
            add_value(text, is_f64, 2);
            append(text, "; ");
        }
        if (reduces)
            add_reductions(text, is_f64);
        add_value(text, is_f64, 0);
        *epilogue = (tj_epilogue){0};
    } while (!strstr(text, "acc") || strlen(text) > 400 || tj_epilogue_parse(text, epilogue, NULL) != TJ_OK ||
             epilogue->expression.nodes == 0 || (tj_epilogue_pairs(epilogue) != 0) != pairs ||
             (tj_epilogue_reduces(epilogue) != 0) != reduces);
}

/* ---- requests ----------------------------------------------------------------------------------------------------- */

/* The forms that each family takes, in turn. */
static const struct form {
    const char *config;
    int32_t type, compute, p_type;
    int multiple; /* of extents */
    int longest;  /* of l; 0: any */
} forms[] = {
    {"naive", TJ_F32, 0, 0, 1, 0},
    {"tiled", TJ_BF16, 0, TJ_F32, 1, 0},
    {"tiled:shared=dynamic", TJ_S8, 0, TJ_F32, 1, 0},
    {"simt", TJ_F32, 0, 0, 1, 0},
    {"simt:splits=3", TJ_F32, 0, 0, 4, 0},
    {"simt", TJ_F64, 0, 0, 2, 0},
    {"skinny", TJ_F16, 0, 0, 1, 9},
    {"skinny:splits=2", TJ_F32, 0, 0, 4, 16},
    {"strip", TJ_F32, 0, 0, 4, 12},
    {"strip", TJ_BF16, 0, TJ_F32, 8, 12},
    {"strip:copies=boxes", TJ_F32, 0, 0, 4, 12},
    {"small_batch", TJ_F32, 0, 0, 1, 24},
    {"small_batch", TJ_F16, 0, TJ_F32, 4, 24},
    {"mma", TJ_BF16, 0, 0, 8, 0},
    {"mma", TJ_F16, 0, TJ_BF16, 1, 0},
    {"mma:splits=2", TJ_S8, 0, TJ_S8, 16, 0},
    {"mma", TJ_F32, TJ_COMPUTE_TF32, 0, 4, 0},
    {"mma", TJ_E4M3, 0, TJ_E4M3, 16, 0},
    {"planes", TJ_F32, TJ_COMPUTE_F32_SPLIT, 0, 4, 0},
    {"wgmma:store=boxes", TJ_BF16, 0, 0, 8, 0},
    {"wgmma:store=lines", TJ_BF16, 0, 0, 8, 0},
    {"wgmma:store=elements,pack=both", TJ_F16, 0, 0, 1, 0},
    {"wgmma:store=boxes,pingpong=yes", TJ_BF16, 0, TJ_F32, 8, 0},
    {"wgmma:swap=yes,bn=24", TJ_BF16, 0, 0, 8, 0},
    {"wgmma:swap=yes,cluster=n2,bn=40", TJ_F16, 0, 0, 8, 0},
    {"wgmma:cluster=m4,bm=64,bn=32,store=lines", TJ_BF16, 0, TJ_F32, 8, 0},
    {"wgmma:swap=yes,cluster=k2,bn=40", TJ_BF16, 0, 0, 8, 0},
    {"wgmma:cluster=k4,bm=64,bn=32", TJ_S8, 0, TJ_S8, 16, 0},
    {"wgmma:swap=yes,bn=40,splits=2", TJ_BF16, 0, TJ_F32, 8, 0},
    {"wgmma", TJ_S8, 0, TJ_S8, 16, 0},
    {"wgmma", TJ_E4M3, TJ_COMPUTE_F32_FP8, TJ_BF16, 16, 0},
    {"wgmma_planes", TJ_F32, TJ_COMPUTE_F32_SPLIT, 0, 2, 0},
    {"wgmma:splits=2", TJ_F16, 0, TJ_F32, 8, 0},
    {"wgmma", TJ_F32, TJ_COMPUTE_TF32, 0, 8, 0},
    {"tcgen05:store=boxes", TJ_BF16, 0, 0, 8, 0},
    {"tcgen05:store=lines,bn=48", TJ_BF16, 0, TJ_F32, 8, 0},
    {"tcgen05:store=elements,pack=both", TJ_F16, 0, 0, 1, 0},
    {"tcgen05:swap=yes,bm=64,bn=24", TJ_BF16, 0, 0, 8, 0},
    {"tcgen05:splits=2,bm=64", TJ_F16, 0, TJ_F32, 8, 0},
    {NULL, TJ_BF16, 0, 0, 1, 0}, /* the library's choice */
};

static int64_t draw_extent(int multiple, int longest, bool is_small)
{
    const int most = longest ? longest : is_small ? 48 : 200;
    const int64_t extent = (1 + below(most) + multiple - 1) / multiple * multiple;

    return longest && extent > longest ? longest / multiple * multiple : extent;
}

static void draw_problem(const struct form *form, bool is_small, tj_problem *problem)
{
    const char *const config = form->config ? form->config : "";
    const bool pairs = below(3) == 0, may_reduce = !strstr(config, "splits") && !strstr(config, "dynamic");

    *problem = (tj_problem)TJ_PROBLEM_INIT(
        draw_extent(form->multiple, strstr(form->config ? form->config : "", "small") ? 24 : 0, is_small),
        draw_extent(form->multiple, 0, is_small), draw_extent(form->multiple, form->longest, is_small), form->type);
    problem->compute = form->compute;
    problem->p.type = form->p_type;
    problem->p.layout = (int8_t)(below(3) == 0 && !form->longest && !pairs);
    problem->l.extent += pairs && problem->l.extent % 2;
    problem->batch = below(4) == 0 ? 3 : 0;
    draw_epilogue(form->type == TJ_F64, pairs, may_reduce && below(3) == 0, &problem->epilogue);
    if (form->type == TJ_S8 || below(6) == 0)
        problem->scale[TJ_MATRIX_M] = nth_scale(form->type == TJ_F64 ? 0 : form->type == TJ_S8 ? 1 : below(3));
}

/* Launched, compared, and nothing written that should not be. 0: it does not suit the config. */
static int run_case(tj_context *context, const struct form *form, const tj_problem *problem, double *worst)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_config config = TJ_CONFIG_INIT, resolved;
    tj_workbench *bench = NULL;
    const tj_plan *plan = NULL;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    char damage[160] = "", text[TJ_EPILOGUE_TEXT_BYTES];
    tj_error err = {TJ_OK, ""};
    tj_status status = form->config ? tj_config_parse(form->config, &config, &err) : TJ_OK;
    void *p = NULL;

    tj_epilogue_print(&problem->epilogue, text);
    resolved = config;
    if (status == TJ_OK && form->config && tj_config_resolve(problem, &resolved, &err) != TJ_OK)
        return 0;
    options.seed = next();
    options.alpha = 1.25;
    options.beta = below(3) ? 0.5 : 0;
    options.guard_bytes = 4096;
    if (status == TJ_OK)
        status = tj_plan_prepare(context, problem, form->config ? &config : NULL, &plan, &err);
    if (status == TJ_ERR_UNSUPPORTED || status == TJ_ERR_SPILLS)
        return 0;
    if (status == TJ_OK)
        status = tj_workbench_create(context, problem, &options, &bench, &err);
    if (status == TJ_OK)
        status = tj_workbench_fit(bench, tj_plan_workspace_bytes(plan), &err);
    if (status == TJ_OK)
        status = tj_plan_launch(plan, tj_workbench_operands(bench), NULL, &err);
    if (status == TJ_OK)
        status = tj_synchronize(context, NULL, &err);
    if (status == TJ_OK && !(p = malloc(tj_workbench_bytes(bench, TJ_MATRIX_P))))
        status = TJ_ERR_OUT_OF_MEMORY;
    if (status == TJ_OK)
        status = tj_workbench_read(bench, 0, p, &err);
    if (status == TJ_OK)
        status = tj_workbench_check(bench, p, 0, 0, &report, &err);
    if (status == TJ_OK)
        status = tj_workbench_find_damage(bench, 0, p, damage, &err);
    expect(status == TJ_OK && report.passed && !damage[0], "%s %dx%dx%d type %d: %s: %s%s%s",
           form->config ? form->config : "chosen", (int)problem->j.extent, (int)problem->k.extent, (int)problem->l.extent,
           (int)form->type, text, status == TJ_OK ? "" : err.message, report.reason, damage);
    *worst = fmax(*worst, report.max_ratio);
    tj_workbench_free(bench);
    free(p);
    return 1;
}

int main(int argc, char **argv)
{
    const int cases = argc > 1 ? atoi(argv[1]) : 81; /* most of the time is NVRTC's: some 0.5 s each */
    const bool is_small = argc > 3 && strcmp(argv[3], "small") == 0;
    const char *const only = argc > 4 ? argv[4] : "";
    int served[sizeof forms / sizeof forms[0]] = {0}, asked[sizeof forms / sizeof forms[0]], count = 0;
    tj_context *context = open_gpu("epilogues", "");
    double worst = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (int i = 0; i < (int)(sizeof forms / sizeof forms[0]); i++)
        if (!*only || (forms[i].config && strncmp(forms[i].config, only, strlen(only)) == 0))
            asked[count++] = i;
    for (int i = 0; i < cases && count > 0; i++) {
        const struct form *form = &forms[asked[i % count]];
        tj_problem problem;
        int tries = 0;

        do
            draw_problem(form, is_small, &problem);
        while (!run_case(context, form, &problem, &worst) && ++tries < 8);
        served[i % count] += tries < 8;
        if (i % count == count - 1)
            printf("%d of %d\n", i + 1, cases);
    }
    for (int i = 0; i < count && cases >= count; i++)
        printf("%-22s type %d: %d\n", forms[asked[i]].config ? forms[asked[i]].config : "chosen", (int)forms[asked[i]].type,
               served[i]);
    printf("largest error: %.3g of its bound\n", worst);
    tj_context_free(context);
    return finish("epilogues");
}
