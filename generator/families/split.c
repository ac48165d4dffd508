/* SPDX-License-Identifier: Apache-2.0 */
#include "split.h"

#include "checked.h"
#include "error.h"

enum { REDUCE_THREADS = 256, MOST_GROUPS = 16, SPLITS_PER_THREAD = 4, GRID_Z_LIMIT = 65535 };

bool tj_split_is_possible(const tj_problem *text)
{
    return text->j.mode == TJ_DIM_FIXED && text->l.mode == TJ_DIM_FIXED && text->batch > 0;
}

/* Of one launch: a larger batch takes several, which use the same workspace one after the other. */
static int64_t workspace_bytes(const tj_problem *text, int32_t splits)
{
    const int64_t most = GRID_Z_LIMIT / splits, products = text->batch < most ? text->batch : most;
    int64_t bytes;

    if (!tj_mul(text->j.extent, text->l.extent, &bytes) || !tj_mul(bytes, splits * products, &bytes) ||
        !tj_mul(bytes, text->dtype == TJ_F64 ? 8 : 4, &bytes))
        return -1;
    return bytes;
}

tj_status tj_split_check(const tj_problem *text, int32_t splits, tj_error *err)
{
    if (splits <= 1)
        return TJ_OK;
    if (!tj_split_is_possible(text))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "splits is %d, and the workspace it takes is known only for a fixed j, l and batch: fix them, or use "
                       "splits=1",
                       splits);
    if (workspace_bytes(text, splits) < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%d splits of %lld x %lld elements need more bytes of workspace than 63 bits count: use splits=1",
                       splits, (long long)text->j.extent, (long long)text->l.extent);
    return TJ_OK;
}

/* So many threads share an element that each adds up a few splits, and no more than a few. */
static int32_t groups_of(int32_t splits)
{
    int32_t groups = 1;

    while (groups < MOST_GROUPS && groups * SPLITS_PER_THREAD < splits)
        groups *= 2;
    return groups;
}

void tj_split_describe(const tj_problem *text, int32_t splits, tj_template_params *fill, tj_launch_form *form)
{
    const int32_t groups = groups_of(splits);

    tj_template_set_int(fill, "splits", splits);
    tj_template_set_int(fill, "reduce_groups", groups);
    if (splits <= 1)
        return;
    form->splits = splits;
    form->reduce.threads = REDUCE_THREADS;
    form->reduce.block_elements = REDUCE_THREADS / groups;
    form->reduce.workspace_bytes = workspace_bytes(text, splits);
}
