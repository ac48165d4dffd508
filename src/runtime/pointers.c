/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointers: compare the driver's facts about each operand with its use by the launch.
 *
 * A wrong address on a device ends the whole process's use of it, long after the call that caused it; asking costs about
 * a hundred nanoseconds. Refuses only what is certain to be wrong.
 */
#include "kernel.h"

#include <stdio.h>

#include "error.h"

struct place {
    int memory_type; /* 0: the driver does not know the address */
    int ordinal;
    int is_managed;
    CUdeviceptr device_address;
    CUdeviceptr start; /* of the allocation */
    size_t bytes;      /* 0: not known */
};

static CUresult ask(const tj_kernel *kernel, const void *pointer, struct place *place)
{
    int attribute[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                       CU_POINTER_ATTRIBUTE_IS_MANAGED,       CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                       CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *value[] = {&place->memory_type,    &place->ordinal, &place->is_managed,
                     &place->device_address, &place->start,   &place->bytes};

    *place = (struct place){0};
    return kernel->driver->api.pointer_get_attributes(sizeof attribute / sizeof attribute[0], attribute, value,
                                                      (CUdeviceptr)(uintptr_t)pointer);
}

/* Devices that share page tables with the host (Grace, HMM) read any address of the process. */
static bool reaches_host_memory(const tj_kernel *kernel)
{
    int reaches = 0;

    return kernel->driver->api.device_get_attribute(&reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
                                                    (CUdevice)kernel->device) == CUDA_SUCCESS &&
           reaches != 0;
}

/* May the kernel's device touch memory of another? What it may do now, where the driver says; else whether it ever could. */
static bool reaches_peer(const tj_kernel *kernel, const void *pointer, int ordinal)
{
    int attribute = CU_POINTER_ATTRIBUTE_ACCESS_FLAGS;
    unsigned int flags = 0;
    void *value = &flags;
    int can = 0;

    if (kernel->driver->api.pointer_get_attributes(1, &attribute, &value, (CUdeviceptr)(uintptr_t)pointer) == CUDA_SUCCESS)
        return flags != 0;
    return kernel->driver->api.device_can_access_peer(&can, (CUdevice)kernel->device, (CUdevice)ordinal) == CUDA_SUCCESS &&
           can != 0;
}

static tj_status check_reach(const tj_kernel *kernel, const char *name, const void *pointer, const struct place *place,
                             tj_error *err)
{
    unsigned long long address = (unsigned long long)(uintptr_t)pointer;

    if (place->memory_type == 0) {
        if (reaches_host_memory(kernel))
            return TJ_OK;
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s at 0x%llx is a host address or was freed: copy it to the device first",
                       name, address);
    }
    if (place->memory_type == CU_MEMORYTYPE_HOST) {
        if (place->device_address == (CUdeviceptr)address)
            return TJ_OK;
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s at 0x%llx is registered host memory that the device sees at 0x%llx: pass that address", name,
                       address, (unsigned long long)place->device_address);
    }
    if (place->is_managed || place->ordinal == kernel->device || reaches_peer(kernel, pointer, place->ordinal))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%s at 0x%llx is memory of device %d, which device %d may not access: enable peer access, or copy it", name,
                   address, place->ordinal, kernel->device);
}

static tj_status check_room(const char *name, const void *pointer, const struct place *place, int64_t needed, tj_error *err)
{
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)pointer;
    uint64_t room;

    if (place->memory_type == 0 || place->bytes == 0 || place->start > address || address - place->start > place->bytes)
        return TJ_OK;
    room = place->bytes - (address - place->start);
    if ((uint64_t)needed <= room)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%s needs %lld bytes from 0x%llx on, and its allocation has %llu left there: allocate more, or check the "
                   "extents and the leading dimension",
                   name, (long long)needed, (unsigned long long)address, (unsigned long long)room);
}

/* All that can be said of one address. */
static tj_status check_place(const tj_kernel *kernel, const char *name, const void *pointer, int64_t bytes, tj_error *err)
{
    struct place place;
    const CUresult result = ask(kernel, pointer, &place);
    tj_status status;

    if (result != CUDA_SUCCESS)
        return tj_driver_fail(kernel->driver, result, err, "cannot ask what %s at 0x%llx is", name,
                              (unsigned long long)(uintptr_t)pointer);
    status = check_reach(kernel, name, pointer, &place, err);
    return status == TJ_OK ? check_room(name, pointer, &place, bytes, err) : status;
}

tj_status tj_kernel_check_pointers(const tj_kernel *kernel, const tj_operands *given, tj_error *err)
{
    tj_launch_shape shape;
    tj_operands x;
    tj_status status = tj_launch_settle(kernel, given, 0, &x, &shape, err);

    if (status != TJ_OK)
        return status;

    for (int which = 0; which < TJ_ADDRESSES; which++) {
        const void *const pointer = tj_operand_at(&x, which)->address;
        const int64_t span = shape.matrix[which].span;
        char title[64];

        if (!pointer || span == 0 || (which == TJ_MATRIX_C && kernel->weighs_c && tj_beta_is_zero(&x)))
            continue;
        snprintf(title, sizeof title, "%s%s", kernel->operand[which].is_array ? "the array of pointers to " : "",
                 kernel->operand[which].title);
        status = check_place(kernel, title, pointer, span * (int64_t)kernel->element_bytes[which], err);
        if (status != TJ_OK)
            return status;
    }
    for (int list = 0; list < TJ_LISTS && status == TJ_OK; list++) {
        const tj_list_row *const row = &kernel->list[list];

        if (row->read && !row->on_host)
            status = check_place(kernel, row->title, tj_list_at(&x, row),
                                 tj_list_count(row, shape.j, shape.p_rows) * row->bytes, err);
    }
    if (status != TJ_OK)
        return status;
    if (kernel->form.workspace_bytes == 0 || !tj_kernel_has_workspace(kernel, &x))
        return TJ_OK;
    return check_place(kernel, "the workspace", x.workspace, kernel->form.workspace_bytes, err);
}
