/* SPDX-License-Identifier: Apache-2.0 */
/* tilejit fleet status: progress, workers, and poisoned shapes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fleet_cli.h"

typedef struct status_options {
    cli_machine_options machine;
    int32_t watch;
    int64_t poisoned;
} status_options;

static const cli_option own[] = {
    {"watch", CLI_FLAG, offsetof(status_options, watch), "Repeat every two seconds, until Ctrl-C.", .low = 1},
    {"poisoned", CLI_INT, offsetof(status_options, poisoned), "Number of poisoned shapes of each class to list; default 10.",
     "count", 0, 1000000, .initial = 10},
    {NULL},
};

static int64_t number(const tj_json *object, const char *name)
{
    return tj_json_int(tj_json_get(object, name));
}

static double real(const tj_json *object, const char *name)
{
    return tj_json_number(tj_json_get(object, name));
}

static const char *text(const tj_json *object, const char *name)
{
    const char *value = tj_json_text(tj_json_get(object, name));

    return value ? value : "?";
}

static void print_worker(const tj_json *worker)
{
    cli_print(stdout, "  %-4s %-44s %6" PRId64 " done", tj_json_bool(tj_json_get(worker, "is_dead")) ? "DEAD" : "",
              text(worker, "name"), number(worker, "done"));
    if (number(worker, "failed"))
        cli_print(stdout, ", %" PRId64 " failed", number(worker, "failed"));
    if (tj_json_bool(tj_json_get(worker, "is_dead")))
        cli_print(stdout, ", silent for %s", cli_age((int64_t)real(worker, "silent_s")).text);
    else if (real(worker, "shape_s") > 0)
        cli_print(stdout, ", at one for %s", cli_age((int64_t)real(worker, "shape_s")).text);
    cli_print(stdout, "%s\n", strcmp(text(worker, "does"), "compile") == 0 ? ", compiles ahead" : "");
}

static void print_poisoned(const tj_json *shape)
{
    char *json = tj_json_print(tj_json_get(shape, "problem")), line[CLI_SHAPE_BYTES] = "?";
    tj_problem problem;

    if (json && tj_problem_from_json(json, &problem, NULL) == TJ_OK)
        cli_print_shape(&problem, line);
    cli_print(stdout, "  poisoned %s %s: %.200s\n", line, text(tj_json_get(shape, "problem"), "dtype"), text(shape, "why"));
    free(json);
}

static void print_class(const tj_json *class, int64_t most_poisoned)
{
    const tj_json *workers = tj_json_get(class, "workers"), *poisoned = tj_json_get(class, "poisoned"), *one;
    const int64_t done = number(class, "done"), remaining = number(class, "remaining");
    int64_t listed = 0;
    size_t dead = 0;

    for (one = tj_json_first(workers); one; one = tj_json_next(one))
        dead += tj_json_bool(tj_json_get(one, "is_dead"));
    cli_print(stdout, "class %s  %s\n", text(class, "class"), text(class, "text"));
    cli_print(stdout, "  %" PRId64 " of %" PRId64 " shapes done, %" PRId64 " to go, %" PRId64 " records in all", done,
              done + remaining, remaining, number(class, "records"));
    if (real(class, "shapes_per_s") > 0 && remaining > 0)
        cli_print(stdout, ", %.2f shapes/s, %s left", real(class, "shapes_per_s"),
                  cli_age((int64_t)real(class, "left_s") + 1).text);
    cli_print(stdout, "\n  workers: %zu alive", tj_json_count(workers) - dead);
    if (dead)
        cli_print(stdout, ", %zu dead", dead);
    if (remaining > 0 && tj_json_count(workers) == dead)
        cli_print(stdout, "; nobody works");
    cli_print(stdout, "; poisoned shapes: %zu\n", tj_json_count(poisoned));
    for (one = tj_json_first(workers); one; one = tj_json_next(one))
        print_worker(one);
    for (one = tj_json_first(poisoned); one; one = tj_json_next(one)) {
        if (listed++ < most_poisoned)
            print_poisoned(one);
    }
}

static void print_all(const tj_json *root, int64_t most_poisoned)
{
    const tj_json *classes = tj_json_get(root, "classes"), *class;

    if (tj_json_count(classes) == 0)
        cli_print(stdout, "%s: no class of devices is known yet: submit shapes, or start a worker\n", text(root, "server"));
    for (class = tj_json_first(classes); class; class = tj_json_next(class))
        print_class(class, most_poisoned);
    (void)fflush(stdout);
}

static cli_exit status(cli_call *call, tj_error *err)
{
    const status_options *options = call->options;
    const fleet_table *table;
    fleet *connection = NULL;
    tj_json *root = NULL;
    tj_status found;

    if (options->watch && call->is_json) {
        (void)tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--watch and --json exclude each other: give one of them");
        return CLI_WORDS;
    }
    found = fleet_connect(&options->machine, false, &table, &connection, err);
    if (found == TJ_OK && options->watch)
        cli_note_signals();
    while (found == TJ_OK) {
        tj_json_free(root);
        root = NULL;
        found = fleet_ask_status(table, connection, &root, err);
        if (found == TJ_OK && !call->is_json) {
            if (options->watch && isatty(STDOUT_FILENO))
                (void)fputs("\033[H\033[2J", stdout);
            print_all(root, options->poisoned);
            (void)fflush(stdout); /* a pipe should receive each state when it is current */
        }
        if (!options->watch)
            break;
        for (int i = 0; i < 20 && !cli_noted_signal(); i++)
            (void)nanosleep(&(const struct timespec){0, 100000000}, NULL);
        if (cli_noted_signal())
            break;
    }
    for (const tj_json *one = found == TJ_OK ? tj_json_first(root) : NULL; one; one = tj_json_next(one))
        (void)tj_json_add_copy(call->answer, tj_json_name(one), one);
    tj_json_free(root);
    if (connection)
        table->close(connection);
    return found == TJ_OK ? CLI_DONE : CLI_FAILED;
}

const cli_command cli_fleet_status = {
    .name = "fleet status",
    .summary = "show the state of a fleet: progress, rate, workers, poisoned shapes",
    .text = "For each class of devices: shapes done and to go since the queue was last empty, shapes per second in the last "
            "minute, and the remaining time at that rate; workers, also dead ones; and the shapes that failed three times, "
            "with the reason.",
    .example = "tilejit fleet status --watch",
    .takes = {{&(const cli_group){"fleet status", own}}, {&cli_machine_group, offsetof(status_options, machine)}},
    .option_bytes = sizeof(status_options),
    .run = status,
};
