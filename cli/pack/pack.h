/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack: interfaces that the files of tilejit pack share.
 *
 *     pack.c     the options, and a pack made of shapes
 *     fill.c     shapes and targets, added by several threads
 *     c_array.c  its bytes as a C source
 *     look.c     tilejit pack list, verify, diff and unpack
 *     warm_up.c  tilejit warm-up: the same kernels, into the store
 */
#ifndef TJ_CLI_PACK_H
#define TJ_CLI_PACK_H

#include "product.h"

enum { PACK_MOST_TARGETS = 32, PACK_TARGET_BYTES = 16 };

typedef struct pack_targets {
    char item[PACK_MOST_TARGETS][PACK_TARGET_BYTES];
    size_t count;
} pack_targets;

/**
 * Add each shape for each target. config NULL: the library's choice. threads: that compile at once; 0: one per processor, at
 * most 8.
 */
tj_status pack_fill(const cli_call *call, tj_pack *pack, const cli_shapes *shapes, const pack_targets *targets,
                    const tj_config *config, int threads, tj_error *err);

/** Is it a valid object name in C and C++? Names that begin with _ are the compiler's. */
bool pack_is_c_name(const char *name);

/** Return a C source that defines the bytes as `name`, and their number as `name`_size. malloc'ed; NULL: out of memory. */
char *pack_c_array(const char *name, const void *bytes, size_t size, size_t *length);

#endif
