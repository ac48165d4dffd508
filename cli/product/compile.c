/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit compile: PTX or CUBIN of a request, and the compiler's report on it. Does not need a GPU.
 */
#include <string.h>
#include <unistd.h>

#include "product.h"

enum { EMIT_NOTHING = 0, EMIT_PTX, EMIT_CUBIN };

typedef struct compile_options {
    cli_request_options request;
    cli_machine_options machine;
    const char *output;
    int32_t emit;
} compile_options;

static const cli_name images[] = {{"ptx", EMIT_PTX}, {"cubin", EMIT_CUBIN}, {NULL}};

static const cli_option own[] = {
    {"emit", CLI_CHOICE, offsetof(compile_options, emit),
     "The image to write: ptx or cubin; default: the ending of the file's name.", "kind", .names = images},
    {NULL},
};

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length > tail && strcmp(text + length - tail, end) == 0;
}

/* Choose by --emit, or by the suffix of the file name. */
static tj_status choose_image(const compile_options *options, int *emit, tj_error *err)
{
    const char *path = options->output;

    *emit = options->emit;
    if (*emit != EMIT_NOTHING || !path)
        return TJ_OK;
    *emit = ends_in(path, ".ptx") ? EMIT_PTX : ends_in(path, ".cubin") ? EMIT_CUBIN : EMIT_NOTHING;
    return *emit != EMIT_NOTHING ? TJ_OK
                                 : tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                                           "%s ends in neither .ptx nor .cubin: add --emit ptx or --emit cubin", path);
}

static tj_status write_image(const tj_image *image, int emit, const tj_output *file, tj_error *err)
{
    size_t size = 0;
    const void *bytes = emit == EMIT_PTX ? tj_image_ptx(image, &size) : tj_image_cubin(image, &size);

    if (!bytes)
        return tj_fail(err, TJ_ERR_UNSUPPORTED, "%s gives PTX alone, no CUBIN: use --arch sm_NN, or --emit ptx",
                       tj_image_target(image));
    return cli_write_output(file, bytes, size, err);
}

static cli_exit compile(cli_call *call, tj_error *err)
{
    const compile_options *options = call->options;
    cli_request request;
    tj_source *source = NULL;
    tj_image *image = NULL;
    const char *path;
    int emit = EMIT_NOTHING;
    tj_status status;

    if (cli_read_request(&options->request, call->operand[0], &request, err) != TJ_OK ||
        choose_image(options, &emit, err) != TJ_OK)
        return CLI_WORDS;
    path = emit == EMIT_NOTHING ? NULL : options->output ? options->output : "-";
    if (call->is_json && path && tj_output_is_stdout(path)) {
        (void)tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "stdout takes the JSON object: add -o and a file for the image");
        return CLI_WORDS;
    }
    status = cli_open_output(call, path, err);
    if (status == TJ_OK && emit == EMIT_CUBIN && call->file.is_stdout && isatty(call->file.stream))
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "a CUBIN is not for a terminal: add -o kernel.cubin");
    if (status == TJ_OK)
        status = cli_open(call, &options->machine, false, err);
    if (status == TJ_OK)
        status = cli_make_image(call, &options->machine, &request, &source, &image, err);
    if (image && *tj_image_log(image))
        cli_set_text(call->answer, "log", tj_image_log(image));
    if (status != TJ_OK && image && !call->is_json)
        cli_print(stderr, "%s", tj_image_log(image));
    if (status == TJ_OK && options->output)
        cli_set_text(call->answer, "output", options->output);
    if (status == TJ_OK && emit != EMIT_NOTHING)
        status = write_image(image, emit, &call->file, err);
    tj_image_free(image);
    tj_source_free(source);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

const cli_command cli_compile = {
    .name = "compile",
    .operands = "<jxkxl>",
    .operand_count = {1, 1},
    .summary = "compile a request to PTX or CUBIN, and report its resources",
    .text = "The kernel is kept in the store as for a run. With -o the image is written too; its kind follows from the "
            "file's name. Needs NVRTC but no GPU. The report goes to stdout, or to stderr if the image goes to stdout.",
    .example = "tilejit compile 512x300x700\n"
               "tilejit compile 512x300x700 --arch sm_80 -o kernel.cubin",
    .takes = {{&cli_output_group, offsetof(compile_options, output)},
              {&(const cli_group){"compile", own}},
              {cli_request_groups, offsetof(compile_options, request), CLI_CONFIG},
              {&cli_machine_group, offsetof(compile_options, machine)}},
    .option_bytes = sizeof(compile_options),
    .run = compile,
};
