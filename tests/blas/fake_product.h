/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_product: a product as the fakes of libcublas and libcublasLt compute it: on the host, by the definition. Device memory
 * is copied by the driver that TILEJIT_EMULATOR names. In a capture nothing is computed or recorded.
 */
#ifndef TJ_BLAS_FAKE_PRODUCT_H
#define TJ_BLAS_FAKE_PRODUCT_H

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14, R_8F_E4M3 = 28, R_8F_E5M2 = 29 };
enum { COMPUTE_16F = 64, COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72 };
enum { EPILOGUE_RELU = 2, EPILOGUE_BIAS = 4, EPILOGUE_GELU = 32 };

typedef struct fake_product {
    int op_a, op_b, type_a, type_b, type_c, compute, scalar_type, epilogue, bias_type, is_on_device, is_pointers;
    int64_t m, n, k, lda, ldb, ldc, ldd, stride_a, stride_b, stride_c, stride_d, batch;
    const void *alpha, *beta, *a, *b, *c, *bias, *scale_a, *scale_b;
    void *d, *stream;
} fake_product;

static struct {
    int (*to_host)(void *to, uint64_t from, size_t bytes);
    int (*to_device)(uint64_t to, const void *from, size_t bytes);
    int (*is_capturing)(void *stream, int *status);
} fake_driver;

static atomic_int fake_computed;

static void *fake_look_up(void *driver, const char *name, void *function)
{
    void *symbol = dlsym(driver, name);

    memcpy(function, &symbol, sizeof symbol);
    return symbol;
}

static int fake_is_open;

static void fake_find_driver(void)
{
    const char *path = getenv("TILEJIT_EMULATOR");
    void *driver = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);

    fake_is_open = driver && fake_look_up(driver, "cuMemcpyDtoH_v2", &fake_driver.to_host) &&
                   fake_look_up(driver, "cuMemcpyHtoD_v2", &fake_driver.to_device) &&
                   fake_look_up(driver, "cuStreamIsCapturing", &fake_driver.is_capturing);
}

static int fake_open_driver(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    return pthread_once(&once, fake_find_driver) == 0 && fake_is_open;
}

static tj_type fake_type(int id)
{
    switch (id) {
    case R_64F:
        return TJ_F64;
    case R_16F:
        return TJ_F16;
    case R_8I:
        return TJ_S8;
    case R_32I:
        return TJ_S32;
    case R_16BF:
        return TJ_BF16;
    case R_8F_E4M3:
        return TJ_E4M3;
    case R_8F_E5M2:
        return TJ_E5M2;
    default:
        return TJ_F32;
    }
}

static size_t fake_bytes(int id)
{
    const tj_type type = fake_type(id);

    return type == TJ_F64 ? 8 : type == TJ_F32 || type == TJ_S32 ? 4 : type == TJ_F16 || type == TJ_BF16 ? 2 : 1;
}

static double fake_number(const fake_product *p, const void *at, int type)
{
    char copy[8] = {0};

    if (!p->is_on_device)
        memcpy(copy, at, fake_bytes(type));
    else if (fake_driver.to_host(copy, (uint64_t)(uintptr_t)at, fake_bytes(type)) != 0)
        return NAN;
    return tj_read_number(fake_type(type), copy, 0);
}

/* The matrix of number `index` of a batch, whose columns are of `rows` elements. NULL: it cannot be read. */
static void *fake_fetch(const fake_product *p, const void *base, int type, int64_t rows, int64_t cols, int64_t ld,
                        int64_t stride, int64_t index, uint64_t *where)
{
    const size_t bytes = ((size_t)(cols - 1) * (size_t)ld + (size_t)rows) * fake_bytes(type);
    uint64_t address = (uint64_t)(uintptr_t)base;
    void *copy = malloc(bytes);

    if (p->is_pointers) {
        if (fake_driver.to_host(&address, address + 8 * (uint64_t)index, 8) != 0)
            address = 0;
    } else {
        address += (uint64_t)(index * stride) * fake_bytes(type);
    }
    *where = address;
    if (copy && fake_driver.to_host(copy, address, bytes) == 0)
        return copy;
    free(copy);
    return NULL;
}

static double fake_finish(const fake_product *p, double value, double bias)
{
    if (p->epilogue & EPILOGUE_BIAS)
        value += bias;
    if (p->epilogue & EPILOGUE_RELU)
        value = value < 0 ? 0 : value;
    if (p->epilogue & EPILOGUE_GELU)
        value = value / 2 * (1 + tanh(sqrt(2 / M_PI) * (value + 0.044715 * value * value * value)));
    return value;
}

static int fake_one(const fake_product *p, int64_t index, double alpha, double beta)
{
    const tj_type type_a = fake_type(p->type_a), type_b = fake_type(p->type_b), type_c = fake_type(p->type_c);
    const int64_t rows_a = p->op_a ? p->k : p->m, cols_a = p->op_a ? p->m : p->k;
    const int64_t rows_b = p->op_b ? p->n : p->k, cols_b = p->op_b ? p->k : p->n;
    uint64_t unused, at;
    void *a = p->k > 0 ? fake_fetch(p, p->a, p->type_a, rows_a, cols_a, p->lda, p->stride_a, index, &unused) : NULL;
    void *b = p->k > 0 ? fake_fetch(p, p->b, p->type_b, rows_b, cols_b, p->ldb, p->stride_b, index, &unused) : NULL;
    void *c = beta != 0 ? fake_fetch(p, p->c, p->type_c, p->m, p->n, p->ldc, p->stride_c, index, &unused) : NULL;
    void *d = fake_fetch(p, p->d, p->type_c, p->m, p->n, p->ldd, p->stride_d, index, &at);
    char *bias = p->bias ? malloc((size_t)p->m * 8) : NULL;
    int status = SUCCESS;

    if ((p->k > 0 && (!a || !b)) || (beta != 0 && !c) || !d ||
        (bias && fake_driver.to_host(bias, (uint64_t)(uintptr_t)p->bias, (size_t)p->m * fake_bytes(p->bias_type)) != 0))
        status = INVALID_VALUE;
    for (int64_t col = 0; status == SUCCESS && col < p->n; col++) {
        for (int64_t row = 0; row < p->m; row++) {
            double sum = 0, value;

            for (int64_t i = 0; i < p->k; i++)
                sum += tj_read_number(type_a, a, p->op_a ? row * p->lda + i : i * p->lda + row) *
                       tj_read_number(type_b, b, p->op_b ? i * p->ldb + col : col * p->ldb + i);
            value = alpha * sum + (beta != 0 ? beta * tj_read_number(type_c, c, col * p->ldc + row) : 0);
            value = fake_finish(p, value, bias ? tj_read_number(fake_type(p->bias_type), bias, row) : 0);
            tj_write_number(type_c, d, col * p->ldd + row, value);
        }
        if (fake_driver.to_device(at + (uint64_t)(col * p->ldd) * fake_bytes(p->type_c),
                                  (char *)d + (size_t)(col * p->ldd) * fake_bytes(p->type_c),
                                  (size_t)p->m * fake_bytes(p->type_c)) != 0)
            status = INVALID_VALUE;
    }
    free(a);
    free(b);
    free(c);
    free(d);
    free(bias);
    return status;
}

static int fake_compute(const fake_product *p)
{
    double alpha = fake_number(p, p->alpha, p->scalar_type), beta = fake_number(p, p->beta, p->scalar_type);
    int captured = 0, status = SUCCESS;

    atomic_fetch_add(&fake_computed, 1);
    if (p->lda < 1 || p->ldb < 1 || p->ldc < p->m || p->ldd < p->m || p->m < 0 || p->n < 0 || p->k < 0 || p->batch < 0)
        return INVALID_VALUE;
    if (fake_driver.is_capturing(p->stream, &captured) != 0 || captured)
        return SUCCESS;
    for (int i = 0; i < 2; i++) {
        const void *scale = i ? p->scale_b : p->scale_a;
        float number = 1;

        if (scale && fake_driver.to_host(&number, (uint64_t)(uintptr_t)scale, sizeof number) != 0)
            return INVALID_VALUE;
        alpha *= (double)number;
    }
    for (int64_t i = 0; status == SUCCESS && p->m > 0 && p->n > 0 && i < p->batch; i++)
        status = fake_one(p, i, alpha, beta);
    return status;
}

#endif
