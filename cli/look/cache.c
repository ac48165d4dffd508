/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit cache: look into the store, and look after it.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli.h"

typedef struct visit {
    json_t *list;
    bool is_silent;
    int64_t now, entries, bytes, hits, read_only, damaged;
} visit;

static json_t *entry_json(const tj_store_entry *entry)
{
    json_t *object = json_object();

    cli_set_text(object, "key", entry->key);
    cli_set_text(object, "path", entry->path);
    cli_set_text(object, "kernel", entry->kernel);
    cli_set_text(object, "problem", entry->problem);
    cli_set_text(object, "config", entry->config);
    cli_set_text(object, "target", entry->target);
    cli_set_text(object, "compiler", entry->compiler);
    cli_set_int(object, "bytes", entry->bytes);
    cli_set_int(object, "hits", entry->hits);
    cli_set_int(object, "created_s", entry->created_s);
    cli_set_int(object, "used_s", entry->used_s);
    cli_set_bool(object, "is_read_only", entry->is_read_only);
    if (entry->damage)
        cli_set_text(object, "damage", entry->damage);
    return object;
}

static void count_entry(visit *to, const tj_store_entry *entry)
{
    to->entries++;
    to->bytes += entry->bytes;
    to->hits += entry->hits;
    to->read_only += entry->is_read_only != 0;
    to->damaged += entry->damage != NULL;
}

static int list_entry(const tj_store_entry *entry, void *payload)
{
    visit *to = payload;
    char size[32], age[32];

    if (!to->is_silent && to->entries == 0)
        printf("%-8s  %-44s %-10s %10s %6s %9s\n", "KEY", "KERNEL", "TARGET", "SIZE", "HITS", "USED");
    count_entry(to, entry);
    (void)json_array_append_new(to->list, entry_json(entry));
    if (to->is_silent)
        return 0;
    cli_format_bytes(size, entry->bytes);
    cli_format_age(age, to->now - entry->used_s);
    printf("%-8.8s  %-44s %-10s %10s %6" PRId64 " %9s%s%s%s\n", entry->key, entry->kernel, entry->target, size, entry->hits,
           age, entry->is_read_only ? "  read-only" : "", entry->damage ? "  damaged: " : "",
           entry->damage ? entry->damage : "");
    return 0;
}

static int verify_entry(const tj_store_entry *entry, void *payload)
{
    visit *to = payload;

    count_entry(to, entry);
    if (entry->damage) {
        (void)json_array_append_new(to->list, entry_json(entry));
        if (!to->is_silent)
            printf("damaged  %s: %s\n", entry->path, entry->damage);
    }
    return 0;
}

static int count_only(const tj_store_entry *entry, void *payload)
{
    count_entry(payload, entry);
    return 0;
}

/* The walk that list, stats and verify share. */
static tj_status walk(const cli_words *words, int with_verify, tj_store_visit each, visit *to, tj_context **context,
                      tj_error *err)
{
    tj_status status;

    memset(to, 0, sizeof *to);
    to->is_silent = words->is_json;
    to->now = (int64_t)time(NULL);
    to->list = json_array();
    status = cli_context_create(words, context, err);
    return status == TJ_OK ? tj_store_list(*context, with_verify, each, to, err) : status;
}

/* ---- tuning records ----------------------------------------------------------------------------------------------- */

static json_t *record_json(const tj_record *record)
{
    json_t *object = json_object();
    tj_record_facts facts;

    tj_record_get_facts(record, &facts);
    (void)json_object_set_new(object, "problem", cli_problem_json(tj_record_problem(record)));
    cli_set_text(object, "device", facts.device);
    cli_set_text(object, "config", facts.config);
    cli_set_real(object, "median_us", facts.us);
    cli_set_real(object, "default_us", facts.default_us);
    cli_set_text(object, "strategy", facts.strategy);
    cli_set_text(object, "family", facts.family);
    cli_set_int(object, "evaluations", facts.evaluations);
    cli_set_bool(object, "complete", facts.is_complete);
    cli_set_bool(object, "cancelled", facts.was_cancelled);
    cli_set_int(object, "created_s", facts.created_s);
    cli_set_text(object, "compiler", facts.compiler);
    return object;
}

static void print_record(const tj_record *record, int64_t now)
{
    tj_record_facts facts;
    char time[32], age[32];

    tj_record_get_facts(record, &facts);
    cli_format_time(time, facts.us);
    cli_format_age(age, now - facts.created_s);
    printf("%10s  %-34s %-20s %5" PRId64 " %9s  %s\n", time, facts.problem, facts.device, facts.evaluations, age, facts.config);
}

/* list may be NULL, has_kernels: is there something above; *count: those that are used, *passed_over: those that are there and are not. */
static tj_status visit_records(tj_context *context, bool is_silent, bool has_kernels, json_t *list, int64_t *count,
                               int64_t *passed_over, tj_error *err)
{
    tj_records *records = tj_records_create();
    const int64_t now = (int64_t)time(NULL);
    tj_status status = records ? tj_records_load_all(context, records, passed_over, err)
                               : cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for the tuning records");

    *count = status == TJ_OK ? (int64_t)tj_records_count(records) : 0;
    for (size_t i = 0; i < (size_t)*count && list; i++) {
        const tj_record *one = tj_records_at(records, i);

        (void)json_array_append_new(list, record_json(one));
        if (!is_silent && i == 0)
            printf("%s%10s  %-34s %-20s %5s %9s  %s\n", has_kernels ? "\n" : "", "TIME", "TUNED", "DEVICE", "TRIED", "AGE",
                   "CONFIG");
        if (!is_silent)
            print_record(one, now);
    }
    tj_records_free(records);
    return status;
}

cli_exit cmd_cache_list(const cli_words *words, json_t *answer, tj_error *err)
{
    tj_context *context = NULL;
    json_t *records = json_array();
    int64_t count = 0, passed_over = 0;
    visit to;
    tj_status status = walk(words, 0, list_entry, &to, &context, err);

    if (status == TJ_OK)
        status = visit_records(context, words->is_json, to.entries > 0, records, &count, &passed_over, err);
    if (passed_over > 0 && !words->is_json)
        fprintf(stderr, "tilejit: records that are not used: %" PRId64 ", --log warning says why\n", passed_over);
    (void)json_object_set_new(answer, "entries", to.list);
    (void)json_object_set_new(answer, "records", records);
    cli_set_int(answer, "records_passed_over", passed_over);
    tj_context_free(context);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

cli_exit cmd_cache_stats(const cli_words *words, json_t *answer, tj_error *err)
{
    tj_context *context = NULL;
    const char *trouble;
    char size[32], limit[32];
    int64_t records = 0, passed_over = 0;
    visit to;
    tj_status status = walk(words, 0, count_only, &to, &context, err);

    json_decref(to.list);
    if (status == TJ_OK)
        status = visit_records(context, true, false, NULL, &records, &passed_over, err);
    if (status == TJ_OK) {
        trouble = tj_store_trouble(context);
        cli_set_text(answer, "path", tj_store_path(context));
        cli_set_int(answer, "entries", to.entries);
        cli_set_int(answer, "read_only_entries", to.read_only);
        cli_set_int(answer, "bytes", to.bytes);
        cli_set_int(answer, "max_bytes", tj_store_max_bytes(context));
        cli_set_int(answer, "hits", to.hits);
        cli_set_int(answer, "records", records);
        cli_set_int(answer, "records_passed_over", passed_over);
        if (trouble)
            cli_set_text(answer, "trouble", trouble);
        cli_format_bytes(size, to.bytes);
        cli_format_bytes(limit, tj_store_max_bytes(context));
        if (!words->is_json)
            printf("store      %s\nkernels    %" PRId64 "\nsize       %s of %s\nhits       %" PRId64 "\nrecords    %" PRId64
                   ", not used %" PRId64 "\ntrouble    %s\n",
                   *tj_store_path(context) ? tj_store_path(context) : "none", to.entries, size, limit, to.hits, records,
                   passed_over, trouble ? trouble : "none");
    }
    tj_context_free(context);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

cli_exit cmd_cache_verify(const cli_words *words, json_t *answer, tj_error *err)
{
    tj_context *context = NULL;
    visit to;
    tj_status status = walk(words, 1, verify_entry, &to, &context, err);

    (void)json_object_set_new(answer, "damaged", to.list);
    cli_set_int(answer, "entries", to.entries);
    tj_context_free(context);
    if (status != TJ_OK)
        return CLI_FAILED;
    if (to.damaged == 0) {
        if (!words->is_json)
            printf("%" PRId64 " %s, all sound\n", to.entries, to.entries == 1 ? "entry" : "entries");
        return CLI_DONE;
    }
    (void)cli_fail(err, TJ_ERR_IO, "%" PRId64 " of %" PRId64 " entries %s damaged: tilejit cache clear --damaged removes %s",
                   to.damaged, to.entries, to.damaged == 1 ? "is" : "are", to.damaged == 1 ? "it" : "them");
    return CLI_FAILED;
}

cli_exit cmd_cache_clear(const cli_words *words, json_t *answer, tj_error *err)
{
    tj_context *context = NULL;
    int64_t removed = 0;
    tj_status status = cli_context_create(words, &context, err);

    if (status == TJ_OK) {
        status = tj_store_clear(context, words->only_damaged, &removed, err);
        cli_set_int(answer, "removed", removed);
        if (!words->is_json)
            printf("%" PRId64 " %s removed\n", removed, removed == 1 ? "entry" : "entries");
    }
    tj_context_free(context);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

cli_exit cmd_cache_path(const cli_words *words, json_t *answer, tj_error *err)
{
    tj_context *context = NULL;
    tj_status status = cli_context_create(words, &context, err);

    if (status == TJ_OK) {
        const char *path = tj_store_path(context);

        cli_set_text(answer, "path", path);
        if (!*path)
            status = cli_fail(err, TJ_ERR_NOT_FOUND, "there is no store: %s", tj_store_trouble(context));
        else if (!words->is_json)
            puts(path);
    }
    tj_context_free(context);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

/* ---- explain ------------------------------------------------------------------------------------------------------ */

/* For showing whether two long texts differ, no more: FNV-1a. */
static uint32_t fingerprint(const char *text)
{
    uint32_t hash = 2166136261u;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

static bool is_long(const char *text)
{
    return strlen(text) > 60 || strchr(text, '\n');
}

static void print_value(const char *label, const char *text)
{
    if (!text)
        printf("    %s  no entry\n", label);
    else if (is_long(text))
        printf("    %s  %zu bytes, fingerprint %08" PRIx32 "\n", label, strlen(text), fingerprint(text));
    else
        printf("    %s  %s\n", label, text);
}

static size_t line_length(const char *text)
{
    return strcspn(text, "\n");
}

/* The first line in which two long texts differ. */
static void print_difference(const char *wanted, const char *found)
{
    int line = 1;

    while (*wanted && *found && line_length(wanted) == line_length(found) && memcmp(wanted, found, line_length(wanted)) == 0) {
        wanted += line_length(wanted);
        wanted += *wanted == '\n';
        found += line_length(found);
        found += *found == '\n';
        line++;
    }
    printf("    line %d wanted  %.*s\n    line %d found   %.*s\n", line, (int)line_length(wanted), wanted, line,
           (int)line_length(found), found);
}

static void tell_field(const tj_store_field *field, void *payload)
{
    visit *to = payload;
    json_t *object = json_object();

    cli_set_text(object, "name", field->name);
    cli_set_text(object, "wanted", field->wanted);
    if (field->found)
        cli_set_text(object, "found", field->found);
    else
        (void)json_object_set_new(object, "found", json_null());
    cli_set_bool(object, "is_equal", field->is_equal);
    (void)json_array_append_new(to->list, object);
    if (to->is_silent)
        return;
    printf("%-9s %s\n", field->name, field->is_equal ? "equal" : "different");
    print_value("wanted", field->wanted);
    if (!field->is_equal) {
        print_value("found ", field->found);
        if (field->found && (is_long(field->wanted) || is_long(field->found)))
            print_difference(field->wanted, field->found);
    }
}

cli_exit cmd_cache_explain(const cli_words *words, json_t *answer, tj_error *err)
{
    visit to;
    cli_request request;
    tj_context *context = NULL;
    tj_source *source = NULL;
    char target[16], key[33] = "";
    const char *const *targets;
    tj_error unused;
    int hit = 0;
    tj_status status;

    if (cli_read_request(words, words->operand[0], &request, err) != TJ_OK)
        return CLI_WORDS;
    memset(&to, 0, sizeof to);
    to.is_silent = words->is_json;
    to.list = json_array();
    status = cli_context_create_to_look(words, &context, err);
    if (status == TJ_OK)
        status = cli_target(context, words, target, err);
    if (status == TJ_OK)
        status = cli_adapt(context, words, target, &request, err);
    if (status == TJ_OK)
        status = tj_generate(&request.problem, &request.config, &source, err);
    if (status == TJ_OK)
        status = tj_store_explain(context, source, target, key, &hit, tell_field, &to, err);
    (void)json_object_set_new(answer, "fields", to.list);
    if (status == TJ_OK) {
        cli_set_text(answer, "key", key);
        cli_set_bool(answer, "hit", hit);
        cli_set_bool(answer, "has_compiler", tj_targets(context, &targets, &unused) == TJ_OK);
        if (!words->is_json)
            printf("key       %s: this request would %s\n", key, hit ? "hit" : "miss");
        if (!words->is_json && tj_targets(context, &targets, &unused) != TJ_OK)
            puts("note      there is no NVRTC here, so options and compiler are those of the stored entry");
    }
    tj_source_free(source);
    tj_context_free(context);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}
