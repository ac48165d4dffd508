/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcgen05: D = A . B + D, with D in tensor memory, B in shared memory and A in either.
 *
 * One thread issues a product for its block, or for a pair of blocks: then each block has one half of the rows of A and D, and one
 * half of the columns of B. The layout of D in the tensor memory of each block:
 *
 *                                  row r of the block, column n of N
 *     128 rows                     lane r, column n
 *     64 rows, one block           lane 32 (r / 16) + r % 16, or 16 further, column n
 *     64 rows, a pair              lane r, or 64 + r for the upper half of the columns, column n % (N / 2)
 *
 * An f16 takes the lower half of a word. A lies there as D does, packed along the depth. Scales of blocks along the depth are bytes:
 * those of row (of A) or column (of B) i in lane i % 32 of each quarter, column i / 32.
 */
#include "tcgen05.h"

#include <math.h>
#include <stdlib.h>

#include "counters.h"
#include "descriptor.h"
#include "finding.h"
#include "product.h"
#include "request.h"

enum { SLICE = EMU_LINES /* rows and columns that are computed at once */, CHUNK = 16, MOST_ROWS = 128, STEP = 32 /* bytes */ };
enum { AS_SM120 = 120 /* the published model of these products is that of mma there */ };

typedef enum kind { KIND_F16 = 1, KIND_TF32, KIND_F8F6F4, KIND_I8, KIND_MXF8F6F4, KIND_MXF4, KIND_MXF4NVF4 } kind;

typedef struct statement {
    emu_issued by;
    int rows, n, k; /* rows: of each block */
    kind kind;
    emu_type a_type, b_type, sum;
    bool is_a_in_tensor, is_a_across, is_b_across, negates_a, negates_b, saturates, adds;
    uint64_t a, b;                           /* descriptors, or the address of A in tensor memory */
    uint32_t first, row_base;                /* D's first column, and 16 if 64 rows begin there */
    int halvings;                            /* D is divided by 2^halvings before it is added */
    uint32_t skipped[2][4];                  /* lanes of each block whose D stays */
    uint32_t scales_a, scales_b, id_a, id_b; /* first columns of the scales, and first bytes in each word */
    emu_type scale;
    int scale_count; /* of a row */
    struct rows *of_a;
} statement;

/* The rows of A in each block, and their scales. */
struct rows {
    uint64_t element[2][MOST_ROWS][EMU_DEPTH];
    uint8_t scale[2][MOST_ROWS][4];
};

/* ---- the instruction descriptor ---------------------------------------------------------------------------------------- */

/* Return the type of a factor; T_NONE: the kind has none with that number. */
static emu_type type_of(kind of, uint32_t number)
{
    static const uint8_t types[][8] = {
        [KIND_F16] = {T_F16, T_BF16},
        [KIND_TF32] = {T_NONE, T_NONE, T_TF32},
        [KIND_F8F6F4] = {T_E4M3, T_E5M2, T_NONE, T_E2M3, T_E3M2, T_E2M1},
        [KIND_I8] = {T_U8, T_S8},
        [KIND_MXF8F6F4] = {T_E4M3, T_E5M2, T_NONE, T_E2M3, T_E3M2, T_E2M1},
        [KIND_MXF4] = {T_NONE, T_E2M1},
        [KIND_MXF4NVF4] = {T_NONE, T_E2M1},
    };

    return (emu_type)types[of][number];
}

static uint32_t bits(uint32_t word, int first, int count)
{
    return word >> first & ((1u << count) - 1);
}

static int bits_of(emu_type type)
{
    return type == T_E2M1 ? 4 : type == T_E2M3 || type == T_E3M2 ? 6 : 8 * (int)emu_type_bytes(type);
}

/* Return the elements in 16 bytes of shared memory: 4 and 6-bit ones of the mixed kinds are padded to as many as bytes. */
static int elements_of(kind of, emu_type type)
{
    return of >= KIND_MXF4 ? 32 : bits_of(type) < 8 ? CHUNK : CHUNK * 8 / bits_of(type);
}

/* Read the fields that all kinds have. */
static bool read_common(statement *s, uint32_t word)
{
    const int m = (int)bits(word, 24, 5) * 16;

    s->n = (int)bits(word, 17, 6) * 8;
    s->rows = m / s->by.blocks;
    s->a_type = type_of(s->kind, bits(word, 7, 3));
    s->b_type = type_of(s->kind, bits(word, 10, 3));
    s->negates_a = bits(word, 13, 1);
    s->negates_b = bits(word, 14, 1);
    s->is_a_across = bits(word, 15, 1);
    s->is_b_across = bits(word, 16, 1);
    if (bits(word, 2, 1))
        return emu_misuse(&s->by, "a sparse product, which the emulator lacks");
    if (s->a_type == T_NONE || s->b_type == T_NONE)
        return emu_misuse(&s->by, "the instruction descriptor 0x%08x has types of A and B, %u and %u, that this kind lacks",
                          word, bits(word, 7, 3), bits(word, 10, 3));
    if (s->rows != 64 && s->rows != 128)
        return emu_misuse(&s->by, "the instruction descriptor 0x%08x has M = %d, where %d and %d are possible", word, m,
                          64 * s->by.blocks, 128 * s->by.blocks);
    if (s->n < 8 || s->n > 256 || (m > 64 && s->n % 16))
        return emu_misuse(&s->by,
                          "the instruction descriptor 0x%08x has N = %d with M = %d: N is from 8 to 256, a multiple of %d",
                          word, s->n, m, m > 64 ? 16 : 8);
    if ((s->is_a_across && bits_of(s->a_type) < 8) || (s->is_b_across && bits_of(s->b_type) < 8))
        return emu_misuse(&s->by, "the instruction descriptor 0x%08x transposes elements of less than 8 bits", word);
    s->k = s->kind >= KIND_MXF4 ? 64 : s->kind == KIND_F16 ? 16 : s->kind == KIND_TF32 ? 8 : 32;
    return true;
}

static bool read_descriptor(statement *s, uint32_t word)
{
    static const uint8_t sums[] = {T_F16, T_F32, T_S32, T_NONE};

    if (!read_common(s, word))
        return false;
    s->sum = (emu_type)sums[bits(word, 4, 2)];
    s->saturates = bits(word, 3, 1);
    if (s->kind == KIND_I8 ? s->sum != T_S32 || s->negates_a || s->negates_b : s->sum != T_F32 && s->sum != T_F16)
        return emu_misuse(&s->by, "the instruction descriptor 0x%08x has a type of D, %u, or negations that this kind lacks",
                          word, bits(word, 4, 2));
    if (s->sum == T_F16 && (s->kind == KIND_TF32 || s->a_type == T_BF16 || s->b_type == T_BF16))
        return emu_misuse(
            &s->by, "the instruction descriptor 0x%08x has D in f16, which only products of f16 and of 8 bits and less have",
            word);
    return true;
}

static bool read_scaled_descriptor(statement *s, uint32_t word)
{
    enum { ONE = 1, TWO, FOUR, BLOCK16, BLOCK32 };
    const int given = s->by.inst->choice[2];

    if (!read_common(s, word))
        return false;
    s->sum = T_F32;
    s->scale = bits(word, 23, 1) ? T_UE8M0 : T_UE4M3;
    s->id_a = bits(word, 29, 2);
    s->id_b = bits(word, 4, 2);
    s->scale_count = s->kind == KIND_MXF8F6F4 ? 1 : given == FOUR || given == BLOCK16 ? 4 : 2;
    if (bits(word, 31, 1))
        return emu_misuse(&s->by, "a product of depth 96, which the emulator lacks");
    if (s->scale == T_UE4M3 && s->kind != KIND_MXF4NVF4)
        return emu_misuse(&s->by, "the instruction descriptor 0x%08x has scales in ue4m3, which only kind::mxf4nvf4 has", word);
    if (s->id_a % (unsigned)s->scale_count || s->id_b % (unsigned)s->scale_count)
        return emu_misuse(
            &s->by, "the instruction descriptor 0x%08x has scales from bytes %u and %u on: %d scales begin at a multiple of %d",
            word, s->id_a, s->id_b, s->scale_count, s->scale_count);
    if (s->rows * s->by.blocks < 128)
        return emu_misuse(&s->by, "the instruction descriptor 0x%08x has M = %d, where scaled products have 128 or 256", word,
                          s->rows * s->by.blocks);
    return true;
}

/* ---- factors ----------------------------------------------------------------------------------------------------------- */

/* Unpack the elements of a chunk, along or across lines, to their line and place. */
static void spread(const uint8_t *chunk, int width, int count, bool is_across, uint64_t (*to)[EMU_DEPTH], int line, int place)
{
    for (int i = 0; i < count; i++) {
        const int at = i * width;
        uint64_t value = 0;
        memcpy(&value, chunk + at / 8, width > 16 ? 4 : at / 8 + 2 <= CHUNK ? 2 : 1);
        value = value >> at % 8 & ((UINT64_C(1) << width) - 1);
        to[is_across ? line + i : line][is_across ? place : place + i] = value;
    }
}

/* Fetch lines of a factor from the shared memory of a block. */
static bool fetch_lines(const statement *s, emu_block *block, uint64_t descriptor, bool is_across, emu_type type, int first,
                        int lines, uint64_t (*to)[EMU_DEPTH])
{
    const int count = elements_of(s->kind, type), width = bits_of(type);
    const int chunks = is_across ? (lines + count - 1) / count * s->k : lines * 2;

    for (int chunk = 0; chunk < chunks; chunk++) {
        const int line = is_across ? chunk / s->k * count : chunk / 2, place = is_across ? chunk % s->k : chunk % 2 * count;
        const int used = is_across && lines - line < count ? lines - line : count;
        const uint32_t offset = is_across ? emu_chunk_offset(descriptor, true, (first + line) / count, place)
                                          : emu_chunk_offset(descriptor, false, first + line, chunk % 2);
        const uint8_t *from = emu_read_chunk(&s->by, block, descriptor, offset, used * width / 8);
        if (!from)
            return false;
        spread(from, width, used, is_across, to, line, place);
    }
    return true;
}

static void negate(uint64_t (*lines)[EMU_DEPTH], int count, int k, int width)
{
    for (int line = 0; line < count; line++)
        for (int i = 0; i < k; i++)
            lines[line][i] ^= UINT64_C(1) << (width - 1);
}

/* Return the lane of a row in the tensor memory of its block. is_upper: for an upper half of the columns. */
static uint32_t lane_of(const statement *s, int row, bool is_upper)
{
    if (s->rows == 128)
        return (uint32_t)row;
    if (s->by.blocks == 2)
        return (uint32_t)row + (is_upper ? 64 : 0);
    return (uint32_t)(row / 16 * 32 + row % 16) + s->row_base;
}

static void find_unknown(statement *s, emu_tensor_memory *t, uint32_t column, uint32_t lane, const char *what)
{
    if (t->known[column][lane] || !(s->by.warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED))
        return;
    emu_find(s->by.warp, s->by.inst, CUEMU_UNINITIALISED, s->by.lane, column,
             "%s what was never written, in lane %u and column %u of tensor memory", what, lane, column);
    t->known[column][lane] = true; /* report once */
}

/* Check and record an access to a whole part of a block's columns. */
static void touch(statement *s, emu_tensor_memory *t, uint32_t first, uint32_t columns, emu_tensor_access access)
{
    for (uint32_t part = 0; part < EMU_TENSOR_LANES / EMU_PART; part++) {
        if (s->rows == 64 && s->by.blocks == 1 && part % 2 != s->row_base / EMU_PART)
            continue;
        for (uint32_t c = first; c < first + columns; c++)
            emu_tensor_touch(s->by.warp, s->by.inst, s->by.lane, t, c, part, access);
    }
}

/* Fetch A from the tensor memory of a block. */
static bool fetch_from_tensor(statement *s, const emu_block *block, uint64_t (*to)[EMU_DEPTH])
{
    const int width = bits_of(s->a_type), in_word = 32 / width;
    const uint32_t first = (uint32_t)s->a & 0xffff;
    emu_tensor_memory *t = emu_tensor_columns(s->by.warp, s->by.inst, s->by.lane, block, first, STEP / 4);

    if (!t)
        return false;
    if (width < 8)
        return emu_misuse(&s->by, "A with elements of less than 8 bits in tensor memory, which the emulator lacks");
    touch(s, t, first, STEP / 4, EMU_PRODUCT_READ);
    for (int row = 0; row < s->rows; row++)
        for (int k = 0; k < s->k; k++) {
            const uint32_t lane = lane_of(s, row, false), column = first + (uint32_t)(k / in_word);
            find_unknown(s, t, column, lane, "multiplies");
            to[row][k] = (uint64_t)t->value[column][lane] >> k % in_word * width & ((UINT64_C(1) << width) - 1);
        }
    return true;
}

static bool fetch_a(statement *s)
{
    for (int b = 0; b < s->by.blocks; b++) {
        if (s->is_a_in_tensor
                ? !fetch_from_tensor(s, s->by.block[b], s->of_a->element[b])
                : !fetch_lines(s, s->by.block[b], s->a, s->is_a_across, s->a_type, 0, s->rows, s->of_a->element[b]))
            return false;
        if (s->negates_a)
            negate(s->of_a->element[b], s->rows, s->k, bits_of(s->a_type));
    }
    return true;
}

/* ---- scales ------------------------------------------------------------------------------------------------------------ */

/* Read the scales of row or column i from some quarters, which must agree. */
static void read_scales(statement *s, emu_tensor_memory *t, uint32_t first, uint32_t i, uint32_t id, uint32_t quarters,
                        uint8_t to[4])
{
    const uint32_t column = first + i / EMU_QUARTER;
    const uint32_t mask = (s->scale_count == 4 ? UINT32_MAX : (1u << 8 * s->scale_count) - 1) << 8 * id;
    uint32_t word = 0;
    bool is_first = true;

    for (uint32_t q = 0; q < 4; q++) {
        const uint32_t lane = q * EMU_QUARTER + i % EMU_QUARTER;
        if (!(quarters >> q & 1))
            continue;
        find_unknown(s, t, column, lane, "scales by");
        if (!is_first && (t->value[column][lane] ^ word) & mask)
            emu_find(s->by.warp, s->by.inst, CUEMU_TENSOR_MEMORY, s->by.lane, column,
                     "the scales in column %u of tensor memory differ between lanes %u and %u: each quarter needs them", column,
                     i % EMU_QUARTER, lane);
        word = is_first ? t->value[column][lane] : word;
        is_first = false;
    }
    word >>= 8 * id;
    memcpy(to, &word, (size_t)s->scale_count);
}

static emu_tensor_memory *columns_of_scales(statement *s, const emu_block *block, uint32_t first, int lines)
{
    const uint32_t columns = (uint32_t)(lines + EMU_QUARTER - 1) / EMU_QUARTER;
    emu_tensor_memory *t = emu_tensor_columns(s->by.warp, s->by.inst, s->by.lane, block, first, columns);

    for (uint32_t part = 0; t && part < EMU_TENSOR_LANES / EMU_PART; part++)
        for (uint32_t c = first; c < first + columns; c++)
            emu_tensor_touch(s->by.warp, s->by.inst, s->by.lane, t, c, part, EMU_PRODUCT_READ);
    return t;
}

static bool fetch_scales_of_a(statement *s)
{
    for (int b = 0; b < s->by.blocks; b++) {
        emu_tensor_memory *t = columns_of_scales(s, s->by.block[b], s->scales_a, s->rows);
        for (int row = 0; t && row < s->rows; row++)
            read_scales(s, t, s->scales_a, (uint32_t)row, s->id_a, (s->rows == 64 ? 5u : 1u) << row / EMU_QUARTER,
                        s->of_a->scale[b][row]);
        if (!t)
            return false;
    }
    return true;
}

/* Fetch the scales of some columns of B as a block has them. With 64 rows, two quarters have those of each half. */
static bool fetch_scales_of_b(statement *s, const emu_block *block, int first, int columns, emu_scales *to)
{
    const int half = s->rows == 64 ? s->n / 2 : s->n;
    const uint32_t all = s->rows == 64 ? 3 : 15;
    emu_tensor_memory *t = emu_tensor_columns(s->by.warp, s->by.inst, s->by.lane, block, s->scales_b,
                                              (uint32_t)(half + EMU_QUARTER - 1) / EMU_QUARTER);

    for (int i = 0; t && i < columns; i++)
        read_scales(s, t, s->scales_b, (uint32_t)((first + i) % half), s->id_b, all << (first + i) / half * 2, to->b[i]);
    return t != NULL;
}

/* ---- products ---------------------------------------------------------------------------------------------------------- */

/* D's column of a product's column, in the tensor memory of each block. */
static uint32_t column_of(const statement *s, int n)
{
    return s->first + (uint32_t)(s->rows == 64 && s->by.blocks == 2 ? n % (s->n / 2) : n);
}

static bool is_in_upper_half(const statement *s, int n)
{
    return n >= s->n / 2;
}

static uint64_t halved(const statement *s, uint32_t word)
{
    if (!s->halvings)
        return word;
    if (s->sum == T_F16)
        return emu_narrow(ldexp(emu_widen(word, &emu_half), -s->halvings), &emu_half, ROUND_NEAREST, false);
    return emu_f32_bits(emu_canonical(ldexpf(emu_f32(word), -s->halvings)));
}

static void get_sums(statement *s, emu_tensor_memory *t, int row, int column, emu_product *p)
{
    const uint32_t mask = s->sum == T_F16 ? 0xffff : UINT32_MAX;

    for (int c = 0; c < p->n; c++)
        for (int r = 0; r < SLICE; r++) {
            const uint32_t lane = lane_of(s, row + r, is_in_upper_half(s, column + c)), at = column_of(s, column + c);
            if (s->adds)
                find_unknown(s, t, at, lane, "adds to");
            p->c[r][c] = s->adds ? halved(s, t->value[at][lane] & mask) : 0;
        }
}

static void put_sums(const statement *s, emu_tensor_memory *t, int b, int row, int column, const emu_product *p)
{
    for (int c = 0; c < p->n; c++)
        for (int r = 0; r < SLICE; r++) {
            const uint32_t lane = lane_of(s, row + r, is_in_upper_half(s, column + c)), at = column_of(s, column + c);
            if (s->skipped[b][lane / 32] >> lane % 32 & 1)
                continue;
            t->value[at][lane] = (uint32_t)p->d[r][c];
            t->known[at][lane] = true;
        }
}

/* Multiply all rows by some columns of B, which p has. */
static bool multiply_columns(statement *s, int column, emu_product *p)
{
    const bool is_scaled = s->kind >= KIND_MXF8F6F4;
    emu_scales scales = {.type = s->scale, .count = s->scale_count};

    for (int b = 0; b < s->by.blocks; b++) {
        emu_tensor_memory *t = s->by.block[b]->tensor;
        if (is_scaled && !fetch_scales_of_b(s, s->by.block[b], column, p->n, &scales))
            return false;
        for (int row = 0; row < s->rows; row += SLICE) {
            memcpy(p->a, s->of_a->element[b] + row, sizeof p->a);
            get_sums(s, t, row, column, p);
            if (is_scaled) {
                memcpy(scales.a, s->of_a->scale[b] + row, sizeof scales.a);
                emu_multiply_scaled(p, &scales);
            } else if (s->kind == KIND_I8) {
                emu_multiply_whole(p, s->saturates);
            } else {
                emu_multiply_float(p, AS_SM120, s->k, false);
            }
            put_sums(s, t, b, row, column, p);
        }
    }
    return true;
}

static bool multiply_all(statement *s)
{
    const int share = s->n / s->by.blocks; /* columns of B in each block */
    emu_product p = {.m = SLICE, .k = s->k, .a_type = s->a_type, .b_type = s->b_type, .sum_type = s->sum};

    for (int column = 0; column < s->n; column += p.n) {
        const int in_block = column % share, left = share - in_block;
        p.n = left < SLICE ? left : SLICE;
        if (!fetch_lines(s, s->by.block[column / share], s->b, s->is_b_across, s->b_type, in_block, p.n, p.b))
            return false;
        if (s->negates_b)
            negate(p.b, p.n, s->k, bits_of(s->b_type));
        if (!multiply_columns(s, column, &p))
            return false;
    }
    return true;
}

/* ---- issuing ----------------------------------------------------------------------------------------------------------- */

static bool check_d(statement *s, uint32_t address)
{
    const uint32_t lane = address >> 16, columns = (uint32_t)(s->rows == 64 && s->by.blocks == 2 ? s->n / 2 : s->n);

    s->first = address & 0xffff;
    s->row_base = lane;
    if (lane && !(lane == EMU_PART && s->rows == 64 && s->by.blocks == 1))
        return emu_misuse(&s->by, "D begins in lane %u of tensor memory, not in 0%s", lane,
                          s->rows == 64 && s->by.blocks == 1 ? " or 16" : "");
    for (int b = 0; b < s->by.blocks; b++) {
        emu_tensor_memory *t = emu_tensor_columns(s->by.warp, s->by.inst, s->by.lane, s->by.block[b], s->first, columns);
        if (!t)
            return false;
        touch(s, t, s->first, columns, EMU_PRODUCT_WRITE);
    }
    return true;
}

/* Read the operands after the instruction descriptor: lanes to skip, the predicate, the exponent of D's scale. */
static void read_rest(statement *s, const emu_operand *at, const emu_operand *end)
{
    for (int i = 0; at < end && at->bytes; i++)
        s->skipped[i / 4][i % 4] = (uint32_t)emu_unsigned(s->by.warp, at++, s->by.lane);
    s->adds = emu_predicate(s->by.warp, at++) >> s->by.lane & 1;
    if (at < end)
        s->halvings = (int)emu_unsigned(s->by.warp, at, s->by.lane);
}

static void issue(statement *s)
{
    enum { WITHOUT_BYTES = 103, WITHOUT_HALVING = 110 };
    emu_warp *const warp = s->by.warp;
    const emu_operand *const o = s->by.inst->operand, *const end = o + s->by.inst->operands;
    const bool is_scaled = s->kind >= KIND_MXF8F6F4;
    const uint32_t word = (uint32_t)emu_unsigned(warp, &o[3], s->by.lane);
    const int capability = warp->block->launch->device->capability;
    cuEmuCounters *line = emu_line(warp, s->by.inst);

    for (const emu_operand *one = o; one < end && warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED; one++)
        emu_check_defined(warp, s->by.inst, one, 1u << s->by.lane, "in a matrix product");
    s->is_a_in_tensor = o[1].bytes == 4;
    s->a = emu_address_of(warp, &o[1], s->by.lane);
    s->b = emu_unsigned(warp, &o[2], s->by.lane);
    if (is_scaled) {
        s->scales_a = (uint32_t)emu_address_of(warp, &o[4], s->by.lane);
        s->scales_b = (uint32_t)emu_address_of(warp, &o[5], s->by.lane);
        s->adds = emu_predicate(warp, &o[6]) >> s->by.lane & 1;
    } else {
        read_rest(s, o + 4, end);
    }
    if (s->kind == KIND_I8 && capability == WITHOUT_BYTES)
        (void)emu_misuse(&s->by, "is of kind::i8, which sm_%d lacks", capability);
    if (s->halvings && capability == WITHOUT_HALVING)
        (void)emu_misuse(&s->by, "scales D, which sm_%d cannot", capability);
    if (emu_has_failed(warp) || !(is_scaled ? read_scaled_descriptor(s, word) : read_descriptor(s, word)) ||
        !check_d(s, (uint32_t)emu_address_of(warp, &o[0], s->by.lane)))
        return;
    if (line)
        line->mma_flops += (uint64_t)(2 * s->rows * s->by.blocks * s->n * s->k);
    if (!fetch_a(s) || (is_scaled && !fetch_scales_of_a(s)))
        return;
    for (int b = 0; is_scaled && b < s->by.blocks; b++)
        if (!columns_of_scales(s, s->by.block[b], s->scales_b, s->rows == 64 ? s->n / 2 : s->n))
            return;
    (void)multiply_all(s);
}

static void multiply(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    struct rows *of_a = malloc(sizeof *of_a);

    EMU_EACH_LANE (i, mask) {
        statement s = {.kind = (kind)inst->choice[1], .of_a = of_a};
        if (emu_find_blocks(&s.by, warp, inst, i) && (of_a || emu_misuse(&s.by, "out of memory for a product")))
            issue(&s);
    }
    free(of_a);
}

#define HALVES "{*.kind::f16,.kind::tf32}"
#define FLOATS "{*.-,.-,.kind::f8f6f4}"
#define BYTES "{*.-,.-,.-,.kind::i8}"
#define SCALED "{*.-,.-,.-,.-,.kind::mxf8f6f4,.kind::mxf4,.kind::mxf4nvf4}.block_scale"
#define VECTORS "{*.scale_vec::1X,.scale_vec::2X,.scale_vec::4X}"
#define BLOCKS "{.-,.-,.-,.block16,.block32}"
#define COLLECTOR "{.collector::a::fill,.collector::a::use,.collector::a::lastuse,.collector::a::discard}"
#define MMA "tcgen05.mma" EMU_GROUPS
#define FORM(form, operands, target)                                     \
    {                                                                    \
        form COLLECTOR, operands, multiply, NULL, 0, D_OWN, 0, 0, target \
    }
/* A in shared and in tensor memory; and with lanes of D that stay, of one block and of two. */
#define EITHER(form, rest, target) FORM(form, "@ d d w " rest, target), FORM(form, "@ @ d w " rest, target)
#define ALL(form, rest, target) EITHER(form, rest, target), EITHER(form, "4w " rest, target), EITHER(form, "8w " rest, target)

const emu_form emu_tcgen05_forms[] = {
    ALL(MMA HALVES, "p N?", EMU_DATACENTER),
    ALL(MMA FLOATS, "p", EMU_DATACENTER),
    ALL(MMA BYTES, "p", EMU_DATACENTER + EMU_NOT_F),
    EITHER(MMA SCALED BLOCKS, "@ @ p", EMU_DATACENTER),
    EITHER(MMA SCALED VECTORS, "@ @ p", EMU_DATACENTER + EMU_NOT_F),
    {0},
};
