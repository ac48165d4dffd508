/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expression: build the tree of an epilogue, and its canonical form.
 *
 * A node is added once: an existing equal node is used again. Arguments that commute have one order. Two spellings of one tree
 * therefore consist of the same nodes, and the canonical form only renumbers these in the order of a walk from P's value.
 */
#include "tree.h"

#include <math.h>
#include <string.h>

#include "canonical.h"
#include "error.h"

bool tj_expression_has(const tj_expression *e, int op)
{
    for (int32_t i = 0; i < e->nodes; i++)
        if (e->node[i].op == op)
            return true;
    return false;
}

bool tj_expression_names(const tj_expression *e, int index)
{
    for (int32_t i = 0; i < e->operands; i++)
        if (e->operand[i].indexed & index)
            return true;
    return tj_expression_has(e, index == TJ_BY_ROW ? TJ_OP_ROW : TJ_OP_COL);
}

uint32_t tj_expression_types(const tj_expression *e, int op)
{
    uint32_t types = 0;

    for (int32_t i = 0; i < e->operands; i++)
        types |= e->operand[i].is_output == (op == TJ_OP_CONVERT) ? UINT32_C(1) << e->operand[i].type : 0;
    for (int32_t i = 0; op == TJ_OP_CONVERT && i < e->nodes; i++)
        types |= e->node[i].op == TJ_OP_CONVERT ? UINT32_C(1) << e->node[i].b : 0;
    return types;
}

static bool is_coarse(int32_t type)
{
    return !tj_facts_of(type)->is_integer && tj_facts_of(type)->unit_roundoff >= 0x1p-9;
}

bool tj_expression_is_coarse(const tj_problem *problem)
{
    const tj_expression *e = &problem->epilogue.expression;

    for (int32_t i = 0; i < e->operands; i++)
        if (e->operand[i].is_output && !is_coarse((int32_t)tj_operand_type(problem, i)))
            return false;
    return is_coarse(problem->p.type);
}

/* ---- nodes -------------------------------------------------------------------------------------------------------- */

/* Is it the type of a number that stands alone, or 0 if `least` is 0? */
static bool may_be_type(int type, int least)
{
    return type >= least && type <= tj_type_count() && (type == TJ_TYPE_DEFAULT || tj_type_is_whole(type));
}

/* Are the counts in range? A caller may have written them, so they are never trusted. */
static bool is_sound(const tj_expression *e)
{
    return e->nodes >= 0 && e->nodes <= TJ_EPILOGUE_NODES && e->constants >= 0 && e->constants <= TJ_EPILOGUE_CONSTANTS &&
           e->operands >= 0 && e->operands <= TJ_EPILOGUE_OPERANDS;
}

/* Return the number of an equal node, or add the node. */
static int add(tj_expression *e, tj_node node)
{
    for (int32_t i = 0; i < e->nodes; i++)
        if (memcmp(&e->node[i], &node, sizeof node) == 0)
            return i;
    if (e->nodes == TJ_EPILOGUE_NODES)
        return -1;
    e->node[e->nodes] = node;
    return e->nodes++;
}

/* Rank the arguments of a commutative operation: the smaller rank comes first. */
static int rank_of(const tj_node *node, bool of_product)
{
    switch (node->op) {
    case TJ_OP_CONSTANT: /* 2 * x, but x + 2 */
        return of_product ? -3 : 10000;
    case TJ_OP_ALPHA:
        return of_product ? -2 : node->op;
    case TJ_OP_BETA:
        return of_product ? -1 : node->op;
    default:
        return node->op <= TJ_OP_ACC_ODD  ? node->op - TJ_OP_ACC
               : node->op >= TJ_OP_NEGATE ? node->op - TJ_OPS + 1000
                                          : node->op + 2000;
    }
}

/*
 * Compare nodes: below, at or above 0 if x comes before y, is y, or comes after it. Both are canonical, so different
 * nodes differ in some field.
 */
static int compare(const tj_expression *e, int x, int y, bool of_product)
{
    const tj_node *a = &e->node[x], *b = &e->node[y];
    const int difference = rank_of(a, of_product) - rank_of(b, of_product);

    if (x == y || difference != 0)
        return difference;
    if (a->op == TJ_OP_OPERAND)
        return strcmp(e->operand[a->a].name, e->operand[b->a].name);
    if (a->op == TJ_OP_CONSTANT) {
        const double first = e->constant[a->a], second = e->constant[b->a];

        return first != second ? (first < second ? -1 : 1) : signbit(first) - signbit(second);
    }
    for (int i = 0; i < tj_op_facts_of(a->op)->arguments; i++) {
        const int p = tj_node_argument(a, i), q = tj_node_argument(b, i);

        if (p != q)
            return compare(e, p, q, a->op == TJ_OP_MULTIPLY);
    }
    return a->b - b->b; /* the types of two conversions */
}

int tj_expression_constant(tj_expression *e, double value)
{
    if (!e || !is_sound(e) || !isfinite(value))
        return -1;
    for (int32_t i = 0; i < e->constants; i++)
        if (tj_same_bytes(&e->constant[i], &value, sizeof value))
            return add(e, (tj_node){TJ_OP_CONSTANT, (uint8_t)i, 0, 0});
    if (e->constants == TJ_EPILOGUE_CONSTANTS)
        return -1;
    e->constant[e->constants] = value;
    return add(e, (tj_node){TJ_OP_CONSTANT, (uint8_t)e->constants++, 0, 0});
}

static bool is_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

    if (name[0] < 'a' || name[0] > 'z' || name[length] != '\0' || length >= TJ_EPILOGUE_NAME_BYTES ||
        strcmp(name, "clamp") == 0)
        return false;
    for (int op = 0; op < TJ_OPS; op++)
        if (strcmp(name, tj_op_facts_of(op)->name) == 0)
            return false;
    return !tj_type_parse_whole(name, &(tj_type){TJ_TYPE_DEFAULT});
}

int tj_expression_operand(tj_expression *e, const char *name, int indexed, int type)
{
    tj_epilogue_operand operand = {.indexed = (uint8_t)indexed, .type = (uint8_t)type};

    if (!e || !name || !is_sound(e) || !is_name(name) || indexed < TJ_BY_NOTHING || indexed > TJ_BY_PRODUCT ||
        !may_be_type(type, 0) || (indexed == TJ_BY_NOTHING && type != 0))
        return -1;
    strcpy(operand.name, name);
    for (int32_t i = 0; i < e->operands; i++)
        if (strcmp(e->operand[i].name, name) == 0)
            return memcmp(&e->operand[i], &operand, sizeof operand) == 0 ? add(e, (tj_node){TJ_OP_OPERAND, (uint8_t)i, 0, 0})
                                                                         : -1;
    if (e->operands == TJ_EPILOGUE_OPERANDS)
        return -1;
    e->operand[e->operands] = operand;
    return add(e, (tj_node){TJ_OP_OPERAND, (uint8_t)e->operands++, 0, 0});
}

static int add_output(tj_expression *e, const char *name, int indexed, int type, int reduction, int value)
{
    tj_epilogue_operand output = {.indexed = (uint8_t)indexed,
                                  .type = (uint8_t)type,
                                  .is_output = 1,
                                  .value = (uint8_t)value,
                                  .reduction = (uint8_t)reduction};

    if (!e || !name || !is_sound(e) || !is_name(name) || !may_be_type(type, 0) || value < 0 || value >= e->nodes ||
        tj_node_is_condition(e, value) || e->operands == TJ_EPILOGUE_OPERANDS)
        return -1;
    for (int32_t i = 0; i < e->operands; i++)
        if (strcmp(e->operand[i].name, name) == 0)
            return -1;
    strcpy(output.name, name);
    e->operand[e->operands] = output;
    return e->operands++;
}

int tj_expression_output(tj_expression *e, const char *name, int type, int value)
{
    return add_output(e, name, TJ_BY_BOTH, type, TJ_REDUCE_NOT, value);
}

int tj_expression_reduction(tj_expression *e, const char *name, int indexed, int type, int reduction, int value)
{
    if ((indexed != TJ_BY_ROW && indexed != TJ_BY_COL) || reduction < TJ_REDUCE_SUM || reduction > TJ_REDUCE_MAX)
        return -1;
    return add_output(e, name, indexed, type, reduction, value);
}

int tj_expression_apply(tj_expression *e, int op, int a, int b, int c)
{
    const int given[] = {a, b, c};
    tj_node node = {.op = (uint8_t)op};

    if (!e || !is_sound(e) || op < TJ_OP_ACC || op >= TJ_OPS || op == TJ_OP_CONSTANT || op == TJ_OP_OPERAND)
        return -1;
    for (int i = 0; i < tj_op_facts_of(op)->arguments; i++) {
        const bool wants_condition = tj_op_facts_of(op)->takes_condition && (i == 0 || op == TJ_OP_AND || op == TJ_OP_OR);

        if (given[i] < 0 || given[i] >= e->nodes || tj_node_is_condition(e, given[i]) != wants_condition)
            return -1;
        *(i == 0 ? &node.a : i == 1 ? &node.b : &node.c) = (uint8_t)given[i];
    }
    if (op == TJ_OP_CONVERT) {
        if (!may_be_type(b, 1))
            return -1;
        node.b = (uint8_t)b;
    }
    if (op == TJ_OP_NEGATE && e->node[a].op == TJ_OP_CONSTANT)
        return tj_expression_constant(e, -e->constant[e->node[a].a]);
    if (tj_op_facts_of(op)->is_commutative && compare(e, node.a, node.b, op == TJ_OP_MULTIPLY) > 0) {
        node.a = (uint8_t)given[1];
        node.b = (uint8_t)given[0];
    }
    return add(e, node);
}

/* ---- the canonical form ------------------------------------------------------------------------------------------- */

/*
 * Copy a node and its arguments, arguments first. number: of each node in the copy; -1: not copied yet. The number of nodes
 * bounds the depth.
 */
static int copy(const tj_expression *from, int at, int *number, tj_expression *to)
{
    tj_node node = from->node[at];
    const tj_epilogue_operand *operand = &from->operand[node.a % TJ_EPILOGUE_OPERANDS];

    if (number[at] >= 0)
        return number[at];
    if (node.op == TJ_OP_CONSTANT)
        return number[at] = tj_expression_constant(to, from->constant[node.a]);
    if (node.op == TJ_OP_OPERAND)
        return number[at] = tj_expression_operand(to, operand->name, operand->indexed, operand->type);
    if (tj_op_facts_of(node.op)->arguments > 0)
        node.a = (uint8_t)copy(from, node.a, number, to);
    if (tj_op_facts_of(node.op)->arguments > 1)
        node.b = (uint8_t)copy(from, node.b, number, to);
    if (tj_op_facts_of(node.op)->arguments > 2)
        node.c = (uint8_t)copy(from, node.c, number, to);
    return number[at] = add(to, node);
}

/* Copy outputs in their order, each after its value. */
static bool copy_outputs(const tj_expression *from, int *number, tj_expression *to)
{
    for (int32_t i = 0; i < from->operands; i++) {
        const tj_epilogue_operand *output = &from->operand[i];
        const int value = output->is_output ? copy(from, output->value, number, to) : -1;

        if (output->is_output &&
            (output->reduction == TJ_REDUCE_NOT
                 ? tj_expression_output(to, output->name, output->type, value)
                 : tj_expression_reduction(to, output->name, output->indexed, output->type, output->reduction, value)) < 0)
            return false;
    }
    return true;
}

/* Is a node x * y of these two operations? */
static bool is_product(const tj_expression *e, int at, int x, int y)
{
    const tj_node *node = &e->node[at];

    return node->op == TJ_OP_MULTIPLY && e->node[node->a].op == x && e->node[node->b].op == y;
}

/* Is it acc, or alpha * acc? */
static bool is_plain_sum(const tj_expression *e, int at)
{
    return e->node[at].op == TJ_OP_ACC || is_product(e, at, TJ_OP_ALPHA, TJ_OP_ACC);
}

/* Can flags express it: alpha * acc + beta * c, or a part of that? */
static bool is_simple(const tj_expression *e)
{
    const tj_node *last = &e->node[e->value];

    if (e->operands > 0)
        return false;
    if (is_plain_sum(e, e->value))
        return true;
    if (last->op != TJ_OP_ADD)
        return false;
    return (is_plain_sum(e, last->a) && is_product(e, last->b, TJ_OP_BETA, TJ_OP_C)) ||
           (is_plain_sum(e, last->b) && is_product(e, last->a, TJ_OP_BETA, TJ_OP_C));
}

static bool has_sound_nodes(const tj_expression *e)
{
    if (!is_sound(e))
        return false;
    for (int32_t i = 0; i < e->nodes; i++) {
        const tj_node *node = &e->node[i];

        if (node->op < TJ_OP_ACC || node->op >= TJ_OPS || (node->op == TJ_OP_CONSTANT && node->a >= e->constants) ||
            (node->op == TJ_OP_OPERAND && node->a >= e->operands) || (node->op == TJ_OP_CONVERT && !may_be_type(node->b, 1)))
            return false;
        for (int argument = 0; argument < tj_op_facts_of(node->op)->arguments; argument++)
            if (tj_node_argument(node, argument) >= i)
                return false;
    }
    for (int32_t i = 0; i < e->operands; i++)
        if (!memchr(e->operand[i].name, '\0', TJ_EPILOGUE_NAME_BYTES) ||
            (e->operand[i].is_output && e->operand[i].value >= e->nodes))
            return false;
    return true;
}

tj_status tj_epilogue_finish(const tj_expression *expression, int value, tj_epilogue *epilogue, tj_error *err)
{
    if (TJ_HAS_NULL(err, expression, epilogue))
        return TJ_ERR_INVALID_ARGUMENT;
    const tj_expression *const e = expression;
    tj_epilogue made = {0};
    char text[TJ_EPILOGUE_TEXT_BYTES];
    int number[TJ_EPILOGUE_NODES];

    if (!has_sound_nodes(e) || value < 0 || value >= e->nodes)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "value is %d, which is not a node of the expression: an earlier call exceeded a limit (%d operations, %d "
            "constants, %d operands) or passed an argument that it does not take",
            value, TJ_EPILOGUE_NODES, TJ_EPILOGUE_CONSTANTS, TJ_EPILOGUE_OPERANDS);
    if (tj_node_is_condition(e, value))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the expression is a condition, and P holds numbers: use select(condition, 1, 0)");
    memset(number, 0xff, sizeof number);
    if (!copy_outputs(e, number, &made.expression) || (made.expression.value = copy(e, value, number, &made.expression)) < 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "the expression holds an invalid operand or constant: make it with tj_epilogue_parse or tj_epilogue_finish");
    if (tj_epilogue_pairs(&made) && tj_expression_has(&made.expression, TJ_OP_ACC))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the expression names acc and a pair of columns: write acc[2*col] or acc[2*col+1] in place of acc");
    if (tj_expression_has(&made.expression, TJ_OP_BETA) && !tj_expression_has(&made.expression, TJ_OP_C))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the expression names beta without c: use a number of your own, such as "
                       "shift");
    made.has_alpha = tj_expression_has(&made.expression, TJ_OP_ALPHA);
    made.has_beta = tj_expression_has(&made.expression, TJ_OP_C);
    if (is_simple(&made.expression))
        memset(&made.expression, 0, sizeof made.expression);
    tj_epilogue_print(&made, text);
    if (text[0] == '\0')
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the canonical text of the expression would have more than %d bytes",
                       TJ_EPILOGUE_TEXT_BYTES - 1);
    *epilogue = made;
    return TJ_OK;
}

int tj_epilogue_pairs(const tj_epilogue *epilogue)
{
    return epilogue && is_sound(&epilogue->expression) &&
           (tj_expression_has(&epilogue->expression, TJ_OP_ACC_EVEN) ||
            tj_expression_has(&epilogue->expression, TJ_OP_ACC_ODD));
}

int tj_epilogue_reduces(const tj_epilogue *epilogue)
{
    if (!epilogue || !is_sound(&epilogue->expression))
        return 0;
    for (int32_t i = 0; i < epilogue->expression.operands; i++)
        if (epilogue->expression.operand[i].reduction != TJ_REDUCE_NOT)
            return 1;
    return 0;
}

int tj_epilogue_find(const tj_epilogue *epilogue, const char *name)
{
    if (!epilogue || !name || !is_sound(&epilogue->expression))
        return -1;
    for (int32_t i = 0; i < epilogue->expression.operands; i++)
        if (strncmp(epilogue->expression.operand[i].name, name, TJ_EPILOGUE_NAME_BYTES) == 0)
            return i;
    return -1;
}

void tj_expression_transpose(tj_expression *e)
{
    for (int32_t i = 0; i < e->nodes; i++) {
        uint8_t *const op = &e->node[i].op;

        *op = *op == TJ_OP_ROW ? TJ_OP_COL : *op == TJ_OP_COL ? TJ_OP_ROW : *op;
    }
    for (int32_t i = 0; i < e->operands; i++) {
        uint8_t *const indexed = &e->operand[i].indexed;

        *indexed = *indexed == TJ_BY_ROW ? TJ_BY_COL : *indexed == TJ_BY_COL ? TJ_BY_ROW : *indexed;
    }
}

/* ---- the check ---------------------------------------------------------------------------------------------------- */

/* May numbers be read from memory as this type, or converted to it, if the expression computes in `number`? */
static bool goes_with(tj_type number, int32_t type)
{
    return number == TJ_F64 ? type == TJ_F64 || type == TJ_F32 : type != TJ_F64 && tj_type_is_whole(type);
}

static tj_status check_type(tj_type number, int32_t type, const char *what, const char *name, tj_error *err)
{
    if (type == 0 || goes_with(number, type))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s %s is %s, and the expression computes in %s: use %s", what, name,
                   tj_type_name((tj_type)type), tj_type_name(number),
                   number == TJ_F64 ? "f64 or f32" : "f32 or a narrower type");
}

/* Each column of P takes a pair of columns of M . N. */
static tj_status check_pairs(const tj_problem *words, tj_error *err)
{
    const tj_dim *const l = &words->l;

    if (!tj_epilogue_pairs(&words->epilogue))
        return TJ_OK;
    if (words->p.layout != TJ_ROW_MAJOR)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the epilogue takes pairs of columns, and P is column-major: store P row-major");
    if (l->mode == TJ_DIM_FIXED && l->extent % 2 != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the epilogue takes pairs of columns, and l is %lld: give N an even number of columns",
                       (long long)l->extent);
    if (l->mode == TJ_DIM_ANY && (l->multiple_of < 2 || l->multiple_of % 2 != 0))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the epilogue takes pairs of columns, and l is known only at launch: promise that it is a multiple of 2 "
                       "(multiple_of, --multiple-of l=2)");
    return TJ_OK;
}

/*
 * Partial results need a workspace, whose size must be known before a launch; and rows outside all groups would be in no
 * result.
 */
static tj_status check_reductions(const tj_problem *words, tj_error *err)
{
    const char *const open_size = tj_problem_open_size(words);

    if (!tj_epilogue_reduces(&words->epilogue))
        return TJ_OK;
    if (tj_is_grouped(words))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the epilogue reduces rows or columns, and the problem has groups: reduce P in a kernel of your own");
    if (open_size)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the epilogue reduces rows or columns, and %s is known only at launch: fix j, l and the batch, which "
                       "make the size of the workspace",
                       open_size);
    return TJ_OK;
}

tj_status tj_expression_check(const tj_problem *words, tj_error *err)
{
    const tj_epilogue *epilogue = &words->epilogue;
    const tj_expression *e = &epilogue->expression;
    const tj_type number = tj_compute_facts_of(words->compute)->sum == TJ_F64 ? TJ_F64 : TJ_F32;
    tj_epilogue again = *epilogue;
    tj_status status = TJ_OK;

    if (e->nodes == 0 && (e->constants | e->operands | e->value) == 0)
        return TJ_OK;
    if (e->nodes < 1 || !has_sound_nodes(e) || tj_epilogue_finish(e, e->value, &again, NULL) != TJ_OK ||
        !tj_same_bytes(&again, epilogue, sizeof again)) {
        const bool is_flag = e->nodes > 0 && has_sound_nodes(e) && tj_epilogue_finish(e, e->value, &again, NULL) == TJ_OK &&
                             (again.has_alpha != epilogue->has_alpha || again.has_beta != epilogue->has_beta);

        return is_flag
                   ? tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                             "has_alpha is %d and has_beta is %d, but the expression names %s alpha and %s c: leave both to "
                             "tj_epilogue_parse",
                             epilogue->has_alpha, epilogue->has_beta, again.has_alpha ? "an" : "no",
                             again.has_beta ? "a" : "no")
                   : tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                             "epilogue.expression is not what tj_epilogue_parse or tj_epilogue_finish made: use one of them");
    }
    if ((status = check_pairs(words, err)) != TJ_OK || (status = check_reductions(words, err)) != TJ_OK)
        return status;
    for (int32_t i = 0; i < e->operands && status == TJ_OK; i++)
        status = check_type(number, e->operand[i].type, "operand", e->operand[i].name, err);
    for (int32_t i = 0; i < e->nodes && status == TJ_OK; i++)
        if (e->node[i].op == TJ_OP_CONVERT)
            status = check_type(number, e->node[i].b, "a conversion of", "the epilogue", err);
    for (int32_t i = 0; i < e->constants && status == TJ_OK && number == TJ_F32; i++)
        if (!isfinite((float)e->constant[i]) || ((float)e->constant[i] == 0) != (e->constant[i] == 0)) {
            char text[TJ_NUMBER_BYTES];

            status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                             "the expression holds %s and computes in f32, which holds 1.4e-45 to 3.4e38",
                             tj_print_number(e->constant[i], false, text));
        }
    return status;
}
