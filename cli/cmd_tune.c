/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit tune: find the fastest config of shapes on the devices of this machine, and look after the records.
 *
 * Several devices share one list of shapes: each takes the next one when it is free. Ctrl-C sets a flag that the library asks
 * for; it then keeps what it found.
 */
#include "tune.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DEVICES = 16 };

/* ---- words -------------------------------------------------------------------------------------------------------- */

/* "30", "30s", "2m", "1h". */
static tj_status read_budget(const char *text, double *seconds, tj_error *err)
{
    char number[32] = "";
    size_t length = text ? strlen(text) : 0;
    double unit = 1;

    if (!text)
        return TJ_OK;
    if (length > 0 && length < sizeof number) {
        memcpy(number, text, length + 1);
        unit = number[length - 1] == 'm' ? 60 : number[length - 1] == 'h' ? 3600 : 1;
        if (strchr("smh", number[length - 1]))
            number[length - 1] = '\0';
    }
    if (cli_parse_real("--budget", number, seconds, err) != TJ_OK || !(*seconds * unit > 0) || *seconds * unit > 1e7)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--budget is \"%.40s\": write 30s, 5m or 1h", text);
    *seconds *= unit;
    return TJ_OK;
}

static tj_status read_tune_options(const cli_words *words, tj_tune_options *options, tj_error *err)
{
    *options = (tj_tune_options)TJ_TUNE_OPTIONS_INIT;
    options->strategy = words->strategy;
    options->evaluations = words->evaluations;
    options->threads = (int32_t)words->threads;
    options->seed = words->seed;
    options->is_warm = words->is_warm;
    options->no_record = words->no_record;
    options->family = tj_family_find(words->family);
    if (words->family && !options->family)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "no family is named \"%.40s\": tilejit families lists them",
                        words->family);
    return read_budget(words->budget, &options->seconds, err);
}

static bool is_listed(const int *device, size_t count, int number)
{
    for (size_t i = 0; i < count; i++)
        if (device[i] == number)
            return true;
    return false;
}

/* "0,1": the devices that share the work. Without it the one that --device names. */
static tj_status read_devices(const cli_words *words, int *device, size_t *count, tj_error *err)
{
    const char *rest = words->devices;

    *count = 0;
    while (rest && *rest) {
        const size_t length = strcspn(rest, ",");
        char number[16] = "";
        int64_t value = 0;

        memcpy(number, rest, length < sizeof number ? length : 0);
        if (cli_parse_int("--devices", number, 0, 1023, &value, err) != TJ_OK || *count == MAX_DEVICES ||
            is_listed(device, *count, (int)value))
            return cli_fail(err, TJ_ERR_INVALID_ARGUMENT,
                            "--devices is \"%.60s\": write at most %d different device numbers, such as 0,1", words->devices,
                            MAX_DEVICES);
        device[(*count)++] = (int)value;
        rest += length + (rest[length] != '\0');
    }
    if (*count > 0 && words->device)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--device and --devices both say where to run: give one");
    return TJ_OK;
}

/* ---- interrupt ---------------------------------------------------------------------------------------------------- */

static atomic_int is_interrupted;

/* A second Ctrl-C ends the process at once. (SA_RESETHAND would say that, but NVRTC's compiler keeps and restores handlers without it.) */
static void on_interrupt(int number)
{
    if (atomic_exchange_explicit(&is_interrupted, 1, memory_order_relaxed)) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    }
}

static void listen_for_interrupt(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    action.sa_flags = (int)SA_RESTART;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static int is_cancelled(void *payload)
{
    (void)payload;
    return atomic_load_explicit(&is_interrupted, memory_order_relaxed);
}

/* ---- tuning ------------------------------------------------------------------------------------------------------- */

/* What all devices share. */
typedef struct job {
    const cli_words *words;
    const tj_tune_options *options;
    tune_shapes *all;
    size_t next; /* shape */
    pthread_mutex_t lock;
    FILE *trials;
    bool has_bar;
    tj_status setup; /* of a device that could not be opened */
    tj_error setup_err;
} job;

/* One device at work on one shape. */
typedef struct turn {
    job *job;
    const tune_shape *shape;
} turn;

static void on_progress(const tj_tune_progress *progress, void *payload)
{
    const turn *t = payload;
    job *j = t->job;

    pthread_mutex_lock(&j->lock);
    if (progress->trial && j->trials)
        tune_write_trial(j->trials, t->shape, progress->trial);
    if (progress->trial && j->words->log_level >= TJ_LOG_INFO)
        tune_log_trial(t->shape, progress->trial);
    else if (j->has_bar)
        tune_draw_bar(t->shape, progress);
    pthread_mutex_unlock(&j->lock);
}

/* A search that ended by itself tried as many configs as were worth it, be they more or fewer than another one would try now. */
static bool is_founded(const tj_record_facts *facts, const tj_tune_options *options)
{
    if (facts->family[0] && (!options->family || strcmp(facts->family, tj_family_name(options->family)) != 0))
        return false;
    if (facts->is_complete)
        return true;
    if (options->strategy == TJ_EXHAUSTIVE)
        return false;
    if (options->evaluations > 0)
        return facts->evaluations >= options->evaluations;
    return !facts->was_cancelled && facts->evaluations >= TJ_TUNE_LEAST;
}

/* Is there a record that is at least as well founded as what would be done now? */
static bool has_record(const job *j, tj_context *context, const tune_shape *s)
{
    tj_records *records = tj_records_create();
    tj_device_facts device;
    tj_record_facts facts;
    const tj_record *record = NULL;
    bool is_enough = false;
    tj_error ignored;

    if (records && tj_records_load(context, records, &ignored) == TJ_OK &&
        tj_device_current(context, &device, &ignored) == TJ_OK)
        record = tj_records_find(records, &s->problem, &device);
    if (record) {
        tj_record_get_facts(record, &facts);
        is_enough = is_founded(&facts, j->options);
    }
    tj_records_free(records);
    return is_enough;
}

static void tune_one(job *j, tj_context *context, tune_shape *s)
{
    tj_tune_options options = *j->options;
    turn mine = {j, s};

    if (j->words->resume && has_record(j, context, s)) {
        s->is_skipped = true;
        return;
    }
    options.is_cancelled = is_cancelled;
    options.progress = on_progress;
    options.payload = &mine;
    s->status = tj_tune(context, &s->problem, &options, &s->result, &s->err);
}

static tune_shape *take_shape(job *j)
{
    tune_shape *one = NULL;

    pthread_mutex_lock(&j->lock);
    if (j->next < j->all->count && !is_cancelled(NULL))
        one = &j->all->item[j->next++];
    pthread_mutex_unlock(&j->lock);
    return one;
}

static void run_device(job *j, tj_context *context, int device)
{
    tune_shape *one;

    while ((one = take_shape(j))) {
        one->device = device;
        tune_one(j, context, one);
        pthread_mutex_lock(&j->lock);
        one->is_done = one->is_skipped || one->status == TJ_OK;
        if (j->has_bar)
            tune_clear_bar();
        if (!j->words->is_json) {
            tune_print_shape(one, !j->words->no_record);
            (void)fflush(stdout);
        }
        if (j->trials)
            (void)fflush(j->trials);
        pthread_mutex_unlock(&j->lock);
        if (one->status == TJ_ERR_DEVICE_LOST)
            return;
    }
}

typedef struct worker {
    job *job;
    int device;
    pthread_t thread;
    bool is_running;
} worker;

static void *work(void *payload)
{
    worker *w = payload;
    cli_words words = *w->job->words;
    tj_context *context = NULL;
    char number[16];
    tj_error err;
    tj_status status;

    (void)snprintf(number, sizeof number, "%d", w->device);
    words.device = number;
    status = cli_context_create(&words, &context, &err);
    if (status == TJ_OK)
        run_device(w->job, context, w->device);
    else {
        pthread_mutex_lock(&w->job->lock);
        w->job->setup = status;
        w->job->setup_err = err;
        pthread_mutex_unlock(&w->job->lock);
    }
    tj_context_free(context);
    return NULL;
}

static tj_status run_devices(job *j, const int *device, size_t count, tj_error *err)
{
    worker all[MAX_DEVICES];
    size_t running = 0;

    for (size_t i = 0; i < count; i++) {
        all[i] = (worker){.job = j, .device = device[i]};
        all[i].is_running = pthread_create(&all[i].thread, NULL, work, &all[i]) == 0;
        running += all[i].is_running;
    }
    for (size_t i = 0; i < count; i++)
        if (all[i].is_running)
            pthread_join(all[i].thread, NULL);
    if (running == 0)
        return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "no thread could be started");
    if (j->setup != TJ_OK)
        *err = j->setup_err;
    return j->setup;
}

/* status: of opening the devices; *err says why it failed. */
static cli_exit sum_up(const tune_shapes *all, tj_status status, json_t *answer, tj_error *err)
{
    json_t *list = json_array();
    size_t done = 0;

    for (size_t i = 0; i < all->count; i++) {
        (void)json_array_append_new(list, tune_shape_json(&all->item[i]));
        done += all->item[i].is_done;
    }
    (void)json_object_set_new(answer, "shapes", list);
    if (is_cancelled(NULL)) {
        (void)cli_fail(err, TJ_ERR_CANCELLED, "interrupted: what was found for %zu of %zu shapes is kept", done, all->count);
        return CLI_INTERRUPTED;
    }
    for (size_t i = 0; i < all->count; i++)
        if (all->item[i].status != TJ_OK) {
            *err = all->item[i].err;
            return CLI_FAILED;
        }
    if (status == TJ_OK && done < all->count)
        status = cli_fail(err, TJ_ERR_DEVICE_LOST, "%zu of %zu shapes were tuned: no device was left for the others", done,
                          all->count);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

static cli_exit tune_all(const cli_words *words, const tj_tune_options *options, tune_shapes *all, json_t *answer,
                         tj_error *err)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    tj_tune_options shared = *options;
    job j = {.words = words, .options = &shared, .all = all, .has_bar = isatty(2) && words->log_level < TJ_LOG_INFO};
    int device[MAX_DEVICES];
    tj_context *context = NULL;
    bool is_lost;
    size_t count;
    tj_status status;

    if (read_devices(words, device, &count, err) != TJ_OK)
        return CLI_WORDS;
    if (shared.threads == 0 && count > 1) /* the processors compile for all devices */
        shared.threads = processors > (long)count ? (int32_t)(processors / (long)count) : 1;
    if (words->trials && !(j.trials = fopen(words->trials, "we"))) {
        (void)cli_fail(err, TJ_ERR_IO, "cannot write %.200s: %s", words->trials, strerror(errno));
        return CLI_FAILED;
    }
    if (j.trials)
        tune_write_trials_head(j.trials);
    pthread_mutex_init(&j.lock, NULL);
    listen_for_interrupt();
    if (count > 0) {
        status = run_devices(&j, device, count, err);
    } else {
        status = cli_context_create_to_run(words, &context, err);
        if (status == TJ_OK)
            run_device(&j, context, cli_device_ordinal(words));
        tj_context_free(context);
    }
    pthread_mutex_destroy(&j.lock);
    is_lost = j.trials && ferror(j.trials);
    is_lost |= j.trials && fclose(j.trials) != 0;
    if (is_lost && status == TJ_OK)
        status = cli_fail(err, TJ_ERR_IO, "cannot write %.200s to its end: is the disk full?", words->trials);
    return sum_up(all, status, answer, err);
}

static tj_status check_words(const cli_words *words, const tune_shapes *all, tj_error *err)
{
    const int moves = (words->merge != NULL) + (words->import_from != NULL) + (words->export_to != NULL);

    if (moves > 1)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--import, --export and --merge are three things to do: give one");
    if (words->merge && !words->output)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--merge needs -o: where to write the merged records");
    if (words->output && !words->merge)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "-o names the file of --merge; --export takes its own");
    if (words->is_t4 && !words->merge && !words->export_to)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--t4 is the format of --export and --merge: give one of them");
    if (moves == 0 && all->count == 0)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT,
                        "tune what? write a shape such as 512x300x700, or --shapes with a file of them");
    return TJ_OK;
}

cli_exit cmd_tune(const cli_words *words, json_t *answer, tj_error *err)
{
    tune_shapes all = {NULL, 0};
    tj_tune_options options;
    cli_exit code = CLI_WORDS;
    tj_status status = cli_check_arch(words, err);

    if (status == TJ_OK)
        status = read_tune_options(words, &options, err);
    if (status == TJ_OK)
        status = tune_read_shapes(words, &all, err);
    if (status == TJ_OK)
        status = check_words(words, &all, err);
    if (status == TJ_OK && (words->merge || words->import_from || words->export_to))
        code = tune_move_records(words, &all, answer, err);
    else if (status == TJ_OK)
        code = tune_all(words, &options, &all, answer, err);
    free(all.item);
    return code;
}
