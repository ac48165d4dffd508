/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/maps.h"

#include <stdio.h>

#include "steps.h"

bool tj_map_has_products(const tj_problem *view, tj_which which)
{
    return tj_matrix_count(view, which) != 1 && tj_problem_matrix(view, which)->stride != TJ_BROADCAST;
}

static void describe_product(const tj_problem *view, tj_which which, const char *name, const char *barrier,
                             tj_template_params *fill)
{
    char product[TJ_TEMPLATE_VALUE_BYTES];

    (void)snprintf(product, sizeof product, "%s%s%s", !tj_map_has_products(view, which) ? "" : name,
                   !tj_map_has_products(view, which) ? "" : ", ", barrier);
    tj_template_set(fill, which == TJ_MATRIX_M ? "m_product" : "n_product", product);
}

void tj_maps_describe(const tj_problem *view, const tj_launch_step *step, const char *barrier, tj_template_params *fill)
{
    const char *const name = tj_is_grouped(view) ? "group.number" : tj_step_product_name(step);
    const bool m_has = tj_map_has_products(view, TJ_MATRIX_M), n_has = tj_map_has_products(view, TJ_MATRIX_N);

    tj_template_set_flag(fill, "tensor_2d", !m_has || !n_has);
    tj_template_set_flag(fill, "tensor_3d", m_has || n_has);
    describe_product(view, TJ_MATRIX_M, name, barrier, fill);
    describe_product(view, TJ_MATRIX_N, name, barrier, fill);
}

/*
 * List the arguments of tj_step_list_args without the matrices that have a map, their leading dimensions and
 * strides. The map of P comes last, where P itself would be.
 */
void tj_maps_list_args(const tj_problem *view, bool is_swapped, bool reads, bool writes, int32_t p_map, tj_launch_step *step)
{
    const bool gathers = tj_is_gathered(view); /* threads copy rows of M: it has no map */
    tj_problem mapped = *view;
    int32_t count = gathers ? 1 : 2;

    mapped.m.stride = mapped.n.stride = TJ_TIGHT;
    if (!reads)
        mapped.n.ld = TJ_TIGHT;
    if (!reads && !gathers)
        mapped.m.ld = TJ_TIGHT;
    if (p_map >= 0)
        mapped.p.ld = mapped.p.stride = TJ_TIGHT;
    step->arg[0] = (tj_argument){TJ_ARG_TENSOR_MAP, TJ_MAP_M};
    step->arg[count - 1] = (tj_argument){TJ_ARG_TENSOR_MAP, TJ_MAP_N};
    step->arg_count = count;
    tj_step_list_args(&mapped, is_swapped, true, writes, step);
    for (int i = count; i < step->arg_count; i++) {
        const bool is_matrix = step->arg[i].kind == TJ_ARG_POINTER;

        if (!is_matrix || reads || (gathers && step->arg[i].index == TJ_MATRIX_M) ||
            (step->arg[i].index != TJ_MATRIX_M && step->arg[i].index != TJ_MATRIX_N))
            step->arg[count++] = p_map >= 0 && is_matrix && step->arg[i].index == TJ_MATRIX_P
                                     ? (tj_argument){TJ_ARG_TENSOR_MAP, p_map}
                                     : step->arg[i];
    }
    step->arg_count = count;
}
