/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Families of the application's own: an error in a spec names its field, a fault of a formula or a template is shown with a
 * caret, and the examples' sources are unchanged, byte for byte (TJ_UPDATE_GOLDEN=1 rewrites them).
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

#include "custom.h"
#include "custom_spec.h"

static tj_error err;
static custom_spec made;
static tj_custom_spec *spec;

static void start(void)
{
    err = (tj_error){TJ_OK, ""};
    spec = custom_spec_make(&made);
}

TestSuite(custom, .init = start);

/* The text of the family for a length, or NULL and err. */
static char *generate(int64_t length, const char *name, const char *value)
{
    tj_config config = TJ_CONFIG_INIT;
    tj_family *family = NULL;
    tj_source *source = NULL;
    char *text = NULL;

    if (tj_family_create(spec, &family, &err) != TJ_OK)
        return NULL;
    config.family = family;
    if ((!name || tj_config_set(&config, name, value, &err) == TJ_OK) &&
        tj_custom_generate(&config, &length, &source, &err) == TJ_OK)
        text = strdup(tj_source_text(source));
    tj_source_free(source);
    tj_family_free(family);
    return text;
}

Test(custom, formulas_over_extents_have_a_value)
{
    const int64_t extent[] = {100};
    int64_t value = -1;
    tj_family *family;

    cr_assert(eq(int, tj_family_create(spec, &family, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_custom_evaluate(family, "2 * ceil_div(length, 64) + 1", extent, &value, &err), TJ_OK), "%s",
              err.message);
    cr_expect(eq(i64, value, 5));
    cr_expect(eq(int, tj_custom_evaluate(family, "length / (length - 100)", extent, &value, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "divides by 0") && strstr(err.message, "length"), "%s", err.message);
    cr_expect(eq(int, tj_custom_evaluate(family, "length * threads", extent, &value, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "threads") && strstr(err.message, "^"), "%s", err.message);
    cr_expect(eq(i64, value, 5));
    tj_family_free(family);
    cr_expect(eq(int, tj_custom_evaluate(tj_family_find("tiled"), "1", extent, &value, &err), TJ_ERR_INVALID_ARGUMENT));
}

/* ---- specs -------------------------------------------------------------------------------------------------------- */

Test(custom, a_family_has_the_data_of_its_spec)
{
    const tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_F32);
    tj_config config = TJ_CONFIG_INIT;
    char line[TJ_CONFIG_TEXT_BYTES];
    tj_family *family;
    tj_source *source;

    cr_assert(eq(int, tj_family_create(spec, &family, &err), TJ_OK), "%s", err.message);
    memset(made.param, 0, sizeof made.param); /* all is copied */
    cr_expect(eq(str, (char *)tj_family_name(family), "scale"));
    cr_expect(eq(sz, tj_family_param_count(family), 2));
    cr_expect(eq(str, (char *)tj_family_param(family, 1)->name, "order"));
    cr_expect(eq(str, (char *)tj_family_constraint(family, 0), "threads % 32 == 0"));
    config.family = family;
    cr_assert(eq(int, tj_config_set(&config, "order", "backward", &err), TJ_OK), "%s", err.message);
    tj_config_print(&config, line);
    cr_expect(eq(str, line, "scale:threads=64,order=backward"));
    cr_expect(eq(int, tj_config_set(&config, "rows", "2", &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(ptr, (void *)tj_family_find("scale"), NULL));
    cr_expect(eq(int, tj_generate(&problem, &config, &source, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(ne(ptr, strstr(err.message, "computes no matrix product"), NULL), "%s", err.message);
    tj_family_free(family);
    tj_family_free((tj_family *)(void *)(uintptr_t)tj_family_find("tiled")); /* the library's: left alone */
    cr_expect(ne(ptr, (void *)tj_family_find("tiled"), NULL));
}

/* Make one field wrong. */
static void change(custom_spec *m, tj_custom_spec *s, int which)
{
    static const int32_t falling[] = {64, 32, 0};
    static const char *const not_a_condition[] = {"threads + 1", NULL}, *const twice[] = {"length", "length"};

    switch (which) {
    case 0:
        s->struct_size = 7;
        break;
    case 1:
        s->name = "2scale";
        break;
    case 2:
        s->name = "tiled";
        break;
    case 3:
        s->name = NULL;
        break;
    case 4:
        s->part_count = 0;
        break;
    case 5:
        m->part[0].text = NULL;
        break;
    case 6:
        m->part[1].name = m->part[0].name;
        break;
    case 7:
        s->extent_count = 9;
        break;
    case 8:
        s->extent = twice;
        s->extent_count = 2;
        break;
    case 9:
        m->param[0].name = "only";
        break;
    case 10:
        m->param[0].minimum = 0;
        break;
    case 11:
        m->param[0].standard = 5000;
        break;
    case 12:
        m->param[0].tried = falling;
        break;
    case 13:
        m->param[1].maximum = 3;
        break;
    case 14:
        m->param[1].role = 7;
        break;
    case 15:
        m->derived[0].formula = "length %";
        break;
    case 16:
        m->derived[0].name = "threads";
        break;
    case 17:
        s->constraint = not_a_condition;
        break;
    case 18:
        s->grid[1] = "lenght";
        break;
    case 19:
        s->block[0] = "threads +";
        break;
    case 20:
        s->shared_bytes = "4 * (threads";
        break;
    case 21:
        s->argument_count = 0;
        break;
    case 22:
        m->argument[0].kind = 9;
        break;
    case 23:
        m->argument[0].type = 99;
        break;
    case 24:
        m->argument[0].count = NULL;
        break;
    case 25:
        m->argument[0].count = "threads";
        break; /* extents alone */
    case 26:
        m->argument[0].align = 3;
        break;
    case 27:
        m->argument[1].kind = TJ_CUSTOM_IN;
        break;
    case 28:
        m->argument[1].name = m->argument[0].name;
        break;
    case 29:
        m->argument[2].type = TJ_F16;
        break;
    case 30:
        m->argument[2].kind = TJ_CUSTOM_EXTENT;
        break;
    case 31:
        s->param = NULL;
        break;
    case 32:
        s->reserved = 1;
        break;
    case 33:
        s->relative = -1;
        break;
    case 34:
        m->argument[2].type = TJ_S32;
        m->argument[2].trial = 0.5;
        break;
    case 35:
        m->argument[0].reserved = 1;
        break;
    case 36:
        m->param[0].name = "a_name_that_is_much_too_long_for_it";
        break;
    default:
        break;
    }
}

Test(custom, every_wrong_field_is_named)
{
    static const char *const says[] = {"spec.struct_size is 7",
                                       "spec.name is \"2scale\"",
                                       "spec.name is that of a family of the library",
                                       "spec.name is NULL",
                                       "spec.part_count is 0: use 1 to 16",
                                       "spec.part[0].text is NULL",
                                       "spec.part[1].name is that of an earlier part",
                                       "spec.extent_count is 9: use 1 to 8",
                                       "spec.extent[1] is \"length\", which something else",
                                       "spec.param[0].name is \"only\"",
                                       "spec.param[0].minimum is 0",
                                       "spec.param[0].standard is 5000: use 32 to 1024",
                                       "spec.param[0].tried is not ascending",
                                       "spec.param[1].choice does not have a word for each",
                                       "spec.param[1].role is 7: use 0 to 2",
                                       "spec.derived[0].formula, column 9: the expression ends too early",
                                       "spec.derived[0].name is \"threads\"",
                                       "spec.constraint[0] compares nothing",
                                       "spec.grid[1], column 1: no extent, parameter or derived value",
                                       "spec.block[0], column",
                                       "spec.shared_bytes, column 13: expected )",
                                       "spec.argument_count is 0",
                                       "spec.argument[0].kind is 9: use 1 to 6",
                                       "spec.argument[0].type is 99",
                                       "spec.argument[0].count is NULL",
                                       "spec.argument[0].count, column 1",
                                       "spec.argument[0].align",
                                       "spec.argument has none of the kinds out and inout",
                                       "spec.argument[1].name is that of an earlier",
                                       "spec.argument[2].type is not that of a scalar",
                                       "spec.argument[2].name is that of no extent",
                                       "spec.param is NULL, and spec.param_count is 2",
                                       "spec.reserved is 1",
                                       "spec.relative is below 0",
                                       "spec.argument[2].trial is not a whole number",
                                       "spec.argument[0].reserved is 1",
                                       "spec.param[0].name is \"a_name_that"};

    for (int i = 0; i < (int)(sizeof says / sizeof says[0]); i++) {
        tj_family *family = (tj_family *)(void *)&made;

        spec = custom_spec_make(&made);
        change(&made, spec, i);
        cr_expect(eq(int, tj_family_create(spec, &family, &err), TJ_ERR_INVALID_ARGUMENT), "change %d", i);
        cr_expect(ne(ptr, strstr(err.message, says[i]), NULL), "change %d: %s", i, err.message);
        cr_expect(eq(ptr, family, NULL));
    }
}

/* ---- formulas ----------------------------------------------------------------------------------------------------- */

Test(custom, formulas_compute_as_in_c)
{
    static const char *const names[] = {"a", "b"};
    static const int64_t value[] = {7, 3};
    static const struct {
        const char *text;
        int64_t result;
        bool is_condition;
    } rows[] = {
        {"a", 7, false},
        {"1 + 2 * b", 7, false},
        {"(1 + 2) * b", 9, false},
        {"a - b - 1", 3, false},
        {"a / b", 2, false},
        {"a % b", 1, false},
        {"-a + 10", 3, false},
        {"ceil_div(a, b)", 3, false},
        {"ceil_div(9, b)", 3, false},
        {"min(a, b)", 3, false},
        {"max(a, b * 4)", 12, false},
        {"a < b", 0, true},
        {"a >= 7 && b != 4", 1, true},
        {"a == 1 || b == 3", 1, true},
        {"!(a == 7)", 0, true},
        {"a % b == 1", 1, true},
        {"(a > b) * 5", 5, false},
        {"1 || 1 && 0", 1, true},
        {"a<=b", 0, true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_formula formula;
        int64_t result = -1;

        cr_assert(eq(int, tj_formula_read(rows[i].text, "f", names, 2, &formula, &err), TJ_OK), "%s", err.message);
        cr_expect(tj_formula_value(&formula, value, &result), "%s", rows[i].text);
        cr_expect(eq(i64, result, rows[i].result), "%s", rows[i].text);
        cr_expect(eq(int, formula.is_condition, rows[i].is_condition), "%s", rows[i].text);
    }
}

Test(custom, formulas_that_cannot_be_are_shown)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "f, column 1: the expression ends too early\n    \n    ^"},
        {"a + c", "f, column 5: no extent, parameter or derived value has this name\n    a + c\n        ^"},
        {"a b", "f, column 3: expected an operator or the end\n    a b\n      ^"},
        {"(a", "f, column 3: expected )\n    (a\n      ^"},
        {"a & b", "f, column 3: expected an operator"},
        {"max(a)", "f, column 6: expected , between"},
        {"max(a, b", "f, column 9: expected ) after two"},
        {"min + 1", "f, column 5: expected ( after"},
        {"9223372036854775808", "f, column 1: the number is too large"},
        {"((((((((((((((((((((((((((1))))))))))))))))))))))))))", "nested too deeply"},
        {"1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1", "too long"},
        {"\x1b[2J", "f, column 1: expected a number, a name or (\n    \\x1b[2J\n    ^"},
    };
    static const char *const names[] = {"a", "b"}, *const no_value[] = {"1 / (a - a)",
                                                                        "1 % 0",
                                                                        "9223372036854775807 + a",
                                                                        "9223372036854775807 * 2",
                                                                        "ceil_div(1, 0)",
                                                                        "-(-9223372036854775807 - 1)"};
    static const int64_t value[] = {7, 3};
    tj_formula formula;
    int64_t result;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect(eq(int, tj_formula_read(rows[i].text, "f", names, 2, &formula, &err), TJ_ERR_INVALID_ARGUMENT), "%s",
                  rows[i].text);
        cr_expect(ne(ptr, strstr(err.message, rows[i].says), NULL), "%s: %s", rows[i].text, err.message);
    }
    for (size_t i = 0; i < sizeof no_value / sizeof no_value[0]; i++) {
        cr_assert(eq(int, tj_formula_read(no_value[i], "f", names, 2, &formula, &err), TJ_OK), "%s", err.message);
        cr_expect(not(tj_formula_value(&formula, value, &result)), "%s", no_value[i]);
    }
}

/* ---- requests ----------------------------------------------------------------------------------------------------- */

Test(custom, what_does_not_hold_is_told_with_its_values)
{
    const struct {
        int64_t length;
        const char *name, *value, *grid, *says;
    } rows[] = {
        {0, NULL, NULL, NULL, "family scale: extent length is 0, and must be 1 to"},
        {100, "threads", "33", NULL, "family scale: threads % 32 == 0 does not hold (threads is 33)"},
        {100, "threads", "2000", NULL, "threads is \"2000\": use a whole number from 32 to 1024"},
        {100, "boundary", "none", NULL, "has no boundary"},
        {100, NULL, NULL, "length - 100", "family scale: grid[0] is 0, and must be 1 to 2147483647 (length is 100)"},
        {100, NULL, NULL, "length / (threads - 64)", "family scale: grid[0] is 0"},
        {INT64_MAX, NULL, NULL, "length", "grid[0] is 9223372036854775807"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].grid)
            spec->grid[0] = rows[i].grid;
        cr_expect(eq(ptr, generate(rows[i].length, rows[i].name, rows[i].value), NULL), "row %zu", i);
        cr_expect(ne(ptr, strstr(err.message, rows[i].says), NULL), "row %zu: %s", i, err.message);
        spec = custom_spec_make(&made);
    }
    spec->block[1] = "16";
    spec->block[2] = "2";
    cr_expect(eq(ptr, generate(100, NULL, NULL), NULL));
    cr_expect(ne(ptr, strstr(err.message, "more than 1024 threads"), NULL), "%s", err.message);
}

Test(custom, the_template_gets_extents_parameters_choices_and_derived_values)
{
    char *text;

    made.part[0].text =
        "int length = 0;  //@ length\nint threads = 0;  //@ threads\n//@ if order_backward\nback\n//@ elif order_forward\n"
        "//@| fore\n//@ end\norder(  //@ order for order\n//@ if ragged\nragged\n//@ end\nint b = 0;  //@ blocks\n"
        "#include \"store.cuh\"\nextern \"C\" __global__ void scale(\n";
    text = generate(130, "order", "backward");
    cr_assert(ne(ptr, text, NULL), "%s", err.message);
    cr_expect(eq(str, text,
                 "int length = 130;\nint threads = 64;\nback\nbackward(\nragged\nint b = 3;\ny[i] = x[i] * factor;\n"
                 "extern \"C\" __global__ void scale_130(\n"));
    free(text);
    text = generate(128, NULL, NULL);
    cr_assert(ne(ptr, text, NULL), "%s", err.message);
    cr_expect(eq(ptr, strstr(text, "ragged"), NULL));
    cr_expect(ne(ptr, strstr(text, "fore\nforward("), NULL), "%s", text);
    free(text);
}

Test(custom, an_extent_that_is_passed_is_not_in_the_text)
{
    char *a, *b;

    made.argument[2] = (tj_custom_argument){"length", TJ_CUSTOM_EXTENT};
    made.part[0].text = "void scale(\n";
    a = generate(100, NULL, NULL);
    b = generate(200, NULL, NULL);
    cr_assert(a != NULL && b != NULL, "%s", err.message);
    cr_expect(eq(str, a, "void scale(\n"));
    cr_expect(eq(str, a, b));
    free(a);
    free(b);
    made.part[0].text = "int n = 1;  //@ length\nscale(\n";
    cr_expect(eq(ptr, generate(100, NULL, NULL), NULL));
    cr_expect(ne(ptr,
                 strstr(err.message, "scale.cu:1:17: no such parameter\n    int n = 1;  //@ length\n                    ^"),
                 NULL),
              "%s", err.message);
}

/* ---- templates ---------------------------------------------------------------------------------------------------- */

Test(custom, faults_of_templates_are_shown_with_a_caret)
{
    static const struct {
        const char *text, *says;
        int64_t length; /* 0: 100 */
    } rows[] = {
        {"a\n  //@ fi ragged\n", "scale.cu:2:7: unknown directive\n      //@ fi ragged\n          ^"},
        {"//@ if ragged\na\n", "scale.cu:1:1: this block has no //@ end\n    //@ if ragged\n    ^"},
        {"//@ repeat threads\na\n", "scale.cu:1:1: this block has no //@ end"},
        {"a\n//@ end\n", "scale.cu:2:1: no //@ if is open"},
        {"//@ if ragged and wide\n//@ end\n", "scale.cu:1:19: a condition names no parameter of this template\n"
                                              "    //@ if ragged and wide\n                      ^"},
        {"//@ if ragged wide\n//@ end\n", "scale.cu:1:15: expected \"and\" or \"or\""},
        {"#include \"none.cuh\"\n", "scale.cu:1:10: no such part"},
        {"#include \"parts/half.cuh\"\n", "scale.cu:1:10: no such part"}, /* one of the library's */
        {"int x = 1  //@ threads\n", "scale.cu:1:1: expected \"= value;\""},
        {"#include \"broken.cuh\"\n", "broken.cuh:2:5: unknown directive\n    //@ what\n        ^"},
        {"void other()\n", "scale.cu declares no kernel scale_100"},
        {"// scale_100 is what it is called\n", "scale.cu declares no kernel scale_100"},
        {"//@ repeat length\nlong\n//@ repeat length\nlong\n//@ repeat length\nlong\n//@ end\n//@ end\n//@ end\n",
         "longer than", 200000},
        /* Directives that leave nothing in the source are limited too. */
        {"//@ repeat length\n//@ end\n", "2147483648 turns are more than", INT64_C(2147483648)},
        {"//@ repeat length\n//@ repeat length\n//@ end\n//@ end\n", "is what //@ repeat repeats empty?", 200000},
        {"//@ repeat length\n//@ repeat length\n\n\n//@ end\n//@ end\n", "is what //@ repeat repeats empty?", 200000},
        {"//@ repeat length\n//@ if length\n//@ else\nx\n//@ end\n//@ end\n", "is what //@ repeat repeats empty?", 200000},
        {"//@ repeat length\n#include \"store.cuh\"\n//@ end\n", "is what //@ repeat repeats empty?", 200000},
        {"//@ if ragged\n//@ else\n//@ repeat length\n//@ end\n//@ end\n", "declares no kernel", INT64_C(2147483649)},
        {"//@ repeat length\nx[1234567890]\n//@ end\n", "at most 9 digits"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spec = custom_spec_make(&made);
        made.part[0].text = rows[i].text;
        made.part[1].text = "\n"; /* store.cuh */
        cr_expect(eq(ptr, generate(rows[i].length ? rows[i].length : 100, NULL, NULL), NULL), "row %zu", i);
        cr_expect(ne(ptr, strstr(err.message, rows[i].says), NULL), "row %zu: %s", i, err.message);
    }
}

/* Cut and changed at every byte: a fault in words, or a text; never more than that. */
Test(custom, templates_may_be_cut_and_changed_anywhere)
{
    static const char signs[] = "@/|(\"\n &=,0";
    char *text = strdup(made.part[0].text);
    const size_t length = strlen(text);

    for (size_t at = 0; at < length; at++) {
        const char kept = text[at];

        for (size_t i = 0; i < sizeof signs; i++) {
            text[at] = signs[i]; /* the last is the end */
            made.part[0].text = text;
            free(generate(100, NULL, NULL));
        }
        text[at] = kept;
    }
    free(text);
}
