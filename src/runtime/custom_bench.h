/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_bench: the arguments of a family of the application's own, to try its kernels with: elements from the application or
 * random ones, on the host and in sets on the device, between guards; and the results of its reference.
 */
#ifndef TJ_RUNTIME_CUSTOM_BENCH_H
#define TJ_RUNTIME_CUSTOM_BENCH_H

#include "buffer.h"
#include "custom_kernel.h"

enum { TJ_CUSTOM_REASON_BYTES = 160 };

typedef struct tj_custom_bench {
    tj_gpu *gpu;
    CUstream stream;
    const tj_custom *custom;
    int64_t extent[TJ_CUSTOM_MAX_EXTENTS];
    size_t sets, guard;
    int64_t elements; /* of all outputs */
    struct {
        int64_t count;
        size_t bytes;         /* of its elements */
        void *before, *after; /* on the host: the elements before a launch, and the expected ones after it; equal for inputs */
        tj_buffer *buffer;    /* of all sets: guard, elements, guard, and so on */
        union {
            float f32;
            double f64;
            int32_t s32;
        } scalar;
    } argument[TJ_CUSTOM_MAX_ARGUMENTS];
    tj_custom_value *value; /* of all sets, spec.argument_count each */
    void *read;             /* as large as the largest argument with its guards */
} tj_custom_bench;

/** The bytes of one set. Errors: TJ_ERR_INVALID_ARGUMENT. */
tj_status tj_custom_set_bytes(const tj_custom *custom, const int64_t *extent, size_t *bytes, tj_error *err);

/**
 * Fill the host's arguments and call the reference. custom and stream outlive it. Release with tj_custom_bench_drop, after a
 * failure too.
 */
tj_status tj_custom_bench_fill(tj_gpu *gpu, CUstream stream, const tj_custom *custom, const int64_t *extent, uint64_t seed,
                               tj_custom_bench *bench, tj_error *err);

/** Place `sets` sets on the device, with guard bytes around each argument, a multiple of 256. Once. */
tj_status tj_custom_bench_place(tj_custom_bench *bench, size_t sets, size_t guard, tj_error *err);
void tj_custom_bench_drop(tj_custom_bench *bench);

/** Copy the constants into a kernel. */
tj_status tj_custom_bench_set_constants(const tj_custom_bench *bench, const tj_custom_kernel *kernel, tj_error *err);

/** Queue a launch over a set. */
tj_status tj_custom_bench_launch(const tj_custom_bench *bench, const tj_custom_kernel *kernel, size_t set, tj_error *err);

/**
 * Launch over the first set, with poisoned outputs, and compare: every output with the reference, and, where there are guards,
 * these and the inputs with what they were. reason: "" if all is right, else a sentence.
 */
tj_status tj_custom_bench_verify(tj_custom_bench *bench, const tj_custom_kernel *kernel, char reason[TJ_CUSTOM_REASON_BYTES],
                                 tj_error *err);

#endif
