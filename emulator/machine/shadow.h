/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shadow: the memory state that the checks keep.
 *
 * For shared memory, the last writers and readers and the cluster's time of their accesses (past.h). For global memory, the
 * same across blocks, which only fences and atomics order; within a block, by the barriers that it has passed.
 *
 * Each word has a state. After the states of all words come those of single bytes, which count where the word is split: after
 * an access to a part of it, or a finding about a byte.
 */
#ifndef EMU_SHADOW_H
#define EMU_SHADOW_H

#include "warp.h"

/**
 * State of a word of shared memory, or of a byte: its last accesses and their times. Threads of the cluster count from 1; 0:
 * none.
 */
typedef struct emu_shared_state {
    bool is_split, is_atomic;
    uint8_t in_flight, being_read; /* pending copies that will write it, and that may still read it */
    uint16_t writer, reader;       /* writer: EMU_COPY + the slot of a copy; reader: EMU_MANY + a warp's slot */
    uint32_t write_time, read_time;
    uint32_t write_step, read_step; /* warp synchronisations passed by that warp */
    uint32_t readers, first_read;   /* warps of the block that read it since the last write, and the time of the first read */
} emu_shared_state;

/** State of a word of global memory, or of a byte, in one launch. */
typedef struct emu_global_state {
    bool is_split, is_atomic;
    uint16_t writer, reader;
    uint32_t write_launch, write_block, write_epoch, write_fences, write_tickets;
    uint32_t read_launch, read_block, read_epoch, read_fences;
    uint32_t write_step, read_step; /* warp synchronisations, within a block */
} emu_global_state;

/** Actions of a block that order its writes for other blocks. */
typedef struct emu_order {
    uint32_t fences;  /* device-wide fences by any of its threads */
    uint32_t tickets; /* atomics on global memory that returned a value */
    uint64_t ticket;  /* address of the last one */
} emu_order;

enum { EMU_MANY = 0x8000, EMU_COPY = 0xc000 };
enum { EMU_CHUNK = 16 /* bytes that a product reads at once */, EMU_SWIZZLED = 128 /* a swizzle stays within as many */ };
enum { EMU_WORD = 4 };

/** Return the number of words with a state in `bytes` bytes of memory. */
static inline size_t emu_words_in(size_t bytes)
{
    return bytes / EMU_WORD + 1;
}

/** Return the number of a thread in a cluster, by the slot of its warp. */
static inline uint16_t emu_thread_in(uint32_t slot, int lane)
{
    return (uint16_t)(slot * 32 + (uint32_t)lane + 1);
}

/** Check and record an access to bytes at an offset in a block's shared memory. value: the bytes to be written, or NULL. */
void emu_check_shared(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, unsigned bytes,
                      const uint8_t *value, bool is_write, bool is_atomic);

/**
 * Record the stages of an asynchronous copy on a block's shared memory: one that a lane issues will write bytes, is about to
 * write them, has written them, reads them from now on, or reads them no longer. is_atomic: it combines them with the old
 * bytes, as others may do at once.
 */
void emu_copy_departs(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, unsigned bytes,
                      bool is_atomic);
void emu_copy_lands(const emu_block *block, uint32_t offset, unsigned bytes);
void emu_copy_arrives(emu_block *block, uint32_t offset, unsigned bytes, uint32_t slot, bool is_atomic);
void emu_copy_reads(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, unsigned bytes);
void emu_copy_has_read(emu_block *block, uint32_t offset, unsigned bytes);

/** Record that a copy wrote bytes with a swizzle (of emu_tensor), or, EMU_LINEAR, without one. */
enum { EMU_LINEAR = -1 };
void emu_note_swizzle(emu_block *block, uint32_t offset, unsigned bytes, int swizzle);

/**
 * Check a product's read of a chunk of a block by a swizzle: are stores by others ordered before, did a proxy fence come between,
 * and did a copy lay it out with this swizzle? number: of its slot (emu_product_slot).
 */
void emu_product_reads(emu_warp *warp, const emu_inst *inst, emu_block *block, uint32_t offset, int swizzle, uint32_t number);

/** Check and record an access to bytes in an allocation. Only one worker of one launch may run. */
void emu_check_global(emu_warp *warp, const emu_inst *inst, int lane, emu_allocation *allocation, uint64_t address,
                      unsigned bytes, const uint8_t *value, bool is_write, bool is_atomic);

/** Was the word at an address in an allocation written in this launch? Known only if races are checked. */
bool emu_was_written(const emu_warp *warp, const emu_allocation *allocation, uint64_t address);

/** Record that a thread of a block acquired a tensor map with a fence; is one acquired; forget one that was written. */
void emu_acquire_map(emu_block *block, uint64_t address);
bool emu_has_acquired(const emu_block *block, uint64_t address);
void emu_forget_map(emu_block *block, uint64_t address);

/** Report undefined lanes of an operand whose value matters. */
void emu_check_defined(emu_warp *warp, const emu_inst *inst, const emu_operand *operand, uint32_t mask, const char *use);

/** Return the definedness of the bytes at a place, one flag per byte; NULL: all are defined. */
static inline uint8_t *emu_defined_bytes(const emu_warp *warp, int lane, const emu_place *place)
{
    const emu_block *block = place->block ? place->block : warp->block;
    const emu_allocation *one = place->allocation;

    switch (place->space) {
    case S_SHARED:
        return block->shared_defined ? block->shared_defined + place->address : NULL;
    case S_LOCAL:
        return warp->local_defined ? warp->local_defined + (size_t)lane * block->launch->function->local_bytes + place->address
                                   : NULL;
    case S_GLOBAL:
        return one && one->defined ? one->defined + (place->address - one->base) : NULL;
    default:
        return NULL;
    }
}

/** Check and record an access to bytes at a place. value: the bytes to be written, or NULL. */
static inline void emu_check_access(emu_warp *warp, const emu_inst *inst, int lane, const emu_place *place, unsigned bytes,
                                    const uint8_t *value, bool is_write, bool is_atomic)
{
    const uint32_t checks = warp->block->launch->checks;

    if (place->space == S_SHARED && checks & (CUEMU_CHECK_RACES | CUEMU_CHECK_ASYNC))
        emu_check_shared(warp, inst, lane, place->block ? place->block : warp->block, (uint32_t)place->address, bytes, value,
                         is_write, is_atomic);
    else if (place->space == S_GLOBAL && checks & CUEMU_CHECK_RACES)
        emu_check_global(warp, inst, lane, place->allocation, place->address, bytes, value, is_write, is_atomic);
}

/** Record a device-wide fence: it orders earlier accesses of the block for other blocks. */
static inline void emu_fence(emu_warp *warp)
{
    if (warp->block->launch->order)
        warp->block->launch->order[warp->block->number].fences++;
}

#endif
