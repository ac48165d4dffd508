/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_emulator: what the emulator offers beside the CUDA Driver API.
 *
 * The library is a libcuda: it is opened by path and its cu... functions are called as those of a driver. The functions
 * here choose the devices, the checks and the schedule, and hand out what was found and counted. Look them up with dlsym;
 * nothing else needs to know that the device is no GPU.
 *
 * The environment sets the same options before cuInit:
 *
 *     CUDA_EMULATOR_DEVICES   sm_90            one device a word, separated by commas: sm_75,sm_90
 *     CUDA_EMULATOR_CHECKS    all              none, or words of: uninitialised, races, async, barriers, masks
 *     CUDA_EMULATOR_COUNT     0                1: count; see cuEmuGetLaunch
 *     CUDA_EMULATOR_THREADS   (processors)     host threads a launch may use
 *     CUDA_EMULATOR_SEED      0                schedule; 0 is the plain one
 *     CUDA_EMULATOR_PATIENCE  5                seconds of CPU time without progress after which a block counts as endless; 0: no end
 *     CUDA_EMULATOR_BUDGET    10000000000      warp instructions after which a block counts as endless whatever it does
 *     CUDA_EMULATOR_LOG       1                0: say nothing on stderr; 2: what only a debugger of the emulator wants to know, too
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
 * Choose the devices, as CUDA_EMULATOR_DEVICES does; before cuInit. Returns 0 if a word names no device that is known, or if cuInit was
 * called already and the devices are others.
 */
int cuEmuSetDevices(const char *list);

/** What can be found. Those up to CUEMU_ASSERT end the launch as they would on a GPU, and are looked for always. */
typedef enum cuEmuKind {
    CUEMU_NONE = 0,
    CUEMU_OUT_OF_BOUNDS, /* an access outside every allocation or shared array, or of freed memory */
    CUEMU_MISALIGNED,    /* an address that is no multiple of the access size */
    CUEMU_DIVERGENT,     /* lanes of one warp wait at different barriers or collective instructions for ever */
    CUEMU_DEADLOCK,      /* no warp of the block can go on */
    CUEMU_ENDLESS,       /* a block without progress for longer than the patience, or with more instructions than the budget */
    CUEMU_ILLEGAL,       /* an instruction used against its rules: a lane missing from its member mask */
    CUEMU_MBARRIER,      /* an mbarrier that was never initialised, arrivals beyond its count, bytes that do not come out */
    CUEMU_ASSERT,        /* device assert, trap */
    CUEMU_UNINITIALISED, /* a value never written decides an address or a branch, or reaches global memory or an MMA */
    CUEMU_RACE_SHARED,   /* two threads, one of them writing, with no barrier between */
    CUEMU_RACE_GLOBAL,   /* the same in global memory */
    CUEMU_ASYNC_IN_FLIGHT, /* bytes of an asynchronous copy touched before its wait, or what a wgmma reads or writes; a missing
                              wgmma.fence */
    CUEMU_PROXY_FENCE,     /* what was stored is read by an asynchronous copy or a wgmma, with no fence.proxy.async between */
    CUEMU_SWIZZLE,         /* a wgmma reads a tile by another swizzle than that by which the copy laid it out */
    CUEMU_INIT_FENCE, /* an mbarrier that no fence.mbarrier_init follows, of a block in no cluster: a warning, said once for a
                              kernel, since it is due by PTX but widely left out; in a cluster it is a CUEMU_PROXY_FENCE */
    CUEMU_EXITED_BARRIER, /* a barrier that threads of the block never reach, as they have returned: a warning, since from sm_70
                              on a barrier waits only for those that have not; the launch goes on and succeeds */
    CUEMU_WRITTEN_TWICE,  /* a byte of a watched region, see cuEmuWatch */
    CUEMU_NEVER_WRITTEN,
    CUEMU_PADDING_WRITTEN,
    CUEMU_KINDS
} cuEmuKind;

/** One finding. Equal kinds at one instruction are one finding, counted; the example is that of the first block. */
typedef struct cuEmuFinding {
    cuEmuKind kind;
    uint64_t count; /* how often, in lanes */
    char kernel[128];
    uint32_t ptx_line;  /* 0: no instruction in particular */
    uint32_t cuda_line; /* of the source that the PTX was compiled from, if it has .loc lines; else 0 */
    uint32_t block[3], thread[3];
    uint64_t address; /* as the instruction had it: an offset for shared memory */
    char text[512];   /* one sentence: the instruction, the address, whose memory it is in or near */
} cuEmuFinding;

/** Copy finding number index, in the order found; 0 if there are not so many. */
int cuEmuGetFinding(size_t index, cuEmuFinding *finding);

/** How many findings there are. */
size_t cuEmuFindingCount(void);

/** Forget the findings, and errors that a device would report for ever. Allocations, modules and contexts stay. */
void cuEmuClear(void);

typedef enum cuEmuOption {
    CUEMU_CHECKS,  /* bits, below */
    CUEMU_COUNT,   /* 1: count; 2: count the next launch and no later one; 3: the one after it alone, and so on */
    CUEMU_THREADS, /* 0: one for each processor */
    CUEMU_SEED,
    CUEMU_BUDGET, /* of a block */
    CUEMU_LOG,
    CUEMU_PATIENCE, /* seconds */
    CUEMU_OPTIONS
} cuEmuOption;

enum {
    CUEMU_CHECK_UNINITIALISED = 1,
    CUEMU_CHECK_RACES = 2,
    CUEMU_CHECK_ASYNC = 4,
    CUEMU_CHECK_BARRIERS = 8,
    CUEMU_CHECK_MASKS = 16, /* a lane that is not in its own member mask ends the launch; unchecked, it takes part */
    CUEMU_CHECK_ALL = 31
};

/** Set an option; 0 if there is none of that number. Memory allocated while nothing was checked counts as initialised. */
int cuEmuSetOption(cuEmuOption option, uint64_t value);

/** The value of an option. */
uint64_t cuEmuGetOption(cuEmuOption option);

/** What one launch, or one instruction of it, did. Lanes are threads, requests are warp instructions. */
typedef struct cuEmuCounters {
    uint64_t instructions;      /* by warps */
    uint64_t lane_instructions; /* by threads; / (32 * instructions) is the share of lanes at work */
    uint64_t flops;             /* of fma (2), add, sub, mul (1) in f16, bf16, f32, f64, by threads */
    uint64_t fma;               /* fused multiply-adds, by threads */
    uint64_t mma_flops;         /* of mma, 2 * m * n * k each */
    uint64_t global_loads;      /* elements loaded, by threads: a vector of four counts four */
    uint64_t global_stores;
    uint64_t global_load_requests, global_store_requests;
    uint64_t global_load_sectors; /* different 32-byte sectors in each request, added up */
    uint64_t global_store_sectors;
    uint64_t global_load_bytes; /* bytes asked for, by threads */
    uint64_t global_store_bytes;
    uint64_t shared_loads; /* elements, by threads */
    uint64_t shared_stores;
    uint64_t shared_load_requests, shared_store_requests;
    uint64_t shared_load_wavefronts; /* passes that 32 banks of 4 bytes need; one a request of up to 128 bytes is the least */
    uint64_t shared_store_wavefronts;
    uint64_t bank_conflicts; /* wavefronts above the least */
    uint64_t local_requests;
    uint64_t atomics;          /* by threads */
    uint64_t barriers;         /* arrivals of warps */
    uint64_t block_barriers;   /* barriers passed by whole blocks */
    uint64_t divergences;      /* branches that parted a warp */
    uint64_t async_requests;   /* of cp.async, whose reads are counted as global loads */
    uint64_t async_bytes;      /* copied by them; zeros that are filled in do not count */
    uint64_t async_wavefronts; /* passes in which they arrive in shared memory, zeros too */
    uint64_t async_conflicts;  /* those above the least */
} cuEmuCounters;

typedef struct cuEmuLaunch {
    uint64_t number; /* of the launch, from 1; 0: none yet */
    char kernel[128];
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* static and dynamic */
    size_t instructions;   /* in the kernel, and functions it may call: lines for cuEmuGetLine */
    cuEmuCounters total;
} cuEmuLaunch;

/** The last launch that was counted; 0 if there is none. */
int cuEmuGetLaunch(cuEmuLaunch *launch);

/** Instruction number index of that launch: its PTX line, CUDA line (0: unknown) and counters. 0 past the last. */
int cuEmuGetLine(size_t index, uint32_t *ptx_line, uint32_t *cuda_line, char *text, size_t text_bytes, cuEmuCounters *counters);

/**
 * How far the launch is that runs now, or the last one to begin if several do: blocks that are done, of how many. 0, and neither is
 * set, while none runs. Asked by another thread than the one that waits for it.
 */
int cuEmuGetProgress(uint64_t *done, uint64_t *blocks);

/**
 * Watch a matrix of rows lines of row_bytes bytes, pitch_bytes from one to the next: each of its bytes must be written exactly
 * once from here to cuEmuUnwatch, and no byte between the lines. address must lie in one allocation with all of it. Returns a
 * number above 0, or 0 if it does not.
 */
int cuEmuWatch(uint64_t address, uint64_t rows, uint64_t row_bytes, uint64_t pitch_bytes);

/** End a watch: CUEMU_WRITTEN_TWICE, CUEMU_NEVER_WRITTEN and CUEMU_PADDING_WRITTEN are findings. Returns how many were added. */
int cuEmuUnwatch(int watch);

#ifdef __cplusplus
}
#endif

#endif
