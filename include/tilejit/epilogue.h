/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue.h: the computation applied to an accumulator before it is stored in P.
 *
 * The simple cases are numbers: alpha, and beta times C. Anything else is an expression over the accumulator, such as gelu(acc
 * + bias[col]), which the kernel computes while the accumulator is still in a register. docs/epilogues.md describes the
 * language.
 *
 *     tj_problem problem = TJ_PROBLEM_INIT(512, 300, 700, TJ_BF16);
 *     status = tj_epilogue_parse("gelu(acc + bias[col])", &problem.epilogue, &err);
 *
 *     tj_operands x = TJ_OPERANDS(M, N, P);
 *     if (status == TJ_OK)
 *         status = tj_operands_set(&x, &problem, "bias", bias, &err);
 *
 * An expression is data: it has no pointers, is copied with the problem, and needs no freeing. The caller's text never reaches
 * the compiler: the CUDA source is printed from the tree.
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
    TJ_EPILOGUE_NAME_BYTES = 16,     /**< bytes of an operand's name, NUL included */
    TJ_EPILOGUE_PARSED_BYTES = 4096, /**< bytes of a text that is parsed */
    TJ_EPILOGUE_TEXT_BYTES = 1024    /**< bytes of the canonical text, NUL included */
};

/**
 * Operations. All compute in f32, or in f64 for TJ_COMPUTE_F64. Accumulators of TJ_COMPUTE_S32 are converted to f32 first, so
 * that whole numbers beyond 2^24 may be rounded.
 */
typedef enum tj_op {
    TJ_OP_NONE = 0,
    /* leaves */
    TJ_OP_ACC,      /**< acc: the sum, multiplied by the scales of M and N where the problem has them */
    TJ_OP_ACC_EVEN, /**< acc[2*col]: the sum in the first of a pair of neighbouring columns of M . N; see tj_epilogue_pairs */
    TJ_OP_ACC_ODD,  /**< acc[2*col+1]: the sum in the second */
    TJ_OP_ROW,      /**< row: the row of P, counted from 0 */
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
    TJ_OP_MIN, /**< min(x, y): if one of them is NaN, the other */
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

/** The index of an operand, which decides its number of elements. */
typedef enum tj_indexed {
    TJ_BY_NOTHING = 0, /**< slope: a number that each launch states */
    TJ_BY_COL = 1,     /**< bias[col]: one element for each column of P */
    TJ_BY_ROW = 2,     /**< gain[row]: one for each row */
    TJ_BY_BOTH = 3,    /**< residual[row,col]: a matrix stored as P is, with its own leading dimension */
    TJ_BY_PRODUCT = 4  /**< factor[0]: one element in device memory for each product of a batch; the kernel reads it */
} tj_indexed;

/** The reduction of a row or column of P by an output. */
typedef enum tj_reduction {
    TJ_REDUCE_NOT = 0, /**< no reduction: a value for each element */
    TJ_REDUCE_SUM = 1, /**< sum(x): the sum, in the type of the expression's arithmetic, in an order that is always the same */
    TJ_REDUCE_MAX = 2  /**< max(x): the largest, and NaN if one of them is NaN; max(abs(x)) is the largest magnitude */
} tj_reduction;

/** An operand of an expression besides the accumulator, or an output besides P. */
typedef struct tj_epilogue_operand {
    char name[TJ_EPILOGUE_NAME_BYTES]; /**< a lower-case letter, then letters, digits and _; the rest is NUL */
    uint8_t indexed;                   /**< tj_indexed */
    uint8_t type;        /**< tj_type of its elements; 0: f32, for TJ_COMPUTE_F64 f64. A number (TJ_BY_NOTHING) can have no
                              other type */
    uint8_t is_output;   /**< 1: it receives the value of a node, or its reduction; it is never read */
    uint8_t value;       /**< the number of that node */
    uint8_t reduction;   /**< tj_reduction, of an output */
    uint8_t reserved[3]; /**< must be 0 */
} tj_epilogue_operand;

/** An expression as a tree in an array; equal subtrees share one node. Fill it with tj_epilogue_parse or the builders below. */
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
 * The operations on an accumulator before it is stored in P, in the order of these members. Scales of M and N (problem.h) have
 * been applied before. All zero: the accumulator is stored unchanged.
 *
 * The value is rounded to nearest, ties to even. In e4m3 and e5m2, and in integers, values beyond the largest number become the
 * largest number; NaN stays NaN in e4m3 and e5m2, and becomes 0 in integers.
 *
 * If compute is TJ_COMPUTE_S32, P is an integer, and there is neither a scale nor an expression, alpha and beta are integers of
 * 32 bits, and the result is exact until it is stored.
 */
typedef struct tj_epilogue {
    int32_t has_alpha; /**< 1: it is multiplied by alpha, an argument of every launch */
    int32_t has_beta;  /**< 1: beta * C is added. beta is an argument of every launch; a beta of 0 never reads C */
    /**
     * The value of P, in place of the formula of alpha and beta. has_alpha then states whether the expression names alpha, and
     * has_beta whether it names c or beta.
     */
    tj_expression expression;
} tj_epilogue;

/**
 * Parse an expression, such as "gelu(acc + bias[col]) * gain[row]". Further outputs may precede it, each ended by a semicolon:
 * "pre:bf16[row, col] = acc + bias[col]; gelu(acc + bias[col])", or, for each row or column, "peak[row] = max(abs(acc)); acc".
 * *epilogue receives the canonical form: two spellings of one tree give equal bytes, and alpha * acc + beta * c and simpler
 * forms become flags without an expression.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: the text is empty, longer than TJ_EPILOGUE_PARSED_BYTES or not an expression; brackets or
 *          signs are nested more than 64 deep; a limit of tj_expression is exceeded; an operand is indexed in two ways. The
 *          message is followed by the text around the fault, with a caret under its column, each on a line of its own. On
 *          failure *epilogue is unchanged.
 */
TJ_API TJ_MUST_CHECK tj_status tj_epilogue_parse(const char *text, tj_epilogue *epilogue, tj_error *err);

/**
 * Print the canonical text of an expression, which parses to the same bytes. For an epilogue without an expression the text is
 * the formula of its flags: "acc", "alpha * acc + beta * c". NULL: neither may be NULL. Threads: any; pure.
 */
TJ_API void tj_epilogue_print(const tj_epilogue *epilogue, char text[TJ_EPILOGUE_TEXT_BYTES]);

/**
 * Return 1 if the expression takes pairs of columns, acc[2*col] and acc[2*col+1], else 0. With pairs M . N is still j x l, and
 * l must be even (if it is an argument, multiple_of must be even), but P, C and operands indexed by col have l / 2 columns, P
 * is row-major, and acc alone has no meaning: silu(acc[2*col]) * acc[2*col+1] is a gate. NULL: returns 0. Threads: any; pure.
 */
TJ_API int tj_epilogue_pairs(const tj_epilogue *epilogue);

/**
 * Return 1 if the expression has an output that reduces each row or column, else 0. A launch then needs a workspace, so j and l
 * are fixed, the batch is a number, and the problem has no groups. NULL: returns 0. Threads: any; pure.
 */
TJ_API int tj_epilogue_reduces(const tj_epilogue *epilogue);

/** Return the number of the operand or output with this name, or -1 if there is none. NULL: returns -1. Threads: any; pure. */
TJ_API int tj_epilogue_find(const tj_epilogue *epilogue, const char *name);

/* ---- building an expression without text -------------------------------------------------------------------------- */

/**
 * Add a node to an expression, which must be all zero before its first node, and return the node's number. If there is an equal
 * node, that one is reused. Returns -1 if a limit is exceeded, an argument is not a node, or the types do not match. An
 * argument of -1 gives -1 too, so it suffices to check the last call, tj_epilogue_finish.
 *
 *     tj_expression e = {0};
 *     int bias = tj_expression_operand(&e, "bias", TJ_BY_COL, TJ_BF16);
 *     int sum = tj_expression_apply(&e, TJ_OP_ADD, tj_expression_apply(&e, TJ_OP_ACC, 0, 0, 0), bias, 0);
 *     status = tj_epilogue_finish(&e, tj_expression_apply(&e, TJ_OP_GELU, sum, 0, 0), &problem.epilogue, &err);
 *
 * NULL: expression and name must not be NULL. Threads: one at a time for one expression.
 */
TJ_API int tj_expression_constant(tj_expression *expression, double value);
/** indexed: tj_indexed; type: tj_type, or 0. A second operand with the same name must have the same index and type. */
TJ_API int tj_expression_operand(tj_expression *expression, const char *name, int indexed, int type);
/** Add an output: a matrix of this type (0: as for an operand), stored as P is, that receives the value of a node. */
TJ_API int tj_expression_output(tj_expression *expression, const char *name, int type, int value);
/**
 * Add an output that reduces the value of a node: one element for each row (indexed: TJ_BY_ROW) or column (TJ_BY_COL) of P.
 */
TJ_API int tj_expression_reduction(tj_expression *expression, const char *name, int indexed, int type, int reduction,
                                   int value);
/**
 * op is neither a constant nor an operand. Arguments that the operation does not take are ignored; b of TJ_OP_CONVERT is a
 * tj_type.
 */
TJ_API int tj_expression_apply(tj_expression *expression, int op, int a, int b, int c);

/**
 * Store the value of a node in P: *epilogue receives the canonical form, as from tj_epilogue_parse.
 * NULL: only err may be NULL. Threads: any; pure.
 * Errors: TJ_ERR_INVALID_ARGUMENT: value is -1, or a condition instead of a number; the canonical text would be too long.
 */
TJ_API TJ_MUST_CHECK tj_status tj_epilogue_finish(const tj_expression *expression, int value, tj_epilogue *epilogue,
                                                  tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
