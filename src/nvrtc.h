/*
 * nvrtc: libnvrtc, found and opened at run time, as a table of functions.
 *
 * The ABI is twenty plain C functions; their prototypes are written out in nvrtc.c, no NVIDIA header is needed. Opened
 * once per path and process and never closed. libnvrtc has no run path: libnvrtc-builtins of the same folder is opened first.
 */
#ifndef TJ_SRC_NVRTC_H
#define TJ_SRC_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

#include <tilejit/image.h>

#include "log.h"

typedef struct tj_nvrtc tj_nvrtc;

/**
 * Open NVRTC. path NULL: search (docs/environment.md), preferring versions whose major is at most
 * driver_version / 1000 (0: no driver known). Once opened for a path, the same table is returned for ever.
 * Errors: TJ_ERR_NO_COMPILER: every place tried, and the remedy.
 */
tj_status tj_nvrtc_open(const char *path, int driver_version, const tj_log *log, const tj_nvrtc **nvrtc, tj_error *err);

/** Visit the places that tj_nvrtc_open would try, in order, with what is there: for the doctor. Opens nothing new. */
typedef void (*tj_nvrtc_visit)(const char *place, const char *what_was_found, void *payload);
void tj_nvrtc_search(const char *path, tj_nvrtc_visit visit, void *payload);

int tj_nvrtc_major(const tj_nvrtc *nvrtc);
int tj_nvrtc_minor(const tj_nvrtc *nvrtc);
const char *tj_nvrtc_path(const tj_nvrtc *nvrtc);
const char *tj_nvrtc_builtins_path(const tj_nvrtc *nvrtc); /* NULL: not found beside it */

/** "13.0 V13.0.88": version and build. The build is read off a probe compile, once per process. */
tj_status tj_nvrtc_identity(const tj_nvrtc *nvrtc, const char **identity, tj_error *err);

/** NULL-terminated "sm_75", ... as the library itself lists them, ascending. */
const char *const *tj_nvrtc_targets(const tj_nvrtc *nvrtc);

/** What a compile gave. Release with tj_compiled_drop. */
typedef struct tj_compiled {
    char *ptx; /* NUL-terminated */
    size_t ptx_bytes;
    void *cubin; /* NULL for compute_ targets */
    size_t cubin_bytes;
    char *log; /* never NULL after a call, made printable */
    tj_resources resources;
} tj_compiled;

/**
 * The options for a target, canonical order, one per line: what the compiler gets and what the key holds.
 * out is NUL-terminated and cut never: 512 bytes suffice. Errors: TJ_ERR_INVALID_ARGUMENT: unknown target.
 */
tj_status tj_nvrtc_options(const tj_nvrtc *nvrtc, const char *target, char out[512], tj_error *err);

/**
 * Compile. name is the program name shown in messages ("kernel.cu"). Refuses text with NUL, 0xFF or any byte that is not
 * ASCII. Runs on a thread of its own with a 16 MiB stack. On TJ_ERR_COMPILE compiled->log is set.
 */
tj_status tj_nvrtc_compile(const tj_nvrtc *nvrtc, const char *text, size_t text_bytes, const char *name,
                           const char *target, tj_compiled *compiled, tj_error *err);
void tj_compiled_drop(tj_compiled *compiled);

#endif
