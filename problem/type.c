/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type: the tables of element types and of ways to compute. A new type is a row here, a part in templates/parts/ that declares
 * it, and its rounding in reference/number.c (docs/adding-a-type.md).
 */
#include <tilejit/problem.h>

#include <stdio.h>
#include <string.h>

#include "canonical.h"
#include "error.h"

/* In the order of tj_type. */
static const tj_type_facts types[] = {
    {"f32", "float", "<f4", 4, TJ_COMPUTE_F32, TJ_F32, 0, 0x1p-24, 1, 0},
    {"f64", "double", "<f8", 8, TJ_COMPUTE_F64, TJ_F64, 0, 0x1p-53, 1, 0},
    {"f16", "half", "<f2", 2, TJ_COMPUTE_F32, TJ_F16, 0, 0x1p-11, 1, 0},
    {"bf16", "bfloat16", "<V2", 2, TJ_COMPUTE_F32, TJ_BF16, 0, 0x1p-8, 1, 0},
    {"e4m3", "e4m3", "<V1", 1, TJ_COMPUTE_F32, TJ_F32, 0, 0x1p-4, 1, 0},
    {"e5m2", "e5m2", "<f1", 1, TJ_COMPUTE_F32, TJ_F32, 0, 0x1p-3, 1, 0},
    {"s8", "s8", "|i1", 1, TJ_COMPUTE_S32, TJ_S32, 1, 0, 1, 0},
    {"u8", "u8", "|u1", 1, TJ_COMPUTE_S32, TJ_S32, 1, 0, 1, 0},
    {"s32", "s32", "<i4", 4, TJ_COMPUTE_DEFAULT, TJ_S32, 1, 0, 1, 0},
    {"s4", "s4x2", "|u1", 1, TJ_COMPUTE_S32, TJ_S32, 1, 0, 2,
     0}, /* a byte holds two; files have no code for it, but that of u8 */
    {"e2m1", "e2m1x2", "|u1", 1, TJ_COMPUTE_F32, TJ_F32, 0, 0x1p-2, 2, 0},
    {"u4", "u4x2", "|u1", 1, TJ_COMPUTE_S32, TJ_S32, 1, 0, 2, 0},
    {"e8m0", "e8m0", "|u1", 1, TJ_COMPUTE_DEFAULT, TJ_TYPE_DEFAULT, 0, 0x1p-1, 1, 0}, /* of scales only */
    {"c64", "c64", "<c8", 8, TJ_COMPUTE_F32, TJ_C64, 0, 0x1p-24, 1, TJ_F32},
    {"c128", "c128", "<c16", 16, TJ_COMPUTE_F64, TJ_C128, 0, 0x1p-53, 1, TJ_F64},
};

#define BIT(type) (UINT32_C(1) << (type))
static const uint32_t OF_F32 = BIT(TJ_F32) | BIT(TJ_F16) | BIT(TJ_BF16) | BIT(TJ_E4M3) | BIT(TJ_E5M2);

/* In the order of tj_compute. */
static const tj_compute_facts computes[] = {
    {"f32", TJ_F32, OF_F32, 0},
    {"f64", TJ_F64, BIT(TJ_F64), 0},
    {"tf32", TJ_F32, OF_F32, 0x1p-11},
    {"s32", TJ_S32, BIT(TJ_S32) | BIT(TJ_S8) | BIT(TJ_U8) | BIT(TJ_F32) | BIT(TJ_F16) | BIT(TJ_BF16), 0},
    {"f32_split", TJ_F32, OF_F32, 0},
    {"f32_fp8", TJ_F32, OF_F32, 0},
};

#define COUNT(table) ((int)(sizeof(table) / sizeof(table)[0]))

enum { NAME_BYTES = 16 };
_Static_assert((NAME_BYTES + sizeof " or TJ_COMPUTE_") * COUNT(types) <= TJ_NAME_LIST_BYTES, "the list of names fits");

int tj_type_count(void)
{
    return COUNT(types);
}

const tj_type_facts *tj_type_get_facts(tj_type type)
{
    return (int)type >= 1 && (int)type <= COUNT(types) ? &types[type - 1] : NULL;
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

const tj_compute_facts *tj_compute_get_facts(tj_compute compute)
{
    return (int)compute >= 1 && (int)compute <= COUNT(computes) ? &computes[compute - 1] : NULL;
}

const char *tj_compute_name(tj_compute compute)
{
    const tj_compute_facts *facts = tj_compute_get_facts(compute);

    return facts ? facts->name : "?";
}

/* List the names of the numbers whose bits are set; with a prefix, as constants in capitals. */
static void list_names(const char *(*name_of)(int32_t), uint32_t numbers, const char *prefix, char *text)
{
    size_t length = 0;

    text[0] = '\0';
    for (int32_t i = 1; numbers >> i; i++) {
        char name[NAME_BYTES] = "";

        if (!(numbers >> i & 1))
            continue;
        for (size_t c = 0; c + 1 < sizeof name && name_of(i)[c] != '\0'; c++) {
            const char letter = name_of(i)[c];

            name[c] = *prefix && letter >= 'a' && letter <= 'z' ? (char)(letter - 'a' + 'A') : letter;
        }
        length += (size_t)snprintf(text + length, TJ_NAME_LIST_BYTES - length, "%s%s%s",
                                   length == 0           ? ""
                                   : (numbers >> i) == 1 ? " or "
                                                         : ", ",
                                   prefix, name);
    }
}

static const char *type_name(int32_t type)
{
    return tj_type_name((tj_type)type);
}

static const char *compute_name(int32_t compute)
{
    return tj_compute_name((tj_compute)compute);
}

const char *tj_type_list(uint32_t which, bool as_constants, char text[TJ_NAME_LIST_BYTES])
{
    list_names(type_name, which, as_constants ? "TJ_" : "", text);
    return text;
}

const char *tj_compute_list(bool as_constants, char text[TJ_NAME_LIST_BYTES])
{
    list_names(compute_name, BIT(COUNT(computes) + 1) - BIT(1), as_constants ? "TJ_COMPUTE_" : "", text);
    return text;
}

uint32_t tj_types_where(bool are_inputs)
{
    uint32_t which = 0;

    for (int i = 0; i < COUNT(types) && are_inputs; i++)
        which |= types[i].compute != TJ_COMPUTE_DEFAULT ? BIT(i + 1) : 0;
    for (int i = 0; i < COUNT(computes) && !are_inputs; i++)
        which |= computes[i].products;
    for (int i = 0; i < COUNT(types) && !are_inputs; i++)
        which |= types[i].part != TJ_TYPE_DEFAULT ? BIT(i + 1) : 0;
    return which;
}

/* Return the type that other libraries give this name; NULL: none. */
static const char *name_meant(const char *name)
{
    enum { MOST = 4 };
    static const struct {
        const char *ours, *others[MOST];
    } meant[] = {
        {"f32", {"float32", "float", "fp32", "single"}},
        {"f64", {"float64", "double", "fp64"}},
        {"f16", {"float16", "half", "fp16"}},
        {"bf16", {"bfloat16"}},
        {"e4m3", {"float8_e4m3fn", "fp8"}},
        {"e5m2", {"float8_e5m2"}},
        {"s8", {"int8", "i8"}},
        {"u8", {"uint8"}},
        {"s32", {"int32", "i32", "int"}},
        {"s4", {"int4", "i4"}},
        {"e2m1", {"float4_e2m1fn", "fp4"}},
        {"u4", {"uint4"}},
        {"e8m0", {"float8_e8m0fnu", "ue8m0"}},
        {"c64", {"complex64", "cfloat", "complex"}},
        {"c128", {"complex128", "cdouble"}},
    };

    for (size_t i = 0; i < sizeof meant / sizeof meant[0]; i++)
        for (int k = 0; k < MOST && meant[i].others[k]; k++)
            if (strcmp(name, meant[i].others[k]) == 0)
                return meant[i].ours;
    return NULL;
}

tj_status tj_type_parse(const char *name, tj_type *type, tj_error *err)
{
    if (TJ_HAS_NULL(err, name, type))
        return TJ_ERR_INVALID_ARGUMENT;
    char list[TJ_NAME_LIST_BYTES];

    for (int i = 0; i < COUNT(types); i++)
        if (strcmp(name, types[i].name) == 0) {
            *type = (tj_type)(i + 1);
            return TJ_OK;
        }
    if (name_meant(name))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "no element type is named \"%s\": did you mean %s?", name,
                       name_meant(name));
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "no element type is named \"%.40s\": use %s", name,
                   tj_type_list(BIT(COUNT(types) + 1) - BIT(1), false, list));
}

tj_status tj_compute_parse(const char *name, tj_compute *compute, tj_error *err)
{
    if (TJ_HAS_NULL(err, name, compute))
        return TJ_ERR_INVALID_ARGUMENT;
    char list[TJ_NAME_LIST_BYTES];

    for (int i = 0; i < COUNT(computes); i++)
        if (strcmp(name, computes[i].name) == 0) {
            *compute = (tj_compute)(i + 1);
            return TJ_OK;
        }
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "no way to compute is named \"%.40s\": use %s", name,
                   tj_compute_list(false, list));
}
