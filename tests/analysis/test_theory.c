/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * The textbook's numbers. Each test quotes the sentence that it checks; those of occupancy are in test_occupancy.c.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tilejit/tools.h>

#include "of_problem.h"

static const double GIGA = 1e9;

static tj_counts count(const char *text, tj_problem problem)
{
    tj_config config;
    tj_counts counts;
    tj_error err;

    cr_assert(tj_config_parse(text, &config, &err) == TJ_OK, "%s", err.message);
    cr_assert(tj_count(&problem, &config, &counts, &err) == TJ_OK, "%s", err.message);
    return counts;
}

static tj_problem square(int64_t width)
{
    const tj_problem problem = TJ_PROBLEM_INIT(width, width, width, TJ_F32);

    return problem;
}

static tj_device_facts named(const char *target)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_error err;

    cr_assert(tj_device_named(target, &facts, &err) == TJ_OK, "%s", err.message);
    return facts;
}

static tj_peaks peaks_of(const tj_device_facts *facts, double measured)
{
    tj_peaks peaks = TJ_PEAKS_INIT;
    tj_error err;

    cr_assert(tj_find_peaks(facts, measured, &peaks, &err) == TJ_OK, "%s", err.message);
    return peaks;
}

/* An A100 40GB: the device of the table, 1 555 GB/s. */
static tj_peaks a100(void)
{
    tj_device_facts facts = named("sm_80");

    facts.memory_clock_khz = 1215000;
    return peaks_of(&facts, 0);
}

static bool near(double value, double quoted, double tolerance)
{
    return fabs(value - quoted) <= tolerance;
}

/* ---- section 1 ---------------------------------------------------------------------------------------------------- */

/* "2 FLOP (multiply, add) for 8 bytes read (one element of M, one of N): 0.25 FLOP/B" */
Test(theory, the_naive_product_does_a_quarter_flop_per_byte)
{
    const tj_counts c = count("naive:tile_width=16", square(256));

    cr_expect(c.phase.intensity == 0.25, "%g", c.phase.intensity);
    cr_expect((double)c.flop / (double)(c.load_m.bytes + c.load_n.bytes) == 0.25);
    /* "one operation per access, in the older CGMA count" */
    cr_expect(c.flop == c.load_m.elements + c.load_n.elements && c.phase.flop == c.phase.loads);
}

/* "example in the lectures | 200 GB/s | 1 500 GFLOPS | 50 GFLOPS | 3.3 % | 7.5" */
Test(theory, the_lectures_example_reaches_50_of_1500_gflops)
{
    const tj_peaks lecture = {.struct_size = sizeof lecture,
                              .per_s = {[TJ_PIPE_F32] = 1500 * GIGA, [TJ_PIPE_MEMORY] = 200 * GIGA}};
    const tj_roof roof = tj_roofline(&lecture, TJ_PIPE_F32, 0.25);

    cr_expect(roof.attainable == 50 * GIGA && near(100 * roof.of_peak, 3.3, 0.05) && roof.is_memory_bound);
    cr_expect(roof.ridge == 7.5);
    cr_expect(roof.ridge * 4 == 30); /* "30 operations per access" of 4 bytes */
}

/* "A100 | 1 555 GB/s | 19 500 GFLOPS | 389 GFLOPS | 2 % (0.25 % of the 156 TFLOPS tensor peak) | 12.5 (about 50 operations...)" */
Test(theory, the_naive_product_reaches_389_gflops_on_an_a100)
{
    const tj_peaks peaks = a100();
    const tj_roof roof = tj_roofline(&peaks, TJ_PIPE_F32, 0.25);

    cr_expect(near(roof.bandwidth / GIGA, 1555, 0.5), "%g", roof.bandwidth);
    cr_expect(near(roof.peak / GIGA, 19500, 10), "%g", roof.peak);
    cr_expect(near(roof.attainable / GIGA, 389, 0.5), "%g", roof.attainable);
    cr_expect(near(100 * roof.of_peak, 2, 0.05) && near(100 * roof.attainable / peaks.per_s[TJ_PIPE_TENSOR_TF32], 0.25, 0.005));
    cr_expect(near(roof.ridge, 12.5, 0.05), "%g", roof.ridge);
    cr_expect(near(4 * roof.ridge, 50, 0.5));
}

/* "H200 (measured here) | about 4 300 GB/s | 66 900 GFLOPS | 1 075 GFLOPS | 1.6 % | 15.6" */
Test(theory, the_naive_product_reaches_1075_gflops_on_an_h200)
{
    const tj_device_facts facts = named("sm_90");
    const tj_peaks peaks = peaks_of(&facts, 4300 * GIGA);
    const tj_roof roof = tj_roofline(&peaks, TJ_PIPE_F32, 0.25);

    cr_expect(peaks.is_measured && near(roof.peak / GIGA, 66900, 50), "%g", roof.peak);
    cr_expect(roof.attainable == 1075 * GIGA && near(100 * roof.of_peak, 1.6, 0.05) && near(roof.ridge, 15.6, 0.05));
}

/* "attainable = min(peak, bandwidth * intensity). Left of the ridge a program is memory-bound, right of it compute-bound" */
Test(theory, the_roof_is_the_lower_of_two)
{
    const tj_peaks peaks = a100();
    const double ridge = tj_roofline(&peaks, TJ_PIPE_F32, 1).ridge;

    cr_expect(tj_roofline(&peaks, TJ_PIPE_F32, 1000).attainable == peaks.per_s[TJ_PIPE_F32] &&
              !tj_roofline(&peaks, TJ_PIPE_F32, 1000).is_memory_bound);
    cr_expect(tj_roofline(&peaks, TJ_PIPE_F32, 1).attainable == peaks.per_s[TJ_PIPE_MEMORY] &&
              tj_roofline(&peaks, TJ_PIPE_F32, 1).is_memory_bound);
    cr_expect(tj_roofline(&peaks, TJ_PIPE_F32, ridge).of_peak > 0.9999 &&
              !tj_roofline(&peaks, TJ_PIPE_F32, ridge).is_memory_bound);
    cr_expect(tj_roofline(&peaks, TJ_PIPE_F32, 0).attainable == 0);
}

/* ---- section 4 ---------------------------------------------------------------------------------------------------- */

/* "naive: 2 * j * k * l; tiled: 2 * j * k * l / T: the factor is T; stores: j * l both" */
Test(theory, tiling_divides_the_loads_by_the_tile_width)
{
    static const int32_t widths[] = {4, 8, 16, 32};
    const tj_problem problem = TJ_PROBLEM_INIT(64, 96, 160, TJ_F32);
    const int64_t naive_loads = INT64_C(2) * 64 * 96 * 160;
    const tj_counts naive = count("naive", problem);

    cr_expect(naive.load_m.elements + naive.load_n.elements == naive_loads && naive.store_p.elements == 64 * 160);
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        char text[64];
        tj_counts c;

        snprintf(text, sizeof text, "tiled:tile_width=%d", widths[i]);
        c = count(text, problem);
        cr_expect(c.load_m.elements + c.load_n.elements == naive_loads / widths[i], "T = %d", widths[i]);
        /* "each element of M is read l/T times, each of N j/T times" */
        cr_expect(c.load_m.elements == 64 * 96 * (160 / widths[i]) && c.load_n.elements == 96 * 160 * (64 / widths[i]));
        cr_expect(c.store_p.elements == 64 * 160);
        /* "intensity: 0.25 * T FLOP/B" */
        cr_expect(c.phase.intensity == 0.25 * widths[i]);
        /* "phases: ceil(k / T); barriers: 2 per phase" */
        cr_expect(c.phases == 96 / widths[i] && c.barriers == 2 * c.phases * c.blocks);
    }
}

/* "T = 16 gives 4 (A100 roof 6 220 GFLOPS, 32 % of peak), T = 32 gives 8" */
Test(theory, a_tile_of_16_lifts_the_a100s_roof_to_6220_gflops)
{
    const tj_peaks peaks = a100();
    const tj_roof roof = tj_roofline(&peaks, TJ_PIPE_F32, count("tiled:tile_width=16", square(64)).phase.intensity);

    cr_expect(roof.intensity == 4 && near(roof.attainable / GIGA, 6220, 1) && near(100 * roof.of_peak, 32, 0.2), "%g %g",
              roof.attainable, roof.of_peak);
    cr_expect(count("tiled:tile_width=32", square(64)).phase.intensity == 8);
}

/* "T = 16: 512 loads for 8 192 operations (16 per load); T = 32: 2 048 loads for 65 536 operations (32 per load)" */
Test(theory, a_phase_of_16_is_512_loads_for_8192_operations)
{
    tj_counts c = count("tiled:tile_width=16", square(64));

    cr_expect(c.phase.loads == 512 && c.phase.flop == 8192 && c.phase.flop / c.phase.loads == 16);
    c = count("tiled:tile_width=32", square(64));
    cr_expect(c.phase.loads == 2048 && c.phase.flop == 65536 && c.phase.flop / c.phase.loads == 32);
}

/* "Not divisible: the same with each term clipped; the zero fills cost no load." */
Test(theory, zero_fill_costs_no_load)
{
    const tj_problem problem = TJ_PROBLEM_INIT(33, 18, 29, TJ_F32);
    const tj_counts c = count("tiled:tile_width=16", problem);

    cr_expect(c.load_m.elements == 33 * 18 * 2 && c.load_n.elements == 18 * 29 * 3 && c.store_p.elements == 33 * 29);
    cr_expect(c.phases == 2 && c.blocks == 6);
    cr_expect(c.flop == 2 * 33 * 18 * 29 &&
              c.work[TJ_PIPE_F32] == 2 * 6 * 2 * 16 * 16 * 16); /* the zeros are multiplied all the same */
}

/* ---- section 3, number 6: the device query ------------------------------------------------------------------------ */

/* "2 * TILE_WIDTH^2 * element size <= shared memory per block and TILE_WIDTH^2 <= threads per block (1024) and registers; the
 * shared-memory bound alone would give absurd widths." */
Test(theory, the_square_root_of_shared_memory_alone_is_absurd)
{
    const tj_device_facts facts = named("sm_80");
    tj_tile_limits limits = TJ_TILE_LIMITS_INIT;
    tj_error err;

    cr_assert(tj_widest_tile(&facts, 4, 32, &limits, &err) == TJ_OK, "%s", err.message);
    cr_expect(limits.by_shared == 144 && 144 * 144 > 20 * 1024, "%d", limits.by_shared); /* 20 736 threads in a block */
    cr_expect(limits.by_threads == 32 && limits.by_registers == 45 && limits.widest == 32, "%d", limits.by_registers);
    cr_assert(tj_widest_tile(&facts, 4, 255, &limits, &err) == TJ_OK);
    cr_expect(limits.by_registers == 16 && limits.widest == 16, "%d", limits.by_registers);
    cr_assert(tj_widest_tile(&facts, 8, 0, &limits, &err) == TJ_OK);
    cr_expect(limits.by_shared == 102 && limits.widest == 32);
    cr_expect(tj_widest_tile(&facts, 0, 0, &limits, &err) == TJ_ERR_INVALID_ARGUMENT);
    cr_expect(tj_widest_tile(&facts, 4, 256, &limits, &err) == TJ_ERR_INVALID_ARGUMENT);
}
