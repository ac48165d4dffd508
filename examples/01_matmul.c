/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 01_matmul: the simple tier. One call from pointers to a launched product, and a check that it is right.
 * Exit code: 0 done, 77 nothing to run it on, 1 anything else.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tilejit/reference.h>
#include <tilejit/tilejit.h>

int main(void)
{
    enum { J = 512, K = 300, L = 700 };
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F32); /* P (512 x 700) = M (512 x 300) . N (300 x 700) */
    tj_operands operands = TJ_OPERANDS_INIT;
    float *M = malloc(sizeof(float) * J * K), *N = malloc(sizeof(float) * K * L), *P = malloc(sizeof(float) * J * L);
    tj_buffer *device_m = NULL, *device_n = NULL, *device_p = NULL;
    tj_context *context = NULL;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_error err = {TJ_OK, ""};
    int exit_code = 1;

    if (!M || !N || !P || tj_context_create(NULL, &context, &err) != TJ_OK)
        goto done;
    tj_fill_random(TJ_F32, M, (size_t)J * K, 1);
    tj_fill_random(TJ_F32, N, (size_t)K * L, 2);

    /* A program with the CUDA runtime or PyTorch has device memory already and skips this. */
    if (tj_buffer_create(context, sizeof(float) * J * K, &device_m, &err) != TJ_OK ||
        tj_buffer_create(context, sizeof(float) * K * L, &device_n, &err) != TJ_OK ||
        tj_buffer_create(context, sizeof(float) * J * L, &device_p, &err) != TJ_OK ||
        tj_buffer_write(device_m, 0, M, sizeof(float) * J * K, &err) != TJ_OK ||
        tj_buffer_write(device_n, 0, N, sizeof(float) * K * L, &err) != TJ_OK)
        goto done;

    operands.m.address = tj_buffer_address(device_m);
    operands.n.address = tj_buffer_address(device_n);
    operands.p.address = tj_buffer_address(device_p);
    if (tj_matmul(context, &problem, &operands, NULL, &err) != TJ_OK || tj_synchronize(context, NULL, &err) != TJ_OK ||
        tj_buffer_read(device_p, 0, P, sizeof(float) * J * L, &err) != TJ_OK)
        goto done;

    tj_host_operands host = TJ_HOST_OPERANDS(M, N);
    if (tj_reference_check(&problem, &host, P, 0, 0, &report, &err) != TJ_OK)
        goto done;
    printf("P[0][0] = %g; %s: largest error %.1e, %.0f %% of the bound\n", (double)P[0],
           report.passed ? "right" : report.reason, report.max_error, 100 * report.max_ratio);
    exit_code = report.passed ? 0 : 1;

done:
    if (err.status != TJ_OK) {
        fprintf(stderr, "01_matmul: %s\n", err.message);
        exit_code = err.status == TJ_ERR_NO_DRIVER || err.status == TJ_ERR_NO_COMPILER ? 77 : 1;
    }
    tj_buffer_free(device_p);
    tj_buffer_free(device_n);
    tj_buffer_free(device_m);
    tj_context_free(context);
    free(P);
    free(N);
    free(M);
    return exit_code;
}
