/* SPDX-License-Identifier: Apache-2.0 */
#include "device_table.h"

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
    {90, 1},                                       /* COMPUTE_PREEMPTION_SUPPORTED */
    {91, 1},                                       /* CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM */
    {99, 1},                                       /* HOST_REGISTER_SUPPORTED */
    {115, 1},                                      /* MEMORY_POOLS_SUPPORTED */
    {126, 1},                                      /* MEM_SYNC_DOMAIN_COUNT */
};

/* float and double lanes of a processor */
static int double_ratio(int capability)
{
    return capability == 80 || capability == 90 || capability == 100 ? 2 : capability == 75 ? 32 : 64;
}

int emu_device_attribute(const emu_device *device, int attribute)
{
    const int own[] = {
        [13] = device->clock_khz,
        [16] = device->processors,
        [33] = 1, /* PCI_BUS_ID of the first */
        [36] = device->memory_clock_khz,
        [37] = device->bus_bits,
        [38] = device->l2_bytes,
        [39] = device->threads_per_processor,
        [75] = device->capability / 10,
        [76] = device->capability % 10,
        [81] = device->shared_per_processor,
        [82] = device->registers_per_processor,
        [87] = double_ratio(device->capability),
        [97] = device->shared_per_block_optin,
        [106] = device->blocks_per_processor,
        [111] = device->reserved_shared,
    };

    if (attribute >= 0 && attribute < (int)(sizeof own / sizeof *own) && own[attribute])
        return own[attribute];
    /* Textures and surfaces: there are none. */
    if ((attribute >= 21 && attribute <= 29) || (attribute >= 42 && attribute <= 49) || (attribute >= 52 && attribute <= 77))
        return 0;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (constants[i].attribute == attribute)
            return constants[i].value;
    /* The others from MANAGED_MEMORY to the last of CUDA 13.0 are features that are not there: clusters, tensor maps, NUMA... */
    return attribute >= 83 && attribute <= 147 ? 0 : -1;
}
