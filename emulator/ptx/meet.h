/* SPDX-License-Identifier: Apache-2.0 */
/* meet: find the instructions that access a register of a wgmma or a result of a tcgen05.ld, or a copy of one. */
#ifndef EMU_MEET_H
#define EMU_MEET_H

#include "ptx.h"

/** Set meets_sums of the function's instructions, and has_sums and has_tensor_memory of the module; false: out of memory. */
bool emu_mark_meetings(emu_module *module, const emu_function *function);

#endif
