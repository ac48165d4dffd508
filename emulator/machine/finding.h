/* SPDX-License-Identifier: Apache-2.0 */
/* finding: errors found in a launch. */
#ifndef EMU_FINDING_H
#define EMU_FINDING_H

#include "warp.h"

/** Add a finding. warp and inst may be NULL. A finding that ends the launch sets launch->failed. Threads: any. */
__attribute__((format(printf, 6, 7))) void emu_find(const emu_warp *warp, const emu_inst *inst, cuEmuKind kind, int lane,
                                                    uint64_t address, const char *format, ...);

/** Describe where an address lies: "16 bytes after the end of 4096 bytes allocated at 0x..". */
const char *emu_describe_address(uint64_t address, char *text, size_t bytes);

/** Add a finding without a launch, such as one of a watch. */
void emu_find_in_memory(cuEmuKind kind, uint64_t address, uint64_t times, const char *text);

/** Does a launch with a finding of that kind still succeed? */
static inline bool emu_is_warning(cuEmuKind kind)
{
    return kind == CUEMU_EXITED_BARRIER || kind == CUEMU_INIT_FENCE;
}

/** Forget a module: an instruction that later takes the same address gives a new finding. */
void emu_findings_forget(const emu_module *module);

size_t emu_finding_count(void);
bool emu_finding_get(size_t index, cuEmuFinding *finding);
void emu_findings_clear(void);

#endif
