/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver: the objects behind the handles of the CUDA Driver API.
 *
 * A handle is a number that is never given out twice and that no pointer can be, so handles that are garbage, of another kind
 * or of something destroyed are recognised. Everything here is guarded by one lock, which is not held while a kernel runs,
 * memory is copied or a callback is called. Functions are called with the lock held unless they say otherwise.
 */
#ifndef EMU_DRIVER_H
#define EMU_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_abi.h"
#include "cuda_emulator.h"
#include "device_table.h"
#include "functions.h"
#include "ptx.h"

enum { EMU_MAX_DEVICES = 16 };

typedef enum emu_object_kind {
    O_NONE,
    O_CONTEXT,
    O_MODULE,
    O_FUNCTION,
    O_LIBRARY,
    O_KERNEL,
    O_STREAM,
    O_EVENT,
    O_GRAPH,
    O_NODE,
    O_EXECUTABLE,
    O_POOL,
    O_LINK
} emu_object_kind;

/** What every object begins with. */
typedef struct emu_object {
    emu_object_kind kind;
    void *handle;
} emu_object;

typedef struct emu_context {
    emu_object object;
    uint64_t id; /* owner of its memory; never repeats */
    int ordinal;
    const emu_device *device;
    unsigned flags;
    bool is_primary;
    unsigned uses;   /* of cuCtxCreate and cuCtxAttach */
    CUresult sticky; /* what every call returns since a kernel failed */
    struct emu_stream *legacy;
    size_t blocking_at_work; /* streams that the legacy one waits for, and that run work just now */
    size_t limit[8];
} emu_context;

/** A module in a context. It outlives its handle while a launch uses it. */
typedef struct emu_loaded {
    emu_object object;
    emu_context *context;
    emu_module *ptx;
    struct emu_kernel_function **function; /* one for each of ptx->function, made when asked for */
    struct emu_library *library;           /* or NULL */
    unsigned users;
    bool is_unloaded;
} emu_loaded;

/** Attributes that a program can set. */
typedef struct emu_function_settings {
    int max_dynamic, carveout;
    bool allows_large_clusters;
} emu_function_settings;

/** What a program has set for its next cuLaunch. */
typedef struct emu_legacy {
    uint32_t block[3], shared_bytes, parameter_bytes;
    uint8_t parameters[];
} emu_legacy;

typedef struct emu_kernel_function {
    emu_object object;
    emu_loaded *module;
    const emu_function *function;
    char *name;
    emu_function_settings settings;
    emu_legacy *legacy; /* or NULL */
} emu_kernel_function;

typedef struct emu_kernel {
    emu_object object;
    struct emu_library *library;
    const emu_function *function; /* of the library's own copy */
    char *name;
    emu_function_settings settings[EMU_MAX_DEVICES];
} emu_kernel;

typedef struct emu_library {
    emu_object object;
    void *image;
    size_t image_bytes;
    emu_module *ptx;     /* for the first device that the image fits */
    emu_kernel **kernel; /* one for each of ptx->function */
} emu_library;

/** Memory that a graph allocates. Here it exists as long as any graph that has it, and keeps its address; is_freed: by a node. */
typedef struct emu_graph_memory {
    CUdeviceptr address;
    size_t users; /* works */
    bool is_freed;
} emu_graph_memory;

/** Something a stream does: now, or when a graph is launched. */
typedef struct emu_work {
    enum { W_KERNEL, W_COPY, W_FILL, W_HOST, W_ALLOCATE, W_FREE } kind;
    CUfunction function;
    uint32_t grid[3], block[3], shared_bytes;
    uint32_t cluster[3]; /* 0: as the kernel says */
    bool is_cooperative;
    bool starts_early; /* beside the work ahead, if that is a kernel */
    uint8_t *parameters;
    size_t parameter_bytes;
    uint64_t to, from;                          /* device or host addresses */
    bool to_is_device, from_is_device;          /* must be memory that the device reaches */
    size_t to_pitch, from_pitch, width, height; /* width in bytes */
    uint32_t value, unit;                       /* of a fill: unit bytes */
    CUhostFn call;
    void *data;
    emu_graph_memory *memory; /* of W_ALLOCATE and W_FREE, which only graphs have */
} emu_work;

typedef struct emu_node {
    emu_object object;
    struct emu_graph *graph;
    emu_work work;
    struct emu_node **after; /* the nodes it depends on */
    size_t afters;
    bool has_dependents;
} emu_node;

typedef struct emu_graph {
    emu_object object;
    emu_node **node;
    size_t nodes;
} emu_graph;

typedef struct emu_executable {
    emu_object object;
    emu_work *work;
    size_t works;
    uint64_t flags;
    unsigned users;
    bool is_destroyed;
} emu_executable;

typedef struct emu_capture {
    uint64_t id, thread;
    int mode;
    bool is_invalid;
    emu_context *context;
    struct emu_stream *origin;
    emu_graph *graph;
    struct emu_capture *next;
} emu_capture;

/** The nodes that work comes after. */
typedef struct emu_frontier {
    emu_node **node;
    size_t nodes;
} emu_frontier;

typedef struct emu_stream {
    emu_object object;
    emu_context *context;
    uint64_t id, thread; /* thread: whose default stream it is, or 0 */
    unsigned flags;
    int priority;
    bool is_legacy, is_at_work;
    emu_capture *capture;
    emu_frontier frontier;
    CUgraphNode *told;       /* what cuStreamGetCaptureInfo handed out last */
    struct emu_stream *next; /* of the threads' default streams */
} emu_stream;

typedef struct emu_event {
    emu_object object;
    emu_context *context;
    unsigned flags;
    bool is_recorded;
    uint64_t time;    /* nanoseconds of the device's clock */
    uint64_t capture; /* id of the capture it was recorded in, or 0 */
    emu_frontier frontier;
} emu_event;

/* ---- core.c: handles, threads, contexts in use ---- */

/** Lock, and the calling thread's context. On an error nothing is locked. A context that has failed answers its error. */
CUresult emu_enter(emu_context **context);

/** The same, and a failed context is as good as any other. */
CUresult emu_enter_failed(emu_context **context);

/** Is there a context, and one that has not failed? Locks nothing. */
CUresult emu_check_context(void);

/** Lock, for what needs no context: an error before cuInit. */
CUresult emu_enter_driver(void);

/** Lock in any state. */
void emu_lock(void);
void emu_unlock(void);

/** Unlock, and the result. */
CUresult emu_leave(CUresult result);

/** Until some work in a stream has ended: called locked, unlocked while it waits. Objects may be gone afterwards. */
void emu_await_work(void);

/** Work has ended. Locked. */
void emu_tell_work(void);

/** Give an object a handle; false: out of memory. */
bool emu_handle_new(emu_object *object, emu_object_kind kind);
void *emu_handle_get(emu_object_kind kind, const void *handle);
void emu_handle_drop(emu_object *object);

/** Lock, and the object of a handle. NULL: nothing is locked, and *result says why. Modules and links need a current context. */
void *emu_enter_object(emu_object_kind kind, const void *handle, CUresult *result);

/** The same to ask something; answer NULL is CUDA_ERROR_INVALID_VALUE. */
void *emu_ask_object(emu_object_kind kind, const void *handle, const void *answer, CUresult *result);

/** Number of the next object of any kind at or after *position, which is moved behind it; NULL: no more. */
emu_object *emu_handle_next(size_t *position, emu_object_kind kind);

/** The calling thread, from 1, never repeated. Needs no lock. */
uint64_t emu_thread(void);

/** The calling thread's capture mode. */
int *emu_thread_mode(void);

CUcontext emu_top_context(void);
bool emu_push_context(CUcontext context);
CUcontext emu_pop_context(void);
void emu_replace_context(CUcontext context);

/** A line on stderr unless that is switched off. Needs no lock. */
__attribute__((format(printf, 1, 2))) void emu_driver_log(const char *format, ...);

/** Devices chosen by cuInit. */
int emu_device_count(void);
const emu_device *emu_device_at(int ordinal);

/** Number of something that must never repeat. */
uint64_t emu_next_id(void);

/** The modelled clock of a device, in nanoseconds. Needs no lock. */
uint64_t emu_clock(int ordinal);
void emu_advance_clock(int ordinal, uint64_t nanoseconds);

/** Forget that kernels failed. */
void emu_forget_failures(void);

/* ---- text.c; needs no lock ---- */

/** What a text of PTX says of itself. */
typedef struct emu_header {
    int version, target; /* 90 for 9.0; 0: not said */
    char suffix;         /* of sm_90a, sm_100f; or 0 */
} emu_header;

emu_header emu_read_header(const char *text);
bool emu_is_runnable(const emu_header *head, const emu_device *device);

/** How well a text fits a device: the more the better; below 0: not at all. */
int emu_image_rank(const emu_device *device, const char *text);

/* ---- image.c; needs no lock ---- */

/** Where messages of a load go: the buffers that a program's options name. All NULL: nowhere. */
typedef struct emu_jit_log {
    char *buffer;
    size_t bytes;
    void **filled; /* the option's value, which answers how much was written */
    void **info_filled;
    char *info;
    size_t info_bytes;
} emu_jit_log;

emu_jit_log emu_jit_options(unsigned options, const int *option, void **value);

/** A message for stderr and the log of a load; an empty one is for the log only. */
__attribute__((format(printf, 2, 3))) void emu_jit_tell(const emu_jit_log *log, const char *format, ...);

/** An image is PTX, or a fat binary that holds some. bytes of it, SIZE_MAX: as many as it says or up to its NUL. */

/** Decode an image for a device; NULL: for any of those there are. */
CUresult emu_image_decode(const emu_device *device, const void *image, size_t bytes, const emu_jit_log *log, emu_module **ptx);

/** The PTX of an image for a device, or for any; the caller frees it. */
CUresult emu_image_text(const emu_device *device, const void *image, size_t bytes, const emu_jit_log *log, char **text);

/** A copy of an image, and how long it is; NULL: out of memory. */
void *emu_image_copy(const void *image, size_t *bytes);

/* ---- file.c; needs no lock ---- */

/**
 * The content of a regular file, or of a pipe that somebody writes; the caller frees it. NULL: *result, and stderr says why. A pipe
 * that nobody writes within a second is refused, so no call waits for ever.
 */
void *emu_file_read(const char *path, size_t *bytes, CUresult *result);

/* ---- fatbin.c; needs no lock ---- */

bool emu_is_fatbin(const void *image, size_t bytes);

/** The container of a fat binary, and its length; NULL: damaged. */
const void *emu_fatbin_container(const void *image, size_t *bytes);

/** The best PTX for a device in a fat binary, which the caller frees, or a message. */
CUresult emu_fatbin_text(const emu_device *device, const void *image, size_t bytes, char **text, char *message,
                         size_t message_bytes);

/* ---- module.c; locked ---- */

/** A decoded text as a module of a context, its variables with their memory and first values. On failure ptx is freed. */
CUresult emu_module_add(emu_context *context, emu_module *ptx, emu_loaded **module);

/** Take a module out of use; it is freed once no launch needs it. */
void emu_module_unload(emu_loaded *module);

/** Take all modules of a context out of use. Their memory is that of the context. */
void emu_unload_all(emu_context *context);

/** A launch is done with a module. */
void emu_module_release(emu_loaded *module);

/** The function object of ptx->function[index]; NULL: out of memory. */
emu_kernel_function *emu_module_function(emu_loaded *module, size_t index);

/** How many kernels there are. */
unsigned emu_module_entries(const emu_module *ptx);

/** What a program has not set yet. */
emu_function_settings emu_settings_of(const emu_function *function);

/** The most threads of a block that a function accepts. */
int emu_function_threads(const emu_function *function);

/** CUDA_ERROR_NOT_SUPPORTED, and a line that says why, for a function that the emulator cannot run. Needs no lock. */
CUresult emu_function_allowed(const emu_function *function);

/** Where a variable lies; address and bytes may be NULL. */
CUresult emu_module_global(const emu_module *ptx, const char *name, CUdeviceptr *address, size_t *bytes);

/* ---- library.c ---- */

/** The function of a CUfunction, or of a CUkernel in a context: 0, or why not. Locked. */
CUresult emu_function_get(emu_context *context, CUfunction handle, emu_kernel_function **function);

/* ---- stream.c; locked ---- */

/** The stream of a handle, those without an object included; 0, or why not. Any context's streams. */
CUresult emu_stream_get(emu_context *context, CUstream handle, emu_stream **stream);

/** The same, of the calling thread's context. Called unlocked; locked on success. */
CUresult emu_stream_enter(CUstream handle, emu_stream **stream);

/**
 * A stream's turn: until emu_stream_end_work nothing else is done in it. One that is captured takes none. Unlocked while it waits; by
 * then *stream may be another object, be captured, or be gone.
 */
CUresult emu_stream_begin_work(CUstream handle, emu_stream **stream);

/** Of a stream that may have been destroyed meanwhile, like its context. */
void emu_stream_end_work(CUcontext context, CUstream handle);

/**
 * Do work in a stream of the context, or record it if the stream is being captured. Returns unlocked. The work is the caller's and is
 * copied if it is recorded.
 */
CUresult emu_submit(emu_context *context, CUstream stream, const emu_work *work);

/** Destroy streams and captures of a context. */
void emu_streams_close(emu_context *context);

/* ---- event.c; locked ---- */

void emu_events_close(emu_context *context);

/* ---- recording.c; locked ---- */

/**
 * Check that a call that might wait for a device is allowed beside captures: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED if not,
 * and the captures are invalid.
 */
CUresult emu_allow_unsafe(void);

/** The same for a call that is ordered with the legacy stream. */
CUresult emu_allow_legacy(emu_context *context);

/** The same for one that waits for all of a context. */
CUresult emu_captures_break(const emu_context *context);

/** Does a stream that waits for the legacy one take part in a valid capture of the context? Such captures may be made invalid. */
bool emu_is_legacy_blocked(const emu_context *context, bool invalidates);

/** false: out of memory. */
bool emu_capture_begin(emu_stream *stream, int mode);

/** NULL: it has ended. */
emu_capture *emu_capture_find(uint64_t id);

/** Take all streams out of a capture, and forget it. Its graph is the caller's. */
void emu_capture_end(emu_capture *capture);

/** Record work in the capture of a stream. */
CUresult emu_capture_record(emu_stream *stream, const emu_work *work);

/** Wait for an event of a capture: the stream joins it, or the capture gets one more dependency. */
CUresult emu_capture_join(emu_stream *stream, const emu_event *event);

/** The memory at an address that the graph of this capture allocates, and does not free again; NULL if there is none. */
emu_graph_memory *emu_capture_memory(const emu_capture *capture, CUdeviceptr address);

bool emu_graph_is_captured(const emu_graph *graph);

/* ---- nodes.c; locked ---- */

void emu_frontier_clear(emu_frontier *frontier);
bool emu_frontier_has(const emu_frontier *frontier, const emu_node *node);

/** Add the nodes of another, and room for one more; false: out of memory. */
bool emu_frontier_add(emu_frontier *frontier, const emu_frontier *other);

/** NULL: out of memory. */
emu_graph *emu_graph_new(void);
void emu_graph_free(emu_graph *graph);

/** A copy of work, with its parameters. false: out of memory; drop it all the same. */
bool emu_work_copy(emu_work *to, const emu_work *from);
void emu_work_drop(emu_work *work);

/** Add a node behind others; NULL: out of memory. The work is copied. */
emu_node *emu_graph_add(emu_graph *graph, const emu_work *work, emu_node *const *after, size_t afters);

/** Give one use of a graph's memory back; the last one frees it. NULL: accepted. */
void emu_graph_memory_drop(emu_graph_memory *memory);

/* ---- work.c ---- */

/** The function that a launch names, if the launch is within its limits and the device's. Locked. */
CUresult emu_find_kernel(emu_context *context, const emu_work *work, emu_kernel_function **function);

/* ---- cluster.c, function.c; locked ---- */

/** Check the clusters of a launch, and that the device holds all blocks of a cooperative one. */
CUresult emu_check_cluster(const emu_kernel_function *f, const emu_work *work);

/** Blocks that a processor holds at a time. */
int emu_blocks_at_once(const emu_kernel_function *function, int block_size, size_t dynamic_bytes);

/** Do work now. Not locked. is_trial: only look whether it could be done. */
CUresult emu_work_do(CUcontext context, const emu_work *work, bool is_trial);

/* ---- memory.c ---- */

/** Memory of a device for a program. Not locked. */
CUresult emu_device_allocate(int ordinal, uint64_t owner, uint64_t bytes, CUdeviceptr *address);

/* ---- move.c ---- */

/** Copy or fill. Not locked. */
CUresult emu_move(int ordinal, const emu_work *work, bool is_trial);

/* ---- not_supported.c ---- */

/** A function without an implementation, for cuGetProcAddress. *is_known: the name is one, in some version. */
void *emu_not_supported_find(const char *name, int version, int *found_version, bool *is_known);

/** Stream 0 as the calling thread's own. */
static inline CUstream emu_own_stream(CUstream stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

/** The same for the stream of a launch; *own is room for it. */
static inline const CUlaunchConfig *emu_own_config(const CUlaunchConfig *config, CUlaunchConfig *own)
{
    if (!config)
        return NULL;
    *own = *config;
    own->stream = emu_own_stream(config->stream);
    return own;
}

#endif
