/* SPDX-License-Identifier: Apache-2.0 */
/*
 * form: the instructions of the emulator, in the notation of the PTX manual.
 *
 *     {"add{.rn,.rz,.rm,.rp}{.ftz}{.sat}.f32", "=T T T", ...}
 *
 * Braces hold alternatives: at most one is present, and with a leading * exactly one. inst->choice[group] is its number, from 1, or
 * 0 for none. The modifiers of an instruction may come in any order, as ptxas accepts them, with two exceptions: types keep the
 * order of the form, and so do the modifiers of one alternative (.shared.global). T, U, V and W are the types of the mnemonic, in
 * order. An instruction that matches no form is unknown.
 *
 * Operands: = written; T U V W of that type, X twice as wide as T; p predicate; h w d q of 16, 32, 64, 128 bits; @ address; N
 * integer constant; C an address and one coordinate for each dimension (choice of the first group); ~ before a letter: the register
 * may be wider; a digit before a letter: a vector in braces of that length, v: of length inst->vector; #: of length m n / 128, the
 * accumulators of each thread of a warpgroup, two f16 in one register; * a vector in braces that fills T; & one of any length; ? after: optional; |p
 * after an output: an optional second output. H the policy of a cache hint: present if the mnemonic has .L2::cache_hint, and not
 * passed on.
 */
#ifndef EMU_FORM_H
#define EMU_FORM_H

#include "ptx.h"

/**
 * EMU_ONLY + 120 means sm_120a, sm_120f and the later targets of their family, such as sm_121a; with EMU_NOT_F only those that end in a;
 * with EMU_OR_110 sm_110a and sm_110f too.
 */
enum { EMU_ONLY = 128, EMU_NOT_F = 256, EMU_OR_110 = 512 };

typedef struct emu_form {
    const char *form, *operands;
    emu_exec exec;
    emu_exec (*choose)(const emu_inst *inst); /* used if exec is NULL; returns NULL for an invalid combination */
    uint8_t flow, tracking, flops, is_fma;
    uint16_t target; /* lowest target, 80 for sm_80, if the types do not say so; 0: all; or EMU_ONLY + 120 */
} emu_form;

/** The instruction set that a module is decoded for. */
typedef struct emu_operations {
    const emu_form *const *forms; /* lists that end in a form without text; NULL after the last */
    emu_exec clear_rank;          /* and.b32 with a constant that clears, of the upper bits, only bit 24 */
    emu_exec read_clock;          /* mov from %clock and the like, whose value changes: choice[0] is the emu_special_kind */
} emu_operations;

/** Return the lowest target whose instructions have a type; 0: all. */
unsigned emu_type_target(emu_type type);

/** Return the type that a modifier names, without its dot; T_NONE: none. */
emu_type emu_type_of(const char *text, size_t length);

enum { EMU_MODIFIERS = 24 };

typedef struct emu_modifier {
    const char *text; /* without its dot */
    size_t length;
    uint8_t type; /* emu_type */
} emu_modifier;

/** The parts of a mnemonic such as ld.global.v4.f32. */
typedef struct emu_mnemonic {
    const char *text;
    size_t length, opcode_length;
    emu_modifier modifier[EMU_MODIFIERS];
    unsigned modifiers;
    bool is_too_long; /* it has more modifiers than fit */
} emu_mnemonic;

void emu_split_mnemonic(const char *text, size_t length, emu_mnemonic *mnemonic);

bool emu_form_has_opcode(const emu_form *form, const emu_mnemonic *mnemonic);

/** Does a mnemonic with the opcode match this form? Fills in choice, type, type_count, space, vector, has_hint and is_async. */
bool emu_form_matches(const emu_form *form, const emu_mnemonic *mnemonic, emu_inst *inst);

#endif
