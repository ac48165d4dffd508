/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (it needs a GPU) */
/* tier: change; run: emulator/grouped 20 3 small; cost: 100 */
/* tier: change; run: emulator/grouped_sm_100 12 5 small; env: CUDA_EMULATOR_DEVICES=sm_100; cost: 60 */
/* tier: nightly; run: emulator/grouped_more 100 4 small; sanitizers: never (minutes of numbers) */
/*
 * grouped [CASES [SEED [small]]]: problems with groups of rows. It first runs random ones, as products.c draws them. Then it
 * tests what only a launch can show: offsets in device memory that change between the replays of a captured graph, offsets on
 * the host that the graph keeps, and offsets in device memory that are not valid. Runs that share a store (TILEJIT_CACHE_DIR) compile a
 * kernel once.
 */
#include "host_program.h"
#include "draw.h"

enum { TRIES = 500 };

static const char *const textbook[] = {"tiled:tile_width=8", "tiled:shared=dynamic", "naive", "naive:rows=x"};
static const char *const simt[] = {"simt:bm=16,bn=32,bk=16,tm=4,tn=4", "simt:bm=32,bn=64,bk=8,tm=8,tn=8,rows=x",
                                   "simt:bm=64,bn=64,bk=16,tm=4,tn=8,slices=2", "simt:copy=registers", "simt:vector=1,group=3"};
static const char *const mma[] = {"mma:bm=16,bn=16,wm=16,wn=16", "mma:bm=64,bn=32,wm=32,wn=16,group=2",
                                  "mma:bm=128,bn=64,stages=2", "mma:bm=32,bn=64,wm=16,wn=32,width=1", "mma:rows=x,vector=1"};
static const char *const wgmma[] = {
    "wgmma:bm=64,bn=16",           "wgmma:bm=64,bn=48,blocks=2",     "wgmma:bm=128,bn=80",   "wgmma:bm=192,bn=32",
    "wgmma:bm=128,bn=128,group=2", "wgmma:bm=64,bn=80,pingpong=yes", "wgmma:store=elements", "wgmma"};
static const char *const tcgen05[] = {
    "tcgen05:bm=64,bn=16",           "tcgen05:bm=64,bn=48",    "tcgen05:bm=128,bn=80", "tcgen05:bm=128,bn=32",
    "tcgen05:bm=128,bn=128,group=2", "tcgen05:store=elements", "tcgen05:store=lines",  "tcgen05"};
static tj_device_facts device = TJ_DEVICE_FACTS_INIT; /* where they run */

#define ANY_OF(list) (list)[next() % (sizeof(list) / sizeof(list)[0])]

static int take(request *r, const char *text)
{
    r->config = (tj_config)TJ_CONFIG_INIT;
    r->asked = r->known;
    return tj_config_parse(text, &r->config, NULL) == TJ_OK && is_served(r) && may_run(&device, &r->known, &r->config);
}

static void make_request(request *r, int is_small, const char *number)
{
    const int64_t tiles[3] = {8, 8, 8};
    int tries = 0, is_taken = 0;

    for (; tries < TRIES && !is_taken; tries++) {
        const int64_t wide = is_small ? 100 : 700;

        r->known = (tj_problem)TJ_PROBLEM_INIT(1 + (int64_t)(next() % (uint64_t)(2 * wide)), (int64_t)(next() % (uint64_t)wide),
                                               1 + (int64_t)(next() % (uint64_t)wide), TJ_F32);
        if (next() % 4)
            r->known.k.extent = (r->known.k.extent + 15) / 16 * 16, r->known.l.extent = (r->known.l.extent + 15) / 16 * 16;
        draw_storage(&r->known, (int)(next() % BY_MXFP8));
        is_taken = take(r, next() % 2   ? device.cc_major > 9 ? ANY_OF(tcgen05) : ANY_OF(wgmma)
                             : next() % 2 ? ANY_OF(mma)
                           : next() % 2 ? ANY_OF(simt)
                                        : ANY_OF(textbook));
    }
    expect(is_taken, "%s: no config takes it", number);
    draw_open(r, tiles);
    describe(r, number);
}

/* ---- captured graphs ---------------------------------------------------------------------------------------------- */

enum { J = 300, K = 64, L = 96, GROUPS = 5 };

static const int32_t lists[][GROUPS + 1] = {
    {0, 60, 120, 180, 240, J}, {0, 0, 0, J, J, J}, {7, 8, 9, 200, 200, 250}, {0, 1, 129, 257, 258, J}};
enum { LISTS = sizeof lists / sizeof lists[0] };

static tj_workbench *place(tj_context *context, const tj_problem *problem, const int32_t *offsets)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_workbench *bench = NULL;
    tj_error err;

    options.guard_bytes = GUARD_BYTES;
    options.offsets = offsets;
    options.seed = 7;
    expect(tj_workbench_create(context, problem, &options, &bench, &err) == TJ_OK, "place: %s", err.message);
    return bench;
}

/* Is the P of bench that of offsets, and nothing else written? */
static void check(tj_context *context, const tj_problem *problem, const tj_workbench *bench, const int32_t *offsets,
                  const char *label)
{
    tj_workbench *other = place(context, problem, offsets); /* of the same numbers: it knows the product of these offsets */
    void *p = malloc(tj_workbench_bytes(bench, TJ_MATRIX_P));
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    char damage[160] = "?";
    tj_error err = {TJ_OK, ""};

    expect(tj_workbench_read(bench, 0, p, &err) == TJ_OK && tj_workbench_check(other, p, 0, 0, &report, &err) == TJ_OK &&
               tj_workbench_find_damage(other, 0, p, damage, &err) == TJ_OK,
           "%s: %s", label, err.message);
    expect(report.passed, "%s: %s", label, report.reason);
    expect(!*damage, "%s: %s", label, damage);
    tj_workbench_free(other);
    free(p);
}

static void replay(tj_context *context, const char *text, int on_host, int combined)
{
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F16);
    void *stream, *graph = NULL, *executable = NULL;
    tj_config config = TJ_CONFIG_INIT;
    tj_buffer *offsets = NULL;
    tj_workbench *bench;
    const tj_plan *plan = NULL;
    tj_operands x;
    tj_error err = {TJ_OK, ""};
    char label[160];

    problem.rows = (tj_rows){TJ_ROWS_IN_GROUPS, 0, 0, (int8_t)combined, GROUPS, 4, on_host};
    if (!expect(tj_config_parse(text, &config, &err) == TJ_OK &&
                    tj_plan_prepare(context, &problem, &config, &plan, &err) == TJ_OK,
                "%s: %s", text, err.message))
        return;
    bench = place(context, &problem, lists[0]);
    x = *tj_workbench_operands(bench);
    expect(tj_buffer_create(context, sizeof lists[0], &offsets, &err) == TJ_OK &&
               tj_buffer_write(offsets, 0, lists[0], sizeof lists[0], &err) == TJ_OK,
           "offsets: %s", err.message);
    if (!on_host)
        x.offsets = tj_buffer_address(offsets);
    expect(cu.stream_create(&stream, 1) == 0 && cu.capture_begin(stream, 0) == 0, "capture begins");
    expect(tj_plan_launch(plan, &x, stream, &err) == TJ_OK, "%s: captured: %s", text, err.message);
    expect(cu.capture_end(stream, &graph) == 0 && cu.graph_instantiate(&executable, graph, 0) == 0, "capture ends");
    for (int i = 0; i < LISTS; i++) {
        snprintf(label, sizeof label, "%s, offsets %d %s", text, i,
                 on_host ? "kept from the capture" : "changed on the device");
        expect(tj_workbench_reset(bench, &err) == TJ_OK &&
                   tj_buffer_write(offsets, 0, lists[i], sizeof lists[i], &err) == TJ_OK,
               "%s: %s", label, err.message);
        expect(cu.graph_launch(executable, stream) == 0 && cu.stream_sync(stream) == 0, "%s: replayed", label);
        check(context, &problem, bench, lists[on_host ? 0 : i], label);
    }
    cu.graph_exec_destroy(executable);
    cu.graph_destroy(graph);
    cu.stream_destroy(stream);
    tj_buffer_free(offsets);
    tj_workbench_free(bench);
}

/* ---- invalid offsets ---------------------------------------------------------------------------------------------- */

/* Settle arbitrary offsets as the kernel does: each at least 0 and the one before, and at most j. */
static void settle(const int32_t *given, int32_t *settled)
{
    int32_t least = 0;

    for (int i = 0; i <= GROUPS; i++) {
        least = given[i] > J ? J : given[i] > least ? given[i] : least;
        settled[i] = least;
    }
}

static void survive(tj_context *context, const char *text, int combined)
{
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F16);
    tj_config config = TJ_CONFIG_INIT;
    tj_buffer *offsets = NULL;
    tj_workbench *bench;
    const tj_plan *plan = NULL;
    tj_operands x;
    tj_error err = {TJ_OK, ""};
    char label[160], damage[160];

    problem.rows = (tj_rows){.kind = TJ_ROWS_IN_GROUPS, .combined = (int8_t)combined, .groups = GROUPS};
    if (!expect(tj_config_parse(text, &config, &err) == TJ_OK &&
                    tj_plan_prepare(context, &problem, &config, &plan, &err) == TJ_OK,
                "%s: %s", text, err.message))
        return;
    bench = place(context, &problem, NULL);
    x = *tj_workbench_operands(bench);
    expect(tj_buffer_create(context, sizeof lists[0], &offsets, &err) == TJ_OK, "offsets: %s", err.message);
    x.offsets = tj_buffer_address(offsets);
    for (int i = 0; i < 8; i++) {
        int32_t given[GROUPS + 1], settled[GROUPS + 1];

        for (int k = 0; k <= GROUPS; k++)
            given[k] = next() % 3 ? (int32_t)(next() % (3 * J)) - J : (int32_t)next();
        settle(given, settled);
        snprintf(label, sizeof label, "%s, %d %d %d %d %d %d", text, given[0], given[1], given[2], given[3], given[4],
                 given[5]);
        expect(tj_workbench_reset(bench, &err) == TJ_OK && tj_buffer_write(offsets, 0, given, sizeof given, &err) == TJ_OK &&
                   tj_plan_launch(plan, &x, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK &&
                   tj_workbench_find_damage(bench, 0, NULL, damage, &err) == TJ_OK,
               "%s: %s", label, err.message);
        expect(!*damage, "%s: %s", label, damage);
        check(context, &problem, bench, settled, label);
    }
    tj_buffer_free(offsets);
    tj_workbench_free(bench);
}

int main(int argc, char **argv)
{
    static const char *const fast[] = {"tiled",
                                       "simt:bm=32,bn=32,bk=16,tm=8,tn=4",
                                       "mma:bm=32,bn=32,wm=16,wn=16",
                                       "wgmma:bm=64,bn=48",
                                       "wgmma:bm=128,bn=96,pingpong=yes",
                                       "tcgen05:bm=64,bn=48"};
    const int cases = argc > 1 ? atoi(argv[1]) : 200;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const int is_small = argc > 3 && strcmp(argv[3], "small") == 0;
    tj_context *context = open_gpu("grouped", getenv("TILEJIT_CACHE_DIR") ? NULL : ""); /* NULL: the store that is named */
    tj_error err;

    if (tj_emulator_get(context, &emulator, &err) != TJ_OK || tj_device_current(context, &device, &err) != TJ_OK ||
        !expect(load_driver() && enter_primary(context), "the driver"))
        return 1;
    random_state = seed;
    for (size_t i = 0; i < sizeof fast / sizeof fast[0]; i++) {
        const tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F16);
        tj_config config = TJ_CONFIG_INIT;

        if (!expect(tj_config_parse(fast[i], &config, &err) == TJ_OK, "%s", err.message) ||
            !may_run(&device, &problem, &config))
            continue;
        for (int combined = 0; combined <= 2; combined += 2) { /* rows as they are, and two to each row of P */
            survive(context, fast[i], combined);
            replay(context, fast[i], 0, combined);
            replay(context, fast[i], 1, combined);
        }
    }
    with_groups = 1;
    for (int i = 0; i < cases && gpu_failed < 20; i++) {
        request r;
        char number[64];

        random_state = seed * 1000003 + (uint64_t)i;
        snprintf(number, sizeof number, "case %d of seed %llu", i, (unsigned long long)seed);
        make_request(&r, is_small, number);
        run_request(context, &r, i % 4 == 0, NULL);
    }
    leave_context();
    tj_context_free(context);
    return finish("grouped");
}
