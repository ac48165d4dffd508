/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_matmul SHAPES.csv | --draw COUNT:SEED: TileJIT beside cuBLAS and cuBLASLt, shape by shape, all products verified. bench/README.md says how.
 */
#include <errno.h>
#include <string.h>

#include "../program.h"
#include "report.h"

const char program[] = "bench_matmul";

enum { EXIT_FAILED = 1, EXIT_WORDS = 2, EXIT_NO_DRIVER = 77, WORKSPACE_BYTES = 64 << 20 };

static const char usage[] =
    "usage: bench_matmul SHAPES.csv | --draw COUNT:SEED [options]\n"
    "  --draw COUNT:SEED   so many shapes drawn from this seed, the same ones everywhere\n"
    "  --list              print what was drawn as a file of shapes, which tilejit tune --shapes takes, and stop\n"
    "  --only NAME,...     these shapes (512x300x700, with types or without) and categories alone\n"
    "  --dtype TYPE, --n-dtype TYPE, --p-dtype TYPE, --compute TYPE, --layout-m row|col, --layout-n row|col, "
    "--layout-p row|col\n"
    "                      what the lines of the file leave open, as for tilejit tune\n"
    "  --config CONFIG     the tuned contender takes this config; @FILE: lines of a shape, a blank and "
    "its config; default: the\n"
    "                      records of the store, which tilejit tune writes\n"
    "  --records FILE      the records of this file instead, as tilejit tune --export writes it\n"
    "  --tuned             without the zero-shot contender\n"
    "  --zero-shot         without the tuned contender\n"
    "  --no-peers          without cuBLAS\n"
    "  --cublas FOLDER     where libcublas and libcublasLt are\n"
    "  --rounds N          1 to 41; default: as many as fit 1.5 s, 7 to 41\n"
    "  --bandwidth GB/S    of the floor; default 4300\n"
    "  --csv FILE          results as CSV, a row as soon as it is known\n"
    "  --html FILE         results as a page with plots\n";

typedef struct words {
    const char *shapes, *draw, *left_open[SHAPE_OPTIONS], *only, *config, *records, *cublas, *csv, *html;
    int rounds, is_list, is_tuned_only, is_zero_shot_only, without_peers;
    double bandwidth;
} words;

static double read_number(const char *option, const char *text, double low, double high)
{
    char *end;
    const double value = strtod(text, &end);

    if (end == text || *end || !(value >= low && value <= high))
        die(EXIT_WORDS, "%s \"%s\" is no number from %g to %g", option, text, low, high);
    return value;
}

static int read_count(const char *option, const char *text, int low, int high)
{
    char *end;
    const long value = strtol(text, &end, 10);

    if (end == text || *end || value < low || value > high)
        die(EXIT_WORDS, "%s \"%s\" is no whole number from %d to %d", option, text, low, high);
    return (int)value;
}

static words read_words(int argc, char **argv)
{
    words w = {.bandwidth = 4300};
    const struct {
        const char *name;
        const char **text;
        int *flag;
    } option[] = {{"--draw", &w.draw, NULL},
                  {"--only", &w.only, NULL},
                  {"--config", &w.config, NULL},
                  {"--records", &w.records, NULL},
                  {"--cublas", &w.cublas, NULL},
                  {"--csv", &w.csv, NULL},
                  {"--html", &w.html, NULL},
                  {"--list", NULL, &w.is_list},
                  {"--tuned", NULL, &w.is_tuned_only},
                  {"--zero-shot", NULL, &w.is_zero_shot_only},
                  {"--no-peers", NULL, &w.without_peers}};

    for (int i = 1; i < argc; i++) {
        size_t o = 0;

        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            exit(0);
        }
        while (o < sizeof option / sizeof option[0] && strcmp(argv[i], option[o].name) != 0)
            o++;
        if (o < sizeof option / sizeof option[0] && option[o].flag) {
            *option[o].flag = 1;
        } else if (strncmp(argv[i], "--", 2) == 0 && i + 1 == argc) {
            die(EXIT_WORDS, "%s: no such option, or its value is missing; --help lists them", argv[i]);
        } else if (o < sizeof option / sizeof option[0]) {
            *option[o].text = argv[++i];
        } else if (shapes_find_option(argv[i]) >= 0) {
            w.left_open[shapes_find_option(argv[i])] = argv[i + 1];
            i++;
        } else if (strcmp(argv[i], "--rounds") == 0) {
            w.rounds = read_count("--rounds", argv[i + 1], 1, 41);
            i++;
        } else if (strcmp(argv[i], "--bandwidth") == 0) {
            w.bandwidth = read_number("--bandwidth", argv[i + 1], 1, 1e6);
            i++;
        } else if (strncmp(argv[i], "--", 2) == 0) {
            die(EXIT_WORDS, "no option %s; --help lists them", argv[i]);
        } else if (w.shapes) {
            die(EXIT_WORDS, "\"%s\": one file of shapes, please, and there is %s already", argv[i], w.shapes);
        } else {
            w.shapes = argv[i];
        }
    }
    if (!w.shapes && !w.draw)
        die(EXIT_WORDS, "which file of shapes? --help says more");
    if (w.shapes && w.draw)
        die(EXIT_WORDS, "%s and --draw: shapes come from a file or are drawn, so leave one out", w.shapes);
    if (w.is_list && !w.draw)
        die(EXIT_WORDS, "--list prints what --draw COUNT:SEED draws: give that in place of %s", w.shapes);
    if (w.is_tuned_only && w.is_zero_shot_only)
        die(EXIT_WORDS, "--tuned and --zero-shot leave nothing to measure: give one of them, or none");
    return w;
}

/* ---- shapes and configs ---------------------------------------------------------------------------------------------- */

/* Does the first word of a list with commas name this shape: by its name, with types or without, or by its category? */
static int is_named(const char *list, const shape *s)
{
    const size_t length = strcspn(list, ",");
    const char *const names[] = {s->name, s->category};

    for (int i = 0; i < 2; i++)
        if (strncmp(list, names[i], length) == 0 && (names[i][length] == '\0' || (i == 0 && names[i][length] == '-')))
            return 1;
    return 0;
}

static const char *next_word(const char *list)
{
    const char *const comma = strchr(list, ',');

    return comma ? comma + 1 : NULL;
}

static void select_shapes(shape_list *list, const char *only)
{
    size_t kept = 0;

    for (const char *at = only; at; at = next_word(at)) {
        size_t i = 0;

        while (i < list->count && !is_named(at, &list->item[i]))
            i++;
        if (i == list->count)
            die(EXIT_WORDS, "--only \"%.*s\": there is no shape and no category of that name", (int)strcspn(at, ","), at);
    }
    for (size_t i = 0; i < list->count; i++)
        for (const char *at = only; at; at = next_word(at))
            if (is_named(at, &list->item[i])) {
                list->item[kept++] = list->item[i];
                break;
            }
    list->count = kept;
}

/* As a file of shapes. Their types are not in it: those are options of whatever reads it. */
static void print_shapes(const char *drawn, const shape_list *list)
{
    printf("# category,j,k,l,batch   --draw %s\n", drawn);
    for (size_t i = 0; i < list->count; i++) {
        const tj_problem *p = &list->item[i].problem;

        printf("%s,%lld,%lld,%lld,%lld\n", list->item[i].category, (long long)p->j.extent, (long long)p->k.extent,
               (long long)p->l.extent, (long long)p->batch);
    }
}

/* The config that a shape was given; 0: none, and why says it. */
typedef struct given {
    int is_given;
    tj_config config;
} given;

static void parse_config(const char *text, const char *where, given *g)
{
    tj_error err;

    g->config = (tj_config)TJ_CONFIG_INIT;
    if (tj_config_parse(text, &g->config, &err) != TJ_OK)
        die(EXIT_WORDS, "%s: %s", where, err.message);
    g->is_given = 1;
}

static void read_configs(const char *path, const shape_list *list, given *g)
{
    FILE *file = fopen(path, "r");
    char line[1024], where[200];
    int number = 0;

    if (!file)
        die(EXIT_WORDS, "--config: cannot read %s: %s", path, strerror(errno));
    while (fgets(line, sizeof line, file)) {
        char *config = line + strcspn(line, " \t\r\n");
        size_t i = 0;

        number++;
        if (*line == '#' || config == line)
            continue;
        *config++ = '\0';
        config += strspn(config, " \t");
        config[strcspn(config, "\r\n")] = '\0';
        while (i < list->count && strcmp(list->item[i].name, line) != 0)
            i++;
        (void)snprintf(where, sizeof where, "%.100s:%d, %.60s", path, number, line);
        /* A file for more shapes than are raced is welcome; a config that is none is not. */
        if (i < list->count)
            parse_config(config, where, &g[i]);
    }
    fclose(file);
}

static given *give_configs(const char *config, const shape_list *list)
{
    given *g = calloc(list->count, sizeof *g);

    if (!g)
        die(EXIT_WORDS, "out of memory");
    if (config && *config == '@')
        read_configs(config + 1, list, g);
    else if (config)
        for (size_t i = 0; i < list->count; i++)
            parse_config(config, "--config", &g[i]);
    return g;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;

    if (!file)
        die(EXIT_WORDS, "--records: cannot read %s: %s", path, strerror(errno));
    if (getdelim(&text, &size, '\0', file) < 0)
        die(EXIT_WORDS, "--records: %s holds nothing: tilejit tune --export writes such a file", path);
    fclose(file);
    return text;
}

/* The records of what was tuned: of a file, or of the store. */
static void read_records(const bench *b, const char *path, tj_records *records)
{
    static tj_error err;
    char *text = path ? read_file(path) : NULL;

    if (text && tj_records_parse(text, NULL, &b->device, records, NULL, &err) != TJ_OK)
        die(EXIT_WORDS, "--records %s: %s", path, err.message);
    if (!text && tj_records_load(b->context, records, &err) != TJ_OK)
        fprintf(stderr, "bench_matmul: no records: %s\n", err.message);
    free(text);
}

static void give_records(const bench *b, const char *path, const shape_list *list, given *g)
{
    tj_records *records = tj_records_create();

    if (!records)
        die(EXIT_WORDS, "out of memory");
    read_records(b, path, records);
    for (size_t i = 0; i < list->count; i++) {
        const tj_record *record = tj_records_find(records, &list->item[i].problem, &b->device);
        tj_record_facts facts;

        if (!record)
            continue;
        tj_record_get_facts(record, &facts);
        parse_config(facts.config, list->item[i].name, &g[i]);
    }
    tj_records_free(records);
}

/* ---- the run --------------------------------------------------------------------------------------------------------- */

static FILE *open_output(const char *path)
{
    FILE *file = path ? fopen(path, "w") : NULL;

    if (path && !file)
        die(EXIT_WORDS, "cannot write %s: %s", path, strerror(errno));
    return file;
}

static int complain(const tj_error *err)
{
    fprintf(stderr, "bench_matmul: %s\n", err->message);
    return EXIT_FAILED;
}

static void open_peers(bench *b, const words *w, tj_buffer **workspace)
{
    static tj_error err;

    /* The real ones need a GPU; a stand-in is named by its folder. */
    if (w->without_peers || (clock_is_emulated(b->clock) && !w->cublas)) {
        b->no_peers = w->without_peers ? "not asked for" : "cuBLAS does not run on the emulator";
        return;
    }
    if (tj_buffer_create(b->context, WORKSPACE_BYTES, workspace, &err) == TJ_OK)
        b->peers = cublas_open(w->cublas, clock_stream(b->clock), tj_buffer_address(*workspace), WORKSPACE_BYTES, &err);
    b->no_peers = err.message;
    if (!b->peers && w->cublas)
        die(EXIT_WORDS, "--cublas: %s", err.message);
}

/* f32 lanes of a multiprocessor: 64 for compute capability 7.5 and 8.0, 128 since. */
static ceilings find_ceilings(const tj_device_facts *d, double gigabytes_per_s)
{
    const int lanes = d->cc_major * 10 + d->cc_minor > 80 ? 128 : 64;

    return (ceilings){gigabytes_per_s * 1e3, 2.0 * lanes * d->sm_count * d->clock_khz / 1e3};
}

static int run(bench *b, const words *w, const shape_list *list, const given *g)
{
    const ceilings most = find_ceilings(&b->device, w->bandwidth);
    FILE *csv = open_output(w->csv), *html = open_output(w->html);
    result *results = calloc(list->count, sizeof *results);
    size_t failed = 0;
    char title[300];

    if (!results)
        die(EXIT_WORDS, "out of memory");
    (void)snprintf(title, sizeof title, "%s, driver for CUDA %d.%d, %s%s", b->device.name, b->device.driver_version / 1000,
                   b->device.driver_version / 10 % 100,
                   b->peers ? "cuBLAS " : "no peers: ", b->peers ? cublas_version(b->peers) : b->no_peers);
    printf("%s\n", title);
    report_head(stdout);
    if (csv)
        report_csv_head(csv);
    for (size_t i = 0; i < list->count; i++) {
        tj_error err;

        if (!race_shape(b, &list->item[i], g[i].is_given ? &g[i].config : NULL, "not tuned: tilejit tune, or --config",
                        &results[i], &err)) {
            fprintf(stderr, "bench_matmul: %s: %s\n", list->item[i].name, err.message);
            results[i].of[ZERO_SHOT].is_broken = 1;
        }
        report_row(stdout, &results[i], &most);
        fflush(stdout);
        if (csv)
            report_csv_row(csv, &results[i], &most);
        for (int who = 0; who < CONTENDERS; who++)
            failed += (size_t)(results[i].of[who].is_wrong || results[i].of[who].is_broken);
    }
    report_summary(stdout, results, list->count, &most);
    if (html)
        report_html(html, title, results, list->count, &most);
    if ((csv && fclose(csv) != 0) || (html && fclose(html) != 0)) {
        fprintf(stderr, "bench_matmul: writing the results: %s\n", strerror(errno));
        failed++;
    }
    free(results);
    if (failed)
        fprintf(stderr, "bench_matmul: %zu products were wrong or failed\n", failed);
    return failed ? EXIT_FAILED : 0;
}

/* Open the device, find the configs that were tuned for it, open the peers, and run. */
static int measure(bench *b, const words *w, const shape_list *list, given *g)
{
    tj_buffer *workspace = NULL;
    tj_error err;
    int code, count = 0;

    if (tj_context_create(NULL, &b->context, &err) != TJ_OK)
        return complain(&err);
    if (tj_device_count(b->context, &count, &err) != TJ_OK || count == 0) {
        (void)complain(&err);
        code = EXIT_NO_DRIVER;
    } else if (!(b->clock = clock_open(b->context, &b->device, &err))) {
        code = complain(&err);
    } else {
        if (!w->config && !w->is_zero_shot_only)
            give_records(b, w->records, list, g);
        open_peers(b, w, &workspace);
        code = run(b, w, list, g);
    }
    cublas_close(b->peers);
    tj_buffer_free(workspace);
    clock_close(b->clock);
    tj_context_free(b->context);
    return code;
}

int main(int argc, char **argv)
{
    const words w = read_words(argc, argv);
    bench b = {.rounds = w.rounds, .with_zero_shot = !w.is_tuned_only, .with_tuned = !w.is_zero_shot_only};
    shape_list list;
    tj_error err;
    given *g;
    int code;

    if (!(w.draw ? shapes_draw(w.draw, w.left_open, &list, &err) : shapes_read(w.shapes, w.left_open, &list, &err)))
        die(EXIT_WORDS, "%s", err.message);
    if (w.only)
        select_shapes(&list, w.only);
    if (w.is_list) {
        print_shapes(w.draw, &list);
        free(list.item);
        return 0;
    }
    g = give_configs(w.config, &list);
    code = measure(&b, &w, &list, g);
    free(g);
    free(list.item);
    return code;
}
