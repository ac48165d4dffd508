/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 07_experts: a layer of a mixture of experts. Tokens are sorted by the expert that each of them chose, every expert has a matrix of its
 * own, and one call multiplies them all. Only the device knows the number of tokens of each expert; the program reads nothing back
 * before the launch.
 *
 * Exit code: 0 done, 77 nothing to run it on, 1 anything else.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tilejit/reference.h>
#include <tilejit/tilejit.h>

enum { EXPERTS = 4, ROOM = 96, K = 64, L = 80 }; /* the buffers hold up to ROOM tokens */

int main(void)
{
    static const int32_t offsets[EXPERTS + 1] = {0, 21, 21, 60, 83}; /* expert 1 has no tokens; rows from 83 on are free */
    float *M = malloc(sizeof(float) * ROOM * K), *N = malloc(sizeof(float) * EXPERTS * K * L),
          *P = malloc(sizeof(float) * ROOM * L);
    tj_buffer *device_m = NULL, *device_n = NULL, *device_p = NULL, *device_offsets = NULL;
    tj_problem problem = TJ_PROBLEM_INIT(ROOM, K, L, TJ_F32);
    tj_operands x = TJ_OPERANDS_INIT;
    tj_host_operands host = {.struct_size = sizeof host, .m = M, .n = N, .alpha = 1.0, .offsets = offsets};
    tj_context *context = NULL;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_error err = {TJ_OK, ""};
    tj_status status = M && N && P ? tj_context_create(NULL, &context, &err) : TJ_ERR_OUT_OF_MEMORY;

    problem.rows = (tj_rows){.kind = TJ_ROWS_IN_GROUPS, .groups = EXPERTS};
    if (status == TJ_OK) {
        tj_fill_random(TJ_F32, M, ROOM * K, 1);
        tj_fill_random(TJ_F32, N, EXPERTS * K * L, 2);
    }
    /* In a real program all of these exist already, and a router has written the offsets. */
    if (status != TJ_OK || (status = tj_buffer_create(context, sizeof(float) * ROOM * K, &device_m, &err)) != TJ_OK ||
        (status = tj_buffer_create(context, sizeof(float) * EXPERTS * K * L, &device_n, &err)) != TJ_OK ||
        (status = tj_buffer_create(context, sizeof(float) * ROOM * L, &device_p, &err)) != TJ_OK ||
        (status = tj_buffer_create(context, sizeof offsets, &device_offsets, &err)) != TJ_OK ||
        (status = tj_buffer_write(device_m, 0, M, sizeof(float) * ROOM * K, &err)) != TJ_OK ||
        (status = tj_buffer_write(device_n, 0, N, sizeof(float) * EXPERTS * K * L, &err)) != TJ_OK ||
        (status = tj_buffer_write(device_offsets, 0, offsets, sizeof offsets, &err)) != TJ_OK)
        goto done;

    x.m.address = tj_buffer_address(device_m);
    x.n.address = tj_buffer_address(device_n);
    x.p.address = tj_buffer_address(device_p);
    x.offsets = tj_buffer_address(device_offsets);
    status = tj_matmul(context, &problem, &x, NULL, &err);
    if (status == TJ_OK)
        status = tj_buffer_read(device_p, 0, P, sizeof(float) * ROOM * L, &err);
    if (status == TJ_OK)
        status = tj_reference_check(&problem, &host, P, 0, 0, &report, &err);
    if (status == TJ_OK) {
        printf("%d experts, %d tokens: %s\n", EXPERTS, (int)offsets[EXPERTS], report.passed ? "right" : report.reason);
        status = report.passed ? TJ_OK : TJ_ERR_CHECK_FAILED;
    }
done:
    if (status != TJ_OK)
        fprintf(stderr, "07_experts: %s\n", err.message);
    tj_buffer_free(device_m);
    tj_buffer_free(device_n);
    tj_buffer_free(device_p);
    tj_buffer_free(device_offsets);
    tj_context_free(context);
    free(M);
    free(N);
    free(P);
    return status == TJ_OK ? 0 : status == TJ_ERR_NO_DRIVER ? 77 : 1;
}
