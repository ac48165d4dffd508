/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts: the traffic and work of a launch of family skinny. Each loop of the template is one access here, under the template's
 * name.
 */
#include "form.h"

#include "checked.h"
#include "parts/pointers.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/slices.h"
#include "parts/split.h"
#include "parts/traffic.h"

/* Facts that the counts of all loops share. */
typedef struct scene {
    const tj_problem *view;
    tj_skinny_shape s;
    int32_t run, rows_at_once, block_cols, phase, outputs, bytes; /* bytes: of an accumulator */
    int64_t block_phases;                                         /* phases of all blocks together */
    bool n_rows;
} scene;

/* load: a thread's share of N. A slice has runs of RUN elements, SLICES * RUN apart. */
static void count_n(const scene *c, int64_t element_bytes, int64_t repeat, tj_traffic *traffic)
{
    const tj_problem *t = c->view;
    const int32_t vector = c->s.vector / tj_type_numbers(t->n.type), lanes = c->s.lanes, slices = c->s.slices;
    const int64_t line = t->n.ld * element_bytes, along = vector * element_bytes;
    const int64_t loads = tj_problem_lines(t, TJ_MATRIX_N).width.extent / vector;
    tj_access access = {.element_bytes = (int32_t)element_bytes, .width = vector, .repeat = repeat};

    access.axis[2] = tj_batch_axis(t->batch, t->n.stride, element_bytes);
    if (!c->n_rows) { /* lanes are columns; RUN is VECTOR */
        access.threads_x = slices;
        access.threads_y = lanes;
        access.step_x = along;
        access.step_y = line;
        access.axis[0] = tj_tile_axis(loads, slices, slices * along);
        access.axis[1] = tj_tile_axis(t->l.extent, lanes, lanes * line);
        tj_traffic_add(traffic, &access);
        return;
    }
    access.threads_x = lanes;
    access.threads_y = slices;
    access.step_x = along;
    access.step_y = c->run * line;
    access.axis[0] = tj_tile_axis(loads, lanes, lanes * along);
    if (traffic->is_estimate) { /* the first element of a run stands for all */
        access.repeat *= c->run;
        access.axis[1] = tj_tile_axis(tj_ceil_div(t->k.extent, c->run), slices, slices * c->run * line);
        tj_traffic_add(traffic, &access);
        return;
    }
    for (int32_t e = 0; e < c->run && e < t->k.extent; e++) {
        access.base = e * line;
        access.axis[1] = tj_tile_axis(tj_ceil_div(t->k.extent - e, c->run), slices, slices * c->run * line);
        tj_traffic_add(traffic, &access);
    }
}

/* load: the tile of M, element by element. */
static void count_m(const scene *c, int64_t element_bytes, int64_t repeat, tj_traffic *traffic)
{
    const tj_problem *t = c->view;
    const bool m_rows = t->m.layout == TJ_ROW_MAJOR;
    const int32_t x = m_rows ? c->phase : c->s.tm, y = m_rows ? c->s.tm : c->phase;
    tj_access access = tj_tiled_access(x, y, m_rows ? t->k.extent : t->j.extent, m_rows ? t->j.extent : t->k.extent,
                                       element_bytes, t->m.ld * element_bytes);

    access.element_bytes = (int32_t)element_bytes;
    access.axis[2] = tj_batch_axis(t->batch, t->m.stride, element_bytes);
    access.repeat = repeat;
    tj_traffic_add(traffic, &access);
}

static void count_shared(const scene *c, int32_t x, int32_t y, int64_t step_x, int64_t step_y, int32_t width, int64_t repeat,
                         tj_traffic *traffic)
{
    tj_access access = tj_shared_access(x, y, step_x, step_y, c->bytes, width, repeat);

    access.merges = width > 1 ? 2 : 0; /* lanes that read the same bytes halve the passes */
    tj_traffic_add(traffic, &access);
}

/* The tile of M: stored element by element, loaded by slices, a run at a time. */
static void count_tile(const scene *c, tj_counts *counts)
{
    const int32_t pitch = c->phase + TJ_SKINNY_PADDING, wide = tj_least(c->run, 16 / c->bytes);
    const int64_t reads = c->block_phases * c->s.tm * (c->s.k_thread / wide);

    if (c->view->m.layout == TJ_ROW_MAJOR)
        count_shared(c, c->phase, c->s.tm, 1, pitch, 1, c->block_phases, &counts->shared_store);
    else
        count_shared(c, c->s.tm, c->phase, pitch, 1, 1, c->block_phases, &counts->shared_store);
    if (c->n_rows)
        count_shared(c, c->s.lanes, c->s.slices, 0, c->run, wide, reads, &counts->shared_load);
    else
        count_shared(c, c->s.slices, c->s.lanes, c->run, 0, wide, reads, &counts->shared_load);
}

/* A thread stores its sums for the tree that adds up those of the slices. */
static void count_partial(const scene *c, int32_t pitch, tj_counts *counts)
{
    const int64_t tops = counts->blocks * (c->s.tm / c->rows_at_once);
    const int32_t wide = c->n_rows ? tj_least(c->s.vector, 16 / c->bytes) : 1;
    const int64_t stores = tops * c->rows_at_once * (c->s.tn / wide);

    if (c->n_rows)
        /* VECTOR neighbours of a thread; if they take several stores, those of the next lane begin VECTOR further on. */
        count_shared(c, c->s.lanes, c->s.slices, c->s.vector, pitch, wide, stores, &counts->shared_store);
    else
        count_shared(c, c->s.slices, c->s.lanes, pitch, 1, 1, stores, &counts->shared_store);
}

enum { LONG_PHASE = 64 }; /* elements of N in a thread's registers */

/*
 * Fitted to the registers of 1 540 configs for sm_90, with an error of 20 % on 3 023, because ptxas hoists loads as it likes:
 * the accumulators, a phase of N, and the thread's share of the next tile of M, which is scattered if runs of N go along its
 * rows. Bounds by `blocks` make ptxas hold one phase; with fewer registers it spills.
 */
static void estimate_registers(const tj_skinny_shape *s, bool n_row_major, int32_t blocks, tj_counts *counts)
{
    const int32_t words = counts->sum_bytes / 4, sums = words * s->tm * s->tn, phase = words * s->k_thread * s->tn;
    const int32_t share = words * (s->tm * s->k_thread + s->lanes - 1) / s->lanes;
    const int32_t wanted = n_row_major ? sums * 4 / 5 + phase * 3 / 4 + 4 * share + 58 : sums + phase * 3 / 2 + 70;
    const int32_t most = tj_guess_registers(counts, wanted, 20, sums + phase + 32, blocks, s->lanes * s->slices);

    /*
     * The next phase has no registers, so its loads wait for this phase. If elements are widened, a long phase of distant lines
     * is loaded in parts.
     */
    const bool in_parts = counts->n_element_bytes < counts->sum_bytes && s->lanes >= 4 && s->k_thread * s->tn >= LONG_PHASE;

    if (wanted > most || in_parts)
        counts->waits += counts->phases;
}

void tj_skinny_count(const tj_problem *view, const tj_config *config, tj_counts *counts)
{
    const tj_skinny_shape s = tj_skinny_shape_of(view, config);
    const int32_t threads = s.lanes * s.slices, splits = (int32_t)counts->splits;
    scene c = {.view = view, .s = s, .run = tj_skinny_run(view, &s), .bytes = counts->sum_bytes};
    int64_t phases;

    c.n_rows = view->n.layout == TJ_ROW_MAJOR;
    c.rows_at_once = tj_skinny_rows_at_once(&s, c.bytes);
    c.block_cols = s.lanes * s.tn;
    c.outputs = c.rows_at_once * c.block_cols;
    c.phase = s.slices * s.k_thread;
    phases = tj_ceil_div(view->k.extent, c.phase);
    c.block_phases = counts->blocks / splits * phases;
    counts->phase = (tj_phase_counts){.depth = c.phase,
                                      .loads = (int64_t)(s.tm + c.block_cols) * c.phase,
                                      .flop = (int64_t)2 * s.tm * c.block_cols * c.phase,
                                      .shared_stores = (int64_t)s.tm * c.phase,
                                      .shared_loads = (int64_t)threads * s.tm * s.k_thread};
    counts->phases = tj_split_share(phases, splits).most;
    counts->barriers = c.block_phases;
    counts->work[counts->pipe] = 2 * c.block_phases * threads * s.k_thread * s.tm * s.tn;
    /* Rows are multiplied one after the other: registers hold the elements of one row of M at a time. */
    counts->chain = counts->phases * s.k_thread * s.tm;
    counts->chain_fma = s.tn;
    /* The loads of the next phase overlap this phase, but the measured times show little of that. */
    counts->waits = counts->phases + 1;
    estimate_registers(&s, view->n.layout == TJ_ROW_MAJOR, tj_config_get(config, "blocks"), counts);
    if (phases > 0) {
        count_m(&c, counts->element_bytes, counts->col_blocks, &counts->load_m);
        count_n(&c, counts->n_element_bytes, counts->row_blocks, &counts->load_n);
        count_tile(&c, counts);
    }
    if (tj_widens_weights(view->m.type, view->n.type)) /* one subtraction each; the compiler may omit those beyond the edge */
        counts->sums += c.block_phases * c.phase * (tj_is_weights(view, TJ_MATRIX_M) ? s.tm : c.block_cols);
    if (tj_scales_along_k(view, TJ_MATRIX_N)) {
        counts->sums += c.block_phases * c.phase * c.block_cols;
        tj_scales_count_along_k(view, tj_ceil_div(counts->load_n.elements * tj_type_numbers(view->n.type), c.run),
                                &counts->load_scales);
    }
    count_partial(&c, c.outputs + !c.n_rows, counts);
    tj_slices_count(view, &(tj_slices){s.slices, c.rows_at_once, c.block_cols, s.tm, c.outputs + !c.n_rows}, counts);
    tj_pointers_count(view, NULL, counts);
}
