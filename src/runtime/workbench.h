/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workbench: declarations for other layers beyond <tilejit/workbench.h>.
 */
#ifndef TJ_RUNTIME_WORKBENCH_H
#define TJ_RUNTIME_WORKBENCH_H

#include <tilejit/shape.h>
#include <tilejit/workbench.h>

#include "gpu.h"
#include "request.h"

/** tj_workbench_create without a TileJIT context. */
tj_status tj_gpu_place(tj_gpu *gpu, const tj_request *request, const tj_workbench_options *options, tj_workbench **bench,
                       tj_error *err);

/** Return a list in host memory; NULL: the problem has none. Owned: borrowed. */
const void *tj_workbench_list(const tj_workbench *bench, tj_list list);

/** Return the device address at which the matrices of a set begin; NULL if there are none. */
void *tj_workbench_address(const tj_workbench *bench, size_t set, tj_which which);

/**
 * Return the content of a matrix before any launch, or one period of it; NULL if there is no such matrix, and for P without
 * options.host. Owned: borrowed.
 */
const void *tj_workbench_host(const tj_workbench *bench, tj_which which);

/** Bytes from the first matrix as it lies to that of a product of the batch. */
size_t tj_workbench_offset(const tj_workbench *bench, tj_which which, int64_t product);

/** A stretch of P, as tj_workbench_read. */
tj_status tj_workbench_read_part(const tj_workbench *bench, size_t set, size_t offset, size_t bytes, void *p, tj_error *err);

/**
 * Get scales, lists and the operands of the epilogue's expression from the host, and the present content of the first set's
 * further outputs. Borrowed.
 */
tj_status tj_workbench_fill_operands(const tj_workbench *bench, tj_host_operands *host, tj_error *err);

/** Does this line of P belong to a product? With groups, there may be lines that belong to none. */
bool tj_workbench_has_line(const tj_workbench *bench, int64_t line);

/** Are all bits 1, as in guards, and in a P that nothing has written to? */
bool tj_workbench_is_untouched(const void *bytes, size_t count);

/** The bytes that one set of operands of a request takes, guards not included; 0: more than one buffer can hold. */
size_t tj_workbench_set_bytes(const tj_request *request);

#endif
