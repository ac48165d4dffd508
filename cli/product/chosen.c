/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chosen: the config if the options name none, as a plan would choose it, and the origin of the choice.
 */
#include "product.h"

static const struct {
    const char *word, *sentence;
} by_whom[] = {[TJ_BY_RECORD] = {"record", "a record: this problem was tuned"},
               [TJ_BY_NEAREST] = {"nearest", "measured: similar problems were, and this is expected to be the fastest here"},
               [TJ_BY_MODEL] = {"model", "the model: no record of this problem here (tilejit tune makes one)"},
               [TJ_BY_DEFAULT] = {"default", "default: nothing is expected to be clearly faster"},
               [TJ_BY_PACK] = {"pack", "a pack: what was chosen when it was made"},
               [TJ_BY_TRIALS] = {"trials", "measured: a table of trials has this problem"}};

const char *cli_chosen_by(tj_chosen_by by)
{
    return by_whom[by].sentence;
}

const char *cli_chosen_word(tj_chosen_by by)
{
    return by_whom[by].word;
}

void cli_tell_chosen(const cli_call *call, FILE *out, tj_chosen_by by)
{
    if (by == 0)
        return;
    cli_set_text(call->answer, "chosen_by", cli_chosen_word(by));
    if (!call->is_json)
        cli_print(out, "chosen by  %s\n", cli_chosen_by(by));
}

tj_status cli_choose(const cli_call *call, const tj_device_facts *facts, const tj_problem *problem, tj_config *config,
                     tj_chosen_by *by, tj_error *err)
{
    return tj_context_choose_config(call->context, problem, facts, config, by, err);
}

tj_status cli_adapt(const cli_call *call, const cli_machine_options *machine, const char *target, cli_request *request,
                    tj_error *err)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_error ignored;

    if ((machine->arch || tj_device_get(call->context, cli_device_ordinal(machine), &facts, &ignored) != TJ_OK) &&
        cli_device_of_target(target, &facts, &ignored) != TJ_OK)
        return TJ_OK;
    if (!request->has_config)
        return cli_choose(call, &facts, &request->problem, &request->config, &request->chosen_by, err);
    return tj_config_adapt(&facts, &request->problem, &request->config, err);
}
