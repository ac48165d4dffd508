/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drawn_product: products of all kinds that TileJIT takes, drawn at random, with their operands. These are small whole numbers,
 * and scales are powers of 2, so that all products but those of gelu are exact.
 */
#ifndef TJ_BLAS_DRAWN_PRODUCT_H
#define TJ_BLAS_DRAWN_PRODUCT_H

#include <stdbool.h>

#include "fake_product.h"

enum { MOST = 40 };

/* The function that is called. */
typedef enum kind { PLAIN, STRIDED, BATCHED, SYRK, SYRKX, HERK, EX, EX_STRIDED, EX_BATCHED, GROUPED, SEX, LT, KINDS } kind;

typedef struct drawn_product {
    fake_product p; /* its addresses are those of one place */
    kind kind;
    bool is_64, is_3m, is_apart; /* is_apart: D is not C */
} drawn_product;

static _Thread_local unsigned long long seed = 1;

static int drawn(int from, int to)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return from + (int)((seed >> 33) % (unsigned long long)(to - from + 1));
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

static int copy_to_host(void *to, uint64_t from, size_t bytes)
{
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

static int copy_to_device(uint64_t to, const void *from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

static int never_captures(void *stream, int *status)
{
    (void)stream;
    *status = 0;
    return 0;
}

/* From now on fake_product computes in host memory. */
static void compute_on_host(void)
{
    fake_driver.to_host = copy_to_host;
    fake_driver.to_device = copy_to_device;
    fake_driver.is_capturing = never_captures;
}

/* The parts of memory that a product has. */
typedef enum part { OF_A, OF_B, OF_C, OF_D, OF_BIAS, OF_AUX, OF_ALPHA, OF_BETA, OF_SCALES, PARTS = OF_SCALES + MATRICES } part;

typedef struct drawn_part {
    int type;
    int64_t elements; /* 0: the product has none */
} drawn_part;

static int64_t lines_of(const fake_product *p, int which)
{
    const int op = which == A ? p->op_a : which == B ? p->op_b : 0;
    const int64_t rows = which == B ? p->k : p->m, cols = which == A ? p->k : p->n;

    return (p->by_rows[which] != 0) == (op != 0) ? cols : rows;
}

static drawn_part part_of(const drawn_product *one, part which)
{
    const fake_product *p = &one->p;
    const int64_t vector = p->scalars >= VECTORS ? p->m : 1;

    switch (which) {
    case OF_A:
    case OF_B:
    case OF_C:
        return (drawn_part){p->type[which], p->stride[which] * p->batch + p->ld[which] * lines_of(p, (int)which)};
    case OF_D:
        return (drawn_part){p->type[D], one->is_apart ? p->stride[D] * p->batch + p->ld[D] * lines_of(p, D) : 0};
    case OF_BIAS:
        return (drawn_part){p->bias_type, p->epilogue & (BIAS | BIAS_GRADIENT) ? p->m + p->bias_stride * p->batch : 0};
    case OF_AUX:
        return (drawn_part){p->aux_type, p->epilogue & AUX ? p->aux_ld * p->n + p->aux_stride * p->batch : 0};
    case OF_ALPHA:
        return (drawn_part){p->scalar_type, vector + p->alpha_stride * p->batch};
    case OF_BETA:
        return (drawn_part){p->scalar_type, p->scalars == VECTORS ? vector : 1};
    default:
        break;
    }
    return (drawn_part){R_32F, p->scale[which - OF_SCALES]
                                   ? fake_scale_count(p->scale_mode[which - OF_SCALES], which == OF_SCALES ? p->m : p->n, p->k)
                                   : 0};
}

/* Does the host read it, wherever the product is computed? */
static inline bool is_of_host(const fake_product *p, part which)
{
    return which == OF_ALPHA  ? p->scalars == ON_HOST
           : which == OF_BETA ? p->scalars == ON_HOST || p->scalars == ALPHA_VECTOR_BETA_ON_HOST
                              : false;
}

/* The product with its parts at these addresses; `arrays`: of the addresses of A, B and D, for a batch of pointers. */
static fake_product placed(const drawn_product *one, void *const at[PARTS], void *const arrays[MATRICES])
{
    fake_product p = one->p;

    for (int i = 0; i < MATRICES; i++) {
        const int which = i == D && !one->is_apart ? C : i == B && (one->kind == SYRK || one->kind == HERK) ? A : i;

        p.at[i] = p.is_pointers ? arrays[which] : at[which];
        p.scale[i] = p.scale[i] ? at[OF_SCALES + i] : NULL;
    }
    p.bias = at[OF_BIAS];
    p.aux = at[OF_AUX];
    p.alpha = at[OF_ALPHA];
    p.beta = p.scalars == ALPHA_VECTOR ? NULL : at[OF_BETA];
    return p;
}

/* Fill a part with values. */
static void fill_part(const drawn_product *one, part which, void *at)
{
    static const double of_alpha[] = {1, 1, 2, -1, 0}, of_beta[] = {0, 0, 1, 3}, of_scale[] = {0.5, 1, 2, 4};
    const drawn_part is = part_of(one, which);
    const int parts = fake_is_complex(is.type) ? 2 : 1;

    for (int64_t i = 0; i < is.elements * parts; i++)
        tj_write_number(fake_part_type(is.type), at, i,
                        which == OF_ALPHA    ? of_alpha[drawn(0, one->p.scalars == ON_HOST ? 3 : 4)]
                        : which == OF_BETA   ? of_beta[drawn(0, 3)]
                        : which >= OF_SCALES ? of_scale[drawn(0, 3)]
                                             : drawn(-2, 2));
}

/* Is it written, and so to be compared? */
static bool is_result(const drawn_product *one, part which)
{
    const int epilogue = one->p.epilogue;

    return which == OF_C     ? !one->is_apart
           : which == OF_D   ? one->is_apart
           : which == OF_AUX ? epilogue & AUX && epilogue & GELU
                             : which == OF_BIAS && epilogue & BIAS_GRADIENT;
}

/* The number of elements of a part, or of parts of complex ones, that are not as expected. */
static int count_different(const drawn_product *one, part which, const void *got, const void *expected)
{
    const drawn_part is = part_of(one, which);
    const bool is_exact = which == OF_AUX || !(one->p.epilogue & (GELU | DGELU));
    const double step = is.type == R_8F_E4M3 ? 0.13 : 0.01;
    const int parts = fake_is_complex(is.type) ? 2 : 1;
    int wrong = 0;

    for (int64_t i = 0; i < is.elements * parts; i++) {
        const double x = tj_read_number(fake_part_type(is.type), got, i),
                     y = tj_read_number(fake_part_type(is.type), expected, i);

        wrong += is_exact ? !(x == y) : !(fabs(x - y) <= 0.02 + step * fabs(y));
    }
    return wrong;
}

/* ---- draws ----------------------------------------------------------------------------------------------------------- */

static void draw_sizes(drawn_product *one)
{
    fake_product *p = &one->p;
    const bool is_fp8 = p->type[A] == R_8F_E4M3,
               is_pointers = one->kind == BATCHED || one->kind == EX_BATCHED || one->kind == GROUPED;

    p->m = drawn(1, MOST), p->n = drawn(1, MOST), p->k = drawn(1, MOST);
    if (is_fp8) { /* as NVIDIA's library asks for */
        p->op_a = 1, p->op_b = 0;
        p->m = 16 * drawn(1, 2), p->n = 16 * drawn(1, 2), p->k = 16 * drawn(1, 2);
    }
    if (p->triangle)
        p->m = p->n;
    for (int i = 0; i < MATRICES; i++) {
        const int op = i == A ? p->op_a : i == B ? p->op_b : 0;
        const int64_t rows = i == B ? p->k : p->m, cols = i == A ? p->k : p->n;

        p->ld[i] = ((p->by_rows[i] != 0) == (op != 0) ? rows : cols) + drawn(0, 1) * (is_fp8 ? 16 : drawn(0, 9));
        p->stride[i] = i == B && drawn(0, 2) == 0 && !is_pointers ? 0 : p->ld[i] * lines_of(p, i) + drawn(0, 9);
        if (is_pointers || is_fp8) /* NVIDIA's library asks for addresses that are multiples of 16 */
            p->stride[i] = (p->stride[i] + 15) / 16 * 16;
    }
    p->ld[D] = p->ld[C], p->stride[D] = p->stride[C];
    if (one->kind == SYRK || one->kind == HERK)
        p->ld[B] = p->ld[A];
}

static void draw_epilogue(drawn_product *one)
{
    static const int of_floats[] = {1,
                                    1,
                                    RELU,
                                    GELU,
                                    BIAS,
                                    RELU | BIAS,
                                    GELU | BIAS,
                                    GELU | AUX,
                                    GELU | AUX | BIAS,
                                    DGELU | AUX,
                                    DGELU | AUX | BIAS_GRADIENT};
    fake_product *p = &one->p;
    const int kinds = p->type[A] == R_64F || p->type[A] == R_8I || fake_is_complex(p->type[A]) ? 2
                      : p->by_rows[D] || p->type[A] == R_8F_E4M3                               ? 7
                                                                                               : 11;

    p->epilogue = of_floats[drawn(0, kinds - 1)];
    p->bias_type = p->type[A] == R_8F_E4M3                                          ? R_16BF
                   : p->epilogue & BIAS && p->type[A] == R_16BF && drawn(0, 3) == 0 ? R_32F
                                                                                    : p->type[D];
    p->aux_type = p->type[D];
    p->aux_ld = (p->m + 7) / 8 * 8 + 8 * drawn(0, 1);
    if (p->batch > 1) {
        p->aux_stride = p->aux_ld * p->n;
        p->bias_stride = p->epilogue & BIAS_GRADIENT || drawn(0, 1) ? MOST : 0;
    }
}

static void draw_scales(drawn_product *one)
{
    static const int modes[][2] = {{OF_MATRIX, OF_MATRIX}, {OF_MATRIX, OF_MATRIX}, {OF_ROW, OF_ROW},
                                   {ALONG_K, ALONG_K},     {ALONG_K, OF_BLOCK},    {OF_BLOCK, ALONG_K}};
    const int *const mode = modes[one->p.batch > 1 ? 0 : drawn(0, 5)];
    static const char there;

    for (int i = A; i <= B; i++) {
        one->p.scale[i] = &there; /* until it is placed */
        one->p.scale_mode[i] = mode[i];
    }
    if (one->p.type[D] == R_8F_E4M3 && drawn(0, 1))
        one->p.scale[D] = &there;
    if (mode[A] >= ALONG_K) {
        one->p.k = 16 * drawn(1, 17);
        for (int i = A; i <= B; i++)
            one->p.ld[i] = one->p.k + 16 * drawn(0, 1);
    }
}

static void draw_lt(drawn_product *one)
{
    fake_product *p = &one->p;
    const bool is_formula = p->type[A] == R_8I || fake_is_complex(p->type[A]); /* it has alpha and beta on the host alone */

    one->is_apart = drawn(0, 1);
    if (p->type[A] != R_8F_E4M3)
        for (int i = 0; i < MATRICES; i++)
            p->by_rows[i] = i == D ? p->by_rows[C] : drawn(0, 3) == 0;
    if (!is_formula)
        p->scalars = (const int[]){ON_HOST, ON_HOST, ON_DEVICE, ON_DEVICE, VECTORS, ALPHA_VECTOR, ALPHA_VECTOR_BETA_ON_HOST,
                                   ON_HOST}[drawn(0, 7)];
    p->batch = drawn(0, 3) == 0 ? drawn(1, 3) : 1;
    if (p->scalars == VECTORS || p->scalars == ALPHA_VECTOR)
        p->batch = 1;
    draw_sizes(one);
    draw_epilogue(one);
    if (p->batch > 1 && p->scalars == ALPHA_VECTOR_BETA_ON_HOST)
        p->alpha_stride = drawn(0, 1) * MOST;
    if (p->type[A] == R_8F_E4M3)
        draw_scales(one);
    else if (!is_formula && p->type[D] != R_64F && drawn(0, 7) == 0) {
        p->type[C] = drawn(0, 1) ? R_32F : R_16BF;
        one->is_apart |= p->type[C] != p->type[D];
    }
}

static drawn_product draw(void)
{
    static const int of_ex[][4] = {{R_32F, R_32F, COMPUTE_32F, R_32F},        {R_64F, R_64F, COMPUTE_64F, R_64F},
                                   {R_16F, R_16F, COMPUTE_32F, R_32F},        {R_16F, R_32F, COMPUTE_32F, R_32F},
                                   {R_16BF, R_16BF, COMPUTE_32F, R_32F},      {R_16BF, R_32F, COMPUTE_32F, R_32F},
                                   {R_8I, R_32I, COMPUTE_32I, R_32I},         {R_16F, R_16F, COMPUTE_16F, R_16F},
                                   {R_8I, R_32F, COMPUTE_32F, R_32F},         {C_32F, C_32F, COMPUTE_32F, C_32F},
                                   {C_64F, C_64F, COMPUTE_64F, C_64F},        {R_8F_E4M3, R_16BF, COMPUTE_32F, R_32F},
                                   {R_8F_E4M3, R_8F_E4M3, COMPUTE_32F, R_32F}};
    static const int of_letter[] = {0, 1, 7, 9, 10}, of_triangle[] = {0, 1, 9, 10}, of_sex[] = {0, 3, 5, 9},
                     of_groups[] = {0, 1, 2, 4}, of_lt[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 11, 12};
    drawn_product one = {.kind = (kind)drawn(0, KINDS - 1), .is_64 = drawn(0, 1), .is_3m = drawn(0, 1)};
    const bool is_batch =
        one.kind == STRIDED || one.kind == BATCHED || one.kind == EX_STRIDED || one.kind == EX_BATCHED || one.kind == GROUPED;
    const int *const types = of_ex[one.kind == HERK                        ? drawn(9, 10)
                                   : one.kind == SYRK || one.kind == SYRKX ? of_triangle[drawn(0, 3)]
                                   : one.kind < EX                         ? of_letter[drawn(0, 4)]
                                   : one.kind == GROUPED                   ? of_groups[drawn(0, 3)]
                                   : one.kind == SEX                       ? of_sex[drawn(0, 3)]
                                   : one.kind == LT                        ? of_lt[drawn(0, 12)]
                                                                           : drawn(0, 10)];
    const bool is_complex = fake_is_complex(types[0]);
    fake_product *p = &one.p;

    p->op_a = drawn(0, is_complex ? 2 : 1), p->op_b = drawn(0, is_complex ? 2 : 1);
    p->type[A] = p->type[B] = types[0], p->type[C] = p->type[D] = types[1];
    p->compute = types[2], p->scalar_type = types[3];
    p->epilogue = 1;
    p->processors = drawn(0, 7) == 0 ? 64 : 0;
    if (one.kind == LT) {
        draw_lt(&one);
        return one;
    }
    if (one.kind == SYRK || one.kind == SYRKX) {
        p->triangle = drawn(LOWER, UPPER);
        p->op_a = drawn(0, 1), p->op_b = !p->op_a;
    }
    if (one.kind == HERK) {
        p->triangle = drawn(LOWER, UPPER), p->is_hermitian = 1;
        p->op_a = 2 * drawn(0, 1), p->op_b = 2 - p->op_a;
        p->scalar_type = types[0] == C_32F ? R_32F : R_64F;
    }
    p->batch = is_batch ? drawn(1, 3) : 1;
    p->is_pointers = one.kind == BATCHED || one.kind == EX_BATCHED || one.kind == GROUPED;
    p->scalars = p->scalar_type != R_32I && !is_complex && one.kind != GROUPED && drawn(0, 3) == 0 ? ON_DEVICE : ON_HOST;
    draw_sizes(&one);
    return one;
}

#endif
