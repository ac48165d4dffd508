/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command: find commands and options, and suggest the nearest command for an unknown name.
 */
#include <string.h>

#include "nearest.h"
#include "words.h"

static const cli_name levels[] = {
    {"error", TJ_LOG_ERROR}, {"warning", TJ_LOG_WARNING}, {"info", TJ_LOG_INFO}, {"debug", TJ_LOG_DEBUG}, {NULL}};

static const cli_option common[] = {
    {"json", CLI_FLAG, offsetof(cli_call, is_json), "Print one JSON object on stdout, also for a failure.", .low = 1},
    {"log", CLI_CHOICE, offsetof(cli_call, log_level), "Log to stderr: error, warning, info, debug.", "level", .names = levels},
    {"verbose", CLI_FLAG, offsetof(cli_call, log_level), "The same as --log info.", .low = TJ_LOG_INFO},
    {"help", CLI_FLAG, offsetof(cli_call, is_help), "Describe the command, and exit.", .low = 1, .letter = 'h'},
    {NULL},
};

const cli_group cli_common_group = {"Every command", common};

bool cli_taken_at(const cli_command *command, size_t index, cli_taken *taken)
{
    for (const cli_taken *t = command->takes; t->group; t++) {
        if (index <= t->more) {
            *taken = (cli_taken){t->group + index, t->offset};
            return true;
        }
        index -= t->more + 1;
    }
    *taken = (cli_taken){&cli_common_group, 0};
    return index == 0;
}

const cli_option *cli_option_at(const cli_command *command, size_t index, cli_taken *from)
{
    for (size_t g = 0; cli_taken_at(command, g, from); g++)
        for (const cli_option *option = from->group->options; option->name; option++)
            if (index-- == 0)
                return option;
    return NULL;
}

const cli_command *cli_find_command(const cli_table *table, const char *first, const char *second, int *used)
{
    char both[128];

    (void)snprintf(both, sizeof both, "%s %s", first, second ? second : "");
    for (*used = second ? 2 : 1; *used > 0; --*used) /* "pack list" before "pack" */
        for (size_t i = 0; table->commands[i]; i++)
            if (strcmp(table->commands[i]->name, *used == 2 ? both : first) == 0)
                return table->commands[i];
    return NULL;
}

static const char *name_at(size_t index, const void *payload)
{
    const cli_command *command = ((const cli_table *)payload)->commands[index];

    return command ? command->name : NULL;
}

tj_status cli_no_command(const cli_table *table, const char *first, const char *second, tj_error *err)
{
    const bool is_cache = strcmp(first, "cache") == 0;
    char both[128];
    const char *near;

    if (is_cache && !second)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "cache needs an action: list, stats, verify, clear, path or explain");
    if (first[0] == '-')
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "\"%.127s\" comes before any command: write tilejit <command> [options]",
                       first);
    (void)snprintf(both, sizeof both, "%s%s%s", first, is_cache ? " " : "", is_cache ? second : "");
    near = tj_nearest(both, name_at, table);
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "there is no command \"%s\"%s%s%s", both, near ? ": did you mean " : "",
                   near ? near : "", near ? "?" : "");
}
