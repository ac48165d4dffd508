/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include <stdint.h>
#include <string.h>

enum { FIRST_BUCKETS = 256 };

typedef struct name {
    const char *text;
    size_t length;
    uint64_t hash;
    void *what;
    struct name *next, *before; /* links: in its bucket; in order of all */
    uint8_t kind;
} name;

struct emu_names {
    emu_arena *arena;
    name **bucket, *unused, *latest;
    size_t buckets, count;
};

/* FNV-1a */
static uint64_t hash_of(emu_name_kind kind, const char *text, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)kind;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

emu_names *emu_names_new(emu_arena *arena)
{
    emu_names *names = emu_arena_get(arena, sizeof *names);

    if (!names)
        return NULL;
    names->arena = arena;
    names->bucket = emu_arena_get(arena, FIRST_BUCKETS * sizeof *names->bucket);
    names->buckets = FIRST_BUCKETS;
    return names->bucket ? names : NULL;
}

/* Double the buckets; keep later names before earlier ones in each. */
static bool grow(emu_names *names)
{
    const size_t buckets = names->buckets * 2;
    name **bucket = emu_arena_get(names->arena, buckets * sizeof *bucket);

    if (!bucket)
        return false;
    for (size_t i = 0; i < names->buckets; i++) {
        name *reversed = NULL;
        for (name *n = names->bucket[i], *next; n; n = next) {
            next = n->next;
            n->next = reversed;
            reversed = n;
        }
        for (name *n = reversed, *next; n; n = next) {
            next = n->next;
            n->next = bucket[n->hash % buckets];
            bucket[n->hash % buckets] = n;
        }
    }
    names->bucket = bucket;
    names->buckets = buckets;
    return true;
}

bool emu_names_add(emu_names *names, emu_name_kind kind, const char *text, size_t length, void *what)
{
    name *n = names->unused;

    if (names->count >= names->buckets && !grow(names))
        return false;
    if (n)
        names->unused = n->next;
    else if (!(n = emu_arena_get(names->arena, sizeof *n)))
        return false;
    *n = (name){.text = text, .length = length, .hash = hash_of(kind, text, length), .what = what, .kind = (uint8_t)kind};
    n->before = names->latest;
    n->next = names->bucket[n->hash % names->buckets];
    names->latest = names->bucket[n->hash % names->buckets] = n;
    names->count++;
    return true;
}

void *emu_names_find(const emu_names *names, emu_name_kind kind, const char *text, size_t length)
{
    const uint64_t hash = hash_of(kind, text, length);

    for (const name *n = names->bucket[hash % names->buckets]; n; n = n->next)
        if (n->hash == hash && n->kind == kind && n->length == length && memcmp(n->text, text, length) == 0)
            return n->what;
    return NULL;
}

const void *emu_names_latest(const emu_names *names)
{
    return names->latest;
}

void emu_names_forget(emu_names *names, const void *since)
{
    while (names->latest != since) {
        name *n = names->latest;
        names->latest = n->before;
        names->bucket[n->hash % names->buckets] = n->next; /* later names in its bucket are gone already */
        n->next = names->unused;
        names->unused = n;
        names->count--;
    }
}
