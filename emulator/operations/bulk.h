/* SPDX-License-Identifier: Apache-2.0 */
/* bulk: what copies of ranges and of tiles have in common, from the thread that issues one to where it lands. */
#ifndef EMU_BULK_H
#define EMU_BULK_H

#include "arrival.h"
#include "lanes.h"
#include "mbarrier.h"
#include "shadow.h"

/** Let a copy complete on the mbarrier that an operand names. false: the launch has failed. */
bool emu_bulk_aim(emu_warp *warp, int lane, const emu_operand *operand, emu_arrival *a);

/** It is on its way. false: the launch has failed. */
bool emu_bulk_issue(emu_warp *warp, emu_arrival *a);

/** The same to each block of a mask, where it lands and completes at the same offsets. */
bool emu_bulk_multicast(emu_warp *warp, emu_arrival *a, uint32_t blocks);

/** A part of what it brings, and how it is combined with what is there. */
void emu_bulk_move(const emu_arrival *a, const emu_place *to, const emu_place *from, uint32_t bytes);
void emu_bulk_combine(const emu_arrival *a, const emu_place *to, const emu_place *from, uint32_t bytes);

/** A profiler's view of a range of global memory that one copies. */
void emu_bulk_count(emu_warp *warp, const emu_inst *inst, uint64_t address, uint32_t bytes, bool is_write);

/** All of it is there. */
void emu_bulk_complete(const emu_arrival *a);

#endif
