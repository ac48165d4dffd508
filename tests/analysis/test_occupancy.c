/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Occupancy next to a driver's answers on an H200 (occupancy_h200.txt, made by record_occupancy.c), and the rules that an H200
 * cannot show.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

#include "estimate.h"

static tj_device_facts named(const char *target)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_error err;

    cr_assert(tj_device_named(target, &facts, &err) == TJ_OK, "%s", err.message);
    return facts;
}

static tj_occupancy occupy(const tj_device_facts *facts, int32_t threads, int32_t registers, int64_t shared, int64_t blocks)
{
    const tj_block_needs needs = {threads, registers, shared};
    tj_occupancy o;
    tj_error err;

    cr_assert(tj_occupy(facts, &needs, blocks, &o, &err) == TJ_OK, "%s", err.message);
    return o;
}

Test(occupancy, is_what_the_driver_answered_on_an_h200)
{
    const tj_device_facts facts = named("sm_90");
    FILE *file = fopen(TJ_SOURCE_DIR "/tests/analysis/occupancy_h200.txt", "r");
    int rows = 0, limits[5] = {0}, none = 0;
    char line[200];

    cr_assert(file);
    while (fgets(line, sizeof line, file)) {
        int registers, declared, given, threads, blocks;
        tj_occupancy o;

        if (line[0] == '#')
            continue;
        cr_assert(sscanf(line, "%d %d %d %d %d", &registers, &declared, &given, &threads, &blocks) == 5, "%s", line);
        o = occupy(&facts, threads, registers, declared + given, 0);
        cr_expect(o.blocks_per_sm == blocks, "%d registers, %d + %d bytes, %d threads: %d blocks, the driver says %d",
                  registers, declared, given, threads, o.blocks_per_sm, blocks);
        limits[o.limit]++;
        none += blocks == 0;
        rows++;
    }
    fclose(file);
    cr_expect(rows >= 200, "%d rows", rows);
    /* A recording that shows one limit only would prove little. */
    cr_expect(limits[TJ_LIMIT_THREADS] >= 5 && limits[TJ_LIMIT_REGISTERS] >= 20 && limits[TJ_LIMIT_SHARED] >= 20 && none >= 5,
              "threads %d, registers %d, shared %d, none fits %d", limits[TJ_LIMIT_THREADS], limits[TJ_LIMIT_REGISTERS],
              limits[TJ_LIMIT_SHARED], none);
}

/* theory.md, section 5: "T = 16: 2 * 256 * 4 B = 2 KiB a block; with 16 KB of shared memory per SM 8 blocks fit" */
Test(occupancy, of_the_lectures_16_kb_example)
{
    tj_device_facts lecture = named("sm_75"); /* no reserve, as in the lecture */
    tj_occupancy o;

    lecture.shared_per_sm = 16 * 1024;
    lecture.max_threads_per_sm = 2048;
    o = occupy(&lecture, 16 * 16, 0, 2 * 16 * 16 * 4, 0);
    cr_expect(o.shared_taken == 2048 && o.by_shared == 8, "%lld bytes, %d blocks", (long long)o.shared_taken, o.by_shared);
    /* "T = 32: 8 KiB, 2 blocks by shared memory, but 1 by a limit of 1 536 threads." */
    lecture.max_threads_per_sm = 1536;
    o = occupy(&lecture, 32 * 32, 0, 2 * 32 * 32 * 4, 0);
    cr_expect(o.shared_taken == 8192 && o.by_shared == 2 && o.by_threads == 1 && o.blocks_per_sm == 1);
    cr_expect(o.limit == TJ_LIMIT_THREADS);
}

/* "8 bytes of shared memory per thread against 164 KB / 2 048 = 82 B available: tiling alone never limits an A100." */
Test(occupancy, of_tiling_alone_never_limits_an_a100)
{
    const tj_device_facts a100 = named("sm_80");

    cr_expect(a100.shared_per_sm == 164 * 1024 && a100.shared_per_sm / a100.max_threads_per_sm == 82);
    for (int32_t width = 4; width <= 32; width++) {
        const tj_occupancy o = occupy(&a100, width * width, 0, 2 * width * width * 4, 0);

        cr_expect(o.limit == TJ_LIMIT_THREADS || o.limit == TJ_LIMIT_BLOCKS, "T = %d: %s", width, tj_limit_name(o.limit));
    }
}

/* "A block of 256 threads with 32 KB needs 128 B a thread: at most 164 / 32 = 5 blocks = 1 280 threads: 62.5 % occupancy." */
Test(occupancy, of_the_62_5_percent_example)
{
    tj_device_facts a100 = named("sm_80");
    tj_occupancy o;

    cr_expect(32 * 1024 / 256 == 128);
    a100.reserved_shared_per_block = 0; /* the lecture's count leaves it out */
    o = occupy(&a100, 256, 0, 32 * 1024, 0);
    cr_expect(o.blocks_per_sm == 5 && o.warps_per_sm * 32 == 1280 && o.fraction == 0.625 && o.limit == TJ_LIMIT_SHARED);
    /* "132 by the lecture's rounding": 1 272 threads, the same 62 % */
    cr_expect((int64_t)164 * 1024 / 132 == 1272 && 1272 * 100 / 2048 == 62);
    /* "divide by blocks, not by threads": by threads 1 312 would fit, which are not whole blocks */
    cr_expect((int64_t)164 * 1024 / 128 == 1312 && o.warps_per_sm * 32 < 1312 && 1312 % 256 != 0);
}

/* "Threads per SM = min over the limits of threads (2 048), blocks (32), registers (65 536), shared memory (A100: 164 KB;
 * H100/H200: 228 KB, 227 per block)." */
Test(occupancy, is_the_least_over_four_limits)
{
    const tj_device_facts a100 = named("sm_80"), h200 = named("sm_90");
    tj_occupancy o = occupy(&h200, 128, 128, 40 * 1024, 0);

    cr_expect(a100.max_threads_per_sm == 2048 && h200.max_threads_per_sm == 2048);
    cr_expect(a100.max_blocks_per_sm == 32 && h200.max_blocks_per_sm == 32);
    cr_expect(a100.registers_per_sm == 65536 && h200.registers_per_sm == 65536);
    cr_expect(a100.shared_per_sm == 164 * 1024 && h200.shared_per_sm == 228 * 1024);
    cr_expect(h200.shared_per_block_optin == 227 * 1024);
    cr_expect(o.by_threads == 16 && o.by_blocks == 32 && o.by_registers == 4 && o.by_shared == 5);
    cr_expect(o.blocks_per_sm == 4 && o.limit == TJ_LIMIT_REGISTERS);
    /* "allocation granularity": 33 registers of a warp are 1 056 and take 1 280, in each of the four warps. */
    o = occupy(&h200, 128, 33, 0, 0);
    cr_expect(o.registers_taken == 4 * 1280, "%lld", (long long)o.registers_taken);
}

Test(occupancy, counts_the_kibibyte_that_the_system_keeps)
{
    const tj_device_facts a100 = named("sm_80");

    cr_expect(occupy(&a100, 256, 0, 32 * 1024, 0).blocks_per_sm == 4);
    cr_expect(occupy(&a100, 256, 0, 31 * 1024, 0).blocks_per_sm == 5);
}

Test(occupancy, names_what_would_lift_the_limit_and_it_does)
{
    const tj_device_facts h200 = named("sm_90");
    tj_occupancy o = occupy(&h200, 256, 40, 0, 0);
    int number;

    cr_assert(o.limit == TJ_LIMIT_REGISTERS && o.blocks_per_sm == 6);
    cr_assert(sscanf(o.lift, "%d registers", &number) == 1, "%s", o.lift);
    cr_expect(occupy(&h200, 256, number, 0, 0).by_registers == 8 && occupy(&h200, 256, number + 1, 0, 0).by_registers == 6,
              "%s", o.lift);

    o = occupy(&h200, 128, 0, 40000, 0);
    cr_assert(o.limit == TJ_LIMIT_SHARED && o.blocks_per_sm == 5, "%d", o.blocks_per_sm);
    cr_assert(sscanf(o.lift, "%d bytes", &number) == 1, "%s", o.lift);
    cr_expect(occupy(&h200, 128, 0, number, 0).by_shared == 6 && occupy(&h200, 128, 0, number + 1, 0).by_shared == 5, "%s",
              o.lift);

    o = occupy(&h200, 32, 0, 0, 0);
    cr_expect(o.limit == TJ_LIMIT_BLOCKS && o.blocks_per_sm == 32 && strstr(o.lift, "larger blocks"), "%s", o.lift);
    o = occupy(&h200, 736, 0, 0, 0);
    cr_assert(o.limit == TJ_LIMIT_THREADS && o.blocks_per_sm == 2 && sscanf(o.lift, "blocks of %d", &number) == 1, "%s",
              o.lift);
    cr_expect(occupy(&h200, number, 0, 0, 0).by_threads == 3, "%s", o.lift);
}

Test(occupancy, knows_the_published_limits_of_each_compute_capability)
{
    /* Blocks, warps, shared KiB per multiprocessor: CUDA C++ programming guide, technical specifications per capability. */
    static const struct {
        const char *target;
        int32_t blocks, warps, shared_kib;
    } limits[] = {{"sm_75", 16, 32, 64},   {"sm_80", 32, 64, 164},  {"sm_86", 16, 48, 100},  {"sm_89", 24, 48, 100},
                  {"sm_90", 32, 64, 228},  {"sm_100", 32, 64, 228}, {"sm_103", 32, 64, 228}, {"sm_110", 24, 48, 228},
                  {"sm_120", 24, 48, 100}, {"sm_121", 24, 48, 100}};

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const tj_device_facts facts = named(limits[i].target);
        const int64_t most = facts.shared_per_block_optin;

        cr_expect(occupy(&facts, 32, 16, 0, 0).blocks_per_sm == limits[i].blocks, "%s", limits[i].target);
        cr_expect(occupy(&facts, 64, 16, 0, 0).max_warps_per_sm == limits[i].warps, "%s", limits[i].target);
        cr_expect(facts.shared_per_sm == limits[i].shared_kib * 1024, "%s", limits[i].target);
        cr_expect(occupy(&facts, 64, 16, most, 0).blocks_per_sm == 1 && occupy(&facts, 64, 16, most + 1, 0).blocks_per_sm == 0,
                  "%s", limits[i].target);
        cr_expect(occupy(&facts, 1024, 65, 0, 0).blocks_per_sm == 0 && occupy(&facts, 1024, 64, 0, 0).blocks_per_sm == 1, "%s",
                  limits[i].target);
    }
}

Test(occupancy, counts_waves_and_their_tail)
{
    const tj_device_facts h200 = named("sm_90");
    tj_occupancy o = occupy(&h200, 256, 32, 2048, 132 * 8);

    cr_expect(o.blocks_per_sm == 8 && o.blocks_per_wave == 1056 && o.waves == 1 && o.tail == 0);
    o = occupy(&h200, 256, 32, 2048, 132 * 8 + 1);
    cr_expect(o.waves == 2 && o.last_wave_blocks == 1 && o.tail > 0.49 && o.tail < 0.5, "%g", o.tail);
}

Test(occupancy, refuses_what_it_cannot_know)
{
    tj_device_facts facts = named("sm_90");
    tj_block_needs needs = {256, 32, 0};
    tj_occupancy o;
    tj_error err;

    facts.cc_major = 7;
    cr_expect(tj_occupy(&facts, &needs, 0, &o, &err) == TJ_ERR_UNSUPPORTED && strstr(err.message, "7.0"));
    facts = named("sm_90");
    needs.threads = 0;
    cr_expect(tj_occupy(&facts, &needs, 0, &o, &err) == TJ_ERR_INVALID_ARGUMENT);
    needs.threads = 256;
    needs.shared_bytes = -1;
    cr_expect(tj_occupy(&facts, &needs, 0, &o, &err) == TJ_ERR_INVALID_ARGUMENT);
    needs.shared_bytes = 0;
    facts.sm_count = 0;
    cr_expect(tj_occupy(&facts, &needs, 0, &o, &err) == TJ_ERR_INVALID_ARGUMENT && strstr(err.message, "tj_device_get"));
    cr_expect(tj_device_named("sm_70", &facts, &err) == TJ_ERR_NOT_FOUND && strstr(err.message, "sm_75"));
    cr_expect(strcmp(tj_limit_name((tj_limit)9), "?") == 0);
}

Test(occupancy, has_the_facts_that_the_emulator_has)
{
    static const char *const targets[] = {"sm_75",  "sm_80",  "sm_86",  "sm_89",  "sm_90",
                                          "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"};
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;
    tj_error err;

    cr_assert(setenv("TILEJIT_EMULATOR", EMULATOR_PATH, 1) == 0);
    options.driver = "emulator:sm_75,sm_80,sm_86,sm_89,sm_90,sm_100,sm_103,sm_110,sm_120,sm_121";
    cr_assert(tj_context_create(&options, &context, &err) == TJ_OK, "%s", err.message);
    for (int i = 0; i < (int)(sizeof targets / sizeof targets[0]); i++) {
        const tj_device_facts ours = named(targets[i]);
        tj_device_facts theirs = TJ_DEVICE_FACTS_INIT;

        cr_assert(tj_device_get(context, i, &theirs, &err) == TJ_OK, "%s", err.message);
        memcpy(theirs.name, ours.name, sizeof ours.name);
        memcpy(theirs.uuid, ours.uuid, sizeof ours.uuid);
        theirs.ordinal = ours.ordinal;
        theirs.driver_version = ours.driver_version;
        cr_expect(memcmp(&ours, &theirs, sizeof ours) == 0, "%s", targets[i]);
    }
    tj_context_free(context);
}
