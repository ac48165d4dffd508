/* SPDX-License-Identifier: Apache-2.0 */
#include "graph_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

typedef unsigned long long number;

typedef struct buffer {
    CUcontext context;
    number context_id, capture, stream; /* no two have the same */
    CUdeviceptr address;
    size_t bytes;
    bool is_tied;             /* to the graph */
    struct buffer *next;      /* under the lock */
    struct buffer *next_gone; /* of a graph that is gone, too */
} buffer;

static struct {
    pthread_mutex_t lock;
    buffer *all;            /* under it */
    _Atomic(buffer *) gone; /* without it: the driver may call put_gone in any state */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A destructor of the driver's. */
static void put_gone(void *payload)
{
    buffer *one = payload;

    one->next_gone = atomic_load_explicit(&self.gone, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&self.gone, &one->next_gone, one, memory_order_release, memory_order_relaxed))
        ;
}

/* A handle may come again after its context or stream was destroyed, an id does not: drivers of CUDA 12 have them. */
static number context_id(const tj_driver *driver, CUcontext context)
{
    number id;

    return driver->api.ctx_get_id && driver->api.ctx_get_id(context, &id) == CUDA_SUCCESS ? id : (number)(uintptr_t)context;
}

/* The default stream of each thread has the same handle, too. */
static number stream_id(const tj_driver *driver, CUstream stream)
{
    number id;

    return driver->api.stream_get_id && driver->api.stream_get_id(stream, &id) == CUDA_SUCCESS ? id : (number)(uintptr_t)stream;
}

static bool can_serve(const tj_driver_api *api)
{
    return api->stream_get_capture_info && api->user_object_create && api->user_object_release &&
           api->graph_retain_user_object && api->mem_get_info && api->mem_alloc && api->mem_free;
}

/* Under the lock: of the same stream of the same capture. */
static const buffer *find(const buffer *wanted)
{
    const buffer *one = self.all;

    while (one &&
           (!one->is_tied || one->capture != wanted->capture || one->stream != wanted->stream || one->bytes < wanted->bytes))
        one = one->next;
    return one;
}

/* Under the lock. */
static bool is_modest(const tj_driver *driver, const buffer *wanted)
{
    size_t free_bytes, total_bytes, held = 0;

    if (driver->api.mem_get_info(&free_bytes, &total_bytes) != CUDA_SUCCESS)
        return false;
    for (const buffer *one = self.all; one; one = one->next)
        held += one->context_id == wanted->context_id ? one->bytes : 0;
    return held + wanted->bytes <= (free_bytes + held) / 4;
}

/* Under the lock: allocate, and tie the memory to the graph. What fails late is freed as if the graph were gone. */
static const buffer *make(const tj_driver *driver, const buffer *wanted, CUgraph graph)
{
    buffer *made = malloc(sizeof *made);
    CUuserObject object;

    if (!made)
        return NULL;
    *made = *wanted;
    if (!is_modest(driver, wanted) || driver->api.mem_alloc(&made->address, made->bytes) != CUDA_SUCCESS) {
        free(made);
        return NULL;
    }
    made->next = self.all;
    self.all = made;
    if (driver->api.user_object_create(&object, made, put_gone, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) != CUDA_SUCCESS) {
        put_gone(made);
        return NULL;
    }
    made->is_tied = driver->api.graph_retain_user_object(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE) == CUDA_SUCCESS;
    if (!made->is_tied)
        (void)driver->api.user_object_release(object, 1);
    return made->is_tied ? made : NULL;
}

void *blas_graph_memory_get(const tj_driver *driver, CUstream stream, size_t bytes)
{
    buffer wanted = {.bytes = bytes};
    const buffer *found;
    CUgraph graph = NULL;
    int status = CU_STREAM_CAPTURE_STATUS_NONE, mode;
    uint64_t capture = 0;

    if (!can_serve(&driver->api) ||
        driver->api.stream_get_capture_info(stream, &status, &capture, &graph, NULL, NULL) != CUDA_SUCCESS ||
        status != CU_STREAM_CAPTURE_STATUS_ACTIVE || driver->api.ctx_get_current(&wanted.context) != CUDA_SUCCESS)
        return NULL;
    wanted.capture = capture;
    wanted.stream = stream_id(driver, stream);
    wanted.context_id = context_id(driver, wanted.context);
    if (tj_driver_ignore_captures(driver, &mode) != CUDA_SUCCESS)
        return NULL;
    pthread_mutex_lock(&self.lock);
    found = find(&wanted);
    if (!found)
        found = make(driver, &wanted, graph);
    pthread_mutex_unlock(&self.lock);
    (void)tj_driver_obey_captures(driver, mode);
    return found ? (void *)(uintptr_t)found->address : NULL;
}

/* A context that was destroyed has freed its memory. */
static void release(const tj_driver *driver, const buffer *one)
{
    CUcontext popped;
    int mode;

    if (driver->api.ctx_push(one->context) != CUDA_SUCCESS)
        return;
    if (context_id(driver, one->context) == one->context_id && tj_driver_ignore_captures(driver, &mode) == CUDA_SUCCESS) {
        (void)driver->api.mem_free(one->address);
        (void)tj_driver_obey_captures(driver, mode);
    }
    (void)driver->api.ctx_pop(&popped);
}

/* Under the lock. */
static void take_out(const buffer *one)
{
    buffer **at = &self.all;

    while (*at != one)
        at = &(*at)->next;
    *at = one->next;
}

void blas_graph_memory_free(const tj_driver *driver)
{
    buffer *one;

    if (!atomic_load_explicit(&self.gone, memory_order_relaxed))
        return;
    pthread_mutex_lock(&self.lock);
    one = atomic_exchange_explicit(&self.gone, NULL, memory_order_acquire);
    for (const buffer *each = one; each; each = each->next_gone)
        take_out(each);
    pthread_mutex_unlock(&self.lock);
    while (one) {
        buffer *const after = one->next_gone;

        release(driver, one);
        free(one);
        one = after;
    }
}
