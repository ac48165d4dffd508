/* SPDX-License-Identifier: Apache-2.0 */
/*
 * occupancy: how many blocks fit a multiprocessor, by the allocation rules of its compute capability.
 *
 * The rules are those of NVIDIA's occupancy calculator: whole warps; registers in units of 256 for a warp, by quarter of the
 * multiprocessor; shared memory in units of 128 or 256 bytes, with the system's share of each block. For compute capability 9.0
 * they were compared with the driver (tests/analysis/occupancy_h200.txt); for the others they are as published.
 */
#include <tilejit/analysis.h>

#include <stdio.h>
#include <string.h>

#include "architectures.h"
#include "checked.h"
#include "error.h"
#include "estimate.h"

enum {
    WARP = 32,
    REGISTER_UNIT = 256, /* registers, for a warp */
    NO_LIMIT = INT32_MAX
};

static int64_t round_up(int64_t value, int64_t unit)
{
    return tj_ceil_div(value, unit) * unit;
}

static tj_status check_input(const tj_device_facts *facts, const tj_block_needs *needs, int64_t blocks, tj_error *err)
{
    if (!tj_architecture_of(facts))
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "compute capability %d.%d is below 7.5, the first whose occupancy is known here", facts->cc_major,
                       facts->cc_minor);
    if (facts->sm_count < 1 || facts->max_threads_per_sm < WARP || facts->max_blocks_per_sm < 1 ||
        facts->registers_per_sm < 1 || facts->shared_per_sm < 1 || facts->max_threads_per_block < 1 ||
        facts->reserved_shared_per_block < 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "the device facts lack multiprocessors or their limits: take them from tj_device_get or tj_device_named");
    if (needs->threads < 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "a block has %d threads: use 1 or more", needs->threads);
    if (needs->registers < 0 || needs->shared_bytes < 0 || blocks < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%d registers, %lld shared bytes, %lld blocks: none may be below 0",
                       needs->registers, (long long)needs->shared_bytes, (long long)blocks);
    return TJ_OK;
}

static int64_t registers_of_warp(int32_t registers)
{
    return round_up((int64_t)registers * WARP, REGISTER_UNIT);
}

static int32_t by_registers(const tj_device_facts *facts, int32_t registers, int64_t warps)
{
    const int64_t per_warp = registers_of_warp(registers);
    const int64_t per_block = facts->registers_per_block > 0 ? facts->registers_per_block : facts->registers_per_sm;

    if (registers == 0)
        return NO_LIMIT;
    if (per_warp * round_up(warps, TJ_SCHEDULERS) > per_block)
        return 0;
    return (int32_t)(facts->registers_per_sm / TJ_SCHEDULERS / per_warp * TJ_SCHEDULERS / warps);
}

static int64_t most_shared_per_block(const tj_device_facts *facts)
{
    return facts->shared_per_block_optin > facts->shared_per_block ? facts->shared_per_block_optin : facts->shared_per_block;
}

static int32_t by_shared(const tj_device_facts *facts, int64_t bytes, int64_t *taken)
{
    const int32_t unit = tj_architecture_of(facts)->shared_unit;
    int64_t whole;

    if (!tj_add(bytes, facts->reserved_shared_per_block, &whole) || whole > INT64_MAX - unit) {
        *taken = INT64_MAX; /* or more */
        return 0;
    }
    whole = round_up(whole, unit);
    *taken = whole;
    if (bytes > most_shared_per_block(facts))
        return 0;
    if (whole == 0)
        return NO_LIMIT;
    return (int32_t)(facts->shared_per_sm / whole < NO_LIMIT ? facts->shared_per_sm / whole : NO_LIMIT);
}

/* Return the most registers per thread with which `blocks` blocks fit; 0: no number does. */
static int32_t registers_for(const tj_device_facts *facts, int64_t warps, int32_t blocks)
{
    for (int32_t registers = 255; registers > 0; registers--)
        if (by_registers(facts, registers, warps) >= blocks)
            return registers;
    return 0;
}

static int64_t shared_for(const tj_device_facts *facts, int32_t blocks)
{
    const int32_t unit = tj_architecture_of(facts)->shared_unit;

    return facts->shared_per_sm / blocks / unit * unit - facts->reserved_shared_per_block;
}

static void say_lift(const tj_device_facts *facts, const tj_block_needs *needs, int64_t warps, tj_occupancy *o)
{
    const int32_t wanted = o->blocks_per_sm + 1;
    const int64_t warps_for_one_more = facts->max_threads_per_sm / WARP / wanted;
    char *const out = o->lift;

    switch ((tj_limit)o->limit) {
    case TJ_LIMIT_THREADS:
        if (needs->threads > facts->max_threads_per_block)
            snprintf(out, TJ_LIFT_BYTES, "blocks of at most %d threads", facts->max_threads_per_block);
        else if (o->warps_per_sm == o->max_warps_per_sm)
            snprintf(out, TJ_LIFT_BYTES, "every warp slot is taken");
        else
            snprintf(out, TJ_LIFT_BYTES, "blocks of %lld threads instead of %d: %d would fit",
                     (long long)warps_for_one_more * WARP, needs->threads, wanted);
        break;
    case TJ_LIMIT_BLOCKS:
        if (o->warps_per_sm == o->max_warps_per_sm)
            snprintf(out, TJ_LIFT_BYTES, "every warp slot is taken");
        else
            snprintf(out, TJ_LIFT_BYTES, "larger blocks: %d of %d threads fill %lld of %d warp slots", facts->max_blocks_per_sm,
                     needs->threads, (long long)warps * facts->max_blocks_per_sm, o->max_warps_per_sm);
        break;
    case TJ_LIMIT_REGISTERS:
        if (registers_for(facts, warps, wanted) > 0)
            snprintf(out, TJ_LIFT_BYTES, "%d registers per thread instead of %d: %d blocks would find room",
                     registers_for(facts, warps, wanted), needs->registers,
                     by_registers(facts, registers_for(facts, warps, wanted), warps));
        else
            snprintf(out, TJ_LIFT_BYTES, "smaller blocks: %d of %d threads find no registers however few they use", wanted,
                     needs->threads);
        break;
    case TJ_LIMIT_SHARED:
        if (shared_for(facts, wanted) > 0)
            snprintf(out, TJ_LIFT_BYTES, "%lld bytes of shared memory per block instead of %lld: %d blocks would find room",
                     (long long)(o->blocks_per_sm == 0 && most_shared_per_block(facts) < shared_for(facts, wanted)
                                     ? most_shared_per_block(facts)
                                     : shared_for(facts, wanted)),
                     (long long)needs->shared_bytes, wanted);
        else
            snprintf(out, TJ_LIFT_BYTES, "no shared memory at all: not even what the system keeps of %d blocks fits", wanted);
        break;
    }
}

const char *tj_limit_name(tj_limit limit)
{
    static const char *const names[] = {
        [TJ_LIMIT_THREADS] = "threads",
        [TJ_LIMIT_BLOCKS] = "blocks",
        [TJ_LIMIT_REGISTERS] = "registers",
        [TJ_LIMIT_SHARED] = "shared memory",
    };

    return limit >= TJ_LIMIT_THREADS && limit <= TJ_LIMIT_SHARED ? names[limit] : "?";
}

tj_status tj_occupy_silently(const tj_device_facts *facts, const tj_block_needs *needs, int64_t blocks, tj_occupancy *occupancy,
                             tj_error *err)
{
    const int64_t warps = tj_ceil_div(needs->threads > 0 ? needs->threads : 1, WARP);
    const tj_status status = check_input(facts, needs, blocks, err);
    tj_occupancy o;

    memset(occupancy, 0, sizeof *occupancy);
    if (status != TJ_OK)
        return status;
    memset(&o, 0, sizeof o);
    o.max_warps_per_sm = facts->max_threads_per_sm / WARP;
    o.by_threads = needs->threads > facts->max_threads_per_block ? 0 : (int32_t)(o.max_warps_per_sm / warps);
    o.by_blocks = facts->max_blocks_per_sm;
    o.by_registers = by_registers(facts, needs->registers, warps);
    o.by_shared = by_shared(facts, needs->shared_bytes, &o.shared_taken);
    o.registers_taken = registers_of_warp(needs->registers) * round_up(warps, TJ_SCHEDULERS);
    {
        const int32_t limits[] = {o.by_threads, o.by_blocks, o.by_registers, o.by_shared};

        o.limit = TJ_LIMIT_THREADS;
        for (int32_t i = 1; i < 4; i++)
            if (limits[i] < limits[o.limit - TJ_LIMIT_THREADS])
                o.limit = TJ_LIMIT_THREADS + i;
        o.blocks_per_sm = limits[o.limit - TJ_LIMIT_THREADS];
    }
    o.warps_per_sm = (int32_t)(o.blocks_per_sm * warps);
    o.fraction = (double)o.warps_per_sm / o.max_warps_per_sm;
    o.blocks_per_wave = (int64_t)o.blocks_per_sm * facts->sm_count;
    if (blocks > 0 && o.blocks_per_wave > 0) {
        o.waves = tj_ceil_div(blocks, o.blocks_per_wave);
        o.last_wave_blocks = blocks - (o.waves - 1) * o.blocks_per_wave;
        o.tail = 1 - (double)blocks / ((double)o.waves * (double)o.blocks_per_wave);
    }
    *occupancy = o;
    return TJ_OK;
}

tj_status tj_occupy(const tj_device_facts *facts, const tj_block_needs *needs, int64_t blocks, tj_occupancy *occupancy,
                    tj_error *err)
{
    const tj_status status = tj_occupy_silently(facts, needs, blocks, occupancy, err);

    if (status == TJ_OK)
        say_lift(facts, needs, tj_ceil_div(needs->threads, WARP), occupancy);
    return status;
}
