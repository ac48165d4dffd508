/* SPDX-License-Identifier: Apache-2.0 */
/* lanes: loops of executing functions over the lanes of a warp. */
#ifndef EMU_LANES_H
#define EMU_LANES_H

#include "operations.h"
#include "warp.h"

/*
 * Build a function twice, once for processors with AVX2 and FMA; the loader of the library picks one. Results have the same
 * bits: nothing is contracted, and fma is the processor's instead of the C library's.
 */
#ifdef EMU_HAS_CLONES
#define EMU_CLONED __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define EMU_CLONED
#endif

/* Run the statement for each lane i of mask. Full warps, the usual case, get a loop that compilers vectorise. */
#define EMU_LANEWISE(mask, statement)           \
    do {                                        \
        if ((mask) == UINT32_MAX) {             \
            for (int i = 0; i < EMU_LANES; i++) \
                statement;                      \
        } else {                                \
            for (int i = 0; i < EMU_LANES; i++) \
                if ((mask) >> i & 1)            \
                    statement;                  \
        }                                       \
    } while (0)

/* Define an executing function: one result of type T from operands a, b, c of type S. */
#define EMU_UNARY(name, T, S, expression)                                            \
    EMU_CLONED static void name(emu_warp *warp, const emu_inst *inst, uint32_t mask) \
    {                                                                                \
        T *d = emu_lanes(warp, &inst->operand[0]);                                   \
        const S *a = emu_lanes(warp, &inst->operand[1]);                             \
        EMU_LANEWISE(mask, d[i] = (T)(expression));                                  \
    }
#define EMU_BINARY(name, T, S, expression)                                                        \
    EMU_CLONED static void name(emu_warp *warp, const emu_inst *inst, uint32_t mask)              \
    {                                                                                             \
        T *d = emu_lanes(warp, &inst->operand[0]);                                                \
        const S *a = emu_lanes(warp, &inst->operand[1]), *b = emu_lanes(warp, &inst->operand[2]); \
        EMU_LANEWISE(mask, d[i] = (T)(expression));                                               \
    }
#define EMU_TERNARY(name, T, S, expression)                                                       \
    EMU_CLONED static void name(emu_warp *warp, const emu_inst *inst, uint32_t mask)              \
    {                                                                                             \
        T *d = emu_lanes(warp, &inst->operand[0]);                                                \
        const S *a = emu_lanes(warp, &inst->operand[1]), *b = emu_lanes(warp, &inst->operand[2]); \
        const T *c = emu_lanes(warp, &inst->operand[3]);                                          \
        EMU_LANEWISE(mask, d[i] = (T)(expression));                                               \
    }

/* Define an executing function that calls another one with fixed arguments. */
#define EMU_SETTLED(name, function, ...)                                  \
    static void name(emu_warp *warp, const emu_inst *inst, uint32_t mask) \
    {                                                                     \
        function(warp, inst, mask, __VA_ARGS__);                          \
    }

/* Return the bits of an operand as a signed number of its width. */
static inline int64_t emu_signed(const emu_warp *warp, const emu_operand *operand, int lane)
{
    const uint64_t bits = emu_unsigned(warp, operand, lane);

    switch (operand->bytes) {
    case 1:
        return (int8_t)bits;
    case 2:
        return (int16_t)bits;
    case 4:
        return (int32_t)bits;
    default:
        return (int64_t)bits;
    }
}

#endif
