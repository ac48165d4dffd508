/* SPDX-License-Identifier: Apache-2.0 */
#include "format.h"

#include "canonical.h"

enum { OF_M = -1 /* the type of M */ };

/* Scales of rows as they were quantised, of groups of weights as most quantisers of 4 bits lay them out, and of all of k. */
#define ROWS_OF(type, rows, k)                    \
    {                                             \
        type, TJ_SCALES_ROW_BY_ROW, 0, 0, rows, k \
    }
#define NVFP4                                      \
    {                                              \
        TJ_E4M3, TJ_SCALES_ROW_BY_ROW, 0, 1, 1, 16 \
    }
#define GROUPS_OF(k, zero)                          \
    {                                               \
        OF_M, TJ_SCALES_PART_BY_PART, zero, 0, 1, k \
    }

static const struct {
    const char *name;
    int32_t m, n, p, compute; /* 0: the default */
    tj_scale scale[TJ_FACTORS];
} formats[] = {
    {"fp8_block", TJ_E4M3, TJ_E4M3, TJ_BF16, TJ_COMPUTE_F32_FP8, {ROWS_OF(TJ_F32, 1, 128), ROWS_OF(TJ_F32, 128, 128)}},
    {"fp8_block_1d", TJ_E4M3, TJ_E4M3, TJ_BF16, TJ_COMPUTE_F32_FP8, {ROWS_OF(TJ_F32, 1, 128), ROWS_OF(TJ_F32, 1, 128)}},
    {"mxfp8", TJ_E4M3, TJ_E4M3, TJ_BF16, TJ_COMPUTE_F32_FP8, {ROWS_OF(TJ_E8M0, 1, 32), ROWS_OF(TJ_E8M0, 1, 32)}},
    {"mxfp4", 0, TJ_E2M1, 0, 0, {{0}, ROWS_OF(TJ_E8M0, 1, 32)}},
    {"mxfp4_w4a4", TJ_E2M1, TJ_E2M1, TJ_BF16, 0, {ROWS_OF(TJ_E8M0, 1, 32), ROWS_OF(TJ_E8M0, 1, 32)}},
    {"nvfp4", 0, TJ_E2M1, 0, 0, {{0}, NVFP4}},
    {"nvfp4_w4a4", TJ_E2M1, TJ_E2M1, TJ_BF16, 0, {NVFP4, NVFP4}},
    {"w4g128", 0, TJ_S4, 0, 0, {{0}, GROUPS_OF(128, 0)}},
    {"w4g32z", 0, TJ_U4, 0, 0, {{0}, GROUPS_OF(32, TJ_U4)}},
    {"w8", 0, TJ_S8, 0, 0, {{0}, {TJ_F32, TJ_SCALES_PART_BY_PART, 0, 0, 1, 0}}},
};

const char *tj_format_name(size_t index)
{
    return index < sizeof formats / sizeof formats[0] ? formats[index].name : NULL;
}

/* A problem begins with a type of M that most do not set: f32 goes on as bf16, like no type. */
static int32_t type_of_activations(const tj_problem *problem)
{
    return problem->m.type == TJ_F16 || problem->m.type == TJ_E4M3 || problem->m.type == TJ_E5M2 ? problem->m.type : TJ_BF16;
}

void tj_format_apply(size_t index, tj_problem *problem)
{
    problem->m.type = formats[index].m ? formats[index].m : type_of_activations(problem);
    problem->n.type = formats[index].n;
    problem->p.type = formats[index].p;
    problem->compute = (int8_t)formats[index].compute;
    problem->n.layout = TJ_COL_MAJOR;
    problem->n.transposed = 0;
    for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS; which++) {
        tj_scale *const scale = tj_scale_in(problem, which);

        *scale = formats[index].scale[which];
        if (scale->type == OF_M)
            scale->type = (int8_t)(problem->m.type == TJ_F16 ? TJ_F16 : TJ_BF16);
    }
}
