/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_memory: the accumulators of tcgen05, in a memory of their own.
 *
 * A block has 128 lanes of 512 columns of 32 bits. An address holds a lane in its upper and a column in its lower half. A warp
 * allocates columns; each warp loads and stores only the 32 lanes of its quarter, number % 4:
 *
 *              column 0 ... 511
 *     lane 0     warps 0, 4, ...
 *     lane 32    warps 1, 5, ...
 *     lane 64    warps 2, 6, ...
 *     lane 96    warps 3, 7, ...
 *
 * All accesses are asynchronous, and the emulator performs each when it is issued. It checks the order that a device needs
 * (past.h): products and copies of one warp follow each other; others must wait for a tcgen05.commit of them at an mbarrier. A
 * load or store is complete at its tcgen05.wait. Between different warps, tcgen05.fence::before_thread_sync offers what is
 * complete to the next barrier, and tcgen05.fence::after_thread_sync takes what barriers brought: each warp keeps the past that it
 * had at its last such fence (`settled`). A commit offers by itself.
 */
#ifndef EMU_TENSOR_MEMORY_H
#define EMU_TENSOR_MEMORY_H

#include "cluster.h"

enum { EMU_TENSOR_LANES = 128, EMU_TENSOR_COLUMNS = 512, EMU_TENSOR_LEAST = 32 /* columns that can be allocated */ };
enum { EMU_QUARTER = 32 /* lanes of a warp */, EMU_PART = 16 /* lanes with one state */ };

typedef enum emu_tensor_access { EMU_LOAD, EMU_STORE, EMU_PRODUCT_READ, EMU_PRODUCT_WRITE } emu_tensor_access;

/** Last accesses to EMU_PART lanes of a column: by which warp (its slot, from 1 on; 0: none), and when. */
typedef struct emu_tensor_state {
    uint16_t writer, reader; /* reader: a product */
    bool is_product;         /* that wrote */
    uint32_t write_time, read_time;
    uint32_t load_time[EMU_BLOCK_SLOTS / 4]; /* of each warp that has these lanes */
} emu_tensor_state;

typedef struct emu_tensor_memory {
    uint32_t value[EMU_TENSOR_COLUMNS][EMU_TENSOR_LANES];
    bool known[EMU_TENSOR_COLUMNS][EMU_TENSOR_LANES]; /* was written */
    emu_tensor_state state[EMU_TENSOR_COLUMNS][EMU_TENSOR_LANES / EMU_PART];
    uint16_t columns[EMU_TENSOR_COLUMNS]; /* at the first column of an allocation: how many; elsewhere 0 */
    bool is_taken[EMU_TENSOR_COLUMNS];
    const emu_inst *freed_by[EMU_TENSOR_COLUMNS]; /* or NULL */
    const emu_inst *taken_by[EMU_TENSOR_COLUMNS];
    const emu_inst *relinquished_by; /* NULL: the block may allocate */
    const emu_warp *taker;           /* the last one */
    int group;                       /* of the block's instructions: 1 or 2 blocks; 0: none yet */
    uint32_t rank;                   /* of the block */
    uint32_t asked, granted;         /* of a pair: columns that a warp waits for; 1 + the first that its peer took for it */
    const emu_warp *asker;           /* that warp */
    const emu_inst *asked_by;
} emu_tensor_memory;

/** Forget all allocations, at the start of a block. */
void emu_tensor_start(emu_block *block);

/**
 * Allocate columns for a warp; *first is the first of them. false: too few are free now, or the other block of the pair has not
 * asked yet.
 */
bool emu_tensor_allocate(emu_warp *warp, const emu_inst *inst, uint32_t columns, uint32_t *first);

/** Free the columns of an allocation. */
void emu_tensor_free(emu_warp *warp, const emu_inst *inst, uint32_t first, uint32_t columns);

/** Find columns that an instruction uses: those of a block's memory; NULL: they are not allocated, and a finding says so. */
emu_tensor_memory *emu_tensor_columns(emu_warp *warp, const emu_inst *inst, int lane, const emu_block *block, uint32_t first,
                                      uint32_t columns);

/** Check and record an access to the lanes of a part of a column. */
void emu_tensor_touch(emu_warp *warp, const emu_inst *inst, int lane, emu_tensor_memory *memory, uint32_t column, uint32_t part,
                      emu_tensor_access access);

/** Check that the instructions of a block agree on the number of blocks that execute them, 1 or 2. */
bool emu_tensor_group(emu_warp *warp, const emu_inst *inst, int lane, int group);

/** The loads, or the stores, of a warp are complete. */
void emu_tensor_wait(emu_warp *warp, bool is_load);

/** tcgen05.fence: offer what is complete to the next barrier; take what barriers have brought. */
void emu_tensor_offer(emu_warp *warp);
void emu_tensor_settle(emu_warp *warp);

/**
 * A relaxed arrival and a relaxed wait order no accesses to memory. They do pass on which accesses to tensor memory are complete,
 * because the fences of tensor memory need only an order of execution.
 */
void emu_tensor_release(const emu_warp *warp, emu_past *to);
void emu_tensor_acquire(emu_warp *warp, const emu_past *from);

/** Report columns that an ending block has not freed. */
void emu_tensor_check_end(const emu_block *block);

#endif
