/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom.h: a family of the application's own: any kernel, not a matrix product alone, that is written as a template with
 * parameters. It is generated, compiled, stored, tuned, proven and launched as the library's families are, and the library need
 * not be built again. docs/own-families.md walks through two of them.
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
 * min(a, b), max(a, b) and ceil_div(a, b). Its names are those of extents, parameters (a choice is the number of its option,
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
    TJ_CUSTOM_OUT,      /**< a pointer to elements, all of which it writes */
    TJ_CUSTOM_INOUT,    /**< a pointer to elements that it reads and writes */
    TJ_CUSTOM_CONSTANT, /**< a __constant__ array of the source, with this name: not a parameter (tj_custom_set_constant) */
    TJ_CUSTOM_EXTENT,   /**< an int: the extent of this name. The source then has no constant for it, and serves all */
    TJ_CUSTOM_SCALAR    /**< a number of this type, by value */
} tj_custom_kind;

/** An argument. All but constants are parameters of the kernel, in this order. */
typedef struct tj_custom_argument {
    const char *name;
    int32_t kind;      /**< tj_custom_kind */
    int32_t type;      /**< tj_type of its elements; of a scalar TJ_F32, TJ_F64 or TJ_S32; of an extent 0 */
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
 * Compute the expected result on the host: once for each tuning or proof, on the calling thread. argument[i] points to the
 * argument's elements, or for scalars and extents to its value (float, double or int32_t), in the order of the spec. Write
 * those of each TJ_CUSTOM_OUT, and change those of each TJ_CUSTOM_INOUT. Return 0; anything else ends the tuning or the proof
 * with TJ_ERR_CANCELLED, and nothing of it is kept.
 */
typedef int (*tj_custom_reference)(const int64_t *extent, void *const *argument, void *payload);

/** Fill the elements of an argument, by its number, that tunings and proofs use. Returns as tj_custom_reference does. */
typedef int (*tj_custom_fill)(const int64_t *extent, size_t argument, void *element, void *payload);

/** The specification of a family. Start from TJ_CUSTOM_SPEC_INIT; zero in any field means its default. */
typedef struct tj_custom_spec {
    size_t struct_size;
    const char *name;                   /**< "convolution": a name that no family of the library has */
    const char *summary;                /**< one sentence; default: the name */
    const tj_custom_part *part;         /**< the template (docs/templates.md), and the files it includes; the first is filled */
    size_t part_count;                  /**< 1 to TJ_CUSTOM_MAX_PARTS */
    const char *const *extent;          /**< the names of the extents that a request fixes, each at least 1 */
    size_t extent_count;                /**< 1 to TJ_CUSTOM_MAX_EXTENTS */
    const tj_param *param;              /**< as config.h says; a default of 0 is an error */
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
    void *payload;                      /**< passed to both, which must be ready for calls from several threads */
    double absolute, relative;          /**< an element may differ from its reference r by absolute + relative * |r| */
} tj_custom_spec;

#define TJ_CUSTOM_SPEC_INIT TJ_SIZED(tj_custom_spec)

/**
 * Check a spec and make a family of it. tj_family_param and the like, tj_config_set, tj_config_get and tj_config_print take it;
 * tj_family_find and tj_config_parse do not know it; calls for matrix products refuse it with a message.
 *
 * The template has a parameter for each extent that no argument passes, for each parameter, and for each derived value (one
 * that is a condition is empty if it does not hold). A choice is its option, and each option has a condition: with the choice
 * "copy" of "plain" and "wide", copy_plain and copy_wide. The kernel, which the template declares by the family's name,
 * `extern "C" __global__ void convolution(`, gets the name of this request.
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

/** Free a family, after its sources and kernels. One of the library's is left alone. NULL: accepted. */
TJ_API void tj_family_free(tj_family *family);

/**
 * Fill the template for a config and extents. Pure: the same request gives the same bytes. The result goes where other sources
 * go, such as tj_compile and tj_image_obtain; it has no tj_problem, and tj_custom_load loads it.
 *
 * extent: one number per extent of the family, in their order.
 * Owned:   *source belongs to the caller; tj_source_free(), before its family is freed.
 * NULL:    only err may be NULL.
 * Threads: any.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: config.family is not of tj_family_create, an extent is below 1, a value is out of its
 *          range, a constraint does not hold (the message has its formula and the values), a geometry cannot be, or the
 *          template has a fault: then file, line, column, fault, and the line with a caret under the column.
 *          TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_custom_generate(const tj_config *config, const int64_t *extent, tj_source **source,
                                                  tj_error *err);

/** A kernel of such a family, loaded for extents. It never changes, and any thread may launch it. */
typedef struct tj_custom_kernel tj_custom_kernel;

/** One argument of a launch. */
typedef union tj_custom_value {
    const void *address; /**< of a pointer: its device address */
    float f32;           /**< of a scalar, by its type */
    double f64;
    int32_t s32;
} tj_custom_value;

/**
 * Get a kernel ready: generate it, take its image from memory, a pack or the store or compile it, and load it into the current
 * CUDA context, or else the primary one of the context's device. A kernel that failed a proof on such a device is refused.
 *
 * config: NULL takes the config that tj_custom_tune recorded for these extents and this kind of device, else the defaults.
 * Owned:   *kernel belongs to the caller; tj_custom_kernel_free().
 * NULL:    config and err may be NULL.
 * Threads: any; a text that several ask for is compiled once.
 * Errors:  those of tj_custom_generate, tj_image_obtain and tj_kernel_load; TJ_ERR_CHECK_FAILED: it failed a proof;
 *          TJ_ERR_INVALID_ARGUMENT: the text has no such __constant__ array, or it is shorter than the spec says.
 */
TJ_API TJ_MUST_CHECK tj_status tj_custom_load(tj_context *context, const tj_family *family, const tj_config *config,
                                              const int64_t *extent, tj_custom_kernel **kernel, tj_error *err);

/**
 * Queue one launch on a stream of the kernel's CUDA context, and return before it has run. It takes no lock, allocates nothing
 * and formats no text.
 *
 * value:   one for each argument of the spec, in its order; those of constants and extents are ignored.
 * extent:  NULL: those it was loaded for. Other extents may differ only where they are passed as arguments (TJ_CUSTOM_EXTENT);
 *          grid and shared memory then follow.
 * NULL:    extent, stream (the legacy default stream) and err may be NULL.
 * Threads: any, several at once.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: an address that is NULL or not aligned, an extent that the text fixes otherwise, a
 *          constraint or a grid that does not hold for these extents, another current CUDA context. TJ_ERR_DRIVER,
 *          TJ_ERR_DEVICE_LOST.
 */
TJ_API TJ_MUST_CHECK tj_status tj_custom_launch(const tj_custom_kernel *kernel, const int64_t *extent,
                                                const tj_custom_value *value, struct CUstream_st *stream, tj_error *err);

/**
 * Queue a copy of all elements of a __constant__ array, from a host or a device address. Launches that come later in the stream
 * see it. The array belongs to this kernel alone, and to all its launches: kernels on other streams must not read it meanwhile.
 * Memory at a host address must not change until the stream has reached the copy.
 *
 * NULL:    stream and err may be NULL.
 * Threads: any.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (no such constant, another current CUDA context), TJ_ERR_DRIVER, TJ_ERR_DEVICE_LOST.
 */
TJ_API TJ_MUST_CHECK tj_status tj_custom_set_constant(const tj_custom_kernel *kernel, const char *name, const void *source,
                                                      int is_on_device, struct CUstream_st *stream, tj_error *err);

/** Return the source it was compiled from, with its config. Owned: borrowed from kernel. NULL: kernel must not be NULL. */
TJ_API const tj_source *tj_custom_source(const tj_custom_kernel *kernel);

/** Unload a kernel, before its context is freed. All its launches must have completed. NULL: accepted. */
TJ_API void tj_custom_kernel_free(tj_custom_kernel *kernel);

/**
 * Does a kernel agree with the reference? It runs once, on random elements or those of spec.fill, between guard bands; every
 * output is compared, and so is all memory that it must not write. The result is kept with the image, and known the next time
 * unless again is 1.
 *
 * config: as for tj_custom_load.
 * NULL:    config and err may be NULL.
 * Threads: any. Not while the calling thread captures a stream.
 * Errors:  TJ_ERR_CHECK_FAILED: *proof describes the error. TJ_ERR_INVALID_ARGUMENT: the family has no reference.
 *          TJ_ERR_CANCELLED: the reference or the filling said so. After those of tj_custom_load and of buffers nothing was
 *          proven, and *proof is all zero.
 */
TJ_API TJ_MUST_CHECK tj_status tj_custom_prove(tj_context *context, const tj_family *family, const tj_config *config,
                                               const int64_t *extent, int again, tj_proof *proof, tj_error *err);

/**
 * Find the fastest config for these extents on this device, and keep it as a record, which tj_custom_load takes from then on.
 *
 * Every config is timed as tj_tune does it: by CUDA events, in graphs, over operands that rotate beyond the L2. Each candidate
 * is compared with the reference before it is timed, and rejected if it is wrong. TJ_SEARCH tries the defaults, the recorded
 * config, and all of a space of at most `evaluations` configs (default: TJ_TUNE_MOST); of a larger one a third at random, then
 * the neighbours of the best until none is faster. TJ_EXHAUSTIVE tries all; TJ_MODEL is refused, as no model knows the family.
 * The finalists meet in interleaved turns, and the defaults, which must hold for these extents, are among them. The winner is
 * proven, and its image alone is kept in the store. On the emulator configs are compiled, launched and compared, and no more.
 *
 * options: those of tj_tune; family must be NULL or this one, check_flop is ignored.
 * NULL:    options and err may be NULL.
 * Threads: any; two tunings at once on one device would disturb each other.
 * Errors:  those of tj_tune; TJ_ERR_INVALID_ARGUMENT: the family has no reference, or its defaults do not hold for these
 *          extents; TJ_ERR_CANCELLED also: the reference or the filling said so. On failure *result is all zero.
 */
TJ_API TJ_MUST_CHECK tj_status tj_custom_tune(tj_context *context, const tj_family *family, const int64_t *extent,
                                              const tj_tune_options *options, tj_tune_result *result, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
