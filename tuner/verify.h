/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify: is the product right?
 */
#ifndef TJ_TUNER_VERIFY_H
#define TJ_TUNER_VERIFY_H

#include <stdbool.h>

#include "measure.h"

/** The product that others are compared with: the first one that passed. Initialise with zeros. */
typedef struct tj_anchor {
    void *p; /* NULL: none yet */
} tj_anchor;

/**
 * Launch a program over a poisoned P and compare the product: with the float64 reference on the rows that max_flop pays for,
 * and every element with the first product that passed. With max_flop 0 only the latter, once there is one, and unless is_whole
 * only lines of 4 MB that are spread over it. Sets is_verified, or state to TJ_TRIAL_WRONG with why. report may be NULL.
 * Errors: those of the device, TJ_ERR_OUT_OF_MEMORY.
 */
tj_status tj_verify(tj_bench *bench, const tj_program *program, double max_flop, bool is_whole, tj_anchor *anchor,
                    tj_trial *trial, tj_check_report *report, tj_error *err);

/** Is every element compared in any case, since the product is small? */
bool tj_verify_is_whole(const tj_bench *bench);

void tj_anchor_drop(tj_anchor *anchor);

#endif
