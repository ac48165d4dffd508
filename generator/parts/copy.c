/* SPDX-License-Identifier: Apache-2.0 */
#include "copy.h"

const char *const tj_copy_choices[] = {"async", "registers", NULL};
const int32_t tj_copies_tried[] = {TJ_COPY_ASYNC, TJ_COPY_REGISTERS, 0};
