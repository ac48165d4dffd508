/* SPDX-License-Identifier: Apache-2.0 */
/* parse: modules, functions and their statements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "declare.h"
#include "decode.h"
#include "flow.h"
#include "halves.h"
#include "link.h"
#include "meet.h"

/* ---- functions ------------------------------------------------------------------------------------------------------- */

static void parse_params(emu_parser *p, emu_param **params, size_t *count, uint32_t *bytes)
{
    size_t capacity = 0;

    *params = NULL;
    *count = 0;
    *bytes = 0;
    if (!emu_accept(p, "("))
        return;
    while (!p->has_failed && !emu_is(p, ")")) {
        emu_variable v;
        if (emu_accept(p, ".reg"))
            emu_unknown(p, NULL, "parameters in registers");
        emu_expect(p, ".param");
        v = emu_parse_variable(p);
        *params = emu_grow(p, *params, *count, &capacity, sizeof **params);
        if (p->has_failed)
            return;
        *bytes = (*bytes + v.align - 1) / v.align * v.align;
        (*params)[*count] = (emu_param){v.name.text, v.name.length, (uint32_t)v.bytes, v.align, *bytes};
        (*count)++;
        if (v.bytes > 32764 || *bytes + v.bytes > 32764)
            emu_unknown(p, &v.name, "more than 32764 bytes of parameters");
        *bytes += (uint32_t)v.bytes;
        if (!emu_is(p, ")"))
            emu_expect(p, ",");
    }
    emu_expect(p, ")");
}

static void parse_three(emu_parser *p, uint32_t *three)
{
    for (int i = 0; i < 3; i++)
        three[i] = 1;
    for (int i = 0; i < 3 && !p->has_failed; i++) {
        three[i] = (uint32_t)emu_expect_integer(p);
        if (!emu_accept(p, ","))
            break;
    }
}

/* Accept a directive that both a module and a body may contain. */
static bool accept_common(emu_parser *p, bool is_extern)
{
    if (emu_accept(p, ".global")) {
        emu_declare_symbol(p, S_GLOBAL, is_extern);
    } else if (emu_accept(p, ".const")) {
        emu_declare_symbol(p, S_CONST, is_extern);
    } else if (emu_accept(p, ".shared")) {
        emu_declare_symbol(p, S_SHARED, is_extern);
    } else if (emu_accept(p, ".pragma")) {
        emu_next(p);
        emu_expect(p, ";");
    } else {
        return emu_accept(p, ";");
    }
    return true;
}

static void parse_attributes(emu_parser *p, emu_function *f)
{
    while (p->token.kind == W_DIRECTIVE) {
        if (emu_accept(p, ".maxntid"))
            parse_three(p, f->maxntid);
        else if (emu_accept(p, ".reqntid"))
            parse_three(p, f->reqntid);
        else if (emu_accept(p, ".reqnctapercluster"))
            parse_three(p, f->cluster);
        else if (emu_accept(p, ".explicitcluster"))
            f->has_clusters = true;
        else if (emu_accept(p, ".blocksareclusters"))
            f->counts_clusters = true;
        else if (emu_accept(p, ".maxclusterrank"))
            f->max_cluster = (uint32_t)emu_expect_integer(p);
        else if (emu_accept(p, ".maxnreg"))
            f->maxnreg = (uint32_t)emu_expect_integer(p);
        else if (emu_accept(p, ".minnctapersm"))
            f->minnctapersm = (uint32_t)emu_expect_integer(p);
        else if (emu_accept(p, ".maxnctapersm"))
            emu_expect_integer(p);
        else if (emu_accept(p, ".pragma")) {
            emu_next(p);
            emu_expect(p, ";");
        } else if (!emu_accept(p, ".noreturn"))
            emu_unknown(p, NULL, "an attribute of a function");
    }
}

/* (result) name (parameters) attributes; if the emulator does not support the rest, read only the name again. */
static emu_function parse_head(emu_parser *p, bool is_entry)
{
    const emu_lexer before = p->lexer;
    const emu_token first = p->token;
    emu_function f = {.is_entry = is_entry};
    emu_token name;
    uint32_t bytes;

    if (!is_entry && emu_is(p, "("))
        parse_params(p, &f.result, &f.results, &bytes);
    name = emu_expect_name(p);
    f.name = name.text;
    f.name_length = name.length;
    p->function = &f;
    parse_params(p, &f.param, &f.params, &f.param_bytes);
    parse_attributes(p, &f);
    p->function = NULL;
    if (!p->has_failed || !p->is_unknown)
        return f;
    emu_refuse(p, &f);
    p->lexer = before;
    p->token = first;
    if (emu_is(p, "("))
        emu_skip_brackets(p, "(", ")");
    name = emu_expect_name(p);
    f.name = name.text;
    f.name_length = name.length;
    while (!emu_is(p, "{") && !emu_is(p, ";") && p->token.kind != W_END)
        emu_next(p);
    return f;
}

/* Bodies are read later, once all names are known. */
static void parse_function(emu_parser *p, bool is_entry)
{
    emu_module *m = p->module;
    const emu_token start = p->token;
    emu_function f = parse_head(p, is_entry), *known;
    const bool has_body = emu_is(p, "{");

    if (p->has_failed)
        return;
    if (has_body) {
        f.body = p->token.text;
        f.first_inst = p->token.line; /* until it is decoded */
        emu_skip_brackets(p, "{", "}");
    } else {
        emu_expect(p, ";");
    }
    /* A definition completes a declaration. */
    known = emu_find_function(p, f.name, f.name_length);
    if (known && has_body && known->body)
        emu_fault(p, &start, "a second function of this name");
    if (known && has_body)
        *known = f;
    if (known || p->has_failed)
        return;
    m->function = emu_grow(p, m->function, m->functions, &p->function_capacity, sizeof *m->function);
    if (!m->function)
        return;
    m->function[m->functions++] = f;
    emu_add_name(p, N_FUNCTION, f.name, f.name_length, (void *)(uintptr_t)m->functions);
}

/* ---- statements ------------------------------------------------------------------------------------------------------ */

static void resolve_use(emu_parser *p, const label_use *use, const label *found)
{
    const emu_token at = {.text = use->name, .line = use->line};

    if (found->is_table != use->wants_table) {
        emu_fault(p, &at, "label %.*s is of another kind", (int)use->name_length, use->name);
    } else if (use->wants_table) {
        p->branch_targets += found->table_length;
        if (p->branch_targets > EMU_MAX_TARGETS)
            emu_unknown(p, &at, "more than %d targets of branches through tables", EMU_MAX_TARGETS);
        p->module->inst[use->inst].table = found->table;
        p->module->inst[use->inst].table_length = found->table_length;
    } else if (use->place) {
        *use->place = found->inst;
    } else {
        p->module->inst[use->inst].target = found->inst;
    }
}

/* Labels are visible in their scope and inner scopes; a use may refer to a label of an outer scope. */
static void resolve_labels(emu_parser *p)
{
    size_t left = p->begin[p->scope].uses;

    for (size_t i = left; i < p->uses && !p->has_failed; i++) {
        const label *found = emu_names_find(p->own_names, N_LABEL, p->use[i].name, p->use[i].name_length);
        if (found && found->scope == p->scope)
            resolve_use(p, &p->use[i], found);
        else
            p->use[left++] = p->use[i];
    }
    p->uses = left;
}

static void open_scope(emu_parser *p)
{
    if (p->scope == EMU_MAX_SCOPES) {
        emu_unknown(p, NULL, "more than %d scopes inside each other", EMU_MAX_SCOPES);
        return;
    }
    p->begin[++p->scope].uses = p->uses;
    p->begin[p->scope].names = emu_names_latest(p->own_names);
}

static void close_scope(emu_parser *p)
{
    resolve_labels(p);
    emu_names_forget(p->own_names, p->begin[p->scope--].names);
}

/* .loc 1 20 5, function_name $L__info_string0, inlined_at 1 33 7 */
static void parse_location(emu_parser *p)
{
    p->file = emu_expect_integer(p);
    p->cuda_line = (uint32_t)emu_expect_integer(p);
    emu_expect_integer(p);
    while (emu_accept(p, ",")) {
        if (emu_accept(p, "function_name")) {
            emu_expect_name(p);
            if (emu_accept(p, "+"))
                emu_expect_integer(p);
        } else {
            emu_expect(p, "inlined_at");
            for (int i = 0; i < 3; i++)
                emu_expect_integer(p);
        }
    }
}

static void parse_label(emu_parser *p, const emu_token *name)
{
    const label *known = emu_names_find(p->own_names, N_LABEL, name->text, name->length);
    label *made = emu_take(p, sizeof *made);

    if (known && known->scope == p->scope)
        emu_fault(p, name, "a second label of this name");
    if (!made)
        return;
    *made = (label){.inst = p->module->insts, .scope = p->scope};
    emu_add_name(p, N_LABEL, name->text, name->length, made);
    if (emu_accept(p, ".branchtargets")) {
        const size_t first = p->uses;
        made->is_table = true;
        do {
            const emu_token target = emu_expect_name(p);
            if (p->has_failed || !emu_use_label(p, target.text, target.length, name->line))
                return;
            made->table_length++;
        } while (emu_accept(p, ","));
        emu_expect(p, ";");
        made->table = emu_take(p, made->table_length * sizeof(uint32_t));
        for (uint32_t i = 0; made->table && i < made->table_length; i++)
            p->use[first + i].place = &made->table[i];
    } else if (emu_accept(p, ".callprototype")) {
        emu_unknown(p, name, "a call through a pointer");
    }
}

static void parse_instruction(emu_parser *p)
{
    emu_operand guard = {0};
    emu_type type = T_NONE;
    bool is_guarded = false, is_negated = false;

    if (emu_accept(p, "@")) {
        emu_token name;
        is_guarded = true;
        is_negated = emu_accept(p, "!");
        name = emu_expect_name(p);
        if (!p->has_failed && (!emu_find_register(p, &name, &guard, &type) || type != T_PRED))
            emu_fault(p, &name, "a guard must be a predicate register");
    }
    if (p->token.kind != W_NAME)
        emu_fault(p, NULL, "expected an instruction");
    else
        emu_decode(p, is_guarded, is_negated, &guard);
}

/* End a body at its }. Every function ends, even if its text does not. */
static void end_function(emu_parser *p)
{
    const bool is_entry = p->function->is_entry;
    const emu_token close = p->token,
                    end = {
                        .kind = W_NAME, .text = is_entry ? "exit" : "ret", .length = is_entry ? 4 : 3, .line = p->token.line};

    p->token = end;
    p->lexer = (emu_lexer){";", NULL, end.line};
    p->lexer.end = p->lexer.at + 1;
    emu_decode(p, false, false, &(emu_operand){0});
    if (!p->has_failed)
        p->token = close;
    close_scope(p);
    if (p->uses > 0) {
        const emu_token at = {.text = p->use[0].name, .line = p->use[0].line};
        emu_fault(p, &at, "no label %.*s", (int)p->use[0].name_length, p->use[0].name);
    }
}

static void parse_statement(emu_parser *p)
{
    if (emu_accept(p, "{")) {
        open_scope(p);
    } else if (emu_is(p, "}")) {
        if (p->scope > 1) {
            close_scope(p);
            emu_next(p);
        } else {
            end_function(p);
        }
    } else if (accept_common(p, false)) {
        return;
    } else if (emu_accept(p, ".reg")) {
        emu_declare_registers(p);
    } else if (emu_accept(p, ".local")) {
        emu_declare_place(p, S_LOCAL);
    } else if (emu_accept(p, ".param")) {
        emu_declare_place(p, S_FRAME);
    } else if (emu_accept(p, ".loc")) {
        parse_location(p);
    } else if (p->token.kind == W_DIRECTIVE) {
        emu_unknown(p, NULL, "a directive");
    } else {
        /* A label is a name followed by a colon. */
        const emu_lexer before = p->lexer;
        const emu_token name = p->token;
        if (name.kind == W_NAME) {
            emu_next(p);
            if (emu_is(p, ":")) {
                emu_next(p);
                parse_label(p, &name);
                return;
            }
            if (p->has_failed)
                return;
            p->lexer = before;
            p->token = name;
        }
        parse_instruction(p);
    }
}

/* Add a function's parameters as names; of two equal names the first counts. */
static void name_params(emu_parser *p, const emu_function *f)
{
    for (int k = 0; k < 2; k++) {
        emu_param *list = k ? f->param : f->result;
        for (size_t i = k ? f->params : f->results; i-- > 0;)
            emu_add_name(p, N_PARAM, list[i].name, list[i].name_length, &list[i]);
    }
}

/* Formal parameters lie in the lanes' frames; all callers need to know their places. */
static void place_params(emu_parser *p, emu_function *f)
{
    for (int k = 0; k < 2; k++) {
        emu_param *list = k ? f->result : f->param;
        for (size_t i = 0; i < (k ? f->results : f->params); i++) {
            p->frame_base = (p->frame_base + list[i].align - 1) / list[i].align * list[i].align;
            list[i].offset = p->frame_base;
            p->frame_base += list[i].bytes;
            if (p->frame_base > EMU_MAX_FRAME) {
                emu_unknown(p, NULL, "more than %d KiB of parameters between functions", EMU_MAX_FRAME >> 10);
                return;
            }
        }
    }
}

static void parse_body(emu_parser *p, emu_function *f)
{
    emu_module *m = p->module;
    const size_t fixups = m->fixups, symbols = m->symbols;
    const void *const names = emu_names_latest(p->names), *const own_names = emu_names_latest(p->own_names);

    p->function = f;
    p->cuda_line = 0;
    p->lexer = (emu_lexer){f->body, m->text + m->text_bytes, f->first_inst};
    f->first_inst = m->insts;
    f->register_bytes = p->register_base;
    f->registers = p->register_first;
    f->local_bytes = p->local_base;
    f->frame_bytes = p->frame_base;
    name_params(p, f);
    emu_next(p);
    emu_expect(p, "{");
    open_scope(p);
    while (!p->has_failed && p->scope > 0) {
        if (p->token.kind == W_END)
            emu_fault(p, NULL, "a { is never closed");
        else
            parse_statement(p);
    }
    f->insts = m->insts - f->first_inst;
    if (!p->has_failed && (!emu_order_blocks(m, f, p->arena) || !emu_mark_meetings(m, f)))
        emu_no_memory(p);
    if (!p->has_failed)
        emu_mark_dropped_halves(m, f);
    for (uint32_t i = 0; i < f->insts && !p->has_failed; i++)
        f->orders_floats |= m->inst[f->first_inst + i].orders_floats;
    if (p->has_failed && p->is_unknown) {
        emu_refuse(p, f);
        emu_names_forget(p->names, names);
        p->scope = 0;
        m->symbols = symbols;
        m->fixups = fixups;
        m->insts = f->first_inst;
        f->insts = 0;
    }
    p->uses = 0;
    emu_names_forget(p->own_names, own_names);
    p->function = NULL;
}

/* ---- modules --------------------------------------------------------------------------------------------------------- */

static void parse_target(emu_parser *p)
{
    do {
        const emu_token name = emu_expect_name(p);
        if (name.length > 3 && memcmp(name.text, "sm_", 3) == 0) {
            p->module->target = (int)strtol(name.text + 3, NULL, 10);
            p->module->is_own = name.text[name.length - 1] == 'a';
            p->module->is_specific = p->module->is_own || name.text[name.length - 1] == 'f';
        } else if (!emu_token_is(&name, "debug") && !emu_token_is(&name, "texmode_independent") &&
                   !emu_token_is(&name, "texmode_unified"))
            emu_fault(p, &name, "unknown target");
    } while (emu_accept(p, ","));
}

/* .file 1 "/home/me/gemm.cu", 1700000000, 5120 */
static void parse_file(emu_parser *p)
{
    source_file *file;

    p->source = emu_grow(p, p->source, p->sources, &p->source_capacity, sizeof *p->source);
    if (!p->source)
        return;
    file = &p->source[p->sources];
    *file = (source_file){.number = emu_expect_integer(p), .name = p->token.text};
    if (p->token.kind == W_STRING) {
        for (const char *c = p->token.text; c < p->token.text + p->token.length; c++)
            file->name = *c == '/' ? c + 1 : file->name;
        file->name_length = p->token.length - (size_t)(file->name - p->token.text);
        p->sources++;
    }
    emu_next(p);
    while (emu_accept(p, ","))
        emu_expect_integer(p);
}

static void parse_top(emu_parser *p)
{
    bool is_extern = false;

    while (emu_is(p, ".visible") || emu_is(p, ".extern") || emu_is(p, ".weak") || emu_is(p, ".common")) {
        is_extern |= emu_is(p, ".extern");
        emu_next(p);
    }
    if (emu_accept(p, ".entry"))
        parse_function(p, true);
    else if (emu_accept(p, ".func"))
        parse_function(p, false);
    else if (emu_accept(p, ".version")) {
        double version = 0;
        if (p->token.kind != W_FLOAT || p->token.is_bits)
            emu_fault(p, NULL, "expected a version such as 8.0");
        memcpy(&version, &p->token.value, sizeof version);
        p->module->ptx_version = version > 0 && version < 1000 ? (int)(version * 10 + 0.5) : 0;
        emu_next(p);
    } else if (emu_accept(p, ".target"))
        parse_target(p);
    else if (emu_accept(p, ".address_size")) {
        if (emu_expect_integer(p) != 64)
            emu_unknown(p, NULL, "addresses of other than 64 bits");
    } else if (emu_accept(p, ".file")) {
        parse_file(p);
    } else if (emu_accept(p, ".alias")) { /* the alias remains a function without a body */
        while (!emu_accept(p, ";") && p->token.kind != W_END)
            emu_next(p);
    } else if (emu_accept(p, ".section")) {
        emu_next(p);
        emu_skip_brackets(p, "{", "}");
    } else if (!accept_common(p, is_extern))
        emu_unknown(p, NULL, "a directive");
}

static void parse_module(emu_parser *p)
{
    emu_module *m = p->module;

    emu_next(p);
    if (!emu_is(p, ".version"))
        emu_fault(p, NULL, "it does not begin with .version");
    while (!p->has_failed && p->token.kind != W_END)
        parse_top(p);
    if (!p->has_failed && (!m->ptx_version || !m->target))
        emu_fault(p, NULL, "no .version or no .target");
    p->register_base = 32 * 16; /* room for discarded results */
    p->register_first = 1;
    for (size_t i = 0; i < m->functions && !p->has_failed; i++)
        if (!m->function[i].is_entry && !m->function[i].refusal)
            place_params(p, &m->function[i]);
    /* Functions first, so that an entry's register file can include theirs: each has its own places. */
    for (int entries = 0; entries < 2; entries++)
        for (size_t i = 0; i < m->functions && !p->has_failed; i++) {
            emu_function *f = &m->function[i];
            if (!f->body || f->refusal || f->is_entry != (entries == 1))
                continue;
            parse_body(p, f);
            if (!f->is_entry && !f->refusal) {
                p->register_base = f->register_bytes;
                p->register_first = f->registers;
                p->local_base = (f->local_bytes + 15) / 16 * 16;
                p->frame_base = (f->frame_bytes + 15) / 16 * 16;
            }
        }
    if (!p->has_failed)
        emu_follow_calls(p);
    if (!p->has_failed)
        emu_place_shared(p);
}

emu_module *emu_ptx_load(const char *text, size_t bytes, const emu_operations *operations, char *message, size_t message_bytes)
{
    emu_arena *arena = emu_arena_new();
    emu_module *module = arena ? emu_arena_get(arena, sizeof *module) : NULL;
    emu_parser p = {
        .operations = operations, .module = module, .arena = arena, .message = message, .message_bytes = message_bytes};

    if (module)
        module->text = bytes < SIZE_MAX / 4 ? emu_arena_get(arena, bytes + 1) : NULL;
    p.names = arena ? emu_names_new(arena) : NULL;
    p.own_names = arena ? emu_names_new(arena) : NULL;
    if (!module || !module->text || !p.names || !p.own_names) {
        snprintf(message, message_bytes, "out of memory");
        emu_arena_free(arena);
        return NULL;
    }
    memcpy(module->text, text, bytes);
    module->text_bytes = bytes;
    module->arena = arena;
    p.lexer = (emu_lexer){module->text, module->text + bytes, 1};
    parse_module(&p);
    if (p.has_failed) {
        emu_arena_free(arena);
        return NULL;
    }
    return module;
}

void emu_ptx_free(emu_module *module)
{
    if (module)
        emu_arena_free(module->arena);
}

const emu_function *emu_ptx_function(const emu_module *module, const char *name)
{
    for (size_t i = 0; i < module->functions; i++)
        if (module->function[i].is_entry && module->function[i].body && module->function[i].name_length == strlen(name) &&
            memcmp(module->function[i].name, name, strlen(name)) == 0)
            return &module->function[i];
    return NULL;
}
