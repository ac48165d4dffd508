/* SPDX-License-Identifier: Apache-2.0 */
#include "component.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "error.h"

static const char *const places[] = {"", "tilejit/", "../", "../lib/", "../lib/tilejit/"};
enum { PLACES = sizeof places / sizeof places[0] };

/* The file that holds `near`. The loader names a program as it was started: one from PATH has a bare name. */
static bool find_own_file(const void *near, char path[PATH_MAX])
{
    Dl_info here;
    ssize_t length;

    if (dladdr(near, &here) == 0 || !here.dli_fname)
        return false;
    if (strchr(here.dli_fname, '/'))
        return snprintf(path, PATH_MAX, "%s", here.dli_fname) < PATH_MAX;
    length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    return strchr(path, '/') != NULL;
}

/* Does one of the places hold a file of that name? */
static bool is_in(const char *place, const void *near, const char *name, char path[PATH_MAX])
{
    char own[PATH_MAX];

    return find_own_file(near, own) &&
           snprintf(path, PATH_MAX, "%.*s/%s%s", (int)(strrchr(own, '/') - own), own, place, name) < PATH_MAX &&
           access(path, R_OK) == 0;
}

bool tj_component_find(const void *near, const char *name, char path[PATH_MAX])
{
    for (size_t i = 0; i < PLACES; i++)
        if (is_in(places[i], near, name, path))
            return true;
    return false;
}

tj_status tj_component_open(const void *near, const char *name, void **library, tj_error *err)
{
    const char *why = NULL;
    char path[PATH_MAX];

    *library = NULL;
    for (size_t i = 0; !*library && i < PLACES; i++)
        if (is_in(places[i], near, name, path) && !(*library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) && !why)
            why = dlerror(); /* a library that it needs is missing */
    if (!*library && !why && !(*library = dlopen(name, RTLD_NOW | RTLD_LOCAL)))
        why = dlerror();
    if (*library)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_NOT_FOUND, "%s cannot be opened: %.300s", name, why ? why : "the loader did not find it");
}
