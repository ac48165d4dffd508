/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print: print a problem as one line for people.
 */
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "canonical.h"
#include "number_field.h"
#include "tree.h"

static void print_dim(tj_text *text, const char *name, const tj_dim *dim)
{
    tj_text_append(text, name);
    if (dim->mode == TJ_DIM_FIXED) {
        tj_text_append_int(text, dim->extent);
        return;
    }
    tj_text_append(text, "=any");
    if (dim->multiple_of > 1) {
        tj_text_append(text, "*");
        tj_text_append_int(text, dim->multiple_of);
    }
}

static void print_number(tj_text *text, const char *name, int64_t value, int64_t standard)
{
    if (value == standard)
        return;
    tj_text_append(text, name);
    if (value == TJ_ANY)
        tj_text_append(text, "any");
    else if (value == TJ_BROADCAST)
        tj_text_append(text, "broadcast");
    else if (value == TJ_POINTERS)
        tj_text_append(text, "pointers");
    else if (value == TJ_POINTERS_16)
        tj_text_append(text, "pointers16");
    else
        tj_text_append_int(text, value);
}

void tj_problem_print_marks(const tj_problem *problem, char marks[TJ_PROBLEM_TEXT_BYTES])
{
    static const char *const col[] = {" M:col", " N:col", " P:col"};
    const bool has_expression = problem->epilogue.expression.nodes > 0;
    char text[TJ_EPILOGUE_TEXT_BYTES];

    marks[0] = '\0';
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_P; which++)
        strcat(marks, tj_problem_matrix(problem, which)->layout == TJ_COL_MAJOR ? col[which] : "");
    for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS; which++)
        strcat(marks, tj_is_repacked(problem, which) ? which == TJ_MATRIX_M ? " M:repacked" : " N:repacked" : "");
    for (tj_which which = TJ_MATRIX_M; which < TJ_SCALED; which++)
        if (tj_is_scaled(problem, which)) {
            strcat(strcat(marks, " "), tj_scale_name(which));
            tj_scale_print_mark(problem, which, marks + strlen(marks));
        }
    strcat(marks, problem->epilogue.has_alpha && !has_expression ? " alpha" : "");
    strcat(marks, problem->epilogue.has_beta && !has_expression ? " beta" : "");
    if (tj_scales_name_k(problem)) {
        text[tj_format_int(text, tj_scale_k(problem))] = '\0';
        strcat(strcat(marks, " scale_k="), text);
    }
    if (has_expression) {
        tj_epilogue_print(&problem->epilogue, text);
        strcat(strcat(marks, " epilogue="), text);
    }
}

/* " gather", " combine=3"; one that kernels do not depend on has a place of its own. */
static void print_number_field(tj_text *text, const tj_number_field *field, const tj_problem *problem)
{
    const int64_t number = tj_number_get(problem, field->offset, field->bytes);

    if (!field->record || number == 0)
        return;
    tj_text_append(text, " ");
    tj_text_append(text, field->name);
    if (field->word && number <= field->most)
        tj_text_append(text, "="), tj_text_append(text, field->word[number - 1]);
    else if (field->most > 1)
        print_number(text, "=", number, 0);
}

void tj_problem_print(const tj_problem *problem, char *out)
{
    if (!problem || !out)
        return;
    static const char *const ld[] = {" ld_m=", " ld_n=", " ld_p=", " ld_c="};
    static const char *const stride[] = {" stride_m=", " stride_n=", " stride_p=", " stride_c="};
    const tj_problem c = tj_problem_canonical(problem);
    tj_problem bare = c; /* the same with tight leading dimensions and strides, which need not be printed */
    tj_text text = TJ_TEXT_INIT(TJ_PROBLEM_TEXT_BYTES - 1);
    char *line = NULL;

    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++)
        tj_matrix_of(&bare, which)->ld = tj_matrix_of(&bare, which)->stride = TJ_TIGHT;
    bare = tj_problem_canonical(&bare);
    print_dim(&text, "j", &c.j);
    print_dim(&text, " k", &c.k);
    print_dim(&text, " l", &c.l);
    tj_text_append(&text, " ");
    tj_text_append(&text, tj_type_name((tj_type)c.m.type));
    for (tj_which which = TJ_MATRIX_N; which <= TJ_MATRIX_P; which++)
        if (tj_problem_matrix(&c, which)->type != c.m.type) {
            tj_text_append(&text, which == TJ_MATRIX_N ? " N:" : " P:");
            tj_text_append(&text, tj_type_name((tj_type)tj_problem_matrix(&c, which)->type));
        }
    if (c.compute != tj_facts_of(tj_leading_type(c.m.type, c.n.type))->compute) {
        tj_text_append(&text, " compute:");
        tj_text_append(&text, tj_compute_name((tj_compute)c.compute));
    }
    tj_problem_print_marks(&c, out);
    tj_text_append(&text, out);
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++)
        print_number(&text, ld[which], tj_problem_matrix(&c, which)->ld, tj_problem_matrix(&bare, which)->ld);
    print_number(&text, " batch=", c.batch, 1);
    print_number(&text, " groups=", c.rows.groups, 0);
    if (tj_has_offsets(&c) && (tj_offset_bytes(&c) == 8 || tj_offsets_on_host(&c))) {
        tj_text_append(&text, tj_offsets_on_host(&c) ? " offsets:host" : " offsets:");
        tj_text_append(&text, tj_offset_bytes(&c) == 8 ? "64" : "");
    }
    tj_text_append(&text, tj_is_masked(&c) ? " masked" : tj_divides_k(&c) ? " along-k" : "");
    for (size_t i = 0; tj_number_field_at(i); i++)
        print_number_field(&text, tj_number_field_at(i), &c);
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++)
        print_number(&text, stride[which], tj_problem_matrix(&c, which)->stride, tj_problem_matrix(&bare, which)->stride);
    tj_text_append(&text, c.overlap ? " overlap" : "");
    out[0] = '\0';
    if (tj_text_take(&text, &line, NULL) == TJ_OK)
        strcpy(out, line);
    free(line);
}
