/* SPDX-License-Identifier: Apache-2.0 */
/* progress: how many blocks of the most recent launch are done. */
#ifndef EMU_PROGRESS_H
#define EMU_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

void emu_progress_begin(uint64_t blocks);
void emu_progress_step(void);
void emu_progress_end(void);

/** Return done and total blocks; false: no launch is under way. */
bool emu_progress_get(uint64_t *done, uint64_t *blocks);

#endif
