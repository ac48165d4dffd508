/* SPDX-License-Identifier: Apache-2.0 */
/* option: what a user may choose; the environment is read when an option is first asked for. Threads: any. */
#ifndef EMU_OPTION_H
#define EMU_OPTION_H

#include "cuda_emulator.h"

uint64_t emu_option(cuEmuOption option);
void emu_set_option(cuEmuOption option, uint64_t value);

#endif
