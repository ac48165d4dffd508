/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit cache explain: why a request would hit or miss the store, field by field.
 */
#include <inttypes.h>
#include <string.h>

#include "product.h"

typedef struct explain_options {
    cli_request_options request;
    cli_machine_options machine;
} explain_options;

typedef struct visit {
    tj_json *list;
    bool is_silent;
} visit;

/* Show whether two long texts differ, no more: FNV-1a. */
static uint32_t fingerprint(const char *text)
{
    uint32_t hash = 2166136261u;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

static bool is_long(const char *text)
{
    return strlen(text) > 60 || strchr(text, '\n');
}

static void print_value(const char *label, const char *text)
{
    if (!text)
        cli_print(stdout, "    %s  no entry\n", label);
    else if (is_long(text))
        cli_print(stdout, "    %s  %zu bytes, fingerprint %08" PRIx32 "\n", label, strlen(text), fingerprint(text));
    else
        cli_print(stdout, "    %s  %s\n", label, text);
}

static size_t line_length(const char *text)
{
    return strcspn(text, "\n");
}

/* Print the first line in which two long texts differ. */
static void print_difference(const char *wanted, const char *found)
{
    int line = 1;

    while (*wanted && *found && line_length(wanted) == line_length(found) && memcmp(wanted, found, line_length(wanted)) == 0) {
        wanted += line_length(wanted);
        wanted += *wanted == '\n';
        found += line_length(found);
        found += *found == '\n';
        line++;
    }
    cli_print(stdout, "    line %d wanted  %.*s\n    line %d found   %.*s\n", line, (int)line_length(wanted), wanted, line,
              (int)line_length(found), found);
}

static void tell_field(const tj_store_field *field, void *payload)
{
    visit *to = payload;
    tj_json *object = cli_append_object(to->list);

    cli_set_text(object, "name", field->name);
    cli_set_text(object, "wanted", field->wanted);
    if (field->found)
        cli_set_text(object, "found", field->found);
    else
        tj_json_add_null(object, "found");
    cli_set_bool(object, "is_equal", field->is_equal);
    if (to->is_silent)
        return;
    cli_print(stdout, "%-9s %s\n", field->name, field->is_equal ? "equal" : "different");
    print_value("wanted", field->wanted);
    if (!field->is_equal) {
        print_value("found ", field->found);
        if (field->found && (is_long(field->wanted) || is_long(field->found)))
            print_difference(field->wanted, field->found);
    }
}

/* The image is in the pack: compile nothing and do not open NVRTC. */
static void tell_pack(cli_call *call, const tj_source *source, const char *target)
{
    tj_image *image;

    if (tj_image_obtain(call->context, source, target, &image, NULL) != TJ_OK)
        return;
    cli_set_text(call->answer, "pack", tj_image_pack(image));
    cli_say(call, "note      %s has it, whose options and compiler these are: no NVRTC is needed for it\n",
            tj_image_pack(image));
    tj_image_free(image);
}

static cli_exit explain(cli_call *call, tj_error *err)
{
    const explain_options *options = call->options;
    visit to;
    cli_request request;
    tj_source *source;
    char target[16], key[33] = "";
    const char *const *targets;
    bool has_compiler;
    int hit = 0;
    tj_status status;

    if (cli_read_request(&options->request, call->operand[0], &request, err) != TJ_OK)
        return CLI_WORDS;
    to = (visit){cli_add_list(call->answer, "fields"), call->is_json};
    if (cli_open(call, &options->machine, !options->machine.arch, err) != TJ_OK ||
        cli_make_source(call, &options->machine, &request, target, &source, err) != TJ_OK)
        return CLI_FAILED;
    status = tj_store_explain(call->context, source, target, key, &hit, tell_field, &to, err);
    if (status != TJ_OK) {
        tj_source_free(source);
        return CLI_FAILED;
    }
    has_compiler = tj_targets(call->context, &targets, NULL) == TJ_OK;
    if (*key)
        cli_set_text(call->answer, "key", key);
    else
        tj_json_add_null(call->answer, "key");
    cli_set_bool(call->answer, "hit", hit != TJ_HIT_NONE);
    cli_set_bool(call->answer, "from_pack", hit == TJ_HIT_PACK);
    cli_set_bool(call->answer, "has_compiler", has_compiler);
    cli_say(call, "key       %s: this request would %s\n", *key ? key : "not known", hit ? "hit" : "miss");
    if (hit == TJ_HIT_PACK)
        tell_pack(call, source, target);
    else if (!*key)
        cli_say(call, "note      there is no NVRTC here, and nothing stored or packed for this source and target\n");
    else if (!has_compiler)
        cli_say(call, "note      there is no NVRTC here, so options and compiler are those of the stored entry\n");
    tj_source_free(source);
    return CLI_DONE;
}

const cli_command cli_cache_explain = {
    .name = "cache explain",
    .operands = "<jxkxl>",
    .operand_count = {1, 1},
    .summary = "explain field by field why a request would hit or miss",
    .text = "Compares two keys: the one that tilejit run would search for on this machine, or with --arch tilejit compile, "
            "and that of the stored entry that shares the most fields.",
    .example = "tilejit cache explain 512x300x700",
    .takes = {{cli_request_groups, offsetof(explain_options, request), CLI_CONFIG},
              {&cli_machine_group, offsetof(explain_options, machine)}},
    .option_bytes = sizeof(explain_options),
    .run = explain,
};
