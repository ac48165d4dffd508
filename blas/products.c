/* SPDX-License-Identifier: Apache-2.0 */
#include "products.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

enum { SLOTS = 1 << 15 /* a power of 2 */, MOST_PRODUCTS = SLOTS / 2 };

static struct {
    pthread_mutex_t adding;
    _Atomic(blas_product *) slot[SLOTS];
    _Atomic(blas_product *) first;
    blas_product *last;
    size_t count;
    atomic_ullong missed;
} self = {.adding = PTHREAD_MUTEX_INITIALIZER};

/* The product, or *free_slot for it. */
static blas_product *look_up(const blas_form *form, uint64_t hash, _Atomic(blas_product *) **free_slot)
{
    for (size_t at = hash & (SLOTS - 1);; at = (at + 1) & (SLOTS - 1)) {
        blas_product *one = atomic_load_explicit(&self.slot[at], memory_order_acquire);

        *free_slot = &self.slot[at];
        if (!one || memcmp(&one->form, form, sizeof *form) == 0)
            return one;
    }
}

static blas_product *make(const blas_call *call)
{
    blas_product *one = calloc(1, sizeof *one);

    if (!one)
        return NULL;
    one->form = call->form;
    one->name = call->name;
    one->is_known = blas_call_problem(&one->form, &one->problem, one->why);
    return one;
}

blas_product *blas_product_find(const blas_call *call)
{
    const uint64_t hash = tj_hash_bytes64(&call->form, offsetof(blas_form, compute)); /* few differ in later members alone */
    _Atomic(blas_product *) *slot;
    blas_product *one = look_up(&call->form, hash, &slot);

    if (__builtin_expect(one != NULL, 1))
        return one;
    pthread_mutex_lock(&self.adding);
    one = look_up(&call->form, hash, &slot);
    if (!one && self.count < MOST_PRODUCTS && (one = make(call))) {
        atomic_store_explicit(slot, one, memory_order_release);
        atomic_store_explicit(self.last ? &self.last->next : &self.first, one, memory_order_release);
        self.last = one;
        self.count++;
    }
    pthread_mutex_unlock(&self.adding);
    if (!one)
        atomic_fetch_add(&self.missed, 1);
    return one;
}

blas_product *blas_product_first(void)
{
    return atomic_load_explicit(&self.first, memory_order_acquire);
}

uint64_t blas_products_missed(void)
{
    return atomic_load(&self.missed);
}

static int by_size(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

double blas_times_median(const blas_times *times)
{
    const size_t capacity = sizeof times->us / sizeof times->us[0],
                 count = times->count < capacity ? (size_t)times->count : capacity;
    float sorted[sizeof times->us / sizeof times->us[0]];

    if (count == 0)
        return 0;
    memcpy(sorted, times->us, count * sizeof sorted[0]);
    qsort(sorted, count, sizeof sorted[0], by_size);
    return count % 2 ? (double)sorted[count / 2] : ((double)sorted[count / 2 - 1] + (double)sorted[count / 2]) / 2;
}
