/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogues [--cublas FOLDER] [JxKxL]: what does a fused epilogue cost, and a peer's?
 *
 *     product          P = M . N, TileJIT and cuBLASLt
 *     gelu(acc + bias) fused by TileJIT, and by cuBLASLt (CUBLASLT_EPILOGUE_GELU_BIAS, which is gelu by tanh)
 *
 * bf16, row-major. Samples are CUDA graphs of launches that rotate over sets of operands larger than the L2, taken in turn; times are
 * medians. TileJIT takes the store's records where there are some (tilejit tune JxKxL --dtype bf16 --epilogue ...). Of cuBLASLt the
 * fastest of its heuristic's ideas. Every product is compared with the float64 reference.
 */
#include <string.h>

#include "matmul/clock.h"
#include "matmul/cublas.h"
#include "program.h"

const char program[] = "epilogues";

enum { ROUNDS = 21, SETS = 3, RUNNERS = 8, TRIED_IDEAS = 8 };
static const size_t WORKSPACE_BYTES = (size_t)64 << 20;

/* Whoever computes it. */
typedef struct runner {
    const char *what, *who;
    const tj_plan *plan;        /* TileJIT's, or */
    const cublas_problem *peer; /* cuBLASLt's, the way of this idea */
    int idea;
    const tj_workbench *bench;
    samples samples;
    double us[ROUNDS];
    tj_check_report report;
} runner;

static int queue(void *what, size_t set, struct CUstream_st *stream, tj_error *err)
{
    const runner *r = what;
    const tj_operands *x = &tj_workbench_operands(r->bench)[set];

    return r->plan ? tj_plan_launch(r->plan, x, stream, err) == TJ_OK : cublas_queue_idea(r->peer, r->idea, x, err);
}

static tj_problem product_of(const int64_t extent[3], const char *epilogue)
{
    tj_problem problem = TJ_PROBLEM_INIT(extent[0], extent[1], extent[2], TJ_BF16);
    tj_error err;

    if (epilogue)
        must(tj_epilogue_parse(epilogue, &problem.epilogue, &err), &err);
    return problem;
}

static tj_workbench *place(tj_context *context, const tj_problem *problem)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_workbench *bench;
    tj_error err;

    options.sets = SETS;
    options.seed = 1;
    must(tj_workbench_create(context, problem, &options, &bench, &err), &err);
    return bench;
}

static const tj_plan *prepare(tj_context *context, const tj_problem *problem, tj_workbench *bench)
{
    char config[TJ_CONFIG_TEXT_BYTES], text[TJ_EPILOGUE_TEXT_BYTES];
    const tj_plan *plan;
    tj_error err;

    must(tj_plan_prepare(context, problem, NULL, &plan, &err), &err);
    must(tj_workbench_fit(bench, tj_plan_workspace_bytes(plan), &err), &err);
    tj_config_print(tj_source_config(tj_plan_source(plan)), config);
    tj_epilogue_print(&problem->epilogue, text);
    printf("# %s: %s\n", text, config);
    return plan;
}

/* The fastest of its first ideas. */
static int pick_idea(bench_clock *clock, const cublas_problem *peer, runner *r)
{
    const int count = cublas_idea_count(peer) < TRIED_IDEAS ? cublas_idea_count(peer) : TRIED_IDEAS;
    double least = 0;
    int best = -1;

    for (int i = 0; i < count; i++) {
        samples s = {0};
        tj_error err;
        double us = -1;

        r->idea = i;
        if (clock_try(clock, queue, r, &err) && clock_capture(clock, queue, r, SETS, &s, &err))
            us = clock_sample(clock, &s, &err);
        clock_drop(clock, &s);
        if (us > 0 && (best < 0 || us < least))
            least = us, best = i;
    }
    return best;
}

/* P of the first set, against the reference of bench's problem. */
static void verify(tj_context *context, bench_clock *clock, runner *r)
{
    void *p = malloc(tj_workbench_bytes(r->bench, TJ_MATRIX_P));
    tj_error err;

    if (!p)
        die(1, "out of memory");
    if (!queue(r, 0, clock_stream(clock), &err))
        die(1, "%s, %s: %s", r->what, r->who, err.message);
    must(tj_synchronize(context, clock_stream(clock), &err), &err);
    must(tj_workbench_read(r->bench, 0, p, &err), &err);
    must(tj_workbench_check(r->bench, p, 0, 0, &r->report, &err), &err);
    free(p);
}

static void print_runner(runner *r, const int64_t extent[3], double peer_us)
{
    const double flop = 2.0 * (double)extent[0] * (double)extent[1] * (double)extent[2];
    const double us = median(r->us, ROUNDS);

    printf("%-28s %-22s %10.2f us %8.1f TFLOP/s", r->what, r->who, us, flop / us / 1e6);
    if (peer_us > 0)
        printf("   %5.3f of the peer's speed", peer_us / us);
    printf("   %s, largest error %.3g (%.3g of its bound)\n", r->report.passed ? "verified" : "OUTSIDE THE BOUND",
           r->report.max_error, r->report.max_ratio);
}

int main(int argc, char **argv)
{
    static const char gelu[] = "gelu_tanh(acc + bias:bf16[col])", exact[] = "gelu(acc + bias:bf16[col])";
    static runner all[RUNNERS];
    int64_t extent[3] = {4096, 4096, 4096};
    const char *folder = NULL;
    tj_context *context;
    tj_device_facts facts;
    bench_clock *clock;
    tj_buffer *workspace;
    cublas *peers;
    int count = 0;
    tj_error err;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--cublas") == 0 && i + 1 < argc)
            folder = argv[++i];
        else if (sscanf(argv[i], "%ldx%ldx%ld", &extent[0], &extent[1], &extent[2]) != 3)
            die(2, "write epilogues [--cublas FOLDER] [JxKxL]");
    must(tj_context_create(NULL, &context, &err), &err);
    clock = clock_open(context, &facts, &err);
    if (!clock)
        die(77, "%s", err.message);

    const tj_problem plain = product_of(extent, NULL), fused = product_of(extent, gelu), by_erf = product_of(extent, exact);
    tj_workbench *plain_bench = place(context, &plain), *fused_bench = place(context, &fused),
                 *erf_bench = place(context, &by_erf);

    printf("# device %s; P (%ld x %ld) of bf16, k %ld\n", facts.name, (long)extent[0], (long)extent[2], (long)extent[1]);
    all[count++] = (runner){"acc", "TileJIT", .plan = prepare(context, &plain, plain_bench), .bench = plain_bench};
    all[count++] = (runner){gelu, "TileJIT", .plan = prepare(context, &fused, fused_bench), .bench = fused_bench};
    all[count++] = (runner){exact, "TileJIT", .plan = prepare(context, &by_erf, erf_bench), .bench = erf_bench};
    must(tj_buffer_create(context, WORKSPACE_BYTES, &workspace, &err), &err);
    peers = cublas_open(folder, clock_stream(clock), tj_buffer_address(workspace), WORKSPACE_BYTES, &err);
    if (peers) {
        const tj_problem canonical = tj_problem_canonical(&plain);
        const void *bias = tj_workbench_operands(fused_bench)[0].with[0].address;

        printf("# cuBLASLt %s\n", cublas_version(peers));
        all[count] = (runner){"acc", "cuBLASLt", .peer = cublas_describe(peers, &canonical, &err), .bench = plain_bench};
        count += all[count].peer != NULL;
        all[count] =
            (runner){gelu, "cuBLASLt", .peer = cublas_describe_gelu_bias(peers, &canonical, bias, &err), .bench = fused_bench};
        count += all[count].peer != NULL;
    } else {
        printf("# %s\n", err.message);
    }
    for (int i = 0; i < count; i++) {
        if (all[i].peer && (all[i].idea = pick_idea(clock, all[i].peer, &all[i])) < 0)
            die(1, "%s, %s: no idea works: %s", all[i].what, all[i].who, cublas_no_idea(all[i].peer));
        if (!clock_try(clock, queue, &all[i], &err) || !clock_capture(clock, queue, &all[i], SETS, &all[i].samples, &err))
            die(1, "%s, %s: %s", all[i].what, all[i].who, err.message);
        verify(context, clock, &all[i]);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < count; i++) {
            runner *r = &all[(i + round) % count];

            if ((r->us[round] = clock_sample(clock, &r->samples, &err)) < 0)
                die(1, "%s, %s: %s", r->what, r->who, err.message);
        }
    for (int i = 0; i < count; i++) {
        double peer_us = 0;

        for (int other = 0; other < count && all[i].plan; other++)
            if (all[other].peer && (strcmp(all[other].what, all[i].what) == 0 || (i == 2 && all[other].bench == fused_bench)))
                peer_us = median(all[other].us, ROUNDS);
        print_runner(&all[i], extent, peer_us);
    }
    return 0;
}
