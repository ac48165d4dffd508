/* SPDX-License-Identifier: Apache-2.0 */
/* link: what can be settled only when all functions of a module are known. */
#ifndef EMU_LINK_H
#define EMU_LINK_H

#include "parser.h"

/** Refuse the functions that call one that cannot be run, and those that call themselves. */
void emu_follow_calls(emu_parser *p);

/** Give shared arrays their offsets. */
void emu_place_shared(emu_parser *p);

#endif
