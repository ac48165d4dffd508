/* SPDX-License-Identifier: Apache-2.0 */
/* link: decisions that need all functions of a module. */
#ifndef EMU_LINK_H
#define EMU_LINK_H

#include "parser.h"

/** Refuse functions that call one that cannot run, and recursive functions. */
void emu_follow_calls(emu_parser *p);

/** Give shared arrays their offsets. */
void emu_place_shared(emu_parser *p);

#endif
