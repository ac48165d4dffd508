/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue: what may become of a sum, one operation a row.
 */
#include <stddef.h>

#include "canonical.h"
#include "error.h"

#define FLAG(name) #name, offsetof(tj_problem, epilogue.name)

/* In the order in which they run. */
const tj_operation tj_operations[] = {
    {FLAG(has_alpha), " alpha", "alpha * ", "", 1},
    {FLAG(has_beta), " beta", "", " + beta * C", 2},
};

const size_t tj_operation_count = sizeof tj_operations / sizeof tj_operations[0];

tj_status tj_epilogue_check(const tj_problem *problem, tj_error *err)
{
    for (size_t i = 0; i < tj_operation_count; i++) {
        const int32_t flag = tj_operation_flag(problem, &tj_operations[i]);

        if (flag != 0 && flag != 1)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %d: use 0 or 1", tj_operations[i].flag, flag);
    }
    if (problem->epilogue.reserved != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "epilogue.reserved is %d: it must be 0", problem->epilogue.reserved);
    return TJ_OK;
}

int32_t tj_epilogue_flop(const tj_problem *problem)
{
    int32_t flop = 0;

    for (size_t i = 0; i < tj_operation_count; i++)
        flop += tj_operation_flag(problem, &tj_operations[i]) * tj_operations[i].flop;
    return flop;
}
