/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 03_batch_and_streams: eight products in one launch, with one N for all of them; the same with matrices that lie anywhere; then
 * a plan that serves every number of rows, on two streams of the program's own.
 *
 * The streams are made by tj_stream_create, so that the example builds without a toolkit; a cudaStream_t is the same thing.
 * Exit code: 0 done, 77 nothing to run it on, 1 anything else.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tilejit/reference.h>
#include <tilejit/tilejit.h>

enum { BATCH = 8, J = 64, K = 96, L = 80 };

/* Copy P to the host, and compare it with the float64 product. */
static tj_status check(const char *what, const tj_problem *problem, const void *M, const float *N, const tj_buffer *device_p,
                       tj_error *err)
{
    tj_host_operands host = TJ_HOST_OPERANDS(M, N);
    size_t bytes = sizeof(float) * (size_t)tj_problem_span(problem, TJ_MATRIX_P);
    float *P = malloc(bytes);
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_status status = TJ_ERR_OUT_OF_MEMORY;

    if (P && (status = tj_buffer_read(device_p, 0, P, bytes, err)) == TJ_OK &&
        (status = tj_reference_check(problem, &host, P, 0, 0, &report, err)) == TJ_OK) {
        printf("%s: %s\n", what, report.passed ? "right" : report.reason);
        status = report.passed ? TJ_OK : TJ_ERR_CHECK_FAILED;
    }
    free(P);
    return status;
}

int main(void)
{
    float *M = malloc(sizeof(float) * BATCH * J * K), *N = malloc(sizeof(float) * K * L);
    tj_buffer *device_m = NULL, *device_n = NULL, *device_p[2] = {NULL, NULL}, *pointers = NULL;
    struct CUstream_st *streams[2] = {NULL, NULL};
    tj_operands operands = TJ_OPERANDS_INIT;
    tj_context *context = NULL;
    const tj_plan *plan = NULL;
    tj_error err = {TJ_OK, ""};
    int exit_code = 1;

    if (!M || !N || tj_context_create(NULL, &context, &err) != TJ_OK || tj_stream_create(context, &streams[0], &err) != TJ_OK ||
        tj_stream_create(context, &streams[1], &err) != TJ_OK)
        goto done;
    tj_fill_random(TJ_F32, M, (size_t)BATCH * J * K, 1);
    tj_fill_random(TJ_F32, N, (size_t)K * L, 2);
    if (tj_buffer_create(context, sizeof(float) * BATCH * J * K, &device_m, &err) != TJ_OK ||
        tj_buffer_create(context, sizeof(float) * K * L, &device_n, &err) != TJ_OK ||
        tj_buffer_create(context, sizeof(float) * BATCH * J * L, &device_p[0], &err) != TJ_OK ||
        tj_buffer_create(context, sizeof(float) * BATCH * J * L, &device_p[1], &err) != TJ_OK ||
        tj_buffer_write(device_m, 0, M, sizeof(float) * BATCH * J * K, &err) != TJ_OK ||
        tj_buffer_write(device_n, 0, N, sizeof(float) * K * L, &err) != TJ_OK)
        goto done;
    operands.m.address = tj_buffer_address(device_m);
    operands.n.address = tj_buffer_address(device_n);

    /* Eight products, one launch. */
    tj_problem batch = TJ_PROBLEM_INIT(J, K, L, TJ_F32);
    batch.batch = BATCH;
    batch.n.stride = TJ_BROADCAST;
    operands.p.address = tj_buffer_address(device_p[0]);
    if (tj_matmul(context, &batch, &operands, streams[0], &err) != TJ_OK ||
        tj_synchronize(context, streams[0], &err) != TJ_OK ||
        check("8 products in one launch", &batch, M, N, device_p[0], &err) != TJ_OK)
        goto done;

    /* The matrices M may lie anywhere: here in reverse order. The operand is a device array of their addresses. */
    const float *on_device[BATCH], *on_host[BATCH];
    for (int i = 0; i < BATCH; i++) {
        on_device[i] = (const float *)tj_buffer_address(device_m) + (BATCH - 1 - i) * J * K;
        on_host[i] = M + (BATCH - 1 - i) * J * K;
    }
    tj_operands scattered = operands;
    batch.m.stride = TJ_POINTERS_16; /* a promise: J * K floats are a multiple of 16 bytes, so each M is aligned to 16 */
    if (tj_buffer_create(context, sizeof on_device, &pointers, &err) != TJ_OK ||
        tj_buffer_write(pointers, 0, on_device, sizeof on_device, &err) != TJ_OK)
        goto done;
    scattered.m.address = tj_buffer_address(pointers);
    if (tj_matmul(context, &batch, &scattered, streams[0], &err) != TJ_OK ||
        tj_synchronize(context, streams[0], &err) != TJ_OK ||
        check("the same 8 backwards, by pointers", &batch, on_host, N, device_p[0], &err) != TJ_OK)
        goto done;

    /* One plan for any number of rows divisible by 16; the same kernel twice, on two streams. */
    tj_problem any = TJ_PROBLEM_INIT(J, K, L, TJ_F32);
    any.j.mode = TJ_DIM_ANY;
    any.j.multiple_of = 16;
    if (tj_plan_prepare(context, &any, NULL, &plan, &err) != TJ_OK)
        goto done;
    for (int i = 0; i < 2; i++) {
        operands.j = i == 0 ? 16 : 48;
        operands.p.address = tj_buffer_address(device_p[i]);
        if (tj_plan_launch(plan, &operands, streams[i], &err) != TJ_OK)
            goto done;
    }
    tj_problem few = TJ_PROBLEM_INIT(16, K, L, TJ_F32), more = TJ_PROBLEM_INIT(48, K, L, TJ_F32);
    if (tj_synchronize(context, streams[0], &err) != TJ_OK || tj_synchronize(context, streams[1], &err) != TJ_OK ||
        check("16 rows on the first stream", &few, M, N, device_p[0], &err) != TJ_OK ||
        check("48 rows on the second", &more, M, N, device_p[1], &err) != TJ_OK)
        goto done;
    exit_code = 0;

done:
    if (err.status != TJ_OK) {
        fprintf(stderr, "03_batch_and_streams: %s\n", err.message);
        exit_code = err.status == TJ_ERR_NO_DRIVER || err.status == TJ_ERR_NO_COMPILER ? 77 : 1;
    }
    tj_buffer_free(pointers);
    tj_buffer_free(device_p[1]);
    tj_buffer_free(device_p[0]);
    tj_buffer_free(device_n);
    tj_buffer_free(device_m);
    tj_stream_destroy(context, streams[1]);
    tj_stream_destroy(context, streams[0]);
    tj_context_free(context);
    free(N);
    free(M);
    return exit_code;
}
