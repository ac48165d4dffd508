/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "epilogue.h"
#include "element.h"

/* ---- scalars --------------------------------------------------------------------------------------------------------- */

static blas_number scalar_of(const blas_call *call, const void *scalar)
{
    return blas_element_read(call->form.scalar_type, scalar);
}

static bool is_aligned(const void *address)
{
    return ((uintptr_t)address & 15) == 0;
}

/* The host reads the scalars that lie there. */
static void settle_scalars(blas_call *call)
{
    blas_form *form = &call->form;
    const bool alpha_on_host = form->scalars == BLAS_SCALARS_ON_HOST,
               beta_on_host = alpha_on_host || form->scalars == BLAS_ALPHA_VECTOR_BETA_ON_HOST,
               has_beta = form->scalars != BLAS_ALPHA_VECTOR_NO_BETA;

    form->has_alpha = 1;
    form->has_beta = has_beta;
    if (!call->alpha || (has_beta && !call->beta)) {
        form->scalars = -1;
        return;
    }
    if (alpha_on_host) {
        const blas_number alpha = scalar_of(call, call->alpha);

        form->is_zero = alpha.re == 0 && alpha.im == 0;
        form->has_alpha = alpha.re != 1 || alpha.im != 0;
    }
    if (beta_on_host) {
        const blas_number beta = scalar_of(call, call->beta);

        form->has_beta = beta.re != 0 || beta.im != 0;
    }
}

void blas_call_settle(blas_call *call)
{
    blas_form *form = &call->form;

    settle_scalars(call);
    form->is_in_place = call->address[BLAS_C] == call->address[BLAS_D];
    form->is_aligned = is_aligned(call->address[BLAS_A]) && is_aligned(call->address[BLAS_B]) &&
                       is_aligned(call->address[BLAS_D]) && is_aligned(call->bias.address) && is_aligned(call->aux.address) &&
                       (!form->has_beta || is_aligned(call->address[BLAS_C]));
    if (form->batch <= 1 && !form->is_pointers)
        memset(form->stride, 0, sizeof form->stride);
    if (!form->has_beta) { /* C is not read, and may be anything */
        form->ld[BLAS_C] = form->stride[BLAS_C] = 0;
        form->type[BLAS_C] = form->type[BLAS_D];
        form->is_by_rows[BLAS_C] = form->is_by_rows[BLAS_D];
        form->scale[BLAS_C] = 0;
        form->is_in_place = 1;
    }
}

bool blas_call_is_whole(const blas_call *call)
{
    const int epilogue = call->form.epilogue;

    return call->address[BLAS_A] && call->address[BLAS_B] && call->address[BLAS_D] &&
           (!call->form.has_beta || call->address[BLAS_C]) &&
           (!(epilogue & (BLAS_EPILOGUE_BIAS | BLAS_EPILOGUE_BIAS_GRADIENT)) || call->bias.address) &&
           (!(epilogue & BLAS_EPILOGUE_AUX) || call->aux.address);
}

/* ---- what is asked for ----------------------------------------------------------------------------------------------- */

/* NVIDIA's libraries take a 0 there as a ban that no setting of the program lifts. */
static bool forbids_tf32(void)
{
    const char *text = getenv("NVIDIA_TF32_OVERRIDE");

    return text && strcmp(text, "0") == 0;
}

/*
 * How the sums are computed so that they are at least as precise as asked; 0: none is that precise. The pedantic modes demand
 * IEEE arithmetic in all phases, which tensor cores do not have. Modes that this file does not know, such as those that emulate
 * a type, are not judged.
 */
static int compute_for(const blas_form *form)
{
    const int tf32 = forbids_tf32() ? TJ_COMPUTE_F32 : TJ_COMPUTE_TF32;
    const int math = form->math & ~BLAS_MATH_NO_NARROW_REDUCTION, compute = form->compute;
    const bool is_known = math >= BLAS_MATH_DEFAULT && math <= BLAS_MATH_TF32, is_pedantic = math == BLAS_MATH_PEDANTIC;
    const bool is_fast =
        compute == BLAS_COMPUTE_32F_FAST_16F || compute == BLAS_COMPUTE_32F_FAST_16BF || compute == BLAS_COMPUTE_32F_FAST_TF32;

    if (!is_known)
        return 0;
    switch (form->type[BLAS_A]) {
    case BLAS_C_32F:
    case BLAS_R_32F:
        if (compute == BLAS_COMPUTE_32F && math == BLAS_MATH_TF32)
            return tf32;
        if (compute == BLAS_COMPUTE_32F || compute == BLAS_COMPUTE_32F_PEDANTIC)
            return TJ_COMPUTE_F32;
        return is_fast && !is_pedantic ? tf32 : 0;
    case BLAS_C_64F:
    case BLAS_R_64F:
        return compute == BLAS_COMPUTE_64F || compute == BLAS_COMPUTE_64F_PEDANTIC ? TJ_COMPUTE_F64 : 0;
    case BLAS_R_16F:
        if (compute == BLAS_COMPUTE_16F && !is_pedantic)
            return TJ_COMPUTE_F32;
        __attribute__((fallthrough));
    case BLAS_R_16BF:
        return (compute == BLAS_COMPUTE_32F || is_fast) && !is_pedantic ? TJ_COMPUTE_F32 : 0;
    case BLAS_R_8I:
        if ((compute == BLAS_COMPUTE_32I || compute == BLAS_COMPUTE_32I_PEDANTIC) && form->type[BLAS_D] == BLAS_R_32I &&
            form->scalar_type == BLAS_R_32I)
            return TJ_COMPUTE_S32;
        return compute == BLAS_COMPUTE_32F && form->type[BLAS_D] == BLAS_R_32F && !is_pedantic ? TJ_COMPUTE_S32 : 0;
    case BLAS_R_8F_E4M3:
    case BLAS_R_8F_E5M2:
        return compute == BLAS_COMPUTE_32F && !is_pedantic ? TJ_COMPUTE_F32_FP8 : 0;
    default:
        return 0;
    }
}

/* ---- matrices --------------------------------------------------------------------------------------------------------- */

/*
 * A column-major D is the row-major P = D^T = op(B)^T . op(A)^T, and a row-major one is P = D = op(A) . op(B). So is the matrix
 * of each factor found, and its layout: a stored matrix is read by rows if it is row-major, or its transpose is column-major.
 */
static tj_which factor_of(const blas_form *form, int which)
{
    return (which == BLAS_A) == (form->is_by_rows[BLAS_D] != 0) ? TJ_MATRIX_M : TJ_MATRIX_N;
}

/* C is D's own memory, or has a place of its own; the matrices of a batch may be one. */
static tj_matrix matrix_of(const blas_form *form, int which)
{
    const int32_t op = which == BLAS_A ? form->op_a : which == BLAS_B ? form->op_b : BLAS_OP_N;
    const bool by_rows = (form->is_by_rows[which] != 0) != (op != BLAS_OP_N);
    const int64_t stride = form->stride[which];

    return (tj_matrix){.type = blas_element_type(form->type[which]),
                       .layout = by_rows == (form->is_by_rows[BLAS_D] != 0) ? TJ_ROW_MAJOR : TJ_COL_MAJOR,
                       .conjugated = op == BLAS_OP_C && blas_element_is_complex(form->type[which]),
                       .ld = form->ld[which],
                       .stride = form->is_pointers  ? TJ_POINTERS
                                 : form->batch <= 1 ? TJ_TIGHT
                                 : stride == 0      ? TJ_BROADCAST
                                                    : stride};
}

/* ---- scales of A and B ------------------------------------------------------------------------------------------------ */

static bool is_along_k(int32_t scale)
{
    return scale - 1 == BLAS_SCALE_16_ALONG_K || scale - 1 == BLAS_SCALE_32_ALONG_K || scale - 1 == BLAS_SCALE_128_ALONG_K ||
           scale - 1 == BLAS_SCALE_128_BY_128;
}

/* type 0: it is none that TileJIT has. */
static tj_scale scale_of(int32_t scale)
{
    static const tj_scale of_mode[] = {
        [BLAS_SCALE_OF_MATRIX] = {.type = TJ_F32},
        [BLAS_SCALE_16_ALONG_K] = {.type = TJ_E4M3, .layout = TJ_SCALES_IN_TILES, .rows = 1, .k = 16},
        [BLAS_SCALE_32_ALONG_K] = {.type = TJ_E8M0, .layout = TJ_SCALES_IN_TILES, .rows = 1, .k = 32},
        [BLAS_SCALE_OF_ROW] = {.type = TJ_F32, .rows = 1},
        [BLAS_SCALE_128_ALONG_K] = {.type = TJ_F32, .layout = TJ_SCALES_PART_BY_PART, .rows = 1, .k = 128},
        [BLAS_SCALE_128_BY_128] = {.type = TJ_F32, .layout = TJ_SCALES_ROW_BY_ROW, .rows = 128, .k = 128}};

    return scale > 0 && scale <= (int32_t)(sizeof of_mode / sizeof of_mode[0]) ? of_mode[scale - 1] : (tj_scale){0};
}

/* Those of blocks of 128 x 128 begin at multiples of 16 bytes. */
static int64_t scale_ld(const blas_form *form, int which)
{
    return form->scale[which] - 1 == BLAS_SCALE_128_ALONG_K  ? (which == BLAS_A ? form->m : form->n)
           : form->scale[which] - 1 == BLAS_SCALE_128_BY_128 ? ((form->k + 127) / 128 + 3) / 4 * 4
                                                             : 0;
}

static const char *object_to_scales(const blas_form *form)
{
    for (int i = 0; i < BLAS_MATRICES; i++) {
        const bool is_factor = i == BLAS_A || i == BLAS_B;

        if (form->scale[i] && (form->type[BLAS_A] != BLAS_R_8F_E4M3 && form->type[BLAS_A] != BLAS_R_8F_E5M2))
            return "scales of matrices that are not FP8";
        if (form->scale[i] && (is_factor ? !scale_of(form->scale[i]).type : form->scale[i] - 1 != BLAS_SCALE_OF_MATRIX))
            return "scales of blocks of C or D, or of a kind that this version does not know";
        if (is_factor && form->scale[i] - 1 > BLAS_SCALE_OF_MATRIX && form->batch > 1)
            return "scales of rows or blocks with a batch";
    }
    if ((is_along_k(form->scale[BLAS_A]) && (form->op_a != BLAS_OP_N) == (form->is_by_rows[BLAS_A] != 0)) ||
        (is_along_k(form->scale[BLAS_B]) && (form->op_b == BLAS_OP_N) == (form->is_by_rows[BLAS_B] != 0)))
        return "scales of blocks of a matrix whose neighbours do not lie along k";
    return NULL;
}

/* ---- the problem ------------------------------------------------------------------------------------------------------ */

/* NULL: nothing forbids it. */
static const char *object_to_matrices(const blas_form *form)
{
    const bool is_batch = form->batch > 1 && !form->is_pointers;

    if (!blas_element_type(form->type[BLAS_A]) || !blas_element_type(form->type[BLAS_B]) ||
        !blas_element_type(form->type[BLAS_C]) || !blas_element_type(form->type[BLAS_D]))
        return "a type that TileJIT does not have";
    if (form->is_zero)
        return "alpha is 0, so that A and B are not read";
    if (form->m < 1 || form->n < 1 || form->k < 1 || form->batch < 1)
        return "an extent is 0";
    if (form->op_a < BLAS_OP_N || form->op_a > BLAS_OP_C || form->op_b < BLAS_OP_N || form->op_b > BLAS_OP_C)
        return "an unknown operation on A or B";
    if (form->triangle > BLAS_FILL_UPPER + 1 || form->triangle < 0)
        return "an unknown triangle of C";
    if (!form->is_aligned)
        return "an address is not a multiple of 16";
    for (int i = 0; i < BLAS_MATRICES; i++)
        if ((form->ld[i] < 1 && (i != BLAS_C || form->has_beta)) || form->stride[i] < 0)
            return "a leading dimension or a stride that is not positive";
    if (is_batch && form->stride[BLAS_D] == 0)
        return "the products of a batch share one D";
    if (form->is_by_rows[BLAS_C] != form->is_by_rows[BLAS_D])
        return "one of C and D is row-major";
    if (form->has_beta && form->is_in_place &&
        (form->ld[BLAS_C] != form->ld[BLAS_D] || form->stride[BLAS_C] != form->stride[BLAS_D] ||
         form->type[BLAS_C] != form->type[BLAS_D]))
        return "C and D share their memory, and lie differently";
    return NULL;
}

static const char *objection(const blas_form *form)
{
    const char *reason = object_to_matrices(form);

    if (form->special == BLAS_OTHER_SIZES)
        return "the products of one call differ in size";
    if (form->special == BLAS_EQUAL_GROUPS && form->scalars != BLAS_SCALARS_ON_HOST)
        return "groups of batches with a pointer mode other than that of the host";
    if (form->special == BLAS_OTHER_MATRICES)
        return "interleaved matrices, complex ones in two planes, or sizes that do not fit";
    if (!reason)
        reason = object_to_scales(form);
    return reason ? reason : blas_epilogue_objection(form);
}

/* D is column-major, so that P, which is its transpose, has the other triangle. */
static int8_t triangle_of(const blas_form *form)
{
    const bool is_upper = form->triangle == BLAS_FILL_LOWER + 1;

    if (!form->triangle)
        return TJ_SYMMETRIC_NOT;
    return form->is_hermitian ? (is_upper ? TJ_HERMITIAN_UPPER : TJ_HERMITIAN_LOWER)
                              : (is_upper ? TJ_SYMMETRIC_UPPER : TJ_SYMMETRIC_LOWER);
}

bool blas_call_problem(const blas_form *form, tj_problem *problem, char why[128])
{
    const bool by_rows = form->is_by_rows[BLAS_D];
    const char *reason = objection(form);
    tj_error err;

    if (form->special > 0) {
        (void)snprintf(why, 128, "attribute %d of the description, which TileJIT does not have", form->special - 1);
        return false;
    }
    *problem = (tj_problem)TJ_PROBLEM_INIT(by_rows ? form->m : form->n, form->k, by_rows ? form->n : form->m, TJ_F32);
    problem->compute = (int8_t)compute_for(form);
    if (!reason && !problem->compute)
        reason = "no way to compute is known to be as precise as the one asked for";
    if (reason) {
        (void)snprintf(why, 128, "%s", reason);
        return false;
    }
    problem->symmetric = triangle_of(form);
    problem->multiprocessors = (int32_t)form->multiprocessors;
    problem->batch = form->is_pointers || form->batch > 1 ? form->batch : 0;
    problem->m = matrix_of(form, by_rows ? BLAS_A : BLAS_B);
    problem->n = matrix_of(form, by_rows ? BLAS_B : BLAS_A);
    problem->p = matrix_of(form, BLAS_D);
    if (form->has_beta && !blas_epilogue_adds_operand(form))
        problem->c = matrix_of(form, BLAS_C);
    for (int i = BLAS_A; i <= BLAS_B; i++)
        problem->scale[factor_of(form, i)] = scale_of(form->scale[i]);
    if (blas_epilogue_take(form, &problem->epilogue, &err) != TJ_OK || tj_problem_check(problem, &err) != TJ_OK) {
        (void)snprintf(why, 128, "%.127s", err.message);
        return false;
    }
    return true;
}

void blas_call_operands(const blas_call *call, const tj_problem *problem, tj_operands *operands)
{
    const blas_form *form = &call->form;
    const bool by_rows = form->is_by_rows[BLAS_D];

    *operands = (tj_operands)TJ_OPERANDS(call->address[by_rows ? BLAS_A : BLAS_B], call->address[by_rows ? BLAS_B : BLAS_A],
                                         call->address[BLAS_D]);
    if (!form->is_in_place)
        operands->c.address = call->address[BLAS_C];
    if (form->scalars == BLAS_SCALARS_ON_HOST && form->has_alpha) {
        const blas_number alpha = scalar_of(call, call->alpha);

        operands->alpha = alpha.re, operands->alpha_im = alpha.im;
    }
    if ((form->scalars == BLAS_SCALARS_ON_HOST || form->scalars == BLAS_ALPHA_VECTOR_BETA_ON_HOST) && form->has_beta) {
        const blas_number beta = scalar_of(call, call->beta);

        operands->beta = beta.re, operands->beta_im = beta.im;
    }
    for (int i = BLAS_A; i <= BLAS_B; i++)
        operands->scale[factor_of(form, i)] = (tj_operand){call->scale[i], scale_ld(form, i), TJ_BROADCAST};
    blas_epilogue_operands(call, &problem->epilogue, operands);
    operands->workspace = call->workspace;
    operands->workspace_bytes = call->workspace_bytes;
}
