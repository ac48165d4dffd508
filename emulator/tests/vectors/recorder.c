/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "recorder.h"

#include "golden.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNKS = 32,       /* a short digest each, to say where outputs differ */
    SAMPLES = 4,       /* threads whose outputs are kept, */
    SAMPLE_WORDS = 16, /* of each at most so many */
    LOG_BYTES = 4096
};

static const uint64_t input_seed = UINT64_C(0x74696c656a69746d);
static const char *program;

void fail(const char *format, ...)
{
    va_list arguments;

    fprintf(stderr, "emulator/%s: ", program ? program : "recorder");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

/* ---- the operations ---- */

static struct operation operation[512];
static size_t operations;

struct operation *new_operation(const char *name, unsigned sm, const char *version)
{
    struct operation *op = &operation[operations];

    if (operations++ == sizeof operation / sizeof *operation)
        fail("more operations than there is room for");
    snprintf(op->name, sizeof op->name, "%s", name);
    op->sm = sm;
    op->version = version;
    op->suffix = "";
    op->threads = 32;
    op->sets = 512;
    op->shared_bytes = 4096;
    op->alignment = 128;
    return op;
}

void add_inputs(struct operation *op, unsigned count, enum fill fill)
{
    if (op->inputs + count > MAX_INPUTS)
        fail("%s has more than %d inputs", op->name, MAX_INPUTS);
    op->numbered += fill == NUMBERED ? count : 0;
    for (unsigned i = 0; i < count; i++)
        op->fill[op->inputs++] = fill;
}

void write_list(FILE *out, const char *prefix, unsigned first, unsigned count)
{
    fputc('{', out);
    for (unsigned i = 0; i < count; i++)
        fprintf(out, "%s%%%s%u", i ? ", " : "", prefix, first + i);
    fputc('}', out);
}

FILE *open_body(struct operation *op, size_t *length)
{
    FILE *out = open_memstream(&op->body, length);

    if (!out)
        fail("out of memory");
    return out;
}

static void write_kernel(FILE *out, const struct operation *op)
{
    fprintf(out, ".version %s\n.target sm_%u%s\n.address_size 64\n\n", op->version, op->sm, op->suffix);
    fputs(".visible .entry operate(.param .u64 inputs, .param .u64 outputs)\n{\n", out);
    fprintf(out, "    .shared .align %u .b8 memory[%u];\n", op->alignment, op->shared_bytes);
    fputs("    .reg .b32 %lane, %block, %index, %word, %tile, %slot;\n"
          "    .reg .b64 %from, %to, %wide;\n    .reg .pred %p;\n",
          out);
    fprintf(out, "    .reg .b32 %%i<%u>, %%o<%u>;\n", op->inputs, op->outputs);
    fputs("    mov.u32 %lane, %tid.x;\n    mov.u32 %block, %ctaid.x;\n    mov.u32 %index, %ntid.x;\n"
          "    mad.lo.u32 %index, %block, %index, %lane;\n    mov.u32 %tile, memory;\n    mad.lo.u32 %slot, %lane, 64, %tile;\n"
          "    ld.param.u64 %from, [inputs];\n    cvta.to.global.u64 %from, %from;\n"
          "    ld.param.u64 %to, [outputs];\n    cvta.to.global.u64 %to, %to;\n",
          out);
    fprintf(out, "    mad.wide.u32 %%from, %%index, %u, %%from;\n", op->inputs * 4);
    fprintf(out, "    mad.wide.u32 %%to, %%index, %u, %%to;\n", op->outputs * 4);
    for (unsigned i = 0; i < op->inputs; i++)
        fprintf(out, "    ld.global.b32 %%i%u, [%%from+%u];\n", i, i * 4);
    fputs(op->body, out);
    for (unsigned i = 0; i < op->outputs; i++)
        fprintf(out, "    st.global.b32 [%%to+%u], %%o%u;\n", i * 4, i);
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

struct format {
    unsigned exponent, fraction;
};

/* A number of a format, or nearly: exponents out of range become those at its ends. */
static uint64_t compose(struct format f, uint64_t is_negative, int exponent, uint64_t fraction)
{
    const int bias = (1 << (f.exponent - 1)) - 1, top = 2 * bias;
    const int biased = exponent + bias < 0 ? 0 : exponent + bias > top ? top : exponent + bias;

    return (is_negative & 1) << (f.exponent + f.fraction) | (uint64_t)biased << f.fraction |
           (fraction & ((UINT64_C(1) << f.fraction) - 1));
}

/* How the numbers of a set of matrices are spread. */
enum spread {
    MODERATE,   /* 2^-2 to 2^2 */
    ONE,        /* 1 to 2, either sign */
    EVERYTHING, /* all bits random: infinities and NaN with them */
    RANGE,      /* all finite exponents */
    POWERS,     /* +-2^-2 to 2^2, exactly: sums are often zero */
    BIG_SMALL,  /* a few large powers of two among small numbers */
    SUBNORMAL,  /* and zeros, and some others to multiply with */
    ZEROS,      /* of either sign, few other numbers */
    INFINITE,   /* some infinities */
    NOT_NUMBER, /* few NaN and infinities */
    LARGEST,    /* near overflow */
    TINY,       /* products near underflow */
    BIG_C,      /* C far above the products, */
    SMALL_C,    /* or below */
    STEPS,      /* powers of two with the lowest bit set, far apart: what is cut off? */
    SPARSE,     /* mostly zeros */
    VANISHING,  /* products at and below the smallest subnormal number of C */
    SPREADS
};

static uint64_t random_float(struct format f, enum spread spread, bool is_c, uint64_t *state)
{
    const uint64_t r = next_random(state), fraction = next_random(state), sign = r >> 63;
    const int range = 1 << f.exponent, bias = range / 2 - 1;
    const int wide = (int)(r >> 8 & 0xffff), few = (int)(r >> 24 & 0xff), kind = (int)(r & 0xff);
    const uint64_t infinity = ((UINT64_C(1) << f.exponent) - 1) << f.fraction;

    switch (spread) {
    case ONE:
        return compose(f, sign, 0, fraction);
    case EVERYTHING:
        return fraction & ((UINT64_C(2) << (f.exponent + f.fraction)) - 1);
    case RANGE:
        return compose(f, sign, wide % range - bias, fraction);
    case POWERS:
        return compose(f, sign, few % 5 - 2, 0);
    case BIG_SMALL:
        return kind < 64 ? compose(f, sign, bias / 2 - 3 + few % 3, 0) : compose(f, sign, few % 8 - 6, fraction);
    case SUBNORMAL:
        return kind < 100 ? compose(f, sign, -bias, fraction) : compose(f, sign, few % bias, kind < 180 ? fraction : 0);
    case ZEROS:
        return kind < 220 ? compose(f, sign, -bias, 0) : compose(f, sign, few % 3, 0);
    case INFINITE:
        return kind < 16 ? infinity | sign << (f.exponent + f.fraction) : compose(f, sign, few % 9 - 4, fraction);
    case NOT_NUMBER:
        if (kind < 4)
            return infinity | sign << (f.exponent + f.fraction) | (fraction & ((UINT64_C(1) << f.fraction) - 1));
        return kind < 10 ? infinity : compose(f, sign, few % 9 - 4, fraction);
    case LARGEST:
        return compose(f, sign, is_c ? bias - few % 3 : bias / 2 - few % 3 + 1, fraction);
    case TINY:
        return compose(f, sign, is_c ? few % 24 - bias - 2 : few % 12 - bias / 2 - 9, fraction);
    case BIG_C:
        return compose(f, sign, is_c ? 10 + few % 20 : few % 4 - 2, fraction);
    case SMALL_C:
        return compose(f, sign, is_c ? -30 + few % 30 : few % 4 - 2, fraction);
    case STEPS:
        return compose(f, sign, is_c ? few % 40 - 30 : few % 28 - 14, kind & 1);
    case VANISHING:
        if (is_c)
            return compose(f, sign, -bias, kind < 60 ? kind & 1 : 0);
        return compose(f, sign,
                       -(f.exponent == 4   ? 5
                         : f.exponent == 5 ? 12
                         : f.exponent == 8 ? 75
                                           : 537) +
                           few % 5 - 2,
                       fraction);
    case SPARSE:
        return kind < 200 ? 0 : compose(f, sign, few % 31 - 15, kind & 3 ? fraction : 0);
    default:
        return compose(f, sign, few % 5 - 2, fraction);
    }
}

static uint32_t random_bytes(enum spread spread, uint64_t *state)
{
    static const uint8_t ends[] = {0x80, 0x7f, 0xff, 0x00, 0x01, 0x81, 0x80, 0x7f};
    const uint64_t r = next_random(state);
    uint32_t word = 0;

    if (spread % 4 == 0)
        return (uint32_t)r;
    if (spread % 4 == 1) /* all alike: the largest sums */
        return spread & 4 ? 0x80808080 : spread & 8 ? 0xffffffff : 0x7f7f7f7f;
    for (unsigned i = 0; i < 4; i++)
        word |= (uint32_t)ends[r >> 8 * i & 7] << 8 * i;
    return word;
}

static uint32_t random_whole(enum spread spread, uint64_t *state)
{
    const uint32_t r = (uint32_t)next_random(state);

    switch (spread % 4) {
    case 0:
        return r;
    case 1:
        return r & 1 ? 0x7fffffffu - (r >> 12) : 0x80000000u + (r >> 12);
    case 2:
        return (r & 1 ? 0x7fffffffu : 0x80000000u) ^ (r >> 14 & 0xffff);
    default:
        return r >> 20;
    }
}

static void fill_words(const struct operation *op, unsigned set, unsigned thread, uint32_t *word, uint64_t *state)
{
    static const struct format f16 = {5, 10}, bf16 = {8, 7}, f32 = {8, 23}, f64 = {11, 52}, e4m3 = {4, 3}, e5m2 = {5, 2};
    const enum spread spread = (enum spread)(set % SPREADS);
    unsigned numbered = 0, units = 0;

    for (unsigned i = 0; i < op->inputs; i++) {
        const bool is_c = op->first_c && i >= op->first_c;
        uint64_t bits;
        switch (op->fill[i]) {
        case F16_PAIR:
        case BF16_PAIR:
            bits = random_float(op->fill[i] == F16_PAIR ? f16 : bf16, spread, is_c, state);
            word[i] = (uint32_t)(bits | random_float(op->fill[i] == F16_PAIR ? f16 : bf16, spread, is_c, state) << 16);
            break;
        case TF32: /* bits below the format's are looked at by nobody, or so it is to be seen */
            word[i] = (uint32_t)random_float(f32, spread, is_c, state) & (set & 16 ? 0xffffffff : 0xffffe000);
            break;
        case F32:
            word[i] = (uint32_t)random_float(f32, spread, is_c, state);
            break;
        case F64:
            bits = random_float(f64, spread, is_c, state);
            word[i] = (uint32_t)bits;
            word[++i] = (uint32_t)(bits >> 32);
            break;
        case E4M3:
        case E5M2:
            for (word[i] = 0, bits = 0; bits < 4; bits++)
                word[i] = word[i] << 8 | (uint32_t)random_float(op->fill[i] == E4M3 ? e4m3 : e5m2, spread, is_c, state);
            break;
        case BYTES:
            word[i] = random_bytes(spread, state);
            break;
        case WHOLE:
            word[i] = random_whole(spread, state);
            break;
        case RAW:
            word[i] = (uint32_t)next_random(state);
            break;
        case NUMBERED: /* all finite positive f16 in a cycle, another beginning in each set */
            bits = 2 * (uint64_t)(thread * op->numbered + numbered++) + 997 * set;
            word[i] = (uint32_t)(bits % 0x7bff + 1) | (uint32_t)((bits + 1) % 0x7bff + 1) << 16;
            break;
        case UNIT:
            word[i] = op->unit(thread, units++);
            break;
        }
    }
}

/* The same for every run and every machine. */
static void make_inputs(const struct operation *op, uint32_t *input)
{
    uint64_t state = input_seed;

    for (const char *c = op->name; *c; c++)
        state = (state ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
    for (unsigned set = 0; set < op->sets; set++)
        for (unsigned thread = 0; thread < op->threads; thread++, input += op->inputs)
            fill_words(op, set, thread, input, &state);
}

/* ---- running ---- */

/* Words of all threads, of one operation after the other. */
static uint32_t *input, *output;
static size_t room_of_inputs, room_of_outputs;

/* Threads that execute an operation. */
static size_t all_threads(const struct operation *op)
{
    return (size_t)op->sets * op->threads;
}

static void make_room(void)
{
    for (size_t i = 0; i < operations; i++) {
        const size_t inputs = all_threads(&operation[i]) * operation[i].inputs * sizeof *input;
        const size_t outputs = all_threads(&operation[i]) * operation[i].outputs * sizeof *output;
        room_of_inputs = inputs > room_of_inputs ? inputs : room_of_inputs;
        room_of_outputs = outputs > room_of_outputs ? outputs : room_of_outputs;
    }
    input = malloc(room_of_inputs);
    output = malloc(room_of_outputs);
    if (!input || !output)
        fail("out of memory");
}

static bool has(const struct driver *driver, const struct operation *op)
{
    return *op->suffix ? op->sm == driver->sm : op->sm <= driver->sm;
}

/* Run the first stretches of one operation. An error ends the program, except that of a PTX compiler. */
static bool run(const struct driver *driver, const struct operation *op, unsigned stretches)
{
    enum { ERROR_LOG = 5, ERROR_LOG_BYTES = 6 }; /* CU_JIT_ERROR_LOG_BUFFER and its size */
    char log[LOG_BYTES] = "", *ptx = NULL;
    int options[] = {ERROR_LOG, ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    void *module = NULL, *function = NULL;
    uint64_t inputs = driver->inputs, outputs = driver->outputs;
    const size_t input_bytes = all_threads(op) * op->inputs * sizeof *input;
    const size_t output_bytes = all_threads(op) * op->outputs * sizeof *output;
    void *arguments[] = {&inputs, &outputs};
    size_t length = 0;
    FILE *text = open_memstream(&ptx, &length);

    if (!text)
        fail("out of memory");
    write_kernel(text, op);
    if (fclose(text) != 0)
        fail("out of memory");
    make_inputs(op, input);
    if (driver->module_load(&module, ptx, 2, options, values) != 0) {
        log[sizeof log - 1] = '\0';
        printf("FAIL %s: %s\n", op->name, log);
        free(ptx);
        return false;
    }
    free(ptx);
    must(driver, driver->module_function(&function, module, "operate"), "cuModuleGetFunction");
    must(driver, driver->to_device(driver->inputs, input, input_bytes), "cuMemcpyHtoD");
    memset(output, 0xa5, output_bytes);
    must(driver, driver->to_device(driver->outputs, output, output_bytes), "cuMemcpyHtoD");
    must(driver, driver->launch(function, stretches * op->sets / CHUNKS, 1, 1, op->threads, 1, 1, 0, NULL, arguments, NULL),
         "cuLaunchKernel");
    must(driver, driver->context_synchronize(), op->name);
    must(driver, driver->to_host(output, driver->outputs, output_bytes), "cuMemcpyDtoH");
    must(driver, driver->module_unload(module), "cuModuleUnload");
    return true;
}

/* ---- digests and comparison ---- */

static uint64_t digest(const struct operation *op, unsigned first, unsigned end)
{
    const size_t words = (size_t)op->threads * op->outputs;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = first * words; i < end * words; i++)
        for (unsigned byte = 0; byte < 4; byte++)
            hash = (hash ^ (output[i] >> 8 * byte & 0xff)) * UINT64_C(0x100000001b3);
    return hash;
}

static void print_words(FILE *out, const uint32_t *word, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        fprintf(out, "%s%08" PRIx32, i ? ":" : "", word[i]);
}

/* One line: name, digest of all, digests of equal stretches of sets, samples. */
static void write_record(FILE *out, const struct operation *op)
{
    fprintf(out, "%s %016" PRIx64 " ", op->name, digest(op, 0, op->sets));
    for (unsigned chunk = 0; chunk < CHUNKS; chunk++) {
        uint64_t hash = digest(op, chunk * op->sets / CHUNKS, (chunk + 1) * op->sets / CHUNKS);
        hash ^= hash >> 32;
        fprintf(out, "%04x", (unsigned)((hash ^ hash >> 16) & 0xffff));
    }
    for (unsigned sample = 0; sample < SAMPLES; sample++) {
        fputc(sample ? ',' : ' ', out);
        print_words(out, output + (sample * 5 * (size_t)op->threads + sample * 7) * op->outputs,
                    op->outputs < SAMPLE_WORDS ? op->outputs : SAMPLE_WORDS);
    }
    fputc('\n', out);
}

static char *record_of(const struct operation *op)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    if (!out)
        fail("out of memory");
    write_record(out, op);
    if (fclose(out) != 0)
        fail("out of memory");
    return text;
}

/* The line of a name, or NULL. */
static char *find_record(char *const *lines, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(lines[i], name, strlen(name)) == 0 && lines[i][strlen(name)] == ' ')
            return lines[i];
    return NULL;
}

/* Where the digests of stretches begin in a line. */
static size_t start_of_stretches(const struct operation *op)
{
    return strlen(op->name) + 18;
}

/* With all stretches the whole line counts, with fewer their digests. */
static bool is_equal(const struct operation *op, const char *got, const char *want, unsigned stretches)
{
    const size_t start = start_of_stretches(op);

    return stretches == CHUNKS ? strcmp(got, want) == 0
                               : strlen(want) >= start + 4 * CHUNKS && memcmp(got + start, want + start, 4 * stretches) == 0;
}

/* Which sets differ, or that only a sample does. */
static void print_difference(const struct operation *op, const char *got, const char *want, unsigned stretches)
{
    const size_t start = start_of_stretches(op);

    printf("FAIL %s: other outputs in sets", op->name);
    for (unsigned chunk = 0; chunk < stretches; chunk++)
        if (strlen(want) < start + 4 * CHUNKS || strncmp(got + start + 4 * chunk, want + start + 4 * chunk, 4) != 0)
            printf(" %u..%u", chunk * op->sets / CHUNKS, (chunk + 1) * op->sets / CHUNKS - 1);
    printf("; compare the output of 'show'\n");
}

/* ---- commands ---- */

static int record(const struct driver *driver, const char *path)
{
    char *text = NULL;
    size_t length = 0, failed = 0;
    FILE *memory = open_memstream(&text, &length), *file;

    if (!memory)
        fail("out of memory");
    fprintf(memory,
            "# What a device of sm_%u gave for the operations of %s.c, written by '%s record'.\n"
            "# Name, digest of all outputs, digests of %d equal stretches of sets, the first outputs of some threads.\n",
            driver->sm, program, program, CHUNKS);
    for (size_t i = 0; i < operations; i++)
        if (has(driver, &operation[i]) && run(driver, &operation[i], CHUNKS))
            write_record(memory, &operation[i]);
        else
            failed++;
    if (fclose(memory) != 0)
        fail("out of memory");
    file = failed ? NULL : golden_open(path, "w");
    if (!failed && (!file || fwrite(text, 1, length, file) != length || !golden_close(file)))
        fail("cannot write '%s'", path);
    free(text);
    printf("emulator/%s: %zu operations, %zu failed%s\n", program, operations, failed, failed ? "; nothing written" : "");
    return failed ? 1 : 0;
}

static int check(const struct driver *driver, const char *path, unsigned stretches)
{
    char *lines[sizeof operation / sizeof *operation], *text = NULL;
    size_t count = 0, room = 0, failed = 0, skipped = 0;
    FILE *file = golden_open(path, "r");

    if (!file)
        fail("cannot open '%s': %s", path, strerror(errno));
    while (getline(&text, &room, file) > 0)
        if (*text != '#' && count < sizeof lines / sizeof *lines) {
            lines[count] = strdup(text);
            if (!lines[count++])
                fail("out of memory");
        }
    free(text);
    if (!golden_close(file))
        fail("cannot read '%s'", path);
    for (size_t i = 0; i < operations; i++) {
        const struct operation *op = &operation[i];
        const char *want = find_record(lines, count, op->name);

        if (!has(driver, op)) {
            skipped++;
        } else if (!want) {
            printf("FAIL %s: no record; record again\n", op->name);
            failed++;
        } else if (!run(driver, op, stretches)) {
            failed++;
        } else {
            char *got = record_of(op);
            if (!is_equal(op, got, want, stretches)) {
                print_difference(op, got, want, stretches);
                failed++;
            }
            free(got);
        }
    }
    for (size_t i = 0; i < count; i++)
        free(lines[i]);
    if (skipped)
        printf("emulator/%s: %zu more need another device than sm_%u\n", program, skipped, driver->sm);
    printf("emulator/%s: %zu operations, %zu failed\n", program, operations - skipped, failed);
    return failed ? 1 : 0;
}

static int show(const struct driver *driver, const char *pattern)
{
    size_t shown = 0, failed = 0;

    for (size_t n = 0; n < operations; n++) {
        const struct operation *op = &operation[n];

        if (!has(driver, op) || fnmatch(pattern, op->name, 0) != 0)
            continue;
        shown++;
        if (!run(driver, op, CHUNKS)) {
            failed++;
            continue;
        }
        for (size_t i = 0; i < all_threads(op); i++) {
            printf("%s %zu %zu ", op->name, i / op->threads, i % op->threads);
            print_words(stdout, input + i * op->inputs, op->inputs);
            printf(" -> ");
            print_words(stdout, output + i * op->outputs, op->outputs);
            putchar('\n');
        }
    }
    if (shown == 0)
        fail("no operation for sm_%u matches '%s'", driver->sm, pattern);
    return failed ? 1 : 0;
}

int run_recorder(int argc, char **argv, const char *name)
{
    const char *command = argc > 1 ? argv[1] : "";
    const unsigned stretches = argc == 5 ? (unsigned)atoi(argv[4]) : CHUNKS;
    int status = 0;

    program = name;
    make_room();
    if ((argc == 4 || (argc == 5 && *command == 'c' && stretches > 0 && stretches < CHUNKS)) &&
        (strcmp(command, "record") == 0 || strcmp(command, "check") == 0 || strcmp(command, "show") == 0)) {
        const struct driver driver = open_driver(argv[2], room_of_inputs, room_of_outputs);
        status = *command == 'r'   ? record(&driver, argv[3])
                 : *command == 'c' ? check(&driver, argv[3], stretches)
                                   : show(&driver, argv[3]);
    } else if (argc == 3 && strcmp(command, "print") == 0) {
        for (size_t i = 0; i < operations; i++)
            if (fnmatch(argv[2], operation[i].name, 0) == 0)
                write_kernel(stdout, &operation[i]);
    } else if (argc == 2 && strcmp(command, "list") == 0) {
        for (size_t i = 0; i < operations; i++)
            puts(operation[i].name);
    } else {
        fprintf(stderr,
                "usage: %s record|check LIBCUDA GOLDEN [STRETCHES]\n       %s show LIBCUDA PATTERN\n       %s print PATTERN\n"
                "       %s list\n",
                name, name, name, name);
        status = 2;
    }
    for (size_t i = 0; i < operations; i++)
        free(operation[i].body);
    free(input);
    free(output);
    if (fflush(stdout) != 0)
        fail("cannot write the output: %s", strerror(errno));
    return status;
}
