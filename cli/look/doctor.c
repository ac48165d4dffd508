/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit doctor: report the parts found on this machine, and those missing.
 */
#include "product.h"

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

static cli_exit doctor(cli_call *call, tj_error *err)
{
    visit to = {call, cli_add_list(call->answer, "findings"), 0};
    tj_status status = cli_open(call, call->options, false, err);

    if (status == TJ_OK)
        status = tj_doctor(call->context, tell_finding, &to, err);
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
    .summary = "say what was found on this machine, and what is missing",
    .text = "Looks at NVRTC, its builtins, the driver, the devices, whether they fit together, and the store. Exits with 1 if "
            "anything is missing.",
    .takes = {{&cli_machine_group}},
    .option_bytes = sizeof(cli_machine_options),
    .run = doctor,
};
