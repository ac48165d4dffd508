/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type: the table of element types. A new type is a row here, a part that declares it in templates/parts/, and how it is
 * rounded in reference/number.c (docs/adding-a-type.md).
 */
#include <tilejit/problem.h>

#include <stdio.h>
#include <string.h>

#include "canonical.h"
#include "error.h"

/* In the order of tj_type. */
static const tj_type_facts types[] = {
    {"f32", "float", "<f4", 4, TJ_COMPUTE_F32, 0x1p-24},
    {"f64", "double", "<f8", 8, TJ_COMPUTE_F64, 0x1p-53},
    {"f16", "half", "<f2", 2, TJ_COMPUTE_F32, 0x1p-11},
    {"bf16", "bfloat16", "<V2", 2, TJ_COMPUTE_F32, 0x1p-8},
};

#define TYPES ((int)(sizeof types / sizeof types[0]))

enum { NAME_BYTES = 16 };
_Static_assert((NAME_BYTES + sizeof " or TJ_") * TYPES <= TJ_TYPE_LIST_BYTES, "the list of names fits");

int tj_type_count(void)
{
    return TYPES;
}

const tj_type_facts *tj_type_get_facts(tj_type type)
{
    return (int)type >= 1 && (int)type <= TYPES ? &types[type - 1] : NULL;
}

size_t tj_type_bytes(tj_type type)
{
    const tj_type_facts *facts = tj_type_get_facts(type);

    return facts ? (size_t)facts->bytes : 0;
}

const char *tj_type_name(tj_type type)
{
    const tj_type_facts *facts = tj_type_get_facts(type);

    return facts ? facts->name : "?";
}

const char *tj_type_list(bool as_constants, char text[TJ_TYPE_LIST_BYTES])
{
    size_t length = 0;

    for (int i = 0; i < TYPES; i++) {
        char name[NAME_BYTES] = "";

        for (size_t c = 0; c + 1 < sizeof name && types[i].name[c] != '\0'; c++) {
            const char letter = types[i].name[c];

            name[c] = as_constants && letter >= 'a' && letter <= 'z' ? (char)(letter - 'a' + 'A') : letter;
        }
        length += (size_t)snprintf(text + length, TJ_TYPE_LIST_BYTES - length, "%s%s%s",
                                   i == 0           ? ""
                                   : i == TYPES - 1 ? " or "
                                                    : ", ",
                                   as_constants ? "TJ_" : "", name);
    }
    return text;
}

tj_status tj_type_parse(const char *name, tj_type *type, tj_error *err)
{
    if (TJ_HAS_NULL(err, name, type))
        return TJ_ERR_INVALID_ARGUMENT;
    char list[TJ_TYPE_LIST_BYTES];

    for (int i = 0; i < TYPES; i++)
        if (strcmp(name, types[i].name) == 0) {
            *type = (tj_type)(i + 1);
            return TJ_OK;
        }
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "no element type is named \"%.40s\": use %s", name, tj_type_list(false, list));
}
