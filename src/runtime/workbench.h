/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workbench: what other layers need beyond <tilejit/workbench.h>.
 */
#ifndef TJ_RUNTIME_WORKBENCH_H
#define TJ_RUNTIME_WORKBENCH_H

#include <tilejit/workbench.h>

#include "gpu.h"

/** tj_workbench_create without a TileJIT context. */
tj_status tj_gpu_place(tj_gpu *gpu, const tj_problem *problem, const tj_workbench_options *options, tj_workbench **bench,
                       tj_error *err);

/** The bytes that one set of operands of a problem takes, guards not included. problem: every number known. */
size_t tj_workbench_set_bytes(const tj_problem *problem);

#endif
