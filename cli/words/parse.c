/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse: the one parser of options.
 *
 * It does not use getopt_long, because abbreviations would let a new option change the meaning of an old script, POSIXLY_CORRECT
 * would change the order of arguments, and the error for an unknown option should suggest the nearest one.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"
#include "words.h"

static const char *option_name_at(size_t index, const void *payload)
{
    cli_taken from;
    const cli_option *option = cli_option_at(payload, index, &from);

    return option ? option->name : NULL;
}

/* Find an option by its letter, or, if that is 0, by its name; and the place of its value. */
static const cli_option *find(const cli_call *call, char letter, const char *name, size_t length, void **field)
{
    cli_taken from;
    const cli_option *option;

    for (size_t i = 0; (option = cli_option_at(call->command, i, &from)); i++)
        if (letter ? option->letter == letter : strlen(option->name) == length && memcmp(option->name, name, length) == 0) {
            *field = (from.group == &cli_common_group ? (char *)call : (char *)call->options) + from.offset + option->offset;
            return option;
        }
    return NULL;
}

static tj_status unknown_option(const cli_command *command, const char *word, tj_error *err)
{
    const char *name = word + strspn(word, "-");
    char plain[64] = "";
    const char *near;

    (void)snprintf(plain, sizeof plain, "%.*s", (int)strcspn(name, "="), name);
    near = tj_nearest(plain, option_name_at, command);
    if (near)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s has no option %s: did you mean --%s?", command->name, word, near);
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s has no option %s", command->name, word);
}

static const cli_name *find_name(const cli_option *option, const char *value)
{
    for (const cli_name *name = option->names; name && name->word; name++)
        if (strcmp(name->word, value) == 0)
            return name;
    return NULL;
}

static tj_status refuse_name(const cli_option *option, const char *what, const char *value, tj_error *err)
{
    char offered[128] = "";
    size_t used = 0;

    for (const cli_name *name = option->names; name->word; name++)
        used += (size_t)snprintf(offered + used, sizeof offered - used, "%s%s", used ? ", " : "", name->word);
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is \"%s\": use one of %s", what, value, offered);
}

static tj_status read_real(const cli_option *option, const char *what, const char *text, cli_real *real, tj_error *err)
{
    const tj_status status = cli_parse_real(what, text, &real->value, err);

    real->is_given = status == TJ_OK;
    if (status == TJ_OK && option->low > 0 && !(real->value >= (double)option->low)) /* refuses nan, too */
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %.40s: it must be at least %" PRId64, what, text, option->low);
    return status;
}

tj_status cli_apply_option(const cli_option *option, const char *value, void *field, tj_error *err)
{
    const cli_name *name = find_name(option, value);
    char what[64];

    (void)snprintf(what, sizeof what, "--%s", option->name);
    switch (option->kind) {
    case CLI_FLAG:
        *(int32_t *)field = (int32_t)option->low;
        return TJ_OK;
    case CLI_TEXT:
        if (!*value && option->low == 0)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is empty: give <%s>", what, option->argument);
        *(const char **)field = value;
        return TJ_OK;
    case CLI_INT:
        if (!name)
            return cli_parse_int(what, value, option->low, option->high, field, err);
        *(int64_t *)field = name->value;
        return TJ_OK;
    case CLI_REAL:
        return read_real(option, what, value, field, err);
    case CLI_COMPLEX:
        ((cli_real *)field)->is_given = true;
        return cli_parse_complex(what, value, field, err);
    case CLI_CHOICE:
        break;
    }
    if (!name)
        return refuse_name(option, what, value, err);
    *(int32_t *)field = (int32_t)name->value;
    return TJ_OK;
}

/* -5x3x2 and - are operands: no option starts with a digit. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && !(word[1] >= '0' && word[1] <= '9');
}

static tj_status add_operand(cli_call *call, const char *word, tj_error *err)
{
    const cli_command *command = call->command;

    if (command->runs_program)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s takes a program after --: tilejit %s -- %.200s", command->name,
                       command->name, word);
    if (call->operand_count < command->operand_count[1]) {
        call->operand[call->operand_count++] = word;
        return TJ_OK;
    }
    if (command->operand_count[1] == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s takes no operand, but there is \"%s\"", command->name, word);
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s takes %s; \"%s\" is one word too many", command->name, command->operands,
                   word);
}

/* Read one option and its value, in the same or the next argument. Returns the number of arguments. */
static int read_option(int count, char *const *word, cli_call *call, tj_status *status, tj_error *err)
{
    const char *text = word[0], *value = NULL;
    const bool is_long = text[1] == '-';
    const size_t length = is_long ? 2 + strcspn(text + 2, "=") : 2; /* without the value */
    const cli_option *option;
    void *field;

    if (text[length])
        value = text + length + is_long;
    option = find(call, is_long ? '\0' : text[1], text + 2, length - 2, &field);
    if (!option || (!is_long && option->kind == CLI_FLAG && value))
        *status = unknown_option(call->command, text, err);
    else if (option->kind == CLI_FLAG && value)
        *status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--%s takes no value, but there is \"%s\"", option->name, value);
    else if (option->kind == CLI_FLAG || value)
        *status = cli_apply_option(option, value, field, err);
    else if (count < 2 || (word[1][0] == '-' && word[1][1] == '-'))
        *status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--%s needs a value: <%s>", option->name, option->argument);
    else {
        *status = cli_apply_option(option, word[1], field, err);
        return 2;
    }
    return 1;
}

/* Allocate the command's structure, with initial values. */
static tj_status make_options(cli_call *call, tj_error *err)
{
    const cli_option *option;
    cli_taken from;

    call->options = calloc(1, call->command->option_bytes + 1);
    if (!call->options)
        return tj_fail_memory(err, "the options");
    for (size_t i = 0; (option = cli_option_at(call->command, i, &from)); i++)
        if (option->initial)
            *(int64_t *)((char *)call->options + from.offset + option->offset) = option->initial;
    return TJ_OK;
}

tj_status cli_parse(int count, char *const *word, cli_call *call, tj_error *err)
{
    const cli_command *command = call->command;
    bool is_after_dashes = false;
    cli_taken taken;
    tj_status status = make_options(call, err);

    for (int i = 0; i < count && status == TJ_OK;) {
        if (!is_after_dashes && strcmp(word[i], "--") == 0) {
            is_after_dashes = true;
            i++;
            if (command->runs_program && i < count) {
                call->program = word + i;
                break;
            }
        } else if (!is_after_dashes && is_option(word[i])) {
            i += read_option(count - i, word + i, call, &status, err);
        } else {
            status = add_operand(call, word[i++], err);
        }
    }
    if (status == TJ_OK && !call->is_help && command->runs_program && !command->is_program_optional && !call->program)
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s needs a program after --: tilejit %s -- python train.py",
                         command->name, command->name);
    if (status == TJ_OK && !call->is_help && call->operand_count < command->operand_count[0])
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s needs %s", command->name, command->operands);
    for (size_t g = 0; status == TJ_OK && cli_taken_at(command, g, &taken); g++)
        if (taken.group->check)
            status = taken.group->check((const char *)call->options + taken.offset, err);
    return status;
}

const char *cli_next_item(const char **list, size_t *length)
{
    const char *item = *list;

    if (item) {
        *length = strcspn(item, ",");
        *list = item[*length] ? item + *length + 1 : NULL;
    }
    return item;
}
