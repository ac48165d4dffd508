/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * Products of which one triangle is computed, on the emulator: every family that takes them, types, sizes, layouts, batches and
 * epilogues; and the requests that are refused, with their messages.
 */
#include <math.h>
#include <stdio.h>

#include "product_test.h"
#include "scales.h"

TestSuite(symmetric, .fini = stop, .timeout = 300);

static const char *const triangles[] = {"not", "both", "lower", "upper"};

/* j x k x j, with the layouts, the batch and the epilogue that a number says. */
static tj_problem nth_problem(int64_t j, int64_t k, tj_type type, unsigned number, tj_workbench_options *options)
{
    tj_problem problem = TJ_PROBLEM_INIT(j, k, j, type);

    problem.symmetric = (int8_t)(1 + number % 3);
    problem.m.layout = number / 2 % 2;
    problem.n.layout = number / 3 % 2;
    problem.p.layout = number / 4 % 2;
    problem.batch = number % 4 == 1 ? 3 : 1;
    problem.epilogue.has_alpha = number % 5 == 1;
    problem.epilogue.has_beta = number % 5 < 2;
    options->alpha = 2;
    options->beta = 3;
    options->guard_bytes = 256;
    options->seed = number;
    return problem;
}

static void expect_right(const tj_problem *problem, const char *config, const tj_workbench_options *options, unsigned number)
{
    char label[200];

    (void)snprintf(label, sizeof label, "%s, %s, %dx%d, variant %u", config ? config : "chosen", triangles[problem->symmetric],
                   (int)problem->j.extent, (int)problem->k.extent, number);
    expect_right_product(problem, config, options, label);
}

/* Sizes with one tile, whole tiles and short ones; odd and even numbers of rows of tiles fold differently. */
Test(symmetric, each_family_computes_one_triangle)
{
    static const struct {
        const char *config;
        tj_type type;
    } rows[] = {{"naive:tile_width=8", TJ_F32},
                {"tiled:tile_width=8", TJ_F64},
                {"tiled:shared=dynamic,tile_width=16", TJ_BF16},
                {"simt:copy=registers,bm=32,bn=32,bk=8,tm=4,tn=4", TJ_F16},
                {"simt:copy=async,bm=32,bn=32,bk=8,tm=4,tn=4,group=2", TJ_F32},
                {"simt:copy=async,bm=32,bn=32,bk=8,tm=4,tn=4,splits=3", TJ_F64},
                {"mma:bm=32,bn=32,wm=16,wn=16", TJ_BF16},
                {"mma:bm=32,bn=32,wm=16,wn=32,rows=x", TJ_F64},
                {"mma:bm=16,bn=16,splits=2", TJ_F16},
                {"mma:bm=32,bn=32,wm=32,wn=16,slices=2,vector=1", TJ_S8}};
    static const int32_t extents[] = {1, 8, 31, 33, 64, 90};

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    for (unsigned i = 0, number = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (unsigned e = 0; e < sizeof extents / sizeof extents[0]; e += IS_NIGHTLY ? 1 : 1 + i % 2, number++) {
            tj_workbench_options options = TJ_WORKBENCH_INIT;
            const tj_problem problem = nth_problem(extents[e], 20 + (int64_t)number % 30, rows[i].type, number, &options);

            expect_right(&problem, rows[i].config, &options, number);
        }
}

/* A column-major P is the transpose of a row-major one, whose upper triangle is computed: a vector of partial sums may begin left of it. */
Test(symmetric, partial_sums_on_the_diagonal_are_stored)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_problem problem = TJ_PROBLEM_INIT(70, 64, 70, TJ_F64);

    open_context("sm_90", TJ_PROVE_NEVER);
    problem.p.layout = TJ_COL_MAJOR;
    problem.symmetric = TJ_SYMMETRIC_BOTH;
    if (has_nvrtc())
        expect_right(&problem, "simt:bm=32,bn=32,bk=8,tm=4,tn=4,splits=2", &options, 0);
}

/*
 * Blocks walk folded tiles; the copy engine stores squares of 16-bit elements and their transposes, or lanes store neighbours of rows and of
 * columns, one by one where lines begin anywhere.
 */
Test(symmetric, wgmma_walks_one_triangle)
{
    static const char *const configs[] = {"wgmma:bm=64,bn=64",
                                          "wgmma:bm=64,bn=64,store=elements",
                                          "wgmma:bm=64,bn=64,splits=2",
                                          "wgmma:bm=128,bn=128,pingpong=yes",
                                          "wgmma:bm=64,bn=64,cluster=k2",
                                          "wgmma:bm=64,bn=64,store=lines"};
    static const struct {
        tj_type type, p;
        tj_compute compute;
    } rows[] = {{TJ_BF16, 0, 0}, {TJ_F16, TJ_F32, 0}, {TJ_F32, 0, TJ_COMPUTE_TF32},
                {TJ_S8, 0, 0},   {TJ_S8, TJ_S8, 0},   {TJ_E4M3, TJ_BF16, TJ_COMPUTE_F32_FP8}};
    static const int32_t extents[] = {200, 97, 64, 256, 40, 320};

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    for (unsigned number = 0; number < (IS_NIGHTLY ? 60 : 15); number++) {
        const int row = (int)(number % 6);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        tj_problem problem =
            nth_problem(extents[(number + number / 6) % 6], 64 + 16 * (int64_t)(number % 3), rows[row].type, number, &options);

        if (number % 5 == 4) /* a cluster transposes nothing */
            problem.m.layout = TJ_ROW_MAJOR, problem.n.layout = TJ_COL_MAJOR;
        problem.p.type = rows[row].p;
        problem.compute = (int8_t)rows[row].compute;
        expect_right(&problem, configs[number % 5], &options, number);
        if (number % 5 == 0)
            expect_right(&problem, configs[5], &options, number);
    }
}

/* Squares of 64 x 64: of both layouts, in batches, with epilogues, over edges, in every kind of tile, and those on the diagonal alone. */
Test(symmetric, wgmma_turns_squares_around)
{
    static const char *const configs[] = {"wgmma:bm=64,bn=64,store=boxes", "wgmma:bm=128,bn=128,pingpong=yes,store=boxes",
                                          "wgmma:bm=128,bn=64,store=boxes", "wgmma:bm=128,bn=128,cluster=k2,store=boxes"};
    static const int32_t extents[] = {64, 200, 320, 8, 136};

    open_context("sm_90", TJ_PROVE_NEVER);
    for (unsigned number = 0; number < (IS_NIGHTLY ? 60 : 20) && has_nvrtc(); number++) {
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        tj_problem problem =
            TJ_PROBLEM_INIT(extents[number % 5], 72 + 8 * (number % 3), extents[number % 5], number % 3 ? TJ_BF16 : TJ_F16);

        problem.n.layout = number / 2 % 2;
        problem.p.layout = number / 3 % 2;
        problem.batch = number % 4 == 2 ? 1 : 1 + (int64_t)(number / 4 % 2) * 2;
        problem.symmetric = TJ_SYMMETRIC_BOTH;
        problem.epilogue.has_alpha = number / 5 % 2;
        problem.epilogue.has_beta = number / 3 % 2;
        if (number % 4 == 3) /* rows and columns outside P read what is inside */
            cr_assert(
                eq(int, tj_epilogue_parse("acc * 2 + c * -3 + row_sum[row] * col_sum[col]", &problem.epilogue, &err), TJ_OK),
                "%s", err.message);
        options.alpha = -2;
        options.guard_bytes = 256;
        expect_right(&problem, configs[number % 4], &options, number);
    }
}

/*
 * Tiles of two squares: whole ones lie in a square of tiles, those with one square in a row after them, and a block takes two of these for
 * a whole one. Sizes with an odd and an even number of rows of tiles, with one square row less, and few blocks that walk them.
 */
Test(symmetric, wgmma_walks_tiles_of_two_squares)
{
    static const int32_t extents[] = {128, 200, 256, 384, 600, 900};

    open_context("sm_90", TJ_PROVE_NEVER);
    for (unsigned number = 0; number < (IS_NIGHTLY ? 48 : 14) && has_nvrtc(); number++) {
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        tj_problem problem = nth_problem(extents[number % 6], 64 + 16 * (int64_t)(number % 3), TJ_BF16, number, &options);

        problem.multiprocessors = (int32_t)(number % 4); /* 0: all */
        expect_right(&problem, number % 3 ? "wgmma:bm=128,bn=64,group=4" : "wgmma:bm=256,bn=128", &options, number);
    }
}

/* The step of Newton and Schulz in Muon: b X + c X . X for a symmetric X, and alpha and C of the formula, each in the place of C. */
Test(symmetric, epilogues_see_one_triangle)
{
    static const char *const epilogues[] = {"acc * 2 + c * -3", "acc * weight[row] * weight2[col]", "acc + added[row, col]",
                                            "select(row == col, acc + 1, acc)"};
    static const char *const configs[] = {"tiled:tile_width=8", "simt:bm=32,bn=32,tm=4,tn=4", "mma:bm=32,bn=32",
                                          "wgmma:bm=64,bn=64"};

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    for (unsigned i = 0; i < 12; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(72, 40, 72, TJ_F16);
        tj_workbench_options options = TJ_WORKBENCH_INIT;

        problem.symmetric = (int8_t)(1 + i % 3);
        problem.p.layout = i / 4 % 2;
        options.guard_bytes = 256;
        cr_assert(eq(int, tj_epilogue_parse(epilogues[i % 4], &problem.epilogue, &err), TJ_OK), "%s", err.message);
        expect_right(&problem, configs[(i + i / 4) % 4], &options, i);
    }
}

/* Scales of M and N, extents that each launch brings, arrays of pointers, and the proof before a first launch. */
Test(symmetric, goes_with_what_other_products_have)
{
    open_context("sm_90", TJ_PROVE_BEFORE);
    if (!has_nvrtc())
        return;
    for (unsigned i = 0; i < 9; i++) {
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        tj_problem problem = nth_problem(70, 48, i % 2 ? TJ_BF16 : TJ_F32, i, &options);

        if (i < 3) {
            problem.scale[TJ_MATRIX_M] = (tj_scale)SCALE_EACH;
            problem.scale[TJ_MATRIX_N] = (tj_scale)SCALE_EACH;
        } else if (i < 6) {
            problem.j.mode = problem.l.mode = problem.k.mode = TJ_DIM_ANY;
        } else {
            problem.batch = 2;
            problem.m.stride = problem.n.stride = problem.p.stride = TJ_POINTERS;
        }
        expect_right(&problem, NULL, &options, i);
    }
}

/* Without a boundary, n x n tiles make n (n + 1) / 2 of a triangle: counted by the emulator, so none is computed twice. */
Test(symmetric, no_tile_is_computed_twice)
{
    static const struct {
        const char *config;
        tj_type type;
        int64_t tile;
    } rows[] = {{"tiled:tile_width=8", TJ_F32, 8},
                {"simt:bm=32,bn=32,tm=4,tn=4,group=2", TJ_F32, 32},
                {"mma:bm=16,bn=16", TJ_BF16, 16},
                {"wgmma:bm=64,bn=64", TJ_BF16, 64},
                {"wgmma:bm=128,bn=64", TJ_BF16, 64}};
    const tj_emulator *emulator;

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    cr_assert(eq(int, tj_emulator_get(context, &emulator, &err), TJ_OK), "%s", err.message);
    (void)emulator->set_option(CUEMU_COUNT, 1);
    for (int64_t n = 1; n < 20; n++) {
        const int row = (int)(n % 5);
        const int64_t side = row == 4   ? n % 4 * 2 + 2
                             : row == 3 ? n % 7 + 1
                                        : n, /* whole tiles of two squares */
            extent = side * rows[row].tile;
        uint64_t flop[2];

        for (int is_symmetric = 0; is_symmetric < 2; is_symmetric++) {
            tj_workbench_options options = TJ_WORKBENCH_INIT;
            tj_problem problem = TJ_PROBLEM_INIT(extent, 64, extent, rows[row].type);
            cuEmuLaunch launch;

            problem.symmetric = (int8_t)(is_symmetric ? 1 + n % 3 : 0);
            expect_right(&problem, rows[row].config, &options, (unsigned)n);
            cr_assert(emulator->get_launch(&launch));
            flop[is_symmetric] = launch.total.mma_flops + 2 * launch.total.fma;
        }
        cr_expect(eq(u64, flop[1] * 2 * (uint64_t)side, flop[0] * (uint64_t)(side + 1)), "%s, %d tiles", rows[row].config,
                  (int)side);
    }
}

/* Half of the operations and of the tiles; of P and C what is written and read. */
Test(symmetric, counts_are_those_of_one_triangle)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_config config = TJ_CONFIG_INIT;

    open_context("sm_90", TJ_PROVE_NEVER);
    cr_assert(eq(int, tj_device_get(context, 0, &facts, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_config_parse("mma:bm=128,bn=128", &config, &err), TJ_OK), "%s", err.message);
    for (int symmetric = TJ_SYMMETRIC_BOTH; symmetric <= TJ_SYMMETRIC_UPPER; symmetric++) {
        tj_problem problem = TJ_PROBLEM_INIT(1024, 512, 1024, TJ_BF16);
        tj_analysis analysis = TJ_ANALYSIS_INIT;
        const int64_t elements = 1024 * 1025 / 2;

        problem.symmetric = (int8_t)symmetric;
        problem.epilogue.has_beta = 1;
        cr_assert(eq(int, tj_analyze(&facts, &problem, &config, 0, 0, &analysis, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(i64, analysis.work.flop, (2 * 512 + 2) * elements));
        cr_expect(eq(i64, analysis.work.blocks, 8 * 9 / 2));
        cr_expect(eq(i64, analysis.work.traffic[TJ_LOAD_C].bytes, 2 * elements));
        cr_expect(
            eq(i64, analysis.work.traffic[TJ_STORE_P].bytes, symmetric == TJ_SYMMETRIC_BOTH ? 2 * 1024 * 1024 : 2 * elements));
        cr_expect(eq(i64, analysis.work.traffic[TJ_LOAD_M].bytes, 2 * 1024 * 512 * 8 * 36 / 64));
    }
}

Test(symmetric, requests_are_refused_in_words)
{
    static const struct {
        const char *field, *value, *says;
    } rows[] = {{"groups", "2", "has groups"},
                {"gather", "1", "has an index of rows"},
                {"any", "j", "j is known only at launch and l is fixed"},
                {"epilogue", "aux[row,col] = acc; acc", "outputs besides P"},
                {"epilogue", "acc[2*col] * acc[2*col+1]", "pairs of columns"},
                {"scale-p", "f32:1x32:row-by-row", "scales of P"},
                {"symmetric", "left", "use one of both, lower, upper, hermitian, hermitian-lower, hermitian-upper"},
                {"symmetric", "hermitian", "P is Hermitian, and the product of f16 is real"},
                {"conj-n", "1", "N is conjugated and holds f16, which are real"}};
    tj_config config = TJ_CONFIG_INIT;
    tj_problem problem = TJ_PROBLEM_INIT(64, 64, 32, TJ_F16);

    open_context("sm_90", TJ_PROVE_NEVER);
    problem.symmetric = TJ_SYMMETRIC_LOWER;
    cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("P is 64 x 32, and a symmetric P is square"), "%s", err.message);
    problem.l.extent = 64;
    for (int number = -1; number <= TJ_HERMITIAN_UPPER + 1; number += TJ_HERMITIAN_UPPER + 2) {
        problem.symmetric = (int8_t)number;
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(says("use TJ_SYMMETRIC_NOT"), "%s", err.message);
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem wrong = problem;

        wrong.symmetric = TJ_SYMMETRIC_BOTH;
        wrong.p.type = strcmp(rows[i].field, "scale-p") == 0 ? TJ_E4M3 : 0;
        cr_expect(tj_problem_set(&wrong, rows[i].field, rows[i].value, &err) != TJ_OK ||
                      tj_problem_check(&wrong, &err) != TJ_OK,
                  "%s", rows[i].value);
        cr_expect(says(rows[i].says), "%s", err.message);
    }
    problem.symmetric = TJ_SYMMETRIC_BOTH;
    config.family = tj_family_find("skinny");
    cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("family skinny computes all of P"), "%s", err.message);
    for (size_t i = 0; i < 4; i++) {
        static const char *const oblong[] = {"mma:bm=64,bn=128", "wgmma:bm=64,bn=128", "wgmma:bm=128,bn=64,multipliers=1",
                                             "wgmma:bm=128,bn=64,splits=2"};

        cr_assert(eq(int, tj_config_parse(oblong[i], &config, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(says(i < 2 ? "tiles are 64 x 128, and a symmetric P is computed in square ones: make BM and BN equal"
                             : "tiles are 128 x 64, and a symmetric P is computed in square ones: make BM and BN equal"),
                  "%s", err.message);
    }
}

/* A launch brings the extents, and must bring a square. C may be P, whose other triangle is not read. */
Test(symmetric, launch_takes_a_square_and_c_in_place)
{
    tj_problem problem = TJ_PROBLEM_INIT(20, 8, 20, TJ_F32);
    tj_operands operands = TJ_OPERANDS_INIT;
    float x[20 * 8], p[20 * 20], sum;
    tj_buffer *on_device[2];

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    problem.n.transposed = 1;
    problem.symmetric = TJ_SYMMETRIC_BOTH;
    problem.epilogue.has_beta = 1;
    problem.j.mode = problem.l.mode = TJ_DIM_ANY;
    cr_assert(eq(int, tj_buffer_create(context, sizeof x, &on_device[0], &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_create(context, sizeof p, &on_device[1], &err), TJ_OK), "%s", err.message);
    operands.m.address = operands.n.address = tj_buffer_address(on_device[0]);
    operands.p.address = tj_buffer_address(on_device[1]);
    operands.beta = 1;
    operands.j = 16;
    cr_expect(eq(int, tj_matmul(context, &problem, &operands, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("P is 16 x 20, and a symmetric P is square"), "%s", err.message);
    operands.j = 0;
    for (int i = 0; i < 20 * 8; i++)
        x[i] = (float)(i % 7);
    for (int i = 0; i < 20 * 20; i++)
        p[i] = i % 20 > i / 20 ? NAN : (float)i; /* above the diagonal */
    cr_assert(eq(int, tj_buffer_write(on_device[0], 0, x, sizeof x, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_write(on_device[1], 0, p, sizeof p, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_matmul(context, &problem, &operands, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_read(on_device[1], 0, p, sizeof p, &err), TJ_OK), "%s", err.message);
    tj_buffer_free(on_device[0]);
    tj_buffer_free(on_device[1]);
    for (int r = 0; r < 20; r++)
        for (int c = 0; c <= r; c++) {
            sum = (float)(r * 20 + c);
            for (int k = 0; k < 8; k++)
                sum += x[r * 8 + k] * x[c * 8 + k];
            cr_expect(p[r * 20 + c] == sum && p[c * 20 + r] == sum, "P[%d][%d]", r, c);
        }
}
