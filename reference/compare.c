/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <math.h>

#include "canonical.h"
#include "number.h"
#include "operands.h"

enum { CHUNK = 1024 };

/*
 * For TJ_COMPUTE_F32_FP8, which truncates each product of a sum of up to 128 at 2^-13 of the largest. With an eighth of this
 * value, one in 16 000 elements exceeds the bound at k = 4096.
 */
static const double FP8_ROUNDOFF = 0x1p-13;

/* Without the rounding to P's type. */
double tj_allowed_error(const tj_problem *problem, double alpha)
{
    const tj_compute_facts *compute = tj_compute_facts_of(problem->compute);
    const double k = (double)problem->k.extent * tj_type_parts(problem->m.type), a = fabs(alpha),
                 u = tj_facts_of(compute->sum)->unit_roundoff;
    const double roundoff = problem->compute == TJ_COMPUTE_F32_FP8 ? FP8_ROUNDOFF : compute->input_roundoff;

    if (tj_scalar_type(problem) == TJ_S32)
        return 0;
    if (compute->sum ==
        TJ_S32) { /* exact up to the epilogue, which is in f32; its last rounding may yield either of two neighbouring integers */
        const bool is_integer = tj_facts_of(problem->p.type)->is_integer;

        return 0x1p-20 * (k * tj_largest_product(problem) * a + (is_integer ? 65536 : 1)) + is_integer;
    }
    return (4 * u * (k + 8) + 16 * roundoff * sqrt(k)) * tj_largest_product(problem) * a + 8 * u;
}

int64_t tj_compare_random_products(const tj_problem *problem, double alpha, const void *p, const void *other, int64_t count)
{
    const tj_type dtype = tj_part_type(problem->p.type);
    const size_t size = tj_type_bytes(dtype);
    const int64_t numbers = tj_type_numbers((int32_t)dtype), /* of an element */
        parts = tj_type_parts(problem->p.type);
    /* A value of a quantised P lies between two neighbours, which may be 0 and the least one. */
    const double step = !tj_is_scaled(problem, TJ_MATRIX_P)       ? 0
                        : tj_facts_of((int32_t)dtype)->is_integer ? 1
                                                                  : (double)tj_number_limits_of(dtype)->smallest_subnormal;
    const double allowed = tj_allowed_error(problem, alpha) + step, relative = 4 * tj_type_get_facts(dtype)->unit_roundoff;
    double x[CHUNK], y[CHUNK];

    for (int64_t start = 0; start < count * parts; start += CHUNK) {
        const size_t length = (size_t)(count * parts - start < CHUNK ? count * parts - start : CHUNK);

        tj_convert(TJ_F64, x, dtype, (const char *)p + (size_t)(start / numbers) * size, length);
        tj_convert(TJ_F64, y, dtype, (const char *)other + (size_t)(start / numbers) * size, length);
        for (size_t i = 0; i < length; i++)
            if (x[i] != y[i] && !(fabs(x[i] - y[i]) <= allowed + relative * fabs(y[i])))
                return (start + (int64_t)i) / parts;
    }
    return -1;
}
