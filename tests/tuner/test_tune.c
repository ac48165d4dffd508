/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * tj_tune on a GPU that is the emulator in disguise (fake_gpu): what is kept, who uses it, and how it ends. Every launch takes as
 * long as every other. Then on the emulator itself, where nothing is kept.
 */
#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "context.h"
#include "pool.h"
#include "record.h"
#include "tuner_test.h"

static char folder[] = "/tmp/tilejit-tune-XXXXXX";
static tj_error err;

static void make_folder(void)
{
    cr_assert(mkdtemp(folder) != NULL, "%s", strerror(errno));
    setenv("TILEJIT_EMULATOR", EMULATOR_PATH, 1);
    setenv("CUDA_EMULATOR_LOG", "0", 1);
}

static void remove_folder(void)
{
    char command[64];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_expect(system(command) == 0);
}

static int declined; /* log lines that say that nothing is tuned */

static void on_line(tj_log_level level, const char *line, void *payload)
{
    (void)level, (void)payload;
    declined += strstr(line, "nothing is tuned in the background") != NULL;
}

TestSuite(tune, .init = make_folder, .fini = remove_folder, .timeout = 280);

static tj_context *open_with(const char *driver, const char *cache_dir, int background_s)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;
    char target[16];

    options.cache_dir = cache_dir;
    options.driver = driver;
    options.background_tuning_s = background_s;
    options.log_level = TJ_LOG_WARNING;
    options.log = on_line;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    if (tj_target_for(context, 9, 0, target, &err) != TJ_OK)
        cr_skip_test("no NVRTC here: %s", err.message);
    return context;
}

static tj_context *open_context(const char *cache_dir)
{
    return open_with(FAKE_GPU_PATH, cache_dir, 0);
}

/* Ends by itself, and lets every trial pass by. */
typedef struct watch {
    int64_t trials, cancel_after, verified;
    bool was_final;
    const tj_problem *problem; /* NULL: what is tried may come twice */
    tj_config tried[64];
} watch;

/* However its config is written. */
static void expect_new_kernel(watch *w, const tj_config *config)
{
    tj_config *one = &w->tried[w->trials % 64];

    *one = *config;
    cr_assert(eq(int, tj_config_resolve(w->problem, one, &err), TJ_OK), "%s", err.message);
    for (int64_t i = 0; i < w->trials && i < 64; i++)
        cr_expect(memcmp(&w->tried[i], one, sizeof *one) != 0, "trials %d and %d are one kernel", (int)i, (int)w->trials);
}

static void on_progress(const tj_tune_progress *progress, void *payload)
{
    watch *w = payload;

    if (progress->trial && w->problem)
        expect_new_kernel(w, &progress->trial->config);
    if (progress->trial) {
        w->trials++;
        w->verified += progress->trial->is_verified;
        cr_expect(eq(i64, progress->evaluations, w->trials));
    } else {
        w->was_final = true;
    }
}

static int is_cancelled(void *payload)
{
    const watch *w = payload;

    return w->cancel_after > 0 && w->trials >= w->cancel_after;
}

static tj_tune_options options_of(watch *w, int64_t evaluations)
{
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;

    options.evaluations = evaluations;
    options.threads = 2;
    options.seconds = -1;
    options.seed = 1;
    options.progress = on_progress;
    options.is_cancelled = is_cancelled;
    options.payload = w;
    return options;
}

/* A tuning that must succeed, watched from the start. */
static tj_tune_result tuned(tj_context *context, const tj_problem *problem, const tj_tune_options *options)
{
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    ((watch *)options->payload)->trials = 0;
    cr_assert(eq(int, tj_tune(context, problem, options, &result, &err), TJ_OK), "%s", err.message);
    return result;
}

/* The config that the library takes where none is named. */
static tj_config planned(tj_context *context, const tj_problem *problem)
{
    const tj_plan *plan;

    cr_assert(eq(int, tj_plan_prepare(context, problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    return *tj_source_config(tj_plan_source(plan));
}

static tj_config settled(const tj_problem *problem, tj_config config)
{
    cr_assert(eq(int, tj_config_resolve(problem, &config, &err), TJ_OK), "%s", err.message);
    return config;
}

static int64_t compiles(tj_context *context)
{
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;

    tj_context_get_stats(context, &stats);
    return (int64_t)stats.compiles;
}

/* The only record of the store. Owned: the caller's. */
static tj_records *only_record(tj_context *context, tj_record_facts *facts)
{
    tj_records *records = tj_records_create();

    cr_assert(eq(int, tj_records_load(context, records, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(sz, tj_records_count(records), 1));
    cr_assert(eq(int, tj_record_get_facts(tj_records_at(records, 0), facts, &err), TJ_OK));
    return records;
}

Test(tune, keeps_a_record_that_plans_use_from_then_on)
{
    const tj_problem problem = f32(40, 24, 36);
    tj_context *context = open_context(folder), *later;
    watch w = {0};
    tj_tune_options options = options_of(&w, 12);
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    tj_config winner, second;

    (void)planned(context, &problem); /* is there already, and must be replaced */
    w.problem = &problem;
    options.family = tj_family_find("naive"); /* the default of another family is tried, too */
    cr_assert(eq(int, tj_tune(context, &problem, &options, &result, &err), TJ_OK), "%s", err.message);
    cr_expect(result.evaluations == w.trials && w.trials >= 4 && w.trials <= 12, "%d trials", (int)w.trials);
    cr_expect(w.was_final && w.verified > 0);
    cr_expect(eq(int, result.has_record, 1));
    cr_expect(result.us > 0 && result.default_us > 0 && result.us <= result.default_us);
    cr_expect(result.check_elements == 40 * 36 && result.check_ratio < 1);
    winner = settled(&problem, result.config);
    second = settled(&problem, result.second);
    cr_expect(memcmp(&second, &winner, sizeof winner) != 0, "the second is another kernel");
    {
        const tj_config used = planned(context, &problem);
        cr_expect(memcmp(&used, &winner, sizeof used) == 0, "in this context");
    }
    later = open_context(folder);
    {
        const tj_config used = planned(later, &problem);
        cr_expect(memcmp(&used, &winner, sizeof used) == 0, "in one that opens the store afterwards");
    }
    tj_context_free(later);
    tj_context_free(context);
}

Test(tune, goes_on_from_the_record_that_is_there)
{
    const tj_problem problem = f32(40, 24, 36);
    tj_context *context = open_context(folder);
    watch w = {0};
    tj_tune_options options = options_of(&w, 6);
    tj_tune_result first = TJ_TUNE_RESULT_INIT, second = TJ_TUNE_RESULT_INIT;
    tj_records *records;
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;

    options.family = tj_family_find("tiled");
    first = tuned(context, &problem, &options);
    cr_expect(eq(dbl, first.before_us, first.default_us));
    options.evaluations = 3; /* fewer than the first, and still the better founded */
    second = tuned(context, &problem, &options);
    records = only_record(context, &facts);
    cr_expect(eq(i64, facts.evaluations, first.evaluations + second.evaluations));
    cr_expect(eq(int, facts.was_cancelled, 0));
    cr_expect(second.evaluations < first.evaluations);
    tj_records_free(records);
    tj_context_free(context);
    context = open_context(folder);
    (void)planned(context, &problem);
    cr_expect(eq(i64, compiles(context), 0), "the winner's kernel is in the store");
    tj_context_free(context);
}

Test(tune, tries_all_of_a_small_space_and_says_so)
{
    const tj_problem problem = f32(20, 10, 12);
    tj_context *context = open_context("");
    watch w = {0};
    tj_tune_options options = options_of(&w, 0);
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    tj_space *space;
    tj_config config;
    int64_t all = 0;

    options.strategy = TJ_EXHAUSTIVE;
    options.family = tj_family_find("tiled");
    cr_assert(eq(int, tj_tune(context, &problem, &options, &result, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_space_create(&problem, NULL, options.family, &space, &err), TJ_OK));
    while (tj_space_next(space, &config))
        all++;
    tj_space_free(space);
    cr_expect(eq(int, result.is_complete, 1));
    cr_expect(result.evaluations >= all && result.evaluations <= all + 2, "%d of %d", (int)result.evaluations, (int)all);
    cr_expect(eq(i64, result.refused + result.wrong, 0));
    cr_expect(eq(int, result.has_record, 0), "there is no store");
    tj_context_free(context);
}

static void expect_search(tj_context *context, const char *family, int is_complete)
{
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;
    tj_records *records = only_record(context, &facts);

    cr_expect(eq(str, (char *)facts.family, (char *)family));
    cr_expect(eq(int, facts.is_complete, is_complete), "of \"%s\"", family);
    tj_records_free(records);
}

/* A complete record stands above every other: it must be one of the whole space, or say of which family. */
Test(tune, of_one_family_says_so)
{
    const tj_problem problem = f32(1, 1, 1);
    tj_context *context = open_context(folder);
    watch w = {0};
    tj_tune_options options = options_of(&w, 0);

    options.strategy = TJ_EXHAUSTIVE;
    options.family = tj_family_find("naive");
    (void)tuned(context, &problem, &options);
    expect_search(context, "naive", 1);
    options.strategy = TJ_SEARCH;
    options.evaluations = 1;
    options.family = tj_family_find("tiled");
    (void)tuned(context, &problem, &options);
    expect_search(context, "several", 0); /* all of one and one of another are not all */
    options.strategy = TJ_EXHAUSTIVE;
    options.evaluations = 0;
    options.family = NULL;
    (void)tuned(context, &problem, &options);
    expect_search(context, "", 1);
    options.family = tj_family_find("naive");
    (void)tuned(context, &problem, &options);
    expect_search(context, "", 1); /* still */
    tj_context_free(context);
}

/* However large the search was that found it. */
static void expect_replaced(const char *useless, int64_t evaluations)
{
    const tj_problem problem = f32(20, 10, 12);
    tj_context *context = open_context(folder);
    watch w = {0};
    tj_tune_options options = options_of(&w, 3);
    tj_records *records = tj_records_create();
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;
    tj_record fields;
    tj_config used, winner;

    cr_assert(eq(int, tj_device_current(context, &device, &err), TJ_OK), "%s", err.message);
    memset(&fields, 0, sizeof fields);
    fields.problem = tj_problem_canonical(&problem);
    fields.device = tj_device_kind_of(&device);
    strcpy(fields.config, useless);
    strcpy(fields.strategy, "search");
    strcpy(fields.policy, "cold");
    fields.us = 1;
    fields.evaluations = evaluations;
    fields.is_complete = 1;
    cr_assert(eq(int, tj_records_add(records, tj_record_create(&fields), &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_records_keep(context, records, NULL, &err), TJ_OK), "%s", err.message);
    tj_records_free(records);
    records = only_record(context, &facts);
    cr_expect(eq(str, (char *)facts.config, (char *)useless));
    tj_records_free(records);
    options.family = tj_family_find("tiled");
    result = tuned(context, &problem, &options);
    cr_expect(eq(int, result.has_record, 1));
    records = only_record(context, &facts);
    cr_expect(eq(i64, facts.evaluations, result.evaluations), "a tuning of its own, founded on nothing else");
    cr_expect(eq(int, facts.is_complete, 0));
    used = planned(context, &problem);
    winner = settled(&problem, result.config);
    cr_expect(memcmp(&used, &winner, sizeof used) == 0);
    tj_records_free(records);
    tj_context_free(context);
}

Test(tune, replaces_a_record_that_it_cannot_read)
{
    expect_replaced("warp_specialised:warps=4", 400);
}

Test(tune, replaces_a_record_that_its_family_refuses)
{
    expect_replaced("simt:bm=256,bn=256,bk=16,tm=4,tn=8", 400); /* 2048 threads */
}

Test(tune, replaces_a_record_that_no_problem_admits)
{
    expect_replaced("tiled:tile_width=999999999", TJ_RECORD_MOST_EVALUATIONS);
}

/* The sum of evaluations stays within the limit of a record. */
Test(tune, counts_no_more_evaluations_than_are_read_again)
{
    const tj_problem problem = f32(20, 10, 12);
    tj_context *context = open_context(folder);
    watch w = {0};
    tj_tune_options options = options_of(&w, 3);
    tj_records *records = tj_records_create();
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;
    tj_record fields;

    cr_assert(eq(int, tj_device_current(context, &device, &err), TJ_OK), "%s", err.message);
    memset(&fields, 0, sizeof fields);
    fields.problem = tj_problem_canonical(&problem);
    fields.device = tj_device_kind_of(&device);
    strcpy(fields.config, "naive:tile_width=8");
    strcpy(fields.policy, "cold");
    fields.us = 1e6;
    fields.evaluations = TJ_RECORD_MOST_EVALUATIONS;
    cr_assert(eq(int, tj_records_add(records, tj_record_create(&fields), &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_records_keep(context, records, NULL, &err), TJ_OK), "%s", err.message);
    tj_records_free(records);
    options.family = tj_family_find("naive");
    (void)tuned(context, &problem, &options);
    records = only_record(context, &facts);
    cr_expect(eq(i64, facts.evaluations, TJ_RECORD_MOST_EVALUATIONS));
    cr_expect(facts.us < 1e6, "that of the tuning");
    tj_records_free(records);
    tj_context_free(context);
}

static tj_request small_request(void)
{
    const tj_problem problem = f32(20, 10, 12);
    tj_request request;

    cr_assert(eq(int, tj_request_make(&problem, &request, NULL), TJ_OK));
    return request;
}

static tj_pool *take_pool(tj_context *context, const tj_request *request, int threads)
{
    tj_pool *pool;

    cr_assert(eq(int, tj_pool_take(NULL, &context->host, request, NULL, "sm_90", threads, &pool, &err), TJ_OK), "%s",
              err.message);
    return pool;
}

static int64_t compiles_of(tj_pool *pool)
{
    return (int64_t)atomic_load(&tj_pool_host(pool)->stats.compiles);
}

/* A tuning of many configs forgets them now and then: announced ones must go on compiling. */
Test(tune, forgets_what_was_awaited_and_not_what_was_announced)
{
    static const char *const configs[] = {"naive:tile_width=4", "naive:tile_width=8", "naive:tile_width=16"};
    const tj_request request = small_request();
    tj_context *context = open_context("");
    tj_pool *pool = take_pool(context, &request, 1);
    const tj_candidate *candidate;
    tj_config config[3];

    for (int i = 0; i < 3; i++) {
        cr_assert(eq(int, tj_config_parse(configs[i], &config[i], &err), TJ_OK), "%s", err.message);
        tj_pool_announce(pool, &config[i]);
    }
    candidate = tj_pool_await(pool, &config[1]);
    cr_expect(eq(int, candidate->status, TJ_OK), "%s", candidate->error.message);
    tj_pool_forget(pool);
    for (int i = 0; i < 600 && compiles_of(pool) < 3; i++)
        usleep(100000);
    for (int i = 0; i < 3; i += 2)
        (void)tj_pool_await(pool, &config[i]);
    cr_expect(eq(i64, compiles_of(pool), 3), "the two that nobody asked for");
    tj_pool_forget(pool);
    tj_pool_forget(pool);
    candidate = tj_pool_await(pool, &config[0]);
    cr_expect(candidate->status == TJ_OK && candidate->program.image != NULL, "%s", candidate->error.message);
    cr_expect(eq(i64, compiles_of(pool), 4), "once more");
    tj_pool_leave(pool, NULL);
    tj_context_free(context);
}

/* The search is over: what it had announced would only be waited for. */
Test(tune, compiles_nothing_more_than_is_asked_for_when_the_search_is_over)
{
    static const char *const configs[] = {"naive:tile_width=4", "naive:tile_width=8", "naive:tile_width=16"};
    const tj_request request = small_request();
    tj_context *context = open_context("");
    tj_pool *pool = take_pool(context, &request, 2);
    const tj_candidate *candidate;
    tj_config config[3];

    tj_pool_stop(pool);
    for (int i = 0; i < 3; i++) {
        cr_assert(eq(int, tj_config_parse(configs[i], &config[i], &err), TJ_OK), "%s", err.message);
        tj_pool_announce(pool, &config[i]);
    }
    candidate = tj_pool_await(pool, &config[1]);
    cr_expect(eq(int, candidate->status, TJ_OK), "%s", candidate->error.message);
    cr_expect(eq(i64, compiles_of(pool), 1));
    tj_pool_leave(pool, NULL);
    tj_context_free(context);
}

/* Threads that a tuning leaves idle go on with the next problem. */
Test(tune, compiles_for_the_next_problem_when_it_has_nothing_left)
{
    const tj_problem problem = f32(40, 24, 36), next = f32(48, 32, 20);
    tj_context *context = open_context(folder);
    watch w = {0};
    tj_tune_options options = options_of(&w, 3);
    tj_tune_result result;
    int64_t before;

    options.next = &next;
    (void)tuned(context, &problem, &options);
    cr_assert(context->pools.pool != NULL, "it waits for the next tuning");
    for (int i = 0; i < 600 && compiles_of(context->pools.pool) < 10; i++)
        usleep(100000);
    before = compiles_of(context->pools.pool);
    cr_expect(before >= 10, "%d", (int)before);
    options.next = NULL;
    result = tuned(context, &next, &options);
    cr_expect(eq(i64, result.evaluations, 3));
    cr_expect(compiles_of(context->pools.pool) <= before + 6, "%d, %d before it: it knew what was compiled",
              (int)compiles_of(context->pools.pool), (int)before);
    cr_expect(result.spent.placing > 0 && result.spent.measuring > 0 && result.spent.confirming > 0);
    cr_expect(le(dbl,
                 fabs(result.spent.placing + result.spent.choosing + result.spent.waiting + result.spent.measuring +
                      result.spent.verifying + result.spent.finals + result.spent.confirming - result.seconds),
                 1e-6));
    tj_context_free(context);
}

/* Configs are told apart by their family, too, where their values are the same. */
Test(tune, compiles_each_family_s_kernel)
{
    static const char *const configs[] = {"naive:tile_width=16", "tiled:tile_width=16"};
    const tj_request request = small_request();
    tj_context *context = open_context("");
    tj_pool *pool = take_pool(context, &request, 1);
    const tj_candidate *candidate[2];

    for (int i = 0; i < 2; i++) {
        tj_config config = TJ_CONFIG_INIT;

        cr_assert(eq(int, tj_config_parse(configs[i], &config, &err), TJ_OK), "%s", err.message);
        candidate[i] = tj_pool_await(pool, &config);
        cr_expect(eq(int, candidate[i]->status, TJ_OK), "%s", candidate[i]->error.message);
    }
    cr_expect(eq(i64, compiles_of(pool), 2));
    cr_expect(tj_product_step(tj_source_launch(candidate[0]->program.source))->static_shared_bytes == 0 &&
              tj_product_step(tj_source_launch(candidate[1]->program.source))->static_shared_bytes > 0);
    tj_pool_leave(pool, NULL);
    tj_context_free(context);
}

Test(tune, that_is_cancelled_keeps_what_it_found)
{
    const tj_problem problem = f32(32, 16, 32);
    tj_context *context = open_context(folder);
    watch w = {.cancel_after = 3};
    tj_tune_options options = options_of(&w, 200);
    tj_records *records = tj_records_create();
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    cr_assert(eq(int, tj_tune(context, &problem, &options, &result, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, result.was_cancelled, 1));
    cr_expect(eq(i64, result.evaluations, 3));
    cr_expect(eq(int, result.has_record, 1));
    cr_assert(eq(int, tj_records_load(context, records, &err), TJ_OK));
    cr_assert(eq(sz, tj_records_count(records), 1));
    cr_assert(eq(int, tj_record_get_facts(tj_records_at(records, 0), &facts, &err), TJ_OK));
    cr_expect(eq(int, facts.was_cancelled, 1), "or --resume would pass over it");
    tj_records_free(records);
    tj_context_free(context);
}

static int is_always_cancelled(void *payload)
{
    (void)payload;
    return 1;
}

Test(tune, that_is_cancelled_at_once_has_nothing_to_keep)
{
    const tj_problem problem = f32(32, 16, 32);
    tj_context *context = open_context(folder);
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_tune_result result = TJ_TUNE_RESULT_INIT, none;

    memset(&none, 0, sizeof none);
    none.struct_size = sizeof none;
    options.is_cancelled = is_always_cancelled;
    cr_expect(eq(int, tj_tune(context, &problem, &options, &result, &err), TJ_ERR_CANCELLED));
    cr_expect(memcmp(&result, &none, sizeof none) == 0);
    tj_context_free(context);
}

Test(tune, without_a_record_changes_nothing)
{
    const tj_problem problem = f32(33, 17, 31);
    tj_context *context = open_context(folder);
    watch w = {0};
    tj_tune_options options = options_of(&w, 6);
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    tj_config before = planned(context, &problem), after;

    options.no_record = 1;
    cr_assert(eq(int, tj_tune(context, &problem, &options, &result, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, result.has_record, 0));
    after = planned(context, &problem);
    cr_expect(memcmp(&before, &after, sizeof before) == 0);
    tj_context_free(context);
}

Test(tune, takes_every_kind_of_problem)
{
    tj_problem rows[] = {f32(24, 8, 40), f32(24, 8, 40), f32(24, 8, 40), f32(24, 0, 40), f32(1, 50, 1), f32(24, 8, 40)};
    tj_context *context = open_context("");

    rows[0].m.type = TJ_F64;
    rows[0].m.layout = rows[0].p.layout = TJ_COL_MAJOR;
    rows[0].epilogue.has_alpha = rows[0].epilogue.has_beta = 1;
    rows[1].m.type = TJ_F16;
    rows[1].p.type = TJ_F32;
    rows[1].batch = 3;
    rows[1].n.stride = TJ_BROADCAST;
    rows[2].j.mode = rows[2].k.mode = TJ_DIM_ANY;
    rows[2].n.ld = TJ_ANY;
    rows[5].batch = 7;
    rows[5].epilogue.has_beta = 1;
    rows[5].m.stride = rows[5].c.stride = TJ_POINTERS;
    rows[5].n.stride = rows[5].p.stride = TJ_POINTERS_16;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        watch w = {0};
        tj_tune_options options = options_of(&w, IS_NIGHTLY ? 5 : 3);
        tj_tune_result result = TJ_TUNE_RESULT_INIT;

        cr_expect(eq(int, tj_tune(context, &rows[i], &options, &result, &err), TJ_OK), "row %zu: %s", i, err.message);
        cr_expect(eq(i64, result.wrong, 0), "row %zu", i);
        cr_expect(result.check_elements > 0, "row %zu", i);
    }
    tj_context_free(context);
}

/* A program's allocator (tj_context_options.allocate), whose pieces are buffers of another context on the same device. */
typedef struct pool {
    tj_context *device;
    struct {
        tj_buffer *buffer;
        size_t bytes;
        struct CUstream_st *stream;
    } piece[16];
    int pieces, most, room, wrong; /* most: at once; room: for so many; wrong: that went back otherwise than they were given */
} pool;

static void *take(size_t bytes, struct CUstream_st *stream, void *payload)
{
    pool *p = payload;
    tj_error error;

    if (p->pieces >= p->room || tj_buffer_create_in(p->device, stream, bytes, &p->piece[p->pieces].buffer, &error) != TJ_OK)
        return NULL;
    p->piece[p->pieces].bytes = bytes;
    p->piece[p->pieces].stream = stream;
    p->pieces++;
    p->most = p->pieces > p->most ? p->pieces : p->most;
    return tj_buffer_address(p->piece[p->pieces - 1].buffer);
}

static void give(void *memory, size_t bytes, struct CUstream_st *stream, void *payload)
{
    pool *p = payload;
    int i = 0;

    while (i < p->pieces && tj_buffer_address(p->piece[i].buffer) != memory)
        i++;
    if (i == p->pieces || p->piece[i].bytes != bytes || p->piece[i].stream != stream) {
        p->wrong++;
        return;
    }
    tj_buffer_free(p->piece[i].buffer);
    p->piece[i] = p->piece[--p->pieces];
}

/* Also when it is cancelled, and when the pool is empty halfway. */
Test(tune, gives_the_program_s_memory_back)
{
    const tj_problem problem = f32(20, 10, 12);
    pool own = {.device = open_context(""), .room = 16};
    tj_context_options pooled = TJ_CONTEXT_OPTIONS_INIT;
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    watch w = {0};
    tj_tune_options options = options_of(&w, 3);
    tj_context *context;
    int all;

    pooled.driver = FAKE_GPU_PATH;
    pooled.cache_dir = "";
    pooled.allocate = take;
    pooled.release = give;
    pooled.allocator_payload = &own;
    cr_assert(eq(int, tj_context_create(&pooled, &context, &err), TJ_OK), "%s", err.message);
    options.family = tj_family_find("naive");
    (void)tuned(context, &problem, &options);
    all = own.most;
    cr_expect(all >= 3 && own.pieces == 0, "%d of %d pieces are out", own.pieces, all);
    w.cancel_after = 1;
    cr_expect(eq(int, tuned(context, &problem, &options).was_cancelled, 1));
    cr_expect(eq(int, own.pieces, 0), "after one that is cancelled");
    w.cancel_after = 0;
    for (own.room = 0; own.room < all; own.room++) {
        w.trials = 0;
        if (tj_tune(context, &problem, &options, &result, &err) != TJ_OK)
            cr_expect(err.status == TJ_ERR_DEVICE_MEMORY && strstr(err.message, "option allocate"), "%s", err.message);
        else
            cr_expect(own.room >= 3, "M, N and P must have been somewhere"); /* a proof may lack memory */
        cr_expect(eq(int, own.pieces, 0), "after one with room for %d", own.room);
    }
    cr_expect(eq(int, own.wrong, 0));
    tj_context_free(context);
    tj_context_free(own.device);
}

Test(tune, refuses_in_words)
{
    tj_problem problem = f32(0, 16, 32);
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    const size_t smaller = sizeof smaller - 1; /* all there is of a struct: nothing beyond it may be read */
    tj_context *context = open_context("");
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    cr_expect(eq(int, tj_tune(context, &problem, NULL, &result, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "j is 0") != NULL, "%s", err.message);
    cr_expect(eq(int, tj_tune(context, &problem, (const tj_tune_options *)&smaller, &result, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "struct_size is 7") != NULL, "%s", err.message);
    tj_context_free(context);
    options.driver = "/nonexistent/libcuda.so";
    options.cache_dir = "";
    problem = f32(16, 16, 16);
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK));
    cr_expect(eq(int, tj_tune(context, &problem, NULL, &result, &err), TJ_ERR_NO_DRIVER));
    cr_expect(strlen(err.message) > 20, "%s", err.message);
    tj_context_free(context);
}

/* ---- on the emulator ---------------------------------------------------------------------------------------------- */

static void expect_no_record(tj_context *context)
{
    tj_records *records = tj_records_create();

    cr_assert(eq(int, tj_records_load(context, records, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(sz, tj_records_count(records), 0));
    tj_records_free(records);
}

/* Configs are compiled, launched and checked; their times choose nothing, now or later. */
Test(tune, keeps_nothing_of_the_emulator_s_times)
{
    const tj_problem problem = f32(20, 10, 12);
    tj_context *context = open_with("emulator", folder, 0);
    watch w = {0};
    tj_tune_options options = options_of(&w, 6);
    const tj_config before = planned(context, &problem);
    tj_tune_result result = tuned(context, &problem, &options);
    tj_config after = planned(context, &problem);

    cr_expect(eq(int, result.is_emulated, 1));
    cr_expect(eq(int, result.has_record, 0));
    cr_expect(result.evaluations == 6 && w.verified == 6 && result.check_elements == 20 * 12);
    cr_expect(memcmp(&before, &after, sizeof before) == 0);
    expect_no_record(context);
    tj_context_free(context);
    context = open_context(folder);
    result = tuned(context, &problem, &options);
    cr_expect(eq(int, result.is_emulated, 0), "the same on a GPU");
    cr_expect(eq(int, result.has_record, 1));
    tj_context_free(context);
}

Test(tune, does_nothing_in_the_background_of_the_emulator)
{
    const tj_problem problems[] = {f32(20, 10, 12), f32(20, 10, 13)};
    tj_context *context = open_with("emulator", folder, 1);

    for (size_t i = 0; i < 2; i++) {
        const int64_t own = compiles(context);

        (void)planned(context, &problems[i]);
        cr_expect(eq(i64, compiles(context), own + 1));
    }
    tj_context_free(context); /* waits for what was begun */
    cr_expect(eq(int, declined, 1), "said once");
    context = open_context(folder);
    expect_no_record(context);
    tj_context_free(context);
}
