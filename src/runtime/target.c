/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target: choose the NVRTC target for a device.
 *
 * Never one with a suffix: what only one chip runs is asked for by name, by families that need it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "host.h"
#include "nvrtc.h"

enum { TARGET_BYTES = 16 };

static int target_number(const char *target)
{
    return atoi(target + strlen("sm_"));
}

/* PTX is compiled by the driver, and no driver compiles PTX of a CUDA newer than its own. */
static tj_status check_driver_takes_ptx(tj_host *host, const tj_nvrtc *nvrtc, int cc_major, int cc_minor, tj_error *err)
{
    int nvrtc_version = 1000 * tj_nvrtc_major(nvrtc) + 10 * tj_nvrtc_minor(nvrtc), driver_version;
    const tj_driver *driver;

    if (tj_gpu_driver(&host->gpu, &driver, NULL) != TJ_OK)
        return TJ_OK; /* no driver, no objection */
    driver_version = driver->version;
    if (nvrtc_version <= driver_version)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_UNSUPPORTED,
                   "NVRTC %d.%d does not know devices of compute capability %d.%d, and the PTX it makes is newer than the "
                   "driver, which serves CUDA %d.%d: update the driver, or use the NVRTC of CUDA %d.%d",
                   tj_nvrtc_major(nvrtc), tj_nvrtc_minor(nvrtc), cc_major, cc_minor, driver_version / 1000,
                   driver_version % 1000 / 10, driver_version / 1000, driver_version % 1000 / 10);
}

tj_status tj_host_target(tj_host *host, int cc_major, int cc_minor, char *target, tj_error *err)
{
    const tj_nvrtc *nvrtc;
    const char *const *list, *below = NULL;
    tj_status status;
    int wanted;

    target[0] = '\0';
    if (cc_major < 1 || cc_major > 99 || cc_minor < 0 || cc_minor > 9)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%d.%d is not a compute capability: use one such as 9.0", cc_major,
                       cc_minor);
    wanted = 10 * cc_major + cc_minor;
    status = tj_host_nvrtc(host, &nvrtc, err);
    if (status == TJ_ERR_NO_COMPILER) { /* what is stored for the device itself can run all the same */
        snprintf(target, TARGET_BYTES, tj_gpu_is_emulated(&host->gpu) ? "compute_%d" : "sm_%d", wanted);
        return TJ_OK;
    }
    if (status != TJ_OK)
        return status;
    for (list = tj_nvrtc_targets(nvrtc); *list; list++) {
        if (target_number(*list) == wanted) {
            /* The emulator reads PTX alone: without a CUBIN to make, NVRTC needs half the time. */
            if (tj_gpu_is_emulated(&host->gpu))
                snprintf(target, TARGET_BYTES, "compute_%d", wanted);
            else
                snprintf(target, TARGET_BYTES, "%s", *list);
            return TJ_OK;
        }
        if (target_number(*list) < wanted)
            below = *list;
    }
    if (!below)
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "a device of compute capability %d.%d is too old for NVRTC %d.%d, which begins at %s: use an older "
                       "NVRTC (\"pip install nvidia-cuda-nvrtc-cu12\" serves 5.0 on) and set TILEJIT_NVRTC to it",
                       cc_major, cc_minor, tj_nvrtc_major(nvrtc), tj_nvrtc_minor(nvrtc), tj_nvrtc_targets(nvrtc)[0]);
    status = check_driver_takes_ptx(host, nvrtc, cc_major, cc_minor, err);
    if (status == TJ_OK)
        snprintf(target, TARGET_BYTES, "compute_%d", target_number(below));
    return status;
}
