/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom: a family of the application: its spec, checked and copied, with its formulas parsed.
 *
 *     custom.c            spec -> family
 *     custom_generate.c   family, config, extents -> numbers, geometry, source
 *
 * Such a family is not a matrix product: the concepts from problem to tile do not apply here.
 */
#ifndef TJ_GENERATOR_CUSTOM_H
#define TJ_GENERATOR_CUSTOM_H

#include <tilejit/custom.h>

#include "family.h"
#include "formula.h"
#include "hash.h"

enum {
    TJ_CUSTOM_MAX_CONSTRAINTS = 16,
    TJ_CUSTOM_MAX_VALUES = TJ_CUSTOM_MAX_EXTENTS + TJ_CONFIG_MAX_PARAMS + TJ_CUSTOM_MAX_DERIVED
};

typedef struct tj_custom {
    tj_family family;
    tj_custom_spec spec; /* all of its pointers except payload lead to copies */
    struct tj_custom_copy *copies;
    tj_template_file file[TJ_CUSTOM_MAX_PARTS];
    const char *name[TJ_CUSTOM_MAX_VALUES]; /* names in formulas: extents, parameters, derived values, in that order */
    size_t names;
    bool is_passed[TJ_CUSTOM_MAX_EXTENTS]; /* passed as an argument, so the source has no number for it */
    tj_formula derived[TJ_CUSTOM_MAX_DERIVED], constraint[TJ_CUSTOM_MAX_CONSTRAINTS], grid[3], block[3], shared;
    tj_formula count[TJ_CUSTOM_MAX_ARGUMENTS];
    size_t constraints;
    char hash[TJ_HASH_HEX_BYTES]; /* of everything that decides source, geometry and arguments */
} tj_custom;

/** The numbers of a request, and the geometry that follows from them. */
typedef struct tj_custom_request {
    int64_t value[TJ_CUSTOM_MAX_VALUES];
    unsigned int grid[3], block[3];
    int64_t shared_bytes; /* dynamic */
} tj_custom_request;

/** Return the custom family of a config. Errors: TJ_ERR_INVALID_ARGUMENT: tj_family_create did not create it. */
tj_status tj_custom_of(const tj_family *family, const tj_custom **custom, tj_error *err);

/** Fill in the defaults of a config of such a family, and check its ranges. */
tj_status tj_custom_resolve(tj_config *config, tj_error *err);

/**
 * Compute numbers and geometry from extents and a resolved config, and check the constraints. Allocates nothing, and formats
 * text only on failure.
 * Errors: TJ_ERR_INVALID_ARGUMENT.
 */
tj_status tj_custom_settle(const tj_custom *custom, const tj_config *config, const int64_t *extent, tj_custom_request *request,
                           tj_error *err);

/** Compute the number of elements of an argument. Errors: TJ_ERR_INVALID_ARGUMENT: below 1, or more bytes than 63 bits hold. */
tj_status tj_custom_count(const tj_custom *custom, size_t argument, const int64_t *extent, int64_t *count, tj_error *err);

/** Is it a kernel parameter that points to elements? */
static inline bool tj_custom_is_pointer(const tj_custom_argument *argument)
{
    return argument->kind >= TJ_CUSTOM_IN && argument->kind <= TJ_CUSTOM_INOUT;
}

static inline bool tj_custom_has_elements(const tj_custom_argument *argument)
{
    return argument->kind >= TJ_CUSTOM_IN && argument->kind <= TJ_CUSTOM_CONSTANT;
}

/** Print "convolution height=512 width=any", for people. */
void tj_custom_print_request(const tj_custom *custom, const int64_t *extent, char *line, size_t bytes);

#endif
