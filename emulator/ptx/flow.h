/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow: basic blocks, and the order in which parted lanes should run them.
 *
 * Blocks are numbered in a reverse postorder that keeps a loop together: what comes before a join has a lower number than the
 * join, and what is inside a loop a lower one than what is behind it. Lanes with the lowest number run first, and the others
 * find them there (thread frontiers: Diamos et al., MICRO 2011; loops: Havlak, TOPLAS 1997). Results never depend on it.
 */
#ifndef EMU_FLOW_H
#define EMU_FLOW_H

#include "arena.h"
#include "ptx.h"

/** Blocks and their priorities, for the instructions of a function. false: out of memory. */
bool emu_order_blocks(emu_module *module, const emu_function *function, emu_arena *arena);

#endif
