/* SPDX-License-Identifier: Apache-2.0 */
#include "varying.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "hash.h"

enum {
    FEW = 3,      /* extents of one dimension, from which on it varies */
    MANY = 12,    /* problems of the same types, from which on all their dimensions do */
    MOST = 4096,  /* counts; then all begin anew */
    PROMISE = 16, /* extents that are multiples of this are apart from those that are not: lines that can be read in vectors */
    DIMENSIONS = 4
};

typedef struct like {
    tj_problem problem; /* with what may differ left to the launch */
    unsigned count;     /* 0: an empty slot */
} like;

struct tj_varying {
    pthread_mutex_t lock;
    like *slot; /* under the lock; 2 * MOST of them, NULL until the first */
    size_t count;
};

struct tj_varying *tj_varying_create(void)
{
    struct tj_varying *varying = calloc(1, sizeof *varying);

    if (varying)
        pthread_mutex_init(&varying->lock, NULL);
    return varying;
}

void tj_varying_free(struct tj_varying *varying)
{
    if (!varying)
        return;
    pthread_mutex_destroy(&varying->lock);
    free(varying->slot);
    free(varying);
}

/* Under the lock. */
static like *slot_of(struct tj_varying *varying, const tj_problem *problem)
{
    size_t at = tj_hash_bytes64(problem, tj_problem_bytes(problem)) % (2 * MOST);

    while (varying->slot[at].count > 0 && !tj_problem_is_same(&varying->slot[at].problem, problem))
        at = (at + 1) % (2 * MOST);
    return &varying->slot[at];
}

/* Is a dimension the length of lines, and so part of where each line begins? */
static bool is_width(const tj_problem *problem, const tj_dim *dim)
{
    const char letter = dim == &problem->j ? 'j' : dim == &problem->k ? 'k' : 'l';

    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_P; which++)
        if (tj_problem_lines(problem, which).width_name[0] == letter)
            return true;
    return false;
}

/*
 * The problem without one dimension: j, l, k, batch. promise: of a line's length that keeps it. False: the launch brings it
 * anyway.
 */
static bool leave_open(tj_problem *problem, int dimension, int promise)
{
    tj_dim *const dim[] = {&problem->j, &problem->l, &problem->k};
    const bool is_batch = dimension == DIMENSIONS - 1;

    if (is_batch ? problem->batch == TJ_ANY || problem->batch == 1 : dim[dimension]->mode == TJ_DIM_ANY)
        return false;
    if (is_batch) {
        problem->batch = TJ_ANY;
        return true;
    }
    promise = promise && is_width(problem, dim[dimension]) && dim[dimension]->extent % promise == 0 ? promise : 0;
    *dim[dimension] = dim[dimension] == &problem->l   ? tj_open_l(problem)
                      : dim[dimension] == &problem->k ? tj_open_k(problem)
                                                      : (tj_dim){0, TJ_DIM_ANY, 0};
    if (promise > dim[dimension]->multiple_of)
        dim[dimension]->multiple_of = promise;
    return true;
}

/* Under the lock. */
static void count_one(struct tj_varying *varying, const tj_problem *problem)
{
    like *one;

    if (varying->count == MOST) {
        memset(varying->slot, 0, 2 * MOST * sizeof *varying->slot);
        varying->count = 0;
    }
    one = slot_of(varying, problem);
    varying->count += one->count == 0;
    one->problem = *problem;
    one->count++;
}

void tj_varying_note(struct tj_varying *varying, const tj_request *request)
{
    const tj_problem known = tj_problem_loose(&request->problem), open = tj_problem_general(&request->problem);

    pthread_mutex_lock(&varying->lock);
    if (!varying->slot)
        varying->slot = calloc(2 * MOST, sizeof *varying->slot);
    for (int d = 0; varying->slot && d < DIMENSIONS; d++) {
        tj_problem but_one = known;

        if (leave_open(&but_one, d, PROMISE))
            count_one(varying, &but_one);
    }
    if (varying->slot)
        count_one(varying, &open);
    pthread_mutex_unlock(&varying->lock);
}

bool tj_varying_find(struct tj_varying *varying, const tj_request *request, tj_request *general)
{
    const tj_problem known = tj_problem_loose(&request->problem), open = tj_problem_general(&request->problem);
    tj_problem found;
    bool varies = false;

    if (tj_takes_fixed_extents(&known))
        return false; /* the extents make the size of the workspace */
    pthread_mutex_lock(&varying->lock);
    for (int d = 0; varying->slot && !varies && d < DIMENSIONS; d++) {
        found = known;
        varies = leave_open(&found, d, PROMISE) && slot_of(varying, &found)->count >= FEW;
    }
    if (varying->slot && !varies && slot_of(varying, &open)->count >= MANY) {
        found = open;
        varies = true;
    }
    pthread_mutex_unlock(&varying->lock);
    if (varies)
        tj_request_derive(&found, general);
    return varies;
}

/* As `--any all` has it, of single products too. */
static void open_batch(tj_problem *problem)
{
    problem->batch = TJ_ANY;
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++) {
        int64_t *const stride = &tj_matrix_of(problem, which)->stride;

        if (*stride != TJ_BROADCAST && !tj_stride_is_pointers(*stride) && (which < TJ_MATRIX_C || problem->epilogue.has_beta))
            *stride = TJ_ANY;
    }
}

bool tj_varying_open(const tj_request *request, int index, tj_request *general)
{
    static const unsigned char dimensions[] = {1, 2, 4, 8, 3, 5, 9, 6, 10, 12, 7, 11, 13, 14, 15}; /* one, two, three, all */
    const int all = 2 * (int)sizeof dimensions;
    tj_problem open = index >= all ? tj_problem_general(&request->problem) : tj_problem_loose(&request->problem);

    _Static_assert(TJ_OPENINGS == 2 * sizeof dimensions + 2, "with and without a promise, and all that a launch can bring");
    if (tj_takes_fixed_extents(&open) || (index > all && (open.batch != 1 || tj_is_grouped(&open))))
        return false;
    if (index > all)
        open_batch(&open);
    for (int d = 0; index < all && d < DIMENSIONS; d++)
        if ((dimensions[index / 2] & 1u << d) && !leave_open(&open, d, index % 2 == 0 ? PROMISE : 0))
            return false;
    tj_request_derive(&open, general);
    return true;
}
