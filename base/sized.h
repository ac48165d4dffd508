/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sized: structures that begin with their size, and may be those of an older or a newer program (docs/abi.md).
 */
#ifndef TJ_BASE_SIZED_H
#define TJ_BASE_SIZED_H

#include <stddef.h>

#include <tilejit/status.h>

/**
 * Read a structure of a program into one of this library: what the program does not have becomes 0. what and start_from are for
 * messages: "options" and the name of the initializer. Errors: TJ_ERR_INVALID_ARGUMENT: it was not initialised;
 * TJ_ERR_UNSUPPORTED: it sets a field that this library does not know.
 */
tj_status tj_sized_read(const void *given, void *own, size_t size, const char *what, const char *start_from, tj_error *err);
#define TJ_READ(given, own, start_from, err) tj_sized_read(given, own, sizeof *(own), #given, #start_from, err)

/**
 * Make all of a structure that a call fills 0, except its size. A call that runs long does this first, so that it is refused
 * before it has done anything, and nothing is left half-filled.
 * Errors: TJ_ERR_INVALID_ARGUMENT: it was not initialised.
 */
tj_status tj_sized_clear(void *given, const char *what, const char *start_from, tj_error *err);
#define TJ_CLEAR(given, start_from, err) tj_sized_clear(given, #given, #start_from, err)

/**
 * Copy one of this library into a structure of a program, as far as that goes; what the library does not have becomes 0.
 * Errors: TJ_ERR_INVALID_ARGUMENT: it was not initialised.
 */
tj_status tj_sized_fill(void *given, const void *own, size_t size, const char *what, const char *start_from, tj_error *err);
#define TJ_FILL(given, own, start_from, err) tj_sized_fill(given, own, sizeof *(own), #given, #start_from, err)

#endif
