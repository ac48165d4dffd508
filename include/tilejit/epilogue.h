/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue.h: the computation applied to an accumulator before it is stored in P.
 *
 * The simple cases are numbers: alpha, and beta times C. Anything else is an expression over the
 * accumulator, such as gelu(acc + bias[col]), which the kernel computes while it is still in a register. docs/epilogues.md has
 * the language.
 *
 *     tj_problem problem = TJ_PROBLEM_INIT(512, 300, 700, TJ_BF16);
 *     status = tj_epilogue_parse("gelu(acc + bias[col])", &problem.epilogue, &err);
 *
 *     tj_operands x = TJ_OPERANDS(M, N, P);
 *     if (status == TJ_OK)
 *         status = tj_operands_set(&x, &problem, "bias", bias, &err);
 *
 * An expression is data: it has no pointers, is copied with the problem, and needs no freeing. No text of a caller reaches the
 * compiler: the CUDA source is printed from the tree.
 */
#ifndef TILEJIT_EPILOGUE_H
#define TILEJIT_EPILOGUE_H

#include <stdint.h>

#include <tilejit/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Limits of an expression. */
enum {
    TJ_EPILOGUE_NODES = 64,
    TJ_EPILOGUE_CONSTANTS = 16,
    TJ_EPILOGUE_OPERANDS = 8,
    TJ_EPILOGUE_NAME_BYTES = 16,     /**< of an operand's name, its NUL included */
    TJ_EPILOGUE_PARSED_BYTES = 4096, /**< of a text that is parsed */
    TJ_EPILOGUE_TEXT_BYTES = 1024    /**< of the canonical text, its NUL included */
};

/**
 * Operations. All compute in f32, in f64 for TJ_COMPUTE_F64. Accumulators of TJ_COMPUTE_S32 are converted to f32 first, so that
 * whole numbers beyond 2^24 may be rounded.
 */
typedef enum tj_op {
    TJ_OP_NONE = 0,
    /* leaves */
    TJ_OP_ACC,      /**< acc: the sum, multiplied by the scales of M and N where the problem has them */
    TJ_OP_ACC_EVEN, /**< acc[2*col]: of a pair of neighbouring columns of M . N, the sum in the first; see tj_epilogue_pairs */
    TJ_OP_ACC_ODD,  /**< acc[2*col+1]: and that in the second */
    TJ_OP_ROW,      /**< row: the row of P, from 0 on */
    TJ_OP_COL,      /**< col: the column of P */
    TJ_OP_ALPHA,    /**< alpha, an argument of every launch */
    TJ_OP_BETA,     /**< beta: if the epilogue has it and it is 0, C is not read and c is 0 */
    TJ_OP_C,        /**< c: the element of C */
    TJ_OP_CONSTANT, /**< a number of the expression */
    TJ_OP_OPERAND,  /**< an operand of the caller: bias[col], gain[row], residual[row,col], slope */
    /* of one argument */
    TJ_OP_NEGATE,  /**< -x */
    TJ_OP_NOT,     /**< !x, of a condition */
    TJ_OP_ABS,     /**< abs(x) */
    TJ_OP_EXP,     /**< exp(x) */
    TJ_OP_LOG,     /**< log(x): the natural logarithm */
    TJ_OP_SQRT,    /**< sqrt(x) */
    TJ_OP_RSQRT,   /**< rsqrt(x): 1 / sqrt(x) */
    TJ_OP_TANH,    /**< tanh(x) */
    TJ_OP_ERF,     /**< erf(x) */
    TJ_OP_SIGMOID, /**< sigmoid(x): 1 / (1 + exp(-x)) */
    TJ_OP_RELU,    /**< relu(x): x, or 0 if x is negative; a NaN stays a NaN */
    TJ_OP_GELU,    /**< gelu(x): x / 2 * (1 + erf(x / sqrt(2))) */
    /**
     * gelu_tanh(x): x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))). If P and all outputs are bf16, e4m3 or e5m2, tanh
     * is the device's own, and the error at most 2^-12 * |x|, about half the difference from gelu.
     */
    TJ_OP_GELU_TANH,
    TJ_OP_SILU,    /**< silu(x): x * sigmoid(x) */
    TJ_OP_CONVERT, /**< bf16(x), s8(x) and so on: x as that type would store it, saturated as P is (tj_epilogue) */
    /* of two */
    TJ_OP_ADD,
    TJ_OP_SUBTRACT,
    TJ_OP_MULTIPLY,
    TJ_OP_DIVIDE,
    TJ_OP_MIN, /**< min(x, y): of a number and a NaN, the number */
    TJ_OP_MAX, /**< max(x, y) */
    /* of two, giving a condition */
    TJ_OP_LESS,
    TJ_OP_LESS_EQUAL,
    TJ_OP_EQUAL,
    TJ_OP_NOT_EQUAL,
    TJ_OP_AND, /**< x && y, of conditions */
    TJ_OP_OR,  /**< x || y */
    /* of three */
    TJ_OP_SELECT, /**< select(condition, x, y): x where the condition holds, else y */
    TJ_OPS
} tj_op;

/** One operation. Arguments are the numbers of earlier nodes. */
typedef struct tj_node {
    uint8_t op; /**< tj_op */
    /**
     * Its arguments. For TJ_OP_CONSTANT and TJ_OP_OPERAND, a is the number of the constant or operand; for TJ_OP_CONVERT, b is
     * the tj_type. Unused ones are 0.
     */
    uint8_t a, b, c;
} tj_node;

/** The index of an operand, and so its number of elements. */
typedef enum tj_indexed {
    TJ_BY_NOTHING = 0, /**< slope: a number that each launch brings */
    TJ_BY_COL = 1,     /**< bias[col]: one element for each column of P */
    TJ_BY_ROW = 2,     /**< gain[row]: one for each row */
    TJ_BY_BOTH = 3,    /**< residual[row,col]: a matrix stored as P is, with its own leading dimension */
    TJ_BY_PRODUCT = 4  /**< factor[0]: one element in device memory, for each product of a batch, which the kernel reads */
} tj_indexed;

/** The reduction of a row or column of P by an output. */
typedef enum tj_reduction {
    TJ_REDUCE_NOT = 0, /**< it has a value for each element */
    TJ_REDUCE_SUM = 1, /**< sum(x): added up in the type that the expression computes in, in an order that is always the same */
    TJ_REDUCE_MAX = 2  /**< max(x): the largest, and NaN if one of them is NaN; max(abs(x)) is the largest magnitude */
} tj_reduction;

/** An operand of an expression besides the accumulator, or an output besides P. */
typedef struct tj_epilogue_operand {
    char name[TJ_EPILOGUE_NAME_BYTES]; /**< a lower-case letter, then letters, digits and _; the rest is NUL */
    uint8_t indexed;                   /**< tj_indexed */
    uint8_t type;        /**< tj_type of its elements; 0: f32, for TJ_COMPUTE_F64 f64. Numbers have that type, and no other */
    uint8_t is_output;   /**< 1: it receives the value of a node, or its reduction; it is never read */
    uint8_t value;       /**< the number of that node */
    uint8_t reduction;   /**< tj_reduction, of an output */
    uint8_t reserved[3]; /**< must be 0 */
} tj_epilogue_operand;

/** An expression as a tree in an array; equal subtrees are one node. Fill it by tj_epilogue_parse or by the builders below. */
typedef struct tj_expression {
    int32_t nodes; /**< 0: there is none */
    int32_t constants;
    int32_t operands;
    int32_t value; /**< the number of the node that P receives */
    tj_node node[TJ_EPILOGUE_NODES];
    double constant[TJ_EPILOGUE_CONSTANTS];
    tj_epilogue_operand operand[TJ_EPILOGUE_OPERANDS];
} tj_expression;

/**
 * The operations on an accumulator, which scales of M and N (problem.h) have multiplied, before it is stored in P, in the order
 * of these members. All zero: it is stored unchanged.
 *
 * It is stored rounded to nearest, ties to even. In e4m3 and e5m2, and in integers, values beyond the largest number become the
 * largest number; NaN stays NaN in e4m3 and e5m2, and becomes 0 in integers.
 *
 * If compute is TJ_COMPUTE_S32, P is an integer, and there is neither a scale nor an expression, alpha and beta are integers of
 * 32 bits, and the result is exact until it is stored.
 */
typedef struct tj_epilogue {
    int32_t has_alpha; /**< 1: it is multiplied by alpha, an argument of every launch */
    int32_t has_beta;  /**< 1: beta * C is added. beta is an argument of every launch; a beta of 0 never reads C */
    /**
     * The value of P instead of the formula of alpha and beta. has_alpha and has_beta then say whether it names alpha, and c or
     * beta.
     */
    tj_expression expression;
} tj_epilogue;

/**
 * Parse an expression, such as "gelu(acc + bias[col]) * gain[row]". Further outputs may precede it, each ended by a semicolon:
 * "pre:bf16[row, col] = acc + bias[col]; gelu(acc + bias[col])", or of each row or column, "peak[row] = max(abs(acc)); acc".
 * *epilogue receives its canonical form, in which two spellings of one tree are equal bytes; alpha * acc + beta * c and simpler
 * forms become flags without an expression.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: the text is empty, longer than TJ_EPILOGUE_PARSED_BYTES or not an expression; brackets or
 *          signs are nested more than 64 deep; a limit of tj_expression is exceeded; an operand is indexed in two ways. The
 *          message is followed by the text around the fault, with a caret under its column, each on a line of its own. On
 *          failure *epilogue stays as it is.
 */
TJ_API TJ_MUST_CHECK tj_status tj_epilogue_parse(const char *text, tj_epilogue *epilogue, tj_error *err);

/**
 * Print the canonical text of an expression, which parses to the same bytes. For an epilogue without an expression it is the
 * formula of its flags: "acc", "alpha * acc + beta * c". NULL: neither may be NULL. Threads: any; pure.
 */
TJ_API void tj_epilogue_print(const tj_epilogue *epilogue, char text[TJ_EPILOGUE_TEXT_BYTES]);

/**
 * Does the expression take pairs of columns, acc[2*col] and acc[2*col+1]? Then M . N is still j x l, and l must be even (if it
 * is an argument, multiple_of must be), but P, C and operands indexed by col have l / 2 columns, P is row-major, and acc alone
 * has no meaning: silu(acc[2*col]) * acc[2*col+1] is a gate. NULL: answers 0. Threads: any; pure.
 */
TJ_API int tj_epilogue_pairs(const tj_epilogue *epilogue);

/**
 * Does the expression have an output that reduces each row or column? A launch then needs a workspace. So j and l are fixed,
 * the batch is a number, and the problem has no groups. NULL: answers 0. Threads: any; pure.
 */
TJ_API int tj_epilogue_reduces(const tj_epilogue *epilogue);

/** Return the number of the operand or output of that name, -1 if there is none. NULL: answers -1. Threads: any; pure. */
TJ_API int tj_epilogue_find(const tj_epilogue *epilogue, const char *name);

/* ---- building an expression without text -------------------------------------------------------------------------- */

/**
 * Add to an expression that began all zero, and return the node's number. An existing equal node is reused. -1: a limit is
 * exceeded, an argument is not a node, or the types do not match; -1 as an argument gives -1, so that it is enough to check the
 * last call, tj_epilogue_finish.
 *
 *     tj_expression e = {0};
 *     int bias = tj_expression_operand(&e, "bias", TJ_BY_COL, TJ_BF16);
 *     int sum = tj_expression_apply(&e, TJ_OP_ADD, tj_expression_apply(&e, TJ_OP_ACC, 0, 0, 0), bias, 0);
 *     status = tj_epilogue_finish(&e, tj_expression_apply(&e, TJ_OP_GELU, sum, 0, 0), &problem.epilogue, &err);
 *
 * NULL: expression and name must not be NULL. Threads: one at a time for an expression.
 */
TJ_API int tj_expression_constant(tj_expression *expression, double value);
/** indexed: tj_indexed; type: tj_type, or 0. An operand that is named again must be declared alike. */
TJ_API int tj_expression_operand(tj_expression *expression, const char *name, int indexed, int type);
/** A further output, a matrix of that type (0: as for an operand), stored as P is, that receives the value of a node. */
TJ_API int tj_expression_output(tj_expression *expression, const char *name, int type, int value);
/**
 * A further output that reduces the value of a node: one element for each row (indexed: TJ_BY_ROW) or column (TJ_BY_COL) of
 * P.
 */
TJ_API int tj_expression_reduction(tj_expression *expression, const char *name, int indexed, int type, int reduction,
                                   int value);
/** op: neither a constant nor an operand. Arguments that it does not take are ignored; b of TJ_OP_CONVERT is a tj_type. */
TJ_API int tj_expression_apply(tj_expression *expression, int op, int a, int b, int c);

/**
 * Store the value of a node in P: *epilogue receives the canonical form, as from tj_epilogue_parse.
 * NULL: only err may be NULL. Threads: any; pure.
 * Errors: TJ_ERR_INVALID_ARGUMENT: value is -1, or a condition, not a number; the canonical text would be too long.
 */
TJ_API TJ_MUST_CHECK tj_status tj_epilogue_finish(const tj_expression *expression, int value, tj_epilogue *epilogue,
                                                  tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
