/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parser: what is known of a text while it is read, word by word: names, registers and constants.
 *
 * A fault is reported once; from then on every word reads as the end of the text, so that all loops end. A text that is wrong, by
 * emu_fault, refuses the module; what only the emulator does not know, by emu_unknown, the function in which it stands.
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

/* Of one text, so that a short one cannot cost much: bytes of variables with values, ways out of branches through tables. */
enum { EMU_MAX_INITIAL = 64 << 20, EMU_MAX_TARGETS = 1 << 20 };

/* .reg .b32 %r<778>; or one register. */
typedef struct reg_decl {
    uint32_t count;  /* 0: a single one, of exactly this name */
    uint32_t first;  /* register number in the function */
    uint32_t offset; /* of the first, in the function's file */
    uint8_t type;
    int scope;
} reg_decl;

/* .param inside a body, or a .local array, kept for each lane. */
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

/* A place where a label stands for an instruction number that is not known before the end of the label's scope. */
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
    bool has_failed, is_unknown; /* unknown to the emulator alone */
    char *message;
    size_t message_bytes;
    const emu_operations *operations;
    emu_module *module;
    emu_arena *arena;
    size_t function_capacity, symbol_capacity, inst_capacity, fixup_capacity, constant_capacity;
    /* of the function being read */
    emu_function *function;
    uint32_t register_base, register_first, local_base, frame_base; /* what functions before it use */
    label_use *use;
    size_t uses, use_capacity;
    int scope;
    struct {
        size_t uses;
        const void *names;
    } begin[EMU_MAX_SCOPES + 1]; /* where those of each open scope begin */
    uint64_t file;
    uint32_t cuda_line;
    source_file *source;
    size_t sources, source_capacity;
    bool reached_end;             /* the previous instruction never goes on behind */
    emu_names *names, *own_names; /* of the module, with its constants; of the function: registers, labels, parameters */
    uint64_t initial_bytes, branch_targets;
} emu_parser;

/** The text is wrong at a token, or at the current one: NULL. */
__attribute__((format(printf, 3, 4))) void emu_fault(emu_parser *p, const emu_token *at, const char *format, ...);

/** The emulator does not know, or not take, what stands there. */
__attribute__((format(printf, 3, 4))) void emu_unknown(emu_parser *p, const emu_token *at, const char *format, ...);

/** Whether an expression with operators, which the emulator does not evaluate, begins here, or goes on behind an operand. */
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

/** Skip what stands in brackets, the current word being the first one. */
void emu_skip_brackets(emu_parser *p, const char *open, const char *close);

/** Memory of the module; a fault and NULL if there is none. */
void *emu_take(emu_parser *p, size_t bytes);

/** Room for one more element in an array of the module, as emu_arena_grow gives it; a fault and NULL if there is none. */
void *emu_grow(emu_parser *p, void *array, size_t count, size_t *capacity, size_t element_bytes);

/** A register by name; false: no such. */
bool emu_find_register(emu_parser *p, const emu_token *name, emu_operand *operand, emu_type *type);

/** A name of the module, or of the function until its scope ends. What has a number is named by it, from 1. */
void emu_add_name(emu_parser *p, emu_name_kind kind, const char *name, size_t length, void *what);

/** A variable of the module by number, or -1. */
int emu_find_symbol(emu_parser *p, const char *name, size_t length);
emu_function *emu_find_function(emu_parser *p, const char *name, size_t length);
uint32_t emu_new_register(emu_parser *p, emu_type type, uint32_t count, uint32_t *offset);

/** A constant in all lanes. */
emu_operand emu_constant(emu_parser *p, uint64_t bits, unsigned bytes);

/** A constant that no other operand shares, to be written later. */
emu_operand emu_own_constant(emu_parser *p, unsigned bytes);

/** A use of a label, to be settled at the end of its scope; NULL: out of memory. */
label_use *emu_use_label(emu_parser *p, const char *name, size_t length, uint32_t line);

/** Remember why a function cannot be run, and go on: only what calls it is refused too. */
void emu_refuse(emu_parser *p, emu_function *f);

#endif
