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
                                          {"expected", "7"},     {"gather", "1"}};
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
        {"offsets", "host", "offsets speaks of groups that are not there"},
        {"grouped", "masked", "grouped speaks of groups that are not there"},
        {"expected", "4", "expected speaks of groups that are not there"},
        {"any", "j,q", "any has \"q\": use j, k, l, ld, batch, stride or all"},
        {"multiple-of", "k=16", "multiple-of k promises something of a fixed extent"},
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
