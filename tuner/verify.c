/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify: is the product right?
 *
 * The float64 reference costs the CPU more than the kernel costs the GPU, so it computes only some rows of a large product. The
 * first product that passed covers the others: all later ones must equal that product up to rounding. To copy all of a large
 * one and compare it takes as long as ten trials. So a search looks at lines all over it, and at every element of the winner's.
 */
#include "verify.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "error.h"
#include "operand_table.h"
#include "symmetric.h"

static const double SAMPLED_FLOP = 2e9;
enum { LOOKED_BYTES = 4 << 20, RUNS = 16 /* that these bytes lie in */ };

/* The bytes of a product that are looked at: RUNS runs of equal length at equal distances, the first and the last bytes included. */
typedef struct looked {
    size_t all, run;
} looked;

static looked looked_of(const tj_bench *bench, bool is_whole)
{
    const tj_problem *known = &bench->known;
    const size_t line = (size_t)(known->p.ld > 0 ? known->p.ld : 1) * tj_type_bytes((tj_type)known->p.type);
    looked l = {bench->p_bytes, LOOKED_BYTES / RUNS};

    if (l.run < 2 * line)
        l.run = 2 * line; /* so that each holds a line */
    if (is_whole || RUNS * l.run >= l.all)
        l.run = l.all;
    return l;
}

static size_t run_start(const looked *l, size_t number)
{
    return (l->all - l->run) / (RUNS - 1) * number + (number == RUNS - 1 ? (l->all - l->run) % (RUNS - 1) : 0);
}

/* Are these bytes in one of the runs? */
static bool is_looked_at(const looked *l, size_t offset, size_t bytes)
{
    const size_t step = (l->all - l->run) / (RUNS - 1);
    size_t number = step > 0 ? offset / step : 0;

    if (number > RUNS - 1)
        number = RUNS - 1;
    if (number > 0 && run_start(l, number) > offset)
        number--;
    return run_start(l, number) <= offset && offset + bytes <= run_start(l, number) + l->run;
}

bool tj_verify_is_whole(const tj_bench *bench)
{
    return looked_of(bench, false).run == bench->p_bytes;
}

static bool compare(const tj_bench *bench, const void *anchor, const looked *l, char *why, size_t why_bytes)
{
    const tj_problem *known = &bench->known;
    const size_t size = tj_type_bytes((tj_type)known->p.type);
    const bool is_row_major = known->p.layout == TJ_ROW_MAJOR;
    const tj_operand_row p = tj_operand_row_of(known, TJ_MATRIX_P);
    const tj_extents extents = tj_extents_of(known);
    const int64_t rows = tj_extent_at(p.rows, &extents), width = tj_extent_at(p.width, &extents);

    for (int64_t b = 0; b < known->batch; b++)
        for (int64_t line = 0; line < rows; line++) {
            const tj_row_part part = tj_written_part(known, line, width);
            const size_t offset = (size_t)(b * known->p.stride + line * known->p.ld + part.begin) * size;
            const int64_t length = part.end - part.begin,
                          wrong = is_looked_at(l, offset, (size_t)length * size)
                                      ? tj_compare_random_products(known, bench->alpha, (const char *)bench->host_p + offset,
                                                                   (const char *)anchor + offset,
                                                                   length * tj_type_numbers(known->p.type))
                                      : -1,
                          at = part.begin + wrong;

            if (wrong < 0)
                continue;
            (void)snprintf(why, why_bytes, "P[%lld][%lld] of product %lld is not what the configs before it computed",
                           (long long)(is_row_major ? line : at), (long long)(is_row_major ? at : line), (long long)b);
            return false;
        }
    return true;
}

static tj_status compute(tj_bench *bench, const tj_program *program, const looked *l, tj_error *err)
{
    tj_status status = tj_bench_fit(bench, program, err);

    if (status == TJ_OK)
        status = tj_workbench_reset(bench->operands, err);
    if (status == TJ_OK)
        status = tj_kernel_launch(program->kernel, &bench->set[0], bench->stream, err);
    if (status == TJ_OK)
        status = tj_gpu_wait(bench->gpu, bench->stream, err);
    if (status == TJ_OK && l->run == l->all)
        return tj_workbench_read(bench->operands, 0, bench->host_p, err);
    for (size_t i = 0; i < RUNS && status == TJ_OK; i++)
        status =
            tj_workbench_read_part(bench->operands, 0, run_start(l, i), l->run, (char *)bench->host_p + run_start(l, i), err);
    return status;
}

tj_status tj_verify(tj_bench *bench, const tj_program *program, double max_flop, bool is_whole, tj_anchor *anchor,
                    tj_trial *trial, tj_check_report *report, tj_error *err)
{
    tj_check_report own;
    /*
     * Only the reference knows the effect of an error of the sum on an expression, so it computes some rows of every product.
     */
    const bool has_expression = bench->known.epilogue.expression.nodes > 0;
    const bool wants_reference = !anchor->p || max_flop > 0 || has_expression;
    const looked l = looked_of(bench, is_whole || wants_reference);
    tj_status status = compute(bench, program, &l, err);

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
    if (anchor->p && !has_expression && !compare(bench, anchor->p, &l, trial->why, sizeof trial->why)) {
        trial->state = TJ_TRIAL_WRONG;
        return TJ_OK;
    }
    trial->is_verified = 1;
    if (!anchor->p) { /* not copied: a product may have half a gigabyte */
        anchor->p = bench->host_p;
        bench->host_p = malloc(bench->p_bytes ? bench->p_bytes : 1);
        if (!bench->host_p)
            return tj_fail_memory(err, "a product to compare with");
    }
    return TJ_OK;
}

void tj_anchor_drop(tj_anchor *anchor)
{
    free(anchor->p);
    anchor->p = NULL;
}
