/* SPDX-License-Identifier: Apache-2.0 */
/* option: user options; the environment is read when an option is first queried. Threads: any. */
#ifndef EMU_OPTION_H
#define EMU_OPTION_H

#include "cuda_emulator.h"

uint64_t emu_option(cuEmuOption option);
void emu_set_option(cuEmuOption option, uint64_t value);

#endif
