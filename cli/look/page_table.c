/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_table: every config in a column, every number in a row.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "number.h"
#include "page.h"

typedef enum number {
    LOADS,
    BYTES,
    INTENSITY,
    ATTAINABLE,
    SHARED,
    REGISTERS,
    BLOCKS,
    OCCUPANCY,
    WAVES,
    PREDICTED,
    BOUND,
    MEASURED,
    COUNTED,
    NUMBERS
} number;

static void format_number(const cli_case *one, number which, char out[64])
{
    const tj_analysis *a = &one->analysis;

    switch (which) {
    case LOADS:
        cli_format_count(out, a->counts.load_m.elements + a->counts.load_n.elements + a->counts.load_c.elements);
        break;
    case BYTES:
        cli_format_bytes(out, a->counts.global_bytes);
        break;
    case INTENSITY:
        (void)snprintf(out, 64, "%.3g", a->roof.intensity);
        break;
    case ATTAINABLE:
        cli_format_rate(out, a->roof.attainable, "FLOP/s");
        break;
    case SHARED:
        cli_format_bytes(out, a->counts.shared_bytes);
        break;
    case REGISTERS:
        (void)snprintf(out, 64, "%d%s", (int)a->needs.registers, one->registers ? "" : " (estimate)");
        break;
    case BLOCKS:
        (void)snprintf(out, 64, "%" PRId64 " of %d", a->counts.blocks, (int)a->counts.threads_per_block);
        break;
    case OCCUPANCY:
        (void)snprintf(out, 64, "%.3g %%, by %s", 100 * a->occupancy.fraction, tj_limit_name((tj_limit)a->occupancy.limit));
        break;
    case WAVES:
        (void)snprintf(out, 64, "%" PRId64 ", %.0f %% idle", a->occupancy.waves, 100 * a->occupancy.tail);
        break;
    case PREDICTED:
        cli_format_time(out, a->predicted.us);
        break;
    case BOUND:
        (void)snprintf(out, 64, "%s", a->predicted.bound);
        break;
    case MEASURED:
        cli_format_time(out, one->median_us);
        break;
    case COUNTED:
        cli_format_count(out, (int64_t)one->counted.global_loads);
        break;
    case NUMBERS:
        break;
    }
}

void cli_page_table(FILE *out, const cli_look *look, size_t winner)
{
    static const char win[] = " class=\"win\"";
    static const char *const names[NUMBERS] = {"global loads",
                                               "global bytes",
                                               "FLOP per byte",
                                               "attainable, no caches",
                                               "shared memory per block",
                                               "registers per thread",
                                               "blocks of threads",
                                               "occupancy",
                                               "waves",
                                               "predicted time",
                                               "bound by",
                                               "measured time",
                                               "loads the emulator counted"};

    fputs("<h2>Numbers</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
          "aria-label=\"Numbers\"><table>\n<thead><tr><th scope=\"col\">config</th>",
          out);
    for (size_t i = 0; i < look->count; i++) {
        fprintf(out, "<th scope=\"col\"%s><span class=\"k%zu\"><span class=\"key\">%c</span></span> ", i == winner ? win : "",
                i, (char)('A' + i));
        cli_page_name(out, &look->cases[i]);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int n = 0; n < NUMBERS; n++) {
        if ((n == MEASURED && !look->cases[0].is_measured) || (n == COUNTED && !look->cases[0].is_counted))
            continue;
        fprintf(out, "<tr><th scope=\"row\">%s</th>", names[n]);
        for (size_t i = 0; i < look->count; i++) {
            char text[64] = "";

            format_number(&look->cases[i], (number)n, text);
            fprintf(out, "<td%s>", i == winner ? win : "");
            cli_page_text(out, text);
            fputs("</td>", out);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody>\n</table></div>\n", out);
}
