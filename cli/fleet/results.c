/* SPDX-License-Identifier: Apache-2.0 */
/* tilejit fleet export, pin and key: publish the results. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fleet_cli.h"

typedef struct result_options {
    cli_machine_options machine;
    const char *output, *class;
} result_options;

static const cli_option own[] = {
    {"class", CLI_TEXT, offsetof(result_options, class),
     "The class of devices: the first digits of a class, or all; default: that of this machine's devices.", "id"},
    {NULL},
};

typedef struct collecting {
    tj_records *records;
    int64_t ignored;
    const char *why;
    tj_error err;
    tj_status status;
} collecting;

static void collect(void *payload, const char *id, const char *text)
{
    collecting *c = payload;
    tj_record *record = NULL;
    char own_id[TJ_PROBLEM_ID_BYTES];
    tj_error why;

    if (tj_record_parse(text, &record, &why) != TJ_OK) {
        c->ignored++;
        c->why = "it is not a record that this version reads";
        return;
    }
    tj_problem_id(tj_record_problem(record), own_id);
    if (strcmp(own_id, id) != 0) {
        tj_record_free(record);
        c->ignored++;
        c->why = "it is of another problem than it stands for";
    } else if (tj_records_add(c->records, record, &c->err) != TJ_OK) {
        c->status = c->err.status;
    }
}

/* Collect the records of one or several classes, and report how many were ignored. */
static tj_status collect_class(const cli_call *call, const fleet_table *table, fleet *connection, const char *class,
                               collecting *c, tj_error *err)
{
    const char *why = NULL;
    int64_t ignored = 0;
    tj_status status;

    c->ignored = 0;
    c->why = NULL;
    c->status = TJ_OK;
    status = table->each_record(connection, class, collect, c, &ignored, &why, err);
    if (status == TJ_OK && c->status != TJ_OK) {
        *err = c->err;
        status = c->status;
    }
    if (status == TJ_OK && ignored + c->ignored > 0)
        cli_print(stderr, "tilejit: class %s: records ignored: %" PRId64 "; the last: %s\n", class, ignored + c->ignored,
                  c->why ? c->why
                  : why  ? why
                         : "?");
    cli_set_int(call->answer, "ignored", tj_json_int(tj_json_get(call->answer, "ignored")) + ignored + c->ignored);
    return status;
}

static cli_exit export_all(cli_call *call, tj_error *err)
{
    const result_options *options = call->options;
    const char *path = options->output ? options->output : "-";
    const fleet_table *table;
    fleet *connection = NULL;
    fleet_chosen chosen = {.count = 0};
    collecting c = {.records = NULL};
    char *text = NULL;
    tj_status status;

    if (cli_check_stdout(call, "-o", path, err) != TJ_OK)
        return CLI_WORDS;
    status = cli_open_output(call, path, err);
    if (status == TJ_OK && !(c.records = tj_records_create()))
        status = tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for records");
    if (status == TJ_OK)
        status = fleet_connect(&options->machine, false, &table, &connection, err);
    if (status == TJ_OK)
        status = fleet_choose_classes(call, &options->machine, options->class, table, connection, &chosen, NULL, err);
    for (size_t i = 0; status == TJ_OK && i < chosen.count; i++)
        status = collect_class(call, table, connection, chosen.id[i], &c, err);
    if (status == TJ_OK) {
        text = tj_records_print(c.records, 0);
        status = text ? cli_write_output(&call->file, text, strlen(text), err)
                      : tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for records");
        cli_set_int(call->answer, "written", (int64_t)tj_records_count(c.records));
        if (status == TJ_OK && !call->file.is_stdout)
            cli_say(call, "%zu records written to %s\n", tj_records_count(c.records), path);
    }
    free(text);
    tj_records_free(c.records);
    if (connection)
        table->close(connection);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

static cli_exit pin(cli_call *call, tj_error *err)
{
    const result_options *options = call->options;
    const char *name = call->operand[0];
    const fleet_table *table;
    fleet *connection = NULL;
    fleet_chosen chosen = {.count = 0};
    tj_json *told = cli_add_list(call->answer, "classes");
    tj_status status;

    for (const char *at = name; *at; at++)
        if ((!isalnum((unsigned char)*at) && !strchr("._-", *at)) || isupper((unsigned char)*at) || at - name > 60) {
            (void)tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                          "the name of a generation is \"%.80s\": use at most 60 small letters, digits, '.', '_' and '-'",
                          name);
            return CLI_WORDS;
        }
    status = fleet_connect(&options->machine, true, &table, &connection, err);
    if (status == TJ_OK)
        status = fleet_choose_classes(call, &options->machine, options->class, table, connection, &chosen, NULL, err);
    for (size_t i = 0; status == TJ_OK && i < chosen.count; i++) {
        collecting c = {.records = tj_records_create()};
        char *text = NULL;

        status = c.records ? collect_class(call, table, connection, chosen.id[i], &c, err)
                           : tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for records");
        if (status == TJ_OK && !(text = tj_records_print(c.records, 0)))
            status = tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for records");
        if (status == TJ_OK)
            status = table->keep_generation(connection, chosen.id[i], name, text, err);
        if (status == TJ_OK) {
            tj_json *object = cli_append_object(told);

            cli_set_text(object, "class", chosen.id[i]);
            cli_set_int(object, "records", (int64_t)tj_records_count(c.records));
            cli_say(call, "class %s: generation %s holds %zu records\n", chosen.id[i], name, tj_records_count(c.records));
        }
        free(text);
        tj_records_free(c.records);
    }
    if (connection)
        table->close(connection);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

static cli_exit make_key(cli_call *call, tj_error *err)
{
    const fleet_table *table;
    const char *path = call->operand[0];

    if (fleet_table_open(&table, err) != TJ_OK || table->make_key(path, err) != TJ_OK)
        return CLI_FAILED;
    cli_set_text(call->answer, "key", path);
    cli_say(call, "%s signs: for those that write, and nobody else\n%s.pub is for all that read\n", path, path);
    return CLI_DONE;
}

const cli_command cli_fleet_export = {
    .name = "fleet export",
    .summary = "write the records that a fleet found to a file",
    .text = "Writes the records that a trusted key signed; a line on stderr states the number of others. tilejit tune --import "
            "reads the file.",
    .example = "tilejit fleet export -o records.json",
    .takes = {{&(const cli_group){"fleet export", own}},
              {&cli_output_group, offsetof(result_options, output)},
              {&cli_machine_group, offsetof(result_options, machine)}},
    .option_bytes = sizeof(result_options),
    .run = export_all,
};
const cli_command cli_fleet_pin = {
    .name = "fleet pin",
    .operands = "<name>",
    .operand_count = {1, 1},
    .summary = "give the current records a name that never changes its meaning",
    .text = "A job whose processes all run with redis://host?generation=NAME chooses by these records only, so that all of "
            "them choose the same kernels.",
    .example = "tilejit fleet pin 2026-06",
    .takes = {{&(const cli_group){"fleet pin", own}}, {&cli_machine_group, offsetof(result_options, machine)}},
    .option_bytes = sizeof(result_options),
    .run = pin,
};
const cli_command cli_fleet_key = {
    .name = "fleet key",
    .operands = "<file>",
    .operand_count = {1, 1},
    .summary = "make a key to sign shared records and images",
    .text = "Writes the file, for processes that write to a server (sign=FILE), and FILE.pub, a line for the list of trusted "
            "keys of processes that read (trust=FILE). It never overwrites an existing file.",
    .example = "tilejit fleet key ~/.config/tilejit.key",
    .run = make_key,
};
