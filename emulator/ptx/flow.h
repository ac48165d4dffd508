/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow: basic blocks, and the order in which diverged lanes should run them.
 *
 * Blocks are numbered in a reverse postorder that keeps a loop together: blocks before a join have lower numbers than the join,
 * and blocks of a loop have lower numbers than those after it. Lanes with the lowest number run first, and meet the others
 * there (thread frontiers: Diamos et al., MICRO 2011; loops: Havlak, TOPLAS 1997). Results never depend on the order.
 */
#ifndef EMU_FLOW_H
#define EMU_FLOW_H

#include "arena.h"
#include "ptx.h"

/** Find the blocks of a function and set the priorities of its instructions. false: out of memory. */
bool emu_order_blocks(emu_module *module, const emu_function *function, emu_arena *arena);

#endif
