/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify: is the product right?
 *
 * The float64 reference costs the CPU more than the kernel costs the GPU, so it computes only some rows of a large product. The
 * first product that passed covers the others: all later ones must equal that product up to rounding.
 */
#include "verify.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "error.h"
#include "operand_table.h"

static const double SAMPLED_FLOP = 2e9;

static bool compare(const tj_bench *bench, const void *anchor, char *why, size_t why_bytes)
{
    const tj_problem *known = &bench->known;
    const size_t size = tj_type_bytes((tj_type)known->p.type);
    const bool is_row_major = known->p.layout == TJ_ROW_MAJOR;
    const tj_operand_row p = tj_operand_row_of(known, TJ_MATRIX_P);
    const tj_extents extents = tj_extents_of(known);
    const int64_t rows = tj_extent_at(p.rows, &extents), width = tj_extent_at(p.width, &extents);

    for (int64_t b = 0; b < known->batch; b++)
        for (int64_t line = 0; line < rows; line++) {
            const size_t offset = (size_t)(b * known->p.stride + line * known->p.ld) * size;
            const int64_t at = tj_compare_random_products(known, bench->alpha, (const char *)bench->host_p + offset,
                                                          (const char *)anchor + offset, width);

            if (at < 0)
                continue;
            (void)snprintf(why, why_bytes, "P[%lld][%lld] of product %lld is not what the configs before it computed",
                           (long long)(is_row_major ? line : at), (long long)(is_row_major ? at : line), (long long)b);
            return false;
        }
    return true;
}

static tj_status compute(tj_bench *bench, const tj_program *program, tj_error *err)
{
    tj_status status = tj_bench_fit(bench, program, err);

    if (status == TJ_OK)
        status = tj_workbench_reset(bench->operands, err);
    if (status == TJ_OK)
        status = tj_kernel_launch(program->kernel, &bench->set[0], bench->stream, err);
    if (status == TJ_OK)
        status = tj_gpu_wait(bench->gpu, bench->stream, err);
    if (status == TJ_OK)
        status = tj_workbench_read(bench->operands, 0, bench->host_p, err);
    return status;
}

tj_status tj_verify(tj_bench *bench, const tj_program *program, double max_flop, tj_anchor *anchor, tj_trial *trial,
                    tj_check_report *report, tj_error *err)
{
    tj_check_report own;
    /*
     * Only the reference knows the effect of an error of the sum on an expression, so it computes some rows of every product.
     */
    const bool has_expression = bench->known.epilogue.expression.nodes > 0;
    const bool wants_reference = !anchor->p || max_flop > 0 || has_expression;
    tj_status status = compute(bench, program, err);

    report = report ? report : &own;
    max_flop = has_expression && anchor->p && max_flop <= 0 ? SAMPLED_FLOP : max_flop;
    if (status == TJ_OK && wants_reference) {
        *report = (tj_check_report)TJ_CHECK_REPORT_INIT;
        status = tj_workbench_check(bench->operands, bench->host_p, max_flop, 0, report, err);
    }
    if (status != TJ_OK)
        return status;
    trial->is_verified = 0;
    if (wants_reference && !report->passed) {
        trial->state = TJ_TRIAL_WRONG;
        (void)snprintf(trial->why, sizeof trial->why, "%s", report->reason);
        return TJ_OK;
    }
    if (anchor->p && !has_expression && !compare(bench, anchor->p, trial->why, sizeof trial->why)) {
        trial->state = TJ_TRIAL_WRONG;
        return TJ_OK;
    }
    trial->is_verified = 1;
    if (!anchor->p) {
        anchor->p = malloc(bench->p_bytes ? bench->p_bytes : 1);
        if (!anchor->p)
            return tj_fail_memory(err, "a product to compare with");
        memcpy(anchor->p, bench->host_p, bench->p_bytes);
    }
    return TJ_OK;
}

void tj_anchor_drop(tj_anchor *anchor)
{
    free(anchor->p);
    anchor->p = NULL;
}
