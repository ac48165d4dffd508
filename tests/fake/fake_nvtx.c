/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_nvtx: what a profiler puts into a process by NVTX_INJECTION64_PATH: it takes ranges, and remembers how they nest.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "fake/fake_nvtx.h"

typedef void (*slot_fn)(void);

typedef struct callbacks {
    size_t struct_size;
    int (*get_module_table)(int module, slot_fn ***table, unsigned int *slots);
} callbacks;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char seen[8192];
static int open_ranges, ranges;

static int push(const char *text)
{
    pthread_mutex_lock(&lock);
    ranges++;
    open_ranges++;
    snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s\n", text);
    pthread_mutex_unlock(&lock);
    return 0;
}

static int pop(void)
{
    pthread_mutex_lock(&lock);
    open_ranges--;
    pthread_mutex_unlock(&lock);
    return 0;
}

int fake_nvtx_ranges(void)
{
    return ranges;
}

int fake_nvtx_open(void)
{
    return open_ranges;
}

const char *fake_nvtx_seen(void)
{
    return seen;
}

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t number))
{
    const callbacks *table = get_table(1);
    int (*const push_function)(const char *) = push;
    int (*const pop_function)(void) = pop;
    slot_fn **core;
    unsigned int slots = 0;

    if (!table || table->struct_size < sizeof *table || !table->get_module_table(1, &core, &slots) || slots <= 11)
        return 0;
    memcpy(core[9], &push_function, sizeof push_function);
    memcpy(core[11], &pop_function, sizeof pop_function);
    return 1;
}
