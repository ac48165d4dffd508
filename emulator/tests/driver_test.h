/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_test: the emulator as a driver. The library is opened by path, and its functions are called by name, as a host program does.
 *
 * Criterion runs each test in a process of its own, so each begins with an uninitialised driver.
 */
#ifndef TJ_DRIVER_TEST_H
#define TJ_DRIVER_TEST_H

#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static inline void *must_find(const char *symbol)
{
    void *found = dlsym(library, symbol);

    cr_assert(found, "%s is not exported", symbol);
    return found;
}

static inline void open_library(void)
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
static inline CUcontext start_with(const char *list)
{
    CUcontext context;

    setenv("CUDA_EMULATOR_DEVICES", list, 1);
    open_library();
    OK(cuInit, 0);
    OK(cuCtxCreate_v2, &context, 0, 0);
    return context;
}

static inline CUcontext start(void)
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

static inline CUmodule load(void)
{
    CUmodule module;

    OK(cuModuleLoadData, &module, PTX);
    return module;
}

static inline CUfunction get(CUmodule module, const char *name)
{
    CUfunction function;

    OK(cuModuleGetFunction, &function, module, name);
    return function;
}

static inline CUresult launch(CUfunction function, unsigned blocks, unsigned threads, CUstream stream, void **parameters)
{
    return CALL(cuLaunchKernel, function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, NULL);
}

static inline unsigned read_word(CUdeviceptr address)
{
    unsigned value = 0;

    OK(cuMemcpyDtoH_v2, &value, address, sizeof value);
    return value;
}

static inline CUdeviceptr zeroed(size_t bytes)
{
    CUdeviceptr address;

    OK(cuMemAlloc_v2, &address, bytes);
    OK(cuMemsetD8_v2, address, 0, bytes);
    return address;
}

#endif
