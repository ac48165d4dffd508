/* SPDX-License-Identifier: Apache-2.0 */
/* reduce: what atomics, and reductions of a warp, make of two whole numbers. */
#ifndef EMU_REDUCE_H
#define EMU_REDUCE_H

#include "ptx.h"

/** The alternatives of their forms, which have them in this order. */
enum { EMU_AND = 1, EMU_OR, EMU_XOR, EMU_ADD, EMU_MIN, EMU_MAX };

/** a and b have the bytes of type, zero-extended; what lies above those of the result is open. */
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

/** What an atomic leaves in memory; how: EMU_ADD and the like, then those of atomic.c. flushes: subnormal sums of f32. */
uint64_t emu_combine_atomic(int how, emu_type type, uint64_t old, uint64_t b, uint64_t c, bool flushes);

/** Between blocks of a launch, and between launches, atomics wait for each other. */
void emu_atomics_lock(void);
void emu_atomics_unlock(void);

#endif
