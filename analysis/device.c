/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device: facts of products, for looking at a device that is not there. The same numbers as the emulator's, which a test holds.
 */
#include <tilejit/analysis.h>

#include <stdio.h>
#include <string.h>

#include "error.h"

/* Limits as the CUDA programming guide's table of compute capabilities has them; memory, caches and clocks of the product. */
static const struct {
    const char *target, *product;
    int32_t capability, sm_count, threads, blocks;
    int64_t shared, optin, reserved, l2;
    int32_t bus, clock, memory_clock;
    int64_t memory;
} devices[] = {
    {"sm_75", "T4", 75, 40, 1024, 16, 65536, 65536, 0, 4 << 20, 256, 1590000, 5001000, 15828320256},
    {"sm_80", "A100 80GB", 80, 108, 2048, 32, 167936, 166912, 1024, 40 << 20, 5120, 1410000, 1593000, 84974239744},
    {"sm_86", "A10", 86, 72, 1536, 16, 102400, 101376, 1024, 6 << 20, 384, 1695000, 6251000, 23609475072},
    {"sm_89", "L4", 89, 58, 1536, 24, 102400, 101376, 1024, 48 << 20, 192, 2040000, 6251000, 23580639232},
    {"sm_90", "H200", 90, 132, 2048, 32, 233472, 232448, 1024, 60 << 20, 6144, 1980000, 3201000, 150109880320},
    {"sm_100", "B200", 100, 148, 2048, 32, 233472, 232448, 1024, 126 << 20, 8192, 1965000, 3996000, 191514869760},
    {"sm_103", "B300", 103, 148, 2048, 32, 233472, 232448, 1024, 126 << 20, 8192, 1920000, 3996000, 288803454976},
    {"sm_110", "Thor", 110, 20, 1536, 24, 233472, 232448, 1024, 32 << 20, 256, 1575000, 4266000, 131072000000},
    {"sm_120", "RTX 5090", 120, 170, 1536, 24, 102400, 101376, 1024, 96 << 20, 512, 2407000, 14001000, 34190458880},
    {"sm_121", "GB10", 121, 48, 1536, 24, 102400, 101376, 1024, 24 << 20, 256, 2418000, 4266000, 128446967808},
};

tj_status tj_device_named(const char *target, tj_device_facts *facts, tj_error *err)
{
    if (!target)
        return tj_fail_null(err, __func__, "target");
    if (!facts)
        return tj_fail_null(err, __func__, "facts");
    size_t i = 0;

    memset(facts, 0, sizeof *facts);
    while (i < sizeof devices / sizeof devices[0] && strcmp(devices[i].target, target) != 0)
        i++;
    if (i == sizeof devices / sizeof devices[0])
        return tj_fail(
            err, TJ_ERR_NOT_FOUND,
            "no facts are known of a \"%.40s\": use sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_103, sm_110, sm_120 or "
            "sm_121",
            target);
    snprintf(facts->name, sizeof facts->name, "%s", devices[i].product);
    facts->cc_major = devices[i].capability / 10;
    facts->cc_minor = devices[i].capability % 10;
    facts->sm_count = devices[i].sm_count;
    facts->max_threads_per_block = 1024;
    facts->max_threads_per_sm = devices[i].threads;
    facts->max_blocks_per_sm = devices[i].blocks;
    facts->max_grid_x = INT32_MAX;
    facts->max_grid_y = facts->max_grid_z = 65535;
    facts->registers_per_block = facts->registers_per_sm = 65536;
    facts->shared_per_block = 49152;
    facts->shared_per_block_optin = devices[i].optin;
    facts->shared_per_sm = devices[i].shared;
    facts->reserved_shared_per_block = devices[i].reserved;
    facts->l2_bytes = devices[i].l2;
    facts->memory_bytes = devices[i].memory;
    facts->clock_khz = devices[i].clock;
    facts->memory_clock_khz = devices[i].memory_clock;
    facts->memory_bus_bits = devices[i].bus;
    return TJ_OK;
}
