/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Numbers at the ends of their types, drawn at random, through everything that computes with a problem or the facts of a device. The
 * sanitizer run finds what overflows; here a size that was accepted must be one.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

#include "estimate.h"
#include "of_problem.h"

enum { RUNS = 20000 };

static uint64_t state = 24;

static uint64_t next(void)
{
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 27);
}

/* 0, small, a power of two or its neighbour, an end of its range, or a special value. */
static int64_t extreme(int64_t most)
{
    const int64_t power = INT64_C(1) << next() % 63, ends[] = {0, 1, most, most - 1, -1, -2, -3, -4, 16, 300, 65536};

    switch (next() % 3) {
    case 0:
        return ends[next() % (sizeof ends / sizeof ends[0])];
    case 1:
        return (power > most ? most : power) - (int64_t)(next() % 3);
    default:
        return (int64_t)(next() % 1000);
    }
}

static tj_problem extreme_problem(void)
{
    tj_problem p = TJ_PROBLEM_INIT(extreme(INT32_MAX), extreme(INT32_MAX), extreme(INT32_MAX), TJ_F32);
    tj_dim *const dim[] = {&p.j, &p.k, &p.l};
    int64_t *const number[] = {&p.m.ld, &p.n.ld, &p.p.ld, &p.c.ld, &p.m.stride, &p.n.stride, &p.p.stride, &p.c.stride};
    int8_t *const word[] = {&p.m.layout, &p.n.layout, &p.p.layout};
    int8_t *const side[] = {&p.m.transposed, &p.n.transposed};
    int32_t *const flag[] = {&p.epilogue.has_alpha, &p.epilogue.has_beta};

    p.m.type = (int32_t)(next() % 5);
    p.batch = next() % 2 ? extreme(INT32_MAX) : (int64_t)(next() % 4);
    for (size_t i = 0; i < 3; i++)
        if (next() % 8 == 0)
            dim[i]->mode = TJ_DIM_ANY;
        else if (next() % 2)
            dim[i]->extent = 1 + (int64_t)(next() % 512);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        *number[i] = next() % 2 ? 0 : extreme(INT64_MAX);
    for (size_t i = 0; i < sizeof word / sizeof word[0]; i++)
        *word[i] = (int8_t)(next() % 2);
    for (size_t i = 0; i < sizeof side / sizeof side[0]; i++)
        *side[i] = (int8_t)(next() % 2);
    for (size_t i = 0; i < sizeof flag / sizeof flag[0]; i++)
        *flag[i] = (int32_t)(next() % 2);
    return p;
}

static void compute_with(const tj_problem *problem, const tj_device_facts *device)
{
    const tj_problem canonical = tj_problem_canonical(problem), strided = tj_problem_strided(problem);
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    tj_launch_form form;
    tj_counts counts;
    double us;
    tj_error err;

    /* All of a batch in one buffer may be more than one can hold. */
    cr_expect(tj_problem_check(&strided, &err) == TJ_OK || strstr(err.message, "63 bits") != NULL, "%s", err.message);
    cr_expect(eq(int, tj_problem_check(&canonical, &err), TJ_OK), "%s", err.message);
    for (int i = 0; i < 4; i++)
        cr_expect(tj_problem_span(problem, (tj_which)i) >= -1);
    if (next() % 2)
        config.family = tj_family_at(next() % tj_family_count());
    if (tj_generate(problem, &config, &source, &err) == TJ_OK)
        cr_expect(strlen(tj_source_text(source)) > 0);
    tj_source_free(source);
    if (tj_preview_launch(problem, &config, &form, &err) == TJ_OK)
        cr_expect(form.workspace_bytes >= 0);
    if (next() % 16 == 0 && tj_estimate(device, problem, &config, &us, &err) == TJ_OK)
        cr_expect(us >= 0);
    if (problem->j.extent * problem->l.extent < 1 << 20 && problem->batch < 8 && next() % 8 == 0 &&
        tj_count(problem, &config, &counts, &err) == TJ_OK)
        cr_expect(counts.global_bytes >= 0 && counts.flop >= 0);
}

Test(extremes, of_problems_overflow_nothing)
{
    int accepted = 0, too_large = 0;
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    tj_error err;

    cr_assert(eq(int, tj_device_named("sm_90", &device, &err), TJ_OK));
    for (int i = 0; i < RUNS; i++) {
        const tj_problem problem = extreme_problem();

        if (tj_problem_check(&problem, &err) == TJ_OK) {
            accepted++;
            compute_with(&problem, &device);
        } else {
            too_large += strstr(err.message, "does not fit 63 bits") != NULL;
        }
    }
    cr_expect(accepted > RUNS / 100 && too_large > RUNS / 100, "%d accepted, %d too large", accepted, too_large);
}

Test(extremes, of_a_leading_dimension_are_named)
{
    tj_problem problem = TJ_PROBLEM_INIT(512, 300, 700, TJ_F32);
    tj_error err;

    problem.batch = 2;
    problem.m.ld = INT64_C(1) << 48;
    problem.j.extent = 1 << 30;
    cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "ld_m 281474976710656") != NULL && strstr(err.message, "batch 2") != NULL, "%s", err.message);
    problem.k.mode = TJ_DIM_ANY; /* the width of a line is not known, its distance is */
    cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT));
}

Test(extremes, of_a_block_s_needs_overflow_nothing)
{
    int fits = 0;
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    tj_error err;

    for (int i = 0; i < RUNS; i++) {
        const tj_block_needs needs = {(int32_t)extreme(INT32_MAX), (int32_t)extreme(INT32_MAX), extreme(INT64_MAX)};
        tj_tile_limits limits = TJ_TILE_LIMITS_INIT;
        tj_occupancy o;
        int32_t *const fact[] = {&device.cc_major,
                                 &device.cc_minor,
                                 &device.sm_count,
                                 &device.max_threads_per_block,
                                 &device.max_threads_per_sm,
                                 &device.max_blocks_per_sm,
                                 &device.registers_per_block,
                                 &device.registers_per_sm};
        int64_t *const size[] = {&device.shared_per_block, &device.shared_per_block_optin, &device.shared_per_sm,
                                 &device.reserved_shared_per_block};

        cr_assert(eq(int, tj_device_named("sm_90", &device, &err), TJ_OK));
        if (next() % 2)
            *fact[next() % (sizeof fact / sizeof fact[0])] = (int32_t)extreme(INT32_MAX);
        if (next() % 2)
            *size[next() % (sizeof size / sizeof size[0])] = extreme(INT64_MAX);
        if (tj_occupy(&device, &needs, extreme(INT64_MAX), &o, &err) == TJ_OK) {
            fits += o.blocks_per_sm > 0;
            cr_expect(o.blocks_per_sm >= 0 && o.shared_taken >= 0 && o.waves >= 0);
        }
        if (tj_widest_tile(&device, 1 + (int32_t)(next() % 16), (int32_t)(next() % 256), &limits, &err) == TJ_OK)
            cr_expect(limits.widest >= 0);
    }
    cr_expect(fits > 100, "%d", fits);
}
