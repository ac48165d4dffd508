/* SPDX-License-Identifier: Apache-2.0 */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 * 1024, ALIGN = 64 };

typedef struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(ALIGN) unsigned char bytes[];
} chunk;

struct emu_arena {
    chunk *first;
};

emu_arena *emu_arena_new(void)
{
    return calloc(1, sizeof(emu_arena));
}

void emu_arena_free(emu_arena *arena)
{
    if (!arena)
        return;
    for (chunk *c = arena->first, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(arena);
}

void *emu_arena_get(emu_arena *arena, size_t bytes)
{
    chunk *c = arena->first;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!c || c->size - c->used < bytes) {
        const size_t size = bytes > CHUNK ? bytes : CHUNK;
        c = aligned_alloc(ALIGN, (sizeof *c + size + ALIGN - 1) / ALIGN * ALIGN);
        if (!c)
            return NULL;
        c->next = arena->first;
        c->used = 0;
        c->size = size;
        arena->first = c;
    }
    c->used += bytes;
    return memset(c->bytes + c->used - bytes, 0, bytes);
}

void *emu_arena_grow(emu_arena *arena, void *array, size_t count, size_t *capacity, size_t element_bytes)
{
    void *larger;

    if (count < *capacity)
        return array;
    if (count > SIZE_MAX / 4 / element_bytes)
        return NULL;
    larger = emu_arena_get(arena, (count * 2 + 16) * element_bytes);
    if (!larger)
        return NULL;
    if (count)
        memcpy(larger, array, count * element_bytes);
    *capacity = count * 2 + 16;
    return larger;
}
