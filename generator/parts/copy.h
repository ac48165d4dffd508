/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy: the two ways to copy tiles from global to shared memory.
 */
#ifndef TJ_GENERATOR_COPY_H
#define TJ_GENERATOR_COPY_H

#include "family.h"

enum { TJ_COPY_ASYNC = 1, TJ_COPY_REGISTERS = 2 };

extern const char *const tj_copy_choices[];
extern const int32_t tj_copies_tried[];

/* A parameter of every such form. A macro, because an initialiser cannot name another constant. */
#define TJ_COPY                                                                                                   \
    {                                                                                                             \
        "copy", "async: past the registers (sm_80 and newer); registers: through them", 1, 2, 0, tj_copy_choices, \
            tj_copies_tried, TJ_PARAM_ORDER                                                                       \
    }

/** Return the default: asynchronous copies where elements are summed in their stored type, else copies through registers. */
int32_t tj_copy_default(const tj_problem *view);

/** Check whether elements can be copied this way. */
tj_status tj_copy_check(const tj_problem *view, int32_t copy, tj_error *err);

/** tj_family.for_target of a form with TJ_COPY. */
void tj_copy_for_target(uint32_t features, tj_config *config);

#endif
