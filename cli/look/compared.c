/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compared: print configs next to each other, for explain --compare.
 */
#include <inttypes.h>

#include "look.h"

static void fill(const cli_case *one, cli_column *c)
{
    const tj_analysis *a = &one->analysis;
    const bool j = one->config.check_j == TJ_CHECK_ON, k = one->config.check_k == TJ_CHECK_ON,
               l = one->config.check_l == TJ_CHECK_ON;

    cli_print_row(c, "family", "%s", tj_family_name(one->config.family));
    cli_print_row(c, "block tile x phase", "%dx%dx%" PRId64, (int)a->work.block_rows, (int)a->work.block_cols,
                  a->work.phase.depth);
    cli_print_row(c, "checks", "%s%s%s%s", j ? "j" : "", k ? "k" : "", l ? "l" : "", j || k || l ? "" : "none");
    cli_print_row(c, "loads of M and N", "%s",
                  cli_grouped(a->work.traffic[TJ_LOAD_M].elements + a->work.traffic[TJ_LOAD_N].elements).text);
    if (one->is_counted)
        cli_print_row(c, "  emulator counted", "%s", cli_grouped((int64_t)one->counted.global_loads).text);
    cli_print_row(c, "global bytes", "%s", cli_bytes(a->work.global_bytes).text);
    cli_print_row(c, "FLOP/B", "%.3g", a->roof.intensity);
    cli_print_row(c, "roof", "%s", cli_rate(a->roof.attainable, "FLOP/s").text);
    cli_print_row(c, "  side of the ridge", "%s", a->roof.is_memory_bound ? "memory" : "compute");
    cli_print_row(c, "shared per block", "%s", cli_bytes(a->work.shared_bytes).text);
    cli_print_row(c, "registers", "%d%s", (int)a->needs.registers, one->registers ? "" : "?");
    cli_print_row(c, "blocks x threads", "%" PRId64 " x %d", a->work.blocks, (int)a->work.threads_per_block);
    cli_print_row(c, "occupancy", "%.3g %%", 100 * a->occupancy.fraction);
    cli_print_row(c, "  limited by", "%s", tj_limit_name((tj_limit)a->occupancy.limit));
    cli_print_row(c, "waves", "%" PRId64 " (%.0f %% idle)", a->occupancy.waves, 100 * a->occupancy.tail);
    cli_print_row(c, "predicted", "%s", cli_duration(a->predicted.us).text);
    cli_print_row(c, "  rate", "%s", cli_rate(a->predicted.flop_per_s, "FLOP/s").text);
    cli_print_row(c, "  bound by", "%s", a->predicted.bound);
    if (one->is_measured)
        cli_print_row(c, "measured", "%s", cli_duration(one->median_us).text);
    cli_print_row(c, "store", "%s", one->hit == 1 ? "hit" : one->hit == 0 ? "miss" : "not known");
}

void cli_print_compared(const cli_look *look)
{
    cli_column column[CLI_MAX_CASES] = {{.count = 0}};

    for (size_t i = 0; i < look->count; i++)
        fill(&look->cases[i], &column[i]);
    for (int r = 0; r < column[0].count; r++) {
        cli_print(stdout, "%-20s", column[0].row[r].name);
        for (size_t i = 0; i < look->count; i++)
            cli_print(stdout, " %*s", look->count > 4 ? 15 : 18, column[i].row[r].text);
        cli_print(stdout, "\n");
    }
    cli_print(stdout, "fastest by the model: %s\n", look->cases[cli_fastest(look)].text);
}
