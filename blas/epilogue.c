/* SPDX-License-Identifier: Apache-2.0 */
#include "epilogue.h"

#include <stdio.h>
#include <string.h>

#include "element.h"

enum { TEXT_BYTES = 1024, TERM_BYTES = 400 };

/* The operands of an expression, by their names in it. */
static const char *const names[BLAS_EXTRAS] = {
    [BLAS_ALPHA] = "factor", [BLAS_BETA] = "weight",     [BLAS_ADDEND] = "addend",  [BLAS_BIAS] = "bias",
    [BLAS_AUX] = "x",        [BLAS_C_SCALE] = "c_scale", [BLAS_D_SCALE] = "d_scale"};

static bool has(const blas_form *form, int bits)
{
    return (form->epilogue & bits) == bits;
}

static bool is_fp8(int type)
{
    return type == BLAS_R_8F_E4M3 || type == BLAS_R_8F_E5M2;
}

/* The type of a vector or matrix next to D. Next to FP8, cuBLAS's default depends on more than D. */
static int type_next_to(const blas_form *form, int32_t given)
{
    return given >= 0 ? given : form->type[BLAS_D];
}

static bool is_guessed(const blas_form *form, int32_t given)
{
    return given < 0 && is_fp8(form->type[BLAS_A]) && form->type[BLAS_D] != BLAS_R_16BF && form->type[BLAS_D] != BLAS_R_16F;
}

bool blas_epilogue_adds_operand(const blas_form *form)
{
    return form->has_beta && form->type[BLAS_C] != form->type[BLAS_D];
}

static bool is_formula(const blas_form *form)
{
    return form->scalars == BLAS_SCALARS_ON_HOST && !(form->epilogue & ~BLAS_EPILOGUE_NONE) && !form->scale[BLAS_C] &&
           !form->scale[BLAS_D] && !blas_epilogue_adds_operand(form);
}

const char *blas_epilogue_objection(const blas_form *form)
{
    static const int taken = BLAS_EPILOGUE_NONE | BLAS_EPILOGUE_RELU | BLAS_EPILOGUE_BIAS | BLAS_EPILOGUE_BIAS_GRADIENT |
                             BLAS_EPILOGUE_GELU | BLAS_EPILOGUE_DGELU | BLAS_EPILOGUE_AUX;
    const bool has_aux = has(form, BLAS_EPILOGUE_AUX), has_dgelu = has(form, BLAS_EPILOGUE_DGELU),
               has_bias = form->epilogue & (BLAS_EPILOGUE_BIAS | BLAS_EPILOGUE_BIAS_GRADIENT);
    const bool is_vector = form->scalars >= BLAS_VECTORS_ON_DEVICE;

    if (form->scalars < 0)
        return "alpha or beta has no address";
    if (form->scalars > BLAS_ALPHA_VECTOR_BETA_ON_HOST)
        return "a pointer mode that this version does not know";
    if (is_vector && form->batch > 1 && form->scalars != BLAS_ALPHA_VECTOR_BETA_ON_HOST)
        return "vectors of alpha and beta with a batch";
    if (form->epilogue & ~taken || has_dgelu != has(form, BLAS_EPILOGUE_DGELU | BLAS_EPILOGUE_AUX))
        return "an epilogue other than bias, relu, gelu, the argument of gelu, and its gradient with that of the bias";
    if (has_aux && has(form, BLAS_EPILOGUE_RELU))
        return "an epilogue with a bit for each element";
    if (has_aux && !has_dgelu && !has(form, BLAS_EPILOGUE_GELU))
        return "an auxiliary matrix without gelu";
    if (has_dgelu && form->epilogue & (BLAS_EPILOGUE_BIAS | BLAS_EPILOGUE_GELU | BLAS_EPILOGUE_RELU))
        return "a gradient of gelu with another function or a bias";
    if (has(form, BLAS_EPILOGUE_BIAS_GRADIENT) && !has_dgelu)
        return "a gradient of a bias without that of gelu";
    if (has(form, BLAS_EPILOGUE_RELU | BLAS_EPILOGUE_GELU))
        return "relu and gelu at once";
    if (has_aux && form->is_by_rows[BLAS_D])
        return "an auxiliary matrix next to a row-major D";
    if ((has_bias && is_guessed(form, form->bias_type)) || (has_aux && is_guessed(form, form->aux_type)))
        return "a bias or an auxiliary matrix next to FP8 whose type is not named";
    if ((has_bias && !blas_element_type(type_next_to(form, form->bias_type))) ||
        (has_aux && !blas_element_type(type_next_to(form, form->aux_type))))
        return "a bias or an auxiliary matrix of a type that TileJIT does not have";
    if (blas_epilogue_adds_operand(form) && form->is_pointers)
        return "an array of pointers to matrices C of another type than D";
    if ((form->scalar_type == BLAS_R_32I || blas_element_is_complex(form->type[BLAS_D])) && !is_formula(form))
        return "integers or complex numbers with more than alpha and beta of the host";
    return NULL;
}

/* ": type[index]" of an operand. */
static const char *declared(char text[64], blas_extra which, int type, const char *index)
{
    (void)snprintf(text, 64, "%s:%s[%s]", names[which], tj_type_name((tj_type)blas_element_type(type)), index);
    return text;
}

/* A factor on the host is `alpha` or `beta`, or "" for 1. One on the device makes the term 0 where it is 0. */
static void print_term(const char *factor, bool is_on_device, const char *value, char *out, size_t bytes)
{
    if (is_on_device)
        (void)snprintf(out, bytes, "select(%s == 0, 0, %s * %s)", factor, factor, value);
    else
        (void)snprintf(out, bytes, "%s%s%s", factor, *factor ? " * " : "", value);
}

static void print_sum(const blas_form *form, const char *vector, char *out, size_t bytes)
{
    const bool alpha_on_device = form->scalars != BLAS_SCALARS_ON_HOST,
               beta_on_device = alpha_on_device && form->scalars != BLAS_ALPHA_VECTOR_BETA_ON_HOST;
    const char *const index = form->scalars == BLAS_SCALARS_ON_DEVICE ? "0" : vector;
    char alpha[64], beta[64], c[64], c_scale[64], bias[64], scaled[140], product[TERM_BYTES], rest[TERM_BYTES] = "";

    declared(alpha, BLAS_ALPHA, form->scalar_type, index);
    declared(beta, BLAS_BETA, form->scalar_type, index);
    print_term(alpha_on_device ? alpha : form->has_alpha ? "alpha" : "", alpha_on_device, "acc", product, sizeof product);
    if (form->has_beta) {
        (void)snprintf(scaled, sizeof scaled, "%s%s%s",
                       blas_epilogue_adds_operand(form) ? declared(c, BLAS_ADDEND, form->type[BLAS_C], "row, col") : "c",
                       form->scale[BLAS_C] ? " * " : "",
                       form->scale[BLAS_C] ? declared(c_scale, BLAS_C_SCALE, BLAS_R_32F, "0") : "");
        print_term(beta_on_device                     ? beta
                   : blas_epilogue_adds_operand(form) ? names[BLAS_BETA]
                                                      : "beta",
                   beta_on_device, scaled, rest, sizeof rest);
    }
    (void)snprintf(out, bytes, "%s%s%s%s%s", product, *rest ? " + " : "", rest, has(form, BLAS_EPILOGUE_BIAS) ? " + " : "",
                   has(form, BLAS_EPILOGUE_BIAS) ? declared(bias, BLAS_BIAS, type_next_to(form, form->bias_type), vector) : "");
}

/*
 * With y = x * (c + d * x^2), c = 2 * sqrt(2 / pi) and d = 0.044715 * c, gelu_tanh(x) is x * sigmoid(y), and its gradient
 * sigmoid(y) * (1 + x * (1 - sigmoid(y)) * (c + 3 * d * x^2)).
 */
static void print_gradient(const char *x, const char *sum, char *out, size_t bytes)
{
    char sigmoid[256];

    (void)snprintf(sigmoid, sizeof sigmoid, "sigmoid(%s * (1.59576912 + 0.0713548163 * %s * %s))", x, x, x);
    (void)snprintf(out, bytes, "%s * (1 + %s * (1 - %s) * (1.59576912 + 0.214064449 * %s * %s)) * (%s)", sigmoid, x, sigmoid, x,
                   x, sum);
}

tj_status blas_epilogue_take(const blas_form *form, tj_epilogue *epilogue, tj_error *err)
{
    const char *const vector = form->is_by_rows[BLAS_D] ? "row" : "col"; /* a row of D is one of P, or a column */
    char sum[TEXT_BYTES], value[2 * TEXT_BYTES], text[6 * TEXT_BYTES], x[64], gradient[64], d_scale[64];
    char first[2 * TEXT_BYTES + 128] = "";

    if (is_formula(form)) {
        epilogue->has_alpha = form->has_alpha;
        epilogue->has_beta = form->has_beta;
        return TJ_OK;
    }
    print_sum(form, vector, sum, sizeof sum);
    declared(x, BLAS_AUX, type_next_to(form, form->aux_type), "row, col");
    if (has(form, BLAS_EPILOGUE_DGELU))
        print_gradient(x, sum, value, sizeof value);
    else
        (void)snprintf(value, sizeof value, "%s(%s)",
                       has(form, BLAS_EPILOGUE_RELU)   ? "relu"
                       : has(form, BLAS_EPILOGUE_GELU) ? "gelu_tanh"
                                                       : "",
                       sum);
    if (has(form, BLAS_EPILOGUE_BIAS_GRADIENT))
        (void)snprintf(first, sizeof first, "%s = sum(%s); ",
                       declared(gradient, BLAS_BIAS, type_next_to(form, form->bias_type), vector), value);
    else if (has(form, BLAS_EPILOGUE_GELU | BLAS_EPILOGUE_AUX))
        (void)snprintf(first, sizeof first, "%s = %s; ", x, sum);
    (void)snprintf(text, sizeof text, "%s%s%s%s", first, value, form->scale[BLAS_D] ? " * " : "",
                   form->scale[BLAS_D] ? declared(d_scale, BLAS_D_SCALE, BLAS_R_32F, "0") : "");
    return tj_epilogue_parse(text, epilogue, err);
}

static blas_place place_of(const blas_call *call, blas_extra which)
{
    const blas_form *const form = &call->form;

    switch (which) {
    case BLAS_ALPHA:
        return (blas_place){call->alpha, 0, call->alpha_stride};
    case BLAS_BETA:
        return (blas_place){call->beta, 0, call->beta_stride};
    case BLAS_ADDEND:
        return (blas_place){call->address[BLAS_C], form->ld[BLAS_C], form->stride[BLAS_C]};
    case BLAS_BIAS:
        return call->bias;
    case BLAS_AUX:
        return call->aux;
    case BLAS_C_SCALE:
        return (blas_place){call->scale[BLAS_C], 0, 0};
    default:
        return (blas_place){call->scale[BLAS_D], 0, 0};
    }
}

void blas_epilogue_operands(const blas_call *call, const tj_epilogue *epilogue, tj_operands *operands)
{
    for (int i = 0; i < epilogue->expression.operands; i++) {
        const tj_epilogue_operand *const operand = &epilogue->expression.operand[i];
        int which = 0;
        blas_place place;

        while (which < BLAS_EXTRAS - 1 && strcmp(operand->name, names[which]) != 0)
            which++;
        if (operand->indexed == TJ_BY_NOTHING) { /* beta, on the host, next to an operand in place of C */
            operands->number[i] = blas_element_read(call->form.scalar_type, call->beta).re;
            continue;
        }
        place = place_of(call, (blas_extra)which);
        operands->with[i] = (tj_operand){place.address, place.ld, place.stride ? place.stride : TJ_BROADCAST};
    }
}
