/* SPDX-License-Identifier: Apache-2.0 */
/* tcgen05: what one thread issues for its block or for a pair of blocks: products, copies to tensor memory, commits. */
#ifndef EMU_TCGEN05_H
#define EMU_TCGEN05_H

#include "form.h"
#include "tensor_memory.h"

/** The targets that have tcgen05, and the modifier that its forms begin with: choice[0]. */
#define EMU_DATACENTER (EMU_ONLY + 100 + EMU_OR_110)
#define EMU_GROUPS "{*.cta_group::1,.cta_group::2}"

/** An instruction, its thread, and the blocks that execute it: of a pair, the one with an even rank first. */
typedef struct emu_issued {
    emu_warp *warp;
    const emu_inst *inst;
    int lane;
    emu_block *block[2];
    int blocks;
} emu_issued;

/** Find the blocks of an instruction, whose choice[0] is their number. false: there is no pair, and a finding says so. */
bool emu_find_blocks(emu_issued *by, emu_warp *warp, const emu_inst *inst, int lane);

/** Report an instruction used against its rules. Returns false. */
__attribute__((format(printf, 2, 3))) bool emu_misuse(const emu_issued *by, const char *format, ...);

/**
 * Return 16 bytes of a block's shared memory, of which the first `used` matter, as a descriptor lays them out; NULL: they are outside,
 * and a finding says so.
 */
const uint8_t *emu_read_chunk(const emu_issued *by, emu_block *block, uint64_t descriptor, uint32_t offset, int used);

#endif
