/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { RED_ZONE = 1 << 16, QUARANTINE = 4096 };

/* Sorted by base. Addresses of device memory only grow: a new one goes to the end. */
static emu_allocation **table;
static size_t count, capacity, freed;
static uint64_t next_base = EMU_GLOBAL_BASE + RED_ZONE;
static uint64_t used[64];
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

void emu_memory_hold(void)
{
    pthread_rwlock_rdlock(&lock);
}

void emu_memory_release(void)
{
    pthread_rwlock_unlock(&lock);
}

/* Find the last allocation that begins at or before address; count if there is none. */
static size_t find_before(uint64_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (table[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : count;
}

emu_allocation *emu_memory_find(uint64_t address)
{
    const size_t i = find_before(address);

    if (i == count || table[i]->is_freed || address - table[i]->base >= table[i]->size)
        return NULL;
    return table[i];
}

emu_allocation *emu_memory_find_near(uint64_t address, bool *is_near)
{
    size_t i = find_before(address);

    *is_near = false;
    if (i < count && address - table[i]->base < table[i]->size)
        return table[i];
    *is_near = true;
    if (i == count)
        i = 0;
    else if (i + 1 < count && table[i + 1]->base - address < address - table[i]->base - table[i]->size)
        i++;
    return i < count ? table[i] : NULL;
}

uint8_t *emu_memory_range(uint64_t address, uint64_t bytes, emu_allocation **allocation)
{
    emu_allocation *one = emu_memory_find(address);

    *allocation = one;
    if (!one || bytes > one->size - (address - one->base))
        return NULL;
    return one->host + (address - one->base);
}

static void drop_content(emu_allocation *one)
{
    if (one->kind != M_REGISTERED)
        free(one->host);
    free(one->defined);
    free(one->state);
    one->host = NULL;
    one->defined = NULL;
    one->state = NULL;
    if (one->watch) {
        free((void *)one->watch->writes);
        free(one->watch);
        one->watch = NULL;
    }
}

/* Reserve room for one more in the table; false: out of memory. */
static bool has_room(void)
{
    emu_allocation **larger;

    if (count < capacity)
        return true;
    larger = realloc(table, (capacity * 2 + 64) * sizeof *table);
    if (!larger)
        return false;
    table = larger;
    capacity = capacity * 2 + 64;
    return true;
}

emu_allocation *emu_memory_new(uint64_t bytes, emu_memory_kind kind, int device, uint64_t owner, bool track, bool is_defined)
{
    emu_allocation *one = calloc(1, sizeof *one);
    const uint64_t step = (bytes + RED_ZONE * 2 + bytes + RED_ZONE - 1) / RED_ZONE * RED_ZONE;

    if (!one)
        return NULL;
    one->size = bytes;
    one->kind = kind;
    one->device = device;
    one->owner = owner;
    one->host = aligned_alloc(256, (bytes + 255) / 256 * 256 + 256);
    if (track && !is_defined)
        one->defined = calloc(1, bytes ? bytes : 1);
    if (!one->host || (track && !is_defined && !one->defined)) {
        drop_content(one);
        free(one);
        return NULL;
    }
    /* Memory read before it is written should not look like a result: NaN in every type. */
    memset(one->host, is_defined ? 0 : 0xff, bytes);
    pthread_rwlock_wrlock(&lock);
    if (!has_room()) {
        pthread_rwlock_unlock(&lock);
        drop_content(one);
        free(one);
        return NULL;
    }
    one->base = next_base;
    next_base += step;
    table[count++] = one;
    used[device & 63] += bytes;
    pthread_rwlock_unlock(&lock);
    return one;
}

int emu_memory_pin(const emu_allocation *like)
{
    emu_allocation *one = malloc(sizeof *one);
    size_t at;
    int result = -1;

    if (!one)
        return result;
    *one = *like;
    pthread_rwlock_wrlock(&lock);
    if (has_room()) {
        at = find_before(one->base);
        at = at == count ? 0 : at + 1;
        result = !(at > 0 && one->base - table[at - 1]->base < table[at - 1]->size) &&
                 !(at < count && table[at]->base - one->base < one->size);
    }
    if (result == 1) {
        memmove(table + at + 1, table + at, (count - at) * sizeof *table);
        table[at] = one;
        count++;
    } else {
        free(one);
    }
    pthread_rwlock_unlock(&lock);
    return result;
}

/* Freed device memory is remembered to name a use after free; drop the oldest. */
static void forget_oldest(void)
{
    size_t kept = 0, dropped = 0;

    if (freed < 2 * QUARANTINE)
        return;
    for (size_t i = 0; i < count; i++) {
        if (table[i]->is_freed && dropped < QUARANTINE) {
            free(table[i]);
            dropped++;
        } else {
            table[kept++] = table[i];
        }
    }
    count = kept;
    freed -= dropped;
}

/* Free entry i of the table. Host memory leaves the table: its address may come back. */
static void free_at(size_t i)
{
    emu_allocation *one = table[i];

    drop_content(one);
    if (emu_is_pinned(one)) {
        memmove(table + i, table + i + 1, (--count - i) * sizeof *table);
        free(one);
        return;
    }
    one->is_freed = true;
    used[one->device & 63] -= one->size;
    freed++;
}

bool emu_memory_free(uint64_t address, emu_memory_kind kind)
{
    size_t i;
    bool is_found;

    pthread_rwlock_wrlock(&lock);
    i = find_before(address);
    is_found = i < count && table[i]->base == address && table[i]->kind == kind && !table[i]->is_freed;
    if (is_found) {
        free_at(i);
        forget_oldest();
    }
    pthread_rwlock_unlock(&lock);
    return is_found;
}

size_t emu_memory_free_owner(uint64_t owner)
{
    size_t left = 0;

    pthread_rwlock_wrlock(&lock);
    for (size_t i = count; i-- > 0;)
        if (!table[i]->is_freed && table[i]->owner == owner) {
            left += table[i]->kind == M_DEVICE;
            free_at(i);
        }
    forget_oldest();
    pthread_rwlock_unlock(&lock);
    return left;
}

uint64_t emu_memory_used(int device)
{
    uint64_t bytes;

    pthread_rwlock_rdlock(&lock);
    bytes = used[device & 63];
    pthread_rwlock_unlock(&lock);
    return bytes;
}
