/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_cuda: a library with the driver's names that computes nothing and remembers everything.
 *
 * A test opens it twice: as the driver, by its path, and through fake_open(), to say how it shall behave and to ask what
 * was called. It holds the library to the driver's rules where breaking them would go unnoticed on a real device: a
 * function is launched in its own context, loads inside a capture fail, after a sticky error every call fails.
 *
 * Three builds: fake_cuda, fake_cuda_old (a driver of CUDA 11.0, without cuGetProcAddress and without anything newer),
 * stub_cuda (the toolkit's stub, which answers 34 to everything).
 */
#ifndef TJ_TESTS_FAKE_CUDA_H
#define TJ_TESTS_FAKE_CUDA_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi.h"

enum { FAKE_MAX_DEVICES = 8, FAKE_MAX_ARG_BYTES = 1024, FAKE_MAX_LAUNCHES = 256, FAKE_DEVICE_ATTRIBUTES = 128 };

/** One recorded launch. */
typedef struct fake_launch {
    char kernel[64];
    unsigned int grid[3], block[3], cluster[3], shared_bytes; /* cluster: 0, 0, 0: none */
    CUstream stream;
    int device;
    int overlaps;     /* it may begin before the preceding launch has ended */
    size_t arg_bytes; /* of all parameters, as laid out for the device */
    unsigned char args[FAKE_MAX_ARG_BYTES];
} fake_launch;

/** The content of a tensor map here. */
typedef struct fake_tensor_map {
    uint64_t address, extent[3], stride[2];
    unsigned int box[3];
    int rank, type, swizzle;
} fake_tensor_map;

/** The stream-ordered allocation made last: where in the order of the launches it came and went. */
typedef struct fake_ordered {
    uint64_t address;
    size_t bytes;
    CUstream stream, freed_in;
    unsigned long after, freed_after; /* numbers of launches */
    bool is_freed;
} fake_ordered;

/* X(result, name, arguments): the controls. All are safe from any thread. */
#define FAKE_CONTROLS(X)                                                                                             \
    /* devices: one of compute capability 9.0 unless said otherwise; set before the first call of cuInit or later */ \
    X(void, fake_set_devices, (int count))                                                                           \
    X(void, fake_set_device_attribute, (int device, int attribute, int value))                                       \
    X(void, fake_set_driver_version, (int version))                                                                  \
    /* hide a function, by its name without version suffix, from cuGetProcAddress */                                 \
    X(void, fake_hide, (const char *name))                                                                           \
    /* the n-th call of name from now on (1: the next; 0: every call) answers result; NULL: forget all of these */   \
    X(void, fake_fail, (const char *name, int nth, CUresult result))                                                 \
    X(void, fake_set_jit_log, (const char *text))                                                                    \
    X(unsigned long, fake_calls, (const char *name))                                                                 \
    X(unsigned long, fake_all_calls, (void))                                                                         \
    X(unsigned long, fake_calls_after_death, (void))                                                                 \
    /* the kernels: sizes of their parameters, and their attributes */                                               \
    X(void, fake_set_parameters, (int count, const size_t *bytes))                                                   \
    X(void, fake_set_parameters_of, (const char *kernel, int count, const size_t *bytes)) /* that begin with it */   \
    X(void, fake_set_function_attribute, (int attribute, int value))                                                 \
    X(int, fake_function_attribute, (int attribute)) /* as last set by the library under test */                     \
    X(void, fake_set_missing_kernel, (bool is_missing))                                                              \
    /* objects alive: loaded libraries and modules; counts of retained primary contexts */                           \
    X(int, fake_live_images, (void))                                                                                 \
    X(int, fake_last_image_byte, (void)) /* the first byte of the image loaded last */                               \
    X(int, fake_live_primaries, (void))                                                                              \
    /* contexts of the calling thread */                                                                             \
    X(CUcontext, fake_context_create, (int device)) /* made current, as cuCtxCreate does */                          \
    X(void, fake_context_destroy, (CUcontext context))                                                               \
    X(void, fake_context_set, (CUcontext context))                                                                   \
    X(void, fake_device_reset, (int device)) /* cuDevicePrimaryCtxReset */                                           \
    X(int, fake_context_depth, (void))                                                                               \
    /* captures: of one blocking stream; global: another thread's, which forbids (un)loads and allocations */        \
    X(void, fake_set_capture, (CUstream stream, int status))                                                         \
    X(int, fake_capture, (void)) /* its status: a call may have broken it */                                         \
    X(void, fake_set_global_capture, (bool is_on))                                                                   \
    /* the one stream of a green context with that number of multiprocessors; 0: there is none */                    \
    X(void, fake_set_green, (CUstream stream, int multiprocessors))                                                  \
    /* memory: addresses only; type 0 with is_managed for managed memory */                                          \
    X(uint64_t, fake_alloc, (int device, int memory_type, size_t bytes))                                             \
    X(uint64_t, fake_alloc_managed, (size_t bytes))                                                                  \
    X(void, fake_free, (uint64_t address))                                                                           \
    X(fake_ordered, fake_last_ordered, (void))                                                                       \
    X(void, fake_set_peer_access, (bool is_on))                                                                      \
    /* launches since the start; record number index, of those the last FAKE_MAX_LAUNCHES are kept */                \
    X(unsigned long, fake_launches, (void))                                                                          \
    X(bool, fake_get_launch, (unsigned long index, fake_launch *launch))

typedef struct fake_cuda {
#define FAKE_MEMBER(result, name, arguments) result(*name) arguments;
    FAKE_CONTROLS(FAKE_MEMBER)
#undef FAKE_MEMBER
} fake_cuda;

/** Write the path of another fake next to this one. path: receives it, PATH_MAX bytes. */
static inline const char *fake_sibling(const char *fake_path, const char *file, char *path)
{
    const char *slash = strrchr(fake_path, '/');

    sprintf(path, "%.*s/%s", (int)(slash - fake_path), fake_path, file);
    return path;
}

/** The controls of the fake at path. Ends the program if there are none: the test was built without its fake. */
static inline fake_cuda fake_open(const char *path)
{
    fake_cuda fake;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *address;

    if (!library) {
        fprintf(stderr, "no fake driver at %s: %s\n", path, dlerror());
        abort();
    }
#define FAKE_FIND(result, name, arguments) \
    address = dlsym(library, #name);       \
    if (!address)                          \
        abort();                           \
    memcpy(&fake.name, &address, sizeof address);
    FAKE_CONTROLS(FAKE_FIND)
#undef FAKE_FIND
    return fake;
}

#endif
