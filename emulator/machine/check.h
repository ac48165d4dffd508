/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: findings, and the shadow state that the checks keep of memory.
 *
 * A byte of shared memory remembers who wrote and who read it since when; time is counted in barriers that the block has passed. A
 * byte of global memory remembers the same across blocks, which only fences and atomics order.
 */
#ifndef EMU_CHECK_H
#define EMU_CHECK_H

#include "cuda_emulator.h"
#include "memory.h"
#include "warp.h"

/** Add a finding. warp and inst may be NULL. A finding that ends the launch sets launch->failed. Threads: any. */
__attribute__((format(printf, 6, 7))) void emu_find(const emu_warp *warp, const emu_inst *inst, cuEmuKind kind, int lane,
                                                    uint64_t address, const char *format, ...);

/** "16 bytes behind the end of 4096 bytes allocated at 0x..": where an address lies. */
const char *emu_describe_address(uint64_t address, char *text, size_t bytes);

/** A finding without a launch, such as those of a watch. */
void emu_find_in_memory(cuEmuKind kind, const char *kernel, uint64_t address, uint64_t times, const char *text);

/** An access of bytes at a shared offset, checked and remembered. value: what will be written, or NULL. */
void emu_check_shared(emu_warp *warp, const emu_inst *inst, int lane, uint32_t offset, unsigned bytes, const uint8_t *value,
                      bool is_write, bool is_atomic);

/** An access of bytes in an allocation, checked and remembered. Only one worker may run. */
void emu_check_global(emu_warp *warp, const emu_inst *inst, int lane, emu_allocation *allocation, uint64_t address,
                      unsigned bytes, const uint8_t *value, bool is_write, bool is_atomic);

/** Undefined lanes of an operand where its value matters. */
void emu_check_defined(emu_warp *warp, const emu_inst *inst, const emu_operand *operand, uint32_t mask, const char *use);

/** Is a finding of that kind no failure of the launch? */
static inline bool emu_is_warning(cuEmuKind kind)
{
    return kind == CUEMU_EXITED_BARRIER;
}

size_t emu_finding_count(void);
bool emu_finding_get(size_t index, cuEmuFinding *finding);
void emu_findings_clear(void);

#endif
