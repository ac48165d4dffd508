/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

bool emu_holds(int how, double a, double b)
{
    enum { E = 1, L = 2, G = 4, U = 8 }; /* equal, less, greater, unordered: one of them holds for a and b */
    static const uint8_t holds_if[] = {
        E,         L | G,     L,     L | E,     G,     G | E,     /* eq to ge */
        E | U,     L | G | U, L | U, L | E | U, G | U, G | E | U, /* equ to geu */
        E | L | G, U,                                             /* num, nan */
    };

    return holds_if[how - EMU_EQ] & (a == b ? E : a < b ? L : a > b ? G : U);
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
