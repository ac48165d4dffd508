/* SPDX-License-Identifier: Apache-2.0 */
/* plugin: matrix products for a program that knows no CUDA. Three functions are all that it exports. */
#include "plugin.h"

#include <stddef.h>

#include <tilejit/tilejit.h>

#define EXPORT __attribute__((visibility("default")))

enum { J = 9, K = 40, L = 17 };

static tj_context *context;
static tj_error err;

EXPORT gemm_open_fn gemm_open;
EXPORT gemm_multiply_fn gemm_multiply;
EXPORT gemm_close_fn gemm_close;

const char *gemm_open(const char *driver, const char *nvrtc)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;

    options.driver = driver;
    options.nvrtc = nvrtc;
    options.ignore_environment = 1; /* a plug-in has no options of its own in the environment */
    return tj_context_create(&options, &context, &err) == TJ_OK ? NULL : err.message;
}

const char *gemm_multiply(void)
{
    static float one[K * L], p[J * L];
    const tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F32);
    tj_buffer *m = NULL, *n = NULL, *out = NULL;
    const char *wrong = NULL;

    for (int i = 0; i < K * L; i++)
        one[i] = 1;
    if (tj_buffer_create(context, sizeof(float) * J * K, &m, &err) != TJ_OK ||
        tj_buffer_create(context, sizeof one, &n, &err) != TJ_OK || tj_buffer_create(context, sizeof p, &out, &err) != TJ_OK ||
        tj_buffer_write(m, 0, one, sizeof(float) * J * K, &err) != TJ_OK ||
        tj_buffer_write(n, 0, one, sizeof one, &err) != TJ_OK)
        wrong = err.message;
    if (!wrong) {
        const tj_operands x = TJ_OPERANDS(tj_buffer_address(m), tj_buffer_address(n), tj_buffer_address(out));

        if (tj_matmul(context, &problem, &x, NULL, &err) != TJ_OK || tj_buffer_read(out, 0, p, sizeof p, &err) != TJ_OK)
            wrong = err.message;
    }
    for (int i = 0; i < J * L && !wrong; i++)
        if (p[i] != K)
            wrong = "an element of P is wrong";
    tj_buffer_free(m), tj_buffer_free(n), tj_buffer_free(out);
    return wrong;
}

void gemm_close(void)
{
    tj_context_free(context);
}
