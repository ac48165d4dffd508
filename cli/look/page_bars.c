/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_bars: occupancy by resource, and predicted time term by term, as bars.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "page.h"

enum { BAR_WIDTH = CLI_PAGE_WIDTH, BAR_LEFT = 190, BAR_SPAN = 330, BAR_LINE = 22 };

/* Write a config's heading above its bars; the caller writes the rest after its name, up to </text>. */
static void put_group(FILE *out, const cli_look *look, size_t i, int top)
{
    fprintf(out, "<g class=\"k%zu\"><text x=\"4\" y=\"%d\"><tspan class=\"mark\">%c</tspan> ", i, top - 6, (char)('A' + i));
    cli_page_name(out, &look->cases[i]);
}

/* share: of the full width; at least that many units are drawn. */
static void put_bar(FILE *out, int y, const char *name, bool stands_out, double share, double least, const char *label)
{
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\"%s>%s</text>", BAR_LEFT - 10, y + 14,
            stands_out ? " font-weight=\"700\"" : " class=\"soft\"", name);
    fprintf(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", stands_out ? "fill" : "pale", BAR_LEFT,
            y + 2, fmax(least, share * BAR_SPAN), BAR_LINE - 6);
    fprintf(out, "<text class=\"soft\" x=\"%.1f\" y=\"%d\">%s</text>\n", BAR_LEFT + share * BAR_SPAN + 6, y + 14, label);
}

void cli_page_occupancy(FILE *out, const cli_look *look)
{
    const int group = 4 * BAR_LINE + 34, height = (int)look->count * group + 10;

    fputs("<h2>Occupancy</h2>\n", out);
    cli_page_open_figure(out, "occupancy", BAR_WIDTH, height,
                         "Occupancy: blocks that each resource of a multiprocessor lets in");
    fputs("<desc id=\"occupancy-desc\">", out);
    for (size_t i = 0; i < look->count; i++) {
        const tj_occupancy *o = &look->cases[i].analysis.occupancy;

        fprintf(out, "%c, ", (char)('A' + i));
        cli_page_name(out, &look->cases[i]);
        fprintf(out, ": %d blocks, %.3g percent of the warps, limited by %s. ", (int)o->blocks_per_sm, 100 * o->fraction,
                tj_limit_name((tj_limit)o->limit));
    }
    fputs("</desc>\n", out);
    for (size_t i = 0; i < look->count; i++) {
        const cli_case *one = &look->cases[i];
        const tj_occupancy *o = &one->analysis.occupancy;
        const int32_t let_in[] = {o->by_threads, o->by_blocks, o->by_registers, o->by_shared};
        const double warps = ceil(one->analysis.needs.threads / 32.0);
        const int top = (int)i * group + 24;
        char blocks[32];

        put_group(out, look, i, top);
        fprintf(out, ": %d blocks of %d threads, %.3g %% of the warps</text>\n", (int)o->blocks_per_sm,
                (int)one->analysis.needs.threads, 100 * o->fraction);
        for (int r = 0; r < 4; r++) {
            /* As a share of all warps, if `let_in` blocks fitted; larger values run off the scale. */
            const double share = fmin(1.12, let_in[r] * warps / o->max_warps_per_sm);

            (void)snprintf(blocks, sizeof blocks, let_in[r] == INT32_MAX ? "no limit" : "%d", (int)let_in[r]);
            put_bar(out, top + r * BAR_LINE, tj_limit_name((tj_limit)(r + 1)), o->limit == r + 1, share, 1, blocks);
        }
        fprintf(out, "</g>\n");
    }
    fprintf(out, "<path class=\"axis\" stroke-dasharray=\"5 4\" d=\"M%d 8 V%d\"/>\n</svg>\n", BAR_LEFT + BAR_SPAN, height - 8);
    fputs("<figcaption>Blocks that each resource alone lets in, drawn as the share of the multiprocessor's warps that they "
          "would be; the dashed line is all of them. The full bar is the limit.</figcaption>\n</figure>\n<ul>\n",
          out);
    for (size_t i = 0; i < look->count; i++) {
        const tj_occupancy *o = &look->cases[i].analysis.occupancy;

        fprintf(out, "<li class=\"k%zu\"><span class=\"key\">%c</span> %s", i, (char)('A' + i),
                o->warps_per_sm < o->max_warps_per_sm ? "more by: " : "");
        cli_html_text(out, o->lift);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

/* ---- time ----------------------------------------------------------------------------------------------------------- */

void cli_page_time(FILE *out, const cli_look *look)
{
    int top = 24, height = 10;
    double longest = 0;

    for (size_t i = 0; i < look->count; i++) {
        longest = fmax(longest, look->cases[i].analysis.predicted.us);
        longest = fmax(longest, look->cases[i].analysis.predicted.term_us[TJ_TERM_LATENCY]);
        height += 36;
        for (int32_t t = 0; t < TJ_TERMS; t++)
            height += cli_shows_term(&look->cases[i], t) ? BAR_LINE : 0;
    }
    fputs("<h2>Predicted time, term by term</h2>\n", out);
    cli_page_open_figure(out, "time", BAR_WIDTH, height, "Predicted time: how long each pipe would take alone");
    fputs("<desc id=\"time-desc\">", out);
    for (size_t i = 0; i < look->count; i++) {
        fprintf(out, "%c, ", (char)('A' + i));
        cli_page_name(out, &look->cases[i]);
        fprintf(out, ": %.3g microseconds in all, most by %s. ", look->cases[i].analysis.predicted.us,
                look->cases[i].analysis.predicted.bound);
    }
    fputs("</desc>\n", out);
    for (size_t i = 0; i < look->count; i++) {
        const cli_case *one = &look->cases[i];
        const tj_prediction *p = &one->analysis.predicted;

        put_group(out, look, i, top);
        fprintf(out, ": %s in all", cli_duration(p->us).text);
        if (one->is_measured)
            fprintf(out, "; measured %s", cli_duration(one->median_us).text);
        fputs("</text>\n", out);
        for (int32_t t = 0; t < TJ_TERMS; t++) {
            const char *const name = tj_term_at(t)->name;

            if (!cli_shows_term(one, t))
                continue;
            put_bar(out, top, name, strcmp(name, p->bound) == 0, cli_ratio(p->term_us[t], longest), 0.5,
                    cli_duration(p->term_us[t]).text);
            top += BAR_LINE;
        }
        fputs("</g>\n", out);
        top += 36;
    }
    fputs("</svg>\n<figcaption>What overlaps does not add up: the time is the launch and a soft maximum of the rest. The full "
          "bar is what the model says is longest.</figcaption>\n</figure>\n",
          out);
}
