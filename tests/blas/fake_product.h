/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_product: a product of cuBLAS or cuBLASLt, computed on the host by the definition. The fakes of libcublas and libcublasLt
 * compute by it, with device memory that is copied by the driver that TILEJIT_EMULATOR names; tests compute by it what they
 * expect, in host memory. In a capture nothing is computed or recorded.
 */
#ifndef TJ_BLAS_FAKE_PRODUCT_H
#define TJ_BLAS_FAKE_PRODUCT_H

#include <complex.h>
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
enum {
    R_32F = 0,
    R_64F = 1,
    R_16F = 2,
    R_8I = 3,
    C_32F = 4,
    C_64F = 5,
    R_32I = 10,
    R_16BF = 14,
    R_8F_E4M3 = 28,
    R_8F_E5M2 = 29
};
enum { COMPUTE_16F = 64, COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72 };
enum { RELU = 2, BIAS = 4, BIAS_GRADIENT = 16, GELU = 32, DGELU = 64, AUX = 128 }; /* of an epilogue */
enum { ON_HOST, ON_DEVICE, VECTORS, ALPHA_VECTOR, ALPHA_VECTOR_BETA_ON_HOST };     /* alpha and beta */
enum { OF_MATRIX = 0, OF_ROW = 3, ALONG_K = 4, OF_BLOCK = 5 };                     /* scales */
enum { LOWER = 1, UPPER };                                                         /* the triangle of D that there is */
enum { A, B, C, D, MATRICES };

typedef struct fake_product {
    int type[MATRICES], by_rows[MATRICES], scale_mode[MATRICES]; /* of an element, and so on */
    int op_a, op_b;                                              /* 0; 1 for the transpose, 2 for its conjugate */
    int processors;                                              /* a number that the library may ignore */
    int triangle, is_hermitian;                                  /* triangle 0: all of D */
    int compute, scalar_type, scalars, epilogue, bias_type, aux_type, is_pointers;
    int64_t m, n, k, batch, ld[MATRICES], stride[MATRICES];
    int64_t alpha_stride, bias_stride, aux_ld, aux_stride;
    const void *alpha, *beta, *scale[MATRICES];
    void *at[MATRICES], *bias, *aux, *stream;
} fake_product;

static struct {
    int (*to_host)(void *to, uint64_t from, size_t bytes);
    int (*to_device)(uint64_t to, const void *from, size_t bytes);
    int (*is_capturing)(void *stream, int *status);
} fake_driver;

static inline tj_type fake_type(int id)
{
    switch (id) {
    case R_64F:
        return TJ_F64;
    case R_16F:
        return TJ_F16;
    case R_8I:
        return TJ_S8;
    case C_32F:
        return TJ_C64;
    case C_64F:
        return TJ_C128;
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

static inline size_t fake_bytes(int id)
{
    return tj_type_bytes(fake_type(id));
}

/* ---- matrices in memory ---------------------------------------------------------------------------------------------- */

/* A matrix or a vector of one product of a batch, copied to the host. */
typedef struct fake_copy {
    char *bytes;
    uint64_t address;
    int64_t ld, lines, length; /* lines of `length` elements, ld apart */
    int type, by_rows, is_new;
} fake_copy;

/* is_taken 0: there is none. Returns 0 if it cannot be read. */
static inline int fake_fetch(fake_copy *to, int is_taken, int type, const void *base, int64_t lines, int64_t length, int64_t ld)
{
    const size_t bytes = ((size_t)(lines - 1) * (size_t)ld + (size_t)length) * fake_bytes(type);

    *to = (fake_copy){.type = type, .lines = lines, .length = length, .ld = ld, .address = (uint64_t)(uintptr_t)base};
    if (!is_taken || lines < 1 || length < 1)
        return 1;
    to->bytes = malloc(bytes);
    return to->bytes && base && fake_driver.to_host(to->bytes, to->address, bytes) == 0;
}

static inline int fake_fetch_matrix(fake_copy *to, int is_taken, const fake_product *p, int which, int64_t rows, int64_t cols,
                                    int64_t index)
{
    uint64_t address = (uint64_t)(uintptr_t)p->at[which];
    const int by_rows = p->by_rows[which];

    if (is_taken && p->is_pointers && fake_driver.to_host(&address, address + 8 * (uint64_t)index, 8) != 0)
        return 0;
    if (!p->is_pointers)
        address += (uint64_t)(index * p->stride[which]) * fake_bytes(p->type[which]);
    if (!fake_fetch(to, is_taken, p->type[which], (void *)(uintptr_t)address, by_rows ? rows : cols, by_rows ? cols : rows,
                    p->ld[which]))
        return 0;
    to->by_rows = by_rows;
    return 1;
}

static inline int64_t fake_place(const fake_copy *of, int64_t row, int64_t col)
{
    return of->by_rows ? row * of->ld + col : col * of->ld + row;
}

static inline int fake_is_complex(int id)
{
    return id == C_32F || id == C_64F;
}

/* The type of the two parts of a complex number, or the type itself. */
static inline tj_type fake_part_type(int id)
{
    return id == C_32F ? TJ_F32 : id == C_64F ? TJ_F64 : fake_type(id);
}

static inline double fake_element(const fake_copy *of, int64_t row, int64_t col)
{
    return tj_read_number(fake_type(of->type), of->bytes, fake_place(of, row, col));
}

/* An element of any type, or with op 2 its conjugate. */
static inline double complex fake_number(const fake_copy *of, int op, int64_t row, int64_t col)
{
    const int64_t place = 2 * fake_place(of, row, col);

    if (!fake_is_complex(of->type))
        return fake_element(of, row, col);
    const double re = tj_read_number(fake_part_type(of->type), of->bytes, place),
                 im = tj_read_number(fake_part_type(of->type), of->bytes, place + 1);

    return op == 2 ? re - im * I : re + im * I;
}

static inline void fake_set(fake_copy *of, int64_t row, int64_t col, double complex value)
{
    const int64_t place = fake_place(of, row, col);

    if (fake_is_complex(of->type)) {
        tj_write_number(fake_part_type(of->type), of->bytes, 2 * place, creal(value));
        tj_write_number(fake_part_type(of->type), of->bytes, 2 * place + 1, cimag(value));
    } else {
        tj_write_number(fake_type(of->type), of->bytes, place, creal(value));
    }
    of->is_new = 1;
}

/* Write back what is new, without the gaps; returns 0 if that fails. */
static inline int fake_put_back(fake_copy *of)
{
    const size_t line = (size_t)of->ld * fake_bytes(of->type);
    int is_done = 1;

    for (int64_t i = 0; i < of->lines && of->is_new; i++)
        is_done &= fake_driver.to_device(of->address + (uint64_t)i * line, of->bytes + (size_t)i * line,
                                         (size_t)of->length * fake_bytes(of->type)) == 0;
    free(of->bytes);
    return is_done;
}

/* ---- one product ----------------------------------------------------------------------------------------------------- */

enum { X_A, X_B, X_C, X_D, X_BIAS, X_AUX, X_ALPHA, X_BETA, X_SCALES, COPIES = X_SCALES + MATRICES };

/* The scale of row r of op(A), or of column r of op(B), at place i along k. */
static inline double fake_scale(const fake_copy *of, int mode, int64_t rows, int64_t k, int64_t r, int64_t i)
{
    const int64_t parts = ((k + 127) / 128 + 3) / 4 * 4;

    return !of->bytes ? 1
                      : fake_element(of,
                                     mode == OF_ROW     ? r
                                     : mode == ALONG_K  ? i / 128 * rows + r
                                     : mode == OF_BLOCK ? r / 128 * parts + i / 128
                                                        : 0,
                                     0);
}

static inline int64_t fake_scale_count(int mode, int64_t rows, int64_t k)
{
    const int64_t parts = (k + 127) / 128;

    return mode == OF_ROW     ? rows
           : mode == ALONG_K  ? rows * parts
           : mode == OF_BLOCK ? (rows + 127) / 128 * ((parts + 3) / 4 * 4)
                              : 1;
}

static inline double fake_gelu(double x)
{
    return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static inline double fake_gelu_slope(double x)
{
    const double t = tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));

    return (1 + t) / 2 + x / 2 * (1 - t * t) * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

static inline double complex fake_sum(const fake_product *p, fake_copy x[COPIES], int64_t row, int64_t col)
{
    double complex sum = 0;

    for (int64_t i = 0; i < p->k; i++)
        sum += fake_number(&x[X_A], p->op_a, p->op_a ? i : row, p->op_a ? row : i) *
               fake_number(&x[X_B], p->op_b, p->op_b ? col : i, p->op_b ? i : col);
    return sum;
}

/* The sum of real numbers, with their scales. */
static inline double fake_real_sum(const fake_product *p, fake_copy x[COPIES], int64_t row, int64_t col)
{
    double sum = 0;

    for (int64_t i = 0; i < p->k; i++)
        sum += fake_element(&x[X_A], p->op_a ? i : row, p->op_a ? row : i) *
               fake_element(&x[X_B], p->op_b ? col : i, p->op_b ? i : col) *
               fake_scale(&x[X_SCALES + A], p->scale_mode[A], p->m, p->k, row, i) *
               fake_scale(&x[X_SCALES + B], p->scale_mode[B], p->n, p->k, col, i);
    return sum;
}

static inline double fake_epilogue(const fake_product *p, fake_copy x[COPIES], int64_t row, int64_t col, double value)
{
    if (p->epilogue & BIAS)
        value += fake_element(&x[X_BIAS], row, 0);
    if (p->epilogue & RELU)
        value = value < 0 ? 0 : value;
    if (p->epilogue & GELU && p->epilogue & AUX)
        fake_set(&x[X_AUX], row, col, value);
    if (p->epilogue & GELU)
        value = fake_gelu(value);
    if (p->epilogue & DGELU)
        value *= fake_gelu_slope(fake_element(&x[X_AUX], row, col));
    return value;
}

static inline double complex fake_value(const fake_product *p, fake_copy x[COPIES], int64_t row, int64_t col)
{
    const int64_t of_alpha = p->scalars >= VECTORS ? row : 0, of_beta = p->scalars == VECTORS ? row : 0;
    const double complex alpha = fake_number(&x[X_ALPHA], 0, of_alpha, 0),
                         beta = x[X_BETA].bytes ? fake_number(&x[X_BETA], 0, of_beta, 0) : 0;
    double complex value = 0;

    if (alpha != 0)
        value = alpha * (fake_is_complex(p->type[A]) ? fake_sum(p, x, row, col) : fake_real_sum(p, x, row, col));
    if (beta != 0)
        value += beta * fake_number(&x[X_C], 0, row, col) * fake_scale(&x[X_SCALES + C], OF_MATRIX, 0, 0, 0, 0);
    if (p->is_hermitian && row == col)
        return creal(value);
    return fake_is_complex(p->type[D]) ? value : fake_epilogue(p, x, row, col, creal(value));
}

static inline const char *fake_past(const void *base, int64_t elements, int type)
{
    return base ? (const char *)base + (size_t)elements * fake_bytes(type) : NULL;
}

/* Copy all that product number `index` has; a factor on the host is its own copy. */
static inline int fake_fetch_all(const fake_product *p, fake_copy x[COPIES], int64_t index)
{
    const int64_t vector = p->scalars >= VECTORS ? p->m : 1;
    const int has_bias = p->epilogue & (BIAS | BIAS_GRADIENT), has_aux = p->epilogue & AUX;
    int is_done = 1;

    for (int i = 0; i < 2; i++) {
        const int is_host = p->scalars == ON_HOST || (i && p->scalars == ALPHA_VECTOR_BETA_ON_HOST);
        const void *const at = i ? p->beta : p->alpha;
        const int64_t count = i && p->scalars != VECTORS ? 1 : vector;

        if (i && p->scalars == ALPHA_VECTOR)
            x[X_BETA] = (fake_copy){0};
        else if (is_host)
            x[X_ALPHA + i] =
                (fake_copy){.type = p->scalar_type, .bytes = memcpy(malloc(16), at, fake_bytes(p->scalar_type)), .ld = 1};
        else
            is_done &= fake_fetch(&x[X_ALPHA + i], 1, p->scalar_type, fake_past(at, index * p->alpha_stride, p->scalar_type), 1,
                                  count, count);
    }
    if (!is_done)
        return 0;
    const int is_zero = p->scalars < VECTORS && fake_number(&x[X_ALPHA], 0, 0, 0) == 0;
    const int has_c = x[X_BETA].bytes && (p->scalars == VECTORS || fake_number(&x[X_BETA], 0, 0, 0) != 0);

    is_done &= fake_fetch_matrix(&x[X_A], p->k > 0 && !is_zero, p, A, p->op_a ? p->k : p->m, p->op_a ? p->m : p->k, index);
    is_done &= fake_fetch_matrix(&x[X_B], p->k > 0 && !is_zero, p, B, p->op_b ? p->n : p->k, p->op_b ? p->k : p->n, index);
    is_done &= fake_fetch_matrix(&x[X_C], has_c, p, C, p->m, p->n, index);
    is_done &= fake_fetch_matrix(&x[X_D], 1, p, D, p->m, p->n, index);
    is_done &=
        fake_fetch(&x[X_BIAS], has_bias, p->bias_type, fake_past(p->bias, index * p->bias_stride, p->bias_type), 1, p->m, p->m);
    is_done &= fake_fetch(&x[X_AUX], has_aux, p->aux_type, fake_past(p->aux, index * p->aux_stride, p->aux_type), p->n, p->m,
                          p->aux_ld);
    for (int i = 0; i < MATRICES; i++) {
        const int64_t scales = fake_scale_count(p->scale_mode[i], i == A ? p->m : p->n, p->k);

        is_done &= fake_fetch(&x[X_SCALES + i], p->scale[i] != NULL, R_32F, p->scale[i], 1, scales, scales);
    }
    return is_done;
}

static inline int fake_one(const fake_product *p, int64_t index)
{
    fake_copy x[COPIES] = {{0}};
    int is_done = fake_fetch_all(p, x, index);

    for (int64_t row = 0; is_done && row < p->m; row++) {
        double sum = 0;

        for (int64_t col = p->triangle == UPPER ? row : 0; col < (p->triangle == LOWER ? row + 1 : p->n); col++) {
            const double complex value = fake_value(p, x, row, col);

            sum += creal(value);
            fake_set(&x[X_D], row, col, value * fake_scale(&x[X_SCALES + D], OF_MATRIX, 0, 0, 0, 0));
        }
        if (p->epilogue & BIAS_GRADIENT)
            fake_set(&x[X_BIAS], row, 0, sum);
    }
    for (int i = 0; i < COPIES; i++)
        is_done &= fake_put_back(&x[i]);
    return is_done ? SUCCESS : INVALID_VALUE;
}

static inline int fake_evaluate(const fake_product *p)
{
    int captured = 0, status = SUCCESS;

    for (int i = 0; i < MATRICES; i++) {
        const int op = i == A ? p->op_a : i == B ? p->op_b : 0;
        const int64_t rows = i == B ? p->k : p->m, cols = i == A ? p->k : p->n;

        if (p->ld[i] < 1 || p->ld[i] < ((p->by_rows[i] != 0) == (op != 0) ? rows : cols))
            return INVALID_VALUE;
    }
    if (p->m < 0 || p->n < 0 || p->k < 0 || p->batch < 0)
        return INVALID_VALUE;
    if (fake_driver.is_capturing(p->stream, &captured) != 0 || captured)
        return SUCCESS;
    for (int64_t i = 0; status == SUCCESS && p->m > 0 && p->n > 0 && i < p->batch; i++)
        status = fake_one(p, i);
    return status;
}

#endif
