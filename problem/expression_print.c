/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expression_print: print the canonical text of an epilogue.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

/* A text of TJ_EPILOGUE_TEXT_BYTES, which is emptied when it overflows. */
typedef struct printing {
    const tj_expression *e;
    bool is_cell;
    char *text;
    size_t length;
    bool is_full;
} printing;

const char *tj_print_number(double value, bool is_f32, char text[TJ_NUMBER_BYTES])
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(plain);

    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(text, TJ_NUMBER_BYTES, "%.*g", digits, value);
        if (is_f32 ? (float)strtod(text, NULL) == (float)value : strtod(text, NULL) == value)
            break;
    }
    (void)uselocale(before);
    freelocale(plain);
    return text;
}

static void append(printing *p, const char *text)
{
    const size_t length = strlen(text);

    p->is_full = p->is_full || p->length + length >= TJ_EPILOGUE_TEXT_BYTES;
    if (p->is_full)
        return;
    memcpy(p->text + p->length, text, length + 1);
    p->length += length;
}

static void append_comma(printing *p)
{
    append(p, p->is_cell ? " " : ", ");
}

static void append_operand(printing *p, const tj_epilogue_operand *operand)
{
    append(p, operand->name);
    if (operand->type) {
        append(p, ":");
        append(p, tj_type_name((tj_type)operand->type));
    }
    append(p, operand->indexed == TJ_BY_COL       ? "[col]"
              : operand->indexed == TJ_BY_ROW     ? "[row]"
              : operand->indexed == TJ_BY_NOTHING ? ""
              : operand->indexed == TJ_BY_PRODUCT ? "[0]"
              : p->is_cell                        ? "[row col]"
                                                  : "[row, col]");
}

/*
 * least: put brackets around a node that binds less tightly. Stops once the text is full, because a printed tree may exceed
 * memory.
 */
static void append_node(printing *p, int at, int least)
{
    const tj_node *node = &p->e->node[at];
    const tj_op_facts *facts = tj_op_facts_of(node->op);
    const bool is_bracketed = facts->binds > 0 && facts->binds < least;
    char number[TJ_NUMBER_BYTES];

    if (p->is_full)
        return;
    append(p, is_bracketed ? "(" : "");
    if (node->op == TJ_OP_CONSTANT) {
        append(p, tj_print_number(p->e->constant[node->a], false, number));
    } else if (node->op == TJ_OP_OPERAND) {
        append_operand(p, &p->e->operand[node->a]);
    } else if (facts->binds > 0 && facts->arguments == 2) {
        const bool compares = node->op >= TJ_OP_LESS && node->op <= TJ_OP_NOT_EQUAL;

        append_node(p, node->a, facts->binds + compares);
        append(p, p->is_cell ? "" : " ");
        append(p, facts->name);
        append(p, p->is_cell ? "" : " ");
        append_node(p, node->b, facts->binds + 1);
    } else {
        append(p, node->op == TJ_OP_CONVERT ? tj_type_name((tj_type)node->b) : facts->name);
        append(p, facts->arguments > 0 && facts->binds == 0 ? "(" : "");
        for (int i = 0; i < facts->arguments; i++) {
            if (i > 0)
                append_comma(p);
            append_node(p, tj_node_argument(node, i), facts->binds + (node->op == TJ_OP_NEGATE)); /* never print --x */
        }
        append(p, facts->arguments > 0 && facts->binds == 0 ? ")" : "");
    }
    append(p, is_bracketed ? ")" : "");
}

void tj_epilogue_print_as(const tj_epilogue *epilogue, bool is_cell, char text[TJ_EPILOGUE_TEXT_BYTES])
{
    printing p = {.e = &epilogue->expression, .is_cell = is_cell, .text = text};

    text[0] = '\0';
    for (int i = 0; i < epilogue->expression.operands; i++)
        if (epilogue->expression.operand[i].is_output) {
            append_operand(&p, &epilogue->expression.operand[i]);
            append(&p, is_cell ? "=" : " = ");
            append(&p, epilogue->expression.operand[i].reduction == TJ_REDUCE_SUM   ? "sum("
                       : epilogue->expression.operand[i].reduction == TJ_REDUCE_MAX ? "max("
                                                                                    : "");
            append_node(&p, epilogue->expression.operand[i].value, 0);
            append(&p, epilogue->expression.operand[i].reduction != TJ_REDUCE_NOT ? ")" : "");
            append(&p, is_cell ? ";" : "; ");
        }
    if (epilogue->expression.nodes > 0)
        append_node(&p, epilogue->expression.value, 0);
    else
        (void)snprintf(text, TJ_EPILOGUE_TEXT_BYTES, "%sacc%s", epilogue->has_alpha ? "alpha * " : "",
                       epilogue->has_beta ? " + beta * c" : "");
    if (p.is_full)
        text[0] = '\0';
}

void tj_epilogue_print(const tj_epilogue *epilogue, char text[TJ_EPILOGUE_TEXT_BYTES])
{
    if (epilogue && text)
        tj_epilogue_print_as(epilogue, false, text);
}
