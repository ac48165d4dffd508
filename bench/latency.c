/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latency: the cost of a product before it runs.
 *
 *     cold      a shape never seen: generate, compile, store, load, first launch, wait
 *     quick     the same with first_call = quick, in a context that has no kernel yet, and once it has one
 *     disk      a shape in the store, new process, driver started: read, load, first launch, wait
 *     pack      the same from a pack
 *     quick     the same with first_call = quick and nothing stored
 *     ready     a call for a plan in memory, next to a bare cuLaunchKernel of the same kernel in the same turns
 *
 * Prints a table. The product is tiny, so that the GPU never keeps the host waiting.
 *
 *     --ready CALLS   only CALLS ready calls, to count their instructions (bench/README.md)
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

const char program[] = "latency";

enum { COLD_SHAPES = 12, LARGEST = 65 + 2 * COLD_SHAPES, DISK_RUNS = 9, TURNS = 20000, WARM_TURNS = 1000, QUEUED = 50 };

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void print_row(const char *name, double *values, int count, const char *unit)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    printf("%-44s %10.3f %10.3f %10.3f  %s (n = %d)\n", name, values[0], values[count / 2], values[count - 1], unit, count);
}

/* pack: NULL: none. */
static tj_context *open_context(const char *store, const char *pack, tj_first_call first_call)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    const char *const packs[] = {pack, NULL};
    tj_context *context;
    tj_error err;

    options.cache_dir = store;
    options.packs = packs;
    options.first_call = (int32_t)first_call;
    must(tj_context_create(&options, &context, &err), &err);
    return context;
}

/* Place operands large enough for every shape here; this starts the driver and the primary context. */
static tj_workbench *place_operands(tj_context *context)
{
    const tj_problem problem = TJ_PROBLEM_INIT(LARGEST, LARGEST, LARGEST, TJ_F32);
    tj_workbench *bench;
    tj_error err;

    must(tj_workbench_create(context, &problem, NULL, &bench, &err), &err);
    return bench;
}

/* Return the microseconds from the request to the completed first launch. */
static double first_launch(tj_context *context, const tj_workbench *bench, int64_t extent)
{
    tj_problem problem = TJ_PROBLEM_INIT(extent, extent, extent, TJ_F32);
    const double start = now_us();
    tj_error err;

    must(tj_matmul(context, &problem, tj_workbench_operands(bench), NULL, &err), &err);
    must(tj_synchronize(context, NULL, &err), &err);
    return now_us() - start;
}

static void measure_cold(const char *store)
{
    tj_context *context = open_context(store, NULL, TJ_FIRST_CALL_WAIT);
    tj_workbench *bench = place_operands(context);
    double first = first_launch(context, bench, 65) / 1e3, later[COLD_SHAPES];

    for (int i = 0; i < COLD_SHAPES; i++)
        later[i] = first_launch(context, bench, 67 + 2 * i) / 1e3;
    print_row("cold, first of the process (NVRTC opened)", &first, 1, "ms");
    print_row("cold, later shapes", later, COLD_SHAPES, "ms");
    tj_workbench_free(bench);
    tj_context_free(context);
}

/* Each context without a store begins without kernels. NVRTC is open. */
static void measure_quick(void)
{
    double first[COLD_SHAPES], later[COLD_SHAPES];

    for (int i = 0; i < COLD_SHAPES; i++) {
        tj_context *context = open_context("", NULL, TJ_FIRST_CALL_QUICK);
        tj_workbench *bench = place_operands(context);

        first[i] = first_launch(context, bench, 65) / 1e3;
        later[i] = first_launch(context, bench, 67) / 1e3;
        tj_workbench_free(bench);
        tj_context_free(context);
    }
    print_row("cold with quick, first of its types", first, COLD_SHAPES, "ms");
    print_row("cold with quick, later shapes", later, COLD_SHAPES, "ms");
}

/* Write a pack of the shape that a new process starts with, for this device. */
static void write_pack(const char *path)
{
    const tj_problem problem = TJ_PROBLEM_INIT(65, 65, 65, TJ_F32);
    tj_context *context = open_context("", NULL, TJ_FIRST_CALL_WAIT);
    tj_workbench *bench = place_operands(context);
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    FILE *file = fopen(path, "wb");
    tj_pack *pack;
    void *bytes;
    size_t size;
    char target[16];
    tj_error err;

    must(tj_device_current(context, &device, &err), &err);
    must(tj_target_for(context, device.cc_major, device.cc_minor, target, &err), &err);
    must(tj_pack_create(context, NULL, &pack, &err), &err);
    must(tj_pack_add(pack, &problem, NULL, target, &err), &err);
    must(tj_pack_print(pack, &bytes, &size, &err), &err);
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        die(1, "%s cannot be written", path);
    free(bytes);
    tj_pack_free(pack);
    tj_workbench_free(bench);
    tj_context_free(context);
}

/* Run in a process of its own: print two numbers, driver start and request to completed launch. */
static int child(const char *store, const char *pack, bool is_quick)
{
    tj_context *context = open_context(store, pack, is_quick ? TJ_FIRST_CALL_QUICK : TJ_FIRST_CALL_WAIT);
    const double start = now_us();
    tj_workbench *bench = place_operands(context);
    const double started = now_us() - start, launched = first_launch(context, bench, 65);
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;

    tj_context_get_stats(context, &stats);
    printf("%f %f %llu\n", started, launched, (unsigned long long)stats.compiles);
    tj_workbench_free(bench);
    tj_context_free(context);
    return 0;
}

/* pack: NULL: none; "quick": nothing is stored or packed, and first_call is quick. */
static void measure_new_process(const char *self, const char *store, const char *pack)
{
    const bool is_quick = pack && strcmp(pack, "quick") == 0;
    double started[DISK_RUNS], launched[DISK_RUNS];
    char command[600];

    snprintf(command, sizeof command, "'%s' --child '%s' '%s'", self, store, pack ? pack : "");
    for (int i = 0; i < DISK_RUNS; i++) {
        FILE *pipe = popen(command, "r");
        unsigned long long compiles = 1;
        if (!pipe || fscanf(pipe, "%lf %lf %llu", &started[i], &launched[i], &compiles) != 3 || pclose(pipe) != 0 ||
            (compiles != 0 && !is_quick))
            die(1, "the child failed, or compiled %llu times", compiles);
        started[i] /= 1e3;
        launched[i] /= 1e3;
    }
    print_row("new process: driver start, buffers", started, DISK_RUNS, "ms");
    print_row(is_quick ? "new process: quick, to completed launch"
              : pack   ? "new process: from a pack to completed launch"
                       : "new process: from disk to completed launch",
              launched, DISK_RUNS, "ms");
}

/* A bare cuLaunchKernel of the same kernel: found in the PTX by its name, loaded through the driver directly. */
typedef int (*launch_fn)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                         void **);

typedef struct bare {
    launch_fn launch;
    void *function;
} bare;

/* ISO C lacks a conversion from an object pointer to a function pointer; POSIX guarantees it. */
static void look_up(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);

    memcpy(function, &symbol, sizeof symbol);
}

/* Use the driver and the device of the contexts here. */
static bare load_bare(const tj_plan *plan)
{
    const char *driver = getenv("TILEJIT_DRIVER"), *device = getenv("TILEJIT_DEVICE");
    void *cuda = dlopen(driver && *driver ? driver : "libcuda.so.1", RTLD_NOW), *module = NULL, *context = NULL;
    int (*load)(void **, const void *), (*find)(void **, void *, const char *), (*retain)(void **, int), (*set)(void *);
    bare b = {NULL, NULL};

    if (!cuda)
        die(1, "no bare kernel: %s", dlerror());
    look_up(cuda, "cuModuleLoadData", &load);
    look_up(cuda, "cuModuleGetFunction", &find);
    look_up(cuda, "cuDevicePrimaryCtxRetain", &retain);
    look_up(cuda, "cuCtxSetCurrent", &set);
    look_up(cuda, "cuLaunchKernel", &b.launch);
    /* Make the primary context current, as a program with the CUDA runtime does. */
    if (retain(&context, device ? atoi(device) : 0) != 0 || set(context) != 0 ||
        load(&module, tj_image_cubin(tj_plan_image(plan), NULL)) != 0 ||
        find(&b.function, module, tj_source_kernel(tj_plan_source(plan))) != 0)
        die(1, "the bare kernel does not load");
    return b;
}

typedef struct geometry {
    unsigned grid_x, grid_y, block_x, block_y, shared_bytes;
} geometry;

/* Follow the launch form (include/tilejit/source.h), for one product that one kernel computes. */
static geometry geometry_of(const tj_plan *plan, int64_t extent)
{
    const tj_launch_form *form = tj_source_launch(tj_plan_source(plan));
    const tj_launch_step *step = tj_product_step(form);
    const unsigned rows = (unsigned)((extent + step->block_rows - 1) / step->block_rows),
                   cols = (unsigned)((extent + step->block_cols - 1) / step->block_cols);

    if (form->steps > 1 || step->arg_count != 3)
        die(1, "%s is not launched with M, N and P alone", step->kernel);
    return (geometry){step->rows_on_x ? rows : cols, step->rows_on_x ? cols : rows, (unsigned)step->block_x,
                      (unsigned)step->block_y, (unsigned)step->dynamic_shared_bytes};
}

/*
 * The ways to launch: the bare kernel; the same by tj_matmul and by tj_plan_launch; and two of them in a stream of the
 * program's own.
 */
enum { BARE, MATMUL, PLAN, BARE_STREAM, STREAM, WAYS };

typedef struct ready {
    tj_context *context;
    const tj_problem *problem;
    const tj_plan *plan;
    const tj_operands *x;
    struct CUstream_st *stream;
    bare b;
    geometry g;
} ready;

static tj_status launch(const ready *r, int way, tj_error *err)
{
    void *m = (void *)r->x->m.address, *n = (void *)r->x->n.address, *p = (void *)r->x->p.address;
    void *arguments[] = {&m, &n, &p};

    switch (way) {
    case BARE:
    case BARE_STREAM:
        return r->b.launch(r->b.function, r->g.grid_x, r->g.grid_y, 1, r->g.block_x, r->g.block_y, 1, r->g.shared_bytes,
                           way == BARE ? NULL : r->stream, arguments, NULL) == 0
                   ? TJ_OK
                   : TJ_ERR_DRIVER;
    case PLAN:
        return tj_plan_launch(r->plan, r->x, NULL, err);
    default:
        return tj_matmul(r->context, r->problem, r->x, way == STREAM ? r->stream : NULL, err);
    }
}

/*
 * Time call by call, each way in turn, so that disturbances by the machine hit all of them equally. Each way goes first in its
 * share of the turns. All times include the clock itself.
 */
static void time_launches(const ready *r, double *ns_of[WAYS], double *over[WAYS])
{
    tj_error err;

    for (int turn = -WARM_TURNS; turn < TURNS; turn++) {
        double ns[WAYS];

        if (turn % QUEUED == 0) {
            must(tj_synchronize(r->context, NULL, &err), &err);
            must(tj_synchronize(r->context, r->stream, &err), &err);
        }
        for (int kind = 0; kind < WAYS; kind++) {
            const int way = (kind + turn + WARM_TURNS) % WAYS;
            const double start = now_ns();

            must(launch(r, way, &err), &err);
            ns[way] = now_ns() - start;
        }
        for (int way = 0; turn >= 0 && way < WAYS; way++) {
            ns_of[way][turn] = ns[way];
            over[way][turn] = ns[way] - ns[way < BARE_STREAM ? BARE : BARE_STREAM];
        }
    }
}

static void measure_ready(void)
{
    static double ns[WAYS][TURNS], over[WAYS][TURNS];
    double *ns_of[WAYS], *over_of[WAYS];
    tj_context *context = open_context("", NULL, TJ_FIRST_CALL_WAIT);
    tj_workbench *bench = place_operands(context);
    tj_problem problem = TJ_PROBLEM_INIT(32, 32, 32, TJ_F32);
    ready r = {.context = context, .problem = &problem, .x = tj_workbench_operands(bench)};
    tj_error err;

    must(tj_plan_prepare(context, &problem, NULL, &r.plan, &err), &err);
    r.b = load_bare(r.plan);
    r.g = geometry_of(r.plan, problem.j.extent);
    must(tj_matmul(context, &problem, r.x, NULL, &err), &err);
    must(tj_plan_prepare(context, &problem, NULL, &r.plan, &err), &err);
    must(tj_stream_create(context, &r.stream, &err), &err);
    for (int way = 0; way < WAYS; way++) {
        ns_of[way] = ns[way];
        over_of[way] = over[way];
    }
    time_launches(&r, ns_of, over_of);
    print_row("ready: bare cuLaunchKernel", ns[BARE], TURNS, "ns");
    print_row("ready: tj_matmul", ns[MATMUL], TURNS, "ns");
    print_row("ready: tj_plan_launch", ns[PLAN], TURNS, "ns");
    print_row("ready: tj_matmul above bare, paired", over[MATMUL], TURNS, "ns");
    print_row("ready: tj_plan_launch above bare, paired", over[PLAN], TURNS, "ns");
    print_row("ready: bare cuLaunchKernel in a stream", ns[BARE_STREAM], TURNS, "ns");
    print_row("ready: tj_matmul above it, paired", over[STREAM], TURNS, "ns");
    tj_stream_destroy(context, r.stream);
    tj_workbench_free(bench);
    tj_context_free(context);
}

/* A driver that does nothing suffices. */
static int call_only(int calls)
{
    tj_context *context = open_context("", NULL, TJ_FIRST_CALL_WAIT);
    tj_workbench *bench = place_operands(context);
    const tj_problem problem = TJ_PROBLEM_INIT(32, 32, 32, TJ_F32);
    const tj_plan *plan;
    tj_error err;

    must(tj_plan_prepare(context, &problem, NULL, &plan, &err), &err);
    for (int i = 0; i < calls; i++)
        must(tj_matmul(context, &problem, tj_workbench_operands(bench), NULL, &err), &err);
    tj_workbench_free(bench);
    tj_context_free(context);
    return 0;
}

static char store[] = "/tmp/tilejit-latency-XXXXXX";

static void remove_store(void)
{
    char command[100];

    snprintf(command, sizeof command, "rm -rf %s", store);
    if (system(command) != 0)
        fprintf(stderr, "latency: %s could not be removed\n", store);
}

int main(int argc, char **argv)
{
    char self[512], pack[sizeof store + 16];
    ssize_t length;

    if (argc == 4 && strcmp(argv[1], "--child") == 0)
        return strcmp(argv[3], "quick") == 0 ? child(argv[2], NULL, true) : child(argv[2], *argv[3] ? argv[3] : NULL, false);
    if (argc == 3 && strcmp(argv[1], "--ready") == 0)
        return call_only(atoi(argv[2]));
    length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0 || !mkdtemp(store))
        return perror("latency"), 1;
    (void)atexit(remove_store); /* at any exit */
    self[length] = '\0';
    printf("%-44s %10s %10s %10s\n", "", "least", "median", "most");
    measure_cold(store);
    measure_quick();
    measure_new_process(self, store, NULL);
    (void)snprintf(pack, sizeof pack, "%s/app.tjpack", store);
    write_pack(pack);
    measure_new_process(self, "", pack);
    measure_new_process(self, "", "quick");
    measure_ready();
    return 0;
}
