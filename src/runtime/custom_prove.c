/* SPDX-License-Identifier: Apache-2.0 */
#include "custom_prove.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "custom_bench.h"
#include "error.h"

enum { GUARD_BYTES = 4096, SEED = 20260 };

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

tj_status tj_custom_proof_check(const tj_source *source, const tj_device_facts *device, const tj_proof *proof, tj_error *err)
{
    if (proof->passed)
        return TJ_OK;
    return tj_fail(
        err, TJ_ERR_CHECK_FAILED,
        "%s failed its proof on %s with a driver of CUDA %d.%d and is not launched there: %s; name another config, or "
        "correct the text or the reference of its family and prove it again",
        tj_source_kernel(source), device->name, (int)device->driver_version / 1000, (int)device->driver_version % 1000 / 10,
        proof->reason);
}

tj_status tj_custom_host_prove(tj_host *host, const tj_custom_kernel *kernel, tj_proof *proof, tj_error *err)
{
    const double start = now_ms();
    char reason[TJ_CUSTOM_REASON_BYTES] = "";
    CUstream stream = NULL;
    tj_custom_bench bench;
    tj_device_facts device;
    tj_error why = {TJ_OK, ""};
    tj_status status = tj_gpu_device_facts(&host->gpu, kernel->loaded->device, &device, err);

    memset(proof, 0, sizeof *proof);
    if (status == TJ_OK)
        status = tj_gpu_create_stream(&host->gpu, &stream, err); /* its own stream, so that it waits for no other work */
    if (status != TJ_OK)
        return status;
    status = tj_custom_bench_fill(&host->gpu, stream, kernel->custom, kernel->request.value, SEED, &bench, &why);
    if (status == TJ_OK)
        status = tj_custom_bench_place(&bench, 1, GUARD_BYTES, &why);
    if (status == TJ_OK)
        status = tj_custom_bench_verify(&bench, kernel, reason, &why);
    if (status == TJ_OK ||
        status == TJ_ERR_DEVICE_LOST) { /* the kernel caused it: remember it, so that no other process repeats it */
        proof->elements = proof->elements_total = bench.elements;
        proof->created_s = (int64_t)time(NULL);
        proof->ms = now_ms() - start;
        (void)snprintf(proof->reason, sizeof proof->reason, "%.180s", status == TJ_OK ? reason : why.message);
        proof->passed = !proof->reason[0];
        tj_proof_remember(host, kernel->image, &device, proof);
    }
    tj_custom_bench_drop(&bench);
    tj_gpu_destroy_stream(&host->gpu, stream);
    if (status != TJ_OK) {
        if (err)
            *err = why;
        return status;
    }
    return tj_custom_proof_check(kernel->source, &device, proof, err);
}
