/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

bool emu_holds(int how, double a, double b)
{
    enum { EQU = EMU_GE + 1, NUM = EQU + 6, NOT_A_NUMBER };
    const bool is_unordered = a != a || b != b;

    if (how == NUM || how == NOT_A_NUMBER)
        return is_unordered == (how == NOT_A_NUMBER);
    if (is_unordered)
        return how >= EQU;
    switch (how >= EQU ? how - EQU + EMU_EQ : how) {
    case EMU_EQ:
        return a == b;
    case EMU_NE:
        return a != b;
    case EMU_LT:
        return a < b;
    case EMU_LE:
        return a <= b;
    case EMU_GT:
        return a > b;
    default:
        return a >= b;
    }
}

void emu_setp(emu_warp *warp, const emu_inst *inst, uint32_t mask, uint32_t bits, uint32_t opposite)
{
    const uint32_t with = inst->choice[1] ? emu_predicate(warp, &inst->operand[4]) : 0;

    emu_set_predicate(warp, &inst->operand[0], emu_combine(inst->choice[1], bits, with), mask);
    emu_set_predicate(warp, &inst->operand[1], emu_combine(inst->choice[1], opposite, with), mask);
}

void emu_set(emu_warp *warp, const emu_inst *inst, uint32_t mask, uint32_t bits)
{
    const uint32_t yes = inst->type[0] == T_F32 ? 0x3f800000u : UINT32_MAX;

    if (inst->choice[1])
        bits = emu_combine(inst->choice[1], bits, emu_predicate(warp, &inst->operand[3]));
    EMU_EACH_LANE (i, mask)
        emu_set_unsigned(warp, &inst->operand[0], i, bits >> i & 1 ? yes : 0);
}
