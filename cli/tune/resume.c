/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume: tilejit tune --resume: which shapes have a record that makes another tuning needless.
 */
#include <string.h>

#include "tune.h"

/* A family or a parameter that this version does not have would choose nothing. */
static bool is_usable(const tj_record_facts *facts, const tj_problem *problem)
{
    tj_config config;

    return tj_config_parse(facts->config, &config, NULL) == TJ_OK && tj_config_resolve(problem, &config, NULL) == TJ_OK;
}

/* A search that ended by itself tried as many configs as were worth it, be they more or fewer than another one would try now. */
static bool is_founded(const tj_record_facts *facts, const tj_tune_options *options)
{
    if (facts->family[0] && (!options->family || strcmp(facts->family, tj_family_name(options->family)) != 0))
        return false;
    if (facts->is_complete || options->strategy == TJ_EXHAUSTIVE)
        return facts->is_complete;
    return options->evaluations > 0 ? facts->evaluations >= options->evaluations : !facts->was_cancelled;
}

bool tune_has_record(const tj_records *known, const tj_problem *problem, const tj_device_facts *device,
                     const tj_tune_options *options)
{
    const tj_record *record = tj_records_find(known, problem, device);
    tj_record_facts facts;

    if (!record)
        return false;
    tj_record_get_facts(record, &facts);
    return is_founded(&facts, options) && is_usable(&facts, problem);
}
