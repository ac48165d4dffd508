/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * The fields of a problem by name: each is read back as it was set, and a wrong value is named with its field.
 */
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <tilejit/tools.h>

Test(field, is_read_back_as_it_was_set)
{
    static const char *const rows[][2] = {{"dtype", "bf16"},     {"n-dtype", "s8"},
                                          {"p-dtype", "f32"},    {"layout-m", "col"},
                                          {"layout-n", "col"},   {"ld-m", "40"},
                                          {"ld-c", "88"},        {"groups", "3"},
                                          {"offsets", "host64"}, {"stride-n", "pointers16"},
                                          {"scale-m", "each"},   {"scale-n", "along-k"},
                                          {"scale-k", "32"},     {"epilogue", "max(acc * alpha + beta * c 0)"},
                                          {"any", "j k"},        {"multiple-of", "j=8 k=16"},
                                          {"overlap", "1"},      {"grouped", "masked"},
                                          {"expected", "7"},     {"gather", "1"},
                                          {"invariant", "rows"}};
    tj_problem problem = TJ_PROBLEM_INIT(48, 64, 80, TJ_F32);
    char value[TJ_PROBLEM_FIELD_BYTES];
    tj_error err = {0};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const set = strcmp(rows[i][0], "epilogue") == 0 ? "max(acc * alpha + beta * c, 0)" : rows[i][1];

        cr_assert(eq(int, tj_problem_set(&problem, rows[i][0], set, &err), TJ_OK), "%s", err.message);
    }
    problem.m.layout = TJ_ROW_MAJOR; /* as groups need it */
    problem.m.ld = 72;
    cr_assert(eq(int, tj_problem_check(&problem, &err), TJ_OK), "%s", err.message);
    problem = tj_problem_canonical(&problem);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const bool is_epilogue = strcmp(rows[i][0], "epilogue") == 0, is_m = strcmp(rows[i][0], "layout-m") == 0;

        tj_problem_get(&problem, rows[i][0], value);
        if (is_epilogue)
            cr_expect(ne(ptr, strstr(value, "alpha"), NULL), "%s", value);
        else
            cr_expect(eq(str, value,
                         (char *)(is_m                              ? ""
                                  : strcmp(rows[i][0], "ld-m") == 0 ? "72"
                                                                    : rows[i][1])),
                      "%s", rows[i][0]);
    }
}

/* Scales that have no word say all of their numbers, and are read again as they were. */
Test(field, of_scales_has_any_form)
{
    static const char *const forms[] = {"f32:128x128:row-by-row", "f32:128x64",      "e8m0:1x32:tiles",
                                        "e4m3:1x16:tiles:whole",  "bf16:1xall",      "f16:allx32",
                                        "f16:1x32:zero=u4",       "f32:1x1:zero=s8", "f16:1x64:row-by-row:zero=f16:whole"};
    static const char *const wrong[] = {"f32",          "f32:",          "f32:1",           "f32:1x",
                                        "f32:0x32",     "f32:1x-1",      "f32:1x32:rows",   "f32:1x32:whole:tiles",
                                        "f99:1x32",     "f32:1x32:zero", "f32:1x32:zero=q", "f32:1x99999999999",
                                        "f32:1x32:who", "all:1x32",      "f32:1x32:"};
    tj_problem problem = TJ_PROBLEM_INIT(48, 64, 80, TJ_F16);
    char value[TJ_PROBLEM_FIELD_BYTES], line[TJ_PROBLEM_TEXT_BYTES];
    tj_error err = {0};

    problem.n.type = TJ_S8;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        cr_assert(eq(int, tj_problem_set(&problem, "scale-n", forms[i], &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_problem_check(&problem, &err), TJ_OK), "%s", err.message);
        tj_problem_get(&problem, "scale-n", value);
        cr_expect(eq(str, value, (char *)forms[i]));
        tj_problem_print(&problem, line);
        cr_expect(strstr(line, forms[i]) != NULL, "%s", line);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_expect(eq(int, tj_problem_set(&problem, "scale-n", wrong[i], &err), TJ_ERR_INVALID_ARGUMENT), "%s", wrong[i]);
        cr_expect(strstr(err.message, "such as f32:128x128:row-by-row") != NULL, "%s", err.message);
    }
}

/* Two lengths of parts: only one of them is what scale-k says. */
Test(field, of_scales_has_the_shorter_parts_in_a_word)
{
    tj_problem problem = TJ_PROBLEM_INIT(48, 64, 80, TJ_F16);
    char value[TJ_PROBLEM_FIELD_BYTES];

    problem.scale[TJ_MATRIX_M] = (tj_scale)TJ_SCALE_INIT(TJ_F32, 1, 128);
    problem.scale[TJ_MATRIX_N] = (tj_scale)TJ_SCALE_INIT(TJ_F32, 1, 32);
    tj_problem_get(&problem, "scale-m", value);
    cr_expect(eq(str, value, "f32:1x128"));
    tj_problem_get(&problem, "scale-n", value);
    cr_expect(eq(str, value, "along-k"));
    tj_problem_get(&problem, "scale-k", value);
    cr_expect(eq(str, value, "32"));
}

/* A format is types and scales that go together; a type of activations stays. */
Test(field, names_a_format)
{
    tj_error err = {0};
    const char *name;
    size_t count;

    for (count = 0; (name = tj_problem_choice("format", count)); count++) {
        tj_problem problem = TJ_PROBLEM_INIT(48, 64, 80, TJ_F16);

        cr_assert(eq(int, tj_problem_set(&problem, "format", name, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_OK), "%s: %s", name, err.message);
        cr_expect(problem.scale[TJ_MATRIX_N].type != 0 && problem.n.layout == TJ_COL_MAJOR, "%s", name);
        cr_expect(eq(int, problem.m.type, problem.scale[TJ_MATRIX_M].type ? problem.n.type : TJ_F16), "%s", name);
    }
    cr_expect(eq(sz, count, 10));
}

/* Without beta, which the other fields have. */
Test(field, scatter_is_read_back_too)
{
    tj_problem problem = TJ_PROBLEM_INIT(48, 64, 80, TJ_F32);
    char value[TJ_PROBLEM_FIELD_BYTES];

    cr_assert(eq(int, tj_problem_set(&problem, "scatter", "1", NULL), TJ_OK));
    cr_assert(eq(int, tj_problem_check(&problem, NULL), TJ_OK));
    problem = tj_problem_canonical(&problem);
    tj_problem_get(&problem, "scatter", value);
    cr_expect(eq(str, value, (char *)"1"));
}

/* A number that stays when groups come after it, and stands in the text of the problem. */
Test(field, combine_is_a_number_of_rows)
{
    tj_problem problem = TJ_PROBLEM_INIT(48, 64, 80, TJ_F32);
    char value[TJ_PROBLEM_FIELD_BYTES], text[TJ_PROBLEM_TEXT_BYTES];
    tj_error err = {TJ_OK, ""};

    cr_assert(eq(int, tj_problem_set(&problem, "combine", "3", NULL), TJ_OK));
    cr_assert(eq(int, tj_problem_set(&problem, "groups", "4", NULL), TJ_OK));
    cr_assert(eq(int, tj_problem_check(&problem, NULL), TJ_OK));
    tj_problem_get(&problem, "combine", value);
    cr_expect(eq(str, value, (char *)"3"));
    tj_problem_print(&problem, text);
    cr_expect(eq(str, text, (char *)"j48 k64 l80 f32 groups=4 combine=3"));
    cr_expect(eq(int, tj_problem_set(&problem, "combine", "33", &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(str, err.message, (char *)"combine is \"33\": write a whole number from 1 to 32"));
}

Test(field, of_a_default_is_empty)
{
    tj_problem problem = TJ_PROBLEM_INIT(32, 64, 80, TJ_F16);
    char value[TJ_PROBLEM_FIELD_BYTES];
    const char *name;

    problem = tj_problem_canonical(&problem);
    for (size_t i = 0; (name = tj_problem_field(i)); i++) {
        tj_problem_get(&problem, name, value);
        cr_expect(eq(str, value, (char *)(strcmp(name, "dtype") == 0 ? "f16" : "")), "%s", name);
        if (tj_problem_choice(name, 0) && strcmp(name, "offsets") != 0 && strcmp(name, "grouped") != 0) /* which need groups */
            cr_expect(eq(int, tj_problem_set(&problem, name, tj_problem_choice(name, 0), NULL), TJ_OK), "%s", name);
    }
}

Test(field, names_a_wrong_value)
{
    static const char *const rows[][3] = {
        {"width", "3", "a problem has no field \"width\""},
        {"layout-m", "diagonal", "layout-m is \"diagonal\": use one of row, col"},
        {"scale-n", "all", "scale-n is \"all\": use one of one, each, along-k"},
        {"scale-k", "32", "scale-k is 32 and there are no scales along k"},
        {"ld-n", "0", "ld-n is \"0\": write a whole number from 1 to"},
        {"batch", "2x", "batch is \"2x\": write a whole number from 1 to 2147483647"},
        {"groups", "65536", "groups is \"65536\": write a whole number from 1 to 65535"},
        {"offsets", "host", "offsets needs groups, and the problem has none"},
        {"grouped", "masked", "grouped needs groups, and the problem has none"},
        {"expected", "4", "expected needs groups, and the problem has none"},
        {"any", "j,q", "any has \"q\": use j, k, l, ld, batch, stride or all"},
        {"multiple-of", "k=16", "multiple-of k promises a multiple of an extent that is fixed"},
        {"multiple-of", "16", "multiple-of has \"16\": write j=16,k=8"},
        {"dtype", "f15", "no element type is named \"f15\""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(32, 64, 80, TJ_F16);
        tj_error err = {0};

        cr_expect(eq(int, tj_problem_set(&problem, rows[i][0], rows[i][1], &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i][2]);
        cr_expect(ne(ptr, strstr(err.message, rows[i][2]), NULL), "%s: %s", rows[i][2], err.message);
    }
}
