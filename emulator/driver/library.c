/* SPDX-License-Identifier: Apache-2.0 */
/* library: a library is an image; each context that uses it loads its own module. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

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
    free(library->image);
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
        made->settings[i] = emu_settings_of(function);
    return made;
}

static CUresult load(CUlibrary *library, const void *image, size_t bytes, int *jit_option, void **jit_value,
                     unsigned jit_options)
{
    const emu_jit_log log = emu_jit_options(jit_options, jit_option, jit_value);
    CUresult result = emu_enter_driver();
    emu_library *made = NULL;
    emu_module *ptx = NULL;

    if (result == CUDA_SUCCESS)
        result = emu_leave(emu_allow_unsafe());
    if (result == CUDA_SUCCESS && !library)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = emu_image_decode(NULL, image, bytes, &log, &ptx);
    if (result != CUDA_SUCCESS)
        return result;
    emu_lock();
    made = calloc(1, sizeof *made);
    if (!made) {
        emu_ptx_free(ptx);
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->ptx = ptx;
    made->image_bytes = bytes;
    made->image = emu_image_copy(image, &made->image_bytes);
    made->kernel = calloc(ptx->functions ? ptx->functions : 1, sizeof(emu_kernel *));
    bool is_whole = made->image && made->kernel && emu_handle_new(&made->object, O_LIBRARY);
    for (size_t i = 0; is_whole && i < ptx->functions; i++)
        is_whole = (made->kernel[i] = make_kernel(made, &ptx->function[i])) != NULL;
    if (!is_whole) {
        free_library(made);
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *library = made->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuLibraryLoadData(CUlibrary *library, const void *code, int *jit_option, void **jit_value,
                                      unsigned jit_options, int *option, void **value, unsigned options)
{
    (void)option, (void)value, (void)options; /* options say whether the code outlives the call; it is copied in any case */
    return load(library, code, SIZE_MAX, jit_option, jit_value, jit_options);
}

CUresult EMU_EXPORT cuLibraryLoadFromFile(CUlibrary *library, const char *path, int *jit_option, void **jit_value,
                                          unsigned jit_options, int *option, void **value, unsigned options)
{
    CUresult result;
    size_t bytes;
    void *image = emu_file_read(path, &bytes, &result);

    (void)option, (void)value, (void)options;
    if (image)
        result = load(library, image, bytes, jit_option, jit_value, jit_options);
    free(image);
    return result;
}

CUresult EMU_EXPORT cuLibraryUnload(CUlibrary library)
{
    CUresult result;
    emu_library *known = emu_enter_object(O_LIBRARY, library, &result);
    size_t at = 0;

    if (!known)
        return result;
    result = emu_allow_unsafe();
    if (result != CUDA_SUCCESS)
        return emu_leave(result);
    for (emu_object *one; (one = emu_handle_next(&at, O_MODULE));)
        if (((emu_loaded *)one)->library == known)
            emu_module_unload((emu_loaded *)one);
    free_library(known);
    return emu_leave(CUDA_SUCCESS);
}

/* Return a context's module of a library; load it on first use. */
static CUresult library_module(emu_context *context, emu_library *library, emu_loaded **module)
{
    static const emu_jit_log nowhere;
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
        result = emu_image_decode(context->device, library->image, library->image_bytes, &nowhere, &ptx);
    if (result != CUDA_SUCCESS)
        return result;
    result = emu_module_add(context, ptx, module);
    if (result == CUDA_SUCCESS)
        (*module)->library = library;
    return result;
}

CUresult EMU_EXPORT cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    CUresult result;
    const emu_library *known = emu_enter_object(O_LIBRARY, library, &result);
    const emu_function *function;

    if (!known)
        return result;
    if (!kernel || !name)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    function = emu_ptx_function(known->ptx, name);
    if (!function || !function->is_entry)
        return emu_leave(CUDA_ERROR_NOT_FOUND);
    if (emu_function_allowed(function) != CUDA_SUCCESS)
        return emu_leave(CUDA_ERROR_NOT_SUPPORTED);
    *kernel = known->kernel[function - known->ptx->function]->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuLibraryGetKernelCount(unsigned *count, CUlibrary library)
{
    CUresult result;
    const emu_library *known = emu_ask_object(O_LIBRARY, library, count, &result);

    if (!known)
        return result;
    *count = emu_module_entries(known->ptx);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuLibraryEnumerateKernels(CUkernel *kernel, unsigned count, CUlibrary library)
{
    CUresult result;
    const emu_library *known = emu_ask_object(O_LIBRARY, library, kernel, &result);
    unsigned filled = 0;

    if (!known)
        return result;
    for (size_t i = 0; i < known->ptx->functions && filled < count; i++)
        if (known->ptx->function[i].is_entry)
            kernel[filled++] = known->kernel[i]->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

/* Return the current context's module of a library. Locked on success. */
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
    return emu_leave(name ? emu_module_global(known->ptx, name, address, bytes) : CUDA_ERROR_INVALID_VALUE);
}

/* Return the function of a kernel in a context. */
static CUresult kernel_function(emu_context *context, const emu_kernel *kernel, emu_kernel_function **function)
{
    const emu_function *known;
    emu_loaded *module;
    const CUresult result = library_module(context, kernel->library, &module);

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_ptx_function(module->ptx, kernel->name); /* the PTX for another device may lack or reorder it */
    if (!known)
        return CUDA_ERROR_NOT_FOUND;
    *function = emu_module_function(module, (size_t)(known - module->ptx->function));
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

CUresult EMU_EXPORT cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
    CUresult result;
    const emu_kernel *known = emu_ask_object(O_KERNEL, kernel, library, &result);

    if (!known)
        return result;
    *library = known->library->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuKernelGetName(const char **name, CUkernel kernel)
{
    CUresult result;
    const emu_kernel *known = emu_ask_object(O_KERNEL, kernel, name, &result);

    if (!known)
        return result;
    *name = known->name;
    return emu_leave(CUDA_SUCCESS);
}
