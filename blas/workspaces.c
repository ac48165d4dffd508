/* SPDX-License-Identifier: Apache-2.0 */
#include "workspaces.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { SLOTS = 1024 /* a power of 2 */, MOST_HANDLES = SLOTS / 2 };

/* A handle keeps its slot, as handles of the same address come again. */
static struct {
    _Atomic(const void *) handle;
    _Atomic(void *) address;
    atomic_size_t bytes;
} slot[SLOTS];

static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
static size_t handles;

/* The slot of a handle, or the free one where it would be. */
static size_t find(const void *handle)
{
    const void *taken;
    size_t at = (size_t)((uintptr_t)handle * 0x9e3779b97f4a7c15ULL >> 40) & (SLOTS - 1);

    while ((taken = atomic_load_explicit(&slot[at].handle, memory_order_acquire)) && taken != handle)
        at = (at + 1) & (SLOTS - 1);
    return at;
}

void blas_workspace_set(const void *handle, void *workspace, size_t bytes)
{
    size_t at = find(handle);

    if (!atomic_load(&slot[at].handle)) {
        if (!workspace)
            return;
        pthread_mutex_lock(&adding);
        at = find(handle);
        if (!atomic_load(&slot[at].handle) && handles < MOST_HANDLES) {
            handles++;
            atomic_store_explicit(&slot[at].handle, handle, memory_order_release);
        }
        pthread_mutex_unlock(&adding);
        if (atomic_load(&slot[at].handle) != handle)
            return;
    }
    atomic_store(&slot[at].bytes, workspace ? bytes : 0);
    atomic_store(&slot[at].address, workspace);
}

void *blas_workspace_get(const void *handle, size_t *bytes)
{
    const size_t at = find(handle);

    *bytes = atomic_load_explicit(&slot[at].bytes, memory_order_relaxed);
    return atomic_load_explicit(&slot[at].address, memory_order_relaxed);
}
