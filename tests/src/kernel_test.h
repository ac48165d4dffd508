/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_test: a context on a fake driver, the launch forms that tests load there, and the launches that the fake recorded.
 */
#ifndef TJ_KERNEL_TEST_H
#define TJ_KERNEL_TEST_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include <tilejit/tools.h>

#include "context.h"
#include "fake/fake_cuda.h"
#include "kernel.h"

static fake_cuda fake;
static tj_error err;
static tj_context *context;
static const tj_code sm_90 = {"sm_90", "13.0 V13.0.88", "PTX", "CUBIN"};

static inline void make_context_with(const char *driver)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;

    fake = fake_open(driver);
    options.driver = driver;
    options.cache_dir = "";
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
}

static inline void make_context(void)
{
    make_context_with(FAKE_CUDA_PATH);
}

static inline void make_context_of_old_driver(void)
{
    char path[PATH_MAX];

    make_context_with(fake_sibling(FAKE_CUDA_PATH, "libfake_cuda_old.so", path));
}

static inline void free_context(void)
{
    tj_context_free(context);
}

static inline bool says(const char *words)
{
    return strstr(err.message, words) != NULL;
}

static inline size_t arg_bytes(const tj_argument *arg, bool is_f64)
{
    if (arg->kind == TJ_ARG_EXTENT || arg->kind == TJ_ARG_BATCH)
        return 4;
    if (arg->kind == TJ_ARG_ALPHA || arg->kind == TJ_ARG_BETA)
        return is_f64 ? 8 : 4;
    return arg->kind == TJ_ARG_TENSOR_MAP ? 128 : 8;
}

static inline void add(tj_launch_step *step, bool is_present, tj_argument_kind kind, int index)
{
    if (is_present)
        step->arg[step->arg_count++] = (tj_argument){(int32_t)kind, index};
}

/* The launch form that a tiled kernel of TILE_WIDTH 16 has for a problem, parameters in the generator's order. */
static inline tj_launch_form form_of(const tj_problem *problem)
{
    const tj_dim *const dim[] = {&problem->j, &problem->k, &problem->l};
    tj_launch_form form = {
        .step = {{.kernel = "tiled", .grid = TJ_GRID_TILES, .block_x = 16, .block_y = 16, .block_rows = 16, .block_cols = 16}},
        .steps = 1,
        .checks = 7,
        .is_swapped = problem->p.layout == TJ_COL_MAJOR,
    };
    tj_launch_step *step = &form.step[0];

    for (int i = 0; i < 3; i++)
        add(step, dim[i]->mode == TJ_DIM_ANY, TJ_ARG_EXTENT, i);
    for (int i = 0; i < TJ_MATRICES; i++)
        add(step, tj_problem_matrix(problem, (tj_which)i)->ld == TJ_ANY, TJ_ARG_LD, i);
    for (int i = 0; i < TJ_MATRICES; i++)
        add(step, tj_problem_matrix(problem, (tj_which)i)->stride == TJ_ANY, TJ_ARG_STRIDE, i);
    add(step, problem->batch == TJ_ANY, TJ_ARG_BATCH, 0);
    add(step, problem->epilogue.has_alpha, TJ_ARG_ALPHA, 0);
    add(step, problem->epilogue.has_beta, TJ_ARG_BETA, 0);
    add(step, true, TJ_ARG_POINTER, TJ_MATRIX_M);
    add(step, true, TJ_ARG_POINTER, TJ_MATRIX_N);
    add(step, problem->epilogue.has_beta, TJ_ARG_POINTER, TJ_MATRIX_C);
    add(step, true, TJ_ARG_POINTER, TJ_MATRIX_P);
    return form;
}

static inline void tell_parameters(const tj_launch_form *form, const tj_problem *problem)
{
    for (int s = 0; s < form->steps; s++) {
        const tj_launch_step *step = &form->step[s];
        size_t bytes[TJ_LAUNCH_MAX_ARGS];

        for (int i = 0; i < step->arg_count; i++)
            bytes[i] = arg_bytes(&step->arg[i], problem->m.type == TJ_F64);
        fake.fake_set_parameters_of(step->kernel, step->arg_count, bytes);
    }
}

static inline tj_kernel *load_form(const tj_launch_form *form, const tj_problem *problem)
{
    tj_kernel *kernel = NULL;

    tell_parameters(form, problem);
    cr_assert(eq(int, tj_kernel_load_code(&context->host, form, problem, &sm_90, &kernel, &err), TJ_OK), "%s", err.message);
    return kernel;
}

static inline tj_problem canonical(tj_problem problem)
{
    cr_assert(eq(int, tj_problem_check(&problem, &err), TJ_OK), "%s", err.message);
    return tj_problem_canonical(&problem);
}

static inline tj_kernel *load(tj_problem problem)
{
    tj_problem c = canonical(problem);
    tj_launch_form form = form_of(&c);

    return load_form(&form, &c);
}

static inline tj_operands some_operands(void)
{
    tj_operands x = TJ_OPERANDS_INIT;

    x.m.address = (const void *)(uintptr_t)0x100000000000;
    x.n.address = (const void *)(uintptr_t)0x200000000000;
    x.p.address = (void *)(uintptr_t)0x300000000000;
    return x;
}

static inline tj_problem all_any(tj_type dtype)
{
    tj_problem problem = TJ_PROBLEM_INIT(0, 0, 0, dtype);

    problem.j.mode = problem.k.mode = problem.l.mode = TJ_DIM_ANY;
    problem.epilogue.has_alpha = problem.epilogue.has_beta = 1;
    problem.m.ld = problem.n.ld = problem.p.ld = problem.c.ld = TJ_ANY;
    problem.batch = TJ_ANY;
    problem.m.stride = problem.n.stride = problem.p.stride = problem.c.stride = TJ_ANY;
    return problem;
}

static inline fake_launch last_launch(void)
{
    fake_launch launch = {0};

    cr_assert(fake.fake_get_launch(fake.fake_launches() - 1, &launch));
    return launch;
}

/* Compare the launched bytes with values written out by hand, in the order of a kernel's parameters. */
static inline void expect_arguments_of(const tj_launch_step *step, bool is_f64, const tj_operands *x, const fake_launch *launch)
{
    const tj_operand *const matrix[] = {&x->m, &x->n, &x->p, &x->c};
    const int64_t extent[] = {x->j, x->k, x->l};
    size_t at = 0;

    for (int i = 0; i < step->arg_count; i++) {
        const int kind = step->arg[i].kind, index = step->arg[i].index;
        const double scalar = kind == TJ_ARG_ALPHA ? x->alpha : x->beta;
        const int64_t stride = matrix[index]->stride == TJ_BROADCAST ? 0 : matrix[index]->stride;
        const int64_t wide = kind == TJ_ARG_LD ? matrix[index]->ld : stride;
        const int32_t narrow = (int32_t)(kind == TJ_ARG_EXTENT ? extent[index] : x->batch);
        const float single = (float)scalar;
        const size_t bytes = arg_bytes(&step->arg[i], is_f64);
        const void *want = kind == TJ_ARG_POINTER                          ? (const void *)&matrix[index]->address
                           : kind == TJ_ARG_WORKSPACE                      ? (const void *)&x->workspace
                           : kind == TJ_ARG_EXTENT || kind == TJ_ARG_BATCH ? (const void *)&narrow
                           : kind == TJ_ARG_LD || kind == TJ_ARG_STRIDE    ? (const void *)&wide
                           : is_f64                                        ? (const void *)&scalar
                                                                           : (const void *)&single;

        at = (at + bytes - 1) / bytes * bytes;
        cr_expect(memcmp(launch->args + at, want, bytes) == 0, "argument %d (kind %d, index %d)", i, kind, index);
        at += bytes;
    }
    cr_expect(eq(sz, launch->arg_bytes, at));
}

static inline void expect_arguments(const tj_launch_form *form, bool is_f64, const tj_operands *x, const fake_launch *launch)
{
    expect_arguments_of(&form->step[0], is_f64, x, launch);
}

/* A source that splits k as the generator's do: the first kernel writes sums, the second reads them and writes P. */
static inline tj_launch_form split_form(const tj_problem *problem, int splits)
{
    tj_launch_form form = form_of(problem);
    tj_launch_step *product = &form.step[0], *reduce = &form.step[1];
    const int64_t most = 65535 / splits, products = problem->batch < most ? problem->batch : most;
    int kept = 0;

    for (int i = 0; i < product->arg_count; i++) {
        const tj_argument arg = product->arg[i];
        const bool has_matrix = arg.kind == TJ_ARG_POINTER || arg.kind == TJ_ARG_LD || arg.kind == TJ_ARG_STRIDE;
        const bool is_last = has_matrix ? arg.index >= TJ_MATRIX_P : arg.kind == TJ_ARG_ALPHA || arg.kind == TJ_ARG_BETA;

        add(reduce, arg.kind == TJ_ARG_POINTER && arg.index == TJ_MATRIX_P, TJ_ARG_WORKSPACE, 0);
        if (is_last)
            reduce->arg[reduce->arg_count++] = arg;
        else
            product->arg[kept++] = arg;
    }
    product->arg_count = kept;
    add(product, true, TJ_ARG_WORKSPACE, 0);
    product->splits = splits;
    strcpy(reduce->kernel, "reduce");
    reduce->grid = TJ_GRID_ELEMENTS;
    reduce->block_x = 256;
    reduce->block_y = reduce->block_rows = 1;
    reduce->block_cols = 64;
    reduce->overlaps = 1;
    form.steps = 2;
    form.workspace_bytes = problem->j.extent * problem->l.extent * splits * products * (problem->m.type == TJ_F64 ? 8 : 4);
    return form;
}

static inline tj_kernel *load_split(tj_problem problem, int splits, tj_launch_form *form)
{
    problem = canonical(problem);
    *form = split_form(&problem, splits);
    form->most_k = INT32_MAX - splits * 8192;
    return load_form(form, &problem);
}

static inline tj_operands operands_with_workspace(const tj_launch_form *form)
{
    tj_operands x = some_operands();

    x.workspace = (void *)(uintptr_t)0x50000;
    x.workspace_bytes = (size_t)form->workspace_bytes;
    return x;
}

#endif
