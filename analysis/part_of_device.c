/* SPDX-License-Identifier: Apache-2.0 */
#include "part_of_device.h"

#include "checked.h"
#include "error.h"
#include "family.h"

tj_device_facts tj_share_of(const tj_device_facts *device, const tj_problem *problem)
{
    tj_device_facts share = *device;

    if (problem->multiprocessors > 0 && problem->multiprocessors < share.sm_count)
        share.sm_count = problem->multiprocessors;
    return share;
}

static int64_t blocks_of_cluster(const tj_launch_step *step)
{
    int64_t blocks = 1;

    for (int axis = 0; axis < 3; axis++)
        blocks *= step->cluster[axis] > 1 ? step->cluster[axis] : 1;
    return blocks;
}

int64_t tj_share_blocks(const tj_launch_step *step, int32_t multiprocessors)
{
    const int64_t cluster = blocks_of_cluster(step);

    return (int64_t)multiprocessors * step->resident / cluster * cluster;
}

/* Find a step that walks, and of whose clusters the multiprocessors hold none. NULL: they suffice. */
static const tj_launch_step *too_large(const tj_launch_form *form, int32_t multiprocessors)
{
    for (int i = 0; i < form->steps; i++)
        if (tj_step_walks(&form->step[i]) && tj_share_blocks(&form->step[i], multiprocessors) == 0)
            return &form->step[i];
    return NULL;
}

bool tj_share_suffices(const tj_launch_form *form, int32_t multiprocessors)
{
    return too_large(form, multiprocessors) == NULL;
}

tj_status tj_share_check(const tj_device_facts *device, const tj_problem *problem, const tj_launch_form *form, tj_error *err)
{
    const int32_t multiprocessors = problem->multiprocessors;
    const tj_launch_step *const step = form && multiprocessors > 0 ? too_large(form, multiprocessors) : NULL;

    if (multiprocessors > device->sm_count)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "multiprocessors is %d, and %s has %d: use 1 to %d, or 0 for all of them",
                       multiprocessors, device->name, device->sm_count, device->sm_count);
    if (step)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "multiprocessors is %d, and the config has clusters of %lld blocks, %d on a multiprocessor: use %lld or "
                       "more, or smaller clusters",
                       multiprocessors, (long long)blocks_of_cluster(step), step->resident,
                       (long long)tj_ceil_div(blocks_of_cluster(step), step->resident));
    return TJ_OK;
}

bool tj_share_is_kept(const tj_launch_form *form, const tj_counts *counts, int32_t multiprocessors)
{
    const tj_launch_step *const product = tj_product_step(form);

    if (product->grid == TJ_GRID_WALK_ALL)
        return true;
    if (product->grid == TJ_GRID_WALK) /* each product, and each split, has walkers of its own */
        return counts->blocks / (counts->row_blocks * counts->col_blocks) * blocks_of_cluster(product) <=
               tj_share_blocks(product, multiprocessors);
    return counts->blocks <= multiprocessors;
}
