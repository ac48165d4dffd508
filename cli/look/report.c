/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit report: the analysis of a request as one HTML file with its pictures. It fetches nothing and runs no script; colours
 * follow the reader's light or dark mode, and paper.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "page.h"

typedef struct report_options {
    cli_look_options look;
    const char *output, *trials;
} report_options;

static const cli_option own[] = {
    {"trials", CLI_TEXT, offsetof(report_options, trials),
     "Colour the map of the tuning space by the times that tilejit tune --trials measured, not by the model.", "file"},
    {NULL},
};

/* Compare these unless the options say otherwise. */
static const char *const standard[] = {"naive:tile_width=16", "tiled:tile_width=8", "tiled:tile_width=16",
                                       "tiled:tile_width=32", NULL};

/* Colours of configs: a palette that colour-blind readers can tell apart; shapes and letters say the same. */
static const char STYLE[] =
    ":root{--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--paper:#ffffff;--tint:#f3f5f7;"
    "--c0:#0072b2;--c1:#b35900;--c2:#00795a;--c3:#a0467f;--c4:#6b6b00;--c5:#8a2f2f;--c6:#3d4ea8;--c7:#555555}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9da7b1;--line:#3d444d;--paper:#0d1117;--tint:#161b22;"
    "--c0:#56b4e9;--c1:#f0a050;--c2:#3fc79a;--c3:#e08fc4;--c4:#d6d65c;--c5:#f08080;--c6:#9aa7ff;--c7:#bbbbbb}}\n"
    "@media print{:root{--ink:#000;--soft:#333;--line:#999;--paper:#fff;--tint:#fff;"
    "--c0:#0072b2;--c1:#b35900;--c2:#00795a;--c3:#a0467f;--c4:#6b6b00;--c5:#8a2f2f;--c6:#3d4ea8;--c7:#555}"
    "figure,table{break-inside:avoid}h2{break-after:avoid}}\n"
    "html{background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}\n"
    "body{max-width:75rem;margin:0 auto;padding:1.5rem}p,ul,dl{max-width:50rem}\n" /* wide enough for a table of five configs */
    "h1{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem}h2{font-size:1.2rem;margin:2.2rem 0 .5rem}\n"
    "figure{margin:1rem 0}figcaption{color:var(--soft);font-size:.92rem;max-width:50rem}\n"
    "svg{width:100%;max-width:50rem;height:auto;display:block;background:var(--paper)}\n"
    "svg text{fill:var(--ink);font:13px system-ui,sans-serif}svg .soft{fill:var(--soft)}\n"
    ".axis{stroke:var(--ink);stroke-width:1.2;fill:none}.grid{stroke:var(--line);stroke-width:1;fill:none}\n"
    ".roof{stroke:var(--ink);stroke-width:2.4;fill:none}.tint{fill:var(--tint);stroke:var(--line)}\n"
    /* Shadows at the edges where there is more: covers that scroll with the table hide them at its ends. */
    ".scroll{overflow-x:auto;background:linear-gradient(90deg,var(--paper) 40%,transparent) left/3rem 100% no-repeat local,"
    "linear-gradient(270deg,var(--paper) 40%,transparent) right/3rem 100% no-repeat local,"
    "linear-gradient(90deg,var(--line),transparent) left/1rem 100% no-repeat scroll,"
    "linear-gradient(270deg,var(--line),transparent) right/1rem 100% no-repeat scroll}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem}\n"
    "th,td{padding:.25rem .7rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}\n"
    "th:first-child{text-align:left;font-weight:600;position:sticky;left:0;background:var(--paper)}"
    "thead th{border-bottom:2px solid var(--ink)}.win{background:var(--tint);font-weight:600}\n"
    "@media (max-width:48rem){body{padding:1rem}svg text{font-size:17px}th,td{padding:.25rem .5rem}"
    "th:first-child{white-space:normal;min-width:6rem;padding-left:0}}\n"
    "code{font:.92em ui-monospace,monospace;background:var(--tint);padding:0 .2em;white-space:nowrap}wbr{white-space:normal}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:.5rem 0}dt{color:var(--soft)}dd{margin:0}\n"
    "@media print{.scroll{overflow:visible;background:none}table{font-size:.75rem}th,td{padding:.15rem "
    ".35rem;white-space:normal}}\n"
    ".k0{--c:var(--c0)}.k1{--c:var(--c1)}.k2{--c:var(--c2)}.k3{--c:var(--c3)}"
    ".k4{--c:var(--c4)}.k5{--c:var(--c5)}.k6{--c:var(--c6)}.k7{--c:var(--c7)}\n"
    ".fill{fill:var(--c)}.edge{stroke:var(--c);fill:var(--paper);stroke-width:2.4}.wash{fill:var(--c);fill-opacity:.28;stroke:"
    "var(--c)}"
    ".pale{fill:var(--c);fill-opacity:.13;stroke:var(--c);stroke-opacity:.5}.key{color:var(--c);font-weight:700}"
    "svg .mark{fill:var(--c);font-weight:700}.heat{fill:var(--c0)}.best{fill:none;stroke:var(--ink);stroke-width:2}\n";

static void put_head(FILE *out, const cli_look *look)
{
    const tj_problem *p = &look->request.known;
    const cli_case *best = &look->cases[cli_fastest(look)];

    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" "
            "content=\"light dark\">\n"
            "<title>%" PRId64 " x %" PRId64 " x %" PRId64
            " %s - TileJIT report</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n",
            p->j.extent, p->k.extent, p->l.extent, tj_type_name((tj_type)p->m.type), STYLE);
    fputs("<h1>", out);
    cli_print_formula(out, p);
    fputs("</h1>\n<dl>\n<dt>device</dt><dd>", out);
    cli_html_text(out, look->machine.facts.name);
    fprintf(out, ", compute capability %d.%d (%s)</dd>\n<dt>roofs</dt><dd>%s and %s to memory, %s</dd>\n",
            (int)look->machine.facts.cc_major, (int)look->machine.facts.cc_minor, look->machine.origin,
            cli_rate(best->analysis.roof.peak, "FLOP/s").text, cli_rate(best->analysis.roof.bandwidth, "B/s").text,
            best->analysis.peaks.is_measured ? "measured" : "by its clock and bus");
    fprintf(out, "<dt>work</dt><dd>%s FLOP; the matrices hold %s</dd>\n</dl>\n<p>Fastest by the model: ",
            cli_grouped(best->analysis.work.flop).text, cli_bytes(best->analysis.work.pipe_work[TJ_PIPE_MEMORY]).text);
    cli_page_config(out, best->text);
    fprintf(out, ", %s, which is %s; what bounds it is %s. Its checks: ", cli_duration(best->analysis.predicted.us).text,
            cli_rate(best->analysis.predicted.flop_per_s, "FLOP/s").text, best->analysis.predicted.bound);
    cli_html_text(out, tj_source_checks_text(best->source));
    fputs(".</p>\n", out);
}

static tj_status put_page(FILE *out, const cli_look *look, const char *trials, tj_error *err)
{
    tj_status status;

    put_head(out, look);
    cli_page_table(out, look, cli_fastest(look));
    cli_page_roofline(out, look);
    cli_page_occupancy(out, look);
    cli_page_time(out, look);
    cli_page_tile(out, look, cli_fastest(look));
    status = cli_page_heat(out, look, look->cases[cli_fastest(look)].config.family, trials, err);
    fputs("<h2>Configs</h2>\n<ul>\n", out);
    for (size_t i = 0; i < look->count; i++) {
        fprintf(out, "<li class=\"k%zu\"><span class=\"key\">%c</span> ", i, (char)('A' + i));
        cli_page_config(out, look->cases[i].text);
        fputs("</li>\n", out);
    }
    fprintf(out, "</ul>\n</main>\n<footer><p>Made by TileJIT %s: <code>tilejit report</code>.</p></footer>\n</body>\n</html>\n",
            tj_version());
    return status;
}

/* Owned: the caller; free(), after a failure too. */
static tj_status make_page(const cli_look *look, const char *trials, char **page, size_t *size, tj_error *err)
{
    FILE *out = open_memstream(page, size);
    tj_status status = TJ_OK;

    if (out)
        status = put_page(out, look, trials, err);
    if (!out || fclose(out) != 0 || !*page)
        return tj_fail_memory(err, "the page");
    return status;
}

static cli_exit report(cli_call *call, tj_error *err)
{
    const report_options *options = call->options;
    const char *path = options->output ? options->output : "-";
    cli_look look = {.count = 0};
    char *page = NULL;
    size_t size = 0;
    cli_exit code = CLI_FAILED;

    if (call->is_json && tj_output_is_stdout(path)) {
        (void)tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "stdout takes the JSON object: add -o and a file for the page");
        return CLI_WORDS;
    }
    if (cli_open_output(call, path, err) == TJ_OK)
        code = cli_look_open(call, &options->look, standard, &look, err);
    if (code == CLI_DONE && (make_page(&look, options->trials, &page, &size, err) != TJ_OK ||
                             cli_write_output(&call->file, page, size, err) != TJ_OK))
        code = CLI_FAILED;
    if (code == CLI_DONE) {
        cli_answer_machine(call->answer, &look);
        cli_set_text(call->answer, "output", path);
        cli_set_int(call->answer, "bytes", (int64_t)size);
        if (options->output)
            cli_say(call, "report     %s: %zu bytes, %zu configs\n", path, size, look.count);
    }
    free(page);
    cli_look_close(&look);
    return code;
}

const cli_command cli_report = {
    .name = "report",
    .operands = "<jxkxl> [config]",
    .operand_count = {1, 2},
    .summary = "write the analysis of a kernel as a web page",
    .text = "Writes one HTML file that loads nothing: the roofline with a point for each config, occupancy, the terms of the "
            "time, the tile and its traffic. Without --compare: the library's choice, naive, and tiled at three widths.",
    .example = "tilejit report 512x300x700 -o report.html\n"
               "tilejit report 1024x1024x1024 --compare tile_width=8,16,32 --measure -o report.html",
    .takes = {{&cli_output_group, offsetof(report_options, output)},
              {&(const cli_group){"report", own}},
              {&cli_look_group, offsetof(report_options, look)},
              {cli_request_groups, offsetof(report_options, look.request), CLI_CONFIG},
              {&cli_timing_group, offsetof(report_options, look.timing)},
              {&cli_machine_group, offsetof(report_options, look.machine)}},
    .option_bytes = sizeof(report_options),
    .run = report,
};
