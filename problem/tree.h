/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree: what other files need of the tree of an epilogue beyond <tilejit/epilogue.h>.
 */
#ifndef TJ_PROBLEM_TREE_H
#define TJ_PROBLEM_TREE_H

#include <stdbool.h>

#include <tilejit/problem.h>

#include "canonical.h"

/** What is said of an operation wherever it is read, printed or counted. */
typedef struct tj_op_facts {
    const char *name; /* as it is called: "gelu"; of a sign: "+" */
    int32_t arguments;
    int32_t binds;        /* of a sign: how tightly, 1 loosest; 0: it is called, or is a leaf */
    bool takes_condition; /* its first argument is one, of && and || both */
    bool is_condition;    /* its value is one */
    bool is_commutative;
    int32_t flop; /* for an element, as a multiple of an addition */
} tj_op_facts;

/** op must be one. operation.c. */
const tj_op_facts *tj_op_facts_of(int op);

/** Is the value of a node a condition? */
static inline bool tj_node_is_condition(const tj_expression *e, int node)
{
    return tj_op_facts_of(e->node[node].op)->is_condition;
}

/** Argument i of a node, as the number of a node. */
static inline int tj_node_argument(const tj_node *node, int i)
{
    return i == 0 ? node->a : i == 1 ? node->b : node->c;
}

/** The types (bits 1 << tj_type) that operands have, or that conversions and outputs do: op is TJ_OP_OPERAND or TJ_OP_CONVERT. */
uint32_t tj_expression_types(const tj_expression *e, int op);

/** Does some node have this operation? */
bool tj_expression_has(const tj_expression *e, int op);

/** Does it name the row (TJ_BY_ROW) or the column (TJ_BY_COL) of an element, by itself or as an index of an operand? */
bool tj_expression_names(const tj_expression *e, int index);

/** Is beta named, so that a beta of 0 reads no C? Without an expression it always is. */
static inline bool tj_epilogue_weighs_c(const tj_epilogue *epilogue)
{
    return epilogue->has_beta && (epilogue->expression.nodes == 0 || tj_expression_has(&epilogue->expression, TJ_OP_BETA));
}

/** The type of an operand's elements, or of a number. Canonical. */
static inline tj_type tj_operand_type(const tj_problem *problem, int operand)
{
    const uint8_t type = problem->epilogue.expression.operand[operand].type;

    return type ? (tj_type)type : tj_scalar_type(problem);
}

/**
 * Are P and all further outputs floats with so few bits (bf16, e4m3, e5m2) that gelu_tanh may take the device's own tanh, which has 11?
 * Its result is off by 2^-12 of its argument at most.
 */
bool tj_expression_is_coarse(const tj_problem *problem);

/** Columns of P: those of N, or half of them. Its extents are numbers. */
static inline int64_t tj_problem_p_cols(const tj_problem *problem)
{
    return tj_epilogue_pairs(&problem->epilogue) ? problem->l.extent / 2 : problem->l.extent;
}

/** A number in as few digits as give it back, as f32 if is_f32, whatever the locale. Returns text. */
enum { TJ_NUMBER_BYTES = 32 };
const char *tj_print_number(double value, bool is_f32, char text[TJ_NUMBER_BYTES]);

/** As tj_epilogue_print, or without blanks and with one in place of each comma, as a cell of a list has it. */
void tj_epilogue_print_as(const tj_epilogue *epilogue, bool is_cell, char text[TJ_EPILOGUE_TEXT_BYTES]);

/** The tree of a P whose rows and columns have changed places. */
void tj_expression_transpose(tj_expression *e);

/** Is this a tree that the functions of this library may walk, and may its problem have it? The words of the problem are known. */
tj_status tj_expression_check(const tj_problem *words, tj_error *err);

#endif
