/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_counts: the traffic and work of a config for a problem, element by element. The family's form counts most; this file
 * does the parts common to all families.
 */
#include <tilejit/analysis.h>

#include <string.h>

#include "checked.h"
#include "error.h"
#include "family.h"
#include "canonical.h"
#include "estimate.h"
#include "parts/after.h"
#include "parts/reductions.h"
#include "operand_table.h"
#include "settle.h"
#include "symmetric.h"
#include "tree.h"

enum { WARP = 32 };

/* Does the offset of every byte of a matrix, including a tile beyond its edges, fit 62 bits? */
static bool fits(int32_t layout, int64_t rows, int64_t cols, int64_t pad, int64_t ld, int64_t stride, int64_t batch)
{
    int64_t lines, products, bytes;

    return tj_mul((layout == TJ_ROW_MAJOR ? rows : cols) + pad, ld > 0 ? ld : cols, &lines) &&
           tj_mul(stride > 0 ? stride : 0, batch, &products) && tj_add(lines, products, &bytes) && tj_mul(bytes, 16, &bytes);
}

/* Every count, and every intermediate result, is below this product, so nothing overflows after this check. */
static tj_status check_size(const tj_problem *view, const tj_launch_form *form, tj_error *err)
{
    const tj_launch_step *product = tj_product_step(form);
    const int64_t pad = product->block_rows > product->block_cols ? product->block_rows : product->block_cols;
    int64_t most = 64 * (product->splits > 1 ? product->splits : 1);

    if (view->j.extent < 0 || view->k.extent < 0 || view->l.extent < 0) /* extents of a launch, which are not checked before */
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "extents are %lld, %lld and %lld: none may be below 0",
                       (long long)view->j.extent, (long long)view->k.extent, (long long)view->l.extent);
    if (tj_mul(most, view->j.extent + pad, &most) && tj_mul(most, view->k.extent + pad, &most) &&
        tj_mul(most, view->l.extent + pad, &most) && tj_mul(most, view->batch, &most) &&
        fits(view->m.layout, view->j.extent, view->k.extent, pad, view->m.ld, view->m.stride, view->batch) &&
        fits(view->n.layout, view->k.extent, view->l.extent, pad, view->n.ld, view->n.stride, view->batch) &&
        fits(view->p.layout, view->j.extent, view->l.extent, pad, view->p.ld, view->p.stride, view->batch) &&
        fits(view->p.layout, view->j.extent, view->l.extent, pad, view->c.ld, view->c.stride, view->batch))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_UNSUPPORTED,
                   "a product of j %lld, k %lld, l %lld and batch %lld, or its leading dimensions or strides, are too large to "
                   "count in 63 bits",
                   (long long)view->j.extent, (long long)view->k.extent, (long long)view->l.extent, (long long)view->batch);
}

/* A matrix that all products of a batch share moves once. */
static int64_t matrices(const tj_problem *view, int64_t stride)
{
    return stride == TJ_BROADCAST ? 1 : view->batch;
}

/* Return the pipe of accumulators and epilogue; a family with tensor cores uses another pipe for the products. */
static tj_pipe pipe_of_sums(const tj_problem *view)
{
    return tj_part_type((int32_t)tj_sum_type(view)) == TJ_F64 ? TJ_PIPE_F64 : TJ_PIPE_F32;
}

static void fill_frame(const tj_problem *view, const tj_launch_form *form, tj_counts *counts)
{
    const int64_t j = view->j.extent, k = view->k.extent, l = view->l.extent,
                  computed = tj_is_symmetric(view) ? j * (j + 1) / 2 : j * l; /* elements of a product */
    const int64_t p_bytes = (int64_t)tj_type_bytes((tj_type)view->p.type);
    const tj_launch_step *product = tj_product_step(form);

    memset(counts, 0, sizeof *counts);
    counts->element_bytes = (int32_t)tj_type_bytes((tj_type)view->m.type);
    counts->n_element_bytes = (int32_t)tj_type_bytes((tj_type)view->n.type);
    counts->sum_bytes = tj_sum_bytes(view);
    counts->block_rows = product->block_rows;
    counts->block_cols = product->block_cols;
    counts->row_blocks = tj_ceil_div(j, product->block_rows);
    counts->col_blocks = tj_ceil_div(l, product->block_cols);
    counts->splits = product->splits > 1 ? product->splits : 1;
    counts->blocks = counts->row_blocks * counts->col_blocks * view->batch * counts->splits;
    counts->threads_per_block = product->block_x * product->block_y;
    counts->shared_bytes = product->static_shared_bytes + product->dynamic_shared_bytes;
    counts->flop = (2 * tj_products_of_element(view) * k + tj_epilogue_flop(view)) * computed * view->batch;
    counts->finish =
        view->epilogue.expression.nodes > 0 ? tj_epilogue_flop(view) * j * tj_problem_p_cols(view) * view->batch : 0;
    counts->pipe = (int32_t)pipe_of_sums(view);
    counts->work[TJ_PIPE_MEMORY] =
        counts->element_bytes * j * k / tj_type_numbers(view->m.type) * matrices(view, view->m.stride) +
        counts->n_element_bytes * k * l / tj_type_numbers(view->n.type) * matrices(view, view->n.stride) +
        p_bytes * (tj_stores_twice(view) ? j * l : computed / tj_sums_per_column(view)) * view->batch +
        p_bytes * (computed / tj_sums_per_column(view)) * (view->epilogue.has_beta ? matrices(view, view->c.stride) : 0);
}

/*
 * Count the epilogue operands that an expression reads, and stores besides P, once for each element of P: an estimate for all
 * families, as if the threads of a warp had neighbouring columns.
 */
static void count_operands(const tj_problem *view, tj_counts *counts)
{
    tj_traffic *const loads = counts->splits > 1 ? &counts->reduce.load_scales : &counts->load_scales;
    const int64_t elements = view->j.extent * tj_problem_p_cols(view) * view->batch;

    for (int i = 0; i < view->epilogue.expression.operands; i++) {
        const uint8_t indexed = view->epilogue.expression.operand[i].indexed;
        tj_traffic *const traffic = view->epilogue.expression.operand[i].is_output ? &counts->store_p : loads;
        const int64_t bytes = (int64_t)tj_type_bytes(tj_operand_type(view, i)), requests = tj_ceil_div(elements, WARP);

        if (indexed == TJ_BY_NOTHING || view->epilogue.expression.operand[i].reduction != TJ_REDUCE_NOT)
            continue;
        traffic->elements += elements;
        traffic->bytes += elements * bytes;
        traffic->requests += requests;
        traffic->wavefronts += requests;
        traffic->merged += requests;
        traffic->sectors += indexed == TJ_BY_ROW || indexed == TJ_BY_PRODUCT ? requests : requests * bytes;
        traffic->is_estimate = 1;
        counts->work[TJ_PIPE_MEMORY] += tj_operand_elements(view, TJ_WITH + i) * bytes * view->batch;
        counts->waits += !view->epilogue.expression.operand[i].is_output;
    }
}

/* ---- one triangle ------------------------------------------------------------------------------------------------- */

/* A part of a count. */
typedef struct share {
    int64_t part, whole;
} share;

static int64_t take(int64_t count, share of)
{
    return (int64_t)((double)count * (double)of.part / (double)of.whole + 0.5);
}

static void take_traffic(tj_traffic *traffic, share of)
{
    int64_t *const count[] = {&traffic->elements,   &traffic->bytes,   &traffic->requests,
                              &traffic->wavefronts, &traffic->sectors, &traffic->merged};

    for (size_t i = 0; i < sizeof count / sizeof count[0]; i++)
        *count[i] = take(*count[i], of);
}

/*
 * Leave of the counts of all of P those of one triangle: an estimate, as if all tiles had the same work. Elements and bytes of P
 * are exact, and so is the number of tiles. Packing is not changed. A block takes two tiles that are half beyond the diagonal for a whole
 * one: they count as half a tile, and not as rows or columns of tiles.
 */
static void count_triangle(const tj_problem *view, tj_counts *counts)
{
    const bool is_tall = counts->block_rows > counts->block_cols;
    const int64_t side = counts->row_blocks, j = view->j.extent, rows = is_tall ? side : tj_ceil_div(side, 2),
                  cols = is_tall ? side : side / 2 * 2 + 1, halves = is_tall ? side : 0;
    const share tiles = {2 * rows * cols + halves, 2 * side * counts->col_blocks}, elements = {j + 1, 2 * j}, all = {1, 1};
    tj_traffic *const traffic[] = {&counts->load_m,
                                   &counts->load_n,
                                   &counts->store_w,
                                   &counts->load_w,
                                   &counts->load_scales,
                                   &counts->load_pointers,
                                   &counts->shared_load,
                                   &counts->shared_store,
                                   &counts->reduce.shared_load,
                                   &counts->reduce.shared_store,
                                   &counts->reduce.load_scales};
    int64_t *const work[] = {&counts->mma,         &counts->conversions, &counts->halves,   &counts->transposed,
                             &counts->factors,     &counts->copied,      &counts->narrow,   &counts->gathered,
                             &counts->sums,        &counts->async_bytes, &counts->barriers, &counts->finish,
                             &counts->reduce.sums, &counts->reduce.fma,  &counts->blocks};

    for (size_t i = 0; i < sizeof traffic / sizeof traffic[0]; i++)
        take_traffic(traffic[i], tiles);
    for (size_t i = 0; i < sizeof work / sizeof work[0]; i++)
        *work[i] = take(*work[i], tiles);
    for (int pipe = 0; pipe < TJ_PIPES; pipe++)
        if (pipe != TJ_PIPE_MEMORY)
            counts->work[pipe] = take(counts->work[pipe], tiles);
    take_traffic(&counts->load_c, elements);
    take_traffic(&counts->store_p, tj_stores_twice(view) ? all : elements);
    counts->row_blocks = rows;
    counts->col_blocks = cols;
}

/* Families count a product of two elements as one multiplication; of complex ones it is four, and a sum has two parts. */
static void count_parts(const tj_problem *view, tj_counts *counts)
{
    const int32_t products = tj_products_of_element(view), parts = tj_type_parts(view->m.type);

    counts->phase.flop *= products;
    counts->work[counts->pipe] *= products;
    counts->chain_fma *= products;
    counts->element_fma = products;
    counts->mma *= products;
    counts->sums *= parts;
    counts->reduce.sums *= parts;
}

static double ratio(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static void estimate_all(tj_counts *counts)
{
    tj_traffic *const traffic[] = {&counts->load_m,
                                   &counts->load_n,
                                   &counts->load_c,
                                   &counts->store_p,
                                   &counts->store_w,
                                   &counts->load_w,
                                   &counts->load_pointers,
                                   &counts->load_scales,
                                   &counts->pack.load,
                                   &counts->pack.store,
                                   &counts->pack.shared_load,
                                   &counts->pack.shared_store,
                                   &counts->shared_load,
                                   &counts->shared_store,
                                   &counts->reduce.load_pointers,
                                   &counts->reduce.load_scales,
                                   &counts->reduce.shared_load,
                                   &counts->reduce.shared_store};

    for (size_t i = 0; i < sizeof traffic / sizeof traffic[0]; i++)
        traffic[i]->is_estimate = 1;
}

void tj_request_counted(const tj_request *request, tj_request *counted)
{
    const tj_problem known = tj_problem_known(&request->problem), even = tj_problem_even(&known);

    tj_request_derive(&even, counted);
}

tj_status tj_count_resolved(const tj_request *counted, const tj_config *resolved, bool is_estimate, tj_launch_form *form,
                            tj_counts *counts, tj_error *err)
{
    bool is_swapped;
    const tj_problem *const view = tj_request_view(counted, resolved, &is_swapped);
    tj_status status;

    if (!resolved->family->count)
        return tj_fail(err, TJ_ERR_UNSUPPORTED, "family %s states no counts", resolved->family->name);
    tj_family_launch(counted, resolved, form);
    status = check_size(view, form, err);
    if (status != TJ_OK)
        return status;
    fill_frame(view, form, counts);
    counts->model = resolved->family->model;
    /* Families count P as if each accumulator became an element, and as if all of it were computed. */
    if (is_estimate || tj_epilogue_pairs(&view->epilogue) || tj_is_symmetric(view))
        estimate_all(counts);
    resolved->family->count(view, resolved, counts);
    count_parts(view, counts);
    count_operands(view, counts);
    tj_reductions_count(view, form, counts);
    tj_after_count(&counted->problem, view, counts);
    if (counts->splits == 1) { /* with splits, the second kernel does this */
        counts->work[pipe_of_sums(view)] += 2 * tj_epilogue_fma(view) * view->j.extent * view->l.extent * view->batch;
        counts->waits += view->epilogue.has_beta;
    }
    if (tj_is_symmetric(view))
        count_triangle(view, counts);
    if (is_swapped) { /* the source's M is the caller's N */
        const tj_traffic m = counts->load_n;
        const int32_t bytes = counts->n_element_bytes;

        counts->load_n = counts->load_m;
        counts->load_m = m;
        counts->n_element_bytes = counts->element_bytes;
        counts->element_bytes = bytes;
    }
    counts->global_bytes = counts->load_m.bytes + counts->load_n.bytes + counts->load_c.bytes + counts->store_p.bytes +
                           counts->store_w.bytes + counts->load_w.bytes + counts->pack.load.bytes + counts->pack.store.bytes;
    if (counts->work[TJ_PIPE_L2] == 0) /* the family leaves nothing to the L1 */
        counts->work[TJ_PIPE_L2] = counts->global_bytes;
    counts->global_bytes += counts->load_pointers.bytes + counts->reduce.load_pointers.bytes + counts->load_scales.bytes +
                            counts->reduce.load_scales.bytes;
    counts->intensity = ratio(counts->flop, counts->global_bytes);
    counts->phase.intensity =
        ratio(2 * counts->phase.flop, counts->phase.loads * (counts->element_bytes + counts->n_element_bytes));
    return TJ_OK;
}
