/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate: only the predicted time, for callers that ask for thousands.
 */
#include "error.h"
#include "estimate.h"
#include "family.h"
#include "settle.h"
#include "part_of_device.h"
#include "targets.h"

/* Check the limits that occupancy does not: the target's features, and the static part of shared memory. */
static bool can_run(const tj_device_facts *facts, const tj_launch_form *form)
{
    return (form->needs & ~tj_device_features(facts)) == 0 && tj_share_suffices(form, facts->sm_count) &&
           tj_product_step(form)->static_shared_bytes <= facts->shared_per_block;
}

/*
 * Return the time if ptxas gives a thread `registers` registers. known: the time at the basis' occupancy, which is often the
 * answer.
 */
static double us_with(const tj_estimate_basis *basis, int32_t registers, double known)
{
    const tj_block_needs needs = {basis->counts.threads_per_block, registers, basis->counts.shared_bytes};
    tj_occupancy occupancy;

    if (tj_occupy_silently(&basis->cold, &needs, basis->counts.blocks, &occupancy, NULL) != TJ_OK ||
        occupancy.blocks_per_sm == 0 || occupancy.blocks_per_sm == basis->occupancy.blocks_per_sm)
        return known;
    return tj_predict(&basis->cold, &basis->counts, &occupancy, &basis->peaks).us;
}

double tj_estimate_us(const tj_estimate_basis *basis)
{
    const double us = tj_predict(&basis->cold, &basis->counts, &basis->occupancy, &basis->peaks).us;

    return (2 * us + us_with(basis, basis->counts.registers_least, us) + us_with(basis, basis->counts.registers_most, us)) / 4;
}

tj_status tj_estimate_count(const tj_device_facts *facts, const tj_request *counted, const tj_config *resolved,
                            tj_estimate_basis *basis, tj_error *err)
{
    tj_counts *const counts = &basis->counts;
    tj_launch_form form;
    tj_status status = tj_count_resolved(counted, resolved, true, &form, counts, err);

    basis->cold = tj_share_of(facts, &counted->problem);
    if (status == TJ_OK) {
        const tj_block_needs needs = {counts->threads_per_block, counts->registers, counts->shared_bytes};

        status = tj_occupy_silently(&basis->cold, &needs, counts->blocks, &basis->occupancy, err);
    }
    if (status == TJ_OK)
        status = tj_peaks_of(&basis->cold, 0, &basis->peaks, err);
    if (status != TJ_OK)
        return status;
    if (basis->occupancy.blocks_per_sm == 0 || !can_run(&basis->cold, &form))
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "no block of %d threads with %d registers and %lld bytes of shared memory runs on %s",
                       counts->threads_per_block, counts->registers, (long long)counts->shared_bytes, facts->name);
    basis->cold.l2_bytes = 0;
    basis->keeps_share = basis->cold.sm_count == facts->sm_count || tj_share_is_kept(&form, counts, basis->cold.sm_count);
    return TJ_OK;
}

tj_status tj_estimate_resolved(const tj_device_facts *facts, const tj_request *counted, const tj_config *resolved, double *us,
                               tj_error *err)
{
    tj_estimate_basis basis;
    const tj_status status = tj_estimate_count(facts, counted, resolved, &basis, err);

    *us = status == TJ_OK ? tj_estimate_us(&basis) : 0;
    return status;
}

tj_status tj_estimate(const tj_device_facts *facts, const tj_problem *problem, const tj_config *config, double *us,
                      tj_error *err)
{
    if (TJ_HAS_NULL(err, facts, problem, config, us))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_config resolved = *config;
    tj_request request;
    tj_status status = tj_request_make(problem, &request, err);

    *us = 0;
    if (status == TJ_OK)
        status = tj_request_resolve(&request, &resolved, err);
    if (status != TJ_OK)
        return status;
    tj_request_counted(&request, &request);
    return tj_estimate_resolved(facts, &request, &resolved, us, err);
}
