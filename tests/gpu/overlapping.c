/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (it needs a GPU) */
/* tier: change; run: emulator/overlapping; sanitizers: nightly (minutes of one thread) */
/*
 * overlapping: products that may start before the kernel ahead has ended, asked (tj_problem.overlap) and unasked, after products and
 * after a kernel of the program's own that writes late: they wait for all that it touches. The emulator ends a kernel before it
 * begins the next, and reports what would have come too early.
 */
#include "gpu_test.h"
#include "host_program.h"

enum { ROWS = 16, SIDE = 128, MOST_BATCH = 2, OWN_THREADS = 256, NAP_NS = 1000 };

static int links = 64, rounds = 32, own_kernels = 1000, naps = 8;
static const tj_emulator *emulator;

/* ---- products ------------------------------------------------------------------------------------------------------------ */

/* M . N with an N that moves columns on by one, so that every number stays as it is. */
typedef struct way {
    const char *config;
    int compute, layout, n_layout, batch, cc_least, cc_most; /* layout: of M and P */
} way;

#define ANY_DEVICE 0, 99
static const way ways[] = {
    {"simt:bm=16,bn=32,bk=32,tm=4,tn=4", TJ_COMPUTE_DEFAULT, TJ_ROW_MAJOR, TJ_ROW_MAJOR, 1, ANY_DEVICE},
    {"simt:bm=16,bn=32,bk=32,tm=4,tn=4,copy=registers", TJ_COMPUTE_DEFAULT, TJ_ROW_MAJOR, TJ_ROW_MAJOR, 1, ANY_DEVICE},
    {"skinny", TJ_COMPUTE_DEFAULT, TJ_ROW_MAJOR, TJ_ROW_MAJOR, 1, ANY_DEVICE},
    {"skinny:splits=3", TJ_COMPUTE_DEFAULT, TJ_ROW_MAJOR, TJ_COL_MAJOR, 2, ANY_DEVICE},
    {"strip", TJ_COMPUTE_DEFAULT, TJ_COL_MAJOR, TJ_COL_MAJOR, 1, ANY_DEVICE},
    {"strip:splits=2", TJ_COMPUTE_DEFAULT, TJ_COL_MAJOR, TJ_COL_MAJOR, 2, ANY_DEVICE},
    {"strip:copies=boxes", TJ_COMPUTE_DEFAULT, TJ_COL_MAJOR, TJ_COL_MAJOR, 1, 9, 99},
    {"strip:copies=boxes,splits=2", TJ_COMPUTE_DEFAULT, TJ_COL_MAJOR, TJ_COL_MAJOR, 2, 9, 99},
    {"small_batch", TJ_COMPUTE_DEFAULT, TJ_ROW_MAJOR, TJ_ROW_MAJOR, 2, ANY_DEVICE},
    {"tiled", TJ_COMPUTE_DEFAULT, TJ_ROW_MAJOR, TJ_ROW_MAJOR, 1, ANY_DEVICE},
    {"mma:bm=16,bn=32,wm=16,wn=16", TJ_COMPUTE_TF32, TJ_ROW_MAJOR, TJ_ROW_MAJOR, 1, 8, 99},
    {"mma:bm=16,bn=32,wm=16,wn=16,splits=2", TJ_COMPUTE_TF32, TJ_ROW_MAJOR, TJ_COL_MAJOR, 2, 8, 99},
    {"mma:bm=16,bn=32,wm=16,wn=16,pack=m", TJ_COMPUTE_TF32, TJ_ROW_MAJOR, TJ_COL_MAJOR, 1, 8, 99},
    {"mma:bm=16,bn=32,wm=16,wn=16,pack=n", TJ_COMPUTE_TF32, TJ_ROW_MAJOR, TJ_ROW_MAJOR, 1, 8, 99},
    {"planes", TJ_COMPUTE_F32_SPLIT, TJ_ROW_MAJOR, TJ_ROW_MAJOR, 1, 8, 99},
    {"wgmma:bm=64,bn=32,multipliers=1", TJ_COMPUTE_TF32, TJ_ROW_MAJOR, TJ_COL_MAJOR, 1, 9, 9},
    {"wgmma:bm=64,bn=32,multipliers=2,pingpong=yes", TJ_COMPUTE_TF32, TJ_ROW_MAJOR, TJ_COL_MAJOR, 1, 9, 9},
    {"wgmma:bm=64,bn=32,multipliers=1,splits=2", TJ_COMPUTE_TF32, TJ_ROW_MAJOR, TJ_COL_MAJOR, 2, 9, 9},
    {"wgmma:swap=yes,bm=64,bn=16,multipliers=1", TJ_COMPUTE_TF32, TJ_ROW_MAJOR, TJ_COL_MAJOR, 1, 9, 9},
    {"wgmma:swap=yes,cluster=m2,bm=64,bn=8,multipliers=1", TJ_COMPUTE_TF32, TJ_ROW_MAJOR, TJ_COL_MAJOR, 1, 9, 9},
    {"wgmma:swap=yes,cluster=n2,bm=64,bn=16,multipliers=1", TJ_COMPUTE_TF32, TJ_ROW_MAJOR, TJ_COL_MAJOR, 1, 9, 9},
    {"wgmma:bm=64,bn=32,multipliers=1,pack=n", TJ_COMPUTE_TF32, TJ_ROW_MAJOR, TJ_ROW_MAJOR, 1, 9, 9},
};

/* They are so short that most overlap unasked. */
static tj_problem problem_of(const way *w, int is_asked)
{
    tj_problem problem = TJ_PROBLEM_INIT(ROWS, SIDE, SIDE, TJ_F32);

    problem.compute = (int8_t)w->compute;
    problem.m.layout = problem.p.layout = (int8_t)w->layout;
    problem.n.layout = (int8_t)w->n_layout;
    problem.batch = w->batch;
    problem.epilogue.has_beta = is_asked != 0; /* chains take a beta of 0, which reads no C */
    problem.overlap = (int16_t)is_asked;
    return problem;
}

static const tj_plan *plan_of(tj_context *context, const tj_problem *problem, const char *name)
{
    tj_config config = TJ_CONFIG_INIT;
    const tj_plan *plan = NULL;
    tj_error err;

    expect(tj_config_parse(name, &config, &err) == TJ_OK && tj_plan_prepare(context, problem, &config, &plan, &err) == TJ_OK,
           "%s: %s", name, err.message);
    return plan;
}

static tj_buffer *buffer_of(tj_context *context, const float *numbers, size_t count)
{
    tj_buffer *buffer = NULL;
    tj_error err;

    expect(tj_buffer_create(context, count * sizeof *numbers, &buffer, &err) == TJ_OK &&
               tj_buffer_write(buffer, 0, numbers, count * sizeof *numbers, &err) == TJ_OK,
           "a buffer: %s", err.message);
    return buffer;
}

static tj_buffer *moves_of(tj_context *context, const way *w)
{
    static float moves[MOST_BATCH * SIDE * SIDE];

    memset(moves, 0, sizeof moves);
    for (int product = 0; product < w->batch; product++)
        for (int k = 0; k < SIDE; k++) {
            const int l = (k + 1) % SIDE;

            moves[product * SIDE * SIDE + (w->n_layout == TJ_ROW_MAJOR ? k * SIDE + l : l * SIDE + k)] = 1;
        }
    return buffer_of(context, moves, (size_t)w->batch * SIDE * SIDE);
}

/* Expect that the emulator has nothing to say of what ran since the last time. */
static void expect_silence(const char *config, const char *what)
{
    cuEmuFinding finding;

    if (!emulator || emulator->finding_count() == 0)
        return;
    emulator->get_finding(0, &finding);
    expect(0, "%s, %s: %s", config, what, finding.text);
    emulator->clear();
}

/* ---- after products ------------------------------------------------------------------------------------------------------ */

static void test_chain(tj_context *context, const way *w, int is_asked, int is_captured)
{
    static float numbers[MOST_BATCH * ROWS * SIDE], found[MOST_BATCH * ROWS * SIDE];
    const tj_problem problem = problem_of(w, is_asked);
    const tj_plan *plan = plan_of(context, &problem, w->config);
    const int rows = ROWS * w->batch;
    const size_t count = (size_t)rows * SIDE;
    tj_operands x = TJ_OPERANDS_INIT;
    tj_buffer *buffer[2], *n = moves_of(context, w), *workspace = NULL;
    void *stream = NULL, *graph = NULL, *executable = NULL;
    int wrong = 0, moved;
    tj_error err = {TJ_OK, ""};

    for (int i = 0; i < rows * SIDE; i++)
        numbers[i] = (float)(i % 1009);
    for (int i = 0; i < 2; i++)
        buffer[i] = buffer_of(context, numbers, count);
    if (!plan || !expect(cu.stream_create(&stream, 1) == 0, "a stream"))
        return;
    x.n.address = tj_buffer_address(n);
    x.workspace_bytes = tj_plan_workspace_bytes(plan);
    if (x.workspace_bytes > 0 &&
        expect(tj_buffer_create(context, x.workspace_bytes, &workspace, &err) == TJ_OK, "%s", err.message))
        x.workspace = tj_buffer_address(workspace);
    expect(!is_captured || cu.capture_begin(stream, 0) == 0, "capture begins");
    for (int i = 0; i < links * (is_captured ? 1 : rounds); i++) {
        x.m.address = tj_buffer_address(buffer[i % 2]);
        x.p.address = tj_buffer_address(buffer[(i + 1) % 2]);
        if (tj_plan_launch(plan, &x, stream, &err) != TJ_OK)
            expect(0, "%s, link %d: %s", w->config, i, err.message);
    }
    if (is_captured) {
        expect(cu.capture_end(stream, &graph) == 0 && cu.graph_instantiate(&executable, graph, 0) == 0, "%s: a graph",
               w->config);
        for (int i = 0; i < rounds; i++)
            expect(cu.graph_launch(executable, stream) == 0, "%s: replay %d", w->config, i);
    }
    expect(cu.stream_sync(stream) == 0 && tj_buffer_read(buffer[0], 0, found, count * sizeof *found, &err) == TJ_OK,
           "%s: the end of the chain", w->config);
    moved = links * rounds % SIDE;
    for (int i = 0; i < rows * SIDE; i++) {
        const int in_product = i % (ROWS * SIDE), is_row_major = w->layout == TJ_ROW_MAJOR;
        const int col = is_row_major ? in_product % SIDE : in_product / ROWS, step = is_row_major ? 1 : ROWS;

        wrong += found[i + ((col + moved) % SIDE - col) * step] != numbers[i];
    }
    expect(wrong == 0, "%s%s%s: %d numbers are wrong after %d products", w->config, is_asked ? "" : ", unasked",
           is_captured ? ", captured" : "", wrong, links * rounds);
    expect_silence(w->config, "after products");
    if (is_captured) {
        cu.graph_exec_destroy(executable);
        cu.graph_destroy(graph);
    }
    cu.stream_destroy(stream);
    for (int i = 0; i < 2; i++)
        tj_buffer_free(buffer[i]);
    tj_buffer_free(n);
    tj_buffer_free(workspace);
}

/* ---- after a kernel of the program's own --------------------------------------------------------------------------------- */

/*
 * It naps, fills M with value, and naps again. Then it looks at P, whose every element has yet to be `before`, counts those that
 * are not, and fills C with value.
 */
static const char own_ptx[] =
    ".version 6.3\n.target sm_70\n.address_size 64\n"
    ".visible .entry own(.param .u64 m, .param .u64 c, .param .u64 p, .param .u64 wrong, .param .u32 of_m, .param .u32 of_p,\n"
    "                    .param .f32 value, .param .f32 before, .param .u32 naps)\n"
    "{\n"
    ".reg .pred %q<4>;\n.reg .b32 %r<12>;\n.reg .f32 %f<4>;\n.reg .b64 %d<12>;\n"
    "ld.param.u64 %d1, [m];\nld.param.u64 %d2, [c];\nld.param.u64 %d3, [p];\nld.param.u64 %d4, [wrong];\n"
    "ld.param.u32 %r1, [of_m];\nld.param.u32 %r2, [of_p];\nld.param.f32 %f1, [value];\nld.param.f32 %f2, [before];\n"
    "ld.param.u32 %r3, [naps];\nmov.u32 %r4, %tid.x;\nmov.u32 %r5, 0;\n"
    "nap:\nnanosleep.u32 1000;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %q1, %r5, %r3;\n@%q1 bra nap;\n"
    "mov.u32 %r6, %r4;\n"
    "fill_m:\nsetp.ge.u32 %q1, %r6, %r1;\n@%q1 bra filled;\n"
    "mul.wide.u32 %d5, %r6, 4;\nadd.u64 %d6, %d1, %d5;\nst.global.f32 [%d6], %f1;\nadd.u32 %r6, %r6, 256;\nbra fill_m;\n"
    "filled:\nmov.u32 %r5, 0;\n"
    "again:\nnanosleep.u32 1000;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %q1, %r5, %r3;\n@%q1 bra again;\n"
    "mov.u32 %r6, %r4;\n"
    "look:\nsetp.ge.u32 %q1, %r6, %r2;\n@%q1 bra done;\n"
    "mul.wide.u32 %d5, %r6, 4;\nadd.u64 %d6, %d3, %d5;\nld.volatile.global.f32 %f3, [%d6];\nsetp.neu.f32 %q2, %f3, %f2;\n"
    "@%q2 red.global.add.u32 [%d4], 1;\n"
    "add.u64 %d6, %d2, %d5;\nst.global.f32 [%d6], %f1;\nadd.u32 %r6, %r6, 256;\nbra look;\n"
    "done:\nret;\n}\n";

typedef struct own_operands {
    tj_buffer *m, *n, *c, *p, *wrong;
    uint32_t of_m, of_p;
} own_operands;

static void launch_own(void *function, void *stream, const own_operands *x, float value, float before)
{
    const void *m = tj_buffer_address(x->m), *c = tj_buffer_address(x->c), *p = tj_buffer_address(x->p),
               *wrong = tj_buffer_address(x->wrong);
    uint32_t of_m = x->of_m, of_p = x->of_p, nap_count = (uint32_t)naps;
    void *parameters[] = {(void *)&m, (void *)&c, (void *)&p, (void *)&wrong, &of_m, &of_p, &value, &before, &nap_count};

    expect(cu.launch(function, 1, 1, 1, OWN_THREADS, 1, 1, 0, stream, parameters, NULL) == 0, "the program's own kernel");
}

/* M and C are both `value` when P = M . N + C is computed. */
static void test_after_own(tj_context *context, const way *w, void *own)
{
    static float zeros[MOST_BATCH * SIDE * SIDE];
    const tj_problem problem = problem_of(w, 1);
    const size_t count = (size_t)w->batch * ROWS * SIDE;
    const tj_plan *plan;
    own_operands x = {.of_m = (uint32_t)count, .of_p = (uint32_t)count};
    tj_operands operands = TJ_OPERANDS_INIT;
    uint32_t wrong = 0;
    void *stream = NULL;
    float before = 0;
    tj_error err = {TJ_OK, ""};

    plan = plan_of(context, &problem, w->config);
    x.n = moves_of(context, w);
    x.m = buffer_of(context, zeros, count);
    x.c = buffer_of(context, zeros, count);
    x.p = buffer_of(context, zeros, count);
    x.wrong = buffer_of(context, zeros, 1);
    operands.m.address = tj_buffer_address(x.m);
    operands.n.address = tj_buffer_address(x.n);
    operands.c.address = tj_buffer_address(x.c);
    operands.p.address = tj_buffer_address(x.p);
    operands.beta = 1;
    if (!plan || !expect(cu.stream_create(&stream, 1) == 0, "a stream"))
        return;
    for (int i = 1; i <= own_kernels; i++) {
        const float value = (float)(i % 500);

        launch_own(own, stream, &x, value, before);
        if (tj_plan_launch(plan, &operands, stream, &err) != TJ_OK)
            expect(0, "%s, after an own kernel: %s", w->config, err.message);
        before = 2 * value;
    }
    launch_own(own, stream, &x, 0, before);
    expect(cu.stream_sync(stream) == 0 && tj_buffer_read(x.wrong, 0, &wrong, sizeof wrong, &err) == TJ_OK,
           "%s: the end of %d own kernels", w->config, own_kernels);
    expect(wrong == 0, "%s: %u numbers were wrong or early after %d own kernels", w->config, wrong, own_kernels);
    expect_silence(w->config, "after an own kernel");
    cu.stream_destroy(stream);
    tj_buffer_free(x.m);
    tj_buffer_free(x.n);
    tj_buffer_free(x.c);
    tj_buffer_free(x.p);
    tj_buffer_free(x.wrong);
}

/* Does the emulator find that N is read ahead of the wait, after a kernel that writes it? If so, its device is lost. */
static int write_n(tj_context *context, const way *w, void *own)
{
    static float zeros[SIDE * SIDE];
    const tj_problem problem = problem_of(w, 1);
    const tj_plan *plan = plan_of(context, &problem, w->config);
    own_operands x = {.of_m = SIDE * SIDE, .of_p = 0};
    tj_operands operands = TJ_OPERANDS_INIT;
    tj_error err = {TJ_OK, ""};
    tj_status status;

    x.m = buffer_of(context, zeros, SIDE * SIDE);
    x.c = x.p = x.wrong = x.n = buffer_of(context, zeros, SIDE * SIDE);
    operands.m.address = tj_buffer_address(x.c);
    operands.n.address = tj_buffer_address(x.m);
    operands.p.address = (const char *)tj_buffer_address(x.c) + sizeof(float) * ROWS * SIDE;
    if (!plan)
        return 0;
    launch_own(own, NULL, &x, 1, 0);
    status = tj_plan_launch(plan, &operands, NULL, &err);
    if (status == TJ_OK)
        status = tj_synchronize(context, NULL, &err);
    if (status == TJ_OK) {
        tj_buffer_free(x.m);
        tj_buffer_free(x.n);
    }
    return status != TJ_OK && strstr(err.message, "before griddepcontrol.wait") != NULL;
}

static void test_way(tj_context *context, int i, int cc_major, void *own)
{
    const way *const w = &ways[i];

    if (cc_major < w->cc_least || cc_major > w->cc_most)
        return;
    for (int is_captured = 0; is_captured < 2; is_captured++)
        for (int is_asked = 0; is_asked < 2; is_asked++)
            test_chain(context, w, is_asked, is_captured);
    test_after_own(context, w, own);
    if (emulator && w->batch == 1)
        expect(!write_n(context, w, own), "%s: it waits before it reads N", w->config);
}

/* overlapping [N]: only way N. */
int main(int argc, char **argv)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_context *context = open_gpu("overlapping", "");
    void *module = NULL, *own = NULL;
    tj_error err;

    setvbuf(stdout, NULL, _IOLBF, 0); /* a kernel that waits for ever ends in a kill */
    if (!expect(load_driver(), "the driver's functions") || !expect(enter_primary(context), "the primary context"))
        return finish("overlapping");
    if (!expect(tj_device_current(context, &facts, &err) == TJ_OK && tj_emulator_get(context, &emulator, &err) == TJ_OK, "%s",
                err.message) ||
        !expect(cu.module_load(&module, own_ptx) == 0 && cu.module_function(&own, module, "own") == 0,
                "the program's own kernel"))
        return finish("overlapping");
    if (emulator) {
        links = 2; /* even: the last P is where the first M was */
        rounds = own_kernels = 2;
        naps = 1;
    }
    for (int i = 0; i < (int)(sizeof ways / sizeof ways[0]); i++)
        if (argc == 1 || atoi(argv[1]) == i)
            test_way(context, i, facts.cc_major, own);
    cu.module_unload(module);
    leave_context();
    tj_context_free(context);
    return finish("overlapping");
}
