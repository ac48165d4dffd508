/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragment: the lane and register of each matrix element, for the products of a whole warp.
 *
 * A factor has lines (rows of A, columns of B) of `depth` elements, packed into registers. A block of 8 lines and 4 registers of
 * depth is one register of the warp:
 *
 *              depth  0        1        2        3       (registers)
 *     line 0       lane 0   lane 1   lane 2   lane 3
 *     line 1       lane 4   lane 5   lane 6   lane 7
 *     ...
 *     line 7       lane 28  lane 29  lane 30  lane 31
 *
 * Registers count blocks along the depth first; in a paired factor, the blocks of two neighbours alternate. Each lane holds two
 * accumulators of a row (of a column if transposed) of a block of 8 x 8; f16 packs them into one register. mma defines this layout.
 * PTX leaves the layout of wmma open; ptxas uses this one from sm_80 on.
 */
#ifndef EMU_FRAGMENT_H
#define EMU_FRAGMENT_H

#include "product.h"
#include "warp.h"

typedef struct emu_factor {
    int lines, depth, bits; /* bits: of an element, with its padding */
    bool is_paired;
    bool is_padded; /* e2m1 in bytes: its bits are 2 to 5 */
} emu_factor;

typedef struct emu_sum {
    int m, n, bits;
    bool is_transposed;
} emu_sum;

/** The position of the first element of a factor's register (line and depth), or of an accumulator element (row and column). */
typedef struct emu_spot {
    int line, place;
} emu_spot;

/** Return the layout of A or B, and of C or D, for an instruction's shape and a type. Single bits come in words of 32. */
emu_factor emu_factor_of(const emu_inst *inst, bool is_b, emu_type type);
emu_sum emu_sum_of(const emu_inst *inst, emu_type type);

/** Return the elements in a register. */
static inline int emu_packed(int bits)
{
    return bits == 64 ? 1 : 32 / bits;
}

static inline int emu_factor_registers(const emu_factor *f)
{
    return f->lines * f->depth / emu_packed(f->bits) / 32;
}

/** Return the position of lane 0's first element in a register. */
static inline emu_spot emu_factor_block(const emu_factor *f, int number)
{
    const int along = f->depth / emu_packed(f->bits) / 4, n = number % emu_factor_registers(f);
    const int block = f->is_paired && f->lines > 8 ? n / (2 * along) * 2 + n % 2 : n / along;
    const int deep = f->is_paired && f->lines > 8 ? n % (2 * along) / 2 : n % along;

    return (emu_spot){block * 8, deep * 4 * emu_packed(f->bits)};
}

static inline emu_spot emu_factor_spot(const emu_factor *f, emu_spot block, int lane)
{
    return (emu_spot){block.line + lane / 4, block.place + lane % 4 * emu_packed(f->bits)};
}

static inline int emu_sum_elements(const emu_sum *s)
{
    return s->m * s->n / 32;
}

/** Return the position of an element of lane 0. */
static inline emu_spot emu_sum_block(const emu_sum *s, int element)
{
    const int pair = element / 2, rows = s->m / 8;

    if (s->is_transposed)
        return (emu_spot){element % 2, pair * 8};
    return (emu_spot){pair % rows * 8, pair / rows * 8 + element % 2};
}

static inline emu_spot emu_sum_spot(const emu_sum *s, emu_spot block, int lane)
{
    if (s->is_transposed)
        return (emu_spot){block.line + 2 * (lane % 4), block.place + lane / 4};
    return (emu_spot){block.line + lane / 4, block.place + 2 * (lane % 4)};
}

static inline int emu_sum_registers(const emu_sum *s)
{
    return emu_sum_elements(s) / (s->bits == 16 ? 2 : 1);
}

/** Copy matrices from and to the registers of a warp, the first of which is `operand`. */
void emu_fetch_factor(const emu_warp *warp, const emu_operand *operand, const emu_factor *f, uint64_t to[][EMU_DEPTH]);
void emu_fetch_sum(const emu_warp *warp, const emu_operand *operand, const emu_sum *s, uint64_t to[][EMU_LINES]);
void emu_put_sum(const emu_warp *warp, const emu_operand *operand, const emu_sum *s, uint64_t from[][EMU_LINES]);

/** Are all 32 lanes active? Otherwise a finding says so. */
bool emu_is_whole(emu_warp *warp, const emu_inst *inst);

/**
 * Begin a product of a whole warp: check that its inputs are defined, the operands before `end`, and define its results. false: a
 * finding says why not.
 */
bool emu_begin_product(emu_warp *warp, const emu_inst *inst, unsigned end, int m, int n, int k);

typedef enum emu_arithmetic { OF_FLOATS, OF_DOUBLES, OF_WHOLES, OF_BITS } emu_arithmetic;

enum { EMU_WMMA_HALVES = 8 }; /* registers of A and B in wmma of f16: they repeat */

/**
 * Compute D = A . B + C. type: those of D, A, B and C. choice[0]: rounding of f64, satfinite of integers, xor or and of bits.
 */
void emu_run_product(emu_warp *warp, const emu_inst *inst, emu_arithmetic how, const emu_type type[4], bool is_wmma);

#endif
