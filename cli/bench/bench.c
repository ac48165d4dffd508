/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit bench: time a list of shapes, tuned or not, next to cuBLAS and cuBLASLt if they are installed. Every product is
 * checked.
 */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct bench_options {
    cli_request_options request;
    cli_machine_options machine;
    const char *shapes, *only, *config, *records, *csv, *html;
    int64_t rounds;
    int32_t with_cublas, is_zero_shot_only;
} bench_options;

enum { WORKSPACE_BYTES = 64 << 20, MOST_ROUNDS = 41 };

#define AT(field) offsetof(bench_options, field)

static const cli_option own[] = {
    {"shapes", CLI_TEXT, AT(shapes), CLI_SHAPES_SUMMARY, "file.csv"},
    {"only", CLI_TEXT, AT(only), "Time only these shapes: names such as 512x300x700, and categories, separated by commas.",
     "list"},
    {"cublas", CLI_FLAG, AT(with_cublas),
     "Time cuBLAS and the fastest algorithm of cuBLASLt too. They are opened at run time; the emulator has none.", .low = 1},
    {"zero-shot", CLI_FLAG, AT(is_zero_shot_only), "Time only the library's first choice, without tuned configs.", .low = 1},
    {"config", CLI_TEXT, AT(config), "Take this config in place of the tuned ones, for every shape.", "text"},
    {"records", CLI_TEXT, AT(records),
     "Take the tuning records of these files, separated by commas; default: those of the store.", "files"},
    {"rounds", CLI_INT, AT(rounds), "Samples of each kernel, at most 41; default: the number that fits in 1.5 s, at least 7.",
     "count", 1, MOST_ROUNDS},
    {"csv", CLI_TEXT, AT(csv), "Write every number here, one line for each shape when it is done; - is stdout.", "file"},
    {"html", CLI_TEXT, AT(html), "Write a page with the ratios, the roofline and all times.", "file"},
    {NULL},
};

/* ---- shapes and configs -------------------------------------------------------------------------------------------- */

/* Does an item of a comma-separated list name this shape: by its name, with or without types, or by its category? */
static bool is_named(const char *list, const cli_shape *shape)
{
    const size_t length = strcspn(list, ",");
    const tj_problem canonical = tj_problem_canonical(&shape->problem);
    char name[BENCH_NAME_BYTES];

    bench_name(&canonical, name);
    return (strncmp(list, name, length) == 0 && (name[length] == '\0' || name[length] == '-')) ||
           (strncmp(list, shape->category, length) == 0 && shape->category[length] == '\0');
}

static tj_status select_shapes(const char *only, cli_shapes *all, tj_error *err)
{
    size_t kept = 0;

    for (const char *word = only; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        size_t i = 0;

        while (i < all->count && (!strcspn(word, ",") || !is_named(word, &all->item[i])))
            i++;
        if (i == all->count)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--only has \"%.*s\": there is no shape and no category of that name",
                           (int)strcspn(word, ","), word);
    }
    for (size_t i = 0; only && i < all->count; i++)
        for (const char *word = only; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL)
            if (is_named(word, &all->item[i])) {
                all->item[kept++] = all->item[i];
                break;
            }
    all->count = only ? kept : all->count;
    return TJ_OK;
}

/* The tuned configs: one for all shapes, or records of files or the store. */
typedef struct tuned {
    tj_config config; /* family NULL: none was given */
    tj_records *records;
} tuned;

static tj_status find_tuned(const bench *b, const bench_options *options, tuned *t, tj_error *err)
{
    if (options->config || options->is_zero_shot_only)
        return TJ_OK;
    if (!(t->records = tj_records_create()))
        return tj_fail_memory(err, "the tuning records");
    return options->records ? cli_read_records(options->records, NULL, &b->device, t->records, err)
                            : tj_records_load(b->context, t->records, err);
}

/* Return the config of one shape, copied into *config; NULL: it was not tuned. */
static const tj_config *tuned_config(const bench *b, const tuned *t, const cli_shape *shape, tj_config *config)
{
    const tj_record *record = t->records ? tj_records_find(t->records, &shape->problem, &b->device) : NULL;
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;

    *config = t->config;
    if (record && (tj_record_get_facts(record, &facts, NULL) != TJ_OK ||
                   tj_config_parse(facts.config, config, NULL) != TJ_OK)) /* written by a library with other parameters */
        return NULL;
    return config->family ? config : NULL;
}

/* ---- the run ------------------------------------------------------------------------------------------------------- */

static tj_status open_bench(cli_call *call, bench *b, tj_buffer **workspace, tj_error *err)
{
    const bench_options *options = call->options;
    static tj_error why; /* lives as long as the results that refer to it */

    if (cli_open(call, &options->machine, true, err) != TJ_OK)
        return err->status;
    b->context = call->context;
    b->rounds = (int)options->rounds;
    b->is_zero_shot_only = options->is_zero_shot_only;
    b->no_peers = options->with_cublas ? "cuBLAS computes on a GPU, not on the emulator" : "not asked for: --cublas";
    b->device = (tj_device_facts)TJ_DEVICE_FACTS_INIT;
    if (tj_device_get(b->context, cli_device_ordinal(&options->machine), &b->device, err) != TJ_OK)
        return err->status;
    b->peaks = (tj_peaks)TJ_PEAKS_INIT;
    if (tj_find_peaks(&b->device, cli_read_bandwidth(b->context, &b->device), &b->peaks, &why) != TJ_OK)
        b->peaks = (tj_peaks)TJ_PEAKS_INIT;
    b->clock = clock_open(b->context, options->machine.driver, &b->device, err);
    if (!b->clock)
        return err->status;
    if (!options->with_cublas || clock_is_emulated(b->clock))
        return TJ_OK;
    if (tj_buffer_create(b->context, WORKSPACE_BYTES, workspace, err) != TJ_OK)
        return err->status;
    b->peers = cublas_open(clock_stream(b->clock), tj_buffer_address(*workspace), WORKSPACE_BYTES, &why);
    b->no_peers = why.message;
    return TJ_OK;
}

static void print_title(const bench *b, char title[300])
{
    (void)snprintf(title, 300, "%s, driver for CUDA %d.%d, %s%s", b->device.name, b->device.driver_version / 1000,
                   b->device.driver_version / 10 % 100,
                   b->peers ? "cuBLAS " : "no cuBLAS: ", b->peers ? cublas_version(b->peers) : b->no_peers);
}

/* Race every shape, until a signal. Failures are reported where they occur; returns their number. */
static size_t race_all(const cli_call *call, const bench *b, const cli_shapes *shapes, const tuned *t, FILE *csv,
                       result *results, size_t *failed)
{
    tj_json *list = cli_add_list(call->answer, "shapes");
    size_t done = 0;

    *failed = 0;
    for (; done < shapes->count && !cli_noted_signal(); done++) {
        result *r = &results[done];
        tj_config config;
        tj_error why;

        if (!race_shape(b, &shapes->item[done], tuned_config(b, t, &shapes->item[done], &config), r, &why)) {
            r->of[ZERO_SHOT].is_broken = true;
            (void)snprintf(r->of[ZERO_SHOT].why, sizeof r->of[ZERO_SHOT].why, "%s", why.message);
        }
        if (!call->is_json)
            report_row(r);
        (void)fflush(stdout);
        if (csv)
            report_csv_row(csv, r);
        report_json(cli_append_object(list), r);
        for (int who = 0; who < CONTENDERS; who++)
            *failed += r->of[who].is_wrong || r->of[who].is_broken;
    }
    return done;
}

static cli_exit sum_up(const cli_call *call, const bench *b, const result *results, size_t done, size_t failed, tj_error *err)
{
    bool is_wrong = false;

    if (!call->is_json && clock_is_emulated(b->clock))
        cli_print(
            stdout,
            "\ntime       not measured: the emulator's launches take no time that means anything; every product was checked\n");
    else if (!call->is_json)
        report_summary(results, done);
    if (cli_noted_signal()) {
        (void)tj_fail(err, TJ_ERR_CANCELLED, "interrupted: shapes measured: %zu", done);
        return (cli_exit)(CLI_INTERRUPTED + cli_noted_signal());
    }
    for (size_t i = 0; i < done; i++)
        for (int who = 0; who < CONTENDERS; who++)
            is_wrong |= results[i].of[who].is_wrong;
    if (failed == 0)
        return CLI_DONE;
    (void)tj_fail(err, is_wrong ? TJ_ERR_CHECK_FAILED : TJ_ERR_DRIVER, "%zu products were wrong or failed", failed);
    return is_wrong ? CLI_CHECK_FAILED : CLI_FAILED;
}

static tj_status write_page(const bench *b, const char *title, const result *results, size_t done, const tj_output *out,
                            tj_error *err)
{
    char *page = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&page, &size);
    tj_status status;

    if (file)
        report_html(file, title, &b->peaks, results, done);
    if (!file || fclose(file) != 0 || !page)
        status = tj_fail_memory(err, "the page");
    else
        status = cli_write_output(out, page, size, err);
    free(page);
    return status;
}

static tj_status open_csv(const cli_call *call, const char *path, FILE **csv, tj_error *err)
{
    int fd;

    if (!path)
        return TJ_OK;
    if (tj_output_stream(&call->file, &fd, err) != TJ_OK)
        return err->status;
    if (!(*csv = fdopen(fd, "w"))) {
        close(fd);
        return tj_fail_memory(err, "the file of --csv");
    }
    report_csv_head(*csv);
    return TJ_OK;
}

static tj_status close_csv(FILE *csv, const char *path, tj_error *err)
{
    bool is_lost = csv && ferror(csv);

    is_lost |= csv && fclose(csv) != 0;
    return is_lost ? tj_fail(err, TJ_ERR_IO, "cannot write %.200s to its end: is the disk full?", path) : TJ_OK;
}

static cli_exit measure(cli_call *call, const bench *b, const cli_shapes *shapes, const tuned *t, const tj_output *page,
                        tj_error *err)
{
    const bench_options *options = call->options;
    result *results = calloc(shapes->count + 1, sizeof *results);
    cli_exit code = CLI_FAILED;
    FILE *csv = NULL;
    tj_error unwritten;
    size_t done, failed;
    char title[300];

    print_title(b, title);
    if (!results)
        (void)tj_fail_memory(err, "the results");
    else if (open_csv(call, options->csv, &csv, err) == TJ_OK) {
        cli_set_text(call->answer, "device", b->device.name);
        cli_set_text(call->answer, "cublas", b->peers ? cublas_version(b->peers) : b->no_peers);
        cli_say(call, "%s\n", title);
        if (!call->is_json)
            report_head();
        cli_note_signals();
        done = race_all(call, b, shapes, t, csv, results, &failed);
        code = sum_up(call, b, results, done, failed, err);
        if (close_csv(csv, options->csv, &unwritten) != TJ_OK ||
            (options->html && write_page(b, title, results, done, page, &unwritten) != TJ_OK)) {
            *err = code == CLI_DONE ? unwritten : *err;
            code = code == CLI_DONE ? CLI_FAILED : code;
        }
    }
    free(results);
    return code;
}

static cli_exit run(cli_call *call, const cli_shapes *shapes, tuned *t, tj_error *err)
{
    const bench_options *options = call->options;
    tj_output page = {.folder = -1, .stream = -1};
    tj_buffer *workspace = NULL;
    bench b = {.context = NULL};
    cli_exit code = CLI_FAILED;

    if (cli_open_output(call, options->csv, err) == TJ_OK &&
        (!options->html || tj_output_open(options->html, &page, err) == TJ_OK) &&
        open_bench(call, &b, &workspace, err) == TJ_OK && find_tuned(&b, options, t, err) == TJ_OK)
        code = measure(call, &b, shapes, t, &page, err);
    cublas_close(b.peers);
    tj_buffer_free(workspace);
    clock_close(b.clock);
    tj_output_close(&page);
    return code;
}

/* ---- the command --------------------------------------------------------------------------------------------------- */

static tj_status check_options(const cli_call *call, tuned *t, tj_error *err)
{
    const bench_options *options = call->options;

    if (call->operand_count == 0 && !options->shapes)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "there is no shape to time: write one such as 512x300x700, or --shapes with a file of them");
    if ((options->config || options->records) && options->is_zero_shot_only)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--%s names tuned configs, and --zero-shot times none: give one of them",
                       options->config ? "config" : "records");
    if (options->config && options->records)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--config and --records both name tuned configs: give one of them");
    if (options->html && tj_output_is_stdout(options->html))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "stdout gets the table: name a file for --html");
    if (options->config && tj_config_parse(options->config, &t->config, err) != TJ_OK)
        return err->status;
    return cli_check_stdout(call, "--csv", options->csv, err);
}

static cli_exit run_bench(cli_call *call, tj_error *err)
{
    const bench_options *options = call->options;
    cli_shapes shapes = {NULL, 0};
    tuned t = {.config = TJ_CONFIG_INIT};
    cli_exit code;

    if (cli_refuse_arch(call, &options->machine, err) != TJ_OK || check_options(call, &t, err) != TJ_OK)
        return CLI_WORDS;
    code = cli_read_shapes(call, &options->request, options->shapes, &shapes, err);
    if (code == CLI_DONE && select_shapes(options->only, &shapes, err) != TJ_OK)
        code = CLI_WORDS;
    if (code == CLI_DONE)
        code = run(call, &shapes, &t, err);
    tj_records_free(t.records);
    free(shapes.item);
    return code;
}

const cli_command cli_bench = {
    .name = "bench",
    .operands = "[jxkxl ...]",
    .operand_count = {0, CLI_MAX_OPERANDS},
    .summary = "time a list of shapes, tuned or not, next to cuBLASLt",
    .text =
        "Times each shape with the kernel that the library chooses without a record (zero-shot), with the tuned kernel, and "
        "with --cublas by cuBLAS and by the fastest algorithm that cuBLASLt's heuristic offers. All take turns on the same "
        "random operands, of which there are more than the L2 holds; a time is the median of the samples, by CUDA events "
        "around graphs of launches. Every product is compared with float64. The table ends with means by category; "
        "bench/README.md describes the method.\n\nOn the emulator products are checked and no time is measured: it is null "
        "in JSON and empty in CSV. The exit code is 3 if a product was wrong, also one of cuBLAS.",
    .example = "tilejit bench 512x300x700\n"
               "tilejit bench --shapes shapes.csv --cublas --csv times.csv --html times.html\n"
               "tilejit bench --shapes shapes.csv --dtype bf16 --zero-shot --only square,odd",
    .takes = {{&(const cli_group){"bench", own}},
              {cli_request_groups, offsetof(bench_options, request), CLI_SCALARS},
              {&cli_machine_group, offsetof(bench_options, machine)}},
    .option_bytes = sizeof(bench_options),
    .run = run_bench,
};
