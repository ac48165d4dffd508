/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * A textbook's statements about naive and tiled products, counted: the kernels that the library generates and compiles, run by
 * the emulator. Every number is worked out here from the sentence above it; none is taken from a run.
 */
#include "of_problem.h"
#include "product_test.h"

static tj_context *context;

static void open_all(void)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_error err;

    options.cache_dir = "";
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    open_emulator("sm_80");
    cr_assert(cu.set_option(CUEMU_COUNT, 1));
}

static void close_all(void)
{
    tj_context_free(context);
}

TestSuite(textbook, .init = open_all, .fini = close_all, .timeout = 280);

static const int64_t widths[] = {4, 8, 16, 32};
enum { WIDTHS = 4 };

/* j, k, l: multiples of every width; and sizes that hang over every edge, below and above one tile. */
static const int64_t even[][3] = {{64, 64, 64}, {32, 96, 64}};
static const int64_t odd[][3] = {{61, 47, 83}, {33, 65, 31}, {7, 100, 3}, {1, 1, 1}, {64, 50, 64}, {50, 64, 33}};
enum { EVENS = 2, ODDS = 6 };

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The product of a family at one width, right and without a finding. piece, if any, is replaced in the text. */
static cuEmuLaunch count(const char *family, int64_t width, const tj_problem *problem, const char *piece, const char *instead)
{
    char config[64];
    const product what = {*problem, config, 1, 0, NO_SLIP};
    tj_source *source;
    tj_image *image = NULL;
    tj_error err = {TJ_OK, ""};
    cuEmuLaunch launch;
    char *ptx;
    outcome o;

    snprintf(config, sizeof config, "%s", family);
    if (width > 0)
        snprintf(config, sizeof config, "%s%ctile_width=%d", family, strchr(family, ':') ? ',' : ':', (int)width);
    source = generate(&what);
    if (piece) {
        const char *text = tj_source_text(source), *at = strstr(text, piece);
        char *changed = calloc(1, strlen(text) + strlen(instead) + 1);
        cr_assert(at && changed, "no \"%s\"", piece);
        sprintf(changed, "%.*s%s%s", (int)(at - text), text, instead, at + strlen(piece));
        ptx = compile_text(nvrtc_or_skip("emulator/textbook"), changed, "sm_80", config);
        free(changed);
    } else {
        nvrtc_or_skip("emulator/textbook");
        cr_assert(eq(int, tj_compile(context, source, "compute_80", &image, &err), TJ_OK), "%s", err.message);
        ptx = strdup(tj_image_ptx(image, NULL));
    }
    o = run_product(ptx, source, &what);
    cr_assert(eq(sz, o.found.count, 0), "%s: %s", config, o.found.first[0].text);
    cr_assert(o.is_right, "%s: %s", config, o.reason);
    cr_assert(eq(int, cu.get_launch(&launch), 1));
    cr_assert(eq(str, launch.kernel, (char *)tj_source_kernel(source)));
    free(ptx);
    tj_image_free(image);
    tj_source_free(source);
    return launch;
}

static tj_problem product_of(const int64_t size[3])
{
    return (tj_problem)TJ_PROBLEM_INIT(size[0], size[1], size[2], TJ_F32);
}

/* "Each thread reads a whole row of M and a whole column of N": 2 * j * k * l loads, j * l stores, j * k * l multiply-adds. */
Test(textbook, naive_reads_two_elements_for_each_multiply_add)
{
    for (int s = 0; s < EVENS + ODDS; s++)
        for (int w = 0; w < WIDTHS; w++) {
            const int64_t *n = s < EVENS ? even[s] : odd[s - EVENS];
            const tj_problem problem = product_of(n);
            const cuEmuCounters c = count("naive", widths[w], &problem, NULL, NULL).total;
            const uint64_t jkl = (uint64_t)(n[0] * n[1] * n[2]);
            cr_expect(eq(u64, c.global_loads, 2 * jkl), "%d %d %d T %d", (int)n[0], (int)n[1], (int)n[2], (int)widths[w]);
            cr_expect(eq(u64, c.global_stores, (uint64_t)(n[0] * n[2])));
            cr_expect(eq(u64, c.fma, jkl));
            cr_expect(eq(u64, c.block_barriers, 0));
            cr_expect(eq(u64, c.shared_loads + c.shared_stores, 0));
            /* "0.25 FLOP/B": a multiply and an add for 8 bytes */
            cr_expect(eq(u64, c.flops * 4, c.global_load_bytes));
        }
}

/*
 * "Each element of M is read l / T times, each of N j / T times: the factor is T." Not divisible: by each of ceil(l / T) and
 * ceil(j / T) blocks; "the zero fills cost no load". Phases: ceil(k / T), "2 barriers per phase". Each of T * T threads of a
 * block does T multiply-adds a phase, at the edges too.
 */
static void check_tiled(const char *family, const int64_t n[3], int64_t width)
{
    const tj_problem problem = product_of(n);
    const cuEmuLaunch launch = count(family, width, &problem, NULL, NULL);
    const cuEmuCounters c = launch.total;
    const int64_t blocks = ceil_div(n[0], width) * ceil_div(n[2], width), phases = ceil_div(n[1], width);
    const int64_t loads = n[0] * n[1] * ceil_div(n[2], width) + n[1] * n[2] * ceil_div(n[0], width);
    const uint64_t warps = (uint64_t)ceil_div(width * width, 32);
    char label[96];

    snprintf(label, sizeof label, "%s %dx%dx%d T %d", family, (int)n[0], (int)n[1], (int)n[2], (int)width);
    cr_expect(eq(u64, (uint64_t)launch.grid[0] * launch.grid[1] * launch.grid[2], (uint64_t)blocks), "%s", label);
    cr_expect(eq(u64, c.global_loads, (uint64_t)loads), "%s", label);
    cr_expect(eq(u64, c.global_stores, (uint64_t)(n[0] * n[2])), "%s", label);
    cr_expect(eq(u64, c.block_barriers, (uint64_t)(blocks * 2 * phases)), "%s", label);
    cr_expect(eq(u64, c.barriers, c.block_barriers * warps), "%s", label);
    cr_expect(eq(u64, c.fma, (uint64_t)(blocks * phases * width * width * width)), "%s", label);
    cr_expect(eq(u64, c.shared_stores, (uint64_t)(blocks * phases * 2 * width * width)), "%s", label);
    cr_expect(eq(u64, c.shared_loads, 2 * c.fma), "%s", label);
    cr_expect(eq(u64, launch.shared_bytes, (uint64_t)(2 * width * width * 4)), "%s", label);
    cr_expect(eq(u64, c.local_requests, 0), "%s", label);
}

Test(textbook, tiled_reads_each_element_once_a_block_that_needs_it)
{
    for (int s = 0; s < EVENS + ODDS; s++)
        for (int w = 0; w < WIDTHS; w++)
            check_tiled("tiled", s < EVENS ? even[s] : odd[s - EVENS], widths[w]);
}

Test(textbook, tiled_in_dynamic_shared_memory_counts_the_same)
{
    for (int s = 0; s < EVENS + ODDS; s++)
        for (int w = 0; w < WIDTHS; w++)
            check_tiled("tiled:shared=dynamic", s < EVENS ? even[s] : odd[s - EVENS], widths[w]);
}

/* "The factor is T": naive's loads divided by tiled's; "intensity: 0.25 * T FLOP/B". */
Test(textbook, tiling_saves_the_factor_of_its_width)
{
    static const char *const families[] = {"tiled", "tiled:shared=dynamic"};

    for (int s = 0; s < EVENS; s++)
        for (int w = 0; w < WIDTHS; w++)
            for (int f = 0; f < 2; f++) {
                const tj_problem problem = product_of(even[s]);
                const cuEmuCounters naive = count("naive", widths[w], &problem, NULL, NULL).total;
                const cuEmuCounters tiled = count(families[f], widths[w], &problem, NULL, NULL).total;
                cr_expect(eq(u64, naive.global_loads, (uint64_t)widths[w] * tiled.global_loads), "T %d", (int)widths[w]);
                cr_expect(eq(u64, 4 * tiled.flops, (uint64_t)widths[w] * tiled.global_load_bytes), "T %d", (int)widths[w]);
                cr_expect(eq(u64, tiled.flops, naive.flops));
            }
}

/*
 * "Per phase and block: T = 16: 512 loads for 8 192 operations (16 per load); T = 32: 2 048 loads for 65 536 operations (32 per
 * load)."
 */
Test(textbook, a_phase_of_a_block)
{
    const tj_problem problem = TJ_PROBLEM_INIT(64, 96, 64, TJ_F32);
    const cuEmuCounters sixteen = count("tiled", 16, &problem, NULL, NULL).total;
    const cuEmuCounters thirty_two = count("tiled", 32, &problem, NULL, NULL).total;

    cr_expect(eq(u64, sixteen.global_loads, 4 * 4 * 6 * 512));
    cr_expect(eq(u64, sixteen.flops, 4 * 4 * 6 * 8192));
    cr_expect(eq(u64, sixteen.block_barriers, 4 * 4 * 6 * 2));
    cr_expect(eq(u64, thirty_two.global_loads, 2 * 2 * 3 * 2048));
    cr_expect(eq(u64, thirty_two.flops, 2 * 2 * 3 * 65536));
    cr_expect(eq(u64, thirty_two.block_barriers, 2 * 2 * 3 * 2));
}

/*
 * Neighbouring threads read neighbouring elements. A warp of T = 32, 16, 8 loads 1, 2, 4 rows of 128, 64, 32 bytes: 4 sectors
 * of 32 bytes, all of which are used. The half warp of a block of T = 4 loads 4 rows of 16 bytes: 4 sectors, half used. Stores
 * likewise.
 */
Test(textbook, tiled_loads_are_coalesced)
{
    const tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_F32);

    for (int w = 0; w < WIDTHS; w++) {
        const int64_t width = widths[w], tiles = 64 / width;
        const uint64_t warps = (uint64_t)ceil_div(width * width, 32);
        const cuEmuCounters c = count("tiled", width, &problem, NULL, NULL).total;
        const uint64_t requests = (uint64_t)(tiles * tiles * tiles) * warps * 2;
        cr_expect(eq(u64, c.global_load_requests, requests), "T %d", (int)width);
        cr_expect(eq(u64, c.global_load_sectors, 4 * requests), "T %d", (int)width);
        cr_expect(eq(u64, c.global_load_bytes * (width == 4 ? 2 : 1), 32 * c.global_load_sectors), "T %d", (int)width);
        cr_expect(eq(u64, c.global_store_sectors, 4 * c.global_store_requests), "T %d", (int)width);
    }
}

/*
 * A naive warp asks for one element of each of its 32 / T rows of M (of 4 for T = 4): as many sectors; and for T neighbours of
 * N: T / 8 sectors, at least 1. With N column-major its T neighbours are k elements apart, each in a sector of its own.
 */
Test(textbook, naive_loads_are_coalesced_unless_n_is_column_major)
{
    for (int w = 0; w < WIDTHS; w++) {
        const uint64_t width = (uint64_t)widths[w], lanes = width == 4 ? 16 : 32, steps = 64 * 64 / lanes * 64;
        const uint64_t of_m = lanes / width, of_n = width < 8 ? 1 : width / 8;
        tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_F32);
        cuEmuCounters c = count("naive", widths[w], &problem, NULL, NULL).total;
        cr_expect(eq(u64, c.global_load_requests, 2 * steps), "T %d", (int)width);
        cr_expect(eq(u64, c.global_load_sectors, steps * (of_m + of_n)), "T %d", (int)width);
        problem.n.layout = TJ_COL_MAJOR;
        c = count("naive", widths[w], &problem, NULL, NULL).total;
        cr_expect(eq(u64, c.global_load_sectors, steps * (of_m + width)), "T %d", (int)width);
        cr_expect(eq(u64, c.global_loads, 2 * 64 * 64 * 64), "T %d", (int)width);
    }
}

/*
 * Corner turning: with N column-major the tiled kernel still loads down the column, so that neighbours stay neighbours, and
 * counts as many sectors as for the row-major N.
 */
Test(textbook, tiled_loads_are_coalesced_in_every_layout)
{
    for (int w = 0; w < WIDTHS; w++)
        for (int layouts = 0; layouts < 8; layouts++) {
            tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_F32);
            cuEmuCounters c;
            problem.m.layout = layouts & 1;
            problem.n.layout = layouts >> 1 & 1;
            problem.p.layout = layouts >> 2;
            c = count("tiled", widths[w], &problem, NULL, NULL).total;
            cr_expect(eq(u64, c.global_load_sectors, 4 * c.global_load_requests), "T %d layouts %d", (int)widths[w], layouts);
            cr_expect(eq(u64, c.global_store_sectors, 4 * c.global_store_requests), "T %d layouts %d", (int)widths[w], layouts);
            cr_expect(eq(u64, c.global_loads, (uint64_t)(2 * 64 * 64 * 64 / widths[w])));
        }
}

/*
 * 32 banks of 4 bytes. A warp reads Mds[ty][i] for 32 / T values of ty, words T apart: less than 32 words from first to last,
 * so all in different banks, and lanes that read the same word share it. It reads T neighbours Nds[i][tx], and writes 32
 * neighbours. So there is no conflict at T = 32 and 16, nor, as 4 rows of 8 and 4 rows of 4 words also span at most 32, at T =
 * 8 and 4.
 */
Test(textbook, row_major_tiles_have_no_bank_conflict)
{
    static const char *const families[] = {"tiled", "tiled:shared=dynamic"};

    for (int s = 0; s < 2; s++)
        for (int w = 0; w < WIDTHS; w++)
            for (int f = 0; f < 2; f++) {
                const tj_problem problem = product_of(s ? odd[0] : even[0]);
                const cuEmuCounters c = count(families[f], widths[w], &problem, NULL, NULL).total;
                cr_expect(eq(u64, c.bank_conflicts, 0), "%s T %d", families[f], (int)widths[w]);
                cr_expect(eq(u64, c.shared_load_wavefronts, c.shared_load_requests), "%s T %d", families[f], (int)widths[w]);
                cr_expect(eq(u64, c.shared_store_wavefronts, c.shared_store_requests), "%s T %d", families[f], (int)widths[w]);
            }
}

/*
 * With N column-major a warp writes Nds[tx][ty], down columns. Rows of T words: T = 32 puts 32 words into one bank, 31
 * conflicts a store; T = 16 puts 8 words into each of 4 banks, 7 conflicts; T = 8 puts 2 words into each of 16, 1 conflict; T =
 * 4 writes 16 words in a row, none. With rows of T + 1 words: T = 32 writes words 33 apart, one in each bank, no conflict; T =
 * 16 writes words 17 tx and 17 tx + 1, of which the last, 256, meets word 0: 1 conflict; T = 8 writes 9 tx + 0..3, of which 64,
 * 65, 66 meet 0, 1, 2, in one more pass: 1 conflict; T = 4: none.
 */
Test(textbook, padding_takes_the_bank_conflicts_of_a_column_major_n_away)
{
    static const uint64_t padded[] = {0, 1, 1, 0}, unpadded[] = {0, 1, 7, 31};

    for (int w = 0; w < WIDTHS; w++) {
        const int64_t width = widths[w], tiles = 64 / width;
        const uint64_t stores = (uint64_t)(tiles * tiles * tiles * ceil_div(width * width, 32));
        tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_F32);
        problem.n.layout = TJ_COL_MAJOR;
        cr_expect(eq(u64, count("tiled", width, &problem, NULL, NULL).total.bank_conflicts, padded[w] * stores), "T %d",
                  (int)width);
        cr_expect(eq(u64, count("tiled", width, &problem, "[TILE_WIDTH + 1]", "[TILE_WIDTH]").total.bank_conflicts,
                     unpadded[w] * stores),
                  "T %d without padding", (int)width);
    }
}

/*
 * Small products move each element once, in whole sectors both ways (16 elements of f32 or 8 of f64 a line), and no two of
 * a warp's reads of shared memory meet in a bank, however M and N lie.
 */
Test(textbook, small_products_move_every_byte_once_and_meet_in_no_bank)
{
    static const int sizes[] = {16, 32, 64};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int layouts = 0; layouts < 4; layouts++)
            for (int products = 1; products <= 4; products += 3) {
                const uint64_t n = (uint64_t)sizes[i], bytes = 8 * n * n * 4;
                tj_problem problem = TJ_PROBLEM_INIT(sizes[i], sizes[i], sizes[i], TJ_F32);
                char config[64];
                cuEmuCounters c;

                problem.batch = 8;
                problem.m.layout = layouts & 1;
                problem.n.layout = layouts >> 1;
                snprintf(config, sizeof config, "small_batch:tm=4,tn=4,products=%d", n == 64 ? 1 : products);
                c = count(config, 0, &problem, NULL, NULL).total;
                cr_expect(eq(u64, c.global_load_sectors * 32, 2 * bytes), "%s, layouts %d", config, layouts);
                cr_expect(layouts >= 2 || c.global_store_sectors * 32 == bytes, "%s, layouts %d: %d sectors", config, layouts,
                          (int)c.global_store_sectors);
                cr_expect(eq(u64, c.bank_conflicts, 0), "%s, layouts %d", config, layouts);
                cr_expect(eq(u64, c.fma, 8 * n * n * n), "%s, layouts %d", config, layouts);
            }
}

/*
 * A warp's reads of register tiles meet in no bank, nor do the stores of what came through registers, nor copies of neighbours in a
 * line of memory. Copies along k are the exception, on purpose: 16 lanes share a line of memory, whose elements come to lie in 16
 * rows of the tile, two to a bank (slices: 8 lanes, and no conflict). So each request takes one pass more, or two of 8 bytes a lane.
 */
Test(textbook, register_tiles_meet_in_no_bank_but_for_copies_of_sixteen_along_k)
{
    static const char *const configs[] = {"simt:bm=64,bn=64,bk=16,tm=8,tn=8,stages=2,splits=1",
                                          "simt:bm=32,bn=64,bk=16,tm=8,tn=4,stages=3,splits=1",
                                          "simt:bm=64,bn=64,bk=16,tm=8,tn=8,slices=2,stages=2,splits=1",
                                          "simt:bm=64,bn=64,bk=16,tm=8,tn=8,copy=registers,splits=1"};
    static const int64_t sizes[][3] = {{64, 64, 64}, {63, 65, 66}};

    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++)
        for (int s = 0; s < 2; s++)
            for (int layouts = 0; layouts < 4; layouts += s == 0 ? 1 : 3)
                for (int dtype = TJ_F32; dtype <= (s == 0 && i == 0 ? TJ_F64 : TJ_F32); dtype++) {
                    tj_problem problem = TJ_PROBLEM_INIT(sizes[s][0], sizes[s][1], sizes[s][2], (tj_type)dtype);
                    const uint64_t words = dtype == TJ_F64 ? 2 : 1;
                    uint64_t along_k = 0;
                    tj_config config;
                    tj_counts predicted;
                    cuEmuCounters c;
                    tj_error err;

                    problem.m.layout = layouts & 1;
                    problem.n.layout = layouts >> 1;
                    cr_assert(tj_config_parse(configs[i], &config, &err) == TJ_OK, "%s", err.message);
                    cr_assert(tj_count(&problem, &config, &predicted, &err) == TJ_OK, "%s", err.message);
                    if (i < 2)
                        along_k = (uint64_t)((problem.m.layout == TJ_ROW_MAJOR ? predicted.load_m.requests : 0) +
                                             (problem.n.layout == TJ_COL_MAJOR ? predicted.load_n.requests : 0));
                    c = count(configs[i], 0, &problem, NULL, NULL).total;
                    cr_expect(eq(u64, c.bank_conflicts, 0), "%s %d layouts %d", configs[i], s, layouts);
                    cr_expect(eq(u64, c.async_conflicts, words * along_k), "%s %d layouts %d words %d", configs[i], s, layouts,
                              (int)words);
                    cr_expect(eq(u64, c.shared_loads * words, 32 * c.shared_load_wavefronts), "%s %d layouts %d", configs[i], s,
                              layouts);
                    cr_expect(eq(int, c.async_requests > 0, i < 3), "%s", configs[i]);
                    cr_expect(eq(u64, c.async_bytes, (uint64_t)predicted.async_bytes), "%s", configs[i]);
                }
}

/* Counts of lines add up to the launch's counts, and the inner statement's lines hold all of its multiply-adds. */
Test(textbook, lines_add_up_to_the_launch)
{
    const tj_problem problem = TJ_PROBLEM_INIT(61, 47, 83, TJ_F32);
    const cuEmuLaunch launch = count("tiled", 16, &problem, "using sum_t = float;", "using sum_t = float; // counted by line");
    cuEmuCounters sum = {0}, line;
    uint32_t ptx_line, cuda_line, last = 0;
    char text[200];
    uint64_t inner = 0;
    size_t i = 0;

    for (; cu.get_line(i, &ptx_line, &cuda_line, text, sizeof text, &line); i++) {
        sum.instructions += line.instructions;
        sum.lane_instructions += line.lane_instructions;
        sum.global_loads += line.global_loads;
        sum.fma += line.fma;
        sum.block_barriers += line.block_barriers;
        cr_expect(line.lane_instructions <= 32 * line.instructions);
        inner = line.fma > inner ? line.fma : inner;
        last = ptx_line > last ? ptx_line : last;
    }
    cr_expect(eq(sz, i, launch.instructions));
    cr_expect(eq(u64, sum.instructions, launch.total.instructions));
    cr_expect(eq(u64, sum.lane_instructions, launch.total.lane_instructions));
    cr_expect(eq(u64, sum.global_loads, launch.total.global_loads));
    cr_expect(eq(u64, sum.fma, launch.total.fma));
    cr_expect(eq(u64, sum.block_barriers, launch.total.block_barriers));
    cr_expect(gt(u64, inner, 0));
    /* the module is unloaded: its lines are not known any more, its numbers are */
    cr_expect(eq(u32, last, 0));
}
