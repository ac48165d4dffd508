/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

static const double SAMPLE_US = 500;    /* minimum: an event adds less than 2 us */
static const double LEAD_IN_US = 20000; /* shorter samples replay once before */
enum { MAX_LAUNCHES = 4096, CAPTURE_RELAXED = 2, STREAM_NON_BLOCKING = 1, ASKED_VERSION = 12000 };

/* The driver's functions used here.   X(member, symbol, arguments) */
#define DRIVER_FUNCTIONS(X)                                                                                       \
    X(device_get, cuDeviceGet, (int *device, int ordinal))                                                        \
    X(primary_retain, cuDevicePrimaryCtxRetain, (void **context, int device))                                     \
    X(primary_release, cuDevicePrimaryCtxRelease_v2, (int device))                                                \
    X(set_current, cuCtxSetCurrent, (void *context))                                                              \
    X(stream_create, cuStreamCreate, (void **stream, unsigned flags))                                             \
    X(stream_wait, cuStreamSynchronize, (void *stream))                                                           \
    X(stream_destroy, cuStreamDestroy_v2, (void *stream))                                                         \
    X(begin_capture, cuStreamBeginCapture_v2, (void *stream, int mode))                                           \
    X(end_capture, cuStreamEndCapture, (void *stream, void **graph))                                              \
    X(graph_instantiate, cuGraphInstantiateWithFlags, (void **executable, void *graph, unsigned long long flags)) \
    X(graph_launch, cuGraphLaunch, (void *executable, void *stream))                                              \
    X(graph_exec_destroy, cuGraphExecDestroy, (void *executable))                                                 \
    X(graph_destroy, cuGraphDestroy, (void *graph))                                                               \
    X(event_create, cuEventCreate, (void **event, unsigned flags))                                                \
    X(event_record, cuEventRecord, (void *event, void *stream))                                                   \
    X(event_wait, cuEventSynchronize, (void *event))                                                              \
    X(event_elapsed, cuEventElapsedTime, (float *milliseconds, void *start, void *end))                           \
    X(event_destroy, cuEventDestroy_v2, (void *event))                                                            \
    X(error_name, cuGetErrorName, (int result, const char **name))

struct bench_clock {
#define MEMBER(member, symbol, arguments) int(*member) arguments;
    DRIVER_FUNCTIONS(MEMBER)
#undef MEMBER
    int device;
    void *primary, *stream, *start, *end;
    bool is_emulated;
};

static int check(const bench_clock *clock, int result, const char *what, tj_error *err)
{
    const char *name = NULL;

    if (result == 0)
        return 1;
    if (clock->error_name(result, &name) != 0 || !name)
        name = "an unknown error";
    return tj_fail(err, TJ_ERR_DRIVER, "%s: the driver answers %s (%d)", what, name, result) == TJ_OK;
}

/* Open the driver that the context uses; one of its functions identifies the emulator. */
static void *open_driver(tj_context *context, const char *path, bool *is_emulated, tj_error *err)
{
    const tj_emulator *emulator;
    void *symbol, *driver;
    Dl_info home;

    if (tj_emulator_get(context, &emulator, err) != TJ_OK)
        return NULL;
    *is_emulated = emulator != NULL;
    path = path ? path : secure_getenv("TILEJIT_DRIVER");
    if (emulator) {
        memcpy(&symbol, &emulator->clear, sizeof symbol);
        path = dladdr(symbol, &home) ? home.dli_fname : NULL;
    }
    driver = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW);
    if (!driver)
        (void)tj_fail(err, TJ_ERR_NO_DRIVER, "cannot open the driver: %s", dlerror());
    return driver;
}

/* Find a function by name; a driver that lacks the name is asked through a function that every driver has. */
static void *find_function(void *driver, const char *name)
{
    int (*ask)(const char *name, void **function, int version, uint64_t flags, int *status);
    void *function = dlsym(driver, name), *symbol = dlsym(driver, "cuGetProcAddress_v2");
    char base[64];

    memcpy(&ask, &symbol, sizeof symbol);
    (void)snprintf(base, sizeof base, "%.*s", (int)(strlen(name) - (strstr(name, "_v2") ? 3 : 0)), name);
    if (!function && symbol && ask(base, &function, ASKED_VERSION, 0, NULL) != 0)
        return NULL;
    return function;
}

static int fill_table(bench_clock *clock, void *driver, tj_error *err)
{
    void *symbol;

#define MEMBER(member, name, arguments)                                                                                    \
    symbol = find_function(driver, #name);                                                                                 \
    if (!symbol)                                                                                                           \
        return tj_fail(err, TJ_ERR_UNSUPPORTED, "the driver has no " #name ": update it to one for CUDA 11.4 or newer") == \
               TJ_OK;                                                                                                      \
    memcpy(&clock->member, &symbol, sizeof symbol);
    DRIVER_FUNCTIONS(MEMBER)
#undef MEMBER
    return 1;
}

bench_clock *clock_open(tj_context *context, const char *driver_path, const tj_device_facts *device, tj_error *err)
{
    bench_clock *clock = calloc(1, sizeof *clock);
    void *driver;

    if (!clock) {
        (void)tj_fail_memory(err, "a clock");
        return NULL;
    }
    driver = open_driver(context, driver_path, &clock->is_emulated, err);
    if (driver && fill_table(clock, driver, err) &&
        check(clock, clock->device_get(&clock->device, device->ordinal), "finding the device", err) &&
        check(clock, clock->primary_retain(&clock->primary, clock->device), "making a context", err) &&
        check(clock, clock->set_current(clock->primary), "making the context current", err) &&
        check(clock, clock->stream_create(&clock->stream, STREAM_NON_BLOCKING), "making a stream", err) &&
        check(clock, clock->event_create(&clock->start, 0), "making an event", err) &&
        check(clock, clock->event_create(&clock->end, 0), "making an event", err))
        return clock;
    clock_close(clock);
    return NULL;
}

void clock_close(bench_clock *clock)
{
    if (!clock)
        return;
    if (clock->end)
        (void)clock->event_destroy(clock->end);
    if (clock->start)
        (void)clock->event_destroy(clock->start);
    if (clock->stream)
        (void)clock->stream_destroy(clock->stream);
    if (clock->primary)
        (void)clock->primary_release(clock->device);
    free(clock);
}

struct CUstream_st *clock_stream(const bench_clock *clock)
{
    return clock->stream;
}

bool clock_is_emulated(const bench_clock *clock)
{
    return clock->is_emulated;
}

int clock_try(bench_clock *clock, queue_fn queue, void *what, tj_error *err)
{
    return queue(what, 0, clock->stream, err) && check(clock, clock->stream_wait(clock->stream), "the first launch", err);
}

static int queue_all(bench_clock *clock, const samples *s, tj_error *err)
{
    for (size_t i = 0; i < s->launches; i++)
        if (!s->queue(s->what, i % s->sets, clock->stream, err))
            return 0;
    return 1;
}

static int capture(bench_clock *clock, samples *s, tj_error *err)
{
    void *graph = NULL;
    int is_queued, is_made;

    if (!check(clock, clock->begin_capture(clock->stream, CAPTURE_RELAXED), "beginning a capture", err))
        return 0;
    is_queued = queue_all(clock, s, err);
    /* A capture must be ended, even after a failure in it. */
    is_made = clock->end_capture(clock->stream, &graph);
    if (is_queued)
        is_queued = check(clock, is_made, "capturing launches", err) &&
                    check(clock, clock->graph_instantiate(&s->graph, graph, 0), "instantiating a graph", err);
    if (graph)
        (void)clock->graph_destroy(graph);
    return is_queued;
}

int clock_capture(bench_clock *clock, queue_fn queue, void *what, size_t sets, samples *out, tj_error *err)
{
    double us;

    *out = (samples){.queue = queue, .what = what, .launches = sets, .sets = sets};
    if (!capture(clock, out, err) || (us = clock_sample(clock, out, err)) < 0) {
        clock_drop(clock, out);
        return 0;
    }
    if (clock->is_emulated || us * (double)sets >= SAMPLE_US || us <= 0)
        return 1;
    clock_drop(clock, out);
    out->launches = sets * (size_t)ceil(SAMPLE_US / (us * (double)sets));
    if (out->launches > MAX_LAUNCHES)
        out->launches = sets < MAX_LAUNCHES ? MAX_LAUNCHES / sets * sets : sets;
    if (capture(clock, out, err) && clock_sample(clock, out, err) >= 0)
        return 1;
    clock_drop(clock, out);
    return 0;
}

static int replay(bench_clock *clock, const samples *s, tj_error *err)
{
    return check(clock, clock->graph_launch(s->graph, clock->stream), "replaying a graph", err);
}

double clock_sample(bench_clock *clock, samples *s, tj_error *err)
{
    const bool has_lead_in = s->us * (double)s->launches < LEAD_IN_US;
    float milliseconds = 0;

    if ((has_lead_in && !replay(clock, s, err)) ||
        !check(clock, clock->event_record(clock->start, clock->stream), "recording an event", err) || !replay(clock, s, err) ||
        !check(clock, clock->event_record(clock->end, clock->stream), "recording an event", err) ||
        !check(clock, clock->event_wait(clock->end), "waiting for a sample", err) ||
        !check(clock, clock->event_elapsed(&milliseconds, clock->start, clock->end), "reading a sample", err))
        return -1;
    s->us = (double)milliseconds * 1e3 / (double)s->launches;
    return s->us;
}

double clock_cost(const samples *s)
{
    const double us = s->us * (double)s->launches;

    return us < LEAD_IN_US ? 2 * us : us;
}

void clock_drop(bench_clock *clock, samples *s)
{
    if (s->graph)
        (void)clock->graph_exec_destroy(s->graph);
    s->graph = NULL;
}
