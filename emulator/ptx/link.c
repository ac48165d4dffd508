/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- calls ----------------------------------------------------------------------------------------------------------- */

/* Refuse a function because it calls one that cannot run. */
__attribute__((format(printf, 4, 5))) static void refuse_call(emu_parser *p, emu_function *f, const emu_inst *call,
                                                              const char *format, ...)
{
    const emu_token at = {.text = call->text, .line = call->line};
    char why[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    p->function = f;
    p->cuda_line = call->cuda_line;
    emu_unknown(p, &at, "%s", why);
    p->function = NULL;
    if (p->is_unknown)
        emu_refuse(p, f);
}

/* Find a call in f to a function that cannot run, or has calls still to be followed; NULL: there is none. */
static const emu_inst *find_call(const emu_module *m, const emu_function *f, const uint32_t *calls)
{
    for (uint32_t i = 0; i < f->insts; i++) {
        const emu_inst *inst = &m->inst[f->first_inst + i];
        const emu_function *to = inst->flow == F_CALL ? inst->call->callee : NULL;
        if (to && (calls ? calls[to - m->function] > 0 : to->refusal != NULL))
            return inst;
    }
    return NULL;
}

/*
 * Follow calls upwards from functions that call nothing. A function has one set of registers and parameters, so recursion
 * cannot run; functions that are never reached are recursive, directly or through others.
 */
void emu_follow_calls(emu_parser *p)
{
    emu_module *m = p->module;
    uint32_t *const calls = emu_take(p, m->functions * sizeof *calls); /* per function: calls not followed yet */
    uint32_t *const ready = emu_take(p, m->functions * sizeof *ready), *first, *next, *from, edges = 0, waiting = 0;

    for (uint32_t i = 0; i < m->insts; i++)
        edges += m->inst[i].flow == F_CALL && m->inst[i].call->callee;
    first = emu_take(p, (m->functions + 1) * sizeof *first); /* calls to a function: a list of edges, from 1 */
    next = emu_take(p, (edges + (size_t)1) * sizeof *next);
    from = emu_take(p, (edges + (size_t)1) * sizeof *from);
    edges = 0;
    for (uint32_t f = 0; f < m->functions && !p->has_failed; f++) {
        for (uint32_t i = 0; i < m->function[f].insts; i++) {
            const emu_inst *inst = &m->inst[m->function[f].first_inst + i];
            if (inst->flow != F_CALL || !inst->call->callee)
                continue;
            edges++;
            from[edges] = f;
            next[edges] = first[inst->call->callee - m->function];
            first[inst->call->callee - m->function] = edges;
            calls[f]++;
        }
        if (calls[f] == 0)
            ready[waiting++] = f;
    }
    while (waiting > 0 && !p->has_failed) {
        const uint32_t done = ready[--waiting];
        const emu_inst *call = m->function[done].refusal ? NULL : find_call(m, &m->function[done], NULL);
        if (call)
            refuse_call(p, &m->function[done], call, "a call of %.*s, which cannot be run (%s)",
                        call->call->callee->name_length < 100 ? (int)call->call->callee->name_length : 100,
                        call->call->callee->name, call->call->callee->refusal);
        for (uint32_t e = first[done]; e; e = next[e])
            if (--calls[from[e]] == 0)
                ready[waiting++] = from[e];
    }
    for (uint32_t f = 0; f < m->functions && !p->has_failed; f++)
        if (calls[f] > 0 && !m->function[f].refusal)
            refuse_call(p, &m->function[f], find_call(m, &m->function[f], calls),
                        "recursion: this call leads to one that leads back");
}

/* ---- addresses of variables ------------------------------------------------------------------------------------------ */

enum { MOST_SHARED = 8 << 20 }; /* per module: half of an address window (memory.h) */

/* Bytes of arrays without red zones, and bytes of the zones. */
typedef struct shared_room {
    uint64_t tight, zones;
} shared_room;

static bool is_static(const emu_symbol *s, int entry)
{
    return s->space == S_SHARED && !s->is_extern && s->entry == entry;
}

/* Mark an entry and the functions that it calls. list: room for their numbers. */
static void find_called(const emu_module *m, uint32_t entry, bool *is_called, uint32_t *list)
{
    uint32_t count = 1;

    memset(is_called, 0, m->functions * sizeof *is_called);
    list[0] = entry;
    is_called[entry] = true;
    for (uint32_t n = 0; n < count; n++) {
        const emu_function *f = &m->function[list[n]];
        for (uint32_t i = 0; i < f->insts; i++) {
            const emu_inst *inst = &m->inst[f->first_inst + i];
            const emu_function *to = inst->flow == F_CALL ? inst->call->callee : NULL;
            if (to && !is_called[to - m->function]) {
                is_called[to - m->function] = true;
                list[count++] = (uint32_t)(to - m->function);
            }
        }
    }
}

/* Find the arrays that blocks of an entry have: its own, and those of the module that it or a function it calls names. */
static void find_arrays(emu_module *m, uint32_t entry, const bool *is_called, bool *has)
{
    emu_function *f = &m->function[entry];

    for (size_t i = 0; i < m->symbols; i++)
        has[i] = is_static(&m->symbol[i], (int)entry);
    for (size_t i = 0; i < m->fixups; i++)
        if (is_called[m->fixup[i].function] && is_static(&m->symbol[m->fixup[i].symbol], EVERY_ENTRY))
            has[m->fixup[i].symbol] = true;
    for (size_t i = 0; i < m->symbols; i++)
        if (has[i]) {
            const emu_symbol *s = &m->symbol[i];
            f->shared[f->shared_arrays++] = (uint32_t)i;
            f->static_shared = (uint32_t)((f->static_shared + s->align - 1) / s->align * s->align + s->bytes);
        }
    f->static_shared = (f->static_shared + 15) / 16 * 16;
}

static uint32_t find_most_asked(const emu_module *m, const bool *is_called)
{
    uint32_t most = 0, asked;

    for (size_t f = 0; f < m->functions; f++)
        for (uint32_t i = 0; is_called[f] && i < m->function[f].insts; i++) {
            const emu_inst *inst = &m->inst[m->function[f].first_inst + i];
            if (inst->flow != F_WARPGROUP || inst->outputs)
                continue;
            memcpy(&asked, m->constants + inst->operand[0].offset, sizeof asked);
            most = asked > most ? asked : most;
        }
    return most;
}

/* Settle the shared memory of an entry; refuse the entry if it exceeds the limit. */
static void settle_entry(emu_parser *p, uint32_t entry, bool *is_called, uint32_t *called, bool *has)
{
    emu_module *m = p->module;
    emu_function *f = &m->function[entry];
    uint64_t bytes = 0;

    find_called(m, entry, is_called, called);
    f->most_asked = find_most_asked(m, is_called);
    f->shared = emu_take(p, m->symbols * sizeof *f->shared);
    if (!f->shared)
        return;
    find_arrays(m, entry, is_called, has);
    for (uint32_t i = 0; i < f->shared_arrays; i++)
        bytes += m->symbol[f->shared[i]].bytes;
    if (bytes > EMU_SHARED_DEFAULT || f->static_shared > EMU_SHARED_DEFAULT) {
        snprintf(p->message, p->message_bytes, "its shared arrays have %llu bytes, and there are %d: larger ones are dynamic",
                 (unsigned long long)(bytes > f->static_shared ? bytes : f->static_shared), EMU_SHARED_DEFAULT);
        emu_refuse(p, f);
        return;
    }
    for (uint32_t i = 0; i < f->shared_arrays; i++)
        m->symbol[f->shared[i]].is_used = true;
}

/* Place the shared arrays of an entry, each after a red zone that preserves its banks. */
static shared_room place_behind(emu_module *m, int entry, shared_room room)
{
    for (size_t i = 0; i < m->symbols; i++) {
        emu_symbol *s = &m->symbol[i];

        if (!is_static(s, entry) || !s->is_used)
            continue;
        room.tight = (room.tight + s->align - 1) / s->align * s->align;
        room.zones += EMU_RED_ZONE;
        s->address = room.tight + room.zones;
        room.tight += s->bytes;
    }
    return room;
}

/*
 * A block has the arrays of its own kernel. Arrays of the module have one address in all kernels; after them come each kernel's
 * own. The dynamic part has one address, after the largest of these, aligned as declared.
 */
void emu_place_shared(emu_parser *p)
{
    emu_module *m = p->module;
    bool *is_called = emu_take(p, m->functions * sizeof *is_called), *has = emu_take(p, m->symbols * sizeof *has);
    uint32_t *called = emu_take(p, m->functions * sizeof *called), align = 1;
    shared_room common;

    for (uint32_t i = 0; i < m->functions && !p->has_failed; i++)
        if (m->function[i].is_entry && m->function[i].body && !m->function[i].refusal)
            settle_entry(p, i, is_called, called, has);
    if (p->has_failed)
        return;
    common = place_behind(m, EVERY_ENTRY, (shared_room){0, 0});
    m->shared_bytes = EMU_RED_ZONE;
    for (size_t i = 0; i < m->functions; i++) {
        const bool is_run = m->function[i].is_entry && !m->function[i].refusal;
        const shared_room room = is_run ? place_behind(m, (int)i, common) : common;
        const uint64_t tight = (room.tight + 15) / 16 * 16, end = tight + room.zones + EMU_RED_ZONE;

        if (end > MOST_SHARED) {
            emu_unknown(p, NULL, "%llu bytes of shared arrays in one module", (unsigned long long)tight);
            return;
        }
        if (end > m->shared_bytes)
            m->shared_bytes = (uint32_t)end;
    }
    for (size_t i = 0; i < m->symbols; i++)
        if (m->symbol[i].space == S_SHARED && m->symbol[i].is_extern && m->symbol[i].align > align)
            align = m->symbol[i].align;
    m->shared_bytes = (m->shared_bytes + align - 1) / align * align;
    for (size_t i = 0; i < m->symbols; i++)
        if (m->symbol[i].space == S_SHARED && m->symbol[i].is_extern)
            m->symbol[i].address = m->shared_bytes;
}

void emu_apply_fixups(emu_module *module)
{
    for (size_t i = 0; i < module->fixups; i++) {
        const emu_fixup *f = &module->fixup[i];
        const emu_symbol *s = &module->symbol[f->symbol];
        const uint64_t address = s->address + (uint64_t)f->displacement;
        for (size_t lane = 0; lane < 32; lane++)
            memcpy(module->constants + f->offset + lane * f->bytes, &address, f->bytes);
    }
}
