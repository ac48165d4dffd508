/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Workspaces that live as long as a graph, from a driver of a few functions: how much is taken, for whom, and that all comes back.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <stdlib.h>

#include "graph_memory.h"

enum { TOTAL = 1000, MOST_OBJECTS = 4096 };

/* The driver, with a context, and a graph for each capture. */
static struct {
    pthread_mutex_t lock;
    size_t used, bytes[MOST_OBJECTS];
    int buffers, objects, freed;
    unsigned long long context_id;
    CUresult at_create, at_retain, at_record;
    int waits;
    struct {
        void (*destroy)(void *payload);
        void *payload;
        CUgraph graph;
    } object[MOST_OBJECTS];
} cuda = {.lock = PTHREAD_MUTEX_INITIALIZER, .context_id = 1};

static _Thread_local uintptr_t captured; /* by this thread; 0: nothing */
static _Thread_local int mode;           /* that of captures which the thread is in */

static CUresult push(CUcontext context)
{
    return context == (CUcontext)1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult get_context_id(CUcontext context, unsigned long long *id)
{
    cr_expect(context == NULL);
    *id = cuda.context_id;
    return CUDA_SUCCESS;
}

static CUresult get_capture(CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **node, size_t *nodes)
{
    cr_expect(stream && !node && !nodes);
    *status = captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    *id = captured;
    *graph = (CUgraph)captured;
    return CUDA_SUCCESS;
}

static CUresult exchange_mode(int *other)
{
    const int before = mode;

    mode = *other;
    *other = before;
    return CUDA_SUCCESS;
}

static CUresult get_info(size_t *free_bytes, size_t *total_bytes)
{
    pthread_mutex_lock(&cuda.lock);
    *free_bytes = TOTAL - cuda.used;
    *total_bytes = TOTAL;
    pthread_mutex_unlock(&cuda.lock);
    return CUDA_SUCCESS;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes)
{
    cr_expect(mode == CU_STREAM_CAPTURE_MODE_RELAXED, "a capture does not survive it otherwise");
    pthread_mutex_lock(&cuda.lock);
    cuda.bytes[cuda.buffers++] = bytes;
    cuda.used += bytes;
    *address = (CUdeviceptr)cuda.buffers;
    pthread_mutex_unlock(&cuda.lock);
    return CUDA_SUCCESS;
}

static CUresult release(CUdeviceptr address)
{
    cr_expect(mode == CU_STREAM_CAPTURE_MODE_RELAXED);
    pthread_mutex_lock(&cuda.lock);
    cuda.used -= cuda.bytes[address - 1];
    cuda.bytes[address - 1] = 0;
    cuda.freed++;
    pthread_mutex_unlock(&cuda.lock);
    return CUDA_SUCCESS;
}

static CUresult create_event(CUevent *event, unsigned flags)
{
    cr_expect(flags == CU_EVENT_DISABLE_TIMING);
    *event = (CUevent)1;
    return CUDA_SUCCESS;
}

static CUresult record(CUevent event, CUstream stream)
{
    cr_expect(event && stream);
    return cuda.at_record;
}

static CUresult wait_for(CUstream stream, CUevent event, unsigned flags)
{
    cr_expect(event && stream && flags == 0);
    pthread_mutex_lock(&cuda.lock);
    cuda.waits++;
    pthread_mutex_unlock(&cuda.lock);
    return CUDA_SUCCESS;
}

static CUresult destroy_event(CUevent event)
{
    cr_expect(event != NULL);
    return CUDA_SUCCESS;
}

static CUresult create(CUuserObject *object, void *payload, void (*destroy)(void *payload), unsigned references, unsigned flags)
{
    if (cuda.at_create != CUDA_SUCCESS)
        return cuda.at_create;
    cr_expect(references == 1 && flags == CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    pthread_mutex_lock(&cuda.lock);
    cuda.object[cuda.objects].destroy = destroy;
    cuda.object[cuda.objects++].payload = payload;
    *object = (CUuserObject)(uintptr_t)cuda.objects;
    pthread_mutex_unlock(&cuda.lock);
    return CUDA_SUCCESS;
}

static CUresult release_object(CUuserObject object, unsigned references)
{
    const size_t at = (size_t)(uintptr_t)object - 1;

    cr_expect(references == 1);
    cuda.object[at].destroy(cuda.object[at].payload);
    return CUDA_SUCCESS;
}

static CUresult retain(CUgraph graph, CUuserObject object, unsigned references, unsigned flags)
{
    cr_expect(references == 1 && flags == CU_GRAPH_USER_OBJECT_MOVE);
    pthread_mutex_lock(&cuda.lock);
    cuda.object[(uintptr_t)object - 1].graph = graph;
    pthread_mutex_unlock(&cuda.lock);
    return cuda.at_retain;
}

static CUresult pop(CUcontext *context)
{
    *context = (CUcontext)1;
    return CUDA_SUCCESS;
}

static const blas_home home = {.id = 1, .context = (CUcontext)1};

static tj_driver driver = {.api = {.ctx_push = push,
                                   .ctx_pop = pop,
                                   .ctx_get_id = get_context_id,
                                   .stream_get_capture_info = get_capture,
                                   .thread_exchange_capture_mode = exchange_mode,
                                   .mem_get_info = get_info,
                                   .mem_alloc = allocate,
                                   .mem_free = release,
                                   .stream_wait_event = wait_for,
                                   .event_create = create_event,
                                   .event_record = record,
                                   .event_destroy = destroy_event,
                                   .user_object_create = create,
                                   .user_object_release = release_object,
                                   .graph_retain_user_object = retain}};

/* The graph of a capture and its executables are gone. */
static void destroy_graph(uintptr_t capture)
{
    pthread_mutex_lock(&cuda.lock);
    for (int i = 0; i < cuda.objects; i++)
        if (cuda.object[i].graph == (CUgraph)capture) {
            cuda.object[i].graph = NULL;
            cuda.object[i].destroy(cuda.object[i].payload);
        }
    pthread_mutex_unlock(&cuda.lock);
}

static uintptr_t take(uintptr_t stream, size_t bytes)
{
    return (uintptr_t)blas_graph_memory_take(&driver, &home, (CUstream)stream, bytes);
}

static void give(uintptr_t stream, uintptr_t memory)
{
    blas_graph_memory_give(&driver, (CUstream)stream, (const void *)memory);
}

/* Take memory for a call and give it back. */
static uintptr_t get(uintptr_t stream, size_t bytes)
{
    const uintptr_t memory = take(stream, bytes);

    if (memory)
        give(stream, memory);
    return memory;
}

Test(graph_memory, each_stream_of_a_capture_has_a_buffer_that_is_large_enough)
{
    uintptr_t first, larger;

    cr_expect(get(7, 10) == 0, "nothing is captured");
    captured = 1;
    first = get(7, 20);
    cr_expect(first != 0 && get(7, 20) == first && get(7, 1) == first);
    cr_expect(get(8, 20) != first, "of another stream");
    larger = get(7, 21);
    cr_expect(larger != 0 && larger != first);
    cr_expect(get(7, 20) == first || get(7, 20) == larger);
    captured = 2;
    cr_expect(get(7, 20) != first && get(7, 20) != larger, "of another capture");
    cr_expect(cuda.buffers == 4 && cuda.objects == 4);
}

/* A stream's handle may stand for another one than before. */
Test(graph_memory, is_shared_only_by_calls_that_follow_each_other)
{
    uintptr_t first, second;

    captured = 1;
    first = take(7, 20);
    second = take(7, 20);
    cr_expect(first && second && second != first, "the first call is not launched yet");
    cr_expect(cuda.waits == 0);
    give(7, second);
    cr_expect(take(7, 20) == second && cuda.waits == 1);
    give(7, first);
    cr_expect(take(7, 20) == first && cuda.waits == 2);
    cuda.at_record = CUDA_ERROR_NOT_SUPPORTED;
    give(7, first);
    cr_expect(take(7, 20) != first, "nothing says when it was used");
}

Test(graph_memory, is_freed_when_a_call_comes_after_the_graph_is_gone)
{
    captured = 1;
    cr_assert(get(7, 20) && get(8, 30));
    captured = 2;
    cr_assert(get(7, 40) != 0);
    blas_graph_memory_free(&driver);
    cr_expect(cuda.used == 90);
    destroy_graph(1);
    cr_expect(cuda.used == 90, "a destructor calls nothing of CUDA");
    blas_graph_memory_free(&driver);
    cr_expect(cuda.used == 40 && cuda.freed == 2);
    destroy_graph(2);
    cuda.context_id = 2; /* it was destroyed, and another one has its handle */
    blas_graph_memory_free(&driver);
    cr_expect(cuda.freed == 2);
}

Test(graph_memory, is_a_quarter_of_what_would_be_free_at_most)
{
    captured = 1;
    cr_expect(get(7, TOTAL / 4 + 1) == 0);
    cr_expect(get(7, TOTAL / 4) != 0);
    cr_expect(get(8, 1) == 0, "together");
    destroy_graph(1);
    blas_graph_memory_free(&driver);
    captured = 2;
    cr_expect(get(8, 100) != 0);
    cuda.used += 700; /* the program's */
    cr_expect(get(9, 1) == 0);
}

Test(graph_memory, is_none_if_the_driver_refuses_or_is_old)
{
    captured = 1;
    cuda.at_create = CUDA_ERROR_NOT_SUPPORTED;
    cr_expect(get(7, 20) == 0);
    cuda.at_create = CUDA_SUCCESS;
    cuda.at_retain = CUDA_ERROR_NOT_SUPPORTED;
    cr_expect(get(7, 20) == 0);
    blas_graph_memory_free(&driver);
    cr_expect(cuda.used == 0 && cuda.freed == 2, "%zu", cuda.used);
    cuda.at_retain = CUDA_SUCCESS;
    driver.api.graph_retain_user_object = NULL;
    cr_expect(get(7, 20) == 0);
}

static void *capture_and_destroy(void *payload)
{
    for (uintptr_t i = 0; i < 200; i++) {
        captured = (uintptr_t)payload + i;
        cr_expect(get(7, 10) != 0 && get(7, 10) == get(7, 10));
        destroy_graph(captured);
        blas_graph_memory_free(&driver);
    }
    return NULL;
}

Test(graph_memory, threads_capture_at_the_same_time)
{
    pthread_t thread[4];

    for (uintptr_t i = 0; i < 4; i++)
        cr_assert(pthread_create(&thread[i], NULL, capture_and_destroy, (void *)(1000 * (i + 1))) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    blas_graph_memory_free(&driver);
    cr_expect(cuda.used == 0 && cuda.freed == 800, "%zu bytes, %d freed", cuda.used, cuda.freed);
}
