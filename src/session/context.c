/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context: options and environment, resolved once into a host and its tables.
 *
 * Options win over the environment, and the environment is not read again. Does not know what a kernel is.
 */
#include "context.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "background.h"
#include "capture.h"
#include "chooser.h"
#include "component.h"
#include "error.h"
#include "missing.h"
#include "nvrtc_search.h"
#include "plan.h"
#include "record.h"
#include "sized.h"
#include "text.h"
#include "varying.h"

static const int64_t DEFAULT_STORE_BYTES = INT64_C(1) << 30, DEFAULT_PLANS = 4096, DEFAULT_PLAN_BYTES = INT64_C(512) << 20;

enum { CAPTURE_WRITE_S = 10 };

/* In a set-uid program secure_getenv answers NULL for everything. An empty variable counts as unset. */
static const char *environment(const tj_context_options *options, const char *name)
{
    const char *value = options->ignore_environment ? NULL : secure_getenv(name);
    return value && *value ? value : NULL;
}

static const char *option_or_environment(const tj_context_options *options, const char *option, const char *name)
{
    return option ? option : environment(options, name);
}

static tj_status resolve_options(tj_context_options *out, const tj_context_options *options, tj_error *err)
{
    *out = (tj_context_options)TJ_CONTEXT_OPTIONS_INIT;
    return options ? TJ_READ(options, out, TJ_CONTEXT_OPTIONS_INIT, err) : TJ_OK;
}

static tj_status resolve_log(tj_log *log, const tj_context_options *options, tj_error *err)
{
    static const char *const words[] = {"off", "error", "warning", "info", "debug"};
    const char *word = environment(options, "TILEJIT_LOG");
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
    const char *word = environment(options, "TILEJIT_DEVICE");
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
 * The store's folder, or NULL for none, and then why. A home that is unset, relative or "/" belongs to nobody (services,
 * containers): writing there would surprise, so work goes on in memory.
 */
static tj_status resolve_store(tj_context *context, char **root, const tj_context_options *options, tj_error *err)
{
    const char *variable = environment(options, "TILEJIT_CACHE_DIR");
    const char *given = options->cache_dir ? options->cache_dir : variable;
    const char *cache_home = environment(options, "XDG_CACHE_HOME");
    const char *home = environment(options, "HOME");
    tj_text path = TJ_TEXT_INIT(PATH_MAX);

    *root = NULL;
    if (options->cache_dir && !*options->cache_dir)
        context->why_no_store = "the disk is switched off: the option cache_dir is empty, as --no-cache makes it";
    else if (!options->cache_dir && variable && strcmp(variable, "off") == 0)
        context->why_no_store = "the disk is switched off: TILEJIT_CACHE_DIR is \"off\"";
    else if (!options->cache_dir && options->ignore_environment)
        context->why_no_store =
            "the disk is switched off: the environment is ignored, and the option cache_dir names no folder";
    context->is_disk_off = context->why_no_store != NULL;
    if (context->is_disk_off)
        return TJ_OK;
    if (given) {
        if (!tj_copy_text(root, given))
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

/* ---- packs -------------------------------------------------------------------------------------------------------- */

/* Paths of packs and of folders, which are roots; each list ends with NULL. */
typedef struct named_paths {
    char *text; /* that the paths of the environment lie in */
    const char **pack, **root;
} named_paths;

static void drop_paths(named_paths *paths)
{
    free(paths->text);
    free(paths->pack);
    free(paths->root);
}

static bool is_folder(const char *path)
{
    struct stat facts;

    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

static void sort_path(named_paths *paths, const char *path, size_t *packs, size_t *roots)
{
    if (is_folder(path))
        paths->root[(*roots)++] = path;
    else
        paths->pack[(*packs)++] = path;
}

/* The option's packs or, without them, those of the environment, and the read-only roots in front of folders among them. */
static bool resolve_packs(named_paths *paths, const tj_context_options *options)
{
    const char *variable = options->packs ? NULL : environment(options, "TILEJIT_PACKS");
    size_t most = 1, packs = 0, roots = 0;
    char *rest, *path;

    for (size_t i = 0; options->read_only_roots && options->read_only_roots[i]; i++)
        most++;
    for (size_t i = 0; options->packs && options->packs[i]; i++)
        most++;
    for (const char *at = variable; at; at = strchr(at + 1, ':'))
        most++;
    paths->pack = calloc(most, sizeof *paths->pack);
    paths->root = calloc(most, sizeof *paths->root);
    if (!paths->pack || !paths->root || !tj_copy_text(&paths->text, variable))
        return false;
    for (size_t i = 0; options->read_only_roots && options->read_only_roots[i]; i++)
        paths->root[roots++] = options->read_only_roots[i];
    for (size_t i = 0; options->packs && options->packs[i]; i++)
        sort_path(paths, options->packs[i], &packs, &roots);
    rest = paths->text;
    while ((path = strsep(&rest, ":")))
        if (*path)
            sort_path(paths, path, &packs, &roots);
    return true;
}

/* Without a pack there is no list, and no search. */
static bool open_packs(tj_host *host, const named_paths *paths, const tj_pack_bytes *bytes)
{
    if (!paths->pack[0] && (!bytes || !bytes->bytes))
        return true;
    host->packs = tj_packs_create(paths->pack, bytes, &host->log);
    return host->packs != NULL;
}

bool tj_textbook_open(const tj_log *log, tj_packs **textbook)
{
    static const char here = 0;
    char path[PATH_MAX];
    const char *const list[] = {path, NULL};

    *textbook = NULL;
    return !tj_component_find(&here, "textbook.tjpack", path) || (*textbook = tj_packs_create(list, NULL, log));
}

/* False: out of memory. */
static bool begin_capture(tj_context *context, const char *path)
{
    if (path)
        context->capture = tj_capture_create(path, CAPTURE_WRITE_S, context->varying, &context->host.log);
    return !path || context->capture;
}

/* Choose between two records by the rule of tj_records_add. */
static tj_status merge_records(void *payload, const char *present, const char *found, char **better, tj_error *err)
{
    tj_record *a = NULL, *b = NULL;
    tj_status status = tj_record_parse(present, &a, err);

    (void)payload;
    *better = NULL;
    if (status == TJ_OK)
        status = tj_record_parse(found, &b, err);
    if (status == TJ_OK && tj_record_compare(b, a) < 0 && !(*better = strdup(found)))
        status = tj_fail_memory(err, "a record");
    tj_record_free(a);
    tj_record_free(b);
    return status;
}

/* False: out of memory. */
static bool name_remote(tj_host *host, const char *address)
{
    if (address && *address)
        host->remote = tj_remote_create(address, merge_records, &host->log);
    return !address || !*address || host->remote;
}

static bool has_tables(tj_context *context, int64_t most_plans, int64_t most_bytes, const char *trials)
{
    if (!(context->images = tj_image_table_create(most_bytes)) ||
        !(context->plans = tj_plan_table_create(tj_plan_make, most_plans, most_bytes)))
        return false;
    context->readers = tj_plan_table_readers(context->plans);
    return (context->varying = tj_varying_create()) && (context->missing = tj_missing_create()) &&
           (context->chooser = tj_chooser_create(trials));
}

tj_status tj_context_create(const tj_context_options *given, tj_context **out, tj_error *err)
{
    if (!out)
        return tj_fail_null(err, __func__, "context");
    *out = NULL;
    tj_context_options options;
    tj_context *context = NULL;
    const char *variable;
    named_paths paths = {NULL, NULL, NULL};
    char *root = NULL;
    tj_status status;

    status = resolve_options(&options, given, err);
    if (status != TJ_OK)
        return status;
    if (options.ignore_environment != 0 && options.ignore_environment != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "ignore_environment is %d: use 0 or 1", options.ignore_environment);
    variable = environment(&options, "TILEJIT_LINE_INFO");
    if (options.store_max_bytes < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "store_max_bytes is %lld: use 0 (default) or a size in bytes",
                       (long long)options.store_max_bytes);
    if (options.specialize != TJ_SPECIALIZE_SHAPES && options.specialize != TJ_SPECIALIZE_TYPES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "specialize is %d: use TJ_SPECIALIZE_SHAPES or TJ_SPECIALIZE_TYPES",
                       options.specialize);
    if (options.background_tuning_s < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "background_tuning_s is %d: use 0 (off) or seconds for each problem",
                       options.background_tuning_s);
    if (options.prove < TJ_PROVE_UNKNOWN || options.prove > TJ_PROVE_NEVER)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "prove is %d: use TJ_PROVE_UNKNOWN (0), TJ_PROVE_BEFORE (1), TJ_PROVE_BEHIND (2) or TJ_PROVE_NEVER (3)",
                       options.prove);

    if (!options.allocate != !options.release)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the option %s is set without %s: set both, or neither",
                       options.allocate ? "allocate" : "release", options.allocate ? "release" : "allocate");
    if (options.line_info != 0 && options.line_info != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "line_info is %d: use 0 or 1", options.line_info);
    if (variable && strcmp(variable, "0") != 0 && strcmp(variable, "1") != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "TILEJIT_LINE_INFO is \"%s\": use 0 or 1", variable);
    if (options.first_call != TJ_FIRST_CALL_WAIT && options.first_call != TJ_FIRST_CALL_QUICK)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "first_call is %d: use TJ_FIRST_CALL_WAIT (0) or TJ_FIRST_CALL_QUICK (1)",
                       options.first_call);
    if (options.max_plans < 0 || options.max_plan_bytes < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "max_plans is %lld and max_plan_bytes %lld: use 0 (default) or more",
                       (long long)options.max_plans, (long long)options.max_plan_bytes);

    context = calloc(1, sizeof *context);
    if (!context)
        return tj_fail_memory(err, "a context");
    tj_host_begin(&context->host);
    tj_pool_rest_begin(&context->pools);
    context->prove = (tj_prove)options.prove;
    context->specialize = (tj_specialize)options.specialize;
    context->check_pointers = options.check_pointers != 0;
    context->first_call = (tj_first_call)options.first_call;
    context->host.ignores_environment = options.ignore_environment;
    context->host.gpu.ignores_environment = options.ignore_environment;
    if (options.ignore_environment && !options.nvrtc)
        options.nvrtc = TJ_NVRTC_SYSTEM;
    context->host.has_lines = options.line_info || (variable && strcmp(variable, "1") == 0);
    context->host.gpu.allocator = (tj_allocator){options.allocate, options.release, options.allocator_payload};
    context->host.on_event = options.on_event;
    context->host.event_payload = options.event_payload;

    status = resolve_log(&context->host.log, &options, err);
    if (status == TJ_OK)
        status = resolve_device(&context->host.gpu.device, &options, err);
    if (status == TJ_OK)
        status = resolve_store(context, &root, &options, err);
    if (status != TJ_OK)
        goto fail;

    if (!tj_copy_text(&context->host.nvrtc_path, option_or_environment(&options, options.nvrtc, "TILEJIT_NVRTC")) ||
        !tj_copy_text(&context->host.gpu.driver_path, option_or_environment(&options, options.driver, "TILEJIT_DRIVER")) ||
        !tj_copy_text(&context->host.dump_dir, option_or_environment(&options, options.dump_dir, "TILEJIT_DUMP")) ||
        !resolve_packs(&paths, &options) || !open_packs(&context->host, &paths, options.pack_bytes) ||
        (options.first_call == TJ_FIRST_CALL_QUICK && !tj_textbook_open(&context->host.log, &context->host.textbook)) ||
        !(context->host.store = tj_disk_store_create(
              root, paths.root, options.store_max_bytes ? options.store_max_bytes : DEFAULT_STORE_BYTES, &context->host.log)) ||
        !name_remote(&context->host, option_or_environment(&options, options.remote, "TILEJIT_REMOTE")) ||
        !has_tables(context, options.max_plans ? options.max_plans : DEFAULT_PLANS,
                    options.max_plan_bytes ? options.max_plan_bytes : DEFAULT_PLAN_BYTES,
                    option_or_environment(&options, options.trials, "TILEJIT_TRIALS")) ||
        !begin_capture(context, option_or_environment(&options, options.capture, "TILEJIT_CAPTURE")) ||
        ((options.background_tuning_s > 0 || options.prove == TJ_PROVE_BEHIND || options.first_call == TJ_FIRST_CALL_QUICK) &&
         !(context->background = tj_background_create(context, &tj_behind, options.background_tuning_s)))) {
        status = tj_fail_memory(err, "a context");
        goto fail;
    }
    free(root);
    drop_paths(&paths);
    if (context->why_no_store && !context->is_disk_off)
        tj_log_line(&context->host.log, TJ_LOG_WARNING, "%s", context->why_no_store);
    *out = context;
    return TJ_OK;

fail:
    free(root);
    drop_paths(&paths);
    tj_context_free(context);
    return status;
}

void tj_context_free(tj_context *context)
{
    if (!context)
        return;
    if (context->host.gpu.pid == getpid()) /* a forked child has none of its parent's threads */
        tj_background_free(context->background);
    if (context->capture)
        tj_capture_write(context->capture, &context->host.log);
    tj_capture_free(context->capture);
    tj_plan_table_free(context->plans);
    tj_image_table_free(context->images);
    tj_varying_free(context->varying);
    tj_missing_free(context->missing);
    tj_pool_rest_end(&context->pools); /* its threads may use the chooser's tables */
    tj_chooser_free(context->chooser);
    tj_host_end(&context->host);
    free(context);
}

void tj_context_get_stats(tj_context *context, tj_context_stats *stats)
{
    if (!context || !stats)
        return;
    tj_context_stats own = TJ_CONTEXT_STATS_INIT;
    tj_error err;

    own.memory_hits = atomic_load_explicit(&context->stats.memory_hits, memory_order_relaxed);
    own.pack_hits = atomic_load_explicit(&context->host.stats.pack_hits, memory_order_relaxed);
    own.store_hits = atomic_load_explicit(&context->host.stats.store_hits, memory_order_relaxed);
    own.remote_hits = atomic_load_explicit(&context->host.stats.remote_hits, memory_order_relaxed);
    own.compiles = atomic_load_explicit(&context->host.stats.compiles, memory_order_relaxed);
    own.failures = atomic_load_explicit(&context->host.stats.failures, memory_order_relaxed);
    own.loads = atomic_load_explicit(&context->host.stats.loads, memory_order_relaxed);
    own.misses = atomic_load_explicit(&context->stats.misses, memory_order_relaxed);
    own.proofs = atomic_load_explicit(&context->host.stats.proofs, memory_order_relaxed);
    own.replaced = atomic_load_explicit(&context->stats.replaced, memory_order_relaxed);
    own.evictions = atomic_load_explicit(&context->stats.evictions, memory_order_relaxed);
    tj_plan_table_count(context->plans, &own.plans, &own.plan_bytes);
    own.remote_troubles = tj_remote_troubles(context->host.remote);
    if (TJ_FILL(stats, &own, TJ_CONTEXT_STATS_INIT, &err) != TJ_OK)
        tj_log_line(&context->host.log, TJ_LOG_ERROR, "%s", err.message);
}

/* Index the named packs, then the textbook's. */
static tj_pack_place pack_at(const tj_context *context, size_t index)
{
    size_t named = 0;

    while (tj_packs_name(context->host.packs, named))
        named++;
    return index < named ? (tj_pack_place){context->host.packs, index} : (tj_pack_place){context->host.textbook, index - named};
}

const char *tj_context_pack_name(const tj_context *context, size_t index)
{
    if (!context)
        return NULL;
    const tj_pack_place place = pack_at(context, index);

    return tj_packs_name(place.packs, place.index);
}

uint64_t tj_context_pack_hits(const tj_context *context, size_t index)
{
    if (!context)
        return 0;
    const tj_pack_place place = pack_at(context, index);

    return tj_packs_hits(place.packs, place.index);
}
