/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit doctor: report the parts found on this machine, and those missing.
 */
#include <stdlib.h>
#include <string.h>

#include "programs.h"

typedef struct visit {
    const cli_call *call;
    tj_json *list;
    int missing;
} visit;

static void tell_finding(const tj_finding *finding, void *payload)
{
    static const char *const states[] = {"OK", "note", "missing"};
    const char *state = states[finding->state];
    visit *to = payload;
    tj_json *object = cli_append_object(to->list);

    to->missing += finding->state == TJ_FINDING_MISSING;
    cli_set_text(object, "topic", finding->topic);
    cli_set_text(object, "state", state);
    cli_set_text(object, "text", finding->text);
    cli_set_text(object, "remedy", finding->remedy);
    cli_say(to->call, "%-8s %-9s %s\n", state, finding->topic, finding->text);
    if (*finding->remedy)
        cli_say(to->call, "%19sremedy: %s\n", "", finding->remedy);
}

static void tell(visit *to, const char *topic, tj_finding_state state, const char *text, const char *remedy)
{
    tell_finding(&(const tj_finding){sizeof(tj_finding), topic, state, text, remedy}, to);
}

/* The library that tilejit with and tilejit trace preload. A build without it is not a fault, until it is asked for. */
static void look_at_library(visit *to)
{
    const tj_finding_state fault = to->call->program ? TJ_FINDING_MISSING : TJ_FINDING_NOTE;
    const char *task = getenv("TILEJIT_BLAS"), *preloads = getenv("LD_PRELOAD");
    const bool is_preloaded = preloads && strstr(preloads, programs_library);
    char path[PATH_MAX], text[PATH_MAX + 64];
    tj_error err = {TJ_OK, ""};

    if (programs_find_library(path, &err) != TJ_OK || programs_check_library(path, &err) != TJ_OK) {
        tell(to, "preload", fault, err.message, "");
        return;
    }
    (void)snprintf(text, sizeof text, "%s, for tilejit with and tilejit trace", path);
    tell(to, "preload", TJ_FINDING_OK, text, "");
    if (is_preloaded && !strstr(preloads, path)) {
        (void)snprintf(text, sizeof text, "LD_PRELOAD names another %s than this TileJIT's", programs_library);
        tell(to, "preload", TJ_FINDING_NOTE, text, "start programs by tilejit with, which replaces it");
    }
    if (task && *task && !is_preloaded)
        tell(to, "preload", TJ_FINDING_NOTE, "TILEJIT_BLAS is set, and LD_PRELOAD does not name the library that reads it",
             "start programs by tilejit with, or set both");
}

/* Would that library reach this program? */
static void look_at_program(visit *to)
{
    char path[PATH_MAX], text[PATH_MAX + 96];
    tj_error err = {TJ_OK, ""};
    bool has_own;

    if (programs_reach(to->call->program[0], path, &has_own, &err) != TJ_OK) {
        tell(to, "program", TJ_FINDING_MISSING, err.message, "");
        return;
    }
    (void)snprintf(text, sizeof text, "the loader preloads the library into %s", path);
    tell(to, "program", TJ_FINDING_OK, text, "");
    if (!has_own)
        return;
    (void)snprintf(text, sizeof text, "%s has functions of cuBLAS inside, whose calls are not reached", path);
    tell(to, "program", TJ_FINDING_MISSING, text, "link it with the shared libcublas");
}

static cli_exit doctor(cli_call *call, tj_error *err)
{
    visit to = {call, cli_add_list(call->answer, "findings"), 0};
    tj_status status = cli_open(call, call->options, false, err);

    if (status == TJ_OK)
        status = tj_doctor(call->context, tell_finding, &to, err);
    if (status == TJ_OK)
        look_at_library(&to);
    if (status == TJ_OK && call->program)
        look_at_program(&to);
    cli_set_int(call->answer, "missing", to.missing);
    if (status != TJ_OK)
        return CLI_FAILED;
    if (to.missing == 0)
        return CLI_DONE;
    (void)tj_fail(err, TJ_ERR_NOT_FOUND, "%d thing%s missing: each line that says so is followed by its remedy", to.missing,
                  to.missing == 1 ? " is" : "s are");
    return CLI_FAILED;
}

const cli_command cli_doctor = {
    .name = "doctor",
    .summary = "list the components found on this machine, and the missing ones",
    .operands = "[-- <program>]",
    .runs_program = true,
    .is_program_optional = true,
    .text = "Examines NVRTC, its builtins, the driver, the devices, whether these fit together, the store, and the library "
            "that tilejit with preloads. For a program it states whether that library would reach it, and if not, why; it "
            "does not run the program. Exits with 1 if anything is missing.",
    .example = "tilejit doctor\ntilejit doctor -- ./app\n",
    .takes = {{&cli_machine_group}},
    .option_bytes = sizeof(cli_machine_options),
    .run = doctor,
};
