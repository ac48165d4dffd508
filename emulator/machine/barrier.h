/* SPDX-License-Identifier: Apache-2.0 */
/* barrier: bar and barrier, at which the warps of a block synchronise. */
#ifndef EMU_BARRIER_H
#define EMU_BARRIER_H

#include "warp.h"

/** Release warps whose barriers are complete. false: none, or the launch has failed. */
bool emu_pass_barriers(emu_block *block);

#endif
