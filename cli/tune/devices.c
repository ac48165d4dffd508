/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devices: the devices that tune. All are opened before one takes a shape; then each takes the next shape when it is free.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tune.h"

typedef struct worker {
    struct crew *crew;
    int ordinal;
    tj_context *context;
    tj_device_facts facts;
    bool is_emulated;
    pthread_t thread;
    bool is_running;
} worker;

/* The devices and their shared state. */
typedef struct crew {
    cli_call *call;
    const tune_options *words;
    tj_tune_options options;
    tune_jobs *all;
    tj_records *known; /* --resume: the store's records before the first shape; otherwise NULL */
    FILE *trials;
    bool has_bar;
    worker worker[TUNE_MAX_DEVICES];
    size_t count;
    pthread_mutex_t lock; /* guards the shapes, the two counts below, and the terminal */
    pthread_cond_t has_ended;
    size_t in_service, busy;
} crew;

/* One device at work on one shape. */
typedef struct turn {
    crew *crew;
    const tune_job *job;
    const char *device; /* its name */
} turn;

/* ---- --resume ----------------------------------------------------------------------------------------------------- */

/* Is a record usable? A family or parameter that this version lacks cannot be chosen. */
static bool is_usable(const tj_record_facts *facts, const tj_problem *problem)
{
    tj_config config;

    return tj_config_parse(facts->config, &config, NULL) == TJ_OK && tj_config_resolve(problem, &config, NULL) == TJ_OK;
}

/* A search that ended by itself tried enough configs, whether more or fewer than a search now would. */
static bool is_founded(const tj_record_facts *facts, const tj_tune_options *options)
{
    if (facts->family[0] && (!options->family || strcmp(facts->family, tj_family_name(options->family)) != 0))
        return false;
    if (facts->is_complete || options->strategy == TJ_EXHAUSTIVE)
        return facts->is_complete;
    return options->evaluations > 0 ? facts->evaluations >= options->evaluations : !facts->was_cancelled;
}

const tj_record *tune_find_record(const tj_records *known, const tj_problem *problem, const tj_device_facts *device,
                                  const tj_tune_options *options)
{
    const tj_record *record = tj_records_find(known, problem, device);
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;

    if (!record || tj_record_get_facts(record, &facts, NULL) != TJ_OK)
        return NULL;
    return is_founded(&facts, options) && is_usable(&facts, problem) ? record : NULL;
}

/* ---- one shape ---------------------------------------------------------------------------------------------------- */

static int is_cancelled(void *payload)
{
    (void)payload;
    return cli_noted_signal() != 0;
}

static void on_progress(const tj_tune_progress *progress, void *payload)
{
    const turn *t = payload;
    crew *c = t->crew;

    pthread_mutex_lock(&c->lock);
    if (progress->trial && c->trials)
        tune_write_trial(c->trials, t->job, t->device, progress->trial);
    if (progress->trial && c->call->log_level >= TJ_LOG_INFO)
        tune_log_trial(t->job, progress->trial);
    else if (c->has_bar)
        tune_draw_bar(t->job, progress);
    pthread_mutex_unlock(&c->lock);
}

/* -o: copy the record of a skipped shape. */
static void keep_known(const worker *w, tune_job *s)
{
    const tj_record *record = tj_records_find(w->crew->known, &s->shape->problem, &w->facts);
    char *text = s->found && record ? tj_record_print(record) : NULL;
    tj_record *copy = NULL;

    if (text && tj_record_parse(text, &copy, &s->err) == TJ_OK)
        s->status = tj_records_add(s->found, copy, &s->err);
    free(text);
}

/* With these options a record that is not kept is not a loss. */
static bool wants_no_disk(const cli_machine_options *machine)
{
    return machine->no_cache || (machine->cache_dir && !*machine->cache_dir);
}

static bool is_known(const worker *w, const tune_job *s)
{
    return w->crew->known && tune_find_record(w->crew->known, &s->shape->problem, &w->facts, &w->crew->options);
}

/* Return the problem that this device tunes after that of s; NULL: none, or with other devices nobody knows. */
static const tj_problem *next_problem(const worker *w, const tune_job *s)
{
    const tune_job *const end = w->crew->all->item + w->crew->all->count;

    do
        s++;
    while (s < end && is_known(w, s));
    return w->crew->count == 1 && s < end ? &s->shape->problem : NULL;
}

static void tune_one(const worker *w, tune_job *s)
{
    tj_tune_options options = w->crew->options;
    turn mine = {w->crew, s, w->facts.name};

    s->device = w->ordinal;
    s->is_emulated = w->is_emulated;
    s->status = TJ_OK; /* a lost device may have set it */
    if (is_known(w, s)) {
        s->is_skipped = true;
        keep_known(w, s);
        return;
    }
    options.next = next_problem(w, s);
    options.is_cancelled = is_cancelled;
    options.progress = on_progress;
    options.payload = &mine;
    options.records = s->found;
    s->result = (tj_tune_result)TJ_TUNE_RESULT_INIT;
    s->status = tj_tune(w->context, &s->shape->problem, &options, &s->result, &s->err);
    if (s->status == TJ_OK && s->result.is_record_lost && !wants_no_disk(&w->crew->words->machine)) {
        const char *trouble = tj_store_trouble(w->context);

        (void)snprintf(s->unrecorded, sizeof s->unrecorded, "%s", trouble ? trouble : "--log warning says why");
    }
}

static void show(const crew *c, const tune_job *s)
{
    if (c->has_bar)
        tune_clear_bar();
    if (!c->call->is_json) {
        tune_print_job(stdout, s, !c->words->no_record && !wants_no_disk(&c->words->machine));
        if (c->call->log_level >= TJ_LOG_INFO)
            tune_print_shares(stderr, s->shape->text, &s->result.spent);
        (void)fflush(stdout);
    }
    if (c->trials)
        (void)fflush(c->trials);
}

/* ---- sharing the shapes ------------------------------------------------------------------------------------------- */

static tune_job *next_shape(const crew *c)
{
    for (size_t i = 0; i < c->all->count && !cli_noted_signal(); i++)
        if (!c->all->item[i].is_taken)
            return &c->all->item[i];
    return NULL;
}

/* Take the next shape; while others are busy one may come back, from a device that is lost. */
static tune_job *take_shape(crew *c)
{
    tune_job *one;

    pthread_mutex_lock(&c->lock);
    while (!(one = next_shape(c)) && c->busy > 0)
        pthread_cond_wait(&c->has_ended, &c->lock);
    if (one) {
        one->is_taken = true;
        c->busy++;
    }
    pthread_mutex_unlock(&c->lock);
    return one;
}

/* Does the device stay? A shape that failed by the device's fault gets another device, once: the fault may be the shape's. */
static bool end_shape(worker *w, tune_job *s)
{
    const bool stays = s->status != TJ_ERR_DEVICE_LOST && s->status != TJ_ERR_NO_DRIVER;
    crew *c = w->crew;

    pthread_mutex_lock(&c->lock);
    c->busy--;
    c->in_service -= !stays;
    s->is_done = s->status == TJ_OK;
    if (!stays && c->in_service > 0 && !s->was_returned) {
        s->was_returned = true;
        s->is_taken = false;
        if (c->has_bar)
            tune_clear_bar();
        cli_print(stderr, "tilejit: device %d is lost, another one takes %s: %s\n", w->ordinal, s->shape->text, s->err.message);
    } else {
        show(c, s);
    }
    pthread_cond_broadcast(&c->has_ended);
    pthread_mutex_unlock(&c->lock);
    return stays;
}

static void *work(void *payload)
{
    worker *w = payload;
    tune_job *one;

    while ((one = take_shape(w->crew))) {
        tune_one(w, one);
        if (!end_shape(w, one))
            break;
    }
    return NULL;
}

static tj_status run_all(crew *c, tj_error *err)
{
    size_t running = 0;

    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->has_ended, NULL);
    pthread_mutex_lock(&c->lock); /* no device leaves before all are counted */
    for (size_t i = 0; i < c->count; i++) {
        c->worker[i].is_running = pthread_create(&c->worker[i].thread, NULL, work, &c->worker[i]) == 0;
        running += c->worker[i].is_running;
    }
    c->in_service = running;
    pthread_mutex_unlock(&c->lock);
    for (size_t i = 0; i < c->count; i++)
        if (c->worker[i].is_running)
            pthread_join(c->worker[i].thread, NULL);
    for (size_t i = 0; i < c->all->count; i++)
        if (c->all->item[i].was_returned && !c->all->item[i].is_taken)
            show(c, &c->all->item[i]); /* no device was left for it */
    pthread_cond_destroy(&c->has_ended);
    pthread_mutex_destroy(&c->lock);
    return running > 0 ? TJ_OK : tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "no thread could be started");
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

static bool has_devices(tj_context *context)
{
    int count = 0;

    return tj_device_count(context, &count, NULL) == TJ_OK && count > 0;
}

/* number: an item of --devices; NULL: the device of --device. */
static tj_status open_device(crew *c, const int *number, tj_error *err)
{
    worker *w = &c->worker[c->count++];
    cli_machine_options machine = c->words->machine;
    const tj_emulator *emulator;
    char text[16];
    tj_error why;

    w->crew = c;
    if (number) {
        (void)snprintf(text, sizeof text, "%d", *number);
        machine.device = text;
    }
    w->ordinal = cli_device_ordinal(&machine);
    if (cli_context_create(c->call, &machine, &w->context, err) != TJ_OK)
        return err->status;
    w->facts = (tj_device_facts)TJ_DEVICE_FACTS_INIT;
    if (tj_device_get(w->context, w->ordinal, &w->facts, &why) == TJ_OK &&
        tj_emulator_get(w->context, &emulator, &why) == TJ_OK) {
        w->is_emulated = emulator != NULL;
        return TJ_OK;
    }
    if (cli_may_emulate(&c->words->machine) && !has_devices(w->context))
        return tj_fail(err, TJ_ERR_NO_DRIVER,
                       "there is no GPU to tune on (tilejit doctor says why), and the emulator's times mean nothing: --device "
                       "emulator only tries that configs compute the product, and keeps no record");
    return tj_fail(err, why.status, "device %d cannot be used, so nothing is tuned: %.380s", w->ordinal, why.message);
}

static tj_status open_devices(crew *c, const tune_devices *devices, tj_error *err)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    tj_status status = devices->count == 0 ? open_device(c, NULL, err) : TJ_OK;

    for (size_t i = 0; i < devices->count && status == TJ_OK; i++)
        status = open_device(c, &devices->number[i], err);
    if (status == TJ_OK && c->worker[0].is_emulated)
        fputs("tilejit: on the emulator no time is measured and no record is kept\n", stderr);
    if (c->options.threads == 0 && c->count > 1) /* share the processors, which compile for all devices */
        c->options.threads = processors > (long)c->count ? (int32_t)(processors / (long)c->count) : 1;
    return status;
}

static tj_status load_known(crew *c, tj_error *err)
{
    c->known = tj_records_create();
    return c->known ? tj_records_load(c->worker[0].context, c->known, err) : tj_fail_memory(err, "records");
}

/* Keep the old content until the devices are open. */
static tj_status open_trials(crew *c, const char *path, tj_error *err)
{
    int fd;
    tj_status status = path ? tj_output_stream(&c->call->file, &fd, err) : TJ_OK;

    if (!path || status != TJ_OK)
        return status;
    c->trials = fdopen(fd, "w");
    if (!c->trials) {
        close(fd);
        return tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for %.200s", path);
    }
    for (size_t i = 0; i < c->count; i++)
        tune_write_trials_device(c->trials, &c->worker[i].facts);
    tune_write_trials_head(c->trials);
    return TJ_OK;
}

static tj_status close_trials(crew *c, const char *path, tj_error *err)
{
    bool is_lost;

    if (!c->trials)
        return TJ_OK;
    is_lost = ferror(c->trials) != 0;
    is_lost |= fclose(c->trials) != 0;
    return is_lost ? tj_fail(err, TJ_ERR_IO, "cannot write %.200s to its end: is the disk full?", path) : TJ_OK;
}

tj_status tune_on_devices(cli_call *call, const tune_devices *devices, const tj_tune_options *options, tune_jobs *all,
                          tj_error *err)
{
    const tune_options *words = call->options;
    crew c = {.call = call,
              .words = words,
              .options = *options,
              .all = all,
              .has_bar = isatty(STDERR_FILENO) && call->log_level < TJ_LOG_INFO};
    tj_error unwritten;
    tj_status status = TJ_OK;

    if (cli_open_output(call, words->trials, err) != TJ_OK || open_devices(&c, devices, err) != TJ_OK ||
        (words->resume && load_known(&c, err) != TJ_OK) || open_trials(&c, words->trials, err) != TJ_OK ||
        run_all(&c, err) != TJ_OK)
        status = err->status;
    if (close_trials(&c, words->trials, &unwritten) != TJ_OK && status == TJ_OK) {
        status = unwritten.status;
        *err = unwritten;
    }
    tj_records_free(c.known);
    for (size_t i = 0; i < c.count; i++)
        tj_context_free(c.worker[i].context);
    return status;
}
