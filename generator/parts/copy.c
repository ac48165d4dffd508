/* SPDX-License-Identifier: Apache-2.0 */
#include "copy.h"

#include "error.h"

const char *const tj_copy_choices[] = {"async", "registers", NULL};
const int32_t tj_copies_tried[] = {TJ_COPY_ASYNC, TJ_COPY_REGISTERS, 0};

int32_t tj_copy_default(const tj_problem *view)
{
    return tj_facts_of(view->m.type)->bytes == tj_sum_bytes(view) ? TJ_COPY_ASYNC : TJ_COPY_REGISTERS;
}

tj_status tj_copy_check(const tj_problem *view, int32_t copy, tj_error *err)
{
    if (copy == TJ_COPY_REGISTERS || tj_copy_default(view) == TJ_COPY_ASYNC)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "copy=async brings elements to shared memory as they are, and %s is summed as f32: use copy=registers",
                   tj_facts_of(view->m.type)->name);
}

void tj_copy_for_target(uint32_t features, tj_config *config)
{
    int32_t *const copy = &config->value[tj_family_param_index(config->family, "copy")];

    if (*copy == 0 && !(features & TJ_FEATURE_CP_ASYNC))
        *copy = TJ_COPY_REGISTERS;
}
