/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_table: problem -> a row for each list of a launch.
 */
#include "list_table.h"

#include <stdio.h>

#include "checked.h"
#include "error.h"

/* Its member, and what messages about its memory and the source call it: mostly by its name. */
#define NAMED_AS(member, title, word) #member, title, word, offsetof(tj_operands, member), offsetof(tj_host_operands, member)
#define NAMED(member) NAMED_AS(member, #member, #member)

tj_list_row tj_list_row_of(const tj_problem *problem, tj_list list)
{
    const bool is_masked = tj_is_masked(problem), is_combined = tj_is_combined(problem);
    const unsigned in_groups = TJ_LIST_WITH_M | TJ_LIST_WITH_P | TJ_LIST_AFTER;
    const tj_list_row row[TJ_LISTS] = {
        [TJ_LIST_OFFSETS] = {NAMED_AS(offsets, is_masked ? "the counts" : "the offsets", tj_offsets_word(problem)),
                             is_masked ? "count_t" : "offset_t", NULL, tj_offset_bytes(problem),
                             tj_divides_k(problem)    ? TJ_LIST_WITH_M
                             : tj_is_grouped(problem) ? in_groups
                                                      : 0,
                             .on_host = tj_offsets_on_host(problem), .count = tj_offset_count(problem)},
        [TJ_LIST_M_INDEX] = {NAMED(m_index), "int", "row of M", sizeof(int32_t), tj_is_gathered(problem) ? TJ_LIST_WITH_M : 0,
                             .each = 1},
        [TJ_LIST_P_INDEX] = {NAMED(p_index), "int", is_combined ? "rows of the product" : "row of P", sizeof(int32_t),
                             is_combined                ? TJ_LIST_AFTER
                             : tj_is_scattered(problem) ? TJ_LIST_WITH_P
                                                        : 0,
                             .is_of_p = is_combined, .each = tj_rows_of_sum(problem)},
        [TJ_LIST_P_FACTOR] = {NAMED(p_factor), "float", "factors", sizeof(float), is_combined ? TJ_LIST_AFTER : 0,
                              .is_of_p = true, .each = tj_rows_of_sum(problem)},
    };

    return row[list];
}

size_t tj_list_bytes(const tj_problem *problem, const tj_list_row *row)
{
    const int64_t j = problem->j.extent, p_rows = tj_ceil_div(j, tj_rows_of_sum(problem));

    return (size_t)tj_list_count(row, j, p_rows) * (size_t)row->bytes;
}

void tj_list_print(const tj_problem *problem, const tj_list_row *row, int64_t j, int64_t p_rows, char text[TJ_LIST_TEXT_BYTES])
{
    if (row->count > 0)
        (void)snprintf(text, TJ_LIST_TEXT_BYTES, "%lld %s of %lld groups", (long long)row->count, row->word,
                       (long long)problem->rows.groups);
    else
        (void)snprintf(text, TJ_LIST_TEXT_BYTES, "%s for each of the %lld rows of %s", row->what,
                       (long long)(row->is_of_p ? p_rows : j), row->is_of_p ? "P" : "the product");
}

tj_status tj_lists_check_host(const tj_problem *problem, const tj_host_operands *x, tj_error *err)
{
    const int64_t j = problem->j.extent, usual = tj_ceil_div(j, tj_rows_of_sum(problem));

    for (int list = 0; list < TJ_LISTS; list++) {
        const tj_list_row row = tj_list_row_of(problem, (tj_list)list);
        char text[TJ_LIST_TEXT_BYTES];
        const void *address;

        memcpy(&address, (const char *)x + row.host_at, sizeof address);
        if (!row.read || address)
            continue;
        tj_list_print(problem, &row, j, x->p_rows > 0 ? x->p_rows : usual, text);
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is NULL: the reference needs the %s in host memory", row.name, text);
    }
    return TJ_OK;
}
