/* SPDX-License-Identifier: Apache-2.0 */
/* matrix: loads and stores of matrices by a whole warp. */
#include "counters.h"
#include "finding.h"
#include "request.h"

/* Rows of 8 x 8 matrices of 16-bit elements: lane 8 m + n has the address of row n of matrix m. */
static bool resolve_rows(emu_warp *warp, const emu_inst *inst, const emu_operand *operand, unsigned matrices, emu_request *r,
                         bool is_write)
{
    const uint32_t mask = matrices == 4 ? UINT32_MAX : (1u << 8 * matrices) - 1;
    cuEmuCounters *line = emu_line(warp, inst);

    if (!emu_resolve(warp, inst, inst->space == S_GENERIC ? S_GENERIC : S_SHARED, mask, operand, 16, r))
        return false;
    if (line)
        emu_count_shared(line, r->place, mask, 16, 8, is_write);
    if (warp->block->state)
        EMU_EACH_LANE (i, mask)
            emu_check_access(warp, inst, i, &r->place[i], 16, NULL, is_write, false);
    return true;
}

static unsigned matrices_of(const emu_inst *inst)
{
    return 1u << (inst->choice[0] - 1); /* x1 x2 x4 */
}

static void ldmatrix(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const unsigned matrices = matrices_of(inst);
    const bool is_transposed = inst->choice[1];
    emu_request r;

    (void)mask;
    if (inst->operands != matrices + 1) {
        emu_find(warp, inst, CUEMU_ILLEGAL, 0, 0, "ldmatrix of %u matrices with %u results", matrices, inst->operands - 1u);
        return;
    }
    if (!resolve_rows(warp, inst, &inst->operand[matrices], matrices, &r, false))
        return;
    for (unsigned m = 0; m < matrices; m++) {
        uint32_t *d = emu_lanes(warp, &inst->operand[m]), defined = UINT32_MAX;
        for (unsigned i = 0; i < EMU_LANES; i++) {
            uint16_t half[2];
            for (unsigned n = 0; n < 2; n++) {
                const unsigned row = is_transposed ? 2 * (i % 4) + n : i / 4, column = is_transposed ? i / 4 : 2 * (i % 4) + n;
                const uint8_t *known = emu_defined_bytes(warp, (int)(8 * m + row), &r.place[8 * m + row]);
                memcpy(&half[n], r.place[8 * m + row].at + 2 * column, 2);
                if (known && (!known[2 * column] || !known[2 * column + 1]))
                    defined &= ~(1u << i);
            }
            d[i] = half[0] | (uint32_t)half[1] << 16;
        }
        emu_set_defined(warp, &inst->operand[m], defined, UINT32_MAX);
    }
}

static void stmatrix(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const unsigned matrices = matrices_of(inst);
    const bool is_transposed = inst->choice[1];
    emu_request r;

    (void)mask;
    if (inst->operands != matrices + 1) {
        emu_find(warp, inst, CUEMU_ILLEGAL, 0, 0, "stmatrix of %u matrices with %u inputs", matrices, inst->operands - 1u);
        return;
    }
    if (!resolve_rows(warp, inst, &inst->operand[0], matrices, &r, true))
        return;
    for (unsigned m = 0; m < matrices; m++) {
        const uint32_t *a = emu_lanes(warp, &inst->operand[1 + m]);
        const uint32_t known = emu_defined(warp, &inst->operand[1 + m]);
        for (unsigned i = 0; i < EMU_LANES; i++)
            for (unsigned n = 0; n < 2; n++) {
                const unsigned row = is_transposed ? 2 * (i % 4) + n : i / 4, column = is_transposed ? i / 4 : 2 * (i % 4) + n;
                const uint16_t half = (uint16_t)(a[i] >> 16 * n);
                uint8_t *defined = emu_defined_bytes(warp, (int)(8 * m + row), &r.place[8 * m + row]);
                memcpy(r.place[8 * m + row].at + 2 * column, &half, 2);
                if (defined)
                    memset(defined + 2 * column, known >> i & 1, 2);
            }
    }
}

const emu_form emu_matrix_forms[] = {
    {"ldmatrix.sync.aligned.m8n8{*.x1,.x2,.x4}{.trans}{.shared,.shared::cta}.b16", "=4w @", ldmatrix, NULL, F_WARP, D_OWN, 0, 0,
     75},
    {"ldmatrix.sync.aligned.m8n8{*.x1,.x2,.x4}{.trans}{.shared,.shared::cta}.b16", "=2w @", ldmatrix, NULL, F_WARP, D_OWN, 0, 0,
     75},
    {"ldmatrix.sync.aligned.m8n8{*.x1,.x2,.x4}{.trans}{.shared,.shared::cta}.b16", "=1w @", ldmatrix, NULL, F_WARP, D_OWN, 0, 0,
     75},
    {"stmatrix.sync.aligned.m8n8{*.x1,.x2,.x4}{.trans}{.shared,.shared::cta}.b16", "@ 4w", stmatrix, NULL, F_WARP, D_USE, 0, 0,
     90},
    {"stmatrix.sync.aligned.m8n8{*.x1,.x2,.x4}{.trans}{.shared,.shared::cta}.b16", "@ 2w", stmatrix, NULL, F_WARP, D_USE, 0, 0,
     90},
    {"stmatrix.sync.aligned.m8n8{*.x1,.x2,.x4}{.trans}{.shared,.shared::cta}.b16", "@ 1w", stmatrix, NULL, F_WARP, D_USE, 0, 0,
     90},
    {0},
};
