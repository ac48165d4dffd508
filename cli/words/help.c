/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help: --help, the man page and the version, from the tables of commands and options.
 */
#include <string.h>

#include "words.h"

enum { WIDTH = 96, OPTION_COLUMN = 28 };

/* An entry of the man page below a heading; a NULL name ends the list. */
typedef struct item {
    const char *name, *text;
} item;

static const item exit_codes[] = {
    {"0", "Done."},
    {"1", "The request failed; one line on stderr says what, with the value and the remedy."},
    {"2", "The words of the command line were wrong: nothing was read, compiled or run."},
    {"3", "The product was computed and did not pass its check."},
    {"128 + n", "Signal n ended it: 130 SIGINT, 143 SIGTERM, 129 SIGHUP; what tune found until then is kept."},
    {NULL},
};

static const item variables[] = {
    {"TILEJIT_CACHE_DIR", "Folder of the store; off: none. Default: $XDG_CACHE_HOME/tilejit, then $HOME/.cache/tilejit. The "
                          "option --cache-dir wins."},
    {"TILEJIT_PACKS",
     "Files of tilejit pack, and folders of read-only stores, separated by colons: looked at before the store, and "
     "before NVRTC is opened."},
    {"TILEJIT_TRIALS", "Tables of tilejit tune --pack-trials, and folders of them, separated by colons, by which configs are "
                       "chosen, in addition to "
                       "those that ship; off: none at all."},
    {"TILEJIT_CAPTURE",
     "A list of shapes to which the problems of each context are added, with their counts, every ten seconds and in the end."},
    {"TILEJIT_BLAS", "The task of libtilejit_blas.so where it is preloaded: with, with:always, with:recorded, or trace: and a "
                     "folder. tilejit with and tilejit trace set it."},
    {"TILEJIT_REMOTE", "Address of a server with which kernels and records are shared. The option --remote wins."},
    {"TILEJIT_NVRTC", "Path of libnvrtc. The option --nvrtc wins."},
    {"TILEJIT_DRIVER",
     "Path of libcuda; or emulator, emulator:sm_80: compute on the CPU. The options --driver and --device emulator win."},
    {"TILEJIT_EMULATOR",
     "Path of libcuda_emulator.so. Default: next to the library, then in tilejit/ next to it, then one folder up."},
    {"TILEJIT_DEVICE", "CUDA device to use, counted from 0. The option --device wins."},
    {"TILEJIT_LOG", "error, warning, info or debug: lines on stderr. The options --log and --verbose win."},
    {"TILEJIT_LINE_INFO", "1: compile with line numbers, so that a profiler shows the stored text next to the code."},
    {"TILEJIT_DUMP",
     "Folder into which every built kernel's text, PTX, CUBIN and log are written. The option --dump-dir wins."},
    {NULL},
};

static const item files[] = {
    {"$XDG_CACHE_HOME/tilejit", "The store: one folder per kernel with its CUDA text, PTX, CUBIN, compiler log and manifest. "
                                "tilejit cache clear removes these at any time, and they are made again when they are needed."},
    {"$XDG_CACHE_HOME/tilejit/v1/records",
     "The records of tilejit tune, one file each. They are gone with the store's folder; tilejit cache clear keeps them."},
    {"$XDG_CACHE_HOME/tilejit/bandwidth.json",
     "The bandwidths that tilejit devices --measure found. It is gone with the store's folder; tilejit cache clear keeps it."},
    {NULL},
};

/* Print text, broken at blanks, from `column` on; the first line starts at the cursor. */
static void print_wrapped(FILE *out, const char *text, size_t column)
{
    size_t at = column;

    while (*text) {
        size_t length = strcspn(text, " \n");

        if (at > column && at + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", (int)column, "");
            at = column;
        } else if (at > column) {
            fputc(' ', out);
            at++;
        }
        fprintf(out, "%.*s", (int)length, text);
        at += length;
        text += length;
        text += strspn(text, " ");
        if (*text == '\n') {
            fprintf(out, "\n%*s", (int)column, "");
            at = column;
            text++;
        }
    }
    fputc('\n', out);
}

enum { SUMMARY_BYTES = 512 };

/* Return the summary; one that ends in a colon is followed by the possible values, the default first. */
static const char *summary_of(const cli_option *option, char text[SUMMARY_BYTES])
{
    size_t length = strlen(option->summary);
    const char *word;

    if (!option->offered || option->summary[length - 1] != ':')
        return option->summary;
    snprintf(text, SUMMARY_BYTES, "%s", option->summary);
    for (size_t i = 0; length < SUMMARY_BYTES && (word = option->offered(i)); i++)
        length += (size_t)snprintf(text + length, SUMMARY_BYTES - length, i == 0 ? " %s (default)" : ", %s", word);
    if (length < SUMMARY_BYTES)
        snprintf(text + length, SUMMARY_BYTES - length, ".");
    return text;
}

static void print_option(FILE *out, const cli_option *option)
{
    char head[64], summary[SUMMARY_BYTES];
    int length = option->letter ? snprintf(head, sizeof head, "  -%c, --%s", option->letter, option->name)
                                : snprintf(head, sizeof head, "  --%s", option->name);

    if (option->argument)
        length += snprintf(head + length, sizeof head - (size_t)length, " <%s>", option->argument);
    if (length < OPTION_COLUMN - 1)
        fprintf(out, "%-*s", OPTION_COLUMN, head);
    else
        fprintf(out, "%s\n%*s", head, OPTION_COLUMN, "");
    print_wrapped(out, summary_of(option, summary), OPTION_COLUMN);
}

void cli_print_overview(FILE *out, const cli_table *table)
{
    fputs("tilejit computes P = M . N on a GPU with a kernel that it writes for exactly that product.\n\n"
          "usage: tilejit <command> [options] [operands]\n\n",
          out);
    for (size_t i = 0; table->commands[i]; i++)
        if (!table->commands[i]->is_hidden)
            fprintf(out, "  %-16s %s\n", table->commands[i]->name, table->commands[i]->summary);
    fputs("\n  help <command>   describes a command; man tilejit describes all of them\n"
          "  version          prints the version\n\n"
          "exit codes: 0 done, 1 failed, 2 wrong command line, 3 computed but wrong, 130 or 143 ended by a signal\n",
          out);
}

void cli_print_help(FILE *out, const cli_command *command)
{
    const cli_option *option;
    cli_taken from;

    fprintf(out, "tilejit %s: %s\n\nusage: tilejit %s [options]%s%s\n\n", command->name, command->summary, command->name,
            command->operands ? " " : "", command->operands ? command->operands : "");
    print_wrapped(out, command->text, 0);
    fputs("\noptions:\n", out);
    for (size_t i = 0; (option = cli_option_at(command, i, &from)); i++)
        print_option(out, option);
    fputs("\nThe last of a repeated option wins. After -- every word is an operand.\n", out);
    if (command->example) {
        fputs("\nexamples:\n", out);
        for (const char *line = command->example; *line;) {
            size_t length = strcspn(line, "\n");

            fprintf(out, "  %.*s\n", (int)length, line);
            line += length + (line[length] == '\n');
        }
    }
}

/* ---- man page ----------------------------------------------------------------------------------------------------- */

/* Print text for troff: escape backslashes and dashes, start no line with a request, turn empty lines into paragraphs. */
static void man_text(FILE *out, const char *text)
{
    bool is_line_start = true;

    for (const char *c = text; *c; c++) {
        if (is_line_start && (*c == '.' || *c == '\''))
            fputs("\\&", out);
        is_line_start = *c == '\n';
        if (*c == '\\')
            fputs("\\e", out);
        else if (*c == '-')
            fputs("\\-", out);
        else if (*c == '\n' && c[1] == '\n') {
            fputs("\n.PP\n", out);
            c++;
        } else
            fputc(*c, out);
    }
}

static void man_items(FILE *out, const char *heading, const item *items)
{
    fputs(heading, out);
    for (; items->name; items++) {
        fputs(".TP\n.B ", out);
        man_text(out, items->name);
        fputc('\n', out);
        man_text(out, items->text);
        fputc('\n', out);
    }
}

static bool takes_group(const cli_command *command, const cli_group *group)
{
    cli_taken taken;

    for (size_t g = 0; cli_taken_at(command, g, &taken); g++)
        if (taken.group == group)
            return true;
    return false;
}

static void man_option(FILE *out, const cli_option *option)
{
    char summary[SUMMARY_BYTES];

    fputs(".TP\n", out);
    if (option->letter)
        fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", out);
    man_text(out, option->name);
    fputs("\\fR", out);
    if (option->argument) {
        fputs(" \\fI", out);
        man_text(out, option->argument);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    man_text(out, summary_of(option, summary));
    fputc('\n', out);
}

/* Print a group below the commands that take it. */
static void man_group(FILE *out, const cli_table *table, const cli_group *group)
{
    const char *before = "Of: ";

    fprintf(out, ".SS \"%s\"\n", group->title);
    for (size_t i = 0; table->commands[i] && group != &cli_common_group; i++)
        if (!table->commands[i]->is_hidden && takes_group(table->commands[i], group)) {
            fprintf(out, "%s\\fB%s\\fR", before, table->commands[i]->name);
            before = ", ";
        }
    fputs(group != &cli_common_group ? ".\n" : "", out);
    for (const cli_option *option = group->options; option->name; option++)
        man_option(out, option);
}

/* Was the group printed for an earlier command, or is it in a list? */
static bool is_told(const cli_table *table, size_t command, const cli_group *group)
{
    for (size_t i = 0; table->shared[i]; i++)
        if (table->shared[i] == group)
            return true;
    for (size_t i = 0; i < command; i++)
        if (takes_group(table->commands[i], group))
            return true;
    return group == &cli_common_group;
}

/* Print each group once: those of all commands, of several, of one. */
static void man_options(FILE *out, const cli_table *table)
{
    cli_taken taken;

    fputs(".SH OPTIONS\nThe last of a repeated option wins. After \\fB\\-\\-\\fR every word is an operand.\n", out);
    man_group(out, table, &cli_common_group);
    for (size_t i = 0; table->shared[i]; i++)
        man_group(out, table, table->shared[i]);
    for (size_t i = 0; table->commands[i]; i++)
        for (size_t g = 0; cli_taken_at(table->commands[i], g, &taken); g++)
            if (!is_told(table, i, taken.group))
                man_group(out, table, taken.group);
}

static void man_command(FILE *out, const cli_command *command)
{
    fputs(".SS \"", out);
    man_text(out, command->name);
    if (command->operands) {
        fputc(' ', out);
        man_text(out, command->operands);
    }
    fputs("\"\n", out);
    man_text(out, command->summary);
    fputs(".\n.PP\n", out);
    man_text(out, command->text);
    fputc('\n', out);
    if (command->example) {
        fputs(".PP\n.EX\n", out);
        man_text(out, command->example);
        fputs("\n.EE\n", out);
    }
}

static void print_man(FILE *out, const cli_table *table)
{
    fprintf(out,
            ".\\\" Made by \"tilejit man\" from the tables of the command; do not edit.\n"
            ".TH TILEJIT 1 \"\" \"TileJIT %s\" \"User Commands\"\n",
            tj_version());
    fputs(".SH NAME\ntilejit \\- matrix products by CUDA kernels written for exactly the shape\n"
          ".SH SYNOPSIS\n.B tilejit\n\\fIcommand\\fR [\\fIoptions\\fR] [\\fIoperands\\fR]\n"
          ".SH DESCRIPTION\n"
          "TileJIT computes P (j x l) = M (j x k) . N (k x l). It fills a template with the shape, the element types and the\n"
          "boundary checks that this product needs, compiles the text with NVRTC, keeps the result, and launches it.\n"
          ".PP\nA shape is written \\fIjxkxl\\fR. Results go to standard output, everything else to standard error.\n"
          "With \\fB\\-\\-json\\fR standard output receives one JSON object, with a member \"error\" if the request failed.\n"
          ".SH COMMANDS\n",
          out);
    for (size_t i = 0; table->commands[i]; i++)
        if (!table->commands[i]->is_hidden)
            man_command(out, table->commands[i]);
    man_options(out, table);
    man_items(out, ".SH EXIT STATUS\n", exit_codes);
    man_items(out, ".SH ENVIRONMENT\nRead once, and not at all by a set\\-uid program.\n", variables);
    man_items(out, ".SH FILES\n", files);
}

/* ---- commands ----------------------------------------------------------------------------------------------------- */

static void add_commands(tj_json *list, const cli_table *table)
{
    for (size_t i = 0; table->commands[i]; i++) {
        tj_json *object = cli_append_object(list);

        cli_set_text(object, "name", table->commands[i]->name);
        cli_set_text(object, "operands", table->commands[i]->operands ? table->commands[i]->operands : "");
        cli_set_text(object, "summary", table->commands[i]->summary);
    }
}

static cli_exit help(cli_call *call, tj_error *err)
{
    const cli_command *command = NULL;
    int used = 0;

    if (call->operand_count > 0) {
        command = cli_find_command(call->table, call->operand[0], call->operand[1], &used);
        if (!command && strcmp(call->operand[0], "cache") == 0 && call->operand_count == 1) {
            for (size_t i = 0; call->table->commands[i]; i++)
                if (strncmp(call->table->commands[i]->name, "cache ", 6) == 0)
                    cli_say(call, "  %-16s %s\n", call->table->commands[i]->name, call->table->commands[i]->summary);
            return CLI_DONE;
        }
        if (!command) {
            (void)cli_no_command(call->table, call->operand[0], call->operand[1], err);
            return CLI_WORDS;
        }
    }
    if (call->is_json)
        add_commands(cli_add_list(call->answer, "commands"), call->table);
    else if (command)
        cli_print_help(stdout, command);
    else
        cli_print_overview(stdout, call->table);
    return CLI_DONE;
}

static cli_exit version(cli_call *call, tj_error *err)
{
    (void)err;
    cli_set_text(call->answer, "version", tj_version());
    cli_say(call, "tilejit %s\n", tj_version());
    return CLI_DONE;
}

static cli_exit man(cli_call *call, tj_error *err)
{
    (void)err;
    if (!call->is_json)
        print_man(stdout, call->table);
    return CLI_DONE;
}

const cli_command cli_help = {.name = "help",
                              .operands = "[command]",
                              .operand_count = {0, 2},
                              .summary = "describe a command",
                              .text = "Without a command, lists all commands.",
                              .example = "tilejit help run",
                              .run = help,
                              .is_hidden = true};
const cli_command cli_version = {.name = "version",
                                 .summary = "print the version",
                                 .text = "Prints the version of the library that is loaded.",
                                 .run = version,
                                 .is_hidden = true};
const cli_command cli_man = {.name = "man",
                             .summary = "print the man page",
                             .text = "Prints it in troff, from the same tables as --help.",
                             .example = "tilejit man > tilejit.1",
                             .run = man,
                             .is_hidden = true};
