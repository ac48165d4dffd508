/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* The emulator as a driver: streams, events and captures. */
#include "driver_test.h"

#include <pthread.h>

static void count_call(void *data)
{
    ++*(int *)data;
}

Test(driver, measures_time_that_is_always_the_same)
{
    CUdeviceptr address;
    void *parameters[] = {&address};
    CUevent begin, end, plain;
    float first = 0, second = 0;
    int calls = 0, least, greatest;
    CUstream stream;
    CUfunction bump;

    start();
    bump = get(load(), "bump");
    address = zeroed(4);
    OK(cuStreamCreateWithPriority, &stream, 1, -2);
    OK(cuStreamGetPriority, stream, &least);
    cr_expect(least == -2);
    OK(cuCtxGetStreamPriorityRange, &least, &greatest);
    cr_expect(least == 0 && greatest < 0);
    OK(cuEventCreate, &begin, 0);
    OK(cuEventCreate, &end, 0);
    OK(cuEventCreate, &plain, CU_EVENT_DISABLE_TIMING);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime, &first, begin, end);
    OK(cuEventRecord, begin, stream);
    cr_expect(launch(bump, 1, 1, stream, parameters) == CUDA_SUCCESS);
    OK(cuEventRecord, end, stream);
    OK(cuEventQuery, end);
    OK(cuEventElapsedTime, &first, begin, end);
    OK(cuEventRecord, begin, stream);
    cr_expect(launch(bump, 1, 1, stream, parameters) == CUDA_SUCCESS);
    OK(cuLaunchHostFunc, stream, count_call, &calls);
    OK(cuEventRecord, end, stream);
    OK(cuEventElapsedTime_v2, &second, begin, end);
    cr_expect(first > 0 && first == second && calls == 1, "%g and %g", (double)first, (double)second);
    OK(cuEventRecord, plain, stream);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime, &first, begin, plain);
    OK(cuStreamWaitEvent, NULL, end, 0);
    OK(cuEventDestroy_v2, end);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventQuery, end);
}

Test(driver, records_work_and_replays_it)
{
    CUdeviceptr address;
    unsigned value = 7, host = 3;
    void *parameters[] = {&address, &value};
    size_t nodes = 0;
    CUgraph graph, clone;
    CUgraphExec executable;
    CUgraphNode node[8];
    CUstream stream, side;
    CUevent fork_event, join;
    CUmodule module;
    int status, calls = 0, type;

    start();
    module = load();
    address = zeroed(16);
    OK(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    OK(cuStreamCreate, &side, 0);
    OK(cuEventCreate, &fork_event, 0);
    OK(cuEventCreate, &join, 0);
    OK(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    OK(cuStreamIsCapturing, stream, &status);
    cr_expect(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuMemsetD32Async, address, 0, 4, stream);
    cr_expect(launch(get(module, "store"), 1, 2, stream, parameters) == CUDA_SUCCESS);
    value = 1000; /* was copied */
    OK(cuEventRecord, fork_event, stream);
    OK(cuStreamWaitEvent, side, fork_event, 0);
    OK(cuStreamIsCapturing, side, &status);
    cr_expect(status == CU_STREAM_CAPTURE_STATUS_ACTIVE, "the other stream joined");
    cr_expect(launch(get(module, "bump"), 1, 1, side, parameters) == CUDA_SUCCESS);
    OK(cuEventRecord, join, side);
    OK(cuStreamWaitEvent, stream, join, 0);
    OK(cuMemcpyHtoDAsync_v2, address + 8, &host, 4, stream);
    OK(cuLaunchHostFunc, stream, count_call, &calls);
    OK(cuStreamEndCapture, stream, &graph);
    cr_expect(read_word(address) == 0 && calls == 0, "nothing happened yet");
    OK(cuStreamIsCapturing, side, &status);
    cr_expect(status == CU_STREAM_CAPTURE_STATUS_NONE);

    OK(cuGraphGetNodes, graph, NULL, &nodes);
    cr_expect(nodes == 5);
    OK(cuGraphGetNodes, graph, node, &nodes);
    OK(cuGraphNodeGetType, node[3], &type);
    cr_expect(type == CU_GRAPH_NODE_TYPE_MEMCPY);
    OK(cuGraphGetRootNodes, graph, NULL, &nodes);
    cr_expect(nodes == 1);
    OK(cuGraphClone, &clone, graph);
    OK(cuGraphDestroy, graph);
    OK(cuGraphInstantiateWithFlags, &executable, clone, 0);
    OK(cuGraphDestroy, clone);
    for (int i = 1; i <= 3; i++) {
        host = 30u + (unsigned)i;
        OK(cuGraphLaunch, executable, stream);
        OK(cuStreamSynchronize, stream);
        cr_expect(read_word(address) == 8 && read_word(address + 4) == 8 && read_word(address + 8) == host && calls == i,
                  "replay %d: %u %u %u", i, read_word(address), read_word(address + 4), read_word(address + 8));
    }
    OK(cuGraphExecDestroy, executable);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch, executable, stream);
}

static void note_end(void *data)
{
    int device;

    ++*(int *)data;
    EXPECT(CUDA_ERROR_NOT_PERMITTED, cuCtxGetDevice, &device);
}

/* A thing of the program's own lives as long as the graphs and executables that refer to it. */
Test(driver, user_objects_live_as_long_as_graphs)
{
    CUgraphExec executable;
    CUgraph graph, clone;
    CUuserObject object, other;
    CUstream stream;
    int ends = 0, ends_of_other = 0;

    start();
    OK(cuStreamCreate, &stream, 0);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate, &object, &ends, note_end, 1, 0);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate, &object, &ends, note_end, 0, 1);
    OK(cuUserObjectCreate, &object, &ends, note_end, 1, 1);
    OK(cuUserObjectCreate, &other, &ends_of_other, note_end, 2, 1);
    OK(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuStreamGetCaptureInfo_v2, stream, &(int){0}, NULL, &graph, NULL, NULL);
    OK(cuGraphRetainUserObject, graph, object, 1, 1); /* moved to the graph, while it is captured */
    OK(cuGraphRetainUserObject, graph, other, 1, 0);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphRetainUserObject, graph, NULL, 1, 0);
    OK(cuStreamEndCapture, stream, &graph);
    OK(cuGraphClone, &clone, graph);
    OK(cuGraphInstantiateWithFlags, &executable, graph, 0);
    OK(cuGraphDestroy, graph);
    OK(cuGraphReleaseUserObject, clone, other, 1);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject, clone, other, 1);
    OK(cuGraphDestroy, clone);
    cr_expect(ends == 0, "the executable refers to it");
    OK(cuGraphLaunch, executable, stream);
    OK(cuGraphExecDestroy, executable);
    cr_expect(ends == 1 && ends_of_other == 0, "%d and %d", ends, ends_of_other);
    OK(cuUserObjectRetain, other, 1);
    OK(cuUserObjectRelease, other, 3);
    cr_expect(ends_of_other == 1);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuUserObjectRelease, other, 1);

    OK(cuUserObjectCreate, &object, &ends, note_end, 1, 1);
    OK(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuStreamGetCaptureInfo_v2, stream, &(int){0}, NULL, &graph, NULL, NULL);
    OK(cuGraphRetainUserObject, graph, object, 1, 1);
    OK(cuStreamDestroy_v2, stream);
    cr_expect(ends == 2, "a capture that is given up");
}

/* A graph's memory: where the capture said, for each launch, until the graph is gone. */
Test(driver, allocates_in_a_capture)
{
    uint8_t seen[64] = {0};
    CUgraphNode node[4];
    size_t nodes = 4;
    CUgraphExec executable;
    CUgraph graph, clone;
    CUdeviceptr inside, outside;
    CUstream stream;
    int type;

    start();
    OK(cuStreamCreate, &stream, 0);
    OK(cuMemAlloc_v2, &outside, 64);
    OK(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuMemAllocAsync, &inside, 64, stream);
    OK(cuMemsetD8Async, inside, 7, 64, stream);
    OK(cuMemcpyDtoDAsync_v2, outside, inside, 64, stream);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync, outside, stream); /* not the graph's */
    OK(cuMemFreeAsync, inside, stream);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync, inside, stream);
    OK(cuStreamEndCapture, stream, &graph);
    OK(cuGraphGetNodes, graph, node, &nodes);
    cr_assert(nodes == 4);
    OK(cuGraphNodeGetType, node[0], &type);
    cr_expect(type == CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    OK(cuGraphNodeGetType, node[3], &type);
    cr_expect(type == CU_GRAPH_NODE_TYPE_MEM_FREE);
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphClone, &clone, graph);
    OK(cuGraphInstantiateWithFlags, &executable, graph, 0);
    OK(cuGraphDestroy, graph);
    for (int i = 0; i < 2; i++) {
        OK(cuMemsetD8_v2, outside, 0, 64);
        OK(cuGraphLaunch, executable, stream);
        OK(cuMemcpyDtoH_v2, seen, outside, 64);
        cr_expect(seen[0] == 7 && seen[63] == 7, "launch %d", i);
    }
    OK(cuGraphExecDestroy, executable);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync, inside, stream); /* gone with its graph */
    OK(cuMemFree_v2, outside);
    OK(cuStreamDestroy_v2, stream);
}

/* Begin a capture in a new stream, do one forbidden thing, and end it. */
static void break_capture(const char *what, unsigned flags, CUresult wanted, CUresult at_end, CUresult (*forbidden)(CUstream))
{
    CUgraph graph = NULL;
    CUstream stream;
    CUresult result;

    OK(cuStreamCreate, &stream, flags);
    OK(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    result = forbidden(stream);
    cr_expect(result == wanted, "%s: %d, not %d", what, (int)result, (int)wanted);
    result = CALL(cuStreamEndCapture, stream, &graph);
    cr_expect(result == at_end, "%s: the end: %d, not %d", what, (int)result, (int)at_end);
    cr_expect((graph != NULL) == (at_end == CUDA_SUCCESS), "%s", what);
    OK(cuStreamDestroy_v2, stream);
}

static CUresult do_allocate(CUstream stream)
{
    CUdeviceptr address;

    (void)stream;
    return CALL(cuMemAlloc_v2, &address, 16);
}

static CUresult do_allocate_relaxed(CUstream stream)
{
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult result;

    OK(cuThreadExchangeStreamCaptureMode, &mode);
    result = do_allocate(stream);
    OK(cuThreadExchangeStreamCaptureMode, &mode);
    return result;
}

static CUresult do_synchronize(CUstream stream)
{
    return CALL(cuStreamSynchronize, stream);
}

static CUresult do_legacy_memset(CUstream stream)
{
    (void)stream;
    return CALL(cuStreamSynchronize, NULL);
}

static CUresult do_ask_legacy(CUstream stream)
{
    int status;

    (void)stream;
    return CALL(cuStreamIsCapturing, NULL, &status);
}

static CUresult do_ask_green(CUstream stream)
{
    void *green;

    return CALL(cuStreamGetGreenCtx, stream, &green);
}

static CUresult do_ask_green_of_legacy(CUstream stream)
{
    (void)stream;
    return do_ask_green(NULL);
}

static CUresult do_ask_id(CUstream stream)
{
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    unsigned long long id;
    CUresult result;

    OK(cuThreadExchangeStreamCaptureMode, &mode);
    result = CALL(cuStreamGetId, stream, &id);
    OK(cuThreadExchangeStreamCaptureMode, &mode);
    return result;
}

static CUresult do_context(CUstream stream)
{
    (void)stream;
    return CALL(cuCtxSynchronize);
}

static CUresult do_outside_event(CUstream stream)
{
    CUstream other;
    CUevent event;

    OK(cuStreamCreate, &other, 1);
    OK(cuEventCreate, &event, 0);
    OK(cuEventRecord, event, other);
    return CALL(cuStreamWaitEvent, stream, event, 0);
}

static CUresult do_query_captured(CUstream stream)
{
    CUevent event;

    OK(cuEventCreate, &event, 0);
    OK(cuEventRecord, event, stream);
    return CALL(cuEventQuery, event);
}

static CUresult do_fork_only(CUstream stream)
{
    static int calls;
    CUstream other;
    CUevent event;

    OK(cuStreamCreate, &other, 1);
    OK(cuEventCreate, &event, 0);
    OK(cuEventRecord, event, stream);
    OK(cuStreamWaitEvent, other, event, 0);
    return CALL(cuLaunchHostFunc, other, count_call, &calls);
}

static CUresult do_end_elsewhere(CUstream stream)
{
    CUgraph graph;
    CUstream other;
    CUevent event;

    OK(cuStreamCreate, &other, 1);
    OK(cuEventCreate, &event, 0);
    OK(cuEventRecord, event, stream);
    OK(cuStreamWaitEvent, other, event, 0);
    return CALL(cuStreamEndCapture, other, &graph);
}

static CUresult do_merge(CUstream stream)
{
    CUstream other;
    CUevent event;
    CUgraph graph;
    CUresult result;

    OK(cuStreamCreate, &other, 1);
    OK(cuEventCreate, &event, 0);
    OK(cuStreamBeginCapture_v2, other, 0);
    OK(cuEventRecord, event, other);
    result = CALL(cuStreamWaitEvent, stream, event, 0);
    EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, other, &graph);
    return result;
}

static void *end_it(void *stream)
{
    CUgraph graph;

    return (void *)(uintptr_t)CALL(cuStreamEndCapture, stream, &graph);
}

static CUcontext shared_context;

static void *allocate_elsewhere(void *stream)
{
    OK(cuCtxPushCurrent_v2, shared_context);
    return (void *)(uintptr_t)do_allocate(stream);
}

static CUresult do_end_in_thread(CUstream stream)
{
    pthread_t thread;
    void *answer;

    pthread_create(&thread, NULL, end_it, stream);
    pthread_join(thread, &answer);
    return (CUresult)(uintptr_t)answer == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : (CUresult)(uintptr_t)answer;
}

static CUresult do_allocate_in_thread(CUstream stream)
{
    pthread_t thread;
    void *answer;

    pthread_create(&thread, NULL, allocate_elsewhere, stream);
    pthread_join(thread, &answer);
    return (CUresult)(uintptr_t)answer;
}

Test(driver, forbids_in_a_capture_what_a_driver_forbids)
{
    CUgraph graph;
    CUstream stream;

    shared_context = start();
    break_capture("allocating in the relaxed mode", 0, 0, 0, do_allocate_relaxed);
    break_capture("allocating", 0, 900, 901, do_allocate);
    break_capture("allocating in another thread", 1, 900, 901, do_allocate_in_thread);
    break_capture("synchronizing", 0, 900, 901, do_synchronize);
    break_capture("the legacy stream", 0, 906, 901, do_legacy_memset);
    break_capture("the legacy stream next to one that is apart", 1, 0, 0, do_legacy_memset);
    break_capture("asking about the legacy stream", 0, 906, 0, do_ask_legacy);
    break_capture("asking for the id in the relaxed mode", 1, 900, 901, do_ask_id);
    break_capture("asking for the green context", 0, 0, 0, do_ask_green);
    break_capture("asking the legacy stream for it", 0, 906, 901, do_ask_green_of_legacy);
    break_capture("asking the legacy stream for it next to one that is apart", 1, 0, 0, do_ask_green_of_legacy);
    break_capture("synchronizing the context", 1, 900, 901, do_context);
    break_capture("an event from outside", 1, 905, 901, do_outside_event);
    break_capture("asking a captured event", 1, 907, 901, do_query_captured);
    break_capture("work that does not come back", 1, 0, 904, do_fork_only);
    break_capture("ending in another stream", 1, 903, 901, do_end_elsewhere);
    break_capture("two captures", 1, 902, 901, do_merge);
    break_capture("ending in a thread without a context", 1, 0, 0, do_end_in_thread);
    EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2, NULL, 0);
    OK(cuStreamCreate, &stream, 0);
    EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture, stream, &graph);
    OK(cuStreamBeginCapture_v2, stream, 0);
    EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture_v2, stream, 0);
    OK(cuStreamDestroy_v2, stream);
    EXPECT(CUDA_SUCCESS, cuMemAlloc_v2, &(CUdeviceptr){0}, 16);
}
