/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding.h: what the extension is made of: the public headers, and the calls that are worth a line of C. make_binding.py reads the
 * declarations; the bodies are for the compiler alone.
 */
#ifndef TILEJIT_BINDING_H
#define TILEJIT_BINDING_H

#include <tilejit/tools.h>

/* DLPack's structures, as far as they are read: https://dmlc.github.io/dlpack, version 0 of the protocol. */
typedef struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t dimensions;
    uint8_t type_code, type_bits;
    uint16_t type_lanes;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: row-major, tight */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed_tensor {
    dl_tensor tensor;
    void *manager;
    void (*deleter)(struct dl_managed_tensor *self); /* called once, by whoever took the tensor */
} dl_managed_tensor;

/**
 * tj_matmul with operands that are a prepared set and the addresses of this call; 0: there is none. scales: those of TJ_OPERAND_SCALE and all
 * up to TJ_OPERAND_WITH; NULL: none. Returns NULL, or why it failed,
 * which is valid until the next call of this thread.
 */
static inline const tj_error *tjpy_matmul(tj_context *context, const tj_problem *problem, const tj_operands *prepared, size_t m,
                                          size_t n, size_t p, size_t c, const size_t *scales, double alpha, double alpha_im,
                                          double beta, double beta_im, size_t stream)
{
    static _Thread_local tj_error error;
    tj_operands operands = *prepared;

    operands.m.address = (const void *)m;
    operands.n.address = (const void *)n;
    operands.p.address = (const void *)p;
    operands.c.address = (const void *)c;
    for (int i = 0; scales && i < TJ_SCALED; i++)
        operands.scale[i].address = (const void *)scales[i];
    for (int i = 0; scales && i < TJ_FACTORS; i++) {
        operands.zero[i].address = (const void *)scales[TJ_SCALED + i];
        operands.whole[i].address = (const void *)scales[TJ_SCALED + TJ_FACTORS + i];
    }
    operands.alpha = alpha;
    operands.beta = beta;
    operands.alpha_im = alpha_im;
    operands.beta_im = beta_im;
    return tj_matmul(context, problem, &operands, (struct CUstream_st *)stream, &error) == TJ_OK ? NULL : &error;
}

/**
 * Handlers of XLA's foreign function interface for tilejit.jax (xla.c), on devices and on the CPU: they take an XLA_FFI_CallFrame
 * and return an XLA_FFI_Error. XLA calls them, on any thread.
 */
void *tjpy_xla_on_device(void *frame);
void *tjpy_xla_on_host(void *frame);

/** Python's: return the context of a device, or of the CPU (-1), which lives for ever; NULL: it raised. */
tj_context *tjpy_context(int device);

/** free(), of the C library that made what TileJIT hands out. */
static inline void tjpy_free(void *bytes)
{
    extern void free(void *);
    free(bytes);
}

#endif
