/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Invariant rows: the order of sums that a problem asks for, the configs that keep it, and the requests that cannot have it. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

#include <tilejit/tools.h>

#include "family.h"
#include "invariant.h"
#include "settle.h"

static tj_error err;

static bool says(const char *words)
{
    return strstr(err.message, words) != NULL;
}

static tj_problem rows_of(tj_type type)
{
    tj_problem problem = TJ_PROBLEM_INIT(40, 96, 50, type);

    problem.invariant = TJ_INVARIANT_ROWS;
    return problem;
}

static tj_status resolve(const tj_problem *problem, const char *text)
{
    tj_config config = TJ_CONFIG_INIT;

    cr_assert(eq(int, tj_config_parse(text, &config, &err), TJ_OK), "%s", err.message);
    return tj_config_resolve(problem, &config, &err);
}

Test(invariant, has_one_order_for_each_type)
{
    static const struct {
        tj_type type;
        tj_compute compute;
        tj_sum_order order;
    } of[] = {{TJ_F32, 0, TJ_SUMS_IN_CHAIN},
              {TJ_F64, 0, TJ_SUMS_IN_CHAIN},
              {TJ_C64, 0, TJ_SUMS_IN_CHAIN},
              {TJ_C128, 0, TJ_SUMS_IN_CHAIN},
              {TJ_F16, 0, TJ_SUMS_BY_TENSOR_CORES},
              {TJ_BF16, 0, TJ_SUMS_BY_TENSOR_CORES},
              {TJ_E4M3, 0, TJ_SUMS_BY_TENSOR_CORES},
              {TJ_E4M3, TJ_COMPUTE_F32_FP8, TJ_SUMS_IN_PARTS},
              {TJ_F32, TJ_COMPUTE_TF32, TJ_SUMS_BY_TENSOR_CORES},
              {TJ_S8, 0, TJ_SUMS_EXACT}};

    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        tj_problem problem = rows_of(of[i].type);

        problem.compute = (int8_t)of[i].compute;
        cr_assert(eq(int, tj_problem_check(&problem, &err), TJ_OK), "%s", err.message);
        const tj_problem canonical = tj_problem_canonical(&problem);

        cr_expect(eq(int, tj_sum_order_of(&canonical), of[i].order), "%s", tj_type_name(of[i].type));
        cr_expect(ne(int, *tj_problem_sum_order(&problem), '\0'));
        problem.invariant = TJ_INVARIANT_NOTHING;
        cr_expect(eq(str, (char *)tj_problem_sum_order(&problem), ""));
    }
}

Test(invariant, is_kept_or_refused_by_each_config)
{
    static const struct {
        tj_type type;
        const char *config, *refusal; /* NULL: it keeps the order */
    } of[] = {
        {TJ_F32, "naive", NULL},
        {TJ_F32, "tiled:shared=dynamic", NULL},
        {TJ_F32, "simt", NULL},
        {TJ_F32, "simt:bm=16,bn=32,tm=2,tn=4", NULL},
        {TJ_F32, "simt:splits=4", "family simt with splits=4 adds them in another"},
        {TJ_F32, "simt:bm=64,bn=64,tm=4,tn=8,slices=2", "family simt with slices=2"},
        {TJ_F32, "skinny:stream=m", "family skinny adds them in another: use family tiled"},
        {TJ_F64, "mma", NULL},
        {TJ_C128, "simt", NULL},
        {TJ_C128, "mma", "family mma adds them in another: use family tiled"},
        {TJ_F64, "mma:splits=2", "family mma with splits=2 adds them in another: use family tiled without these"},
        {TJ_BF16, "mma:width=1,vector=1", NULL},
        {TJ_BF16, "mma:slices=2", "family mma with slices=2 adds them in another: use family mma without these"},
        {TJ_BF16, "wgmma:pack=both", NULL},
        {TJ_BF16, "wgmma:pack=both,swap=yes", NULL},
        {TJ_BF16, "wgmma:pack=both,cluster=k2", "family wgmma adds them in another"},
        {TJ_BF16, "tiled", "tensor cores, step after step along k, without splits), and family tiled"},
        {TJ_S8, "mma:splits=3", NULL},
    };

    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        const tj_problem problem = rows_of(of[i].type);
        const tj_status status = resolve(&problem, of[i].config);

        cr_expect(eq(int, status, of[i].refusal ? TJ_ERR_INVALID_ARGUMENT : TJ_OK), "%s %s: %s", tj_type_name(of[i].type),
                  of[i].config, status ? err.message : "");
        if (of[i].refusal)
            cr_expect(says(of[i].refusal), "%s", err.message);
    }
}

/* 8-bit floats in parts of k: wgmma alone, with either operand first, and without a split. */
Test(invariant, keeps_parts_of_8_bit_floats)
{
    static const struct {
        const char *config, *refusal;
    } of[] = {{"wgmma", NULL},
              {"wgmma:swap=yes,bm=64,bn=8", NULL},
              {"wgmma:bm=64,bn=64,splits=2", "family wgmma with splits=2 adds them in another: use family wgmma without these"},
              {"mma", "part after part along k, each added in f32, without splits), and family mma adds them in another"},
              {"tiled", "use family wgmma"}};

    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(40, 512, 64, TJ_E4M3);

        problem.compute = TJ_COMPUTE_F32_FP8;
        problem.n.layout = TJ_COL_MAJOR;
        problem.invariant = TJ_INVARIANT_ROWS;
        cr_expect(eq(int, resolve(&problem, of[i].config), of[i].refusal ? TJ_ERR_INVALID_ARGUMENT : TJ_OK), "%s: %s",
                  of[i].config, err.message);
        if (of[i].refusal)
            cr_expect(says(of[i].refusal), "%s", err.message);
    }
}

/* Few rows need small tiles to occupy a device, if their sums may not be divided; other sums are divided instead. */
Test(invariant, tries_small_thread_tiles_for_few_rows)
{
    static const struct {
        const char *config;
        int64_t rows;
        bool is_invariant, is_tried;
    } of[] = {{"simt:bm=4,bn=32,bk=64,tm=1,tn=2,blocks=1", 1, true, true},
              {"simt:bm=16,bn=32,bk=64,tm=2,tn=4,blocks=1", 16, true, true},
              {"simt:bm=16,bn=32,bk=64,tm=2,tn=4,blocks=1", 4096, true, false},
              {"simt:bm=4,bn=32,bk=64,tm=1,tn=2,blocks=1", 1, false, false}};

    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(of[i].rows, 4096, 4096, TJ_F32);
        tj_config config = TJ_CONFIG_INIT;
        tj_request request;

        problem.n.layout = TJ_COL_MAJOR;
        problem.invariant = of[i].is_invariant ? TJ_INVARIANT_ROWS : TJ_INVARIANT_NOTHING;
        cr_assert(eq(int, tj_config_parse(of[i].config, &config, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_request_make(&problem, &request, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_request_resolve(&request, &config, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, tj_request_worth_trying(&request, &config), of[i].is_tried), "row %zu", i);
    }
}

static tj_status check_with(void (*change)(tj_problem *), tj_type type)
{
    tj_problem problem = rows_of(type);

    change(&problem);
    return tj_problem_check(&problem, &err);
}

static void split(tj_problem *p)
{
    p->compute = TJ_COMPUTE_F32_SPLIT;
}

static void tf32(tj_problem *p)
{
    p->compute = TJ_COMPUTE_TF32;
}

static void one_triangle(tj_problem *p)
{
    *p = (tj_problem)TJ_PROBLEM_INIT(40, 96, 40, TJ_C64);
    p->invariant = TJ_INVARIANT_ROWS;
    p->symmetric = TJ_SYMMETRIC_BOTH;
}

static void along_k(tj_problem *p)
{
    p->rows = (tj_rows){.kind = TJ_ROWS_ALONG_K, .groups = 3};
}

static void reduced(tj_problem *p)
{
    cr_assert(eq(int, tj_epilogue_parse("most[row] = max(acc); acc", &p->epilogue, &err), TJ_OK), "%s", err.message);
}

static void repacked(tj_problem *p)
{
    p->n.type = TJ_S4;
    p->n.layout = TJ_COL_MAJOR;
    p->n.order = TJ_ORDER_REPACKED;
}

static void pairs_by_fp8(tj_problem *p)
{
    p->n.type = TJ_S4;
}

static void parts(tj_problem *p)
{
    p->p.type = TJ_F32;
    p->scale[TJ_MATRIX_N] = (tj_scale){.type = TJ_F32, .rows = 1, .k = 32};
}

static void float_zeros(tj_problem *p)
{
    p->n.type = TJ_S8;
    p->scale[TJ_MATRIX_N] = (tj_scale){.type = TJ_F32, .zero = TJ_F32, .rows = 1, .k = 32};
}

static void unknown(tj_problem *p)
{
    p->invariant = 2;
}

Test(invariant, is_refused_where_no_kernel_keeps_it)
{
    static const struct {
        void (*change)(tj_problem *);
        tj_type type;
        const char *refusal;
    } of[] = {{split, TJ_F32, "compute f32_split chooses its way by all elements of M and N: use compute f32"},
              {tf32, TJ_C64, "tensor cores multiply the parts of complex numbers"},
              {one_triangle, TJ_C64, "P is symmetric, and the terms of an imaginary part"},
              {along_k, TJ_BF16, "groups along k"},
              {reduced, TJ_F32, "the epilogue reduces rows or columns"},
              {repacked, TJ_F16, "repacked weights"},
              {pairs_by_fp8, TJ_E4M3, "weights of 4 bits next to e4m3"},
              {parts, TJ_S8, "integers have scales along k"},
              {float_zeros, TJ_BF16, "zero points of floats"},
              {unknown, TJ_F32, "invariant is 2: use TJ_INVARIANT_ROWS, or 0"}};

    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        cr_expect(eq(int, check_with(of[i].change, of[i].type), TJ_ERR_INVALID_ARGUMENT), "%s", of[i].refusal);
        cr_expect(says(of[i].refusal), "%s", err.message);
    }
}

/* The config that takes any operands keeps the order too: fallbacks and interim plans are of it. */
Test(invariant, has_a_safe_config)
{
    for (tj_type type = TJ_F32; type <= TJ_U8; type++) {
        const tj_problem problem = rows_of(type), canonical = tj_problem_canonical(&problem);
        tj_config config = tj_safe_config(&canonical);

        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_OK), "%s: %s", tj_type_name(type), err.message);
        config = (tj_config)TJ_CONFIG_INIT;
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_OK), "%s: %s", tj_type_name(type), err.message);
    }
}

static bool has(const tj_source *source, const char *words)
{
    return strstr(tj_source_text(source), words) != NULL;
}

/* No compiler may join a product and a sum in one config and not in another. */
Test(invariant, pins_the_operations_of_an_epilogue)
{
    tj_problem problem = rows_of(TJ_F32);
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;

    problem.epilogue.has_alpha = problem.epilogue.has_beta = 1;
    cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s", err.message);
    cr_expect(has(source, "Pvalue = __fmaf_rn(beta, C[Row * ld_c + Col], Pvalue)"), "%s", tj_source_text(source));
    tj_source_free(source);
    problem.epilogue = (tj_epilogue){0};
    cr_assert(eq(int, tj_epilogue_parse("acc * 0.5 + bias[col]", &problem.epilogue, &err), TJ_OK));
    cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s", err.message);
    cr_expect(has(source, "__fmul_rn(0.5f, Pvalue) + bias"), "%s", tj_source_text(source));
    tj_source_free(source);
}
