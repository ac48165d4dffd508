/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound: three ways to sum, each with its own rounding errors.
 *
 * Rounding. Each addition is rounded to nearest (also those of f64 on tensor cores): errors add up as a random walk, so that the largest
 * stays within a few u * sqrt(k), with u the unit roundoff of the sum. One term of 500 000 left out shows.
 *
 * Truncation. A tensor core aligns a few products and the sum so far to the largest of them, and drops the bits below a last bit w.
 * The errors of products have their signs and walk at random, like rounding. The error of the sum always makes it smaller, so it grows
 * in proportion to the number of steps. A step has at least 8 products (4 of tf32, where the error of M and N hides it); the sum loses
 * w / 2 on average; and for the largest elements of P the sum reaches about 4 times the root mean square of P on the way: k / 4 w, and
 * twice that to be safe.
 *
 * For e4m3 and e5m2, a step on Ada's and Hopper's tensor cores keeps only 13 bits below the largest term. To sum in f32, promote
 * partial sums of some 128 products to f32 (cuBLASLt does, unless told to be fast). Terms with few bits lose less: a quarter of the
 * above is enough, and small enough to detect 4096 products summed without promotion.
 *
 * tests/bench/test_bound.c sums as these units do.
 */
#include "bound.h"

#include <math.h>
#include <stdio.h>

static const double TENSOR_UNIT = 0x1p-24, TENSOR_UNIT_FP8 = 0x1p-13; /* the last bit w */
static const double PROMOTED = 128;                                   /* products of 8-bit floats per promoted sum */

static int is_fp8(int32_t type)
{
    return type == TJ_E4M3 || type == TJ_E5M2;
}

/* Return the error of random operands when k products are summed with truncation. */
static double truncated(double unit, double k)
{
    return unit * (8 * sqrt(k) + k / 2);
}

bound bound_of(const tj_problem *problem, adder who)
{
    const tj_compute_facts *compute = tj_compute_get_facts((tj_compute)problem->compute);
    const double u = tj_type_get_facts((tj_type)compute->sum)->unit_roundoff, k = (double)problem->k.extent;
    const double u_p = tj_type_get_facts((tj_type)problem->p.type)->unit_roundoff;
    const double cut = who == ADDER_PEER ? 2 : 1; /* loss by truncation / loss by rounding */
    const int truncates = who != ADDER_FMA && compute->sum == TJ_F32;
    bound b = {.elements = compute->input_roundoff > 0 ? cut : 1};

    b.rms = truncates ? truncated(TENSOR_UNIT, k) : 8 * u * sqrt(k);
    if (truncates && is_fp8(problem->m.type)) {
        b.elements = TENSOR_UNIT_FP8 / TENSOR_UNIT;
        b.rms += truncated(TENSOR_UNIT_FP8 / 4, fmin(k, PROMOTED));
    }
    /* Integers are exact; the f32 that a sum becomes is not, unless P has integers too. */
    if (compute->sum == TJ_S32 && u_p > 0)
        b.rms += 8 * tj_type_get_facts(TJ_F32)->unit_roundoff;
    b.rms += 8 * cut * compute->input_roundoff + 8 * u_p;
    return b;
}

int bound_is_kept(const bound *b, const tj_check_report *check, double rms_error, char why[TJ_ERROR_MESSAGE_BYTES])
{
    /* A check without an element outside its bound may still have found that P is the same number everywhere. */
    if (!check->passed && !(check->max_ratio > 1 && check->max_ratio <= b->elements))
        (void)snprintf(why, TJ_ERROR_MESSAGE_BYTES, "%s", check->reason);
    else if (!(rms_error <= b->rms))
        (void)snprintf(why, TJ_ERROR_MESSAGE_BYTES, "largest error %.2g of P's root mean square, rounding makes at most %.2g",
                       rms_error, b->rms);
    else
        return 1;
    return 0;
}
