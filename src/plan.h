/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: what a ready call runs.
 */
#ifndef TJ_SRC_PLAN_H
#define TJ_SRC_PLAN_H

#include "context.h"
#include "kernel.h"

/** What a plan is found by. */
typedef struct tj_plan_key {
    uint64_t context_id;       /* of the CUDA context, never reused within a process */
    const tj_problem *problem; /* extents of TJ_DIM_ANY dimensions zeroed: they do not change the kernel */
    const tj_config *config;   /* as given; NULL: the library's choice */
    uint64_t hash;
} tj_plan_key;

/* Hashed and compared as bytes. */
_Static_assert(sizeof(tj_problem) == 168, "tj_problem must have no padding");
_Static_assert(sizeof(tj_config) == 2 * sizeof(void *) + 4 * (TJ_CONFIG_MAX_PARAMS + 4), "tj_config must have no padding");

/* Plans that serve a call which lacks what the library's choice asks for, the best first. */
enum tj_modest { TJ_WITHOUT_WORKSPACE, TJ_UNALIGNED, TJ_MODEST_DEFAULT, TJ_MODEST_PLANS };

struct tj_plan {
    tj_plan_key key; /* points at the two below */
    tj_problem problem;
    tj_config config;
    tj_source *source;
    tj_image *image;
    tj_kernel *kernel;
    _Atomic(const tj_plan *) modest[TJ_MODEST_PLANS]; /* of the library's choice; NULL: not needed yet */
    tj_plan *replaced; /* the plan that this one took the place of; alive, because callers may hold it */
};

#endif
