/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp: a launch, its blocks and their warps while they run, and what executing functions may do with them.
 *
 * 32 lanes step through one instruction at a time. Lanes that went different ways are splits, each with its own place; they join
 * where they meet. What an instruction does to lanes outside its mask is nothing.
 */
#ifndef EMU_WARP_H
#define EMU_WARP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cuda_emulator.h"
#include "device.h"
#include "memory.h"
#include "ptx.h"

enum { EMU_LANES = 32, EMU_MAX_DEPTH = 32, EMU_BARRIERS = 16 };

/** A byte of shared memory: who touched it last, and when. Threads count from 1; 0: nobody. */
typedef struct emu_shared_byte {
    uint16_t writer, reader;          /* reader: EMU_MANY_OF_WARP + a warp's number, or EMU_MANY */
    uint32_t write_epoch, read_epoch; /* barriers passed by the block */
    uint32_t write_step, read_step;   /* warp synchronisations passed by that warp */
    uint8_t is_atomic, in_flight;
} emu_shared_byte;

/** The same for a byte of global memory, in one launch. */
typedef struct emu_global_byte {
    uint32_t write_launch, write_block, write_epoch, write_fences, write_tickets;
    uint32_t read_launch, read_block, read_epoch;
    uint32_t write_step, read_step; /* warp synchronisations, within a block */
    uint16_t writer, reader;
    uint8_t is_atomic;
} emu_global_byte;

/** What a block has done that orders its writes for other blocks. */
typedef struct emu_order {
    uint32_t fences;  /* device-wide, by any of its threads */
    uint32_t tickets; /* atomics on global memory that gave a value back */
    uint64_t ticket;  /* address of the last of them */
} emu_order;

enum { EMU_MANY_OF_WARP = 0x4000, EMU_MANY = 0xffff };

/** A range of shared memory that may be accessed: one array. */
typedef struct emu_shared_range {
    uint32_t begin, end;
    const emu_symbol *symbol;
} emu_shared_range;

typedef struct emu_launch {
    const emu_module *module;
    const emu_function *function;
    const emu_device *device;
    uint32_t grid[3], block[3];
    uint32_t threads, warps; /* of a block */
    uint64_t blocks;
    const uint8_t *parameters;
    uint32_t dynamic_shared, shared_bytes; /* bytes to keep, red zones included */
    emu_shared_range *range;
    uint32_t ranges;
    uint32_t checks;
    bool counts;
    uint64_t seed, budget, number;
    uint64_t patience; /* seconds */
    uint64_t owner;    /* context */
    emu_order *order;  /* of each block, if races are looked for */
    uint32_t workers;
    _Atomic(uint64_t) next_block;
    atomic_int failed;   /* cuEmuKind that ended it, or 0 */
    cuEmuCounters *line; /* one for each instruction, merged at the end */
} emu_launch;

typedef enum emu_state { R_RUN, R_BARRIER, R_COLLECTIVE } emu_state;

typedef struct emu_split {
    uint32_t pc, mask;
    uint8_t state;
    uint8_t depth;
    uint32_t return_to[EMU_MAX_DEPTH];
    uint32_t call_from[EMU_MAX_DEPTH];
} emu_split;

typedef struct emu_copy { /* a cp.async on its way */
    uint64_t source;
    uint32_t target, group;
    uint8_t lane, bytes, source_bytes;
    const emu_inst *inst;
} emu_copy;

/**
 * Does a block get on? One that runs for long does, if it touches global memory where it has not been before, or if threads of it end.
 * Where it has been is kept as hashes of lines, and forgotten when they become too many.
 */
typedef struct emu_progress {
    uint64_t steps; /* new lines and ended threads */
    uint64_t seen;  /* steps at the last look */
    uint64_t since; /* CPU time of the host thread when they last grew, in nanoseconds */
    uint64_t executed, next_look;
    bool is_watched;
    uint32_t lines;
    uint64_t line[1024];
} emu_progress;

typedef struct emu_block {
    emu_launch *launch;
    struct emu_warp *warp;
    uint32_t index[3];
    uint64_t number;
    uint8_t *shared;
    uint8_t *shared_defined;
    emu_shared_byte *byte; /* NULL: races are not looked for */
    uint64_t ticket[8];    /* addresses of the atomics that gave it a value back, the last ones */
    uint32_t tickets;
    uint32_t epoch;                 /* barriers passed */
    uint32_t arrived[EMU_BARRIERS]; /* warps waiting, or threads for barriers with a count */
    emu_progress progress;
    uint64_t random;
    emu_allocation *last[8]; /* allocations hit last */
    unsigned last_next;
    cuEmuCounters *line; /* of the worker that runs this block */
} emu_block;

typedef struct emu_warp {
    uint8_t *bank[2];
    uint32_t *defined; /* a mask for each register number */
    emu_block *block;
    uint32_t number, alive, exited;
    emu_split split[EMU_LANES + 1];
    uint32_t splits;
    uint8_t *local, *local_defined; /* local_bytes for each lane */
    uint8_t *frame;                 /* frame_bytes for each lane */
    uint32_t step;                  /* warp synchronisations passed */
    uint32_t synced[EMU_LANES];     /* the last that each lane took part in */
    emu_copy *copy;
    uint32_t copies, copy_capacity;
    uint32_t group[EMU_LANES]; /* committed groups of each lane */
    uint32_t carry;            /* condition code of add.cc, a bit a lane */
    uint32_t barrier_threads;  /* UINT32_MAX: where it waits was not counted yet */
    uint64_t executed;
} emu_warp;

/** Global memory is accessed at an address. */
static inline void emu_touch(emu_block *block, uint64_t address)
{
    enum { LINE_SHIFT = 7 };
    emu_progress *p = &block->progress;
    const uint64_t hash = (address >> LINE_SHIFT) * UINT64_C(0x9e3779b97f4a7c15) >> 48, bit = UINT64_C(1) << hash % 64;

    if (p->line[hash / 64] & bit)
        return;
    p->line[hash / 64] |= bit;
    p->steps++;
    if (++p->lines > 3 * 64 * (sizeof p->line / sizeof p->line[0]) / 4) {
        memset(p->line, 0, sizeof p->line);
        p->lines = 0;
    }
}

/** The 32 lanes of an operand. */
static inline void *emu_lanes(const emu_warp *warp, const emu_operand *operand)
{
    return warp->bank[operand->bank] + operand->offset;
}

/** The bits of a predicate operand, its negation done. */
static inline uint32_t emu_predicate(const emu_warp *warp, const emu_operand *operand)
{
    const uint32_t bits = *(const uint32_t *)emu_lanes(warp, operand);

    return operand->is_negated ? ~bits : bits;
}

/** Set the lanes of mask in a predicate. */
static inline void emu_set_predicate(const emu_warp *warp, const emu_operand *operand, uint32_t bits, uint32_t mask)
{
    uint32_t *place = emu_lanes(warp, operand);

    if (!operand->is_sink)
        *place = (*place & ~mask) | (bits & mask);
}

/** Lanes in which an operand is defined. */
static inline uint32_t emu_defined(const emu_warp *warp, const emu_operand *operand)
{
    return warp->defined[operand->reg];
}

static inline void emu_set_defined(const emu_warp *warp, const emu_operand *operand, uint32_t bits, uint32_t mask)
{
    if (operand->reg)
        warp->defined[operand->reg] = (warp->defined[operand->reg] & ~mask) | (bits & mask);
}

/** An integer operand of 1, 2, 4 or 8 bytes a lane, zero-extended. */
static inline uint64_t emu_unsigned(const emu_warp *warp, const emu_operand *operand, int lane)
{
    const uint8_t *at = emu_lanes(warp, operand);

    switch (operand->bytes) {
    case 1:
        return at[lane];
    case 2:
        return ((const uint16_t *)at)[lane];
    case 4:
        return ((const uint32_t *)at)[lane];
    default:
        return ((const uint64_t *)at)[lane];
    }
}

/** Write the low bytes of value. */
static inline void emu_set_unsigned(const emu_warp *warp, const emu_operand *operand, int lane, uint64_t value)
{
    uint8_t *at = emu_lanes(warp, operand);

    if (operand->is_sink)
        return;
    switch (operand->bytes) {
    case 1:
        at[lane] = (uint8_t)value;
        break;
    case 2:
        ((uint16_t *)at)[lane] = (uint16_t)value;
        break;
    case 4:
        ((uint32_t *)at)[lane] = (uint32_t)value;
        break;
    default:
        ((uint64_t *)at)[lane] = value;
        break;
    }
}

static inline uint32_t emu_popcount(uint32_t mask)
{
    return (uint32_t)__builtin_popcount(mask);
}

/* For each lane of mask. */
#define EMU_EACH_LANE(lane, mask)                                                    \
    for (uint32_t lane##_left = (mask); lane##_left; lane##_left &= lane##_left - 1) \
        for (int lane = __builtin_ctz(lane##_left), lane##_once = 1; lane##_once; lane##_once = 0)

/** Complete the copies of a lane whose group is older than the newest keep ones; keep UINT32_MAX: none, all: everything. */
void emu_complete_copies(emu_warp *warp, uint32_t mask, uint32_t keep, bool all);

#endif
