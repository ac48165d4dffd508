/* SPDX-License-Identifier: Apache-2.0 */
/* halves: find the moves that join two values of which the next instruction drops the lower one. */
#ifndef EMU_HALVES_H
#define EMU_HALVES_H

#include "ptx.h"

/**
 * Let such a move's result be defined if its upper half is. Compilers take the upper half of a register so, and write one that
 * nothing has set for the lower one: mov.b64 %rd1, {%r1, %r2}; then shr.u64 %rd2, %rd1, 48, or mov.b64 {tmp, %r3}, %rd1.
 */
void emu_mark_dropped_halves(const emu_module *module, const emu_function *function);

#endif
