/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (it needs a GPU) */
/* tier: change; run: emulator/products 150 2 small; cost: 100 */
/* tier: change; run: emulator/products_sm_100 40 3 small; env: CUDA_EMULATOR_DEVICES=sm_100; cost: 100 */
/* tier: nightly; run: emulator/products_1 500 1 small */
/* tier: nightly; run: emulator/products_2 500 2 small */
/* tier: nightly; run: emulator/products_3 500 3 small; sanitizers: never (minutes of numbers) */
/* tier: nightly; run: emulator/products_4 500 4 small; sanitizers: never (minutes of numbers) */
/*
 * products [CASES [SEED [small [DIGESTS]]]]: random requests over everything the families offer, run on the GPU and compared with
 * the float64 reference (request.h); every fourth has whole numbers and must be exact, every fifth has groups. DIGESTS: a file to
 * write a digest of each P to, so that two devices can be compared byte by byte.
 *
 * The emulator takes part too (TILEJIT_DRIVER=emulator). "small" keeps extents below 100, so that thousands of cases take minutes there.
 */
#include "draw.h"

static int is_small;
static FILE *digests;
static tj_device_facts device = TJ_DEVICE_FACTS_INIT; /* where they run */

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

enum { TRIES = 500 }; /* to draw a config that suits; there may be none */

/* Draw a way that many families serve, and now and then one that few do. */
static int draw_way(void)
{
    if (next() % 3 == 0)
        return (int)PICK(BY_E4M3, BY_E5M2, BY_FP8, BY_S8, BY_U8, BY_BF16_S8, BY_U8_F16, BY_BF16_S4, BY_BF16_E4M3);
    return (int)PICK(BY_F32, BY_F32, BY_F32, BY_TF32, BY_F64, BY_F64, BY_F16, BY_F16, BY_BF16, BY_BF16);
}

/* Take a config by its text; 0: it does not suit the problem, or the device. */
static int take(request *r, const char *text)
{
    r->config = (tj_config)TJ_CONFIG_INIT;
    r->asked = r->known;
    return tj_config_parse(text, &r->config, NULL) == TJ_OK && is_served(r) && may_run(&device, &r->known, &r->config);
}

/* Widen half of the problems to extents that vectors divide. */
static void widen(tj_problem *p)
{
    if (next() % 2)
        p->j.extent *= 4, p->l.extent *= 4, p->k.extent *= 4;
}

/* One extent is 64 at most; the rest of the shape is split, streamed and loaded in all ways that it lets. */
static void make_skinny(request *r)
{
    static const char *const geometry[] = {",tm=1,tn=4,lanes=8,slices=8,vector=1,k_thread=4",
                                           ",tm=5,tn=4,lanes=4,slices=8,vector=1,k_thread=2",
                                           ",tm=3,tn=2,lanes=16,slices=4,vector=1,k_thread=8",
                                           ",tm=16,tn=4,lanes=8,slices=4,vector=1,k_thread=1,blocks=2",
                                           ",tm=8,tn=1,lanes=1,slices=64,vector=1,k_thread=4",
                                           ",tm=4,tn=4",
                                           ",tm=7,lanes=2",
                                           ""};
    const int streams_m = next() % 2;
    int64_t *const few = streams_m ? &r->known.l.extent : &r->known.j.extent;
    char text[128], splits[16];
    int tries = 0;

    widen(&r->known);
    *few = 1 + *few % 64;
    draw_storage(&r->known, draw_way());
    do {
        snprintf(splits, sizeof splits, ",splits=%d", (int)PICK(1, 1, 2, 3, 8));
        snprintf(text, sizeof text, "skinny:stream=%s,boundary=%s%s%s", streams_m ? "m" : "n", next() % 4 ? "auto" : "all",
                 next() % 6 ? splits : "", geometry[next() % 8]);
    } while (!take(r, text) && ++tries < TRIES);
}

/* Weights along k by a few rows, in lines that wide loads divide. */
static void make_thin(request *r)
{
    static const char *const geometry[] = {"", ",tm=8,tn=16", ",tm=16,slices=4,ahead=1", ",tm=24,slices=2",
                                           ",slices=16,tn=64,ahead=1"};
    tj_problem *const p = &r->known;
    char text[128];
    int tries = 0;

    p->j.extent = 1 + p->j.extent % 40;
    p->k.extent = (1 + p->k.extent % 20) * 64;
    draw_storage(p, (int)PICK(BY_BF16_S8, BY_BF16_S4, BY_BF16_E4M3));
    p->m.transposed = p->n.transposed = 0;
    p->m.layout = p->p.layout = TJ_ROW_MAJOR;
    p->n.layout = TJ_COL_MAJOR;
    p->m.ld = p->n.ld = p->p.ld = p->c.ld = TJ_TIGHT;
    do
        snprintf(text, sizeof text, "thin:boundary=%s,splits=%d%s", next() % 4 ? "auto" : "all", (int)PICK(1, 1, 2, 3),
                 geometry[next() % 5]);
    while (!take(r, text) && ++tries < TRIES);
}

/* The lanes stand in all ways that the extent of 16 at most lets. */
static void make_strip(request *r)
{
    static const char *const places[] = {"",
                                         ",tm=3,row_lanes=1",
                                         ",tm=4,row_lanes=2,warps=2",
                                         ",tm=5,row_lanes=4,stages=5,warps=1",
                                         ",tm=2,row_lanes=16,steps=8,stages=2",
                                         ",col_lanes=1,blocks=2",
                                         ",copies=boxes",
                                         ",copies=boxes,tm=5,row_lanes=1,warps=2,stages=2"};
    char text[128], splits[16];
    int tries = 0;

    r->known.k.extent *= 4;
    draw_strip(&r->known, (int)PICK(BY_F32, BY_F64, BY_F16, BY_BF16));
    do {
        snprintf(splits, sizeof splits, ",splits=%d", (int)PICK(1, 1, 2, 3, 8));
        snprintf(text, sizeof text, "strip:boundary=%s%s%s", next() % 4 ? "auto" : "all", next() % 6 ? splits : "",
                 places[next() % 8]);
    } while (!take(r, text) && ++tries < TRIES);
}

/* Extents of 128 at most, all fixed, and a batch; a thread tile that the extents let, several products to a block or one. */
static void make_small_batch(request *r)
{
    static const char *const modes[] = {"", ",vector=1", ",copy=registers", ",copy=registers,vector=2", ",blocks=2"};
    tj_dim *const dims[] = {&r->known.j, &r->known.k, &r->known.l};
    char text[128], products[16], tile[24];
    int tries = 0;

    widen(&r->known);
    for (int i = 0; i < 3; i++)
        dims[i]->extent = 1 + (dims[i]->extent + 127) % 128;
    if (next() % 4)
        r->known.batch = PICK(5, 16, 33);
    draw_storage(&r->known, draw_way());
    do {
        snprintf(products, sizeof products, ",products=%d", (int)PICK(1, 2, 3, 5, 8));
        snprintf(tile, sizeof tile, ",tm=%d,tn=%d", (int)PICK(1, 2, 3, 4, 8), (int)PICK(1, 2, 4, 5, 8));
        snprintf(text, sizeof text, "small_batch:boundary=%s%s%s%s", next() % 4 ? "auto" : "all", modes[next() % 5],
                 next() % 3 ? products : "", next() % 2 ? tile : "");
    } while (!take(r, text) && ++tries < TRIES);
}

/* Draw a few tiles for the types of tensor cores, with all options of a problem; space.c draws all tiles. */
static void make_mma(request *r)
{
    static const char *const tiles[] = {"bm=16,bn=16,wm=16,wn=16", "bm=32,bn=32,wm=16,wn=16", "bm=64,bn=32,wm=32,wn=16",
                                        "bm=32,bn=64,wm=16,wn=32", "bm=64,bn=64,wm=32,wn=32", "bm=128,bn=16,wm=32,wn=16"};
    static const char *const modes[] = {"rows=y",
                                        "rows=x",
                                        "group=2",
                                        "vector=1",
                                        "steps=4,stages=2",
                                        "stages=5",
                                        "pack=none",
                                        "pack=both",
                                        "pack=m,steps=4",
                                        "pack=n",
                                        "splits=2",
                                        "splits=3,pack=both",
                                        "splits=7,vector=1",
                                        "blocks=2,steps=4",
                                        "stages=4",
                                        "pack=both,transpose=yes",
                                        "pack=m,transpose=yes",
                                        "pack=n,transpose=yes,splits=2"};
    char text[128];
    int tries = 0, w;

    widen(&r->known);
    do
        w = draw_way();
    while (w == BY_F32);
    draw_storage(&r->known, w);
    do
        snprintf(text, sizeof text, "mma:%s,%s,boundary=%s", tiles[next() % (sizeof tiles / sizeof tiles[0])],
                 modes[next() % (sizeof modes / sizeof modes[0])], next() % 4 ? "auto" : "all");
    while (!take(r, text) && ++tries < TRIES);
}

/* Draw tiles for the tensor cores that read shared memory: those of sm_90a, or of sm_100a and its kin. */
static void make_wgmma(request *r)
{
    static const char *const newer_tiles[] = {"bm=64,bn=16",   "bm=64,bn=48",          "bm=128,bn=80",         "bm=128,bn=32",
                                              "bm=128,bn=128", "swap=yes,bm=64,bn=24", "swap=yes,bm=128,bn=48"};
    static const char *const newer_modes[] = {"boundary=all",   "pack=both",   "splits=2", "splits=5",
                                              "store=elements", "store=lines", "stages=2", "group=1"};
    static const char *const tiles[] = {"bm=64,bn=16",
                                        "bm=64,bn=48,blocks=2",
                                        "bm=128,bn=80",
                                        "bm=192,bn=32",
                                        "bm=128,bn=128",
                                        "bm=64,bn=80,pingpong=yes",
                                        "bm=128,bn=32,pingpong=yes"};
    static const char *const modes[] = {"release=now",    "release=late", "splits=2", "splits=5",
                                        "store=elements", "store=lines",  "stages=2", "group=1"};
    const int is_newer = device.cc_major > 9;
    const tj_problem drawn = r->known;
    char text[128];
    uint64_t tile, mode;
    int tries = 0;

    do {
        r->known = drawn;
        draw_storage(&r->known, draw_way());
        mode = next() % (sizeof modes / sizeof modes[0]);
        tile = next() % (sizeof tiles / sizeof tiles[0]);
        snprintf(text, sizeof text, "%s:%s,%s", is_newer ? "tcgen05" : "wgmma", (is_newer ? newer_tiles : tiles)[tile],
                 (is_newer ? newer_modes : modes)[mode]);
    } while (!take(r, text) && ++tries < TRIES);
    if (is_served(r))
        return;
    r->known = drawn;
    make_mma(r); /* arrays of pointers, and what is open and lies where no tensor map takes it */
}

/* Type and layouts decide which configs of simt suit. */
static void make_simt(request *r)
{
    static const char *const tiles[] = {"bm=16,bn=32,bk=16,tm=4,tn=4",  "bm=32,bn=32,bk=16,tm=8,tn=4",
                                        "bm=32,bn=64,bk=8,tm=8,tn=8",   "bm=64,bn=32,bk=32,tm=4,tn=4",
                                        "bm=64,bn=64,bk=16,tm=4,tn=8",  "bm=96,bn=64,bk=16,tm=12,tn=4",
                                        "bm=64,bn=128,bk=16,tm=8,tn=8", "bm=16,bn=128,bk=8,tm=4,tn=16"};
    static const char *const modes[] = {"rows=y",
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
    char text[128];
    int tries = 0;

    draw_storage(&r->known, draw_way());
    do
        snprintf(text, sizeof text, "simt:%s,%s,boundary=%s", tiles[next() % (sizeof tiles / sizeof tiles[0])],
                 modes[next() % (sizeof modes / sizeof modes[0])], next() % 4 ? "auto" : "all");
    while (!take(r, text) && ++tries < TRIES);
}

static void make_textbook(request *r, int64_t tile)
{
    char text[128];
    int tries = 0;

    draw_storage(&r->known, draw_way());
    do {
        static const char *const families[] = {"naive:", "tiled:shared=static,", "tiled:shared=dynamic,"};

        snprintf(text, sizeof text, "%stile_width=%d,rows=%s,boundary=%s",
                 families[next() % (sizeof families / sizeof families[0])], (int)tile, next() % 4 ? "y" : "x",
                 next() % 4 ? "auto" : "all");
    } while (!take(r, text) && ++tries < TRIES);
}

static void make_request(request *r, const char *number)
{
    const int64_t tile = PICK(4, 7, 8, 12, 16, 17, 24, 31, 32), tiles[3] = {tile, tile, tile};

    r->known = (tj_problem)TJ_PROBLEM_INIT(random_extent(tile), random_extent(tile), random_extent(tile), TJ_F32);
    if (next() % 40 == 0)
        r->known.k.extent = 0;
    if (next() % 40 == 0)
        r->known.k.extent = is_small ? 300 : 3000;
    switch (with_groups ? 4 + next() % 7 : next() % 11) { /* families from simt on; the others take no groups */
    case 0:
    case 1:
        make_small_batch(r);
        break;
    case 2:
        make_skinny(r);
        break;
    case 3:
        make_thin(r);
        break;
    case 4:
    case 5:
        make_simt(r);
        break;
    case 6:
    case 7:
        make_mma(r);
        break;
    case 9:
        make_wgmma(r);
        break;
    case 8:
        if (with_groups)
            make_wgmma(r);
        else
            make_strip(r);
        break;
    default:
        make_textbook(r, tile);
    }
    if (!is_served(r))
        expect(take(r, "naive"), "%s: not even the naive family serves it", number);
    draw_open(r, tiles);
    describe(r, number);
}

/* Run shapes that are hard only by their size. */
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
        request r = {.known = TJ_PROBLEM_INIT(rows[i].j, rows[i].k, rows[i].l, TJ_F32)};

        r.known.batch = rows[i].batch;
        r.known.m.stride = r.known.n.stride = r.known.p.stride = rows[i].stride;
        if (!expect(take(&r, rows[i].config), "%s does not suit", rows[i].config))
            continue;
        describe(&r, "large");
        run_request(context, &r, 0, digests);
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
    if (tj_emulator_get(context, &emulator, &err) != TJ_OK || tj_device_current(context, &device, &err) != TJ_OK)
        return 1;

    for (int i = 0; i < cases && gpu_failed < 20; i++) {
        request r;
        char number[64];

        random_state = seed * 1000003 + (uint64_t)i;
        with_groups = i % 5 == 4;
        snprintf(number, sizeof number, "case %d of seed %llu", i, (unsigned long long)seed);
        make_request(&r, number);
        run_request(context, &r, i % 4 == 0, digests);
    }
    if (!is_small)
        run_large(context);
    if (digests && fclose(digests) != 0)
        return 1;
    tj_context_free(context);
    return finish("products");
}
