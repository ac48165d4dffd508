/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: nightly (all 32 stretches of operands take minutes) */
/* tier: change; run: emulator/mma_part 8; sanitizers: only */
/*
 * mma: the instructions of a whole warp (mma.sync, wmma, ldmatrix, stmatrix, movmatrix, cp.async), as recorder.h says.
 *
 * A block is one warp with one set of matrices. A product is computed twice, the second time with the negated first result as C, so
 * that nearly all cancels.
 *
 * It knows nothing of how lanes hold a matrix or how a device adds: what is right is what the recording device did, bit by bit.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <string.h>

#include "recorder.h"

enum { LANES = 32 };

struct product {
    const char *shape, *types; /* d.a.b.c */
    unsigned sm;
    unsigned a, b, c, d; /* registers */
    enum fill of_a, of_c;
    bool has_twice; /* C and D have one type, and floating point */
    const char *negate;
    const char *version, *layouts; /* NULL: 8.0, row.col */
    enum fill of_b;                /* if of_a is E4M3 or E5M2 */
};

static void add_product(const struct product *p, const char *modifier)
{
    const bool is_wide = p->of_a == F64, is_fp8 = p->of_a == E4M3 || p->of_a == E5M2;
    const char *layouts = p->layouts ? p->layouts : "row.col", *separator = p->layouts ? "." : "";
    const unsigned words = is_wide ? 2 : 1, inputs = p->a + p->b + p->c;
    const char *reg = is_wide ? "f" : "i";
    struct operation *op;
    char name[64];
    size_t length;
    FILE *out;

    snprintf(name, sizeof name, "mma.%s%s%s%s.%s", p->shape, separator, p->layouts ? layouts : "", modifier, p->types);
    op = new_operation(name, p->sm, p->version ? p->version : "8.0");
    add_inputs(op, p->a * words, p->of_a);
    add_inputs(op, p->b * words, is_fp8 ? p->of_b : p->of_a);
    op->first_c = op->inputs;
    add_inputs(op, p->c * words, p->of_c);
    op->outputs = p->d * words * (p->has_twice ? 2 : 1);
    out = open_body(op, &length);
    if (is_wide) {
        fprintf(out, "    .reg .b64 %%f<%u>, %%r<%u>;\n", inputs, p->d * 2);
        for (unsigned i = 0; i < inputs; i++)
            fprintf(out, "    mov.b64 %%f%u, {%%i%u, %%i%u};\n", i, 2 * i, 2 * i + 1);
    }
    for (unsigned time = 0; time < (p->has_twice ? 2 : 1); time++) {
        if (time)
            for (unsigned i = 0; i < p->c; i++)
                fprintf(out, "    %s %%%s%u, %%%s%u, %s;\n", is_wide ? "xor.b64" : "xor.b32", reg, p->a + p->b + i,
                        is_wide ? "r" : "o", i, p->negate);
        fprintf(out, "    mma.sync.aligned.%s.%s%s.%s ", p->shape, layouts, modifier, p->types);
        write_list(out, is_wide ? "r" : "o", time * p->d, p->d);
        fputs(", ", out);
        write_list(out, reg, 0, p->a);
        fputs(", ", out);
        write_list(out, reg, p->a, p->b);
        fputs(", ", out);
        write_list(out, reg, p->a + p->b, p->c);
        fputs(";\n", out);
    }
    for (unsigned i = 0; is_wide && i < op->outputs / 2; i++)
        fprintf(out, "    mov.b64 {%%o%u, %%o%u}, %%r%u;\n", 2 * i, 2 * i + 1, i);
    fclose(out);
}

static const char single[] = "0x80000000", half[] = "0x80008000", wide[] = "0x8000000000000000";

/* e4m3 and e5m2, sums in f32 and f16. */
static void add_fp8_products(void)
{
    static const char *const names[] = {"e4m3", "e5m2"};

    for (unsigned i = 0; i < 16; i++) {
        const bool is_half = i & 1, is_long = i & 2;
        const unsigned b = i >> 2 & 1, a = i >> 3, sums = is_half ? 2 : 4;
        char types[32];
        struct product p = {is_long ? "m16n8k32" : "m16n8k16",
                            types,
                            89,
                            is_long ? 4 : 2,
                            is_long ? 2 : 1,
                            sums,
                            sums,
                            a ? E5M2 : E4M3,
                            is_half ? F16_PAIR : F32,
                            true,
                            is_half ? half : single,
                            "8.7",
                            NULL,
                            b ? E5M2 : E4M3};
        snprintf(types, sizeof types, "%s.%s.%s.%s", is_half ? "f16" : "f32", names[a], names[b], is_half ? "f16" : "f32");
        add_product(&p, "");
    }
}

/* Whole numbers of 8 and 4 bits, and single bits. */
static void add_whole_products(void)
{
    static const struct {
        const char *shape;
        unsigned bits, sm, a, b, c;
    } whole[] = {{"m8n8k16", 8, 75, 1, 1, 2},  {"m16n8k16", 8, 80, 2, 1, 4},  {"m16n8k32", 8, 80, 4, 2, 4},
                 {"m8n8k32", 4, 75, 1, 1, 2},  {"m16n8k32", 4, 80, 2, 1, 4},  {"m16n8k64", 4, 80, 4, 2, 4},
                 {"m8n8k128", 1, 75, 1, 1, 2}, {"m16n8k128", 1, 80, 2, 1, 4}, {"m16n8k256", 1, 80, 4, 2, 4}};
    static const char *const types[][4] = {
        {"s32.b1.b1.s32"},
        {"s32.s4.s4.s32", "s32.s4.u4.s32", "s32.u4.s4.s32", "s32.u4.u4.s32"},
        {"s32.s8.s8.s32", "s32.s8.u8.s32", "s32.u8.s8.s32", "s32.u8.u8.s32"},
    };

    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        const bool is_bits = whole[i].bits == 1;
        for (size_t t = 0; t < (is_bits ? 1 : 4); t++) {
            const struct product p = {
                whole[i].shape, types[whole[i].bits / 4][t], whole[i].sm, whole[i].a, whole[i].b, whole[i].c,
                whole[i].c,     is_bits ? RAW : BYTES,       WHOLE};
            struct product later = p;
            later.sm = is_bits ? 80 : p.sm;
            add_product(&p, is_bits ? ".xor.popc" : "");
            add_product(&later, is_bits ? ".and.popc" : ".satfinite");
        }
    }
}

/* The oldest shape: a product for each quarter of a warp, with every layout. */
static void add_quarter_products(void)
{
    static const char *const layouts[] = {"row.col", "row.row", "col.row", "col.col"};

    for (size_t i = 0; i < 4; i++) {
        const struct product products[] = {
            {"m8n8k4", "f32.f16.f16.f32", 75, 2, 2, 8, 8, F16_PAIR, F32, true, single, "8.0", layouts[i], F16_PAIR},
            {"m8n8k4", "f32.f16.f16.f16", 75, 2, 2, 4, 8, F16_PAIR, F16_PAIR, false, half, "8.0", layouts[i], F16_PAIR},
            {"m8n8k4", "f16.f16.f16.f16", 75, 2, 2, 4, 4, F16_PAIR, F16_PAIR, true, half, "8.0", layouts[i], F16_PAIR},
        };
        for (size_t k = 0; k < 3; k++)
            add_product(&products[k], "");
    }
}

static void add_products(void)
{
    static const struct product products[] = {
        {"m16n8k16", "f32.f16.f16.f32", 80, 4, 2, 4, 4, F16_PAIR, F32, true, single},
        {"m16n8k16", "f32.bf16.bf16.f32", 80, 4, 2, 4, 4, BF16_PAIR, F32, true, single},
        {"m16n8k16", "f16.f16.f16.f16", 80, 4, 2, 2, 2, F16_PAIR, F16_PAIR, true, half},
        {"m16n8k8", "f32.f16.f16.f32", 75, 2, 1, 4, 4, F16_PAIR, F32, true, single},
        {"m16n8k8", "f32.bf16.bf16.f32", 80, 2, 1, 4, 4, BF16_PAIR, F32, true, single},
        {"m16n8k8", "f16.f16.f16.f16", 75, 2, 1, 2, 2, F16_PAIR, F16_PAIR, true, half},
        {"m16n8k8", "f32.tf32.tf32.f32", 80, 4, 2, 4, 4, TF32, F32, true, single},
        {"m16n8k4", "f32.tf32.tf32.f32", 80, 2, 1, 4, 4, TF32, F32, true, single},
        {"m8n8k4", "f64.f64.f64.f64", 80, 1, 1, 2, 2, F64, F64, true, wide},
        {"m16n8k4", "f64.f64.f64.f64", 90, 2, 1, 4, 4, F64, F64, true, wide},
        {"m16n8k8", "f64.f64.f64.f64", 90, 4, 2, 4, 4, F64, F64, true, wide},
        {"m16n8k16", "f64.f64.f64.f64", 90, 8, 4, 4, 4, F64, F64, false, wide},
    };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        add_product(&products[i], "");
    add_whole_products();
    add_fp8_products();
    add_quarter_products();
}

/* A lane's slot of the shared array is %slot, 64 bytes; rows of matrices are 16 bytes from %tile on. */
#define STORE_AND_PICK                                                                          \
    "    shl.b32 %%word, %%lane, 4;\n    add.u32 %%word, %%word, %%tile;\n"                     \
    "    st.shared.v4.b32 [%%word], {%%i0, %%i1, %%i2, %%i3};\n    bar.warp.sync 0xffffffff;\n" \
    "    and.b32 %%word, %%i4, 31;\n    shl.b32 %%word, %%word, 4;\n    add.u32 %%word, %%word, %%tile;\n"

static void add_matrix_moves(void)
{
    static const struct {
        const char *name, *statement;
    } addresses[] = {
        {"cta", "ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%o0, %o1, %o2, %o3}, [%word];"},
        {"displaced", "and.b32 %word, %i4, 15; shl.b32 %word, %word, 4; add.u32 %word, %word, %tile;"
                      " ldmatrix.sync.aligned.x4.m8n8.trans.shared.b16 {%o0, %o1, %o2, %o3}, [%word+16];"},
        {"wide", "cvt.u64.u32 %wide, %word; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%o0, %o1, %o2, %o3}, [%wide];"},
        {"generic", "cvt.u64.u32 %wide, %word; cvta.shared.u64 %wide, %wide;"
                    " ldmatrix.sync.aligned.m8n8.x4.b16 {%o0, %o1, %o2, %o3}, [%wide];"},
        {"constant", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%o0, %o1, %o2, %o3}, [memory+64];"},
    };
    struct operation *op;
    size_t length;
    char name[64];
    FILE *out;

    op = new_operation("movmatrix.trans", 75, "7.8");
    add_inputs(op, 1, RAW);
    op->outputs = 1;
    out = open_body(op, &length);
    fputs("    movmatrix.sync.aligned.m8n8.trans.b16 %o0, %i0;\n", out);
    fclose(out);
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        snprintf(name, sizeof name, "ldmatrix.x4.%s", addresses[i].name);
        op = new_operation(name, 75, "8.0");
        add_inputs(op, 5, RAW);
        op->outputs = 4;
        out = open_body(op, &length);
        fprintf(out, STORE_AND_PICK "    %s\n", addresses[i].statement);
        fclose(out);
    }
    for (unsigned count = 1; count <= 4; count *= 2)
        for (int is_transposed = 0; is_transposed < 2; is_transposed++) {
            const char *trans = is_transposed ? ".trans" : "";
            snprintf(name, sizeof name, "ldmatrix.x%u%s", count, trans);
            op = new_operation(name, 75, "7.0");
            add_inputs(op, 5, RAW);
            op->outputs = count;
            out = open_body(op, &length);
            fprintf(out, STORE_AND_PICK "    ldmatrix.sync.aligned.m8n8.x%u%s.shared.b16 ", count, trans); /* of random rows */
            write_list(out, "o", 0, count);
            fputs(", [%word];\n", out);
            fclose(out);
            snprintf(name, sizeof name, "stmatrix.x%u%s", count, trans);
            op = new_operation(name, 90, "7.8");
            add_inputs(op, 5, RAW);
            op->outputs = 4;
            out = open_body(op, &length);
            fputs("    shl.b32 %word, %lane, 4;\n    add.u32 %word, %word, %tile;\n"
                  "    st.shared.v4.b32 [%word], {%i4, %i4, %i4, %i4};\n    bar.warp.sync 0xffffffff;\n"
                  "    mad.lo.u32 %word, %lane, 13, 7;\n    and.b32 %word, %word, 31;\n    shl.b32 %word, %word, 4;\n"
                  "    add.u32 %word, %word, %tile;\n",
                  out);
            fprintf(out, "    stmatrix.sync.aligned.m8n8.x%u%s.shared.b16 [%%word], ", count, trans);
            write_list(out, "i", 0, count);
            fputs(";\n    bar.warp.sync 0xffffffff;\n    shl.b32 %word, %lane, 4;\n    add.u32 %word, %word, %tile;\n"
                  "    ld.shared.v4.b32 {%o0, %o1, %o2, %o3}, [%word];\n",
                  out);
            fclose(out);
        }
}

/* ---- wmma ---- */

/* One matrix of a wmma product: what a lane holds of it in registers, and how it lies in shared memory. */
struct part {
    const char *type;
    unsigned rows, columns, bits; /* of an element */
    unsigned registers, width;    /* of 32 or 64 bits; words in a register */
    enum fill fill;
};

struct wmma {
    const char *shape, *type; /* of A and B */
    unsigned m, n, k, bits, sm;
    unsigned a, b; /* registers */
    enum fill fill;
};

static const struct wmma wmmas[] = {
    {"m16n16k16", "f16", 16, 16, 16, 16, 75, 8, 8, F16_PAIR}, {"m8n32k16", "f16", 8, 32, 16, 16, 75, 8, 8, F16_PAIR},
    {"m32n8k16", "f16", 32, 8, 16, 16, 75, 8, 8, F16_PAIR},   {"m16n16k16", "bf16", 16, 16, 16, 16, 80, 4, 4, BF16_PAIR},
    {"m8n32k16", "bf16", 8, 32, 16, 16, 80, 2, 8, BF16_PAIR}, {"m32n8k16", "bf16", 32, 8, 16, 16, 80, 8, 2, BF16_PAIR},
    {"m16n16k8", "tf32", 16, 16, 8, 32, 80, 4, 4, TF32},      {"m16n16k16", "s8", 16, 16, 16, 8, 75, 2, 2, BYTES},
    {"m8n32k16", "s8", 8, 32, 16, 8, 75, 1, 4, BYTES},        {"m32n8k16", "s8", 32, 8, 16, 8, 75, 4, 1, BYTES},
    {"m16n16k16", "u8", 16, 16, 16, 8, 75, 2, 2, BYTES},      {"m8n32k16", "u8", 8, 32, 16, 8, 75, 1, 4, BYTES},
    {"m32n8k16", "u8", 32, 8, 16, 8, 75, 4, 1, BYTES},        {"m8n8k4", "f64", 8, 8, 4, 64, 80, 1, 1, F64},
    {"m8n8k32", "s4", 8, 8, 32, 4, 75, 1, 1, BYTES},          {"m8n8k32", "u4", 8, 8, 32, 4, 75, 1, 1, BYTES},
    {"m8n8k128", "b1", 8, 8, 128, 1, 75, 1, 1, RAW},
};

/* which: a, b, c or d; type of c or d: NULL for the one that goes with the factors. */
static struct part part_of(const struct wmma *w, char which, const char *type)
{
    struct part part = {w->type, w->m, w->k, w->bits, w->a, w->bits == 64 ? 2 : 1, w->fill};

    if (which == 'b') {
        part.rows = w->k;
        part.columns = w->n;
        part.registers = w->b;
    } else if (which != 'a') {
        part.columns = w->n;
        part.type = type ? type : w->bits == 64 ? "f64" : w->fill == BYTES || w->fill == RAW ? "s32" : "f32";
        part.bits = strcmp(part.type, "f16") == 0 ? 16 : w->bits == 64 ? 64 : 32;
        part.registers = w->m * w->n * part.bits / 32 / LANES / part.width;
        part.fill = part.bits == 16 ? F16_PAIR : part.bits == 64 ? F64 : strcmp(part.type, "s32") == 0 ? WHOLE : F32;
    }
    return part;
}

static unsigned words_of(const struct part *part)
{
    return part->rows * part->columns * part->bits / 32 / LANES;
}

/* Each lane puts its words, from the input first on, into the memory at offset, so that they lie there one after the other. */
static void write_shared(FILE *out, unsigned first, unsigned words, unsigned offset)
{
    fprintf(out, "    mad.lo.u32 %%word, %%lane, %u, %%tile;\n", words * 4);
    for (unsigned i = 0; i < words; i++)
        fprintf(out, "    st.shared.b32 [%%word+%u], %%i%u;\n", offset + i * 4, first + i);
}

/* wmma.load: the stride, in elements; 0: the least there is, and the instruction does not name it. */
static void write_load(FILE *out, const struct wmma *w, const struct part *part, char which, const char *layout,
                       const char *space, const char *address, const char *prefix, unsigned first, unsigned stride)
{
    fprintf(out, "    wmma.load.%c.sync.aligned.%s.%s%s.%s ", which, layout, w->shape, space, part->type);
    write_list(out, prefix, first, part->registers);
    fprintf(out, ", [%s]", address);
    if (stride)
        fprintf(out, ", %u", stride);
    fputs(";\n", out);
}

static unsigned stride_of(const struct part *part, const char *layout, unsigned gap)
{
    return (*layout == 'r' ? part->columns : part->rows) + gap;
}

/* Registers of 64 bits to and from words. */
static void write_wide(FILE *out, const char *prefix, unsigned first, const char *word, unsigned first_word, unsigned count,
                       bool packs)
{
    for (unsigned i = 0; i < count; i++)
        if (packs)
            fprintf(out, "    mov.b64 %%%s%u, {%%%s%u, %%%s%u};\n", prefix, first + i, word, first_word + 2 * i, word,
                    first_word + 2 * i + 1);
        else
            fprintf(out, "    mov.b64 {%%%s%u, %%%s%u}, %%%s%u;\n", word, first_word + 2 * i, word, first_word + 2 * i + 1,
                    prefix, first + i);
}

/* A matrix of random words, with a gap between its lines, or with none and in global memory. */
static void add_load(const struct wmma *w, char which, const char *type, const char *layout, bool is_global)
{
    const struct part part = part_of(w, which, type);
    const unsigned gap = is_global ? 0 : 128 / part.bits, stride = stride_of(&part, layout, gap);
    const unsigned bytes = stride * (part.rows * part.columns / (stride - gap)) * part.bits / 8;
    struct operation *op;
    char name[64];
    size_t length;
    FILE *out;

    if (is_global ? *layout == 'c' || words_of(&part) * LANES * 4 > 4096 : bytes > 4096)
        return;
    snprintf(name, sizeof name, "wmma.load.%c.%s.%s.%s%s", which, layout, w->shape, part.type, is_global ? ".global" : "");
    op = new_operation(name, w->sm, "8.0");
    add_inputs(op, is_global ? words_of(&part) : (bytes + 4 * LANES - 1) / (4 * LANES), RAW);
    op->outputs = part.registers * part.width;
    out = open_body(op, &length);
    if (part.width == 2)
        fprintf(out, "    .reg .b64 %%r<%u>;\n", part.registers);
    if (is_global) /* the lanes' inputs lie one after the other */
        fprintf(out, "    mad.wide.u32 %%wide, %%lane, %u, 0;\n    sub.u64 %%wide, %%from, %%wide;\n", op->inputs * 4);
    else
        write_shared(out, 0, op->inputs, 0);
    fputs("    bar.warp.sync 0xffffffff;\n", out);
    write_load(out, w, &part, which, layout, is_global ? ".global" : ".shared", is_global ? "%wide" : "%tile",
               part.width == 2 ? "r" : "o", 0, is_global ? 0 : stride);
    if (part.width == 2)
        write_wide(out, "r", 0, "o", 0, part.registers, false);
    fclose(out);
}

static void add_store(const struct wmma *w, const char *type, const char *layout)
{
    const struct part part = part_of(w, 'd', type);
    const unsigned gap = 128 / part.bits, stride = stride_of(&part, layout, gap);
    const unsigned bytes = stride * (part.rows * part.columns / (stride - gap)) * part.bits / 8;
    struct operation *op;
    char name[64];
    size_t length;
    FILE *out;

    snprintf(name, sizeof name, "wmma.store.d.%s.%s.%s", layout, w->shape, part.type);
    op = new_operation(name, w->sm, "8.0");
    add_inputs(op, part.registers * part.width, RAW);
    op->outputs = (bytes + 4 * LANES - 1) / (4 * LANES);
    out = open_body(op, &length);
    if (part.width == 2) {
        fprintf(out, "    .reg .b64 %%r<%u>;\n", part.registers);
        write_wide(out, "r", 0, "i", 0, part.registers, true);
    }
    fprintf(out, "    mad.lo.u32 %%word, %%lane, %u, %%tile;\n", op->outputs * 4);
    for (unsigned i = 0; i < op->outputs; i++)
        fprintf(out, "    st.shared.b32 [%%word+%u], 0x5a5a5a5a;\n", i * 4);
    fputs("    bar.warp.sync 0xffffffff;\n", out);
    fprintf(out, "    wmma.store.d.sync.aligned.%s.%s.shared.%s [%%tile], ", layout, w->shape, part.type);
    write_list(out, part.width == 2 ? "r" : "i", 0, part.registers);
    fprintf(out, ", %u;\n    bar.warp.sync 0xffffffff;\n", stride);
    for (unsigned i = 0; i < op->outputs; i++)
        fprintf(out, "    ld.shared.b32 %%o%u, [%%word+%u];\n", i, i * 4);
    fclose(out);
}

/* Three loads and a product; of floating point another with the negated result. modifier: before or after the types. */
static void add_wmma(const struct wmma *w, const char *layouts, const char *d_type, const char *c_type, const char *before,
                     const char *behind)
{
    const char *second = strchr(layouts, '.') + 1;
    const struct part a = part_of(w, 'a', NULL), b = part_of(w, 'b', NULL), c = part_of(w, 'c', c_type),
                      d = part_of(w, 'd', d_type);
    const bool has_twice = w->fill != BYTES && w->fill != RAW && strcmp(c.type, d.type) == 0, is_wide = a.width == 2;
    const unsigned words[3] = {words_of(&a), words_of(&b), words_of(&c)};
    struct operation *op;
    char name[64], types[32];
    size_t length;
    FILE *out;

    if (w->fill == F16_PAIR)
        snprintf(types, sizeof types, "%s.%s", d.type, c.type);
    else
        snprintf(types, sizeof types, "%s.%s.%s.%s", d.type, w->type, w->type, c.type);
    snprintf(name, sizeof name, "wmma.mma.%s.%s.%s%s%s", layouts, w->shape, types, before, behind);
    op = new_operation(name, strncmp(before, ".and", 4) == 0 ? 80 : w->sm, "8.0");
    add_inputs(op, words[0], a.fill);
    add_inputs(op, words[1], b.fill);
    op->first_c = op->inputs;
    add_inputs(op, words[2], c.fill);
    op->outputs = d.registers * d.width * (has_twice ? 2 : 1);
    out = open_body(op, &length);
    fprintf(out, "    .reg .%s %%a<%u>, %%b<%u>, %%c<%u>, %%r<%u>;\n", is_wide ? "b64" : "b32", a.registers, b.registers,
            c.registers, d.registers);
    write_shared(out, 0, words[0], 0);
    write_shared(out, words[0], words[1], words[0] * 128);
    write_shared(out, words[0] + words[1], words[2], (words[0] + words[1]) * 128);
    fputs("    bar.warp.sync 0xffffffff;\n", out);
    write_load(out, w, &a, 'a', *layouts == 'r' ? "row" : "col", ".shared", "%tile", "a", 0, 0);
    fprintf(out, "    add.u32 %%word, %%tile, %u;\n", words[0] * 128);
    write_load(out, w, &b, 'b', second, ".shared", "%word", "b", 0, 0);
    fprintf(out, "    add.u32 %%word, %%word, %u;\n", words[1] * 128);
    write_load(out, w, &c, 'c', "row", ".shared", "%word", "c", 0, 0);
    for (unsigned time = 0; time < (has_twice ? 2 : 1); time++) {
        for (unsigned i = 0; time && i < c.registers; i++)
            fprintf(out, "    xor.%s %%c%u, %%r%u, %s;\n", is_wide ? "b64" : "b32", i, i,
                    is_wide        ? wide
                    : c.bits == 16 ? half
                                   : single);
        fprintf(out, "    wmma.mma%s.sync.aligned.%s.%s.%s%s ", before, layouts, w->shape, types, behind);
        write_list(out, "r", 0, d.registers);
        fputs(", ", out);
        write_list(out, "a", 0, a.registers);
        fputs(", ", out);
        write_list(out, "b", 0, b.registers);
        fputs(", ", out);
        write_list(out, "c", 0, c.registers);
        fputs(";\n", out);
        if (is_wide)
            write_wide(out, "r", 0, "o", time * d.registers * 2, d.registers, false);
        for (unsigned i = 0; !is_wide && i < d.registers; i++)
            fprintf(out, "    mov.b32 %%o%u, %%r%u;\n", time * d.registers + i, i);
    }
    fclose(out);
}

static void add_wmmas(void)
{
    static const char *const layouts[] = {"row.col", "row.row", "col.row", "col.col"};

    for (size_t i = 0; i < sizeof wmmas / sizeof *wmmas; i++) {
        const struct wmma *w = &wmmas[i];
        const bool is_f16 = w->fill == F16_PAIR, is_small = w->bits < 8;
        for (unsigned l = 0; l < 2; l++) {
            const char *layout = l ? "col" : "row";
            if (!is_small || l == 0)
                add_load(w, 'a', NULL, layout, false);
            if (!is_small || l == 1)
                add_load(w, 'b', NULL, layout, false);
            /* of one type for each shape */
            if (w->fill == BF16_PAIR || w->type[0] == 'u' || w->fill == RAW)
                continue;
            add_load(w, 'c', NULL, layout, false);
            add_store(w, NULL, layout);
            if (is_f16) {
                add_load(w, 'c', "f16", layout, false);
                add_store(w, "f16", layout);
            }
        }
        add_load(w, 'a', NULL, "row", true);
        for (size_t l = 0; l < (is_small ? 1 : 4); l++)
            if (w->fill == RAW) {
                add_wmma(w, layouts[l], NULL, NULL, ".xor.popc", "");
                add_wmma(w, layouts[l], NULL, NULL, ".and.popc", "");
            } else {
                add_wmma(w, layouts[l], NULL, NULL, "", "");
            }
        if (is_f16) {
            add_wmma(w, "row.col", "f16", "f16", "", "");
            add_wmma(w, "row.col", "f32", "f16", "", "");
            add_wmma(w, "row.col", "f16", "f32", "", "");
        }
        if (w->fill == BYTES)
            add_wmma(w, "row.col", NULL, NULL, "", ".satfinite");
        if (w->fill == F64)
            for (size_t k = 0; k < 4; k++) {
                static const char *const roundings[] = {".rn", ".rz", ".rm", ".rp"};
                add_wmma(w, "row.col", NULL, NULL, roundings[k], "");
            }
    }
}

/* Each lane copies from its own inputs to its own slot, which was filled with other words before. */
static void add_copies(void)
{
    static const struct {
        const char *name, *version, *statements;
    } copies[] = {
        {"cp.async.ca.4", "7.0", "cp.async.ca.shared.global [%slot+4], [%from+8], 4; cp.async.wait_all;"},
        {"cp.async.ca.8", "7.0", "cp.async.ca.shared.global [%slot+8], [%from+16], 8; cp.async.wait_all;"},
        {"cp.async.ca.16", "7.0", "cp.async.ca.shared.global [%slot+16], [%from], 16; cp.async.wait_all;"},
        {"cp.async.cg.16", "7.0", "cp.async.cg.shared.global [%slot], [%from+16], 16; cp.async.wait_all;"},
        {"cp.async.cg.16.prefetch", "7.4", "cp.async.cg.shared.global.L2::128B [%slot], [%from+16], 16; cp.async.wait_all;"},
        {"cp.async.ca.4.size", "7.0",
         "rem.u32 %word, %i7, 5; cp.async.ca.shared.global [%slot+4], [%from+8], 4, %word; cp.async.wait_all;"},
        {"cp.async.ca.8.size", "7.0",
         "rem.u32 %word, %i7, 9; cp.async.ca.shared.global [%slot+8], [%from], 8, %word; cp.async.wait_all;"},
        {"cp.async.ca.16.size", "7.0",
         "rem.u32 %word, %i7, 17; cp.async.ca.shared.global [%slot], [%from], 16, %word; cp.async.wait_all;"},
        {"cp.async.cg.16.size", "7.0",
         "rem.u32 %word, %i7, 17; cp.async.cg.shared.global [%slot+16], [%from], 16, %word; cp.async.wait_all;"},
        {"cp.async.cg.16.size.nothing", "7.0",
         "mov.u32 %word, 0; cp.async.cg.shared.global [%slot+16], [%from], 16, %word; cp.async.wait_all;"},
        {"cp.async.ca.4.ignore", "8.3",
         "setp.lt.s32 %p, %i7, 0; cp.async.ca.shared.global [%slot+4], [%from+8], 4, %p; cp.async.wait_all;"},
        {"cp.async.ca.16.ignore", "8.3",
         "setp.lt.s32 %p, %i7, 0; cp.async.ca.shared.global [%slot], [%from], 16, %p; cp.async.wait_all;"},
        {"cp.async.cg.16.ignore", "8.3",
         "setp.lt.s32 %p, %i7, 0; cp.async.cg.shared.global [%slot], [%from], 16, %p; cp.async.wait_all;"},
        {"cp.async.guarded", "7.0",
         "setp.lt.s32 %p, %i7, 0; @%p cp.async.cg.shared.global [%slot], [%from], 16; cp.async.wait_all;"},
        {"cp.async.group", "7.0",
         "cp.async.cg.shared.global [%slot], [%from+16], 16; cp.async.commit_group; cp.async.wait_group 0;"},
        {"cp.async.group.overwritten", "7.0",
         "cp.async.cg.shared.global [%slot], [%from+16], 16; cp.async.commit_group; cp.async.wait_group 0;"
         " cp.async.ca.shared.global [%slot+8], [%from], 8; cp.async.commit_group; cp.async.wait_group 0;"},
        {"cp.async.group.empty", "7.0",
         "cp.async.ca.shared.global [%slot], [%from+16], 16; cp.async.commit_group; cp.async.commit_group;"
         " cp.async.commit_group; cp.async.wait_group 2;"},
        {"cp.async.groups", "7.0",
         "cp.async.ca.shared.global [%slot], [%from+16], 16; cp.async.commit_group;"
         " cp.async.ca.shared.global [%slot+16], [%from], 16; cp.async.commit_group; cp.async.wait_group 1;"
         " ld.shared.b32 %word, [%slot+4]; cp.async.wait_group 0; ld.shared.b32 %i7, [%slot+20]; add.u32 %word, %word, %i7;"
         " st.shared.b32 [%slot+24], %word;"},
        {"cp.async.several", "7.0",
         "cp.async.ca.shared.global [%slot], [%from+28], 4; cp.async.ca.shared.global [%slot+4], [%from+24], 4;"
         " cp.async.ca.shared.global [%slot+8], [%from+16], 8; cp.async.commit_group;"
         " cp.async.cg.shared.global [%slot+16], [%from], 16; cp.async.wait_all;"},
    };

    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        struct operation *op = new_operation(copies[i].name, 80, copies[i].version);
        size_t length;
        FILE *out;

        add_inputs(op, 8, RAW);
        op->outputs = 8;
        out = open_body(op, &length);
        fprintf(
            out,
            "    st.shared.v4.b32 [%%slot], {%%i3, %%i2, %%i1, %%i0};\n    st.shared.v4.b32 [%%slot+16], {%%i7, %%i6, %%i5, "
            "%%i4};\n    %s\n    ld.shared.v4.b32 {%%o0, %%o1, %%o2, %%o3}, [%%slot];\n"
            "    ld.shared.v4.b32 {%%o4, %%o5, %%o6, %%o7}, [%%slot+16];\n",
            copies[i].statements);
        fclose(out);
    }
}
int main(int argc, char **argv)
{
    add_products();
    add_wmmas();
    add_matrix_moves();
    add_copies();
    return run_recorder(argc, argv, "mma");
}
