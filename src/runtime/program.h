/* SPDX-License-Identifier: Apache-2.0 */
/* program: a config on its way to a launch: what a plan holds, and what a tuning tries. */
#ifndef TJ_RUNTIME_PROGRAM_H
#define TJ_RUNTIME_PROGRAM_H

#include <tilejit/kernel.h>

typedef struct tj_program {
    tj_source *source;
    tj_image *image;
    tj_kernel *kernel;
} tj_program;

/** Unloads the kernel and releases all three; those that are NULL are passed over. */
void tj_program_drop(tj_program *program);

/** Device memory that a launch works in. */
size_t tj_program_workspace_bytes(const tj_program *program);

#endif
