/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include <stddef.h>

/*
 * The limits that a compute capability fixes are those of the CUDA programming guide's tables; memory, caches and clocks are
 * those of the named product. reserved_shared is what the system keeps of each block's shared memory.
 */
static const emu_device devices[] = {
    /* capability, like, processors, threads, blocks, registers, shared memory of a processor, opt-in, reserved, L2, bus bits,
       clock, memory clock, memory */
    {75, "T4", 40, 1024, 16, 65536, 65536, 65536, 0, 4 << 20, 256, 1590000, 5001000, UINT64_C(15828320256)},
    {80, "A100 80GB", 108, 2048, 32, 65536, 167936, 166912, 1024, 40 << 20, 5120, 1410000, 1593000, UINT64_C(84974239744)},
    {86, "A10", 72, 1536, 16, 65536, 102400, 101376, 1024, 6 << 20, 384, 1695000, 6251000, UINT64_C(23609475072)},
    {89, "L4", 58, 1536, 24, 65536, 102400, 101376, 1024, 48 << 20, 192, 2040000, 6251000, UINT64_C(23580639232)},
    {90, "H200", 132, 2048, 32, 65536, 233472, 232448, 1024, 60 << 20, 6144, 1980000, 3201000, UINT64_C(150109880320)},
    {100, "B200", 148, 2048, 32, 65536, 233472, 232448, 1024, 126 << 20, 8192, 1965000, 3996000, UINT64_C(191514869760)},
    {103, "B300", 148, 2048, 32, 65536, 233472, 232448, 1024, 126 << 20, 8192, 1920000, 3996000, UINT64_C(288803454976)},
    {110, "Thor", 20, 1536, 24, 65536, 233472, 232448, 1024, 32 << 20, 256, 1575000, 4266000, UINT64_C(131072000000)},
    {120, "RTX 5090", 170, 1536, 24, 65536, 102400, 101376, 1024, 96 << 20, 512, 2407000, 14001000, UINT64_C(34190458880)},
    {121, "GB10", 48, 1536, 24, 65536, 102400, 101376, 1024, 24 << 20, 256, 2418000, 4266000, UINT64_C(128446967808)},
};

const emu_device *emu_device_find(int capability)
{
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (devices[i].capability == capability)
            return &devices[i];
    return NULL;
}

const char *emu_device_names(void)
{
    return "sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_103, sm_110, sm_120, sm_121";
}

/* Numbers of CUdevice_attribute whose values are the same for all these devices. */
static const struct {
    int attribute, value;
} constants[] = {
    {1, 1024},                                     /* MAX_THREADS_PER_BLOCK */
    {2, 1024},                                     /* MAX_BLOCK_DIM_X, Y, Z */
    {3, 1024},        {4, 64},    {5, 2147483647}, /* MAX_GRID_DIM_X, Y, Z */
    {6, 65535},       {7, 65535}, {8, 49152},      /* MAX_SHARED_MEMORY_PER_BLOCK */
    {9, 65536},                                    /* TOTAL_CONSTANT_MEMORY */
    {10, 32},                                      /* WARP_SIZE */
    {11, 2147483647},                              /* MAX_PITCH */
    {12, 65536},                                   /* MAX_REGISTERS_PER_BLOCK */
    {14, 512},                                     /* TEXTURE_ALIGNMENT */
    {15, 1},                                       /* GPU_OVERLAP */
    {17, 0},                                       /* KERNEL_EXEC_TIMEOUT */
    {18, 0},                                       /* INTEGRATED */
    {19, 1},                                       /* CAN_MAP_HOST_MEMORY */
    {20, 0},                                       /* COMPUTE_MODE: default */
    {30, 512},                                     /* SURFACE_ALIGNMENT */
    {31, 1},                                       /* CONCURRENT_KERNELS */
    {32, 0},                                       /* ECC_ENABLED */
    {34, 0},                                       /* PCI_DEVICE_ID */
    {35, 0},                                       /* TCC_DRIVER */
    {40, 2},                                       /* ASYNC_ENGINE_COUNT */
    {41, 1},                                       /* UNIFIED_ADDRESSING */
    {50, 0},                                       /* PCI_DOMAIN_ID */
    {51, 32},                                      /* TEXTURE_PITCH_ALIGNMENT */
    {78, 1},                                       /* STREAM_PRIORITIES_SUPPORTED */
    {79, 1},                                       /* GLOBAL_L1_CACHE_SUPPORTED */
    {80, 1},                                       /* LOCAL_L1_CACHE_SUPPORTED */
    {83, 0},                                       /* MANAGED_MEMORY */
    {84, 0},                                       /* MULTI_GPU_BOARD, its group */
    {85, 0},          {86, 0},                     /* HOST_NATIVE_ATOMIC_SUPPORTED */
    {88, 0},                                       /* PAGEABLE_MEMORY_ACCESS */
    {89, 0},                                       /* CONCURRENT_MANAGED_ACCESS */
    {90, 1},                                       /* COMPUTE_PREEMPTION_SUPPORTED */
    {91, 1},                                       /* CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM */
    {92, 0},                                       /* CAN_USE_STREAM_MEM_OPS_V1 and what follows it */
    {93, 0},          {94, 0},    {95, 0},         /* COOPERATIVE_LAUNCH */
    {96, 0},                                       /* COOPERATIVE_MULTI_DEVICE_LAUNCH */
    {98, 0},                                       /* CAN_FLUSH_REMOTE_WRITES */
    {99, 1},                                       /* HOST_REGISTER_SUPPORTED */
    {100, 0},                                      /* PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES */
    {101, 0},                                      /* DIRECT_MANAGED_MEM_ACCESS_FROM_HOST */
    {102, 0},                                      /* VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
    {103, 0},                                      /* HANDLE_TYPE_... */
    {104, 0},         {105, 0},   {107, 0},        /* GENERIC_COMPRESSION_SUPPORTED */
    {108, 0},                                      /* MAX_PERSISTING_L2_CACHE_SIZE */
    {109, 0},                                      /* MAX_ACCESS_POLICY_WINDOW_SIZE */
    {110, 0},                                      /* GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED */
    {112, 0},                                      /* SPARSE_CUDA_ARRAY_SUPPORTED */
    {113, 0},                                      /* READ_ONLY_HOST_REGISTER_SUPPORTED */
    {114, 0},                                      /* TIMELINE_SEMAPHORE_INTEROP_SUPPORTED */
    {115, 1},                                      /* MEMORY_POOLS_SUPPORTED */
    {116, 0},                                      /* GPU_DIRECT_RDMA_... */
    {117, 0},         {118, 0},   {119, 0},        /* MEMPOOL_SUPPORTED_HANDLE_TYPES */
    {120, 0},                                      /* CLUSTER_LAUNCH */
    {121, 0},                                      /* DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED */
    {122, 0},                                      /* CAN_USE_64_BIT_STREAM_MEM_OPS */
    {123, 0},                                      /* CAN_USE_STREAM_WAIT_VALUE_NOR */
    {124, 0},                                      /* DMA_BUF_SUPPORTED */
    {125, 0},                                      /* IPC_EVENT_SUPPORTED */
    {126, 1},                                      /* MEM_SYNC_DOMAIN_COUNT */
    {127, 0},                                      /* TENSOR_MAP_ACCESS_SUPPORTED */
    {128, 0},                                      /* HANDLE_TYPE_FABRIC_SUPPORTED */
    {129, 0},                                      /* UNIFIED_FUNCTION_POINTERS */
    {130, 0},                                      /* NUMA_CONFIG */
    {131, 0},                                      /* NUMA_ID */
    {132, 0},                                      /* MULTICAST_SUPPORTED */
    {133, 0},                                      /* MPS_ENABLED */
    {134, 0},                                      /* HOST_NUMA_ID */
    {135, 0},                                      /* D3D12_CIG_SUPPORTED */
    {136, 0},                                      /* MEM_DECOMPRESS_... */
    {137, 0},         {138, 0},                    /* VULKAN_CIG_SUPPORTED */
    {139, 0},                                      /* GPU_PCI_... */
    {140, 0},         {141, 0},                    /* HOST_..._SUPPORTED */
    {142, 0},         {143, 0},   {144, 0},        {145, 0}, {146, 0}, {147, 0},
};

/* float and double lanes of a processor */
static int double_ratio(int capability)
{
    return capability == 80 || capability == 90 || capability == 100 ? 2 : capability == 75 ? 32 : 64;
}

int emu_device_attribute(const emu_device *device, int attribute)
{
    switch (attribute) {
    case 13:
        return device->clock_khz;
    case 16:
        return device->processors;
    case 33:
        return 1; /* PCI_BUS_ID of the first */
    case 36:
        return device->memory_clock_khz;
    case 37:
        return device->bus_bits;
    case 38:
        return device->l2_bytes;
    case 39:
        return device->threads_per_processor;
    case 75:
        return device->capability / 10;
    case 76:
        return device->capability % 10;
    case 81:
        return device->shared_per_processor;
    case 82:
        return device->registers_per_processor;
    case 87:
        return double_ratio(device->capability);
    case 97:
        return device->shared_per_block_optin;
    case 106:
        return device->blocks_per_processor;
    case 111:
        return device->reserved_shared;
    default:
        break;
    }
    /* Textures and surfaces: there are none. */
    if ((attribute >= 21 && attribute <= 29) || (attribute >= 42 && attribute <= 49) || (attribute >= 52 && attribute <= 74) ||
        attribute == 77)
        return 0;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (constants[i].attribute == attribute)
            return constants[i].value;
    return -1;
}
