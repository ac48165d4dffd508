/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu.h"

#include <stdlib.h>
#include <unistd.h>

#include "error.h"

void tj_gpu_begin(tj_gpu *gpu, const struct tj_log *log)
{
    gpu->log = log;
    gpu->pid = getpid();
    pthread_mutex_init(&gpu->opening, NULL);
}

void tj_gpu_end(tj_gpu *gpu)
{
    const tj_driver *driver = atomic_load(&gpu->driver);
    const CUcontext primary = atomic_load(&gpu->primary);

    if (primary && tj_driver_check_alive(driver, NULL) == TJ_OK)
        (void)driver->api.primary_release((CUdevice)gpu->device);
    pthread_mutex_destroy(&gpu->opening);
    free(gpu->driver_path);
}

tj_status tj_gpu_check_process(const tj_gpu *gpu, tj_error *err)
{
    if (gpu->pid == getpid())
        return TJ_OK;
    return tj_fail(
        err, TJ_ERR_FORKED,
        "this context was made in process %d, which was forked since: make a context in the child, which works if no CUDA "
        "call came before the fork, or start the child with exec (Python's multiprocessing: the start method "
        "\"spawn\")",
        (int)gpu->pid);
}

tj_status tj_gpu_driver(tj_gpu *gpu, const tj_driver **driver, tj_error *err)
{
    tj_status status = tj_gpu_check_process(gpu, err);

    *driver = atomic_load_explicit(&gpu->driver, memory_order_acquire);
    if (status != TJ_OK || *driver)
        return status;
    pthread_mutex_lock(&gpu->opening);
    *driver = atomic_load_explicit(&gpu->driver, memory_order_relaxed);
    if (!*driver) {
        status = tj_driver_open(gpu->driver_path, !gpu->ignores_environment, gpu->log, driver, err);
        if (status == TJ_OK)
            atomic_store_explicit(&gpu->driver, *driver, memory_order_release);
    }
    pthread_mutex_unlock(&gpu->opening);
    return status;
}

bool tj_gpu_is_emulated(const tj_gpu *gpu)
{
    const tj_driver *driver = atomic_load_explicit(&gpu->driver, memory_order_acquire);

    return driver ? driver->is_emulator : tj_emulator_is_asked(gpu->driver_path);
}
