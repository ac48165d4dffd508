/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * The emulator as a driver: the library is opened by path, and its functions are called by name, as a host program does.
 *
 * Criterion runs each test in a process of its own, so each begins with an uninitialised driver.
 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_emulator.h"
#include "functions.h"

#define EMULATOR_FUNCTIONS(X) \
    X(cuEmuGetFinding)        \
    X(cuEmuFindingCount) X(cuEmuClear) X(cuEmuSetOption) X(cuEmuGetOption) X(cuEmuWatch) X(cuEmuUnwatch) X(cuEmuGetProgress)

/* Every function, under its own name in a table. */
static struct {
#define MEMBER(name, symbol, version, arguments) CUresult(*symbol##_) arguments;
#define MEMBER_AND(name, symbol, version, arguments, call) MEMBER(name, symbol, version, arguments)
    EMU_DRIVER_FUNCTIONS(MEMBER, MEMBER_AND, MEMBER_AND, MEMBER_AND)
#undef MEMBER
#define MEMBER(name) __typeof__(&name) name##_;
    EMULATOR_FUNCTIONS(MEMBER)
#undef MEMBER
} cu;

static void *library;

static void *must_find(const char *symbol)
{
    void *found = dlsym(library, symbol);

    cr_assert(found, "%s is not exported", symbol);
    return found;
}

static void open_library(void)
{
    void *found;

    setenv("CUDA_EMULATOR_LOG", "0", 0);
    library = dlopen(EMULATOR_PATH, RTLD_NOW | RTLD_LOCAL);
    cr_assert(library, "%s", dlerror());
#define FIND(name, symbol, version, arguments) \
    found = must_find(#symbol);                \
    memcpy(&cu.symbol##_, &found, sizeof found);
#define FIND_AND(name, symbol, version, arguments, call) FIND(name, symbol, version, arguments)
    EMU_DRIVER_FUNCTIONS(FIND, FIND_AND, FIND_AND, FIND_AND)
#undef FIND
#define FIND(name)            \
    found = must_find(#name); \
    memcpy(&cu.name##_, &found, sizeof found);
    EMULATOR_FUNCTIONS(FIND)
#undef FIND
}

#define CALL(function, ...) cu.function##_(__VA_ARGS__)
#define EXPECT(wanted, function, ...)                                                                                  \
    do {                                                                                                               \
        const CUresult got_ = cu.function##_(__VA_ARGS__);                                                             \
        cr_expect(got_ == (wanted), "line %d: %s answered %d, not %d", __LINE__, #function, (int)got_, (int)(wanted)); \
    } while (0)
#define OK(function, ...)                                                                           \
    do {                                                                                            \
        const CUresult got_ = cu.function##_(__VA_ARGS__);                                          \
        cr_assert(got_ == CUDA_SUCCESS, "line %d: %s answered %d", __LINE__, #function, (int)got_); \
    } while (0)

/* A driver with the devices of list, and a current context of the first. */
static CUcontext start_with(const char *list)
{
    CUcontext context;

    setenv("CUDA_EMULATOR_DEVICES", list, 1);
    open_library();
    OK(cuInit, 0);
    OK(cuCtxCreate_v2, &context, 0, 0);
    return context;
}

static CUcontext start(void)
{
    return start_with("sm_90");
}

#define HEADER ".version 7.0\n.target sm_75\n.address_size 64\n"

/* store(p, v): p[global thread] = v + global thread; add(p): p[0] += 1; spill(p): dynamic shared memory there and back. */
static const char PTX[] = HEADER ".global .align 4 .u32 counter = 41;\n"
                                 ".global .align 8 .u64 where = counter;\n"
                                 ".const .align 4 .u32 limits[4] = {7, 8, 9, 10};\n"
                                 ".visible .entry store(.param .u64 p, .param .u32 v)\n"
                                 "{\n"
                                 " .reg .b32 %r<8>; .reg .b64 %rd<5>;\n"
                                 " ld.param.u64 %rd1, [p];\n"
                                 " ld.param.u32 %r1, [v];\n"
                                 " mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
                                 " mad.lo.s32 %r5, %r2, %r3, %r4;\n"
                                 " add.s32 %r6, %r5, %r1;\n"
                                 " cvta.to.global.u64 %rd2, %rd1;\n"
                                 " mul.wide.u32 %rd3, %r5, 4;\n"
                                 " add.s64 %rd4, %rd2, %rd3;\n"
                                 " st.global.u32 [%rd4], %r6;\n"
                                 " ret;\n"
                                 "}\n"
                                 ".visible .entry bump(.param .u64 p)\n"
                                 "{\n"
                                 " .reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
                                 " ld.param.u64 %rd1, [p];\n"
                                 " ld.global.u32 %r1, [%rd1];\n"
                                 " add.s32 %r2, %r1, 1;\n"
                                 " st.global.u32 [%rd1], %r2;\n"
                                 " ret;\n"
                                 "}\n"
                                 ".visible .entry narrow() .maxntid 64, 1, 1\n"
                                 "{\n"
                                 " ret;\n"
                                 "}\n"
                                 ".visible .entry loop()\n"
                                 "{\n"
                                 "again:\n"
                                 " bra again;\n"
                                 "}\n"
                                 ".visible .entry fail()\n"
                                 "{\n"
                                 " trap;\n"
                                 " ret;\n"
                                 "}\n";

static CUmodule load(void)
{
    CUmodule module;

    OK(cuModuleLoadData, &module, PTX);
    return module;
}

static CUfunction get(CUmodule module, const char *name)
{
    CUfunction function;

    OK(cuModuleGetFunction, &function, module, name);
    return function;
}

static CUresult launch(CUfunction function, unsigned blocks, unsigned threads, CUstream stream, void **parameters)
{
    return CALL(cuLaunchKernel, function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, NULL);
}

static unsigned read_word(CUdeviceptr address)
{
    unsigned value = 0;

    OK(cuMemcpyDtoH_v2, &value, address, sizeof value);
    return value;
}

static CUdeviceptr zeroed(size_t bytes)
{
    CUdeviceptr address;

    OK(cuMemAlloc_v2, &address, bytes);
    OK(cuMemsetD8_v2, address, 0, bytes);
    return address;
}

/* ---- starting ----------------------------------------------------------------------------------------------------- */

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

/* ---- contexts ----------------------------------------------------------------------------------------------------- */

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

/* ---- memory ------------------------------------------------------------------------------------------------------- */

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

/* ---- modules and launches ----------------------------------------------------------------------------------------- */

Test(driver, launches_a_kernel_with_its_parameters)
{
    unsigned value = 100;
    CUdeviceptr address;
    CUfunction store;
    void *parameters[] = {&address, &value};
    struct {
        CUdeviceptr address;
        unsigned value;
    } buffer;
    size_t bytes = 12;
    void *extra[] = {(void *)1, &buffer, (void *)2, &bytes, NULL};

    start();
    store = get(load(), "store");
    address = zeroed(64 * 4);
    cr_expect(launch(store, 2, 32, NULL, parameters) == CUDA_SUCCESS);
    cr_expect(read_word(address) == 100 && read_word(address + 4 * 63) == 163);
    buffer.address = address;
    buffer.value = 500;
    EXPECT(CUDA_SUCCESS, cuLaunchKernel, store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra);
    cr_expect(read_word(address) == 500 && read_word(address + 4) == 101);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, store, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, extra);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    bytes = 8;
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra);
}

Test(driver, launches_with_attributes)
{
    static const struct {
        int id;
        unsigned value[3];
        CUresult result;
    } rows[] = {{0, {0, 0, 0}, CUDA_SUCCESS},
                {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, {1, 1, 1}, CUDA_SUCCESS},
                {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, {2, 1, 1}, CUDA_ERROR_INVALID_CLUSTER_SIZE},
                {CU_LAUNCH_ATTRIBUTE_COOPERATIVE, {0, 0, 0}, CUDA_SUCCESS},
                {CU_LAUNCH_ATTRIBUTE_COOPERATIVE, {1, 0, 0}, CUDA_SUCCESS},
                {CU_LAUNCH_ATTRIBUTE_LAST, {0, 0, 0}, CUDA_ERROR_NOT_SUPPORTED},
                {99, {0, 0, 0}, CUDA_ERROR_INVALID_VALUE}};
    CUdeviceptr address;
    void *parameters[] = {&address};
    CUfunction bump;
    unsigned launches = 0;

    start();
    bump = get(load(), "bump");
    address = zeroed(4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CUlaunchAttribute attribute = {.id = rows[i].id};
        CUlaunchConfig config = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .attribute = &attribute, .attributes = 1};
        memcpy(attribute.value.dimension, rows[i].value, sizeof rows[i].value);
        cr_expect(CALL(cuLaunchKernelEx, &config, bump, parameters, NULL) == rows[i].result, "row %zu", i);
        launches += rows[i].result == CUDA_SUCCESS;
    }
    EXPECT(CUDA_SUCCESS, cuLaunchCooperativeKernel, bump, 1, 1, 1, 1, 1, 1, 0, NULL, parameters);
    cr_expect(read_word(address) == launches + 1);
}

Test(driver, keeps_to_the_limits_of_a_launch)
{
    static const struct {
        const char *name;
        unsigned grid[3], block[3], shared;
        CUresult result;
    } rows[] = {{"narrow", {1, 1, 1}, {64, 1, 1}, 0, 0},
                {"narrow", {1, 1, 1}, {65, 1, 1}, 0, 1},
                {"narrow", {0, 1, 1}, {1, 1, 1}, 0, 1},
                {"narrow", {1, 1, 1}, {1, 0, 1}, 0, 1},
                {"narrow", {1, 65536, 1}, {1, 1, 1}, 0, 1},
                {"narrow", {1, 1, 65536}, {1, 1, 1}, 0, 1},
                {"narrow", {2147483648u, 1, 1}, {1, 1, 1}, 0, 1},
                {"narrow", {1, 1, 1}, {1, 1, 1}, 49152, 0},
                {"narrow", {1, 1, 1}, {1, 1, 1}, 49153, 1},
                {"bump", {1, 1, 1}, {32, 32, 2}, 0, 1},
                {"bump", {1, 1, 1}, {1, 1, 65}, 0, 1}};
    CUdeviceptr address;
    void *parameters[] = {&address};
    CUmodule module;
    CUfunction narrow;
    int value;

    start();
    module = load();
    address = zeroed(4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect(CALL(cuLaunchKernel, get(module, rows[i].name), rows[i].grid[0], rows[i].grid[1], rows[i].grid[2],
                       rows[i].block[0], rows[i].block[1], rows[i].block[2], rows[i].shared, NULL, parameters,
                       NULL) == rows[i].result,
                  "row %zu", i);
    narrow = get(module, "narrow");
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute, narrow, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449);
    EXPECT(CUDA_SUCCESS, cuFuncSetAttribute, narrow, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448);
    EXPECT(CUDA_SUCCESS, cuLaunchKernel, narrow, 1, 1, 1, 1, 1, 1, 232448, NULL, NULL, NULL);
    OK(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, narrow);
    cr_expect(value == 64);
}

Test(driver, describes_functions)
{
    size_t offset, bytes;
    const char *name;
    CUmodule module, of;
    CUfunction store;
    unsigned count;
    int value, blocks, size;

    start();
    module = load();
    store = get(module, "store");
    cr_expect(get(module, "store") == store);
    OK(cuFuncGetName, &name, store);
    cr_expect(strcmp(name, "store") == 0);
    OK(cuFuncGetModule, &of, store);
    cr_expect(of == module);
    OK(cuFuncGetParamInfo, store, 1, &offset, &bytes);
    cr_expect(offset == 8 && bytes == 4);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo, store, 2, &offset, &bytes);
    OK(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, store);
    cr_expect(value == 90);
    OK(cuModuleGetFunctionCount, &count, module);
    cr_expect(count == 5);
    EXPECT(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction, &store, module, "nothing");
    store = get(module, "store");
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, store, 256, 0);
    cr_expect(blocks == 8, "%d", blocks);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, store, 32, 65536);
    cr_expect(blocks == 3, "%d", blocks);
    OK(cuOccupancyMaxPotentialBlockSize, &blocks, &size, store, NULL, 0, 0);
    cr_expect(size == 1024 && blocks == 264, "%d of %d", blocks, size);
}

Test(driver, gives_a_module_its_variables)
{
    CUdeviceptr counter, where, limits, pointed = 0;
    void *parameters[] = {&counter};
    CUmodule module;
    size_t bytes;

    start();
    module = load();
    OK(cuModuleGetGlobal_v2, &counter, &bytes, module, "counter");
    cr_expect(bytes == 4 && read_word(counter) == 41);
    OK(cuModuleGetGlobal_v2, &where, &bytes, module, "where");
    OK(cuMemcpyDtoH_v2, &pointed, where, 8);
    cr_expect(bytes == 8 && pointed == counter);
    OK(cuModuleGetGlobal_v2, &limits, &bytes, module, "limits");
    cr_expect(bytes == 16 && read_word(limits + 12) == 10);
    EXPECT(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal_v2, &limits, &bytes, module, "nothing");
    cr_expect(launch(get(module, "bump"), 1, 1, NULL, parameters) == CUDA_SUCCESS);
    cr_expect(read_word(counter) == 42);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, counter);
    OK(cuModuleUnload, module);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, &pointed, counter, 4);
}

Test(driver, refuses_images_that_it_cannot_run)
{
    static const struct {
        const char *image;
        CUresult result;
        const char *message;
    } rows[] = {{"\177ELF\2\1\1", CUDA_ERROR_NO_BINARY_FOR_GPU, "needs PTX"},
                {"\x50\xed\x55\xba\1\0\x10\0\0\0\0\0\0\0\0\0", CUDA_ERROR_NO_BINARY_FOR_GPU, "holds nothing"},
                {"\x50\xed\x55\xba\1\0\1\0\0\0\0\0\0\0\0\0", CUDA_ERROR_INVALID_IMAGE, "damaged"},
                {".version 8.0\n.target sm_100\n.address_size 64\n", CUDA_ERROR_NO_BINARY_FOR_GPU, "sm_100"},
                {".version 8.0\n.target sm_80a\n.address_size 64\n", CUDA_ERROR_NO_BINARY_FOR_GPU, "sm_80a"},
                {"// later\n.version 12.5\n.target sm_75\n.address_size 64\n", CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "12.5"},
                {HEADER ".visible .entry broken() { frobnicate; }\n", CUDA_ERROR_INVALID_PTX, "line 4"},
                {"hello", CUDA_ERROR_INVALID_PTX, ""},
                {"", CUDA_ERROR_INVALID_PTX, ""},
                {".version 8.0\n.target sm_90a\n.address_size 64\n", CUDA_SUCCESS, ""}};

    start();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char log[256] = "";
        int option[] = {5, 6};
        void *value[] = {log, (void *)sizeof log};
        CUmodule module;
        const CUresult result = CALL(cuModuleLoadDataEx, &module, rows[i].image, 2, option, value);
        cr_expect(result == rows[i].result, "row %zu: %d", i, (int)result);
        cr_expect(strstr(log, rows[i].message) != NULL, "row %zu: \"%s\"", i, log);
        cr_expect((size_t)value[1] == strlen(log), "row %zu: %zu", i, (size_t)value[1]);
    }
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData, &(CUmodule){NULL}, NULL);
    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad, &(CUmodule){NULL}, "/no/such/file");
}

static void *write_ptx(void *path)
{
    FILE *file = fopen(path, "w"); /* waits for the reader */

    if (!file || fwrite(PTX, 1, sizeof PTX - 1, file) != sizeof PTX - 1 || fclose(file) != 0)
        return path;
    return NULL;
}

/* Paths that would hang a call or fill the memory are refused, with name and reason. */
Test(driver, reads_regular_files_and_pipes_that_somebody_writes, .init = cr_redirect_stderr, .timeout = 60)
{
    static const char zeros[] = "/dev/zero";
    char folder[] = "/tmp/emulator_XXXXXX", pipe[64], large[64], told[1024];
    CUmodule module = NULL;
    CUlibrary library;
    CUlinkState link;
    pthread_t writer;
    void *failed = NULL;
    int length;
    FILE *file;

    setenv("CUDA_EMULATOR_LOG", "1", 1);
    start();
    cr_assert(mkdtemp(folder));
    snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    snprintf(large, sizeof large, "%s/large", folder);
    cr_assert(mkfifo(pipe, 0600) == 0);
    file = fopen(large, "w");
    cr_assert(file && ftruncate(fileno(file), ((off_t)1 << 30) + 1) == 0 && fclose(file) == 0);
    OK(cuLinkCreate_v2, 0, NULL, NULL, &link);

    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad, &module, pipe);
    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad, &module, large);
    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad, &module, folder);
    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuLibraryLoadFromFile, &library, zeros, NULL, NULL, 0, NULL, NULL, 0);
    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuLinkAddFile_v2, link, 1, zeros, 0, NULL, NULL);
    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad, &module, "/no/such/file");
    length = snprintf(told, sizeof told, "cuda emulator: cannot read %s: it is a pipe into which no program writes\n", pipe);
    length +=
        snprintf(told + length, sizeof told - (size_t)length, "cuda emulator: cannot read %s: it has more than 1 GiB\n", large);
    length += snprintf(told + length, sizeof told - (size_t)length, "cuda emulator: cannot read %s: it is a folder\n", folder);
    for (int i = 0; i < 2; i++)
        length += snprintf(told + length, sizeof told - (size_t)length,
                           "cuda emulator: cannot read %s: it is neither a regular file nor a pipe\n", zeros);
    snprintf(told + length, sizeof told - (size_t)length,
             "cuda emulator: cannot read /no/such/file: No such file or directory\n");
    fflush(stderr);
    cr_assert_stderr_eq_str(told);

    cr_assert(pthread_create(&writer, NULL, write_ptx, pipe) == 0);
    EXPECT(CUDA_SUCCESS, cuModuleLoad, &module, pipe);
    cr_assert(pthread_join(writer, &failed) == 0 && !failed);
    cr_expect(get(module, "store"));
    OK(cuLinkDestroy, link);
    cr_expect(remove(pipe) == 0 && remove(large) == 0 && rmdir(folder) == 0);
}

/*
 * Arrays of the module are those of the kernels that name them, or call what names them. A kernel with too many is refused, and no
 * other.
 */
static const char arrays[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".shared .align 16 .b8 nobody[40000];\n.shared .align 16 .b8 big[32768];\n"
    ".shared .align 4 .b32 called[16];\n.shared .align 16 .b8 huge[60000];\n"
    ".func f() { st.shared.u32 [called+60], 1; ret; }\n"
    ".visible .entry one() { st.shared.u32 [big+32764], 1; ret; }\n"
    ".visible .entry two() { .shared .align 16 .b8 own[20000]; st.shared.u32 [own+19996], 1; call f; ret; "
    "}\n"
    ".visible .entry both() { .shared .align 16 .b8 own[20000]; st.shared.u32 [own], 1; "
    "st.shared.u32 [big], 1; ret; }\n"
    ".visible .entry three() { st.shared.u32 [huge], 1; ret; }\n"
    ".visible .entry none() { ret; }\n";

Test(driver, a_kernel_has_the_shared_arrays_that_it_uses)
{
    static const struct {
        const char *kernel;
        int bytes;
    } rows[] = {{"one", 32768}, {"two", 20064}, {"none", 0}};
    CUmodule loaded;
    CUfunction function;
    int value;

    start();
    OK(cuModuleLoadData, &loaded, arrays);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        OK(cuModuleGetFunction, &function, loaded, rows[i].kernel);
        OK(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
        cr_expect(value == rows[i].bytes, "%s: %d", rows[i].kernel, value);
        cr_expect(launch(function, 1, 32, NULL, NULL) == CUDA_SUCCESS, "%s", rows[i].kernel);
    }
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuModuleGetFunction, &function, loaded, "both");
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuModuleGetFunction, &function, loaded, "three");
    OK(cuModuleUnload, loaded);
}

Test(driver, refuses_a_kernel_that_it_cannot_run_and_no_other)
{
    static const char text[] =
        HEADER ".visible .entry good() { ret; }\n.visible .entry bad() { wgmma.fence.sync.aligned; ret; }\n";
    CUfunction function[2] = {NULL, NULL};
    CUlibrary library;
    CUkernel kernel;
    CUmodule module;

    start();
    OK(cuModuleLoadData, &module, text);
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuModuleGetFunction, &function[0], module, "bad");
    OK(cuModuleGetFunction, &function[0], module, "good");
    cr_expect(launch(function[0], 1, 1, NULL, NULL) == CUDA_SUCCESS);
    OK(cuModuleEnumerateFunctions, function, 2, module);
    cr_expect(launch(function[0], 1, 1, NULL, NULL) == CUDA_SUCCESS);
    cr_expect(launch(function[1], 1, 1, NULL, NULL) == CUDA_ERROR_NOT_SUPPORTED);
    OK(cuCtxSynchronize);
    OK(cuLibraryLoadData, &library, text, NULL, NULL, 0, NULL, NULL, 0);
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuLibraryGetKernel, &kernel, library, "bad");
    OK(cuLibraryGetKernel, &kernel, library, "good");
}

/* ---- fat binaries ------------------------------------------------------------------------------------------------- */

/* "which" stores the number that it was made for. */
#define PTX_FOR(target, number)                                                                                        \
    ".version 8.0\n.target " target "\n.address_size 64\n.visible .entry which(.param .u64 p)\n{\n .reg .b64 %d<2>;\n" \
    " ld.param.u64 %d1, [p];\n st.global.u32 [%d1], " number ";\n ret;\n}\n"

enum { PLAIN = 0x11, WITH_LZ4 = 0x2011, WITH_ZSTD = 0x8011, SASS = 2 };

static struct fatbin {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
    uint8_t entry[8192];
} fatbin;

/* Begin with an empty one. */
static void begin_fatbin(void)
{
    fatbin = (struct fatbin){0xba55ed50u, 1, 16, 0, {0}};
}

static void add_entry(uint16_t kind, uint32_t capability, uint64_t flags, const void *content, size_t bytes,
                      uint64_t text_bytes)
{
    uint8_t *at = fatbin.entry + fatbin.bytes;
    const uint64_t padded = (bytes + 7) / 8 * 8;
    const uint32_t header_bytes = 80, compressed = text_bytes ? (uint32_t)bytes : 0;

    cr_assert(fatbin.bytes + header_bytes + padded <= sizeof fatbin.entry);
    memcpy(at, &kind, 2);
    memcpy(at + 4, &header_bytes, 4);
    memcpy(at + 8, &padded, 8);
    memcpy(at + 16, &compressed, 4);
    memcpy(at + 28, &capability, 4);
    memcpy(at + 40, &flags, 8);
    memcpy(at + 56, &text_bytes, 8);
    memcpy(at + header_bytes, content, bytes);
    fatbin.bytes += header_bytes + padded;
}

/* An entry of PTX. Compressed: as data of that kind that is stored as it is. */
static void add_ptx(uint32_t capability, uint64_t flags, const char *text)
{
    uint8_t packed[2048];
    const size_t length = strlen(text);
    size_t n = 0;

    cr_assert(length >= 15 && length < 15 + 255);
    if (flags == WITH_LZ4) { /* literals only: their number is 15 and what follows it */
        const uint8_t token[] = {0xf0, (uint8_t)(length - 15)};
        memcpy(packed, token, n = sizeof token);
    } else if (flags == WITH_ZSTD) { /* one block that is the last and raw, in a frame that says how long it is */
        const uint32_t block = 1 | (uint32_t)length << 3;
        const uint8_t frame[] = {0x28,
                                 0xb5,
                                 0x2f,
                                 0xfd,
                                 0xa0,
                                 (uint8_t)length,
                                 (uint8_t)(length >> 8),
                                 0,
                                 0,
                                 (uint8_t)block,
                                 (uint8_t)(block >> 8),
                                 (uint8_t)(block >> 16)};
        memcpy(packed, frame, n = sizeof frame);
    }
    memcpy(packed + n, text, length);
    add_entry(1, capability, flags, packed, n + length, flags == PLAIN ? 0 : length);
}

/* The number that "which" of an image stores; below 0: the error of loading it. */
static int number_of(const void *image, char *log, size_t log_bytes)
{
    int option[] = {5, 6};
    void *value[] = {log, (void *)log_bytes};
    CUdeviceptr address = zeroed(4);
    void *parameters[] = {&address};
    CUmodule module;
    const CUresult result = CALL(cuModuleLoadDataEx, &module, image, 2, option, value);

    if (result != CUDA_SUCCESS)
        return -(int)result;
    cr_assert(launch(get(module, "which"), 1, 1, NULL, parameters) == CUDA_SUCCESS);
    OK(cuModuleUnload, module);
    return (int)read_word(address);
}

Test(driver, takes_the_best_ptx_of_a_fat_binary)
{
    struct {
        uint32_t magic, version;
        const void *container;
        void *name;
    } wrapper = {0x466243b1u, 1, &fatbin, NULL};
    char log[512] = "", path[] = "/tmp/tilejit_fatbin_XXXXXX";
    CUmodule module;
    int file;

    start_with("sm_90,sm_80");
    begin_fatbin();
    add_entry(SASS, 90, PLAIN, "\177ELF", 4, 0);
    add_ptx(80, PLAIN, PTX_FOR("sm_80", "80"));
    add_ptx(100, PLAIN, PTX_FOR("sm_100", "100"));
    add_ptx(90, PLAIN, PTX_FOR("sm_90", "90"));
    add_ptx(90, PLAIN, PTX_FOR("sm_90a", "901"));
    add_ptx(75, PLAIN, PTX_FOR("sm_75", "75"));
    cr_expect(number_of(&fatbin, log, sizeof log) == 901, "%s", log);
    cr_expect(number_of(&wrapper, log, sizeof log) == 901, "%s", log);
    OK(cuModuleLoadFatBinary, &module, &wrapper);
    file = mkstemp(path);
    cr_assert(file >= 0 && write(file, &fatbin, 16 + fatbin.bytes) == (ssize_t)(16 + fatbin.bytes) && close(file) == 0);
    OK(cuModuleLoad, &module, path);
    cr_expect(truncate(path, (off_t)(fatbin.bytes - 8)) == 0);
    EXPECT(CUDA_ERROR_INVALID_IMAGE, cuModuleLoad, &module, path);
    unlink(path);
    fatbin.bytes -= 8; /* cuts the last entry short */
    cr_expect(number_of(&fatbin, log, sizeof log) == -CUDA_ERROR_INVALID_IMAGE && strstr(log, "damaged"), "%s", log);
}

Test(driver, says_what_a_fat_binary_has_instead_of_ptx)
{
    char log[512] = "";

    start();
    begin_fatbin();
    add_entry(SASS, 90, PLAIN, "\177ELF", 4, 0);
    cr_expect(number_of(&fatbin, log, sizeof log) == -CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_expect(strstr(log, "SASS for sm_90") && strstr(log, "code=compute_90"), "%s", log);
    add_ptx(100, PLAIN, PTX_FOR("sm_100", "100"));
    cr_expect(number_of(&fatbin, log, sizeof log) == -CUDA_ERROR_NO_BINARY_FOR_GPU && strstr(log, "PTX for sm_100"), "%s", log);
}

Test(driver, reads_compressed_ptx_where_the_library_for_it_is_installed)
{
    static const struct {
        uint64_t flags;
        const char *library;
    } rows[] = {{WITH_LZ4, "liblz4.so.1"}, {WITH_ZSTD, "libzstd.so.1"}};

    start();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *compression = dlopen(rows[i].library, RTLD_NOW);
        char log[512] = "";
        int number;
        begin_fatbin();
        add_ptx(90, rows[i].flags, PTX_FOR("sm_90", "90"));
        number = number_of(&fatbin, log, sizeof log);
        cr_expect(compression ? number == 90 : number == -CUDA_ERROR_NOT_SUPPORTED && strstr(log, rows[i].library),
                  "%s: %d, %s", rows[i].library, number, log);
        fatbin.entry[80] ^= 0x40; /* the first byte of the content */
        number = number_of(&fatbin, log, sizeof log);
        cr_expect(!compression || (number == -CUDA_ERROR_INVALID_IMAGE && strstr(log, "damaged")), "%d, %s", number, log);
    }
}

Test(driver, gives_each_device_its_own_ptx_of_a_library)
{
    CUcontext first = start_with("sm_90,sm_80"), second;
    CUlibrary both;
    CUkernel kernel;
    CUfunction function;
    int number;

    begin_fatbin();
    add_ptx(80, PLAIN, PTX_FOR("sm_80", "80"));
    add_ptx(90, PLAIN, PTX_FOR("sm_90", "90"));
    OK(cuLibraryLoadData, &both, &fatbin, NULL, NULL, 0, NULL, NULL, 0);
    begin_fatbin(); /* it has a copy */
    OK(cuLibraryGetKernel, &kernel, both, "which");
    OK(cuKernelGetAttribute, &number, CU_FUNC_ATTRIBUTE_PTX_VERSION, kernel, 0);
    cr_expect(number == 90, "that of the first device: %d", number);
    OK(cuCtxCreate_v2, &second, 0, 1);
    for (int i = 0; i < 2; i++) {
        CUdeviceptr address;
        void *parameters[] = {&address};
        OK(cuCtxSetCurrent, i ? second : first);
        address = zeroed(4);
        OK(cuKernelGetFunction, &function, kernel);
        cr_expect(launch(function, 1, 1, NULL, parameters) == CUDA_SUCCESS);
        cr_expect(read_word(address) == (i ? 80 : 90), "%u", read_word(address));
    }
}

/* ---- what older programs call -------------------------------------------------------------------------------------- */

Test(driver, links_ptx)
{
    CUlinkState state;
    char log[512] = "", path[] = "/tmp/tilejit_link_XXXXXX";
    int option[] = {5, 6}, file;
    void *value[] = {log, (void *)sizeof log}, *image;
    size_t bytes;

    start();
    OK(cuLinkCreate_v2, 2, option, value, &state);
    OK(cuLinkAddData_v2, state, 1, (void *)PTX_FOR("sm_90", "90"), sizeof PTX_FOR("sm_90", "90") - 1, "which.ptx", 0, NULL,
       NULL);
    OK(cuLinkComplete, state, &image, &bytes);
    cr_expect(bytes == sizeof PTX_FOR("sm_90", "90") && number_of(image, log, sizeof log) == 90, "%zu %s", bytes, log);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLinkComplete, state, &image, &bytes);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLinkAddData_v2, state, 1, "x", 1, "x", 0, NULL, NULL);
    OK(cuLinkDestroy, state);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy, state);

    value[1] = (void *)sizeof log;
    OK(cuLinkCreate_v2, 2, option, value, &state);
    EXPECT(CUDA_ERROR_INVALID_IMAGE, cuLinkComplete, state, &image, &bytes);
    EXPECT(CUDA_ERROR_NO_BINARY_FOR_GPU, cuLinkAddData_v2, state, 0, "\177ELF", 5, "a.cubin", 0, NULL, NULL);
    cr_expect(strstr(log, "a.cubin is a CUBIN"), "%s", log);
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuLinkAddFile_v2, state, 4, "libcudadevrt.a", 0, NULL, NULL);
    cr_expect(strstr(log, "libcudadevrt.a is a library"), "%s", log);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLinkAddData_v2, state, 9, "x", 1, "x", 0, NULL, NULL);
    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuLinkAddFile_v2, state, 1, "/no/such/file.ptx", 0, NULL, NULL);
    begin_fatbin();
    add_ptx(80, PLAIN, PTX_FOR("sm_80", "80"));
    OK(cuLinkAddData_v2, state, 2, &fatbin, 16 + fatbin.bytes, "which.fatbin", 0, NULL, NULL);
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuLinkAddData_v2, state, 1, (void *)PTX, sizeof PTX, "second.ptx", 0, NULL, NULL);
    cr_expect(strstr(log, "second.ptx") && strstr(log, "which.fatbin"), "%s", log);
    OK(cuLinkComplete, state, &image, &bytes);
    cr_expect(number_of(image, log, sizeof log) == 80, "%s", log);
    OK(cuLinkDestroy, state);

    file = mkstemp(path);
    cr_assert(file >= 0 && write(file, HEADER "frobnicate", sizeof HEADER "frobnicate" - 1) > 0 && close(file) == 0);
    value[1] = (void *)sizeof log;
    OK(cuLinkCreate_v2, 2, option, value, &state);
    OK(cuLinkAddFile_v2, state, 1, path, 0, NULL, NULL);
    unlink(path);
    EXPECT(CUDA_ERROR_INVALID_PTX, cuLinkComplete, state, &image, &bytes);
    cr_expect(strstr(log, "line 4") && (size_t)value[1] == strlen(log), "%s", log);
    OK(cuLinkDestroy, state);
}

Test(driver, launches_as_before_cuda_4)
{
    CUdeviceptr address;
    CUfunction store;
    CUstream stream;

    start();
    store = get(load(), "store");
    address = zeroed(64 * 4);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunch, store);
    OK(cuFuncSetBlockShape, store, 8, 1, 1);
    OK(cuFuncSetSharedSize, store, 128);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunch, store);
    OK(cuParamSetv, store, 0, &address, sizeof address);
    OK(cuParamSeti, store, 8, 40);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunch, store);
    OK(cuParamSetSize, store, 12);
    OK(cuLaunch, store);
    cr_expect(read_word(address + 28) == 47 && read_word(address + 32) == 0);
    OK(cuLaunchGrid, store, 2, 1);
    cr_expect(read_word(address + 60) == 55 && read_word(address + 64) == 0);
    OK(cuStreamCreate, &stream, 0);
    OK(cuParamSetf, store, 8, 1.0f);
    OK(cuLaunchGridAsync, store, 1, 1, stream);
    OK(cuStreamSynchronize, stream);
    cr_expect(read_word(address) == 0x3f800000u);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape, store, 0, 1, 1);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape, store, 1024, 2, 1);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuParamSetv, store, 4092, &address, 8);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuParamSetv, store, -4, &address, 8);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuParamSetSize, store, 4097);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchGrid, store, 0, 1);
    OK(cuFuncSetSharedSize, store, 1 << 20);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunch, store);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLaunch, NULL);
}

Test(driver, uses_a_library_in_several_contexts)
{
    CUcontext first = start_with("sm_90,sm_80"), second;
    CUdeviceptr address[2], counter[2];
    CUlibrary library_of_two;
    CUkernel bump;
    CUfunction function[2];
    int value;

    OK(cuLibraryLoadData, &library_of_two, PTX, NULL, NULL, 0, NULL, NULL, 0);
    OK(cuLibraryGetKernel, &bump, library_of_two, "bump");
    EXPECT(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel, &(CUkernel){NULL}, library_of_two, "nothing");
    OK(cuKernelSetAttribute, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000, bump, 1);
    OK(cuCtxCreate_v2, &second, 0, 1);
    for (int i = 0; i < 2; i++) {
        void *parameters[] = {&address[i]};
        OK(cuCtxSetCurrent, i ? second : first);
        address[i] = zeroed(4);
        OK(cuKernelGetFunction, &function[i], bump);
        OK(cuLibraryGetGlobal, &counter[i], NULL, library_of_two, "counter");
        cr_expect(launch(function[i], 1, 1, NULL, parameters) == CUDA_SUCCESS);
        cr_expect(launch((CUfunction)(void *)bump, 1, 1, NULL, parameters) == CUDA_SUCCESS,
                  "a kernel is as good as a function");
        cr_expect(read_word(address[i]) == 2);
        OK(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function[i]);
        cr_expect(value == (i ? 100000 : 49152), "%d", value);
    }
    cr_expect(function[0] != function[1] && counter[0] != counter[1]);
    cr_expect(launch(function[0], 1, 1, NULL, (void *[]){&address[0]}) == CUDA_ERROR_INVALID_HANDLE, "of another context");
    OK(cuLibraryUnload, library_of_two);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuKernelGetFunction, &function[0], bump);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuFuncLoad, function[1]);
}

Test(driver, reports_a_failed_kernel_for_ever)
{
    CUdeviceptr good, bad = 0x10, other_memory;
    void *parameters[] = {&bad};
    CUcontext context = start(), other;
    cuEmuFinding finding;
    CUmodule module = load();

    good = zeroed(4);
    cr_expect(launch(get(module, "bump"), 1, 1, NULL, parameters) == CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize);
    EXPECT(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree_v2, good);
    EXPECT(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize, NULL);
    cr_expect(cu.cuEmuFindingCount_() >= 1 && cu.cuEmuGetFinding_(0, &finding) && finding.kind == CUEMU_OUT_OF_BOUNDS &&
              finding.address == 0x10 && strcmp(finding.kernel, "bump") == 0);
    OK(cuCtxCreate_v2, &other, 0, 0);
    EXPECT(CUDA_SUCCESS, cuMemAlloc_v2, &other_memory, 16);
    OK(cuCtxPopCurrent_v2, NULL);
    cu.cuEmuClear_();
    cr_expect(cu.cuEmuFindingCount_() == 0);
    parameters[0] = &good;
    cr_expect(launch(get(module, "bump"), 1, 1, NULL, parameters) == CUDA_SUCCESS);
    cr_expect(read_word(good) == 1);
    OK(cuCtxDestroy_v2, context);
}

Test(driver, translates_findings)
{
    static const struct {
        const char *name;
        uint64_t address;
        CUresult result;
    } rows[] = {{"loop", 0, 702}, {"fail", 0, 710}, {"bump", 2, 716}, {"bump", 1 << 20, 700}};
    CUmodule module;

    start();
    module = load();
    cu.cuEmuSetOption_(CUEMU_BUDGET, 100000);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CUdeviceptr address = zeroed(16) + rows[i].address;
        void *parameters[] = {&address};
        CUresult result = launch(get(module, rows[i].name), 1, 1, NULL, parameters);
        cr_expect(result == rows[i].result, "row %zu: %d", i, (int)result);
        cu.cuEmuClear_();
    }
}

Test(driver, watches_a_matrix)
{
    CUdeviceptr address;
    unsigned value = 5;
    void *parameters[] = {&address, &value};
    cuEmuFinding finding;
    CUfunction store;
    uint64_t done = 7, blocks = 7;
    int watch;

    start();
    store = get(load(), "store");
    address = zeroed(64);
    cr_expect(cu.cuEmuGetProgress_(&done, &blocks) == 0 && done == 7, "no launch runs");
    cr_expect(cu.cuEmuWatch_(address, 5, 16, 16) == 0, "longer than its memory");
    cr_expect((watch = cu.cuEmuWatch_(address, 4, 16, 16)) > 0);
    cr_expect(launch(store, 1, 16, NULL, parameters) == CUDA_SUCCESS);
    cr_expect(cu.cuEmuUnwatch_(watch) == 0);
    cr_expect(cu.cuEmuUnwatch_(watch) == 0);
    cr_expect((watch = cu.cuEmuWatch_(address, 4, 8, 16)) > 0);
    cr_expect(launch(store, 1, 2, NULL, parameters) == CUDA_SUCCESS && launch(store, 1, 3, NULL, parameters) == CUDA_SUCCESS);
    cr_expect(cu.cuEmuUnwatch_(watch) == 3, "never, twice, padding");
    cr_expect(cu.cuEmuGetFinding_(0, &finding) && finding.kind == CUEMU_NEVER_WRITTEN && finding.count == 24, "%s",
              finding.text);
    cr_expect(cu.cuEmuGetFinding_(1, &finding) && finding.kind == CUEMU_WRITTEN_TWICE && finding.count == 8, "%s",
              finding.text);
    cr_expect(cu.cuEmuGetFinding_(2, &finding) && finding.kind == CUEMU_PADDING_WRITTEN && finding.count == 4, "%s",
              finding.text);
}

/* ---- streams, events, captures ------------------------------------------------------------------------------------ */

static void count_call(void *data)
{
    ++*(int *)data;
}

Test(driver, measures_time_that_is_always_the_same)
{
    CUdeviceptr address;
    void *parameters[] = {&address};
    CUevent begin, end, plain;
    float first = 0, second = 0;
    int calls = 0, least, greatest;
    CUstream stream;
    CUfunction bump;

    start();
    bump = get(load(), "bump");
    address = zeroed(4);
    OK(cuStreamCreateWithPriority, &stream, 1, -2);
    OK(cuStreamGetPriority, stream, &least);
    cr_expect(least == -2);
    OK(cuCtxGetStreamPriorityRange, &least, &greatest);
    cr_expect(least == 0 && greatest < 0);
    OK(cuEventCreate, &begin, 0);
    OK(cuEventCreate, &end, 0);
    OK(cuEventCreate, &plain, CU_EVENT_DISABLE_TIMING);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime, &first, begin, end);
    OK(cuEventRecord, begin, stream);
    cr_expect(launch(bump, 1, 1, stream, parameters) == CUDA_SUCCESS);
    OK(cuEventRecord, end, stream);
    OK(cuEventQuery, end);
    OK(cuEventElapsedTime, &first, begin, end);
    OK(cuEventRecord, begin, stream);
    cr_expect(launch(bump, 1, 1, stream, parameters) == CUDA_SUCCESS);
    OK(cuLaunchHostFunc, stream, count_call, &calls);
    OK(cuEventRecord, end, stream);
    OK(cuEventElapsedTime_v2, &second, begin, end);
    cr_expect(first > 0 && first == second && calls == 1, "%g and %g", (double)first, (double)second);
    OK(cuEventRecord, plain, stream);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime, &first, begin, plain);
    OK(cuStreamWaitEvent, NULL, end, 0);
    OK(cuEventDestroy_v2, end);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuEventQuery, end);
}

Test(driver, records_work_and_replays_it)
{
    CUdeviceptr address;
    unsigned value = 7, host = 3;
    void *parameters[] = {&address, &value};
    size_t nodes = 0;
    CUgraph graph, clone;
    CUgraphExec executable;
    CUgraphNode node[8];
    CUstream stream, side;
    CUevent fork_event, join;
    CUmodule module;
    int status, calls = 0, type;

    start();
    module = load();
    address = zeroed(16);
    OK(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
    OK(cuStreamCreate, &side, 0);
    OK(cuEventCreate, &fork_event, 0);
    OK(cuEventCreate, &join, 0);
    OK(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    OK(cuStreamIsCapturing, stream, &status);
    cr_expect(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuMemsetD32Async, address, 0, 4, stream);
    cr_expect(launch(get(module, "store"), 1, 2, stream, parameters) == CUDA_SUCCESS);
    value = 1000; /* was copied */
    OK(cuEventRecord, fork_event, stream);
    OK(cuStreamWaitEvent, side, fork_event, 0);
    OK(cuStreamIsCapturing, side, &status);
    cr_expect(status == CU_STREAM_CAPTURE_STATUS_ACTIVE, "the other stream joined");
    cr_expect(launch(get(module, "bump"), 1, 1, side, parameters) == CUDA_SUCCESS);
    OK(cuEventRecord, join, side);
    OK(cuStreamWaitEvent, stream, join, 0);
    OK(cuMemcpyHtoDAsync_v2, address + 8, &host, 4, stream);
    OK(cuLaunchHostFunc, stream, count_call, &calls);
    OK(cuStreamEndCapture, stream, &graph);
    cr_expect(read_word(address) == 0 && calls == 0, "nothing happened yet");
    OK(cuStreamIsCapturing, side, &status);
    cr_expect(status == CU_STREAM_CAPTURE_STATUS_NONE);

    OK(cuGraphGetNodes, graph, NULL, &nodes);
    cr_expect(nodes == 5);
    OK(cuGraphGetNodes, graph, node, &nodes);
    OK(cuGraphNodeGetType, node[3], &type);
    cr_expect(type == CU_GRAPH_NODE_TYPE_MEMCPY);
    OK(cuGraphGetRootNodes, graph, NULL, &nodes);
    cr_expect(nodes == 1);
    OK(cuGraphClone, &clone, graph);
    OK(cuGraphDestroy, graph);
    OK(cuGraphInstantiateWithFlags, &executable, clone, 0);
    OK(cuGraphDestroy, clone);
    for (int i = 1; i <= 3; i++) {
        host = 30u + (unsigned)i;
        OK(cuGraphLaunch, executable, stream);
        OK(cuStreamSynchronize, stream);
        cr_expect(read_word(address) == 8 && read_word(address + 4) == 8 && read_word(address + 8) == host && calls == i,
                  "replay %d: %u %u %u", i, read_word(address), read_word(address + 4), read_word(address + 8));
    }
    OK(cuGraphExecDestroy, executable);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch, executable, stream);
}

/* A graph's memory: where the capture said, for each launch, until the graph is gone. */
Test(driver, allocates_in_a_capture)
{
    uint8_t seen[64] = {0};
    CUgraphNode node[4];
    size_t nodes = 4;
    CUgraphExec executable;
    CUgraph graph, clone;
    CUdeviceptr inside, outside;
    CUstream stream;
    int type;

    start();
    OK(cuStreamCreate, &stream, 0);
    OK(cuMemAlloc_v2, &outside, 64);
    OK(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuMemAllocAsync, &inside, 64, stream);
    OK(cuMemsetD8Async, inside, 7, 64, stream);
    OK(cuMemcpyDtoDAsync_v2, outside, inside, 64, stream);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync, outside, stream); /* not the graph's */
    OK(cuMemFreeAsync, inside, stream);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync, inside, stream);
    OK(cuStreamEndCapture, stream, &graph);
    OK(cuGraphGetNodes, graph, node, &nodes);
    cr_assert(nodes == 4);
    OK(cuGraphNodeGetType, node[0], &type);
    cr_expect(type == CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    OK(cuGraphNodeGetType, node[3], &type);
    cr_expect(type == CU_GRAPH_NODE_TYPE_MEM_FREE);
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuGraphClone, &clone, graph);
    OK(cuGraphInstantiateWithFlags, &executable, graph, 0);
    OK(cuGraphDestroy, graph);
    for (int i = 0; i < 2; i++) {
        OK(cuMemsetD8_v2, outside, 0, 64);
        OK(cuGraphLaunch, executable, stream);
        OK(cuMemcpyDtoH_v2, seen, outside, 64);
        cr_expect(seen[0] == 7 && seen[63] == 7, "launch %d", i);
    }
    OK(cuGraphExecDestroy, executable);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync, inside, stream); /* gone with its graph */
    OK(cuMemFree_v2, outside);
    OK(cuStreamDestroy_v2, stream);
}

/* Begin a capture in a new stream, do one forbidden thing, and end it. */
static void break_capture(const char *what, unsigned flags, CUresult wanted, CUresult at_end, CUresult (*forbidden)(CUstream))
{
    CUgraph graph = NULL;
    CUstream stream;
    CUresult result;

    OK(cuStreamCreate, &stream, flags);
    OK(cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    result = forbidden(stream);
    cr_expect(result == wanted, "%s: %d, not %d", what, (int)result, (int)wanted);
    result = CALL(cuStreamEndCapture, stream, &graph);
    cr_expect(result == at_end, "%s: the end: %d, not %d", what, (int)result, (int)at_end);
    cr_expect((graph != NULL) == (at_end == CUDA_SUCCESS), "%s", what);
    OK(cuStreamDestroy_v2, stream);
}

static CUresult do_allocate(CUstream stream)
{
    CUdeviceptr address;

    (void)stream;
    return CALL(cuMemAlloc_v2, &address, 16);
}

static CUresult do_allocate_relaxed(CUstream stream)
{
    int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult result;

    OK(cuThreadExchangeStreamCaptureMode, &mode);
    result = do_allocate(stream);
    OK(cuThreadExchangeStreamCaptureMode, &mode);
    return result;
}

static CUresult do_synchronize(CUstream stream)
{
    return CALL(cuStreamSynchronize, stream);
}

static CUresult do_legacy_memset(CUstream stream)
{
    (void)stream;
    return CALL(cuStreamSynchronize, NULL);
}

static CUresult do_ask_legacy(CUstream stream)
{
    int status;

    (void)stream;
    return CALL(cuStreamIsCapturing, NULL, &status);
}

static CUresult do_context(CUstream stream)
{
    (void)stream;
    return CALL(cuCtxSynchronize);
}

static CUresult do_outside_event(CUstream stream)
{
    CUstream other;
    CUevent event;

    OK(cuStreamCreate, &other, 1);
    OK(cuEventCreate, &event, 0);
    OK(cuEventRecord, event, other);
    return CALL(cuStreamWaitEvent, stream, event, 0);
}

static CUresult do_query_captured(CUstream stream)
{
    CUevent event;

    OK(cuEventCreate, &event, 0);
    OK(cuEventRecord, event, stream);
    return CALL(cuEventQuery, event);
}

static CUresult do_fork_only(CUstream stream)
{
    static int calls;
    CUstream other;
    CUevent event;

    OK(cuStreamCreate, &other, 1);
    OK(cuEventCreate, &event, 0);
    OK(cuEventRecord, event, stream);
    OK(cuStreamWaitEvent, other, event, 0);
    return CALL(cuLaunchHostFunc, other, count_call, &calls);
}

static CUresult do_end_elsewhere(CUstream stream)
{
    CUgraph graph;
    CUstream other;
    CUevent event;

    OK(cuStreamCreate, &other, 1);
    OK(cuEventCreate, &event, 0);
    OK(cuEventRecord, event, stream);
    OK(cuStreamWaitEvent, other, event, 0);
    return CALL(cuStreamEndCapture, other, &graph);
}

static CUresult do_merge(CUstream stream)
{
    CUstream other;
    CUevent event;
    CUgraph graph;
    CUresult result;

    OK(cuStreamCreate, &other, 1);
    OK(cuEventCreate, &event, 0);
    OK(cuStreamBeginCapture_v2, other, 0);
    OK(cuEventRecord, event, other);
    result = CALL(cuStreamWaitEvent, stream, event, 0);
    EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, other, &graph);
    return result;
}

static void *end_it(void *stream)
{
    CUgraph graph;

    return (void *)(uintptr_t)CALL(cuStreamEndCapture, stream, &graph);
}

static CUcontext shared_context;

static void *allocate_elsewhere(void *stream)
{
    OK(cuCtxPushCurrent_v2, shared_context);
    return (void *)(uintptr_t)do_allocate(stream);
}

static CUresult do_end_in_thread(CUstream stream)
{
    pthread_t thread;
    void *answer;

    pthread_create(&thread, NULL, end_it, stream);
    pthread_join(thread, &answer);
    return (CUresult)(uintptr_t)answer == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : (CUresult)(uintptr_t)answer;
}

static CUresult do_allocate_in_thread(CUstream stream)
{
    pthread_t thread;
    void *answer;

    pthread_create(&thread, NULL, allocate_elsewhere, stream);
    pthread_join(thread, &answer);
    return (CUresult)(uintptr_t)answer;
}

Test(driver, forbids_in_a_capture_what_a_driver_forbids)
{
    CUgraph graph;
    CUstream stream;

    shared_context = start();
    break_capture("allocating in the relaxed mode", 0, 0, 0, do_allocate_relaxed);
    break_capture("allocating", 0, 900, 901, do_allocate);
    break_capture("allocating in another thread", 1, 900, 901, do_allocate_in_thread);
    break_capture("synchronizing", 0, 900, 901, do_synchronize);
    break_capture("the legacy stream", 0, 906, 901, do_legacy_memset);
    break_capture("the legacy stream next to one that is apart", 1, 0, 0, do_legacy_memset);
    break_capture("asking about the legacy stream", 0, 906, 0, do_ask_legacy);
    break_capture("synchronizing the context", 1, 900, 901, do_context);
    break_capture("an event from outside", 1, 905, 901, do_outside_event);
    break_capture("asking a captured event", 1, 907, 901, do_query_captured);
    break_capture("work that does not come back", 1, 0, 904, do_fork_only);
    break_capture("ending in another stream", 1, 903, 901, do_end_elsewhere);
    break_capture("two captures", 1, 902, 901, do_merge);
    break_capture("ending in a thread without a context", 1, 0, 0, do_end_in_thread);
    EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2, NULL, 0);
    OK(cuStreamCreate, &stream, 0);
    EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture, stream, &graph);
    OK(cuStreamBeginCapture_v2, stream, 0);
    EXPECT(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture_v2, stream, 0);
    OK(cuStreamDestroy_v2, stream);
    EXPECT(CUDA_SUCCESS, cuMemAlloc_v2, &(CUdeviceptr){0}, 16);
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

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
