/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format: names for the types and scales that a quantiser writes together (docs/scales.md).
 */
#ifndef TJ_PROBLEM_FORMAT_H
#define TJ_PROBLEM_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include <tilejit/problem.h>

/** Return the name of format number index; NULL past the last. */
const char *tj_format_name(size_t index);

/**
 * Give a problem the types, the compute and the scales of format number index, and an N that lies as l x k. A type of M that is
 * set stays where the format is one of weights, whose scales of that type follow it.
 */
void tj_format_apply(size_t index, tj_problem *problem);

#endif
