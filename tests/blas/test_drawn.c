/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: nightly (a minute of arithmetic) */
/*
 * Drawn calls of all kinds: the problem and the operands that TileJIT gets, computed by the reference, are the product that
 * cuBLAS defines. No kernel is compiled, so that thousands take seconds.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>

#include <tilejit/reference.h>

#include "call.h"
#include "drawn_product.h"

enum { DRAWS = IS_NIGHTLY ? 30000 : 10000 };

/* ---- host memory in place of the device's ----------------------------------------------------------------------------- */

typedef struct memory {
    void *at[PARTS], *arrays[MATRICES];
} memory;

static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);

    cr_assert(memory != NULL);
    memset(memory, 0, (bytes + 127) / 64 * 64);
    return memory;
}

/* from: the values are those of other memory; NULL: drawn. */
static memory make_memory(const drawn_product *one, const memory *from)
{
    memory made = {{0}};

    for (int i = 0; i < PARTS; i++) {
        const drawn_part is = part_of(one, (part)i);
        const size_t bytes = (size_t)is.elements * fake_bytes(is.type);

        made.at[i] = allocate(bytes);
        if (from)
            memcpy(made.at[i], from->at[i], bytes);
        else
            fill_part(one, (part)i, made.at[i]);
    }
    for (int i = 0; i < MATRICES; i++) {
        made.arrays[i] = allocate(8 * (size_t)one->p.batch);
        for (int64_t k = 0; k < one->p.batch; k++)
            ((char **)made.arrays[i])[k] = (char *)made.at[i] + (size_t)(k * one->p.stride[i]) * fake_bytes(one->p.type[i]);
    }
    return made;
}

static void free_memory(memory *of)
{
    for (int i = 0; i < PARTS; i++)
        free(of->at[i]);
    for (int i = 0; i < MATRICES; i++)
        free(of->arrays[i]);
}

/* ---- a call ----------------------------------------------------------------------------------------------------------- */

static blas_call call_of(const fake_product *p)
{
    blas_call call = {.name = "drawn", .alpha = p->alpha, .beta = p->beta, .alpha_stride = p->alpha_stride};
    blas_form *form = &call.form;

    *form = (blas_form){.m = p->m, .n = p->n, .k = p->k, .batch = p->batch, .op_a = p->op_a, .op_b = p->op_b};
    form->compute = p->compute, form->scalar_type = p->scalar_type, form->scalars = p->scalars;
    form->epilogue = p->epilogue, form->bias_type = p->bias_type, form->aux_type = p->aux_type;
    form->is_pointers = p->is_pointers, form->triangle = p->triangle;
    form->is_hermitian = p->is_hermitian, form->multiprocessors = p->processors;
    for (int i = 0; i < MATRICES; i++) {
        form->type[i] = p->type[i], form->is_by_rows[i] = p->by_rows[i];
        form->ld[i] = p->ld[i], form->stride[i] = p->stride[i];
        form->scale[i] = p->scale[i] ? p->scale_mode[i] + 1 : 0;
        call.address[i] = p->at[i], call.scale[i] = p->scale[i];
    }
    call.bias = (blas_place){p->bias, 0, p->bias_stride};
    call.aux = (blas_place){p->aux, p->aux_ld, p->aux_stride};
    blas_call_settle(&call);
    return call;
}

static tj_host_operand on_host(const tj_operand *operand)
{
    return (tj_host_operand){operand->address, operand->ld, operand->stride};
}

/* Compute as a launch would. in_place: what is in the place of C, if that is P; the reference reads complex numbers part by part. */
static tj_status compute(const blas_call *call, const tj_problem *problem, const void *in_place, tj_error *err)
{
    tj_operands operands;
    tj_host_operands host;

    blas_call_operands(call, problem, &operands);
    host = (tj_host_operands)TJ_HOST_OPERANDS(operands.m.address, operands.n.address);
    host.c = operands.c.address ? operands.c.address : in_place;
    host.alpha = operands.alpha, host.beta = operands.beta;
    host.alpha_im = operands.alpha_im, host.beta_im = operands.beta_im;
    for (int i = 0; i < TJ_FACTORS; i++)
        host.scale[i] = on_host(&operands.scale[i]);
    for (int i = 0; i < TJ_EPILOGUE_OPERANDS; i++)
        host.with[i] = on_host(&operands.with[i]), host.number[i] = operands.number[i];
    return tj_reference_product(problem, &host, (void *)(uintptr_t)operands.p.address, 1, err);
}

static void print_product(const fake_product *p, char text[300])
{
    snprintf(text, 300,
             "types %d %d %d %d, op %d%d, by rows %d%d%d%d, m%d n%d k%d, batch %d, scalars %d, epilogue %d, scales %d%d%d, "
             "triangle %d",
             p->type[A], p->type[B], p->type[C], p->type[D], p->op_a, p->op_b, p->by_rows[A], p->by_rows[B], p->by_rows[C],
             p->by_rows[D], (int)p->m, (int)p->n, (int)p->k, (int)p->batch, p->scalars, p->epilogue, p->scale_mode[A],
             p->scale_mode[B], p->scale[D] != NULL, p->triangle);
}

Test(drawn, calls_of_all_kinds_are_the_products_that_cublas_defines)
{
    compute_on_host();
    for (int i = 0; i < DRAWS; i++) {
        const drawn_product one = draw();
        memory ours = make_memory(&one, NULL), theirs = make_memory(&one, &ours), before = make_memory(&one, &ours);
        const fake_product p = placed(&one, ours.at, ours.arrays), q = placed(&one, theirs.at, theirs.arrays);
        const void *const in_place = placed(&one, before.at, before.arrays).at[D];
        blas_call call = call_of(&p);
        char why[128] = "", text[300];
        tj_error err = {TJ_OK, ""};
        tj_problem problem;

        print_product(&p, text);
        call.form.is_aligned = 1; /* the addresses of a batch's other matrices are as they are drawn */
        cr_assert(call.form.is_zero || blas_call_problem(&call.form, &problem, why), "%d: %s: %s", i, text, why);
        cr_assert(blas_call_is_whole(&call));
        cr_assert_eq(fake_evaluate(&q), SUCCESS, "%d: %s", i, text);
        cr_assert(call.form.is_zero || compute(&call, &problem, in_place, &err) == TJ_OK, "%d: %s: %s", i, text, err.message);
        for (int k = 0; k < PARTS && !call.form.is_zero; k++)
            if (is_result(&one, (part)k)) {
                const int wrong = count_different(&one, (part)k, ours.at[k], theirs.at[k]);

                cr_assert_eq(wrong, 0, "%d: %s: %d elements of part %d are wrong", i, text, wrong, k);
            }
        free_memory(&ours);
        free_memory(&theirs);
        free_memory(&before);
    }
}
