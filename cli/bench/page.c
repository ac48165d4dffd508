/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page: one HTML page that fetches nothing: geometric means, the ratio of each shape, the roofline, all times. Light and dark
 * follow the reader's setting; each mark shows its numbers on hover, and the plots have a text for readers who do not see them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char style[] =
    ":root{--ink:#1c2024;--faint:#767d84;--line:#d9dde1;--page:#ffffff;--ours:#0b6e4f;--first:#b25e00;--peer:#4a5fc1}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--faint:#9aa1a8;--line:#343a40;--page:#15181b;--ours:#4fc99a;"
    "--first:#f0a04b;--peer:#96a6ff}}\n"
    "body{margin:2rem auto;max-width:70rem;padding:0 1rem;background:var(--page);color:var(--ink);font:15px/1.5 "
    "system-ui,sans-serif}\n"
    "h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2.5rem}p{max-width:48rem}\n"
    "svg{width:100%;min-width:44rem;height:auto}svg text{fill:var(--ink);font:11px system-ui,sans-serif}svg "
    ".faint{fill:var(--faint)}\n"
    ".grid{stroke:var(--line)}.one{stroke:var(--faint)}.roof{stroke:var(--faint);fill:none;stroke-width:1.5}\n"
    ".tuned{fill:var(--ours)}.first{fill:none;stroke:var(--first);stroke-width:1.6}.peer{fill:none;stroke:var(--peer);stroke-"
    "width:1.6}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{padding:.15rem .7rem;text-align:right;"
    "border-bottom:1px solid var(--line)}th:first-child,td:first-child,td.text{text-align:left}.scroll{overflow-x:auto}\n";

/* ---- text ------------------------------------------------------------------------------------------------------------ */

static void cell(FILE *out, double value, int digits)
{
    if (value > 0)
        fprintf(out, "<td>%.*f</td>", digits, value);
    else
        fputs("<td>&ndash;</td>", out);
}

/* ---- a logarithmic axis ---------------------------------------------------------------------------------------------- */

typedef struct axis {
    double low, high; /* values at the ends */
    double from, to;  /* positions where they are drawn */
} axis;

static double place(const axis *a, double value)
{
    const double inside = fmin(fmax(value, a->low), a->high);

    return a->from + (a->to - a->from) * log(inside / a->low) / log(a->high / a->low);
}

/* ---- the ratio of each shape ----------------------------------------------------------------------------------------- */

enum { ROW = 15, LEFT = 270, RIGHT = 960, TOP = 40, WIDTH = 1000 };

static void ratio_mark(FILE *out, const axis *x, double y, const result *r, contender who)
{
    const double ratio = report_ratio(r, CUBLASLT, who), at = place(x, ratio), one = place(x, 1);

    if (ratio <= 0)
        return;
    if (who == TUNED)
        fprintf(out, "<rect class=\"tuned\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"7\">", fmin(at, one), y - 3.5,
                fmax(fabs(at - one), 1));
    else
        fprintf(out, "<circle class=\"first\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\">", at, y);
    fprintf(out, "<title>%s, %s: %.2f us, cuBLASLt %.2f us, %.3f times</title></%s>\n", r->name, contender_name[who],
            r->of[who].us, r->of[CUBLASLT].us, ratio, who == TUNED ? "rect" : "circle");
}

static void ratio_plot(FILE *out, const result *r, size_t n)
{
    static const double tick[] = {0.25, 0.5, 0.8, 1, 1.25, 2, 4, 8};
    const double height = TOP + ROW * (double)n + 10;
    const axis x = {0.25, 8, LEFT, RIGHT};
    size_t with[CONTENDERS] = {0};
    double mean[CONTENDERS];

    for (int who = ZERO_SHOT; who <= TUNED; who++)
        mean[who] = report_geomean(r, n, NULL, CUBLASLT, (contender)who, &with[who], NULL);
    fprintf(
        out,
        "<h2>Times as fast as cuBLASLt's best</h2>\n<p>Bars: tuned. Rings: zero-shot, nothing measured before. To the right of "
        "1 TileJIT is faster; what lies beyond the axis is drawn at its end.</p>\n");
    fprintf(out,
            "<div class=\"scroll\"><svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"Speed against the best of cuBLASLt "
            "for %zu shapes: "
            "geometric mean "
            "%.2f zero-shot over %zu shapes, %.2f tuned over %zu. The table below has each.\">\n",
            WIDTH, height, n, mean[ZERO_SHOT], with[ZERO_SHOT], mean[TUNED], with[TUNED]);
    for (size_t i = 0; i < sizeof tick / sizeof tick[0]; i++) {
        const double at = place(&x, tick[i]);

        fprintf(out,
                "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%.0f\"/><text x=\"%.1f\" y=\"%d\" "
                "text-anchor=\"middle\">%g</text>\n",
                tick[i] == 1 ? "one" : "grid", at, at, TOP - 8, height - 5, at, TOP - 14, tick[i]);
    }
    for (size_t i = 0; i < n; i++) {
        const double y = TOP + ROW * (double)i + ROW / 2.0;
        const int is_first = i == 0 || strcmp(r[i].shape->category, r[i - 1].shape->category) != 0;

        fprintf(out, "<text class=\"faint\" x=\"0\" y=\"%.1f\">", y + 4);
        cli_html_text(out, is_first ? r[i].shape->category : "");
        fprintf(out, "</text><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 12, y + 4, r[i].name);
        ratio_mark(out, &x, y, &r[i], TUNED);
        ratio_mark(out, &x, y, &r[i], ZERO_SHOT);
    }
    fputs("</svg></div>\n", out);
}

/* ---- the roofline ---------------------------------------------------------------------------------------------------- */

static void roof_mark(FILE *out, const axis *x, const axis *y, const result *r, contender who, const char *class)
{
    const double rate = r->flop / r->of[who].us / 1e6;

    fprintf(
        out,
        "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>%s, %s: %.2f TFLOP/s at %.1f FLOP/byte</title></circle>\n",
        class, place(x, r->flop / r->bytes), place(y, rate), r->name, contender_name[who], rate, r->flop / r->bytes);
}

static void roofline(FILE *out, const result *r, size_t n, const tj_peaks *most)
{
    const double bytes_per_us = most->per_s[TJ_PIPE_MEMORY] / 1e6, peak = most->per_s[TJ_PIPE_F32] / 1e12,
                 ridge = most->per_s[TJ_PIPE_F32] / most->per_s[TJ_PIPE_MEMORY];
    const axis x = {0.25, 4096, 60, 960}, y = {0.01, fmax(100, 2 * peak), 460, 20};

    fprintf(out,
            "<h2>Roofline</h2>\n<p>Dots: TileJIT's faster contender. Rings: cuBLASLt's best. Bytes count M, N and P once; the "
            "slope is %.0f "
            "GB/s, the flat part the device's %.1f TFLOP/s of f32 on CUDA cores. Other types may pass it.</p>\n",
            bytes_per_us / 1e3, peak);
    fprintf(out,
            "<div class=\"scroll\"><svg viewBox=\"0 0 %d 510\" role=\"img\" aria-label=\"Roofline: rate of each shape over its "
            "arithmetic intensity, "
            "under a "
            "slope of %.0f GB/s and a roof of %.1f TFLOP/s\">\n",
            WIDTH, bytes_per_us / 1e3, peak);
    for (int power = -2; power <= 12; power += 2) {
        const double v = ldexp(1, power);

        fprintf(out,
                "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"20\" y2=\"460\"/><text x=\"%.1f\" y=\"476\" "
                "text-anchor=\"middle\">%g</text>\n",
                place(&x, v), place(&x, v), place(&x, v), v);
    }
    for (int power = -2; pow(10, power) <= y.high; power++) {
        const double v = pow(10, power);

        fprintf(out,
                "<line class=\"grid\" x1=\"60\" x2=\"960\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"54\" y=\"%.1f\" "
                "text-anchor=\"end\">%g</text>\n",
                place(&y, v), place(&y, v), place(&y, v) + 4, v);
    }
    fputs("<text class=\"faint\" x=\"510\" y=\"500\" text-anchor=\"middle\">FLOP per byte</text><text class=\"faint\" x=\"60\" "
          "y=\"12\">"
          "TFLOP/s</text>\n",
          out);
    fprintf(out, "<polyline class=\"roof\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"/>\n", place(&x, x.low),
            place(&y, x.low * bytes_per_us / 1e6), place(&x, ridge), place(&y, peak), place(&x, x.high), place(&y, peak));
    for (size_t i = 0; i < n; i++) {
        if (r[i].of[CUBLASLT].us > 0)
            roof_mark(out, &x, &y, &r[i], CUBLASLT, "peer");
        if (report_ours(&r[i]) < CONTENDERS)
            roof_mark(out, &x, &y, &r[i], report_ours(&r[i]), "tuned");
    }
    fputs("</svg></div>\n", out);
}

/* ---- tables ---------------------------------------------------------------------------------------------------------- */

static void mean_row(FILE *out, const char *name, const result *r, size_t n, const char *category)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += !category || strcmp(r[i].shape->category, category) == 0;
    fputs("<tr><td>", out);
    cli_html_text(out, name);
    fprintf(out, "</td><td>%zu</td>", count);
    cell(out, report_geomean(r, n, category, CUBLASLT, ZERO_SHOT, NULL, NULL), 3);
    cell(out, report_geomean(r, n, category, CUBLASLT, TUNED, NULL, NULL), 3);
    cell(out, report_geomean(r, n, category, TUNED, ZERO_SHOT, NULL, NULL), 3);
    fputs("</tr>\n", out);
}

static void means(FILE *out, const result *r, size_t n)
{
    fputs("<h2>Geometric means</h2>\n<div class=\"scroll\"><table><tr><th>category</th><th>shapes</th><th>zero-shot, times "
          "cuBLASLt</th><th>tuned, "
          "times "
          "cuBLASLt</th><th>zero-shot, times tuned</th></tr>\n",
          out);
    for (size_t i = 0; i < n; i++)
        if (report_is_first(r, i))
            mean_row(out, r[i].shape->category, r, n, r[i].shape->category);
    mean_row(out, "all", r, n, NULL);
    fputs("</table></div>\n", out);
}

static void times(FILE *out, const result *r, size_t n)
{
    fputs("<h2>All times</h2>\n<div class=\"scroll\"><table><tr><th>shape</th><th>zero-shot, us</th><th>tuned, "
          "us</th><th>cuBLAS, us</th>"
          "<th>cuBLASLt, us</th><th>TFLOP/s</th><th>bandwidth floor, %</th><th>how</th></tr>\n",
          out);
    for (size_t i = 0; i < n; i++) {
        const contender ours = report_ours(&r[i]);

        fprintf(out, "<tr><td>%s</td>", r[i].name);
        for (int who = 0; who < CONTENDERS; who++)
            cell(out, r[i].of[who].us, 2);
        cell(out, ours < CONTENDERS ? r[i].flop / r[i].of[ours].us / 1e6 : 0, 2);
        cell(out, 100 * report_floor_share(&r[i]), 1);
        fputs("<td class=\"text\">", out);
        for (int who = 0; who < CONTENDERS; who++)
            if (r[i].of[who].is_wrong || r[i].of[who].is_broken) {
                fprintf(out, "<strong>%s %s: ", contender_name[who], r[i].of[who].is_wrong ? "WRONG" : "FAILED");
                cli_html_text(out, r[i].of[who].why);
                fputs("</strong> ", out);
            }
        if (ours < CONTENDERS)
            cli_html_text(out, r[i].of[ours].how);
        fputs("</td></tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

void report_html(FILE *out, const char *title, const tj_peaks *most, const result *r, size_t n)
{
    bool has_peers = false, has_times = false;

    for (size_t i = 0; i < n; i++) {
        has_peers |= r[i].of[CUBLASLT].us > 0;
        has_times |= report_ours(&r[i]) < CONTENDERS;
    }
    fprintf(out,
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
            "content=\"width=device-width\">"
            "<meta name=\"color-scheme\" content=\"light dark\"><title>TileJIT, "
            "shape by shape</title>\n<style>%s</style></head><body>\n"
            "<h1>TileJIT, shape by shape</h1>\n<p>",
            style);
    cli_html_text(out, title);
    fputs("</p>\n", out);
    if (has_peers) {
        means(out, r, n);
        ratio_plot(out, r, n);
    }
    if (has_times && most->per_s[TJ_PIPE_MEMORY] > 0)
        roofline(out, r, n, most);
    times(out, r, n);
    fputs("</body></html>\n", out);
}
