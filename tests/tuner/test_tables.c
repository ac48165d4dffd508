/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Tables of trials: that they survive every way in and out, that nothing damaged is believed, and that choices by those that
 * ship are better than the model's alone.
 */
#include <math.h>

#include "expect.h"
#include "input.h"
#include "rank.h"
#include "record.h"
#include "scale.h"
#include "settle.h"
#include "space.h"
#include "trials.h"
#include "tuner_test.h"

static tj_error err;

static const char HEAD[] = "# shape\tconfig\tstate\tus\tspread\tdevice\tproblem\n";

/* A file of tilejit tune --trials, of one device. */
static char *trials_of(const tj_device_facts *device, const char *lines)
{
    char *json = tj_device_to_json(device), *text = malloc(strlen(json) + strlen(lines) + 200);

    sprintf(text, "# device %s\n%s%s", json, HEAD, lines);
    free(json);
    return text;
}

static tj_trials *added(const char *text)
{
    tj_trials *trials = tj_trials_create();

    cr_assert(eq(int, tj_trials_add(trials, text, NULL, &err), TJ_OK), "%s", err.message);
    return trials;
}

static char *printed(const tj_trials *trials)
{
    char *text;

    cr_assert(eq(int, tj_trials_print(trials, &text, &err), TJ_OK), "%s", err.message);
    return text;
}

static const char LINES[] = "a\tsimt:bm=128,bn=128\ttimed\t12.5\t0.01\tNVIDIA H200\tj512 k512 l512 f32\n"
                            "a\ttiled:tile_width=32\tslow\t120\t0.01\tNVIDIA H200\tj512 k512 l512 f32\n"
                            "a\ttiled\trefused\t0\t0\tNVIDIA H200\tj512 k512 l512 f32\n"
                            "a\tfuture:x=1\ttimed\t9\t0\tNVIDIA H200\tj512 k512 l512 f32\n"
                            "b\tsimt:bm=64,bn=64\ttimed\t2.75\t0.01\tNVIDIA H200\tj64 k64 l64 f32 batch=9\n"
                            "c\tsimt:bm=64,bn=64\ttimed\t2.75\t0.01\tNVIDIA H200\tj*8 k64 l64 f32\n";

Test(tables, hold_the_timed_trials_that_this_version_knows)
{
    const tj_device_facts device = h200();
    char *text = trials_of(&device, LINES), *again;
    tj_trials *trials = tj_trials_create(), *read;
    int64_t passed_over;
    size_t count;

    cr_assert(eq(int, tj_trials_add(trials, text, &passed_over, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(i64, passed_over, 1), "an open extent");
    cr_expect(eq(sz, tj_trials_count(trials), 2));
    free(text);
    text = printed(trials);
    cr_assert(eq(int, tj_trials_parse(text, &read, &err), TJ_OK), "%s", err.message);
    again = printed(read);
    cr_expect(eq(str, again, text), "the same bytes");
    cr_expect(strstr(text, "\nj512 k512 l512 f32\n12500 simt:bm=128\n120000 tiled:tile_width=32\nj64 ") != NULL, "%s", text);
    cr_expect(eq(str, (char *)tj_trials_device_name(read), "NVIDIA H200"));
    cr_expect(tj_trials_problem(read, 0, &count) != NULL && count == 2);
    cr_expect(tj_trials_problem(read, 2, &count) == NULL && count == 0);
    cr_expect(memcmp(tj_trials_device(read)->name, device.name, sizeof device.name) == 0);
    cr_expect(eq(i64, tj_trials_device(read)->l2_bytes, device.l2_bytes));
    cr_expect(eq(int, tj_trials_device(read)->max_grid_x, device.max_grid_x));
    free(text);
    free(again);
    tj_trials_free(trials);
    tj_trials_free(read);
}

Test(tables, take_the_later_file_of_a_problem)
{
    const tj_device_facts device = h200();
    char *first = trials_of(&device, LINES),
         *second = trials_of(&device, "a\tsimt:bm=64,bn=128\ttimed\t30\t0\tNVIDIA H200\tj512 k512 l512 f32\n"), *text;
    tj_trials *trials = added(first), *more;
    char *table;

    cr_assert(eq(int, tj_trials_add(trials, second, NULL, &err), TJ_OK), "%s", err.message);
    text = printed(trials);
    cr_expect(strstr(text, "\nj512 k512 l512 f32\n30000 simt\nj64 ") != NULL, "%s", text);
    free(text);
    tj_trials_free(trials);

    /* a table is one of the files, too */
    more = added(second);
    table = printed(more);
    trials = added(first);
    cr_assert(eq(int, tj_trials_add(trials, table, NULL, &err), TJ_OK), "%s", err.message);
    text = printed(trials);
    cr_expect(strstr(text, "\nj512 k512 l512 f32\n30000 simt\nj64 ") != NULL, "%s", text);
    table[strlen(table) - 2] ^= 1;
    cr_expect(eq(int, tj_trials_add(trials, table, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "cut or damaged") != NULL, "%s", err.message);
    free(text);
    free(table);
    tj_trials_free(more);
    free(first);
    free(second);
    tj_trials_free(trials);
}

Test(tables, of_two_devices_or_none_are_refused)
{
    const tj_device_facts device = h200();
    char *one = trials_of(&device, "a\ttiled\ttimed\t1\t0\tNVIDIA H100\tj8 k8 l8 f32\n");
    tj_device_facts h100 = device;
    char nowhere[400], *lines_of_h100, *table, *text;
    tj_trials *trials = tj_trials_create(), *elsewhere;

    strcpy(h100.name, "NVIDIA H100");
    lines_of_h100 = trials_of(&h100, "a\ttiled\ttimed\t1\t0\tNVIDIA H100\tj8 k8 l8 f32\n");
    elsewhere = added(lines_of_h100);

    snprintf(nowhere, sizeof nowhere, "%sa\ttiled\ttimed\t1\t0\tNVIDIA H200\tj8 k8 l8 f32\n", HEAD);
    cr_expect(eq(int, tj_trials_add(trials, nowhere, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "no line \"# device\"") != NULL, "%s", err.message);
    cr_expect(eq(int, tj_trials_add(trials, one, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "of NVIDIA H200 and of NVIDIA H100") != NULL, "%s", err.message);
    table = printed(elsewhere);
    cr_expect(eq(int, tj_trials_add(trials, table, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "of NVIDIA H200 and of NVIDIA H100") != NULL, "%s", err.message);
    cr_expect(eq(int, tj_trials_add(trials, "j,k,l\n8,8,8\n", NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_trials_print(trials, &text, &err), TJ_ERR_INVALID_ARGUMENT), "empty");
    free(one);
    free(lines_of_h100);
    free(table);
    tj_trials_free(trials);
    tj_trials_free(elsewhere);
}

/* Scales in every form that a problem has a text for, and P with scales that the kernel finds. */
Test(tables, hold_problems_with_scales_of_any_form)
{
    static const char *const forms[] = {
        "j128 k4096 l4096 bf16 N:s4 N:col scale_n=bf16:1x128:row-by-row",
        "j128 k4096 l4096 bf16 N:s8 N:col scale_n:along_k scale_k=64",
        "j128 k4096 l4096 bf16 N:u4 N:col scale_n=bf16:1x32:row-by-row:zero=u4",
        "j128 k4096 l4096 e2m1 P:bf16 N:col scale_m=e4m3:1x16:row-by-row:whole scale_n=e4m3:1x16:row-by-row:whole",
        "j128 k4096 l4096 e4m3 P:bf16 N:col scale_m scale_n:each",
        "j128 k4096 l4096 e4m3 P:bf16 compute:f32_fp8 N:col scale_m=f32:1x128:row-by-row scale_n=f32:128x128:row-by-row",
        "j128 k4096 l4096 f16 P:s8 scale_p=f32:1x128:row-by-row"};
    enum { FORMS = sizeof forms / sizeof forms[0] };
    const tj_device_facts device = h200();
    char lines[FORMS * 300] = "", *text, *again;
    tj_trials *trials = tj_trials_create(), *read;
    int64_t passed_over;

    for (size_t i = 0; i < FORMS; i++)
        sprintf(lines + strlen(lines), "a\tnaive\ttimed\t9\t0\tNVIDIA H200\t%s\n", forms[i]);
    text = trials_of(&device, lines);
    cr_assert(eq(int, tj_trials_add(trials, text, &passed_over, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(i64, passed_over, 0));
    cr_assert(eq(sz, tj_trials_count(trials), FORMS));
    free(text);
    text = printed(trials);
    cr_assert(eq(int, tj_trials_parse(text, &read, &err), TJ_OK), "%s", err.message);
    again = printed(read);
    cr_expect(eq(str, again, text), "the same bytes");
    for (size_t i = 0; i < FORMS; i++) {
        cr_expect(strstr(text, forms[i]) != NULL, "%s", forms[i]);
        cr_expect(eq(str, (char *)tj_trials_at(read, i)->text, (char *)forms[i]));
    }
    free(text);
    free(again);
    tj_trials_free(trials);
    tj_trials_free(read);
}

/* A cut at any byte, and a change of any. */
Test(tables, that_are_cut_or_damaged_are_refused_as_a_whole)
{
    const tj_device_facts device = h200();
    char *lines = trials_of(&device, LINES);
    tj_trials *trials = added(lines), *read;
    char *text = printed(trials);
    const size_t length = strlen(text);

    for (size_t i = 0; i < length; i++) {
        const char kept = text[i];

        for (int change = 0; change < 2; change++) {
            text[i] = change ? (char)(kept ^ 1) : '\0';
            cr_expect(eq(int, tj_trials_parse(text, &read, &err), TJ_ERR_INVALID_ARGUMENT), "byte %zu", i);
            cr_expect(read == NULL);
        }
        text[i] = kept;
    }
    text[strlen("tilejit trials ")] = '2';
    cr_expect(eq(int, tj_trials_parse(text, &read, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "another version") != NULL, "%s", err.message);
    free(text);
    free(lines);
    tj_trials_free(trials);
}

/* ---- choices by them ---------------------------------------------------------------------------------------------- */

/* By a table of these trials. */
static tj_chosen_by chosen_by(const tj_trials *trials, const tj_problem *problem, const tj_device_facts *device,
                              tj_config *chosen)
{
    tj_records *records = tj_records_create();
    tj_chosen_by by;

    cr_assert(eq(int, tj_records_add_trials(records, trials, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_choose(records, problem, device, chosen, &by, &err), TJ_OK), "%s", err.message);
    tj_records_free(records);
    return by;
}

/* By a table that says of 512 x 512 x 512 that `config` takes 1 us. */
static tj_chosen_by chosen_by_table(const tj_problem *problem, const tj_device_facts *device, const tj_device_facts *measured,
                                    const char *config, tj_config *chosen)
{
    char line[300], *text;
    tj_trials *trials;
    tj_chosen_by by;

    snprintf(line, sizeof line, "a\t%s\ttimed\t1\t0\t%s\tj512 k512 l512 f32\n", config, measured->name);
    text = trials_of(measured, line);
    trials = added(text);
    by = chosen_by(trials, problem, device, chosen);
    tj_trials_free(trials);
    free(text);
    return by;
}

Test(tables, decide_for_the_problem_itself_and_for_similar_ones)
{
    static const char FAST[] = "simt:bm=64,bn=64,bk=8,tm=4,tn=4,slices=1,splits=3,stages=2",
                      SLOW[] = "simt:bm=128,bn=128,bk=8,tm=8,tn=8,slices=1,splits=1,stages=2",
                      ON_SLICE[] = "simt:bm=64,bn=64,bk=16,tm=8,tn=4,splits=1,stages=3";
    const tj_device_facts device = h200();
    const tj_problem same = f32(512, 512, 512), near = f32(500, 512, 600), other = f32(512, 512, 16);
    tj_device_facts slice = h200(), older = h200();
    tj_config fast, chosen;

    cr_assert(tj_config_read(FAST, &fast));
    cr_expect(eq(int, chosen_by_table(&same, &device, &device, FAST, &chosen), TJ_BY_TRIALS));
    cr_expect(memcmp(chosen.value, fast.value, sizeof fast.value) == 0);
    cr_expect(eq(int, chosen_by_table(&near, &device, &device, FAST, &chosen), TJ_BY_NEAREST));
    cr_expect(eq(int, chosen_by_table(&other, &device, &device, FAST, &chosen), TJ_BY_MODEL));

    /* predicted to be much slower than the best: a trial decides for its own problem alone */
    cr_expect(eq(int, chosen_by_table(&same, &device, &device, SLOW, &chosen), TJ_BY_TRIALS));
    cr_expect(eq(int, chosen_by_table(&near, &device, &device, SLOW, &chosen), TJ_BY_MODEL));

    slice.sm_count = 60; /* MIG, a green context: another device, for which nothing was measured */
    cr_expect(eq(int, chosen_by_table(&same, &slice, &device, ON_SLICE, &chosen), TJ_BY_NEAREST));
    older.cc_major = 8;
    cr_expect(eq(int, chosen_by_table(&same, &device, &older, FAST, &chosen), TJ_BY_MODEL));
    cr_expect(eq(int, chosen_by_table(&same, &device, &device, "future:x=1", &chosen), TJ_BY_MODEL));
    cr_expect(eq(int, chosen_by_table(&same, &device, &device, "simt:bm=2000000", &chosen), TJ_BY_MODEL));
}

/* Blocks of scales along k are work in a kernel's loop: a problem with others, or with none, is of another kind. */
Test(tables, with_scales_speak_for_problems_with_such_scales)
{
    static const char FAST[] = "mma:bm=16,bn=32,steps=4,wm=16,wn=32,splits=1,stages=3,blocks=3,copy=async,pack=none,slices=4",
                      LINE[] = "a\t%s\ttimed\t1\t0\tNVIDIA H200\tj1 k16384 l7168 e4m3 P:bf16 compute:f32_fp8 N:col "
                               "scale_m=f32:1x128:row-by-row scale_n=f32:128x128:row-by-row\n";
    const tj_device_facts device = h200();
    char line[400], *text;
    tj_problem same = TJ_PROBLEM_INIT(1, 16384, 7168, TJ_E4M3), near, unscaled, other;
    tj_trials *trials;
    tj_config chosen, fast;

    same.p.type = TJ_BF16;
    cr_assert(eq(int, tj_problem_set(&same, "format", "fp8_block", &err), TJ_OK), "%s", err.message);
    near = other = unscaled = same;
    near.l.extent = 8192;
    memset(unscaled.scale, 0, sizeof unscaled.scale);
    other.scale[TJ_MATRIX_N].rows = 1;
    snprintf(line, sizeof line, LINE, FAST);
    text = trials_of(&device, line);
    trials = added(text);
    cr_assert(tj_config_read(FAST, &fast));
    cr_expect(eq(int, chosen_by(trials, &same, &device, &chosen), TJ_BY_TRIALS));
    cr_expect(memcmp(chosen.value, fast.value, sizeof fast.value) == 0);
    cr_expect(eq(int, chosen_by(trials, &near, &device, &chosen), TJ_BY_NEAREST));
    cr_expect(eq(int, chosen_by(trials, &unscaled, &device, &chosen), TJ_BY_MODEL));
    cr_expect(eq(int, chosen_by(trials, &other, &device, &chosen), TJ_BY_MODEL));
    tj_trials_free(trials);
    free(text);
}

/* ---- those that ship ---------------------------------------------------------------------------------------------- */

static const char *const files[] = {TJ_SOURCE_DIR "/trials/NVIDIA_H200.tjtrials",
                                    TJ_SOURCE_DIR "/trials/NVIDIA_H100_80GB_HBM3.tjtrials"};
enum { FILES = sizeof files / sizeof files[0] };

static tj_trials *read_file(const char *path)
{
    tj_trials *trials;
    char *text;
    size_t size;

    cr_assert(eq(int, tj_input_read_whole(path, TJ_TRIALS_MOST_BYTES, &text, &size, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_trials_parse(text, &trials, &err), TJ_OK), "%s: %s", path, err.message);
    free(text);
    return trials;
}

/* Does the config take this problem at most a fiftieth longer than the fastest that was measured? */
static bool is_among_the_fastest(const tj_measured_problem *of, const tj_config *config)
{
    bool is = false;

    for (size_t i = 0; i < of->trials && of->trial[i].ns * 50 <= of->trial[0].ns * 51; i++) {
        tj_config fast;

        cr_assert(tj_config_read(of->trial[i].config, &fast));
        is |= memcmp(&fast, config, sizeof fast) == 0;
    }
    return is;
}

/* A few are decided by trials of others: a config that was not tried is expected to be faster. */
Test(tables, that_ship_decide_for_their_problems_with_scales)
{
    tj_trials *const trials = read_file(files[0]);
    const tj_measured_problem *of;
    size_t count = 0, fast = 0;

    for (size_t i = 0; (of = tj_trials_at(trials, i)); i++) {
        tj_config chosen;

        if (!tj_has_scales(&of->problem))
            continue;
        count++;
        (void)chosen_by(trials, &of->problem, tj_trials_device(trials), &chosen);
        fast += is_among_the_fastest(of, &chosen);
    }
    printf("problems with scales: %zu, %zu of them with one of the fastest configs\n", count, fast);
    cr_expect(gt(sz, count, 0));
    cr_expect(ge(sz, 10 * fast, 9 * count));
    tj_trials_free(trials);
}

/* The logarithm of the loss of a choice among the trials of a problem, by the model (e is NULL) or by what is expected. */
static double loss_of(const tj_measured_problem *of, const tj_device_facts *device, const tj_expectation *e)
{
    double predicted[TJ_TRIALS_KEPT], least = INFINITY, best = INFINITY, us = 0;
    tj_request request;
    tj_config config;

    cr_assert(eq(int, tj_request_make(&of->problem, &request, &err), TJ_OK), "%s", err.message);
    for (size_t i = 0; i < of->trials; i++) {
        cr_assert(tj_config_read(of->trial[i].config, &config), "%s", of->trial[i].config);
        predicted[i] = tj_rank_predict(device, &request, &config);
        cr_assert(predicted[i] > 0, "%s: %s", of->text, of->trial[i].config);
        least = fmin(least, predicted[i]);
    }
    for (size_t i = 0; i < of->trials; i++) {
        double expected = log(predicted[i]);

        cr_assert(tj_config_read(of->trial[i].config, &config));
        cr_assert(eq(int, tj_request_resolve(&request, &config, &err), TJ_OK), "%s", err.message);
        if (e)
            (void)tj_expect(e, &config, predicted[i], least, &expected);
        if (expected < best) {
            best = expected;
            us = (double)of->trial[i].ns;
        }
    }
    return log(us / (double)of->trial[0].ns);
}

/* left_out: as for tj_expect_learn; below 0: the model's choices. */
static double mean_loss(tj_trials *const trials[FILES], double left_out)
{
    tj_records *records = tj_records_create();
    double sum = 0;
    size_t count = 0;

    for (size_t f = 0; f < FILES; f++)
        cr_assert(eq(int, tj_records_add_trials(records, trials[f], &err), TJ_OK), "%s", err.message);
    for (size_t f = 0; f < FILES; f++) {
        const tj_device_facts *device = tj_trials_device(trials[f]);
        const tj_measured_problem *of;

        for (size_t i = 0; (of = tj_trials_at(trials[f], i)); i++) {
            tj_expectation *e = NULL;
            tj_request request;

            if (of->trials < 4)
                continue;
            cr_assert(eq(int, tj_request_make(&of->problem, &request, &err), TJ_OK));
            if (left_out >= 0)
                e = tj_expect_learn(records, &request, device, left_out);
            sum += loss_of(of, device, e);
            count++;
            tj_expectation_free(e);
        }
    }
    tj_records_free(records);
    return exp(sum / (double)count);
}

Test(tables, that_ship_make_better_choices_than_the_model_alone)
{
    tj_trials *const trials[FILES] = {read_file(files[0]), read_file(files[1])};
    const double model = mean_loss(trials, -1), left_out = mean_loss(trials, 0), all_near_left_out = mean_loss(trials, 1);

    printf("geometric mean of losses: by the model %.4f, the problem left out %.4f, all within a doubling %.4f\n", model,
           left_out, all_near_left_out);
    cr_expect(lt(dbl, left_out, model - 0.01));
    cr_expect(lt(dbl, all_near_left_out, model - 0.008));
    for (size_t f = 0; f < FILES; f++)
        tj_trials_free(trials[f]);
}

/* Trials of one triangle are read as such. They are evidence for other triangles, and none for all of P. */
Test(tables, tell_one_triangle_from_all_of_p)
{
    static const char lines[] =
        "a\twgmma:bm=128,bn=128\ttimed\t9.5\t0.01\tNVIDIA H200\tj512 k512 l512 bf16 N:col symmetric=both\n";
    const tj_device_facts device = h200();
    const tj_problem all = TJ_PROBLEM_INIT(512, 512, 512, TJ_BF16);
    tj_problem triangle = tj_problem_canonical(&all);
    char *text = trials_of(&device, lines);
    tj_trials *const trials = added(text), *table;
    char *const print = printed(trials);
    const tj_measured_problem *read;
    tj_records *const records = tj_records_create();
    tj_expectation *e;
    tj_request request;

    cr_assert(eq(int, tj_trials_parse(print, &table, &err), TJ_OK), "%s", err.message);
    read = tj_trials_at(table, 0);
    triangle.n.layout = TJ_COL_MAJOR;
    cr_assert(ne(ptr, (void *)read, NULL));
    cr_expect(eq(int, read->problem.symmetric, TJ_SYMMETRIC_BOTH));
    cr_expect(tj_problem_difference(&triangle, &read->problem) > 0 &&
              isfinite(tj_problem_difference(&triangle, &read->problem)));
    triangle.symmetric = TJ_SYMMETRIC_BOTH;
    cr_expect(eq(dbl, tj_problem_difference(&triangle, &read->problem), 0));
    cr_assert(eq(int, tj_records_add_trials(records, table, &err), TJ_OK), "%s", err.message);
    for (int is_triangle = 0; is_triangle < 2; is_triangle++) {
        triangle = (tj_problem)TJ_PROBLEM_INIT(640, 640, 640, TJ_BF16);
        triangle.n.layout = TJ_COL_MAJOR;
        triangle.symmetric = (int8_t)(is_triangle ? TJ_SYMMETRIC_BOTH : TJ_SYMMETRIC_NOT);
        cr_assert(eq(int, tj_request_make(&triangle, &request, &err), TJ_OK), "%s", err.message);
        e = tj_expect_learn(records, &request, &device, TJ_LEAVE_NONE_OUT);
        cr_expect(eq(int, e != NULL, is_triangle));
        tj_expectation_free(e);
    }
    tj_records_free(records);
    tj_trials_free(trials);
    tj_trials_free(table);
    free(print);
    free(text);
}
