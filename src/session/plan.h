/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: what a ready call runs. Each file calls those above it alone; what runs while the right kernel is not there is drawn in
 * ARCHITECTURE.md.
 *
 *     undemanding.c configs whose kernels take any operands
 *     missing.c     plans that cannot be made, for want of a compiler, remembered
 *     varying.c     which extents change from one problem to the next
 *     plan_table.c  a plan is found by its key, or made once, by the builder that the table was created with; the least recently
 *                   used ones leave
 *     plan.c        a plan with a kernel of its own is built, tried
 *     stand_in.c    a plan that borrows the kernel of a more general one, until its own is there; the builder
 *     fallback.c    another plan, for operands that the first cannot take
 *     matmul.c      what a call does
 */
#ifndef TJ_SRC_PLAN_H
#define TJ_SRC_PLAN_H

#include <stdatomic.h>
#include <string.h>

#include "context.h"
#include "kernel.h"
#include "program.h"
#include "readers.h"
#include "scope.h"

/** What a plan is found by. */
typedef struct tj_plan_key {
    uint64_t context_id;       /* of the CUDA context, never reused within a process */
    const tj_problem *problem; /* extents of TJ_DIM_ANY dimensions zeroed: they do not change the kernel */
    const tj_config *config;   /* as given; NULL: the library's choice */
    uint64_t hash;
    bool is_asked_for; /* by a caller, and not for another plan: it is a miss where there is none */
} tj_plan_key;

static inline bool tj_plan_key_is_equal(const tj_plan_key *a, const tj_plan_key *b)
{
    return a->hash == b->hash && a->context_id == b->context_id && tj_problem_is_same(a->problem, b->problem) &&
           (a->config && b->config ? memcmp(a->config, b->config, sizeof *a->config) == 0 : a->config == b->config);
}

/* Hashed and compared as bytes. */
_Static_assert(sizeof(tj_problem) == sizeof(size_t) + 3 * sizeof(tj_dim) + sizeof(int64_t) + TJ_MATRICES * sizeof(tj_matrix) +
                                         sizeof(tj_groups) + sizeof(tj_epilogue) + 2 * sizeof(int32_t) &&
                   sizeof(tj_expression) == 4 * sizeof(int32_t) + TJ_EPILOGUE_NODES * sizeof(tj_node) +
                                                TJ_EPILOGUE_CONSTANTS * sizeof(double) +
                                                TJ_EPILOGUE_OPERANDS * sizeof(tj_epilogue_operand),
               "tj_problem must have no padding");
_Static_assert(sizeof(tj_config) == 2 * sizeof(void *) + 4 * (TJ_CONFIG_MAX_PARAMS + 4), "tj_config must have no padding");

/** What a stand-in has in place of a kernel (stand_in.c). */
typedef struct tj_loan {
    const tj_plan *lender;   /* held; a plan with a kernel, for a problem that leaves more to the launch. NULL: no stand-in */
    tj_operands fill;        /* what the problem says and the lender's leaves to the launch */
    atomic_uint launches;    /* of a lender: those of all that borrow from it, counted by the score */
    atomic_bool varies;      /* it is one of many extents of a dimension */
    atomic_bool is_asked;    /* the background thread knows */
    atomic_uint compared_at; /* the time of the table at which a better lender was last looked for */
} tj_loan;

/** Never changes once it is published, but for what is atomic here. What a call looks at comes first. */
struct tj_plan {
    tj_plan_key key; /* points at the two below */
    tj_context *context;
    tj_program program;      /* of a stand-in: empty */
    atomic_uint used;        /* the time of the table at which it was last found */
    atomic_bool is_captured; /* a graph may launch it, for as long as the context lives */
    atomic_bool
        has_launched; /* since its last refusal: its pointers need not be checked. Never, where each launch checks them */
    tj_problem problem;
    tj_config config;
    tj_chosen_by chosen_by;            /* 0: its config was named */
    _Atomic(const tj_plan *) fallback; /* for operands that do not suit the kernel; NULL until it is first needed. Held; of the
                                          same table, never a stand-in */
    tj_loan loan;

    /* Until when it stays, as `used` and `is_captured` above: the business of plan_table.c. */
    atomic_int holds;       /* who may launch it without having found it: callers of tj_plan_prepare, plans, threads */
    atomic_bool is_retired; /* it is not found any more; freed when nobody can be using it */
    bool is_evicted;        /* of a retired one: to make room */
    int64_t bytes;          /* of host memory and code */
    tj_grace grace;         /* of a retired one */
    tj_plan *next_retired;
};

/** Is it one that borrows another's kernel? */
static inline bool tj_plan_is_stand_in(const tj_plan *plan)
{
    return plan->loan.lender != NULL;
}

/** Is an extent of the problem known only at the launch? */
static inline bool tj_has_any_extent(const tj_problem *problem)
{
    return problem->j.mode == TJ_DIM_ANY || problem->k.mode == TJ_DIM_ANY || problem->l.mode == TJ_DIM_ANY;
}

/** An empty plan of a key, which it copies. NULL: out of memory. */
tj_plan *tj_plan_create(tj_context *context, const tj_plan_key *key);

/**
 * A new plan, the caller's: nobody else knows it yet. Inside a scope, outside a capture. *out is NULL on failure; also, with
 * TJ_OK, where its image is not at hand and may not be compiled.
 */
tj_status tj_plan_build(tj_context *context, const tj_scope *scope, const tj_plan_key *key, bool may_compile, tj_plan **out,
                        tj_error *err);

/** Free a plan that nobody can be using. NULL is permitted. */
void tj_plan_free(tj_plan *plan);

/** The plan stays until tj_plan_release. By a thread that has entered, or holds it, or what holds it. */
static inline void tj_plan_hold(const tj_plan *plan)
{
    (void)atomic_fetch_add_explicit((atomic_int *)(uintptr_t)&plan->holds, 1, memory_order_acq_rel);
}

/** Were two plans of one problem made with the same config? */
bool tj_plan_has_config_of(const tj_plan *a, const tj_plan *b);

/** How good must a plan be? */
typedef enum tj_effort {
    TJ_EFFORT_BEST,   /* one with a kernel of its own, whatever that takes */
    TJ_EFFORT_LAUNCH, /* such a one, or, where it cannot be compiled, a stand-in of a pack */
    TJ_EFFORT_QUICK   /* one that can be launched soon: a stand-in will do */
} tj_effort;

/** Makes a new plan of a key, which the caller then owns. Inside a scope, outside a capture. */
typedef tj_status tj_plan_builder(tj_context *context, const tj_scope *scope, const tj_plan_key *key, tj_effort effort,
                                  tj_plan **out, tj_error *err);

/** The library's own: tj_plan_build, or with a lower effort a stand-in (stand_in.c). */
tj_plan_builder tj_plan_make;

/** A table of plans that build makes where there are none, and how many, and how many bytes of them, it may hold. */
struct tj_plan_table *tj_plan_table_create(tj_plan_builder *build, int64_t most_plans, int64_t most_bytes);
struct tj_readers *tj_plan_table_readers(struct tj_plan_table *table);
void tj_plan_table_free(struct tj_plan_table *table);

/**
 * The plan of a key; NULL: there is none yet. Takes no lock. Who looks has entered (context->readers), and uses what was found, or
 * holds it, before leaving.
 */
const tj_plan *tj_plan_table_find(struct tj_plan_table *table, const tj_plan_key *key);

/** A plan of a problem by the library's choice, with a kernel, in whichever CUDA context: looks at all. For who has entered. */
const tj_plan *tj_plan_table_find_anywhere(struct tj_plan_table *table, const tj_problem *problem);

/**
 * The plan of a key: found, or built by this thread, or awaited if another is building it. It is held for the caller
 * (tj_plan_release). Inside a scope, outside a capture, not entered.
 */
tj_status tj_plan_table_obtain(tj_context *context, const tj_scope *scope, const tj_plan_key *key, tj_effort effort,
                               const tj_plan **plan, tj_error *err);

/**
 * Let a plan take the place of the one of its key. The table owns it from now on, and it is held for the caller; who holds the old
 * one keeps that. False: there is none of its key any more, or one with the same config, which stays, and the new one is the caller's.
 */
bool tj_plan_table_replace(struct tj_plan_table *table, tj_plan *plan);

/** Say that this one has taken another's place. */
void tj_plan_tell_replaced(const tj_plan *plan);

/** Let a stand-in take the place of another one, if that is still there; else it is freed. */
void tj_plan_table_succeed(struct tj_plan_table *table, const tj_plan *present, tj_plan *successor);

/** A time that goes on with each plan that comes. Any thread. */
unsigned tj_plan_table_time(const struct tj_plan_table *table);

/** Let plans go until so many, and so many bytes, are left: those that were found longest ago first. Not entered. */
void tj_plan_table_trim(struct tj_plan_table *table, int64_t plans, int64_t bytes);

/** Free what left the table and is not used any more. Not entered. */
void tj_plan_table_sweep(struct tj_plan_table *table);

/** How many plans are in it, and their bytes. */
void tj_plan_table_count(struct tj_plan_table *table, uint64_t *plans, uint64_t *bytes);

/** A key and what it borrows, where an extent must be forgotten first. Not to be copied. */
typedef struct tj_plan_look {
    tj_plan_key key;
    tj_problem storage;
} tj_plan_look;

/**
 * The plan that this thread found last, if it has a kernel of its own, is that of the problem by the library's choice and has not left
 * the table since; NULL: look for it. A thread that has entered.
 */
const tj_plan *tj_plan_find_again(struct tj_plan_table *table, uint64_t context_id, const tj_problem *problem);

/** That plan is about to be asked for: fetch what that takes, and a launch. Asks nothing, and any thread may do it. */
void tj_plan_await_again(void);

/** The plan of a problem and a config, whose key is in *look then; NULL: there is none yet. Takes no lock; a thread that has entered. */
const tj_plan *tj_plan_find(struct tj_plan_table *table, uint64_t context_id, const tj_problem *problem,
                            const tj_config *config, tj_plan_look *look);

/** The same, found or built, and held for the caller. Inside a scope, outside a capture, not entered. */
tj_status tj_plan_obtain(tj_context *context, const tj_scope *scope, const tj_problem *problem, const tj_config *config,
                         tj_effort effort, const tj_plan **plan, tj_error *err);

/** So too, with a kernel of its own, for who asks the library for it: where there is none it is a miss. */
tj_status tj_plan_obtain_for_caller(tj_context *context, const tj_scope *scope, const tj_problem *problem,
                                    const tj_config *config, const tj_plan **plan, tj_error *err);

/** The textbook's config, for a text for unknown extents and so many rows of P; NULL: the library's choice will do. */
const tj_config *tj_config_for_tall(const tj_problem *problem, const tj_operands *operands, tj_config *storage);
extern const tj_config tj_textbook_config;

/**
 * For a launch of a stand-in: *plan becomes its lender, and *x the operands for the lender's kernel, which may not suit them. given and x
 * do not overlap. Inside a scope. Errors: those of tj_operands_accept.
 */
tj_status tj_stand_in_lend(const tj_plan **plan, const tj_scope *scope, const tj_operands *given, tj_operands *x,
                           tj_error *err);

/** Make the kernel of its own of a plan that has none yet, unless its extents turned out to come once each. Behind the calls. */
tj_status tj_plan_improve(tj_context *context, const tj_problem *problem, const tj_config *config, tj_error *err);

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
 * Put the fallback of a plan in its place, if the library chose its config and the operands do not suit the kernel. For a caller that has
 * entered, where the first call shall be quick, that may be a stand-in. To be asked only where tj_kernel_suits says no. Inside a scope of
 * the plan's CUDA context.
 * Errors: those of tj_plan_prepare, and TJ_ERR_CAPTURE: the stream is being captured and the fallback is not ready.
 */
tj_status tj_plan_fit(const tj_plan **plan, const tj_scope *scope, const tj_operands *operands, bool is_entered,
                      struct CUstream_st *stream, tj_error *err);

#endif
