/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (it needs a GPU) */
/* tier: change; run: emulator/share */
/*
 * share: products that may occupy a part of the device's multiprocessors, as they ask (tj_problem.multiprocessors) and as the
 * green context of a stream has them. The emulator has no green contexts.
 */
#include "gpu_test.h"
#include "host_program.h"

enum { J = 384, K = 128, L = 640, SM_RESOURCE = 1, RESOURCE_BYTES = 512, COUNT_AT = 96, DEFAULT_STREAM = 1, NON_BLOCKING = 1 };

typedef struct product {
    tj_problem problem;
    void *m, *n, *p;
    tj_buffer *dm, *dn, *dp;
    tj_operands x;
} product;

static int make_product(tj_context *context, product *q)
{
    const size_t m = (size_t)J * K * 2, n = (size_t)K * L * 2, p = (size_t)J * L * 2;
    tj_error err;

    memset(q, 0, sizeof *q);
    q->problem = (tj_problem)TJ_PROBLEM_INIT(J, K, L, TJ_BF16);
    q->m = malloc(m);
    q->n = malloc(n);
    q->p = malloc(p);
    if (!expect(q->m && q->n && q->p, "memory"))
        return 0;
    tj_fill_random(TJ_BF16, q->m, m / 2, 1);
    tj_fill_random(TJ_BF16, q->n, n / 2, 2);
    q->x = (tj_operands)TJ_OPERANDS_INIT;
    if (!expect(tj_buffer_create(context, m, &q->dm, &err) == TJ_OK && tj_buffer_create(context, n, &q->dn, &err) == TJ_OK &&
                    tj_buffer_create(context, p, &q->dp, &err) == TJ_OK && tj_buffer_write(q->dm, 0, q->m, m, &err) == TJ_OK &&
                    tj_buffer_write(q->dn, 0, q->n, n, &err) == TJ_OK,
                "buffers: %s", err.message))
        return 0;
    q->x.m.address = tj_buffer_address(q->dm);
    q->x.n.address = tj_buffer_address(q->dn);
    q->x.p.address = tj_buffer_address(q->dp);
    return 1;
}

/* By a graph that is captured in the stream and launched there. */
static int multiply_captured(tj_context *context, product *q, void *stream, tj_error *err)
{
    void *graph = NULL, *executable = NULL;
    tj_status status;

    if (!expect(cu.capture_begin(stream, 0) == 0, "a capture"))
        return 0;
    status = tj_matmul(context, &q->problem, &q->x, (struct CUstream_st *)stream, err);
    if (!expect(cu.capture_end(stream, &graph) == 0, "the capture is whole") || status != TJ_OK ||
        !expect(cu.graph_instantiate(&executable, graph, 0) == 0 && cu.graph_launch(executable, stream) == 0, "the graph"))
        return 0;
    cu.stream_sync(stream);
    cu.graph_exec_destroy(executable);
    cu.graph_destroy(graph);
    return 1;
}

/* Multiply in a stream, with so many multiprocessors; 0: all, or those of the stream. At once, and by a graph. */
static void multiply(tj_context *context, product *q, void *stream, int32_t multiprocessors, const char *where)
{
    const tj_host_operands host = TJ_HOST_OPERANDS(q->m, q->n);

    q->problem.multiprocessors = multiprocessors;
    for (int is_captured = 0; is_captured < 2; is_captured++) {
        const char *const how = is_captured ? "captured" : "at once";
        tj_check_report report = TJ_CHECK_REPORT_INIT;
        tj_error err = {0};

        if (!expect(tj_buffer_fill(q->dp, 0xff, &err) == TJ_OK &&
                        (is_captured ? multiply_captured(context, q, stream, &err)
                                     : tj_matmul(context, &q->problem, &q->x, (struct CUstream_st *)stream, &err) == TJ_OK),
                    "%s, of %d, %s: %s", where, multiprocessors, how, err.message))
            return;
        cu.stream_sync(stream);
        expect(tj_buffer_read(q->dp, 0, q->p, (size_t)J * L * 2, &err) == TJ_OK &&
                   tj_reference_check(&q->problem, &host, q->p, 0, 2, &report, &err) == TJ_OK && report.passed,
               "%s, of %d, %s: wrong", where, multiprocessors, how);
    }
}

/* The streams of two green contexts: one of 24 multiprocessors or more, and one of the rest. */
static void multiply_in_green_contexts(tj_context *context, product *q, int device)
{
    void *const driver = dlopen("libcuda.so.1", RTLD_NOW);
    unsigned char whole[RESOURCE_BYTES] = {0}, part[2][RESOURCE_BYTES] = {{0}};
    int (*get)(int, void *, int), (*split)(void *, unsigned *, const void *, void *, unsigned, unsigned),
        (*describe)(void **, void *, unsigned), (*create)(void **, void *, int, unsigned), (*destroy)(void *),
        (*stream_of)(void **, void *, unsigned, int);
    unsigned parts = 1;

    if (!driver || !look_up(driver, "cuDeviceGetDevResource", &get) ||
        !look_up(driver, "cuDevSmResourceSplitByCount", &split) || !look_up(driver, "cuDevResourceGenerateDesc", &describe) ||
        !look_up(driver, "cuGreenCtxCreate", &create) || !look_up(driver, "cuGreenCtxDestroy", &destroy) ||
        !look_up(driver, "cuGreenCtxStreamCreate", &stream_of) || get(device, whole, SM_RESOURCE) != 0 ||
        split(part[0], &parts, whole, part[1], 0, 24) != 0) {
        printf("share: no green contexts here\n");
        return;
    }
    for (int i = 0; i < 2; i++) {
        void *description = NULL, *green = NULL, *stream = NULL;
        unsigned count;
        char where[64];

        memcpy(&count, part[i] + COUNT_AT, sizeof count);
        (void)snprintf(where, sizeof where, "a green context of %u multiprocessors", count);
        if (!expect(describe(&description, part[i], 1) == 0 && create(&green, description, device, DEFAULT_STREAM) == 0 &&
                        stream_of(&stream, green, NON_BLOCKING, 0) == 0,
                    "%s", where))
            return;
        for (int32_t asked = 0; asked <= 16; asked += 8)
            multiply(context, q, stream, asked, where);
        cu.stream_destroy(stream);
        destroy(green);
    }
}

int main(void)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_context *context = open_gpu("share", "");
    const tj_emulator *emulator = NULL;
    void *stream = NULL;
    tj_error err;
    product q;

    if (!expect(load_driver() && enter_primary(context), "the driver") ||
        !expect(tj_device_current(context, &facts, &err) == TJ_OK && tj_emulator_get(context, &emulator, &err) == TJ_OK, "%s",
                err.message) ||
        !expect(cu.stream_create(&stream, NON_BLOCKING) == 0, "a stream") || !make_product(context, &q))
        return finish("share");
    for (int32_t asked = 0; asked <= facts.sm_count; asked += facts.sm_count / 2)
        multiply(context, &q, stream, asked, "a stream");
    multiply(context, &q, stream, 1, "a stream");
    q.problem.multiprocessors = facts.sm_count + 1;
    expect(tj_matmul(context, &q.problem, &q.x, (struct CUstream_st *)stream, &err) == TJ_ERR_INVALID_ARGUMENT,
           "more than there are");
    if (!emulator)
        multiply_in_green_contexts(context, &q, find_device(context));
    cu.stream_destroy(stream);
    tj_buffer_free(q.dm);
    tj_buffer_free(q.dn);
    tj_buffer_free(q.dp);
    free(q.m);
    free(q.n);
    free(q.p);
    leave_context();
    tj_context_free(context);
    return finish("share");
}
