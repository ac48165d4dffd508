/* SPDX-License-Identifier: Apache-2.0 */
/* tensormap: where a kernel finds the map of a copy, and how it changes one. */
#ifndef EMU_TENSORMAP_H
#define EMU_TENSORMAP_H

#include "request.h"
#include "tensor.h"

/** The map that lies where an operand says, read as it is. false: the launch has failed. */
bool emu_read_map(emu_warp *warp, const emu_inst *inst, int lane, emu_space space, const emu_operand *operand, emu_tensor *map);

/** A copy by that map: is it one, and if it was changed in this launch, did an acquiring fence follow? false: the launch has failed. */
bool emu_check_map(emu_warp *warp, const emu_inst *inst, int lane, const emu_operand *operand, const emu_tensor *map);

#endif
