/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stub_cuda: a library that answers as the toolkit's link-time stub of libcuda does: 34 to everything.
 */
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum { CUDA_ERROR_STUB_LIBRARY = 34 };

int cuInit(unsigned int flags);
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status);

EXPORT int cuInit(unsigned int flags)
{
    (void)flags;
    return CUDA_ERROR_STUB_LIBRARY;
}

EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
    (void)name;
    (void)version;
    (void)flags;
    *function = 0;
    *status = 0;
    return CUDA_ERROR_STUB_LIBRARY;
}
