/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proof: test results of an image on a device.
 *
 *     prove.c    runs a kernel between guards and compares
 *     proof.c    keeps the result: next to the stored image, and in memory for as long as the image is
 */
#ifndef TJ_SRC_PROOF_H
#define TJ_SRC_PROOF_H

#include <tilejit/prove.h>

#include "image.h"
#include "program.h"

/** Has the kernel of an image been proven on such a device with its driver? Reads a file unless it is remembered. */
bool tj_proof_recall(tj_host *host, const tj_image *image, const tj_device_facts *device, tj_proof *proof);

/** Remember and store a result. */
void tj_proof_remember(tj_host *host, const tj_image *image, const tj_device_facts *device, const tj_proof *proof);

/** TJ_ERR_CHECK_FAILED with the kernel, the reason and the remedy, if the proof failed. */
tj_status tj_proof_check(const tj_source *source, const tj_device_facts *device, const tj_proof *proof, tj_error *err);

/** Write a case as tj_proof_write_case does. */
tj_status tj_proof_write(const tj_program *program, const tj_device_facts *device, const tj_proof *proof, const char *folder,
                         tj_error *err);

/**
 * Make the reference of a comparison: the textbook's kernel, naive, for any extents, of the request's types and layouts. config
 * becomes resolved.
 */
tj_status tj_proof_simple(const tj_request *request, tj_request *simple, tj_config *config, tj_error *err);

/** As tj_plan_prove with again, against the loaded kernel of tj_proof_simple. */
tj_status tj_program_prove(tj_host *host, const tj_program *program, const tj_kernel *simple, const tj_request *request,
                           tj_proof *proof, tj_error *err);

#endif
