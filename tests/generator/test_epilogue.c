/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Expressions of an epilogue: their language, their canonical form, expressions that are refused, and the CUDA source that is
 * printed from them.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/source.h>

#include "locales.h"
#include "template.h"
#include "tree.h"

static tj_epilogue parse(const char *text)
{
    tj_epilogue epilogue = {0};
    tj_error err = {TJ_OK, ""};

    cr_assert(eq(int, tj_epilogue_parse(text, &epilogue, &err), TJ_OK), "%s: %s", text, err.message);
    return epilogue;
}

/* ---- two spellings ------------------------------------------------------------------------------------------------ */

Test(epilogue, two_spellings_of_one_tree_are_equal_bytes)
{
    static const char *const same[][2] = {
        {"gelu(acc + bias[col])", " gelu ( (bias [ col ])+acc )\n"},
        {"acc * 2 + 1", "1 + 2*acc"},
        {"acc > 0", NULL},
        {"select(acc > 0, acc, 0)", "select(0 < acc, (acc), 0.0)"},
        {"select(acc >= row, acc, 0)", "select(row <= acc, acc, 0)"},
        {"clamp(acc, -1, 6)", "min(max(acc, -1), 6)"},
        {"clamp(acc, -1, 6)", "min(6, max(-1.0, acc))"},
        {"relu(gain[row]*acc + residual[row,col])", "relu(residual[row, col] + acc*gain[row])"},
        {"acc * factor[0]", "factor [ 0 ]*acc"},
        {"acc*0.5e1", "acc*5"},
        {"(a*b + b*a) * acc", "acc * (a*b + a*b)"},
        {"alpha*acc + beta*c", "c * beta + acc * alpha"},
        {"--1 * acc", NULL},
        {"-(-1) * acc", "acc * 1"},
        {"silu(acc[2*col]) * acc[2*col+1]", "acc[ 2 * col + 1 ]*silu(acc[2 *col])"},
        {"peak[row] = max(abs(acc + bias[col])); acc", "peak [ row ]=max ( (abs(bias[col]+acc)) ) ;acc"},
    };

    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        tj_epilogue a, b;

        if (!same[i][1])
            continue;
        a = parse(same[i][0]);
        b = parse(same[i][1]);
        cr_expect(tj_same_bytes(&a, &b, sizeof a), "%s and %s differ", same[i][0], same[i][1]);
    }
}

Test(epilogue, what_is_not_one_tree_differs)
{
    static const char *const other[][2] = {
        {"acc * 0.1", "acc * 0.10000000000000002"}, /* the last digit of a constant */
        {"acc - bias[col]", "bias[col] - acc"},
        {"acc + bias[col]", "acc + bias[row]"},
        {"acc + bias", "acc + bias[0]"},
        {"acc + bias[col]", "acc + bias:bf16[col]"},
        {"acc + bias[col]", "acc + shift[col]"},
        {"(acc + 1) + 2", "acc + (1 + 2)"}, /* sums round */
        {"gelu(acc)", "gelu_tanh(acc)"},
        {"acc[2*col] - acc[2*col+1]", "acc[2*col+1] - acc[2*col]"},
        {"x[row] = sum(acc); acc", "x[row] = max(acc); acc"},
        {"x[row] = sum(acc); acc", "x[col] = sum(acc); acc"},
        {"x[row] = sum(acc); acc", "x:bf16[row] = sum(acc); acc"},
    };

    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        const tj_epilogue a = parse(other[i][0]), b = parse(other[i][1]);

        cr_expect(not(tj_same_bytes(&a, &b, sizeof a)), "%s and %s are equal", other[i][0], other[i][1]);
    }
}

Test(epilogue, simple_formulas_are_flags)
{
    const tj_epilogue both = parse("acc*alpha + c*beta"), none = parse(" (acc) "), one = parse("alpha*acc");

    cr_expect(both.has_alpha == 1 && both.has_beta == 1 && both.expression.nodes == 0);
    cr_expect(none.has_alpha == 0 && none.has_beta == 0 && none.expression.nodes == 0);
    cr_expect(one.has_alpha == 1 && one.has_beta == 0 && one.expression.nodes == 0);
}

/* For every accepted text, the canonical one is accepted too, in every locale, and is itself. */
Test(epilogue, canonical_text_reads_back_as_the_same_bytes)
{
    static const char *const texts[] = {"acc",
                                        "alpha * acc + beta * c",
                                        "acc + c",
                                        "relu(alpha*acc - beta*c)",
                                        "gelu_tanh(acc)*x:e4m3[row,col]",
                                        "select(row >= col && acc != 0 || !(col < 3), acc/(a - (b - c)), -1e-30)",
                                        "s8(acc*127)/127",
                                        "-(acc + 1)*-2.5",
                                        "exp(-acc)*log(2)*sqrt(3)*rsqrt(4)*tanh(5)*erf(6)*sigmoid(7)*silu(8)*abs(9)",
                                        "a - b - acc",
                                        "-(-acc) - -(-(-a))",
                                        "a/(b/acc)",
                                        "a/b/acc",
                                        "1/0*acc",
                                        "0.1*acc + 1e300*slope",
                                        "pre:bf16[row,col] = acc + bias[col]; gelu(acc + bias[col])",
                                        "a[row,col] = acc; b:f16[row,col] = 2*acc; acc",
                                        "factor:bf16[0]*acc",
                                        "silu(acc[2*col] + a[col])*(acc[2*col+1] + b[col])",
                                        "peak[row] = max(abs(acc)); total:bf16[col] = sum(gelu(acc)); acc",
                                        "sum[row] = sum(max(acc, sum2[col])); x[row,col] = acc; acc"};
    char folder[] = "/tmp/tilejit-epilogue-XXXXXX", command[64];

    cr_assert(mkdtemp(folder) != NULL);
    for (size_t locale = 0; locale < TEST_LOCALES; locale++) {
        if (!enter_locale(folder, test_locales[locale]))
            continue;
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
            const tj_epilogue first = parse(texts[i]);
            char text[TJ_EPILOGUE_TEXT_BYTES], cell[TJ_EPILOGUE_TEXT_BYTES];
            tj_epilogue again;

            tj_epilogue_print(&first, text);
            again = parse(text);
            cr_expect(tj_same_bytes(&first, &again, sizeof first), "%s is printed as %s", texts[i], text);
            tj_epilogue_print_as(&first, true, cell); /* a blank in place of each comma, and no other */
            for (char *at = cell; (at = strchr(at, ' ')) && first.expression.nodes > 0; at++)
                *at = ',';
            again = parse(cell);
            cr_expect(tj_same_bytes(&first, &again, sizeof first), "%s is a cell %s", texts[i], cell);
        }
    }
    (void)setlocale(LC_ALL, "C");
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_expect(zero(int, system(command)));
}

/* ---- refused ------------------------------------------------------------------------------------------------------ */

static bool is_shown(char c)
{
    return c == '\n' || (unsigned char)c >= 0x80 || (c >= 32 && c < 127);
}

static void expect_refused(const char *text, int column, const char *words)
{
    tj_epilogue epilogue = {.has_alpha = 1}, before = epilogue;
    tj_error err = {TJ_OK, ""};
    char start[32];

    cr_expect(eq(int, tj_epilogue_parse(text, &epilogue, &err), TJ_ERR_INVALID_ARGUMENT), "accepted: %.60s", text);
    cr_expect(strstr(err.message, words) != NULL, "%.60s: %s", text, err.message);
    cr_expect(tj_same_bytes(&epilogue, &before, sizeof before), "a refused text changes the epilogue");
    for (const char *c = err.message; *c; c++)
        cr_assert(is_shown(*c), "%.60s: byte %d in the message", text, *c);
    if (column == 0)
        return;
    snprintf(start, sizeof start, "column %d: ", column);
    cr_expect(strncmp(err.message, start, strlen(start)) == 0, "%.60s: %s", text, err.message);
    cr_expect(eq(chr, err.message[strlen(err.message) - 1], '^'));
}

/* The caret stands under the column. */
Test(epilogue, a_fault_is_pointed_at)
{
    tj_epilogue epilogue = {0};
    tj_error err;
    const char *text, *caret;

    cr_assert(tj_epilogue_parse("gelu(acc + 3x)", &epilogue, &err) != TJ_OK);
    text = strchr(err.message, '\n') + 1;
    caret = strchr(text, '\n') + 1;
    cr_expect(eq(chr, text[strlen(caret) - 1], 'x'), "%s", err.message);
}

Test(epilogue, hostile_texts_are_refused_in_words)
{
    expect_refused("", 0, "is empty");
    expect_refused(" \t\n", 0, "is empty");
    expect_refused("acc \xff", 5, "ends before this");
    expect_refused("\xef\xbb\xbf"
                   "acc",
                   1, "expected a number");
    expect_refused("acc ?\?/ 2", 5, "select");
    expect_refused("acc \\\n + 1", 5, "ends before this");
    expect_refused("acc // comment", 6, "expected a number");
    expect_refused("acc /* x */", 6, "expected a number");
    expect_refused("#include \"/etc/passwd\"", 1, "expected a number");
    expect_refused("%:include", 1, "expected a number");
    expect_refused("_Pragma(\"x\")", 1, "no function has this name");
    expect_refused(
        "swish(acc)", 1,
        "use abs, exp, log, sqrt, rsqrt, tanh, erf, sigmoid, relu, gelu, gelu_tanh, silu, min, max, select, clamp, or");
    expect_refused("__DATE__", 1, "cannot be the name");
    expect_refused("asm(\"trap;\")", 1, "no function has this name");
    expect_refused("x); } extern \"C\" __global__ void e(){(", 2, "ends before this");
    expect_refused("((acc)", 7, "expected \")\"");
    expect_refused("acc)", 4, "ends before this");
    expect_refused("x=1", 2, "nothing is assigned");
    expect_refused("++x", 1, "++ is not an operation");
    expect_refused("*p", 1, "expected a number");
    expect_refused("&x", 1, "expected a number");
    expect_refused("x[1]", 3, "is indexed by");
    expect_refused("x[0] = max(acc); acc", 6, "nothing is assigned");
    expect_refused("x[row+1]", 3, "is indexed by");
    expect_refused("acc[0]", 4, "acc[2*col] or acc[2*col+1]");
    expect_refused("acc[2*row]", 4, "acc[2*col] or acc[2*col+1]");
    expect_refused("acc[3*col]", 4, "acc[2*col] or acc[2*col+1]");
    expect_refused("acc[2*col+2]", 4, "acc[2*col] or acc[2*col+1]");
    expect_refused("acc[2*col", 4, "acc[2*col] or acc[2*col+1]");
    expect_refused("alpha[2*col]", 6, "is not indexed");
    expect_refused("bias[2*col] + acc", 6, "is indexed by");
    expect_refused("acc + acc[2*col]", 1, "names acc and a pair of columns");
    expect_refused("({1;})", 2, "expected a number");
    expect_refused("[](){}()", 1, "expected a number");
    expect_refused("printf(\"%n\")", 1, "no function has this name");
    expect_refused("__trap()", 1, "no function has this name");
    expect_refused("assert(0)", 1, "no function has this name");
    expect_refused("__global__", 1, "cannot be the name");
    expect_refused("int(acc)", 1, "no function has this name");
    expect_refused("malloc(1)", 1, "no function has this name");
    expect_refused("Bias[col]", 1, "cannot be the name");
    expect_refused("1e999", 1, "too large");
    expect_refused("0x1p+5", 2, "does not belong to a number");
    expect_refused("1.f.f", 3, "does not belong to a number");
    expect_refused("08", 1, "a number begins with 0");
    expect_refused("1e", 2, "no digits");
    expect_refused("\"text\"", 1, "expected a number");
    expect_refused("'c'", 1, "expected a number");
    expect_refused("1_km", 2, "does not belong to a number");
    expect_refused("acc %s%n", 5, "ends before this");
    expect_refused("acc \x1b[31m", 5, "ends before this");
    expect_refused("acc < 0", 0, "is a condition");
    expect_refused("acc + (acc < 0)", 5, "takes numbers");
    expect_refused("select(acc, 1, 2)", 1, "takes a condition");
    expect_refused("!acc", 1, "takes a condition");
    expect_refused("gelu()", 6, "expected a number");
    expect_refused("gelu(acc, acc)", 10, "takes 1 argument");
    expect_refused("min(acc)", 1, "takes 2 arguments, not 1");
    expect_refused("x[row] + x[col]", 10, "indexed in two ways");
    expect_refused("x:f16[row] + x:bf16[row]", 14, "has two types");
    expect_refused("x:float[row]", 3, "no element type");
    expect_refused("x:f16", 3, "has no element type");
    expect_refused("abcdefghijklmnop[row]", 1, "more than 15 letters");
    expect_refused("pre[col] = acc; acc", 12, "an output for each column reduces it: write pre[col] = sum(...);");
    expect_refused("pre[row] = abs(acc); acc", 12, "an output for each row reduces it");
    expect_refused("pre[row] = sum; acc", 12, "an output for each row reduces it");
    expect_refused("pre[row] = max(acc, 0); acc", 19, "a reduction takes one value");
    expect_refused("pre[row] = sum(acc) / 2; acc", 21, "a reduction stands alone");
    expect_refused("pre[row] = sum(acc", 19, "expected \")\"");
    expect_refused("pre[row] = sum(); acc", 16, "expected a number");
    expect_refused("pre[row] = sum(acc)", 20, "expected \";\"");
    expect_refused("pre[row] = max(acc < 0); acc", 1, "this is a condition");
    expect_refused("pre[row] = max(acc); acc / pre[row]", 28, "is an output and is not read");
    expect_refused("pre[row] = max(acc); pre[col] = max(acc); acc", 22, "names something else");
    expect_refused("pre[row] = max(sum(acc)); acc", 16, "a sum is all that an output for each row or column receives");
    expect_refused("pre[row, col] = sum(acc); acc", 17, "a sum is all that an output for each row or column receives");
    expect_refused("sum(acc)", 1, "a sum is all that an output for each row or column receives");
    expect_refused("max[row] = sum(acc); acc", 1, "cannot be the name of an output");
    expect_refused("pre = acc; acc", 5, "nothing is assigned here");
    expect_refused("pre = sum(acc); acc", 5, "nothing is assigned here");
    expect_refused("pre[row,col] = acc", 19, "expected \";\"");
    expect_refused("pre[row,col] = acc; pre[row,col]", 21, "is an output and is not read");
    expect_refused("pre[row,col] = acc; pre[row,col] = acc; acc", 21, "names something else");
    expect_refused("pre[row,col] = acc < 0; acc", 1, "this is a condition");
    expect_refused("gelu[row,col] = acc; acc", 1, "cannot be the name of an output");
    expect_refused("acc + beta", 1, "beta without c");
}

/* Repeats a piece, between two others. */
static char *many(const char *before, const char *piece, int count, const char *after)
{
    char *text = malloc(strlen(before) + strlen(piece) * (size_t)count + strlen(after) + 1), *at = text;

    cr_assert(text != NULL);
    at = stpcpy(at, before);
    for (int i = 0; i < count; i++)
        at = stpcpy(at, piece);
    strcpy(at, after);
    return text;
}

Test(epilogue, long_and_deep_texts_are_refused)
{
    static const struct {
        const char *before, *piece;
        int count;
        const char *after, *words;
    } texts[] = {
        {"acc", " ", 4094, "", "more than 4096 bytes"},
        {"a", "b", 65536, "[col]", "more than 4096 bytes"},
        {"a", "b", 4000, "[col]", "letters"},
        {"", "(", 65, "acc", "nested more than 64 deep"},
        {"", "(", 4000, "acc", "nested more than 64 deep"},
        {"", "-", 10000, "acc", "more than 4096 bytes"},
        {"", "- ", 2000, "acc", "nested more than 64 deep"},
        {"", "abs(", 1000, "acc", "nested more than 64 deep"},
        {"", "select(acc<0,", 300, "acc", "nested more than 64 deep"},
        {"acc", "+1", 100000, "", "more than 4096 bytes"},
        {"acc", "+acc*acc", 500, "", "more than 64 operations"},
        {"min(acc", ",", 4000, ")", "expected a number"},
        {"min(acc", ",", 100000, ")", "more than 4096 bytes"},
        {"", "acc<0?", 10000, "acc", "more than 4096 bytes"},
        {"", "bf16(", 65, "acc", "nested more than 64 deep"},
        {"a[row] = ", "sum(", 1000, "acc", "a sum is all"},
        {"", "a[row] = max(acc); ", 20, "acc", "names something else"},
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char *text = many(texts[i].before, texts[i].piece, texts[i].count, texts[i].after);

        expect_refused(text, 0, texts[i].words);
        free(text);
    }
}

/* Texts that look dangerous and are not: a keyword of C++, a name of the templates, infinities and NaN by arithmetic. */
Test(epilogue, harmless_texts_are_taken)
{
    static const char *const texts[] = {"acc * float", "for + acc",      "acc + pvalue[col]",         "acc + sum[row] + k",
                                        "1/0 * acc",   "sqrt(-1) + acc", "99999999999999999999 * acc"};
    tj_epilogue epilogue = {0};
    tj_error err;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cr_expect(eq(int, tj_epilogue_parse(texts[i], &epilogue, &err), TJ_OK), "%s: %s", texts[i], err.message);
    cr_expect(eq(int, tj_epilogue_parse(NULL, &epilogue, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_epilogue_parse("acc", NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_epilogue_parse("acc +", &epilogue, NULL), TJ_ERR_INVALID_ARGUMENT));
}

Test(epilogue, limits_of_operands_and_constants)
{
    expect_refused("acc+a[col]+b[col]+d[col]+e[col]+f[col]+g[col]+h[col]+i[col]+j[col]", 0, "more than 8 operands");
    expect_refused(
        "a[col]=sum(acc);b[col]=sum(acc);d[col]=sum(acc);e[row]=max(acc);f[row]=max(acc);g[row]=sum(acc);h[row]=sum(acc);"
        "i[row]=sum(acc);x[row]=sum(acc);acc",
        0, "more than 8 operands");
    expect_refused("acc*1+2*3+4*5+6*7+8*9+10*11+12*13+14*15+16*17", 0, "more than 16 constants");
}

/* ---- builders ----------------------------------------------------------------------------------------------------- */

Test(epilogue, builders_make_what_the_parser_makes)
{
    tj_epilogue built = {0}, parsed = parse("gelu(acc + bias:bf16[col]) * 0.5");
    tj_expression e = {0};
    tj_error err = {TJ_OK, ""};
    const int half = tj_expression_constant(&e, 0.5), bias = tj_expression_operand(&e, "bias", TJ_BY_COL, TJ_BF16);
    const int sum = tj_expression_apply(&e, TJ_OP_ADD, bias, tj_expression_apply(&e, TJ_OP_ACC, 0, 0, 0), 0);
    const int value = tj_expression_apply(&e, TJ_OP_MULTIPLY, tj_expression_apply(&e, TJ_OP_GELU, sum, 0, 0), half, 0);

    cr_expect(tj_expression_apply(&e, TJ_OP_EXP, sum, 0, 0) >= 0); /* a node that P does not need is left out */
    cr_assert(eq(int, tj_epilogue_finish(&e, value, &built, &err), TJ_OK), "%s", err.message);
    cr_expect(tj_same_bytes(&built, &parsed, sizeof built));
    cr_expect(eq(int, tj_epilogue_find(&built, "bias"), 0));
    cr_expect(eq(int, tj_epilogue_find(&built, "gain"), -1));
}

Test(epilogue, builders_make_reductions)
{
    tj_epilogue built = {0}, parsed = parse("peak:bf16[row] = max(abs(acc)); total[col] = sum(acc); acc");
    tj_expression e = {0};
    tj_error err = {TJ_OK, ""};
    const int acc = tj_expression_apply(&e, TJ_OP_ACC, 0, 0, 0), size = tj_expression_apply(&e, TJ_OP_ABS, acc, 0, 0);

    cr_expect(eq(int, tj_expression_reduction(&e, "peak", TJ_BY_BOTH, 0, TJ_REDUCE_MAX, size), -1));
    cr_expect(eq(int, tj_expression_reduction(&e, "peak", TJ_BY_NOTHING, 0, TJ_REDUCE_MAX, size), -1));
    cr_expect(eq(int, tj_expression_reduction(&e, "peak", TJ_BY_ROW, 0, TJ_REDUCE_NOT, size), -1));
    cr_expect(eq(int, tj_expression_reduction(&e, "peak", TJ_BY_ROW, 0, 3, size), -1));
    cr_expect(eq(int, tj_expression_reduction(&e, "peak", TJ_BY_ROW, 99, TJ_REDUCE_MAX, size), -1));
    cr_expect(eq(int, tj_expression_reduction(&e, "peak", TJ_BY_ROW, 0, TJ_REDUCE_MAX, 7), -1));
    cr_expect(eq(int, tj_expression_reduction(&e, "abs", TJ_BY_ROW, 0, TJ_REDUCE_MAX, size), -1));
    cr_expect(eq(int, tj_expression_reduction(&e, "peak", TJ_BY_ROW, TJ_BF16, TJ_REDUCE_MAX, size), 0));
    cr_expect(eq(int, tj_expression_reduction(&e, "peak", TJ_BY_COL, 0, TJ_REDUCE_SUM, acc), -1));
    cr_expect(eq(int, tj_expression_reduction(&e, "total", TJ_BY_COL, 0, TJ_REDUCE_SUM, acc), 1));
    cr_assert(eq(int, tj_epilogue_finish(&e, acc, &built, &err), TJ_OK), "%s", err.message);
    cr_expect(tj_same_bytes(&built, &parsed, sizeof built));
    cr_expect(tj_epilogue_reduces(&built) == 1 && tj_epilogue_reduces(NULL) == 0);
    cr_expect(eq(int, tj_epilogue_reduces(&(tj_epilogue){0}), 0));
}

Test(epilogue, builders_refuse_what_cannot_be)
{
    tj_epilogue epilogue = {0};
    tj_expression e = {0}, broken = {.nodes = 1000};
    tj_error err;
    const int acc = tj_expression_apply(&e, TJ_OP_ACC, 0, 0, 0);
    int doubled = acc;

    cr_expect(eq(int, tj_expression_apply(&e, TJ_OP_ADD, acc, -1, 0), -1));
    cr_expect(eq(int, tj_expression_apply(&e, TJ_OP_ADD, acc, 60, 0), -1));
    cr_expect(eq(int, tj_expression_apply(&e, TJ_OPS, acc, acc, 0), -1));
    cr_expect(eq(int, tj_expression_apply(&e, -1, acc, acc, 0), -1));
    cr_expect(eq(int, tj_expression_apply(&e, TJ_OP_CONVERT, acc, 99, 0), -1));
    cr_expect(eq(int, tj_expression_apply(&e, TJ_OP_NOT, acc, 0, 0), -1));
    cr_expect(eq(int, tj_expression_operand(&e, "acc", TJ_BY_COL, 0), -1));
    cr_expect(eq(int, tj_expression_operand(&e, "x;", TJ_BY_COL, 0), -1));
    cr_expect(eq(int, tj_expression_operand(&e, "gelu", TJ_BY_COL, 0), -1));
    cr_expect(eq(int, tj_expression_operand(&e, "f32", TJ_BY_COL, 0), -1));
    cr_expect(eq(int, tj_expression_operand(&e, "x", 9, 0), -1));
    cr_expect(eq(int, tj_expression_constant(&e, 1.0 / 0.0), -1));
    cr_expect(eq(int, tj_expression_constant(&broken, 1), -1));
    cr_expect(eq(int, tj_epilogue_finish(&e, -1, &epilogue, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_epilogue_finish(&broken, 0, &epilogue, &err), TJ_ERR_INVALID_ARGUMENT));
    for (int i = 0; i < 40; i++) /* a tree of 2^40 leaves in 40 nodes */
        doubled = tj_expression_apply(&e, TJ_OP_ADD, doubled, doubled, 0);
    cr_expect(eq(int, tj_epilogue_finish(&e, doubled, &epilogue, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "canonical text") != NULL, "%s", err.message);
}

/* ---- in a problem ------------------------------------------------------------------------------------------------- */

static void expect_problem_refused(const tj_problem *problem, const char *words)
{
    tj_error err = {TJ_OK, ""};

    cr_expect(eq(int, tj_problem_check(problem, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, words) != NULL, "%s", err.message);
}

Test(epilogue, a_problem_takes_no_tree_that_nobody_made)
{
    tj_problem problem = TJ_PROBLEM_INIT(33, 20, 47, TJ_F32);

    problem.epilogue = parse("gelu(acc + bias[col])");
    problem.epilogue.expression.node[3].a = 200;
    expect_problem_refused(&problem, "is not what tj_epilogue_parse");
    problem.epilogue = parse("gelu(acc + bias[col])");
    problem.epilogue.expression.nodes = -5;
    expect_problem_refused(&problem, "is not what");
    problem.epilogue = parse("gelu(acc + bias[col])");
    memset(problem.epilogue.expression.operand[0].name, 'x', TJ_EPILOGUE_NAME_BYTES);
    expect_problem_refused(&problem, "is not what");
    problem.epilogue = parse("gelu(acc + bias[col])");
    problem.epilogue.has_alpha = 1;
    expect_problem_refused(&problem, "names no alpha");
    problem.epilogue = (tj_epilogue){.expression.operands = 3};
    expect_problem_refused(&problem, "is not what");
}

Test(epilogue, types_are_checked)
{
    tj_problem problem = TJ_PROBLEM_INIT(33, 20, 47, TJ_F32);

    problem.epilogue = parse("acc + x:f64[col]");
    expect_problem_refused(&problem, "x is f64, and the expression computes in f32");
    problem.epilogue = parse("acc * 1e200");
    expect_problem_refused(&problem, "1e+200");
    problem.m.type = TJ_F64;
    cr_expect(eq(int, tj_problem_check(&problem, NULL), TJ_OK));
    problem.epilogue = parse("acc + x:bf16[col]");
    expect_problem_refused(&problem, "x is bf16, and the expression computes in f64");
    problem.epilogue = parse("e4m3(acc)");
    expect_problem_refused(&problem, "e4m3");
}

/* The workspace has a place for every result, so its size must be known. */
Test(epilogue, reductions_take_fixed_extents)
{
    tj_problem problem = TJ_PROBLEM_INIT(33, 20, 48, TJ_F32);

    problem.epilogue = parse("peak[row] = max(acc); acc");
    cr_expect(eq(int, tj_problem_check(&problem, NULL), TJ_OK));
    problem.k.mode = TJ_DIM_ANY;
    cr_expect(eq(int, tj_problem_check(&problem, NULL), TJ_OK));
    problem.j.mode = TJ_DIM_ANY;
    expect_problem_refused(&problem, "j is known only at launch");
    problem.j.mode = TJ_DIM_FIXED;
    problem.batch = TJ_ANY;
    expect_problem_refused(&problem, "the batch is known only at launch");
    problem.batch = 1;
    problem.rows = (tj_rows){TJ_ROWS_IN_GROUPS, 0, 0, 0, 4, 8, 0};
    expect_problem_refused(&problem, "the problem has groups");
    problem.rows = (tj_rows){0};
    problem.epilogue.expression.operand[0].reduction = 9;
    expect_problem_refused(&problem, "is not what");
    problem.epilogue.expression.operand[0].reduction = TJ_REDUCE_MAX;
    problem.epilogue.expression.operand[0].is_output = 0;
    expect_problem_refused(&problem, "is not what");
}

/* A config whose blocks have not the whole sum says so. */
Test(epilogue, configs_that_do_not_reduce_say_so)
{
    static const char *const configs[][2] = {
        {"skinny:splits=2", "splits is 2"}, {"tiled:shared=dynamic", "shared=static"}, {"simt:splits=2", "splits is 2"},
        {"strip:splits=2", "splits is 2"},  {"mma:splits=2", "splits is 2"},
    };

    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(16, 32, 16, configs[i][0][0] == 'm' ? TJ_BF16 : TJ_F32);
        tj_config config = TJ_CONFIG_INIT;
        tj_error err = {TJ_OK, ""};

        problem.epilogue = parse("peak[row] = max(acc); acc");
        cr_assert(eq(int, tj_config_parse(configs[i][0], &config, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT), "%s", configs[i][0]);
        cr_expect(strstr(err.message, configs[i][1]) != NULL, "%s: %s", configs[i][0], err.message);
    }
}

/* A workspace begins with the results, one of each warp (here 2 x 2 in a block of 64 x 64), and the last kernel combines them. */
Test(epilogue, results_pass_through_the_workspace)
{
    tj_problem problem = TJ_PROBLEM_INIT(100, 32, 200, TJ_BF16);
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    const tj_launch_form *form;
    tj_error err;

    problem.batch = 3;
    problem.epilogue = parse("peak[row] = max(abs(acc)); total[col] = sum(acc); low[row] = max(-acc); acc");
    cr_assert(eq(int, tj_config_parse("mma:bm=64,bn=64,wm=32,wn=32,pack=none", &config, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s", err.message);
    form = tj_source_launch(source);
    cr_assert(eq(int, form->steps, 2));
    cr_expect(eq(i64, form->workspace_bytes, 3 * 4 * (2 * 8 * 100 + 4 * 200)));
    cr_expect(eq(int, form->step[1].grid, TJ_GRID_LINES));
    cr_expect(eq(int, form->step[1].arg_count, 7)); /* three outputs with their strides, and the workspace */
    cr_expect(strncmp(form->step[1].kernel, "combine_", 8) == 0);
    tj_source_free(source);
}

/*
 * Every family reduces, in a launch after the product that takes the results; families with whole products take no workspace.
 */
Test(epilogue, every_family_reduces)
{
    static const char *const configs[] = {"naive", "tiled", "simt",   "skinny",      "strip",
                                          "mma",   "wgmma", "planes", "wgmma_planes"};
    tj_problem problem = TJ_PROBLEM_INIT(16, 32, 16, TJ_F32);
    tj_source *source = NULL;
    tj_error err;

    problem.epilogue = parse("peak[row] = max(abs(acc)); total[col] = sum(acc); acc");
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        const bool is_split = strstr(configs[i], "planes") != NULL, is_wide = strstr(configs[i], "mma") != NULL && !is_split;
        tj_config config = TJ_CONFIG_INIT;
        const tj_launch_form *form;

        problem.compute = is_split ? TJ_COMPUTE_F32_SPLIT : is_wide ? TJ_COMPUTE_TF32 : TJ_COMPUTE_DEFAULT;
        cr_assert(eq(int, tj_config_parse(configs[i], &config, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s: %s", configs[i], err.message);
        form = tj_source_launch(source);
        cr_expect(strncmp(form->step[form->steps - 1].kernel, "combine_", 8) == 0, "%s", configs[i]);
        cr_expect(form->result_bytes > 0 && form->result_bytes <= form->workspace_bytes, "%s", configs[i]);
        tj_source_free(source);
    }
}

/* P has half as many columns as M . N. */
Test(epilogue, pairs_of_columns_halve_p)
{
    tj_problem problem = TJ_PROBLEM_INIT(33, 20, 48, TJ_F32);

    problem.epilogue = parse("silu(acc[2*col]) * acc[2*col+1]");
    cr_expect(eq(int, tj_problem_check(&problem, NULL), TJ_OK));
    cr_expect(tj_epilogue_pairs(&problem.epilogue) == 1 && tj_epilogue_pairs(NULL) == 0);
    cr_expect(eq(i64, tj_problem_canonical(&problem).p.ld, 24));
    cr_expect(eq(i64, tj_problem_span(&problem, TJ_MATRIX_P), 33 * 24));
    cr_expect(eq(i64, tj_problem_span(&problem, TJ_MATRIX_N), 20 * 48));
    problem.p.ld = 23;
    expect_problem_refused(&problem, "ld_p is 23: it must be at least the 24 elements");
    problem.p.ld = 0;
    problem.l.extent = 47;
    expect_problem_refused(&problem, "l is 47: give N an even number of columns");
    problem.l = (tj_dim){48, TJ_DIM_ANY, 0};
    expect_problem_refused(&problem, "multiple of 2");
    problem.l.multiple_of = 2;
    cr_expect(eq(int, tj_problem_check(&problem, NULL), TJ_OK));
    problem.p.layout = TJ_COL_MAJOR;
    expect_problem_refused(&problem, "store P row-major");
}

/* Families without neighbouring columns in one thread, or without any, say so. */
Test(epilogue, configs_that_have_no_pairs_say_so)
{
    static const char *const configs[] = {"small_batch:tn=3", "small_batch:tn=1", "skinny:stream=m", "naive:tile_width=5",
                                          "skinny:lanes=1,tn=1"};
    tj_problem problem = TJ_PROBLEM_INIT(16, 32, 16, TJ_F32);

    problem.epilogue = parse("acc[2*col] * acc[2*col+1]");
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        tj_config config = TJ_CONFIG_INIT;
        tj_error err = {TJ_OK, ""};

        cr_assert(eq(int, tj_config_parse(configs[i], &config, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT), "%s", configs[i]);
        cr_expect(strstr(err.message, "pairs of columns") != NULL, "%s: %s", configs[i], err.message);
    }
}

/* ---- the text ----------------------------------------------------------------------------------------------------- */

static tj_source *generate(const char *epilogue, const char *config_text)
{
    tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_F32);
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    tj_error err = {TJ_OK, ""};

    problem.epilogue = parse(epilogue);
    cr_assert(eq(int, tj_config_parse(config_text, &config, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s", err.message);
    return source;
}

static void expect_text(const char *epilogue, const char *line)
{
    tj_source *source = generate(epilogue, "naive");

    cr_expect(strstr(tj_source_text(source), line) != NULL, "%s: no \"%s\" in\n%s", epilogue, line, tj_source_text(source));
    tj_source_free(source);
}

Test(epilogue, text_reads_like_the_expression)
{
    expect_text("gelu(acc + bias[col])", "P[Row * ld_p + Col] = static_cast<output_t>(gelu(Pvalue + bias[Col]));");
    expect_text("relu(acc)*gain[row]", "static_cast<output_t>(relu(Pvalue) * gain[Row]);");
    expect_text("acc + residual:bf16[row,col]",
                "static_cast<output_t>(Pvalue + static_cast<float>(residual[Row * ld_residual + Col]));");
    expect_text("a - (b - acc)", "static_cast<output_t>(a_ - (b_ - Pvalue));");
    expect_text("select(row >= col, acc, -1e30)", "(Col <= Row ? Pvalue : -1e+30f)");
    expect_text("exp(acc)*exp(acc)", "const float x1 = expf(Pvalue);\n");
    expect_text("alpha*acc - beta*c", "(beta != 0 ? static_cast<float>(C[Row * ld_c + Col]) : 0)");
    expect_text("acc + c", "static_cast<output_t>(Pvalue + C[Row * ld_c + Col]);");
    expect_text("pre:bf16[row,col] = acc + bias[col]; gelu(acc + bias[col])",
                "const float x1 = Pvalue + bias[Col];\n"
                "    pre_[Row * ld_pre_ + Col] = static_cast<bfloat16>(x1);\n"
                "    P[Row * ld_p + Col] = static_cast<output_t>(gelu(x1));\n");
    expect_text("silu(acc[2*col] + bias[col])*acc[2*col+1]",
                "P[Row * ld_p + Col / 2] = static_cast<output_t>(beside * silu(Pvalue + bias[Col / 2]));");
    expect_text("peak[row] = max(abs(acc)); acc", "peak_so_far = larger(peak_so_far, fabsf(Pvalue));\n");
    expect_text("bias[col] = sum(acc); acc", "    bias_so_far += Pvalue;\n");
    expect_text("bias[col] = sum(acc); acc", "    bias[place] = static_cast<float>(bias_so_far);\n");
    expect_text("peak[row] = max(abs(acc)); acc", "//     peak[row] = max(abs(acc))\n"
                                                  "//     P (64 x 64) = acc, where acc = M (64 x 64) . N (64 x 64)\n");
    expect_text("acc * float", "float float_,"); /* a keyword of C++ is not a name in the source */
}

/* Boxes are stored without what lies outside P. So a branch keeps only other outputs inside, and operands are read within P. */
Test(epilogue, boxes_that_hang_over_are_computed_without_a_branch)
{
    static const struct {
        int64_t extent; /* of rows and columns */
        const char *epilogue, *config, *line;
        bool is_there;
    } rows[] = {
        {64, "gelu(acc + bias[col])", "wgmma:bm=64,bn=48", "const index_t read_col = min(box_col, l - SLICE);", true},
        {64, "gelu(acc + bias[col])", "wgmma:bm=64,bn=48", "break", false},
        {64, "gelu(acc + bias[col])", "wgmma:bm=64,bn=48", "Row", false},
        {64, "gelu(acc + bias[col])", "wgmma:bm=64,bn=64", "const index_t Col = box_col + col;", true},
        {64, "acc * gain[row]", "wgmma:bm=192,bn=64", "const index_t read_row = min(box_row, j - 16);", true},
        {64, "acc * gain[row]", "wgmma:bm=192,bn=64", "bool inside", false},
        {64, "top[col] = max(acc); acc", "wgmma:bm=192,bn=48", "const bool inside = box_row < j && box_col < l;", true},
        {64, "top[col] = max(acc); acc", "wgmma:bm=64,bn=48", "if (inside)\n", true},
        {64, "top[col] = max(acc); acc", "wgmma:bm=64,bn=48", "const bool inside = box_col < l;", true},
        {64, "top[col] = max(acc); acc", "wgmma:bm=64,bn=64", "bool inside", false},
        {72, "gelu(acc + bias[col])", "wgmma:bm=64,bn=48", "const index_t Col = min(box_col + col, l - 2);", true},
        {72, "gelu(acc + bias[col])", "wgmma:bm=64,bn=48", "read_col", false},
        {72, "acc * gain[row]", "wgmma:bm=192,bn=64", "const index_t Row = min(box_row + row, j - 1);", true},
        {72, "top[col] = max(acc); acc", "wgmma:bm=64,bn=48", "= box_row + row < j && box_col + col < l;", true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(rows[i].extent, 64, rows[i].extent, TJ_BF16);
        tj_config config = TJ_CONFIG_INIT;
        tj_source *source = NULL;
        tj_error err = {TJ_OK, ""};
        const char *store;

        problem.epilogue = parse(rows[i].epilogue);
        cr_assert(eq(int, tj_config_parse(rows[i].config, &config, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s", err.message);
        store = strstr(tj_source_text(source), "// store: a warp");
        cr_assert(ne(ptr, (void *)store, NULL));
        cr_expect(eq(int, strstr(store, rows[i].line) != NULL, rows[i].is_there), "%s %s: %s in\n%s", rows[i].config,
                  rows[i].epilogue, rows[i].line, store);
        tj_source_free(source);
    }
}

/* Functions are there where they are used, and nowhere else. */
Test(epilogue, functions_are_printed_where_they_are_used)
{
    tj_source *with = generate("silu(acc)", "naive"), *without = generate("acc + 1", "naive");

    cr_expect(strstr(tj_source_text(with), "float silu(float x)") != NULL);
    cr_expect(strstr(tj_source_text(with), "float sigmoid(float x)") != NULL);
    cr_expect(strstr(tj_source_text(with), "gelu") == NULL);
    cr_expect(strstr(tj_source_text(without), "silu") == NULL);
    tj_source_free(with);
    tj_source_free(without);
}

/* If P holds few bits, gelu_tanh is the device's tanh; a further output of more bits forbids it. */
Test(epilogue, gelu_tanh_is_as_exact_as_p)
{
    static const struct {
        tj_type type;
        const char *epilogue;
        bool is_coarse;
    } rows[] = {{TJ_BF16, "gelu_tanh(acc)", true},
                {TJ_F16, "gelu_tanh(acc)", false},
                {TJ_F32, "gelu_tanh(acc)", false},
                {TJ_BF16, "pre:bf16[row, col] = acc; gelu_tanh(acc)", true},
                {TJ_BF16, "pre[row, col] = acc; gelu_tanh(acc)", false},
                {TJ_BF16, "silu(acc)", false}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, rows[i].type);
        tj_source *source = NULL;

        problem.epilogue = parse(rows[i].epilogue);
        cr_assert(eq(int, tj_generate(&problem, NULL, &source, NULL), TJ_OK));
        cr_expect(eq(int, strstr(tj_source_text(source), "tanh.approx") != NULL, rows[i].is_coarse), "%s %s",
                  tj_type_name(rows[i].type), rows[i].epilogue);
        tj_source_free(source);
    }
}

static bool is_in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Names of operands stand as they are where no template has them; other names end in _, and nothing in a template does. */
Test(epilogue, names_of_operands_meet_none_of_the_templates)
{
    static const char *const free_names[] = {"bias", "gain", "residual", "shift", "slope", "threshold", "mask", "temperature"};

    for (size_t i = 0; i < tj_template_file_count; i++) {
        const char *text = (const char *)tj_template_files[i].bytes, *end = text + tj_template_files[i].size;

        while (text < end) {
            const char *word = text;

            while (text < end && is_in_word(*text))
                text++;
            for (size_t n = 0; n < sizeof free_names / sizeof free_names[0]; n++)
                cr_expect(strlen(free_names[n]) != (size_t)(text - word) ||
                              strncmp(word, free_names[n], (size_t)(text - word)) != 0,
                          "%s has %s", tj_template_files[i].name, free_names[n]);
            cr_expect(text - word < 7 || strncmp(text - 7, "_so_far", 7) != 0, "%s has %.*s", tj_template_files[i].name,
                      (int)(text - word), word);
            cr_expect(text == word || text[-1] != '_' || word[0] == '_', "%s has %.*s", tj_template_files[i].name,
                      (int)(text - word), word);
            text += text == word;
        }
    }
}

/* The source holds the same text for all operands but their names: no string of the caller reaches the compiler. */
Test(epilogue, equal_trees_make_equal_texts)
{
    tj_source *a = generate("gelu(acc+bias[col])", "simt"), *b = generate("gelu( bias[ col ] + (acc) )", "simt");

    cr_expect(eq(str, (char *)tj_source_text(a), (char *)tj_source_text(b)));
    tj_source_free(a);
    tj_source_free(b);
}
