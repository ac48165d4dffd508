/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion: tilejit completion. A shell's script asks the command itself for the possible next words, and the command answers
 * from the tables that --help is printed from.
 */
#include <string.h>

#include "words.h"

/*
 * Each script passes the words up to the cursor to "completion words", --option=value as two, and offers those that match its
 * prefix.
 */
static const struct {
    const char *shell, *script;
} scripts[] = {
    {"bash", "# Made by \"tilejit completion bash\".\n"
             "_tilejit()\n"
             "{\n"
             "    local last=${COMP_WORDS[COMP_CWORD]} words=() word answer\n"
             "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
             "        [ \"$word\" = = ] || words+=(\"$word\")\n"
             "    done\n"
             "    [ \"$last\" != = ] || last=\n"
             "    answer=$(\"$1\" completion words -- \"${words[@]}\" \"$last\" 2>/dev/null)\n"
             "    if [ \"$answer\" = :files ]; then\n"
             "        compopt -o filenames 2>/dev/null\n"
             "        mapfile -t COMPREPLY < <(compgen -f -- \"$last\")\n"
             "    else\n"
             "        mapfile -t COMPREPLY < <(compgen -W \"$(cut -f 1 <<<\"$answer\")\" -- \"$last\")\n"
             "    fi\n"
             "}\n"
             "complete -F _tilejit tilejit\n"},
    {"zsh", "#compdef tilejit\n"
            "# Made by \"tilejit completion zsh\".\n"
            "_tilejit()\n"
            "{\n"
            "    local -a before=(\"${(@)words[2,CURRENT-1]}\") answer\n"
            "    if [[ $PREFIX == --*=* ]]; then\n"
            "        before+=(\"${PREFIX%%=*}\")\n"
            "        compset -P '*='\n"
            "    fi\n"
            "    answer=(\"${(@f)$(\"$words[1]\" completion words -- \"$before[@]\" \"$PREFIX\" 2>/dev/null)}\")\n"
            "    if [[ $answer[1] == :files ]]; then\n"
            "        _files\n"
            "    else\n"
            "        answer=(\"${(@)answer//:/\\\\:}\")\n"
            "        answer=(\"${(@)answer/$'\\t'/:}\")\n"
            "        _describe tilejit answer\n"
            "    fi\n"
            "}\n"
            "if [[ $funcstack[1] == _tilejit ]]; then\n"
            "    _tilejit \"$@\"\n"
            "else\n"
            "    compdef _tilejit tilejit\n"
            "fi\n"},
    {"fish", "# Made by \"tilejit completion fish\".\n"
             "function __tilejit_complete\n"
             "    set -l words (commandline -opc)\n"
             "    set -l last (commandline -ct)\n"
             "    set -l prefix ''\n"
             "    if string match -q -- '--*=*' $last\n"
             "        set prefix (string replace -r '=.*' '=' -- $last)\n"
             "        set words $words (string replace -r '=.*' '' -- $last)\n"
             "        set last (string replace -r '^[^=]*=' '' -- $last)\n"
             "    end\n"
             "    set -l answer ($words[1] completion words -- $words[2..] \"$last\" 2>/dev/null)\n"
             "    if test \"$answer\" = :files\n"
             "        set answer (__fish_complete_path \"$last\")\n"
             "    end\n"
             "    for line in $answer\n"
             "        echo $prefix$line\n"
             "    end\n"
             "end\n"
             "complete -c tilejit -f -a '(__tilejit_complete)'\n"},
};

enum { SHELLS = sizeof scripts / sizeof scripts[0] };

/* Is there a full stop, a colon or a semicolon? The dot of M . N stands alone. */
static bool ends_clause(const char *summary, size_t at)
{
    return strchr(".:;", summary[at]) && (at == 0 || summary[at - 1] != ' ') && (!summary[at + 1] || summary[at + 1] == ' ');
}

/* Offer one candidate, with the first clause of its help. */
static void offer(const char *word, size_t length, const char *summary)
{
    size_t end = 0;

    while (summary[end] && !ends_clause(summary, end))
        end++;
    printf("%.*s\t%.*s\n", (int)length, word, (int)end, summary);
}

/* Offer the words that may continue a command's name; true if there are any. */
static bool offer_commands(const cli_table *table, const char *const *word, size_t count)
{
    char typed[128] = "";
    const char *last = "";
    size_t used = 0;

    for (size_t i = 0; i < count && used < sizeof typed; i++)
        used += (size_t)snprintf(typed + used, sizeof typed - used, "%s ", word[i]);
    for (size_t i = 0; table->commands[i]; i++) {
        const cli_command *command = table->commands[i];
        const char *next;
        size_t length;

        if (strncmp(command->name, typed, used) != 0)
            continue;
        next = command->name + used;
        length = strcspn(next, " ");
        if (strncmp(last, next, length) == 0 && strchr(" ", last[length]) && next[length]) /* a further "cache ..." */
            continue;
        offer(next, length, next[length] ? "" : command->summary);
        last = next;
    }
    return *last != '\0';
}

static void offer_options(const cli_command *command)
{
    const cli_option *option;
    cli_taken from;
    char name[64];

    for (size_t i = 0; (option = cli_option_at(command, i, &from)); i++)
        offer(name, (size_t)snprintf(name, sizeof name, "--%s", option->name), option->summary);
}

static void offer_files(const char *argument)
{
    if (strstr(argument, "file") || strstr(argument, "path") || strstr(argument, "folder") || strstr(argument, ".npy"))
        puts(":files");
}

static void offer_words(const char *(*offered)(size_t index))
{
    const char *word;

    for (size_t i = 0; (word = offered(i)); i++)
        offer(word, strlen(word), "");
}

static void offer_values(const cli_option *option)
{
    if (option->offered)
        offer_words(option->offered);
    else if (option->names)
        for (const cli_name *name = option->names; name->word; name++)
            offer(name->word, strlen(name->word), "");
    else
        offer_files(option->argument);
}

/* Return the option that a word names, if a value must follow it. */
static const cli_option *awaits_value(const cli_command *command, const char *word)
{
    const cli_option *option;
    cli_taken from;

    for (size_t i = 0; word[0] == '-' && (option = cli_option_at(command, i, &from)); i++) {
        const bool is_long = word[1] == '-' && strcmp(word + 2, option->name) == 0;
        const bool is_letter = option->letter && word[1] == option->letter && !word[2];

        if (option->argument && (is_long || is_letter))
            return option;
    }
    return NULL;
}

/* Read the words up to the cursor, the last one as typed so far: print one line for each possible completion. */
static void offer_next(const cli_table *table, const char *const *word, size_t count)
{
    const cli_command *command;
    const cli_option *option;
    const bool is_help = count > 1 && strcmp(word[0], "help") == 0;
    const size_t skip = is_help ? 1 : 0;
    int used;

    if (word[count - 1][0] != '-' && (offer_commands(table, word + skip, count - 1 - skip) || is_help))
        return;
    command = cli_find_command(table, word[0], count > 2 ? word[1] : NULL, &used);
    if (!command)
        return;
    option = awaits_value(command, word[count - 2]);
    if (option)
        offer_values(option);
    else if (word[count - 1][0] == '-')
        offer_options(command);
    else if (command->offered)
        offer_words(command->offered);
    else if (command->operands)
        offer_files(command->operands);
}

static const char *shell_at(size_t index)
{
    return index < SHELLS ? scripts[index].shell : NULL;
}

static cli_exit completion(cli_call *call, tj_error *err)
{
    for (size_t i = 0; i < SHELLS; i++)
        if (call->operand_count == 1 && strcmp(call->operand[0], scripts[i].shell) == 0) {
            if (!call->is_json)
                fputs(scripts[i].script, stdout);
            return CLI_DONE;
        }
    if (strcmp(call->operand[0], "words") == 0 && call->operand_count > 1) {
        if (!call->is_json)
            offer_next(call->table, call->operand + 1, call->operand_count - 1);
        return CLI_DONE;
    }
    (void)tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "completion is for bash, zsh or fish, not for %.40s", call->operand[0]);
    return CLI_WORDS;
}

const cli_command cli_completion = {
    .name = "completion",
    .operands = "<bash|zsh|fish>",
    .operand_count = {1, CLI_MAX_OPERANDS},
    .summary = "print a script that completes words in a shell",
    .text = "An installed TileJIT has its scripts where shells search for them. They call \"completion words -- WORD ...\" "
            "to get the words that may follow on the command line.",
    .example = ". <(tilejit completion bash)\n"
               "tilejit completion zsh > ~/.zfunc/_tilejit\n"
               "tilejit completion fish | source",
    .offered = shell_at,
    .run = completion,
};
