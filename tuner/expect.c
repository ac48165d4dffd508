/* SPDX-License-Identifier: Apache-2.0 */
#include "expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "estimate.h"
#include "rank.h"
#include "record.h"
#include "settle.h"
#include "space.h"
#include "symmetric.h"

enum { MOST_PROBLEMS = 12, MOST_TRIALS = 120, OF_RECORD = 3 };

/* Fitted to the trials that the tables were made of, each problem left out in turn, and all within one doubling of it (docs/trials.md). */
tj_expect_constants tj_expect_constant = {
    .level = 0.011,
    .family = 0.22,
    .slope = 0.12,
    .place = 0.31,
    .own = 0.26,
    .noise = 0.016,
    .doubt = 2.6,
    .step = {[TJ_PARAM_SHAPE] = 0.088, [TJ_PARAM_ORDER] = 0.024, [TJ_PARAM_HINT] = 0.57},
    .word = 0.32,
    .fill = 0.5,
    .tail = 0.3,
    .far_level = 4.6,
    .far_family = 0.16,
    .far_place = 5.3,
    .other_device = 1.2,
    .other_type = 0.17,
    .other_layout = 1.1,
    .other_triangle = 0.55,
};

static const double FARTHEST = 6; /* doublings of extents, in all, beyond which a problem says nothing */

/* A problem that was measured, and its distance. */
typedef struct candidate {
    double distance;
    const tj_problem *problem;
    const tj_device_facts *device; /* of a table; NULL: of the record */
    const tj_record *record;       /* or */
    const tj_measured_problem *measured;
} candidate;

/* A problem whose trials are learnt from. */
typedef struct site {
    const tj_problem *problem;
    bool is_elsewhere; /* on another device */
} site;

/* A config at a problem. */
typedef struct spot {
    tj_neighbour of;
    tj_config resolved; /* for its problem */
    size_t site;
    double fill, tail; /* doublings: of the work by zero fill, and of the time by the last wave of blocks */
    double behind;     /* logarithm of the predicted time over the least one of the problem */
} spot;

struct tj_expectation {
    tj_request counted;
    tj_device_facts device;
    site site[MOST_PROBLEMS];
    size_t sites, spots;
    spot spot[MOST_TRIALS];
    double error[MOST_TRIALS];
    double near[MOST_PROBLEMS][MOST_PROBLEMS]; /* distances of the sites from each other */
    double here[MOST_PROBLEMS];                /* and from the request's problem */
    double factor[MOST_TRIALS][MOST_TRIALS];   /* L of the covariance L . L^T */
    double weight[MOST_TRIALS];
};

/* ---- distances ---------------------------------------------------------------------------------------------------- */

static double doublings(int64_t a, int64_t b)
{
    return fabs(log2(((double)a + 1) / ((double)b + 1)));
}

/* Types of one size, whose kernels differ in an instruction: f16 and bf16, e4m3 and e5m2, s8 and u8. */
static bool are_alike(int32_t a, int32_t b)
{
    const tj_type_facts *x = tj_facts_of(a), *y = tj_facts_of(b);

    return a == b || (x->bytes == y->bytes && x->compute == y->compute && tj_type_is_pair(a) == tj_type_is_pair(b));
}

/*
 * Do scales cost a kernel the same? Those along k are read and multiplied by in its loop, as often if their blocks are equal. The
 * kernel finds those of P. Others are factors of the epilogue.
 */
static bool scales_are_alike(const tj_problem *a, const tj_problem *b)
{
    bool are = tj_is_scaled(a, TJ_MATRIX_P) == tj_is_scaled(b, TJ_MATRIX_P);

    for (tj_which which = TJ_MATRIX_M; which < TJ_SCALED; which++) {
        const tj_scale *x = tj_scale_of(a, which), *y = tj_scale_of(b, which);

        are &= x->k == y->k && (x->k == 0 || (x->rows == y->rows && !x->zero == !y->zero));
    }
    return are;
}

/* Do scales along k, that are alike, differ in their types or in how they lie? */
static bool scales_differ(const tj_problem *a, const tj_problem *b)
{
    bool differ = false;

    for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS; which++) {
        const tj_scale *x = tj_scale_of(a, which), *y = tj_scale_of(b, which);

        differ |= x->k > 0 && (x->type != y->type || x->layout != y->layout || x->zero != y->zero);
    }
    return differ;
}

double tj_problem_difference(const tj_problem *a, const tj_problem *b)
{
    const tj_expect_constants *c = &tj_expect_constant;
    const bool is_same_kind = are_alike(a->m.type, b->m.type) && are_alike(a->n.type, b->n.type) &&
                              (a->p.type == b->p.type || (a->p.type == a->m.type && b->p.type == b->m.type)) &&
                              a->compute == b->compute && a->m.layout == b->m.layout && a->p.layout == b->p.layout &&
                              a->j.mode == b->j.mode && a->k.mode == b->k.mode && a->l.mode == b->l.mode &&
                              (a->batch > 1) == (b->batch > 1) && (a->batch < 0 ? a->batch == b->batch : b->batch >= 0) &&
                              a->rows.kind == b->rows.kind && scales_are_alike(a, b);

    if (!is_same_kind)
        return INFINITY;
    return doublings(a->j.extent, b->j.extent) + doublings(a->k.extent, b->k.extent) + doublings(a->l.extent, b->l.extent) +
           (a->batch == b->batch ? 0 : doublings(a->batch, b->batch)) +
           (tj_group_count(a) == tj_group_count(b) ? 0 : doublings(tj_group_count(a), tj_group_count(b))) +
           0.1 * (a->epilogue.has_beta != b->epilogue.has_beta) +
           c->other_type * (a->m.type != b->m.type || scales_differ(a, b)) + c->other_layout * (a->n.layout != b->n.layout) +
           c->other_triangle * (tj_is_symmetric(a) != tj_is_symmetric(b)) +
           c->other_device * (a->multiprocessors != b->multiprocessors);
}

/*
 * Return how far apart two resolved configs of a family are: doublings of numbers and changes of words, weighted by their roles. A
 * metric whose exponential is a covariance.
 */
static double steps_between(const tj_config *a, const tj_config *b)
{
    const tj_expect_constants *c = &tj_expect_constant;
    double steps = 0;

    for (size_t i = 0; i < tj_family_param_count(a->family); i++) {
        const tj_param *param = tj_family_param(a->family, i);
        const int32_t x = a->value[i], y = b->value[i];

        if (x != y)
            steps += !param->choice                  ? c->step[param->role] * fabs(log2((double)x / (double)y))
                     : param->role == TJ_PARAM_SHAPE ? c->word
                                                     : c->step[param->role];
    }
    return steps;
}

static double square(double x)
{
    return x * x;
}

/* distance: of the problems. */
static double covariance(const spot *a, const spot *b, double distance, bool is_one_problem)
{
    const tj_expect_constants *c = &tj_expect_constant;
    const double far = exp(-distance / c->far_level);
    double sum = (square(c->level) + square(c->slope) * a->behind * b->behind) * far + square(c->own) * is_one_problem;

    if (a->resolved.family == b->resolved.family)
        sum += square(c->family) * exp(-distance / c->far_family) +
               square(c->place) * exp(-distance / c->far_place - steps_between(&a->resolved, &b->resolved) -
                                      c->fill * fabs(a->fill - b->fill) - c->tail * fabs(a->tail - b->tail));
    return sum;
}

/* ---- neighbours --------------------------------------------------------------------------------------------------- */

static int by_distance(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    char of_x[TJ_PROBLEM_TEXT_BYTES], of_y[TJ_PROBLEM_TEXT_BYTES];

    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    if (!x->record != !y->record)
        return x->record ? -1 : 1;
    tj_problem_print(x->problem, of_x);
    tj_problem_print(y->problem, of_y);
    return strcmp(of_x, of_y);
}

/* Keep the nearest, sorted. */
static void offer(candidate *list, size_t *count, double left_out, double elsewhere, candidate one)
{
    size_t at = *count;

    if (one.distance <= left_out || one.distance > FARTHEST)
        return;
    one.distance += elsewhere;
    while (at > 0 && by_distance(&one, &list[at - 1]) < 0)
        at--;
    if (at == MOST_PROBLEMS)
        return;
    *count += *count < MOST_PROBLEMS;
    memmove(&list[at + 1], &list[at], (*count - at - 1) * sizeof *list);
    list[at] = one;
}

static bool is_this_device(const tj_device_facts *here, const tj_device_facts *there)
{
    return strcmp(here->name, there->name) == 0 && here->sm_count == there->sm_count;
}

/* Return how unlike a measured problem is. One triangle says nothing about all of P, which has trials enough of its own. */
static double distance_from(const tj_request *request, const tj_problem *measured)
{
    return tj_is_symmetric(measured) && !tj_is_symmetric(&request->problem)
               ? INFINITY
               : tj_problem_difference(&request->problem, measured);
}

static size_t find_near(const tj_records *records, const tj_request *request, const tj_device_facts *device, double left_out,
                        candidate list[MOST_PROBLEMS + 1])
{
    const tj_device_kind here = tj_device_kind_of(device);
    size_t count = 0;

    for (size_t i = 0; i < tj_records_count(records); i++) {
        const tj_record *record = tj_records_at(records, i);
        const double elsewhere = tj_device_kind_is_equal(&here, &record->device) ? 0 : tj_expect_constant.other_device;

        if (record->device.cc_major == device->cc_major && record->device.cc_minor == device->cc_minor)
            offer(list, &count, left_out, elsewhere,
                  (candidate){
                      .distance = distance_from(request, &record->problem), .problem = &record->problem, .record = record});
    }
    for (size_t t = 0; tj_records_table(records, t); t++) {
        const tj_trials *table = tj_records_table(records, t);
        const tj_device_facts *there = tj_trials_device(table);
        const double elsewhere = is_this_device(device, there) ? 0 : tj_expect_constant.other_device;
        const tj_measured_problem *of;

        if (there->cc_major != device->cc_major || there->cc_minor != device->cc_minor)
            continue;
        for (size_t i = 0; (of = tj_trials_at(table, i)); i++)
            offer(list, &count, left_out, elsewhere,
                  (candidate){.distance = distance_from(request, &of->problem),
                              .problem = &of->problem,
                              .device = there,
                              .measured = of});
    }
    return count;
}

/* Fill in what is known of a resolved config before it is measured. Returns the predicted seconds; 0: none. */
static double look_at(const tj_device_facts *device, const tj_request *counted, spot *one)
{
    tj_estimate_basis basis;
    double waves;

    if (tj_estimate_count(device, counted, &one->resolved, &basis, NULL) != TJ_OK)
        return 0;

    const tj_counts *c = &basis.counts;

    waves = (double)c->row_blocks * (double)c->col_blocks * (double)(c->splits > 1 ? c->splits : 1) *
            (double)counted->problem.batch / basis.cold.sm_count;
    one->fill = c->flop > 0 && c->work[c->pipe] > 0 ? log2((double)c->work[c->pipe] / (double)c->flop) : 0;
    one->tail = waves > 0 ? log2(ceil(waves) / waves) : 0;
    return tj_estimate_us(&basis) * 1e-6;
}

/* ---- learning ----------------------------------------------------------------------------------------------------- */

/* Note a trial, unless this version does not know its config, or the model has no opinion about it. */
static void note_trial(tj_expectation *e, const tj_request *at, const tj_device_facts *device, const char *config, double us,
                       const candidate *near)
{
    spot *one = &e->spot[e->spots];
    tj_request counted;
    double predicted;

    if (e->spots == MOST_TRIALS || !tj_record_is_time(us) || !tj_config_read(config, &one->of.config))
        return;
    one->resolved = one->of.config;
    if (tj_request_resolve(at, &one->resolved, NULL) != TJ_OK)
        return;
    tj_request_counted(at, &counted);
    predicted = look_at(device, &counted, one);
    if (!(predicted > 0))
        return;
    one->of.struct_size = sizeof one->of;
    one->of.problem = near->problem;
    one->of.device = near->record ? near->record->device.name : near->device->name;
    one->of.us = us;
    one->of.distance = near->distance;
    one->site = e->sites;
    one->behind = log(predicted);
    e->error[e->spots++] = log(us * 1e-6 / predicted);
}

static void note_problem(tj_expectation *e, const candidate *near, const tj_device_facts *device)
{
    const size_t first = e->spots;
    double least = INFINITY;
    tj_request at;

    if (near->record) {
        const tj_record *r = near->record;
        const struct {
            const char *config;
            double us;
        } trial[OF_RECORD] = {{r->config, r->us}, {r->default_config, r->default_us}, {r->second_config, r->second_us}};

        tj_request_derive(near->problem, &at);
        for (size_t i = 0; i < OF_RECORD; i++)
            if (i == 0 ||
                (strcmp(trial[i].config, r->config) != 0 && (i == 1 || strcmp(trial[2].config, trial[1].config) != 0)))
                note_trial(e, &at, device, trial[i].config, trial[i].us, near);
    } else {
        tj_request_derive(near->problem, &at);
        for (size_t i = 0; i < near->measured->trials; i++)
            note_trial(e, &at, near->device, near->measured->trial[i].config, (double)near->measured->trial[i].ns * 1e-3, near);
    }
    if (e->spots == first)
        return;
    for (size_t i = first; i < e->spots; i++)
        least = fmin(least, e->spot[i].behind);
    for (size_t i = first; i < e->spots; i++)
        e->spot[i].behind -= least;
    e->here[e->sites] = near->distance;
    e->site[e->sites++] = (site){near->problem, near->record ? false : !is_this_device(device, near->device)};
}

/* Replace x by L^-1 . x. */
static void solve(const tj_expectation *e, size_t count, double *x)
{
    for (size_t i = 0; i < count; i++) {
        double sum = x[i];

        for (size_t k = 0; k < i; k++)
            sum -= e->factor[i][k] * x[k];
        x[i] = sum / e->factor[i][i];
    }
}

static void factorise(tj_expectation *e)
{
    for (size_t i = 0; i < e->spots; i++) {
        double *const row = e->factor[i];
        double left;

        for (size_t k = 0; k < i; k++)
            row[k] = covariance(&e->spot[i], &e->spot[k], e->near[e->spot[i].site][e->spot[k].site],
                                e->spot[i].site == e->spot[k].site);
        left = covariance(&e->spot[i], &e->spot[i], 0, true);
        solve(e, i, row);
        for (size_t k = 0; k < i; k++)
            left -= square(row[k]);
        row[i] = sqrt(fmax(left, 0) + square(tj_expect_constant.noise)); /* these distances are not quite a metric */
    }
    memcpy(e->weight, e->error, e->spots * sizeof e->weight[0]);
    solve(e, e->spots, e->weight);
    for (size_t i = e->spots; i-- > 0;) {
        double sum = e->weight[i];

        for (size_t k = i + 1; k < e->spots; k++)
            sum -= e->factor[k][i] * e->weight[k];
        e->weight[i] = sum / e->factor[i][i];
    }
}

tj_expectation *tj_expect_learn(const tj_records *records, const tj_request *request, const tj_device_facts *device,
                                double left_out)
{
    candidate list[MOST_PROBLEMS + 1];
    const size_t count = find_near(records, request, device, left_out, list);
    tj_expectation *e = count > 0 ? calloc(1, sizeof *e) : NULL;

    for (size_t i = 0; e && i < count; i++)
        note_problem(e, &list[i], device);
    if (!e || e->spots == 0) {
        free(e);
        return NULL;
    }
    tj_request_counted(request, &e->counted);
    e->device = *device;
    for (size_t i = 0; i < e->sites; i++)
        for (size_t k = 0; k < e->sites; k++)
            e->near[i][k] = tj_problem_difference(e->site[i].problem, e->site[k].problem) +
                            (e->site[i].is_elsewhere != e->site[k].is_elsewhere ? tj_expect_constant.other_device : 0);
    factorise(e);
    return e;
}

void tj_expectation_free(tj_expectation *e)
{
    free(e);
}

const tj_neighbour *tj_expectation_neighbour(const tj_expectation *e, size_t index)
{
    return e && index < e->spots ? &e->spot[index].of : NULL;
}

double tj_expect(const tj_expectation *e, const tj_config *resolved, double predicted, double least, double *with_doubt)
{
    spot asked = {.resolved = *resolved, .behind = log(predicted / least)};
    double row[MOST_TRIALS], mean = log(predicted), left;

    (void)look_at(&e->device, &e->counted, &asked);
    for (size_t i = 0; i < e->spots; i++) {
        row[i] = covariance(&asked, &e->spot[i], e->here[e->spot[i].site], false);
        mean += e->weight[i] * row[i];
    }
    if (!with_doubt)
        return mean;
    left = covariance(&asked, &asked, 0, false);
    solve(e, e->spots, row);
    for (size_t i = 0; i < e->spots; i++)
        left -= square(row[i]);
    *with_doubt = mean + tj_expect_constant.doubt * sqrt(fmax(left, 0));
    return mean;
}
