/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: a problem made ready to launch. Each file calls those above it alone; ARCHITECTURE.md shows which kernel runs until the
 * right one is ready.
 *
 *     undemanding.c configs whose kernels take any operands
 *     missing.c     plans that cannot be made, for want of a compiler, remembered
 *     varying.c     which extents change from one problem to the next
 *     plan_table.c  a plan is found by its key, or made once, by the builder that the table was created with; the least
 *                   recently used ones are evicted
 *     plan.c        a plan with a kernel of its own is built, tried
 *     stand_in.c    a plan that borrows the kernel of a more general one, until its own is there; the builder
 *     fallback.c    another plan, for operands that the first cannot take
 *     matmul.c      what a call does
 */
#ifndef TJ_SRC_PLAN_H
#define TJ_SRC_PLAN_H

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "context.h"
#include "kernel.h"
#include "program.h"
#include "readers.h"
#include "scope.h"

/** The key of a plan. */
typedef struct tj_plan_key {
    uint64_t context_id;       /* of the CUDA context, never reused within a process */
    const tj_problem *problem; /* as given; extents of TJ_DIM_ANY dimensions zeroed: they do not change the kernel */
    const tj_request *request; /* made of it; NULL in a key that is only looked up */
    const tj_config *config;   /* as given; NULL: the library's choice */
    uint64_t hash;
    bool is_asked_for; /* by a caller, and not for another plan: without a plan it is a miss */
} tj_plan_key;

static inline bool tj_plan_key_is_equal(const tj_plan_key *a, const tj_plan_key *b)
{
    return a->hash == b->hash && a->context_id == b->context_id && tj_problem_is_same(a->problem, b->problem) &&
           (a->config && b->config ? memcmp(a->config, b->config, sizeof *a->config) == 0 : a->config == b->config);
}

/* Hashed and compared as bytes. */
_Static_assert(sizeof(tj_problem) == sizeof(size_t) + 3 * sizeof(tj_dim) + sizeof(int64_t) + TJ_MATRICES * sizeof(tj_matrix) +
                                         TJ_SCALED * sizeof(tj_scale) + sizeof(tj_rows) + sizeof(tj_epilogue) +
                                         4 * sizeof(int8_t) + sizeof(int32_t) &&
                   sizeof(tj_expression) == 4 * sizeof(int32_t) + TJ_EPILOGUE_NODES * sizeof(tj_node) +
                                                TJ_EPILOGUE_CONSTANTS * sizeof(double) +
                                                TJ_EPILOGUE_OPERANDS * sizeof(tj_epilogue_operand),
               "tj_problem must have no padding");
_Static_assert(offsetof(tj_problem, epilogue.expression) + sizeof(int32_t) <= 240, "XXH3 hashes more bytes in twice the time");
_Static_assert(sizeof(tj_config) == 2 * sizeof(void *) + 4 * (TJ_CONFIG_MAX_PARAMS + 4), "tj_config must have no padding");

/** The loan of a stand-in, which has no kernel of its own (stand_in.c). */
typedef struct tj_loan {
    const tj_plan *lender;   /* held; a plan with a kernel, for a problem that leaves more to the launch. NULL: none */
    tj_operands fill;        /* numbers fixed by the problem that the lender's leaves to the launch */
    atomic_uint launches;    /* of a lender: those of all that borrow from it, counted by the score */
    atomic_bool varies;      /* it is one of many extents of a dimension */
    atomic_bool is_asked;    /* the background thread knows */
    atomic_uint compared_at; /* the time of the table at which a better lender was last looked for */
} tj_loan;

/** Immutable once it is published, except the atomic members. The members that a call reads come first. */
struct tj_plan {
    tj_plan_key key; /* points at the two below */
    tj_context *context;
    tj_program program;      /* of a stand-in: empty */
    atomic_uint used;        /* the time of the table at which it was last found */
    atomic_bool is_captured; /* a graph may launch it, for as long as the context lives */
    atomic_bool
        has_launched;   /* since its last refusal: its pointers need not be checked. Never, where each launch checks them */
    tj_request request; /* what a call reads is the problem as given, which comes first */
    tj_config config;
    tj_chosen_by chosen_by;            /* 0: its config was named */
    _Atomic(const tj_plan *) fallback; /* for operands that do not suit the kernel; NULL until it is first needed. Held; of the
                                          same table, never a stand-in */
    tj_loan loan;

    /* Lifetime, like `used` and `is_captured` above: managed by plan_table.c. */
    atomic_int holds;       /* references that need no look-up: callers of tj_plan_prepare, plans, threads */
    atomic_bool is_retired; /* no look-up finds it any more; freed when no thread can be using it */
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
 * Build a new plan, which the caller owns: no other thread knows it yet. Inside a scope, outside a capture. *out is NULL on
 * failure; also, with TJ_OK, where its image is not at hand and may not be compiled.
 */
tj_status tj_plan_build(tj_context *context, const tj_scope *scope, const tj_plan_key *key, bool may_compile, tj_plan **out,
                        tj_error *err);

/** Free a plan that no thread can be using. NULL is permitted. */
void tj_plan_free(tj_plan *plan);

/** Take a reference: the plan stays until tj_plan_release. Only for a thread that has entered, or holds it or its holder. */
static inline void tj_plan_hold(const tj_plan *plan)
{
    (void)atomic_fetch_add_explicit((atomic_int *)(uintptr_t)&plan->holds, 1, memory_order_acq_rel);
}

/** Were two plans of one problem made with the same config? */
bool tj_plan_has_config_of(const tj_plan *a, const tj_plan *b);

/** The quality that a plan must have. */
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

/** Create a table of plans, which build makes on a miss, with limits on their number and bytes. */
struct tj_plan_table *tj_plan_table_create(tj_plan_builder *build, int64_t most_plans, int64_t most_bytes);
struct tj_readers *tj_plan_table_readers(struct tj_plan_table *table);
void tj_plan_table_free(struct tj_plan_table *table);

/**
 * Find the plan of a key; NULL: there is none yet. Takes no lock. Call between tj_readers_enter and tj_readers_leave
 * (context->readers); take a reference (hold) to keep the plan longer.
 */
const tj_plan *tj_plan_table_find(struct tj_plan_table *table, const tj_plan_key *key);

/**
 * Find a plan of a problem by the library's choice, with a kernel, in any CUDA context: searches all plans. For a thread that
 * has entered.
 */
const tj_plan *tj_plan_table_find_anywhere(struct tj_plan_table *table, const tj_problem *problem);

/**
 * The plan of a key: found, or built by this thread, or awaited if another is building it. It is held for the caller
 * (tj_plan_release). Inside a scope, outside a capture, not entered.
 */
tj_status tj_plan_table_obtain(tj_context *context, const tj_scope *scope, const tj_plan_key *key, tj_effort effort,
                               const tj_plan **plan, tj_error *err);

/**
 * Replace the plan of the same key. The table owns the new one from now on, and it is held for the caller; holders of the old
 * one keep it. False: there is none of its key any more, or one with the same config, which stays, and the new one is the
 * caller's.
 */
bool tj_plan_table_replace(struct tj_plan_table *table, tj_plan *plan);

/** Report that this plan has replaced another. */
void tj_plan_tell_replaced(const tj_plan *plan);

/** Let a stand-in take the place of another one, if that is still there; else it is freed. */
void tj_plan_table_succeed(struct tj_plan_table *table, const tj_plan *present, tj_plan *successor);

/** Return a clock that advances with each new plan. Any thread. */
unsigned tj_plan_table_time(const struct tj_plan_table *table);

/** Evict the least recently used plans until at most `plans` plans and `bytes` bytes are left. Not entered. */
void tj_plan_table_trim(struct tj_plan_table *table, int64_t plans, int64_t bytes);

/** Free retired plans that are no longer in use. Not entered. */
void tj_plan_table_sweep(struct tj_plan_table *table);

/** Count the plans in the table, and their bytes. */
void tj_plan_table_count(struct tj_plan_table *table, uint64_t *plans, uint64_t *bytes);

/** A key and what it borrows, where an extent must be forgotten first. Not to be copied. */
typedef struct tj_plan_look {
    tj_plan_key key;
    tj_problem storage;
} tj_plan_look;

/**
 * Complete the key of a call that found no plan: the one place where a call's problem is checked and made canonical. key->request
 * becomes *request. Errors: those of tj_problem_check.
 */
tj_status tj_plan_ask(tj_plan_key *key, tj_request *request, tj_error *err);

/**
 * The plan that this thread found last, if it has a kernel of its own, is that of the problem by the library's choice and has
 * not left the table since; NULL: look for it. A thread that has entered.
 */
const tj_plan *tj_plan_find_last(struct tj_plan_table *table, uint64_t context_id, const tj_problem *problem);

/** Prefetch the data of the coming look-up of that plan, and of its launch. No driver call; any thread. */
void tj_plan_prefetch_last(void);

/**
 * The plan of a problem and a config, whose key is in *look then; NULL: there is none yet. Takes no lock; a thread that has
 * entered.
 */
const tj_plan *tj_plan_find(struct tj_plan_table *table, uint64_t context_id, const tj_problem *problem,
                            const tj_config *config, tj_plan_look *look);

/** The same of a request, found or built, and held for the caller. Inside a scope, outside a capture, not entered. */
tj_status tj_plan_obtain(tj_context *context, const tj_scope *scope, const tj_request *request, const tj_config *config,
                         tj_effort effort, const tj_plan **plan, tj_error *err);

/** The same of a problem, with a kernel of its own, for a caller of the library: without such a plan it is a miss. */
tj_status tj_plan_obtain_for_caller(tj_context *context, const tj_scope *scope, const tj_problem *problem,
                                    const tj_config *config, const tj_plan **plan, tj_error *err);

/**
 * Return the textbook's config, if the kernel for unknown extents cannot take this number of rows of P; NULL: the library's
 * choice can.
 */
const tj_config *tj_config_for_tall(const tj_problem *general, const tj_operands *operands, tj_config *storage);

/**
 * For a launch of a stand-in: *plan becomes its lender, and *x the operands for the lender's kernel, which may not suit them.
 * given and x do not overlap. Inside a scope. Errors: those of tj_operands_accept.
 */
tj_status tj_stand_in_lend(const tj_plan **plan, const tj_scope *scope, const tj_operands *given, tj_operands *x,
                           tj_error *err);

/**
 * Make the kernel of its own of a plan that has none yet, unless its extents turned out to come once each. Behind the calls.
 */
tj_status tj_plan_improve(tj_context *context, const tj_problem *problem, const tj_config *config, tj_error *err);

/**
 * The config of a fallback: that of a source that the library chose, without its wants of operands. has_workspace: a launch
 * without one is given one by the driver. tj_undemanding_next: another one, where its kernel may not be launched; false: there
 * is none.
 */
tj_config tj_undemanding_config(const tj_source *chosen, bool has_workspace);
bool tj_undemanding_next(const tj_request *request, tj_config *config);

/**
 * Make the fallback of a plan that is to take another's place, if there are operands that its kernel does not suit: what could
 * be captured before, still can. Inside a scope of the plan's CUDA context, outside a capture. Errors: those of
 * tj_plan_prepare.
 */
tj_status tj_plan_make_fallback(tj_plan *chosen, const tj_scope *scope, tj_error *err);

/**
 * Choose again for a problem whose plan the library chose: if its choice has changed since (a record was kept, a proof failed),
 * a new plan takes the old one's place in one step, for tj_matmul and tj_plan_prepare. The old one stays as good as it was for
 * those who hold it. Without such a plan nothing is done. Errors: those of tj_plan_prepare; the old plan then stays.
 */
tj_status tj_plan_refresh(tj_context *context, const tj_problem *problem, tj_error *err);

/** tj_plan_prove for a plan that nobody else need know; its place stays its own if it fails. */
tj_status tj_plan_try(tj_context *context, const tj_plan *plan, const tj_request *request, bool again, tj_proof *proof,
                      tj_error *err);

/**
 * Put the fallback of a plan in its place, if the library chose its config and the operands do not suit the kernel. For a
 * caller that has entered, where the first call shall be quick, that may be a stand-in. To be asked only where tj_kernel_suits
 * says no. Inside a scope of the plan's CUDA context.
 * Errors: those of tj_plan_prepare, and TJ_ERR_CAPTURE: the stream is being captured and the fallback is not ready.
 */
tj_status tj_plan_fit(const tj_plan **plan, const tj_scope *scope, const tj_operands *operands, bool is_entered,
                      struct CUstream_st *stream, tj_error *err);

#endif
