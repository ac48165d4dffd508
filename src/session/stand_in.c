/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stand_in: a plan without a kernel of its own, for the time until that is there.
 *
 * With TJ_FIRST_CALL_QUICK no call waits for the compile of a fast kernel. The first of these is launched:
 *
 *     its own kernel                 if it is in a pack;
 *     a kernel for more extents      of a pack, which leaves dimensions of it open;
 *     its own kernel                 if it is in memory or in the store;
 *     a kernel for all extents       of a dimension that varies, once that was made in the background;
 *     the textbook's kernel          for all shapes of its types, which compiles in a fraction of the time, once for all of
 *     them.
 *
 * The table holds a stand-in meanwhile, which borrows the kernel of another plan. Its own kernel is requested in the background
 * when it is launched again: a problem that comes once costs no compile. But if it differs from earlier problems in a dimension
 * that varies, the kernel for all extents of that is asked for in its place, and its own only when it has been launched often,
 * and makes up a good part of the launches of that kernel.
 */
#include "plan.h"

#include "background.h"
#include "chooser.h"
#include "error.h"
#include "family.h"
#include "varying.h"

enum { OFTEN = 64, SHARE = 16 };

/* ---- what is lent -------------------------------------------------------------------------------------------------- */

static void fill_number(int64_t of_problem, int64_t of_lender, int64_t value, int64_t *x)
{
    if (of_lender == TJ_ANY && of_problem != TJ_ANY)
        *x = value;
}

static void fill_extent(const tj_dim *of_problem, const tj_dim *of_lender, int64_t *x)
{
    if (of_lender->mode == TJ_DIM_ANY && of_problem->mode == TJ_DIM_FIXED)
        *x = of_problem->extent;
}

/* Fill in the numbers fixed by the problem that the lender's leaves to the launch; the caller gives those that both leave. */
static void fill(const tj_plan *plan, const tj_plan *lender, tj_operands *x)
{
    const tj_problem *const own = plan->key.problem, *const lent = lender->key.problem;
    const tj_operands *const values = &plan->loan.fill;
    tj_operand *const operand[] = {&x->m, &x->n, &x->p, &x->c};
    const tj_operand *const value[] = {&values->m, &values->n, &values->p, &values->c};

    fill_extent(&own->j, &lent->j, &x->j);
    fill_extent(&own->k, &lent->k, &x->k);
    fill_extent(&own->l, &lent->l, &x->l);
    fill_number(own->batch, lent->batch, values->batch, &x->batch);
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++) {
        const tj_matrix *const of_own = tj_problem_matrix(own, which), *const of_lent = tj_problem_matrix(lent, which);

        fill_number(of_own->ld, of_lent->ld, value[which]->ld, &operand[which]->ld);
        fill_number(of_own->stride, of_lent->stride, value[which]->stride, &operand[which]->stride);
    }
}

/* Can that kernel be launched with these extents? A grid may not hold as many rows as P has. */
static bool can_lend(const tj_plan *plan, const tj_plan *lender)
{
    tj_operands x = TJ_OPERANDS_INIT;
    tj_launch_shape shape;

    if (tj_has_any_extent(plan->key.problem) || plan->key.problem->batch == TJ_ANY)
        return true; /* the launch will say */
    fill(plan, lender, &x);
    return tj_launch_resolve(lender->program.kernel, &x, 0, &shape, NULL) == TJ_OK;
}

/* ---- who lends ----------------------------------------------------------------------------------------------------- */

/*
 * Find the plan for all extents of the varying dimension, held; NULL: none varies, or it is not ready, and *general is the one
 * to ask for.
 */
static const tj_plan *find_general(tj_context *context, const tj_scope *scope, const tj_request *request, bool *varies,
                                   tj_request *general)
{
    atomic_int *inside;
    const tj_plan *found;
    tj_plan_look look;

    *varies = tj_varying_find(context->varying, request, general);
    if (!*varies)
        return NULL;
    inside = tj_readers_enter(context->readers);
    found = tj_plan_find(context->plans, scope->context_id, &general->given, NULL, &look);
    if (found && tj_plan_is_stand_in(found))
        found = NULL;
    if (found)
        tj_plan_hold(found);
    tj_readers_leave(inside);
    return found;
}

/* Held for the caller. */
static tj_status obtain_textbook(tj_context *context, const tj_scope *scope, const tj_request *request, const tj_plan **plan,
                                 tj_error *err)
{
    tj_operands moved = TJ_OPERANDS_INIT;
    tj_request general;
    tj_config storage;
    const tj_config safe = tj_safe_config(&request->problem), *config;

    if (tj_takes_fixed_extents(&request->problem)) /* whose extents no launch brings */
        return tj_plan_obtain(context, scope, request, &safe, TJ_EFFORT_BEST, plan, err);
    tj_request_general(request, &general);
    tj_operands_take(&moved, &request->problem, &general.given);
    config = tj_config_for_tall(&general.given, &moved, &storage);
    return tj_plan_obtain(context, scope, &general, config ? config : &safe, TJ_EFFORT_BEST, plan, err);
}

/* Takes over the hold. NULL: out of memory, or it cannot be lent, and is held no longer. */
static tj_plan *create(tj_context *context, const tj_plan_key *key, const tj_plan *lender)
{
    const tj_problem *const known = &key->request->problem, general = tj_problem_general(known);
    tj_plan *plan = tj_plan_create(context, key);

    if (plan) {
        plan->loan.fill = (tj_operands)TJ_OPERANDS_INIT;
        tj_operands_take(&plan->loan.fill, known, &general);
        if (general.batch != TJ_ANY)
            plan->loan.fill.batch = general.batch;
        plan->loan.compared_at = tj_plan_table_time(context->plans);
    }
    if (!plan || !can_lend(plan, lender)) {
        tj_plan_free(plan);
        tj_plan_release(lender);
        return NULL;
    }
    plan->loan.lender = lender;
    return plan;
}

/* Search the packs for a problem without a config. If the device is unknown: nothing. */
static tj_in_packs look_into_packs(tj_context *context, const tj_scope *scope, const tj_plan_key *key, tj_request *general)
{
    tj_device_facts device;
    int ordinal;

    return !key->config && context->host.packs && tj_scope_device(scope, &ordinal, NULL) == TJ_OK &&
                   tj_gpu_device_limits(&context->host.gpu, ordinal, &device, NULL) == TJ_OK
               ? tj_context_look_into_packs(context, &device, key->request, general)
               : TJ_IN_NO_PACK;
}

static tj_plan *stand_in_of_pack(tj_context *context, const tj_scope *scope, const tj_plan_key *key)
{
    const tj_plan *lender;
    tj_request general;

    if (look_into_packs(context, scope, key, &general) != TJ_IN_PACK_FOR_MORE ||
        tj_plan_obtain(context, scope, &general, NULL, TJ_EFFORT_BEST, &lender, NULL) != TJ_OK)
        return NULL;
    return create(context, key, lender);
}

static tj_status build_soon(tj_context *context, const tj_scope *scope, const tj_plan_key *key, tj_plan **out, tj_error *err)
{
    const tj_plan *lender;
    tj_request general, packed;
    bool varies;
    tj_status status = TJ_OK;

    *out = NULL;
    if (!tj_scope_is_primary(&context->host.gpu, scope)) /* the background thread works in no other context */
        return tj_plan_build(context, scope, key, true, out, err);
    if (!key->config)
        tj_varying_note(context->varying, key->request);
    lender = find_general(context, scope, key->request, &varies, &general);
    if (!lender && (*out = stand_in_of_pack(context, scope, key))) {
        atomic_store(&(*out)->loan.varies, varies);
        return TJ_OK;
    }
    if (!varies || key->config || (!lender && look_into_packs(context, scope, key, &packed) == TJ_IN_PACK)) {
        status = tj_plan_build(context, scope, key, false, out, err);
        if (*out || status != TJ_OK) {
            tj_plan_release(lender);
            return status;
        }
    }
    if (lender)
        *out = create(context, key, lender);
    if (!*out && obtain_textbook(context, scope, key->request, &lender, NULL) == TJ_OK)
        *out = create(context, key, lender);
    if (!*out)
        return tj_plan_build(context, scope, key, true, out, err);
    atomic_store(&(*out)->loan.varies, varies && !key->config);
    if (varies && !key->config && (*out)->loan.lender->key.config)
        tj_background_improve(context->background, &general.given, NULL);
    return TJ_OK;
}

tj_status tj_plan_make(tj_context *context, const tj_scope *scope, const tj_plan_key *key, tj_effort effort, tj_plan **built,
                       tj_error *err)
{
    const tj_status status = effort == TJ_EFFORT_QUICK ? build_soon(context, scope, key, built, err)
                                                       : tj_plan_build(context, scope, key, true, built, err);

    if (status == TJ_ERR_NO_COMPILER && effort != TJ_EFFORT_BEST && (*built = stand_in_of_pack(context, scope, key)))
        return TJ_OK;
    return status;
}

/* ---- launches ------------------------------------------------------------------------------------------------------ */

/* Plans were added since the last check: if there is a better lender among them, the next launch uses it. */
static void look_for_better(tj_plan *plan, const tj_scope *scope)
{
    tj_context *const context = plan->context;
    const unsigned now = tj_plan_table_time(context->plans);
    const tj_plan *better;
    tj_plan *successor;
    tj_request general;
    bool varies;

    if (plan->key.config || atomic_load_explicit(&plan->loan.compared_at, memory_order_relaxed) == now ||
        atomic_exchange_explicit(&plan->loan.compared_at, now, memory_order_relaxed) == now)
        return;
    better = find_general(context, scope, &plan->request, &varies, &general);
    if (!better && varies)
        tj_background_improve(context->background, &general.given, NULL);
    if (!better || better == plan->loan.lender) {
        tj_plan_release(better);
        return;
    }
    successor = create(context, &plan->key, better);
    if (!successor)
        return;
    atomic_store(&successor->loan.varies,
                 true); /* its launches count from 0, as those of all that borrow from the new one do */
    atomic_store(&successor->loan.is_asked, atomic_load(&plan->loan.is_asked));
    tj_plan_table_succeed(context->plans, plan, successor);
}

/*
 * Is it time for a kernel of its own? The lender's count, which all threads share, is written once in SHARE launches. One of 32
 * batch sizes that come alike often never makes up a SHARE-th of them.
 */
static bool recurs(tj_plan *borrower, const tj_plan *lender, unsigned launches)
{
    atomic_uint *const of_all = (atomic_uint *)(uintptr_t)&lender->loan.launches;
    tj_request general;

    if (!atomic_load_explicit(&borrower->loan.varies, memory_order_relaxed)) {
        if (launches == 1)
            return false;
        if (borrower->key.config || !tj_varying_find(borrower->context->varying, &borrower->request, &general))
            return true;
        atomic_store(&borrower->loan.varies, true); /* others have come since */
    }
    if (launches % SHARE != 0)
        return false;
    return atomic_fetch_add_explicit(of_all, SHARE, memory_order_relaxed) + SHARE <= launches * SHARE && launches >= OFTEN;
}

tj_status tj_stand_in_lend(const tj_plan **plan, const tj_scope *scope, const tj_operands *given, tj_operands *x, tj_error *err)
{
    tj_plan *const borrower = (tj_plan *)(uintptr_t)*plan; /* immutable but for its counts */
    const tj_plan *lender = borrower->loan.lender;
    const unsigned launches = atomic_fetch_add_explicit(&borrower->loan.launches, 1, memory_order_relaxed) + 1;
    tj_status status = tj_operands_accept(given, x, err);

    if (status != TJ_OK)
        return status;
    x->struct_size = sizeof *x;
    fill(borrower, lender, x);
    *plan = lender;
    if (!atomic_load_explicit(&borrower->loan.is_asked, memory_order_relaxed) && recurs(borrower, lender, launches) &&
        !atomic_exchange(&borrower->loan.is_asked, true))
        tj_background_improve(borrower->context->background, borrower->key.problem, borrower->key.config);
    look_for_better(borrower, scope);
    return TJ_OK;
}

/* ---- in the background --------------------------------------------------------------------------------------------- */

/* Has it a kernel of its own, or turned out to be one of many that are not launched often? */
static bool is_not_wanted(tj_context *context, const tj_scope *scope, const tj_problem *problem, const tj_config *config)
{
    atomic_int *const inside = tj_readers_enter(context->readers);
    tj_plan_look look;
    tj_plan *present = (tj_plan *)(uintptr_t)tj_plan_find(context->plans, scope->context_id, problem, config, &look);
    tj_request general;
    bool answer = present && !tj_plan_is_stand_in(present);

    if (present && !answer && !config && atomic_load(&present->loan.launches) < OFTEN &&
        tj_varying_find(context->varying, &present->request, &general)) {
        atomic_store(&present->loan.varies, true); /* until it is launched often */
        atomic_store(&present->loan.is_asked, false);
        answer = true;
    }
    tj_readers_leave(inside);
    return answer;
}

tj_status tj_plan_improve(tj_context *context, const tj_problem *problem, const tj_config *config, tj_error *err)
{
    const tj_plan *plan = NULL;
    tj_request request;
    tj_scope scope;
    tj_status status = tj_request_make(problem, &request, err);

    if (status == TJ_OK)
        status = tj_scope_enter(&context->host.gpu, &scope, err);
    if (status != TJ_OK)
        return status;
    if (!is_not_wanted(context, &scope, problem, config))
        status = tj_plan_obtain(context, &scope, &request, config, TJ_EFFORT_BEST, &plan, err);
    tj_plan_release(plan);
    tj_scope_leave(&scope);
    return status;
}
