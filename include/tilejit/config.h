/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h: how to compute a product: a family of kernels, and values for its parameters.
 *
 * A config has a one-line form, which the command line and the records use too:
 *
 *     tiled:tile_width=16,shared=static,rows=y,boundary=jl
 *
 * Families and their parameters are data (tj_family_*): no other part of the library knows their names.
 */
#ifndef TILEJIT_CONFIG_H
#define TILEJIT_CONFIG_H

#include <tilejit/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A way to compute the product: one template and one form. The library owns it; it never changes and is never freed.
 * tj_family_create (custom.h) makes a family of the application's own, for any computation.
 */
typedef struct tj_family tj_family;

/** The boundary check of one dimension. */
typedef enum tj_check {
    TJ_CHECK_AUTO = 0, /**< keep the check if the shape needs it, and drop it otherwise */
    TJ_CHECK_ON = 1,   /**< keep it */
    TJ_CHECK_OFF = 2   /**< drop it; this is an error if the shape needs it */
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

/* clang-format off */
#define TJ_CONFIG_INIT { sizeof(tj_config), NULL, { 0 }, 0, 0, 0, 0 }
/* clang-format on */

/** The number of families. Threads: any; pure. */
TJ_API size_t tj_family_count(void);

/** Family number index in the order of the table; NULL past the end. Owned: the library. Threads: any; pure. */
TJ_API const tj_family *tj_family_at(size_t index);

/** The family of that name; NULL if there is none. NULL: name may be NULL (answers NULL). Threads: any; pure. */
TJ_API const tj_family *tj_family_find(const char *name);

/** Its name, such as "tiled". Owned: static text. NULL: family must not be NULL. */
TJ_API const char *tj_family_name(const tj_family *family);

/** Return a one-sentence description. Owned: static text. NULL: family must not be NULL. */
TJ_API const char *tj_family_summary(const tj_family *family);

/** The effect of a parameter, and so how far the times of two kernels that differ in it alone are apart. */
typedef enum tj_param_role {
    TJ_PARAM_SHAPE = 0, /**< the work of each thread: another kernel */
    TJ_PARAM_ORDER = 1, /**< the order of the work, or its instructions */
    TJ_PARAM_HINT = 2   /**< next to nothing: hints to the compiler, or the order of the blocks */
} tj_param_role;

/** One parameter of a family, as its form states it. All text is static. */
typedef struct tj_param {
    const char *name;          /**< "tile_width" */
    const char *summary;       /**< one sentence */
    int32_t minimum, maximum;  /**< the range of a number; for a choice, 1 and the number of words */
    int32_t standard;          /**< the default; 0: it follows from the problem */
    const char *const *choice; /**< NULL for a number; for a choice, the words for the values 1, 2, ..., NULL-terminated */
    const int32_t *tried;      /**< the values that a tuner tries, ascending, ended by 0. NULL: for a number the powers of two
                                    from minimum to maximum, for a choice all; if standard is 0, the problem's value */
    int32_t role;              /**< tj_param_role */
} tj_param;

enum { TJ_PARAM_MAX_TRIED = 64 };

/** The number of parameters of a family. NULL: family must not be NULL. Threads: any; pure. */
TJ_API size_t tj_family_param_count(const tj_family *family);

/** Parameter number index; NULL past the end. Owned: the library. NULL: family must not be NULL. Threads: any; pure. */
TJ_API const tj_param *tj_family_param(const tj_family *family, size_t index);

/**
 * The values of a parameter that a tuner tries, ascending, with the default among them. A default of 0, which means that the
 * value follows from the problem, is among them only if it is the only one. value receives at most TJ_PARAM_MAX_TRIED values;
 * returns their number.
 * NULL: neither may be NULL. Threads: any; pure.
 */
TJ_API size_t tj_param_values(const tj_param *param, int32_t *value);

/** Constraint number index as a sentence ("TILE_WIDTH * TILE_WIDTH <= 1024 threads"); NULL past the end. */
TJ_API const char *tj_family_constraint(const tj_family *family, size_t index);

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
 * The value of a parameter in this config, or its default if it is not set; 0 if the family has no such parameter, or if
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
 * Write the one-line form, with every parameter, into text (at least TJ_CONFIG_TEXT_BYTES bytes). Parsing it gives the same
 * config back. NULL: neither may be NULL. Threads: any; pure.
 */
TJ_API void tj_config_print(const tj_config *config, char *text);

/**
 * Fill in every default, and settle the checks for this problem: afterwards no value is 0 and no check is TJ_CHECK_AUTO. A
 * config without a family gets the library's safe choice.
 *
 * NULL:    problem and config must not be NULL; err may be.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: the problem is not valid (tj_problem_check), a constraint of the family does not hold (the
 *          message has its sentence), or a check that the shape needs was forced off (the message names the dimension).
 */
TJ_API TJ_MUST_CHECK tj_status tj_config_resolve(const tj_problem *problem, tj_config *config, tj_error *err);

/**
 * Loosen the launch bounds, which leaves each thread more registers and so helps a config whose kernel spills (TJ_ERR_SPILLS).
 * config must be resolved. Returns 1 if config is looser now, and the problem admits it; 0 if it cannot be looser, and then it
 * is unchanged.
 * NULL: neither may be NULL. Threads: any; pure.
 */
TJ_API TJ_MUST_CHECK int tj_config_relax(const tj_problem *problem, tj_config *config);

#ifdef __cplusplus
}
#endif
#endif
