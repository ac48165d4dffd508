/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit: the command. The table of commands, and the common parts: finding the command, reporting a failure in one line, and
 * not losing output.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "product.h"

/* ---- the table ---------------------------------------------------------------------------------------------------- */

/* Each in the file of its name. */
extern const cli_command cli_matmul, cli_repack, cli_run, cli_bench, cli_tune, cli_prove, cli_trace, cli_with, cli_generate,
    cli_compile, cli_explain, cli_report, cli_families, cli_devices, cli_doctor, cli_cache_list, cli_cache_stats,
    cli_cache_verify, cli_cache_clear, cli_cache_path, cli_cache_explain, cli_warm_up, cli_pack, cli_pack_list, cli_pack_verify,
    cli_pack_diff, cli_pack_unpack, cli_fleet_submit, cli_fleet_work, cli_fleet_status, cli_fleet_cancel, cli_fleet_export,
    cli_fleet_pin, cli_fleet_key, cli_completion, cli_help, cli_version, cli_man;

static const cli_command *const commands[] = {&cli_matmul,       &cli_repack,       &cli_run,
                                              &cli_bench,        &cli_tune,         &cli_prove,
                                              &cli_trace,        &cli_with,         &cli_generate,
                                              &cli_compile,      &cli_explain,      &cli_report,
                                              &cli_families,     &cli_devices,      &cli_doctor,
                                              &cli_cache_list,   &cli_cache_stats,  &cli_cache_verify,
                                              &cli_cache_clear,  &cli_cache_path,   &cli_cache_explain,
                                              &cli_warm_up,      &cli_pack,         &cli_pack_list,
                                              &cli_pack_verify,  &cli_pack_diff,    &cli_pack_unpack,
                                              &cli_fleet_submit, &cli_fleet_work,   &cli_fleet_status,
                                              &cli_fleet_cancel, &cli_fleet_export, &cli_fleet_pin,
                                              &cli_fleet_key,    &cli_completion,   &cli_help,
                                              &cli_version,      &cli_man,          NULL};
static const cli_group *const shared[] = {&cli_request_groups[CLI_PROBLEM],
                                          &cli_request_groups[CLI_LAYOUT],
                                          &cli_request_groups[CLI_SCALES],
                                          &cli_request_groups[CLI_SCALARS],
                                          &cli_request_groups[CLI_CONFIG],
                                          &cli_machine_group,
                                          &cli_output_group,
                                          &cli_check_group,
                                          &cli_timing_group,
                                          NULL};
static const cli_table table = {commands, shared};

/* ---- main --------------------------------------------------------------------------------------------------------- */

/*
 * If stdin, stdout or stderr is closed, the next file that anything opens would take its number, and a message would end up in
 * the store. The placeholders fail when used, as closed files would.
 */
static void occupy_standard_files(void)
{
    for (int number = 0; number <= 2; number++)
        if (fcntl(number, F_GETFD) == -1 && errno == EBADF)
            (void)open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);
}

static bool asks_for_json(int count, char *const *word)
{
    for (int i = 1; i < count && strcmp(word[i], "--") != 0; i++)
        if (strcmp(word[i], "--json") == 0)
            return true;
    return false;
}

static cli_exit dispatch(int count, char *const *word, cli_call *call, tj_error *err)
{
    int used = 0;

    if (strcmp(word[1], "--help") == 0 || strcmp(word[1], "-h") == 0)
        call->command = &cli_help;
    else if (strcmp(word[1], "--version") == 0)
        call->command = &cli_version;
    else
        call->command = cli_find_command(&table, word[1], count > 2 ? word[2] : NULL, &used);
    if (!call->command) {
        (void)cli_no_command(&table, word[1], count > 2 && word[2][0] != '-' ? word[2] : NULL, err);
        return CLI_WORDS;
    }
    used = used ? used : 1;
    if (cli_parse(count - 1 - used, word + 1 + used, call, err) != TJ_OK)
        return CLI_WORDS;
    if (!call->is_help) {
        const cli_exit code = call->command->run(call, err);

        tj_output_close(&call->file);
        tj_context_free(call->context);
        return code;
    }
    cli_print_help(stdout, call->command);
    return CLI_DONE;
}

/* Report a failure in one line, and for wrong options say in a second one where to look. */
static void tell_failure(const cli_command *command, cli_exit code, const tj_error *err)
{
    (void)fflush(stdout); /* so that on a terminal the failure comes last; finish_output() reports errors */
    cli_print(stderr, "tilejit: %s\n", err->message);
    if (code == CLI_WORDS && command && command != &cli_help)
        cli_print(stderr, "try: tilejit help %s\n", command->name);
    else if (code == CLI_WORDS)
        fputs("try: tilejit help, which lists the commands\n", stderr);
}

/* Buffered output may fail as late as here: a full disk, a closed stdout. */
static cli_exit finish_output(cli_exit code)
{
    bool had_error = ferror(stdout) != 0;
    int reason;

    errno = 0;
    if (fclose(stdout) != 0 || had_error) {
        reason = errno;
        if (reason != EPIPE)
            cli_print(stderr, "tilejit: cannot write to stdout: %s\n", reason ? strerror(reason) : "a write failed");
        return code == CLI_DONE ? CLI_FAILED : code;
    }
    return code;
}

int main(int argc, char **argv)
{
    cli_call call = {.table = &table, .file = {.folder = -1, .stream = -1}};
    tj_error err = {TJ_OK, ""};
    cli_exit code;
    bool is_json;

    occupy_standard_files();
    if (argc < 2) {
        cli_print_overview(stderr, &table);
        return CLI_WORDS;
    }
    is_json = asks_for_json(argc, argv);
    cli_listen(is_json);
    call.answer = tj_json_new();
    if (!call.answer) {
        fputs("tilejit: out of memory\n", stderr);
        return CLI_FAILED;
    }
    code = dispatch(argc, argv, &call, &err);
    cli_stop_listening();
    if (is_json && !(call.is_help && code == CLI_DONE)) {
        if (code != CLI_DONE)
            cli_set_error(call.answer, err.status, err.message);
        if (!cli_print_answer(call.answer) && code == CLI_DONE) {
            (void)tj_fail_memory(&err, "an answer");
            code = CLI_FAILED;
        }
    }
    tj_json_free(call.answer);
    free(call.options);
    if (code != CLI_DONE)
        tell_failure(call.command, code, &err);
    return (int)finish_output(code);
}
