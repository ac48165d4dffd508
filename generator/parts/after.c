/* SPDX-License-Identifier: Apache-2.0 */
#include "after.h"

#include "combine_rows.h"
#include "error.h"
#include "list_table.h"
#include "quantize.h"
#include "signature.h"
#include "steps.h"
#include "tree.h"

enum { ALIGNMENT = 16, MOST_BYTES = 4096 };

bool tj_after_follows(const tj_problem *problem, const tj_problem *view)
{
    return tj_is_finished(problem) && !tj_is_finished(view);
}

/* Return the bytes of the P of one launch in the workspace; -1: too many. */
static int64_t bytes_of(const tj_problem *problem)
{
    const tj_problem stored = tj_problem_unfinished(problem);
    int64_t bytes;

    return tj_mul(stored.p.ld, stored.j.extent, &bytes) &&
                   tj_mul(bytes, stored.batch < TJ_GRID_LIMIT ? stored.batch : TJ_GRID_LIMIT, &bytes) &&
                   tj_mul(bytes, tj_facts_of(stored.p.type)->bytes, &bytes)
               ? bytes
               : -1;
}

tj_status tj_after_check(const tj_problem *problem, const tj_problem *view, const tj_family *family, tj_error *err)
{
    if (!tj_after_follows(problem, view))
        return TJ_OK;
    if (problem->batch > TJ_GRID_LIMIT && family->reduces == TJ_REDUCES_BY_TEAM)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "family %s computes all of a batch in one launch, and the kernel after it quantises %d of the %lld "
                       "products: use another family, or none, so that the library chooses",
                       family->name, TJ_GRID_LIMIT, (long long)problem->batch);
    if (bytes_of(problem) >= 0)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "P of %lld x %lld elements, which a kernel after the product %s, needs more bytes of workspace than 63 bits "
                   "count: use fewer",
                   (long long)problem->j.extent, (long long)tj_problem_p_cols(problem),
                   tj_is_combined(problem) ? "adds up" : "quantises");
}

/* The kernel finds scales of P, or adds up rows and beta * C. */
static void list_args(const tj_problem *problem, tj_launch_step *step)
{
    const bool is_combined = tj_is_combined(problem), has_c = is_combined && problem->epilogue.has_beta,
               has_batch = problem->batch != 1;

    tj_step_add_arg(step, problem->p.ld == TJ_ANY, TJ_ARG_LD, TJ_MATRIX_P);
    tj_step_add_arg(step, has_batch && problem->p.stride == TJ_ANY, TJ_ARG_STRIDE, TJ_MATRIX_P);
    tj_step_add_arg(step, has_c && problem->c.ld == TJ_ANY, TJ_ARG_LD, TJ_MATRIX_C);
    tj_step_add_arg(step, tj_scale_of(problem, TJ_MATRIX_P)->k > 0, TJ_ARG_LD, TJ_SCALES + TJ_MATRIX_P);
    tj_step_add_arg(step, !is_combined && has_batch, TJ_ARG_STRIDE, TJ_SCALES + TJ_MATRIX_P);
    tj_step_add_arg(step, has_c, TJ_ARG_BETA, 0);
    tj_step_add_lists(problem, TJ_LIST_AFTER, step);
    tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, TJ_AFTER_SLICE);
    tj_step_add_arg(step, !is_combined, TJ_ARG_POINTER, TJ_SCALES + TJ_MATRIX_P);
    tj_step_add_arg(step, has_c, TJ_ARG_POINTER, TJ_MATRIX_C);
    tj_step_add_arg(step, true, TJ_ARG_POINTER, TJ_MATRIX_P);
}

/* Its P and C are the caller's, whose numbers the kernel that multiplies does not have. */
static void print_parameter(const tj_problem *problem, tj_argument argument, const tj_template_params *fill, tj_text *out)
{
    const bool is_combined = tj_is_combined(problem), is_p = argument.index == TJ_MATRIX_P;

    switch (argument.kind) {
    case TJ_ARG_LD:
    case TJ_ARG_STRIDE:
        tj_text_print(out, "long long %s_%s,\n", argument.kind == TJ_ARG_LD ? "ld" : "stride",
                      argument.index == TJ_MATRIX_C ? "combined_c"
                      : !is_p                       ? tj_scale_name(TJ_MATRIX_P)
                      : is_combined                 ? "combined_p"
                                                    : "quantized");
        break;
    case TJ_ARG_BETA:
        tj_text_print(out, "%s beta,\n", tj_template_get(fill, "combined_t"));
        break;
    case TJ_ARG_WORKSPACE:
        tj_text_append(out, is_combined ? "const output_t *W,\n" : "const float *W,\n");
        break;
    case TJ_ARG_POINTER:
        if (is_p)
            tj_text_append(out, is_combined ? "output_t *P)\n" : "quantized_t *P)\n");
        else if (argument.index == TJ_MATRIX_C)
            tj_text_append(out, "const output_t *C,  // may be P itself\n");
        else
            tj_signature_print_scales_of_p(problem, out);
        break;
    default:
        tj_signature_print_list(problem, argument, "*", out);
    }
}

static void describe_parameters(const tj_problem *problem, tj_launch_step *step, tj_template_params *fill)
{
    tj_text out = TJ_TEXT_INIT(MOST_BYTES);

    list_args(problem, step);
    for (int i = 0; i < step->arg_count; i++)
        print_parameter(problem, step->arg[i], fill, &out);
    tj_template_take_lines(fill, tj_is_combined(problem) ? "combine_rows_parameters" : "quantize_parameters", &out);
}

void tj_after_describe(const tj_problem *problem, const tj_problem *view, tj_template_params *fill, tj_launch_form *form)
{
    if (tj_is_scaled(problem, TJ_MATRIX_P))
        tj_quantize_describe_scale(problem, fill);
    if (!tj_after_follows(problem, view))
        return;
    form->slice[TJ_AFTER_SLICE] = tj_ceil_div(form->workspace_bytes, ALIGNMENT) * ALIGNMENT;
    form->workspace_bytes = form->slice[TJ_AFTER_SLICE] + bytes_of(problem);
    if (tj_is_combined(problem))
        tj_combine_rows_describe(problem, view, fill, form);
    else
        tj_quantize_describe(problem, view, fill, form);
    if (fill)
        describe_parameters(problem, &form->step[form->steps - 1], fill);
}

const char *tj_after_template(const tj_problem *problem)
{
    return tj_is_combined(problem) ? "parts/combine_rows.cuh" : "parts/quantize.cuh";
}

void tj_after_redirect(const tj_problem *problem, const tj_problem *view, tj_launch_form *form)
{
    const tj_problem stored = tj_problem_unfinished(problem);

    if (!tj_after_follows(problem, view))
        return;
    form->align[TJ_MATRIX_P] = 0;
    for (int i = 0; i < form->steps - 1; i++)
        for (int arg = 0; arg < form->step[i].arg_count; arg++)
            if (form->step[i].arg[arg].kind == TJ_ARG_POINTER && form->step[i].arg[arg].index == TJ_MATRIX_P)
                form->step[i].arg[arg] = (tj_argument){TJ_ARG_WORKSPACE, TJ_AFTER_SLICE};
    for (int i = 0; i < TJ_LAUNCH_MAX_MAPS; i++) {
        tj_tensor_map *const map = &form->tensor_map[i];

        if (map->rank == 0 || map->lines > 0 || map->matrix != TJ_MATRIX_P)
            continue;
        map->matrix = TJ_AFTER_SLICE;
        map->type = stored.p.type;
        map->lines = stored.j.extent;
        map->width = tj_problem_p_cols(&stored);
        map->ld = stored.p.ld;
    }
}

void tj_after_count(const tj_problem *problem, const tj_problem *view, tj_counts *counts)
{
    const bool follows = tj_after_follows(problem, view);

    if (tj_is_scaled(problem, TJ_MATRIX_P))
        tj_quantize_count(problem, follows, counts);
    else if (follows)
        tj_combine_rows_count(problem, counts);
}
