/* SPDX-License-Identifier: Apache-2.0 */
#include "component.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "error.h"

tj_status tj_component_open(const void *near, const char *name, void **library, tj_error *err)
{
    static const char *const places[] = {"", "tilejit/", "../", "../lib/", "../lib/tilejit/"};
    const char *slash = NULL, *why = NULL;
    char path[PATH_MAX];
    Dl_info here;

    *library = NULL;
    if (dladdr(near, &here) != 0 && here.dli_fname)
        slash = strrchr(here.dli_fname, '/');
    for (size_t i = 0; slash && !*library && i < sizeof places / sizeof places[0]; i++)
        if (snprintf(path, sizeof path, "%.*s/%s%s", (int)(slash - here.dli_fname), here.dli_fname, places[i], name) <
                PATH_MAX &&
            access(path, R_OK) == 0 && !(*library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) && !why)
            why = dlerror(); /* what it needs is missing */
    if (!*library && !why && !(*library = dlopen(name, RTLD_NOW | RTLD_LOCAL)))
        why = dlerror();
    if (*library)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_NOT_FOUND, "%s cannot be opened: %.300s", name, why ? why : "it is nowhere to be found");
}
