/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow.h"

#include <stdio.h>
#include <stdlib.h>

#include "cluster.h"
#include "finding.h"
#include "warpgroup.h"

void emu_check_defined(emu_warp *warp, const emu_inst *inst, const emu_operand *operand, uint32_t mask, const char *use)
{
    const uint32_t undefined = mask & ~emu_defined(warp, operand);

    if (!undefined)
        return;
    emu_find(warp, inst, CUEMU_UNINITIALISED, __builtin_ctz(undefined), 0, "uses a value that was never written %s", use);
    emu_set_defined(warp, operand, UINT32_MAX, undefined); /* report once */
}

/*
 * The states of a memory, by their first byte: states of whole words, then states of single bytes. `is_split` of a word's state
 * says which of them counts.
 */
typedef struct states {
    uint8_t *first;
    size_t words, size;
} states;

static inline states shared_states(const emu_block *block)
{
    return (states){(uint8_t *)block->state, emu_words_in(block->launch->shared_bytes), sizeof *block->state};
}

static inline states global_states(const emu_allocation *allocation)
{
    return (states){(uint8_t *)allocation->state, emu_words_in(allocation->size), sizeof *allocation->state};
}

static inline uint8_t *byte_state(states s, uint64_t offset)
{
    return s.first + (s.words + offset) * s.size;
}

/* Split a word: give each of its bytes the word's state. Returns the state of the byte at the offset. */
static inline void *split(states s, uint64_t offset)
{
    const uint64_t word = offset / EMU_WORD;

    for (uint64_t b = 0; b < EMU_WORD; b++)
        memcpy(byte_state(s, word * EMU_WORD + b), s.first + word * s.size, s.size);
    s.first[word * s.size] = true;
    return byte_state(s, offset);
}

/* Join a split word if the states of all its bytes are equal. */
static inline void try_to_join(states s, uint64_t word)
{
    const uint8_t *byte = byte_state(s, word * EMU_WORD);

    for (uint64_t b = 1; b < EMU_WORD; b++)
        if (memcmp(byte, byte + b * s.size, s.size) != 0)
            return;
    memcpy(s.first + word * s.size, byte, s.size);
}

/*
 * Return the state of the bytes from an offset up to *next: a word's if it ends before `end` and is not split, else a byte's.
 */
static inline void *state_at(states s, uint64_t offset, uint64_t end, uint64_t *next)
{
    const bool is_whole = offset % EMU_WORD == 0 && end - offset >= EMU_WORD;
    uint8_t *word = s.first + offset / EMU_WORD * s.size;

    if (is_whole && *word)
        try_to_join(s, offset / EMU_WORD);
    *next = offset + (is_whole && !*word ? EMU_WORD : 1);
    if (is_whole && !*word)
        return word;
    return *word ? byte_state(s, offset) : split(s, offset);
}

/* Are all accesses by `others` at that time ordered before an access by this lane? */
static inline bool is_before(const emu_warp *warp, int lane, uint16_t others, uint32_t time, uint32_t step)
{
    const bool is_copy = others >= EMU_COPY, is_many = !is_copy && others >= EMU_MANY;
    const uint32_t number = others, slot = is_copy ? number - EMU_COPY : is_many ? number - EMU_MANY : (number - 1) / 32;

    if (warp->past.seen[slot] >= time)
        return true;
    /* Lanes of one warp are ordered if both took part in a warp synchronisation since. */
    return slot == warp->slot && warp->synced[lane] > step && (is_many || warp->synced[(others - 1) % 32] > step);
}

/* Return the last readers joined with one more; several threads of one warp become the warp. */
static uint16_t join_readers(uint16_t readers, uint16_t thread)
{
    const uint16_t many = (uint16_t)(EMU_MANY + (thread - 1) / 32);

    if (readers == 0 || readers == thread)
        return thread;
    return readers == many || (readers < EMU_MANY && (readers - 1) / 32 == (thread - 1) / 32) ? many : thread;
}

static void report_shared(emu_warp *warp, const emu_inst *inst, int lane, const emu_block *block, uint32_t offset,
                          uint16_t other, const char *what)
{
    const uint32_t threads = EMU_BLOCK_SLOTS * 32, slot = other >= EMU_MANY ? (uint32_t)other - EMU_MANY : (other - 1u) / 32;
    const uint32_t rank = other >= EMU_COPY ? block->rank : slot / EMU_BLOCK_SLOTS;
    char who[120], where[48] = "";

    if (other >= EMU_COPY)
        snprintf(who, sizeof who, "an asynchronous copy");
    else if (other >= EMU_MANY)
        snprintf(who, sizeof who, "threads of warp %u", slot % EMU_BLOCK_SLOTS);
    else
        snprintf(who, sizeof who, "thread %u of the block", (other - 1u) % threads);
    if (rank != warp->block->rank)
        snprintf(who + strlen(who), sizeof who - strlen(who), "%s %u of the cluster",
                 other >= EMU_MANY ? " of block" : ", number", rank);
    if (block != warp->block)
        snprintf(where, sizeof where, " of block %u of the cluster", block->rank);
    emu_find(warp, inst, CUEMU_RACE_SHARED, lane, offset, "%s shared offset 0x%x%s, which %s %s since the last barrier",
             what[0] == 'r' ? "reads" : "writes", offset, where, who, what[0] == 'r' || what[1] == 'w' ? "wrote" : "read");
}

/* Find a reader of another warp than the last reader's that is not known to come before a write; its warp, or 0. */
static uint16_t find_early_reader(const emu_warp *warp, const emu_block *block, const emu_shared_state *state)
{
    for (uint32_t left = state->readers; left; left &= left - 1) {
        const uint32_t slot = block->rank * EMU_BLOCK_SLOTS + (uint32_t)__builtin_ctz(left);
        if (slot != warp->slot && warp->past.seen[slot] < state->first_read)
            return (uint16_t)(EMU_MANY + slot);
    }
    return 0;
}

static void remember_read(const emu_warp *warp, const emu_block *block, emu_shared_state *state, uint16_t thread, uint32_t now)
{
    const bool is_synced_since = warp->past.seen[warp->slot] >= state->read_time;

    state->reader = is_synced_since ? thread : join_readers(state->reader, thread);
    state->read_time = now;
    state->read_step = warp->step;
    if (warp->block == block) {
        if (!state->readers)
            state->first_read = now;
        state->readers |= 1u << warp->slot % EMU_BLOCK_SLOTS;
    }
}

/* The earlier accesses that an access conflicts with. */
typedef struct conflicts {
    bool is_in_flight, is_being_read;
    bool is_written; /* a write of the same value does not conflict */
    uint16_t reader; /* or 0 */
} conflicts;

static inline conflicts conflicts_of(const emu_warp *warp, int lane, const emu_block *block, const emu_shared_state *state,
                                     bool is_write, bool is_atomic)
{
    const uint32_t checks = block->launch->checks;
    const uint16_t thread = emu_thread_in(warp->slot, lane);
    const bool are_atomic = is_atomic && state->is_atomic;
    conflicts found = {
        .is_in_flight = state->in_flight && checks & CUEMU_CHECK_ASYNC && !are_atomic,
        .is_being_read = state->being_read && is_write && checks & CUEMU_CHECK_ASYNC,
        .is_written = checks & CUEMU_CHECK_RACES && state->writer && state->writer != thread && !are_atomic &&
                      !is_before(warp, lane, state->writer, state->write_time, state->write_step),
    };

    if (checks & CUEMU_CHECK_RACES && is_write && state->reader && !is_atomic) {
        found.reader = state->reader;
        if (found.reader == thread || is_before(warp, lane, found.reader, state->read_time, state->read_step))
            found.reader = find_early_reader(warp, block, state);
    }
    return found;
}

static void report(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, const conflicts *found,
                   const uint8_t *value, bool is_write, emu_shared_state *byte)
{
    if (found->is_in_flight) {
        emu_find(warp, inst, CUEMU_ASYNC_IN_FLIGHT, lane, offset,
                 "touches shared offset 0x%x, where an asynchronous copy is on its way", offset);
        byte->in_flight = 0;
    }
    if (found->is_being_read) {
        emu_find(warp, inst, CUEMU_ASYNC_IN_FLIGHT, lane, offset,
                 "writes shared offset 0x%x, which an asynchronous copy still reads", offset);
        byte->being_read = 0;
    }
    if (found->is_written && !(is_write && value && block->shared[offset] == *value)) {
        report_shared(warp, inst, lane, block, offset, byte->writer, is_write ? "ww" : "r");
        byte->writer = 0;
    }
    if (found->reader) {
        report_shared(warp, inst, lane, block, offset, found->reader, "w");
        byte->reader = 0;
    }
}

/* Find the conflicts of an access to the bytes from an offset up to *next, at most `end`. Returns their state. */
static inline emu_shared_state *find_conflicts(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block,
                                               uint32_t offset, uint32_t end, const uint8_t *value, bool is_write,
                                               bool is_atomic, uint64_t *next)
{
    emu_shared_state *state = state_at(shared_states(block), offset, end, next);
    const conflicts found = conflicts_of(warp, lane, block, state, is_write, is_atomic);

    if (!found.is_in_flight && !found.is_being_read && !found.is_written && !found.reader)
        return state;
    if (*next > offset + 1) { /* findings are about single bytes */
        state = split(shared_states(block), offset);
        *next = offset + 1;
    }
    report(warp, inst, lane, block, offset, &found, value, is_write, state);
    return state;
}

/* Check a write: do all products that read these bytes come before? */
static void find_products(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, unsigned bytes)
{
    const uint32_t *seen = warp->past.seen + emu_product_slot(block->cluster, block->rank, 0);
    const bool is_tensor = block->launch->module->has_tensor_memory;

    for (uint32_t at = offset; at < offset + bytes; at += EMU_CHUNK - at % EMU_CHUNK)
        for (uint32_t group = 0; group < EMU_PRODUCT_SLOTS; group++) {
            uint32_t *read = &block->reads[at / EMU_CHUNK][group];
            if (*read <= seen[group])
                continue;
            emu_find(warp, inst, CUEMU_ASYNC_IN_FLIGHT, lane, at,
                     "writes shared offset 0x%x, of %d bytes that a %s may still read: no %s for it comes before", at,
                     EMU_CHUNK, is_tensor ? "tcgen05.mma or cp" : "wgmma",
                     is_tensor ? "wait for a tcgen05.commit" : "wgmma.wait_group");
            *read = 0;
        }
}

void emu_check_shared(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, unsigned bytes,
                      const uint8_t *value, bool is_write, bool is_atomic)
{
    const uint32_t now = block->cluster->now, end = offset + bytes;
    const uint16_t thread = emu_thread_in(warp->slot, lane);

    if (is_write && block->reads)
        find_products(warp, inst, lane, block, offset, bytes);
    for (uint64_t at = offset, next; at < end; at = next) {
        emu_shared_state *state = find_conflicts(warp, inst, lane, block, (uint32_t)at, end,
                                                 value ? value + (at - offset) : NULL, is_write, is_atomic, &next);
        if (is_write) {
            state->writer = thread;
            state->write_time = now;
            state->write_step = warp->step;
            state->is_atomic = is_atomic;
            state->reader = is_atomic ? state->reader : 0;
            state->readers = is_atomic ? state->readers : 0;
        } else {
            remember_read(warp, block, state, thread, now);
        }
    }
}

/* Check a read by the async proxy: if the bytes were stored, did a proxy fence come between? */
static void find_missing_fence(emu_warp *warp, const emu_inst *inst, int lane, const emu_block *block, uint32_t offset,
                               unsigned bytes)
{
    const uint32_t end = block->launch->checks & CUEMU_CHECK_ASYNC ? offset + bytes : offset;

    for (uint64_t at = offset, next; at < end; at = next) {
        const emu_shared_state *state = state_at(shared_states(block), at, end, &next);
        if (!state->writer || state->writer >= EMU_COPY || warp->past.fenced[(state->writer - 1) / 32] >= state->write_time)
            continue;
        emu_find(
            warp, inst, CUEMU_PROXY_FENCE, lane, at,
            "reads shared offset 0x%x by the async proxy, where thread %u of a block stored with no fence.proxy.async since",
            (uint32_t)at, (state->writer - 1u) % (EMU_BLOCK_SLOTS * 32));
        return; /* report once */
    }
}

void emu_note_swizzle(emu_block *block, uint32_t offset, unsigned bytes, int swizzle)
{
    if (block->swizzle && bytes)
        memset(block->swizzle + offset / EMU_SWIZZLED, swizzle + 1,
               (offset + bytes - 1) / EMU_SWIZZLED - offset / EMU_SWIZZLED + 1);
}

/* Check the swizzle of a tile that a product reads. Bytes that the program has stored since may have any layout. */
static void find_other_swizzle(emu_warp *warp, const emu_inst *inst, const emu_block *block, uint32_t offset, int swizzle)
{
    static const char *const names[] = {"not swizzled", "swizzled in 32 bytes", "swizzled in 64 bytes", "swizzled in 128 bytes",
                                        "swizzled in 128 bytes by 32"};
    const int brought = block->swizzle[offset / EMU_SWIZZLED] - 1;
    uint64_t next;
    const emu_shared_state *state = state_at(shared_states(block), offset, offset + EMU_WORD, &next);

    if (brought == EMU_LINEAR || brought == swizzle || state->writer < EMU_COPY)
        return;
    emu_find(warp, inst, CUEMU_SWIZZLE, 0, offset, "reads shared offset 0x%x as %s, where a copy of a tile that is %s has come",
             offset, names[swizzle], names[brought]);
    block->swizzle[offset / EMU_SWIZZLED] = EMU_LINEAR + 1; /* report once */
}

void emu_product_reads(emu_warp *warp, const emu_inst *inst, emu_block *block, uint32_t offset, int swizzle, uint32_t number)
{
    const uint32_t end = block->state ? offset + EMU_CHUNK : offset;

    for (uint64_t at = offset, next; at < end; at = next)
        find_conflicts(warp, inst, 0, block, (uint32_t)at, end, NULL, false, false, &next);
    if (block->state)
        find_missing_fence(warp, inst, 0, block, offset, EMU_CHUNK);
    if (block->state && block->swizzle)
        find_other_swizzle(warp, inst, block, offset, swizzle);
    if (block->reads)
        block->reads[offset / EMU_CHUNK][number] = block->cluster->now;
}

void emu_copy_departs(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, unsigned bytes,
                      bool is_atomic)
{
    const uint32_t end = block->state ? offset + bytes : offset;

    if (block->state)
        emu_check_shared(warp, inst, lane, block, offset, bytes, NULL, true, is_atomic);
    for (uint64_t at = offset, next; at < end; at = next)
        ((emu_shared_state *)state_at(shared_states(block), at, end, &next))->in_flight++;
}

void emu_copy_lands(const emu_block *block, uint32_t offset, unsigned bytes)
{
    const uint32_t end = block->state ? offset + bytes : offset;

    for (uint64_t at = offset, next; at < end; at = next) {
        emu_shared_state *state = state_at(shared_states(block), at, end, &next);
        state->in_flight = (uint8_t)(state->in_flight - (state->in_flight > 0)); /* a finding may have set it to 0 */
    }
}

void emu_copy_arrives(emu_block *block, uint32_t offset, unsigned bytes, uint32_t slot, bool is_atomic)
{
    const uint32_t end = block->state ? offset + bytes : offset;

    emu_copy_lands(block, offset, bytes);
    for (uint64_t at = offset, next; at < end; at = next) {
        emu_shared_state *state = state_at(shared_states(block), at, end, &next);
        state->writer = (uint16_t)(EMU_COPY + slot);
        state->write_time = block->cluster->now;
        state->is_atomic = is_atomic;
    }
}

void emu_copy_reads(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, unsigned bytes)
{
    const uint32_t end = block->state ? offset + bytes : offset;

    if (block->state) {
        emu_check_shared(warp, inst, lane, block, offset, bytes, NULL, false, false);
        find_missing_fence(warp, inst, lane, block, offset, bytes);
    }
    for (uint64_t at = offset, next; at < end; at = next)
        ((emu_shared_state *)state_at(shared_states(block), at, end, &next))->being_read++;
}

void emu_copy_has_read(emu_block *block, uint32_t offset, unsigned bytes)
{
    const uint32_t end = block->state ? offset + bytes : offset;

    for (uint64_t at = offset, next; at < end; at = next) {
        emu_shared_state *state = state_at(shared_states(block), at, end, &next);
        state->being_read = (uint8_t)(state->being_read - (state->being_read > 0));
    }
}

/* If two threads of a block are in one warp, did they synchronise since? */
static bool is_synced(const emu_warp *warp, uint16_t other, uint32_t step, uint16_t thread)
{
    return (other - 1) / 32 == (thread - 1) / 32 && warp->synced[(thread - 1) % 32] > step &&
           warp->synced[(other - 1) % 32] > step;
}

static bool prepare(emu_allocation *allocation)
{
    if (!allocation->state)
        allocation->state = calloc(emu_words_in(allocation->size) * (1 + EMU_WORD), sizeof *allocation->state);
    return allocation->state != NULL;
}

bool emu_was_written(const emu_warp *warp, const emu_allocation *allocation, uint64_t address)
{
    const uint64_t offset = address - allocation->base;
    const emu_global_state *state = allocation->state ? &allocation->state[offset / EMU_WORD] : NULL;

    if (state && state->is_split)
        state = (const emu_global_state *)(const void *)byte_state(global_states(allocation), offset);
    return state && state->writer && state->write_launch == (uint32_t)warp->block->launch->number;
}

void emu_acquire_map(emu_block *block, uint64_t address)
{
    if (!emu_has_acquired(block, address))
        block->acquired[block->maps++ % EMU_ACQUIRED] = address;
}

bool emu_has_acquired(const emu_block *block, uint64_t address)
{
    for (uint32_t i = 0; i < EMU_ACQUIRED; i++)
        if (block->acquired[i] == address)
            return true;
    return false;
}

void emu_forget_map(emu_block *block, uint64_t address)
{
    for (uint32_t i = 0; i < EMU_ACQUIRED; i++)
        if (block->acquired[i] == address)
            block->acquired[i] = 0;
}

/* An access by another block is ordered before now if it passed a fence since; within a block barriers order. */
static bool is_ordered(const emu_block *block, uint32_t other_block, uint32_t epoch, uint32_t fences)
{
    if (other_block == (uint32_t)block->number)
        return epoch != block->epoch;
    return block->launch->order && block->launch->order[other_block].fences != fences;
}

/*
 * Like is_ordered, for a read before a write. A block that runs long before another cannot tell that it has been read, unless
 * both run at once and meet somewhere.
 */
static bool is_read_ordered(const emu_block *block, const emu_global_state *state)
{
    const bool may_meet = block->launch->is_held || block->cluster->blocks > 1;

    return (state->read_block == (uint32_t)block->number || may_meet) &&
           is_ordered(block, state->read_block, state->read_epoch, state->read_fences);
}

/* Take a ticket at an atomic that returns a value: other blocks at its address learn how far this block is. */
static void take_ticket(emu_block *block, uint64_t address)
{
    emu_order *own = block->launch->order ? &block->launch->order[block->number] : NULL;

    if (own) {
        own->tickets++;
        own->ticket = address;
    }
    block->ticket[block->tickets++ % (sizeof block->ticket / sizeof block->ticket[0])] = address;
}

/*
 * Does this block rely on an order that does not exist? Volatile and relaxed accesses to one address do not race, but they do
 * not order other accesses: the writer took a ticket after its write, with no fence between, and this block took one at the
 * same address before it reads.
 */
static bool lacks_fence(const emu_block *block, const emu_global_state *state)
{
    const emu_order *writer = block->launch->order ? &block->launch->order[state->write_block] : NULL;
    const size_t most = sizeof block->ticket / sizeof block->ticket[0];

    if (!writer || writer->fences != state->write_fences || writer->tickets == state->write_tickets)
        return false;
    for (size_t i = 0; i < most && i < block->tickets; i++)
        if (block->ticket[i] == writer->ticket)
            return true;
    return false;
}

/* The conflicts of an access to global memory; the first that holds is reported. */
typedef struct global_conflicts {
    bool is_written_ahead, is_read_ahead; /* by the preceding launch, which may not have got there yet */
    bool is_written;                      /* a write of the same value does not conflict */
    bool lacks_fence, is_read;
} global_conflicts;

static global_conflicts global_conflicts_of(const emu_warp *warp, const emu_global_state *state, uint16_t thread, bool is_write,
                                            bool is_atomic)
{
    const emu_block *block = warp->block;
    const uint32_t launch = (uint32_t)block->launch->number, number = (uint32_t)block->number;
    const bool was_written = state->writer && state->write_launch == launch;
    const bool was_read = state->reader && state->read_launch == launch;
    const bool wrote_itself = state->writer == thread && state->write_block == number;
    const bool read_itself = state->reader == thread && state->read_block == number;
    const bool is_early = emu_is_early(warp);

    return (global_conflicts){
        .is_written_ahead = is_early && state->writer && state->write_launch == launch - 1,
        .is_read_ahead = is_early && is_write && state->reader && state->read_launch == launch - 1,
        .is_written = was_written && !wrote_itself && !(is_atomic && state->is_atomic) &&
                      !is_ordered(block, state->write_block, state->write_epoch, state->write_fences) &&
                      !(state->write_block == number && is_synced(warp, state->writer, state->write_step, thread)),
        .lacks_fence = was_written && !is_write && is_atomic && state->is_atomic && state->write_block != number &&
                       lacks_fence(block, state),
        .is_read = is_write && was_read && !read_itself && !is_atomic && !is_read_ordered(block, state) &&
                   !(state->read_block == number && is_synced(warp, state->reader, state->read_step, thread)),
    };
}

static void report_global(emu_warp *warp, const emu_inst *inst, int lane, uint64_t address, const global_conflicts *found,
                          bool is_write, bool is_same_value, emu_global_state *byte)
{
    if (found->is_written_ahead || found->is_read_ahead) {
        emu_find(warp, inst, CUEMU_RACE_GLOBAL, lane, address,
                 "%s 0x%llx before griddepcontrol.wait: the previous launch, which this one may overlap, %s it",
                 is_write ? "writes" : "reads", (unsigned long long)address, found->is_written_ahead ? "writes" : "reads");
        byte->writer = byte->reader = 0;
    } else if (found->is_written && !is_same_value) {
        emu_find(warp, inst, CUEMU_RACE_GLOBAL, lane, address, "%s 0x%llx, which thread %u of block %u wrote in this launch",
                 is_write ? "writes" : "reads", (unsigned long long)address, byte->writer - 1, byte->write_block);
        byte->writer = 0;
    } else if (found->lacks_fence) {
        emu_find(warp, inst, CUEMU_RACE_GLOBAL, lane, address,
                 "reads 0x%llx, which thread %u of block %u wrote with no fence before its atomic at 0x%llx, which tells this "
                 "block of it",
                 (unsigned long long)address, byte->writer - 1, byte->write_block,
                 (unsigned long long)warp->block->launch->order[byte->write_block].ticket);
        byte->writer = 0;
    } else if (found->is_read) {
        emu_find(warp, inst, CUEMU_RACE_GLOBAL, lane, address, "writes 0x%llx, which thread %u of block %u read in this launch",
                 (unsigned long long)address, byte->reader - 1, byte->read_block);
        byte->reader = 0;
    }
}

static void remember_global(const emu_block *block, emu_global_state *state, uint16_t thread, uint32_t step, bool is_write,
                            bool is_atomic)
{
    const uint32_t launch = (uint32_t)block->launch->number, number = (uint32_t)block->number;
    const emu_order *order = block->launch->order ? &block->launch->order[number] : NULL;

    if (is_write) {
        state->writer = thread;
        state->write_launch = launch;
        state->write_block = number;
        state->write_epoch = block->epoch;
        state->write_step = step;
        state->write_fences = order ? order->fences : 0;
        state->write_tickets = order ? order->tickets : 0;
        state->is_atomic = is_atomic;
    } else if (!state->reader || state->read_launch != launch || state->read_block == number) {
        state->reader = thread;
        state->read_launch = launch;
        state->read_block = number;
        state->read_step = step;
        state->read_epoch = block->epoch;
        state->read_fences = order ? order->fences : 0;
    }
}

void emu_check_global(emu_warp *warp, const emu_inst *inst, int lane, emu_allocation *allocation, uint64_t address,
                      unsigned bytes, const uint8_t *value, bool is_write, bool is_atomic)
{
    const uint16_t thread = (uint16_t)(warp->number * 32 + (uint32_t)lane + 1);
    const uint64_t start = address - allocation->base, end = start + bytes;

    if (!prepare(allocation))
        return;
    if (is_write && is_atomic && !value && inst->outputs)
        take_ticket(warp->block, address);
    for (uint64_t at = start, next; at < end; at = next) {
        emu_global_state *state = state_at(global_states(allocation), at, end, &next);
        const global_conflicts found = global_conflicts_of(warp, state, thread, is_write, is_atomic);
        if (found.is_written_ahead || found.is_read_ahead || found.is_written || found.lacks_fence || found.is_read) {
            if (next > at + 1) { /* findings are about single bytes */
                state = split(global_states(allocation), at);
                next = at + 1;
            }
            report_global(warp, inst, lane, allocation->base + at, &found, is_write,
                          is_write && value && allocation->host[at] == value[at - start], state);
        }
        remember_global(warp->block, state, thread, warp->step, is_write, is_atomic);
    }
}
