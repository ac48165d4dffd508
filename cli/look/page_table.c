/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_table: every config in a column, every number in a row.
 */
#include <inttypes.h>

#include "page.h"

static void fill(const cli_case *one, cli_column *c)
{
    const tj_analysis *a = &one->analysis;

    cli_print_row(c, "global loads", "%s",
                  cli_grouped(a->work.traffic[TJ_LOAD_M].elements + a->work.traffic[TJ_LOAD_N].elements +
                              a->work.traffic[TJ_LOAD_C].elements)
                      .text);
    cli_print_row(c, "global bytes", "%s", cli_bytes(a->work.global_bytes).text);
    cli_print_row(c, "FLOP per byte", "%.3g", a->roof.intensity);
    cli_print_row(c, "attainable, no caches", "%s", cli_rate(a->roof.attainable, "FLOP/s").text);
    cli_print_row(c, "shared memory per block", "%s", cli_bytes(a->work.shared_bytes).text);
    cli_print_row(c, "registers per thread", "%d%s", (int)a->needs.registers, one->registers ? "" : " (estimate)");
    cli_print_row(c, "blocks of threads", "%" PRId64 " of %d", a->work.blocks, (int)a->work.threads_per_block);
    cli_print_row(c, "occupancy", "%.3g %%, by %s", 100 * a->occupancy.fraction, tj_limit_name((tj_limit)a->occupancy.limit));
    cli_print_row(c, "waves", "%" PRId64 ", %.0f %% idle", a->occupancy.waves, 100 * a->occupancy.tail);
    cli_print_row(c, "predicted time", "%s", cli_duration(a->predicted.us).text);
    cli_print_row(c, "bound by", "%s", a->predicted.bound);
    if (one->is_measured)
        cli_print_row(c, "measured time", "%s", cli_duration(one->median_us).text);
    if (one->is_counted)
        cli_print_row(c, "loads the emulator counted", "%s", cli_grouped((int64_t)one->counted.global_loads).text);
}

void cli_page_table(FILE *out, const cli_look *look, size_t winner)
{
    static const char win[] = " class=\"win\"";
    cli_column column[CLI_MAX_CASES] = {{.count = 0}};

    fputs("<h2>Numbers</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"Numbers\"><table>\n<thead><tr><th scope=\"col\">config</th>",
          out);
    for (size_t i = 0; i < look->count; i++) {
        fprintf(out, "<th scope=\"col\"%s><span class=\"k%zu\"><span class=\"key\">%c</span></span> ", i == winner ? win : "",
                i, (char)('A' + i));
        cli_page_name(out, &look->cases[i]);
        fputs("</th>", out);
        fill(&look->cases[i], &column[i]);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int r = 0; r < column[0].count; r++) {
        fprintf(out, "<tr><th scope=\"row\">%s</th>", column[0].row[r].name);
        for (size_t i = 0; i < look->count; i++) {
            fprintf(out, "<td%s>", i == winner ? win : "");
            cli_html_text(out, column[i].row[r].text);
            fputs("</td>", out);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table></div>\n", out);
}
