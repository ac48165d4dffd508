/* SPDX-License-Identifier: Apache-2.0 */
/* compare: results of comparisons for setp and set of any type. Groups of their forms: the comparison, and or xor, ftz. */
#ifndef EMU_COMPARE_H
#define EMU_COMPARE_H

#include "lanes.h"

enum { EMU_EQ = 1, EMU_NE, EMU_LT, EMU_LE, EMU_GT, EMU_GE };

/** Comparisons of floats: those of integers, then equ to geu, num and nan. */
#define EMU_FLOAT_COMPARISONS "{*.eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan}{.and,.or,.xor}{.ftz}"

/** Does comparison `how` hold? */
bool emu_holds(int how, double a, double b);

/** Combine with and, or, xor; 0: return bits. */
static inline uint32_t emu_combine(int how, uint32_t bits, uint32_t with)
{
    return how == 1 ? bits & with : how == 2 ? bits | with : how == 3 ? bits ^ with : bits;
}

/** setp.lt.and.s32 p|q, a, b, c: p = bits and c, q = opposite and c. */
void emu_setp(emu_warp *warp, const emu_inst *inst, uint32_t mask, uint32_t bits, uint32_t opposite);

/** set.lt.and.u32.s32 d, a, b, c: all ones or 1.0 instead of a predicate. */
void emu_set(emu_warp *warp, const emu_inst *inst, uint32_t mask, uint32_t bits);

#endif
