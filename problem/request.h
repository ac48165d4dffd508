/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request: a problem that was checked and made canonical, once, with its operands. A public function makes it of the problem
 * that it is given; everything after that takes the request, or a problem of it, and neither checks nor canonicalises again.
 * scripts/check_layers.sh lists the functions that may make one.
 */
#ifndef TJ_PROBLEM_REQUEST_H
#define TJ_PROBLEM_REQUEST_H

#include "canonical.h"
#include "operand_table.h"

/** May be copied. */
typedef struct tj_request {
    tj_problem given;      /* as it was written: plans are found by it */
    tj_problem problem;    /* canonical */
    tj_problem transposed; /* its transpose (tj_problem_transpose), which some sources compute */
    tj_problem unfinished; /* if tj_is_finished: tj_problem_unfinished, and its transpose; otherwise undefined */
    tj_problem unfinished_transposed;
    tj_operand_row operand[TJ_ADDRESSES];
} tj_request;

/**
 * Check a problem and make it canonical. On failure *request is unchanged.
 * NULL: only err may be NULL. Errors: those of tj_problem_check.
 */
tj_status tj_request_make(const tj_problem *given, tj_request *request, tj_error *err);

/* ---- derived requests, which need no check: from and to may be the same ----------------------------------------------- */

/** Derive a request from another whose problem was changed so that each of its numbers stays valid. */
void tj_request_derive(const tj_problem *changed, tj_request *to);

/** Leave to the launch all that varies between shapes (tj_problem_general). */
void tj_request_general(const tj_request *from, tj_request *to);

/** Settle everything that is left to the launch (tj_problem_known). */
void tj_request_known(const tj_request *from, tj_request *to);

/**
 * Lay out arrays of pointers in one buffer for each operand (tj_problem_strided).
 * Errors: TJ_ERR_INVALID_ARGUMENT: pointers may reach more than one buffer can hold.
 */
tj_status tj_request_strided(const tj_request *from, tj_request *to, tj_error *err);

#endif
