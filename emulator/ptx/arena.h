/* SPDX-License-Identifier: Apache-2.0 */
/* arena: memory of one owner, freed as a whole; and arrays that grow in it. Out of memory is NULL, never a crash. */
#ifndef EMU_ARENA_H
#define EMU_ARENA_H

#include <stddef.h>

typedef struct emu_arena emu_arena;

emu_arena *emu_arena_new(void);
void emu_arena_free(emu_arena *arena);

/** Return zeroed bytes, aligned to 64. NULL: out of memory. */
void *emu_arena_get(emu_arena *arena, size_t bytes);

/**
 * Reserve room for one element after `count` in an array of capacity *capacity. Returns the array, moved if it had to grow, or
 * NULL: out of memory. The old copy is freed with the arena.
 */
void *emu_arena_grow(emu_arena *arena, void *array, size_t count, size_t *capacity, size_t element_bytes);

#endif
