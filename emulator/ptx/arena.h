/* SPDX-License-Identifier: Apache-2.0 */
/* arena: memory of one owner, freed as a whole; and arrays that grow in it. Running out of memory ends in NULL, never in a crash. */
#ifndef EMU_ARENA_H
#define EMU_ARENA_H

#include <stddef.h>

typedef struct emu_arena emu_arena;

emu_arena *emu_arena_new(void);
void emu_arena_free(emu_arena *arena);

/** Zeroed bytes, aligned to 64. NULL: out of memory. */
void *emu_arena_get(emu_arena *arena, size_t bytes);

/**
 * Room for one more element behind count in an array of capacity *capacity: the array, moved if it had to grow, or NULL if there is
 * no memory. What it leaves behind is freed with the arena.
 */
void *emu_arena_grow(emu_arena *arena, void *array, size_t count, size_t *capacity, size_t element_bytes);

#endif
