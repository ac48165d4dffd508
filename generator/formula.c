/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formula: parse an expression by recursive descent to postfix steps, and evaluate these on a small stack.
 */
#include "formula.h"

#include <string.h>

#include "error.h"

enum { MAX_DEPTH = 24, MAX_FORMULA_BYTES = 256 };

enum step_kind {
    S_NUMBER,
    S_NAME,
    S_NEGATE,
    S_NOT,
    S_OR,
    S_AND,
    S_EQ,
    S_NE,
    S_LE,
    S_GE,
    S_LT,
    S_GT,
    S_ADD,
    S_SUB,
    S_MUL,
    S_DIV,
    S_MOD,
    S_MIN,
    S_MAX,
    S_CEIL_DIV
};

/* Binary operators; of two with a common prefix, the longer first. A higher level binds tighter. */
static const struct {
    const char *sign;
    uint8_t what, level;
} operators[] = {
    {"||", S_OR, 0}, {"&&", S_AND, 1}, {"==", S_EQ, 2}, {"!=", S_NE, 2}, {"<=", S_LE, 2}, {">=", S_GE, 2}, {"<", S_LT, 2},
    {">", S_GT, 2},  {"+", S_ADD, 3},  {"-", S_SUB, 3}, {"*", S_MUL, 4}, {"/", S_DIV, 4}, {"%", S_MOD, 4},
};

static const struct {
    const char *name;
    uint8_t what;
} functions[] = {{"min", S_MIN}, {"max", S_MAX}, {"ceil_div", S_CEIL_DIV}};

enum { OPERATORS = sizeof operators / sizeof operators[0], FUNCTIONS = sizeof functions / sizeof functions[0], TIGHTEST = 5 };

typedef struct reader {
    const char *text, *at, *whose;
    const char *const *name;
    size_t names;
    tj_formula *out;
    int depth;
    tj_error *err;
} reader;

static tj_status complain(const reader *r, const char *at, const char *what)
{
    return tj_fail_with_caret(r->err, TJ_ERR_INVALID_ARGUMENT, r->text, (size_t)(at - r->text), "%s, column %d: %s", r->whose,
                              (int)(at - r->text) + 1, what);
}

static void skip_blanks(reader *r)
{
    r->at += strspn(r->at, " \t\n");
}

static bool take(reader *r, const char *sign)
{
    skip_blanks(r);
    if (strncmp(r->at, sign, strlen(sign)) != 0)
        return false;
    r->at += strlen(sign);
    return true;
}

static tj_status add(reader *r, uint8_t what, int64_t number)
{
    if (r->out->steps == TJ_FORMULA_STEPS)
        return complain(r, r->at, "the expression is too long");
    r->out->step[r->out->steps].what = what;
    r->out->step[r->out->steps++].number = number;
    r->out->is_condition = what >= S_NOT && what <= S_GT;
    return TJ_OK;
}

static tj_status read_level(reader *r, int level);

static tj_status read_number(reader *r)
{
    const char *start = r->at;
    int64_t number = 0;

    for (; *r->at >= '0' && *r->at <= '9'; r->at++)
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *r->at - '0', &number))
            return complain(r, start, "the number is too large");
    return add(r, S_NUMBER, number);
}

/* Parse (a, b) after the name of a function. */
static tj_status read_call(reader *r, uint8_t what)
{
    tj_status status;

    if (!take(r, "("))
        return complain(r, r->at, "expected ( after the function");
    status = read_level(r, 0);
    if (status == TJ_OK && !take(r, ","))
        status = complain(r, r->at, "expected , between two arguments");
    if (status == TJ_OK)
        status = read_level(r, 0);
    if (status == TJ_OK && !take(r, ")"))
        status = complain(r, r->at, "expected ) after two arguments");
    return status == TJ_OK ? add(r, what, 0) : status;
}

static tj_status read_name(reader *r)
{
    const char *start = r->at;
    size_t length;

    length = strspn(start, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    if (length == 0)
        return complain(r, start, *start ? "expected a number, a name or (" : "the expression ends too early");
    r->at += length;
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (strlen(functions[i].name) == length && strncmp(functions[i].name, start, length) == 0)
            return read_call(r, functions[i].what);
    for (size_t i = 0; i < r->names; i++)
        if (strlen(r->name[i]) == length && strncmp(r->name[i], start, length) == 0)
            return add(r, S_NAME, (int64_t)i);
    return complain(r, start, "no extent, parameter or derived value has this name");
}

static tj_status read_operand(reader *r)
{
    tj_status status;

    skip_blanks(r);
    if (*r->at >= '0' && *r->at <= '9')
        return read_number(r);
    if (*r->at == '-' || *r->at == '!') {
        const uint8_t what = *r->at++ == '-' ? S_NEGATE : S_NOT;
        status = read_level(r, TIGHTEST);
        return status == TJ_OK ? add(r, what, 0) : status;
    }
    if (!take(r, "("))
        return read_name(r);
    status = read_level(r, 0);
    if (status == TJ_OK && !take(r, ")"))
        status = complain(r, r->at, "expected )");
    return status;
}

static int find_operator(reader *r, int level)
{
    skip_blanks(r);
    for (int i = 0; i < OPERATORS; i++)
        if (strncmp(r->at, operators[i].sign, strlen(operators[i].sign)) == 0)
            return operators[i].level == level ? i : -1;
    return -1;
}

/* Parse the operands of this level and the operators between them, from left to right. */
static tj_status read_level(reader *r, int level)
{
    tj_status status;
    int found;

    if (level == TIGHTEST) {
        if (++r->depth > MAX_DEPTH)
            return complain(r, r->at, "the expression is nested too deeply");
        status = read_operand(r);
        r->depth--;
        return status;
    }
    status = read_level(r, level + 1);
    while (status == TJ_OK && (found = find_operator(r, level)) >= 0) {
        r->at += strlen(operators[found].sign);
        status = read_level(r, level + 1);
        if (status == TJ_OK)
            status = add(r, operators[found].what, 0);
    }
    return status;
}

tj_status tj_formula_read(const char *text, const char *whose, const char *const *name, size_t names, tj_formula *formula,
                          tj_error *err)
{
    reader r = {text, text, whose, name, names, formula, 0, err};
    tj_status status;

    memset(formula, 0, sizeof *formula);
    if (strlen(text) > MAX_FORMULA_BYTES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is longer than %d characters", whose, MAX_FORMULA_BYTES);
    status = read_level(&r, 0);
    skip_blanks(&r);
    if (status == TJ_OK && *r.at != '\0')
        status = complain(&r, r.at, "expected an operator or the end");
    return status;
}

/* ---- values ------------------------------------------------------------------------------------------------------- */

/* ceil_div rounds up; / and % are those of C. */
static bool divide(int64_t a, int64_t b, uint8_t what, int64_t *result)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    *result = what == S_MOD ? a % b : a / b + (what == S_CEIL_DIV && a % b != 0 && (a < 0) == (b < 0));
    return true;
}

static bool combine(uint8_t what, int64_t a, int64_t b, int64_t *result)
{
    switch (what) {
    case S_OR:
        *result = a || b;
        return true;
    case S_AND:
        *result = a && b;
        return true;
    case S_EQ:
        *result = a == b;
        return true;
    case S_NE:
        *result = a != b;
        return true;
    case S_LE:
        *result = a <= b;
        return true;
    case S_GE:
        *result = a >= b;
        return true;
    case S_LT:
        *result = a < b;
        return true;
    case S_GT:
        *result = a > b;
        return true;
    case S_ADD:
        return !__builtin_add_overflow(a, b, result);
    case S_SUB:
        return !__builtin_sub_overflow(a, b, result);
    case S_MUL:
        return !__builtin_mul_overflow(a, b, result);
    case S_MIN:
        *result = a < b ? a : b;
        return true;
    case S_MAX:
        *result = a > b ? a : b;
        return true;
    default:
        return divide(a, b, what, result);
    }
}

bool tj_formula_value(const tj_formula *formula, const int64_t *value, int64_t *result)
{
    int64_t stack[TJ_FORMULA_STEPS] = {0};
    int top = 0; /* a parsed formula never takes more from the stack than it holds */

    for (int i = 0; i < formula->steps; i++) {
        const uint8_t what = formula->step[i].what;

        if (what == S_NUMBER) {
            stack[top++] = formula->step[i].number;
        } else if (what == S_NAME) {
            stack[top++] = value[formula->step[i].number];
        } else if (what == S_NOT) {
            stack[top - 1] = !stack[top - 1];
        } else if (what == S_NEGATE) {
            if (__builtin_sub_overflow(0, stack[top - 1], &stack[top - 1]))
                return false;
        } else {
            if (!combine(what, stack[top - 2], stack[top - 1], &stack[top - 2]))
                return false;
            top--;
        }
    }
    *result = stack[0];
    return top == 1;
}

int tj_formula_name_at(const tj_formula *formula, int step)
{
    return formula->step[step].what == S_NAME ? (int)formula->step[step].number : -1;
}
