/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Structures of a program that is older or newer than the library. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdint.h>
#include <string.h>

#include "sized.h"

typedef struct older {
    size_t struct_size;
    int64_t first;
} older;

typedef struct present {
    size_t struct_size;
    int64_t first, second;
} present;

typedef struct newer {
    size_t struct_size;
    int64_t first, second, third;
} newer;

static tj_error err;

Test(sized, an_older_program_is_read_with_zeros)
{
    const older given = {.struct_size = sizeof given, .first = 1};
    present own = {.second = 7};

    cr_assert(eq(int, TJ_READ(&given, &own, OLDER_INIT, &err), TJ_OK), "%s", err.message);
    cr_expect(own.struct_size == sizeof own && own.first == 1 && own.second == 0);
}

Test(sized, a_newer_program_is_read_unless_it_asks_for_more)
{
    newer given = {.struct_size = sizeof given, .first = 1, .second = 2};
    present own;

    cr_assert(eq(int, TJ_READ(&given, &own, NEWER_INIT, &err), TJ_OK), "%s", err.message);
    cr_expect(own.struct_size == sizeof own && own.first == 1 && own.second == 2);
    given.third = 3;
    cr_assert(eq(int, TJ_READ(&given, &own, NEWER_INIT, &err), TJ_ERR_UNSUPPORTED));
    cr_expect(strstr(err.message, "32 bytes set a field that this library (24 bytes) does not know") != NULL, "%s",
              err.message);
}

Test(sized, a_program_gets_what_it_has_room_for)
{
    const present own = {.struct_size = sizeof own, .first = 1, .second = 2};
    struct {
        older known;
        int64_t after;
    } small = {{.struct_size = sizeof(older)}, 9};
    newer large = {.struct_size = sizeof large, .third = 9};

    cr_assert(eq(int, TJ_FILL(&small.known, &own, OLDER_INIT, &err), TJ_OK), "%s", err.message);
    cr_expect(small.known.struct_size == sizeof(older) && small.known.first == 1 && small.after == 9);
    cr_assert(eq(int, TJ_FILL(&large, &own, NEWER_INIT, &err), TJ_OK), "%s", err.message);
    cr_expect(large.struct_size == sizeof large && large.first == 1 && large.second == 2 && large.third == 0);
}

Test(sized, an_uninitialised_one_is_refused_and_left_alone)
{
    static const size_t sizes[] = {0, 7, SIZE_MAX, 0x7f0000000000};
    present own = {.struct_size = sizeof own};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        older given = {.struct_size = sizes[i], .first = 5};

        cr_expect(eq(int, TJ_READ(&given, &own, OLDER_INIT, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(eq(int, TJ_FILL(&given, &own, OLDER_INIT, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(strstr(err.message, "start from OLDER_INIT") != NULL, "%s", err.message);
        cr_expect(given.first == 5);
    }
}
