/* SPDX-License-Identifier: Apache-2.0 */
#include "declare.h"

#include <string.h>

static emu_type type_of_token(const emu_token *token)
{
    return token->kind == W_DIRECTIVE ? emu_type_of(token->text + 1, token->length - 1) : T_NONE;
}

/* Return the elements of [..][..], at least 1; *row: of all dimensions but the first; *is_open: the first is empty. */
static uint64_t parse_dimensions(emu_parser *p, uint64_t *row, bool *is_open)
{
    uint64_t elements = 1;
    bool is_first = true;

    *is_open = false;
    *row = 1;
    while (emu_accept(p, "[")) {
        if (emu_is(p, "]")) {
            *is_open = true;
        } else {
            const uint64_t n = emu_expect_integer(p);
            if (n > UINT32_MAX || elements * n > UINT32_MAX)
                emu_unknown(p, NULL, "an array of more than 4 GiB elements");
            elements *= n;
            if (!is_first)
                *row *= n;
        }
        emu_expect(p, "]");
        is_first = false;
    }
    return elements;
}

emu_variable emu_parse_variable(emu_parser *p)
{
    emu_variable v = {0};
    uint64_t vector = 1;

    while (p->token.kind == W_DIRECTIVE) {
        if (emu_accept(p, ".align")) {
            const uint64_t align = emu_expect_integer(p);
            if (align == 0 || align > 4096 || (align & (align - 1)))
                emu_fault(p, NULL, "alignment %llu is not a power of two up to 4096", (unsigned long long)align);
            v.align = (uint32_t)align;
        } else if (emu_accept(p, ".ptr")) { /* .ptr .global .align 1: a promise about the target of the parameter */
            while (emu_is(p, ".global") || emu_is(p, ".shared") || emu_is(p, ".const") || emu_is(p, ".local"))
                emu_next(p);
            if (emu_accept(p, ".align"))
                emu_expect_integer(p);
        } else if (emu_is(p, ".v2") || emu_is(p, ".v4")) {
            vector = emu_is(p, ".v2") ? 2 : 4;
            emu_next(p);
        } else if (type_of_token(&p->token) != T_NONE) {
            v.type = type_of_token(&p->token);
            emu_next(p);
        } else if (emu_accept(p, ".attribute")) {
            v.unknown = "in managed memory";
            if (emu_is(p, "("))
                emu_skip_brackets(p, "(", ")");
        } else if (emu_is(p, ".texref") || emu_is(p, ".samplerref") || emu_is(p, ".surfref")) {
            v.unknown = "that is a texture, a sampler or a surface";
            v.type = T_B64;
            emu_next(p);
        } else {
            emu_fault(p, NULL, "no attribute of a variable");
        }
    }
    v.name = emu_expect_name(p);
    v.element_bytes = emu_type_bytes(v.type);
    if (!p->has_failed && (v.type == T_NONE || v.element_bytes == 0))
        emu_fault(p, &v.name, "a variable needs a type");
    v.bytes = v.element_bytes * vector * parse_dimensions(p, &v.row_bytes, &v.is_open);
    v.row_bytes *= v.element_bytes * vector;
    if (v.is_open)
        v.bytes = 0;
    if (v.align == 0)
        v.align = (uint32_t)(v.element_bytes * vector);
    return v;
}

/* Skip to the comma, brace or semicolon after an expression. */
static void skip_expression(emu_parser *p)
{
    while (!p->has_failed && p->token.kind != W_END && !emu_is_mark(&p->token, ",};"))
        emu_next(p);
}

static void put_element(emu_parser *p, emu_symbol *s, const emu_variable *v, uint64_t *at, size_t *capacity)
{
    const bool is_generic = emu_accept(p, "generic");
    uint64_t bits;

    if (*at + v->element_bytes > s->bytes) {
        emu_fault(p, NULL, "more values than the array has elements");
        return;
    }
    if (is_generic)
        emu_expect(p, "(");
    if (is_generic || p->token.kind == W_NAME) {
        const emu_token name = emu_expect_name(p);
        const int symbol = emu_find_symbol(p, name.text, name.length);
        int64_t displacement = 0;
        if (is_generic)
            emu_expect(p, ")");
        if (symbol < 0 && emu_find_function(p, name.text, name.length)) {
            s->unknown = "with the address of a function";
            *at += v->element_bytes;
            return;
        }
        if (symbol < 0 || v->element_bytes != 8) {
            emu_fault(p, &name, "no variable of this name to take the address of");
            return;
        }
        if (emu_accept(p, "+"))
            displacement = (int64_t)emu_expect_integer(p);
        s->address_in = emu_grow(p, s->address_in, s->address_count, capacity, sizeof *s->address_in);
        if (!s->address_in)
            return;
        s->address_in[s->address_count++] = (struct emu_initial_address){*at, symbol, displacement};
    } else if (p->token.kind == W_FLOAT) {
        bits = p->token.value;
        if (v->element_bytes == 4 && !p->token.is_single) {
            double wide;
            float narrow;
            uint32_t half;
            memcpy(&wide, &bits, 8);
            narrow = (float)wide;
            memcpy(&half, &narrow, 4);
            bits = half;
        }
        memcpy(s->initial + *at, &bits, v->element_bytes);
        emu_next(p);
    } else if (!emu_starts_expression(&p->token)) {
        bits = emu_expect_integer(p);
        memcpy(s->initial + *at, &bits, v->element_bytes < 8 ? v->element_bytes : 8);
    }
    if (emu_starts_expression(&p->token) || emu_continues_expression(&p->token)) {
        s->unknown = "with an expression as its value";
        skip_expression(p);
    }
    *at += v->element_bytes;
}

/* Count the values of an array with an open first dimension: the rows are the values, or braces, in the outer braces. */
static uint64_t count_rows(emu_parser *p)
{
    const emu_lexer before = p->lexer;
    const emu_token token = p->token;
    uint64_t rows = 0;
    int depth = 0;

    do {
        if (emu_is(p, "{"))
            depth++;
        else if (emu_is(p, "}"))
            depth--;
        if (depth == 1 && (emu_is(p, "{") || emu_is(p, ",")))
            rows++;
        emu_next(p);
    } while (depth > 0 && !p->has_failed && p->token.kind != W_END);
    if (!p->has_failed) {
        p->lexer = before;
        p->token = token;
    }
    return rows;
}

static void parse_initial(emu_parser *p, emu_symbol *s, const emu_variable *v)
{
    uint64_t at = 0;
    size_t capacity = 0;
    int depth = 0;

    if (v->is_open)
        s->bytes = count_rows(p) * v->row_bytes;
    if (s->bytes > EMU_MAX_INITIAL - p->initial_bytes) {
        emu_unknown(p, NULL, "more than %d MiB of variables with values", EMU_MAX_INITIAL >> 20);
        return;
    }
    p->initial_bytes += s->bytes;
    s->initial = emu_take(p, s->bytes);
    do {
        if (emu_accept(p, "{")) {
            if (++depth > 2)
                emu_unknown(p, NULL, "values in more than two braces inside each other");
        } else if (emu_accept(p, "}")) {
            if (--depth == 1 && at % v->row_bytes) /* the rest of a row is zero */
                at += v->row_bytes - at % v->row_bytes;
        } else if (!emu_accept(p, ",") && s->initial) {
            put_element(p, s, v, &at, &capacity);
        }
    } while (depth > 0 && !p->has_failed && p->token.kind != W_END);
}

void emu_declare_symbol(emu_parser *p, emu_space space, bool is_extern)
{
    emu_module *m = p->module;

    do {
        const emu_variable v = emu_parse_variable(p);
        emu_symbol *s;
        m->symbol = emu_grow(p, m->symbol, m->symbols, &p->symbol_capacity, sizeof *m->symbol);
        if (p->has_failed)
            return;
        s = &m->symbol[m->symbols++];
        emu_add_name(p, N_SYMBOL, v.name.text, v.name.length, (void *)(uintptr_t)m->symbols);
        *s = (emu_symbol){.name = v.name.text,
                          .name_length = v.name.length,
                          .space = space,
                          .bytes = v.bytes,
                          .align = v.align,
                          .unknown = v.unknown,
                          .is_extern = is_extern && space == S_SHARED,
                          .entry = p->function && p->function->is_entry ? (int)(p->function - m->function) : EVERY_ENTRY};
        if (is_extern && space != S_SHARED)
            emu_unknown(p, &v.name, "a variable defined in another module: the emulator loads one module at a time");
        else if (v.is_open && !is_extern && !emu_is(p, "="))
            emu_fault(p, &v.name, "an array without a length");
        if (emu_accept(p, "=")) {
            if (v.unknown && emu_is(p, "{"))
                emu_skip_brackets(p, "{", "}");
            else
                parse_initial(p, s, &v);
        }
        if (s->space == S_SHARED && !s->is_extern && s->bytes > EMU_RED_ZONE * 4096u)
            emu_unknown(p, &v.name, "a shared array of %llu bytes", (unsigned long long)s->bytes);
    } while (emu_accept(p, ","));
    emu_expect(p, ";");
}

void emu_declare_registers(emu_parser *p)
{
    emu_type type;
    uint32_t vector = 1;

    if (emu_accept(p, ".v2"))
        vector = 2;
    type = type_of_token(&p->token);
    if (vector > 1 || type == T_NONE || (emu_type_bytes(type) == 0 && type != T_PRED)) {
        emu_fault(p, NULL, "expected the type of a register");
        return;
    }
    emu_next(p);
    do {
        const emu_token name = emu_expect_name(p);
        reg_decl *d = emu_take(p, sizeof *d);
        uint64_t count = 0;
        if (emu_accept(p, "<")) {
            count = emu_expect_integer(p);
            emu_expect(p, ">");
            if (count == 0 || count > EMU_MAX_REGISTERS)
                emu_unknown(p, &name, "%llu registers of one name", (unsigned long long)count);
        }
        if (!d || p->has_failed)
            return;
        *d = (reg_decl){.count = (uint32_t)count, .type = (uint8_t)type, .scope = p->scope};
        d->first = emu_new_register(p, type, count ? (uint32_t)count : 1, &d->offset);
        emu_add_name(p, d->count ? N_REGISTERS : N_REGISTER, name.text, name.length, d);
    } while (emu_accept(p, ","));
    emu_expect(p, ";");
}

void emu_declare_place(emu_parser *p, emu_space space)
{
    uint32_t *used = space == S_LOCAL ? &p->function->local_bytes : &p->function->frame_bytes;

    do {
        const emu_variable v = emu_parse_variable(p);
        place_decl *d = emu_take(p, sizeof *d);
        if (!d || p->has_failed)
            return;
        *used = (*used + v.align - 1) / v.align * v.align;
        *d = (place_decl){.space = space, .offset = *used, .bytes = (uint32_t)v.bytes};
        if (v.bytes > EMU_MAX_FRAME || *used + v.bytes > EMU_MAX_FRAME) {
            emu_unknown(p, &v.name, "more than %d KiB of local memory for each thread", EMU_MAX_FRAME >> 10);
            return;
        }
        *used += (uint32_t)v.bytes;
        emu_add_name(p, N_PLACE, v.name.text, v.name.length, d);
    } while (emu_accept(p, ","));
    emu_expect(p, ";");
}
