/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"
#include "../program.h"

#include <math.h>
#include <string.h>

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

double report_floor_share(const result *r, const ceilings *most)
{
    const contender ours = report_ours(r);

    return ours == CONTENDERS ? 0 : r->bytes / most->bytes_per_us / r->of[ours].us;
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
    return first == i;
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

void report_head(FILE *out)
{
    fprintf(out, "%-12s %-24s %10s %10s %10s %10s %8s %8s %7s %7s\n", "category", "shape", "zero-shot", "tuned", "cuBLAS",
            "cuBLASLt", "zero/Lt", "tuned/Lt", "TFLOP/s", "floor");
    fprintf(out, "%-12s %-24s %10s %10s %10s %10s %8s %8s %7s %7s\n", "", "", "us", "us", "us", "us", "times", "times", "ours",
            "%");
}

void report_row(FILE *out, const result *r, const ceilings *most)
{
    const contender ours = report_ours(r);
    char us[CONTENDERS][24], zero_shot[24], tuned[24], rate[24], floor_share[24];

    for (int i = 0; i < CONTENDERS; i++)
        (void)number(r->of[i].us, 2, us[i]);
    fprintf(out, "%-12s %-24s %10s %10s %10s %10s %8s %8s %7s %7s\n", r->shape->category, r->shape->name, us[ZERO_SHOT],
            us[TUNED], us[CUBLAS], us[CUBLASLT], number(report_ratio(r, CUBLASLT, ZERO_SHOT), 3, zero_shot),
            number(report_ratio(r, CUBLASLT, TUNED), 3, tuned),
            number(ours < CONTENDERS ? r->flop / r->of[ours].us / 1e6 : 0, 2, rate),
            number(100 * report_floor_share(r, most), 1, floor_share));
    for (int i = 0; i < CONTENDERS; i++)
        if (r->of[i].is_wrong || r->of[i].is_broken)
            fprintf(out, "    %s: %s %s: %s%s%s\n", r->of[i].is_wrong ? "WRONG PRODUCT" : "FAILED", r->shape->name,
                    contender_name[i], r->of[i].why, *r->of[i].how ? "; " : "", r->of[i].how);
        else if (i == TUNED && r->of[i].us <= 0 && *r->of[i].why)
            fprintf(out, "    tuned: %s\n", r->of[i].why);
}

static double median_floor_share(const result *r, size_t n, const char *category, const ceilings *most)
{
    double *share = calloc(n + 1, sizeof *share), middle = 0;
    size_t count = 0;

    for (size_t i = 0; share && i < n; i++)
        if ((!category || strcmp(r[i].shape->category, category) == 0) && report_ours(&r[i]) < CONTENDERS)
            share[count++] = report_floor_share(&r[i], most);
    if (count)
        middle = median(share, count);
    free(share);
    return middle;
}

static void summary_row(FILE *out, const char *name, const result *r, size_t n, const char *category, const ceilings *most)
{
    static const contender pair[][2] = {{CUBLASLT, ZERO_SHOT}, {CUBLASLT, TUNED}, {CUBLAS, TUNED}, {TUNED, ZERO_SHOT}};
    char text[24];

    fprintf(out, "%-12s", name);
    for (size_t i = 0; i < sizeof pair / sizeof pair[0]; i++) {
        size_t count;
        const double mean = report_geomean(r, n, category, pair[i][0], pair[i][1], &count, NULL);

        fprintf(out, " %12s (%2zu)", number(mean, 3, text), count);
    }
    fprintf(out, " %10s\n", number(100 * median_floor_share(r, n, category, most), 1, text));
}

void report_summary(FILE *out, const result *r, size_t n, const ceilings *most)
{
    fprintf(out, "\nGeometric means, times as fast (shapes that have both); median share of the bandwidth floor\n");
    fprintf(out, "%-12s %17s %17s %17s %17s %10s\n", "", "zero-shot/Lt", "tuned/Lt", "tuned/cuBLAS", "zero-shot/tuned",
            "floor %");
    for (size_t i = 0; i < n; i++)
        if (report_is_first(r, i))
            summary_row(out, r[i].shape->category, r, n, r[i].shape->category, most);
    summary_row(out, "all", r, n, NULL, most);
    for (int who = ZERO_SHOT; who <= TUNED; who++) {
        const result *worst;

        (void)report_geomean(r, n, NULL, CUBLASLT, (contender)who, NULL, &worst);
        if (worst)
            fprintf(out, "worst shape, %s: %s, %.3f times cuBLASLt\n", contender_name[who], worst->shape->name,
                    report_ratio(worst, CUBLASLT, (contender)who));
    }
}

/* ---- CSV ------------------------------------------------------------------------------------------------------------- */

static const char *const csv_contender[CONTENDERS] = {"zero_shot", "tuned", "cublas", "cublaslt"};

void report_csv_head(FILE *out)
{
    fprintf(out, "category,shape,j,k,l,batch,dtype,n_dtype,p_dtype,compute,flop,bytes,sets,rounds,floor_us");
    for (int i = 0; i < CONTENDERS; i++)
        fprintf(out, ",%s_us,%s_low_us,%s_high_us,%s_launches,%s_state,%s_checked,%s_bound_ratio,%s_rms_error,%s_how",
                csv_contender[i], csv_contender[i], csv_contender[i], csv_contender[i], csv_contender[i], csv_contender[i],
                csv_contender[i], csv_contender[i], csv_contender[i]);
    fprintf(out, "\n");
}

static void quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
    fputc('"', out);
}

void report_csv_row(FILE *out, const result *r, const ceilings *most)
{
    const tj_problem *p = &r->shape->problem;

    fprintf(out, "%s,%s,%lld,%lld,%lld,%lld,%s,%s,%s,%s,%.0f,%.0f,%zu,%d,%.3f", r->shape->category, r->shape->name,
            (long long)p->j.extent, (long long)p->k.extent, (long long)p->l.extent, (long long)p->batch,
            tj_type_name((tj_type)p->m.type), tj_type_name((tj_type)p->n.type), tj_type_name((tj_type)p->p.type),
            tj_compute_name((tj_compute)p->compute), r->flop, r->bytes, r->sets, r->rounds, r->bytes / most->bytes_per_us);
    for (int i = 0; i < CONTENDERS; i++) {
        const outcome *o = &r->of[i];

        fprintf(out, ",%.3f,%.3f,%.3f,%zu,%s,%lld,%.3g,%.3g,", o->us, o->low_us, o->high_us, o->launches,
                o->is_wrong    ? "wrong"
                : o->is_broken ? "failed"
                : o->us > 0    ? "ok"
                               : "absent",
                (long long)o->check.elements, o->check.max_ratio, o->rms_error);
        quoted(out, o->us > 0 && !o->is_wrong ? o->how : o->why);
    }
    fprintf(out, "\n");
    fflush(out);
}
