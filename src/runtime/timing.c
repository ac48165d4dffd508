/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing: measure launches by the device's clock.
 *
 * One launch stands between two events. Several of them, for kernels so short that the events, or the host that queues them,
 * would be felt, are a CUDA graph that is replayed between two events: what the host does for a launch is done before, once.
 */
#include "timing.h"

#include <stdlib.h>

#include "error.h"
#include "visit.h"

enum { MAX_REPEAT = 100000, MAX_PER_EVENT = 10000 };

/* The subject of a measurement: launches over sets of operands in rotation. */
typedef struct timed {
    const tj_driver *driver;
    tj_launch_fn *launch;
    const void *what;
    size_t sets, next; /* next: which set the next launch takes */
    CUstream stream;
    int warmup, repeat, per_event;
    CUgraphExec graph; /* of per_event launches; NULL: they are queued one by one */
} timed;

static tj_status launch_some(timed *t, int launches, tj_error *err)
{
    tj_status status = TJ_OK;

    for (int i = 0; i < launches && status == TJ_OK; i++) {
        status = t->launch(t->what, t->next, t->stream, err);
        t->next = t->next + 1 < t->sets ? t->next + 1 : 0;
    }
    return status;
}

/* A replay takes the same sets each time, so it has to go through all of them. The legacy default stream cannot be captured. */
static bool can_replay(const timed *t)
{
    const tj_driver_api *api = &t->driver->api;

    return t->per_event > 1 && (size_t)t->per_event % t->sets == 0 && t->stream && api->stream_begin_capture &&
           api->stream_end_capture && api->graph_instantiate && api->graph_launch && api->graph_exec_destroy &&
           api->graph_destroy;
}

/*
 * Leaves t->graph NULL, too, where a launch has to make another kernel first (pointers that the chosen one cannot take): not in
 * a capture.
 */
static tj_status capture(timed *t, tj_error *err)
{
    const tj_driver_api *api = &t->driver->api;
    const size_t first = t->next;
    CUgraph graph = NULL;
    CUresult result = api->stream_begin_capture(t->stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    tj_status status;

    if (result != CUDA_SUCCESS)
        return tj_driver_fail(t->driver, result, err, "cannot capture the stream that is timed");
    status = launch_some(t, t->per_event, err);
    /* A capture has to be ended, whatever happened in it. */
    result = api->stream_end_capture(t->stream, &graph);
    if (status == TJ_OK && result == CUDA_SUCCESS)
        result = api->graph_instantiate(&t->graph, graph, 0);
    if (graph)
        (void)api->graph_destroy(graph);
    if (status == TJ_ERR_CAPTURE) {
        t->next = first;
        return TJ_OK;
    }
    if (status == TJ_OK && result != CUDA_SUCCESS) {
        t->graph = NULL;
        status = tj_driver_fail(t->driver, result, err, "cannot make a graph of %d launches", t->per_event);
    }
    return status;
}

static tj_status queue_sample(timed *t, tj_error *err)
{
    CUresult result;

    if (!t->graph)
        return launch_some(t, t->per_event, err);
    result = t->driver->api.graph_launch(t->graph, t->stream);
    return result == CUDA_SUCCESS ? TJ_OK : tj_driver_fail(t->driver, result, err, "cannot replay %d launches", t->per_event);
}

/* Queue everything, then wait once: the device never waits for the host between two samples. */
static tj_status queue_and_measure(timed *t, CUevent *event, double *microseconds, tj_error *err)
{
    const tj_driver_api *api = &t->driver->api;
    CUresult result = CUDA_SUCCESS;
    tj_status status;
    float milliseconds = 0;

    for (int i = 0; i < 2 * t->repeat && result == CUDA_SUCCESS; i++)
        result = api->event_create(&event[i], 0);
    if (result != CUDA_SUCCESS)
        return tj_driver_fail(t->driver, result, err, "cannot make the events that time %d launches", t->repeat);
    status = launch_some(t, t->warmup, err);
    if (status == TJ_OK && can_replay(t))
        status = capture(t, err);
    if (status == TJ_OK && t->graph) /* the first replay brings the graph to the device */
        status = queue_sample(t, err);
    for (int i = 0; i < t->repeat && status == TJ_OK && result == CUDA_SUCCESS; i++) {
        result = api->event_record(event[2 * i], t->stream);
        if (result == CUDA_SUCCESS)
            status = queue_sample(t, err);
        if (result == CUDA_SUCCESS && status == TJ_OK)
            result = api->event_record(event[2 * i + 1], t->stream);
    }
    if (status != TJ_OK)
        return status;
    if (result == CUDA_SUCCESS)
        result = api->event_synchronize(event[2 * t->repeat - 1]);
    for (int i = 0; i < t->repeat && result == CUDA_SUCCESS; i++) {
        result = api->event_elapsed(&milliseconds, event[2 * i], event[2 * i + 1]);
        microseconds[i] = 1000.0 * (double)milliseconds / t->per_event;
    }
    if (result != CUDA_SUCCESS)
        return tj_driver_fail(t->driver, result, err, "cannot time %d launches", t->repeat);
    return TJ_OK;
}

static void drop(timed *t, CUevent *event)
{
    for (int i = 0; i < 2 * t->repeat; i++)
        if (event[i])
            (void)t->driver->api.event_destroy(event[i]);
    free(event);
    if (t->graph)
        (void)t->driver->api.graph_exec_destroy(t->graph);
}

tj_status tj_gpu_time(tj_gpu *gpu, tj_launch_fn *launch, const void *what, CUstream stream, const tj_timing *timing,
                      double *microseconds, tj_error *err)
{
    timed t = {.launch = launch,
               .what = what,
               .sets = timing->sets ? timing->sets : 1,
               .stream = stream,
               .warmup = timing->warmup,
               .repeat = timing->repeat ? timing->repeat : 1,
               .per_event = timing->per_event ? timing->per_event : 1};
    CUevent *event = NULL;
    tj_visit v;
    tj_status status;

    if (timing->reserved != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "timing.reserved is %d, not 0: start from TJ_TIMING_INIT",
                       timing->reserved);
    if (t.warmup < 0 || t.repeat < 1 || t.repeat > MAX_REPEAT)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "cannot time %d launches after %d: repeat is 1 to %d, warmup 0 or more",
                       t.repeat, t.warmup, MAX_REPEAT);
    if (t.per_event < 1 || t.per_event > MAX_PER_EVENT)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "cannot time %d launches between two events: per_event is 1 to %d",
                       t.per_event, MAX_PER_EVENT);
    status = tj_visit_enter(gpu, &v, err);
    if (status != TJ_OK)
        return status;
    t.driver = v.scope.driver;
    event = calloc(2 * (size_t)t.repeat, sizeof(CUevent));
    if (event) {
        status = queue_and_measure(&t, event, microseconds, err);
        /* The operands are the caller's: nothing may still be running with them after a failure. */
        if (status != TJ_OK && tj_driver_check_alive(t.driver, NULL) == TJ_OK)
            (void)t.driver->api.stream_synchronize(stream);
        drop(&t, event);
    } else {
        status = tj_fail_memory(err, "the events of a timing");
    }
    tj_visit_leave(&v);
    return status;
}
