/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu: the driver of all calls, opened on first use, and the device that they use if no CUDA context is current.
 */
#ifndef TJ_DRIVER_GPU_H
#define TJ_DRIVER_GPU_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include <tilejit/context.h>

#include "driver.h"

/** The program's allocator of device memory; all NULL: the driver's. */
typedef struct tj_allocator {
    tj_allocate_fn allocate;
    tj_release_fn release;
    void *payload;
} tj_allocator;

typedef struct tj_gpu {
    const struct tj_log *log; /* must outlive it */
    tj_allocator allocator;
    char *driver_path; /* NULL: default */
    bool ignores_environment;
    int device;
    pid_t pid;                         /* of the process that created it */
    pthread_mutex_t opening;           /* held while the driver is opened, never on a hit */
    _Atomic(const tj_driver *) driver; /* NULL until first needed */
    _Atomic(CUcontext) primary;        /* of device, retained by scope.c; NULL until needed */
} tj_gpu;

/** Initialise a gpu that is all zero except driver_path, which it takes over, device, allocator and ignores_environment. */
void tj_gpu_begin(tj_gpu *gpu, const struct tj_log *log);

/** End it, without a CUDA call in a forked child or after a loss. */
void tj_gpu_end(tj_gpu *gpu);

/** Return TJ_ERR_FORKED if another process created it. */
tj_status tj_gpu_check_process(const tj_gpu *gpu, tj_error *err);

/** Return the driver, opened on first use. A failure is not remembered: installing a driver and calling again works. */
tj_status tj_gpu_driver(tj_gpu *gpu, const tj_driver **driver, tj_error *err);

/** Do kernels run on the emulator? Call it after the driver was opened, if it could be. */
bool tj_gpu_is_emulated(const tj_gpu *gpu);

/** Query the devices without creating a CUDA context. Errors: as tj_device_count, tj_device_get, tj_device_current. */
tj_status tj_gpu_count_devices(tj_gpu *gpu, int *count, tj_error *err);
tj_status tj_gpu_device_facts(tj_gpu *gpu, int ordinal, tj_device_facts *facts, tj_error *err);
tj_status tj_gpu_current_device(tj_gpu *gpu, tj_device_facts *facts, tj_error *err);

/**
 * The same without the clocks, which are 0: a driver takes half a millisecond for each of the two, and only the model needs
 * them.
 */
tj_status tj_gpu_device_limits(tj_gpu *gpu, int ordinal, tj_device_facts *facts, tj_error *err);

#endif
