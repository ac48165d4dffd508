/* SPDX-License-Identifier: Apache-2.0 */
/* custom_spec: a small family of the application's own, y[i] = factor * x[i], for tests to use and to change. */
#ifndef TESTS_CUSTOM_SPEC_H
#define TESTS_CUSTOM_SPEC_H

#include <string.h>

#include <tilejit/custom.h>

typedef struct custom_spec {
    tj_custom_spec spec;
    tj_custom_part part[3];
    tj_param param[2];
    tj_custom_derived derived[2];
    tj_custom_argument argument[3];
} custom_spec;

static int custom_spec_reference(const int64_t *extent, void *const *argument, void *payload)
{
    const float factor = *(const float *)argument[2];

    (void)payload;
    for (int64_t i = 0; i < extent[0]; i++)
        ((float *)argument[1])[i] = factor * ((const float *)argument[0])[i];
    return 0;
}

static tj_custom_spec *custom_spec_make(custom_spec *m)
{
    static const char *const extent[] = {"length"}, *const orders[] = {"forward", "backward", NULL},
                             *const constraint[] = {"threads % 32 == 0", NULL};
    static const int32_t threads[] = {32, 64, 128, 256, 0};
    static const char text[] = "constexpr int LENGTH = 1;  //@ length\n"
                               "extern \"C\" __global__ void\n"
                               "scale(\n"
                               "    const float *x, float *y, float factor)\n"
                               "{\n"
                               "    //@ if order_forward\n"
                               "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                               "    //@ else\n"
                               "    //@| const int i = LENGTH - 1 - (int)(blockIdx.x * blockDim.x + threadIdx.x);\n"
                               "    //@ end\n"
                               "    //@ if ragged\n"
                               "    if (i >= 0 && i < LENGTH)  //@ order_backward && order_forward\n"
                               "    //@ end\n"
                               "    #include \"store.cuh\"\n"
                               "}\n";

    *m = (custom_spec){
        .spec = TJ_CUSTOM_SPEC_INIT,
        .part = {{"scale.cu", text}, {"store.cuh", "y[i] = x[i] * factor;\n"}, {"broken.cuh", "fine\n//@ what\n"}},
        .param = {{"threads", "of a block", 32, 1024, 64, NULL, threads, TJ_PARAM_SHAPE},
                  {"order", "which way", 1, 2, 1, orders, NULL, TJ_PARAM_ORDER}},
        .derived = {{"ragged", "length % threads != 0"}, {"blocks", "ceil_div(length, threads)"}},
        .argument = {{"x", TJ_CUSTOM_IN, TJ_F32, "length"},
                     {"y", TJ_CUSTOM_OUT, TJ_F32, "length"},
                     {"factor", TJ_CUSTOM_SCALAR, TJ_F32, .trial = 2.5}},
    };
    m->spec.name = "scale";
    m->spec.part = m->part;
    m->spec.part_count = 3;
    m->spec.extent = extent;
    m->spec.extent_count = 1;
    m->spec.param = m->param;
    m->spec.param_count = 2;
    m->spec.derived = m->derived;
    m->spec.derived_count = 2;
    m->spec.constraint = constraint;
    m->spec.grid[0] = "blocks";
    m->spec.block[0] = "threads";
    m->spec.argument = m->argument;
    m->spec.argument_count = 3;
    m->spec.reference = custom_spec_reference;
    return &m->spec;
}

#endif
