/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problems and configs: what is accepted, what is refused and in which words, and which checks a shape keeps.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/source.h>

#include "problem_text.h"

static tj_problem problem_of(int64_t j, int64_t k, int64_t l)
{
    tj_problem problem = TJ_PROBLEM_INIT(j, k, l, TJ_F32);
    return problem;
}

Test(problem, refuses_extents_that_are_none)
{
    static const struct {
        int64_t j, k, l;
        const char *words;
    } rows[] = {
        {0, 1, 1, "j is 0"},
        {-1, 1, 1, "j is -1"},
        {1, -1, 1, "k is -1"},
        {1, 1, 0, "l is 0"},
        {INT64_C(1) << 31, 1, 1, "j is 2147483648"},
        {1, INT64_C(1) << 32, 1, "k is 4294967296"},
        {1, 1, INT64_MAX, "l is 9223372036854775807"},
        {1, 1, INT64_MIN, "l is -9223372036854775808"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = problem_of(rows[i].j, rows[i].k, rows[i].l);
        tj_error err = {0};
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].words);
        cr_expect(ne(ptr, strstr(err.message, rows[i].words), NULL), "%s: %s", rows[i].words, err.message);
    }
}

Test(problem, accepts_the_corners)
{
    static const int64_t rows[][3] = {{1, 1, 1},         {1, 0, 1},         {INT32_MAX, 1, 1},
                                      {1, INT32_MAX, 1}, {1, 1, INT32_MAX}, {65536, 65536, 65536}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = problem_of(rows[i][0], rows[i][1], rows[i][2]);
        tj_error err = {0};
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_OK), "row %zu: %s", i, err.message);
    }
}

Test(problem, names_what_is_wrong_with_everything_else)
{
    struct {
        const char *words;
        tj_problem problem;
    } rows[12];
    for (size_t i = 0; i < 12; i++)
        rows[i].problem = problem_of(10, 20, 30);
    rows[0].problem.ld_m = 19, rows[0].words = "ld_m is 19";
    rows[1].problem.ld_n = 29, rows[1].words = "ld_n is 29";
    rows[2].problem.ld_p = -7, rows[2].words = "ld_p is -7";
    rows[3].problem.dtype = 77, rows[3].words = "dtype is 77";
    rows[4].problem.p_dtype = TJ_F64, rows[4].words = "f64 goes with f64 only";
    rows[5].problem.batch = -3, rows[5].words = "batch is -3";
    rows[6].problem.batch = 4, rows[6].problem.stride_p = 10, rows[6].words = "stride_p is 10";
    rows[7].problem.batch = 4, rows[7].problem.stride_p = TJ_BROADCAST, rows[7].words = "stride_p is TJ_BROADCAST";
    rows[8].problem.m_layout = 5, rows[8].words = "m_layout is 5";
    rows[9].problem.ld_m = INT64_MAX / 8, rows[9].words = "M is too large";
    rows[10].problem.j.multiple_of = 16, rows[10].words = "j is 10, which breaks its promise";
    rows[11].problem.struct_size = 0, rows[11].words = "TJ_PROBLEM_INIT";
    for (size_t i = 0; i < 12; i++) {
        tj_error err = {0};
        cr_expect(eq(int, tj_problem_check(&rows[i].problem, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].words);
        cr_expect(ne(ptr, strstr(err.message, rows[i].words), NULL), "%s: %s", rows[i].words, err.message);
    }
}

Test(problem, spells_a_transpose_as_a_layout)
{
    tj_problem transposed = problem_of(5, 6, 7), column = problem_of(5, 6, 7);
    transposed.transpose_m = 1;
    column.m_layout = TJ_COL_MAJOR;
    transposed = tj_problem_canonical(&transposed);
    column = tj_problem_canonical(&column);
    cr_assert(eq(int, memcmp(&transposed, &column, sizeof column), 0));
    cr_assert(eq(i64, column.ld_m, 5));
    column = tj_problem_canonical(&column);
    cr_assert(eq(int, memcmp(&transposed, &column, sizeof column), 0), "canonical twice is canonical once");
}

Test(config, refuses_widths_that_are_none)
{
    static const char *const rows[] = {"0",          "-1",    "3", "3.5",  "33",  "2147483648",
                                       "4294967312", "16abc", "",  "0x10", " 16", "1e1"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = TJ_CONFIG_INIT, before;
        tj_error err = {0};
        config.family = tj_family_find("tiled");
        before = config;
        cr_expect(eq(int, tj_config_set(&config, "tile_width", rows[i], &err), TJ_ERR_INVALID_ARGUMENT), "\"%s\"", rows[i]);
        cr_expect(ne(ptr, strstr(err.message, rows[i]), NULL), "\"%s\": %s", rows[i], err.message);
        cr_expect(ne(ptr, strstr(err.message, "4 to 32"), NULL), "\"%s\": %s", rows[i], err.message);
        cr_expect(eq(int, memcmp(&config, &before, sizeof config), 0), "\"%s\" changed the config", rows[i]);
    }
}

Test(config, prints_a_line_that_parses_back)
{
    static const char *const rows[] = {
        "tiled",
        "naive",
        "tiled:tile_width=7",
        "tiled:shared=dynamic,tile_width=32,rows=x",
        "tiled:boundary=all",
        "tiled:boundary=none",
        "naive:tile_width=4,boundary=jl",
        "tiled:boundary=k",
        "tiled:boundary_j=all,boundary_k=auto,boundary_l=none",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = TJ_CONFIG_INIT, again = TJ_CONFIG_INIT;
        char line[TJ_CONFIG_TEXT_BYTES], line_again[TJ_CONFIG_TEXT_BYTES];
        tj_error err = {0};
        cr_assert(eq(int, tj_config_parse(rows[i], &config, &err), TJ_OK), "%s: %s", rows[i], err.message);
        tj_config_print(&config, line);
        cr_assert(eq(int, tj_config_parse(line, &again, &err), TJ_OK), "%s: %s", line, err.message);
        tj_config_print(&again, line_again);
        cr_expect(eq(str, line, line_again), "%s", rows[i]);
    }
}

Test(config, names_the_word_it_cannot_read)
{
    static const struct {
        const char *text, *words;
        tj_status status;
    } rows[] = {
        {"fast", "\"fast\"", TJ_ERR_NOT_FOUND},
        {"", "\"\"", TJ_ERR_NOT_FOUND},
        {"tiled:tile_width", "tile_width", TJ_ERR_INVALID_ARGUMENT},
        {"tiled:speed=9", "speed", TJ_ERR_INVALID_ARGUMENT},
        {"tiled:shared=both", "static or dynamic", TJ_ERR_INVALID_ARGUMENT},
        {"tiled:boundary=jj", "jj", TJ_ERR_INVALID_ARGUMENT},
        {"tiled:boundary=x", "\"x\"", TJ_ERR_INVALID_ARGUMENT},
        {"naive:shared=static", "naive", TJ_ERR_INVALID_ARGUMENT},
        {"tiled:,", "name=value", TJ_ERR_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = TJ_CONFIG_INIT;
        tj_error err = {0};
        cr_expect(eq(int, tj_config_parse(rows[i].text, &config, &err), rows[i].status), "%s", rows[i].text);
        cr_expect(ne(ptr, strstr(err.message, rows[i].words), NULL), "%s: %s", rows[i].text, err.message);
    }
}

Test(checks, keeps_exactly_what_the_shape_needs)
{
    static const struct {
        int64_t j, k, l;
        const char *config;
        int checks; /* j 1, k 2, l 4 */
    } rows[] = {
        {64, 64, 64, "tiled:tile_width=16", 0},
        {65, 64, 64, "tiled:tile_width=16", 1},
        {64, 63, 64, "tiled:tile_width=16", 2},
        {64, 64, 1, "tiled:tile_width=16", 4},
        {97, 89, 101, "tiled:tile_width=16", 7},
        {21, 14, 7, "tiled:tile_width=7", 0},
        {64, 0, 64, "tiled:tile_width=16", 0},
        {64, 63, 64, "naive:tile_width=16", 0},
        {65, 64, 65, "naive:tile_width=16", 5},
        {64, 64, 64, "tiled:tile_width=16,boundary=all", 7},
        {64, 64, 64, "tiled:tile_width=16,boundary=none", 0},
        {64, 65, 64, "tiled:tile_width=16,boundary=k", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = problem_of(rows[i].j, rows[i].k, rows[i].l);
        tj_config config = TJ_CONFIG_INIT;
        tj_source *source = NULL;
        tj_error err = {0};
        cr_assert(eq(int, tj_config_parse(rows[i].config, &config, &err), TJ_OK));
        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "row %zu: %s", i, err.message);
        cr_expect(eq(int, tj_source_launch(source)->checks, rows[i].checks), "row %zu", i);
        cr_expect(eq(int, strstr(tj_source_text(source), "Row < j") || strstr(tj_source_text(source), "Row >= j"),
                     rows[i].checks & 1),
                  "row %zu: the text tests j exactly if its check is in", i);
        tj_source_free(source);
    }
}

Test(checks, refuses_to_drop_one_that_is_needed)
{
    static const struct {
        int64_t j, k, l;
        const char *words;
    } rows[] = {{65, 64, 64, "check of j"}, {64, 65, 64, "check of k"}, {64, 64, 65, "check of l"}};
    for (size_t i = 0; i < 3; i++) {
        for (int column = 0; column < 2; column++) {
            tj_problem problem = problem_of(rows[i].j, rows[i].k, rows[i].l);
            tj_config config = TJ_CONFIG_INIT;
            tj_error err = {0};
            problem.p_layout = column;
            cr_assert(eq(int, tj_config_parse("tiled:tile_width=16,boundary=none", &config, &err), TJ_OK));
            cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].words);
            cr_expect(ne(ptr, strstr(err.message, rows[i].words), NULL), "%s", err.message);
            cr_expect(ne(ptr, strstr(err.message, "65"), NULL), "%s", err.message);
        }
    }
}

Test(checks, follows_a_promise)
{
    tj_problem problem = problem_of(1, 1, 1);
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source;
    tj_error err = {0};

    problem.j = problem.k = problem.l = (tj_dim){0, TJ_DIM_ANY, 0};
    problem.k.multiple_of = 64;
    cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_source_launch(source)->checks, 5));
    cr_assert(eq(int, tj_source_launch(source)->arg_count, 6));
    tj_source_free(source);
}

Test(geometry, counts_rows_on_x_where_y_is_too_short)
{
    const tj_problem tall = problem_of(65536 * 16 + 1, 4, 4), both = problem_of(65536 * 4 + 1, 1, 65536 * 4 + 1);
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source;
    tj_error err = {0};

    cr_assert(eq(int, tj_generate(&tall, NULL, &source, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_source_launch(source)->rows_on_x, 1));
    tj_source_free(source);
    cr_assert(eq(int, tj_config_parse("tiled:rows=y", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_config_resolve(&tall, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_assert(ne(ptr, strstr(err.message, "rows=x"), NULL), "%s", err.message);
    cr_assert(eq(int, tj_config_parse("tiled:tile_width=4", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_config_resolve(&both, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_assert(ne(ptr, strstr(err.message, "raise TILE_WIDTH"), NULL), "%s", err.message);
}

Test(geometry, gives_every_width_the_block_and_memory_it_needs)
{
    for (int width = 4; width <= 32; width++) {
        const tj_problem problem = problem_of(100, 100, 100);
        tj_config config = TJ_CONFIG_INIT;
        tj_source *source;
        tj_error err = {0};
        char digits[4] = {(char)(width > 9 ? '0' + width / 10 : '0' + width), (char)(width > 9 ? '0' + width % 10 : 0), 0, 0};
        config.family = tj_family_find("tiled");
        cr_assert(eq(int, tj_config_set(&config, "tile_width", digits, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, tj_source_launch(source)->block_x *tj_source_launch(source)->block_y, width *width));
        cr_expect(eq(i64, tj_source_launch(source)->static_shared_bytes, 2 * width * width * 4));
        tj_source_free(source);
    }
}

Test(generate, one_dynamic_text_serves_all_widths)
{
    const tj_problem problem = problem_of(96, 96, 96);
    tj_source *a, *b;
    tj_config config = TJ_CONFIG_INIT;
    tj_error err = {0};

    cr_assert(eq(int, tj_config_parse("tiled:shared=dynamic,tile_width=16", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_generate(&problem, &config, &a, &err), TJ_OK));
    cr_assert(eq(int, tj_config_parse("tiled:shared=dynamic,tile_width=32", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_generate(&problem, &config, &b, &err), TJ_OK));
    cr_assert(eq(str, (char *)tj_source_text(a), (char *)tj_source_text(b)));
    cr_assert(eq(i64, tj_source_launch(a)->dynamic_shared_bytes, 2048));
    cr_assert(eq(i64, tj_source_launch(b)->dynamic_shared_bytes, 8192));
    tj_source_free(a);
    tj_source_free(b);
}
