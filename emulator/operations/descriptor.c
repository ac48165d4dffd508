/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptor.h"

enum { CHUNK = 16, CORE = 8 /* chunks of a core matrix */ };

/* Return a field of 14 bits, in bytes. */
static uint32_t field(uint64_t descriptor, int first)
{
    return (uint32_t)(descriptor >> first & 0x3fff) * CHUNK;
}

uint32_t emu_chunk_offset(uint64_t descriptor, bool is_across, int line, int number)
{
    static const uint32_t spans[] = {0, 32, 64, 128, 128}; /* of each swizzle */
    const uint32_t start = field(descriptor, 0), leading = field(descriptor, 16), stride = field(descriptor, 32);
    const int swizzle = emu_swizzle_of(descriptor);
    const uint32_t base = (uint32_t)(descriptor >> 49 & 7), span = spans[swizzle], wide = span / CHUNK;
    const uint32_t moved = swizzle == EMU_BY_32 ? 2 * CHUNK : CHUNK, core = CORE * CHUNK / moved;
    const uint32_t l = (uint32_t)line, n = (uint32_t)number;
    uint32_t at = start;

    if (!span && !is_across)
        at += l / CORE * stride + l % CORE * CHUNK + n * leading;
    else if (!span)
        at += l * stride + n / CORE * leading + n % CORE * CHUNK;
    else if (!is_across)
        at += l / core * stride + l % core * span + n * CHUNK;
    else
        at += l / wide * leading + l % wide * CHUNK + n / core * stride + n % core * span;
    if (span)
        at ^= (at / 128 - base) * moved & (span - moved);
    return at;
}
