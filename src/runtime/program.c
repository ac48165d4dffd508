/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

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
