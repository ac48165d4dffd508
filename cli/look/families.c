/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit families: list the families of kernels and their parameters.
 */
#include "words.h"

/* The default of a parameter that the form leaves open. */
static const char SETTLED[] = "what the shape needs";

/* List the values that a tuner tries. Named values are listed as choices already. */
static void set_tried(tj_json *object, const tj_param *param)
{
    tj_json *list = cli_add_list(object, "tried");
    int32_t value[TJ_PARAM_MAX_TRIED];
    const size_t count = tj_param_values(param, value);

    for (size_t i = 0; i < count; i++)
        if (value[i] == 0)
            tj_json_add_text(list, NULL, SETTLED);
        else if (param->choice)
            tj_json_add_text(list, NULL, param->choice[value[i] - 1]);
        else
            tj_json_add_int(list, NULL, value[i]);
}

static void set_param(tj_json *object, const tj_param *param)
{
    cli_set_text(object, "name", param->name);
    cli_set_text(object, "summary", param->summary);
    if (param->choice) {
        tj_json *choice = cli_add_list(object, "choice");

        for (size_t i = 0; param->choice[i]; i++)
            tj_json_add_text(choice, NULL, param->choice[i]);
        cli_set_text(object, "default", param->standard ? param->choice[param->standard - 1] : SETTLED);
    } else {
        cli_set_int(object, "minimum", param->minimum);
        cli_set_int(object, "maximum", param->maximum);
        cli_set_int(object, "default", param->standard);
    }
    set_tried(object, param);
}

static void print_param(const tj_param *param)
{
    int32_t value[TJ_PARAM_MAX_TRIED];
    const size_t count = tj_param_values(param, value);

    cli_print(stdout, "    %-12s ", param->name);
    for (size_t i = 0; param->choice && param->choice[i]; i++)
        cli_print(stdout, "%s%s", i ? " | " : "", param->choice[i]);
    if (param->choice) {
        cli_print(stdout, " (default %s): %s\n", param->standard ? param->choice[param->standard - 1] : SETTLED,
                  param->summary);
        return;
    }
    cli_print(stdout, "%d to %d (default %d): %s\n%18stuned over", (int)param->minimum, (int)param->maximum,
              (int)param->standard, param->summary, "");
    for (size_t i = 0; i < count; i++)
        cli_print(stdout, " %d", (int)value[i]);
    cli_print(stdout, "\n");
}

static cli_exit families(cli_call *call, tj_error *err)
{
    tj_json *list = cli_add_list(call->answer, "families");

    (void)err;
    for (size_t f = 0; f < tj_family_count(); f++) {
        const tj_family *family = tj_family_at(f);
        tj_json *object = cli_append_object(list), *params = cli_add_list(object, "parameters");
        tj_json *constraints = cli_add_list(object, "constraints");
        const char *sentence;

        cli_say(call, "%s%s: %s\n", f ? "\n" : "", tj_family_name(family), tj_family_summary(family));
        for (size_t i = 0; i < tj_family_param_count(family); i++) {
            if (!call->is_json)
                print_param(tj_family_param(family, i));
            set_param(cli_append_object(params), tj_family_param(family, i));
        }
        for (size_t i = 0; (sentence = tj_family_constraint(family, i)); i++) {
            cli_say(call, "    must hold: %s\n", sentence);
            tj_json_add_text(constraints, NULL, sentence);
        }
        cli_set_text(object, "name", tj_family_name(family));
        cli_set_text(object, "summary", tj_family_summary(family));
    }
    return CLI_DONE;
}

const cli_command cli_families = {
    .name = "families",
    .summary = "list the ways to compute a product, with their parameters",
    .text = "Prints every family with its parameters, their ranges and defaults, and the constraints between them.",
    .run = families,
};
