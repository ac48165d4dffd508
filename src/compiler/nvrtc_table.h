/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvrtc_table: the functions that nvrtc.c opens and nvrtc_compile.c calls. No other file includes this.
 */
#ifndef TJ_SRC_NVRTC_TABLE_H
#define TJ_SRC_NVRTC_TABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "nvrtc.h"

typedef struct tj_nvrtc_program tj_nvrtc_program; /* NVRTC's own; opaque */

/* X(member, exported symbol, result, arguments). All of them exist since 11.2. */
/* clang-format off */
#define TJ_NVRTC_FUNCTIONS(X)                                                                                          \
    X(version, nvrtcVersion, int, (int *major, int *minor))                                                            \
    X(error_string, nvrtcGetErrorString, const char *, (int result))                                                   \
    X(target_count, nvrtcGetNumSupportedArchs, int, (int *count))                                                      \
    X(targets, nvrtcGetSupportedArchs, int, (int *target))                                                             \
    X(create_program, nvrtcCreateProgram, int,                                                                         \
      (tj_nvrtc_program **program, const char *text, const char *name, int header_count, const char *const *header,   \
       const char *const *header_name))                                                                                \
    X(destroy_program, nvrtcDestroyProgram, int, (tj_nvrtc_program **program))                                        \
    X(compile_program, nvrtcCompileProgram, int,                                                                       \
      (tj_nvrtc_program *program, int option_count, const char *const *option))                                       \
    X(ptx_bytes, nvrtcGetPTXSize, int, (tj_nvrtc_program *program, size_t *bytes))                                    \
    X(ptx, nvrtcGetPTX, int, (tj_nvrtc_program *program, char *ptx))                                                  \
    X(cubin_bytes, nvrtcGetCUBINSize, int, (tj_nvrtc_program *program, size_t *bytes))                                \
    X(cubin, nvrtcGetCUBIN, int, (tj_nvrtc_program *program, char *cubin))                                            \
    X(log_bytes, nvrtcGetProgramLogSize, int, (tj_nvrtc_program *program, size_t *bytes))                             \
    X(log, nvrtcGetProgramLog, int, (tj_nvrtc_program *program, char *log))
/* clang-format on */

/* The results that we treat specially. */
enum { NVRTC_DONE = 0, NVRTC_OUT_OF_MEMORY = 1, NVRTC_INVALID_OPTION = 5, NVRTC_BUILTINS = 7 };

/* Facts that only a compile reveals: found once, by a probe. */
typedef struct tj_nvrtc_probe {
    pthread_mutex_t lock;
    atomic_bool is_done;
    atomic_bool has_compiled; /* more than an empty source, so its last static object exists */
    bool has_minimal, has_no_cache;
    char identity[64];
} tj_nvrtc_probe;

struct tj_nvrtc {
    struct {
#define TJ_NVRTC_MEMBER(member, symbol, result, arguments) result(*member) arguments;
        TJ_NVRTC_FUNCTIONS(TJ_NVRTC_MEMBER)
#undef TJ_NVRTC_MEMBER
        /* NULL in older versions. The callback is asked now and then during a compile whether to give up. */
        int (*set_flow_callback)(tj_nvrtc_program *program, int (*is_cancelled)(void *payload, void *unused), void *payload);
    } call;
    void *handle; /* NULL: known by its card (nvrtc_card.h), not opened */
    char *path, *builtins_path;
    int major, minor;
    const char **target; /* "sm_75", ... NULL */
    tj_nvrtc_probe *probe;
    struct tj_nvrtc *next;
};

/** Return an empty table with its probe; NULL: out of memory. */
tj_nvrtc *tj_nvrtc_new(void);

/** Free a table that no other thread knows. NULL: accepted. */
void tj_nvrtc_free(tj_nvrtc *nvrtc);

/**
 * Bracket every call into the loader or NVRTC. A child forked meanwhile inherits locks that no thread will release: there enter
 * answers TJ_ERR_FORKED for ever.
 */
tj_status tj_nvrtc_enter(tj_error *err);
void tj_nvrtc_leave(void);

#endif
