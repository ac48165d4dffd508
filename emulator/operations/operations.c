/* SPDX-License-Identifier: Apache-2.0 */
#include "operations.h"

static const emu_form *const forms[] = {
    emu_integer_forms,      emu_float_forms,          emu_half_forms,          emu_convert_forms,
    emu_access_forms,       emu_atomic_forms,         emu_copy_forms,          emu_bulk_forms,
    emu_tile_forms,         emu_distributed_forms,    emu_mbarrier_forms,      emu_matrix_forms,
    emu_order_forms,        emu_warp_forms,           emu_mma_forms,           emu_mma_scaled_forms,
    emu_wmma_forms,         emu_wgmma_forms,          emu_tensor_memory_forms, emu_tcgen05_forms,
    emu_tcgen05_copy_forms, emu_launch_control_forms, emu_tensormap_forms,     NULL};

const emu_operations emu_all_operations = {forms, emu_clear_rank, emu_read_clock};
