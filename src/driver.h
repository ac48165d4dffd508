/*
 * driver: libcuda, opened at run time, as a table of functions.
 *
 * One list makes the table and the look-ups. The emulator, and the fake driver of the tests, are libraries with the same
 * names: code above this file cannot tell. Opened once per path and process and never closed.
 */
#ifndef TJ_SRC_DRIVER_H
#define TJ_SRC_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>

#include <tilejit/device.h>

#include "cuda_abi.h"

/* X(member, exported symbol, result-and-arguments prototype as a function type); _OPTIONAL ones may be absent (NULL).
 * The list itself is in this header: see TJ_DRIVER_FUNCTIONS below, filled in by its author. */

typedef struct tj_driver tj_driver;

#endif
