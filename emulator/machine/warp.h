/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp: a launch, its blocks and their warps while they run, and helpers of executing functions.
 *
 * 32 lanes execute one instruction at a time. Diverged lanes are splits, each with its own program counter; splits join where
 * they meet. An instruction has no effect on lanes outside its mask.
 */
#ifndef EMU_WARP_H
#define EMU_WARP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "past.h"
#include "cuda_emulator.h"
#include "device_table.h"
#include "flight.h"
#include "memory.h"
#include "patience.h"
#include "ptx.h"

enum { EMU_LANES = 32, EMU_MAX_DEPTH = 32, EMU_BARRIERS = 16, EMU_ACQUIRED = 64 };

/** A range of shared memory that may be accessed: one array. */
typedef struct emu_shared_range {
    uint32_t begin, end;
    const emu_symbol *symbol;
} emu_shared_range;

typedef struct emu_launch {
    const emu_module *module;
    const emu_function *function;
    const emu_device *device;
    uint32_t grid[3], block[3], cluster[3];
    bool has_clusters;       /* set by the launch or the kernel */
    bool is_held;            /* cooperative: all blocks run at once */
    bool starts_early;       /* a device may run it concurrently with the preceding launch, until griddepcontrol.wait */
    uint32_t threads, warps; /* of a block */
    uint64_t blocks, clusters;
    const uint8_t *parameters;
    uint32_t dynamic_shared, shared_bytes; /* bytes to reserve, red zones included */
    emu_shared_range *range;
    uint32_t ranges;
    uint32_t checks;
    bool counts;
    uint64_t seed, budget, number;
    uint64_t patience;       /* seconds */
    uint64_t owner;          /* id of the context */
    struct emu_order *order; /* one per block, if races are checked */
    uint32_t workers;
    _Atomic(uint64_t) next_cluster;
    atomic_int failed;            /* cuEmuKind that ended the launch, or 0 */
    atomic_bool lacks_init_fence; /* a CUEMU_INIT_FENCE was reported */
    cuEmuCounters *line;          /* one per instruction, merged at the end */
} emu_launch;

typedef enum emu_state { R_RUN, R_WAIT, R_WARPGROUP, R_BARRIER, R_COLLECTIVE } emu_state;

typedef struct emu_split {
    uint32_t pc, mask;
    uint8_t state;
    uint8_t depth;
    uint32_t return_to[EMU_MAX_DEPTH];
    uint32_t call_from[EMU_MAX_DEPTH];
} emu_split;

/** An access to the shared memory of another block: by which warp and instruction. */
typedef struct emu_visit {
    const struct emu_warp *warp;
    const emu_inst *inst;
} emu_visit;

typedef struct emu_block {
    emu_launch *launch;
    struct emu_cluster *cluster;
    struct emu_warp *warp;
    uint32_t rank; /* in its cluster */
    uint32_t index[3];
    uint64_t number;
    bool has_ended;
    uint8_t *shared;
    uint8_t *shared_defined;
    struct emu_shared_state *state; /* NULL: races are not checked */
    struct emu_mbarrier **mbarrier;
    uint32_t mbarriers;
    uint32_t (*reads)[EMU_PRODUCT_SLOTS]; /* time of the last read of each 16 bytes by each warpgroup's products; NULL: none */
    uint8_t *swizzle;                     /* 1 + swizzle with which a copied tile laid out each EMU_SWIZZLED bytes; 0: none */
    uint64_t acquired[EMU_ACQUIRED];      /* tensor maps acquired last; 0: none */
    uint32_t maps;                        /* number of maps acquired */
    uint64_t ticket[8];                   /* addresses of the last atomics that returned a value */
    uint32_t tickets;
    uint32_t epoch;                 /* barriers passed */
    uint32_t arrived[EMU_BARRIERS]; /* warps waiting, or threads for barriers with a count */
    emu_past gathering[EMU_BARRIERS];
    uint32_t *touched;                /* time of the last access by each warp, and copy, of other blocks, by slot */
    emu_visit *touched_by;            /* those accesses */
    uint32_t registers;               /* registers that no warpgroup holds */
    bool is_held;                     /* an instruction of a warpgroup has to wait */
    struct emu_tensor_memory *tensor; /* NULL: not used yet */
    emu_patience patience;
    uint64_t random;
    emu_allocation *last[8]; /* allocations accessed last */
    unsigned last_next;
    cuEmuCounters *line; /* of the worker that runs this block */
} emu_block;

typedef struct emu_warp {
    uint8_t *bank[2];
    uint32_t *defined; /* a lane mask for each register number */
    emu_block *block;
    uint32_t number, alive, exited;
    emu_split split[EMU_LANES + 1];
    uint32_t splits;
    uint8_t *local, *local_defined; /* local_bytes per lane */
    uint8_t *frame;                 /* frame_bytes per lane */
    uint32_t step;                  /* warp synchronisations passed */
    uint32_t synced[EMU_LANES];     /* the last one of each lane */
    emu_flight flight;
    uint32_t group[EMU_LANES], bulk_group[EMU_LANES]; /* committed groups of each lane */
    struct emu_sums *sums;                            /* NULL: no pending products to check */
    emu_past past, fenced;                            /* fenced: at its last fence of cluster scope or wider */
    uint32_t *settled;                                /* its past.seen at its last tcgen05.fence::after_thread_sync, or NULL */
    uint32_t first_load, first_store;                 /* time of the first of tensor memory that was not waited for, or 0 */
    uint32_t slot;                                    /* its slot in a past */
    uint32_t waiting;                                 /* lanes that an F_WAIT instruction leaves waiting */
    uint32_t has_arrived, may_pass;       /* lanes: arrived at the cluster barrier; not waited yet for a passed one */
    uint32_t gives_up;                    /* lanes whose test answers false instead of waiting on */
    const struct emu_mbarrier *waits_for; /* the last mbarrier that a lane waits for */
    bool yields;                          /* end its turn */
    bool is_held;                         /* an instruction of the whole warp has to wait for an event of the cluster */
    uint64_t events;                      /* cluster events at its last try */
    uint32_t carry;                       /* condition code of add.cc, one bit per lane */
    uint32_t registers;                   /* per lane, as setmaxnreg counts them */
    bool has_waited;                      /* for the preceding launch */
    uint32_t barrier_threads;             /* UINT32_MAX: not counted at its barrier yet */
    uint64_t executed;
} emu_warp;

/** Return the 32 lanes of an operand. */
static inline void *emu_lanes(const emu_warp *warp, const emu_operand *operand)
{
    return warp->bank[operand->bank] + operand->offset;
}

/** Return the bits of a predicate operand, negation applied. */
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

/** Return the lanes in which an operand is defined. */
static inline uint32_t emu_defined(const emu_warp *warp, const emu_operand *operand)
{
    return warp->defined[operand->reg];
}

static inline void emu_set_defined(const emu_warp *warp, const emu_operand *operand, uint32_t bits, uint32_t mask)
{
    if (operand->reg)
        warp->defined[operand->reg] = (warp->defined[operand->reg] & ~mask) | (bits & mask);
}

/** Return an integer operand of 1, 2, 4 or 8 bytes per lane, zero-extended. */
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

/* Loop over the lanes of mask. */
#define EMU_EACH_LANE(lane, mask)                                                    \
    for (uint32_t lane##_left = (mask); lane##_left; lane##_left &= lane##_left - 1) \
        for (int lane = __builtin_ctz(lane##_left), lane##_once = 1; lane##_once; lane##_once = 0)

/** Has a finding ended the launch? */
static inline bool emu_has_failed(const emu_warp *warp)
{
    return atomic_load_explicit(&warp->block->launch->failed, memory_order_relaxed) != 0;
}

/** May the preceding launch still run? True for a warp that started early until it waits. */
static inline bool emu_is_early(const emu_warp *warp)
{
    return warp->block->launch->starts_early && !warp->has_waited;
}

/** Return the next random number of a block; the seed selects the sequence. */
static inline uint64_t emu_random(emu_block *block)
{
    uint64_t x = block->random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return block->random = x;
}

#endif
