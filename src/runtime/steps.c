/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps: the common part of a kernel's launches, prepared at its load; and the parts that some launches make each time:
 * workspace slices and tensor maps.
 */
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "canonical.h"
#include "kernel.h"

/* Oldest drivers that launch clusters, and that capture overlapping launches. */
enum { CLUSTER_DRIVER = 11080, OVERLAP_DRIVER = 12030, PORTABLE_CLUSTER = 8 };

/* ---- at the load -------------------------------------------------------------------------------------------------- */

/* One of `count` values side by side, `step` bytes from one to the next. */
static tj_argument_facts one_of(int place, size_t first, size_t step, int32_t index, int32_t count, size_t bytes)
{
    const bool is_there = index >= 0 && index < count;

    return (tj_argument_facts){
        {(uint16_t)place, (uint16_t)(first + (is_there ? (size_t)index * step : 0))}, is_there, bytes, bytes};
}

static tj_argument_facts value_at(int place, size_t offset, size_t bytes)
{
    return one_of(place, offset, 0, 0, 1, bytes);
}

/* A number or an address of an operand, if the problem has that. */
static tj_argument_facts of_operand(const tj_kernel *kernel, const tj_argument *arg, int place, size_t first, size_t step)
{
    tj_argument_facts facts = one_of(place, first, step, arg->index, TJ_ADDRESSES, sizeof(int64_t));

    facts.is_there = facts.is_there && (arg->index < TJ_MATRICES || kernel->operand[arg->index].is_taken);
    return facts;
}

/* Part of the workspace: the first is where the caller's begins. */
static tj_argument_facts slice_at(const tj_kernel *kernel, int32_t index)
{
    if (index >= 0 && index < TJ_LAUNCH_MAX_SLICES && kernel->form.slice[index] == 0)
        return value_at(TJ_IN_OPERANDS, offsetof(tj_operands, workspace), sizeof(void *));
    return one_of(TJ_IN_EXTRAS, offsetof(tj_launch_extras, slice), sizeof(void *), index, TJ_LAUNCH_MAX_SLICES, sizeof(void *));
}

/* Its address, or its elements. */
static tj_argument_facts list_at(const tj_kernel *kernel, const tj_argument *arg)
{
    const bool is_value = arg->kind == TJ_ARG_LIST_VALUE;
    const tj_list_row *const row = arg->index >= 0 && arg->index < TJ_LISTS ? &kernel->list[arg->index] : NULL;
    tj_argument_facts facts = {{0, 0}, false, 0, 0};

    if (row && row->read && row->on_host == is_value)
        facts = value_at(is_value ? TJ_IN_OFFSETS : TJ_IN_OPERANDS, is_value ? 0 : row->at, sizeof(void *));
    if (facts.is_there && is_value) {
        facts.bytes = (size_t)(row->count * row->bytes);
        facts.alignment = (size_t)row->bytes;
    }
    return facts;
}

tj_argument_facts tj_argument_facts_of(const tj_kernel *kernel, const tj_argument *arg)
{
    const bool is_f64 = kernel->scalar_type == TJ_F64;
    const size_t scalar = kernel->scalar_type == TJ_S32 ? sizeof(int64_t) : tj_type_bytes(kernel->scalar_type);
    const size_t matrix = offsetof(tj_launch_shape, matrix);
    const int32_t number = arg->index - TJ_WITH, numbers = kernel->problem.epilogue.expression.operands;

    switch (arg->kind) {
    case TJ_ARG_POINTER:
        if (arg->index == TJ_MATRIX_C)
            return value_at(TJ_IN_CALL, offsetof(tj_launch_call, c), sizeof(void *));
        return of_operand(kernel, arg, TJ_IN_OPERANDS, offsetof(tj_operands, m), sizeof(tj_operand));
    case TJ_ARG_LD:
        return of_operand(kernel, arg, TJ_IN_SHAPE, matrix + offsetof(tj_stored_shape, ld), sizeof(tj_stored_shape));
    case TJ_ARG_STRIDE:
        return of_operand(kernel, arg, TJ_IN_SHAPE, matrix + offsetof(tj_stored_shape, stride), sizeof(tj_stored_shape));
    case TJ_ARG_NUMBER:
        return is_f64 ? one_of(TJ_IN_OPERANDS, offsetof(tj_operands, number), sizeof(double), number, numbers, scalar)
                      : one_of(TJ_IN_CALL, offsetof(tj_launch_call, number), sizeof(float), number, numbers, scalar);
    case TJ_ARG_EXTENT:
        return one_of(TJ_IN_SHAPE, offsetof(tj_launch_shape, extent), sizeof(int32_t), arg->index, TJ_EXTENT_P_ROWS + 1,
                      sizeof(int32_t));
    case TJ_ARG_BATCH:
        return value_at(TJ_IN_SHAPE, offsetof(tj_launch_shape, products_now), sizeof(int32_t));
    case TJ_ARG_ALPHA:
        return is_f64 ? value_at(TJ_IN_OPERANDS, offsetof(tj_operands, alpha), scalar)
                      : value_at(TJ_IN_CALL, offsetof(tj_launch_call, alpha), scalar);
    case TJ_ARG_BETA:
        return is_f64 ? value_at(TJ_IN_OPERANDS, offsetof(tj_operands, beta), scalar)
                      : value_at(TJ_IN_CALL, offsetof(tj_launch_call, beta), scalar);
    case TJ_ARG_WORKSPACE:
        return slice_at(kernel, arg->index);
    case TJ_ARG_LIST:
    case TJ_ARG_LIST_VALUE:
        return list_at(kernel, arg);
    case TJ_ARG_TENSOR_MAP:
        return one_of(TJ_IN_EXTRAS, offsetof(tj_launch_extras, map), sizeof(CUtensorMap), arg->index, TJ_LAUNCH_MAX_MAPS,
                      sizeof(CUtensorMap));
    case TJ_ARG_CUSTOM: /* the caller of the launch knows where it lies */
        return arg->index == 4 || arg->index == 8 ? value_at(TJ_IN_OPERANDS, 0, (size_t)arg->index)
                                                  : (tj_argument_facts){{0, 0}, false, 0, 0};
    default:
        return (tj_argument_facts){{0, 0}, false, 0, 0};
    }
}

/*
 * A cluster runs within a group of multiprocessors (GPC), which has not always a multiple of its blocks: of 132 multiprocessors,
 * clusters of four may occupy 128.
 */
static void count_clustered(const tj_kernel *kernel, int index, tj_loaded_step *step)
{
    const tj_launch_step *form = &kernel->form.step[index];
    const CUlaunchAttribute *cluster = &step->attribute[step->attribute_count - 1];
    const unsigned int size[3] = {cluster->value.cluster.x, cluster->value.cluster.y, cluster->value.cluster.z};
    const CUlaunchConfig config = {.grid_x = size[0],
                                   .grid_y = size[1],
                                   .grid_z = size[2],
                                   .block_x = (unsigned int)form->block_x,
                                   .block_y = (unsigned int)form->block_y,
                                   .block_z = 1,
                                   .shared_bytes = (unsigned int)form->dynamic_shared_bytes,
                                   .attributes = step->attribute,
                                   .attribute_count = step->attribute_count};
    int clusters = 0;

    if (kernel->driver->api.max_active_clusters &&
        kernel->driver->api.max_active_clusters(&clusters, step->function, &config) == CUDA_SUCCESS && clusters > 0)
        step->clustered = (int64_t)clusters * size[0] * size[1] * size[2];
}

static tj_status set_cluster(tj_kernel *kernel, int index, tj_error *err)
{
    const tj_launch_step *form = &kernel->form.step[index];
    tj_loaded_step *step = &kernel->step[index];
    const int version = kernel->driver->version;
    unsigned int size[3];
    CUresult result;

    for (int axis = 0; axis < 3; axis++)
        size[axis] = form->cluster[axis] > 1 ? (unsigned int)form->cluster[axis] : 1;
    if (size[0] * size[1] * size[2] == 1)
        return TJ_OK;
    if (!kernel->driver->api.launch_kernel_ex || version < CLUSTER_DRIVER)
        return tj_fail(
            err, TJ_ERR_UNSUPPORTED,
            "%s is launched in clusters of %u x %u x %u blocks, which a driver of CUDA %d.%d cannot (11.8 can): update "
            "the driver, or use a config without clusters",
            form->kernel, size[0], size[1], size[2], version / 1000, version % 1000 / 10);
    step->attribute[step->attribute_count++] =
        (CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.cluster = {size[0], size[1], size[2]}};
    if (size[0] * size[1] * size[2] > PORTABLE_CLUSTER) {
        result = kernel->driver->api.func_set_attribute(step->function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
        if (result != CUDA_SUCCESS)
            return tj_driver_fail(kernel->driver, result, err, "cannot launch %s in clusters of %u x %u x %u blocks",
                                  form->kernel, size[0], size[1], size[2]);
    }
    count_clustered(kernel, index, step);
    return TJ_OK;
}

tj_status tj_step_prepare(tj_kernel *kernel, int index, uint32_t features, tj_error *err)
{
    const tj_launch_step *form = &kernel->form.step[index];
    tj_loaded_step *step = &kernel->step[index];
    const int version = kernel->driver->version;

    step->parameters = form->arg_count;
    step->is_last = index + 1 == kernel->form.steps;
    for (int i = 0; i < form->arg_count; i++) {
        step->parameter[i] = tj_argument_facts_of(kernel, &form->arg[i]).parameter;
        step->has_extras = step->has_extras || step->parameter[i].place == TJ_IN_EXTRAS;
        step->takes_call = step->takes_call || step->parameter[i].place == TJ_IN_CALL;
        if (form->arg[i].kind == TJ_ARG_TENSOR_MAP && !kernel->driver->api.tensor_map_encode)
            return tj_fail(
                err, TJ_ERR_UNSUPPORTED,
                "%s takes tensor maps, which a driver of CUDA %d.%d cannot make (12.0 can): update the driver, or use "
                "a config without them",
                form->kernel, version / 1000, version % 1000 / 10);
    }
    if (form->overlaps && (features & TJ_FEATURE_DEPENDENTS) && kernel->driver->api.launch_kernel_ex &&
        version >= OVERLAP_DRIVER)
        step->attribute[step->attribute_count++] = (CUlaunchAttribute){
            .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, .value.programmatic_stream_serialization = 1};
    return set_cluster(kernel, index, err);
}

/* ---- at a launch -------------------------------------------------------------------------------------------------- */

/* A type that tensor maps have no number for is copied as bits. */
static int map_type(int32_t type, bool rounds)
{
    static const uint8_t by_bytes[] = {[1] = CU_TENSOR_MAP_DATA_TYPE_UINT8,
                                       [2] = CU_TENSOR_MAP_DATA_TYPE_UINT16,
                                       [4] = CU_TENSOR_MAP_DATA_TYPE_UINT32,
                                       [8] = CU_TENSOR_MAP_DATA_TYPE_UINT64};

    return rounds            ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
           : type == TJ_F32  ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
           : type == TJ_F64  ? CU_TENSOR_MAP_DATA_TYPE_FLOAT64
           : type == TJ_F16  ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
           : type == TJ_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                             : by_bytes[tj_type_bytes((tj_type)type)];
}

/* The matrix that a map leads to. In bytes: from one line to the next, and from one product to the next. */
typedef struct tj_mapped {
    uintptr_t address;
    int32_t type;
    uint64_t width, lines, line, product;
    char name[48];
} tj_mapped;

static tj_mapped find_in_workspace(const tj_kernel *kernel, const tj_tensor_map *map, const tj_operands *x)
{
    const uint64_t line = (uint64_t)map->ld * tj_type_bytes((tj_type)map->type);
    const int64_t at = kernel->form.slice[map->matrix];
    tj_mapped found = {(uintptr_t)x->workspace + (uintptr_t)at,
                       map->type,
                       (uint64_t)map->width,
                       (uint64_t)map->lines,
                       line,
                       (uint64_t)map->lines * line,
                       {0}};

    (void)snprintf(found.name, sizeof found.name, "the workspace from byte %lld on", (long long)at);
    return found;
}

/* For N with groups, one per group. */
static int64_t products_of(const tj_kernel *kernel, const tj_tensor_map *map, const tj_launch_shape *shape)
{
    const bool is_n = map->lines == 0 && map->matrix == TJ_MATRIX_N;

    return is_n && tj_is_grouped(&kernel->problem) ? tj_group_count(&kernel->problem) : shape->products_now;
}

static tj_mapped find_of_caller(const tj_kernel *kernel, const tj_tensor_map *map, const tj_operands *x,
                                const tj_launch_shape *shape)
{
    const void *const pointer[TJ_MATRICES] = {x->m.address, x->n.address, x->p.address,
                                              x->c.address ? x->c.address : x->p.address};
    const tj_stored_shape *m = &shape->matrix[map->matrix];
    const uint64_t joins = map->joins > 1 ? (uint64_t)map->joins : 1;
    const uint64_t bytes = kernel->element_bytes[map->matrix], line = (uint64_t)m->ld * bytes;
    const bool has_products = products_of(kernel, map, shape) > 1;

    return (tj_mapped){(uintptr_t)pointer[map->matrix],
                       map->type ? map->type : tj_problem_matrix(&kernel->problem, (tj_which)map->matrix)->type,
                       (uint64_t)m->width * joins,
                       m->span == 0 ? 0 : (uint64_t)m->lines / joins, /* k is 0, and nothing is copied */
                       line * joins,
                       has_products ? (uint64_t)m->stride * bytes : (uint64_t)m->lines * line,
                       {tj_which_letter((tj_which)map->matrix), '\0'}};
}

static tj_status encode(const tj_kernel *kernel, const char *name, const tj_tensor_map *form, const tj_operands *x,
                        const tj_launch_shape *shape, CUtensorMap *map, tj_error *err)
{
    const tj_mapped m = form->lines > 0 ? find_in_workspace(kernel, form, x) : find_of_caller(kernel, form, x, shape);
    const uint64_t extent[3] = {m.width, m.lines, (uint64_t)products_of(kernel, form, shape)}, stride[2] = {m.line, m.product};
    const unsigned int box[3] = {(unsigned int)form->box[0], (unsigned int)form->box[1], (unsigned int)form->box[2]};
    const unsigned int step[3] = {1, 1, 1};
    const int swizzle = form->swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                        : form->swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                        : form->swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                              : CU_TENSOR_MAP_SWIZZLE_NONE;
    CUresult result;

    if (m.lines == 0) {
        memset(map, 0, sizeof *map);
        return TJ_OK;
    }
    if ((m.address | stride[0] | (form->rank == 3 ? stride[1] : 0)) % 16 != 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "%s copies %s by a tensor map, so it must lie at multiples of 16 bytes: it is at 0x%llx, with %lld bytes from "
            "one line to the next and %lld to the next product; align it, or use another config",
            name, m.name, (unsigned long long)m.address, (long long)stride[0], (long long)stride[1]);
    result = kernel->driver->api.tensor_map_encode(
        map, map_type(m.type, form->rounds != 0), (unsigned int)form->rank, (void *)m.address, extent, stride, box, step,
        CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result == CUDA_SUCCESS)
        return TJ_OK;
    return tj_driver_fail(kernel->driver, result, err,
                          "cannot make the tensor map of %s for %s: %lld lines of %lld elements, copied %u x %u x %u at a time",
                          m.name, name, (long long)m.lines, (long long)m.width, box[0], box[1], box[2]);
}

tj_status tj_step_make_extras(const tj_kernel *kernel, int index, const tj_operands *x, const tj_launch_shape *shape,
                              tj_launch_extras *extras, tj_error *err)
{
    const tj_launch_form *form = &kernel->form;
    const tj_launch_step *step = &form->step[index];
    tj_status status = TJ_OK;

    for (int i = 0; status == TJ_OK && i < step->arg_count; i++) {
        const int32_t which = step->arg[i].index;

        if (step->arg[i].kind == TJ_ARG_WORKSPACE)
            extras->slice[which] = (char *)x->workspace + form->slice[which];
        else if (step->arg[i].kind == TJ_ARG_TENSOR_MAP)
            status = encode(kernel, step->kernel, &form->tensor_map[which], x, shape, &extras->map[which], err);
    }
    return status;
}
