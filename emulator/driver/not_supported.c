/* SPDX-License-Identifier: Apache-2.0 */
/*
 * not_supported: the functions of the CUDA Driver API 13.0 that the emulator does not have.
 *
 * A program that links them all, or looks them up, finds them; a call says so once on stderr and answers
 * CUDA_ERROR_NOT_SUPPORTED.
 */
#include "driver.h"

#include <stdatomic.h>
#include <string.h>

/* X(name, symbol, version) as in functions.h; version 0: cuGetProcAddress does not know it. */
/* clang-format off */
#define EMU_NOT_SUPPORTED(X) \
    X(cuArray3DCreate, cuArray3DCreate, 2000) X(cuArray3DCreate, cuArray3DCreate_v2, 3020)                                     \
    X(cuArray3DGetDescriptor, cuArray3DGetDescriptor, 2000) X(cuArray3DGetDescriptor, cuArray3DGetDescriptor_v2, 3020)         \
    X(cuArrayCreate, cuArrayCreate, 2000) X(cuArrayCreate, cuArrayCreate_v2, 3020) X(cuArrayDestroy, cuArrayDestroy, 2000)     \
    X(cuArrayGetDescriptor, cuArrayGetDescriptor, 2000) X(cuArrayGetDescriptor, cuArrayGetDescriptor_v2, 3020)                 \
    X(cuArrayGetMemoryRequirements, cuArrayGetMemoryRequirements, 11060) X(cuArrayGetPlane, cuArrayGetPlane, 11020)            \
    X(cuArrayGetSparseProperties, cuArrayGetSparseProperties, 11010)                                                           \
    X(cuCheckpointProcessCheckpoint, cuCheckpointProcessCheckpoint, 12080)                                                     \
    X(cuCheckpointProcessGetRestoreThreadId, cuCheckpointProcessGetRestoreThreadId, 12080)                                     \
    X(cuCheckpointProcessGetState, cuCheckpointProcessGetState, 12080)                                                         \
    X(cuCheckpointProcessLock, cuCheckpointProcessLock, 12080)                                                                 \
    X(cuCheckpointProcessRestore, cuCheckpointProcessRestore, 12080)                                                           \
    X(cuCheckpointProcessUnlock, cuCheckpointProcessUnlock, 12080) X(cuCoredumpGetAttribute, cuCoredumpGetAttribute, 12010)    \
    X(cuCoredumpGetAttributeGlobal, cuCoredumpGetAttributeGlobal, 12010)                                                       \
    X(cuCoredumpSetAttribute, cuCoredumpSetAttribute, 12010)                                                                   \
    X(cuCoredumpSetAttributeGlobal, cuCoredumpSetAttributeGlobal, 12010)                                                       \
    X(cuCtxCreate, cuCtxCreate, 2000) X(cuCtxFromGreenCtx, cuCtxFromGreenCtx, 12040)                                           \
    X(cuCtxGetDevResource, cuCtxGetDevResource, 12040) X(cuCtxGetExecAffinity, cuCtxGetExecAffinity, 11040)                    \
    X(cuCtxRecordEvent, cuCtxRecordEvent, 12050) X(cuCtxWaitEvent, cuCtxWaitEvent, 12050)                                      \
    X(cuDestroyExternalMemory, cuDestroyExternalMemory, 10000)                                                                 \
    X(cuDestroyExternalSemaphore, cuDestroyExternalSemaphore, 10000)                                                           \
    X(cuDevResourceGenerateDesc, cuDevResourceGenerateDesc, 12040)                                                             \
    X(cuDevSmResourceSplitByCount, cuDevSmResourceSplitByCount, 12040)                                                         \
    X(cuDeviceGetDevResource, cuDeviceGetDevResource, 12040)                                                                   \
    X(cuDeviceGetGraphMemAttribute, cuDeviceGetGraphMemAttribute, 11040)                                                       \
    X(cuDeviceGetHostAtomicCapabilities, cuDeviceGetHostAtomicCapabilities, 13000)                                             \
    X(cuDeviceGetLuid, cuDeviceGetLuid, 10000) X(cuDeviceGetNvSciSyncAttributes, cuDeviceGetNvSciSyncAttributes, 10020)        \
    X(cuDeviceGetP2PAtomicCapabilities, cuDeviceGetP2PAtomicCapabilities, 13000)                                               \
    X(cuDeviceGetTexture1DLinearMaxWidth, cuDeviceGetTexture1DLinearMaxWidth, 11010)                                           \
    X(cuDeviceGraphMemTrim, cuDeviceGraphMemTrim, 11040)                                                                       \
    X(cuDeviceRegisterAsyncNotification, cuDeviceRegisterAsyncNotification, 12040)                                             \
    X(cuDeviceSetGraphMemAttribute, cuDeviceSetGraphMemAttribute, 11040) X(cuDeviceTotalMem, cuDeviceTotalMem, 2000)           \
    X(cuDeviceUnregisterAsyncNotification, cuDeviceUnregisterAsyncNotification, 12040)                                         \
    X(cuEGLStreamConsumerAcquireFrame, cuEGLStreamConsumerAcquireFrame, 7000)                                                  \
    X(cuEGLStreamConsumerConnect, cuEGLStreamConsumerConnect, 7000)                                                            \
    X(cuEGLStreamConsumerConnectWithFlags, cuEGLStreamConsumerConnectWithFlags, 8000)                                          \
    X(cuEGLStreamConsumerDisconnect, cuEGLStreamConsumerDisconnect, 7000)                                                      \
    X(cuEGLStreamConsumerReleaseFrame, cuEGLStreamConsumerReleaseFrame, 7000)                                                  \
    X(cuEGLStreamProducerConnect, cuEGLStreamProducerConnect, 7000)                                                            \
    X(cuEGLStreamProducerDisconnect, cuEGLStreamProducerDisconnect, 7000)                                                      \
    X(cuEGLStreamProducerPresentFrame, cuEGLStreamProducerPresentFrame, 7000)                                                  \
    X(cuEGLStreamProducerReturnFrame, cuEGLStreamProducerReturnFrame, 7000)                                                    \
    X(cuEventCreateFromEGLSync, cuEventCreateFromEGLSync, 9000)                                                                \
    X(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer, 10000)                                                 \
    X(cuExternalMemoryGetMappedMipmappedArray, cuExternalMemoryGetMappedMipmappedArray, 10000)                                 \
    X(cuFlushGPUDirectRDMAWrites, cuFlushGPUDirectRDMAWrites, 11030)                                                           \
    X(cuGLCtxCreate, cuGLCtxCreate, 2000)                                                                                      \
    X(cuGLCtxCreate, cuGLCtxCreate_v2, 3020) X(cuGLGetDevices, cuGLGetDevices, 4010)                                           \
    X(cuGLGetDevices, cuGLGetDevices_v2, 6050) X(cuGLInit, cuGLInit, 2000)                                                     \
    X(cuGLMapBufferObject, cuGLMapBufferObject, 2000) X(cuGLMapBufferObjectAsync, cuGLMapBufferObjectAsync, 2030)              \
    X(cuGLMapBufferObjectAsync, cuGLMapBufferObjectAsync_v2, 3020)                                                             \
    X(cuGLMapBufferObjectAsync, cuGLMapBufferObjectAsync_v2_ptsz, 0) X(cuGLMapBufferObject, cuGLMapBufferObject_v2, 3020)      \
    X(cuGLMapBufferObject, cuGLMapBufferObject_v2_ptds, 0) X(cuGLRegisterBufferObject, cuGLRegisterBufferObject, 2000)         \
    X(cuGLSetBufferObjectMapFlags, cuGLSetBufferObjectMapFlags, 2030) X(cuGLUnmapBufferObject, cuGLUnmapBufferObject, 2000)    \
    X(cuGLUnmapBufferObjectAsync, cuGLUnmapBufferObjectAsync, 2030)                                                            \
    X(cuGLUnregisterBufferObject, cuGLUnregisterBufferObject, 2000)                                                            \
    X(cuGraphAddBatchMemOpNode, cuGraphAddBatchMemOpNode, 11070)                                                               \
    X(cuGraphAddChildGraphNode, cuGraphAddChildGraphNode, 10000) X(cuGraphAddDependencies, cuGraphAddDependencies, 10000)      \
    X(cuGraphAddDependencies, cuGraphAddDependencies_v2, 12030) X(cuGraphAddEmptyNode, cuGraphAddEmptyNode, 10000)             \
    X(cuGraphAddEventRecordNode, cuGraphAddEventRecordNode, 11010)                                                             \
    X(cuGraphAddEventWaitNode, cuGraphAddEventWaitNode, 11010)                                                                 \
    X(cuGraphAddExternalSemaphoresSignalNode, cuGraphAddExternalSemaphoresSignalNode, 11020)                                   \
    X(cuGraphAddExternalSemaphoresWaitNode, cuGraphAddExternalSemaphoresWaitNode, 11020)                                       \
    X(cuGraphAddHostNode, cuGraphAddHostNode, 10000) X(cuGraphAddKernelNode, cuGraphAddKernelNode, 10000)                      \
    X(cuGraphAddKernelNode, cuGraphAddKernelNode_v2, 12000) X(cuGraphAddMemAllocNode, cuGraphAddMemAllocNode, 11040)           \
    X(cuGraphAddMemFreeNode, cuGraphAddMemFreeNode, 11040) X(cuGraphAddMemcpyNode, cuGraphAddMemcpyNode, 10000)                \
    X(cuGraphAddMemsetNode, cuGraphAddMemsetNode, 10000) X(cuGraphAddNode, cuGraphAddNode, 12020)                              \
    X(cuGraphAddNode, cuGraphAddNode_v2, 12030) X(cuGraphBatchMemOpNodeGetParams, cuGraphBatchMemOpNodeGetParams, 11070)       \
    X(cuGraphBatchMemOpNodeSetParams, cuGraphBatchMemOpNodeSetParams, 11070)                                                   \
    X(cuGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph, 10000)                                                     \
    X(cuGraphConditionalHandleCreate, cuGraphConditionalHandleCreate, 12030) X(cuGraphCreate, cuGraphCreate, 10000)            \
    X(cuGraphDebugDotPrint, cuGraphDebugDotPrint, 11030) X(cuGraphDestroyNode, cuGraphDestroyNode, 10000)                      \
    X(cuGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeGetEvent, 11010)                                                   \
    X(cuGraphEventRecordNodeSetEvent, cuGraphEventRecordNodeSetEvent, 11010)                                                   \
    X(cuGraphEventWaitNodeGetEvent, cuGraphEventWaitNodeGetEvent, 11010)                                                       \
    X(cuGraphEventWaitNodeSetEvent, cuGraphEventWaitNodeSetEvent, 11010)                                                       \
    X(cuGraphExecBatchMemOpNodeSetParams, cuGraphExecBatchMemOpNodeSetParams, 11070)                                           \
    X(cuGraphExecChildGraphNodeSetParams, cuGraphExecChildGraphNodeSetParams, 11010)                                           \
    X(cuGraphExecEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent, 11010)                                           \
    X(cuGraphExecEventWaitNodeSetEvent, cuGraphExecEventWaitNodeSetEvent, 11010)                                               \
    X(cuGraphExecExternalSemaphoresSignalNodeSetParams, cuGraphExecExternalSemaphoresSignalNodeSetParams, 11020)               \
    X(cuGraphExecExternalSemaphoresWaitNodeSetParams, cuGraphExecExternalSemaphoresWaitNodeSetParams, 11020)                   \
    X(cuGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams, 10020)                                                       \
    X(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams, 10010)                                                   \
    X(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2, 12000)                                                \
    X(cuGraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams, 10020)                                                   \
    X(cuGraphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams, 10020)                                                   \
    X(cuGraphExecNodeSetParams, cuGraphExecNodeSetParams, 12020) X(cuGraphExecUpdate, cuGraphExecUpdate, 10020)                \
    X(cuGraphExecUpdate, cuGraphExecUpdate_v2, 12000)                                                                          \
    X(cuGraphExternalSemaphoresSignalNodeGetParams, cuGraphExternalSemaphoresSignalNodeGetParams, 11020)                       \
    X(cuGraphExternalSemaphoresSignalNodeSetParams, cuGraphExternalSemaphoresSignalNodeSetParams, 11020)                       \
    X(cuGraphExternalSemaphoresWaitNodeGetParams, cuGraphExternalSemaphoresWaitNodeGetParams, 11020)                           \
    X(cuGraphExternalSemaphoresWaitNodeSetParams, cuGraphExternalSemaphoresWaitNodeSetParams, 11020)                           \
    X(cuGraphGetEdges, cuGraphGetEdges, 10000) X(cuGraphGetEdges, cuGraphGetEdges_v2, 12030)                                   \
    X(cuGraphHostNodeGetParams, cuGraphHostNodeGetParams, 10000)                                                               \
    X(cuGraphHostNodeSetParams, cuGraphHostNodeSetParams, 10000)                                                               \
    X(cuGraphKernelNodeCopyAttributes, cuGraphKernelNodeCopyAttributes, 11000)                                                 \
    X(cuGraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute, 11000)                                                     \
    X(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams, 10000)                                                           \
    X(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2, 12000)                                                        \
    X(cuGraphKernelNodeSetAttribute, cuGraphKernelNodeSetAttribute, 11000)                                                     \
    X(cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams, 10000)                                                           \
    X(cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams_v2, 12000)                                                        \
    X(cuGraphMemAllocNodeGetParams, cuGraphMemAllocNodeGetParams, 11040)                                                       \
    X(cuGraphMemFreeNodeGetParams, cuGraphMemFreeNodeGetParams, 11040)                                                         \
    X(cuGraphMemcpyNodeGetParams, cuGraphMemcpyNodeGetParams, 10000)                                                           \
    X(cuGraphMemcpyNodeSetParams, cuGraphMemcpyNodeSetParams, 10000)                                                           \
    X(cuGraphMemsetNodeGetParams, cuGraphMemsetNodeGetParams, 10000)                                                           \
    X(cuGraphMemsetNodeSetParams, cuGraphMemsetNodeSetParams, 10000)                                                           \
    X(cuGraphNodeFindInClone, cuGraphNodeFindInClone, 10000)                                                                   \
    X(cuGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2, 12030)                                                        \
    X(cuGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes, 10000)                                                       \
    X(cuGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v2, 12030)                                                    \
    X(cuGraphNodeGetEnabled, cuGraphNodeGetEnabled, 11060) X(cuGraphNodeSetEnabled, cuGraphNodeSetEnabled, 11060)              \
    X(cuGraphNodeSetParams, cuGraphNodeSetParams, 12020) X(cuGraphReleaseUserObject, cuGraphReleaseUserObject, 11030)          \
    X(cuGraphRemoveDependencies, cuGraphRemoveDependencies, 10000)                                                             \
    X(cuGraphRemoveDependencies, cuGraphRemoveDependencies_v2, 12030)                                                          \
    X(cuGraphRetainUserObject, cuGraphRetainUserObject, 11030)                                                                 \
    X(cuGraphicsEGLRegisterImage, cuGraphicsEGLRegisterImage, 7000)                                                            \
    X(cuGraphicsGLRegisterBuffer, cuGraphicsGLRegisterBuffer, 3000)                                                            \
    X(cuGraphicsGLRegisterImage, cuGraphicsGLRegisterImage, 3000) X(cuGraphicsMapResources, cuGraphicsMapResources, 3000)      \
    X(cuGraphicsMapResources, cuGraphicsMapResources_ptsz, 0)                                                                  \
    X(cuGraphicsResourceGetMappedEglFrame, cuGraphicsResourceGetMappedEglFrame, 7000)                                          \
    X(cuGraphicsResourceGetMappedMipmappedArray, cuGraphicsResourceGetMappedMipmappedArray, 5000)                              \
    X(cuGraphicsResourceGetMappedPointer, cuGraphicsResourceGetMappedPointer, 3000)                                            \
    X(cuGraphicsResourceGetMappedPointer, cuGraphicsResourceGetMappedPointer_v2, 3020)                                         \
    X(cuGraphicsResourceSetMapFlags, cuGraphicsResourceSetMapFlags, 3000)                                                      \
    X(cuGraphicsResourceSetMapFlags, cuGraphicsResourceSetMapFlags_v2, 6050)                                                   \
    X(cuGraphicsSubResourceGetMappedArray, cuGraphicsSubResourceGetMappedArray, 3000)                                          \
    X(cuGraphicsUnmapResources, cuGraphicsUnmapResources, 3000)                                                                \
    X(cuGraphicsUnmapResources, cuGraphicsUnmapResources_ptsz, 0)                                                              \
    X(cuGraphicsUnregisterResource, cuGraphicsUnregisterResource, 3000)                                                        \
    X(cuGraphicsVDPAURegisterOutputSurface, cuGraphicsVDPAURegisterOutputSurface, 3010)                                        \
    X(cuGraphicsVDPAURegisterVideoSurface, cuGraphicsVDPAURegisterVideoSurface, 3010)                                          \
    X(cuGreenCtxCreate, cuGreenCtxCreate, 12040) X(cuGreenCtxDestroy, cuGreenCtxDestroy, 12040)                                \
    X(cuGreenCtxGetDevResource, cuGreenCtxGetDevResource, 12040) X(cuGreenCtxGetId, cuGreenCtxGetId, 12090)                    \
    X(cuGreenCtxRecordEvent, cuGreenCtxRecordEvent, 12040) X(cuGreenCtxStreamCreate, cuGreenCtxStreamCreate, 12050)            \
    X(cuGreenCtxWaitEvent, cuGreenCtxWaitEvent, 12040) X(cuImportExternalMemory, cuImportExternalMemory, 10000)                \
    X(cuImportExternalSemaphore, cuImportExternalSemaphore, 10000) X(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010)           \
    X(cuIpcGetEventHandle, cuIpcGetEventHandle, 4010) X(cuIpcGetMemHandle, cuIpcGetMemHandle, 4010)                            \
    X(cuIpcOpenEventHandle, cuIpcOpenEventHandle, 4010) X(cuIpcOpenMemHandle, cuIpcOpenMemHandle, 4010)                        \
    X(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2, 11000)                                                                        \
    X(cuLaunchCooperativeKernelMultiDevice, cuLaunchCooperativeKernelMultiDevice, 9000)                                        \
    X(cuLibraryGetManaged, cuLibraryGetManaged, 12000)                                                                         \
    X(cuLibraryGetUnifiedFunction, cuLibraryGetUnifiedFunction, 12000) X(cuLinkAddData, cuLinkAddData, 5050)                   \
    X(cuLinkAddFile, cuLinkAddFile, 5050)                                                                                      \
    X(cuLinkCreate, cuLinkCreate, 5050)                                                                                        \
    X(cuLogsCurrent, cuLogsCurrent, 12090)                                                                                     \
    X(cuLogsDumpToFile, cuLogsDumpToFile, 12090) X(cuLogsDumpToMemory, cuLogsDumpToMemory, 12090)                              \
    X(cuLogsRegisterCallback, cuLogsRegisterCallback, 12090) X(cuLogsUnregisterCallback, cuLogsUnregisterCallback, 12090)      \
    X(cuMemAddressFree, cuMemAddressFree, 10020) X(cuMemAddressReserve, cuMemAddressReserve, 10020)                            \
    X(cuMemAdvise, cuMemAdvise, 8000) X(cuMemAdvise, cuMemAdvise_v2, 12020) X(cuMemAlloc, cuMemAlloc, 2000)                    \
    X(cuMemAllocHost, cuMemAllocHost, 2000) X(cuMemAllocManaged, cuMemAllocManaged, 6000)                                      \
    X(cuMemAllocPitch, cuMemAllocPitch, 2000) X(cuMemBatchDecompressAsync, cuMemBatchDecompressAsync, 12060)                   \
    X(cuMemBatchDecompressAsync, cuMemBatchDecompressAsync_ptsz, 0) X(cuMemCreate, cuMemCreate, 10020)                         \
    X(cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync, 13000)                                             \
    X(cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync_ptsz, 0)                                            \
    X(cuMemDiscardBatchAsync, cuMemDiscardBatchAsync, 13000) X(cuMemDiscardBatchAsync, cuMemDiscardBatchAsync_ptsz, 0)         \
    X(cuMemExportToShareableHandle, cuMemExportToShareableHandle, 10020) X(cuMemFree, cuMemFree, 2000)                         \
    X(cuMemGetAccess, cuMemGetAccess, 10020) X(cuMemGetAddressRange, cuMemGetAddressRange, 2000)                               \
    X(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity, 10020)                                                     \
    X(cuMemGetAllocationPropertiesFromHandle, cuMemGetAllocationPropertiesFromHandle, 10020)                                   \
    X(cuMemGetDefaultMemPool, cuMemGetDefaultMemPool, 13000)                                                                   \
    X(cuMemGetHandleForAddressRange, cuMemGetHandleForAddressRange, 11070) X(cuMemGetInfo, cuMemGetInfo, 2000)                 \
    X(cuMemGetMemPool, cuMemGetMemPool, 13000) X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer, 2020)                   \
    X(cuMemHostRegister, cuMemHostRegister, 4000)                                                                              \
    X(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, 10020) X(cuMemMap, cuMemMap, 10020)                      \
    X(cuMemMapArrayAsync, cuMemMapArrayAsync, 11010) X(cuMemMapArrayAsync, cuMemMapArrayAsync_ptsz, 0)                         \
    X(cuMemPoolCreate, cuMemPoolCreate, 11020) X(cuMemPoolDestroy, cuMemPoolDestroy, 11020)                                    \
    X(cuMemPoolExportPointer, cuMemPoolExportPointer, 11020)                                                                   \
    X(cuMemPoolExportToShareableHandle, cuMemPoolExportToShareableHandle, 11020)                                               \
    X(cuMemPoolGetAccess, cuMemPoolGetAccess, 11020)                                                                           \
    X(cuMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle, 11020)                                           \
    X(cuMemPoolImportPointer, cuMemPoolImportPointer, 11020) X(cuMemPoolSetAccess, cuMemPoolSetAccess, 11020)                  \
    X(cuMemPrefetchAsync, cuMemPrefetchAsync, 8000) X(cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz, 0)                          \
    X(cuMemPrefetchAsync, cuMemPrefetchAsync_v2, 12020) X(cuMemPrefetchAsync, cuMemPrefetchAsync_v2_ptsz, 0)                   \
    X(cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync, 13000) X(cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync_ptsz, 0)     \
    X(cuMemRangeGetAttribute, cuMemRangeGetAttribute, 8000) X(cuMemRangeGetAttributes, cuMemRangeGetAttributes, 8000)          \
    X(cuMemRelease, cuMemRelease, 10020) X(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000)                    \
    X(cuMemSetAccess, cuMemSetAccess, 10020) X(cuMemSetMemPool, cuMemSetMemPool, 13000) X(cuMemUnmap, cuMemUnmap, 10020)       \
    X(cuMemcpy2D, cuMemcpy2D, 2000) X(cuMemcpy2DAsync, cuMemcpy2DAsync, 2000)                                                  \
    X(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned, 2000) X(cuMemcpy3D, cuMemcpy3D, 2000)                                          \
    X(cuMemcpy3DAsync, cuMemcpy3DAsync, 2000) X(cuMemcpy3DAsync, cuMemcpy3DAsync_v2, 3020)                                     \
    X(cuMemcpy3DAsync, cuMemcpy3DAsync_v2_ptsz, 0) X(cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync, 12080)                        \
    X(cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_ptsz, 0) X(cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_v2, 13000)              \
    X(cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_v2_ptsz, 0) X(cuMemcpy3DPeer, cuMemcpy3DPeer, 4000)                           \
    X(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync, 4000) X(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz, 0)                      \
    X(cuMemcpy3DPeer, cuMemcpy3DPeer_ptds, 0) X(cuMemcpy3D, cuMemcpy3D_v2, 3020) X(cuMemcpy3D, cuMemcpy3D_v2_ptds, 0)          \
    X(cuMemcpyAtoA, cuMemcpyAtoA, 2000) X(cuMemcpyAtoA, cuMemcpyAtoA_v2, 3020) X(cuMemcpyAtoA, cuMemcpyAtoA_v2_ptds, 0)        \
    X(cuMemcpyAtoD, cuMemcpyAtoD, 2000) X(cuMemcpyAtoD, cuMemcpyAtoD_v2, 3020) X(cuMemcpyAtoD, cuMemcpyAtoD_v2_ptds, 0)        \
    X(cuMemcpyAtoH, cuMemcpyAtoH, 2000) X(cuMemcpyAtoHAsync, cuMemcpyAtoHAsync, 2000)                                          \
    X(cuMemcpyAtoHAsync, cuMemcpyAtoHAsync_v2, 3020) X(cuMemcpyAtoHAsync, cuMemcpyAtoHAsync_v2_ptsz, 0)                        \
    X(cuMemcpyAtoH, cuMemcpyAtoH_v2, 3020) X(cuMemcpyAtoH, cuMemcpyAtoH_v2_ptds, 0)                                            \
    X(cuMemcpyBatchAsync, cuMemcpyBatchAsync, 12080) X(cuMemcpyBatchAsync, cuMemcpyBatchAsync_ptsz, 0)                         \
    X(cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2, 13000) X(cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2_ptsz, 0)                   \
    X(cuMemcpyDtoA, cuMemcpyDtoA, 2000) X(cuMemcpyDtoA, cuMemcpyDtoA_v2, 3020) X(cuMemcpyDtoA, cuMemcpyDtoA_v2_ptds, 0)        \
    X(cuMemcpyDtoD, cuMemcpyDtoD, 2000) X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync, 3000) X(cuMemcpyDtoH, cuMemcpyDtoH, 2000)      \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync, 2000) X(cuMemcpyHtoA, cuMemcpyHtoA, 2000)                                          \
    X(cuMemcpyHtoAAsync, cuMemcpyHtoAAsync, 2000) X(cuMemcpyHtoAAsync, cuMemcpyHtoAAsync_v2, 3020)                             \
    X(cuMemcpyHtoAAsync, cuMemcpyHtoAAsync_v2_ptsz, 0) X(cuMemcpyHtoA, cuMemcpyHtoA_v2, 3020)                                  \
    X(cuMemcpyHtoA, cuMemcpyHtoA_v2_ptds, 0) X(cuMemcpyHtoD, cuMemcpyHtoD, 2000)                                               \
    X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync, 2000) X(cuMemsetD16, cuMemsetD16, 2000) X(cuMemsetD2D16, cuMemsetD2D16, 2000)      \
    X(cuMemsetD2D32, cuMemsetD2D32, 2000) X(cuMemsetD2D8, cuMemsetD2D8, 2000) X(cuMemsetD32, cuMemsetD32, 2000)                \
    X(cuMemsetD8, cuMemsetD8, 2000) X(cuMipmappedArrayCreate, cuMipmappedArrayCreate, 5000)                                    \
    X(cuMipmappedArrayDestroy, cuMipmappedArrayDestroy, 5000) X(cuMipmappedArrayGetLevel, cuMipmappedArrayGetLevel, 5000)      \
    X(cuMipmappedArrayGetMemoryRequirements, cuMipmappedArrayGetMemoryRequirements, 11060)                                     \
    X(cuMipmappedArrayGetSparseProperties, cuMipmappedArrayGetSparseProperties, 11010)                                         \
    X(cuModuleGetGlobal, cuModuleGetGlobal, 2000) X(cuModuleGetSurfRef, cuModuleGetSurfRef, 3000)                              \
    X(cuModuleGetTexRef, cuModuleGetTexRef, 2000) X(cuMulticastAddDevice, cuMulticastAddDevice, 12010)                         \
    X(cuMulticastBindAddr, cuMulticastBindAddr, 12010) X(cuMulticastBindMem, cuMulticastBindMem, 12010)                        \
    X(cuMulticastCreate, cuMulticastCreate, 12010) X(cuMulticastGetGranularity, cuMulticastGetGranularity, 12010)              \
    X(cuMulticastUnbind, cuMulticastUnbind, 12010) X(cuOccupancyMaxActiveClusters, cuOccupancyMaxActiveClusters, 11070)        \
    X(cuOccupancyMaxPotentialClusterSize, cuOccupancyMaxPotentialClusterSize, 11070)                                           \
    X(cuParamSetTexRef, cuParamSetTexRef, 2000)                                                                                \
    X(cuProfilerInitialize, cuProfilerInitialize, 4000)                                                                        \
    X(cuSignalExternalSemaphoresAsync, cuSignalExternalSemaphoresAsync, 10000)                                                 \
    X(cuSignalExternalSemaphoresAsync, cuSignalExternalSemaphoresAsync_ptsz, 0)                                                \
    X(cuStreamAttachMemAsync, cuStreamAttachMemAsync, 6000) X(cuStreamAttachMemAsync, cuStreamAttachMemAsync_ptsz, 0)          \
    X(cuStreamBatchMemOp, cuStreamBatchMemOp, 8000) X(cuStreamBatchMemOp, cuStreamBatchMemOp_ptsz, 0)                          \
    X(cuStreamBatchMemOp, cuStreamBatchMemOp_v2, 11070) X(cuStreamBatchMemOp, cuStreamBatchMemOp_v2_ptsz, 0)                   \
    X(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030)                                                         \
    X(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz, 0)                                                        \
    X(cuStreamCopyAttributes, cuStreamCopyAttributes, 11000) X(cuStreamCopyAttributes, cuStreamCopyAttributes_ptsz, 0)         \
    X(cuStreamGetAttribute, cuStreamGetAttribute, 11000) X(cuStreamGetAttribute, cuStreamGetAttribute_ptsz, 0)                 \
    X(cuStreamGetGreenCtx, cuStreamGetGreenCtx, 12040) X(cuStreamSetAttribute, cuStreamSetAttribute, 11000)                    \
    X(cuStreamSetAttribute, cuStreamSetAttribute_ptsz, 0)                                                                      \
    X(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies, 11030)                                             \
    X(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_ptsz, 0)                                            \
    X(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_v2, 12030)                                          \
    X(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_v2_ptsz, 0)                                         \
    X(cuStreamWaitValue32, cuStreamWaitValue32, 8000) X(cuStreamWaitValue32, cuStreamWaitValue32_ptsz, 0)                      \
    X(cuStreamWaitValue32, cuStreamWaitValue32_v2, 11070) X(cuStreamWaitValue32, cuStreamWaitValue32_v2_ptsz, 0)               \
    X(cuStreamWaitValue64, cuStreamWaitValue64, 9000) X(cuStreamWaitValue64, cuStreamWaitValue64_ptsz, 0)                      \
    X(cuStreamWaitValue64, cuStreamWaitValue64_v2, 11070) X(cuStreamWaitValue64, cuStreamWaitValue64_v2_ptsz, 0)               \
    X(cuStreamWriteValue32, cuStreamWriteValue32, 8000) X(cuStreamWriteValue32, cuStreamWriteValue32_ptsz, 0)                  \
    X(cuStreamWriteValue32, cuStreamWriteValue32_v2, 11070) X(cuStreamWriteValue32, cuStreamWriteValue32_v2_ptsz, 0)           \
    X(cuStreamWriteValue64, cuStreamWriteValue64, 9000) X(cuStreamWriteValue64, cuStreamWriteValue64_ptsz, 0)                  \
    X(cuStreamWriteValue64, cuStreamWriteValue64_v2, 11070) X(cuStreamWriteValue64, cuStreamWriteValue64_v2_ptsz, 0)           \
    X(cuSurfObjectCreate, cuSurfObjectCreate, 5000) X(cuSurfObjectDestroy, cuSurfObjectDestroy, 5000)                          \
    X(cuSurfObjectGetResourceDesc, cuSurfObjectGetResourceDesc, 5000) X(cuSurfRefGetArray, cuSurfRefGetArray, 3000)            \
    X(cuSurfRefSetArray, cuSurfRefSetArray, 3000) X(cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2col, 12000)                   \
    X(cuTensorMapEncodeIm2colWide, cuTensorMapEncodeIm2colWide, 12080)                                                         \
    X(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled, 12000) X(cuTensorMapReplaceAddress, cuTensorMapReplaceAddress, 12000)    \
    X(cuTexObjectCreate, cuTexObjectCreate, 5000) X(cuTexObjectDestroy, cuTexObjectDestroy, 5000)                              \
    X(cuTexObjectGetResourceDesc, cuTexObjectGetResourceDesc, 5000)                                                            \
    X(cuTexObjectGetResourceViewDesc, cuTexObjectGetResourceViewDesc, 5000)                                                    \
    X(cuTexObjectGetTextureDesc, cuTexObjectGetTextureDesc, 5000) X(cuTexRefCreate, cuTexRefCreate, 2000)                      \
    X(cuTexRefDestroy, cuTexRefDestroy, 2000) X(cuTexRefGetAddress, cuTexRefGetAddress, 2000)                                  \
    X(cuTexRefGetAddressMode, cuTexRefGetAddressMode, 2000) X(cuTexRefGetAddress, cuTexRefGetAddress_v2, 3020)                 \
    X(cuTexRefGetArray, cuTexRefGetArray, 2000) X(cuTexRefGetBorderColor, cuTexRefGetBorderColor, 8000)                        \
    X(cuTexRefGetFilterMode, cuTexRefGetFilterMode, 2000) X(cuTexRefGetFlags, cuTexRefGetFlags, 2000)                          \
    X(cuTexRefGetFormat, cuTexRefGetFormat, 2000) X(cuTexRefGetMaxAnisotropy, cuTexRefGetMaxAnisotropy, 5000)                  \
    X(cuTexRefGetMipmapFilterMode, cuTexRefGetMipmapFilterMode, 5000)                                                          \
    X(cuTexRefGetMipmapLevelBias, cuTexRefGetMipmapLevelBias, 5000)                                                            \
    X(cuTexRefGetMipmapLevelClamp, cuTexRefGetMipmapLevelClamp, 5000)                                                          \
    X(cuTexRefGetMipmappedArray, cuTexRefGetMipmappedArray, 5000) X(cuTexRefSetAddress, cuTexRefSetAddress, 2000)              \
    X(cuTexRefSetAddress2D, cuTexRefSetAddress2D, 2020) X(cuTexRefSetAddress2D, cuTexRefSetAddress2D_v2, 3020)                 \
    X(cuTexRefSetAddress2D, cuTexRefSetAddress2D_v3, 4010) X(cuTexRefSetAddressMode, cuTexRefSetAddressMode, 2000)             \
    X(cuTexRefSetAddress, cuTexRefSetAddress_v2, 3020) X(cuTexRefSetArray, cuTexRefSetArray, 2000)                             \
    X(cuTexRefSetBorderColor, cuTexRefSetBorderColor, 8000) X(cuTexRefSetFilterMode, cuTexRefSetFilterMode, 2000)              \
    X(cuTexRefSetFlags, cuTexRefSetFlags, 2000) X(cuTexRefSetFormat, cuTexRefSetFormat, 2000)                                  \
    X(cuTexRefSetMaxAnisotropy, cuTexRefSetMaxAnisotropy, 5000)                                                                \
    X(cuTexRefSetMipmapFilterMode, cuTexRefSetMipmapFilterMode, 5000)                                                          \
    X(cuTexRefSetMipmapLevelBias, cuTexRefSetMipmapLevelBias, 5000)                                                            \
    X(cuTexRefSetMipmapLevelClamp, cuTexRefSetMipmapLevelClamp, 5000)                                                          \
    X(cuTexRefSetMipmappedArray, cuTexRefSetMipmappedArray, 5000) X(cuUserObjectCreate, cuUserObjectCreate, 11030)             \
    X(cuUserObjectRelease, cuUserObjectRelease, 11030) X(cuUserObjectRetain, cuUserObjectRetain, 11030)                        \
    X(cuVDPAUCtxCreate, cuVDPAUCtxCreate, 3010) X(cuVDPAUCtxCreate, cuVDPAUCtxCreate_v2, 3020)                                 \
    X(cuVDPAUGetDevice, cuVDPAUGetDevice, 3010) X(cuWGLGetDevice, cuWGLGetDevice, 2020)                                        \
    X(cuWaitExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync, 10000)                                                     \
    X(cuWaitExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync_ptsz, 0)
/* clang-format on */

#define EMU_PROTOTYPE(name, symbol, version) CUresult symbol(void);
EMU_NOT_SUPPORTED(EMU_PROTOTYPE)
#undef EMU_PROTOTYPE

static CUresult refuse(const char *symbol, atomic_flag *was_said)
{
    if (!atomic_flag_test_and_set(was_said))
        emu_driver_log("%s is not supported", symbol);
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* Whatever the arguments are, the caller cleans them up. */
#define EMU_DEFINE(name, symbol, version)               \
    CUresult EMU_EXPORT symbol(void)                    \
    {                                                   \
        static atomic_flag was_said = ATOMIC_FLAG_INIT; \
        return refuse(#symbol, &was_said);              \
    }
EMU_NOT_SUPPORTED(EMU_DEFINE)
#undef EMU_DEFINE

static const struct {
    const char *name;
    int version;
    CUresult (*function)(void);
} stubs[] = {
#define EMU_ENTRY(name, symbol, version) {#name, version, symbol},
    EMU_NOT_SUPPORTED(EMU_ENTRY)
#undef EMU_ENTRY
};

void *emu_not_supported_find(const char *name, int version, int *found_version, bool *is_known)
{
    void *found = NULL;

    for (size_t i = 0; i < sizeof stubs / sizeof *stubs; i++) {
        if (!stubs[i].version || strcmp(stubs[i].name, name) != 0)
            continue;
        *is_known = true;
        if (stubs[i].version <= version && (!found || stubs[i].version > *found_version)) {
            *found_version = stubs[i].version;
            memcpy(&found, &stubs[i].function, sizeof found);
        }
    }
    return found;
}
