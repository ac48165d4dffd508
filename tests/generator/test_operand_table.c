/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * The table of operands: a row for every address of a launch, with the numbers that follow from the extents.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <tilejit/tools.h>

#include "list_table.h"
#include "operand_table.h"
#include "scales.h"

enum { J = 33, K = 100, L = 48 };

/* An s4 of 33 x 100 by rows has 50 elements in a row; the epilogue takes pairs of columns, so P has 24. */
static tj_problem rich(void)
{
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_BF16);
    tj_error err = {0};

    cr_assert(eq(int, TJ_OK,
                 tj_epilogue_parse("aux[row,col] = acc[2*col]; (acc[2*col] + bias[col]) * acc[2*col+1] * s * w[row,col]",
                                   &problem.epilogue, &err)),
              "%s", err.message);
    problem.n.type = TJ_S4;
    problem.n.layout = TJ_COL_MAJOR;
    problem.scale[TJ_MATRIX_M] = (tj_scale)SCALE_EACH;
    problem.scale[TJ_MATRIX_N] = (tj_scale)SCALE_ALONG_K(32);
    problem.batch = 3;
    cr_assert(eq(int, TJ_OK, tj_problem_check(&problem, &err)), "%s", err.message);
    return tj_problem_canonical(&problem);
}

Test(operand_table, has_a_row_for_every_address_of_a_launch)
{
    const tj_problem problem = rich();
    const tj_extents extents = tj_extents_of(&problem);
    tj_operand_row row[TJ_ADDRESSES];
    static const struct {
        const char *name;
        int rows, width;
        tj_type type;
        bool is_written;
    } expected[] = {{"m", J, K, TJ_BF16, false},
                    {"n", L, K / 2, TJ_S4, false},
                    {"p", J, L / 2, TJ_BF16, true},
                    {"scale_m", 1, J, TJ_F32, false},
                    {"scale_n", 4, L, TJ_F32, false}};
    static const struct {
        const char *name;
        int rows, width;
        bool is_taken, is_written;
    } of_epilogue[] = {{"aux", J, L / 2, true, true},
                       {"bias", 1, L / 2, true, false},
                       {"s", 0, 0, false, false},
                       {"w", J, L / 2, true, false}};
    int met = 0;

    tj_operand_table(&problem, row);
    for (int which = 0, i = 0; which < TJ_WITH; which++) {
        if (which == TJ_MATRIX_C || which > TJ_SCALES + TJ_MATRIX_N) {
            cr_expect(not(row[which].is_taken));
            continue;
        }
        cr_expect(eq(str, (char *)row[which].name, (char *)expected[i].name));
        cr_expect(row[which].is_taken);
        cr_expect(eq(i64, tj_extent_at(row[which].rows, &extents), expected[i].rows), "%s", row[which].name);
        cr_expect(eq(i64, tj_extent_at(row[which].width, &extents), expected[i].width), "%s", row[which].name);
        cr_expect(eq(int, row[which].type, expected[i].type), "%s", row[which].name);
        cr_expect(eq(int, row[which].is_written, expected[i].is_written), "%s", row[which].name);
        i++;
    }
    for (int which = TJ_WITH; which < TJ_ADDRESSES; which++)
        for (size_t i = 0; i < sizeof of_epilogue / sizeof of_epilogue[0]; i++) {
            if (strcmp(row[which].name, of_epilogue[i].name) != 0)
                continue;
            met++;
            cr_expect(eq(int, row[which].is_taken, of_epilogue[i].is_taken), "%s", row[which].name);
            cr_expect(eq(int, row[which].is_written, of_epilogue[i].is_written), "%s", row[which].name);
            if (!row[which].is_taken)
                continue;
            cr_expect(eq(i64, tj_extent_at(row[which].rows, &extents), of_epilogue[i].rows), "%s", row[which].name);
            cr_expect(eq(i64, tj_extent_at(row[which].width, &extents), of_epilogue[i].width), "%s", row[which].name);
        }
    cr_expect(eq(int, met, 4), "operands of the epilogue");
}

Test(operand_table, counts_elements_with_the_batch_and_the_groups)
{
    tj_problem problem = rich();
    tj_operand_row row = tj_operand_row_of(&problem, TJ_MATRIX_N);

    cr_expect(eq(i64, tj_operand_span(&problem, &row), 3 * L * (K / 2)));
    row.stride = TJ_BROADCAST;
    cr_expect(eq(i64, tj_operand_span(&problem, &row), L * (K / 2)), "one for all");
    row.stride = TJ_ANY;
    cr_expect(eq(i64, tj_operand_span(&problem, &row), -1), "a launch says");
    row = tj_operand_row_of(&problem, TJ_MATRIX_C);
    cr_expect(eq(i64, tj_operand_span(&problem, &row), 0), "there is none");

    problem = (tj_problem)TJ_PROBLEM_INIT(J, K, L, TJ_F16);
    problem.rows = (tj_rows){.kind = TJ_ROWS_IN_GROUPS, .groups = 5};
    problem.scale[TJ_MATRIX_N] = (tj_scale)SCALE_EACH;
    problem = tj_problem_canonical(&problem);
    row = tj_operand_row_of(&problem, TJ_MATRIX_N);
    cr_expect(eq(i64, tj_operand_span(&problem, &row), 5 * K * L), "one for each group");
    row = tj_operand_row_of(&problem, TJ_MATRIX_P);
    cr_expect(eq(i64, tj_operand_span(&problem, &row), J * L), "and one P of all rows");
    row = tj_operand_row_of(&problem, TJ_SCALES + TJ_MATRIX_N);
    row.stride = TJ_TIGHT;
    cr_expect(eq(i64, tj_operand_span(&problem, &row), 5 * L));
}

/* Scales are numbers, not cases: those of blocks have rows of the table before a kernel takes them. */
Test(operand_table, counts_scales_by_their_numbers)
{
    static const struct {
        tj_scale scale;
        int64_t parts, width;
    } rows[] = {{ONE_SCALE, 1, 1},
                {SCALE_EACH, 1, 300},
                {SCALE_ALONG_K(64), 5, 300},
                {TJ_SCALE_INIT(TJ_F32, 128, 128), 3, 3},
                {TJ_SCALE_INIT(TJ_F32, 1, 32), 9, 300}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(7, 257, 300, TJ_F16);
        const tj_extents extents = {7, 257, 300};

        problem.scale[TJ_MATRIX_N] = rows[i].scale;
        const tj_operand_row row = tj_operand_row_of(&problem, TJ_SCALES + TJ_MATRIX_N);

        cr_expect(eq(i64, tj_extent_at(row.rows, &extents), rows[i].parts), "scale %zu", i);
        cr_expect(eq(i64, tj_extent_at(row.width, &extents), rows[i].width), "scale %zu", i);
        cr_expect(eq(i64, tj_operand_elements(&problem, TJ_SCALES + TJ_MATRIX_N), rows[i].parts * rows[i].width), "scale %zu",
                  i);
    }
}

Test(operand_table, knows_extents_that_are_open)
{
    tj_problem problem = rich();

    problem.k = (tj_dim){0, TJ_DIM_ANY, 6};
    const tj_operand_row n = tj_operand_row_of(&problem, TJ_MATRIX_N);
    const tj_dim width = tj_extent_dim(n.width, &problem);

    cr_expect(eq(int, width.mode, TJ_DIM_ANY));
    cr_expect(eq(int, width.multiple_of, 3), "a multiple of 6 numbers, two in an element");
    problem.k.multiple_of = 5;
    cr_expect(eq(int, tj_extent_dim(n.width, &problem).multiple_of, 1));
}

static tj_operand_shape shape_of(const tj_problem *problem, int which)
{
    tj_operand_shape shape = TJ_OPERAND_SHAPE_INIT;
    tj_error err = {0};

    cr_assert(eq(int, TJ_OK, tj_operand_get_shape(problem, which, &shape, &err)), "%d: %s", which, err.message);
    return shape;
}

Test(operand_shape, says_how_each_operand_is_stored)
{
    const tj_problem problem = rich();
    static const struct {
        int rows, cols, count;
        tj_type type;
        tj_layout layout;
    } expected[TJ_OPERAND_WITH] = {{J, K, 3, TJ_BF16, TJ_ROW_MAJOR},     {K / 2, L, 3, TJ_S4, TJ_COL_MAJOR},
                                   {J, L / 2, 3, TJ_BF16, TJ_ROW_MAJOR}, {0, 0, 0, TJ_TYPE_DEFAULT, TJ_ROW_MAJOR},
                                   {J, 1, 3, TJ_F32, TJ_COL_MAJOR},      {4, L, 3, TJ_F32, TJ_ROW_MAJOR}};

    for (int which = 0; which < TJ_OPERAND_WITH; which++) {
        const tj_operand_shape shape = shape_of(&problem, which);

        cr_expect(eq(int, shape.is_taken, expected[which].rows > 0));
        cr_expect(eq(int, shape.is_written, which == TJ_MATRIX_P));
        cr_expect(eq(i64, shape.rows, expected[which].rows), "%d", which);
        cr_expect(eq(i64, shape.cols, expected[which].cols), "%d", which);
        cr_expect(eq(i64, shape.count, expected[which].count), "%d", which);
        cr_expect(eq(int, shape.type, (int)expected[which].type), "%d", which);
        cr_expect(eq(int, shape.layout, (int)expected[which].layout), "%d", which);
    }
    cr_expect(eq(i64, shape_of(&problem, TJ_MATRIX_P).span, 3 * J * (L / 2)));
    cr_expect(eq(i64, shape_of(&problem, TJ_OPERAND_WITH + 1).cols, L / 2), "bias, for each column of P");
    cr_expect(eq(i64, shape_of(&problem, TJ_OPERAND_WITH + 1).rows, 1));
    cr_expect(eq(int, shape_of(&problem, TJ_OPERAND_WITH + 2).is_taken, 0), "a number");
    cr_expect(eq(i64, shape_of(&problem, TJ_OPERAND_SCALE + TJ_MATRIX_N).span, -1), "the launch says the distance of its rows");
}

/* A block of rows or of k may be short; tiles are whole; zero points of 4 bits are two in a byte. */
Test(operand_shape, says_how_scales_are_stored)
{
    static const struct {
        tj_scale scale;
        int which, rows, cols;
    } expected[] = {
        {{TJ_F32, .rows = 128, .k = 128}, TJ_OPERAND_SCALE, 3, 2},
        {{TJ_F32, .layout = TJ_SCALES_ROW_BY_ROW, .rows = 128, .k = 128}, TJ_OPERAND_SCALE, 2, 3},
        {{TJ_F16, .layout = TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 32}, TJ_OPERAND_SCALE, 135, 10},
        {{TJ_BF16, .rows = 0, .k = 32}, TJ_OPERAND_SCALE, 10, 1},
        {{TJ_F32, .rows = 16}, TJ_OPERAND_SCALE, 1, 9},
        {{TJ_E8M0, .layout = TJ_SCALES_IN_TILES, .rows = 1, .k = 32}, TJ_OPERAND_SCALE, 2, 3 * 512},
        {{TJ_F16, .zero = TJ_U4, .rows = 1, .k = 32}, TJ_OPERAND_ZERO, 10, 68},
        {{TJ_F16, .zero = TJ_F16, .rows = 1, .k = 32}, TJ_OPERAND_ZERO, 10, 135},
        {{TJ_F16, .layout = TJ_SCALES_ROW_BY_ROW, .zero = TJ_U4, .rows = 1, .k = 40}, TJ_OPERAND_ZERO, 135, 4},
        {{TJ_E4M3, .layout = TJ_SCALES_ROW_BY_ROW, .whole = 1, .rows = 1, .k = 16}, TJ_OPERAND_WHOLE, 1, 1},
    };

    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(7, 300, 135, TJ_F16);

        problem.n.type = TJ_S8;
        problem.scale[TJ_MATRIX_N] = expected[i].scale;
        const tj_operand_shape shape = shape_of(&problem, expected[i].which + TJ_MATRIX_N);

        cr_expect(eq(int, shape.is_taken, 1), "%zu", i);
        cr_expect(eq(i64, shape.rows, expected[i].rows), "%zu", i);
        cr_expect(eq(i64, shape.cols, expected[i].cols), "%zu", i);
    }
}

Test(operand_shape, refuses_in_words)
{
    const tj_problem problem = rich();
    tj_operand_shape shape = TJ_OPERAND_SHAPE_INIT;
    tj_error err;

    cr_expect(eq(int, tj_operand_get_shape(&problem, TJ_OPERANDS_MOST, &shape, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(str, err.message, "which is 19: use 0 to 18"));
    shape.struct_size = 7;
    cr_expect(eq(int, tj_operand_get_shape(&problem, 0, &shape, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "TJ_OPERAND_SHAPE_INIT") != NULL, "%s", err.message);
}

/* 33 rows of the product, two for each of 17 rows of P. */
Test(operand_table, has_lists_beside_it)
{
    static const struct {
        const char *name, *elements;
        int bytes;
        bool on_host;
    } expected[TJ_LISTS] = {{"offsets", "5 offsets of 4 groups", 5 * 8, true},
                            {"m_index", "row of M for each of the 33 rows of the product", J * 4, false},
                            {"p_index", "rows of the product for each of the 17 rows of P", 17 * 2 * 4, false},
                            {"p_factor", "factors for each of the 17 rows of P", 17 * 2 * 4, false}};
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_BF16);
    tj_host_operands host = TJ_HOST_OPERANDS(&problem, &problem);
    tj_error err = {0};
    char text[TJ_LIST_TEXT_BYTES];

    for (int list = 0; list < TJ_LISTS; list++)
        cr_expect(not(tj_list_row_of(&problem, (tj_list)list).read));
    problem.rows =
        (tj_rows){.kind = TJ_ROWS_IN_GROUPS, .gathered = 1, .combined = 2, .groups = 4, .offset_bytes = 8, .on_host = 1};
    for (int list = 0; list < TJ_LISTS; list++) {
        const tj_list_row row = tj_list_row_of(&problem, (tj_list)list);

        cr_expect(row.read && row.on_host == expected[list].on_host, "%s", row.name);
        cr_expect(eq(str, (char *)row.name, (char *)expected[list].name));
        cr_expect(eq(sz, tj_list_bytes(&problem, &row), (size_t)expected[list].bytes), "%s", row.name);
        tj_list_print(&problem, &row, J, 17, text);
        cr_expect(eq(str, text, (char *)expected[list].elements));
        cr_expect(eq(int, tj_lists_check_host(&problem, &host, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(strncmp(err.message, row.name, strlen(row.name)) == 0, "%s", err.message);
        tj_list_set_host(&host, &row, &problem);
    }
    cr_expect(eq(int, tj_lists_check_host(&problem, &host, &err), TJ_OK));
}
