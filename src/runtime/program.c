/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include "image.h"
#include "kernel.h"
#include "settle.h"

tj_status tj_program_build(tj_host *host, const tj_request *request, const tj_config *config, const char *target,
                           tj_program *program, tj_error *err)
{
    tj_status status;

    *program = (tj_program){0};
    status = tj_request_generate(request, config, &program->source, err);
    if (status == TJ_OK)
        status = tj_image_build(host, program->source, target, false, &program->image, err);
    if (status != TJ_OK)
        tj_program_drop(program);
    return status;
}

tj_status tj_program_load(tj_host *host, tj_program *program, tj_error *err)
{
    return tj_host_load(host, program->source, program->image, &program->kernel, err);
}

void tj_program_drop(tj_program *program)
{
    tj_kernel_free(program->kernel);
    tj_image_free(program->image);
    tj_source_free(program->source);
    *program = (tj_program){0};
}

size_t tj_program_workspace_bytes(const tj_program *program)
{
    return (size_t)tj_source_launch(program->source)->workspace_bytes;
}
