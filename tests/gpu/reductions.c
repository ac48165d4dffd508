/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (it needs a GPU) */
/* tier: change; run: emulator/reductions; cost: 100 */
/* tier: change; run: emulator/reductions_sm_100 tcgen05; env: CUDA_EMULATOR_DEVICES=sm_100; cost: 30 */
/*
 * reductions [FAMILY]: outputs of an epilogue for each row or column, in every kernel that has them: elements past an edge leave no
 * trace, a NaN stays, the same call gives the same bytes, from a stream, a graph, a quick first call and a context of any
 * shapes.
 */
#include "buffer.h"
#include "gpu_test.h"
#include "host_program.h"

#include <math.h>
#include <stdint.h>

enum { J = 72, K = 24, L = 88, BATCH = 2, OUTPUTS = 4 };

/*
 * All values of P are below 0, and all of acc + 1 next to it are far from it: a 0 that is taken for an element changes a
 * result.
 */
#define EXPRESSION(narrow) \
    "most[row] = max(acc); total[col] = sum(acc + 1); peak" narrow "[col] = max(abs(acc)); rest[row] = sum(1 - acc); acc"
static const char expression[] = EXPRESSION(":bf16"), expression_of_f64[] = EXPRESSION("");
static const int by_rows[OUTPUTS] = {1, 0, 0, 1};

/* In addition to the usual numbers: a NaN; numbers that span so much along k that f32_split needs more than f16. */
enum { USUAL, HAS_NAN, SPANS };

static const struct text {
    const char *config;
    int type;
    int32_t layout; /* of P */
    int numbers, compute;
    int32_t l; /* 0: L */
    int32_t j; /* 0: J */
} texts[] = {
    {"tiled", TJ_F32, TJ_ROW_MAJOR, HAS_NAN},
    {"tiled:tile_width=5", TJ_F32, TJ_COL_MAJOR},
    {"naive:tile_width=32", TJ_BF16, TJ_ROW_MAJOR},
    {"simt", TJ_F32, TJ_ROW_MAJOR, HAS_NAN},
    {"simt:copy=registers,bm=32,bn=64,tm=4,tn=8", TJ_F32, TJ_COL_MAJOR},
    {"simt:slices=2,vector=1", TJ_F32, TJ_ROW_MAJOR},
    {"mma:bm=64,bn=64,wm=32,wn=16,pack=both", TJ_BF16, TJ_ROW_MAJOR, HAS_NAN},
    {"mma", TJ_BF16, TJ_COL_MAJOR},
    {"wgmma:store=boxes,bn=64", TJ_BF16, TJ_ROW_MAJOR},
    {"wgmma:store=lines,bm=64,bn=32", TJ_BF16, TJ_COL_MAJOR, HAS_NAN},
    {"wgmma:store=elements,pingpong=yes", TJ_BF16, TJ_ROW_MAJOR},
    {"wgmma:swap=yes,bn=24", TJ_BF16, TJ_ROW_MAJOR, HAS_NAN},
    {"wgmma:swap=yes,cluster=m2,bn=24", TJ_BF16, TJ_ROW_MAJOR, HAS_NAN},
    {"wgmma:cluster=n4,bm=64,bn=32", TJ_BF16, TJ_ROW_MAJOR},
    {"wgmma:cluster=k2,bm=64,bn=64", TJ_BF16, TJ_ROW_MAJOR},
    {"wgmma:swap=yes,bn=40,store=elements", TJ_BF16, TJ_COL_MAJOR},
    /* tiles that divide P: nothing stands between the last products and what is made of them */
    {"wgmma:bm=64,bn=128,multipliers=2,pingpong=yes,store=lines", TJ_BF16, TJ_ROW_MAJOR, USUAL, 0, 128, 128},
    {"tcgen05:store=boxes,bn=64", TJ_BF16, TJ_ROW_MAJOR, HAS_NAN},
    {"tcgen05:store=lines,bm=64,bn=32", TJ_BF16, TJ_COL_MAJOR, HAS_NAN},
    {"tcgen05:store=elements,bn=48", TJ_BF16, TJ_ROW_MAJOR},
    {"tcgen05:swap=yes,bm=64,bn=24", TJ_BF16, TJ_ROW_MAJOR, HAS_NAN},
    {"tcgen05:bn=128", TJ_BF16, TJ_ROW_MAJOR, USUAL, 0, 128, 128},
    {"planes:bm=64,bn=128", TJ_F32, TJ_ROW_MAJOR, USUAL, TJ_COMPUTE_F32_SPLIT},
    {"planes", TJ_F32, TJ_COL_MAJOR, SPANS, TJ_COMPUTE_F32_SPLIT},
    {"planes", TJ_F32, TJ_ROW_MAJOR, HAS_NAN, TJ_COMPUTE_F32_SPLIT},
    {"wgmma_planes:multipliers=1,bn=48", TJ_F32, TJ_ROW_MAJOR, USUAL, TJ_COMPUTE_F32_SPLIT},
    {"wgmma_planes:bn=32", TJ_F32, TJ_COL_MAJOR, SPANS, TJ_COMPUTE_F32_SPLIT},
    {"wgmma_planes", TJ_F32, TJ_ROW_MAJOR, HAS_NAN, TJ_COMPUTE_F32_SPLIT},
    {"skinny:stream=m", TJ_F32, TJ_ROW_MAJOR, HAS_NAN, 0, 20},
    {"strip", TJ_F32, TJ_ROW_MAJOR, HAS_NAN, 0, 16},
    {"strip:tm=5", TJ_BF16, TJ_COL_MAJOR, USUAL, 0, 8},
    {"strip:copies=boxes", TJ_F32, TJ_COL_MAJOR, HAS_NAN, 0, 12},
    {"strip:tn=7", TJ_F64, TJ_ROW_MAJOR, HAS_NAN, 0, 7},
    {"small_batch", TJ_F32, TJ_ROW_MAJOR, HAS_NAN},
    {"small_batch:products=2", TJ_BF16, TJ_COL_MAJOR, USUAL, 0, 10},
    {"small_batch:tm=3", TJ_F64, TJ_ROW_MAJOR, USUAL, 0, 7},
    {NULL, TJ_F32, TJ_ROW_MAJOR}, /* the library's choice */
};

static tj_device_facts device = TJ_DEVICE_FACTS_INIT;

typedef struct product {
    tj_problem problem;
    void *m, *n, *p, *output[OUTPUTS];
    size_t p_bytes, bytes[OUTPUTS];
    tj_buffer *dm, *dn, *dp, *d[OUTPUTS];
    tj_operands x;
} product;

/* All have the type in which the expression computes, except the third, which is bf16 if that is f32. */
static size_t element_bytes(const struct text *text, int i)
{
    return text->type == TJ_F64 ? 8 : i == 2 ? 2 : 4;
}

static void make_product(tj_context *context, const struct text *text, int k, product *q)
{
    const int32_t j = text->j ? text->j : J, l = text->l ? text->l : L;
    const size_t size = tj_type_bytes((tj_type)text->type), m = (size_t)(BATCH * j * K), n = (size_t)(BATCH * K * l);
    float *numbers = malloc((m > n ? m : n) * sizeof *numbers);
    tj_error err = {TJ_OK, ""};
    int made;

    memset(q, 0, sizeof *q);
    q->problem = (tj_problem)TJ_PROBLEM_INIT(j, k, l, text->type);
    q->problem.compute = (int8_t)text->compute;
    q->problem.batch = BATCH;
    q->problem.p.layout = (int8_t)text->layout;
    made = tj_epilogue_parse(text->type == TJ_F64 ? expression_of_f64 : expression, &q->problem.epilogue, &err) == TJ_OK;
    q->m = malloc(m * size);
    q->n = malloc(n * size);
    q->p_bytes = (size_t)(BATCH * j * l) * size;
    q->p = malloc(q->p_bytes);
    tj_fill_random(TJ_F32, numbers, m, 3);
    for (size_t i = 0; i < m; i++)
        numbers[i] = (-0.25F - fabsf(numbers[i])) * (text->numbers == SPANS && i % 2 == 0 ? 0x1p-40F : 1);
    if (text->numbers == HAS_NAN)
        numbers[3 * K] = NAN; /* row 3 of the first product */
    tj_convert((tj_type)text->type, q->m, TJ_F32, numbers, m);
    tj_fill_random(TJ_F32, numbers, n, 4);
    for (size_t i = 0; i < n; i++)
        numbers[i] = (0.25F + fabsf(numbers[i])) * (text->numbers == SPANS && i / (size_t)l % 2 == 1 ? 0x1p-40F : 1);
    tj_convert((tj_type)text->type, q->n, TJ_F32, numbers, n);
    q->x = (tj_operands)TJ_OPERANDS_INIT;
    made = made && tj_buffer_create(context, m * size, &q->dm, &err) == TJ_OK &&
           tj_buffer_create(context, n * size, &q->dn, &err) == TJ_OK &&
           tj_buffer_create(context, q->p_bytes, &q->dp, &err) == TJ_OK &&
           tj_buffer_write(q->dm, 0, q->m, m * size, &err) == TJ_OK && tj_buffer_write(q->dn, 0, q->n, n * size, &err) == TJ_OK;
    for (int i = 0; i < OUTPUTS && made; i++) {
        q->bytes[i] = (size_t)(by_rows[i] ? j : l) * BATCH * element_bytes(text, i);
        q->output[i] = malloc(q->bytes[i]);
        made = tj_buffer_create(context, q->bytes[i], &q->d[i], &err) == TJ_OK;
        q->x.with[i].address = made ? tj_buffer_address(q->d[i]) : NULL;
    }
    expect(made, "a product: %s", err.message);
    q->x.m.address = tj_buffer_address(q->dm);
    q->x.n.address = tj_buffer_address(q->dn);
    q->x.p.address = tj_buffer_address(q->dp);
    free(numbers);
}

static void drop_product(product *q)
{
    tj_buffer_free(q->dm);
    tj_buffer_free(q->dn);
    tj_buffer_free(q->dp);
    free(q->m);
    free(q->n);
    free(q->p);
    for (int i = 0; i < OUTPUTS; i++) {
        tj_buffer_free(q->d[i]);
        free(q->output[i]);
    }
}

static void clear(product *q)
{
    tj_error err;
    int cleared = tj_buffer_fill(q->dp, 0xff, &err) == TJ_OK;

    for (int i = 0; i < OUTPUTS; i++)
        cleared = cleared && tj_buffer_fill(q->d[i], 0xff, &err) == TJ_OK;
    expect(cleared, "clearing: %s", err.message);
}

/* Reads all that was stored, and compares it with the reference. */
static void expect_right(product *q, const char *what)
{
    tj_host_operands host = TJ_HOST_OPERANDS(q->m, q->n);
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_error err = {TJ_OK, ""};
    tj_status status = tj_buffer_read(q->dp, 0, q->p, q->p_bytes, &err);

    for (int i = 0; i < OUTPUTS && status == TJ_OK; i++) {
        status = tj_buffer_read(q->d[i], 0, q->output[i], q->bytes[i], &err);
        host.with[i].address = q->output[i];
    }
    if (status == TJ_OK)
        status = tj_reference_check(&q->problem, &host, q->p, 0, 2, &report, &err);
    expect(status == TJ_OK && report.passed, "%s: %s%s", what, status == TJ_OK ? "" : err.message, report.reason);
}

static double result(const struct text *text, const void *output, int i)
{
    return text->type == TJ_F64 ? ((const double *)output)[i] : (double)((const float *)output)[i];
}

/* Each kernel of f32_split that may multiply has its own tiles: each should be seen. */
static void expect_path(tj_context *context, const tj_plan *plan, const struct text *text, const tj_operands *x)
{
    static const tj_path wanted[] = {[USUAL] = TJ_PATH_F16, [HAS_NAN] = TJ_PATH_F32, [SPANS] = TJ_PATH_BF16};
    int32_t path[BATCH] = {0};
    tj_error err = {TJ_OK, ""};

    expect(tj_kernel_copy_paths(tj_plan_kernel(plan), x->workspace, path, BATCH, NULL, &err) == TJ_OK &&
               tj_synchronize(context, NULL, &err) == TJ_OK && path[0] == (int32_t)wanted[text->numbers],
           "%s: path %s %s", text->config, tj_path_name((tj_path)path[0]), err.message);
}

/* Twice, with the same bytes. */
static void test_text(tj_context *context, const struct text *text, int k)
{
    const char *const name = text->config ? text->config : "chosen";
    void *before[OUTPUTS];
    tj_buffer *workspace = NULL;
    tj_config config = TJ_CONFIG_INIT;
    const tj_plan *plan = NULL;
    tj_error err = {TJ_OK, ""};
    product q;

    make_product(context, text, k, &q);
    if (!expect(!text->config || tj_config_parse(text->config, &config, &err) == TJ_OK, "%s: %s", name, err.message) ||
        (text->config && !may_run(&device, &q.problem, &config)) ||
        !expect(tj_plan_prepare(context, &q.problem, text->config ? &config : NULL, &plan, &err) == TJ_OK, "%s: %s", name,
                err.message)) {
        drop_product(&q);
        return;
    }
    expect(tj_plan_workspace_bytes(plan) == 0 ||
               tj_buffer_create(context, tj_plan_workspace_bytes(plan), &workspace, &err) == TJ_OK,
           "a workspace: %s", err.message);
    q.x.workspace = workspace ? tj_buffer_address(workspace) : NULL;
    q.x.workspace_bytes = tj_plan_workspace_bytes(plan);
    for (int turn = 0; turn < 2; turn++) {
        clear(&q);
        expect(tj_plan_launch(plan, &q.x, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK, "%s: %s", name,
               err.message);
        expect_right(&q, name);
        if (text->compute == TJ_COMPUTE_F32_SPLIT)
            expect_path(context, plan, text, &q.x);
        for (int i = 0; i < OUTPUTS; i++) {
            if (turn > 0)
                expect(memcmp(before[i], q.output[i], q.bytes[i]) == 0, "%s: output %d differs from call to call", name, i);
            else
                before[i] = memcpy(malloc(q.bytes[i]), q.output[i], q.bytes[i]);
        }
    }
    if (text->numbers == HAS_NAN)
        expect(isnan(result(text, q.output[0], 3)) && !isnan(result(text, q.output[0], 2)) &&
                   isnan(result(text, q.output[1], 0)),
               "%s: a NaN stays", name);
    for (int i = 0; i < OUTPUTS; i++)
        free(before[i]);
    tj_buffer_free(workspace);
    drop_product(&q);
}

/* A workspace that the operands leave out comes from the stream, in a graph too. */
static void test_capture(tj_context *context)
{
    void *stream, *graph = NULL, *executable = NULL;
    const tj_plan *plan;
    tj_buffer *workspace = NULL;
    tj_error err = {TJ_OK, ""};
    product q;

    make_product(context, &texts[4], K, &q);
    expect(tj_plan_prepare(context, &q.problem, NULL, &plan, &err) == TJ_OK, "prepare: %s", err.message);
    expect(tj_plan_workspace_bytes(plan) > 0 &&
               tj_buffer_create(context, tj_plan_workspace_bytes(plan), &workspace, &err) == TJ_OK,
           "a workspace: %s", err.message);
    q.x.workspace = tj_buffer_address(workspace);
    q.x.workspace_bytes = tj_plan_workspace_bytes(plan);
    expect(enter_primary(context), "the context");
    expect(cu.stream_create(&stream, 1) == 0 && cu.capture_begin(stream, 0) == 0, "capture begins");
    expect(tj_matmul(context, &q.problem, &q.x, stream, &err) == TJ_OK, "captured: %s", err.message);
    expect(cu.capture_end(stream, &graph) == 0 && graph && cu.graph_instantiate(&executable, graph, 0) == 0, "instantiate");
    for (int i = 0; i < 2; i++) {
        clear(&q);
        expect(cu.graph_launch(executable, stream) == 0 && cu.stream_sync(stream) == 0, "replay %d", i);
        expect_right(&q, "a replay");
    }
    cu.graph_exec_destroy(executable);
    cu.graph_destroy(graph);
    cu.stream_destroy(stream);
    leave_context();
    tj_buffer_free(workspace);
    drop_product(&q);
}

/* Contexts that prefer a kernel for any shape. */
static void test_context(const char *what, const tj_context_options *options)
{
    tj_context *context = NULL;
    tj_error err = {TJ_OK, ""};
    product q;

    if (!expect(tj_context_create(options, &context, &err) == TJ_OK, "%s: %s", what, err.message))
        return;
    make_product(context, &texts[1], K, &q);
    for (int i = 0; i < 3; i++) { /* other extents of k, which count as one that varies */
        q.problem.k.extent = K - i;
        clear(&q);
        expect(tj_matmul(context, &q.problem, &q.x, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK,
               "%s: %s", what, err.message);
        expect_right(&q, what);
    }
    drop_product(&q);
    tj_context_free(context);
}

int main(int argc, char **argv)
{
    tj_context_options any = TJ_CONTEXT_OPTIONS_INIT, quick = TJ_CONTEXT_OPTIONS_INIT;
    const char *const only = argc > 1 ? argv[1] : "";
    tj_context *context = open_gpu("reductions", "");
    tj_error err;

    expect(tj_device_current(context, &device, &err) == TJ_OK, "%s", err.message);
    any.cache_dir = quick.cache_dir = "";
    any.specialize = TJ_SPECIALIZE_TYPES;
    quick.first_call = TJ_FIRST_CALL_QUICK;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!*only || (texts[i].config && strncmp(texts[i].config, only, strlen(only)) == 0))
            test_text(context, &texts[i], K);
    if (*only) {
        tj_context_free(context);
        return finish("reductions");
    }
    test_text(context, &texts[1], 0);
    test_text(context, &texts[4], 0);
    if (expect(load_driver(), "the driver"))
        test_capture(context);
    tj_context_free(context);
    test_context("any shapes", &any);
    test_context("quick", &quick);
    return finish("reductions");
}
