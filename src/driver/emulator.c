/* SPDX-License-Identifier: Apache-2.0 */
#include "emulator.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "component.h"
#include "error.h"

static const char WORD[] = "emulator";

bool tj_emulator_is_asked(const char *driver_path)
{
    const size_t length = sizeof WORD - 1;

    return driver_path && strncmp(driver_path, WORD, length) == 0 &&
           (driver_path[length] == '\0' || driver_path[length] == ':');
}

tj_status tj_emulator_find(bool reads_environment, char path[PATH_MAX], tj_error *err)
{
    const char *given = reads_environment ? secure_getenv("TILEJIT_EMULATOR") : NULL;

    if (given && *given) {
        if (strchr(given, '/') && access(given, R_OK) != 0) /* the loader finds a bare name */
            return tj_fail(err, TJ_ERR_NO_DRIVER, "TILEJIT_EMULATOR is \"%s\": %s; set it to the path of libcuda_emulator.so",
                           given, strerror(errno));
        snprintf(path, PATH_MAX, "%s", given);
        return TJ_OK;
    }
    if (tj_component_find(WORD, "libcuda_emulator.so", path))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_NO_DRIVER,
                   "no libcuda_emulator.so next to TileJIT or in a tilejit folder there: build TileJIT with "
                   "-DTILEJIT_BUILD_EMULATOR=ON, or set TILEJIT_EMULATOR to the path of one");
}

static bool find_symbol(void *library, const char *symbol, void *function)
{
    void *address = dlsym(library, symbol);

    memcpy(function, &address, sizeof address);
    return address != NULL;
}

bool tj_emulator_fill(void *library, tj_emulator *table)
{
    table->struct_size = sizeof *table;
    return find_symbol(library, "cuEmuGetFinding", &table->get_finding) &&
           find_symbol(library, "cuEmuFindingCount", &table->finding_count) &&
           find_symbol(library, "cuEmuClear", &table->clear) && find_symbol(library, "cuEmuSetOption", &table->set_option) &&
           find_symbol(library, "cuEmuGetOption", &table->get_option) &&
           find_symbol(library, "cuEmuGetLaunch", &table->get_launch) &&
           find_symbol(library, "cuEmuGetLine", &table->get_line) && find_symbol(library, "cuEmuWatch", &table->watch) &&
           find_symbol(library, "cuEmuUnwatch", &table->unwatch) &&
           find_symbol(library, "cuEmuGetProgress", &table->get_progress);
}

tj_status tj_emulator_choose_devices(void *library, const char *driver_path, tj_error *err)
{
    const char *colon = strchr(driver_path, ':');
    int (*choose)(const char *list);

    if (!colon)
        return TJ_OK;
    if (!find_symbol(library, "cuEmuSetDevices", &choose))
        return tj_fail(err, TJ_ERR_NO_DRIVER, "the library that TILEJIT_EMULATOR names is not TileJIT's emulator");
    if (choose(colon + 1))
        return TJ_OK;
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "\"%.60s\" names a device that the emulator does not know, or this process runs it with other devices already: "
        "use emulator:sm_90, sm_75, sm_80, sm_86, sm_89, sm_100, sm_103, sm_110, sm_120 or sm_121",
        driver_path);
}
