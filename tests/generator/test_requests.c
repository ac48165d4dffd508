/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Problems and configs: those accepted, those refused and the messages, and the checks that a shape keeps.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <tilejit/source.h>

#include "canonical.h"
#include "steps.h"
#include "of_problem.h"
#include "scales.h"

static tj_problem problem_of(int64_t j, int64_t k, int64_t l)
{
    tj_problem problem = TJ_PROBLEM_INIT(j, k, l, TJ_F32);
    return problem;
}

Test(problem, refuses_extents_that_are_none)
{
    static const struct {
        int64_t j, k, l;
        const char *words;
    } rows[] = {
        {0, 1, 1, "j is 0"},
        {-1, 1, 1, "j is -1"},
        {1, -1, 1, "k is -1"},
        {1, 1, 0, "l is 0"},
        {INT64_C(1) << 31, 1, 1, "j is 2147483648"},
        {1, INT64_C(1) << 32, 1, "k is 4294967296"},
        {1, 1, INT64_MAX, "l is 9223372036854775807"},
        {1, 1, INT64_MIN, "l is -9223372036854775808"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = problem_of(rows[i].j, rows[i].k, rows[i].l);
        tj_error err = {0};
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].words);
        cr_expect(ne(ptr, strstr(err.message, rows[i].words), NULL), "%s: %s", rows[i].words, err.message);
    }
}

Test(problem, accepts_the_corners)
{
    static const int64_t rows[][3] = {{1, 1, 1},         {1, 0, 1},         {INT32_MAX, 1, 1},
                                      {1, INT32_MAX, 1}, {1, 1, INT32_MAX}, {65536, 65536, 65536}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = problem_of(rows[i][0], rows[i][1], rows[i][2]);
        tj_error err = {0};
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_OK), "row %zu: %s", i, err.message);
    }
}

Test(problem, names_what_is_wrong_with_everything_else)
{
    struct {
        const char *words;
        tj_problem problem;
    } rows[28];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        rows[i].problem = problem_of(10, 20, 30);
    rows[0].problem.m.ld = 19, rows[0].words = "ld_m is 19";
    rows[1].problem.n.ld = 29, rows[1].words = "ld_n is 29";
    rows[2].problem.p.ld = -7, rows[2].words = "ld_p is -7";
    rows[3].problem.m.type = 77, rows[3].words = "the type of M is 77: use TJ_F32, TJ_F64, TJ_F16";
    rows[4].problem.p.type = TJ_F64, rows[4].words = "M and N are f32 but P is f64: such a P may be f32, f16, bf16";
    rows[5].problem.batch = -3, rows[5].words = "batch is -3";
    rows[6].problem.batch = 4, rows[6].problem.p.stride = 10, rows[6].words = "stride_p is 10";
    rows[7].problem.batch = 4, rows[7].problem.p.stride = TJ_BROADCAST, rows[7].words = "stride_p is broadcast";
    rows[8].problem.m.layout = 5, rows[8].words = "the layout of M is 5";
    rows[9].problem.m.ld = INT64_MAX / 8, rows[9].words = "M is too large";
    rows[10].problem.j.multiple_of = 16, rows[10].words = "j is 10, which breaks its promise";
    rows[11].problem.struct_size = 0, rows[11].words = "TJ_PROBLEM_INIT";
    rows[12].problem.m.stride = TJ_POINTERS_16 - 1, rows[12].words = "stride_m is -5";
    rows[13].problem.n.type = TJ_F64, rows[13].words = "M is f32 but N is f64";
    rows[14].problem.c.type = TJ_F16, rows[14].words = "P is f32 but C is f16";
    rows[15].problem.c.layout = TJ_COL_MAJOR, rows[15].words = "C has another layout than P";
    rows[16].problem.compute = TJ_COMPUTE_F64,
    rows[16].words = "compute is f64 but M and N are f32: use f32, tf32 or f32_split";
    rows[17].problem.compute = 9, rows[17].words = "compute is 9: use TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32, TJ_COMPUTE_F64";
    rows[18].problem.p.transposed = 2, rows[18].words = "the flag transposed of P is 2";
    rows[19].problem.m.type = TJ_S32, rows[19].words = "M is s32, which only P and C may be: use f32, f64";
    rows[20].problem.m.type = TJ_E4M3, rows[20].problem.n.type = TJ_S8, rows[20].words = "M is e4m3 but N is s8";
    rows[21].problem.m.type = TJ_S8, rows[21].problem.n.type = TJ_U8, rows[21].problem.p.type = TJ_E4M3;
    rows[21].words = "M is s8 and N is u8 but P is e4m3: such a P may be f32, f16, bf16, s8, u8 or s32";
    rows[22].problem.m.type = TJ_F16, rows[22].problem.compute = TJ_COMPUTE_TF32;
    rows[22].words = "compute is tf32 but M and N are f16: use f32";
    rows[23].problem.m.type = TJ_U8, rows[23].problem.compute = TJ_COMPUTE_F32;
    rows[23].words = "compute is f32 but M and N are u8: use s32";
    rows[24].problem.p.type = TJ_S8, rows[24].words = "M and N are f32 but P is s8";
    rows[25].problem.scale[TJ_MATRIX_N] = (tj_scale)TJ_SCALE_INIT(TJ_F32, -128, 128);
    rows[25].words = "scale_n.rows is -128: use 1 for a scale of each column, a number such as 128 for one of a block of them";
    rows[26].problem.m.type = TJ_F64, rows[26].problem.scale[TJ_MATRIX_M] = (tj_scale)ONE_SCALE;
    rows[26].words = "scale_m is set, and products of f64 take no scales";
    rows[27].problem.scale[TJ_MATRIX_M].rows = 1;
    rows[27].words = "scale_m.type is 0, which means no scales, and other members are set: use TJ_F32";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_error err = {0};
        cr_expect(eq(int, tj_problem_check(&rows[i].problem, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].words);
        cr_expect(ne(ptr, strstr(err.message, rows[i].words), NULL), "%s: %s", rows[i].words, err.message);
    }
}

/* Complex numbers have the formula of alpha and beta, and real ones no conjugates. */
Test(problem, names_what_complex_numbers_cannot_have)
{
    struct {
        const char *words;
        tj_problem problem;
    } rows[14];
    tj_problem right = problem_of(10, 20, 30);

    right.m.type = TJ_C64;
    right.m.conjugated = right.n.conjugated = right.epilogue.has_alpha = right.epilogue.has_beta = 1;
    cr_expect(eq(int, tj_problem_check(&right, NULL), TJ_OK));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        rows[i].problem = right;
    rows[0].problem.m.type = TJ_F32;
    rows[0].words = "M is conjugated and holds f32, which are real: leave conjugated 0, or use c64 or c128";
    rows[1].problem.p.conjugated = 1;
    rows[1].words = "P is conjugated, and only M and N can be: conjugate both of them, and alpha and beta";
    rows[2].problem.n.conjugated = 2;
    rows[2].words = "the flag conjugated of N is 2: use 0 or 1";
    rows[3].problem.n.type = TJ_C128;
    rows[3].words = "M is c64 but N is c128: give both one type";
    rows[4].problem.n.type = TJ_F32;
    rows[4].words = "M is c64 but N is f32: give both one type";
    rows[5].problem.p.type = TJ_F32;
    rows[5].words = "M and N are c64 but P is f32: such a P may be c64";
    rows[6].problem.compute = TJ_COMPUTE_F64;
    rows[6].words = "compute is f64 but M and N are c64: use f32";
    rows[7].problem.scale[TJ_MATRIX_N] = (tj_scale)ONE_SCALE;
    rows[7].words = "scale_n is of a c64 matrix, and scales are for real types: use alpha";
    rows[8].problem.epilogue = (tj_epilogue){0};
    cr_assert(eq(int, tj_epilogue_parse("silu(acc[2*col]) * acc[2*col+1]", &rows[8].problem.epilogue, NULL), TJ_OK));
    rows[8].words = "the epilogue takes pairs of columns, and P is c64: pairs are for real types";
    rows[9].problem.epilogue = (tj_epilogue){0};
    cr_assert(eq(int, tj_epilogue_parse("relu(acc)", &rows[9].problem.epilogue, NULL), TJ_OK));
    rows[9].words = "the epilogue is an expression, and P is c64: expressions compute in real types; use alpha and beta";
    rows[10].problem.rows.combined = 2;
    rows[10].words = "rows.combined is 2, and P is c64: sums with factors are of f32, f64, f16 or bf16";
    rows[11].problem.scale[TJ_MATRIX_P] = (tj_scale)SCALE_EACH;
    rows[11].words = "scale_p is of a c64 matrix";
    rows[12].problem.l.extent = 10, rows[12].problem.symmetric = TJ_SYMMETRIC_BOTH, rows[12].problem.n.conjugated = 0;
    rows[12].words =
        "one of M and N is conjugated, which makes P Hermitian, and symmetric is 1: use hermitian (TJ_HERMITIAN_BOTH, 4)";
    rows[13].problem = (tj_problem)TJ_PROBLEM_INIT(10, 10, 10, TJ_F64);
    rows[13].problem.symmetric = TJ_HERMITIAN_LOWER;
    rows[13].words =
        "P is Hermitian, and the product of f64 is real: ask for the same triangles of a symmetric P (both, lower, upper)";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_error err = {0};

        cr_expect(eq(int, tj_problem_check(&rows[i].problem, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].words);
        cr_expect(ne(ptr, strstr(err.message, rows[i].words), NULL), "%s: %s", rows[i].words, err.message);
    }
}

/* The order of tj_repack is for weights of 4 bits along k, in whole blocks. */
Test(problem, names_an_order_that_weights_cannot_have)
{
    struct {
        const char *words;
        tj_problem problem;
    } rows[9];
    tj_problem weights = problem_of(10, 64, 30);

    weights.m.type = TJ_BF16;
    weights.n = (tj_matrix){.type = TJ_E2M1, .layout = TJ_COL_MAJOR, .order = TJ_ORDER_REPACKED};
    cr_expect(eq(int, tj_problem_check(&weights, NULL), TJ_OK));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        rows[i].problem = weights;
    rows[0].problem.n.order = 2;
    rows[0].words = "the order of N is 2: use TJ_ORDER_NATURAL or TJ_ORDER_REPACKED";
    rows[1].problem.n.type = TJ_S8;
    rows[1].words = "the order of N is repacked, which is for weights of 4 bits, and N holds s8: leave its order natural";
    rows[2].problem.m.type = TJ_E2M1, rows[2].problem.m.order = TJ_ORDER_NATURAL;
    rows[2].words = "which is for weights of 4 bits, and N holds e2m1";
    rows[3].problem.n.layout = TJ_ROW_MAJOR;
    rows[3].words = "along k, and N lies across k: store it column-major, as l x k before repacking";
    rows[4].problem.k.extent = 48;
    rows[4].words = "in blocks of 32 elements of k, and k is 48: fill up M and N with zeros to a multiple of 32";
    rows[5].problem.k.mode = TJ_DIM_ANY, rows[5].problem.k.multiple_of = 16;
    rows[5].words = "which each launch brings: promise that k is a multiple of 32";
    rows[6].problem.p.order = TJ_ORDER_REPACKED;
    rows[6].words = "the order of P is repacked";
    rows[7].problem.m.order = TJ_ORDER_REPACKED;
    rows[7].words = "the order of M is repacked, which is for weights of 4 bits, and M holds bf16";
    rows[8].problem.rows = (tj_rows){.kind = TJ_ROWS_ALONG_K, .groups = 2};
    rows[8].words = "";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_error err = {0};

        cr_expect(eq(int, tj_problem_check(&rows[i].problem, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].words);
        cr_expect(ne(ptr, strstr(err.message, rows[i].words), NULL), "%s: %s", rows[i].words, err.message);
    }
    weights.k.mode = TJ_DIM_ANY, weights.k.multiple_of = 96;
    cr_expect(eq(int, tj_problem_check(&weights, NULL), TJ_OK));
}

/* Every number of a scale that no kernel takes is named, with the remedy. */
Test(problem, names_the_number_of_a_scale_that_it_does_not_take)
{
    static const struct {
        tj_scale scale;
        const char *words;
    } rows[] = {
        {{.rows = 1}, "scale_n.type is 0, which means no scales, and other members are set: use TJ_F32"},
        {{.k = 64}, "scale_n.type is 0"},
        {{.layout = 1}, "scale_n.type is 0"},
        {{.zero = TJ_U4}, "scale_n.type is 0"},
        {{.whole = 1}, "scale_n.type is 0"},
        {{TJ_E5M2, .rows = 1}, "scale_n.type is 6 (e5m2): scales are TJ_F32, TJ_F16, TJ_BF16, TJ_E4M3 or TJ_E8M0"},
        {{99}, "scale_n.type is 99 (?): scales are"},
        {{-1}, "scale_n.type is -1 (?): scales are"},
        {{TJ_F32, .rows = -1}, "scale_n.rows is -1: use 1 for a scale of each column"},
        {{TJ_F32, .rows = 1, .k = -1}, "scale_n is along-k and there is no scale_k"},
        {{TJ_F32, .rows = 1, .k = -2}, "scale_n.k is -2: scales along k are for 1 or more elements each"},
        {{TJ_F32, .whole = 2}, "scale_n.whole is 2: use 0 or 1"},
        {{TJ_F32, .layout = 3, .rows = 1, .k = 32}, "scale_n.layout is 3: use TJ_SCALES_PART_BY_PART, TJ_SCALES_ROW_BY_ROW or"},
        {{TJ_F32, .layout = -1, .rows = 1, .k = 32}, "scale_n.layout is -1"},
        {{TJ_F32, .layout = TJ_SCALES_ROW_BY_ROW, .rows = 1}, "scale_n.layout is 1 and k 0: use TJ_SCALES_PART_BY_PART"},
        {{TJ_F32, .layout = TJ_SCALES_IN_TILES, .rows = 1, .k = 32},
         "its type is f32, rows 1, k 32, zero 0: tiles hold scales of"},
        {{TJ_E8M0, .layout = TJ_SCALES_IN_TILES, .rows = 1, .k = 128}, "rows 1, k 128, zero 0: tiles hold scales of 8 bits"},
        {{TJ_E8M0, .layout = TJ_SCALES_IN_TILES, .rows = 128, .k = 32}, "rows 128, k 32, zero 0: tiles hold"},
        {{TJ_E4M3, .layout = TJ_SCALES_IN_TILES, .zero = TJ_U8, .rows = 1, .k = 16}, "k 16, zero 8: tiles hold"},
        {{TJ_F16, .zero = TJ_F32, .rows = 1}, "scale_n.zero is 1 (f32): zero points are TJ_U4, TJ_U8, TJ_S8 or of the type of"},
        {{TJ_E8M0, .zero = TJ_E8M0, .rows = 1}, "which e8m0 cannot be"},
        {{TJ_F32, .zero = 99, .rows = 1}, "scale_n.zero is 99 (?)"},
    };
    tj_problem problem = problem_of(8, 64, 8);
    tj_error err = {0};

    problem.n.type = TJ_S8;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        problem.scale[TJ_MATRIX_N] = rows[i].scale;
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].words);
        cr_expect(ne(ptr, strstr(err.message, rows[i].words), NULL), "%s: %s", rows[i].words, err.message);
    }
}

/* Scales that fit their matrix, or each other, or the rows. */
Test(problem, names_scales_that_do_not_fit)
{
    struct {
        tj_problem problem;
        const char *words;
    } rows[] = {
        {problem_of(8, 64, 8), "scale_m.zero is u4, and M is f32, N f32: zero points are those of weights of s8, u8, s4 or u4"},
        {problem_of(8, 64, 8), "scale_m.zero is u8, and M is f32, N s8: zero points are those of weights"},
        {problem_of(8, 64, 8), "scale_m.k is 48 and scale_n.k 32: one must be a multiple of the other"},
        {problem_of(8, 64, 8), "scale_m.rows is 2, and groups of rows begin at any row: use 1, a scale of each row, or 0"},
        {problem_of(8, 64, 8), "scale_m.layout is TJ_SCALES_IN_TILES, and groups of rows begin at any row of a tile"},
        {problem_of(8, 64, 8), "scale_m.zero is u4, of which two rows share a byte, and groups of rows begin at any row"},
    };
    tj_error err = {0};

    rows[0].problem.scale[TJ_MATRIX_M] = (tj_scale){TJ_F32, .zero = TJ_U4, .rows = 1};
    rows[1].problem.n.type = TJ_S8;
    rows[1].problem.scale[TJ_MATRIX_M] = (tj_scale){TJ_F32, .zero = TJ_U8, .rows = 1};
    rows[2].problem.scale[TJ_MATRIX_M] = (tj_scale)SCALE_ALONG_K(48);
    rows[2].problem.scale[TJ_MATRIX_N] = (tj_scale)SCALE_ALONG_K(32);
    rows[3].problem.rows = (tj_rows){.kind = TJ_ROWS_IN_GROUPS, .groups = 2};
    rows[3].problem.scale[TJ_MATRIX_M] = (tj_scale)TJ_SCALE_INIT(TJ_F32, 2, 32);
    rows[4].problem.rows = rows[5].problem.rows = rows[3].problem.rows;
    rows[4].problem.scale[TJ_MATRIX_M] = (tj_scale){TJ_E8M0, .layout = TJ_SCALES_IN_TILES, .rows = 1, .k = 32};
    rows[5].problem.m.type = TJ_S8, rows[5].problem.n.type = TJ_F16;
    rows[5].problem.scale[TJ_MATRIX_M] = (tj_scale){TJ_F32, .zero = TJ_U4, .rows = 1, .k = 32};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect(eq(int, tj_problem_check(&rows[i].problem, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].words);
        cr_expect(ne(ptr, strstr(err.message, rows[i].words), NULL), "%s: %s", rows[i].words, err.message);
    }
}

/* A P whose scales the kernel finds. */
Test(problem, names_what_is_wrong_with_a_quantized_p)
{
    struct {
        tj_scale scale;
        const char *words;
    } rows[] = {
        {{TJ_F32, .rows = 2, .k = 32}, "scale_p.rows is 2: use 1, since each row of P has scales of its own"},
        {{TJ_F32, .rows = 0, .k = 0}, "scale_p.rows is 0"},
        {{TJ_F32, .rows = 1, .k = 48}, "scale_p.k is 48: use 32, 64 or 128 columns of P for each scale, or 0 for a whole row"},
        {{TJ_BF16, .rows = 1, .k = 32}, "scale_p.type is bf16: the kernel computes scales of f32 or e8m0"},
        {{TJ_F32, .whole = 1, .rows = 1}, "scale_p.whole is 1"},
        {{TJ_F32, .zero = TJ_U8, .rows = 1}, "scale_p.zero is u8"},
        {{TJ_F32, .rows = 1, .k = 32}, "and P is f32: the kernel finds scales for a P of e4m3, e5m2, s8 or e2m1"},
        {{TJ_F32, .rows = 1, .k = 32}, "and P is column-major"},
        {{TJ_F32, .rows = 1, .k = 32}, "and the epilogue reads C, which has the type of P and no scales"},
        {{TJ_F32, .rows = 1, .k = 32}, "and P is an array of pointers"},
        {{TJ_F32, .rows = 1, .k = 32}, "and j is known only at launch: fix j, l and the batch"},
        {{TJ_F32, .rows = 1, .k = 32}, "and the batch is known only at launch"},
    };
    tj_error err = {0};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = problem_of(8, 64, 8);

        problem.scale[TJ_MATRIX_P] = rows[i].scale;
        problem.p.type = i == 6 ? TJ_F32 : TJ_E4M3;
        problem.p.layout = i == 7;
        problem.epilogue.has_beta = i == 8;
        problem.p.stride = i == 9 ? TJ_POINTERS : 0;
        problem.j.mode = i == 10 ? TJ_DIM_ANY : TJ_DIM_FIXED;
        problem.batch = i == 11 ? TJ_ANY : 1;
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].words);
        cr_expect(ne(ptr, strstr(err.message, rows[i].words), NULL), "%s: %s", rows[i].words, err.message);
    }
}

Test(problem, names_the_types_there_are)
{
    tj_type type;
    tj_error err = {0};

    cr_expect(eq(int, tj_type_parse("f17", &type, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(ne(ptr, strstr(err.message, "\"f17\": use f32, f64, f16"), NULL), "%s", err.message);
    for (int i = 1; i <= tj_type_count(); i++) {
        cr_expect(ne(ptr, strstr(err.message, tj_type_name((tj_type)i)), NULL), "%s", err.message);
        cr_expect(eq(int, tj_type_parse(tj_type_name((tj_type)i), &type, NULL), TJ_OK));
        cr_expect(eq(int, (int)type, i));
    }
}

Test(problem, names_the_ways_to_compute_there_are)
{
    tj_compute compute;
    tj_error err = {0};

    cr_expect(eq(int, tj_compute_parse("f16", &compute, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(ne(ptr, strstr(err.message, "\"f16\": use f32, f64, tf32, s32, f32_split or f32_fp8"), NULL), "%s", err.message);
    for (int i = 1; tj_compute_get_facts((tj_compute)i); i++) {
        cr_expect(eq(int, tj_compute_parse(tj_compute_name((tj_compute)i), &compute, NULL), TJ_OK));
        cr_expect(eq(int, (int)compute, i));
    }
    cr_expect(eq(str, (char *)tj_compute_name((tj_compute)99), (char *)"?"));
}

/* Types that are left out, and their effect on the printed line. */
Test(problem, fills_in_the_types_of_each_kind)
{
    static const struct {
        tj_type m, n, p, n_is, p_is;
        tj_compute compute, is;
        const char *words;
    } rows[] = {
        {TJ_F32, 0, 0, TJ_F32, TJ_F32, 0, TJ_COMPUTE_F32, " f32"},
        {TJ_F32, 0, TJ_E5M2, TJ_F32, TJ_E5M2, TJ_COMPUTE_TF32, TJ_COMPUTE_TF32, " f32 P:e5m2 compute:tf32"},
        {TJ_E4M3, TJ_E5M2, 0, TJ_E5M2, TJ_F32, 0, TJ_COMPUTE_F32, " e4m3 N:e5m2 P:f32"},
        {TJ_E5M2, 0, TJ_F16, TJ_E5M2, TJ_F16, TJ_COMPUTE_F32, TJ_COMPUTE_F32, " e5m2 P:f16"},
        {TJ_U8, TJ_S8, 0, TJ_S8, TJ_S32, 0, TJ_COMPUTE_S32, " u8 N:s8 P:s32"},
        {TJ_S8, 0, TJ_S8, TJ_S8, TJ_S8, 0, TJ_COMPUTE_S32, " s8"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem p = problem_of(4, 5, 6), c, t;
        char line[TJ_PROBLEM_TEXT_BYTES], wanted[TJ_PROBLEM_TEXT_BYTES];
        tj_error err = {0};

        p.m.type = rows[i].m, p.n.type = rows[i].n, p.p.type = rows[i].p, p.compute = rows[i].compute;
        p.scale[TJ_MATRIX_M] = (tj_scale)SCALE_EACH, p.scale[TJ_MATRIX_N] = (tj_scale)ONE_SCALE;
        cr_assert(eq(int, tj_problem_check(&p, &err), TJ_OK), "%s: %s", rows[i].words, err.message);
        c = tj_problem_canonical(&p);
        cr_expect(eq(int, c.n.type, (int)rows[i].n_is), "%s", rows[i].words);
        cr_expect(eq(int, c.p.type, (int)rows[i].p_is), "%s", rows[i].words);
        cr_expect(eq(int, c.compute, (int)rows[i].is), "%s", rows[i].words);
        tj_problem_print(&p, line);
        snprintf(wanted, sizeof wanted, "j4 k5 l6%s scale_m:each scale_n", rows[i].words);
        cr_expect(eq(str, line, wanted));
        t = tj_problem_transpose(&c);
        cr_expect(eq(int, t.m.type, c.n.type));
        cr_expect(eq(int, t.scale[TJ_MATRIX_M].rows, 0));
        cr_expect(eq(int, t.scale[TJ_MATRIX_N].rows, 1));
    }
}

Test(problem, lets_products_stand_apart_in_either_way)
{
    static const struct {
        int64_t ld_p, stride_p;
        bool is_apart;
    } rows[] = {
        {0, 0, true},     /* contiguous: one after the other */
        {0, 300, true},   /* the same, as a number */
        {0, 299, false},  /* the last element of one is the first of the next */
        {120, 30, true},  /* four products next to each other in rows of 120 */
        {119, 30, false}, /* one element short */
        {120, 29, false}, /* neighbours share a column */
        {40, 400, true},  /* padded rows, one after the other */
        {40, 390, true},  /* the padding of the last line may be shared */
        {40, 389, false}, {INT64_MAX / 64, 30, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = problem_of(10, 20, 30);
        tj_error err = {0};
        problem.batch = 4;
        problem.p.ld = rows[i].ld_p;
        problem.p.stride = rows[i].stride_p;
        cr_expect(eq(int, tj_problem_check(&problem, &err), rows[i].is_apart ? TJ_OK : TJ_ERR_INVALID_ARGUMENT), "row %zu: %s",
                  i, err.message);
        cr_expect(rows[i].is_apart || strstr(err.message, "overlap"), "row %zu: %s", i, err.message);
    }
}

Test(problem, counts_bytes_without_wrapping)
{
    static const struct {
        int64_t j, k, l, ld_m, batch, stride_m;
        int dtype;
        const char *words; /* NULL: it fits */
    } rows[] = {
        {INT32_MAX, INT32_MAX, 1, 0, 1, 0, TJ_F16, NULL},                    /* 2^63 - 2^33 bytes */
        {INT32_MAX, INT32_MAX, 1, 0, 1, 0, TJ_F32, "M is too large"},        /* 2^64 bytes */
        {INT32_MAX, INT32_MAX, 1, 0, 2, 0, TJ_F16, "M is too large"},        /* twice that */
        {2, 4, 4, INT64_C(1) << 62, 1, 0, TJ_F16, "M is too large"},         /* ld * rows */
        {1, 4, 4, 4, INT32_MAX, INT64_C(1) << 32, TJ_F16, "M is too large"}, /* stride * batch */
        {1, 4, 4, 4, INT32_MAX, INT64_C(1) << 29, TJ_F32, NULL},
        {INT32_MAX, 1, INT32_MAX, 0, 1, 0, TJ_F32, "P is too large"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = problem_of(rows[i].j, rows[i].k, rows[i].l);
        tj_error err = {0};
        problem.m.type = rows[i].dtype;
        problem.m.ld = rows[i].ld_m;
        problem.batch = rows[i].batch;
        problem.m.stride = rows[i].stride_m;
        cr_expect(eq(int, tj_problem_check(&problem, &err), rows[i].words ? TJ_ERR_INVALID_ARGUMENT : TJ_OK), "row %zu: %s", i,
                  err.message);
        cr_expect(rows[i].words == NULL || strstr(err.message, rows[i].words), "row %zu: %s", i, err.message);
    }
}

Test(problem, prints_only_what_is_not_the_default)
{
    tj_problem plain = problem_of(512, 300, 700), rich = problem_of(512, 300, 700);
    char line[TJ_PROBLEM_TEXT_BYTES];

    tj_problem_print(&plain, line);
    cr_expect(eq(str, line, "j512 k300 l700 f32"));
    plain.m.ld = 300; /* tight, said as a number */
    tj_problem_print(&plain, line);
    cr_expect(eq(str, line, "j512 k300 l700 f32"));
    rich.m.type = TJ_BF16;
    rich.p.type = TJ_F32;
    rich.m.transposed = 1;
    rich.p.layout = TJ_COL_MAJOR;
    rich.l = (tj_dim){0, TJ_DIM_ANY, 64};
    rich.n.ld = TJ_ANY;
    rich.epilogue.has_beta = 1;
    rich.batch = 3;
    rich.n.stride = TJ_BROADCAST;
    tj_problem_print(&rich, line);
    cr_expect(eq(str, line, "j512 k300 l=any*64 bf16 P:f32 M:col P:col beta ld_n=any batch=3 stride_n=broadcast"));
}

Test(problem, may_have_arrays_of_pointers)
{
    static const int64_t batches[] = {0, 1, 7, TJ_ANY, INT32_MAX};

    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        tj_problem problem = problem_of(10, 20, 30), strided;
        char line[TJ_PROBLEM_TEXT_BYTES];
        tj_error err = {0};

        problem.batch = batches[i];
        problem.m.stride = TJ_POINTERS;
        problem.p.stride = TJ_POINTERS_16;
        problem.c.stride = TJ_POINTERS; /* of a C that is not there */
        cr_assert(eq(int, tj_problem_check(&problem, &err), TJ_OK), "%s", err.message);
        problem = tj_problem_canonical(&problem);
        cr_expect(problem.m.stride == TJ_POINTERS && problem.p.stride == TJ_POINTERS_16 && problem.c.stride == TJ_TIGHT);
        tj_problem_print(&problem, line);
        cr_expect(strstr(line, " stride_m=pointers ") && strstr(line, " stride_p=pointers16"), "%s", line);
        strided = tj_problem_strided(&problem);
        cr_expect(eq(i64, strided.n.stride, problem.n.stride));
        /* 200 elements of M and 300 of P end within 1024 and 1280 bytes */
        cr_expect(eq(i64, strided.m.stride, problem.batch == 1 ? TJ_TIGHT : 256));
        cr_expect(eq(i64, strided.p.stride, problem.batch == 1 ? TJ_TIGHT : 320));
    }
}

Test(problem, strided_leaves_a_gap_and_what_it_cannot_know)
{
    tj_problem problem = problem_of(16, 20, 30), strided;

    problem.batch = 3;
    problem.m.type = TJ_F16;
    problem.epilogue.has_beta = 1;
    problem.m.stride = problem.n.stride = problem.c.stride = TJ_POINTERS;
    problem.m.ld = 64; /* 16 lines of 128 bytes: a whole number of 256, and one more for the gap */
    problem.k = (tj_dim){20, TJ_DIM_ANY, 0};
    strided = tj_problem_strided(&problem);
    cr_expect(eq(i64, strided.m.stride, 16 * 64 + 128));
    cr_expect(eq(i64, strided.n.stride, TJ_TIGHT), "its lines are counted at launch");
    cr_expect(eq(i64, strided.c.stride, 512), "480 elements of 2 bytes");
    cr_expect(eq(i64, strided.p.stride, 480));
}

/* Nothing but the promise makes an access to what pointers lead to wider than an element. */
Test(problem, pointers_promise_16_bytes_or_nothing)
{
    static const char *const configs[] = {"simt", "skinny:splits=1", "small_batch", "tiled", "naive", "simt:splits=2"};
    static const int64_t batches[] = {1, 6, TJ_ANY};

    for (size_t i = 0; i < 3 * sizeof configs / sizeof configs[0]; i++)
        for (int is_promised = 0; is_promised < 2; is_promised++) {
            tj_problem problem = problem_of(16, 64, 64);
            tj_config config = TJ_CONFIG_INIT;
            tj_launch_form form;
            tj_error err = {0};

            problem.batch = batches[i % 3];
            problem.epilogue.has_beta = 1;
            problem.m.layout = TJ_COL_MAJOR;
            problem.m.stride = problem.n.stride = problem.p.stride = problem.c.stride =
                is_promised ? TJ_POINTERS_16 : TJ_POINTERS;
            cr_assert(eq(int, tj_config_parse(configs[i / 3], &config, &err), TJ_OK), "%s", err.message);
            if (tj_preview_launch(&problem, &config, &form, &err) != TJ_OK) {
                cr_expect(problem.batch == TJ_ANY && strstr(configs[i / 3], "splits=2"), "%s: %s", configs[i / 3], err.message);
                continue;
            }
            if (is_promised && strcmp(configs[i / 3], "small_batch") == 0)
                cr_expect(form.align[TJ_MATRIX_M] == 16 && form.align[TJ_MATRIX_N] == 16 && form.align[TJ_MATRIX_P] == 16 &&
                          form.align[TJ_MATRIX_C] == 16);
            else if (is_promised && i / 3 < 2)
                cr_expect(eq(int, form.align[TJ_MATRIX_N], 16), "%s", configs[i / 3]);
            else if (!is_promised)
                cr_expect(form.align[TJ_MATRIX_M] <= 4 && form.align[TJ_MATRIX_N] <= 4 && form.align[TJ_MATRIX_P] <= 4 &&
                              form.align[TJ_MATRIX_C] <= 4,
                          "%s", configs[i / 3]);
        }
}

Test(problem, spells_a_transpose_as_a_layout)
{
    tj_problem transposed = problem_of(5, 6, 7), column = problem_of(5, 6, 7);
    transposed.m.transposed = 1;
    column.m.layout = TJ_COL_MAJOR;
    transposed = tj_problem_canonical(&transposed);
    column = tj_problem_canonical(&column);
    cr_assert(eq(int, memcmp(&transposed, &column, sizeof column), 0));
    cr_assert(eq(i64, column.m.ld, 5));
    column = tj_problem_canonical(&column);
    cr_assert(eq(int, memcmp(&transposed, &column, sizeof column), 0), "canonical twice is canonical once");
    /* P too, and C lies as P does, whether it says so or not. */
    tj_problem p_transposed = problem_of(5, 6, 7), p_column = problem_of(5, 6, 7);
    p_transposed.epilogue.has_beta = p_column.epilogue.has_beta = 1;
    p_transposed.p.transposed = 1;
    p_column.p.layout = p_column.c.layout = TJ_COL_MAJOR;
    p_transposed = tj_problem_canonical(&p_transposed);
    p_column = tj_problem_canonical(&p_column);
    cr_assert(eq(int, memcmp(&p_transposed, &p_column, sizeof p_column), 0));
}

Test(config, refuses_widths_that_are_none)
{
    static const char *const rows[] = {"0",          "-1",    "3", "3.5",  "33",  "2147483648",
                                       "4294967312", "16abc", "",  "0x10", " 16", "1e1"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = TJ_CONFIG_INIT, before;
        tj_error err = {0};
        config.family = tj_family_find("tiled");
        before = config;
        cr_expect(eq(int, tj_config_set(&config, "tile_width", rows[i], &err), TJ_ERR_INVALID_ARGUMENT), "\"%s\"", rows[i]);
        cr_expect(ne(ptr, strstr(err.message, rows[i]), NULL), "\"%s\": %s", rows[i], err.message);
        cr_expect(ne(ptr, strstr(err.message, "4 to 32"), NULL), "\"%s\": %s", rows[i], err.message);
        cr_expect(eq(int, memcmp(&config, &before, sizeof config), 0), "\"%s\" changed the config", rows[i]);
    }
}

Test(config, prints_a_line_that_parses_back)
{
    static const char *const rows[] = {
        "tiled",
        "naive",
        "tiled:tile_width=7",
        "tiled:shared=dynamic,tile_width=32,rows=x",
        "tiled:boundary=all",
        "tiled:boundary=none",
        "naive:tile_width=4,boundary=jl",
        "tiled:boundary=k",
        "tiled:boundary_j=all,boundary_k=auto,boundary_l=none",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = TJ_CONFIG_INIT, again = TJ_CONFIG_INIT;
        char line[TJ_CONFIG_TEXT_BYTES], line_again[TJ_CONFIG_TEXT_BYTES];
        tj_error err = {0};
        cr_assert(eq(int, tj_config_parse(rows[i], &config, &err), TJ_OK), "%s: %s", rows[i], err.message);
        tj_config_print(&config, line);
        cr_assert(eq(int, tj_config_parse(line, &again, &err), TJ_OK), "%s: %s", line, err.message);
        tj_config_print(&again, line_again);
        cr_expect(eq(str, line, line_again), "%s", rows[i]);
    }
}

Test(config, prints_even_what_no_one_should_have_set)
{
    tj_config config = TJ_CONFIG_INIT;
    char line[TJ_CONFIG_TEXT_BYTES];
    const tj_problem problem = problem_of(64, 64, 64);
    tj_error err = {0};

    config.family = tj_family_find("tiled");
    config.value[1] = 77; /* shared */
    config.check_j = config.check_k = config.check_l = -5;
    tj_config_print(&config, line);
    cr_expect(ne(ptr, strstr(line, "shared=77"), NULL), "%s", line);
    cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    config.check_j = config.check_k = config.check_l = TJ_CHECK_AUTO;
    cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(ne(ptr, strstr(err.message, "shared is 77"), NULL), "%s", err.message);
}

Test(config, settles_every_default_and_then_stays)
{
    static const struct {
        int64_t j, k, l;
        const char *config, *want;
    } rows[] = {
        {64, 63, 64, NULL, "tiled:tile_width=16,shared=static,rows=y,boundary=k"},
        {97, 89, 101, "tiled", "tiled:tile_width=16,shared=static,rows=y,boundary=all"},
        {64, 64, 64, "tiled:shared=dynamic", "tiled:tile_width=16,shared=dynamic,rows=y,boundary=none"},
        {65, 65, 65, "naive", "naive:tile_width=16,rows=y,boundary=jl"},
        {2000000, 4, 16, "naive", "naive:tile_width=16,rows=x,boundary=none"},
        {2000000, 4, 16, "naive:tile_width=32", "naive:tile_width=32,rows=y,boundary=l"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = problem_of(rows[i].j, rows[i].k, rows[i].l);
        tj_config config = TJ_CONFIG_INIT;
        char line[TJ_CONFIG_TEXT_BYTES];
        tj_error err = {0};
        if (rows[i].config)
            cr_assert(eq(int, tj_config_parse(rows[i].config, &config, &err), TJ_OK), "%s", err.message);
        for (int again = 0; again < 2; again++) {
            cr_assert(eq(int, tj_config_resolve(&problem, &config, &err), TJ_OK), "row %zu: %s", i, err.message);
            tj_config_print(&config, line);
            cr_expect(eq(str, line, (char *)rows[i].want), "row %zu, time %d", i, again);
        }
        cr_expect(eq(int, tj_config_parse(line, &config, &err), TJ_OK), "%s: %s", line, err.message);
    }
}

Test(config, names_the_word_it_cannot_read)
{
    static const struct {
        const char *text, *words;
        tj_status status;
    } rows[] = {
        {"fast", "\"fast\"", TJ_ERR_NOT_FOUND},
        {"", "\"\"", TJ_ERR_NOT_FOUND},
        {"tiled:tile_width", "tile_width", TJ_ERR_INVALID_ARGUMENT},
        {"tiled:speed=9", "speed", TJ_ERR_INVALID_ARGUMENT},
        {"tiled:shared=both", "static or dynamic", TJ_ERR_INVALID_ARGUMENT},
        {"tiled:boundary=jj", "jj", TJ_ERR_INVALID_ARGUMENT},
        {"tiled:boundary=x", "\"x\"", TJ_ERR_INVALID_ARGUMENT},
        {"naive:shared=static", "naive", TJ_ERR_INVALID_ARGUMENT},
        {"tiled:,", "name=value", TJ_ERR_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = TJ_CONFIG_INIT;
        tj_error err = {0};
        cr_expect(eq(int, tj_config_parse(rows[i].text, &config, &err), rows[i].status), "%s", rows[i].text);
        cr_expect(ne(ptr, strstr(err.message, rows[i].words), NULL), "%s: %s", rows[i].text, err.message);
    }
}

Test(checks, keeps_exactly_what_the_shape_needs)
{
    static const struct {
        int64_t j, k, l;
        const char *config;
        int checks; /* j 1, k 2, l 4 */
    } rows[] = {
        {64, 64, 64, "tiled:tile_width=16", 0},
        {65, 64, 64, "tiled:tile_width=16", 1},
        {64, 63, 64, "tiled:tile_width=16", 2},
        {64, 64, 1, "tiled:tile_width=16", 4},
        {97, 89, 101, "tiled:tile_width=16", 7},
        {21, 14, 7, "tiled:tile_width=7", 0},
        {64, 0, 64, "tiled:tile_width=16", 0},
        {64, 63, 64, "naive:tile_width=16", 0},
        {65, 64, 65, "naive:tile_width=16", 5},
        {64, 64, 64, "tiled:tile_width=16,boundary=all", 7},
        {64, 64, 64, "tiled:tile_width=16,boundary=none", 0},
        {64, 65, 64, "tiled:tile_width=16,boundary=k", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = problem_of(rows[i].j, rows[i].k, rows[i].l);
        tj_config config = TJ_CONFIG_INIT;
        tj_source *source = NULL;
        tj_error err = {0};
        cr_assert(eq(int, tj_config_parse(rows[i].config, &config, &err), TJ_OK));
        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "row %zu: %s", i, err.message);
        cr_expect(eq(int, tj_source_launch(source)->checks, rows[i].checks), "row %zu", i);
        cr_expect(eq(int, strstr(tj_source_text(source), "Row < j") || strstr(tj_source_text(source), "Row >= j"),
                     rows[i].checks & 1),
                  "row %zu: the text tests j exactly if its check is in", i);
        tj_source_free(source);
    }
}

Test(checks, refuses_to_drop_one_that_is_needed)
{
    static const struct {
        int64_t j, k, l;
        const char *words;
    } rows[] = {{65, 64, 64, "check of j"}, {64, 65, 64, "check of k"}, {64, 64, 65, "check of l"}};
    for (size_t i = 0; i < 3; i++) {
        for (int column = 0; column < 2; column++) {
            tj_problem problem = problem_of(rows[i].j, rows[i].k, rows[i].l);
            tj_config config = TJ_CONFIG_INIT;
            tj_error err = {0};
            problem.p.layout = column;
            cr_assert(eq(int, tj_config_parse("tiled:tile_width=16,boundary=none", &config, &err), TJ_OK));
            cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].words);
            cr_expect(ne(ptr, strstr(err.message, rows[i].words), NULL), "%s", err.message);
            cr_expect(ne(ptr, strstr(err.message, "65"), NULL), "%s", err.message);
        }
    }
}

Test(checks, belong_to_the_callers_dimensions_when_the_text_is_swapped)
{
    tj_problem problem = problem_of(65, 64, 64);
    tj_source *source;
    tj_error err = {0};

    problem.p.layout = TJ_COL_MAJOR;
    cr_assert(eq(int, tj_generate(&problem, NULL, &source, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_source_launch(source)->checks, 1), "the caller's j");
    cr_expect(eq(int, tj_source_launch(source)->is_swapped, 1));
    cr_expect(ne(ptr, strstr(tj_source_text(source), "Col >= l"), NULL), "which is the text's l");
    cr_expect(eq(ptr, strstr(tj_source_text(source), "Row >= j"), NULL));
    cr_expect(eq(int, tj_source_launch(source)->step[0].arg[0].kind, TJ_ARG_POINTER));
    cr_expect(eq(int, tj_source_launch(source)->step[0].arg[0].index, TJ_MATRIX_N), "the text's M is the caller's N");
    cr_expect(ne(ptr, strstr(tj_source_checks_text(source), "j: checked, 65"), NULL), "%s", tj_source_checks_text(source));
    tj_source_free(source);
}

Test(generate, indexes_with_int_exactly_while_every_offset_fits)
{
    static const struct {
        int64_t j, k, l, ld_m;
        bool fits;
        const char *config;
    } rows[] = {
        {46000, 46000, 16, 0, true},  /* 2 116 000 000 + the overhang */
        {46341, 46341, 16, 0, false}, /* just above 2^31 */
        {46330, 46330, 16, 0, false}, /* below 2^31, but the last tile hangs over */
        {16, 16, 46341, 0, true},
        {16, 16, 16, INT32_MAX / 48 - 1, true},
        {16, 16, 16, INT32_MAX / 47, false},
        {INT32_MAX, 1, 1, 0, false},
        {1, INT32_MAX - 20000, 1, 0, true, "skinny:splits=1"},
        {1, INT32_MAX - 20000, 1, 0, false, "skinny:splits=264"}, /* k is rounded up to phases of all splits */
        {1, INT32_MAX - 3000000, 1, 0, true, "skinny:splits=264"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = problem_of(rows[i].j, rows[i].k, rows[i].l);
        tj_source *source;
        tj_error err = {0};
        tj_config config = TJ_CONFIG_INIT;
        problem.m.ld = rows[i].ld_m;
        problem.m.layout = rows[i].config ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
        if (rows[i].config)
            cr_assert(eq(int, tj_config_parse(rows[i].config, &config, &err), TJ_OK), "row %zu: %s", i, err.message);
        cr_assert(eq(int, tj_generate(&problem, rows[i].config ? &config : NULL, &source, &err), TJ_OK), "row %zu: %s", i,
                  err.message);
        cr_expect(eq(int, strstr(tj_source_text(source), "using index_t = int;") != NULL, rows[i].fits), "row %zu", i);
        tj_source_free(source);
    }
}

Test(generate, never_promises_that_p_is_alone_when_c_may_be_p)
{
    tj_problem problem = problem_of(64, 64, 64);
    tj_source *source;
    tj_error err = {0};

    problem.epilogue.has_beta = 1;
    cr_assert(eq(int, tj_generate(&problem, NULL, &source, &err), TJ_OK), "%s", err.message);
    cr_expect(ne(ptr, strstr(tj_source_text(source), "const output_t *C,"), NULL));
    cr_expect(ne(ptr, strstr(tj_source_text(source), "    output_t *P)"), NULL));
    tj_source_free(source);
}

Test(checks, follows_a_promise)
{
    tj_problem problem = problem_of(1, 1, 1);
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source;
    tj_error err = {0};

    problem.j = problem.k = problem.l = (tj_dim){0, TJ_DIM_ANY, 0};
    problem.k.multiple_of = 64;
    cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_source_launch(source)->checks, 5));
    cr_assert(eq(int, tj_source_launch(source)->step[0].arg_count, 6));
    tj_source_free(source);
}

Test(geometry, counts_rows_on_x_where_y_is_too_short)
{
    const tj_problem tall = problem_of(65536 * 16 + 1, 4, 4), both = problem_of(65536 * 4 + 1, 1, 65536 * 4 + 1);
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source;
    tj_error err = {0};

    cr_assert(eq(int, tj_generate(&tall, NULL, &source, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_product_step(tj_source_launch(source))->rows_on_x, 1));
    tj_source_free(source);
    cr_assert(eq(int, tj_config_parse("tiled:rows=y", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_config_resolve(&tall, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_assert(ne(ptr, strstr(err.message, "rows=x"), NULL), "%s", err.message);
    cr_assert(eq(int, tj_config_parse("tiled:tile_width=4", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_config_resolve(&both, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_assert(ne(ptr, strstr(err.message, "raise TILE_WIDTH"), NULL), "%s", err.message);
}

Test(geometry, gives_every_width_the_block_and_memory_it_needs)
{
    for (int width = 4; width <= 32; width++) {
        const tj_problem problem = problem_of(100, 100, 100);
        tj_config config = TJ_CONFIG_INIT;
        tj_source *source;
        tj_error err = {0};
        char digits[4] = {(char)(width > 9 ? '0' + width / 10 : '0' + width), (char)(width > 9 ? '0' + width % 10 : 0), 0, 0};
        config.family = tj_family_find("tiled");
        cr_assert(eq(int, tj_config_set(&config, "tile_width", digits, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int,
                     tj_product_step(tj_source_launch(source))->block_x *tj_product_step(tj_source_launch(source))->block_y,
                     width *width));
        cr_expect(eq(i64, tj_product_step(tj_source_launch(source))->static_shared_bytes, 2 * width * width * 4));
        tj_source_free(source);
    }
}

Test(steps, stand_ahead_of_the_product_or_behind_all)
{
    const tj_problem problem = problem_of(512, 300, 700), view = tj_problem_canonical(&problem);
    tj_launch_form form = {.steps = 1, .step = {{.block_x = 1}}};
    tj_template_params params = {0};

    tj_step_add(&view, "reduce", false, &params, &form)->block_x = 4;
    tj_step_add(&view, "pack_m", true, &params, &form)->block_x = 2;
    tj_step_add(&view, "pack_n", true, &params, &form)->block_x = 3;
    cr_assert(eq(int, form.steps, 4));
    cr_assert(eq(int, form.product, 2));
    cr_expect(form.step[0].block_x == 2 && form.step[1].block_x == 3 && form.step[2].block_x == 1 && form.step[3].block_x == 4);
    cr_expect(eq(str, form.step[1].kernel, "pack_n_f32_512x300x700"));
    cr_expect(eq(sz, params.count, 3));
    cr_expect(eq(str, params.param[2].value, form.step[1].kernel), "the template finds it as pack_n");
    form.is_swapped = 1;
    cr_expect(eq(str, tj_step_add(&view, "unpack", false, &params, &form)->kernel, "unpack_f32_700x300x512"));
}

Test(generate, one_dynamic_text_serves_all_widths)
{
    const tj_problem problem = problem_of(96, 96, 96);
    tj_source *a, *b;
    tj_config config = TJ_CONFIG_INIT;
    tj_error err = {0};

    cr_assert(eq(int, tj_config_parse("tiled:shared=dynamic,tile_width=16", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_generate(&problem, &config, &a, &err), TJ_OK));
    cr_assert(eq(int, tj_config_parse("tiled:shared=dynamic,tile_width=32", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_generate(&problem, &config, &b, &err), TJ_OK));
    cr_assert(eq(str, (char *)tj_source_text(a), (char *)tj_source_text(b)));
    cr_assert(eq(i64, tj_product_step(tj_source_launch(a))->dynamic_shared_bytes, 2048));
    cr_assert(eq(i64, tj_product_step(tj_source_launch(b))->dynamic_shared_bytes, 8192));
    tj_source_free(a);
    tj_source_free(b);
}

/* Rows of blocks are walked together where each of them would fetch all of a large N from memory again. */
Test(requests, blocks_meet_in_the_l2_where_n_is_large)
{
    static const struct {
        const char *config;
        int type;
        int32_t j, k, l, group;
    } rows[] = {
        {"simt", TJ_F32, 4096, 4096, 4096, 8},         {"simt", TJ_F32, 512, 512, 512, 1},
        {"simt:bm=64", TJ_F32, 64, 4096, 8192, 1},     {"simt:splits=64", TJ_F32, 256, 60000, 256, 1},
        {"simt:group=1", TJ_F32, 4096, 4096, 4096, 1}, {"simt:rows=x", TJ_F32, 4096, 4096, 4096, 1},
        {"mma", TJ_F64, 256, 3584, 18944, 8},          {"mma", TJ_BF16, 2048, 2048, 2048, 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = TJ_PROBLEM_INIT(rows[i].j, rows[i].k, rows[i].l, rows[i].type);
        tj_config config = TJ_CONFIG_INIT;
        tj_error err;

        cr_assert(eq(int, tj_config_parse(rows[i].config, &config, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_config_resolve(&problem, &config, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, tj_config_get(&config, "group"), rows[i].group), "row %zu", i);
    }
}
