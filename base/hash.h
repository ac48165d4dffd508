/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash: content hashes (XXH3). Not cryptographic: a caller that uses one as an identity also compares the content.
 */
#ifndef TJ_BASE_HASH_H
#define TJ_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct tj_hash128 {
    uint64_t high, low;
} tj_hash128;

enum { TJ_HASH_HEX_BYTES = 33 };

tj_hash128 tj_hash_bytes(const void *bytes, size_t size);

/** 64 bits, for tables in memory; on the hot path. */
uint64_t tj_hash_bytes64(const void *bytes, size_t size);

/** 32 lower-case hex digits and a NUL. */
void tj_hash_hex(tj_hash128 hash, char *hex);

#endif
