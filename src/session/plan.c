/* SPDX-License-Identifier: Apache-2.0 */
/* plan: the one file that knows the whole line: problem -> config -> source -> image -> kernel -> launch. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "choose.h"
#include "chooser.h"
#include "error.h"
#include "family.h"
#include "hash.h"
#include "image.h"
#include "proof.h"

/* ---- building ----------------------------------------------------------------------------------------------------- */

void tj_plan_free(tj_plan *plan)
{
    while (plan) {
        tj_plan *replaced = plan->replaced;

        tj_program_drop(&plan->program);
        free(plan);
        plan = replaced;
    }
}

bool tj_plan_has_config_of(const tj_plan *a, const tj_plan *b)
{
    return memcmp(tj_source_config(a->program.source), tj_source_config(b->program.source), sizeof(tj_config)) == 0;
}

static bool has_any(const tj_problem *problem)
{
    return problem->j.mode == TJ_DIM_ANY || problem->k.mode == TJ_DIM_ANY || problem->l.mode == TJ_DIM_ANY;
}

/*
 * Load the image; a stored one that the driver refuses was damaged in a way no checksum sees (an older library's bug, a
 * driver change): it is thrown away and compiled once more.
 */
static tj_status load(tj_context *context, const char *target, tj_plan *plan, tj_error *err)
{
    tj_status status = tj_host_load(&context->host, plan->program.source, plan->program.image, &plan->program.kernel, err);
    tj_error refused;

    if (status == TJ_OK || tj_image_origin(plan->program.image) != TJ_FROM_STORE ||
        (status != TJ_ERR_DRIVER && status != TJ_ERR_UNSUPPORTED && status != TJ_ERR_INTERNAL))
        return status;
    if (tj_host_load(&context->host, plan->program.source, plan->program.image, &plan->program.kernel, &refused) == TJ_OK)
        return TJ_OK; /* a passing fault, not the image's */
    tj_image_reject(&context->host, plan->program.image, refused.message);
    tj_image_free(plan->program.image);
    plan->program.image = NULL;
    status = tj_image_obtain(context, plan->program.source, target, &plan->program.image, err);
    return status == TJ_OK ? tj_host_load(&context->host, plan->program.source, plan->program.image, &plan->program.kernel, err)
                           : status;
}

tj_status tj_plan_try(tj_context *context, const tj_plan *plan, const tj_problem *problem, bool again, tj_proof *proof,
                      tj_error *err)
{
    tj_host *const host = &context->host;
    tj_program simple = {0};
    tj_device_facts device;
    tj_problem any;
    tj_config config;
    tj_status status = tj_gpu_device_facts(&host->gpu, tj_kernel_device(plan->program.kernel), &device, err);

    if (status == TJ_OK && !again && tj_proof_recall(host, plan->program.image, &device, proof))
        return tj_proof_check(plan->program.source, &device, proof, err);
    if (status == TJ_OK)
        status = tj_proof_simple(problem, &any, &config, err);
    if (status == TJ_OK)
        status = tj_generate(&any, &config, &simple.source, err);
    if (status == TJ_OK)
        status = tj_image_obtain(context, simple.source, tj_image_target(plan->program.image), &simple.image, err);
    if (status == TJ_OK)
        status = tj_program_load(host, &simple, err);
    if (status == TJ_OK)
        status = tj_program_prove(host, &plan->program, simple.kernel, problem, proof, err);
    tj_program_drop(&simple);
    return status;
}

/*
 * Was the kernel proven wrong on such a device, or, if the context asks for it, is it wrong now? That nothing could be proven, for want of
 * memory say, is no reason to refuse it. naive is what others are compared with.
 */
static tj_status believe(tj_context *context, const tj_device_facts *device, const tj_plan *plan, tj_error *err)
{
    tj_proof proof;
    tj_error why;
    tj_status status;

    if (tj_proof_recall(&context->host, plan->program.image, device, &proof))
        return tj_proof_check(plan->program.source, device, &proof, err);
    if (context->prove != TJ_PROVE_BEFORE || tj_source_config(plan->program.source)->family == TJ_SIMPLE_FAMILY)
        return TJ_OK;
    status = tj_plan_try(context, plan, plan->key.problem, false, &proof, &why);
    if (status == TJ_ERR_CHECK_FAILED)
        tj_log_line(&context->host.log, TJ_LOG_ERROR, "%s", why.message);
    else if (status != TJ_OK && status != TJ_ERR_DEVICE_LOST)
        tj_log_line(&context->host.log, TJ_LOG_WARNING, "%s is launched without a proof: %s",
                    tj_source_kernel(plan->program.source), why.message);
    if (status != TJ_ERR_CHECK_FAILED && status != TJ_ERR_DEVICE_LOST)
        return TJ_OK;
    if (err)
        *err = why;
    return status;
}

/* Source, image and kernel of a config; what an earlier config left in the plan goes. */
static tj_status make(tj_context *context, const tj_device_facts *device, const char *target, const tj_config *config,
                      tj_plan *plan, tj_error *err)
{
    tj_status status;

    tj_program_drop(&plan->program);
    status = tj_generate(plan->key.problem, config, &plan->program.source, err);
    if (status == TJ_OK)
        status = tj_image_obtain(context, plan->program.source, target, &plan->program.image, err);
    if (status == TJ_OK)
        status = load(context, target, plan, err);
    if (status == TJ_OK)
        status = believe(context, device, plan, err);
    if (status != TJ_OK) {
        tj_kernel_free(plan->program.kernel);
        plan->program.kernel = NULL;
    }
    return status;
}

/* What the library chose and may not be launched gives way to the next choice. */
static tj_status make_chosen(tj_context *context, const tj_device_facts *device, const char *target, tj_plan *plan,
                             tj_error *err)
{
    tj_config refused[TJ_MOST_REFUSED + 1], config = TJ_CONFIG_INIT;
    tj_error why;

    for (size_t count = 0;;) {
        tj_status status =
            tj_context_choose(context, device, plan->key.problem, refused, count, &config, &plan->chosen_by, err);

        if (status != TJ_OK)
            return status;
        status = make(context, device, target, &config, plan, &why);
        if (!tj_status_is_unfit(status) || count > TJ_MOST_REFUSED) {
            if (status != TJ_OK && err)
                *err = why;
            return status;
        }
        tj_log_line(&context->host.log, TJ_LOG_INFO, "another config is chosen: %s", why.message);
        refused[count++] = *tj_source_config(plan->program.source);
    }
}

tj_status tj_plan_build(tj_context *context, const tj_scope *scope, const tj_plan_key *key, tj_plan **out, tj_error *err)
{
    tj_device_facts device;
    int ordinal = 0;
    char target[16];
    tj_plan *plan = calloc(1, sizeof *plan);
    tj_status status;

    *out = NULL;
    if (!plan)
        return tj_fail_memory(err, "a plan");
    plan->context = context;
    plan->key = *key;
    plan->problem = *key->problem;
    plan->key.problem = &plan->problem;
    if (key->config) {
        plan->config = *key->config;
        plan->key.config = &plan->config;
    }
    status = tj_scope_device(scope, &ordinal, err);
    if (status == TJ_OK)
        status = tj_gpu_device_facts(&context->host.gpu, ordinal, &device, err);
    if (status == TJ_OK)
        status = tj_host_target(&context->host, device.cc_major, device.cc_minor, target, err);
    if (status == TJ_OK && !key->config) {
        status = make_chosen(context, &device, target, plan, err);
    } else if (status == TJ_OK) {
        tj_config config = plan->config;

        status = tj_config_adapt(&device, key->problem, &config, err);
        if (status == TJ_OK)
            status = make(context, &device, target, &config, plan, err);
    }
    if (status != TJ_OK) {
        tj_plan_free(plan);
        return status;
    }
    /* The thread behind tunes on the context's own device: for a program on another it would take up the wrong one. */
    if (!key->config && plan->chosen_by != TJ_BY_RECORD && !has_any(key->problem) && key->problem->batch != TJ_ANY &&
        ordinal == context->host.gpu.device)
        tj_background_tune(context->background, key->problem);
    if (context->prove == TJ_PROVE_BEHIND && ordinal == context->host.gpu.device)
        tj_background_prove(context->background, key->problem, key->config);
    *out = plan;
    return TJ_OK;
}

/* ---- keys --------------------------------------------------------------------------------------------------------- */

static void forget_extent(tj_dim *dim)
{
    if (dim->mode == TJ_DIM_ANY)
        dim->extent = 0;
}

/* The key borrows problem and config, or storage where an extent must be forgotten first. */
static tj_plan_key make_key(uint64_t context_id, const tj_problem *problem, const tj_config *config, tj_problem *storage)
{
    tj_plan_key key = {context_id, problem, config, 0};

    if (has_any(problem)) {
        *storage = *problem;
        forget_extent(&storage->j);
        forget_extent(&storage->k);
        forget_extent(&storage->l);
        key.problem = storage;
    }
    key.hash = tj_hash_bytes64(key.problem, sizeof *key.problem) + context_id * UINT64_C(0x9e3779b97f4a7c15);
    if (config)
        key.hash ^= tj_hash_bytes64(config, sizeof *config);
    return key;
}

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

tj_status tj_plan_obtain(tj_context *context, const tj_scope *scope, const tj_problem *problem, const tj_config *config,
                         const tj_plan **plan, tj_error *err)
{
    tj_problem storage;
    const tj_plan_key key = make_key(scope->context_id, problem, config, &storage);

    *plan = tj_plan_table_find(context->plans, &key);
    return *plan ? TJ_OK : tj_plan_table_obtain(context, scope, &key, plan, err);
}

/* ---- public ------------------------------------------------------------------------------------------------------- */

tj_status tj_plan_refresh(tj_context *context, const tj_problem *problem, tj_error *err)
{
    const tj_plan *present;
    tj_plan *built = NULL;
    tj_problem storage;
    tj_plan_key key;
    tj_scope scope;
    tj_status status = check_structs(problem, NULL, err);

    if (status == TJ_OK)
        status = tj_scope_enter(&context->host.gpu, &scope, err);
    if (status != TJ_OK)
        return status;
    key = make_key(scope.context_id, problem, NULL, &storage);
    present = tj_plan_table_find(context->plans, &key);
    if (present)
        status = tj_plan_build(context, &scope, &key, &built, err);
    if (built && !tj_plan_has_config_of(built, present)) /* one that changes nothing is thrown away */
        status = tj_plan_make_fallback(built, &scope, err);
    if (status != TJ_OK)
        tj_plan_free(built);
    else if (built && tj_plan_table_replace(context->plans, built))
        atomic_fetch_add_explicit(&context->stats.plans, 1, memory_order_relaxed);
    tj_scope_leave(&scope);
    return status;
}

tj_status tj_plan_launch(const tj_plan *plan, const tj_operands *operands, struct CUstream_st *stream, tj_error *err)
{
    if (!plan)
        return tj_fail_null(err, __func__, "plan");
    if (!operands)
        return tj_fail_null(err, __func__, "operands");
    tj_scope scope;
    tj_status status;

    if (__builtin_expect(tj_kernel_suits(plan->program.kernel, operands) || plan->key.config, 1))
        return tj_kernel_launch(plan->program.kernel, operands, stream, err);
    status = tj_scope_enter(&plan->context->host.gpu, &scope, err);
    if (status != TJ_OK)
        return status;
    if (scope.context_id == plan->key.context_id) /* otherwise the launch says that it is another's */
        status = tj_plan_fit(&plan, &scope, operands, stream, err);
    tj_scope_leave(&scope);
    return status == TJ_OK ? tj_kernel_launch(plan->program.kernel, operands, stream, err) : status;
}

size_t tj_plan_workspace_bytes(const tj_plan *plan)
{
    if (!plan)
        return 0;
    return tj_program_workspace_bytes(&plan->program);
}

const tj_source *tj_plan_source(const tj_plan *plan)
{
    if (!plan)
        return NULL;
    return plan->program.source;
}

const tj_image *tj_plan_image(const tj_plan *plan)
{
    if (!plan)
        return NULL;
    return plan->program.image;
}

tj_chosen_by tj_plan_chosen_by(const tj_plan *plan)
{
    if (!plan)
        return (tj_chosen_by)0;
    return plan->chosen_by;
}

const tj_kernel *tj_plan_kernel(const tj_plan *plan)
{
    if (!plan)
        return NULL;
    return plan->program.kernel;
}

/* Move a number that the problem fixes into the launch. An array of pointers is no number. */
static void move_to_launch(int64_t *in_problem, int64_t *in_operands)
{
    if (*in_problem == TJ_ANY || tj_stride_is_pointers(*in_problem))
        return;
    *in_operands = *in_problem;
    *in_problem = TJ_ANY;
}

/* With TJ_SPECIALIZE_TYPES: the same product, with everything that varies between shapes moved into the launch. */
static void generalize(tj_problem *problem, tj_operands *operands)
{
    const tj_problem given = tj_problem_canonical(problem);
    tj_dim *const dim[] = {&problem->j, &problem->k, &problem->l};
    int64_t *const extent[] = {&operands->j, &operands->k, &operands->l};

    *problem = given;
    for (int i = 0; i < 3; i++) {
        if (dim[i]->mode == TJ_DIM_FIXED)
            *extent[i] = dim[i]->extent;
        *dim[i] = (tj_dim){0, TJ_DIM_ANY, 0};
    }
    move_to_launch(&problem->m.ld, &operands->m.ld);
    move_to_launch(&problem->n.ld, &operands->n.ld);
    move_to_launch(&problem->p.ld, &operands->p.ld);
    move_to_launch(&problem->c.ld, &operands->c.ld);
    if (given.batch == 1)
        return;
    move_to_launch(&problem->batch, &operands->batch);
    move_to_launch(&problem->m.stride, &operands->m.stride);
    move_to_launch(&problem->n.stride, &operands->n.stride);
    move_to_launch(&problem->p.stride, &operands->p.stride);
    move_to_launch(&problem->c.stride, &operands->c.stride);
}

/* Text for unknown extents may not hold as many rows as this P has, and another one does. */
static const tj_config *config_for_tall(const tj_problem *problem, const tj_operands *operands, tj_config *storage)
{
    const int64_t rows = problem->p.layout == TJ_ROW_MAJOR ? operands->j : operands->l;

    *storage = (tj_config)TJ_CONFIG_INIT;
    if (tj_config_resolve(problem, storage, NULL) != TJ_OK)
        return NULL; /* the generator will say why */
    return storage->family->for_tall && storage->family->for_tall(rows, storage) ? storage : NULL;
}

/* Not ready: make the plan, unless the stream is being captured, where compiling and loading would break the capture. */
static tj_status make_ready(tj_context *context, const tj_scope *scope, const tj_plan_key *key, struct CUstream_st *stream,
                            const tj_plan **plan, tj_error *err)
{
    bool is_capturing = false;
    tj_status status = tj_stream_is_capturing(scope->driver, stream, &is_capturing, err);

    if (status == TJ_OK && is_capturing)
        status =
            tj_fail(err, TJ_ERR_CAPTURE,
                    "the stream is being captured and this problem (j %lld, k %lld, l %lld) has no plan yet: call "
                    "tj_plan_prepare for it before the capture begins",
                    (long long)key->problem->j.extent, (long long)key->problem->k.extent, (long long)key->problem->l.extent);
    if (status == TJ_OK)
        status = tj_plan_table_obtain(context, scope, key, plan, err);
    return status;
}

tj_status tj_plan_prepare(tj_context *context, const tj_problem *problem, const tj_config *config, const tj_plan **plan,
                          tj_error *err)
{
    if (!plan)
        return tj_fail_null(err, __func__, "plan");
    *plan = NULL;
    if (!context)
        return tj_fail_null(err, __func__, "context");
    if (!problem)
        return tj_fail_null(err, __func__, "problem");
    tj_scope scope;
    tj_status status;

    status = check_structs(problem, NULL, err);
    if (status == TJ_OK)
        status = tj_scope_enter(&context->host.gpu, &scope, err);
    if (status != TJ_OK)
        return status;
    status = tj_plan_obtain(context, &scope, problem, config, plan, err);
    tj_scope_leave(&scope);
    return status;
}

/* The hot path: one driver call for the context, one hash, one look-up, one launch. It does not even count itself: a counter that
 * all threads write would cost them more than the look-up. */
static tj_status matmul(tj_context *context, const tj_problem *problem, const tj_config *config, const tj_operands *operands,
                        struct CUstream_st *stream, tj_error *err)
{
    const tj_plan *plan;
    tj_problem storage;
    tj_plan_key key;
    tj_scope scope;
    bool is_new;
    tj_status status = tj_scope_enter(&context->host.gpu, &scope, err);

    if (status != TJ_OK)
        return status;
    key = make_key(scope.context_id, problem, config, &storage);
    plan = tj_plan_table_find(context->plans, &key);
    is_new = !plan;
    if (is_new)
        status = make_ready(context, &scope, &key, stream, &plan, err);
    if (status == TJ_OK && __builtin_expect(!tj_kernel_suits(plan->program.kernel, operands), 0))
        status = tj_plan_fit(&plan, &scope, operands, stream, err);
    /* What a pointer is costs a driver call to know: asked once a plan, or always if the context says so. */
    if (status == TJ_OK && (is_new || context->check_pointers))
        status = tj_kernel_check_pointers(plan->program.kernel, operands, err);
    if (status == TJ_OK)
        status = tj_kernel_launch_ready(plan->program.kernel, operands, stream, err);
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

tj_status tj_matmul(tj_context *context, const tj_problem *problem, const tj_operands *operands, struct CUstream_st *stream,
                    tj_error *err)
{
    if (!context)
        return tj_fail_null(err, __func__, "context");
    if (!problem)
        return tj_fail_null(err, __func__, "problem");
    if (!operands)
        return tj_fail_null(err, __func__, "operands");
    tj_problem general;
    tj_operands moved;
    tj_config storage;
    tj_status status = check_structs(problem, operands, err);

    if (status != TJ_OK)
        return status;
    if (context->specialize == TJ_SPECIALIZE_SHAPES) {
        if (!needs_extents(problem, operands))
            return matmul(context, problem, NULL, operands, stream, err);
        moved = *operands;
        fill_extents(problem, &moved);
        return matmul(context, problem, NULL, &moved, stream, err);
    }

    status = tj_problem_check(problem, err);
    if (status != TJ_OK)
        return status;
    general = *problem;
    moved = *operands;
    fill_extents(problem, &moved);
    generalize(&general, &moved);
    return matmul(context, &general, config_for_tall(&general, &moved, &storage), &moved, stream, err);
}
