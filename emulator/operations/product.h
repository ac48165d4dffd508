/* SPDX-License-Identifier: Apache-2.0 */
/*
 * product: D = A . B + C of small matrices, as the tensor cores of each architecture compute it.
 *
 * Sums of f16, bf16 and tf32 products follow the model that Xie et al. measured (MMA-Sim, arXiv 2511.10909): the products of a
 * step and C are truncated to a number of bits below the largest exponent among them, added exactly, and truncated to f32, or
 * rounded to the nearest f16. The number of bits and the length of a step depend on the architecture. For e4m3 and e5m2, sm_89
 * does this with 13 bits; on the architectures before sm_120 a warpgroup does it with 13 bits for all products at once, and for a
 * warp ptxas makes two f16 products, one of the lower and one of the upper elements of each register: the first
 * starts at 0, the second at the first's sum, and C is added last, rounded to nearest. f64 is a chain of fused multiply-adds;
 * 8-bit and 4-bit integers and counts of single bits are exact.
 */
#ifndef EMU_PRODUCT_H
#define EMU_PRODUCT_H

#include "number.h"
#include "ptx.h"

enum { EMU_LINES = 64, EMU_DEPTH = 64 };

/** Elements as bits. C and D have one type, `sum`: f32 or f16 for f16, bf16, tf32, e4m3, e5m2. */
typedef struct emu_product {
    int m, n, k; /* k: for single bits, words of 32 */
    emu_type a_type, b_type, sum_type;
    uint64_t a[EMU_LINES][EMU_DEPTH], b[EMU_LINES][EMU_DEPTH]; /* rows of A, columns of B */
    uint64_t c[EMU_LINES][EMU_LINES], d[EMU_LINES][EMU_LINES]; /* rows */
} emu_product;

/** Convert C and D, if an instruction stores them in another type than it adds in. */
uint32_t emu_f16_to_f32(uint32_t bits);
uint32_t emu_f32_to_f16(uint32_t bits);

/**
 * capability: of the device, 90 for 9.0. most: products that an instruction adds, if less than k. is_group: a warpgroup's
 * product.
 */
void emu_multiply_float(emu_product *p, int capability, int most, bool is_group);

/** The scales of a block-scaled product, as bytes of ue8m0 or ue4m3: `count` in a row of A and in a column of B. */
typedef struct emu_scales {
    emu_type type;
    int count;
    uint8_t a[EMU_LINES][4], b[EMU_LINES][4];
} emu_scales;

/**
 * Multiply with block scales, by the model of the same authors, which no device has confirmed here: each product (of e2m1 at depth
 * 64, each exact sum of 16 products) is a term with its scales; terms and C are truncated to 25 bits (35) below the largest
 * exponent, added exactly, and truncated to f32.
 */
void emu_multiply_scaled(emu_product *p, const emu_scales *scales);

/** Compute f16 products by single operations, as ptxas does for an instruction that devices from sm_80 on lack. */
void emu_multiply_single(emu_product *p);

void emu_multiply_f64(emu_product *p, emu_round round);

/** Multiply 8-bit or 4-bit integers. */
void emu_multiply_whole(emu_product *p, bool saturates);

/** Count the bits set in a xor b, or in a and b. */
void emu_multiply_bits(emu_product *p, bool is_xor);

#endif
