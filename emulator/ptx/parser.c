/* SPDX-License-Identifier: Apache-2.0 */
#include "parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Report a fault unless there was an earlier one, and stop reading. */
__attribute__((format(printf, 4, 0))) static void report(emu_parser *p, const emu_token *at, const char *kind,
                                                         const char *format, va_list arguments)
{
    const char *start, *stop, *end = p->module->text + p->module->text_bytes;
    char *to = p->message;
    size_t left = p->message_bytes;

    if (p->has_failed)
        return;
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
    if (at->text >= p->module->text && at->text <= end) { /* otherwise a token that we added */
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

    va_start(arguments, format);
    report(p, at, "the PTX is wrong", format, arguments);
    va_end(arguments);
}

void emu_unknown(emu_parser *p, const emu_token *at, const char *format, ...)
{
    va_list arguments;

    p->is_unknown |= !p->has_failed;
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

void emu_refuse(emu_parser *p, emu_function *f)
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

void emu_next(emu_parser *p)
{
    if (p->has_failed)
        return;
    if (!emu_lex(&p->lexer, &p->token)) {
        emu_fault(p, NULL, "this is not PTX");
    } else if (p->token.kind == W_NAME && emu_token_is(&p->token, "WARP_SZ")) {
        p->token.kind = W_INTEGER;
        p->token.value = 32;
    }
}

bool emu_is(const emu_parser *p, const char *text)
{
    return p->token.kind != W_END && emu_token_is(&p->token, text);
}

bool emu_accept(emu_parser *p, const char *text)
{
    if (!emu_is(p, text))
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

void *emu_grow(emu_parser *p, void *array, size_t count, size_t *capacity, size_t element_bytes)
{
    void *larger = emu_arena_grow(p->arena, array, count, capacity, element_bytes);

    if (!larger)
        emu_no_memory(p);
    return larger;
}

bool emu_is_mark(const emu_token *token, const char *marks)
{
    return token->kind == W_MARK && strchr(marks, *token->text) != NULL;
}

bool emu_starts_expression(const emu_token *token)
{
    return emu_is_mark(token, "(~!+");
}

bool emu_continues_expression(const emu_token *token)
{
    return emu_is_mark(token, "+-*/%&|^<>=!?");
}

uint64_t emu_expect_integer(emu_parser *p)
{
    const bool is_negative = emu_accept(p, "-");
    const uint64_t value = p->token.value;

    if (p->token.kind != W_INTEGER)
        emu_fault(p, NULL, "expected a whole number");
    else
        emu_next(p);
    return is_negative ? 0 - value : value;
}

emu_token emu_expect_name(emu_parser *p)
{
    const emu_token name = p->token;

    if (name.kind != W_NAME)
        emu_fault(p, NULL, "expected a name");
    else
        emu_next(p);
    return name;
}

void emu_skip_brackets(emu_parser *p, const char *open, const char *close)
{
    int depth = 0;

    do {
        depth += emu_is(p, open);
        depth -= emu_is(p, close);
        emu_next(p);
    } while (depth > 0 && p->token.kind != W_END);
    if (depth > 0)
        emu_fault(p, NULL, "a %s is never closed", open);
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
    single = emu_names_find(p->own_names, N_REGISTER, name->text, name->length);
    d = stem < name->length ? emu_names_find(p->own_names, N_REGISTERS, name->text, stem) : NULL;
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

emu_function *emu_find_function(emu_parser *p, const char *name, size_t length)
{
    const size_t number = (size_t)(uintptr_t)emu_names_find(p->names, N_FUNCTION, name, length);

    return number ? &p->module->function[number - 1] : NULL;
}

int emu_find_symbol(emu_parser *p, const char *name, size_t length)
{
    return (int)(uintptr_t)emu_names_find(p->names, N_SYMBOL, name, length) - 1;
}

void emu_add_name(emu_parser *p, emu_name_kind kind, const char *name, size_t length, void *what)
{
    if (!emu_names_add(kind < N_PARAM ? p->names : p->own_names, kind, name, length, what))
        emu_no_memory(p);
}

/* Constants may move as they grow, so they are named by offset. */
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
    emu_add_name(p, N_CONSTANT, memcpy(kept, key, sizeof key), sizeof key, known);
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

label_use *emu_use_label(emu_parser *p, const char *name, size_t length, uint32_t line)
{
    p->use = emu_grow(p, p->use, p->uses, &p->use_capacity, sizeof *p->use);
    if (!p->use)
        return NULL;
    p->use[p->uses] = (label_use){.name = name, .name_length = length, .inst = p->module->insts, .line = line};
    return &p->use[p->uses++];
}
