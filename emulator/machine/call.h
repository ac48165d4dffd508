/* SPDX-License-Identifier: Apache-2.0 */
/* call: functions that kernels call: those of the module, printf and assert. */
#ifndef EMU_CALL_H
#define EMU_CALL_H

#include "warp.h"

/** Move the lanes of a split into a function, or run a built-in. false: nested too deep, and a finding says so. */
bool emu_enter_call(emu_warp *warp, emu_split *s, const emu_inst *inst);

/** Return them to the instruction after the call. */
void emu_leave_call(emu_warp *warp, emu_split *s);

#endif
