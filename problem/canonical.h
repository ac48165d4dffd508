/* SPDX-License-Identifier: Apache-2.0 */
/*
 * canonical: declarations for other layers about problems, beyond <tilejit/problem.h>: matrices by number, the transpose, one
 * line of text.
 */
#ifndef TJ_PROBLEM_CANONICAL_H
#define TJ_PROBLEM_CANONICAL_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <tilejit/problem.h>
#include <tilejit/shape.h>

#include "rows.h"
#include "scale.h"

/**
 * A matrix as it is stored: lines of neighbouring elements. A line is a row of a row-major matrix, or a column of a
 * column-major one.
 */
typedef struct tj_lines {
    tj_dim count, width;                 /* number of lines; stored elements of a line */
    const char *count_name, *width_name; /* "j", "k", "l", "l / 2", "(k + 1) / 2" */
} tj_lines;

/** Are two problems, epilogues or numbers bitwise equal? None of these types has padding. */
static inline bool tj_same_bytes(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

/** Return the lines of a matrix. */
tj_lines tj_problem_lines(const tj_problem *problem, tj_which which);

/** Do the matrices of an operand follow each other in memory without a gap? */
bool tj_matrix_has_no_gaps(const tj_problem *problem, tj_which which);

/** Return the lines of a matrix counted in numbers, of which a stored element may hold two. */
tj_lines tj_problem_number_lines(const tj_problem *problem, tj_which which);

/** Are j, k and l known when the source is generated? */
static inline bool tj_has_fixed_extents(const tj_problem *problem)
{
    return problem->j.mode == TJ_DIM_FIXED && problem->k.mode == TJ_DIM_FIXED && problem->l.mode == TJ_DIM_FIXED;
}

/** Return the name of a size of P that is known only at launch, for a message; NULL: j, l and the batch are fixed. */
static inline const char *tj_problem_open_size(const tj_problem *words)
{
    return words->j.mode != TJ_DIM_FIXED   ? "j"
           : words->l.mode != TJ_DIM_FIXED ? "l"
           : words->batch == TJ_ANY        ? "the batch"
                                           : NULL;
}

/** Return one matrix of a problem, to be changed. */
static inline tj_matrix *tj_matrix_of(tj_problem *problem, tj_which which)
{
    return (tj_matrix *)tj_problem_matrix(problem, which);
}

/**
 * Return the number of matrices of an operand: one for each product of the batch (TJ_ANY: not known yet), and of N one for each
 * group.
 */
static inline int64_t tj_matrix_count(const tj_problem *problem, tj_which which)
{
    return which == TJ_MATRIX_N && tj_is_grouped(problem) ? tj_group_count(problem) : problem->batch;
}

/** Return the letter of a matrix: 'M', 'N', 'P', 'C'. */
static inline char tj_which_letter(tj_which which)
{
    return "MNPC"[which];
}

/** Return the table's row of a type, which must be valid. */
static inline const tj_type_facts *tj_facts_of(int32_t type)
{
    return tj_type_get_facts((tj_type)type);
}

/** Is this the type of complex numbers? */
static inline bool tj_type_is_complex(int32_t type)
{
    const tj_type_facts *const facts = tj_facts_of(type);

    return facts && facts->part != TJ_TYPE_DEFAULT;
}

/** An operation that may follow the sum, or multiply its parts, with all facts except its source and its reference. */
typedef struct tj_operation {
    bool (*is_taken)(const tj_problem *problem);
    bool stays;                 /* next to an expression, which takes the place of the others */
    const char *before, *after; /* text of the formula before and after M . N */
    int32_t flop;               /* for an element of P */
} tj_operation;

extern const tj_operation tj_operations[];
extern const size_t tj_operation_count;

/** Does the operation stand in the formula of the problem? */
static inline bool tj_operation_is_in_formula(const tj_problem *problem, const tj_operation *operation)
{
    return operation->is_taken(problem) && (operation->stays || problem->epilogue.expression.nodes == 0);
}

tj_status tj_epilogue_check(const tj_problem *problem, tj_error *err);

/**
 * May these be alpha and beta of a launch, each a real and an imaginary part, if it takes them? Canonical.
 * Errors: TJ_ERR_INVALID_ARGUMENT: f32 cannot hold one, one is not an integer and the product is of integers, or one is complex and
 * the product is real.
 */
tj_status tj_epilogue_check_scalars(const tj_problem *problem, const double alpha[2], const double beta[2], tj_error *err);

/** The addresses that a launch takes, by their public numbers: matrices, their scales, operands of the expression. */
enum {
    TJ_SCALES = TJ_OPERAND_SCALE, /* the scales of a matrix: TJ_SCALES + which */
    TJ_ZEROS = TJ_OPERAND_ZERO,   /* their zero points */
    TJ_WHOLES = TJ_OPERAND_WHOLE, /* the numbers of whole matrices */
    TJ_WITH = TJ_OPERAND_WITH,    /* the first operand of the epilogue's expression */
    TJ_ADDRESSES = TJ_OPERANDS_MOST
};

/** Return the multiply-adds among those of alpha and beta: one for beta, or two for each of them if they are complex. */
static inline int32_t tj_epilogue_fma(const tj_problem *problem)
{
    return tj_type_is_complex(problem->m.type) ? 2 * (problem->epilogue.has_alpha + problem->epilogue.has_beta)
                                               : problem->epilogue.has_beta;
}

/** Return the floating-point operations that the epilogue adds to each element of P. */
int32_t tj_epilogue_flop(const tj_problem *problem);

/** Return the table's row of a way to compute, which must be valid. */
static inline const tj_compute_facts *tj_compute_facts_of(int32_t compute)
{
    return tj_compute_get_facts((tj_compute)compute);
}

/** Return the type of the real numbers that an element is made of: that of its two parts, or its own. */
static inline tj_type tj_part_type(int32_t type)
{
    return tj_type_is_complex(type) ? (tj_type)tj_facts_of(type)->part : (tj_type)type;
}

/** Return the real numbers that an element is made of: 2 if it is complex. */
static inline int32_t tj_type_parts(int32_t type)
{
    return tj_type_is_complex(type) ? 2 : 1;
}

/** Is it a product of complex matrices? Then all of them are, of one type. */
static inline bool tj_is_complex(const tj_problem *problem)
{
    return tj_type_is_complex(problem->m.type);
}

/** Return the type in which products are summed. Canonical. */
static inline tj_type tj_sum_type(const tj_problem *problem)
{
    return tj_is_complex(problem) ? (tj_type)problem->m.type : (tj_type)tj_compute_facts_of(problem->compute)->sum;
}

/**
 * Return the type of alpha and beta, in which the epilogue computes; s32 stands for integers that stay exact until they are
 * stored. Canonical.
 */
static inline tj_type tj_scalar_type(const tj_problem *problem)
{
    const bool is_real = tj_has_scales(problem) || problem->epilogue.expression.nodes > 0;
    const tj_type sum = tj_sum_type(problem);

    return sum == TJ_S32 && (is_real || !tj_facts_of(problem->p.type)->is_integer) ? TJ_F32 : sum;
}

/** Are elements of this type integers of 8 bits? */
static inline bool tj_type_is_int8(int32_t type)
{
    return type == TJ_S8 || type == TJ_U8;
}

/** Are elements of this type floats of 8 bits? */
static inline bool tj_type_is_fp8(int32_t type)
{
    return type == TJ_E4M3 || type == TJ_E5M2;
}

/** Does a stored element hold two numbers, neighbours of a line? */
static inline bool tj_type_is_pair(int32_t type)
{
    const tj_type_facts *const facts = tj_facts_of(type);

    return facts && facts->numbers > 1;
}

/** Does an element hold one real number, of a type that a matrix may have? Operands of an expression are of such types. */
static inline bool tj_type_is_whole(int32_t type)
{
    return tj_facts_of(type)->product != TJ_TYPE_DEFAULT && tj_facts_of(type)->part == TJ_TYPE_DEFAULT &&
           !tj_type_is_pair(type);
}

/** Return the numbers in a stored element. */
static inline int32_t tj_type_numbers(int32_t type)
{
    return tj_facts_of(type)->numbers;
}

/** Do elements of M or N hold two numbers? */
static inline bool tj_holds_pairs(const tj_problem *problem)
{
    return tj_type_is_pair(problem->m.type) || tj_type_is_pair(problem->n.type);
}

/**
 * Does a kernel after the product finish P, unless the product's own kernel does: by finding its scales, or by adding up rows?
 */
static inline bool tj_is_finished(const tj_problem *problem)
{
    return tj_is_scaled(problem, TJ_MATRIX_P) || tj_is_combined(problem);
}

/** Must j, l and the batch be fixed, because they make the size of a workspace: of reductions, or of a P to be finished? */
static inline bool tj_takes_fixed_extents(const tj_problem *problem)
{
    return tj_epilogue_reduces(&problem->epilogue) || tj_is_finished(problem);
}

/** Return the columns of M . N that each column of P takes: 2 if the epilogue takes pairs. */
static inline int32_t tj_sums_per_column(const tj_problem *problem)
{
    return tj_epilogue_pairs(&problem->epilogue) ? 2 : 1;
}

/** Is M or N stored in blocks of k that were repacked (tj_order)? */
static inline bool tj_is_repacked(const tj_problem *problem, tj_which which)
{
    return tj_problem_matrix(problem, which)->order == TJ_ORDER_REPACKED;
}

/** Is any of them? */
static inline bool tj_has_repacked(const tj_problem *problem)
{
    return tj_is_repacked(problem, TJ_MATRIX_M) || tj_is_repacked(problem, TJ_MATRIX_N);
}

/** Return a k that is left to the launch. */
static inline tj_dim tj_open_k(const tj_problem *problem)
{
    return (tj_dim){0, TJ_DIM_ANY, tj_has_repacked(problem) ? TJ_REPACKED_BLOCK : 0};
}

/** Return an l that is left to the launch. */
static inline tj_dim tj_open_l(const tj_problem *problem)
{
    const int32_t whole = tj_sums_per_column(problem);

    return (tj_dim){0, TJ_DIM_ANY, whole > 1 ? whole : 0};
}

/** The types of 8 and 4 bits that weights may have. */
enum { TJ_TYPES_OF_WEIGHTS = 1 << TJ_E4M3 | 1 << TJ_E5M2 | 1 << TJ_S8 | 1 << TJ_U8 | 1 << TJ_S4 | 1 << TJ_E2M1 | 1 << TJ_U4 };

/** Are elements of this type floats of 16 bits, and those of the other operand f32: a router's activations and its weights? */
static inline bool tj_halves_meet_f32(int32_t type, int32_t other)
{
    return (type == TJ_F16 || type == TJ_BF16) && other == TJ_F32;
}

/** Does one of M and N hold floats of 16 bits, and the other f32? */
static inline bool tj_meets_f32(const tj_problem *problem)
{
    return tj_halves_meet_f32(problem->m.type, problem->n.type) || tj_halves_meet_f32(problem->n.type, problem->m.type);
}

/**
 * Are elements of this type weights if those of the other operand are activations: wider floats, all of whose bits they fit?
 * Floats of 16 bits next to f32 count as such weights, because they are widened as well, whatever the program means by them.
 */
static inline bool tj_type_is_weights_of(int32_t type, int32_t other)
{
    return ((TJ_TYPES_OF_WEIGHTS >> type & 1) &&
            (other == TJ_F32 || other == TJ_F16 || other == TJ_BF16 || (other == TJ_E4M3 && tj_type_is_pair(type)))) ||
           tj_halves_meet_f32(type, other);
}

/** Is one operand weights and the other activations? Then the weights are widened on load. */
static inline bool tj_widens_weights(int32_t m, int32_t n)
{
    return tj_type_is_weights_of(m, n) || tj_type_is_weights_of(n, m);
}

/** Are the elements of M or N weights? */
static inline bool tj_is_weights(const tj_problem *problem, tj_which which)
{
    return which == TJ_MATRIX_M ? tj_type_is_weights_of(problem->m.type, problem->n.type)
                                : tj_type_is_weights_of(problem->n.type, problem->m.type);
}

/**
 * Return the type of M and N that decides the accumulator's type and the default of P: with weights, that of the activations.
 */
static inline int32_t tj_leading_type(int32_t m, int32_t n)
{
    return tj_type_is_weights_of(m, n) ? n : m;
}

/** tj_type_parse for operands of an expression, and conversions in it. */
static inline bool tj_type_parse_whole(const char *name, tj_type *type)
{
    return tj_type_parse(name, type, NULL) == TJ_OK && tj_type_is_whole((int32_t)*type);
}

/** Return the bytes of an accumulator. Canonical. */
static inline int32_t tj_sum_bytes(const tj_problem *problem)
{
    return tj_type_get_facts(tj_sum_type(problem))->bytes;
}

/** Return the real multiplications of a multiplication of M by N. */
static inline int32_t tj_products_of_element(const tj_problem *problem)
{
    return tj_is_complex(problem) ? 4 : 1;
}

enum { TJ_NAME_LIST_BYTES = 512 };

/**
 * List the types whose bits (1 << tj_type) are set: "f32, f16 or bf16" or, as constants, "TJ_F32, TJ_F16 or TJ_BF16". Returns
 * text.
 */
const char *tj_type_list(uint32_t which, bool as_constants, char text[TJ_NAME_LIST_BYTES]);

/** As tj_type_list, for all ways to compute: "TJ_COMPUTE_F32, ... or TJ_COMPUTE_S32". */
const char *tj_compute_list(bool as_constants, char text[TJ_NAME_LIST_BYTES]);

/** Return the bits of the types that M and N may have, or P and C. */
uint32_t tj_types_where(bool are_inputs);

/**
 * Return the problem with types, layouts and compute spelled out and transposes folded. Numbers are neither read nor changed,
 * so any are valid.
 */
tj_problem tj_problem_words(const tj_problem *problem);

/** Print those marks that the problem has: " M:col N:col P:col scale_m scale_n:each alpha beta". Canonical. */
void tj_problem_print_marks(const tj_problem *problem, char marks[TJ_PROBLEM_TEXT_BYTES]);

/**
 * Read the line that tj_problem_print writes. False: it says something that is not read here, such as an open extent, scales or
 * an epilogue. *problem is not checked; one that prints the same line again was read rightly.
 */
bool tj_problem_scan(const char *text, tj_problem *problem);

/**
 * Return the transpose: a column-major P is the row-major P^T = N^T . M^T over the same memory. j and l, M and N change places,
 * and every layout changes. Canonical.
 */
tj_problem tj_problem_transpose(const tj_problem *problem);

/**
 * Return the problem of the sums that an expression takes, each with its scales: P has one for each column of N, in f64 or f32.
 * A problem without an expression is unchanged. Canonical.
 */
tj_problem tj_problem_of_sums(const tj_problem *problem);

/**
 * Return the problem of the P in the workspace that a kernel after the product finishes (tj_is_finished): its rows are padded to
 * whole lines of 128 bytes. Values to quantise are f32. Rows to add up have P's type, as the product alone would store them: for
 * types of 16 bits that is half the traffic, and it is the product whose kernels were measured. Canonical.
 */
tj_problem tj_problem_unfinished(const tj_problem *problem);

/**
 * Return the problem with everything known that it leaves to the launch: extents as given, tight leading dimensions, one
 * product.
 */
tj_problem tj_problem_known(const tj_problem *problem);

/**
 * Return a substitute for a problem with groups of unknown sizes: a batch of products of the mean j. Other problems are
 * unchanged. Canonical, and j is a number.
 */
tj_problem tj_problem_even(const tj_problem *problem);

/**
 * The problem that leaves to the launch all that varies between shapes: extents, leading dimensions, the batch if there is one, and
 * strides. An array of pointers stays one. Canonical.
 */
tj_problem tj_problem_general(const tj_problem *problem);

/**
 * Mark tight leading dimensions and strides as tight, instead of by a number that depends on the extents. Canonical; the result
 * is not.
 */
tj_problem tj_problem_loose(const tj_problem *problem);

/** Is any operand an array of pointers? Canonical. */
bool tj_problem_points(const tj_problem *problem);

/** Return the bytes of a problem that count: without an expression, they end after its number of nodes. */
static inline size_t tj_problem_bytes(const tj_problem *problem)
{
    _Static_assert(offsetof(tj_expression, nodes) == 0, "what says whether there is one counts too");
    return problem->epilogue.expression.nodes == 0 ? offsetof(tj_problem, epilogue.expression) + sizeof(int32_t)
                                                   : sizeof *problem;
}

/** Are two problems the same as given? Neither is made canonical. */
static inline bool tj_problem_is_same(const tj_problem *a, const tj_problem *b)
{
    return memcmp(a, b, tj_problem_bytes(a)) == 0;
}

#endif
