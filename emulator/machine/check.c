/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"

enum { MAX_FINDINGS = 512 };

typedef struct kept {
    cuEmuFinding found;
    const emu_inst *inst;
    uint64_t launch, block;
} kept;

static kept findings[MAX_FINDINGS];
static size_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- findings -------------------------------------------------------------------------------------------------------- */

static const char *kind_name(cuEmuKind kind)
{
    static const char *const names[CUEMU_KINDS] = {
        [CUEMU_OUT_OF_BOUNDS] = "out of bounds",
        [CUEMU_MISALIGNED] = "misaligned",
        [CUEMU_DIVERGENT] = "divergent",
        [CUEMU_DEADLOCK] = "deadlock",
        [CUEMU_ENDLESS] = "endless",
        [CUEMU_ILLEGAL] = "illegal",
        [CUEMU_ASSERT] = "assert",
        [CUEMU_UNINITIALISED] = "uninitialised",
        [CUEMU_RACE_SHARED] = "race in shared memory",
        [CUEMU_RACE_GLOBAL] = "race in global memory",
        [CUEMU_ASYNC_IN_FLIGHT] = "touched in flight",
        [CUEMU_EXITED_BARRIER] = "barrier after exit",
        [CUEMU_WRITTEN_TWICE] = "written twice",
        [CUEMU_NEVER_WRITTEN] = "never written",
        [CUEMU_PADDING_WRITTEN] = "padding written",
    };
    return names[kind] ? names[kind] : "?";
}

static void say(const cuEmuFinding *f)
{
    if (!emu_option(CUEMU_LOG))
        return;
    fprintf(stderr, "cuda emulator: %s%s: %s", emu_is_warning(f->kind) ? "warning: " : "", kind_name(f->kind), f->text);
    if (f->ptx_line)
        fprintf(stderr, "; block (%u, %u, %u), thread (%u, %u, %u), PTX line %u", f->block[0], f->block[1], f->block[2],
                f->thread[0], f->thread[1], f->thread[2], f->ptx_line);
    if (f->cuda_line)
        fprintf(stderr, ", CUDA line %u", f->cuda_line);
    fprintf(stderr, "%s%s\n", f->kernel[0] ? " of " : "", f->kernel);
}

/* A new finding, or the one that this is another case of; NULL: too many. */
static kept *place_for(cuEmuKind kind, const emu_inst *inst, uint64_t launch, bool *is_new)
{
    *is_new = false;
    for (size_t i = 0; i < count; i++)
        if (inst && findings[i].found.kind == kind && findings[i].inst == inst && findings[i].launch == launch)
            return &findings[i];
    if (count == MAX_FINDINGS)
        return NULL;
    *is_new = true;
    findings[count] = (kept){.found = {.kind = kind}, .inst = inst, .launch = launch};
    return &findings[count++];
}

void emu_find(const emu_warp *warp, const emu_inst *inst, cuEmuKind kind, int lane, uint64_t address, const char *format, ...)
{
    emu_launch *launch = warp ? warp->block->launch : NULL;
    const uint32_t thread = warp ? warp->number * 32 + (uint32_t)lane : 0;
    kept *one;
    bool is_new;
    va_list arguments;

    pthread_mutex_lock(&lock);
    one = place_for(kind, inst, launch ? launch->number : 0, &is_new);
    if (one && (is_new || (warp && warp->block->number < one->block))) {
        cuEmuFinding *f = &one->found;
        int n = 0;
        one->block = warp ? warp->block->number : 0;
        f->address = address;
        if (launch) {
            snprintf(f->kernel, sizeof f->kernel, "%.*s", (int)launch->function->name_length, launch->function->name);
            memcpy(f->block, warp->block->index, sizeof f->block);
            f->thread[0] = thread % launch->block[0];
            f->thread[1] = thread / launch->block[0] % launch->block[1];
            f->thread[2] = thread / launch->block[0] / launch->block[1];
        }
        if (inst) {
            f->ptx_line = inst->line;
            f->cuda_line = inst->cuda_line;
            n = snprintf(f->text, sizeof f->text, "\"%.*s\" ", (int)(inst->text_length < 120 ? inst->text_length : 120),
                         inst->text);
        }
        va_start(arguments, format);
        vsnprintf(f->text + n, sizeof f->text - (size_t)n, format, arguments);
        va_end(arguments);
        if (is_new)
            say(f);
    }
    if (one)
        one->found.count++;
    pthread_mutex_unlock(&lock);
    if (launch && kind <= CUEMU_ASSERT)
        atomic_store(&launch->failed, (int)kind);
}

void emu_find_in_memory(cuEmuKind kind, const char *kernel, uint64_t address, uint64_t times, const char *text)
{
    kept *one;
    bool is_new;

    pthread_mutex_lock(&lock);
    one = place_for(kind, NULL, 0, &is_new);
    if (one) {
        one->found.address = address;
        one->found.count = times;
        snprintf(one->found.kernel, sizeof one->found.kernel, "%s", kernel);
        snprintf(one->found.text, sizeof one->found.text, "%s", text);
        say(&one->found);
    }
    pthread_mutex_unlock(&lock);
}

size_t emu_finding_count(void)
{
    size_t n;

    pthread_mutex_lock(&lock);
    n = count;
    pthread_mutex_unlock(&lock);
    return n;
}

bool emu_finding_get(size_t index, cuEmuFinding *finding)
{
    bool is_there;

    pthread_mutex_lock(&lock);
    is_there = index < count;
    if (is_there)
        *finding = findings[index].found;
    pthread_mutex_unlock(&lock);
    return is_there;
}

void emu_findings_clear(void)
{
    pthread_mutex_lock(&lock);
    count = 0;
    pthread_mutex_unlock(&lock);
}

const char *emu_describe_address(uint64_t address, char *text, size_t bytes)
{
    enum { NEAR = 1 << 20 }; /* to pinned memory, among addresses of which the emulator knows nothing */
    bool is_outside;
    const emu_allocation *one = emu_memory_find_near(address, &is_outside);
    const uint64_t before = one ? one->base - address : 0, into = one ? address - one->base : 0;
    const char *state;

    if (!one ||
        (is_outside && address < EMU_GLOBAL_BASE && (!emu_is_pinned(one) || (before > NEAR && into - one->size > NEAR)))) {
        snprintf(text, bytes, "which is no address of device memory or pinned host memory");
        return text;
    }
    state = one->is_freed ? "freed memory" : emu_is_pinned(one) ? "pinned host memory" : "an allocation";
    if (!is_outside)
        snprintf(text, bytes, "%llu bytes into %s of %llu bytes at 0x%llx", (unsigned long long)into, state,
                 (unsigned long long)one->size, (unsigned long long)one->base);
    else if (address < one->base)
        snprintf(text, bytes, "%llu bytes before %s of %llu bytes at 0x%llx", (unsigned long long)before, state,
                 (unsigned long long)one->size, (unsigned long long)one->base);
    else
        snprintf(text, bytes, "%llu bytes behind the end of %s of %llu bytes at 0x%llx", (unsigned long long)(into - one->size),
                 state, (unsigned long long)one->size, (unsigned long long)one->base);
    return text;
}

/* ---- definedness ----------------------------------------------------------------------------------------------------- */

void emu_check_defined(emu_warp *warp, const emu_inst *inst, const emu_operand *operand, uint32_t mask, const char *use)
{
    const uint32_t undefined = mask & ~emu_defined(warp, operand);

    if (!undefined)
        return;
    emu_find(warp, inst, CUEMU_UNINITIALISED, __builtin_ctz(undefined), 0, "uses a value that was never written %s", use);
    emu_set_defined(warp, operand, UINT32_MAX, undefined); /* once is enough */
}

/* ---- races ----------------------------------------------------------------------------------------------------------- */

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
