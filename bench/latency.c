/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latency: what does a product cost before it runs?
 *
 *     cold      a shape never seen: generate, compile, store, load, first launch, wait
 *     disk      a shape in the store, new process, driver started: read, load, first launch, wait
 *     ready     a call for a plan in memory, beside a bare cuLaunchKernel of the same kernel in the same rounds
 *
 * Prints a table. The product is tiny, so that the GPU never keeps the host waiting.
 */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

const char program[] = "latency";

enum { COLD_SHAPES = 12, LARGEST = 65 + 2 * COLD_SHAPES, DISK_RUNS = 9, ROUNDS = 101, CALLS = 400 };

static void print_row(const char *name, double *values, int count, const char *unit)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    printf("%-44s %10.3f %10.3f %10.3f  %s (n = %d)\n", name, values[0], values[count / 2], values[count - 1], unit, count);
}

static tj_context *open_context(const char *store)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;
    tj_error err;

    options.cache_dir = store;
    must(tj_context_create(&options, &context, &err), &err);
    return context;
}

/* Large enough for every shape used here; placing them starts the driver and the primary context. */
static tj_workbench *place_operands(tj_context *context)
{
    const tj_problem problem = TJ_PROBLEM_INIT(LARGEST, LARGEST, LARGEST, TJ_F32);
    tj_workbench *bench;
    tj_error err;

    must(tj_workbench_create(context, &problem, NULL, &bench, &err), &err);
    return bench;
}

/* From the request to the completed first launch, in microseconds. */
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
    tj_context *context = open_context(store);
    tj_workbench *bench = place_operands(context);
    double first = first_launch(context, bench, 65) / 1e3, later[COLD_SHAPES];

    for (int i = 0; i < COLD_SHAPES; i++)
        later[i] = first_launch(context, bench, 67 + 2 * i) / 1e3;
    print_row("cold, first of the process (NVRTC opened)", &first, 1, "ms");
    print_row("cold, later shapes", later, COLD_SHAPES, "ms");
    tj_workbench_free(bench);
    tj_context_free(context);
}

/* In a process of its own: prints two numbers, driver start and request to completed launch. */
static int child(const char *store)
{
    tj_context *context = open_context(store);
    const double start = now_us();
    tj_workbench *bench = place_operands(context);
    const double started = now_us() - start, launched = first_launch(context, bench, 65);
    tj_context_stats stats;

    tj_context_get_stats(context, &stats);
    printf("%f %f %llu\n", started, launched, (unsigned long long)stats.compiles);
    tj_workbench_free(bench);
    tj_context_free(context);
    return 0;
}

static void measure_disk(const char *self, const char *store)
{
    double started[DISK_RUNS], launched[DISK_RUNS];
    char command[600];

    snprintf(command, sizeof command, "'%s' --child '%s'", self, store);
    for (int i = 0; i < DISK_RUNS; i++) {
        FILE *pipe = popen(command, "r");
        unsigned long long compiles = 1;
        if (!pipe || fscanf(pipe, "%lf %lf %llu", &started[i], &launched[i], &compiles) != 3 || pclose(pipe) != 0 ||
            compiles != 0)
            die(1, "the child failed, or compiled %llu times", compiles);
        started[i] /= 1e3;
        launched[i] /= 1e3;
    }
    print_row("new process: driver start, buffers", started, DISK_RUNS, "ms");
    print_row("new process: from disk to completed launch", launched, DISK_RUNS, "ms");
}

/* A bare cuLaunchKernel of the very same kernel: found in the PTX by its name, loaded by the driver itself. */
typedef int (*launch_fn)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                         void **);

typedef struct bare {
    launch_fn launch;
    void *function;
} bare;

/* ISO C has no conversion from an object pointer to a function pointer; POSIX promises that this works. */
static void look_up(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);

    memcpy(function, &symbol, sizeof symbol);
}

/* In the driver and on the device that the contexts here take. */
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
    /* The primary context made current, as in a program that uses the CUDA runtime. */
    if (retain(&context, device ? atoi(device) : 0) != 0 || set(context) != 0 ||
        load(&module, tj_image_cubin(tj_plan_image(plan), NULL)) != 0 ||
        find(&b.function, module, tj_source_kernel(tj_plan_source(plan))) != 0)
        die(1, "the bare kernel does not load");
    return b;
}

typedef struct geometry {
    unsigned grid_x, grid_y, block_x, block_y, shared_bytes;
} geometry;

/* As the launch form says (include/tilejit/source.h), for one product that one kernel computes. */
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

static void measure_ready(void)
{
    static double bare_ns[ROUNDS], matmul_ns[ROUNDS], plan_ns[ROUNDS], over_matmul[ROUNDS], over_plan[ROUNDS];
    tj_context *context = open_context("");
    tj_workbench *bench = place_operands(context);
    const tj_operands *x = tj_workbench_operands(bench);
    tj_problem problem = TJ_PROBLEM_INIT(32, 32, 32, TJ_F32);
    const tj_plan *plan;
    tj_error err;
    geometry g;
    bare b;

    must(tj_plan_prepare(context, &problem, NULL, &plan, &err), &err);
    b = load_bare(plan);
    g = geometry_of(plan, problem.j.extent);
    must(tj_matmul(context, &problem, x, NULL, &err), &err);
    must(tj_plan_prepare(context, &problem, NULL, &plan, &err), &err);
    for (int r = -5; r < ROUNDS; r++) {
        double start, ns[3];
        for (int kind = 0; kind < 3; kind++) {
            /* Each way goes first in a third of the rounds. */
            const int way = (kind + r + 6) % 3;
            must(tj_synchronize(context, NULL, &err), &err);
            start = now_us();
            for (int i = 0; i < CALLS; i++) {
                tj_status status = TJ_OK;
                if (way == 0) {
                    void *m = (void *)x->m.address, *n = (void *)x->n.address, *p = (void *)x->p.address;
                    void *arguments[] = {&m, &n, &p};
                    if (b.launch(b.function, g.grid_x, g.grid_y, 1, g.block_x, g.block_y, 1, g.shared_bytes, NULL, arguments,
                                 NULL) != 0)
                        status = TJ_ERR_DRIVER;
                } else if (way == 1) {
                    status = tj_matmul(context, &problem, x, NULL, &err);
                } else {
                    status = tj_plan_launch(plan, x, NULL, &err);
                }
                must(status, &err);
            }
            ns[way] = (now_us() - start) * 1e3 / CALLS;
        }
        if (r < 0)
            continue;
        bare_ns[r] = ns[0];
        matmul_ns[r] = ns[1];
        plan_ns[r] = ns[2];
        over_matmul[r] = ns[1] - ns[0];
        over_plan[r] = ns[2] - ns[0];
    }
    print_row("ready: bare cuLaunchKernel", bare_ns, ROUNDS, "ns");
    print_row("ready: tj_matmul", matmul_ns, ROUNDS, "ns");
    print_row("ready: tj_plan_launch", plan_ns, ROUNDS, "ns");
    print_row("ready: tj_matmul above bare, paired", over_matmul, ROUNDS, "ns");
    print_row("ready: tj_plan_launch above bare, paired", over_plan, ROUNDS, "ns");
    tj_workbench_free(bench);
    tj_context_free(context);
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
    char self[512];
    ssize_t length;

    if (argc == 3 && strcmp(argv[1], "--child") == 0)
        return child(argv[2]);
    length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0 || !mkdtemp(store))
        return perror("latency"), 1;
    (void)atexit(remove_store); /* however it ends */
    self[length] = '\0';
    printf("%-44s %10s %10s %10s\n", "", "least", "median", "most");
    measure_cold(store);
    measure_disk(self, store);
    measure_ready();
    return 0;
}
