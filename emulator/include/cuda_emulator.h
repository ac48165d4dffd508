/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_emulator: functions of the emulator in addition to the CUDA Driver API.
 *
 * The library is a libcuda: open it by path and call its cu... functions like those of a driver. The functions here choose
 * the devices, the checks and the schedule, and return findings and counters. Look them up with dlsym; nothing else needs to
 * know that the device is not a GPU.
 *
 * The environment sets the same options before cuInit:
 *
 *     CUDA_EMULATOR_DEVICES   sm_90            the devices, separated by commas: sm_75,sm_90
 *     CUDA_EMULATOR_CHECKS    all              none, or a list of: uninitialised, races, async, barriers, masks
 *     CUDA_EMULATOR_COUNT     0                1: count; see cuEmuGetLaunch
 *     CUDA_EMULATOR_THREADS   (processors)     host threads a launch may use
 *     CUDA_EMULATOR_SEED      0                schedule; 0 is the default order
 *     CUDA_EMULATOR_PATIENCE  5                seconds of CPU time without progress after which a block counts as endless; 0: no limit
 *     CUDA_EMULATOR_BUDGET    10000000000      warp instructions after which a block counts as endless whatever it does
 *     CUDA_EMULATOR_LOG       1                0: print nothing on stderr; 2: print also messages for debugging the emulator
 *
 * Threads: all functions may be called from any thread. Options take effect with the next launch or allocation.
 */
#ifndef CUDA_EMULATOR_H
#define CUDA_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Choose the devices, as CUDA_EMULATOR_DEVICES does; call before cuInit. Returns 0 if the list names an unknown device, or if
 * cuInit was called already with other devices.
 */
int cuEmuSetDevices(const char *list);

/** Kinds of findings. Those up to CUEMU_ASSERT end the launch as on a GPU, and are always checked. */
typedef enum cuEmuKind {
    CUEMU_NONE = 0,
    CUEMU_OUT_OF_BOUNDS, /* an access outside every allocation or shared array, or of freed memory */
    CUEMU_MISALIGNED,    /* an address that is not a multiple of the access size */
    CUEMU_DIVERGENT,     /* lanes of one warp wait forever at different barriers or collective instructions */
    CUEMU_DEADLOCK,      /* no warp of the block can continue */
    CUEMU_ENDLESS,       /* a block without progress for longer than the patience, or with more instructions than the budget */
    CUEMU_ILLEGAL,       /* an instruction used against its rules: for example, a lane missing from its member mask */
    CUEMU_MBARRIER,      /* an mbarrier that was never initialised, arrivals beyond its count, a wrong number of bytes */
    CUEMU_TENSOR_MEMORY, /* columns that are not allocated, freed twice or never, or lanes of another warp */
    CUEMU_ASSERT,        /* device assert, trap */
    CUEMU_UNINITIALISED, /* a value never written decides an address or a branch, or reaches global memory or an MMA */
    CUEMU_RACE_SHARED,   /* two threads, one of them writing, without a barrier between */
    CUEMU_RACE_GLOBAL,   /* the same in global memory */
    CUEMU_ASYNC_IN_FLIGHT, /* bytes of an asynchronous copy touched before its wait, or what a wgmma reads or writes; a missing
                              wgmma.fence */
    CUEMU_PROXY_FENCE,     /* an asynchronous copy or a wgmma reads a store without a fence.proxy.async between */
    CUEMU_TENSOR_FENCE,    /* a missing tcgen05.fence between accesses to tensor memory by two warps */
    CUEMU_SWIZZLE,         /* a wgmma reads a tile with another swizzle than the copy that wrote it */
    CUEMU_INIT_FENCE, /* an mbarrier that no fence.mbarrier_init follows, of a block in no cluster: a warning, said once for a
                              kernel, since it is due by PTX but widely left out; in a cluster it is a CUEMU_PROXY_FENCE */
    CUEMU_EXITED_BARRIER, /* a barrier that threads of the block never reach, as they have returned: a warning, since from sm_70
                              on a barrier waits only for those that have not; the launch goes on and succeeds */
    CUEMU_WRITTEN_TWICE,  /* a byte of a watched region, see cuEmuWatch */
    CUEMU_NEVER_WRITTEN,
    CUEMU_PADDING_WRITTEN,
    CUEMU_KINDS
} cuEmuKind;

/** One finding. Equal kinds at one instruction are one finding with a count; the example is from the first block. */
typedef struct cuEmuFinding {
    cuEmuKind kind;
    uint64_t count; /* in lanes */
    char kernel[128];
    uint32_t ptx_line;  /* 0: no particular instruction */
    uint32_t cuda_line; /* of the CUDA source, if the PTX has .loc lines; else 0 */
    uint32_t block[3], thread[3];
    uint64_t address; /* as the instruction used it: an offset for shared memory */
    char text[512];   /* one sentence: the instruction, the address, and the memory in or near which it lies */
} cuEmuFinding;

/** Copy finding number index, in the order found; 0 past the last. */
int cuEmuGetFinding(size_t index, cuEmuFinding *finding);

/** Return the number of findings. */
size_t cuEmuFindingCount(void);

/** Forget all findings and sticky device errors. Allocations, modules and contexts stay. */
void cuEmuClear(void);

typedef enum cuEmuOption {
    CUEMU_CHECKS,  /* bits, below */
    CUEMU_COUNT,   /* 1: count; 2: count only the next launch; 3: only the one after it, and so on */
    CUEMU_THREADS, /* 0: one per processor */
    CUEMU_SEED,
    CUEMU_BUDGET, /* per block */
    CUEMU_LOG,
    CUEMU_PATIENCE, /* seconds */
    CUEMU_OPTIONS
} cuEmuOption;

enum {
    CUEMU_CHECK_UNINITIALISED = 1,
    CUEMU_CHECK_RACES = 2,
    CUEMU_CHECK_ASYNC = 4,
    CUEMU_CHECK_BARRIERS = 8,
    CUEMU_CHECK_MASKS = 16, /* a lane outside its own member mask ends the launch; unchecked, it takes part */
    CUEMU_CHECK_ALL = 31
};

/** Set an option; 0 if it does not exist. Memory allocated while no check was on counts as initialised. */
int cuEmuSetOption(cuEmuOption option, uint64_t value);

/** Return the value of an option. */
uint64_t cuEmuGetOption(cuEmuOption option);

/** Counts of one launch, or of one of its instructions. Lanes are threads, requests are warp instructions. */
typedef struct cuEmuCounters {
    uint64_t instructions;      /* per warp */
    uint64_t lane_instructions; /* per thread; / (32 * instructions) is the share of active lanes */
    uint64_t flops;             /* of fma (2), add, sub, mul (1) in f16, bf16, f32, f64, per thread */
    uint64_t fma;               /* fused multiply-adds, per thread */
    uint64_t mma_flops;         /* of mma, 2 * m * n * k each */
    uint64_t global_loads;      /* elements loaded, per thread: a vector of four counts four */
    uint64_t global_stores;
    uint64_t global_load_requests, global_store_requests;
    uint64_t global_load_sectors; /* different 32-byte sectors of each request, added up */
    uint64_t global_store_sectors;
    uint64_t global_load_bytes; /* bytes requested, per thread */
    uint64_t global_store_bytes;
    uint64_t shared_loads; /* elements, per thread */
    uint64_t shared_stores;
    uint64_t shared_load_requests, shared_store_requests;
    uint64_t shared_load_wavefronts; /* passes over 32 banks of 4 bytes; the minimum is one per request of up to 128 bytes */
    uint64_t shared_store_wavefronts;
    uint64_t bank_conflicts; /* wavefronts above the minimum */
    uint64_t local_requests;
    uint64_t atomics;          /* per thread */
    uint64_t barriers;         /* arrivals of warps */
    uint64_t block_barriers;   /* barriers passed by whole blocks */
    uint64_t divergences;      /* branches that split a warp */
    uint64_t async_requests;   /* of cp.async, whose reads count as global loads */
    uint64_t async_bytes;      /* bytes that they copy, without zeros that are filled in */
    uint64_t async_wavefronts; /* passes that write them to shared memory, zeros included */
    uint64_t async_conflicts;  /* those above the minimum */
} cuEmuCounters;

typedef struct cuEmuLaunch {
    uint64_t number; /* of the launch, from 1; 0: none yet */
    char kernel[128];
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* static and dynamic */
    size_t instructions;   /* of the kernel, and of functions that it may call: lines for cuEmuGetLine */
    cuEmuCounters total;
} cuEmuLaunch;

/** Return the last counted launch; 0 if there is none. */
int cuEmuGetLaunch(cuEmuLaunch *launch);

/** Return instruction number index of that launch: its PTX line, CUDA line (0: unknown) and counters. 0 past the last. */
int cuEmuGetLine(size_t index, uint32_t *ptx_line, uint32_t *cuda_line, char *text, size_t text_bytes, cuEmuCounters *counters);

/**
 * Return the progress of the running launch (the most recent one if several run): blocks done and in total. Returns 0 and sets
 * neither if none runs. Call from another thread than the one that waits for the launch.
 */
int cuEmuGetProgress(uint64_t *done, uint64_t *blocks);

/**
 * Watch a matrix of `rows` rows of row_bytes bytes, pitch_bytes apart: from here to cuEmuUnwatch each of its bytes must be
 * written exactly once, and no byte between its rows. The whole matrix must lie in one allocation. Returns a number above 0, or
 * 0 if it does not.
 */
int cuEmuWatch(uint64_t address, uint64_t rows, uint64_t row_bytes, uint64_t pitch_bytes);

/** End a watch: CUEMU_WRITTEN_TWICE, CUEMU_NEVER_WRITTEN and CUEMU_PADDING_WRITTEN are findings. Returns the number added. */
int cuEmuUnwatch(int watch);

#ifdef __cplusplus
}
#endif

#endif
