/* SPDX-License-Identifier: Apache-2.0 */
/* block: what a block is made of, and how each of those that one host thread runs begins. */
#ifndef EMU_BLOCK_H
#define EMU_BLOCK_H

#include "warp.h"

/** Memory for the blocks of a launch, one at a time. false: there is none; free it all the same. */
bool emu_block_make(emu_block *block, emu_launch *launch);
void emu_block_free(emu_block *block);

/** Put a block to the beginning of block number. */
void emu_block_start(emu_block *block, uint64_t number);

#endif
