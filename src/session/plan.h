/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: what a ready call runs. Each file calls those above it alone.
 *
 *     plan.c        a plan is built, tried, freed
 *     plan_table.c  a plan is found by its key, or built once
 *     fallback.c    another plan, for operands that the first cannot take
 *     matmul.c      what a call does
 */
#ifndef TJ_SRC_PLAN_H
#define TJ_SRC_PLAN_H

#include <stdatomic.h>

#include "context.h"
#include "kernel.h"
#include "program.h"
#include "scope.h"

/** What a plan is found by. */
typedef struct tj_plan_key {
    uint64_t context_id;       /* of the CUDA context, never reused within a process */
    const tj_problem *problem; /* extents of TJ_DIM_ANY dimensions zeroed: they do not change the kernel */
    const tj_config *config;   /* as given; NULL: the library's choice */
    uint64_t hash;
} tj_plan_key;

/* Hashed and compared as bytes. */
_Static_assert(sizeof(tj_problem) == sizeof(size_t) + 3 * sizeof(tj_dim) + sizeof(int64_t) + TJ_MATRICES * sizeof(tj_matrix) +
                                         sizeof(tj_epilogue) + 2 * sizeof(int32_t) &&
                   sizeof(tj_expression) == 4 * sizeof(int32_t) + TJ_EPILOGUE_NODES * sizeof(tj_node) +
                                                TJ_EPILOGUE_CONSTANTS * sizeof(double) +
                                                TJ_EPILOGUE_OPERANDS * sizeof(tj_epilogue_operand),
               "tj_problem must have no padding");
_Static_assert(sizeof(tj_config) == 2 * sizeof(void *) + 4 * (TJ_CONFIG_MAX_PARAMS + 4), "tj_config must have no padding");

struct tj_plan {
    tj_plan_key key; /* points at the two below */
    tj_problem problem;
    tj_config config;
    tj_context *context;
    tj_program program;
    tj_chosen_by chosen_by;            /* 0: its config was named */
    _Atomic(const tj_plan *) fallback; /* for operands that do not suit the kernel; NULL until it is first needed. Of the same
                                          table */
    tj_plan *replaced;                 /* the plan that this one took the place of; alive, because callers may hold it */
};

/** Is an extent of the problem known only at the launch? */
static inline bool tj_has_any_extent(const tj_problem *problem)
{
    return problem->j.mode == TJ_DIM_ANY || problem->k.mode == TJ_DIM_ANY || problem->l.mode == TJ_DIM_ANY;
}

/** A new plan, the caller's: nobody else knows it yet. Inside a scope, outside a capture. *out is NULL on failure. */
tj_status tj_plan_build(tj_context *context, const tj_scope *scope, const tj_plan_key *key, tj_plan **out, tj_error *err);

/** Free a plan and those that it replaced. NULL is permitted. */
void tj_plan_free(tj_plan *plan);

/** Were two plans of one problem made with the same config? */
bool tj_plan_has_config_of(const tj_plan *a, const tj_plan *b);

/** The plan of a key; NULL: there is none yet. Takes no lock; any thread. */
const tj_plan *tj_plan_table_find(const struct tj_plan_table *table, const tj_plan_key *key);

/** The plan of a key: found, or built by this thread, or awaited if another is building it. Inside a scope, outside a capture. */
tj_status tj_plan_table_obtain(tj_context *context, const tj_scope *scope, const tj_plan_key *key, const tj_plan **plan,
                               tj_error *err);

/**
 * Let a plan take the place of the one of its key, which is there. The table owns it from now on. Who holds the old one keeps it.
 * False: its config is that of the old one, which stays; the new one is gone.
 */
bool tj_plan_table_replace(struct tj_plan_table *table, tj_plan *plan);

/** A key and what it borrows, where an extent must be forgotten first. Not to be copied. */
typedef struct tj_plan_look {
    tj_plan_key key;
    tj_problem storage;
} tj_plan_look;

/** The plan of a problem and a config; NULL: there is none yet, and *look holds its key. Takes no lock; any thread. */
const tj_plan *tj_plan_find(const struct tj_plan_table *table, uint64_t context_id, const tj_problem *problem,
                            const tj_config *config, tj_plan_look *look);

/** The same, found or built. Inside a scope, outside a capture. problem is as a key holds it. */
tj_status tj_plan_obtain(tj_context *context, const tj_scope *scope, const tj_problem *problem, const tj_config *config,
                         const tj_plan **plan, tj_error *err);

/**
 * The config of a fallback: that of a source that the library chose, without its wants of operands. has_workspace: a launch without
 * one is given one by the driver. tj_undemanding_next: another one, where its kernel may not be launched; false: there is none.
 */
tj_config tj_undemanding_config(const tj_problem *problem, const tj_source *chosen, bool has_workspace);
bool tj_undemanding_next(const tj_problem *problem, tj_config *config);

/**
 * Make the fallback of a plan that is to take another's place, if there are operands that its kernel does not suit: what could be
 * captured before, still can. Inside a scope of the plan's CUDA context, outside a capture. Errors: those of tj_plan_prepare.
 */
tj_status tj_plan_make_fallback(tj_plan *chosen, const tj_scope *scope, tj_error *err);

/**
 * Choose again for a problem whose plan the library chose: if its choice has changed since (a record was kept, a proof failed), a new
 * plan takes the old one's place in one step, for tj_matmul and tj_plan_prepare. The old one stays as good as it was for those who hold
 * it. Without such a plan nothing is done. Errors: those of tj_plan_prepare; the old plan then stays.
 */
tj_status tj_plan_refresh(tj_context *context, const tj_problem *problem, tj_error *err);

/** tj_plan_prove for a plan that nobody else need know; its place stays its own if it fails. */
tj_status tj_plan_try(tj_context *context, const tj_plan *plan, const tj_problem *problem, bool again, tj_proof *proof,
                      tj_error *err);

/**
 * Put the fallback of a plan in its place, if the library chose its config and the operands do not suit the kernel. To be
 * asked only where tj_kernel_suits says no. Inside a scope of the plan's CUDA context.
 * Errors: those of tj_plan_prepare, and TJ_ERR_CAPTURE: the stream is being captured and the fallback is not ready.
 */
tj_status tj_plan_fit(const tj_plan **plan, const tj_scope *scope, const tj_operands *operands, struct CUstream_st *stream,
                      tj_error *err);

#endif
