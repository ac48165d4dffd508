/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths: report the kernel that a launch used, if the source leaves that choice to the device.
 */
#include "error.h"
#include "kernel.h"
#include "scope.h"

static const char *const names[] = {[TJ_PATH_F16] = "f16x3", [TJ_PATH_BF16] = "bf16x6", [TJ_PATH_F32] = "f32"};

const char *tj_path_name(tj_path path)
{
    return path >= TJ_PATH_F16 && path <= TJ_PATH_F32 ? names[path] : "?";
}

int64_t tj_kernel_path_count(const tj_kernel *kernel)
{
    return kernel ? kernel->form.paths : 0;
}

static tj_status check(const tj_kernel *kernel, size_t count, tj_error *err)
{
    const char *const name = tj_product_step(&kernel->form)->kernel;

    if (kernel->form.paths == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s has one way to multiply: only kernels of TJ_COMPUTE_F32_SPLIT for which tj_kernel_path_count is not "
                       "0 choose among several",
                       name);
    if (count >= 1 && count <= (size_t)kernel->form.paths)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "count is %lld: a launch of %s chooses for %d products, ask for 1 to %d",
                   (long long)count, name, kernel->form.paths, kernel->form.paths);
}

tj_status tj_kernel_copy_paths(const tj_kernel *kernel, const void *workspace, int32_t *paths, size_t count,
                               struct CUstream_st *stream, tj_error *err)
{
    if (TJ_HAS_NULL(err, kernel, workspace, paths))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_scope scope;
    CUresult result;
    tj_status status = check(kernel, count, err);

    if (status == TJ_OK)
        status = tj_scope_enter(kernel->gpu, &scope, err);
    if (status != TJ_OK)
        return status;
    if (scope.context_id == kernel->context_id) {
        result = kernel->driver->api.memcpy_to_host(paths, (CUdeviceptr)(uintptr_t)workspace, count * sizeof *paths, stream);
        if (result != CUDA_SUCCESS)
            status = tj_driver_fail(kernel->driver, result, err, "cannot copy the paths of %s from the workspace at %p",
                                    tj_product_step(&kernel->form)->kernel, workspace);
    } else
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "%s was loaded in another CUDA context than the current one: make that current",
                         tj_product_step(&kernel->form)->kernel);
    tj_scope_leave(&scope);
    return status;
}
