/* SPDX-License-Identifier: Apache-2.0 */
/* tensormap: find the map of a copy, and check the changes that a kernel makes to it. */
#ifndef EMU_TENSORMAP_H
#define EMU_TENSORMAP_H

#include "request.h"
#include "tensor.h"

/** Read the map that an operand points to, without checks. false: the launch has failed. */
bool emu_read_map(emu_warp *warp, const emu_inst *inst, int lane, emu_space space, const emu_operand *operand, emu_tensor *map);

/**
 * Check the map of a copy: is it a map, and if it was changed in this launch, did an acquiring fence follow? false: the launch
 * has failed.
 */
bool emu_check_map(emu_warp *warp, const emu_inst *inst, int lane, const emu_operand *operand, const emu_tensor *map);

#endif
