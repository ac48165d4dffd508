/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader: the dlsym of libc, whose name this library takes.
 */
#ifndef TJ_BLAS_LOADER_H
#define TJ_BLAS_LOADER_H

typedef void *blas_dlsym_fn(void *handle, const char *name);

/** Return libc's function. Threads: any; without a lock. */
blas_dlsym_fn *blas_dlsym(void);

#endif
