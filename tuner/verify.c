/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify: is the product right?
 *
 * The float64 reference costs the CPU more than the kernel costs the GPU, so of a large product it computes some rows. What
 * it leaves out is covered by the first product that passed: all later ones must be that product but for rounding.
 */
#include "verify.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

enum { LINE = 1024 };

/*
 * How far two right products of random operands from [-1, 1] may be apart. Whatever its order, the error of a sum of k such
 * terms stays below u * k, and far below for most elements; four times that leaves room for both products, and is still much
 * less than one term. (The reference's bound, which holds for all operands, grows past the elements themselves for a long k.)
 */
static double tolerance(const tj_problem *known, double alpha)
{
    const double u = known->dtype == TJ_F64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;

    return 4 * u * ((double)known->k.extent + 8) * fabs(alpha) + 8 * u;
}

static double unit_of_p(const tj_problem *known)
{
    return known->p_dtype == TJ_F64   ? DBL_EPSILON
           : known->p_dtype == TJ_F32 ? (double)FLT_EPSILON
           : known->p_dtype == TJ_F16 ? 0x1p-10
                                      : 0x1p-7;
}

/* Every element of one line against the anchor's; the index of the first that is too far, -1: none. */
static int64_t compare_line(const tj_problem *known, const char *p, const char *anchor, int64_t width, double allowed)
{
    const size_t size = tj_dtype_bytes((tj_dtype)known->p_dtype);
    const double relative = 2 * unit_of_p(known);
    double x[LINE], y[LINE];

    for (int64_t start = 0; start < width; start += LINE) {
        const size_t count = (size_t)(width - start < LINE ? width - start : LINE);

        tj_convert(TJ_F64, x, (tj_dtype)known->p_dtype, p + (size_t)start * size, count);
        tj_convert(TJ_F64, y, (tj_dtype)known->p_dtype, anchor + (size_t)start * size, count);
        for (size_t i = 0; i < count; i++)
            if (!(fabs(x[i] - y[i]) <= allowed + relative * fabs(y[i])))
                return start + (int64_t)i;
    }
    return -1;
}

static bool compare(const tj_bench *bench, const void *anchor, char *why, size_t why_bytes)
{
    const tj_problem *known = &bench->known;
    const size_t size = tj_dtype_bytes((tj_dtype)known->p_dtype);
    const bool is_row_major = known->p_layout == TJ_ROW_MAJOR;
    const int64_t lines = is_row_major ? known->j.extent : known->l.extent,
                  width = is_row_major ? known->l.extent : known->j.extent;
    const double allowed = tolerance(known, bench->alpha);

    for (int64_t b = 0; b < known->batch; b++)
        for (int64_t line = 0; line < lines; line++) {
            const size_t offset = (size_t)(b * known->stride_p + line * known->ld_p) * size;
            const int64_t at =
                compare_line(known, (const char *)bench->host_p + offset, (const char *)anchor + offset, width, allowed);

            if (at < 0)
                continue;
            (void)snprintf(why, why_bytes, "P[%lld][%lld] of product %lld is not what the configs before it computed",
                           (long long)(is_row_major ? line : at), (long long)(is_row_major ? at : line), (long long)b);
            return false;
        }
    return true;
}

static tj_status compute(tj_bench *bench, const tj_plan *plan, tj_error *err)
{
    tj_status status = tj_bench_fit(bench, plan, err);

    if (status == TJ_OK)
        status = tj_buffer_fill(bench->p, 0xff, err); /* NaN in every type: an element that is not written cannot pass */
    if (status == TJ_OK && bench->workspace)
        status = tj_buffer_fill(bench->workspace, 0xff, err);
    if (status == TJ_OK)
        status = tj_plan_launch(plan, &bench->set[0], bench->stream, err);
    if (status == TJ_OK)
        status = tj_synchronize(bench->context, bench->stream, err);
    if (status == TJ_OK)
        status = tj_buffer_read(bench->p, 0, bench->host_p, bench->p_bytes, err);
    return status;
}

tj_status tj_verify(tj_bench *bench, const tj_plan *plan, double max_flop, tj_anchor *anchor, tj_trial *trial,
                    tj_check_report *report, tj_error *err)
{
    const tj_host_operands host = {bench->host_m, bench->host_n, bench->host_c, bench->alpha, bench->beta};
    tj_check_report own;
    const bool wants_reference = !anchor->p || max_flop > 0;
    tj_status status = compute(bench, plan, err);

    report = report ? report : &own;
    if (status == TJ_OK && wants_reference)
        status = tj_reference_check(&bench->known, &host, bench->host_p, max_flop, 0, report, err);
    if (status != TJ_OK)
        return status;
    trial->is_verified = 0;
    if (wants_reference && !report->passed) {
        trial->state = TJ_TRIAL_WRONG;
        (void)snprintf(trial->why, sizeof trial->why, "%s", report->reason);
        return TJ_OK;
    }
    if (anchor->p && !compare(bench, anchor->p, trial->why, sizeof trial->why)) {
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
