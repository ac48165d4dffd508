/* SPDX-License-Identifier: Apache-2.0 */
/* call: functions that kernels call: those of the text, printf and assert. */
#ifndef EMU_CALL_H
#define EMU_CALL_H

#include "warp.h"

/** Take the lanes of a split into a function, or do what a built-in one does. false: too deep, as a finding says. */
bool emu_enter_call(emu_warp *warp, emu_split *s, const emu_inst *inst);

/** Take them back behind the call. */
void emu_leave_call(emu_warp *warp, emu_split *s);

#endif
