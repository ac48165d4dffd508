/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit cache: inspect and maintain the store.
 */
#include <inttypes.h>
#include <time.h>

#include "product.h"

typedef struct clear_options {
    cli_machine_options machine;
    int32_t only_damaged;
} clear_options;

static const cli_option of_clear[] = {
    {"damaged", CLI_FLAG, offsetof(clear_options, only_damaged),
     "Remove only the entries that tilejit cache verify would "
     "name.",
     .low = 1},
    {NULL},
};

typedef struct visit {
    const cli_call *call;
    tj_json *list;
    int64_t now, entries, bytes, hits, read_only, damaged;
    tj_records *records; /* of walk_all */
    int64_t passed_over; /* records that were not used */
} visit;

static void add_entry(tj_json *list, const tj_store_entry *entry)
{
    tj_json *object = cli_append_object(list);

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
}

static int count_entry(const tj_store_entry *entry, void *payload)
{
    visit *to = payload;

    to->entries++;
    to->bytes += entry->bytes;
    to->hits += entry->hits;
    to->read_only += entry->is_read_only != 0;
    to->damaged += entry->damage != NULL;
    return 0;
}

static int list_entry(const tj_store_entry *entry, void *payload)
{
    visit *to = payload;

    if (to->entries == 0)
        cli_say(to->call, "%-8s  %-44s %-10s %10s %6s %9s\n", "KEY", "KERNEL", "TARGET", "SIZE", "HITS", "USED");
    (void)count_entry(entry, to);
    add_entry(to->list, entry);
    cli_say(to->call, "%-8.8s  %-44s %-10s %10s %6" PRId64 " %9s%s%s%s\n", entry->key, entry->kernel, entry->target,
            cli_bytes(entry->bytes).text, entry->hits, cli_age(to->now - entry->used_s).text,
            entry->is_read_only ? "  read-only" : "", entry->damage ? "  damaged: " : "", entry->damage ? entry->damage : "");
    return 0;
}

static int verify_entry(const tj_store_entry *entry, void *payload)
{
    visit *to = payload;

    (void)count_entry(entry, to);
    if (entry->damage) {
        add_entry(to->list, entry);
        cli_say(to->call, "damaged  %s: %s\n", entry->path, entry->damage);
    }
    return 0;
}

/* Walk the store for list, stats and verify. member: the list of the answer that each fills; NULL: none. */
static tj_status walk(cli_call *call, const char *member, int with_verify, tj_store_visit each, visit *to, tj_error *err)
{
    const tj_status status = cli_open(call, call->options, false, err);

    *to = (visit){.call = call, .list = member ? cli_add_list(call->answer, member) : NULL, .now = (int64_t)time(NULL)};
    return status == TJ_OK ? tj_store_list(call->context, with_verify, each, to, err) : status;
}

/* ---- tuning records ----------------------------------------------------------------------------------------------- */

static void add_record(tj_json *list, const tj_record *record)
{
    tj_json *object = cli_append_object(list);
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;

    if (tj_record_get_facts(record, &facts, NULL) != TJ_OK)
        return;
    cli_set_problem(object, tj_record_problem(record));
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
}

static void print_record(const cli_call *call, const tj_record *record, int64_t now)
{
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;

    if (tj_record_get_facts(record, &facts, NULL) != TJ_OK)
        return;
    cli_say(call, "%10s  %-34s %-20s %5" PRId64 " %9s  %s\n", cli_duration(facts.us).text, facts.problem, facts.device,
            facts.evaluations, cli_age(now - facts.created_s).text, facts.config);
}

/* Walk the store and load the records: free them. */
static tj_status walk_all(cli_call *call, const char *member, tj_store_visit each, visit *to, tj_error *err)
{
    const tj_status status = walk(call, member, 0, each, to, err);

    if (status != TJ_OK)
        return status;
    to->records = tj_records_create();
    return to->records ? tj_records_load_all(call->context, to->records, &to->passed_over, err)
                       : tj_fail_memory(err, "the tuning records");
}

/* ---- commands ----------------------------------------------------------------------------------------------------- */

static cli_exit list(cli_call *call, tj_error *err)
{
    tj_json *all = cli_add_list(call->answer, "records");
    visit to;
    const tj_status status = walk_all(call, "entries", list_entry, &to, err);

    for (size_t i = 0; status == TJ_OK && i < tj_records_count(to.records); i++) {
        add_record(all, tj_records_at(to.records, i));
        if (i == 0)
            cli_say(call, "%s%10s  %-34s %-20s %5s %9s  %s\n", to.entries > 0 ? "\n" : "", "TIME", "TUNED", "DEVICE", "TRIED",
                    "AGE", "CONFIG");
        print_record(call, tj_records_at(to.records, i), to.now);
    }
    if (to.passed_over > 0 && !call->is_json)
        cli_print(stderr, "tilejit: records that are not used: %" PRId64 ", --log warning says why\n", to.passed_over);
    cli_set_int(call->answer, "records_passed_over", to.passed_over);
    tj_records_free(to.records);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

static cli_exit stats(cli_call *call, tj_error *err)
{
    visit to;
    const tj_status status = walk_all(call, NULL, count_entry, &to, err);

    if (status == TJ_OK) {
        const char *path = tj_store_path(call->context), *trouble = tj_store_trouble(call->context);
        const int64_t count = (int64_t)tj_records_count(to.records);

        cli_set_text(call->answer, "path", path);
        cli_set_int(call->answer, "entries", to.entries);
        cli_set_int(call->answer, "read_only_entries", to.read_only);
        cli_set_int(call->answer, "bytes", to.bytes);
        cli_set_int(call->answer, "max_bytes", tj_store_max_bytes(call->context));
        cli_set_int(call->answer, "hits", to.hits);
        cli_set_int(call->answer, "records", count);
        cli_set_int(call->answer, "records_passed_over", to.passed_over);
        if (trouble)
            cli_set_text(call->answer, "trouble", trouble);
        cli_say(call,
                "store      %s\nkernels    %" PRId64 "\nsize       %s of %s\nhits       %" PRId64 "\nrecords    %" PRId64
                ", not used %" PRId64 "\ntrouble    %s\n",
                *path ? path : "none", to.entries, cli_bytes(to.bytes).text, cli_bytes(tj_store_max_bytes(call->context)).text,
                to.hits, count, to.passed_over, trouble ? trouble : "none");
    }
    tj_records_free(to.records);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

static cli_exit verify(cli_call *call, tj_error *err)
{
    visit to;
    tj_status status = walk(call, "damaged", 1, verify_entry, &to, err);

    cli_set_int(call->answer, "entries", to.entries);
    if (status == TJ_OK && to.damaged == 0)
        cli_say(call, "%" PRId64 " %s, all sound\n", to.entries, to.entries == 1 ? "entry" : "entries");
    else if (status == TJ_OK)
        status =
            tj_fail(err, TJ_ERR_IO, "%" PRId64 " of %" PRId64 " entries %s damaged: tilejit cache clear --damaged removes %s",
                    to.damaged, to.entries, to.damaged == 1 ? "is" : "are", to.damaged == 1 ? "it" : "them");
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

static cli_exit clear(cli_call *call, tj_error *err)
{
    const clear_options *options = call->options;
    int64_t removed = 0;
    tj_status status = cli_open(call, &options->machine, false, err);

    if (status == TJ_OK) {
        status = tj_store_clear(call->context, options->only_damaged, &removed, err);
        cli_set_int(call->answer, "removed", removed);
        cli_say(call, "%" PRId64 " %s removed\n", removed, removed == 1 ? "entry" : "entries");
    }
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

static cli_exit path(cli_call *call, tj_error *err)
{
    tj_status status = cli_open(call, call->options, false, err);

    if (status == TJ_OK) {
        const char *folder = tj_store_path(call->context);

        cli_set_text(call->answer, "path", folder);
        if (*folder)
            cli_say(call, "%s\n", folder);
        else
            status = tj_fail(err, TJ_ERR_NOT_FOUND, "there is no store: %s", tj_store_trouble(call->context));
    }
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

const cli_command cli_cache_list = {
    .name = "cache list",
    .summary = "list the stored kernels and tuning records",
    .text = "Lists kernels, most recently used first, then the results of tilejit tune: the shape, its time and its config.",
    .takes = {{&cli_machine_group}},
    .option_bytes = sizeof(cli_machine_options),
    .run = list,
};
const cli_command cli_cache_stats = {
    .name = "cache stats",
    .summary = "summarise the store",
    .text = "Prints its folder, the number of kernels, their size, the number of reads, and the number of tuning records.",
    .takes = {{&cli_machine_group}},
    .option_bytes = sizeof(cli_machine_options),
    .run = stats,
};
const cli_command cli_cache_verify = {
    .name = "cache verify",
    .summary = "read every stored file and compare its checksum",
    .text = "Names each damaged entry and exits with 1 if there is one. Damage does no harm: such an entry is a miss, and is "
            "replaced.",
    .takes = {{&cli_machine_group}},
    .option_bytes = sizeof(cli_machine_options),
    .run = verify,
};
const cli_command cli_cache_clear = {
    .name = "cache clear",
    .summary = "remove the stored kernels",
    .text = "Tuning records stay, and so do files that the store did not write.",
    .example = "tilejit cache clear --damaged",
    .takes = {{&(const cli_group){"cache clear", of_clear}}, {&cli_machine_group, offsetof(clear_options, machine)}},
    .option_bytes = sizeof(clear_options),
    .run = clear,
};
const cli_command cli_cache_path = {
    .name = "cache path",
    .summary = "print the store's folder",
    .text = "It may not exist yet.",
    .takes = {{&cli_machine_group}},
    .option_bytes = sizeof(cli_machine_options),
    .run = path,
};
