/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 09_instead_of_nvcc: two calls in place of kernels compiled by nvcc: a linear layer as ggml has it, with rows of f16 weights, and
 * the products of segments, as FlashInfer has them, each with weights of its own (docs/instead-of-nvcc.md).
 * Exit code: 0 done, 77 nothing to run it on, 1 anything else.
 */
#include <stdio.h>
#include <tilejit/reference.h>
#include <tilejit/tilejit.h>

static tj_context *context; /* one for the program, whatever its number of devices and threads */
static tj_error err;

/* y (tokens x out, f32) = x (tokens x in, f16) . w^T (out x in, f16) + bias; one kernel serves any number of tokens. */
static tj_status describe(int in, int out, int segments, tj_problem *problem)
{
    *problem = (tj_problem)TJ_PROBLEM_INIT(0, in, out, TJ_F16);
    problem->j.mode = TJ_DIM_ANY;
    problem->n.layout = TJ_COL_MAJOR; /* column c of N is row c of w */
    problem->p.type = TJ_F32;
    if (segments > 0) /* then w has out x in weights for each segment, and the launch says where segments begin */
        problem->rows = (tj_rows){.kind = TJ_ROWS_IN_GROUPS, .groups = segments, .offset_bytes = 4};
    return tj_epilogue_parse("acc + bias[col]", &problem->epilogue, &err);
}

/* Queue the product on the program's stream. offsets: segments + 1 of them, in device memory; NULL without segments. */
static tj_status multiply(const tj_problem *problem, int tokens, const void *x, const void *w, const void *bias,
                          const void *offsets, void *y, struct CUstream_st *stream)
{
    tj_operands operands = TJ_OPERANDS(x, w, y);

    operands.j = tokens;
    operands.with[0].address = bias;
    operands.offsets = offsets;
    return tj_matmul(context, problem, &operands, stream, &err);
}

int main(void)
{
    enum { TOKENS = 33, IN = 64, OUT = 48, SEGMENTS = 3, BUFFERS = 5 };
    static const int32_t offsets[SEGMENTS + 1] = {0, 20, 20, TOKENS};
    static unsigned short x[TOKENS * IN], w[SEGMENTS * OUT * IN];
    static float bias[OUT], y[TOKENS * OUT];
    const void *const host[BUFFERS] = {x, w, bias, offsets, y};
    const size_t bytes[BUFFERS] = {sizeof x, sizeof w, sizeof bias, sizeof offsets, sizeof y};
    tj_buffer *buffer[BUFFERS] = {NULL}; /* a program with the CUDA runtime has memory already */
    void *at[BUFFERS];
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_status status = tj_context_create(NULL, &context, &err);

    tj_fill_random(TJ_F16, x, TOKENS * IN, 1);
    tj_fill_random(TJ_F16, w, SEGMENTS * OUT * IN, 2);
    tj_fill_random(TJ_F32, bias, OUT, 3);
    for (int i = 0; i < BUFFERS && status == TJ_OK; i++)
        if ((status = tj_buffer_create(context, bytes[i], &buffer[i], &err)) == TJ_OK) {
            at[i] = tj_buffer_address(buffer[i]);
            status = tj_buffer_write(buffer[i], 0, host[i], bytes[i], &err);
        }
    report.passed = 1;
    for (int segments = 0; segments <= SEGMENTS && status == TJ_OK && report.passed; segments += SEGMENTS) {
        tj_host_operands on_host = TJ_HOST_OPERANDS(x, w);
        tj_problem problem;

        on_host.with[0].address = bias, on_host.offsets = offsets;
        if ((status = describe(IN, OUT, segments, &problem)) == TJ_OK &&
            (status = multiply(&problem, TOKENS, at[0], at[1], at[2], segments ? at[3] : NULL, at[4], NULL)) == TJ_OK &&
            (status = tj_buffer_read(buffer[4], 0, y, sizeof y, &err)) == TJ_OK) {
            problem.j = (tj_dim)TJ_DIM_INIT(TOKENS);
            status = tj_reference_check(&problem, &on_host, y, 0, 0, &report, &err);
            printf("%d segments: %s\n", segments, report.passed ? "right" : report.reason);
        }
    }
    if (status != TJ_OK)
        fprintf(stderr, "09_instead_of_nvcc: %s\n", err.message);
    for (int i = 0; i < BUFFERS; i++)
        tj_buffer_free(buffer[i]);
    tj_context_free(context);
    return status == TJ_OK ? !report.passed : status == TJ_ERR_NO_DRIVER || status == TJ_ERR_NO_COMPILER ? 77 : 1;
}
