/* SPDX-License-Identifier: Apache-2.0 */
/* barrier: bar and barrier, at which the warps of a block wait for each other. */
#ifndef EMU_BARRIER_H
#define EMU_BARRIER_H

#include "warp.h"

/** Let warps go that wait at barriers and may. false: none may, or the launch has failed. */
bool emu_pass_barriers(emu_block *block);

#endif
