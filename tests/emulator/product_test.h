/* SPDX-License-Identifier: Apache-2.0 */
/*
 * product_test: one product of TileJIT's, run on the emulator step by step.
 *
 * The kernel is launched through the driver's functions, by the form that the generator gives, and not by the library.
 */
#ifndef TJ_PRODUCT_TEST_H
#define TJ_PRODUCT_TEST_H

#include <tilejit/tools.h>

#include "mutation.h"

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
    tj_check_report report = TJ_CHECK_REPORT_INIT;
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
                     tj_reference_check(
                         &p, &(tj_host_operands){sizeof(tj_host_operands), host[0], host[1], host[3], what->alpha, what->beta},
                         host[2], 0, 1, &report, &err),
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
