/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: the names of a text. A new name hides earlier ones of its kind until it is forgotten; the cost of an operation does
 * not grow with the number of names.
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
    N_PARAM,    /* N_PARAM and the following belong to a function */
    N_LABEL,
    N_REGISTER,  /* a single one of this name */
    N_REGISTERS, /* a range: name and number */
    N_PLACE
} emu_name_kind;

typedef struct emu_names emu_names;

/** Make an empty table; NULL: out of memory. Freed with the arena. */
emu_names *emu_names_new(emu_arena *arena);

/** Add a name. The caller keeps `text`, which must live as long as the table. false: out of memory. */
bool emu_names_add(emu_names *names, emu_name_kind kind, const char *text, size_t length, void *what);

/** Return the latest value of a name, or NULL. */
void *emu_names_find(const emu_names *names, emu_name_kind kind, const char *text, size_t length);

/** Return the name added last; forget all names added since. */
const void *emu_names_latest(const emu_names *names);
void emu_names_forget(emu_names *names, const void *since);

#endif
