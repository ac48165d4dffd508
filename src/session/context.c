/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context: options and environment, resolved once; the two foreign libraries, opened when first needed.
 *
 * Options win over the environment, and the environment is not read again. Does not know what a kernel is.
 */
#include "context.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choose.h"
#include "error.h"
#include "nvrtc_card.h"
#include "scope.h"
#include "text.h"

static const int64_t DEFAULT_STORE_BYTES = INT64_C(1) << 30;

/* In a set-uid program secure_getenv answers NULL for everything. An empty variable counts as unset. */
static const char *environment(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

static const char *option_or_environment(const char *option, const char *name)
{
    return option ? option : environment(name);
}

/* NULL stays NULL; false only when memory ran out. */
static bool copy_text(char **copy, const char *text)
{
    *copy = text ? strdup(text) : NULL;
    return !text || *copy;
}

static tj_status resolve_options(tj_context_options *out, const tj_context_options *in, tj_error *err)
{
    memset(out, 0, sizeof *out);
    if (!in)
        return TJ_OK;
    if (in->struct_size < sizeof in->struct_size)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "context options not initialised: start from TJ_CONTEXT_OPTIONS_INIT");
    /* A newer program may know fields that this library does not: refuse those it set, rather than ignore them. */
    for (size_t i = sizeof *out; i < in->struct_size; i++)
        if (((const unsigned char *)in)[i] != 0)
            return tj_fail(err, TJ_ERR_UNSUPPORTED,
                           "context options of %d bytes set a field that this library (%d bytes) does not know: "
                           "use the library the program was built for",
                           (int)in->struct_size, (int)sizeof *out);
    memcpy(out, in, in->struct_size < sizeof *out ? in->struct_size : sizeof *out);
    return TJ_OK;
}

static tj_status resolve_log(tj_log *log, const tj_context_options *options, tj_error *err)
{
    static const char *const words[] = {"off", "error", "warning", "info", "debug"};
    const char *word = environment("TILEJIT_LOG");
    int level = options->log_level;

    if (level < TJ_LOG_OFF || level > TJ_LOG_DEBUG)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "log_level is %d: use 0 (off) to 4 (debug)", level);
    if (level == TJ_LOG_OFF && word) {
        for (level = TJ_LOG_DEBUG; level >= 0 && strcmp(word, words[level]) != 0; level--)
            ;
        if (level < 0)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "TILEJIT_LOG is \"%s\": use off, error, warning, info or debug", word);
    }
    log->level = (tj_log_level)level;
    log->write = options->log ? options->log : level > TJ_LOG_OFF ? tj_log_to_stderr : NULL;
    log->payload = options->log_payload;
    return TJ_OK;
}

static tj_status resolve_device(int *device, const tj_context_options *options, tj_error *err)
{
    const char *word = environment("TILEJIT_DEVICE");
    int64_t value = 0;

    if (options->device < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "option device is %d: it is the device's number plus one",
                       options->device);
    if (options->device > 0)
        value = options->device - 1;
    else if (word && (!tj_parse_int(word, &value) || value < 0 || value > INT_MAX))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "TILEJIT_DEVICE is \"%s\": use a device number from 0", word);
    *device = (int)value;
    return TJ_OK;
}

/*
 * The store's folder, or NULL for none, and then why. A home that is unset, relative or "/" belongs to nobody (services, containers):
 * writing there would surprise, so work goes on in memory.
 */
static tj_status resolve_store(tj_context *context, char **root, const tj_context_options *options, tj_error *err)
{
    const char *variable = environment("TILEJIT_CACHE_DIR");
    const char *given = options->cache_dir ? options->cache_dir : variable;
    const char *cache_home = environment("XDG_CACHE_HOME");
    const char *home = environment("HOME");
    tj_text path = TJ_TEXT_INIT(PATH_MAX);

    *root = NULL;
    if (options->cache_dir && !*options->cache_dir)
        context->why_no_store = "the disk is switched off: the option cache_dir is empty, as --no-cache makes it";
    else if (!options->cache_dir && variable && strcmp(variable, "off") == 0)
        context->why_no_store = "the disk is switched off: TILEJIT_CACHE_DIR is \"off\"";
    context->is_disk_off = context->why_no_store != NULL;
    if (context->is_disk_off)
        return TJ_OK;
    if (given) {
        if (!copy_text(root, given))
            return tj_fail_memory(err, "the store's path");
        return TJ_OK;
    }
    if (cache_home && cache_home[0] == '/') {
        tj_text_append(&path, cache_home);
    } else if (home && home[0] == '/' && home[1] != '\0') {
        tj_text_append(&path, home);
        tj_text_append(&path, "/.cache");
    } else {
        context->why_no_store =
            "no store: neither XDG_CACHE_HOME nor HOME names a folder of this user's: set TILEJIT_CACHE_DIR to keep kernels";
        return TJ_OK;
    }
    tj_text_append(&path, "/tilejit");
    return tj_text_take(&path, root, err);
}

static tj_context *make_context(void)
{
    tj_context *context = calloc(1, sizeof *context);

    if (context) {
        pthread_mutex_init(&context->libraries, NULL);
        context->pid = getpid();
    }
    return context;
}

static bool has_tables(tj_context *context)
{
    return (context->images = tj_image_table_create()) && (context->plans = tj_plan_table_create()) &&
           (context->chooser = tj_chooser_create());
}

tj_status tj_context_create(const tj_context_options *given, tj_context **out, tj_error *err)
{
    if (!out)
        return tj_fail_null(err, __func__, "context");
    *out = NULL;
    tj_context_options options;
    tj_context *context = NULL;
    char *root = NULL;
    tj_status status;

    status = resolve_options(&options, given, err);
    if (status != TJ_OK)
        return status;
    if (options.store_max_bytes < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "store_max_bytes is %lld: use 0 (default) or a size in bytes",
                       (long long)options.store_max_bytes);
    if (options.specialize != TJ_SPECIALIZE_SHAPES && options.specialize != TJ_SPECIALIZE_TYPES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "specialize is %d: use TJ_SPECIALIZE_SHAPES or TJ_SPECIALIZE_TYPES",
                       options.specialize);

    if (options.background_tuning_s < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "background_tuning_s is %d: use 0 (off) or seconds for each problem",
                       options.background_tuning_s);

    if (options.prove < TJ_PROVE_NEVER || options.prove > TJ_PROVE_BEHIND)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "prove is %d: use TJ_PROVE_NEVER (0), TJ_PROVE_BEFORE (1) or TJ_PROVE_BEHIND (2)", options.prove);

    context = make_context();
    if (!context)
        return tj_fail_memory(err, "a context");
    context->prove = (tj_prove)options.prove;
    context->specialize = (tj_specialize)options.specialize;
    context->check_pointers = options.check_pointers != 0;

    status = resolve_log(&context->log, &options, err);
    if (status == TJ_OK)
        status = resolve_device(&context->device, &options, err);
    if (status == TJ_OK)
        status = resolve_store(context, &root, &options, err);
    if (status != TJ_OK)
        goto fail;

    if (!copy_text(&context->nvrtc_path, option_or_environment(options.nvrtc, "TILEJIT_NVRTC")) ||
        !copy_text(&context->driver_path, option_or_environment(options.driver, "TILEJIT_DRIVER")) ||
        !copy_text(&context->dump_dir, option_or_environment(options.dump_dir, "TILEJIT_DUMP")) ||
        !(context->store =
              tj_disk_store_create(root, options.read_only_roots,
                                   options.store_max_bytes ? options.store_max_bytes : DEFAULT_STORE_BYTES, &context->log)) ||
        !has_tables(context) ||
        ((options.background_tuning_s > 0 || options.prove == TJ_PROVE_BEHIND) &&
         !(context->background = tj_background_create(context, options.background_tuning_s)))) {
        status = tj_fail_memory(err, "a context");
        goto fail;
    }
    free(root);
    if (context->why_no_store && !context->is_disk_off)
        tj_log_line(&context->log, TJ_LOG_WARNING, "%s", context->why_no_store);
    *out = context;
    return TJ_OK;

fail:
    free(root);
    tj_context_free(context);
    return status;
}

void tj_context_free(tj_context *context)
{
    if (!context)
        return;
    if (context->pid == getpid()) /* a forked child has none of its parent's threads */
        tj_background_free(context->background);
    tj_plan_table_free(context->plans);
    tj_image_table_free(context->images);
    tj_chooser_free(context->chooser);
    tj_disk_store_free(context->store);
    tj_scope_release(context);
    tj_nvrtc_forget(atomic_load(&context->nvrtc));
    pthread_mutex_destroy(&context->libraries);
    free(context->nvrtc_path);
    free(context->driver_path);
    free(context->dump_dir);
    free(context);
}

/* From what context resolved, not by tj_context_create: the environment may be another by now, or be changing. */
tj_status tj_context_create_scratch(const tj_context *context, tj_context **scratch, tj_error *err)
{
    if (!scratch)
        return tj_fail_null(err, __func__, "scratch");
    *scratch = NULL;
    if (!context)
        return tj_fail_null(err, __func__, "context");
    tj_status status = tj_context_check_process(context, err);
    tj_context *made;

    if (status != TJ_OK)
        return status;
    made = make_context();
    if (!made)
        return tj_fail_memory(err, "a context");
    made->log = context->log;
    made->device = context->device;
    if (!copy_text(&made->nvrtc_path, context->nvrtc_path) || !copy_text(&made->driver_path, context->driver_path) ||
        !(made->store = tj_disk_store_create_reader(context->store)) || !has_tables(made)) {
        tj_context_free(made);
        return tj_fail_memory(err, "a context");
    }
    *scratch = made;
    return TJ_OK;
}

tj_status tj_context_check_process(const tj_context *context, tj_error *err)
{
    if (context->pid == getpid())
        return TJ_OK;
    return tj_fail(err, TJ_ERR_FORKED,
                   "this context was made in process %d and the process was forked: make a new context in the child "
                   "before its parent's first CUDA call, or start the child with exec",
                   (int)context->pid);
}

tj_status tj_context_driver(tj_context *context, const tj_driver **driver, tj_error *err)
{
    tj_status status = tj_context_check_process(context, err);

    *driver = atomic_load_explicit(&context->driver, memory_order_acquire);
    if (status != TJ_OK || *driver)
        return status;
    pthread_mutex_lock(&context->libraries);
    *driver = atomic_load_explicit(&context->driver, memory_order_relaxed);
    if (!*driver) {
        status = tj_driver_open(context->driver_path, &context->log, driver, err);
        if (status == TJ_OK)
            atomic_store_explicit(&context->driver, *driver, memory_order_release);
    }
    pthread_mutex_unlock(&context->libraries);
    return status;
}

bool tj_context_is_emulated(const tj_context *context)
{
    const tj_driver *driver = atomic_load_explicit(&context->driver, memory_order_acquire);

    return driver ? driver->is_emulator : tj_emulator_is_asked(context->driver_path);
}

/* Which NVRTC fits depends on the driver, if there is one; compiling needs none. */
static int driver_version_if_any(tj_context *context)
{
    const tj_driver *driver = NULL;

    return tj_context_driver(context, &driver, NULL) == TJ_OK ? tj_driver_version(driver) : 0;
}

static const tj_nvrtc *recall_nvrtc(tj_context *context, int driver_version)
{
    const tj_nvrtc *nvrtc = NULL;
    char name[64], *card;

    tj_nvrtc_card_name(context->nvrtc_path, driver_version, name);
    card = tj_disk_store_read_note(context->store, name);
    if (card)
        nvrtc = tj_nvrtc_recall(card);
    free(card);
    if (nvrtc)
        atomic_store_explicit(&context->has_card, true, memory_order_relaxed);
    return nvrtc;
}

tj_status tj_context_nvrtc(tj_context *context, const tj_nvrtc **nvrtc, tj_error *err)
{
    tj_status status = tj_context_check_process(context, err);
    int driver_version;

    *nvrtc = atomic_load_explicit(&context->nvrtc, memory_order_acquire);
    if (status != TJ_OK || *nvrtc)
        return status;
    driver_version = driver_version_if_any(context);
    pthread_mutex_lock(&context->libraries);
    *nvrtc = atomic_load_explicit(&context->nvrtc, memory_order_relaxed);
    if (!*nvrtc) {
        *nvrtc = recall_nvrtc(context, driver_version);
        if (!*nvrtc)
            status = tj_nvrtc_open(context->nvrtc_path, driver_version, &context->log, nvrtc, err);
        if (status == TJ_OK)
            atomic_store_explicit(&context->nvrtc, *nvrtc, memory_order_release);
    }
    pthread_mutex_unlock(&context->libraries);
    return status;
}

void tj_context_remember_nvrtc(tj_context *context)
{
    const tj_nvrtc *nvrtc = atomic_load_explicit(&context->nvrtc, memory_order_acquire);
    char name[64], *card;

    if (!nvrtc || atomic_exchange_explicit(&context->has_card, true, memory_order_relaxed))
        return;
    card = tj_nvrtc_card_write(nvrtc);
    if (!card)
        return;
    tj_nvrtc_card_name(context->nvrtc_path, driver_version_if_any(context), name);
    tj_disk_store_write_note(context->store, name, card);
    free(card);
}

void tj_context_get_stats(tj_context *context, tj_context_stats *stats)
{
    if (!context || !stats)
        return;
    stats->memory_hits = atomic_load_explicit(&context->stats.memory_hits, memory_order_relaxed);
    stats->store_hits = atomic_load_explicit(&context->stats.store_hits, memory_order_relaxed);
    stats->compiles = atomic_load_explicit(&context->stats.compiles, memory_order_relaxed);
    stats->failures = atomic_load_explicit(&context->stats.failures, memory_order_relaxed);
    stats->loads = atomic_load_explicit(&context->stats.loads, memory_order_relaxed);
    stats->plans = atomic_load_explicit(&context->stats.plans, memory_order_relaxed);
}
