/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control: the functions of cuda_emulator.h. Watches begin and end here; findings, counters and options are kept elsewhere.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_emulator.h"
#include "driver.h"
#include "finding.h"
#include "launch.h"
#include "memory.h"
#include "option.h"
#include "progress.h"

/* The place of a watch, by number. */
typedef struct watched {
    int number;
    uint64_t address;
    struct watched *next;
} watched;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static watched *watches;
static int last_number;

int EMU_EXPORT cuEmuGetFinding(size_t index, cuEmuFinding *finding)
{
    return finding && emu_finding_get(index, finding);
}

size_t EMU_EXPORT cuEmuFindingCount(void)
{
    return emu_finding_count();
}

void EMU_EXPORT cuEmuClear(void)
{
    emu_findings_clear();
    emu_forget_failures();
}

int EMU_EXPORT cuEmuSetOption(cuEmuOption option, uint64_t value)
{
    if ((unsigned)option >= CUEMU_OPTIONS)
        return 0;
    emu_set_option(option, value);
    return 1;
}

uint64_t EMU_EXPORT cuEmuGetOption(cuEmuOption option)
{
    return (unsigned)option < CUEMU_OPTIONS ? emu_option(option) : 0;
}

int EMU_EXPORT cuEmuGetLaunch(cuEmuLaunch *launch)
{
    return launch && emu_counted_launch(launch);
}

int EMU_EXPORT cuEmuGetLine(size_t index, uint32_t *ptx_line, uint32_t *cuda_line, char *text, size_t text_bytes,
                            cuEmuCounters *counters)
{
    uint32_t ptx = 0, cuda = 0;
    cuEmuCounters own;
    char nothing[1];
    const int found = emu_counted_line(index, &ptx, &cuda, text ? text : nothing, text ? text_bytes : sizeof nothing,
                                       counters ? counters : &own);

    if (found && ptx_line)
        *ptx_line = ptx;
    if (found && cuda_line)
        *cuda_line = cuda;
    return found;
}

int EMU_EXPORT cuEmuGetProgress(uint64_t *done, uint64_t *blocks)
{
    uint64_t some, all;

    if (!done || !blocks || !emu_progress_get(&some, &all))
        return 0;
    *done = some;
    *blocks = all;
    return 1;
}

/* Return the bytes from the first to the last byte of a matrix; 0: empty, or the count overflows. */
static uint64_t extent(uint64_t rows, uint64_t row_bytes, uint64_t pitch)
{
    if (!rows || !row_bytes || (rows > 1 && pitch < row_bytes) || (rows > 1 && pitch > (UINT64_MAX - row_bytes) / rows))
        return 0;
    return (rows - 1) * pitch + row_bytes;
}

int EMU_EXPORT cuEmuWatch(uint64_t address, uint64_t rows, uint64_t row_bytes, uint64_t pitch_bytes)
{
    const uint64_t pitch = rows == 1 ? row_bytes : pitch_bytes, bytes = extent(rows, row_bytes, pitch);
    emu_allocation *one;
    watched *entry = malloc(sizeof *entry);
    emu_watch *watch = malloc(sizeof *watch);
    int number = 0;

    pthread_mutex_lock(&lock);
    emu_memory_hold();
    if (entry && watch && bytes && emu_memory_range(address, bytes, &one) && !one->watch) {
        /* Count writes up to the end of the last row's pitch. */
        *watch = (emu_watch){last_number + 1, address, rows, row_bytes, pitch, calloc(rows, pitch)};
        if (watch->writes) {
            number = ++last_number;
            *entry = (watched){number, address, watches};
            watches = entry;
            one->watch = watch;
        }
    }
    emu_memory_release();
    pthread_mutex_unlock(&lock);
    if (!number) {
        free(watch);
        free(entry);
    }
    return number;
}

/* How often bytes broke a rule, and where first. */
typedef struct tally {
    uint64_t times, first;
} tally;

static void count(tally *one, uint64_t address)
{
    if (!one->times++)
        one->first = address;
}

static int report(cuEmuKind kind, const tally *found, const emu_watch *watch, const char *what)
{
    const uint64_t at = found->first - watch->address;
    char text[256];

    if (!found->times)
        return 0;
    snprintf(text, sizeof text,
             "%llu byte%s of the watched matrix of %llu x %llu bytes %s, the first at line %llu, byte %llu (address 0x%llx)",
             (unsigned long long)found->times, found->times == 1 ? "" : "s", (unsigned long long)watch->rows,
             (unsigned long long)watch->row_bytes, what, (unsigned long long)(at / watch->pitch),
             (unsigned long long)(at % watch->pitch), (unsigned long long)found->first);
    emu_find_in_memory(kind, found->first, found->times, text);
    return 1;
}

static int judge(const emu_watch *watch)
{
    tally never = {0, 0}, twice = {0, 0}, padding = {0, 0};

    for (uint64_t row = 0; row < watch->rows; row++)
        for (uint64_t column = 0; column < watch->pitch; column++) {
            const uint64_t at = row * watch->pitch + column;
            const unsigned writes = atomic_load(&watch->writes[at]);
            if (column < watch->row_bytes && writes == 0)
                count(&never, watch->address + at);
            else if (column < watch->row_bytes && writes > 1)
                count(&twice, watch->address + at);
            else if (column >= watch->row_bytes && writes && row + 1 < watch->rows)
                count(&padding, watch->address + at);
        }
    return report(CUEMU_NEVER_WRITTEN, &never, watch, "were never written") +
           report(CUEMU_WRITTEN_TWICE, &twice, watch, "were written more than once") +
           report(CUEMU_PADDING_WRITTEN, &padding, watch, "between its lines were written");
}

int EMU_EXPORT cuEmuUnwatch(int number)
{
    emu_watch *watch = NULL;
    watched *entry = NULL;
    int found = 0;

    pthread_mutex_lock(&lock);
    for (watched **link = &watches; *link; link = &(*link)->next)
        if ((*link)->number == number) {
            entry = *link;
            *link = entry->next;
            break;
        }
    if (entry) {
        emu_memory_hold();
        emu_allocation *one = emu_memory_find(entry->address);
        if (one && one->watch && one->watch->number == number) { /* otherwise the allocation was freed, and the watch with it */
            watch = one->watch;
            one->watch = NULL;
        }
        emu_memory_release();
    }
    pthread_mutex_unlock(&lock);
    if (watch) {
        found = judge(watch);
        free((void *)watch->writes);
    }
    free(watch);
    free(entry);
    return found;
}
