/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit pack: kernels, records and choices for a list of shapes, in one file. Needs NVRTC, but not a GPU.
 */
#include "pack.h"

#include <stdlib.h>
#include <string.h>

typedef struct pack_options {
    cli_request_options request;
    cli_machine_options machine;
    const char *output, *shapes, *records, *config, *family, *c_array;
    int64_t threads;
    int32_t strip, aligned, compress;
} pack_options;

#define AT(field) offsetof(pack_options, field)

static const cli_option own[] = {
    {"shapes", CLI_TEXT, AT(shapes), CLI_SHAPES_SUMMARY, "file.csv"},
    {"records", CLI_TEXT, AT(records),
     "Take the tuning records of these files, separated by commas; default: those of the store.", "files"},
    {"config", CLI_TEXT, AT(config), "Use this config, in one line, for every shape, and no record.", "text"},
    {"family", CLI_TEXT, AT(family), "Use the default config of this family for every shape.", "name",
     .offered = cli_family_at},
    {"strip", CLI_FLAG, AT(strip),
     "Only machine code, a quarter of the bytes: without source and PTX it serves neither newer devices nor the emulator.",
     .low = 1},
    {"aligned", CLI_FLAG, AT(aligned),
     "Leave out the kernels for operands whose alignment is smaller than the accesses of the chosen kernels; such operands "
     "then need NVRTC.",
     .low = 1},
    {"compress", CLI_FLAG, AT(compress),
     "Compress with zlib, to a quarter of the bytes; a program that reads the pack needs zlib too (libz.so.1).", .low = 1},
    {"c-array", CLI_TEXT, AT(c_array),
     "Write a C source that defines the bytes under this name, and their number as NAME_size, for a program that carries its "
     "pack inside.",
     "name"},
    {"threads", CLI_INT, AT(threads),
     "Number of kernels that are compiled at once; default: the number of processors, at "
     "most 8.",
     "count", .low = 1, .high = 64},
    {NULL},
};

/* "sm_80,sm_90". */
static tj_status read_targets(const char *list, pack_targets *targets, tj_error *err)
{
    const char *item, *rest = list;
    size_t length;

    targets->count = 0;
    while ((item = cli_next_item(&rest, &length))) {
        if (length == 0 || length >= PACK_TARGET_BYTES || targets->count == PACK_MOST_TARGETS)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--arch is \"%.60s\": write at most %d targets, such as sm_80,sm_90",
                           list, PACK_MOST_TARGETS);
        (void)snprintf(targets->item[targets->count++], PACK_TARGET_BYTES, "%.*s", (int)length, item);
    }
    return TJ_OK;
}

static tj_status check_words(const cli_call *call, pack_targets *targets, tj_config *config, tj_error *err)
{
    const pack_options *options = call->options;
    const char *text = options->config ? options->config : options->family;

    *config = (tj_config)TJ_CONFIG_INIT;

    if (!options->output)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the pack has no file: add -o app.tjpack");
    if (call->operand_count == 0 && !options->shapes)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "there is no shape to pack: write one such as 512x300x700, or --shapes with a file of them");
    if (options->config && options->family)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--config and --family both choose a family: give one of them");
    if (text && tj_config_parse(text, config, err) != TJ_OK)
        return err->status;
    if (options->c_array && !pack_is_c_name(options->c_array))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--c-array is \"%.60s\": use a name that C and C++ take, such as app_pack",
                       options->c_array);
    if (cli_check_stdout(call, "-o", options->output, err) != TJ_OK)
        return err->status;
    return read_targets(options->machine.arch, targets, err);
}

static int count_item(const tj_pack_entry *entry, void *payload)
{
    int64_t *count = payload;

    count[entry->kind]++;
    return 0;
}

/* Write the pack as it is, or as a C source, and report. */
static tj_status write_pack(cli_call *call, tj_pack *pack, const cli_shapes *shapes, tj_error *err)
{
    const pack_options *options = call->options;
    int64_t count[TJ_PACK_CHOICE + 1] = {0};
    void *bytes = NULL;
    char *text = NULL;
    size_t size, length;
    tj_status status = tj_pack_print(pack, &bytes, &size, err);

    if (status == TJ_OK)
        status = tj_pack_list(bytes, size, count_item, count, err);
    if (status == TJ_OK && options->c_array && !(text = pack_c_array(options->c_array, bytes, size, &length)))
        status = tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for a C source of %zu bytes", size);
    if (status == TJ_OK)
        status = text ? cli_write_output(&call->file, text, length, err) : cli_write_output(&call->file, bytes, size, err);
    free(bytes);
    free(text);
    if (status != TJ_OK)
        return status;
    cli_set_text(call->answer, "output", options->output);
    cli_set_int(call->answer, "shapes", (int64_t)shapes->count);
    cli_set_int(call->answer, "bytes", (int64_t)size);
    cli_set_int(call->answer, "images", count[TJ_PACK_IMAGE]);
    cli_set_int(call->answer, "records", count[TJ_PACK_RECORD]);
    cli_set_int(call->answer, "choices", count[TJ_PACK_CHOICE]);
    cli_say(call, "%s: %s, %lld kernels, %lld records, %lld choices\n", options->output, cli_bytes((int64_t)size).text,
            (long long)count[TJ_PACK_IMAGE], (long long)count[TJ_PACK_RECORD], (long long)count[TJ_PACK_CHOICE]);
    return TJ_OK;
}

static tj_status make(cli_call *call, const cli_shapes *shapes, pack_targets *targets, const tj_config *config, tj_error *err)
{
    const pack_options *options = call->options;
    tj_records *records = options->records ? tj_records_create() : NULL;
    tj_pack *pack = NULL;
    tj_status status = cli_open_output(call, options->output, err);

    if (status == TJ_OK && options->records)
        status = records ? cli_read_records(options->records, NULL, NULL, records, err)
                         : tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for the tuning records");
    if (status == TJ_OK)
        status = cli_open(call, &options->machine, false, err);
    if (status == TJ_OK && targets->count == 0) {
        status = cli_target(call, &options->machine, targets->item[0], err);
        targets->count = 1;
    }
    if (status == TJ_OK)
        status = tj_pack_create(call->context, records, &pack, err);
    if (status == TJ_OK)
        status = tj_pack_set_form(pack,
                                  (options->strip ? TJ_PACK_STRIP : 0) | (options->aligned ? TJ_PACK_ALIGNED : 0) |
                                      (options->compress ? TJ_PACK_COMPRESS : 0),
                                  err);
    if (status == TJ_OK)
        status = pack_fill(call, pack, shapes, targets, config, (int)options->threads, err);
    if (status == TJ_OK)
        status = write_pack(call, pack, shapes, err);
    tj_pack_free(pack);
    tj_records_free(records);
    return status;
}

static cli_exit pack(cli_call *call, tj_error *err)
{
    const pack_options *options = call->options;
    cli_shapes shapes = {NULL, 0};
    pack_targets targets;
    tj_config config;
    cli_exit code;

    if (check_words(call, &targets, &config, err) != TJ_OK)
        return CLI_WORDS;
    code = cli_read_shapes(call, &options->request, options->shapes, &shapes, err);
    if (code == CLI_DONE && make(call, &shapes, &targets, config.family ? &config : NULL, err) != TJ_OK)
        code = CLI_FAILED;
    free(shapes.item);
    return code;
}

const cli_command cli_pack = {
    .name = "pack",
    .operands = "[jxkxl ...]",
    .operand_count = {0, CLI_MAX_OPERANDS},
    .summary = "put the kernels of shapes into one file that needs no NVRTC",
    .text = "Chooses a config for each shape and target, by a tuning record if there is one, and compiles its kernel, and "
            "the kernel for operands that this one cannot take. Needs NVRTC but no GPU. The same input gives the same "
            "bytes.\n\nA program finds the file by TILEJIT_PACKS, or by the option packs of its context. It searches the "
            "pack before the store, and does not open NVRTC for kernels in the pack.",
    .example = "tilejit pack 512x300x700 --arch sm_80,sm_90 -o app.tjpack\n"
               "tilejit pack --shapes shapes.csv --dtype bf16 --arch sm_90 --records records.json -o app.tjpack\n"
               "tilejit pack 64x64x64 --c-array app_pack -o app_pack.c",
    .takes = {{&(const cli_group){"pack", own}},
              {&cli_output_group, AT(output)},
              {cli_request_groups, AT(request), CLI_SCALARS},
              {&cli_machine_group, AT(machine)}},
    .option_bytes = sizeof(pack_options),
    .run = pack,
};
