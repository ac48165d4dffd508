/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * tj_tune where times and products are known beforehand: who meets in the finals, who wins, what the record says of it.
 *
 * This program is linked with --wrap for what looks at the device: a table of the test says what each config takes, in one look and
 * in the finals, and whether its product is right. Driver and compiler only pretend, and the clock goes on when the test says so.
 */
#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "fake/fake_cuda.h"
#include "pool.h"
#include "proof.h"
#include "record.h"
#include "tuner_test.h"
#include "verify.h"

enum { MAX_ROWS = 8, MAX_LOOKS = 64 };

/* When a product shows that it is wrong: at once, or only at the last check, which looks at more rows. */
typedef enum fault { RIGHT, WRONG, WRONG_AT_LAST, WRONG_IN_PROOF } fault;

typedef struct row {
    const char *config; /* in the one-line form */
    double look_us, final_us;
    fault fault;
    tj_status compile, look; /* TJ_OK unless that is what comes of it */
    int32_t state;           /* of a look; 0: TJ_TRIAL_TIMED */
} row;

static struct {
    row row[MAX_ROWS], other; /* other: all that have no row */
    size_t rows;
    tj_config looked[MAX_LOOKS];
    int64_t looks, checks, proofs, rounds, standard_rounds;
    double first_flop, last_flop, most_between; /* of the checks */
    double wobble;                              /* every other round takes so much longer, in parts of it */
    double now, compile_s, round_s, check_s; /* the clock, and by how much each step puts it forward; a check: the first one */
    bool is_cancelled, is_to_cancel_finals;
} stage;

static char folder[] = "/tmp/tilejit-times-XXXXXX";
static const tj_problem problem = TJ_PROBLEM_INIT(20, 10, 12, TJ_F32);
static fake_cuda fake;
static tj_error err;

/* ---- the table ---------------------------------------------------------------------------------------------------- */

static bool is_same(const tj_config *a, const tj_config *b)
{
    return a->family == b->family && memcmp(a->value, b->value, sizeof a->value) == 0;
}

static tj_config resolved(tj_config config)
{
    cr_assert(eq(int, tj_config_resolve(&problem, &config, &err), TJ_OK), "%s", err.message);
    return config;
}

static tj_config named(const char *text)
{
    tj_config config = TJ_CONFIG_INIT;

    cr_assert(eq(int, tj_config_parse(text, &config, &err), TJ_OK), "%s", err.message);
    return resolved(config);
}

static const row *row_of(const tj_config *config)
{
    for (size_t i = 0; i < stage.rows; i++) {
        const tj_config one = named(stage.row[i].config);

        if (is_same(&one, config))
            return &stage.row[i];
    }
    return &stage.other;
}

static const row *row_of_program(const tj_program *program)
{
    return row_of(tj_source_config(program->source));
}

static bool was_tried(const char *text)
{
    const tj_config config = named(text);

    for (int64_t i = 0; i < stage.looks; i++)
        if (is_same(&stage.looked[i], &config))
            return true;
    return false;
}

tj_candidate *__wrap_tj_pool_await(tj_pool *pool, const tj_config *config);
tj_candidate *__real_tj_pool_await(tj_pool *pool, const tj_config *config);
tj_status __wrap_tj_bench_time(tj_bench *bench, const tj_program *program, double best_us, tj_trial *trial, tj_error *error);
tj_status __wrap_tj_bench_round(tj_bench *bench, const tj_program *program, double us, int is_warm, double *median,
                                tj_error *error);
tj_status __wrap_tj_verify(tj_bench *bench, const tj_program *program, double max_flop, bool is_whole, tj_anchor *anchor,
                           tj_trial *trial, tj_check_report *report, tj_error *error);
tj_status __wrap_tj_program_prove(tj_host *in, const tj_program *program, const tj_kernel *simple, const tj_request *proven,
                                  tj_proof *proof, tj_error *error);

double __wrap_tj_clock_s(void);

double __wrap_tj_clock_s(void)
{
    return stage.now;
}

tj_candidate *__wrap_tj_pool_await(tj_pool *pool, const tj_config *config)
{
    const tj_config one = resolved(*config);
    const row *r = row_of(&one);
    tj_candidate *candidate;

    stage.now += stage.compile_s;
    candidate = __real_tj_pool_await(pool, config);
    if (r->compile != TJ_OK) {
        candidate->status = r->compile;
        strcpy(candidate->error.message, "the table says so");
    }
    return candidate;
}

tj_status __wrap_tj_bench_time(tj_bench *bench, const tj_program *program, double best_us, tj_trial *trial, tj_error *error)
{
    const row *r = row_of_program(program);

    (void)bench, (void)best_us, (void)error;
    stage.looked[stage.looks++ % MAX_LOOKS] = *tj_source_config(program->source);
    trial->state = r->state ? r->state : TJ_TRIAL_TIMED;
    trial->us = r->look_us;
    return r->look;
}

/* With warm operands all take half as long. */
tj_status __wrap_tj_bench_round(tj_bench *bench, const tj_program *program, double us, int is_warm, double *median,
                                tj_error *error)
{
    const row *r = row_of_program(program);

    (void)bench, (void)us, (void)error;
    stage.now += stage.round_s;
    stage.rounds += !is_warm;
    stage.standard_rounds += !is_warm && r == &stage.other;
    *median = is_warm ? r->final_us / 2 : r->final_us * (1 + (stage.standard_rounds % 2 == 0 ? stage.wobble : 0));
    return TJ_OK;
}

tj_status __wrap_tj_verify(tj_bench *bench, const tj_program *program, double max_flop, bool is_whole, tj_anchor *anchor,
                           tj_trial *trial, tj_check_report *report, tj_error *error)
{
    const row *r = row_of_program(program);
    const bool is_last = stage.checks > 0 && report;
    const bool is_right = r->fault == RIGHT || r->fault == WRONG_IN_PROOF || (r->fault == WRONG_AT_LAST && !is_last);

    (void)bench, (void)error, (void)is_whole;
    if (stage.checks == 0)
        stage.first_flop = max_flop;
    stage.now += stage.check_s * max_flop / stage.first_flop;
    if (stage.checks > 0 && !report && max_flop > stage.most_between)
        stage.most_between = max_flop;
    stage.last_flop = max_flop;
    stage.checks++;
    trial->is_verified = is_right;
    if (!is_right)
        trial->state = TJ_TRIAL_WRONG;
    if (is_right && !anchor->p)
        anchor->p = calloc(1, 1);
    if (report)
        *report = (tj_check_report){.passed = is_right, .elements = is_last ? 77 : 7, .max_ratio = is_last ? 0.25 : 0.125};
    return TJ_OK;
}

tj_status __wrap_tj_program_prove(tj_host *in, const tj_program *program, const tj_kernel *simple, const tj_request *proven,
                                  tj_proof *proof, tj_error *error)
{
    const bool is_right = row_of_program(program)->fault != WRONG_IN_PROOF;

    (void)in, (void)proven, (void)simple;
    stage.proofs++;
    *proof = (tj_proof){.passed = is_right, .elements = 1, .created_s = 1};
    if (is_right)
        return TJ_OK;
    strcpy(proof->reason, "the table says so");
    error->status = TJ_ERR_CHECK_FAILED;
    strcpy(error->message, "the table says so");
    return TJ_ERR_CHECK_FAILED;
}

/* ---- tuning ------------------------------------------------------------------------------------------------------- */

static void start(void)
{
    cr_assert(mkdtemp(folder) != NULL, "%s", strerror(errno));
    fake = fake_open(FAKE_CUDA_PATH);
    fake.fake_hide("cuFuncGetParamInfo");
    stage.other = (row){.look_us = 100, .final_us = 90};
}

static void stop(void)
{
    char command[64];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_expect(system(command) == 0);
}

TestSuite(known_times, .init = start, .fini = stop, .timeout = 60);

static tj_context *open_context(void)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;

    options.cache_dir = folder;
    options.driver = FAKE_CUDA_PATH;
    options.nvrtc = FAKE_NVRTC_PATH;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    return context;
}

static int is_cancelled(void *payload)
{
    (void)payload;
    return stage.is_cancelled;
}

static void on_progress(const tj_tune_progress *progress, void *payload)
{
    (void)payload;
    stage.is_cancelled |= stage.is_to_cancel_finals && !progress->trial;
}

/* Return the options for the table: all configs of a family, or that many evaluations. */
static tj_tune_options options_of(const char *family, int64_t evaluations)
{
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;

    options.family = family ? tj_family_find(family) : NULL;
    options.strategy = evaluations == 0 ? TJ_EXHAUSTIVE : TJ_SEARCH;
    options.evaluations = evaluations;
    options.threads = 1;
    options.seconds = -1;
    options.is_warm = 1;
    options.is_cancelled = is_cancelled;
    options.progress = on_progress;
    return options;
}

static void set_table(const row *row, size_t rows)
{
    cr_assert(rows <= MAX_ROWS);
    memcpy(stage.row, row, rows * sizeof *row);
    stage.rows = rows;
}

#define SET_TABLE(...)                                  \
    do {                                                \
        const row rows_[] = {__VA_ARGS__};              \
        set_table(rows_, sizeof rows_ / sizeof *rows_); \
    } while (0)

static tj_status tune(tj_context *context, const char *family, int64_t evaluations, tj_tune_result *result)
{
    const tj_tune_options options = options_of(family, evaluations);

    stage.looks = stage.checks = stage.rounds = stage.standard_rounds = 0;
    stage.most_between = 0;
    return tj_tune(context, &problem, &options, result, &err);
}

/* One that must succeed. */
static tj_tune_result tuned(tj_context *context, const char *family, int64_t evaluations)
{
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    cr_assert(eq(int, tune(context, family, evaluations, &result), TJ_OK), "%s", err.message);
    return result;
}

static bool is_config(const tj_config *config, const char *text)
{
    const tj_config a = resolved(*config), b = named(text);

    return is_same(&a, &b);
}

static bool is_text(const char *written, const char *text)
{
    const tj_config a = named(written), b = named(text);

    return is_same(&a, &b);
}

static bool is_near(double value, double wanted)
{
    return value > 0.999999 * wanted && value < 1.000001 * wanted;
}

/* The only record of the store; *records is the caller's. */
static const tj_record *only_record(tj_context *context, tj_records **records)
{
    *records = tj_records_create();
    cr_assert(eq(int, tj_records_load(context, *records, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(sz, tj_records_count(*records), 1));
    return tj_records_at(*records, 0);
}

/* ---- who wins ----------------------------------------------------------------------------------------------------- */

/* The fastest of the first test is found to be wrong only when more rows of its product are looked at. */
Test(known_times, a_winner_that_fails_the_last_check_gives_way)
{
    tj_context *context = open_context();
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    tj_records *records;

    SET_TABLE({"naive:tile_width=8", 40, 40, WRONG_AT_LAST}, {"naive:tile_width=4", 41, 42}, {"naive:tile_width=16", 41.1, 43});
    result = tuned(context, "naive", 0);
    cr_expect(is_config(&result.config, "naive:tile_width=4"));
    cr_expect(is_config(&result.second, "naive:tile_width=16"), "nor is it the second");
    cr_expect(eq(i64, result.wrong, 1));
    cr_expect(is_near(result.us, 42) && is_near(result.second_us, 43));
    cr_expect(is_text(only_record(context, &records)->config, "naive:tile_width=4"));
    tj_records_free(records);
    tj_context_free(context);
}

Test(known_times, a_winner_that_fails_its_proof_gives_way_and_is_remembered)
{
    tj_context *context = open_context();
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    tj_config failed = TJ_CONFIG_INIT;
    const tj_plan *plan;

    SET_TABLE({"naive:tile_width=8", 40, 40, WRONG_IN_PROOF}, {"naive:tile_width=4", 41, 42},
              {"naive:tile_width=16", 41.1, 43});
    cr_assert(eq(int, tune(context, "naive", 0, &result), TJ_OK), "%s", err.message);
    cr_expect(is_config(&result.config, "naive:tile_width=4"));
    cr_expect(eq(i64, result.wrong, 1));
    cr_expect(eq(i64, stage.proofs, 2));
    cr_assert(eq(int, tj_config_parse("naive:tile_width=8", &failed, &err), TJ_OK));
    cr_expect(eq(int, tj_plan_prepare(context, &problem, &failed, &plan, &err), TJ_ERR_CHECK_FAILED),
              "nobody launches it again");
    tj_context_free(context);
}

Test(known_times, no_config_that_passes_the_last_check_is_an_error)
{
    tj_context *context = open_context();
    tj_tune_result result = TJ_TUNE_RESULT_INIT, none;

    memset(&none, 0, sizeof none);
    none.struct_size = sizeof none;
    stage.other.fault = WRONG_AT_LAST;
    cr_expect(eq(int, tune(context, "naive", 0, &result), TJ_ERR_CHECK_FAILED));
    cr_expect(memcmp(&result, &none, sizeof none) == 0);
    tj_context_free(context);
}

/* The reference costs more than all else: the first product pays for it, and the winner's ten times. */
Test(known_times, the_first_and_the_winner_meet_the_reference)
{
    tj_context *context = open_context();
    tj_tune_options options = options_of("naive", 0);
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    SET_TABLE({"naive:tile_width=8", 40, 40}, {"naive:tile_width=4", 39, 41});
    options.check_flop = 1000;
    cr_assert(eq(int, tj_tune(context, &problem, &options, &result, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(dbl, stage.first_flop, 1000));
    cr_expect(eq(dbl, stage.most_between, 0));
    cr_expect(eq(dbl, stage.last_flop, 10000));
    cr_expect(eq(i64, result.check_elements, 77));
    cr_expect(eq(dbl, result.check_ratio, 0.25));
    tj_context_free(context);
}

/* ---- what is kept ------------------------------------------------------------------------------------------------- */

/* The config that the library takes where none is named. */
static bool is_planned(tj_context *context, const char *text)
{
    const tj_plan *plan;

    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    return is_config(tj_source_config(tj_plan_source(plan)), text);
}

/* The finals' times count, not those of one look, by which another would have won. */
Test(known_times, the_winner_of_the_finals_is_recorded_and_used)
{
    tj_context *context = open_context();
    const tj_record *record;
    tj_records *records;
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    tj_config standard;

    SET_TABLE({"naive:tile_width=8", 40, 44}, {"naive:tile_width=4", 41, 42});
    cr_expect(is_planned(context, "naive:tile_width=4") == false, "the plan is there, and must be replaced");
    result = tuned(context, "naive", 0);
    standard = resolved(result.default_config);
    cr_expect(is_config(&result.config, "naive:tile_width=4") && is_config(&result.second, "naive:tile_width=8"));
    cr_expect(row_of(&standard) == &stage.other);
    cr_expect(is_near(result.us, 42) && is_near(result.warm_us, 21) && is_near(result.second_us, 44), "%g %g %g", result.us,
              result.warm_us, result.second_us);
    cr_expect(is_near(result.default_us, 90) && is_near(result.before_us, 90), "nothing was recorded before");
    cr_expect(is_planned(context, "naive:tile_width=4"), "in this context");
    tj_context_get_stats(context, &stats);
    cr_expect(eq(u64, stats.compiles, 2),
              "the plan that was replaced, and the simple kernel of the proof: the winner's comes from the tuning");
    record = only_record(context, &records);
    cr_expect(is_text(record->config, "naive:tile_width=4") && is_text(record->second_config, "naive:tile_width=8"));
    {
        const tj_config recorded = named(record->default_config);

        cr_expect(is_same(&recorded, &standard));
    }
    cr_expect(is_near(record->us, 42) && is_near(record->warm_us, 21));
    cr_expect(is_near(record->default_us, 90) && is_near(record->second_us, 44));
    tj_records_free(records);
    tj_context_free(context);
}

/* The recorded config is slower by now: it is replaced, and its time reported. */
Test(known_times, a_faster_config_takes_the_place_of_the_recorded_one)
{
    tj_context *context = open_context();
    tj_tune_result first = TJ_TUNE_RESULT_INIT, second = TJ_TUNE_RESULT_INIT;
    const tj_record *record;
    tj_records *records;

    SET_TABLE({"naive:tile_width=8", 40, 40});
    first = tuned(context, "naive", 0);
    cr_expect(is_config(&first.config, "naive:tile_width=8"));
    SET_TABLE({"naive:tile_width=8", 60, 60}, {"naive:tile_width=4", 41, 42}, {"naive:tile_width=16", 30, 30, WRONG},
              {"naive:tile_width=32", .state = TJ_TRIAL_SLOW, .look_us = 500});
    second = tuned(context, "naive", 0);
    cr_expect(is_config(&second.config, "naive:tile_width=4"));
    cr_expect(is_near(second.us, 42) && is_near(second.before_us, 60) && is_near(second.default_us, 90), "%g %g %g", second.us,
              second.before_us, second.default_us);
    cr_expect(eq(i64, second.wrong, 1));
    cr_expect(eq(i64, second.slow, 1));
    cr_expect(eq(i64, second.refused, 0));
    cr_expect(is_planned(context, "naive:tile_width=4"));
    record = only_record(context, &records);
    cr_expect(is_text(record->config, "naive:tile_width=4"));
    cr_expect(eq(i64, record->evaluations, first.evaluations + second.evaluations));
    tj_records_free(records);
    tj_context_free(context);
}

/* A search stopped before it came to what is recorded cannot say that it found anything better. */
Test(known_times, a_record_whose_config_was_not_tried_stays)
{
    tj_context *context = open_context();
    tj_tune_result first = TJ_TUNE_RESULT_INIT, second = TJ_TUNE_RESULT_INIT;
    const tj_record *record;
    tj_records *records;

    SET_TABLE({"naive:tile_width=8", 40, 40});
    first = tuned(context, "naive", 0);
    second = tuned(context, "naive", 1);
    cr_expect(eq(i64, second.evaluations, 1));
    cr_expect(eq(int, second.has_record, 0));
    cr_expect(is_near(second.us, 90) && is_near(second.before_us, 90));
    record = only_record(context, &records);
    cr_expect(is_text(record->config, "naive:tile_width=8"));
    cr_expect(eq(i64, record->evaluations, first.evaluations));
    cr_expect(is_planned(context, "naive:tile_width=8"));
    tj_records_free(records);
    tj_context_free(context);
}

/* ---- what was recorded -------------------------------------------------------------------------------------------- */

/* One look is not enough to drop what an earlier tuning chose with many; and of two that are as fast it stays. */
Test(known_times, the_recorded_config_is_in_the_finals_whatever_one_look_says)
{
    tj_context *context = open_context();
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    SET_TABLE({"naive:tile_width=8", 40, 40});
    (void)tuned(context, "naive", 0);
    stage.other.look_us = 45; /* comes first: by this look the recorded one is never worth a check */
    SET_TABLE({"naive:tile_width=8", 50, 40.1}, {"naive:tile_width=4", 40, 40});
    result = tuned(context, "naive", 0);
    cr_expect(is_config(&result.config, "naive:tile_width=8"));
    cr_expect(is_near(result.before_us, 40.1) && is_near(result.us, 40.1), "%g %g", result.before_us, result.us);
    cr_expect(eq(i64, result.wrong, 0));
    tj_context_free(context);
}

Test(known_times, a_recorded_config_that_is_wrong_by_now_is_out)
{
    tj_context *context = open_context();
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    SET_TABLE({"naive:tile_width=8", 40, 40});
    (void)tuned(context, "naive", 0);
    stage.other.look_us = 45;
    SET_TABLE({"naive:tile_width=8", 50, 30, WRONG}, {"naive:tile_width=4", 40, 40});
    result = tuned(context, "naive", 0);
    cr_expect(is_config(&result.config, "naive:tile_width=4"));
    cr_expect(eq(i64, result.wrong, 1));
    cr_expect(is_near(result.before_us, 90), "%g", result.before_us);
    tj_context_free(context);
}

/* The config for a product of about this size is tried before the search begins. */
Test(known_times, the_config_of_a_similar_record_is_tried)
{
    static const char unusual[] = "tiled:tile_width=32,shared=dynamic";
    const tj_problem near = f32(22, 10, 12);
    tj_context *context = open_context();
    tj_tune_options options = options_of(NULL, 3);
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    tj_config standard;

    SET_TABLE({unusual, 40, 40});
    result = tuned(context, "tiled", 0);
    cr_expect(is_config(&result.config, unusual));
    stage.looks = 0;
    cr_assert(eq(int, tj_tune(context, &near, &options, &result, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(i64, stage.looks, 3));
    cr_expect(was_tried(unusual));
    cr_expect(is_config(&result.config, unusual));
    /* Yet it is compared with what the library would do without any record. */
    cr_assert(eq(int, tj_device_current(context, &device, &err), TJ_OK));
    cr_assert(eq(int, tj_choose(NULL, &near, &device, &standard, NULL, &err), TJ_OK));
    cr_expect(eq(ptr, (void *)result.default_config.family, (void *)standard.family));
    cr_expect(is_near(result.default_us, 90));
    tj_context_free(context);
}

/* ---- what the record says of the search --------------------------------------------------------------------------- */

static void expect_search(tj_context *context, const char *family, int is_complete, int64_t evaluations)
{
    tj_records *records;
    const tj_record *record = only_record(context, &records);

    cr_expect(eq(str, (char *)record->family, (char *)family));
    cr_expect(eq(int, record->is_complete, is_complete));
    cr_expect(eq(i64, record->evaluations, evaluations));
    tj_records_free(records);
}

Test(known_times, searches_of_two_families_are_of_several_and_not_complete)
{
    tj_context *context = open_context();
    int64_t evaluations = tuned(context, "tiled", 3).evaluations;

    expect_search(context, "tiled", 0, evaluations);
    evaluations += tuned(context, "naive", 0).evaluations;
    expect_search(context, "several", 0, evaluations);
    evaluations += tuned(context, NULL, 2).evaluations;
    expect_search(context, "", 0, evaluations); /* of all now */
    tj_context_free(context);
}

Test(known_times, all_of_one_family_does_not_complete_a_search_of_all)
{
    tj_context *context = open_context();
    int64_t evaluations = tuned(context, NULL, 2).evaluations;

    evaluations += tuned(context, "naive", 0).evaluations;
    expect_search(context, "", 0, evaluations);
    tj_context_free(context);
}

Test(known_times, a_complete_search_of_a_family_stays_complete)
{
    tj_context *context = open_context();
    int64_t evaluations = tuned(context, "naive", 0).evaluations;

    expect_search(context, "naive", 1, evaluations);
    evaluations += tuned(context, "naive", 1).evaluations; /* the library's own choice, which is what was recorded */
    expect_search(context, "naive", 1, evaluations);
    tj_context_free(context);
}

static void expect_policy(tj_context *context, const char *policy)
{
    tj_records *records;
    char *json = tj_record_print(only_record(context, &records)), wanted[64];

    snprintf(wanted, sizeof wanted, "\"policy\": \"%s\"", policy);
    cr_expect(strstr(json, wanted) != NULL, "%s in %s", wanted, json);
    free(json);
    tj_records_free(records);
}

Test(known_times, the_record_tells_how_operands_lay)
{
    tj_context *context = open_context();
    tj_tune_options options = options_of("naive", 1);
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4096);
    (void)tuned(context, "naive", 1);
    expect_policy(context, "warm");
    options.is_warm = 0;
    cr_assert(eq(int, tj_tune(context, &problem, &options, &result, &err), TJ_OK), "%s", err.message);
    expect_policy(context, "cold");
    tj_context_free(context);
}

/* ---- how it ends -------------------------------------------------------------------------------------------------- */

Test(known_times, cancelled_in_the_finals_it_ends_after_a_few_turns)
{
    tj_context *context = open_context();
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    tj_records *records;

    SET_TABLE({"naive:tile_width=8", 40, 44}, {"naive:tile_width=4", 41, 42});
    result = tuned(context, "naive", 0);
    cr_expect(stage.standard_rounds > 10, "%d rounds where there is time", (int)stage.standard_rounds);
    stage.is_to_cancel_finals = true;
    result = tuned(context, "naive", 0);
    cr_expect(eq(i64, stage.standard_rounds, 3));
    cr_expect(is_config(&result.config, "naive:tile_width=4"), "three rounds are enough to tell");
    cr_expect(eq(int, result.was_cancelled, 1));
    cr_expect(eq(int, only_record(context, &records)->was_cancelled, 1));
    tj_records_free(records);
    tj_context_free(context);
}

/* Another process on the device lengthens some rounds: the result says so. */
Test(known_times, rounds_of_different_lengths_are_noise)
{
    tj_context *context = open_context();
    tj_tune_result result;

    SET_TABLE({"naive:tile_width=8", 40, 44}, {"naive:tile_width=4", 41, 42});
    result = tuned(context, "naive", 0);
    cr_expect(eq(dbl, result.noise, 0));
    stage.wobble = 1.5;
    result = tuned(context, "naive", 0);
    cr_expect(result.noise > TJ_TUNE_NOISE, "%g", result.noise);
    tj_context_free(context);
}

/* ---- budgets ------------------------------------------------------------------------------------------------------ */

/* A search without an end, with that many seconds; the clock begins at 1000. */
static tj_tune_result tuned_for(tj_context *context, double seconds)
{
    tj_tune_options options = options_of(NULL, 100000);
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    options.seconds = seconds;
    options.check_flop = 1000;
    stage.looks = stage.checks = stage.rounds = stage.standard_rounds = 0;
    stage.now = 1000;
    cr_assert(eq(int, tj_tune(context, &problem, &options, &result, &err), TJ_OK), "%s", err.message);
    return result;
}

/* Whatever takes long: a compile, a round or a check. One of each may be under way when the time is over. */
Test(known_times, all_of_it_ends_within_the_budget)
{
    static const struct {
        double compile_s, round_s, check_s;
    } rows[] = {{1, 0.01, 0.1}, {1, 1, 1},  {0.5, 4, 1}, {0.5, 30, 1}, {30, 1, 1},
                {1, 1, 8},      {45, 1, 1}, {1, 1, 60},  {2, 0.5, 3}};
    tj_context *context = open_context();

    SET_TABLE({"naive:tile_width=8", 40, 44}, {"naive:tile_width=4", 41, 42});
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_tune_result result = TJ_TUNE_RESULT_INIT;

        stage.compile_s = rows[i].compile_s;
        stage.round_s = rows[i].round_s;
        stage.check_s = rows[i].check_s;
        result = tuned_for(context, 40);
        cr_expect(stage.now <= 1040 + fmax(rows[i].round_s, rows[i].compile_s + rows[i].check_s), "row %zu: %g of 40 s", i,
                  stage.now - 1000);
        cr_expect(result.evaluations >= 1 && result.us > 0 && result.check_elements > 0, "row %zu", i);
        cr_expect(is_near(result.seconds, stage.now - 1000), "row %zu", i);
    }
    tj_context_free(context);
}

static double told_budget;

static void on_budget(const tj_tune_progress *progress, void *payload)
{
    (void)payload;
    told_budget = progress->budget;
}

/* However long the search would go on, there are rounds for its best; and progress covers the whole. */
Test(known_times, a_quarter_of_the_budget_is_the_finals)
{
    tj_context *context = open_context();
    tj_tune_options options = options_of(NULL, 100000);
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    SET_TABLE({"naive:tile_width=8", 40, 44}, {"naive:tile_width=4", 41, 42});
    stage.compile_s = 0.25;
    stage.round_s = 0.0625;
    options.seconds = 24; /* 18, and 6 */
    options.progress = on_budget;
    cr_assert(eq(int, tj_tune(context, &problem, &options, &result, &err), TJ_OK), "%s", err.message);
    /* A compile that another thread began is over or not when the search ends: one more evaluation, or its time for the finals. */
    cr_expect(result.evaluations == 18 * 4 || result.evaluations == 18 * 4 - 1, "%d evaluations", (int)result.evaluations);
    cr_expect(eq(i64, stage.rounds + 4 * result.evaluations, 24 * 16), "%d rounds", (int)stage.rounds);
    cr_expect(eq(dbl, told_budget, 24));
    cr_expect(is_config(&result.config, "naive:tile_width=4"));
    tj_context_free(context);
}

/* A round that is cut short compared only some: then one look each is what is known. */
Test(known_times, without_time_for_a_whole_turn_the_looks_decide)
{
    tj_context *context = open_context();
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    tj_records *records;

    SET_TABLE({"naive:tile_width=8", 40, 44}, {"naive:tile_width=4", 41, 42});
    stage.compile_s = 0.25;
    stage.round_s = 9; /* of 10 that there are */
    result = tuned_for(context, 40);
    cr_expect(stage.rounds < 3, "%d rounds", (int)stage.rounds);
    cr_expect(is_config(&result.config, "naive:tile_width=8"));
    cr_expect(is_near(result.us, 40) && is_near(result.default_us, 100), "%g %g", result.us, result.default_us);
    cr_expect(is_near(only_record(context, &records)->us, 40));
    tj_records_free(records);
    tj_context_free(context);
}

/* The library's own choice, however short the budget; without time for a second check the first one speaks for it. */
Test(known_times, the_first_config_is_tried_and_checked_whatever_the_budget)
{
    tj_context *context = open_context();
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    stage.compile_s = 100;
    result = tuned_for(context, 1);
    cr_expect(eq(i64, result.evaluations, 1));
    cr_expect(eq(i64, stage.rounds, 0));
    cr_expect(eq(i64, stage.checks, 1));
    cr_expect(eq(i64, result.check_elements, 7));
    cr_expect(eq(dbl, result.check_ratio, 0.125));
    cr_expect(eq(dbl, result.warm_us, 0));
    cr_expect(eq(int, result.has_record, 1));
    tj_context_free(context);
}

/* The last check takes what the rounds leave: all of it, or as much as there is time for. */
Test(known_times, the_last_check_fits_the_rest_of_the_budget)
{
    tj_context *context = open_context();
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    stage.compile_s = 1;
    stage.round_s = 0.125;
    stage.check_s = 0.25; /* ten times that is 2.5 of the 10 for the finals */
    result = tuned_for(context, 40);
    cr_expect(eq(dbl, stage.last_flop, 10000));
    cr_expect(eq(i64, result.check_elements, 77));
    stage.check_s = 4;
    result = tuned_for(context, 40);
    cr_expect(stage.last_flop > 500 && stage.last_flop < 3000, "%g", stage.last_flop);
    cr_expect(eq(i64, result.check_elements, 77));
    tj_context_free(context);
}

/* Tried too late for a check, the config of a record may still be the better one: its record stays. */
Test(known_times, a_record_whose_config_there_was_no_time_to_check_stays)
{
    tj_context *context = open_context();
    tj_tune_result first = TJ_TUNE_RESULT_INIT, second = TJ_TUNE_RESULT_INIT;
    const tj_record *record;
    tj_records *records;

    SET_TABLE({"naive:tile_width=8", 40, 40});
    first = tuned(context, "naive", 0);
    stage.compile_s = 21; /* the default, the recorded one, and all is over */
    second = tuned_for(context, 40);
    cr_expect(was_tried("naive:tile_width=8"));
    cr_expect(eq(i64, second.evaluations, 2));
    cr_expect(eq(int, second.has_record, 0));
    record = only_record(context, &records);
    cr_expect(is_text(record->config, "naive:tile_width=8"));
    cr_expect(eq(i64, record->evaluations, first.evaluations));
    tj_records_free(records);
    tj_context_free(context);
}

static void expect_failure(tj_status wanted)
{
    tj_context *context = open_context();
    tj_records *records = tj_records_create();
    tj_tune_result result = TJ_TUNE_RESULT_INIT, none;

    memset(&none, 0, sizeof none);
    none.struct_size = sizeof none;
    cr_expect(eq(int, tune(context, "naive", 0, &result), wanted));
    cr_expect(memcmp(&result, &none, sizeof none) == 0);
    cr_expect(le(i64, stage.looks, 2), "nothing is tried afterwards");
    cr_expect(eq(i64, stage.rounds, 0));
    cr_expect(eq(int, tj_records_load(context, records, &err), TJ_OK));
    cr_expect(eq(sz, tj_records_count(records), 0));
    tj_records_free(records);
    tj_context_free(context);
}

/* The safe default comes second. */
Test(known_times, a_lost_device_ends_it)
{
    SET_TABLE({"tiled", .look = TJ_ERR_DEVICE_LOST});
    expect_failure(TJ_ERR_DEVICE_LOST);
}

Test(known_times, a_device_that_is_lost_in_a_load_ends_it)
{
    fake.fake_fail("cuLibraryLoadData", 2, CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_failure(TJ_ERR_DEVICE_LOST);
    cr_expect(fake.fake_calls_after_death() < 10);
}

/* Errors that no other config would mend. */
Test(known_times, trouble_of_the_compiler_itself_ends_it)
{
    static const tj_status fatal[] = {TJ_ERR_NO_COMPILER, TJ_ERR_NO_DRIVER, TJ_ERR_DEVICE_LOST, TJ_ERR_FORKED};

    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++) {
        SET_TABLE({"tiled", .compile = fatal[i]});
        expect_failure(fatal[i]);
        cr_expect(eq(str, err.message, "the table says so"));
    }
}

Test(known_times, without_memory_for_the_first_config_there_is_nothing_to_compare_with)
{
    stage.other.compile = TJ_ERR_OUT_OF_MEMORY;
    expect_failure(TJ_ERR_OUT_OF_MEMORY);
}

/* With more memory it may be the best: all of the space was not tried, although each config was tried. */
Test(known_times, without_memory_for_a_later_config_the_search_is_not_complete)
{
    tj_context *context = open_context();
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    SET_TABLE({"naive:tile_width=8", 40, 40}, {"naive:tile_width=4", .compile = TJ_ERR_OUT_OF_MEMORY});
    result = tuned(context, "naive", 0);
    cr_expect(is_config(&result.config, "naive:tile_width=8"));
    cr_expect(eq(i64, result.refused, 1));
    cr_expect(eq(int, result.is_complete, 0));
    SET_TABLE({"naive:tile_width=8", 40, 40}, {"naive:tile_width=4", .compile = TJ_ERR_COMPILE});
    result = tuned(context, "naive", 0);
    cr_expect(eq(i64, result.refused, 1));
    cr_expect(eq(int, result.is_complete, 1), "it will never compile");
    tj_context_free(context);
}

/* The configs tried first are written otherwise than in the space: the library's choice, and the config of a record. */
Test(known_times, no_kernel_is_tried_under_two_names)
{
    static const char *const families[] = {"naive", "tiled", "simt", "skinny", "small_batch", NULL};
    tj_context *context = open_context();
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    for (int f = 0; f < 6; f++)
        for (int round = 0; round < 2; round++) { /* the second time what the first recorded is tried first */
            (void)tuned(context, families[f], f < 2 ? 0 : 40);
            for (int64_t i = 0; i < stage.looks; i++)
                for (int64_t k = 0; k < i; k++)
                    cr_expect(is_same(&stage.looked[i], &stage.looked[k]) == false, "%s: trials %d and %d are one kernel",
                              families[f] ? families[f] : "all", (int)k, (int)i);
        }
    SET_TABLE({"naive:tile_width=8", 40, 40}, {"naive:tile_width=4", 41, 42});
    (void)tuned(context, "naive", 0);
    result = tuned(context, "naive", 0);
    cr_expect(is_config(&result.second, "naive:tile_width=4"), "the second is another kernel");
    tj_context_free(context);
}
