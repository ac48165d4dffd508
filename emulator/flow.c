/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow: basic blocks, and the order in which parted lanes should run them.
 *
 * Blocks are numbered in reverse postorder: what comes before a join has a lower number than the join, so lanes with the lowest
 * number run first and the others find them there (thread frontiers: Diamos et al., MICRO 2011). Results never depend on it.
 */
#include <string.h>

#include "parse.h"

static bool ends_block(const emu_inst *inst)
{
    return inst->flow != F_NEXT && inst->flow != F_BARRIER && inst->flow != F_COLLECTIVE;
}

static void mark_starts(emu_inst *inst, uint32_t count, uint32_t first)
{
    for (uint32_t i = 0; i < count; i++) {
        emu_inst *one = &inst[i];
        if (i == 0 || one->flow == F_BARRIER || one->flow == F_COLLECTIVE)
            one->is_block_start = true;
        if (ends_block(one) && i + 1 < count)
            inst[i + 1].is_block_start = true;
        if (one->flow == F_BRANCH && one->target - first < count)
            inst[one->target - first].is_block_start = true;
        for (uint32_t t = 0; one->flow == F_BRANCH_TABLE && t < one->table_length; t++)
            if (one->table[t] - first < count)
                inst[one->table[t] - first].is_block_start = true;
    }
}

/* Successor number n of the block that ends with this instruction; count: there is none. */
static uint32_t successor(const emu_inst *inst, uint32_t at, uint32_t n, uint32_t count, uint32_t first)
{
    const emu_inst *one = &inst[at];
    const bool goes_on =
        one->is_guarded || one->flow == F_NEXT || one->flow == F_CALL || one->flow == F_BARRIER || one->flow == F_COLLECTIVE;

    if (goes_on) {
        if (n == 0)
            return at + 1;
        n--;
    }
    if (one->flow == F_BRANCH)
        return n == 0 ? one->target - first : count;
    if (one->flow == F_BRANCH_TABLE)
        return n < one->table_length ? one->table[n] - first : count;
    return count;
}

bool emu_order_blocks(emu_module *module, const emu_function *function, emu_arena *arena)
{
    emu_inst *inst = module->inst + function->first_inst;
    const uint32_t count = function->insts, first = function->first_inst;
    uint32_t *stack = emu_arena_get(arena, (count + 1) * sizeof *stack);
    uint32_t *next = emu_arena_get(arena, (count + 1) * sizeof *next); /* successor to visit; by block start */
    uint8_t *is_seen = emu_arena_get(arena, count + 1);
    uint32_t depth = 0, number = count;

    if (!stack || !next || !is_seen)
        return false;
    mark_starts(inst, count, first);
    stack[depth++] = 0;
    is_seen[0] = 1;
    while (depth > 0) {
        const uint32_t start = stack[depth - 1];
        uint32_t end = start, to;
        while (end + 1 < count && !inst[end + 1].is_block_start)
            end++;
        to = successor(inst, end, next[start]++, count, first);
        if (to < count && !is_seen[to]) {
            is_seen[to] = 1;
            stack[depth++] = to;
        } else if (to >= count) {
            number--;
            for (uint32_t i = start; i <= end; i++)
                inst[i].priority = first + number;
            depth--;
        }
    }
    return true;
}
