/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: what the names of a text stand for. A name that is added hides an earlier one of its kind until it is forgotten; the
 * cost of each does not grow with how many there are.
 */
#ifndef EMU_NAMES_H
#define EMU_NAMES_H

#include "arena.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum emu_name_kind {
    N_SYMBOL,
    N_FUNCTION,
    N_CONSTANT, /* its bits */
    N_PARAM,    /* this and what follows are a function's own */
    N_LABEL,
    N_REGISTER,  /* of exactly this name */
    N_REGISTERS, /* with a number behind it */
    N_PLACE
} emu_name_kind;

typedef struct emu_names emu_names;

/** NULL: out of memory. Freed with the arena. */
emu_names *emu_names_new(emu_arena *arena);

/** text stays the caller's and must live as long. false: out of memory. */
bool emu_names_add(emu_names *names, emu_name_kind kind, const char *text, size_t length, void *what);

/** The latest of that name, or NULL. */
void *emu_names_find(const emu_names *names, emu_name_kind kind, const char *text, size_t length);

/** The name added last, and forgetting all that were added since. */
const void *emu_names_latest(const emu_names *names);
void emu_names_forget(emu_names *names, const void *since);

#endif
