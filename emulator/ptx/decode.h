/* SPDX-License-Identifier: Apache-2.0 */
/* decode: one instruction, from its tokens to its executable form. */
#ifndef EMU_DECODE_H
#define EMU_DECODE_H

#include "parser.h"

/** Read one instruction, after its guard if it has one; the current token is its mnemonic. */
void emu_decode(emu_parser *p, bool is_guarded, bool is_negated, const emu_operand *guard);

#endif
