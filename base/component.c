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

/* Does one of the places hold a file of that name? */
static bool is_in(const char *place, const void *near, const char *name, char path[PATH_MAX])
{
    const char *slash;
    Dl_info here;

    return dladdr(near, &here) != 0 && here.dli_fname && (slash = strrchr(here.dli_fname, '/')) &&
           snprintf(path, PATH_MAX, "%.*s/%s%s", (int)(slash - here.dli_fname), here.dli_fname, place, name) < PATH_MAX &&
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
    return tj_fail(err, TJ_ERR_NOT_FOUND, "%s cannot be opened: %.300s", name, why ? why : "it is nowhere to be found");
}
