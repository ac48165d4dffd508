/* SPDX-License-Identifier: Apache-2.0 */
#include "split.h"

#include <stdio.h>

#include "checked.h"
#include "error.h"
#include "scales.h"
#include "steps.h"
#include "traffic.h"

enum { REDUCE_THREADS = 256, MOST_GROUPS = 16, SPLITS_PER_THREAD = 4 };

const int32_t tj_splits_tried[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 33, 48, 66, 96, 132, 264, 0};

bool tj_split_is_possible(const tj_problem *view)
{
    return !tj_has_offsets(view) && !tj_is_gathered(view) && !tj_epilogue_reduces(&view->epilogue) &&
           view->j.mode == TJ_DIM_FIXED && view->l.mode == TJ_DIM_FIXED && view->batch > 0;
}

/* Bytes for one launch. A larger batch takes several launches, which reuse the workspace one after the other. */
static int64_t workspace_bytes(const tj_problem *view, int32_t splits)
{
    const int64_t most = TJ_GRID_LIMIT / splits, products = view->batch < most ? view->batch : most;
    int64_t bytes;

    if (!tj_mul(view->j.extent, view->l.extent, &bytes) || !tj_mul(bytes, splits * products, &bytes) ||
        !tj_mul(bytes, tj_sum_bytes(view), &bytes))
        return -1;
    return bytes;
}

tj_status tj_split_check(const tj_problem *view, int32_t splits, tj_error *err)
{
    if (splits <= 1)
        return TJ_OK;
    if (tj_is_grouped(view))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "splits is %d, and rows of a problem with groups may belong to none of them: use splits=1", splits);
    if (tj_divides_k(view))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "splits is %d, and groups divide k already: use splits=1", splits);
    if (tj_is_gathered(view))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "splits is %d, and rows of M are gathered, whose index the second kernel does not have: use splits=1",
                       splits);
    if (tj_epilogue_reduces(&view->epilogue))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "splits is %d, and the epilogue reduces rows or columns of sums that are whole: use splits=1", splits);
    if (!tj_split_is_possible(view))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "splits is %d, and the workspace it takes is known only for a fixed j, l and batch: fix them, or use "
                       "splits=1",
                       splits);
    if (workspace_bytes(view, splits) < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%d splits of %lld x %lld elements need more bytes of workspace than 63 bits count: use splits=1",
                       splits, (long long)view->j.extent, (long long)view->l.extent);
    return TJ_OK;
}

/* Choose the number of threads per element so that each adds a few splits, up to MOST_GROUPS threads. */
static int32_t groups_of(int32_t splits)
{
    int32_t groups = 1;

    while (groups < MOST_GROUPS && groups * SPLITS_PER_THREAD < splits)
        groups *= 2;
    return groups;
}

/* Name the element, or the pair of sums, that a thread of the second kernel reads, and where it lies in P. */
static void describe_reduce(const tj_problem *view, tj_template_params *fill)
{
    const bool pairs = tj_epilogue_pairs(&view->epilogue), by_rows = view->p.layout == TJ_ROW_MAJOR;

    tj_template_set(fill, "is_added",
                    !tj_is_symmetric(view)    ? "element < j * l"
                    : tj_computes_upper(view) ? "element < j * l && element / l <= element % l"
                                              : "element < j * l && element % l <= element / l");
    tj_template_set(fill, "reduce_reads", pairs ? "parts/reduce_pairs.cuh" : "parts/reduce_sums.cuh");
    tj_template_set(fill, "row_of_element", pairs ? "element / (l / 2)" : by_rows ? "element / l" : "element % j");
    tj_template_set(fill, "col_of_element", pairs ? "element % (l / 2) * 2" : by_rows ? "element % l" : "element / j");
}

void tj_split_describe(const tj_problem *view, int32_t splits, tj_template_params *fill, tj_launch_form *form)
{
    const int32_t groups = groups_of(splits);
    tj_launch_step *reduce;

    tj_template_set_int(fill, "SPLITS", splits);
    tj_template_set(fill, "store", splits > 1 ? "parts/store_split.cuh" : "parts/store.cuh");
    tj_template_set_int(fill, "REDUCE_GROUPS", groups);
    tj_template_set(fill, "w_place", view->p.layout == TJ_ROW_MAJOR ? "Row * l + Col" : "Col * j + Row");
    if (splits <= 1)
        return;
    describe_reduce(view, fill);
    form->workspace_bytes = workspace_bytes(view, splits);
    tj_step_product(form)->splits = splits;
    reduce = tj_step_add(view, "reduce", false, fill, form);
    reduce->grid = TJ_GRID_ELEMENTS;
    tj_step_set_blocks(reduce, REDUCE_THREADS, 1, REDUCE_THREADS / groups);
    reduce->overlaps = 1;
    if (fill)
        tj_step_list_args(view, form->is_swapped, false, true, reduce);
}

void tj_split_describe_elements(const tj_problem *view, int32_t splits, const char *thread, tj_template_params *fill)
{
    const bool splits_k = splits > 1, has_batch = view->batch != 1,
               takes_pairs = tj_epilogue_pairs(&view->epilogue) && !splits_k;
    char first[TJ_TEMPLATE_VALUE_BYTES];

    tj_template_set_lines(
        fill, "what_z_counts",
        splits_k    ? has_batch ? "//         blockIdx.z counts the splits of k, of one product of the batch after the other.\n"
                                : "//         blockIdx.z counts the splits of k.\n"
        : has_batch ? "//         blockIdx.z counts the products of the batch.\n"
                    : NULL);
    tj_template_set(fill, "k_begin", splits_k ? "k_begin" : "0");
    tj_template_set(fill, "k_end", splits_k ? "k_end" : "k");
    (void)snprintf(first, sizeof first, takes_pairs ? "2 * %s" : "%s", thread);
    tj_template_set(fill, "first_element", first);
    tj_template_set(fill, "element_step", takes_pairs ? "2 * THREADS" : "THREADS");
    tj_template_set_flag(fill, "takes_pairs", takes_pairs);
}

void tj_split_describe_walk(const tj_dim *k, int32_t splits, int32_t bk, int32_t stages, bool in_pieces,
                            tj_template_params *fill)
{
    const int64_t fewest = splits == 1 && k->mode == TJ_DIM_FIXED ? tj_ceil_div(k->extent, bk) : 0;
    const bool is_short = fewest < stages - 1;

    tj_template_set_flag(fill, "may_be_empty", fewest == 0);
    tj_template_set_flag(fill, "may_be_short", is_short);
    tj_template_set(fill, "copy_first",
                    in_pieces && is_short ? "simt/copy_first_spread.cuh"
                    : in_pieces           ? "simt/copy_first_all_spread.cuh"
                    : is_short            ? "parts/copy_first.cuh"
                                          : "parts/copy_first_all.cuh");
    tj_template_set(fill, "k_steps", splits > 1 ? "k_steps" : "k");
}

/* ---- counts ------------------------------------------------------------------------------------------------------- */

tj_split_phases tj_split_share(int64_t phases, int32_t splits)
{
    const int64_t most = tj_ceil_div(phases, splits);

    return (tj_split_phases){most, most > 0 ? tj_ceil_div(phases, most) : 0};
}

/*
 * A thread for each element of P, line after line, as they lie in the workspace. A padded P counts the sectors of a tight one.
 */
static tj_access in_order(const tj_problem *view, int32_t block_elements, int64_t bytes, int64_t stride)
{
    return (tj_access){
        .threads_x = block_elements,
        .threads_y = 1,
        .step_x = bytes,
        .element_bytes = (int32_t)bytes,
        .axis = {tj_tile_axis(view->j.extent * view->l.extent, block_elements, block_elements * bytes),
                 {1, 0, 1, 1},
                 tj_batch_axis(view->batch, stride, bytes)},
        .repeat = 1,
    };
}

void tj_split_count(const tj_problem *view, int32_t splits, tj_counts *counts)
{
    const int32_t groups = groups_of(splits), elements = REDUCE_THREADS / groups;
    const int64_t matrix = view->j.extent * view->l.extent, bytes = counts->sum_bytes;
    const int64_t p_bytes = tj_facts_of(view->p.type)->bytes;
    tj_access access;

    if (splits <= 1)
        return;
    counts->reduce.blocks = tj_ceil_div(matrix, elements) * view->batch;
    counts->reduce.threads_per_block = REDUCE_THREADS;
    counts->reduce.barriers = counts->reduce.blocks;
    counts->reduce.sums = matrix * view->batch * (splits + groups - 1);
    /* Group g adds the splits g, g + groups and so on. */
    access = in_order(view, elements, bytes, matrix * splits);
    access.threads_y = groups;
    access.step_y = matrix * bytes;
    access.axis[1] = tj_tile_axis(splits, groups, groups * matrix * bytes);
    tj_traffic_add(&counts->load_w, &access);
    access = in_order(view, REDUCE_THREADS, bytes, 0);
    access.is_shared = true;
    access.axis[0] = (tj_axis){counts->reduce.blocks, 0, REDUCE_THREADS, REDUCE_THREADS};
    access.axis[2] = (tj_axis){0};
    if (groups > 1) /* the compiler drops stores that are never read */
        tj_traffic_add(&counts->reduce.shared_store, &access);
    access = in_order(view, elements, bytes, 0);
    access.is_shared = true;
    access.repeat = groups - 1;
    tj_traffic_add(&counts->reduce.shared_load, &access);
    access = in_order(view, elements, p_bytes, view->p.stride);
    tj_traffic_add(&counts->store_p, &access);
    if (view->epilogue.has_beta) {
        access = in_order(view, elements, p_bytes, view->c.stride);
        tj_traffic_add(&counts->load_c, &access);
    }
    counts->reduce.fma = tj_epilogue_fma(view) * matrix * view->batch;
    tj_scales_count_in_order(view, &counts->reduce.load_scales);
}
