/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* The emulator as a driver: its start, devices, contexts, and many threads. */
#include "driver_test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

Test(driver, refuses_to_work_before_it_is_initialised)
{
    CUdevice device;
    CUcontext context;
    int count, version;

    open_library();
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount, &count);
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGet, &device, 0);
    EXPECT(CUDA_ERROR_NOT_INITIALIZED, cuCtxCreate_v2, &context, 0, 0);
    EXPECT(CUDA_SUCCESS, cuDriverGetVersion, &version);
    cr_expect(version >= 13000 && version < 14000, "%d", version);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuInit, 1);
    EXPECT(CUDA_SUCCESS, cuInit, 0);
    EXPECT(CUDA_SUCCESS, cuDeviceGetCount, &count);
    cr_expect(count == 1);
}

Test(driver, refuses_devices_that_it_does_not_know)
{
    static const char *const lists[] = {"sm_42", "sm_90,sm_", "h100", "sm_90x", "sm_90;sm_75"};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        setenv("CUDA_EMULATOR_DEVICES", lists[i], 1);
        open_library();
        cr_expect(CALL(cuInit, 0) == CUDA_ERROR_INVALID_VALUE, "\"%s\" was accepted", lists[i]);
    }
}

Test(driver, is_not_inherited_by_a_child)
{
    int status = -1, count;
    pid_t child;

    start();
    child = fork();
    if (child == 0)
        _exit(CALL(cuInit, 0) == CUDA_ERROR_NOT_INITIALIZED && CALL(cuDeviceGetCount, &count) == CUDA_ERROR_NOT_INITIALIZED
                  ? 0
                  : 1);
    waitpid(child, &status, 0);
    cr_expect(status == 0);
    EXPECT(CUDA_SUCCESS, cuDeviceGetCount, &count);
}

Test(driver, has_the_devices_that_were_asked_for)
{
    static const struct {
        int capability, processors, optin;
        const char *name;
    } rows[] = {{75, 40, 65536, "CUDA emulator sm_75 (as T4)"},
                {90, 132, 232448, "CUDA emulator sm_90 (as H200)"},
                {121, 48, 101376, "CUDA emulator sm_121 (as GB10)"}};
    CUuuid uuid[3];

    start_with("sm_75, sm_90,sm_121");
    for (int i = 0; i < 3; i++) {
        char name[64] = "", bus[16] = "";
        int major = 0, minor = 0, processors = 0, optin = 0;
        CUdevice device;
        size_t bytes = 0;
        OK(cuDeviceGet, &device, i);
        OK(cuDeviceGetName, name, sizeof name, device);
        OK(cuDeviceGetUuid_v2, &uuid[i], device);
        OK(cuDeviceTotalMem_v2, &bytes, device);
        OK(cuDeviceComputeCapability, &major, &minor, device);
        OK(cuDeviceGetAttribute, &processors, 16, device);
        OK(cuDeviceGetAttribute, &optin, 97, device);
        cr_expect(strcmp(name, rows[i].name) == 0, "device %d is called %s", i, name);
        cr_expect(major * 10 + minor == rows[i].capability && processors == rows[i].processors && optin == rows[i].optin, "%s",
                  name);
        cr_expect(bytes > (size_t)10 << 30, "%s has %zu bytes", name, bytes);
        OK(cuDeviceGetPCIBusId, bus, sizeof bus, device);
        OK(cuDeviceGetByPCIBusId, &device, bus);
        cr_expect(device == i, "bus %s", bus);
    }
    cr_expect(memcmp(&uuid[0], &uuid[1], sizeof *uuid) != 0 && memcmp(&uuid[1], &uuid[2], sizeof *uuid) != 0);
    EXPECT(CUDA_ERROR_INVALID_DEVICE, cuDeviceTotalMem_v2, &(size_t){0}, 3);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute, &(int){0}, 9999, 0);
    for (int attribute = 1; attribute <= 147; attribute++)
        cr_expect(CALL(cuDeviceGetAttribute, &(int){0}, attribute, 0) == CUDA_SUCCESS, "attribute %d", attribute);
}

Test(driver, finds_the_function_of_the_version_that_is_asked_for)
{
    static const struct {
        const char *name, *symbol;
        int version;
        uint64_t flags;
    } rows[] = {{"cuMemAlloc", "cuMemAlloc", 2000, 0},
                {"cuMemAlloc", "cuMemAlloc_v2", 3020, 1},
                {"cuMemAlloc", "cuMemAlloc_v2", 13000, 0},
                {"cuCtxCreate", "cuCtxCreate_v2", 11000, 1},
                {"cuCtxCreate", "cuCtxCreate_v3", 11040, 1},
                {"cuCtxCreate", "cuCtxCreate_v4", 13000, 1},
                {"cuDeviceGetUuid", "cuDeviceGetUuid_v2", 11040, 1},
                {"cuCtxGetDevice", "cuCtxGetDevice", 12080, 1},
                {"cuCtxGetDevice", "cuCtxGetDevice_v2", 13000, 1},
                {"cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2", 12000, 1},
                {"cuGetProcAddress", "cuGetProcAddress_v2", 13000, 1},
                {"cuLaunchKernel", "cuLaunchKernel", 4000, 1},
                {"cuLaunchKernel", "cuLaunchKernel_ptsz", 4000, 2},
                {"cuMemcpyHtoD", "cuMemcpyHtoD_v2_ptds", 13000, 2},
                {"cuMemAllocManaged", "cuMemAllocManaged", 13000, 1}};
    void *found = NULL;
    int status = -1;

    open_library();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_expect(CALL(cuGetProcAddress_v2, rows[i].name, &found, rows[i].version, rows[i].flags, &status) == CUDA_SUCCESS &&
                      found == dlsym(library, rows[i].symbol) && status == CU_GET_PROC_ADDRESS_SUCCESS,
                  "%s of %d is not %s", rows[i].name, rows[i].version, rows[i].symbol);
    }
    EXPECT(CUDA_ERROR_NOT_FOUND, cuGetProcAddress_v2, "cuNoSuchThing", &found, 13000, 1, &status);
    cr_expect(!found && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    EXPECT(CUDA_ERROR_NOT_FOUND, cuGetProcAddress_v2, "cuCtxGetId", &found, 11000, 1, &status);
    cr_expect(!found && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2, "cuInit", &found, 99000, 1, &status);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2, NULL, &found, 13000, 1, &status);
    EXPECT(CUDA_ERROR_NOT_FOUND, cuGetProcAddress, "cuNoSuchThing", &found, 13000, 1);
}

Test(driver, says_that_a_function_is_not_supported)
{
    CUresult (*stub)(CUdeviceptr *, size_t, unsigned);
    void *found;

    start();
    found = must_find("cuMemAllocManaged");
    memcpy(&stub, &found, sizeof found);
    cr_expect(stub(&(CUdeviceptr){0}, 16, 1) == CUDA_ERROR_NOT_SUPPORTED);
}

Test(driver, names_its_errors)
{
    const char *text = NULL;

    open_library();
    OK(cuGetErrorName, 700, &text);
    cr_expect(strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
    OK(cuGetErrorString, 0, &text);
    cr_expect(strcmp(text, "no error") == 0);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuGetErrorName, 12345, &text);
    cr_expect(!text);
}

Test(driver, keeps_a_stack_of_contexts_for_each_thread)
{
    CUcontext first = start_with("sm_90,sm_80"), second, now;
    unsigned long long id[3];
    CUdevice device;

    OK(cuCtxCreate_v4, &second, NULL, 0, 1);
    OK(cuCtxGetCurrent, &now);
    cr_expect(now == second);
    OK(cuCtxGetDevice, &device);
    cr_expect(device == 1);
    OK(cuCtxGetId, first, &id[0]);
    OK(cuCtxGetId, NULL, &id[1]);
    OK(cuCtxPopCurrent_v2, &now);
    cr_expect(now == second);
    OK(cuCtxGetCurrent, &now);
    cr_expect(now == first);
    OK(cuCtxDestroy_v2, second);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2, second);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2, second);
    OK(cuCtxCreate_v2, &second, 0, 1);
    OK(cuCtxGetId, second, &id[2]);
    cr_expect(id[0] != id[1] && id[1] != id[2] && id[0] != id[2]);
    OK(cuCtxSetCurrent, first);
    OK(cuCtxPopCurrent_v2, NULL);
    OK(cuCtxPopCurrent_v2, NULL);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent_v2, &now);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2, &(CUdeviceptr){0}, 16);
    OK(cuCtxPushCurrent_v2, first);
    OK(cuCtxDestroy_v2, first);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize);
}

static void *destroy_elsewhere(void *context)
{
    return (void *)(uintptr_t)CALL(cuCtxDestroy_v2, context);
}

Test(driver, creates_contexts_with_parameters_that_ask_for_nothing)
{
    const CUctxCreateParams nothing = {NULL, 0, NULL};
    uint32_t affinity[2] = {0, 4};
    const CUctxCreateParams some = {affinity, 1, NULL}, wrong = {NULL, 1, NULL}, graphics = {NULL, 0, affinity};
    CUcontext first = start(), made, current;

    OK(cuCtxCreate_v4, &made, &nothing, 0, 0);
    OK(cuCtxGetCurrent, &current);
    cr_expect(made != first && current == made);
    OK(cuCtxCreate_v3, &made, affinity, 0, 0, 0);
    EXPECT(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, cuCtxCreate_v4, &made, &some, 0, 0);
    EXPECT(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, cuCtxCreate_v3, &made, affinity, 1, 0, 0);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v4, &made, &wrong, 0, 0);
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuCtxCreate_v4, &made, &graphics, 0, 0);
}

Test(driver, destroys_a_context_with_its_last_use)
{
    CUcontext context = start(), attached, primary;

    EXPECT(CUDA_ERROR_INVALID_VALUE, cuCtxAttach, &attached, 1);
    OK(cuCtxAttach, &attached, 0);
    cr_expect(attached == context);
    OK(cuCtxDetach, context);
    OK(cuCtxSynchronize);
    OK(cuCtxDetach, context);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach, context);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach, NULL);
    OK(cuDevicePrimaryCtxRetain, &primary, 0);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach, primary);
}

/*
 * NVRTC asks for this table at each compile: answer like a driver without it, and log nothing. The CUDA runtime, which ends
 * without it, gets the reason, once.
 */
Test(driver, has_no_export_tables_and_says_so_to_its_caller_only, .init = cr_redirect_stderr)
{
    const CUuuid id = {{1, 2, 3}}, of_runtime = {{0x6b, (char)0xd5, (char)0xfb, 0x6c, 0x5b, (char)0xf4, (char)0xe7, 0x4a}};
    const void *table = &id;

    setenv("CUDA_EMULATOR_LOG", "1", 1);
    open_library();
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuGetExportTable, &table, &id);
    cr_expect(table == NULL);
    for (int i = 0; i < 2; i++)
        EXPECT(CUDA_ERROR_INVALID_VALUE, cuGetExportTable, &table, &of_runtime);
    cu.cuEmuSetOption_(CUEMU_LOG, 2);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuGetExportTable, &table, &id);
    fflush(stderr);
    cr_assert_stderr_eq_str(
        "cuda emulator: the CUDA runtime (cudart) works with NVIDIA's own driver alone: programs of <<<...>>> or "
        "cudaMalloc cannot run here, those of the driver API can\n"
        "cuda emulator: there is no export table 01020300-...\n");
}

Test(driver, names_a_function_that_it_lacks, .init = cr_redirect_stderr)
{
    CUresult (*stub)(CUdeviceptr *, size_t, unsigned);
    void *found;

    setenv("CUDA_EMULATOR_LOG", "1", 1);
    start();
    found = must_find("cuMemAllocManaged");
    memcpy(&stub, &found, sizeof found);
    cr_expect(stub(&(CUdeviceptr){0}, 16, 1) == CUDA_ERROR_NOT_SUPPORTED);
    fflush(stderr);
    cr_assert_stderr_eq_str("cuda emulator: cuMemAllocManaged is not supported\n");
}

Test(driver, names_an_empty_list_of_devices, .init = cr_redirect_stderr)
{
    setenv("CUDA_EMULATOR_DEVICES", " , ", 1);
    setenv("CUDA_EMULATOR_LOG", "1", 1);
    open_library();
    EXPECT(CUDA_ERROR_NO_DEVICE, cuInit, 0);
    fflush(stderr);
    cr_assert_stderr_eq_str(
        "cuda emulator: CUDA_EMULATOR_DEVICES is empty, so there is no device: unset it for an sm_90, or name "
        "some of sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_103, sm_110, sm_120, sm_121\n");
}

Test(driver, tells_a_thread_that_its_context_is_gone)
{
    CUcontext context = start();
    void *answer;
    pthread_t thread;

    pthread_create(&thread, NULL, destroy_elsewhere, context);
    pthread_join(thread, &answer);
    cr_expect(!answer);
    EXPECT(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2, &(CUdeviceptr){0}, 16);
    OK(cuCtxPopCurrent_v2, NULL);
}

Test(driver, counts_references_of_a_primary_context)
{
    CUcontext first, second;
    CUdeviceptr address;
    unsigned flags;
    int is_active = -1;

    start();
    OK(cuDevicePrimaryCtxGetState, 0, &flags, &is_active);
    cr_expect(!is_active);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2, 0);
    OK(cuDevicePrimaryCtxRetain, &first, 0);
    OK(cuDevicePrimaryCtxRetain, &second, 0);
    cr_expect(first == second);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2, first);
    OK(cuCtxSetCurrent, first);
    OK(cuMemAlloc_v2, &address, 64);
    OK(cuDevicePrimaryCtxReset_v2, 0);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, address);
    OK(cuMemAlloc_v2, &address, 64);
    OK(cuDevicePrimaryCtxRelease_v2, 0);
    OK(cuDevicePrimaryCtxGetState, 0, &flags, &is_active);
    cr_expect(is_active == 1);
    OK(cuDevicePrimaryCtxRelease_v2, 0);
    OK(cuDevicePrimaryCtxGetState, 0, &flags, &is_active);
    cr_expect(!is_active);
    EXPECT(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemFree_v2, address);
}

Test(driver, refuses_handles_that_are_none)
{
    void *wrong[5] = {(void *)0x10, (void *)UINT64_C(0x5e00000000000008), (void *)UINT64_C(0x5e00000000ffff00), (void *)-1,
                      NULL};
    CUstream stream;
    CUmodule module;

    start();
    module = load();
    OK(cuStreamCreate, &stream, 0);
    wrong[4] = module; /* of another kind */
    for (size_t i = 0; i < 5; i++) {
        cr_expect(CALL(cuStreamSynchronize, wrong[i]) == CUDA_ERROR_INVALID_HANDLE, "stream %zu", i);
        cr_expect(CALL(cuEventQuery, wrong[i]) == CUDA_ERROR_INVALID_HANDLE, "event %zu", i);
        cr_expect(launch(wrong[i], 1, 1, NULL, NULL) == CUDA_ERROR_INVALID_HANDLE, "function %zu", i);
        cr_expect(CALL(cuCtxPushCurrent_v2, wrong[i]) == CUDA_ERROR_INVALID_CONTEXT, "context %zu", i);
        cr_expect(CALL(cuGraphDestroy, wrong[i]) == CUDA_ERROR_INVALID_VALUE, "graph %zu", i);
    }
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload, (CUmodule)(void *)stream);
    OK(cuModuleUnload, module);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload, module);
    OK(cuStreamDestroy_v2, stream);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2, stream);
}

/* Programs from before CUDA 13 pass no context, so that any value may be in its place. */
Test(driver, says_the_device_of_a_context_in_both_ways)
{
    const CUcontext first = start_with("sm_80 sm_90");
    CUcontext second;
    CUdevice device = -1;

    OK(cuCtxGetDevice_v2, &device, NULL);
    cr_expect(device == 0);
    OK(cuCtxCreate_v2, &second, 0, 1);
    OK(cuCtxGetDevice_v2, &device, first);
    cr_expect(device == 0);
    OK(cuCtxGetDevice_v2, &device, (CUcontext)(void *)&device);
    cr_expect(device == 1);
    OK(cuCtxDestroy_v2, second);
    OK(cuCtxSetCurrent, first);
    OK(cuCtxGetDevice_v2, &device, second);
    cr_expect(device == 0);
    OK(cuCtxSetCurrent, NULL);
    EXPECT(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice_v2, &device, second);
}

enum { THREADS = 6, ROUNDS = 40 };

static void *work_alone(void *argument)
{
    CUcontext context = argument;
    unsigned value = 1;
    uintptr_t failures = 0;
    CUdeviceptr address;
    void *parameters[] = {&address, &value};
    CUmodule module;
    CUfunction store;
    CUstream stream;
    CUevent event;

    failures += CALL(cuCtxPushCurrent_v2, context) != 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned result = 0;
        value = i;
        failures += CALL(cuModuleLoadData, &module, PTX) != 0 || CALL(cuModuleGetFunction, &store, module, "store") != 0;
        failures += CALL(cuStreamCreate, &stream, 1) != 0 || CALL(cuEventCreate, &event, 0) != 0;
        failures += CALL(cuMemAlloc_v2, &address, 256) != 0 || CALL(cuMemsetD8Async, address, 0, 256, stream) != 0;
        failures += launch(store, 2, 32, stream, parameters) != 0 || CALL(cuEventRecord, event, stream) != 0;
        failures += CALL(cuMemcpyDtoHAsync_v2, &result, address + 252, 4, stream) != 0 || result != i + 63;
        failures += CALL(cuMemFree_v2, address) != 0 || CALL(cuModuleUnload, module) != 0;
        failures += CALL(cuStreamDestroy_v2, stream) != 0 || CALL(cuEventDestroy_v2, event) != 0;
    }
    return (void *)failures;
}

Test(driver, serves_many_threads)
{
    CUcontext context = start();
    pthread_t thread[THREADS];
    size_t free_bytes, total;
    void *failures;

    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work_alone, context);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &failures);
        cr_expect(!failures, "thread %d: %zu calls failed", i, (size_t)(uintptr_t)failures);
    }
    OK(cuMemGetInfo_v2, &free_bytes, &total);
    cr_expect(free_bytes == total, "%zu bytes were left behind", total - free_bytes);
}
