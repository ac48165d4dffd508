/* SPDX-License-Identifier: Apache-2.0 */
#include "quantize.h"

#include <stdio.h>

#include "scale.h"
#include "scales.h"
#include "steps.h"
#include "traffic.h"
#include "tree.h"

enum { TEAM = 32, TEAMS = 8, F32_BYTES = 4, LINE_BYTES = 160 };

bool tj_quantize_fits(const tj_problem *problem, int32_t cols, int32_t splits)
{
    const int32_t sums = tj_scale_of(problem, TJ_MATRIX_P)->k * tj_sums_per_column(problem);

    return sums > 0 && cols > 0 && cols % sums == 0 && splits <= 1 && tj_sum_type(problem) == TJ_F32 &&
           !tj_epilogue_reduces(&problem->epilogue) &&
           !(tj_type_is_pair(problem->p.type) && tj_epilogue_pairs(&problem->epilogue));
}

/* ---- source ------------------------------------------------------------------------------------------------------- */

/* The largest number of P's type is `largest`, a power of two times a fraction of 23 bits. */
void tj_quantize_describe_scale(const tj_problem *problem, tj_template_params *fill)
{
    static const struct {
        tj_type type;
        const char *largest, *exponent, *to_next; /* to_next: added to a larger fraction, it carries into the exponent */
    } limit[] = {{TJ_E4M3, "448", "8", "0x1fffffu"},
                 {TJ_E5M2, "57344", "15", "0x1fffffu"},
                 {TJ_S8, "127", "6", "0x1ffffu"},
                 {TJ_E2M1, "6", "2", "0x3fffffu"}};
    const tj_scale *const scale = tj_scale_of(problem, TJ_MATRIX_P);
    const bool is_power = scale->type == TJ_E8M0;
    char place[TJ_TEMPLATE_VALUE_BYTES];

    for (size_t i = 0; i < sizeof limit / sizeof limit[0]; i++)
        if (limit[i].type == (tj_type)problem->p.type) {
            tj_template_set(fill, "largest_of_type", limit[i].largest);
            tj_template_set(fill, "exponent_of_type", limit[i].exponent);
            tj_template_set(fill, "to_next_power", limit[i].to_next);
        }
    tj_template_set(fill, "scale_function", is_power ? "parts/scale_e8m0.cuh" : "parts/scale_f32.cuh");
    tj_template_set(fill, "scale_value", is_power ? "static_cast<unsigned char>(__float_as_uint(scale) >> 23)" : "scale");
    tj_scales_print_read(problem, TJ_MATRIX_P, "part", "Row", place);
    tj_template_set(fill, "scale_place", place);
    tj_template_set_int(fill, "SCALE_COLS", scale->k > 0 ? scale->k : tj_problem_p_cols(problem));
}

/* Print the pointers of a batch's product. w_stride: elements from one P in the workspace to the next. */
static void print_product(const tj_problem *problem, int64_t w_stride, tj_template_params *fill)
{
    tj_text out = TJ_TEXT_INIT(4 * LINE_BYTES);

    if (problem->batch != 1) {
        tj_text_print(&out, "W += blockIdx.z * %lldLL;\nscale_p += blockIdx.z * stride_scale_p;\n", (long long)w_stride);
        if (problem->p.stride == TJ_ANY)
            tj_text_print(&out, "P += blockIdx.z * stride_quantized;\n");
        else if (problem->p.stride == TJ_TIGHT) /* of a leading dimension that the launch brings */
            tj_text_print(&out, "P += blockIdx.z * ld_quantized * P_ROWS;\n");
        else
            tj_text_print(&out, "P += blockIdx.z * %lldLL;\n", (long long)problem->p.stride);
    }
    tj_template_take_lines(fill, "quantize_of_product", &out);
}

static void describe_source(const tj_problem *problem, tj_template_params *fill)
{
    const tj_problem stored = tj_problem_unfinished(problem);
    const bool whole_rows = tj_scale_of(problem, TJ_MATRIX_P)->k == 0;
    char ld[TJ_TEMPLATE_VALUE_BYTES] = "ld_quantized";

    print_product(problem, stored.p.stride > 0 ? stored.p.stride : stored.p.ld * stored.j.extent, fill);
    tj_template_set(fill, "quantized_t", tj_facts_of(problem->p.type)->cuda);
    tj_template_set_int(fill, "P_ROWS", problem->j.extent);
    tj_template_set_int(fill, "P_COLS", tj_problem_p_cols(problem));
    tj_template_set_int(fill, "LD_W", stored.p.ld);
    tj_template_set_int(fill, "SCALE_TEAM", whole_rows ? TEAM * TEAMS : TEAM);
    tj_template_set_int(fill, "SCALE_TEAMS", whole_rows ? 1 : TEAMS);
    tj_template_set(fill, "quantize_cols",
                    tj_type_is_pair(problem->p.type) ? "parts/quantize_pairs.cuh" : "parts/quantize_cols.cuh");
    tj_template_set(fill, "largest_of_row", whole_rows ? "parts/quantize_row.cuh" : "");
    tj_template_set(fill, "rows_of_groups",
                    tj_is_masked(problem)    ? "parts/quantize_masked.cuh"
                    : tj_is_grouped(problem) ? "parts/quantize_groups.cuh"
                                             : "");
    if (problem->p.ld != TJ_ANY)
        (void)snprintf(ld, sizeof ld, "%lldLL", (long long)problem->p.ld);
    tj_template_set(fill, "quantized_ld", ld);
}

/* The grid counts rows of the caller's P on x, in each row blocks of some neighbours on y. */
static void describe_grid(const tj_problem *problem, const tj_launch_form *form, tj_launch_step *step)
{
    const int32_t scale_k = tj_scale_of(problem, TJ_MATRIX_P)->k;
    const int64_t all = problem->l.extent, some = scale_k > 0 ? (int64_t)TEAMS * scale_k * tj_sums_per_column(problem) : all;
    const int32_t cols = (int32_t)(some < all ? some : all);

    step->grid = TJ_GRID_TILES;
    step->rows_on_x = !form->is_swapped; /* the source's rows are the caller's columns otherwise */
    tj_step_set_blocks(step, TEAM * TEAMS, form->is_swapped ? cols : 1, form->is_swapped ? 1 : cols);
    step->static_shared_bytes = scale_k > 0 ? 0 : TEAMS * F32_BYTES;
    step->overlaps = 1;
}

void tj_quantize_describe(const tj_problem *problem, const tj_problem *view, tj_template_params *fill, tj_launch_form *form)
{
    tj_launch_step *const step = tj_step_add(view, "quantize", false, fill, form);

    describe_grid(problem, form, step);
    if (fill)
        describe_source(problem, fill);
}

/* ---- counts ------------------------------------------------------------------------------------------------------- */

void tj_quantize_count(const tj_problem *problem, bool is_after, tj_counts *counts)
{
    const tj_scale *const scale = tj_scale_of(problem, TJ_MATRIX_P);
    const int64_t cols = tj_problem_p_cols(problem), rows = problem->j.extent * problem->batch, elements = rows * cols;
    const int64_t p_bytes = tj_facts_of(problem->p.type)->bytes, numbers = tj_type_numbers(problem->p.type);

    tj_traffic_add_in_order(rows * tj_ceil_div(cols, scale->k > 0 ? scale->k : cols),
                            (int64_t)tj_type_bytes((tj_type)scale->type), &counts->store_p);
    if (!is_after)
        return;
    tj_traffic_add_in_order(elements, F32_BYTES, &counts->load_w);
    tj_traffic_add_in_order(elements / numbers, p_bytes, &counts->store_p);
    counts->after_bytes = elements * F32_BYTES + elements / numbers * p_bytes;
}
