/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request: a random product with all that a problem can say, run with a config and compared with the float64 reference.
 *
 * P starts as NaN, so an element that is not written fails, and workspace, so a sum that is read too early; guards around and
 * padding inside every matrix must not change. On the emulator its checks must be silent, and each element of P be written once.
 */
#ifndef TJ_REQUEST_H
#define TJ_REQUEST_H

#include "gpu_test.h"

#include <math.h>
#include <stdint.h>

enum { GUARD_BYTES = 4096 };

static uint64_t random_state;
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
    char label[TJ_CONFIG_TEXT_BYTES + 320];
} request;

/* ---- drawing ------------------------------------------------------------------------------------------------------ */

/* Some matrices of a batch further apart than they need be. */
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

/* Of a problem with extents all the rest: types, how the matrices lie, alpha and beta; the batch unless it is set. */
static void draw_storage(tj_problem *p)
{
    const int m_rows = next() % 2, n_rows = next() % 2, p_rows = next() % 2;

    p->m.type = (int32_t)PICK(TJ_F32, TJ_F32, TJ_F64, TJ_F16, TJ_BF16);
    if (p->m.type != TJ_F64 && next() % 3 == 0)
        p->p.type = (int32_t)PICK(TJ_F32, TJ_F16, TJ_BF16);
    p->m.transposed = next() % 4 == 0;
    p->n.transposed = next() % 4 == 0;
    p->m.layout = m_rows != p->m.transposed ? TJ_ROW_MAJOR : TJ_COL_MAJOR;
    p->n.layout = n_rows != p->n.transposed ? TJ_ROW_MAJOR : TJ_COL_MAJOR;
    p->p.layout = p_rows ? TJ_ROW_MAJOR : TJ_COL_MAJOR;
    p->epilogue.has_alpha = next() % 3 == 0;
    p->epilogue.has_beta = next() % 3 == 0;
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

/* What the problem leaves to the launch, for half of all: extents, leading dimensions, strides, the batch. */
static void draw_open(request *r, const int64_t tile[3])
{
    tj_problem *const p = &r->asked;
    tj_dim *const dim[] = {&p->j, &p->k, &p->l};
    int64_t *const number[] = {&p->m.ld, &p->n.ld, &p->p.ld, &p->c.ld, &p->m.stride, &p->n.stride, &p->p.stride, &p->c.stride};

    r->asked = r->known;
    if (next() % 2)
        return;
    for (size_t i = 0; i < 3; i++)
        if (next() % 3 == 0)
            leave_open(dim[i], tile[i]);
    for (size_t i = 0; i < sizeof number / sizeof number[0]; i++)
        if (next() % 6 == 0 && !tj_stride_is_pointers(*number[i]))
            *number[i] = TJ_ANY;
    if (next() % 3 == 0)
        p->batch = TJ_ANY;
    if (!is_served(r)) /* some configs are made for extents */
        p->j = r->known.j, p->k = r->known.k, p->l = r->known.l;
    if (!is_served(r))
        r->asked = r->known;
}

static void describe(request *r, const char *number)
{
    const tj_problem *p = &r->asked, *k = &r->known;
    char text[TJ_CONFIG_TEXT_BYTES];

    tj_config_print(&r->config, text);
    snprintf(
        r->label, sizeof r->label,
        "%s: %lldx%lldx%lldx%lld dtype %d p %d layouts %d%d%d transposes %d%d any %d%d%d%d ld %lld %lld %lld %lld strides %lld "
        "%lld %lld %lld alpha %d beta %d, %s",
        number, (long long)k->j.extent, (long long)k->k.extent, (long long)k->l.extent, (long long)k->batch, p->m.type,
        p->p.type, p->m.layout, p->n.layout, p->p.layout, p->m.transposed, p->n.transposed, p->j.mode, p->k.mode, p->l.mode,
        p->batch == TJ_ANY, (long long)p->m.ld, (long long)p->n.ld, (long long)p->p.ld, (long long)p->c.ld,
        (long long)p->m.stride, (long long)p->n.stride, (long long)p->p.stride, (long long)p->c.stride, p->epilogue.has_alpha,
        p->epilogue.has_beta, text);
}

/* ---- operands ----------------------------------------------------------------------------------------------------- */

/* One matrix on both sides, with guards before and after. */
typedef struct matrix {
    tj_type dtype;
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

/* is_whole: whole numbers; -1: NaN. */
static int make_matrix(tj_context *context, matrix *m, tj_type dtype, int64_t span, int is_whole)
{
    tj_error err;

    m->dtype = dtype;
    m->elements = (size_t)span;
    m->bytes = m->elements * tj_type_bytes(dtype) + 2 * GUARD_BYTES;
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

/* After the launch: replaces host. */
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

/* Exactly as much as the plan asks for, all NaN. */
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

/* ---- checks ------------------------------------------------------------------------------------------------------- */

/* Has any byte of P changed that is no element of P? */
static int padding_is_intact(const matrix *m, const tj_problem *c)
{
    const size_t size = tj_type_bytes(m->dtype);
    const int64_t lines = c->p.layout == TJ_ROW_MAJOR ? c->j.extent : c->l.extent;
    const int64_t width = c->p.layout == TJ_ROW_MAJOR ? c->l.extent : c->j.extent;
    unsigned char *mask = calloc(1, m->bytes);
    int is_intact = 1;

    for (int64_t b = 0; b < c->batch; b++)
        for (int64_t line = 0; line < lines; line++)
            memset(mask + GUARD_BYTES + (size_t)(b * c->p.stride + line * c->p.ld) * size, 1, (size_t)width * size);
    for (size_t i = 0; i < m->bytes; i++)
        if (!mask[i] && m->host[i] != m->before[i])
            is_intact = 0;
    free(mask);
    return is_intact;
}

/* Each element of P exactly once; 0 where there is no emulator, or nothing to write. */
static int watch_p(const matrix *p, const tj_problem *c)
{
    const uint64_t size = tj_type_bytes(p->dtype);
    const int64_t lines = c->p.layout == TJ_ROW_MAJOR ? c->j.extent : c->l.extent;
    const int64_t width = c->p.layout == TJ_ROW_MAJOR ? c->l.extent : c->j.extent;
    const int is_even = c->batch == 1 || c->p.stride == c->p.ld * lines;

    if (!emulator || !is_even)
        return 0;
    return emulator->watch((uint64_t)(uintptr_t)address_of(p), (uint64_t)(lines * c->batch), (uint64_t)width * size,
                           (uint64_t)c->p.ld * size);
}

/* What the emulator's checks found since the last request. */
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

/* All of them: what the problem fixes is ignored. */
static void say_numbers(tj_operands *x, const tj_problem *lies)
{
    x->j = lies->j.extent;
    x->k = lies->k.extent;
    x->l = lies->l.extent;
    x->m.ld = lies->m.ld;
    x->n.ld = lies->n.ld;
    x->p.ld = lies->p.ld;
    x->c.ld = lies->c.ld;
    x->batch = lies->batch;
    x->m.stride = lies->m.stride;
    x->n.stride = lies->n.stride;
    x->p.stride = lies->p.stride;
    x->c.stride = lies->c.stride;
}

/* digests: where to write a digest of P, so that two devices can be compared byte by byte; or NULL. */
static void write_digest(FILE *digests, const matrix *p, const char *label)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; digests && i < p->bytes; i++)
        hash = (hash ^ p->host[i]) * UINT64_C(0x100000001b3);
    if (digests)
        fprintf(digests, "%016llx %s\n", (unsigned long long)hash, label);
}

/* is_whole: of whole numbers, whose product must be exact. 0: the compiler spilled registers, and the library refused to launch it. */
static int run_request(tj_context *context, const request *r, int is_whole, FILE *digests)
{
    const tj_problem lies = stored(&r->known);
    const tj_type p_dtype = (tj_type)lies.p.type;
    const int64_t in = (int64_t)tj_type_bytes((tj_type)lies.m.type), out = (int64_t)tj_type_bytes(p_dtype);
    const int reads_c = r->known.epilogue.has_beta && next() % 3 != 0, in_place = may_be_in_place(r, &lies) && next() % 2;
    const char *const label = r->label;
    tj_operands x = TJ_OPERANDS_INIT;
    matrix m = {0}, n = {0}, p = {0}, c = {0};
    pointers to_m = {0}, to_n = {0}, to_p = {0}, to_c = {0}, to_before = {0};
    tj_buffer *workspace = NULL;
    tj_host_operands host = {0};
    tj_check_report report = {0};
    tj_error err = {TJ_OK, ""};
    const tj_plan *plan;
    int watch;

    if (tj_plan_prepare(context, &r->asked, &r->config, &plan, &err) == TJ_ERR_SPILLS)
        return !expect(strstr(err.message, "spills") && strstr(err.message, ": use "), "%s: no remedy in: %s", label,
                       err.message);
    if (!expect(
            make_matrix(context, &m, (tj_type)lies.m.type, tj_problem_span(&lies, TJ_MATRIX_M), is_whole) &&
                make_matrix(context, &n, (tj_type)lies.m.type, tj_problem_span(&lies, TJ_MATRIX_N), is_whole) &&
                make_matrix(context, &p, p_dtype, tj_problem_span(&lies, TJ_MATRIX_P), reads_c && in_place ? is_whole : -1) &&
                make_matrix(context, &c, p_dtype, tj_problem_span(&lies, TJ_MATRIX_C), reads_c ? is_whole : -1),
            "%s: device memory", label) ||
        !expect(make_pointers(context, &to_m, r->known.m.stride, lies.batch, lies.m.stride * in, address_of(&m),
                              elements_before(&m)) &&
                    make_pointers(context, &to_n, r->known.n.stride, lies.batch, lies.n.stride * in, address_of(&n),
                                  elements_before(&n)) &&
                    make_pointers(context, &to_p, r->known.p.stride, lies.batch, lies.p.stride * out, address_of(&p),
                                  elements_of(&p)) &&
                    make_pointers(context, &to_before, r->known.p.stride, lies.batch, lies.p.stride * out, address_of(&p),
                                  elements_before(&p)) &&
                    make_pointers(context, &to_c, r->known.epilogue.has_beta ? r->known.c.stride : TJ_TIGHT, lies.batch,
                                  lies.c.stride * out, address_of(&c), elements_before(&c)),
                "%s: device memory for pointers", label))
        goto done;
    say_numbers(&x, &lies);
    x.m.address = operand(&to_m, address_of(&m));
    x.n.address = operand(&to_n, address_of(&n));
    x.p.address = operand(&to_p, address_of(&p));
    x.c.address = in_place ? NULL : operand(&to_c, address_of(&c));
    x.alpha = r->known.epilogue.has_alpha ? (double)PICK(1, 0, -2, 3) : 1.0;
    x.beta = reads_c ? (double)PICK(1, -1, 2) : 0.0; /* 0: C holds NaN and must not be read */
    host = (tj_host_operands){
        host_operand(&to_m, elements_before(&m)), host_operand(&to_n, elements_before(&n)),
        in_place ? host_operand(&to_before, elements_before(&p)) : host_operand(&to_c, elements_before(&c)), x.alpha, x.beta};

    watch = watch_p(&p, &lies);
    if (expect(tj_plan_prepare(context, &r->asked, &r->config, &plan, &err) == TJ_OK &&
                   give_workspace(context, plan, &x, &workspace, &err) == TJ_OK &&
                   tj_plan_launch(plan, &x, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK,
               "%s: %s", label, err.message) &&
        expect(read_back(&m) && read_back(&n) && read_back(&p) && read_back(&c), "%s: copying back", label) &&
        expect(tj_reference_check(&r->known, &host, host_operand(&to_p, elements_of(&p)), 0, 0, &report, &err) == TJ_OK,
               "%s: %s", label, err.message)) {
        /* A product may well be zero everywhere, by alpha or by whole numbers: then the norm says nothing, and exactness does. */
        expect(report.passed || (report.norm == 0 && report.max_error == 0),
               "%s: %s; ratio %g at [%lld][%lld][%lld]: %g, not %g", label, report.reason, report.max_ratio,
               (long long)report.worst_batch, (long long)report.worst_row, (long long)report.worst_col, report.worst_value,
               report.worst_reference);
        if (is_whole && (p_dtype == TJ_F32 || p_dtype == TJ_F64))
            expect(report.max_error == 0, "%s: whole numbers came out wrong by %g", label, report.max_error);
        expect(memcmp(m.host, m.before, m.bytes) == 0, "%s: M or its guards changed", label);
        expect(memcmp(n.host, n.before, n.bytes) == 0, "%s: N or its guards changed", label);
        expect(memcmp(c.host, c.before, c.bytes) == 0, "%s: C or its guards changed", label);
        expect(padding_is_intact(&p, &lies), "%s: the padding or the guards of P changed", label);
        write_digest(digests, &p, label);
    }
    if (watch)
        (void)emulator->unwatch(watch);
    expect_no_finding(label);
done:
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
    return 1;
}

#endif
