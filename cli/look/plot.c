/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot: a roofline in letters, for terminals.
 */
#include <math.h>
#include <string.h>

#include "look.h"

enum { PLOT_WIDTH = 72, PLOT_HEIGHT = 16, PLOT_LEFT = 11 };

typedef struct plot {
    double x_low, x_high, y_low, y_high; /* decimal logarithms */
    char cell[PLOT_HEIGHT][PLOT_WIDTH + 1];
} plot;

static void put(plot *p, double x, double y, char mark)
{
    const int column = (int)lround((x - p->x_low) / (p->x_high - p->x_low) * (PLOT_WIDTH - 1));
    const int line = (int)lround((p->y_high - y) / (p->y_high - p->y_low) * (PLOT_HEIGHT - 1));

    if (column >= 0 && column < PLOT_WIDTH && line >= 0 && line < PLOT_HEIGHT)
        p->cell[line][column] = mark;
}

void cli_print_plot(const cli_look *look)
{
    const tj_analysis *a = &look->cases[0].analysis;
    plot p;

    memset(&p, 0, sizeof p);
    p.x_low = -1;
    p.x_high = ceil(log10(a->roof.ridge * 8));
    p.y_high = log10(a->roof.peak) + 0.15;
    p.y_low = p.y_high;
    for (size_t i = 0; i < look->count; i++) {
        const double rate_of = look->cases[i].analysis.predicted.flop_per_s;

        p.y_low = rate_of > 0 ? fmin(p.y_low, log10(rate_of) - 0.3) : p.y_low;
        if (look->cases[i].analysis.roof.intensity > 0)
            p.x_low = fmin(p.x_low, floor(log10(look->cases[i].analysis.roof.intensity)));
    }
    p.y_low = fmin(p.y_low, log10(a->roof.bandwidth) + p.x_low);
    for (int line = 0; line < PLOT_HEIGHT; line++)
        memset(p.cell[line], ' ', PLOT_WIDTH);
    for (int column = 0; column < PLOT_WIDTH; column++) {
        const double x = p.x_low + (p.x_high - p.x_low) * column / (PLOT_WIDTH - 1);
        const tj_roof roof = tj_roofline(&a->peaks, (tj_pipe)a->work.pipe, pow(10, x));

        put(&p, x, log10(roof.attainable), roof.is_memory_bound ? '/' : '-');
    }
    for (size_t i = 0; i < look->count; i++) {
        const cli_case *one = &look->cases[i];

        if (one->analysis.roof.intensity <= 0)
            continue;
        put(&p, log10(one->analysis.roof.intensity), log10(one->analysis.predicted.flop_per_s), (char)('a' + i));
        if (one->is_measured)
            put(&p, log10(one->analysis.roof.intensity), log10(cli_measured_rate(one)), (char)('A' + i));
    }
    cli_print(stdout, "\n");
    for (int line = 0; line < PLOT_HEIGHT; line++) {
        const double rate = pow(10, p.y_high - (p.y_high - p.y_low) * line / (PLOT_HEIGHT - 1));

        cli_print(stdout, "%*s |%s\n", PLOT_LEFT - 2, line % 5 == 0 ? cli_rate(rate, "").text : "", p.cell[line]);
    }
    cli_print(stdout, "%*s +", PLOT_LEFT - 2, "FLOP/s");
    for (int column = 0; column < PLOT_WIDTH; column++)
        putchar('-');
    cli_print(stdout, "\n%*s", PLOT_LEFT, "");
    for (int power = (int)lround(p.x_low); power <= (int)lround(p.x_high); power++) {
        const double x = power;
        const int column = (int)lround((x - p.x_low) / (p.x_high - p.x_low) * (PLOT_WIDTH - 1));
        const int next = (int)lround((x + 1 - p.x_low) / (p.x_high - p.x_low) * (PLOT_WIDTH - 1));

        cli_print(stdout, "%-*g", x + 1 <= p.x_high + 1e-9 ? next - column : 1, pow(10, x));
    }
    cli_print(stdout, " FLOP/B\n");
    for (size_t i = 0; i < look->count; i++)
        cli_print(stdout, "%*s %c%s%c%s %s\n", PLOT_LEFT, "", (char)('a' + i), look->cases[i].is_measured ? " predicted, " : "",
                  look->cases[i].is_measured ? (char)('A' + i) : ' ',
                  look->cases[i].is_measured ? " measured:" : "predicted:", look->cases[i].text);
}
