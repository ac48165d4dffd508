/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel: the source and the image of a request, and what is told about them.
 */
#ifndef TJ_CLI_KERNEL_H
#define TJ_CLI_KERNEL_H

#include <tilejit/image.h>
#include <tilejit/source.h>

#include "machine.h"
#include "request.h"

/** "compiled", "store", "memory". */
const char *cli_origin(tj_origin origin);

/** Did the compiler spill registers of a kernel that keeps its sums there, so that it is never launched? */
bool cli_spills(const tj_source *source, const tj_image *image);

/** Describe a source and an image (NULL: none) in an object. */
void cli_answer_kernel(json_t *object, const tj_source *source, const tj_image *image);

/** The text of a request, with the config that cli_adapt gives it for cli_target's target. */
tj_status cli_make_source(tj_context *context, const cli_machine_options *machine, cli_request *request, char target[16],
                          tj_source **source, tj_error *err);

/** And its image: generate, compile and store without running, and tell of it. After a failure the image may hold the log. */
tj_status cli_make_image(const cli_call *call, const cli_machine_options *machine, tj_context *context, cli_request *request,
                         tj_source **source, tj_image **image, tj_error *err);

/** The same where nothing more is wanted: --compile-only. */
cli_exit cli_compile_only(const cli_call *call, const cli_machine_options *machine, tj_context *context,
                          const cli_request *request, tj_error *err);

#endif
