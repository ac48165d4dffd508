/* SPDX-License-Identifier: Apache-2.0 */
#include "loader.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static _Atomic(blas_dlsym_fn *) found;

/* libc's is asked for by its versions: that of the first release for a processor stays, and 2.34 moved it into libc itself. */
__attribute__((noinline, cold)) static blas_dlsym_fn *find(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27"};
    blas_dlsym_fn *real = NULL;

    for (size_t i = 0; !real && i < sizeof versions / sizeof versions[0]; i++) {
        void *symbol = dlvsym(RTLD_NEXT, "dlsym", versions[i]);

        memcpy(&real, &symbol, sizeof real);
    }
    if (!real)
        __builtin_trap(); /* every glibc has one of them */
    atomic_store_explicit(&found, real, memory_order_release);
    return real;
}

blas_dlsym_fn *blas_dlsym(void)
{
    blas_dlsym_fn *real = atomic_load_explicit(&found, memory_order_acquire);

    return real ? real : find();
}
