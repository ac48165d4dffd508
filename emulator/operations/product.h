/* SPDX-License-Identifier: Apache-2.0 */
/*
 * product: D = A . B + C of small matrices, as the tensor cores of each architecture compute it.
 *
 * Sums of f16, bf16 and tf32 products follow the model that Xie et al. measured (MMA-Sim, arXiv 2511.10909): all products of a step
 * and C are cut to a number of bits below the largest exponent among them, added exactly, and cut to f32, or rounded to the nearest
 * f16. The number of bits and the length of a step depend on the architecture. Only sm_89 and sm_120 add e4m3 and e5m2 so, the first
 * with 13 bits. Between them a warpgroup does it, also with 13 bits, but all at once; for a warp ptxas makes two products of f16 of
 * one, of the lower and the upper elements of each register: they start at 0, the second at the first's sum, and C is added last,
 * rounded to nearest. f64 is a chain of fused multiply-adds; whole numbers of 8 and 4 bits and the counts of single ones are exact.
 */
#ifndef EMU_PRODUCT_H
#define EMU_PRODUCT_H

#include "number.h"
#include "ptx.h"

enum { EMU_LINES = 64, EMU_DEPTH = 64 };

/** Elements by their bits. C and D have one type, sum; of f16, bf16, tf32, e4m3, e5m2 it is f32 or f16. */
typedef struct emu_product {
    int m, n, k; /* k: of single bits, words of 32 */
    emu_type a_type, b_type, sum_type;
    uint64_t a[EMU_LINES][EMU_DEPTH], b[EMU_LINES][EMU_DEPTH]; /* rows of A, columns of B */
    uint64_t c[EMU_LINES][EMU_LINES], d[EMU_LINES][EMU_LINES]; /* rows */
} emu_product;

/** Of C and D, where an instruction has them in another type than it adds in. */
uint32_t emu_f16_to_f32(uint32_t bits);
uint32_t emu_f32_to_f16(uint32_t bits);

/** capability: of the device, 90 for 9.0. most: products that an instruction adds, if they are less than k. is_group: of a warpgroup. */
void emu_multiply_float(emu_product *p, int capability, int most, bool is_group);

/** Of f16: single operations, as ptxas writes the product of an instruction that devices from sm_80 on no longer have. */
void emu_multiply_single(emu_product *p);

void emu_multiply_f64(emu_product *p, emu_round round);

/** Whole numbers of 8 or 4 bits. */
void emu_multiply_whole(emu_product *p, bool saturates);

/** How many bits are set in a xor b, or in a and b. */
void emu_multiply_bits(emu_product *p, bool is_xor);

#endif
