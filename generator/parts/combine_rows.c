/* SPDX-License-Identifier: Apache-2.0 */
#include "combine_rows.h"

#include <stdio.h>

#include "steps.h"
#include "traffic.h"
#include "tree.h"

/* A thread has COLS columns, and loads VECTOR_BYTES of neighbours at once, as many as divide a row. */
enum { THREADS = 128, COLS = 8, VECTOR_BYTES = 8, LINE_BYTES = 160 };

/* ---- source ------------------------------------------------------------------------------------------------------- */

/* Print the leading dimension of the caller's P or C: a number, or the parameter's name. */
static void print_ld(const tj_problem *problem, tj_which which, char value[TJ_TEMPLATE_VALUE_BYTES])
{
    const int64_t ld = tj_problem_matrix(problem, which)->ld;

    if (ld == TJ_ANY)
        (void)snprintf(value, TJ_TEMPLATE_VALUE_BYTES, "ld_combined_%c", "mnpc"[which]);
    else
        (void)snprintf(value, TJ_TEMPLATE_VALUE_BYTES, "%lldLL", (long long)ld);
}

static void print_c(const tj_problem *problem, tj_template_params *fill)
{
    tj_text out = TJ_TEXT_INIT(4 * LINE_BYTES);
    char ld[TJ_TEMPLATE_VALUE_BYTES];

    print_ld(problem, TJ_MATRIX_C, ld);
    if (problem->epilogue.has_beta)
        tj_text_print(&out,
                      "if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet\n"
                      "    sum[load][v] += beta * static_cast<combined_t>(C[Row * %s + Col + v]);\n",
                      ld);
    tj_template_take_lines(fill, "adds_c", &out);
}

static void describe_source(const tj_problem *problem, tj_template_params *fill)
{
    const tj_problem stored = tj_problem_unfinished(problem);
    char ld[TJ_TEMPLATE_VALUE_BYTES], is_row[TJ_TEMPLATE_VALUE_BYTES] = "from >= 0 && from < W_ROWS";
    int32_t vector = VECTOR_BYTES / tj_facts_of(problem->p.type)->bytes;

    while (tj_problem_p_cols(problem) % vector != 0)
        vector /= 2;

    tj_template_set(fill, "combined_t", tj_scalar_type(problem) == TJ_F64 ? "double" : "float");
    print_ld(problem, TJ_MATRIX_P, ld);
    tj_template_set(fill, "ld_combined", ld);
    print_c(problem, fill);
    tj_template_set_int(fill, "W_ROWS", problem->j.extent);
    tj_template_set_int(fill, "P_COLS", tj_problem_p_cols(problem));
    tj_template_set_int(fill, "LD_W", stored.p.ld);
    tj_template_set_int(fill, "COMBINED", problem->rows.combined);
    tj_template_set_int(fill, "SUM_THREADS", THREADS);
    tj_template_set_int(fill, "SUM_VECTOR", vector);
    tj_template_set_int(fill, "SUM_LOADS", COLS / vector);
    if (tj_is_masked(problem))
        (void)snprintf(is_row, sizeof is_row, "from >= 0 && from < W_ROWS && from %% ROOM < rows_of(%s, from / ROOM, ROOM)",
                       tj_template_get(fill, "offset_rows"));
    else if (tj_is_grouped(problem))
        (void)snprintf(is_row, sizeof is_row, "from >= row_at(%s, 0, W_ROWS) && from < last",
                       tj_template_get(fill, "offset_rows"));
    tj_template_set(fill, "row_is_there", is_row);
}

void tj_combine_rows_describe(const tj_problem *problem, const tj_problem *view, tj_template_params *fill, tj_launch_form *form)
{
    tj_launch_step *const step = tj_step_add(view, "combine_rows", false, fill, form);

    step->grid = TJ_GRID_ROWS;
    tj_step_set_blocks(step, THREADS, 1, THREADS * COLS);
    step->overlaps = 1;
    if (fill)
        describe_source(problem, fill);
}

/* ---- counts ------------------------------------------------------------------------------------------------------- */

void tj_combine_rows_count(const tj_problem *problem, tj_counts *counts)
{
    const int64_t cols = tj_problem_p_cols(problem), rows = tj_ceil_div(problem->j.extent, problem->rows.combined),
                  bytes = tj_facts_of(problem->p.type)->bytes;
    const int64_t moved = problem->j.extent + rows * (1 + (problem->epilogue.has_beta != 0));

    tj_traffic_add_in_order(problem->j.extent * cols, bytes, &counts->load_w);
    tj_traffic_add_in_order(rows * cols, bytes, &counts->store_p);
    counts->after_bytes = moved * cols * bytes;
}
