/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* The emulator as a driver: memory. */
#include "driver_test.h"

#include <sys/wait.h>
#include <unistd.h>

Test(driver, copies_and_fills_memory)
{
    uint32_t from[64], to[64] = {0};
    CUdeviceptr one, other;

    start();
    for (uint32_t i = 0; i < 64; i++)
        from[i] = i * 0x01010101u;
    OK(cuMemAlloc_v2, &one, sizeof from);
    OK(cuMemAlloc_v2, &other, sizeof from);
    OK(cuMemcpyHtoD_v2, one, from, sizeof from);
    OK(cuMemcpyDtoD_v2, other, one, sizeof from);
    OK(cuMemcpyDtoH_v2, to, other, sizeof to);
    cr_expect(memcmp(from, to, sizeof to) == 0);
    OK(cuMemsetD32_v2, other + 4, 0xdeadbeefu, 2);
    OK(cuMemsetD16_v2, other + 12, 0x1234, 1);
    OK(cuMemsetD8_v2, other + 14, 0x56, 1);
    OK(cuMemcpy, (CUdeviceptr)(uintptr_t)to, other, 16);
    cr_expect(to[0] == 0 && to[1] == 0xdeadbeefu && to[2] == 0xdeadbeefu && to[3] == 0x03561234u, "%x %x %x %x", to[0], to[1],
              to[2], to[3]);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, one + 4, from, sizeof from);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, (CUdeviceptr)(uintptr_t)to, from, 4);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, NULL, one, 4);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2, one + 2, 0, 1);
    OK(cuMemFree_v2, one);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, one);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, other + 4);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, to, one, 4);
    EXPECT(CUDA_SUCCESS, cuMemFree_v2, 0);
}

Test(driver, copies_rectangles)
{
    char from[4][8], to[3][3];
    size_t pitch = 0;
    CUdeviceptr address;

    start();
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 8; x++)
            from[y][x] = (char)(10 * y + x);
    OK(cuMemAllocPitch_v2, &address, &pitch, 8, 4, 4);
    cr_expect(pitch == 512);
    const CUDA_MEMCPY2D in = {.from_type = CU_MEMORYTYPE_HOST,
                              .from_host = from,
                              .from_pitch = 8,
                              .to_type = CU_MEMORYTYPE_DEVICE,
                              .to_device = address,
                              .to_pitch = pitch,
                              .width = 8,
                              .height = 4};
    const CUDA_MEMCPY2D out = {.from_type = CU_MEMORYTYPE_DEVICE,
                               .from_device = address,
                               .from_pitch = pitch,
                               .from_x = 2,
                               .from_y = 1,
                               .to_type = CU_MEMORYTYPE_HOST,
                               .to_host = to,
                               .to_pitch = 3,
                               .width = 3,
                               .height = 3};
    OK(cuMemcpy2D_v2, &in);
    OK(cuMemcpy2DAsync_v2, &out, NULL);
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 3; x++)
            cr_expect(to[y][x] == 10 * (y + 1) + x + 2, "line %d, column %d is %d", y, x, to[y][x]);
}

Test(driver, refuses_addresses_that_are_none)
{
    static const uint64_t wild[] = {
        0, 0x10, 0x1234000, UINT64_C(0x00007ffffffff000), UINT64_C(0x000f000000000000), UINT64_MAX - 7};
    const CUdeviceptr owned = (start(), zeroed(4096));
    CUcontext context;
    char own[64] = {0};

    OK(cuCtxGetCurrent, &context);
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        const CUdeviceptr bad = wild[i];
        void *const in_host = (void *)(uintptr_t)bad;
        CUDA_MEMCPY2D one = {.from_type = CU_MEMORYTYPE_HOST,
                             .from_host = own,
                             .from_pitch = 8,
                             .to_type = CU_MEMORYTYPE_DEVICE,
                             .to_device = bad,
                             .to_pitch = 8,
                             .width = 8,
                             .height = 2};
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, &one);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy2DUnaligned_v2, &one);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy2DAsync_v2, &one, NULL);
        for (int type = CU_MEMORYTYPE_HOST; type <= CU_MEMORYTYPE_UNIFIED; type++) {
            one = (CUDA_MEMCPY2D){.from_type = type,
                                  .from_host = in_host,
                                  .from_device = bad,
                                  .from_pitch = 8,
                                  .to_type = CU_MEMORYTYPE_HOST,
                                  .to_host = own,
                                  .to_pitch = 8,
                                  .width = 8,
                                  .height = 2};
            EXPECT(type == CU_MEMORYTYPE_ARRAY ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, &one);
        }
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy, bad, owned, 16);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy, owned, bad, 16);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyAsync, owned, bad, 16, NULL);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, bad, own, 16);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, owned, in_host, 16);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoDAsync_v2, owned, in_host, 16, NULL);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, in_host, owned, 16);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, own, bad, 16);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoHAsync_v2, in_host, owned, 16, NULL);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD_v2, bad, owned, 16);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoDAsync_v2, owned, bad, 16, NULL);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyPeer, bad, context, owned, context, 16);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyPeerAsync, owned, context, bad, context, 16, NULL);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2, bad, 0, 16);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD16Async, bad, 0, 16, NULL);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2, bad, 0, 16);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D8_v2, bad, 8, 0, 8, 2);
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D32Async, bad, 8, 0, 2, 2, NULL);
    }
    /* Sums that wrap around. */
    CUDA_MEMCPY2D far = {.from_type = CU_MEMORYTYPE_HOST,
                         .from_host = own,
                         .to_type = CU_MEMORYTYPE_DEVICE,
                         .to_device = owned,
                         .from_y = SIZE_MAX / 4,
                         .from_pitch = 16,
                         .to_pitch = 16,
                         .width = 8,
                         .height = 2};
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, &far);
    far.from_y = 0;
    far.from_x = SIZE_MAX - 3;
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, &far);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, owned, own, SIZE_MAX);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpy, (CUdeviceptr)(uintptr_t)own, (CUdeviceptr)(uintptr_t)own, SIZE_MAX);
    cr_expect(read_word(owned) == 0);
}

/* Pinned memory has one address for all: kernels read and write it, and are held to its ends. */
Test(driver, runs_kernels_on_pinned_memory)
{
    static uint32_t registered[1024];
    uint32_t *pinned, word = 0;
    unsigned value = 100, flags = 0;
    CUdeviceptr address, beyond;
    void *parameters[] = {&address, &value};
    cuEmuFinding finding;
    CUmodule module;
    int attribute;
    bool is_mapped = false;

    start();
    module = load();
    OK(cuDeviceGetAttribute, &attribute, 19, 0);
    cr_expect(attribute == 1, "CAN_MAP_HOST_MEMORY");
    OK(cuMemHostAlloc, (void **)&pinned, 64 * sizeof *pinned, 2);
    OK(cuMemHostGetDevicePointer_v2, &address, pinned, 0);
    cr_expect(launch(get(module, "store"), 2, 32, NULL, parameters) == CUDA_SUCCESS);
    for (unsigned i = 0; i < 64; i++)
        cr_expect(pinned[i] == 100 + i, "%u: %u", i, pinned[i]);
    pinned[5] = 41; /* what the host writes is written */
    address += 20;
    cr_expect(launch(get(module, "bump"), 1, 1, NULL, parameters) == CUDA_SUCCESS);
    cr_expect(pinned[5] == 42 && cu.cuEmuFindingCount_() == 0);
    OK(cuMemsetD32_v2, address, 7, 2);
    cr_expect(pinned[5] == 7 && pinned[6] == 7);
    OK(cuPointerGetAttribute, &is_mapped, CU_POINTER_ATTRIBUTE_MAPPED, address);
    OK(cuPointerGetAttribute, &beyond, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address);
    cr_expect(is_mapped && beyond == address);

    OK(cuMemHostRegister_v2, registered + 16, 512, 0);
    EXPECT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2, registered, 68, 0);
    EXPECT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2, registered + 143, 100, 0);
    OK(cuMemHostGetFlags, &flags, registered + 20);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer_v2, &address, registered, 0);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer_v2, &address, registered + 16, 1);
    OK(cuMemHostGetDevicePointer_v2, &address, registered + 16, 0);
    cr_expect(launch(get(module, "store"), 2, 64, NULL, parameters) == CUDA_SUCCESS);
    cr_expect(registered[16] == 100 && registered[143] == 227 && registered[144] == 0 && registered[15] == 0);
    OK(cuMemcpyDtoH_v2, &word, address + 4, 4);
    cr_expect(word == 101);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, registered + 200, address + 500, 16);
    beyond = address + 512;
    parameters[0] = &beyond;
    cr_expect(launch(get(module, "bump"), 1, 1, NULL, parameters) == CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_expect(cu.cuEmuGetFinding_(0, &finding) && strstr(finding.text, "0 bytes after the end of pinned host memory"), "%s",
              finding.text);
    cu.cuEmuClear_();
    OK(cuMemHostUnregister, registered + 16);
    parameters[0] = &address;
    cr_expect(launch(get(module, "bump"), 1, 1, NULL, parameters) == CUDA_ERROR_ILLEGAL_ADDRESS);
    cu.cuEmuClear_();
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, (CUdeviceptr)(uintptr_t)pinned);
    OK(cuMemFreeHost, pinned);
    OK(cuMemHostRegister_v2, registered, sizeof registered, 0); /* and once more where it was */
}

Test(driver, knows_how_much_memory_is_left)
{
    size_t total, before, after;
    CUdeviceptr address;

    start();
    OK(cuMemGetInfo_v2, &before, &total);
    OK(cuMemAlloc_v2, &address, 1 << 20);
    OK(cuMemGetInfo_v2, &after, &total);
    cr_expect(before - after == 1 << 20, "%zu", before - after);
    EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2, &address, total);
    EXPECT(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2, &address, SIZE_MAX);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2, &address, 0);
}

Test(driver, knows_what_a_pointer_is)
{
    CUcontext context = start(), owner = NULL;
    unsigned type = 9;
    uint64_t base = 9, bytes = 9;
    int ordinal = 9, attribute[] = {2, 11, 12, 9, 1};
    void *value[] = {&type, &base, &bytes, &ordinal, &owner}, *pinned;
    CUdeviceptr address;

    OK(cuMemAlloc_v2, &address, 4096);
    OK(cuPointerGetAttributes, 5, attribute, value, address + 100);
    cr_expect(type == CU_MEMORYTYPE_DEVICE && base == address && bytes == 4096 && ordinal == 0 && owner == context);
    OK(cuMemGetAddressRange_v2, &base, &bytes, address + 4095);
    cr_expect(base == address && bytes == 4096);
    OK(cuMemAllocHost_v2, &pinned, 100);
    OK(cuPointerGetAttribute, &type, 2, (CUdeviceptr)(uintptr_t)pinned);
    cr_expect(type == CU_MEMORYTYPE_HOST);
    OK(cuPointerGetAttributes, 3, attribute, value, (CUdeviceptr)(uintptr_t)&type);
    cr_expect(type == 0 && base == 0 && bytes == 0);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute, &type, 2, (CUdeviceptr)(uintptr_t)&type);
    OK(cuMemFree_v2, address);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute, &type, 2, address);
    EXPECT(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange_v2, &base, &bytes, address);
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuPointerGetAttribute, &base, 5, (CUdeviceptr)(uintptr_t)pinned);
    OK(cuMemFreeHost, pinned);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost, pinned);
    OK(cuMemHostRegister_v2, attribute, sizeof attribute, 0);
    EXPECT(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2, attribute, sizeof attribute, 0);
    OK(cuMemHostUnregister, attribute);
}
