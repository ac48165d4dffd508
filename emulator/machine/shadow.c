/* SPDX-License-Identifier: Apache-2.0 */
#include "shadow.h"

#include <stdio.h>
#include <stdlib.h>

#include "finding.h"

void emu_check_defined(emu_warp *warp, const emu_inst *inst, const emu_operand *operand, uint32_t mask, const char *use)
{
    const uint32_t undefined = mask & ~emu_defined(warp, operand);

    if (!undefined)
        return;
    emu_find(warp, inst, CUEMU_UNINITIALISED, __builtin_ctz(undefined), 0, "uses a value that was never written %s", use);
    emu_set_defined(warp, operand, UINT32_MAX, undefined); /* once is enough */
}

static uint16_t many_of(uint16_t thread)
{
    return (uint16_t)(EMU_MANY_OF_WARP + (thread - 1) / 32);
}

/* Readers joined with one more. */
static uint16_t join_readers(uint16_t readers, uint16_t thread)
{
    if (readers == 0 || readers == thread)
        return thread;
    if (readers == many_of(thread) || (readers < EMU_MANY_OF_WARP && many_of(readers) == many_of(thread)))
        return many_of(thread);
    return EMU_MANY;
}

/* Are all of others ordered before an access by this lane? If both synchronised with lanes of their warp since then. */
static bool warp_orders(const emu_warp *warp, uint16_t others, uint32_t then, uint16_t thread)
{
    const bool is_one = others < EMU_MANY_OF_WARP;

    if (others == EMU_MANY || (is_one ? many_of(others) : others) != many_of(thread))
        return false;
    return warp->synced[(thread - 1) % 32] > then && (!is_one || warp->synced[(others - 1) % 32] > then);
}

static void report_shared(emu_warp *warp, const emu_inst *inst, int lane, uint32_t offset, uint16_t other, const char *what)
{
    char who[64];

    if (other == EMU_MANY)
        snprintf(who, sizeof who, "several threads");
    else if (other >= EMU_MANY_OF_WARP)
        snprintf(who, sizeof who, "threads of warp %u", other - EMU_MANY_OF_WARP);
    else
        snprintf(who, sizeof who, "thread %u of the block", other - 1);
    emu_find(warp, inst, CUEMU_RACE_SHARED, lane, offset, "%s shared offset 0x%x, which %s %s since the last barrier",
             what[0] == 'r' ? "reads" : "writes", offset, who, what[0] == 'r' || what[1] == 'w' ? "wrote" : "read");
}

void emu_check_shared(emu_warp *warp, const emu_inst *inst, int lane, uint32_t offset, unsigned bytes, const uint8_t *value,
                      bool is_write, bool is_atomic)
{
    emu_block *block = warp->block;
    const uint32_t checks = block->launch->checks;
    const uint16_t thread = (uint16_t)(warp->number * 32 + (uint32_t)lane + 1);
    const uint32_t step = warp->step;

    for (unsigned b = 0; b < bytes; b++) {
        emu_shared_byte *byte = &block->byte[offset + b];
        const bool was_written = byte->writer && byte->write_epoch == block->epoch;
        const bool was_read = byte->reader && byte->read_epoch == block->epoch;
        if (byte->in_flight && checks & CUEMU_CHECK_ASYNC) {
            emu_find(warp, inst, CUEMU_ASYNC_IN_FLIGHT, lane, offset + b,
                     "touches shared offset 0x%x, where a cp.async is on its way", offset + b);
            byte->in_flight = 0;
        }
        if (checks & CUEMU_CHECK_RACES && was_written && byte->writer != thread && !(is_atomic && byte->is_atomic) &&
            !warp_orders(warp, byte->writer, byte->write_step, thread)) {
            const bool is_same_value = is_write && value && block->shared[offset + b] == value[b];
            if (!is_same_value) {
                report_shared(warp, inst, lane, offset + b, byte->writer, is_write ? "ww" : "r");
                byte->writer = 0;
            }
        }
        if (checks & CUEMU_CHECK_RACES && is_write && was_read && byte->reader != thread && !is_atomic &&
            !warp_orders(warp, byte->reader, byte->read_step, thread)) {
            report_shared(warp, inst, lane, offset + b, byte->reader, "w");
            byte->reader = 0;
        }
        if (is_write) {
            byte->writer = thread;
            byte->write_epoch = block->epoch;
            byte->write_step = step;
            byte->is_atomic = is_atomic;
        } else {
            byte->reader = was_read && byte->reader ? join_readers(byte->reader, thread) : thread;
            byte->read_epoch = block->epoch;
            byte->read_step = step;
        }
    }
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
            !(byte->write_block == number && warp_orders(warp, byte->writer, byte->write_step, thread))) {
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
        } else if (is_write && was_read && !read_itself && !is_atomic &&
                   (byte->read_block != number ||
                    (byte->read_epoch == block->epoch && !warp_orders(warp, byte->reader, byte->read_step, thread)))) {
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
        }
    }
}
