/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor: the 64 bits that tell wgmma and tcgen05 the layout of a factor in shared memory.
 *
 *     bits 0 to 13    the address, 16 to 29 the leading and 32 to 45 the stride offset, each / 16
 *     bits 49 to 51   the base offset
 *     bits 62 and 63  how chunks of 16 bytes are swizzled: 0 not at all, 1 in 128 bytes, 2 in 64, 3 in 32
 *
 * A factor has lines (rows of A, columns of B), and an instruction reads 32 bytes of each, in chunks of 16 bytes. A chunk lies along
 * a line, or, if the factor is transposed, across 8 lines. The layout is described in core matrices of 8 consecutive chunks:
 *
 *                       not swizzled                       swizzled in S bytes
 *     along a line      two core matrices, the leading     8 lines S bytes apart; the next 8 begin a stride further
 *                       offset apart; the next 8 lines
 *                       begin a stride further
 *     across lines      8 places in depth are a core       8 places in depth S bytes apart; the next 8 begin a stride further.
 *                       matrix, the next 8 begin a         A line of chunks has S bytes, the next one begins a leading
 *                       leading offset further, the        offset further
 *                       next 8 lines a stride further
 *
 * Swizzling inverts bits 4 to 6 of a chunk's address where bits 7 to 9 are set (in 64 bytes 4 and 5, in 32 bytes only 4), counted from
 * the base offset on.
 *
 * tcgen05 sets bit 46, and with bit 61 alone has a swizzle of its own (EMU_BY_32) in 128 bytes: 32 bytes move together, by bits 7 and
 * 8, and a core matrix has 4 lines, or places in depth.
 */
#ifndef EMU_DESCRIPTOR_H
#define EMU_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

enum { EMU_BY_32 = 4 };

/** Return the swizzle as a tensor map encodes it: 0, or 1, 2, 3 for spans of 32, 64 and 128 bytes, or EMU_BY_32. */
static inline int emu_swizzle_of(uint64_t descriptor)
{
    return descriptor >> 61 == 1 ? EMU_BY_32 : (int)(4 - (descriptor >> 62)) % 4;
}

/**
 * Shared offset of a chunk. number: 0 or 1 along `line`; across lines, the place in depth, and `line` counts chunks: those of 8
 * lines if elements have 16 bits.
 */
uint32_t emu_chunk_offset(uint64_t descriptor, bool is_across, int line, int number);

#endif
