/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space [PAIRS [SEED [small]]]: every config of every family's space compiles and is right: as many pairs of a config and a problem
 * as asked for, drawn from all families alike, run and compared with the float64 reference. P starts as NaN between guards,
 * workspace as NaN. A combination that a constraint refuses must be refused by the generator too, with a sentence.
 * space all JxKxL[xBATCH][:DTYPE]...: nothing is drawn: for each of these problems every config that a tuning might try.
 *
 * Threads compile ahead, so that 5000 pairs take minutes on a GPU; "small" keeps products tiny, for the emulator, whose checks
 * must then be silent.
 */
#include "gpu_test.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include <tilejit/tuner.h>

enum { GUARD = 4096, CHUNK = 96, MAX_THREADS = 32, DRAWS = 2000 };

static const char NAME[] = "space";
static uint64_t state;
static int is_small;
static const tj_emulator *emulator; /* NULL: a GPU */
static long refused_combinations;

static uint64_t next(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- drawing ------------------------------------------------------------------------------------------------------ */

typedef struct pair {
    tj_problem problem;
    tj_config config;
    char label[TJ_CONFIG_TEXT_BYTES + 160];
} pair;

static tj_config draw_config(const tj_family *family)
{
    tj_config config = TJ_CONFIG_INIT;

    config.family = family;
    for (size_t i = 0; i < tj_family_param_count(family); i++) {
        int32_t value[TJ_PARAM_MAX_TRIED];
        const size_t count = tj_param_values(tj_family_param(family, i), value);

        config.value[i] = value[next() % count];
    }
    if (next() % 6 == 0) /* forced where the shape may not need them */
        config.check_j = config.check_k = config.check_l = TJ_CHECK_ON;
    return config;
}

/* Around multiples of the block tile, and elsewhere. */
static int64_t draw_extent(int64_t tile)
{
    const int64_t most = is_small ? 64 : 400, blocks = 1 + (int64_t)(next() % 3);

    switch (next() % 5) {
    case 0:
        return tile * blocks <= most ? tile * blocks : 1 + (int64_t)(next() % 40);
    case 1:
        return tile * blocks <= most ? tile * blocks + 1 - 2 * (int64_t)(next() % 2) : 1 + (int64_t)(next() % 40);
    case 2:
        return 1 + (int64_t)(next() % 4);
    default:
        return 1 + (int64_t)(next() % (uint64_t)(is_small ? 48 : 300));
    }
}

static tj_problem draw_problem(int64_t rows, int64_t cols)
{
    static const int32_t types[] = {TJ_F32, TJ_F32, TJ_F32, TJ_F64, TJ_F16, TJ_BF16};
    tj_problem p = TJ_PROBLEM_INIT(draw_extent(rows), draw_extent(16), draw_extent(cols), TJ_F32);

    p.dtype = types[next() % 6];
    if (p.dtype != TJ_F64 && next() % 4 == 0)
        p.p_dtype = TJ_F32;
    p.m_layout = next() % 3 == 0;
    p.n_layout = next() % 3 == 0;
    p.p_layout = next() % 4 == 0;
    p.has_alpha = next() % 4 == 0;
    p.has_beta = next() % 4 == 0;
    if (next() % 8 == 0)
        p.k.extent = is_small ? 200 : 2000;
    if (next() % 40 == 0)
        p.k.extent = 0;
    if (next() % 4 == 0)
        p.ld_m = (p.m_layout == TJ_ROW_MAJOR ? p.k.extent : p.j.extent) + 1 + (int64_t)(next() % 4);
    if (next() % 4 == 0)
        p.ld_n = (p.n_layout == TJ_ROW_MAJOR ? p.l.extent : p.k.extent) + 1 + (int64_t)(next() % 4);
    if (next() % 4 == 0)
        p.ld_p = (p.p_layout == TJ_ROW_MAJOR ? p.l.extent : p.j.extent) + 1 + (int64_t)(next() % 4);
    if (next() % 5 == 0)
        p.batch = 2 + (int64_t)(next() % 3);
    if (next() % 6 == 0)
        p.j.mode = TJ_DIM_ANY;
    if (next() % 6 == 0)
        p.k.mode = TJ_DIM_ANY;
    if (next() % 6 == 0)
        p.l.mode = TJ_DIM_ANY;
    return p;
}

/* The block tile of a config, so that extents can be drawn around it. */
static void tile_of(const tj_config *config, int64_t *rows, int64_t *cols)
{
    const tj_problem p = TJ_PROBLEM_INIT(1024, 1024, 1024, TJ_F32);
    tj_source *source = NULL;

    *rows = *cols = 16;
    if (tj_generate(&p, config, &source, NULL) == TJ_OK) {
        *rows = tj_source_launch(source)->block_rows;
        *cols = tj_source_launch(source)->block_cols;
    }
    tj_source_free(source);
}

/* A constraint's no is the generator's no, with a sentence. */
static void expect_refusal(const tj_problem *problem, const tj_config *config)
{
    tj_source *source = NULL;
    tj_error err = {TJ_OK, ""};
    char text[TJ_CONFIG_TEXT_BYTES];

    refused_combinations++;
    tj_config_print(config, text);
    expect(tj_generate(problem, config, &source, &err) != TJ_OK && err.status != TJ_OK && strlen(err.message) > 10,
           "%s was refused by its constraints and generated all the same", text);
    tj_source_free(source);
}

static void set_label(pair *one)
{
    const tj_problem *p = &one->problem, known = tj_problem_canonical(p);
    char text[TJ_CONFIG_TEXT_BYTES];

    tj_config_print(&one->config, text);
    snprintf(one->label, sizeof one->label,
             "%lldx%lldx%lld %s p %s layouts %d%d%d ld %lld %lld %lld any %d%d%d batch %lld alpha %d beta %d, %s",
             (long long)p->j.extent, (long long)p->k.extent, (long long)p->l.extent, tj_dtype_name((tj_dtype)known.dtype),
             tj_dtype_name((tj_dtype)known.p_dtype), p->m_layout, p->n_layout, p->p_layout, (long long)p->ld_m,
             (long long)p->ld_n, (long long)p->ld_p, p->j.mode, p->k.mode, p->l.mode, (long long)p->batch, p->has_alpha,
             p->has_beta, text);
}

/* 0: the family has no config for what was drawn, however often. */
static int draw_pair(pair *one)
{
    const tj_family *family = tj_family_at(next() % tj_family_count());

    for (int draws = 0; draws < DRAWS; draws++) {
        tj_config resolved;
        int64_t rows, cols;

        one->config = draw_config(family);
        tile_of(&one->config, &rows, &cols);
        one->problem = draw_problem(rows, cols);
        if (tj_problem_check(&one->problem, NULL) != TJ_OK)
            continue;
        resolved = one->config;
        if (tj_config_resolve(&one->problem, &resolved, NULL) != TJ_OK) {
            if (draws % 16 == 0)
                expect_refusal(&one->problem, &one->config);
            continue;
        }
        set_label(one);
        return 1;
    }
    return expect(0, "family %s has no config for what was drawn", tj_family_name(family));
}

/* ---- all of one problem ------------------------------------------------------------------------------------------- */

static tj_space *walked;
static tj_problem walked_problem;

static int parse_problem(const char *text, tj_problem *problem)
{
    long long j = 0, k = 0, l = 0, batch = 0;
    const int count = sscanf(text, "%lldx%lldx%lldx%lld", &j, &k, &l, &batch);
    const char *colon = strchr(text, ':');
    tj_dtype dtype = TJ_F32;
    tj_error err = {TJ_OK, ""};

    if (!expect(count >= 3, "%s is no JxKxL[xBATCH][:DTYPE]", text) ||
        !expect(!colon || tj_dtype_parse(colon + 1, &dtype, &err) == TJ_OK, "%s: %s", text, err.message))
        return 0;
    *problem = (tj_problem)TJ_PROBLEM_INIT(j, k, l, dtype);
    problem->batch = batch;
    return 1;
}

static int walk_pair(pair *one)
{
    one->problem = walked_problem;
    if (!tj_space_next(walked, &one->config))
        return 0;
    set_label(one);
    return 1;
}

/* ---- compiling ahead ---------------------------------------------------------------------------------------------- */

typedef struct chunk {
    tj_context *context;
    char target[16];
    pair one[CHUNK];
    int count;
    atomic_int next;
} chunk;

/* A failure is met again, and told, where the pair is run. */
static void *compile_ahead(void *payload)
{
    chunk *c = payload;

    for (int i; (i = atomic_fetch_add(&c->next, 1)) < c->count;) {
        tj_source *source = NULL;
        tj_image *image = NULL;

        if (tj_generate(&c->one[i].problem, &c->one[i].config, &source, NULL) == TJ_OK &&
            tj_image_obtain(c->context, source, c->target, &image, NULL) == TJ_OK)
            tj_image_free(image);
        tj_source_free(source);
    }
    return NULL;
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

typedef struct matrix {
    tj_dtype dtype;
    size_t bytes;
    unsigned char *host; /* guard, elements, guard */
    tj_buffer *device;
} matrix;

static int make_matrix(tj_context *context, matrix *m, tj_dtype dtype, int64_t span, int is_filled)
{
    m->dtype = dtype;
    m->bytes = (size_t)span * tj_dtype_bytes(dtype);
    m->host = malloc(m->bytes + 2 * GUARD);
    if (!m->host)
        return 0;
    memset(m->host, 0xff, m->bytes + 2 * GUARD); /* NaN in every type */
    if (is_filled)
        tj_fill_random(dtype, m->host + GUARD, (size_t)span, next());
    return tj_buffer_create(context, m->bytes + 2 * GUARD, &m->device, NULL) == TJ_OK &&
           tj_buffer_write(m->device, 0, m->host, m->bytes + 2 * GUARD, NULL) == TJ_OK;
}

static void *address_of(const matrix *m)
{
    return (char *)tj_buffer_address(m->device) + GUARD;
}

static int guards_are_intact(const matrix *m)
{
    for (size_t i = 0; i < GUARD; i++)
        if (m->host[i] != 0xff || m->host[GUARD + m->bytes + i] != 0xff)
            return 0;
    return 1;
}

static void drop_matrix(matrix *m)
{
    tj_buffer_free(m->device);
    free(m->host);
}

static void expect_no_finding(const char *label)
{
    cuEmuFinding found;

    if (!emulator)
        return;
    if (emulator->get_finding(0, &found))
        expect(0, "%s: %s, CUDA line %u", label, found.text, found.cuda_line);
    emulator->clear();
}

static void run_pair(tj_context *context, const pair *one)
{
    tj_problem known = one->problem, c;
    matrix m = {0}, n = {0}, p = {0}, add = {0};
    tj_buffer *workspace = NULL;
    tj_operands x = TJ_OPERANDS_INIT;
    const tj_plan *plan = NULL;
    tj_check_report report;
    tj_host_operands host;
    tj_error err = {TJ_OK, ""};
    size_t workspace_bytes;

    known.j.mode = known.k.mode = known.l.mode = TJ_DIM_FIXED;
    c = tj_problem_canonical(&known);
    if (!expect(tj_plan_prepare(context, &one->problem, &one->config, &plan, &err) == TJ_OK, "%s: %s", one->label, err.message))
        return;
    workspace_bytes = tj_plan_workspace_bytes(plan);
    if (!expect(make_matrix(context, &m, (tj_dtype)c.dtype, tj_problem_span(&known, 'M'), 1) &&
                    make_matrix(context, &n, (tj_dtype)c.dtype, tj_problem_span(&known, 'N'), 1) &&
                    make_matrix(context, &p, (tj_dtype)c.p_dtype, tj_problem_span(&known, 'P'), 0) &&
                    make_matrix(context, &add, (tj_dtype)c.p_dtype, tj_problem_span(&known, 'C'), 1) &&
                    tj_buffer_create(context, workspace_bytes, &workspace, &err) == TJ_OK &&
                    tj_buffer_fill(workspace, 0xff, &err) == TJ_OK,
                "%s: device memory", one->label))
        goto done;
    x.m = address_of(&m);
    x.n = address_of(&n);
    x.p = address_of(&p);
    x.c = one->problem.has_beta ? address_of(&add) : NULL;
    x.alpha = one->problem.has_alpha ? 1.5 : 1.0;
    x.beta = one->problem.has_beta ? -0.5 : 0.0;
    x.j = known.j.extent;
    x.k = known.k.extent;
    x.l = known.l.extent;
    x.workspace = workspace_bytes ? tj_buffer_address(workspace) : NULL;
    x.workspace_bytes = workspace_bytes;
    host = (tj_host_operands){m.host + GUARD, n.host + GUARD, add.host + GUARD, x.alpha, x.beta};
    if (expect(tj_plan_launch(plan, &x, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK &&
                   tj_buffer_read(p.device, 0, p.host, p.bytes + 2 * GUARD, &err) == TJ_OK &&
                   tj_reference_check(&known, &host, p.host + GUARD, 0, 1, &report, &err) == TJ_OK,
               "%s: %s", one->label, err.message)) {
        expect(report.passed || (report.norm == 0 && report.max_error == 0),
               "%s: %s; ratio %g at [%lld][%lld][%lld]: %g, not %g", one->label, report.reason, report.max_ratio,
               (long long)report.worst_batch, (long long)report.worst_row, (long long)report.worst_col, report.worst_value,
               report.worst_reference);
        expect(guards_are_intact(&p), "%s: the guards of P changed", one->label);
    }
    expect_no_finding(one->label);
done:
    tj_buffer_free(workspace);
    drop_matrix(&m);
    drop_matrix(&n);
    drop_matrix(&p);
    drop_matrix(&add);
}

static void run_chunk(chunk *c)
{
    pthread_t thread[MAX_THREADS];
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = 0;

    atomic_store(&c->next, 0);
    while (threads < processors && threads < MAX_THREADS && pthread_create(&thread[threads], NULL, compile_ahead, c) == 0)
        threads++;
    for (int i = 0; i < c->count && gpu_failed < 20; i++)
        run_pair(c->context, &c->one[i]);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
}

/* Until so many were run, or there are no more. Returns how many. */
static long run_pairs(int (*next_pair)(pair *one), long most)
{
    static chunk c;
    long done = 0;

    do {
        tj_device_facts facts;
        tj_error err = {TJ_OK, ""};

        c.context = open_gpu(NAME, "");
        c.count = 0;
        if (expect(tj_emulator_get(c.context, &emulator, &err) == TJ_OK &&
                       tj_device_current(c.context, &facts, &err) == TJ_OK &&
                       tj_target_for(c.context, facts.cc_major, facts.cc_minor, c.target, &err) == TJ_OK,
                   "opening: %s", err.message))
            while (c.count < CHUNK && done + c.count < most && next_pair(&c.one[c.count]))
                c.count++;
        run_chunk(&c);
        tj_context_free(c.context);
        if (done / 1000 != (done + c.count) / 1000)
            printf("%ld pairs\n", done + c.count);
        done += c.count;
    } while (c.count == CHUNK && done < most && gpu_failed < 20);
    return done;
}

/* The device counts: what it cannot run is in no tuning of its own. */
static void run_all_of(const char *text)
{
    tj_context *context = open_gpu(NAME, "");
    tj_device_facts facts;
    tj_error err = {TJ_OK, ""};

    if (parse_problem(text, &walked_problem) &&
        expect(tj_device_current(context, &facts, &err) == TJ_OK &&
                   tj_space_create(&walked_problem, &facts, NULL, &walked, &err) == TJ_OK,
               "%s: %s", text, err.message))
        printf("gpu/space: %s: all %ld configs of %zu families\n", text, run_pairs(walk_pair, LONG_MAX), tj_family_count());
    tj_space_free(walked);
    walked = NULL;
    tj_context_free(context);
}

int main(int argc, char **argv)
{
    long pairs;

    if (argc > 2 && strcmp(argv[1], "all") == 0) {
        for (int i = 2; i < argc && gpu_failed < 20; i++)
            run_all_of(argv[i]);
        return finish(NAME);
    }
    state = argc > 2 ? strtoull(argv[2], NULL, 10) * 1000003 : 1;
    is_small = argc > 3 && strcmp(argv[3], "small") == 0;
    pairs = run_pairs(draw_pair, argc > 1 ? atol(argv[1]) : 500);
    printf("gpu/space: %ld pairs of %zu families, %ld refused combinations among those looked at\n", pairs, tj_family_count(),
           refused_combinations);
    return finish(NAME);
}
