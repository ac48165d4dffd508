/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_roofline: the roofs of a device, and each config's point under them.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "page.h"

enum { ROOF_WIDTH = CLI_PAGE_WIDTH, ROOF_HEIGHT = 400, LEFT = 124, RIGHT = 20, TOP = 24, BOTTOM = 56 };

/* Logarithmic axes. */
typedef struct frame {
    double x_low, x_high, y_low, y_high;
} frame;

static double at_x(const frame *f, double value)
{
    return LEFT + (log10(value) - f->x_low) / (f->x_high - f->x_low) * (ROOF_WIDTH - LEFT - RIGHT);
}

static double at_y(const frame *f, double value)
{
    return TOP + (f->y_high - log10(value)) / (f->y_high - f->y_low) * (ROOF_HEIGHT - TOP - BOTTOM);
}

static frame frame_of(const cli_look *look)
{
    const tj_roof *roof = &look->cases[0].analysis.roof;
    frame f = {-1, ceil(log10(roof->ridge * 4)), log10(roof->bandwidth) - 1, log10(roof->peak) + 0.3};

    for (size_t i = 0; i < look->count; i++) {
        const cli_case *one = &look->cases[i];

        if (one->analysis.roof.intensity <= 0)
            continue;
        f.x_low = fmin(f.x_low, floor(log10(one->analysis.roof.intensity)));
        f.y_low = fmin(f.y_low, log10(one->analysis.predicted.flop_per_s) - 0.3);
        if (one->is_measured)
            f.y_low = fmin(f.y_low, log10(cli_measured_rate(one)) - 0.3);
    }
    return f;
}

static void put_axes(FILE *out, const frame *f)
{
    for (int power = (int)lround(f->x_low); power <= (int)lround(f->x_high); power++) {
        const double x = pow(10, power);

        fprintf(out,
                "<path class=\"grid\" d=\"M%.1f %d V%d\"/><text class=\"soft\" x=\"%.1f\" y=\"%d\" "
                "text-anchor=\"middle\">%g</text>\n",
                at_x(f, x), TOP, ROOF_HEIGHT - BOTTOM, at_x(f, x), ROOF_HEIGHT - BOTTOM + 20, x);
    }
    for (int power = (int)ceil(f->y_low); power <= (int)floor(f->y_high); power++) {
        const double y = pow(10, power);

        fprintf(
            out,
            "<path class=\"grid\" d=\"M%d %.1f H%d\"/><text class=\"soft\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
            LEFT, at_y(f, y), ROOF_WIDTH - RIGHT, LEFT - 8, at_y(f, y) + 4, cli_rate(y, "FLOP/s").text);
    }
    fprintf(out,
            "<path class=\"axis\" d=\"M%d %d V%d H%d\"/>\n<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">arithmetic intensity, "
            "FLOP per byte of global memory</text>\n",
            LEFT, TOP, ROOF_HEIGHT - BOTTOM, ROOF_WIDTH - RIGHT, (LEFT + ROOF_WIDTH - RIGHT) / 2, ROOF_HEIGHT - 12);
}

static void put_roofs(FILE *out, const frame *f, const tj_roof *roof, bool is_measured)
{
    const double low = pow(10, f->x_low), high = pow(10, f->x_high);
    const double start = fmax(low, pow(10, f->y_low) / roof->bandwidth);
    /* Two thirds up the slope: to the left of it, and above naive's points at 0.25 FLOP/B, which it must not cover. */
    const double named = cbrt(start * roof->ridge * roof->ridge);

    fprintf(out, "<path class=\"roof\" d=\"M%.1f %.1f L%.1f %.1f H%.1f\"/>\n", at_x(f, start), at_y(f, start * roof->bandwidth),
            at_x(f, roof->ridge), at_y(f, roof->peak), at_x(f, high));
    fprintf(out, "<path class=\"grid\" stroke-dasharray=\"4 4\" d=\"M%.1f %.1f V%d\"/>\n", at_x(f, roof->ridge),
            at_y(f, roof->peak), ROOF_HEIGHT - BOTTOM);
    fprintf(out, "<text class=\"soft\" x=\"%.1f\" y=\"%d\">ridge at %.3g</text>\n", at_x(f, roof->ridge) + 6,
            ROOF_HEIGHT - BOTTOM - 8, roof->ridge);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">peak %s</text>\n", at_x(f, high) - 4, at_y(f, roof->peak) - 8,
            cli_rate(roof->peak, "FLOP/s").text);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">memory %s%s</text>\n", at_x(f, named) - 10,
            at_y(f, named * roof->bandwidth) - 6, cli_rate(roof->bandwidth, "B/s").text, is_measured ? ", measured" : "");
}

static void put_points(FILE *out, const frame *f, const cli_look *look)
{
    for (size_t i = 0; i < look->count; i++) {
        const cli_case *one = &look->cases[i];
        const double x = at_x(f, one->analysis.roof.intensity);
        double y;

        if (one->analysis.roof.intensity <= 0 || one->analysis.predicted.flop_per_s <= 0)
            continue;
        y = at_y(f, one->analysis.predicted.flop_per_s);
        fprintf(out, "<g class=\"k%zu\"><circle class=\"edge\" cx=\"%.1f\" cy=\"%.1f\" r=\"6.5\"/>", i, x, y);
        if (one->is_measured)
            fprintf(out, "<circle class=\"fill\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>", x, at_y(f, cli_measured_rate(one)));
        fprintf(out, "<text class=\"mark\" x=\"%.1f\" y=\"%.1f\">%c</text></g>\n", x + 11, y + 5, (char)('A' + i));
    }
}

void cli_page_roofline(FILE *out, const cli_look *look)
{
    const tj_roof *roof = &look->cases[0].analysis.roof;
    const frame f = frame_of(look);

    fputs("<h2>Roofline</h2>\n", out);
    cli_page_open_figure(out, "roofline", ROOF_WIDTH, ROOF_HEIGHT,
                         "Roofline: attainable rate over arithmetic intensity, both logarithmic");
    fputs("<desc id=\"roofline-desc\">", out);
    for (size_t i = 0; i < look->count; i++) {
        fprintf(out, "%c, ", (char)('A' + i));
        cli_page_name(out, &look->cases[i]);
        fprintf(out, ": %.3g FLOP per byte, predicted %s", look->cases[i].analysis.roof.intensity,
                cli_rate(look->cases[i].analysis.predicted.flop_per_s, "FLOP/s").text);
        if (look->cases[i].is_measured)
            fprintf(out, ", measured %s", cli_rate(cli_measured_rate(&look->cases[i]), "FLOP/s").text);
        fputs(". ", out);
    }
    fprintf(out, "The ridge is at %.3g FLOP per byte.</desc>\n", roof->ridge);
    put_axes(out, &f);
    put_roofs(out, &f, roof, look->cases[0].analysis.peaks.is_measured);
    put_points(out, &f, look);
    fputs("</svg>\n<figcaption>Rings: predicted", out);
    fputs(look->cases[0].is_measured ? "; discs: measured. " : ". ", out);
    fputs("The slope counts every access as one to memory, as the textbook does. Caches answer most of them, so a point may "
          "stand above the slope; what holds it down then is named in the table.</figcaption>\n</figure>\n",
          out);
}
