/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer: internal calls beyond <tilejit/buffer.h>.
 */
#ifndef TJ_SRC_BUFFER_H
#define TJ_SRC_BUFFER_H

#include <tilejit/buffer.h>

#include "gpu.h"

/** tj_buffer_create_in, tj_stream_create, tj_stream_destroy, tj_synchronize and tj_device_memory, without a TileJIT context. */
tj_status tj_gpu_allocate(tj_gpu *gpu, CUstream stream, size_t bytes, tj_buffer **buffer, tj_error *err);
tj_status tj_gpu_create_stream(tj_gpu *gpu, CUstream *stream, tj_error *err);
void tj_gpu_destroy_stream(tj_gpu *gpu, CUstream stream);
tj_status tj_gpu_wait(tj_gpu *gpu, CUstream stream, tj_error *err);
tj_status tj_gpu_memory(tj_gpu *gpu, size_t *free_bytes, size_t *total_bytes, tj_error *err);

/**
 * Write `bytes` bytes from offset on: the `period` bytes of host over and over. One period is copied from the host; the device
 * copies the rest. Errors: as tj_buffer_write.
 */
tj_status tj_buffer_write_over_and_over(tj_buffer *buffer, size_t offset, const void *host, size_t period, size_t bytes,
                                        tj_error *err);

#endif
