/* SPDX-License-Identifier: Apache-2.0 */
#include "custom_kernel.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "request.h"
#include "scope.h"

/* ---- load --------------------------------------------------------------------------------------------------------- */

static const char *name_of(const tj_custom_kernel *kernel)
{
    return tj_source_kernel(kernel->source);
}

static tj_status find_constant(tj_custom_kernel *kernel, size_t index, tj_error *err)
{
    const tj_kernel *loaded = kernel->loaded;
    const tj_driver_api *api = &loaded->driver->api;
    const tj_custom_argument *a = &kernel->custom->spec.argument[index];
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    int64_t count = 0;
    size_t bytes = 0;
    tj_status status = tj_custom_count(kernel->custom, index, kernel->request.value, &count, err);

    if (status != TJ_OK)
        return status;
    kernel->constant[index].bytes = (size_t)count * tj_type_bytes((tj_type)a->type);
    if (loaded->library && api->library_get_global)
        result = api->library_get_global(&kernel->constant[index].address, &bytes, loaded->library, a->name);
    else if (loaded->module && api->module_get_global)
        result = api->module_get_global(&kernel->constant[index].address, &bytes, loaded->module, a->name);
    if (result == CUDA_ERROR_NOT_FOUND)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s has no constant %s: declare it extern \"C\" __constant__ ahead of the kernel, which must use it",
                       name_of(kernel), a->name);
    if (result != CUDA_SUCCESS)
        return tj_driver_fail(loaded->driver, result, err, "cannot find the constant %s of %s", a->name, name_of(kernel));
    if (bytes < kernel->constant[index].bytes)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the constant %s of %s has %zu bytes, and its count, %.100s, needs %zu",
                       a->name, name_of(kernel), bytes, a->count, kernel->constant[index].bytes);
    return TJ_OK;
}

static tj_status find_constants(tj_host *host, tj_custom_kernel *kernel, tj_error *err)
{
    tj_scope scope;
    tj_status status = tj_scope_enter(&host->gpu, &scope, err);

    if (status != TJ_OK)
        return status;
    for (size_t i = 0; status == TJ_OK && i < kernel->custom->spec.argument_count; i++)
        if (kernel->custom->spec.argument[i].kind == TJ_CUSTOM_CONSTANT)
            status = find_constant(kernel, i, err);
    tj_scope_leave(&scope);
    return status;
}

/* Parameters that the source lacks are an error of the spec here; elsewhere they would be a bug of the library. */
static tj_status load_code(tj_host *host, tj_custom_kernel *kernel, tj_error *err)
{
    const tj_problem any = TJ_PROBLEM_INIT(1, 1, 1, TJ_F32);
    tj_request unused;
    const tj_code code = {.target = tj_image_target(kernel->image),
                          .compiler = tj_image_compiler(kernel->image),
                          .ptx = tj_image_ptx(kernel->image, NULL),
                          .cubin = tj_image_cubin(kernel->image, NULL)};
    tj_error why = {TJ_OK, ""};
    tj_status status;

    tj_request_derive(&any, &unused);
    status = tj_kernel_load_code(host, tj_source_launch(kernel->source), &unused.problem, &code, &kernel->loaded, &why);

    if (status == TJ_ERR_INTERNAL)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s (the launch form follows from spec.argument of family %s)",
                       why.message, kernel->custom->spec.name);
    if (status != TJ_OK && err)
        *err = why;
    return status;
}

static void prepare(tj_custom_kernel *kernel)
{
    const tj_custom_spec *spec = &kernel->custom->spec;

    for (size_t i = 0; i < spec->extent_count; i++)
        kernel->passed[i] = (int32_t)kernel->request.value[i]; /* used of those that fit (tj_custom_settle) */
    for (size_t i = 0; i < spec->argument_count; i++) {
        const size_t element = tj_type_bytes((tj_type)spec->argument[i].type);
        const size_t align = (size_t)spec->argument[i].align > element ? (size_t)spec->argument[i].align : element;

        kernel->misaligned[i] = align > 0 ? align - 1 : 0;
        kernel->extent_of[i] = -1;
        for (size_t e = 0; spec->argument[i].kind == TJ_CUSTOM_EXTENT && e < spec->extent_count; e++)
            if (strcmp(kernel->custom->name[e], spec->argument[i].name) == 0)
                kernel->extent_of[i] = (int32_t)e;
    }
}

tj_status tj_custom_host_load(tj_host *host, const int64_t *extent, tj_source *source, tj_image *image, tj_custom_kernel **out,
                              tj_error *err)
{
    tj_custom_kernel *kernel = calloc(1, sizeof *kernel);
    tj_status status;

    *out = NULL;
    if (!kernel)
        return tj_fail_memory(err, "a kernel");
    kernel->source = source;
    kernel->image = image;
    status = tj_custom_of(tj_source_config(source)->family, &kernel->custom, err);
    if (status == TJ_OK)
        status = tj_custom_settle(kernel->custom, tj_source_config(source), extent, &kernel->request, err);
    if (status == TJ_OK)
        status = load_code(host, kernel, err);
    if (status == TJ_OK)
        status = find_constants(host, kernel, err);
    if (status != TJ_OK) {
        kernel->source = NULL; /* the caller's still */
        kernel->image = NULL;
        tj_custom_kernel_free(kernel);
        return status;
    }
    prepare(kernel);
    *out = kernel;
    return TJ_OK;
}

void tj_custom_kernel_free(tj_custom_kernel *kernel)
{
    if (!kernel)
        return;
    tj_kernel_free(kernel->loaded);
    tj_image_free(kernel->image);
    tj_source_free(kernel->source);
    free(kernel);
}

const tj_source *tj_custom_source(const tj_custom_kernel *kernel)
{
    return kernel ? kernel->source : NULL;
}

/* ---- launch ------------------------------------------------------------------------------------------------------- */

/* Take extents other than those of the load, among the ones passed as arguments. */
static tj_status settle(const tj_custom_kernel *kernel, const int64_t *extent, tj_custom_request *request, int32_t *passed,
                        tj_error *err)
{
    const tj_custom *custom = kernel->custom;
    const int64_t most = kernel->loaded->step[0].max_dynamic_shared;
    tj_status status;

    for (size_t i = 0; i < custom->spec.extent_count; i++)
        if (!custom->is_passed[i] && extent[i] != kernel->request.value[i])
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "%s was made for %s %lld, and not for %lld: load another kernel, or pass %s "
                           "as an argument, of the kind extent",
                           name_of(kernel), custom->name[i], (long long)kernel->request.value[i], (long long)extent[i],
                           custom->name[i]);
    status = tj_custom_settle(custom, tj_source_config(kernel->source), extent, request, err);
    if (status != TJ_OK)
        return status;
    if (request->shared_bytes > most)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "%s was loaded for at most %lld bytes of dynamic shared memory, and these extents need %lld: load it for "
            "the largest ones",
            name_of(kernel), (long long)most, (long long)request->shared_bytes);
    if (memcmp(request->block, kernel->request.block, sizeof request->block) != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s was loaded for blocks of other sizes than these extents need: load another kernel", name_of(kernel));
    for (size_t i = 0; i < custom->spec.extent_count; i++)
        passed[i] = (int32_t)extent[i];
    return TJ_OK;
}

static tj_status bad_address(const tj_custom_kernel *kernel, size_t index, const void *address, tj_error *err)
{
    const char *name = kernel->custom->spec.argument[index].name;

    if (!address)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "argument %s of %s is NULL: it must be a device address", name,
                       name_of(kernel));
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "argument %s of %s is at %p, and must be at a multiple of %zu bytes", name,
                   name_of(kernel), address, (size_t)kernel->misaligned[index] + 1);
}

/* Collect the address of each parameter's value, in the order of the kernel. */
static tj_status collect(const tj_custom_kernel *kernel, const tj_custom_value *value, const int32_t *passed, void **parameter,
                         tj_error *err)
{
    const tj_custom *custom = kernel->custom;
    size_t count = 0;

    for (size_t i = 0; i < custom->spec.argument_count; i++) {
        const tj_custom_argument *a = &custom->spec.argument[i];

        if (a->kind == TJ_CUSTOM_CONSTANT)
            continue;
        if (tj_custom_is_pointer(a) && (!value[i].address || ((uintptr_t)value[i].address & kernel->misaligned[i])))
            return bad_address(kernel, i, value[i].address, err);
        parameter[count++] = (void *)(uintptr_t)(kernel->extent_of[i] >= 0 ? (const void *)&passed[kernel->extent_of[i]]
                                                                           : (const void *)&value[i]);
    }
    return TJ_OK;
}

static tj_status launch(const tj_custom_kernel *kernel, const int64_t *extent, const tj_custom_value *value, CUstream stream,
                        tj_error *err)
{
    const tj_custom_request *request = &kernel->request;
    const int32_t *passed = kernel->passed;
    int32_t passed_now[TJ_CUSTOM_MAX_EXTENTS];
    void *parameter[TJ_CUSTOM_MAX_ARGUMENTS];
    tj_custom_request now;
    tj_status status = TJ_OK;
    CUresult result;

    if (extent && memcmp(extent, request->value, kernel->custom->spec.extent_count * sizeof *extent) != 0) {
        status = settle(kernel, extent, &now, passed_now, err);
        request = &now;
        passed = passed_now;
    }
    if (status == TJ_OK)
        status = collect(kernel, value, passed, parameter, err);
    if (status != TJ_OK)
        return status;
    result = kernel->loaded->driver->api.launch_kernel(
        kernel->loaded->step[0].function, request->grid[0], request->grid[1], request->grid[2], request->block[0],
        request->block[1], request->block[2], (unsigned int)request->shared_bytes, stream, parameter, NULL);
    if (result != CUDA_SUCCESS)
        return tj_driver_fail(kernel->loaded->driver, result, err, "cannot launch %s with %u x %u x %u blocks of %u x %u x %u",
                              name_of(kernel), request->grid[0], request->grid[1], request->grid[2], request->block[0],
                              request->block[1], request->block[2]);
    return TJ_OK;
}

/* Enter the kernel's own CUDA context, which must be the current one. */
static tj_status enter(const tj_custom_kernel *kernel, tj_scope *scope, tj_error *err)
{
    tj_status status = tj_scope_enter(kernel->loaded->gpu, scope, err);

    if (status != TJ_OK || scope->context_id == kernel->loaded->context_id)
        return status;
    status =
        tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                "%s was loaded in another CUDA context than the current one (or that one was destroyed): make it current, or "
                "load the kernel in this one",
                name_of(kernel));
    tj_scope_leave(scope);
    return status;
}

tj_status tj_custom_launch(const tj_custom_kernel *kernel, const int64_t *extent, const tj_custom_value *value, CUstream stream,
                           tj_error *err)
{
    if (TJ_HAS_NULL(err, kernel, value))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_scope scope;
    tj_status status = enter(kernel, &scope, err);

    if (status != TJ_OK)
        return status;
    status = launch(kernel, extent, value, stream, err);
    tj_scope_leave(&scope);
    return status;
}

tj_status tj_custom_set_constant(const tj_custom_kernel *kernel, const char *name, const void *source, int is_on_device,
                                 CUstream stream, tj_error *err)
{
    if (TJ_HAS_NULL(err, kernel, name, source))
        return TJ_ERR_INVALID_ARGUMENT;
    const tj_custom_spec *spec = &kernel->custom->spec;
    const tj_driver_api *api = &kernel->loaded->driver->api;
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    size_t index = 0;
    tj_scope scope;
    tj_status status;

    while (index < spec->argument_count &&
           (spec->argument[index].kind != TJ_CUSTOM_CONSTANT || strcmp(spec->argument[index].name, name) != 0))
        index++;
    if (index == spec->argument_count)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "family %s has no constant \"%.40s\"", spec->name, name);
    status = enter(kernel, &scope, err);
    if (status != TJ_OK)
        return status;
    if (is_on_device && api->memcpy_on_device)
        result = api->memcpy_on_device(kernel->constant[index].address, (CUdeviceptr)(uintptr_t)source,
                                       kernel->constant[index].bytes, stream);
    else if (!is_on_device && api->memcpy_to_device)
        result = api->memcpy_to_device(kernel->constant[index].address, source, kernel->constant[index].bytes, stream);
    if (result != CUDA_SUCCESS)
        status = tj_driver_fail(kernel->loaded->driver, result, err, "cannot set the constant %s of %s", name, name_of(kernel));
    tj_scope_leave(&scope);
    return status;
}
