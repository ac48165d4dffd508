/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draw: a random product with all that a problem can say, run with a config and compared with the float64 reference.
 *
 * P starts as NaN, so an element that is not written fails, and workspace, so a sum that is read too early; guards around and
 * padding inside every matrix must not change. On the emulator its checks must be silent, and each element of P be written once.
 */
#ifndef TJ_DRAW_H
#define TJ_DRAW_H

#include "gpu_test.h"
#include "scales.h"
#include "workbench.h"

#include <math.h>
#include <stdint.h>

enum { GUARD_BYTES = 4096 };

static uint64_t random_state;
static int with_groups;             /* 1: what is drawn has groups of rows */
static const tj_emulator *emulator; /* NULL: a GPU */

static uint64_t next(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int64_t pick(const int64_t *values, size_t count)
{
    return values[next() % count];
}

#define PICK(...) pick((const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

typedef struct request {
    tj_problem known, asked; /* asked: the kernel's; what it leaves open, the launch says from known */
    tj_config config;
    char label[TJ_CONFIG_TEXT_BYTES + 448];
} request;

/* ---- drawing ------------------------------------------------------------------------------------------------------ */

/* Leave gaps between the matrices of a batch, for some. */
static void draw_gaps(tj_problem *p)
{
    const tj_problem tight = tj_problem_canonical(p);

    if (tight.m.stride > 0 && next() % 4 == 0)
        p->m.stride = tight.m.stride + PICK(1, 3, 8);
    if (tight.n.stride > 0 && next() % 4 == 0)
        p->n.stride = tight.n.stride + PICK(1, 3, 8);
    if (tight.p.stride > 0 && next() % 4 == 0)
        p->p.stride = tight.p.stride + PICK(1, 3, 8);
    if (tight.c.stride > 0 && next() % 4 == 0)
        p->c.stride = tight.c.stride + PICK(1, 3, 8);
}

/* How products are multiplied: the type of M and how it is summed. N has the same type, or now and then that of mate. */
typedef enum way {
    BY_F32,
    BY_F64,
    BY_F16,
    BY_BF16,
    BY_TF32,
    BY_E4M3,
    BY_E5M2,
    BY_S8,
    BY_U8,
    BY_FP8,
    BY_SPLIT,
    BY_BF16_S8,
    BY_U8_F16,
    BY_BF16_S4,
    BY_F16_E2M1,
    BY_BF16_U4,
    BY_BF16_E4M3,
    BY_F16_E5M2,
    BY_E4M3_E2M1,
    BY_E4M3_S4,
    BY_BF16_F32,
    BY_F32_BF16,
    BY_F16_F32,
    BY_C64,
    BY_C128,
    BY_C64_TF32,
    BY_C64_SPLIT,
    BY_MXFP8, /* from here on: formats with scales, by their names, which are drawn only where they are asked for */
    BY_MXFP4,
    BY_NVFP4,
    WAYS
} way;

static const struct {
    const char *name;
    int32_t type, mate, compute, sum;
} ways[WAYS] = {
    {"f32", TJ_F32, 0, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"f64", TJ_F64, 0, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F64},
    {"f16", TJ_F16, 0, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"bf16", TJ_BF16, 0, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"tf32", TJ_F32, 0, TJ_COMPUTE_TF32, TJ_COMPUTE_TF32},
    {"e4m3", TJ_E4M3, TJ_E5M2, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"e5m2", TJ_E5M2, TJ_E4M3, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"s8", TJ_S8, TJ_U8, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_S32},
    {"u8", TJ_U8, TJ_S8, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_S32},
    {"f32_fp8", TJ_E4M3, TJ_E5M2, TJ_COMPUTE_F32_FP8, TJ_COMPUTE_F32_FP8},
    {"f32_split", TJ_F32, 0, TJ_COMPUTE_F32_SPLIT, TJ_COMPUTE_F32_SPLIT},
    {"bf16_s8", TJ_BF16, TJ_S8, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32}, /* weights: N is of mate always */
    {"u8_f16", TJ_U8, TJ_F16, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"bf16_s4", TJ_BF16, TJ_S4, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"f16_e2m1", TJ_F16, TJ_E2M1, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"bf16_u4", TJ_BF16, TJ_U4, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"bf16_e4m3", TJ_BF16, TJ_E4M3, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"f16_e5m2", TJ_F16, TJ_E5M2, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"e4m3_e2m1", TJ_E4M3, TJ_E2M1, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"e4m3_s4", TJ_E4M3, TJ_S4, TJ_COMPUTE_F32_FP8, TJ_COMPUTE_F32_FP8},
    {"bf16_f32", TJ_BF16, TJ_F32, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"f32_bf16", TJ_F32, TJ_BF16, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"f16_f32", TJ_F16, TJ_F32, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"c64", TJ_C64, 0, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"c128", TJ_C128, 0, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F64},
    {"c64_tf32", TJ_C64, 0, TJ_COMPUTE_TF32, TJ_COMPUTE_TF32},
    {"c64_split", TJ_C64, 0, TJ_COMPUTE_F32_SPLIT, TJ_COMPUTE_F32_SPLIT},
    {"mxfp8", TJ_E4M3, TJ_E5M2, TJ_COMPUTE_F32_FP8, TJ_COMPUTE_F32_FP8},
    {"mxfp4_w4a4", TJ_E2M1, TJ_E2M1, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
    {"nvfp4_w4a4", TJ_E2M1, TJ_E2M1, TJ_COMPUTE_DEFAULT, TJ_COMPUTE_F32},
};

static int is_complex(const tj_problem *p)
{
    return tj_type_get_facts((tj_type)p->m.type)->part != TJ_TYPE_DEFAULT;
}

static void set_way(tj_problem *p, int w)
{
    p->m.type = ways[w].type;
    if (w >= BY_BF16_S8)
        p->n.type = ways[w].mate;
    p->compute = ways[w].compute;
    if (w >= BY_MXFP8)
        expect(tj_problem_set(p, "format", ways[w].name, NULL) == TJ_OK, "there is no format %s", ways[w].name);
}

/* Has a matrix fewer bits than the other? A type that is left to its default is the other's. */
static int has_fewer_bits(const tj_problem *p, tj_which which)
{
    const tj_type_facts *const its = tj_type_get_facts((tj_type)tj_problem_matrix(p, which)->type);
    const tj_type_facts *const others = tj_type_get_facts((tj_type)tj_problem_matrix(p, (tj_which)(1 - which))->type);

    return its && others && its->bytes * others->numbers < others->bytes * its->numbers;
}

/* Draw the types of N and P, and the epilogue. */
static void draw_types(tj_problem *p, int w)
{
    set_way(p, w);
    if (next() % 3 == 0)
        p->n.type = ways[w].mate;
    if (is_complex(p)) {
        p->m.conjugated = next() % 2;
        p->n.conjugated = next() % 2;
    } else if (next() % 3 == 0) {
        do
            p->p.type = 1 + (int32_t)(next() % (uint64_t)tj_type_count());
        while (!(tj_compute_get_facts((tj_compute)ways[w].sum)->products >> p->p.type & 1));
    }
    p->epilogue.has_alpha = next() % 3 == 0;
    p->epilogue.has_beta = next() % 3 == 0;
    if (w != BY_F64 && !is_complex(p) && next() % 4 == 0) {
        p->scale[TJ_MATRIX_M] = nth_scale(PICK(0, 1, 2));
        p->scale[TJ_MATRIX_N] = nth_scale(PICK(0, 1, 2));
    }
    for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS; which++)
        if (has_fewer_bits(p, which) && next() % 2 == 0) /* of weights */
            p->scale[which] = (tj_scale)SCALE_ALONG_K((int32_t)PICK(1, 7, 16, 32, 64, 128));
}

/* Draw groups in place of a batch: M, P and C are one matrix each, and N has one matrix per group. */
static void draw_groups(tj_problem *p)
{
    const int has_pairs = p->m.type == TJ_S4 || p->n.type == TJ_S4,
              has_parts = p->scale[TJ_MATRIX_M].k > 0 || p->scale[TJ_MATRIX_N].k > 0;

    p->rows = (tj_rows){TJ_ROWS_IN_GROUPS, 0, 0, 0, (int32_t)PICK(1, 2, 3, 5, 8, 33, 70), (int8_t)PICK(0, 4, 8), next() % 2, 0};
    if (next() % 3 == 0) { /* masked, each with room for as many rows */
        p->rows.kind = TJ_ROWS_MASKED;
        p->rows.expected = next() % 20;
        p->j.extent = (p->j.extent + p->rows.groups - 1) / p->rows.groups * p->rows.groups;
    }
    p->rows.gathered = next() % 4 == 0;
    p->rows.scattered = next() % 4 == 0 && !p->epilogue.has_beta;
    p->batch = 0;
    p->m.stride = p->p.stride = p->c.stride = TJ_TIGHT;
    if (next() % 6 == 0 && !has_pairs && !has_parts) {
        p->rows = (tj_rows){TJ_ROWS_ALONG_K, 0, 0, 0, p->rows.groups, p->rows.offset_bytes, p->rows.on_host, 0};
        p->n.stride = TJ_TIGHT;
        return;
    }
    p->n.stride = next() % 4 == 0 ? PICK(TJ_POINTERS, TJ_POINTERS_16, TJ_BROADCAST) : TJ_TIGHT;
    if (p->n.stride == TJ_TIGHT)
        draw_gaps(p);
}

/* Draw the rest of a problem with extents: types, storage of the matrices, the epilogue; the batch unless it is set. */
static void draw_storage(tj_problem *p, int w)
{
    const int m_rows = with_groups || next() % 2, n_rows = next() % 2, p_rows = with_groups || next() % 2;

    draw_types(p, w);
    p->m.transposed = next() % 4 == 0;
    p->n.transposed = next() % 4 == 0;
    p->m.layout = m_rows != p->m.transposed ? TJ_ROW_MAJOR : TJ_COL_MAJOR;
    p->n.layout = n_rows != p->n.transposed ? TJ_ROW_MAJOR : TJ_COL_MAJOR;
    p->p.layout = p_rows ? TJ_ROW_MAJOR : TJ_COL_MAJOR;
    if (next() % 3 == 0)
        p->m.ld = (m_rows ? p->k.extent : p->j.extent) + PICK(1, 3, 8);
    if (next() % 3 == 0)
        p->n.ld = (n_rows ? p->l.extent : p->k.extent) + PICK(1, 3, 8);
    if (next() % 3 == 0)
        p->p.ld = (p_rows ? p->l.extent : p->j.extent) + PICK(1, 3, 8);
    if (p->epilogue.has_beta && next() % 3 == 0)
        p->c.ld = (p_rows ? p->l.extent : p->j.extent) + PICK(1, 3, 8);
    if (p->batch == 0 && next() % 4 == 0)
        p->batch = PICK(2, 3, 7);
    if (p->batch > 1) {
        if (next() % 4 == 0)
            p->m.stride = TJ_BROADCAST;
        if (next() % 4 == 0)
            p->n.stride = TJ_BROADCAST;
        draw_gaps(p);
    }
    if (next() % 4 == 0) { /* of one product too */
        p->batch = p->batch == 0 && next() % 2 ? PICK(2, 3, 7) : p->batch;
        p->m.stride = next() % 2 ? p->m.stride : PICK(TJ_POINTERS, TJ_POINTERS_16);
        p->n.stride = next() % 2 ? p->n.stride : PICK(TJ_POINTERS, TJ_POINTERS_16);
        p->p.stride = next() % 2 ? p->p.stride : PICK(TJ_POINTERS, TJ_POINTERS_16);
        p->c.stride = next() % 2 ? p->c.stride : PICK(TJ_POINTERS, TJ_POINTERS_16);
    }
    if (with_groups)
        draw_groups(p);
}

/* With these extents, one that family strip takes, as few of all are: a short side, and operands along k without gaps. */
__attribute__((unused)) static void draw_strip(tj_problem *p, int w)
{
    const int is_flat = next() % 2;

    *p = (tj_problem)TJ_PROBLEM_INIT(p->j.extent, (p->k.extent + 7) / 8 * 8, p->l.extent, TJ_F32);
    if (is_flat)
        p->j.extent = 1 + p->j.extent % 16;
    else
        p->l.extent = 1 + p->l.extent % 16;
    draw_storage(p, w);
    p->m.transposed = p->n.transposed = 0;
    p->m.layout = p->n.layout = is_flat ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    p->m.ld = p->n.ld = TJ_TIGHT;
    p->m.stride = p->m.stride == TJ_POINTERS ? TJ_POINTERS_16 : p->m.stride;
    p->n.stride = p->n.stride == TJ_POINTERS ? TJ_POINTERS_16 : p->n.stride;
}

static void leave_open(tj_dim *dim, int64_t tile)
{
    dim->mode = TJ_DIM_ANY;
    if (dim->extent % tile == 0 && next() % 2)
        dim->multiple_of = (int32_t)tile;
}

static int is_served(const request *r)
{
    tj_config resolved = r->config;

    return tj_problem_check(&r->asked, NULL) == TJ_OK && tj_config_resolve(&r->asked, &resolved, NULL) == TJ_OK;
}

/* Draw scales of any kind for M or N, which may be weights. */
static tj_scale draw_scale(const tj_problem *p, tj_which which)
{
    const int32_t type = tj_problem_matrix(p, which)->type;
    const int may_have_zero = type == TJ_S8 || type == TJ_U8 || type == TJ_S4 || type == TJ_U4;
    tj_scale scale = {(int8_t)PICK(TJ_F32, TJ_F32, TJ_F16, TJ_BF16, TJ_E8M0, TJ_E4M3),
                      (int8_t)PICK(TJ_SCALES_PART_BY_PART, TJ_SCALES_ROW_BY_ROW, TJ_SCALES_IN_TILES),
                      0,
                      next() % 4 == 0,
                      (int32_t)PICK(0, 1, 1, 1, 2, 5, 16, 128),
                      (int32_t)PICK(0, 1, 7, 16, 32, 32, 128)};

    if (next() % 3 == 0) /* of the whole sum, which more families take */
        return (tj_scale){scale.type, .whole = scale.whole, .rows = (int32_t)PICK(0, 1, 1)};
    if (scale.layout == TJ_SCALES_IN_TILES) {
        scale.type = (int8_t)PICK(TJ_E8M0, TJ_E4M3);
        scale.rows = 1;
        scale.k = (int32_t)PICK(16, 32);
    } else if (scale.k == 0) {
        scale.layout = TJ_SCALES_PART_BY_PART;
    }
    if (may_have_zero && scale.layout != TJ_SCALES_IN_TILES && next() % 2)
        scale.zero = (int8_t)PICK(TJ_U4, TJ_U8, TJ_S8, scale.type == TJ_E8M0 ? TJ_U8 : scale.type);
    return scale;
}

enum { SCALES_TRIED = 12 }; /* a family with tensor cores takes few of them */

/* Give some problems scales of any kind, if the family takes some. All else is drawn as if this were not here. */
static void draw_scales(request *r)
{
    const request before = *r;
    const uint64_t state = random_state;
    int tries = next() % 2 == 0 ? SCALES_TRIED : 0, is_taken = 0;

    while (!is_taken && tries-- > 0) {
        *r = before;
        for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS; which++)
            if (tries % 2 == 0 || !has_fewer_bits(&r->known, (tj_which)(1 - which))) /* of weights alone, too */
                r->known.scale[which] = draw_scale(&r->known, which);
        if (r->known.scale[TJ_MATRIX_M].k > 0 && r->known.scale[TJ_MATRIX_N].k > 0 && next() % 2)
            r->known.scale[TJ_MATRIX_N].k = r->known.scale[TJ_MATRIX_M].k;
        memcpy(r->asked.scale, r->known.scale, sizeof r->asked.scale);
        is_taken = is_served(r);
    }
    if (!is_taken)
        *r = before;
    random_state = state;
}

/* Repack the weights of some problems, if all else allows it. All else is drawn as if this were not here. */
static void draw_order(request *r)
{
    const request before = *r;
    const uint64_t state = random_state;
    tj_problem *const p = &r->known;
    tj_matrix *const weights = has_fewer_bits(p, TJ_MATRIX_M) ? &p->m : has_fewer_bits(p, TJ_MATRIX_N) ? &p->n : NULL;

    if (weights && tj_type_get_facts((tj_type)weights->type)->numbers == 2 && next() % 2) {
        weights->order = TJ_ORDER_REPACKED;
        p->k.extent = (p->k.extent + TJ_REPACKED_BLOCK - 1) / TJ_REPACKED_BLOCK * TJ_REPACKED_BLOCK;
        if (weights->stride > 0) /* that of the shorter k: repacked items must not overlap */
            weights->stride = TJ_TIGHT;
        r->asked = *p;
        if (!is_served(r))
            *r = before;
    }
    random_state = state;
}

/* Quantise the P of some problems, if all else allows it. All else is drawn as if this were not here. */
static void draw_quantized(request *r)
{
    const request before = *r;
    const uint64_t state = random_state;
    tj_problem *const p = &r->known;

    if (next() % 4 == 0) {
        p->scale[TJ_MATRIX_P] =
            (tj_scale){.type = (int8_t)PICK(TJ_F32, TJ_E8M0),
                       .layout = (int8_t)PICK(TJ_SCALES_PART_BY_PART, TJ_SCALES_ROW_BY_ROW, TJ_SCALES_IN_TILES),
                       .rows = 1,
                       .k = (int32_t)PICK(0, 32, 32, 64, 128)};
        if (p->scale[TJ_MATRIX_P].layout == TJ_SCALES_IN_TILES)
            p->scale[TJ_MATRIX_P].type = TJ_E8M0, p->scale[TJ_MATRIX_P].k = 32;
        else if (p->scale[TJ_MATRIX_P].k == 0)
            p->scale[TJ_MATRIX_P].layout = TJ_SCALES_PART_BY_PART;
        p->p = (tj_matrix){.type = (int32_t)PICK(TJ_E4M3, TJ_E5M2, TJ_S8, TJ_E2M1),
                           .ld = next() % 3 ? TJ_TIGHT : p->l.extent + PICK(1, 3, 16)};
        p->c = (tj_matrix){0};
        p->epilogue.has_beta = 0;
        r->asked = *p;
        if (!is_served(r))
            *r = before;
    }
    random_state = state;
}

/* Let rows of P add up rows of the product in some problems, if all else allows it. All else is drawn as if this were not here. */
static void draw_combined(request *r)
{
    const request before = *r;
    const uint64_t state = random_state;

    if (next() % 3 == 0) {
        r->known.rows.scattered = 0;
        r->known.rows.combined = (int8_t)PICK(1, 2, 2, 3, 8, 32);
        r->asked = r->known;
        if (!is_served(r))
            *r = before;
    }
    random_state = state;
}

/* Compute one triangle of some problems, in square tiles, if all else allows it. All else is drawn as if this were not here. */
static void draw_symmetric(request *r)
{
    const request before = *r;
    const uint64_t state = random_state;
    tj_problem *const p = &r->known;
    char side[16];

    if (next() % 4 == 1) { /* not those that draw_quantized has taken by the same number */
        p->symmetric = (int8_t)PICK(TJ_SYMMETRIC_BOTH, TJ_SYMMETRIC_LOWER, TJ_SYMMETRIC_UPPER);
        if (is_complex(p) && (p->m.conjugated != p->n.conjugated || next() % 2))
            p->symmetric += TJ_HERMITIAN_BOTH - TJ_SYMMETRIC_BOTH;
        p->j.extent = p->l.extent = p->j.extent < p->l.extent ? p->j.extent : p->l.extent;
        r->asked = *p;
        snprintf(side, sizeof side, "%d", (int)tj_config_get(&r->config, "bm"));
        if (!is_served(r)) /* tiles of two squares are */
            (void)(*side != '0' && tj_config_set(&r->config, "bn", side, NULL));
        if (!is_served(r))
            *r = before;
    }
    random_state = state;
}

/*
 * Draw the properties that the problem leaves to the launch, for half of all: extents, leading dimensions, strides, the batch.
 */
static void draw_open(request *r, const int64_t tile[3])
{
    tj_problem *const p = &r->asked;
    tj_dim *const dim[] = {&p->j, &p->k, &p->l};
    int64_t *const number[] = {&p->m.ld, &p->n.ld, &p->p.ld, &p->c.ld, &p->m.stride, &p->n.stride, &p->p.stride, &p->c.stride};

    r->asked = r->known;
    draw_scales(r);
    draw_order(r);
    draw_quantized(r);
    draw_combined(r);
    draw_symmetric(r);
    if (next() % 2)
        return;
    for (size_t i = 0; i < 3; i++)
        if (next() % 3 == 0)
            leave_open(dim[i], tile[i]);
    if (p->symmetric) /* j and l are open together */
        p->l = p->j;
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        if (next() % 6 == 0 && !tj_stride_is_pointers(*number[i]))
            *number[i] = TJ_ANY;
    if (next() % 3 == 0 && p->rows.groups == 0)
        p->batch = TJ_ANY;
    if (!is_served(r)) /* some configs are made for extents */
        p->j = r->known.j, p->k = r->known.k, p->l = r->known.l;
    if (!is_served(r))
        r->asked = r->known;
}

/* Add scales that have no number, and repacked weights, to the label. */
static void describe_scales(request *r)
{
    char text[TJ_PROBLEM_FIELD_BYTES];

    static const char *const names[] = {"scale-m", "scale-n", "scale-p"};

    for (tj_which which = TJ_MATRIX_M; which < TJ_SCALED; which++) {
        tj_problem_get(&r->known, names[which], text);
        if (strchr(text, ':') || (which == TJ_MATRIX_P && *text))
            snprintf(r->label + strlen(r->label), sizeof r->label - strlen(r->label), " %c %.60s", "MNP"[which], text);
        if (tj_problem_matrix(&r->known, which)->order == TJ_ORDER_REPACKED)
            snprintf(r->label + strlen(r->label), sizeof r->label - strlen(r->label), " %c repacked", "MNP"[which]);
        if (tj_problem_matrix(&r->known, which)->conjugated)
            snprintf(r->label + strlen(r->label), sizeof r->label - strlen(r->label), " %c conjugated", "MNP"[which]);
    }
}

static void describe(request *r, const char *number)
{
    const tj_problem *p = &r->asked, *k = &r->known;
    char text[TJ_CONFIG_TEXT_BYTES];

    tj_config_print(&r->config, text);
    snprintf(r->label, sizeof r->label,
             "%s: %lldx%lldx%lldx%lld dtype %d n %d p %d compute %d layouts %d%d%d transposes %d%d any %d%d%d%d ld %lld %lld "
             "%lld %lld strides %lld "
             "%lld %lld %lld scales %d%d of %d alpha %d beta %d groups %lld of %d %s%s%s, %s",
             number, (long long)k->j.extent, (long long)k->k.extent, (long long)k->l.extent, (long long)k->batch, p->m.type,
             p->n.type, p->p.type, p->compute, p->m.layout, p->n.layout, p->p.layout, p->m.transposed, p->n.transposed,
             p->j.mode, p->k.mode, p->l.mode, p->batch == TJ_ANY, (long long)p->m.ld, (long long)p->n.ld, (long long)p->p.ld,
             (long long)p->c.ld, (long long)p->m.stride, (long long)p->n.stride, (long long)p->p.stride, (long long)p->c.stride,
             scale_form(&p->scale[TJ_MATRIX_M]), scale_form(&p->scale[TJ_MATRIX_N]),
             p->scale[TJ_MATRIX_M].k + p->scale[TJ_MATRIX_N].k, p->epilogue.has_alpha, p->epilogue.has_beta,
             (long long)p->rows.groups, p->rows.offset_bytes,
             p->rows.kind == TJ_ROWS_MASKED    ? "masked"
             : p->rows.kind == TJ_ROWS_ALONG_K ? "along k"
             : p->rows.on_host                 ? "on the host"
                                               : "on the device",
             p->rows.gathered ? " gathered" : "", p->rows.scattered ? " scattered" : "", text);
    describe_scales(r);
    if (k->symmetric)
        snprintf(r->label + strlen(r->label), sizeof r->label - strlen(r->label), " symmetric %d", k->symmetric);
    if (k->rows.combined)
        snprintf(r->label + strlen(r->label), sizeof r->label - strlen(r->label), " combine %d", k->rows.combined);
}

/* ---- operands ----------------------------------------------------------------------------------------------------- */

/* A host array for a matrix as it lies: whole numbers, any, or all NaN. */
enum { NUMBERS, WHOLE_NUMBERS, NOT_A_NUMBER };

static void *draw_matrix(const tj_problem *lies, tj_which which, int kind)
{
    const int complex = is_complex(lies);
    const tj_type of_matrix = (tj_type)tj_problem_matrix(lies, which)->type,
                  type = complex ? (tj_type)tj_type_get_facts(of_matrix)->part : of_matrix;
    const size_t count = (size_t)tj_problem_span(lies, which) * (complex ? 2 : 1), bytes = count * tj_type_bytes(type);
    void *matrix = malloc(bytes + 1);

    memset(matrix, 0xff, bytes); /* NaN in every type */
    if (kind != NOT_A_NUMBER) {
        double *values = malloc((count + 1) * sizeof *values);

        tj_fill_random(TJ_F64, values, count, next());
        for (size_t i = 0; kind == WHOLE_NUMBERS && i < count; i++)
            values[i] = rint(values[i] * 3);
        tj_convert(type, matrix, TJ_F64, values, count);
        free(values);
    }
    return matrix;
}

/*
 * Draw the starts of groups: any places, so that some are empty, and some rows at both ends may belong to none; or the counts
 * of masked ones. NULL: no groups.
 */
static void *draw_offsets(const tj_problem *known)
{
    const tj_problem c = tj_problem_canonical(known);
    const int64_t all = c.rows.kind == TJ_ROWS_ALONG_K ? c.k.extent : c.j.extent;
    const int64_t first = next() % 4 ? 0 : (int64_t)(next() % (uint64_t)(all + 1));
    const int64_t last = next() % 4 ? all : first + (int64_t)(next() % (uint64_t)(all - first + 1));
    int64_t *const at = calloc((size_t)c.rows.groups + 1, sizeof *at);

    if (c.rows.groups == 0) {
        free(at);
        return NULL;
    }
    for (int64_t i = 0; i < c.rows.groups && c.rows.kind == TJ_ROWS_MASKED; i++)
        at[i] = (int64_t)(next() % (uint64_t)(c.j.extent / c.rows.groups + 1));
    for (int64_t i = 0; i <= c.rows.groups && c.rows.kind != TJ_ROWS_MASKED; i++) {
        int64_t place = i == c.rows.groups ? last : first + (int64_t)(next() % (uint64_t)(last - first + 1));
        int64_t k = i;

        for (; k > 0 && at[k - 1] > place; k--)
            at[k] = at[k - 1];
        at[k] = i == 0 ? first : place;
    }
    for (int64_t i = 0; i <= c.rows.groups && c.rows.offset_bytes == 4; i++)
        ((int32_t *)(void *)at)[i] = (int32_t)at[i];
    return at;
}

/* Return the storage of the matrices. Without a promise about pointers, they begin at any element. */
static tj_problem stored(const tj_problem *known)
{
    const tj_problem c = tj_problem_canonical(known);
    tj_problem s = tj_problem_strided(known), tight = *known;
    const int64_t gap = PICK(1, 2, 3, 5);

    tight.m.stride = tight.n.stride = tight.p.stride = tight.c.stride = TJ_TIGHT;
    tight = tj_problem_canonical(&tight);
    if (s.batch == 1)
        return s;
    s.m.stride = c.m.stride == TJ_POINTERS ? tight.m.stride + gap : s.m.stride;
    s.n.stride = c.n.stride == TJ_POINTERS ? tight.n.stride + gap : s.n.stride;
    s.p.stride = c.p.stride == TJ_POINTERS ? tight.p.stride + gap : s.p.stride;
    s.c.stride = c.c.stride == TJ_POINTERS ? tight.c.stride + gap : s.c.stride;
    return s;
}

/* ---- checks ------------------------------------------------------------------------------------------------------- */

/*
 * Watch that each element of P is written exactly once; 0 if there is no emulator, or nothing to write. Of a symmetric P one
 * triangle is, or the diagonal twice.
 */
static int watch_p(const tj_workbench *bench)
{
    const tj_problem *c = tj_workbench_problem(bench);
    const uint64_t size = tj_type_bytes((tj_type)c->p.type);
    const int64_t each =
        c->rows.combined > 0 ? c->rows.combined : 1; /* rows of the product in one of P, which is row-major then */
    const int64_t lines = c->p.layout == TJ_ROW_MAJOR ? (c->j.extent + each - 1) / each : c->l.extent;
    const int64_t width =
        (c->p.layout == TJ_ROW_MAJOR ? c->l.extent : c->j.extent) / tj_type_get_facts((tj_type)c->p.type)->numbers;
    const int is_even = c->rows.groups > 0 ? 0 : c->batch == 1 || c->p.stride == c->p.ld * lines;

    if (!emulator || !is_even || c->symmetric)
        return 0;
    return emulator->watch((uint64_t)(uintptr_t)tj_workbench_address(bench, 0, TJ_MATRIX_P), (uint64_t)(lines * c->batch),
                           (uint64_t)width * size, (uint64_t)c->p.ld * size);
}

/* Expect no finding of the emulator's checks since the last request. */
static void expect_no_finding(const char *label)
{
    cuEmuFinding found;

    if (!emulator)
        return;
    if (emulator->get_finding(0, &found))
        expect(0, "%s: %s, CUDA line %u", label, found.text, found.cuda_line);
    else
        gpu_passed++;
    emulator->clear();
}

/* May C be P itself: both arrays of pointers, or neither, and one as the other? */
static int may_be_in_place(const request *r, const tj_problem *lies)
{
    return r->known.epilogue.has_beta && lies->c.ld == lies->p.ld && lies->c.stride == lies->p.stride &&
           r->asked.c.ld != TJ_ANY && r->asked.p.ld != TJ_ANY && r->asked.c.stride == r->asked.p.stride;
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

static uint64_t digest(const void *bytes, size_t count)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/*
 * in_place: C is P itself. is_whole: of whole numbers, whose product must be exact. digests: where to write a digest of P, so that two
 * devices can be compared byte by byte; or NULL.
 */
static void launch_and_check(tj_context *context, const request *r, const tj_plan *plan, tj_workbench *bench, int in_place,
                             int is_whole, void *p, FILE *digests)
{
    const tj_type p_type = (tj_type)tj_workbench_problem(bench)->p.type;
    const char *const label = r->label;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_error err = {TJ_OK, ""};
    char damage[160];
    tj_operands x;

    if (!expect(tj_workbench_fit(bench, tj_plan_workspace_bytes(plan), &err) == TJ_OK, "%s: %s", label, err.message))
        return;
    x = *tj_workbench_operands(bench);
    if (in_place)
        x.c.address = NULL;
    if (!expect(tj_plan_launch(plan, &x, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK &&
                    tj_workbench_read(bench, 0, p, &err) == TJ_OK &&
                    tj_workbench_check(bench, p, 0, 0, &report, &err) == TJ_OK &&
                    tj_workbench_find_damage(bench, 0, p, damage, &err) == TJ_OK,
                "%s: %s", label, err.message))
        return;
    /* A product may well be zero everywhere, by alpha or by whole numbers: then the norm says nothing, and exactness does. */
    expect(report.passed || (report.norm == 0 && report.max_error == 0), "%s: %s; ratio %g at [%lld][%lld][%lld]: %g, not %g",
           label, report.reason, report.max_ratio, (long long)report.worst_batch, (long long)report.worst_row,
           (long long)report.worst_col, report.worst_value, report.worst_reference);
    if (is_whole && !tj_workbench_problem(bench)->rows.combined &&
        (p_type == TJ_F32 || p_type == TJ_F64 || p_type == TJ_C64 || p_type == TJ_C128) && !x.scale[TJ_MATRIX_M].address &&
        !x.scale[TJ_MATRIX_N].address)
        expect(report.max_error == 0, "%s: whole numbers came out wrong by %g", label, report.max_error);
    expect(!*damage, "%s: %s", label, damage);
    if (digests)
        fprintf(digests, "%016llx %s\n", (unsigned long long)digest(p, tj_workbench_bytes(bench, TJ_MATRIX_P)), label);
}

/* is_whole: of whole numbers. 0: the compiler spilled registers or serialised products, and the library refused to launch it. */
static int run_request(tj_context *context, const request *r, int is_whole, FILE *digests)
{
    const tj_problem lies = stored(&r->known);
    const int reads_c = r->known.epilogue.has_beta && next() % 3 != 0, in_place = may_be_in_place(r, &lies) && next() % 2;
    const int kind = is_whole ? WHOLE_NUMBERS : NUMBERS;
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_workbench *bench = NULL;
    void *host[TJ_MATRICES], *offsets;
    tj_error err = {TJ_OK, ""};
    const tj_plan *plan;

    const tj_status status = tj_plan_prepare(context, &r->asked, &r->config, &plan, &err);
    if (status == TJ_ERR_SPILLS)
        return !expect(strstr(err.message, " is not launched: ") && strstr(err.message, ": use "), "%s: no remedy in: %s",
                       r->label, err.message);
    if (!expect(status == TJ_OK, "%s: %s", r->label, err.message))
        return 1;
    offsets = draw_offsets(&r->known);
    host[TJ_MATRIX_M] = draw_matrix(&lies, TJ_MATRIX_M, kind);
    host[TJ_MATRIX_N] = draw_matrix(&lies, TJ_MATRIX_N, kind);
    host[TJ_MATRIX_P] = draw_matrix(&lies, TJ_MATRIX_P, reads_c && in_place ? kind : NOT_A_NUMBER);
    /* In place, the C of the reference is what P was. */
    host[TJ_MATRIX_C] = in_place && reads_c ? NULL : draw_matrix(&lies, TJ_MATRIX_C, reads_c ? kind : NOT_A_NUMBER);
    for (int i = 0; i < TJ_MATRICES; i++)
        options.host[i] = host[i];
    options.host[TJ_MATRIX_C] = in_place ? host[TJ_MATRIX_P] : host[TJ_MATRIX_C];
    options.lies = &lies;
    options.offsets = offsets;
    options.guard_bytes = GUARD_BYTES;
    options.alpha = r->known.epilogue.has_alpha ? (double)PICK(1, 0, -2, 3) : 1.0;
    options.beta = reads_c ? (double)PICK(1, -1, 2) : 0.0; /* 0: C holds NaN and must not be read */
    if (is_complex(&r->known) && r->known.symmetric < TJ_HERMITIAN_BOTH) {
        options.alpha_im = r->known.epilogue.has_alpha ? (double)PICK(0, 1, -2) : 0.0;
        options.beta_im = reads_c ? (double)PICK(0, 1, -3) : 0.0;
    }
    if (expect(tj_workbench_create(context, &r->known, &options, &bench, &err) == TJ_OK, "%s: %s", r->label, err.message)) {
        const int watch = watch_p(bench);
        void *p = malloc(tj_workbench_bytes(bench, TJ_MATRIX_P) + 1);

        launch_and_check(context, r, plan, bench, in_place, is_whole, p, digests);
        if (watch)
            (void)emulator->unwatch(watch);
        expect_no_finding(r->label);
        free(p);
    }
    tj_workbench_free(bench);
    for (int i = 0; i < TJ_MATRICES; i++)
        free(host[i]);
    free(offsets);
    return 1;
}

#endif
