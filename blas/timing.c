/* SPDX-License-Identifier: Apache-2.0 */
#include "timing.h"

#include <pthread.h>
#include <stdlib.h>

enum { MOST_PAIRS = 1024, READ_AT_ONCE = 16, NOT_READY = 600 /* CUDA_ERROR_NOT_READY */ };

struct blas_pair {
    const void *context; /* CUDA context of the events */
    CUevent start, stop;
    blas_product *product;
    blas_side side;
    blas_pair *next;
};

static struct {
    pthread_mutex_t lock;
    blas_pair *idle, *first, *last; /* first: the oldest one under way */
    size_t made;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock. */
static blas_pair *take_idle(const void *context)
{
    for (blas_pair **at = &self.idle; *at; at = &(*at)->next)
        if ((*at)->context == context) {
            blas_pair *pair = *at;

            *at = pair->next;
            return pair;
        }
    return NULL;
}

static blas_pair *make_pair(const tj_driver *driver, const void *context)
{
    blas_pair *pair = calloc(1, sizeof *pair);

    if (!pair)
        return NULL;
    pair->context = context;
    if (driver->api.event_create(&pair->start, 0) == CUDA_SUCCESS) {
        if (driver->api.event_create(&pair->stop, 0) == CUDA_SUCCESS)
            return pair;
        (void)driver->api.event_destroy(pair->start);
    }
    free(pair);
    return NULL;
}

static void put_back(blas_pair *pair)
{
    pthread_mutex_lock(&self.lock);
    pair->next = self.idle;
    self.idle = pair;
    pthread_mutex_unlock(&self.lock);
}

blas_pair *blas_timing_begin(const tj_driver *driver, blas_product *product, blas_side side, CUstream stream)
{
    blas_pair *pair;
    bool may_make;

    if (!driver->api.event_create || !driver->api.event_record || !driver->api.event_elapsed)
        return NULL;
    pthread_mutex_lock(&self.lock);
    pair = take_idle(product->form.context);
    may_make = !pair && self.made < MOST_PAIRS;
    self.made += may_make;
    pthread_mutex_unlock(&self.lock);
    if (may_make)
        pair = make_pair(driver, product->form.context);
    if (!pair)
        return NULL;
    pair->product = product;
    pair->side = side;
    if (driver->api.event_record(pair->start, stream) == CUDA_SUCCESS)
        return pair;
    put_back(pair);
    return NULL;
}

void blas_timing_end(const tj_driver *driver, blas_pair *pair, CUstream stream, bool is_done)
{
    if (!pair)
        return;
    if (!is_done || driver->api.event_record(pair->stop, stream) != CUDA_SUCCESS) {
        put_back(pair);
        return;
    }
    pthread_mutex_lock(&self.lock);
    pair->next = NULL;
    if (self.last)
        self.last->next = pair;
    else
        self.first = pair;
    self.last = pair;
    pthread_mutex_unlock(&self.lock);
}

/* Under the lock: add the oldest pair's time, if it is over. */
static bool read_one(const tj_driver *driver)
{
    blas_pair *pair = self.first;
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
    self.first = pair->next;
    if (!self.first)
        self.last = NULL;
    pair->next = self.idle;
    self.idle = pair;
    return true;
}

void blas_timing_read(const tj_driver *driver, bool must_wait)
{
    int mode;

    if (pthread_mutex_trylock(&self.lock) != 0) {
        if (!must_wait)
            return;
        pthread_mutex_lock(&self.lock);
    }
    if (self.first && tj_driver_ignore_captures(driver, &mode) == CUDA_SUCCESS) {
        for (int i = 0; self.first && (must_wait || i < READ_AT_ONCE); i++) {
            if (must_wait)
                (void)driver->api.event_synchronize(self.first->stop);
            if (!read_one(driver))
                break;
        }
        (void)tj_driver_obey_captures(driver, mode);
    }
    pthread_mutex_unlock(&self.lock);
}

void blas_timing_forget(blas_product *product)
{
    pthread_mutex_lock(&self.lock);
    product->times[BLAS_THEIRS].count = product->times[BLAS_OURS].count = 0;
    pthread_mutex_unlock(&self.lock);
}

double blas_timing_median(const blas_product *product, blas_side side, uint64_t *count)
{
    double us;

    pthread_mutex_lock(&self.lock);
    us = blas_times_median(&product->times[side]);
    *count = product->times[side].count;
    pthread_mutex_unlock(&self.lock);
    return us;
}
