/* SPDX-License-Identifier: Apache-2.0 */
/* custom_prove: a kernel of a family of the application's own, run once between guards and compared with the reference. */
#ifndef TJ_RUNTIME_CUSTOM_PROVE_H
#define TJ_RUNTIME_CUSTOM_PROVE_H

#include "custom_kernel.h"
#include "proof.h"

/**
 * Prove a kernel for the extents that it was loaded for, and remember the result next to its image. Errors:
 * TJ_ERR_CHECK_FAILED; after any other, nothing was proven.
 */
tj_status tj_custom_host_prove(tj_host *host, const tj_custom_kernel *kernel, tj_proof *proof, tj_error *err);

/** TJ_ERR_CHECK_FAILED with the kernel, the reason and the remedy, if the proof failed. */
tj_status tj_custom_proof_check(const tj_source *source, const tj_device_facts *device, const tj_proof *proof, tj_error *err);

#endif
