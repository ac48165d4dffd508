/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragment: which element of a matrix lies in which lane and register, for the products of a whole warp.
 *
 * A factor has lines (rows of A, columns of B) of `depth` elements, as many in a register as fit. A block of 8 lines and 4 registers
 * of depth is one register of the warp:
 *
 *              depth  0        1        2        3       (registers)
 *     line 0       lane 0   lane 1   lane 2   lane 3
 *     line 1       lane 4   lane 5   lane 6   lane 7
 *     ...
 *     line 7       lane 28  lane 29  lane 30  lane 31
 *
 * Registers count blocks along the depth first, but if a factor is paired, those of two neighbours in turn. A sum has two elements of
 * a row, or of a column if it lies transposed, in each lane of a block of 8 x 8; f16 packs them into one register. This is how mma
 * wants them. PTX leaves open how wmma holds its matrices; ptxas does it so from sm_80 on.
 */
#ifndef EMU_FRAGMENT_H
#define EMU_FRAGMENT_H

#include "product.h"
#include "warp.h"

typedef struct emu_factor {
    int lines, depth, bits; /* of an element */
    bool is_paired;
} emu_factor;

typedef struct emu_sum {
    int m, n, bits;
    bool is_transposed;
} emu_sum;

/** Where the first element of a register, or an element of a sum, lies: line and depth, or row and column. */
typedef struct emu_spot {
    int line, place;
} emu_spot;

/** What an instruction's shape makes of A or B, and of C or D, of a type. Single bits come by words of 32. */
emu_factor emu_factor_of(const emu_inst *inst, bool is_b, emu_type type);
emu_sum emu_sum_of(const emu_inst *inst, emu_type type);

/** Elements in a register. */
static inline int emu_packed(int bits)
{
    return bits == 64 ? 1 : 32 / bits;
}

static inline int emu_factor_registers(const emu_factor *f)
{
    return f->lines * f->depth / emu_packed(f->bits) / 32;
}

/** The first of a register of lane 0. */
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

/** An element of lane 0. */
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

/** Matrices from and to the registers of a warp, the first of which is operand. */
void emu_fetch_factor(const emu_warp *warp, const emu_operand *operand, const emu_factor *f, uint64_t to[][EMU_DEPTH]);
void emu_fetch_sum(const emu_warp *warp, const emu_operand *operand, const emu_sum *s, uint64_t to[][EMU_LINES]);
void emu_put_sum(const emu_warp *warp, const emu_operand *operand, const emu_sum *s, uint64_t from[][EMU_LINES]);

/** Are all 32 lanes there? A finding says if not. */
bool emu_is_whole(emu_warp *warp, const emu_inst *inst);

/** Before a product of a whole warp: its inputs must be defined, and its results will be. false: a finding says why not. */
bool emu_begin_product(emu_warp *warp, const emu_inst *inst, int m, int n, int k);

typedef enum emu_arithmetic { OF_FLOATS, OF_DOUBLES, OF_WHOLES, OF_BITS } emu_arithmetic;

enum { EMU_WMMA_HALVES = 8 }; /* registers of A and B in wmma, if they are f16: they repeat */

/** D = A . B + C. type: those of D, A, B and C. choice[0]: rounding of f64, satfinite of whole numbers, xor and and of bits. */
void emu_run_product(emu_warp *warp, const emu_inst *inst, emu_arithmetic how, const emu_type type[4], bool is_wmma);

#endif
