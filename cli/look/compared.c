/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compared: several configs side by side, as explain --compare prints them.
 */
#include <inttypes.h>

#include "look.h"
#include "number.h"

enum { NAME_WIDTH = 20, CELL_BYTES = 40 };

typedef void (*cell)(const cli_case *one, char *out);

static void cell_config(const cli_case *one, char *out)
{
    (void)snprintf(out, CELL_BYTES, "%s", tj_family_name(one->config.family));
}

static void cell_tile(const cli_case *one, char *out)
{
    (void)snprintf(out, CELL_BYTES, "%dx%dx%" PRId64, (int)one->analysis.counts.block_rows,
                   (int)one->analysis.counts.block_cols, one->analysis.counts.phase.depth);
}

static void cell_checks(const cli_case *one, char *out)
{
    (void)snprintf(out, CELL_BYTES, "%s%s%s", one->config.check_j == TJ_CHECK_ON ? "j" : "",
                   one->config.check_k == TJ_CHECK_ON ? "k" : "", one->config.check_l == TJ_CHECK_ON ? "l" : "");
    if (!*out)
        (void)snprintf(out, CELL_BYTES, "none");
}

static void cell_loads(const cli_case *one, char *out)
{
    cli_format_count(out, one->analysis.counts.load_m.elements + one->analysis.counts.load_n.elements);
}

static void cell_bytes(const cli_case *one, char *out)
{
    cli_format_bytes(out, one->analysis.counts.global_bytes);
}

static void cell_intensity(const cli_case *one, char *out)
{
    (void)snprintf(out, CELL_BYTES, "%.3g", one->analysis.roof.intensity);
}

static void cell_roof(const cli_case *one, char *out)
{
    cli_format_rate(out, one->analysis.roof.attainable, "FLOP/s");
}

static void cell_side(const cli_case *one, char *out)
{
    (void)snprintf(out, CELL_BYTES, "%s", one->analysis.roof.is_memory_bound ? "memory" : "compute");
}

static void cell_shared(const cli_case *one, char *out)
{
    cli_format_bytes(out, one->analysis.counts.shared_bytes);
}

static void cell_registers(const cli_case *one, char *out)
{
    (void)snprintf(out, CELL_BYTES, "%d%s", (int)one->analysis.needs.registers, one->registers ? "" : "?");
}

static void cell_blocks(const cli_case *one, char *out)
{
    (void)snprintf(out, CELL_BYTES, "%" PRId64 " x %d", one->analysis.counts.blocks,
                   (int)one->analysis.counts.threads_per_block);
}

static void cell_occupancy(const cli_case *one, char *out)
{
    (void)snprintf(out, CELL_BYTES, "%.3g %%", 100 * one->analysis.occupancy.fraction);
}

static void cell_limit(const cli_case *one, char *out)
{
    (void)snprintf(out, CELL_BYTES, "%s", tj_limit_name((tj_limit)one->analysis.occupancy.limit));
}

static void cell_waves(const cli_case *one, char *out)
{
    (void)snprintf(out, CELL_BYTES, "%" PRId64 " (%.0f %% idle)", one->analysis.occupancy.waves,
                   100 * one->analysis.occupancy.tail);
}

static void cell_predicted(const cli_case *one, char *out)
{
    cli_format_time(out, one->analysis.predicted.us);
}

static void cell_rate(const cli_case *one, char *out)
{
    cli_format_rate(out, one->analysis.predicted.flop_per_s, "FLOP/s");
}

static void cell_bound(const cli_case *one, char *out)
{
    (void)snprintf(out, CELL_BYTES, "%s", one->analysis.predicted.bound);
}

static void cell_measured(const cli_case *one, char *out)
{
    cli_format_time(out, one->median_us);
}

static void cell_counted(const cli_case *one, char *out)
{
    cli_format_count(out, (int64_t)one->counted.global_loads);
}

static void cell_store(const cli_case *one, char *out)
{
    (void)snprintf(out, CELL_BYTES, "%s", one->hit == 1 ? "hit" : one->hit == 0 ? "miss" : "not known");
}

void cli_print_compared(const cli_look *look)
{
    const struct {
        const char *name;
        cell fill;
        bool is_left_out;
    } row[] = {
        {"family", cell_config, false},
        {"block tile x phase", cell_tile, false},
        {"checks", cell_checks, false},
        {"loads of M and N", cell_loads, false},
        {"  emulator counted", cell_counted, !look->cases[0].is_counted},
        {"global bytes", cell_bytes, false},
        {"FLOP/B", cell_intensity, false},
        {"roof", cell_roof, false},
        {"  side of the ridge", cell_side, false},
        {"shared per block", cell_shared, false},
        {"registers", cell_registers, false},
        {"blocks x threads", cell_blocks, false},
        {"occupancy", cell_occupancy, false},
        {"  limited by", cell_limit, false},
        {"waves", cell_waves, false},
        {"predicted", cell_predicted, false},
        {"  rate", cell_rate, false},
        {"  bound by", cell_bound, false},
        {"measured", cell_measured, !look->cases[0].is_measured},
        {"store", cell_store, false},
    };

    for (size_t r = 0; r < sizeof row / sizeof row[0]; r++) {
        if (row[r].is_left_out)
            continue;
        printf("%-*s", NAME_WIDTH, row[r].name);
        for (size_t i = 0; i < look->count; i++) {
            char text[CELL_BYTES];

            row[r].fill(&look->cases[i], text);
            printf(" %*s", look->count > 4 ? 15 : 18, text);
        }
        printf("\n");
    }
    printf("fastest by the model: %s\n", look->cases[cli_fastest(look)].text);
}
