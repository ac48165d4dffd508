/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash: XXH3, compiled in so that the hot path's 64-bit hash is one direct call.
 */
#include "hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

tj_hash128 tj_hash_bytes(const void *bytes, size_t size)
{
    const XXH128_hash_t hash = XXH3_128bits(bytes, size);

    return (tj_hash128){hash.high64, hash.low64};
}

uint64_t tj_hash_bytes64(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

void tj_hash_hex(tj_hash128 hash, char *hex)
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < 16; i++)
        hex[i] = digits[(hash.high >> (60 - 4 * i)) & 15];
    for (int i = 0; i < 16; i++)
        hex[16 + i] = digits[(hash.low >> (60 - 4 * i)) & 15];
    hex[32] = '\0';
}
