/* SPDX-License-Identifier: Apache-2.0 */
/* image: an image that a program loads: its PTX, and the destinations of messages about it. */
#include "driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operations.h"

enum { CONSTANT_BYTES = 65536 };

emu_jit_log emu_jit_options(unsigned options, const int *option, void **value)
{
    emu_jit_log log = {.buffer = NULL};

    for (unsigned i = 0; option && value && i < options; i++) {
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER)
            log.buffer = value[i];
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            log.bytes = (size_t)(uintptr_t)value[i];
            log.filled = &value[i];
        }
        if (option[i] == CU_JIT_INFO_LOG_BUFFER)
            log.info = value[i];
        if (option[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES && value[i]) {
            log.info_bytes = (size_t)(uintptr_t)value[i];
            log.info_filled = &value[i];
        }
    }
    return log;
}

void emu_jit_tell(const emu_jit_log *log, const char *format, ...)
{
    char message[1024];
    size_t length = 0;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (*message)
        emu_driver_log("%s", message);
    if (log->buffer && log->bytes) {
        snprintf(log->buffer, log->bytes, "%s", message);
        length = strlen(log->buffer);
    }
    if (log->filled)
        *log->filled = (void *)(uintptr_t)length;
    if (log->info && log->info_filled)
        *log->info = '\0';
    if (log->info_filled)
        *log->info_filled = NULL;
}

/* List the kernels of a module that cannot run, each with the reason, in the log for information. */
static void list_refused(const emu_jit_log *log, const emu_module *ptx)
{
    const size_t bytes = log->info && log->info_filled ? log->info_bytes : 0;
    size_t filled = 0;

    for (size_t i = 0; i < ptx->functions && filled + 1 < bytes; i++) {
        const emu_function *f = &ptx->function[i];
        if (!f->is_entry || !f->refusal)
            continue;
        snprintf(log->info + filled, bytes - filled, "%.*s cannot be run: %s\n", (int)f->name_length, f->name, f->refusal);
        filled += strlen(log->info + filled);
    }
    if (bytes)
        *log->info_filled = (void *)(uintptr_t)filled;
}

/* Extract the PTX for a device from an image of another kind; NULL, and the reason. The caller frees it. */
static CUresult extract(const emu_device *device, const void *image, size_t bytes, char **text, char *message,
                        size_t message_bytes)
{
    CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;

    *text = NULL;
    if (bytes > 0 && memcmp(image, "\177", 1) == 0) {
        snprintf(message, message_bytes, "the image is a CUBIN: the emulator needs PTX");
        return result;
    }
    if (!emu_is_fatbin(image, bytes)) {
        *text = strndup(image, bytes);
        return *text ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (device)
        return emu_fatbin_text(device, image, bytes, text, message, message_bytes);
    if (emu_device_count() == 0)
        return CUDA_ERROR_NO_DEVICE;
    result = emu_fatbin_text(emu_device_at(0), image, bytes, text, message, message_bytes);
    for (int i = 1; i < emu_device_count() && !*text; i++) { /* a message is about the first device */
        char unused[1];
        if (emu_fatbin_text(emu_device_at(i), image, bytes, text, unused, sizeof unused) == CUDA_SUCCESS)
            result = CUDA_SUCCESS;
    }
    return result;
}

CUresult emu_image_text(const emu_device *device, const void *image, size_t bytes, const emu_jit_log *log, char **text)
{
    char message[1024] = "";
    CUresult result;

    *text = NULL;
    if (!image)
        return CUDA_ERROR_INVALID_VALUE;
    result = extract(device, image, bytes, text, message, sizeof message);
    if (result != CUDA_SUCCESS)
        emu_jit_tell(log, "%s", message);
    return result;
}

void *emu_image_copy(const void *image, size_t *bytes)
{
    const void *from = emu_is_fatbin(image, *bytes) ? emu_fatbin_container(image, bytes) : image;
    char *made;

    if (!from) /* already known from an earlier reader */
        return NULL;
    if (!emu_is_fatbin(image, *bytes))
        *bytes = strnlen(image, *bytes);
    made = malloc(*bytes + 1);
    if (made) {
        memcpy(made, from, *bytes);
        made[*bytes] = '\0';
    }
    return made;
}

static CUresult decode(const emu_device *device, const char *text, const emu_jit_log *log, emu_module **ptx)
{
    char message[1024] = "";
    bool fits = false;
    uint64_t constant_bytes = 0;
    const emu_header head = emu_read_header(text);

    if (head.version > EMU_PTX_VERSION) {
        emu_jit_tell(log, "PTX version %d.%d is newer than %d.%d, the last one known", head.version / 10, head.version % 10,
                     EMU_PTX_VERSION / 10, EMU_PTX_VERSION % 10);
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    for (int i = 0; !device && i < emu_device_count() && !fits; i++)
        fits = emu_is_runnable(&head, emu_device_at(i));
    if (device)
        fits = emu_is_runnable(&head, device);
    if (head.target && !fits) {
        char suffix[2] = {head.suffix, '\0'};
        emu_jit_tell(log, "PTX for sm_%d%s does not run on %ssm_%d", head.target, suffix,
                     device ? "" : "any device: the first is ", device ? device->capability : emu_device_at(0)->capability);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    *ptx = emu_ptx_load(text, strlen(text), &emu_all_operations, message, sizeof message);
    if (!*ptx) {
        emu_jit_tell(log, "%s", message);
        return CUDA_ERROR_INVALID_PTX;
    }
    for (size_t i = 0; i < (*ptx)->symbols; i++)
        if ((*ptx)->symbol[i].space == S_CONST)
            constant_bytes += (*ptx)->symbol[i].bytes;
    if (constant_bytes > CONSTANT_BYTES)
        snprintf(message, sizeof message, "the module has %llu bytes of constants, and %d are possible",
                 (unsigned long long)constant_bytes, CONSTANT_BYTES);
    if (*message) {
        emu_jit_tell(log, "%s", message);
        emu_ptx_free(*ptx);
        *ptx = NULL;
        return CUDA_ERROR_INVALID_PTX;
    }
    emu_jit_tell(log, "%s", "");
    list_refused(log, *ptx);
    return CUDA_SUCCESS;
}

CUresult emu_image_decode(const emu_device *device, const void *image, size_t bytes, const emu_jit_log *log, emu_module **ptx)
{
    char *text;
    CUresult result = emu_image_text(device, image, bytes, log, &text);

    *ptx = NULL;
    if (result == CUDA_SUCCESS)
        result = decode(device, text, log, ptx);
    free(text);
    return result;
}
