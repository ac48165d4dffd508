/* SPDX-License-Identifier: Apache-2.0 */
#include "device_table.h"

#include <stddef.h>

enum { LAST_ATTRIBUTE = 147 }; /* of CUdevice_attribute in CUDA 13.0 */

/*
 * The limits of a compute capability come from the tables of the CUDA programming guide; memory, caches and clocks are those of
 * the named product. reserved_shared is the part of each block's shared memory that the system keeps.
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

/* float and double lanes of a processor */
static int double_ratio(int capability)
{
    return capability == 80 || capability == 90 || capability == 100 ? 2 : capability == 75 ? 32 : 64;
}

/* Attributes not listed are 0: textures, surfaces, absent features such as NUMA and ECC, and PCI numbers. */
int emu_device_attribute(const emu_device *device, int attribute)
{
    const int values[LAST_ATTRIBUTE + 1] = {
        [1] = 1024, /* MAX_THREADS_PER_BLOCK */
        [2] = 1024, /* MAX_BLOCK_DIM_X, Y, Z */
        [3] = 1024,
        [4] = 64,
        [5] = 2147483647, /* MAX_GRID_DIM_X, Y, Z */
        [6] = 65535,
        [7] = 65535,
        [8] = 49152,       /* MAX_SHARED_MEMORY_PER_BLOCK */
        [9] = 65536,       /* TOTAL_CONSTANT_MEMORY */
        [10] = 32,         /* WARP_SIZE */
        [11] = 2147483647, /* MAX_PITCH */
        [12] = 65536,      /* MAX_REGISTERS_PER_BLOCK */
        [13] = device->clock_khz,
        [14] = 512, /* TEXTURE_ALIGNMENT */
        [15] = 1,   /* GPU_OVERLAP */
        [16] = device->processors,
        [19] = 1,   /* CAN_MAP_HOST_MEMORY */
        [30] = 512, /* SURFACE_ALIGNMENT */
        [31] = 1,   /* CONCURRENT_KERNELS */
        [33] = 1,   /* PCI_BUS_ID of the first */
        [36] = device->memory_clock_khz,
        [37] = device->bus_bits,
        [38] = device->l2_bytes,
        [39] = device->threads_per_processor,
        [40] = 2,  /* ASYNC_ENGINE_COUNT */
        [41] = 1,  /* UNIFIED_ADDRESSING */
        [51] = 32, /* TEXTURE_PITCH_ALIGNMENT */
        [75] = device->capability / 10,
        [76] = device->capability % 10,
        [78] = 1, /* STREAM_PRIORITIES_SUPPORTED */
        [79] = 1, /* GLOBAL_L1_CACHE_SUPPORTED */
        [80] = 1, /* LOCAL_L1_CACHE_SUPPORTED */
        [81] = device->shared_per_processor,
        [82] = device->registers_per_processor,
        [87] = double_ratio(device->capability),
        [90] = 1, /* COMPUTE_PREEMPTION_SUPPORTED */
        [91] = 1, /* CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM */
        [95] = 1, /* COOPERATIVE_LAUNCH */
        [97] = device->shared_per_block_optin,
        [99] = 1, /* HOST_REGISTER_SUPPORTED */
        [106] = device->blocks_per_processor,
        [111] = device->reserved_shared,
        [115] = 1,                        /* MEMORY_POOLS_SUPPORTED */
        [120] = device->capability >= 90, /* CLUSTER_LAUNCH */
        [127] = device->capability >= 90, /* TENSOR_MAP_ACCESS_SUPPORTED */
        [126] = 1,                        /* MEM_SYNC_DOMAIN_COUNT */
    };

    return attribute >= 1 && attribute <= LAST_ATTRIBUTE ? values[attribute] : -1;
}
