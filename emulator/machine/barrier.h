/* SPDX-License-Identifier: Apache-2.0 */
/* barrier: bar and barrier, at which the warps of a block wait for each other. */
#ifndef EMU_BARRIER_H
#define EMU_BARRIER_H

#include "warp.h"

/** All lanes of a block wait: let those go that may. false: none may, or the launch has failed. */
bool emu_pass_barriers(emu_block *block);

#endif
