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

cli_exit cmd_cache_list(const cli_words *words, json_t *answer, tj_error *err)
{
    tj_context *context = NULL;
    visit to;
    tj_status status = walk(words, 0, list_entry, &to, &context, err);

    (void)json_object_set_new(answer, "entries", to.list);
    tj_context_free(context);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

cli_exit cmd_cache_stats(const cli_words *words, json_t *answer, tj_error *err)
{
    tj_context *context = NULL;
    const char *trouble;
    char size[32], limit[32];
    visit to;
    tj_status status = walk(words, 0, count_only, &to, &context, err);

    json_decref(to.list);
    if (status == TJ_OK) {
        trouble = tj_store_trouble(context);
        cli_set_text(answer, "path", tj_store_path(context));
        cli_set_int(answer, "entries", to.entries);
        cli_set_int(answer, "read_only_entries", to.read_only);
        cli_set_int(answer, "bytes", to.bytes);
        cli_set_int(answer, "max_bytes", tj_store_max_bytes(context));
        cli_set_int(answer, "hits", to.hits);
        if (trouble)
            cli_set_text(answer, "trouble", trouble);
        cli_format_bytes(size, to.bytes);
        cli_format_bytes(limit, tj_store_max_bytes(context));
        if (!words->is_json)
            printf("store      %s\nentries    %" PRId64 "\nsize       %s of %s\nhits       %" PRId64 "\ntrouble    %s\n",
                   *tj_store_path(context) ? tj_store_path(context) : "switched off", to.entries, size, limit, to.hits,
                   trouble ? trouble : "none");
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
            status = cli_fail(err, TJ_ERR_NOT_FOUND, "there is no store: the disk is switched off, or no folder is known");
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
    int hit = 0;
    tj_status status;

    if (cli_read_request(words, words->operand[0], &request, err) != TJ_OK)
        return CLI_WORDS;
    memset(&to, 0, sizeof to);
    to.is_silent = words->is_json;
    to.list = json_array();
    status = cli_context_create(words, &context, err);
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
        if (!words->is_json)
            printf("key       %s: this request would %s\n", key, hit ? "hit" : "miss");
    }
    tj_source_free(source);
    tj_context_free(context);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}
