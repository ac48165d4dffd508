/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (it needs a GPU) */
/* tier: change; run: emulator/launching; labels: threads; sanitizers: nightly (minutes of one thread) */
/* tier: change; run: emulator/launching_threads threads; labels: threads; sanitizers: only */
/* tier: change; run: emulator/second_device threads; env: CUDA_EMULATOR_DEVICES=sm_90 sm_90, TILEJIT_DEVICE=1 */
/*
 * launching [threads]: streams, captures, contexts, two devices, threads, wrong pointers, and a lost device, in a program that speaks
 * to the driver itself; threads: without what one thread does alone.
 */
#include "gpu_test.h"
#include "host_program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

enum { J = 70, K = 50, L = 90, THREADS = 16, ADDITIONS = 20 };

/* The emulator ends a launch before it begins the next: a repetition finds hardly more there, and costs much under a sanitizer. */
static int links = 64, launches = 50;

static void shorten_for_emulator(tj_context *context)
{
    const tj_emulator *emulator = NULL;
    tj_error err;

    if (IS_NIGHTLY)
        return;
    if (!expect(tj_emulator_get(context, &emulator, &err) == TJ_OK, "whether it is the emulator: %s", err.message) || !emulator)
        return;
    links = 6; /* even, and each of the two buffers is read and written three times */
    launches = 20;
}

/* One product with everything it needs, in whatever CUDA context is current when it is made. */
typedef struct product {
    tj_problem problem;
    float *m, *n, *p;
    tj_buffer *dm, *dn, *dp;
    tj_operands x;
} product;

static int make_product(tj_context *context, product *q, int64_t j, int64_t k, int64_t l, uint64_t seed)
{
    const size_t m = (size_t)(j * k) * 4, n = (size_t)(k * l) * 4, p = (size_t)(j * l) * 4;
    tj_error err;

    memset(q, 0, sizeof *q);
    q->problem = (tj_problem)TJ_PROBLEM_INIT(j, k, l, TJ_F32);
    q->m = malloc(m);
    q->n = malloc(n);
    q->p = malloc(p);
    tj_fill_random(TJ_F32, q->m, m / 4, seed);
    tj_fill_random(TJ_F32, q->n, n / 4, seed + 1);
    q->x = (tj_operands)TJ_OPERANDS_INIT;
    if (tj_buffer_create(context, m, &q->dm, &err) != TJ_OK || tj_buffer_create(context, n, &q->dn, &err) != TJ_OK ||
        tj_buffer_create(context, p, &q->dp, &err) != TJ_OK || tj_buffer_write(q->dm, 0, q->m, m, &err) != TJ_OK ||
        tj_buffer_write(q->dn, 0, q->n, n, &err) != TJ_OK || tj_buffer_fill(q->dp, 0xff, &err) != TJ_OK)
        return expect(0, "buffers: %s", err.message);
    q->x.m.address = tj_buffer_address(q->dm);
    q->x.n.address = tj_buffer_address(q->dn);
    q->x.p.address = tj_buffer_address(q->dp);
    return 1;
}

static void clear_product(product *q)
{
    tj_error err;

    expect(tj_buffer_fill(q->dp, 0xff, &err) == TJ_OK, "clearing P: %s", err.message);
}

static int is_right(product *q)
{
    const tj_host_operands host = TJ_HOST_OPERANDS(q->m, q->n);
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_error err;

    return tj_buffer_read(q->dp, 0, q->p, (size_t)(q->problem.j.extent * q->problem.l.extent) * 4, &err) == TJ_OK &&
           tj_reference_check(&q->problem, &host, q->p, 0, 2, &report, &err) == TJ_OK && report.passed;
}

static void drop_product(product *q)
{
    tj_buffer_free(q->dm);
    tj_buffer_free(q->dn);
    tj_buffer_free(q->dp);
    free(q->m);
    free(q->n);
    free(q->p);
}

/* ---- streams and captures ----------------------------------------------------------------------------------------- */

static void test_streams(tj_context *context)
{
    void *stream[2];
    product q[2];
    tj_error err;

    for (int i = 0; i < 2; i++) {
        make_product(context, &q[i], J, K + i, L, 10);
        expect(cu.stream_create(&stream[i], 1) == 0, "a stream");
    }
    for (int i = 0; i < 2; i++)
        expect(tj_matmul(context, &q[i].problem, &q[i].x, stream[i], &err) == TJ_OK, "stream %d: %s", i, err.message);
    for (int i = 0; i < 2; i++) {
        expect(tj_synchronize(context, stream[i], &err) == TJ_OK, "stream %d: %s", i, err.message);
        expect(is_right(&q[i]), "the product on stream %d", i);
        cu.stream_destroy(stream[i]);
        drop_product(&q[i]);
    }
}

static void test_capture(tj_context *context)
{
    void *stream, *graph = NULL, *executable = NULL;
    const tj_plan *plan;
    product ready, unknown;
    tj_error err;

    make_product(context, &ready, J, K, L, 20);
    make_product(context, &unknown, J + 1, K + 1, L + 1, 21);
    expect(cu.stream_create(&stream, 1) == 0, "a stream");
    expect(tj_plan_prepare(context, &ready.problem, NULL, &plan, &err) == TJ_OK, "prepare: %s", err.message);

    expect(cu.capture_begin(stream, 0) == 0, "capture begins, in the global mode");
    expect(tj_matmul(context, &unknown.problem, &unknown.x, stream, &err) == TJ_ERR_CAPTURE,
           "a plan that is not ready is refused");
    expect(strstr(err.message, "tj_plan_prepare") != NULL, "the remedy is named: %s", err.message);
    expect(tj_matmul(context, &ready.problem, &ready.x, stream, &err) == TJ_OK, "a ready plan is captured: %s", err.message);
    expect(cu.capture_end(stream, &graph) == 0 && graph, "the capture stayed valid");

    expect(cu.graph_instantiate(&executable, graph, 0) == 0, "instantiate");
    for (int i = 0; i < 3; i++) {
        clear_product(&ready);
        expect(cu.graph_launch(executable, stream) == 0 && cu.stream_sync(stream) == 0, "replay %d", i);
        expect(is_right(&ready), "the replayed product");
    }
    expect(tj_matmul(context, &unknown.problem, &unknown.x, stream, &err) == TJ_OK && cu.stream_sync(stream) == 0,
           "afterwards it works: %s", err.message);
    expect(is_right(&unknown), "the product that was refused");
    cu.graph_exec_destroy(executable);
    cu.graph_destroy(graph);
    cu.stream_destroy(stream);
    drop_product(&ready);
    drop_product(&unknown);
}

static void *prepare_elsewhere(void *argument)
{
    static const tj_problem problem = TJ_PROBLEM_INIT(J + 7, K + 7, L + 7, TJ_F32);
    const tj_plan *plan;
    tj_error err;

    expect(tj_plan_prepare(argument, &problem, NULL, &plan, &err) == TJ_OK, "prepare next to a capture: %s", err.message);
    return NULL;
}

/* Compiling and loading on one thread must not break a capture on another. */
static void test_capture_beside_load(tj_context *context)
{
    void *stream, *graph = NULL;
    pthread_t thread;

    expect(cu.stream_create(&stream, 1) == 0 && cu.capture_begin(stream, 0) == 0, "a capture in the global mode");
    pthread_create(&thread, NULL, prepare_elsewhere, context);
    pthread_join(thread, NULL);
    expect(cu.capture_end(stream, &graph) == 0 && graph, "the capture stayed valid next to a load");
    cu.graph_destroy(graph);
    cu.stream_destroy(stream);
}

/*
 * Short products overlap the preceding one. Here each needs the results of that one, and writes where that one reads: M moves
 * the rows of N on by one, so every number stays as it is, and a read that comes too early leaves a number of another product.
 */
static void test_chain(tj_context *context, const char *name, int compute)
{
    enum { SIDE = 128, COLS = 16 };
    static float numbers[SIDE * COLS], found[SIDE * COLS], moves[SIDE * SIDE];
    const int layout = strncmp(name, "wgmma", 5) == 0 ? TJ_COL_MAJOR : TJ_ROW_MAJOR; /* of tf32 it packs an N by rows */
    const int row_ld = layout == TJ_COL_MAJOR ? 1 : COLS, col_ld = layout == TJ_COL_MAJOR ? SIDE : 1;
    tj_config config = TJ_CONFIG_INIT;
    tj_buffer *buffer[2] = {0}, *m = NULL;
    tj_operands x = TJ_OPERANDS_INIT;
    tj_problem problem = TJ_PROBLEM_INIT(SIDE, SIDE, COLS, TJ_F32);
    const tj_plan *plan = NULL;
    void *stream = NULL, *graph = NULL, *executable = NULL;
    tj_error err;

    problem.compute = compute;
    problem.n.layout = problem.p.layout = layout;
    memset(moves, 0, sizeof moves);
    for (int i = 0; i < SIDE; i++)
        moves[(i + 1) % SIDE * SIDE + i] = 1;
    for (int i = 0; i < SIDE * COLS; i++)
        numbers[i] = (float)(i % 1009);
    expect(tj_config_parse(name, &config, &err) == TJ_OK && tj_plan_prepare(context, &problem, &config, &plan, &err) == TJ_OK,
           "%s: %s", name, err.message);
    expect(tj_buffer_create(context, sizeof numbers, &buffer[0], &err) == TJ_OK &&
               tj_buffer_create(context, sizeof numbers, &buffer[1], &err) == TJ_OK &&
               tj_buffer_create(context, sizeof moves, &m, &err) == TJ_OK &&
               tj_buffer_write(m, 0, moves, sizeof moves, &err) == TJ_OK,
           "buffers: %s", err.message);
    expect(cu.stream_create(&stream, 1) == 0, "a stream");
    x.m.address = tj_buffer_address(m);
    for (int captured = 0; captured < 2 && plan; captured++) {
        int wrong = 0;

        expect(tj_buffer_write(buffer[0], 0, numbers, sizeof numbers, &err) == TJ_OK, "numbers: %s", err.message);
        expect(!captured || cu.capture_begin(stream, 0) == 0, "capture begins");
        for (int i = 0; i < links; i++) {
            x.n.address = tj_buffer_address(buffer[i % 2]);
            x.p.address = tj_buffer_address(buffer[(i + 1) % 2]);
            if (tj_plan_launch(plan, &x, stream, &err) != TJ_OK)
                expect(0, "%s, link %d: %s", name, i, err.message);
        }
        if (captured)
            expect(cu.capture_end(stream, &graph) == 0 && cu.graph_instantiate(&executable, graph, 0) == 0 &&
                       cu.graph_launch(executable, stream) == 0,
                   "%s: the chain as a graph", name);
        expect(cu.stream_sync(stream) == 0 && tj_buffer_read(buffer[links % 2], 0, found, sizeof found, &err) == TJ_OK,
               "%s: the end of the chain", name);
        for (int row = 0; row < SIDE; row++)
            for (int col = 0; col < COLS; col++)
                wrong += found[(row + links) % SIDE * row_ld + col * col_ld] != numbers[row * row_ld + col * col_ld];
        expect(wrong == 0, "%s: %d numbers of a chain of %d products are wrong", name, wrong, links);
    }
    cu.graph_exec_destroy(executable);
    cu.graph_destroy(graph);
    cu.stream_destroy(stream);
    tj_buffer_free(buffer[0]);
    tj_buffer_free(buffer[1]);
    tj_buffer_free(m);
}

static void test_chains(tj_context *context)
{
    static const char *const names[] = {"simt:bm=16,bn=32,bk=32,tm=4,tn=4",
                                        "simt:bm=16,bn=32,bk=32,tm=4,tn=4,splits=2",
                                        "simt:bm=16,bn=32,bk=32,tm=4,tn=4,copy=registers",
                                        "skinny",
                                        "skinny:splits=3",
                                        "strip",
                                        "strip:splits=2"};
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_error err;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        test_chain(context, names[i], TJ_COMPUTE_DEFAULT);
    if (tj_device_current(context, &facts, &err) != TJ_OK)
        return (void)expect(0, "device: %s", err.message);
    if (facts.cc_major >= 9)
        test_chain(context, "strip:copies=boxes", TJ_COMPUTE_DEFAULT);
    if (facts.cc_major >= 8)
        test_chain(context, "mma:bm=32,bn=16,wm=16,wn=16", TJ_COMPUTE_TF32);
    if (facts.cc_major == 9)
        test_chain(context, "wgmma:bm=64,bn=16,multipliers=1", TJ_COMPUTE_TF32);
}

/* Launches that are timed as a graph compute every product, and a capture of the program's that is under way stays whole. */
static void test_timing(tj_context *context)
{
    enum { SETS = 2, REPEAT = 3 };
    struct CUstream_st *timed = NULL;
    void *stream, *graph = NULL;
    const tj_plan *plan;
    product q[SETS];
    tj_operands set[SETS];
    double us[REPEAT];
    tj_error err;

    for (int i = 0; i < SETS; i++) {
        make_product(context, &q[i], J, K, L, 60 + (uint64_t)i);
        set[i] = q[i].x;
    }
    expect(cu.stream_create(&stream, 1) == 0 && tj_stream_create(context, &timed, &err) == TJ_OK, "streams");
    expect(tj_plan_prepare(context, &q[0].problem, NULL, &plan, &err) == TJ_OK, "prepare: %s", err.message);
    expect(cu.capture_begin(stream, 0) == 0, "capture begins, in the global mode");
    expect(tj_matmul(context, &q[0].problem, &set[0], stream, &err) == TJ_OK, "captured: %s", err.message);
    for (int i = 0; i < SETS; i++) {
        const tj_timing timing = {
            .struct_size = sizeof timing, .warmup = i, .repeat = REPEAT, .per_event = 4 * SETS, .sets = SETS};

        expect(tj_time_launches(context, plan, set, timed, &timing, us, &err) == TJ_OK, "timing: %s", err.message);
    }
    for (int i = 0; i < REPEAT; i++)
        expect(us[i] > 0, "%g us for %d x %d x %d", us[i], J, K, L);
    expect(cu.capture_end(stream, &graph) == 0 && graph, "the capture stayed valid");
    for (int i = 0; i < SETS; i++) {
        expect(is_right(&q[i]), "set %d of the timed product", i);
        drop_product(&q[i]);
    }
    cu.graph_destroy(graph);
    cu.stream_destroy(stream);
    tj_stream_destroy(context, timed);
}

/* ---- contexts ----------------------------------------------------------------------------------------------------- */

static void test_contexts(tj_context *context)
{
    tj_error err;

    for (int i = 0; i < 4; i++) {
        void *own = NULL;
        product inside, outside;
        /* Its address may be that of the last one. */
        expect(cu.ctx_create(&own, 0, find_device(context)) == 0, "a CUDA context of our own");
        make_product(context, &inside, J, K, L, 30);
        expect(tj_matmul(context, &inside.problem, &inside.x, NULL, &err) == TJ_OK &&
                   tj_synchronize(context, NULL, &err) == TJ_OK,
               "in a context of our own: %s", err.message);
        expect(is_right(&inside), "the product in a context of our own");
        leave_context();
        make_product(context, &outside, J, K, L, 31);
        expect(tj_matmul(context, &outside.problem, &outside.x, NULL, &err) == TJ_OK &&
                   tj_synchronize(context, NULL, &err) == TJ_OK,
               "in the primary context: %s", err.message);
        expect(is_right(&outside), "the product in the primary context");
        drop_product(&outside);
        cu.ctx_push(own);
        drop_product(&inside);
        leave_context();
        expect(cu.ctx_destroy(own) == 0, "destroying it");
    }
}

/* ---- several devices ------------------------------------------------------------------------------------------- */

typedef struct on_device {
    tj_context *context;
    product q;
    int failures;
} on_device;

static void *launch_there(void *argument)
{
    on_device *d = argument;
    tj_error err;

    for (int i = 0; i < launches; i++)
        d->failures += tj_matmul(d->context, &d->q.problem, &d->q.x, NULL, &err) != TJ_OK;
    d->failures += tj_synchronize(d->context, NULL, &err) != TJ_OK;
    return NULL;
}

/* A TileJIT context for each of two devices, multiplying at once. */
static void test_devices_at_once(on_device device[2])
{
    pthread_t thread[2];

    for (int i = 0; i < 2; i++)
        make_product(device[i].context, &device[i].q, J + 3, K, L, 110 + (uint64_t)i);
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, launch_there, &device[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; i++) {
        expect(device[i].failures == 0 && is_right(&device[i].q), "device %d multiplies while the other does", i);
        drop_product(&device[i].q);
    }
}

/* A TileJIT context follows the current CUDA context. */
static void test_device_of_current(tj_context *context, const on_device device[2])
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_error err;
    product q;

    for (int i = 0; i < 4; i++) {
        expect(enter_primary(device[i % 2].context), "the primary context of device %d", i % 2);
        expect(tj_device_current(context, &facts, &err) == TJ_OK && facts.ordinal == i % 2, "device %d, not %d", facts.ordinal,
               i % 2);
        make_product(context, &q, J, K + 3, L, 120);
        expect(tj_matmul(context, &q.problem, &q.x, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK,
               "on device %d: %s", i % 2, err.message);
        expect(is_right(&q), "the product on device %d", i % 2);
        drop_product(&q);
        leave_context();
    }
}

static void test_stream_of_another_device(const on_device device[2])
{
    void *stream = NULL;
    tj_error err;
    product q;

    expect(enter_primary(device[1].context) && cu.stream_create(&stream, 1) == 0, "a stream of device 1");
    leave_context();
    expect(enter_primary(device[0].context), "the primary context of device 0");
    make_product(device[0].context, &q, J, K, L + 3, 130);
    for (int ready = 0; ready < 2; ready++) {
        expect(tj_matmul(device[0].context, &q.problem, &q.x, stream, &err) == TJ_ERR_INVALID_ARGUMENT &&
                   strstr(err.message, "stream belongs to device 1"),
               "a stream of another device: %s", err.message);
        expect(tj_matmul(device[0].context, &q.problem, &q.x, NULL, &err) == TJ_OK &&
                   tj_synchronize(device[0].context, NULL, &err) == TJ_OK && is_right(&q),
               "afterwards: %s", err.message);
    }
    drop_product(&q);
    leave_context();
    cu.stream_destroy(stream);
}

static void test_devices(tj_context *context)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    on_device device[2] = {0};
    tj_error err;
    int count = 0;

    if (!expect(tj_device_count(context, &count, &err) == TJ_OK, "the devices: %s", err.message) || count < 2)
        return;
    options.cache_dir = "";
    for (int i = 0; i < 2; i++) {
        options.device = i + 1;
        if (!expect(tj_context_create(&options, &device[i].context, &err) == TJ_OK, "a context: %s", err.message))
            return;
    }
    test_devices_at_once(device);
    test_device_of_current(context, device);
    test_stream_of_another_device(device);
    for (int i = 0; i < 2; i++)
        tj_context_free(device[i].context);
    printf("gpu/launching: two devices of %d\n", count);
}

/* ---- wrong pointers ----------------------------------------------------------------------------------------------- */

static void test_pointers(tj_context *context)
{
    uint64_t freed = 0, small = 0;
    product q;
    tj_operands x;
    tj_error err;

    make_product(context, &q, J + 2, K + 2, L + 2, 40);
    x = q.x, x.p.address = NULL;
    expect(tj_matmul(context, &q.problem, &x, NULL, &err) == TJ_ERR_INVALID_ARGUMENT, "P is NULL: %s", err.message);
    x = q.x, x.m.address = (const char *)x.m.address + 2;
    expect(tj_matmul(context, &q.problem, &x, NULL, &err) == TJ_ERR_INVALID_ARGUMENT, "M is misaligned: %s", err.message);

    /* Asked of the driver on the first launch of a plan: give each a plan of its own. */
    q.problem.epilogue.has_alpha = 1;
    x = q.x, x.m.address = q.m;
    expect(tj_matmul(context, &q.problem, &x, NULL, &err) == TJ_ERR_INVALID_ARGUMENT, "M is a host address: %s", err.message);
    expect(enter_primary(context), "the primary context");
    expect(cu.mem_alloc(&freed, 1 << 20) == 0 && cu.mem_free(freed) == 0 && cu.mem_alloc(&small, 256) == 0, "memory");
    q.problem.epilogue.has_alpha = 0, q.problem.epilogue.has_beta = 1;
    x = q.x, x.n.address = (const void *)(uintptr_t)freed;
    expect(tj_matmul(context, &q.problem, &x, NULL, &err) == TJ_ERR_INVALID_ARGUMENT, "N was freed: %s", err.message);
    q.problem.epilogue.has_alpha = 1;
    x = q.x, x.p.address = (void *)(uintptr_t)small;
    expect(tj_matmul(context, &q.problem, &x, NULL, &err) == TJ_ERR_INVALID_ARGUMENT, "P is too short: %s", err.message);
    cu.mem_free(small);
    leave_context();

    q.problem.epilogue.has_alpha = q.problem.epilogue.has_beta = 0;
    expect(tj_matmul(context, &q.problem, &q.x, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK,
           "after all that: %s", err.message);
    expect(is_right(&q), "the product after all that");
    drop_product(&q);
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

static void *launch_many(void *argument)
{
    tj_context *context = argument;
    static atomic_int number;
    const int mine = atomic_fetch_add(&number, 1);
    int failures = 0;
    product q;
    tj_error err;

    if (!make_product(context, &q, 20 + mine % 4, 33, 47, 50))
        return NULL;
    for (int i = 0; i < launches; i++)
        failures += tj_matmul(context, &q.problem, &q.x, NULL, &err) != TJ_OK;
    failures += tj_synchronize(context, NULL, &err) != TJ_OK;
    if (failures > 0 || !is_right(&q))
        return "wrong";
    drop_product(&q);
    return NULL;
}

static void test_threads(tj_context *context)
{
    pthread_t thread[THREADS];
    void *answer;
    int wrong = 0;

    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, launch_many, context);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &answer);
        wrong += answer != NULL;
    }
    expect(wrong == 0, "%d of %d threads got a wrong product", wrong, THREADS);
}

typedef struct adder {
    tj_context *context;
    product *q;
    void *stream;
    int failures;
} adder;

static void *add_often(void *argument)
{
    adder *a = argument;
    tj_error err;

    for (int i = 0; i < ADDITIONS; i++)
        a->failures += tj_matmul(a->context, &a->q->problem, &a->q->x, a->stream, &err) != TJ_OK;
    return NULL;
}

/*
 * P += M . N from several threads at once: work ordered by one stream, or by the legacy stream and those that wait for it,
 * loses no sum.
 */
static void test_threads_of_a_stream(tj_context *context, void *const stream[2])
{
    pthread_t thread[THREADS];
    adder a[THREADS];
    product q;
    tj_error err;
    int wrong = 0;

    if (!make_product(context, &q, 40, 24, 40, 60))
        return;
    q.problem.epilogue.has_alpha = q.problem.epilogue.has_beta = 1;
    q.x.alpha = q.x.beta = 1;
    q.x.c.address = q.x.p.address;
    for (int i = 0; i < 40 * 24; i++)
        q.m[i] = q.n[i] = 1;
    expect(tj_buffer_write(q.dm, 0, q.m, sizeof *q.m * 40 * 24, &err) == TJ_OK &&
               tj_buffer_write(q.dn, 0, q.n, sizeof *q.n * 24 * 40, &err) == TJ_OK && tj_buffer_fill(q.dp, 0, &err) == TJ_OK,
           "ones: %s", err.message);
    for (int i = 0; i < THREADS; i++) {
        a[i] = (adder){context, &q, stream[i % 2], 0};
        pthread_create(&thread[i], NULL, add_often, &a[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        wrong += a[i].failures;
    }
    expect(tj_synchronize(context, stream[0], &err) == TJ_OK && tj_synchronize(context, stream[1], &err) == TJ_OK &&
               tj_buffer_read(q.dp, 0, q.p, sizeof *q.p * 40 * 40, &err) == TJ_OK,
           "the sums: %s", err.message);
    for (int i = 0; i < 40 * 40; i++)
        wrong += q.p[i] != (float)(24 * THREADS * ADDITIONS);
    expect(wrong == 0, "%d of 1600 sums or their launches are wrong", wrong);
    drop_product(&q);
}

static void test_threads_in_order(tj_context *context)
{
    void *stream;

    expect(cu.stream_create(&stream, 1) == 0, "a stream");
    test_threads_of_a_stream(context, (void *[]){stream, stream});
    cu.stream_destroy(stream);
    expect(cu.stream_create(&stream, 0) == 0, "a stream that waits for the legacy one");
    test_threads_of_a_stream(context, (void *[]){stream, NULL});
    cu.stream_destroy(stream);
}

/* ---- dynamic shared memory ---------------------------------------------------------------------------------------- */

static void test_widths(tj_context *context)
{
    tj_config config = TJ_CONFIG_INIT;
    const tj_plan *plan;
    product q;
    tj_error err;

    make_product(context, &q, IS_NIGHTLY ? 96 : 48, 48, IS_NIGHTLY ? 144 : 64, 60);
    expect(tj_config_parse("tiled:shared=dynamic,tile_width=16,boundary=all", &config, &err) == TJ_OK &&
               tj_plan_prepare(context, &q.problem, &config, &plan, &err) == TJ_OK,
           "prepare: %s", err.message);
    for (int width = 4; width <= 32; width++) {
        clear_product(&q);
        q.x.tile_width = width;
        expect(tj_plan_launch(plan, &q.x, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK, "width %d: %s",
               width, err.message);
        expect(is_right(&q), "the product with TILE_WIDTH %d from one compiled kernel", width);
    }
    expect(tj_config_parse("tiled:shared=dynamic,tile_width=16", &config, &err) == TJ_OK &&
               tj_plan_prepare(context, &q.problem, &config, &plan, &err) == TJ_OK,
           "prepare: %s", err.message);
    q.x.tile_width = 7; /* divides none of them, and the text has no checks */
    expect(tj_plan_launch(plan, &q.x, NULL, &err) == TJ_ERR_INVALID_ARGUMENT, "a width that needs a check is refused: %s",
           err.message);
    drop_product(&q);
}

/* One kernel for all shapes. */
static void test_types(void)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;
    tj_error err;

    options.cache_dir = "";
    options.specialize = TJ_SPECIALIZE_TYPES;
    if (!expect(tj_context_create(&options, &context, &err) == TJ_OK, "a context: %s", err.message))
        return;
    for (int i = 0; i < 20; i++) {
        product q;
        make_product(context, &q, 10 + 7 * i, 5 + 3 * i, 90 - 2 * i, 70);
        expect(tj_matmul(context, &q.problem, &q.x, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK,
               "shape %d: %s", i, err.message);
        expect(is_right(&q), "shape %d with the kernel for all shapes", i);
        drop_product(&q);
    }
    tj_context_get_stats(context, &stats);
    expect(stats.compiles == 1 && stats.plans == 1, "%d compiles and %d plans for 20 shapes", (int)stats.compiles,
           (int)stats.plans);
    tj_context_free(context);
}

/* ---- a lost device ------------------------------------------------------------------------------------------------ */

/* In a process of its own: an illegal address is for ever. */
static int lose_device(void)
{
    tj_context *context = open_gpu("launching", "");
    tj_status first, second, third;
    product q;
    tj_error err, again;

    make_product(context, &q, J, K, L, 80);
    if (tj_matmul(context, &q.problem, &q.x, NULL, &err) != TJ_OK || tj_synchronize(context, NULL, &err) != TJ_OK)
        return 1;
    q.x.p.address = (void *)(uintptr_t)0x10; /* aligned, and nobody's: pointers are asked about on a plan's first launch only */
    first = tj_matmul(context, &q.problem, &q.x, NULL, &err);
    if (first == TJ_OK)
        first = tj_synchronize(context, NULL, &err);
    q.x.p.address = tj_buffer_address(q.dp);
    second = tj_matmul(context, &q.problem, &q.x, NULL, &again);
    third = tj_synchronize(context, NULL, &again);
    drop_product(&q);
    printf("lost: %s | %s\n", err.message, again.message);
    tj_context_free(context);
    return first == TJ_ERR_DEVICE_LOST && second == TJ_ERR_DEVICE_LOST && third == TJ_ERR_DEVICE_LOST ? 0 : 1;
}

/* In a process of its own too: N by a pointer that is promised to be aligned to 16 bytes, first one that is, then one that is not. */
static int break_promise(void)
{
    tj_context *context = open_gpu("launching", "");
    const tj_plan *plan = NULL;
    tj_buffer *array = NULL;
    tj_config config;
    tj_error err = {TJ_OK, ""};
    tj_status status;
    product q;
    int was_right;

    make_product(context, &q, 64, 64, 64, 90);
    q.problem.n.stride = TJ_POINTERS_16;
    if (tj_config_parse("simt", &config, &err) != TJ_OK ||
        tj_plan_prepare(context, &q.problem, &config, &plan, &err) != TJ_OK ||
        tj_buffer_create(context, sizeof q.x.n.address, &array, &err) != TJ_OK ||
        tj_buffer_write(array, 0, &q.x.n.address, sizeof q.x.n.address, &err) != TJ_OK) {
        printf("%s\n", err.message);
        return 1;
    }
    q.x.n.address = tj_buffer_address(array);
    status = tj_plan_launch(plan, &q.x, NULL, &err);
    q.problem.n.stride = TJ_TIGHT; /* as it lies in host memory */
    was_right = status == TJ_OK && is_right(&q);
    {
        const char *const skewed = (const char *)tj_buffer_address(q.dn) + 4;

        status = tj_buffer_write(array, 0, &skewed, sizeof skewed, &err);
    }
    if (status == TJ_OK)
        status = tj_plan_launch(plan, &q.x, NULL, &err);
    if (status == TJ_OK)
        status = tj_synchronize(context, NULL, &err);
    printf("a broken promise: %s\n", err.message);
    tj_buffer_free(array);
    drop_product(&q);
    tj_context_free(context);
    return was_right && status == TJ_ERR_DEVICE_LOST && strstr(err.message, "MISALIGNED") ? 0 : 1;
}

static void test_in_a_child(const char *self, const char *mode, const char *what)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        execl(self, self, mode, (char *)NULL);
        _exit(127);
    }
    waitpid(child, &status, 0);
    expect(status == 0, "%s (child: %d)", what, status);
}

int main(int argc, char **argv)
{
    char self[512];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    const int has_threads_alone = argc > 1 && strcmp(argv[1], "threads") == 0;
    tj_context *context;

    if (argc > 1 && strcmp(argv[1], "--lose-device") == 0)
        return lose_device();
    if (argc > 1 && strcmp(argv[1], "--break-promise") == 0)
        return break_promise();
    context = open_gpu("launching", "");
    if (!expect(length > 0 && load_driver(), "the driver's functions"))
        return finish("launching");
    self[length] = '\0';
    shorten_for_emulator(context);
    test_in_a_child(self, "--lose-device", "a lost device is reported for ever");
    test_in_a_child(self, "--break-promise", "pointers that are not aligned as promised end in an error");
    expect(enter_primary(context), "the primary context");
    test_streams(context);
    test_capture(context);
    test_capture_beside_load(context);
    test_threads_in_order(context);
    if (!has_threads_alone) {
        test_chains(context);
        test_timing(context);
    }
    leave_context();
    test_contexts(context);
    test_devices(context);
    test_threads(context);
    if (!has_threads_alone) {
        test_pointers(context);
        test_widths(context);
        test_types();
    }
    tj_context_free(context);
    return finish("launching");
}
