/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulator_test: the emulator as a program sees it, a libcuda opened by path, and CUDA text compiled for it.
 *
 * The declarations here are the binary interface of the Driver API; the emulator's own headers are not used for it.
 */
#ifndef EMU_EMULATOR_TEST_H
#define EMU_EMULATOR_TEST_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_emulator.h>

#include "find_nvrtc.h"

/* X(member, symbol, arguments): all of them return an int. */
/* clang-format off */
#define EMULATOR_FUNCTIONS(X)                                                                                                  \
    X(init, cuInit, (unsigned flags))                                                                                          \
    X(device_get, cuDeviceGet, (int *device, int ordinal))                                                                     \
    X(retain, cuDevicePrimaryCtxRetain, (void **context, int device))                                                          \
    X(set_current, cuCtxSetCurrent, (void *context))                                                                           \
    X(synchronize, cuCtxSynchronize, (void))                                                                                   \
    X(load, cuModuleLoadDataEx, (void **module, const void *image, unsigned options, int *option, void **value))               \
    X(unload, cuModuleUnload, (void *module))                                                                                  \
    X(function, cuModuleGetFunction, (void **function, void *module, const char *name))                                        \
    X(global, cuModuleGetGlobal_v2, (uint64_t *address, size_t *bytes, void *module, const char *name))                        \
    X(set_attribute, cuFuncSetAttribute, (void *function, int attribute, int value))                                           \
    X(alloc, cuMemAlloc_v2, (uint64_t *address, size_t bytes))                                                                 \
    X(free, cuMemFree_v2, (uint64_t address))                                                                                  \
    X(write, cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes))                                                   \
    X(read, cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes))                                                          \
    X(launch, cuLaunchKernel,                                                                                                  \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,                  \
       unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, void **extra))                                \
    X(launch_ex, cuLaunchKernelEx, (const void *config, void *function, void **parameters, void **extra))                      \
    X(encode, cuTensorMapEncodeTiled,                                                                                          \
      (void *map, int type, unsigned rank, uint64_t address, const uint64_t *extent, const uint64_t *stride,                   \
       const unsigned *box, const unsigned *step, int interleave, int swizzle, int promotion, int fill))                       \
    X(get_finding, cuEmuGetFinding, (size_t index, cuEmuFinding *finding))                                                     \
    X(set_option, cuEmuSetOption, (cuEmuOption option, uint64_t value))                                                        \
    X(get_launch, cuEmuGetLaunch, (cuEmuLaunch *launch))                                                                       \
    X(get_line, cuEmuGetLine,                                                                                                  \
      (size_t index, uint32_t *ptx_line, uint32_t *cuda_line, char *text, size_t text_bytes, cuEmuCounters *counters))         \
    X(watch, cuEmuWatch, (uint64_t address, uint64_t rows, uint64_t row_bytes, uint64_t pitch_bytes))                          \
    X(unwatch, cuEmuUnwatch, (int watch))
/* clang-format on */

/** The opened library; one a process. */
static struct emulator {
#define EMULATOR_MEMBER(member, symbol, arguments) int(*member) arguments;
    EMULATOR_FUNCTIONS(EMULATOR_MEMBER)
#undef EMULATOR_MEMBER
    size_t (*finding_count)(void);
    void (*clear)(void);
    void *context;
} cu;

static const char *const kind_names[CUEMU_KINDS] = {
    "nothing",         "out of bounds",     "misaligned",    "divergent",      "deadlock",      "endless",
    "illegal",         "mbarrier",          "tensor memory", "assert",         "uninitialised", "race, shared",
    "race, global",    "touched in flight", "proxy fence",   "tensor fence",   "swizzle",       "init fence",
    "exited, barrier", "written twice",     "never written", "padding written"};

/** Open the emulator with its devices ("sm_90", say), every check on, and a current context. */
__attribute__((unused)) static void open_emulator(const char *devices)
{
    void *library;
    int device = -1;

    setenv("CUDA_EMULATOR_DEVICES", devices, 1);
    setenv("CUDA_EMULATOR_LOG", "0", 1);
    unsetenv("CUDA_EMULATOR_CHECKS");
    unsetenv("CUDA_EMULATOR_SEED");
    library = dlopen(EMULATOR_PATH, RTLD_NOW | RTLD_LOCAL);
    cr_assert(ne(ptr, library, NULL), "%s", dlerror());
#define EMULATOR_LOOK_UP(member, symbol, arguments) \
    *(void **)&cu.member = dlsym(library, #symbol); \
    cr_assert(ne(ptr, *(void **)&cu.member, NULL), "no %s", #symbol);
    EMULATOR_FUNCTIONS(EMULATOR_LOOK_UP)
#undef EMULATOR_LOOK_UP
    *(void **)&cu.finding_count = dlsym(library, "cuEmuFindingCount");
    *(void **)&cu.clear = dlsym(library, "cuEmuClear");
    cr_assert(cu.finding_count && cu.clear);
    cr_assert(eq(int, cu.init(0), 0));
    cr_assert(eq(int, cu.device_get(&device, 0), 0));
    cr_assert(eq(int, cu.retain(&cu.context, device), 0));
    cr_assert(eq(int, cu.set_current(cu.context), 0));
}

/** Load PTX; NULL if it is refused, and log says why. */
__attribute__((unused)) static void *load_ptx(const char *ptx, char *log, size_t log_bytes)
{
    int option[] = {5, 6}; /* CU_JIT_ERROR_LOG_BUFFER and its size */
    void *value[] = {log, (void *)(uintptr_t)log_bytes};
    void *module = NULL;

    log[0] = '\0';
    return cu.load(&module, ptx, 2, option, value) == 0 ? module : NULL;
}

/** Device memory of bytes, written with content unless that is NULL. */
__attribute__((unused)) static uint64_t device_memory(size_t bytes, const void *content)
{
    uint64_t address = 0;

    cr_assert(eq(int, cu.alloc(&address, bytes), 0), "%zu bytes", bytes);
    if (content)
        cr_assert(eq(int, cu.write(address, content, bytes), 0));
    return address;
}

/** Launch and wait; the first error. */
__attribute__((unused)) static int launch_and_wait(void *function, unsigned blocks, unsigned threads, unsigned shared_bytes,
                                                   void **parameters)
{
    const int result = cu.launch(function, blocks, 1, 1, threads, 1, 1, shared_bytes, NULL, parameters, NULL);

    return result ? result : cu.synchronize();
}

/** Findings of a run, with the first few of them. */
enum { FINDINGS = 64 };
typedef struct findings {
    size_t count;
    cuEmuFinding first[FINDINGS];
} findings;

__attribute__((unused)) static findings take_findings(void)
{
    findings f = {.count = cu.finding_count()};

    for (size_t i = 0; i < f.count && i < FINDINGS; i++)
        cr_assert(eq(int, cu.get_finding(i, &f.first[i]), 1));
    cu.clear();
    return f;
}

/* ---- CUDA text ------------------------------------------------------------------------------------------------------- */

/* X(member, symbol, arguments): NVRTC's functions; all of them return an int. */
/* clang-format off */
#define NVRTC_FUNCTIONS(X)                                                                                                     \
    X(create, nvrtcCreateProgram,                                                                                              \
      (void **program, const char *text, const char *name, int headers, const char *const *header, const char *const *known_as)) \
    X(destroy, nvrtcDestroyProgram, (void **program))                                                                          \
    X(compile, nvrtcCompileProgram, (void *program, int options, const char *const *option))                                   \
    X(ptx_bytes, nvrtcGetPTXSize, (void *program, size_t *bytes))                                                              \
    X(ptx, nvrtcGetPTX, (void *program, char *ptx))                                                                            \
    X(log_bytes, nvrtcGetProgramLogSize, (void *program, size_t *bytes))                                                       \
    X(log, nvrtcGetProgramLog, (void *program, char *log))
/* clang-format on */

typedef struct nvrtc {
#define NVRTC_MEMBER(member, symbol, arguments) int(*member) arguments;
    NVRTC_FUNCTIONS(NVRTC_MEMBER)
#undef NVRTC_MEMBER
} nvrtc;

/** NVRTC, or a loud skip. */
__attribute__((unused)) static const nvrtc *nvrtc_or_skip(const char *test)
{
    static nvrtc opened;
    const char *path = find_nvrtc();
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

    if (!library) {
        fprintf(stderr, "%s: NOTHING WAS TESTED: %s\n", test, path ? dlerror() : "no NVRTC is found: set CUDA_EMULATOR_NVRTC");
        cr_assert(eq(ptr, getenv("CUDA_EMULATOR_REQUIRE_NVRTC"), NULL), "NVRTC is required");
        cr_skip_test("no NVRTC");
    }
#define NVRTC_LOOK_UP(member, symbol, arguments)        \
    *(void **)&opened.member = dlsym(library, #symbol); \
    cr_assert(ne(ptr, *(void **)&opened.member, NULL), "no %s", #symbol);
    NVRTC_FUNCTIONS(NVRTC_LOOK_UP)
#undef NVRTC_LOOK_UP
    return &opened;
}

/** PTX of a CUDA text, with the lines that it comes from. Owned: the caller's; free(). */
__attribute__((unused)) static char *compile_text(const nvrtc *by, const char *text, const char *target, const char *label)
{
    char architecture[64];
    const char *const options[] = {architecture, "-std=c++17", "--no-source-include", "--diag-suppress=177",
                                   "--generate-line-info"};
    void *program = NULL;
    char log[8192] = "", *ptx;
    size_t bytes = 0;
    int result;

    snprintf(architecture, sizeof architecture, "--gpu-architecture=compute_%s", target + 3);
    cr_assert(eq(int, by->create(&program, text, "kernel.cu", 0, NULL, NULL), 0));
    result = by->compile(program, 5, options);
    if (by->log_bytes(program, &bytes) == 0 && bytes <= sizeof log)
        by->log(program, log);
    cr_assert(eq(int, result, 0), "%s does not compile:\n%s\n%s", label, log, text);
    cr_assert(eq(int, by->ptx_bytes(program, &bytes), 0));
    ptx = calloc(1, bytes + 1);
    cr_assert(ptx && by->ptx(program, ptx) == 0);
    by->destroy(&program);
    return ptx;
}

/** The line that piece is in, counted from 1; 0: it does not occur. */
__attribute__((unused)) static uint32_t line_of(const char *text, const char *piece)
{
    const char *at = strstr(text, piece);
    uint32_t line = 1;

    for (const char *p = text; at && p < at; p++)
        line += *p == '\n';
    return at ? line : 0;
}

/** Line number of a text, with its end cut off. */
__attribute__((unused)) static void copy_line(const char *text, uint32_t number, char *line, size_t line_bytes)
{
    for (; number > 1 && text; number--) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    snprintf(line, line_bytes, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
}

#endif
