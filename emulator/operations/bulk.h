/* SPDX-License-Identifier: Apache-2.0 */
/* bulk: common parts of copies of ranges and of tiles, from issue to completion. */
#ifndef EMU_BULK_H
#define EMU_BULK_H

#include "arrival.h"
#include "lanes.h"
#include "mbarrier.h"
#include "shadow.h"

/** Make a copy complete on the mbarrier that an operand names. false: the launch has failed. */
bool emu_bulk_aim(emu_warp *warp, int lane, const emu_operand *operand, emu_arrival *a);

/** Issue a copy. false: the launch has failed. */
bool emu_bulk_issue(emu_warp *warp, emu_arrival *a);

/** Issue a copy to each block of a mask; it writes, and completes on an mbarrier, at the same offsets in each. */
bool emu_bulk_multicast(emu_warp *warp, emu_arrival *a, uint32_t blocks);

/** Copy a part of its bytes, or combine them with the target. */
void emu_bulk_move(const emu_arrival *a, const emu_place *to, const emu_place *from, uint32_t bytes);
void emu_bulk_combine(const emu_arrival *a, const emu_place *to, const emu_place *from, uint32_t bytes);

/** Count a copy's range of global memory, as a profiler does. */
void emu_bulk_count(emu_warp *warp, const emu_inst *inst, uint64_t address, uint32_t bytes, bool is_write);

/** Complete a copy. */
void emu_bulk_complete(const emu_arrival *a);

#endif
