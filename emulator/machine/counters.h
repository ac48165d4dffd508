/* SPDX-License-Identifier: Apache-2.0 */
/* counters: counts that a profiler would report for a warp's request. */
#ifndef EMU_COUNTERS_H
#define EMU_COUNTERS_H

#include "warp.h"

/** Count a request of bytes from each lane of mask at place[lane]. elements: per lane. */
void emu_count_global(cuEmuCounters *line, const emu_place *place, uint32_t mask, unsigned bytes, unsigned elements,
                      bool is_write);
void emu_count_shared(cuEmuCounters *line, const emu_place *place, uint32_t mask, unsigned bytes, unsigned elements,
                      bool is_write);

/** Count asynchronous copies by the lanes of mask to shared memory; lanes outside `reads` fill zeros. */
void emu_count_async(cuEmuCounters *line, const emu_place *target, uint32_t mask, uint32_t reads, unsigned bytes);

/** Return the counters of an instruction, or NULL if nothing is counted. */
static inline cuEmuCounters *emu_line(const emu_warp *warp, const emu_inst *inst)
{
    const emu_block *block = warp->block;

    return block->line ? &block->line[inst - block->launch->module->inst] : NULL;
}

/** Add b to a. */
void emu_counters_add(cuEmuCounters *a, const cuEmuCounters *b);

#endif
