/* SPDX-License-Identifier: Apache-2.0 */
#include "progress.h"

#include <stdatomic.h>

static _Atomic(uint64_t) blocks_done, blocks_in_all;

void emu_progress_begin(uint64_t blocks)
{
    atomic_store(&blocks_done, 0);
    atomic_store(&blocks_in_all, blocks);
}

void emu_progress_step(void)
{
    atomic_fetch_add_explicit(&blocks_done, 1, memory_order_relaxed);
}

void emu_progress_end(void)
{
    atomic_store(&blocks_in_all, 0);
}

bool emu_progress_get(uint64_t *done, uint64_t *blocks)
{
    const uint64_t all = atomic_load(&blocks_in_all), some = atomic_load(&blocks_done);

    *blocks = all;
    *done = some < all ? some : all; /* with launches in several streams at once, their blocks are counted together */
    return all != 0;
}
