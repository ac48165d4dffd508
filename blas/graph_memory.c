/* SPDX-License-Identifier: Apache-2.0 */
#include "graph_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct buffer {
    const blas_home *home;
    uint64_t capture; /* no two have the same */
    CUstream stream;
    CUevent used; /* by the last call that took it */
    CUdeviceptr address;
    size_t bytes;
    bool is_free;             /* to be taken */
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

static bool can_serve(const tj_driver_api *api)
{
    return api->stream_get_capture_info && api->user_object_create && api->user_object_release &&
           api->graph_retain_user_object && api->mem_get_info && api->mem_alloc && api->mem_free && api->event_create &&
           api->event_record && api->stream_wait_event && api->event_destroy;
}

/* Under the lock: of the same stream of the same capture. */
static buffer *find(const buffer *wanted)
{
    buffer *one = self.all;

    while (one &&
           (!one->is_free || one->capture != wanted->capture || one->stream != wanted->stream || one->bytes < wanted->bytes))
        one = one->next;
    return one;
}

/*
 * Under the lock. The handle of a stream may stand for another one than before, after the stream was destroyed or in another
 * thread; a captured stream cannot be asked for its id. So the last call that took the buffer is waited for.
 */
static buffer *take_again(const tj_driver *driver, buffer *found)
{
    return driver->api.stream_wait_event(found->stream, found->used, 0) == CUDA_SUCCESS ? found : NULL;
}

/* Under the lock. */
static bool is_modest(const tj_driver *driver, const buffer *wanted)
{
    size_t free_bytes, total_bytes, held = 0;

    if (driver->api.mem_get_info(&free_bytes, &total_bytes) != CUDA_SUCCESS)
        return false;
    for (const buffer *one = self.all; one; one = one->next)
        held += one->home == wanted->home ? one->bytes : 0;
    return held + wanted->bytes <= (free_bytes + held) / 4;
}

/* Under the lock: allocate, and tie the memory to the graph. If the second fails, the memory is freed as if the graph were gone. */
static buffer *make(const tj_driver *driver, const buffer *wanted, CUgraph graph)
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
    if (driver->api.event_create(&made->used, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS ||
        driver->api.user_object_create(&object, made, put_gone, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) != CUDA_SUCCESS) {
        put_gone(made);
        return NULL;
    }
    if (driver->api.graph_retain_user_object(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE) == CUDA_SUCCESS)
        return made;
    (void)driver->api.user_object_release(object, 1);
    return NULL;
}

void *blas_graph_memory_take(const tj_driver *driver, const blas_home *home, CUstream stream, size_t bytes)
{
    buffer wanted = {.home = home, .stream = stream, .bytes = bytes};
    buffer *one;
    CUgraph graph = NULL;
    int status = CU_STREAM_CAPTURE_STATUS_NONE, mode;

    if (!can_serve(&driver->api) ||
        driver->api.stream_get_capture_info(stream, &status, &wanted.capture, &graph, NULL, NULL) != CUDA_SUCCESS ||
        status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return NULL;
    if (tj_driver_ignore_captures(driver, &mode) != CUDA_SUCCESS)
        return NULL;
    pthread_mutex_lock(&self.lock);
    one = find(&wanted);
    one = one ? take_again(driver, one) : make(driver, &wanted, graph);
    if (one)
        one->is_free = false;
    pthread_mutex_unlock(&self.lock);
    (void)tj_driver_obey_captures(driver, mode);
    return one ? (void *)(uintptr_t)one->address : NULL;
}

/* Memory after which no call can be ordered is not taken again. */
void blas_graph_memory_give(const tj_driver *driver, CUstream stream, const void *memory)
{
    buffer *one;

    pthread_mutex_lock(&self.lock);
    for (one = self.all; one && (one->is_free || one->address != (CUdeviceptr)(uintptr_t)memory); one = one->next)
        ;
    if (one)
        one->is_free = driver->api.event_record(one->used, stream) == CUDA_SUCCESS;
    pthread_mutex_unlock(&self.lock);
}

/* A context that was destroyed has freed its memory. */
static void release(const tj_driver *driver, const buffer *one)
{
    int mode;

    if (!blas_home_enter(driver, one->home))
        return;
    if (tj_driver_ignore_captures(driver, &mode) == CUDA_SUCCESS) {
        (void)driver->api.mem_free(one->address);
        if (one->used)
            (void)driver->api.event_destroy(one->used);
        (void)tj_driver_obey_captures(driver, mode);
    }
    blas_home_leave(driver);
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
