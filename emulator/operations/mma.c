/* SPDX-License-Identifier: Apache-2.0 */
/* mma: mma.sync, D = A . B + C of one warp, and the transpose of a matrix in a warp's registers. */
#include "fragment.h"
#include "lanes.h"

static inline void multiply(emu_warp *warp, const emu_inst *inst, uint32_t mask, emu_arithmetic how)
{
    const emu_type types[4] = {inst->type[0], inst->type[1], inst->type[2], inst->type[3]};

    (void)mask;
    emu_run_product(warp, inst, how, types, false);
}

EMU_SETTLED(mma_float, multiply, OF_FLOATS)
EMU_SETTLED(mma_f64, multiply, OF_DOUBLES)
EMU_SETTLED(mma_whole, multiply, OF_WHOLES)
EMU_SETTLED(mma_bits, multiply, OF_BITS)

/*
 * m8n8k4 of f16 is four products, one each for lanes 4 q to 4 q + 3 and the lanes 16 above. A lane holds 4 elements of a row of
 * A and of a column of B, or of a column and of a row, as the layouts say.
 */
static emu_spot quarter_factor(bool is_along, int element, int lane)
{
    const int low = lane % 4, high = lane / 16 * 4;

    return is_along ? (emu_spot){low + high, element} : (emu_spot){element + high, low};
}

/* Elements of C and D: f16 has one row per lane; f32 has pairs of neighbours in two rows and two groups of columns. */
static emu_spot quarter_sum(bool is_half, int element, int lane)
{
    const int high = lane / 16 * 4;

    if (is_half)
        return (emu_spot){lane % 4 + high, element};
    return (emu_spot){(lane & 1) + (element & 2) + high, (element & 4) + (lane & 2) + (element & 1)};
}

/* Return half of a register, or a register. */
static uint64_t element_of(const emu_warp *warp, const emu_operand *operand, bool is_half, int element, int lane)
{
    return is_half ? emu_unsigned(warp, &operand[element / 2], lane) >> 16 * (element % 2) & 0xffff
                   : emu_unsigned(warp, &operand[element], lane);
}

/* choice[0]: row.col row.row col.row col.col; types: d f16 f16 c */
static void mma_quarters(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const bool d_is_half = inst->type[0] == T_F16, c_is_half = inst->type[3] == T_F16;
    const bool a_by_rows = inst->choice[0] < 3, b_by_columns = inst->choice[0] == 1 || inst->choice[0] == 4;
    const emu_operand *const d = inst->operand, *const a = d + (d_is_half ? 4 : 8);
    const int capability = warp->block->launch->device->capability;
    emu_product p;

    (void)mask;
    if (!emu_begin_product(warp, inst, inst->operands, 8, 8, 4 * 4))
        return;
    p.m = p.n = 8;
    p.k = 4;
    p.a_type = p.b_type = T_F16;
    p.sum_type = (emu_type)inst->type[0];
    for (int quarter = 0; quarter < 4; quarter++) {
        for (int i = 0; i < 8; i++) {
            const int lane = quarter * 4 + i % 4 + i / 4 * 16;
            for (int e = 0; e < 4; e++) {
                const emu_spot of_a = quarter_factor(a_by_rows, e, lane), of_b = quarter_factor(b_by_columns, e, lane);
                p.a[of_a.line][of_a.place] = element_of(warp, a, true, e, lane);
                p.b[of_b.line][of_b.place] = element_of(warp, a + 2, true, e, lane);
            }
            for (int e = 0; e < 8; e++) {
                const emu_spot at = quarter_sum(c_is_half, e, lane);
                const uint64_t bits = element_of(warp, a + 4, c_is_half, e, lane);
                p.c[at.line][at.place] = c_is_half && !d_is_half ? emu_f16_to_f32((uint32_t)bits) : bits;
            }
        }
        if (capability < 80)
            emu_multiply_float(&p, capability, 4, false);
        else
            emu_multiply_single(&p);
        for (int i = 0; i < 8; i++) {
            const int lane = quarter * 4 + i % 4 + i / 4 * 16;
            for (int e = 0; e < 8; e += d_is_half ? 2 : 1) {
                const emu_spot at = quarter_sum(d_is_half, e, lane);
                if (d_is_half)
                    emu_set_unsigned(warp, &d[e / 2], lane, p.d[at.line][e] | p.d[at.line][e + 1] << 16);
                else
                    emu_set_unsigned(warp, &d[e], lane, p.d[at.line][at.place]);
            }
        }
    }
}

/* movmatrix.sync.aligned.m8n8.trans.b16: the transpose of an 8 x 8 matrix held by the warp */
static void movmatrix(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint32_t *a = emu_lanes(warp, &inst->operand[1]);
    uint32_t *d = emu_lanes(warp, &inst->operand[0]), result[EMU_LANES];

    (void)mask;
    for (int i = 0; i < EMU_LANES; i++) {
        uint32_t half[2];
        for (int n = 0; n < 2; n++) {
            const int row = 2 * (i % 4) + n, column = i / 4;
            half[n] = a[row * 4 + column / 2] >> 16 * (column % 2) & 0xffff;
        }
        result[i] = half[0] | half[1] << 16;
    }
    for (int i = 0; i < EMU_LANES; i++)
        d[i] = result[i];
    emu_set_defined(warp, &inst->operand[0], emu_defined(warp, &inst->operand[1]) == UINT32_MAX ? UINT32_MAX : 0, UINT32_MAX);
}

#define MMA "mma.sync.aligned"
#define ROWCOL "{*.row.col}"
#define ROUNDING "{.rn,.rz,.rm,.rp}"
#define QUARTERS "{*.row.col,.row.row,.col.row,.col.col}"
#define OF_BYTES "{.satfinite}.s32{*.s8,.u8}{*.s8,.u8}.s32" ROWCOL
#define FP8 "{*.e4m3,.e5m2}{*.e4m3,.e5m2}"
#define F8F6F4 "{*.e4m3,.e5m2,.e3m2,.e2m3,.e2m1}{*.e4m3,.e5m2,.e3m2,.e2m3,.e2m1}"
#define RTX_BLACKWELL (EMU_ONLY + 120)
#define OF_HALF_BYTES "{.satfinite}.s32{*.s4,.u4}{*.s4,.u4}.s32" ROWCOL
#define OF_BITS ".popc.s32.b1.b1.s32" ROWCOL

const emu_form emu_mma_forms[] = {
    {MMA ".m16n8k16{*.f32.f16.f16.f32,.f32.bf16.bf16.f32}" ROWCOL, "=4w 4w 2w 4w", mma_float, NULL, F_WARP, D_OWN, 0, 0, 80},
    {MMA ".m16n8k16.f16.f16.f16.f16" ROWCOL, "=2w 4w 2w 2w", mma_float, NULL, F_WARP, D_OWN, 0, 0, 80},
    {MMA ".m16n8k8{*.f32.f16.f16.f32,.f32.bf16.bf16.f32}" ROWCOL, "=4w 2w 1w 4w", mma_float, NULL, F_WARP, D_OWN, 0, 0, 75},
    {MMA ".m16n8k8.f16.f16.f16.f16" ROWCOL, "=2w 2w 1w 2w", mma_float, NULL, F_WARP, D_OWN, 0, 0, 75},
    {MMA ".m16n8k8.f32.tf32.tf32.f32" ROWCOL, "=4w 4w 2w 4w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k4.f32.tf32.tf32.f32" ROWCOL, "=4w 2w 1w 4w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k32.f32" FP8 ".f32" ROWCOL, "=4w 4w 2w 4w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k32.f16" FP8 ".f16" ROWCOL, "=2w 4w 2w 2w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k16.f32" FP8 ".f32" ROWCOL, "=4w 2w 1w 4w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k16.f16" FP8 ".f16" ROWCOL, "=2w 2w 1w 2w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k32.kind::f8f6f4.f32" F8F6F4 ".f32" ROWCOL, "=4w 4w 2w 4w", mma_float, NULL, F_WARP, D_OWN, 0, 0,
     RTX_BLACKWELL},
    {MMA ".m16n8k32.kind::f8f6f4.f16" F8F6F4 ".f16" ROWCOL, "=2w 4w 2w 2w", mma_float, NULL, F_WARP, D_OWN, 0, 0,
     RTX_BLACKWELL},
    {MMA ".m8n8k4" QUARTERS ".f32.f16.f16.f32", "=8w 2w 2w 8w", mma_quarters, NULL, F_WARP, D_OWN, 0, 0, 70},
    {MMA ".m8n8k4" QUARTERS ".f32.f16.f16.f16", "=8w 2w 2w 4w", mma_quarters, NULL, F_WARP, D_OWN, 0, 0, 70},
    {MMA ".m8n8k4" QUARTERS ".f16.f16.f16.f16", "=4w 2w 2w 4w", mma_quarters, NULL, F_WARP, D_OWN, 0, 0, 70},
    {MMA ROUNDING ".m8n8k4.f64.f64.f64.f64" ROWCOL, "=2d 1d 1d 2d", mma_f64, NULL, F_WARP, D_OWN, 0, 0, 80},
    {MMA ROUNDING ".m16n8k4.f64.f64.f64.f64" ROWCOL, "=4d 2d 1d 4d", mma_f64, NULL, F_WARP, D_OWN, 0, 0, 90},
    {MMA ROUNDING ".m16n8k8.f64.f64.f64.f64" ROWCOL, "=4d 4d 2d 4d", mma_f64, NULL, F_WARP, D_OWN, 0, 0, 90},
    {MMA ROUNDING ".m16n8k16.f64.f64.f64.f64" ROWCOL, "=4d 8d 4d 4d", mma_f64, NULL, F_WARP, D_OWN, 0, 0, 90},
    {MMA ".m16n8k32" OF_BYTES, "=4w 4w 2w 4w", mma_whole, NULL, F_WARP, D_OWN, 0, 0, 80},
    {MMA ".m16n8k16" OF_BYTES, "=4w 2w 1w 4w", mma_whole, NULL, F_WARP, D_OWN, 0, 0, 80},
    {MMA ".m8n8k16" OF_BYTES, "=2w 1w 1w 2w", mma_whole, NULL, F_WARP, D_OWN, 0, 0, 75},
    {MMA ".m16n8k64" OF_HALF_BYTES, "=4w 4w 2w 4w", mma_whole, NULL, F_WARP, D_OWN, 0, 0, 80},
    {MMA ".m16n8k32" OF_HALF_BYTES, "=4w 2w 1w 4w", mma_whole, NULL, F_WARP, D_OWN, 0, 0, 80},
    {MMA ".m8n8k32" OF_HALF_BYTES, "=2w 1w 1w 2w", mma_whole, NULL, F_WARP, D_OWN, 0, 0, 75},
    {MMA "{*.xor,.and}.m16n8k256" OF_BITS, "=4w 4w 2w 4w", mma_bits, NULL, F_WARP, D_OWN, 0, 0, 80},
    {MMA "{*.xor,.and}.m16n8k128" OF_BITS, "=4w 2w 1w 4w", mma_bits, NULL, F_WARP, D_OWN, 0, 0, 80},
    {MMA "{*.xor}.m8n8k128" OF_BITS, "=2w 1w 1w 2w", mma_bits, NULL, F_WARP, D_OWN, 0, 0, 75},
    {MMA "{*.-,.and}.m8n8k128" OF_BITS, "=2w 1w 1w 2w", mma_bits, NULL, F_WARP, D_OWN, 0, 0, 80},
    {"movmatrix.sync.aligned.m8n8.trans.b16", "=w w", movmatrix, NULL, F_WARP, D_OWN, 0, 0, 75},
    {0},
};
