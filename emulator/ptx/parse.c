/* SPDX-License-Identifier: Apache-2.0 */
/* parse: modules, declarations and the statements of a function. */
#include "parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 4, 0))) static void report(emu_parser *p, const emu_token *at, const char *kind,
                                                         const char *format, va_list arguments)
{
    const char *start, *stop, *end = p->module->text + p->module->text_bytes;
    char *to = p->message;
    size_t left = p->message_bytes;

#define PUT(call)                                                           \
    do {                                                                    \
        const int n = (call);                                               \
        const size_t put = n < 0 ? 0 : (size_t)n < left ? (size_t)n : left; \
        to += put;                                                          \
        left -= put;                                                        \
    } while (0)
    at = at ? at : &p->token;
    PUT(snprintf(to, left, "line %u", at->line));
    if (p->function) {
        const source_file *source = NULL;
        PUT(snprintf(to, left, " (%s %.*s", p->function->is_entry ? "kernel" : "function",
                     p->function->name_length < 200 ? (int)p->function->name_length : 200, p->function->name));
        for (size_t i = 0; i < p->sources && !source; i++)
            source = p->source[i].number == p->file ? &p->source[i] : NULL;
        if (p->cuda_line && source)
            PUT(snprintf(to, left, ", %.*s:%u", source->name_length < 100 ? (int)source->name_length : 100, source->name,
                         p->cuda_line));
        else if (p->cuda_line)
            PUT(snprintf(to, left, ", CUDA line %u", p->cuda_line));
        PUT(snprintf(to, left, ")"));
    }
    PUT(snprintf(to, left, ": %s: ", kind));
    PUT(vsnprintf(to, left, format, arguments));
    if (at->text >= p->module->text && at->text <= end) { /* else a word that we added */
        for (start = at->text; start > p->module->text && start[-1] != '\n' && start[-1] != ';'; start--)
            ;
        for (; start < at->text && (*start == ' ' || *start == '\t'); start++)
            ;
        for (stop = start; stop < end && *stop != '\n' && stop - start < 160 && (stop <= at->text || stop[-1] != ';'); stop++)
            ;
        PUT(snprintf(to, left, ": \"%.*s\"", (int)(stop - start), start));
    }
#undef PUT
    p->has_failed = true;
    p->token.kind = W_END;
    p->token.length = 0;
}

void emu_fault(emu_parser *p, const emu_token *at, const char *format, ...)
{
    va_list arguments;

    if (p->has_failed)
        return;
    va_start(arguments, format);
    report(p, at, "the PTX is wrong", format, arguments);
    va_end(arguments);
}

void emu_unknown(emu_parser *p, const emu_token *at, const char *format, ...)
{
    va_list arguments;

    if (p->has_failed)
        return;
    p->is_unknown = true;
    va_start(arguments, format);
    report(p, at, "not supported by the emulator", format, arguments);
    va_end(arguments);
}

void emu_no_memory(emu_parser *p)
{
    if (p->has_failed)
        return;
    snprintf(p->message, p->message_bytes, "out of memory");
    p->has_failed = true;
    p->token.kind = W_END;
    p->token.length = 0;
}

void emu_next(emu_parser *p)
{
    if (p->has_failed)
        return;
    if (!emu_lex(&p->lexer, &p->token)) {
        emu_fault(p, NULL, "this is no PTX");
    } else if (p->token.kind == W_NAME && emu_token_is(&p->token, "WARP_SZ")) {
        p->token.kind = W_INTEGER;
        p->token.value = 32;
    }
}

static bool is(const emu_parser *p, const char *text)
{
    return p->token.kind != W_END && emu_token_is(&p->token, text);
}

bool emu_accept(emu_parser *p, const char *text)
{
    if (!is(p, text))
        return false;
    emu_next(p);
    return true;
}

void emu_expect(emu_parser *p, const char *text)
{
    if (!emu_accept(p, text))
        emu_fault(p, NULL, "expected %s", text);
}

void *emu_take(emu_parser *p, size_t bytes)
{
    void *memory = emu_arena_get(p->arena, bytes ? bytes : 1);

    if (!memory)
        emu_no_memory(p);
    return memory;
}

static bool is_mark(const emu_token *token, const char *marks)
{
    return token->kind == W_MARK && strchr(marks, *token->text) != NULL;
}

bool emu_starts_expression(const emu_token *token)
{
    return is_mark(token, "(~!+");
}

bool emu_continues_expression(const emu_token *token)
{
    return is_mark(token, "+-*/%&|^<>=!?");
}

static uint64_t expect_integer(emu_parser *p)
{
    const bool is_negative = emu_accept(p, "-");
    const uint64_t value = p->token.value;

    if (p->token.kind != W_INTEGER)
        emu_fault(p, NULL, "expected a whole number");
    else
        emu_next(p);
    return is_negative ? 0 - value : value;
}

static emu_token expect_name(emu_parser *p)
{
    const emu_token name = p->token;

    if (name.kind != W_NAME)
        emu_fault(p, NULL, "expected a name");
    else
        emu_next(p);
    return name;
}

static bool same(const char *a, size_t a_length, const char *b, size_t b_length)
{
    return a_length == b_length && memcmp(a, b, a_length) == 0;
}

/* ---- registers, constants, places ------------------------------------------------------------------------------------ */

uint32_t emu_new_register(emu_parser *p, emu_type type, uint32_t count, uint32_t *offset)
{
    const uint32_t lane = type == T_PRED ? 0 : emu_type_bytes(type);
    const uint32_t bytes = type == T_PRED ? 4 : lane * 32;
    const uint32_t align = bytes < 64 ? bytes : 64;
    emu_function *f = p->function;
    const uint32_t first = f->registers;

    f->register_bytes = (f->register_bytes + align - 1) / align * align;
    *offset = f->register_bytes;
    if (count > EMU_MAX_REGISTERS || f->registers + count > EMU_MAX_REGISTERS) {
        emu_unknown(p, NULL, "more than %d registers", EMU_MAX_REGISTERS);
        return 0;
    }
    f->registers += count;
    f->register_bytes += count * bytes;
    return first;
}

static uint32_t register_stride(uint8_t type)
{
    return type == T_PRED ? 4 : emu_type_bytes(type) * 32;
}

bool emu_find_register(emu_parser *p, const emu_token *name, emu_operand *operand, emu_type *type)
{
    const reg_decl *single, *d;
    size_t stem = name->length;
    uint32_t number = 0, power = 1;

    while (stem > 0 && name->text[stem - 1] >= '0' && name->text[stem - 1] <= '9' && name->length - stem < 7) {
        number += power * (uint32_t)(name->text[--stem] - '0');
        power *= 10;
    }
    single = emu_names_find(p->names, N_REGISTER, name->text, name->length);
    d = stem < name->length ? emu_names_find(p->names, N_REGISTERS, name->text, stem) : NULL;
    if (d && (number >= d->count || (number > 0 && name->text[stem] == '0')))
        d = NULL;
    if (!d || (single && single->scope > d->scope)) {
        d = single;
        number = 0;
    }
    if (!d)
        return false;
    *operand = (emu_operand){.offset = d->offset + number * register_stride(d->type),
                             .reg = (uint16_t)(d->first + number),
                             .bytes = (uint8_t)(d->type == T_PRED ? 0 : emu_type_bytes(d->type))};
    *type = d->type;
    return true;
}

place_decl *emu_find_place(emu_parser *p, const char *name, size_t length)
{
    return emu_names_find(p->names, N_PLACE, name, length);
}

emu_function *emu_find_function(emu_parser *p, const char *name, size_t length)
{
    const size_t number = (size_t)(uintptr_t)emu_names_find(p->names, N_FUNCTION, name, length);

    return number ? &p->module->function[number - 1] : NULL;
}

int emu_find_symbol(emu_parser *p, const char *name, size_t length)
{
    return (int)(uintptr_t)emu_names_find(p->names, N_SYMBOL, name, length) - 1;
}

const emu_param *emu_find_param(emu_parser *p, const char *name, size_t length)
{
    return emu_names_find(p->names, N_PARAM, name, length);
}

/* What has a number is named by it, from 1. */
static void add_name(emu_parser *p, emu_name_kind kind, const char *name, size_t length, void *what)
{
    if (!emu_names_add(p->names, kind, name, length, what))
        emu_no_memory(p);
}

/* Constants grow as a whole, so they are named by offset. */
static uint32_t take_constant(emu_parser *p, unsigned bytes)
{
    emu_module *m = p->module;
    const uint32_t size = bytes ? bytes * 32 : 4, align = size < 64 ? size : 64;
    const uint32_t offset = (m->constant_bytes + align - 1) / align * align;

    if (offset + size > p->constant_capacity) {
        const size_t capacity = p->constant_capacity * 2 + 8192;
        uint8_t *larger = emu_take(p, capacity);
        if (!larger)
            return 0;
        if (m->constant_bytes)
            memcpy(larger, m->constants, m->constant_bytes);
        m->constants = larger;
        p->constant_capacity = capacity;
    }
    m->constant_bytes = offset + size;
    return offset;
}

emu_operand emu_constant(emu_parser *p, uint64_t bits, unsigned bytes)
{
    emu_operand operand = {.bank = 1, .bytes = (uint8_t)bytes}, *known;
    char key[9], *kept;

    if (bytes < 8 && bytes > 0)
        bits &= (UINT64_C(1) << bytes * 8) - 1;
    memcpy(key, &bits, 8);
    key[8] = (char)bytes;
    known = emu_names_find(p->names, N_CONSTANT, key, sizeof key);
    if (known)
        return *known;
    operand.offset = take_constant(p, bytes);
    known = emu_take(p, sizeof *known);
    kept = emu_take(p, sizeof key);
    if (!known || !kept || p->has_failed)
        return operand;
    *known = operand;
    add_name(p, N_CONSTANT, memcpy(kept, key, sizeof key), sizeof key, known);
    if (bytes == 0)
        memset(p->module->constants + operand.offset, bits ? 0xff : 0, 4);
    for (int lane = 0; lane < 32 && bytes; lane++) {
        memset(p->module->constants + operand.offset + (size_t)lane * bytes, 0, bytes);
        memcpy(p->module->constants + operand.offset + (size_t)lane * bytes, &bits, bytes < 8 ? bytes : 8);
    }
    return operand;
}

emu_operand emu_own_constant(emu_parser *p, unsigned bytes)
{
    return (emu_operand){.offset = take_constant(p, bytes), .bank = 1, .bytes = (uint8_t)bytes};
}

/* ---- declarations ---------------------------------------------------------------------------------------------------- */

static emu_type type_of_token(const emu_token *token)
{
    return token->kind == W_DIRECTIVE ? emu_type_of(token->text + 1, token->length - 1) : T_NONE;
}

/* Elements in [..][..], at least 1; *row: those of all dimensions but the first; *is_open: the first is empty. */
static uint64_t parse_dimensions(emu_parser *p, uint64_t *row, bool *is_open)
{
    uint64_t elements = 1;
    bool is_first = true;

    *is_open = false;
    *row = 1;
    while (emu_accept(p, "[")) {
        if (is(p, "]")) {
            *is_open = true;
        } else {
            const uint64_t n = expect_integer(p);
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

/* .align 16 .b8 name[64]: what .param, .local, .shared, .global and .const have in common. Vector types count as arrays. */
typedef struct variable {
    emu_token name;
    emu_type type;
    uint32_t align;
    uint64_t bytes, element_bytes;
    uint64_t row_bytes; /* of all dimensions but the first */
    bool is_open;
    const char *unknown; /* what the emulator does not know of it */
} variable;

/* Skip what stands in brackets, the current word being the first one. */
static void skip_brackets(emu_parser *p, const char *open, const char *close)
{
    int depth = 0;

    do {
        depth += is(p, open);
        depth -= is(p, close);
        emu_next(p);
    } while (depth > 0 && p->token.kind != W_END);
    if (depth > 0)
        emu_fault(p, NULL, "a %s is never closed", open);
}

static variable parse_variable(emu_parser *p)
{
    variable v = {0};
    uint64_t vector = 1;

    while (p->token.kind == W_DIRECTIVE) {
        if (emu_accept(p, ".align")) {
            const uint64_t align = expect_integer(p);
            if (align == 0 || align > 4096 || (align & (align - 1)))
                emu_fault(p, NULL, "alignment %llu is no power of two up to 4096", (unsigned long long)align);
            v.align = (uint32_t)align;
        } else if (emu_accept(p, ".ptr")) { /* .ptr .global .align 1: a promise about what the parameter points at */
            while (is(p, ".global") || is(p, ".shared") || is(p, ".const") || is(p, ".local"))
                emu_next(p);
            if (emu_accept(p, ".align"))
                expect_integer(p);
        } else if (is(p, ".v2") || is(p, ".v4")) {
            vector = is(p, ".v2") ? 2 : 4;
            emu_next(p);
        } else if (type_of_token(&p->token) != T_NONE) {
            v.type = type_of_token(&p->token);
            emu_next(p);
        } else if (emu_accept(p, ".attribute")) {
            v.unknown = "in managed memory";
            if (is(p, "("))
                skip_brackets(p, "(", ")");
        } else if (is(p, ".texref") || is(p, ".samplerref") || is(p, ".surfref")) {
            v.unknown = "that is a texture, a sampler or a surface";
            v.type = T_B64;
            emu_next(p);
        } else {
            emu_fault(p, NULL, "no attribute of a variable");
        }
    }
    v.name = expect_name(p);
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

/* Up to the comma, brace or semicolon behind it. */
static void skip_expression(emu_parser *p)
{
    while (!p->has_failed && p->token.kind != W_END && !is_mark(&p->token, ",};"))
        emu_next(p);
}

static void put_element(emu_parser *p, emu_symbol *s, const variable *v, uint64_t *at, size_t *capacity)
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
        const emu_token name = expect_name(p);
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
            displacement = (int64_t)expect_integer(p);
        s->address_in = emu_arena_grow(p->arena, s->address_in, s->address_count, capacity, sizeof *s->address_in);
        if (!s->address_in) {
            emu_no_memory(p);
            return;
        }
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
        bits = expect_integer(p);
        memcpy(s->initial + *at, &bits, v->element_bytes < 8 ? v->element_bytes : 8);
    }
    if (emu_starts_expression(&p->token) || emu_continues_expression(&p->token)) {
        s->unknown = "with an expression as its value";
        skip_expression(p);
    }
    *at += v->element_bytes;
}

/* Values of an array whose first dimension is left open: as many rows as there are values, or braces, in the outer braces. */
static uint64_t count_rows(emu_parser *p)
{
    const emu_lexer before = p->lexer;
    const emu_token token = p->token;
    uint64_t rows = 0;
    int depth = 0;

    do {
        if (is(p, "{"))
            depth++;
        else if (is(p, "}"))
            depth--;
        if (depth == 1 && (is(p, "{") || is(p, ",")))
            rows++;
        emu_next(p);
    } while (depth > 0 && !p->has_failed && p->token.kind != W_END);
    if (!p->has_failed) {
        p->lexer = before;
        p->token = token;
    }
    return rows;
}

static void parse_initial(emu_parser *p, emu_symbol *s, const variable *v)
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
            if (--depth == 1 && at % v->row_bytes) /* what is missing of a row is zero */
                at += v->row_bytes - at % v->row_bytes;
        } else if (!emu_accept(p, ",") && s->initial) {
            put_element(p, s, v, &at, &capacity);
        }
    } while (depth > 0 && !p->has_failed && p->token.kind != W_END);
}

static void declare_symbol(emu_parser *p, emu_space space, bool is_extern)
{
    emu_module *m = p->module;

    do {
        const variable v = parse_variable(p);
        emu_symbol *s;
        m->symbol = emu_arena_grow(p->arena, m->symbol, m->symbols, &p->symbol_capacity, sizeof *m->symbol);
        if (!m->symbol || p->has_failed) {
            emu_no_memory(p);
            return;
        }
        s = &m->symbol[m->symbols++];
        add_name(p, N_SYMBOL, v.name.text, v.name.length, (void *)(uintptr_t)m->symbols);
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
        else if (v.is_open && !is_extern && !is(p, "="))
            emu_fault(p, &v.name, "an array without a length");
        if (emu_accept(p, "=")) {
            if (v.unknown && is(p, "{"))
                skip_brackets(p, "{", "}");
            else
                parse_initial(p, s, &v);
        }
        if (s->space == S_SHARED && !s->is_extern && s->bytes > EMU_RED_ZONE * 4096u)
            emu_unknown(p, &v.name, "a shared array of %llu bytes", (unsigned long long)s->bytes);
    } while (emu_accept(p, ","));
    emu_expect(p, ";");
}

static void declare_registers(emu_parser *p)
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
        const emu_token name = expect_name(p);
        reg_decl *d = emu_take(p, sizeof *d);
        uint64_t count = 0;
        if (emu_accept(p, "<")) {
            count = expect_integer(p);
            emu_expect(p, ">");
            if (count == 0 || count > EMU_MAX_REGISTERS)
                emu_unknown(p, &name, "%llu registers of one name", (unsigned long long)count);
        }
        if (!d || p->has_failed)
            return;
        *d = (reg_decl){.name = name.text,
                        .name_length = name.length,
                        .count = (uint32_t)count,
                        .type = (uint8_t)type,
                        .scope = p->scope,
                        .next = p->regs};
        d->first = emu_new_register(p, type, count ? (uint32_t)count : 1, &d->offset);
        p->regs = d;
        add_name(p, d->count ? N_REGISTERS : N_REGISTER, d->name, d->name_length, d);
    } while (emu_accept(p, ","));
    emu_expect(p, ";");
}

static void declare_place(emu_parser *p, emu_space space)
{
    uint32_t *used = space == S_LOCAL ? &p->function->local_bytes : &p->function->frame_bytes;

    do {
        const variable v = parse_variable(p);
        place_decl *d = emu_take(p, sizeof *d);
        if (!d || p->has_failed)
            return;
        *used = (*used + v.align - 1) / v.align * v.align;
        *d = (place_decl){.name = v.name.text,
                          .name_length = v.name.length,
                          .space = space,
                          .offset = *used,
                          .bytes = (uint32_t)v.bytes,
                          .scope = p->scope,
                          .next = p->places};
        if (v.bytes > EMU_MAX_FRAME || *used + v.bytes > EMU_MAX_FRAME) {
            emu_unknown(p, &v.name, "more than %d KiB of local memory for each thread", EMU_MAX_FRAME >> 10);
            return;
        }
        *used += (uint32_t)v.bytes;
        p->places = d;
        add_name(p, N_PLACE, d->name, d->name_length, d);
    } while (emu_accept(p, ","));
    emu_expect(p, ";");
}

/* ---- functions ------------------------------------------------------------------------------------------------------- */

static void parse_params(emu_parser *p, emu_param **params, size_t *count, uint32_t *bytes)
{
    size_t capacity = 0;

    *params = NULL;
    *count = 0;
    *bytes = 0;
    if (!emu_accept(p, "("))
        return;
    while (!p->has_failed && !is(p, ")")) {
        variable v;
        if (emu_accept(p, ".reg"))
            emu_unknown(p, NULL, "parameters in registers");
        emu_expect(p, ".param");
        v = parse_variable(p);
        *params = emu_arena_grow(p->arena, *params, *count, &capacity, sizeof **params);
        if (!*params || p->has_failed) {
            emu_no_memory(p);
            return;
        }
        *bytes = (*bytes + v.align - 1) / v.align * v.align;
        (*params)[*count] = (emu_param){v.name.text, v.name.length, (uint32_t)v.bytes, v.align, *bytes};
        (*count)++;
        if (v.bytes > 32764 || *bytes + v.bytes > 32764)
            emu_unknown(p, &v.name, "more than 32764 bytes of parameters");
        *bytes += (uint32_t)v.bytes;
        if (!is(p, ")"))
            emu_expect(p, ",");
    }
    emu_expect(p, ")");
}

static void parse_three(emu_parser *p, uint32_t *three)
{
    for (int i = 0; i < 3; i++)
        three[i] = 1;
    for (int i = 0; i < 3 && !p->has_failed; i++) {
        three[i] = (uint32_t)expect_integer(p);
        if (!emu_accept(p, ","))
            break;
    }
}

static void parse_attributes(emu_parser *p, emu_function *f)
{
    while (p->token.kind == W_DIRECTIVE) {
        if (emu_accept(p, ".maxntid"))
            parse_three(p, f->maxntid);
        else if (emu_accept(p, ".reqntid"))
            parse_three(p, f->reqntid);
        else if (emu_accept(p, ".minnctapersm") || emu_accept(p, ".maxnreg") || emu_accept(p, ".maxnctapersm"))
            expect_integer(p);
        else if (emu_accept(p, ".pragma")) {
            emu_next(p);
            emu_expect(p, ";");
        } else if (is(p, ".explicitcluster") || is(p, ".reqnctapercluster") || is(p, ".maxclusterrank") ||
                   is(p, ".blocksareclusters"))
            emu_unknown(p, NULL, "clusters");
        else if (!emu_accept(p, ".noreturn"))
            emu_unknown(p, NULL, "an attribute of a function");
    }
}

/* Remember why a function cannot be run, and go on: only what calls it is refused too. */
static void refuse(emu_parser *p, emu_function *f)
{
    const size_t bytes = strlen(p->message) + 1;
    char *text;

    p->has_failed = p->is_unknown = false;
    text = emu_take(p, bytes);
    if (text) {
        f->refusal = memcpy(text, p->message, bytes);
        *p->message = '\0';
    }
}

/* (result) name (parameters) attributes; the name alone is read again where the rest holds what the emulator does not know. */
static emu_function parse_head(emu_parser *p, bool is_entry)
{
    const emu_lexer before = p->lexer;
    const emu_token first = p->token;
    emu_function f = {.is_entry = is_entry};
    emu_token name;
    uint32_t bytes;

    if (!is_entry && is(p, "("))
        parse_params(p, &f.result, &f.results, &bytes);
    name = expect_name(p);
    f.name = name.text;
    f.name_length = name.length;
    p->function = &f;
    parse_params(p, &f.param, &f.params, &f.param_bytes);
    parse_attributes(p, &f);
    p->function = NULL;
    if (!p->has_failed || !p->is_unknown)
        return f;
    refuse(p, &f);
    p->lexer = before;
    p->token = first;
    if (is(p, "("))
        skip_brackets(p, "(", ")");
    name = expect_name(p);
    f.name = name.text;
    f.name_length = name.length;
    while (!is(p, "{") && !is(p, ";") && p->token.kind != W_END)
        emu_next(p);
    return f;
}

/* The text of a body is read later, once all names are known. */
static void parse_function(emu_parser *p, bool is_entry)
{
    emu_module *m = p->module;
    const emu_token start = p->token;
    emu_function f = parse_head(p, is_entry), *known;
    const bool has_body = is(p, "{");

    if (p->has_failed)
        return;
    if (has_body) {
        f.body = p->token.text;
        f.first_inst = p->token.line; /* until it is decoded */
        skip_brackets(p, "{", "}");
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
    m->function = emu_arena_grow(p->arena, m->function, m->functions, &p->function_capacity, sizeof *m->function);
    if (!m->function) {
        emu_no_memory(p);
        return;
    }
    m->function[m->functions++] = f;
    add_name(p, N_FUNCTION, f.name, f.name_length, (void *)(uintptr_t)m->functions);
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

static label *find_label(const emu_parser *p, const char *name, size_t length)
{
    const size_t number = (size_t)(uintptr_t)emu_names_find(p->names, N_LABEL, name, length);

    return number ? &p->label[number - 1] : NULL;
}

/* Labels are known in their scope and those inside it; what this one lacks may stand in the one around it. */
static void resolve_labels(emu_parser *p)
{
    size_t left = p->scope_uses[p->scope];

    for (size_t i = left; i < p->uses && !p->has_failed; i++) {
        const label *found = find_label(p, p->use[i].name, p->use[i].name_length);
        if (found && found->scope == p->scope)
            resolve_use(p, &p->use[i], found);
        else
            p->use[left++] = p->use[i];
    }
    p->uses = left;
}

static void open_scope(emu_parser *p)
{
    if (p->scope == EMU_MAX_SCOPES)
        emu_unknown(p, NULL, "more than %d scopes inside each other", EMU_MAX_SCOPES);
    else
        p->scope_uses[++p->scope] = p->uses;
}

static void leave_scope(emu_parser *p)
{
    for (const reg_decl *d = p->regs; d && d->scope == p->scope; d = p->regs = d->next)
        emu_names_drop(p->names, d->count ? N_REGISTERS : N_REGISTER, d->name, d->name_length);
    for (const place_decl *d = p->places; d && d->scope == p->scope; d = p->places = d->next)
        emu_names_drop(p->names, N_PLACE, d->name, d->name_length);
    while (p->labels > 0 && p->label[p->labels - 1].scope == p->scope) {
        const label *last = &p->label[--p->labels];
        emu_names_drop(p->names, N_LABEL, last->name, last->name_length);
    }
    p->scope--;
}

static void close_scope(emu_parser *p)
{
    resolve_labels(p);
    leave_scope(p);
}

/* .loc 1 20 5, function_name $L__info_string0, inlined_at 1 33 7 */
static void parse_location(emu_parser *p)
{
    p->file = expect_integer(p);
    p->cuda_line = (uint32_t)expect_integer(p);
    expect_integer(p);
    while (emu_accept(p, ",")) {
        if (emu_accept(p, "function_name")) {
            expect_name(p);
            if (emu_accept(p, "+"))
                expect_integer(p);
        } else {
            emu_expect(p, "inlined_at");
            for (int i = 0; i < 3; i++)
                expect_integer(p);
        }
    }
}

static void parse_label(emu_parser *p, const emu_token *name)
{
    const label *known = find_label(p, name->text, name->length);

    if (known && known->scope == p->scope)
        emu_fault(p, name, "a second label of this name");
    p->label = emu_arena_grow(p->arena, p->label, p->labels, &p->label_capacity, sizeof *p->label);
    if (!p->label) {
        emu_no_memory(p);
        return;
    }
    p->label[p->labels++] = (label){
        .name = name->text, .name_length = name->length, .inst = p->module->insts, .line = name->line, .scope = p->scope};
    add_name(p, N_LABEL, name->text, name->length, (void *)(uintptr_t)p->labels);
    if (emu_accept(p, ".branchtargets")) {
        label *table = &p->label[p->labels - 1];
        size_t capacity = 0;
        struct {
            const char *text;
            size_t length;
        } *names = NULL;
        table->is_table = true;
        do {
            const emu_token target = expect_name(p);
            names = emu_arena_grow(p->arena, names, table->table_length, &capacity, sizeof *names);
            if (!names || p->has_failed) {
                emu_no_memory(p);
                return;
            }
            names[table->table_length].text = target.text;
            names[table->table_length++].length = target.length;
        } while (emu_accept(p, ","));
        emu_expect(p, ";");
        table->table = emu_take(p, table->table_length * sizeof(uint32_t));
        for (uint32_t i = 0; table->table && i < table->table_length; i++) {
            p->use = emu_arena_grow(p->arena, p->use, p->uses, &p->use_capacity, sizeof *p->use);
            if (!p->use) {
                emu_no_memory(p);
                return;
            }
            p->use[p->uses++] = (label_use){
                .name = names[i].text, .name_length = names[i].length, .line = name->line, .place = &table->table[i]};
        }
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
        name = expect_name(p);
        if (!p->has_failed && (!emu_find_register(p, &name, &guard, &type) || type != T_PRED))
            emu_fault(p, &name, "a guard must be a predicate register");
    }
    if (p->token.kind != W_NAME)
        emu_fault(p, NULL, "expected an instruction");
    else
        emu_decode(p, is_guarded, is_negated, &guard);
}

/* At the } of a body. Every function ends, also if its text forgets to. */
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
    } else if (is(p, "}")) {
        if (p->scope > 1) {
            close_scope(p);
            emu_next(p);
        } else {
            end_function(p);
        }
    } else if (emu_accept(p, ";")) {
        return;
    } else if (emu_accept(p, ".reg")) {
        declare_registers(p);
    } else if (emu_accept(p, ".local")) {
        declare_place(p, S_LOCAL);
    } else if (emu_accept(p, ".param")) {
        declare_place(p, S_FRAME);
    } else if (emu_accept(p, ".shared")) {
        declare_symbol(p, S_SHARED, false);
    } else if (emu_accept(p, ".global")) {
        declare_symbol(p, S_GLOBAL, false);
    } else if (emu_accept(p, ".const")) {
        declare_symbol(p, S_CONST, false);
    } else if (emu_accept(p, ".loc")) {
        parse_location(p);
    } else if (emu_accept(p, ".pragma")) {
        emu_next(p);
        emu_expect(p, ";");
    } else if (p->token.kind == W_DIRECTIVE) {
        emu_unknown(p, NULL, "a directive");
    } else {
        /* A label is a name with a colon behind it. */
        const emu_lexer before = p->lexer;
        const emu_token name = p->token;
        if (name.kind == W_NAME) {
            emu_next(p);
            if (is(p, ":")) {
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

/* Make a function's parameters known, or forget them; of two of one name the first counts. */
static void name_params(emu_parser *p, const emu_function *f, bool is_known)
{
    for (int k = 0; k < 2; k++) {
        emu_param *list = k ? f->param : f->result;
        for (size_t i = k ? f->params : f->results; i-- > 0;)
            if (is_known)
                add_name(p, N_PARAM, list[i].name, list[i].name_length, &list[i]);
            else
                emu_names_drop(p->names, N_PARAM, list[i].name, list[i].name_length);
    }
}

/* Formal parameters lie in the lanes' frames; calls from anywhere need to know where. */
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

    p->function = f;
    p->cuda_line = 0;
    p->lexer = (emu_lexer){f->body, m->text + m->text_bytes, f->first_inst};
    f->first_inst = m->insts;
    f->register_bytes = p->register_base;
    f->registers = p->register_first;
    f->local_bytes = p->local_base;
    f->frame_bytes = p->frame_base;
    name_params(p, f, true);
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
    if (!p->has_failed && !emu_order_blocks(m, f, p->arena))
        emu_no_memory(p);
    for (uint32_t i = 0; i < f->insts && !p->has_failed; i++)
        f->orders_floats |= m->inst[f->first_inst + i].orders_floats;
    if (p->has_failed && p->is_unknown) {
        refuse(p, f);
        while (p->scope > 0)
            leave_scope(p);
        for (; m->symbols > symbols; m->symbols--)
            emu_names_drop(p->names, N_SYMBOL, m->symbol[m->symbols - 1].name, m->symbol[m->symbols - 1].name_length);
        m->fixups = fixups;
        m->insts = f->first_inst;
        f->insts = 0;
    }
    p->uses = 0;
    name_params(p, f, false);
    p->function = NULL;
}

/* ---- calls ----------------------------------------------------------------------------------------------------------- */

/* A function that calls one that cannot be run cannot be run either. */
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
        refuse(p, f);
}

/* The call in f to a function that cannot be run, or to one with calls that are still to be followed; NULL: there is none. */
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
 * Follow calls from functions that call nothing upwards. A function has one set of registers and parameters: those that are never
 * reached call themselves, directly or through others, and cannot be run.
 */
static void follow_calls(emu_parser *p)
{
    emu_module *m = p->module;
    uint32_t *const calls = emu_take(p, m->functions * sizeof *calls); /* of each function: to those not followed yet */
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

/* ---- shared arrays --------------------------------------------------------------------------------------------------- */

/* What arrays take without red zones, and what the zones take. */
typedef struct shared_room {
    uint64_t tight, zones;
} shared_room;

/* Shared arrays of an entry: each behind a red zone, on the banks that it would have without. */
static shared_room place_behind(emu_module *m, int entry, shared_room room)
{
    for (size_t i = 0; i < m->symbols; i++) {
        emu_symbol *s = &m->symbol[i];

        if (s->space != S_SHARED || s->is_extern || s->entry != entry)
            continue;
        room.tight = (room.tight + s->align - 1) / s->align * s->align;
        room.zones += EMU_RED_ZONE;
        s->address = room.tight + room.zones;
        room.tight += s->bytes;
    }
    return room;
}

/* A block has the arrays of its own kernel. The dynamic part, which has one address, begins behind the largest of these. */
static void place_shared(emu_parser *p)
{
    emu_module *m = p->module;
    const shared_room common = place_behind(m, EVERY_ENTRY, (shared_room){0, 0});

    m->shared_bytes = EMU_RED_ZONE;
    for (size_t i = 0; i < m->functions; i++) {
        emu_function *f = &m->function[i];
        const shared_room room = f->is_entry && !f->refusal ? place_behind(m, (int)i, common) : common;
        const uint64_t tight = (room.tight + 15) / 16 * 16, end = tight + room.zones + EMU_RED_ZONE;

        if (tight > 1 << 20) {
            emu_unknown(p, NULL, "%llu bytes of shared arrays", (unsigned long long)tight);
            return;
        }
        f->static_shared = (uint32_t)tight;
        if (end > m->shared_bytes)
            m->shared_bytes = (uint32_t)end;
    }
    for (size_t i = 0; i < m->symbols; i++)
        if (m->symbol[i].space == S_SHARED && m->symbol[i].is_extern)
            m->symbol[i].address = m->shared_bytes;
}

static void parse_target(emu_parser *p)
{
    do {
        const emu_token name = expect_name(p);
        if (name.length > 3 && memcmp(name.text, "sm_", 3) == 0)
            p->module->target = (int)strtol(name.text + 3, NULL, 10);
        else if (!emu_token_is(&name, "debug") && !emu_token_is(&name, "texmode_independent") &&
                 !emu_token_is(&name, "texmode_unified"))
            emu_fault(p, &name, "unknown target");
    } while (emu_accept(p, ","));
}

/* .file 1 "/home/me/gemm.cu", 1700000000, 5120 */
static void parse_file(emu_parser *p)
{
    source_file *file;

    p->source = emu_arena_grow(p->arena, p->source, p->sources, &p->source_capacity, sizeof *p->source);
    if (!p->source) {
        emu_no_memory(p);
        return;
    }
    file = &p->source[p->sources];
    *file = (source_file){.number = expect_integer(p), .name = p->token.text};
    if (p->token.kind == W_STRING) {
        for (const char *c = p->token.text; c < p->token.text + p->token.length; c++)
            file->name = *c == '/' ? c + 1 : file->name;
        file->name_length = p->token.length - (size_t)(file->name - p->token.text);
        p->sources++;
    }
    emu_next(p);
    while (emu_accept(p, ","))
        expect_integer(p);
}

static void parse_top(emu_parser *p)
{
    bool is_extern = false;

    while (is(p, ".visible") || is(p, ".extern") || is(p, ".weak") || is(p, ".common")) {
        is_extern |= is(p, ".extern");
        emu_next(p);
    }
    if (emu_accept(p, ".entry"))
        parse_function(p, true);
    else if (emu_accept(p, ".func"))
        parse_function(p, false);
    else if (emu_accept(p, ".global"))
        declare_symbol(p, S_GLOBAL, is_extern);
    else if (emu_accept(p, ".const"))
        declare_symbol(p, S_CONST, is_extern);
    else if (emu_accept(p, ".shared"))
        declare_symbol(p, S_SHARED, is_extern);
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
        if (expect_integer(p) != 64)
            emu_unknown(p, NULL, "addresses of other than 64 bits");
    } else if (emu_accept(p, ".file")) {
        parse_file(p);
    } else if (emu_accept(p, ".alias")) { /* the name stays that of a function without a body */
        while (!emu_accept(p, ";") && p->token.kind != W_END)
            emu_next(p);
    } else if (emu_accept(p, ".section")) {
        emu_next(p);
        skip_brackets(p, "{", "}");
    } else if (emu_accept(p, ".pragma")) {
        emu_next(p);
        emu_expect(p, ";");
    } else if (!emu_accept(p, ";"))
        emu_unknown(p, NULL, "a directive");
}

static void parse_module(emu_parser *p)
{
    emu_module *m = p->module;

    emu_next(p);
    if (!is(p, ".version"))
        emu_fault(p, NULL, "it does not begin with .version");
    while (!p->has_failed && p->token.kind != W_END)
        parse_top(p);
    if (!p->has_failed && (!m->ptx_version || !m->target))
        emu_fault(p, NULL, "no .version or no .target");
    p->register_base = 32 * 16; /* what goes nowhere is written there */
    p->register_first = 1;
    for (size_t i = 0; i < m->functions && !p->has_failed; i++)
        if (!m->function[i].is_entry && !m->function[i].refusal)
            place_params(p, &m->function[i]);
    /* Functions first, so that an entry's file can hold what they need: each has places of its own. */
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
        follow_calls(p);
    if (!p->has_failed)
        place_shared(p);
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
    if (!module || !module->text || !p.names) {
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
        if (module->function[i].is_entry && module->function[i].body &&
            same(module->function[i].name, module->function[i].name_length, name, strlen(name)))
            return &module->function[i];
    return NULL;
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
