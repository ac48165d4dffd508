/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver: the objects that the handles of the CUDA Driver API name.
 *
 * A handle is a number that is never issued twice and is never a valid pointer, so a handle that is garbage, of another kind or
 * of a destroyed object is recognised. One lock guards everything here; it is not held while a kernel runs, memory is copied or
 * a callback is called. Call functions with the lock held unless their comment says otherwise.
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
    O_LINK,
    O_USER_OBJECT
} emu_object_kind;

/** The common beginning of all objects. */
typedef struct emu_object {
    emu_object_kind kind;
    void *handle;
} emu_object;

typedef struct emu_context {
    emu_object object;
    uint64_t id; /* owner id of its memory; never reused */
    int ordinal;
    const emu_device *device;
    unsigned flags;
    bool is_primary;
    unsigned uses;   /* of cuCtxCreate and cuCtxAttach */
    CUresult sticky; /* result of every call after a kernel failed */
    struct emu_stream *legacy;
    size_t blocking_at_work; /* running streams that the legacy stream waits for */
    size_t limit[8];
} emu_context;

/** A module in a context. It outlives its handle while a launch uses it. */
typedef struct emu_loaded {
    emu_object object;
    emu_context *context;
    emu_module *ptx;
    struct emu_kernel_function **function; /* one for each of ptx->function, made on demand */
    struct emu_library *library;           /* or NULL */
    unsigned users;
    bool is_unloaded;
} emu_loaded;

/** Attributes that a program can set. */
typedef struct emu_function_settings {
    int max_dynamic, carveout;
    bool allows_large_clusters;
} emu_function_settings;

/** The attributes that a program has set for its next cuLaunch. */
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
    const emu_function *function; /* in the library's own copy */
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

/**
 * Memory that a graph allocates. In the emulator it lives, at a fixed address, as long as any graph refers to it. is_freed: a
 * node frees it.
 */
typedef struct emu_graph_memory {
    CUdeviceptr address;
    size_t users; /* works */
    bool is_freed;
} emu_graph_memory;

/** An operation of a stream, done now or when a graph is launched. */
typedef struct emu_work {
    enum { W_KERNEL, W_COPY, W_FILL, W_HOST, W_ALLOCATE, W_FREE } kind;
    CUfunction function;
    uint32_t grid[3], block[3], shared_bytes;
    uint32_t cluster[3]; /* 0: the kernel's own */
    bool is_cooperative;
    bool starts_early; /* may overlap the preceding work, if that is a kernel */
    uint8_t *parameters;
    size_t parameter_bytes;
    uint64_t to, from;                          /* device or host addresses */
    bool to_is_device, from_is_device;          /* must be memory that the device reaches */
    size_t to_pitch, from_pitch, width, height; /* width in bytes */
    uint32_t value, unit;                       /* for fills: value of unit bytes */
    CUhostFn call;
    void *data;
    emu_graph_memory *memory; /* for W_ALLOCATE and W_FREE, which only graphs have */
} emu_work;

typedef struct emu_node {
    emu_object object;
    struct emu_graph *graph;
    emu_work work;
    struct emu_node **after; /* the nodes it depends on */
    size_t afters;
    bool has_dependents;
} emu_node;

/** A call of a function of the program's, which must not call the driver. */
typedef struct emu_callback {
    CUhostFn function;
    void *data;
    struct emu_callback *next;
} emu_callback;

typedef struct emu_user_object {
    emu_object object;
    size_t references; /* of the program and of graphs */
    emu_callback *destructor;
} emu_user_object;

/** The references of a graph, or of an executable, to user objects. */
typedef struct emu_hold {
    emu_user_object *object;
    size_t references;
} emu_hold;

typedef struct emu_holds {
    emu_hold *hold;
    size_t count;
} emu_holds;

typedef struct emu_graph {
    emu_object object;
    emu_node **node;
    size_t nodes;
    emu_holds holds;
} emu_graph;

typedef struct emu_executable {
    emu_object object;
    emu_work *work;
    size_t works;
    emu_holds holds;
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

/** The nodes that new work depends on. */
typedef struct emu_frontier {
    emu_node **node;
    size_t nodes;
} emu_frontier;

typedef struct emu_stream {
    emu_object object;
    emu_context *context;
    uint64_t id, thread; /* thread: owner of this default stream, or 0 */
    unsigned flags;
    int priority;
    bool is_legacy, is_at_work;
    emu_capture *capture;
    emu_frontier frontier;
    CUgraphNode *told;       /* last answer of cuStreamGetCaptureInfo */
    struct emu_stream *next; /* list of the threads' default streams */
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

/**
 * Lock, and return the calling thread's context. On an error nothing is locked. A context that has failed returns its error.
 */
CUresult emu_enter(emu_context **context);

/** Like emu_enter, but accept a context that has failed. */
CUresult emu_enter_failed(emu_context **context);

/** Check that there is a current context and that it has not failed. Locks nothing. */
CUresult emu_check_context(void);

/** Lock for a call that needs no context; an error before cuInit. */
CUresult emu_enter_driver(void);

/** Lock in any state. */
void emu_lock(void);
void emu_unlock(void);

/** Unlock, and return the result. */
CUresult emu_leave(CUresult result);

/** Have a function called, on this thread, as soon as the lock is open. The call, from malloc, is freed afterwards. */
void emu_call_unlocked(emu_callback *call);

/** Wait until some work in a stream has ended. Call locked; unlocked while it waits, so objects may be gone afterwards. */
void emu_await_work(void);

/** Wake those who wait in emu_await_work. Locked. */
void emu_tell_work(void);

/** Give an object a handle; false: out of memory. */
bool emu_handle_new(emu_object *object, emu_object_kind kind);
void *emu_handle_get(emu_object_kind kind, const void *handle);
void emu_handle_drop(emu_object *object);

/**
 * Lock, and return the object of a handle. NULL: nothing is locked, and *result says why. Modules and links need a current
 * context.
 */
void *emu_enter_object(emu_object_kind kind, const void *handle, CUresult *result);

/** Like emu_enter_object, for a query; a NULL answer is CUDA_ERROR_INVALID_VALUE. */
void *emu_ask_object(emu_object_kind kind, const void *handle, const void *answer, CUresult *result);

/** Return the next object of a kind at or after *position, and move *position past it; NULL: no more. */
emu_object *emu_handle_next(size_t *position, emu_object_kind kind);

/** Return the number of the calling thread, from 1, never reused. Needs no lock. */
uint64_t emu_thread(void);

/** Return the calling thread's capture mode. */
int *emu_thread_mode(void);

CUcontext emu_top_context(void);
bool emu_push_context(CUcontext context);
CUcontext emu_pop_context(void);
void emu_replace_context(CUcontext context);

/** Print a line to stderr unless the log is off. Needs no lock. */
__attribute__((format(printf, 1, 2))) void emu_driver_log(const char *format, ...);

/** Return the number of devices that cuInit chose. */
int emu_device_count(void);
const emu_device *emu_device_at(int ordinal);

/** Return a number that is never returned again. */
uint64_t emu_next_id(void);

/** Return the modelled clock of a device in nanoseconds. Needs no lock. */
uint64_t emu_clock(int ordinal);
void emu_advance_clock(int ordinal, uint64_t nanoseconds);

/** Clear the errors of contexts in which kernels failed. */
void emu_forget_failures(void);

/* ---- text.c; needs no lock ---- */

/** The header of a PTX text: its .version and .target. */
typedef struct emu_header {
    int version, target; /* 90 for 9.0; 0: missing */
    char suffix;         /* 'a' of sm_90a, 'f' of sm_100f; or 0 */
} emu_header;

emu_header emu_read_header(const char *text);
bool emu_is_runnable(const emu_header *head, const emu_device *device);

/** Rank how well a text fits a device: higher is better; below 0: does not fit. */
int emu_image_rank(const emu_device *device, const char *text);

/* ---- image.c; needs no lock ---- */

/** The buffers that a program's options name for messages of a load. All NULL: none. */
typedef struct emu_jit_log {
    char *buffer;
    size_t bytes;
    void **filled; /* the option's value, which receives the bytes written */
    void **info_filled;
    char *info;
    size_t info_bytes;
} emu_jit_log;

emu_jit_log emu_jit_options(unsigned options, const int *option, void **value);

/** Print a message to stderr and to the log of a load; an empty format writes to the log only. */
__attribute__((format(printf, 2, 3))) void emu_jit_tell(const emu_jit_log *log, const char *format, ...);

/** An image is PTX, or a fat binary with PTX. bytes: its size; SIZE_MAX: as its header says, or up to its NUL. */

/** Decode an image for a device; NULL: for any of those there are. */
CUresult emu_image_decode(const emu_device *device, const void *image, size_t bytes, const emu_jit_log *log, emu_module **ptx);

/** Return the PTX of an image for a device, or for any; the caller frees it. */
CUresult emu_image_text(const emu_device *device, const void *image, size_t bytes, const emu_jit_log *log, char **text);

/** Copy an image and return its size; NULL: out of memory. */
void *emu_image_copy(const void *image, size_t *bytes);

/* ---- file.c; needs no lock ---- */

/**
 * Return the content of a regular file, or of a pipe that has a writer; the caller frees it. NULL: *result and stderr say why.
 * A pipe without a writer is refused after one second, so no call waits forever.
 */
void *emu_file_read(const char *path, size_t *bytes, CUresult *result);

/* ---- fatbin.c; needs no lock ---- */

bool emu_is_fatbin(const void *image, size_t bytes);

/** Return the container of a fat binary, and its size; NULL: damaged. */
const void *emu_fatbin_container(const void *image, size_t *bytes);

/** Return the best PTX for a device in a fat binary, which the caller frees, or write a message. */
CUresult emu_fatbin_text(const emu_device *device, const void *image, size_t bytes, char **text, char *message,
                         size_t message_bytes);

/* ---- module.c; locked ---- */

/** Add a decoded text to a context as a module; allocate and initialise its variables. On failure ptx is freed. */
CUresult emu_module_add(emu_context *context, emu_module *ptx, emu_loaded **module);

/** Unload a module; it is freed once no launch needs it. */
void emu_module_unload(emu_loaded *module);

/** Unload all modules of a context. Their memory belongs to the context. */
void emu_unload_all(emu_context *context);

/** Release a module after a launch. */
void emu_module_release(emu_loaded *module);

/** Return the function object of ptx->function[index]; NULL: out of memory. */
emu_kernel_function *emu_module_function(emu_loaded *module, size_t index);

/** Return the number of kernels. */
unsigned emu_module_entries(const emu_module *ptx);

/** Return the default settings of a function. */
emu_function_settings emu_settings_of(const emu_function *function);

/** Return the maximum number of threads per block for a function. */
int emu_function_threads(const emu_function *function);

/** Return CUDA_ERROR_NOT_SUPPORTED, and log the reason, for a function that the emulator cannot run. Needs no lock. */
CUresult emu_function_allowed(const emu_function *function);

/** Find a variable; address and bytes may be NULL. */
CUresult emu_module_global(const emu_module *ptx, const char *name, CUdeviceptr *address, size_t *bytes);

/* ---- library.c ---- */

/** Find the function of a CUfunction, or of a CUkernel in a context: 0, or an error. Locked. */
CUresult emu_function_get(emu_context *context, CUfunction handle, emu_kernel_function **function);

/* ---- stream.c; locked ---- */

/** Find the stream of a handle, default streams included, in any context: 0, or an error. */
CUresult emu_stream_get(emu_context *context, CUstream handle, emu_stream **stream);

/** Like emu_stream_get, in the calling thread's context. Call unlocked; locked on success. */
CUresult emu_stream_enter(CUstream handle, emu_stream **stream);

/**
 * Take the stream's turn: until emu_stream_end_work no other thread's work runs in it. A stream under capture takes none.
 * Unlocked while it waits; on return *stream may be another object, be under capture, or be gone.
 */
CUresult emu_stream_begin_work(CUstream handle, emu_stream **stream);

/** End a turn. The stream, or its context, may have been destroyed meanwhile. */
void emu_stream_end_work(CUcontext context, CUstream handle);

/**
 * Do work in a stream of the context, or record it if the stream is under capture. Returns unlocked. The caller keeps the work;
 * recording copies it.
 */
CUresult emu_submit(emu_context *context, CUstream stream, const emu_work *work);

/** Destroy streams and captures of a context. */
void emu_streams_close(emu_context *context);

/* ---- event.c; locked ---- */

void emu_events_close(emu_context *context);

/* ---- recording.c; locked ---- */

/**
 * Check that a call that might wait for a device is allowed during captures. If not, return
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and invalidate the captures.
 */
CUresult emu_allow_unsafe(void);

/** Like emu_allow_unsafe, for a call that is ordered with the legacy stream. */
CUresult emu_allow_legacy(emu_context *context);

/** Like emu_allow_unsafe, for a call that waits for all work of a context. */
CUresult emu_captures_break(const emu_context *context);

/**
 * Is a stream that waits for the legacy stream part of a valid capture of the context? invalidates: invalidate such captures.
 */
bool emu_is_legacy_blocked(const emu_context *context, bool invalidates);

/** Begin a capture; false: out of memory. */
bool emu_capture_begin(emu_stream *stream, int mode);

/** Find a capture by id; NULL: it has ended. */
emu_capture *emu_capture_find(uint64_t id);

/** Remove all streams from a capture and free it. The caller owns its graph. */
void emu_capture_end(emu_capture *capture);

/** Record work in the capture of a stream. */
CUresult emu_capture_record(emu_stream *stream, const emu_work *work);

/** Wait for an event of a capture: the stream joins the capture, or gets one more dependency. */
CUresult emu_capture_join(emu_stream *stream, const emu_event *event);

/** Find the memory at an address that this capture's graph allocates and does not free; NULL: none. */
emu_graph_memory *emu_capture_memory(const emu_capture *capture, CUdeviceptr address);

bool emu_graph_is_captured(const emu_graph *graph);

/* ---- nodes.c; locked ---- */

void emu_frontier_clear(emu_frontier *frontier);
bool emu_frontier_has(const emu_frontier *frontier, const emu_node *node);

/** Add the nodes of `other`, and reserve room for one more; false: out of memory. */
bool emu_frontier_add(emu_frontier *frontier, const emu_frontier *other);

/** Make an empty graph; NULL: out of memory. */
emu_graph *emu_graph_new(void);
void emu_graph_free(emu_graph *graph);

/** Copy work and its parameters. false: out of memory; drop the copy all the same. */
bool emu_work_copy(emu_work *to, const emu_work *from);
void emu_work_drop(emu_work *work);

/** Add a node that depends on others; NULL: out of memory. The work is copied. */
emu_node *emu_graph_add(emu_graph *graph, const emu_work *work, emu_node *const *after, size_t afters);

/** Drop one use of a graph's memory; the last one frees it. NULL: accepted. */
void emu_graph_memory_drop(emu_graph_memory *memory);

/* ---- user_object.c; locked ---- */

/** Add one reference to each object that `from` refers to; false: out of memory, drop the copy all the same. */
bool emu_holds_copy(emu_holds *to, const emu_holds *from);

/** Drop the references. */
void emu_holds_drop(emu_holds *holds);

/* ---- work.c ---- */

/** Find the function that a launch names, and check the limits of both it and the device. Locked. */
CUresult emu_find_kernel(emu_context *context, const emu_work *work, emu_kernel_function **function);

/* ---- cluster.c, function.c; locked ---- */

/** Check the clusters of a launch, and that the device holds all blocks of a cooperative launch. */
CUresult emu_check_cluster(const emu_kernel_function *f, const emu_work *work);

/** Return the number of blocks that fit on a processor at a time. */
int emu_blocks_at_once(const emu_kernel_function *function, int block_size, size_t dynamic_bytes);

/** Do work now. Not locked. is_trial: only check whether it could be done. */
CUresult emu_work_do(CUcontext context, const emu_work *work, bool is_trial);

/* ---- memory.c ---- */

/** Allocate device memory for a program. Not locked. */
CUresult emu_device_allocate(int ordinal, uint64_t owner, uint64_t bytes, CUdeviceptr *address);

/* ---- move.c ---- */

/** Copy or fill. Not locked. */
CUresult emu_move(int ordinal, const emu_work *work, bool is_trial);

/* ---- not_supported.c ---- */

/** Find a function without an implementation, for cuGetProcAddress. *is_known: the name exists in some version. */
void *emu_not_supported_find(const char *name, int version, int *found_version, bool *is_known);

/** Map stream 0 to the calling thread's own default stream. */
static inline CUstream emu_own_stream(CUstream stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

/** Like emu_own_stream, for the stream of a launch; *own holds the copy. */
static inline const CUlaunchConfig *emu_own_config(const CUlaunchConfig *config, CUlaunchConfig *own)
{
    if (!config)
        return NULL;
    *own = *config;
    own->stream = emu_own_stream(config->stream);
    return own;
}

#endif
