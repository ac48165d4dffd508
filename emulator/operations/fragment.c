/* SPDX-License-Identifier: Apache-2.0 */
#include "fragment.h"

#include "counters.h"
#include "finding.h"
#include "shadow.h"

static int bits_of(emu_type type)
{
    switch (type) {
    case T_S4:
    case T_U4:
        return 4;
    case T_B1:
        return 32;
    default:
        return 8 * (int)emu_type_bytes(type);
    }
}

emu_factor emu_factor_of(const emu_inst *inst, bool is_b, emu_type type)
{
    const int m = inst->shape[0], n = inst->shape[1], k = inst->shape[2];
    const bool is_dense = type == T_E2M1 && k == 64; /* k = 32 takes bytes of any type */

    return (emu_factor){is_b ? n : m, type == T_B1 ? k / 32 : k, is_dense ? 4 : bits_of(type), !is_b || n == 32,
                        type == T_E2M1 && !is_dense};
}

emu_sum emu_sum_of(const emu_inst *inst, emu_type type)
{
    return (emu_sum){inst->shape[0], inst->shape[1], bits_of(type), inst->shape[1] == 32};
}

/* Fetch the elements of a 32-bit register in all lanes. */
static inline void fetch_word(const uint32_t *word, const emu_factor *f, emu_spot block, int bits, uint64_t to[][EMU_DEPTH])
{
    const uint32_t mask = bits == 32 ? UINT32_MAX : (1u << bits % 32) - 1;

    for (int lane = 0; lane < EMU_LANES; lane++) {
        const emu_spot at = emu_factor_spot(f, block, lane);
        for (int i = 0; i < 32 / bits; i++)
            to[at.line][at.place + i] = word[lane] >> i * bits & mask;
    }
}

void emu_fetch_factor(const emu_warp *warp, const emu_operand *operand, const emu_factor *f, uint64_t to[][EMU_DEPTH])
{
    for (int n = 0; n < emu_factor_registers(f); n++) {
        const emu_spot block = emu_factor_block(f, n);
        const void *const lanes = emu_lanes(warp, &operand[n]);
        switch (f->bits) {
        case 64:
            for (int lane = 0; lane < EMU_LANES; lane++)
                to[block.line + lane / 4][block.place + lane % 4] = ((const uint64_t *)lanes)[lane];
            break;
        case 32:
            fetch_word(lanes, f, block, 32, to);
            break;
        case 16:
            fetch_word(lanes, f, block, 16, to);
            break;
        case 8:
            fetch_word(lanes, f, block, 8, to);
            break;
        default:
            fetch_word(lanes, f, block, 4, to);
            break;
        }
    }
    for (int line = 0; f->is_padded && line < f->lines; line++)
        for (int k = 0; k < f->depth; k++)
            to[line][k] = to[line][k] >> 2 & 15;
}

void emu_fetch_sum(const emu_warp *warp, const emu_operand *operand, const emu_sum *s, uint64_t to[][EMU_LINES])
{
    for (int e = 0; e < emu_sum_elements(s); e++) {
        const emu_spot block = emu_sum_block(s, e);
        for (int lane = 0; lane < EMU_LANES; lane++) {
            const emu_spot at = emu_sum_spot(s, block, lane);
            to[at.line][at.place] = s->bits == 16 ? emu_unsigned(warp, &operand[e / 2], lane) >> 16 * (e % 2) & 0xffff
                                                  : emu_unsigned(warp, &operand[e], lane);
        }
    }
}

void emu_put_sum(const emu_warp *warp, const emu_operand *operand, const emu_sum *s, uint64_t from[][EMU_LINES])
{
    for (int n = 0; n < emu_sum_registers(s); n++) {
        const int e = s->bits == 16 ? 2 * n : n;
        const emu_spot block = emu_sum_block(s, e), other = emu_sum_block(s, e + 1);
        for (int lane = 0; lane < EMU_LANES; lane++) {
            const emu_spot at = emu_sum_spot(s, block, lane), next = emu_sum_spot(s, other, lane);
            const uint64_t high = s->bits == 16 ? from[next.line][next.place] << 16 : 0;
            emu_set_unsigned(warp, &operand[n], lane, from[at.line][at.place] | high);
        }
    }
}

bool emu_is_whole(emu_warp *warp, const emu_inst *inst)
{
    if (warp->alive != UINT32_MAX)
        emu_find(warp, inst, CUEMU_ILLEGAL, 0, 0, "only a whole warp can execute it");
    return warp->alive == UINT32_MAX;
}

bool emu_begin_product(emu_warp *warp, const emu_inst *inst, unsigned end, int m, int n, int k)
{
    cuEmuCounters *line = emu_line(warp, inst);

    if (!emu_is_whole(warp, inst))
        return false;
    if (line)
        line->mma_flops += (uint64_t)(2 * m * n * k);
    if (warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED)
        for (unsigned i = inst->outputs; i < end; i++)
            emu_check_defined(warp, inst, &inst->operand[i], UINT32_MAX, "in a matrix product");
    for (unsigned i = 0; i < inst->outputs; i++)
        emu_set_defined(warp, &inst->operand[i], UINT32_MAX, UINT32_MAX);
    return true;
}

static void convert_sums(const emu_product *p, uint64_t sums[][EMU_LINES], uint32_t (*convert)(uint32_t bits))
{
    for (int r = 0; r < p->m; r++)
        for (int c = 0; c < p->n; c++)
            sums[r][c] = convert((uint32_t)sums[r][c]);
}

void emu_run_product(emu_warp *warp, const emu_inst *inst, emu_arithmetic how, const emu_type type[4], bool is_wmma)
{
    static const emu_round rounds[] = {ROUND_NEAREST, ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP};
    const bool repeats = is_wmma && type[1] == T_F16, is_mixed = type[0] != type[3];
    const emu_factor a = emu_factor_of(inst, false, type[1]), b = emu_factor_of(inst, true, type[2]);
    const emu_sum d = emu_sum_of(inst, type[0]), c = emu_sum_of(inst, type[3]);
    const emu_operand *const from_a = inst->operand + emu_sum_registers(&d);
    const emu_operand *const from_b = from_a + (repeats ? EMU_WMMA_HALVES : emu_factor_registers(&a));
    const emu_operand *const from_c = from_b + (repeats ? EMU_WMMA_HALVES : emu_factor_registers(&b));
    emu_product p;

    if (!emu_begin_product(warp, inst, inst->operands, c.m, c.n, inst->shape[2]))
        return;
    p.m = c.m;
    p.n = c.n;
    p.k = a.depth;
    p.a_type = type[1];
    p.b_type = type[2];
    p.sum_type = is_mixed ? T_F32 : type[0];
    emu_fetch_factor(warp, from_a, &a, p.a);
    emu_fetch_factor(warp, from_b, &b, p.b);
    emu_fetch_sum(warp, from_c, &c, p.c);
    if (is_mixed && type[3] == T_F16)
        convert_sums(&p, p.c, emu_f16_to_f32);
    switch (how) {
    case OF_FLOATS: /* ptxas splits a wmma of tf32 into two instructions */
        emu_multiply_float(&p, warp->block->launch->device->capability, is_wmma && type[1] == T_TF32 ? 4 : p.k, false);
        break;
    case OF_DOUBLES:
        emu_multiply_f64(&p, rounds[inst->choice[0]]);
        break;
    case OF_WHOLES:
        emu_multiply_whole(&p, inst->choice[0]);
        break;
    case OF_BITS:
        emu_multiply_bits(&p, inst->choice[0] == 1);
        break;
    }
    if (is_mixed && type[0] == T_F16)
        convert_sums(&p, p.d, emu_f32_to_f16);
    emu_put_sum(warp, inst->operand, &d, p.d);
}
