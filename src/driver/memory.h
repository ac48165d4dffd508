/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory: device memory in the order of a stream, from the program's allocator, or else from the driver.
 */
#ifndef TJ_DRIVER_MEMORY_H
#define TJ_DRIVER_MEMORY_H

#include "gpu.h"

/** Can memory be taken and given back in the order of a stream, also while the stream is captured? */
static inline bool tj_memory_is_in_order(const tj_gpu *gpu, const tj_driver *driver)
{
    return gpu->allocator.allocate || tj_driver_has_stream_memory(driver);
}

/** Take memory from the program's allocator, which the gpu has. Errors: TJ_ERR_DEVICE_MEMORY: it gave none, or a misaligned piece. */
tj_status tj_memory_ask(const tj_gpu *gpu, size_t bytes, CUstream stream, void **memory, tj_error *err);

/**
 * Take the workspace of a kernel for work that is queued on stream from now on, in the CUDA context that is current.
 * kernel: its name, for messages. Errors: that of tj_memory_ask, TJ_ERR_DEVICE_MEMORY, TJ_ERR_UNSUPPORTED, TJ_ERR_DRIVER.
 */
tj_status tj_memory_take(const tj_gpu *gpu, const tj_driver *driver, size_t bytes, CUstream stream, const char *kernel,
                         void **memory, tj_error *err);

/** Give it back after the work that is queued on stream until now. The program's allocator gets it back after a loss, too. */
tj_status tj_memory_give(const tj_gpu *gpu, const tj_driver *driver, void *memory, size_t bytes, CUstream stream,
                         const char *kernel, tj_error *err);

#endif
