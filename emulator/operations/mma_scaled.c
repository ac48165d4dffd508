/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mma_scaled: mma.sync with block scales: D = (A . scale A) (B . scale B) + C of one warp.
 *
 * A scale is a byte of a register of one lane. Two numbers of the instruction select it: thread-id chooses lanes of each four,
 * and byte-id the first byte. Row r of A takes its scales from lane 4 (r % 8) + 2 thread-id + r / 8, column c of B from lane
 * 4 c + thread-id; other lanes' registers are not read.
 */
#include "finding.h"
#include "fragment.h"
#include "lanes.h"
#include "shadow.h"

enum { SELECTORS = 2, OF_SCALES = 1 + SELECTORS }; /* operands of the scales of A, then of B */

/* The scale register and selectors of A or B. */
typedef struct source {
    const emu_operand *operand;
    unsigned byte, thread;
} source;

/* Read the selectors; false: a finding says which is wrong. */
static bool select_scales(emu_warp *warp, const emu_inst *inst, bool is_b, int count, source *s)
{
    const emu_operand *const operand = inst->operand + inst->operands - (is_b ? OF_SCALES : 2 * OF_SCALES);
    const unsigned threads = is_b ? 4 : 2;

    *s = (source){operand, (unsigned)emu_unsigned(warp, operand + 1, 0), (unsigned)emu_unsigned(warp, operand + 2, 0)};
    if (s->byte < 4 && s->byte % (unsigned)count == 0 && s->thread < threads)
        return true;
    emu_find(warp, inst, CUEMU_ILLEGAL, 0, 0, "byte-id %u and thread-id %u of the scales of %s: they are %s, and below %u",
             s->byte, s->thread, is_b ? "B" : "A",
             count == 1   ? "0 to 3"
             : count == 2 ? "0 or 2"
                          : "0",
             threads);
    return false;
}

static void check_scales(emu_warp *warp, const emu_inst *inst, const source *s, uint32_t lanes)
{
    if (warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED)
        emu_check_defined(warp, inst, s->operand, lanes, "as the scales of a matrix product");
}

static void fetch_scales(const emu_warp *warp, const source *s, int lines, bool is_b, uint8_t to[][4])
{
    for (int line = 0; line < lines; line++) {
        const int lane = (int)s->thread * (is_b ? 1 : 2) + (is_b ? 4 * line : 4 * (line % 8) + line / 8);
        const uint64_t bytes = emu_unsigned(warp, s->operand, lane) >> 8 * s->byte;
        for (int n = 0; n < 4; n++)
            to[line][n] = (uint8_t)(bytes >> 8 * n);
    }
}

/* mma.m16n8k32 and m16n8k64; choice[0]: 2 for four scales of ue4m3 */
static void mma_scaled(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const emu_type a_type = (emu_type)inst->type[1], b_type = (emu_type)inst->type[2];
    const emu_factor a = emu_factor_of(inst, false, a_type), b = emu_factor_of(inst, true, b_type);
    const emu_sum sum = emu_sum_of(inst, T_F32);
    const emu_operand *const from_a = inst->operand + emu_sum_registers(&sum), *const from_b =
                                                                                   from_a + emu_factor_registers(&a);
    const int count = inst->shape[2] == 32 ? 1 : inst->choice[0] == 2 ? 4 : 2;
    source of_a, of_b;
    emu_scales scales = {.type = count == 4 ? T_UE4M3 : T_UE8M0, .count = count};
    emu_product p;

    (void)mask;
    if (!emu_begin_product(warp, inst, inst->operands - 2 * OF_SCALES, a.lines, b.lines, a.depth) ||
        !select_scales(warp, inst, false, count, &of_a) || !select_scales(warp, inst, true, count, &of_b))
        return;
    p.m = a.lines;
    p.n = b.lines;
    p.k = a.depth;
    p.a_type = a_type;
    p.b_type = b_type;
    p.sum_type = T_F32;
    check_scales(warp, inst, &of_a, 0x33333333u << 2 * of_a.thread);
    check_scales(warp, inst, &of_b, 0x11111111u << of_b.thread);
    emu_fetch_factor(warp, from_a, &a, p.a);
    emu_fetch_factor(warp, from_b, &b, p.b);
    emu_fetch_sum(warp, from_b + emu_factor_registers(&b), &sum, p.c);
    fetch_scales(warp, &of_a, p.m, false, scales.a);
    fetch_scales(warp, &of_b, p.n, true, scales.b);
    emu_multiply_scaled(&p, &scales);
    emu_put_sum(warp, inst->operand, &sum, p.d);
}

#define MMA "mma.sync.aligned.block_scale"
#define ROWCOL "{*.row.col}"
#define F8F6F4 "{*.e4m3,.e5m2,.e3m2,.e2m3,.e2m1}"
#define OPERANDS "=4w 4w 2w 4w w 2h w 2h", mma_scaled, NULL, F_WARP, D_OWN, 0, 0, EMU_ONLY + 120

const emu_form emu_mma_scaled_forms[] = {
    {MMA ".m16n8k32.kind::mxf8f6f4{.scale_vec::1X}.f32" F8F6F4 F8F6F4 ".f32.ue8m0" ROWCOL, OPERANDS},
    {MMA ".m16n8k64.kind::mxf4{.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0" ROWCOL, OPERANDS},
    {MMA ".m16n8k64.kind::mxf4nvf4.f32.e2m1.e2m1.f32{*.scale_vec::2X.ue8m0,.scale_vec::4X.ue4m3}" ROWCOL, OPERANDS},
    {0},
};
