/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expect: the expected time of a config for a problem that was not measured: the model's prediction, corrected by what trials of
 * similar problems say of its error.
 *
 * A Gaussian process as in surrogate.c, between problems: the logarithms of measured over predicted times are correlated between
 * trials of one problem, within a family, between configs that are a few steps apart and fill their tiles and the device's last
 * wave of blocks equally well, and between configs that the model ranks equally far from the best; and the less, the further apart
 * two problems are. A config without evidence is expected to take the
 * time that the model predicts, and its uncertainty counts against it.
 */
#ifndef TJ_TUNER_EXPECT_H
#define TJ_TUNER_EXPECT_H

#include "request.h"
#include "trials.h"

/** The evidence about one request. */
typedef struct tj_expectation tj_expectation;

#define TJ_LEAVE_NONE_OUT (-1.0)

/**
 * Learn from records and tables of trials, of the problems that are most similar to the request's, measured on this device or
 * one of its compute capability. NULL: there are none, records is NULL, or memory ran out. Owned: the caller,
 * tj_expectation_free, which accepts NULL. The records must outlive it.
 * left_out: problems that differ by no more than this are left out, to judge expectations; TJ_LEAVE_NONE_OUT.
 */
tj_expectation *tj_expect_learn(const tj_records *records, const tj_request *request, const tj_device_facts *device,
                                double left_out);
void tj_expectation_free(tj_expectation *e);

/** Return neighbour number index, the most similar problems first; NULL past the last one. Owned: borrowed. */
const tj_neighbour *tj_expectation_neighbour(const tj_expectation *e, size_t index);

/**
 * Return the logarithm of the expected seconds of a resolved config, given the predicted ones and the least that are predicted
 * for any config. If
 * *with_doubt is not NULL, it receives the same, plus what the config's uncertainty counts.
 */
double tj_expect(const tj_expectation *e, const tj_config *resolved, double predicted, double least, double *with_doubt);

/**
 * Return how unlike two problems are, in doublings of extents; INFINITY: of another kind, so that one says nothing about the
 * other.
 */
double tj_problem_difference(const tj_problem *a, const tj_problem *b);

/** The constants, fitted by leaving out (docs/trials.md). */
typedef struct tj_expect_constants {
    double level;   /* standard deviation of the error that all configs of similar problems share */
    double family;  /* of that which those of a family share, */
    double slope;   /* of that for each e-fold of predicted time, */
    double place;   /* of that of a config and its neighbours, */
    double own;     /* and of that which the trials of one problem share */
    double noise;   /* of a measured time */
    double doubt;   /* an uncertain config is charged so many standard deviations */
    double step[3]; /* by roles of parameters: errors are correlated by exp(-step) for each doubling, or another word */
    double word;    /* the same for another word of a parameter that changes the kernel */
    double fill,
        tail; /* and for each doubling of the work on zero fill, and of the share that the last wave of blocks leaves idle */
    double far_level, far_family, far_place;       /* distances at which these correlations have fallen to 1 / e */
    double other_device, other_type, other_layout; /* count as so many doublings of an extent */
    double other_triangle;                         /* of one triangle and all of P; not fitted */
} tj_expect_constants;

extern tj_expect_constants tj_expect_constant;

#endif
