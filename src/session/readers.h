/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readers: track the threads that may be using an object found without a lock, so that it is not freed under them.
 *
 * A thread that looks something up counts itself in, and out when it is done. The counts are spread over stripes by thread, so
 * that threads do not wait for each other's cache lines. An object removed from a table may be freed once each count has been
 * seen at 0 since: threads that entered later cannot find it any more. No thread ever waits: the one that wants to free checks
 * again later.
 *
 * There are two counts a stripe. New threads take the one of the phase, and a new phase begins if the present one stays busy:
 * so threads that enter and leave without pause do not delay the free for ever.
 */
#ifndef TJ_SESSION_READERS_H
#define TJ_SESSION_READERS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { TJ_READER_STRIPES = 64, TJ_CACHE_LINE = 64 };

typedef struct tj_reader_stripe {
    alignas(TJ_CACHE_LINE) atomic_int inside[2]; /* by phase */
} tj_reader_stripe;

typedef struct tj_readers tj_readers;

struct tj_readers {
    atomic_uint phase;
    tj_reader_stripe stripe[TJ_READER_STRIPES];
};

/** The counts that have not been at 0 since an object was removed: a bit for each stripe, by phase. */
typedef struct tj_grace {
    uint64_t awaited[2];
} tj_grace;

/** NULL: out of memory. */
tj_readers *tj_readers_create(void);
void tj_readers_free(tj_readers *readers);

/** Enter. Pass the result to tj_readers_leave, on the same thread. */
static inline atomic_int *tj_readers_enter(tj_readers *readers)
{
    const uint64_t thread = (uintptr_t)__builtin_thread_pointer() * UINT64_C(0x9e3779b97f4a7c15);
    const unsigned phase = atomic_load_explicit(&readers->phase, memory_order_relaxed) & 1;
    atomic_int *count = &readers->stripe[thread >> 58].inside[phase];

    /* Before any look: that is what the order of all such steps is for (tj_grace_is_over). */
    (void)atomic_fetch_add_explicit(count, 1, memory_order_seq_cst);
    return count;
}

static inline void tj_readers_leave(atomic_int *count)
{
    (void)atomic_fetch_sub_explicit(count, 1, memory_order_release);
}

/** Begin a grace period: an object was just removed, by a sequentially consistent store. */
static inline tj_grace tj_grace_begin(void)
{
    return (tj_grace){{UINT64_MAX, UINT64_MAX}};
}

/** Have all threads left that may have found it? One caller at a time for each grace. */
bool tj_grace_is_over(tj_readers *readers, tj_grace *grace);

#endif
