/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_module: modules and libraries from PTX, their kernels, and what is asked of those.
 *
 * A library is a text; each context that uses it has a module of it. How many registers a kernel would use is not known without
 * an assembler: 32 a thread are taken, which is what occupancy is computed from.
 */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "memory.h"

enum {
    REGISTERS = 32,
    REGISTER_UNIT = 256, /* of a warp's registers */
    SHARED_UNIT = 128,
    SHARED_DEFAULT = 49152,
    CONSTANT_BYTES = 65536
};

/* Where messages of a load go. */
typedef struct jit_log {
    char *buffer;
    size_t bytes;
    void **filled; /* the option's value, which answers how much was written */
    void **info_filled;
    char *info;
} jit_log;

/* ---- reading -------------------------------------------------------------------------------------------------------*/

static jit_log read_options(unsigned options, const int *option, void **value)
{
    jit_log log = {NULL, 0, NULL, NULL, NULL};

    for (unsigned i = 0; option && value && i < options; i++) {
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER)
            log.buffer = value[i];
        if (option[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            log.bytes = (size_t)(uintptr_t)value[i];
            log.filled = &value[i];
        }
        if (option[i] == CU_JIT_INFO_LOG_BUFFER)
            log.info = value[i];
        if (option[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES && value[i])
            log.info_filled = &value[i];
    }
    return log;
}

static void tell(const jit_log *log, const char *message)
{
    size_t length = 0;

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

/* What a text says of itself before anything else. */
typedef struct header {
    int version, target; /* 90 for 9.0; 0: not said */
    char suffix;         /* of sm_90a, sm_100f; or 0 */
} header;

static const char *skip_blanks(const char *at)
{
    for (;;) {
        const char *end = NULL;
        at += strspn(at, " \t\r\n\v\f");
        if (at[0] == '/' && at[1] == '/')
            end = strchr(at, '\n');
        else if (at[0] == '/' && at[1] == '*')
            end = strstr(at + 2, "*/");
        else
            return at;
        at = end ? end + (*end == '*' ? 2 : 1) : at + strlen(at);
    }
}

static header read_header(const char *text)
{
    header found = {0, 0, 0};
    int major = 0, minor = 0;

    for (const char *at = skip_blanks(text); *at == '.'; at = skip_blanks(at)) {
        const size_t line = strcspn(at, "\n");
        if (strncmp(at, ".version", 8) == 0 && sscanf(at + 8, " %4d.%4d", &major, &minor) == 2) {
            found.version = major * 10 + minor;
        } else if (strncmp(at, ".target", 7) == 0) {
            const char *name = strstr(at, "sm_");
            char *end;
            if (name && name < at + line) {
                found.target = (int)strtol(name + 3, &end, 10);
                found.suffix = *end == 'a' || *end == 'f' ? *end : 0;
            }
            return found;
        } else if (strncmp(at, ".address_size", 13) != 0) {
            return found;
        }
        at += line;
    }
    return found;
}

static bool is_runnable(const header *head, const emu_device *device)
{
    if (head->suffix == 'a')
        return head->target == device->capability;
    if (head->suffix == 'f')
        return head->target / 10 == device->capability / 10 && head->target <= device->capability;
    return head->target <= device->capability;
}

/* Decode a text. device NULL: any of those there are. Needs no lock. */
static CUresult decode(const emu_device *device, const void *image, const jit_log *log, emu_module **ptx)
{
    static const uint32_t fatbin = 0xba55ed50, fatbin_wrapper = 0x466243b1;
    uint32_t magic = 0;
    char message[1024] = "";
    bool fits = false;
    uint64_t constant_bytes = 0;
    header head;

    *ptx = NULL;
    if (!image)
        return CUDA_ERROR_INVALID_VALUE;
    /* A text of less than four bytes ends in the NUL. */
    for (size_t i = 0; i < sizeof magic && (i == 0 || ((const char *)image)[i - 1]); i++)
        memcpy((char *)&magic + i, (const char *)image + i, 1);
    if (memcmp(image, "\177", 1) == 0 || magic == fatbin || magic == fatbin_wrapper) {
        snprintf(message, sizeof message, "the image is a %s: the emulator needs PTX",
                 magic == fatbin || magic == fatbin_wrapper ? "fat binary" : "CUBIN");
        tell(log, message);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    head = read_header(image);
    if (head.version > EMU_PTX_VERSION) {
        snprintf(message, sizeof message, "PTX version %d.%d is newer than %d.%d, the last one known", head.version / 10,
                 head.version % 10, EMU_PTX_VERSION / 10, EMU_PTX_VERSION % 10);
        tell(log, message);
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    for (int i = 0; !device && i < emu_device_count() && !fits; i++)
        fits = is_runnable(&head, emu_device_at(i));
    if (device)
        fits = is_runnable(&head, device);
    if (head.target && !fits) {
        char suffix[2] = {head.suffix, '\0'};
        snprintf(message, sizeof message, "PTX for sm_%d%s does not run on %ssm_%d", head.target, suffix,
                 device ? "" : "any device: the first is ", device ? device->capability : emu_device_at(0)->capability);
        tell(log, message);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    *ptx = emu_ptx_load(image, strlen(image), message, sizeof message);
    if (!*ptx) {
        tell(log, message);
        return CUDA_ERROR_INVALID_PTX;
    }
    for (size_t i = 0; i < (*ptx)->functions && !*message; i++)
        if ((*ptx)->function[i].is_entry && (*ptx)->function[i].static_shared > SHARED_DEFAULT)
            snprintf(message, sizeof message, "%.*s declares %u bytes of shared memory, and there are %d",
                     (int)(*ptx)->function[i].name_length, (*ptx)->function[i].name, (*ptx)->function[i].static_shared,
                     SHARED_DEFAULT);
    for (size_t i = 0; i < (*ptx)->symbols; i++)
        if ((*ptx)->symbol[i].space == S_CONST)
            constant_bytes += (*ptx)->symbol[i].bytes;
    if (constant_bytes > CONSTANT_BYTES)
        snprintf(message, sizeof message, "the module has %llu bytes of constants, and %d are possible",
                 (unsigned long long)constant_bytes, CONSTANT_BYTES);
    if (*message) {
        tell(log, message);
        emu_ptx_free(*ptx);
        *ptx = NULL;
        return CUDA_ERROR_INVALID_PTX;
    }
    tell(log, "");
    return CUDA_SUCCESS;
}

/* ---- modules in a context ----------------------------------------------------------------------------------------- */

static void free_symbols(const emu_module *ptx)
{
    for (size_t i = 0; i < ptx->symbols; i++)
        if ((ptx->symbol[i].space == S_GLOBAL || ptx->symbol[i].space == S_CONST) && ptx->symbol[i].address)
            emu_memory_free(ptx->symbol[i].address);
}

/* Give a module's variables their memory and first values. Needs no lock. */
static bool place_symbols(emu_module *ptx, int ordinal, uint64_t owner)
{
    for (size_t i = 0; i < ptx->symbols; i++) {
        emu_symbol *symbol = &ptx->symbol[i];
        emu_allocation *made;
        if (symbol->space != S_GLOBAL && symbol->space != S_CONST)
            continue;
        made = emu_memory_new(symbol->bytes, M_MODULE, ordinal, owner, false, true);
        if (!made)
            return false;
        symbol->address = made->base;
        if (symbol->initial)
            memcpy(made->host, symbol->initial, symbol->bytes);
    }
    for (size_t i = 0; i < ptx->symbols; i++) {
        const emu_symbol *symbol = &ptx->symbol[i];
        emu_allocation *allocation;
        for (size_t n = 0; n < symbol->address_count && (symbol->space == S_GLOBAL || symbol->space == S_CONST); n++) {
            const struct emu_initial_address *a = &symbol->address_in[n];
            const uint64_t value = ptx->symbol[a->symbol].address + (uint64_t)a->displacement;
            emu_memory_hold();
            uint8_t *at = emu_memory_range(symbol->address + a->at, sizeof value, &allocation);
            if (at)
                memcpy(at, &value, sizeof value);
            emu_memory_release();
        }
    }
    emu_apply_fixups(ptx);
    return true;
}

static void free_loaded(emu_loaded *module)
{
    free_symbols(module->ptx);
    emu_forget_launches(module->ptx);
    emu_ptx_free(module->ptx);
    free(module->function);
    free(module);
}

void emu_module_release(emu_loaded *module)
{
    if (--module->users == 0 && module->is_unloaded)
        free_loaded(module);
}

/* Take a module out of use; it is freed once no launch needs it. */
static void unload(emu_loaded *module)
{
    for (size_t i = 0; i < module->ptx->functions; i++) {
        emu_kernel_function *f = module->function[i];
        if (f) {
            emu_handle_drop(&f->object);
            free(f->name);
            free(f);
        }
    }
    emu_handle_drop(&module->object);
    module->is_unloaded = true;
    module->users++;
    emu_module_release(module);
}

void emu_unload_all(emu_context *context)
{
    size_t at = 0;

    for (emu_object *one; (one = emu_handle_next(&at, O_MODULE));)
        if (((emu_loaded *)one)->context == context)
            unload((emu_loaded *)one);
}

/* A decoded text as a module of a context. On failure ptx is freed. */
static CUresult add_module(emu_context *context, emu_module *ptx, emu_loaded **module)
{
    emu_loaded *made = calloc(1, sizeof *made);

    if (made)
        made->function = calloc(ptx->functions ? ptx->functions : 1, sizeof *made->function);
    if (!made || !made->function || !emu_handle_new(&made->object, O_MODULE)) {
        if (made)
            free(made->function);
        free(made);
        free_symbols(ptx);
        emu_ptx_free(ptx);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->context = context;
    made->ptx = ptx;
    *module = made;
    return CUDA_SUCCESS;
}

static CUresult load(CUmodule *module, const void *image, const jit_log *log)
{
    emu_context *context;
    CUresult result = emu_enter(&context);
    const emu_device *device;
    emu_loaded *made = NULL;
    emu_module *ptx;
    CUcontext handle;
    uint64_t owner;
    int ordinal;

    if (result != CUDA_SUCCESS)
        return result;
    result = emu_allow_unsafe();
    if (result != CUDA_SUCCESS)
        return emu_leave(result);
    device = context->device;
    handle = context->object.handle;
    owner = context->id;
    ordinal = context->ordinal;
    emu_unlock();
    if (!module)
        return CUDA_ERROR_INVALID_VALUE;
    result = decode(device, image, log, &ptx);
    if (result != CUDA_SUCCESS)
        return result;
    if (!place_symbols(ptx, ordinal, owner)) {
        free_symbols(ptx);
        emu_ptx_free(ptx);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    emu_lock();
    context = emu_handle_get(O_CONTEXT, handle);
    if (!context || context->id != owner) { /* destroyed or reset in the meantime, its memory freed */
        free_symbols(ptx);
        emu_ptx_free(ptx);
        return emu_leave(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
    result = add_module(context, ptx, &made);
    if (result == CUDA_SUCCESS)
        *module = made->object.handle;
    return emu_leave(result);
}

CUresult EMU_EXPORT cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned options, int *option, void **value)
{
    const jit_log log = read_options(options, option, value);

    return options && (!option || !value) ? CUDA_ERROR_INVALID_VALUE : load(module, image, &log);
}

CUresult EMU_EXPORT cuModuleLoadData(CUmodule *module, const void *image)
{
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult EMU_EXPORT cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    return cuModuleLoadData(module, image);
}

/* A whole file, with a NUL behind it; NULL with the reason. */
static char *read_file(const char *path, CUresult *result)
{
    FILE *file = path ? fopen(path, "rb") : NULL;
    char *text = NULL;
    long bytes = -1;

    *result = path ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    if (!file)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (bytes = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        text = calloc(1, (size_t)bytes + 8);
        *result = text ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        if (text && fread(text, 1, (size_t)bytes, file) != (size_t)bytes)
            *result = CUDA_ERROR_FILE_NOT_FOUND;
    }
    fclose(file);
    if (*result != CUDA_SUCCESS) {
        free(text);
        text = NULL;
    }
    return text;
}

CUresult EMU_EXPORT cuModuleLoad(CUmodule *module, const char *path)
{
    CUresult result;
    char *text = read_file(path, &result);

    if (text)
        result = cuModuleLoadData(module, text);
    free(text);
    return result;
}

CUresult EMU_EXPORT cuModuleUnload(CUmodule module)
{
    emu_context *context;
    CUresult result = emu_enter(&context);
    emu_loaded *known;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_MODULE, module);
    if (!known || known->library)
        return emu_leave(CUDA_ERROR_INVALID_HANDLE);
    result = emu_allow_unsafe();
    if (result == CUDA_SUCCESS)
        unload(known);
    return emu_leave(result);
}

CUresult EMU_EXPORT cuModuleGetLoadingMode(int *mode)
{
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = 1; /* eager: a module is decoded when it is loaded */
    return CUDA_SUCCESS;
}

/* The function object of ptx->function[index]. */
static emu_kernel_function *function_at(emu_loaded *module, size_t index)
{
    const emu_function *function = &module->ptx->function[index];
    emu_kernel_function *made = module->function[index];

    if (made)
        return made;
    made = calloc(1, sizeof *made);
    if (made)
        made->name = strndup(function->name, function->name_length);
    if (!made || !made->name || !emu_handle_new(&made->object, O_FUNCTION)) {
        if (made)
            free(made->name);
        free(made);
        return NULL;
    }
    made->module = module;
    made->function = function;
    made->settings = (emu_function_settings){SHARED_DEFAULT - (int)function->static_shared, -1};
    if (module->library)
        made->settings = module->library->kernel[index]->settings[module->context->ordinal];
    module->function[index] = made;
    return made;
}

static CUresult find_function(emu_loaded *module, const char *name, emu_kernel_function **function)
{
    const emu_function *known = emu_ptx_function(module->ptx, name);

    if (!known || !known->is_entry)
        return CUDA_ERROR_NOT_FOUND;
    *function = function_at(module, (size_t)(known - module->ptx->function));
    return *function ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* A module of any context by handle. Locked on success. */
static CUresult enter_module(CUmodule handle, emu_loaded **module)
{
    emu_context *context;
    const CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    *module = emu_handle_get(O_MODULE, handle);
    return *module ? CUDA_SUCCESS : emu_leave(CUDA_ERROR_INVALID_HANDLE);
}

CUresult EMU_EXPORT cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    emu_loaded *known;
    emu_kernel_function *found = NULL;
    CUresult result = enter_module(module, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!function || !name)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    result = find_function(known, name, &found);
    *function = found ? found->object.handle : NULL;
    return emu_leave(result);
}

static unsigned count_entries(const emu_module *ptx)
{
    unsigned count = 0;

    for (size_t i = 0; i < ptx->functions; i++)
        count += ptx->function[i].is_entry;
    return count;
}

CUresult EMU_EXPORT cuModuleGetFunctionCount(unsigned *count, CUmodule module)
{
    emu_loaded *known;
    const CUresult result = enter_module(module, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!count)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *count = count_entries(known->ptx);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuModuleEnumerateFunctions(CUfunction *function, unsigned count, CUmodule module)
{
    emu_loaded *known;
    CUresult result = enter_module(module, &known);
    unsigned filled = 0;

    if (result != CUDA_SUCCESS)
        return result;
    if (!function)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < known->ptx->functions && filled < count; i++) {
        emu_kernel_function *one = known->ptx->function[i].is_entry ? function_at(known, i) : NULL;
        if (one)
            function[filled++] = one->object.handle;
    }
    return emu_leave(CUDA_SUCCESS);
}

static CUresult find_global(const emu_module *ptx, const char *name, CUdeviceptr *address, size_t *bytes)
{
    for (size_t i = 0; i < ptx->symbols; i++) {
        const emu_symbol *symbol = &ptx->symbol[i];
        if ((symbol->space != S_GLOBAL && symbol->space != S_CONST) || strlen(name) != symbol->name_length ||
            memcmp(name, symbol->name, symbol->name_length) != 0)
            continue;
        if (address)
            *address = symbol->address;
        if (bytes)
            *bytes = symbol->bytes;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult EMU_EXPORT cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    emu_loaded *known;
    const CUresult result = enter_module(module, &known);

    if (result != CUDA_SUCCESS)
        return result;
    return emu_leave(name ? find_global(known->ptx, name, address, bytes) : CUDA_ERROR_INVALID_VALUE);
}

/* ---- libraries ---------------------------------------------------------------------------------------------------- */

static void free_library(emu_library *library)
{
    for (size_t i = 0; library->kernel && i < library->ptx->functions; i++) {
        emu_kernel *kernel = library->kernel[i];
        if (kernel) {
            emu_handle_drop(&kernel->object);
            free(kernel->name);
            free(kernel);
        }
    }
    emu_handle_drop(&library->object);
    free(library->kernel);
    emu_ptx_free(library->ptx);
    free(library->text);
    free(library);
}

static emu_kernel *make_kernel(emu_library *library, const emu_function *function)
{
    emu_kernel *made = calloc(1, sizeof *made);

    if (made)
        made->name = strndup(function->name, function->name_length);
    if (!made || !made->name || !emu_handle_new(&made->object, O_KERNEL)) {
        if (made)
            free(made->name);
        free(made);
        return NULL;
    }
    made->library = library;
    made->function = function;
    for (int i = 0; i < EMU_MAX_DEVICES; i++)
        made->settings[i] = (emu_function_settings){SHARED_DEFAULT - (int)function->static_shared, -1};
    return made;
}

CUresult EMU_EXPORT cuLibraryLoadData(CUlibrary *library, const void *code, int *jit_option, void **jit_value,
                                      unsigned jit_options, int *option, void **value, unsigned options)
{
    const jit_log log = read_options(jit_options, jit_option, jit_value);
    CUresult result = emu_enter_driver();
    emu_library *made = NULL;
    emu_module *ptx = NULL;

    (void)option; /* whether the code outlives the call: it is copied */
    (void)value;
    (void)options;
    if (result == CUDA_SUCCESS)
        result = emu_leave(emu_allow_unsafe());
    if (result == CUDA_SUCCESS && !library)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = decode(NULL, code, &log, &ptx);
    if (result != CUDA_SUCCESS)
        return result;
    emu_lock();
    made = calloc(1, sizeof *made);
    if (!made) {
        emu_ptx_free(ptx);
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->ptx = ptx;
    made->text = strdup(code);
    made->kernel = calloc(ptx->functions ? ptx->functions : 1, sizeof(emu_kernel *));
    bool is_whole = made->text && made->kernel && emu_handle_new(&made->object, O_LIBRARY);
    for (size_t i = 0; is_whole && i < ptx->functions; i++)
        is_whole = (made->kernel[i] = make_kernel(made, &ptx->function[i])) != NULL;
    if (!is_whole) {
        free_library(made);
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *library = made->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuLibraryLoadFromFile(CUlibrary *library, const char *path, int *jit_option, void **jit_value,
                                          unsigned jit_options, int *option, void **value, unsigned options)
{
    CUresult result;
    char *text = read_file(path, &result);

    if (text)
        result = cuLibraryLoadData(library, text, jit_option, jit_value, jit_options, option, value, options);
    free(text);
    return result;
}

/* A library by handle. Locked on success. */
static CUresult enter_library(CUlibrary handle, emu_library **library)
{
    const CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    *library = emu_handle_get(O_LIBRARY, handle);
    return *library ? CUDA_SUCCESS : emu_leave(CUDA_ERROR_INVALID_HANDLE);
}

CUresult EMU_EXPORT cuLibraryUnload(CUlibrary library)
{
    emu_library *known;
    CUresult result = enter_library(library, &known);
    size_t at = 0;

    if (result != CUDA_SUCCESS)
        return result;
    result = emu_allow_unsafe();
    if (result != CUDA_SUCCESS)
        return emu_leave(result);
    for (emu_object *one; (one = emu_handle_next(&at, O_MODULE));)
        if (((emu_loaded *)one)->library == known)
            unload((emu_loaded *)one);
    free_library(known);
    return emu_leave(CUDA_SUCCESS);
}

/* A context's module of a library, loaded when first asked for. */
static CUresult library_module(emu_context *context, emu_library *library, emu_loaded **module)
{
    static const jit_log nowhere;
    emu_module *ptx;
    CUresult result;
    size_t at = 0;

    for (emu_object *one; (one = emu_handle_next(&at, O_MODULE));) {
        *module = (emu_loaded *)one;
        if ((*module)->library == library && (*module)->context == context)
            return CUDA_SUCCESS;
    }
    result = emu_allow_unsafe();
    if (result == CUDA_SUCCESS)
        result = decode(context->device, library->text, &nowhere, &ptx);
    if (result != CUDA_SUCCESS)
        return result;
    if (!place_symbols(ptx, context->ordinal, context->id)) {
        free_symbols(ptx);
        emu_ptx_free(ptx);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    result = add_module(context, ptx, module);
    if (result == CUDA_SUCCESS)
        (*module)->library = library;
    return result;
}

CUresult EMU_EXPORT cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    emu_library *known;
    CUresult result = enter_library(library, &known);
    const emu_function *function;

    if (result != CUDA_SUCCESS)
        return result;
    if (!kernel || !name)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    function = emu_ptx_function(known->ptx, name);
    if (!function || !function->is_entry)
        return emu_leave(CUDA_ERROR_NOT_FOUND);
    *kernel = known->kernel[function - known->ptx->function]->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuLibraryGetKernelCount(unsigned *count, CUlibrary library)
{
    emu_library *known;
    const CUresult result = enter_library(library, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!count)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *count = count_entries(known->ptx);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuLibraryEnumerateKernels(CUkernel *kernel, unsigned count, CUlibrary library)
{
    emu_library *known;
    const CUresult result = enter_library(library, &known);
    unsigned filled = 0;

    if (result != CUDA_SUCCESS)
        return result;
    if (!kernel)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < known->ptx->functions && filled < count; i++)
        if (known->ptx->function[i].is_entry)
            kernel[filled++] = known->kernel[i]->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

/* The current context's module of a library. Locked on success. */
static CUresult enter_library_module(CUlibrary handle, emu_loaded **module)
{
    emu_context *context;
    emu_library *library;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    library = emu_handle_get(O_LIBRARY, handle);
    result = library ? library_module(context, library, module) : CUDA_ERROR_INVALID_HANDLE;
    return result == CUDA_SUCCESS ? result : emu_leave(result);
}

CUresult EMU_EXPORT cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
    emu_loaded *known;
    const CUresult result = enter_library_module(library, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!module)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *module = known->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    emu_loaded *known;
    const CUresult result = enter_library_module(library, &known);

    if (result != CUDA_SUCCESS)
        return result;
    return emu_leave(name ? find_global(known->ptx, name, address, bytes) : CUDA_ERROR_INVALID_VALUE);
}

/* The function of a kernel in a context. */
static CUresult kernel_function(emu_context *context, const emu_kernel *kernel, emu_kernel_function **function)
{
    emu_loaded *module;
    const CUresult result = library_module(context, kernel->library, &module);

    if (result != CUDA_SUCCESS)
        return result;
    *function = function_at(module, (size_t)(kernel->function - kernel->library->ptx->function));
    return *function ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult emu_function_get(emu_context *context, CUfunction handle, emu_kernel_function **function)
{
    const emu_kernel *kernel;

    *function = emu_handle_get(O_FUNCTION, handle);
    if (*function)
        return CUDA_SUCCESS;
    kernel = emu_handle_get(O_KERNEL, handle);
    return kernel && context ? kernel_function(context, kernel, function) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult EMU_EXPORT cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    emu_context *context;
    emu_kernel_function *found = NULL;
    CUresult result = emu_enter(&context);
    const emu_kernel *known;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_KERNEL, kernel);
    if (!function || !known)
        return emu_leave(known ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
    result = kernel_function(context, known, &found);
    *function = found ? found->object.handle : NULL;
    return emu_leave(result);
}

/* A kernel by handle. Locked on success. */
static CUresult enter_kernel(CUkernel handle, emu_kernel **kernel)
{
    const CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    *kernel = emu_handle_get(O_KERNEL, handle);
    return *kernel ? CUDA_SUCCESS : emu_leave(CUDA_ERROR_INVALID_HANDLE);
}

CUresult EMU_EXPORT cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
    emu_kernel *known;
    const CUresult result = enter_kernel(kernel, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!library)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *library = known->library->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuKernelGetName(const char **name, CUkernel kernel)
{
    emu_kernel *known;
    const CUresult result = enter_kernel(kernel, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!name)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *name = known->name;
    return emu_leave(CUDA_SUCCESS);
}

/* ---- attributes --------------------------------------------------------------------------------------------------- */

int emu_function_threads(const emu_function *function)
{
    const uint32_t *limit = function->reqntid[0] ? function->reqntid : function->maxntid;
    const uint64_t threads = (uint64_t)limit[0] * (limit[1] ? limit[1] : 1) * (limit[2] ? limit[2] : 1);

    return threads && threads < 1024 ? (int)threads : 1024;
}

static CUresult get_attribute(int *value, int attribute, const emu_module *ptx, const emu_function *function,
                              const emu_function_settings *settings, const emu_device *device)
{
    uint64_t constant_bytes = 0;

    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = emu_function_threads(function);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)function->static_shared;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        for (size_t i = 0; i < ptx->symbols; i++)
            constant_bytes += ptx->symbol[i].space == S_CONST ? ptx->symbol[i].bytes : 0;
        *value = (int)constant_bytes;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)function->local_bytes;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = REGISTERS;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *value = ptx->target;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = device->capability;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = settings->max_dynamic;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = settings->carveout;
        return CUDA_SUCCESS;
    default:
        break;
    }
    if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    *value = 0; /* clusters, cache modes */
    return CUDA_SUCCESS;
}

static CUresult set_attribute(int attribute, int value, const emu_function *function, emu_function_settings *settings,
                              const emu_device *device)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > device->shared_per_block_optin - (int)function->static_shared)
            return CUDA_ERROR_INVALID_VALUE;
        settings->max_dynamic = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        settings->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return CUDA_SUCCESS; /* there are no clusters to schedule */
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* A function or kernel in the current context. Locked on success. */
static CUresult enter_function(CUfunction handle, emu_kernel_function **function)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    result = emu_function_get(context, handle, function);
    return result == CUDA_SUCCESS ? result : emu_leave(result);
}

CUresult EMU_EXPORT cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    if (result != CUDA_SUCCESS)
        return result;
    return emu_leave(value ? get_attribute(value, attribute, known->module->ptx, known->function, &known->settings,
                                           known->module->context->device)
                           : CUDA_ERROR_INVALID_VALUE);
}

CUresult EMU_EXPORT cuFuncSetAttribute(CUfunction function, int attribute, int value)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    if (result != CUDA_SUCCESS)
        return result;
    return emu_leave(set_attribute(attribute, value, known->function, &known->settings, known->module->context->device));
}

CUresult EMU_EXPORT cuKernelGetAttribute(int *value, int attribute, CUkernel kernel, CUdevice device)
{
    emu_kernel *known;
    const CUresult result = enter_kernel(kernel, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!value || !emu_device_at(device))
        return emu_leave(value ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE);
    return emu_leave(
        get_attribute(value, attribute, known->library->ptx, known->function, &known->settings[device], emu_device_at(device)));
}

CUresult EMU_EXPORT cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice device)
{
    emu_kernel *known;
    CUresult result = enter_kernel(kernel, &known);
    size_t at = 0;

    if (result != CUDA_SUCCESS)
        return result;
    if (!emu_device_at(device))
        return emu_leave(CUDA_ERROR_INVALID_DEVICE);
    result = set_attribute(attribute, value, known->function, &known->settings[device], emu_device_at(device));
    for (emu_object *one; result == CUDA_SUCCESS && (one = emu_handle_next(&at, O_MODULE));) {
        const emu_loaded *module = (const emu_loaded *)one;
        emu_kernel_function *f =
            module->library == known->library ? module->function[known->function - known->library->ptx->function] : NULL;
        if (f && module->context->ordinal == device)
            f->settings = known->settings[device];
    }
    return emu_leave(result);
}

CUresult EMU_EXPORT cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice device)
{
    emu_kernel *known;
    const CUresult result = enter_kernel(kernel, &known);

    (void)config;
    if (result != CUDA_SUCCESS)
        return result;
    return emu_leave(emu_device_at(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
}

static CUresult param_info(const emu_function *function, size_t index, size_t *offset, size_t *bytes)
{
    if (!offset || index >= function->params)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = function->param[index].offset;
    if (bytes)
        *bytes = function->param[index].bytes;
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *bytes)
{
    emu_kernel *known;
    const CUresult result = enter_kernel(kernel, &known);

    return result == CUDA_SUCCESS ? emu_leave(param_info(known->function, index, offset, bytes)) : result;
}

CUresult EMU_EXPORT cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *bytes)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    return result == CUDA_SUCCESS ? emu_leave(param_info(known->function, index, offset, bytes)) : result;
}

CUresult EMU_EXPORT cuFuncSetCacheConfig(CUfunction function, int config)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    return result == CUDA_SUCCESS ? emu_leave(config < 0 || config > 3 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS) : result;
}

CUresult EMU_EXPORT cuFuncSetSharedMemConfig(CUfunction function, int config)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    return result == CUDA_SUCCESS ? emu_leave(config < 0 || config > 2 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS) : result;
}

CUresult EMU_EXPORT cuFuncGetModule(CUmodule *module, CUfunction function)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!module)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *module = known->module->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuFuncGetName(const char **name, CUfunction function)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!name)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *name = known->name;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuFuncIsLoaded(int *state, CUfunction function)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!state)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *state = 1;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuFuncLoad(CUfunction function)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    return result == CUDA_SUCCESS ? emu_leave(CUDA_SUCCESS) : result;
}

/* ---- occupancy ---------------------------------------------------------------------------------------------------- */

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Blocks that a processor holds at a time. */
static int blocks_at_once(const emu_kernel_function *function, int block_size, size_t dynamic_bytes)
{
    const emu_device *device = function->module->context->device;
    const int warps = (block_size + 31) / 32;
    const int registers = warps * (int)round_up(REGISTERS * 32, REGISTER_UNIT);
    const size_t asked = function->function->static_shared + dynamic_bytes;
    const size_t shared = round_up(asked + (size_t)device->reserved_shared, SHARED_UNIT);
    int blocks = device->blocks_per_processor;

    if (block_size < 1 || block_size > emu_function_threads(function->function) ||
        asked > (size_t)device->shared_per_block_optin)
        return 0;
    if (blocks > device->threads_per_processor / (warps * 32))
        blocks = device->threads_per_processor / (warps * 32);
    if (blocks > device->registers_per_processor / registers)
        blocks = device->registers_per_processor / registers;
    if (shared && (size_t)blocks > (size_t)device->shared_per_processor / shared)
        blocks = (int)((size_t)device->shared_per_processor / shared);
    return blocks;
}

CUresult EMU_EXPORT cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int block_size,
                                                                         size_t dynamic_bytes, unsigned flags)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!blocks || block_size <= 0 || flags > 1)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *blocks = blocks_at_once(known, block_size, dynamic_bytes);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int block_size,
                                                                size_t dynamic_bytes)
{
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, dynamic_bytes, 0);
}

CUresult EMU_EXPORT cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid_size, int *block_size, CUfunction function,
                                                              CUoccupancyB2DSize dynamic_of, size_t dynamic_bytes, int limit,
                                                              unsigned flags)
{
    size_t dynamic[33]; /* of blocks of so many warps: the callback may call the driver, so it is asked first */
    int best = 0, best_size = 0;
    emu_kernel_function *known;
    CUresult result;

    if (!grid_size || !block_size || flags > 1)
        return CUDA_ERROR_INVALID_VALUE;
    for (int warps = 1; warps <= 32; warps++)
        dynamic[warps] = dynamic_of ? dynamic_of(warps * 32) : dynamic_bytes;
    result = enter_function(function, &known);
    if (result != CUDA_SUCCESS)
        return result;
    for (int warps = 32; warps >= 1; warps--) {
        const int size = warps * 32;
        if (limit > 0 && size > limit)
            continue;
        const int threads = blocks_at_once(known, size, dynamic[warps]) * size;
        if (threads > best) {
            best = threads;
            best_size = size;
        }
    }
    *block_size = best_size;
    *grid_size = best_size ? best / best_size * known->module->context->device->processors : 0;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuOccupancyMaxPotentialBlockSize(int *grid_size, int *block_size, CUfunction function,
                                                     CUoccupancyB2DSize dynamic_of, size_t dynamic_bytes, int limit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid_size, block_size, function, dynamic_of, dynamic_bytes, limit, 0);
}

CUresult EMU_EXPORT cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction function, int blocks, int block_size)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);
    const emu_device *device;
    size_t each, taken;

    if (result != CUDA_SUCCESS)
        return result;
    device = known->module->context->device;
    if (!bytes || blocks <= 0 || block_size <= 0 || blocks > device->blocks_per_processor)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    each = (size_t)device->shared_per_processor / (size_t)blocks / SHARED_UNIT * SHARED_UNIT;
    taken = known->function->static_shared + (size_t)device->reserved_shared;
    if (each > (size_t)device->shared_per_block_optin + (size_t)device->reserved_shared)
        each = (size_t)device->shared_per_block_optin + (size_t)device->reserved_shared;
    *bytes = each > taken ? each - taken : 0;
    return emu_leave(CUDA_SUCCESS);
}
