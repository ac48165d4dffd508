/* SPDX-License-Identifier: Apache-2.0 */
/*
 * canonical: what other layers need of a problem beyond <tilejit/problem.h>: its matrices by number, its transpose, one line.
 */
#ifndef TJ_PROBLEM_CANONICAL_H
#define TJ_PROBLEM_CANONICAL_H

#include <stdbool.h>

#include <tilejit/problem.h>

enum { TJ_PROBLEM_TEXT_BYTES = 512 };

/** A matrix as it is stored: lines of neighbouring elements. A line is a row of a row-major matrix, a column of a column-major one. */
typedef struct tj_lines {
    const tj_dim *count, *width;         /* how many lines; the elements of a line */
    const char *count_name, *width_name; /* "j", "k", "l" */
} tj_lines;

/** Of one matrix. Borrows from problem. */
tj_lines tj_problem_lines(const tj_problem *problem, tj_which which);

/** One matrix of a problem, to be changed. */
static inline tj_matrix *tj_matrix_of(tj_problem *problem, tj_which which)
{
    return (tj_matrix *)tj_problem_matrix(problem, which);
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

/** An operation that may follow the sum: a flag of tj_epilogue, and all that is said of it outside text and reference. */
typedef struct tj_operation {
    const char *flag;           /* "has_alpha": in messages, records and templates */
    size_t offset;              /* of the flag in tj_problem */
    const char *word;           /* " alpha": in a problem's line */
    const char *before, *after; /* what the formula puts around M . N */
    int32_t flop;               /* for an element of P */
} tj_operation;

extern const tj_operation tj_operations[];
extern const size_t tj_operation_count;

/** Is it asked for? 1 or 0, once the problem has passed its check. */
static inline int32_t tj_operation_flag(const tj_problem *problem, const tj_operation *operation)
{
    return *(const int32_t *)(const void *)((const char *)problem + operation->offset);
}

tj_status tj_epilogue_check(const tj_problem *problem, tj_error *err);

/** Floating-point operations that the epilogue adds to each element of P. */
int32_t tj_epilogue_flop(const tj_problem *problem);

/** The type that products are summed in. Canonical. */
static inline tj_type tj_sum_type(const tj_problem *problem)
{
    return problem->compute == TJ_COMPUTE_F64 ? TJ_F64 : TJ_F32;
}

/** Bytes of such a sum. Canonical. */
static inline int32_t tj_sum_bytes(const tj_problem *problem)
{
    return tj_type_get_facts(tj_sum_type(problem))->bytes;
}

enum { TJ_TYPE_LIST_BYTES = 512 };

/** "f32, f64, f16 or bf16", or, as constants, "TJ_F32, TJ_F64, TJ_F16 or TJ_BF16". Returns text. */
const char *tj_type_list(bool as_constants, char text[TJ_TYPE_LIST_BYTES]);

/** The problem with types, layouts and compute spelled out and transposes folded; no number is touched, so any will do. */
tj_problem tj_problem_words(const tj_problem *problem);

/** " M:col N:col P:col alpha beta", of it what the problem has. Canonical. */
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

/** Is an operand an array of pointers? Of a canonical problem. */
bool tj_problem_points(const tj_problem *problem);

#endif
