/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose: the problem's record; else the config of least expected time among those of similar problems and the model's own; else
 * the safe default.
 */
#include "choose.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "climb.h"
#include "error.h"
#include "expect.h"
#include "family.h"
#include "rank.h"
#include "record.h"
#include "settle.h"
#include "space.h"

static const double SIMILAR = 1.1; /* times the best: a relaxed config that is predicted to be no slower is still preferred */
static const double SPREAD = 2;    /* standard deviations of a group's size, if each row chose its group independently */
/*
 * Times the least predicted time, beyond which trials of other problems do not speak for a config: of those that are predicted to
 * be so slow, tables hold the few that are not. Without this limit no measured problem has a better choice.
 */
static const double FAR = 1.5;
enum { NOMINAL = 1024 };
enum { LOOSEN_ONLY = 3 }; /* refusals from which on only the last refused config is relaxed, so that the choice ends */

tj_config tj_default_config(const tj_request *request)
{
    tj_config settled = TJ_CONFIG_INIT, config = TJ_CONFIG_INIT;

    if (tj_request_resolve(request, &settled, NULL) == TJ_OK)
        config.family = settled.family;
    else
        config.family = tj_safe_config(&request->problem).family;
    tj_config_spell_out(&config);
    return config;
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

bool tj_record_read_config(const tj_record *record, tj_config *config)
{
    return record && tj_config_read(record->config, config);
}

/* Resolve the config of a choice. False: it cannot be chosen for this request on this device. */
static bool resolve_here(const tj_request *request, const tj_device_facts *device, tj_choice *choice)
{
    tj_launch_form form;

    choice->resolved = choice->config;
    return tj_request_preview(request, &choice->resolved, &form, NULL) == TJ_OK &&
           tj_device_can_run(device, &request->problem, &form);
}

bool tj_choose_written(const char *text, const tj_request *request, const tj_device_facts *device, tj_choice *choice)
{
    return tj_config_read(text, &choice->config) && resolve_here(request, device, choice);
}

/* Read the config of a record, if it can be chosen here and was not refused. */
static bool read_config(const tj_record *record, const tj_request *request, const tj_device_facts *device, tj_refusals refused,
                        tj_choice *choice)
{
    return record && tj_choose_written(record->config, request, device, choice) &&
           !tj_is_refused(&choice->resolved, refused.config, refused.count);
}

/* ---- model -------------------------------------------------------------------------------------------------------- */

/*
 * An extent that is known only at launch must not decide, because the plan serves all of them: use a medium one. Groups have
 * the mean size on average only: tiles that just hold the mean would be two tiles for every second group, so use a larger size.
 */
static tj_request nominal(const tj_request *request)
{
    tj_request with_extents;
    tj_problem p = request->problem;
    tj_dim *const dim[] = {&p.j, &p.k, &p.l};

    for (size_t i = 0; i < sizeof dim / sizeof dim[0]; i++)
        if (dim[i]->mode == TJ_DIM_ANY)
            dim[i]->extent = NOMINAL;
    if (tj_is_grouped(&p)) {
        const double usual = (double)tj_usual_rows(&p);
        const int64_t rows = (int64_t)(usual + SPREAD * sqrt(usual)), all = tj_group_count(&p) * rows;

        if (p.rows.expected > 0)
            p.rows.expected = (int16_t)(rows < INT16_MAX ? rows : INT16_MAX);
        else if (!tj_is_masked(&p))
            p.j.extent = all < INT32_MAX ? all : INT32_MAX;
    }
    tj_request_derive(&p, &with_extents);
    return with_extents;
}

/* ---- similar problems --------------------------------------------------------------------------------------------- */

/* The search for the config of least expected time. */
typedef struct expecting {
    const tj_request *request;
    const tj_device_facts *device;
    tj_refusals refused;
    const tj_expectation *e;
    double least;    /* predicted for any config */
    double expected; /* logarithm of the expected seconds of the best, with its uncertainty counted */
} expecting;

/* Take a config that can be launched here, if it is expected to be faster than the best. is_measured: for this very problem. */
static bool expects_more_of(expecting *x, const tj_config *config, bool is_measured)
{
    tj_choice choice = {.config = *config};
    double predicted, with_doubt;

    if (!resolve_here(x->request, x->device, &choice) || tj_is_refused(&choice.resolved, x->refused.config, x->refused.count))
        return false;
    predicted = tj_rank_predict(x->device, x->request, config);
    if (!(predicted > 0) || (predicted > FAR * x->least && !is_measured) ||
        tj_expect(x->e, &choice.resolved, predicted, x->least, NULL) >= x->expected)
        return false;
    (void)tj_expect(x->e, &choice.resolved, predicted, x->least, &with_doubt);
    if (with_doubt >= x->expected)
        return false;
    x->expected = with_doubt;
    return true;
}

/* Leave to the problem again what follows from it: what was fast for another may be too many splits here. */
static bool leave_open(const tj_config *config, tj_config *open)
{
    bool is_other = false;

    *open = *config;
    for (size_t i = 0; i < tj_family_param_count(config->family); i++)
        if (tj_family_param(config->family, i)->standard == 0) {
            is_other |= open->value[i] != 0;
            open->value[i] = 0;
        }
    return is_other;
}

/*
 * Choose between the configs of similar problems that were measured and the one that the model ranks first. config: the model's;
 * predicted: its seconds.
 */
static tj_chosen_by choose_measured(expecting *x, double predicted, tj_config *config)
{
    tj_chosen_by by = TJ_BY_MODEL;
    tj_config best = *config, open;
    const tj_neighbour *near;

    x->least = predicted;
    x->expected = INFINITY;
    for (size_t i = 0; (near = tj_expectation_neighbour(x->e, i)); i++) {
        bool is_new = true;

        for (size_t k = 0; k < i && is_new; k++)
            is_new = memcmp(&tj_expectation_neighbour(x->e, k)->config, &near->config, sizeof near->config) != 0;
        if (is_new && expects_more_of(x, &near->config, near->distance == 0)) {
            best = near->config;
            by = near->distance > 0 ? TJ_BY_NEAREST : TJ_BY_TRIALS;
        }
        if (is_new && near->distance > 0 && leave_open(&near->config, &open) && expects_more_of(x, &open, false)) {
            best = open;
            by = TJ_BY_NEAREST;
        }
    }
    if (expects_more_of(x, config, false))
        return TJ_BY_MODEL;
    *config = best;
    return by;
}

size_t tj_choose_promising(const tj_records *records, const tj_request *request, const tj_device_facts *device,
                           tj_config *promising, size_t capacity)
{
    tj_expectation *const e = tj_expect_learn(records, request, device, TJ_LEAVE_NONE_OUT);
    double expected[TJ_MOST_PROMISING], least = INFINITY;
    const tj_neighbour *near;
    size_t count = 0;

    for (size_t i = 0; (near = tj_expectation_neighbour(e, i)); i++) {
        const double predicted = tj_rank_predict(device, request, &near->config);

        least = predicted > 0 ? fmin(least, predicted) : least;
    }
    for (size_t i = 0; (near = tj_expectation_neighbour(e, i)); i++) {
        const double predicted = tj_rank_predict(device, request, &near->config);
        tj_choice choice = {.config = near->config};
        double time;
        size_t at = count;
        bool is_new = predicted > 0;

        for (size_t k = 0; k < count && is_new; k++)
            is_new = memcmp(&promising[k], &near->config, sizeof near->config) != 0;
        if (!is_new || !resolve_here(request, device, &choice))
            continue;
        time = tj_expect(e, &choice.resolved, predicted, least, NULL);
        while (at > 0 && time < expected[at - 1])
            at--;
        if (at == capacity)
            continue;
        count += count < capacity;
        memmove(&expected[at + 1], &expected[at], (count - at - 1) * sizeof expected[0]);
        memmove(&promising[at + 1], &promising[at], (count - at - 1) * sizeof promising[0]);
        expected[at] = time;
        promising[at] = near->config;
    }
    tj_expectation_free(e);
    return count;
}

/* Choose without a record of the problem itself. config: the safe default. */
static tj_chosen_by choose_unseen(const tj_records *records, const tj_request *given, const tj_device_facts *device,
                                  tj_refusals refused, tj_config *config)
{
    const tj_request request = nominal(given);
    const double standard = tj_rank_predict(device, &request, config);
    tj_chosen_by by = TJ_BY_MODEL;
    tj_config chosen;
    const double model =
        tj_climb(&request, device, &(tj_climb_terms){.refused = refused.config, .refused_count = refused.count}, &chosen);
    tj_expectation *const e = model > 0 ? tj_expect_learn(records, &request, device, TJ_LEAVE_NONE_OUT) : NULL;
    expecting x = {.request = &request, .device = device, .refused = refused, .e = e};

    if (e)
        by = choose_measured(&x, model, &chosen);
    tj_expectation_free(e);
    if (by == TJ_BY_MODEL && !(model > 0 && (standard == 0 || model < standard)))
        return TJ_BY_DEFAULT;
    *config = chosen;
    return by;
}

/* Relax the launch bounds of the last refused config until it is not among the refused ones. */
static bool relax_last(const tj_request *request, tj_refusals refused, tj_config *config)
{
    *config = refused.config[refused.count - 1];
    while (tj_request_relax(request, config))
        if (!tj_is_refused(config, refused.config, refused.count))
            return true;
    return false;
}

/* Is the config much slower than the other by the model? Without a prediction it is not. */
static bool is_slower(const tj_request *request, const tj_device_facts *device, const tj_config *config, const tj_config *other)
{
    const tj_request r = nominal(request);

    return tj_rank_predict(device, &r, config) > SIMILAR * tj_rank_predict(device, &r, other);
}

/* Choose, except that a record's choice alone is resolved. */
static bool choose(const tj_records *records, const tj_request *request, const tj_device_facts *device, tj_refusals refused,
                   tj_choice *choice)
{
    const bool may_loosen = refused.count > 0 && refused.count < TJ_MOST_REFUSED;
    tj_config looser;
    const bool is_loosened = may_loosen && relax_last(request, refused, &looser);
    const tj_record *record = records ? tj_records_get(records, &request->problem, device) : NULL;
    tj_chosen_by by = TJ_BY_RECORD;

    if (is_loosened && refused.count >= LOOSEN_ONLY) {
        choice->config = looser;
        return false; /* choice->by stays that of the config before */
    }
    if (refused.count >= TJ_MOST_REFUSED) {
        choice->config = tj_default_config(request);
        by = TJ_BY_DEFAULT;
    } else if (!read_config(record, request, device, refused, choice)) {
        choice->config = tj_default_config(request);
        by = choose_unseen(records, request, device, refused, &choice->config);
    }
    if (is_loosened && !is_slower(request, device, &looser, &choice->config)) {
        choice->config = looser;
        return false;
    }
    choice->by = by;
    return by == TJ_BY_RECORD;
}

tj_status tj_choose_for(const tj_records *records, const tj_request *request, const tj_device_facts *device,
                        tj_refusals refused, tj_choice *choice, tj_error *err)
{
    if (choose(records, request, device, refused, choice))
        return TJ_OK;
    choice->resolved = choice->config;
    return tj_request_resolve(request, &choice->resolved, err);
}

tj_status tj_choose(const tj_records *records, const tj_problem *problem, const tj_device_facts *device, tj_config *config,
                    tj_chosen_by *chosen_by, tj_error *err)
{
    if (TJ_HAS_NULL(err, problem, device, config))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_choice choice = {.by = 0};
    tj_request request;
    tj_status status = tj_request_make(problem, &request, err);

    if (status == TJ_OK)
        status = tj_choose_for(records, &request, device, (tj_refusals){NULL, 0}, &choice, err);
    if (status != TJ_OK)
        return status;
    *config = choice.config;
    if (chosen_by)
        *chosen_by = choice.by;
    return TJ_OK;
}

tj_status tj_choose_fitting(const tj_records *records, const tj_request *request, const tj_device_facts *device,
                            tj_fits_fn *fits, void *payload, tj_config *config, tj_error *err)
{
    tj_config refused[TJ_MOST_REFUSED + 1];
    tj_choice choice = {.by = 0};
    tj_error why;

    for (size_t count = 0;; count++) {
        tj_status status = tj_choose_for(records, request, device, (tj_refusals){refused, count}, &choice, err);

        if (status != TJ_OK)
            return status;
        *config = choice.config;
        status = fits(payload, config, &why);
        if (!tj_status_is_unfit(status) || count > TJ_MOST_REFUSED) {
            if (status != TJ_OK && err)
                *err = why;
            return status;
        }
        refused[count] = choice.resolved;
    }
}
