/* SPDX-License-Identifier: Apache-2.0 */
/* wgmma: D = A . B + D of a warpgroup, with B, and possibly A, in shared memory. */
#include "counters.h"
#include "descriptor.h"
#include "finding.h"
#include "fragment.h"
#include "request.h"
#include "sums.h"
#include "warpgroup.h"

enum { ROWS = 16 /* of each warp */, SLICE = EMU_LINES /* columns that are computed at once */ };

/* An instruction's operands after D. */
typedef struct statement {
    const emu_operand *a, *b, *scale;
    bool a_is_in_registers, a_is_across, b_is_across, negates_a, negates_b, ignores_c;
    int m, n, k;
    emu_type sum, a_type, b_type;
} statement;

static bool is_negative(const emu_warp *warp, const emu_operand *number)
{
    return (int32_t)emu_unsigned(warp, number, 0) < 0;
}

static statement read_statement(const emu_warp *warp, const emu_inst *inst)
{
    const emu_operand *const behind = inst->operand + inst->outputs, *const end = inst->operand + inst->operands;
    const bool in_registers = behind->bytes == 4;
    const emu_operand *const b = behind + (in_registers ? 4 : 1), *more = b + 2;
    statement s = {.a = behind, .b = b, .scale = b + 1, .a_is_in_registers = in_registers};

    s.m = inst->shape[0];
    s.n = inst->shape[1];
    s.k = inst->type[1] == T_B1 ? inst->shape[2] / 32 : inst->shape[2];
    s.sum = (emu_type)inst->type[0];
    s.a_type = (emu_type)inst->type[1];
    s.b_type = (emu_type)inst->type[2];
    s.ignores_c = !(emu_predicate(warp, s.scale) & 1);
    if (more < end) {
        s.negates_a = is_negative(warp, &more[0]);
        s.negates_b = is_negative(warp, &more[1]);
        more += 2;
    }
    if (more < end && !in_registers)
        s.a_is_across = emu_unsigned(warp, more++, 0) & 1;
    if (more < end)
        s.b_is_across = emu_unsigned(warp, more, 0) & 1;
    return s;
}

/* Read a register that must be equal in all threads of the group. */
static bool is_uniform(emu_warp *first, const emu_inst *inst, const emu_operand *operand, const char *what)
{
    for (int w = 0; w < EMU_GROUP; w++)
        for (int lane = 0; lane < EMU_LANES; lane++) {
            const bool differs = operand->bytes
                                     ? emu_unsigned(&first[w], operand, lane) != emu_unsigned(first, operand, 0)
                                     : (emu_predicate(&first[w], operand) >> lane ^ emu_predicate(first, operand)) & 1;
            if (differs) {
                emu_find(&first[w], inst, CUEMU_ILLEGAL, lane, 0, "%s is another than that of the warpgroup's first thread",
                         what);
                return false;
            }
        }
    return true;
}

/* ---- factors in shared memory ------------------------------------------------------------------------------------------ */

static int bytes_of(emu_type type)
{
    return type == T_B1 ? 4 : (int)emu_type_bytes(type);
}

/* Unpack the elements of a chunk, along or across lines, to their line and place. */
static void spread(const uint8_t *chunk, int bytes, bool is_across, uint64_t (*to)[EMU_DEPTH], int line, int place)
{
    for (int i = 0; i < 16 / bytes; i++) {
        uint64_t bits = 0;
        memcpy(&bits, chunk + i * bytes, (size_t)bytes);
        to[is_across ? line + i : line][is_across ? place : place + i] = bits;
    }
}

/* Fetch some lines of a factor, starting with `first`. */
static bool fetch_lines(emu_warp *reader, const emu_inst *inst, uint64_t descriptor, bool is_across, int bytes, int first,
                        int lines, uint64_t (*to)[EMU_DEPTH])
{
    const int chunks = lines * 2;
    emu_request r;

    for (int done = 0; done < chunks; done += EMU_LANES) {
        const int left = chunks - done, count = left < EMU_LANES ? left : EMU_LANES;
        uint64_t address[EMU_LANES];
        for (int i = 0; i < count; i++) {
            const int chunk = done + i;
            address[i] = is_across ? emu_chunk_offset(descriptor, true, first / 8 + chunk / 16, chunk % 16)
                                   : emu_chunk_offset(descriptor, false, first + chunk / 2, chunk % 2);
        }
        if (!emu_resolve_at(reader, inst, S_SHARED, count == 32 ? UINT32_MAX : (1u << count) - 1, address, 16, &r))
            return false;
        for (int i = 0; i < count; i++) {
            const int chunk = done + i;
            const uint8_t *known = emu_defined_bytes(reader, 0, &r.place[i]);
            emu_product_reads(reader, inst, reader->block, (uint32_t)address[i], emu_swizzle_of(descriptor),
                              reader->number / EMU_GROUP);
            if (known && memchr(known, 0, 16)) {
                emu_find(reader, inst, CUEMU_UNINITIALISED, 0, address[i],
                         "multiplies what was never written, of the 16 bytes at shared offset 0x%llx",
                         (unsigned long long)address[i]);
                memset(emu_defined_bytes(reader, 0, &r.place[i]), 1, 16); /* report once */
            }
            if (is_across)
                spread(r.place[i].at, bytes, true, to, chunk / 16 * 8, chunk % 16);
            else
                spread(r.place[i].at, bytes, false, to, chunk / 2, chunk % 2 * (16 / bytes));
        }
    }
    return true;
}

static void negate(uint64_t (*lines)[EMU_DEPTH], int count, int k, int bytes)
{
    for (int line = 0; line < count; line++)
        for (int i = 0; i < k; i++)
            lines[line][i] ^= UINT64_C(1) << (8 * bytes - 1);
}

/* ---- products ---------------------------------------------------------------------------------------------------------- */

static bool check_inputs(emu_warp *first, const emu_inst *inst, const statement *s)
{
    if (!is_uniform(first, inst, s->scale, "the predicate of scale-d") ||
        !is_uniform(first, inst, s->b, "the descriptor of B") ||
        (!s->a_is_in_registers && !is_uniform(first, inst, s->a, "the descriptor of A")))
        return false;
    for (int w = 0; w < EMU_GROUP; w++) {
        if (first->block->launch->checks & CUEMU_CHECK_UNINITIALISED) {
            for (unsigned i = s->ignores_c ? inst->outputs : 0; i < inst->operands; i++)
                emu_check_defined(&first[w], inst, &inst->operand[i], UINT32_MAX, "in a matrix product");
        }
        for (unsigned i = 0; i < inst->outputs; i++)
            emu_set_defined(&first[w], &inst->operand[i], UINT32_MAX, UINT32_MAX);
    }
    return true;
}

static void multiply(emu_warp *first, const emu_inst *inst, uint32_t mask)
{
    const statement s = read_statement(first, inst);
    const int a_bytes = bytes_of(s.a_type), b_bytes = bytes_of(s.b_type);
    const int sum_bits = s.sum == T_F16 ? 16 : 32, in_slice = SLICE / (s.sum == T_F16 ? 4 : 2); /* registers */
    const emu_factor in_registers = {ROWS, s.k, 8 * a_bytes, true};
    cuEmuCounters *line = emu_line(first, inst);
    emu_product p;

    (void)mask;
    if (!check_inputs(first, inst, &s))
        return;
    if (line)
        line->mma_flops += (uint64_t)(2 * s.m * s.n * inst->shape[2]);
    for (int w = 0; w < EMU_GROUP && first->sums; w++)
        emu_sums_issue(&first[w], inst);
    for (int w = 0; w < EMU_GROUP; w++)
        if (s.a_is_in_registers)
            emu_fetch_factor(&first[w], s.a, &in_registers, p.a + w * ROWS);
        else if (!fetch_lines(&first[w], inst, emu_unsigned(first, s.a, 0), s.a_is_across, a_bytes, w * ROWS, ROWS,
                              p.a + w * ROWS))
            return;
    if (s.negates_a)
        negate(p.a, s.m, s.k, a_bytes);
    p.m = s.m;
    p.k = s.k;
    p.a_type = s.a_type;
    p.b_type = s.b_type;
    p.sum_type = s.sum;
    for (int column = 0; column < s.n; column += SLICE) {
        const emu_operand *const d = inst->operand + column / SLICE * in_slice;
        emu_sum sums;
        p.n = s.n - column < SLICE ? s.n - column : SLICE;
        sums = (emu_sum){ROWS, p.n, sum_bits, false};
        if (!fetch_lines(first, inst, emu_unsigned(first, s.b, 0), s.b_is_across, b_bytes, column, p.n, p.b))
            return;
        if (s.negates_b)
            negate(p.b, p.n, s.k, b_bytes);
        for (int w = 0; w < EMU_GROUP; w++)
            emu_fetch_sum(&first[w], d, &sums, p.c + w * ROWS);
        if (s.ignores_c)
            for (int r = 0; r < p.m; r++)
                memset(p.c[r], 0, (size_t)p.n * sizeof p.c[r][0]);
        if (s.a_type == T_B1)
            emu_multiply_bits(&p, false);
        else if (!emu_type_is_float(s.a_type))
            emu_multiply_whole(&p, inst->choice[1]);
        else
            emu_multiply_float(&p, first->block->launch->device->capability, s.k, true);
        for (int w = 0; w < EMU_GROUP; w++)
            emu_put_sum(&first[w], d, &sums, p.d + w * ROWS);
    }
}

/* ---- waiting ----------------------------------------------------------------------------------------------------------- */

static void fence(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)inst, (void)mask;
    if (warp->sums)
        warp->sums->fences++;
}

static void commit_group(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)inst, (void)mask;
    if (warp->sums)
        emu_sums_commit(warp);
}

static void wait_group(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    (void)mask;
    if (warp->sums)
        emu_sums_wait(warp, (uint32_t)emu_unsigned(warp, &inst->operand[0], 0));
}

#define SIXTEENS(k)                                                                                                         \
    ".m64n8k" k ",.m64n16k" k ",.m64n24k" k ",.m64n32k" k ",.m64n48k" k ",.m64n64k" k ",.m64n80k" k ",.m64n96k" k           \
    ",.m64n112k" k ",.m64n128k" k ",.m64n144k" k ",.m64n160k" k ",.m64n176k" k ",.m64n192k" k ",.m64n208k" k ",.m64n224k" k \
    ",.m64n240k" k ",.m64n256k" k
#define ALL(k)                                                                                                                \
    "{*" SIXTEENS(k) ",.m64n40k" k ",.m64n56k" k ",.m64n72k" k ",.m64n88k" k ",.m64n104k" k ",.m64n120k" k ",.m64n136k" k     \
                     ",.m64n152k" k ",.m64n168k" k ",.m64n184k" k ",.m64n200k" k ",.m64n216k" k ",.m64n232k" k ",.m64n248k" k \
                     "}"
#define WHOLE(k) "{*" SIXTEENS(k) "}"
#define WGMMA "wgmma.mma_async.sync.aligned"
#define FP8 "{*.e4m3,.e5m2}{*.e4m3,.e5m2}"
#define HOPPER (EMU_ONLY + 90)

const emu_form emu_wgmma_forms[] = {
    {WGMMA ALL("16") "{*.f32.f16.f16,.f32.bf16.bf16,.f16.f16.f16}", "=#w d d p N N N N", multiply, NULL, F_WARPGROUP, D_OWN, 0,
     0, HOPPER},
    {WGMMA ALL("16") "{*.f32.f16.f16,.f32.bf16.bf16,.f16.f16.f16}", "=#w 4w d p N N N", multiply, NULL, F_WARPGROUP, D_OWN, 0,
     0, HOPPER},
    {WGMMA ALL("8") ".f32.tf32.tf32", "=#w d d p N N", multiply, NULL, F_WARPGROUP, D_OWN, 0, 0, HOPPER},
    {WGMMA ALL("8") ".f32.tf32.tf32", "=#w 4w d p N N", multiply, NULL, F_WARPGROUP, D_OWN, 0, 0, HOPPER},
    {WGMMA ALL("32") "{*.f32,.f16}" FP8, "=#w d d p N N", multiply, NULL, F_WARPGROUP, D_OWN, 0, 0, HOPPER},
    {WGMMA ALL("32") "{*.f32,.f16}" FP8, "=#w 4w d p N N", multiply, NULL, F_WARPGROUP, D_OWN, 0, 0, HOPPER},
    {WGMMA WHOLE("32") "{.satfinite}.s32{*.s8,.u8}{*.s8,.u8}", "=#w d d p", multiply, NULL, F_WARPGROUP, D_OWN, 0, 0, HOPPER},
    {WGMMA WHOLE("32") "{.satfinite}.s32{*.s8,.u8}{*.s8,.u8}", "=#w 4w d p", multiply, NULL, F_WARPGROUP, D_OWN, 0, 0, HOPPER},
    {WGMMA WHOLE("256") ".s32.b1.b1.and.popc", "=#w d d p", multiply, NULL, F_WARPGROUP, D_OWN, 0, 0, HOPPER},
    {WGMMA WHOLE("256") ".s32.b1.b1.and.popc", "=#w 4w d p", multiply, NULL, F_WARPGROUP, D_OWN, 0, 0, HOPPER},
    {"wgmma.fence.sync.aligned", "", fence, NULL, F_WARP, D_USE, 0, 0, HOPPER},
    {"wgmma.commit_group.sync.aligned", "", commit_group, NULL, F_WARP, D_USE, 0, 0, HOPPER},
    {"wgmma.wait_group.sync.aligned", "N", wait_group, NULL, F_WARP, D_USE, 0, 0, HOPPER},
    {0},
};
