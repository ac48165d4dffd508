/* SPDX-License-Identifier: Apache-2.0 */
/*
 * family.h: the families of kernels as data (names, parameters, constraints), and the resolution of a config.
 */
#ifndef TILEJIT_FAMILY_H
#define TILEJIT_FAMILY_H

#include <tilejit/config.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The number of families. Threads: any; pure. */
TJ_API size_t tj_family_count(void);

/** Family number index in the order of the table; NULL past the end. Owned: the library. Threads: any; pure. */
TJ_API const tj_family *tj_family_at(size_t index);

/** Its name, such as "tiled". Owned: static text. NULL: family must not be NULL. */
TJ_API const char *tj_family_name(const tj_family *family);

/** Return a one-sentence description. Owned: static text. NULL: family must not be NULL. */
TJ_API const char *tj_family_summary(const tj_family *family);

/**
 * The effect of a parameter. It decides the expected difference in time between two kernels that differ in this parameter
 * alone.
 */
typedef enum tj_param_role {
    TJ_PARAM_SHAPE = 0, /**< the work of each thread: a different kernel */
    TJ_PARAM_ORDER = 1, /**< the order of the work, or its instructions */
    TJ_PARAM_HINT = 2   /**< little: hints to the compiler, or the order of the blocks */
} tj_param_role;

/** One parameter of a family, as its form states it. All text is static. */
typedef struct tj_param {
    const char *name;          /**< "tile_width" */
    const char *summary;       /**< one sentence */
    int32_t minimum, maximum;  /**< the range of a number; for a choice, 1 and the number of options */
    int32_t standard;          /**< the default; 0: it follows from the problem */
    const char *const *choice; /**< NULL for a number; for a choice, the names of the values 1, 2, ..., NULL-terminated */
    const int32_t *tried;      /**< the values that a tuner tries, ascending, ended by 0. NULL: for a number the powers of two
                                    from minimum to maximum, for a choice all; if standard is 0, the value that follows from the
                                    problem */
    int32_t role;              /**< tj_param_role */
} tj_param;

enum { TJ_PARAM_MAX_TRIED = 64 };

/** The number of parameters of a family. NULL: family must not be NULL. Threads: any; pure. */
TJ_API size_t tj_family_param_count(const tj_family *family);

/** Parameter number index; NULL past the end. Owned: the library. NULL: family must not be NULL. Threads: any; pure. */
TJ_API const tj_param *tj_family_param(const tj_family *family, size_t index);

/**
 * Get the values of a parameter that a tuner tries, ascending, with the default among them. A default of 0 (the value follows
 * from the problem) is among them only if it is the only one. value receives at most TJ_PARAM_MAX_TRIED values; returns their
 * number.
 * NULL: neither may be NULL. Threads: any; pure.
 */
TJ_API size_t tj_param_values(const tj_param *param, int32_t *value);

/** Return constraint number index as a sentence ("TILE_WIDTH * TILE_WIDTH <= 1024 threads"); NULL past the end. */
TJ_API const char *tj_family_constraint(const tj_family *family, size_t index);

/**
 * Fill in every default, and decide the checks for this problem: afterwards no value is 0 and no check is TJ_CHECK_AUTO. A
 * config without a family gets the library's safe choice.
 *
 * NULL:    problem and config must not be NULL; err may be.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: the problem is not valid (tj_problem_check), a constraint of the family does not hold (the
 *          message has its sentence), or a check that the shape needs was switched off (the message names the dimension).
 */
TJ_API TJ_MUST_CHECK tj_status tj_config_resolve(const tj_problem *problem, tj_config *config, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
