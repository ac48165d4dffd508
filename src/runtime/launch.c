/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch: operands -> grid, arguments -> cuLaunchKernel.
 *
 * Two ways lead to the same call. A kernel whose problem leaves nothing open has grid and constant arguments since its
 * load, and a launch of it only looks at the pointers, and whether P reaches into what is read. Everything else, and everything
 * that is wrong, goes through tj_launch_resolve. Neither way allocates or locks, and the driver is asked only for the green
 * context of the stream, where blocks walk, and for the workspace of a split k where neither the operands bring one nor the
 * program's allocator: that comes in the order of the stream.
 */
#include "kernel.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "scalar.h"
#include "scope.h"

/* Launch with attributes beyond cuLaunchKernel: clusters, and kernels that may overlap their predecessor. */
static CUresult launch_with_attributes(const tj_driver *driver, const tj_loaded_step *step, const tj_geometry *geometry,
                                       CUstream stream, void **parameters)
{
    CUlaunchAttribute attribute[sizeof step->attribute / sizeof step->attribute[0]];
    const CUlaunchConfig config = {.grid_x = geometry->grid[0],
                                   .grid_y = geometry->grid[1],
                                   .grid_z = geometry->grid[2],
                                   .block_x = geometry->block[0],
                                   .block_y = geometry->block[1],
                                   .block_z = 1,
                                   .shared_bytes = geometry->shared_bytes,
                                   .stream = stream,
                                   .attributes = attribute,
                                   .attribute_count = step->attribute_count};

    memcpy(attribute, step->attribute, sizeof attribute);
    return driver->api.launch_kernel_ex(&config, step->function, parameters, NULL);
}

__attribute__((cold, noinline)) static tj_status fail_to_launch(const tj_kernel *kernel, int index, const tj_geometry *geometry,
                                                                CUstream stream, CUresult result, tj_error *err)
{
    char what[256];

    snprintf(what, sizeof what, "cannot launch %s with grid (%u, %u, %u), block (%u, %u), %u bytes of dynamic shared memory",
             kernel->form.step[index].kernel, geometry->grid[0], geometry->grid[1], geometry->grid[2], geometry->block[0],
             geometry->block[1], geometry->shared_bytes);
    return tj_stream_fail(kernel->driver, result, stream, what, err);
}

/* place: see tj_parameter. */
static inline tj_status queue_step(const tj_kernel *kernel, int index, const char *const *place, const tj_launch_shape *shape,
                                   CUstream stream, tj_error *err)
{
    const tj_loaded_step *step = &kernel->step[index];
    const tj_geometry *geometry = &shape->geometry[index];
    const void *parameter[TJ_LAUNCH_MAX_ARGS];
    CUresult result;

    for (int i = 0; i < step->parameters; i++)
        parameter[i] = place[step->parameter[i].place] + step->parameter[i].offset;
    if (__builtin_expect(step->attribute_count > 0, 0))
        result = launch_with_attributes(kernel->driver, step, geometry, stream, (void **)parameter);
    else
        result = kernel->driver->api.launch_kernel(step->function, geometry->grid[0], geometry->grid[1], geometry->grid[2],
                                                   geometry->block[0], geometry->block[1], 1, geometry->shared_bytes, stream,
                                                   (void **)parameter, NULL);
    if (__builtin_expect(result == CUDA_SUCCESS, 1))
        return TJ_OK;
    return fail_to_launch(kernel, index, geometry, stream, result, err);
}

/* A number that is not whole belongs to a problem that does not use it. */
static int64_t whole_or_0(double value)
{
    return tj_scalar_is_whole(value) ? (int64_t)value : 0;
}

static void make_complex_scalars(const tj_operands *x, bool is_f64, tj_launch_call *call)
{
    const double alpha[] = {x->alpha, x->alpha_im}, beta[] = {x->beta, x->beta_im};

    for (int part = 0; part < 2; part++)
        if (is_f64)
            call->alpha.c128[part] = alpha[part], call->beta.c128[part] = beta[part];
        else
            call->alpha.c64[part] = (float)alpha[part], call->beta.c64[part] = (float)beta[part];
}

/* Fill in the values that parameters point to besides the operands themselves. */
static void make_call(const tj_kernel *kernel, const tj_operands *x, tj_launch_call *call)
{
    call->c = x->c.address ? x->c.address : x->p.address;
    call->alpha.real = (float)x->alpha;
    call->beta.real = (float)x->beta;
    if (kernel->scalar_type == TJ_S32)
        call->alpha.whole = whole_or_0(x->alpha), call->beta.whole = whole_or_0(x->beta);
    if (tj_type_is_complex((int32_t)kernel->scalar_type))
        make_complex_scalars(x, kernel->scalar_type == TJ_C128, call);
    for (int i = 0; kernel->has_numbers && i < TJ_EPILOGUE_OPERANDS; i++)
        call->number[i] = (float)x->number[i];
}

/* Apart from the way of a plain step, whose stack it would fill. */
__attribute__((noinline)) static tj_status queue_with_extras(const tj_kernel *kernel, int index, const tj_operands *x,
                                                             const tj_launch_call *call, const tj_launch_shape *shape,
                                                             CUstream stream, tj_error *err)
{
    tj_launch_extras extras;
    const char *const place[TJ_PLACES] = {(const char *)x, (const char *)shape, (const char *)call, x->offsets,
                                          (const char *)&extras};
    const tj_status status = tj_step_make_extras(kernel, index, x, shape, &extras, err);

    return status == TJ_OK ? queue_step(kernel, index, place, shape, stream, err) : status;
}

static tj_status queue(const tj_kernel *kernel, const tj_operands *x, const tj_launch_shape *shape, CUstream stream,
                       tj_error *err)
{
    tj_launch_call call;
    const char *const place[TJ_PLACES] = {(const char *)x, (const char *)shape, (const char *)&call, x->offsets};
    const tj_loaded_step *step;
    tj_status status;
    int i = 0;

    do {
        step = &kernel->step[i];
        if (step->takes_call)
            make_call(kernel, x, &call);
        status = __builtin_expect(step->has_extras, 0) ? queue_with_extras(kernel, i, x, &call, shape, stream, err)
                                                       : queue_step(kernel, i, place, shape, stream, err);
        i++;
    } while (status == TJ_OK && !step->is_last);
    return status;
}

static void *advance(const tj_kernel *kernel, const tj_launch_shape *shape, int which, const void *pointer, int64_t products)
{
    uintptr_t elements = (uintptr_t)products * (uintptr_t)shape->matrix[which].stride;
    return (void *)((uintptr_t)pointer + elements * kernel->element_bytes[which]);
}

/* As many launches as the batch takes: grid.z holds 65 535 products, or fewer with splits. */
static tj_status queue_batch(const tj_kernel *kernel, const tj_operands *first, tj_launch_shape *shape, CUstream stream,
                             tj_error *err)
{
    tj_operands x = *first;
    tj_status status = queue(kernel, &x, shape, stream, err);

    for (int64_t done = shape->products; status == TJ_OK && done < shape->batch; done += shape->products) {
        if (shape->batch - done < shape->products)
            tj_launch_set_products(kernel, shape->batch - done, shape);
        for (int which = 0; which < TJ_ADDRESSES; which++)
            if (tj_operand_at(first, which)->address)
                tj_operand_in(&x, which)->address = advance(kernel, shape, which, tj_operand_at(first, which)->address, done);
        status = queue(kernel, &x, shape, stream, err);
    }
    return status;
}

/* The operands have no workspace: take one in the stream, from before the first kernel until after the last. */
static tj_status queue_with_own_workspace(const tj_kernel *kernel, tj_operands *x, tj_launch_shape *shape, CUstream stream,
                                          tj_error *err)
{
    const char *name = tj_product_step(&kernel->form)->kernel;
    void *workspace = NULL;
    tj_status status, given;

    x->workspace_bytes = (size_t)kernel->form.workspace_bytes;
    status = tj_memory_take(kernel->gpu, kernel->driver, x->workspace_bytes, stream, name, &workspace, err);
    if (status != TJ_OK)
        return status;
    x->workspace = workspace;
    status = queue_batch(kernel, x, shape, stream, err);
    given =
        tj_memory_give(kernel->gpu, kernel->driver, workspace, x->workspace_bytes, stream, name, status == TJ_OK ? err : NULL);
    return status == TJ_OK ? given : status;
}

/* Do that operand and P, at these addresses, reach into each other? If there are gaps in them, that may be as it should. */
static inline bool is_apart(const tj_kernel *kernel, int which, const void *operand, const void *p)
{
    return (uintptr_t)p - (uintptr_t)operand >= kernel->reach[which].of_operand &&
           (uintptr_t)operand - (uintptr_t)p >= kernel->reach[which].of_p;
}

/* Is a scalar still what it was given as, in the type in which the kernel takes it? */
static inline bool scalar_fits(const tj_kernel *kernel, int32_t is_taken, double real, double imaginary)
{
    if (!is_taken)
        return true;
    switch (kernel->scalar_type) {
    case TJ_F32:
        return tj_scalar_fits(real) && imaginary == 0.0;
    case TJ_F64:
        return imaginary == 0.0;
    case TJ_C64:
        return tj_scalar_fits(real) && tj_scalar_fits(imaginary);
    case TJ_C128:
        return true;
    default:
        return tj_scalar_is_whole(real) && imaginary == 0.0;
    }
}

static inline bool scalars_fit(const tj_kernel *kernel, const tj_operands *x)
{
    return !kernel->has_scalars || (scalar_fits(kernel, kernel->problem.epilogue.has_alpha, x->alpha, x->alpha_im) &&
                                    scalar_fits(kernel, kernel->problem.epilogue.has_beta, x->beta, x->beta_im));
}

/* Check the scales and operands of an expression that the kernel uses: as tight as the kernel is ready for. */
static bool more_is_plain(const tj_kernel *kernel, const tj_operands *x)
{
    for (int which = TJ_SCALES; which < TJ_ADDRESSES; which++) {
        const tj_operand *const operand = tj_operand_at(x, which);
        const tj_stored_shape *const ready = &kernel->ready.matrix[which];

        if (ready->span > 0 && (!operand->address || (uintptr_t)operand->address % kernel->alignment[which] != 0 ||
                                !is_apart(kernel, which, operand->address, x->p.address) ||
                                ((which >= TJ_WITH || ready->lines > 1) && operand->ld != 0 && operand->ld != ready->ld)))
            return false;
    }
    for (int i = 0; kernel->has_numbers && i < TJ_EPILOGUE_OPERANDS; i++)
        if (kernel->scalar_type == TJ_F32 && !tj_scalar_fits(x->number[i]))
            return false;
    return true;
}

/* Check the operands of a launch besides M, N and P. */
static bool rest_is_plain(const tj_kernel *kernel, const tj_operands *x)
{
    if (kernel->problem.epilogue.has_beta &&
        (!x->c.address || x->c.address == x->p.address ? !kernel->c_may_be_p
                                                       : !is_apart(kernel, TJ_MATRIX_C, x->c.address, x->p.address)))
        return false;
    if (kernel->form.workspace_bytes > 0 && (!tj_kernel_has_workspace(kernel, x) || !tj_workspace_is_aligned(x)))
        return false;
    if (kernel->has_more && !more_is_plain(kernel, x))
        return false;
    if (tj_has_offsets(&kernel->problem) &&
        (!tj_launch_offsets_are_right(kernel, x, tj_offset_bound(&kernel->problem, kernel->ready.j, kernel->ready.k)) ||
         (uintptr_t)x->offsets - (uintptr_t)x->p.address < kernel->reach[TJ_MATRIX_P].of_p))
        return false;
    return scalars_fit(kernel, x);
}

/* Are the operands of a ready kernel good as they stand? If not, the long way says what is wrong with them. */
static inline bool operands_are_plain(const tj_kernel *kernel, const tj_operands *x)
{
    uintptr_t m_mask = kernel->alignment[TJ_MATRIX_M] - 1, n_mask = kernel->alignment[TJ_MATRIX_N] - 1;
    uintptr_t p_mask = kernel->alignment[TJ_MATRIX_P] - 1, c_mask = kernel->alignment[TJ_MATRIX_C] - 1;

    return x->struct_size == sizeof *x && (x->reserved | x->tile_width) == 0 && x->m.address && x->n.address && x->p.address &&
           is_apart(kernel, TJ_MATRIX_M, x->m.address, x->p.address) &&
           is_apart(kernel, TJ_MATRIX_N, x->n.address, x->p.address) &&
           (((uintptr_t)x->m.address & m_mask) | ((uintptr_t)x->n.address & n_mask) | ((uintptr_t)x->p.address & p_mask) |
            ((uintptr_t)x->c.address & c_mask)) == 0 &&
           (!kernel->takes_more || rest_is_plain(kernel, x));
}

static tj_status launch_the_long_way(const tj_kernel *kernel, const tj_operands *given, int32_t multiprocessors,
                                     CUstream stream, tj_error *err)
{
    tj_launch_shape shape;
    tj_operands x;
    const tj_status status = tj_launch_settle(kernel, given, multiprocessors, &x, &shape, err);

    if (status != TJ_OK)
        return status;
    if (kernel->form.workspace_bytes > 0 && !tj_kernel_has_workspace(kernel, &x))
        return queue_with_own_workspace(kernel, &x, &shape, stream, err);
    return queue_batch(kernel, &x, &shape, stream, err);
}

static bool is_open(const tj_kernel *kernel)
{
    const tj_problem *const problem = &kernel->problem;

    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++)
        if (tj_problem_matrix(problem, which)->ld == TJ_ANY || tj_problem_matrix(problem, which)->stride == TJ_ANY)
            return true;
    const bool has_more = tj_has_scales(problem) || problem->epilogue.expression.operands;

    if (has_more && (problem->batch > 1 || tj_group_count(problem) > 1))
        return true; /* their strides */
    for (int i = 0; i < problem->epilogue.expression.operands; i++)
        if (problem->epilogue.expression.operand[i].is_output)
            return true; /* is it apart from all that is read? */
    if (tj_is_scaled(problem, TJ_MATRIX_P))
        return true; /* so are its scales */
    for (int list = 0; list < TJ_LISTS; list++)
        if (list != TJ_LIST_OFFSETS && kernel->list[list].read)
            return true; /* is it there, and how many rows do M and P have? */
    return problem->batch == TJ_ANY || problem->j.mode == TJ_DIM_ANY || problem->k.mode == TJ_DIM_ANY ||
           problem->l.mode == TJ_DIM_ANY;
}

void tj_launch_make_ready(tj_kernel *kernel)
{
    tj_operands x = TJ_OPERANDS_INIT;
    const void *somewhere = kernel; /* C apart from P */
    tj_launch_shape shape;

    x.c.address = somewhere;
    /* A problem that cannot be launched as it stands is left to the long way, which says why. */
    if (is_open(kernel) || tj_launch_resolve(kernel, &x, 0, &shape, NULL) != TJ_OK || shape.matrix[TJ_MATRIX_M].span == 0 ||
        shape.matrix[TJ_MATRIX_N].span == 0 || shape.batch != shape.products)
        return;
    x.c.address = NULL;
    x.beta = 1.0;
    kernel->ready = shape;
    for (int which = 0; which < TJ_ADDRESSES; which++) {
        const bool has_array = kernel->operand[which].is_array || kernel->operand[TJ_MATRIX_P].is_array;

        kernel->reach[which].of_operand = has_array ? 1 : (uintptr_t)shape.matrix[which].span * kernel->element_bytes[which];
        kernel->reach[which].of_p =
            has_array ? 1 : (uintptr_t)shape.matrix[TJ_MATRIX_P].span * kernel->element_bytes[TJ_MATRIX_P];
    }
    kernel->c_may_be_p = tj_launch_resolve(kernel, &x, 0, &shape, NULL) == TJ_OK;
    kernel->has_scalars = kernel->problem.epilogue.has_alpha || kernel->problem.epilogue.has_beta;
    kernel->has_more = tj_has_scales(&kernel->problem) || kernel->problem.epilogue.expression.operands > 0;
    kernel->takes_more = kernel->problem.epilogue.has_beta || kernel->form.workspace_bytes > 0 || kernel->has_more ||
                         tj_has_offsets(&kernel->problem) || kernel->has_scalars;
    kernel->is_ready = true;
}

bool tj_kernel_is_ready_for(const tj_kernel *kernel, const tj_operands *x)
{
    return kernel->is_ready && operands_are_plain(kernel, x);
}

tj_status tj_kernel_queue_ready(const tj_kernel *kernel, const tj_operands *x, CUstream stream, tj_error *err)
{
    return queue(kernel, x, &kernel->ready, stream, err);
}

tj_status tj_kernel_launch_ready(const tj_kernel *kernel, const tj_operands *x, CUstream stream, tj_error *err)
{
    const int32_t share = kernel->walks ? tj_stream_share(kernel->driver, kernel->context_id, stream) : 0;

    if (__builtin_expect((share == 0 || share >= kernel->multiprocessors) && tj_kernel_is_ready_for(kernel, x), 1))
        return queue(kernel, x, &kernel->ready, stream, err);
    return launch_the_long_way(kernel, x, share, stream, err);
}

tj_status tj_launch_refuse(const tj_kernel *kernel, const tj_operands *given, tj_status status, tj_error *err)
{
    tj_launch_shape shape;
    tj_operands x;
    const tj_status invalid = status == TJ_ERR_DEVICE_LOST ? tj_launch_settle(kernel, given, 0, &x, &shape, err) : TJ_OK;

    return invalid != TJ_OK ? invalid : status;
}

tj_status tj_kernel_launch(const tj_kernel *kernel, const tj_operands *operands, struct CUstream_st *stream, tj_error *err)
{
    if (TJ_HAS_NULL(err, kernel, operands))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_scope scope;
    tj_status status = tj_scope_enter(kernel->gpu, &scope, err);

    if (status != TJ_OK)
        return tj_launch_refuse(kernel, operands, status, err);
    if (scope.context_id == kernel->context_id)
        status = tj_kernel_launch_ready(kernel, operands, stream, err);
    else
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "%s was loaded in another CUDA context than the current one (or that one was destroyed): make it "
                         "current, or load the kernel in this one",
                         tj_product_step(&kernel->form)->kernel);
    tj_scope_leave(&scope);
    return status;
}
