/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_core: starting, handles, the calling thread's stack of contexts, devices and contexts.
 */
#include "driver.h"

#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "memory.h"

#define HANDLE_BASE UINT64_C(0x5e00000000000000) /* no address: a program that looks behind a handle faults */

enum { STACK_DEPTH = 256, ALL_CONTEXT_FLAGS = 0xff };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_has_ended = PTHREAD_COND_INITIALIZER;
static pthread_once_t watch_forks = PTHREAD_ONCE_INIT;
static bool is_started, is_child;
static emu_object **objects; /* by number; a destroyed one leaves NULL */
static size_t object_count, object_capacity;

static struct {
    const emu_device *device;
    emu_context *primary;
    unsigned references, flags;
} slots[EMU_MAX_DEVICES];
static int slot_count;

static _Atomic(uint64_t) clocks[EMU_MAX_DEVICES];
static _Atomic(uint64_t) next_id = 1, next_thread = 1;

static _Thread_local struct {
    CUcontext context[STACK_DEPTH];
    int depth, mode;
    uint64_t number;
} thread;

/* ---- lock, log, numbers ------------------------------------------------------------------------------------------- */

void emu_lock(void)
{
    pthread_mutex_lock(&lock);
}

void emu_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

CUresult emu_leave(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

void emu_await_work(void)
{
    pthread_cond_wait(&work_has_ended, &lock);
}

void emu_tell_work(void)
{
    pthread_cond_broadcast(&work_has_ended);
}

void emu_driver_log(const char *format, ...)
{
    char line[1024];
    va_list arguments;

    if (!emu_option(CUEMU_LOG))
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "cuda emulator: %s\n", line);
}

uint64_t emu_next_id(void)
{
    return atomic_fetch_add(&next_id, 1);
}

uint64_t emu_thread(void)
{
    if (!thread.number)
        thread.number = atomic_fetch_add(&next_thread, 1);
    return thread.number;
}

int *emu_thread_mode(void)
{
    return &thread.mode;
}

uint64_t emu_clock(int ordinal)
{
    return atomic_load(&clocks[ordinal]);
}

void emu_advance_clock(int ordinal, uint64_t nanoseconds)
{
    atomic_fetch_add(&clocks[ordinal], nanoseconds);
}

/* ---- handles ------------------------------------------------------------------------------------------------------ */

bool emu_handle_new(emu_object *object, emu_object_kind kind)
{
    if (object_count == object_capacity) {
        const size_t larger = object_capacity * 2 + 256;
        emu_object **moved = realloc(objects, larger * sizeof *moved);
        if (!moved)
            return false;
        objects = moved;
        object_capacity = larger;
    }
    object->kind = kind;
    object->handle = (void *)(uintptr_t)(HANDLE_BASE + 16 * (object_count + 1));
    objects[object_count++] = object;
    return true;
}

static size_t number_of(const void *handle)
{
    const uint64_t value = (uint64_t)(uintptr_t)handle - HANDLE_BASE;

    return value % 16 == 0 && value / 16 - 1 < object_count ? (size_t)(value / 16 - 1) : SIZE_MAX;
}

void *emu_handle_get(emu_object_kind kind, const void *handle)
{
    const size_t number = number_of(handle);

    if (number == SIZE_MAX || !objects[number] || objects[number]->kind != kind)
        return NULL;
    return objects[number];
}

void emu_handle_drop(emu_object *object)
{
    const size_t number = object->handle ? number_of(object->handle) : SIZE_MAX;

    if (number != SIZE_MAX)
        objects[number] = NULL;
    object->handle = NULL;
}

emu_object *emu_handle_next(size_t *position, emu_object_kind kind)
{
    while (*position < object_count) {
        emu_object *object = objects[(*position)++];
        if (object && object->kind == kind)
            return object;
    }
    return NULL;
}

/* ---- the calling thread's contexts -------------------------------------------------------------------------------- */

CUcontext emu_top_context(void)
{
    return thread.depth ? thread.context[thread.depth - 1] : NULL;
}

bool emu_push_context(CUcontext context)
{
    if (thread.depth == STACK_DEPTH)
        return false;
    thread.context[thread.depth++] = context;
    return true;
}

CUcontext emu_pop_context(void)
{
    return thread.depth ? thread.context[--thread.depth] : NULL;
}

void emu_replace_context(CUcontext context)
{
    if (thread.depth)
        thread.depth--;
    if (context)
        thread.context[thread.depth++] = context;
}

CUresult emu_enter_driver(void)
{
    pthread_mutex_lock(&lock);
    if (is_started && !is_child)
        return CUDA_SUCCESS;
    return emu_leave(CUDA_ERROR_NOT_INITIALIZED);
}

CUresult emu_enter_failed(emu_context **context)
{
    const CUcontext top = emu_top_context();
    CUresult result = emu_enter_driver();

    *context = NULL;
    if (result != CUDA_SUCCESS)
        return result;
    if (!top)
        return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
    *context = emu_handle_get(O_CONTEXT, top);
    if (!*context)
        return emu_leave(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return CUDA_SUCCESS;
}

CUresult emu_enter(emu_context **context)
{
    const CUresult result = emu_enter_failed(context);

    if (result == CUDA_SUCCESS && (*context)->sticky)
        return emu_leave((*context)->sticky);
    return result;
}

void emu_forget_failures(void)
{
    size_t at = 0;

    emu_lock();
    for (emu_object *one; (one = emu_handle_next(&at, O_CONTEXT));)
        ((emu_context *)one)->sticky = CUDA_SUCCESS;
    emu_unlock();
}

/* ---- starting ----------------------------------------------------------------------------------------------------- */

/* A child of fork has no threads of its parent, whose state may be half changed: as with the real driver, it can do nothing. */
static void become_child(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&work_has_ended, NULL);
    is_child = is_started;
}

static void watch(void)
{
    pthread_atfork(NULL, NULL, become_child);
}

static CUresult choose_devices(const char *list)
{
    int count = 0;

    for (const char *at = list; *at;) {
        const size_t length = strcspn(at, ", ");
        char word[32];
        if (length == 0) {
            at++;
            continue;
        }
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), at);
        char *end = word;
        const long capability =
            strncmp(word, "sm_", 3) == 0 && isdigit((unsigned char)word[3]) ? strtol(word + 3, &end, 10) : 0;
        const emu_device *device = capability > 0 && capability < 1000 && !*end ? emu_device_find((int)capability) : NULL;
        if (!device) {
            emu_driver_log("CUDA_EMULATOR_DEVICES names a device \"%s\", and there are: %s", word, emu_device_names());
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (count == EMU_MAX_DEVICES) {
            emu_driver_log("CUDA_EMULATOR_DEVICES names more than %d devices: %s", EMU_MAX_DEVICES, list);
            return CUDA_ERROR_INVALID_VALUE;
        }
        slots[count++].device = device;
        at += length;
    }
    slot_count = count;
    return CUDA_SUCCESS;
}

/* What cuEmuSetDevices said; it wins over the environment. */
static char chosen[256];

int EMU_EXPORT cuEmuSetDevices(const char *list)
{
    int before[EMU_MAX_DEVICES], count = 0, is_good;

    if (!list || strlen(list) >= sizeof chosen)
        return 0;
    emu_lock();
    for (int i = 0; is_started && i < slot_count; i++)
        before[count++] = slots[i].device->capability;
    if (is_started) { /* the same devices once more are welcome, others come too late */
        const char *at = list;
        int same = 0;
        for (char *end; (at = strstr(at, "sm_")) != NULL; at = end, same++) {
            const long capability = strtol(at + 3, &end, 10);
            if (same == count || capability != before[same])
                break;
        }
        is_good = !at && same == count;
    } else {
        is_good = choose_devices(list) == CUDA_SUCCESS && slot_count > 0;
        if (is_good)
            memcpy(chosen, list, strlen(list) + 1);
        slot_count = 0;
    }
    (void)emu_leave(CUDA_SUCCESS);
    return is_good;
}

CUresult EMU_EXPORT cuInit(unsigned flags)
{
    CUresult result = CUDA_SUCCESS;
    const char *list;

    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_once(&watch_forks, watch);
    emu_lock();
    if (is_child)
        return emu_leave(CUDA_ERROR_NOT_INITIALIZED);
    if (is_started)
        return emu_leave(slot_count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
    list = getenv("CUDA_EMULATOR_DEVICES");
    result = choose_devices(*chosen ? chosen : list ? list : "sm_90");
    is_started = result == CUDA_SUCCESS;
    return emu_leave(result == CUDA_SUCCESS && !slot_count ? CUDA_ERROR_NO_DEVICE : result);
}

CUresult EMU_EXPORT cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = EMU_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

/* ---- devices ------------------------------------------------------------------------------------------------------ */

int emu_device_count(void)
{
    return slot_count;
}

const emu_device *emu_device_at(int ordinal)
{
    return ordinal >= 0 && ordinal < slot_count ? slots[ordinal].device : NULL;
}

/* What every question to a device begins with. Devices do not change once chosen, so no lock is kept. */
static CUresult ask(const void *out, CUdevice ordinal, const emu_device **device)
{
    const CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    *device = emu_device_at(ordinal);
    return emu_leave(!out ? CUDA_ERROR_INVALID_VALUE : !*device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuDeviceGetCount(int *count)
{
    const CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    if (!count)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *count = slot_count;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuDeviceGet(CUdevice *device, int ordinal)
{
    const emu_device *known;
    const CUresult result = ask(device, ordinal, &known);

    if (result == CUDA_SUCCESS)
        *device = ordinal;
    return result;
}

CUresult EMU_EXPORT cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    const emu_device *known;
    const CUresult result = ask(name, device, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (bytes <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)bytes, "CUDA emulator sm_%d (as %s)", known->capability, known->like);
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    static const char prefix[] = "CUDAEMULATOR";
    const emu_device *known;
    const CUresult result = ask(uuid, device, &known);

    if (result != CUDA_SUCCESS)
        return result;
    memset(uuid, 0, sizeof *uuid);
    memcpy(uuid->bytes, prefix, sizeof prefix - 1);
    uuid->bytes[13] = (unsigned char)known->capability;
    uuid->bytes[15] = (unsigned char)device;
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    return cuDeviceGetUuid_v2(uuid, device);
}

CUresult EMU_EXPORT cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    const emu_device *known;
    const CUresult result = ask(bytes, device, &known);

    if (result == CUDA_SUCCESS)
        *bytes = known->memory_bytes;
    return result;
}

CUresult EMU_EXPORT cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    const emu_device *known;
    const CUresult result = ask(value, device, &known);
    int found;

    if (result != CUDA_SUCCESS)
        return result;
    found = emu_device_attribute(known, attribute);
    if (found < 0)
        return CUDA_ERROR_INVALID_VALUE;
    *value = attribute == 33 ? found + device : found; /* PCI_BUS_ID */
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    const emu_device *known;
    const CUresult result = ask(major && minor ? major : NULL, device, &known);

    if (result == CUDA_SUCCESS) {
        *major = known->capability / 10;
        *minor = known->capability % 10;
    }
    return result;
}

CUresult EMU_EXPORT cuDeviceGetProperties(CUdevprop *properties, CUdevice device)
{
    const emu_device *known;
    const CUresult result = ask(properties, device, &known);

    if (result != CUDA_SUCCESS)
        return result;
    *properties = (CUdevprop){.threads_per_block = 1024,
                              .block = {1024, 1024, 64},
                              .grid = {2147483647, 65535, 65535},
                              .shared_per_block = 49152,
                              .constant_bytes = 65536,
                              .warp = 32,
                              .pitch = 2147483647,
                              .registers = 65536,
                              .clock = known->clock_khz,
                              .texture_alignment = 512};
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuDeviceGetPCIBusId(char *text, int bytes, CUdevice device)
{
    const emu_device *known;
    const CUresult result = ask(text, device, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (bytes < 13)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(text, (size_t)bytes, "0000:%02x:00.0", (unsigned)(device + 1) & 0xff);
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuDeviceGetByPCIBusId(CUdevice *device, const char *text)
{
    char own[16];
    CUresult result = CUDA_SUCCESS;

    if (!device || !text)
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; result == CUDA_SUCCESS; i++) {
        result = cuDeviceGetPCIBusId(own, sizeof own, i);
        if (result == CUDA_SUCCESS && (strcmp(own, text) == 0 || strcmp(own + 5, text) == 0)) {
            *device = i;
            return CUDA_SUCCESS;
        }
    }
    return result == CUDA_ERROR_NOT_INITIALIZED ? result : CUDA_ERROR_INVALID_DEVICE;
}

CUresult EMU_EXPORT cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    const emu_device *known;
    CUresult result = ask(can, device, &known);

    if (result == CUDA_SUCCESS)
        result = ask(can, peer, &known);
    if (result == CUDA_SUCCESS)
        *can = 0;
    return result;
}

CUresult EMU_EXPORT cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice device, CUdevice peer)
{
    CUresult result = cuDeviceCanAccessPeer(value, device, peer);

    if (result == CUDA_SUCCESS && device == peer)
        result = CUDA_ERROR_INVALID_DEVICE;
    return result == CUDA_SUCCESS && (attribute < 1 || attribute > 5) ? CUDA_ERROR_INVALID_VALUE : result;
}

CUresult EMU_EXPORT cuDeviceGetExecAffinitySupport(int *value, int type, CUdevice device)
{
    const emu_device *known;
    const CUresult result = ask(value, device, &known);

    if (result == CUDA_SUCCESS)
        *value = 0;
    return result == CUDA_SUCCESS && type != 0 ? CUDA_ERROR_INVALID_VALUE : result;
}

/* ---- contexts ----------------------------------------------------------------------------------------------------- */

static emu_context *make_context(int ordinal, unsigned flags)
{
    static const size_t limits[8] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0};
    emu_context *context = calloc(1, sizeof *context);
    emu_stream *legacy = calloc(1, sizeof *legacy);

    if (!context || !legacy || !emu_handle_new(&context->object, O_CONTEXT)) {
        free(context);
        free(legacy);
        return NULL;
    }
    context->id = emu_next_id();
    context->ordinal = ordinal;
    context->device = slots[ordinal].device;
    context->flags = flags;
    context->legacy = legacy;
    memcpy(context->limit, limits, sizeof limits);
    legacy->context = context;
    legacy->id = 1;
    legacy->is_legacy = true;
    return context;
}

/* Take everything out of a context; the memory that it owned is freed by the caller, who holds no lock then. */
static void empty_context(emu_context *context)
{
    emu_streams_close(context);
    emu_unload_all(context);
}

static void free_memory(uint64_t owner, int ordinal, const char *how)
{
    const size_t left = emu_memory_free_owner(owner);

    emu_host_close(owner);
    if (left)
        emu_driver_log("a context of device %d was %s with %zu allocation%s of device memory not freed", ordinal, how, left,
                       left == 1 ? "" : "s");
}

/* Called locked, returns unlocked. */
static void destroy_context(emu_context *context)
{
    const uint64_t owner = context->id;
    const int ordinal = context->ordinal;

    empty_context(context);
    emu_handle_drop(&context->object);
    free(context->legacy);
    free(context);
    emu_unlock();
    free_memory(owner, ordinal, "destroyed");
}

CUresult EMU_EXPORT cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    if (!context || !emu_device_at(device))
        return emu_leave(context ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE);
    if (!slots[device].primary) {
        slots[device].primary = make_context(device, slots[device].flags);
        if (!slots[device].primary)
            return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
        slots[device].primary->is_primary = true;
    }
    slots[device].references++;
    *context = slots[device].primary->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    if (!emu_device_at(device))
        return emu_leave(CUDA_ERROR_INVALID_DEVICE);
    if (!slots[device].references)
        return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
    if (--slots[device].references == 0) {
        emu_context *context = slots[device].primary;
        slots[device].primary = NULL;
        destroy_context(context);
        return CUDA_SUCCESS;
    }
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuDevicePrimaryCtxRelease(CUdevice device)
{
    return cuDevicePrimaryCtxRelease_v2(device);
}

CUresult EMU_EXPORT cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    CUresult result = emu_enter_driver();
    emu_context *context;
    uint64_t owner;

    if (result != CUDA_SUCCESS)
        return result;
    if (!emu_device_at(device))
        return emu_leave(CUDA_ERROR_INVALID_DEVICE);
    context = slots[device].primary;
    if (!context)
        return emu_leave(CUDA_SUCCESS);
    /* Those who retained it keep it: an empty one of another identity. */
    owner = context->id;
    empty_context(context);
    context->id = emu_next_id();
    context->sticky = CUDA_SUCCESS;
    emu_unlock();
    free_memory(owner, device, "reset");
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuDevicePrimaryCtxReset(CUdevice device)
{
    return cuDevicePrimaryCtxReset_v2(device);
}

CUresult EMU_EXPORT cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    if (!emu_device_at(device))
        return emu_leave(CUDA_ERROR_INVALID_DEVICE);
    if (flags & ~(unsigned)ALL_CONTEXT_FLAGS)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    slots[device].flags = flags;
    if (slots[device].primary)
        slots[device].primary->flags = flags;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags)
{
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult EMU_EXPORT cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *is_active)
{
    CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    if (!emu_device_at(device))
        return emu_leave(CUDA_ERROR_INVALID_DEVICE);
    if (!flags || !is_active)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *flags = slots[device].flags;
    *is_active = slots[device].primary != NULL;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    CUresult result = emu_enter_driver();
    emu_context *made;

    if (result != CUDA_SUCCESS)
        return result;
    if (!context || (flags & ~(unsigned)ALL_CONTEXT_FLAGS))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (!emu_device_at(device))
        return emu_leave(CUDA_ERROR_INVALID_DEVICE);
    made = make_context(device, flags);
    if (!made)
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    if (!emu_push_context(made->object.handle)) {
        destroy_context(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *context = made->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxCreate_v3(CUcontext *context, void *affinity, int affinities, unsigned flags, CUdevice device)
{
    if (affinity || affinities)
        return CUDA_ERROR_NOT_SUPPORTED;
    return cuCtxCreate_v2(context, flags, device);
}

CUresult EMU_EXPORT cuCtxCreate_v4(CUcontext *context, void *parameters, unsigned flags, CUdevice device)
{
    if (parameters)
        return CUDA_ERROR_NOT_SUPPORTED;
    return cuCtxCreate_v2(context, flags, device);
}

CUresult EMU_EXPORT cuCtxDestroy_v2(CUcontext context)
{
    CUresult result = emu_enter_driver();
    emu_context *known;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_CONTEXT, context);
    if (!context || !known || known->is_primary)
        return emu_leave(context ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE);
    if (emu_top_context() == context)
        emu_pop_context();
    destroy_context(known);
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuCtxDestroy(CUcontext context)
{
    return cuCtxDestroy_v2(context);
}

CUresult EMU_EXPORT cuCtxPushCurrent_v2(CUcontext context)
{
    CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    if (!emu_handle_get(O_CONTEXT, context))
        return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
    return emu_leave(emu_push_context(context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult EMU_EXPORT cuCtxPushCurrent(CUcontext context)
{
    return cuCtxPushCurrent_v2(context);
}

CUresult EMU_EXPORT cuCtxPopCurrent_v2(CUcontext *context)
{
    CUresult result = emu_enter_driver();
    CUcontext popped;

    if (result != CUDA_SUCCESS)
        return result;
    popped = emu_pop_context();
    if (context)
        *context = popped;
    return emu_leave(popped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult EMU_EXPORT cuCtxPopCurrent(CUcontext *context)
{
    return cuCtxPopCurrent_v2(context);
}

CUresult EMU_EXPORT cuCtxSetCurrent(CUcontext context)
{
    CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    if (context && !emu_handle_get(O_CONTEXT, context))
        return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
    emu_replace_context(context);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxGetCurrent(CUcontext *context)
{
    CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    if (!context)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *context = emu_top_context();
    return emu_leave(CUDA_SUCCESS);
}

/* A context by handle, NULL being the current one; locked on success. */
static CUresult enter_context(CUcontext handle, emu_context **context)
{
    CUresult result;

    if (!handle)
        return emu_enter_failed(context);
    result = emu_enter_driver();
    if (result != CUDA_SUCCESS)
        return result;
    *context = emu_handle_get(O_CONTEXT, handle);
    return *context ? CUDA_SUCCESS : emu_leave(CUDA_ERROR_INVALID_CONTEXT);
}

CUresult EMU_EXPORT cuCtxGetDevice_v2(CUdevice *device, CUcontext context)
{
    emu_context *known;
    CUresult result = enter_context(context, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!device)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *device = known->ordinal;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxGetDevice(CUdevice *device)
{
    return cuCtxGetDevice_v2(device, NULL);
}

CUresult EMU_EXPORT cuCtxGetId(CUcontext context, unsigned long long *id)
{
    emu_context *known;
    CUresult result = enter_context(context, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!id)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *id = known->id;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxGetFlags(unsigned *flags)
{
    emu_context *context;
    CUresult result = emu_enter_failed(&context);

    if (result != CUDA_SUCCESS)
        return result;
    if (!flags)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *flags = context->flags;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxSetFlags(unsigned flags)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    if (flags & ~(unsigned)ALL_CONTEXT_FLAGS)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    context->flags = flags;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxGetApiVersion(CUcontext context, unsigned *version)
{
    emu_context *known;
    CUresult result = enter_context(context, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!version)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *version = 3020;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxGetLimit(size_t *value, int limit)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    if (!value || limit < 0)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (limit >= 7)
        return emu_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
    *value = context->limit[limit];
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxSetLimit(int limit, size_t value)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    if (limit < 0)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (limit >= 7)
        return emu_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
    context->limit[limit] = value;
    return emu_leave(CUDA_SUCCESS);
}

/* Preferences that change no result: accepted, not kept. */
static CUresult prefer(const int *out)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    (void)out;
    return result == CUDA_SUCCESS ? emu_leave(CUDA_SUCCESS) : result;
}

CUresult EMU_EXPORT cuCtxGetCacheConfig(int *config)
{
    const CUresult result = config ? prefer(config) : CUDA_ERROR_INVALID_VALUE;

    if (result == CUDA_SUCCESS)
        *config = 0;
    return result;
}

CUresult EMU_EXPORT cuCtxSetCacheConfig(int config)
{
    return prefer(&config);
}

CUresult EMU_EXPORT cuCtxGetSharedMemConfig(int *config)
{
    const CUresult result = config ? prefer(config) : CUDA_ERROR_INVALID_VALUE;

    if (result == CUDA_SUCCESS)
        *config = 1; /* banks of four bytes */
    return result;
}

CUresult EMU_EXPORT cuCtxSetSharedMemConfig(int config)
{
    return prefer(&config);
}

CUresult EMU_EXPORT cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    const CUresult result = prefer(least);

    if (result != CUDA_SUCCESS)
        return result;
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuCtxResetPersistingL2Cache(void)
{
    return prefer(NULL);
}

CUresult EMU_EXPORT cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    if (flags)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    return emu_leave(emu_handle_get(O_CONTEXT, peer) ? CUDA_ERROR_PEER_ACCESS_UNSUPPORTED : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult EMU_EXPORT cuCtxDisablePeerAccess(CUcontext peer)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    return emu_leave(emu_handle_get(O_CONTEXT, peer) ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult EMU_EXPORT cuProfilerStart(void)
{
    return prefer(NULL);
}

CUresult EMU_EXPORT cuProfilerStop(void)
{
    return prefer(NULL);
}
