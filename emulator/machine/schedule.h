/* SPDX-License-Identifier: Apache-2.0 */
/* schedule: the blocks of a launch, shared out among host threads. */
#ifndef EMU_SCHEDULE_H
#define EMU_SCHEDULE_H

#include "warp.h"

/** Run a whole launch; returns once every block has ended or one has failed. Held: emu_memory_hold. */
void emu_run(emu_launch *launch);

#endif
