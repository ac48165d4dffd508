/* SPDX-License-Identifier: Apache-2.0 */
#include "nvrtc_builds.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const char *const CLEAN[] = {
    "12.0.76", "12.0.140", "12.1.55", "12.1.105", "12.2.91", "12.2.128", "12.2.140", "12.3.52", "12.3.103", "12.3.107", NULL,
};

static const char *const STORES_WRONG[] = {
    "12.4.99", "12.4.127", "12.5.40", "12.5.82", "12.6.20", "12.6.68", "12.6.77", "12.6.85",
    "12.8.61", "12.8.93",  "12.9.41", "12.9.86", "13.0.48", "13.0.88", "13.1.80", "13.1.115",
    "13.2.51", "13.2.78",  "13.2.86", "13.3.33", "13.4.59", "13.4.92", "13.5.37", NULL,
};

static bool is_among(const char *build, const char *const *list)
{
    while (*list && strcmp(*list, build) != 0)
        list++;
    return *list != NULL;
}

tj_nvrtc_record tj_nvrtc_record_of(const char *identity)
{
    const char *build = strstr(identity, " V");

    if (build && is_among(build + 2, STORES_WRONG))
        return TJ_NVRTC_STORES_WRONG;
    return build && is_among(build + 2, CLEAN) ? TJ_NVRTC_CLEAN : TJ_NVRTC_NOT_LOOKED_AT;
}

const char *tj_nvrtc_record_words(tj_nvrtc_record record, const char **remedy)
{
    *remedy = "";
    if (record == TJ_NVRTC_CLEAN)
        return "was looked at: none of the kernels of which other builds make wrong ones was wrong";
    if (record == TJ_NVRTC_STORES_WRONG)
        return "has made kernels that spill registers and store to wrong addresses (docs/compilers.md): such kernels are not "
               "launched";
    *remedy = "scripts/check_sass.py judges it, without a GPU (docs/compilers.md)";
    return "was not looked at: it may make wrong kernels where registers are spilled, as some builds do; such kernels are not "
           "launched";
}
