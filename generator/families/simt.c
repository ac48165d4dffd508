/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simt: a thread computes TM x TN elements in registers, so that one load from shared memory serves several multiply-adds.
 *
 * The lanes of a warp stand 4 x 8; each holds quads of 4 x 4 elements, which are read as 16 bytes that all lanes of a row or a column
 * share. A warp so covers 4 TM x 8 TN elements, and warps cover the block tile.
 */
#include "error.h"
#include "tile.h"

enum { LANE_ROWS = 4, LANE_COLS = 8, QUAD = 4, PADDING = 4, MAX_STATIC_SHARED = 48 * 1024 };

static const tj_param params[] = {
    {"bm", "rows of the block tile of P", 16, 256, 128, NULL},
    {"bn", "columns of the block tile of P", 32, 256, 128, NULL},
    {"bk", "length of a phase along k", 4, 32, 8, NULL},
    {"tm", "rows of the thread tile", 4, 16, 8, NULL},
    {"tn", "columns of the thread tile", 4, 16, 8, NULL},
    {"blocks", "blocks that an SM should hold at once: more of them, fewer registers a thread", 1, 4, 1, NULL},
    TJ_TILE_ROWS,
};

static const char *const constraints[] = {
    "TM and TN are multiples of 4",
    "BM is a multiple of the warp tile's 4 * TM rows, BN of its 8 * TN columns",
    "32 to 1024 threads: one warp for each warp tile",
    "BM * BK and BK * BN are multiples of the number of threads: all load alike",
    "both stages of both tiles fit 48 KiB: 2 * BK * (BM + BN + 8) elements",
    "a thread tile of at most 128 elements of 4 bytes, or 64 of 8: it stays in registers",
    "each grid axis holds the blocks it counts: 65 535 on y, 2 147 483 647 on x",
    NULL,
};

typedef struct shape {
    int32_t bm, bn, bk, tm, tn, threads;
} shape;

static shape shape_of(const tj_config *config)
{
    shape s = {tj_config_get(config, "bm"), tj_config_get(config, "bn"), tj_config_get(config, "bk"),
               tj_config_get(config, "tm"), tj_config_get(config, "tn"), 0};

    s.threads = s.bm / (LANE_ROWS * s.tm) * (s.bn / (LANE_COLS * s.tn)) * LANE_ROWS * LANE_COLS;
    return s;
}

static tj_tile tile(const tj_config *config)
{
    const shape s = shape_of(config);

    return (tj_tile){s.bm, s.bk, s.bn, "BM", "BK", "BN"};
}

static int64_t shared_bytes(const shape *s, int32_t dtype)
{
    return 2 * (int64_t)s->bk * (s->bm + s->bn + 2 * PADDING) * (dtype == TJ_F64 ? 8 : 4);
}

static tj_status resolve(const tj_problem *text, bool is_swapped, tj_config *config, tj_error *err)
{
    const shape s = shape_of(config);
    const int warp_rows = LANE_ROWS * s.tm, warp_cols = LANE_COLS * s.tn;

    if (s.tm % QUAD != 0 || s.tn % QUAD != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "tm is %d and tn is %d: both must be multiples of 4", s.tm, s.tn);
    if (s.bm % warp_rows != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "bm is %d: with tm %d it must be a multiple of %d", s.bm, s.tm, warp_rows);
    if (s.bn % warp_cols != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "bn is %d: with tn %d it must be a multiple of %d", s.bn, s.tn, warp_cols);
    if (s.threads > 1024)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "a block of %d x %d with thread tiles of %d x %d has %d threads: 1024 is the most", s.bm, s.bn, s.tm,
                       s.tn, s.threads);
    if (s.bm * s.bk % s.threads != 0 || s.bk * s.bn % s.threads != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "bk is %d: %d threads cannot share loads of %d x %d and %d x %d alike: use a larger bk", s.bk, s.threads,
                       s.bm, s.bk, s.bk, s.bn);
    if (shared_bytes(&s, text->dtype) > MAX_STATIC_SHARED)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "tiles of %d x %d and %d x %d need %lld bytes of shared memory: 48 KiB is the most", s.bm, s.bk, s.bk,
                       s.bn, (long long)shared_bytes(&s, text->dtype));
    if (s.tm * s.tn > (text->dtype == TJ_F64 ? 64 : 128))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "a thread tile of %d x %d does not fit the registers: %d elements are the most", s.tm, s.tn,
                       text->dtype == TJ_F64 ? 64 : 128);
    return tj_tile_resolve(text, is_swapped, config, err);
}

static const char *describe(const tj_problem *text, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    const shape s = shape_of(config);

    tj_template_set_int(fill, "bm", s.bm);
    tj_template_set_int(fill, "bn", s.bn);
    tj_template_set_int(fill, "bk", s.bk);
    tj_template_set_int(fill, "tm", s.tm);
    tj_template_set_int(fill, "tn", s.tn);
    tj_template_set_int(fill, "blocks", tj_config_get(config, "blocks"));
    form->block_x = s.threads;
    form->block_y = 1;
    form->block_rows = s.bm;
    form->block_cols = s.bn;
    form->rows_on_x = tj_config_get(config, "rows") == TJ_ROWS_ON_X;
    form->static_shared_bytes = shared_bytes(&s, text->dtype);
    return "simt.cu";
}

const tj_family tj_family_simt = {
    .name = "simt",
    .summary = "a thread computes a tile of P in registers; tiles of M and N pass through shared memory, one phase ahead",
    .param = params,
    .param_count = sizeof params / sizeof params[0],
    .constraint = constraints,
    .checks_k = true,
    .widest = 256,
    .tile = tile,
    .resolve = resolve,
    .describe = describe,
};
