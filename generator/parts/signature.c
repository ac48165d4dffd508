/* SPDX-License-Identifier: Apache-2.0 */
#include "signature.h"

#include <stdio.h>
#include <string.h>

#include "expression.h"
#include "list_table.h"
#include "operand_table.h"
#include "steps.h"
#include "tree.h"

enum { LINE_BYTES = 256, MOST_BYTES = 64 * 1024 };

static const char *real_t(const tj_problem *view)
{
    return tj_scalar_type(view) == TJ_F64 ? "double" : "float";
}

/* The row of an operand of the caller's in the source, and its name there. */
static tj_operand_row operand_at(const tj_problem *view, const tj_launch_form *form, int32_t callers,
                                 char name[TJ_EPILOGUE_NAME_BYTES + 1])
{
    const tj_operand_row row = tj_operand_row_of(view, form->is_swapped ? tj_operand_across(callers) : callers);

    if (callers >= TJ_WITH)
        (void)tj_expression_name(row.name, name);
    else
        strcpy(name, row.name);
    return row;
}

static bool is_array(const tj_problem *view, tj_which which)
{
    return tj_stride_is_pointers(tj_problem_matrix(view, which)->stride);
}

static void print_operand(const tj_problem *view, tj_which which, const char *pointer, const tj_template_params *fill,
                          tj_text *out)
{
    const char letter = "MN"[which], *const type = tj_template_get(fill, which == TJ_MATRIX_M ? "m_t" : "n_t");

    if (is_array(view, which))
        tj_text_print(out, "const %s *const *%c_array,  // where the %c of each product lies\n", type, letter, letter);
    else
        tj_text_print(out, "const %s %s%c,\n", type, pointer, letter);
}

/*
 * A kernel that writes P has it as its last parameter. No operand but C may be P: so says P where pointers to operands do not,
 * lest each store to P keep the next load of an operand waiting.
 */
static void print_output(const tj_problem *view, const tj_launch_form *form, tj_which which, tj_text *out)
{
    const bool is_alone = tj_launch_overlaps(view, form) && !view->epilogue.has_beta;

    if (which == TJ_MATRIX_P)
        tj_text_append(out, is_array(view, which) ? "output_t *const *P_array)  // where the P of each product lies\n"
                            : is_alone            ? "output_t *__restrict__ P)\n"
                                                  : "output_t *P)\n");
    else if (is_array(view, which))
        tj_text_append(out,
                       "const output_t *const *C_array,  // where the C of each product lies; each may be that product's P\n");
    else
        tj_text_append(out, "const output_t *C,  // may be P itself\n");
}

void tj_signature_print_scales_of_p(const tj_problem *view, tj_text *out)
{
    tj_text_append(out, tj_scale_of(view, TJ_MATRIX_P)->type == TJ_E8M0 ? "unsigned char *scale_p,\n" : "float *scale_p,\n");
}

/* The parameter of scales, or of an operand or output of the epilogue's expression. */
static void print_vector(const tj_problem *view, const tj_launch_form *form, int32_t callers, const char *pointer, tj_text *out)
{
    char name[TJ_EPILOGUE_NAME_BYTES + 1];
    const tj_operand_row row = operand_at(view, form, callers, name);

    if (callers == TJ_SCALES + TJ_MATRIX_P)
        tj_signature_print_scales_of_p(view, out);
    else
        tj_text_print(out, "%s%s %s%s,\n", row.is_written ? "" : "const ", tj_type_get_facts(row.type)->cuda,
                      row.is_written ? "*__restrict__ " : pointer, name);
}

static void print_extent(const tj_problem *view, const tj_launch_form *form, int32_t callers, tj_text *out)
{
    const int32_t index = form->is_swapped ? TJ_EXTENT_L - callers : callers;

    if (callers >= TJ_EXTENT_M_ROWS)
        tj_text_append(out, callers == TJ_EXTENT_M_ROWS ? "int m_rows,\n" : "int p_rows,\n");
    else if (index == TJ_EXTENT_K && tj_divides_k(view))
        tj_text_append(out, "int all_k,\n");
    else if (index == TJ_EXTENT_J && tj_is_grouped(view))
        tj_text_append(out, "int all_rows,\n");
    else
        tj_text_print(out, "int %c,\n", "jkl"[index]);
}

void tj_signature_print_list(const tj_problem *view, tj_argument argument, const char *pointer, tj_text *out)
{
    const tj_list_row list = tj_list_row_of(view, (tj_list)argument.index);

    if (argument.kind == TJ_ARG_LIST_VALUE)
        tj_text_print(out, "const __grid_constant__ %s_t %s,\n", list.word, list.word);
    else
        tj_text_print(out, "const %s %s%s,\n", list.element, pointer, list.word);
}

void tj_signature_print(const tj_problem *view, const tj_launch_form *form, const tj_launch_step *step, int first, int factors,
                        const char *workspace, tj_template_params *fill, const char *name)
{
    const char *const pointer = tj_step_pointer(view, form, step, false);
    tj_text out = TJ_TEXT_INIT(MOST_BYTES);
    int printed = 0;

    for (int i = fill ? first : step->arg_count; i < step->arg_count; i++) {
        const tj_argument argument = step->arg[i];
        const int32_t index = argument.index;
        char operand[TJ_EPILOGUE_NAME_BYTES + 1];

        switch ((tj_argument_kind)argument.kind) {
        case TJ_ARG_EXTENT:
            print_extent(view, form, index, &out);
            break;
        case TJ_ARG_LD:
        case TJ_ARG_STRIDE:
            (void)operand_at(view, form, index, operand);
            tj_text_print(&out, "long long %s_%s,\n", argument.kind == TJ_ARG_LD ? "ld" : "stride", operand);
            break;
        case TJ_ARG_BATCH:
            tj_text_append(&out, "int batch,\n");
            break;
        case TJ_ARG_ALPHA:
        case TJ_ARG_BETA:
            tj_text_print(&out, "%s %s,\n", tj_template_get(fill, "scalar_t"),
                          argument.kind == TJ_ARG_ALPHA ? "alpha" : "beta");
            break;
        case TJ_ARG_NUMBER:
            (void)operand_at(view, form, index, operand);
            tj_text_print(&out, "%s %s,\n", real_t(view), operand);
            break;
        case TJ_ARG_LIST:
        case TJ_ARG_LIST_VALUE:
            tj_signature_print_list(view, argument, pointer, &out);
            break;
        case TJ_ARG_TENSOR_MAP:
            tj_text_append(&out, "const __grid_constant__ tensor_map_t P_map)\n");
            break;
        case TJ_ARG_POINTER:
        case TJ_ARG_WORKSPACE:
            if (argument.kind == TJ_ARG_POINTER && index >= TJ_SCALES)
                print_vector(view, form, index, pointer, &out);
            else if (printed < factors)
                print_operand(view, (tj_which)printed++, tj_step_pointer(view, form, step, argument.kind == TJ_ARG_WORKSPACE),
                              fill, &out);
            else if (argument.kind == TJ_ARG_POINTER)
                print_output(view, form, (tj_which)index, &out);
            else
                tj_text_print(&out, "%s\n", workspace);
            break;
        case TJ_ARG_CUSTOM:
            break;
        }
    }
    tj_template_take_lines(fill, name, &out);
}

/* A line of parameters ends in its name, and a comma, or after the last name a bracket. */
void tj_signature_print_arguments(tj_template_params *fill)
{
    static const char in_name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    tj_text out = TJ_TEXT_INIT(MOST_BYTES);

    for (const char *line = tj_template_get_lines(fill, "parameters"), *end, *start; *line != '\0';
         line = strchr(line, '\n') + 1) {
        for (start = end = line + strcspn(line, ",)"); start > line && strchr(in_name, start[-1]);)
            start--;
        tj_text_print(&out, "%.*s%s", (int)(end - start), start, *end == ')' ? ");\n" : ", ");
    }
    tj_template_take_lines(fill, "arguments", &out);
}

/* The leading dimension, or the stride, of a matrix is derived from an extent that is an argument. */
static void print_derived(const tj_problem *view, tj_which which, bool is_stride, tj_text *out)
{
    const char letter = "mnpc"[which];
    const tj_lines lines = tj_problem_lines(view, which);
    const char *const extent = is_stride ? lines.count_name : lines.width_name;
    const char *const name = tj_divides_k(view) && strcmp(extent, "k") == 0 ? "all_k" : extent; /* k is that of a group */

    if (is_stride)
        tj_text_print(out, "const long long stride_%c = ld_%c * %s;\n", letter, letter, name);
    else
        tj_text_print(out, "const index_t ld_%c = %s;\n", letter, name);
}

static bool has_number(const tj_problem *view, tj_which which, bool is_stride)
{
    return (which != TJ_MATRIX_C || view->epilogue.has_beta) && (!is_stride || tj_matrix_count(view, which) != 1);
}

/* Print the numbers that are derived, of the matrices that the kernel needs. Return whether any is derived, needed or not. */
static bool print_all_derived(const tj_problem *view, const bool needs[TJ_MATRICES], tj_text *out)
{
    bool derives = false;

    for (int is_stride = 0; is_stride < 2; is_stride++)
        for (int i = 0; i < TJ_MATRICES; i++) {
            const tj_matrix *const matrix = tj_problem_matrix(view, (tj_which)i);

            if (!has_number(view, (tj_which)i, is_stride) || (is_stride ? matrix->stride : matrix->ld) != TJ_TIGHT)
                continue;
            derives = true;
            if (needs[i])
                print_derived(view, (tj_which)i, is_stride, out);
        }
    return derives;
}

void tj_signature_print_reduce(const tj_problem *view, const tj_launch_form *form, const tj_launch_step *reduce,
                               tj_template_params *fill)
{
    const bool needs[TJ_MATRICES] = {false, false, true, true};
    tj_text derived = TJ_TEXT_INIT(MOST_BYTES);

    (void)print_all_derived(view, needs, &derived);
    tj_template_take_lines(fill, "reduce_derived", &derived);
    tj_signature_print(view, form, reduce, 0, 0, "const sum_t *W,", fill, "reduce_parameters");
}

/* Print the C, or the P, of a product that comes in an array. Beta = 0 must not even look for C. */
static void print_from_array(const tj_problem *view, tj_which which, const char *product, tj_text *out)
{
    if (which == TJ_MATRIX_P)
        tj_text_print(out, "output_t *P = P_array[%s];\n", product);
    else if (tj_epilogue_weighs_c(&view->epilogue))
        tj_text_print(out, "const output_t *C = beta != 0 ? C_array[%s] : nullptr;  // beta = 0 must not even look for C\n",
                      product);
    else
        tj_text_print(out, "const output_t *C = C_array[%s];\n", product);
}

static void print_operand_pointers(const tj_problem *view, const char *product, tj_text *out)
{
    for (int i = 0; view->batch != 1 && i < view->epilogue.expression.operands; i++) {
        const tj_epilogue_operand *const operand = &view->epilogue.expression.operand[i];
        char name[TJ_EPILOGUE_NAME_BYTES + 1];

        (void)tj_expression_name(operand->name, name);
        if (operand->reduction == TJ_REDUCE_NOT && operand->indexed != TJ_BY_NOTHING)
            tj_text_print(out, "%s += %s * stride_%s;\n", name, product, name);
    }
}

/* Print pointers to the scales of a product, or of a group: those that are read along k, or those that multiply the whole sum. */
static void print_scale_pointers(const tj_problem *view, bool of_m, bool along_k, const char *product, tj_text *out)
{
    for (int i = 0; i < TJ_SCALE_OPERANDS; i++) {
        const tj_which of = tj_scale_operand_of(i);
        const tj_operand_row row = tj_operand_row_of(view, TJ_SCALES + i);

        if (row.is_taken && (of_m || of == TJ_MATRIX_N) && tj_scale_operand_goes_along_k(view, i) == along_k)
            tj_text_print(out, "%s += %s * stride_%s;\n", row.name, product, row.name);
    }
}

/* Print pointers to M and N, those that the caller gives as arrays or those that strides lead to. */
static void print_inputs(const tj_problem *view, bool arrays, bool strides, const char *product, const tj_template_params *fill,
                         tj_text *out)
{
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_N; which++) {
        const bool from_array = is_array(view, which) && (which == TJ_MATRIX_M || !tj_is_grouped(view));
        const char *const type = tj_template_get(fill, which == TJ_MATRIX_M ? "m_t" : "n_t");
        const char letter = "MN"[which];

        if (from_array && arrays)
            tj_text_print(out, "const %s *%c = %c_array[%s];\n", type, letter, letter, product);
        else if (!from_array && strides && view->batch != 1)
            tj_text_print(out, "%c += %s * stride_%c;\n", letter, product, "mn"[which]);
    }
}

/* Print pointers to M, N and their scales along k, of the product that a block works on. */
static void print_factor_pointers(const tj_problem *view, const tj_launch_step *step, const tj_template_params *fill,
                                  tj_text *out)
{
    const char *const product = tj_step_product_name(step);

    print_inputs(view, true, true, product, fill, out);
    if (view->batch != 1)
        print_scale_pointers(view, true, true, product, out);
}

/* Print what small_batch takes of a team's product: at once by strides, but from arrays where it is needed. */
static void print_product_of_team(const tj_problem *view, tj_template_params *fill)
{
    const bool c_array = view->epilogue.has_beta && is_array(view, TJ_MATRIX_C), p_array = is_array(view, TJ_MATRIX_P);
    tj_text inputs = TJ_TEXT_INIT(MOST_BYTES), output = TJ_TEXT_INIT(MOST_BYTES);
    tj_text input_arrays = TJ_TEXT_INIT(MOST_BYTES), output_arrays = TJ_TEXT_INIT(MOST_BYTES);
    tj_text operands = TJ_TEXT_INIT(MOST_BYTES);

    print_inputs(view, false, true, "product", fill, &inputs);
    print_inputs(view, true, false, "product", fill, &input_arrays);
    if (view->batch != 1)
        print_scale_pointers(view, true, false, "product", &inputs);
    if (view->batch != 1 && view->epilogue.has_beta && !is_array(view, TJ_MATRIX_C))
        tj_text_append(&output, "C += product * stride_c;\n");
    if (view->batch != 1 && !p_array)
        tj_text_append(&output, "P += product * stride_p;\n");
    if (c_array || p_array)
        tj_text_append(&output_arrays, "// Looked up only now: until here the registers belonged to the sums.\n");
    if (c_array)
        print_from_array(view, TJ_MATRIX_C, "product", &output_arrays);
    if (p_array)
        print_from_array(view, TJ_MATRIX_P, "product", &output_arrays);
    print_operand_pointers(view, "product", &operands);
    tj_template_take_lines(fill, "operands_of_product", &operands);
    tj_template_take_lines(fill, "inputs_of_team", &inputs);
    tj_template_take_lines(fill, "inputs_from_arrays", &input_arrays);
    tj_template_take_lines(fill, "output_of_team", &output);
    tj_template_take_lines(fill, "output_from_arrays", &output_arrays);
}

/* Print the pointer to the N of a block's group, and to its scales. */
static void print_factor_of_group(const tj_problem *view, tj_template_params *fill)
{
    const bool has_many = tj_group_count(view) > 1;
    tj_text out = TJ_TEXT_INIT(LINE_BYTES);

    if (is_array(view, TJ_MATRIX_N))
        tj_text_print(&out, "const %s *N = N_array[group.number];\n", tj_template_get(fill, "n_t"));
    else if (has_many)
        tj_text_append(&out, "N += group.number * stride_n;\n");
    for (int along_k = 0; along_k < 2 && has_many; along_k++)
        print_scale_pointers(view, false, along_k, "group.number", &out);
    tj_template_take_lines(fill, "factor_of_group", &out);
}

/* Print how many elements of k a product of groups along k has, and where they begin in M and N. */
static void print_elements_of_k(const tj_problem *view, const tj_template_params *fill, tj_text *out)
{
    const char *const offsets = tj_template_get(fill, "offset_rows");

    if (!tj_divides_k(view))
        return;
    tj_text_print(out, "const index_t k_begin = k_at(%s, blockIdx.z, all_k);\n", offsets);
    tj_text_print(out, "const index_t k = max(k_at(%s, blockIdx.z + 1, all_k) - k_begin, static_cast<index_t>(0));\n", offsets);
    tj_text_print(out, "M += k_begin%s;\nN += k_begin%s;\n", view->m.layout == TJ_ROW_MAJOR ? "" : " * ld_m",
                  view->n.layout == TJ_ROW_MAJOR ? " * ld_n" : "");
}

static void print_product(const tj_problem *view, const tj_launch_step *step, const char *output, tj_template_params *fill)
{
    const bool is_one = view->batch == 1 && (!tj_problem_points(view) || tj_is_grouped(view));
    tj_text out = TJ_TEXT_INIT(MOST_BYTES);

    if (step->grid == TJ_GRID_PRODUCTS) {
        print_product_of_team(view, fill);
        return;
    }
    tj_text_append(&out, is_one ? "" : "// The product of the batch that this block works on.\n");
    print_factor_pointers(view, step, fill, &out);
    print_elements_of_k(view, fill, &out);
    tj_text_append(&out, step->splits > 1 ? "" : output);
    tj_text_append(&out, is_one ? "" : "\n");
    tj_template_take_lines(fill, "product_of_block", &out);
}

/*
 * Print the scales, operands, C and P of a product. Where a block walks the products of a batch (tj_grid_rule), its pointers move
 * on from the last one that it had. Return whether any does.
 */
static bool print_outputs(const tj_problem *view, const tj_launch_step *step, bool has_p_map, tj_text *out)
{
    const bool walks = step->grid == TJ_GRID_WALK_ALL, has_c = view->epilogue.has_beta;
    const char *const product = walks ? "product" : "blockIdx.z", *const passed = walks ? "passed" : product;
    tj_text strides = TJ_TEXT_INIT(MOST_BYTES);
    bool moves_on;

    if (view->batch != 1)
        print_scale_pointers(view, true, false, passed, &strides);
    print_operand_pointers(view, passed, &strides);
    if (view->batch != 1 && has_c && !is_array(view, TJ_MATRIX_C))
        tj_text_print(&strides, "C += %s * stride_c;\n", passed);
    if (view->batch != 1 && !has_p_map && !is_array(view, TJ_MATRIX_P))
        tj_text_print(&strides, "P += %s * stride_p;\n", passed);
    moves_on = walks && strides.length > 0;
    if (moves_on)
        tj_text_append(out, "const int passed = product - last_product;\nlast_product = product;\n");
    if (strides.length > 0)
        tj_text_append(out, strides.data);
    if (has_c && is_array(view, TJ_MATRIX_C))
        print_from_array(view, TJ_MATRIX_C, product, out);
    if (!has_p_map && is_array(view, TJ_MATRIX_P))
        print_from_array(view, TJ_MATRIX_P, product, out);
    tj_text_drop(&strides);
    return moves_on;
}

bool tj_signature_reads(const tj_launch_form *form, tj_which which)
{
    const tj_launch_step *const product = tj_product_step(form);
    const int32_t callers = form->is_swapped ? tj_operand_across((int)which) : (int32_t)which;

    for (int i = 0; i < product->arg_count; i++)
        if (product->arg[i].kind == TJ_ARG_POINTER && product->arg[i].index == callers)
            return true;
    return (form->needs & TJ_FEATURE_TMA) == 0;
}

void tj_signature_print_body(const tj_problem *view, const tj_launch_form *form, tj_template_params *fill)
{
    tj_text derived = TJ_TEXT_INIT(MOST_BYTES), output = TJ_TEXT_INIT(MOST_BYTES);
    const tj_launch_step *const product = tj_product_step(form);
    const bool has_p_map = product->arg_count > 0 && product->arg[product->arg_count - 1].kind == TJ_ARG_TENSOR_MAP;
    const bool needs[TJ_MATRICES] = {tj_signature_reads(form, TJ_MATRIX_M), tj_signature_reads(form, TJ_MATRIX_N),
                                     product->splits <= 1 && !has_p_map, product->splits <= 1};

    if (print_all_derived(view, needs, &derived))
        tj_text_append(&derived, "\n");
    tj_template_set_flag(fill, "moves_on", print_outputs(view, product, has_p_map, &output));
    print_product(view, product, output.length > 0 ? output.data : "", fill);
    tj_template_take_lines(fill, "derived", &derived);
    tj_template_take_lines(fill, "output_of_product", &output);
    print_factor_of_group(view, fill);
}
