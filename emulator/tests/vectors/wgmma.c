/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: nightly (all 32 stretches of operands take minutes) */
/* tier: change; run: emulator/wgmma_part 8; sanitizers: only */
/*
 * wgmma: the products of a warpgroup (wgmma.mma_async), and elect.sync, as recorder.h says.
 *
 * A block is one warpgroup. Its threads put their words into shared memory one after the other, A and then B, and descriptors
 * say which bytes are which element. Sums are computed twice, the second time with the negated first result as C, so that nearly
 * all cancels; a wait is between, because ptxas 13.0 makes one of two equal products without it. Where the question is what a descriptor means, one factor is the unit matrix and the other has numbered elements.
 *
 * It knows nothing of how a device adds: what is right is what the recording device did, bit by bit.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <string.h>

#include "recorder.h"

enum { THREADS = 128, ROWS = 64 };

struct kind {
    const char *types; /* d.a.b */
    unsigned k;
    enum fill of_a, of_b, of_c;
    bool d_is_half;
};

static const struct kind kinds[] = {
    {"f32.f16.f16", 16, F16_PAIR, F16_PAIR, F32, false},
    {"f32.bf16.bf16", 16, BF16_PAIR, BF16_PAIR, F32, false},
    {"f16.f16.f16", 16, F16_PAIR, F16_PAIR, F16_PAIR, true},
    {"f32.tf32.tf32", 8, TF32, TF32, F32, false},
    {"f32.e4m3.e4m3", 32, E4M3, E4M3, F32, false},
    {"f32.e4m3.e5m2", 32, E4M3, E5M2, F32, false},
    {"f32.e5m2.e4m3", 32, E5M2, E4M3, F32, false},
    {"f32.e5m2.e5m2", 32, E5M2, E5M2, F32, false},
    {"f16.e4m3.e4m3", 32, E4M3, E4M3, F16_PAIR, true},
    {"f16.e4m3.e5m2", 32, E4M3, E5M2, F16_PAIR, true},
    {"f16.e5m2.e4m3", 32, E5M2, E4M3, F16_PAIR, true},
    {"f16.e5m2.e5m2", 32, E5M2, E5M2, F16_PAIR, true},
    {"s32.s8.s8", 32, BYTES, BYTES, WHOLE, false},
    {"s32.s8.u8", 32, BYTES, BYTES, WHOLE, false},
    {"s32.u8.s8", 32, BYTES, BYTES, WHOLE, false},
    {"s32.u8.u8", 32, BYTES, BYTES, WHOLE, false},
    {"s32.b1.b1", 256, RAW, RAW, WHOLE, false},
};

static bool is_whole(const struct kind *kind)
{
    return kind->of_c == WHOLE;
}

static bool has_transposition(const struct kind *kind)
{
    return kind->of_a == F16_PAIR || kind->of_a == BF16_PAIR;
}

/* ---- where a factor lies ---- */

enum swizzle { SWIZZLE_NONE, SWIZZLE_128, SWIZZLE_64, SWIZZLE_32 };

/* A descriptor, its strides in bytes, and the memory it is about. */
struct layout {
    const char *name;
    enum swizzle swizzle;
    bool is_transposed; /* along M or N */
    unsigned leading, stride, base_offset;
    unsigned start; /* from the first byte of the memory on */
    unsigned bytes; /* of the memory; of 128 lines, if there is no dot in the name; 0: registers */
};

static const struct layout plain = {"plain", SWIZZLE_NONE, false, 128, 256, 0, 0, 4096}, in_registers = {"registers"};

static const struct layout layouts[] = {
    {"none", SWIZZLE_NONE, false, 128, 256, 0, 0, 4096},
    {"none.gaps", SWIZZLE_NONE, false, 144, 400, 0, 48, 8192},
    {"none.leading-far", SWIZZLE_NONE, false, 2048, 128, 0, 0, 4096},
    {"32", SWIZZLE_32, false, 16, 256, 0, 0, 4096},
    {"32.leading", SWIZZLE_32, false, 1024, 256, 0, 0, 8192},
    {"32.gaps", SWIZZLE_32, false, 16, 512, 0, 0, 8192},
    {"32.odd-stride", SWIZZLE_32, false, 16, 288, 0, 0, 8192},
    {"32.base", SWIZZLE_32, false, 16, 256, 1, 128, 8192},
    {"32.moved", SWIZZLE_32, false, 16, 256, 0, 128, 8192},
    {"64", SWIZZLE_64, false, 16, 512, 0, 0, 8192},
    {"64.half", SWIZZLE_64, false, 16, 512, 0, 32, 8192},
    {"64.base", SWIZZLE_64, false, 16, 512, 1, 128, 12288},
    {"64.moved", SWIZZLE_64, false, 16, 512, 0, 128, 12288},
    {"64.leading", SWIZZLE_64, false, 4096, 512, 0, 0, 12288},
    {"128", SWIZZLE_128, false, 16, 1024, 0, 0, 16384},
    {"128.second", SWIZZLE_128, false, 16, 1024, 0, 32, 16384},
    {"128.third", SWIZZLE_128, false, 16, 1024, 0, 64, 16384},
    {"128.fourth", SWIZZLE_128, false, 16, 1024, 0, 96, 16384},
    {"128.across", SWIZZLE_128, false, 16, 1024, 0, 112, 17408},
    {"128.leading", SWIZZLE_128, false, 4096, 1024, 0, 0, 17408},
    {"128.odd-stride", SWIZZLE_128, false, 16, 896, 0, 0, 16384},
    {"128.base", SWIZZLE_128, false, 16, 1024, 3, 384, 17408},
    {"128.moved", SWIZZLE_128, false, 16, 1024, 0, 384, 17408},
    {"128.only-base", SWIZZLE_128, false, 16, 1024, 3, 0, 17408},
    {"trans.none", SWIZZLE_NONE, true, 128, 256, 0, 0, 4096},
    {"trans.none.other", SWIZZLE_NONE, true, 2048, 128, 0, 0, 32768},
    {"trans.none.gaps", SWIZZLE_NONE, true, 144, 400, 0, 48, 8192},
    {"trans.32", SWIZZLE_32, true, 512, 256, 0, 0, 8192},
    {"trans.32.other", SWIZZLE_32, true, 256, 2048, 0, 0, 17408},
    {"trans.32.base", SWIZZLE_32, true, 512, 256, 1, 128, 8192},
    {"trans.64", SWIZZLE_64, true, 1024, 512, 0, 0, 8192},
    {"trans.64.other", SWIZZLE_64, true, 512, 2048, 0, 0, 8192},
    {"trans.64.base", SWIZZLE_64, true, 1024, 512, 1, 128, 8192},
    {"trans.128", SWIZZLE_128, true, 2048, 1024, 0, 0, 8192},
    {"trans.128.other", SWIZZLE_128, true, 1024, 2048, 0, 0, 8192},
    {"trans.128.base", SWIZZLE_128, true, 2048, 1024, 3, 384, 8192},
    {"trans.128.moved", SWIZZLE_128, true, 2048, 1024, 0, 384, 8192},
    {"trans.128.second", SWIZZLE_128, true, 2048, 1024, 0, 32, 8192},
};

/* Words of each thread, so that all of them fill the memory of so many lines. Both factors begin at multiples of 1024 bytes. */
static unsigned words_of(const struct layout *l, unsigned lines)
{
    const bool is_dense = strchr(l->name, '.') == NULL;
    const unsigned bytes = is_dense ? l->bytes * lines / 128 : l->bytes;

    return (bytes + 1023) / 1024 * 2;
}

/* ---- products ---- */

struct product {
    const struct kind *kind;
    unsigned n;
    const struct layout *a, *b;
    enum fill of_a, of_b;
    uint32_t (*unit)(unsigned thread, unsigned word); /* the content of what is UNIT */
    unsigned sets;
    bool negates_a, negates_b, ignores_c, saturates, has_twice;
};

static void write_descriptor(FILE *out, const char *name, const struct layout *l, unsigned offset)
{
    const uint64_t bits = (uint64_t)l->swizzle << 62 | (uint64_t)l->base_offset << 49 | (uint64_t)(l->stride / 16) << 32 |
                          (uint64_t)(l->leading / 16) << 16;

    fprintf(out,
            "    add.u32 %%word, %%tile, %u;\n    shr.u32 %%word, %%word, 4;\n    cvt.u64.u32 %%%s, %%word;\n"
            "    or.b64 %%%s, %%%s, 0x%" PRIx64 ";\n",
            offset + l->start, name, name, name, bits);
}

static void write_shared(FILE *out, unsigned first, unsigned words, unsigned offset)
{
    fprintf(out, "    mad.lo.u32 %%word, %%lane, %u, %%tile;\n", words * 4);
    for (unsigned i = 0; i < words; i += 2)
        fprintf(out, "    st.shared.v2.b32 [%%word+%u], {%%i%u, %%i%u};\n", offset + i * 4, first + i, first + i + 1);
}

static void write_product(FILE *out, const struct product *p, unsigned sums, unsigned registers)
{
    const struct kind *kind = p->kind;
    const bool is_bits = kind->of_a == RAW;

    fprintf(out, "    wgmma.mma_async.sync.aligned.m64n%uk%u.%s%s ", p->n, kind->k, kind->types,
            is_bits        ? ".and.popc"
            : p->saturates ? ".satfinite"
                           : "");
    write_list(out, "o", sums, registers);
    fputs(", ", out);
    if (p->a->bytes)
        fputs("%a", out);
    else
        write_list(out, "i", 0, 4);
    fputs(", %b, %p", out);
    if (!is_whole(kind))
        fprintf(out, ", %d, %d", p->negates_a ? -1 : 1, p->negates_b ? -1 : 1);
    if (has_transposition(kind) && p->a->bytes)
        fprintf(out, ", %d", p->a->is_transposed);
    if (has_transposition(kind))
        fprintf(out, ", %d", p->b->is_transposed);
    fputs(";\n", out);
}

static void add_product(const char *name, const struct product *p)
{
    const unsigned registers = p->n / (p->kind->d_is_half ? 4 : 2), times = p->has_twice ? 2 : 1;
    const unsigned a_words = p->a->bytes ? words_of(p->a, ROWS) : 4, b_words = words_of(p->b, p->n);
    const unsigned b_offset = p->a->bytes ? a_words * 4 * THREADS : 0;
    char full[128];
    struct operation *op;
    size_t length;
    FILE *out;

    snprintf(full, sizeof full, "wgmma.m64n%uk%u.%s%s%s", p->n, p->kind->k, p->kind->types, *name ? "." : "", name);
    op = new_operation(full, 90, "8.4");
    op->suffix = "a";
    op->threads = THREADS;
    op->sets = p->sets;
    op->unit = p->unit;
    op->alignment = 1024;
    op->shared_bytes = b_offset + b_words * 4 * THREADS;
    add_inputs(op, a_words, p->of_a);
    add_inputs(op, b_words, p->of_b);
    op->first_c = op->inputs;
    add_inputs(op, registers, p->kind->of_c);
    op->outputs = registers * times;
    out = open_body(op, &length);
    fputs("    .reg .b64 %a, %b;\n", out);
    if (p->a->bytes)
        write_shared(out, 0, a_words, 0);
    write_shared(out, a_words, b_words, b_offset);
    if (p->a->bytes)
        write_descriptor(out, "a", p->a, 0);
    write_descriptor(out, "b", p->b, b_offset);
    fprintf(out, "    setp.%s.u32 %%p, %%word, 0xffffffff;\n", p->ignores_c ? "eq" : "ne");
    fputs("    fence.proxy.async.shared::cta;\n    bar.sync 0;\n", out);
    for (unsigned time = 0; time < times; time++) {
        for (unsigned i = 0; i < registers; i++)
            if (time)
                fprintf(out, "    xor.b32 %%o%u, %%o%u, %s;\n", registers + i, i,
                        p->kind->d_is_half ? "0x80008000" : "0x80000000");
            else
                fprintf(out, "    mov.b32 %%o%u, %%i%u;\n", i, op->first_c + i);
        fputs("    wgmma.fence.sync.aligned;\n", out);
        write_product(out, p, time * registers, registers);
        fputs("    wgmma.commit_group.sync.aligned;\n    wgmma.wait_group.sync.aligned 0;\n", out);
    }
    fclose(out);
}

/* Every type, from memory and from registers, with what can be asked of it. */
static void add_arithmetic(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct kind *kind = &kinds[i];
        struct product p = {kind, 8, &plain, &plain, kind->of_a, kind->of_b, NULL, 128};
        struct product variant;

        p.has_twice = !is_whole(kind);
        add_product("", &p);
        variant = p;
        variant.a = &in_registers;
        add_product("registers", &variant);
        if (kind->of_a == BYTES) {
            variant = p;
            variant.saturates = true;
            add_product("satfinite", &variant);
        }
        p.sets = 64;
        variant = p;
        variant.ignores_c = true;
        add_product("no-c", &variant);
        for (unsigned n = 1; n < 4 && !is_whole(kind); n++) {
            variant = p;
            variant.negates_a = n & 1;
            variant.negates_b = n & 2;
            add_product(n == 1 ? "minus-a" : n == 2 ? "minus-b" : "minus-both", &variant);
            if (n == 1) {
                variant.a = &in_registers;
                add_product("registers.minus-a", &variant);
            }
        }
    }
}

static const struct layout *layout_called(const char *name)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (strcmp(layouts[i].name, name) == 0)
            return &layouts[i];
    fail("no layout %s", name);
}

static void add_widths(void)
{
    static const unsigned some[] = {16, 24, 80, 104, 200, 256}, of_bytes[] = {16, 24, 32, 48, 64, 80, 144, 208, 256};

    for (unsigned n = 8; n <= 256; n += 8) {
        const struct product p = {&kinds[0], n, layout_called("128"), layout_called("128"), F16_PAIR, F16_PAIR, NULL, 32};
        add_product("width", &p);
    }
    for (size_t i = 1; i < sizeof kinds / sizeof *kinds; i++) {
        const struct kind *kind = &kinds[i];
        const bool is_fp8 = kind->k == 32 && !is_whole(kind);
        const size_t count = is_whole(kind) ? sizeof of_bytes / sizeof *of_bytes : sizeof some / sizeof *some;
        if (is_fp8 && kind->of_a != kind->of_b)
            continue;
        for (size_t k = 0; k < count; k++) {
            const unsigned n = is_whole(kind) ? of_bytes[k] : some[k];
            struct product p = {kind, n, layout_called("128"), layout_called("128"), kind->of_a, kind->of_b, NULL, 32};
            p.a = k % 2 ? p.a : &in_registers;
            add_product("width", &p);
        }
    }
}

/* The unit matrix, 4 times below itself, as registers of A, ... */
static uint32_t unit_in_registers(unsigned thread, unsigned word)
{
    const unsigned lane = thread % 32, row = lane / 4 + 8 * (word % 2), k = 2 * (lane % 4) + 8 * (word / 2);

    return row == k ? 0x3c00 : row == k + 1 ? 0x3c000000 : 0;
}

/* ... and of 16 columns of B, in the plain layout. */
static uint32_t unit_in_memory(unsigned thread, unsigned word)
{
    const unsigned at = (thread * words_of(&plain, 16) + word) * 4;
    const unsigned n = at / 256 * 8 + at % 128 / 16, k = at / 128 % 2 * 8 + at % 16 / 2;

    return n == k ? 0x3c00 : n == k + 1 ? 0x3c000000 : 0;
}

static void add_layouts(void)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const struct layout *l = &layouts[i];
        const struct product of_a = {&kinds[0], 16, l, &plain, NUMBERED, UNIT, unit_in_memory, 32, .ignores_c = true};
        const struct product of_b = {&kinds[0], 64, &in_registers, l, UNIT, NUMBERED, unit_in_registers, 32, .ignores_c = true};
        const struct product wide = {&kinds[0],         128, &in_registers,    l, UNIT, NUMBERED,
                                     unit_in_registers, 32,  .ignores_c = true};
        const bool is_simple = strchr(l->name, '.') == NULL || (l->is_transposed && strchr(l->name + 6, '.') == NULL);
        char name[64];

        snprintf(name, sizeof name, "a-%s", l->name);
        add_product(name, &of_a);
        snprintf(name, sizeof name, "b-%s", l->name);
        add_product(name, &of_b);
        if (l->is_transposed)
            add_product(name, &wide);
        for (size_t k = 1; is_simple && k < sizeof kinds / sizeof *kinds; k++) {
            const struct product both = {&kinds[k], 32, l, l, kinds[k].of_a, kinds[k].of_b, NULL, 32};
            if (!has_transposition(&kinds[k]) && l->is_transposed)
                continue;
            snprintf(name, sizeof name, "both-%s", l->name);
            add_product(name, &both);
        }
    }
}

/* ---- elect ---- */

/* For the lanes of a random mask, or of a mask of few. */
static void add_elections(void)
{
    static const char *const masks[] = {"any", "few", "all"};

    for (unsigned i = 0; i < 3; i++) {
        char name[32];
        struct operation *op;
        size_t length;
        FILE *out;

        snprintf(name, sizeof name, "elect.%s", masks[i]);
        op = new_operation(name, 90, "8.0");
        add_inputs(op, 3, RAW);
        op->outputs = 2;
        out = open_body(op, &length);
        fputs("    .reg .pred %q;\n    shfl.sync.idx.b32 %word, %i0, 0, 31, 0xffffffff;\n", out);
        if (i == 1)
            fputs("    shfl.sync.idx.b32 %i1, %i1, 0, 31, 0xffffffff;\n    and.b32 %word, %word, %i1;\n"
                  "    shfl.sync.idx.b32 %i2, %i2, 0, 31, 0xffffffff;\n    and.b32 %word, %word, %i2;\n",
                  out);
        if (i == 2)
            fputs("    mov.u32 %word, 0xffffffff;\n", out);
        fputs("    mov.u32 %o0, 77;\n    mov.u32 %o1, 77;\n    shr.u32 %i1, %word, %lane;\n    and.b32 %i1, %i1, 1;\n"
              "    setp.eq.u32 %p, %i1, 0;\n    @%p bra BEHIND;\n    elect.sync %o0|%q, %word;\n    selp.u32 %o1, 1, 0, %q;\n"
              "BEHIND:\n",
              out);
        fclose(out);
    }
}

int main(int argc, char **argv)
{
    add_arithmetic();
    add_widths();
    add_layouts();
    add_elections();
    return run_recorder(argc, argv, "wgmma");
}
