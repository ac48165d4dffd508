/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * tilejit bench, as a user types it, on a GPU that is the emulator in disguise (fake_gpu), with a fake cuBLAS that computes.
 * Times there mean nothing, so the tests check only whether there is a time.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <jansson.h>

#include "shell.h"

enum { MAX_FIELDS = 64, MAX_ROWS = 24 };

static char text[OUTPUT_BYTES];

/*
 * $B is the command, $D draws shapes, $P the option for the fake cuBLAS, which is on the loader's path; TILEJIT_EMULATOR tells
 * it which driver it computes with.
 */
static void assign_variables(char *assignments, size_t bytes)
{
    snprintf(assignments, bytes,
             "TILEJIT_DRIVER='%s' TILEJIT_EMULATOR='%s' LD_LIBRARY_PATH='%s' D='%s' B='%s bench' P=--cublas FAKE_GPU_L2=9216 "
             "FAKE_CUBLAS_WRONG=",
             FAKE_GPU_PATH, EMULATOR_PATH, PEERS_PATH, BENCH_DRAW_BIN, TILEJIT_BIN);
}

static void write_text(const char *name, const char *what)
{
    char path[PATH_MAX];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    cr_assert(file != NULL && fputs(what, file) >= 0 && fclose(file) == 0, "%s", strerror(errno));
}

/* Two categories, an odd size, a batch and another type. */
static const char shapes[] = "category,j,k,l,batch,dtype # a remark\n"
                             "square,16,16,16,1,\n"
                             "square,32,32,32,1,f64\n"
                             "\n"
                             "# a remark\n"
                             "odd,17,23,9,1,\n"
                             "odd,5,7,3,4,\n";

enum { SHAPES = 4, CONTENDERS = 4 };

static const char *const contender[CONTENDERS] = {"zero_shot", "tuned", "cublas", "cublaslt"};

static void make_folder_of_shapes(void)
{
    make_folder();
    write_text("shapes.csv", shapes);
}

TestSuite(bench, .init = make_folder_of_shapes, .fini = remove_folder, .timeout = 280);

static bool has(const char *where, const char *what)
{
    return strstr(where, what) != NULL;
}

static bool lacks(const char *where, const char *what)
{
    return !has(where, what);
}

static int times(const char *where, const char *what)
{
    int count = 0;

    while ((where = strstr(where, what))) {
        where += strlen(what);
        count++;
    }
    return count;
}

/* ---- the CSV --------------------------------------------------------------------------------------------------------- */

static struct {
    int rows, columns;
    const char *head[MAX_FIELDS], *field[MAX_ROWS][MAX_FIELDS];
} csv;

/* Cut a line into fields; a quoted one holds commas, and "" for a quote. Answers how many, and the line after it. */
static int cut(char **line, const char **field)
{
    char *at = *line, *to;
    int count = 0;

    for (;;) {
        cr_assert(count < MAX_FIELDS);
        to = at;
        field[count++] = at;
        if (*at == '"') {
            for (at++; *at && (*at != '"' || at[1] == '"'); at++) {
                at += *at == '"';
                *to++ = *at;
            }
            cr_assert(at[0] == '"', "a quoted field that does not end");
            at++;
        } else {
            at += strcspn(at, ",\n");
            to = at;
        }
        cr_assert(at[0] == ',' || *at == '\n', "after a field: %.20s", at);
        *line = at + 1;
        if (*at++ == '\n') {
            *to = '\0';
            return count;
        }
        *to = '\0';
    }
}

static void read_csv(const char *name)
{
    char *line = text;

    read_text(name, text);
    csv.columns = cut(&line, csv.head);
    for (csv.rows = 0; *line; csv.rows++) {
        cr_assert(csv.rows < MAX_ROWS);
        cr_assert(eq(int, cut(&line, csv.field[csv.rows]), csv.columns), "row %d", csv.rows);
    }
}

/* The field of a row under <contender>_<name>, or under name where contender is NULL. */
static const char *field(int row, const char *who, const char *name)
{
    char column[64];

    snprintf(column, sizeof column, "%s%s%s", who ? who : "", who ? "_" : "", name);
    for (int i = 0; i < csv.columns; i++)
        if (strcmp(csv.head[i], column) == 0)
            return csv.field[row][i];
    cr_assert(0, "no column %s", column);
    return "";
}

static double number(int row, const char *who, const char *name)
{
    char *end;
    const char *value = field(row, who, name);
    const double x = strtod(value, &end);

    cr_assert(end != value && *end == '\0', "%s of row %d is \"%s\"", name, row, value);
    return x;
}

/* A contender that ran: timed, and every element compared with the float64 product and found within its bound. */
static void expect_verified(int row, const char *who)
{
    const double elements = number(row, NULL, "j") * number(row, NULL, "l") * number(row, NULL, "batch");
    const char *shape = field(row, NULL, "shape");
    /* The fake truncates where the bound assumes rounding. */
    const bool is_cut = strcmp(field(row, NULL, "compute"), "tf32") == 0 && strncmp(who, "cublas", 6) == 0;

    cr_expect(eq(str, (char *)field(row, who, "state"), "ok"), "%s %s: %s", shape, who, field(row, who, "how"));
    cr_expect(number(row, who, "us") > 0 && number(row, who, "launches") >= 1, "%s %s", shape, who);
    cr_expect(number(row, who, "low_us") <= number(row, who, "us") && number(row, who, "us") <= number(row, who, "high_us"),
              "%s %s", shape, who);
    cr_expect(eq(dbl, number(row, who, "checked"), elements), "%s %s", shape, who);
    cr_expect(number(row, who, "bound_ratio") >= 0 && number(row, who, "bound_ratio") <= (is_cut ? 2 : 1), "%s %s", shape, who);
    cr_expect(number(row, who, "rms_error") >= 0, "%s %s", shape, who);
}

static void expect_absent(int row, const char *who, const char *why)
{
    cr_expect(eq(str, (char *)field(row, who, "state"), "absent"), "%s", who);
    cr_expect(field(row, who, "us")[0] == '\0' && number(row, who, "checked") == 0, "%s", who);
    cr_expect(has(field(row, who, "how"), why), "%s: \"%s\" does not say \"%s\"", who, field(row, who, "how"), why);
}

/* ---- runs ------------------------------------------------------------------------------------------------------------ */

Test(bench, races_all_four_and_verifies_each)
{
    static const char *const name[SHAPES] = {"16x16x16", "32x32x32-f64", "17x23x9", "5x7x3b4"};
    static const char *const category[SHAPES] = {"square", "square", "odd", "odd"};

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$B --shapes shapes.csv $P --config naive:tile_width=8 --rounds 3 --csv out.csv"), 0), "%s",
              errors);
    cr_expect(eq(str, errors, ""));
    cr_expect(has(out, "cuBLAS 13.1.2"), "%s", out);
    cr_expect(lacks(out, "WRONG") && lacks(out, "FAILED"), "%s", out);
    read_csv("out.csv");
    cr_assert(eq(int, csv.rows, SHAPES));
    for (int row = 0; row < SHAPES; row++) {
        cr_expect(eq(str, (char *)field(row, NULL, "shape"), (char *)name[row]));
        cr_expect(eq(str, (char *)field(row, NULL, "category"), (char *)category[row]));
        cr_expect(eq(dbl, number(row, NULL, "rounds"), 3));
        cr_expect(number(row, NULL, "sets") >= 2, "one set of operands does not rotate");
        cr_expect(
            eq(dbl, number(row, NULL, "flop"),
               2 * number(row, NULL, "j") * number(row, NULL, "k") * number(row, NULL, "l") * number(row, NULL, "batch")));
        for (int i = 0; i < CONTENDERS; i++)
            expect_verified(row, contender[i]);
        cr_expect(has(field(row, "tuned", "how"), "naive:tile_width=8,"), "%s", field(row, "tuned", "how"));
        cr_expect(has(field(row, "zero_shot", "how"), ":"), "a config: %s", field(row, "zero_shot", "how"));
        /* The fake offers four: the heuristic refuses one and cublasLtMatmul another. */
        cr_expect(has(field(row, "cublaslt", "how"), "of 3"), "%s", field(row, "cublaslt", "how"));
    }
    cr_expect(eq(dbl, number(0, NULL, "bytes"), 3 * 16 * 16 * 4));
    cr_expect(eq(dbl, number(1, NULL, "bytes"), 3 * 32 * 32 * 8));
    cr_expect(eq(dbl, number(3, NULL, "batch"), 4));
}

/* The mean of a ratio over the rows of a category (NULL: all), from the CSV. */
static double geomean(const char *category, const char *a, const char *b)
{
    double sum = 0;
    int count = 0;

    for (int row = 0; row < csv.rows; row++)
        if (!category || strcmp(field(row, NULL, "category"), category) == 0) {
            sum += log(number(row, a, "us") / number(row, b, "us"));
            count++;
        }
    return exp(sum / count);
}

/* The means of the table: per category over as many shapes as it has, and over all; each is what the CSV's times give. */
Test(bench, prints_means_by_category)
{
    static const char *const name[] = {"square", "odd", "all"};
    static const char *const pair[][2] = {
        {"cublaslt", "zero_shot"}, {"cublaslt", "tuned"}, {"cublas", "tuned"}, {"tuned", "zero_shot"}};
    const char *summary;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$B --shapes shapes.csv $P --config simt:splits=2 --rounds 1 --csv out.csv"), 0), "%s", errors);
    read_csv("out.csv");
    summary = strstr(out, "Geometric means");
    cr_assert(summary != NULL, "%s", out);
    for (int i = 0; i < 3; i++) {
        char head[32];
        const char *line;
        double mean[4];
        int count[4];

        snprintf(head, sizeof head, "\n%-12s", name[i]);
        line = strstr(summary, head);
        cr_assert(line != NULL, "%s", summary);
        cr_assert(eq(int,
                     sscanf(line + strlen(head), "%lf (%d) %lf (%d) %lf (%d) %lf (%d)", &mean[0], &count[0], &mean[1],
                            &count[1], &mean[2], &count[2], &mean[3], &count[3]),
                     8),
                  "%s", line);
        for (int p = 0; p < 4; p++) {
            const double wanted = geomean(i < 2 ? name[i] : NULL, pair[p][0], pair[p][1]);

            cr_expect(eq(int, count[p], i < 2 ? 2 : SHAPES), "%s, pair %d", name[i], p);
            cr_expect(fabs(mean[p] - wanted) < 0.001 + 0.001 * wanted, "%s, pair %d: %g, not %g", name[i], p, mean[p], wanted);
        }
    }
    cr_expect(has(summary, "worst shape, zero-shot: ") && has(summary, "worst shape, tuned: "), "%s", summary);
}

/* The tuned config of a row is one of records.json: family and first parameter; the rest is spelled out in the row. */
static void expect_recorded(int row)
{
    static char records[OUTPUT_BYTES];
    char config[256];
    const char *how = field(row, "tuned", "how");

    read_text("records.json", records);
    snprintf(config, sizeof config, "\"config\": \"%.*s", (int)strcspn(how, ","), how);
    cr_expect(has(records, config), "%s is not in %s", config, records);
}

/* Configs of a tuning, from its store and from the file it exports; a shape that was not tuned is reported. */
Test(bench, takes_configs_from_records)
{
    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T tune 16x16x16 17x23x9 --family tiled --evaluations 2 && $T tune --export records.json"), 0),
              "%s", errors);
    for (int from_file = 0; from_file < 2; from_file++) {
        cr_assert(eq(int,
                     shell("%s $B --shapes shapes.csv --csv out.csv %s", from_file ? "TILEJIT_CACHE_DIR=$PWD/empty" : "",
                           from_file ? "--records records.json" : ""),
                     0),
                  "%s", errors);
        read_csv("out.csv");
        cr_assert(eq(int, csv.rows, SHAPES));
        expect_verified(0, "tuned");
        expect_recorded(0);
        expect_verified(2, "tuned");
        expect_recorded(2);
        expect_absent(1, "tuned", "tilejit tune");
        expect_absent(3, "tuned", "tilejit tune");
        expect_verified(0, "zero_shot");
        expect_absent(0, "cublas", "not asked for: --cublas");
        cr_expect(has(out, "not tuned: 2 of 4 shapes"), "%s", out);
    }
}

Test(bench, races_what_only_names)
{
    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$B --shapes shapes.csv --zero-shot --only odd,16x16x16 --csv out.csv"), 0), "%s", errors);
    read_csv("out.csv");
    cr_assert(eq(int, csv.rows, 3));
    cr_expect(eq(str, (char *)field(0, NULL, "shape"), "16x16x16"));
    cr_expect(eq(str, (char *)field(1, NULL, "shape"), "17x23x9"));
    cr_expect(eq(str, (char *)field(2, NULL, "shape"), "5x7x3b4"));
    expect_absent(0, "tuned", "not asked for");
}

/* Stored by columns, f16, a result of another type: where a wrong transpose or leading dimension towards cuBLAS would show. */
Test(bench, hands_layouts_to_the_peers)
{
    NEEDS_COMPILER();
    write_text("layouts.csv", "category,j,k,l,batch,dtype,p-dtype,layout-m,layout-n,layout-p\n"
                              "layout,9,11,5,1,f32,f32,col,row,row\n"
                              "layout,9,11,5,1,f32,f32,row,col,row\n"
                              "layout,9,11,5,1,f32,f32,col,col,col\n"
                              "layout,9,11,5,3,f32,f32,row,row,col\n"
                              "layout,9,11,5,1,f16,f16,col,row,row\n"
                              "layout,9,11,5,2,f16,f32,row,col,col\n");
    cr_assert(eq(int, shell("$B --shapes layouts.csv $P --zero-shot --csv out.csv"), 0), "%s%s", out, errors);
    read_csv("out.csv");
    cr_assert(eq(int, csv.rows, 6));
    cr_expect(eq(str, (char *)field(0, NULL, "shape"), "9x11x5-crr"));
    cr_expect(eq(str, (char *)field(5, NULL, "shape"), "9x11x5b2-f16-f32-rcc"));
    for (int row = 0; row < 6; row++) {
        expect_verified(row, "zero_shot");
        expect_verified(row, "cublas");
        expect_verified(row, "cublaslt");
    }
}

/*
 * A product of each type and compute. A product that a peer does not support is left out with the peer's reason, and is not a
 * failure.
 */
static const struct {
    const char *line, *name, *blas, *lt; /* the last two: NULL: verified; else what is said of why not */
} products[] = {
    {"16,32,16,1,bf16", "16x32x16-bf16", NULL, NULL},
    {"17,31,5,2,bf16,,f32", "17x31x5b2-bf16-f32", NULL, NULL},
    {"17,31,5,1,f32,,,tf32", "17x31x5-tf32", NULL, NULL},
    {"16,2,16,1,f32,,,tf32", "16x2x16-tf32", NULL, NULL}, /* no sum hides that M and N are cut off */
    {"16,32,16,1,s8", "16x32x16-s8", NULL, NULL},
    {"16,32,16,2,s8,,,,row,col", "16x32x16b2-s8-rcr", NULL, NULL},
    {"16,32,16,1,s8,,s8", "16x32x16-s8-s8", "cublasStatus_t 15", NULL},
    {"16,32,16,1,s8,,f32", "16x32x16-s8-f32", "cublasStatus_t 15", "P is s32 or s8"},
    {"16,31,17,1,s8", "16x31x17-s8", "cublasStatus_t 15", "multiples of 4"},
    {"16,32,16,1,u8", "16x32x16-u8", "cublasStatus_t 7", "no products of u8"},
    {"16,32,16,1,s8,u8", "16x32x16-s8xu8", "cublasStatus_t 7", "not with u8"},
    {"16,32,16,1,e4m3", "16x32x16-e4m3", "cublasStatus_t 15", "N by columns"},
    {"16,32,16,1,e4m3,,,,row,col", "16x32x16-e4m3-rcr", "cublasStatus_t 15", NULL},
    {"16,32,16,1,e4m3,e5m2,e4m3,,row,col,col", "16x32x16-e4m3xe5m2-e4m3-rcc", "cublasStatus_t 15", NULL},
    {"16,32,16,1,e5m2,e4m3,bf16,,row,col", "16x32x16-e5m2xe4m3-bf16-rcr", "cublasStatus_t 15", NULL},
    {"16,32,16,1,e5m2,,,,row,col", "16x32x16-e5m2-rcr", "cublasStatus_t 15", "not both e5m2"},
    {"9,11,5,1,c64,,,,col", "9x11x5-c64-crr", NULL, NULL},
    {"9,11,5,3,c128,,,,row,col,col", "9x11x5b3-c128-rcc", NULL, NULL},
};
enum { PRODUCTS = sizeof products / sizeof products[0] };
_Static_assert((int)PRODUCTS <= (int)MAX_ROWS, "rows of a CSV");

static void write_products(void)
{
    char lines[PRODUCTS * 64 + 100] = "category,j,k,l,batch,dtype,n-dtype,p-dtype,compute,layout-m,layout-n,layout-p\n";

    for (int i = 0; i < PRODUCTS; i++) {
        int fields = 2;

        for (const char *c = products[i].line; *c; c++)
            fields += *c == ',';
        (void)snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "type,%s%.*s\n", products[i].line, 12 - fields,
                       ",,,,,,,,,,,,");
    }
    write_text("products.csv", lines);
}

Test(bench, races_every_type)
{
    NEEDS_COMPILER();
    write_products();
    cr_assert(eq(int, shell("$B --shapes products.csv $P --zero-shot --csv out.csv"), 0), "%s%s", out, errors);
    read_csv("out.csv");
    cr_assert(eq(int, csv.rows, PRODUCTS));
    for (int row = 0; row < PRODUCTS; row++) {
        const char *why[] = {products[row].blas, products[row].lt};

        cr_expect(eq(str, (char *)field(row, NULL, "shape"), (char *)products[row].name));
        expect_verified(row, "zero_shot");
        for (int i = 0; i < 2; i++)
            if (why[i])
                expect_absent(row, contender[2 + i], why[i]);
            else
                expect_verified(row, contender[2 + i]);
    }
    cr_expect(eq(str, (char *)field(13, NULL, "n_dtype"), "e5m2"));
    cr_expect(eq(str, (char *)field(13, NULL, "p_dtype"), "e4m3"));
    cr_expect(eq(str, (char *)field(2, NULL, "compute"), "tf32"));
    cr_expect(number(3, "cublas", "bound_ratio") > 1);
    cr_expect(eq(dbl, number(4, NULL, "bytes"), 16 * 32 + 32 * 16 + 4 * 16 * 16), "s8, and a P of s32");
    cr_expect(eq(dbl, number(4, "zero_shot", "rms_error"), 0), "integers are exact");
}

/* Options fill in properties that the lines leave open; a line takes precedence. */
Test(bench, takes_types_from_options)
{
    NEEDS_COMPILER();
    write_text("mixed.csv", "category,j,k,l,batch,dtype,layout-n\nsquare,16,16,16,,,\nsquare,16,16,16,1,s8,row\n");
    cr_assert(eq(int, shell("$B --shapes mixed.csv $P --zero-shot --dtype bf16 --p-dtype f32 --layout-n col --csv out.csv"), 0),
              "%s%s", out, errors);
    read_csv("out.csv");
    cr_assert(eq(int, csv.rows, 2));
    cr_expect(eq(str, (char *)field(0, NULL, "shape"), "16x16x16-bf16-f32-rcr"));
    cr_expect(eq(str, (char *)field(1, NULL, "shape"), "16x16x16-s8-f32"));
    expect_verified(0, "cublaslt");
    cr_assert(eq(int, shell("$B --shapes shapes.csv --zero-shot --only 16x16x16-tf32 --compute tf32"), 1), "32x32x32-f64");
    cr_expect(has(errors, "shapes.csv, line 3: ") && has(errors, "tf32"), "%s", errors);
    cr_assert(eq(int,
                 shell("$B --shapes mixed.csv --zero-shot --only 16x16x16-e4m3xe5m2-ccc --dtype e4m3 --n-dtype e5m2 "
                       "--layout-m col --layout-n col --layout-p col"),
                 1));
    cr_expect(has(errors, "mixed.csv, line 3: "), "N of s8 cannot be e5m2: %s", errors);
}

/* ---- what goes wrong ------------------------------------------------------------------------------------------------- */

Test(bench, is_loud_about_a_wrong_product)
{
    static const struct {
        const char *wrong, *name;
        int who;
    } rows[] = {{"cublas", "cuBLAS", 2}, {"cublaslt", "cuBLASLt", 3}, {"idle", "cuBLASLt", 3}};

    NEEDS_COMPILER();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[200];

        cr_assert(
            eq(int,
               shell("FAKE_CUBLAS_WRONG=%s $B --shapes shapes.csv $P --config naive --only odd --csv out.csv --html out.html",
                     rows[i].wrong),
               3));
        cr_expect(has(errors, "2 products were wrong or failed"), "%s", errors);
        snprintf(line, sizeof line, "WRONG PRODUCT: 17x23x9 %s: ", rows[i].name);
        cr_expect(has(out, line), "%s", out);
        snprintf(line, sizeof line, "WRONG PRODUCT: 5x7x3b4 %s: ", rows[i].name);
        cr_expect(has(out, line), "%s", out);
        cr_expect(eq(int, times(out, "WRONG"), 2), "the others are right: %s", out);
        read_csv("out.csv");
        for (int row = 0; row < 2; row++)
            for (int who = 0; who < CONTENDERS; who++)
                if (who == rows[i].who)
                    cr_expect(eq(str, (char *)field(row, contender[who], "state"), "wrong"));
                else
                    expect_verified(row, contender[who]);
        read_text("out.html", text);
        cr_expect(has(text, "<strong>") && has(text, "WRONG"), "the page hides it");
    }
    /* A wrong peer is not one that was beaten. */
    cr_expect(lacks(strstr(out, "Geometric means"), "worst shape"), "%s", out);
}

/* So does each type, whatever errors its sums may have. */
Test(bench, is_loud_about_a_wrong_product_of_any_type)
{
    int wrong = 0;

    NEEDS_COMPILER();
    write_products();
    cr_assert(eq(int, shell("FAKE_CUBLAS_WRONG=idle $B --shapes products.csv $P --zero-shot --csv out.csv"), 3));
    read_csv("out.csv");
    cr_assert(eq(int, csv.rows, PRODUCTS));
    for (int row = 0; row < PRODUCTS; row++) {
        if (products[row].lt)
            continue;
        wrong++;
        cr_expect(eq(str, (char *)field(row, "cublaslt", "state"), "wrong"), "%s", products[row].name);
    }
    cr_expect(eq(int, times(out, "WRONG"), wrong), "%s", out);
}

/* A config that does not fit a shape leaves its contender out, with the reason, and is not a failure. */
Test(bench, says_where_a_config_does_not_fit)
{
    NEEDS_COMPILER();
    write_text("sizes.csv", "small,16,16,16\nlarge,129,129,129\n");
    cr_assert(eq(int, shell("$B --shapes sizes.csv --config small_batch --csv out.csv"), 0), "%s%s", out, errors);
    read_csv("out.csv");
    cr_assert(eq(int, csv.rows, 2));
    expect_verified(0, "tuned");
    expect_absent(1, "tuned", "128");
    cr_expect(has(out, "    tuned: "), "%s", out);
}

/* A peer that is not there is a line, and no failure. */
Test(bench, goes_without_peers)
{
    NEEDS_COMPILER();
    cr_expect(
        eq(int, shell("TILEJIT_DRIVER=emulator $B --shapes shapes.csv --zero-shot --only 16x16x16 --cublas --csv out.csv"), 0),
        "%s", errors);
    cr_expect(has(out, "no cuBLAS: cuBLAS computes on a GPU, not on the emulator"), "%s", out);
    cr_expect(lacks(out, "worst shape"), "%s", out);
    read_csv("out.csv");
    expect_absent(0, "cublas", "emulator");
    if (shell("ls /usr/local/cuda*/lib64/libcublas.so* $CUDA_HOME/lib64/libcublas.so* || ldconfig -p | grep libcublas") == 0)
        SKIP_TEST("cuBLAS is installed here");
    cr_expect(eq(int, shell("unset LD_LIBRARY_PATH; $B 16x16x16 --zero-shot --cublas"), 0), "%s", errors);
    cr_expect(has(out, "no cuBLAS: no libcublas.so.13 or .12") && has(out, "set LD_LIBRARY_PATH to its folder"), "%s", out);
}

/* Where times mean nothing none is reported, but products are checked. */
Test(bench, measures_no_time_on_the_emulator)
{
    json_t *answer, *one;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("TILEJIT_DRIVER=emulator $B --shapes shapes.csv --config tiled --csv out.csv --html out.html"), 0),
              "%s", errors);
    cr_expect(has(out, "time       not measured: the emulator") && lacks(out, "Geometric means"), "%s", out);
    read_csv("out.csv");
    cr_assert(eq(int, csv.rows, SHAPES));
    for (int row = 0; row < SHAPES; row++)
        for (int who = 0; who < 2; who++) {
            cr_expect(eq(str, (char *)field(row, contender[who], "state"), "ok"));
            cr_expect(eq(str, (char *)field(row, contender[who], "us"), ""), "a time");
            cr_expect(gt(dbl, number(row, contender[who], "checked"), 0));
        }
    cr_assert(eq(int, shell("TILEJIT_DRIVER=emulator $B 16x16x16 --json"), 0), "%s", errors);
    answer = json_loads(out, 0, NULL);
    one = json_object_get(json_array_get(json_object_get(answer, "shapes"), 0), "zero_shot");
    cr_expect(eq(int, json_is_null(json_object_get(one, "us")), 1), "%s", out);
    cr_expect(eq(int, (int)json_integer_value(json_object_get(one, "checked")), 256), "%s", out);
    cr_expect(eq(str, (char *)json_string_value(json_object_get(one, "state")), "ok"), "%s", out);
    json_decref(answer);
}

/* Further properties of a product: the peers are not asked, and ours is checked. */
Test(bench, times_epilogues_groups_and_open_dimensions)
{
    NEEDS_COMPILER();
    write_text("more.csv", "category,j,k,l,batch,dtype,epilogue,groups,any,stride-m,n-dtype\n"
                           "\"a, b\",16,32,16,,f32,\"gelu(select(row < 3, acc, acc + bias[col]))\",,,,\n"
                           ",32,16,24,,f32,,4,,,\n"
                           ",24,16,24,,f32,,,j k,,\n"
                           ",8,16,24,3,f32,,,,pointers,\n"
                           ",8,16,24,,f32,,,,,s4\n");
    cr_assert(eq(int, shell("$B --shapes more.csv $P --zero-shot --csv out.csv"), 0), "%s%s", out, errors);
    read_csv("out.csv");
    cr_assert(eq(int, csv.rows, 5));
    cr_expect(eq(str, (char *)field(0, NULL, "category"), "a, b"));
    for (int row = 0; row < 5; row++)
        expect_verified(row, "zero_shot");
    expect_absent(0, "cublaslt", "an epilogue");
    expect_absent(1, "cublaslt", "groups of rows");
    expect_verified(2, "cublaslt");
    expect_absent(3, "cublaslt", "arrays of pointers");
    expect_absent(4, "cublaslt", "elements of 4 bits");
}

Test(bench, says_that_there_is_no_driver)
{
    cr_expect(eq(int, shell("TILEJIT_DRIVER=/nonexistent/libcuda.so.1 $B --shapes shapes.csv"), 1));
    cr_expect(has(errors, "/nonexistent/libcuda.so.1"), "%s", errors);
}

Test(bench, refuses_bad_words)
{
    static const struct {
        const char *words, *complaint, *remedy;
        int code;
    } rows[] = {
        {"", "there is no shape to time", "--shapes", 2},
        {"--shapes missing.csv", "missing.csv", "No such file", 1},
        {"--shapes shapes.csv --only cubes", "--only has \"cubes\"", "no category", 2},
        {"--shapes shapes.csv --only square,", "--only has \"\"", "no category", 2},
        {"--shapes shapes.csv --only 16x16x17", "--only has \"16x16x17\"", "no shape", 2},
        {"--shapes shapes.csv --rounds 0", "--rounds", "from 1 to 41", 2},
        {"--shapes shapes.csv --rounds 42", "--rounds", "from 1 to 41", 2},
        {"--shapes shapes.csv --config naive --zero-shot", "--config", "give one", 2},
        {"--shapes shapes.csv --records a.json --zero-shot", "--records", "give one", 2},
        {"--shapes shapes.csv --config naive --records a.json", "--config and --records", "give one", 2},
        {"--shapes shapes.csv --config fast", "fast", "tilejit families", 2},
        {"--shapes shapes.csv --config tiled:tile_width=wide", "tile_width", "wide", 2},
        {"--shapes shapes.csv --html -", "--html", "name a file", 2},
        {"--shapes shapes.csv --csv - --json", "--csv", "another file", 2},
        {"--shapes shapes.csv --arch sm_80", "--arch", "--compile-only", 2},
        {"--shapes shapes.csv --records missing.json", "missing.json", "No such file", 1},
        {"--shapes shapes.csv --csv /nonexistent/out.csv", "/nonexistent/out.csv", "its folder does not exist", 1},
        {"--shapes shapes.csv --html /nonexistent/out.html", "/nonexistent/out.html", "its folder does not exist", 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect(eq(int, shell("$B %s", rows[i].words), rows[i].code), "%s: %s", rows[i].words, errors);
        cr_expect(has(errors, rows[i].complaint), "%s: %s", rows[i].words, errors);
        cr_expect(has(errors, rows[i].remedy), "%s: %s", rows[i].words, errors);
    }
}

/* A header of the former dialect is not a comment: the message names its columns as they are called today. */
Test(bench, refuses_headers_of_the_former_dialect)
{
    static const struct {
        const char *file, *said;
    } rows[] = {
        {"# category,j,k,l,batch,dtype,m_layout\nsquare,16,16,16,1,f32,col\n",
         "bad.csv, line 1: a header stands without #, and \"dtype\" in it is called dtype"},
        {"# category,j,k,l,m_layout   a remark\nsquare,16,16,16,col\n", "\"m_layout\" in it is called layout-m"},
        {"category,j,k,l,p_layout\nsquare,16,16,16,col\n", "the column \"p_layout\" is called layout-p"},
        {"category,j,k,l,n_dtype\nsquare,16,16,16,s8\n", "the column \"n_dtype\" is called n-dtype"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_text("bad.csv", rows[i].file);
        cr_expect(eq(int, shell("$B --shapes bad.csv"), 1), "%s: %s", rows[i].file, errors);
        cr_expect(has(errors, rows[i].said), "%s: %s", rows[i].file, errors);
    }
}

/* The shapes that the repository brings are read, all 64. */
Test(bench, reads_the_public_shapes)
{
    static const char *const names[] = {"public", "others", "unseen", "fp8_block"};

    for (int i = 0; i < 4; i++) {
        cr_expect(eq(int, shell("$B --shapes '%s/bench/shapes/%s.csv' --only none", TJ_SOURCE_DIR, names[i]), 2));
        cr_expect(has(errors, "--only has \"none\""), "the file itself is fine: %s", errors);
    }
    cr_expect(eq(int, shell("grep -c '^[a-z0-9_]*,[0-9]' '%s/bench/shapes/public.csv'", TJ_SOURCE_DIR), 0));
    cr_expect(eq(int, atoi(out), 64));
}

/* ---- what is drawn --------------------------------------------------------------------------------------------------- */

/* Count the listed lines of a category; each must match the description in draw.c. */
static int expect_category(const char *listed, const char *name)
{
    int count = 0;
    char head[32];

    snprintf(head, sizeof head, "\n%s,", name);
    for (const char *at = listed; (at = strstr(at, head)); count++) {
        long long j, k, l, batch;
        bool is_right = true, is_batch;

        at += strlen(head);
        cr_assert(eq(int, sscanf(at, "%lld,%lld,%lld,%lld", &j, &k, &l, &batch), 4), "%s", at);
        is_batch = batch >= 2 && batch <= 4096;
        cr_expect(is_batch == (strcmp(name, "batch") == 0), "%s %.40s", name, at);
        cr_expect(j * k * l * batch <= 15000000000, "%s %.40s", name, at);
        cr_expect(batch * (j * k + k * l + j * l) <= 75000000, "%s %.40s", name, at);
        if (strcmp(name, "few") == 0)
            is_right = (j <= 32 || l <= 32) && (j >= 64 || l >= 64);
        else if (strcmp(name, "deep_k") == 0)
            is_right = k >= 4096 && j <= 512 && l <= 512;
        else if (strcmp(name, "outer") == 0)
            is_right = k <= 64 && j >= 128 && l >= 128;
        else if (strcmp(name, "odd") == 0)
            is_right = j % 2 == 1 && k % 2 == 1 && l % 2 == 1;
        else if (strcmp(name, "square") == 0) /* rounding up adds 63 at most */
            is_right = j <= 2 * k + 63 && k <= 2 * l + 63 && l <= 2 * j + 63;
        cr_expect(is_right, "%s %.40s", name, at);
    }
    return count;
}

/* The same on every machine: shapes that are judged today can be drawn again tomorrow, and elsewhere. */
Test(bench, draws_shapes_from_a_seed)
{
    static const struct {
        const char *name;
        int count;
    } shares[] = {{"square", 50}, {"few", 50}, {"deep_k", 20}, {"outer", 20}, {"odd", 30}, {"batch", 30}};
    static const char first[] = "# bench_draw 200:7\ncategory,j,k,l,batch\nsquare,416,416,448,1\nsquare,85,74,88,1\n";
    static char all[OUTPUT_BYTES];

    cr_assert(eq(int, shell("$D 200:7"), 0), "%s", errors);
    strcpy(all, out);
    cr_expect(strncmp(all, first, strlen(first)) == 0, "%.100s", all);
    cr_expect(eq(int, times(all, "\n"), 202));
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        cr_expect(eq(int, expect_category(all, shares[i].name), shares[i].count), "%s", shares[i].name);
    cr_assert(eq(int, shell("$D 20:7"), 0), "%s", errors);
    cr_expect(strncmp(strchr(out, '\n'), strchr(all, '\n'), strlen(strchr(out, '\n'))) == 0, "the first 20 are others: %s",
              out);
    cr_assert(eq(int, shell("$D 200:8"), 0), "%s", errors);
    cr_expect(strncmp(strchr(out, '\n'), strchr(all, '\n'), 40) != 0, "seed 8 draws what 7 does");
    cr_assert(eq(int, shell("$D 1000:0"), 0), "%s", errors);
    cr_expect(eq(int, times(out, "\nodd,"), 150), "%s", errors);
    for (int i = 0; i < 7; i++) {
        static const char *const wrong[] = {"", "20", "20:", "-1:7", "0:7", "1001:7", "20:99999999999999999999"};

        cr_expect(eq(int, shell("$D %s", wrong[i]), 2), "%s", wrong[i]);
        cr_expect(has(errors, "COUNT:SEED, 1 to 1000 shapes"), "%s", errors);
    }
}

/* A drawn list is a list of shapes for the command. */
Test(bench, takes_what_was_drawn)
{
    cr_assert(eq(int, shell("$D 20:7 > drawn.csv && $B --shapes drawn.csv --only none"), 2));
    cr_expect(has(errors, "--only has \"none\""), "the file itself is fine: %s", errors);
    cr_assert(eq(int, shell("cp drawn.csv bad.csv && echo wrong >> bad.csv && $T tune --shapes bad.csv"), 1));
    cr_expect(has(errors, "bad.csv, line 23"), "the 22 lines before are fine: %s", errors);
    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$B --shapes drawn.csv --only 184x7x5b8 --zero-shot --csv out.csv"), 0), "%s", errors);
    read_csv("out.csv");
    cr_assert(eq(int, csv.rows, 1));
    expect_verified(0, "zero_shot");
}

/* ---- the page -------------------------------------------------------------------------------------------------------- */

/*
 * Walk the page's tags: each is closed in turn, every attribute is quoted, text holds no bare < or &. Returns the first fault,
 * or NULL.
 */
static const char *find_fault(const char *page)
{
    static const char *const empty[] = {"meta", "!doctype"};
    char open[32][16], name[16];
    int depth = 0;

    for (const char *at = page; *at;) {
        const char *tag = at, *end = at + 1 + (at[1] == '/');
        size_t length = 0;
        bool is_void = false;

        if (*at == '&' && !(isalpha((unsigned char)at[1]) && at[1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz")] == ';'))
            return at;
        if (*at != '<') {
            at++;
            continue;
        }
        while (isalnum((unsigned char)end[length]) || end[length] == '!')
            length++;
        if (length == 0 || length >= sizeof name)
            return tag;
        snprintf(name, sizeof name, "%.*s", (int)length, end);
        for (end += length; *end && *end != '>'; end++) {
            if (*end == '=' && end[1] != '"')
                return tag;
            if (*end == '"')
                end += 1 + strcspn(end + 1, "\"<");
            if (*end != '"' && (*end == '<' || *end == '\0'))
                return tag;
        }
        if (*end == '\0')
            return tag;
        at = end + 1;
        for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++)
            is_void |= strcmp(name, empty[i]) == 0;
        if (tag[1] == '/') {
            if (depth == 0 || strcmp(open[--depth], name) != 0)
                return tag;
        } else if (end[-1] != '/' && !is_void) {
            if (depth == 32)
                return tag;
            strcpy(open[depth++], name);
        }
    }
    return depth == 0 ? NULL : "tags left open";
}

/* Text of a list is text in the page: its letters stay, and controls and broken letters do not. */
Test(bench, writes_text_of_a_list_as_text)
{
    NEEDS_COMPILER();
    write_text("named.csv", "category,j,k,l\ncaf\xc3\xa9 <b>\"\x1b\xff,16,16,16\n");
    cr_assert(eq(int, shell("$B --shapes named.csv $P --config naive --html out.html"), 0), "%s", errors);
    read_text("out.html", text);
    cr_expect(has(text, ">caf\xc3\xa9 &lt;b&gt;&quot;?\?<"), "%s", text);
}

Test(bench, draws_a_page_that_everyone_can_read)
{
    const char *fault;

    cr_assert(find_fault("<p>a &amp; b</p>") == NULL && find_fault("<p><b></p></b>") && find_fault("<p a=1></p>") &&
                  find_fault("<p>a & b</p>") && find_fault("<p>") && find_fault("<p title=\"x></p>"),
              "the check itself");
    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$B --shapes shapes.csv $P --config naive --html out.html"), 0), "%s", errors);
    read_text("out.html", text);
    fault = find_fault(text);
    cr_expect(fault == NULL, "%.200s", fault);
    cr_expect(has(text, "<!doctype html>") && has(text, "lang=\"en\"") && has(text, "name=\"viewport\"") &&
              has(text, "<title>"));
    cr_expect(has(text, "prefers-color-scheme:dark"), "light alone");
    cr_expect(lacks(text, "http:") && lacks(text, "https:") && lacks(text, "<script") && lacks(text, "<link"), "fetches");
    cr_expect(eq(int, times(text, "<svg "), 2));
    cr_expect(eq(int, times(text, "role=\"img\" aria-label=\""), 2), "a plot without a text");
    cr_expect(has(text, "for 4 shapes: geometric mean"), "the text says what the plot shows");
    cr_expect(eq(int, times(text, "<rect class=\"tuned\""), SHAPES));
    cr_expect(eq(int, times(text, "<circle class=\"peer\""), SHAPES));
    cr_expect(lacks(text, "nan") && lacks(text, "=\"inf"), "no number");
    for (int i = 0; i < 3; i++) {
        static const char *const name[] = {"<td>16x16x16</td>", "<td>17x23x9</td>", "<td>5x7x3b4</td>"};

        cr_expect(eq(int, times(text, name[i]), 1), "%s", name[i]);
    }
    /* Without peers there is no ratio to draw. */
    cr_assert(eq(int, shell("$B --shapes shapes.csv --zero-shot --only odd --html out.html"), 0), "%s", errors);
    read_text("out.html", text);
    fault = find_fault(text);
    cr_expect(fault == NULL, "%.200s", fault);
    cr_expect(eq(int, times(text, "<svg "), 1));
}

/* ---- the tables ------------------------------------------------------------------------------------------------------ */

/* The columns that the tables need, with numbers whose means are known: tuned is 2 and 8 times as fast as cuBLASLt, so 4 on average. */
static const char known[] =
    "category,shape,flop,floor_us,zero_shot_us,zero_shot_state,zero_shot_how,tuned_us,tuned_state,tuned_how,cublas_us,cublas_"
    "state,"
    "cublas_how,cublaslt_us,cublaslt_state,cublaslt_how\n"
    "square,100x100x100,2e6,0.5,2.000,ok,\"tiled:a=1,b=2\",1.000,ok,\"simt:a=1,b=2\",3.000,ok,\"\",2.000,ok,\"heuristic 1 of "
    "8\"\n"
    "square,200x200x200,1.6e7,1,4.000,ok,\"naive\",2.000,ok,\"simt\",6.000,ok,\"\",16.000,ok,\"heuristic 2 of 8\"\n"
    "odd,7x7x7,686,1,4.000,ok,\"naive\",0.000,absent,\"not tuned\",6.000,ok,\"\",1.000,wrong,\"element 3\"\n";

Test(bench, makes_tables_of_its_results)
{
    if (shell("python3 -c 'import csv'") != 0)
        SKIP_TEST("no python3 here");
    write_text("known.csv", known);
    cr_assert(eq(int, shell("'%s/bench/tables.py' known.csv", TJ_SOURCE_DIR), 0), "%s", errors);
    cr_expect(has(out, "| square | 2 | 2.000 | 4.000 | 3.000 | 0.500 | 2.000 | 50 |\n"), "%s", out);
    cr_expect(has(out, "| odd | 1 | - | - | - | - | - | 25 |\n"), "a wrong product has no ratio: %s", out);
    cr_expect(has(out, "| **all** | 3 | 2.000 | 4.000 | 3.000 | 0.500 | 2.000 | 50 |\n"), "%s", out);
    cr_expect(has(out, "| 100x100x100 | 2.00 | 1.00 | 3.00 | 2.00 | 2.000 | 2.00 | 50 | `simt:a=1,b=2` |\n"), "%s", out);
    cr_expect(has(out, "| 7x7x7 | 4.00 | - | 6.00 | WRONG | - | 0.00 | 25 | `naive` |\n"), "%s", out);
    cr_expect(eq(int, shell("'%s/bench/tables.py' shapes.csv", TJ_SOURCE_DIR), 1));
    cr_expect(has(errors, "shapes.csv: no column shape"), "%s", errors);
    cr_expect(eq(int, shell("'%s/bench/tables.py' missing.csv", TJ_SOURCE_DIR), 1));
    cr_expect(has(errors, "missing.csv: No such file"), "%s", errors);
    NEEDS_COMPILER();
    cr_assert(eq(int,
                 shell("$B --shapes shapes.csv $P --config naive --csv out.csv && '%s/bench/tables.py' out.csv", TJ_SOURCE_DIR),
                 0),
              "%s", errors);
    cr_expect(has(out, "| square | 2 |") && has(out, "| **all** | 4 |") && has(out, "| 5x7x3b4 |"), "%s", out);
}
