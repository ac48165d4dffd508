/* SPDX-License-Identifier: Apache-2.0 */
/* tilejit fleet submit and cancel: the shapes to be tuned. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fleet_cli.h"

typedef struct submit_options {
    cli_request_options request;
    cli_machine_options machine;
    const char *class;
    int32_t again;
} submit_options;

static const cli_option of_submit[] = {
    {"class", CLI_TEXT, offsetof(submit_options, class),
     "The class of devices: the first digits of a class that tilejit fleet status lists, or all; default: that of this "
     "machine's devices.",
     "id"},
    {"again", CLI_FLAG, offsetof(submit_options, again), "Queue also shapes that have a record, and poisoned shapes.",
     .low = 1},
    {NULL},
};

static void drop_shapes(fleet_shape *shape, size_t count)
{
    for (size_t i = 0; shape && i < count; i++)
        free(shape[i].problem);
    free(shape);
}

/* A worker looks for its own record before it tunes, unless the shape asks to be tuned again. */
static char *describe(const tj_problem *problem, bool again)
{
    char *text = tj_problem_to_json(problem), *longer = NULL;

    if (!text || !again)
        return text;
    if (asprintf(&longer, "{\"again\":1,%s", text + 1) < 0)
        longer = NULL;
    free(text);
    return longer;
}

static tj_status describe_shapes(const cli_shapes *shapes, bool again, fleet_shape **list, tj_error *err)
{
    *list = calloc(shapes->count, sizeof **list);
    for (size_t i = 0; *list && i < shapes->count; i++) {
        tj_problem_id(&shapes->item[i].problem, (*list)[i].id);
        (*list)[i].problem = describe(&shapes->item[i].problem, again);
        if (!(*list)[i].problem) {
            drop_shapes(*list, shapes->count);
            *list = NULL;
        }
    }
    return *list ? TJ_OK : tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for %zu shapes", shapes->count);
}

static void tell_submitted(const cli_call *call, const char *class, const fleet_submitted *s, tj_json *list)
{
    tj_json *object = cli_append_object(list);

    cli_set_text(object, "class", class);
    cli_set_int(object, "added", s->added);
    cli_set_int(object, "queued_already", s->queued);
    cli_set_int(object, "recorded_already", s->recorded);
    cli_set_int(object, "poisoned", s->poisoned);
    cli_say(call, "class %s: %" PRId64 " shapes queued", class, s->added);
    if (s->queued)
        cli_say(call, ", %" PRId64 " were so already", s->queued);
    if (s->recorded)
        cli_say(call, ", %" PRId64 " have a record", s->recorded);
    if (s->poisoned)
        cli_say(call, ", %" PRId64 " are poisoned and passed over: --again tries them once more", s->poisoned);
    cli_say(call, "\n");
}

static cli_exit submit(cli_call *call, tj_error *err)
{
    const submit_options *options = call->options;
    const char *path = call->operand[0];
    const fleet_table *table;
    fleet *connection = NULL;
    fleet_shape *list = NULL;
    fleet_chosen chosen = {.count = 0};
    cli_shapes shapes = {NULL, 0};
    char *facts = NULL;
    tj_json *told = cli_add_list(call->answer, "classes");
    tj_status status;
    cli_exit code;

    call->operand_count = 0; /* the operand is a file */
    code = cli_read_shapes(call, &options->request, path, &shapes, err);
    if (code != CLI_DONE) {
        free(shapes.item);
        return code;
    }
    status = fleet_connect(&options->machine, false, &table, &connection, err);
    if (status == TJ_OK)
        status = fleet_choose_classes(call, &options->machine, options->class, table, connection, &chosen, &facts, err);
    if (status == TJ_OK)
        status = describe_shapes(&shapes, options->again, &list, err);
    for (size_t i = 0; status == TJ_OK && i < chosen.count; i++) {
        fleet_submitted submitted;

        status = table->submit(connection, &(const fleet_class){chosen.id[i], facts}, list, shapes.count, options->again,
                               &submitted, err);
        if (status == TJ_OK)
            tell_submitted(call, chosen.id[i], &submitted, told);
    }
    drop_shapes(list, shapes.count);
    if (connection)
        table->close(connection);
    free(facts);
    free(shapes.item);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

/* ---- cancel ------------------------------------------------------------------------------------------------------- */

typedef struct cancel_options {
    cli_machine_options machine;
    const char *class;
    int32_t poisoned;
} cancel_options;

static const cli_option of_cancel[] = {
    {"class", CLI_TEXT, offsetof(cancel_options, class),
     "The class of devices: the first digits of a class, or all; default: that of this machine's devices.", "id"},
    {"poisoned", CLI_FLAG, offsetof(cancel_options, poisoned),
     "Remove the poisoned shapes instead, so that they may be submitted again.", .low = 1},
    {NULL},
};

static cli_exit cancel(cli_call *call, tj_error *err)
{
    const cancel_options *options = call->options;
    const fleet_table *table;
    fleet *connection;
    fleet_chosen chosen = {.count = 0};
    tj_json *told = cli_add_list(call->answer, "classes");
    tj_status status = fleet_connect(&options->machine, false, &table, &connection, err);

    if (status == TJ_OK)
        status = fleet_choose_classes(call, &options->machine, options->class, table, connection, &chosen, NULL, err);
    for (size_t i = 0; status == TJ_OK && i < chosen.count; i++) {
        tj_json *object;
        int64_t count;

        status = table->cancel(connection, chosen.id[i], options->poisoned, &count, err);
        if (status != TJ_OK)
            break;
        object = cli_append_object(told);
        cli_set_text(object, "class", chosen.id[i]);
        cli_set_int(object, options->poisoned ? "forgotten" : "cancelled", count);
        if (options->poisoned)
            cli_say(call, "class %s: %" PRId64 " poisoned shapes forgotten\n", chosen.id[i], count);
        else
            cli_say(call, "class %s: %" PRId64 " shapes cancelled; those in hand are finished, and their records kept\n",
                    chosen.id[i], count);
    }
    if (connection)
        table->close(connection);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

const cli_command cli_fleet_submit = {
    .name = "fleet submit",
    .operands = "<list>",
    .operand_count = {1, 1},
    .summary = "queue shapes for many machines to tune",
    .text = "Reads a list of shapes as tilejit tune --shapes does (- is stdin) and puts them into the queue of a server, for "
            "devices like this machine's or those of --class. Shapes that are queued, have a record or are poisoned are "
            "skipped, so a list may be submitted any number of times.",
    .example = "tilejit fleet submit shapes.csv --remote redis://head:6379\n"
               "tilejit fleet submit shapes.csv --class all --dtype bf16",
    .takes = {{&(const cli_group){"fleet submit", of_submit}},
              {cli_request_groups, offsetof(submit_options, request), CLI_SCALARS},
              {&cli_machine_group, offsetof(submit_options, machine)}},
    .option_bytes = sizeof(submit_options),
    .run = submit,
};
const cli_command cli_fleet_cancel = {
    .name = "fleet cancel",
    .summary = "empty the queue of shapes to tune",
    .text = "Workers finish the shapes that they have begun. Records stay.",
    .example = "tilejit fleet cancel --class all",
    .takes = {{&(const cli_group){"fleet cancel", of_cancel}}, {&cli_machine_group, offsetof(cancel_options, machine)}},
    .option_bytes = sizeof(cancel_options),
    .run = cancel,
};
