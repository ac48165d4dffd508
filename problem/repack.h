/* SPDX-License-Identifier: Apache-2.0 */
/* repack: what both calls that repack weights refuse. */
#ifndef TJ_PROBLEM_REPACK_H
#define TJ_PROBLEM_REPACK_H

#include <tilejit/repack.h>

/** Check the arguments of a call that repacks. function: its name. Errors: TJ_ERR_INVALID_ARGUMENT. */
tj_status tj_repack_check(const void *to, const void *from, int64_t bytes, tj_order order, const char *function, tj_error *err);

#endif
