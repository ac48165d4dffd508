/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda: a driver that is opened by path, with memory for the inputs and outputs of a launch. An error ends the program. */
#ifndef LIBCUDA_H
#define LIBCUDA_H

#include <stddef.h>
#include <stdint.h>

struct driver {
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*device_attribute)(int *, int, int);
    int (*context_retain)(void **, int);
    int (*context_reset)(int);
    int (*context_set)(void *);
    int (*context_synchronize)(void);
    int (*module_load)(void **, const void *, unsigned, int *, void **);
    int (*module_unload)(void *);
    int (*module_function)(void **, void *, const char *);
    int (*allocate)(uint64_t *, size_t);
    int (*to_device)(uint64_t, const void *, size_t);
    int (*to_host)(void *, uint64_t, size_t);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
    int (*error_name)(int, const char **);
    int device;
    unsigned sm;
    size_t input_bytes, output_bytes;
    uint64_t inputs, outputs; /* device memory */
};

/** Print the program's name and a message, and exit with 2. Each program has its own. */
__attribute__((format(printf, 1, 2), noreturn)) void fail(const char *format, ...);

/** Return the name of an error. Owned: static. */
const char *error_name(const struct driver *driver, int error);

/** Fail with what and the name of the error, unless it is 0. */
void must(const struct driver *driver, int error, const char *what);

/** Open the driver of a path, and a context of its first device. */
struct driver open_driver(const char *path, size_t input_bytes, size_t output_bytes);

/** Open a context of the device, and its memory: again, after a reset. */
void open_context(struct driver *driver);

#endif
