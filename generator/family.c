/* SPDX-License-Identifier: Apache-2.0 */
/*
 * family: the table of families, and lookups in the data of their forms.
 */
#include "family.h"

#include "settle.h"
#include "starts.h"

#include <string.h>

#include "canonical.h"

#define TJ_FAMILY_ROW(name) &tj_family_##name,
static const tj_family *const families[] = {TJ_FAMILIES(TJ_FAMILY_ROW)};
#undef TJ_FAMILY_ROW

size_t tj_family_count(void)
{
    return sizeof families / sizeof families[0];
}

const tj_family *tj_family_at(size_t index)
{
    return index < tj_family_count() ? families[index] : NULL;
}

const tj_family *tj_family_find(const char *name)
{
    for (size_t i = 0; name && i < tj_family_count(); i++)
        if (strcmp(families[i]->name, name) == 0)
            return families[i];
    return NULL;
}

const char *tj_family_name(const tj_family *family)
{
    return family ? family->name : NULL;
}

const char *tj_family_summary(const tj_family *family)
{
    return family ? family->summary : NULL;
}

size_t tj_family_param_count(const tj_family *family)
{
    return family ? family->param_count : 0;
}

const tj_param *tj_family_param(const tj_family *family, size_t index)
{
    return family && index < family->param_count ? &family->param[index] : NULL;
}

/* Insert a value into an ascending list without duplicates. */
static size_t insert_value(int32_t *value, size_t count, int32_t one)
{
    size_t at = 0;

    while (at < count && value[at] < one)
        at++;
    if ((at < count && value[at] == one) || count == TJ_PARAM_MAX_TRIED)
        return count;
    memmove(&value[at + 1], &value[at], (count - at) * sizeof *value);
    value[at] = one;
    return count + 1;
}

size_t tj_param_values(const tj_param *param, int32_t *value)
{
    if (!param || !value)
        return 0;
    size_t count = 0;

    if (param->tried) {
        for (const int32_t *next = param->tried; *next; next++)
            count = insert_value(value, count, *next);
    } else if (param->standard != 0) {
        for (int64_t next = param->choice ? param->minimum : 1; next <= param->maximum;
             next = param->choice ? next + 1 : 2 * next)
            if (next >= param->minimum)
                count = insert_value(value, count, (int32_t)next);
    }
    return param->standard == 0 && count > 0 ? count : insert_value(value, count, param->standard);
}

const char *tj_family_constraint(const tj_family *family, size_t index)
{
    if (!family)
        return NULL;
    for (size_t i = 0; family->constraint[i]; i++)
        if (i == index)
            return family->constraint[i];
    return NULL;
}

bool tj_family_start(const tj_family *family, size_t index, tj_config *config)
{
    if (index > (family->start ? family->start->count : 0))
        return false;
    *config = (tj_config)TJ_CONFIG_INIT;
    config->family = family;
    if (index > 0)
        memcpy(config->value, family->start->row[index - 1], sizeof family->start->row[0]);
    return true;
}

const tj_problem *tj_request_view(const tj_request *request, const tj_config *config, bool *is_swapped)
{
    const bool quantizes = tj_is_scaled(&request->problem, TJ_MATRIX_P) && config->family->quantizes &&
                           config->family->quantizes(&request->problem, config);

    *is_swapped = config->family->is_swapped ? config->family->is_swapped(&request->problem, config)
                                             : request->problem.p.layout == TJ_COL_MAJOR;
    if (tj_is_finished(&request->problem) && !quantizes)
        return *is_swapped ? &request->unfinished_transposed : &request->unfinished;
    return *is_swapped ? &request->transposed : &request->problem;
}

tj_config tj_safe_config(const tj_problem *problem)
{
    static const char *const narrow[] = {"width", "vector",
                                         "pack"}; /* the least, which asks for no alignment and no workspace */
    tj_config safe = TJ_CONFIG_INIT;

    safe.family = TJ_SAFE_FAMILY;
    if (tj_sum_order_of(problem) == TJ_SUMS_IN_PARTS)
        safe.family = TJ_SAFE_PARTS_FAMILY;
    if (tj_sum_order_of(problem) != TJ_SUMS_BY_TENSOR_CORES)
        return safe;
    safe.family = TJ_SAFE_TENSOR_FAMILY;
    for (size_t i = 0; !tj_holds_pairs(problem) && i < sizeof narrow / sizeof narrow[0]; i++) /* weights of 4 bits are wide */
        safe.value[tj_family_param_index(safe.family, narrow[i])] = 1;
    return safe;
}

int tj_family_param_index(const tj_family *family, const char *name)
{
    for (size_t i = 0; i < family->param_count; i++)
        if (strcmp(family->param[i].name, name) == 0)
            return (int)i;
    return -1;
}
