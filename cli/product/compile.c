/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit compile: PTX or CUBIN of a request, and what the compiler said of it. Needs no GPU.
 */
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { EMIT_NOTHING = 0, EMIT_PTX = 1, EMIT_CUBIN = 2 };

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length > tail && strcmp(text + length - tail, end) == 0;
}

/* --emit, or what the name ends in. */
static tj_status choose_image(const cli_words *words, int *emit, tj_error *err)
{
    *emit = words->emit;
    if (*emit == EMIT_NOTHING && words->output) {
        *emit = ends_in(words->output, ".ptx") ? EMIT_PTX : ends_in(words->output, ".cubin") ? EMIT_CUBIN : EMIT_NOTHING;
        if (*emit == EMIT_NOTHING)
            return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s ends in neither .ptx nor .cubin: add --emit ptx or --emit cubin",
                            words->output);
    }
    return TJ_OK;
}

static tj_status write_image(const tj_image *image, int emit, const tj_output *file, tj_error *err)
{
    size_t size = 0;
    const void *bytes = emit == EMIT_PTX ? tj_image_ptx(image, &size) : tj_image_cubin(image, &size);

    if (!bytes)
        return cli_fail(err, TJ_ERR_UNSUPPORTED, "%s gives PTX alone, no CUBIN: use --arch sm_NN, or --emit ptx",
                        tj_image_target(image));
    return cli_write_output(file, bytes, size, err);
}

cli_exit cmd_compile(const cli_words *words, json_t *answer, tj_error *err)
{
    cli_request request;
    tj_context *context = NULL;
    tj_source *source = NULL;
    tj_image *image = NULL;
    const char *path;
    char target[16];
    int emit = EMIT_NOTHING;
    tj_output file;
    tj_status status;

    if (cli_read_request(words, words->operand[0], &request, err) != TJ_OK || choose_image(words, &emit, err) != TJ_OK)
        return CLI_WORDS;
    path = emit == EMIT_NOTHING ? NULL : words->output ? words->output : "-";
    if (words->is_json && path && tj_output_is_stdout(path)) {
        (void)cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "stdout takes the JSON object: add -o and a file for the image");
        return CLI_WORDS;
    }
    status = cli_open_output(path, &file, err);
    if (status == TJ_OK && emit == EMIT_CUBIN && file.is_stdout && isatty(file.stream))
        status = cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "a CUBIN is not for a terminal: add -o kernel.cubin");
    if (status == TJ_OK)
        status = cli_context_create(words, &context, err);
    if (status == TJ_OK)
        status = cli_target(context, words, target, err);
    if (status == TJ_OK)
        status = cli_adapt(context, words, target, &request, err);
    if (status == TJ_OK)
        status = tj_generate(&request.problem, &request.config, &source, err);
    if (status == TJ_OK)
        status = tj_image_obtain(context, source, target, &image, err);
    if (image && *tj_image_log(image))
        cli_set_text(answer, "log", tj_image_log(image));
    if (status == TJ_OK) {
        cli_answer_kernel(answer, source, image);
        cli_answer_chosen(answer, &request);
        if (!words->is_json) {
            cli_print_kernel(stdout, source, image);
            cli_print_chosen(stdout, &request);
        }
        if (emit != EMIT_NOTHING)
            status = write_image(image, emit, &file, err);
        if (words->output)
            cli_set_text(answer, "output", words->output);
    } else if (image && !words->is_json) {
        fputs(tj_image_log(image), stderr);
    }
    tj_output_close(&file);
    tj_image_free(image);
    tj_source_free(source);
    tj_context_free(context);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}
