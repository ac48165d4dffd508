/* SPDX-License-Identifier: Apache-2.0 */
#include "meet.h"

#include <stdlib.h>
#include <string.h>

/* Has the instruction registers that it reads or writes later? */
static bool is_late(const emu_inst *inst)
{
    return (inst->flow == F_WARPGROUP && inst->outputs > 0) || inst->tracking == D_LATE;
}

static bool is_tensor(const emu_inst *inst)
{
    return strncmp(inst->text, "tcgen05.", 8) == 0;
}

/* Registers connected by copies share one root. */
static uint16_t root_of(uint16_t *parent, uint16_t reg)
{
    while (parent[reg] != reg)
        reg = parent[reg] = parent[parent[reg]];
    return reg;
}

/* Return the registers of accumulators and of factors in registers, or of results. */
static unsigned registers_of(const emu_inst *late)
{
    return late->outputs + (late->tracking != D_LATE && late->operand[late->outputs].bytes == 4 ? 4u : 0u);
}

static void mark(emu_inst *insts, uint32_t count, uint16_t *parent, bool *is_used_late)
{
    for (uint32_t i = 0; i < count; i++)
        if (insts[i].operands == 2 && memcmp(insts[i].text, "mov.", 4) == 0 && insts[i].operand[1].reg)
            parent[root_of(parent, insts[i].operand[0].reg)] = root_of(parent, insts[i].operand[1].reg);
    for (uint32_t i = 0; i < count; i++)
        for (unsigned k = 0; is_late(&insts[i]) && k < registers_of(&insts[i]); k++)
            is_used_late[root_of(parent, insts[i].operand[k].reg)] = true;
    is_used_late[0] = false; /* constants */
    for (uint32_t i = 0; i < count; i++)
        for (unsigned k = 0; !is_late(&insts[i]) && k < insts[i].operands; k++)
            insts[i].meets_sums |= is_used_late[root_of(parent, insts[i].operand[k].reg)];
}

bool emu_mark_meetings(emu_module *module, const emu_function *function)
{
    emu_inst *const insts = module->inst + function->first_inst;
    bool *is_used_late, has_late = false, is_whole;
    uint16_t *parent;

    for (uint32_t i = 0; i < function->insts; i++) {
        has_late |= is_late(&insts[i]);
        module->has_tensor_memory |= is_tensor(&insts[i]);
    }
    module->has_sums |= has_late || module->has_tensor_memory;
    if (!has_late)
        return true;
    is_used_late = calloc(function->registers + (size_t)1, sizeof *is_used_late);
    parent = calloc(function->registers + (size_t)1, sizeof *parent);
    for (uint32_t reg = 0; parent && reg <= function->registers; reg++)
        parent[reg] = (uint16_t)reg;
    if (parent && is_used_late)
        mark(insts, function->insts, parent, is_used_late);
    is_whole = parent && is_used_late;
    free(is_used_late);
    free(parent);
    return is_whole;
}
