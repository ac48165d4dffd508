/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit generate: print the CUDA source of a request. Needs neither compiler nor driver.
 */
#include <string.h>

#include "product.h"

typedef struct generate_options {
    cli_request_options request;
    cli_machine_options machine;
    const char *output;
} generate_options;

static void set_launch(tj_json *answer, const tj_launch_form *form)
{
    const tj_launch_step *launch = tj_product_step(form);
    tj_json *object = cli_add_object(answer, "launch"), *block = cli_add_list(object, "block");

    tj_json_add_int(block, NULL, launch->block_x);
    tj_json_add_int(block, NULL, launch->block_y);
    cli_set_int(object, "block_rows", launch->block_rows);
    cli_set_int(object, "block_cols", launch->block_cols);
    cli_set_bool(object, "rows_on_x", launch->rows_on_x);
    cli_set_bool(object, "is_swapped", form->is_swapped);
    cli_set_int(object, "static_shared_bytes", launch->static_shared_bytes);
    cli_set_int(object, "dynamic_shared_bytes", launch->dynamic_shared_bytes);
    cli_set_int(object, "arguments", launch->arg_count);
}

/* A choice is for a device: that of --arch, the one here, or, without a driver, an H200. */
static tj_status choose(cli_call *call, const cli_machine_options *machine, cli_request *request, tj_error *err)
{
    char target[16];

    if (cli_open(call, machine, false, err) != TJ_OK || cli_target(call, machine, target, err) != TJ_OK)
        return err->status;
    return cli_adapt(call, machine, target, request, err);
}

static cli_exit generate(cli_call *call, tj_error *err)
{
    const generate_options *options = call->options;
    cli_request request;
    tj_source *source = NULL;
    const char *text;
    tj_status status = TJ_OK;

    if (cli_check_stdout(call, "-o", options->output, err) != TJ_OK ||
        cli_read_request(&options->request, call->operand[0], &request, err) != TJ_OK)
        return CLI_WORDS;
    if (cli_open_output(call, options->output, err) != TJ_OK ||
        (!request.has_config && choose(call, &options->machine, &request, err) != TJ_OK) ||
        tj_generate(&request.problem, &request.config, &source, err) != TJ_OK)
        return CLI_FAILED;
    text = tj_source_text(source);
    cli_answer_kernel(call->answer, source, NULL);
    cli_tell_chosen(call, stderr, request.chosen_by);
    set_launch(call->answer, tj_source_launch(source));
    cli_set_text(call->answer, "source", text);
    if (options->output) {
        status = cli_write_output(&call->file, text, strlen(text), err);
        cli_set_text(call->answer, "output", options->output);
    } else if (!call->is_json) {
        fputs(text, stdout); /* main reports errors */
    }
    tj_source_free(source);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

const cli_command cli_generate = {
    .name = "generate",
    .operands = "<jxkxl>",
    .operand_count = {1, 1},
    .summary = "print the CUDA source of a request",
    .text = "Prints the source that the compiler gets: one kernel, with the numbers of this request in it. Without a config "
            "the library chooses one for the device, or for the device of --arch. Needs neither compiler nor GPU.",
    .example = "tilejit generate 512x300x700\n"
               "tilejit generate 512x300x700 --arch sm_80\n"
               "tilejit generate 512x300x700 --any k --tile-width 8 -o kernel.cu",
    .takes = {{&cli_output_group, offsetof(generate_options, output)},
              {cli_request_groups, offsetof(generate_options, request), CLI_CONFIG},
              {&cli_machine_group, offsetof(generate_options, machine)}},
    .option_bytes = sizeof(generate_options),
    .run = generate,
};
