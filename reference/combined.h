/* SPDX-License-Identifier: Apache-2.0 */
/*
 * combined: a P whose rows add up rows of the product (tj_rows.combined). The rows that some sums need are computed first, each
 * element with the error bound of a kernel's; then the sums follow.
 */
#ifndef TJ_REFERENCE_COMBINED_H
#define TJ_REFERENCE_COMBINED_H

#include "expression.h"

/* ---- one sum ------------------------------------------------------------------------------------------------------ */

/** A sum of rows under way. All zero: of none. */
typedef struct tj_row_sum {
    long double value, magnitude, error;
} tj_row_sum;

/** Add an element of a row, as a kernel rounds it to P's type, times a factor. */
void tj_row_sum_add(tj_row_sum *sum, const tj_problem *problem, double factor, tj_bounded element);

/** Add an exact number, an element of C, times beta. */
void tj_row_sum_add_exact(tj_row_sum *sum, double factor, double number);

/** Return the sum with the error bound of a kernel's, whatever the order of its terms. */
tj_bounded tj_row_sum_bounded(const tj_row_sum *sum, const tj_problem *problem);

/* ---- the rows of some sums ---------------------------------------------------------------------------------------- */

/** The elements of those rows of the product that some rows of P add up. Threads may take elements at the same time. */
typedef struct tj_combined tj_combined;

/**
 * Find the rows that `sums` rows of P need, evenly spread, the first and the last among them. The problem is canonical, with every
 * number known; it and the operands must outlive *out. *out is NULL if P has the rows of the product.
 * Errors: TJ_ERR_INVALID_ARGUMENT: indexes or factors are missing; TJ_ERR_OUT_OF_MEMORY.
 */
tj_status tj_combined_create(const tj_problem *problem, const tj_host_operands *operands, int64_t sums, tj_combined **out,
                             tj_error *err);

/** NULL: accepted. */
void tj_combined_free(tj_combined *combined);

/** Return the number of rows of P. */
int64_t tj_combined_rows_of_p(const tj_problem *problem, const tj_host_operands *operands);

/** Return the rows of the product from `begin` on and before `end` that are needed, ascending, and their number. Borrowed. */
const int64_t *tj_combined_needs(const tj_combined *combined, int64_t begin, int64_t end, int64_t *count);

/** Take an element of a row that is needed. combined NULL: nothing happens. */
void tj_combined_take(tj_combined *combined, int64_t row, int64_t col, tj_bounded element);

/** Return the row of P that is number i of the sums. */
int64_t tj_combined_row(const tj_combined *combined, int64_t i);

/** Add up the elements of a row of P. Those that nobody took are of no row of the product. */
tj_row_sum tj_combined_sum(const tj_combined *combined, int64_t row_of_p, int64_t col);

#endif
