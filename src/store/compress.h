/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compress: compress bytes with zlib.
 *
 * libz.so.1 is on every system with a package manager, but nothing here links it: it is opened when a pack is first compressed
 * or a compressed one is opened, so that neither a build nor an embedding program needs another library. Its two functions are
 * declared here.
 */
#ifndef TJ_SRC_COMPRESS_H
#define TJ_SRC_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>

/** Is zlib there? Without it nothing is compressed, and compressed items cannot be read. Any thread. */
bool tj_compress_is_there(void);

/**
 * Return the compressed bytes, malloc'ed; the same for the same input and zlib. NULL: it would not be smaller, or out of
 * memory.
 */
void *tj_compress(const void *bytes, size_t size, size_t *compressed);

/**
 * Decompress exactly `whole` bytes into `to`, never more. False: the bytes do not decompress to `whole` bytes, or memory ran
 * out.
 */
bool tj_decompress(const void *bytes, size_t size, void *to, size_t whole);

#endif
