/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start: the configs from which a search begins: for each shape that a tuner measured on an H200, one of these tiles was the
 * fastest, or nearly. TM, TN, PRODUCTS, COPY, VECTOR, BLOCKS.
 */
#include "form.h"

static const int32_t rows[][TJ_FAMILY_START_PARAMS] = {
    {3, 1, 5, 0, 4, 1}, {4, 2, 1, 0, 4, 1}, {4, 2, 2, 0, 4, 1}, {4, 3, 4, 0, 4, 1}, {6, 3, 1, 0, 4, 1},
};

const tj_family_values tj_small_batch_start = {sizeof rows / sizeof rows[0], rows};
