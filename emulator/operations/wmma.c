/* SPDX-License-Identifier: Apache-2.0 */
/* wmma: products of larger matrices by a whole warp, which also loads and stores them. */
#include "finding.h"
#include "fragment.h"
#include "request.h"

/* ---- loads and stores ------------------------------------------------------------------------------------------------ */

/* A matrix in memory: lines at a stride in elements; types below a byte come in words. */
typedef struct layout {
    const emu_operand *base;
    uint64_t stride;
    bool is_by_line; /* neighbours along a line are adjacent; otherwise those across lines */
    int bits;
} layout;

/* base, stride: operand numbers; without a stride operand, lines are contiguous. */
static layout layout_of(emu_warp *warp, const emu_inst *inst, unsigned base, unsigned stride, int bits, bool is_by_line,
                        int least)
{
    const emu_operand *const operand = &inst->operand[stride];
    const bool has_stride = stride < inst->operands;

    if (warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED) {
        emu_check_defined(warp, inst, &inst->operand[base], UINT32_MAX, "as an address");
        if (has_stride)
            emu_check_defined(warp, inst, operand, UINT32_MAX, "as the distance of lines");
    }
    return (layout){&inst->operand[base], has_stride ? emu_unsigned(warp, operand, 0) : (uint64_t)least, is_by_line, bits};
}

/*
 * Move contiguous elements, starting at one element per lane: read into 32 lanes of values, or write from them; from: the
 * register that holds them, or NULL. Clear the lanes that read undefined bytes in *defined.
 */
static bool move(emu_warp *warp, const emu_inst *inst, const layout *l, const emu_spot spot[EMU_LANES], int elements,
                 const emu_operand *from, uint64_t value[EMU_LANES], uint32_t *defined)
{
    const bool is_write = from != NULL;
    const unsigned bytes = (unsigned)(elements * l->bits) / 8;
    uint64_t address[EMU_LANES];
    emu_request r;

    for (int i = 0; i < EMU_LANES; i++) {
        const uint64_t line = (uint64_t)spot[i].line, place = (uint64_t)spot[i].place;
        const uint64_t at = l->is_by_line ? line * l->stride + place : place * l->stride + line;
        address[i] = emu_address_of(warp, l->base, i) + at * (uint64_t)l->bits / 8;
    }
    if (!emu_resolve_at(warp, inst, inst->space, UINT32_MAX, address, bytes, &r) ||
        (is_write && emu_is_forbidden(warp, inst, &r)))
        return false;
    emu_count_request(warp, inst, &r, (unsigned)elements, is_write);
    if (is_write && warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED)
        emu_check_defined(warp, inst, from, emu_lanes_in(&r, S_GLOBAL), "in a store to global memory");
    EMU_EACH_LANE (i, UINT32_MAX) {
        const uint8_t *const bits = (const uint8_t *)&value[i];
        uint8_t *const known = emu_defined_bytes(warp, i, &r.place[i]);
        emu_check_access(warp, inst, i, &r.place[i], bytes, is_write ? bits : NULL, is_write, false);
        if (is_write) {
            memcpy(r.place[i].at, bits, bytes);
            emu_note_write(&r, i);
            if (known)
                memset(known, *defined >> i & 1, bytes);
        } else {
            value[i] = 0;
            memcpy(&value[i], r.place[i].at, bytes);
            if (known && memchr(known, 0, bytes))
                *defined &= ~(1u << i);
        }
    }
    return true;
}

/* types: that of A or B; choice[0]: row, col; choice[1]: a, b */
static void load_factor(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const bool is_b = inst->choice[1] == 2;
    const emu_factor f = emu_factor_of(inst, is_b, (emu_type)inst->type[0]);
    const bool is_by_line = is_b ? inst->choice[0] == 2 : inst->choice[0] == 1;
    const unsigned registers = inst->outputs;
    const int packed = emu_packed(f.bits), distinct = emu_factor_registers(&f), together = is_by_line ? packed : 1;
    layout l = layout_of(warp, inst, registers, registers + 1, f.bits, is_by_line, is_by_line ? f.depth : f.lines);

    (void)mask;
    if (!emu_is_whole(warp, inst))
        return;
    if (inst->type[0] == T_B1 && registers + 1 < inst->operands)
        l.stride /= 32; /* an element is a word here */
    for (int n = 0; n < distinct; n++) {
        uint64_t word[EMU_LANES] = {0}, value[EMU_LANES];
        const emu_spot block = emu_factor_block(&f, n);
        uint32_t defined = UINT32_MAX;
        for (int e = 0; e < packed; e += together) {
            emu_spot spot[EMU_LANES];
            for (int i = 0; i < EMU_LANES; i++) {
                spot[i] = emu_factor_spot(&f, block, i);
                spot[i].place += e;
            }
            if (!move(warp, inst, &l, spot, together, NULL, value, &defined))
                return;
            for (int i = 0; i < EMU_LANES; i++)
                word[i] |= value[i] << e * f.bits;
        }
        for (unsigned copy = (unsigned)n; copy < registers; copy += (unsigned)distinct) {
            for (int i = 0; i < EMU_LANES; i++)
                emu_set_unsigned(warp, &inst->operand[copy], i, word[i]);
            emu_set_defined(warp, &inst->operand[copy], defined, UINT32_MAX);
        }
    }
}

/* types: that of C; choice[0]: row, col */
static void load_sum(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const emu_sum s = emu_sum_of(inst, (emu_type)inst->type[0]);
    const bool is_by_row = inst->choice[0] == 1;
    const unsigned registers = inst->outputs;
    const layout l = layout_of(warp, inst, registers, registers + 1, s.bits, is_by_row, is_by_row ? s.n : s.m);
    const int packed = s.bits == 16 ? 2 : 1;

    (void)mask;
    if (!emu_is_whole(warp, inst))
        return;
    for (unsigned n = 0; n < registers; n++) {
        uint64_t word[EMU_LANES] = {0}, value[EMU_LANES];
        uint32_t defined = UINT32_MAX;
        for (int e = 0; e < packed; e++) {
            const emu_spot block = emu_sum_block(&s, (int)n * packed + e);
            emu_spot spot[EMU_LANES];
            for (int i = 0; i < EMU_LANES; i++)
                spot[i] = emu_sum_spot(&s, block, i);
            if (!move(warp, inst, &l, spot, 1, NULL, value, &defined))
                return;
            for (int i = 0; i < EMU_LANES; i++)
                word[i] |= value[i] << 16 * e;
        }
        for (int i = 0; i < EMU_LANES; i++)
            emu_set_unsigned(warp, &inst->operand[n], i, word[i]);
        emu_set_defined(warp, &inst->operand[n], defined, UINT32_MAX);
    }
}

/* types: that of D; choice[0]: row, col */
static void store_sum(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const emu_sum s = emu_sum_of(inst, (emu_type)inst->type[0]);
    const bool is_by_row = inst->choice[0] == 1;
    const unsigned registers = (unsigned)emu_sum_registers(&s);
    const layout l = layout_of(warp, inst, 0, registers + 1, s.bits, is_by_row, is_by_row ? s.n : s.m);
    const int packed = s.bits == 16 ? 2 : 1;

    (void)mask;
    if (!emu_is_whole(warp, inst))
        return;
    for (unsigned n = 0; n < registers; n++) {
        const emu_operand *const from = &inst->operand[1 + n];
        uint32_t defined = emu_defined(warp, from);
        for (int e = 0; e < packed; e++) {
            const emu_spot block = emu_sum_block(&s, (int)n * packed + e);
            uint64_t value[EMU_LANES];
            emu_spot spot[EMU_LANES];
            for (int i = 0; i < EMU_LANES; i++) {
                spot[i] = emu_sum_spot(&s, block, i);
                value[i] = emu_unsigned(warp, from, i) >> 16 * e;
            }
            if (!move(warp, inst, &l, spot, 1, from, value, &defined))
                return;
        }
    }
}

/* ---- products -------------------------------------------------------------------------------------------------------- */

/* types: d c */
static void mma_halves(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const emu_type types[4] = {inst->type[0], T_F16, T_F16, inst->type[1]};

    (void)mask;
    emu_run_product(warp, inst, OF_FLOATS, types, true);
}

/* types: d a b c */
static inline void multiply(emu_warp *warp, const emu_inst *inst, uint32_t mask, emu_arithmetic how)
{
    const emu_type types[4] = {inst->type[0], inst->type[1], inst->type[2], inst->type[3]};

    (void)mask;
    emu_run_product(warp, inst, how, types, true);
}

EMU_SETTLED(mma_floats, multiply, OF_FLOATS)
EMU_SETTLED(mma_f64, multiply, OF_DOUBLES)
EMU_SETTLED(mma_wholes, multiply, OF_WHOLES)
EMU_SETTLED(mma_bits, multiply, OF_BITS)

#define SPACES "{.global,.shared,.shared::cta}"
#define LOAD "wmma.load{*.row,.col}{*.a,.b}.sync.aligned"
#define LOAD_A "wmma.load{*.row,.col}{*.a}.sync.aligned"
#define LOAD_B "wmma.load{*.row,.col}{*.-,.b}.sync.aligned"
#define LOAD_C "wmma.load{*.row,.col}.c.sync.aligned"
#define STORE "wmma.store{*.row,.col}.d.sync.aligned"
#define SIXTEEN "{*.m16n16k16,.m8n32k16,.m32n8k16}"
#define MMA "wmma.mma"
#define LAYOUTS ".sync.aligned{*.row,.col}{*.row,.col}" /* only loads depend on the layouts */
#define BYTES "{*.s8,.u8}"
#define NIBBLES "{*.s4,.u4}"
#define OF_BITS ".popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"

const emu_form emu_wmma_forms[] = {
    {LOAD SIXTEEN SPACES ".f16", "=8w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0, 70},
    {LOAD ".m16n16k16" SPACES ".bf16", "=4w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0},
    {LOAD ".m16n16k8" SPACES ".tf32", "=4w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0},
    {LOAD ".m16n16k16" SPACES BYTES, "=2w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0, 72},
    {LOAD_A ".m8n32k16" SPACES ".bf16", "=2w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0},
    {LOAD_B ".m8n32k16" SPACES ".bf16", "=8w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0},
    {LOAD_A ".m32n8k16" SPACES ".bf16", "=8w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0},
    {LOAD_B ".m32n8k16" SPACES ".bf16", "=2w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0},
    {LOAD_A ".m8n32k16" SPACES BYTES, "=1w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0, 72},
    {LOAD_B ".m8n32k16" SPACES BYTES, "=4w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0, 72},
    {LOAD_A ".m32n8k16" SPACES BYTES, "=4w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0, 72},
    {LOAD_B ".m32n8k16" SPACES BYTES, "=1w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0, 72},
    {LOAD ".m8n8k4" SPACES ".f64", "=1d @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0, 80},
    {"wmma.load{*.row}{*.a}.sync.aligned.m8n8k32" SPACES NIBBLES, "=1w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0, 75},
    {"wmma.load{*.-,.col}{*.-,.b}.sync.aligned.m8n8k32" SPACES NIBBLES, "=1w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0, 75},
    {"wmma.load{*.row}{*.a}.sync.aligned.m8n8k128" SPACES ".b1", "=1w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0, 75},
    {"wmma.load{*.-,.col}{*.-,.b}.sync.aligned.m8n8k128" SPACES ".b1", "=1w @ w?", load_factor, NULL, F_WARP, D_OWN, 0, 0, 75},
    {LOAD_C SIXTEEN SPACES ".f16", "=4w @ w?", load_sum, NULL, F_WARP, D_OWN, 0, 0, 70},
    {LOAD_C SIXTEEN SPACES "{*.f32,.s32}", "=8w @ w?", load_sum, NULL, F_WARP, D_OWN, 0, 0, 70},
    {LOAD_C ".m16n16k8" SPACES ".f32", "=8w @ w?", load_sum, NULL, F_WARP, D_OWN, 0, 0, 80},
    {LOAD_C ".m8n8k4" SPACES ".f64", "=2d @ w?", load_sum, NULL, F_WARP, D_OWN, 0, 0, 80},
    {LOAD_C "{*.m8n8k32,.m8n8k128}" SPACES ".s32", "=2w @ w?", load_sum, NULL, F_WARP, D_OWN, 0, 0, 75},
    {STORE SIXTEEN SPACES ".f16", "@ 4w w?", store_sum, NULL, F_WARP, D_OWN, 0, 0, 70},
    {STORE SIXTEEN SPACES "{*.f32,.s32}", "@ 8w w?", store_sum, NULL, F_WARP, D_OWN, 0, 0, 70},
    {STORE ".m16n16k8" SPACES ".f32", "@ 8w w?", store_sum, NULL, F_WARP, D_OWN, 0, 0, 80},
    {STORE ".m8n8k4" SPACES ".f64", "@ 2d w?", store_sum, NULL, F_WARP, D_OWN, 0, 0, 80},
    {STORE "{*.m8n8k32,.m8n8k128}" SPACES ".s32", "@ 2w w?", store_sum, NULL, F_WARP, D_OWN, 0, 0, 75},
    {MMA LAYOUTS SIXTEEN ".f16.f16", "=4w 8w 8w 4w", mma_halves, NULL, F_WARP, D_OWN, 0, 0, 70},
    {MMA LAYOUTS SIXTEEN ".f16.f32", "=4w 8w 8w 8w", mma_halves, NULL, F_WARP, D_OWN, 0, 0, 70},
    {MMA LAYOUTS SIXTEEN ".f32.f16", "=8w 8w 8w 4w", mma_halves, NULL, F_WARP, D_OWN, 0, 0, 70},
    {MMA LAYOUTS SIXTEEN ".f32.f32", "=8w 8w 8w 8w", mma_halves, NULL, F_WARP, D_OWN, 0, 0, 70},
    {MMA LAYOUTS ".m16n16k16.f32.bf16.bf16.f32", "=8w 4w 4w 8w", mma_floats, NULL, F_WARP, D_OWN, 0, 0},
    {MMA LAYOUTS ".m8n32k16.f32.bf16.bf16.f32", "=8w 2w 8w 8w", mma_floats, NULL, F_WARP, D_OWN, 0, 0},
    {MMA LAYOUTS ".m32n8k16.f32.bf16.bf16.f32", "=8w 8w 2w 8w", mma_floats, NULL, F_WARP, D_OWN, 0, 0},
    {MMA LAYOUTS ".m16n16k8.f32.tf32.tf32.f32", "=8w 4w 4w 8w", mma_floats, NULL, F_WARP, D_OWN, 0, 0},
    {MMA "{.rn,.rz,.rm,.rp}" LAYOUTS ".m8n8k4.f64.f64.f64.f64", "=2d 1d 1d 2d", mma_f64, NULL, F_WARP, D_OWN, 0, 0, 80},
    {MMA "{.satfinite}" LAYOUTS ".m16n16k16.s32" BYTES BYTES ".s32", "=8w 2w 2w 8w", mma_wholes, NULL, F_WARP, D_OWN, 0, 0, 72},
    {MMA "{.satfinite}" LAYOUTS ".m8n32k16.s32" BYTES BYTES ".s32", "=8w 1w 4w 8w", mma_wholes, NULL, F_WARP, D_OWN, 0, 0, 72},
    {MMA "{.satfinite}" LAYOUTS ".m32n8k16.s32" BYTES BYTES ".s32", "=8w 4w 1w 8w", mma_wholes, NULL, F_WARP, D_OWN, 0, 0, 72},
    {MMA "{.satfinite}.sync.aligned.row.col.m8n8k32.s32" NIBBLES NIBBLES ".s32", "=2w 1w 1w 2w", mma_wholes, NULL, F_WARP,
     D_OWN, 0, 0, 75},
    {MMA "{*.xor}" OF_BITS, "=2w 1w 1w 2w", mma_bits, NULL, F_WARP, D_OWN, 0, 0, 75},
    {MMA "{*.-,.and}" OF_BITS, "=2w 1w 1w 2w", mma_bits, NULL, F_WARP, D_OWN, 0, 0, 80},
    {0},
};
