/* SPDX-License-Identifier: Apache-2.0 */
#include "timing.h"

#include <pthread.h>
#include <stdlib.h>

enum { MOST_PAIRS = 1024, READ_AT_ONCE = 16, NOT_READY = 600 /* CUDA_ERROR_NOT_READY */ };

struct blas_pair {
    CUevent start, stop;
    blas_product *product;
    blas_side side;
    blas_pair *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the pairs of all homes, and of all times */

static blas_pair *make_pair(const tj_driver *driver)
{
    blas_pair *pair = calloc(1, sizeof *pair);

    if (!pair)
        return NULL;
    if (driver->api.event_create(&pair->start, 0) == CUDA_SUCCESS) {
        if (driver->api.event_create(&pair->stop, 0) == CUDA_SUCCESS)
            return pair;
        (void)driver->api.event_destroy(pair->start);
    }
    free(pair);
    return NULL;
}

/* Under the lock. */
static void put_back(blas_home *home, blas_pair *pair)
{
    pair->next = home->idle;
    home->idle = pair;
}

static void drop(blas_pair *pair)
{
    pthread_mutex_lock(&lock);
    put_back(pair->product->form.home, pair);
    pthread_mutex_unlock(&lock);
}

blas_pair *blas_timing_begin(const tj_driver *driver, blas_product *product, blas_side side, CUstream stream)
{
    blas_home *home = product->form.home;
    blas_pair *pair;
    bool may_make;

    if (!driver->api.event_create || !driver->api.event_record || !driver->api.event_elapsed)
        return NULL;
    pthread_mutex_lock(&lock);
    if ((pair = home->idle))
        home->idle = pair->next;
    may_make = !pair && home->pairs < MOST_PAIRS;
    home->pairs += may_make;
    pthread_mutex_unlock(&lock);
    if (may_make)
        pair = make_pair(driver);
    if (!pair)
        return NULL;
    pair->product = product;
    pair->side = side;
    if (driver->api.event_record(pair->start, stream) == CUDA_SUCCESS)
        return pair;
    drop(pair);
    return NULL;
}

void blas_timing_end(const tj_driver *driver, blas_pair *pair, CUstream stream, bool is_done)
{
    blas_home *home;

    if (!pair)
        return;
    if (!is_done || driver->api.event_record(pair->stop, stream) != CUDA_SUCCESS) {
        drop(pair);
        return;
    }
    home = pair->product->form.home;
    pthread_mutex_lock(&lock);
    pair->next = NULL;
    if (home->last)
        home->last->next = pair;
    else
        home->first = pair;
    home->last = pair;
    pthread_mutex_unlock(&lock);
}

/* Under the lock: add the oldest pair's time, if it is over. */
static bool read_one(const tj_driver *driver, blas_home *home)
{
    blas_pair *pair = home->first;
    float milliseconds = 0;
    CUresult result;

    if (!pair)
        return false;
    result = driver->api.event_elapsed(&milliseconds, pair->start, pair->stop);
    if ((int)result == NOT_READY)
        return false;
    if (result == CUDA_SUCCESS) {
        blas_times *times = &pair->product->times[pair->side];

        times->us[times->count++ % (sizeof times->us / sizeof times->us[0])] = milliseconds * 1000;
    }
    home->first = pair->next;
    if (!home->first)
        home->last = NULL;
    put_back(home, pair);
    return true;
}

void blas_timing_read(const tj_driver *driver, blas_home *home)
{
    int mode;

    if (pthread_mutex_trylock(&lock) != 0)
        return;
    if (home->first && tj_driver_ignore_captures(driver, &mode) == CUDA_SUCCESS) {
        for (int i = 0; i < READ_AT_ONCE && read_one(driver, home); i++)
            continue;
        (void)tj_driver_obey_captures(driver, mode);
    }
    pthread_mutex_unlock(&lock);
}

static void finish(const tj_driver *driver, blas_home *home)
{
    pthread_mutex_lock(&lock);
    while (home->first) {
        (void)driver->api.event_synchronize(home->first->stop);
        if (!read_one(driver, home))
            break;
    }
    pthread_mutex_unlock(&lock);
}

void blas_timing_finish(const tj_driver *driver)
{
    int mode;

    if (tj_driver_ignore_captures(driver, &mode) != CUDA_SUCCESS)
        return;
    for (blas_home *home = blas_home_first(); home; home = atomic_load(&home->next))
        if (blas_home_enter(driver, home)) {
            finish(driver, home);
            blas_home_leave(driver);
        }
    (void)tj_driver_obey_captures(driver, mode);
}

void blas_timing_forget(blas_product *product)
{
    pthread_mutex_lock(&lock);
    product->times[BLAS_THEIRS].count = product->times[BLAS_OURS].count = 0;
    pthread_mutex_unlock(&lock);
}

double blas_timing_median(const blas_product *product, blas_side side, uint64_t *count)
{
    double us;

    pthread_mutex_lock(&lock);
    us = blas_times_median(&product->times[side]);
    *count = product->times[side].count;
    pthread_mutex_unlock(&lock);
    return us;
}
