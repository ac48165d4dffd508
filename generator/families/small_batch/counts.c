/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts: the traffic and work of a launch of family small_batch.
 *
 * A warp may hold lanes of several teams, each with a product of its own, so every access is counted lane by lane: a function
 * returns the address of a team's thread in a step of a loop of the template. Names are those of the template.
 */
#include "form.h"

#include "checked.h"
#include "parts/copy.h"
#include "parts/lanes.h"
#include "parts/registers.h"

enum { POINTER_BYTES = 8, SCALE_BYTES = 4, SM_THREADS = 2048, COPIES_TOGETHER = 8, STEPS_LOOKED_AT = 3 };

typedef struct scene {
    const tj_problem *view;
    tj_small_batch_shape s;
    tj_small_batch_widths w;
} scene;

/* One access of the template. */
typedef struct access {
    /*
     * Return the address of a thread of the team in a step, in bytes from the team's product; negative: the thread is inactive.
     */
    int64_t (*at)(const scene *c, const struct access *a, int32_t thread, int32_t step);
    int32_t steps, element_bytes, width;
    bool is_shared;
    int64_t stride; /* bytes from one team to the next */
    /* For the loops that copy and fill: lines of `line` elements without the first `skip`, `pitch` elements apart. */
    int32_t lines, line, skip, pitch;
    int64_t base; /* bytes */
} access;

static int64_t positive(int64_t stride)
{
    return stride > 0 ? stride : 0;
}

/* ---- warps -------------------------------------------------------------------------------------------------------- */

/*
 * Warps with the same relative addresses, and the places where they begin. In shared memory the place does not matter: all
 * banks are alike.
 */
typedef struct pattern {
    tj_lanes lanes; /* relative to the first lane */
    tj_places begin;
} pattern;

/* Count `blocks` blocks, `stride` bytes apart. */
static void count_pattern(const pattern *p, int64_t first, int64_t stride, int64_t blocks, tj_traffic *traffic)
{
    const tj_places apart = tj_places_of(first, blocks, stride), begin = tj_places_combine(&p->begin, &apart);

    tj_lanes_add_at(traffic, &p->lanes, &begin, 1);
}

/* Fill in the lanes of a warp in one step, and return the address of the first. */
static int64_t lanes_of(const scene *c, const access *a, int32_t warp, int32_t threads, int32_t step, tj_lanes *lanes)
{
    int64_t begin = 0;

    *lanes = (tj_lanes){.element_bytes = a->element_bytes, .width = a->width, .is_shared = a->is_shared};
    for (int32_t t = warp; t < warp + TJ_WARP && t < threads; t++) {
        const int64_t at = a->at(c, a, t % c->s.team, step), address = t / c->s.team * a->stride + at;

        if (at < 0)
            continue;
        if (lanes->count == 0)
            begin = address;
        lanes->lane[lanes->count] = t - warp;
        lanes->address[lanes->count++] = address - begin;
    }
    return begin;
}

/* Count a warp of these blocks in all steps, most of which are alike. */
static void count_warp(const scene *c, const access *a, int32_t warp, int32_t threads, int64_t first, int64_t blocks,
                       tj_traffic *traffic)
{
    const int64_t stride = a->is_shared ? 0 : c->s.products * a->stride;
    pattern seen = {.lanes = {.count = 0}};

    for (int32_t step = 0; step < a->steps; step++) {
        tj_lanes lanes;
        const int64_t begin = lanes_of(c, a, warp, threads, step, &lanes);

        if (!tj_lanes_are_alike(&lanes, &seen.lanes)) {
            count_pattern(&seen, first, stride, blocks, traffic);
            seen = (pattern){.lanes = lanes};
        }
        seen.begin.count[a->is_shared ? 0 : tj_place_of(begin)]++;
    }
    count_pattern(&seen, first, stride, blocks, traffic);
}

/* Count blocks with `teams` active teams. */
static void count_teams(const scene *c, const access *a, int32_t teams, int64_t first, int64_t blocks, tj_traffic *traffic)
{
    for (int32_t warp = 0; warp < teams * c->s.team; warp += TJ_WARP)
        count_warp(c, a, warp, teams * c->s.team, first, blocks, traffic);
}

/* Count a warp in a few steps, which stand for all steps of `warps` warps. */
static void estimate_warps(const scene *c, const access *a, int32_t warp, int64_t warps, tj_traffic *traffic)
{
    const int32_t threads = c->s.products * c->s.team, looked_at = a->steps < STEPS_LOOKED_AT ? a->steps : STEPS_LOOKED_AT;

    for (int32_t i = 0; i < looked_at; i++) {
        const int32_t step = (int32_t)((int64_t)i * a->steps / looked_at);
        tj_lanes lanes;
        const int64_t begin = lanes_of(c, a, warp, threads, step, &lanes);

        tj_lanes_add(traffic, &lanes, begin, warps * a->steps / looked_at);
    }
}

/* The first warp stands for all full warps. */
static void estimate(const scene *c, const access *a, tj_traffic *traffic)
{
    const int32_t threads = c->s.products * c->s.team, full = threads / TJ_WARP;
    const int64_t blocks = tj_ceil_div(c->view->batch, c->s.products);

    if (full > 0)
        estimate_warps(c, a, 0, full * blocks, traffic);
    if (threads % TJ_WARP != 0)
        estimate_warps(c, a, full * TJ_WARP, blocks, traffic);
}

static void count(const scene *c, const access *a, tj_traffic *traffic)
{
    const int64_t whole = c->view->batch / c->s.products;
    const int32_t rest = (int32_t)(c->view->batch % c->s.products);

    if (traffic->is_estimate) {
        estimate(c, a, traffic);
        return;
    }
    if (whole > 0)
        count_teams(c, a, c->s.products, 0, whole, traffic);
    if (rest > 0)
        count_teams(c, a, rest, whole, 1, traffic);
}

/* ---- bring_operands ----------------------------------------------------------------------------------------------- */

/* Return the address of one element after the other, line after line. */
static int64_t in_lines(const scene *c, const access *a, int32_t thread, int32_t step)
{
    const int32_t wide = (a->line - a->skip) / a->width, e = step * c->s.team + thread;

    if (e >= a->lines * wide)
        return -1;
    return a->base + ((int64_t)(e / wide) * a->pitch + a->skip + e % wide * a->width) * a->element_bytes;
}

static access lines_of(const scene *c, int32_t lines, int32_t line, int32_t skip, int64_t pitch, int32_t width, int32_t bytes)
{
    return (access){.at = in_lines,
                    .steps = (int32_t)tj_ceil_div((int64_t)lines * ((line - skip) / width), c->s.team),
                    .element_bytes = bytes,
                    .width = width,
                    .lines = lines,
                    .line = line,
                    .skip = skip,
                    .pitch = (int32_t)pitch};
}

/*
 * Count one matrix: load it from global memory, store it to shared memory unless the copy bypasses registers, and store zeros
 * after k.
 */
static void count_operand(const scene *c, bool is_m, bool is_async, tj_counts *counts)
{
    const tj_problem *t = c->view;
    const bool along_k = is_m ? t->m.layout == TJ_ROW_MAJOR : t->n.layout == TJ_COL_MAJOR;
    const int32_t across = (int32_t)(is_m ? t->j.extent : t->l.extent), k = (int32_t)t->k.extent;
    const int32_t lines = along_k ? across : k, line = along_k ? k : across, pitch = is_m ? c->s.m_pitch : c->s.n_pitch;
    const int64_t base = is_m ? 0 : c->s.m_bytes;
    access a = lines_of(c, lines, line, 0, is_m ? t->m.ld : t->n.ld, is_m ? c->w.m : c->w.n, counts->element_bytes);

    a.stride = positive(is_m ? t->m.stride : t->n.stride) * counts->element_bytes;
    count(c, &a, is_m ? &counts->load_m : &counts->load_n);
    if (!is_async) {
        a = lines_of(c, lines, line, 0, pitch, a.width, counts->sum_bytes);
        a.is_shared = true;
        a.stride = c->s.bytes;
        a.base = base;
        count(c, &a, &counts->shared_store);
    }
    if (c->s.k_padded == k)
        return;
    a = along_k ? lines_of(c, across, c->s.k_padded, k, pitch, 1, counts->sum_bytes)
                : lines_of(c, c->s.k_padded - k, across, 0, pitch, 1, counts->sum_bytes);
    a.is_shared = true;
    a.stride = c->s.bytes;
    a.base = base + (along_k ? 0 : (int64_t)k * pitch * counts->sum_bytes);
    count(c, &a, &counts->shared_store);
}

/* ---- the product -------------------------------------------------------------------------------------------------- */

static int32_t row_of(const scene *c, int32_t thread, int32_t r)
{
    const int32_t rows = c->w.rows;

    return r / rows * (c->s.team_rows * rows) + thread / c->s.team_cols * rows + r % rows;
}

static int32_t col_of(const scene *c, int32_t thread, int32_t i)
{
    const int32_t cols = c->w.cols;

    return i / cols * (c->s.team_cols * cols) + thread % c->s.team_cols * cols + i % cols;
}

/* Elements beyond the edge are read from the last group inside. */
static int32_t within(int32_t at, int64_t extent, int32_t i, int32_t together)
{
    return at < extent ? at : (int32_t)extent - together + i % together;
}

/* Steps of a turn: rows of M or, if lines lie along j, groups of rows in each line. */
static int64_t m_read(const scene *c, const access *a, int32_t thread, int32_t step)
{
    const int32_t groups = c->s.tm / a->line, r = step % groups * a->line, line = step / groups;
    const int32_t row = within(row_of(c, thread, r), c->view->j.extent, r, c->w.rows);

    return a->base +
           (c->view->m.layout == TJ_ROW_MAJOR ? (int64_t)row * a->pitch : (int64_t)line * a->pitch + row) * a->element_bytes;
}

static int64_t n_read(const scene *c, const access *a, int32_t thread, int32_t step)
{
    const int32_t groups = c->s.tn / a->line, i = step % groups * a->line, line = step / groups;
    const int32_t col = within(col_of(c, thread, i), c->view->l.extent, i, c->w.cols);

    return a->base +
           (c->view->n.layout == TJ_COL_MAJOR ? (int64_t)col * a->pitch : (int64_t)line * a->pitch + col) * a->element_bytes;
}

/* Count one turn of the loop over k, VEC steps. All turns are alike, each VEC elements or lines further on. */
static void count_turn(const scene *c, tj_counts *counts)
{
    const bool m_along_k = c->view->m.layout == TJ_ROW_MAJOR, n_along_k = c->view->n.layout == TJ_COL_MAJOR;
    const int64_t turns = c->s.k_padded / c->s.vec;
    tj_traffic turn = {.is_estimate = counts->shared_load.is_estimate};
    access a = {
        .at = m_read, .element_bytes = counts->sum_bytes, .is_shared = true, .stride = c->s.bytes, .pitch = c->s.m_pitch};

    a.line = m_along_k ? 1 : c->w.rows;
    a.width = m_along_k ? c->s.vec : c->w.rows;
    a.steps = c->s.tm / a.line * (m_along_k ? 1 : c->s.vec);
    count(c, &a, &turn);
    a.at = n_read;
    a.base = c->s.m_bytes;
    a.pitch = c->s.n_pitch;
    a.line = n_along_k ? 1 : c->w.cols;
    a.width = n_along_k ? c->s.vec : c->w.cols;
    a.steps = c->s.tn / a.line * (n_along_k ? 1 : c->s.vec);
    count(c, &a, &turn);
    counts->shared_load.elements += turns * turn.elements;
    counts->shared_load.bytes += turns * turn.bytes;
    counts->shared_load.requests += turns * turn.requests;
    counts->shared_load.wavefronts += turns * turn.wavefronts;
    counts->shared_load.merged += turns * turn.merged;
}

/* ---- P and C ------------------------------------------------------------------------------------------------------ */

static int64_t output_at(const scene *c, const access *a, int32_t thread, int32_t step)
{
    const int32_t groups = c->s.tn / a->width;
    const int32_t row = row_of(c, thread, step / groups), col = col_of(c, thread, step % groups * a->width);

    if (row >= c->view->j.extent || col >= c->view->l.extent)
        return -1;
    return ((int64_t)row * a->pitch + col) * a->element_bytes;
}

static void count_output(const scene *c, int64_t ld, int64_t stride, tj_traffic *traffic)
{
    const int32_t bytes = tj_facts_of(c->view->p.type)->bytes;
    const access a = {.at = output_at,
                      .steps = c->s.tm * (c->s.tn / c->w.p),
                      .element_bytes = bytes,
                      .width = c->w.p,
                      .stride = positive(stride) * bytes,
                      .pitch = (int32_t)ld};

    count(c, &a, traffic);
}

static int64_t row_scale_at(const scene *c, const access *a, int32_t thread, int32_t step)
{
    const int32_t row = row_of(c, thread, step);

    return row < c->view->j.extent ? (int64_t)row * a->element_bytes : -1;
}

static int64_t col_scale_at(const scene *c, const access *a, int32_t thread, int32_t step)
{
    const int32_t col = col_of(c, thread, step);

    return col < c->view->l.extent ? (int64_t)col * a->element_bytes : -1;
}

/* All threads of a team read the same. */
static int64_t of_team(const scene *c, const access *a, int32_t thread, int32_t step)
{
    (void)c, (void)a, (void)thread, (void)step;
    return 0;
}

/* Count the scales of a thread's rows or columns, each once, or a single scale. */
static void count_scales(const scene *c, bool is_m, tj_traffic *traffic)
{
    const tj_which of = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
    const int64_t extent = is_m ? c->view->j.extent : c->view->l.extent;
    access a = {.at = of_team, .steps = 1, .element_bytes = SCALE_BYTES, .width = 1, .stride = SCALE_BYTES};

    if (tj_scales_sum_by_each(c->view, of)) {
        a.at = is_m ? row_scale_at : col_scale_at;
        a.steps = is_m ? c->s.tm : c->s.tn;
        a.stride = extent * SCALE_BYTES;
    }
    if (tj_is_scaled(c->view, of))
        count(c, &a, traffic);
}

/* ---- pointers ----------------------------------------------------------------------------------------------------- */

/* With arrays of pointers, each thread of a team reads the pointer of its product. */
static void count_pointers(const scene *c, const tj_problem *t, tj_counts *counts)
{
    const int64_t stride[] = {t->m.stride, t->n.stride, t->p.stride, t->epilogue.has_beta ? t->c.stride : TJ_TIGHT};
    const access a = {.at = of_team, .steps = 1, .element_bytes = POINTER_BYTES, .width = 1, .stride = POINTER_BYTES};

    for (size_t i = 0; i < sizeof stride / sizeof stride[0]; i++)
        if (tj_stride_is_pointers(stride[i]))
            count(c, &a, &counts->load_pointers);
    counts->waits += tj_stride_is_pointers(t->m.stride) || tj_stride_is_pointers(t->n.stride);
}

/* ---- all counts --------------------------------------------------------------------------------------------------- */

/*
 * Fitted to the registers of 90 configs for sm_90, with an error of 10 % on 1 254. A bound by `blocks` makes ptxas spill the
 * excess.
 */
static void estimate_registers(const tj_small_batch_shape *s, int32_t blocks, tj_counts *counts)
{
    const int32_t threads = s->products * s->team, slack = 8;
    const int32_t wanted = 48 + counts->sum_bytes / 4 * s->tm * s->tn * 5 / 4;
    /* ptxas ignores a bound of more blocks than an SM has threads for. */
    const int32_t bound = blocks * threads <= SM_THREADS ? blocks : SM_THREADS / threads;

    (void)tj_guess_registers(counts, wanted, 10, wanted - slack, bound, threads);
}

/* The loads of an unrolled turn are in flight together. */
static int64_t waits_of(const scene *c)
{
    const int64_t m = c->view->j.extent * c->view->k.extent / c->w.m, n = c->view->k.extent * c->view->l.extent / c->w.n;

    return tj_ceil_div(m, (int64_t)COPIES_TOGETHER * c->s.team) + tj_ceil_div(n, (int64_t)COPIES_TOGETHER * c->s.team);
}

void tj_small_batch_count(const tj_problem *view, const tj_config *config, tj_counts *counts)
{
    const tj_problem strided = tj_problem_strided(view); /* arrays of pointers count as strided matrices */
    const scene c = {&strided, tj_small_batch_shape_of(view, config), tj_small_batch_widths_of(view, config)};
    const tj_small_batch_shape *s = &c.s;
    const int64_t elements = (view->j.extent + view->l.extent) * view->k.extent * s->products;
    const bool is_async = tj_config_get(config, "copy") == TJ_COPY_ASYNC;

    counts->blocks = tj_ceil_div(view->batch, s->products);
    counts->phases = 1;
    counts->phase = (tj_phase_counts){.depth = view->k.extent,
                                      .loads = elements,
                                      .flop = 2 * view->j.extent * view->k.extent * view->l.extent * s->products,
                                      .shared_stores = is_async ? 0 : elements,
                                      .shared_loads = (int64_t)s->products * s->team * s->k_padded * (s->tm + s->tn)};
    counts->barriers = tj_small_batch_in_warp(s) ? 0 : counts->blocks;
    counts->work[counts->pipe] = 2 * view->batch * s->team * s->k_padded * s->tm * s->tn;
    counts->chain = s->k_padded;
    counts->chain_fma = s->tm * s->tn;
    counts->waits = is_async ? 1 : waits_of(&c);
    estimate_registers(s, tj_config_get(config, "blocks"), counts);
    count_operand(&c, true, is_async, counts);
    count_operand(&c, false, is_async, counts);
    if (is_async) {
        counts->async_bytes = counts->load_m.bytes + counts->load_n.bytes;
        counts->work[TJ_PIPE_SHARED] =
            (counts->load_m.requests * c.w.m + counts->load_n.requests * c.w.n) * counts->sum_bytes / 4;
    }
    count_turn(&c, counts);
    count_pointers(&c, view, counts);
    count_output(&c, view->p.ld, strided.p.stride, &counts->store_p);
    if (view->epilogue.has_beta)
        count_output(&c, view->c.ld, strided.c.stride, &counts->load_c);
    count_scales(&c, true, &counts->load_scales);
    count_scales(&c, false, &counts->load_scales);
}
