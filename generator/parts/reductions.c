/* SPDX-License-Identifier: Apache-2.0 */
#include "reductions.h"

#include <stdio.h>
#include <stdlib.h>

#include "canonical.h"
#include "checked.h"
#include "error.h"
#include "expression.h"
#include "steps.h"
#include "operand_table.h"
#include "traffic.h"
#include "tree.h"

enum {
    COMBINE_THREADS = 256,
    COMBINE_LANES = 32,
    LINE_BYTES = 512,
    MOST_BYTES = 64 * 1024,
    NAME_BYTES = TJ_EPILOGUE_NAME_BYTES + 1
};

static int count_of(const tj_problem *view, int indexed)
{
    const tj_expression *e = &view->epilogue.expression;
    int count = 0;

    for (int i = 0; i < e->operands; i++)
        count += e->operand[i].reduction != TJ_REDUCE_NOT && e->operand[i].indexed == indexed;
    return count;
}

int tj_reductions_of(const tj_problem *view)
{
    return count_of(view, TJ_BY_ROW) + count_of(view, TJ_BY_COL);
}

/* Number of results of one product in the workspace; -1: too many. */
static int64_t results_of(const tj_problem *view, const tj_reduction_slots *slots)
{
    int64_t rows, cols, all;

    return tj_mul(slots->of_row * count_of(view, TJ_BY_ROW), view->j.extent, &rows) &&
                   tj_mul(slots->of_col * count_of(view, TJ_BY_COL), tj_problem_p_cols(view), &cols) && tj_add(rows, cols, &all)
               ? all
               : -1;
}

int64_t tj_reductions_bytes(const tj_problem *view, const tj_reduction_slots *slots)
{
    const int64_t results = results_of(view, slots);
    int64_t bytes;

    return results >= 0 && tj_mul(results, view->batch < TJ_GRID_LIMIT ? view->batch : TJ_GRID_LIMIT, &bytes) &&
                   tj_mul(bytes, (int64_t)tj_type_bytes(tj_scalar_type(view)), &bytes)
               ? bytes
               : -1;
}

tj_status tj_reductions_check(const tj_problem *view, const tj_reduction_slots *slots, tj_error *err)
{
    if (!tj_epilogue_reduces(&view->epilogue) || tj_reductions_bytes(view, slots) >= 0)
        return TJ_OK;
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "the results of %lld rows and %lld columns need more bytes of workspace than 63 bits count: use larger tiles",
        (long long)view->j.extent, (long long)view->l.extent);
}

/* The combine kernel takes the outputs and the results of the product. */
static void list_arguments(const tj_problem *view, const tj_reduction_slots *slots, tj_launch_step *step)
{
    tj_step_list_results(view, step);
    if (slots->of_row_by_path[0] > 0)
        tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, slots->path_slice);
    tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, slots->slice);
}

/* Set the number of slots that the kernel of each path fills. */
static void describe_paths(const tj_reduction_slots *slots, tj_template_params *fill)
{
    static const char *const row_slots[] = {"f16_row_slots", "bf16_row_slots", "f32_row_slots"}, *const col_slots[] = {
                                                                                                     "f16_col_slots",
                                                                                                     "bf16_col_slots",
                                                                                                     "f32_col_slots"};

    for (int path = 0; path < TJ_REDUCTION_PATHS; path++) {
        tj_template_set_int(fill, row_slots[path], slots->of_row_by_path[path]);
        tj_template_set_int(fill, col_slots[path], slots->of_col_by_path[path]);
    }
}

void tj_reductions_describe(const tj_problem *view, const tj_reduction_slots *slots, tj_template_params *fill,
                            tj_launch_form *form)
{
    tj_launch_step *combine;

    if (!tj_epilogue_reduces(&view->epilogue))
        return;
    form->result_bytes = tj_reductions_bytes(view, slots);
    if (form->workspace_bytes == 0)
        form->workspace_bytes = form->result_bytes;
    combine = tj_step_add(view, "combine", false, fill, form);
    combine->grid = TJ_GRID_LINES;
    tj_step_set_blocks(combine, COMBINE_THREADS, 1, COMBINE_LANES);
    combine->overlaps = 1;
    if (!fill)
        return;
    list_arguments(view, slots, combine);
    tj_template_set_int(fill, "ROW_SLOTS", slots->of_row);
    tj_template_set_int(fill, "COL_SLOTS", slots->of_col);
    tj_template_set_int(fill, "COL_RESULTS", slots->of_row * count_of(view, TJ_BY_ROW) * view->j.extent);
    tj_template_set_int(fill, "RESULTS", results_of(view, slots));
    tj_template_set_int(fill, "REDUCTIONS", tj_reductions_of(view));
    if (slots->of_row_by_path[0] > 0)
        describe_paths(slots, fill);
    if (slots->lane_cols == 0)
        return;
    tj_template_set_int(fill, "LANE_COLS", slots->lane_cols);
    tj_template_set(fill, "row_slot", slots->row_slot);
    tj_template_set(fill, "col_slot", slots->col_slot);
}

/* ---- source ------------------------------------------------------------------------------------------------------- */

enum {
    STARTS,
    ROW_LANES,
    ROW_RESULTS,
    COL_LANES,
    COL_RESULTS,
    OF_BLOCK,
    KEPT,
    OF_ROWS,
    OF_THREAD,
    OF_TEAM,
    PARAMETERS,
    OF_PRODUCT,
    ALL,
    LINES
};

static const char *const line_names[LINES] = {
    "reduction_starts", "row_combined", "row_found",  "col_combined",      "col_found",          "block_found",  "element_kept",
    "rows_found",       "thread_kept",  "team_found", "result_parameters", "results_of_product", "all_combined",
};

typedef struct printing {
    const tj_problem *view;
    const tj_epilogue_operand *output;
    const char *real;      /* float or double */
    char name[NAME_BYTES]; /* the name of the output */
    char so_far[NAME_BYTES + 8];
    int number; /* its number among the outputs for rows, or for columns */
    bool by_rows, is_sum, pairs, is_batched, by_warp, by_path;
    int operand, place; /* place: its number among all reductions */
} printing;

static void say_step(const printing *p, const char *indent, const char *index, const char *value, tj_text *out)
{
    tj_text_append(out, indent);
    tj_reduction_print_step(p->output, index, value, out);
}

/* Print the index of a slot's result for the row or column `at`. */
static void place_result(const printing *p, const char *slot, const char *at, char text[LINE_BYTES])
{
    const char *const line = p->by_rows ? "j"
                             : p->pairs ? "(l / 2)"
                                        : "l",
                      *const slots = p->by_rows ? "ROW_SLOTS" : "COL_SLOTS";
    const char *const base = p->by_rows ? "" : "COL_RESULTS + ";

    char times[TJ_NUMBER_BYTES] = "";

    if (p->number > 1)
        (void)snprintf(times, sizeof times, "%d * ", p->number);
    if (slot[0] == '0' && p->number == 0)
        (void)snprintf(text, LINE_BYTES, "%s%s", base, at);
    else if (slot[0] == '0')
        (void)snprintf(text, LINE_BYTES, "%s%s%s * %s + %s", base, times, slots, line, at);
    else if (p->number == 0)
        (void)snprintf(text, LINE_BYTES, "%s%s * %s + %s", base, slot, line, at);
    else
        (void)snprintf(text, LINE_BYTES, "%s(%s%s + %s) * %s + %s", base, times, slots, slot, line, at);
}

static const char *start_of(const printing *p)
{
    return p->is_sum ? "0" : "lowest()";
}

/* Declare a thread's partial reduction with its start value. */
static void print_start(const printing *p, tj_text *out)
{
    const char *const count = p->by_rows ? "TM" : p->pairs ? "TN / 2" : "TN";

    if (!p->by_warp) {
        tj_text_print(out, "%s %s = %s;\n", p->real, p->so_far, start_of(p));
        return;
    }
    tj_text_print(out, "%s %s[%s]%s;\n", p->real, p->so_far, count, p->is_sum ? " = {}" : "");
    if (!p->is_sum)
        tj_text_print(out, "#pragma unroll\nfor (%s &so_far : %s)\n    so_far = %s;\n", p->real, p->so_far, start_of(p));
}

/* Combine the partial reductions of a warp's lanes, and store the result. */
static void print_warp(const printing *p, tj_text *lanes, tj_text *results)
{
    const char *const index = p->by_rows ? "[r]" : p->pairs ? "[c / 2]" : "[c]";
    char other[LINE_BYTES], place[LINE_BYTES];

    tj_text_print(lanes, "#pragma unroll\n");
    tj_text_print(lanes, "for (int step = %s; step < %s; step *= 2)\n", p->by_rows ? "1" : "LANE_COLS",
                  p->by_rows ? "LANE_COLS" : "32");
    (void)snprintf(other, sizeof other, "__shfl_xor_sync(~0u, %s%s, step)", p->so_far, index);
    say_step(p, "    ", index, other, lanes);
    place_result(p, p->by_rows ? "row_slot" : "col_slot", p->by_rows ? "Row" : p->pairs ? "Col / 2" : "Col", place);
    tj_text_print(results, "results[%s] = %s%s;\n", place, p->so_far, index);
}

/* A block of TILE_WIDTH x TILE_WIDTH threads: the first row of threads combines the values. */
static void print_block(const printing *p, bool is_first, tj_text *out)
{
    const char *const slot = p->by_rows ? "block_col / TILE_WIDTH" : "block_row / TILE_WIDTH";
    const char *const at = p->by_rows ? "block_row + tx" : p->pairs ? "Col / 2" : "Col";
    char place[LINE_BYTES], as_slot[LINE_BYTES];

    tj_text_print(out, "%svalues[ty][tx] = %s;\n__syncthreads();\n",
                  is_first ? "" : "__syncthreads();  // all are done with the last ones\n", p->so_far);
    tj_text_print(out, "if (ty == 0 && %s < %s%s) {\n", p->by_rows ? "block_row + tx" : "Col", p->by_rows ? "j" : "l",
                  !p->by_rows && p->pairs ? " && Col % 2 == 0" : "");
    tj_text_print(out, "    %s = values%s;\n", p->so_far, p->by_rows ? "[tx][0]" : "[0][tx]");
    tj_text_print(out, "    for (int i = 1; i < TILE_WIDTH; ++i)\n");
    say_step(p, "        ", "", p->by_rows ? "values[tx][i]" : "values[i][tx]", out);
    (void)snprintf(as_slot, sizeof as_slot, "static_cast<long long>(%s)", slot);
    place_result(p, p->number == 0 ? as_slot : slot, at, place);
    tj_text_print(out, "    results[%s] = %s;\n}\n", place, p->so_far);
}

/* Store the values of some rows of the block's tile in shared memory: warps combine the rows, threads combine the columns. */
static void print_rows(const printing *p, tj_text *kept, tj_text *found)
{
    const char *const cols = p->pairs ? "(BLOCK_COLS / 2)" : "BLOCK_COLS";
    const char *const col = p->pairs ? "block_col / 2 + c" : "block_col + c";
    char place[LINE_BYTES], other[LINE_BYTES];

    tj_text_print(kept, "kept[%d][%s] = %s;\n", p->place, p->pairs ? "e / 2" : "e", p->so_far);
    if (p->by_rows) {
        tj_text_print(found, "for (int r = thread / 32; r < ROWS_AT_ONCE; r += THREADS / 32) {\n");
        tj_text_print(found, "    %s %s = %s;\n", p->real, p->so_far, start_of(p));
        tj_text_print(found, "    for (int c = thread %% 32; c < %s; c += 32)\n", cols);
        (void)snprintf(other, sizeof other, "kept[%d][r * %s + c]", p->place, cols);
        say_step(p, "        ", "", other, found);
        tj_text_print(found, "#pragma unroll\n    for (int step = 1; step < 32; step *= 2)\n");
        (void)snprintf(other, sizeof other, "__shfl_xor_sync(~0u, %s, step)", p->so_far);
        say_step(p, "        ", "", other, found);
        place_result(p, "row_slot", "block_row + top + r", place);
        tj_text_print(found, "    if (thread %% 32 == 0 && block_row + top + r < j)\n        results[%s] = %s;\n}\n", place,
                      p->so_far);
        return;
    }
    tj_text_print(found, "for (int c = thread; c < %s; c += THREADS) {\n", cols);
    tj_text_print(found, "    %s %s = kept[%d][c];\n    for (int r = 1; r < ROWS_AT_ONCE; ++r)\n", p->real, p->so_far,
                  p->place);
    (void)snprintf(other, sizeof other, "kept[%d][r * %s + c]", p->place, cols);
    say_step(p, "        ", "", other, found);
    place_result(p, "col_slot", col, place);
    tj_text_print(found, "    if (%s < %s)\n        results[%s] = %s;\n}\n", col, p->pairs ? "l / 2" : "l", place, p->so_far);
}

/* Store each thread's partial reductions in shared memory; the team combines those of its product. */
static void print_team(const printing *p, tj_text *kept, tj_text *found)
{
    const char *const lines = p->by_rows ? "j" : p->pairs ? "l / 2" : "l";
    const char *const pitch = p->by_rows ? "TEAM_ROWS * TM" : p->pairs ? "TEAM_COLS * TN / 2" : "TEAM_COLS * TN";
    const char *const at = p->by_rows ? "row_of(r)" : p->pairs ? "col_of(c) / 2" : "col_of(c)";
    char other[LINE_BYTES];

    tj_text_print(kept, "#pragma unroll\nfor (int %s)\n",
                  p->by_rows ? "r = 0; r < TM; ++r"
                  : p->pairs ? "c = 0; c < TN; c += 2"
                             : "c = 0; c < TN; ++c");
    tj_text_print(kept, "    own.kept[%d][%s * (%s) + %s] = %s%s;\n", p->place, p->by_rows ? "col" : "row", pitch, at,
                  p->so_far,
                  p->by_rows ? "[r]"
                  : p->pairs ? "[c / 2]"
                             : "[c]");
    tj_text_print(found, "for (int line = thread; line < %s; line += TEAM) {\n", lines);
    tj_text_print(found, "    %s %s = own.kept[%d][line];\n", p->real, p->so_far, p->place);
    tj_text_print(found, "    for (int other = 1; other < %s; ++other)\n", p->by_rows ? "TEAM_COLS" : "TEAM_ROWS");
    (void)snprintf(other, sizeof other, "own.kept[%d][other * (%s) + line]", p->place, pitch);
    say_step(p, "        ", "", other, found);
    tj_text_print(found, "    %s[line] = static_cast<%s>(%s);\n}\n", p->name,
                  tj_type_get_facts(tj_operand_type(p->view, p->operand))->cuda, p->so_far);
}

/* Each group of threads combines some slots of a row or column; the first group combines the groups' results. */
static void print_all(const printing *p, bool is_first, tj_text *out)
{
    const char *const lines = p->by_rows ? "j" : p->pairs ? "l / 2" : "l";
    char place[LINE_BYTES], other[LINE_BYTES + 4];

    place_result(p, "slot", "place", place);
    (void)snprintf(other, sizeof other, "W[%s]", place);
    tj_text_print(out, "%s %s = %s;\n", p->real, p->so_far, start_of(p));
    tj_text_print(out, "if (place < %s) {\n#pragma unroll 4\n", lines);
    tj_text_print(out, "    for (long long slot = group; slot < %s; slot += COMBINE_GROUPS)\n",
                  p->by_path   ? (p->by_rows ? "row_slots" : "col_slots")
                  : p->by_rows ? "ROW_SLOTS"
                               : "COL_SLOTS");
    say_step(p, "        ", "", other, out);
    tj_text_print(out, "}\n%sfound[group][lane] = %s;\n__syncthreads();\n",
                  is_first ? "" : "__syncthreads();  // all are done with the last ones\n", p->so_far);
    tj_text_print(out, "if (group == 0 && place < %s) {\n    for (int g = 1; g < COMBINE_GROUPS; ++g)\n", lines);
    say_step(p, "        ", "", "found[g][lane]", out);
    tj_text_print(out, "    %s[place] = static_cast<%s>(%s);\n}\n", p->name,
                  tj_type_get_facts(tj_operand_type(p->view, p->operand))->cuda, p->so_far);
}

static void print_parameters(const printing *p, const char *product, tj_text *parameters, tj_text *of_product)
{
    if (p->is_batched) {
        tj_text_print(parameters, "long long stride_%s,\n", p->name);
        tj_text_print(of_product, "%s += %s * stride_%s;\n", p->name, product, p->name);
    }
    tj_text_print(parameters, "%s *__restrict__ %s,\n", tj_type_get_facts(tj_operand_type(p->view, p->operand))->cuda, p->name);
}

static void print_all_lines(const tj_problem *view, const tj_family *family, tj_text out[LINES])
{
    const tj_expression *e = &view->epilogue.expression;
    int numbers[2] = {0, 0};

    for (int i = 0; i < e->operands; i++) {
        const bool by_rows = e->operand[i].indexed == TJ_BY_ROW;
        printing p = {.view = view,
                      .output = &e->operand[i],
                      .real = tj_scalar_type(view) == TJ_F64 ? "double" : "float",
                      .by_rows = by_rows,
                      .is_sum = e->operand[i].reduction == TJ_REDUCE_SUM,
                      .pairs = tj_epilogue_pairs(&view->epilogue),
                      .is_batched = view->batch != 1,
                      .by_warp = tj_reduces_by_thread(family),
                      .by_path = family->reduces == TJ_REDUCES_BY_PATH,
                      .operand = i};

        if (e->operand[i].reduction == TJ_REDUCE_NOT)
            continue;
        p.place = numbers[0] + numbers[1];
        p.number = numbers[by_rows]++;
        (void)tj_expression_name(p.output->name, p.name);
        (void)snprintf(p.so_far, sizeof p.so_far, "%s_so_far", p.output->name);
        print_start(&p, &out[STARTS]);
        print_parameters(&p, family->reduces == TJ_REDUCES_BY_TEAM ? "product" : "blockIdx.z", &out[PARAMETERS],
                         &out[OF_PRODUCT]);
        if (family->reduces == TJ_REDUCES_BY_TEAM) {
            print_team(&p, &out[OF_THREAD], &out[OF_TEAM]);
            continue;
        }
        if (p.by_warp)
            print_warp(&p, &out[by_rows ? ROW_LANES : COL_LANES], &out[by_rows ? ROW_RESULTS : COL_RESULTS]);
        else if (family->reduces == TJ_REDUCES_BY_ROWS)
            print_rows(&p, &out[KEPT], &out[OF_ROWS]);
        else
            print_block(&p, out[OF_BLOCK].length == 0, &out[OF_BLOCK]);
        print_all(&p, out[ALL].length == 0, &out[ALL]);
    }
}

void tj_reductions_print(const tj_problem *view, const tj_family *family, const tj_launch_step *step, tj_template_params *fill)
{
    const bool reduces = tj_epilogue_reduces(&view->epilogue);
    tj_text out[LINES];
    bool has_max = false;

    for (int i = 0; i < view->epilogue.expression.operands; i++)
        has_max |= view->epilogue.expression.operand[i].reduction == TJ_REDUCE_MAX;
    tj_template_set_flag(fill, "reduces", reduces);
    tj_template_set(fill, "w_of_product",
                    view->batch == 1                 ? "W"
                    : step->grid == TJ_GRID_WALK_ALL ? "W + product * RESULTS"
                                                     : "W + blockIdx.z * RESULTS");
    tj_template_set(fill, "next_col", tj_epilogue_pairs(&view->epilogue) ? "c += 2" : "++c");
    tj_template_set_flag(fill, "reduces_rows", count_of(view, TJ_BY_ROW) > 0);
    tj_template_set_flag(fill, "reduces_cols", count_of(view, TJ_BY_COL) > 0);
    tj_template_set_flag(fill, "reduces_by_warp",
                         family->reduces == TJ_REDUCES_BY_WARP || family->reduces == TJ_REDUCES_BY_PATH);
    tj_template_set_flag(fill, "reduces_by_rows", family->reduces == TJ_REDUCES_BY_ROWS);
    tj_template_set_flag(fill, "reduces_by_team", reduces && family->reduces == TJ_REDUCES_BY_TEAM);
    tj_template_set_flag(fill, "reduces_by_path", family->reduces == TJ_REDUCES_BY_PATH);
    tj_template_set_flag(fill, "uses_larger", has_max);
    if (!reduces)
        return;
    for (int i = 0; i < LINES; i++)
        out[i] = (tj_text)TJ_TEXT_INIT(MOST_BYTES);
    print_all_lines(view, family, out);
    for (int i = 0; i < LINES; i++)
        tj_template_take_lines(fill, line_names[i], &out[i]);
}

/* ---- counts ------------------------------------------------------------------------------------------------------- */

void tj_reductions_count(const tj_problem *view, const tj_launch_form *form, tj_counts *counts)
{
    const int64_t bytes = (int64_t)tj_type_bytes(tj_scalar_type(view));
    int64_t outputs = 0, output_bytes = 0, results;

    if (!tj_epilogue_reduces(&view->epilogue))
        return;
    for (int i = 0; i < view->epilogue.expression.operands; i++)
        if (view->epilogue.expression.operand[i].reduction != TJ_REDUCE_NOT) {
            outputs += tj_operand_elements(view, TJ_WITH + i) * view->batch;
            output_bytes +=
                tj_operand_elements(view, TJ_WITH + i) * view->batch * (int64_t)tj_type_bytes(tj_operand_type(view, i));
        }
    results = form->result_bytes / bytes * tj_ceil_div(view->batch, TJ_GRID_LIMIT);
    tj_traffic_add_in_order(results, bytes, &counts->store_w);
    tj_traffic_add_in_order(results, bytes, &counts->load_w);
    if (outputs > 0)
        tj_traffic_add_in_order(outputs, output_bytes / outputs, &counts->store_p);
    counts->work[TJ_PIPE_MEMORY] += output_bytes;
}
