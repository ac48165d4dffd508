/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_space: the configs of a family of the application, and the order in which a search tries them.
 *
 * No model knows such a family, so the search goes by times only: a random sample, which is the whole space if that fits the
 * limit of trials, then the neighbours of the best.
 */
#ifndef TJ_TUNER_CUSTOM_SPACE_H
#define TJ_TUNER_CUSTOM_SPACE_H

#include "custom.h"
#include "search.h"

typedef struct tj_custom_space {
    const tj_custom *custom;
    const int64_t *extent;
    tj_axes axes;
    int64_t points;  /* combinations of values, valid or not */
    uint64_t random; /* state of the random numbers */
    int64_t *list;   /* valid points, in a random order */
    size_t count;    /* of the list */
    size_t sample;   /* of these, tried before the neighbours of the best */
    size_t next;     /* of the sample, to propose */
    bool is_all;     /* the list has all valid points */
} tj_custom_space;

/**
 * Begin a space. custom and extent are borrowed. Release with tj_custom_space_end, after a failure too.
 * Errors: TJ_ERR_INVALID_ARGUMENT: more combinations than 62 bits count.
 */
tj_status tj_custom_space_begin(const tj_custom *custom, const int64_t *extent, int64_t seed, tj_custom_space *space,
                                tj_error *err);
void tj_custom_space_end(tj_custom_space *space);

/** Is each value of a resolved config among those to try? */
bool tj_custom_space_has(const tj_custom_space *space, const tj_config *config);

/** Return the space as a search takes it. Borrowed. */
tj_search_space tj_custom_space_searched(tj_custom_space *space);

#endif
