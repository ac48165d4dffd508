/* SPDX-License-Identifier: Apache-2.0 */
#include "finding.h"

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

static const char *kind_name(cuEmuKind kind)
{
    static const char *const names[CUEMU_KINDS] = {
        [CUEMU_OUT_OF_BOUNDS] = "out of bounds",
        [CUEMU_MISALIGNED] = "misaligned",
        [CUEMU_DIVERGENT] = "divergent",
        [CUEMU_DEADLOCK] = "deadlock",
        [CUEMU_ENDLESS] = "endless",
        [CUEMU_ILLEGAL] = "illegal",
        [CUEMU_MBARRIER] = "mbarrier",
        [CUEMU_TENSOR_MEMORY] = "tensor memory",
        [CUEMU_ASSERT] = "assert",
        [CUEMU_UNINITIALISED] = "uninitialised",
        [CUEMU_RACE_SHARED] = "race in shared memory",
        [CUEMU_RACE_GLOBAL] = "race in global memory",
        [CUEMU_ASYNC_IN_FLIGHT] = "touched in flight",
        [CUEMU_PROXY_FENCE] = "missing proxy fence",
        [CUEMU_TENSOR_FENCE] = "missing fence of tensor memory",
        [CUEMU_SWIZZLE] = "another swizzle",
        [CUEMU_INIT_FENCE] = "missing fence of an mbarrier",
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

/* Return a new finding, or an equal one (of this launch; for warnings, of any launch); NULL: too many. */
static kept *place_for(cuEmuKind kind, const emu_inst *inst, uint64_t launch, bool *is_new)
{
    *is_new = false;
    for (size_t i = 0; i < count; i++)
        if (inst && findings[i].found.kind == kind && findings[i].inst == inst &&
            (findings[i].launch == launch || emu_is_warning(kind)))
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

void emu_find_in_memory(cuEmuKind kind, uint64_t address, uint64_t times, const char *text)
{
    kept *one;
    bool is_new;

    pthread_mutex_lock(&lock);
    one = place_for(kind, NULL, 0, &is_new);
    if (one) {
        one->found.address = address;
        one->found.count = times;
        snprintf(one->found.text, sizeof one->found.text, "%s", text);
        say(&one->found);
    }
    pthread_mutex_unlock(&lock);
}

void emu_findings_forget(const emu_module *module)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++)
        if (findings[i].inst >= module->inst && findings[i].inst < module->inst + module->insts)
            findings[i].inst = NULL;
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
    enum { NEAR = 1 << 20 }; /* pinned memory near an address of which the emulator knows nothing */
    bool is_outside;
    const emu_allocation *one = emu_memory_find_near(address, &is_outside);
    const uint64_t before = one ? one->base - address : 0, into = one ? address - one->base : 0;
    const char *state, *where = "into";
    uint64_t distance = into;

    if (!one ||
        (is_outside && address < EMU_GLOBAL_BASE && (!emu_is_pinned(one) || (before > NEAR && into - one->size > NEAR)))) {
        snprintf(text, bytes, "which is not an address of device memory or pinned host memory");
        return text;
    }
    state = one->is_freed ? "freed memory" : emu_is_pinned(one) ? "pinned host memory" : "an allocation";
    if (is_outside) {
        where = address < one->base ? "before" : "after the end of";
        distance = address < one->base ? before : into - one->size;
    }
    snprintf(text, bytes, "%llu bytes %s %s of %llu bytes at 0x%llx", (unsigned long long)distance, where, state,
             (unsigned long long)one->size, (unsigned long long)one->base);
    return text;
}
