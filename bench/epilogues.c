/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogues [--gate | --quantize] [--dtype bf16 | e4m3] [--config TEXT] [JxKxL]: the cost of a fused epilogue, and of a peer's.
 *
 *     product          P = M . N, TileJIT and cuBLASLt
 *     gelu(acc + bias) fused by TileJIT, and by cuBLASLt (CUBLASLT_EPILOGUE_GELU_BIAS, which is gelu by tanh)
 *     --gate           silu(acc[2*col]) * acc[2*col+1] fused by TileJIT; and by cuBLASLt, whose product a second kernel then halves,
 *                      eight elements per thread. That kernel is a family of this program's own (custom.h)
 *     --quantize       the same gate into e4m3 with a scale of f32 for 128 columns of a row; the second kernel finds the scales, too
 *
 * bf16 is row-major; with e4m3 N lies by columns, and sums are f32_fp8. Samples are CUDA graphs of launches that rotate over sets of
 * operands larger than the L2, taken in turn; times are medians. TileJIT's fused kernel uses the config of --config, else the
 * store's records if there are any (tilejit tune JxKxL --dtype bf16 --epilogue ...); cuBLASLt uses the fastest algorithm that its
 * heuristic offers. Every product is compared with the float64 reference on sampled rows; the second kernel is proven.
 */
#include <math.h>
#include <string.h>

#include "clock.h"
#include "cublas.h"
#include "program.h"

const char program[] = "epilogues";

enum { SCALE_COLS = 128, ROUNDS = 21, SETS = 3, RUNNERS = 8, TRIED_IDEAS = 8 };
static const double CHECKED_FLOP = 4e9;
static const size_t WORKSPACE_BYTES = (size_t)64 << 20;

/* A contender. */
typedef struct runner {
    const char *what, *who;
    const tj_plan *plan;        /* TileJIT's plan, or */
    const cublas_problem *peer; /* cuBLASLt's problem and the algorithm number */
    int idea;
    const tj_workbench *bench;
    const tj_custom_kernel *second; /* halves the result of the first, into P of: */
    const tj_workbench *halves;
    samples samples;
    double us[ROUNDS];
    tj_check_report report;
} runner;

static int queue(void *what, size_t set, struct CUstream_st *stream, tj_error *err)
{
    const runner *r = what;
    const tj_operands *x = &tj_workbench_operands(r->bench)[set];

    if (r->plan ? tj_plan_launch(r->plan, x, stream, err) != TJ_OK : !cublas_queue_idea(r->peer, r->idea, x, err))
        return 0;
    if (!r->second)
        return 1;
    const tj_operands *const to = &tj_workbench_operands(r->halves)[set];
    const tj_custom_value value[] = {
        {.address = x->p.address}, {.address = to->p.address}, {.address = to->scale[TJ_MATRIX_P].address}};
    return tj_custom_launch(r->second, NULL, value, stream, err) == TJ_OK;
}

static tj_problem product_of(const int64_t extent[3], tj_type type, const char *epilogue)
{
    tj_problem problem = TJ_PROBLEM_INIT(extent[0], extent[1], extent[2], (int32_t)type);
    tj_error err;

    problem.p.type = TJ_BF16;
    if (type == TJ_E4M3) { /* as cuBLASLt takes it */
        problem.n.layout = TJ_COL_MAJOR;
        problem.compute = TJ_COMPUTE_F32_FP8;
    }
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

/* config: given text, or NULL. */
static const tj_plan *prepare(tj_context *context, const tj_problem *problem, const char *named, tj_workbench *bench)
{
    char config[TJ_CONFIG_TEXT_BYTES], text[TJ_EPILOGUE_TEXT_BYTES];
    tj_config own = TJ_CONFIG_INIT;
    const tj_plan *plan;
    tj_error err;

    if (named)
        must(tj_config_parse(named, &own, &err), &err);
    must(tj_plan_prepare(context, problem, named ? &own : NULL, &plan, &err), &err);
    must(tj_workbench_fit(bench, tj_plan_workspace_bytes(plan), &err), &err);
    tj_config_print(tj_source_config(tj_plan_source(plan)), config);
    tj_epilogue_print(&problem->epilogue, text);
    printf("# %s: %s\n", text, config);
    return plan;
}

/* Choose the fastest of its first algorithms. */
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

/* Check P of the first set against the reference of bench's problem. */
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
    r->report = (tj_check_report)TJ_CHECK_REPORT_INIT;
    must(tj_workbench_check(r->bench, p, CHECKED_FLOP, 0, &r->report, &err), &err);
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

/* ---- the second kernel -------------------------------------------------------------------------------------------- */

static const char gate_text[] =
    "// P[i] = silu(X[2 * i]) * X[2 * i + 1]. A thread reads eight elements of bf16 at once and writes four.\n"
    "constexpr int THREADS = 256;  //@ threads\n"
    "struct __align__(16) eight_t {\n"
    "    unsigned int pair[4];\n"
    "};\n"
    "struct __align__(8) four_t {\n"
    "    unsigned short element[4];\n"
    "};\n"
    "\n"
    "extern \"C\" __global__ void __launch_bounds__(THREADS)\n"
    "gate(\n"
    "    const eight_t *__restrict__ X,\n"
    "    four_t *__restrict__ P)\n"
    "{\n"
    "    const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;\n"
    "    const eight_t x = X[i];\n"
    "    four_t p;\n"
    "#pragma unroll\n"
    "    for (int e = 0; e < 4; ++e) {\n"
    "        const float gate = __uint_as_float(x.pair[e] << 16), up = __uint_as_float(x.pair[e] & 0xffff0000);\n"
    "        const float value = __fdividef(gate, 1 + __expf(-gate)) * up;\n"
    "        asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(p.element[e]) : \"f\"(value));\n"
    "    }\n"
    "    P[i] = p;\n"
    "}\n";

static const char quantize_text[] =
    "// P[i] = silu(X[2 * i]) * X[2 * i + 1] / S[i / 128]. A thread reads eight elements of bf16 at once and writes four of\n"
    "// e4m3; the 128 elements of a warp share a scale.\n"
    "constexpr int THREADS = 256;  //@ threads\n"
    "struct __align__(16) eight_t {\n"
    "    unsigned int pair[4];\n"
    "};\n"
    "\n"
    "extern \"C\" __global__ void __launch_bounds__(THREADS)\n"
    "quantize(\n"
    "    const eight_t *__restrict__ X,\n"
    "    unsigned int *__restrict__ P,\n"
    "    float *__restrict__ S)\n"
    "{\n"
    "    const long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;\n"
    "    const eight_t x = X[i];\n"
    "    float value[4], largest = 0;\n"
    "#pragma unroll\n"
    "    for (int e = 0; e < 4; ++e) {\n"
    "        const float gate = __uint_as_float(x.pair[e] << 16), up = __uint_as_float(x.pair[e] & 0xffff0000);\n"
    "        value[e] = __fdividef(gate, 1 + __expf(-gate)) * up;\n"
    "        largest = fmaxf(largest, fabsf(value[e]));\n"
    "    }\n"
    "#pragma unroll\n"
    "    for (int step = 1; step < 32; step *= 2)\n"
    "        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));\n"
    "    const float scale = largest == 0 ? 1 : largest / 448, inverse = 1 / scale;\n"
    "    unsigned short low, high;\n"
    "    asm(\"cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;\" : \"=h\"(low) : \"f\"(value[1] * inverse), \"f\"(value[0] * "
    "inverse));\n"
    "    asm(\"cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;\" : \"=h\"(high) : \"f\"(value[3] * inverse), \"f\"(value[2] * "
    "inverse));\n"
    "    P[i] = high << 16 | low;\n"
    "    if (threadIdx.x % 32 == 0)\n"
    "        S[i / 32] = scale;\n"
    "}\n";

static float gate_of(const void *x, int64_t i)
{
    float pair[2];

    tj_convert(TJ_F32, pair, TJ_BF16, (const char *)x + 4 * i, 2);
    return pair[0] / (1 + expf(-pair[0])) * pair[1];
}

static int quantize_reference(const int64_t *extent, void *const *argument, void *payload)
{
    (void)payload;
    for (int64_t begin = 0; begin < extent[0]; begin += SCALE_COLS) {
        float largest = 0, scale;

        for (int64_t i = begin; i < begin + SCALE_COLS; i++)
            largest = fmaxf(largest, fabsf(gate_of(argument[0], i)));
        scale = largest == 0 ? 1 : largest / 448;
        ((float *)argument[2])[begin / SCALE_COLS] = scale;
        for (int64_t i = begin; i < begin + SCALE_COLS; i++) {
            const float value = gate_of(argument[0], i) / scale;

            tj_convert(TJ_E4M3, (char *)argument[1] + i, TJ_F32, &value, 1);
        }
    }
    return 0;
}

static int gate_reference(const int64_t *extent, void *const *argument, void *payload)
{
    (void)payload;
    for (int64_t i = 0; i < extent[0]; i++) {
        const float value = gate_of(argument[0], i);

        tj_convert(TJ_BF16, (char *)argument[1] + 2 * i, TJ_F32, &value, 1);
    }
    return 0;
}

/* Load it for `count` elements of P; proven. */
static tj_custom_kernel *load_gate(tj_context *context, int64_t count, int quantizes)
{
    static const tj_custom_part parts[] = {{"gate.cu", gate_text}, {"quantize.cu", quantize_text}};
    static const char *const extents[] = {"count"}, *const constraints[] = {"count % (4 * threads) == 0", NULL};
    static const int32_t threads_tried[] = {128, 256, 512, 0};
    static const tj_param param = {"threads", "threads of a block", 32, 1024, 256, NULL, threads_tried};
    static const tj_custom_argument arguments[] = {{"X", TJ_CUSTOM_IN, TJ_BF16, "2 * count", 16, 0, 0},
                                                   {"P", TJ_CUSTOM_OUT, TJ_BF16, "count", 8, 0, 0}};
    static const tj_custom_argument quantized[] = {{"X", TJ_CUSTOM_IN, TJ_BF16, "2 * count", 16, 0, 0},
                                                   {"P", TJ_CUSTOM_OUT, TJ_E4M3, "count", 4, 0, 0},
                                                   {"S", TJ_CUSTOM_OUT, TJ_F32, "count / 128", 4, 0, 0}};
    tj_custom_spec spec = TJ_CUSTOM_SPEC_INIT;
    const int64_t few = 1 << 16;
    tj_custom_kernel *kernel;
    tj_family *family;
    tj_proof proof = TJ_PROOF_INIT;
    tj_error err;

    spec.name = quantizes ? "quantize" : "gate";
    spec.part = &parts[quantizes];
    spec.part_count = 1;
    spec.extent = extents;
    spec.extent_count = 1;
    spec.param = &param;
    spec.param_count = 1;
    spec.constraint = constraints;
    spec.grid[0] = "count / (4 * threads)";
    spec.block[0] = "threads";
    spec.argument = quantizes ? quantized : arguments;
    spec.argument_count = quantizes ? 3 : 2;
    spec.reference = quantizes ? quantize_reference : gate_reference;
    spec.absolute = quantizes ? 1e-2 : 1e-6; /* e4m3: half a step of the smallest numbers */
    spec.relative = quantizes ? 0.13 : 0.01; /* and one step of the others, over whose edge a value may be rounded */
    must(tj_family_create(&spec, &family, &err), &err);
    must(tj_custom_prove(context, family, NULL, &few, 0, &proof, &err), &err);
    must(tj_custom_load(context, family, NULL, &count, &kernel, &err), &err);
    return kernel;
}

/* ---- the two races ------------------------------------------------------------------------------------------------ */

typedef struct race {
    tj_context *context;
    cublas *peers; /* NULL: not installed */
    const int64_t *extent;
    tj_type type;
    const char *config; /* of the fused kernel; NULL: the library's */
    runner *all;
    int count;
} race;

static void add_peer(race *r, runner peer, const char *why)
{
    if (!peer.peer)
        printf("# %s, %s: %s\n", peer.what, peer.who, why);
    else
        r->all[r->count++] = peer;
}

static void race_bias(race *r)
{
    static const char gelu[] = "gelu_tanh(acc + bias:bf16[col])", exact[] = "gelu(acc + bias:bf16[col])";
    const tj_problem plain = product_of(r->extent, r->type, NULL), fused = product_of(r->extent, r->type, gelu),
                     by_erf = product_of(r->extent, r->type, exact);
    const tj_problem canonical = tj_problem_canonical(&plain);
    tj_workbench *plain_bench = place(r->context, &plain), *fused_bench = place(r->context, &fused),
                 *erf_bench = place(r->context, &by_erf);
    tj_error err = {TJ_OK, ""};

    r->all[r->count++] =
        (runner){"acc", "TileJIT", .plan = prepare(r->context, &plain, NULL, plain_bench), .bench = plain_bench};
    r->all[r->count++] =
        (runner){gelu, "TileJIT", .plan = prepare(r->context, &fused, r->config, fused_bench), .bench = fused_bench};
    r->all[r->count++] =
        (runner){exact, "TileJIT", .plan = prepare(r->context, &by_erf, r->config, erf_bench), .bench = erf_bench};
    if (!r->peers)
        return;
    const void *bias = tj_workbench_operands(fused_bench)[0].with[0].address;

    add_peer(r, (runner){"acc", "cuBLASLt", .peer = cublas_describe(r->peers, &canonical, &err), .bench = plain_bench},
             err.message);
    add_peer(
        r,
        (runner){gelu, "cuBLASLt", .peer = cublas_describe_gelu_bias(r->peers, &canonical, bias, &err), .bench = fused_bench},
        err.message);
}

/* Ask for e4m3 with scales of 1 x SCALE_COLS. */
static tj_problem quantized(tj_problem problem)
{
    problem.p.type = TJ_E4M3;
    problem.scale[TJ_MATRIX_P] = (tj_scale){.type = TJ_F32, .layout = TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = SCALE_COLS};
    return problem;
}

static void race_gate(race *r, int quantizes)
{
    static const char gate[] = "silu(acc[2*col]) * acc[2*col+1]";
    const tj_problem plain = product_of(r->extent, r->type, NULL), gated = product_of(r->extent, r->type, gate),
                     fused = quantizes ? quantized(gated) : gated;
    const tj_problem canonical = tj_problem_canonical(&plain);
    tj_workbench *plain_bench = place(r->context, &plain), *fused_bench = place(r->context, &fused);
    const tj_custom_kernel *second = load_gate(r->context, r->extent[0] * r->extent[2] / 2, quantizes);
    const tj_plan *product = prepare(r->context, &plain, NULL, plain_bench);
    tj_error err = {TJ_OK, ""};

    r->all[r->count++] = (runner){"acc", "TileJIT", .plan = product, .bench = plain_bench};
    r->all[r->count++] =
        (runner){gate, "TileJIT", .plan = prepare(r->context, &fused, r->config, fused_bench), .bench = fused_bench};
    r->all[r->count++] =
        (runner){gate, "TileJIT, 2 kernels", .plan = product, .bench = plain_bench, .second = second, .halves = fused_bench};
    if (!r->peers)
        return;
    const cublas_problem *peer = cublas_describe(r->peers, &canonical, &err);

    add_peer(r, (runner){"acc", "cuBLASLt", .peer = peer, .bench = plain_bench}, err.message);
    add_peer(r,
             (runner){gate, "cuBLASLt, 2 kernels", .peer = peer, .bench = plain_bench, .second = second, .halves = fused_bench},
             err.message);
}

/* Return the time of the peer that computes the same; 0: there is none. */
static double peer_us(const race *r, const runner *own)
{
    const char *what = strncmp(own->what, "gelu(", 5) == 0 ? "gelu_tanh(acc + bias:bf16[col])" : own->what;

    for (int i = 0; i < r->count && own->plan; i++)
        if (r->all[i].peer && strcmp(r->all[i].what, what) == 0)
            return median(r->all[i].us, ROUNDS);
    return 0;
}

static void run(race *r, bench_clock *clock)
{
    tj_error err;

    for (int i = 0; i < r->count; i++) {
        runner *one = &r->all[i];

        if (one->peer && (one->idea = pick_idea(clock, one->peer, one)) < 0)
            die(1, "%s, %s: no idea works: %s", one->what, one->who, cublas_no_idea(one->peer));
        if (!clock_try(clock, queue, one, &err) || !clock_capture(clock, queue, one, SETS, &one->samples, &err))
            die(1, "%s, %s: %s", one->what, one->who, err.message);
        verify(r->context, clock, one);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < r->count; i++) {
            runner *one = &r->all[(i + round) % r->count];

            if ((one->us[round] = clock_sample(clock, &one->samples, &err)) < 0)
                die(1, "%s, %s: %s", one->what, one->who, err.message);
        }
    for (int i = 0; i < r->count; i++)
        print_runner(&r->all[i], r->extent, peer_us(r, &r->all[i]));
}

int main(int argc, char **argv)
{
    static runner all[RUNNERS];
    int64_t extent[3] = {4096, 4096, 4096};
    race r = {.extent = extent, .type = TJ_BF16, .all = all};
    int is_gate = 0, quantizes = 0;
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    bench_clock *clock;
    tj_buffer *workspace;
    tj_error err;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--config") == 0 && i + 1 < argc)
            r.config = argv[++i];
        else if (strcmp(argv[i], "--gate") == 0)
            is_gate = 1;
        else if (strcmp(argv[i], "--quantize") == 0)
            quantizes = 1;
        else if (strcmp(argv[i], "--dtype") == 0 && i + 1 < argc)
            must(tj_type_parse(argv[++i], &r.type, &err), &err);
        else if (sscanf(argv[i], "%ldx%ldx%ld", &extent[0], &extent[1], &extent[2]) != 3)
            die(2, "write epilogues [--gate | --quantize] [--dtype bf16 | e4m3] [--config TEXT] [JxKxL]");
    must(tj_context_create(NULL, &r.context, &err), &err);
    must(tj_device_get(r.context, device_number(), &facts, &err), &err);
    clock = clock_open(r.context, NULL, &facts, &err);
    if (!clock)
        die(77, "%s", err.message);
    printf("# device %s; M . N is %ld x %ld of %s, k %ld\n", facts.name, (long)extent[0], (long)extent[2], tj_type_name(r.type),
           (long)extent[1]);
    must(tj_buffer_create(r.context, WORKSPACE_BYTES, &workspace, &err), &err);
    r.peers = cublas_open(clock_stream(clock), tj_buffer_address(workspace), WORKSPACE_BYTES, &err);
    if (r.peers)
        printf("# cuBLASLt %s\n", cublas_version(r.peers));
    else
        printf("# %s\n", err.message);
    if (is_gate || quantizes)
        race_gate(&r, quantizes);
    else
        race_bias(&r);
    run(&r, clock);
    return 0;
}
