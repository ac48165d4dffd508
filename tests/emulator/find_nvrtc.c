/* SPDX-License-Identifier: Apache-2.0 */
/* The NVRTC of the library: the emulator's tests compile with the same one as all others. */
#include "find_nvrtc.h"

#include <stdlib.h>

#include "nvrtc.h"

const char *find_nvrtc(void)
{
    const tj_nvrtc *nvrtc = NULL;
    tj_error err = {TJ_OK, ""};

    if (tj_nvrtc_open(NULL, 0, NULL, &nvrtc, &err) == TJ_OK)
        return tj_nvrtc_path(nvrtc);
    if (getenv("TILEJIT_REQUIRE_NVRTC"))
        setenv("CUDA_EMULATOR_REQUIRE_NVRTC", "1", 1);
    return NULL;
}
