/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose: tuned record, nearest record, model, safe default: in this order.
 */
#include "choose.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "climb.h"
#include "error.h"
#include "rank.h"
#include "record.h"
#include "settle.h"
#include "space.h"

/* Factor over the model's best time below which a neighbour's tuned config, or the relaxed last choice, is still preferred. */
static const double SIMILAR = 1.1;
static const double NEAR = 1.6; /* sum of the doublings of extents within which two problems are similar */
static const double SPREAD = 2; /* standard deviations of a group's size, if each row chose its group independently */
enum { NOMINAL = 1024 };
enum { LOOSEN_ONLY = 3 }; /* refusals from which on only the last refused config is relaxed, so that the choice ends */

tj_config tj_default_config(const tj_request *request)
{
    tj_config settled = TJ_CONFIG_INIT, config = TJ_CONFIG_INIT;

    if (tj_request_resolve(request, &settled, NULL) == TJ_OK)
        config.family = settled.family;
    else
        config.family = tj_family_at(0);
    tj_config_spell_out(&config);
    return config;
}

/* ---- nearest ------------------------------------------------------------------------------------------------------ */

static double doublings(int64_t a, int64_t b)
{
    return fabs(log2(((double)a + 1) / ((double)b + 1)));
}

/* Return how unlike two problems are; INFINITY if they differ in type, layout or in which extents are fixed. */
static double difference(const tj_problem *a, const tj_problem *b)
{
    const bool is_same_kind = a->m.type == b->m.type && a->n.type == b->n.type && a->p.type == b->p.type &&
                              a->compute == b->compute && a->m.layout == b->m.layout && a->n.layout == b->n.layout &&
                              a->p.layout == b->p.layout && a->j.mode == b->j.mode && a->k.mode == b->k.mode &&
                              a->l.mode == b->l.mode && (a->batch > 1) == (b->batch > 1) &&
                              tj_is_grouped(a) == tj_is_grouped(b) && tj_scale_k(a) == tj_scale_k(b);

    if (!is_same_kind)
        return INFINITY;
    return doublings(a->j.extent, b->j.extent) + doublings(a->k.extent, b->k.extent) + doublings(a->l.extent, b->l.extent) +
           (a->batch == b->batch ? 0 : doublings(a->batch, b->batch)) +
           (tj_group_count(a) == tj_group_count(b) ? 0 : doublings(tj_group_count(a), tj_group_count(b))) +
           0.1 * (a->epilogue.has_beta != b->epilogue.has_beta);
}

typedef struct near_record {
    double distance;
    const tj_record *record;
} near_record;

static int by_distance(const void *a, const void *b)
{
    const near_record *x = a, *y = b;

    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return strcmp(x->record->key, y->record->key);
}

static bool read_text(const char *text, tj_config *config)
{
    if (tj_config_parse(text, config, NULL) != TJ_OK)
        return false;
    tj_config_spell_out(config);
    return true;
}

bool tj_record_read_config(const tj_record *record, tj_config *config)
{
    return record && read_text(record->config, config);
}

bool tj_choose_written(const char *text, const tj_request *request, const tj_device_facts *device, tj_choice *choice)
{
    tj_launch_form form;

    if (!read_text(text, &choice->config))
        return false;
    choice->resolved = choice->config;
    return tj_request_preview(request, &choice->resolved, &form, NULL) == TJ_OK && tj_device_can_run(device, &form);
}

/* Read the config of a record, if it can be chosen here and was not refused. */
static bool read_config(const tj_record *record, const tj_request *request, const tj_device_facts *device, tj_refusals refused,
                        tj_choice *choice)
{
    return record && tj_choose_written(record->config, request, device, choice) &&
           !tj_is_refused(&choice->resolved, refused.config, refused.count);
}

/* Another device counts as one and a half doublings, another compute capability as three. */
static double device_distance(const tj_device_kind *here, const tj_device_kind *there)
{
    if (tj_device_kind_is_equal(here, there))
        return 0;
    return here->cc_major == there->cc_major && here->cc_minor == there->cc_minor ? 1.5 : 3;
}

static size_t seeds(const tj_records *records, const tj_request *request, const tj_device_facts *device, tj_refusals refused,
                    double farthest, tj_config *seed, size_t capacity)
{
    const size_t all = records ? tj_records_count(records) : 0;
    const tj_device_kind here = tj_device_kind_of(device);
    near_record *list = all > 0 ? malloc(all * sizeof *list) : NULL;
    size_t listed = 0, count = 0;

    for (size_t i = 0; list && i < all; i++) {
        const tj_record *record = tj_records_at(records, i);
        const double elsewhere = device_distance(&here, &record->device);
        const double distance = difference(&request->problem, &record->problem) + elsewhere;

        if (distance <= farthest)
            list[listed++] = (near_record){distance, record};
    }
    if (list)
        qsort(list, listed, sizeof *list, by_distance);
    for (size_t i = 0; i < listed && count < capacity; i++) {
        tj_choice choice;
        bool is_new = read_config(list[i].record, request, device, refused, &choice);

        for (size_t k = 0; is_new && k < count; k++)
            is_new = memcmp(&seed[k], &choice.config, sizeof *seed) != 0;
        if (is_new)
            seed[count++] = choice.config;
    }
    free(list);
    return count;
}

size_t tj_choose_seeds(const tj_records *records, const tj_request *request, const tj_device_facts *device, tj_config *seed,
                       size_t capacity)
{
    return seeds(records, request, device, (tj_refusals){NULL, 0}, 8, seed, capacity);
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
        const double mean = ceil((double)p.j.extent / (double)tj_group_count(&p));
        const int64_t rows = tj_group_count(&p) * (int64_t)(mean + SPREAD * sqrt(mean));

        p.j.extent = rows < INT32_MAX ? rows : INT32_MAX;
    }
    tj_request_derive(&p, &with_extents);
    return with_extents;
}

/* Choose without a record of the problem itself. config: the safe default. */
static tj_chosen_by choose_unseen(const tj_records *records, const tj_request *given, const tj_device_facts *device,
                                  tj_refusals refused, tj_config *config)
{
    const tj_request request = nominal(given);
    const double standard = tj_rank_predict(device, &request, config);
    tj_config near, ranked;
    const double model = tj_climb(&request, device, refused.config, refused.count, &ranked);
    double nearest = 0;

    if (seeds(records, &request, device, refused, NEAR, &near, 1) > 0)
        nearest = tj_rank_predict(device, &request, &near);
    if (nearest > 0 && nearest < SIMILAR * model) {
        *config = near;
        return TJ_BY_NEAREST;
    }
    if (model > 0 && (standard == 0 || model < standard)) {
        *config = ranked;
        return TJ_BY_MODEL;
    }
    return TJ_BY_DEFAULT;
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
