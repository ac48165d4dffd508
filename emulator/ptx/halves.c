/* SPDX-License-Identifier: Apache-2.0 */
#include "halves.h"

#include <string.h>

static bool begins(const emu_inst *inst, const char *text)
{
    return strncmp(inst->text, text, strlen(text)) == 0;
}

/* A move of two halves to a whole. */
static bool joins(const emu_inst *inst)
{
    return begins(inst, "mov.b") && inst->outputs == 1 && inst->operands == 3 && inst->operand[0].bytes > 1;
}

/* Count the instructions that read a register. */
static uint32_t readers(const emu_inst *insts, uint32_t count, uint16_t reg)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        bool reads = insts[i].is_guarded && insts[i].guard.reg == reg;

        for (unsigned k = insts[i].outputs; k < insts[i].operands; k++)
            reads |= insts[i].operand[k].reg == reg;
        found += reads;
    }
    return found;
}

/* Does the instruction shift the lower half of `join` out? */
static bool shifts(const emu_module *module, const emu_inst *inst, const emu_operand *join)
{
    const emu_operand *const count = &inst->operand[2];
    uint32_t bits;

    if (!begins(inst, "shr.") || inst->operands != 3 || inst->operand[1].reg != join->reg || count->bank != 1)
        return false;
    memcpy(&bits, module->constants + count->offset, sizeof bits);
    return bits >= 4U * join->bytes;
}

/* Does it take `join` apart, into two halves? */
static bool parts(const emu_inst *inst, const emu_operand *join)
{
    return begins(inst, "mov.b") && inst->outputs == 2 && inst->operands == 3 && inst->operand[2].reg == join->reg;
}

void emu_mark_dropped_halves(const emu_module *module, const emu_function *function)
{
    emu_inst *const insts = module->inst + function->first_inst;

    for (uint32_t i = 0; i + 1 < function->insts; i++) {
        const emu_operand *const join = insts[i].operand;

        if (joins(&insts[i]) &&
            (shifts(module, &insts[i + 1], join) ||
             (parts(&insts[i + 1], join) && readers(insts, function->insts, insts[i + 1].operand[0].reg) == 0)) &&
            readers(insts, function->insts, join->reg) == 1)
            insts[i].tracking = D_LAST;
    }
}
