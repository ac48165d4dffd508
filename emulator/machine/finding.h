/* SPDX-License-Identifier: Apache-2.0 */
/* finding: what was found to be wrong in a launch. */
#ifndef EMU_FINDING_H
#define EMU_FINDING_H

#include "warp.h"

/** Add a finding. warp and inst may be NULL. A finding that ends the launch sets launch->failed. Threads: any. */
__attribute__((format(printf, 6, 7))) void emu_find(const emu_warp *warp, const emu_inst *inst, cuEmuKind kind, int lane,
                                                    uint64_t address, const char *format, ...);

/** "16 bytes behind the end of 4096 bytes allocated at 0x..": where an address lies. */
const char *emu_describe_address(uint64_t address, char *text, size_t bytes);

/** A finding without a launch, such as those of a watch. */
void emu_find_in_memory(cuEmuKind kind, uint64_t address, uint64_t times, const char *text);

/** Is a finding of that kind no failure of the launch? */
static inline bool emu_is_warning(cuEmuKind kind)
{
    return kind == CUEMU_EXITED_BARRIER || kind == CUEMU_INIT_FENCE;
}

/** A module goes: what comes to lie where its instructions were is another finding. */
void emu_findings_forget(const emu_module *module);

size_t emu_finding_count(void);
bool emu_finding_get(size_t index, cuEmuFinding *finding);
void emu_findings_clear(void);

#endif
