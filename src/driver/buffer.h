/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer: what this layer needs beyond <tilejit/buffer.h>.
 */
#ifndef TJ_SRC_BUFFER_H
#define TJ_SRC_BUFFER_H

#include <tilejit/buffer.h>

/**
 * Write `bytes` bytes from offset on: the `period` bytes of host over and over. What is copied from the host is one period; the device
 * copies the rest. Errors: as tj_buffer_write.
 */
tj_status tj_buffer_write_over_and_over(tj_buffer *buffer, size_t offset, const void *host, size_t period, size_t bytes,
                                        tj_error *err);

#endif
