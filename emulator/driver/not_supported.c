/* SPDX-License-Identifier: Apache-2.0 */
/*
 * not_supported: the functions of the CUDA Driver API 13.0 that the emulator does not have.
 *
 * A program that links them all, or looks them up, finds them; a call says so once on stderr and answers
 * CUDA_ERROR_NOT_SUPPORTED.
 */
#include "driver.h"

#include <ctype.h>
#include <stdatomic.h>
#include <string.h>

/*
 * X(symbol, version): cuGetProcAddress answers it for its name without _v2 and the like from that CUDA version on.
 * S, D: there is also symbol_ptsz or symbol_ptds, which cuGetProcAddress does not know.
 */
/* clang-format off */
#define EMU_NOT_SUPPORTED(X, S, D)                                                                                             \
    X(cuArray3DCreate, 2000) X(cuArray3DCreate_v2, 3020) X(cuArray3DGetDescriptor, 2000) X(cuArray3DGetDescriptor_v2, 3020)    \
    X(cuArrayCreate, 2000) X(cuArrayCreate_v2, 3020) X(cuArrayDestroy, 2000) X(cuArrayGetDescriptor, 2000)                     \
    X(cuArrayGetDescriptor_v2, 3020) X(cuArrayGetMemoryRequirements, 11060) X(cuArrayGetPlane, 11020)                          \
    X(cuArrayGetSparseProperties, 11010) X(cuCheckpointProcessCheckpoint, 12080)                                               \
    X(cuCheckpointProcessGetRestoreThreadId, 12080) X(cuCheckpointProcessGetState, 12080) X(cuCheckpointProcessLock, 12080)    \
    X(cuCheckpointProcessRestore, 12080) X(cuCheckpointProcessUnlock, 12080) X(cuCoredumpGetAttribute, 12010)                  \
    X(cuCoredumpGetAttributeGlobal, 12010) X(cuCoredumpSetAttribute, 12010) X(cuCoredumpSetAttributeGlobal, 12010)             \
    X(cuCtxCreate, 2000) X(cuCtxFromGreenCtx, 12040) X(cuCtxGetDevResource, 12040) X(cuCtxGetExecAffinity, 11040)              \
    X(cuCtxRecordEvent, 12050) X(cuCtxWaitEvent, 12050) X(cuDestroyExternalMemory, 10000)                                      \
    X(cuDestroyExternalSemaphore, 10000) X(cuDevResourceGenerateDesc, 12040) X(cuDevSmResourceSplitByCount, 12040)             \
    X(cuDeviceGetDevResource, 12040) X(cuDeviceGetGraphMemAttribute, 11040) X(cuDeviceGetHostAtomicCapabilities, 13000)        \
    X(cuDeviceGetLuid, 10000) X(cuDeviceGetNvSciSyncAttributes, 10020) X(cuDeviceGetP2PAtomicCapabilities, 13000)              \
    X(cuDeviceGetTexture1DLinearMaxWidth, 11010) X(cuDeviceGraphMemTrim, 11040) X(cuDeviceRegisterAsyncNotification, 12040)    \
    X(cuDeviceSetGraphMemAttribute, 11040) X(cuDeviceTotalMem, 2000) X(cuDeviceUnregisterAsyncNotification, 12040)             \
    X(cuEGLStreamConsumerAcquireFrame, 7000) X(cuEGLStreamConsumerConnect, 7000)                                               \
    X(cuEGLStreamConsumerConnectWithFlags, 8000) X(cuEGLStreamConsumerDisconnect, 7000)                                        \
    X(cuEGLStreamConsumerReleaseFrame, 7000) X(cuEGLStreamProducerConnect, 7000) X(cuEGLStreamProducerDisconnect, 7000)        \
    X(cuEGLStreamProducerPresentFrame, 7000) X(cuEGLStreamProducerReturnFrame, 7000) X(cuEventCreateFromEGLSync, 9000)         \
    X(cuExternalMemoryGetMappedBuffer, 10000) X(cuExternalMemoryGetMappedMipmappedArray, 10000)                                \
    X(cuFlushGPUDirectRDMAWrites, 11030) X(cuGLCtxCreate, 2000) X(cuGLCtxCreate_v2, 3020) X(cuGLGetDevices, 4010)              \
    X(cuGLGetDevices_v2, 6050) X(cuGLInit, 2000) X(cuGLMapBufferObject, 2000) X(cuGLMapBufferObjectAsync, 2030)                \
    S(cuGLMapBufferObjectAsync_v2, 3020) D(cuGLMapBufferObject_v2, 3020) X(cuGLRegisterBufferObject, 2000)                     \
    X(cuGLSetBufferObjectMapFlags, 2030) X(cuGLUnmapBufferObject, 2000) X(cuGLUnmapBufferObjectAsync, 2030)                    \
    X(cuGLUnregisterBufferObject, 2000) X(cuGraphAddBatchMemOpNode, 11070) X(cuGraphAddChildGraphNode, 10000)                  \
    X(cuGraphAddDependencies, 10000) X(cuGraphAddDependencies_v2, 12030) X(cuGraphAddEmptyNode, 10000)                         \
    X(cuGraphAddEventRecordNode, 11010) X(cuGraphAddEventWaitNode, 11010) X(cuGraphAddExternalSemaphoresSignalNode, 11020)     \
    X(cuGraphAddExternalSemaphoresWaitNode, 11020) X(cuGraphAddHostNode, 10000) X(cuGraphAddKernelNode, 10000)                 \
    X(cuGraphAddKernelNode_v2, 12000) X(cuGraphAddMemAllocNode, 11040) X(cuGraphAddMemFreeNode, 11040)                         \
    X(cuGraphAddMemcpyNode, 10000) X(cuGraphAddMemsetNode, 10000) X(cuGraphAddNode, 12020) X(cuGraphAddNode_v2, 12030)         \
    X(cuGraphBatchMemOpNodeGetParams, 11070) X(cuGraphBatchMemOpNodeSetParams, 11070)                                          \
    X(cuGraphChildGraphNodeGetGraph, 10000) X(cuGraphConditionalHandleCreate, 12030) X(cuGraphCreate, 10000)                   \
    X(cuGraphDebugDotPrint, 11030) X(cuGraphDestroyNode, 10000) X(cuGraphEventRecordNodeGetEvent, 11010)                       \
    X(cuGraphEventRecordNodeSetEvent, 11010) X(cuGraphEventWaitNodeGetEvent, 11010) X(cuGraphEventWaitNodeSetEvent, 11010)     \
    X(cuGraphExecBatchMemOpNodeSetParams, 11070) X(cuGraphExecChildGraphNodeSetParams, 11010)                                  \
    X(cuGraphExecEventRecordNodeSetEvent, 11010) X(cuGraphExecEventWaitNodeSetEvent, 11010)                                    \
    X(cuGraphExecExternalSemaphoresSignalNodeSetParams, 11020) X(cuGraphExecExternalSemaphoresWaitNodeSetParams, 11020)        \
    X(cuGraphExecHostNodeSetParams, 10020) X(cuGraphExecKernelNodeSetParams, 10010)                                            \
    X(cuGraphExecKernelNodeSetParams_v2, 12000) X(cuGraphExecMemcpyNodeSetParams, 10020)                                       \
    X(cuGraphExecMemsetNodeSetParams, 10020) X(cuGraphExecNodeSetParams, 12020) X(cuGraphExecUpdate, 10020)                    \
    X(cuGraphExecUpdate_v2, 12000) X(cuGraphExternalSemaphoresSignalNodeGetParams, 11020)                                      \
    X(cuGraphExternalSemaphoresSignalNodeSetParams, 11020) X(cuGraphExternalSemaphoresWaitNodeGetParams, 11020)                \
    X(cuGraphExternalSemaphoresWaitNodeSetParams, 11020) X(cuGraphGetEdges, 10000) X(cuGraphGetEdges_v2, 12030)                \
    X(cuGraphHostNodeGetParams, 10000) X(cuGraphHostNodeSetParams, 10000) X(cuGraphKernelNodeCopyAttributes, 11000)            \
    X(cuGraphKernelNodeGetAttribute, 11000) X(cuGraphKernelNodeGetParams, 10000) X(cuGraphKernelNodeGetParams_v2, 12000)       \
    X(cuGraphKernelNodeSetAttribute, 11000) X(cuGraphKernelNodeSetParams, 10000) X(cuGraphKernelNodeSetParams_v2, 12000)       \
    X(cuGraphMemAllocNodeGetParams, 11040) X(cuGraphMemFreeNodeGetParams, 11040) X(cuGraphMemcpyNodeGetParams, 10000)          \
    X(cuGraphMemcpyNodeSetParams, 10000) X(cuGraphMemsetNodeGetParams, 10000) X(cuGraphMemsetNodeSetParams, 10000)             \
    X(cuGraphNodeFindInClone, 10000) X(cuGraphNodeGetDependencies_v2, 12030) X(cuGraphNodeGetDependentNodes, 10000)            \
    X(cuGraphNodeGetDependentNodes_v2, 12030) X(cuGraphNodeGetEnabled, 11060) X(cuGraphNodeSetEnabled, 11060)                  \
    X(cuGraphNodeSetParams, 12020) X(cuGraphRemoveDependencies, 10000)                                                         \
    X(cuGraphRemoveDependencies_v2, 12030) X(cuGraphicsEGLRegisterImage, 7000)                                                 \
    X(cuGraphicsGLRegisterBuffer, 3000) X(cuGraphicsGLRegisterImage, 3000) S(cuGraphicsMapResources, 3000)                     \
    X(cuGraphicsResourceGetMappedEglFrame, 7000) X(cuGraphicsResourceGetMappedMipmappedArray, 5000)                            \
    X(cuGraphicsResourceGetMappedPointer, 3000) X(cuGraphicsResourceGetMappedPointer_v2, 3020)                                 \
    X(cuGraphicsResourceSetMapFlags, 3000) X(cuGraphicsResourceSetMapFlags_v2, 6050)                                           \
    X(cuGraphicsSubResourceGetMappedArray, 3000) S(cuGraphicsUnmapResources, 3000) X(cuGraphicsUnregisterResource, 3000)       \
    X(cuGraphicsVDPAURegisterOutputSurface, 3010) X(cuGraphicsVDPAURegisterVideoSurface, 3010) X(cuGreenCtxCreate, 12040)      \
    X(cuGreenCtxDestroy, 12040) X(cuGreenCtxGetDevResource, 12040) X(cuGreenCtxGetId, 12090)                                   \
    X(cuGreenCtxRecordEvent, 12040) X(cuGreenCtxStreamCreate, 12050) X(cuGreenCtxWaitEvent, 12040)                             \
    X(cuImportExternalMemory, 10000) X(cuImportExternalSemaphore, 10000) X(cuIpcCloseMemHandle, 4010)                          \
    X(cuIpcGetEventHandle, 4010) X(cuIpcGetMemHandle, 4010) X(cuIpcOpenEventHandle, 4010) X(cuIpcOpenMemHandle, 4010)          \
    X(cuIpcOpenMemHandle_v2, 11000) X(cuLaunchCooperativeKernelMultiDevice, 9000) X(cuLibraryGetManaged, 12000)                \
    X(cuLibraryGetUnifiedFunction, 12000) X(cuLinkAddData, 5050) X(cuLinkAddFile, 5050) X(cuLinkCreate, 5050)                  \
    X(cuLogsCurrent, 12090) X(cuLogsDumpToFile, 12090) X(cuLogsDumpToMemory, 12090) X(cuLogsRegisterCallback, 12090)           \
    X(cuLogsUnregisterCallback, 12090) X(cuMemAddressFree, 10020) X(cuMemAddressReserve, 10020) X(cuMemAdvise, 8000)           \
    X(cuMemAdvise_v2, 12020) X(cuMemAlloc, 2000) X(cuMemAllocHost, 2000) X(cuMemAllocManaged, 6000)                            \
    X(cuMemAllocPitch, 2000) S(cuMemBatchDecompressAsync, 12060) X(cuMemCreate, 10020)                                         \
    S(cuMemDiscardAndPrefetchBatchAsync, 13000) S(cuMemDiscardBatchAsync, 13000) X(cuMemExportToShareableHandle, 10020)        \
    X(cuMemFree, 2000) X(cuMemGetAccess, 10020) X(cuMemGetAddressRange, 2000) X(cuMemGetAllocationGranularity, 10020)          \
    X(cuMemGetAllocationPropertiesFromHandle, 10020) X(cuMemGetDefaultMemPool, 13000)                                          \
    X(cuMemGetHandleForAddressRange, 11070) X(cuMemGetInfo, 2000) X(cuMemGetMemPool, 13000)                                    \
    X(cuMemHostGetDevicePointer, 2020) X(cuMemHostRegister, 4000) X(cuMemImportFromShareableHandle, 10020)                     \
    X(cuMemMap, 10020) S(cuMemMapArrayAsync, 11010) X(cuMemPoolCreate, 11020) X(cuMemPoolDestroy, 11020)                       \
    X(cuMemPoolExportPointer, 11020) X(cuMemPoolExportToShareableHandle, 11020) X(cuMemPoolGetAccess, 11020)                   \
    X(cuMemPoolImportFromShareableHandle, 11020) X(cuMemPoolImportPointer, 11020) X(cuMemPoolSetAccess, 11020)                 \
    S(cuMemPrefetchAsync, 8000) S(cuMemPrefetchAsync_v2, 12020) S(cuMemPrefetchBatchAsync, 13000)                              \
    X(cuMemRangeGetAttribute, 8000) X(cuMemRangeGetAttributes, 8000) X(cuMemRelease, 10020)                                    \
    X(cuMemRetainAllocationHandle, 11000) X(cuMemSetAccess, 10020) X(cuMemSetMemPool, 13000) X(cuMemUnmap, 10020)              \
    X(cuMemcpy2D, 2000) X(cuMemcpy2DAsync, 2000) X(cuMemcpy2DUnaligned, 2000) X(cuMemcpy3D, 2000) X(cuMemcpy3DAsync, 2000)     \
    S(cuMemcpy3DAsync_v2, 3020) S(cuMemcpy3DBatchAsync, 12080) S(cuMemcpy3DBatchAsync_v2, 13000) D(cuMemcpy3DPeer, 4000)       \
    S(cuMemcpy3DPeerAsync, 4000) D(cuMemcpy3D_v2, 3020) X(cuMemcpyAtoA, 2000) D(cuMemcpyAtoA_v2, 3020)                         \
    X(cuMemcpyAtoD, 2000) D(cuMemcpyAtoD_v2, 3020) X(cuMemcpyAtoH, 2000) X(cuMemcpyAtoHAsync, 2000)                            \
    S(cuMemcpyAtoHAsync_v2, 3020) D(cuMemcpyAtoH_v2, 3020) S(cuMemcpyBatchAsync, 12080) S(cuMemcpyBatchAsync_v2, 13000)        \
    X(cuMemcpyDtoA, 2000) D(cuMemcpyDtoA_v2, 3020) X(cuMemcpyDtoD, 2000) X(cuMemcpyDtoDAsync, 3000) X(cuMemcpyDtoH, 2000)      \
    X(cuMemcpyDtoHAsync, 2000) X(cuMemcpyHtoA, 2000) X(cuMemcpyHtoAAsync, 2000) S(cuMemcpyHtoAAsync_v2, 3020)                  \
    D(cuMemcpyHtoA_v2, 3020) X(cuMemcpyHtoD, 2000) X(cuMemcpyHtoDAsync, 2000) X(cuMemsetD16, 2000) X(cuMemsetD2D16, 2000)      \
    X(cuMemsetD2D32, 2000) X(cuMemsetD2D8, 2000) X(cuMemsetD32, 2000) X(cuMemsetD8, 2000) X(cuMipmappedArrayCreate, 5000)      \
    X(cuMipmappedArrayDestroy, 5000) X(cuMipmappedArrayGetLevel, 5000) X(cuMipmappedArrayGetMemoryRequirements, 11060)         \
    X(cuMipmappedArrayGetSparseProperties, 11010) X(cuModuleGetGlobal, 2000) X(cuModuleGetSurfRef, 3000)                       \
    X(cuModuleGetTexRef, 2000) X(cuMulticastAddDevice, 12010) X(cuMulticastBindAddr, 12010) X(cuMulticastBindMem, 12010)       \
    X(cuMulticastCreate, 12010) X(cuMulticastGetGranularity, 12010) X(cuMulticastUnbind, 12010)                                \
    X(cuParamSetTexRef, 2000)                                                                                                  \
    X(cuProfilerInitialize, 4000) S(cuSignalExternalSemaphoresAsync, 10000) S(cuStreamAttachMemAsync, 6000)                    \
    S(cuStreamBatchMemOp, 8000) S(cuStreamBatchMemOp_v2, 11070) S(cuStreamBeginCaptureToGraph, 12030)                          \
    S(cuStreamCopyAttributes, 11000) S(cuStreamGetAttribute, 11000)                                                            \
    S(cuStreamSetAttribute, 11000) S(cuStreamUpdateCaptureDependencies, 11030)                                                 \
    S(cuStreamUpdateCaptureDependencies_v2, 12030) S(cuStreamWaitValue32, 8000) S(cuStreamWaitValue32_v2, 11070)               \
    S(cuStreamWaitValue64, 9000) S(cuStreamWaitValue64_v2, 11070) S(cuStreamWriteValue32, 8000)                                \
    S(cuStreamWriteValue32_v2, 11070) S(cuStreamWriteValue64, 9000) S(cuStreamWriteValue64_v2, 11070)                          \
    X(cuSurfObjectCreate, 5000) X(cuSurfObjectDestroy, 5000) X(cuSurfObjectGetResourceDesc, 5000)                              \
    X(cuSurfRefGetArray, 3000) X(cuSurfRefSetArray, 3000) X(cuTensorMapEncodeIm2col, 12000)                                    \
    X(cuTensorMapEncodeIm2colWide, 12080)                                                                                      \
    X(cuTexObjectCreate, 5000) X(cuTexObjectDestroy, 5000) X(cuTexObjectGetResourceDesc, 5000)                                 \
    X(cuTexObjectGetResourceViewDesc, 5000) X(cuTexObjectGetTextureDesc, 5000) X(cuTexRefCreate, 2000)                         \
    X(cuTexRefDestroy, 2000) X(cuTexRefGetAddress, 2000) X(cuTexRefGetAddressMode, 2000) X(cuTexRefGetAddress_v2, 3020)        \
    X(cuTexRefGetArray, 2000) X(cuTexRefGetBorderColor, 8000) X(cuTexRefGetFilterMode, 2000) X(cuTexRefGetFlags, 2000)         \
    X(cuTexRefGetFormat, 2000) X(cuTexRefGetMaxAnisotropy, 5000) X(cuTexRefGetMipmapFilterMode, 5000)                          \
    X(cuTexRefGetMipmapLevelBias, 5000) X(cuTexRefGetMipmapLevelClamp, 5000) X(cuTexRefGetMipmappedArray, 5000)                \
    X(cuTexRefSetAddress, 2000) X(cuTexRefSetAddress2D, 2020) X(cuTexRefSetAddress2D_v2, 3020)                                 \
    X(cuTexRefSetAddress2D_v3, 4010) X(cuTexRefSetAddressMode, 2000) X(cuTexRefSetAddress_v2, 3020)                            \
    X(cuTexRefSetArray, 2000) X(cuTexRefSetBorderColor, 8000) X(cuTexRefSetFilterMode, 2000) X(cuTexRefSetFlags, 2000)         \
    X(cuTexRefSetFormat, 2000) X(cuTexRefSetMaxAnisotropy, 5000) X(cuTexRefSetMipmapFilterMode, 5000)                          \
    X(cuTexRefSetMipmapLevelBias, 5000) X(cuTexRefSetMipmapLevelClamp, 5000) X(cuTexRefSetMipmappedArray, 5000)                \
    X(cuVDPAUCtxCreate, 3010)                                                                                                  \
    X(cuVDPAUCtxCreate_v2, 3020) X(cuVDPAUGetDevice, 3010) X(cuWGLGetDevice, 2020) S(cuWaitExternalSemaphoresAsync, 10000)
/* clang-format on */

static CUresult refuse(const char *symbol, atomic_flag *was_said)
{
    if (!atomic_flag_test_and_set(was_said))
        emu_driver_log("%s is not supported", symbol);
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* Any arguments will do: the caller cleans them up. */
#define EMU_X(symbol, version)                          \
    CUresult symbol(void);                              \
    CUresult EMU_EXPORT symbol(void)                    \
    {                                                   \
        static atomic_flag was_said = ATOMIC_FLAG_INIT; \
        return refuse(#symbol, &was_said);              \
    }
#define EMU_S(symbol, version) EMU_X(symbol, version) EMU_X(symbol##_ptsz, 0)
#define EMU_D(symbol, version) EMU_X(symbol, version) EMU_X(symbol##_ptds, 0)
EMU_NOT_SUPPORTED(EMU_X, EMU_S, EMU_D)
#undef EMU_X

static const struct {
    const char *symbol;
    int version;
    CUresult (*function)(void);
} stubs[] = {
#define EMU_X(symbol, version) {#symbol, version, symbol},
    EMU_NOT_SUPPORTED(EMU_X, EMU_X, EMU_X)
#undef EMU_X
};

/* Is it that function in any version: cuTexRefSetAddress2D, cuTexRefSetAddress2D_v2? */
static bool is_version_of(const char *symbol, const char *name)
{
    const size_t length = strlen(name);

    return strncmp(symbol, name, length) == 0 &&
           (symbol[length] == '\0' || (strncmp(symbol + length, "_v", 2) == 0 && isdigit((unsigned char)symbol[length + 2])));
}

void *emu_not_supported_find(const char *name, int version, int *found_version, bool *is_known)
{
    void *found = NULL;

    for (size_t i = 0; i < sizeof stubs / sizeof *stubs; i++) {
        if (!is_version_of(stubs[i].symbol, name))
            continue;
        *is_known = true;
        if (stubs[i].version <= version && (!found || stubs[i].version > *found_version)) {
            *found_version = stubs[i].version;
            memcpy(&found, &stubs[i].function, sizeof found);
        }
    }
    return found;
}
