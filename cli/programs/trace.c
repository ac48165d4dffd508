/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit trace: run a program, and say what it multiplies, how long cuBLAS takes for it, and how long TileJIT would.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs.h"
#include "programs.h"

typedef struct trace_options {
    cli_machine_options machine;
    const char *csv, *html;
    int32_t must_measure, has_stacks;
} trace_options;

#define AT(field) offsetof(trace_options, field)

static const cli_option own[] = {
    {"csv", CLI_TEXT, AT(csv), "Write a list of shapes, which tilejit tune --shapes reads; - is stdout.", "file"},
    {"html", CLI_TEXT, AT(html), "Write a web page with the products by time; it loads nothing.", "file"},
    {"stacks", CLI_FLAG, AT(has_stacks), "Print the C and Python stacks that call a product, for the calls that are timed.",
     .low = 1},
    {"measure", CLI_FLAG, AT(must_measure),
     "Tune each product that has no record for a second, instead of using the model. No record is kept.", .low = 1},
    {NULL},
};

static const cli_group group = {"Traces", own, NULL};

/* A file of a report: opened before the program runs, so that a wrong name costs no run. */
typedef struct report_file {
    const char *path;
    tj_output out;
} report_file;

static tj_status open_file(const cli_call *call, const char *option, report_file *file, tj_error *err)
{
    if (!file->path || cli_check_stdout(call, option, file->path, err) != TJ_OK)
        return err->status;
    return tj_output_open(file->path, &file->out, err);
}

static tj_status report(cli_call *call, const traced *all, const report_file *csv, const report_file *html, tj_error *err)
{
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;

    traced_answer(call->answer, all);
    if (!call->is_json && !(csv->path && csv->out.is_stdout) && !(html->path && html->out.is_stdout))
        traced_print(all);
    if (csv->path && traced_csv(&csv->out, all, err) != TJ_OK)
        return err->status;
    if (!html->path)
        return TJ_OK;
    if (!call->context || tj_device_current(call->context, &device, NULL) != TJ_OK)
        device.name[0] = '\0';
    return traced_page(&html->out, all, device.name, err);
}

/* Without products there is nothing to compare, and the reason is worth more than a table without rows. */
static tj_status tell_none(const traced *all, tj_error *err)
{
    return *all->why ? tj_fail(err, TJ_ERR_NOT_FOUND, "no product was seen. %.900s (docs/programs.md)", all->why)
                     : tj_fail(err, TJ_ERR_NOT_FOUND,
                               "no product was seen, since no process was reached to its end: the program ends by _exit or a "
                               "signal, or starts its work with an environment of its own (docs/programs.md)");
}

static cli_exit examine(cli_call *call, const char *folder, const report_file *csv, const report_file *html, tj_error *err)
{
    const trace_options *o = call->options;
    const bool is_quiet = call->is_json || (csv->path && csv->out.is_stdout) || (html->path && html->out.is_stdout);
    traced all = {0};
    tj_error why = {TJ_OK, ""};
    int code = 0;

    if (programs_run(call->program, is_quiet, &code, &all.seconds, err) != TJ_OK)
        return CLI_FAILED;
    if (traced_read(folder, &all, err) == TJ_OK && all.count == 0 && code == 0)
        (void)tell_none(&all, err);
    if (err->status == TJ_OK && all.count > 0) {
        if (traced_compare(call, &o->machine, o->must_measure, &all, &why) != TJ_OK)
            cli_print(stderr, "tilejit: TileJIT's times are not known: %s\n", why.message);
        (void)report(call, &all, csv, html, err);
    }
    traced_drop(&all);
    if (err->status == TJ_OK && code != 0)
        (void)tj_fail(err, TJ_ERR_CHECK_FAILED, "%.200s ended with exit code %d", call->program[0], code);
    return code != 0 ? (cli_exit)code : err->status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

static cli_exit trace(cli_call *call, tj_error *err)
{
    const trace_options *o = call->options;
    const char *root = getenv("TMPDIR");
    char folder[3000], task[3100];
    report_file csv = {o->csv, {.folder = -1, .stream = -1}}, html = {o->html, {.folder = -1, .stream = -1}};
    cli_exit code = CLI_FAILED;

    (void)snprintf(folder, sizeof folder, "%s/tilejit-trace-XXXXXX", root && *root == '/' ? root : "/tmp");
    if (open_file(call, "--csv", &csv, err) == TJ_OK && open_file(call, "--html", &html, err) == TJ_OK) {
        if (!mkdtemp(folder)) {
            (void)tj_fail(err, TJ_ERR_IO, "cannot make the folder %.300s: %s", folder, strerror(errno));
        } else {
            (void)snprintf(task, sizeof task, "trace%s:%s", o->has_stacks ? "+stacks" : "", folder);
            if (programs_prepare(call, task, err) == TJ_OK)
                code = examine(call, folder, &csv, &html, err);
            (void)tj_fs_remove_tree(AT_FDCWD, folder);
        }
    }
    tj_output_close(&html.out);
    tj_output_close(&csv.out);
    return code;
}

const cli_command cli_trace = {
    .name = "trace",
    .operands = "-- <program> [arguments]",
    .runs_program = true,
    .summary = "run a program, and estimate the gain of TileJIT for its cuBLAS products",
    .text =
        "Preloads libtilejit_blas.so, which passes every call on to cuBLAS and cuBLASLt, counts each distinct product, and "
        "times it on the device by a pair of events (the first 64 calls, then every 16th; none in a captured stream). When "
        "the program has ended, a table shows the time of cuBLAS, and the time of TileJIT for the same products: from a "
        "record of a tuning, from the program's last run under tilejit with, from a table of trials, or from the model. "
        "docs/programs.md lists the calls that are reached, and those that are not.\n\nThe exit code is the program's. With "
        "--json, or with - for a file, the program's stdout goes to stderr.",
    .example = "tilejit trace -- python train.py\n"
               "tilejit trace --csv shapes.csv --html trace.html -- ./app args\n"
               "tilejit tune --shapes shapes.csv\n",
    .takes = {{&group}, {&cli_machine_group, offsetof(trace_options, machine)}},
    .option_bytes = sizeof(trace_options),
    .run = trace,
};
