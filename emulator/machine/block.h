/* SPDX-License-Identifier: Apache-2.0 */
/* block: allocate and initialise blocks; each host thread reuses its own. */
#ifndef EMU_BLOCK_H
#define EMU_BLOCK_H

#include "warp.h"

/** Allocate memory for the blocks of that rank in clusters, one at a time. false: out of memory; free it all the same. */
bool emu_block_make(emu_block *block, struct emu_cluster *cluster, uint32_t rank);
void emu_block_free(emu_block *block);

/** Reset a block to its start, with the index that the cluster gives it. */
void emu_block_start(emu_block *block);

#endif
