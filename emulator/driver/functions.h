/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions: the functions of the CUDA Driver API that the emulator has.
 *
 * X(name, symbol, version, arguments): cuGetProcAddress answers symbol for name from that CUDA version on (1000 * major + 10 *
 * minor), until a line with a newer version. The list declares the functions too.
 * A(..., call): all that the function does is this call, mostly of a newer version of itself.
 * S(..., call): with the default stream of the calling thread there is symbol_ptsz, which calls symbol like this.
 * D(..., call): the same for copies and fills without a stream argument: symbol_ptds.
 */
#ifndef EMU_DRIVER_FUNCTIONS_H
#define EMU_DRIVER_FUNCTIONS_H

#include "cuda_abi.h"

#define EMU_EXPORT __attribute__((visibility("default")))

/* clang-format off */
#define EMU_OWN emu_own_stream(stream) /* as a call of _ptsz passes it on */
#define EMU_DRIVER_FUNCTIONS(X, A, S, D)                                                                                       \
    X(cuInit, cuInit, 2000, (unsigned flags))                                                                                  \
    X(cuDriverGetVersion, cuDriverGetVersion, 2020, (int *version))                                                            \
    X(cuGetErrorName, cuGetErrorName, 6000, (CUresult result, const char **name))                                              \
    X(cuGetErrorString, cuGetErrorString, 6000, (CUresult result, const char **text))                                          \
    A(cuGetProcAddress, cuGetProcAddress, 11030, (const char *name, void **function, int version, uint64_t flags),             \
      cuGetProcAddress_v2(name, function, version, flags, NULL))                                                               \
    S(cuGetProcAddress, cuGetProcAddress_v2, 12000,                                                                            \
      (const char *name, void **function, int version, uint64_t flags, int *status),                                           \
      (name, function, version, flags ? flags : CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, status))                        \
    X(cuGetExportTable, cuGetExportTable, 3000, (const void **table, const CUuuid *id))                                        \
    /* devices */                                                                                                              \
    X(cuDeviceGet, cuDeviceGet, 2000, (CUdevice *device, int ordinal))                                                         \
    X(cuDeviceGetCount, cuDeviceGetCount, 2000, (int *count))                                                                  \
    X(cuDeviceGetName, cuDeviceGetName, 2000, (char *name, int bytes, CUdevice device))                                        \
    A(cuDeviceGetUuid, cuDeviceGetUuid, 9020, (CUuuid *uuid, CUdevice device), cuDeviceGetUuid_v2(uuid, device))               \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2, 11040, (CUuuid *uuid, CUdevice device))                                             \
    X(cuDeviceTotalMem, cuDeviceTotalMem_v2, 3020, (size_t *bytes, CUdevice device))                                           \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute, 2000, (int *value, int attribute, CUdevice device))                          \
    X(cuDeviceComputeCapability, cuDeviceComputeCapability, 2000, (int *major, int *minor, CUdevice device))                   \
    X(cuDeviceGetProperties, cuDeviceGetProperties, 2000, (CUdevprop *properties, CUdevice device))                            \
    X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, 4010, (char *text, int bytes, CUdevice device))                                \
    X(cuDeviceGetByPCIBusId, cuDeviceGetByPCIBusId, 4010, (CUdevice *device, const char *text))                                \
    X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, 4000, (int *can, CUdevice device, CUdevice peer))                          \
    X(cuDeviceGetP2PAttribute, cuDeviceGetP2PAttribute, 8000, (int *value, int attribute, CUdevice device, CUdevice peer))     \
    X(cuDeviceGetExecAffinitySupport, cuDeviceGetExecAffinitySupport, 11040, (int *value, int type, CUdevice device))          \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, (CUcontext *context, CUdevice device))                         \
    A(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, (CUdevice device), cuDevicePrimaryCtxRelease_v2(device))     \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000, (CUdevice device))                                       \
    A(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, (CUdevice device), cuDevicePrimaryCtxReset_v2(device))           \
    X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000, (CUdevice device))                                           \
    A(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags, 7000, (CUdevice device, unsigned flags),                         \
      cuDevicePrimaryCtxSetFlags_v2(device, flags))                                                                            \
    X(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, 11000, (CUdevice device, unsigned flags))                     \
    X(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, 7000, (CUdevice device, unsigned *flags, int *is_active))        \
    /* contexts */                                                                                                             \
    X(cuCtxCreate, cuCtxCreate_v2, 3020, (CUcontext *context, unsigned flags, CUdevice device))                                \
    X(cuCtxCreate, cuCtxCreate_v3, 11040,                                                                                      \
      (CUcontext *context, void *affinity, int affinities, unsigned flags, CUdevice device))                                   \
    X(cuCtxCreate, cuCtxCreate_v4, 12050,                                                                                      \
      (CUcontext *context, const CUctxCreateParams *parameters, unsigned flags, CUdevice device))                              \
    X(cuCtxAttach, cuCtxAttach, 2000, (CUcontext *context, unsigned flags))                                                    \
    X(cuCtxDetach, cuCtxDetach, 2000, (CUcontext context))                                                                     \
    A(cuCtxDestroy, cuCtxDestroy, 2000, (CUcontext context), cuCtxDestroy_v2(context))                                         \
    X(cuCtxDestroy, cuCtxDestroy_v2, 4000, (CUcontext context))                                                                \
    A(cuCtxPushCurrent, cuCtxPushCurrent, 2000, (CUcontext context), cuCtxPushCurrent_v2(context))                             \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2, 4000, (CUcontext context))                                                        \
    A(cuCtxPopCurrent, cuCtxPopCurrent, 2000, (CUcontext *context), cuCtxPopCurrent_v2(context))                               \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2, 4000, (CUcontext *context))                                                         \
    X(cuCtxSetCurrent, cuCtxSetCurrent, 4000, (CUcontext context))                                                             \
    X(cuCtxGetCurrent, cuCtxGetCurrent, 4000, (CUcontext *context))                                                            \
    A(cuCtxGetDevice, cuCtxGetDevice, 2000, (CUdevice *device), cuCtxGetDevice_v2(device, NULL))                               \
    X(cuCtxGetDevice, cuCtxGetDevice_v2, 13000, (CUdevice *device, CUcontext context))                                         \
    X(cuCtxGetId, cuCtxGetId, 12000, (CUcontext context, unsigned long long *id))                                              \
    X(cuCtxGetFlags, cuCtxGetFlags, 7000, (unsigned *flags))                                                                   \
    X(cuCtxSetFlags, cuCtxSetFlags, 12010, (unsigned flags))                                                                   \
    X(cuCtxGetApiVersion, cuCtxGetApiVersion, 3020, (CUcontext context, unsigned *version))                                    \
    X(cuCtxGetLimit, cuCtxGetLimit, 3010, (size_t *value, int limit))                                                          \
    X(cuCtxSetLimit, cuCtxSetLimit, 3010, (int limit, size_t value))                                                           \
    X(cuCtxGetCacheConfig, cuCtxGetCacheConfig, 3020, (int *config))                                                           \
    X(cuCtxSetCacheConfig, cuCtxSetCacheConfig, 3020, (int config))                                                            \
    X(cuCtxGetSharedMemConfig, cuCtxGetSharedMemConfig, 4020, (int *config))                                                   \
    X(cuCtxSetSharedMemConfig, cuCtxSetSharedMemConfig, 4020, (int config))                                                    \
    X(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, 5050, (int *least, int *greatest))                             \
    A(cuCtxResetPersistingL2Cache, cuCtxResetPersistingL2Cache, 11000, (void), emu_check_context())                            \
    X(cuCtxSynchronize, cuCtxSynchronize, 2000, (void))                                                                        \
    X(cuCtxSynchronize, cuCtxSynchronize_v2, 13000, (CUcontext context))                                                       \
    X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, 4000, (CUcontext peer, unsigned flags))                                    \
    X(cuCtxDisablePeerAccess, cuCtxDisablePeerAccess, 4000, (CUcontext peer))                                                  \
    /* modules, libraries, functions */                                                                                        \
    X(cuModuleLoad, cuModuleLoad, 2000, (CUmodule *module, const char *path))                                                  \
    A(cuModuleLoadData, cuModuleLoadData, 2000, (CUmodule *module, const void *image),                                         \
      cuModuleLoadDataEx(module, image, 0, NULL, NULL))                                                                        \
    X(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010,                                                                            \
      (CUmodule *module, const void *image, unsigned options, int *option, void **value))                                      \
    A(cuModuleLoadFatBinary, cuModuleLoadFatBinary, 2000, (CUmodule *module, const void *image),                               \
      cuModuleLoadData(module, image))                                                                                         \
    X(cuModuleUnload, cuModuleUnload, 2000, (CUmodule module))                                                                 \
    X(cuModuleGetLoadingMode, cuModuleGetLoadingMode, 11070, (int *mode))                                                      \
    X(cuModuleGetFunction, cuModuleGetFunction, 2000, (CUfunction *function, CUmodule module, const char *name))               \
    X(cuModuleGetFunctionCount, cuModuleGetFunctionCount, 12040, (unsigned *count, CUmodule module))                           \
    X(cuModuleEnumerateFunctions, cuModuleEnumerateFunctions, 12040, (CUfunction *function, unsigned count, CUmodule module))  \
    X(cuModuleGetGlobal, cuModuleGetGlobal_v2, 3020, (CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)) \
    X(cuLibraryLoadData, cuLibraryLoadData, 12000,                                                                             \
      (CUlibrary *library, const void *code, int *jit_option, void **jit_value, unsigned jit_options, int *option,             \
       void **value, unsigned options))                                                                                        \
    X(cuLibraryLoadFromFile, cuLibraryLoadFromFile, 12000,                                                                     \
      (CUlibrary *library, const char *path, int *jit_option, void **jit_value, unsigned jit_options, int *option,             \
       void **value, unsigned options))                                                                                        \
    X(cuLibraryUnload, cuLibraryUnload, 12000, (CUlibrary library))                                                            \
    X(cuLibraryGetKernel, cuLibraryGetKernel, 12000, (CUkernel *kernel, CUlibrary library, const char *name))                  \
    X(cuLibraryGetKernelCount, cuLibraryGetKernelCount, 12040, (unsigned *count, CUlibrary library))                           \
    X(cuLibraryEnumerateKernels, cuLibraryEnumerateKernels, 12040, (CUkernel *kernel, unsigned count, CUlibrary library))      \
    X(cuLibraryGetModule, cuLibraryGetModule, 12000, (CUmodule *module, CUlibrary library))                                    \
    X(cuLibraryGetGlobal, cuLibraryGetGlobal, 12000,                                                                           \
      (CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name))                                              \
    X(cuLinkCreate, cuLinkCreate_v2, 6050, (unsigned options, int *option, void **value, CUlinkState *state))                  \
    X(cuLinkAddData, cuLinkAddData_v2, 6050,                                                                                   \
      (CUlinkState state, int type, void *data, size_t bytes, const char *name, unsigned options, int *option, void **value))  \
    X(cuLinkAddFile, cuLinkAddFile_v2, 6050,                                                                                   \
      (CUlinkState state, int type, const char *path, unsigned options, int *option, void **value))                            \
    X(cuLinkComplete, cuLinkComplete, 5050, (CUlinkState state, void **image, size_t *bytes))                                  \
    X(cuLinkDestroy, cuLinkDestroy, 5050, (CUlinkState state))                                                                 \
    X(cuKernelGetFunction, cuKernelGetFunction, 12000, (CUfunction *function, CUkernel kernel))                                \
    X(cuKernelGetLibrary, cuKernelGetLibrary, 12050, (CUlibrary *library, CUkernel kernel))                                    \
    X(cuKernelGetName, cuKernelGetName, 12030, (const char **name, CUkernel kernel))                                           \
    X(cuKernelGetParamInfo, cuKernelGetParamInfo, 12040, (CUkernel kernel, size_t index, size_t *offset, size_t *bytes))       \
    X(cuKernelGetAttribute, cuKernelGetAttribute, 12000, (int *value, int attribute, CUkernel kernel, CUdevice device))        \
    X(cuKernelSetAttribute, cuKernelSetAttribute, 12000, (int attribute, int value, CUkernel kernel, CUdevice device))         \
    X(cuKernelSetCacheConfig, cuKernelSetCacheConfig, 12000, (CUkernel kernel, int config, CUdevice device))                   \
    X(cuFuncGetAttribute, cuFuncGetAttribute, 2020, (int *value, int attribute, CUfunction function))                          \
    X(cuFuncSetAttribute, cuFuncSetAttribute, 9000, (CUfunction function, int attribute, int value))                           \
    X(cuFuncSetCacheConfig, cuFuncSetCacheConfig, 3000, (CUfunction function, int config))                                     \
    X(cuFuncSetSharedMemConfig, cuFuncSetSharedMemConfig, 4020, (CUfunction function, int config))                             \
    X(cuFuncGetModule, cuFuncGetModule, 11000, (CUmodule *module, CUfunction function))                                        \
    X(cuFuncGetName, cuFuncGetName, 12030, (const char **name, CUfunction function))                                           \
    X(cuFuncGetParamInfo, cuFuncGetParamInfo, 12040, (CUfunction function, size_t index, size_t *offset, size_t *bytes))       \
    X(cuFuncIsLoaded, cuFuncIsLoaded, 12040, (int *state, CUfunction function))                                                \
    X(cuFuncLoad, cuFuncLoad, 12040, (CUfunction function))                                                                    \
    A(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050,                          \
      (int *blocks, CUfunction function, int block_size, size_t dynamic_bytes),                                                \
      cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, dynamic_bytes, 0))                    \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000,        \
      (int *blocks, CUfunction function, int block_size, size_t dynamic_bytes, unsigned flags))                                \
    A(cuOccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSize, 6050,                                                \
      (int *grid_size, int *block_size, CUfunction function, CUoccupancyB2DSize dynamic_of, size_t dynamic_bytes, int limit),  \
      cuOccupancyMaxPotentialBlockSizeWithFlags(grid_size, block_size, function, dynamic_of, dynamic_bytes, limit, 0))         \
    X(cuOccupancyMaxPotentialBlockSizeWithFlags, cuOccupancyMaxPotentialBlockSizeWithFlags, 7000,                              \
      (int *grid_size, int *block_size, CUfunction function, CUoccupancyB2DSize dynamic_of, size_t dynamic_bytes, int limit,   \
       unsigned flags))                                                                                                        \
    X(cuOccupancyAvailableDynamicSMemPerBlock, cuOccupancyAvailableDynamicSMemPerBlock, 10020,                                 \
      (size_t *bytes, CUfunction function, int blocks, int block_size))                                                        \
    X(cuOccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters, 11070,                                                       \
      (int *clusters, CUfunction function, const CUlaunchConfig *config))                                                      \
    X(cuOccupancyMaxPotentialClusterSize, cuOccupancyMaxPotentialClusterSize, 11070,                                           \
      (int *blocks, CUfunction function, const CUlaunchConfig *config))                                                        \
    /* memory */                                                                                                               \
    X(cuMemGetInfo, cuMemGetInfo_v2, 3020, (size_t *free_bytes, size_t *total_bytes))                                          \
    X(cuMemAlloc, cuMemAlloc_v2, 3020, (CUdeviceptr *address, size_t bytes))                                                   \
    X(cuMemAllocPitch, cuMemAllocPitch_v2, 3020,                                                                               \
      (CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element))                                    \
    X(cuMemFree, cuMemFree_v2, 3020, (CUdeviceptr address))                                                                    \
    X(cuMemGetAddressRange, cuMemGetAddressRange_v2, 3020, (CUdeviceptr *base, size_t *bytes, CUdeviceptr address))            \
    A(cuMemAllocHost, cuMemAllocHost_v2, 3020, (void **host, size_t bytes), cuMemHostAlloc(host, bytes, 0))                    \
    X(cuMemHostAlloc, cuMemHostAlloc, 2020, (void **host, size_t bytes, unsigned flags))                                       \
    X(cuMemFreeHost, cuMemFreeHost, 2000, (void *host))                                                                        \
    X(cuMemHostGetFlags, cuMemHostGetFlags, 2030, (unsigned *flags, void *host))                                               \
    X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, 3020, (CUdeviceptr *address, void *host, unsigned flags))       \
    X(cuMemHostRegister, cuMemHostRegister_v2, 6050, (void *host, size_t bytes, unsigned flags))                               \
    X(cuMemHostUnregister, cuMemHostUnregister, 4000, (void *host))                                                            \
    S(cuMemAllocAsync, cuMemAllocAsync, 11020, (CUdeviceptr *address, size_t bytes, CUstream stream),                          \
      (address, bytes, EMU_OWN))                                                                                               \
    S(cuMemFreeAsync, cuMemFreeAsync, 11020, (CUdeviceptr address, CUstream stream), (address, EMU_OWN))                       \
    S(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020,                                                                 \
      (CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream), (address, bytes, pool, EMU_OWN))               \
    A(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, 11020, (CUmemoryPool *pool, CUdevice device),                      \
      cuDeviceGetMemPool(pool, device))                                                                                        \
    X(cuDeviceGetMemPool, cuDeviceGetMemPool, 11020, (CUmemoryPool *pool, CUdevice device))                                    \
    X(cuDeviceSetMemPool, cuDeviceSetMemPool, 11020, (CUdevice device, CUmemoryPool pool))                                     \
    X(cuMemPoolGetAttribute, cuMemPoolGetAttribute, 11020, (CUmemoryPool pool, int attribute, void *value))                    \
    X(cuMemPoolSetAttribute, cuMemPoolSetAttribute, 11020, (CUmemoryPool pool, int attribute, void *value))                    \
    X(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020, (CUmemoryPool pool, size_t bytes))                                              \
    X(cuPointerGetAttribute, cuPointerGetAttribute, 4000, (void *value, int attribute, CUdeviceptr address))                   \
    X(cuPointerGetAttributes, cuPointerGetAttributes, 7000,                                                                    \
      (unsigned count, int *attribute, void **value, CUdeviceptr address))                                                     \
    X(cuPointerSetAttribute, cuPointerSetAttribute, 6000, (const void *value, int attribute, CUdeviceptr address))             \
    D(cuMemcpy, cuMemcpy, 4000, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))                           \
    S(cuMemcpyAsync, cuMemcpyAsync, 4000, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),                   \
      (to, from, bytes, EMU_OWN))                                                                                              \
    D(cuMemcpyHtoD, cuMemcpyHtoD_v2, 3020, (CUdeviceptr to, const void *from, size_t bytes), (to, from, bytes))                \
    S(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),        \
      (to, from, bytes, EMU_OWN))                                                                                              \
    D(cuMemcpyDtoH, cuMemcpyDtoH_v2, 3020, (void *to, CUdeviceptr from, size_t bytes), (to, from, bytes))                      \
    S(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),              \
      (to, from, bytes, EMU_OWN))                                                                                              \
    D(cuMemcpyDtoD, cuMemcpyDtoD_v2, 3020, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))                \
    S(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, 3020, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),        \
      (to, from, bytes, EMU_OWN))                                                                                              \
    D(cuMemcpyPeer, cuMemcpyPeer, 4000,                                                                                        \
      (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes),                          \
      (to, to_context, from, from_context, bytes))                                                                             \
    S(cuMemcpyPeerAsync, cuMemcpyPeerAsync, 4000,                                                                              \
      (CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes, CUstream stream),         \
      (to, to_context, from, from_context, bytes, EMU_OWN))                                                                    \
    D(cuMemcpy2D, cuMemcpy2D_v2, 3020, (const CUDA_MEMCPY2D *copy), (copy))                                                    \
    D(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2, 3020, (const CUDA_MEMCPY2D *copy), (copy))                                  \
    S(cuMemcpy2DAsync, cuMemcpy2DAsync_v2, 3020, (const CUDA_MEMCPY2D *copy, CUstream stream), (copy, EMU_OWN))                \
    D(cuMemsetD8, cuMemsetD8_v2, 3020, (CUdeviceptr to, unsigned char value, size_t count), (to, value, count))                \
    D(cuMemsetD16, cuMemsetD16_v2, 3020, (CUdeviceptr to, unsigned short value, size_t count), (to, value, count))             \
    D(cuMemsetD32, cuMemsetD32_v2, 3020, (CUdeviceptr to, unsigned value, size_t count), (to, value, count))                   \
    S(cuMemsetD8Async, cuMemsetD8Async, 3020, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),            \
      (to, value, count, EMU_OWN))                                                                                             \
    S(cuMemsetD16Async, cuMemsetD16Async, 3020, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),         \
      (to, value, count, EMU_OWN))                                                                                             \
    S(cuMemsetD32Async, cuMemsetD32Async, 3020, (CUdeviceptr to, unsigned value, size_t count, CUstream stream),               \
      (to, value, count, EMU_OWN))                                                                                             \
    D(cuMemsetD2D8, cuMemsetD2D8_v2, 3020, (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height),   \
      (to, pitch, value, width, height))                                                                                       \
    D(cuMemsetD2D16, cuMemsetD2D16_v2, 3020,                                                                                   \
      (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height), (to, pitch, value, width, height))    \
    D(cuMemsetD2D32, cuMemsetD2D32_v2, 3020, (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height),      \
      (to, pitch, value, width, height))                                                                                       \
    S(cuMemsetD2D8Async, cuMemsetD2D8Async, 3020,                                                                              \
      (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream),                       \
      (to, pitch, value, width, height, EMU_OWN))                                                                              \
    S(cuMemsetD2D16Async, cuMemsetD2D16Async, 3020,                                                                            \
      (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream),                      \
      (to, pitch, value, width, height, EMU_OWN))                                                                              \
    S(cuMemsetD2D32Async, cuMemsetD2D32Async, 3020,                                                                            \
      (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream),                            \
      (to, pitch, value, width, height, EMU_OWN))                                                                              \
    /* streams and events */                                                                                                   \
    A(cuStreamCreate, cuStreamCreate, 2000, (CUstream *stream, unsigned flags), cuStreamCreateWithPriority(stream, flags, 0))  \
    X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050, (CUstream *stream, unsigned flags, int priority))          \
    A(cuStreamDestroy, cuStreamDestroy, 2000, (CUstream stream), cuStreamDestroy_v2(stream))                                   \
    X(cuStreamDestroy, cuStreamDestroy_v2, 4000, (CUstream stream))                                                            \
    S(cuStreamSynchronize, cuStreamSynchronize, 2000, (CUstream stream), (EMU_OWN))                                            \
    S(cuStreamQuery, cuStreamQuery, 2000, (CUstream stream), (EMU_OWN))                                                        \
    S(cuStreamWaitEvent, cuStreamWaitEvent, 3020, (CUstream stream, CUevent event, unsigned flags), (EMU_OWN, event, flags))   \
    S(cuStreamGetCtx, cuStreamGetCtx, 9020, (CUstream stream, CUcontext *context), (EMU_OWN, context))                         \
    S(cuStreamGetCtx, cuStreamGetCtx_v2, 12050, (CUstream stream, CUcontext *context, void **green),                           \
      (EMU_OWN, context, green))                                                                                               \
    X(cuStreamGetGreenCtx, cuStreamGetGreenCtx, 12040, (CUstream stream, void **green))                                        \
    S(cuStreamGetDevice, cuStreamGetDevice, 12080, (CUstream stream, CUdevice *device), (EMU_OWN, device))                     \
    S(cuStreamGetFlags, cuStreamGetFlags, 5050, (CUstream stream, unsigned *flags), (EMU_OWN, flags))                          \
    S(cuStreamGetId, cuStreamGetId, 12000, (CUstream stream, unsigned long long *id), (EMU_OWN, id))                           \
    S(cuStreamGetPriority, cuStreamGetPriority, 5050, (CUstream stream, int *priority), (EMU_OWN, priority))                   \
    S(cuStreamAddCallback, cuStreamAddCallback, 5000,                                                                          \
      (CUstream stream, CUstreamCallback callback, void *data, unsigned flags), (EMU_OWN, callback, data, flags))              \
    S(cuLaunchHostFunc, cuLaunchHostFunc, 10000, (CUstream stream, CUhostFn function, void *data), (EMU_OWN, function, data))  \
    X(cuEventCreate, cuEventCreate, 2000, (CUevent *event, unsigned flags))                                                    \
    A(cuEventDestroy, cuEventDestroy, 2000, (CUevent event), cuEventDestroy_v2(event))                                         \
    X(cuEventDestroy, cuEventDestroy_v2, 4000, (CUevent event))                                                                \
    S(cuEventRecord, cuEventRecord, 2000, (CUevent event, CUstream stream), (event, EMU_OWN))                                  \
    S(cuEventRecordWithFlags, cuEventRecordWithFlags, 11010, (CUevent event, CUstream stream, unsigned flags),                 \
      (event, EMU_OWN, flags))                                                                                                 \
    A(cuEventQuery, cuEventQuery, 2000, (CUevent event), cuEventSynchronize(event))                                            \
    X(cuEventSynchronize, cuEventSynchronize, 2000, (CUevent event))                                                           \
    A(cuEventElapsedTime, cuEventElapsedTime, 2000, (float *milliseconds, CUevent start, CUevent end),                         \
      cuEventElapsedTime_v2(milliseconds, start, end))                                                                         \
    X(cuEventElapsedTime, cuEventElapsedTime_v2, 12080, (float *milliseconds, CUevent start, CUevent end))                     \
    /* captures and graphs */                                                                                                  \
    S(cuStreamBeginCapture, cuStreamBeginCapture, 10000, (CUstream stream), (EMU_OWN))                                         \
    S(cuStreamBeginCapture, cuStreamBeginCapture_v2, 10010, (CUstream stream, int mode), (EMU_OWN, mode))                      \
    S(cuStreamEndCapture, cuStreamEndCapture, 10000, (CUstream stream, CUgraph *graph), (EMU_OWN, graph))                      \
    S(cuStreamIsCapturing, cuStreamIsCapturing, 10000, (CUstream stream, int *status), (EMU_OWN, status))                      \
    S(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo, 10010, (CUstream stream, int *status, uint64_t *id),                     \
      (EMU_OWN, status, id))                                                                                                   \
    S(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2, 11030,                                                                \
      (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **node, size_t *nodes),                   \
      (EMU_OWN, status, id, graph, node, nodes))                                                                               \
    S(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3, 12030,                                                                \
      (CUstream stream, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **node, const void **edge,                \
       size_t *nodes), (EMU_OWN, status, id, graph, node, edge, nodes))                                                        \
    X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, 10010, (int *mode))                                \
    A(cuGraphInstantiate, cuGraphInstantiate, 10000,                                                                           \
      (CUgraphExec *executable, CUgraph graph, CUgraphNode *node, char *log, size_t bytes),                                    \
      cuGraphInstantiate_v2(executable, graph, node, log, bytes))                                                              \
    X(cuGraphInstantiate, cuGraphInstantiate_v2, 11000,                                                                        \
      (CUgraphExec *executable, CUgraph graph, CUgraphNode *node, char *log, size_t bytes))                                    \
    X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040,                                                         \
      (CUgraphExec *executable, CUgraph graph, unsigned long long flags))                                                      \
    S(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, 12000,                                                       \
      (CUgraphExec *executable, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *parameters), (executable, graph, parameters))    \
    S(cuGraphLaunch, cuGraphLaunch, 10000, (CUgraphExec executable, CUstream stream), (executable, EMU_OWN))                   \
    S(cuGraphUpload, cuGraphUpload, 11010, (CUgraphExec executable, CUstream stream), (executable, EMU_OWN))                   \
    X(cuGraphExecDestroy, cuGraphExecDestroy, 10000, (CUgraphExec executable))                                                 \
    X(cuGraphExecGetFlags, cuGraphExecGetFlags, 12000, (CUgraphExec executable, uint64_t *flags))                              \
    X(cuGraphDestroy, cuGraphDestroy, 10000, (CUgraph graph))                                                                  \
    X(cuGraphClone, cuGraphClone, 10000, (CUgraph *clone, CUgraph graph))                                                      \
    X(cuGraphGetNodes, cuGraphGetNodes, 10000, (CUgraph graph, CUgraphNode *node, size_t *nodes))                              \
    X(cuGraphGetRootNodes, cuGraphGetRootNodes, 10000, (CUgraph graph, CUgraphNode *node, size_t *nodes))                      \
    X(cuGraphNodeGetType, cuGraphNodeGetType, 10000, (CUgraphNode node, int *type))                                            \
    X(cuGraphNodeGetDependencies, cuGraphNodeGetDependencies, 10000,                                                           \
      (CUgraphNode node, CUgraphNode *dependency, size_t *dependencies))                                                       \
    X(cuUserObjectCreate, cuUserObjectCreate, 11030,                                                                           \
      (CUuserObject *object, void *data, CUhostFn destroy, unsigned references, unsigned flags))                               \
    X(cuUserObjectRetain, cuUserObjectRetain, 11030, (CUuserObject object, unsigned count))                                    \
    X(cuUserObjectRelease, cuUserObjectRelease, 11030, (CUuserObject object, unsigned count))                                  \
    X(cuGraphRetainUserObject, cuGraphRetainUserObject, 11030,                                                                 \
      (CUgraph graph, CUuserObject object, unsigned count, unsigned flags))                                                    \
    X(cuGraphReleaseUserObject, cuGraphReleaseUserObject, 11030, (CUgraph graph, CUuserObject object, unsigned count))         \
    /* tensor maps */                                                                                                          \
    X(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled, 12000,                                                                   \
      (CUtensorMap *map, int type, uint32_t rank, void *address, const uint64_t *extent, const uint64_t *stride,               \
       const uint32_t *box, const uint32_t *step, int interleave, int swizzle, int promotion, int fill))                       \
    X(cuTensorMapReplaceAddress, cuTensorMapReplaceAddress, 12000, (CUtensorMap *map, void *address))                          \
    /* launches */                                                                                                             \
    S(cuLaunchKernel, cuLaunchKernel, 4000,                                                                                    \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,             \
       unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters, void **extra),                             \
      (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, EMU_OWN, parameters, extra))                 \
    S(cuLaunchKernelEx, cuLaunchKernelEx, 11060,                                                                               \
      (const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra),                                    \
      (emu_own_config(config, &(CUlaunchConfig){0}), function, parameters, extra))                                             \
    S(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, 9000,                                                              \
      (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,             \
       unsigned block_z, unsigned shared_bytes, CUstream stream, void **parameters),                                           \
      (function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, EMU_OWN, parameters))                        \
    X(cuFuncSetBlockShape, cuFuncSetBlockShape, 2000, (CUfunction function, int x, int y, int z))                              \
    X(cuFuncSetSharedSize, cuFuncSetSharedSize, 2000, (CUfunction function, unsigned bytes))                                   \
    X(cuParamSetSize, cuParamSetSize, 2000, (CUfunction function, unsigned bytes))                                             \
    A(cuParamSeti, cuParamSeti, 2000, (CUfunction function, int offset, unsigned value),                                       \
      cuParamSetv(function, offset, &value, sizeof value))                                                                     \
    A(cuParamSetf, cuParamSetf, 2000, (CUfunction function, int offset, float value),                                          \
      cuParamSetv(function, offset, &value, sizeof value))                                                                     \
    X(cuParamSetv, cuParamSetv, 2000, (CUfunction function, int offset, void *value, unsigned bytes))                          \
    A(cuLaunch, cuLaunch, 2000, (CUfunction function), cuLaunchGrid(function, 1, 1))                                           \
    A(cuLaunchGrid, cuLaunchGrid, 2000, (CUfunction function, int width, int height),                                          \
      cuLaunchGridAsync(function, width, height, NULL))                                                                        \
    X(cuLaunchGridAsync, cuLaunchGridAsync, 2000, (CUfunction function, int width, int height, CUstream stream))               \
    A(cuProfilerStart, cuProfilerStart, 4000, (void), emu_check_context())                                                     \
    A(cuProfilerStop, cuProfilerStop, 4000, (void), emu_check_context())
/* clang-format on */

#define EMU_X(name, symbol, version, arguments) CUresult symbol arguments;
#define EMU_A(name, symbol, version, arguments, call) CUresult symbol arguments;
#define EMU_S(name, symbol, version, arguments, call) CUresult symbol arguments, symbol##_ptsz arguments;
#define EMU_D(name, symbol, version, arguments, call) CUresult symbol arguments, symbol##_ptds arguments;
EMU_DRIVER_FUNCTIONS(EMU_X, EMU_A, EMU_S, EMU_D)
#undef EMU_X
#undef EMU_A
#undef EMU_S
#undef EMU_D

#endif
