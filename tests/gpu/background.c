/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (it needs a GPU) */
/* tier: change; run: emulator/background; labels: threads; env: TILEJIT_DRIVER=@fake_gpu@ */
/*
 * background: plans are replaced while threads multiply, and nobody notices: every product is right, before, during and after.
 *
 *     storm        records are kept one after the other, each better than the last and with another config
 *     tuned        a problem without a record is tuned in the background of its calls
 *     lacking      the record's config wants a workspace and aligned pointers, and calls have neither
 *     given up     the context is freed while it is being tuned
 *     captured     the program captures a stream while it is being tuned, and no capture breaks
 */
#include "gpu_test.h"
#include "plan.h"
#include "host_program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

enum { THREADS = 4, RECORDS = 16, J = 36, K = 9, L = 40, PATIENCE = 300 /* seconds */, CAPTURES = 6000 /* a minute of them */ };

static tj_context *open_tuning(const char *cache_dir, int seconds)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = NULL;
    tj_error err = {TJ_OK, ""};

    options.cache_dir = cache_dir;
    options.background_tuning_s = seconds;
    expect(tj_context_create(&options, &context, &err) == TJ_OK, "a context: %s", err.message);
    return context;
}

/* One problem, its operands, and threads that multiply until they are stopped. */
typedef struct crowd {
    tj_context *context;
    tj_problem problem;
    float m[J * K], n[K * L];
    atomic_int is_over;
    atomic_long products, wrong;
    pthread_t thread[THREADS];
} crowd;

static int multiply_once(crowd *c, tj_buffer *m, tj_buffer *n, tj_buffer *p)
{
    const tj_host_operands host = TJ_HOST_OPERANDS(c->m, c->n);
    static _Thread_local float product[J * L];
    tj_operands x = TJ_OPERANDS_INIT;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_error err;

    x.m.address = tj_buffer_address(m);
    x.n.address = tj_buffer_address(n);
    x.p.address = tj_buffer_address(p);
    return tj_buffer_fill(p, 0xff, &err) == TJ_OK && tj_matmul(c->context, &c->problem, &x, NULL, &err) == TJ_OK &&
           tj_buffer_read(p, 0, product, sizeof product, &err) == TJ_OK &&
           tj_reference_check(&c->problem, &host, product, 0, 0, &report, &err) == TJ_OK && report.passed;
}

static void *multiply(void *payload)
{
    crowd *c = payload;
    tj_buffer *m = NULL, *n = NULL, *p = NULL;
    tj_error err;

    if (tj_buffer_create(c->context, sizeof c->m, &m, &err) == TJ_OK &&
        tj_buffer_create(c->context, sizeof c->n, &n, &err) == TJ_OK &&
        tj_buffer_create(c->context, J * L * sizeof(float), &p, &err) == TJ_OK &&
        tj_buffer_write(m, 0, c->m, sizeof c->m, &err) == TJ_OK && tj_buffer_write(n, 0, c->n, sizeof c->n, &err) == TJ_OK)
        while (!atomic_load(&c->is_over)) {
            atomic_fetch_add(&c->wrong, !multiply_once(c, m, n, p));
            atomic_fetch_add(&c->products, 1);
            usleep(500); /* the tuning next to it needs the device as well */
        }
    else
        atomic_fetch_add(&c->wrong, 1);
    tj_buffer_free(m);
    tj_buffer_free(n);
    tj_buffer_free(p);
    return NULL;
}

static void start(crowd *c, tj_context *context)
{
    memset(c, 0, sizeof *c);
    c->context = context;
    c->problem = (tj_problem)TJ_PROBLEM_INIT(J, K, L, TJ_F32);
    tj_fill_random(TJ_F32, c->m, J * K, 1);
    tj_fill_random(TJ_F32, c->n, K * L, 2);
    for (int i = 0; i < THREADS; i++)
        expect(pthread_create(&c->thread[i], NULL, multiply, c) == 0, "a thread");
}

/* Wait until `products` more products are done. */
static void wait_for(crowd *c, long products)
{
    const long wanted = atomic_load(&c->products) + products;

    for (int i = 0; i < PATIENCE * 1000 && atomic_load(&c->products) < wanted && atomic_load(&c->wrong) == 0; i++)
        usleep(1000);
}

static void stop(crowd *c, const char *what)
{
    atomic_store(&c->is_over, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(c->thread[i], NULL);
    expect(atomic_load(&c->products) > 0, "%s: nothing was multiplied", what);
    expect(atomic_load(&c->wrong) == 0, "%s: %ld of %ld products wrong", what, atomic_load(&c->wrong),
           atomic_load(&c->products));
}

/* A record as another tool would write it: that config, and that time. */
static int keep_record(tj_context *context, const tj_problem *problem, const char *configuration, double us)
{
    tj_records *records = tj_records_create();
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    tj_error err = {TJ_OK, ""};
    char text[512];
    int64_t kept = 0;
    int is_kept;

    snprintf(text, sizeof text,
             "{\"schema_version\": \"1.0.0\", \"results\": [{\"configuration\": {%s}, "
             "\"measurements\": [{\"name\": \"time\", \"unit\": \"us\", \"value\": %g}]}]}",
             configuration, us);
    is_kept = tj_device_current(context, &device, &err) == TJ_OK &&
              tj_records_parse(text, problem, &device, records, NULL, &err) == TJ_OK &&
              tj_records_keep(context, records, &kept, &err) == TJ_OK && kept == 1 &&
              tj_plan_refresh(context, problem, &err) == TJ_OK;
    tj_records_free(records);
    return expect(is_kept, "a record: %s", err.message);
}

static int planned_width(tj_context *context, const tj_problem *problem)
{
    const tj_plan *plan = NULL;
    tj_error err;

    if (tj_plan_prepare(context, problem, NULL, &plan, &err) != TJ_OK)
        return -1;
    return tj_config_get(tj_source_config(tj_plan_source(plan)), "tile_width");
}

static void storm(const char *folder)
{
    static const int widths[] = {8, 32, 4, 16};
    tj_context *context = open_tuning(folder, 0);
    static crowd c;
    char config[64];

    start(&c, context);
    for (int i = 0; i < RECORDS; i++) {
        wait_for(&c, 3);
        snprintf(config, sizeof config, "\"family\": \"tiled\", \"tile_width\": %d", widths[i % 4]);
        if (!keep_record(context, &c.problem, config, 100 - i))
            break;
        expect(planned_width(context, &c.problem) == widths[i % 4], "record %d chose nothing", i);
    }
    wait_for(&c, 2 * THREADS);
    stop(&c, "storm");
    tj_context_free(context);
}

static size_t count_records(tj_context *context)
{
    tj_records *records = tj_records_create();
    tj_error err;
    const size_t count = tj_records_load(context, records, &err) == TJ_OK ? tj_records_count(records) : 0;

    tj_records_free(records);
    return count;
}

static void tuned(const char *folder)
{
    tj_context *context = open_tuning(folder, 2);
    static crowd c;
    int i = 0;

    start(&c, context);
    while (count_records(context) == 0 && ++i < PATIENCE * 10)
        usleep(100 * 1000);
    expect(count_records(context) == 1, "no record after %d s", PATIENCE);
    wait_for(&c, 2 * THREADS);
    stop(&c, "tuned");
    tj_context_free(context);
}

/* One product, with a workspace of that size, and operands that begin that many bytes into their buffers. */
static void multiply_lacking(tj_context *context, const tj_problem *problem, size_t workspace_bytes, size_t offset)
{
    enum { ROWS = 32, LONG = 256, COLS = 32 };
    static float m[ROWS * LONG], n[LONG * COLS], product[ROWS * COLS];
    const tj_host_operands host = TJ_HOST_OPERANDS(m, n);
    tj_buffer *device = NULL;
    tj_operands x = TJ_OPERANDS_INIT;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_error err = {TJ_OK, ""};
    char *base;

    tj_fill_random(TJ_F32, m, ROWS * LONG, 3);
    tj_fill_random(TJ_F32, n, LONG * COLS, 4);
    if (!expect(tj_buffer_create(context, 4 * 65536 + workspace_bytes, &device, &err) == TJ_OK, "%s", err.message))
        return;
    base = tj_buffer_address(device);
    x.m.address = base + offset;
    x.n.address = base + 65536 + offset;
    x.p.address = base + 2 * 65536 + offset;
    x.workspace = workspace_bytes ? base + 4 * 65536 : NULL;
    x.workspace_bytes = workspace_bytes;
    expect(tj_buffer_fill(device, 0xff, &err) == TJ_OK && tj_buffer_write(device, offset, m, sizeof m, &err) == TJ_OK &&
               tj_buffer_write(device, 65536 + offset, n, sizeof n, &err) == TJ_OK &&
               tj_matmul(context, problem, &x, NULL, &err) == TJ_OK &&
               tj_buffer_read(device, 2 * 65536 + offset, product, sizeof product, &err) == TJ_OK &&
               tj_reference_check(problem, &host, product, 0, 0, &report, &err) == TJ_OK && report.passed,
           "workspace %zu, offset %zu: %s %s", workspace_bytes, offset, err.message, report.reason);
    tj_buffer_free(device);
}

static void lacking(const char *folder)
{
    const tj_problem problem = TJ_PROBLEM_INIT(32, 256, 32, TJ_F32);
    tj_context *context = open_tuning(folder, 0);
    const tj_plan *plan = NULL;
    tj_error err = {TJ_OK, ""};
    size_t needed;

    if (keep_record(context, &problem, "\"family\": \"simt\", \"bm\": 16, \"bn\": 32, \"tm\": 4, \"tn\": 4, \"splits\": 4",
                    1) &&
        expect(tj_plan_prepare(context, &problem, NULL, &plan, &err) == TJ_OK, "%s", err.message)) {
        needed = tj_plan_workspace_bytes(plan);
        expect(needed == 4 * 32 * 32 * sizeof(float), "the record is not used: %zu bytes of workspace", needed);
        multiply_lacking(context, &problem, needed, 0);
        multiply_lacking(context, &problem, 0, 0);
        multiply_lacking(context, &problem, needed - 16, 0);
        multiply_lacking(context, &problem, needed, sizeof(float));
        multiply_lacking(context, &problem, 0, sizeof(float));
    }
    tj_context_free(context);
}

/* A tuning must not break what the program captures meanwhile, in a stream that waits for the legacy one, in the strictest mode. */
static void captured(const char *folder)
{
    tj_context *context = open_tuning(folder, 2);
    void *stream, *graph = NULL, *executable = NULL;
    int captures = 0, broken = 0;
    const tj_plan *plan = NULL;
    tj_buffer *all = NULL;
    tj_operands x = TJ_OPERANDS_INIT;
    const tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F32);
    tj_error err;

    if (!expect(load_driver() && enter_primary(context), "the driver's functions"))
        return;
    expect(cu.stream_create(&stream, 0) == 0, "a stream");
    expect(tj_buffer_create(context, 3 * 65536, &all, &err) == TJ_OK && tj_buffer_fill(all, 0, &err) == TJ_OK, "buffers");
    x.m.address = tj_buffer_address(all);
    x.n.address = (char *)x.m.address + 65536;
    x.p.address = (char *)x.n.address + 65536;
    expect(tj_plan_prepare(context, &problem, NULL, &plan, &err) == TJ_OK, "%s", err.message); /* which asks for a tuning */
    for (int i = 0; i < CAPTURES && count_records(context) == 0; i++) {
        const int begun = cu.capture_begin(stream, 0) == 0;
        const int launched = tj_plan_launch(plan, &x, stream, &err) == TJ_OK;

        usleep(10 * 1000);
        captures++;
        if (graph)
            cu.graph_destroy(graph);
        graph = NULL;
        broken += !begun || cu.capture_end(stream, &graph) != 0 || !launched;
    }
    expect(count_records(context) == 1, "no record after %d captures", captures);
    expect(captures > 1 && broken == 0, "%d of %d captures broken", broken, captures);
    expect(broken > 0 ||
               (cu.graph_instantiate(&executable, graph, 0) == 0 && cu.graph_launch(executable, stream) == 0 &&
                cu.stream_sync(stream) == 0 && cu.graph_exec_destroy(executable) == 0 && cu.graph_destroy(graph) == 0),
           "the last capture runs");
    cu.stream_destroy(stream);
    tj_buffer_free(all);
    leave_context();
    tj_context_free(context);
}

static void given_up(const char *folder)
{
    tj_context *context = open_tuning(folder, 600);
    static crowd c;

    start(&c, context);
    wait_for(&c, THREADS);
    stop(&c, "given up");
    tj_context_free(context); /* returns long before the ten minutes are over, or the test's time is */
}

int main(void)
{
    static const char *const name = "background";
    char folder[][32] = {"/tmp/tilejit-storm-XXXXXX", "/tmp/tilejit-tuned-XXXXXX", "/tmp/tilejit-lacks-XXXXXX",
                         "/tmp/tilejit-given-XXXXXX", "/tmp/tilejit-graph-XXXXXX"};
    void (*const part[])(const char *) = {storm, tuned, lacking, given_up, captured};

    tj_context_free(open_gpu(name, ""));
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
        char command[64];

        if (!expect(mkdtemp(folder[i]) != NULL, "a folder"))
            break;
        part[i](folder[i]);
        snprintf(command, sizeof command, "rm -rf '%s'", folder[i]);
        expect(system(command) == 0, "%s", command);
    }
    return finish(name);
}
