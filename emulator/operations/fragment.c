/* SPDX-License-Identifier: Apache-2.0 */
#include "fragment.h"

#include "counters.h"
#include "finding.h"
#include "shadow.h"

/* The elements of a register of 32 bits in all lanes. */
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

bool emu_begin_product(emu_warp *warp, const emu_inst *inst, int m, int n, int k)
{
    cuEmuCounters *line = emu_line(warp, inst);

    if (warp->alive != UINT32_MAX) {
        emu_find(warp, inst, CUEMU_ILLEGAL, 0, 0, "only a whole warp can execute it");
        return false;
    }
    if (line)
        line->mma_flops += (uint64_t)(2 * m * n * k);
    if (warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED)
        for (unsigned i = inst->outputs; i < inst->operands; i++)
            emu_check_defined(warp, inst, &inst->operand[i], UINT32_MAX, "in a matrix product");
    for (unsigned i = 0; i < inst->outputs; i++)
        emu_set_defined(warp, &inst->operand[i], UINT32_MAX, UINT32_MAX);
    return true;
}
