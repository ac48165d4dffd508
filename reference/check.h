/* SPDX-License-Identifier: Apache-2.0 */
/* check: compare a product with the float64 reference. */
#ifndef TJ_REFERENCE_CHECK_H
#define TJ_REFERENCE_CHECK_H

#include <tilejit/reference.h>

#include "request.h"

/** As tj_reference_check; no pointer but err is NULL. */
tj_status tj_request_compare(const tj_request *asked, const tj_host_operands *operands, const void *p, double max_flop,
                             int threads, tj_check_report *report, tj_error *err);

#endif
