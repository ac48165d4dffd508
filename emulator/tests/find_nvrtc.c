/* SPDX-License-Identifier: Apache-2.0 */
#include "find_nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

/* The variable, the loader's path, a toolkit. */
const char *find_nvrtc(void)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
    static char path[512];
    const char *named = getenv("CUDA_EMULATOR_NVRTC");
    glob_t found;

    if (named && *named)
        return named;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (dlopen(names[i], RTLD_NOW | RTLD_LOCAL))
            return names[i];
    if (glob("/usr/local/cuda*/lib64/libnvrtc.so.1[23]", 0, NULL, &found) == 0) {
        (void)snprintf(path, sizeof path, "%s", found.gl_pathv[found.gl_pathc - 1]); /* the newest */
        globfree(&found);
    }
    return path[0] ? path : NULL;
}
