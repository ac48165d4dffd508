/* SPDX-License-Identifier: Apache-2.0 */
/* sized: a structure's size is its first member, whatever comes after it. */
#include "sized.h"

#include <string.h>

#include "error.h"

/* No structure comes near this size: a larger number is garbage. */
enum { MOST_BYTES = 1 << 16 };

static tj_status find_size(const void *given, size_t *size, const char *what, const char *start_from, tj_error *err)
{
    memcpy(size, given, sizeof *size);
    if (*size >= sizeof *size && *size <= MOST_BYTES)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s.struct_size is %zu: it was not initialised; start from %s", what, *size,
                   start_from);
}

tj_status tj_sized_read(const void *given, void *own, size_t size, const char *what, const char *start_from, tj_error *err)
{
    size_t theirs;
    const tj_status status = find_size(given, &theirs, what, start_from, err);

    memset(own, 0, size);
    if (status != TJ_OK)
        return status;
    for (size_t i = size; i < theirs; i++)
        if (((const unsigned char *)given)[i] != 0)
            return tj_fail(err, TJ_ERR_UNSUPPORTED,
                           "%s of %zu bytes set a field that this library (%zu bytes) does not know: use the library that the "
                           "program was built for",
                           what, theirs, size);
    memcpy(own, given, theirs < size ? theirs : size);
    memcpy(own, &size, sizeof size);
    return TJ_OK;
}

tj_status tj_sized_clear(void *given, const char *what, const char *start_from, tj_error *err)
{
    size_t theirs;
    const tj_status status = find_size(given, &theirs, what, start_from, err);

    if (status != TJ_OK)
        return status;
    memset(given, 0, theirs);
    memcpy(given, &theirs, sizeof theirs);
    return TJ_OK;
}

tj_status tj_sized_fill(void *given, const void *own, size_t size, const char *what, const char *start_from, tj_error *err)
{
    const tj_status status = tj_sized_clear(given, what, start_from, err);
    size_t theirs;

    if (status != TJ_OK)
        return status;
    memcpy(&theirs, given, sizeof theirs);
    memcpy(given, own, theirs < size ? theirs : size);
    memcpy(given, &theirs, sizeof theirs);
    return TJ_OK;
}
