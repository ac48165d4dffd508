/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.h: one instance of TileJIT: its options, its store, its plans.
 *
 * Nothing is global except that NVRTC and the CUDA driver are loaded once per process. Both are opened only when a call first
 * needs them: on a machine that has neither, a context can be made and kernels can be generated.
 */
#ifndef TILEJIT_CONTEXT_H
#define TILEJIT_CONTEXT_H

#include <tilejit/device.h>
#include <tilejit/event.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* a CUstream, which is also a cudaStream_t; NULL is the legacy default stream */

/** A context. All threads may share it. */
typedef struct tj_context tj_context;

typedef enum tj_log_level { TJ_LOG_OFF = 0, TJ_LOG_ERROR, TJ_LOG_WARNING, TJ_LOG_INFO, TJ_LOG_DEBUG } tj_log_level;

/**
 * Receives one line, without a newline; the text is valid during the call only. It may be called from any thread, and from
 * several at once. It must not call back into the same context, and it must return: the library holds locks while it calls, so
 * an exception or a longjmp out of it would leave later calls waiting for ever.
 */
typedef void (*tj_log_fn)(tj_log_level level, const char *line, void *payload);

/**
 * Allocate device memory for the library: `bytes` of it, aligned to 256 bytes, for work that is queued on `stream` (NULL: the
 * legacy default stream) after the call, as cuMemAllocAsync does. NULL: there is none, and the call that needs it fails with
 * TJ_ERR_DEVICE_MEMORY. The CUDA context in which it must lie is current. The stream may be being captured: the memory must
 * then stay the graph's for as long as it may be launched.
 *
 * It may be called from any thread that calls the library, from its own where options ask for background work, and from several
 * at once. It must not call back into the same context, and it must return.
 */
typedef void *(*tj_allocate_fn)(size_t bytes, struct CUstream_st *stream, void *payload);

/**
 * Take back what tj_allocate_fn gave, with the same bytes and stream: once each, in any order, from any thread. Work that was
 * queued on the stream before the call may still use it, as with cuMemFreeAsync. After the device was lost, no CUDA context need
 * be current. A forked child gives nothing back.
 */
typedef void (*tj_release_fn)(void *memory, size_t bytes, struct CUstream_st *stream, void *payload);

/** The part of a problem that becomes constants of its kernel. */
typedef enum tj_specialize {
    TJ_SPECIALIZE_SHAPES = 0, /**< everything: one kernel per problem, which is what TileJIT is for */
    TJ_SPECIALIZE_TYPES = 1   /**< types and layouts: extents, leading dimensions and strides are arguments, and one kernel
                                   serves all shapes. For programs with thousands of shapes that run once each */
} tj_specialize;

/** The action of tj_matmul if it has no plan for a problem. */
typedef enum tj_first_call {
    TJ_FIRST_CALL_WAIT = 0, /**< it waits for the kernel that the library chooses; the same kernel from then on */
    /**
     * It launches a kernel that is available: the chosen one, if it is in memory, in a pack or in the store, or one of a pack
     * that leaves dimensions to the launch; else a textbook kernel that serves all shapes of its types and is compiled in a
     * fraction of the time. The chosen one is compiled on a thread of the library's own and replaces it, so that products of
     * later calls may differ in their last bits. If a dimension varies from problem to problem, one kernel that takes it as an
     * argument is compiled for all its extents, and specialised ones only for extents that recur: a server with batches of 1 to
     * 32 compiles a few kernels rather than dozens. All this holds in the primary CUDA context of the device; calls in another
     * CUDA context wait for their kernel.
     */
    TJ_FIRST_CALL_QUICK = 1
} tj_first_call;

/** When a context proves a kernel that it is about to launch for the first time (option prove). */
typedef enum tj_prove {
    TJ_PROVE_NEVER = 0,  /**< never: the compiler is trusted, except where an existing proof says otherwise */
    TJ_PROVE_BEFORE = 1, /**< before the first launch, which waits for it */
    TJ_PROVE_BEHIND = 2, /**< after the first launch, on a thread of the library's own and in the primary CUDA context only.
                              If the proof fails, an error is logged and later calls get another kernel; products until then
                              may be wrong */
} tj_prove;

/** The bytes of a pack in memory, such as tilejit pack --c-array makes. */
typedef struct tj_pack_bytes {
    const void *bytes; /**< NULL ends a list */
    size_t size;
} tj_pack_bytes;

/** Start from TJ_CONTEXT_OPTIONS_INIT; zero in any field means its default. All text is copied. */
typedef struct tj_context_options {
    size_t struct_size;
    const char *nvrtc;     /**< path of libnvrtc, or system: the search in docs/environment.md without the places that
                                variables name; default: $TILEJIT_NVRTC, then the whole search */
    const char *driver;    /**< path of libcuda, or emulator, emulator:sm_80 (see emulator.h); default: $TILEJIT_DRIVER, then
                                libcuda.so.1 */
    const char *cache_dir; /**< root of the store; default: $TILEJIT_CACHE_DIR, $XDG_CACHE_HOME/tilejit,
                                          $HOME/.cache/tilejit. "", or TILEJIT_CACHE_DIR=off, switches the disk off:
                                          kernels and records are kept in memory alone */
    const char *const *read_only_roots; /**< up to 15 stores, searched after the own one, never written; NULL-terminated */
    int64_t store_max_bytes;            /**< above this size the least recently used entries are evicted; default 1 GiB */
    int32_t device;                     /**< the device to use when the calling thread has no current CUDA context, counted
                                          from 1, so that 0 means the default: $TILEJIT_DEVICE, which counts from 0, then the
                                          first one */
    int32_t specialize;                 /**< tj_specialize */
    int32_t check_pointers;             /**< 1: every launch asks the driver about each pointer (about 100 ns each); default:
                                             only the first launch of a plan and the one after a refusal, unless they are
                                             captured */
    int32_t log_level;                  /**< tj_log_level; default: $TILEJIT_LOG (error, warning, info, debug), then off */
    tj_log_fn log;                      /**< default: none, and lines of that level go to stderr */
    void *log_payload;
    const char *dump_dir;        /**< every compiled kernel's source, PTX, CUBIN and log are also written here; default:
                                      $TILEJIT_DUMP */
    int32_t background_tuning_s; /**< seconds to spend on tuning each problem that has no record, on a thread of the library's
                                      own, while another kernel serves its calls; 0: off. It takes device time and memory from
                                      the program, on a stream of its own, and breaks no capture of the program's. exit()
                                      cancels it. It tunes only in the primary CUDA context of the device above, and only
                                      problems whose extents and batch are known: none under TJ_SPECIALIZE_TYPES, and none on
                                      the emulator, whose times mean nothing */
    int32_t prove;               /**< tj_prove: whether kernels are proven on the device when first launched.
                                      Default: never; proofs that exist still count */
    const char *const *packs;    /**< files of tilejit pack, searched before the store and before NVRTC is opened; a folder is
                                      one more read-only root. NULL-terminated; default: $TILEJIT_PACKS, separated by colons.
                                      One that cannot be used is named in a warning, and otherwise ignored */
    const tj_pack_bytes *pack_bytes; /**< packs in memory, searched after those; the list ends with bytes of NULL. The list is
                                          copied, the bytes are not: they must outlive the context */
    /**
     * A list of shapes to which each problem that is launched or prepared is added, with the number of its launches by
     * tj_matmul and tj_plan_launch; if one kernel serves all extents of a dimension, the problem that leaves it open, with
     * these extents. It is written every ten seconds, when exit() is called, and when the context is freed; a process that is
     * killed loses the last seconds. Each time the file is replaced as a whole. Contexts and processes may share it, and counts
     * add up. tilejit tune, prove, pack and warm-up read it. A file of another kind stays as it is, with a warning; default:
     * $TILEJIT_CAPTURE
     */
    const char *capture;
    const char *remote; /**< redis://host?trust=FILE and the like (docs/fleet.md): a server that is asked for images and records
                             when packs and stores have none, before one is compiled; "": none. It is asked for 100 ms at most,
                             and any failure of it is a miss and a warning. Default: $TILEJIT_REMOTE, then none, and then
                             no socket is opened */
    int32_t first_call; /**< tj_first_call. tj_plan_prepare always waits */
    int64_t max_plans;  /**< the maximum number of plans in memory; default 4096 */
    /**
     * The maximum bytes of sources, images and loaded code of plans; default 512 MiB. Above this or max_plans, the least
     * recently used plans are evicted, and rebuilt from the store when they are needed. A plan that tj_plan_prepare has
     * returned, or that a graph may launch, stays; see tj_context_trim
     */
    int64_t max_plan_bytes;
    /**
     * 1: for profilers: code names the line of its source, which is the file kernel.cu of its entry in the store, or that of
     * dump_dir without a store. Such code is compiled and stored separately; packs, which name no file, are skipped. Default:
     * $TILEJIT_LINE_INFO, which may be 1
     */
    int32_t line_info;
    tj_event_fn on_event; /**< receives events (event.h); default: none */
    void *event_payload;
    /**
     * Tables of trials (tilejit tune --pack-trials), by which configs are chosen for problems without a record: files, and
     * folders with *.tjtrials, separated by colons, in addition to those that ship with the library; "" or "off": none at all.
     * They are read when a choice first needs them. One that cannot be used is named in a warning, and otherwise ignored.
     * Default: $TILEJIT_TRIALS, then those that ship
     */
    const char *trials;
    /**
     * The program's allocator, for all device memory that the library would ask the driver for: the workspace of a launch whose
     * operands bring none, which goes back before the call returns; what tuning and proofs compute with; and tj_buffer. Both
     * functions or neither. The code of kernels is the driver's own. Default: cuMemAllocAsync for workspaces, cuMemAlloc for
     * the others
     */
    tj_allocate_fn allocate;
    tj_release_fn release;
    void *allocator_payload;
    /**
     * 1: the library reads no environment variable for this context, as if none was set: options alone decide, there is no store
     * unless cache_dir names one, NVRTC is looked for as "system" says, and profilers see no ranges. The driver, NVRTC, the
     * loader and the emulator have variables of their own, and read them. Default: 0
     */
    int32_t ignore_environment;
} tj_context_options;

#define TJ_CONTEXT_OPTIONS_INIT TJ_SIZED(tj_context_options)

/**
 * Make a context. It opens the named packs, but no library; it creates no file. It reads the environment now, except
 * TILEJIT_EMULATOR, which is read when the emulator is opened, and the variables that locate NVRTC (docs/environment.md), which
 * are read when NVRTC is first needed. In a set-uid program, or with ignore_environment, it reads none.
 *
 * Owned:   *context belongs to the caller; tj_context_free().
 * NULL:    options (all defaults) and err may be NULL.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (an option has a value that it cannot have), TJ_ERR_UNSUPPORTED (a program that was built
 *          for a newer library sets a field that this one does not know), TJ_ERR_OUT_OF_MEMORY. A store that cannot be used is
 *          not an error: it is logged, and kernels are kept in memory.
 */
TJ_API TJ_MUST_CHECK tj_status tj_context_create(const tj_context_options *options, tj_context **context, tj_error *err);

/**
 * Free a context, its plans and its loaded kernels. Every launch must have completed, and no other thread may be using the
 * context. Makes no CUDA call in a forked child or after the device was lost. NULL: accepted.
 */
TJ_API void tj_context_free(tj_context *context);

/** Counts since the context was created. Start from TJ_CONTEXT_STATS_INIT. Each number is exact, but they are not all from the same instant. */
typedef struct tj_context_stats {
    size_t struct_size;
    uint64_t memory_hits;     /**< images found in memory; launches of ready plans are not counted */
    uint64_t pack_hits;       /**< images read from a pack */
    uint64_t store_hits;      /**< images read from a store */
    uint64_t remote_hits;     /**< images fetched from another machine's server */
    uint64_t compiles;        /**< NVRTC runs */
    uint64_t failures;        /**< NVRTC runs that failed */
    uint64_t loads;           /**< images loaded into a device */
    uint64_t plans;           /**< plans in memory now */
    uint64_t plan_bytes;      /**< their bytes: text, images and loaded code */
    uint64_t misses;          /**< calls with a problem that had no plan; a problem counts again after its plan was evicted, or
                                   could not be made */
    uint64_t proofs;          /**< kernels that passed or failed a proof on the device */
    uint64_t replaced;        /**< plans that replaced another */
    uint64_t evictions;       /**< plans evicted, to make room or by tj_context_trim */
    uint64_t remote_troubles; /**< requests that the server did not answer in time, or refused */
} tj_context_stats;

#define TJ_CONTEXT_STATS_INIT TJ_SIZED(tj_context_stats)

/**
 * Evict plans, with their images and loaded code, the least recently used first, until at most `plans` plans and `bytes` bytes
 * are left. 0 and 0: all that can be evicted. They are rebuilt from the store when they are needed. Plans that tj_plan_prepare
 * has returned and tj_plan_release has not taken back stay, and so do those that a graph may launch, because tj_matmul was
 * captured. A plan that another thread is launching right now is freed a little later, when a plan is added or evicted. The
 * driver may wait for the device to unload code.
 *
 * NULL:    context: does nothing.
 * Threads: any; others may be multiplying.
 */
TJ_API void tj_context_trim(tj_context *context, int64_t plans, int64_t bytes);

/** Get these numbers. For stats that were not initialised it logs an error, and does no more. NULL: neither may be NULL. Threads: any. */
TJ_API void tj_context_get_stats(tj_context *context, tj_context_stats *stats);

/**
 * Name the packs of a context in the order of the search: the path of number index, or "pack in memory"; the last one is that
 * of quick first calls, if they are enabled and it exists. NULL past the last one. Owned: borrowed from context. Threads: any.
 */
TJ_API const char *tj_context_pack_name(const tj_context *context, size_t index);

/** Return the number of pack_hits read from that pack. 0 past the last one. Threads: any. */
TJ_API uint64_t tj_context_pack_hits(const tj_context *context, size_t index);

#ifdef __cplusplus
}
#endif
#endif
