/* SPDX-License-Identifier: Apache-2.0 */
/* reduce: combine two integers for atomics and warp reductions. */
#ifndef EMU_REDUCE_H
#define EMU_REDUCE_H

#include "ptx.h"

/** Alternatives of their forms, in this order. */
enum { EMU_AND = 1, EMU_OR, EMU_XOR, EMU_ADD, EMU_MIN, EMU_MAX };

/** Combine a and b of type `type`, zero-extended; the bits above the result's type are unspecified. */
static inline uint64_t emu_reduce(int how, emu_type type, uint64_t a, uint64_t b)
{
    const unsigned spare = 64 - 8 * emu_type_bytes(type);
    const bool is_less = emu_type_is_signed(type) ? (int64_t)(a << spare) < (int64_t)(b << spare) : a < b;

    switch (how) {
    case EMU_AND:
        return a & b;
    case EMU_OR:
        return a | b;
    case EMU_XOR:
        return a ^ b;
    case EMU_ADD:
        return a + b;
    default:
        return (how == EMU_MIN) == is_less ? a : b;
    }
}

/** Return the new value in memory; how: EMU_ADD and so on, then those of atomic.c. flushes: flush subnormal sums of f32. */
uint64_t emu_combine_atomic(int how, emu_type type, uint64_t old, uint64_t b, uint64_t c, bool flushes);

/** Atomics of different blocks and launches exclude each other. */
void emu_atomics_lock(void);
void emu_atomics_unlock(void);

#endif
