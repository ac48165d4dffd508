/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver: open a driver library, once per path and process, and explain its results.
 *
 * The list of opened drivers is the one piece of global state here: the dynamic loader and cuInit are global too. A child
 * of fork cannot use its parent's driver (CUDA leaves that undefined), so a fork marks every opened one.
 */
#include "driver.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ending.h"
#include "error.h"
#include "fs.h"
#include "log.h"

static const char DEFAULT_DRIVER[] = "libcuda.so.1";

/* The loss of a driver. The first error explains it; later errors only follow from it. */
struct tj_driver_story {
    pthread_mutex_t lock;
    char message[TJ_ERROR_MESSAGE_BYTES];
};

struct opened {
    tj_driver driver;
    atomic_int life;
    struct tj_driver_story story;
    char *key; /* path as requested */
    struct opened *next;
};

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct opened *) drivers;
static pthread_once_t watch_forks = PTHREAD_ONCE_INIT;

/* ---- results ------------------------------------------------------------------------------------------------------ */

/* Statuses, by names short enough for the table. */
enum meaning {
    PLAIN = TJ_ERR_DRIVER,
    NO_DRIVER = TJ_ERR_NO_DRIVER,
    NO_MEMORY = TJ_ERR_DEVICE_MEMORY,
    NO_IMAGE = TJ_ERR_UNSUPPORTED,
    CAPTURE = TJ_ERR_CAPTURE,
    LOST = TJ_ERR_DEVICE_LOST
};

struct result {
    CUresult number;
    enum meaning meaning;
    const char *name, *text, *remedy; /* remedy NULL: none beyond the text */
};

static const char RESTART[] = "the device does not recover from this: restart the process";
static const char NO_CAPTURE[] = "make plans ready with tj_plan_prepare before the capture begins";

static const struct result results[] = {
    {1, PLAIN, "CUDA_ERROR_INVALID_VALUE", "invalid argument", NULL},
    {2, NO_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory", "free device memory, or use another device"},
    {3, PLAIN, "CUDA_ERROR_NOT_INITIALIZED", "the driver is not initialised in this process",
     "a child of fork cannot use CUDA: start it with exec"},
    {4, PLAIN, "CUDA_ERROR_DEINITIALIZED", "the driver is shutting down", "make no call while the process exits"},
    {34, NO_DRIVER, "CUDA_ERROR_STUB_LIBRARY", "this is the toolkit's stub, which is for linking only",
     "take the stubs folder out of LD_LIBRARY_PATH and install the NVIDIA driver"},
    {36, NO_DRIVER, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "the call needs a newer driver", "update the NVIDIA driver"},
    {46, PLAIN, "CUDA_ERROR_DEVICE_UNAVAILABLE", "the device is busy or unavailable",
     "another process may hold it in exclusive mode: see nvidia-smi"},
    {100, NO_DRIVER, "CUDA_ERROR_NO_DEVICE", "no CUDA device",
     "check nvidia-smi and CUDA_VISIBLE_DEVICES, or set TILEJIT_DRIVER=emulator to compute on the CPU"},
    {101, PLAIN, "CUDA_ERROR_INVALID_DEVICE", "no such device", "check CUDA_VISIBLE_DEVICES"},
    {200, NO_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "the driver cannot read this image",
     "an NVRTC of a newer major version than the driver's CUDA makes such images: update the driver or use an older NVRTC"},
    {201, PLAIN, "CUDA_ERROR_INVALID_CONTEXT", "no valid CUDA context",
     "the context may have been destroyed: make it current again, or use another"},
    {205, PLAIN, "CUDA_ERROR_MAP_FAILED", "mapping failed", NULL},
    {209, NO_IMAGE, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the image has no code for this device",
     "compile for the device's own target"},
    {214, LOST, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error", RESTART},
    {218, NO_IMAGE, "CUDA_ERROR_INVALID_PTX", "the driver's compiler refused the PTX", "compile for the device's own target"},
    {220, LOST, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "uncorrectable NVLink error", RESTART},
    {221, PLAIN, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "the driver's PTX compiler library is missing",
     "install libnvidia-ptxjitcompiler, or compile for the device's own target"},
    {222, NO_IMAGE, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX is newer than the driver",
     "update the driver, or use an NVRTC that is not newer than it"},
    {223, PLAIN, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "compiling PTX is switched off in this driver",
     "compile for the device's own target"},
    {226, LOST, "CUDA_ERROR_CONTAINED", "the device contained a fault of its own", RESTART},
    {301, PLAIN, "CUDA_ERROR_FILE_NOT_FOUND", "file not found", NULL},
    {304, PLAIN, "CUDA_ERROR_OPERATING_SYSTEM", "an operating system call failed", NULL},
    {400, PLAIN, "CUDA_ERROR_INVALID_HANDLE", "a stream or handle is not valid here",
     "it may have been destroyed or belong to another CUDA context"},
    {401, PLAIN, "CUDA_ERROR_ILLEGAL_STATE", "an object is in the wrong state", NULL},
    {500, PLAIN, "CUDA_ERROR_NOT_FOUND", "no such name in the image", NULL},
    {600, PLAIN, "CUDA_ERROR_NOT_READY", "work has not completed", NULL},
    {700, LOST, "CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel read or wrote an address that is not its own", RESTART},
    {701, PLAIN, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "a block needs more registers, threads or shared memory than there are",
     "use a config with smaller tiles"},
    {702, LOST, "CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel ran longer than the display's watchdog allows", RESTART},
    {709, PLAIN, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the CUDA context was destroyed or its device reset",
     "use a live context: plans are made anew there"},
    {710, LOST, "CUDA_ERROR_ASSERT", "an assertion failed in a kernel", RESTART},
    {714, LOST, "CUDA_ERROR_HARDWARE_STACK_ERROR", "stack error on the device", RESTART},
    {715, LOST, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "illegal instruction on the device", RESTART},
    {716, LOST, "CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel used a misaligned address", RESTART},
    {717, LOST, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "a kernel used an address of the wrong space", RESTART},
    {718, LOST, "CUDA_ERROR_INVALID_PC", "invalid program counter on the device", RESTART},
    {719, LOST, "CUDA_ERROR_LAUNCH_FAILED", "a kernel failed on the device", RESTART},
    {721, LOST, "CUDA_ERROR_TENSOR_MEMORY_LEAK", "a kernel did not free its tensor memory", RESTART},
    {800, PLAIN, "CUDA_ERROR_NOT_PERMITTED", "not permitted", NULL},
    {801, PLAIN, "CUDA_ERROR_NOT_SUPPORTED", "not supported on this system", NULL},
    {802, NO_DRIVER, "CUDA_ERROR_SYSTEM_NOT_READY", "the system is not ready", "check that nvidia-fabricmanager runs"},
    {803, NO_DRIVER, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "libcuda and the kernel module are of different versions",
     "reboot after a driver update; in a container, use the host's libcuda"},
    {804, NO_DRIVER, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "this device has no forward compatibility",
     "take the compat folder out of LD_LIBRARY_PATH"},
    {805, NO_DRIVER, "CUDA_ERROR_MPS_CONNECTION_FAILED", "cannot connect to the MPS control daemon", "check that it runs"},
    {810, LOST, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "the MPS server ended this client", RESTART},
    {900, CAPTURE, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not allowed while a stream is being captured", NO_CAPTURE},
    {901, CAPTURE, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "the capture was broken by an earlier call", NO_CAPTURE},
    {902, CAPTURE, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "would merge two captures", NULL},
    {903, CAPTURE, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "not the stream on which the capture began", NULL},
    {904, CAPTURE, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "the capture has an unjoined fork", NULL},
    {905, CAPTURE, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "would cross the capture's border", NULL},
    {906, CAPTURE, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the legacy default stream cannot be used during a capture",
     "launch on the captured stream"},
    {907, CAPTURE, "CUDA_ERROR_CAPTURED_EVENT", "the event belongs to a capture", NULL},
    {908, CAPTURE, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "the capture belongs to another thread", NULL},
    {911, LOST, "CUDA_ERROR_EXTERNAL_DEVICE", "another device reported an error", RESTART},
    {999, PLAIN, "CUDA_ERROR_UNKNOWN", "unknown error", NULL},
};

static const struct result *find_result(CUresult number)
{
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (results[i].number == number)
            return &results[i];
    return NULL;
}

/* Return the driver's own text for a result that the table lacks. A driver that is lost or not yet initialised is not asked. */
static const char *ask_driver(const tj_driver *driver, CUresult number, bool for_name)
{
    const char *answer = NULL;

    if (driver && tj_driver_check_alive(driver, NULL) == TJ_OK) {
        CUresult (*ask)(CUresult, const char **) = for_name ? driver->api.get_error_name : driver->api.get_error_string;
        if (ask(number, &answer) != CUDA_SUCCESS)
            answer = NULL;
    }
    if (answer)
        return answer;
    return for_name ? "unknown CUresult" : "no text";
}

const char *tj_driver_result_name(const tj_driver *driver, CUresult number)
{
    const struct result *known = find_result(number);

    if (number == CUDA_SUCCESS)
        return "CUDA_SUCCESS";
    return known ? known->name : ask_driver(driver, number, true);
}

static void mark_lost(const tj_driver *driver, const tj_error *why)
{
    int alive = TJ_DRIVER_ALIVE;

    pthread_mutex_lock(&driver->story->lock);
    if (driver->story->message[0] == '\0')
        memcpy(driver->story->message, why->message, sizeof driver->story->message);
    pthread_mutex_unlock(&driver->story->lock);
    atomic_compare_exchange_strong(driver->life, &alive, TJ_DRIVER_LOST);
}

tj_status tj_driver_report_death(const tj_driver *driver, tj_error *err)
{
    char message[TJ_ERROR_MESSAGE_BYTES];

    if (atomic_load(driver->life) == TJ_DRIVER_FORKED)
        return tj_fail(err, TJ_ERR_FORKED,
                       "this process was forked after the driver %s was opened, and CUDA does not work in such a child: start "
                       "it with exec "
                       "(Python's multiprocessing: the start method \"spawn\"), or fork before the first CUDA call",
                       driver->path);
    pthread_mutex_lock(&driver->story->lock);
    memcpy(message, driver->story->message, sizeof message);
    pthread_mutex_unlock(&driver->story->lock);
    return tj_fail(
        err, TJ_ERR_DEVICE_LOST,
        "the device was lost in an earlier call, and no call of this process can use it any more: restart the process; "
        "the first error was: %s",
        message);
}

/* A GPU reports only that a kernel failed; the emulator knows where and why. */
static void explain_finding(const tj_driver *driver, CUresult number, const char *name, const char *what, tj_error *out)
{
    const size_t count = driver->emulator.finding_count();
    cuEmuFinding found;

    if (count == 0 || !driver->emulator.get_finding(count - 1, &found))
        tj_fail(out, TJ_ERR_DEVICE_LOST, "%s: %s (%d)", what, name, number);
    else
        tj_fail(out, TJ_ERR_DEVICE_LOST, "%s: %s (%d): %.240s; block (%u, %u, %u), thread (%u, %u, %u), CUDA line %u", what,
                name, number, found.text, found.block[0], found.block[1], found.block[2], found.thread[0], found.thread[1],
                found.thread[2], found.cuda_line);
}

tj_status tj_driver_fail(const tj_driver *driver, CUresult number, tj_error *err, const char *format, ...)
{
    const struct result *known = find_result(number);
    const char *name = tj_driver_result_name(driver, number);
    const char *text = known ? known->text : ask_driver(driver, number, false);
    const char *remedy = known ? known->remedy : NULL;
    tj_status status = (tj_status)(known ? known->meaning : PLAIN);
    char what[256];
    va_list arguments;
    size_t length;
    tj_error own;

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (status == TJ_ERR_DEVICE_LOST && driver && driver->is_emulator)
        explain_finding(driver, number, name, what, &own);
    else
        tj_fail(&own, status, "%s: %s (%d): %s", what, name, number, text);
    if (status == TJ_ERR_DEVICE_LOST && driver)
        mark_lost(driver, &own);
    length = strlen(own.message);
    if (remedy)
        (void)snprintf(own.message + length, sizeof own.message - length, "; %s", remedy);
    if (err)
        *err = own;
    return status;
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

/* In the child of a fork: another thread of the parent may have held a lock, and no driver of the parent may be used. */
static void mark_forked(void)
{
    pthread_mutex_init(&opening, NULL);
    for (struct opened *entry = atomic_load(&drivers); entry; entry = entry->next)
        atomic_store(&entry->life, TJ_DRIVER_FORKED);
}

static void watch(void)
{
    pthread_atfork(NULL, NULL, mark_forked);
}

/* How to find functions: by cuGetProcAddress pinned to a version, or by plain symbol in drivers older than 11.3. */
struct lookup {
    void *library;
    CUresult (*by_version)(const char *name, void **function, int version, uint64_t flags, int *status);
    CUresult (*by_version_11)(const char *name, void **function, int version, uint64_t flags);
};

/* dlsym returns an object pointer; POSIX promises that it can be copied into a function pointer. */
static void find_symbol(void *library, const char *symbol, void *function)
{
    void *address = dlsym(library, symbol);
    memcpy(function, &address, sizeof address);
}

static CUresult find_function(const struct lookup *lookup, const char *name, const char *symbol, int version, void *function)
{
    void *address = NULL;
    CUresult result = CUDA_SUCCESS;
    int status = 0;

    if (lookup->by_version)
        result = lookup->by_version(name, &address, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status);
    else if (lookup->by_version_11)
        result = lookup->by_version_11(name, &address, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
    else
        find_symbol(lookup->library, symbol, &address);
    /* A version newer than the driver is an INVALID_VALUE: for us, a function that it lacks. */
    if (result != CUDA_SUCCESS)
        address = NULL;
    memcpy(function, &address, sizeof address);
    return result;
}

static tj_status fill_table(tj_driver *driver, void *library, tj_error *err)
{
    struct lookup lookup = {.library = library};
    const char *missing = NULL;
    bool is_stub = false;

    find_symbol(library, "cuGetProcAddress_v2", &lookup.by_version);
    find_symbol(library, "cuGetProcAddress", &lookup.by_version_11);
#define TJ_FIND(member, name, symbol, version, needed, arguments)                                        \
    if (find_function(&lookup, #name, #symbol, version, &driver->api.member) == CUDA_ERROR_STUB_LIBRARY) \
        is_stub = true;                                                                                  \
    if (needed && !driver->api.member && !missing)                                                       \
        missing = #symbol;
    TJ_DRIVER_FUNCTIONS(TJ_FIND)
#undef TJ_FIND
    if (is_stub)
        return tj_driver_fail(NULL, CUDA_ERROR_STUB_LIBRARY, err, "cannot use the CUDA driver %s", driver->path);
    if (missing)
        return tj_fail(err, TJ_ERR_NO_DRIVER,
                       "cannot use the CUDA driver %s: it has no %s; TileJIT needs a driver of CUDA 11.0 or newer (R450)",
                       driver->path, missing);
    return TJ_OK;
}

static tj_status start(tj_driver *driver, tj_error *err)
{
    CUresult result = driver->api.init(0);

    if (result == CUDA_SUCCESS)
        result = driver->api.driver_get_version(&driver->version);
    if (result == CUDA_SUCCESS)
        return TJ_OK;
    if (result == CUDA_ERROR_NO_DEVICE && driver->is_emulator)
        return tj_fail(err, TJ_ERR_NO_DRIVER,
                       "the emulator has no device, as CUDA_EMULATOR_DEVICES is empty: unset it, or name one such as sm_90");
    /* Whatever the cause, the driver cannot be used; a failed start is not a permanent loss. */
    (void)tj_driver_fail(NULL, result, err, "cannot start the CUDA driver %s", driver->path);
    if (err)
        err->status = TJ_ERR_NO_DRIVER;
    return TJ_ERR_NO_DRIVER;
}

static char *loaded_path(void *library, const char *asked)
{
    struct link_map *map = NULL;

    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name && *map->l_name)
        return strdup(map->l_name);
    return strdup(asked);
}

static void drop(struct opened *entry)
{
    pthread_mutex_destroy(&entry->story.lock);
    free(entry->driver.path);
    free(entry->key);
    free(entry);
}

static tj_status no_emulator(const char *path, const char *why, tj_error *err)
{
    return tj_fail(err, TJ_ERR_NO_DRIVER,
                   "cannot load the emulator %s: %s; set TILEJIT_EMULATOR to the path of libcuda_emulator.so", path, why);
}

static tj_status open_library(const char *asked, bool reads_environment, struct opened **out, tj_error *err)
{
    const bool wants_emulator = tj_emulator_is_asked(asked);
    struct opened *entry = NULL;
    const char *path = asked;
    char found[PATH_MAX];
    tj_status status = TJ_OK;
    void *library;

    if (wants_emulator) {
        status = tj_emulator_find(reads_environment, found, err);
        path = found;
    }
    if (status != TJ_OK)
        return status;
    if (!tj_fs_is_loadable(path))
        return wants_emulator
                   ? no_emulator(path, "it is not a regular file", err)
                   : tj_fail(err, TJ_ERR_NO_DRIVER, "cannot load the CUDA driver %s: it is not a regular file", path);
    /* Never closed, even if it cannot be used: a driver may have started threads. */
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library && wants_emulator)
        return no_emulator(path, dlerror(), err);
    if (!library)
        return tj_fail(err, TJ_ERR_NO_DRIVER,
                       "cannot load the CUDA driver %s: %s; install the NVIDIA driver, set TILEJIT_DRIVER=emulator to "
                       "compute on the CPU, or set it to the path of a driver",
                       path, dlerror());
    entry = calloc(1, sizeof *entry);
    if (!entry)
        return tj_fail_memory(err, "the driver's table");
    pthread_mutex_init(&entry->story.lock, NULL);
    entry->driver.life = &entry->life;
    entry->driver.story = &entry->story;
    entry->key = strdup(asked);
    entry->driver.path = loaded_path(library, path);
    status = entry->key && entry->driver.path ? TJ_OK : tj_fail_memory(err, "the driver's path");
    if (status == TJ_OK)
        status = fill_table(&entry->driver, library, err);
    entry->driver.is_emulator = tj_emulator_fill(library, &entry->driver.emulator);
    if (status == TJ_OK && wants_emulator)
        status = tj_emulator_choose_devices(library, asked, err);
    if (status == TJ_OK)
        status = start(&entry->driver, err);
    if (status != TJ_OK) {
        drop(entry);
        return status;
    }
    *out = entry;
    return TJ_OK;
}

tj_status tj_driver_open(const char *path, bool reads_environment, const tj_log *log, const tj_driver **driver, tj_error *err)
{
    struct opened *entry = NULL;
    tj_status status = TJ_OK;

    *driver = NULL;
    if (!path)
        path = DEFAULT_DRIVER;
    pthread_once(&watch_forks, watch);
    pthread_mutex_lock(&opening);
    for (entry = atomic_load(&drivers); entry && strcmp(entry->key, path) != 0; entry = entry->next)
        ;
    if (!entry && (status = tj_ending_enter(true, err)) == TJ_OK) {
        status = open_library(path, reads_environment, &entry, err);
        tj_ending_leave(true);
        if (entry) {
            entry->next = atomic_load(&drivers);
            atomic_store(&drivers, entry);
            tj_log_line(log, TJ_LOG_INFO, "driver: %s, CUDA %d.%d", entry->driver.path, entry->driver.version / 1000,
                        entry->driver.version % 1000 / 10);
        }
    } else if (entry && atomic_load(&entry->life) == TJ_DRIVER_FORKED) {
        status = tj_driver_report_death(&entry->driver, err);
    }
    pthread_mutex_unlock(&opening);
    if (entry && status == TJ_OK)
        *driver = &entry->driver;
    return status;
}

int32_t tj_green_share(const tj_driver *driver, CUgreenCtx green)
{
    CUdevResource resource = {.type = 0};

    if (!driver->api.green_get_resource ||
        driver->api.green_get_resource(green, &resource, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS)
        return 0;
    return resource.sm.sm_count <= INT32_MAX ? (int32_t)resource.sm.sm_count : 0;
}

int32_t tj_context_share(const tj_driver *driver, uint64_t context_id)
{
    static _Thread_local struct {
        const tj_driver *driver;
        uint64_t context_id;
        int32_t share;
    } last;
    CUgreenCtx green = NULL;
    bool is_capturing = false;

    if (__builtin_expect(last.context_id == context_id && last.driver == driver, 1))
        return last.share;
    if (!driver->api.stream_get_green)
        return 0;
    if (tj_stream_is_capturing(driver, NULL, &is_capturing, NULL) != TJ_OK || is_capturing ||
        driver->api.stream_get_green(NULL, &green) != CUDA_SUCCESS)
        return 0;
    last.driver = driver;
    last.context_id = context_id;
    last.share = green ? tj_green_share(driver, green) : 0;
    return last.share;
}

tj_status tj_stream_is_capturing(const tj_driver *driver, CUstream stream, bool *is_capturing, tj_error *err)
{
    int state = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result;

    *is_capturing = false;
    if (!driver->api.stream_is_capturing)
        return TJ_OK;
    result = driver->api.stream_is_capturing(stream, &state);
    /* The legacy default stream cannot even be queried while another stream is captured. */
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        return tj_driver_fail(driver, result, err, "cannot ask whether the stream is being captured");
    *is_capturing = result != CUDA_SUCCESS || state != CU_STREAM_CAPTURE_STATUS_NONE;
    return TJ_OK;
}

/* Return the device of a CUDA context; negative: the driver does not say. */
static int device_of(const tj_driver *driver, CUcontext context)
{
    CUcontext popped = NULL;
    CUdevice device = -1;

    if (driver->api.ctx_push(context) != CUDA_SUCCESS)
        return -1;
    if (driver->api.ctx_get_device(&device) != CUDA_SUCCESS)
        device = -1;
    (void)driver->api.ctx_pop(&popped);
    return device;
}

tj_status tj_stream_fail(const tj_driver *driver, CUresult result, CUstream stream, const char *what, tj_error *err)
{
    CUcontext current = NULL, owner = NULL;

    if (result == CUDA_ERROR_INVALID_HANDLE && stream && driver->api.stream_get_ctx &&
        driver->api.ctx_get_current(&current) == CUDA_SUCCESS && driver->api.stream_get_ctx(stream, &owner) == CUDA_SUCCESS &&
        owner != current)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "%s: the stream belongs to device %d, and the current CUDA context, which is another one, to device %d: make "
            "the stream's context current, or give a stream of this one",
            what, device_of(driver, owner), device_of(driver, current));
    return tj_driver_fail(driver, result, err, "%s", what);
}
