/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * vectors: run one PTX instruction at a time through a libcuda and compare with what a GPU gave.
 *
 *     vectors record LIBCUDA TABLE GOLDEN    run the table, write digests and samples of the outputs
 *     vectors check  LIBCUDA TABLE GOLDEN    run the table, compare; exit 1 if an instruction differs
 *     vectors show   LIBCUDA TABLE PATTERN   run what matches, print all inputs and outputs, for diff
 *     vectors print  TABLE PATTERN           print the PTX of what matches
 *     vectors list   TABLE                   print the names
 *
 * The table (instructions.txt, which says how its lines read) names the registers; a kernel built around each line
 * loads them, executes the line once a thread and stores the results. Inputs come from a seed, so the golden file has
 * none.
 *
 * It knows nothing of what an instruction means: what is right is what the recording device did. It needs the driver's
 * names only, and neither cuda.h nor a library of this project.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "libcuda.h"

enum {
    INPUTS = 1024, /* threads, each with one set of inputs */
    BLOCK = 128,
    CHUNKS = 16,       /* a short digest each, to say where outputs differ */
    OPERANDS = 8,      /* at most, inputs and outputs each */
    LISTS = 8,         /* of a line of the table, at most */
    SLOT = 8,          /* bytes of an operand in memory */
    SAMPLE = 16,       /* outputs kept of an instruction that must match bit by bit, */
    SAMPLE_WIDE = 8,   /* of one that has much to keep, */
    SAMPLE_NEAR = 128, /* and of one that need not match bit by bit, as the samples alone are compared */
    LOG_BYTES = 4096
};

static const uint64_t input_seed = UINT64_C(0x74696c656a697431);

/* ---- kinds of operands ---- */

enum format { NO_FLOAT, F16, BF16, F32, F64 };

enum domain { PREDICATE, INTEGER, NONZERO, COUNT, LANE, OFFSET, FLOAT, ANGLE, EXPONENT, TIE };

struct kind {
    const char *name;
    const char *reg; /* the register's type */
    unsigned bits;   /* of the register */
    unsigned parts;  /* 2: two numbers in it */
    enum format format;
    enum domain domain;
};

static const struct kind kinds[] = {
    {"p", "pred", 1, 1, NO_FLOAT, PREDICATE}, {"i16", "b16", 16, 1, NO_FLOAT, INTEGER},
    {"i32", "b32", 32, 1, NO_FLOAT, INTEGER}, {"i64", "b64", 64, 1, NO_FLOAT, INTEGER},
    {"d16", "b16", 16, 1, NO_FLOAT, NONZERO}, {"d32", "b32", 32, 1, NO_FLOAT, NONZERO},
    {"d64", "b64", 64, 1, NO_FLOAT, NONZERO}, {"n32", "b32", 32, 1, NO_FLOAT, COUNT},
    {"m32", "b32", 32, 1, NO_FLOAT, LANE},    {"o32", "b32", 32, 1, NO_FLOAT, OFFSET},
    {"f16", "b16", 16, 1, F16, FLOAT},        {"bf16", "b16", 16, 1, BF16, FLOAT},
    {"f32", "b32", 32, 1, F32, FLOAT},        {"f64", "b64", 64, 1, F64, FLOAT},
    {"f16x2", "b32", 32, 2, F16, FLOAT},      {"bf16x2", "b32", 32, 2, BF16, FLOAT},
    {"a32", "b32", 32, 1, F32, ANGLE},        {"e32", "b32", 32, 1, F32, EXPONENT},
    {"t32", "b32", 32, 1, F32, TIE},          {"t16", "b16", 16, 1, F16, TIE},
    {"t16x2", "b32", 32, 2, F16, TIE},
};

struct shape {
    unsigned mantissa, bits;
    int bias;
};

static const struct shape shapes[] = {
    [F16] = {10, 16, 15},
    [BF16] = {7, 16, 127},
    [F32] = {23, 32, 127},
    [F64] = {52, 64, 1023},
};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

static uint64_t low_bits(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static unsigned hex_digits(const struct kind *kind)
{
    return (kind->bits + 3) / 4;
}

static bool is_nan(enum format format, uint64_t bits)
{
    const struct shape *shape = &shapes[format];
    uint64_t infinity = low_bits(shape->bits - 1 - shape->mantissa) << shape->mantissa;

    return (bits & low_bits(shape->bits - 1)) > infinity;
}

static bool is_finite(enum format format, uint64_t bits)
{
    const struct shape *shape = &shapes[format];
    uint64_t infinity = low_bits(shape->bits - 1 - shape->mantissa) << shape->mantissa;

    return (bits & low_bits(shape->bits - 1)) < infinity;
}

static double number(enum format format, uint64_t bits)
{
    const struct shape *shape = &shapes[format];
    uint64_t mantissa = bits & low_bits(shape->mantissa);
    int exponent = (int)(bits >> shape->mantissa & low_bits(shape->bits - 1 - shape->mantissa));
    double magnitude = exponent == 0 ? ldexp((double)mantissa, 1 - shape->bias - (int)shape->mantissa)
                                     : ldexp((double)(mantissa | UINT64_C(1) << shape->mantissa),
                                             exponent - shape->bias - (int)shape->mantissa);

    return bits >> (shape->bits - 1) & 1 ? -magnitude : magnitude;
}

/* ---- the table ---- */

enum compare { BITS, NAN_ALIKE, ULP, RELATIVE };

struct instruction {
    char *name, *statement;
    unsigned outputs, inputs;
    const struct kind *output[OPERANDS], *input[OPERANDS];
    enum compare compare;
    unsigned ulp;
    int relative, absolute; /* bounds 2^-relative of the value, 2^-absolute; absolute 0: none */
    unsigned sm;            /* least, as 75 */
    char version[8];        /* of PTX */
};

struct table {
    struct instruction *instruction;
    size_t count;
};

void fail(const char *format, ...)
{
    va_list arguments;

    fputs("emulator/vectors: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

static void *allocate(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes);

    if (!memory)
        fail("out of memory for %zu bytes", bytes);
    return memory;
}

static char *trim(char *text)
{
    size_t length;

    text += strspn(text, " \t");
    length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* The text up to the next " | ", trimmed; *rest goes past it. A bar without blanks around it belongs to the text. */
static char *next_column(char **rest)
{
    char *text = *rest, *end = strstr(text, " | ");

    if (end) {
        *end = '\0';
        *rest = end + 3;
    } else {
        *rest = text + strlen(text);
    }
    return trim(text);
}

static unsigned parse_kinds(char *text, const struct kind **out, const char *path, unsigned line)
{
    unsigned count = 0;
    char *save = NULL;

    if (strcmp(text, "-") == 0)
        return 0;
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        if (count == OPERANDS)
            fail("%s:%u: more than %d operands", path, line, OPERANDS);
        out[count] = find_kind(word);
        if (!out[count])
            fail("%s:%u: '%s' is not a kind of operand", path, line, word);
        count++;
    }
    return count;
}

static void parse_compare(const char *text, struct instruction *in, const char *path, unsigned line)
{
    in->relative = in->absolute = 0;
    in->ulp = 0;
    if (strcmp(text, "bits") == 0)
        in->compare = BITS;
    else if (strcmp(text, "nan") == 0)
        in->compare = NAN_ALIKE;
    else if (sscanf(text, "ulp %u", &in->ulp) == 1)
        in->compare = ULP;
    else if (sscanf(text, "relative %d absolute %d", &in->relative, &in->absolute) >= 1)
        in->compare = RELATIVE;
    else
        fail("%s:%u: '%s' is no way to compare: bits, nan, ulp N, relative N, relative N absolute N", path, line, text);
    if (in->compare == ULP || in->compare == RELATIVE)
        for (unsigned i = 0; i < in->outputs; i++)
            if (in->output[i]->format == NO_FLOAT)
                fail("%s:%u: only floating-point outputs can be near", path, line);
}

/* Add the instruction of a line without lists. */
static void add_instruction(struct table *table, char *text, const char *path, unsigned line)
{
    char *rest = text, *statement = NULL;
    struct instruction in = {0};
    size_t length;
    FILE *out;

    in.name = strdup(next_column(&rest));
    in.outputs = parse_kinds(next_column(&rest), in.output, path, line);
    in.inputs = parse_kinds(next_column(&rest), in.input, path, line);
    parse_compare(next_column(&rest), &in, path, line);
    strcpy(in.version, "8.0");
    if (sscanf(next_column(&rest), "sm_%u ptx_%7s", &in.sm, in.version) < 1)
        fail("%s:%u: the column after the comparison must read sm_75 or the like", path, line);
    if (!in.name || in.outputs == 0)
        fail("%s:%u: '%s' lacks an output", path, line, in.name ? in.name : "?");
    out = open_memstream(&statement, &length);
    if (!out)
        fail("out of memory");
    rest = trim(rest);
    fprintf(out, "%s", *rest ? rest : in.name);
    for (unsigned i = 0; !*rest && i < in.outputs + in.inputs; i++)
        fprintf(out, "%s%%%c%u", i > 0 ? ", " : " ", i < in.outputs ? 'd' : 's', i < in.outputs ? i : i - in.outputs);
    fputs(*rest ? "" : ";", out);
    if (fclose(out) != 0)
        fail("out of memory");
    in.statement = statement;
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->instruction[i].name, in.name) == 0)
            fail("%s:%u: '%s' is there twice", path, line, in.name);
    table->instruction = allocate(table->instruction, (table->count + 1) * sizeof *table->instruction);
    table->instruction[table->count++] = in;
}

/* The lists of a line that is written out, "<add,sub>": how many alternatives each has, and the one whose turn it is. */
struct lists {
    unsigned count;
    unsigned sizes[LISTS], turn[LISTS];
    const char *first[LISTS]; /* alternatives */
};

/* Write an alternative, and return the number of them. */
static unsigned write_alternative(FILE *out, const char *first, unsigned which)
{
    unsigned count = 0;

    for (const char *at = first;; at++)
        if (*at == ',' || *at == '>') {
            count++;
            if (*at == '>')
                return count;
        } else if (count == which) {
            fputc(*at, out);
        }
}

/* Write a line with the alternatives whose turn it is. Its own lists are in the order in which they begin. */
static void write_out(FILE *out, const char *text, struct lists *lists, const char *path, unsigned line)
{
    lists->count = 0;
    for (const char *at = text; *at; at++) {
        unsigned number = 0;
        int length = 0;

        if (*at != '<') {
            fputc(*at, out);
            continue;
        }
        if (!strchr(at, '>'))
            fail("%s:%u: a list has no end", path, line);
        if (sscanf(++at, "%u%n", &number, &length) == 1 && (at[length] == ':' || at[length] == '>')) { /* along with another */
            if (number < 1 || number > lists->count)
                fail("%s:%u: list %u is not to its left", path, line, number);
            if (write_alternative(out, at[length] == ':' ? at + length + 1 : lists->first[number - 1],
                                  lists->turn[number - 1]) != lists->sizes[number - 1])
                fail("%s:%u: list %u has another number of alternatives", path, line, number);
        } else {
            if (lists->count == LISTS)
                fail("%s:%u: more than %d lists", path, line, LISTS);
            lists->first[lists->count] = at;
            lists->sizes[lists->count] = write_alternative(out, at, lists->turn[lists->count]);
            lists->count++;
        }
        at = strchr(at, '>');
    }
}

/* Go on to the next combination of alternatives: false after the last. */
static bool next_turn(struct lists *lists)
{
    for (unsigned i = lists->count; i-- > 0; lists->turn[i] = 0)
        if (++lists->turn[i] < lists->sizes[i])
            return true;
    return false;
}

static struct table read_table(const char *path)
{
    struct table table = {NULL, 0};
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;

    if (!file)
        fail("cannot open '%s': %s", path, strerror(errno));
    for (unsigned line = 1; getline(&text, &room, file) > 0; line++) {
        const char *written = trim(text);
        struct lists lists = {0};

        if (*written == '\0' || *written == '#')
            continue;
        do {
            char *one = NULL;
            size_t length;
            FILE *out = open_memstream(&one, &length);

            if (!out)
                fail("out of memory");
            write_out(out, written, &lists, path, line);
            if (fclose(out) != 0)
                fail("out of memory");
            add_instruction(&table, one, path, line);
            free(one);
        } while (next_turn(&lists));
    }
    free(text);
    fclose(file);
    if (table.count == 0)
        fail("'%s' has no instructions", path);
    return table;
}

static void free_table(struct table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        free(table->instruction[i].name);
        free(table->instruction[i].statement);
    }
    free(table->instruction);
}

/* ---- the kernel around an instruction ---- */

static void write_kernel(FILE *out, const struct instruction *in)
{
    fprintf(out, ".version %s\n.target sm_%u\n.address_size 64\n\n", in->version, in->sm);
    fputs(".visible .entry vector(.param .u64 inputs, .param .u64 outputs)\n{\n", out);
    fputs("    .reg .b32 %index, %block, %size, %word;\n    .reg .b64 %from, %to;\n    .reg .pred %truth;\n", out);
    for (unsigned i = 0; i < in->outputs; i++)
        fprintf(out, "    .reg .%s %%d%u;\n", in->output[i]->reg, i);
    for (unsigned i = 0; i < in->inputs; i++)
        fprintf(out, "    .reg .%s %%s%u;\n", in->input[i]->reg, i);
    fputs("    mov.u32 %index, %tid.x;\n    mov.u32 %block, %ctaid.x;\n    mov.u32 %size, %ntid.x;\n", out);
    fputs("    mad.lo.u32 %index, %block, %size, %index;\n", out);
    fputs("    ld.param.u64 %from, [inputs];\n    cvta.to.global.u64 %from, %from;\n", out);
    fputs("    ld.param.u64 %to, [outputs];\n    cvta.to.global.u64 %to, %to;\n", out);
    fprintf(out, "    mad.wide.u32 %%from, %%index, %u, %%from;\n", in->inputs * SLOT);
    fprintf(out, "    mad.wide.u32 %%to, %%index, %u, %%to;\n", in->outputs * SLOT);
    for (unsigned i = 0; i < in->inputs; i++) {
        if (in->input[i]->domain == PREDICATE)
            fprintf(out, "    ld.global.u32 %%word, [%%from+%u];\n    setp.ne.u32 %%s%u, %%word, 0;\n", i * SLOT, i);
        else
            fprintf(out, "    ld.global.%s %%s%u, [%%from+%u];\n", in->input[i]->reg, i, i * SLOT);
    }
    fprintf(out, "    %s\n", in->statement);
    for (unsigned i = 0; i < in->outputs; i++) {
        if (in->output[i]->domain == PREDICATE)
            fprintf(out, "    selp.u32 %%word, 1, 0, %%d%u;\n    st.global.u32 [%%to+%u], %%word;\n", i, i * SLOT);
        else
            fprintf(out, "    st.global.%s [%%to+%u], %%d%u;\n", in->output[i]->reg, i * SLOT, i);
    }
    fputs("    ret;\n}\n", out);
}

/* ---- inputs ---- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Each list begins with the values that matter most: products of three lists take the first eight only. */

static const uint64_t special_integers[] = {
    0,
    1,
    UINT64_MAX,
    UINT64_C(1) << 63,
    INT64_MAX,
    2,
    UINT64_C(0x5555555555555555),
    UINT64_C(0x8001800180018001),
    3,
    UINT64_MAX - 1,
    7,
    8,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x10000,
    0xff80,
    0x7fffff,
    0x800000,
    0xffffff,
    0x1000000,
    0x1000001,
    0x7fffffff,
    0x80000000,
    0x80000001,
    0xffffffff,
    UINT64_C(0x100000000),
    UINT64_C(0x100000001),
    UINT64_C(0xffffffff00000000),
    UINT64_C(0xffffffff7fffffff),
    UINT64_C(0xffffffff80000000),
    UINT64_C(0xaaaaaaaaaaaaaaaa),
    UINT64_C(0x7f807f807f807f80),
    UINT64_C(0x20000000000000),
    UINT64_C(0x20000000000001),
    UINT64_C(0x7fffffffffffffc0),
    UINT64_C(0xfffffffffffffc00),
    UINT64_C(0x7fffff4000000000),
    UINT64_C(0x0123456789abcdef),
    65504,
    65519,
    65520,
    65535,
    2049,
    2051,
    257,
    259,
    16777219,
};

static const uint64_t special_counts[] = {
    0,  1,  31, 32,  33,  8,   16,  255, 7,   15,  17,  24,     30,      34,         47,         48,         62,
    63, 64, 65, 100, 127, 128, 254, 256, 257, 288, 511, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 0xffffffe0,
};

static const uint64_t special_f16[] = {
    0x0000, 0x8000, 0x3c00, 0x7c00, 0x7d55, 0x0001, 0x7bff, 0xbe00, 0xfc00, 0x7e00, 0xfe01, 0x8001, 0x03ff, 0x83ff, 0x0400,
    0x8400, 0xfbff, 0x3c01, 0x3bff, 0xbc00, 0x3800, 0xb800, 0x4100, 0xc100, 0x3e00, 0x57f8, 0x57f9, 0x57f7, 0x5bf8, 0x5c00,
    0xd800, 0xd801, 0x7800, 0x77ff, 0x0200, 0x0002, 0x7fff, 0x7c01, 0xffff, 0x4248, 0x6400, 0x6401, 0x1400, 0x13ff, 0x4200,
};

static const uint64_t special_f32[] = {
    0x00000000, 0x80000000, 0x3f800000, 0x7f800000, 0x7fa00001, 0x00000001, 0x7f7fffff, 0xbfc00000, 0xff800000, 0x7fc00000,
    0xffc00123, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0xff7fffff, 0x3f800001, 0x3f7fffff, 0xbf800000,
    0x3f000000, 0xbf000000, 0x40200000, 0xc0200000, 0x3fc00000, 0x42ff0000, 0x43000000, 0x43000001, 0x437f8000, 0x437fffff,
    0xc3008000, 0xc3010000, 0x46fffe00, 0x46fffeff, 0x47000000, 0x477fff00, 0x477fff80, 0x477fe000, 0x477fefff, 0x477ff000,
    0x47800000, 0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000, 0xdf000000,
    0xdf000001, 0x5f7fffff, 0x5f800000, 0x33000000, 0x33000001, 0x33800000, 0x387fc000, 0x387fdfff, 0x387fe000, 0x38800000,
    0x7f7f8000, 0x7f7f7fff, 0x3f808000, 0x3f818000, 0x00400000, 0x7fffffff, 0x7f800001, 0x40490fdb, 0x4b000001, 0x4a800001,
    0x7e800000, 0x7f000000, 0xbeffffff, 0x3effffff, 0x3f001000, 0x3f003000,
};

static const uint64_t special_f64[] = {
    UINT64_C(0x0000000000000000), UINT64_C(0x8000000000000000), UINT64_C(0x3ff0000000000000), UINT64_C(0x7ff0000000000000),
    UINT64_C(0x7ff4000000000001), UINT64_C(0x0000000000000001), UINT64_C(0x7fefffffffffffff), UINT64_C(0xbff8000000000000),
    UINT64_C(0xfff0000000000000), UINT64_C(0x7ff8000000000000), UINT64_C(0xfff8000000000123), UINT64_C(0x8000000000000001),
    UINT64_C(0x000fffffffffffff), UINT64_C(0x800fffffffffffff), UINT64_C(0x0010000000000000), UINT64_C(0x8010000000000000),
    UINT64_C(0xffefffffffffffff), UINT64_C(0x3ff0000000000001), UINT64_C(0x3fefffffffffffff), UINT64_C(0xbff0000000000000),
    UINT64_C(0x3fe0000000000000), UINT64_C(0xbfe0000000000000), UINT64_C(0x4004000000000000), UINT64_C(0xc004000000000000),
    UINT64_C(0x3ff8000000000000), UINT64_C(0x405fe00000000000), UINT64_C(0x406ff00000000000), UINT64_C(0xc060100000000000),
    UINT64_C(0x40dfffc000000000), UINT64_C(0x40efffe000000000), UINT64_C(0x40efffefffffffff), UINT64_C(0x40effc0000000000),
    UINT64_C(0x40effe0000000000), UINT64_C(0x40effdffffffffff), UINT64_C(0x41dfffffffc00000), UINT64_C(0x41dfffffffe00000),
    UINT64_C(0x41e0000000000000), UINT64_C(0xc1e0000000000000), UINT64_C(0xc1e0000000100000), UINT64_C(0x41efffffffe00000),
    UINT64_C(0x41f0000000000000), UINT64_C(0x43dfffffffffffff), UINT64_C(0x43e0000000000000), UINT64_C(0xc3e0000000000000),
    UINT64_C(0xc3e0000000000001), UINT64_C(0x43efffffffffffff), UINT64_C(0x43f0000000000000), UINT64_C(0x47efffffe0000000),
    UINT64_C(0x47efffffefffffff), UINT64_C(0x47effffff0000000), UINT64_C(0x47f0000000000000), UINT64_C(0x3810000000000000),
    UINT64_C(0x380fffffffffffff), UINT64_C(0x36a0000000000000), UINT64_C(0x3690000000000000), UINT64_C(0x3690000000000001),
    UINT64_C(0x3ff0000010000000), UINT64_C(0x3ff0000030000000), UINT64_C(0x3ff0000010000001), UINT64_C(0x3f10000000000000),
    UINT64_C(0x3e70000000000000), UINT64_C(0x3e60000000000000), UINT64_C(0x3e60000000000001), UINT64_C(0x400921fb54442d18),
    UINT64_C(0x4330000000000001), UINT64_C(0x7fffffffffffffff), UINT64_C(0x7ff0000000000001), UINT64_C(0x3fdfffffffffffff),
};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static size_t special_count(const struct kind *kind)
{
    switch (kind->domain) {
    case PREDICATE:
        return 2;
    case INTEGER:
    case NONZERO:
        return LENGTH(special_integers);
    case COUNT:
        return LENGTH(special_counts);
    case LANE:
        return 32;
    case OFFSET:
        return 67;
    default:
        break;
    }
    switch (kind->format) {
    case F16:
        return LENGTH(special_f16);
    case F64:
        return LENGTH(special_f64);
    default:
        return LENGTH(special_f32);
    }
}

static uint64_t special_part(enum format format, size_t index)
{
    switch (format) {
    case F16:
        return special_f16[index % LENGTH(special_f16)];
    case F64:
        return special_f64[index % LENGTH(special_f64)];
    case BF16: {
        uint64_t wide = special_f32[index % LENGTH(special_f32)];

        /* Values that differ only in the lower half become the next number, so that few values come twice. */
        return wide >> 16 | ((wide & 0xffff) != 0 && (wide & 0x7fff) < 0x1000);
    }
    default:
        return special_f32[index % LENGTH(special_f32)];
    }
}

static uint64_t special(const struct kind *kind, size_t index)
{
    uint64_t value;

    switch (kind->domain) {
    case PREDICATE:
        return index & 1;
    case INTEGER:
    case NONZERO:
        value = special_integers[index];
        if (index == 3)
            value = UINT64_C(1) << (kind->bits - 1);
        if (index == 4)
            value = low_bits(kind->bits - 1);
        value &= low_bits(kind->bits);
        return kind->domain == NONZERO && value == 0 ? 3 : value;
    case COUNT:
        return special_counts[index];
    case LANE:
        return (index * 5 + 31) % 32;
    case OFFSET:
        return (uint64_t)((int64_t)((index * 8) % 67) - 33) & low_bits(32);
    default:
        break;
    }
    value = special_part(kind->format, index);
    if (kind->domain == ANGLE && is_finite(F32, value) && (value & 0x7fffffff) > 0x40490fdb)
        value = (value & 0x80000000) | 0x3f000000 | (value & 0x7fffff);
    if (kind->parts == 2)
        value |= special_part(kind->format, index * 7 + 3) << 16;
    return value;
}

/* A number that has few bits set is likely to lie halfway between two others once rounded. */
static uint64_t few_bits(uint64_t *state, unsigned bits)
{
    uint64_t all = next_random(state) & low_bits(bits);
    unsigned cut = (unsigned)(next_random(state) % (bits + 1));

    return all >> cut << cut;
}

static uint64_t random_float(enum format format, uint64_t *state)
{
    const struct shape *shape = &shapes[format];
    uint64_t choice = next_random(state), raw = next_random(state) & low_bits(shape->bits);
    uint64_t sign = raw >> (shape->bits - 1) << (shape->bits - 1), mantissa = raw & low_bits(shape->mantissa);
    int largest = 2 * shape->bias, exponent;

    switch (choice % 8) {
    case 0:
    case 1:
        return raw;
    case 2:
        return special_part(format, (size_t)(choice >> 8) % 64);
    case 3:
        exponent = (int)((choice >> 8) % (uint64_t)(largest + 1));
        mantissa = few_bits(state, shape->mantissa);
        break;
    case 4:
    case 5:
        exponent = shape->bias + (int)((choice >> 8) % 25) - 12;
        break;
    case 6:
        exponent = shape->bias + (int)((choice >> 8) % 5) - 2;
        mantissa = few_bits(state, shape->mantissa);
        break;
    default:
        exponent = shape->bias - 2 + (int)((choice >> 8) % 70);
        mantissa = few_bits(state, shape->mantissa);
        break;
    }
    if (exponent < 0)
        exponent = 0;
    if (exponent > largest)
        exponent = largest;
    return sign | (uint64_t)exponent << shape->mantissa | mantissa;
}

/* A number of few bits, or one next to it: a narrower number, or halfway between two. Exponents are those of f16 and around 1. */
static uint64_t random_tie(enum format format, uint64_t *state)
{
    const struct shape *shape = &shapes[format];
    uint64_t choice = next_random(state), raw = next_random(state);
    unsigned kept = (unsigned)(choice % 13) < shape->mantissa ? (unsigned)(choice % 13) : shape->mantissa;
    uint64_t mantissa = (raw & low_bits(kept)) << (shape->mantissa - kept);
    int range = choice >> 8 & 1 ? 44 : 16, exponent = shape->bias + 16 - (int)((choice >> 9 & 0xffff) % (unsigned)range);
    uint64_t bits = (uint64_t)(exponent < 0 ? 0 : exponent) << shape->mantissa | mantissa;
    unsigned beside = (unsigned)(choice >> 32 & 3);

    bits += beside == 0 && bits > 0 ? UINT64_MAX : beside == 1;
    return bits | (choice >> 40 & 1) << (shape->bits - 1);
}

static uint64_t random_value(const struct kind *kind, uint64_t *state)
{
    uint64_t choice = next_random(state), raw = next_random(state), value;

    if (choice % 8 == 0)
        return special(kind, (size_t)(choice >> 8) % special_count(kind));
    switch (kind->domain) {
    case PREDICATE:
        return raw & 1;
    case INTEGER:
    case NONZERO:
        value = (raw & low_bits(kind->bits)) >> (choice >> 8) % kind->bits;
        if (choice >> 32 & 1)
            value = ~value & low_bits(kind->bits);
        return kind->domain == NONZERO && value == 0 ? 3 : value;
    case COUNT:
        return choice >> 32 & 3 ? raw % 72 : raw % 300;
    case LANE:
        return raw % 32;
    case OFFSET:
        return (uint64_t)((int64_t)(raw % 67) - 33) & low_bits(32);
    case ANGLE:
        return (raw & 0x807fffff) | (uint64_t)(127 - (choice >> 8) % 12) << 23;
    case EXPONENT:
        return (raw & 0x807fffff) | (uint64_t)(134 - (choice >> 8) % 16) << 23;
    case TIE:
        value = random_tie(kind->format, state);
        return kind->parts == 2 ? value | random_tie(kind->format, state) << 16 : value;
    case FLOAT:
        break;
    }
    value = random_float(kind->format, state);
    if (kind->parts == 2)
        value |= random_float(kind->format, state) << 16;
    return value;
}

/* Make the last of two or three like numbers cancel most of the others' sum or product. */
static void cancel(enum format format, unsigned inputs, uint64_t *value, uint64_t random)
{
    const struct shape *shape = &shapes[format];
    uint64_t sign = UINT64_C(1) << (shape->bits - 1);
    uint64_t exponents = low_bits(shape->bits - 1 - shape->mantissa);

    if (inputs == 2) {
        value[1] = value[0] ^ (random & 1 ? sign : 0) ^ (random >> 1 & 3);
    } else if (inputs == 3) {
        uint64_t a = value[0] >> shape->mantissa & exponents, b = value[1] >> shape->mantissa & exponents;
        int64_t sum = (int64_t)a + (int64_t)b - shape->bias + (int64_t)(random & 1);

        if (sum >= 0 && sum < (int64_t)exponents)
            value[2] = ((value[0] ^ value[1] ^ sign) & sign) | (uint64_t)sum << shape->mantissa |
                       (random >> 1 & low_bits(shape->mantissa));
    }
}

static uint64_t fnv_text(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* Special values in all combinations first (as many of each list as leave room for random ones), then random ones. */
static void make_inputs(const struct instruction *in, uint64_t value[INPUTS][OPERANDS])
{
    static const size_t each[] = {0, SIZE_MAX, 24, 8, 4};
    uint64_t state = input_seed ^ fnv_text(in->name);
    size_t products = in->inputs == 0 || in->inputs >= LENGTH(each) ? 0 : 1;
    size_t length[OPERANDS];
    bool alike = in->inputs > 0 && in->input[0]->domain == FLOAT && in->input[0]->parts == 1;

    for (unsigned k = 0; k < in->inputs; k++) {
        length[k] = special_count(in->input[k]);
        if (in->inputs < LENGTH(each) && length[k] > each[in->inputs])
            length[k] = each[in->inputs];
        products *= length[k];
        alike = alike && in->input[k] == in->input[0];
    }
    for (size_t i = 0; i < INPUTS; i++) {
        size_t rest = i;

        for (unsigned k = 0; k < in->inputs; k++) {
            if (i < products) {
                value[i][k] = special(in->input[k], rest % length[k]);
                rest /= length[k];
            } else {
                value[i][k] = random_value(in->input[k], &state);
            }
        }
        if (i >= products && alike) {
            uint64_t random = next_random(&state);

            if (random % 8 == 0)
                cancel(in->input[0]->format, in->inputs, value[i], random >> 3);
        }
    }
}

/* ---- running ---- */

/* Run one instruction. On an error its text is in message and the context is a new one, as errors of a launch stay. */
static bool run(struct driver *driver, const struct instruction *in, uint64_t input[INPUTS][OPERANDS],
                uint64_t output[INPUTS][OPERANDS], char *message, size_t message_bytes)
{
    enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6 }; /* CU_JIT_ERROR_LOG_BUFFER and its size */
    static uint64_t slots[INPUTS * OPERANDS];
    char log[LOG_BYTES] = "", *ptx = NULL;
    int options[] = {ERROR_LOG, ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    void *module = NULL, *function = NULL, *arguments[] = {&driver->inputs, &driver->outputs};
    const char *what = "cuModuleLoadDataEx";
    size_t length = 0;
    FILE *text = open_memstream(&ptx, &length);
    int error;

    if (!text)
        fail("out of memory");
    write_kernel(text, in);
    if (fclose(text) != 0)
        fail("out of memory");
    make_inputs(in, input);
    error = driver->module_load(&module, ptx, 2, options, values);
    if (error)
        goto done;
    what = "cuModuleGetFunction";
    error = driver->module_function(&function, module, "vector");
    if (error)
        goto done;
    for (size_t i = 0; i < INPUTS; i++)
        for (unsigned k = 0; k < in->inputs; k++)
            slots[i * in->inputs + k] = input[i][k];
    what = "cuMemcpyHtoD";
    error = driver->to_device(driver->inputs, slots, sizeof slots);
    if (error)
        goto done;
    memset(slots, 0xa5, sizeof slots);
    error = driver->to_device(driver->outputs, slots, sizeof slots);
    if (error)
        goto done;
    what = "cuLaunchKernel";
    error = driver->launch(function, INPUTS / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, arguments, NULL);
    if (error)
        goto done;
    what = "cuCtxSynchronize";
    error = driver->context_synchronize();
    if (error)
        goto done;
    what = "cuMemcpyDtoH";
    error = driver->to_host(slots, driver->outputs, sizeof slots);
    if (error)
        goto done;
    for (size_t i = 0; i < INPUTS; i++)
        for (unsigned k = 0; k < in->outputs; k++)
            output[i][k] = slots[i * in->outputs + k] & low_bits(in->output[k]->bits);
done:
    if (error) {
        log[sizeof log - 1] = '\0';
        snprintf(message, message_bytes, "%s: %s (%d)%s%s", what, error_name(driver, error), error, *log ? ": " : "",
                 trim(log));
        if (module) {
            must(driver, driver->context_reset(driver->device), "cuDevicePrimaryCtxReset");
            open_context(driver);
        }
    } else {
        must(driver, driver->module_unload(module), "cuModuleUnload");
    }
    free(ptx);
    return error == 0;
}

/* ---- digests and comparison ---- */

struct digest {
    uint64_t all;
    uint8_t chunk[CHUNKS];
};

/* Outputs that are NaN get the pattern of one NaN, unless bits matter. */
static void unify_nans(const struct instruction *in, uint64_t output[INPUTS][OPERANDS])
{
    if (in->compare == BITS)
        return;
    for (size_t i = 0; i < INPUTS; i++) {
        for (unsigned k = 0; k < in->outputs; k++) {
            const struct kind *kind = in->output[k];
            unsigned width = kind->format ? shapes[kind->format].bits : 0;

            for (unsigned part = 0; kind->format && part < kind->parts; part++) {
                uint64_t mask = low_bits(width) << part * width;

                if (is_nan(kind->format, (output[i][k] & mask) >> part * width))
                    output[i][k] = (output[i][k] & ~mask) | low_bits(width - 1) << part * width;
            }
        }
    }
}

static struct digest digest_outputs(const struct instruction *in, uint64_t output[INPUTS][OPERANDS])
{
    const uint64_t start = UINT64_C(0xcbf29ce484222325), prime = UINT64_C(0x100000001b3);
    struct digest digest = {start, {0}};

    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        uint64_t hash = start;

        for (size_t i = chunk * (INPUTS / CHUNKS); i < (chunk + 1) * (INPUTS / CHUNKS); i++)
            for (unsigned k = 0; k < in->outputs; k++)
                for (unsigned byte = 0; byte * 8 < in->output[k]->bits; byte++) {
                    uint64_t value = output[i][k] >> byte * 8 & 0xff;

                    digest.all = (digest.all ^ value) * prime;
                    hash = (hash ^ value) * prime;
                }
        hash ^= hash >> 32;
        hash ^= hash >> 16;
        digest.chunk[chunk] = (uint8_t)(hash ^ hash >> 8);
    }
    return digest;
}

static size_t sample_count(const struct instruction *in)
{
    unsigned digits = 0;

    for (unsigned k = 0; k < in->outputs; k++)
        digits += hex_digits(in->output[k]);
    if (in->compare == ULP || in->compare == RELATIVE)
        return SAMPLE_NEAR;
    return digits > 8 ? SAMPLE_WIDE : SAMPLE;
}

/* Which input the sample of that number is: one of each equal stretch, at another place in each. */
static size_t sample_input(size_t sample, size_t count)
{
    size_t stretch = INPUTS / count;

    return sample * stretch + sample % stretch;
}

static void print_operands(FILE *out, unsigned count, const struct kind *const *kind, const uint64_t *value)
{
    for (unsigned k = 0; k < count; k++)
        fprintf(out, "%s%0*" PRIx64, k ? ":" : "", (int)hex_digits(kind[k]), value[k]);
}

static bool near_part(const struct instruction *in, enum format format, uint64_t got, uint64_t want)
{
    const struct shape *shape = &shapes[format];
    uint64_t sign = UINT64_C(1) << (shape->bits - 1), a = got & ~sign, b = want & ~sign;

    if (got == want)
        return true;
    if (!is_finite(format, got) || !is_finite(format, want))
        return false;
    if (in->compare == ULP) {
        uint64_t apart = (got ^ want) & sign ? a + b : a > b ? a - b : b - a;

        return (a | b) != 0 && apart <= in->ulp;
    } else {
        double x = number(format, got), y = number(format, want), apart = fabs(x - y);

        if ((a | b) == 0)
            return false; /* zeros of different sign */
        return apart <= ldexp(fabs(y), -in->relative) || (in->absolute && apart <= ldexp(1, -in->absolute));
    }
}

static bool near_enough(const struct instruction *in, const uint64_t *got, const uint64_t *want)
{
    for (unsigned k = 0; k < in->outputs; k++) {
        const struct kind *kind = in->output[k];
        unsigned width;

        if (got[k] == want[k])
            continue;
        if (in->compare != ULP && in->compare != RELATIVE)
            return false;
        width = shapes[kind->format].bits;
        for (unsigned part = 0; part < kind->parts; part++)
            if (!near_part(in, kind->format, got[k] >> part * width & low_bits(width),
                           want[k] >> part * width & low_bits(width)))
                return false;
    }
    return true;
}

struct golden {
    char *name;
    struct digest digest;
    char *samples; /* outputs in hexadecimal, those of one input joined by ':', inputs by ',' */
};

static struct golden *read_golden(const char *path, size_t *count)
{
    FILE *file = golden_open(path, "r");
    struct golden *all = NULL;
    char *text = NULL;
    size_t room = 0;

    *count = 0;
    if (!file)
        fail("cannot open '%s': %s", path, strerror(errno));
    for (unsigned line = 1; getline(&text, &room, file) > 0; line++) {
        struct golden golden;
        char *save = NULL, *rest = trim(text), *name, *digest, *chunks, *samples;

        if (*rest == '\0' || *rest == '#')
            continue;
        name = strtok_r(rest, " ", &save);
        digest = strtok_r(NULL, " ", &save);
        chunks = strtok_r(NULL, " ", &save);
        samples = strtok_r(NULL, " ", &save);
        if (!samples || strlen(chunks) != CHUNKS * 2)
            fail("%s:%u: not a line of a golden file", path, line);
        golden.name = strdup(name);
        golden.samples = strdup(samples);
        if (!golden.name || !golden.samples)
            fail("out of memory");
        golden.digest.all = strtoull(digest, NULL, 16);
        for (size_t i = 0; i < CHUNKS; i++) {
            char two[3] = {chunks[2 * i], chunks[2 * i + 1], '\0'};

            golden.digest.chunk[i] = (uint8_t)strtoul(two, NULL, 16);
        }
        all = allocate(all, (*count + 1) * sizeof *all);
        all[(*count)++] = golden;
    }
    free(text);
    if (!golden_close(file))
        fail("cannot read '%s'", path);
    return all;
}

static void print_difference(const struct instruction *in, size_t input, const uint64_t *inputs, const uint64_t *got,
                             const uint64_t *want)
{
    printf("FAIL %s: input %zu (", in->name, input);
    print_operands(stdout, in->inputs, in->input, inputs);
    printf(") gave ");
    print_operands(stdout, in->outputs, in->output, got);
    printf(", recorded ");
    print_operands(stdout, in->outputs, in->output, want);
    printf("    %s\n", in->statement);
}

/* Compare with the record; print the first difference. */
static bool check_outputs(const struct instruction *in, const struct golden *golden, uint64_t input[INPUTS][OPERANDS],
                          uint64_t output[INPUTS][OPERANDS])
{
    struct digest digest = digest_outputs(in, output);
    size_t count = sample_count(in);
    const char *text = golden->samples;

    if (digest.all == golden->digest.all)
        return true;
    for (size_t sample = 0; sample < count; sample++) {
        size_t i = sample_input(sample, count);
        uint64_t want[OPERANDS];

        for (unsigned k = 0; k < in->outputs; k++) {
            char *end;

            want[k] = strtoull(text, &end, 16);
            if (end == text || *end != (k + 1 < in->outputs ? ':' : sample + 1 < count ? ',' : '\0')) {
                printf("FAIL %s: the record has other outputs than the table; record it again\n", in->name);
                return false;
            }
            text = end + 1;
        }
        if (!near_enough(in, output[i], want)) {
            print_difference(in, i, input[i], output[i], want);
            return false;
        }
    }
    if (in->compare == ULP || in->compare == RELATIVE)
        return true;
    printf("FAIL %s: none of the samples, but inputs among", in->name);
    for (size_t chunk = 0; chunk < CHUNKS; chunk++)
        if (digest.chunk[chunk] != golden->digest.chunk[chunk])
            printf(" %zu..%zu", chunk * (INPUTS / CHUNKS), (chunk + 1) * (INPUTS / CHUNKS) - 1);
    printf("; compare the output of 'show'    %s\n", in->statement);
    return false;
}

/* ---- commands ---- */

static uint64_t input[INPUTS][OPERANDS], output[INPUTS][OPERANDS];

static void write_record(FILE *out, const struct instruction *in)
{
    struct digest digest = digest_outputs(in, output);
    size_t count = sample_count(in);

    fprintf(out, "%s %016" PRIx64 " ", in->name, digest.all);
    for (size_t i = 0; i < CHUNKS; i++)
        fprintf(out, "%02x", digest.chunk[i]);
    for (size_t sample = 0; sample < count; sample++) {
        fputc(sample ? ',' : ' ', out);
        print_operands(out, in->outputs, in->output, output[sample_input(sample, count)]);
    }
    fputc('\n', out);
}

static int record(struct driver *driver, const struct table *table, const char *path)
{
    char message[LOG_BYTES + 256], *text = NULL;
    size_t length = 0, failed = 0;
    FILE *memory = open_memstream(&text, &length), *file;

    if (!memory)
        fail("out of memory");
    fprintf(memory,
            "# What a device of sm_%u gave for the instructions of instructions.txt, written by 'vectors record'.\n"
            "# Name, digest of the %d outputs, digests of %d equal stretches, samples of the outputs.\n",
            driver->sm, INPUTS, CHUNKS);
    for (size_t i = 0; i < table->count; i++) {
        const struct instruction *in = &table->instruction[i];

        if (in->sm > driver->sm) {
            printf("FAIL %s: needs sm_%u\n", in->name, in->sm);
            failed++;
        } else if (!run(driver, in, input, output, message, sizeof message)) {
            printf("FAIL %s: %s\n", in->name, message);
            failed++;
        } else {
            unify_nans(in, output);
            write_record(memory, in);
        }
    }
    if (fclose(memory) != 0)
        fail("out of memory");
    if (failed == 0) {
        file = golden_open(path, "w");
        if (!file || fwrite(text, 1, length, file) != length || !golden_close(file))
            fail("cannot write '%s'", path);
    }
    free(text);
    printf("emulator/vectors: %zu instructions, %zu failed%s\n", table->count, failed, failed ? "; nothing written" : "");
    return failed ? 1 : 0;
}

static int check(struct driver *driver, const struct table *table, const char *path)
{
    char message[LOG_BYTES + 256];
    size_t count, failed = 0, skipped = 0, next = 0;
    struct golden *golden = read_golden(path, &count);

    for (size_t i = 0; i < table->count; i++) {
        const struct instruction *in = &table->instruction[i];
        const struct golden *found = NULL;

        if (in->sm > driver->sm) {
            skipped++;
            continue;
        }
        for (size_t k = 0; k < count && !found; k++)
            if (strcmp(golden[(next + k) % count].name, in->name) == 0)
                found = &golden[next = (next + k) % count];
        if (!found) {
            printf("FAIL %s: no record; record the table again\n", in->name);
            failed++;
        } else if (!run(driver, in, input, output, message, sizeof message)) {
            printf("FAIL %s: %s    %s\n", in->name, message, in->statement);
            failed++;
        } else {
            unify_nans(in, output);
            failed += check_outputs(in, found, input, output) ? 0 : 1;
        }
    }
    for (size_t i = 0; i < count; i++) {
        free(golden[i].name);
        free(golden[i].samples);
    }
    free(golden);
    if (skipped)
        printf("emulator/vectors: %zu more need a later device than sm_%u\n", skipped, driver->sm);
    printf("emulator/vectors: %zu instructions, %zu failed\n", table->count - skipped, failed);
    return failed ? 1 : 0;
}

static int show(struct driver *driver, const struct table *table, const char *pattern)
{
    char message[LOG_BYTES + 256];
    size_t shown = 0, failed = 0;

    for (size_t i = 0; i < table->count; i++) {
        const struct instruction *in = &table->instruction[i];

        if (in->sm > driver->sm || fnmatch(pattern, in->name, 0) != 0)
            continue;
        shown++;
        if (!run(driver, in, input, output, message, sizeof message)) {
            printf("%s: %s\n", in->name, message);
            failed++;
            continue;
        }
        unify_nans(in, output);
        for (size_t k = 0; k < INPUTS; k++) {
            printf("%s %zu ", in->name, k);
            print_operands(stdout, in->inputs, in->input, input[k]);
            printf(" -> ");
            print_operands(stdout, in->outputs, in->output, output[k]);
            putchar('\n');
        }
    }
    if (shown == 0)
        fail("no instruction for sm_%u matches '%s'", driver->sm, pattern);
    return failed ? 1 : 0;
}

static int print(const struct table *table, const char *pattern)
{
    size_t shown = 0;

    for (size_t i = 0; i < table->count; i++) {
        if (fnmatch(pattern, table->instruction[i].name, 0) != 0)
            continue;
        if (shown++)
            putchar('\n');
        write_kernel(stdout, &table->instruction[i]);
    }
    if (shown == 0)
        fail("no instruction matches '%s'", pattern);
    return 0;
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    bool runs = strcmp(command, "record") == 0 || strcmp(command, "check") == 0 || strcmp(command, "show") == 0;
    struct table table;
    int status = 0;

    if (runs && argc == 5) {
        struct driver driver;

        table = read_table(argv[3]);
        driver = open_driver(argv[2], (size_t)INPUTS * OPERANDS * SLOT, (size_t)INPUTS * OPERANDS * SLOT);
        if (*command == 'r')
            status = record(&driver, &table, argv[4]);
        else if (*command == 'c')
            status = check(&driver, &table, argv[4]);
        else
            status = show(&driver, &table, argv[4]);
        driver.context_reset(driver.device);
    } else if (strcmp(command, "print") == 0 && argc == 4) {
        table = read_table(argv[2]);
        status = print(&table, argv[3]);
    } else if (strcmp(command, "list") == 0 && argc == 3) {
        table = read_table(argv[2]);
        for (size_t i = 0; i < table.count; i++)
            puts(table.instruction[i].name);
    } else {
        fputs("usage: vectors record|check LIBCUDA TABLE GOLDEN\n"
              "       vectors show LIBCUDA TABLE PATTERN\n"
              "       vectors print TABLE PATTERN\n"
              "       vectors list TABLE\n",
              stderr);
        return 2;
    }
    free_table(&table);
    if (fflush(stdout) != 0)
        fail("cannot write the output: %s", strerror(errno));
    return status;
}
