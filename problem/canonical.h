/* SPDX-License-Identifier: Apache-2.0 */
/*
 * canonical: what other layers need of a problem beyond <tilejit/problem.h>: its matrices by number, its transpose, one line.
 */
#ifndef TJ_PROBLEM_CANONICAL_H
#define TJ_PROBLEM_CANONICAL_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <tilejit/problem.h>

enum { TJ_PROBLEM_TEXT_BYTES = 512 + 16 + TJ_EPILOGUE_TEXT_BYTES };

/** A matrix as it is stored: lines of neighbouring elements. A line is a row of a row-major matrix, a column of a column-major one. */
typedef struct tj_lines {
    tj_dim count, width;                 /* how many lines; the elements of a line as they are stored */
    const char *count_name, *width_name; /* "j", "k", "l", "l / 2", "(k + 1) / 2" */
} tj_lines;

/** Are two problems, epilogues or numbers equal to the last bit? None of them has padding. */
static inline bool tj_same_bytes(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

/** Of one matrix. */
tj_lines tj_problem_lines(const tj_problem *problem, tj_which which);

/** Do they follow each other in memory without a gap? */
bool tj_matrix_has_no_gaps(const tj_problem *problem, tj_which which);

/** The same counted in numbers, of which a stored element may hold two. */
tj_lines tj_problem_number_lines(const tj_problem *problem, tj_which which);

/** Are j, k and l known when the text is made? */
static inline bool tj_has_fixed_extents(const tj_problem *problem)
{
    return problem->j.mode == TJ_DIM_FIXED && problem->k.mode == TJ_DIM_FIXED && problem->l.mode == TJ_DIM_FIXED;
}

/** One matrix of a problem, to be changed. */
static inline tj_matrix *tj_matrix_of(tj_problem *problem, tj_which which)
{
    return (tj_matrix *)tj_problem_matrix(problem, which);
}

/** How many matrices an operand is: one for each product of the batch (TJ_ANY: not known yet), of N also one for each group. */
static inline int64_t tj_matrix_count(const tj_problem *problem, tj_which which)
{
    return which == TJ_MATRIX_N && problem->groups.count > 0 ? problem->groups.count : problem->batch;
}

/** Number i of the offsets of a problem with groups. Canonical. */
static inline int64_t tj_group_offset(const tj_problem *problem, const void *offsets, int64_t i)
{
    return problem->groups.offset_bytes == (int32_t)sizeof(int64_t) ? ((const int64_t *)offsets)[i]
                                                                    : ((const int32_t *)offsets)[i];
}

/** Tiles of so many rows that P's rows take at most: each group's last one may be short. */
static inline int64_t tj_row_tiles(const tj_problem *problem, int64_t rows, int64_t height)
{
    return (rows + height - 1) / height + (problem->groups.count > 0 ? problem->groups.count - 1 : 0);
}

/** Its letter: 'M', 'N', 'P', 'C'. */
static inline char tj_which_letter(tj_which which)
{
    return "MNPC"[which];
}

/** The row of the table of a type, which must be one. */
static inline const tj_type_facts *tj_facts_of(int32_t type)
{
    return tj_type_get_facts((tj_type)type);
}

/** An operation that may follow the sum: a member of tj_epilogue, and all that is said of it outside text and reference. */
typedef struct tj_operation {
    const char *name;           /* "has_alpha": in messages, records and templates */
    size_t offset;              /* of the member in tj_problem */
    int32_t most;               /* its largest value; 0: there is no such operation */
    const char *word[3];        /* " alpha": in a problem's line, for each value from 1 on */
    const char *before, *after; /* what the formula puts around M . N */
    int32_t flop;               /* for an element of P */
} tj_operation;

extern const tj_operation tj_operations[];
extern const size_t tj_operation_count;

/** Is it asked for, and how? 0 to most, once the problem has passed its check. */
static inline int32_t tj_operation_value(const tj_problem *problem, const tj_operation *operation)
{
    return *(const int32_t *)(const void *)((const char *)problem + operation->offset);
}

tj_status tj_epilogue_check(const tj_problem *problem, tj_error *err);

/**
 * May these be alpha and beta of a launch, where it takes them? Canonical.
 * Errors: TJ_ERR_INVALID_ARGUMENT: f32 cannot hold one, or a product of integers is given no whole number.
 */
tj_status tj_epilogue_check_scalars(const tj_problem *problem, double alpha, double beta, tj_error *err);

/** What a launch is given by address, by number: the matrices by tj_which, their scales, the operands of the expression. */
enum {
    TJ_SCALES_OF_M = TJ_MATRICES,
    TJ_SCALES_OF_N,
    TJ_WITH, /* the first operand of the epilogue's expression */
    TJ_ADDRESSES = TJ_WITH + TJ_EPILOGUE_OPERANDS
};

/** The tj_scale of M or N. */
static inline int32_t tj_scale_of(const tj_problem *problem, tj_which which)
{
    return which == TJ_MATRIX_M ? problem->epilogue.scale_m : problem->epilogue.scale_n;
}

/** Do the scales of M or N multiply parts of a sum, along k? */
static inline bool tj_scales_along_k(const tj_problem *problem, tj_which which)
{
    return tj_scale_of(problem, which) == TJ_SCALE_ALONG_K;
}

/** The tj_scale of M or N that multiplies the whole sum. */
static inline int32_t tj_scale_of_sum(const tj_problem *problem, tj_which which)
{
    return tj_scales_along_k(problem, which) ? TJ_SCALE_NONE : tj_scale_of(problem, which);
}

/** Floating-point operations that the epilogue adds to each element of P. */
int32_t tj_epilogue_flop(const tj_problem *problem);

/** The row of the table of a way to compute, which must be one. */
static inline const tj_compute_facts *tj_compute_facts_of(int32_t compute)
{
    return tj_compute_get_facts((tj_compute)compute);
}

/** The type that products are summed in. Canonical. */
static inline tj_type tj_sum_type(const tj_problem *problem)
{
    return (tj_type)tj_compute_facts_of(problem->compute)->sum;
}

/** The type of alpha and beta, in which the epilogue computes; s32 stands for integers that are exact until they are stored. Canonical. */
static inline tj_type tj_scalar_type(const tj_problem *problem)
{
    const bool is_real = problem->epilogue.scale_m || problem->epilogue.scale_n || problem->epilogue.expression.nodes > 0;
    const tj_type sum = tj_sum_type(problem);

    return sum == TJ_S32 && (is_real || !tj_facts_of(problem->p.type)->is_integer) ? TJ_F32 : sum;
}

/** Are elements of this type integers of 8 bits? */
static inline bool tj_type_is_int8(int32_t type)
{
    return type == TJ_S8 || type == TJ_U8;
}

/** Does a stored element hold two numbers, neighbours of a line? */
static inline bool tj_type_is_pair(int32_t type)
{
    return type == TJ_S4;
}

/** How many numbers a stored element holds. */
static inline int32_t tj_type_numbers(int32_t type)
{
    return tj_type_is_pair(type) ? 2 : 1;
}

/** May elements of this type be weights beside floats? */
static inline bool tj_type_is_weights(int32_t type)
{
    return tj_type_is_int8(type) || type == TJ_S4;
}

/** Do integers of 8 or 4 bits, the weights of one operand, meet floats, the activations of the other? Then they are widened on load. */
static inline bool tj_widens_weights(int32_t m, int32_t n)
{
    return tj_type_is_weights(m) != tj_type_is_weights(n);
}

/** The type of M and N that decides how products are summed, and what P is by default: of weights and activations the latter's. */
static inline int32_t tj_leading_type(int32_t m, int32_t n)
{
    return tj_widens_weights(m, n) && tj_type_is_weights(m) ? n : m;
}

/** tj_type_parse for what is stored one number an element: the types of operands of an expression, and of conversions in it. */
static inline bool tj_type_parse_whole(const char *name, tj_type *type)
{
    return tj_type_parse(name, type, NULL) == TJ_OK && !tj_type_is_pair((int32_t)*type);
}

/** Are elements of this type floats of 8 bits? */
static inline bool tj_type_is_fp8(int32_t type)
{
    return type == TJ_E4M3 || type == TJ_E5M2;
}

/** Bytes of such a sum. Canonical. */
static inline int32_t tj_sum_bytes(const tj_problem *problem)
{
    return tj_type_get_facts(tj_sum_type(problem))->bytes;
}

enum { TJ_NAME_LIST_BYTES = 512 };

/** The types whose bits (1 << tj_type) are set: "f32, f16 or bf16", or, as constants, "TJ_F32, TJ_F16 or TJ_BF16". Returns text. */
const char *tj_type_list(uint32_t which, bool as_constants, char text[TJ_NAME_LIST_BYTES]);

/** The same of all ways to compute: "TJ_COMPUTE_F32, ... or TJ_COMPUTE_S32". */
const char *tj_compute_list(bool as_constants, char text[TJ_NAME_LIST_BYTES]);

/** Bits of the types that M and N may have, or P and C. */
uint32_t tj_types_where(bool are_inputs);

/** The problem with types, layouts and compute spelled out and transposes folded; no number is touched, so any will do. */
tj_problem tj_problem_words(const tj_problem *problem);

/** " M:col N:col P:col scale_m scale_n:each alpha beta", of it what the problem has. Canonical. */
void tj_problem_print_marks(const tj_problem *problem, char marks[TJ_PROBLEM_TEXT_BYTES]);

/** "j512 k300 l700 f32", then only what is not the default: "M:col ld_m=304 alpha beta batch=8 ...". Canonical first. */
void tj_problem_print(const tj_problem *problem, char text[TJ_PROBLEM_TEXT_BYTES]);

/**
 * A column-major P is the row-major P^T = N^T . M^T over the same memory: j and l, M and N have changed places, and so has every
 * layout. Canonical.
 */
tj_problem tj_problem_transpose(const tj_problem *problem);

/** The problem with everything known that it leaves to the launch: extents as given, tight leading dimensions, one product. */
tj_problem tj_problem_known(const tj_problem *problem);

/**
 * What stands for a problem with groups where their sizes are not known: a batch of products of the mean j. Others stay as they are.
 * Canonical, and j a number.
 */
tj_problem tj_problem_even(const tj_problem *problem);

/**
 * The problem that leaves to the launch all that varies between shapes: extents, leading dimensions, the batch if there is one, and
 * strides. An array of pointers stays one. Canonical.
 */
tj_problem tj_problem_general(const tj_problem *problem);

/** Is an operand an array of pointers? Of a canonical problem. */
bool tj_problem_points(const tj_problem *problem);

/** How many of its bytes count: without an expression, which takes most of them, a problem ends ahead of that. */
static inline size_t tj_problem_bytes(const tj_problem *problem)
{
    _Static_assert(offsetof(tj_expression, nodes) == 0, "what says whether there is one counts too");
    return problem->epilogue.expression.nodes == 0 ? offsetof(tj_problem, epilogue.expression) + sizeof(int32_t)
                                                   : sizeof *problem;
}

/** Are two problems the same, as they were given? Neither is made canonical. */
static inline bool tj_problem_is_same(const tj_problem *a, const tj_problem *b)
{
    return memcmp(a, b, tj_problem_bytes(a)) == 0;
}

#endif
