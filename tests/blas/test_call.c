/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * A call of cuBLAS as a problem of TileJIT: which precision it gets, and what is left to cuBLAS.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>

#include "call.h"
#include "element.h"

static blas_form plain(int type, int result, int compute)
{
    blas_form form = {.m = 24, .n = 16, .k = 32, .batch = 1, .compute = compute, .is_in_place = 1, .is_aligned = 1};

    form.epilogue = BLAS_EPILOGUE_NONE;
    form.type[BLAS_A] = form.type[BLAS_B] = type;
    form.type[BLAS_C] = form.type[BLAS_D] = result;
    form.ld[BLAS_A] = 24, form.ld[BLAS_B] = 32, form.ld[BLAS_D] = 24;
    form.scalar_type = compute == BLAS_COMPUTE_32I ? BLAS_R_32I : compute == BLAS_COMPUTE_64F ? BLAS_R_64F : BLAS_R_32F;
    return form;
}

/* The way to compute; 0: it is left to cuBLAS. */
static int way_of(blas_form form)
{
    tj_problem problem;
    char why[128] = "";

    if (!blas_call_problem(&form, &problem, why)) {
        cr_expect(why[0] != '\0');
        return 0;
    }
    return tj_problem_canonical(&problem).compute;
}

static int way(int type, int result, int compute, int math)
{
    blas_form form = plain(type, result, compute);

    form.math = math;
    return way_of(form);
}

Test(call, f32_is_ieee_unless_tf32_was_allowed)
{
    cr_expect_eq(way(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F, BLAS_MATH_DEFAULT), TJ_COMPUTE_F32);
    cr_expect_eq(way(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F, BLAS_MATH_TENSOR_OP), TJ_COMPUTE_F32);
    cr_expect_eq(way(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F, BLAS_MATH_PEDANTIC), TJ_COMPUTE_F32);
    cr_expect_eq(way(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F_PEDANTIC, BLAS_MATH_TF32), TJ_COMPUTE_F32);
    cr_expect_eq(way(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F, BLAS_MATH_TF32), TJ_COMPUTE_TF32);
    cr_expect_eq(way(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F, BLAS_MATH_TF32 | BLAS_MATH_NO_NARROW_REDUCTION),
                 TJ_COMPUTE_TF32);
    cr_expect_eq(way(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F_FAST_TF32, BLAS_MATH_DEFAULT), TJ_COMPUTE_TF32);
    cr_expect_eq(way(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F_FAST_16F, BLAS_MATH_DEFAULT), TJ_COMPUTE_TF32);
    cr_expect_eq(way(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F_FAST_TF32, BLAS_MATH_PEDANTIC), 0);
}

Test(call, emulated_types_and_unknown_modes_are_left_to_cublas)
{
    cr_expect_eq(way(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F, 4), 0);
    cr_expect_eq(way(BLAS_R_32F, BLAS_R_32F, 78, BLAS_MATH_DEFAULT), 0);
    cr_expect_eq(way(BLAS_R_64F, BLAS_R_64F, BLAS_COMPUTE_64F, 8), 0);
    cr_expect_eq(way(BLAS_C_32F, BLAS_C_32F, BLAS_COMPUTE_32F, 4), 0);
}

Test(call, narrow_types_are_summed_in_f32_at_least)
{
    cr_expect_eq(way(BLAS_R_16F, BLAS_R_16F, BLAS_COMPUTE_16F, BLAS_MATH_DEFAULT), TJ_COMPUTE_F32);
    cr_expect_eq(way(BLAS_R_16F, BLAS_R_32F, BLAS_COMPUTE_32F, BLAS_MATH_DEFAULT), TJ_COMPUTE_F32);
    cr_expect_eq(way(BLAS_R_16BF, BLAS_R_16BF, BLAS_COMPUTE_32F, BLAS_MATH_TENSOR_OP), TJ_COMPUTE_F32);
    cr_expect_eq(way(BLAS_R_16BF, BLAS_R_16BF, BLAS_COMPUTE_32F, BLAS_MATH_PEDANTIC), 0);
    cr_expect_eq(way(BLAS_R_16BF, BLAS_R_16BF, BLAS_COMPUTE_16F, BLAS_MATH_DEFAULT), 0);
    cr_expect_eq(way(BLAS_R_8F_E4M3, BLAS_R_16BF, BLAS_COMPUTE_32F, BLAS_MATH_DEFAULT), TJ_COMPUTE_F32_FP8);
    cr_expect_eq(way(BLAS_R_8I, BLAS_R_32I, BLAS_COMPUTE_32I, BLAS_MATH_DEFAULT), TJ_COMPUTE_S32);
    cr_expect_eq(way(BLAS_R_64F, BLAS_R_64F, BLAS_COMPUTE_64F, BLAS_MATH_TF32), TJ_COMPUTE_F64);
}

Test(call, a_column_major_product_is_the_row_major_one_of_transposes)
{
    blas_form form = plain(BLAS_R_16BF, BLAS_R_16BF, BLAS_COMPUTE_32F);
    char text[TJ_PROBLEM_TEXT_BYTES], why[128];
    tj_problem problem;

    form.op_a = BLAS_OP_T, form.ld[BLAS_A] = 40, form.has_alpha = 1;
    form.epilogue = BLAS_EPILOGUE_GELU | BLAS_EPILOGUE_BIAS, form.bias_type = -1;
    cr_assert(blas_call_problem(&form, &problem, why), "%s", why);
    tj_problem_print(&problem, text);
    cr_expect_str_eq(text, "j16 k32 l24 bf16 N:col epilogue=gelu_tanh(alpha * acc + bias:bf16[col]) ld_n=40");
}

Test(call, strides_keep_their_meaning)
{
    blas_form form = plain(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F);
    tj_problem problem;
    char why[128];

    form.batch = 3, form.stride[BLAS_A] = 0, form.stride[BLAS_B] = 700, form.stride[BLAS_D] = 500;
    cr_assert(blas_call_problem(&form, &problem, why), "%s", why);
    cr_expect_eq(problem.n.stride, TJ_BROADCAST);
    cr_expect_eq(problem.m.stride, 700);
    form.stride[BLAS_B] = -1; /* TileJIT's TJ_ANY */
    cr_expect_eq(way_of(form), 0);
    form.stride[BLAS_B] = 700, form.stride[BLAS_D] = 0; /* and TJ_TIGHT */
    cr_expect_eq(way_of(form), 0);
}

Test(call, what_tilejit_has_no_words_for_is_left_to_cublas)
{
    blas_form form[8];

    for (int i = 0; i < 8; i++)
        form[i] = plain(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F);
    form[0].k = 0;
    form[1].scalars = -1;
    form[2].is_zero = 1;
    form[3].is_aligned = 0;
    form[4].special = BLAS_DESC_AMAX_D_POINTER + 1;
    form[5].epilogue = 128 | BLAS_EPILOGUE_RELU;
    form[6].has_beta = 1, form[6].ld[BLAS_C] = 30; /* C is D, with another leading dimension */
    form[7].has_beta = 1, form[7].ld[BLAS_C] = 24, form[7].type[BLAS_C] = BLAS_R_16F; /* C is D, of another type */
    for (int i = 0; i < 8; i++)
        cr_expect_eq(way_of(form[i]), 0, "form %d", i);
}

Test(call, a_ban_of_tf32_holds_whatever_the_program_allows)
{
    cr_assert_eq(setenv("NVIDIA_TF32_OVERRIDE", "0", 1), 0);
    cr_expect_eq(way(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F, BLAS_MATH_TF32), TJ_COMPUTE_F32);
    cr_expect_eq(way(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F_FAST_TF32, BLAS_MATH_DEFAULT), TJ_COMPUTE_F32);
    cr_assert_eq(setenv("NVIDIA_TF32_OVERRIDE", "1", 1), 0);
    cr_expect_eq(way(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F_FAST_TF32, BLAS_MATH_DEFAULT), TJ_COMPUTE_TF32);
}

static void expect_text(blas_form form, const char *expected)
{
    char text[TJ_PROBLEM_TEXT_BYTES], why[128] = "";
    tj_problem problem;

    cr_assert(blas_call_problem(&form, &problem, why), "%s: %s", expected, why);
    tj_problem_print(&problem, text);
    cr_expect_str_eq(text, expected);
}

Test(call, each_part_of_an_epilogue_has_its_place)
{
    blas_form form[5];

    for (int i = 0; i < 5; i++) {
        form[i] = plain(BLAS_R_16BF, BLAS_R_16BF, BLAS_COMPUTE_32F);
        form[i].bias_type = form[i].aux_type = -1;
        form[i].has_alpha = 1;
    }
    form[0].scalars = BLAS_SCALARS_ON_DEVICE, form[0].has_beta = 1, form[0].ld[BLAS_C] = 24;
    expect_text(form[0], "j16 k32 l24 bf16 epilogue=select(factor[0] == 0, 0, acc * factor[0]) + "
                         "select(weight[0] == 0, 0, c * weight[0])");
    form[1].scalars = BLAS_ALPHA_VECTOR_NO_BETA, form[1].is_by_rows[BLAS_D] = form[1].is_by_rows[BLAS_C] = 1;
    form[1].ld[BLAS_D] = 16;
    expect_text(form[1], "j24 k32 l16 bf16 M:col N:col epilogue=select(factor[row] == 0, 0, acc * factor[row])");
    form[2].epilogue = BLAS_EPILOGUE_GELU | BLAS_EPILOGUE_AUX, form[2].has_alpha = 0;
    expect_text(form[2], "j16 k32 l24 bf16 epilogue=x:bf16[row, col] = acc; gelu_tanh(acc)");
    form[3].has_beta = 1, form[3].ld[BLAS_C] = 24, form[3].type[BLAS_C] = BLAS_R_32F, form[3].is_in_place = 0;
    expect_text(form[3], "j16 k32 l24 bf16 epilogue=alpha * acc + addend[row, col] * weight");
    form[4].type[BLAS_A] = form[4].type[BLAS_B] = form[4].type[BLAS_C] = form[4].type[BLAS_D] = BLAS_R_8F_E4M3;
    form[4].scale[BLAS_A] = BLAS_SCALE_OF_ROW + 1, form[4].scale[BLAS_B] = BLAS_SCALE_OF_MATRIX + 1;
    form[4].scale[BLAS_D] = BLAS_SCALE_OF_MATRIX + 1, form[4].has_alpha = 0;
    expect_text(form[4], "j16 k32 l24 e4m3 compute:f32_fp8 scale_m scale_n:each epilogue=acc * d_scale[0]");
}

Test(call, complex_numbers_are_as_precise_as_real_ones)
{
    blas_form form = plain(BLAS_C_32F, BLAS_C_32F, BLAS_COMPUTE_32F);

    cr_expect_eq(way(BLAS_C_32F, BLAS_C_32F, BLAS_COMPUTE_32F, BLAS_MATH_TF32), TJ_COMPUTE_TF32);
    cr_expect_eq(way(BLAS_C_32F, BLAS_C_32F, BLAS_COMPUTE_32F_FAST_TF32, BLAS_MATH_DEFAULT), TJ_COMPUTE_TF32);
    cr_expect_eq(way(BLAS_C_32F, BLAS_C_32F, BLAS_COMPUTE_32F_FAST_TF32, BLAS_MATH_PEDANTIC), 0);
    cr_expect_eq(way(BLAS_C_64F, BLAS_C_64F, BLAS_COMPUTE_64F, BLAS_MATH_DEFAULT), TJ_COMPUTE_F64);
    form.op_a = BLAS_OP_C, form.ld[BLAS_A] = 40, form.has_alpha = 1;
    expect_text(form, "j16 k32 l24 c64 N:col alpha ld_n=40 conj-n");
    form.scalars = BLAS_SCALARS_ON_DEVICE;
    cr_expect_eq(way_of(form), 0);
}

/* D is column-major, and P its transpose. */
Test(call, a_triangle_is_the_other_one_of_the_transpose)
{
    blas_form form = plain(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F);

    form.m = form.n = 24, form.op_b = BLAS_OP_T, form.ld[BLAS_B] = 24;
    form.triangle = BLAS_FILL_LOWER + 1;
    expect_text(form, "j24 k32 l24 f32 M:col symmetric=upper");
    form.triangle = BLAS_FILL_UPPER + 1, form.has_beta = 1, form.ld[BLAS_C] = 24;
    expect_text(form, "j24 k32 l24 f32 M:col beta symmetric=lower");
    form.type[BLAS_A] = form.type[BLAS_B] = form.type[BLAS_C] = form.type[BLAS_D] = BLAS_C_32F;
    form.op_b = BLAS_OP_C, form.is_hermitian = 1;
    expect_text(form, "j24 k32 l24 c64 M:col beta symmetric=hermitian-lower conj-m");
    form.triangle = BLAS_FILL_FULL + 1; /* cuBLAS refuses it */
    cr_expect_eq(way_of(form), 0);
}

/* Their factors are arrays on the host in every pointer mode. */
Test(call, groups_that_are_alike_are_one_batch)
{
    blas_form form = plain(BLAS_R_32F, BLAS_R_32F, BLAS_COMPUTE_32F);

    form.special = BLAS_EQUAL_GROUPS, form.batch = 3, form.is_pointers = 1;
    expect_text(form, "j16 k32 l24 f32 batch=3 stride_m=pointers stride_n=pointers stride_p=pointers");
    form.scalars = BLAS_SCALARS_ON_DEVICE;
    cr_expect_eq(way_of(form), 0);
    form.scalars = BLAS_SCALARS_ON_HOST, form.special = BLAS_OTHER_SIZES;
    cr_expect_eq(way_of(form), 0);
}

Test(call, what_is_not_certain_is_left_to_cublas)
{
    blas_form form[8];

    for (int i = 0; i < 8; i++) {
        form[i] = plain(BLAS_R_8F_E4M3, BLAS_R_32F, BLAS_COMPUTE_32F);
        form[i].bias_type = form[i].aux_type = -1;
    }
    form[0].epilogue = BLAS_EPILOGUE_BIAS; /* bf16 by default, next to FP8 */
    form[1].epilogue = BLAS_EPILOGUE_BIAS_GRADIENT | BLAS_EPILOGUE_DGELU;
    form[2].epilogue = BLAS_EPILOGUE_RELU | BLAS_EPILOGUE_AUX, form[2].aux_type = BLAS_R_16BF;
    form[3].scale[BLAS_A] = BLAS_SCALE_128_ALONG_K + 1; /* A is not transposed: its neighbours do not lie along k */
    form[4].scale[BLAS_A] = 7;                          /* a kind that did not exist yet */
    form[5].scale[BLAS_D] = BLAS_SCALE_32_ALONG_K + 1;
    form[6].scalars = 5;
    form[7].type[BLAS_A] = form[7].type[BLAS_B] = BLAS_R_16BF, form[7].scale[BLAS_A] = 1; /* not FP8 */
    for (int i = 0; i < 8; i++)
        cr_expect_eq(way_of(form[i]), 0, "form %d", i);
}

Test(call, scalars_of_every_type_are_read)
{
    const uint16_t halves[] = {0x3c00, 0xc000, 0x0001, 0x7c00, 0x3555};
    const double values[] = {1, -2, 0x1p-24, INFINITY, 0.333251953125};
    const int32_t whole = -7;
    const float f32 = 0.5F;
    blas_call call = {0};

    for (int i = 0; i < 5; i++)
        cr_expect_eq(blas_element_read(BLAS_R_16F, &halves[i]).re, values[i]);
    cr_expect_eq(blas_element_read(BLAS_R_32I, &whole).re, -7);
    cr_expect_eq(blas_element_read(BLAS_R_32F, &f32).re, 0.5);
    call.alpha = call.beta = NULL;
    blas_call_settle(&call);
    cr_expect_eq(call.form.scalars, -1);
}
