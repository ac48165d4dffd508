/* SPDX-License-Identifier: Apache-2.0 */
#include "lex.h"

#include <stdlib.h>
#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_digit(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool skip_blank(emu_lexer *x)
{
    while (x->at < x->end) {
        const char c = *x->at;
        if (c == '\n') {
            x->line++;
            x->at++;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
            x->at++;
        } else if (c == '/' && x->end - x->at > 1 && x->at[1] == '/') {
            while (x->at < x->end && *x->at != '\n')
                x->at++;
        } else if (c == '/' && x->end - x->at > 1 && x->at[1] == '*') {
            x->at += 2;
            while (x->end - x->at > 1 && !(x->at[0] == '*' && x->at[1] == '/')) {
                x->line += *x->at == '\n';
                x->at++;
            }
            if (x->end - x->at < 2)
                return false;
            x->at += 2;
        } else {
            break;
        }
    }
    return true;
}

static void lex_name(emu_lexer *x)
{
    bool has_modifier = false;

    while (x->at < x->end) {
        const char next = x->end - x->at > 1 ? x->at[1] : '\0';
        if (is_letter(*x->at) || is_digit(*x->at)) {
            x->at++;
        } else if (*x->at == '.' && (is_letter(next) || is_digit(next))) {
            has_modifier = true;
            x->at++;
        } else if (has_modifier && *x->at == ':' && next == ':') {
            x->at += 2;
        } else {
            break;
        }
    }
}

/* Bits in hexadecimal after 0f and 0d: exactly 8 and 16 digits. */
static bool lex_bits(emu_lexer *x, emu_token *token)
{
    const int digits = (x->at[1] | 32) == 'f' ? 8 : 16;

    token->kind = W_FLOAT;
    token->is_bits = true;
    token->is_single = digits == 8;
    x->at += 2;
    for (int i = 0; i < digits; i++) {
        if (x->at >= x->end || hex_digit(*x->at) < 0)
            return false;
        token->value = token->value << 4 | (uint64_t)hex_digit(*x->at++);
    }
    return x->at >= x->end || hex_digit(*x->at) < 0;
}

static bool lex_decimal_float(emu_lexer *x, emu_token *token)
{
    char text[64], *stop;
    size_t n = 0;
    double value;

    while (x->at + n < x->end && n < sizeof text - 1 &&
           (is_digit(x->at[n]) || x->at[n] == '.' || (x->at[n] | 32) == 'e' ||
            (n && (x->at[n - 1] | 32) == 'e' && (x->at[n] == '+' || x->at[n] == '-')))) {
        text[n] = x->at[n];
        n++;
    }
    text[n] = '\0';
    value = strtod(text, &stop);
    if (*stop == '.') { /* the locale's decimal point may be a comma */
        *stop = ',';
        value = strtod(text, &stop);
    }
    if (*stop)
        return false;
    token->kind = W_FLOAT;
    memcpy(&token->value, &value, sizeof value);
    x->at += n;
    return true;
}

static bool lex_number(emu_lexer *x, emu_token *token)
{
    const char second = x->end - x->at > 1 ? x->at[1] : '\0';
    const char *p = x->at;
    unsigned base = 10;

    if (*x->at == '0' && ((second | 32) == 'f' || (second | 32) == 'd'))
        return lex_bits(x, token);
    while (p < x->end && is_digit(*p))
        p++;
    if (p < x->end && (*p == '.' || (*p | 32) == 'e'))
        return lex_decimal_float(x, token);
    token->kind = W_INTEGER;
    if (*x->at == '0' && (second | 32) == 'x') {
        base = 16;
        x->at += 2;
    } else if (*x->at == '0' && (second | 32) == 'b') {
        base = 2;
        x->at += 2;
    } else if (*x->at == '0') {
        base = 8;
    }
    if (x->at >= x->end || hex_digit(*x->at) < 0 || hex_digit(*x->at) >= (int)base)
        return false;
    while (x->at < x->end && hex_digit(*x->at) >= 0 && hex_digit(*x->at) < (int)base) {
        if (token->value > (UINT64_MAX - (uint64_t)hex_digit(*x->at)) / base)
            return false;
        token->value = token->value * base + (uint64_t)hex_digit(*x->at++);
    }
    if (x->at < x->end && *x->at == 'U')
        x->at++;
    return x->at >= x->end || (!is_letter(*x->at) && !is_digit(*x->at));
}

bool emu_lex(emu_lexer *x, emu_token *token)
{
    bool is_right = skip_blank(x);

    *token = (emu_token){.kind = W_END, .text = x->at, .line = x->line};
    if (!is_right || x->at >= x->end)
        return is_right;
    if (is_letter(*x->at)) {
        token->kind = W_NAME;
        lex_name(x);
    } else if (is_digit(*x->at)) {
        is_right = lex_number(x, token);
    } else if (*x->at == '.' && x->end - x->at > 1 && is_letter(x->at[1])) {
        token->kind = W_DIRECTIVE;
        x->at++;
        while (x->at < x->end && (is_letter(*x->at) || is_digit(*x->at)))
            x->at++;
    } else if (*x->at == '"') {
        token->kind = W_STRING;
        token->text = ++x->at;
        while (x->at < x->end && *x->at != '"' && *x->at != '\n')
            x->at++;
        token->length = (size_t)(x->at - token->text);
        is_right = x->at < x->end && *x->at == '"';
        x->at += is_right;
        return is_right;
    } else {
        token->kind = W_MARK;
        is_right = *x->at > ' ' && *x->at < 127;
        x->at++;
    }
    token->length = (size_t)(x->at - token->text);
    return is_right;
}

bool emu_token_is(const emu_token *token, const char *text)
{
    return token->kind != W_STRING && token->length == strlen(text) && memcmp(token->text, text, token->length) == 0;
}
