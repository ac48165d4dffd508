/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (it needs a GPU) */
/* tier: change; run: emulator/proving small; cost: 100 */
/*
 * proving: proofs on a device: right kernels of every family pass, in milliseconds; and a kernel that the compiler really made wrong does
 * not. That one spills, so the library never launches it: it is loaded here past that check.
 */
#include "gpu_test.h"

#include <tilejit/prove.h>

#include "kernel.h"
#include "plan.h"

static const char NAME[] = "proving";

static void prove_right(tj_context *context, const char *text, tj_problem problem)
{
    tj_config config = TJ_CONFIG_INIT;
    tj_error err = {TJ_OK, ""};
    const tj_plan *plan;
    tj_proof proof = TJ_PROOF_INIT;

    if (text && !expect(tj_config_parse(text, &config, &err) == TJ_OK, "%s: %s", text, err.message))
        return;
    if (!expect(tj_plan_prepare(context, &problem, text ? &config : NULL, &plan, &err) == TJ_OK, "%s: %s",
                text ? text : "chosen", err.message))
        return;
    expect(tj_plan_prove(context, plan, &problem, 1, &proof, &err) == TJ_OK && proof.passed && proof.elements > 0, "%s: %s",
           text ? text : "chosen", err.message);
    printf("%-8s %lldx%lldx%lld: %lld of %lld elements, %.1f ms\n", text ? text : "chosen", (long long)problem.j.extent,
           (long long)problem.k.extent, (long long)problem.l.extent, (long long)proof.elements, (long long)proof.elements_total,
           proof.ms);
}

/* docs/compilers.md: of this request ptxas 12.4 and newer make a kernel for sm_90 that takes half of a pointer for a row. */
static tj_problem wrong_request(void)
{
    tj_problem p = TJ_PROBLEM_INIT(64, 264, 32, TJ_F64);

    p.epilogue.has_beta = 1;
    p.batch = TJ_ANY;
    p.n.stride = TJ_POINTERS_16;
    p.c.stride = TJ_POINTERS;
    p.l.mode = TJ_DIM_ANY;
    return p;
}

static void prove_wrong(tj_context *context)
{
    static const char text[] =
        "simt:bm=64,bn=128,bk=8,tm=8,tn=4,slices=1,splits=1,stages=3,copy=async,blocks=2,group=1,vector=8,"
        "start=together";
    const tj_problem problem = wrong_request();
    tj_config config = TJ_CONFIG_INIT;
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    tj_launch_form form;
    tj_error err = {TJ_OK, ""};
    tj_plan plan = {.bytes = 0};
    tj_proof proof = TJ_PROOF_INIT;
    char target[16];
    tj_status status;

    if (!expect(tj_config_parse(text, &config, &err) == TJ_OK && tj_request_make(&problem, &plan.request, &err) == TJ_OK &&
                    tj_generate(&problem, &config, &plan.program.source, &err) == TJ_OK &&
                    tj_device_current(context, &device, &err) == TJ_OK &&
                    tj_target_for(context, device.cc_major, device.cc_minor, target, &err) == TJ_OK &&
                    tj_image_obtain(context, plan.program.source, target, &plan.program.image, &err) == TJ_OK,
                "%s", err.message))
        goto done;
    form = *tj_source_launch(plan.program.source);
    expect(tj_kernel_load(context, plan.program.source, plan.program.image, &plan.program.kernel, &err) ==
               (tj_image_resources(plan.program.image).spill_stores > 0 ? TJ_ERR_SPILLS : TJ_OK),
           "%s", err.message);
    tj_kernel_free(plan.program.kernel);
    form.step[0].sums_in_registers = 0;
    {
        const tj_code code = {tj_image_target(plan.program.image), tj_image_compiler(plan.program.image),
                              tj_image_ptx(plan.program.image, NULL), tj_image_cubin(plan.program.image, NULL)};

        if (!expect(tj_kernel_load_code(&context->host, &form, tj_source_problem(plan.program.source), &code,
                                        &plan.program.kernel, &err) == TJ_OK,
                    "%s", err.message))
            goto done;
    }
    status = tj_plan_prove(context, &plan, &problem, 1, &proof, &err);
    if (tj_image_resources(plan.program.image).spill_stores > 0)
        expect(status != TJ_OK && !proof.passed && proof.reason[0], "a kernel that spills was proven: is this compiler right?");
    else
        expect(status == TJ_OK && proof.passed, "%s", err.message);
    printf("NVRTC %s spills %d bytes; the proof says: %s\n", tj_image_compiler(plan.program.image),
           (int)tj_image_resources(plan.program.image).spill_stores, proof.passed ? "passed" : proof.reason);
    tj_kernel_free(plan.program.kernel);
done:
    tj_image_free(plan.program.image);
    tj_source_free(plan.program.source);
}

int main(int argc, char **argv)
{
    const int is_small = argc > 1 && strcmp(argv[1], "small") == 0;
    const int64_t side = is_small ? 48 : 1000;
    tj_context *context = open_gpu(NAME, "");
    const char *const configs[] = {NULL, "tiled", "naive", "simt", "skinny"};

    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(i == 4 ? 8 : side, side, side, TJ_F32), half = problem;

        prove_right(context, configs[i], problem);
        half.m.type = TJ_F16;
        half.m.layout = half.p.layout = TJ_COL_MAJOR;
        half.epilogue.has_alpha = half.epilogue.has_beta = 1;
        prove_right(context, configs[i], half);
    }
    if (!is_small)
        prove_right(context, NULL, (tj_problem)TJ_PROBLEM_INIT(4096, 4096, 4096, TJ_F32));
    prove_wrong(context); /* last: it may end the process's use of the device */
    tj_context_free(context);
    return finish(NAME);
}
