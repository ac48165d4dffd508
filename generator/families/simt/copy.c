/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy: how the threads of a block divide the copies of a tile, how many elements one copy takes, and where they lie in shared
 * memory.
 */
#include "form.h"

#include "parts/access.h"
#include "parts/copy.h"

enum { QUAD = 4, WARP = 32, LONG_RUN = 16 };

/* Do the threads divide a tile of `across` elements by bk steps evenly, `elements` at a time? */
static bool copies_evenly(const tj_simt_shape *s, int32_t elements, int32_t line, int32_t across)
{
    return line > 0 && across % line == 0 && elements % line == 0 && s->bk % (elements / line) == 0;
}

/* As copies_evenly, with `run` threads that copy neighbours along k. */
static bool runs_evenly(const tj_simt_shape *s, int32_t run, int32_t width, int32_t across)
{
    const int32_t lines = s->threads / run < across ? s->threads / run : across;

    return copies_evenly(s, s->threads * width, lines, across) && s->threads / lines % run == 0;
}

/*
 * Return the number of threads that copy neighbours along k. 8 threads store without bank conflicts, which matters where slices
 * share a tile; with asynchronous copies, 16 make better use of a line of global memory. Copies through registers leave gaps in
 * the tile, which keep 8 groups of lanes apart; a short phase takes fewer threads. 0: none divides the tile evenly.
 */
static int32_t run_of(const tj_simt_shape *s, int32_t width, int32_t across)
{
    const bool is_async = s->copy == TJ_COPY_ASYNC;
    const int32_t longest = is_async && s->slices == 1 ? LONG_RUN : TJ_SIMT_RUN, shortest = is_async ? TJ_SIMT_RUN : 1;

    for (int32_t run = longest; run >= shortest; run /= 2)
        if (runs_evenly(s, run, width, across))
            return run;
    return 0;
}

/*
 * Return the elements of a row that neighbouring threads copy. Narrow copies are many: let a warp take a short piece of a row,
 * so that its next copies are reachable from one address.
 */
static int32_t line_of(const tj_simt_shape *s, int32_t width, int32_t across)
{
    const int32_t elements = s->threads * width, most = elements < across ? elements : across, warp = WARP * width;

    if (width < QUAD && copies_evenly(s, elements, warp, across))
        return warp;
    if (copies_evenly(s, elements, most, across))
        return most;
    for (int32_t line = warp; line >= width; line /= 2)
        if (copies_evenly(s, elements, line, across))
            return line;
    return 0;
}

/*
 * A lane with more than 16 bytes of a row stores them in two parts, and only gaps after every 8 * VEC elements keep the lanes
 * apart. The template relies on a thread's rows, 4 * VEC apart, having the same distance in every warp.
 */
static bool rows_take_gaps(const tj_simt_shape *s, bool is_m, int32_t vec)
{
    const int32_t unbroken = 8 * vec;

    return is_m ? s->bm % unbroken == 0 && (s->tm == vec || TJ_SIMT_LANE_ROWS * s->tm % unbroken == 0) : s->bn % unbroken == 0;
}

static int32_t skew_of(const tj_simt_copy *c, int32_t vec)
{
    /* `lanes` lanes fill the banks: `run` groups, whose lanes store to neighbouring places. */
    const int32_t lanes = WARP * vec / QUAD;

    if (!c->along_k)
        return c->width > vec ? vec : 0;
    return c->run <= 1 ? 0 : lanes / c->run > vec ? lanes / c->run : vec;
}

static void share(const tj_simt_shape *s, int32_t width, tj_simt_copy *c)
{
    c->width = width;
    c->run = c->along_k ? run_of(s, width, c->tile) : 0;
    c->line = c->along_k ? 0 : line_of(s, width, c->tile);
    c->goes = c->run > 0 || c->line > 0 ? c->tile * s->bk / (s->threads * width) : 0;
}

bool tj_simt_keeps_lines(const tj_problem *view, const tj_simt_shape *s)
{
    const int32_t vec = tj_simt_vec(view);
    tj_simt_copy m = {.along_k = true, .tile = s->bm}, n = {.along_k = true, .tile = s->bn};

    if (!tj_simt_is_small(s) || s->copy != TJ_COPY_ASYNC || s->slices != 1 || s->start != TJ_SIMT_TOGETHER || s->vector < vec ||
        tj_is_complex(view) || tj_epilogue_pairs(&view->epilogue) || view->m.layout != TJ_ROW_MAJOR ||
        view->n.layout != TJ_COL_MAJOR || tj_access_widest(view, TJ_MATRIX_M, vec) != vec ||
        tj_access_widest(view, TJ_MATRIX_N, vec) != vec)
        return false;
    share(s, vec, &m);
    share(s, vec, &n);
    return m.goes > 0 && n.goes > 0;
}

/* Return the widest copy that alignment allows. An asynchronous copy cannot transpose. */
static int32_t widest(const tj_problem *view, const tj_simt_shape *s, bool is_m, bool along_k)
{
    const int32_t most = 16 / tj_facts_of(view->m.type)->bytes, vec = tj_simt_vec(view);
    int32_t width;

    if (s->copy == TJ_COPY_ASYNC && along_k)
        return tj_simt_keeps_lines(view, s) ? vec : 1;
    width = tj_access_widest(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N, s->vector < most ? s->vector : most);
    return width > vec && !along_k && !rows_take_gaps(s, is_m, vec) ? vec : width;
}

tj_simt_copy tj_simt_copy_of(const tj_problem *view, const tj_simt_shape *s, bool is_m)
{
    tj_simt_copy c = {.along_k = is_m ? view->m.layout == TJ_ROW_MAJOR : view->n.layout == TJ_COL_MAJOR,
                      .tile = is_m ? s->bm : s->bn};

    share(s, widest(view, s, is_m, c.along_k), &c);
    while (c.goes == 0 && c.width > 1)
        share(s, c.width / 2, &c);
    c.skew = s->copy == TJ_COPY_REGISTERS ? skew_of(&c, tj_simt_vec(view)) : 0;
    return c;
}

/* Return the places of a tile that is copied through registers: its elements and the gaps. */
static int64_t tile_elements(const tj_simt_shape *s, const tj_simt_copy *c, int32_t vec)
{
    return (int64_t)s->bk * c->tile + (c->along_k ? s->bk / c->width : s->bk * (c->tile / (8 * vec))) * c->skew;
}

int64_t tj_simt_shared_bytes(const tj_problem *view, const tj_simt_shape *s)
{
    const int32_t bytes = tj_sum_bytes(view), vec = tj_simt_vec(view);
    const tj_simt_copy m = tj_simt_copy_of(view, s, true), n = tj_simt_copy_of(view, s, false);
    const int64_t lines = (int64_t)(s->bm + s->bn) * (s->bk + vec) * bytes,
                  steps = (int64_t)s->bk * (s->bm + (m.along_k ? vec : 0) + s->bn + (n.along_k ? vec : 0)) * bytes,
                  phase = tj_simt_keeps_lines(view, s) ? lines : steps;
    const int64_t sums = s->slices > 1 ? s->bm * s->bn * bytes : 0;

    if (s->copy == TJ_COPY_REGISTERS)
        return 2 * bytes * (tile_elements(s, &m, vec) + tile_elements(s, &n, vec));
    return s->stages * phase > sums ? s->stages * phase : sums;
}

/* ---- P ------------------------------------------------------------------------------------------------------------ */

int32_t tj_simt_p_width(const tj_problem *view, const tj_simt_shape *s)
{
    return tj_simt_col_vec(view, s) / tj_access_sums(view, s->splits);
}

bool tj_simt_has_vector_p(const tj_problem *view, const tj_simt_shape *s)
{
    const int32_t width = tj_simt_p_width(view, s);

    return width > 1 && s->vector >= width &&
           (s->splits > 1 ? tj_access_fits_workspace(view, width) : tj_access_fits_output(view, width));
}

int32_t tj_simt_col_run(const tj_problem *view, const tj_simt_shape *s)
{
    const bool may_spread = s->copy == TJ_COPY_ASYNC && view->n.layout == TJ_ROW_MAJOR && s->tn >= tj_simt_vec(view) &&
                            tj_access_sums(view, s->splits) == 1; /* the columns of a pair belong to one thread */

    return may_spread && !tj_simt_has_vector_p(view, s) ? tj_simt_copy_of(view, s, false).width : tj_simt_col_vec(view, s);
}
