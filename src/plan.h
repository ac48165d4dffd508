/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: what a ready call runs.
 */
#ifndef TJ_SRC_PLAN_H
#define TJ_SRC_PLAN_H

#include "context.h"
#include "kernel.h"

/** What a plan is found by. No padding: it is hashed and compared as bytes. */
typedef struct tj_plan_key {
    uint64_t context_id; /* of the CUDA context, never reused within a process */
    tj_problem problem;  /* extents of TJ_DIM_ANY dimensions zeroed: they do not change the kernel */
    int32_t config[TJ_CONFIG_MAX_PARAMS + 4]; /* values and checks as given; zero where the library chooses */
    const tj_family *family;
} tj_plan_key;

_Static_assert(sizeof(tj_problem) == 168, "tj_problem must have no padding");
_Static_assert(sizeof(tj_plan_key) == 8 + 168 + 4 * (TJ_CONFIG_MAX_PARAMS + 4) + sizeof(void *),
               "tj_plan_key must have no padding");

struct tj_plan {
    tj_plan_key key;
    uint64_t hash;
    tj_source *source;
    tj_image *image;
    tj_kernel *kernel;
};

#endif
