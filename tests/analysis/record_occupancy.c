/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_occupancy: ask a real driver how many blocks fit a multiprocessor, for random resource sets, and print the answers
 * as the table that test_occupancy.c compares with:
 *
 *     build/dev/tests/analysis_record_occupancy > tests/analysis/occupancy_h200.txt
 *
 * Registers come from kernels that keep a known number of values alive; shared memory is partly declared, partly given at
 * launch. Knows the driver's C interface only. Exits with 77 where there is no driver.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KERNELS = 30,
    SETS = 200,
    PTX_BYTES = 64 * 1024,
    ATTRIBUTE_SHARED = 1,
    ATTRIBUTE_REGISTERS = 4,
    ATTRIBUTE_MAX_DYNAMIC = 8
};

typedef struct driver {
    int (*init)(unsigned flags);
    int (*device_get)(int *device, int ordinal);
    int (*device_get_name)(char *name, int bytes, int device);
    int (*device_get_attribute)(int *value, int attribute, int device);
    int (*primary_retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*module_load)(void **module, const void *image);
    int (*get_function)(void **function, void *module, const char *name);
    int (*func_get_attribute)(int *value, int attribute, void *function);
    int (*func_set_attribute)(void *function, int attribute, int value);
    int (*occupancy)(int *blocks, void *function, int threads, size_t dynamic_bytes);
    int (*driver_version)(int *version);
} driver;

static uint64_t state = 20261121;

static uint32_t next(uint32_t bound)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % bound;
}

static void must(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "record_occupancy: %s: CUresult %d\n", what, result);
    exit(1);
}

static void find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);

    if (!address) {
        fprintf(stderr, "record_occupancy: no %s in the driver\n", name);
        exit(1);
    }
    memcpy(function, &address, sizeof address);
}

static void open_driver(driver *api)
{
    const char *path = getenv("TILEJIT_DRIVER");
    void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW);

    if (!library) {
        fprintf(stderr, "record_occupancy: SKIPPED, no driver: %s\n", dlerror());
        exit(77);
    }
    find(library, "cuInit", &api->init);
    find(library, "cuDeviceGet", &api->device_get);
    find(library, "cuDeviceGetName", &api->device_get_name);
    find(library, "cuDeviceGetAttribute", &api->device_get_attribute);
    find(library, "cuDevicePrimaryCtxRetain", &api->primary_retain);
    find(library, "cuCtxSetCurrent", &api->set_current);
    find(library, "cuModuleLoadData", &api->module_load);
    find(library, "cuModuleGetFunction", &api->get_function);
    find(library, "cuFuncGetAttribute", &api->func_get_attribute);
    find(library, "cuFuncSetAttribute", &api->func_set_attribute);
    find(library, "cuOccupancyMaxActiveBlocksPerMultiprocessor", &api->occupancy);
    find(library, "cuDriverGetVersion", &api->driver_version);
}

/* A kernel that loads live values, and stores them only when all are loaded; with static_bytes of shared memory. */
static void write_ptx(char *ptx, int live, int static_bytes)
{
    size_t at = 0;

#define ADD(...) at += (size_t)snprintf(ptx + at, PTX_BYTES - at, __VA_ARGS__)
    ADD(".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry kernel(.param .u64 p)\n{\n.reg .f32 %%f<%d>;\n"
        ".reg .u64 %%a;\n",
        live + 1);
    if (static_bytes)
        ADD(".shared .align 16 .b8 tile[%d];\n", static_bytes);
    ADD("ld.param.u64 %%a, [p];\ncvta.to.global.u64 %%a, %%a;\n");
    for (int i = 0; i < live; i++)
        ADD("ld.volatile.global.f32 %%f%d, [%%a+%d];\n", i, 4 * i);
    for (int i = 0; i < live; i++)
        ADD("st.volatile.global.f32 [%%a+%d], %%f%d;\n", 4 * i, live - 1 - i);
    if (static_bytes)
        ADD("st.volatile.shared.f32 [tile], %%f0;\n");
    ADD("ret;\n}\n");
#undef ADD
}

int main(void)
{
    static char ptx[PTX_BYTES];
    void *context, *module, *function[KERNELS];
    int device, value, registers[KERNELS], shared[KERNELS], reserved, version;
    char name[128];
    driver api;

    open_driver(&api);
    if (api.init(0) != 0 || api.device_get(&device, 0) != 0) {
        fprintf(stderr, "record_occupancy: SKIPPED, no device\n");
        return 77;
    }
    must(api.primary_retain(&context, device), "cuDevicePrimaryCtxRetain");
    must(api.set_current(context), "cuCtxSetCurrent");
    must(api.device_get_name(name, sizeof name, device), "cuDeviceGetName");
    must(api.driver_version(&version), "cuDriverGetVersion");
    printf("# %s, driver for CUDA %d.%d: cuOccupancyMaxActiveBlocksPerMultiprocessor\n", name, version / 1000,
           version % 1000 / 10);
    printf("# registers per thread, declared shared bytes, shared bytes at launch, threads per block -> blocks\n");
    must(api.device_get_attribute(&reserved, 111, device), "reserved shared memory");
    for (int k = 0; k < KERNELS; k++) {
        const int live = 1 + k * 246 / (KERNELS - 1), is_plain = next(2) == 0;
        write_ptx(ptx, live, is_plain ? 0 : 4 * (1 + (int)next(12287)));
        must(api.module_load(&module, ptx), "cuModuleLoadData");
        must(api.get_function(&function[k], module, "kernel"), "cuModuleGetFunction");
        must(api.func_get_attribute(&registers[k], ATTRIBUTE_REGISTERS, function[k]), "registers");
        must(api.func_get_attribute(&shared[k], ATTRIBUTE_SHARED, function[k]), "shared bytes");
        must(api.device_get_attribute(&value, 97, device), "shared memory per block");
        must(api.func_set_attribute(function[k], ATTRIBUTE_MAX_DYNAMIC, value - shared[k]), "MAX_DYNAMIC_SHARED_SIZE_BYTES");
    }
    for (int i = 0; i < SETS; i++) {
        /* Half of the sets small in all, so that many blocks fit and granularity shows. */
        const int k = (int)next(KERNELS), is_small = next(2) == 0;
        const int threads = 1 + (int)next(is_small ? 256 : 1024);
        const int most = value - shared[k], dynamic = next(4) == 0 ? 0 : (int)next((uint32_t)(is_small ? 16384 : most + 1));
        int blocks = -1;

        must(api.occupancy(&blocks, function[k], threads, (size_t)dynamic), "cuOccupancyMaxActiveBlocksPerMultiprocessor");
        printf("%d %d %d %d %d\n", registers[k], shared[k], dynamic, threads, blocks);
    }
    return 0;
}
