/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shadow: what the checks remember of memory.
 *
 * Shared memory remembers who wrote and who read it, and when, by the time of the cluster (past.h). Global memory remembers the same
 * across blocks, which only fences and atomics order; within a block by the barriers that it has passed.
 *
 * There is a state for each word, and behind those of all words one for each byte, which counts where the word is split: something
 * touched a part of it, or was found about a byte.
 */
#ifndef EMU_SHADOW_H
#define EMU_SHADOW_H

#include "warp.h"

/** A word of shared memory, or a byte: who touched it last, and when. Threads of the cluster count from 1; 0: nobody. */
typedef struct emu_shared_state {
    bool is_split, is_atomic;
    uint8_t in_flight, being_read; /* copies that will write it, and that may read it still */
    uint16_t writer, reader;       /* writer: EMU_COPY + the slot of a copy; reader: EMU_MANY + a warp's slot */
    uint32_t write_time, read_time;
    uint32_t write_step, read_step; /* warp synchronisations passed by that warp */
    uint32_t readers, first_read;   /* warps of the block that read it since it was written, and when the first of them did */
} emu_shared_state;

/** The same of global memory, in one launch. */
typedef struct emu_global_state {
    bool is_split, is_atomic;
    uint16_t writer, reader;
    uint32_t write_launch, write_block, write_epoch, write_fences, write_tickets;
    uint32_t read_launch, read_block, read_epoch, read_fences;
    uint32_t write_step, read_step; /* warp synchronisations, within a block */
} emu_global_state;

/** What a block has done that orders its writes for other blocks. */
typedef struct emu_order {
    uint32_t fences;  /* device-wide, by any of its threads */
    uint32_t tickets; /* atomics on global memory that gave a value back */
    uint64_t ticket;  /* address of the last of them */
} emu_order;

enum { EMU_MANY = 0x8000, EMU_COPY = 0xc000 };
enum { EMU_CHUNK = 16 /* bytes that a product reads at once */, EMU_SWIZZLED = 128 /* a swizzle stays within as many */ };
enum { EMU_WORD = 4 };

/** Words that have a state each, of so many bytes of memory. */
static inline size_t emu_words_in(size_t bytes)
{
    return bytes / EMU_WORD + 1;
}

/** A thread of a cluster, by the slot of its warp. */
static inline uint16_t emu_thread_in(uint32_t slot, int lane)
{
    return (uint16_t)(slot * 32 + (uint32_t)lane + 1);
}

/** An access of bytes at an offset in a block's shared memory, checked and remembered. value: what will be written, or NULL. */
void emu_check_shared(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, unsigned bytes,
                      const uint8_t *value, bool is_write, bool is_atomic);

/**
 * What asynchronous copies do to a block's shared memory: one that a lane issues will write bytes, is about to write them, has written
 * them, reads them from now on, or does so no longer. is_atomic: it combines them with what is there, as others may do at once.
 */
void emu_copy_departs(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, unsigned bytes,
                      bool is_atomic);
void emu_copy_lands(const emu_block *block, uint32_t offset, unsigned bytes);
void emu_copy_arrives(emu_block *block, uint32_t offset, unsigned bytes, uint32_t slot, bool is_atomic);
void emu_copy_reads(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, unsigned bytes);
void emu_copy_has_read(emu_block *block, uint32_t offset, unsigned bytes);

/** A copy has laid out bytes by a swizzle (of emu_tensor), or, EMU_LINEAR, as they were. */
enum { EMU_LINEAR = -1 };
void emu_note_swizzle(emu_block *block, uint32_t offset, unsigned bytes, int swizzle);

/**
 * A product reads a chunk of its block by a swizzle: is what others stored there before, did a proxy fence come between, and did a copy
 * lay it out like this?
 */
void emu_product_reads(emu_warp *warp, const emu_inst *inst, uint32_t offset, int swizzle);

/** An access of bytes in an allocation, checked and remembered. Only one worker of one launch may run. */
void emu_check_global(emu_warp *warp, const emu_inst *inst, int lane, emu_allocation *allocation, uint64_t address,
                      unsigned bytes, const uint8_t *value, bool is_write, bool is_atomic);

/** Was the word at an address in an allocation written in this launch? Only known if races are looked for. */
bool emu_was_written(const emu_warp *warp, const emu_allocation *allocation, uint64_t address);

/** A thread of a block acquires a tensor map by a fence; is one acquired; and one is no longer, as it was written. */
void emu_acquire_map(emu_block *block, uint64_t address);
bool emu_has_acquired(const emu_block *block, uint64_t address);
void emu_forget_map(emu_block *block, uint64_t address);

/** Undefined lanes of an operand where its value matters. */
void emu_check_defined(emu_warp *warp, const emu_inst *inst, const emu_operand *operand, uint32_t mask, const char *use);

/** Definedness of the bytes at a place, one byte each; NULL: all are defined. */
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

/** An access of bytes at a place, checked and remembered. value: what will be written, or NULL. */
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

/** A fence of the device, which orders what the block did before it for other blocks. */
static inline void emu_fence(emu_warp *warp)
{
    if (warp->block->launch->order)
        warp->block->launch->order[warp->block->number].fences++;
}

#endif
