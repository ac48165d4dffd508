/* SPDX-License-Identifier: Apache-2.0 */
/* meet: which instructions of a function have a register that a wgmma has too, or one that it is copied from or to. */
#ifndef EMU_MEET_H
#define EMU_MEET_H

#include "ptx.h"

/** Set meets_sums of its instructions, and has_sums of the module; false: out of memory. */
bool emu_mark_meetings(emu_module *module, const emu_function *function);

#endif
