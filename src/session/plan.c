/* SPDX-License-Identifier: Apache-2.0 */
/* plan: the one file that knows the whole line: problem -> config -> source -> image -> kernel. */
#include "plan.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "architectures.h"
#include "background.h"
#include "choose.h"
#include "chooser.h"
#include "disk_store.h"
#include "error.h"
#include "estimate.h"
#include "events.h"
#include "family.h"
#include "image.h"
#include "packed.h"
#include "proof.h"
#include "settle.h"
#include "part_of_device.h"

/* Its texts, its image, and its code on the device, which takes about what the file of it takes. */
static int64_t count_bytes(const tj_plan *plan)
{
    size_t ptx, cubin;

    (void)tj_image_ptx(plan->program.image, &ptx);
    (void)tj_image_cubin(plan->program.image, &cubin);
    return plan->bytes + (int64_t)(2 * strlen(tj_source_text(plan->program.source)) + ptx + cubin + (cubin ? cubin : ptx));
}

/*
 * The image of the plan's source: a pack names its own target, and NVRTC is asked for one only where no pack holds it. NULL,
 * and TJ_OK: it would have to be compiled, and may not be.
 */
static tj_status obtain(tj_context *context, const tj_device_facts *device, bool may_compile, tj_plan *plan, tj_error *err)
{
    tj_host *const host = &context->host;
    const tj_packed_reader reader = tj_packed_reader_of(host, device);
    char target[16];
    tj_status status = TJ_OK;

    if (!tj_packed_target(host, plan->program.source, &reader, target))
        status = tj_host_target(host, device->cc_major, device->cc_minor, target, err);
    if (status == TJ_OK && !may_compile)
        return tj_image_recall(context, plan->program.source, target, &plan->program.image, err);
    return status == TJ_OK ? tj_image_obtain(context, plan->program.source, target, &plan->program.image, err) : status;
}

/*
 * Load the image; a stored one that the driver refuses was damaged in a way no checksum sees (an older library's bug, a
 * driver change): it is thrown away and compiled once more.
 */
static tj_status load(tj_context *context, const tj_device_facts *device, tj_plan *plan, tj_error *err)
{
    tj_status status = tj_program_load(&context->host, &plan->program, err);
    tj_error refused;

    if (!tj_image_is_suspect(plan->program.image, status))
        return status;
    if (tj_program_load(&context->host, &plan->program, &refused) == TJ_OK)
        return TJ_OK; /* a passing fault, not the image's */
    tj_image_reject(&context->host, plan->program.image, refused.message);
    tj_image_free(plan->program.image);
    plan->program.image = NULL;
    status = obtain(context, device, true, plan, err);
    return status == TJ_OK ? tj_program_load(&context->host, &plan->program, err) : status;
}

tj_status tj_plan_try(tj_context *context, const tj_plan *plan, const tj_request *request, bool again, tj_proof *proof,
                      tj_error *err)
{
    tj_host *const host = &context->host;
    tj_program simple = {0};
    tj_device_facts device;
    tj_request any;
    tj_config config;
    tj_status status = tj_gpu_device_limits(&host->gpu, plan->program.kernel->device, &device, err);

    if (status == TJ_OK && !again && tj_proof_recall(host, plan->program.image, &device, proof))
        return tj_proof_check(plan->program.source, &device, proof, err);
    if (status == TJ_OK)
        status = tj_proof_simple(request, &any, &config, err);
    if (status == TJ_OK)
        status = tj_request_generate(&any, &config, &simple.source, err);
    if (status == TJ_OK)
        status = tj_image_obtain(context, simple.source, tj_image_target(plan->program.image), &simple.image, err);
    if (status == TJ_OK)
        status = tj_program_load(host, &simple, err);
    if (status == TJ_OK) {
        tj_range_open(host, "prove", tj_source_kernel(plan->program.source));
        status = tj_program_prove(host, &plan->program, simple.kernel, request, proof, err);
        tj_range_close(host);
    }
    tj_program_drop(&simple);
    if (status == TJ_OK || status == TJ_ERR_CHECK_FAILED)
        tj_host_tell_proof(host, plan->program.source, proof);
    return status;
}

/* Is a kernel proven before its first launch? Kernels for GPUs that nobody measured are, unless the program trusts them. */
static bool proves_before(const tj_context *context, const tj_device_facts *device)
{
    return context->prove == TJ_PROVE_BEFORE ||
           (context->prove != TJ_PROVE_NEVER && tj_device_is_unknown(device) && !tj_gpu_is_emulated(&context->host.gpu));
}

/* Log a failure. On a device that was never measured it is expected, and leaves a case for a report. */
static void tell_failure(tj_context *context, const tj_device_facts *device, const tj_plan *plan, const tj_proof *proof,
                         const char *message)
{
    const char *const store = tj_disk_store_path(context->host.store);
    char folder[PATH_MAX] = "";
    tj_error why;

    if (context->prove == TJ_PROVE_BEFORE || !tj_device_is_unknown(device)) {
        tj_log_line(&context->host.log, TJ_LOG_ERROR, "%s", message);
        return;
    }
    if (!store || snprintf(folder, sizeof folder, "%s/cases", store) >= (int)sizeof folder ||
        tj_proof_write(&plan->program, device, proof, folder, &why) != TJ_OK)
        folder[0] = '\0';
    tj_log_line(&context->host.log, TJ_LOG_WARNING, "%s (no such GPU was ever measured: please report it%s%s)", message,
                *folder ? " with the files in " : "; tilejit prove writes the files", folder);
}

/*
 * Was the kernel proven wrong on such a device, or, if it is to be proven, is it wrong now? A proof that could not run, for want
 * of memory say, is not a reason to refuse it. naive is the reference of other kernels.
 */
static tj_status believe(tj_context *context, const tj_device_facts *device, const tj_plan *plan, tj_error *err)
{
    tj_proof proof;
    tj_error why;
    tj_status status;

    if (tj_proof_recall(&context->host, plan->program.image, device, &proof))
        return tj_proof_check(plan->program.source, device, &proof, err);
    if (!proves_before(context, device) || tj_source_config(plan->program.source)->family == TJ_SIMPLE_FAMILY)
        return TJ_OK;
    status = tj_plan_try(context, plan, &plan->request, false, &proof, &why);
    if (status == TJ_ERR_CHECK_FAILED)
        tell_failure(context, device, plan, &proof, why.message);
    else if (status != TJ_OK && status != TJ_ERR_DEVICE_LOST)
        tj_log_line(&context->host.log, TJ_LOG_WARNING, "%s is launched without a proof: %s",
                    tj_source_kernel(plan->program.source), why.message);
    if (status != TJ_ERR_CHECK_FAILED && status != TJ_ERR_DEVICE_LOST)
        return TJ_OK;
    if (err)
        *err = why;
    return status;
}

/*
 * Source, image and kernel of a resolved config; what an earlier config left in the plan goes. TJ_OK without an image: it is
 * not at hand, and may not be compiled.
 */
static tj_status make(tj_context *context, const tj_device_facts *device, const tj_config *config, bool may_compile,
                      tj_plan *plan, tj_error *err)
{
    tj_status status;

    tj_program_drop(&plan->program);
    status = tj_request_generate(&plan->request, config, &plan->program.source, err);
    if (status == TJ_OK)
        status = obtain(context, device, may_compile, plan, err);
    if (status == TJ_OK && !plan->program.image)
        return TJ_OK;
    if (status == TJ_OK)
        status = load(context, device, plan, err);
    if (status == TJ_OK)
        status = believe(context, device, plan, err);
    if (status != TJ_OK) {
        tj_kernel_free(plan->program.kernel);
        plan->program.kernel = NULL;
    }
    return status;
}

/* A choice of the library that may not be launched gives way to the next one. */
static tj_status make_chosen(tj_context *context, const tj_device_facts *device, bool may_compile, tj_plan *plan, tj_error *err)
{
    tj_config refused[TJ_MOST_REFUSED + 1];
    tj_choice choice = {.by = 0};
    tj_error why;

    for (size_t count = 0;;) {
        tj_status status = tj_context_choose(context, may_compile ? TJ_CHOOSE_HERE : TJ_CHOOSE_KNOWN, device, &plan->request,
                                             (tj_refusals){refused, count}, &choice, err);

        if (status == TJ_ERR_NOT_FOUND && !may_compile)
            return TJ_OK; /* what is not chosen yet is not at hand */
        if (status != TJ_OK)
            return status;
        status = make(context, device, &choice.resolved, may_compile, plan, &why);
        if (status == TJ_ERR_NO_COMPILER && tj_context_choose_packed(context, device, &plan->request, &choice)) {
            choice.by = TJ_BY_PACK;
            status = make(context, device, &choice.resolved, may_compile, plan, &why);
        }
        plan->chosen_by = choice.by;
        if (!tj_status_is_unfit(status) || count > TJ_MOST_REFUSED) {
            if (status == TJ_OK && plan->program.image)
                tj_context_remember_choice(context, device, &plan->request, &choice);
            if (status != TJ_OK && err)
                *err = why;
            return status;
        }
        tj_log_line(&context->host.log, TJ_LOG_INFO, "another config is chosen: %s", why.message);
        refused[count++] = choice.resolved;
    }
}

/* Without a compiler and a kernel: name the problem, and why the packs do not serve it. */
static void explain_missing(tj_context *context, const tj_device_facts *device, const tj_plan_key *key, tj_error *err)
{
    const tj_packed_reader reader = tj_packed_reader_of(&context->host, device);
    char problem[TJ_PROBLEM_TEXT_BYTES], config[TJ_CONFIG_TEXT_BYTES], packs[200];
    const tj_error why = *err;

    tj_problem_print(key->problem, problem);
    if (key->config)
        tj_config_print(key->config, config);
    tj_packs_say_why_not(context->host.packs, TJ_PACKED_IMAGE, tj_packed_serves, &reader, reader.number, packs, sizeof packs);
    tj_fail(err, TJ_ERR_NO_COMPILER, "no kernel for %.100s%s%.60s: %s%s%s", problem, key->config ? ", " : "",
            key->config ? config : "", packs, packs[0] ? ": add it with tilejit pack, or let NVRTC compile it: " : "",
            why.message);
}

tj_status tj_plan_build(tj_context *context, const tj_scope *scope, const tj_plan_key *key, bool may_compile, tj_plan **out,
                        tj_error *err)
{
    tj_device_facts device;
    int ordinal = 0;
    tj_plan *plan = tj_plan_create(context, key);
    tj_status status;

    *out = NULL;
    if (!plan)
        return tj_fail_memory(err, "a plan");
    status = tj_scope_device(scope, &ordinal, err);
    if (status == TJ_OK)
        status = tj_gpu_device_limits(&context->host.gpu, ordinal, &device, err);
    if (status == TJ_OK)
        status = tj_share_check(&device, &plan->request.problem, NULL, err);
    if (status == TJ_OK && !key->config) {
        status = make_chosen(context, &device, may_compile, plan, err);
    } else if (status == TJ_OK) {
        tj_config config = plan->config, resolved;

        if (!tj_has_any_extent(key->problem)) /* what was left open is weighed by the model, which needs the clocks too */
            status = tj_gpu_device_facts(&context->host.gpu, ordinal, &device, err);
        if (status == TJ_OK)
            status = tj_request_adapt(&device, &plan->request, &config, &resolved, err);
        if (status == TJ_OK)
            status = make(context, &device, &resolved, may_compile, plan, err);
    }
    if (status == TJ_ERR_NO_COMPILER && err)
        explain_missing(context, &device, key, err);
    if (status != TJ_OK || !plan->program.image) {
        tj_plan_free(plan);
        return status;
    }
    /* The background thread tunes on the context's own device: for a program on another it would use the wrong one. */
    if (!key->config && plan->chosen_by != TJ_BY_RECORD && !tj_has_any_extent(key->problem) && key->problem->batch != TJ_ANY &&
        ordinal == context->host.gpu.device)
        tj_background_tune(context->background, key->problem);
    if (context->prove == TJ_PROVE_BEHIND && ordinal == context->host.gpu.device)
        tj_background_prove(context->background, key->problem, key->config);
    plan->bytes = count_bytes(plan);
    *out = plan;
    return TJ_OK;
}

size_t tj_plan_workspace_bytes(const tj_plan *plan)
{
    return plan ? tj_program_workspace_bytes(&plan->program) : 0;
}

const tj_source *tj_plan_source(const tj_plan *plan)
{
    return plan ? plan->program.source : NULL;
}

const tj_image *tj_plan_image(const tj_plan *plan)
{
    return plan ? plan->program.image : NULL;
}

tj_chosen_by tj_plan_chosen_by(const tj_plan *plan)
{
    return plan ? plan->chosen_by : (tj_chosen_by)0;
}

const tj_kernel *tj_plan_kernel(const tj_plan *plan)
{
    return plan ? plan->program.kernel : NULL;
}
