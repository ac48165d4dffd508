/* SPDX-License-Identifier: Apache-2.0 */
/* undemanding: configs whose kernels take all that others refuse: any operands, any extents, any number of rows of P. */
#include "plan.h"

#include "family.h"
#include "settle.h"

/*
 * Whatever a family says, the form decides: an operand that is transposed on its way to the workspace is read by 16 bytes at
 * once.
 */
static bool takes_any_pointer(const tj_request *request, tj_config config)
{
    tj_launch_form form;
    bool asks = tj_request_preview(request, &config, &form, NULL) != TJ_OK;

    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++)
        asks |= tj_asked_alignment(&request->problem, &form, which) > 0;
    return !asks;
}

tj_config tj_undemanding_config(const tj_source *chosen, bool has_workspace)
{
    const tj_request *const request = tj_source_request(chosen);
    tj_config config = *tj_source_config(chosen);

    if (config.family->for_any_operands && !config.family->for_any_operands(has_workspace, &config))
        return tj_safe_config(&request->problem);
    return takes_any_pointer(request, config) ? config : tj_safe_config(&request->problem);
}

bool tj_undemanding_next(const tj_request *request, tj_config *config)
{
    const tj_config safe = tj_safe_config(&request->problem);

    if (tj_request_resolve(request, config, NULL) == TJ_OK && tj_request_relax(request, config))
        return true;
    if (config->family == safe.family)
        return false;
    *config = safe;
    return true;
}

/*
 * A kernel for unknown extents may not take all rows of this P: then choose one that does. Every grid holds 65 535 rows of
 * blocks, and a block at least one row, so only a taller P costs more than a comparison.
 */
const tj_config *tj_config_for_tall(const tj_problem *general, const tj_operands *operands, tj_config *storage)
{
    const int64_t rows = general->p.layout == TJ_ROW_MAJOR ? operands->j : operands->l;
    tj_request request;

    if (rows <= UINT16_MAX)
        return NULL;
    tj_request_derive(general, &request);
    *storage = (tj_config)TJ_CONFIG_INIT;
    if (tj_request_resolve(&request, storage, NULL) != TJ_OK)
        return NULL; /* the generator will say why */
    return storage->family->for_tall && storage->family->for_tall(&request.problem, rows, storage) ? storage : NULL;
}
