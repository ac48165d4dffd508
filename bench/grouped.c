/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grouped [--groups G] [--skew | --masked LIST | --along-k] [--gather] [--combine ROWS] [--alone] [--type TYPE] [JxKxL]
 * [CONFIG ...]: one call for many products of different j or k, next to a loop with a call for each.
 *
 *     grouped      TileJIT: one launch, offsets in device memory; with the library's config, then with each CONFIG
 *     loop         TileJIT: a plan for each
 *     loop         cuBLASLt: the fastest algorithm that its heuristic offers for each
 *
 * bf16, row-major: J rows of tokens; each chose one of G experts at random, uniformly or, with --skew, expert e with a weight of
 * 1 / (1 + e). --along-k divides K tokens instead, as gradients of weights do: M lies as K x J. --masked 17,15,21 makes three
 * experts with room for J / 3 rows each, of which 17, 15 and 21 are in use. --gather takes rows of M by an index, and --combine 2
 * adds up two rows for each row of P. These three leave the loops out, and so does --alone. With --type e4m3 N lies along k, P is
 * bf16, and tensor cores add with 13 bits (f32_fp8). Samples are CUDA graphs, taken in turn; times are medians. Every P is
 * compared with the float64 reference.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cublas.h"
#include "program.h"

const char program[] = "grouped";

enum { ROUNDS = 15, MOST_GROUPS = 512, MOST_RUNNERS = 16, TRIED_IDEAS = 6, PERIOD = 16777213 };
static const size_t WORKSPACE_BYTES = (size_t)64 << 20;
static const double CHECKED_FLOP = 3e9;

/* One group's product in the loop. */
typedef struct one {
    const tj_plan *plan;
    cublas_problem *peer;
    int idea;
    tj_operands x;
} one;

/* A contender: one plan for all groups, or a loop. */
typedef struct runner {
    const char *who;
    char how[TJ_CONFIG_TEXT_BYTES];
    const tj_plan *plan;
    one *loop;
    int64_t products;
    const tj_workbench *bench;
    samples samples;
    double us[ROUNDS];
    tj_check_report report;
} runner;

static int queue_one(void *what, size_t set, struct CUstream_st *stream, tj_error *err)
{
    const one *g = what;

    (void)set;
    return g->plan ? tj_plan_launch(g->plan, &g->x, stream, err) == TJ_OK : cublas_queue_idea(g->peer, g->idea, &g->x, err);
}

static int queue(void *what, size_t set, struct CUstream_st *stream, tj_error *err)
{
    const runner *r = what;
    int is_queued = 1;

    if (r->plan)
        return tj_plan_launch(r->plan, tj_workbench_operands(r->bench), stream, err) == TJ_OK;
    for (int64_t i = 0; i < r->products && is_queued; i++)
        is_queued = queue_one(&r->loop[i], set, stream, err);
    return is_queued;
}

/* ---- the problem -------------------------------------------------------------------------------------------------- */

/* Draw each row's expert. */
static void draw(int64_t rows, int64_t groups, int is_skewed, int32_t *offsets)
{
    int32_t count[MOST_GROUPS] = {0};
    double total = 0;
    uint64_t state = 1;

    for (int64_t e = 0; e < groups; e++)
        total += is_skewed ? 1.0 / (double)(1 + e) : 1.0;
    for (int64_t i = 0; i < rows; i++) {
        double at;
        int64_t e = 0;

        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        at = (double)(state >> 11) * 0x1p-53 * total;
        while (e + 1 < groups && at >= (is_skewed ? 1.0 / (double)(1 + e) : 1.0))
            at -= is_skewed ? 1.0 / (double)(1 + e++) : (e++, 1.0);
        count[e]++;
    }
    offsets[0] = 0;
    for (int64_t e = 0; e < groups; e++)
        offsets[e + 1] = offsets[e] + count[e];
}

/* Read the rows of each masked group, such as "915,809", into counts. Return how many groups there are; *rows: all of theirs. */
static int64_t read_counts(const char *list, int32_t *counts, int64_t *rows)
{
    int64_t groups = 0;

    for (char *end; *list && groups < MOST_GROUPS; list = *end == ',' ? end + 1 : end) {
        counts[groups] = (int32_t)strtol(list, &end, 10);
        if (end == list || counts[groups] < 0)
            die(2, "--masked has \"%s\": write the rows of each group, such as 17,15,21", list);
        *rows += counts[groups++];
    }
    return groups;
}

/* Return the product of one group alone, and the addresses of its matrices. */
static tj_problem product_of(const tj_workbench *bench, const int32_t *offsets, int64_t g, tj_operands *x)
{
    const tj_problem *all = tj_workbench_problem(bench);
    const tj_operands *y = tj_workbench_operands(bench);
    const size_t size = tj_type_bytes((tj_type)all->m.type);
    const int along_k = all->rows.kind == TJ_ROWS_ALONG_K;
    tj_problem problem = *all;

    problem.rows = (tj_rows){0};
    problem.batch = 1;
    problem.m.stride = problem.n.stride = problem.p.stride = TJ_TIGHT;
    (along_k ? &problem.k : &problem.j)->extent = offsets[g + 1] - offsets[g];
    *x = *y;
    x->j = problem.j.extent;
    x->k = problem.k.extent;
    x->offsets = NULL;
    x->m.address = (const char *)y->m.address + (size_t)(offsets[g] * all->m.ld) * size;
    x->n.address = (const char *)y->n.address + (size_t)(along_k ? offsets[g] * all->n.ld : g * all->n.stride) * size;
    x->p.address = (const char *)y->p.address + (size_t)(along_k ? g * all->p.stride : offsets[g] * all->p.ld) * size;
    return tj_problem_canonical(&problem);
}

/* Has a group no product? */
static int is_empty(const tj_problem *problem)
{
    return problem->j.extent == 0 || problem->k.extent == 0;
}

/* ---- the contenders ----------------------------------------------------------------------------------------------- */

static runner grouped(tj_context *context, const tj_problem *problem, const char *config, tj_workbench *bench)
{
    runner r = {.who = config ? "TileJIT, grouped, as named" : "TileJIT, grouped", .bench = bench};
    tj_config named = TJ_CONFIG_INIT;
    tj_error err;

    if (config)
        must(tj_config_parse(config, &named, &err), &err);
    must(tj_plan_prepare(context, problem, config ? &named : NULL, &r.plan, &err), &err);
    must(tj_workbench_fit(bench, tj_plan_workspace_bytes(r.plan), &err), &err);
    tj_config_print(tj_source_config(tj_plan_source(r.plan)), r.how);
    return r;
}

static runner loop_of_plans(tj_context *context, tj_workbench *bench, const int32_t *offsets, int64_t groups)
{
    runner r = {.who = "TileJIT, a loop", .bench = bench, .loop = calloc((size_t)groups, sizeof(one))};
    tj_error err;

    for (int64_t g = 0; g < groups; g++) {
        one *next = &r.loop[r.products];
        const tj_problem problem = product_of(bench, offsets, g, &next->x);

        if (is_empty(&problem))
            continue;
        must(tj_plan_prepare(context, &problem, NULL, &next->plan, &err), &err);
        must(tj_workbench_fit(bench, tj_plan_workspace_bytes(next->plan), &err), &err);
        (void)product_of(bench, offsets, g, &next->x); /* with the workspace */
        r.products++;
    }
    for (int64_t i = 0; i < r.products; i++) {
        r.loop[i].x.workspace = tj_workbench_operands(bench)->workspace;
        r.loop[i].x.workspace_bytes = tj_workbench_operands(bench)->workspace_bytes;
    }
    snprintf(r.how, sizeof r.how, "%lld launches", (long long)r.products);
    return r;
}

/* Choose the fastest of its first algorithms. */
static int pick_idea(bench_clock *clock, one *g)
{
    const int count = cublas_idea_count(g->peer) < TRIED_IDEAS ? cublas_idea_count(g->peer) : TRIED_IDEAS;
    double least = 0;
    int best = -1;

    for (int i = 0; i < count; i++) {
        samples s = {0};
        tj_error err;
        double us = -1;

        g->idea = i;
        if (clock_try(clock, queue_one, g, &err) && clock_capture(clock, queue_one, g, 1, &s, &err))
            us = clock_sample(clock, &s, &err);
        clock_drop(clock, &s);
        if (us > 0 && (best < 0 || us < least))
            least = us, best = i;
    }
    return best;
}

static runner loop_of_peers(bench_clock *clock, cublas *peers, tj_workbench *bench, const int32_t *offsets, int64_t groups)
{
    runner r = {.who = "cuBLASLt, a loop", .bench = bench, .loop = calloc((size_t)groups, sizeof(one))};
    tj_error err;

    for (int64_t g = 0; g < groups; g++) {
        one *next = &r.loop[r.products];
        const tj_problem problem = product_of(bench, offsets, g, &next->x);

        if (is_empty(&problem))
            continue;
        next->peer = cublas_describe(peers, &problem, &err);
        if (!next->peer)
            die(1, "cuBLASLt: %s", err.message);
        next->idea = pick_idea(clock, next);
        if (next->idea < 0)
            die(1, "cuBLASLt: no idea works: %s", cublas_no_idea(next->peer));
        r.products++;
    }
    snprintf(r.how, sizeof r.how, "%lld calls, the fastest of %d ideas each", (long long)r.products, TRIED_IDEAS);
    return r;
}

/* ---- the race ----------------------------------------------------------------------------------------------------- */

static void verify(tj_context *context, bench_clock *clock, runner *r)
{
    void *p = malloc(tj_workbench_bytes(r->bench, TJ_MATRIX_P));
    tj_error err;

    if (!p)
        die(1, "out of memory");
    must(tj_workbench_reset((tj_workbench *)(uintptr_t)r->bench, &err), &err);
    if (!queue(r, 0, clock_stream(clock), &err))
        die(1, "%s: %s", r->who, err.message);
    must(tj_synchronize(context, clock_stream(clock), &err), &err);
    must(tj_workbench_read(r->bench, 0, p, &err), &err);
    r->report = (tj_check_report)TJ_CHECK_REPORT_INIT;
    must(tj_workbench_check(r->bench, p, CHECKED_FLOP, 0, &r->report, &err), &err);
    free(p);
}

static void race(tj_context *context, bench_clock *clock, runner *all, int count)
{
    tj_error err;

    for (int i = 0; i < count; i++) {
        verify(context, clock, &all[i]);
        if (!clock_try(clock, queue, &all[i], &err) || !clock_capture(clock, queue, &all[i], 1, &all[i].samples, &err))
            die(1, "%s: %s", all[i].who, err.message);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < count; i++) {
            runner *r = &all[(i + round) % count];

            if ((r->us[round] = clock_sample(clock, &r->samples, &err)) < 0)
                die(1, "%s: %s", r->who, err.message);
        }
}

static void print_runner(runner *r, const tj_problem *problem, int64_t rows, double first_us)
{
    const double flop = 2.0 * (double)rows *
                        (double)(problem->rows.kind == TJ_ROWS_ALONG_K ? problem->j.extent : problem->k.extent) *
                        (double)problem->l.extent;
    const double us = median(r->us, ROUNDS);

    printf("%-28s %9.2f us %7.1f TFLOP/s  %6.3f  %s, %.3g of its bound  %s\n", r->who, us, flop / us / 1e6,
           first_us > 0 ? us / first_us : 1.0, r->report.passed ? "verified" : "OUTSIDE THE BOUND", r->report.max_ratio,
           r->how);
}

int main(int argc, char **argv)
{
    static int32_t offsets[MOST_GROUPS + 1];
    static runner all[MOST_RUNNERS];
    const char *config[MOST_RUNNERS] = {NULL};
    int64_t extent[3] = {1024, 4096, 14336}, groups = 8, rows = 0, combined = 0;
    tj_type type = TJ_BF16;
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    int count = 0, configs = 1, is_skewed = 0, gathers = 0, is_alone = 0, along_k = 0; /* the first config is the library's */
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_context *context;
    tj_workbench *bench;
    tj_buffer *workspace;
    bench_clock *clock;
    cublas *peers;
    tj_error err;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--groups") == 0 && i + 1 < argc)
            groups = atol(argv[++i]);
        else if (strcmp(argv[i], "--skew") == 0)
            is_skewed = 1;
        else if (strcmp(argv[i], "--masked") == 0 && i + 1 < argc)
            groups = read_counts(argv[++i], offsets, &rows);
        else if (strcmp(argv[i], "--along-k") == 0)
            along_k = 1;
        else if (strcmp(argv[i], "--gather") == 0)
            gathers = 1;
        else if (strcmp(argv[i], "--combine") == 0 && i + 1 < argc)
            combined = atol(argv[++i]);
        else if (strcmp(argv[i], "--alone") == 0)
            is_alone = 1;
        else if (strcmp(argv[i], "--type") == 0 && i + 1 < argc)
            must(tj_type_parse(argv[++i], &type, &err), &err);
        else if (strchr(argv[i], ':') && configs < MOST_RUNNERS - 3)
            config[configs++] = argv[i];
        else if (sscanf(argv[i], "%ldx%ldx%ld", &extent[0], &extent[1], &extent[2]) != 3)
            die(2, "write grouped [--groups G] [--skew | --masked LIST | --along-k] [--gather] [--combine ROWS] [--alone] "
                   "[--type TYPE] [JxKxL] [CONFIG ...]");
    if (groups < 1 || groups > MOST_GROUPS)
        die(2, "--groups is %ld: use 1 to %d", (long)groups, MOST_GROUPS);
    must(tj_context_create(NULL, &context, &err), &err);
    must(tj_device_get(context, device_number(), &facts, &err), &err);
    clock = clock_open(context, NULL, &facts, &err);
    if (!clock)
        die(77, "%s", err.message);

    const bool is_masked = rows > 0, has_loops = !is_masked && !gathers && combined == 0 && !is_alone;
    tj_problem problem = TJ_PROBLEM_INIT(extent[0], extent[1], extent[2], (int32_t)type);
    problem.rows = (tj_rows){.kind = TJ_ROWS_IN_GROUPS, .groups = (int32_t)groups};
    problem.rows.gathered = (int8_t)gathers;
    problem.rows.combined = (int8_t)combined;
    if (type == TJ_E4M3) {
        problem.n.layout = TJ_COL_MAJOR;
        problem.p.type = TJ_BF16;
        problem.compute = TJ_COMPUTE_F32_FP8;
    }
    if (along_k) {
        problem.rows.kind = TJ_ROWS_ALONG_K;
        problem.m.layout = TJ_COL_MAJOR;
    }
    if (is_masked) {
        problem.rows.kind = TJ_ROWS_MASKED;
        problem.rows.expected = (int16_t)(rows / groups);
    } else {
        draw(rows = extent[along_k], groups, is_skewed, offsets);
    }
    options.offsets = offsets;
    options.seed = 1;
    options.period = PERIOD;
    must(tj_workbench_create(context, &problem, &options, &bench, &err), &err);
    printf("# device %s; %ld %s of %s in %ld groups, %ldx%ldx%ld:", facts.name, (long)rows, along_k ? "elements of k" : "rows",
           tj_type_name(type), (long)groups, (long)extent[0], (long)extent[1], (long)extent[2]);
    for (int64_t g = 0; g < groups && g < 16; g++)
        printf(" %d", is_masked ? offsets[g] : offsets[g + 1] - offsets[g]);
    printf("%s\n", groups > 16 ? " ..." : "");
    for (int i = 0; i < configs; i++)
        all[count++] = grouped(context, &problem, config[i], bench);
    if (has_loops)
        all[count++] = loop_of_plans(context, bench, offsets, groups);
    must(tj_buffer_create(context, WORKSPACE_BYTES, &workspace, &err), &err);
    peers = cublas_open(clock_stream(clock), tj_buffer_address(workspace), WORKSPACE_BYTES, &err);
    if (!has_loops) {
        printf("# no loop\n");
    } else if (peers) {
        printf("# cuBLASLt %s\n", cublas_version(peers));
        all[count++] = loop_of_peers(clock, peers, bench, offsets, groups);
    } else {
        printf("# %s\n", err.message);
    }
    race(context, clock, all, count);
    for (int i = 0; i < count; i++)
        print_runner(&all[i], &problem, rows, i > 0 ? median(all[0].us, ROUNDS) : 0);
    return 0;
}
