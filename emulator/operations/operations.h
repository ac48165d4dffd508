/* SPDX-License-Identifier: Apache-2.0 */
/* operations: all instructions of the emulator. Each list comes from one file, and ends in a form without text. */
#ifndef EMU_OPERATIONS_H
#define EMU_OPERATIONS_H

#include "form.h"

extern const emu_form emu_integer_forms[], emu_float_forms[], emu_half_forms[], emu_convert_forms[], emu_access_forms[],
    emu_atomic_forms[], emu_copy_forms[], emu_bulk_forms[], emu_tile_forms[], emu_distributed_forms[], emu_mbarrier_forms[],
    emu_matrix_forms[], emu_order_forms[], emu_warp_forms[], emu_mma_forms[], emu_mma_scaled_forms[], emu_wmma_forms[],
    emu_wgmma_forms[], emu_tensormap_forms[], emu_tensor_memory_forms[], emu_tcgen05_forms[], emu_tcgen05_copy_forms[],
    emu_launch_control_forms[];

void emu_clear_rank(struct emu_warp *warp, const emu_inst *inst, uint32_t mask);
void emu_read_clock(struct emu_warp *warp, const emu_inst *inst, uint32_t mask);

extern const emu_operations emu_all_operations;

#endif
