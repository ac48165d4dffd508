/* SPDX-License-Identifier: Apache-2.0 */
#include "scales.h"

#include <stdio.h>

#include "canonical.h"
#include "checked.h"
#include "lanes.h"
#include "operand_table.h"

enum { SCALE_BYTES = 4, SECTOR = 32 };

/* The scales of one operand. */
typedef struct scales {
    bool one, each;  /* of the whole sum: one for all, or one for each (block of) rows of M or columns of N; neither: none */
    int64_t count;   /* of one product */
    bool is_by_rows; /* one for each row of P, else for each column */
} scales;

static scales scales_of(const tj_problem *view, bool is_m)
{
    const tj_which of = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
    const bool each = tj_scales_sum_by_each(view, of);

    return (scales){tj_scales_sum_by_one(view, of), each, !each ? 1 : is_m ? view->j.extent : view->l.extent, is_m};
}

/* Print "Col", "Col / 128" or, for one scale of all, "". */
static void print_block(const char *other, int32_t rows, char text[TJ_TEMPLATE_NAME_BYTES])
{
    if (rows > 1)
        (void)snprintf(text, TJ_TEMPLATE_NAME_BYTES, "%s / %d", other, rows);
    else
        (void)snprintf(text, TJ_TEMPLATE_NAME_BYTES, "%s", rows == 1 ? other : "");
}

/* Print the index of a number: "line * ld + within"; each may be empty. */
static void print_index(const tj_operand_row *row, const char *line, const char *within, char *text, size_t bytes)
{
    const bool has_line = *line != '\0' && row->ld == TJ_ANY;
    const char *const plus = has_line && *within != '\0' ? " + " : "";

    if (has_line)
        (void)snprintf(text, bytes, "%s * ld_%s%s%s", line, row->name, plus, within);
    else
        (void)snprintf(text, bytes, "%s", *within != '\0' ? within : "0");
}

void tj_scales_print_read(const tj_problem *view, int index, const char *part, const char *other,
                          char text[TJ_TEMPLATE_VALUE_BYTES])
{
    const tj_scale *const scale = tj_scale_of(view, tj_scale_operand_of(index));
    const tj_operand_row row = tj_operand_row_of(view, TJ_SCALES + index);
    const bool by_rows = scale->layout == TJ_SCALES_ROW_BY_ROW;
    char block[TJ_TEMPLATE_NAME_BYTES], half[TJ_TEMPLATE_NAME_BYTES + 8], place[2 * TJ_TEMPLATE_NAME_BYTES];

    part = scale->k > 0 ? part : "";
    print_block(other, scale->rows, block);
    if (index >= TJ_WHOLES - TJ_SCALES || (*part == '\0' && *block == '\0')) {
        (void)snprintf(text, TJ_TEMPLATE_VALUE_BYTES, tj_type_is_pair((int32_t)row.type) ? "(*%s)[0]" : "*%s", row.name);
        return;
    }
    if (scale->layout == TJ_SCALES_IN_TILES) {
        (void)snprintf(text, TJ_TEMPLATE_VALUE_BYTES,
                       "%s[%s / 128 * ld_%s + %s / 4 * 512 + %s %% 32 * 16 + %s %% 128 / 32 * 4 + %s %% 4]", row.name, other,
                       row.name, part, other, other, part);
        return;
    }
    const char *const line = by_rows ? block : part, *const within = by_rows ? part : block;

    if (!tj_type_is_pair((int32_t)row.type)) {
        print_index(&row, line, within, place, sizeof place);
        (void)snprintf(text, TJ_TEMPLATE_VALUE_BYTES, "%s[%s]", row.name, place);
        return;
    }
    (void)snprintf(half, sizeof half, *within != '\0' ? "%s / 2" : "%s", within);
    print_index(&row, line, half, place, sizeof place);
    (void)snprintf(half, sizeof half, *within != '\0' ? "%s %% 2" : "0%s", within);
    (void)snprintf(text, TJ_TEMPLATE_VALUE_BYTES, "%s[%s][%s]", row.name, place, half);
}

/* Set how the scale of a column of N is read: one of its own, or of its block, that may have been read ahead, or that of all. */
static void set_col_scale(const tj_problem *view, tj_scales_read here, const char *name, const char *ahead, const char *col,
                          tj_template_params *fill)
{
    const bool is_block = tj_scale_of(view, TJ_MATRIX_N)->rows > 1;
    char other[TJ_TEMPLATE_NAME_BYTES], read[TJ_TEMPLATE_VALUE_BYTES];

    if (!scales_of(view, false).each) {
        tj_template_set(fill, name, here == TJ_SCALES_BY_ELEMENT ? "*scale_n" : "n_scale");
        return;
    }
    (void)snprintf(other, sizeof other, is_block ? "(%s)" : "%s", col);
    tj_scales_print_read(view, TJ_MATRIX_N, "", other, read);
    tj_template_set(fill, name, here == TJ_SCALES_AHEAD ? ahead : read);
}

/* Describe the scales of P_VECTOR neighbouring columns, and for pairs of columns that of the second. */
static void describe_vector(const tj_problem *view, tj_scales_read here, tj_template_params *fill)
{
    if (tj_epilogue_pairs(&view->epilogue))
        set_col_scale(view, here, "n_scale_of_vector", "col_scale[c + 2 * i]", "Col + 2 * i", fill);
    else
        set_col_scale(view, here, "n_scale_of_vector", "col_scale[c + i]", "Col + i", fill);
    set_col_scale(view, here, "n_scale_beside", "col_scale[c + 1]", "Col + 1", fill);
    set_col_scale(view, here, "n_scale_beside_of_vector", "col_scale[c + 2 * i + 1]", "Col + 2 * i + 1", fill);
}

/* Print the scales of all of M, and of all of N, that a thread reads before its elements. */
static void print_ones(bool of_m, bool of_n, tj_template_params *fill)
{
    tj_text out = TJ_TEXT_INIT(256);

    if (of_m)
        tj_text_append(&out, "// One scale for all of M: a thread reads it once.\nconst float m_scale = *scale_m;\n");
    if (of_n)
        tj_text_append(&out, "// One scale for all of N: a thread reads it once.\nconst float n_scale = *scale_n;\n");
    tj_template_take_lines(fill, "scale_ahead", &out);
}

void tj_scales_describe(const tj_problem *view, tj_scales_read how, int32_t splits, tj_template_params *fill)
{
    const tj_scales_read here = splits > 1 ? TJ_SCALES_BY_ELEMENT : how; /* the last kernel has one element per thread */

    bool one[2], each[2]; /* of N, of M, is read ahead */
    char read[TJ_TEMPLATE_VALUE_BYTES];

    for (int is_m = 0; is_m < 2; is_m++) {
        const scales s = scales_of(view, is_m);

        each[is_m] = s.each && here == TJ_SCALES_AHEAD;
        one[is_m] = s.one && here != TJ_SCALES_BY_ELEMENT;
        tj_template_set_flag(fill, is_m ? "scales_rows_ahead" : "scales_cols_ahead", each[is_m]);
    }
    tj_scales_print_read(view, TJ_MATRIX_M, "", "Row", read);
    if (tj_is_gathered(view) && scales_of(view, true).each)
        (void)snprintf(read, sizeof read, "gathered_scale(scale_m, m_index, Row, m_rows)");
    tj_template_set(fill, "m_scale_of", read);
    tj_template_set(fill, "m_scale", each[1] ? "row_scale[r]" : one[1] ? "m_scale" : read);
    tj_scales_print_read(view, TJ_MATRIX_N, "", "Col", read);
    tj_template_set(fill, "n_scale_of", read);
    tj_template_set(fill, "n_scale", each[0] ? "col_scale[c]" : one[0] ? "n_scale" : read);
    (void)snprintf(read, sizeof read, "const %s",
                   tj_is_scaled(view, TJ_MATRIX_M) ? tj_facts_of(tj_scale_of(view, TJ_MATRIX_M)->type)->cuda : "float");
    tj_template_set(fill, "m_scale_t", read);
    print_ones(one[1], one[0], fill);
    tj_template_set(fill, "scales_ahead", one[1] || one[0] || each[1] || each[0] ? "parts/scales.cuh" : "");
    describe_vector(view, here, fill);
}

/* ---- counts ------------------------------------------------------------------------------------------------------- */

/* Each of `threads` threads, in whole warps, reads the one scale of M or N. */
static void count_one(int64_t threads, tj_traffic *traffic)
{
    tj_access access = {.threads_x = TJ_WARP, .threads_y = 1, .element_bytes = SCALE_BYTES, .repeat = 1};

    access.axis[0] = tj_tile_axis(threads, TJ_WARP, 0);
    access.axis[1] = (tj_axis){1, 0, 1, 1};
    tj_traffic_add(traffic, &access);
}

void tj_scales_count_one(const tj_problem *view, int64_t threads, tj_traffic *traffic)
{
    for (int is_m = 0; is_m < 2; is_m++)
        if (scales_of(view, is_m).one)
            count_one(threads, traffic);
}

void tj_scales_count_tiles(const tj_problem *view, int32_t x, int32_t y, tj_scales_read how, tj_counts *counts)
{
    for (int is_m = 0; is_m < 2; is_m++) {
        const scales s = scales_of(view, is_m);
        const int64_t step = s.each ? SCALE_BYTES : 0;
        tj_access access =
            tj_tiled_access(x, y, view->l.extent, view->j.extent, s.is_by_rows ? 0 : step, s.is_by_rows ? step : 0);

        access.element_bytes = SCALE_BYTES;
        access.axis[2] = tj_batch_axis(view->batch, s.count, SCALE_BYTES);
        if (s.one && how != TJ_SCALES_BY_ELEMENT)
            count_one(counts->blocks * counts->threads_per_block, &counts->load_scales);
        else if (s.each || s.one)
            tj_traffic_add(&counts->load_scales, &access);
    }
}

void tj_scales_count_along_k(const tj_problem *view, int64_t loads, tj_traffic *traffic)
{
    if (!tj_scales_along_k(view, TJ_MATRIX_M) && !tj_scales_along_k(view, TJ_MATRIX_N))
        return;
    traffic->elements += loads;
    traffic->bytes += loads * SCALE_BYTES;
    traffic->requests += tj_ceil_div(loads, TJ_WARP);
    traffic->wavefronts += tj_ceil_div(loads, TJ_WARP);
    traffic->sectors += tj_ceil_div(loads * SCALE_BYTES, SECTOR);
    traffic->merged += tj_ceil_div(loads, TJ_WARP);
    traffic->is_estimate = 1;
}

/* The warp whose first thread has element number `first` of the `elements` of P. */
static tj_lanes warp_of(const tj_problem *view, const scales *s, int64_t first, int64_t elements)
{
    const bool by_rows = view->p.layout == TJ_ROW_MAJOR;
    const int64_t width = by_rows ? view->l.extent : view->j.extent;
    tj_lanes lanes = {.count = (int)(elements - first < TJ_WARP ? elements - first : TJ_WARP), .element_bytes = SCALE_BYTES};

    for (int i = 0; i < lanes.count; i++) {
        const int64_t element = first + i, place = s->is_by_rows == by_rows ? element / width : element % width;

        lanes.lane[i] = i;
        lanes.address[i] = s->each ? place * SCALE_BYTES : 0;
    }
    return lanes;
}

void tj_scales_count_in_order(const tj_problem *view, tj_traffic *traffic)
{
    const int64_t elements = view->j.extent * view->l.extent, warps = tj_ceil_div(elements, TJ_WARP);

    for (int is_m = 0; is_m < 2; is_m++) {
        const scales s = scales_of(view, is_m);
        const tj_places products = tj_places_of(0, view->batch, s.count * SCALE_BYTES);

        if (!s.each && !s.one)
            continue;
        for (int64_t warp = 0; warp < (traffic->is_estimate ? 1 : warps); warp++) {
            const tj_lanes lanes = warp_of(view, &s, warp * TJ_WARP, elements);

            tj_lanes_add_at(traffic, &lanes, &products, traffic->is_estimate ? warps : 1); /* first warp for all */
        }
    }
}

/* `side` maps lanes to scales from `first` on, number e of each lane's run; every access happens `side->again` times. */
static void count_run(const tj_problem *view, const scales *s, const tj_scales_side *side, const tj_scales_side *other,
                      int64_t first, int64_t extent, tj_traffic *traffic)
{
    for (int32_t e = 0; e < side->run && e < extent; e++) {
        const int64_t lanes = tj_ceil_div(extent - e, side->run);
        const int32_t x = s->is_by_rows ? other->lanes : side->lanes, y = s->is_by_rows ? side->lanes : other->lanes;
        const int64_t step = (int64_t)side->run * SCALE_BYTES, again = side->again;
        tj_access access =
            s->is_by_rows ? tj_tiled_access(x, y, again * x, lanes, 0, step) : tj_tiled_access(x, y, lanes, again * y, step, 0);

        access.base = (first + e) * SCALE_BYTES;
        access.element_bytes = SCALE_BYTES;
        access.axis[2] = tj_batch_axis(view->batch, s->count, SCALE_BYTES);
        tj_traffic_add(traffic, &access);
    }
}

void tj_scales_count_ahead(const tj_problem *view, const tj_scales_side *rows, const tj_scales_side *cols, int64_t threads,
                           tj_traffic *traffic)
{
    for (int is_m = 0; is_m < 2; is_m++) {
        const scales s = scales_of(view, is_m);
        const tj_scales_side *const side = is_m ? rows : cols, *const other = is_m ? cols : rows;
        const int64_t whole = side->moves ? s.count / side->tile * side->tile : s.count;

        if (s.one)
            count_one(threads, traffic);
        if (!s.each)
            continue;
        count_run(view, &s, side, other, 0, whole, traffic);
        if (whole < s.count)
            count_run(view, &s, side, other, s.count - side->tile, side->tile, traffic);
    }
}
