/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help: --help and the man page, from the tables of commands and options.
 */
#include <string.h>

#include "cli.h"

enum { WIDTH = 96, OPTION_COLUMN = 28 };

static const struct {
    const char *code, *text;
} exit_codes[] = {
    {"0", "Done."},
    {"1", "The request failed; one line on stderr says what, with the value and the remedy."},
    {"2", "The words of the command line were wrong: nothing was read, compiled or run."},
    {"3", "The product was computed and did not pass its check."},
    {"128 + n", "Signal n ended it: 130 SIGINT, 143 SIGTERM, 129 SIGHUP; what tune found until then is kept."},
};

static const struct {
    const char *name, *text;
} variables[] = {
    {"TILEJIT_CACHE_DIR", "Folder of the store; off: none. Default: $XDG_CACHE_HOME/tilejit, then $HOME/.cache/tilejit. The "
                          "option --cache-dir wins."},
    {"TILEJIT_NVRTC", "Path of libnvrtc. The option --nvrtc wins."},
    {"TILEJIT_DRIVER",
     "Path of libcuda; or emulator, emulator:sm_80: compute on the CPU. The options --driver and --device emulator win."},
    {"TILEJIT_EMULATOR",
     "Path of libcuda_emulator.so. Default: beside the library, then in tilejit/ beside it, then one folder up."},
    {"TILEJIT_DEVICE", "CUDA device to use, counted from 0. The option --device wins."},
    {"TILEJIT_LOG", "error, warning, info or debug: lines on stderr. The options --log and --verbose win."},
    {"TILEJIT_DUMP",
     "Folder into which every built kernel's text, PTX, CUBIN and log are written. The option --dump-dir wins."},
};

static const struct {
    const char *name, *text;
} files[] = {
    {"$XDG_CACHE_HOME/tilejit", "The store: one folder per kernel with its CUDA text, PTX, CUBIN, compiler log and manifest. "
                                "tilejit cache clear removes these at any time, and they are made again when they are needed."},
    {"$XDG_CACHE_HOME/tilejit/v1/records",
     "The records of tilejit tune, one file each. They are gone with the store's folder; tilejit cache clear keeps them."},
    {"$XDG_CACHE_HOME/tilejit/bandwidth.json",
     "The bandwidths that tilejit devices --measure found. It is gone with the store's folder; tilejit cache clear keeps it."},
};

/* Print words, broken at blanks, from column on; the first line starts where the cursor is. */
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

static void print_option(FILE *out, const cli_option *option)
{
    char head[64];
    int length = option->letter ? snprintf(head, sizeof head, "  -%c, --%s", option->letter, option->name)
                                : snprintf(head, sizeof head, "  --%s", option->name);

    if (option->argument)
        length += snprintf(head + length, sizeof head - (size_t)length, " <%s>", option->argument);
    if (length < OPTION_COLUMN - 1)
        fprintf(out, "%-*s", OPTION_COLUMN, head);
    else
        fprintf(out, "%s\n%*s", head, OPTION_COLUMN, "");
    print_wrapped(out, option->summary, OPTION_COLUMN);
}

void cli_print_overview(FILE *out)
{
    fputs("tilejit computes P = M . N on a GPU with a kernel that it writes for exactly that product.\n\n"
          "usage: tilejit <command> [options] [operands]\n\n",
          out);
    for (const cli_command *command = cli_commands; command->name; command++)
        if (!command->is_hidden)
            fprintf(out, "  %-16s %s\n", command->name, command->summary);
    fputs("\n  help <command>   says what a command does; man tilejit says everything\n"
          "  version          prints the version\n\n"
          "exit codes: 0 done, 1 failed, 2 wrong words, 3 computed but wrong, 130 or 143 ended by a signal\n",
          out);
}

void cli_print_help(FILE *out, const cli_command *command)
{
    fprintf(out, "tilejit %s: %s\n\nusage: tilejit %s [options]%s%s\n\n", command->name, command->summary, command->name,
            *command->operands ? " " : "", command->operands);
    print_wrapped(out, command->text, 0);
    fputs("\noptions:\n", out);
    for (size_t g = 0; command->groups[g]; g++)
        for (const cli_option *option = command->groups[g]; option->name; option++)
            print_option(out, option);
    fputs("\nThe last of a repeated option wins. After -- every word is an operand.\n", out);
    if (*command->example) {
        fputs("\nexamples:\n", out);
        for (const char *line = command->example; *line;) {
            size_t length = strcspn(line, "\n");

            fprintf(out, "  %.*s\n", (int)length, line);
            line += length + (line[length] == '\n');
        }
    }
}

/* ---- man page ----------------------------------------------------------------------------------------------------- */

/* Text for troff: backslashes and dashes escaped, no line that begins with a request, an empty line is a paragraph. */
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

static void man_item(FILE *out, const char *head, const char *text)
{
    fputs(".TP\n.B ", out);
    man_text(out, head);
    fputc('\n', out);
    man_text(out, text);
    fputc('\n', out);
}

static bool takes_group(const cli_command *command, const cli_option *group)
{
    for (size_t g = 0; command->groups[g]; g++)
        if (command->groups[g] == group)
            return true;
    return false;
}

static void man_group(FILE *out, const cli_option *group)
{
    for (const cli_option *option = group; option->name; option++) {
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
        man_text(out, option->summary);
        fputc('\n', out);
    }
}

/* Each group once, under the commands that take it. */
static void man_options(FILE *out)
{
    const struct {
        const char *title;
        const cli_option *group;
    } groups[] = {
        {"Every command", cli_common_options},
        {"What to compute", cli_problem_options},
        {"How the matrices lie in memory", cli_layout_options},
        {"alpha and beta", cli_scalar_options},
        {"How to compute it", cli_config_options},
        {"The machine", cli_machine_options},
        {"Output", cli_output_options},
        {"Check", cli_check_options},
        {"Timing", cli_timing_options},
        {"matmul", cli_matmul_options},
        {"run", cli_run_options},
        {"tune", cli_tune_options},
        {"compile", cli_compile_options},
        {"explain and report", cli_analysis_options},
        {"explain", cli_explain_options},
        {"report", cli_report_options},
        {"devices", cli_devices_options},
        {"cache clear", cli_clear_options},
    };

    fputs(".SH OPTIONS\nThe last of a repeated option wins. After \\fB\\-\\-\\fR every word is an operand.\n", out);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        bool is_first = true;

        fprintf(out, ".SS \"%s\"\n", groups[i].title);
        if (i > 0) {
            fputs("Of: ", out);
            for (const cli_command *command = cli_commands; command->name; command++)
                if (!command->is_hidden && takes_group(command, groups[i].group)) {
                    fprintf(out, "%s\\fB%s\\fR", is_first ? "" : ", ", command->name);
                    is_first = false;
                }
            fputs(".\n", out);
        }
        man_group(out, groups[i].group);
    }
}

void cli_print_man(FILE *out)
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
    for (const cli_command *command = cli_commands; command->name; command++) {
        if (command->is_hidden)
            continue;
        fputs(".SS \"", out);
        man_text(out, command->name);
        fputs(*command->operands ? " " : "", out);
        man_text(out, command->operands);
        fputs("\"\n", out);
        man_text(out, command->summary);
        fputs(".\n.PP\n", out);
        man_text(out, command->text);
        fputc('\n', out);
        if (*command->example) {
            fputs(".PP\n.EX\n", out);
            man_text(out, command->example);
            fputs("\n.EE\n", out);
        }
    }
    man_options(out);
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < sizeof exit_codes / sizeof exit_codes[0]; i++)
        man_item(out, exit_codes[i].code, exit_codes[i].text);
    fputs(".SH ENVIRONMENT\nRead once, and not at all by a set\\-uid program.\n", out);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        man_item(out, variables[i].name, variables[i].text);
    fputs(".SH FILES\n", out);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        man_item(out, files[i].name, files[i].text);
}
