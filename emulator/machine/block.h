/* SPDX-License-Identifier: Apache-2.0 */
/* block: what a block is made of, and how each of those that one host thread runs begins. */
#ifndef EMU_BLOCK_H
#define EMU_BLOCK_H

#include "warp.h"

/** Memory for the blocks of that rank in clusters, one at a time. false: there is none; free it all the same. */
bool emu_block_make(emu_block *block, struct emu_cluster *cluster, uint32_t rank);
void emu_block_free(emu_block *block);

/** Put a block to its beginning, where the cluster has its index. */
void emu_block_start(emu_block *block);

#endif
