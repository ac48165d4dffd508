/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packs: the packs of a context, looked through in their order. Opened when they are named; trouble with one is a warning, the
 * first of that pack only, and a miss.
 */
#ifndef TJ_SRC_PACKS_H
#define TJ_SRC_PACKS_H

#include <tilejit/context.h>

#include "log.h"
#include "pack.h"

typedef struct tj_packs tj_packs;

/** Paths end with NULL, bytes with bytes of NULL; either may be NULL. Paths are copied, bytes borrowed. NULL only when out of memory. */
tj_packs *tj_packs_create(const char *const *path, const tj_pack_bytes *bytes, const tj_log *log);
void tj_packs_free(tj_packs *packs);

/** A pack of some packs; index as for tj_packs_name. */
typedef struct tj_pack_place {
    tj_packs *packs;
    size_t index;
} tj_pack_place;

/** How well a target serves; 0: it does not. */
typedef int tj_pack_rank(const char *target, const void *payload);

/**
 * The best sound item of a kind and a request, of the first pack that has one, and its target, which lives as long as the packs.
 * rank NULL: any target. packs may be NULL: none. place, which may be NULL: that pack. NULL: a miss. Takes no lock; any thread.
 */
const char *tj_packs_find(tj_packs *packs, uint32_t kind, tj_hash128 request, tj_pack_rank *rank, const void *payload,
                          tj_pack_item *item, tj_pack_place *place);

/** An image of a pack is used: count it. */
void tj_packs_count_hit(tj_pack_place place);

/** An item was found but turned out to be of no use: this context does not find it again. */
void tj_packs_reject(tj_packs *packs, uint32_t kind, tj_hash128 request, const char *target, const char *reason);

/** Warn, once for each pack, of those that have items of this kind, and none whose target serves. device: 90 of sm_90. */
void tj_packs_tell_foreign(tj_packs *packs, uint32_t kind, tj_pack_rank *rank, const void *payload, int device);

/** What a miss says of each pack, "a.tjpack is not used: ..., b.tjpack does not hold it", as far as it fits. "": there is none. */
void tj_packs_say_why_not(const tj_packs *packs, uint32_t kind, tj_pack_rank *rank, const void *payload, int device, char *text,
                          size_t size);

/** What a pack is called: its path, or "pack in memory"; NULL past the last one. */
const char *tj_packs_name(const tj_packs *packs, size_t index);

/** How many images of it were used. */
uint64_t tj_packs_hits(const tj_packs *packs, size_t index);

/** Why it is not used; NULL: it is, and *pack is it. */
const char *tj_packs_trouble(const tj_packs *packs, size_t index, const tj_pack_file **pack);

#endif
