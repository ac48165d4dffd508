/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: compare a product with the float64 reference, or compute it. No pointer but err is NULL.
 */
#ifndef TJ_REFERENCE_CHECK_H
#define TJ_REFERENCE_CHECK_H

#include <tilejit/reference.h>

#include "request.h"

/** As tj_reference_check. */
tj_status tj_request_compare(const tj_request *asked, const tj_host_operands *operands, const void *p, double max_flop,
                             int threads, tj_check_report *report, tj_error *err);

/** The same for rows of M and P that lie in the order of the product. The request leaves nothing open. */
tj_status tj_compare_in_order(const tj_request *asked, const tj_host_operands *operands, const void *p, double max_flop,
                              int threads, tj_check_report *report, tj_error *err);

/** As tj_reference_product, for such rows. */
tj_status tj_write_in_order(const tj_request *asked, const tj_host_operands *operands, void *p, int threads, tj_error *err);

#endif
