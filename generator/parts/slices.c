/* SPDX-License-Identifier: Apache-2.0 */
#include "slices.h"

#include "checked.h"
#include "family.h"
#include "scales.h"
#include "split.h"

enum { EXCHANGES_OF_LEVEL = 4 }; /* waits for a barrier, for two accumulators of others, and for its own store */

/* Reduce the slices' accumulators as a tree, some rows at a time. */
static void count_tree(const tj_slices *s, tj_counts *counts)
{
    const int32_t outputs = s->rows * s->cols;
    const int64_t tops = counts->blocks * (s->tm / s->rows);
    int32_t levels = 0;

    for (int32_t half = s->count / 2; half > 0; half /= 2) {
        tj_access access = tj_shared_access(outputs, half, 1, s->pitch, counts->sum_bytes, 1, 2 * tops);

        tj_traffic_add(&counts->shared_load, &access);
        access.repeat = tops;
        tj_traffic_add(&counts->shared_store, &access);
        counts->sums += tops * half * outputs;
        counts->barriers += tops;
        levels++;
    }
    counts->barriers += 2 * tops;
    counts->exchanged = s->tm / s->rows * levels * EXCHANGES_OF_LEVEL;
}

/* A thread for each output loads its accumulator, if the element of P exists. */
static void count_sums(const tj_problem *view, const tj_slices *s, int64_t matrices, tj_counts *counts)
{
    const tj_access access = {
        .threads_x = s->cols,
        .threads_y = s->rows,
        .step_x = counts->sum_bytes,
        .step_y = (int64_t)s->cols * counts->sum_bytes,
        .element_bytes = counts->sum_bytes,
        .is_shared = true,
        .axis = {tj_tile_axis(view->l.extent, s->cols, 0), tj_tile_axis(view->j.extent, s->rows, 0)},
        .repeat = matrices,
    };

    tj_traffic_add(&counts->shared_load, &access);
}

/* P, C or the workspace: a thread for each output. */
static void count_output(const tj_problem *view, const tj_slices *s, int64_t bytes, int64_t ld, const tj_axis *matrices,
                         tj_traffic *traffic)
{
    const bool by_rows = view->p.layout == TJ_ROW_MAJOR;
    tj_access access = tj_tiled_access(s->cols, s->rows, view->l.extent, view->j.extent, by_rows ? bytes : ld * bytes,
                                       by_rows ? ld * bytes : bytes);

    access.element_bytes = (int32_t)bytes;
    access.axis[2] = *matrices;
    tj_traffic_add(traffic, &access);
}

void tj_slices_count(const tj_problem *view, const tj_slices *slices, tj_counts *counts)
{
    const int32_t splits = (int32_t)counts->splits;
    const int64_t p_bytes = tj_facts_of(view->p.type)->bytes;
    const tj_axis of_p = tj_batch_axis(view->batch, view->p.stride, p_bytes),
                  of_c = tj_batch_axis(view->batch, view->c.stride, p_bytes),
                  of_w = tj_batch_axis(view->batch * splits, view->j.extent * view->l.extent, counts->sum_bytes);

    count_tree(slices, counts);
    count_sums(view, slices, view->batch * splits, counts);
    if (splits > 1) {
        count_output(view, slices, counts->sum_bytes, view->p.layout == TJ_ROW_MAJOR ? view->l.extent : view->j.extent, &of_w,
                     &counts->store_w);
        tj_split_count(view, splits, counts);
        return;
    }
    count_output(view, slices, p_bytes, view->p.ld, &of_p, &counts->store_p);
    if (view->epilogue.has_beta)
        count_output(view, slices, p_bytes, view->c.ld, &of_c, &counts->load_c);
    tj_scales_count_tiles(view, slices->cols, slices->rows, TJ_SCALES_IN_TURN, counts);
}
