/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: nightly (processes that are killed) */
/*
 * many_shapes [COMPILED]: many threads, one context, thousands of shapes. The threads generate them, several the same one,
 * and must get the same text; then all want the images of the first COMPILED at once, each in an order of its own, and
 * then the plans. Every one must be made exactly once, however large the tables grow meanwhile. NVRTC and the driver only
 * pretend, so that what takes time is the tables. A plain program, for ThreadSanitizer above all.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tilejit/tools.h>

#include "fake/fake_cuda.h"

/* The pretended driver keeps 4096 objects and needs three for a kernel: more plans than MAX_PLANS would outlive theirs. */
enum { THREADS = 64, SHAPES = 2000, GENERATED_PER_THREAD = 250, COMPILED = 400, MAX_PLANS = 1300 };

/* A shape, and what the first thread to get there saw. All threads must see the same. */
typedef struct shape {
    tj_problem problem;
    uint64_t text; /* digest of the generated source, made before the threads start */
    tj_source *source;
    _Atomic(const char *) ptx;
    _Atomic(const tj_plan *) plan;
} shape;

static shape shapes[SHAPES];
static tj_context *context;
static pthread_barrier_t barrier;
static void *memory; /* on the pretended device */
static atomic_int mistakes;
static int compiled = COMPILED, planned;

static void mistake(int number, const char *what, const char *message)
{
    fprintf(stderr, "FAILED: shape %d: %s%s%s\n", number, what, *message ? ": " : "", message);
    atomic_fetch_add(&mistakes, 1);
}

static uint64_t digest(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    while (*text)
        hash = (hash ^ (unsigned char)*text++) * UINT64_C(0x100000001b3);
    return hash;
}

/* Step number of a walk over count things that visits each once, another walk for every thread. */
static int visit(int step, int thread, int count)
{
    return (step + thread * 31) % count;
}

static void generate_one(int number)
{
    tj_source *source = NULL;
    tj_error err = {TJ_OK, ""};

    if (tj_generate(&shapes[number].problem, NULL, &source, &err) != TJ_OK)
        mistake(number, "generate", err.message);
    else if (digest(tj_source_text(source)) != shapes[number].text)
        mistake(number, "another text than before", "");
    tj_source_free(source);
}

static void obtain_one(int number)
{
    shape *mine = &shapes[number];
    const char *nobody = NULL, *ptx;
    tj_image *image = NULL;
    tj_error err = {TJ_OK, ""};

    if (tj_image_obtain(context, mine->source, "sm_90", &image, &err) != TJ_OK) {
        mistake(number, "obtain", err.message);
        return;
    }
    ptx = tj_image_ptx(image, NULL);
    if (!strstr(ptx, tj_source_kernel(mine->source)))
        mistake(number, "the image of another shape", "");
    /* One image in memory, whoever asks: the very same bytes, not equal ones. */
    if (!atomic_compare_exchange_strong(&mine->ptx, &nobody, ptx) && nobody != ptx)
        mistake(number, "a second image", "");
    tj_image_free(image);
}

static void plan_one(int number)
{
    shape *mine = &shapes[number];
    const tj_plan *nobody = NULL, *plan = NULL;
    tj_operands x = TJ_OPERANDS_INIT;
    tj_error err = {TJ_OK, ""};

    x.m.address = x.n.address = memory;
    x.p.address = (char *)memory + (1 << 20);
    if (tj_matmul(context, &mine->problem, &x, NULL, &err) != TJ_OK) {
        mistake(number, "tj_matmul", err.message);
        return;
    }
    if (tj_plan_prepare(context, &mine->problem, NULL, &plan, &err) != TJ_OK) {
        mistake(number, "tj_plan_prepare", err.message);
        return;
    }
    if (strcmp(tj_source_text(tj_plan_source(plan)), tj_source_text(mine->source)) != 0)
        mistake(number, "the plan of another shape", "");
    if (!atomic_compare_exchange_strong(&mine->plan, &nobody, plan) && nobody != plan)
        mistake(number, "a second plan", "");
}

static void *work(void *argument)
{
    const int thread = (int)(intptr_t)argument;

    pthread_barrier_wait(&barrier);
    for (int i = 0; i < GENERATED_PER_THREAD; i++)
        generate_one(visit(i, thread, SHAPES));
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < compiled; i++)
        obtain_one(visit(i, thread, compiled));
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < planned; i++)
        plan_one(visit(i, thread, planned));
    return NULL;
}

static void expect_count(const char *what, uint64_t found, uint64_t expected)
{
    if (found == expected)
        return;
    fprintf(stderr, "FAILED: %d %s, not %d\n", (int)found, what, (int)expected);
    atomic_fetch_add(&mistakes, 1);
}

static void make_shapes(void)
{
    for (int i = 0; i < SHAPES; i++) {
        const tj_problem problem = TJ_PROBLEM_INIT(1 + i % 50, 1 + i / 50, 1 + i * 7 % 90, i % 2 ? TJ_F32 : TJ_F64);
        tj_error err = {TJ_OK, ""};
        shapes[i].problem = problem;
        if (tj_generate(&problem, NULL, &shapes[i].source, &err) != TJ_OK) {
            mistake(i, "generate", err.message);
            exit(1);
        }
        shapes[i].text = digest(tj_source_text(shapes[i].source));
    }
}

int main(int argc, char **argv)
{
    static const size_t parameters[] = {8, 8, 8};
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    pthread_t thread[THREADS];
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;
    tj_error err = {TJ_OK, ""};
    fake_cuda fake = fake_open(FAKE_CUDA_PATH);

    if (argc > 1)
        compiled = atoi(argv[1]);
    if (compiled < 1 || compiled > SHAPES) {
        fprintf(stderr, "many_shapes: compile 1 to %d shapes, not %d\n", SHAPES, compiled);
        return 2;
    }
    planned = compiled < MAX_PLANS ? compiled : MAX_PLANS;
    fake.fake_set_devices(1);
    fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0); /* the model is silent: the choice is the default */
    fake.fake_set_parameters(3, parameters);
    memory = (void *)(uintptr_t)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 2 << 20);
    options.nvrtc = FAKE_NVRTC_PATH;
    options.driver = FAKE_CUDA_PATH;
    options.cache_dir = "";
    if (tj_context_create(&options, &context, &err) != TJ_OK) {
        fprintf(stderr, "context: %s\n", err.message);
        return 1;
    }
    make_shapes();
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, work, (void *)(intptr_t)i) != 0)
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&barrier);

    tj_context_get_stats(context, &stats);
    expect_count("compiles", stats.compiles, (uint64_t)compiled);
    expect_count("failed compiles", stats.failures, 0);
    /* Every later request for an image, and the one of each plan. */
    expect_count("images from memory", stats.memory_hits, (uint64_t)compiled * (THREADS - 1) + (uint64_t)planned);
    expect_count("loads", stats.loads, (uint64_t)planned);
    expect_count("plans", stats.plans, (uint64_t)planned);
    expect_count("launches", fake.fake_launches(), (uint64_t)planned * THREADS);
    tj_context_free(context);
    expect_count("images left on the device", (uint64_t)fake.fake_live_images(), 0);
    expect_count("primary contexts left", (uint64_t)fake.fake_live_primaries(), 0);
    for (int i = 0; i < SHAPES; i++)
        tj_source_free(shapes[i].source);
    printf("stress/many_shapes: %d threads, %d shapes, %d compiled, %d plans, %d failed\n", THREADS, SHAPES, compiled, planned,
           atomic_load(&mistakes));
    return atomic_load(&mistakes) ? 1 : 0;
}
