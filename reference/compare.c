/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <math.h>

#include "canonical.h"

enum { CHUNK = 1024 };

static double allowed_error(const tj_problem *problem, double alpha)
{
    const double u = tj_type_get_facts(tj_sum_type(problem))->unit_roundoff;

    return 4 * u * ((double)problem->k.extent + 8) * fabs(alpha) + 8 * u;
}

int64_t tj_compare_random_products(const tj_problem *problem, double alpha, const void *p, const void *other, int64_t count)
{
    const tj_type dtype = (tj_type)problem->p.type;
    const size_t size = tj_type_bytes(dtype);
    const double allowed = allowed_error(problem, alpha), relative = 4 * tj_type_get_facts(dtype)->unit_roundoff;
    double x[CHUNK], y[CHUNK];

    for (int64_t start = 0; start < count; start += CHUNK) {
        const size_t length = (size_t)(count - start < CHUNK ? count - start : CHUNK);

        tj_convert(TJ_F64, x, dtype, (const char *)p + (size_t)start * size, length);
        tj_convert(TJ_F64, y, dtype, (const char *)other + (size_t)start * size, length);
        for (size_t i = 0; i < length; i++)
            if (!(fabs(x[i] - y[i]) <= allowed + relative * fabs(y[i])))
                return start + (int64_t)i;
    }
    return -1;
}
