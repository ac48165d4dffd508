/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack: what the files of tilejit pack share.
 *
 *     pack.c     the words, and a pack made of shapes
 *     c_array.c  its bytes as a C source
 *     look.c     tilejit pack list, verify, diff and unpack
 */
#ifndef TJ_CLI_PACK_H
#define TJ_CLI_PACK_H

#include "product.h"

/** Is it a name that C takes for an object? */
bool pack_is_c_name(const char *name);

/** A C source that defines the bytes as `name`, and their number as `name`_size. malloc'ed; NULL: out of memory. */
char *pack_c_array(const char *name, const void *bytes, size_t size, size_t *length);

#endif
