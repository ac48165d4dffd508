/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h: how to compute a product: a family of kernels, and values for its parameters.
 *
 * A config has a one-line form, which the command line and the records use too:
 *
 *     tiled:tile_width=16,shared=static,rows=y,boundary=jl
 *
 * `tilejit families` lists families and parameters; programs read them as data (family.h). No other part of the library knows
 * their names.
 */
#ifndef TILEJIT_CONFIG_H
#define TILEJIT_CONFIG_H

#include <tilejit/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A way to compute the product: one template, and one form that describes it. The library owns it; it never changes and is
 * never freed. tj_family_create (custom.h) makes a family of the application's own, for any computation.
 */
typedef struct tj_family tj_family;

/** The boundary check of one dimension. */
typedef enum tj_check {
    TJ_CHECK_AUTO = 0, /**< keep the check if the shape needs it, and drop it otherwise */
    TJ_CHECK_ON = 1,   /**< keep it */
    TJ_CHECK_OFF = 2   /**< drop it; an error if the shape needs it */
} tj_check;

enum { TJ_CONFIG_MAX_PARAMS = 24, TJ_CONFIG_TEXT_BYTES = 512 };

/** A config. Start from TJ_CONFIG_INIT; zero in any field means its default. */
typedef struct tj_config {
    size_t struct_size;                  /**< set by TJ_CONFIG_INIT */
    const tj_family *family;             /**< NULL: the library chooses */
    int32_t value[TJ_CONFIG_MAX_PARAMS]; /**< in the order of the family's form; 0: the parameter's default */
    int32_t check_j, check_k, check_l;   /**< tj_check */
    int32_t reserved;                    /**< must be 0 */
} tj_config;

#define TJ_CONFIG_INIT TJ_SIZED(tj_config)

/** Return the family with this name, or NULL if there is none. NULL: name may be NULL (returns NULL). Threads: any; pure. */
TJ_API const tj_family *tj_family_find(const char *name);

/**
 * Set one parameter by its name, such as "tile_width" to "16" or "shared" to "dynamic". "boundary" is set to "auto", "all",
 * "none" or the letters of the dimensions to check ("jl": k is not checked); "boundary_j", "boundary_k" and "boundary_l" to
 * "auto", "all" or "none". The family must be set already.
 *
 * NULL:    config, name and value must not be NULL; err may be.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: no such parameter, not a whole number, or out of range (the message gives the range).
 *          On failure config is unchanged.
 */
TJ_API TJ_MUST_CHECK tj_status tj_config_set(tj_config *config, const char *name, const char *value, tj_error *err);

/**
 * Return the value of a parameter in this config, or its default if it is not set; 0 if the family has no such parameter, or if
 * the config has no family. NULL: neither may be NULL. Threads: any; pure.
 */
TJ_API int32_t tj_config_get(const tj_config *config, const char *name);

/**
 * Read the one-line form. "tiled" alone is the family with all its defaults.
 * NULL: only err may be NULL. Threads: any; pure.
 * Errors: those of tj_config_set, and TJ_ERR_NOT_FOUND: no such family. On failure config is unchanged.
 */
TJ_API TJ_MUST_CHECK tj_status tj_config_parse(const char *text, tj_config *config, tj_error *err);

/**
 * Write the one-line form, with every parameter, into text (at least TJ_CONFIG_TEXT_BYTES bytes). Parsing this text gives the
 * same config. NULL: neither may be NULL. Threads: any; pure.
 */
TJ_API void tj_config_print(const tj_config *config, char *text);

#ifdef __cplusplus
}
#endif
#endif
