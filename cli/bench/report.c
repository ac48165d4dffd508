/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report: print results as a table, as CSV, and as a JSON object.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* ---- numbers --------------------------------------------------------------------------------------------------------- */

/* A wrong product has no time. */
static double time_of(const result *r, contender who)
{
    return r->of[who].is_wrong ? 0 : r->of[who].us;
}

double report_ratio(const result *r, contender a, contender b)
{
    return time_of(r, a) > 0 && time_of(r, b) > 0 ? r->of[a].us / r->of[b].us : 0;
}

contender report_ours(const result *r)
{
    const double zero_shot = time_of(r, ZERO_SHOT), tuned = time_of(r, TUNED);

    if (zero_shot <= 0 && tuned <= 0)
        return CONTENDERS;
    return tuned > 0 && (zero_shot <= 0 || tuned <= zero_shot) ? TUNED : ZERO_SHOT;
}

double report_floor_share(const result *r)
{
    const contender ours = report_ours(r);

    return ours == CONTENDERS ? 0 : r->floor_us / r->of[ours].us;
}

double report_geomean(const result *r, size_t n, const char *category, contender a, contender b, size_t *count,
                      const result **least)
{
    const result *worst = NULL;
    double sum = 0;
    size_t with = 0;

    for (size_t i = 0; i < n; i++) {
        const double ratio = report_ratio(&r[i], a, b);

        if (ratio <= 0 || (category && strcmp(r[i].shape->category, category) != 0))
            continue;
        sum += log(ratio);
        with++;
        if (!worst || ratio < report_ratio(worst, a, b))
            worst = &r[i];
    }
    if (count)
        *count = with;
    if (least)
        *least = worst;
    return with ? exp(sum / (double)with) : 0;
}

bool report_is_first(const result *r, size_t i)
{
    size_t first = 0;

    while (strcmp(r[first].shape->category, r[i].shape->category) != 0)
        first++;
    return r[i].shape->category[0] != '\0' && first == i;
}

/* ---- table ----------------------------------------------------------------------------------------------------------- */

static const char *number(double value, int digits, char text[24])
{
    if (value > 0)
        (void)snprintf(text, 24, "%.*f", digits, value);
    else
        strcpy(text, "-");
    return text;
}

void report_head(void)
{
    cli_print(stdout, "%-12s %-24s %10s %10s %10s %10s %8s %8s %7s %7s\n", "category", "shape", "zero-shot", "tuned", "cuBLAS",
              "cuBLASLt", "zero/Lt", "tuned/Lt", "TFLOP/s", "floor");
    cli_print(stdout, "%-12s %-24s %10s %10s %10s %10s %8s %8s %7s %7s\n", "", "", "us", "us", "us", "us", "times", "times",
              "ours", "%");
}

void report_row(const result *r)
{
    const contender ours = report_ours(r);
    char us[CONTENDERS][24], zero_shot[24], tuned[24], rate[24], floor_share[24];

    for (int i = 0; i < CONTENDERS; i++)
        (void)number(r->of[i].us, 2, us[i]);
    cli_print(stdout, "%-12s %-24s %10s %10s %10s %10s %8s %8s %7s %7s\n", r->shape->category, r->name, us[ZERO_SHOT],
              us[TUNED], us[CUBLAS], us[CUBLASLT], number(report_ratio(r, CUBLASLT, ZERO_SHOT), 3, zero_shot),
              number(report_ratio(r, CUBLASLT, TUNED), 3, tuned),
              number(ours < CONTENDERS ? r->flop / r->of[ours].us / 1e6 : 0, 2, rate),
              number(100 * report_floor_share(r), 1, floor_share));
    for (int i = 0; i < CONTENDERS; i++)
        if (r->of[i].is_wrong || r->of[i].is_broken)
            cli_print(stdout, "    %s: %s %s: %s%s%s\n", r->of[i].is_wrong ? "WRONG PRODUCT" : "FAILED", r->name,
                      contender_name[i], r->of[i].why, *r->of[i].how ? "; " : "", r->of[i].how);
        else if (i == TUNED && r->has_config && !r->of[i].has_run)
            cli_print(stdout, "    tuned: %s\n", r->of[i].why);
}

static double median_floor_share(const result *r, size_t n, const char *category)
{
    double *share = calloc(n + 1, sizeof *share), middle = 0;
    size_t count = 0;

    for (size_t i = 0; share && i < n; i++)
        if ((!category || strcmp(r[i].shape->category, category) == 0) && report_ours(&r[i]) < CONTENDERS)
            share[count++] = report_floor_share(&r[i]);
    if (count)
        middle = bench_median(share, count);
    free(share);
    return middle;
}

static void summary_row(const char *name, const result *r, size_t n, const char *category)
{
    static const contender pair[][2] = {{CUBLASLT, ZERO_SHOT}, {CUBLASLT, TUNED}, {CUBLAS, TUNED}, {TUNED, ZERO_SHOT}};
    char text[24];

    cli_print(stdout, "%-12s", name);
    for (size_t i = 0; i < sizeof pair / sizeof pair[0]; i++) {
        size_t count;
        const double mean = report_geomean(r, n, category, pair[i][0], pair[i][1], &count, NULL);

        cli_print(stdout, " %12s (%2zu)", number(mean, 3, text), count);
    }
    cli_print(stdout, " %10s\n", number(100 * median_floor_share(r, n, category), 1, text));
}

void report_summary(const result *r, size_t n)
{
    size_t untuned = 0;

    cli_print(stdout, "\nGeometric means, times as fast (shapes that have both); median share of the bandwidth floor\n");
    cli_print(stdout, "%-12s %17s %17s %17s %17s %10s\n", "", "zero-shot/Lt", "tuned/Lt", "tuned/cuBLAS", "zero-shot/tuned",
              "floor %");
    for (size_t i = 0; i < n; i++)
        if (report_is_first(r, i))
            summary_row(r[i].shape->category, r, n, r[i].shape->category);
    summary_row("all", r, n, NULL);
    for (int who = ZERO_SHOT; who <= TUNED; who++) {
        const result *worst;

        (void)report_geomean(r, n, NULL, CUBLASLT, (contender)who, NULL, &worst);
        if (worst)
            cli_print(stdout, "worst shape, %s: %s, %.3f times cuBLASLt\n", contender_name[who], worst->name,
                      report_ratio(worst, CUBLASLT, (contender)who));
    }
    for (size_t i = 0; i < n; i++)
        untuned += !r[i].has_config;
    if (untuned > 0)
        cli_print(stdout, "not tuned: %zu of %zu shapes; tilejit tune finds their fastest config\n", untuned, n);
}

/* ---- CSV ------------------------------------------------------------------------------------------------------------- */

static const char *const csv_contender[CONTENDERS] = {"zero_shot", "tuned", "cublas", "cublaslt"};

void report_csv_head(FILE *file)
{
    fprintf(file, "category,shape,j,k,l,batch,dtype,n_dtype,p_dtype,compute,flop,bytes,sets,rounds,floor_us");
    for (int i = 0; i < CONTENDERS; i++)
        fprintf(file, ",%s_us,%s_low_us,%s_high_us,%s_launches,%s_state,%s_checked,%s_bound_ratio,%s_rms_error,%s_how",
                csv_contender[i], csv_contender[i], csv_contender[i], csv_contender[i], csv_contender[i], csv_contender[i],
                csv_contender[i], csv_contender[i], csv_contender[i]);
    fprintf(file, "\n");
}

static void quoted(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text == '\n' ? ' ' : *text, file);
    }
    fputc('"', file);
}

/* Empty: no time. */
static void time_cell(FILE *file, double us)
{
    fputc(',', file);
    if (us > 0)
        fprintf(file, "%.3f", us);
}

static const char *state_of(const outcome *o)
{
    return o->is_wrong ? "wrong" : o->is_broken ? "failed" : o->has_run ? "ok" : "absent";
}

void report_csv_row(FILE *file, const result *r)
{
    const tj_problem p = tj_problem_canonical(&r->shape->problem);

    quoted(file, r->shape->category);
    fprintf(file, ",%s,%lld,%lld,%lld,%lld,%s,%s,%s,%s,%.0f,%.0f,%zu,%d", r->name, (long long)p.j.extent, (long long)p.k.extent,
            (long long)p.l.extent, (long long)p.batch, tj_type_name((tj_type)p.m.type), tj_type_name((tj_type)p.n.type),
            tj_type_name((tj_type)p.p.type), tj_compute_name((tj_compute)p.compute), r->flop, r->bytes, r->sets, r->rounds);
    time_cell(file, r->floor_us);
    for (int i = 0; i < CONTENDERS; i++) {
        const outcome *o = &r->of[i];

        time_cell(file, o->us);
        time_cell(file, o->low_us);
        time_cell(file, o->high_us);
        fprintf(file, ",%zu,%s,%lld,%.3g,%.3g,", o->launches, state_of(o), (long long)o->check.elements, o->check.max_ratio,
                o->rms_error);
        quoted(file, o->has_run && !o->is_wrong ? o->how : o->why);
    }
    fprintf(file, "\n");
    fflush(file);
}

/* ---- an object ------------------------------------------------------------------------------------------------------- */

static void set_time(tj_json *object, const char *name, double us)
{
    cli_set_real(object, name, us > 0 ? us : NAN);
}

void report_json(tj_json *object, const result *r)
{
    cli_set_text(object, "shape", r->name);
    cli_set_text(object, "category", r->shape->category);
    cli_set_problem(object, &r->shape->problem);
    cli_set_real(object, "flop", r->flop);
    cli_set_real(object, "bytes", r->bytes);
    set_time(object, "floor_us", r->floor_us);
    cli_set_int(object, "sets", (int64_t)r->sets);
    cli_set_int(object, "rounds", r->rounds);
    for (int i = 0; i < CONTENDERS; i++) {
        const outcome *o = &r->of[i];
        tj_json *one = cli_add_object(object, csv_contender[i]);

        cli_set_text(one, "state", state_of(o));
        cli_set_text(one, o->has_run && !o->is_wrong ? "how" : "why", o->has_run && !o->is_wrong ? o->how : o->why);
        set_time(one, "us", o->us);
        set_time(one, "low_us", o->low_us);
        set_time(one, "high_us", o->high_us);
        cli_set_int(one, "checked", o->check.elements);
        cli_set_real(one, "bound_ratio", o->check.max_ratio);
        cli_set_real(one, "rms_error", o->rms_error);
    }
}
