/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (it needs a GPU) */
/* tier: change; run: emulator/space_drawn 80 1 small; cost: 100 */
/* tier: change; run: emulator/space_all all 16x16x16x5; cost: 100 */
/* tier: change; run: emulator/space_f32 texts 5x40x7:f32:half 5x40x7:tf32:half; sanitizers: nightly (as space_all); cost: 100 */
/* tier: change; run: emulator/space_f64 texts 6x20x9:f64:half; sanitizers: nightly (as space_all); cost: 100 */
/* tier: change; run: emulator/space_bf16 texts 5x40x7:bf16:half; sanitizers: nightly (as space_all); cost: 100 */
/* tier: change; run: emulator/space_e4m3 texts 16x32x13:e4m3:half; sanitizers: nightly (as space_all); cost: 100 */
/* tier: change; run: emulator/space_s8 texts 13x40x16:s8:half; sanitizers: nightly (as space_all); cost: 100 */
/* tier: change; run: emulator/space_f16 texts 9x33x8:f16:half; sanitizers: nightly (as space_all); cost: 100 */
/* tier: change; run: emulator/space_e5m2 texts 13x32x16:e5m2:half; sanitizers: nightly (as space_all); cost: 100 */
/* tier: change; run: emulator/space_u8 texts 16x32x13:u8:half; sanitizers: nightly (as space_all); cost: 100 */
/* tier: change; run: emulator/space_tiles texts 17x40x20:s8 17x40x20:e4m3; sanitizers: nightly (as space_all); cost: 100 */
/* tier: change; run: emulator/space_c64 texts 5x20x7:c64:half 5x20x7:c64_tf32:rcr 5x20x7:c64_split:crc 5x20x7:c128:ccr; sanitizers: nightly (as space_all); cost: 100 */
/* tier: change; run: emulator/space_long texts 5x260x4:f32; sanitizers: nightly (as space_all); cost: 100 */
/* tier: change; run: emulator/space_sm_75 texts 16x33x15:f16 16x32x8:f16 13x32x16:s8 5x17x7:u8; env: CUDA_EMULATOR_DEVICES=sm_75; sanitizers: nightly (as space_all); cost: 100 */
/* tier: change; run: emulator/space_sm_89 texts 16x160x24:e4m3 9x300x20:f32_fp8 13x32x16:e5m2; env: CUDA_EMULATOR_DEVICES=sm_89; sanitizers: nightly (as space_all); cost: 100 */
/* tier: change; run: emulator/space_sm_75_u8 texts 5x17x7:u8; env: CUDA_EMULATOR_DEVICES=sm_75; sanitizers: only; cost: 100 */
/* tier: change; run: emulator/space_tcgen05 texts tcgen05 16x72x24:bf16:every 136x72x24:bf16:ccr 16x72x24:tf32 32x160x48:e4m3:half 32x160x48:s8:half; env: CUDA_EMULATOR_DEVICES=sm_100; sanitizers: nightly (as space_all); cost: 100 */
/* tier: change; run: emulator/space_tcgen05_scaled texts tcgen05 16x160x32:mxfp8:rcr 16x288x32:mxfp4_w4a4:rcr 16x288x32:nvfp4_w4a4:rcr; env: CUDA_EMULATOR_DEVICES=sm_100; sanitizers: nightly (as space_all); cost: 100 */
/* tier: nightly; run: emulator/space_tcgen05_scaled_all all tcgen05 200x416x72:mxfp8:rcr 200x416x72:mxfp8:crc 200x544x72:mxfp4_w4a4:rcr 200x544x72:nvfp4_w4a4:rcr 48x288x200:nvfp4_w4a4:rcc; sanitizers: never (minutes of numbers); env: CUDA_EMULATOR_DEVICES=sm_100 */
/* tier: change; run: emulator/space_tcgen05_drawn 60 1 tcgen05 small; env: CUDA_EMULATOR_DEVICES=sm_100, CUDA_EMULATOR_SEED=1; cost: 100 */
/* tier: nightly; run: emulator/space_tcgen05_all all tcgen05 16x72x24:f16:every 200x136x72:bf16:half 16x72x24:tf32:every 32x160x48:e5m2:every 32x160x48:u8:every 32x160x48:f32_fp8:half; sanitizers: never (minutes of numbers); env: CUDA_EMULATOR_DEVICES=sm_100 */
/* tier: nightly; run: emulator/space_tcgen05_drawn_2 2000 2 tcgen05 small; sanitizers: never (minutes of numbers); env: CUDA_EMULATOR_DEVICES=sm_100, CUDA_EMULATOR_SEED=2 */
/* tier: nightly; run: emulator/space_drawn_1 120 1 small; sanitizers: never (minutes of numbers) */
/* tier: nightly; run: emulator/space_drawn_2 120 2 small; sanitizers: never (minutes of numbers) */
/* tier: nightly; run: emulator/space_all_s8 all 13x32x16:s8; sanitizers: never (minutes of numbers) */
/* tier: nightly; run: emulator/space_all_long all 5x260x3; sanitizers: never (minutes of numbers) */
/* tier: nightly; run: emulator/space_all_sm_75 all 16x33x15:f16 16x32x8:f16 13x32x16:s8 5x17x7:u8; sanitizers: never (minutes of numbers); env: CUDA_EMULATOR_DEVICES=sm_75 */
/* tier: nightly; run: emulator/space_f16_every texts 9x33x8:f16:every; sanitizers: never (minutes of numbers) */
/* tier: nightly; run: emulator/space_e4m3_every texts 16x32x13:e4m3:every; sanitizers: never (minutes of numbers) */
/* tier: nightly; run: emulator/space_s8_every texts 13x40x16:s8:every; sanitizers: never (minutes of numbers) */
/*
 * space [PAIRS [SEED [TYPE] [FAMILY] [small]]]: every config of every family's space compiles and is right: PAIRS pairs of a config and a
 * problem are run and compared with the float64 reference (request.h). A type is drawn first (f32, f64, f16, bf16, tf32, e4m3, e5m2,
 * s8, u8, f32_fp8, f32_split, c64, c128, c64_tf32, c64_split, weights by activations such as bf16_s4; TYPE: only this one), then a family of those that serve it,
 * with equal probability (FAMILY: only this one). A combination that a constraint refuses must be refused by the generator too, with a sentence.
 * space all [FAMILY] JxKxL[xBATCH][:TYPE[:LAYOUTS]]...: nothing is drawn: for each of these problems every config that a tuning might try.
 * LAYOUTS are those of M, N and P, such as rcr; r: row-major, the default; half: each of M with each of N, and P in both (a P by columns
 * is another product's by rows); every: all eight.
 * space texts ...: the same, but of configs with equal sources only the first. The comparison ignores the request in the source's
 * first line, and BLOCKS, which PTX holds only in a directive to ptxas (tests/compile/test_compile_targets.c). It also ignores the
 * excess of a number over the problem: STAGES above the phases of k plus one, of which the rest stays empty, and GROUP above the
 * blocks of P along either side. That holds if a block computes one tile, so walk only small problems.
 *
 * With a seed, the emulator's tensor memory is allocated from any column on, as if other blocks had some.
 *
 * On the emulator a change walks all sources of small problems, for each type and each layout of M and N. Their tiles are small:
 * for mma 16 wide, by rows in s8 and e4m3 up to 32. Larger ones are drawn.
 *
 * Threads compile ahead, so that 5000 pairs take minutes on a GPU; "small" keeps products tiny, for the emulator, whose checks
 * must then be silent.
 */
#include "draw.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include <tilejit/tuner.h>

enum { CHUNK = 96, MAX_THREADS = 32, DRAWS = 20000 };

static const char NAME[] = "space";
static int is_small, asked_way = WAYS; /* WAYS: draw one */
static const tj_family *asked_family;  /* NULL: all of them */
static long refused_combinations, spilled, drawn[WAYS];
static tj_device_facts device = TJ_DEVICE_FACTS_INIT; /* where they run */

/* By its name; WAYS: there is none. */
static int find_way(const char *name)
{
    int w = 0;

    while (w < WAYS && strcmp(ways[w].name, name) != 0)
        w++;
    return w;
}

/* Is it the name of a family? Then only that one is asked for. */
static int asks_for_family(const char *name)
{
    const tj_family *const family = tj_family_find(name);

    asked_family = family ? family : asked_family;
    return family != NULL;
}

/* ---- drawing ------------------------------------------------------------------------------------------------------ */

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

static tj_problem draw_problem(const int64_t tile[3], int w)
{
    tj_problem p = TJ_PROBLEM_INIT(draw_extent(tile[0]), draw_extent(tile[1]), draw_extent(tile[2]), TJ_F32);

    if (next() % 2) /* sizes that vectors divide */
        p.j.extent = (p.j.extent + 7) / 8 * 8, p.k.extent = (p.k.extent + 7) / 8 * 8, p.l.extent = (p.l.extent + 7) / 8 * 8;
    if (next() % 8 == 0)
        p.k.extent = is_small ? 200 : 2000;
    if (next() % 40 == 0)
        p.k.extent = 0;
    draw_storage(&p, w);
    return p;
}

/* The block tile of a config, so that extents can be drawn around it. */
static void tile_of(const tj_config *config, int w, int64_t tile[3])
{
    tj_problem p = TJ_PROBLEM_INIT(1024, 1024, 1024, TJ_F32);
    tj_source *source = NULL;

    set_way(&p, w);
    tile[0] = tile[1] = tile[2] = 16; /* not every config takes it */
    if (tj_generate(&p, config, &source, NULL) == TJ_OK) {
        tile[0] = tj_product_step(tj_source_launch(source))->block_rows;
        tile[2] = tj_product_step(tj_source_launch(source))->block_cols;
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

/* Does the family's default take a plain product, and does the device run it? */
static int serves(const tj_family *family, int w)
{
    tj_problem p = TJ_PROBLEM_INIT(48, 48, 16, TJ_F32);
    tj_config config = TJ_CONFIG_INIT;

    set_way(&p, w);
    config.family = family;
    return tj_config_resolve(&p, &config, NULL) == TJ_OK && may_run(&device, &p, &config);
}

/* Draw a way and then a family that serves it. */
static const tj_family *draw_family(int *w)
{
    const tj_family *family = asked_family;

    do {
        *w = asked_way < WAYS ? asked_way : (int)(next() % BY_MXFP8);
    } while (asked_family && asked_way == WAYS && !serves(asked_family, *w));
    while (!asked_family && !serves(family = tj_family_at(next() % tj_family_count()), *w))
        ;
    return family;
}

/* wgmma takes f32 along k, in whole lines of 16 bytes, for one product without groups or scales along k. */
static void draw_f32_by_halves(tj_problem *p)
{
    p->rows = (tj_rows){0};
    p->batch = 1;
    p->k.extent = (p->k.extent + 7) / 8 * 8;
    p->m.layout = TJ_ROW_MAJOR;
    p->m.ld = p->n.ld = p->m.transposed = TJ_TIGHT;
    p->m.stride = p->n.stride = p->p.stride = p->c.stride = TJ_TIGHT;
    p->n.layout = TJ_COL_MAJOR ^ p->n.transposed;
    for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS; which++)
        if (p->scale[which].k > 0)
            p->scale[which] = (tj_scale){0};
}

/* 0: the family has no config for what was drawn, however often. */
static int draw_pair(request *one)
{
    int w;
    const tj_family *const family = draw_family(&w);

    for (int draws = 0; draws < DRAWS; draws++) {
        int64_t tile[3];

        one->config = draw_config(family);
        tile_of(&one->config, w, tile);
        one->known = draw_problem(tile, w);
        if (strcmp(tj_family_name(family), "strip") == 0)
            draw_strip(&one->known, w);
        if (strcmp(tj_family_name(family), "wgmma") == 0 && w == BY_F32_BF16)
            draw_f32_by_halves(&one->known);
        one->asked = one->known;
        if (tj_problem_check(&one->known, NULL) != TJ_OK)
            continue;
        if (!is_served(one)) {
            if (draws % 16 == 0)
                expect_refusal(&one->known, &one->config);
            continue;
        }
        draw_open(one, tile);
        if (!may_run(&device, &one->known, &one->config))
            continue;
        describe(one, "drawn");
        drawn[w]++;
        return 1;
    }
    return expect(0, "family %s has no config for what was drawn in %s", tj_family_name(family), ways[w].name);
}

/* ---- all of one problem ------------------------------------------------------------------------------------------- */

static tj_space *walked;
static tj_problem walked_problem;
static int is_each_text_once; /* walk only configs with a new source */
static uint64_t *texts;       /* that came up, of all problems: their digests */
static size_t text_count;
static long walked_configs;

static int parse_problem(const char *text, tj_problem *problem)
{
    long long j = 0, k = 0, l = 0, batch = 0;
    const int count = sscanf(text, "%lldx%lldx%lldx%lld", &j, &k, &l, &batch);
    const char *colon = strchr(text, ':'), *layouts = colon ? strchr(colon + 1, ':') : NULL;
    char type[12] = "f32";
    int w;

    if (colon)
        snprintf(type, sizeof type, "%.*s", (int)strcspn(colon + 1, ":"), colon + 1);
    w = find_way(type);
    if (!expect(count >= 3, "%s is not a JxKxL[xBATCH][:TYPE[:LAYOUTS]]", text) ||
        !expect(w < WAYS, "%s: no type of that name", text) ||
        !expect(!layouts || (strspn(layouts + 1, "rc") == 3 && strlen(layouts) == 4),
                "%s: no three layouts, such as rcr, nor half or every", text))
        return 0;
    *problem = (tj_problem)TJ_PROBLEM_INIT(j, k, l, TJ_F32);
    set_way(problem, w);
    problem->batch = batch;
    problem->m.layout = layouts && layouts[1] == 'c' ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    problem->n.layout = layouts && layouts[2] == 'c' ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    problem->p.layout = layouts && layouts[3] == 'c' ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    return 1;
}

/* Find "constexpr int NAME = value;", if the source has it. */
static char *find_constant(char *text, const char *name, int64_t *value)
{
    char begin[40], *line;

    snprintf(begin, sizeof begin, "\nconstexpr int %s = ", name);
    line = strstr(text, begin);
    *value = line ? strtoll(line + strlen(begin), NULL, 10) : 0;
    return line ? line + 1 : NULL;
}

static void leave_out(char *line)
{
    memset(line, ' ', strcspn(line, "\n"));
}

static int64_t parts_of(int64_t extent, int64_t part)
{
    return part > 0 ? (extent + part - 1) / part : extent;
}

/* Digest a source without the parts that it shares with others that do the same. */
static uint64_t digest_text(const char *generated, const tj_problem *p)
{
    char *const text = strdup(strchr(generated, '\n')), *blocks, *stages, *group;
    int64_t value, most_stages, most_rows, bm, bn, bk;
    uint64_t of_text;

    find_constant(text, "BM", &bm);
    find_constant(text, "BN", &bn);
    find_constant(text, "BK", &bk);
    blocks = find_constant(text, "BLOCKS", &value);
    stages = find_constant(text, "STAGES", &most_stages);
    group = find_constant(text, "GROUP", &most_rows);
    if (blocks)
        leave_out(blocks);
    if (stages && most_stages > parts_of(p->k.extent, bk) + 1)
        leave_out(stages);
    if (group && most_rows > parts_of(p->j.extent, bm) && most_rows > parts_of(p->l.extent, bn))
        leave_out(group);
    of_text = digest(text, strlen(text));
    free(text);
    return of_text;
}

static int is_new_text(const request *one)
{
    tj_source *source = NULL;
    tj_error err = {TJ_OK, ""};
    uint64_t new_one;

    if (!expect(tj_generate(&one->asked, &one->config, &source, &err) == TJ_OK, "%s: %s", one->label, err.message))
        return 0;
    new_one = digest_text(tj_source_text(source), &one->asked);
    tj_source_free(source);
    for (size_t i = 0; i < text_count; i++)
        if (texts[i] == new_one)
            return 0;
    texts = realloc(texts, (text_count + 1) * sizeof *texts);
    texts[text_count++] = new_one;
    return 1;
}

static int walk_pair(request *one)
{
    one->known = one->asked = walked_problem;
    while (tj_space_next(walked, &one->config)) {
        if (asked_family && one->config.family != asked_family)
            continue;
        describe(one, "walked");
        walked_configs++;
        if (!is_each_text_once || is_new_text(one))
            return 1;
    }
    return 0;
}

/* ---- compiling ahead ---------------------------------------------------------------------------------------------- */

typedef struct chunk {
    tj_context *context;
    char target[16];
    request one[CHUNK];
    int count;
    atomic_int next;
} chunk;

/* A failure occurs again, and is reported, where the pair is run. */
static void *compile_ahead(void *payload)
{
    chunk *c = payload;

    for (int i; (i = atomic_fetch_add(&c->next, 1)) < c->count;) {
        tj_source *source = NULL;
        tj_image *image = NULL;

        if (tj_generate(&c->one[i].asked, &c->one[i].config, &source, NULL) == TJ_OK &&
            tj_image_obtain(c->context, source, c->target, &image, NULL) == TJ_OK)
            tj_image_free(image);
        tj_source_free(source);
    }
    return NULL;
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

/* How many of them ran. */
static int run_chunk(chunk *c)
{
    pthread_t thread[MAX_THREADS];
    int ran = 0;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = 0;

    atomic_store(&c->next, 0);
    while (threads < processors && threads < MAX_THREADS && pthread_create(&thread[threads], NULL, compile_ahead, c) == 0)
        threads++;
    for (int i = 0; i < c->count && gpu_failed < 20; i++)
        ran += run_request(c->context, &c->one[i], i % 4 == 0, NULL);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    spilled += c->count - ran;
    return ran;
}

/* Run pairs until the limit, or until there are no more. Returns their number. */
static long run_pairs(int (*next_pair)(request *one), long most)
{
    static chunk c;
    long done = 0;
    int ran, asked;

    do {
        tj_error err = {TJ_OK, ""};

        c.context = open_gpu(NAME, "");
        c.count = 0;
        asked = most - done < CHUNK ? (int)(most - done) : CHUNK;
        if (expect(tj_emulator_get(c.context, &emulator, &err) == TJ_OK &&
                       tj_device_current(c.context, &device, &err) == TJ_OK &&
                       tj_target_for(c.context, device.cc_major, device.cc_minor, c.target, &err) == TJ_OK,
                   "opening: %s", err.message))
            while (c.count < asked && next_pair(&c.one[c.count]))
                c.count++;
        ran = run_chunk(&c);
        tj_context_free(c.context);
        if (done / 1000 != (done + ran) / 1000)
            printf("%ld pairs\n", done + ran);
        done += ran;
    } while (c.count == asked && done < most && gpu_failed < 20);
    return done;
}

/* The device counts: what it cannot run is in no tuning of its own. */
static void run_all_of(const char *text)
{
    tj_context *context = open_gpu(NAME, "");
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_error err = {TJ_OK, ""};

    if (parse_problem(text, &walked_problem) &&
        expect(tj_device_current(context, &facts, &err) == TJ_OK &&
                   tj_space_create(&walked_problem, &facts, NULL, &walked, &err) == TJ_OK,
               "%s: %s", text, err.message)) {
        const long ran = run_pairs(walk_pair, LONG_MAX);

        printf("gpu/space: %s: of all %ld configs of %zu families %ld %s; %ld whose kernel spills were refused\n", text,
               walked_configs, tj_family_count(), ran, is_each_text_once ? "new texts ran" : "ran", spilled);
        walked_configs = spilled = 0;
    }
    tj_space_free(walked);
    walked = NULL;
    tj_context_free(context);
}

/* The problem in each of the layouts that it names. */
static void run_layouts_of(const char *text)
{
    static const char *const layouts[] = {"rrr", "rcc", "crc", "ccr", "rrc", "rcr", "crr", "ccc"};
    const char *const last = strrchr(text, ':');
    const int count = !last ? 0 : strcmp(last, ":half") == 0 ? 4 : strcmp(last, ":every") == 0 ? 8 : 0;
    char one[80];

    if (count == 0)
        run_all_of(text);
    for (int i = 0; i < count && gpu_failed < 20; i++) {
        snprintf(one, sizeof one, "%.*s:%s", (int)(last - text), text, layouts[i]);
        run_all_of(one);
    }
}

int main(int argc, char **argv)
{
    long pairs;

    is_each_text_once = argc > 2 && strcmp(argv[1], "texts") == 0;
    if (argc > 2 && (is_each_text_once || strcmp(argv[1], "all") == 0)) {
        for (int i = 2; i < argc && gpu_failed < 20; i++)
            if (!asks_for_family(argv[i]))
                run_layouts_of(argv[i]);
        free(texts);
        return finish(NAME);
    }
    random_state = argc > 2 ? strtoull(argv[2], NULL, 10) * 1000003 : 1;
    for (int i = 3; i < argc; i++)
        if (strcmp(argv[i], "small") == 0)
            is_small = 1;
        else if (!asks_for_family(argv[i]) &&
                 !expect((asked_way = find_way(argv[i])) < WAYS, "%s is not a type, a family, or small", argv[i]))
            return finish(NAME);
    pairs = run_pairs(draw_pair, argc > 1 ? atol(argv[1]) : 500);
    printf("gpu/space: seed %s: %ld pairs of %zu families ran; next to them %ld whose kernel spills were refused, and %ld "
           "combinations among those looked at\ngpu/space: drawn:",
           argc > 2 ? argv[2] : "0", pairs, tj_family_count(), spilled, refused_combinations);
    for (int w = 0; w < WAYS; w++)
        if (drawn[w] > 0)
            printf(" %ld %s", drawn[w], ways[w].name);
    printf("\n");
    return finish(NAME);
}
