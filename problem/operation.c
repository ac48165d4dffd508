/* SPDX-License-Identifier: Apache-2.0 */
/* operation: the table of the operations of an epilogue. */
#include "tree.h"

enum { OR_BINDS = 1, AND_BINDS, COMPARISON_BINDS, SUM_BINDS, PRODUCT_BINDS, SIGN_BINDS };

static const tj_op_facts facts[TJ_OPS] = {
    [TJ_OP_NONE] = {"", 0},
    [TJ_OP_ACC] = {"acc", 0},
    [TJ_OP_ACC_EVEN] = {"acc[2*col]", 0},
    [TJ_OP_ACC_ODD] = {"acc[2*col+1]", 0},
    [TJ_OP_ROW] = {"row", 0},
    [TJ_OP_COL] = {"col", 0},
    [TJ_OP_ALPHA] = {"alpha", 0},
    [TJ_OP_BETA] = {"beta", 0},
    [TJ_OP_C] = {"c", 0},
    [TJ_OP_CONSTANT] = {"", 0},
    [TJ_OP_OPERAND] = {"", 0},
    [TJ_OP_NEGATE] = {"-", 1, SIGN_BINDS, .flop = 1},
    [TJ_OP_NOT] = {"!", 1, SIGN_BINDS, .takes_condition = true, .is_condition = true},
    [TJ_OP_ABS] = {"abs", 1, .flop = 1},
    [TJ_OP_EXP] = {"exp", 1, .flop = 8},
    [TJ_OP_LOG] = {"log", 1, .flop = 12},
    [TJ_OP_SQRT] = {"sqrt", 1, .flop = 8},
    [TJ_OP_RSQRT] = {"rsqrt", 1, .flop = 4},
    [TJ_OP_TANH] = {"tanh", 1, .flop = 16},
    [TJ_OP_ERF] = {"erf", 1, .flop = 24},
    [TJ_OP_SIGMOID] = {"sigmoid", 1, .flop = 12},
    [TJ_OP_RELU] = {"relu", 1, .flop = 1},
    [TJ_OP_GELU] = {"gelu", 1, .flop = 28},
    [TJ_OP_GELU_TANH] = {"gelu_tanh", 1, .flop = 20},
    [TJ_OP_SILU] = {"silu", 1, .flop = 13},
    [TJ_OP_CONVERT] = {"", 1, .flop = 2},
    [TJ_OP_ADD] = {"+", 2, SUM_BINDS, .is_commutative = true, .flop = 1},
    [TJ_OP_SUBTRACT] = {"-", 2, SUM_BINDS, .flop = 1},
    [TJ_OP_MULTIPLY] = {"*", 2, PRODUCT_BINDS, .is_commutative = true, .flop = 1},
    [TJ_OP_DIVIDE] = {"/", 2, PRODUCT_BINDS, .flop = 8},
    [TJ_OP_MIN] = {"min", 2, .is_commutative = true, .flop = 1},
    [TJ_OP_MAX] = {"max", 2, .is_commutative = true, .flop = 1},
    [TJ_OP_LESS] = {"<", 2, COMPARISON_BINDS, .is_condition = true, .flop = 1},
    [TJ_OP_LESS_EQUAL] = {"<=", 2, COMPARISON_BINDS, .is_condition = true, .flop = 1},
    [TJ_OP_EQUAL] = {"==", 2, COMPARISON_BINDS, .is_condition = true, .is_commutative = true, .flop = 1},
    [TJ_OP_NOT_EQUAL] = {"!=", 2, COMPARISON_BINDS, .is_condition = true, .is_commutative = true, .flop = 1},
    [TJ_OP_AND] = {"&&", 2, AND_BINDS, .takes_condition = true, .is_condition = true, .is_commutative = true},
    [TJ_OP_OR] = {"||", 2, OR_BINDS, .takes_condition = true, .is_condition = true, .is_commutative = true},
    [TJ_OP_SELECT] = {"select", 3, .takes_condition = true, .flop = 1},
};

const tj_op_facts *tj_op_facts_of(int op)
{
    return &facts[op];
}
