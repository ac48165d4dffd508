/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit generate: print the CUDA text of a request. Needs neither compiler nor driver.
 */
#include <string.h>

#include "cli.h"

static json_t *launch_json(const tj_launch_form *form)
{
    const tj_launch_step *launch = tj_product_step(form);
    json_t *object = json_object(), *block = json_array();

    (void)json_array_append_new(block, json_integer(launch->block_x));
    (void)json_array_append_new(block, json_integer(launch->block_y));
    (void)json_object_set_new(object, "block", block);
    cli_set_int(object, "block_rows", launch->block_rows);
    cli_set_int(object, "block_cols", launch->block_cols);
    cli_set_bool(object, "rows_on_x", launch->rows_on_x);
    cli_set_bool(object, "is_swapped", form->is_swapped);
    cli_set_int(object, "static_shared_bytes", launch->static_shared_bytes);
    cli_set_int(object, "dynamic_shared_bytes", launch->dynamic_shared_bytes);
    cli_set_int(object, "arguments", launch->arg_count);
    return object;
}

cli_exit cmd_generate(const cli_words *words, json_t *answer, tj_error *err)
{
    cli_request request;
    tj_context *context = NULL;
    tj_source *source = NULL;
    char target[16];
    const char *text;
    tj_output file;
    tj_status status;

    if (cli_check_stdout(words, "-o", words->output, err) != TJ_OK ||
        cli_read_request(words, words->operand[0], &request, err) != TJ_OK)
        return CLI_WORDS;
    status = cli_open_output(words->output, &file, err);
    if (status == TJ_OK &&
        !request.has_config) { /* a choice is one for a device: the one here, or, without a driver, an H200 */
        status = cli_context_create(words, &context, err);
        if (status == TJ_OK)
            status = cli_target(context, words, target, err);
        if (status == TJ_OK)
            status = cli_adapt(context, words, target, &request, err);
        tj_context_free(context);
    }
    if (status == TJ_OK)
        status = tj_generate(&request.problem, &request.config, &source, err);
    if (status != TJ_OK) {
        tj_output_close(&file);
        return CLI_FAILED;
    }
    text = tj_source_text(source);
    cli_answer_kernel(answer, source, NULL);
    cli_answer_chosen(answer, &request);
    if (!words->is_json)
        cli_print_chosen(stderr, &request);
    (void)json_object_set_new(answer, "launch", launch_json(tj_source_launch(source)));
    cli_set_text(answer, "source", text);
    if (words->output) {
        status = cli_write_output(&file, text, strlen(text), err);
        cli_set_text(answer, "output", words->output);
    } else if (!words->is_json) {
        fputs(text, stdout); /* main sees to trouble */
    }
    tj_output_close(&file);
    tj_source_free(source);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}
