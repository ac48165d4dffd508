/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit devices: print the driver's facts about each device, and the bandwidth of its memory.
 */
#include "look.h"

typedef struct devices_options {
    cli_machine_options machine;
    int32_t measures;
} devices_options;

static const cli_option own[] = {
    {"measure", CLI_FLAG, offsetof(devices_options, measures),
     "Measure the memory bandwidth of the device in use, and remember it for explain and report in the store's folder.",
     .low = 1},
    {NULL},
};

static void set_device(tj_json *object, const tj_device_facts *facts)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"ordinal", facts->ordinal},
                   {"cc_major", facts->cc_major},
                   {"cc_minor", facts->cc_minor},
                   {"sm_count", facts->sm_count},
                   {"max_threads_per_block", facts->max_threads_per_block},
                   {"max_threads_per_sm", facts->max_threads_per_sm},
                   {"max_blocks_per_sm", facts->max_blocks_per_sm},
                   {"max_grid_x", facts->max_grid_x},
                   {"max_grid_y", facts->max_grid_y},
                   {"max_grid_z", facts->max_grid_z},
                   {"registers_per_block", facts->registers_per_block},
                   {"registers_per_sm", facts->registers_per_sm},
                   {"shared_per_block", facts->shared_per_block},
                   {"shared_per_block_optin", facts->shared_per_block_optin},
                   {"shared_per_sm", facts->shared_per_sm},
                   {"reserved_shared_per_block", facts->reserved_shared_per_block},
                   {"l2_bytes", facts->l2_bytes},
                   {"memory_bytes", facts->memory_bytes},
                   {"clock_khz", facts->clock_khz},
                   {"memory_clock_khz", facts->memory_clock_khz},
                   {"memory_bus_bits", facts->memory_bus_bits},
                   {"driver_version", facts->driver_version}};

    cli_set_text(object, "name", facts->name);
    cli_set_text(object, "uuid", facts->uuid);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        cli_set_int(object, numbers[i].name, numbers[i].value);
}

static void print_device(const tj_device_facts *facts, double bytes_per_s)
{
    tj_error ignored;
    tj_peaks peaks = TJ_PEAKS_INIT;

    cli_print(stdout, "%d: %s, compute capability %d.%d, uuid %s\n", (int)facts->ordinal, facts->name, (int)facts->cc_major,
              (int)facts->cc_minor, facts->uuid);
    cli_print(stdout,
              "   %d multiprocessors at %d MHz, %s of memory, %s of L2, %s of shared memory per block, driver for CUDA %d.%d\n",
              (int)facts->sm_count, (int)facts->clock_khz / 1000, cli_bytes(facts->memory_bytes).text,
              cli_bytes(facts->l2_bytes).text, cli_bytes(facts->shared_per_block_optin).text, (int)facts->driver_version / 1000,
              (int)facts->driver_version % 1000 / 10);
    if (tj_find_peaks(facts, bytes_per_s, &peaks, &ignored) != TJ_OK)
        return;
    cli_print(stdout, "   at most %s in f32, %s to memory (%s)\n", cli_rate(peaks.per_s[TJ_PIPE_F32], "FLOP/s").text,
              cli_rate(peaks.per_s[TJ_PIPE_MEMORY], "B/s").text, peaks.is_measured ? "measured" : "by its clock and bus");
}

/* Return the measured bandwidth: measure the device in use now, or read the remembered value. */
static tj_status find_bandwidth(const devices_options *options, tj_context *context, const tj_device_facts *facts,
                                double *bytes_per_s, tj_error *err)
{
    if (options->measures && facts->ordinal == cli_device_ordinal(&options->machine))
        return cli_measure_bandwidth(context, facts, bytes_per_s, err);
    *bytes_per_s = cli_read_bandwidth(context, facts);
    return TJ_OK;
}

static cli_exit devices(cli_call *call, tj_error *err)
{
    const devices_options *options = call->options;
    tj_json *list = cli_add_list(call->answer, "devices");
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    double bytes_per_s = 0;
    tj_json *object;
    int count = 0;

    if (cli_open(call, &options->machine, true, err) != TJ_OK || tj_device_count(call->context, &count, err) != TJ_OK)
        return CLI_FAILED;
    for (int i = 0; i < count; i++) {
        if (tj_device_get(call->context, i, &facts, err) != TJ_OK ||
            find_bandwidth(options, call->context, &facts, &bytes_per_s, err) != TJ_OK)
            return CLI_FAILED;
        object = cli_append_object(list);
        set_device(object, &facts);
        if (bytes_per_s > 0)
            cli_set_real(object, "measured_bytes_per_s", bytes_per_s);
        if (!call->is_json)
            print_device(&facts, bytes_per_s);
    }
    return CLI_DONE;
}

const cli_command cli_devices = {
    .name = "devices",
    .summary = "list the CUDA devices",
    .text = "Prints the driver's facts about each device.",
    .example = "tilejit devices --measure",
    .takes = {{&(const cli_group){"devices", own}}, {&cli_machine_group, offsetof(devices_options, machine)}},
    .option_bytes = sizeof(devices_options),
    .run = devices,
};
