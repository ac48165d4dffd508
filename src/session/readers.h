/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readers: who may be looking at what was found without a lock, so that nothing is freed under anybody's eyes.
 *
 * A thread that looks something up counts itself in, and out when it is done. The counts are spread over stripes by thread, so that
 * threads do not wait for each other's cache lines. What was taken out of a table may be freed once each count has been seen at 0
 * since: whoever came later did not find it any more. Nobody ever waits: who wants to free looks again another time.
 *
 * There are two counts a stripe. Newcomers take the one of the phase, and a new phase begins where the present one stays busy: so
 * a thread that comes and goes without end does not put the end off for ever.
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

/** Which counts have not been at 0 since something was taken out: a bit for each stripe, by phase. */
typedef struct tj_grace {
    uint64_t awaited[2];
} tj_grace;

/** NULL: out of memory. */
tj_readers *tj_readers_create(void);
void tj_readers_free(tj_readers *readers);

/** Come in. The answer is for tj_readers_leave, by the same thread. */
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

/** Something was just taken out, in a sequentially consistent step. */
static inline tj_grace tj_grace_begin(void)
{
    return (tj_grace){{UINT64_MAX, UINT64_MAX}};
}

/** Has everybody left who may have found it? One caller at a time for each grace. */
bool tj_grace_is_over(tj_readers *readers, tj_grace *grace);

#endif
