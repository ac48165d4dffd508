/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lex: split a PTX text into tokens, slices of the text. Knows no grammar.
 *
 * An opcode with its modifiers is one token (ld.global.nc.f32), as are special registers (%tid.x) and directives (.reg).
 */
#ifndef EMU_LEX_H
#define EMU_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum emu_word {
    W_END,
    W_NAME,      /* add.s32  %r1  $L__BB0_2  foo  _ */
    W_DIRECTIVE, /* .reg */
    W_INTEGER,
    W_FLOAT,  /* 1.5, and 0f / 0d with the bits in hexadecimal */
    W_STRING, /* without its quotes */
    W_MARK    /* one character */
} emu_word;

typedef struct emu_token {
    emu_word kind;
    const char *text;
    size_t length;
    uint32_t line;
    uint64_t value;          /* W_INTEGER; W_FLOAT: its bits as double, or as float if is_single */
    bool is_single, is_bits; /* 0f...; 0f... or 0d... */
} emu_token;

typedef struct emu_lexer {
    const char *at, *end;
    uint32_t line;
} emu_lexer;

/** Read the next token. false: a character that begins no token, or an unterminated number or string; token shows where. */
bool emu_lex(emu_lexer *lexer, emu_token *token);

/** Is the token equal to this text? */
bool emu_token_is(const emu_token *token, const char *text);

#endif
