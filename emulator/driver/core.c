/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core: initialisation, devices, handles, and the calling thread's stack of contexts.
 */
#include "driver.h"

#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"

#define HANDLE_BASE UINT64_C(0x5e00000000000000) /* not an address: a program that dereferences a handle faults */

enum { STACK_DEPTH = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_has_ended = PTHREAD_COND_INITIALIZER;
static pthread_once_t watch_forks = PTHREAD_ONCE_INIT;
static bool is_started, is_child;
static emu_callback *calls;  /* of the program's functions, when the lock opens */
static emu_object **objects; /* by number; a destroyed one leaves NULL */
static size_t object_count, object_capacity;

static const emu_device *devices[EMU_MAX_DEVICES];
static int device_count;

static _Atomic(uint64_t) clocks[EMU_MAX_DEVICES];
static _Atomic(uint64_t) next_id = 1, next_thread = 1;

static _Thread_local struct {
    CUcontext context[STACK_DEPTH];
    int depth, mode;
    bool is_called_back; /* in a function that must not call the driver */
    uint64_t number;
} thread;

/* ---- lock, log, numbers ------------------------------------------------------------------------------------------- */

void emu_lock(void)
{
    pthread_mutex_lock(&lock);
}

void emu_call_unlocked(emu_callback *call)
{
    call->next = calls;
    calls = call;
}

void emu_unlock(void)
{
    emu_callback *due = calls;

    calls = NULL;
    pthread_mutex_unlock(&lock);
    while (due) {
        emu_callback *const one = due;

        due = one->next;
        thread.is_called_back = true;
        one->function(one->data);
        thread.is_called_back = false;
        free(one);
    }
}

CUresult emu_leave(CUresult result)
{
    emu_unlock();
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
    if (is_started && !is_child && !thread.is_called_back)
        return CUDA_SUCCESS;
    return emu_leave(thread.is_called_back ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_NOT_INITIALIZED);
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

void *emu_enter_object(emu_object_kind kind, const void *handle, CUresult *result)
{
    static const CUresult unknown[O_USER_OBJECT + 1] = {
        [O_CONTEXT] = CUDA_ERROR_INVALID_CONTEXT, [O_GRAPH] = CUDA_ERROR_INVALID_VALUE,
        [O_NODE] = CUDA_ERROR_INVALID_VALUE,      [O_EXECUTABLE] = CUDA_ERROR_INVALID_VALUE,
        [O_POOL] = CUDA_ERROR_INVALID_VALUE,      [O_USER_OBJECT] = CUDA_ERROR_INVALID_VALUE};
    emu_context *context;
    void *object;

    *result = kind == O_MODULE || kind == O_LINK ? emu_enter(&context) : emu_enter_driver();
    if (*result != CUDA_SUCCESS)
        return NULL;
    object = emu_handle_get(kind, handle);
    if (!object)
        *result = emu_leave(unknown[kind] ? unknown[kind] : CUDA_ERROR_INVALID_HANDLE);
    return object;
}

void *emu_ask_object(emu_object_kind kind, const void *handle, const void *answer, CUresult *result)
{
    void *object = emu_enter_object(kind, handle, result);

    if (!object || answer)
        return object;
    *result = emu_leave(CUDA_ERROR_INVALID_VALUE);
    return NULL;
}

CUresult emu_check_context(void)
{
    emu_context *context;
    const CUresult result = emu_enter(&context);

    return result == CUDA_SUCCESS ? emu_leave(result) : result;
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

/* A child of fork lacks its parent's threads, and its state may be half changed. As with the real driver, it can do nothing. */
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
        devices[count++] = device;
        at += length;
    }
    if (count == 0)
        emu_driver_log("CUDA_EMULATOR_DEVICES is empty, so there is no device: unset it for an sm_90, or name some of %s",
                       emu_device_names());
    device_count = count;
    return CUDA_SUCCESS;
}

/* The argument of cuEmuSetDevices; it takes precedence over the environment. */
static char chosen[256];

int EMU_EXPORT cuEmuSetDevices(const char *list)
{
    bool is_good;

    if (!list || strlen(list) >= sizeof chosen)
        return 0;
    emu_lock();
    if (is_started) { /* the same devices again are accepted, others come too late */
        const char *at = list;
        int same = 0;
        for (char *end; (at = strstr(at, "sm_")) != NULL; at = end, same++) {
            const long capability = strtol(at + 3, &end, 10);
            if (same == device_count || capability != devices[same]->capability)
                break;
        }
        is_good = !at && same == device_count;
    } else {
        is_good = choose_devices(list) == CUDA_SUCCESS && device_count > 0;
        if (is_good)
            memcpy(chosen, list, strlen(list) + 1);
        device_count = 0;
    }
    emu_unlock();
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
        return emu_leave(device_count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
    list = getenv("CUDA_EMULATOR_DEVICES");
    result = choose_devices(*chosen ? chosen : list ? list : "sm_90");
    is_started = result == CUDA_SUCCESS;
    return emu_leave(result == CUDA_SUCCESS && !device_count ? CUDA_ERROR_NO_DEVICE : result);
}

CUresult EMU_EXPORT cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = EMU_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

int emu_device_count(void)
{
    return device_count;
}

const emu_device *emu_device_at(int ordinal)
{
    return ordinal >= 0 && ordinal < device_count ? devices[ordinal] : NULL;
}
