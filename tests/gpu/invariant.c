/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (it needs a GPU) */
/* tier: change; run: emulator/invariant 300 1 small; cost: 100 */
/* tier: change; run: emulator/invariant_turns turns f32 bf16 fp8_parts; sanitizers: nightly (minutes of numbers); cost: 100 */
/* tier: change; run: emulator/invariant_digests digests; cost: 100 */
/* tier: nightly; run: emulator/invariant_every every; sanitizers: never (minutes of numbers) */
/* tier: nightly; run: emulator/invariant_more 1500 2 small; sanitizers: never (minutes of numbers) */
/*
 * invariant [PAIRS [SEED [small]]]: with the invariant of rows (tj_problem.invariant), the bits of a row of P are the same in each
 * product that has this row of M: PAIRS pairs of a row that was computed in one call of many rows, and the same row alone or
 * among others, in a batch, in groups, masked or gathered, by the config that the library chooses or by another one.
 * invariant every [KIND]...: the same for every number of rows from 1 to ROWS, in each form, by one config after the other.
 * invariant digests: the bits of each kind are those that another device of its class, or the emulator, gave.
 * invariant turns [KIND]...: the same, in one form after the other.
 *
 * The numbers have such different magnitudes that another order of sums gives other bits, which is tested first.
 */
#include "gpu_test.h"

#include <math.h>
#include <stdint.h>

enum { ROWS = 300, MOST_L = 200, MOST_K = 520, GROUPS = 3, MOST_BATCH = 4 };
enum { LONG_K = 100 }; /* of which three splits add several steps of tensor cores each */

static const char NAME[] = "invariant";

static uint64_t random_state;
static int spilled; /* kernels that spill registers, which the library refuses to launch */

static uint64_t next(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The lists of configs of families whose sums have the same order. */
static const char *const chain[] = {"naive",
                                    "tiled",
                                    "tiled:shared=dynamic",
                                    "tiled:tile_width=8,rows=x",
                                    "simt:bm=16,bn=32,bk=16,tm=4,tn=4",
                                    "simt:bm=64,bn=64,bk=8,tm=8,tn=8,group=3",
                                    "simt:copy=registers,bm=32,bn=32,bk=8,tm=4,tn=4",
                                    "simt:vector=1",
                                    "simt:bm=4,bn=32,bk=64,tm=1,tn=2",
                                    "simt:bm=16,bn=32,bk=16,tm=2,tn=4",
                                    "mma:bm=16,bn=16,wm=16,wn=16",
                                    "mma:width=1,vector=1",
                                    NULL};
static const char *const parts[] = {"naive",
                                    "tiled:shared=dynamic",
                                    "tiled:tile_width=8",
                                    "simt:bm=16,bn=32,bk=8,tm=4,tn=4",
                                    "simt:bm=16,bn=32,bk=8,tm=4,tn=4,copy=registers",
                                    "simt:bm=8,bn=16,bk=8,tm=2,tn=2,vector=1",
                                    NULL};
static const char *const tensor[] = {"mma:bm=16,bn=16,wm=16,wn=16",
                                     "mma:bm=64,bn=32,wm=32,wn=16,group=2",
                                     "mma:bm=128,bn=64,stages=2,steps=4",
                                     "mma:bm=32,bn=64,wm=16,wn=32,width=1,vector=1",
                                     "mma:copy=registers,bm=32,bn=32",
                                     "mma:pack=both",
                                     "mma",
                                     "wgmma:bm=64,bn=16",
                                     "wgmma:bm=64,bn=48,blocks=2",
                                     "wgmma:swap=yes,bm=64,bn=8",
                                     "wgmma:swap=yes,bm=128,bn=40",
                                     "wgmma:bm=128,bn=80,pack=both",
                                     "wgmma:bm=64,bn=80,pingpong=yes",
                                     "wgmma:store=elements,cluster=n2",
                                     NULL};
static const char *const fp8[] = {
    "wgmma:bm=64,bn=16",           "wgmma:bm=64,bn=80,blocks=2",      "wgmma:swap=yes,bm=64,bn=8",
    "wgmma:swap=yes,bm=128,bn=40", "wgmma:bm=128,bn=80,pack=both",    "wgmma:bm=64,bn=80,pingpong=yes",
    "wgmma:bm=128,bn=256",         "wgmma:store=elements,cluster=n2", NULL};
static const char *const whole[] = {"naive",
                                    "tiled",
                                    "mma:bm=32,bn=32,wm=16,wn=16,splits=3",
                                    "mma:bm=16,bn=64,wm=16,wn=32,slices=2",
                                    "wgmma:bm=64,bn=32,pack=both",
                                    "mma:width=1,vector=1",
                                    NULL};

typedef enum scaled { NOT, EACH, ALONG_K } scaled;

/* Problems, but for their rows. */
static const struct kind {
    const char *name;
    tj_type m, n, p;
    tj_compute compute;
    scaled scales;
    const char *const *configs;
    uint64_t digest;   /* of ROWS rows, on sm_90 */
    const char *other; /* a config of another order, whose sums differ; NULL: few sums differ, or none */
} kinds[] = {
    {"f32", TJ_F32, TJ_F32, 0, 0, NOT, chain, 0x95cdf2d7dba6ff29, "simt:bm=16,bn=32,bk=16,tm=4,tn=4,slices=2"},
    {"f16", TJ_F16, TJ_F16, TJ_F32, 0, NOT, tensor, 0xefd5e47e6eadd950, "mma:bm=32,bn=32,wm=16,wn=16,splits=3"},
    {"bf16", TJ_BF16, TJ_BF16, TJ_F32, 0, NOT, tensor, 0x0730fa560d997753, "mma:bm=32,bn=32,wm=16,wn=16,slices=2"},
    {"f64", TJ_F64, TJ_F64, 0, 0, NOT, chain, 0x4b24d2a774aec06e, "mma:bm=32,bn=32,wm=16,wn=16,splits=3"},
    {"tf32", TJ_F32, TJ_F32, 0, TJ_COMPUTE_TF32, NOT, tensor, 0x3372492ff093c5ee, "mma:bm=32,bn=32,wm=16,wn=16,splits=3"},
    {"e4m3", TJ_E4M3, TJ_E4M3, 0, 0, EACH, tensor, 0xad28fda8cfab8c91, NULL},
    {"e5m2", TJ_E5M2, TJ_E5M2, TJ_BF16, 0, NOT, tensor, 0xfbf1142975db3f68, NULL},
    {"blocks", TJ_E4M3, TJ_E4M3, TJ_BF16, 0, ALONG_K, tensor, 0xed4ab6d0bf86f7ea, NULL},
    {"s8", TJ_S8, TJ_S8, TJ_F32, 0, EACH, whole, 0xb354a8b23998a1d0, NULL},
    {"bf16_s8", TJ_BF16, TJ_S8, TJ_F32, 0, EACH, tensor, 0x3f38019bf23d4aca, "mma:bm=32,bn=32,wm=16,wn=16,splits=3"},
    {"f16_s4", TJ_F16, TJ_S4, TJ_F32, 0, ALONG_K, tensor, 0x2701cb190736dcda, NULL},
    {"f32_s8", TJ_F32, TJ_S8, 0, 0, EACH, chain, 0xd300bb86d8e8c59c, NULL},
    {"c64", TJ_C64, TJ_C64, 0, 0, NOT, parts, 0x6404c575a8352911, "simt:bm=16,bn=32,bk=16,tm=4,tn=4,slices=2"},
    {"c128", TJ_C128, TJ_C128, 0, 0, NOT, parts, 0x93327101fb85ea95, "simt:bm=16,bn=32,bk=16,tm=4,tn=4,splits=3"},
    {"fp8", TJ_E4M3, TJ_E4M3, TJ_BF16, TJ_COMPUTE_F32_FP8, EACH, fp8, 0xaa2298d942008445, NULL},
    {"fp8_parts", TJ_E4M3, TJ_E4M3, TJ_BF16, TJ_COMPUTE_F32_FP8, ALONG_K, fp8, 0xdbe6bf6fef4a2eaa, NULL},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* A kind with its numbers, on the device, and the rows of P that one call with all ROWS computed. */
typedef struct subject {
    const struct kind *kind;
    tj_problem all; /* of ROWS rows */
    tj_buffer *m, *shifted, *n, *scale_m, *scale_n, *bias, *index, *offsets, *p;
    char *expected;                 /* P of that call */
    size_t m_row, p_row, scale_row; /* bytes */
} subject;

/* How rows are passed. */
typedef enum form { PLAIN, BATCHED, GROUPED, MASKED, GATHERED, FORMS } form;

static const char *const form_names[FORMS] = {"rows", "batch", "groups", "masked groups", "gathered rows"};

/* Magnitudes differ by up to 2^10, as far as the type has them. */
static void fill(tj_type type, void *to, size_t count)
{
    double *const number = malloc(count * sizeof *number);

    for (size_t i = 0; i < count; i++) {
        const double unit = (double)(next() >> 11) * 0x1p-53 * 2 - 1;

        number[i] = tj_type_get_facts(type)->is_integer ? floor(unit * (type == TJ_S4 ? 8 : 100))
                                                        : unit * ldexp(1, (int)(next() % 11) - 5);
    }
    tj_convert(type, to, TJ_F64, number, count);
    free(number);
}

static tj_buffer *place(tj_context *context, tj_type type, size_t count)
{
    const size_t numbers = (size_t)tj_type_get_facts(type)->numbers, bytes = count / numbers * tj_type_bytes(type);
    tj_buffer *buffer = NULL;
    void *const host = malloc(bytes);
    tj_error err = {TJ_OK, ""};

    fill(type, host, count);
    expect(tj_buffer_create(context, bytes, &buffer, &err) == TJ_OK && tj_buffer_write(buffer, 0, host, bytes, &err) == TJ_OK,
           "place: %s", err.message);
    free(host);
    return buffer;
}

/* The same numbers, but for an address of M that only its elements are aligned to. */
static tj_buffer *shift(tj_context *context, const tj_buffer *from, size_t bytes, size_t element)
{
    tj_buffer *buffer = NULL;
    void *const host = malloc(bytes);
    tj_error err = {TJ_OK, ""};

    expect(tj_buffer_create(context, bytes + element, &buffer, &err) == TJ_OK &&
               tj_buffer_read(from, 0, host, bytes, &err) == TJ_OK &&
               tj_buffer_write(buffer, element, host, bytes, &err) == TJ_OK,
           "shift: %s", err.message);
    free(host);
    return buffer;
}

/* Half of the problems have an epilogue, which reads nothing of a row but its sum. */
static tj_problem problem_of(const struct kind *kind, int64_t k, int64_t l, int variant)
{
    tj_problem p = TJ_PROBLEM_INIT(ROWS, k, l, kind->m);
    tj_error err = {TJ_OK, ""};

    p.n.type = (int32_t)kind->n;
    p.p.type = (int32_t)kind->p;
    p.compute = (int8_t)kind->compute;
    p.n.layout = variant % 2 || tj_type_get_facts(kind->n)->numbers > 1 || kind->configs == fp8 ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    p.invariant = TJ_INVARIANT_ROWS;
    if (kind->scales == EACH) {
        p.scale[TJ_MATRIX_M] = (tj_scale){.type = TJ_F32, .rows = 1};
        p.scale[TJ_MATRIX_N] = (tj_scale){.type = TJ_F32, .rows = 1};
    } else if (kind->scales == ALONG_K) {
        p.scale[TJ_MATRIX_N] = (tj_scale){.type = TJ_F32, .rows = 1, .k = 64};
        if (kind->n == kind->m)
            p.scale[TJ_MATRIX_M] = (tj_scale){.type = TJ_F32, .layout = TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 64};
    }
    if (variant / 2 % 2 && kind->m != TJ_F64 && kind->configs != parts)
        expect(tj_epilogue_parse("silu(acc * 0.7 + bias[col]) * alpha + acc", &p.epilogue, &err) == TJ_OK, "%s", err.message);
    else
        p.epilogue.has_alpha = variant / 4 % 2;
    return p;
}

static int64_t parts_of(const subject *s)
{
    return s->kind->scales == ALONG_K ? (s->all.k.extent + 63) / 64 : 1;
}

/* The operands of some rows from `first` on. */
static tj_operands operands_of(const subject *s, int64_t first)
{
    tj_operands x = TJ_OPERANDS_INIT;
    tj_error err = {TJ_OK, ""};

    x.m.address = (char *)tj_buffer_address(s->m) + (size_t)first * s->m_row;
    x.n.address = tj_buffer_address(s->n);
    x.p.address = tj_buffer_address(s->p);
    if (s->scale_m)
        x.scale[TJ_MATRIX_M].address = (char *)tj_buffer_address(s->scale_m) + (size_t)first * s->scale_row;
    if (s->scale_n)
        x.scale[TJ_MATRIX_N] = (tj_operand){tj_buffer_address(s->scale_n), 0, TJ_BROADCAST};
    if (s->all.epilogue.expression.nodes > 0)
        expect(tj_operands_set(&x, &s->all, "bias", tj_buffer_address(s->bias), &err) == TJ_OK, "%s", err.message);
    x.alpha = 1.3;
    return x;
}

/* ---- one product -------------------------------------------------------------------------------------------------- */

/* A product of the rows of a subject, and the row of M that each row of P must be. */
typedef struct product {
    tj_problem problem;
    tj_operands x;
    int64_t rows;                   /* of P */
    int32_t row[MOST_BATCH * ROWS]; /* -1: not written */
} product;

static int write_list(tj_buffer *buffer, const int32_t *list, size_t count)
{
    tj_error err = {TJ_OK, ""};

    return expect(tj_buffer_write(buffer, 0, list, count * sizeof *list, &err) == TJ_OK, "list: %s", err.message);
}

/* Groups of arbitrary sizes, some of them empty. */
static void take_groups(const subject *s, product *of, int64_t first, int64_t j)
{
    int32_t offset[GROUPS + 1] = {0};

    for (int g = 1; g < GROUPS; g++)
        offset[g] = offset[g - 1] + (int32_t)(next() % (uint64_t)(j - offset[g - 1] + 1));
    offset[GROUPS] = (int32_t)j;
    of->problem.rows = (tj_rows){.kind = TJ_ROWS_IN_GROUPS, .groups = GROUPS};
    of->x.offsets = tj_buffer_address(s->offsets);
    write_list(s->offsets, offset, GROUPS + 1);
    for (int64_t r = 0; r < j; r++)
        of->row[r] = (int32_t)(first + r);
}

/* GROUPS spaces of j rows, which are not all in use. */
static void take_masked(const subject *s, product *of, int64_t first, int64_t j)
{
    int32_t count[GROUPS];

    of->rows = GROUPS * j;
    of->problem.rows = (tj_rows){.kind = TJ_ROWS_MASKED, .groups = GROUPS};
    of->x.offsets = tj_buffer_address(s->offsets);
    for (int g = 0; g < GROUPS; g++) {
        count[g] = (int32_t)(next() % (uint64_t)(j + 1));
        for (int64_t r = 0; r < j; r++)
            of->row[g * j + r] = r < count[g] ? (int32_t)(first + g * j + r) : -1;
    }
    write_list(s->offsets, count, GROUPS);
}

static void take_gathered(const subject *s, product *of, int64_t j)
{
    of->problem.rows.gathered = 1;
    of->x = operands_of(s, 0);
    of->x.m_index = tj_buffer_address(s->index);
    of->x.m_rows = ROWS;
    for (int64_t r = 0; r < j; r++)
        of->row[r] = (int32_t)(next() % ROWS);
    write_list(s->index, of->row, (size_t)j);
}

/* Some j rows of the subject in a form: how many j may be, it says itself. */
static void make_product(const subject *s, form how, int64_t j, int is_open, product *of)
{
    const int64_t copies = how == MASKED ? GROUPS : how == BATCHED ? 1 + (int64_t)(next() % MOST_BATCH) : 1;
    const int64_t most = ROWS / copies,
                  first = (j = j > most ? most : j) * copies < ROWS ? (int64_t)(next() % (uint64_t)(ROWS - j * copies + 1)) : 0;

    of->problem = s->all;
    of->x = operands_of(s, first);
    of->rows = j * copies;
    for (int64_t r = 0; r < of->rows; r++)
        of->row[r] = (int32_t)(first + r);
    if (how != PLAIN && how != GATHERED)
        of->problem.n.stride = TJ_BROADCAST;
    if (how == BATCHED) {
        of->problem.batch = is_open ? TJ_ANY : copies;
        of->x.batch = copies;
        if (s->all.epilogue.expression.nodes > 0)
            of->x.with[0].stride = TJ_BROADCAST;
    } else if (how == GROUPED) {
        take_groups(s, of, first, j);
    } else if (how == MASKED) {
        take_masked(s, of, first, j);
    } else if (how == GATHERED) {
        take_gathered(s, of, j);
    }
    of->problem.j.extent = of->x.j = how == BATCHED ? j : of->rows;
    if (is_open)
        of->problem.j = (tj_dim){1, TJ_DIM_ANY, how == MASKED ? GROUPS : 0};
}

/* Is the config one that does not serve this problem on this device: by a constraint, a feature, or registers that it spills? */
static int is_refused(tj_status status, const tj_error *err)
{
    if (status == TJ_ERR_SPILLS)
        spilled += expect(strstr(err->message, " is not launched: ") && strstr(err->message, ": use "), "no remedy in: %s",
                          err->message);
    return status == TJ_ERR_SPILLS || status == TJ_ERR_INVALID_ARGUMENT ||
           (status == TJ_ERR_UNSUPPORTED && strstr(err->message, " needs ") != NULL);
}

/* Compute it; config NULL: the library's choice. Returns the rows that were compared; -1: the problem is not for this config. */
static int compare(tj_context *context, const subject *s, const product *of, const char *config, const char *label)
{
    const size_t bytes = (size_t)of->rows * s->p_row;
    char *const p = malloc(bytes);
    tj_config named = TJ_CONFIG_INIT;
    const tj_plan *plan = NULL;
    tj_error err = {TJ_OK, ""};
    int compared = 0;

    if (config)
        expect(tj_config_parse(config, &named, &err) == TJ_OK, "%s: %s", config, err.message);
    if (tj_plan_prepare(context, &of->problem, config ? &named : NULL, &plan, &err) != TJ_OK) {
        free(p);
        return expect(config && is_refused(err.status, &err), "%s: %s", label, err.message) ? -1 : 0;
    }
    if (expect(tj_plan_launch(plan, &of->x, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK &&
                   tj_buffer_read(s->p, 0, p, bytes, &err) == TJ_OK,
               "%s: %s", label, err.message))
        for (int64_t r = 0; r < of->rows; r++) {
            if (of->row[r] < 0)
                continue;
            compared++;
            if (!expect(memcmp(p + (size_t)r * s->p_row, s->expected + (size_t)of->row[r] * s->p_row, s->p_row) == 0,
                        "%s: row %d of %lld has other bits than row %d of %d", label, (int)r, (long long)of->rows, of->row[r],
                        ROWS))
                break;
        }
    tj_plan_release(plan);
    free(p);
    return compared;
}

/* ---- subjects ----------------------------------------------------------------------------------------------------- */

/* Without the invariant, another order of sums gives other bits: the numbers tell orders apart. */
static void tell_orders_apart(tj_context *context, subject *s, const char *label)
{
    const size_t bytes = ROWS * s->p_row;
    char *const p = malloc(bytes);
    tj_operands x = operands_of(s, 0);
    tj_config config = TJ_CONFIG_INIT;
    tj_problem problem = s->all;
    const tj_plan *plan = NULL;
    tj_error err = {TJ_OK, ""};
    tj_status status;

    problem.invariant = TJ_INVARIANT_NOTHING;
    status = tj_config_parse(s->kind->other, &config, &err);
    if (status == TJ_OK)
        status = tj_plan_prepare(context, &problem, &config, &plan, &err);
    if (status != TJ_ERR_SPILLS &&
        expect(status == TJ_OK && tj_plan_launch(plan, &x, NULL, &err) == TJ_OK &&
                   tj_synchronize(context, NULL, &err) == TJ_OK && tj_buffer_read(s->p, 0, p, bytes, &err) == TJ_OK,
               "%s by %s: %s", label, s->kind->other, err.message))
        expect(memcmp(p, s->expected, bytes) != 0, "%s: the sums of %s have the same bits", label, s->kind->other);
    tj_plan_release(plan);
    free(p);
}

static int make_subject(tj_context *context, const struct kind *kind, int64_t k, int64_t l, int variant, subject *s)
{
    const size_t numbers = (size_t)tj_type_get_facts(kind->m)->numbers;
    tj_error err = {TJ_OK, ""};
    const tj_plan *plan = NULL;
    char label[160];
    product of;

    *s = (subject){.kind = kind, .all = problem_of(kind, k, l, variant)};
    const tj_problem canonical = tj_problem_canonical(&s->all);

    s->m_row = (size_t)k / numbers * tj_type_bytes(kind->m);
    s->p_row = (size_t)l * tj_type_bytes((tj_type)canonical.p.type);
    s->scale_row = (size_t)parts_of(s) * sizeof(float);
    s->m = place(context, kind->m, (size_t)(ROWS * k));
    s->shifted = shift(context, s->m, ROWS * s->m_row, tj_type_bytes(kind->m));
    s->n = place(context, kind->n, (size_t)(k * l));
    s->bias = place(context, TJ_F32, (size_t)l);
    s->index = place(context, TJ_F32, ROWS);
    s->offsets = place(context, TJ_F32, GROUPS + 1);
    s->p = place(context, (tj_type)canonical.p.type, (size_t)(ROWS * l));
    if (s->all.scale[TJ_MATRIX_M].type)
        s->scale_m = place(context, TJ_F32, (size_t)(ROWS * parts_of(s)));
    if (s->all.scale[TJ_MATRIX_N].type)
        s->scale_n = place(context, TJ_F32, (size_t)(l * parts_of(s)));
    s->expected = malloc(ROWS * s->p_row);
    snprintf(label, sizeof label, "%s k%lld l%lld variant %d", kind->name, (long long)k, (long long)l, variant);

    /* All rows at once, by the library's choice: what every other product is compared with. */
    make_product(s, PLAIN, ROWS, 0, &of);
    const int is_made =
        expect(tj_plan_prepare(context, &of.problem, NULL, &plan, &err) == TJ_OK &&
                   tj_plan_launch(plan, &of.x, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK &&
                   tj_buffer_read(s->p, 0, s->expected, ROWS * s->p_row, &err) == TJ_OK,
               "%s: %s", label, err.message);

    tj_plan_release(plan);
    if (is_made && kind->other && k >= LONG_K)
        tell_orders_apart(context, s, label);
    return is_made;
}

static void drop_subject(subject *s)
{
    tj_buffer *const buffer[] = {s->m, s->shifted, s->n, s->scale_m, s->scale_n, s->bias, s->index, s->offsets, s->p};

    for (size_t i = 0; i < sizeof buffer / sizeof buffer[0]; i++)
        tj_buffer_free(buffer[i]);
    free(s->expected);
}

/* ---- both ways ---------------------------------------------------------------------------------------------------- */

/* Must k be a multiple of 64, so that lines are aligned, and parts are whole? */
static int has_whole_steps(const struct kind *kind)
{
    return kind->scales == ALONG_K || kind->m != kind->n || kind->configs == fp8;
}

static size_t configs_of(const struct kind *kind)
{
    size_t count = 0;

    while (kind->configs[count])
        count++;
    return count;
}

static const char *describe(const subject *s, form how, int64_t j, int is_open, const char *config, char label[256])
{
    char problem[TJ_PROBLEM_TEXT_BYTES];

    tj_problem_print(&s->all, problem);
    snprintf(label, 256, "%.120s: %d of them as %s%s, by %s", problem, (int)j, form_names[how], is_open ? " (any j)" : "",
             config ? config : "the library's choice");
    return label;
}

static void draw_pairs(tj_context *context, int pairs, int is_small)
{
    enum { PER_SUBJECT = 6, PER_KERNEL = 4 };
    int compared[FORMS] = {0}, by_choice = 0;

    for (int i = 0, of_subject = 0, made = 0; i < pairs && gpu_failed < 20; of_subject++) {
        const struct kind *const kind = &kinds[of_subject % KINDS];
        const int64_t k = has_whole_steps(kind) ? 64 * (1 + (int64_t)(next() % (is_small ? 3 : 8)))
                                                : 1 + (int64_t)(next() % (is_small ? 180 : MOST_K));
        const int64_t l = 2 * (1 + (int64_t)(next() % (is_small ? 20 : MOST_L / 2)));
        subject s;

        made = make_subject(context, kind, k, l, (int)(next() % 8), &s);
        for (int n = 0; made && n < PER_SUBJECT && i < pairs; n++) {
            const size_t choice = next() % (configs_of(kind) + 3);
            const char *const config = choice < configs_of(kind) ? kind->configs[choice] : NULL;
            const form how = (form)(next() % FORMS);
            const int is_open = next() % 8 != 0;
            char label[256];
            product of;

            /* A kernel for any j serves several pairs. */
            for (int again = 0, rows = 0; again < (is_open ? PER_KERNEL : 1) && rows >= 0 && i < pairs; again++) {
                const int64_t j = next() % 2 ? 1 + (int64_t)(next() % 16) : 1 + (int64_t)(next() % (is_small ? 70 : ROWS));

                make_product(&s, how, j, is_open, &of);
                if (!config && how < GATHERED && next() % 2 && tj_type_get_facts(kind->n)->numbers == 1 &&
                    kind->configs != fp8) /* for which another kernel may have to stand in */
                    of.x.m.address = (char *)tj_buffer_address(s.shifted) + tj_type_bytes(kind->m) +
                                     ((const char *)of.x.m.address - (const char *)tj_buffer_address(s.m));
                rows = compare(context, &s, &of, config, describe(&s, how, j, is_open, config, label));
                i += rows >= 0;
                compared[how] += rows > 0 ? rows : 0;
                by_choice += rows > 0 && !config;
            }
        }
        drop_subject(&s);
    }
    printf("invariant: %d rows", compared[PLAIN]);
    for (int how = BATCHED; how < FORMS; how++)
        printf(", %d of %s", compared[how], form_names[how]);
    printf(" have the bits that they have among %d rows; %d products by the library's choice; %d whose kernel spills were "
           "refused\n",
           ROWS, by_choice, spilled);
}

static void walk_every(tj_context *context, const struct kind *kind, int in_turns)
{
    const int64_t k = has_whole_steps(kind) ? 192 : 133, l = 6;
    subject s;
    long rows = 0;

    if (make_subject(context, kind, k, l, 2, &s))
        for (int64_t j = 1; j <= ROWS && gpu_failed < 20; j++)
            for (int how = 0; how < FORMS; how++) {
                char label[256];
                product of;
                int one = -1;

                if (in_turns && j % FORMS != how)
                    continue;
                make_product(&s, (form)how, j, 1, &of);
                /* The next config in turn that takes this form. */
                for (size_t t = 0; one < 0 && t <= configs_of(kind); t++) {
                    const char *const config = kind->configs[((size_t)j + t) % (configs_of(kind) + 1)];

                    one = compare(context, &s, &of, config, describe(&s, (form)how, j, 1, config, label));
                }
                rows += one;
            }
    printf("invariant: %s: every number of rows from 1 to %d in %d forms: %ld rows have the same bits\n", kind->name, ROWS,
           FORMS, rows);
    drop_subject(&s);
}

/* FNV-1a */
static uint64_t digest(const char *bytes, size_t count)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Print the digest of the rows of each kind, and compare it: with any device, or with those whose tensor cores add as Hopper's do. */
static void compare_digests(tj_context *context)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_error err = {TJ_OK, ""};
    subject s;

    if (!expect(tj_device_current(context, &facts, &err) == TJ_OK, "the device: %s", err.message))
        return;
    for (size_t i = 0; i < KINDS; i++) {
        random_state = i;
        if (make_subject(context, &kinds[i], 320, 40, 0, &s)) {
            const uint64_t found = digest(s.expected, ROWS * s.p_row);

            printf("%-8s %016llx  %s\n", kinds[i].name, (unsigned long long)found, tj_problem_sum_order(&s.all));
            if ((kinds[i].configs != tensor && kinds[i].configs != fp8) || facts.cc_major == 9)
                expect(found == kinds[i].digest, "%s: the digest is %016llx, and was %016llx on another device", kinds[i].name,
                       (unsigned long long)found, (unsigned long long)kinds[i].digest);
        }
        drop_subject(&s);
    }
}

int main(int argc, char **argv)
{
    const int in_turns = argc > 1 && strcmp(argv[1], "turns") == 0,
              is_every = in_turns || (argc > 1 && strcmp(argv[1], "every") == 0);
    tj_context *const context = open_gpu(NAME, getenv("TILEJIT_CACHE_DIR") ? NULL : ""); /* NULL: the store that is named */

    random_state = !is_every && argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (is_every) {
        for (size_t i = 0; i < KINDS; i++) {
            int is_asked = argc == 2;

            for (int a = 2; a < argc; a++)
                is_asked |= strcmp(argv[a], kinds[i].name) == 0;
            if (is_asked)
                walk_every(context, &kinds[i], in_turns);
        }
    } else if (argc > 1 && strcmp(argv[1], "digests") == 0) {
        compare_digests(context);
    } else {
        draw_pairs(context, argc > 1 ? atoi(argv[1]) : 5000, argc > 3 && strcmp(argv[3], "small") == 0);
    }
    tj_context_free(context);
    return finish(NAME);
}
