/* SPDX-License-Identifier: Apache-2.0 */
/*
 * products [CASES [SEED [small [DIGESTS]]]]: random requests over everything the families offer, run on the GPU and compared with
 * the float64 reference. P starts as NaN, so an element that is not written fails; guards around and padding inside every matrix
 * must not change; every fourth case has whole numbers and must be exact. DIGESTS: a file to write a digest of each P to, so that two
 * devices can be compared byte by byte.
 *
 * On the emulator (TILEJIT_DRIVER=emulator) all its checks are on and must be silent, and each element of P must be written exactly
 * once. "small" keeps extents below 100, so that thousands of cases take minutes there.
 */
#include "gpu_test.h"

#include <math.h>
#include <stdint.h>

enum { GUARD_BYTES = 4096 };

static uint64_t state;
static int is_small;
static int64_t passed_batch; /* of a problem whose batch is known only at launch */
static FILE *digests;
static const tj_emulator *emulator; /* NULL: a GPU */

static uint64_t next(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int64_t pick(const int64_t *values, size_t count)
{
    return values[next() % count];
}

#define PICK(...) pick((const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* One matrix on both sides, with guards before and after. */
typedef struct matrix {
    tj_dtype dtype;
    size_t elements, bytes;
    unsigned char *host, *before; /* guard, elements, guard; before: as it went to the device */
    tj_buffer *device;
} matrix;

static void *elements_of(const matrix *m)
{
    return m->host + GUARD_BYTES;
}

static void *elements_before(const matrix *m)
{
    return m->before + GUARD_BYTES;
}

static void *address_of(const matrix *m)
{
    return (char *)tj_buffer_address(m->device) + GUARD_BYTES;
}

static int make_matrix(tj_context *context, matrix *m, tj_dtype dtype, int64_t span, int is_whole)
{
    tj_error err;

    m->dtype = dtype;
    m->elements = (size_t)span;
    m->bytes = m->elements * tj_dtype_bytes(dtype) + 2 * GUARD_BYTES;
    m->host = malloc(m->bytes);
    m->before = malloc(m->bytes);
    memset(m->host, 0xff, m->bytes); /* NaN in every type */
    if (is_whole >= 0) {
        double *values = malloc((m->elements + 1) * sizeof *values);
        tj_fill_random(TJ_F64, values, m->elements, next());
        for (size_t i = 0; is_whole && i < m->elements; i++)
            values[i] = rint(values[i] * 3);
        tj_convert(dtype, elements_of(m), TJ_F64, values, m->elements);
        free(values);
    }
    memcpy(m->before, m->host, m->bytes);
    return tj_buffer_create(context, m->bytes, &m->device, &err) == TJ_OK &&
           tj_buffer_write(m->device, 0, m->host, m->bytes, &err) == TJ_OK;
}

/* After the launch. read_back also replaces host. */
static int read_back(matrix *m)
{
    tj_error err;

    return tj_buffer_read(m->device, 0, m->host, m->bytes, &err) == TJ_OK;
}

static void drop_matrix(matrix *m)
{
    tj_buffer_free(m->device);
    free(m->host);
    free(m->before);
}

/* An operand by an array of pointers: the matrices of a batch, in an order in which they do not lie, on both sides. */
typedef struct pointers {
    void **host;
    tj_buffer *device;
} pointers;

/* stride: the problem's; step: bytes from one matrix to the next as they lie. */
static int make_pointers(tj_context *context, pointers *p, int64_t stride, int64_t batch, int64_t step, void *on_device,
                         void *on_host)
{
    const size_t bytes = (size_t)batch * sizeof(void *);
    void **on_the_way;
    tj_error err;
    int is_good;

    if (!tj_stride_is_pointers(stride))
        return 1;
    p->host = malloc(bytes);
    on_the_way = malloc(bytes);
    for (int64_t i = 0; i < batch; i++) {
        const size_t offset = (size_t)((i + batch / 2) * 7919 % batch * step); /* a prime that divides no batch here */

        on_the_way[i] = (char *)on_device + offset;
        p->host[i] = (char *)on_host + offset;
    }
    is_good = tj_buffer_create(context, bytes, &p->device, &err) == TJ_OK &&
              tj_buffer_write(p->device, 0, on_the_way, bytes, &err) == TJ_OK;
    free(on_the_way);
    return is_good;
}

/* The array, if that is what the problem takes. */
static void *operand(const pointers *p, void *matrix)
{
    return p->device ? tj_buffer_address(p->device) : matrix;
}

static const void *host_operand(const pointers *p, const void *matrix)
{
    return p->host ? p->host : matrix;
}

static void drop_pointers(pointers *p)
{
    tj_buffer_free(p->device);
    free(p->host);
}

/* How the matrices lie. Where nothing is promised of pointers, at any element. */
static tj_problem stored(const tj_problem *known)
{
    const tj_problem c = tj_problem_canonical(known);
    tj_problem s = tj_problem_strided(known), tight = *known;
    const int64_t gap = PICK(1, 2, 3, 5);

    tight.stride_m = tight.stride_n = tight.stride_p = tight.stride_c = TJ_TIGHT;
    tight = tj_problem_canonical(&tight);
    if (s.batch == 1)
        return s;
    s.stride_m = c.stride_m == TJ_POINTERS ? tight.stride_m + gap : s.stride_m;
    s.stride_n = c.stride_n == TJ_POINTERS ? tight.stride_n + gap : s.stride_n;
    s.stride_p = c.stride_p == TJ_POINTERS ? tight.stride_p + gap : s.stride_p;
    s.stride_c = c.stride_c == TJ_POINTERS ? tight.stride_c + gap : s.stride_c;
    return s;
}

/* Has any byte of P changed that is no element of P? */
static int padding_is_intact(const matrix *m, const tj_problem *c)
{
    const size_t size = tj_dtype_bytes(m->dtype);
    const int64_t lines = c->p_layout == TJ_ROW_MAJOR ? c->j.extent : c->l.extent;
    const int64_t width = c->p_layout == TJ_ROW_MAJOR ? c->l.extent : c->j.extent;
    unsigned char *mask = calloc(1, m->bytes);
    int is_intact = 1;

    for (int64_t b = 0; b < c->batch; b++)
        for (int64_t line = 0; line < lines; line++)
            memset(mask + GUARD_BYTES + (size_t)(b * c->stride_p + line * c->ld_p) * size, 1, (size_t)width * size);
    for (size_t i = 0; i < m->bytes; i++)
        if (!mask[i] && m->host[i] != m->before[i])
            is_intact = 0;
    free(mask);
    return is_intact;
}

static int64_t random_extent(int64_t tile)
{
    if (is_small)
        switch (next() % 5) {
        case 0:
            return PICK(1, 2, 3);
        case 1:
            return tile * PICK(1, 2);
        case 2:
            return tile * PICK(1, 2) + PICK(1, -1);
        case 3:
            return PICK(5, 7, 13, 31, 37, 53);
        default:
            return 1 + (int64_t)(next() % 48);
        }
    switch (next() % 6) {
    case 0:
        return PICK(1, 2, 3);
    case 1:
        return tile * PICK(1, 2, 3, 4);
    case 2:
        return tile * PICK(1, 2, 3) + 1;
    case 3:
        return tile * PICK(1, 2, 3) - 1;
    case 4:
        return PICK(5, 7, 13, 31, 61, 97, 127, 131);
    default:
        return 1 + (int64_t)(next() % 150);
    }
}

static void fix_or_pass(tj_dim *dim, int64_t tile)
{
    if (next() % 3 == 0) {
        dim->mode = TJ_DIM_ANY;
        if (dim->extent % tile == 0 && next() % 2)
            dim->multiple_of = (int32_t)tile;
    }
}

/* One extent is 64 at most; the rest of the shape is split, streamed and loaded in all ways that it lets. */
static void make_skinny(tj_problem *problem, char config[128])
{
    static const char *const geometry[] = {"tm=1,tn=4,lanes=8,slices=8,vector=1,k_thread=4",
                                           "tm=5,tn=4,lanes=4,slices=8,vector=1,k_thread=2",
                                           "tm=3,tn=2,lanes=16,slices=4,vector=1,k_thread=8",
                                           "tm=16,tn=4,lanes=8,slices=4,vector=1,k_thread=1,blocks=2",
                                           "tm=8,tn=1,lanes=1,slices=64,vector=1,k_thread=4",
                                           "tm=4,tn=4",
                                           "tm=7,lanes=2",
                                           ""};
    const int streams_m = next() % 2, splits = (int)PICK(0, 1, 1, 2, 3, 8);
    int64_t *const few = streams_m ? &problem->l.extent : &problem->j.extent;

    if (next() % 2) /* sizes that vectors divide */
        problem->j.extent *= 4, problem->l.extent *= 4, problem->k.extent *= 4;
    problem->ld_m = problem->ld_n = problem->ld_p = problem->ld_c = TJ_TIGHT;
    *few = 1 + *few % 64;
    if (problem->batch > 1 && next() % 2 && splits <= 1)
        problem->stride_p = problem->stride_c = 2 * problem->j.extent * problem->l.extent;
    snprintf(config, 128, "skinny:stream=%s,boundary=%s", streams_m ? "m" : "n", next() % 4 ? "auto" : "all");
    if (splits > 0)
        snprintf(config + strlen(config), 128 - strlen(config), ",splits=%d", splits);
    snprintf(config + strlen(config), 128 - strlen(config), ",%s", geometry[next() % 8]);
    if (config[strlen(config) - 1] == ',')
        config[strlen(config) - 1] = '\0';
}

/* Extents of 128 at most, all fixed, and a batch; a thread tile that the extents let, several products to a block or one. */
static void make_small_batch(tj_problem *problem, char config[128])
{
    static const char *const ways[] = {"", ",vector=1", ",copy=registers", ",copy=registers,vector=2", ",blocks=2"};
    tj_dim *const dims[] = {&problem->j, &problem->k, &problem->l};
    tj_config parsed;

    if (next() % 2) { /* sizes that vectors divide */
        problem->j.extent *= 4, problem->l.extent *= 4, problem->k.extent *= 4;
        problem->ld_m = problem->ld_n = problem->ld_p = problem->ld_c = TJ_TIGHT;
    }
    for (int i = 0; i < 3; i++)
        dims[i]->extent = 1 + (dims[i]->extent + 127) % 128;
    problem->ld_m = problem->ld_n = problem->ld_p = problem->ld_c = PICK(TJ_TIGHT, TJ_TIGHT, 131, 136);
    if (next() % 4)
        problem->batch = PICK(5, 16, 33);
    if (problem->batch > 1 && next() % 3 == 0) {
        passed_batch = problem->batch;
        problem->batch = TJ_ANY;
    }
    do {
        const int products = (int)PICK(0, 0, 1, 2, 3, 5, 8);

        snprintf(config, 128, "small_batch:boundary=%s%s", next() % 4 ? "auto" : "all", ways[next() % 5]);
        if (products > 0)
            snprintf(config + strlen(config), 128 - strlen(config), ",products=%d", products);
        if (next() % 2)
            snprintf(config + strlen(config), 128 - strlen(config), ",tm=%d,tn=%d", (int)PICK(1, 2, 3, 4, 8),
                     (int)PICK(1, 2, 4, 5, 8));
        parsed = (tj_config)TJ_CONFIG_INIT;
    } while (tj_config_parse(config, &parsed, NULL) != TJ_OK || tj_config_resolve(problem, &parsed, NULL) != TJ_OK);
}

/* A config of simt that suits the problem; which do, depends on type and layouts. */
static void pick_simt(const tj_problem *problem, char config[128])
{
    static const char *const tiles[] = {"bm=16,bn=32,bk=16,tm=4,tn=4",  "bm=32,bn=32,bk=16,tm=8,tn=4",
                                        "bm=32,bn=64,bk=8,tm=8,tn=8",   "bm=64,bn=32,bk=32,tm=4,tn=4",
                                        "bm=64,bn=64,bk=16,tm=4,tn=8",  "bm=96,bn=64,bk=16,tm=12,tn=4",
                                        "bm=64,bn=128,bk=16,tm=8,tn=8", "bm=16,bn=128,bk=8,tm=4,tn=16"};
    static const char *const ways[] = {"rows=y",
                                       "rows=x",
                                       "group=3",
                                       "vector=1",
                                       "vector=2,blocks=2",
                                       "copy=registers",
                                       "copy=registers",
                                       "stages=2,group=2",
                                       "stages=5,vector=2",
                                       "slices=2",
                                       "slices=4,stages=2",
                                       "start=spread",
                                       "start=spread,slices=2,vector=1",
                                       "start=spread,stages=2,splits=2",
                                       "splits=2",
                                       "splits=3,slices=2",
                                       "splits=5,copy=registers",
                                       "splits=8,vector=1"};
    tj_config parsed;

    do {
        snprintf(config, 128, "simt:%s,%s,boundary=%s", tiles[next() % (sizeof tiles / sizeof tiles[0])],
                 ways[next() % (sizeof ways / sizeof ways[0])], next() % 4 ? "auto" : "all");
        parsed = (tj_config)TJ_CONFIG_INIT;
    } while (tj_config_parse(config, &parsed, NULL) != TJ_OK || tj_config_resolve(problem, &parsed, NULL) != TJ_OK);
}

static void make_request(tj_problem *problem, char config[128])
{
    const int64_t tile = PICK(4, 7, 8, 12, 16, 17, 24, 31, 32);
    const int is_naive = next() % 4 == 0, m_rows = next() % 2, n_rows = next() % 2, p_rows = next() % 2;
    tj_problem p = TJ_PROBLEM_INIT(random_extent(tile), random_extent(tile), random_extent(tile), TJ_F32);

    if (next() % 40 == 0)
        p.k.extent = 0;
    if (next() % 40 == 0)
        p.k.extent = is_small ? 300 : 3000;
    p.dtype = (int32_t)PICK(TJ_F32, TJ_F32, TJ_F64, TJ_F16, TJ_BF16);
    if (p.dtype != TJ_F64 && next() % 3 == 0)
        p.p_dtype = (int32_t)PICK(TJ_F32, TJ_F16, TJ_BF16);
    p.transpose_m = next() % 4 == 0;
    p.transpose_n = next() % 4 == 0;
    p.m_layout = m_rows != p.transpose_m ? TJ_ROW_MAJOR : TJ_COL_MAJOR;
    p.n_layout = n_rows != p.transpose_n ? TJ_ROW_MAJOR : TJ_COL_MAJOR;
    p.p_layout = p_rows ? TJ_ROW_MAJOR : TJ_COL_MAJOR;
    p.has_alpha = next() % 3 == 0;
    p.has_beta = next() % 3 == 0;
    if (next() % 3 == 0)
        p.ld_m = (m_rows ? p.k.extent : p.j.extent) + PICK(1, 3, 8);
    if (next() % 3 == 0)
        p.ld_n = (n_rows ? p.l.extent : p.k.extent) + PICK(1, 3, 8);
    if (next() % 3 == 0)
        p.ld_p = (p_rows ? p.l.extent : p.j.extent) + PICK(1, 3, 8);
    if (p.has_beta && next() % 3 == 0)
        p.ld_c = (p_rows ? p.l.extent : p.j.extent) + PICK(1, 3, 8);
    if (next() % 4 == 0) {
        p.batch = PICK(2, 3, 7);
        if (next() % 4 == 0)
            p.stride_m = TJ_BROADCAST;
        if (next() % 4 == 0)
            p.stride_n = TJ_BROADCAST;
    }
    if (next() % 3 == 0) { /* of one product too */
        p.batch = p.batch == 0 && next() % 2 ? PICK(2, 3, 7) : p.batch;
        p.stride_m = next() % 2 ? p.stride_m : PICK(TJ_POINTERS, TJ_POINTERS_16);
        p.stride_n = next() % 2 ? p.stride_n : PICK(TJ_POINTERS, TJ_POINTERS_16);
        p.stride_p = next() % 2 ? p.stride_p : PICK(TJ_POINTERS, TJ_POINTERS_16);
        p.stride_c = next() % 2 ? p.stride_c : PICK(TJ_POINTERS, TJ_POINTERS_16);
    }
    *problem = p;
    if (next() % 4 == 0) {
        make_small_batch(problem, config);
        return; /* its sizes are exact */
    }
    if (next() % 3 == 0)
        make_skinny(problem, config);
    else if (is_naive)
        snprintf(config, 128, "naive:tile_width=%d,rows=%s,boundary=%s", (int)tile, next() % 4 ? "y" : "x",
                 next() % 4 ? "auto" : "all");
    else if (next() % 3 == 0)
        pick_simt(problem, config);
    else
        snprintf(config, 128, "tiled:tile_width=%d,shared=%s,rows=%s,boundary=%s", (int)tile, next() % 3 ? "static" : "dynamic",
                 next() % 4 ? "y" : "x", next() % 4 ? "auto" : "all");
    fix_or_pass(&problem->k, tile);
    if (strstr(config, "splits") && !strstr(config, "splits=1"))
        return; /* their workspace must be known */
    fix_or_pass(&problem->j, tile);
    fix_or_pass(&problem->l, tile);
}

/* Each element of P exactly once; 0 where there is no emulator, or nothing to write. */
static int watch_p(const matrix *p, const tj_problem *c)
{
    const uint64_t size = tj_dtype_bytes(p->dtype);
    const int64_t lines = c->p_layout == TJ_ROW_MAJOR ? c->j.extent : c->l.extent;
    const int64_t width = c->p_layout == TJ_ROW_MAJOR ? c->l.extent : c->j.extent;
    const int is_even = c->batch == 1 || c->stride_p == c->ld_p * lines;

    if (!emulator || !is_even)
        return 0;
    return emulator->watch((uint64_t)(uintptr_t)address_of(p), (uint64_t)(lines * c->batch), (uint64_t)width * size,
                           (uint64_t)c->ld_p * size);
}

/* What the checks found since the last case. */
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

static void write_digest(const matrix *p, const char *label)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; digests && i < p->bytes; i++)
        hash = (hash ^ p->host[i]) * UINT64_C(0x100000001b3);
    if (digests)
        fprintf(digests, "%016llx %s\n", (unsigned long long)hash, label);
}

/* Everything fixed: what the reference needs. */
static tj_problem known_problem(const tj_problem *problem)
{
    tj_problem known = *problem;

    known.j.mode = known.k.mode = known.l.mode = TJ_DIM_FIXED;
    if (known.batch == TJ_ANY)
        known.batch = passed_batch;
    known.j.multiple_of = known.k.multiple_of = known.l.multiple_of = 0;
    return known;
}

/* Exactly as much as the plan asks for, all NaN: a sum that is read before it is written fails. */
static tj_status give_workspace(tj_context *context, const tj_plan *plan, tj_operands *x, tj_buffer **workspace, tj_error *err)
{
    const size_t bytes = tj_plan_workspace_bytes(plan);
    tj_status status = TJ_OK;

    if (bytes == 0)
        return TJ_OK;
    status = tj_buffer_create(context, bytes, workspace, err);
    if (status == TJ_OK)
        status = tj_buffer_fill(*workspace, 0xff, err);
    if (status == TJ_OK) {
        x->workspace = tj_buffer_address(*workspace);
        x->workspace_bytes = bytes;
    }
    return status;
}

/* May C be P itself: both arrays of pointers, or neither? */
static int is_alike(const tj_problem *problem)
{
    return tj_stride_is_pointers(problem->stride_c) == tj_stride_is_pointers(problem->stride_p);
}

static int run_case(tj_context *context, const tj_problem *problem, const char *config_text, int is_whole, const char *label)
{
    const tj_problem known = known_problem(problem), canonical = stored(&known);
    const tj_dtype p_dtype = (tj_dtype)canonical.p_dtype;
    const int64_t in = (int64_t)tj_dtype_bytes((tj_dtype)canonical.dtype), out = (int64_t)tj_dtype_bytes(p_dtype);
    const int reads_c = problem->has_beta && next() % 3 != 0,
              in_place = problem->has_beta && canonical.ld_c == canonical.ld_p && is_alike(problem) && next() % 2;
    tj_operands x = TJ_OPERANDS_INIT;
    tj_config config = TJ_CONFIG_INIT;
    matrix m = {0}, n = {0}, p = {0}, c = {0};
    pointers to_m = {0}, to_n = {0}, to_p = {0}, to_c = {0}, to_before = {0};
    tj_buffer *workspace = NULL;
    tj_host_operands host = {0};
    tj_check_report report = {0};
    tj_error err = {TJ_OK, ""};
    const tj_plan *plan;
    int is_good, watch;

    if (!expect(make_matrix(context, &m, (tj_dtype)canonical.dtype, tj_problem_span(&canonical, 'M'), is_whole) &&
                    make_matrix(context, &n, (tj_dtype)canonical.dtype, tj_problem_span(&canonical, 'N'), is_whole) &&
                    make_matrix(context, &p, p_dtype, tj_problem_span(&canonical, 'P'), reads_c && in_place ? is_whole : -1) &&
                    make_matrix(context, &c, p_dtype, tj_problem_span(&canonical, 'C'), reads_c ? is_whole : -1),
                "%s: device memory", label))
        return 0;
    if (!expect(make_pointers(context, &to_m, problem->stride_m, canonical.batch, canonical.stride_m * in, address_of(&m),
                              elements_before(&m)) &&
                    make_pointers(context, &to_n, problem->stride_n, canonical.batch, canonical.stride_n * in, address_of(&n),
                                  elements_before(&n)) &&
                    make_pointers(context, &to_p, problem->stride_p, canonical.batch, canonical.stride_p * out, address_of(&p),
                                  elements_of(&p)) &&
                    make_pointers(context, &to_before, problem->stride_p, canonical.batch, canonical.stride_p * out,
                                  address_of(&p), elements_before(&p)) &&
                    make_pointers(context, &to_c, problem->has_beta ? problem->stride_c : TJ_TIGHT, canonical.batch,
                                  canonical.stride_c * out, address_of(&c), elements_before(&c)),
                "%s: device memory for pointers", label))
        return 0;
    x.m = operand(&to_m, address_of(&m));
    x.n = operand(&to_n, address_of(&n));
    x.p = operand(&to_p, address_of(&p));
    x.c = in_place ? NULL : operand(&to_c, address_of(&c));
    x.alpha = problem->has_alpha ? (double)PICK(1, 0, -2, 3) : 1.0;
    x.beta = reads_c ? (double)PICK(1, -1, 2) : 0.0; /* 0: C holds NaN and must not be read */
    x.j = problem->j.extent;
    x.k = problem->k.extent;
    x.l = problem->l.extent;
    x.batch = known.batch;
    host = (tj_host_operands){
        host_operand(&to_m, elements_before(&m)), host_operand(&to_n, elements_before(&n)),
        in_place ? host_operand(&to_before, elements_before(&p)) : host_operand(&to_c, elements_before(&c)), x.alpha, x.beta};

    watch = watch_p(&p, &canonical);
    is_good = expect(tj_config_parse(config_text, &config, &err) == TJ_OK &&
                         tj_plan_prepare(context, problem, &config, &plan, &err) == TJ_OK &&
                         give_workspace(context, plan, &x, &workspace, &err) == TJ_OK &&
                         tj_plan_launch(plan, &x, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK,
                     "%s: %s", label, err.message) &&
              expect(read_back(&m) && read_back(&n) && read_back(&p) && read_back(&c), "%s: copying back", label) &&
              expect(tj_reference_check(&known, &host, host_operand(&to_p, elements_of(&p)), 0, 0, &report, &err) == TJ_OK,
                     "%s: %s", label, err.message);
    if (is_good) {
        /* A product of whole numbers may well be zero everywhere: then the norm says nothing, and exactness below does. */
        expect(report.passed || (is_whole && report.norm == 0 && report.max_error == 0),
               "%s: %s; ratio %g at [%lld][%lld][%lld]: %g, not %g", label, report.reason, report.max_ratio,
               (long long)report.worst_batch, (long long)report.worst_row, (long long)report.worst_col, report.worst_value,
               report.worst_reference);
        if (is_whole && (p_dtype == TJ_F32 || p_dtype == TJ_F64))
            expect(report.max_error == 0, "%s: whole numbers came out wrong by %g", label, report.max_error);
        expect(memcmp(m.host, m.before, m.bytes) == 0, "%s: M or its guards changed", label);
        expect(memcmp(n.host, n.before, n.bytes) == 0, "%s: N or its guards changed", label);
        expect(memcmp(c.host, c.before, c.bytes) == 0, "%s: C or its guards changed", label);
        expect(padding_is_intact(&p, &canonical), "%s: the padding or the guards of P changed", label);
        write_digest(&p, label);
    }
    if (watch)
        (void)emulator->unwatch(watch);
    expect_no_finding(label);
    drop_matrix(&m);
    drop_matrix(&n);
    drop_matrix(&p);
    drop_matrix(&c);
    drop_pointers(&to_m);
    drop_pointers(&to_n);
    drop_pointers(&to_p);
    drop_pointers(&to_before);
    drop_pointers(&to_c);
    tj_buffer_free(workspace);
    return is_good;
}

/* Shapes that only their size makes hard. */
static void run_large(tj_context *context)
{
    static const struct {
        int64_t j, k, l, batch;
        const char *config;
        int64_t stride; /* of all operands */
    } rows[] = {
        {3, 2, 3, 140001, "naive:tile_width=4", TJ_POINTERS},
        {16, 16, 16, 70001, "small_batch:products=4", TJ_POINTERS_16},
        {8, 300, 16, 40001, "skinny:splits=3", TJ_POINTERS_16},
        {65536 * 4 + 3, 3, 2, 1, "tiled:tile_width=4"},
        {2, 3, 65536 * 4 + 3, 1, "tiled:tile_width=4"},
        {65536 * 4 + 3, 3, 2, 1, "naive:tile_width=4"},
        {3, 2, 3, 65536, "tiled:tile_width=4"},
        {3, 2, 3, 70001, "naive:tile_width=4"},
        {7, 300000, 13, 1, "tiled"},
        {1, 1000003, 1, 1, "tiled:tile_width=32"},
        {2048, 2048, 2048, 1, "tiled:tile_width=32"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(rows[i].j, rows[i].k, rows[i].l, TJ_F32);
        char label[160];
        problem.batch = rows[i].batch;
        problem.stride_m = problem.stride_n = problem.stride_p = rows[i].stride;
        snprintf(label, sizeof label, "%lldx%lldx%lld batch %lld %s", (long long)rows[i].j, (long long)rows[i].k,
                 (long long)rows[i].l, (long long)rows[i].batch, rows[i].config);
        run_case(context, &problem, rows[i].config, 0, label);
    }
}

int main(int argc, char **argv)
{
    const int cases = argc > 1 ? atoi(argv[1]) : 2000;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    tj_context *context = open_gpu("products", "");
    tj_error err;

    is_small = argc > 3 && strcmp(argv[3], "small") == 0;
    digests = argc > 4 ? fopen(argv[4], "w") : NULL;
    if (tj_emulator_get(context, &emulator, &err) != TJ_OK)
        return 1;

    for (int i = 0; i < cases && gpu_failed < 20; i++) {
        tj_problem problem;
        char config[128], label[400];
        state = seed * 1000003 + (uint64_t)i;
        make_request(&problem, config);
        snprintf(label, sizeof label,
                 "case %d of seed %llu (%lldx%lldx%lld dtype %d p %d layouts %d%d%d any %d%d%d batch %lld strides %lld %lld "
                 "%lld %lld alpha %d beta %d, %s)",
                 i, (unsigned long long)seed, (long long)problem.j.extent, (long long)problem.k.extent,
                 (long long)problem.l.extent, problem.dtype, problem.p_dtype, problem.m_layout, problem.n_layout,
                 problem.p_layout, problem.j.mode, problem.k.mode, problem.l.mode, (long long)problem.batch,
                 (long long)problem.stride_m, (long long)problem.stride_n, (long long)problem.stride_p,
                 (long long)problem.stride_c, problem.has_alpha, problem.has_beta, config);
        run_case(context, &problem, config, i % 4 == 0, label);
    }
    if (!is_small)
        run_large(context);
    if (digests && fclose(digests) != 0)
        return 1;
    tj_context_free(context);
    return finish("products");
}
