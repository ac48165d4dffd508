/* SPDX-License-Identifier: Apache-2.0 */
/* device: query a device. */
#include "driver.h"

#include <stdio.h>
#include <string.h>

/* Begin a query of a device. Devices do not change once chosen, so no lock is needed. */
static CUresult ask(const void *out, CUdevice ordinal, const emu_device **device)
{
    const CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    *device = emu_device_at(ordinal);
    return emu_leave(!out ? CUDA_ERROR_INVALID_VALUE : !*device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuDeviceGetCount(int *count)
{
    const CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    if (!count)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *count = emu_device_count();
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuDeviceGet(CUdevice *device, int ordinal)
{
    const emu_device *known;
    const CUresult result = ask(device, ordinal, &known);

    if (result == CUDA_SUCCESS)
        *device = ordinal;
    return result;
}

CUresult EMU_EXPORT cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    const emu_device *known;
    const CUresult result = ask(name, device, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (bytes <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)bytes, "CUDA emulator sm_%d (as %s)", known->capability, known->like);
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    static const char prefix[] = "CUDAEMULATOR";
    const emu_device *known;
    const CUresult result = ask(uuid, device, &known);

    if (result != CUDA_SUCCESS)
        return result;
    memset(uuid, 0, sizeof *uuid);
    memcpy(uuid->bytes, prefix, sizeof prefix - 1);
    uuid->bytes[13] = (unsigned char)known->capability;
    uuid->bytes[15] = (unsigned char)device;
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    const emu_device *known;
    const CUresult result = ask(bytes, device, &known);

    if (result == CUDA_SUCCESS)
        *bytes = known->memory_bytes;
    return result;
}

CUresult EMU_EXPORT cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    const emu_device *known;
    const CUresult result = ask(value, device, &known);
    int found;

    if (result != CUDA_SUCCESS)
        return result;
    found = emu_device_attribute(known, attribute);
    if (found < 0)
        return CUDA_ERROR_INVALID_VALUE;
    *value = attribute == 33 ? found + device : found; /* PCI_BUS_ID */
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    const emu_device *known;
    const CUresult result = ask(major && minor ? major : NULL, device, &known);

    if (result == CUDA_SUCCESS) {
        *major = known->capability / 10;
        *minor = known->capability % 10;
    }
    return result;
}

CUresult EMU_EXPORT cuDeviceGetProperties(CUdevprop *properties, CUdevice device)
{
    const emu_device *known;
    const CUresult result = ask(properties, device, &known);

    if (result != CUDA_SUCCESS)
        return result;
    *properties = (CUdevprop){.threads_per_block = 1024,
                              .block = {1024, 1024, 64},
                              .grid = {2147483647, 65535, 65535},
                              .shared_per_block = 49152,
                              .constant_bytes = 65536,
                              .warp = 32,
                              .pitch = 2147483647,
                              .registers = 65536,
                              .clock = known->clock_khz,
                              .texture_alignment = 512};
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuDeviceGetPCIBusId(char *text, int bytes, CUdevice device)
{
    const emu_device *known;
    const CUresult result = ask(text, device, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (bytes < 13)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(text, (size_t)bytes, "0000:%02x:00.0", (unsigned)(device + 1) & 0xff);
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuDeviceGetByPCIBusId(CUdevice *device, const char *text)
{
    char own[16];
    CUresult result = CUDA_SUCCESS;

    if (!device || !text)
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; result == CUDA_SUCCESS; i++) {
        result = cuDeviceGetPCIBusId(own, sizeof own, i);
        if (result == CUDA_SUCCESS && (strcmp(own, text) == 0 || strcmp(own + 5, text) == 0)) {
            *device = i;
            return CUDA_SUCCESS;
        }
    }
    return result == CUDA_ERROR_NOT_INITIALIZED ? result : CUDA_ERROR_INVALID_DEVICE;
}

CUresult EMU_EXPORT cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    const emu_device *known;
    CUresult result = ask(can, device, &known);

    if (result == CUDA_SUCCESS)
        result = ask(can, peer, &known);
    if (result == CUDA_SUCCESS)
        *can = 0;
    return result;
}

CUresult EMU_EXPORT cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice device, CUdevice peer)
{
    CUresult result = cuDeviceCanAccessPeer(value, device, peer);

    if (result == CUDA_SUCCESS && device == peer)
        result = CUDA_ERROR_INVALID_DEVICE;
    return result == CUDA_SUCCESS && (attribute < 1 || attribute > 5) ? CUDA_ERROR_INVALID_VALUE : result;
}

CUresult EMU_EXPORT cuDeviceGetExecAffinitySupport(int *value, int type, CUdevice device)
{
    const emu_device *known;
    const CUresult result = ask(value, device, &known);

    if (result == CUDA_SUCCESS)
        *value = 0;
    return result == CUDA_SUCCESS && type != 0 ? CUDA_ERROR_INVALID_VALUE : result;
}
