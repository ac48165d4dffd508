/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel: the source and the image of a request, and reports on them.
 */
#include <inttypes.h>

#include "product.h"

const char *cli_origin(tj_origin origin)
{
    return origin == TJ_FROM_COMPILER ? "compiled"
           : origin == TJ_FROM_STORE  ? "store"
           : origin == TJ_FROM_PACK   ? "pack"
           : origin == TJ_FROM_REMOTE ? "remote"
                                      : "memory";
}

bool cli_spills(const tj_source *source, const tj_image *image)
{
    const tj_resources used = tj_image_resources(image);

    return tj_product_step(tj_source_launch(source))->sums_in_registers &&
           (used.stack_bytes > 0 || used.spill_stores > 0 || used.spill_loads > 0);
}

void cli_answer_kernel(tj_json *answer, const tj_source *source, const tj_image *image)
{
    char config[TJ_CONFIG_TEXT_BYTES];

    tj_config_print(tj_source_config(source), config);
    cli_set_text(answer, "kernel", tj_source_kernel(source));
    cli_set_text(answer, "config", config);
    cli_set_text(answer, "checks", tj_source_checks_text(source));
    cli_set_problem(answer, tj_source_problem(source));
    if (image) {
        const tj_resources used = tj_image_resources(image);
        tj_json *resources = cli_add_object(answer, "resources");
        size_t ptx, cubin;

        (void)tj_image_ptx(image, &ptx);
        (void)tj_image_cubin(image, &cubin);
        cli_set_text(answer, "target", tj_image_target(image));
        cli_set_text(answer, "origin", cli_origin(tj_image_origin(image)));
        if (tj_image_pack(image))
            cli_set_text(answer, "pack", tj_image_pack(image));
        cli_set_text(answer, "key", tj_image_key(image));
        cli_set_text(answer, "compiler", tj_image_compiler(image));
        cli_set_int(answer, "ptx_bytes", (int64_t)ptx);
        cli_set_int(answer, "cubin_bytes", (int64_t)cubin);
        cli_set_int(resources, "registers", used.registers);
        cli_set_int(resources, "shared_bytes", used.shared_bytes);
        cli_set_int(resources, "dynamic_shared_bytes", tj_product_step(tj_source_launch(source))->dynamic_shared_bytes);
        cli_set_int(resources, "stack_bytes", used.stack_bytes);
        cli_set_int(resources, "spill_stores", used.spill_stores);
        cli_set_int(resources, "spill_loads", used.spill_loads);
        cli_set_int(resources, "constant_bytes", used.constant_bytes);
        cli_set_bool(resources, "spilled", cli_spills(source, image));
    }
}

static void tell_kernel(const cli_call *call, const tj_source *source, const tj_image *image)
{
    const tj_launch_step *launch = tj_product_step(tj_source_launch(source));
    const tj_resources used = tj_image_resources(image);
    char config[TJ_CONFIG_TEXT_BYTES];
    const char *pack = tj_image_pack(image);
    size_t ptx, cubin;

    cli_answer_kernel(call->answer, source, image);
    (void)tj_image_ptx(image, &ptx);
    (void)tj_image_cubin(image, &cubin);
    tj_config_print(tj_source_config(source), config);
    cli_say(call, "kernel     %s\nconfig     %s\nchecks     %s\n", tj_source_kernel(source), config,
            tj_source_checks_text(source));
    cli_say(call, "target     %s, by NVRTC %s\n", tj_image_target(image), tj_image_compiler(image));
    cli_say(call, "origin     %s%s%s, key %s\n", cli_origin(tj_image_origin(image)), pack ? " " : "", pack ? pack : "",
            tj_image_key(image));
    cli_say(call, "image      %zu bytes of PTX, %zu bytes of CUBIN\n", ptx, cubin);
    if (used.registers >= 0)
        cli_say(call,
                "resources  %d registers per thread, %d bytes of shared memory per block, %" PRId64
                " more at launch, %d bytes of stack, spills %d/%d bytes\n",
                (int)used.registers, (int)used.shared_bytes, launch->dynamic_shared_bytes, (int)used.stack_bytes,
                (int)used.spill_stores, (int)used.spill_loads);
    else
        cli_say(call, "resources  not known before the driver has compiled the PTX\n");
    if (cli_spills(source, image))
        cli_say(call,
                "note       a kernel that spills its sums is never launched: a run would say so, or take another config\n");
}

tj_status cli_make_source(const cli_call *call, const cli_machine_options *machine, cli_request *request, char target[16],
                          tj_source **source, tj_error *err)
{
    tj_status status = cli_target(call, machine, target, err);

    if (status == TJ_OK)
        status = cli_adapt(call, machine, target, request, err);
    return status == TJ_OK ? tj_generate(&request->problem, &request->config, source, err) : status;
}

tj_status cli_make_image(const cli_call *call, const cli_machine_options *machine, cli_request *request, tj_source **source,
                         tj_image **image, tj_error *err)
{
    char target[16];
    tj_status status = cli_make_source(call, machine, request, target, source, err);

    if (status == TJ_OK)
        status = tj_image_obtain(call->context, *source, target, image, err);
    if (status != TJ_OK)
        return status;
    tell_kernel(call, *source, *image);
    cli_tell_chosen(call, stdout, request->chosen_by);
    return TJ_OK;
}

cli_exit cli_compile_only(const cli_call *call, const cli_machine_options *machine, const cli_request *request, tj_error *err)
{
    cli_request adapted = *request;
    tj_source *source = NULL;
    tj_image *image = NULL;
    const tj_status status = cli_make_image(call, machine, &adapted, &source, &image, err);

    if (status == TJ_OK)
        cli_set_bool(call->answer, "was_run", false);
    tj_image_free(image);
    tj_source_free(source);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}
