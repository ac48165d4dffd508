/* SPDX-License-Identifier: Apache-2.0 */
/*
 * form: what instructions there are, written as the PTX manual writes them.
 *
 *     {"add{.rn,.rz,.rm,.rp}{.ftz}{.sat}.f32", "=T T T", ...}
 *
 * Braces hold alternatives of which one may stand there; with a leading * one must. Which one did, counted from 1 and 0 for none,
 * is inst->choice[group]. The modifiers of an instruction may come in any order, as ptxas takes them, but for two things: types
 * keep the order of the form, and so do the modifiers of one alternative (.shared.global). Types are collected from the mnemonic,
 * in order, as T, U, V and W. What matches no form is not known.
 *
 * Operands: = written; T U V W of that type, X twice as wide as T; p predicate; h w d q of 16, 32, 64, 128 bits; @ address; N
 * integer constant; C an address and a coordinate for each dimension, of which the first group has the number; ~ before a letter:
 * the register may be wider; a digit before it: a vector in braces of so many, v: of inst->vector; #: of the sums that each thread
 * of a warpgroup has, m n / 128, two f16 in one register; * a vector in braces that fills T; ? behind: may be missing; |p behind an
 * output: a second one that may. H the policy of a cache hint, which stands there if the mnemonic has .L2::cache_hint, and is not
 * passed on.
 */
#ifndef EMU_FORM_H
#define EMU_FORM_H

#include "ptx.h"

enum { EMU_ONLY = 128 };

typedef struct emu_form {
    const char *form, *operands;
    emu_exec exec;
    emu_exec (*choose)(const emu_inst *inst); /* if exec is NULL; may answer NULL: there is no such combination */
    uint8_t flow, tracking, flops, is_fma;
    uint8_t target; /* the least that has it, 80 for sm_80, if its types do not say so; 0: all; EMU_ONLY + 90: sm_90a alone */
} emu_form;

/** All that a module is decoded for. */
typedef struct emu_operations {
    const emu_form *const *forms; /* lists that end in a form without text; NULL behind the last */
    emu_exec read_clock;          /* mov from %clock and the like, which never stand still: choice[0] is the emu_special_kind */
} emu_operations;

/** The least target whose instructions have a type; 0: all. */
unsigned emu_type_target(emu_type type);

/** The type a modifier names, without its dot; T_NONE: none. */
emu_type emu_type_of(const char *text, size_t length);

enum { EMU_MODIFIERS = 24 };

typedef struct emu_modifier {
    const char *text; /* without its dot */
    size_t length;
    uint8_t type; /* emu_type */
} emu_modifier;

/** ld.global.v4.f32 in its parts. */
typedef struct emu_mnemonic {
    const char *text;
    size_t length, opcode_length;
    emu_modifier modifier[EMU_MODIFIERS];
    unsigned modifiers;
    bool is_too_long; /* it has more of them */
} emu_mnemonic;

void emu_split_mnemonic(const char *text, size_t length, emu_mnemonic *mnemonic);

bool emu_form_has_opcode(const emu_form *form, const emu_mnemonic *mnemonic);

/** Does mnemonic, which has the opcode, have this form? Fills in choice, type, type_count, space, vector, has_hint and is_async. */
bool emu_form_matches(const emu_form *form, const emu_mnemonic *mnemonic, emu_inst *inst);

#endif
