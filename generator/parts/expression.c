/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expression: print nodes in their order, arguments first. A node that is used twice, or that would make a line too long,
 * becomes a constant x1, x2 and so on; every other node is printed where it is used.
 */
#include "expression.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "invariant.h"
#include "tree.h"

enum { TERM_BYTES = 512, LONG_TERM = 88, NAME_BYTES = TJ_EPILOGUE_NAME_BYTES + 1, MOST_BYTES = 64 * 1024 };

/* A node as it is printed at its use. binds: as tj_op_facts; a name or a call binds tighter than every operator. */
typedef struct term {
    char text[TERM_BYTES];
    int binds;
} term;

enum { ATOM = 100 };

typedef struct printing {
    const tj_problem *view;
    const tj_expression *e;
    tj_expression_sums sums;
    const char *col;
    bool is_f64;
    int uses[TJ_EPILOGUE_NODES];
    term term[TJ_EPILOGUE_NODES];
    int names; /* constants so far: x1 to x<names> */
} printing;

/* Names that no template uses; tests/generator/test_epilogue.c checks that. */
static const char *const free_names[] = {"bias", "gain", "residual", "shift", "slope", "threshold", "mask", "temperature"};

const char *tj_expression_name(const char *name, char text[NAME_BYTES])
{
    bool is_free = false;

    for (size_t i = 0; i < sizeof free_names / sizeof free_names[0]; i++)
        is_free |= strcmp(name, free_names[i]) == 0;
    (void)snprintf(text, NAME_BYTES, "%s%s", name, is_free ? "" : "_");
    return text;
}

static const char *real_name(const printing *p)
{
    return p->is_f64 ? "double" : "float";
}

__attribute__((format(printf, 3, 4))) static void set(printing *p, int at, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    (void)vsnprintf(p->term[at].text, TERM_BYTES, format, values);
    va_end(values);
    p->term[at].binds = ATOM;
}

/* ---- nodes -------------------------------------------------------------------------------------------------------- */

static void print_loaded(printing *p, int at, int32_t type, const char *element)
{
    if (type == (p->is_f64 ? TJ_F64 : TJ_F32))
        set(p, at, "%s", element);
    else
        set(p, at, "static_cast<%s>(%s)", real_name(p), element);
}

/* Print the index of an element of P in a matrix that is stored like P. */
static void print_place(const printing *p, const char *matrix, const char *ld, char *out, size_t bytes)
{
    const bool by_rows = p->view->p.layout == TJ_ROW_MAJOR;

    if (by_rows)
        (void)snprintf(out, bytes, "%s[Row * %s + %s]", matrix, ld, p->col);
    else
        (void)snprintf(out, bytes, p->sums.by_vector ? "%s[(%s) * %s + Row]" : "%s[%s * %s + Row]", matrix, p->col, ld);
}

static void print_operand(printing *p, int at)
{
    const int number = p->e->node[at].a;
    const tj_epilogue_operand *operand = &p->e->operand[number];
    char name[NAME_BYTES], ld[NAME_BYTES + 4], element[TERM_BYTES / 2];

    (void)tj_expression_name(operand->name, name);
    if (operand->indexed == TJ_BY_BOTH) {
        (void)snprintf(ld, sizeof ld, "ld_%s", name);
        print_place(p, name, ld, element, sizeof element);
    } else {
        (void)snprintf(element, sizeof element, "%s[%s]", name,
                       operand->indexed == TJ_BY_PRODUCT ? "0"
                       : operand->indexed == TJ_BY_ROW   ? "Row"
                                                         : p->col);
    }
    if (operand->indexed == TJ_BY_NOTHING)
        set(p, at, "%s", name);
    else
        print_loaded(p, at, (int32_t)tj_operand_type(p->view, number), element);
}

static void print_c(printing *p, int at)
{
    char element[TERM_BYTES / 2];

    if (p->sums.by_vector)
        (void)snprintf(element, sizeof element, "before.element[i]");
    else
        print_place(p, "C", "ld_c", element, sizeof element);
    if (tj_epilogue_weighs_c(&p->view->epilogue) && !p->sums.by_vector)
        set(p, at, "(beta != 0 ? static_cast<%s>(%s) : 0)", real_name(p), element);
    else
        print_loaded(p, at, p->view->p.type, element);
}

static void print_constant(printing *p, int at)
{
    const double value = p->e->constant[p->e->node[at].a];
    char number[TJ_NUMBER_BYTES];

    (void)tj_print_number(value, !p->is_f64, number);
    set(p, at, "%s%s%s", number, strpbrk(number, ".e") ? "" : ".0", p->is_f64 ? "" : "f");
}

/* Is it row or col? Their comparisons, with each other and with whole numbers, use integers. */
static bool is_place(const tj_expression *e, int at)
{
    return e->node[at].op == TJ_OP_ROW || e->node[at].op == TJ_OP_COL;
}

static bool is_whole(const tj_expression *e, int at)
{
    const double value = e->node[at].op == TJ_OP_CONSTANT ? e->constant[e->node[at].a] : 0.5;

    return value >= -2147483648.0 && value <= 2147483647.0 && value == (double)(int64_t)value;
}

static const char *place_name(const printing *p, int at)
{
    return p->e->node[at].op == TJ_OP_ROW ? "Row" : p->col;
}

/* Print one side of an integer comparison. */
static void print_whole(const printing *p, int at, char text[TJ_NUMBER_BYTES])
{
    if (is_place(p->e, at))
        (void)snprintf(text, TJ_NUMBER_BYTES, "%s", place_name(p, at));
    else
        (void)snprintf(text, TJ_NUMBER_BYTES, "%lld", (long long)p->e->constant[p->e->node[at].a]);
}

static void print_sign(printing *p, int at)
{
    const tj_node *node = &p->e->node[at];
    const tj_op_facts *facts = tj_op_facts_of(node->op);
    const bool compares = node->op >= TJ_OP_LESS && node->op <= TJ_OP_NOT_EQUAL;
    const bool places = compares && (is_place(p->e, node->a) || is_place(p->e, node->b)) &&
                        (is_place(p->e, node->a) || is_whole(p->e, node->a)) &&
                        (is_place(p->e, node->b) || is_whole(p->e, node->b));
    const term *a = &p->term[node->a], *b = &p->term[node->b];
    char first[TJ_NUMBER_BYTES], second[TJ_NUMBER_BYTES];

    if (facts->arguments == 1) {
        set(p, at, a->binds < ATOM ? "%s(%s)" : "%s%s", facts->name, a->text);
    } else if (places) {
        print_whole(p, node->a, first);
        print_whole(p, node->b, second);
        set(p, at, "%s %s %s", first, facts->name, second);
    } else if (node->op == TJ_OP_MULTIPLY && tj_is_invariant(p->view)) { /* never part of a fused multiply-add */
        set(p, at, "__%smul_rn(%s, %s)", p->is_f64 ? "d" : "f", a->text, b->text);
        return;
    } else {
        const bool left = a->binds < facts->binds + compares, right = b->binds <= facts->binds;

        set(p, at, "%s%s%s %s %s%s%s", left ? "(" : "", a->text, left ? ")" : "", facts->name, right ? "(" : "", b->text,
            right ? ")" : "");
    }
    p->term[at].binds = facts->binds;
}

/* Return the CUDA name, without the f of f32. NULL: the expression's own name, which templates/parts/functions.cuh defines. */
static const char *function_of(int op)
{
    switch (op) {
    case TJ_OP_ABS:
        return "fabs";
    case TJ_OP_MIN:
        return "fmin";
    case TJ_OP_MAX:
        return "fmax";
    case TJ_OP_EXP:
    case TJ_OP_LOG:
    case TJ_OP_SQRT:
    case TJ_OP_RSQRT:
    case TJ_OP_TANH:
    case TJ_OP_ERF:
        return tj_op_facts_of(op)->name;
    default:
        return NULL;
    }
}

static void print_call(printing *p, int at)
{
    const tj_node *node = &p->e->node[at];
    const char *function = function_of(node->op), *a = p->term[node->a].text;

    if (node->op == TJ_OP_SELECT)
        set(p, at, "(%s ? %s : %s)", a, p->term[node->b].text, p->term[node->c].text);
    else if (node->op == TJ_OP_CONVERT && node->b == (p->is_f64 ? TJ_F64 : TJ_F32))
        p->term[at] = p->term[node->a];
    else if (node->op == TJ_OP_CONVERT)
        set(p, at, "static_cast<%s>(static_cast<%s>(%s))", real_name(p), tj_facts_of(node->b)->cuda, a);
    else if (tj_op_facts_of(node->op)->arguments == 2)
        set(p, at, "%s%s(%s, %s)", function, p->is_f64 ? "" : "f", a, p->term[node->b].text);
    else
        set(p, at, "%s%s(%s)", function ? function : tj_op_facts_of(node->op)->name, function && !p->is_f64 ? "f" : "", a);
}

static void print_node(printing *p, int at)
{
    const int op = p->e->node[at].op;

    if (op >= TJ_OP_ACC && op <= TJ_OP_ACC_ODD)
        set(p, at, "%s", op == TJ_OP_ACC_ODD ? p->sums.second : p->sums.first);
    else if (op == TJ_OP_ROW || op == TJ_OP_COL)
        set(p, at, "static_cast<%s>(%s)", real_name(p), place_name(p, at));
    else if (op == TJ_OP_ALPHA || op == TJ_OP_BETA)
        set(p, at, "%s", tj_op_facts_of(op)->name);
    else if (op == TJ_OP_C)
        print_c(p, at);
    else if (op == TJ_OP_CONSTANT)
        print_constant(p, at);
    else if (op == TJ_OP_OPERAND)
        print_operand(p, at);
    else if (tj_op_facts_of(op)->binds > 0)
        print_sign(p, at);
    else
        print_call(p, at);
}

/* Is it a leaf, which costs nothing to repeat? */
static bool is_word(const tj_expression *e, int at)
{
    const tj_node *node = &e->node[at];

    return node->op < TJ_OP_C || node->op == TJ_OP_CONSTANT ||
           (node->op == TJ_OP_OPERAND && e->operand[node->a].indexed == TJ_BY_NOTHING);
}

static void count_uses(printing *p)
{
    for (int at = 0; at < p->e->nodes; at++)
        for (int i = 0; i < tj_op_facts_of(p->e->node[at].op)->arguments; i++)
            p->uses[tj_node_argument(&p->e->node[at], i)]++;
    for (int i = 0; i < p->e->operands; i++)
        p->uses[p->e->operand[i].value] += p->e->operand[i].is_output;
    p->uses[p->e->value]++;
}

/* Print "place = static_cast<type>(value);". */
static void print_assignment(const printing *p, const char *place, const char *type, int value, tj_text *out)
{
    tj_text_append(out, place);
    tj_text_append(out, " = static_cast<");
    tj_text_append(out, type);
    tj_text_append(out, ">(");
    tj_text_append(out, p->term[value].text);
    tj_text_append(out, ");\n");
}

void tj_reduction_print_step(const tj_epilogue_operand *output, const char *index, const char *value, tj_text *out)
{
    const bool is_sum = output->reduction == TJ_REDUCE_SUM;
    char so_far[NAME_BYTES + 32];

    (void)snprintf(so_far, sizeof so_far, "%s_so_far%s", output->name, index);
    tj_text_append(out, so_far);
    tj_text_append(out, is_sum ? " += " : " = larger(");
    tj_text_append(out, is_sum ? "" : so_far);
    tj_text_append(out, is_sum ? "" : ", ");
    tj_text_append(out, value);
    tj_text_append(out, is_sum ? ";\n" : ");\n");
}

/* Fold this element's value into the thread's partial reduction of the row or column. */
static void print_reduced(const printing *p, const tj_epilogue_operand *output, tj_text *out)
{
    const bool pairs = tj_epilogue_pairs(&p->view->epilogue);
    const char *const index = !p->sums.by_thread             ? ""
                              : output->indexed == TJ_BY_ROW ? "[r]"
                              : p->sums.by_vector            ? (pairs ? "[c / 2 + i]" : "[c + i]")
                                                             : (pairs ? "[c / 2]" : "[c]");

    tj_reduction_print_step(output, index, p->term[output->value].text, out);
}

static void print_output(const printing *p, int number, tj_text *out)
{
    char name[NAME_BYTES], ld[NAME_BYTES + 4], place[TERM_BYTES / 2];

    tj_text_append(out, p->sums.may_be_outside ? "if (inside)\n    " : "");
    if (p->e->operand[number].reduction != TJ_REDUCE_NOT) {
        print_reduced(p, &p->e->operand[number], out);
        return;
    }
    (void)tj_expression_name(p->e->operand[number].name, name);
    (void)snprintf(ld, sizeof ld, "ld_%s", name);
    print_place(p, name, ld, place, sizeof place);
    print_assignment(p, place, tj_type_get_facts(tj_operand_type(p->view, number))->cuda, p->e->operand[number].value, out);
}

static void print_store(printing *p, tj_text *out)
{
    char line[TERM_BYTES + 64], place[TERM_BYTES / 2];

    count_uses(p);
    for (int at = 0; at < p->e->nodes; at++) {
        print_node(p, at);
        if (is_word(p->e, at) || (at == p->e->value && p->uses[at] == 1) ||
            (p->uses[at] < 2 && strlen(p->term[at].text) <= LONG_TERM))
            continue;
        (void)snprintf(line, sizeof line, "const %s x%d = %s;\n", tj_node_is_condition(p->e, at) ? "bool" : real_name(p),
                       ++p->names, p->term[at].text);
        tj_text_append(out, line);
        set(p, at, "x%d", p->names);
    }
    for (int i = 0; i < p->e->operands; i++)
        if (p->e->operand[i].is_output)
            print_output(p, i, out);
    if (p->sums.value)
        (void)snprintf(place, sizeof place, "%s", p->sums.value);
    else if (p->sums.by_vector)
        (void)snprintf(place, sizeof place, "value.element[i]");
    else if (tj_is_scattered(p->view))
        (void)snprintf(place, sizeof place, "P[to * ld_p + %s]", p->col);
    else if (p->sums.place)
        (void)snprintf(place, sizeof place, "%s", p->sums.place);
    else
        print_place(p, "P", "ld_p", place, sizeof place);
    if (tj_is_scattered(p->view) && !p->sums.value && !p->sums.by_vector)
        tj_text_append(out, "const long long to = scattered(p_index, Row, p_rows);  // the row of P\nif (to >= 0)\n    ");
    print_assignment(p, place, p->sums.value ? real_name(p) : "output_t", p->e->value, out);
}

/* ---- functions ---------------------------------------------------------------------------------------------------- */

/* Set the part that defines a function; "" if the expression does not use it. */
static void set_function(const char *name, bool is_used, const char *variant, tj_template_params *fill)
{
    char part[TJ_TEMPLATE_VALUE_BYTES];

    (void)snprintf(part, sizeof part, "functions/%s%s.cuh", name, variant);
    tj_template_set(fill, name, is_used ? part : "");
}

static void set_functions(const printing *p, tj_template_params *fill)
{
    const bool is_coarse = tj_expression_is_coarse(p->view), uses_tanh = tj_expression_has(p->e, TJ_OP_GELU_TANH);
    const char *const of_type = p->is_f64 ? "_f64" : "";

    set_function("sigmoid",
                 tj_expression_has(p->e, TJ_OP_SIGMOID) || tj_expression_has(p->e, TJ_OP_SILU) || (uses_tanh && !is_coarse),
                 of_type, fill);
    set_function("relu", tj_expression_has(p->e, TJ_OP_RELU), "", fill);
    set_function("gelu", tj_expression_has(p->e, TJ_OP_GELU), "", fill);
    set_function("gelu_tanh", uses_tanh, p->is_f64 ? "_f64" : is_coarse ? "_device" : "", fill);
    set_function("silu", tj_expression_has(p->e, TJ_OP_SILU), "", fill);
    tj_template_set(fill, "real_t", real_name(p));
    tj_template_set(fill, "erf", p->is_f64 ? "erf" : "erff");
    tj_template_set(fill, "lowest", p->is_f64 ? "__longlong_as_double(0xfff0000000000000)" : "__int_as_float(0xff800000)");
}

tj_status tj_expression_describe(const tj_problem *view, const tj_expression_sums *sums, tj_template_params *fill,
                                 tj_error *err)
{
    const tj_expression *const e = &view->epilogue.expression;
    tj_text store = TJ_TEXT_INIT(MOST_BYTES);
    printing *p;

    tj_template_set(fill, "functions", e->nodes > 0 ? "parts/functions.cuh" : "");
    tj_template_set(fill, "read_c",
                    !view->epilogue.has_beta                ? ""
                    : tj_epilogue_weighs_c(&view->epilogue) ? "parts/read_c.cuh"
                                                            : "parts/always_read_c.cuh");
    if (e->nodes == 0)
        return TJ_OK;
    p = calloc(1, sizeof *p);
    if (!p)
        return tj_fail_memory(err, "the text of an expression");
    p->view = view;
    p->e = e;
    p->sums = *sums;
    p->col = tj_epilogue_pairs(&view->epilogue) ? (sums->by_vector ? "Col / 2 + i" : "Col / 2")
             : sums->by_vector                  ? "Col + i"
                                                : "Col";
    p->is_f64 = tj_scalar_type(view) == TJ_F64;
    set_functions(p, fill);
    print_store(p, &store);
    free(p);
    tj_template_take_lines(fill, sums->value ? "quantized_value" : "store_value", &store);
    return TJ_OK;
}
