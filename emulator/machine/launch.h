/* SPDX-License-Identifier: Apache-2.0 */
/* launch: a kernel launch, from its parameters to its counters. */
#ifndef EMU_LAUNCH_H
#define EMU_LAUNCH_H

#include <stdbool.h>

#include "cuda_emulator.h"
#include "device_table.h"
#include "ptx.h"

/** The shape and attributes of a launch. */
typedef struct emu_shape {
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; /* 0: as the kernel says, or one block each */
    uint32_t dynamic_shared;
    bool is_cooperative; /* all blocks run at once */
    bool starts_early;   /* may overlap the preceding launch */
} emu_shape;

/**
 * Run a kernel to its end. The caller has checked the limits of the device, placed the module's symbols and applied its fixups.
 * parameters: function->param_bytes bytes, laid out as function->param says. owner: id of the context. Returns 0, or the kind
 * of the finding that ended the launch; if all blocks ran, the kind of any other new finding.
 */
cuEmuKind emu_launch_kernel(const emu_device *device, const emu_module *module, const emu_function *function,
                            const emu_shape *shape, const uint8_t *parameters, uint64_t owner);

/** Return the launch that was counted last; see cuEmuGetLaunch and cuEmuGetLine. */
int emu_counted_launch(cuEmuLaunch *launch);
int emu_counted_line(size_t index, uint32_t *ptx_line, uint32_t *cuda_line, char *text, size_t text_bytes,
                     cuEmuCounters *counters);

/** Drop the counters of a module's launches before it is freed. */
void emu_forget_launches(const emu_module *module);

#endif
