/* SPDX-License-Identifier: Apache-2.0 */
/* move: copy and fill memory of hosts and devices. */
#include "driver.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

enum {
    COPY_LATENCY_NS = 1500,
    BUS_BYTES_PER_NS = 25 /* between host and device, each way */
};

/* One side of a copy: rows of bytes in host memory, with their definedness. */
typedef struct side {
    uint8_t *at, *defined;
    bool is_device, is_reachable; /* reachable: by kernels and fills */
} side;

/* Is host memory mapped? A wild address of a program should be its error, not a crash here. */
static bool is_mapped(uint64_t address, uint64_t bytes)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = address / page * page;
    uint64_t span;

    if (__builtin_add_overflow(address - start, bytes, &span) || start + span < start)
        return false;
    /* MS_ASYNC synchronises nothing, and msync fails with ENOMEM for unmapped pages. */
    return msync((void *)(uintptr_t)start, span, MS_ASYNC) == 0 || errno != ENOMEM;
}

static bool resolve(uint64_t address, bool is_typed, size_t pitch, size_t width, size_t height, side *one)
{
    emu_allocation *allocation;
    uint64_t span;

    if (height > 1 && (pitch < width || pitch > (UINT64_MAX - width) / (height - 1)))
        return false;
    span = pitch * (height - 1) + width;
    one->at = emu_memory_range(address, span, &allocation);
    one->defined = one->at && allocation->defined ? allocation->defined + (address - allocation->base) : NULL;
    one->is_device = allocation && !emu_is_pinned(allocation);
    one->is_reachable = allocation;
    if (allocation || is_typed || address >= EMU_GLOBAL_BASE)
        return one->at;
    for (size_t row = 0; row < height; row++) { /* the padding between rows is not ours */
        if (row == 0 && is_mapped(address, span))
            break;
        if (!is_mapped(address + row * pitch, width))
            return false;
    }
    one->at = (uint8_t *)(uintptr_t)address;
    return true;
}

static void copy_rows(const emu_work *work, const side *to, const side *from)
{
    for (size_t row = 0; row < work->height; row++) {
        const size_t into = row * work->to_pitch, out = row * work->from_pitch;
        memmove(to->at + into, from->at + out, work->width);
        if (!to->defined)
            continue;
        if (from->defined)
            memmove(to->defined + into, from->defined + out, work->width);
        else
            memset(to->defined + into, 1, work->width);
    }
}

static void fill_rows(const emu_work *work, const side *to)
{
    for (size_t row = 0; row < work->height; row++) {
        uint8_t *at = to->at + row * work->to_pitch;
        if (work->unit == 1)
            memset(at, (int)work->value, work->width);
        else
            for (size_t i = 0; i < work->width; i += work->unit)
                memcpy(at + i, &work->value, work->unit); /* little-endian: the low bytes */
        if (to->defined)
            memset(to->defined + row * work->to_pitch, 1, work->width);
    }
}

CUresult emu_move(int ordinal, const emu_work *work, bool is_trial)
{
    const emu_device *device = emu_device_at(ordinal);
    /* two transfers per clock */
    const double memory_speed = (double)device->memory_clock_khz * 2e3 * device->bus_bits / 8 / 1e9;
    const double bytes = (double)work->width * (double)work->height;
    side to = {0}, from = {0};
    bool is_found;

    if (!work->width || !work->height)
        return CUDA_SUCCESS;
    emu_memory_hold();
    is_found =
        resolve(work->to, work->to_is_device, work->to_pitch, work->width, work->height, &to) &&
        (work->kind == W_FILL || resolve(work->from, work->from_is_device, work->from_pitch, work->width, work->height, &from));
    if (is_found && work->kind == W_FILL)
        is_found = to.is_reachable && work->to % work->unit == 0 && (work->height == 1 || work->to_pitch % work->unit == 0);
    if (is_found && !is_trial) {
        if (work->kind == W_FILL)
            fill_rows(work, &to);
        else
            copy_rows(work, &to, &from);
    }
    emu_memory_release();
    if (!is_found)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_trial) {
        const double speed = work->kind == W_FILL             ? memory_speed
                             : to.is_device && from.is_device ? memory_speed / 2
                                                              : BUS_BYTES_PER_NS;
        emu_advance_clock(ordinal, COPY_LATENCY_NS + (uint64_t)(bytes / speed));
    }
    return CUDA_SUCCESS;
}
