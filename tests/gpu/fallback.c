/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (it needs a GPU) */
/* tier: change; run: emulator/fallback; labels: threads */
/*
 * fallback: operands that do not suit the kernel that the library chose, and launches without a workspace.
 *
 * The library's choice changes with its knowledge. So that the kernels here stay the demanding ones, this program is linked
 * with --wrap=tj_context_choose and makes the choice itself if no config is named.
 */
#include "gpu_test.h"
#include "plan.h"
#include "settle.h"
#include "host_program.h"

#include <pthread.h>
#include <stdint.h>

#include "chooser.h"

enum { MOST_THREADS = 64, ROOM = 64 };

static tj_config choice;

tj_status __wrap_tj_context_choose(tj_context *in, tj_choosing how, const tj_device_facts *device, const tj_request *request,
                                   tj_refusals refused, tj_choice *made, tj_error *error);

tj_status __wrap_tj_context_choose(tj_context *in, tj_choosing how, const tj_device_facts *device, const tj_request *request,
                                   tj_refusals refused, tj_choice *made, tj_error *error)
{
    (void)in, (void)how, (void)device, (void)refused;
    *made = (tj_choice){choice, choice, TJ_BY_MODEL};
    return tj_request_resolve(request, &made->resolved, error);
}

static void choose(const char *text)
{
    tj_error err;

    choice = (tj_config)TJ_CONFIG_INIT;
    if (text)
        expect(tj_config_parse(text, &choice, &err) == TJ_OK, "%s: %s", text, err.message);
}

/* A product whose operands may begin anywhere in their buffers. */
typedef struct product {
    tj_problem problem;
    size_t bytes[3];
    void *host[3];
    tj_buffer *device[3];
    tj_operands x;
} product;

static int make_product(tj_context *context, product *q, tj_problem problem)
{
    const int64_t batch = problem.batch > 1 ? problem.batch : 1;
    const int64_t elements[3] = {problem.j.extent * problem.k.extent * batch, problem.k.extent * problem.l.extent * batch,
                                 problem.j.extent * problem.l.extent * batch};
    const size_t size = tj_type_bytes((tj_type)problem.m.type);
    tj_error err;

    *q = (product){.problem = problem, .x = TJ_OPERANDS_INIT};
    for (int i = 0; i < 3; i++) {
        q->bytes[i] = (size_t)elements[i] * size;
        q->host[i] = malloc(q->bytes[i]);
        tj_fill_random((tj_type)problem.m.type, q->host[i], (size_t)elements[i], (uint64_t)(7 + i));
        if (!expect(tj_buffer_create(context, q->bytes[i] + ROOM, &q->device[i], &err) == TJ_OK, "a buffer: %s", err.message))
            return 0;
    }
    return 1;
}

/* Put operands some elements past the beginning of their buffers, and forget P. */
static void place(product *q, int m, int n, int p)
{
    const size_t size = tj_type_bytes((tj_type)q->problem.m.type);
    const size_t at[3] = {(size_t)m * size, (size_t)n * size, (size_t)p * size};
    tj_error err;

    expect(tj_buffer_write(q->device[0], at[0], q->host[0], q->bytes[0], &err) == TJ_OK &&
               tj_buffer_write(q->device[1], at[1], q->host[1], q->bytes[1], &err) == TJ_OK &&
               tj_buffer_fill(q->device[2], 0xff, &err) == TJ_OK,
           "writing operands: %s", err.message);
    q->x.m.address = (char *)tj_buffer_address(q->device[0]) + at[0];
    q->x.n.address = (char *)tj_buffer_address(q->device[1]) + at[1];
    q->x.p.address = (char *)tj_buffer_address(q->device[2]) + at[2];
}

static int is_right(product *q, int p)
{
    const tj_host_operands host = TJ_HOST_OPERANDS(q->host[0], q->host[1]);
    const size_t at = (size_t)p * tj_type_bytes((tj_type)q->problem.m.type);
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_error err;

    return tj_buffer_read(q->device[2], at, q->host[2], q->bytes[2], &err) == TJ_OK &&
           tj_reference_check(&q->problem, &host, q->host[2], 0, 2, &report, &err) == TJ_OK && report.passed;
}

static void drop_product(product *q)
{
    for (int i = 0; i < 3; i++) {
        tj_buffer_free(q->device[i]);
        free(q->host[i]);
    }
}

static uint64_t plans_of(tj_context *context)
{
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;

    tj_context_get_stats(context, &stats);
    return stats.plans;
}

/* ---- pointers ----------------------------------------------------------------------------------------------------- */

/* Every operand off by one element in turn: one fallback, made once, and right. */
static void test_pointers(const char *config, tj_problem problem)
{
    tj_context *context = open_gpu("fallback", "");
    const tj_plan *plan, *named;
    tj_config same = TJ_CONFIG_INIT;
    product q;
    tj_error err;

    choose(config);
    if (!make_product(context, &q, problem))
        return;
    place(&q, 0, 0, 0);
    expect(tj_matmul(context, &q.problem, &q.x, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK, "%s: %s",
           config, err.message);
    expect(is_right(&q, 0) && plans_of(context) == 1, "%s: aligned operands take the plan itself", config);
    expect(tj_plan_prepare(context, &q.problem, NULL, &plan, &err) == TJ_OK, "%s: %s", config, err.message);
    for (int which = 0; which < 6; which++) {
        const int off[3] = {which % 3 == 0, which % 3 == 1, which % 3 == 2};

        place(&q, off[0], off[1], off[2]);
        expect((which < 3 ? tj_matmul(context, &q.problem, &q.x, NULL, &err) : tj_plan_launch(plan, &q.x, NULL, &err)) ==
                       TJ_OK &&
                   tj_synchronize(context, NULL, &err) == TJ_OK,
               "%s, operand %d: %s", config, which, err.message);
        expect(is_right(&q, off[2]), "%s: the product with operand %d off by an element", config, which % 3);
    }
    expect(plans_of(context) == 2, "%s: %d plans", config, (int)plans_of(context));

    /* A config that was named is what is launched. */
    expect(tj_config_parse(config, &same, &err) == TJ_OK && tj_plan_prepare(context, &q.problem, &same, &named, &err) == TJ_OK,
           "%s: %s", config, err.message);
    place(&q, 1, 1, 1);
    expect(tj_plan_launch(named, &q.x, NULL, &err) == TJ_ERR_INVALID_ARGUMENT && strstr(err.message, "vector=1"), "%s: %s",
           config, err.message);

    /* No kernel takes half an element. */
    q.x.m.address = (const char *)q.x.m.address + 1;
    expect(tj_matmul(context, &q.problem, &q.x, NULL, &err) == TJ_ERR_INVALID_ARGUMENT && strstr(err.message, "its elements"),
           "%s: %s", config, err.message);
    drop_product(&q);
    tj_context_free(context);
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

typedef struct job {
    tj_context *context;
    product *q;
    pthread_barrier_t *start;
    int is_good;
} job;

static void *launch_at_once(void *payload)
{
    job *mine = payload;
    tj_error err;

    pthread_barrier_wait(mine->start);
    mine->is_good = tj_matmul(mine->context, &mine->q->problem, &mine->q->x, NULL, &err) == TJ_OK;
    return NULL;
}

static void test_threads(void)
{
    tj_context *context = open_gpu("fallback", "");
    pthread_t thread[MOST_THREADS];
    job jobs[MOST_THREADS];
    pthread_barrier_t start;
    static product q[MOST_THREADS];
    tj_error err;

    choose("skinny:splits=1");
    for (int i = 0; i < MOST_THREADS; i++) {
        if (!make_product(context, &q[i], (tj_problem)TJ_PROBLEM_INIT(4, 96, 64, TJ_F32)))
            return;
        place(&q[i], 1, 1, 1);
    }
    pthread_barrier_init(&start, NULL, MOST_THREADS);
    for (int i = 0; i < MOST_THREADS; i++) {
        jobs[i] = (job){context, &q[i], &start, 0};
        pthread_create(&thread[i], NULL, launch_at_once, &jobs[i]);
    }
    for (int i = 0; i < MOST_THREADS; i++) {
        pthread_join(thread[i], NULL);
        expect(jobs[i].is_good, "thread %d", i);
    }
    pthread_barrier_destroy(&start);
    expect(tj_synchronize(context, NULL, &err) == TJ_OK, "64 threads: %s", err.message);
    for (int i = 0; i < MOST_THREADS; i++)
        expect(is_right(&q[i], 1), "the product of thread %d", i);
    expect(plans_of(context) == 2, "%d plans for 64 threads", (int)plans_of(context));
    for (int i = 0; i < MOST_THREADS; i++)
        drop_product(&q[i]);
    tj_context_free(context);
}

/* ---- workspace and captures --------------------------------------------------------------------------------------- */

/* A split k without a workspace: launched, and captured and replayed; the fallback cannot be made in a capture. */
static void test_workspace(void)
{
    tj_context *context = open_gpu("fallback", "");
    void *stream, *graph = NULL, *executable = NULL;
    const tj_plan *plan;
    product q;
    tj_error err;

    choose("skinny:splits=4");
    if (!make_product(context, &q, (tj_problem)TJ_PROBLEM_INIT(3, 1000, 72, TJ_F32)))
        return;
    place(&q, 0, 0, 0);
    expect(cu.stream_create(&stream, 1) == 0, "a stream");
    if (!expect(tj_plan_prepare(context, &q.problem, NULL, &plan, &err) == TJ_OK, "prepare: %s", err.message))
        return;
    expect(tj_plan_workspace_bytes(plan) == 4 * 3 * 72 * 4, "a workspace of %zu bytes", tj_plan_workspace_bytes(plan));
    for (int i = 0; i < 3; i++) {
        place(&q, 0, 0, 0);
        expect(tj_plan_launch(plan, &q.x, i == 0 ? NULL : stream, &err) == TJ_OK &&
                   tj_synchronize(context, i == 0 ? NULL : stream, &err) == TJ_OK,
               "launch %d: %s", i, err.message);
        expect(is_right(&q, 0), "launch %d without a workspace", i);
    }

    place(&q, 1, 1, 0);
    expect(cu.capture_begin(stream, 0) == 0, "a capture");
    expect(tj_matmul(context, &q.problem, &q.x, stream, &err) == TJ_ERR_CAPTURE && strstr(err.message, "align m, n, p and c"),
           "a fallback in a capture: %s", err.message);
    expect(cu.capture_end(stream, &graph) == 0 && graph, "the capture stayed valid");
    cu.graph_destroy(graph);
    expect(tj_matmul(context, &q.problem, &q.x, stream, &err) == TJ_OK && cu.stream_sync(stream) == 0 && is_right(&q, 0),
           "the fallback: %s", err.message);

    for (int off = 0; off <= 1; off++) {
        place(&q, off, off, 0);
        expect(cu.capture_begin(stream, 0) == 0, "a capture");
        expect(tj_matmul(context, &q.problem, &q.x, stream, &err) == TJ_OK, "captured: %s", err.message);
        expect(cu.capture_end(stream, &graph) == 0 && graph, "the capture is valid");
        expect(cu.graph_instantiate(&executable, graph, 0) == 0, "instantiate");
        for (int i = 0; i < 2; i++) {
            place(&q, off, off, 0);
            expect(cu.graph_launch(executable, stream) == 0 && cu.stream_sync(stream) == 0, "replay %d", i);
            expect(is_right(&q, 0), "the replayed product, operands off by %d", off);
        }
        cu.graph_exec_destroy(executable);
        cu.graph_destroy(graph);
    }
    cu.stream_destroy(stream);
    drop_product(&q);
    tj_context_free(context);
}

/* A plan that suits any operands gives way to one that does not: what was captured before the tuning, can be after it. */
static void test_replaced(void)
{
    tj_context *context = open_gpu("fallback", "");
    void *stream, *graph = NULL;
    product q;
    tj_error err;

    if (!make_product(context, &q, (tj_problem)TJ_PROBLEM_INIT(5, 100, 64, TJ_F32)))
        return;
    place(&q, 1, 1, 1);
    expect(cu.stream_create(&stream, 1) == 0, "a stream");
    for (int tuned = 0; tuned <= 1; tuned++) {
        choose(tuned ? "skinny:splits=1,vector=4" : "skinny:splits=1,vector=1");
        expect((tuned ? tj_plan_refresh(context, &q.problem, &err) : tj_matmul(context, &q.problem, &q.x, stream, &err)) ==
                       TJ_OK &&
                   cu.stream_sync(stream) == 0,
               "a plan: %s", err.message);
        expect(plans_of(context) == (tuned ? 2 : 1), "%d plans", (int)plans_of(context)); /* and that of its fallback */
        expect(cu.capture_begin(stream, 0) == 0, "a capture");
        expect(tj_matmul(context, &q.problem, &q.x, stream, &err) == TJ_OK, "captured, tuned %d: %s", tuned, err.message);
        expect(cu.capture_end(stream, &graph) == 0 && graph, "the capture is valid");
        cu.graph_destroy(graph);
    }
    place(&q, 1, 1, 1);
    expect(tj_matmul(context, &q.problem, &q.x, stream, &err) == TJ_OK && cu.stream_sync(stream) == 0 && is_right(&q, 1),
           "afterwards: %s", err.message);
    cu.stream_destroy(stream);
    drop_product(&q);
    tj_context_free(context);
}

int main(void)
{
    tj_problem batch = TJ_PROBLEM_INIT(8, 16, 12, TJ_F64);
    tj_context *context = open_gpu("fallback", ""); /* or skip */

    if (!expect(load_driver(), "the driver's functions"))
        return finish("fallback");
    batch.batch = 3;
    test_pointers("simt:bm=32,bn=32,bk=16,tm=8,tn=4", (tj_problem)TJ_PROBLEM_INIT(36, 20, 64, TJ_F32));
    test_pointers("simt:bm=32,bn=64,bk=16,tm=4,tn=4", (tj_problem)TJ_PROBLEM_INIT(40, 24, 64, TJ_F16));
    test_pointers("simt:bm=32,bn=64,bk=16,tm=4,tn=4,copy=registers", (tj_problem)TJ_PROBLEM_INIT(36, 20, 64, TJ_F32));
    test_pointers("skinny:splits=1", (tj_problem)TJ_PROBLEM_INIT(5, 100, 64, TJ_F16));
    test_pointers("mma:bm=32,bn=32,wm=16,wn=16", (tj_problem)TJ_PROBLEM_INIT(40, 72, 64, TJ_BF16));
    test_pointers("mma:bm=16,bn=16,wm=16,wn=16,splits=2", (tj_problem)TJ_PROBLEM_INIT(256, 72, 128, TJ_F16));
    test_pointers("skinny:splits=3", batch);
    batch.m.type = TJ_F32;
    batch.batch = 50;
    test_pointers("small_batch:products=3", batch);
    test_threads();
    expect(enter_primary(context), "the primary context");
    test_workspace();
    test_replaced();
    leave_context();
    tj_context_free(context);
    return finish("fallback");
}
