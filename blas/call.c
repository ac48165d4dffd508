/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- scalars --------------------------------------------------------------------------------------------------------- */

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent > 0 ? ldexp(1024 + fraction, exponent - 25)
                                       : ldexp(fraction, -24);

    return bits >> 15 ? -size : size;
}

double blas_call_scalar(const blas_call *call, const void *scalar)
{
    union {
        double f64;
        float f32;
        int32_t s32;
        uint16_t f16;
    } value = {0};

    switch (call->form.scalar_type) {
    case BLAS_R_64F:
        memcpy(&value.f64, scalar, sizeof value.f64);
        return value.f64;
    case BLAS_R_32I:
        memcpy(&value.s32, scalar, sizeof value.s32);
        return value.s32;
    case BLAS_R_16F:
        memcpy(&value.f16, scalar, sizeof value.f16);
        return half_value(value.f16);
    default:
        memcpy(&value.f32, scalar, sizeof value.f32);
        return value.f32;
    }
}

static bool is_aligned(const void *address)
{
    return ((uintptr_t)address & 15) == 0;
}

void blas_call_settle(blas_call *call)
{
    blas_form *form = &call->form;

    form->has_alpha = form->has_beta = 1;
    form->is_on_device |= !call->alpha || !call->beta;
    if (!form->is_on_device) {
        const double alpha = blas_call_scalar(call, call->alpha);

        form->is_zero = alpha == 0;
        form->has_alpha = alpha != 1;
        form->has_beta = blas_call_scalar(call, call->beta) != 0;
    }
    form->is_in_place = call->address[BLAS_C] == call->address[BLAS_D];
    form->is_aligned = is_aligned(call->address[BLAS_A]) && is_aligned(call->address[BLAS_B]) &&
                       is_aligned(call->address[BLAS_D]) && is_aligned(call->bias) &&
                       (!form->has_beta || is_aligned(call->address[BLAS_C]));
    if (form->batch <= 1 && !form->is_pointers)
        memset(form->stride, 0, sizeof form->stride);
    if (!form->has_beta) { /* C is not read, and may be anything */
        form->ld[BLAS_C] = form->stride[BLAS_C] = 0;
        form->type[BLAS_C] = form->type[BLAS_D];
        form->is_in_place = 1;
    }
}

/* ---- what is asked for ----------------------------------------------------------------------------------------------- */

static int type_of(int id)
{
    static const int type[] = {
        [BLAS_R_32F] = TJ_F32, [BLAS_R_64F] = TJ_F64,   [BLAS_R_16F] = TJ_F16,      [BLAS_R_8I] = TJ_S8,
        [BLAS_R_32I] = TJ_S32, [BLAS_R_16BF] = TJ_BF16, [BLAS_R_8F_E4M3] = TJ_E4M3, [BLAS_R_8F_E5M2] = TJ_E5M2};

    return id >= 0 && id < (int)(sizeof type / sizeof type[0]) ? type[id] : 0;
}

/*
 * How the sums are computed so that they are at least as precise as asked; 0: none is that precise. The pedantic modes demand
 * IEEE arithmetic in all phases, which tensor cores do not have. Modes that this file does not know, such as those that emulate
 * a type, are not judged.
 */
static int compute_for(const blas_form *form)
{
    const int math = form->math & ~BLAS_MATH_NO_NARROW_REDUCTION, compute = form->compute;
    const bool is_known = math >= BLAS_MATH_DEFAULT && math <= BLAS_MATH_TF32, is_pedantic = math == BLAS_MATH_PEDANTIC;
    const bool is_fast =
        compute == BLAS_COMPUTE_32F_FAST_16F || compute == BLAS_COMPUTE_32F_FAST_16BF || compute == BLAS_COMPUTE_32F_FAST_TF32;

    if (!is_known)
        return 0;
    switch (form->type[BLAS_A]) {
    case BLAS_R_32F:
        if (compute == BLAS_COMPUTE_32F && math == BLAS_MATH_TF32)
            return TJ_COMPUTE_TF32;
        if (compute == BLAS_COMPUTE_32F || compute == BLAS_COMPUTE_32F_PEDANTIC)
            return TJ_COMPUTE_F32;
        return is_fast && !is_pedantic ? TJ_COMPUTE_TF32 : 0;
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

/* C is D's own memory, or has a place of its own; of a batch, its matrices may be one. */
static tj_matrix matrix_of(const blas_form *form, int which, bool is_transposed)
{
    const int64_t stride = form->stride[which];

    return (tj_matrix){.type = type_of(form->type[which]),
                       .layout = is_transposed ? TJ_COL_MAJOR : TJ_ROW_MAJOR,
                       .ld = form->ld[which],
                       .stride = form->is_pointers  ? TJ_POINTERS
                                 : form->batch <= 1 ? TJ_TIGHT
                                 : stride == 0      ? TJ_BROADCAST
                                                    : stride};
}

/* The formula of alpha and beta is one of flags; with a bias or a function it is an expression. */
static bool take_epilogue(const blas_form *form, tj_problem *problem, tj_error *err)
{
    const bool has_bias = form->epilogue & BLAS_EPILOGUE_BIAS;
    const char *const function = form->epilogue & BLAS_EPILOGUE_RELU   ? "relu"
                                 : form->epilogue & BLAS_EPILOGUE_GELU ? "gelu_tanh"
                                                                       : "";
    char bias[32] = "", text[128];

    problem->epilogue.has_alpha = form->has_alpha;
    problem->epilogue.has_beta = form->has_beta;
    if (!has_bias && !*function)
        return true;
    if (has_bias)
        (void)snprintf(bias, sizeof bias, " + bias:%s[col]",
                       tj_type_name((tj_type)type_of(form->bias_type < 0 ? form->type[BLAS_D] : form->bias_type)));
    (void)snprintf(text, sizeof text, "%s(%sacc%s%s)", function, form->has_alpha ? "alpha * " : "",
                   form->has_beta ? " + beta * c" : "", bias);
    return tj_epilogue_parse(text, &problem->epilogue, err) == TJ_OK;
}

/* NULL: nothing forbids it. */
static const char *objection(const blas_form *form)
{
    const bool is_batch = form->batch > 1 && !form->is_pointers;

    if (form->is_on_device)
        return "alpha and beta lie in device memory";
    if (form->is_zero)
        return "alpha is 0, so that A and B are not read";
    if (form->m < 1 || form->n < 1 || form->k < 1 || form->batch < 1)
        return "an extent is 0";
    if (form->op_a < BLAS_OP_N || form->op_a > BLAS_OP_C || form->op_b < BLAS_OP_N || form->op_b > BLAS_OP_C)
        return "an unknown operation on A or B";
    if (form->epilogue & ~(BLAS_EPILOGUE_NONE | BLAS_EPILOGUE_RELU | BLAS_EPILOGUE_BIAS | BLAS_EPILOGUE_GELU))
        return "an epilogue other than a bias, relu and gelu";
    if (!type_of(form->type[BLAS_A]) || !type_of(form->type[BLAS_B]) || !type_of(form->type[BLAS_D]))
        return "a type that TileJIT does not have";
    if (form->type[BLAS_C] != form->type[BLAS_D])
        return "C has another type than D";
    if (form->epilogue & BLAS_EPILOGUE_BIAS && form->bias_type >= 0 && !type_of(form->bias_type))
        return "a bias of a type that TileJIT does not have";
    if (!form->is_aligned)
        return "an address is not a multiple of 16";
    for (int i = 0; i < BLAS_MATRICES; i++)
        if ((form->ld[i] < 1 && (i != BLAS_C || form->has_beta)) || form->stride[i] < 0)
            return "a leading dimension or a stride that is not positive";
    if (is_batch && form->stride[BLAS_D] == 0)
        return "the products of a batch share one D";
    if (form->has_beta && form->is_in_place &&
        (form->ld[BLAS_C] != form->ld[BLAS_D] || form->stride[BLAS_C] != form->stride[BLAS_D]))
        return "C and D share their memory, and lie differently";
    return NULL;
}

bool blas_call_problem(const blas_form *form, tj_problem *problem, char why[128])
{
    const char *reason = objection(form);
    tj_error err;

    if (form->is_special > 0) {
        (void)snprintf(why, 128, "attribute %d of the description, which TileJIT does not have", form->is_special - 1);
        return false;
    }
    if (form->is_special < 0)
        reason = "matrices that are not column-major, or whose sizes do not fit";
    *problem = (tj_problem)TJ_PROBLEM_INIT(form->n, form->k, form->m, TJ_F32);
    problem->compute = (int16_t)compute_for(form);
    if (!reason && !problem->compute)
        reason = "no way to compute is known to be as precise as the one asked for";
    if (reason) {
        (void)snprintf(why, 128, "%s", reason);
        return false;
    }
    problem->batch = form->is_pointers || form->batch > 1 ? form->batch : 0;
    problem->m = matrix_of(form, BLAS_B, form->op_b != BLAS_OP_N);
    problem->n = matrix_of(form, BLAS_A, form->op_a != BLAS_OP_N);
    problem->p = matrix_of(form, BLAS_D, false);
    if (form->has_beta)
        problem->c = matrix_of(form, BLAS_C, false);
    if (form->has_scale[0])
        problem->scale[TJ_MATRIX_N] = (tj_scale)TJ_SCALE_INIT(TJ_F32, 0, 0);
    if (form->has_scale[1])
        problem->scale[TJ_MATRIX_M] = (tj_scale)TJ_SCALE_INIT(TJ_F32, 0, 0);
    if (!take_epilogue(form, problem, &err) || tj_problem_check(problem, &err) != TJ_OK) {
        (void)snprintf(why, 128, "%.127s", err.message);
        return false;
    }
    return true;
}

void blas_call_operands(const blas_call *call, const tj_problem *problem, tj_operands *operands)
{
    const int bias = call->bias ? tj_epilogue_find(&problem->epilogue, "bias") : -1;

    *operands = (tj_operands)TJ_OPERANDS(call->address[BLAS_B], call->address[BLAS_A], call->address[BLAS_D]);
    if (!call->form.is_in_place)
        operands->c.address = call->address[BLAS_C];
    if (call->form.has_alpha)
        operands->alpha = blas_call_scalar(call, call->alpha);
    if (call->form.has_beta)
        operands->beta = blas_call_scalar(call, call->beta);
    operands->scale[TJ_MATRIX_N].address = call->scale[0];
    operands->scale[TJ_MATRIX_M].address = call->scale[1];
    operands->scale[TJ_MATRIX_N].stride = operands->scale[TJ_MATRIX_M].stride = TJ_BROADCAST;
    if (bias >= 0) {
        operands->with[bias].address = call->bias;
        operands->with[bias].stride = TJ_BROADCAST;
    }
    operands->workspace = call->workspace;
    operands->workspace_bytes = call->workspace_bytes;
}
