/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parser: state of reading a text token by token: names, registers and constants.
 *
 * A fault is reported once; from then on every token reads as the end of the text, so that all loops end. emu_fault marks the
 * text as wrong, which refuses the module; emu_unknown marks something that only the emulator does not support, which refuses
 * the function around it.
 */
#ifndef EMU_PARSER_H
#define EMU_PARSER_H

#include "arena.h"
#include "form.h"
#include "lex.h"
#include "names.h"
#include "ptx.h"

enum {
    EMU_MAX_VECTOR = 128,
    EMU_MAX_OPERANDS = 140,
    EMU_MAX_RAW = 12,
    EMU_MAX_REGISTERS = 60000,
    EMU_MAX_FRAME = 512 << 10,
    EMU_MAX_INSTS = 1 << 22
};

/* Limits per text, so that a short text cannot cost much: initial bytes of variables, targets in branch tables. */
enum { EMU_MAX_INITIAL = 64 << 20, EMU_MAX_TARGETS = 1 << 20 };

/* .reg .b32 %r<778>; or one register. */
typedef struct reg_decl {
    uint32_t count;  /* 0: a single register of exactly this name */
    uint32_t first;  /* register number in the function */
    uint32_t offset; /* of the first, in the function's register file */
    uint8_t type;
    int scope;
} reg_decl;

/* .param inside a body, or a .local array, one per lane. */
typedef struct place_decl {
    emu_space space; /* S_FRAME, S_LOCAL */
    uint32_t offset, bytes;
} place_decl;

typedef struct label {
    uint32_t inst;
    int scope;
    bool is_table;
    uint32_t *table; /* of .branchtargets: instructions */
    uint32_t table_length;
} label;

/* A use of a label whose instruction number is known only at the end of the label's scope. */
typedef struct label_use {
    const char *name;
    size_t name_length;
    uint32_t inst, line;
    uint32_t *place;
    bool wants_table;
} label_use;

/* .file 1 "gemm.cu" */
typedef struct source_file {
    uint64_t number;
    const char *name; /* without its folders */
    size_t name_length;
} source_file;

enum { EMU_MAX_SCOPES = 64 };

typedef struct emu_parser {
    emu_lexer lexer;
    emu_token token;             /* the current one */
    bool has_failed, is_unknown; /* is_unknown: valid PTX that the emulator does not support */
    char *message;
    size_t message_bytes;
    const emu_operations *operations;
    emu_module *module;
    emu_arena *arena;
    size_t function_capacity, symbol_capacity, inst_capacity, fixup_capacity, constant_capacity;
    /* the function being read */
    emu_function *function;
    uint32_t register_base, register_first, local_base, frame_base; /* totals of the functions before it */
    label_use *use;
    size_t uses, use_capacity;
    int scope;
    struct {
        size_t uses;
        const void *names;
    } begin[EMU_MAX_SCOPES + 1]; /* start of each open scope in those lists */
    uint64_t file;
    uint32_t cuda_line;
    source_file *source;
    size_t sources, source_capacity;
    bool reached_end;             /* the previous instruction never falls through */
    emu_names *names, *own_names; /* of the module and its constants; of the function: registers, labels, parameters */
    uint64_t initial_bytes, branch_targets;
} emu_parser;

/** Report that the text is wrong at a token, or at the current one: NULL. */
__attribute__((format(printf, 3, 4))) void emu_fault(emu_parser *p, const emu_token *at, const char *format, ...);

/** Report that the emulator does not support the text at a token. */
__attribute__((format(printf, 3, 4))) void emu_unknown(emu_parser *p, const emu_token *at, const char *format, ...);

/** Does an expression with operators begin here, or continue after an operand? The emulator does not evaluate those. */
bool emu_starts_expression(const emu_token *token);
bool emu_continues_expression(const emu_token *token);

void emu_no_memory(emu_parser *p);

void emu_next(emu_parser *p);
bool emu_is(const emu_parser *p, const char *text);
bool emu_accept(emu_parser *p, const char *text);
void emu_expect(emu_parser *p, const char *text);
uint64_t emu_expect_integer(emu_parser *p);
emu_token emu_expect_name(emu_parser *p);
bool emu_is_mark(const emu_token *token, const char *marks);

/** Skip a bracketed part; the current token is the opening bracket. */
void emu_skip_brackets(emu_parser *p, const char *open, const char *close);

/** Allocate memory of the module; NULL and a fault: out of memory. */
void *emu_take(emu_parser *p, size_t bytes);

/** Reserve room for one more element in an array of the module, as emu_arena_grow does; NULL and a fault: out of memory. */
void *emu_grow(emu_parser *p, void *array, size_t count, size_t *capacity, size_t element_bytes);

/** Find a register by name; false: not found. */
bool emu_find_register(emu_parser *p, const emu_token *name, emu_operand *operand, emu_type *type);

/** Add a name to the module, or to the function until its scope ends. Numbered objects are named by number, from 1. */
void emu_add_name(emu_parser *p, emu_name_kind kind, const char *name, size_t length, void *what);

/** Find a variable of the module; returns its number, or -1. */
int emu_find_symbol(emu_parser *p, const char *name, size_t length);
emu_function *emu_find_function(emu_parser *p, const char *name, size_t length);
uint32_t emu_new_register(emu_parser *p, emu_type type, uint32_t count, uint32_t *offset);

/** Return a constant, the same in all lanes. */
emu_operand emu_constant(emu_parser *p, uint64_t bits, unsigned bytes);

/** Return a constant that no other operand shares, to be written later. */
emu_operand emu_own_constant(emu_parser *p, unsigned bytes);

/** Record a use of a label, resolved at the end of its scope; NULL: out of memory. */
label_use *emu_use_label(emu_parser *p, const char *name, size_t length, uint32_t line);

/** Record why a function cannot run, and go on: only its callers are refused too. */
void emu_refuse(emu_parser *p, emu_function *f);

#endif
