/* SPDX-License-Identifier: Apache-2.0 */
/* patience: does a long-running block make progress, or is it in an endless loop? */
#ifndef EMU_PATIENCE_H
#define EMU_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct emu_warp;

/**
 * A block makes progress if it touches global memory at a new place, if threads of it end, or if a block that runs at the same
 * time makes progress. Places are kept as hashes of lines, and forgotten when they become too many.
 */
typedef struct emu_patience {
    uint64_t steps; /* new memory lines and ended threads */
    uint64_t seen;  /* steps at the last check */
    uint64_t executed, next_look;
    bool is_watched;
    uint32_t lines;
    uint64_t line[1024];
} emu_patience;

/** Record an access to global memory. */
static inline void emu_touch(emu_patience *p, uint64_t address)
{
    enum { LINE_SHIFT = 7 };
    const uint64_t hash = (address >> LINE_SHIFT) * UINT64_C(0x9e3779b97f4a7c15) >> 48, bit = UINT64_C(1) << hash % 64;

    if (p->line[hash / 64] & bit)
        return;
    p->line[hash / 64] |= bit;
    p->steps++;
    if (++p->lines > 3 * 64 * (sizeof p->line / sizeof p->line[0]) / 4) {
        memset(p->line, 0, sizeof p->line);
        p->lines = 0;
    }
}

/** Begin a block. */
void emu_patience_begin(emu_patience *p);

/** Count `executed` more instructions of a warp; an endless loop becomes a finding. */
void emu_check_endless(struct emu_warp *warp, uint64_t executed);

#endif
