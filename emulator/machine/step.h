/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step: execute the instructions of a warp, whose lanes may have diverged into splits.
 *
 * The split with the lowest priority (flow.h) runs until the next block of instructions, where it may join others. Each split
 * waits for itself: correctness never depends on the order of splits, which a seed can change.
 */
#ifndef EMU_STEP_H
#define EMU_STEP_H

#include "warp.h"

/** Run a warp until it waits, ends or has executed quantum instructions; false: the launch has failed. */
bool emu_run_warp(emu_warp *warp, uint64_t quantum);

/** Count an instruction that the lanes of mask execute. Call only if instructions are counted. */
void emu_count_inst(emu_warp *warp, const emu_inst *inst, uint32_t mask);

#endif
