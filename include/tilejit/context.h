/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.h: one TileJIT instance: its options, its store, its plans.
 *
 * Nothing is global but the once-only loading of the two foreign libraries, NVRTC and the CUDA driver, and both are
 * opened only when a call first needs them: a context can be made, and kernels generated, on a machine with neither.
 */
#ifndef TILEJIT_CONTEXT_H
#define TILEJIT_CONTEXT_H

#include <tilejit/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Threads: a context may be shared by all threads. */
typedef struct tj_context tj_context;

typedef enum tj_log_level { TJ_LOG_OFF = 0, TJ_LOG_ERROR, TJ_LOG_WARNING, TJ_LOG_INFO, TJ_LOG_DEBUG } tj_log_level;

/**
 * Receives one line, without a newline. May be called from any thread, from several at once; must not call back into
 * the same context. The text is valid during the call only. It must return: it is called while the library holds locks, so an
 * exception or a longjmp out of it would leave later calls waiting for ever.
 */
typedef void (*tj_log_fn)(tj_log_level level, const char *line, void *payload);

/** Which problems tj_matmul bakes into kernels. */
typedef enum tj_specialize {
    TJ_SPECIALIZE_SHAPES = 0, /**< one kernel per problem: what TileJIT is for */
    TJ_SPECIALIZE_TYPES = 1   /**< extents, leading dimensions and strides are arguments: one kernel for all shapes of a
                                   type and layout; for programs with thousands of shapes that run once each */
} tj_specialize;

/** Start from TJ_CONTEXT_OPTIONS_INIT; zero in any field means its default. All text is copied. */
typedef struct tj_context_options {
    size_t struct_size;
    const char *nvrtc;     /**< path of libnvrtc; default: $TILEJIT_NVRTC, then the search in docs/environment.md */
    const char *driver;    /**< path of libcuda, or emulator, emulator:sm_80 (see emulator.h); default: $TILEJIT_DRIVER, then
                                libcuda.so.1 */
    const char *cache_dir; /**< root of the store; default: $TILEJIT_CACHE_DIR, $XDG_CACHE_HOME/tilejit,
                                          $HOME/.cache/tilejit. "", or TILEJIT_CACHE_DIR=off, switches the disk off:
                                          kernels and records are kept in memory alone */
    const char *const *read_only_roots; /**< up to 15 stores, searched after the own one, never written; NULL-terminated */
    int64_t store_max_bytes;            /**< least recently used entries go beyond this; default 1 GiB */
    int32_t device;                     /**< device to use when the calling thread has no current CUDA context, plus one;
                                          default: $TILEJIT_DEVICE, then 0 */
    int32_t specialize;                 /**< tj_specialize */
    int32_t check_pointers;             /**< 1: every launch asks the driver what each pointer is (about 100 ns each);
                                          default: only the first launch of a plan does */
    int32_t log_level;                  /**< tj_log_level; default: $TILEJIT_LOG (error, warning, info, debug), then off */
    tj_log_fn log;                      /**< default: none; with a level, lines go to stderr */
    void *log_payload;
    const char *dump_dir;        /**< every built kernel's text, PTX, CUBIN and log are written here too; $TILEJIT_DUMP */
    int32_t background_tuning_s; /**< seconds to tune each problem for that has no record, on a thread of the library's own,
                                      behind the kernel that serves its calls meanwhile; 0: off. It uses the device and
                                      device memory besides the program, on a stream of its own, and breaks no capture of
                                      the program's. exit() cancels it. Only in the primary CUDA context of the device above, and only problems whose
                                      extents and batch are known: none under TJ_SPECIALIZE_TYPES, and none on the emulator,
                                      whose times mean nothing */
    int32_t prove;               /**< tj_prove (prove.h): whether kernels are proven on the device when they are first launched.
                                      Default: never; proofs that are there are believed all the same */
} tj_context_options;

/* clang-format off */
#define TJ_CONTEXT_OPTIONS_INIT { sizeof(tj_context_options), NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0 }
/* clang-format on */

/**
 * Make a context. Reads the environment here; TILEJIT_EMULATOR when the emulator is opened, and the variables that say where
 * NVRTC may lie (docs/environment.md) when it is first needed; in a set-uid program nothing at all. Opens no library and
 * creates no file.
 *
 * Owned:   *context belongs to the caller; tj_context_free().
 * NULL:    options may be NULL (all defaults); context must not be.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (an option has a value it cannot have), TJ_ERR_UNSUPPORTED (a program built for a newer
 *          library sets a field that this one does not know), TJ_ERR_OUT_OF_MEMORY. A store that cannot be used is no error:
 *          it is logged, and work goes on in memory.
 */
TJ_API TJ_MUST_CHECK tj_status tj_context_create(const tj_context_options *options, tj_context **context, tj_error *err);

/**
 * Release the context, its plans and its loaded kernels. Every launch must have completed, and no other thread may be
 * using the context. Makes no CUDA call in a forked child or after the device was lost. NULL: accepted.
 */
TJ_API void tj_context_free(tj_context *context);

/** Since the context was made. Threads: any; each number is exact, the set is not one instant's. */
typedef struct tj_context_stats {
    uint64_t memory_hits; /**< images found in memory; launches of ready plans are not counted */
    uint64_t store_hits;  /**< images read from a store */
    uint64_t compiles;    /**< NVRTC runs */
    uint64_t failures;    /**< NVRTC runs that failed */
    uint64_t loads;       /**< images loaded into a device */
    uint64_t plans;       /**< plans held now */
} tj_context_stats;

/** NULL: neither may be NULL. Threads: any. */
TJ_API void tj_context_get_stats(tj_context *context, tj_context_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
