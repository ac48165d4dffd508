/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks: the places in a program that call a product: its C stack, and its Python stack, each with the number of calls.
 */
#ifndef TJ_BLAS_STACKS_H
#define TJ_BLAS_STACKS_H

#include "json.h"
#include "products.h"

/** Count the stack of the calling thread. Threads: any. */
void blas_stacks_take(blas_product *product);

/** Add the most frequent stacks of a product: "stacks", a list of "count", "python" and "c", lines with the innermost first. */
void blas_stacks_print(const blas_product *product, tj_json *to);

#endif
