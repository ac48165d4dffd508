/* SPDX-License-Identifier: Apache-2.0 */
#include "homes.h"

#include <pthread.h>
#include <stdlib.h>

#include "scope.h"

enum { MOST_HOMES = 256 /* such a program makes contexts all the time, and each costs a walk of the list */ };

static struct {
    pthread_mutex_t adding;
    _Atomic(blas_home *) first;
    size_t count;
} self = {.adding = PTHREAD_MUTEX_INITIALIZER};

blas_home *blas_home_first(void)
{
    return atomic_load_explicit(&self.first, memory_order_acquire);
}

static blas_home *find(uint64_t id)
{
    blas_home *home = blas_home_first();

    while (home && home->id != id)
        home = atomic_load_explicit(&home->next, memory_order_acquire);
    return home;
}

/* The latest is the first: a program whose device was reset has left the earlier ones. */
__attribute__((noinline, cold)) static blas_home *add(const tj_driver *driver, uint64_t id)
{
    CUcontext context = NULL;
    blas_home *home;

    if (driver->api.ctx_get_current(&context) != CUDA_SUCCESS || !context)
        return NULL;
    pthread_mutex_lock(&self.adding);
    home = find(id);
    if (!home && self.count < MOST_HOMES && (home = calloc(1, sizeof *home))) {
        home->id = id;
        home->context = context;
        home->device = (tj_device_facts)TJ_DEVICE_FACTS_INIT;
        atomic_store(&home->next, blas_home_first());
        atomic_store_explicit(&self.first, home, memory_order_release);
        self.count++;
    }
    pthread_mutex_unlock(&self.adding);
    return home;
}

blas_home *blas_home_current(const tj_driver *driver)
{
    blas_home *home;
    uint64_t id = 0;

    if (tj_scope_id(driver, &id) != CUDA_SUCCESS || id == 0)
        return NULL;
    home = find(id);
    return __builtin_expect(home != NULL, 1) ? home : add(driver, id);
}

bool blas_home_enter(const tj_driver *driver, const blas_home *home)
{
    uint64_t id = 0;

    if (driver->api.ctx_push(home->context) != CUDA_SUCCESS)
        return false;
    if (tj_scope_id(driver, &id) == CUDA_SUCCESS && id == home->id)
        return true;
    blas_home_leave(driver);
    return false;
}

void blas_home_leave(const tj_driver *driver)
{
    CUcontext popped;

    (void)driver->api.ctx_pop(&popped);
}
