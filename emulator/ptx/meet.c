/* SPDX-License-Identifier: Apache-2.0 */
#include "meet.h"

#include <stdlib.h>
#include <string.h>

static bool is_product(const emu_inst *inst)
{
    return inst->flow == F_WARPGROUP && inst->outputs > 0;
}

/* Registers connected by copies share one root. */
static uint16_t root_of(uint16_t *parent, uint16_t reg)
{
    while (parent[reg] != reg)
        reg = parent[reg] = parent[parent[reg]];
    return reg;
}

/* Return the registers of accumulators, and of factors in registers. */
static unsigned registers_of(const emu_inst *product)
{
    return product->outputs + (product->operand[product->outputs].bytes == 4 ? 4u : 0u);
}

static void mark(emu_inst *insts, uint32_t count, uint16_t *parent, bool *of_product)
{
    for (uint32_t i = 0; i < count; i++)
        if (insts[i].operands == 2 && memcmp(insts[i].text, "mov.", 4) == 0 && insts[i].operand[1].reg)
            parent[root_of(parent, insts[i].operand[0].reg)] = root_of(parent, insts[i].operand[1].reg);
    for (uint32_t i = 0; i < count; i++)
        for (unsigned k = 0; is_product(&insts[i]) && k < registers_of(&insts[i]); k++)
            of_product[root_of(parent, insts[i].operand[k].reg)] = true;
    of_product[0] = false; /* constants */
    for (uint32_t i = 0; i < count; i++)
        for (unsigned k = 0; !is_product(&insts[i]) && k < insts[i].operands; k++)
            insts[i].meets_sums |= of_product[root_of(parent, insts[i].operand[k].reg)];
}

bool emu_mark_meetings(emu_module *module, const emu_function *function)
{
    emu_inst *const insts = module->inst + function->first_inst;
    bool *of_product, has_products = false, is_whole;
    uint16_t *parent;

    for (uint32_t i = 0; i < function->insts && !has_products; i++)
        has_products = is_product(&insts[i]);
    if (!has_products)
        return true;
    module->has_sums = true;
    of_product = calloc(function->registers + (size_t)1, sizeof *of_product);
    parent = calloc(function->registers + (size_t)1, sizeof *parent);
    for (uint32_t reg = 0; parent && reg <= function->registers; reg++)
        parent[reg] = (uint16_t)reg;
    if (parent && of_product)
        mark(insts, function->insts, parent, of_product);
    is_whole = parent && of_product;
    free(of_product);
    free(parent);
    return is_whole;
}
