/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver: libcuda, opened at run time, as a table of functions.
 *
 * One list generates the table and the look-ups. The emulator, and the fake driver of the tests, are libraries that export the
 * same names: code above this file cannot tell them apart. Opened once per path and process and never closed.
 *
 * Does not know what a kernel is.
 */
#ifndef TJ_SRC_DRIVER_H
#define TJ_SRC_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>

#include <tilejit/device.h>

#include "cuda_abi.h"
#include "emulator.h"

struct tj_log; /* log.h */

/*
 * X(member, name, exported symbol, version, needed, arguments): version is the CUDA version (1000 * major + 10 * minor) whose
 * binary interface the arguments are; cuGetProcAddress answers for that one and no other. A driver without a needed function is
 * refused; the others are NULL if it lacks them.
 */
/* clang-format off */
#define TJ_DRIVER_FUNCTIONS(X)                                                                                         \
    X(init, cuInit, cuInit, 2000, true, (unsigned int flags))                                                          \
    X(driver_get_version, cuDriverGetVersion, cuDriverGetVersion, 2020, true, (int *version))                          \
    X(get_error_name, cuGetErrorName, cuGetErrorName, 6000, true, (CUresult result, const char **name))                \
    X(get_error_string, cuGetErrorString, cuGetErrorString, 6000, true, (CUresult result, const char **text))          \
    X(device_get_count, cuDeviceGetCount, cuDeviceGetCount, 2000, true, (int *count))                                  \
    X(device_get, cuDeviceGet, cuDeviceGet, 2000, true, (CUdevice *device, int ordinal))                               \
    X(device_get_name, cuDeviceGetName, cuDeviceGetName, 2000, true, (char *name, int bytes, CUdevice device))         \
    X(device_get_uuid, cuDeviceGetUuid, cuDeviceGetUuid_v2, 11040, false, (CUuuid *uuid, CUdevice device))             \
    X(device_total_mem, cuDeviceTotalMem, cuDeviceTotalMem_v2, 3020, true, (size_t *bytes, CUdevice device))           \
    X(device_get_attribute, cuDeviceGetAttribute, cuDeviceGetAttribute, 2000, true,                                    \
      (int *value, int attribute, CUdevice device))                                                                    \
    X(device_can_access_peer, cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, 4000, true,                                \
      (int *can, CUdevice device, CUdevice peer))                                                                      \
    X(primary_retain, cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, true,                                  \
      (CUcontext *context, CUdevice device))                                                                           \
    X(primary_release, cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000, true, (CUdevice device))        \
    X(ctx_get_current, cuCtxGetCurrent, cuCtxGetCurrent, 4000, true, (CUcontext *context))                             \
    X(ctx_push, cuCtxPushCurrent, cuCtxPushCurrent_v2, 4000, true, (CUcontext context))                                \
    X(ctx_pop, cuCtxPopCurrent, cuCtxPopCurrent_v2, 4000, true, (CUcontext *context))                                  \
    X(ctx_get_device, cuCtxGetDevice, cuCtxGetDevice, 2000, true, (CUdevice *device))                                  \
    X(ctx_get_id, cuCtxGetId, cuCtxGetId, 12000, false, (CUcontext context, unsigned long long *id))                   \
    X(module_load, cuModuleLoadDataEx, cuModuleLoadDataEx, 2010, true,                                                 \
      (CUmodule *module, const void *image, unsigned int option_count, int *option, void **option_value))              \
    X(module_unload, cuModuleUnload, cuModuleUnload, 2000, true, (CUmodule module))                                    \
    X(module_get_function, cuModuleGetFunction, cuModuleGetFunction, 2000, true,                                       \
      (CUfunction *function, CUmodule module, const char *name))                                                       \
    X(module_get_global, cuModuleGetGlobal, cuModuleGetGlobal_v2, 3020, false,                                         \
      (CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name))                                        \
    X(library_load, cuLibraryLoadData, cuLibraryLoadData, 12000, false,                                                \
      (CUlibrary *library, const void *code, int *jit_option, void **jit_value, unsigned int jit_count,                \
       int *option, void **value, unsigned int count))                                                                 \
    X(library_unload, cuLibraryUnload, cuLibraryUnload, 12000, false, (CUlibrary library))                             \
    X(library_get_kernel, cuLibraryGetKernel, cuLibraryGetKernel, 12000, false,                                        \
      (CUkernel *kernel, CUlibrary library, const char *name))                                                         \
    X(library_get_global, cuLibraryGetGlobal, cuLibraryGetGlobal, 12000, false,                                        \
      (CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name))                                      \
    X(kernel_get_function, cuKernelGetFunction, cuKernelGetFunction, 12000, false,                                     \
      (CUfunction *function, CUkernel kernel))                                                                         \
    X(func_get_param_info, cuFuncGetParamInfo, cuFuncGetParamInfo, 12040, false,                                       \
      (CUfunction function, size_t index, size_t *offset, size_t *bytes))                                              \
    X(func_load, cuFuncLoad, cuFuncLoad, 12040, false, (CUfunction function))                                          \
    X(func_get_attribute, cuFuncGetAttribute, cuFuncGetAttribute, 2020, true,                                          \
      (int *value, int attribute, CUfunction function))                                                                \
    X(func_set_attribute, cuFuncSetAttribute, cuFuncSetAttribute, 9000, true,                                          \
      (CUfunction function, int attribute, int value))                                                                 \
    X(launch_kernel, cuLaunchKernel, cuLaunchKernel, 4000, true,                                                       \
      (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,       \
       unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream, void **parameters,      \
       void **extra))                                                                                                  \
    X(launch_kernel_ex, cuLaunchKernelEx, cuLaunchKernelEx, 11060, false,                                              \
      (const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra))                            \
    X(max_active_clusters, cuOccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters, 11070, false,                   \
      (int *clusters, CUfunction function, const CUlaunchConfig *config))                                              \
    X(tensor_map_encode, cuTensorMapEncodeTiled, cuTensorMapEncodeTiled, 12000, false,                                 \
      (CUtensorMap *map, int type, unsigned int rank, void *address, const uint64_t *extent, const uint64_t *stride,   \
       const unsigned int *box, const unsigned int *step, int interleave, int swizzle, int promotion, int fill))       \
    X(pointer_get_attributes, cuPointerGetAttributes, cuPointerGetAttributes, 7000, true,                              \
      (unsigned int count, int *attribute, void **value, CUdeviceptr pointer))                                         \
    X(stream_is_capturing, cuStreamIsCapturing, cuStreamIsCapturing, 10000, false, (CUstream stream, int *status))     \
    X(stream_get_ctx, cuStreamGetCtx, cuStreamGetCtx, 9020, false, (CUstream stream, CUcontext *context))               \
    X(stream_get_capture_info, cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2, 11030, false,                        \
      (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **node, size_t *nodes))           \
    X(stream_get_green, cuStreamGetGreenCtx, cuStreamGetGreenCtx, 12040, false, (CUstream stream, CUgreenCtx *context)) \
    X(green_get_resource, cuGreenCtxGetDevResource, cuGreenCtxGetDevResource, 12040, false,                            \
      (CUgreenCtx context, CUdevResource *resource, int type))                                                         \
    X(stream_begin_capture, cuStreamBeginCapture, cuStreamBeginCapture_v2, 10010, false, (CUstream stream, int mode))  \
    X(stream_end_capture, cuStreamEndCapture, cuStreamEndCapture, 10000, false, (CUstream stream, CUgraph *graph))     \
    X(graph_instantiate, cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, false,                       \
      (CUgraphExec *executable, CUgraph graph, unsigned long long flags))                                              \
    X(graph_launch, cuGraphLaunch, cuGraphLaunch, 10000, false, (CUgraphExec executable, CUstream stream))             \
    X(graph_exec_destroy, cuGraphExecDestroy, cuGraphExecDestroy, 10000, false, (CUgraphExec executable))              \
    X(graph_destroy, cuGraphDestroy, cuGraphDestroy, 10000, false, (CUgraph graph))                                    \
    X(user_object_create, cuUserObjectCreate, cuUserObjectCreate, 11030, false,                                        \
      (CUuserObject *object, void *payload, void (*destroy)(void *payload), unsigned int references,                   \
       unsigned int flags))                                                                                            \
    X(user_object_release, cuUserObjectRelease, cuUserObjectRelease, 11030, false,                                     \
      (CUuserObject object, unsigned int references))                                                                  \
    X(graph_retain_user_object, cuGraphRetainUserObject, cuGraphRetainUserObject, 11030, false,                        \
      (CUgraph graph, CUuserObject object, unsigned int references, unsigned int flags))                               \
    X(thread_exchange_capture_mode, cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, 10010,       \
      false, (int *mode))                                                                                              \
    X(mem_alloc, cuMemAlloc, cuMemAlloc_v2, 3020, false, (CUdeviceptr *pointer, size_t bytes))                         \
    X(mem_free, cuMemFree, cuMemFree_v2, 3020, false, (CUdeviceptr pointer))                                           \
    X(mem_alloc_async, cuMemAllocAsync, cuMemAllocAsync, 11020, false,                                                 \
      (CUdeviceptr *pointer, size_t bytes, CUstream stream))                                                           \
    X(mem_free_async, cuMemFreeAsync, cuMemFreeAsync, 11020, false, (CUdeviceptr pointer, CUstream stream))            \
    X(mem_get_info, cuMemGetInfo, cuMemGetInfo_v2, 3020, false, (size_t *free_bytes, size_t *total_bytes))             \
    X(memcpy_to_device, cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020, false,                                          \
      (CUdeviceptr destination, const void *source, size_t bytes, CUstream stream))                                    \
    X(memcpy_to_host, cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020, false,                                            \
      (void *destination, CUdeviceptr source, size_t bytes, CUstream stream))                                          \
    X(memcpy_on_device, cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, 3020, false,                                          \
      (CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream))                                    \
    X(memset_bytes, cuMemsetD8Async, cuMemsetD8Async, 3020, false,                                                     \
      (CUdeviceptr destination, unsigned char byte, size_t bytes, CUstream stream))                                    \
    X(stream_create, cuStreamCreate, cuStreamCreate, 2000, false, (CUstream *stream, unsigned int flags))              \
    X(stream_destroy, cuStreamDestroy, cuStreamDestroy_v2, 4000, false, (CUstream stream))                             \
    X(stream_synchronize, cuStreamSynchronize, cuStreamSynchronize, 2000, false, (CUstream stream))                    \
    X(stream_wait_event, cuStreamWaitEvent, cuStreamWaitEvent, 3020, false,                                            \
      (CUstream stream, CUevent event, unsigned int flags))                                                            \
    X(event_create, cuEventCreate, cuEventCreate, 2000, false, (CUevent *event, unsigned int flags))                   \
    X(event_record, cuEventRecord, cuEventRecord, 2000, false, (CUevent event, CUstream stream))                       \
    X(event_synchronize, cuEventSynchronize, cuEventSynchronize, 2000, false, (CUevent event))                         \
    X(event_elapsed, cuEventElapsedTime, cuEventElapsedTime, 2000, false,                                              \
      (float *milliseconds, CUevent start, CUevent stop))                                                              \
    X(event_destroy, cuEventDestroy, cuEventDestroy_v2, 4000, false, (CUevent event))
/* clang-format on */

typedef struct tj_driver_api {
#define TJ_DRIVER_MEMBER(member, name, symbol, version, needed, arguments) CUresult(*member) arguments;
    TJ_DRIVER_FUNCTIONS(TJ_DRIVER_MEMBER)
#undef TJ_DRIVER_MEMBER
} tj_driver_api;

enum { TJ_DRIVER_ALIVE = 0, TJ_DRIVER_LOST, TJ_DRIVER_FORKED };

/** An opened driver: driver->api.launch_kernel(...) and so on. Lives as long as the process. */
typedef struct tj_driver {
    tj_driver_api api;
    int version; /* CUDA version that it supports: 13000 */
    bool is_emulator;
    tj_emulator emulator;          /* if it is one */
    char *path;                    /* of the library, as the loader found it */
    atomic_int *life;              /* TJ_DRIVER_ALIVE, ... */
    struct tj_driver_story *story; /* driver.c: the first error if it was lost */
} tj_driver;

/**
 * Open a driver and call cuInit. path NULL: libcuda.so.1 from the loader's path. reads_environment: TILEJIT_EMULATOR may locate the
 * emulator. Once opened for a path, the same table is
 * returned for ever; a failure is not remembered. path, log and err may be NULL. Threads: any. Errors: TJ_ERR_NO_DRIVER, with
 * the places tried, and the remedy; TJ_ERR_FORKED: opened by a parent of this process.
 */
tj_status tj_driver_open(const char *path, bool reads_environment, const struct tj_log *log, const tj_driver **driver,
                         tj_error *err);

/** Return "CUDA_ERROR_ILLEGAL_ADDRESS", from our own table first: a failing driver need not be asked. driver may be NULL. */
const char *tj_driver_result_name(const tj_driver *driver, CUresult result);

/**
 * Report a failed call: "<format>: CUDA_ERROR_ILLEGAL_ADDRESS (700): <text>; <remedy>", and return the status of the result:
 * TJ_ERR_DEVICE_MEMORY, TJ_ERR_UNSUPPORTED (no image for this device), TJ_ERR_CAPTURE, TJ_ERR_DEVICE_LOST, TJ_ERR_NO_DRIVER,
 * TJ_ERR_DRIVER. A result from which the device does not recover marks the driver as lost for ever.
 */
__attribute__((cold, format(printf, 4, 5))) tj_status tj_driver_fail(const tj_driver *driver, CUresult result, tj_error *err,
                                                                     const char *format, ...);

/** The slow half of tj_driver_check_alive. */
__attribute__((cold)) tj_status tj_driver_report_death(const tj_driver *driver, tj_error *err);

/**
 * Return TJ_ERR_DEVICE_LOST with the first message once any call reported such an error; TJ_ERR_FORKED in a child of the
 * process that opened the driver. One atomic load: it needs no system call.
 */
static inline tj_status tj_driver_check_alive(const tj_driver *driver, tj_error *err)
{
    if (__builtin_expect(atomic_load_explicit(driver->life, memory_order_relaxed) == TJ_DRIVER_ALIVE, 1))
        return TJ_OK;
    return tj_driver_report_death(driver, err);
}

/**
 * A capture in the global mode forbids all threads to load, allocate, copy or wait. Leave that mode: *mode is what this thread
 * was in, for tj_driver_obey_captures, or -1 if nothing was changed: a driver that knows no modes, which is not an error, or one
 * that fails.
 */
static inline CUresult tj_driver_ignore_captures(const tj_driver *driver, int *mode)
{
    int other = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult (*const exchange)(int *) = driver->api.thread_exchange_capture_mode;
    const CUresult result = exchange ? exchange(&other) : CUDA_SUCCESS;

    *mode = exchange && result == CUDA_SUCCESS ? other : -1;
    return result;
}

static inline CUresult tj_driver_obey_captures(const tj_driver *driver, int mode)
{
    return mode >= 0 ? driver->api.thread_exchange_capture_mode(&mode) : CUDA_SUCCESS;
}

/** Can memory be allocated and freed in stream order? Also inside captures, which drivers before CUDA 11.4 could not. */
static inline bool tj_driver_has_stream_memory(const tj_driver *driver)
{
    return driver->api.mem_alloc_async && driver->api.mem_free_async && driver->version >= 11040;
}

/** Return the number of multiprocessors of a green context; 0: the driver does not say. */
int32_t tj_green_share(const tj_driver *driver, CUgreenCtx green);

/** tj_stream_share of the default stream: a thread asks once while it stays in a context, whose share does not change. */
int32_t tj_context_share(const tj_driver *driver, uint64_t context_id);

/**
 * Return the number of multiprocessors of the stream's green context; 0: it has none, or the driver knows none (before CUDA
 * 12.4). context_id: of the current context, which has the default stream and may be a green one. Captures survive this: that
 * of a blocking stream would not if the default stream were asked about, which has 0 until the capture ends.
 */
static inline int32_t tj_stream_share(const tj_driver *driver, uint64_t context_id, CUstream stream)
{
    CUgreenCtx green = NULL;

    if ((uintptr_t)stream <= CU_STREAM_LEGACY)
        return tj_context_share(driver, context_id);
    if (!driver->api.stream_get_green || driver->api.stream_get_green(stream, &green) != CUDA_SUCCESS ||
        __builtin_expect(green == NULL, 1))
        return 0;
    return tj_green_share(driver, green);
}

/** Is the stream being captured, or unusable because another one is? Drivers without captures answer false. */
tj_status tj_stream_is_capturing(const tj_driver *driver, CUstream stream, bool *is_capturing, tj_error *err);

/**
 * Explain a call in stream that failed with result: the driver calls a stream of another CUDA context an invalid handle, and
 * this names its context. what: the failed action, for the message. Returns the error's status; err may be NULL.
 */
__attribute__((cold)) tj_status tj_stream_fail(const tj_driver *driver, CUresult result, CUstream stream, const char *what,
                                               tj_error *err);

#endif
