/* SPDX-License-Identifier: Apache-2.0 */
/*
 * groups: the row where each product begins, and its check.
 */
#include "canonical.h"
#include "error.h"

tj_status tj_groups_check(const tj_problem *problem, int64_t j, const void *offsets, tj_error *err)
{
    if (TJ_HAS_NULL(err, problem, offsets))
        return TJ_ERR_INVALID_ARGUMENT;
    const int64_t rows = j > 0 ? j : problem->j.extent, count = problem->groups.count;
    int64_t begin, end;

    if (count < 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the problem has no groups (groups.count is %lld), and so no offsets",
                       (long long)count);
    end = tj_group_offset(problem, offsets, 0);
    for (int64_t group = 0; group < count; group++) {
        begin = end;
        end = tj_group_offset(problem, offsets, group + 1);
        if (begin < 0 || end > rows)
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "group %lld has the rows from %lld up to %lld, and there are only those from 0 up to j = %lld: correct its "
                "offsets, or raise j",
                (long long)group, (long long)begin, (long long)end, (long long)rows);
        if (end < begin)
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "group %lld begins at row %lld and ends before row %lld: offsets never fall, and those of an empty group "
                "are equal",
                (long long)group, (long long)begin, (long long)end);
    }
    return TJ_OK;
}
