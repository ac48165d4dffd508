/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit: the command. The table of commands, and what is the same for all of them: finding the command, failing in one
 * line, and not losing output.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* ---- the table ---------------------------------------------------------------------------------------------------- */

static const cli_option *const matmul_groups[] = {
    cli_output_options, cli_matmul_options, cli_problem_options, cli_scalar_options, cli_config_options,
    cli_check_options,  cli_timing_options, cli_machine_options, cli_common_options, NULL};
static const cli_option *const run_groups[] = {
    cli_run_options,   cli_problem_options, cli_layout_options,  cli_scalar_options, cli_config_options,
    cli_check_options, cli_timing_options,  cli_machine_options, cli_common_options, NULL};
static const cli_option *const generate_groups[] = {cli_output_options,
                                                    cli_problem_options,
                                                    cli_layout_options,
                                                    cli_scalar_options,
                                                    cli_config_options,
                                                    cli_common_options,
                                                    NULL};
static const cli_option *const compile_groups[] = {cli_output_options,  cli_compile_options, cli_problem_options,
                                                   cli_layout_options,  cli_scalar_options,  cli_config_options,
                                                   cli_machine_options, cli_common_options,  NULL};
static const cli_option *const look_groups[] = {
    cli_analysis_options, cli_explain_options, cli_problem_options, cli_layout_options, cli_scalar_options,
    cli_config_options,   cli_timing_options,  cli_machine_options, cli_common_options, NULL};
static const cli_option *const report_groups[] = {cli_output_options,
                                                  cli_report_options,
                                                  cli_analysis_options,
                                                  cli_problem_options,
                                                  cli_layout_options,
                                                  cli_scalar_options,
                                                  cli_config_options,
                                                  cli_timing_options,
                                                  cli_machine_options,
                                                  cli_common_options,
                                                  NULL};
static const cli_option *const devices_groups[] = {cli_devices_options, cli_machine_options, cli_common_options, NULL};
static const cli_option *const explain_groups[] = {cli_problem_options,
                                                   cli_layout_options,
                                                   cli_scalar_options,
                                                   cli_config_options,
                                                   cli_machine_options,
                                                   cli_common_options,
                                                   NULL};
static const cli_option *const tune_groups[] = {
    cli_tune_options,   cli_output_options,  cli_problem_options, cli_layout_options,
    cli_scalar_options, cli_machine_options, cli_common_options,  NULL};
static const cli_option *const prove_groups[] = {cli_prove_options,
                                                 cli_problem_options,
                                                 cli_layout_options,
                                                 cli_scalar_options,
                                                 cli_machine_options,
                                                 cli_common_options,
                                                 NULL};
static const cli_option *const machine_groups[] = {cli_machine_options, cli_common_options, NULL};
static const cli_option *const clear_groups[] = {cli_clear_options, cli_machine_options, cli_common_options, NULL};
static const cli_option *const common_groups[] = {cli_common_options, NULL};

static cli_exit cmd_help(const cli_words *words, json_t *answer, tj_error *err);
static cli_exit cmd_version(const cli_words *words, json_t *answer, tj_error *err);
static cli_exit cmd_man(const cli_words *words, json_t *answer, tj_error *err);

const cli_command cli_commands[] = {
    {"matmul", "<M.npy> <N.npy>", 2, 2, "multiply two matrices in NumPy files",
     "Writes P = M . N to the file of -o. M and N are arrays of rank 2, or of rank 3: then the first axis counts products. "
     "Their "
     "order, C or F, is taken as it is; nothing is transposed in memory.\n\n"
     "P is compared with the product in float64 before it is written, and is not written if it differs by more than rounding "
     "can explain.",
     "tilejit matmul M.npy N.npy -o P.npy\n"
     "tilejit matmul M.npy N.npy -o P.npy --alpha 0.5 --beta 1 --c C.npy\n"
     "tilejit matmul M.npy N.npy -o P.npy --config tiled:tile_width=32",
     matmul_groups, cmd_matmul, false},
    {"run", "<jxkxl>", 1, 1, "multiply random matrices, verify and time the product",
     "Fills M, N and C with numbers in [-1, 1] from a seed, computes P on the device, compares it with the product in float64, "
     "and "
     "times the launches by CUDA events.",
     "tilejit run 512x300x700\n"
     "tilejit run 1024x1024x1024 --dtype f16 --p-dtype f32 --repeat 50",
     run_groups, cmd_run, false},
    {"tune", "[jxkxl ...]", 0, CLI_MAX_OPERANDS, "find the fastest config of shapes by measuring, and keep it",
     "Tries configs of all families on the device, verifies those that take the lead against float64, compares the fastest few "
     "in "
     "turns, and keeps the winner as a record: from then on tilejit and the library choose it for that shape on that kind of "
     "device. The default is always among the finalists, so nothing gets slower.\n\n"
     "It needs a GPU. --device emulator only tries whether configs compute the product: no time is measured there, and no "
     "record "
     "kept.\n\n"
     "Ctrl-C ends it soon and keeps what was found. With a terminal on stderr, progress is shown there.",
     "tilejit tune 4096x4096x4096\n"
     "tilejit tune 16x4096x4096 --budget 60s --evaluations 200\n"
     "tilejit tune --shapes shapes.csv --devices 0,1 --resume\n"
     "tilejit tune --export records.json",
     tune_groups, cmd_tune, false},
    {"prove", "[jxkxl ...]", 0, CLI_MAX_OPERANDS, "run kernels between guards on the device and compare them",
     "A compiler can be wrong. A proof runs the kernel of a shape once on random operands between guard bands, and compares P "
     "with what "
     "the textbook's kernel, naive, computes on the same device; of a large P it compares some lines. The result is kept "
     "beside the stored "
     "kernel, for this device and driver.\n\n"
     "A kernel that fails is named and never launched here again; the library's next choice is proven in its place. Its CUDA "
     "text, PTX, "
     "CUBIN, log and a description are written to the folder of --cases, for a report to the makers of the compiler. Exits "
     "with 3 if a "
     "kernel failed.",
     "tilejit prove 512x300x700\n"
     "tilejit prove --shapes shapes.csv --dtype f16\n"
     "tilejit prove 64x264x32 --dtype f64 --config simt:bm=64,bn=128,bk=8,tm=8,tn=4",
     prove_groups, cmd_prove, false},
    {"generate", "<jxkxl>", 1, 1, "print the CUDA source of a request",
     "The text is what the compiler gets: one kernel, with this request's numbers in it. Needs neither compiler nor GPU.",
     "tilejit generate 512x300x700\n"
     "tilejit generate 512x300x700 --any k --tile-width 8 -o kernel.cu",
     generate_groups, cmd_generate, false},
    {"compile", "<jxkxl>", 1, 1, "compile a request to PTX or CUBIN, and report its resources",
     "The kernel is kept in the store as for a run. With -o the image is written too; its kind follows from the file's name. "
     "Needs "
     "NVRTC and no GPU. The report goes to stdout, to stderr if stdout takes the image.",
     "tilejit compile 512x300x700\n"
     "tilejit compile 512x300x700 --arch sm_80 -o kernel.cubin",
     compile_groups, cmd_compile, false},
    {"explain", "<jxkxl> [config]", 1, 2, "say what a kernel will move, what limits it, and how long it should take",
     "FLOP and bytes by memory space, exactly; blocks, occupancy and what limits it; the roofline; a predicted time, term by "
     "term; "
     "which boundary checks are in, and why; whether the store has the kernel. docs/analysis.md says where each number comes "
     "from.\n\n"
     "Needs neither a GPU nor a driver: --arch sm_80, or --device emulator:sm_80, looks at a device that is not there. Where "
     "NVRTC "
     "is found the registers are the compiler's, else an estimate.",
     "tilejit explain 512x300x700\n"
     "tilejit explain 1024x1024x1024 --arch sm_80 --compare tile_width=8,16,32\n"
     "tilejit explain 96x96x96 tiled:tile_width=16 --device emulator --count\n"
     "tilejit explain 2048x2048x2048 --compare family=naive,tiled --measure --plot",
     look_groups, cmd_explain, false},
    {"report", "<jxkxl> [config]", 1, 2, "draw the same as a web page",
     "One HTML file without anything from elsewhere: the roofline with each config's point, occupancy, the time's terms, the "
     "tile and "
     "its traffic. Without --compare: the library's choice, naive, and tiled at three widths.",
     "tilejit report 512x300x700 -o report.html\n"
     "tilejit report 1024x1024x1024 --compare tile_width=8,16,32 --measure -o report.html",
     report_groups, cmd_report, false},
    {"families", "", 0, 0, "list the ways to compute a product, with their parameters",
     "Every family with its parameters, their ranges and defaults, and the constraints that hold between them.", "",
     common_groups, cmd_families, false},
    {"devices", "", 0, 0, "list the CUDA devices", "What the driver says of each device.", "tilejit devices --measure",
     devices_groups, cmd_devices, false},
    {"doctor", "", 0, 0, "say what was found on this machine, and what is missing",
     "Looks at NVRTC, its builtins, the driver, the devices, whether they fit together, and the store. Exits with 1 if "
     "anything "
     "is missing.",
     "", machine_groups, cmd_doctor, false},
    {"cache list", "", 0, 0, "list the stored kernels and tuning records",
     "Kernels, most recently used first; then what tilejit tune found: the shape, its time and its config.", "", machine_groups,
     cmd_cache_list, false},
    {"cache stats", "", 0, 0, "sum the store up",
     "Where it is, how many kernels it holds, their size, how often they were read; and how many tuning records.", "",
     machine_groups, cmd_cache_stats, false},
    {"cache verify", "", 0, 0, "read every stored file and compare its checksum",
     "Names each damaged entry and exits with 1 if there is one. Damage never harms: such an entry is a miss, and is replaced.",
     "", machine_groups, cmd_cache_verify, false},
    {"cache clear", "", 0, 0, "remove the stored kernels", "Tuning records stay, and files that are not the store's own.",
     "tilejit cache clear --damaged", clear_groups, cmd_cache_clear, false},
    {"cache path", "", 0, 0, "print the store's folder", "It may not exist yet.", "", machine_groups, cmd_cache_path, false},
    {"cache explain", "<jxkxl>", 1, 1, "say field by field why a request would hit or miss",
     "Compares the key that tilejit run would look for here, or with --arch tilejit compile, with the stored entry that shares "
     "most "
     "of it.",
     "tilejit cache explain 512x300x700", explain_groups, cmd_cache_explain, false},
    {"completion", "<bash|zsh|fish>", 1, CLI_MAX_OPERANDS, "print a script that completes words in a shell",
     "An installed TileJIT is completed already: the scripts are where shells look for them. \"completion words -- WORD ...\" "
     "is "
     "what they ask: what may follow on the command line.",
     ". <(tilejit completion bash)\n"
     "tilejit completion zsh > ~/.zfunc/_tilejit\n"
     "tilejit completion fish | source",
     common_groups, cmd_completion, false},
    {"help", "[command]", 0, 2, "say what a command does", "Without a command: the list of commands.", "tilejit help run",
     common_groups, cmd_help, true},
    {"version", "", 0, 0, "print the version", "The version of the library that is loaded.", "", common_groups, cmd_version,
     true},
    {"man", "", 0, 0, "print the man page", "In troff, from the same tables as --help.", "tilejit man > tilejit.1",
     common_groups, cmd_man, true},
    {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, NULL, false},
};

static const char *command_name_at(size_t index, const void *payload)
{
    (void)payload;
    return cli_commands[index].name;
}

/* ---- nearest word ------------------------------------------------------------------------------------------------- */

enum { LONGEST_WORD = 40 };

/* Edits (insert, remove, replace, swap of neighbours is two) that turn one word into the other. */
static size_t distance(const char *left, const char *right)
{
    size_t row[LONGEST_WORD + 1], width = strlen(right);

    if (width > LONGEST_WORD || strlen(left) > LONGEST_WORD)
        return LONGEST_WORD;
    for (size_t i = 0; i <= width; i++)
        row[i] = i;
    for (; *left; left++) {
        size_t diagonal = row[0];

        row[0]++;
        for (size_t i = 1; i <= width; i++) {
            size_t above = row[i], best = diagonal + (*left != right[i - 1]);

            best = row[i - 1] + 1 < best ? row[i - 1] + 1 : best;
            row[i] = above + 1 < best ? above + 1 : best;
            diagonal = above;
        }
    }
    return row[width];
}

const char *cli_nearest(const char *word, const char *(*next)(size_t index, const void *payload), const void *payload)
{
    size_t least = strlen(word) / 3 + 2;
    const char *near = NULL, *offered;

    for (size_t i = 0; (offered = next(i, payload)); i++) {
        size_t edits = distance(word, offered);

        if (edits < least) {
            least = edits;
            near = offered;
        }
    }
    return near;
}

/* ---- help, version, man ------------------------------------------------------------------------------------------- */

const cli_command *cli_find_command(const char *first, const char *second, int *used)
{
    char both[128];

    (void)snprintf(both, sizeof both, "%s %s", first, second ? second : "");
    for (const cli_command *command = cli_commands; command->name; command++) {
        if (strcmp(command->name, both) == 0 && second) {
            *used = 2;
            return command;
        }
        if (strcmp(command->name, first) == 0) {
            *used = 1;
            return command;
        }
    }
    return NULL;
}

/* "cache" alone, or with a second word that is none. */
static tj_status unknown_command(const char *first, const char *second, tj_error *err)
{
    char both[128];
    const char *near;

    if (strcmp(first, "cache") == 0 && !second)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "cache what? list, stats, verify, clear, path or explain");
    if (strcmp(first, "cache") == 0)
        (void)snprintf(both, sizeof both, "cache %s", second);
    else
        (void)snprintf(both, sizeof both, "%s", first);
    if (both[0] == '-')
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "\"%s\" comes before any command: write tilejit <command> [options]",
                        both);
    near = cli_nearest(both, command_name_at, NULL);
    if (near)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "there is no command \"%s\": did you mean %s?", both, near);
    return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "there is no command \"%s\"", both);
}

static json_t *commands_json(void)
{
    json_t *list = json_array();

    for (const cli_command *command = cli_commands; command->name; command++) {
        json_t *object = json_object();

        cli_set_text(object, "name", command->name);
        cli_set_text(object, "operands", command->operands);
        cli_set_text(object, "summary", command->summary);
        (void)json_array_append_new(list, object);
    }
    return list;
}

static cli_exit cmd_help(const cli_words *words, json_t *answer, tj_error *err)
{
    const cli_command *command = NULL;
    int used = 0;

    if (words->operand_count > 0) {
        command = cli_find_command(words->operand[0], words->operand[1], &used);
        if (!command && strcmp(words->operand[0], "cache") == 0 && words->operand_count == 1) {
            if (!words->is_json)
                for (const cli_command *each = cli_commands; each->name; each++)
                    if (strncmp(each->name, "cache ", 6) == 0)
                        printf("  %-16s %s\n", each->name, each->summary);
            return CLI_DONE;
        }
        if (!command) {
            (void)unknown_command(words->operand[0], words->operand[1], err);
            return CLI_WORDS;
        }
    }
    if (words->is_json)
        (void)json_object_set_new(answer, "commands", commands_json());
    else if (command)
        cli_print_help(stdout, command);
    else
        cli_print_overview(stdout);
    return CLI_DONE;
}

static cli_exit cmd_version(const cli_words *words, json_t *answer, tj_error *err)
{
    (void)err;
    cli_set_text(answer, "version", tj_version());
    if (!words->is_json)
        printf("tilejit %s\n", tj_version());
    return CLI_DONE;
}

static cli_exit cmd_man(const cli_words *words, json_t *answer, tj_error *err)
{
    (void)answer;
    (void)err;
    if (!words->is_json)
        cli_print_man(stdout);
    return CLI_DONE;
}

/* ---- main --------------------------------------------------------------------------------------------------------- */

/*
 * With stdin, stdout or stderr closed, the next file that anything opens would take its number, and a message would end up
 * in the store. The stand-ins fail when used, as the closed ones would.
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

static cli_exit dispatch(int count, char *const *word, json_t *answer, const cli_command **command, bool *is_help,
                         tj_error *err)
{
    cli_words words;
    int used = 0;

    if (count < 2) {
        (void)cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "no command");
        return CLI_WORDS;
    }
    if (strcmp(word[1], "--help") == 0 || strcmp(word[1], "-h") == 0)
        *command = cli_find_command("help", NULL, &used);
    else if (strcmp(word[1], "--version") == 0)
        *command = cli_find_command("version", NULL, &used);
    else
        *command = cli_find_command(word[1], count > 2 ? word[2] : NULL, &used);
    if (!*command) {
        (void)unknown_command(word[1], count > 2 && word[2][0] != '-' ? word[2] : NULL, err);
        return CLI_WORDS;
    }
    if (cli_parse(*command, count - 1 - used, word + 1 + used, &words, err) != TJ_OK)
        return CLI_WORDS;
    if (words.is_help) {
        *is_help = true;
        cli_print_help(stdout, *command);
        return CLI_DONE;
    }
    return (*command)->run(&words, answer, err);
}

/* One line about a failure, and for wrong words a second one with where to look. */
static void tell_failure(const cli_command *command, cli_exit code, const tj_error *err)
{
    (void)fflush(stdout); /* so that on a terminal the failure comes last; finish_output() looks after trouble */
    fprintf(stderr, "tilejit: %s\n", err->message);
    if (code == CLI_WORDS)
        fprintf(stderr, "try: tilejit help%s%s\n", command ? " " : "", command ? command->name : "");
}

static void print_answer(json_t *answer, cli_exit code, const tj_error *err)
{
    if (code != CLI_DONE) {
        json_t *error = json_object();

        cli_set_text(error, "status", tj_status_name(err->status));
        cli_set_text(error, "message", err->message);
        (void)json_object_set_new(answer, "error", error);
    }
    (void)json_dumpf(answer, stdout, JSON_INDENT(2) | JSON_SORT_KEYS);
    fputc('\n', stdout);
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
            fprintf(stderr, "tilejit: cannot write to stdout: %s\n", reason ? strerror(reason) : "a write failed");
        return code == CLI_DONE ? CLI_FAILED : code;
    }
    return code;
}

int main(int argc, char **argv)
{
    const cli_command *command = NULL;
    tj_error err = {TJ_OK, ""};
    json_t *answer;
    cli_exit code;
    bool is_json, is_help = false;

    occupy_standard_files();
    is_json = asks_for_json(argc, argv);
    cli_listen(is_json);
    answer = json_object();
    if (!answer) {
        fputs("tilejit: out of memory\n", stderr);
        return CLI_FAILED;
    }
    code = dispatch(argc, argv, answer, &command, &is_help, &err);
    cli_stop_listening();
    if (is_json && !is_help)
        print_answer(answer, code, &err);
    json_decref(answer);
    if (code != CLI_DONE)
        tell_failure(command, code, &err);
    return (int)finish_output(code);
}
