/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulator: the path of the bundled emulator, and its functions. It is a driver like any other; only driver.c asks.
 */
#ifndef TJ_SRC_EMULATOR_H
#define TJ_SRC_EMULATOR_H

#include <limits.h>
#include <stdbool.h>

#include <tilejit/emulator.h>

/** Is this driver path "emulator" or "emulator:..."? */
bool tj_emulator_is_asked(const char *driver_path);

/** Find its library: by TILEJIT_EMULATOR, if the environment is read, or next to this one. Errors: TJ_ERR_NO_DRIVER, with the places searched. */
tj_status tj_emulator_find(bool reads_environment, char path[PATH_MAX], tj_error *err);

/** Fill in the table from an opened library; false: it is not an emulator. */
bool tj_emulator_fill(void *library, tj_emulator *table);

/** Choose the devices that "emulator:sm_80,sm_90" names. Before cuInit. */
tj_status tj_emulator_choose_devices(void *library, const char *driver_path, tj_error *err);

#endif
