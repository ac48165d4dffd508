/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 02_look_inside: the explicit tier, one stage after the other: source, image, loaded kernel. The first two need no GPU.
 * Exit code: 0 done, 77 there was no GPU to load the kernel on, 1 anything else.
 */
#include <stdio.h>

#include <tilejit/tools.h>

int main(void)
{
    tj_problem problem = TJ_PROBLEM_INIT(512, 300, 700, TJ_F32);
    tj_config config = TJ_CONFIG_INIT;
    tj_context *context = NULL;
    tj_source *source = NULL;
    tj_image *image = NULL;
    tj_kernel *kernel = NULL;
    tj_kernel_facts facts = TJ_KERNEL_FACTS_INIT;
    tj_error err = {TJ_OK, ""};
    size_t ptx_bytes = 0, cubin_bytes = 0;
    int exit_code = 1;

    if (tj_context_create(NULL, &context, &err) != TJ_OK)
        goto done;

    /* 1. Problem and config become CUDA source. Pure: no file, no library, no GPU. */
    config.family = tj_family_find("tiled");
    if (tj_config_set(&config, "tile_width", "32", &err) != TJ_OK || tj_generate(&problem, &config, &source, &err) != TJ_OK)
        goto done;
    puts(tj_source_text(source));
    printf("boundary checks: %s\n", tj_source_checks_text(source));

    /* 2. NVRTC turns it into PTX and CUBIN, or the store has them already. */
    if (tj_image_obtain(context, source, "sm_90", &image, &err) != TJ_OK)
        goto done;
    tj_image_ptx(image, &ptx_bytes);
    tj_image_cubin(image, &cubin_bytes);
    printf("%s by NVRTC %s: %zu bytes of PTX, %zu of CUBIN, %d registers\n", tj_image_target(image), tj_image_compiler(image),
           ptx_bytes, cubin_bytes, (int)tj_image_resources(image).registers);

    /* 3. The driver loads it. tj_kernel_launch(kernel, &operands, stream, &err) would run it. */
    if (tj_kernel_load(context, source, image, &kernel, &err) != TJ_OK || tj_kernel_get_facts(kernel, &facts, &err) != TJ_OK)
        goto done;
    printf("loaded: %s, %d registers, %d bytes of shared memory\n", tj_source_kernel(source), (int)facts.registers,
           (int)facts.static_shared_bytes);
    exit_code = 0;

done:
    if (exit_code != 0) {
        fprintf(stderr, "02_look_inside: %s\n", err.message);
        if (err.status == TJ_ERR_NO_DRIVER || err.status == TJ_ERR_NO_COMPILER || err.status == TJ_ERR_UNSUPPORTED)
            exit_code = 77;
    }
    tj_kernel_free(kernel);
    tj_image_free(image);
    tj_source_free(source);
    tj_context_free(context);
    return exit_code;
}
