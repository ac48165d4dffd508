/* SPDX-License-Identifier: Apache-2.0 */
/* module: load modules from PTX into a context. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "memory.h"

static void free_symbols(const emu_module *ptx)
{
    for (size_t i = 0; i < ptx->symbols; i++)
        if ((ptx->symbol[i].space == S_GLOBAL || ptx->symbol[i].space == S_CONST) && ptx->symbol[i].address)
            emu_memory_free(ptx->symbol[i].address, M_MODULE);
}

/* Allocate and initialise the variables of a module. */
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

void emu_module_unload(emu_loaded *module)
{
    for (size_t i = 0; i < module->ptx->functions; i++) {
        emu_kernel_function *f = module->function[i];
        if (f) {
            emu_handle_drop(&f->object);
            free(f->name);
            free(f->legacy);
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
            emu_module_unload((emu_loaded *)one);
}

CUresult emu_module_add(emu_context *context, emu_module *ptx, emu_loaded **module)
{
    emu_loaded *made = calloc(1, sizeof *made);

    if (made)
        made->function = calloc(ptx->functions ? ptx->functions : 1, sizeof *made->function);
    if (!made || !made->function || !place_symbols(ptx, context->ordinal, context->id) ||
        !emu_handle_new(&made->object, O_MODULE)) {
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

static CUresult load(CUmodule *module, const void *image, size_t bytes, const emu_jit_log *log)
{
    emu_context *context;
    CUresult result = emu_enter(&context);
    const emu_device *device;
    emu_loaded *made = NULL;
    emu_module *ptx;
    CUcontext handle;
    uint64_t id;

    if (result != CUDA_SUCCESS)
        return result;
    result = emu_allow_unsafe();
    if (result != CUDA_SUCCESS)
        return emu_leave(result);
    device = context->device;
    handle = context->object.handle;
    id = context->id;
    emu_unlock();
    if (!module)
        return CUDA_ERROR_INVALID_VALUE;
    result = emu_image_decode(device, image, bytes, log, &ptx);
    if (result != CUDA_SUCCESS)
        return result;
    emu_lock();
    context = emu_handle_get(O_CONTEXT, handle);
    if (!context || context->id != id) { /* destroyed or reset meanwhile */
        emu_ptx_free(ptx);
        return emu_leave(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    }
    result = emu_module_add(context, ptx, &made);
    if (result == CUDA_SUCCESS)
        *module = made->object.handle;
    return emu_leave(result);
}

CUresult EMU_EXPORT cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned options, int *option, void **value)
{
    const emu_jit_log log = emu_jit_options(options, option, value);

    return options && (!option || !value) ? CUDA_ERROR_INVALID_VALUE : load(module, image, SIZE_MAX, &log);
}

CUresult EMU_EXPORT cuModuleLoad(CUmodule *module, const char *path)
{
    const emu_jit_log nowhere = {NULL, 0, NULL, NULL, NULL};
    CUresult result;
    size_t bytes;
    void *image = emu_file_read(path, &bytes, &result);

    if (image)
        result = load(module, image, bytes, &nowhere);
    free(image);
    return result;
}

CUresult EMU_EXPORT cuModuleUnload(CUmodule module)
{
    CUresult result;
    emu_loaded *known = emu_enter_object(O_MODULE, module, &result);

    if (!known)
        return result;
    if (known->library)
        return emu_leave(CUDA_ERROR_INVALID_HANDLE);
    result = emu_allow_unsafe();
    if (result == CUDA_SUCCESS)
        emu_module_unload(known);
    return emu_leave(result);
}

CUresult EMU_EXPORT cuModuleGetLoadingMode(int *mode)
{
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = 1; /* eager: a module is decoded when it is loaded */
    return CUDA_SUCCESS;
}

emu_function_settings emu_settings_of(const emu_function *function)
{
    return (emu_function_settings){EMU_SHARED_DEFAULT - (int)function->static_shared, -1};
}

int emu_function_threads(const emu_function *function)
{
    const uint32_t *limit = function->reqntid[0] ? function->reqntid : function->maxntid;
    const uint64_t threads = (uint64_t)limit[0] * (limit[1] ? limit[1] : 1) * (limit[2] ? limit[2] : 1);

    return threads && threads < 1024 ? (int)threads : 1024;
}

/* Find a kernel by name; NULL: not found. */
static const emu_kernel *find_kernel(const emu_library *library, const char *name)
{
    const emu_function *function = emu_ptx_function(library->ptx, name);

    return function ? library->kernel[function - library->ptx->function] : NULL;
}

emu_kernel_function *emu_module_function(emu_loaded *module, size_t index)
{
    const emu_function *function = &module->ptx->function[index];
    emu_kernel_function *made = module->function[index];
    const emu_kernel *kernel;

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
    made->settings = emu_settings_of(function);
    kernel = module->library ? find_kernel(module->library, made->name) : NULL;
    if (kernel)
        made->settings = kernel->settings[module->context->ordinal];
    module->function[index] = made;
    return made;
}

CUresult emu_function_allowed(const emu_function *function)
{
    if (!function->refusal)
        return CUDA_SUCCESS;
    emu_driver_log("%.*s cannot be run: %s", (int)function->name_length, function->name, function->refusal);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult find_function(emu_loaded *module, const char *name, emu_kernel_function **function)
{
    const emu_function *known = emu_ptx_function(module->ptx, name);

    if (!known || !known->is_entry)
        return CUDA_ERROR_NOT_FOUND;
    if (emu_function_allowed(known) != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_SUPPORTED;
    *function = emu_module_function(module, (size_t)(known - module->ptx->function));
    return *function ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult EMU_EXPORT cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CUresult result;
    emu_loaded *known = emu_enter_object(O_MODULE, module, &result);
    emu_kernel_function *found = NULL;

    if (!known)
        return result;
    if (!function || !name)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    result = find_function(known, name, &found);
    *function = found ? found->object.handle : NULL;
    return emu_leave(result);
}

unsigned emu_module_entries(const emu_module *ptx)
{
    unsigned count = 0;

    for (size_t i = 0; i < ptx->functions; i++)
        count += ptx->function[i].is_entry;
    return count;
}

CUresult EMU_EXPORT cuModuleGetFunctionCount(unsigned *count, CUmodule module)
{
    CUresult result;
    const emu_loaded *known = emu_ask_object(O_MODULE, module, count, &result);

    if (!known)
        return result;
    *count = emu_module_entries(known->ptx);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuModuleEnumerateFunctions(CUfunction *function, unsigned count, CUmodule module)
{
    CUresult result;
    emu_loaded *known = emu_ask_object(O_MODULE, module, function, &result);
    unsigned filled = 0;

    if (!known)
        return result;
    for (size_t i = 0; i < known->ptx->functions && filled < count; i++) {
        emu_kernel_function *one = known->ptx->function[i].is_entry ? emu_module_function(known, i) : NULL;
        if (one)
            function[filled++] = one->object.handle;
    }
    return emu_leave(CUDA_SUCCESS);
}

CUresult emu_module_global(const emu_module *ptx, const char *name, CUdeviceptr *address, size_t *bytes)
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
    CUresult result;
    const emu_loaded *known = emu_ask_object(O_MODULE, module, name, &result);

    return known ? emu_leave(emu_module_global(known->ptx, name, address, bytes)) : result;
}
