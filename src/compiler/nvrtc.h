/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvrtc: libnvrtc, found and opened at run time, as a table of functions.
 *
 * The ABI is plain C functions; nvrtc_table.h declares those we call, so no NVIDIA header is needed. Opened once per path and
 * process and never closed. libnvrtc has no run path: libnvrtc-builtins of the same folder is opened with it.
 *
 * Threads: any, for all calls; compiles run in parallel.
 * Fork:    a child forked while another thread is inside can never use NVRTC: every call that would enter it answers
 *          TJ_ERR_FORKED, rather than wait for a lock that no thread will release. A child forked while no thread was
 *          inside may use it. A child made by raw clone() or vfork() is not noticed.
 */
#ifndef TJ_SRC_NVRTC_H
#define TJ_SRC_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

#include <tilejit/image.h>

#include "log.h"

typedef struct tj_nvrtc tj_nvrtc;

/**
 * Open NVRTC. path NULL, or TJ_NVRTC_SYSTEM: search the places of nvrtc_search.h in order, and take the first library that opens, is 11.2 or newer,
 * has its builtins, and whose major version is at most driver_version / 1000 (0: no driver known). A library of a newer major
 * version than the driver is taken only if there is no other, with a warning; one without builtins comes last, also with a
 * warning. Once opened for a path, the same table is returned for ever. Errors: TJ_ERR_NO_COMPILER, with the unusable file and
 * why, or every place tried, and the remedy; TJ_ERR_FORKED.
 */
tj_status tj_nvrtc_open(const char *path, int driver_version, const tj_log *log, const tj_nvrtc **nvrtc, tj_error *err);

/** Visit the places that tj_nvrtc_open would try, in order, with the contents of each: for the doctor. Opens nothing new. */
typedef void (*tj_nvrtc_visit)(const char *place, const char *what_was_found, void *payload);
void tj_nvrtc_search(const char *path, tj_nvrtc_visit visit, void *payload);

int tj_nvrtc_major(const tj_nvrtc *nvrtc);
int tj_nvrtc_minor(const tj_nvrtc *nvrtc);
const char *tj_nvrtc_path(const tj_nvrtc *nvrtc);
const char *tj_nvrtc_builtins_path(const tj_nvrtc *nvrtc); /* NULL: neither next to it nor on the loader's path */

/**
 * "13.0 V13.0.88": version and build. A probe compile reveals the build, once per process; if its PTX does not, the file's size
 * and time replace it. Errors: TJ_ERR_NO_COMPILER (builtins missing: they are named), TJ_ERR_FORKED.
 */
tj_status tj_nvrtc_identity(const tj_nvrtc *nvrtc, const char **identity, tj_error *err);

/** NULL-terminated "sm_75", ... as the library itself lists them, ascending. */
const char *const *tj_nvrtc_targets(const tj_nvrtc *nvrtc);

/** The result of a compile. Release with tj_compiled_drop. */
typedef struct tj_compiled {
    char *ptx; /* NUL-terminated */
    size_t ptx_bytes;
    void *cubin; /* NULL for compute_ targets */
    size_t cubin_bytes;
    char *log; /* complete and printable; never NULL after TJ_OK and TJ_ERR_COMPILE */
    tj_resources resources;
} tj_compiled;

/**
 * Write the options for a target in canonical order, one per line: the compiler and the key get the same. A target is sm_NN or
 * compute_NN, with an optional suffix a or f, and an NN that this NVRTC lists. out is NUL-terminated and never cut: 512 bytes
 * suffice. Errors: TJ_ERR_INVALID_ARGUMENT: unknown target (the known ones are listed), and those of tj_nvrtc_identity.
 */
tj_status tj_nvrtc_options(const tj_nvrtc *nvrtc, const char *target, unsigned wishes, char out[512], tj_error *err);

/* the PTX says which line of the source it came from */
enum { TJ_NVRTC_LINES = 1 /* the PTX says which line of the text it came from */ };

/**
 * Compile. name is the program name shown in messages ("kernel.cu"). Refuses a source with NUL, 0xFF or any byte that is not
 * ASCII. Runs on a thread of its own with a 16 MiB stack. On TJ_ERR_COMPILE compiled->log is set and the message holds its
 * first error. *compiled is filled or zeroed on every path: tj_compiled_drop is always safe. Errors: as tj_nvrtc_options, and
 * TJ_ERR_COMPILE, TJ_ERR_OUT_OF_MEMORY, TJ_ERR_CANCELLED (exit() is under way), TJ_ERR_INTERNAL.
 */
tj_status tj_nvrtc_compile(const tj_nvrtc *nvrtc, const char *text, size_t text_bytes, const char *name, const char *target,
                           unsigned wishes, tj_compiled *compiled, tj_error *err);
void tj_compiled_drop(tj_compiled *compiled);

#endif
