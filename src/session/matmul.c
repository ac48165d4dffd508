/* SPDX-License-Identifier: Apache-2.0 */
/* matmul: execute a call: find or build a plan, or its fallback if the operands do not suit it, and launch it. */
#include "plan.h"

#include "capture.h"
#include "error.h"

/* Structs of another size come from a program built for another version; there has been only one. */
static tj_status check_structs(const tj_problem *problem, const tj_operands *operands, tj_error *err)
{
    if (problem->struct_size != sizeof *problem)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "problem.struct_size is %lld, not %d: start from TJ_PROBLEM_INIT",
                       (long long)problem->struct_size, (int)sizeof *problem);
    if (operands && operands->struct_size != sizeof *operands)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "operands.struct_size is %lld, not %d: start from TJ_OPERANDS_INIT",
                       (long long)operands->struct_size, (int)sizeof *operands);
    return TJ_OK;
}

/*
 * A lost device serves no request, but one that is wrong is told so: by its problem, or by the operands that a plan of it
 * takes.
 */
__attribute__((cold, noinline)) static tj_status refuse(tj_context *context, const tj_problem *problem,
                                                        const tj_operands *operands, tj_status status, tj_error *err)
{
    const tj_plan *plan;
    atomic_int *inside;
    tj_request request;
    tj_status invalid;

    if (status != TJ_ERR_DEVICE_LOST)
        return status;
    invalid = tj_request_make(problem, &request, err);
    if (invalid != TJ_OK || !operands)
        return invalid != TJ_OK ? invalid : status;
    inside = tj_readers_enter(context->readers);
    plan = tj_plan_table_find_anywhere(context->plans, problem);
    if (plan)
        status = tj_launch_refuse(plan->program.kernel, operands, status, err);
    tj_readers_leave(inside);
    return status;
}

/* Takes it over. */
static void replace(tj_context *context, tj_plan *built)
{
    if (tj_plan_table_replace(context->plans, built)) {
        tj_plan_tell_replaced(built);
        tj_plan_release(built);
    } else {
        tj_plan_free(built);
    }
}

tj_status tj_plan_refresh(tj_context *context, const tj_problem *problem, tj_error *err)
{
    const tj_plan *present;
    tj_plan *built = NULL;
    atomic_int *inside;
    tj_plan_look look;
    tj_scope scope;
    tj_status status = check_structs(problem, NULL, err);

    if (status == TJ_OK)
        status = tj_scope_enter(&context->host.gpu, &scope, err);
    if (status != TJ_OK)
        return status;
    inside = tj_readers_enter(context->readers);
    present = tj_plan_find(context->plans, scope.context_id, problem, NULL, &look);
    if (present)
        tj_plan_hold(present);
    tj_readers_leave(inside);
    if (present)
        status = tj_plan_build(context, &scope, &present->key, true, &built, err);
    if (built && !tj_plan_has_config_of(built, present)) /* one that changes nothing is thrown away */
        status = tj_plan_make_fallback(built, &scope, err);
    if (built && status == TJ_OK)
        replace(context, built);
    else
        tj_plan_free(built);
    tj_plan_release(present);
    tj_scope_leave(&scope);
    return status;
}

/* Only where a context captures: it costs a lock and a look-up. */
static tj_status note(const tj_context *context, const tj_problem *problem, const tj_operands *operands, tj_status status)
{
    if (status == TJ_OK)
        tj_capture_note(context->capture, &(const tj_captured){problem, problem, operands, false});
    return status;
}

/* A stand-in was served by the kernel of its lender: the textbook's, or one for all extents. Inside a scope. */
static void note_launch(tj_context *context, const tj_scope *scope, const tj_problem *problem, const tj_config *config,
                        const tj_operands *operands)
{
    atomic_int *const inside = tj_readers_enter(context->readers);
    tj_plan_look look;
    const tj_plan *plan = tj_plan_find(context->plans, scope->context_id, problem, config, &look);
    const tj_plan *lender = plan ? plan->loan.lender : NULL;
    const bool is_general = lender && !lender->key.config;

    tj_capture_note(context->capture,
                    &(const tj_captured){problem, is_general ? lender->key.problem : problem, operands, lender && !is_general});
    tj_readers_leave(inside);
}

/* ---- a share of the device ---------------------------------------------------------------------------------------- */

/*
 * Return the problem as it is computed on a stream: one of a green context has a share of the multiprocessors. Kernels are
 * chosen for it like for a share that the caller asks for. storage: receives the problem, if it is another one.
 */
static inline const tj_problem *on_stream(const tj_problem *problem, const tj_scope *scope, struct CUstream_st *stream,
                                          tj_problem *storage)
{
    const int32_t share = tj_stream_share(scope->driver, scope->context_id, stream);

    if (__builtin_expect(share == 0 || (problem->multiprocessors > 0 && problem->multiprocessors <= share), 1))
        return problem;
    *storage = *problem;
    storage->multiprocessors = share;
    return storage;
}

/*
 * Not ready: make the plan, held, unless the stream is being captured, where compiling and loading would break the capture.
 */
static tj_status make_ready(tj_context *context, const tj_scope *scope, tj_plan_key *key, struct CUstream_st *stream,
                            const tj_plan **plan, tj_error *err)
{
    const tj_effort effort = key->config                                  ? TJ_EFFORT_BEST
                             : context->first_call == TJ_FIRST_CALL_QUICK ? TJ_EFFORT_QUICK
                             : context->host.packs                        ? TJ_EFFORT_LAUNCH
                                                                          : TJ_EFFORT_BEST;
    bool is_capturing = false;
    tj_request request;
    tj_status status = tj_plan_ask(key, &request, err);

    if (status == TJ_OK)
        status = tj_stream_is_capturing(scope->driver, stream, &is_capturing, err);
    if (status == TJ_OK && is_capturing)
        status =
            tj_fail(err, TJ_ERR_CAPTURE,
                    "the stream is being captured and this problem (j %lld, k %lld, l %lld) has no plan yet: call "
                    "tj_plan_prepare for it before the capture begins",
                    (long long)key->problem->j.extent, (long long)key->problem->k.extent, (long long)key->problem->l.extent);
    if (status == TJ_OK)
        status = tj_plan_table_obtain(context, scope, key, effort, plan, err);
    return status;
}

tj_status tj_plan_prepare(tj_context *context, const tj_problem *problem, const tj_config *config, const tj_plan **plan,
                          tj_error *err)
{
    if (plan)
        *plan = NULL;
    if (TJ_HAS_NULL(err, plan, context, problem))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_problem storage;
    tj_scope scope;
    tj_status status;

    status = check_structs(problem, NULL, err);
    if (status != TJ_OK)
        return status;
    status = tj_scope_enter(&context->host.gpu, &scope, err);
    if (status != TJ_OK)
        return refuse(context, problem, NULL, status, err);
    status = tj_plan_obtain_for_caller(context, &scope, on_stream(problem, &scope, NULL, &storage), config, plan, err);
    tj_scope_leave(&scope);
    return context->capture ? note(context, problem, NULL, status) : status;
}

/*
 * A graph that captures a launch may run it at any time, so the code of its plan stays. Only streams that the program made can
 * be captured, and only they are asked.
 */
static inline void mark_captured(const tj_plan *plan, const tj_scope *scope, struct CUstream_st *stream)
{
    CUresult (*const is_capturing)(CUstream, int *) = scope->driver->api.stream_is_capturing;
    int state = CU_STREAM_CAPTURE_STATUS_NONE;

    if ((uintptr_t)stream <= CU_STREAM_LEGACY || !is_capturing ||
        atomic_load_explicit(&plan->is_captured, memory_order_relaxed))
        return;
    if (is_capturing(stream, &state) == CUDA_SUCCESS && state != CU_STREAM_CAPTURE_STATUS_NONE)
        atomic_store((atomic_bool *)(uintptr_t)&plan->is_captured, true);
}

/* ---- pointers ----------------------------------------------------------------------------------------------------- */

/*
 * A wrong pointer loses the device, so the driver is asked before the first launch of a plan what each one is; and after a
 * refusal, since the next operands may be wrong in another way. Not in a capture: nothing runs there, and the memory of a graph
 * may not be mapped yet.
 */
static inline bool has_launched(const tj_plan *plan)
{
    return atomic_load_explicit(&plan->has_launched, memory_order_relaxed);
}

static void mark_launched(const tj_plan *plan, bool reached_device)
{
    const bool value = reached_device && !plan->context->check_pointers;

    if (has_launched(plan) != value) /* otherwise threads would take the line from each other */
        atomic_store_explicit((atomic_bool *)(uintptr_t)&plan->has_launched, value, memory_order_relaxed);
}

/* Check the pointers of a plan whose launches are not known to be right. *is_known: the result of this launch decides. */
__attribute__((noinline)) static tj_status check_pointers(const tj_plan *plan, const tj_scope *scope,
                                                          const tj_operands *operands, struct CUstream_st *stream,
                                                          bool *is_known, tj_error *err)
{
    bool is_capturing = false;
    tj_status status = TJ_OK;

    if (!plan->context->check_pointers)
        status = tj_stream_is_capturing(scope->driver, stream, &is_capturing, err);
    *is_known = !is_capturing;
    return status == TJ_OK && !is_capturing ? tj_kernel_check_pointers(plan->program.kernel, operands, err) : status;
}

/* ---- launches ----------------------------------------------------------------------------------------------------- */

/*
 * Replace the plan that was found by one whose kernel takes the operands: a fallback, the lender of a stand-in, or both in
 * turn. *x becomes the operands for its kernel. Inside a scope.
 */
__attribute__((noinline)) static tj_status find_kernel(const tj_plan **plan, const tj_scope *scope, const tj_operands **x,
                                                       tj_operands *lent, bool is_entered, struct CUstream_st *stream,
                                                       tj_error *err)
{
    tj_operands filled;
    tj_status status = TJ_OK;

    if (!tj_plan_is_stand_in(*plan))
        status = tj_plan_fit(plan, scope, *x, is_entered, stream, err);
    while (status == TJ_OK && tj_plan_is_stand_in(*plan)) {
        const tj_operands *given = *x;

        if (given == lent) { /* a fallback of the lender borrows too */
            filled = *lent;
            given = &filled;
        }
        status = tj_stand_in_lend(plan, scope, given, lent, err);
        *x = lent;
        if (status == TJ_OK && !tj_kernel_suits((*plan)->program.kernel, lent))
            status = tj_plan_fit(plan, scope, lent, true, stream, err);
    }
    return status;
}

/* Inside a scope, with a plan that stays meanwhile. */
static tj_status launch_found(const tj_plan *found, const tj_scope *scope, const tj_operands *operands, bool is_entered,
                              struct CUstream_st *stream, tj_error *err)
{
    const tj_plan *plan = found;
    bool is_known = true;
    tj_operands lent;
    tj_status status = TJ_OK;

    if (__builtin_expect(tj_plan_is_stand_in(plan) || !tj_kernel_suits(plan->program.kernel, operands), 0))
        status = find_kernel(&plan, scope, &operands, &lent, is_entered, stream, err);
    if (status == TJ_OK && !(has_launched(found) && has_launched(plan)))
        status = check_pointers(plan, scope, operands, stream, &is_known, err);
    if (status == TJ_OK) {
        if (is_entered)
            mark_captured(plan, scope, stream);
        status = tj_kernel_launch_ready(plan->program.kernel, operands, stream, err);
    }
    mark_launched(found, status == TJ_OK && is_known);
    mark_launched(plan, status == TJ_OK && is_known);
    return status;
}

/* A plan that the caller holds: a launch of one that has launched is left to the kernel. */
static tj_status launch_held(const tj_plan *plan, const tj_operands *operands, struct CUstream_st *stream, tj_error *err)
{
    const tj_kernel *const kernel = plan->program.kernel;
    tj_scope scope;
    tj_status status;

    if (__builtin_expect(has_launched(plan) && (tj_kernel_suits(kernel, operands) || plan->key.config), 1)) {
        status = tj_kernel_launch(kernel, operands, stream, err);
        if (__builtin_expect(status != TJ_OK, 0))
            mark_launched(plan, false);
        return status;
    }
    status = tj_scope_enter(&plan->context->host.gpu, &scope, err);
    if (status != TJ_OK)
        return tj_launch_refuse(kernel, operands, status, err);
    if (scope.context_id == plan->key.context_id)
        status = launch_found(plan, &scope, operands, false, stream, err);
    else
        status = tj_kernel_launch(kernel, operands, stream, err); /* says that it is another's */
    tj_scope_leave(&scope);
    return status;
}

tj_status tj_plan_launch(const tj_plan *plan, const tj_operands *operands, struct CUstream_st *stream, tj_error *err)
{
    if (TJ_HAS_NULL(err, plan, operands))
        return TJ_ERR_INVALID_ARGUMENT;
    const tj_status status = launch_held(plan, operands, stream, err);

    return __builtin_expect(plan->context->capture != NULL, 0) ? note(plan->context, plan->key.problem, operands, status)
                                                               : status;
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

/* The arguments of a call. config: NULL, or what the library's choice gives way to. */
typedef struct call {
    tj_context *context;
    const tj_problem *asked, *problem; /* as given, and as it is computed on the stream */
    const tj_config *config;
    const tj_operands *operands;
    struct CUstream_st *stream;
} call;

static bool is_captured(const tj_scope *scope, struct CUstream_st *stream)
{
    bool is_capturing = false;

    return tj_stream_is_capturing(scope->driver, stream, &is_capturing, NULL) == TJ_OK && is_capturing;
}

/* A call whose plan, which may be known, is not launched as it stands. Inside a scope and entered; leaves the latter. */
__attribute__((noinline)) static tj_status matmul_slow_path(const call *c, const tj_scope *scope, atomic_int *inside,
                                                            const tj_plan *plan, tj_error *err)
{
    tj_context *const context = c->context;
    const tj_plan *held = NULL;
    tj_status status = TJ_OK;
    tj_plan_look look;

    if (!plan)
        plan = tj_plan_find(context->plans, scope->context_id, c->problem, c->config, &look);
    if (!plan && c->asked != c->problem && is_captured(scope, c->stream)) /* prepared before the stream was known */
        plan = tj_plan_find(context->plans, scope->context_id, c->asked, c->config, &look);
    if (__builtin_expect(!plan, 0)) {
        tj_readers_leave(inside); /* so that plans can go while this one is made */
        status = make_ready(context, scope, &look.key, c->stream, &held, err);
        inside = tj_readers_enter(context->readers);
        plan = held;
    }
    if (status == TJ_OK)
        status = launch_found(plan, scope, c->operands, true, c->stream, err);
    tj_readers_leave(inside);
    tj_plan_release(held);
    return status;
}

/*
 * The hot path, where a thread launches the same again: one driver call for the context, a comparison, the launch. A stream of
 * the program's own is asked for its share of the device and whether it is being captured. It does not even count itself: a
 * counter that all threads write would cost them more than all the rest.
 *
 * Between launches the driver evicts most of the data that a call reads, so prefetch it.
 */
static tj_status matmul(tj_context *context, const tj_problem *asked, const tj_config *config, const tj_operands *operands,
                        struct CUstream_st *stream, tj_error *err)
{
    const tj_problem *problem;
    tj_problem storage;
    const tj_plan *plan;
    atomic_int *inside;
    tj_scope scope;
    tj_status status;

    tj_plan_prefetch_last();
    status = tj_scope_enter(&context->host.gpu, &scope, err);
    if (__builtin_expect(status != TJ_OK, 0))
        return refuse(context, asked, operands, status, err);
    problem = on_stream(asked, &scope, stream, &storage);
    inside = tj_readers_enter(context->readers);
    plan = config ? NULL : tj_plan_find_last(context->plans, scope.context_id, problem);
    if (__builtin_expect(plan && has_launched(plan) && tj_kernel_is_ready_for(plan->program.kernel, operands), 1)) {
        mark_captured(plan, &scope, stream);
        status = tj_kernel_queue_ready(plan->program.kernel, operands, stream, err);
        if (__builtin_expect(status != TJ_OK, 0))
            mark_launched(plan, false);
        tj_readers_leave(inside);
    } else {
        const call slow = {context, asked, problem, config, operands, stream};

        status = matmul_slow_path(&slow, &scope, inside, plan, err);
    }
    if (__builtin_expect(context->capture != NULL, 0) && status == TJ_OK)
        note_launch(context, &scope, problem, config, operands);
    tj_scope_leave(&scope);
    return status;
}

/* A plan serves every extent of a TJ_DIM_ANY dimension, so the problem's own must travel with the launch. */
static bool needs_extents(const tj_problem *problem, const tj_operands *operands)
{
    return (problem->j.mode == TJ_DIM_ANY && operands->j == 0) || (problem->k.mode == TJ_DIM_ANY && operands->k == 0) ||
           (problem->l.mode == TJ_DIM_ANY && operands->l == 0);
}

static void fill_extents(const tj_problem *problem, tj_operands *operands)
{
    if (operands->j == 0)
        operands->j = problem->j.extent;
    if (operands->k == 0)
        operands->k = problem->k.extent;
    if (operands->l == 0)
        operands->l = problem->l.extent;
}

/* Move the extents of the problem to the launch, and more numbers if kernels are not specialised for shapes. */
__attribute__((noinline)) static tj_status multiply_generally(tj_context *context, const tj_problem *problem,
                                                              const tj_operands *operands, struct CUstream_st *stream,
                                                              tj_error *err)
{
    tj_operands moved = *operands;
    tj_request request;
    tj_problem general;
    tj_config storage;
    tj_status status;

    if (context->specialize == TJ_SPECIALIZE_SHAPES || tj_takes_fixed_extents(problem)) {
        fill_extents(problem, &moved);
        return matmul(context, problem, NULL, &moved, stream, err);
    }
    status = tj_request_make(problem, &request, err);
    if (status != TJ_OK)
        return status;
    general = tj_problem_general(&request.problem);
    fill_extents(problem, &moved);
    tj_operands_take(&moved, &request.problem, &general);
    return matmul(context, &general, tj_config_for_tall(&general, &moved, &storage), &moved, stream, err);
}

static tj_status multiply(tj_context *context, const tj_problem *problem, const tj_operands *operands,
                          struct CUstream_st *stream, tj_error *err)
{
    const tj_status status = check_structs(problem, operands, err);

    if (status != TJ_OK)
        return status;
    if (__builtin_expect(context->specialize == TJ_SPECIALIZE_SHAPES && !needs_extents(problem, operands), 1))
        return matmul(context, problem, NULL, operands, stream, err);
    return multiply_generally(context, problem, operands, stream, err);
}

tj_status tj_matmul(tj_context *context, const tj_problem *problem, const tj_operands *operands, struct CUstream_st *stream,
                    tj_error *err)
{
    if (TJ_HAS_NULL(err, context, problem, operands))
        return TJ_ERR_INVALID_ARGUMENT;
    return multiply(context, problem, operands, stream, err);
}
