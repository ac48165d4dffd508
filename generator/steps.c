/* SPDX-License-Identifier: Apache-2.0 */
#include "steps.h"

#include <stdio.h>
#include <string.h>

#include "list_table.h"
#include "operand_table.h"
#include "tree.h"

void tj_step_list_results(const tj_problem *view, tj_launch_step *step)
{
    for (int i = 0; i < view->epilogue.expression.operands; i++) {
        const bool is_result = view->epilogue.expression.operand[i].reduction != TJ_REDUCE_NOT;

        tj_step_add_arg(step, is_result && view->batch != 1, TJ_ARG_STRIDE, TJ_WITH + i);
        tj_step_add_arg(step, is_result, TJ_ARG_POINTER, TJ_WITH + i);
    }
}

void tj_step_add_lists(const tj_problem *problem, unsigned read, tj_launch_step *step)
{
    for (int list = 0; list < TJ_LISTS; list++) {
        const tj_list_row row = tj_list_row_of(problem, (tj_list)list);

        tj_step_add_arg(step, (row.read & read) != 0, row.on_host ? TJ_ARG_LIST_VALUE : TJ_ARG_LIST, list);
    }
}

/* List the numbers that a launch says of some operands of the source: leading dimensions, then strides. */
static void list_numbers(const tj_problem *view, bool is_swapped, const bool *is_there, int begin, int end,
                         tj_launch_step *step)
{
    for (int which = begin; which < end; which++)
        tj_step_add_arg(step,
                        is_there[which] && (tj_operand_row_of(view, which).ld == TJ_ANY || which == TJ_SCALES + TJ_MATRIX_P),
                        TJ_ARG_LD, is_swapped ? tj_operand_across(which) : which);
    for (int which = begin; which < end; which++)
        tj_step_add_arg(
            step,
            is_there[which] &&
                tj_matrix_count(view, which < TJ_SCALES ? (tj_which)which : tj_scale_operand_of(which - TJ_SCALES)) != 1 &&
                tj_operand_row_of(view, which).stride == TJ_ANY,
            TJ_ARG_STRIDE, is_swapped ? tj_operand_across(which) : which);
}

/* If is_swapped, the source's M is the caller's N. */
void tj_step_list_args(const tj_problem *view, bool is_swapped, bool reads, bool writes, tj_launch_step *step)
{
    const bool has_c = writes && view->epilogue.has_beta, is_whole = step->grid == TJ_GRID_PRODUCTS;
    const tj_dim *const dim[] = {&view->j, &view->k, &view->l};
    bool is_there[TJ_WITH] = {reads, reads, writes, has_c};

    for (int i = 0; i < TJ_SCALE_OPERANDS; i++)
        is_there[TJ_SCALES + i] = tj_is_scaled(view, tj_scale_operand_of(i)) &&
                                  tj_operand_row_of(view, TJ_SCALES + i).is_taken &&
                                  (tj_scale_operand_goes_along_k(view, i) ? reads : writes);
    for (int i = 0; i < 3; i++)
        tj_step_add_arg(step, reads && dim[i]->mode == TJ_DIM_ANY, TJ_ARG_EXTENT, is_swapped ? TJ_EXTENT_L - i : i);
    tj_step_add_arg(step, reads && tj_is_gathered(view), TJ_ARG_EXTENT, TJ_EXTENT_M_ROWS);
    tj_step_add_arg(step, writes && tj_is_scattered(view), TJ_ARG_EXTENT, TJ_EXTENT_P_ROWS);
    list_numbers(view, is_swapped, is_there, 0, TJ_MATRICES, step);
    list_numbers(view, is_swapped, is_there, TJ_SCALES, TJ_WITH, step);
    tj_step_add_arg(step, is_whole ? view->batch == TJ_ANY : step->grid == TJ_GRID_WALK_ALL, TJ_ARG_BATCH, 0);
    tj_step_add_arg(step, writes && view->epilogue.has_alpha, TJ_ARG_ALPHA, 0);
    tj_step_add_arg(step, has_c && tj_epilogue_weighs_c(&view->epilogue), TJ_ARG_BETA, 0);
    for (int which = TJ_SCALES; which < TJ_WITH; which++)
        tj_step_add_arg(step, is_there[which], TJ_ARG_POINTER, is_swapped ? tj_operand_across(which) : which);
    for (int i = 0; i < view->epilogue.expression.operands; i++) {
        const uint8_t indexed = view->epilogue.expression.operand[i].indexed;

        if (view->epilogue.expression.operand[i].reduction != TJ_REDUCE_NOT)
            continue; /* added by tj_step_list_results */
        tj_step_add_arg(step, writes && indexed == TJ_BY_NOTHING, TJ_ARG_NUMBER, TJ_WITH + i);
        tj_step_add_arg(step, writes && indexed == TJ_BY_BOTH, TJ_ARG_LD, TJ_WITH + i);
        tj_step_add_arg(step, writes && indexed && view->batch != 1, TJ_ARG_STRIDE, TJ_WITH + i);
        tj_step_add_arg(step, writes && indexed, TJ_ARG_POINTER, TJ_WITH + i);
    }
    if (is_whole)
        tj_step_list_results(view, step);
    tj_step_add_lists(view, (reads ? TJ_LIST_WITH_M : 0) | (writes ? TJ_LIST_WITH_P : 0), step);
    for (int which = TJ_MATRIX_M; which <= TJ_MATRIX_N; which++)
        tj_step_add_arg(step, reads, TJ_ARG_POINTER, is_swapped ? tj_operand_across(which) : which);
    tj_step_add_arg(step, !reads || !writes || (tj_epilogue_reduces(&view->epilogue) && !is_whole), TJ_ARG_WORKSPACE, 0);
    tj_step_add_arg(step, has_c, TJ_ARG_POINTER, TJ_MATRIX_C);
    tj_step_add_arg(step, writes, TJ_ARG_POINTER, TJ_MATRIX_P);
}

enum { NUMBER_BYTES = 12 }; /* an extent is an int32_t */

static const char *name_dim(const tj_dim *dim, const char *letter, char number[NUMBER_BYTES])
{
    if (dim->mode != TJ_DIM_FIXED)
        return letter;
    (void)snprintf(number, NUMBER_BYTES, "%d", (int32_t)dim->extent);
    return number;
}

/* tiled_f32_512x300x700; a dimension that is passed keeps its letter. */
void tj_step_name(const tj_problem *view, const char *what, tj_template_params *fill, const tj_launch_form *form,
                  tj_launch_step *step)
{
    char j[NUMBER_BYTES], k[NUMBER_BYTES], l[NUMBER_BYTES];

    (void)snprintf(step->kernel, sizeof step->kernel, "%s_%s_%sx%sx%s", what, tj_facts_of(view->m.type)->name,
                   name_dim(form->is_swapped ? &view->l : &view->j, "j", j), name_dim(&view->k, "k", k),
                   name_dim(form->is_swapped ? &view->j : &view->l, "l", l));
    tj_template_set(fill, what, step->kernel);
}

tj_launch_step *tj_step_add(const tj_problem *view, const char *what, bool is_ahead, tj_template_params *fill,
                            tj_launch_form *form)
{
    const int32_t at = is_ahead ? form->product : form->steps;
    tj_launch_step *const step = &form->step[at];

    if (is_ahead)
        memmove(step + 1, step, (size_t)(form->steps - at) * sizeof *step);
    form->product += is_ahead;
    form->steps++;
    memset(step, 0, sizeof *step);
    if (fill)
        tj_step_name(view, what, fill, form, step);
    return step;
}

/*
 * Up to these limits a product gains by overlapping the previous kernel: a tenth of 3 us on an H100
 * (bench/results/optimisation-log.md). Blocks that wait take the slots that are free, not the best ones, so longer products,
 * and those that store much, lose.
 */
static const double SHORT_FLOP = 1e9, SHORT_BYTES = 32 << 20, SHORT_P_BYTES = 2 << 20;

static bool is_short(const tj_problem *view)
{
    const double j = (double)view->j.extent, k = (double)view->k.extent, l = (double)view->l.extent;
    const double m_bytes = j * k * tj_facts_of(view->m.type)->bytes, n_bytes = k * l * tj_facts_of(view->n.type)->bytes;
    const bool is_one = view->batch == 1 && !tj_is_grouped(view);

    return is_one && tj_has_fixed_extents(view) && 2 * j * k * l <= SHORT_FLOP && m_bytes + n_bytes <= SHORT_BYTES &&
           j * l * tj_facts_of(view->p.type)->bytes <= SHORT_P_BYTES;
}

/* A first kernel that is not the product overlaps if the caller asks for it, which is noted last of all. */
bool tj_launch_overlaps(const tj_problem *view, const tj_launch_form *form)
{
    return form->step[0].overlaps || view->overlap;
}

const char *tj_step_pointer(const tj_problem *view, const tj_launch_form *form, const tj_launch_step *step, bool is_workspace)
{
    return tj_launch_overlaps(view, form) || (is_workspace && step->overlaps) ? "*" : "*__restrict__ ";
}

void tj_step_describe_order(const tj_problem *view, tj_template_params *fill, tj_launch_form *form)
{
    const bool is_first = form->product == 0, is_last = form->product + 1 == form->steps;
    const bool overlaps = view->overlap != 0 || (is_first && is_short(view)), waits = overlaps || !is_first;
    const char *const awaits = waits ? "parts/awaits.cuh" : "";
    const char *const dependents = overlaps || !is_last ? "parts/dependents.cuh" : "";

    form->step[0].overlaps = overlaps;
    tj_template_set(fill, "first_awaits", overlaps && !is_first ? awaits : "");
    tj_template_set(fill, "awaits", awaits);
    tj_template_set(fill, "dependents", dependents);
}
