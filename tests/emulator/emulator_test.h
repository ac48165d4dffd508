/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulator_test: the emulator as a program sees it, a libcuda opened by path, and one product run on it step by step.
 *
 * The declarations here are the binary interface of the Driver API; neither the library's nor the emulator's headers are used
 * for it.
 */
#ifndef TJ_EMULATOR_TEST_H
#define TJ_EMULATOR_TEST_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_emulator.h>
#include <tilejit/tools.h>

#include "nvrtc_table.h"

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
    "nothing",  "out of bounds", "misaligned",      "divergent",     "deadlock",      "endless",           "illegal",
    "mbarrier", "assert",        "uninitialised",   "race, shared",  "race, global",  "touched in flight", "proxy fence",
    "swizzle",  "init fence",    "exited, barrier", "written twice", "never written", "padding written"};

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

/** NVRTC, or a loud skip. */
__attribute__((unused)) static const tj_nvrtc *nvrtc_or_skip(const char *test)
{
    const tj_nvrtc *nvrtc = NULL;
    tj_error err = {TJ_OK, ""};

    if (tj_nvrtc_open(NULL, 0, NULL, &nvrtc, &err) != TJ_OK) {
        fprintf(stderr, "%s: NOTHING WAS TESTED: %s\n", test, err.message);
        cr_assert(eq(ptr, getenv("TILEJIT_REQUIRE_NVRTC"), NULL), "NVRTC is required");
        cr_skip_test("no NVRTC");
    }
    return nvrtc;
}

/** PTX of a CUDA text, with the lines that it comes from. Owned: the caller's; free(). */
__attribute__((unused)) static char *compile_text(const tj_nvrtc *nvrtc, const char *text, const char *target,
                                                  const char *label)
{
    char architecture[64];
    const char *const options[] = {architecture, "-std=c++17", "--no-source-include", "--diag-suppress=177",
                                   "--generate-line-info"};
    tj_nvrtc_program *program = NULL;
    char log[8192] = "", *ptx;
    size_t bytes = 0;
    int result;

    snprintf(architecture, sizeof architecture, "--gpu-architecture=compute_%s", target + 3);
    cr_assert(eq(int, nvrtc->call.create_program(&program, text, "kernel.cu", 0, NULL, NULL), NVRTC_DONE));
    result = nvrtc->call.compile_program(program, 5, options);
    if (nvrtc->call.log_bytes(program, &bytes) == NVRTC_DONE && bytes <= sizeof log)
        nvrtc->call.log(program, log);
    cr_assert(eq(int, result, NVRTC_DONE), "%s does not compile:\n%s\n%s", label, log, text);
    cr_assert(eq(int, nvrtc->call.ptx_bytes(program, &bytes), NVRTC_DONE));
    ptx = calloc(1, bytes + 1);
    cr_assert(ptx && nvrtc->call.ptx(program, ptx) == NVRTC_DONE);
    nvrtc->call.destroy_program(&program);
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

/* ---- one product ------------------------------------------------------------------------------------------------------ */

/** Errors of a host program with a correct kernel. */
typedef enum slip {
    NO_SLIP,
    M_IS_HOST, /* an address of host memory */
    M_IS_FREED,
    M_IS_NULL,
    M_IS_SHORT, /* one element less than the span */
    N_IS_UNWRITTEN,
    C_IS_UNWRITTEN,
    C_IS_NULL,
    P_IS_M,
    P_IS_ODD, /* no multiple of its element size */
    BLOCK_IS_HALF,
    GRID_IS_SHORT,
    GRID_IS_LONG,
    SHARED_IS_SHORT
} slip;

typedef struct product {
    tj_problem problem;
    const char *config;
    double alpha, beta;
    slip slip;
} product;

typedef struct outcome {
    int result; /* of the launch and the wait for it */
    findings found;
    bool is_right;
    uint64_t digest; /* of P's bytes */
    char reason[160];
} outcome;

/* The problem with all that a launch passes settled. */
static tj_problem settled(const tj_problem *problem)
{
    tj_problem flat = *problem;

    flat.j.mode = flat.k.mode = flat.l.mode = TJ_DIM_FIXED;
    flat.j.multiple_of = flat.k.multiple_of = flat.l.multiple_of = 0;
    flat.m.ld = flat.m.ld == TJ_ANY ? TJ_TIGHT : flat.m.ld;
    flat.n.ld = flat.n.ld == TJ_ANY ? TJ_TIGHT : flat.n.ld;
    flat.p.ld = flat.p.ld == TJ_ANY ? TJ_TIGHT : flat.p.ld;
    flat.c.ld = flat.c.ld == TJ_ANY ? TJ_TIGHT : flat.c.ld;
    return tj_problem_canonical(&flat);
}

typedef union argument {
    uint64_t address;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
} argument;

static argument argument_for(const tj_problem *p, const product *what, const tj_argument *arg, const uint64_t address[4])
{
    const int64_t extent[] = {p->j.extent, p->k.extent, p->l.extent};
    const double scalar = arg->kind == TJ_ARG_ALPHA ? what->alpha : what->beta;

    switch (arg->kind) {
    case TJ_ARG_POINTER:
        return (argument){.address = address[arg->index]};
    case TJ_ARG_EXTENT:
        return (argument){.i32 = (int32_t)extent[arg->index]};
    case TJ_ARG_LD:
        return (argument){.i64 = tj_problem_matrix(p, (tj_which)arg->index)->ld};
    case TJ_ARG_STRIDE:
        return (argument){.i64 = tj_problem_matrix(p, (tj_which)arg->index)->stride};
    case TJ_ARG_BATCH:
        return (argument){.i32 = (int32_t)p->batch};
    case TJ_ARG_ALPHA:
    case TJ_ARG_BETA:
        return p->m.type == TJ_F64 ? (argument){.f64 = scalar} : (argument){.f32 = (float)scalar};
    default:
        cr_fatal("an argument of kind %d", arg->kind);
    }
    return (argument){0};
}

/**
 * Load ptx, the compiled form of source or a variant of it, launch it once and compare P with the reference. Watched: each
 * element of P is written once and nothing else. All memory is freed again.
 */
__attribute__((unused)) static outcome run_product(const char *ptx, const tj_source *source, const product *what)
{
    const tj_launch_form *form = tj_source_launch(source);
    const tj_launch_step *step = tj_product_step(form);
    const tj_problem p = settled(&what->problem);
    const size_t in = tj_type_bytes((tj_type)p.m.type), out = tj_type_bytes((tj_type)p.p.type);
    const int64_t rows = form->is_swapped ? p.l.extent : p.j.extent, cols = form->is_swapped ? p.j.extent : p.l.extent;
    int64_t row_blocks = (rows + step->block_rows - 1) / step->block_rows;
    const int64_t col_blocks = (cols + step->block_cols - 1) / step->block_cols;
    void *module, *function = NULL, *host[4] = {0}, *pointer[TJ_LAUNCH_MAX_ARGS];
    argument value[TJ_LAUNCH_MAX_ARGS];
    uint64_t address[4] = {0};
    unsigned grid[3];
    size_t bytes[4];
    outcome o = {0};
    tj_check_report report;
    tj_error err;
    char log[1024];
    int watch;

    for (int i = 0; i < 4; i++) {
        const size_t count = (size_t)tj_problem_span(&p, i == 3 && !p.epilogue.has_beta ? TJ_MATRIX_P : (tj_which)i),
                     size = i < 2 ? in : out;
        const bool is_written =
            i != 2 && !(i == 3 && what->slip == C_IS_UNWRITTEN) && !(i == 1 && what->slip == N_IS_UNWRITTEN);
        bytes[i] = count * size;
        host[i] = calloc(count ? count : 1, size);
        tj_fill_random((tj_type)(i < 2 ? p.m.type : p.p.type), host[i], count, 77 + (uint64_t)i);
        if (i == 3 && !p.epilogue.has_beta)
            continue;
        if (i == 0 && what->slip == M_IS_SHORT)
            bytes[i] -= size;
        address[i] = device_memory(bytes[i] + (i == 2 && what->slip == P_IS_ODD), is_written ? host[i] : NULL);
    }
    watch = cu.watch(address[2], (uint64_t)(p.batch * rows), (uint64_t)cols * out, (uint64_t)p.p.ld * out);
    cr_assert(gt(int, watch, 0));
    module = load_ptx(ptx, log, sizeof log);
    cr_assert(ne(ptr, module, NULL), "%s", log);
    cr_assert(eq(int, cu.function(&function, module, step->kernel), 0));
    switch (what->slip) {
    case M_IS_HOST:
        address[0] = (uint64_t)(uintptr_t)host[0];
        break;
    case M_IS_FREED:
        cr_assert(eq(int, cu.free(address[0]), 0));
        break;
    case M_IS_NULL:
        address[0] = 0;
        break;
    case C_IS_NULL:
        address[3] = 0;
        break;
    case P_IS_M:
        address[2] = address[0];
        break;
    case P_IS_ODD:
        address[2]++;
        break;
    case GRID_IS_SHORT:
        row_blocks--;
        break;
    case GRID_IS_LONG:
        row_blocks++;
        break;
    default:
        break;
    }
    for (int i = 0; i < step->arg_count; i++) {
        value[i] = argument_for(&p, what, &step->arg[i], address);
        pointer[i] = &value[i];
    }
    grid[0] = (unsigned)(step->rows_on_x ? row_blocks : col_blocks);
    grid[1] = (unsigned)(step->rows_on_x ? col_blocks : row_blocks);
    grid[2] = (unsigned)p.batch;
    if (step->grid == TJ_GRID_PRODUCTS)
        grid[0] = (unsigned)((p.batch + step->block_products - 1) / step->block_products), grid[1] = grid[2] = 1;
    o.result = cu.launch(function, grid[0], grid[1], grid[2], (unsigned)step->block_x,
                         (unsigned)(what->slip == BLOCK_IS_HALF ? step->block_y / 2 : step->block_y), 1,
                         (unsigned)(step->dynamic_shared_bytes - (what->slip == SHARED_IS_SHORT ? 4 : 0)), NULL, pointer, NULL);
    if (o.result == 0)
        o.result = cu.synchronize();
    cu.unwatch(watch);
    o.found = take_findings();
    if (what->slip != P_IS_M && what->slip != P_IS_ODD) {
        cr_assert(eq(int, cu.read(host[2], address[2], bytes[2]), 0));
        cr_assert(eq(int,
                     tj_reference_check(&p, &(tj_host_operands){host[0], host[1], host[3], what->alpha, what->beta}, host[2], 0,
                                        1, &report, &err),
                     TJ_OK),
                  "%s", err.message);
        o.is_right = report.passed;
        for (size_t i = 0; i < bytes[2]; i++)
            o.digest = (o.digest ^ ((const uint8_t *)host[2])[i]) * UINT64_C(0x100000001b3);
        snprintf(o.reason, sizeof o.reason, "%s", report.reason);
    }
    cr_assert(eq(int, cu.unload(module), 0));
    if (what->slip == P_IS_M)
        address[2] = 0;
    if (what->slip == P_IS_ODD)
        address[2]--;
    for (int i = 0; i < 4; i++) {
        if (address[i] && !(i == 0 && (what->slip == M_IS_FREED || what->slip == M_IS_HOST)))
            cu.free(address[i]);
        free(host[i]);
    }
    return o;
}

/** Generate, and die if that fails. Owned: the caller's; tj_source_free(). */
__attribute__((unused)) static tj_source *generate(const product *what)
{
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    tj_error err = {TJ_OK, ""};

    cr_assert(eq(int, tj_config_parse(what->config, &config, &err), TJ_OK), "%s: %s", what->config, err.message);
    cr_assert(eq(int, tj_generate(&what->problem, &config, &source, &err), TJ_OK), "%s: %s", what->config, err.message);
    return source;
}

#endif
