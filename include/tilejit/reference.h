/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference.h: the product on the CPU, and the test that a computed P must pass.
 *
 * It is a tiled algorithm, like the tiled kernel: blocks of M and N that fit the cache take the place of Mds and Nds.
 */
#ifndef TILEJIT_REFERENCE_H
#define TILEJIT_REFERENCE_H

#include <tilejit/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Scales, or an operand of the epilogue's expression, in host memory, as tj_operands has them in device memory. */
typedef struct tj_host_operand {
    const void *address; /**< for a further output: the values that a kernel stored, or, for tj_reference_product, the
                              destination; NULL: it is skipped */
    int64_t ld, stride;  /**< scales along k are tight: their ld is 0 */
} tj_host_operand;

/**
 * Matrices in host memory, laid out as the problem says; for TJ_POINTERS and TJ_POINTERS_16, arrays of host addresses. Start from
 * TJ_HOST_OPERANDS.
 */
typedef struct tj_host_operands {
    size_t struct_size;
    const void *m, *n, *c; /**< c is read only if the problem has_beta and beta is not 0 */
    double alpha, beta;
    tj_host_operand scale[TJ_SCALED];           /**< scales, read only if the problem has them. The scales of P are an output:
                                                     the values that a kernel stored, or the destination. Their ld may be
                                                     padded */
    tj_host_operand zero[TJ_FACTORS];           /**< zero points of M and of N, likewise */
    tj_host_operand whole[TJ_FACTORS];          /**< the one number for all of M, and for all of N, likewise */
    tj_host_operand with[TJ_EPILOGUE_OPERANDS]; /**< operands of the expression, by number */
    double number[TJ_EPILOGUE_OPERANDS];        /**< operands of the expression that are numbers */
    const void *offsets; /**< read only if the problem has groups: the offset of each group, as for tj_groups_check. Rows that
                              belong to no group are neither read nor written */
    const int32_t *m_index; /**< read only if the rows of M are gathered, as in tj_operands; with m_rows */
    int64_t m_rows;
    const int32_t *p_index; /**< read only if rows are scattered to P or combined, as in tj_operands; with p_rows */
    int64_t p_rows;
    const float *p_factor;    /**< read only if rows are combined, as in tj_operands */
    double alpha_im, beta_im; /**< imaginary parts of alpha and beta, 0 unless the product is complex */
} tj_host_operands;

/* clang-format off */
/** TJ_HOST_OPERANDS(M, N): two addresses, alpha = 1, beta = 0, no other operand. */
#define TJ_HOST_OPERANDS(m, n)                                                                                         \
    { sizeof(tj_host_operands), (m), (n), NULL, 1.0, 0.0, { { NULL, 0, 0 } }, { { NULL, 0, 0 } },            \
      { { NULL, 0, 0 } }, { { NULL, 0, 0 } }, { 0 }, NULL, NULL, 0, NULL, 0, NULL, 0.0, 0.0 }
/* clang-format on */

/** The result of a check. Start from TJ_CHECK_REPORT_INIT. */
typedef struct tj_check_report {
    size_t struct_size;
    int passed;             /**< 1: every checked element is within its bound, and zero, infinite or NaN where it must be */
    int64_t elements;       /**< number of elements checked */
    int64_t elements_total; /**< number of elements of P, batch included */
    double max_error;       /**< largest |P - reference| */
    double max_ratio;       /**< largest error / bound; 1 still passes */
    double max_relative;    /**< largest error / |reference|, over elements whose reference is not 0 */
    double norm;            /**< Frobenius norm of the checked part of the reference */
    int64_t worst_batch, worst_row, worst_col; /**< position of max_ratio */
    double worst_value, worst_reference;
    char reason[160]; /**< "" if passed; else a sentence */
} tj_check_report;

#define TJ_CHECK_REPORT_INIT TJ_SIZED(tj_check_report)

/**
 * Compare a computed P with the product R in float64 (for f64: a compensated sum, about twice that precision).
 *
 * An element passes if
 *
 *     |P - R| <= gamma(k + 2) * (|alpha| * |M| . |N| + |beta| * |C|) + u_p * |R| + the smallest subnormal of P's type
 *
 * with gamma(n) = n * u / (1 - n * u), u the unit roundoff of the accumulation (2^-24, for f64 2^-53) and u_p that of P's type:
 * Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., sections 3.1 and 3.5. (Two small terms are added that change
 * nothing else: half a subnormal number for every rounding, and u_p of the first term.) Instead of k + 2 it is 2 k + 2 if
 * tensor cores may add in f32, for M and N narrower than f32 and for tf32, because they truncate to f32 instead of rounding; it
 * is k + 128 with TJ_COMPUTE_F32_SPLIT (2 k + 128 for a part of c64), and k + 4 for f16 or bf16 by f32 (docs/f32-split.md).
 * Scales multiply R and |M| . |N|, and each adds 1 to n, as do zero points and the number of a whole matrix; scales along k
 * multiply elements, and add 1 and the number of parts of k. If the operands force a zero (a zero factor, k = 0), only a zero
 * passes. Each real and each imaginary part of a complex P is compared so, as a sum of twice as many real products;
 * |alpha| * |M| . |N| is then |Re alpha| * (that of the own part) + |Im alpha| * (that of the other part).
 *
 * NaN and infinity must be where the reference has them, infinity with the same sign. If the operands have none, an element
 * whose sum may overflow on the way, depending on its order, may also be infinite or NaN. If a scale along k is infinite, an
 * element of P that it makes infinite or NaN may be either, because a part of the sum may be 0. Values of a type without
 * infinity are compared with R clamped to its limits.
 *
 * TJ_COMPUTE_TF32 adds (2 v + v^2) * |M| . |N| with v = 2^-11, for M and N that are rounded first. TJ_COMPUTE_F32_FP8 adds 132
 * * 2^-13 * |M| . |N|: tensor cores cut off each of 32 products and the sum so far at 2^-13 of the largest of them, four times
 * in a part of 128. With TJ_COMPUTE_S32 sums are exact, and wrap: if P is an integer and nothing scales, P must be exactly R,
 * else n is 6, and a P of integers may be off by 1/2 more, for its last rounding.
 *
 * With invariant rows (tj_problem.invariant) whose products are added one by one, in f32 or f64, an element has one right value:
 * the chain of multiply-adds, times its scales and alpha, plus beta * C by one more. P must be that, rounded once, and
 * tj_reference_product stores it. Expressions, scales along k or of a whole matrix, and a P that is finished later (scales of P,
 * combined rows) are compared by their bound, as are sums of tensor cores.
 *
 * An expression is evaluated for R, and the bound of the sum is carried through its operations: by the slope of a function, by
 * its values at both ends of the interval, by the product rule; each operation adds its own rounding. If rounding may let a
 * kernel take the other branch of a select, the bound includes both branches. If no bound exists, as for a quotient whose
 * divisor may be 0, any P passes.
 *
 * With scales of P, an element times its stored scale may be off by the bound of its value and half a step of P's type. A scale
 * passes if it follows from a largest magnitude between those of v - e and v + e; its own roundings may add 2^-22 of it.
 *
 * Combined rows (tj_rows.combined) may be off by the bound of each row and its rounding to P's type, times its factor, and by
 * the rounding of each term and each addition.
 *
 * Outputs for rows or columns are judged if all of their elements were evaluated. A sum of n values v, each off by e, may be
 * off by all e together and by gamma(n) * (|v| + e) summed up; a maximum lies between those of v - e and v + e, and is NaN
 * where one v is. report->reason then names the output; worst_row and the like concern P alone.
 *
 * The bound grows with k: for f32 it exceeds the elements themselves from a k of about 10^5 on. Even so, a P that is zero
 * everywhere, or the same number everywhere, does not pass unless the product is too.
 *
 * max_flop bounds the work. Beyond it the check samples whole rows of P, evenly spread, the first and the last among them, and
 * report->elements is their number. 0 means 2e11.
 *
 * All dimensions, leading dimensions and strides must be known (no TJ_ANY, no TJ_DIM_ANY).
 *
 * NULL:    only err may be NULL.
 * Threads: any; uses up to threads threads of its own (0: one per processor).
 * Errors:  TJ_ERR_INVALID_ARGUMENT, TJ_ERR_OUT_OF_MEMORY. A product that does not pass is not an error: see passed.
 */
TJ_API TJ_MUST_CHECK tj_status tj_reference_check(const tj_problem *problem, const tj_host_operands *operands, const void *p,
                                                  double max_flop, int threads, tj_check_report *report, tj_error *err);

/**
 * Compute the product, rounded once to P's type, into p. Padding between rows is not written. It needs neither a GPU nor the
 * emulator. Tests compare kernels with it. The C of a complex product must not be p: parts are computed one by one, and each
 * reads both parts of C.
 * NULL, Threads, Errors: as tj_reference_check.
 */
TJ_API TJ_MUST_CHECK tj_status tj_reference_product(const tj_problem *problem, const tj_host_operands *operands, void *p,
                                                    int threads, tj_error *err);

/**
 * Convert count elements from one type to another as a product is stored in P (tj_epilogue): rounded once, to nearest even. If
 * the types are the same they are copied bit for bit. A real number becomes a complex one without an imaginary part, and the
 * other way round the imaginary part is lost. Numbers of s4 are stored two in a byte, the first in the lower half; the
 * unused half of the last byte stays unchanged. NULL: neither may be NULL unless count is 0.
 */
TJ_API void tj_convert(tj_type to, void *destination, tj_type from, const void *source, size_t count);

/**
 * Fill memory with reproducible values from a seed (splitmix64): floats uniform in [-1, 1], s8 and u8 in their whole range, s32
 * in [-2^16, 2^16). e8m0 becomes a power of 2 from 1/16 to 8. For types of 4 bits, all of whose patterns are drawn, count is in
 * bytes, as tj_problem_span counts them.
 */
TJ_API void tj_fill_random(tj_type dtype, void *destination, size_t count, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
