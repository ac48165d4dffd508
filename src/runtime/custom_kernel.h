/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_kernel: a kernel of a family of the application's own, loaded, and its launch. kernel.c loads its code and checks that
 * it fits the device; it is told only the sizes of the parameters.
 */
#ifndef TJ_RUNTIME_CUSTOM_KERNEL_H
#define TJ_RUNTIME_CUSTOM_KERNEL_H

#include "custom.h"
#include "kernel.h"

struct tj_custom_kernel {
    const tj_custom *custom;
    tj_source *source;
    tj_image *image;
    tj_kernel *loaded;
    tj_custom_request request; /* of the extents it was loaded for */
    int32_t passed[TJ_CUSTOM_MAX_EXTENTS];
    int32_t extent_of[TJ_CUSTOM_MAX_ARGUMENTS];    /* of an argument that passes one: which; else -1 */
    uintptr_t misaligned[TJ_CUSTOM_MAX_ARGUMENTS]; /* bits that an address must not have */
    struct {
        CUdeviceptr address;
        size_t bytes;
    } constant[TJ_CUSTOM_MAX_ARGUMENTS];
};

/** Load a source generated for extents, with its image. Takes over both unless it fails. Errors: as tj_custom_load. */
tj_status tj_custom_host_load(tj_host *host, const int64_t *extent, tj_source *source, tj_image *image,
                              tj_custom_kernel **kernel, tj_error *err);

#endif
