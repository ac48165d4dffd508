/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_table: problem -> a row for each list of a launch.
 */
#include "list_table.h"

#include <stdio.h>

#include "checked.h"
#include "error.h"

tj_list_row tj_list_row_of(const tj_problem *problem, tj_list list)
{
    const bool is_combined = tj_is_combined(problem);

#define NAMED(member) .name = #member, .at = offsetof(tj_operands, member), .host_at = offsetof(tj_host_operands, member)
    switch (list) {
    case TJ_LIST_OFFSETS:
        return (tj_list_row){NAMED(offsets),
                             .title = tj_is_masked(problem) ? "the counts" : "the offsets",
                             .word = tj_offsets_word(problem),
                             .element = tj_is_masked(problem) ? "count_t" : "offset_t",
                             .read = tj_divides_k(problem)    ? TJ_LIST_WITH_M
                                     : tj_is_grouped(problem) ? TJ_LIST_WITH_M | TJ_LIST_WITH_P | TJ_LIST_AFTER
                                                              : 0,
                             .on_host = tj_offsets_on_host(problem),
                             .bytes = tj_offset_bytes(problem),
                             .count = tj_offset_count(problem)};
    case TJ_LIST_M_INDEX:
        return (tj_list_row){NAMED(m_index),           .title = "m_index", .word = "m_index",
                             .element = "int",         .what = "row of M", .read = tj_is_gathered(problem) ? TJ_LIST_WITH_M : 0,
                             .bytes = sizeof(int32_t), .each = 1};
    case TJ_LIST_P_INDEX:
        return (tj_list_row){NAMED(p_index),
                             .title = "p_index",
                             .word = "p_index",
                             .element = "int",
                             .what = is_combined ? "rows of the product" : "row of P",
                             .read = is_combined                ? TJ_LIST_AFTER
                                     : tj_is_scattered(problem) ? TJ_LIST_WITH_P
                                                                : 0,
                             .is_of_p = is_combined,
                             .bytes = sizeof(int32_t),
                             .each = tj_rows_of_sum(problem)};
    default: /* TJ_LIST_P_FACTOR */
        return (tj_list_row){NAMED(p_factor),    .title = "p_factor",    .word = "p_factor",
                             .element = "float", .what = "factors",      .read = is_combined ? TJ_LIST_AFTER : 0,
                             .is_of_p = true,    .bytes = sizeof(float), .each = tj_rows_of_sum(problem)};
    }
#undef NAMED
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
