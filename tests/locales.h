/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locales: programs that call setlocale() in Germany (1.234,5) and in Turkey (where i is not the small I).
 *
 * Few machines have these installed, so they are compiled into a folder of the test by localedef. Where that is not possible,
 * it is said, and only C is tried.
 */
#ifndef TJ_TESTS_LOCALES_H
#define TJ_TESTS_LOCALES_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const test_locales[] = {"C", "de_DE.UTF-8", "tr_TR.UTF-8"};
enum { TEST_LOCALES = sizeof test_locales / sizeof test_locales[0] };

/** Is this locale in place in a folder that LOCPATH names? Made on first use, within a second or two. */
static inline bool make_locale(const char *folder, const char *name)
{
    char command[512];

    if (strcmp(name, "C") == 0)
        return true;
    snprintf(
        command, sizeof command,
        "mkdir -p '%s/locales' && { test -d '%s/locales/%s' || localedef -i %.5s -f UTF-8 '%s/locales/%s'; } >/dev/null 2>&1",
        folder, folder, name, name, folder, name);
    if (system(command) == 0)
        return true;
    fprintf(stderr, "locales: %s WAS NOT TRIED: localedef cannot make it here (package locales)\n", name);
    return false;
}

/** Make it and enter it; proved by what it does to numbers. */
static inline bool enter_locale(const char *folder, const char *name)
{
    char path[512];

    if (!make_locale(folder, name))
        return false;
    snprintf(path, sizeof path, "%s/locales", folder);
    setenv("LOCPATH", path, 1);
    if (!setlocale(LC_ALL, name) || (strcmp(name, "C") != 0 && strcmp(localeconv()->decimal_point, ",") != 0)) {
        fprintf(stderr, "locales: %s WAS NOT TRIED: setlocale refuses it\n", name);
        return false;
    }
    return true;
}

#endif
