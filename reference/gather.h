/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather: a product whose rows of M and P are found by indexes, or whose weights were repacked, as one whose numbers lie in their
 * natural order.
 */
#ifndef TJ_REFERENCE_GATHER_H
#define TJ_REFERENCE_GATHER_H

#include <tilejit/reference.h>

#include "request.h"

/** A request without indexes and repacked weights, and its operands, of which M, its scales and weights may be copies. */
typedef struct tj_gathered {
    tj_request request;
    tj_host_operands operands;
    void *m, *scale_m;         /* owned; NULL: the caller's */
    void *natural[TJ_FACTORS]; /* owned; NULL: not repacked */
} tj_gathered;

/**
 * Put the rows of M, and their scales, in the order of the product, and zeros for those of none; and repacked weights in their
 * natural order. Nothing else is copied. The request leaves nothing open. Owned: the caller; tj_gathered_drop, whatever is returned.
 * Errors: TJ_ERR_INVALID_ARGUMENT: a list of the problem is not there; TJ_ERR_OUT_OF_MEMORY.
 */
tj_status tj_gather(const tj_request *asked, const tj_host_operands *given, tj_gathered *to, tj_error *err);

void tj_gathered_drop(tj_gathered *gathered);

/** Return the row of P for row `row` of the product; negative: it is not stored. */
int64_t tj_row_of_p(const tj_request *asked, const tj_host_operands *given, int64_t row);

#endif
