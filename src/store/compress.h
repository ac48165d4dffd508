/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compress: bytes made smaller by zlib.
 *
 * libz.so.1 is on every system that has a package manager, and yet nothing here links it: it is opened when a pack is first
 * compressed or a compressed one opened, so that who embeds the library needs nothing of others, nor does a build. Its two
 * functions are declared here.
 */
#ifndef TJ_SRC_COMPRESS_H
#define TJ_SRC_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>

/** Is zlib there? Without it nothing is compressed, and what is compressed cannot be read. Any thread. */
bool tj_compress_is_there(void);

/** Compressed, malloc'ed; the same bytes for the same input and zlib. NULL: it would not be smaller, or out of memory. */
void *tj_compress(const void *bytes, size_t size, size_t *compressed);

/** Exactly `whole` bytes into `to`, and never more. False: these bytes are not so many bytes compressed, or out of memory. */
bool tj_decompress(const void *bytes, size_t size, void *to, size_t whole);

#endif
