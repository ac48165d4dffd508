/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree: declarations for other files about the tree of an epilogue, beyond <tilejit/epilogue.h>.
 */
#ifndef TJ_PROBLEM_TREE_H
#define TJ_PROBLEM_TREE_H

#include <stdbool.h>

#include <tilejit/problem.h>

#include "canonical.h"

/** The facts about an operation that parsing, printing and counting share. */
typedef struct tj_op_facts {
    const char *name; /* the name "gelu", or the sign "+" */
    int32_t arguments;
    int32_t binds;        /* of a sign: how tightly it binds, 1 loosest; 0: a call or a leaf */
    bool takes_condition; /* its first argument is a condition; of && and || both are */
    bool is_condition;    /* its value is a condition */
    bool is_commutative;
    int32_t flop; /* of an element, as a multiple of an addition */
} tj_op_facts;

/** Return the facts about an operation, which must be valid. operation.c. */
const tj_op_facts *tj_op_facts_of(int op);

/** Is the value of a node a condition? */
static inline bool tj_node_is_condition(const tj_expression *e, int node)
{
    return tj_op_facts_of(e->node[node].op)->is_condition;
}

/** Return argument i of a node, as the number of a node. */
static inline int tj_node_argument(const tj_node *node, int i)
{
    return i == 0 ? node->a : i == 1 ? node->b : node->c;
}

/**
 * Return the types (bits 1 << tj_type) of operands, or those of conversions and outputs: op is TJ_OP_OPERAND or TJ_OP_CONVERT.
 */
uint32_t tj_expression_types(const tj_expression *e, int op);

/** Does some node have this operation? */
bool tj_expression_has(const tj_expression *e, int op);

/** Does it use the row (TJ_BY_ROW) or the column (TJ_BY_COL) of an element, as a value or as an index of an operand? */
bool tj_expression_names(const tj_expression *e, int index);

/** Does the epilogue name beta, so that a beta of 0 reads no C? Without an expression it always does. */
static inline bool tj_epilogue_weighs_c(const tj_epilogue *epilogue)
{
    return epilogue->has_beta && (epilogue->expression.nodes == 0 || tj_expression_has(&epilogue->expression, TJ_OP_BETA));
}

/** Return the type of an operand's elements, or of a number. Canonical. */
static inline tj_type tj_operand_type(const tj_problem *problem, int operand)
{
    const uint8_t type = problem->epilogue.expression.operand[operand].type;

    return type ? (tj_type)type : tj_scalar_type(problem);
}

/**
 * Do P and all other outputs have so few bits (bf16, e4m3, e5m2) that gelu_tanh may use the device's tanh, which has 11? The
 * error of the result is at most 2^-12 of its argument.
 */
bool tj_expression_is_coarse(const tj_problem *problem);

/** Return the columns of P: those of N, or half of them. Its extents are numbers. */
static inline int64_t tj_problem_p_cols(const tj_problem *problem)
{
    return problem->l.extent / tj_sums_per_column(problem);
}

/** Print a number with the fewest digits that give it back, as f32 if is_f32, in any locale. Returns text. */
enum { TJ_NUMBER_BYTES = 32 };
const char *tj_print_number(double value, bool is_f32, char text[TJ_NUMBER_BYTES]);

/** As tj_epilogue_print or, for a cell of a list, without blanks and with a blank in place of each comma. */
void tj_epilogue_print_as(const tj_epilogue *epilogue, bool is_cell, char text[TJ_EPILOGUE_TEXT_BYTES]);

/** Transpose the tree of a P: exchange its rows and columns. */
void tj_expression_transpose(tj_expression *e);

/**
 * Is this a tree that the functions of this library may walk, and may its problem have it? Types and layouts of the problem are
 * spelled out.
 */
tj_status tj_expression_check(const tj_problem *words, tj_error *err);

#endif
