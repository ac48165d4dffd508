/* SPDX-License-Identifier: Apache-2.0 */
#include "packs.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TROUBLE_BYTES = 128 };

typedef struct opened {
    char *name;
    tj_pack_file file;
    char trouble[TROUBLE_BYTES]; /* "": none */
    atomic_bool *is_refused;     /* one per row */
    atomic_flag has_warned;
    _Atomic uint64_t hits;
} opened;

struct tj_packs {
    tj_log log;
    size_t count;
    opened pack[];
};

static void warn_once(const tj_packs *packs, opened *pack, const char *what, const char *why)
{
    if (!atomic_flag_test_and_set(&pack->has_warned))
        tj_log_line(&packs->log, TJ_LOG_WARNING, "%s %s: %s", pack->name, what, why);
}

/* False: out of memory. */
static bool add(tj_packs *packs, const char *path, const tj_pack_bytes *bytes)
{
    opened *pack = &packs->pack[packs->count];
    const char *why = NULL;

    pack->name = strdup(path ? path : "pack in memory");
    if (!pack->name)
        return false;
    packs->count++;
    atomic_flag_clear(&pack->has_warned);
    if (path ? tj_pack_open_path(&pack->file, path, &why) : tj_pack_open_bytes(&pack->file, bytes->bytes, bytes->size, &why)) {
        pack->is_refused = calloc(pack->file.count + 1, sizeof *pack->is_refused);
        return pack->is_refused != NULL;
    }
    strncat(pack->trouble, why, sizeof pack->trouble - 1);
    warn_once(packs, pack, "is not used", pack->trouble);
    return true;
}

tj_packs *tj_packs_create(const char *const *path, const tj_pack_bytes *bytes, const tj_log *log)
{
    tj_packs *packs;
    size_t paths = 0, all;

    while (path && path[paths])
        paths++;
    for (all = paths; bytes && bytes[all - paths].bytes; all++)
        ;
    packs = calloc(1, sizeof *packs + all * sizeof packs->pack[0]);
    if (!packs)
        return NULL;
    packs->log = *log;
    for (size_t i = 0; i < all; i++)
        if (!add(packs, i < paths ? path[i] : NULL, i < paths ? NULL : &bytes[i - paths])) {
            tj_packs_free(packs);
            return NULL;
        }
    return packs;
}

void tj_packs_free(tj_packs *packs)
{
    if (!packs)
        return;
    for (size_t i = 0; i < packs->count; i++) {
        if (!packs->pack[i].trouble[0])
            tj_pack_close(&packs->pack[i].file);
        free(packs->pack[i].is_refused);
        free(packs->pack[i].name);
    }
    free(packs);
}

/* Return the best row of a request that was not refused; the count of rows: none. */
static size_t best_row(const opened *pack, uint32_t kind, tj_hash128 request, tj_pack_rank *rank, const void *payload)
{
    size_t best = pack->file.count;
    int most = 0;

    for (size_t i = tj_pack_first(&pack->file, kind, request); tj_pack_is_row(&pack->file, i, kind, request); i++) {
        const int serves = rank ? rank(pack->file.row[i].target, payload) : 1;

        if (serves > most && !atomic_load_explicit(&pack->is_refused[i], memory_order_relaxed)) {
            most = serves;
            best = i;
        }
    }
    return best;
}

/* Read the best item. One that cannot be read is not tried again: a kernel compiled in its place is then in memory. */
static const char *read_best(const tj_packs *packs, opened *pack, uint32_t kind, tj_hash128 request, tj_pack_rank *rank,
                             const void *payload, tj_pack_item *item)
{
    for (;;) {
        const size_t best = best_row(pack, kind, request, rank, payload);
        const char *why;

        if (best == pack->file.count)
            return NULL;
        why = tj_pack_read(&pack->file, &pack->file.row[best], item);
        if (!why)
            return pack->file.row[best].target;
        warn_once(packs, pack, "holds what is not used", why);
        atomic_store_explicit(&pack->is_refused[best], true, memory_order_relaxed);
    }
}

const char *tj_packs_find(tj_packs *packs, uint32_t kind, tj_hash128 request, tj_pack_rank *rank, const void *payload,
                          tj_pack_item *item, tj_pack_place *place)
{
    const char *target = NULL;

    for (size_t i = 0; packs && i < packs->count && !target; i++) {
        target = read_best(packs, &packs->pack[i], kind, request, rank, payload, item);
        if (place)
            *place = (tj_pack_place){packs, i};
    }
    return target;
}

void tj_packs_count_hit(tj_pack_place place)
{
    atomic_fetch_add_explicit(&place.packs->pack[place.index].hits, 1, memory_order_relaxed);
}

uint64_t tj_packs_hits(const tj_packs *packs, size_t index)
{
    return packs && index < packs->count ? atomic_load_explicit(&packs->pack[index].hits, memory_order_relaxed) : 0;
}

void tj_packs_reject(tj_packs *packs, uint32_t kind, tj_hash128 request, const char *target, const char *reason)
{
    for (size_t i = 0; packs && i < packs->count; i++) {
        opened *pack = &packs->pack[i];

        for (size_t k = tj_pack_first(&pack->file, kind, request); tj_pack_is_row(&pack->file, k, kind, request); k++)
            if (strcmp(pack->file.row[k].target, target) == 0) {
                warn_once(packs, pack, "holds what is not used", reason);
                atomic_store_explicit(&pack->is_refused[k], true, memory_order_relaxed);
            }
    }
}

/* Return a target of a pack that has items of this kind, but none whose target serves; else NULL. */
static const char *foreign_target(const opened *pack, uint32_t kind, tj_pack_rank *rank, const void *payload)
{
    const char *target = NULL;

    for (size_t k = 0; k < pack->file.count; k++)
        if (pack->file.row[k].kind == kind) {
            target = pack->file.row[k].target;
            if (rank(target, payload) > 0)
                return NULL;
        }
    return target;
}

void tj_packs_tell_foreign(tj_packs *packs, uint32_t kind, tj_pack_rank *rank, const void *payload, int device)
{
    for (size_t i = 0; packs && i < packs->count; i++) {
        opened *pack = &packs->pack[i];
        const char *target = foreign_target(pack, kind, rank, payload);

        if (target && !atomic_flag_test_and_set(&pack->has_warned))
            tj_log_line(&packs->log, TJ_LOG_WARNING,
                        "%s holds kernels for %s and none for sm_%d: make it with --target sm_%d too", pack->name, target,
                        device, device);
    }
}

void tj_packs_say_why_not(const tj_packs *packs, uint32_t kind, tj_pack_rank *rank, const void *payload, int device, char *text,
                          size_t size)
{
    size_t length = 0, left_out = 0;

    text[0] = '\0';
    for (size_t i = 0; packs && i < packs->count; i++) {
        const opened *pack = &packs->pack[i];
        const char *target = pack->trouble[0] ? NULL : foreign_target(pack, kind, rank, payload);
        char why[TROUBLE_BYTES + 32], item[PATH_MAX + sizeof why + 4];
        int bytes;

        if (pack->trouble[0])
            (void)snprintf(why, sizeof why, "cannot be used: %s", pack->trouble);
        else if (target)
            (void)snprintf(why, sizeof why, "holds kernels for %s and none for sm_%d", target, device);
        else
            (void)snprintf(why, sizeof why, "does not hold it");
        bytes = snprintf(item, sizeof item, "%s%s %s", length ? ", " : "", pack->name, why);
        if (left_out == 0 && length + (size_t)bytes < size) {
            memcpy(text + length, item, (size_t)bytes + 1);
            length += (size_t)bytes;
        } else {
            left_out++;
        }
    }
    if (left_out > 0)
        (void)snprintf(text + length, size - length, length ? " and %zu more do not serve" : "%zu packs do not serve",
                       left_out);
}

const char *tj_packs_name(const tj_packs *packs, size_t index)
{
    return packs && index < packs->count ? packs->pack[index].name : NULL;
}

const char *tj_packs_trouble(const tj_packs *packs, size_t index, const tj_pack_file **pack)
{
    *pack = &packs->pack[index].file;
    return packs->pack[index].trouble[0] ? packs->pack[index].trouble : NULL;
}
