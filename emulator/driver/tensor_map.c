/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_map: encode maps of tensors in global memory, from which kernels copy tiles. */
#include "driver.h"

#include <string.h>

#include "tensor.h"

enum {
    CAPABILITY = 90,
    CAPABILITY_BY_32 = 100,
    UNIT = 16,
    TYPES = 16,
    BY_32 = 4,
    SWIZZLES = 7,
    INTERLEAVES = 3,
    PROMOTIONS = 4
};

/* Return the name of an unsupported property, or 0. */
static const char *find_unsupported(int capability, int type, int interleave, int swizzle)
{
    if (type >= EL_COUNT)
        return "packed types of 4 and 6 bits";
    if (interleave)
        return "interleaved layouts";
    if (swizzle > BY_32 || (swizzle == BY_32 && capability < CAPABILITY_BY_32))
        return "swizzled chunks of this size on this device";
    return NULL;
}

CUresult EMU_EXPORT cuTensorMapEncodeTiled(CUtensorMap *map, int type, uint32_t rank, void *address, const uint64_t *extent,
                                           const uint64_t *stride, const uint32_t *box, const uint32_t *step, int interleave,
                                           int swizzle, int promotion, int fill)
{
    emu_tensor t = {.address = (uint64_t)(uintptr_t)address};
    emu_context *context;
    CUresult result = emu_enter(&context);
    const char *unsupported;

    if (result != CUDA_SUCCESS)
        return result;
    if (context->device->capability < CAPABILITY)
        return emu_leave(CUDA_ERROR_NOT_SUPPORTED);
    if (!map || (uintptr_t)map % EMU_TENSOR_ALIGNMENT || !address || !extent || !box || !step || rank == 0 ||
        rank > EMU_DIMENSIONS || (rank > 1 && !stride) || type < 0 || type >= TYPES || interleave < 0 ||
        interleave >= INTERLEAVES || swizzle < 0 || swizzle >= SWIZZLES || promotion < 0 || promotion >= PROMOTIONS ||
        fill < 0 || fill > 1)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    unsupported = find_unsupported(context->device->capability, type, interleave, swizzle);
    if (unsupported) {
        emu_driver_log("tensor maps of %s are not supported", unsupported);
        return emu_leave(CUDA_ERROR_NOT_SUPPORTED);
    }
    t.rank = (uint8_t)rank;
    t.element = (uint8_t)type;
    t.swizzle = (uint8_t)swizzle;
    t.fills_nan = fill;
    for (unsigned i = 0; i < rank; i++) {
        t.extent[i] = extent[i];
        t.box[i] = box[i] > EMU_MOST_OF_BOX ? 0 : (uint16_t)box[i];
        t.step[i] = step[i] > UINT8_MAX ? 0 : (uint8_t)step[i];
        if (i > 0)
            t.stride[i - 1] = stride[i - 1];
    }
    if (!emu_tensor_is_right(&t))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    emu_tensor_seal(&t);
    memcpy(map, &t, sizeof t);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
    emu_context *context;
    emu_tensor t;
    const CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    if (!map || (uintptr_t)map % EMU_TENSOR_ALIGNMENT || !address || (uintptr_t)address % UNIT)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    memcpy(&t, map, sizeof t);
    if (!emu_tensor_is_sealed(&t))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    t.address = (uint64_t)(uintptr_t)address;
    emu_tensor_seal(&t);
    memcpy(map, &t, sizeof t);
    return emu_leave(CUDA_SUCCESS);
}
