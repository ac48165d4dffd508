/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_gpu: a GPU that computes, for tests of operations that need a GPU, such as keeping tuning records. It is the emulator (the one of
 * TILEJIT_EMULATOR, or of the build) wrapped by a driver that hides it:
 *
 *     no cuEmu... function; a name as of a product
 *     compute capability 9.1 (FAKE_GPU_MINOR: another than .1), for which no NVRTC makes machine code: so it gets PTX, the only code that the emulator reads
 *     times multiplied by a thousand, so that few launches fill a sample, and a small L2, so that few operands rotate: FAKE_GPU_L2 bytes, or 64 KiB
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { NOT_FOUND = 500, MINOR = 76, L2_BYTES = 38 };

typedef int proc_address(const char *name, void **function, int version, uint64_t flags, int *status);

static pthread_once_t opening = PTHREAD_ONCE_INIT;
static proc_address *ask_emulator;
static int (*real_attribute)(int *value, int attribute, int device);
static int (*real_elapsed)(float *milliseconds, void *start, void *stop);

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status);

static void find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);

    memcpy(function, &address, sizeof address);
}

static void open_emulator(void)
{
    const char *path = getenv("TILEJIT_EMULATOR");
    void *library = dlopen(path ? path : EMULATOR_PATH, RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return;
    find(library, "cuGetProcAddress_v2", &ask_emulator);
    find(library, "cuDeviceGetAttribute", &real_attribute);
    find(library, "cuEventElapsedTime", &real_elapsed);
}

static int own_name(char *name, int bytes, int device)
{
    (void)snprintf(name, (size_t)bytes, "Fake GPU");
    (void)device;
    return 0;
}

static int own_attribute(int *value, int attribute, int device)
{
    const int result = real_attribute(value, attribute, device);
    const char *const l2 = getenv("FAKE_GPU_L2"), *const minor = getenv("FAKE_GPU_MINOR");

    if (result == 0 && attribute == MINOR)
        *value = minor ? atoi(minor) : 1;
    if (result == 0 && attribute == L2_BYTES)
        *value = l2 ? atoi(l2) : 1 << 16;
    return result;
}

static int own_elapsed(float *milliseconds, void *start, void *stop)
{
    const int result = real_elapsed(milliseconds, start, stop);

    *milliseconds *= 1000;
    return result;
}

EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
    void (*const own[])(void) = {(void (*)(void))own_name, (void (*)(void))own_attribute, (void (*)(void))own_elapsed};
    static const char *const names[] = {"cuDeviceGetName", "cuDeviceGetAttribute", "cuEventElapsedTime"};

    pthread_once(&opening, open_emulator);
    if (!ask_emulator)
        return NOT_FOUND;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) {
            memcpy(function, &own[i], sizeof *function);
            return 0;
        }
    return ask_emulator(name, function, version, flags, status);
}
