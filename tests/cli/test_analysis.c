/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * explain, report and devices --measure as a user runs them: without a GPU, on the emulator, and with wrong options.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "shell.h"

static char page[OUTPUT_BYTES];

static void assign_variables(char *assignments, size_t bytes)
{
    snprintf(assignments, bytes, "TILEJIT_DRIVER=emulator");
}

static int times(const char *text, const char *word)
{
    int count = 0;

    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        count++;
    return count;
}

static bool has(const char *text, const char *word)
{
    return strstr(text, word) != NULL;
}

TestSuite(analysis, .init = make_folder, .fini = remove_folder);

/* ---- explain ------------------------------------------------------------------------------------------------------ */

Test(analysis, explain_says_it_all_on_one_screen)
{
    static const char *const words[] = {
        "P (512 x 700) = M (512 x 300) . N (300 x 700), f32",
        "j: not checked, 512 is a multiple of TILE_WIDTH 16",
        "k: checked, 300 is not a multiple of TILE_WIDTH 16",
        "l: checked, 700 is not a multiple of TILE_WIDTH 16",
        "215 040 000 FLOP",
        "in a whole one 512 loads for 8 192 operations: 16 per load",
        "the textbook's figure for a whole phase is 4",
        "ridge at",
        "bound by   shared memory, the longest of these",
        "the roofline says memory: 3.89 FLOP/B is left of its ridge; with caches memory takes",
        "1 408 of 256 threads",
        "100 % of its warps; the limit is threads",
        "           every warp slot is taken",
        "waves",
        "predicted",
        "store      a miss",
    };
    int lines;

    cr_assert(eq(int, shell("$T explain 512x300x700 tiled:tile_width=16"), 0), "%s", errors);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        cr_expect(has(out, words[i]), "%s is not in\n%s", words[i], out);
    lines = times(out, "\n");
    cr_expect(lines <= 24, "%d lines are more than a screen", lines);
}

/* A family that is named for a device without its instructions. */
Test(analysis, explain_predicts_no_time_where_a_kernel_does_not_run)
{
    static const char *const rows[][2] = {{"wgmma", "sm_100"}, {"tcgen05", "sm_90"}, {"tcgen05", "sm_120"}, {"wgmma", "sm_80"}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert(eq(int, shell("$T explain 256x256x256 %s --dtype bf16 --arch %s", rows[i][0], rows[i][1]), 0), "%s", errors);
        cr_expect(has(out, "predicted  nothing: this device does not run the kernel"), "%s", out);
        cr_expect(eq(int, has(out, "bound by"), 0), "%s", out);
    }
    cr_assert(eq(int, shell("$T explain 256x256x256 tcgen05 --dtype bf16 --arch sm_103a"), 0), "%s", errors);
    cr_expect(has(out, "bound by") && has(out, "by data sheet"), "%s", out);
}

Test(analysis, explain_names_the_order_of_invariant_sums)
{
    cr_assert(eq(int, shell("$T explain 4x64x64 --dtype bf16 --invariant rows"), 0), "%s", errors);
    cr_expect(strstr(out, "sums       tensor cores, step after step along k, without splits: ") != NULL, "%s", out);
    cr_assert(eq(int, shell("$T explain 4x64x64 --dtype bf16"), 0), "%s", errors);
    cr_expect(strstr(out, "\nsums ") == NULL, "%s", out);
}

Test(analysis, explain_counts_with_a_share_of_the_device)
{
    cr_assert(eq(int, shell("$T explain 512x512x512 tiled --multiprocessors 108 --arch sm_90"), 0), "%s", errors);
    cr_expect(strstr(out, "share      at most 108 multiprocessors; this config takes others too") != NULL, "%s", out);
    cr_assert(eq(int, shell("$T explain 64x64x64 tiled --multiprocessors 108 --arch sm_90"), 0), "%s", errors);
    cr_expect(strstr(out, "share      at most 108 multiprocessors, which this config keeps to") != NULL, "%s", out);
    cr_expect(eq(int, shell("$T explain 64x64x64 --multiprocessors 0"), 2));
    cr_expect(eq(int, shell("$T explain 64x64x64 tiled --multiprocessors 133 --arch sm_90"), 1));
    cr_expect(strstr(errors, "multiprocessors is 133, and H200 has 132") != NULL, "%s", errors);
}

Test(analysis, explain_knows_where_the_store_would_hit)
{
    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T run 64x64x64 --config tiled:tile_width=8"), 0), "%s", errors);
    cr_assert(eq(int, shell("$T explain 64x64x64 tiled:tile_width=8"), 0), "%s", errors);
    cr_expect(has(out, "(an estimate") == false, "the stored PTX does not say the registers; the compiler does: %s", out);
    cr_expect(has(out, "store      a hit"), "%s", out);
    cr_assert(eq(int, shell("$T explain 64x64x65 tiled:tile_width=8"), 0), "%s", errors);
    cr_expect(has(out, "store      a miss"), "%s", out);
}

/* Compare the answers of explain and cache explain for one request with a run or compilation, in the store's terms. */
static void expect_agreement(const char *environment, const char *words, bool is_stored)
{
    static char key[64], target[32];
    json_t *answer, *field;
    const json_t *one;
    size_t index;

    cr_assert(eq(int, shell("%s; $T explain 40x24x36 %s --json", environment, words), 0), "%s", errors);
    answer = json_loads(out, 0, NULL);
    one = json_array_get(json_object_get(answer, "configs"), 0);
    snprintf(key, sizeof key, "%s", json_string_value(json_object_get(one, "key")));
    snprintf(target, sizeof target, "%s", json_string_value(json_object_get(answer, "target")));
    cr_expect(is_stored == (json_object_get(one, "hit") == json_true()), "explain %s: %s", words, out);
    json_decref(answer);
    cr_assert(eq(int, shell("%s; $T cache explain 40x24x36 %s --json", environment, words), 0), "%s", errors);
    answer = json_loads(out, 0, NULL);
    cr_expect(eq(str, (char *)json_string_value(json_object_get(answer, "key")), key), "%s", words);
    cr_expect(is_stored == (json_object_get(answer, "hit") == json_true()), "cache explain %s: %s", words, out);
    json_array_foreach(json_object_get(answer, "fields"), index,
                       field) if (strcmp(json_string_value(json_object_get(field, "name")), "target") == 0)
        cr_expect(eq(str, (char *)json_string_value(json_object_get(field, "wanted")), target), "%s", words);
    json_decref(answer);
}

/* And both are right: after a run of the request, or its compile, they say that it would hit. */
Test(analysis, explain_and_cache_explain_agree)
{
    static const struct {
        const char *environment, *verb, *words;
    } rows[] = {
        {"unset TILEJIT_DRIVER", "run", "--config tiled"}, /* without a GPU: on the emulator */
        {"unset TILEJIT_DRIVER", "run", ""},
        {"unset TILEJIT_DRIVER", "run", "--device emulator:sm_80"},
        {"unset TILEJIT_DRIVER", "compile", "--arch sm_80"},
        {"unset TILEJIT_DRIVER", "compile", "--arch compute_80 --config tiled"},
        {"export TILEJIT_DRIVER=emulator", "run", "--batch 2"},
        {"export TILEJIT_DRIVER=" FAKE_GPU_PATH, "run", ""}, /* a GPU newer than the compiler */
        {"export TILEJIT_DRIVER=" FAKE_CUDA_PATH " FAKE_CUDA_HIDE=cuFuncGetParamInfo", "run", "--config naive"},
    };

    NEEDS_COMPILER();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert(eq(int, shell("rm -rf store"), 0));
        expect_agreement(rows[i].environment, rows[i].words, false);
        cr_expect(ne(int, shell("%s; $T %s 40x24x36 %s", rows[i].environment, rows[i].verb, rows[i].words), 1), "%s: %s",
                  rows[i].words, errors); /* the fake computes nothing */
        expect_agreement(rows[i].environment, rows[i].words, true);
    }
}

Test(analysis, explain_counts_on_the_emulator)
{
    static const char *const configs[] = {"naive:tile_width=8",
                                          "tiled:tile_width=16",
                                          "simt:bm=32,bn=64,bk=16,slices=2,tm=4,tn=4",
                                          "simt:copy=registers,bm=32,bn=64,bk=8",
                                          "simt:bm=32,bn=64,bk=16,splits=3",
                                          "skinny:splits=2"};

    NEEDS_COMPILER();
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        cr_assert(eq(int, shell("$T explain 33x147x66 %s --count", configs[i]), 0), "%s", errors);
        cr_expect(times(out, "  equal\n") == 7 && !has(out, "DIFFERENT"), "%s", out);
    }
    cr_assert(eq(int, shell("$T explain 65x47x66 simt --dtype f64 --beta 1 --count"), 0), "%s", errors);
    cr_expect(times(out, "  equal\n") == 7, "%s", out);
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        cr_assert(eq(int,
                     shell("$T explain 33x147x66 %s --count --batch 3 --stride-m pointers --stride-p pointers16", configs[i]),
                     0),
                  "%s", errors);
        cr_expect(times(out, "  equal\n") == 7 && !has(out, "DIFFERENT") && has(out, "loads of pointers to matrices"), "%s",
                  out);
    }
}

Test(analysis, explain_compares_and_names_the_fastest)
{
    cr_assert(eq(int, shell("$T explain 2048x2048x2048 --compare tile_width=8,16,32 --arch sm_90"), 0), "%s", errors);
    cr_expect(has(out, "H200") && has(out, "8x8x8") && has(out, "16x16x16") && has(out, "32x32x32"), "%s", out);
    cr_expect(has(out, "fastest by the model: tiled:tile_width=32"), "%s", out);
    cr_assert(eq(int, shell("$T explain 1024x1024x1024 --compare family=naive,tiled,simt --plot"), 0), "%s", errors);
    cr_expect(has(out, "fastest by the model: simt:") && has(out, "FLOP/B"), "%s", out);
    cr_expect(has(out, "a predicted: naive") && has(out, "b predicted: tiled") && has(out, "c predicted: simt"), "%s", out);
    cr_expect(has(out, "/-----") && times(out, "|") >= 16, "no roof: %s", out);
}

/* The textbook's table: bandwidth of an A100 times 0.25. */
/* The warps that gather rows of M have few registers: the compiler says whether a kernel spills, and no such kernel is launched. */
Test(analysis, wide_tiles_of_gathered_rows_can_be_launched)
{
    const char *const configs[] = {"", "wgmma:bm=128,bn=128,pingpong=yes", "wgmma:bm=256,bn=128"};

    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        cr_assert(eq(int, shell("$T explain 1024x4096x14336 %s --dtype bf16 --groups 8 --gather --arch sm_90a", configs[i]), 0),
                  "%s", errors);
        cr_expect(strstr(out, "wgmma:") != NULL && strstr(out, "spills") == NULL, "%s", out);
    }
}

Test(analysis, explain_answers_in_json)
{
    json_t *answer, *configs, *one;

    cr_assert(eq(int, shell("$T explain 1024x1024x1024 naive:tile_width=16 --arch sm_80 --json"), 0), "%s", errors);
    answer = json_loads(out, 0, NULL);
    cr_assert(answer != NULL, "%s", out);
    configs = json_object_get(answer, "configs");
    cr_assert(eq(sz, json_array_size(configs), 1));
    one = json_array_get(configs, 0);
    cr_expect(json_integer_value(json_object_get(json_object_get(json_object_get(one, "counts"), "load_m"), "elements")) ==
              1 << 30);
    cr_expect(json_number_value(json_object_get(json_object_get(json_object_get(one, "counts"), "phase"), "intensity")) ==
              0.25);
    cr_expect(strcmp(json_string_value(json_object_get(json_object_get(one, "roof"), "bound")), "memory") == 0);
    cr_expect(json_number_value(json_object_get(json_object_get(one, "predicted"), "us")) > 1);
    cr_expect(json_object_get(answer, "bandwidth_is_measured") == json_false());
    json_decref(answer);
}

Test(analysis, explain_needs_neither_driver_nor_compiler)
{
    cr_assert(eq(int, shell("unset TILEJIT_DRIVER; $T explain 512x300x700 simt --arch sm_80 --nvrtc /nonexistent.so"), 0), "%s",
              errors);
    cr_expect(has(out, "an estimate: no compiler was asked") && has(out, "store      not known"), "%s", out);
}

/* ---- report ------------------------------------------------------------------------------------------------------- */

Test(analysis, report_is_one_page_that_fetches_nothing)
{
    size_t size;

    cr_assert(eq(int, shell("$T report 512x300x700 -o page.html"), 0), "%s", errors);
    cr_expect(has(out, "5 configs"), "%s", out);
    size = read_text("page.html", page);
    cr_expect(size > 10000 && size < 50000, "%zu bytes", size);
    cr_expect(strncmp(page, "<!DOCTYPE html>", 15) == 0 && has(page, "</html>") && has(page, "lang=\"en\""));
    cr_expect(has(page, "<svg") && !has(page, "<script") && !has(page, "<link") && !has(page, "http:") &&
              !has(page, "https:") && !has(page, "url(") && !has(page, "@import"));
    cr_expect(has(page, "prefers-color-scheme:dark") && has(page, "@media print"));
    cr_expect(has(page, "<span class=\"key\">A</span></span> simt "), "what the library chooses comes first");
    cr_expect(has(page, "code{") && has(page, "white-space:nowrap}wbr{white-space:normal}") && has(page, ",<wbr>bn="),
              "a narrow page breaks configs at commas alone");
    cr_expect(has(page, "</table>") && !has(page, "nan") && !has(page, "inf\"") && !has(page, "-inf"));
}

Test(analysis, report_describes_every_picture_in_words)
{
    static const char *const id[] = {"roofline", "occupancy", "time", "tile", "heat"};

    cr_assert(eq(int, shell("$T report 512x300x700 --compare family=naive,tiled,simt -o page.html"), 0), "%s", errors);
    read_text("page.html", page);
    cr_expect(eq(int, times(page, "<svg "), 5));
    cr_expect(eq(int, times(page, "role=\"img\""), 5));
    cr_expect(eq(int, times(page, "aria-label=\""), 6)); /* and the table that scrolls */
    cr_expect(eq(int, times(page, "<title>"), 6));
    for (size_t i = 0; i < 5; i++) {
        char described[64], description[64];

        snprintf(described, sizeof described, "aria-describedby=\"%s-desc\"", id[i]);
        snprintf(description, sizeof description, "<desc id=\"%s-desc\">", id[i]);
        cr_expect(eq(int, times(page, described), 1), "%s", id[i]);
        cr_expect(eq(int, times(page, description), 1), "%s", id[i]);
    }
    cr_expect(eq(int, times(page, "<div"), times(page, "</div>")));
    cr_expect(eq(int, times(page, "<g "), times(page, "</g>")));
    cr_expect(eq(int, times(page, "<text "), times(page, "</text>")));
}

/* Every coordinate across that a drawing names lies in it. */
static void expect_within(const char *svg, const char *what)
{
    const char *end = strstr(svg, "</svg>");
    double width = 0, height = 0, x;

    cr_assert(end != NULL && sscanf(svg, "<svg viewBox=\"0 0 %lf %lf\"", &width, &height) == 2, "%s: %.80s", what, svg);
    cr_expect(width >= 640 && width < 1000 && height > 50, "%s: %g x %g", what, width, height);
    for (const char *at = strstr(svg, " x=\""); at && at < end; at = strstr(at + 1, " x=\"")) {
        double wide = 0;
        int used = 0;

        cr_assert(sscanf(at, " x=\"%lf\" y=\"%*f\"%n", &x, &used) == 1, "%s: %.80s", what, at);
        if (used > 0)
            (void)sscanf(at + used, " width=\"%lf\"", &wide);
        cr_expect(x >= 0 && x + wide <= width, "%s: %.80s is not within %g", what, at, width);
    }
}

/* No table and no drawing is cut off, on a desktop's screen or a telephone's. */
Test(analysis, report_fits_every_screen)
{
    static const char scroll[] = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Numbers\"><table>";
    static const char *const shapes[] = {"512x300x700", "1x100000x1", "8x8x8 --batch 1000",
                                         "2048x2048x2048 --compare tile_width=4,8,16,32"};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        cr_assert(eq(int, shell("$T report %s -o page.html", shapes[i]), 0), "%s", errors);
        read_text("page.html", page);
        cr_expect(times(page, "<table") == 1 && times(page, scroll) == 1, "a table scrolls: %s", shapes[i]);
        cr_expect(eq(int, times(page, " class=\"win\">"), times(page, "<tr>")), "one column stands out");
        cr_expect(has(page, "svg{width:100%;max-width:50rem;height:auto;") && times(page, "min-width:42rem") == 0);
        cr_expect(has(page, ".scroll{overflow-x:auto;") && has(page, "position:sticky;left:0"));
        cr_expect(has(page, "@media (max-width:48rem)") && has(page, "name=\"viewport\""));
        cr_expect(eq(int, times(page, "<svg "), 5));
        for (const char *svg = strstr(page, "<svg "); svg; svg = strstr(svg + 1, "<svg "))
            expect_within(svg, shapes[i]);
    }
}

Test(analysis, report_draws_shapes_of_every_proportion)
{
    static const char *const shapes[] = {"1x1x1", "1x0x1", "1x100000x1", "100000x1x7", "4096x4096x1", "3x5x100000"};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        cr_assert(eq(int, shell("$T report %s -o page.html", shapes[i]), 0), "%s: %s", shapes[i], errors);
        read_text("page.html", page);
        cr_expect(has(page, "</html>") && !has(page, "nan") && !has(page, "=\"inf") && !has(page, "=\"-"), "%s", shapes[i]);
    }
}

Test(analysis, report_maps_the_tuning_space)
{
    cr_assert(eq(int, shell("$T report 512x300x700 simt -o page.html"), 0), "%s", errors);
    read_text("page.html", page);
    cr_expect(has(page, "<h2>The tuning space of simt</h2>") && has(page, "by the model; each cell") &&
              times(page, "class=\"best\"") == 1 && times(page, "class=\"heat\"") == 19);
    cr_assert(eq(int,
                 shell("printf '# shape\\n512x300x700\\tsimt:bm=32,bn=64,bk=32,tm=8,tn=4,slices=4\\ttimed\\t8.5\\n"
                       "512x300x700\\tsimt:bm=32,bn=64\\tslow\\t1.0\\n512x300x701\\tsimt\\ttimed\\t1.0\\n"
                       "512x300x700\\tsimt:bm=64,bn=128\\ttimed\\t17.0\\n' >trials.tsv && "
                       "$T report 512x300x700 simt --trials trials.tsv -o page.html"),
                 0),
              "%s", errors);
    read_text("page.html", page);
    cr_expect(
        has(page, "Measured times of family simt, bm down and bn across. 32 by 64: 8.50 us. 64 by 128: 17.0 us. </desc>"));
    cr_expect(has(page, "2 configs, as measured") && times(page, "class=\"heat\"") == 2);
    cr_expect(has(page, "Framed: <code>simt:bm=32,<wbr>bn=64,"));
    cr_expect(eq(int, shell("$T report 512x300x700 tiled --trials trials.tsv -o page.html"), 1));
    cr_expect(has(errors, "no timed trial of 512x300x700 in family tiled"), "%s", errors);
    cr_expect(eq(int, shell("$T report 512x300x700 --trials missing.tsv -o page.html"), 1));
    cr_expect(has(errors, "missing.tsv"), "%s", errors);
}

/* A run takes the config that explain, compile and generate show; --config tiled is the textbook's still. */
Test(analysis, a_request_without_a_config_shows_what_the_library_chooses)
{
    cr_assert(eq(int, shell("$T explain 512x300x700"), 0), "%s", errors);
    cr_expect(has(out, "config     simt:") && has(out, "chosen by  the model"), "%s", out);
    cr_assert(eq(int, shell("$T generate 512x300x700"), 0), "%s", errors);
    cr_expect(has(out, "simt_f32_512x300x700") && has(errors, "chosen by  the model"), "%s", errors);
    cr_assert(eq(int, shell("$T compile 512x300x700 --json"), 0), "%s", errors);
    cr_expect(has(out, "\"chosen_by\": \"model\"") && has(out, "simt:"), "%s", out);
    cr_assert(eq(int, shell("$T run 64x32x64"), 0), "%s", errors);
    cr_expect(has(out, "chosen by  "), "%s", out);
    cr_assert(eq(int, shell("$T explain 512x300x700 --config tiled"), 0), "%s", errors);
    cr_expect(has(out, "config     tiled:") && !has(out, "chosen by"), "%s", out);
    cr_assert(eq(int, shell("$T generate 512x300x700 --config tiled"), 0), "%s", errors);
    cr_expect(has(out, "tiled_f32_512x300x700") && !has(errors, "chosen by"), "%s", errors);
}

/* The choice for a device that is not here, whichever command and whichever name of the option asks for it. */
Test(analysis, arch_means_the_same_to_every_command)
{
    static const char *const commands[] = {"generate", "compile", "explain", "report"};
    char *config;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T generate 512x4096x4096 --dtype bf16 --arch sm_80 --json"), 0), "%s", errors);
    config = strstr(out, "\"mma:");
    cr_assert(config != NULL, "%s", out);
    config = strndup(config + 1, strcspn(config + 1, "\""));
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        for (int is_target = 0; is_target < 2; is_target++) {
            cr_assert(eq(int,
                         shell("$T %s 512x4096x4096 --dtype bf16 --%s sm_80 --json%s", commands[i],
                               is_target ? "target" : "arch", i == 3 ? " -o page.html && sed 's/<wbr>//g' page.html" : ""),
                         0),
                      "%s: %s", commands[i], errors);
            cr_expect(has(out, config), "%s: %s is not in\n%s", commands[i], config, out);
        }
    cr_assert(eq(int, shell("$T generate 512x4096x4096 --dtype bf16 --device emulator:sm_90 --json"), 0), "%s", errors);
    cr_expect(has(out, "\"wgmma:"), "%s", out);
    free(config);
}

Test(analysis, report_writes_to_stdout_and_whole_files)
{
    cr_assert(eq(int, shell("$T report 64x64x64 > page.html"), 0), "%s", errors);
    read_text("page.html", page);
    cr_expect(has(page, "</html>"));
    cr_expect(eq(int, shell("$T report 64x64x64 -o /nonexistent/page.html"), 1));
    cr_expect(has(errors, "/nonexistent/page.html"), "%s", errors);
    cr_expect(eq(int, shell("$T report 64x64x64 --json -o page.html"), 0), "%s", errors);
    cr_expect(has(out, "\"bytes\"") && has(out, "page.html"), "%s", out);
}

/* ---- wrong words -------------------------------------------------------------------------------------------------- */

Test(analysis, names_what_is_wrong_with_the_words)
{
    static const struct {
        const char *words;
        int code;
        const char *said;
    } rows[] = {
        {"explain", 2, "explain needs <jxkxl>"},
        {"explain 5x3", 2, "write jxkxl"},
        {"explain 5x3x2 tiled:tile_width=99", 2, "99"},
        {"explain 5x3x2 xyzzy", 2, "xyzzy"},
        {"explain 5x3x2 simt:bm=17", 2, "17"},
        {"explain 5x3x2 tiled tiled", 2, "one word too many"},
        {"explain 5x3x2 tiled --config naive", 2, "names a config already: leave --config out"},
        {"explain 5x3x2 tiled --family naive", 2, "leave --family out"},
        {"explain 5x3x2 --compare tile_width", 2, "write name=value,value"},
        {"explain 5x3x2 --compare =8,16", 2, "write name=value,value"},
        {"explain 5x3x2 --compare tile_width=", 2, "write name=value,value"},
        {"explain 5x3x2 --compare tile_width=8,,16", 2, "tile_width"},
        {"explain 5x3x2 --compare tile_width=8,x", 2, "\"x\""},
        {"explain 5x3x2 --compare depth=8,16", 2, "depth"},
        {"explain 5x3x2 --compare family=naive,xyzzy", 2, "xyzzy"},
        {"explain 5x3x2 --compare tile_width=4,5,6,7,8,9,10,11,12", 2, "8 configs are compared at most: name fewer values"},
        {"explain 5x3x2 --arch sm_12345", 1, "sm_12345"},
        {"explain 5x3x2 --measure", 1, "--measure needs a GPU, and here is the emulator"},
        {"explain 5x3x2 --arch sm_90 --measure", 1, "--measure needs a GPU, and here is none"},
        {"explain 5x3x2 --arch sm_90 --count", 1, "--count needs the emulator"},
        {"explain 4096x4096x4096 --count", 1, "use a shape of at most"},
        {"report", 2, "report needs <jxkxl>"},
        {"report 5x3x2 --json", 2, "add -o and a file for the page"},
        {"report 5x3x2 --plot", 2, "--plot"},
        {"devices --measure", 1, "the emulator has no bandwidth to measure"},
        {"devices 5", 2, "takes no operand"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int code = shell("$T %s", rows[i].words);

        cr_expect(eq(int, code, rows[i].code), "%s: %s", rows[i].words, errors);
        cr_expect(has(errors, rows[i].said), "%s: %s", rows[i].words, errors);
        cr_expect(out[0] == '\0' || has(rows[i].words, "devices") || has(rows[i].words, "--json"), "%s: %s", rows[i].words,
                  out);
    }
}
