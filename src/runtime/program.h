/* SPDX-License-Identifier: Apache-2.0 */
/* program: a config made ready to launch, held by a plan or tried by a tuning. */
#ifndef TJ_RUNTIME_PROGRAM_H
#define TJ_RUNTIME_PROGRAM_H

#include <tilejit/kernel.h>

#include "host.h"
#include "request.h"

typedef struct tj_program {
    tj_source *source;
    tj_image *image;
    tj_kernel *kernel;
} tj_program;

/** Generate the source of a resolved config, and fetch its image from the stores or compile it. On failure *program is all NULL. */
tj_status tj_program_build(tj_host *host, const tj_request *request, const tj_config *config, const char *target,
                           tj_program *program, tj_error *err);

/** Load what was built. Errors: those of tj_kernel_load. */
tj_status tj_program_load(tj_host *host, tj_program *program, tj_error *err);

/** Unloads the kernel and releases all three; those that are NULL are passed over. */
void tj_program_drop(tj_program *program);

/** Device memory that a launch works in. */
size_t tj_program_workspace_bytes(const tj_program *program);

#endif
