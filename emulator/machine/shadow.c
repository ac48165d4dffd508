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
    emu_set_defined(warp, operand, UINT32_MAX, undefined); /* once is enough */
}

/* Are all of those who touched a byte then, ordered before an access by this lane? */
static bool is_before(const emu_warp *warp, int lane, uint16_t others, uint32_t time, uint32_t step)
{
    const bool is_copy = others >= EMU_COPY, is_many = !is_copy && others >= EMU_MANY;
    const uint32_t number = others, slot = is_copy ? number - EMU_COPY : is_many ? number - EMU_MANY : (number - 1) / 32;

    if (warp->past.seen[slot] >= time)
        return true;
    /* Lanes of one warp are ordered if both synchronised with others of it since. */
    return slot == warp->slot && warp->synced[lane] > step && (is_many || warp->synced[(others - 1) % 32] > step);
}

/* The last readers, joined with one more if he is of the same warp. */
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

/* Readers of other warps than the last one's that are not known to come before a write; their warp, or 0. */
static uint16_t find_early_reader(const emu_warp *warp, const emu_block *block, const emu_shared_byte *byte)
{
    for (uint32_t left = byte->readers; left; left &= left - 1) {
        const uint32_t slot = block->rank * EMU_BLOCK_SLOTS + (uint32_t)__builtin_ctz(left);
        if (slot != warp->slot && warp->past.seen[slot] < byte->first_read)
            return (uint16_t)(EMU_MANY + slot);
    }
    return 0;
}

static void remember_read(const emu_warp *warp, const emu_block *block, emu_shared_byte *byte, uint16_t thread, uint32_t now)
{
    const bool is_synced_since = warp->past.seen[warp->slot] >= byte->read_time;

    byte->reader = is_synced_since ? thread : join_readers(byte->reader, thread);
    byte->read_time = now;
    byte->read_step = warp->step;
    if (warp->block == block) {
        if (!byte->readers)
            byte->first_read = now;
        byte->readers |= 1u << warp->slot % EMU_BLOCK_SLOTS;
    }
}

/* A byte is accessed: whom does that disturb? */
static void find_conflicts(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset,
                           const uint8_t *value, bool is_write, bool is_atomic)
{
    const uint32_t checks = block->launch->checks;
    const uint16_t thread = emu_thread_in(warp->slot, lane);
    emu_shared_byte *byte = &block->byte[offset];

    if (byte->in_flight && checks & CUEMU_CHECK_ASYNC && !(is_atomic && byte->is_atomic)) {
        emu_find(warp, inst, CUEMU_ASYNC_IN_FLIGHT, lane, offset,
                 "touches shared offset 0x%x, where an asynchronous copy is on its way", offset);
        byte->in_flight = 0;
    }
    if (byte->being_read && is_write && checks & CUEMU_CHECK_ASYNC) {
        emu_find(warp, inst, CUEMU_ASYNC_IN_FLIGHT, lane, offset,
                 "writes shared offset 0x%x, which an asynchronous copy still reads", offset);
        byte->being_read = 0;
    }
    if (checks & CUEMU_CHECK_RACES && byte->writer && byte->writer != thread && !(is_atomic && byte->is_atomic) &&
        !is_before(warp, lane, byte->writer, byte->write_time, byte->write_step)) {
        const bool is_same_value = is_write && value && block->shared[offset] == *value;
        if (!is_same_value) {
            report_shared(warp, inst, lane, block, offset, byte->writer, is_write ? "ww" : "r");
            byte->writer = 0;
        }
    }
    if (checks & CUEMU_CHECK_RACES && is_write && byte->reader && !is_atomic) {
        uint16_t early = byte->reader;
        if (early == thread || is_before(warp, lane, early, byte->read_time, byte->read_step))
            early = find_early_reader(warp, block, byte);
        if (early) {
            report_shared(warp, inst, lane, block, offset, early, "w");
            byte->reader = 0;
        }
    }
}

/* Bytes are written: do all products that read them come before? */
static void find_products(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, unsigned bytes)
{
    const uint32_t *seen = warp->past.seen + emu_product_slot(block->cluster, block->rank, 0);

    for (uint32_t at = offset; at < offset + bytes; at += EMU_CHUNK - at % EMU_CHUNK)
        for (uint32_t group = 0; group < EMU_PRODUCT_SLOTS; group++) {
            uint32_t *read = &block->reads[at / EMU_CHUNK][group];
            if (*read <= seen[group])
                continue;
            emu_find(
                warp, inst, CUEMU_ASYNC_IN_FLIGHT, lane, at,
                "writes shared offset 0x%x, of %d bytes that a wgmma may still read: no wgmma.wait_group for it comes before",
                at, EMU_CHUNK);
            *read = 0;
        }
}

void emu_check_shared(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, unsigned bytes,
                      const uint8_t *value, bool is_write, bool is_atomic)
{
    const uint32_t now = block->cluster->now;
    const uint16_t thread = emu_thread_in(warp->slot, lane);

    if (is_write && block->reads)
        find_products(warp, inst, lane, block, offset, bytes);
    for (unsigned b = 0; b < bytes; b++) {
        emu_shared_byte *byte = &block->byte[offset + b];
        find_conflicts(warp, inst, lane, block, offset + b, value ? value + b : NULL, is_write, is_atomic);
        if (is_write) {
            byte->writer = thread;
            byte->write_time = now;
            byte->write_step = warp->step;
            byte->is_atomic = is_atomic;
            byte->reader = is_atomic ? byte->reader : 0;
            byte->readers = is_atomic ? byte->readers : 0;
        } else {
            remember_read(warp, block, byte, thread, now);
        }
    }
}

/* The async proxy reads bytes: did a proxy fence come between, if they were stored? */
static void find_missing_fence(emu_warp *warp, const emu_inst *inst, int lane, const emu_block *block, uint32_t offset,
                               unsigned bytes)
{
    for (unsigned b = 0; b < bytes && block->launch->checks & CUEMU_CHECK_ASYNC; b++) {
        const emu_shared_byte *byte = &block->byte[offset + b];
        if (!byte->writer || byte->writer >= EMU_COPY || warp->past.fenced[(byte->writer - 1) / 32] >= byte->write_time)
            continue;
        emu_find(
            warp, inst, CUEMU_PROXY_FENCE, lane, offset + b,
            "reads shared offset 0x%x by the async proxy, where thread %u of a block stored with no fence.proxy.async since",
            offset + b, (byte->writer - 1u) % (EMU_BLOCK_SLOTS * 32));
        return; /* once is enough */
    }
}

void emu_product_reads(emu_warp *warp, const emu_inst *inst, uint32_t offset)
{
    emu_block *block = warp->block;

    for (unsigned b = 0; block->byte && b < EMU_CHUNK; b++)
        find_conflicts(warp, inst, 0, block, offset + b, NULL, false, false);
    if (block->byte)
        find_missing_fence(warp, inst, 0, block, offset, EMU_CHUNK);
    if (block->reads)
        block->reads[offset / EMU_CHUNK][warp->number / EMU_GROUP] = block->cluster->now;
}

void emu_copy_departs(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, unsigned bytes,
                      bool is_atomic)
{
    if (!block->byte)
        return;
    emu_check_shared(warp, inst, lane, block, offset, bytes, NULL, true, is_atomic);
    for (unsigned b = 0; b < bytes; b++)
        block->byte[offset + b].in_flight++;
}

void emu_copy_arrives(emu_block *block, uint32_t offset, unsigned bytes, uint32_t slot, bool is_atomic)
{
    for (unsigned b = 0; block->byte && b < bytes; b++) {
        emu_shared_byte *byte = &block->byte[offset + b];
        byte->in_flight = (uint8_t)(byte->in_flight - (byte->in_flight > 0)); /* a finding has set it to 0 */
        byte->writer = (uint16_t)(EMU_COPY + slot);
        byte->write_time = block->cluster->now;
        byte->is_atomic = is_atomic;
    }
}

void emu_copy_reads(emu_warp *warp, const emu_inst *inst, int lane, emu_block *block, uint32_t offset, unsigned bytes)
{
    if (!block->byte)
        return;
    emu_check_shared(warp, inst, lane, block, offset, bytes, NULL, false, false);
    find_missing_fence(warp, inst, lane, block, offset, bytes);
    for (unsigned b = 0; b < bytes; b++)
        block->byte[offset + b].being_read++;
}

void emu_copy_has_read(emu_block *block, uint32_t offset, unsigned bytes)
{
    for (unsigned b = 0; block->byte && b < bytes; b++)
        block->byte[offset + b].being_read =
            (uint8_t)(block->byte[offset + b].being_read - (block->byte[offset + b].being_read > 0));
}

/* Did two threads of a block, if they are of one warp, synchronise with others of it since? */
static bool is_synced(const emu_warp *warp, uint16_t other, uint32_t step, uint16_t thread)
{
    return (other - 1) / 32 == (thread - 1) / 32 && warp->synced[(thread - 1) % 32] > step &&
           warp->synced[(other - 1) % 32] > step;
}

static bool prepare(emu_allocation *allocation)
{
    if (!allocation->access)
        allocation->access = calloc(allocation->size ? allocation->size : 1, sizeof *allocation->access);
    return allocation->access != NULL;
}

/* What another block did is ordered before now if it passed a fence since; within a block barriers order. */
static bool is_ordered(const emu_block *block, uint32_t other_block, uint32_t epoch, uint32_t fences)
{
    if (other_block == (uint32_t)block->number)
        return epoch != block->epoch;
    return block->launch->order && block->launch->order[other_block].fences != fences;
}

/*
 * The same of a read, before a write: a block may run long before another, which it cannot tell that it has read, unless both run at
 * once and meet somewhere.
 */
static bool is_read_ordered(const emu_block *block, const emu_global_byte *byte)
{
    const bool may_meet = block->launch->is_held || block->cluster->blocks > 1;

    return (byte->read_block == (uint32_t)block->number || may_meet) &&
           is_ordered(block, byte->read_block, byte->read_epoch, byte->read_fences);
}

/* An atomic that gives a value back: whoever shares its address learns how far this block is. */
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
 * Does this block rely on an order that there is not? Volatile and relaxed accesses of one place are no race, but they order no other:
 * the writer took a ticket after its write, with no fence between, and this block took one at the same address before it reads.
 */
static bool lacks_fence(const emu_block *block, const emu_global_byte *byte)
{
    const emu_order *writer = block->launch->order ? &block->launch->order[byte->write_block] : NULL;
    const size_t most = sizeof block->ticket / sizeof block->ticket[0];

    if (!writer || writer->fences != byte->write_fences || writer->tickets == byte->write_tickets)
        return false;
    for (size_t i = 0; i < most && i < block->tickets; i++)
        if (block->ticket[i] == writer->ticket)
            return true;
    return false;
}

void emu_check_global(emu_warp *warp, const emu_inst *inst, int lane, emu_allocation *allocation, uint64_t address,
                      unsigned bytes, const uint8_t *value, bool is_write, bool is_atomic)
{
    emu_block *block = warp->block;
    const uint32_t launch = (uint32_t)block->launch->number, number = (uint32_t)block->number;
    const uint16_t thread = (uint16_t)(warp->number * 32 + (uint32_t)lane + 1);
    const uint64_t start = address - allocation->base;

    if (!prepare(allocation))
        return;
    if (is_write && is_atomic && !value && inst->outputs)
        take_ticket(block, address);
    for (unsigned b = 0; b < bytes; b++) {
        emu_global_byte *byte = &allocation->access[start + b];
        const bool was_written = byte->writer && byte->write_launch == launch;
        const bool was_read = byte->reader && byte->read_launch == launch;
        const bool wrote_itself = byte->writer == thread && byte->write_block == number;
        const bool read_itself = byte->reader == thread && byte->read_block == number;
        const bool is_same_value = is_write && value && allocation->host[start + b] == value[b];
        if (was_written && !wrote_itself && !(is_atomic && byte->is_atomic) && !is_same_value &&
            !is_ordered(block, byte->write_block, byte->write_epoch, byte->write_fences) &&
            !(byte->write_block == number && is_synced(warp, byte->writer, byte->write_step, thread))) {
            emu_find(warp, inst, CUEMU_RACE_GLOBAL, lane, address + b,
                     "%s 0x%llx, which thread %u of block %u wrote in this launch", is_write ? "writes" : "reads",
                     (unsigned long long)address + b, byte->writer - 1, byte->write_block);
            byte->writer = 0;
        } else if (was_written && !is_write && is_atomic && byte->is_atomic && byte->write_block != number &&
                   lacks_fence(block, byte)) {
            emu_find(
                warp, inst, CUEMU_RACE_GLOBAL, lane, address + b,
                "reads 0x%llx, which thread %u of block %u wrote with no fence before its atomic at 0x%llx, which tells this "
                "block of it",
                (unsigned long long)address + b, byte->writer - 1, byte->write_block,
                (unsigned long long)block->launch->order[byte->write_block].ticket);
            byte->writer = 0;
        } else if (is_write && was_read && !read_itself && !is_atomic && !is_read_ordered(block, byte) &&
                   !(byte->read_block == number && is_synced(warp, byte->reader, byte->read_step, thread))) {
            emu_find(warp, inst, CUEMU_RACE_GLOBAL, lane, address + b,
                     "writes 0x%llx, which thread %u of block %u read in this launch", (unsigned long long)address + b,
                     byte->reader - 1, byte->read_block);
            byte->reader = 0;
        }
        if (is_write) {
            byte->writer = thread;
            byte->write_launch = launch;
            byte->write_block = number;
            byte->write_epoch = block->epoch;
            byte->write_step = warp->step;
            byte->write_fences = block->launch->order ? block->launch->order[number].fences : 0;
            byte->write_tickets = block->launch->order ? block->launch->order[number].tickets : 0;
            byte->is_atomic = is_atomic;
        } else if (!was_read || read_itself || byte->read_block == number) {
            byte->reader = thread;
            byte->read_launch = launch;
            byte->read_block = number;
            byte->read_step = warp->step;
            byte->read_epoch = block->epoch;
            byte->read_fences = block->launch->order ? block->launch->order[number].fences : 0;
        }
    }
}
