/* SPDX-License-Identifier: Apache-2.0 */
#include "flow.h"

#include <string.h>

enum { MAX_STEPS = 64 };

static const uint32_t NONE = UINT32_MAX;

/* The blocks of a function, named by their first instruction. Arrays are indexed by it, or by number in preorder. */
typedef struct graph {
    emu_inst *inst;
    uint32_t count, first;
    uint32_t *last;                         /* last instruction of a block */
    uint32_t *next, *stack;                 /* of the walk: next successor to visit; stack of open blocks */
    uint32_t *number, *newest;              /* number in preorder, and that of the newest descendant; NONE: not reached */
    uint32_t *block;                        /* by number */
    uint32_t *edge, *edge_from, *edge_next; /* edges into a block, as lists */
    uint32_t *leader, *header;              /* by number: the block that represents it and its loop; the loop around it */
    uint32_t blocks, edges;
    uint8_t *is_header; /* by number */
} graph;

static bool ends_block(const emu_inst *inst)
{
    return inst->flow != F_NEXT && inst->flow < F_BARRIER;
}

static void mark_starts(emu_inst *inst, uint32_t count, uint32_t first)
{
    for (uint32_t i = 0; i < count; i++) {
        emu_inst *one = &inst[i];
        if (i == 0 || one->flow >= F_BARRIER)
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

/* Return successor n of the block that ends with this instruction; count: there is none. */
static uint32_t successor(const emu_inst *inst, uint32_t at, uint32_t n, uint32_t count, uint32_t first)
{
    const emu_inst *one = &inst[at];
    const bool goes_on = one->is_guarded || one->flow == F_NEXT || one->flow == F_CALL || one->flow >= F_BARRIER;

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

/* Find blocks in preorder, their ends, and the edges between them. */
static void walk(graph *g)
{
    uint32_t depth = 0;

    g->stack[depth++] = 0;
    g->number[0] = 0;
    g->block[g->blocks++] = 0;
    while (depth > 0) {
        const uint32_t start = g->stack[depth - 1];
        uint32_t to;
        if (g->next[start] == 0)
            for (g->last[start] = start; g->last[start] + 1 < g->count && !g->inst[g->last[start] + 1].is_block_start;)
                g->last[start]++;
        to = successor(g->inst, g->last[start], g->next[start]++, g->count, g->first);
        if (to >= g->count) {
            g->newest[g->number[start]] = g->blocks - 1;
            depth--;
            continue;
        }
        g->edge_from[g->edges] = g->number[start];
        g->edge_next[g->edges] = g->edge[to];
        g->edge[to] = g->edges++;
        if (g->number[to] == NONE) {
            g->number[to] = g->blocks;
            g->block[g->blocks++] = to;
            g->stack[depth++] = to;
        }
    }
}

static uint32_t leader_of(graph *g, uint32_t n)
{
    while (g->leader[n] != n)
        n = g->leader[n] = g->leader[g->leader[n]];
    return n;
}

static bool is_ancestor(const graph *g, uint32_t a, uint32_t n)
{
    return a <= n && n <= g->newest[a];
}

/* Find the loop around each block: from the innermost outwards, join each loop's blocks into its header. */
static void find_loops(graph *g)
{
    for (uint32_t w = g->blocks; w-- > 0;) {
        uint32_t waiting = 0;
        for (uint32_t e = g->edge[g->block[w]]; e != NONE; e = g->edge_next[e]) {
            const uint32_t from = g->edge_from[e];
            if (!is_ancestor(g, w, from))
                continue;
            g->is_header[w] = true;
            if (leader_of(g, from) != w) {
                g->stack[waiting++] = leader_of(g, from);
                g->header[leader_of(g, from)] = w;
                g->leader[leader_of(g, from)] = w;
            }
        }
        while (waiting > 0) {
            const uint32_t x = g->stack[--waiting];
            for (uint32_t e = g->edge[g->block[x]]; e != NONE; e = g->edge_next[e]) {
                const uint32_t from = leader_of(g, g->edge_from[e]);
                if (from == w || !is_ancestor(g, w, from)) /* ignore a second entry into the loop */
                    continue;
                g->header[from] = w;
                g->leader[from] = w;
                g->stack[waiting++] = from;
            }
        }
    }
}

/* Does an edge stay in the innermost loop around its source? */
static bool stays(const graph *g, uint32_t from, uint32_t to)
{
    const uint32_t n = g->number[from], loop = g->is_header[n] ? n : g->header[n];
    uint32_t at = g->number[to];

    for (int steps = 0; loop != NONE && at != loop; at = g->header[at])
        if (at == NONE || at < loop || ++steps > MAX_STEPS)
            return at != NONE && at > loop;
    return true;
}

/* Number the blocks; walk edges that leave a loop first, so that they get the higher numbers. */
static void number_blocks(graph *g)
{
    uint32_t depth = 0, number = g->count;
    uint8_t *const pass = g->is_header + g->count + 1; /* by block */
    uint8_t *const is_seen = pass + g->count + 1;

    memset(g->next, 0, (g->count + 1) * sizeof *g->next);
    g->stack[depth++] = 0;
    is_seen[0] = 1;
    while (depth > 0) {
        const uint32_t start = g->stack[depth - 1];
        const uint32_t to = successor(g->inst, g->last[start], g->next[start]++, g->count, g->first);
        if (to < g->count) {
            if (!is_seen[to] && stays(g, start, to) == (pass[start] == 1)) {
                is_seen[to] = 1;
                g->stack[depth++] = to;
            }
        } else if (pass[start]++ == 0) {
            g->next[start] = 0;
        } else {
            number--;
            for (uint32_t i = start; i <= g->last[start]; i++)
                g->inst[i].priority = g->first + number;
            depth--;
        }
    }
}

bool emu_order_blocks(emu_module *module, const emu_function *function, emu_arena *arena)
{
    const uint32_t count = function->insts;
    graph g = {.inst = module->inst + function->first_inst, .count = count, .first = function->first_inst};
    uint32_t **const arrays[] = {&g.last, &g.next, &g.stack, &g.number, &g.newest, &g.block, &g.edge, &g.leader, &g.header};
    size_t edges = 2;

    mark_starts(g.inst, count, g.first);
    for (uint32_t i = 0; i < count; i++)
        edges += (size_t)g.inst[i].is_block_start + (g.inst[i].flow == F_BRANCH ? 1u : 0u) +
                 (g.inst[i].flow == F_BRANCH_TABLE ? g.inst[i].table_length : 0u);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        if (!(*arrays[i] = emu_arena_get(arena, (count + 1) * sizeof **arrays[i])))
            return false;
    g.edge_from = emu_arena_get(arena, edges * sizeof *g.edge_from);
    g.edge_next = emu_arena_get(arena, edges * sizeof *g.edge_next);
    g.is_header = emu_arena_get(arena, 3 * ((size_t)count + 1));
    if (!g.edge_from || !g.edge_next || !g.is_header)
        return false;
    for (uint32_t i = 0; i <= count; i++) {
        g.number[i] = g.edge[i] = g.header[i] = NONE;
        g.leader[i] = i;
    }
    walk(&g);
    find_loops(&g);
    number_blocks(&g);
    return true;
}
