/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel: load an image into a CUDA context, query the driver's facts about it, and unload it.
 *
 * Loading is complete when the call returns: with lazy loading the driver would otherwise put it off until the first launch,
 * where it costs milliseconds, breaks a stream capture, and can deadlock after a kernel that waits.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "error.h"
#include "events.h"
#include "scope.h"
#include "sized.h"
#include "spills.h"
#include "targets.h"
#include "tree.h"

enum { JIT_LOG_BYTES = 4096, MAX_CLUSTER = 16 };

/* ---- which code --------------------------------------------------------------------------------------------------- */

struct target {
    int cc;          /* 90 */
    char suffix;     /* 'a': this device only; 'f': this family; 0 */
    bool is_virtual; /* compute_90 */
};

static bool parse_target(const char *text, struct target *target)
{
    int digits = 0;

    memset(target, 0, sizeof *target);
    target->is_virtual = strncmp(text, "compute_", 8) == 0;
    if (!target->is_virtual && strncmp(text, "sm_", 3) != 0)
        return false;
    for (text = strchr(text, '_') + 1; *text >= '0' && *text <= '9' && digits < 4; text++, digits++)
        target->cc = 10 * target->cc + (*text - '0');
    if (*text == 'a' || *text == 'f')
        target->suffix = *text++;
    return digits >= 2 && *text == '\0';
}

/*
 * A CUBIN for exactly this device, else PTX that it can run, which is all the emulator reads; a stripped image has none, and its CUBIN
 * serves the family if the target does. NULL: none.
 */
static const void *choose_code(const tj_code *code, const struct target *target, int device_cc, bool is_emulator, bool *is_ptx)
{
    bool ptx_fits = target->suffix == 'a'   ? target->cc == device_cc
                    : target->suffix == 'f' ? target->cc / 10 == device_cc / 10 && target->cc <= device_cc
                                            : target->cc <= device_cc;

    *is_ptx = false;
    if (code->cubin && !target->is_virtual && target->cc == device_cc && !is_emulator)
        return code->cubin;
    *is_ptx = true;
    if (ptx_fits && *code->ptx)
        return code->ptx;
    *is_ptx = false;
    return ptx_fits && target->suffix == 'f' && !target->is_virtual && !is_emulator ? code->cubin : NULL;
}

/* The source's name in messages. */
static const char *name_of(const tj_kernel *kernel)
{
    return tj_product_step(&kernel->form)->kernel;
}

/* No driver compiles PTX of a CUDA newer than its own. The compiler begins with its version, "13.0 V13.0.88". */
static tj_status check_ptx_version(const tj_kernel *kernel, const tj_code *code, tj_error *err)
{
    const int driver = kernel->driver->version;
    char *rest = NULL;
    const long major = strtol(code->compiler, &rest, 10), minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;

    if (1000 * major + 10 * minor <= driver)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_UNSUPPORTED,
                   "the image of %s for %s can only run on device %d as PTX, and the PTX of NVRTC %ld.%ld is newer than the "
                   "driver, which serves CUDA %d.%d: compile for the device's own target, update the driver, or use the NVRTC "
                   "of CUDA %d.%d",
                   name_of(kernel), code->target, kernel->device, major, minor, driver / 1000, driver % 1000 / 10,
                   driver / 1000, driver % 1000 / 10);
}

/* ---- loading ------------------------------------------------------------------------------------------------------ */

/* Return the first line of the PTX compiler's log, or nothing. */
static const char *first_line(char *log)
{
    char *end = strchr(log, '\n');

    if (end)
        *end = '\0';
    return log;
}

static bool has_libraries(const tj_driver_api *api)
{
    return api->library_load && api->library_unload && api->library_get_kernel && api->kernel_get_function;
}

static tj_status load_failed(const tj_kernel *kernel, CUresult result, const tj_code *code, const char *name, const char *log,
                             tj_error *err)
{
    if (result == CUDA_ERROR_NOT_FOUND)
        return tj_fail(err, TJ_ERR_INTERNAL, "the image for %s holds no kernel %s", code->target, name);
    return tj_driver_fail(kernel->driver, result, err,
                          "cannot load %s (%s, NVRTC %s) on device %d with a driver of CUDA %d.%d%s%.100s", name, code->target,
                          code->compiler, kernel->device, kernel->driver->version / 1000, kernel->driver->version % 1000 / 10,
                          *log ? ": " : "", log);
}

static CUresult find_function(tj_kernel *kernel, const char *name, CUfunction *function)
{
    const tj_driver_api *api = &kernel->driver->api;
    CUkernel handle = NULL;
    CUresult result;

    if (kernel->module)
        result = api->module_get_function(function, kernel->module, name);
    else if ((result = api->library_get_kernel(&handle, kernel->library, name)) == CUDA_SUCCESS)
        result = api->kernel_get_function(function, handle);
    return result == CUDA_SUCCESS && api->func_load ? api->func_load(*function) : result;
}

/* The library API (12.0) where there is one: its code serves every context, and unloading needs none to be current. */
static tj_status load_code(tj_kernel *kernel, const tj_code *code, const void *bytes, bool is_ptx, tj_error *err)
{
    const tj_driver_api *api = &kernel->driver->api;
    char log[JIT_LOG_BYTES] = "";
    int option[2] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[2] = {log, (void *)(uintptr_t)(sizeof log - 1)};
    const unsigned int options = is_ptx ? 2 : 0;
    const char *name = name_of(kernel);
    CUresult result = has_libraries(api) ? api->library_load(&kernel->library, bytes, option, value, options, NULL, NULL, 0)
                                         : api->module_load(&kernel->module, bytes, options, option, value);

    for (int i = 0; result == CUDA_SUCCESS && i < kernel->form.steps; i++)
        result = find_function(kernel, name = kernel->form.step[i].kernel, &kernel->step[i].function);
    return result == CUDA_SUCCESS ? TJ_OK : load_failed(kernel, result, code, name, first_line(log), err);
}

static tj_status load_beside_captures(tj_kernel *kernel, const tj_code *code, const void *bytes, bool is_ptx, tj_error *err)
{
    int mode;
    CUresult result = tj_driver_ignore_captures(kernel->driver, &mode);
    tj_status status;

    if (result != CUDA_SUCCESS)
        return tj_driver_fail(kernel->driver, result, err, "cannot relax this thread's capture mode for a load");
    status = load_code(kernel, code, bytes, is_ptx, err);
    result = tj_driver_obey_captures(kernel->driver, mode);
    if (status == TJ_OK && result != CUDA_SUCCESS)
        status = tj_driver_fail(kernel->driver, result, err, "cannot restore this thread's capture mode after a load");
    return status;
}

/* Asking for attributes also makes drivers without cuFuncLoad load the function now. */
static tj_status read_facts(tj_kernel *kernel, int index, tj_error *err)
{
    tj_kernel_facts *facts = &kernel->step[index].facts;
    const struct {
        int number;
        int *value;
    } wanted[] = {
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &facts->registers},
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &facts->static_shared_bytes},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &facts->local_bytes},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &facts->constant_bytes},
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &facts->max_threads_per_block},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, &facts->ptx_version},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &facts->binary_version},
    };

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        CUresult result =
            kernel->driver->api.func_get_attribute(wanted[i].value, wanted[i].number, kernel->step[index].function);
        if (result != CUDA_SUCCESS)
            return tj_driver_fail(kernel->driver, result, err, "cannot ask %s for attribute %d",
                                  kernel->form.step[index].kernel, wanted[i].number);
    }
    return TJ_OK;
}

/* ---- does it fit -------------------------------------------------------------------------------------------------- */

/*
 * The compiled kernel's parameters must be those that the launch form says, or a launch would read past its arguments. With a
 * tensor map among them, offsets cannot be compared: drivers count from the begin of the constant bank, which is not aligned to
 * the map's 128 bytes.
 */
static tj_status check_parameters(const tj_kernel *kernel, int step, tj_error *err)
{
    const tj_launch_step *form = &kernel->form.step[step];
    size_t offset = 0, bytes = 0, expected_offset = 0, expected_bytes = 0;
    bool has_map = false;
    int index;

    if (!kernel->driver->api.func_get_param_info)
        return TJ_OK;
    for (index = 0;; index++) {
        CUresult result = kernel->driver->api.func_get_param_info(kernel->step[step].function, (size_t)index, &offset, &bytes);
        if (result == CUDA_ERROR_INVALID_VALUE)
            break; /* one past the last */
        if (result != CUDA_SUCCESS)
            return tj_driver_fail(kernel->driver, result, err, "cannot ask %s for parameter %d", form->kernel, index);
        if (index == form->arg_count)
            return tj_fail(err, TJ_ERR_INTERNAL, "%s has more than the %d parameters of its launch form", form->kernel,
                           form->arg_count);
        const tj_argument_facts expected = tj_argument_facts_of(kernel, &form->arg[index]);

        expected_bytes = expected.bytes;
        expected_offset = (expected_offset + expected.alignment - 1) / expected.alignment * expected.alignment;
        has_map = has_map || form->arg[index].kind == TJ_ARG_TENSOR_MAP;
        if (bytes != expected_bytes || (offset != expected_offset && !has_map))
            return tj_fail(err, TJ_ERR_INTERNAL, "parameter %d of %s has %d bytes at offset %d; its launch form says %d at %d",
                           index, form->kernel, (int)bytes, (int)offset, (int)expected_bytes, (int)expected_offset);
        expected_offset += expected_bytes;
    }
    if (index != form->arg_count)
        return tj_fail(err, TJ_ERR_INTERNAL, "%s has %d parameters; its launch form says %d", form->kernel, index,
                       form->arg_count);
    return TJ_OK;
}

/* A kernel gets shared_per_block (48 KiB) without asking, and up to shared_per_block_optin if it asks. */
static tj_status fit_shared(tj_kernel *kernel, int index, const tj_device_facts *device, tj_error *err)
{
    const tj_launch_step *form = &kernel->form.step[index];
    tj_loaded_step *step = &kernel->step[index];
    int64_t static_bytes = step->facts.static_shared_bytes;
    int64_t limit =
        device->shared_per_block_optin > device->shared_per_block ? device->shared_per_block_optin : device->shared_per_block;
    int64_t needed = static_bytes + form->dynamic_shared_bytes;
    const int32_t widest = index == kernel->form.product ? kernel->form.most_tile_width : 0;
    int64_t wanted = widest ? tj_shared_of_width(form, widest) : form->dynamic_shared_bytes;
    CUresult result;

    if (needed > limit)
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "%s needs %lld bytes of shared memory per block (%lld static, %lld dynamic), and device %d has %lld: "
                       "use a config with smaller tiles, or another family",
                       form->kernel, (long long)needed, (long long)static_bytes, (long long)form->dynamic_shared_bytes,
                       kernel->device, (long long)limit);
    if (wanted > limit - static_bytes)
        wanted = limit - static_bytes;
    step->max_dynamic_shared = wanted;
    if (static_bytes + wanted <= device->shared_per_block)
        return TJ_OK;
    result =
        kernel->driver->api.func_set_attribute(step->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)wanted);
    if (result != CUDA_SUCCESS)
        return tj_driver_fail(kernel->driver, result, err,
                              "cannot raise %s to %lld bytes of dynamic shared memory (device "
                              "%d allows %lld per block, %lld are static)",
                              form->kernel, (long long)wanted, kernel->device, (long long)limit, (long long)static_bytes);
    return TJ_OK;
}

static tj_status fit_threads(const tj_kernel *kernel, int index, tj_error *err)
{
    const tj_launch_step *form = &kernel->form.step[index];
    const tj_kernel_facts *facts = &kernel->step[index].facts;
    int threads = form->block_x * form->block_y;

    if (threads <= facts->max_threads_per_block)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_UNSUPPORTED,
                   "%s needs blocks of %d threads, and device %d can run %d of it with %d registers each: use a config "
                   "with smaller blocks",
                   form->kernel, threads, kernel->device, facts->max_threads_per_block, facts->registers);
}

/* Query the driver's facts about a step, and check that it can be launched. */
static tj_status fit_step(tj_kernel *kernel, int index, uint32_t features, const tj_device_facts *device, tj_error *err)
{
    tj_status status = read_facts(kernel, index, err);

    if (status == TJ_OK)
        status = tj_spills_check_loaded(&kernel->form.step[index], &kernel->step[index].facts, err);
    if (status == TJ_OK)
        status = check_parameters(kernel, index, err);
    if (status == TJ_OK)
        status = fit_threads(kernel, index, err);
    if (status == TJ_OK)
        status = fit_shared(kernel, index, device, err);
    return status == TJ_OK ? tj_step_prepare(kernel, index, features, err) : status;
}

/* ---- is the form one ---------------------------------------------------------------------------------------------- */

static bool is_within(int64_t value, int64_t least, int64_t most)
{
    return value >= least && value <= most;
}

/* 0, or a power of two. */
static bool is_alignment(int32_t bytes)
{
    return bytes >= 0 && (bytes & (bytes - 1)) == 0;
}

static bool is_good_slice(const tj_kernel *kernel, int32_t index)
{
    const tj_launch_form *form = &kernel->form;

    return is_within(index, 0, TJ_LAUNCH_MAX_SLICES - 1) && is_within(form->slice[index], 0, form->workspace_bytes - 1) &&
           form->slice[index] % TJ_WORKSPACE_ALIGNMENT == 0;
}

static bool is_of_caller(const tj_kernel *kernel, const tj_tensor_map *map)
{
    return is_within(map->matrix, TJ_MATRIX_M, TJ_MATRIX_C) && !kernel->operand[map->matrix].is_array &&
           (map->joins <= 1 || tj_matrix_has_no_gaps(&kernel->problem, (tj_which)map->matrix)) &&
           (!map->type || tj_type_bytes((tj_type)map->type) == kernel->element_bytes[map->matrix]);
}

/* For a matrix in the workspace: does the first product end there too? */
static bool is_in_workspace(const tj_kernel *kernel, const tj_tensor_map *map)
{
    const int64_t bytes = map->type ? (int64_t)tj_type_bytes((tj_type)map->type) : 0;

    return is_good_slice(kernel, map->matrix) && bytes > 0 && is_within(map->ld, 1, INT32_MAX) &&
           is_within(map->width, 1, map->ld) && map->ld * bytes % 16 == 0 &&
           map->lines <= (kernel->form.workspace_bytes - kernel->form.slice[map->matrix]) / (map->ld * bytes);
}

static bool is_good_map(const tj_kernel *kernel, const tj_tensor_map *map)
{
    if (!(map->lines > 0 ? is_in_workspace(kernel, map) : is_of_caller(kernel, map)) || !is_within(map->rank, 2, 3) ||
        (map->swizzle != 0 && map->swizzle != 32 && map->swizzle != 64 && map->swizzle != 128))
        return false;
    return is_within(map->box[0], 1, 256) && is_within(map->box[1], 1, 256) &&
           (map->rank == 2 || is_within(map->box[2], 1, 256));
}

static bool is_good_argument(const tj_kernel *kernel, const tj_argument *arg)
{
    return tj_argument_facts_of(kernel, arg).is_there && (arg->kind != TJ_ARG_WORKSPACE || is_good_slice(kernel, arg->index)) &&
           (arg->kind != TJ_ARG_TENSOR_MAP || is_good_map(kernel, &kernel->form.tensor_map[arg->index]));
}

static bool is_good_step(const tj_kernel *kernel, int index)
{
    const tj_launch_step *step = &kernel->form.step[index];

    if (!step->kernel[0] || !is_within(step->arg_count, 0, TJ_LAUNCH_MAX_ARGS) ||
        !is_within(step->grid, TJ_GRID_TILES, TJ_GRID_ROWS) || step->block_x < 1 || step->block_y < 1 || step->block_rows < 1 ||
        step->block_cols < 1 || (step->grid == TJ_GRID_PRODUCTS && step->block_products < 1) ||
        (tj_step_walks(step) && step->resident < 1) ||
        !is_within(step->splits, 0,
                   (step->grid == TJ_GRID_TILES || step->grid == TJ_GRID_WALK) && kernel->form.workspace_bytes > 0 ? UINT16_MAX
                                                                                                                   : 1))
        return false;
    for (int axis = 0; axis < 3; axis++)
        if (!is_within(step->cluster[axis], 0, MAX_CLUSTER))
            return false;
    for (int i = 0; i < step->arg_count; i++)
        if (!is_good_argument(kernel, &step->arg[i]))
            return false;
    return true;
}

static tj_status check_form(const tj_kernel *kernel, tj_error *err)
{
    const tj_launch_form *form = &kernel->form;

    if (!is_within(form->steps, 1, TJ_LAUNCH_MAX_STEPS) || !is_within(form->product, 0, form->steps - 1))
        return tj_fail(err, TJ_ERR_INTERNAL, "the launch form of a text has %d steps, and multiplies in step %d", form->steps,
                       form->product);
    for (int i = 0; i < TJ_MATRICES; i++)
        if (!is_alignment(form->align[i]))
            return tj_fail(err, TJ_ERR_INTERNAL, "the launch form of %s aligns %c to %d bytes", name_of(kernel),
                           tj_which_letter((tj_which)i), form->align[i]);
    if (!is_within(form->paths, 0, form->workspace_bytes / (int64_t)sizeof(int32_t)))
        return tj_fail(err, TJ_ERR_INTERNAL, "the launch form of %s has %d paths in %lld bytes of workspace", name_of(kernel),
                       form->paths, (long long)form->workspace_bytes);
    if (form->workspace_bytes < 0 || form->most_k < 0 || !is_within(form->least_tile_width, 0, form->most_tile_width))
        return tj_fail(err, TJ_ERR_INTERNAL,
                       "the launch form of %s has %lld bytes of workspace, a k of at most %d and tile widths from %d to %d",
                       name_of(kernel), (long long)form->workspace_bytes, form->most_k, form->least_tile_width,
                       form->most_tile_width);
    for (int i = 0; i < form->steps; i++) {
        const tj_launch_step *step = &form->step[i];

        if (!is_good_step(kernel, i))
            return tj_fail(
                err, TJ_ERR_INTERNAL,
                "step %d of the launch form of %s is invalid: blocks of %d x %d threads and %d x %d elements by grid rule "
                "%d, %d splits, %lld bytes of workspace, %d parameters",
                i, name_of(kernel), step->block_x, step->block_y, step->block_rows, step->block_cols, step->grid, step->splits,
                (long long)form->workspace_bytes, step->arg_count);
    }
    return TJ_OK;
}

/* ---- unloading ---------------------------------------------------------------------------------------------------- */

static void unload(tj_kernel *kernel)
{
    const tj_driver_api *api = &kernel->driver->api;
    CUcontext popped = NULL;
    int mode;

    if (tj_driver_check_alive(kernel->driver, NULL) != TJ_OK || (!kernel->library && !kernel->module))
        return;
    /* As for loads: it would break a capture that another thread runs in the global mode. */
    (void)tj_driver_ignore_captures(kernel->driver, &mode);
    if (kernel->library)
        (void)api->library_unload(kernel->library);
    /* A destroyed context took its modules along, and cannot be pushed. */
    if (kernel->module && api->ctx_push(kernel->handle) == CUDA_SUCCESS) {
        (void)api->module_unload(kernel->module);
        (void)api->ctx_pop(&popped);
    }
    (void)tj_driver_obey_captures(kernel->driver, mode);
}

/* ---- public ------------------------------------------------------------------------------------------------------- */

static tj_status load(tj_kernel *kernel, const tj_scope *scope, const tj_code *code, tj_error *err)
{
    struct target target;
    tj_device_facts device;
    const void *bytes = NULL;
    bool is_ptx = false;
    tj_status status = check_form(kernel, err);

    if (status == TJ_OK)
        status = tj_scope_device(scope, &kernel->device, err);
    if (status == TJ_OK)
        status = tj_scope_handle(scope, &kernel->handle, err);
    if (status == TJ_OK)
        status = tj_gpu_device_limits(kernel->gpu, kernel->device, &device, err);
    if (status != TJ_OK)
        return status;
    if (!parse_target(code->target, &target))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the image's target is \"%s\": it must be like sm_90 or compute_90",
                       code->target);
    bytes = choose_code(code, &target, 10 * device.cc_major + device.cc_minor, kernel->driver->is_emulator, &is_ptx);
    if (!bytes && !*code->ptx)
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "the image of %s for %s comes from a stripped pack, whose machine code device %d (%s) cannot run: make "
                       "the pack without --strip",
                       name_of(kernel), code->target, kernel->device, device.name);
    if (!bytes)
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "%s was compiled for %s, and device %d (%s) is sm_%d%d: compile it for that target", name_of(kernel),
                       code->target, kernel->device, device.name, device.cc_major, device.cc_minor);
    if (is_ptx && (status = check_ptx_version(kernel, code, err)) != TJ_OK)
        return status;
    if ((status = tj_share_check(&device, &kernel->problem, &kernel->form, err)) != TJ_OK)
        return status;
    kernel->multiprocessors = tj_share_of(&device, &kernel->problem).sm_count;
    kernel->max_grid[0] = device.max_grid_x ? device.max_grid_x : INT32_MAX;
    kernel->max_grid[1] = device.max_grid_y ? device.max_grid_y : UINT16_MAX;
    kernel->max_grid[2] = device.max_grid_z ? device.max_grid_z : UINT16_MAX;
    status = load_beside_captures(kernel, code, bytes, is_ptx, err);
    for (int i = 0; status == TJ_OK && i < kernel->form.steps; i++)
        status = fit_step(kernel, i, tj_target_features(code->target), &device, err);
    return status;
}

/* An array of pointers is an operand like any other: its elements are pointers, which the text reads one at a time. */
static void set_operands(tj_kernel *kernel)
{
    tj_operand_table(&kernel->problem, kernel->operand);
    for (int list = 0; list < TJ_LISTS; list++)
        kernel->list[list] = tj_list_row_of(&kernel->problem, (tj_list)list);
    for (int which = 0; which < TJ_ADDRESSES; which++) {
        const tj_operand_row *const row = &kernel->operand[which];
        const size_t bytes = tj_operand_element_bytes(row);
        const size_t asked = which < TJ_MATRICES && !row->is_array ? (size_t)kernel->form.align[which] : 0;

        kernel->element_bytes[which] = bytes;
        kernel->alignment[which] = asked > bytes ? asked : bytes;
    }
}

tj_status tj_kernel_load_code(tj_host *host, const tj_launch_form *form, const tj_problem *problem, const tj_code *code,
                              tj_kernel **out, tj_error *err)
{
    tj_kernel *kernel = NULL;
    tj_scope scope;
    tj_status status;

    *out = NULL;
    status = tj_gpu_check_process(&host->gpu, err);
    if (status == TJ_OK)
        status = tj_scope_enter(&host->gpu, &scope, err);
    if (status != TJ_OK)
        return status;
    kernel = calloc(1, sizeof *kernel);
    if (!kernel) {
        status = tj_fail_memory(err, "a kernel");
        goto done;
    }
    kernel->driver = scope.driver;
    kernel->gpu = &host->gpu;
    kernel->context_id = scope.context_id;
    kernel->form = *form;
    for (int i = 0; i < form->steps && i < TJ_LAUNCH_MAX_STEPS; i++)
        kernel->walks |= tj_step_walks(&form->step[i]);
    kernel->problem = *problem;
    kernel->scalar_type = tj_scalar_type(problem);
    kernel->has_pairs = tj_epilogue_pairs(&problem->epilogue);
    kernel->weighs_c = tj_epilogue_weighs_c(&problem->epilogue);
    kernel->has_outputs = tj_is_scaled(problem, TJ_MATRIX_P);
    for (int i = 0; i < problem->epilogue.expression.operands; i++)
        kernel->has_numbers |= problem->epilogue.expression.operand[i].indexed == TJ_BY_NOTHING,
            kernel->has_outputs |= problem->epilogue.expression.operand[i].is_output;
    set_operands(kernel);
    status = load(kernel, &scope, code, err);
    if (status == TJ_OK) {
        tj_launch_make_ready(kernel);
        atomic_fetch_add_explicit(&host->stats.loads, 1, memory_order_relaxed);
        *out = kernel;
    } else {
        unload(kernel);
        free(kernel);
    }

done:
    tj_scope_leave(&scope);
    return status;
}

tj_status tj_host_load(tj_host *host, const tj_source *source, const tj_image *image, tj_kernel **kernel, tj_error *err)
{
    tj_code code = {
        .target = tj_image_target(image),
        .compiler = tj_image_compiler(image),
        .ptx = tj_image_ptx(image, NULL),
        .cubin = tj_image_cubin(image, NULL),
    };
    tj_status status = tj_spills_check_image(source, image, err);

    *kernel = NULL;
    if (status != TJ_OK)
        return status;
    tj_range_open(host, "load", tj_source_kernel(source));
    status = tj_kernel_load_code(host, tj_source_launch(source), tj_source_problem(source), &code, kernel, err);
    tj_range_close(host);
    return status;
}

tj_status tj_kernel_get_facts(const tj_kernel *kernel, tj_kernel_facts *facts, tj_error *err)
{
    if (TJ_HAS_NULL(err, kernel, facts))
        return TJ_ERR_INVALID_ARGUMENT;
    return TJ_FILL(facts, &kernel->step[kernel->form.product].facts, TJ_KERNEL_FACTS_INIT, err); /* asked at the load */
}

void tj_kernel_free(tj_kernel *kernel)
{
    if (!kernel)
        return;
    unload(kernel);
    free(kernel);
}
