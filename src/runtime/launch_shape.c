/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_shape: operands -> every number of a launch, and what is wrong with them. Pure: nothing is asked of the driver.
 */
#include "kernel.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "canonical.h"
#include "checked.h"
#include "error.h"
#include "scalar.h"
#include "sized.h"
#include "symmetric.h"

enum { CHECKS_J = 1, CHECKS_K = 2, CHECKS_L = 4 };
enum { MOST_WALKED = INT32_MAX / 2 }; /* tiles of a launch that an int counts, whose last step leads past the last tile */

/* ---- extents ------------------------------------------------------------------------------------------------------ */

static tj_status resolve_extent(char name, const tj_dim *dim, int64_t operand, int64_t minimum, int64_t maximum,
                                int64_t *extent, tj_error *err)
{
    *extent = dim->mode == TJ_DIM_ANY && operand != 0 ? operand : dim->extent;
    if (dim->mode != TJ_DIM_ANY)
        return TJ_OK;
    if (*extent < minimum || *extent > maximum)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%c is %lld: the kernel takes it as an argument, from %lld to %lld; set it in the operands", name,
                       (long long)*extent, (long long)minimum, (long long)maximum);
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

enum { NUMBER_NAME_BYTES = TJ_EPILOGUE_NAME_BYTES + 8 };

/* "ld_m", "scale_m.ld", "bias.ld": the member of the problem or of the operands that says it. */
static const char *name_number(const tj_operand_row *row, int which, const char *number, char text[NUMBER_NAME_BYTES])
{
    if (which < TJ_MATRICES)
        snprintf(text, NUMBER_NAME_BYTES, "%s_%s", number, row->name);
    else
        snprintf(text, NUMBER_NAME_BYTES, "%s.%s", row->name, number);
    return text;
}

static tj_status resolve_ld(const tj_operand_row *row, int which, int64_t given, tj_stored_shape *stored, tj_error *err)
{
    char name[NUMBER_NAME_BYTES];

    stored->ld = row->ld == TJ_ANY && given != 0 ? given : row->ld > 0 ? row->ld : stored->width;
    if (stored->ld < stored->width)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s is %lld, and a stored row of %s has %lld elements: it must be at least that",
                       name_number(row, which, "ld", name), (long long)stored->ld, row->title, (long long)stored->width);
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

/* Products must not overlap in P: one after the other, or interleaved within its rows. */
static bool products_are_apart(const tj_stored_shape *p, int64_t batch)
{
    int64_t side_by_side;

    if (p->stride >= span_of_one(p))
        return true;
    return p->stride >= p->width && tj_mul(p->stride, batch - 1, &side_by_side) &&
           tj_add(side_by_side, p->width, &side_by_side) && side_by_side <= p->ld;
}

static tj_status fail_stride(const tj_operand_row *row, int which, const tj_stored_shape *stored, tj_error *err)
{
    char name[NUMBER_NAME_BYTES];

    (void)name_number(row, which, "stride", name);
    if (tj_stride_is_pointers(stored->stride))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s is TJ_POINTERS, and the kernel was generated for a stride: generate with %s TJ_POINTERS", name,
                       name);
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %lld: use elements from one to the next, 0 for %lld%s", name,
                   (long long)stored->stride, (long long)tight_stride(stored), row->is_written ? "" : ", or TJ_BROADCAST");
}

static tj_status resolve_stride(const tj_operand_row *row, int which, int64_t given, tj_stored_shape *stored, tj_error *err)
{
    stored->stride = row->stride == TJ_ANY ? given : row->stride;
    if (stored->stride == TJ_TIGHT)
        stored->stride = tight_stride(stored);
    else if (stored->stride == TJ_BROADCAST && !row->is_written)
        stored->stride = 0;
    else if (stored->stride < 0)
        return fail_stride(row, which, stored, err);
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

/* Does an operand have the rows of M, which may be gathered? */
static bool is_of_m(int which)
{
    return which == TJ_MATRIX_M || which == TJ_SCALES + TJ_MATRIX_M;
}

/* The rows of an operand that has one for each row of the product, or those that an index leads to; of P those of its sums. */
static int64_t rows_of(const tj_kernel *kernel, const tj_launch_shape *shape, int which)
{
    return is_of_m(which)                                 ? shape->m_rows
           : which == TJ_MATRIX_P || which == TJ_MATRIX_C ? shape->p_rows * tj_rows_of_sum(&kernel->problem)
                                                          : shape->j;
}

/* The numbers of an operand: those that the problem leaves open are given by the launch. */
static tj_status resolve_operand(const tj_kernel *kernel, int which, int64_t ld, int64_t stride, tj_launch_shape *shape,
                                 tj_error *err)
{
    const tj_operand_row *const row = &kernel->operand[which];
    const tj_extents extents = {rows_of(kernel, shape, which), shape->k, shape->l};
    const int64_t copies = tj_operand_copies(&kernel->problem, row, shape->batch);
    tj_stored_shape *const stored = &shape->matrix[which];
    char ld_name[NUMBER_NAME_BYTES], stride_name[NUMBER_NAME_BYTES];
    tj_status status;

    stored->lines = tj_extent_at(row->rows, &extents);
    stored->width = tj_extent_at(row->width, &extents);
    status = resolve_ld(row, which, ld, stored, err);
    if (status == TJ_OK && copies > 1 && !row->is_array)
        status = resolve_stride(row, which, stride, stored, err);
    if (status != TJ_OK)
        return status;
    if (!resolve_span(stored, copies, kernel->element_bytes[which]))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s: more bytes than 63 bits count; %s is %lld, %s is %lld, and there are %lld of them", row->title,
                       name_number(row, which, "ld", ld_name), (long long)stored->ld,
                       name_number(row, which, "stride", stride_name), (long long)stored->stride, (long long)copies);
    if (row->is_array) {
        stored->stride = 1;
        stored->span = copies;
        return TJ_OK;
    }
    if (row->is_written && copies > 1 && !products_are_apart(stored, copies))
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT, "%s is %lld, and a product spans %lld elements: products of the batch would overlap",
            name_number(row, which, "stride", stride_name), (long long)stored->stride, (long long)span_of_one(stored));
    return TJ_OK;
}

/* Rows of M or P: the usual number of them, unless an index leads there. */
static tj_status resolve_rows(const char *name, bool by_index, int64_t given, int64_t usual, int64_t *rows, tj_error *err)
{
    *rows = by_index && given != 0 ? given : usual;
    if (*rows >= 1 && *rows <= INT32_MAX)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %lld: use 1 to %d rows, or 0 for %lld", name, (long long)given,
                   INT32_MAX, (long long)usual);
}

/* c = NULL means P itself, so C is then stored as P is. That works if the text takes C's numbers as arguments, or has
 * the same ones baked in. */
static tj_status resolve_c(const tj_kernel *kernel, const tj_operands *operands, tj_launch_shape *shape, tj_error *err)
{
    const tj_stored_shape *p = &shape->matrix[TJ_MATRIX_P];
    tj_stored_shape *c = &shape->matrix[TJ_MATRIX_C];
    bool is_p = operands->c.address == NULL;
    tj_status status;

    status =
        resolve_operand(kernel, TJ_MATRIX_C, is_p ? p->ld : operands->c.ld, is_p ? p->stride : operands->c.stride, shape, err);
    if (status != TJ_OK || !is_p || (kernel->weighs_c && tj_beta_is_zero(operands)))
        return status;
    if (kernel->operand[TJ_MATRIX_C].is_array != kernel->operand[TJ_MATRIX_P].is_array)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "c is NULL, which means P itself, and the kernel takes only one of C and P as an array of pointers: "
                       "give c, or generate with stride_c like stride_p");
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
    const int32_t most_threads = kernel->step[form->product].facts.max_threads_per_block;

    if (form->most_tile_width == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "tile_width is %d, and this kernel has its own (%d) in its text: leave it 0, or use a config whose text "
                       "takes it from the launch",
                       width, tj_product_step(form)->block_cols);
    if (width < form->least_tile_width || width > form->most_tile_width)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "tile_width is %d: use %d to %d", width, form->least_tile_width,
                       form->most_tile_width);
    if (kernel->has_pairs && width % 2 != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "tile_width is %d, and the epilogue takes pairs of columns: use an even one", width);
    if (width * width > most_threads)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "tile_width %d needs blocks of %d threads, and device %d can run %d of this kernel: use a smaller one",
                       width, width * width, kernel->device, most_threads);
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
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "%c is %lld, which is not a multiple of the tile's %d, and the kernel was generated without a boundary "
                "check for it: generate with boundary_%c=all, or use tiles that divide it",
                dims[i].name, (long long)dims[i].extent, dims[i].tile, dims[i].name);
    return TJ_OK;
}

static tj_status check_grid(const tj_kernel *kernel, const int64_t *blocks, tj_error *err)
{
    if (blocks[0] > kernel->max_grid[0])
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "P needs %lld blocks along grid.x, and a grid holds %lld: use a config with larger tiles",
                       (long long)blocks[0], (long long)kernel->max_grid[0]);
    if (blocks[1] > kernel->max_grid[1])
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "P needs %lld blocks along grid.y, and a grid holds %lld: use a config that counts them along grid.x, or "
            "one with larger tiles",
            (long long)blocks[1], (long long)kernel->max_grid[1]);
    return TJ_OK;
}

/* A grid has whole clusters; blocks that there is nothing for have nothing to do. */
static unsigned int in_clusters(const tj_launch_step *step, int axis, int64_t blocks)
{
    const int64_t size = step->cluster[axis] > 1 ? step->cluster[axis] : 1;

    return (unsigned int)(tj_ceil_div(blocks, size) * size);
}

static int64_t splits_of(const tj_launch_step *step)
{
    return step->splits > 1 ? step->splits : 1;
}

/*
 * Count the resident blocks that walk `tiles` tiles on each of `on_z` places: all that the multiprocessors hold, but no more than
 * there are tiles. One that began when others have ended would double the time.
 */
static unsigned int walkers(const tj_kernel *kernel, const tj_launch_shape *shape, int index, int64_t tiles, unsigned int on_z)
{
    const tj_launch_step *step = &kernel->form.step[index];
    const int64_t all = tj_share_blocks(step, shape->multiprocessors), clustered = kernel->step[index].clustered,
                  held = (clustered > 0 && clustered < all ? clustered : all) / on_z, blocks = held < tiles ? held : tiles;

    return in_clusters(step, 0, blocks > 0 ? blocks : 1);
}

void tj_launch_set_products(const tj_kernel *kernel, int64_t products, tj_launch_shape *shape)
{
    const tj_launch_form *form = &kernel->form;

    shape->products_now = (int32_t)products;
    for (int i = 0; i < form->steps; i++) {
        const tj_launch_step *step = &form->step[i];
        unsigned int *grid = shape->geometry[i].grid;

        if (step->grid == TJ_GRID_PRODUCTS)
            grid[0] = in_clusters(step, 0, tj_ceil_div(products, step->block_products));
        else if (step->grid == TJ_GRID_WALK_ALL)
            grid[0] = walkers(kernel, shape, i, shape->geometry[i].tiles * products, grid[1]);
        else if (step->grid != TJ_GRID_ONCE)
            grid[2] = in_clusters(step, 2, products * splits_of(step));
        if (step->grid == TJ_GRID_WALK)
            grid[0] = walkers(kernel, shape, i, shape->geometry[i].tiles, grid[1] * grid[2]);
    }
}

/* A larger batch takes several launches, one after the other in the stream, so that they share the workspace. */
static int64_t products_of_a_launch(const tj_kernel *kernel, const tj_launch_shape *shape)
{
    int64_t batch = shape->batch;

    for (int i = 0; i < kernel->form.steps; i++) {
        const tj_launch_step *step = &kernel->form.step[i];
        const int64_t most = step->grid != TJ_GRID_WALK_ALL           ? kernel->max_grid[2] / splits_of(step)
                             : shape->geometry[i].tiles < MOST_WALKED ? MOST_WALKED / shape->geometry[i].tiles
                                                                      : 1;

        if (step->grid != TJ_GRID_PRODUCTS && step->grid != TJ_GRID_ONCE && batch > most)
            batch = most;
    }
    return batch;
}

static tj_status resolve_tiles(const tj_kernel *kernel, const tj_launch_step *step, const tj_launch_shape *shape,
                               tj_geometry *geometry, tj_error *err)
{
    const bool is_swapped = kernel->form.is_swapped != 0;
    const int64_t all_rows = tj_row_tiles(&kernel->problem, is_swapped ? shape->l : shape->j, step->block_rows);
    const int64_t rows = step->is_folded ? tj_ceil_div(all_rows, 2) : all_rows;
    const int64_t cols = step->is_folded ? (all_rows / 2 * 2 + 1) * (step->block_rows / step->block_cols)
                                         : tj_ceil_div(is_swapped ? shape->j : shape->l, step->block_cols);
    const int64_t blocks[2] = {step->rows_on_x ? rows : cols, step->rows_on_x ? cols : rows};

    if (tj_step_walks(step)) {
        if (tj_mul(rows, cols, &geometry->tiles) && geometry->tiles <= kernel->max_grid[0])
            return TJ_OK;
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "P has %lld x %lld tiles, and a launch counts %lld: use larger tiles",
                       (long long)rows, (long long)cols, (long long)kernel->max_grid[0]);
    }
    geometry->grid[0] = in_clusters(step, 0, blocks[0]);
    geometry->grid[1] = in_clusters(step, 1, blocks[1]);
    return check_grid(kernel, blocks, err);
}

/* The lines of the P that the product stores, before any of them are added up. */
static int64_t lines_of_product(const tj_kernel *kernel, const tj_launch_shape *shape)
{
    return tj_is_combined(&kernel->problem) ? shape->j : shape->matrix[TJ_MATRIX_P].lines;
}

/* Their numbers: a kernel after the product makes pairs of them if P holds pairs. */
static int64_t width_of_product(const tj_kernel *kernel, const tj_launch_shape *shape)
{
    return shape->matrix[TJ_MATRIX_P].width * tj_type_numbers(kernel->problem.p.type);
}

static tj_status resolve_elements(const tj_kernel *kernel, const tj_launch_step *step, const tj_launch_shape *shape,
                                  tj_geometry *geometry, tj_error *err)
{
    int64_t elements, blocks;

    if (!tj_mul(lines_of_product(kernel, shape), width_of_product(kernel, shape), &elements) ||
        (blocks = tj_ceil_div(elements, step->block_cols)) > kernel->max_grid[0])
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "P has %lld x %lld elements, more than one launch of %s takes: use a config that does not split k",
                       (long long)shape->j, (long long)shape->l, step->kernel);
    geometry->grid[0] = in_clusters(step, 0, blocks);
    return TJ_OK;
}

static tj_status resolve_step(const tj_kernel *kernel, const tj_launch_step *step, const tj_launch_shape *shape,
                              tj_geometry *geometry, tj_error *err)
{
    *geometry = (tj_geometry){{1, in_clusters(step, 1, 1), in_clusters(step, 2, 1)},
                              {(unsigned int)step->block_x, (unsigned int)step->block_y},
                              (unsigned int)step->dynamic_shared_bytes,
                              0};
    if (step->grid == TJ_GRID_TILES || tj_step_walks(step))
        return resolve_tiles(kernel, step, shape, geometry, err);
    if (step->grid == TJ_GRID_LINES) {
        const int64_t lines = lines_of_product(kernel, shape), width = width_of_product(kernel, shape);

        geometry->grid[0] = in_clusters(step, 0, tj_ceil_div(lines > width ? lines : width, step->block_cols));
        return TJ_OK;
    }
    if (step->grid == TJ_GRID_ROWS) {
        const int64_t blocks[2] = {shape->p_rows, tj_ceil_div(shape->matrix[TJ_MATRIX_P].width, step->block_cols)};

        geometry->grid[0] = (unsigned int)blocks[0];
        geometry->grid[1] = (unsigned int)blocks[1];
        return check_grid(kernel, blocks, err);
    }
    return step->grid == TJ_GRID_PRODUCTS ? TJ_OK : resolve_elements(kernel, step, shape, geometry, err);
}

/* The step that multiplies, with the tile width of this launch. */
static tj_status resolve_product(const tj_kernel *kernel, int32_t tile_width, tj_launch_step *step, tj_error *err)
{
    const tj_launch_form *form = &kernel->form;
    const int64_t most = kernel->step[form->product].max_dynamic_shared;

    *step = *tj_product_step(form);
    if (tile_width != 0 && tile_width != step->block_cols) {
        const tj_status status = check_tile_width(kernel, tile_width, err);

        if (status != TJ_OK)
            return status;
        step->dynamic_shared_bytes = tj_shared_of_width(step, tile_width);
        step->block_rows = step->block_cols = step->block_x = step->block_y = tile_width;
    }
    if (step->dynamic_shared_bytes > most)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "tile_width %d needs %lld bytes of dynamic shared memory, and device %d has %lld for this kernel: "
                       "use a smaller one",
                       tile_width, (long long)step->dynamic_shared_bytes, kernel->device, (long long)most);
    return TJ_OK;
}

static tj_status resolve_geometry(const tj_kernel *kernel, int32_t tile_width, tj_launch_shape *shape, tj_error *err)
{
    const tj_launch_form *form = &kernel->form;
    tj_launch_step product;
    tj_status status = resolve_product(kernel, tile_width, &product, err);

    /* The form fixes the length of a step along k, except for kernels that take the tile from the launch. */
    if (status == TJ_OK)
        status = check_whole_tiles(kernel, shape, product.block_rows, product.block_cols,
                                   form->most_tile_width ? product.block_x : 1, err);
    for (int i = 0; status == TJ_OK && i < form->steps; i++)
        status = resolve_step(kernel, i == form->product ? &product : &form->step[i], shape, &shape->geometry[i], err);
    if (status != TJ_OK)
        return status;
    shape->products = products_of_a_launch(kernel, shape);
    tj_launch_set_products(kernel, shape->products, shape);
    return TJ_OK;
}

tj_status tj_launch_resolve(const tj_kernel *kernel, const tj_operands *x, int32_t multiprocessors, tj_launch_shape *shape,
                            tj_error *err)
{
    const tj_problem *problem = &kernel->problem;
    tj_status status;

    memset(shape, 0, sizeof *shape);
    shape->multiprocessors =
        multiprocessors > 0 && multiprocessors < kernel->multiprocessors ? multiprocessors : kernel->multiprocessors;
    status = resolve_extent('j', &problem->j, x->j, 1, INT32_MAX, &shape->j, err);
    if (status == TJ_OK)
        status =
            resolve_extent('k', &problem->k, x->k, 0, kernel->form.most_k ? kernel->form.most_k : INT32_MAX, &shape->k, err);
    if (status == TJ_OK)
        status = resolve_extent('l', &problem->l, x->l, 1, INT32_MAX, &shape->l, err);
    if (status == TJ_OK)
        status = tj_symmetric_check_extents(problem, shape->j, shape->l, err);
    if (status == TJ_OK)
        status = resolve_rows("m_rows", tj_is_gathered(problem), x->m_rows, shape->j, &shape->m_rows, err);
    if (status == TJ_OK)
        status = resolve_rows("p_rows", tj_is_scattered(problem) || tj_is_combined(problem), x->p_rows,
                              tj_ceil_div(shape->j, tj_rows_of_sum(problem)), &shape->p_rows, err);
    if (status == TJ_OK)
        status = resolve_batch(problem, x->batch, &shape->batch, err);
    for (int which = 0; which < TJ_ADDRESSES && status == TJ_OK; which++)
        if (kernel->operand[which].is_taken)
            status = which == TJ_MATRIX_C ? resolve_c(kernel, x, shape, err)
                                          : resolve_operand(kernel, which, tj_operand_at(x, which)->ld,
                                                            tj_operand_at(x, which)->stride, shape, err);
    if (status == TJ_OK)
        status = resolve_geometry(kernel, x->tile_width, shape, err);
    shape->extent[TJ_EXTENT_J] = (int32_t)shape->j;
    shape->extent[TJ_EXTENT_K] = (int32_t)shape->k;
    shape->extent[TJ_EXTENT_L] = (int32_t)shape->l;
    shape->extent[TJ_EXTENT_M_ROWS] = (int32_t)shape->m_rows;
    shape->extent[TJ_EXTENT_P_ROWS] = (int32_t)shape->p_rows;
    return status;
}

/* ---- operands ----------------------------------------------------------------------------------------------------- */

tj_status tj_operands_accept(const tj_operands *given, tj_operands *operands, tj_error *err)
{
    const tj_status status = tj_sized_read(given, operands, sizeof *operands, "operands", "TJ_OPERANDS_INIT", err);

    if (status != TJ_OK)
        return status;
    if (operands->reserved != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the reserved field of the operands is %d: it must be 0",
                       operands->reserved);
    return TJ_OK;
}

/* In bytes: `count` lines of `width`, `step` from one to the next. */
typedef struct lines {
    int64_t begin, count, step, width;
} lines;

/* A matrix, with its whole batch where that is lines at one distance too, else its first product. */
static lines lines_of(const tj_kernel *kernel, const tj_launch_shape *shape, int which, const void *pointer)
{
    const tj_stored_shape *m = &shape->matrix[which];
    const int64_t bytes = (int64_t)kernel->element_bytes[which];
    const int64_t products = m->stride == 0 ? 1 : tj_operand_copies(&kernel->problem, &kernel->operand[which], shape->batch);
    lines all = {(int64_t)(uintptr_t)pointer, m->lines, m->lines > 1 ? m->ld * bytes : 0, m->width * bytes};

    if (kernel->operand[which].is_array)
        return (lines){all.begin, 1, 1, 1}; /* where the matrices lie, only the device knows */
    if (all.count == 1) {
        all.count = products;
        all.step = m->stride * bytes;
    } else if (m->stride == m->lines * m->ld) {
        all.count *= products;
    }
    if (all.count == 1 || all.step == all.width) /* one long line */
        all = (lines){all.begin, 1, 1, all.count * all.width};
    return all;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/*
 * Do a and b certainly share a byte? Both are lines at the same distance, or one of them is a single line: then line i of a and
 * line r of b meet if and only if (i - r) * step lies between b's distance from a less a's width, and that plus b's width.
 * Lines at two distances are not compared.
 */
static bool certainly_meet(const lines *a, const lines *b)
{
    const int64_t step = a->count > 1 ? a->step : b->step;
    int64_t distance, low, high, first, last;

    if (a->count > 1 && b->count > 1 && a->step != b->step)
        return false;
    if (__builtin_sub_overflow(b->begin, a->begin, &distance) || __builtin_sub_overflow(distance, a->width, &low) ||
        !tj_add(distance, b->width, &high) || high == INT64_MIN)
        return false; /* no such memory */
    first = floor_div(low, step) + 1;
    last = floor_div(high - 1, step);
    if (first < 1 - b->count)
        first = 1 - b->count;
    if (last > a->count - 1)
        last = a->count - 1;
    return first <= last;
}

/* C at P's address is P itself if each element lies where P's does. */
static tj_status check_c_in_place(const tj_kernel *kernel, const tj_launch_shape *shape, tj_error *err)
{
    const tj_stored_shape *c = &shape->matrix[TJ_MATRIX_C], *p = &shape->matrix[TJ_MATRIX_P];

    if (kernel->operand[TJ_MATRIX_C].is_array == kernel->operand[TJ_MATRIX_P].is_array && (c->ld == p->ld || c->lines == 1) &&
        (c->stride == p->stride || shape->batch == 1))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "P is at the address of C, and C is stored otherwise (ld_c %lld, stride_c %lld; P: %lld, %lld): a product "
                   "cannot overwrite what it reads; give P memory of its own, or C the ld and stride of P",
                   (long long)c->ld, (long long)c->stride, (long long)p->ld, (long long)p->stride);
}

/* A beta of 0 never reads C, whatever its address; and c = NULL is P. */
static bool is_idle_c(const tj_kernel *kernel, const tj_operands *x, int which)
{
    return which == TJ_MATRIX_C &&
           (!kernel->problem.epilogue.has_beta || (kernel->weighs_c && tj_beta_is_zero(x)) || !x->c.address);
}

/* to: P, or an output of the expression, at p; which: what is read, or another output. */
static tj_status check_apart(const tj_kernel *kernel, const tj_launch_shape *shape, int which, const void *pointer, int to,
                             const void *p, tj_error *err)
{
    const lines in = lines_of(kernel, shape, which, pointer), out = lines_of(kernel, shape, to, p);
    const char *const written = kernel->operand[to].title;

    if (pointer == p && which == TJ_MATRIX_C && to == TJ_MATRIX_P)
        return check_c_in_place(kernel, shape, err);
    if (pointer == p)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s is at the address of %s: a product cannot overwrite what it reads; give %s memory of its own",
                       written, kernel->operand[which].title, written);
    if (kernel->operand[which].is_array || kernel->operand[to].is_array || !certainly_meet(&in, &out))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%s at 0x%llx and %s at 0x%llx overlap: a product cannot overwrite what it reads; give %s memory of its own",
                   written, (unsigned long long)(uintptr_t)p, kernel->operand[which].title,
                   (unsigned long long)(uintptr_t)pointer, written);
}

/* Outputs of the expression, and the scales of P, lie apart from everything else. */
static tj_status check_outputs(const tj_kernel *kernel, const tj_operands *x, const tj_launch_shape *shape, tj_error *err)
{
    tj_status status = TJ_OK;

    for (int to = TJ_MATRICES; to < TJ_ADDRESSES; to++)
        for (int which = 0;
             kernel->operand[to].is_taken && kernel->operand[to].is_written && which < TJ_ADDRESSES && status == TJ_OK; which++)
            if (which != to && shape->matrix[which].span > 0 && tj_operand_at(x, which)->address &&
                !is_idle_c(kernel, x, which))
                status =
                    check_apart(kernel, shape, which, tj_operand_at(x, which)->address, to, tj_operand_at(x, to)->address, err);
    return status;
}

static tj_status check_workspace(const tj_kernel *kernel, const tj_operands *x, tj_error *err)
{
    const int64_t needed = kernel->form.workspace_bytes;

    if (needed == 0)
        return TJ_OK;
    if (!tj_kernel_has_workspace(kernel, x)) {
        if (tj_memory_is_in_order(kernel->gpu, kernel->driver))
            return TJ_OK;
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "%s needs %lld bytes of workspace, the operands bring %lld, and a driver of CUDA %d.%d cannot allocate "
            "them in the stream (11.4 can): pass a workspace of tj_plan_workspace_bytes, or use a config that needs none",
            tj_product_step(&kernel->form)->kernel, (long long)needed, x->workspace ? (long long)x->workspace_bytes : 0LL,
            kernel->driver->version / 1000, kernel->driver->version % 1000 / 10);
    }
    if (!tj_workspace_is_aligned(x))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the workspace is 0x%llx: it must be aligned to %d bytes",
                       (unsigned long long)(uintptr_t)x->workspace, TJ_WORKSPACE_ALIGNMENT);
    return TJ_OK;
}

bool tj_launch_offsets_are_right(const tj_kernel *kernel, const tj_operands *x, int64_t j)
{
    return x->offsets && (uintptr_t)x->offsets % (uintptr_t)tj_offset_bytes(&kernel->problem) == 0 &&
           (!tj_is_masked(&kernel->problem) || j % tj_group_count(&kernel->problem) == 0) &&
           (!tj_offsets_on_host(&kernel->problem) || tj_groups_check(&kernel->problem, j, x->offsets, NULL) == TJ_OK);
}

/* Does P lie apart from `bytes` bytes at an address in device memory, which a kernel reads? */
static tj_status check_apart_from_p(const tj_kernel *kernel, const tj_operands *x, const tj_launch_shape *shape,
                                    const char *name, const void *pointer, int64_t bytes, tj_error *err)
{
    const lines in = {(int64_t)(uintptr_t)pointer, 1, 1, bytes}, out = lines_of(kernel, shape, TJ_MATRIX_P, x->p.address);

    if (!certainly_meet(&in, &out))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "P at 0x%llx and %s at 0x%llx overlap: a product cannot overwrite what it reads; give P memory of its own",
                   (unsigned long long)(uintptr_t)x->p.address, name, (unsigned long long)(uintptr_t)pointer);
}

static tj_status check_groups(const tj_problem *problem, const tj_operands *x, const tj_launch_shape *shape, tj_error *err)
{
    if (tj_is_masked(problem) && shape->j % tj_group_count(problem) != 0)
        return tj_rows_refuse_j(problem, shape->j, err);
    return tj_offsets_on_host(problem) ? tj_groups_check(problem, tj_offset_bound(problem, shape->j, shape->k), x->offsets, err)
                                       : TJ_OK;
}

/* The offsets or counts of groups, and the indexes of rows: are they there, and not where P is written? */
static tj_status check_lists(const tj_kernel *kernel, const tj_operands *x, const tj_launch_shape *shape, tj_error *err)
{
    tj_status status = TJ_OK;

    for (int list = 0; list < TJ_LISTS && status == TJ_OK; list++) {
        const tj_list_row *const row = &kernel->list[list];
        const void *const address = tj_list_at(x, row);
        char text[TJ_LIST_TEXT_BYTES];

        if (!row->read)
            continue;
        tj_list_print(&kernel->problem, row, shape->j, shape->p_rows, text);
        if (!address)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is NULL: give the %s address of the %s", row->name,
                           row->on_host ? "host" : "device", text);
        if ((uintptr_t)address % (uintptr_t)row->bytes != 0)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is 0x%llx, which is not aligned to its elements of %d bytes",
                           row->name, (unsigned long long)(uintptr_t)address, row->bytes);
        if (list == TJ_LIST_OFFSETS)
            status = check_groups(&kernel->problem, x, shape, err);
        if (status == TJ_OK && !row->on_host)
            status = check_apart_from_p(kernel, x, shape, row->title, address,
                                        tj_list_count(row, shape->j, shape->p_rows) * row->bytes, err);
    }
    return status;
}

static tj_status check_operands(const tj_kernel *kernel, const tj_operands *x, const tj_launch_shape *shape, tj_error *err)
{
    for (int which = 0; which < TJ_ADDRESSES; which++) {
        const void *const pointer = tj_operand_at(x, which)->address;
        const int bytes = (int)kernel->element_bytes[which];

        if (shape->matrix[which].span == 0 || is_idle_c(kernel, x, which))
            continue;
        if (!pointer)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is NULL: give the device address of %s%s",
                           kernel->operand[which].name, kernel->operand[which].is_array ? "the array of pointers to " : "",
                           kernel->operand[which].title);
        if ((uintptr_t)pointer % (uintptr_t)bytes != 0)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is 0x%llx, which is not aligned to its elements of %d bytes",
                           kernel->operand[which].name, (unsigned long long)(uintptr_t)pointer, bytes);
        if ((uintptr_t)pointer % kernel->alignment[which] != 0)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "%s is 0x%llx, and %s takes %d bytes of it at once: align it to that, or generate with vector=1, "
                           "store=elements or width=1, whichever the family has",
                           kernel->operand[which].name, (unsigned long long)(uintptr_t)pointer,
                           tj_product_step(&kernel->form)->kernel, (int)kernel->alignment[which]);
    }
    for (int which = 0; which < TJ_ADDRESSES; which++) {
        const bool is_read = which != TJ_MATRIX_P && shape->matrix[which].span > 0 && !is_idle_c(kernel, x, which);
        const tj_status status =
            is_read ? check_apart(kernel, shape, which, tj_operand_at(x, which)->address, TJ_MATRIX_P, x->p.address, err)
                    : TJ_OK;

        if (status != TJ_OK)
            return status;
    }
    const double alpha[] = {x->alpha, x->alpha_im}, beta[] = {x->beta, x->beta_im};

    if (tj_epilogue_check_scalars(&kernel->problem, alpha, beta, err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    if (check_lists(kernel, x, shape, err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    for (int i = 0; i < kernel->problem.epilogue.expression.operands && kernel->scalar_type != TJ_F64; i++)
        if (kernel->problem.epilogue.expression.operand[i].indexed == TJ_BY_NOTHING &&
            tj_scalar_check(kernel->problem.epilogue.expression.operand[i].name, x->number[i], err) != TJ_OK)
            return TJ_ERR_INVALID_ARGUMENT;
    if (kernel->has_outputs && check_outputs(kernel, x, shape, err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    return check_workspace(kernel, x, err);
}

tj_status tj_launch_settle(const tj_kernel *kernel, const tj_operands *given, int32_t multiprocessors, tj_operands *operands,
                           tj_launch_shape *shape, tj_error *err)
{
    tj_status status = tj_operands_accept(given, operands, err);

    if (status == TJ_OK)
        status = tj_launch_resolve(kernel, operands, multiprocessors, shape, err);
    return status == TJ_OK ? check_operands(kernel, operands, shape, err) : status;
}
