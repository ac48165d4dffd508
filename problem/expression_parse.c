/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expression_parse: the text of an epilogue -> its tree.
 *
 *     epilogue    { name [ ":" type ] "[" index "]" "=" ( condition | reduction ) ";" } condition
 *     reduction   ( "sum" | "max" ) "(" condition ")"
 *     condition   both { "||" both }                   number     digits [ "." digits ] [ ( "e" | "E" ) [ sign ] digits ]
 *     both        comparison { "&&" comparison }       operand    name [ ":" type ] [ "[" index "]" ]
 *     comparison  sum [ ( "<" | "<=" | ... ) sum ]     index      "row" | "col" | "row" "," "col"
 *     sum         product { ( "+" | "-" ) product }
 *     product     signed { ( "*" | "/" ) signed }
 *     signed      ( "-" | "+" | "!" ) signed | value
 *     value       number | operand | pair | function "(" condition { "," condition } ")" | "(" condition ")"
 *     pair        "acc" "[" "2" "*" "col" [ "+" "1" ] "]"
 *
 * Anything outside this grammar is refused, whatever a compiler would make of it. The depth is bounded, and so are all lengths.
 */
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "error.h"
#include "tree.h"

enum { MOST_NESTED = 64, WORD_BYTES = 32 };

typedef struct parsing {
    const char *text, *at;
    int nested;
    tj_expression e;
    tj_error *err;
    bool has_failed;
} parsing;

static const char blanks[] = " \t\r\n";

/* Report a failure. Always returns -1, which is not a node, so that callers can return it. */
__attribute__((format(printf, 3, 4))) static int fail(parsing *p, const char *where, const char *format, ...)
{
    const size_t at = (size_t)(where - p->text);
    char what[TJ_ERROR_MESSAGE_BYTES];
    va_list values;

    p->has_failed = true;
    va_start(values, format);
    (void)vsnprintf(what, sizeof what, format, values);
    va_end(values);
    (void)tj_fail_with_caret(p->err, TJ_ERR_INVALID_ARGUMENT, p->text, at, "column %zu: %s", at + 1, what);
    return -1;
}

static void skip(parsing *p)
{
    p->at += strspn(p->at, blanks);
}

/* Take this sign if it is next. */
static bool take(parsing *p, const char *sign)
{
    skip(p);
    if (strncmp(p->at, sign, strlen(sign)) != 0)
        return false;
    p->at += strlen(sign);
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int parse_condition(parsing *p);

/* Add a node of the operation. where: the sign or word that asked for it. */
static int apply(parsing *p, const char *where, int op, int a, int b, int c)
{
    const tj_op_facts *facts = tj_op_facts_of(op);
    const int given[] = {a, b, c};
    int node;

    if (p->has_failed)
        return -1;
    for (int i = 0; i < facts->arguments && i < 3; i++) {
        const bool wants = facts->takes_condition && (i == 0 || op == TJ_OP_AND || op == TJ_OP_OR);

        if (tj_node_is_condition(&p->e, given[i]) != wants)
            return fail(p, where,
                        wants ? "this takes a condition, such as acc > 0, and not a number"
                              : "this takes numbers, and not a condition: use select(condition, 1, 0)");
    }
    node = tj_expression_apply(&p->e, op, a, b, c);
    return node >= 0 ? node : fail(p, where, "the expression has more than %d operations", TJ_EPILOGUE_NODES);
}

static int parse_number(parsing *p)
{
    const char *start = p->at, *end = start + strspn(start, "0123456789");
    locale_t plain;
    double value;
    int node;

    if (start[0] == '0' && is_digit(start[1]))
        return fail(p, start, "a number begins with 0: write it without that 0");
    if (*end == '.')
        end += 1 + strspn(end + 1, "0123456789");
    if (*end == 'e' || *end == 'E') {
        const char *digits = end + 1 + (end[1] == '+' || end[1] == '-');

        if (!is_digit(*digits))
            return fail(p, end, "the exponent of a number has no digits");
        end = digits + strspn(digits, "0123456789");
    }
    if (is_letter(*end) || is_digit(*end) || *end == '.')
        return fail(p, end, "this does not belong to a number: write it in decimal and without a suffix, such as 0.5 or 1e-5");
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return fail(p, start, "out of memory for a number");
    value = strtod_l(start, NULL, plain);
    freelocale(plain);
    if (!isfinite(value))
        return fail(p, start, "the number is too large: f64 ends at 1.8e308");
    p->at = end;
    node = tj_expression_constant(&p->e, value);
    return node >= 0 ? node
                     : fail(p, start, "the expression has more than %d constants or %d operations", TJ_EPILOGUE_CONSTANTS,
                            TJ_EPILOGUE_NODES);
}

/* Parse "[col]", "[row, col]" or "[0]". */
static int parse_index(parsing *p)
{
    const char *start = p->at;
    int indexed = TJ_BY_NOTHING;

    if (take(p, "row"))
        indexed = take(p, ",") ? (take(p, "col") ? TJ_BY_BOTH : -1) : TJ_BY_ROW;
    else if (take(p, "col"))
        indexed = TJ_BY_COL;
    else if (take(p, "0"))
        indexed = TJ_BY_PRODUCT;
    if (indexed > 0 && take(p, "]"))
        return indexed;
    return fail(p, start, "an operand is indexed by [row], [col], [row, col] or [0]");
}

/* Parse ":bf16[col]" after the name of an operand. Returns how it is indexed, or -1. */
static int parse_declaration(parsing *p, tj_type *type)
{
    *type = TJ_TYPE_DEFAULT;
    if (take(p, ":")) {
        char word[WORD_BYTES] = "";
        size_t length;

        skip(p);
        length = strspn(p->at, "abcdefghijklmnopqrstuvwxyz0123456789");
        memcpy(word, p->at, length < sizeof word ? length : sizeof word - 1);
        if (!tj_type_parse_whole(word, type))
            return fail(p, p->at, "no element type has this name: use f32, f16, bf16 and so on");
        p->at += length;
    }
    return take(p, "[") ? parse_index(p) : TJ_BY_NOTHING;
}

static int parse_operand(parsing *p, const char *start, const char *name)
{
    const char *type_at = p->at + 1;
    tj_type type;
    int indexed, node;

    if (strlen(name) >= TJ_EPILOGUE_NAME_BYTES)
        return fail(p, start, "the name of an operand has more than %d letters", TJ_EPILOGUE_NAME_BYTES - 1);
    if ((indexed = parse_declaration(p, &type)) < 0)
        return -1;
    if (indexed == TJ_BY_NOTHING && type != TJ_TYPE_DEFAULT)
        return fail(p, type_at, "a number has no element type: index the operand by [row], [col], [row, col] or [0]");
    for (int32_t i = 0; i < p->e.operands; i++) {
        tj_epilogue_operand *known = &p->e.operand[i];

        if (strcmp(known->name, name) != 0)
            continue;
        if (known->is_output)
            return fail(p, start, "%s is an output and is not read: write its expression again, it is computed once", name);
        if (known->indexed != indexed)
            return fail(p, start, "the operand %s is indexed in two ways", name);
        if (known->type && type && known->type != type)
            return fail(p, start, "the operand %s has two types", name);
        type = known->type ? (tj_type)known->type : type;
        known->type = (uint8_t)type;
    }
    node = tj_expression_operand(&p->e, name, indexed, (int)type);
    if (node >= 0)
        return node;
    return p->e.operands == TJ_EPILOGUE_OPERANDS
               ? fail(p, start, "the expression has more than %d operands", TJ_EPILOGUE_OPERANDS)
           : p->e.nodes == TJ_EPILOGUE_NODES ? fail(p, start, "the expression has more than %d operations", TJ_EPILOGUE_NODES)
                                             : fail(p, start,
                                                    "this cannot be the name of an operand: use a lower-case letter, then "
                                                    "letters, digits and _, and no word of the language");
}

/* Report a name that no function has, with the names that there are. */
static int fail_no_function(parsing *p, const char *start)
{
    char names[256] = "";
    size_t length = 0;

    for (int i = TJ_OP_NEGATE; i < TJ_OPS; i++) {
        const char *name = tj_op_facts_of(i)->name;

        if (*name >= 'a' && *name <= 'z' && length < sizeof names)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s, ", name);
    }
    return fail(p, start, "no function has this name: use %sclamp, or a type such as bf16", names);
}

/* Parse f(x, y): name is a function, and its bracket is next. */
static int parse_call(parsing *p, const char *start, const char *name)
{
    int argument[3] = {0, 0, 0}, count = 0, op = TJ_OP_NONE, wanted;
    tj_type type = TJ_TYPE_DEFAULT;

    for (int i = TJ_OP_NEGATE; i < TJ_OPS && op == TJ_OP_NONE; i++)
        op = strcmp(name, tj_op_facts_of(i)->name) == 0 ? i : TJ_OP_NONE;
    if (op == TJ_OP_NONE && tj_type_parse_whole(name, &type))
        op = TJ_OP_CONVERT;
    if (op == TJ_OP_NONE && strcmp(name, "sum") == 0)
        return fail(
            p, start,
            "a sum is all that an output for each row or column receives: name[row] = sum(...); or name[col] = sum(...);");
    if (op == TJ_OP_NONE && strcmp(name, "clamp") != 0)
        return fail_no_function(p, start);
    (void)take(p, "(");
    wanted = op == TJ_OP_NONE ? 3 : tj_op_facts_of(op)->arguments;
    do {
        if (count == wanted)
            return fail(p, p->at, "%s takes %d argument%s", name, wanted, wanted == 1 ? "" : "s");
        argument[count] = parse_condition(p);
        if (argument[count++] < 0)
            return -1;
    } while (take(p, ","));
    if (!take(p, ")"))
        return fail(p, p->at, "expected \",\" or \")\" in the arguments of %s", name);
    if (count != wanted)
        return fail(p, start, "%s takes %d arguments, not %d", name, wanted, count);
    if (op == TJ_OP_NONE) { /* clamp(x, low, high) */
        const int above = apply(p, start, TJ_OP_MAX, argument[0], argument[1], 0);

        return apply(p, start, TJ_OP_MIN, above, argument[2], 0);
    }
    return apply(p, start, op, argument[0], op == TJ_OP_CONVERT ? (int)type : argument[1], argument[2]);
}

/* Parse "[2*col]" or "[2*col+1]" after acc: the first or the second of a pair of columns. */
static int parse_pair(parsing *p)
{
    const char *start = p->at;
    const bool is_even = take(p, "[") && take(p, "2") && take(p, "*") && take(p, "col"), is_odd = is_even && take(p, "+");

    if (is_even && (!is_odd || take(p, "1")) && take(p, "]"))
        return apply(p, start, is_odd ? TJ_OP_ACC_ODD : TJ_OP_ACC_EVEN, 0, 0, 0);
    return fail(p, start, "acc stands alone, or is one of a pair of columns, acc[2*col] or acc[2*col+1]");
}

static int parse_word(parsing *p)
{
    const char *start = p->at;
    char name[WORD_BYTES] = "";
    size_t length = 0;

    while (is_letter(start[length]) || is_digit(start[length]))
        length++;
    if (length >= sizeof name)
        return fail(p, start, "the name has %zu letters: an operand's has at most %d", length, TJ_EPILOGUE_NAME_BYTES - 1);
    memcpy(name, start, length);
    p->at += length;
    skip(p);
    if (*p->at == '(')
        return parse_call(p, start, name);
    for (int op = TJ_OP_ACC; op <= TJ_OP_C; op++)
        if (strcmp(name, tj_op_facts_of(op)->name) == 0)
            return *p->at != '['     ? apply(p, start, op, 0, 0, 0)
                   : op == TJ_OP_ACC ? parse_pair(p)
                                     : fail(p, p->at, "%s is not indexed: write %s alone", name, name);
    return parse_operand(p, start, name);
}

static int parse_value(parsing *p)
{
    int node;

    skip(p);
    if (is_digit(*p->at) || (*p->at == '.' && is_digit(p->at[1])))
        return parse_number(p);
    if (is_letter(*p->at))
        return parse_word(p);
    if (!take(p, "("))
        return fail(p, p->at,
                    *p->at == '\0' ? "the expression ends where a value is expected"
                                   : "expected a number, an operand, a function or a bracket");
    node = parse_condition(p);
    if (node >= 0 && !take(p, ")"))
        return fail(p, p->at, "expected \")\"");
    return node;
}

static int parse_signed(parsing *p)
{
    const char *start;
    int node, op = TJ_OP_NONE;

    skip(p);
    start = p->at;
    if (++p->nested > MOST_NESTED)
        return fail(p, start, "brackets, calls and signs are nested more than %d deep", MOST_NESTED);
    if (*start == '-' || *start == '+' || (*start == '!' && start[1] != '=')) {
        op = *start == '-' ? TJ_OP_NEGATE : *start == '!' ? TJ_OP_NOT : TJ_OP_NONE;
        p->at++;
        if (*p->at == *start && *start != '!')
            return fail(p, start, "%c%c is not an operation: nothing is assigned here", *start, *start);
        node = parse_signed(p);
        node = node >= 0 && op != TJ_OP_NONE ? apply(p, start, op, node, 0, 0) : node;
    } else {
        node = parse_value(p);
    }
    p->nested--;
    return node;
}

static int parse_product(parsing *p)
{
    int node = parse_signed(p);

    for (skip(p); node >= 0 && (*p->at == '*' || *p->at == '/'); skip(p)) {
        const char *sign = p->at++;
        const int next = parse_signed(p);

        node = next < 0 ? -1 : apply(p, sign, *sign == '*' ? TJ_OP_MULTIPLY : TJ_OP_DIVIDE, node, next, 0);
    }
    return node;
}

static int parse_sum(parsing *p)
{
    int node = parse_product(p);

    for (skip(p); node >= 0 && (*p->at == '+' || *p->at == '-'); skip(p)) {
        const char *sign = p->at++;
        const int next = parse_product(p);

        node = next < 0 ? -1 : apply(p, sign, *sign == '+' ? TJ_OP_ADD : TJ_OP_SUBTRACT, node, next, 0);
    }
    return node;
}

/* a > b is b < a. */
static int parse_comparison(parsing *p)
{
    static const struct {
        const char *sign;
        int op;
        bool swaps;
    } signs[] = {{"<=", TJ_OP_LESS_EQUAL, false}, {">=", TJ_OP_LESS_EQUAL, true}, {"==", TJ_OP_EQUAL, false},
                 {"!=", TJ_OP_NOT_EQUAL, false},  {"<", TJ_OP_LESS, false},       {">", TJ_OP_LESS, true}};
    const int node = parse_sum(p);

    for (size_t i = 0; node >= 0 && i < sizeof signs / sizeof signs[0]; i++) {
        int next;

        skip(p);
        const char *where = p->at;
        if (!take(p, signs[i].sign))
            continue;
        next = parse_sum(p);
        return next < 0 ? -1 : apply(p, where, signs[i].op, signs[i].swaps ? next : node, signs[i].swaps ? node : next, 0);
    }
    return node;
}

static int parse_both(parsing *p)
{
    int node = parse_comparison(p);
    const char *where = p->at;

    while (node >= 0 && take(p, "&&")) {
        const int next = parse_comparison(p);

        node = next < 0 ? -1 : apply(p, where, TJ_OP_AND, node, next, 0);
        where = p->at;
    }
    return node;
}

static int parse_condition(parsing *p)
{
    int node = parse_both(p);
    const char *where = p->at;

    while (node >= 0 && take(p, "||")) {
        const int next = parse_both(p);

        node = next < 0 ? -1 : apply(p, where, TJ_OP_OR, node, next, 0);
        where = p->at;
    }
    return node;
}

/* Skip "name:type[index] =" without checking it; NULL: something else begins here. */
static const char *past_assignment(const char *at)
{
    at += strspn(at, blanks);
    if (!is_letter(*at))
        return NULL;
    while (is_letter(*at) || is_digit(*at) || strchr(blanks, *at) || *at == ':')
        if (*at++ == '\0')
            return NULL;
    if (*at == '[') {
        at += strcspn(at, "]");
        at += *at == ']';
        at += strspn(at, blanks);
    }
    return *at == '=' && at[1] != '=' ? at + 1 : NULL;
}

/* Parse "sum(value)" or "max(value)", the only values of an output for each row or column. Returns tj_reduction, or -1. */
static int parse_reduction(parsing *p, const char *name, int indexed, int *value)
{
    const char *const index = indexed == TJ_BY_ROW ? "row" : "col";
    const char *start;
    int reduction = TJ_REDUCE_NOT;

    skip(p);
    start = p->at;
    if (take(p, "sum"))
        reduction = TJ_REDUCE_SUM;
    else if (take(p, "max"))
        reduction = TJ_REDUCE_MAX;
    if (reduction == TJ_REDUCE_NOT || !take(p, "("))
        return fail(
            p, start,
            "an output for each %s reduces it: write %s[%s] = sum(...); or %s[%s] = max(...); or index it by [row, col]",
            indexed == TJ_BY_ROW ? "row" : "column", name, index, name, index);
    if ((*value = parse_condition(p)) < 0)
        return -1;
    if (take(p, ","))
        return fail(p, p->at - 1, "a reduction takes one value: write max(max(x, y)) for the largest of two in each element");
    if (!take(p, ")"))
        return fail(p, p->at, "expected \")\" after the value that is reduced");
    skip(p);
    if (*p->at != ';' && *p->at != '\0')
        return fail(p, p->at, "a reduction stands alone: expected \";\" after it");
    return reduction;
}

/* Parse "name:type[row, col] = value;" or "name:type[row] = sum(value);". */
static int parse_output(parsing *p)
{
    const char *start, *past = past_assignment(p->at);
    char name[WORD_BYTES] = "";
    size_t length = 0;
    tj_type type;
    int indexed, value = -1, reduction = TJ_REDUCE_NOT, added;

    skip(p);
    start = p->at;
    while (is_letter(start[length]) || is_digit(start[length]))
        length++;
    memcpy(name, start, length < sizeof name ? length : sizeof name - 1);
    p->at += length;
    skip(p);
    if ((indexed = parse_declaration(p, &type)) < 0)
        return -1;
    if (indexed == TJ_BY_NOTHING || indexed == TJ_BY_PRODUCT || !take(p, "=") || p->at != past)
        return fail(p, past - 1, "nothing is assigned here: an output is indexed, name[row, col] = value;");
    if (indexed == TJ_BY_BOTH)
        value = parse_condition(p);
    else
        reduction = parse_reduction(p, name, indexed, &value);
    if (reduction < 0 || value < 0)
        return -1;
    if (tj_node_is_condition(&p->e, value))
        return fail(p, start, "an output holds numbers, and this is a condition: use select(condition, 1, 0)");
    if (!take(p, ";"))
        return fail(p, p->at, "expected \";\" after the value of an output, and the value of P after that");
    added = indexed == TJ_BY_BOTH ? tj_expression_output(&p->e, name, (int)type, value)
                                  : tj_expression_reduction(&p->e, name, indexed, (int)type, reduction, value);
    if (added >= 0)
        return 0;
    return p->e.operands == TJ_EPILOGUE_OPERANDS
               ? fail(p, start, "the expression has more than %d operands and outputs", TJ_EPILOGUE_OPERANDS)
               : fail(p, start, "this cannot be the name of an output: it is a word of the language, or names something else");
}

tj_status tj_epilogue_parse(const char *text, tj_epilogue *epilogue, tj_error *err)
{
    if (TJ_HAS_NULL(err, text, epilogue))
        return TJ_ERR_INVALID_ARGUMENT;
    parsing p = {.text = text, .at = text, .err = err};
    tj_error why;
    int node;

    if (strnlen(text, TJ_EPILOGUE_PARSED_BYTES + 1) > TJ_EPILOGUE_PARSED_BYTES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the epilogue has more than %d bytes: write less, or use the builders",
                       TJ_EPILOGUE_PARSED_BYTES);
    if (text[strspn(text, blanks)] == '\0')
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the epilogue is empty: write an expression such as relu(acc), or acc");
    for (node = 0; node >= 0 && past_assignment(p.at);)
        node = parse_output(&p);
    if (node >= 0)
        node = parse_condition(&p);
    skip(&p);
    if (node >= 0 && *p.at != '\0')
        node = fail(&p, p.at,
                    *p.at == '='   ? "nothing is assigned here: an epilogue is one expression, the value of P"
                    : *p.at == '?' ? "write select(condition, x, y) in place of ?:"
                                   : "the expression ends before this: remove the rest, or add an operation");
    if (node < 0)
        return TJ_ERR_INVALID_ARGUMENT;
    if (tj_epilogue_finish(&p.e, node, epilogue, &why) != TJ_OK)
        return tj_fail_with_caret(err, TJ_ERR_INVALID_ARGUMENT, text, 0, "column 1: %s", why.message);
    return TJ_OK;
}
