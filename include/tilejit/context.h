/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context.h: one instance of TileJIT: its options, its store, its plans.
 *
 * Nothing is global except that NVRTC and the CUDA driver are loaded once per process. Each is opened when a call first needs
 * it. So a machine that has neither can create a context and generate kernels.
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
 * Receives one line, without a newline; the text is valid during the call only. The library may call it from any thread, and
 * from several at once. It must not call back into the same context, and it must return: the library holds locks during the
 * call, so after an exception or a longjmp out of it later calls would wait for ever.
 */
typedef void (*tj_log_fn)(tj_log_level level, const char *line, void *payload);

/**
 * Allocate `bytes` bytes of device memory for the library, aligned to 256 bytes. Work that is queued on `stream` (NULL: the
 * legacy default stream) after the call may use them, as with cuMemAllocAsync. Return NULL if there is no memory: the call that
 * needs it then fails with TJ_ERR_DEVICE_MEMORY. The memory must lie in the CUDA context that is current. If the stream is
 * being captured, the memory must stay reserved for the graph for as long as the graph may be launched.
 *
 * It may be called from any thread that calls the library, from the library's own threads if options ask for background work,
 * and from several threads at once. It must not call back into the same context, and it must return.
 */
typedef void *(*tj_allocate_fn)(size_t bytes, struct CUstream_st *stream, void *payload);

/**
 * Free memory that tj_allocate_fn returned. bytes and stream are those of the allocation. The library frees each allocation
 * once, in any order, from any thread. Work that was queued on the stream before the call may still use the memory, as with
 * cuMemFreeAsync. After the device was lost, there may be no current CUDA context. A forked child frees nothing.
 */
typedef void (*tj_release_fn)(void *memory, size_t bytes, struct CUstream_st *stream, void *payload);

/** The part of a problem that becomes constants of its kernel. */
typedef enum tj_specialize {
    TJ_SPECIALIZE_SHAPES = 0, /**< everything: one kernel per problem, the purpose of TileJIT */
    TJ_SPECIALIZE_TYPES = 1   /**< types and layouts: extents, leading dimensions and strides are arguments, and one kernel
                                   serves all shapes. For programs with thousands of shapes that run once each */
} tj_specialize;

/** The action of tj_matmul if it has no plan for a problem. */
typedef enum tj_first_call {
    TJ_FIRST_CALL_WAIT = 0, /**< wait for the kernel that the library chooses; later calls launch the same kernel */
    /**
     * Launch a kernel that is available: the chosen one, if it is in memory, in a pack or in the store; or a kernel of a pack
     * that takes dimensions as arguments of the launch; otherwise a textbook kernel, which serves all shapes of its types and
     * is compiled in a fraction of the time. Meanwhile a thread of the library's own compiles the chosen kernel, which then
     * replaces the other, so products of later calls may differ in their last bits. If a dimension varies from problem to
     * problem, the library compiles one kernel that takes it as an argument, and specialised kernels only for extents that
     * recur: a server with batches of 1 to 32 compiles a few kernels instead of dozens. All this holds in the primary CUDA
     * context of the device; calls in another CUDA context wait for their kernel.
     */
    TJ_FIRST_CALL_QUICK = 1
} tj_first_call;

/** When a context proves a kernel that it is about to launch for the first time (option prove). */
typedef enum tj_prove {
    TJ_PROVE_UNKNOWN = 0, /**< before the first launch on a GPU newer than all that were ever measured (docs/devices.md), as
                               with TJ_PROVE_BEFORE: a kernel that fails is replaced, a warning names it, and the files for a
                               report are left in the folder cases of the store; on other GPUs and the emulator never */
    TJ_PROVE_BEFORE = 1,  /**< before the first launch, which waits for it */
    TJ_PROVE_BEHIND = 2,  /**< after the first launch, on a thread of the library's own and in the primary CUDA context only.
                               If the proof fails, an error is logged and later calls get another kernel; products until then
                               may be wrong */
    TJ_PROVE_NEVER = 3    /**< never: the compiler is trusted, except where an existing proof says otherwise */
} tj_prove;

/** The bytes of a pack in memory, such as tilejit pack --c-array makes. */
typedef struct tj_pack_bytes {
    const void *bytes; /**< NULL ends a list */
    size_t size;
} tj_pack_bytes;

/** Start from TJ_CONTEXT_OPTIONS_INIT; zero in any field means its default. All text is copied. */
typedef struct tj_context_options {
    size_t struct_size;
    const char *nvrtc;     /**< path of libnvrtc, or "system": the search in docs/environment.md without the places that
                                environment variables name; default: $TILEJIT_NVRTC, then the whole search */
    const char *driver;    /**< path of libcuda, or emulator, emulator:sm_80 (see emulator.h); default: $TILEJIT_DRIVER, then
                                libcuda.so.1 */
    const char *cache_dir; /**< root of the store; default: $TILEJIT_CACHE_DIR, $XDG_CACHE_HOME/tilejit,
                                          $HOME/.cache/tilejit. "", or TILEJIT_CACHE_DIR=off, switches the disk off:
                                          kernels and records are kept in memory alone */
    const char *const *read_only_roots; /**< up to 15 stores, searched after the context's own and never written;
                                             NULL-terminated */
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
                                      own, while another kernel serves its calls; 0: off. Tuning competes with the program for
                                      device time and memory. It uses a stream of its own and does not break a capture of the
                                      program. exit() cancels it. It tunes only in the primary CUDA context of the device above,
                                      and only problems whose extents and batch are known: none under TJ_SPECIALIZE_TYPES, and
                                      none on the emulator, whose times mean nothing */
    int32_t prove;               /**< tj_prove: whether kernels are proven on the device when first launched.
                                      Default: on GPUs that were never measured; proofs that exist count everywhere */
    const char *const *packs;    /**< files written by tilejit pack, searched before the store and before NVRTC is opened; a
                                      folder in the list is a further read-only root. NULL-terminated; default: $TILEJIT_PACKS,
                                      separated by colons. If one cannot be used, a warning names it, and it is ignored */
    const tj_pack_bytes *pack_bytes; /**< packs in memory, searched after the files; an element whose bytes are NULL ends the
                                          list. The list is copied; the bytes are not, and must outlive the context */
    /**
     * Path of a list of shapes. The library adds each problem that is launched or prepared, with the number of its launches by
     * tj_matmul and tj_plan_launch. If one kernel serves all extents of a dimension, it adds the problem that leaves the
     * dimension open, with these extents. It writes the list every ten seconds, when exit() is called, and when the context is
     * freed; a process that is killed loses the last seconds. Each write replaces the whole file. Contexts and processes may
     * share the file, and their counts add up. tilejit tune, prove, pack and warm-up read it. A file that is not such a list is
     * left unchanged, with a warning. Default: $TILEJIT_CAPTURE
     */
    const char *capture;
    const char *remote; /**< redis://host?trust=FILE and the like (docs/fleet.md): a server that the library asks for images and
                             records when packs and stores have none, before it compiles; "": none. It waits 100 ms at most. Any
                             failure of the server counts as a miss and is logged as a warning. Default: $TILEJIT_REMOTE; if
                             that is not set, no server, and no socket is opened */
    int32_t first_call; /**< tj_first_call. tj_plan_prepare always waits */
    int64_t max_plans;  /**< the maximum number of plans in memory; default 4096 */
    /**
     * The maximum number of bytes of the plans' sources, images and loaded code; default 512 MiB. Above this or max_plans, the
     * least recently used plans are evicted, and rebuilt from the store when they are needed. Plans that tj_plan_prepare
     * returned, and plans that a graph may launch, are not evicted; see tj_context_trim
     */
    int64_t max_plan_bytes;
    /**
     * 1: kernels carry line numbers for profilers. They refer to the file kernel.cu of the kernel's entry in the store, or,
     * without a store, to that in dump_dir. Such kernels are compiled and stored separately. Packs are skipped, because their
     * kernels name no file. Default: $TILEJIT_LINE_INFO, which may be 1
     */
    int32_t line_info;
    tj_event_fn on_event; /**< receives events (event.h); default: none */
    void *event_payload;
    /**
     * Tables of trials (tilejit tune --pack-trials), by which configs are chosen for problems without a record: files, and
     * folders with *.tjtrials, separated by colons, in addition to those that ship with the library; "" or "off": none at all.
     * They are read when a choice first needs them. If one cannot be used, a warning names it, and it is ignored. Default:
     * $TILEJIT_TRIALS, then those that ship
     */
    const char *trials;
    /**
     * The program's allocator. It provides all device memory that the library would otherwise request from the driver: the
     * workspace of a launch whose operands have none, which is freed before the call returns; the operands of tuning and
     * proofs; and tj_buffer. Set both functions or neither. The driver still allocates the code of kernels. Default:
     * cuMemAllocAsync for workspaces, cuMemAlloc for the others
     */
    tj_allocate_fn allocate;
    tj_release_fn release;
    void *allocator_payload;
    /**
     * 1: the library reads no environment variable for this context, as if none was set: options alone decide, there is no
     * store unless cache_dir names one, NVRTC is searched for as with nvrtc "system", and profilers see no ranges. The driver,
     * NVRTC, the loader and the emulator still read variables of their own. Default: 0
     */
    int32_t ignore_environment;
} tj_context_options;

#define TJ_CONTEXT_OPTIONS_INIT TJ_SIZED(tj_context_options)

/**
 * Create a context. The call opens the named packs, but no library, and creates no file. It reads the environment, except
 * TILEJIT_EMULATOR, which is read when the emulator is opened, and the variables that locate NVRTC (docs/environment.md), which
 * are read when NVRTC is first needed. In a set-uid program, or with ignore_environment, it reads none.
 *
 * Owned:   *context belongs to the caller; tj_context_free().
 * NULL:    options (all defaults) and err may be NULL.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (an option has an invalid value), TJ_ERR_UNSUPPORTED (a program that was built for a newer
 *          library sets a field that this one does not know), TJ_ERR_OUT_OF_MEMORY. A store that cannot be used is not an
 *          error: it is logged, and kernels are kept in memory.
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
    uint64_t plan_bytes;      /**< the bytes of their sources, images and loaded code */
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
 * are left. 0 and 0: all that can be evicted. They are rebuilt from the store when they are needed. A plan that tj_plan_prepare
 * returned stays until tj_plan_release releases it. A plan also stays if a graph may launch it, because a call of tj_matmul was
 * captured. A plan that another thread is launching at this moment is freed later, when a plan is added or evicted. The driver
 * may wait for the device to unload code.
 *
 * NULL:    context: does nothing.
 * Threads: any; others may be multiplying.
 */
TJ_API void tj_context_trim(tj_context *context, int64_t plans, int64_t bytes);

/** Get the counts. If stats was not initialised, the call only logs an error. NULL: neither may be NULL. Threads: any. */
TJ_API void tj_context_get_stats(tj_context *context, tj_context_stats *stats);

/**
 * Return the name of pack number index, in the order of the search: its path, or "pack in memory". If quick first calls are
 * enabled and their pack exists, it is the last one. Returns NULL past the last one. Owned: borrowed from context. Threads:
 * any.
 */
TJ_API const char *tj_context_pack_name(const tj_context *context, size_t index);

/** Return the number of pack_hits of pack number index; 0 past the last one. Threads: any. */
TJ_API uint64_t tj_context_pack_hits(const tj_context *context, size_t index);

#ifdef __cplusplus
}
#endif
#endif
