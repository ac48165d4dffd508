/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xla.h: XLA's foreign function interface, as far as xla.c reads it: version 0.1 of xla/ffi/api/c_api.h, which jaxlib brings, and
 * one member that a later version added to the end of a structure. XLA refuses a version that it no longer has.
 * tests/test_jax.py compares each member with the header of the jaxlib that is there.
 */
#ifndef TILEJIT_XLA_H
#define TILEJIT_XLA_H

#include <stddef.h>
#include <stdint.h>

enum {
    XLA_MAJOR = 0,
    XLA_MINOR = 1,
    XLA_METADATA = 1,
    XLA_IS_BUFFER = 1,
    XLA_IS_ARRAY = 1,
    XLA_INITIALIZE = 2,
    XLA_EXECUTE = 3
};

/** An operation may be recorded into a CUDA graph, because each call queues the same work. */
enum { XLA_MAY_BE_CAPTURED = 1 };

enum {
    XLA_INVALID_ARGUMENT = 3,
    XLA_RESOURCE_EXHAUSTED = 8,
    XLA_FAILED_PRECONDITION = 9,
    XLA_UNIMPLEMENTED = 12,
    XLA_INTERNAL = 13
};

typedef struct xla_extension {
    size_t struct_size;
    int type;
    struct xla_extension *next;
} xla_extension;

typedef struct xla_version {
    size_t struct_size;
    xla_extension *extension_start;
    int major_version, minor_version;
} xla_version;

typedef struct xla_metadata {
    size_t struct_size;
    xla_version api_version;
    uint32_t traits;
} xla_metadata;

typedef struct xla_metadata_extension {
    xla_extension extension_base;
    xla_metadata *metadata;
} xla_metadata_extension;

typedef struct xla_buffer {
    size_t struct_size;
    xla_extension *extension_start;
    int dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
} xla_buffer;

typedef struct xla_span {
    const char *ptr;
    size_t len;
} xla_span;

typedef struct xla_array {
    int dtype;
    size_t size; /* elements */
    void *data;
} xla_array;

typedef struct xla_buffers { /* the arguments, or the results */
    size_t struct_size;
    xla_extension *extension_start;
    int64_t size;
    int *types;
    void **each;
} xla_buffers;

typedef struct xla_attrs {
    size_t struct_size;
    xla_extension *extension_start;
    int64_t size;
    int *types;
    xla_span **names;
    void **attrs;
} xla_attrs;

typedef struct xla_error xla_error;

typedef struct xla_error_create_args {
    size_t struct_size;
    xla_extension *extension_start;
    const char *message;
    int errc;
} xla_error_create_args;

typedef struct xla_stream_get_args {
    size_t struct_size;
    xla_extension *extension_start;
    void *ctx;
    void *stream; /* received */
} xla_stream_get_args;

typedef struct xla_device_ordinal_get_args {
    size_t struct_size;
    xla_extension *extension_start;
    void *ctx;
    int32_t device_ordinal; /* received */
} xla_device_ordinal_get_args;

typedef struct xla_api {
    size_t struct_size;
    xla_extension *extension_start;
    xla_version api_version;
    const void *internal_api;
    xla_error *(*error_create)(xla_error_create_args *args);
    void *unused_1[3];
    xla_error *(*stream_get)(xla_stream_get_args *args);
    void *unused_2[12];
    xla_error *(*device_ordinal_get)(xla_device_ordinal_get_args *args); /* of a later version: see struct_size */
} xla_api;

typedef struct xla_frame {
    size_t struct_size;
    xla_extension *extension_start;
    const xla_api *api;
    void *ctx;
    int stage;
    xla_buffers args, rets;
    xla_attrs attrs;
} xla_frame;

#endif
