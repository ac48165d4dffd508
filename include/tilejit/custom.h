/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom.h: a family of the application's own: any kernel, not only a matrix product, that is written as a template with
 * parameters. The library generates, compiles, stores, tunes, proves and launches it like its own families, and need not be
 * built again. docs/own-families.md explains two examples.
 *
 *     tj_custom_spec       stated once by the application: source, extents, parameters, geometry, arguments, a reference
 *     tj_family_create     spec -> family, which tj_config takes like any other
 *     tj_custom_generate   config, extents -> CUDA text
 *     tj_custom_load       family, extents -> kernel: the tuned config, from the store if it is there
 *     tj_custom_launch     kernel, addresses -> one launch
 *     tj_custom_tune       family, extents -> the fastest config, kept as a record
 *     tj_custom_prove      family, extents -> does the kernel agree with the reference on this device?
 *
 * A spec is code: its source is compiled and run unchanged. Take it only from people who may run code in your process.
 *
 * A formula is an expression over whole numbers, with the operators of C (|| && == != < <= > >= + - * / % ! and brackets) and
 * min(a, b), max(a, b) and ceil_div(a, b). It may name extents, parameters (the value of a choice is the number of its option,
 * from 1) and the derived values before it. It has at most 256 characters.
 */
#ifndef TILEJIT_CUSTOM_H
#define TILEJIT_CUSTOM_H

#include <tilejit/kernel.h>
#include <tilejit/prove.h>
#include <tilejit/tuner.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TJ_CUSTOM_MAX_EXTENTS = 8, TJ_CUSTOM_MAX_DERIVED = 32, TJ_CUSTOM_MAX_ARGUMENTS = 24, TJ_CUSTOM_MAX_PARTS = 16 };
enum { TJ_CUSTOM_NAME_BYTES = 32 }; /* of every name, NUL included: letters, digits and _, no digit first */

/** The kind of an argument. */
typedef enum tj_custom_kind {
    TJ_CUSTOM_IN = 1,   /**< a pointer to elements that the kernel reads */
    TJ_CUSTOM_OUT,      /**< a pointer to elements, all of which the kernel writes */
    TJ_CUSTOM_INOUT,    /**< a pointer to elements that the kernel reads and writes */
    TJ_CUSTOM_CONSTANT, /**< a __constant__ array of the source with this name; it is not a kernel parameter
                             (tj_custom_set_constant) */
    TJ_CUSTOM_EXTENT,   /**< an int: the extent with this name. The source then has no constant for it, and serves all its
                             values */
    TJ_CUSTOM_SCALAR    /**< a number of the argument's type, by value */
} tj_custom_kind;

/** An argument. All but constants are parameters of the kernel, in this order. */
typedef struct tj_custom_argument {
    const char *name;
    int32_t kind;      /**< tj_custom_kind */
    int32_t type;      /**< tj_type of its elements; for a scalar TJ_F32, TJ_F64 or TJ_S32; for an extent 0 */
    const char *count; /**< formula over extents alone: the number of elements; not for scalars and extents */
    int32_t align;     /**< required alignment of an address in bytes, a power of two; 0: that of an element */
    int32_t reserved;  /**< must be 0 */
    double trial;      /**< the value of a scalar in tunings and proofs */
} tj_custom_argument;

/** A file of the template. */
typedef struct tj_custom_part {
    const char *name; /**< its name in messages, and in an #include of the template: "filter.cuh" */
    const char *text;
} tj_custom_part;

/** A number, or a condition if its last operator compares, available to the template and later formulas by this name. */
typedef struct tj_custom_derived {
    const char *name, *formula;
} tj_custom_derived;

/**
 * Compute the expected result on the host. It is called once for each tuning or proof, on the calling thread. argument[i]
 * points to the argument's elements, or for scalars and extents to its value (float, double or int32_t), in the order of the
 * spec. Write the elements of each TJ_CUSTOM_OUT, and update those of each TJ_CUSTOM_INOUT. Return 0; anything else ends the
 * tuning or the proof with TJ_ERR_CANCELLED, and no result is kept.
 */
typedef int (*tj_custom_reference)(const int64_t *extent, void *const *argument, void *payload);

/**
 * Fill the elements of an argument, given by its number, for tunings and proofs. Return 0 or cancel as in tj_custom_reference.
 */
typedef int (*tj_custom_fill)(const int64_t *extent, size_t argument, void *element, void *payload);

/** The specification of a family. Start from TJ_CUSTOM_SPEC_INIT; zero in any field means its default. */
typedef struct tj_custom_spec {
    size_t struct_size;
    const char *name;                   /**< "convolution": a name that no family of the library has */
    const char *summary;                /**< one sentence; default: the name */
    const tj_custom_part *part;         /**< the template (docs/templates.md), and the files that it includes; the first part is
                                             the one that is filled in */
    size_t part_count;                  /**< 1 to TJ_CUSTOM_MAX_PARTS */
    const char *const *extent;          /**< the names of the extents that a request fixes, each at least 1 */
    size_t extent_count;                /**< 1 to TJ_CUSTOM_MAX_EXTENTS */
    const tj_param *param;              /**< parameters, as family.h states; a default of 0 is an error */
    size_t param_count;                 /**< 0 to TJ_CONFIG_MAX_PARAMS */
    const tj_custom_derived *derived;   /**< */
    size_t derived_count;               /**< 0 to TJ_CUSTOM_MAX_DERIVED */
    const char *const *constraint;      /**< formulas that must hold, NULL-terminated; NULL: none */
    const char *grid[3], *block[3];     /**< formulas: blocks along x, y, z; threads of a block. Default: 1 */
    const char *shared_bytes;           /**< formula: dynamic shared memory of a block. Default: 0 */
    const tj_custom_argument *argument; /**< */
    size_t argument_count;              /**< 1 to TJ_CUSTOM_MAX_ARGUMENTS */
    uint32_t needs;                     /**< of the target: tj_feature bits */
    int32_t reserved;                   /**< must be 0 */
    tj_custom_reference reference;      /**< NULL: the family cannot be tuned or proven */
    tj_custom_fill fill;                /**< NULL: tj_fill_random */
    void *payload;                      /**< passed to both functions, which must be thread-safe */
    double absolute, relative;          /**< an element may differ from its reference r by absolute + relative * |r| */
} tj_custom_spec;

#define TJ_CUSTOM_SPEC_INIT TJ_SIZED(tj_custom_spec)

/**
 * Check a spec and make a family from it. tj_family_param and the like, tj_config_set, tj_config_get and tj_config_print accept
 * the family; tj_family_find and tj_config_parse do not know it; calls for matrix products refuse it with a message.
 *
 * The template has a parameter for each extent that no argument passes, for each parameter, and for each derived value (a
 * condition that does not hold is empty). A choice gives the name of its option, and a condition for each option: the choice
 * "copy" of "plain" and "wide" gives the conditions copy_plain and copy_wide. The kernel, which the template declares by the
 * family's name, `extern "C" __global__ void convolution(`, gets the name of this request.
 *
 * Owned:   *family belongs to the caller; tj_family_free(). All of spec is copied, except the target of payload.
 * NULL:    only err may be NULL.
 * Threads: any.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: the message names the field; for a formula it shows the place. TJ_ERR_OUT_OF_MEMORY. On
 *          failure *family is NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_family_create(const tj_custom_spec *spec, tj_family **family, tj_error *err);

/**
 * Compute a formula over the extents of a family, such as the count of an argument, which gives the size of its buffer.
 * extent:  one number per extent of the family, in their order.
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: family is not of tj_family_create; the formula cannot be read (the message shows the
 *          place), or has no value for these extents. *value is then unchanged.
 */
TJ_API TJ_MUST_CHECK tj_status tj_custom_evaluate(const tj_family *family, const char *formula, const int64_t *extent,
                                                  int64_t *value, tj_error *err);

/** Free a family, after its sources and kernels. For a family of the library this does nothing. NULL: accepted. */
TJ_API void tj_family_free(tj_family *family);

/**
 * Fill the template for a config and extents. Pure: the same request gives the same bytes. The result may be passed to
 * tj_compile, tj_image_obtain and other calls that take a source. It has no tj_problem; tj_custom_load loads such sources.
 *
 * extent: one number per extent of the family, in their order.
 * Owned:   *source belongs to the caller; tj_source_free(), before its family is freed.
 * NULL:    only err may be NULL.
 * Threads: any.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: config.family is not of tj_family_create, an extent is below 1, a value is out of its
 *          range, a constraint does not hold (the message has its formula and the values), a grid or block is not possible, or
 *          the template has a fault: then the message names file, line, column and fault, and shows the line with a caret under
 *          the column. TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_custom_generate(const tj_config *config, const int64_t *extent, tj_source **source,
                                                  tj_error *err);

/** A kernel of such a family, loaded for given extents. It never changes, and any thread may launch it. */
typedef struct tj_custom_kernel tj_custom_kernel;

/** One argument of a launch. */
typedef union tj_custom_value {
    const void *address; /**< for a pointer: the device address */
    float f32;           /**< for a scalar, by its type */
    double f64;
    int32_t s32;
} tj_custom_value;

/**
 * Prepare a kernel: generate its source, take its image from memory, a pack or the store, or compile it, and load it into the
 * current CUDA context, or else into the primary one of the context's device. A kernel that failed a proof on such a device is
 * refused.
 *
 * config: NULL means the config that tj_custom_tune recorded for these extents and this kind of device, else the defaults.
 * Owned:   *kernel belongs to the caller; tj_custom_kernel_free().
 * NULL:    config and err may be NULL.
 * Threads: any; a source that several threads request is compiled once.
 * Errors:  those of tj_custom_generate, tj_image_obtain and tj_kernel_load; TJ_ERR_CHECK_FAILED: it failed a proof;
 *          TJ_ERR_INVALID_ARGUMENT: the source lacks a __constant__ array of the spec, or the array is shorter than the spec
 *          states.
 */
TJ_API TJ_MUST_CHECK tj_status tj_custom_load(tj_context *context, const tj_family *family, const tj_config *config,
                                              const int64_t *extent, tj_custom_kernel **kernel, tj_error *err);

/**
 * Queue one launch on a stream of the kernel's CUDA context, and return before it has run. The call takes no lock, allocates
 * nothing and formats no text.
 *
 * value:   one for each argument of the spec, in its order; those of constants and extents are ignored.
 * extent:  NULL: the extents that the kernel was loaded for. Only extents that are passed as arguments (TJ_CUSTOM_EXTENT) may
 *          differ from these; grid and shared memory are then computed for them.
 * NULL:    extent, stream (the legacy default stream) and err may be NULL.
 * Threads: any, several at once.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: an address that is NULL or not aligned, an extent that differs from the constant in the
 *          source, a constraint or a grid that does not hold for these extents, another current CUDA context. TJ_ERR_DRIVER,
 *          TJ_ERR_DEVICE_LOST.
 */
TJ_API TJ_MUST_CHECK tj_status tj_custom_launch(const tj_custom_kernel *kernel, const int64_t *extent,
                                                const tj_custom_value *value, struct CUstream_st *stream, tj_error *err);

/**
 * Queue a copy of all elements of a __constant__ array, from a host or a device address. Later launches in the stream see the
 * new elements. The array belongs to this kernel alone, and to all its launches: kernels on other streams must not read it
 * meanwhile. Memory at a host address must not change until the stream has reached the copy.
 *
 * NULL:    stream and err may be NULL.
 * Threads: any.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (no such constant, another current CUDA context), TJ_ERR_DRIVER, TJ_ERR_DEVICE_LOST.
 */
TJ_API TJ_MUST_CHECK tj_status tj_custom_set_constant(const tj_custom_kernel *kernel, const char *name, const void *source,
                                                      int is_on_device, struct CUstream_st *stream, tj_error *err);

/**
 * Return the source that the kernel was compiled from, with its config. Owned: borrowed from kernel. NULL: kernel must not be
 * NULL.
 */
TJ_API const tj_source *tj_custom_source(const tj_custom_kernel *kernel);

/** Unload a kernel, before its context is freed. All its launches must have completed. NULL: accepted. */
TJ_API void tj_custom_kernel_free(tj_custom_kernel *kernel);

/**
 * Prove that a kernel agrees with the reference. The kernel runs once, on random elements or those of spec.fill, between guard
 * bands; every output is compared, and so is all memory that it must not write. The result is kept with the image and reused
 * the next time, unless again is 1.
 *
 * config: as for tj_custom_load.
 * NULL:    config and err may be NULL.
 * Threads: any. Not while the calling thread captures a stream.
 * Errors:  TJ_ERR_CHECK_FAILED: *proof describes the error. TJ_ERR_INVALID_ARGUMENT: the family has no reference.
 *          TJ_ERR_CANCELLED: the reference or the fill function asked for it. Also the errors of tj_custom_load and of buffers:
 *          then nothing was proven, and *proof is all zero.
 */
TJ_API TJ_MUST_CHECK tj_status tj_custom_prove(tj_context *context, const tj_family *family, const tj_config *config,
                                               const int64_t *extent, int again, tj_proof *proof, tj_error *err);

/**
 * Find the fastest config for these extents on this device, and keep it as a record, which tj_custom_load uses from then on.
 *
 * Every config is timed as tj_tune does it: by CUDA events, in graphs, over operands that rotate beyond the L2. Each candidate
 * is compared with the reference before it is timed, and rejected if it is wrong. TJ_SEARCH tries the defaults, the recorded
 * config, and, if the space has at most `evaluations` configs (default: TJ_TUNE_MOST), all of them. In a larger space it spends
 * a third of the evaluations on random configs, then tries the neighbours of the best until none is faster. TJ_EXHAUSTIVE tries
 * all; TJ_MODEL is refused, because no model knows the family. The finalists are compared in interleaved rounds; the defaults,
 * which must hold for these extents, are among them. The winner is proven, and only its image is kept in the store. On the
 * emulator configs are only compiled, launched and compared.
 *
 * options: those of tj_tune; family must be NULL or this one, check_flop is ignored.
 * NULL:    options and err may be NULL.
 * Threads: any; two tunings at once on one device would disturb each other.
 * Errors:  those of tj_tune; TJ_ERR_INVALID_ARGUMENT: the family has no reference, or its defaults do not hold for these
 *          extents; TJ_ERR_CANCELLED also: the reference or the fill function asked for it. On failure *result is all zero.
 */
TJ_API TJ_MUST_CHECK tj_status tj_custom_tune(tj_context *context, const tj_family *family, const int64_t *extent,
                                              const tj_tune_options *options, tj_tune_result *result, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
