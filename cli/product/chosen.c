/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose: the config where the words name none, as a plan would choose it, and who chose it.
 */
#include <tilejit/tuner.h>

#include "cli.h"

const char *cli_chosen_by(tj_chosen_by by)
{
    switch (by) {
    case TJ_BY_RECORD:
        return "a record: this problem was tuned";
    case TJ_BY_NEAREST:
        return "the record of a similar problem";
    case TJ_BY_MODEL:
        return "the model: no record of this problem here (tilejit tune makes one)";
    case TJ_BY_DEFAULT:
        break;
    }
    return "default: nothing is expected to be clearly faster";
}

const char *cli_chosen_word(tj_chosen_by by)
{
    static const char *const words[] = {
        [TJ_BY_RECORD] = "record", [TJ_BY_NEAREST] = "nearest", [TJ_BY_MODEL] = "model", [TJ_BY_DEFAULT] = "default"};

    return words[by];
}

void cli_answer_chosen(json_t *answer, const cli_request *request)
{
    if (request->chosen_by != 0)
        cli_set_text(answer, "chosen_by", cli_chosen_word(request->chosen_by));
}

void cli_print_chosen(FILE *out, const cli_request *request)
{
    if (request->chosen_by != 0)
        fprintf(out, "chosen by  %s\n", cli_chosen_by(request->chosen_by));
}

tj_status cli_choose(tj_context *context, const tj_device_facts *facts, const tj_problem *problem, tj_config *config,
                     tj_chosen_by *by, tj_error *err)
{
    tj_records *records = tj_records_create();
    tj_error unread;
    tj_status status;

    if (!records)
        return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for the tuning records");
    if (tj_records_load(context, records, &unread) != TJ_OK)
        fprintf(stderr, "tilejit: tuning records are not used: %s\n", unread.message);
    status = tj_choose(records, problem, facts, config, by, err);
    tj_records_free(records);
    return status;
}
