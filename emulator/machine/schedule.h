/* SPDX-License-Identifier: Apache-2.0 */
/* schedule: distribute the blocks of a launch among host threads. */
#ifndef EMU_SCHEDULE_H
#define EMU_SCHEDULE_H

#include "warp.h"

/** Run a whole launch; returns once every block has ended or one has failed. Call while emu_memory_hold is in force. */
void emu_run(emu_launch *launch);

#endif
