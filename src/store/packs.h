/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packs: the packs of a context, searched in order. They are opened when they are named; trouble with one is a miss and a
 * warning, only the first per pack.
 */
#ifndef TJ_SRC_PACKS_H
#define TJ_SRC_PACKS_H

#include <tilejit/context.h>

#include "log.h"
#include "pack.h"

typedef struct tj_packs tj_packs;

/**
 * Paths end with NULL, bytes with bytes of NULL; either may be NULL. Paths are copied, bytes borrowed. NULL only when memory
 * runs out.
 */
tj_packs *tj_packs_create(const char *const *path, const tj_pack_bytes *bytes, const tj_log *log);
void tj_packs_free(tj_packs *packs);

/** A pack of a list of packs; index as for tj_packs_name. */
typedef struct tj_pack_place {
    tj_packs *packs;
    size_t index;
} tj_pack_place;

/** Rank how well a target serves; 0: not at all. */
typedef int tj_pack_rank(const char *target, const void *payload);

/**
 * Find the best sound item of a kind and a request, in the first pack that has one, and its target, which lives as long as the
 * packs. rank NULL: any target. packs may be NULL: none. place, which may be NULL: that pack. NULL: a miss. Takes no lock; any
 * thread.
 */
const char *tj_packs_find(tj_packs *packs, uint32_t kind, tj_hash128 request, tj_pack_rank *rank, const void *payload,
                          tj_pack_item *item, tj_pack_place *place);

/** Count the use of an image of a pack. */
void tj_packs_count_hit(tj_pack_place place);

/** Report that a found item is unusable: this context does not find it again. */
void tj_packs_reject(tj_packs *packs, uint32_t kind, tj_hash128 request, const char *target, const char *reason);

/** Warn once of each pack that has items of this kind, but none whose target serves. device: 90 for sm_90. */
void tj_packs_tell_foreign(tj_packs *packs, uint32_t kind, tj_pack_rank *rank, const void *payload, int device);

/**
 * Print why each pack misses, "a.tjpack is not used: ..., b.tjpack does not hold it", as far as it fits. "": there are no
 * packs.
 */
void tj_packs_say_why_not(const tj_packs *packs, uint32_t kind, tj_pack_rank *rank, const void *payload, int device, char *text,
                          size_t size);

/** Return the name of a pack: its path, or "pack in memory"; NULL past the last one. */
const char *tj_packs_name(const tj_packs *packs, size_t index);

/** Return the number of its images that were used. */
uint64_t tj_packs_hits(const tj_packs *packs, size_t index);

/** Return why it is not used; NULL: it is, and *pack is it. */
const char *tj_packs_trouble(const tj_packs *packs, size_t index, const tj_pack_file **pack);

#endif
