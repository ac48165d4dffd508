/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch: operands -> extents, grid, arguments -> cuLaunchKernel.
 *
 * Two ways lead to the same call. A kernel whose problem leaves nothing open has grid and constant arguments since its
 * load, and a launch of it only looks at the pointers. Everything else, and everything that is wrong, goes through
 * tj_launch_resolve. Neither way allocates, locks, or asks the driver anything, but for the workspace of a split k where
 * the operands bring none: that comes from the driver, in the order of the stream.
 */
#include "kernel.h"

#include <limits.h>
#include <string.h>

#include "checked.h"
#include "context.h"
#include "error.h"
#include "scope.h"

enum { MIN_TILE_WIDTH = 4, MAX_TILE_WIDTH = 32, CHECKS_J = 1, CHECKS_K = 2, CHECKS_L = 4, WORKSPACE_ALIGNMENT = 16 };

static const char *const lower_name[TJ_MATRICES] = {"m", "n", "p", "c"};
static const char upper_name[TJ_MATRICES] = {'M', 'N', 'P', 'C'};

/* ---- extents ------------------------------------------------------------------------------------------------------ */

static tj_status resolve_extent(char name, const tj_dim *dim, int64_t operand, int64_t minimum, int64_t *extent, tj_error *err)
{
    *extent = dim->mode == TJ_DIM_ANY && operand != 0 ? operand : dim->extent;
    if (dim->mode != TJ_DIM_ANY)
        return TJ_OK;
    if (*extent < minimum || *extent > INT32_MAX)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%c is %lld: the kernel takes it as an argument, from %lld to 2147483647; set it in the operands", name,
                       (long long)*extent, (long long)minimum);
    if (dim->multiple_of > 1 && *extent % dim->multiple_of != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%c is %lld, and the kernel was generated for multiples of %d: pad it, or generate without the "
                       "promise",
                       name, (long long)*extent, dim->multiple_of);
    return TJ_OK;
}

static tj_status resolve_batch(const tj_problem *problem, int64_t operand, int64_t *batch, tj_error *err)
{
    if (problem->batch != TJ_ANY) {
        *batch = problem->batch > 1 ? problem->batch : 1;
        return TJ_OK;
    }
    *batch = operand ? operand : 1;
    if (*batch < 1 || *batch > INT32_MAX)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "batch is %lld: use 1 to 2147483647", (long long)*batch);
    return TJ_OK;
}

/* ---- matrices ----------------------------------------------------------------------------------------------------- */

static tj_status resolve_ld(int which, int64_t fixed, int64_t operand, tj_stored_shape *stored, tj_error *err)
{
    if (fixed == TJ_ANY && operand != 0)
        stored->ld = operand;
    else
        stored->ld = fixed > 0 ? fixed : stored->width;
    if (stored->ld < stored->width)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "ld_%s is %lld, and a stored line of %c has %lld elements: it must be at least that", lower_name[which],
                       (long long)stored->ld, upper_name[which], (long long)stored->width);
    return TJ_OK;
}

/* lines * ld, from a matrix of the batch to the next without padding; -1 if it does not fit. */
static int64_t tight_stride(const tj_stored_shape *stored)
{
    int64_t stride;
    return tj_mul(stored->lines, stored->ld, &stride) ? stride : -1;
}

static int64_t span_of_one(const tj_stored_shape *stored)
{
    return (stored->lines - 1) * stored->ld + stored->width;
}

/* Products must not overlap in P: each behind the other, or interleaved within its lines. */
static bool products_are_apart(const tj_stored_shape *p, int64_t batch)
{
    int64_t side_by_side;

    if (p->stride >= span_of_one(p))
        return true;
    return p->stride >= p->width && tj_mul(p->stride, batch - 1, &side_by_side) &&
           tj_add(side_by_side, p->width, &side_by_side) && side_by_side <= p->ld;
}

static tj_status resolve_stride(int which, int64_t fixed, int64_t operand, tj_stored_shape *stored, tj_error *err)
{
    bool may_broadcast = which != TJ_MATRIX_P;

    stored->stride = fixed == TJ_ANY ? operand : fixed;
    if (stored->stride == TJ_TIGHT) {
        stored->stride = tight_stride(stored);
    } else if (stored->stride == TJ_BROADCAST && may_broadcast) {
        stored->stride = 0;
    } else if (tj_stride_is_pointers(stored->stride)) {
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "stride_%s is TJ_POINTERS, and the kernel was generated for a stride: generate with stride_%s TJ_POINTERS",
            lower_name[which], lower_name[which]);
    } else if (stored->stride < 0) {
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "stride_%s is %lld: use elements from one matrix to the next%s",
                       lower_name[which], (long long)stored->stride, may_broadcast ? ", or TJ_BROADCAST" : "");
    }
    return TJ_OK;
}

/* Every byte that a launch can touch must have an offset that fits 63 bits. */
static bool resolve_span(tj_stored_shape *stored, int64_t batch, size_t element_bytes)
{
    int64_t lines, products, bytes;

    stored->span = 0;
    if (stored->lines == 0 || stored->width == 0)
        return true;
    return stored->stride >= 0 && tj_mul(stored->lines - 1, stored->ld, &lines) &&
           tj_mul(batch - 1, stored->stride, &products) && tj_add(lines, products, &stored->span) &&
           tj_add(stored->span, stored->width, &stored->span) && tj_mul(stored->span, (int64_t)element_bytes, &bytes);
}

static tj_status resolve_matrix(const tj_kernel *kernel, int which, int64_t ld, int64_t stride, tj_launch_shape *shape,
                                tj_error *err)
{
    const tj_problem *problem = &kernel->problem;
    const int64_t rows[TJ_MATRICES] = {shape->j, shape->k, shape->j, shape->j};
    const int64_t cols[TJ_MATRICES] = {shape->k, shape->l, shape->l, shape->l};
    const int32_t layout[TJ_MATRICES] = {problem->m_layout, problem->n_layout, problem->p_layout, problem->p_layout};
    const int64_t fixed_ld[TJ_MATRICES] = {problem->ld_m, problem->ld_n, problem->ld_p, problem->ld_c};
    const int64_t fixed_stride[TJ_MATRICES] = {problem->stride_m, problem->stride_n, problem->stride_p, problem->stride_c};
    tj_stored_shape *stored = &shape->matrix[which];
    bool is_row_major = layout[which] == TJ_ROW_MAJOR;
    tj_status status;

    stored->lines = is_row_major ? rows[which] : cols[which];
    stored->width = is_row_major ? cols[which] : rows[which];
    status = resolve_ld(which, fixed_ld[which], ld, stored, err);
    if (status == TJ_OK && shape->batch > 1 && !kernel->is_array[which])
        status = resolve_stride(which, fixed_stride[which], stride, stored, err);
    if (status != TJ_OK)
        return status;
    if (!resolve_span(stored, shape->batch, kernel->element_bytes[which]))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%c spans more bytes than 63 bits count: ld_%s is %lld, stride_%s is %lld, batch is %lld",
                       upper_name[which], lower_name[which], (long long)stored->ld, lower_name[which],
                       (long long)stored->stride, (long long)shape->batch);
    if (kernel->is_array[which]) {
        stored->stride = 1;
        stored->span = shape->batch;
        return TJ_OK;
    }
    if (which == TJ_MATRIX_P && shape->batch > 1 && !products_are_apart(stored, shape->batch))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "stride_p is %lld, and a product spans %lld elements: products of the batch would overlap",
                       (long long)stored->stride, (long long)span_of_one(stored));
    return TJ_OK;
}

/* c = NULL means P itself, so C is then stored as P is. That works if the text takes C's numbers as arguments, or has
 * the same ones baked in. */
static tj_status resolve_c(const tj_kernel *kernel, const tj_operands *operands, tj_launch_shape *shape, tj_error *err)
{
    const tj_stored_shape *p = &shape->matrix[TJ_MATRIX_P];
    tj_stored_shape *c = &shape->matrix[TJ_MATRIX_C];
    bool is_p = operands->c == NULL;
    tj_status status;

    if (!kernel->problem.has_beta)
        return TJ_OK;
    status =
        resolve_matrix(kernel, TJ_MATRIX_C, is_p ? p->ld : operands->ld_c, is_p ? p->stride : operands->stride_c, shape, err);
    if (status != TJ_OK || !is_p || operands->beta == 0.0)
        return status;
    if (kernel->is_array[TJ_MATRIX_C] != kernel->is_array[TJ_MATRIX_P])
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "c is NULL, which means P itself, but of C and P the kernel takes one as an array of pointers and the other "
            "not: give c, or generate with stride_c like stride_p");
    if (c->ld != p->ld || (shape->batch > 1 && c->stride != p->stride))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "c is NULL, which means P itself, but the kernel was generated for a C of ld_c %lld, stride_c %lld "
                       "(P: %lld, %lld): give c, or generate with ld_c and stride_c like those of P",
                       (long long)c->ld, (long long)c->stride, (long long)p->ld, (long long)p->stride);
    return TJ_OK;
}

/* ---- grid --------------------------------------------------------------------------------------------------------- */

static tj_status check_tile_width(const tj_kernel *kernel, int32_t width, tj_error *err)
{
    const tj_launch_form *form = &kernel->form;

    if (!form->tile_width_is_any)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "tile_width is %d, and this kernel has its own (%d) in its text: leave it 0, or generate with "
                       "shared=dynamic",
                       width, form->tile_width);
    if (width < MIN_TILE_WIDTH || width > MAX_TILE_WIDTH)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "tile_width is %d: use %d to %d", width, MIN_TILE_WIDTH, MAX_TILE_WIDTH);
    if (width * width > kernel->facts.max_threads_per_block)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "tile_width %d needs blocks of %d threads, and device %d can run %d of this kernel: use a smaller one",
                       width, width * width, kernel->device, kernel->facts.max_threads_per_block);
    return TJ_OK;
}

/* A dimension without a boundary check must be whole tiles, or blocks would read and write outside. */
static tj_status check_whole_tiles(const tj_kernel *kernel, const tj_launch_shape *shape, int tile_rows, int tile_cols,
                                   int tile_k, tj_error *err)
{
    const tj_launch_form *form = &kernel->form;
    const struct {
        char name;
        int bit;
        int64_t extent;
        int tile;
    } dims[] = {
        {'j', CHECKS_J, shape->j, form->is_swapped ? tile_cols : tile_rows},
        {'k', CHECKS_K, shape->k, tile_k},
        {'l', CHECKS_L, shape->l, form->is_swapped ? tile_rows : tile_cols},
    };

    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++)
        if (!(form->checks & dims[i].bit) && dims[i].extent % dims[i].tile != 0)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "%c is %lld, no multiple of the tile's %d, and the kernel was generated without a boundary "
                           "check for it: generate with boundary_%c=all, or use a tile_width that divides it",
                           dims[i].name, (long long)dims[i].extent, dims[i].tile, dims[i].name);
    return TJ_OK;
}

static tj_status check_grid(const tj_kernel *kernel, const int64_t *blocks, tj_error *err)
{
    const char *rows = kernel->form.rows_on_x ? "rows=y" : "rows=x";

    if (blocks[0] > kernel->max_grid[0])
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "P needs %lld blocks along grid.x, and a grid holds %lld: raise TILE_WIDTH", (long long)blocks[0],
                       (long long)kernel->max_grid[0]);
    if (blocks[1] > kernel->max_grid[1])
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "P needs %lld blocks along grid.y, and a grid holds %lld: generate with %s, or raise TILE_WIDTH",
                       (long long)blocks[1], (long long)kernel->max_grid[1], rows);
    return TJ_OK;
}

/* One after the other: blocks for all k of all products, and blocks that turn their partial sums into P. */
static tj_status resolve_splits(const tj_kernel *kernel, tj_launch_shape *shape, tj_error *err)
{
    const tj_launch_form *form = &kernel->form;
    const int64_t splits = form->splits > 1 ? form->splits : 1;
    const int64_t most = kernel->max_grid[2] / splits;
    int64_t elements, blocks;

    /* A larger batch takes several launches, one behind the other in the stream, so that they share the workspace. */
    shape->products = shape->batch < most ? shape->batch : most;
    shape->geometry.grid[2] = (unsigned int)(shape->products * splits);
    if (splits == 1)
        return TJ_OK;
    if (!tj_mul(shape->j, shape->l, &elements) ||
        (blocks = tj_ceil_div(elements, form->reduce.block_elements)) > kernel->max_grid[0])
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "P has %lld x %lld elements, more than one launch can sum the splits of: use splits=1",
                       (long long)shape->j, (long long)shape->l);
    shape->reduce =
        (tj_geometry){{(unsigned int)blocks, 1, (unsigned int)shape->products}, {(unsigned int)form->reduce.threads, 1}, 0};
    return TJ_OK;
}

/* Blocks of whole products, on the one axis that counts far enough for any batch. */
static void count_products(const tj_launch_form *form, tj_launch_shape *shape)
{
    shape->products = shape->batch;
    shape->geometry.grid[0] = (unsigned int)tj_ceil_div(shape->batch, form->products);
    shape->geometry.grid[1] = shape->geometry.grid[2] = 1;
}

static tj_status resolve_geometry(const tj_kernel *kernel, int32_t tile_width, tj_launch_shape *shape, tj_error *err)
{
    const tj_launch_form *form = &kernel->form;
    tj_geometry *geometry = &shape->geometry;
    int tile_rows = form->block_rows, tile_cols = form->block_cols;
    int block_x = form->block_x, block_y = form->block_y;
    int64_t shared = form->dynamic_shared_bytes;
    int64_t rows = form->is_swapped ? shape->l : shape->j;
    int64_t cols = form->is_swapped ? shape->j : shape->l;
    int64_t blocks[2];
    tj_status status = TJ_OK;

    if (tile_width != 0 && tile_width != form->tile_width) {
        status = check_tile_width(kernel, tile_width, err);
        if (status != TJ_OK)
            return status;
        tile_rows = tile_cols = block_x = block_y = tile_width;
        shared = shared * tile_width * tile_width / form->tile_width / form->tile_width;
    }
    if (shared > kernel->max_dynamic_shared)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "tile_width %d needs %lld bytes of dynamic shared memory, and device %d has %lld for this kernel: "
                       "use a smaller one",
                       tile_width, (long long)shared, kernel->device, (long long)kernel->max_dynamic_shared);
    /* How far a step along k reaches is the form's own business, but for kernels that take the tile from the launch. */
    status = check_whole_tiles(kernel, shape, tile_rows, tile_cols, form->tile_width_is_any ? block_x : 1, err);
    if (status != TJ_OK)
        return status;
    blocks[0] = tj_ceil_div(form->rows_on_x ? rows : cols, form->rows_on_x ? tile_rows : tile_cols);
    blocks[1] = tj_ceil_div(form->rows_on_x ? cols : rows, form->rows_on_x ? tile_cols : tile_rows);
    status = check_grid(kernel, blocks, err);
    if (status == TJ_OK)
        status = resolve_splits(kernel, shape, err);
    geometry->grid[0] = (unsigned int)blocks[0];
    geometry->grid[1] = (unsigned int)blocks[1];
    if (form->products > 0)
        count_products(form, shape);
    geometry->block[0] = (unsigned int)block_x;
    geometry->block[1] = (unsigned int)block_y;
    geometry->shared_bytes = (unsigned int)shared;
    return status;
}

tj_status tj_launch_resolve(const tj_kernel *kernel, const tj_operands *x, tj_launch_shape *shape, tj_error *err)
{
    const tj_problem *problem = &kernel->problem;
    tj_status status;

    memset(shape, 0, sizeof *shape);
    status = resolve_extent('j', &problem->j, x->j, 1, &shape->j, err);
    if (status == TJ_OK)
        status = resolve_extent('k', &problem->k, x->k, 0, &shape->k, err);
    if (status == TJ_OK)
        status = resolve_extent('l', &problem->l, x->l, 1, &shape->l, err);
    if (status == TJ_OK)
        status = resolve_batch(problem, x->batch, &shape->batch, err);
    if (status == TJ_OK)
        status = resolve_matrix(kernel, TJ_MATRIX_M, x->ld_m, x->stride_m, shape, err);
    if (status == TJ_OK)
        status = resolve_matrix(kernel, TJ_MATRIX_N, x->ld_n, x->stride_n, shape, err);
    if (status == TJ_OK)
        status = resolve_matrix(kernel, TJ_MATRIX_P, x->ld_p, x->stride_p, shape, err);
    if (status == TJ_OK)
        status = resolve_c(kernel, x, shape, err);
    if (status == TJ_OK)
        status = resolve_geometry(kernel, x->tile_width, shape, err);
    return status;
}

/* ---- operands ----------------------------------------------------------------------------------------------------- */

tj_status tj_operands_accept(const tj_operands *given, tj_operands *operands, tj_error *err)
{
    memset(operands, 0, sizeof *operands);
    if (given->struct_size < sizeof given->struct_size)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "operands not initialised: start from TJ_OPERANDS_INIT");
    for (size_t i = sizeof *operands; i < given->struct_size; i++)
        if (((const unsigned char *)given)[i] != 0)
            return tj_fail(err, TJ_ERR_UNSUPPORTED,
                           "operands of %lld bytes set a field that this library (%d bytes) does not know: use the library "
                           "the program was built for",
                           (long long)given->struct_size, (int)sizeof *operands);
    memcpy(operands, given, given->struct_size < sizeof *operands ? given->struct_size : sizeof *operands);
    if (operands->reserved != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the reserved field of the operands is %d: it must be 0",
                       operands->reserved);
    return TJ_OK;
}

static tj_status check_workspace(const tj_kernel *kernel, const tj_operands *x, tj_error *err)
{
    const int64_t needed = kernel->form.reduce.workspace_bytes;

    if (needed == 0)
        return TJ_OK;
    if (!tj_kernel_has_workspace(kernel, x)) {
        if (tj_driver_has_stream_memory(kernel->driver))
            return TJ_OK;
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s splits k into %d parts and needs %lld bytes of workspace for their sums, the operands bring %lld, "
                       "and a driver of CUDA %d.%d cannot allocate them in the stream (11.4 can): give what "
                       "tj_plan_workspace_bytes says, or generate with splits=1",
                       kernel->form.kernel, kernel->form.splits, (long long)needed,
                       x->workspace ? (long long)x->workspace_bytes : 0LL, tj_driver_version(kernel->driver) / 1000,
                       tj_driver_version(kernel->driver) % 1000 / 10);
    }
    if ((uintptr_t)x->workspace % WORKSPACE_ALIGNMENT != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the workspace is 0x%llx: it must be aligned to %d bytes",
                       (unsigned long long)(uintptr_t)x->workspace, WORKSPACE_ALIGNMENT);
    return TJ_OK;
}

tj_status tj_operands_check(const tj_kernel *kernel, const tj_operands *x, const tj_launch_shape *shape, tj_error *err)
{
    const void *const pointer[TJ_MATRICES] = {x->m, x->n, x->p, x->c};

    for (int which = 0; which < TJ_MATRICES; which++) {
        int bytes = (int)kernel->element_bytes[which];
        /* A beta of 0 never reads C, whatever its address; and c = NULL is P. */
        bool is_idle_c = which == TJ_MATRIX_C && (!kernel->problem.has_beta || x->beta == 0.0 || !x->c);
        if (shape->matrix[which].span == 0 || is_idle_c)
            continue;
        if (!pointer[which])
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is NULL: give the device address of %s%c", lower_name[which],
                           kernel->is_array[which] ? "the array of pointers to " : "", upper_name[which]);
        if ((uintptr_t)pointer[which] % (uintptr_t)bytes != 0)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is 0x%llx, which is not aligned to its elements of %d bytes",
                           lower_name[which], (unsigned long long)(uintptr_t)pointer[which], bytes);
        if ((uintptr_t)pointer[which] % kernel->alignment[which] != 0)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "%s is 0x%llx, and %s takes %d bytes of it at once: align it to that, or generate with vector=1",
                           lower_name[which], (unsigned long long)(uintptr_t)pointer[which], kernel->form.kernel,
                           (int)kernel->alignment[which]);
    }
    return check_workspace(kernel, x, err);
}

/* ---- the call ----------------------------------------------------------------------------------------------------- */

static void fill_constants(const int32_t *arg, int32_t count, const tj_launch_shape *shape, tj_constant *constant)
{
    const tj_stored_shape *matrix = shape->matrix;

    for (int i = 0; i < count; i++)
        switch (arg[i]) {
        case TJ_ARG_J:
            constant[i].i32 = (int32_t)shape->j;
            break;
        case TJ_ARG_K:
            constant[i].i32 = (int32_t)shape->k;
            break;
        case TJ_ARG_L:
            constant[i].i32 = (int32_t)shape->l;
            break;
        case TJ_ARG_BATCH:
            constant[i].i32 = (int32_t)shape->batch;
            break;
        case TJ_ARG_LD_M:
        case TJ_ARG_LD_N:
        case TJ_ARG_LD_P:
        case TJ_ARG_LD_C:
            constant[i].i64 = matrix[arg[i] - TJ_ARG_LD_M].ld;
            break;
        case TJ_ARG_STRIDE_M:
        case TJ_ARG_STRIDE_N:
        case TJ_ARG_STRIDE_P:
        case TJ_ARG_STRIDE_C:
            constant[i].i64 = matrix[arg[i] - TJ_ARG_STRIDE_M].stride;
            break;
        default: /* pointers and scalars come with each launch */
            constant[i].i64 = 0;
            break;
        }
}

static void fill_numbers(const tj_launch_form *form, const tj_launch_shape *shape, tj_launch_numbers *numbers)
{
    numbers->geometry = shape->geometry;
    numbers->reduce_geometry = shape->reduce;
    fill_constants(form->arg, form->arg_count, shape, numbers->constant);
    fill_constants(form->reduce.arg, form->reduce.arg_count, shape, numbers->reduce_constant);
}

/* One of the kernels of a text. */
typedef struct entry {
    CUfunction function;
    const char *name;
    const int32_t *arg;
    int32_t arg_count;
    const tj_geometry *geometry;
    const tj_constant *constant;
    bool overlaps; /* may begin before the one ahead has ended */
} entry;

/* May begin before the kernel ahead of it has ended. */
static CUresult launch_beside(const tj_driver *driver, const entry *one, CUstream stream, void **parameters)
{
    const tj_geometry *geometry = one->geometry;
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                   .value.programmatic_stream_serialization = 1};
    const CUlaunchConfig config = {.grid_x = geometry->grid[0],
                                   .grid_y = geometry->grid[1],
                                   .grid_z = geometry->grid[2],
                                   .block_x = geometry->block[0],
                                   .block_y = geometry->block[1],
                                   .block_z = 1,
                                   .shared_bytes = geometry->shared_bytes,
                                   .stream = stream,
                                   .attributes = &attribute,
                                   .attribute_count = 1};

    return driver->api.launch_kernel_ex(&config, one->function, parameters, NULL);
}

static inline tj_status queue_one(const tj_kernel *kernel, const entry *one, const tj_operands *x, CUstream stream,
                                  tj_error *err)
{
    bool is_f64 = kernel->problem.dtype == TJ_F64;
    const tj_geometry *geometry = one->geometry;
    const void *c = x->c ? x->c : x->p;
    float alpha = (float)x->alpha, beta = (float)x->beta;
    const void *parameter[TJ_LAUNCH_MAX_ARGS];
    CUresult result;

    for (int i = 0; i < one->arg_count; i++)
        switch (one->arg[i]) {
        case TJ_ARG_M:
            parameter[i] = &x->m;
            break;
        case TJ_ARG_N:
            parameter[i] = &x->n;
            break;
        case TJ_ARG_P:
            parameter[i] = &x->p;
            break;
        case TJ_ARG_C:
            parameter[i] = &c;
            break;
        case TJ_ARG_WORKSPACE:
            parameter[i] = &x->workspace;
            break;
        case TJ_ARG_ALPHA:
            parameter[i] = is_f64 ? (const void *)&x->alpha : (const void *)&alpha;
            break;
        case TJ_ARG_BETA:
            parameter[i] = is_f64 ? (const void *)&x->beta : (const void *)&beta;
            break;
        default:
            parameter[i] = &one->constant[i];
            break;
        }
    if (__builtin_expect(one->overlaps, 0))
        result = launch_beside(kernel->driver, one, stream, (void **)parameter);
    else
        result = kernel->driver->api.launch_kernel(one->function, geometry->grid[0], geometry->grid[1], geometry->grid[2],
                                                   geometry->block[0], geometry->block[1], 1, geometry->shared_bytes, stream,
                                                   (void **)parameter, NULL);
    if (__builtin_expect(result == CUDA_SUCCESS, 1))
        return TJ_OK;
    return tj_driver_fail(kernel->driver, result, err,
                          "cannot launch %s with grid (%u, %u, %u), block (%u, %u), %u bytes of dynamic shared memory",
                          one->name, geometry->grid[0], geometry->grid[1], geometry->grid[2], geometry->block[0],
                          geometry->block[1], geometry->shared_bytes);
}

static tj_status queue(const tj_kernel *kernel, const tj_operands *x, const tj_launch_numbers *numbers, CUstream stream,
                       tj_error *err)
{
    const tj_launch_form *form = &kernel->form;
    const entry product = {kernel->function,   form->kernel,      form->arg, form->arg_count,
                           &numbers->geometry, numbers->constant, false};
    const entry reduce = {kernel->reduce_function,   form->reduce.kernel,      form->reduce.arg,       form->reduce.arg_count,
                          &numbers->reduce_geometry, numbers->reduce_constant, kernel->reduce_overlaps};
    tj_status status = queue_one(kernel, &product, x, stream, err);

    if (__builtin_expect(!kernel->reduce_function, 1) || status != TJ_OK)
        return status;
    return queue_one(kernel, &reduce, x, stream, err);
}

/* By number: M and N may be NULL where k is 0. */
static void *advance(const tj_kernel *kernel, const tj_launch_shape *shape, int which, const void *pointer, int64_t products)
{
    uintptr_t elements = (uintptr_t)products * (uintptr_t)shape->matrix[which].stride;
    return (void *)((uintptr_t)pointer + elements * kernel->element_bytes[which]);
}

/* As many launches as the batch takes: grid.z holds 65 535 products, or fewer with splits. */
static tj_status queue_batch(const tj_kernel *kernel, const tj_operands *first, const tj_launch_shape *shape, CUstream stream,
                             tj_error *err)
{
    const unsigned int splits = kernel->form.splits > 1 ? (unsigned int)kernel->form.splits : 1;
    tj_launch_numbers numbers;
    tj_operands x = *first;
    tj_status status;

    fill_numbers(&kernel->form, shape, &numbers);
    status = queue(kernel, &x, &numbers, stream, err);
    for (int64_t done = shape->products; status == TJ_OK && done < shape->batch; done += shape->products) {
        int64_t left = shape->batch - done;
        if (left < shape->products) {
            numbers.geometry.grid[2] = (unsigned int)left * splits;
            numbers.reduce_geometry.grid[2] = (unsigned int)left;
        }
        x.m = advance(kernel, shape, TJ_MATRIX_M, first->m, done);
        x.n = advance(kernel, shape, TJ_MATRIX_N, first->n, done);
        x.p = advance(kernel, shape, TJ_MATRIX_P, first->p, done);
        if (first->c)
            x.c = advance(kernel, shape, TJ_MATRIX_C, first->c, done);
        status = queue(kernel, &x, &numbers, stream, err);
    }
    return status;
}

/* The operands bring no workspace: one lives in the stream, from before the first kernel to behind the last. */
static tj_status queue_with_own_workspace(const tj_kernel *kernel, tj_operands *x, const tj_launch_shape *shape,
                                          CUstream stream, tj_error *err)
{
    const tj_driver_api *api = &kernel->driver->api;
    const int64_t bytes = kernel->form.reduce.workspace_bytes;
    CUdeviceptr workspace = 0;
    CUresult result = api->mem_alloc_async(&workspace, (size_t)bytes, stream);
    tj_status status;

    if (result == CUDA_ERROR_NOT_SUPPORTED)
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "%s needs %lld bytes of workspace, the operands bring none, and device %d cannot allocate in a stream: "
                       "give what tj_plan_workspace_bytes says, or generate with splits=1",
                       kernel->form.kernel, (long long)bytes, kernel->device);
    if (result != CUDA_SUCCESS)
        return tj_driver_fail(kernel->driver, result, err,
                              "cannot allocate the %lld bytes of workspace of %s, which the operands do not bring",
                              (long long)bytes, kernel->form.kernel);
    x->workspace = (void *)(uintptr_t)workspace;
    x->workspace_bytes = (size_t)bytes;
    status = queue_batch(kernel, x, shape, stream, err);
    if (tj_driver_check_alive(kernel->driver, NULL) != TJ_OK)
        return status;
    result = api->mem_free_async(workspace, stream);
    if (status == TJ_OK && result != CUDA_SUCCESS)
        status = tj_driver_fail(kernel->driver, result, err, "cannot give back the workspace of %s", kernel->form.kernel);
    return status;
}

/* Are the pointers of a ready kernel good as they stand? If not, the long way says what is wrong with them. */
static inline bool pointers_are_plain(const tj_kernel *kernel, const tj_operands *x)
{
    uintptr_t m_mask = kernel->alignment[TJ_MATRIX_M] - 1, n_mask = kernel->alignment[TJ_MATRIX_N] - 1;
    uintptr_t p_mask = kernel->alignment[TJ_MATRIX_P] - 1, c_mask = kernel->alignment[TJ_MATRIX_C] - 1;

    if (!x->m || !x->n || !x->p)
        return false;
    if (kernel->problem.has_beta && !x->c && !kernel->c_may_be_p)
        return false;
    if (kernel->reduce_function && (!tj_kernel_has_workspace(kernel, x) || check_workspace(kernel, x, NULL) != TJ_OK))
        return false;
    return (((uintptr_t)x->m & m_mask) | ((uintptr_t)x->n & n_mask) | ((uintptr_t)x->p & p_mask) |
            ((uintptr_t)x->c & c_mask)) == 0;
}

static tj_status launch_the_long_way(const tj_kernel *kernel, const tj_operands *given, CUstream stream, tj_error *err)
{
    tj_launch_shape shape;
    tj_operands x;
    tj_status status = tj_operands_accept(given, &x, err);

    if (status == TJ_OK)
        status = tj_launch_resolve(kernel, &x, &shape, err);
    if (status == TJ_OK)
        status = tj_operands_check(kernel, &x, &shape, err);
    if (status != TJ_OK)
        return status;
    if (kernel->reduce_function && !tj_kernel_has_workspace(kernel, &x))
        return queue_with_own_workspace(kernel, &x, &shape, stream, err);
    return queue_batch(kernel, &x, &shape, stream, err);
}

static bool is_open(const tj_problem *problem)
{
    const int64_t numbers[] = {problem->ld_m,     problem->ld_n,     problem->ld_p,     problem->ld_c, problem->stride_m,
                               problem->stride_n, problem->stride_p, problem->stride_c, problem->batch};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i] == TJ_ANY)
            return true;
    return problem->j.mode == TJ_DIM_ANY || problem->k.mode == TJ_DIM_ANY || problem->l.mode == TJ_DIM_ANY;
}

void tj_launch_make_ready(tj_kernel *kernel)
{
    tj_operands x = TJ_OPERANDS_INIT;
    const void *somewhere = kernel; /* C apart from P */
    tj_launch_shape shape;

    x.c = somewhere;
    /* A problem that cannot be launched as it stands is left to the long way, which says why. */
    if (is_open(&kernel->problem) || tj_launch_resolve(kernel, &x, &shape, NULL) != TJ_OK ||
        shape.matrix[TJ_MATRIX_M].span == 0 || shape.matrix[TJ_MATRIX_N].span == 0 || shape.batch != shape.products)
        return;
    x.c = NULL;
    x.beta = 1.0;
    fill_numbers(&kernel->form, &shape, &kernel->ready);
    kernel->c_may_be_p = tj_launch_resolve(kernel, &x, &shape, NULL) == TJ_OK;
    kernel->is_ready = true;
}

tj_status tj_kernel_launch_ready(const tj_kernel *kernel, const tj_operands *x, CUstream stream, tj_error *err)
{
    if (__builtin_expect(kernel->is_ready && x->struct_size == sizeof *x && (x->reserved | x->tile_width) == 0, 1) &&
        __builtin_expect(pointers_are_plain(kernel, x), 1))
        return queue(kernel, x, &kernel->ready, stream, err);
    return launch_the_long_way(kernel, x, stream, err);
}

tj_status tj_kernel_launch(const tj_kernel *kernel, const tj_operands *operands, struct CUstream_st *stream, tj_error *err)
{
    tj_scope scope;
    tj_status status = tj_scope_enter(kernel->context, &scope, err);

    if (status != TJ_OK)
        return status;
    if (scope.context_id == kernel->context_id)
        status = tj_kernel_launch_ready(kernel, operands, stream, err);
    else
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "%s was loaded in another CUDA context than the current one (or that one was destroyed): make it "
                         "current, or load the kernel in this one",
                         kernel->form.kernel);
    tj_scope_leave(&scope);
    return status;
}
