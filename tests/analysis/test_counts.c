/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: nightly (numbers); cost: 50 */
/*
 * Predicted counts next to the emulator's counters, which come from executing the PTX: two ways to one number that share no
 * code.
 */
#include <criterion/criterion.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

#include "context.h"
#include "of_problem.h"
#include "nvrtc.h"
#include "scales.h"

/* One kernel: a shape, what differs from the plain problem, a config. */
typedef struct row {
    const char *config;
    int64_t j, k, l;
    tj_problem with; /* types, layouts, paddings, batch: taken if not 0 */
    bool is_parted;  /* PARTED */
} row;

/*
 * The predictions assume that neighbouring words of shared memory are accessed in one instruction, as every NVRTC from 12.0 to
 * 13.0 compiles it. From 13.1 on some neighbours stay separate in the rows marked PARTED: the same words in more instructions.
 * With such a compiler these rows check only that.
 */
#define PARTED .is_parted = true

#define PLAIN \
    {         \
        0     \
    }
#define ARRAYS(kind) .m.stride = (kind), .n.stride = (kind), .p.stride = (kind), .c.stride = (kind)
#define WITH(...)   \
    {               \
        __VA_ARGS__ \
    }

#define SCALED(of_m, of_n, ...) WITH(.scale[TJ_MATRIX_M] = of_m, .scale[TJ_MATRIX_N] = of_n, __VA_ARGS__)
#define SPLIT(...) WITH(.compute = TJ_COMPUTE_F32_SPLIT, __VA_ARGS__)
#define BF16(...) WITH(.m.type = TJ_BF16, __VA_ARGS__)
#define WEIGHTS(...) WITH(.m.type = TJ_BF16, .n.layout = TJ_COL_MAJOR, .n.type = __VA_ARGS__)

static const row rows[] = {
    /* every width of tiled that is special: least, most, default, powers, multiples of 4, odd, prime */
    {"tiled:tile_width=4", 33, 18, 29, PLAIN},
    {"tiled:tile_width=5", 33, 18, 29, PLAIN},
    {"tiled:tile_width=6", 33, 18, 29, PLAIN},
    {"tiled:tile_width=7", 33, 18, 29, PLAIN},
    {"tiled:tile_width=8", 33, 18, 29, PLAIN},
    {"tiled:tile_width=9", 33, 18, 29, PLAIN},
    {"tiled:tile_width=10", 33, 18, 29, PLAIN},
    {"tiled:tile_width=11", 33, 18, 29, PLAIN},
    {"tiled:tile_width=12", 33, 18, 29, PLAIN},
    {"tiled:tile_width=13", 33, 18, 29, PLAIN},
    {"tiled:tile_width=15", 33, 18, 29, PLAIN},
    {"tiled:tile_width=16", 33, 18, 29, PLAIN},
    {"tiled:tile_width=17", 33, 18, 29, PLAIN},
    {"tiled:tile_width=20", 41, 18, 29, PLAIN},
    {"tiled:tile_width=24", 41, 18, 29, PLAIN},
    {"tiled:tile_width=31", 41, 18, 33, PLAIN},
    {"tiled:tile_width=32", 41, 18, 33, PLAIN},
    /* and of naive */
    {"naive:tile_width=4", 33, 18, 29, PLAIN},
    {"naive:tile_width=5", 33, 18, 29, PLAIN},
    {"naive:tile_width=7", 33, 18, 29, PLAIN},
    {"naive:tile_width=8", 33, 18, 29, PLAIN},
    {"naive:tile_width=12", 33, 18, 29, PLAIN},
    {"naive:tile_width=16", 33, 18, 29, PLAIN},
    {"naive:tile_width=19", 33, 18, 29, PLAIN},
    {"naive:tile_width=32", 41, 18, 33, PLAIN},
    /* divisible: the source has no checks */
    {"tiled:tile_width=8", 32, 16, 24, PLAIN},
    {"tiled:tile_width=16", 48, 32, 64, PLAIN},
    {"tiled:tile_width=32", 64, 64, 32, PLAIN},
    {"naive:tile_width=16", 48, 32, 64, PLAIN},
    {"tiled:tile_width=16,boundary=all", 48, 32, 64, PLAIN},
    {"naive:tile_width=16,boundary=all", 48, 32, 64, PLAIN},
    /* one dimension at the edge at a time */
    {"tiled:tile_width=16", 47, 32, 64, PLAIN},
    {"tiled:tile_width=16", 48, 31, 64, PLAIN},
    {"tiled:tile_width=16", 48, 32, 63, PLAIN},
    /* rectangular; k shorter than a tile; single rows and columns */
    {"tiled:tile_width=16", 5, 100, 7, PLAIN},
    {"tiled:tile_width=16", 100, 3, 70, PLAIN},
    {"tiled:tile_width=16", 1, 65, 90, PLAIN},
    {"tiled:tile_width=16", 90, 65, 1, PLAIN},
    {"tiled:tile_width=8", 1, 1, 1, PLAIN},
    {"naive:tile_width=16", 1, 1, 1, PLAIN},
    {"naive:tile_width=8", 5, 100, 7, PLAIN},
    {"naive:tile_width=16", 100, 3, 70, PLAIN},
    /* nothing to add up */
    {"tiled:tile_width=16", 33, 0, 29, PLAIN},
    {"naive:tile_width=16", 33, 0, 29, PLAIN},
    {"tiled:tile_width=16", 33, 0, 29, WITH(.epilogue.has_beta = 1)},
    /* dynamic shared memory */
    {"tiled:tile_width=16,shared=dynamic", 33, 18, 29, PLAIN},
    {"tiled:tile_width=8,shared=dynamic", 32, 16, 24, PLAIN},
    {"tiled:tile_width=13,shared=dynamic", 33, 18, 29, PLAIN},
    {"tiled:tile_width=32,shared=dynamic", 41, 18, 33, WITH(.n.layout = TJ_COL_MAJOR)},
    /* layouts, transposes */
    {"tiled:tile_width=16", 33, 18, 29, WITH(.m.layout = TJ_COL_MAJOR)},
    {"tiled:tile_width=16", 33, 18, 29, WITH(.n.layout = TJ_COL_MAJOR)},
    {"tiled:tile_width=16", 33, 18, 29, WITH(.p.layout = TJ_COL_MAJOR)},
    {"tiled:tile_width=32", 41, 18, 33, WITH(.n.layout = TJ_COL_MAJOR)},
    {"tiled:tile_width=8", 33, 18, 29, WITH(.m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR, .p.layout = TJ_COL_MAJOR)},
    {"tiled:tile_width=10", 33, 18, 29, WITH(.m.transposed = 1, .p.layout = TJ_COL_MAJOR)},
    {"naive:tile_width=16", 33, 18, 29, WITH(.m.layout = TJ_COL_MAJOR)},
    {"naive:tile_width=16", 33, 18, 29, WITH(.n.layout = TJ_COL_MAJOR)},
    {"naive:tile_width=8", 33, 18, 29, WITH(.p.layout = TJ_COL_MAJOR, .n.transposed = 1)},
    /* types */
    {"tiled:tile_width=16", 33, 18, 29, WITH(.m.type = TJ_F64)},
    {"tiled:tile_width=32", 41, 18, 33, WITH(.m.type = TJ_F64)},
    {"tiled:tile_width=16", 33, 18, 29, WITH(.m.type = TJ_F16)},
    {"tiled:tile_width=16", 33, 18, 29, WITH(.m.type = TJ_BF16, .p.type = TJ_F32)},
    {"naive:tile_width=16", 33, 18, 29, WITH(.m.type = TJ_F64)},
    {"naive:tile_width=8", 33, 18, 29, WITH(.m.type = TJ_F16)},
    /* padding, batch, alpha and beta */
    {"tiled:tile_width=16", 33, 18, 29, WITH(.m.ld = 23, .n.ld = 37, .p.ld = 31)},
    {"naive:tile_width=16", 33, 18, 29, WITH(.m.ld = 23, .n.ld = 37, .p.ld = 31)},
    {"tiled:tile_width=16", 33, 18, 29, WITH(.batch = 3)},
    {"tiled:tile_width=8", 33, 18, 29, WITH(.batch = 4, .n.stride = TJ_BROADCAST)},
    {"naive:tile_width=16", 33, 18, 29, WITH(.batch = 3)},
    {"tiled:tile_width=16", 33, 18, 29, WITH(.epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"naive:tile_width=16", 33, 18, 29, WITH(.epilogue.has_alpha = 1, .epilogue.has_beta = 1, .batch = 2)},
    /* rows on x */
    {"tiled:tile_width=16,rows=x", 33, 18, 29, PLAIN},
    {"naive:tile_width=8,rows=x", 33, 18, 29, PLAIN},
    /* simt: a tile that divides, and one that hangs over every edge */
    {"simt", 128, 32, 256, PLAIN},
    {"simt", 100, 70, 150, PLAIN},
    {"simt:boundary=all", 128, 32, 256, PLAIN},
    {"simt", 1, 1, 1, PLAIN},
    {"simt", 7, 200, 5, PLAIN},
    {"simt", 33, 0, 29, WITH(.epilogue.has_beta = 1)},
    /* tiles of blocks, phases and threads */
    {"simt:bm=16,bn=32,bk=8,tm=4,tn=4", 37, 43, 50, PLAIN},
    {"simt:bm=16,bn=32,bk=64,tm=4,tn=4,slices=4", 37, 100, 50, PLAIN},
    /* small thread tiles, with tiles across k and along it */
    {"simt:bm=4,bn=32,bk=16,tm=1,tn=2", 3, 43, 66, PLAIN},
    {"simt:bm=8,bn=32,bk=16,tm=2,tn=1", 9, 43, 65, WITH(.epilogue.has_beta = 1)},
    {"simt:bm=16,bn=32,bk=16,tm=2,tn=4,slices=2", 37, 43, 68, WITH(.n.layout = TJ_COL_MAJOR)},
    {"simt:bm=4,bn=32,bk=64,tm=1,tn=2", 1, 200, 96, WITH(.n.layout = TJ_COL_MAJOR)},
    {"simt:bm=16,bn=32,bk=32,tm=2,tn=4", 37, 100, 70, WITH(.n.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1)},
    {"simt:bm=16,bn=16,bk=32,tm=2,tn=2,splits=2", 37, 100, 70, WITH(.n.layout = TJ_COL_MAJOR)},
    {"simt:bm=8,bn=16,bk=16,tm=1,tn=2", 9, 50, 33, WITH(.m.type = TJ_F64, .n.layout = TJ_COL_MAJOR)},
    {"simt:bm=16,bn=32,bk=16,tm=2,tn=4", 17, 50, 33, WITH(.m.type = TJ_F64, .n.layout = TJ_COL_MAJOR)},
    {"simt:bm=32,bn=64,bk=16,tm=8,tn=4,slices=2", 65, 35, 100, PLAIN},
    {"simt:bm=32,bn=64,bk=16,tm=4,tn=8,slices=4", 65, 35, 100, PLAIN},
    {"simt:bm=32,bn=64,bk=64,tm=4,tn=4,slices=8", 33, 70, 64, PLAIN},
    {"simt:bm=64,bn=32,bk=16,tm=4,tn=4", 65, 35, 36, PLAIN},
    {"simt:bm=128,bn=128,bk=8", 129, 19, 132, PLAIN},
    {"simt:bm=128,bn=256,bk=16,tm=16,tn=8", 130, 33, 260, PLAIN},
    {"simt:bm=64,bn=128,bk=16,tm=8,tn=16", 65, 17, 130, PLAIN},
    {"simt:bm=256,bn=64,bk=16", 257, 17, 70, PLAIN},
    /* stages, more of them than phases */
    {"simt:stages=2", 100, 70, 150, PLAIN},
    {"simt:start=spread", 100, 70, 150, PLAIN},
    {"simt:start=spread,slices=2,bm=32,bn=64,bk=32", 67, 70, 131, PLAIN},
    {"simt:start=spread,stages=4,bm=32,bn=64,bk=16,tm=4,tn=4", 67, 45, 133, WITH(.epilogue.has_beta = 1)},
    {"simt:stages=6", 100, 40, 150, PLAIN},
    {"simt:blocks=4,group=8", 200, 20, 300, PLAIN},
    /* vectors: what the caller asks for, what rows allow */
    {"simt:vector=1", 64, 32, 128, PLAIN},
    {"simt:vector=2", 64, 32, 128, PLAIN},
    {"simt:vector=2", 65, 33, 130, PLAIN},
    {"simt", 64, 32, 126, PLAIN},
    {"simt", 64, 32, 125, PLAIN},
    {"simt", 66, 33, 125, WITH(.m.layout = TJ_COL_MAJOR)},
    /* layouts, paddings */
    {"simt", 68, 33, 132, WITH(.m.layout = TJ_COL_MAJOR)},
    {"simt", 68, 33, 132, WITH(.n.layout = TJ_COL_MAJOR)},
    {"simt", 68, 33, 132, WITH(.p.layout = TJ_COL_MAJOR)},
    {"simt", 67, 33, 131, WITH(.m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR, .p.layout = TJ_COL_MAJOR)},
    {"simt:bm=32,bn=64,bk=16,slices=2,tm=4,tn=4", 67, 33, 131, WITH(.m.transposed = 1, .n.transposed = 1)},
    {"simt", 68, 33, 132, WITH(.m.ld = 37, .n.ld = 136, .p.ld = 140)},
    {"simt", 68, 33, 132, WITH(.m.ld = 37, .n.ld = 135, .p.ld = 133)},
    {"simt:rows=x", 68, 33, 132, PLAIN},
    /* alpha, beta, batch */
    {"simt", 68, 33, 132, WITH(.epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"simt", 67, 33, 131, WITH(.epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"simt", 68, 33, 132, WITH(.batch = 3, .epilogue.has_beta = 1)},
    {"simt", 67, 33, 131, WITH(.batch = 3, .n.stride = TJ_BROADCAST)},
    {"simt:slices=2,bk=16", 67, 33, 131, WITH(.batch = 2, .epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    /* types */
    {"simt:bm=32,bn=64,tm=4,tn=4", 68, 33, 132, WITH(.m.type = TJ_F64)},
    {"simt:bm=32,bn=64,tm=4,tn=4,slices=2", 67, 33, 131, WITH(.m.type = TJ_F64, .m.layout = TJ_COL_MAJOR)},
    {"simt:bm=64,bn=64,tm=8,tn=8", 66, 33, 130, WITH(.m.type = TJ_F64, .n.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1)},
    {"simt:bm=64,bn=64,tm=4,tn=8", 68, 33, 132, WITH(.m.type = TJ_F16)},
    {"simt:bm=64,bn=64,tm=4,tn=8", 67, 33, 131, WITH(.m.type = TJ_F16, .epilogue.has_beta = 1)},
    {"simt:bm=64,bn=64,tm=4,tn=8", 67, 33, 131, WITH(.m.type = TJ_BF16, .p.type = TJ_F32, .batch = 2)},
    /* k split over blocks */
    {"simt:splits=2", 100, 70, 150, PLAIN},
    {"simt:splits=5,bm=32,bn=64", 67, 200, 131, PLAIN},
    {"simt:splits=40,bm=32,bn=64", 67, 300, 132, WITH(.epilogue.has_alpha = 1, .epilogue.has_beta = 1, .batch = 2)},
    {"simt:splits=3,bm=32,bn=64,tm=4,tn=4", 67, 100, 131, WITH(.m.type = TJ_F64)},
    /* skinny: rows, columns, layouts, vectors, splits */
    {"skinny:splits=1", 16, 128, 256, PLAIN},
    {"skinny:splits=1", 5, 100, 70, PLAIN},
    {"skinny:splits=1", 1, 300, 77, PLAIN},
    {"skinny:splits=1", 300, 77, 1, PLAIN},
    {"skinny:splits=1", 70, 100, 6, WITH(.epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"skinny:splits=1", 7, 100, 72, WITH(.m.layout = TJ_COL_MAJOR)},
    {"skinny:splits=1", 7, 100, 72, WITH(.n.layout = TJ_COL_MAJOR)},
    {"skinny:splits=1", 7, 101, 73, WITH(.n.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1)},
    {"skinny:splits=1", 7, 100, 72, WITH(.p.layout = TJ_COL_MAJOR, .batch = 2)},
    {"skinny:splits=1", 33, 0, 29, WITH(.epilogue.has_beta = 1)},
    {"skinny:splits=1", 6, 70, 66, WITH(.m.type = TJ_F64)},
    {"skinny:splits=1", 6, 70, 64, WITH(.m.type = TJ_F16)},
    {"skinny:splits=1", 6, 72, 61, WITH(.m.type = TJ_BF16, .n.layout = TJ_COL_MAJOR, .p.type = TJ_F32)},
    {"skinny:splits=1,lanes=4,slices=16,tn=8", 6, 128, 64,
     WITH(.m.type = TJ_BF16, .n.type = TJ_S8, .scale[TJ_MATRIX_N] = SCALE_EACH)},
    {"skinny:splits=3", 5, 480, 61, WITH(.m.type = TJ_F16, .n.type = TJ_U8, .n.layout = TJ_COL_MAJOR)},
    {"skinny:splits=1", 66, 70, 6, WITH(.m.type = TJ_S8, .n.type = TJ_F32)},
    {"skinny:splits=2", 5, 481, 62, WITH(.m.type = TJ_BF16, .n.type = TJ_S4, .scale[TJ_MATRIX_N] = SCALE_EACH)},
    {"skinny:splits=1", 3, 481, 61, WITH(.m.type = TJ_F16, .n.type = TJ_S4, .n.layout = TJ_COL_MAJOR)},
    {"tiled:tile_width=16", 40, 50, 60, WITH(.m.type = TJ_BF16, .n.type = TJ_S8)},
    {"naive:tile_width=16", 40, 50, 60, WITH(.m.type = TJ_U8, .n.type = TJ_F16, .p.layout = TJ_COL_MAJOR)},
    {"skinny:splits=1,lanes=4,slices=16,tn=8", 6, 70, 64, PLAIN},
    {"skinny:splits=1,lanes=32,slices=8,tn=4,vector=1", 6, 70, 133, PLAIN},
    {"skinny:splits=4", 7, 1000, 72, PLAIN},
    {"skinny:splits=7", 7, 1001, 73, WITH(.epilogue.has_alpha = 1, .epilogue.has_beta = 1, .p.layout = TJ_COL_MAJOR)},
    {"skinny:splits=20", 64, 2000, 5, WITH(.batch = 2)},
    /* strip: rows and columns, at edges and not, every place of the lanes, a few columns and one, padding, splits, batches */
    {"strip:splits=1", 40, 256, 16, PLAIN},
    {"strip:splits=1", 47, 100, 16, WITH(.epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"strip:splits=1", 7, 1000, 13, PLAIN},
    {"strip:splits=1,tm=7,row_lanes=1,warps=2,stages=2", 7, 1000, 13, WITH(.m.ld = 1012)},
    {"strip:splits=1,tm=10,row_lanes=2,col_lanes=4,steps=2,warps=3", 33, 332, 16, PLAIN},
    {"strip:splits=1,tm=3,row_lanes=16,col_lanes=2,steps=8,warps=1", 50, 200, 8, WITH(.p.layout = TJ_COL_MAJOR)},
    {"strip:splits=1,tm=2,row_lanes=1,col_lanes=1,stages=5", 5, 512, 1, WITH(.batch = 2)},
    {"strip:splits=1,tm=9,row_lanes=4,col_lanes=1", 36, 128, 5, WITH(.p.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1)},
    {"strip:splits=1", 13, 304, 70, WITH(.m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"strip:splits=1", 45, 130, 6, WITH(.m.type = TJ_F64)},
    {"strip:splits=1,tm=3,row_lanes=4,col_lanes=2", 45, 130, 8, WITH(.m.type = TJ_F64, .epilogue.has_beta = 1)},
    {"strip:splits=1", 7, 1000, 13, WITH(.m.type = TJ_F16)},
    {"strip:splits=1,tm=3,row_lanes=4,col_lanes=2", 45, 136, 16, WITH(.m.type = TJ_BF16, .epilogue.has_beta = 1)},
    {"strip:splits=3", 45, 1000, 16, WITH(.m.type = TJ_BF16, .p.type = TJ_F32)},
    {"strip:splits=1", 33, 0, 16, WITH(.epilogue.has_beta = 1)},
    {"strip:splits=3", 45, 1000, 16, PLAIN},
    {"strip:splits=7,rows=y", 45, 1000, 12, WITH(.epilogue.has_alpha = 1, .epilogue.has_beta = 1, .batch = 2)},
    {"strip:splits=20", 9, 4000, 64,
     WITH(.m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR, .n.stride = TJ_BROADCAST, .batch = 2)},
    {"strip:splits=2", 45, 300, 16, WITH(.batch = 2, ARRAYS(TJ_POINTERS_16), .epilogue.has_beta = 1)},
    /* and boxes: the same, and columns that fill no box */
    {"strip:splits=1,copies=boxes", 40, 256, 16, PLAIN},
    {"strip:splits=1,copies=boxes,tm=3", 47, 100, 16, WITH(.epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"strip:splits=1,copies=boxes", 7, 1000, 14, PLAIN},
    {"strip:splits=1,copies=boxes,tm=7,row_lanes=1,warps=2,stages=2", 7, 1000, 14, WITH(.m.ld = 1012)},
    {"strip:splits=1,copies=boxes,tm=10,row_lanes=1,col_lanes=4,steps=2,warps=3", 33, 332, 16, PLAIN},
    {"strip:splits=1,copies=boxes,tm=3,row_lanes=1,col_lanes=2,warps=1", 50, 200, 8, WITH(.p.layout = TJ_COL_MAJOR)},
    {"strip:splits=1,copies=boxes,tm=2,row_lanes=1,col_lanes=1,warps=2", 5, 512, 2, WITH(.batch = 2)},
    {"strip:splits=1,copies=boxes", 14, 304, 70, WITH(.m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"strip:splits=1,copies=boxes", 45, 130, 6, WITH(.m.type = TJ_F64)},
    {"strip:splits=1,copies=boxes,tm=3,warps=8", 45, 130, 8, WITH(.m.type = TJ_F64, .epilogue.has_beta = 1)},
    {"strip:splits=1,copies=boxes", 7, 1000, 14, WITH(.m.type = TJ_F16)},
    {"strip:splits=3,copies=boxes,tm=3", 45, 1000, 16, WITH(.m.type = TJ_BF16, .p.type = TJ_F32)},
    {"strip:splits=1,copies=boxes", 33, 0, 16, WITH(.epilogue.has_beta = 1)},
    {"strip:splits=7,copies=boxes,rows=y", 45, 1000, 12, WITH(.epilogue.has_alpha = 1, .epilogue.has_beta = 1, .batch = 2)},
    {"strip:splits=9,copies=boxes,blocks=2", 10, 4000, 64,
     WITH(.m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR, .n.stride = TJ_BROADCAST, .batch = 2)},
    /* small_batch: sizes that fit and that do not, layouts, widths, teams within a warp and across, a last block with teams to spare */
    {"small_batch", 16, 16, 16, WITH(.batch = 50)},
    {"small_batch:products=4,tm=2,tn=4", 16, 16, 16, WITH(.batch = 10)},
    {"small_batch:products=3,tm=4,tn=4", 23, 23, 23, WITH(.batch = 7)},
    {"small_batch:products=7,tm=8,tn=4", 23, 23, 23, WITH(.batch = 16)},
    {"small_batch:products=9", 13, 32, 5, WITH(.batch = 20)},
    {"small_batch:tm=1,tn=1,products=2", 9, 7, 5, WITH(.batch = 3)},
    {"small_batch:products=40", 3, 2, 1, WITH(.batch = 100)},
    {"small_batch", 1, 4, 1, PLAIN},
    {"small_batch", 64, 64, 64, WITH(.batch = 2)},
    {"small_batch", 128, 128, 128, PLAIN},
    {"small_batch:tm=6,tn=6", 34, 10, 34, WITH(.batch = 2)},
    {"small_batch:tm=6,tn=6,products=2", 34, 10, 34, WITH(.batch = 3, .m.layout = TJ_COL_MAJOR)},
    {"small_batch", 20, 18, 28, WITH(.batch = 9, .m.layout = TJ_COL_MAJOR)},
    {"small_batch", 20, 18, 28, WITH(.batch = 9, .n.layout = TJ_COL_MAJOR)},
    {"small_batch", 21, 19, 27, WITH(.batch = 9, .m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"small_batch", 21, 19, 28, WITH(.batch = 9, .p.layout = TJ_COL_MAJOR)},
    {"small_batch:vector=1", 16, 16, 16, WITH(.batch = 9)},
    {"small_batch:vector=2", 16, 16, 16, WITH(.batch = 9)},
    {"small_batch", 16, 18, 16, WITH(.batch = 5, .m.ld = 22, .n.ld = 24, .p.ld = 20)},
    {"small_batch", 16, 18, 16, WITH(.batch = 5, .n.stride = TJ_BROADCAST, .epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"small_batch:products=5,tm=3,tn=3", 9, 5, 5, WITH(.batch = 12, .n.stride = TJ_BROADCAST)},
    {"small_batch:copy=registers", 16, 18, 16, WITH(.batch = 5)},
    {"small_batch:copy=registers", 23, 13, 21, WITH(.batch = 5, .m.layout = TJ_COL_MAJOR)},
    {"small_batch", 24, 13, 21, WITH(.m.type = TJ_F64, .batch = 5)},
    {"small_batch", 24, 14, 22, WITH(.m.type = TJ_F64, .batch = 5, .m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"small_batch", 24, 12, 20, WITH(.m.type = TJ_F16, .batch = 5, .epilogue.has_beta = 1)},
    {"small_batch", 23, 13, 21, WITH(.m.type = TJ_BF16, .p.type = TJ_F32, .batch = 5)},
    /* elements of one byte: rows that warps share otherwise, sums of four bytes, P of both */
    {"naive:tile_width=16", 33, 18, 29, WITH(.m.type = TJ_S8)},
    {"naive:tile_width=8", 40, 18, 48, WITH(.m.type = TJ_E4M3, .n.layout = TJ_COL_MAJOR, .p.type = TJ_E4M3)},
    {"tiled:tile_width=16", 33, 18, 29, WITH(.m.type = TJ_U8, .p.type = TJ_U8, .epilogue.has_beta = 1)},
    {"tiled:tile_width=13,shared=dynamic", 33, 18, 29, WITH(.m.type = TJ_E5M2, .m.layout = TJ_COL_MAJOR)},
    /* arrays of pointers: all operands, some, with promises and without, one product; k split; teams to spare */
    {"naive:tile_width=16", 33, 18, 29, WITH(.batch = 3, ARRAYS(TJ_POINTERS), .epilogue.has_beta = 1)},
    {"naive:tile_width=8", 33, 0, 29, WITH(.batch = 3, ARRAYS(TJ_POINTERS), .epilogue.has_beta = 1)},
    {"naive:tile_width=16", 48, 32, 64, WITH(.batch = 2, .m.stride = TJ_POINTERS)},
    {"tiled:tile_width=16", 33, 18, 29, WITH(.batch = 3, ARRAYS(TJ_POINTERS), .epilogue.has_beta = 1)},
    {"tiled:tile_width=8", 33, 18, 29, WITH(.batch = 4, .m.stride = TJ_POINTERS, .n.stride = TJ_BROADCAST)},
    {"tiled:tile_width=13,shared=dynamic", 33, 18, 29, WITH(.n.stride = TJ_POINTERS, .p.layout = TJ_COL_MAJOR)},
    {"simt", 68, 33, 132, WITH(.batch = 3, ARRAYS(TJ_POINTERS_16), .epilogue.has_beta = 1)},
    {"simt", 68, 33, 132, WITH(.batch = 3, ARRAYS(TJ_POINTERS), .epilogue.has_beta = 1)},
    {"simt", 68, 33, 132, WITH(.batch = 3, .n.stride = TJ_POINTERS_16, .p.layout = TJ_COL_MAJOR)},
    {"simt", 33, 0, 29, WITH(ARRAYS(TJ_POINTERS), .epilogue.has_beta = 1)},
    {"simt:copy=registers,bk=8", 100, 70, 150, WITH(.batch = 2, ARRAYS(TJ_POINTERS))},
    {"simt:splits=3,bm=32,bn=64,tm=4,tn=4", 67, 100, 131, WITH(.batch = 2, ARRAYS(TJ_POINTERS_16), .epilogue.has_beta = 1)},
    {"simt:splits=5,bm=32,bn=64", 67, 200, 131, WITH(.p.stride = TJ_POINTERS)},
    {"skinny:splits=1", 5, 100, 72, WITH(.batch = 2, ARRAYS(TJ_POINTERS_16), .epilogue.has_beta = 1)},
    {"skinny:splits=1", 7, 101, 73, WITH(.batch = 2, ARRAYS(TJ_POINTERS), .p.layout = TJ_COL_MAJOR)},
    {"skinny:splits=7", 7, 1001, 73, WITH(.batch = 2, ARRAYS(TJ_POINTERS), .epilogue.has_beta = 1)},
    {"skinny:splits=20", 64, 2000, 5, WITH(.n.stride = TJ_POINTERS)},
    {"small_batch", 16, 16, 16, WITH(.batch = 50, ARRAYS(TJ_POINTERS_16))},
    {"small_batch:products=4,tm=2,tn=4", 16, 16, 16, WITH(.batch = 10, ARRAYS(TJ_POINTERS), .epilogue.has_beta = 1)},
    {"small_batch:products=9", 13, 32, 5, WITH(.batch = 20, .m.stride = TJ_POINTERS, .p.stride = TJ_POINTERS_16)},
    {"small_batch:products=40", 3, 2, 1, WITH(.batch = 100, ARRAYS(TJ_POINTERS))},
    {"small_batch:copy=registers", 16, 18, 16, WITH(.batch = 5, ARRAYS(TJ_POINTERS_16))},
    {"small_batch", 24, 13, 21, WITH(.m.type = TJ_F64, ARRAYS(TJ_POINTERS_16), .epilogue.has_beta = 1)},
    /* threads whose shares make copies narrower than alignment would let them be */
    {"simt:bm=64,bn=64,bk=8,tm=4,tn=4", 128, 64, 128, WITH(.m.layout = TJ_COL_MAJOR)},
    /* one long row, as a loop */
    {"skinny:slices=8,k_thread=16,splits=1", 1, 4000, 72, WITH(.m.type = TJ_F16)},
    {"skinny:slices=8,k_thread=16,splits=1", 1, 4096, 68, PLAIN},
    /* copies through registers */
    {"simt:copy=registers,bk=8", 128, 32, 256, PLAIN},
    {"simt:copy=registers,bk=8", 100, 70, 150, PLAIN},
    {"simt:copy=registers,bk=8", 33, 0, 29, PLAIN},
    {"simt:copy=registers,bm=32,bn=64,bk=12,tm=4,tn=4", 67, 33, 131, PLAIN},
    {"simt:copy=registers,bm=32,bn=64,bk=4,tm=8,tn=8", 67, 33, 131, WITH(.m.layout = TJ_COL_MAJOR)},
    {"simt:copy=registers,bm=32,bn=64,bk=16,tm=8,tn=8", 67, 33, 131, WITH(.n.layout = TJ_COL_MAJOR, .batch = 2)},
    {"simt:copy=registers,bm=32,bn=64,bk=16,tm=4,tn=4", 67, 33, 131, WITH(.m.type = TJ_F64, .p.layout = TJ_COL_MAJOR)},
    /* the same, several elements at a time: 16 bytes, 8, 4; transposed or not; with gaps in rows, without */
    {"simt:copy=registers,bk=16", 128, 64, 256, WITH(.m.type = TJ_F16), PARTED},
    {"simt:copy=registers,bk=16,vector=4", 136, 72, 264, WITH(.m.type = TJ_BF16)},
    {"simt:copy=registers,bk=16,vector=2", 134, 70, 262, WITH(.m.type = TJ_F16, .epilogue.has_beta = 1)},
    {"simt:copy=registers,bk=8", 136, 72, 264, WITH(.m.type = TJ_F16, .m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"simt:copy=registers,bk=8,bm=64,bn=64,tm=4,tn=4", 136, 72, 264, WITH(.m.type = TJ_F16, .n.layout = TJ_COL_MAJOR)},
    {"simt:copy=registers,bk=32,bm=64,bn=64,tm=16,tn=4", 72, 40, 136, WITH(.m.type = TJ_BF16, .m.layout = TJ_COL_MAJOR),
     PARTED},
    {"simt:copy=registers,bk=32,bm=16,bn=64,tm=4,tn=4", 72, 40, 136, WITH(.m.type = TJ_F16, .m.layout = TJ_COL_MAJOR), PARTED},
    {"simt:copy=registers,bk=16,bm=48,bn=64,tm=12,tn=8", 56, 40, 136, WITH(.m.type = TJ_F16, .m.layout = TJ_COL_MAJOR), PARTED},
    {"simt:copy=registers,bk=16,splits=3,bm=32,bn=64,tm=4,tn=4", 68, 104, 136, WITH(.m.type = TJ_F16, .batch = 2), PARTED},
    {"simt:copy=registers,bk=16,bm=32,bn=64,tm=8,tn=8", 68, 36, 132, WITH(.n.layout = TJ_COL_MAJOR, .batch = 2)},
    {"simt:copy=registers,bk=16,bm=64,bn=64,tm=8,tn=4", 68, 34, 132, WITH(.m.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1)},
    {"simt:copy=registers,bk=16,bm=64,bn=64,tm=4,tn=4", 66, 34, 130, WITH(.m.type = TJ_F64)},
    {"simt:copy=registers,bk=16,bm=64,bn=64,tm=4,tn=4", 66, 34, 130, WITH(.m.type = TJ_F64, .m.layout = TJ_COL_MAJOR)},
    /* mma: tiles that divide, and that hang over every edge; types; layouts; paddings that leave copies 16, 8 and 4 bytes */
    {"mma", 256, 128, 256, BF16()},
    {"mma:bm=64,bn=64", 100, 72, 136, BF16()},
    {"mma:bm=64,bn=64,boundary=all", 128, 64, 128, BF16()},
    {"mma:bm=64,bn=32,wm=32,wn=16,stages=5", 72, 200, 40, BF16(.m.layout = TJ_COL_MAJOR)},
    {"mma:bm=32,bn=64,wm=16,wn=32,steps=4", 72, 200, 40, BF16(.n.layout = TJ_COL_MAJOR)},
    {"mma:bm=32,bn=64,wm=32,wn=16,steps=4", 72, 200, 40, BF16(.m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64", 72, 200, 40, BF16(.p.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1)},
    {"mma:bm=64,bn=64", 68, 100, 44, BF16()},
    {"mma:bm=64,bn=64", 66, 102, 46, BF16(.epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"mma:bm=64,bn=64,pack=none", 65, 101, 45, BF16(.m.ld = 104, .n.ld = 48, .p.ld = 45)},
    {"mma:bm=64,bn=64,pack=none", 65, 101, 45, BF16(.m.ld = 108, .n.ld = 46, .p.ld = 46, .batch = 3)},
    {"mma:bm=64,bn=64,pack=none", 65, 101, 45,
     BF16(.m.ld = 72, .n.ld = 104, .m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64,vector=1", 64, 64, 64, BF16(.p.type = TJ_F32)},
    {"mma:bm=64,bn=64,vector=2,rows=x", 64, 64, 128, WITH(.m.type = TJ_F16, .batch = 2)},
    {"mma:bm=64,bn=64,group=2", 200, 64, 264, WITH(.m.type = TJ_F16, .batch = 2, .n.stride = TJ_BROADCAST)},
    {"mma:bm=16,bn=16,wm=16,wn=16,steps=8", 40, 300, 24, WITH(.m.type = TJ_F16, .p.type = TJ_F32)},
    {"mma:bm=16,bn=256,wm=16,wn=32,steps=2", 24, 64, 264, WITH(.m.type = TJ_F16)},
    {"mma:bm=256,bn=16,wm=32,wn=16", 264, 64, 24, WITH(.m.type = TJ_F16, .m.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64", 64, 0, 64, BF16(.epilogue.has_beta = 1)},
    {"mma:bm=64,bn=64", 64, 8, 64, BF16()},
    {"mma", 1, 8, 8, BF16()},
    {"mma:bm=64,bn=64", 66, 34, 70, WITH(.m.type = TJ_F64, .epilogue.has_beta = 1)},
    {"mma:bm=64,bn=64,wm=32,wn=32", 65, 33, 71, WITH(.m.type = TJ_F64, .batch = 2)},
    {"mma:bm=32,bn=64,wm=16,wn=32", 65, 33, 71, WITH(.m.type = TJ_F64, .m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=32,wm=32,wn=16,steps=4", 128, 64, 64,
     WITH(.m.type = TJ_F64, .n.layout = TJ_COL_MAJOR, .p.layout = TJ_COL_MAJOR)},
    /* fragments loaded when they are needed */
    {"mma:load=needed", 256, 128, 256, BF16()},
    {"mma:bm=64,bn=64,load=needed,stages=4", 100, 200, 136, BF16(.m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64,load=needed,splits=3", 66, 100, 70, WITH(.m.type = TJ_F64, .epilogue.has_beta = 1)},
    {"mma:bm=64,bn=64,load=needed", 67, 61, 99, WITH(.compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64,load=ahead,pack=none", 67, 61, 99, WITH(.compute = TJ_COMPUTE_TF32)},
    {"mma:bm=64,bn=32,load=needed,copy=registers", 72, 152, 88, WITH(.m.type = TJ_U8, .m.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64,load=needed", 64, 0, 64, BF16()},
    /* k split over blocks, more splits than phases */
    {"mma:bm=64,bn=64", 72, 160, 96, WITH(.m.type = TJ_S8)},
    {"mma:bm=64,bn=32,wm=32,wn=16", 72, 160, 96, WITH(.m.type = TJ_U8, .m.layout = TJ_COL_MAJOR, .p.type = TJ_F32)},
    {"mma:bm=32,bn=64,wm=16,wn=32", 65, 100, 77, WITH(.m.type = TJ_S8, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64", 72, 160, 96, WITH(.m.type = TJ_E4M3)},
    {"mma:bm=64,bn=64", 72, 160, 96, BF16(.n.type = TJ_S8)},
    {"mma:bm=64,bn=32,wm=32,wn=16,pack=none", 72, 100, 92, WITH(.m.type = TJ_U8, .n.type = TJ_F16, .m.layout = TJ_COL_MAJOR)},
    {"mma:bm=32,bn=64,wm=16,wn=32,pack=none", 65, 101, 77, BF16(.n.type = TJ_U8, .n.layout = TJ_COL_MAJOR), PARTED},
    {"mma:bm=64,bn=64", 72, 160, 96, BF16(.n.type = TJ_S4)},
    {"mma:bm=16,bn=128,wn=32", 9, 161, 184, WITH(.m.type = TJ_F16, .n.type = TJ_S4, .scale[TJ_MATRIX_N] = SCALE_EACH)},
    {"mma:bm=16,bn=64,wn=16,splits=3", 9, 161, 88, WITH(.m.type = TJ_F16, .n.type = TJ_S8)},
    {"mma:bm=16,bn=64,wn=64", 9, 161, 88, BF16(.n.type = TJ_U8, .batch = 2)},
    {"mma:bm=128,bn=16,wm=32", 200, 96, 16, WITH(.m.type = TJ_S4, .n.type = TJ_BF16, .m.layout = TJ_COL_MAJOR)},
    {"mma:bm=16,bn=64,wn=32,splits=2,pack=none", 9, 312, 77, BF16(.n.type = TJ_S4, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=16,bn=64,wn=32,pack=none", 9, 100, 77, WITH(.m.type = TJ_F16, .n.type = TJ_S8, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=16,wm=32", 88, 303, 16, WITH(.m.type = TJ_S4, .n.type = TJ_BF16)},
    {"mma:bm=16,bn=64,wn=32,steps=4,splits=2,pack=none", 9, 328, 77, BF16(.n.type = TJ_S4, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=16,bn=64,wn=32,steps=8,pack=none", 9, 264, 77, WITH(.m.type = TJ_F16, .n.type = TJ_S8, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=16,wm=32,steps=8", 88, 320, 16, WITH(.m.type = TJ_S4, .n.type = TJ_BF16, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=16,bn=64,wn=32,steps=4", 9, 352, 77,
     BF16(.n = {.type = TJ_S4, .layout = TJ_COL_MAJOR, .order = TJ_ORDER_REPACKED})},
    {"thin:slices=2", 8, 512, 64, BF16(.n = {.type = TJ_S4, .layout = TJ_COL_MAJOR, .order = TJ_ORDER_REPACKED})},
    {"wgmma:swap=yes,bm=64,bn=16", 16, 384, 128,
     BF16(.n = {.type = TJ_S4, .layout = TJ_COL_MAJOR, .order = TJ_ORDER_REPACKED})},
    {"mma:bm=16,bn=64,wn=32,steps=4,slices=4,splits=2", 9, 1048, 77, BF16(.n.type = TJ_S4, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=16,wm=32,slices=2", 88, 320, 16, WITH(.m.type = TJ_F16, .batch = 2)},
    {"mma:bm=32,bn=32,slices=2,load=needed", 88, 320, 16, WITH(.m.type = TJ_F32, .compute = TJ_COMPUTE_TF32)},
    {"mma:bm=32,bn=32,slices=2", 88, 320, 16, WITH(.m.type = TJ_F64)},
    {"mma:bm=64,bn=64,pack=n", 72, 101, 77, BF16(.n.type = TJ_S4, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64", 72, 160, 96, BF16(.n.type = TJ_E2M1)},
    {"mma:bm=16,bn=64,wn=32,splits=2,pack=none", 9, 312, 77, BF16(.n.type = TJ_U4, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64", 72, 160, 96, BF16(.n.type = TJ_E4M3)},
    {"mma:bm=64,bn=64,copy=registers", 72, 160, 96, WITH(.m.type = TJ_F16, .n.type = TJ_E5M2)},
    {"mma:bm=64,bn=64,pack=n", 72, 100, 77, BF16(.n.type = TJ_S8, .scale[TJ_MATRIX_N] = SCALE_EACH)},
    {"mma:bm=64,bn=64,pack=both", 65, 101, 80, WITH(.m.type = TJ_S8, .n.type = TJ_F16, .batch = 2)},
    {"mma:bm=64,bn=64", 72, 60, 96, WITH(.compute = TJ_COMPUTE_TF32)},
    {"mma:bm=64,bn=64,steps=4", 67, 61, 99,
     WITH(.compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64,pack=both", 67, 61, 99, WITH(.compute = TJ_COMPUTE_TF32)},
    {"mma:bm=64,bn=64,splits=2", 100, 200, 136, BF16()},
    {"mma:bm=32,bn=32,splits=5", 67, 200, 132, BF16(.epilogue.has_alpha = 1, .epilogue.has_beta = 1, .batch = 2)},
    {"mma:bm=32,bn=32,splits=40", 72, 300, 131, BF16(.p.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64,splits=3", 67, 100, 131, WITH(.m.type = TJ_F64, .epilogue.has_beta = 1)},
    /* operands packed ahead */
    {"mma:bm=64,bn=64", 65, 101, 77, BF16()},
    {"mma:bm=64,bn=64,pack=m", 65, 101, 80, BF16(.batch = 3, .epilogue.has_beta = 1)},
    {"mma:bm=64,bn=64,pack=n", 65, 104, 77, BF16(.batch = 3, .n.stride = TJ_BROADCAST)},
    {"mma:bm=64,bn=64,pack=both", 65, 101, 77, BF16(.batch = 3, .n.stride = TJ_BROADCAST, .m.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64,pack=both", 65, 101, 77, BF16(.batch = 3, .m.stride = TJ_BROADCAST, .p.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64,pack=both,splits=2", 65, 201, 77, BF16(.batch = 2, .m.stride = TJ_BROADCAST, .n.stride = TJ_BROADCAST)},
    {"mma:bm=64,bn=64,pack=both", 65, 101, 77,
     BF16(.m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR, .p.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64,pack=both,splits=3", 65, 301, 77, BF16(.m.ld = 305, .epilogue.has_beta = 1)},
    {"mma:bm=64,bn=64,pack=both", 65, 33, 77, WITH(.m.type = TJ_F64)},
    {"mma:pack=both", 64, 3, 5, WITH(.m.type = TJ_F16)},
    {"mma:bm=64,bn=16,pack=n", 72, 600, 7, BF16()}, /* lanes of a warp go on from one line to the next */
    {"mma:bm=64,bn=16,pack=n", 72, 600, 19, WITH(.m.type = TJ_S8)},
    {"mma:bm=64,bn=16,pack=n", 72, 0, 7, BF16()},
    /* and transposed on the way: words and bytes, at once and one by one, of either operand, of a batch, of one that it shares */
    {"mma:bm=64,bn=64,pack=n,transpose=yes", 64, 64, 128, WITH(.compute = TJ_COMPUTE_TF32)},
    {"mma:bm=64,bn=64,pack=both,transpose=yes", 67, 61, 99, WITH(.compute = TJ_COMPUTE_TF32)},
    {"mma:bm=64,bn=64,pack=both,transpose=yes", 68, 60, 100,
     WITH(.compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR, .batch = 3)},
    {"mma:bm=64,bn=64,pack=m,transpose=yes,splits=2", 67, 161, 99,
     WITH(.compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR, .p.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1)},
    {"mma:bm=64,bn=64,pack=both,transpose=yes", 36, 150, 70,
     WITH(.compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR, .batch = 2,
          .m.stride = TJ_BROADCAST)},
    {"mma:bm=64,bn=64,pack=n,transpose=yes", 64, 256, 256, WITH(.m.type = TJ_S8)},
    {"mma:bm=64,bn=64,pack=both,transpose=yes", 65, 201, 79, WITH(.m.type = TJ_U8, .batch = 2)},
    {"mma:bm=64,bn=64,pack=both,transpose=yes", 144, 64, 176,
     WITH(.m.type = TJ_S8, .m.layout = TJ_COL_MAJOR, .batch = 2, .n.stride = TJ_BROADCAST)},
    {"mma:bm=32,bn=64,pack=m,transpose=yes", 131, 33, 64,
     WITH(.m.type = TJ_E4M3, .m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR, .m.ld = 144)},
    {"mma:bm=64,bn=64,pack=n,transpose=yes,copy=registers", 65, 101, 79, WITH(.m.type = TJ_S8)},
    /* lines that begin anywhere: gathered, in every layout; next to copies past the registers; lines, ends, and both clipped */
    {"mma:bm=64,bn=64,pack=none", 65, 101, 77, BF16()},
    {"mma:bm=64,bn=64,pack=none", 64, 64, 64, BF16(.m.ld = 65, .n.ld = 67)},
    {"mma:bm=64,bn=32,pack=none", 67, 101, 77, BF16(.m.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1)},
    {"mma:bm=32,bn=64,pack=none,steps=4", 65, 101, 77, BF16(.n.layout = TJ_COL_MAJOR, .batch = 3)},
    {"mma:bm=32,bn=64,wm=32,pack=none,steps=2", 65, 103, 77, BF16(.m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64,pack=none", 65, 101, 77, BF16(.p.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64,pack=none", 100, 72, 77, WITH(.m.type = TJ_F16)},
    {"mma:bm=64,bn=64,pack=n", 65, 101, 77, WITH(.m.type = TJ_F16)},
    {"mma:bm=16,bn=64,wm=16,wn=16,pack=none,stages=2", 1, 33, 130, WITH(.m.type = TJ_F16, .n.ld = 131)},
    {"mma:pack=none", 3, 1, 5, WITH(.m.type = TJ_F16)},
    {"mma:bm=128,bn=128,pack=none,splits=3", 130, 301, 131, BF16(.batch = 2)},
    {"mma:bm=64,bn=64,pack=none", 65, 101, 77, WITH(.m.type = TJ_S8)},
    {"mma:bm=64,bn=64,pack=none", 66, 102, 78, WITH(.m.type = TJ_U8, .m.layout = TJ_COL_MAJOR)},
    {"mma:bm=32,bn=64,pack=none", 65, 101, 79, WITH(.m.type = TJ_S8, .n.layout = TJ_COL_MAJOR, .p.type = TJ_F32)},
    {"mma:bm=64,bn=32,pack=none", 65, 105, 79, WITH(.m.type = TJ_E4M3, .m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64,pack=none", 65, 104, 77, WITH(.m.type = TJ_S8, .batch = 2, .n.stride = TJ_BROADCAST)},
    {"mma:bm=64,bn=64", 72, 40, 136, BF16(.batch = 3, ARRAYS(TJ_POINTERS), .epilogue.has_beta = 1)},
    {"mma:bm=64,bn=64", 72, 40, 136, WITH(.m.type = TJ_S8, .batch = 2, .m.stride = TJ_POINTERS)},
    /* and all of it through registers */
    {"mma:bm=64,bn=64,copy=registers", 128, 64, 128, WITH(.m.type = TJ_F16)},
    {"mma:bm=64,bn=64,copy=registers", 72, 40, 136, WITH(.m.type = TJ_F16, .epilogue.has_beta = 1)},
    {"mma:bm=64,bn=64,copy=registers", 72, 40, 136, WITH(.m.type = TJ_F16, .m.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=32,copy=registers,stages=2", 76, 44, 132, WITH(.m.type = TJ_F16, .n.layout = TJ_COL_MAJOR)},
    {"mma:bm=32,bn=64,copy=registers,pack=none", 70, 42, 134, WITH(.m.type = TJ_F16, .batch = 2)},
    {"mma:bm=64,bn=64,copy=registers,pack=none", 65, 101, 77, WITH(.m.type = TJ_F16, .m.ld = 104, .n.ld = 80)},
    {"mma:bm=64,bn=64,copy=registers,pack=both", 65, 101, 77, WITH(.m.type = TJ_F16)},
    {"mma:bm=64,bn=64,copy=registers,splits=3", 72, 300, 136, WITH(.m.type = TJ_F16, .batch = 2)},
    {"mma:bm=16,bn=16,wm=16,wn=16,steps=8,copy=registers", 40, 300, 24, WITH(.m.type = TJ_F16)},
    {"mma:bm=64,bn=64,copy=registers", 80, 160, 96, WITH(.m.type = TJ_S8)},
    {"mma:bm=64,bn=64,copy=registers", 72, 152, 88, WITH(.m.type = TJ_U8, .m.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=32,copy=registers", 68, 60, 100, WITH(.compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64,copy=registers", 65, 40, 77, BF16(.p.layout = TJ_COL_MAJOR)},
    /* wgmma: boxes of M and N that divide and that do not, along k and across; what writes P, and how wide; splits, batches */
    {"wgmma:bm=128,bn=128", 128, 128, 256, BF16()},
    {"wgmma:swap=yes,bm=128,bn=64", 72, 200, 256, BF16(.n.type = TJ_F32, .n.layout = TJ_COL_MAJOR)},
    {"wgmma:swap=yes,bm=64,bn=32,splits=2", 72, 264, 128, BF16(.n.type = TJ_F32, .n.layout = TJ_COL_MAJOR)},
    {"wgmma:swap=yes,bm=128,bn=64", 72, 200, 256, BF16(.n.type = TJ_F32)},
    {"wgmma:bm=128,bn=256", 200, 200, 320, BF16()},
    {"wgmma:bm=64,bn=96", 200, 72, 328, BF16(.n.layout = TJ_COL_MAJOR, .p.type = TJ_F32)},
    {"wgmma:bm=64,bn=112", 104, 200, 328, BF16(.m.layout = TJ_COL_MAJOR)},
    {"wgmma:bm=64,bn=64", 100, 136, 136, BF16(.m.ld = 152, .n.ld = 136, .p.ld = 152, .batch = 3)},
    {"wgmma:bm=64,bn=96", 104, 136, 200, BF16(.m.layout = TJ_COL_MAJOR, .batch = 3, .n.stride = TJ_BROADCAST)},
    {"wgmma:bm=128,bn=64", 128, 72, 128, BF16(.p.layout = TJ_COL_MAJOR, .epilogue.has_alpha = 1)},
    {"wgmma:bm=128,bn=64", 200, 72, 136, BF16(.epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"wgmma:bm=64,bn=64,store=lines", 100, 72, 136, BF16()},
    {"wgmma:bm=64,bn=32,store=lines", 100, 72, 136, BF16(.p.type = TJ_F32)},
    {"wgmma:bm=64,bn=48,store=lines", 100, 72, 136, BF16()},
    {"wgmma:bm=64,bn=64,store=elements", 100, 72, 133, BF16(.n.layout = TJ_COL_MAJOR)},
    {"wgmma:bm=64,bn=64", 100, 72, 133, BF16(.n.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1, .batch = 2)},
    {"wgmma:bm=64,bn=64", 72, 160, 96, WITH(.m.type = TJ_S8, .n.layout = TJ_COL_MAJOR)},
    {"wgmma:bm=64,bn=64", 72, 160, 96, WITH(.m.type = TJ_U8, .n.layout = TJ_COL_MAJOR, .p.type = TJ_S8)},
    {"wgmma:bm=64,bn=64", 72, 60, 96, WITH(.compute = TJ_COMPUTE_TF32, .n.layout = TJ_COL_MAJOR)},
    {"wgmma:bm=64,bn=64,pingpong=yes", 100, 200, 136, BF16()},
    {"wgmma:bm=64,bn=64,splits=2", 100, 200, 136, BF16()},
    {"wgmma:bm=64,bn=32,splits=5", 72, 200, 136, BF16(.batch = 2, .epilogue.has_beta = 1)},
    {"wgmma:bm=64,bn=64", 64, 0, 64, BF16(.m.ld = 8)},
    {"wgmma:bm=64,bn=64", 100, 75, 133, BF16(.batch = 2)}, /* packed */
    {"wgmma:bm=64,bn=64", 100, 75, 136, BF16(.batch = 3, .m.stride = TJ_BROADCAST)},
    {"wgmma:bm=64,bn=64", 72, 160, 97, WITH(.m.type = TJ_S8)},
    {"wgmma:bm=128,bn=64", 72, 60, 96, WITH(.compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"wgmma:swap=yes,bm=128,bn=72", 72, 60, 96, WITH(.compute = TJ_COMPUTE_TF32)},
    {"wgmma:bm=256,bn=64,splits=2", 300, 100, 96,
     WITH(.compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR, .batch = 2)},
    {"wgmma:bm=64,bn=64,pack=n", 72, 60, 96, WITH(.compute = TJ_COMPUTE_TF32)},
    {"wgmma:bm=64,bn=64", 72, 60, 96, WITH(.compute = TJ_COMPUTE_TF32)}, /* transposed */
    {"wgmma:bm=128,bn=128", 136, 272, 144, WITH(.m.type = TJ_S8, .m.layout = TJ_COL_MAJOR, .batch = 2)},
    {"wgmma:bm=64,bn=96,splits=2", 72, 100, 128, WITH(.compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR, .batch = 3)},
    {"wgmma:bm=64,bn=64", 72, 160, 96, WITH(.m.type = TJ_E4M3, .compute = TJ_COMPUTE_F32_FP8)},
    /* swapped: the rows of P in steps of 8, stored as boxes of columns, one by one or in splits; layouts and types */
    {"wgmma:swap=yes,bn=72", 72, 256, 136, BF16(.n.layout = TJ_COL_MAJOR)},
    {"wgmma:swap=yes,bn=40", 75, 200, 328, BF16()},
    {"wgmma:swap=yes,bm=128,bn=40", 40, 512, 200, BF16(.n.type = TJ_S4, .n.layout = TJ_COL_MAJOR)}, /* weights by registers */
    {"wgmma:swap=yes,bm=128,bn=40", 40, 512, 200,
     WITH(.m.type = TJ_E4M3, .n.type = TJ_S4, .n.layout = TJ_COL_MAJOR, .compute = TJ_COMPUTE_F32_FP8)},
    {"mma:bm=32,bn=32,wm=16,wn=16", 40, 160, 72, WITH(.m.type = TJ_E4M3, .n.type = TJ_E2M1, .n.layout = TJ_COL_MAJOR)},
    {"wgmma:swap=yes,bn=40,cluster=k2", 33, 296, 130, BF16(.n.type = TJ_S8, .n.layout = TJ_COL_MAJOR, .n.ld = 304)},
    {"wgmma:swap=yes,bm=256,bn=72", 72, 320, 200, BF16(.n.type = TJ_U8, .n.layout = TJ_COL_MAJOR, .m.layout = TJ_COL_MAJOR)},
    {"wgmma:swap=yes,bm=128,bn=24", 17, 72, 200, BF16(.p.type = TJ_F32, .batch = 3)},
    {"wgmma:swap=yes,bn=104", 200, 72, 136, BF16(.n.layout = TJ_COL_MAJOR)},
    {"wgmma:swap=yes,bn=40", 75, 200, 136, BF16(.n.layout = TJ_COL_MAJOR, .epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"wgmma:swap=yes,bm=192,bn=48,store=lines", 75, 200, 133, BF16(.n.layout = TJ_COL_MAJOR, .p.type = TJ_F32)},
    {"wgmma:swap=yes,bn=40,splits=2", 75, 200, 136, BF16(.batch = 2, .epilogue.has_beta = 1)},
    {"wgmma:swap=yes,bn=72,splits=3", 72, 200, 136, BF16(.n.layout = TJ_COL_MAJOR)},
    {"wgmma:swap=yes,bn=40", 75, 72, 136, BF16(.p.layout = TJ_COL_MAJOR)},
    {"wgmma:swap=yes,bn=80", 75, 160, 96, WITH(.m.type = TJ_S8, .n.layout = TJ_COL_MAJOR, .p.type = TJ_S8)},
    {"wgmma:swap=yes,bn=40", 72, 160, 96, WITH(.m.type = TJ_E4M3, .n.layout = TJ_COL_MAJOR, .compute = TJ_COMPUTE_F32_FP8)},
    /* clusters that share M or N: their last blocks have tiles or lie outside, in splits, in batches */
    {"wgmma:swap=yes,cluster=n2,bn=72", 72, 1000, 256, BF16(.n.layout = TJ_COL_MAJOR)},
    {"wgmma:swap=yes,cluster=m2,bn=40", 75, 1640, 328, BF16()},
    {"wgmma:swap=yes,cluster=n4,bn=40,splits=2", 75, 200, 328, BF16()},
    {"wgmma:cluster=m4,bm=64,bn=64", 100, 1640, 328, BF16(.batch = 2)},
    {"wgmma:cluster=n2,bm=64,bn=64", 100, 72, 136, BF16(.p.type = TJ_F32)},
    {"wgmma:swap=yes,cluster=k2,bn=40", 75, 1640, 328, BF16()},
    {"wgmma:cluster=k4,bm=64,bn=64", 100, 1640, 328, BF16(.batch = 2)},
    /* elements taken apart: tiles that divide and that do not, layouts, stores one by one, batches, operands that products share */
    {"planes", 128, 64, 256, SPLIT()},
    {"planes:bm=64,bn=64", 100, 72, 136, SPLIT()},
    {"planes:bm=64,bn=128,wm=32,steps=4,stages=2", 65, 200, 77, SPLIT(.m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR)},
    {"planes:bm=128,bn=64,wm=64,wn=64,vector=1", 130, 33, 66, SPLIT(.p.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1)},
    {"planes:bm=64,bn=64,rows=x", 1, 300, 7, SPLIT(.p.type = TJ_F16, .epilogue.has_alpha = 1)},
    {"planes:bm=64,bn=64", 66, 40, 130, SPLIT(.batch = 3, .epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
    {"planes:bm=64,bn=64", 66, 40, 130, SPLIT(.batch = 3, .n.stride = TJ_BROADCAST)},
    {"planes:bm=64,bn=64", 66, 40, 130, SPLIT(.batch = 2, .m.stride = TJ_BROADCAST, .p.layout = TJ_COL_MAJOR)},
    {"planes:bm=64,bn=64", 64, 0, 64, SPLIT(.epilogue.has_beta = 1)},
    {"planes:bm=64,bn=64", 66, 40, 130,
     SPLIT(.batch = 2, .scale[TJ_MATRIX_M] = SCALE_EACH, .scale[TJ_MATRIX_N] = ONE_SCALE, .epilogue.has_alpha = 1)},
    {"planes:bm=64,bn=64", 66, 40, 131,
     SPLIT(.p.layout = TJ_COL_MAJOR, .scale[TJ_MATRIX_M] = SCALE_EACH, .scale[TJ_MATRIX_N] = SCALE_EACH)},
    {"planes:bm=64,bn=64,group=2", 200, 64, 264, SPLIT(.m.ld = 67, .n.ld = 271, .p.ld = 265)},
    {"wgmma_planes", 128, 64, 256, SPLIT()},
    {"wgmma_planes:multipliers=1,bn=48,vector=1", 100, 72, 136, SPLIT(.m.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1)},
    {"wgmma_planes:multipliers=1,bn=80,blocks=2", 66, 40, 130, SPLIT(.batch = 3, .n.stride = TJ_BROADCAST)},
    {"wgmma_planes:bn=32", 66, 40, 131,
     SPLIT(.p.layout = TJ_COL_MAJOR, .scale[TJ_MATRIX_M] = SCALE_EACH, .scale[TJ_MATRIX_N] = SCALE_EACH)},
    {"wgmma_planes:bn=32", 64, 0, 64, SPLIT(.epilogue.has_beta = 1)},
    /* scales, one or each, of a product and of a batch; of a last kernel, whose threads go through P in its own order; of rows and columns
     * that hang over an edge, or are moved back from it */
    {"naive:tile_width=8", 33, 18, 29, SCALED(ONE_SCALE, NO_SCALE, .batch = 3)},
    {"naive:tile_width=7", 33, 18, 29, SCALED(SCALE_EACH, SCALE_EACH, .batch = 3)},
    {"naive:tile_width=16", 48, 32, 64, SCALED(NO_SCALE, SCALE_EACH, .p.layout = TJ_COL_MAJOR)},
    {"tiled:tile_width=16", 33, 18, 29, SCALED(SCALE_EACH, ONE_SCALE, .epilogue.has_beta = 1)},
    {"tiled:tile_width=13,shared=dynamic", 33, 18, 29, SCALED(SCALE_EACH, SCALE_EACH, .p.layout = TJ_COL_MAJOR, .batch = 2)},
    {"tiled:tile_width=32,rows=x", 41, 18, 70, SCALED(SCALE_EACH, SCALE_EACH, .batch = 1)},
    {"simt:splits=5,bm=32,bn=64", 67, 200, 131, SCALED(SCALE_EACH, SCALE_EACH, .batch = 3)},
    {"simt:splits=2", 100, 70, 150, SCALED(ONE_SCALE, SCALE_EACH, .p.layout = TJ_COL_MAJOR)},
    {"skinny:splits=20", 64, 2000, 5, SCALED(SCALE_EACH, SCALE_EACH, .batch = 2)},
    {"skinny:splits=7", 7, 1001, 73, SCALED(SCALE_EACH, ONE_SCALE, .p.layout = TJ_COL_MAJOR)},
    {"mma:bm=32,bn=32,splits=5", 67, 200, 132, SCALED(SCALE_EACH, SCALE_EACH, .m.type = TJ_BF16, .batch = 2)},
    {"skinny:splits=1", 16, 128, 256, SCALED(SCALE_EACH, SCALE_EACH, .batch = 2)},
    {"skinny:splits=1", 7, 101, 73, SCALED(ONE_SCALE, SCALE_EACH, .n.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1)},
    {"skinny:splits=1", 300, 77, 1, SCALED(SCALE_EACH, ONE_SCALE, .p.layout = TJ_COL_MAJOR)},
    {"strip:splits=1", 40, 256, 16, SCALED(SCALE_EACH, SCALE_EACH, .batch = 2)},
    {"strip:splits=1", 47, 100, 16, SCALED(ONE_SCALE, SCALE_EACH, .p.layout = TJ_COL_MAJOR)},
    {"strip:splits=1,copies=boxes,tm=6", 47, 100, 16, SCALED(SCALE_EACH, ONE_SCALE, .batch = 2)},
    {"strip:splits=1,tm=7,row_lanes=1,warps=2,stages=2", 7, 1000, 13, SCALED(SCALE_EACH, ONE_SCALE, .epilogue.has_alpha = 1)},
    {"small_batch", 16, 16, 16, SCALED(SCALE_EACH, SCALE_EACH, .batch = 50)},
    {"small_batch:products=3,tm=4,tn=4", 23, 23, 23, SCALED(SCALE_EACH, SCALE_EACH, .batch = 7)},
    {"small_batch:products=7,tm=8,tn=4", 23, 23, 23, SCALED(ONE_SCALE, SCALE_EACH, .batch = 16, .p.layout = TJ_COL_MAJOR)},
    {"small_batch:tm=6,tn=6", 34, 10, 34, SCALED(SCALE_EACH, ONE_SCALE, .batch = 2)},
    {"small_batch", 24, 12, 20, SCALED(SCALE_EACH, SCALE_EACH, .m.type = TJ_F16, .batch = 5, .epilogue.has_beta = 1)},
    {"simt", 128, 32, 256, SCALED(SCALE_EACH, SCALE_EACH, .batch = 2)},
    {"simt", 67, 33, 131, SCALED(SCALE_EACH, SCALE_EACH, .epilogue.has_beta = 1)},
    {"simt", 256, 33, 259, SCALED(ONE_SCALE, SCALE_EACH, .batch = 2)},
    {"simt", 259, 33, 256, SCALED(SCALE_EACH, ONE_SCALE, .p.layout = TJ_COL_MAJOR)},
    {"simt:bm=32,bn=64,bk=16,tm=4,tn=8,slices=4", 65, 35, 100, SCALED(SCALE_EACH, SCALE_EACH, .epilogue.has_alpha = 1)},
    {"simt:bm=64,bn=64,tm=4,tn=8", 67, 33, 131, SCALED(SCALE_EACH, SCALE_EACH, .m.type = TJ_F16)},
    {"mma", 256, 128, 256, SCALED(SCALE_EACH, SCALE_EACH, .m.type = TJ_BF16)},
    {"mma:bm=64,bn=64", 100, 72, 136, SCALED(SCALE_EACH, SCALE_EACH, .m.type = TJ_BF16, .batch = 2)},
    {"mma:bm=64,bn=64", 65, 101, 77, SCALED(SCALE_EACH, SCALE_EACH, .m.type = TJ_BF16, .epilogue.has_beta = 1)},
    {"mma:bm=64,bn=64", 72, 160, 96, SCALED(ONE_SCALE, ONE_SCALE, .m.type = TJ_S8, .p.type = TJ_F32)},
    {"mma:bm=64,bn=64", 72, 160, 97, SCALED(SCALE_EACH, SCALE_EACH, .m.type = TJ_S8, .p.type = TJ_F32)},
    {"mma:bm=64,bn=64", 72, 160, 96, SCALED(SCALE_EACH, ONE_SCALE, .m.type = TJ_E4M3, .p.layout = TJ_COL_MAJOR)},
    {"mma:bm=64,bn=64", 1, 8, 8, SCALED(ONE_SCALE, SCALE_EACH, .m.type = TJ_BF16)},
    {"wgmma:bm=64,bn=64,store=lines", 72, 160, 96, SCALED(SCALE_EACH, NO_SCALE, .m.type = TJ_BF16, .batch = 2)},
    {"wgmma:bm=64,bn=64,store=lines", 72, 160, 96, SCALED(NO_SCALE, SCALE_EACH, .m.type = TJ_BF16, .batch = 2)},
    {"wgmma:bm=64,bn=64", 72, 160, 96,
     SCALED(SCALE_EACH, SCALE_EACH, .m.type = TJ_BF16, .p.type = TJ_F32, .epilogue.has_beta = 1)},
    {"wgmma:bm=128,bn=64", 128, 160, 128, SCALED(ONE_SCALE, ONE_SCALE, .m.type = TJ_BF16)},
    {"wgmma:bm=64,bn=64", 64, 160, 64, SCALED(SCALE_EACH, NO_SCALE, .m.type = TJ_BF16)},
    {"wgmma:bm=64,bn=64", 64, 160, 64, SCALED(NO_SCALE, SCALE_EACH, .m.type = TJ_BF16)},
    {"wgmma:bm=64,bn=64,splits=2", 72, 160, 96, SCALED(SCALE_EACH, SCALE_EACH, .m.type = TJ_BF16, .batch = 2)},
    {"wgmma:swap=yes,bn=40,store=lines", 72, 160, 96, SCALED(SCALE_EACH, SCALE_EACH, .m.type = TJ_BF16, .batch = 2)},
    {"wgmma:swap=yes,bn=72", 72, 160, 128, SCALED(SCALE_EACH, SCALE_EACH, .m.type = TJ_BF16)},
    /* thin: slices with and without a unit, widths, types, splits */
    {"thin", 8, 1024, 64, WEIGHTS(TJ_S4)},
    {"thin:slices=16", 8, 1024, 64, WEIGHTS(TJ_E2M1)},
    {"thin:tn=16,slices=4,width=8,ahead=3", 16, 1024, 64, WEIGHTS(TJ_U4)},
    {"thin:tn=64,splits=2", 8, 1536, 128, WEIGHTS(TJ_S4)},
    {"thin:tm=24,slices=2,rows=x", 48, 512, 64, WEIGHTS(TJ_S8, .batch = 2, .epilogue.has_beta = 1)},
    {"thin:width=8,slices=1", 32, 256, 96,
     WEIGHTS(TJ_E4M3, .scale[TJ_MATRIX_M] = SCALE_EACH, .scale[TJ_MATRIX_N] = SCALE_EACH)},
    /* arrays of pointers */
    {"mma:bm=64,bn=64", 72, 40, 136, BF16(.batch = 3, ARRAYS(TJ_POINTERS_16), .epilogue.has_beta = 1)},
    {"mma:bm=64,bn=64,splits=2", 72, 140, 136, BF16(.batch = 2, ARRAYS(TJ_POINTERS_16), .epilogue.has_beta = 1)},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static tj_problem problem_of(const row *r)
{
    tj_problem problem = TJ_PROBLEM_INIT(r->j, r->k, r->l, TJ_F32);

    if (r->with.m.type)
        problem.m.type = r->with.m.type;
    problem.n.type = r->with.n.type;
    problem.compute = r->with.compute;
    problem.p.type = r->with.p.type;
    problem.m.layout = r->with.m.layout;
    problem.n.layout = r->with.n.layout;
    problem.p.layout = r->with.p.layout;
    problem.m.order = r->with.m.order;
    problem.n.order = r->with.n.order;
    problem.n.conjugated = r->with.n.conjugated;
    problem.m.transposed = r->with.m.transposed;
    problem.n.transposed = r->with.n.transposed;
    problem.epilogue.has_alpha = r->with.epilogue.has_alpha;
    problem.epilogue.has_beta = r->with.epilogue.has_beta;
    problem.scale[TJ_MATRIX_M] = r->with.scale[TJ_MATRIX_M];
    problem.scale[TJ_MATRIX_N] = r->with.scale[TJ_MATRIX_N];
    problem.m.ld = r->with.m.ld;
    problem.n.ld = r->with.n.ld;
    problem.p.ld = r->with.p.ld;
    problem.batch = r->with.batch;
    problem.m.stride = r->with.m.stride;
    problem.n.stride = r->with.n.stride;
    problem.p.stride = r->with.p.stride;
    problem.c.stride = r->with.c.stride;
    return problem;
}

/* The address of the matrices, or of an array of pointers to them, in the order that they do not lie in. */
static const void *operand(tj_context *context, const tj_problem *problem, int which, const tj_buffer *matrices,
                           tj_buffer **array)
{
    const tj_problem strided = tj_problem_strided(problem);
    const int64_t given[] = {problem->m.stride, problem->n.stride, problem->p.stride, problem->c.stride},
                  step[] = {strided.m.stride, strided.n.stride, strided.p.stride, strided.c.stride};
    const size_t bytes = tj_type_bytes((tj_type)(which < 2 ? strided.m.type : strided.p.type));
    char *const base = tj_buffer_address(matrices);
    tj_error err;

    *array = NULL;
    if (!tj_stride_is_pointers(given[which]))
        return base;
    cr_assert(tj_buffer_create(context, (size_t)strided.batch * sizeof base, array, &err) == TJ_OK);
    for (int64_t i = 0; i < strided.batch; i++) {
        const char *const matrix = base + (size_t)((strided.batch - 1 - i) * step[which]) * bytes;

        cr_assert(tj_buffer_write(*array, (size_t)i * sizeof matrix, &matrix, sizeof matrix, &err) == TJ_OK);
    }
    return tj_buffer_address(*array);
}

/* The kernels of a launch: the first where a family packs operands, the one that multiplies, the last where k is split. */
typedef enum kernel { PACK, PRODUCT, REDUCE } kernel;

/* CUEMU_COUNT: 1 counts all, and the last one is left; 2 counts the first alone, 3 the second, and so on. */
static uint64_t counting(const tj_plan *plan, kernel which)
{
    const tj_launch_form *form = tj_source_launch(tj_plan_source(plan));

    return which == REDUCE || form->steps == 1 ? 1 : 2 + (uint64_t)(which == PRODUCT ? form->product : 0);
}

/* Run it on the emulator, on zeros, and count one kernel. */
static void execute(tj_context *context, const row *r, kernel which, cuEmuCounters *counted)
{
    const tj_problem problem = problem_of(r), strided = tj_problem_strided(&problem);
    const tj_emulator *emulator;
    tj_operands x = TJ_OPERANDS_INIT;
    tj_config config;
    const tj_plan *plan;
    tj_buffer *buffer[4], *array[4], *workspace, *scales;
    cuEmuLaunch launch;
    tj_error err;

    cr_assert(tj_config_parse(r->config, &config, &err) == TJ_OK, "%s: %s", r->config, err.message);
    cr_assert(tj_plan_prepare(context, &problem, &config, &plan, &err) == TJ_OK, "%s: %s", r->config, err.message);
    for (int i = 0; i < 4; i++) {
        cr_assert(tj_buffer_create(context, (size_t)tj_problem_span(&strided, (tj_which)i) * 16 + 8, &buffer[i], &err) ==
                  TJ_OK);
        cr_assert(tj_buffer_fill(buffer[i], 0, &err) == TJ_OK);
    }
    x.m.address = operand(context, &problem, 0, buffer[0], &array[0]);
    x.n.address = operand(context, &problem, 1, buffer[1], &array[1]);
    x.p.address = (void *)(uintptr_t)operand(context, &problem, 2, buffer[2], &array[2]);
    x.c.address = operand(context, &problem, 3, buffer[3], &array[3]);
    cr_assert(tj_buffer_create(context, (size_t)((r->j + r->l) * (strided.batch + 1) * 4), &scales, &err) == TJ_OK);
    cr_assert(tj_buffer_fill(scales, 0, &err) == TJ_OK);
    x.scale[TJ_MATRIX_M].address = problem.scale[TJ_MATRIX_M].type ? tj_buffer_address(scales) : NULL;
    x.scale[TJ_MATRIX_N].address = problem.scale[TJ_MATRIX_N].type ? tj_buffer_address(scales) : NULL;
    x.alpha = 2;
    x.beta = 3;
    x.workspace_bytes = tj_plan_workspace_bytes(plan);
    cr_assert(tj_buffer_create(context, x.workspace_bytes + 16, &workspace, &err) == TJ_OK);
    x.workspace = tj_buffer_address(workspace);
    cr_assert(tj_emulator_get(context, &emulator, &err) == TJ_OK && emulator);
    cr_assert(emulator->set_option(CUEMU_COUNT, counting(plan, which)));
    cr_assert(tj_plan_launch(plan, &x, NULL, &err) == TJ_OK, "%s: %s", r->config, err.message);
    cr_assert(tj_synchronize(context, NULL, &err) == TJ_OK, "%s: %s", r->config, err.message);
    cr_assert(emulator->get_launch(&launch));
    *counted = launch.total;
    tj_buffer_free(workspace);
    tj_buffer_free(scales);
    for (int i = 0; i < 4; i++) {
        tj_buffer_free(buffer[i]);
        tj_buffer_free(array[i]);
    }
}

static void expect(const row *r, const char *what, int64_t predicted, uint64_t counted)
{
    cr_expect(predicted == (int64_t)counted, "%s %lldx%lldx%lld: %s: predicted %lld, the emulator counted %lld", r->config,
              (long long)r->j, (long long)r->k, (long long)r->l, what, (long long)predicted, (long long)counted);
}

/* Requests to shared memory, or their passes: at least as many where the compiler takes neighbours apart. */
static void expect_at_least(const row *r, bool compiler_parts, const char *what, int64_t predicted, uint64_t counted)
{
    if (r->is_parted && compiler_parts && (int64_t)counted > predicted)
        return;
    expect(r, what, predicted, counted);
}

/* Return the number of factors of every sum. */
static int64_t factors_of(const tj_problem *problem)
{
    const tj_epilogue *e = &problem->epilogue;

    return (e->has_alpha != 0) + (problem->scale[TJ_MATRIX_M].type != 0) + (problem->scale[TJ_MATRIX_N].type != 0);
}

static void expect_reduce(const row *r, const tj_problem *problem, const tj_counts *c, const cuEmuCounters *counted)
{
    const tj_traffic *pointers = &c->reduce.load_pointers, *scales = &c->reduce.load_scales;

    expect(r, "workspace loads", c->load_w.elements + c->load_c.elements + pointers->elements + scales->elements,
           counted->global_loads);
    expect(r, "workspace load requests", c->load_w.requests + c->load_c.requests + pointers->requests + scales->requests,
           counted->global_load_requests);
    expect(r, "workspace load sectors", c->load_w.sectors + c->load_c.sectors + pointers->sectors + scales->sectors,
           counted->global_load_sectors);
    expect(r, "stores of P", c->store_p.elements, counted->global_stores);
    expect(r, "store sectors of P", c->store_p.sectors, counted->global_store_sectors);
    expect(r, "shared loads", c->reduce.shared_load.elements, counted->shared_loads);
    expect(r, "shared load requests", c->reduce.shared_load.requests, counted->shared_load_requests);
    expect(r, "shared stores", c->reduce.shared_store.elements, counted->shared_stores);
    expect(r, "shared store wavefronts", c->reduce.shared_store.wavefronts, counted->shared_store_wavefronts);
    expect(r, "block barriers", c->reduce.barriers, counted->block_barriers);
    expect(r, "additions", c->reduce.sums + 2 * c->reduce.fma + factors_of(problem) * c->store_p.elements, counted->flops);
    /* The second kernel loads the stores of the first. */
    cr_expect(c->store_w.elements == c->load_w.elements, "%s", r->config);
}

/* Requests and sectors of its loads are an estimate, and the compiler chooses the words that it loads. */
static void expect_pack(tj_context *context, const row *r, const tj_counts *c)
{
    cuEmuCounters counted;

    execute(context, r, PACK, &counted);
    expect(r, "bytes to pack", c->pack.load.bytes, counted.global_load_bytes);
    expect(r, "packed bytes", c->pack.store.bytes, counted.global_store_bytes);
    expect(r, "requests that store them", c->pack.store.requests, counted.global_store_requests);
    expect(r, "sectors of them", c->pack.store.sectors, counted.global_store_sectors);
    if (c->pack.kernels > 0)
        return; /* of operands that are taken apart, what passes through shared memory is not counted */
    if (counted.global_load_sectors > 0) {
        const double sectors = (double)c->pack.load.sectors / (double)counted.global_load_sectors;

        cr_expect(sectors > 0.6 && sectors < 1.7, "%s: sectors to pack: %g times those counted", r->config, sectors);
    }
    expect(r, "words of tiles to transpose", c->pack.shared_store.elements, counted.shared_stores);
    expect(r, "requests that store them", c->pack.shared_store.requests, counted.shared_store_requests);
    expect(r, "passes that store them", c->pack.shared_store.wavefronts, counted.shared_store_wavefronts);
    expect(r, "words of the transpose", c->pack.shared_load.elements, counted.shared_loads);
    expect(r, "requests that load them", c->pack.shared_load.requests, counted.shared_load_requests);
    expect(r, "passes that load them", c->pack.shared_load.wavefronts, counted.shared_load_wavefronts);
    cr_expect(c->pack.shared_load.wavefronts == c->pack.shared_load.requests, "%s: no bank conflicts", r->config);
    expect(r, "barriers of packing", c->pack.barriers, counted.block_barriers);
}

/* Asynchronous copies count both ways in the emulator. */
static bool stores_boxes(const tj_problem *problem, tj_config config)
{
    char text[TJ_CONFIG_TEXT_BYTES];
    tj_error err;

    cr_assert(tj_config_resolve(problem, &config, &err) == TJ_OK, "%s", err.message);
    tj_config_print(&config, text);
    return strstr(text, "store=boxes") != NULL;
}

static tj_context *open_emulator(void)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;
    tj_error err;

    cr_assert(setenv("TILEJIT_EMULATOR", EMULATOR_PATH, 1) == 0);
    options.driver = "emulator";
    options.cache_dir = "";
    cr_assert(tj_context_create(&options, &context, &err) == TJ_OK, "%s", err.message);
    return context;
}

/* Compare the counts of one launch with those of the emulator. */
static void expect_counts(tj_context *context, const row *r)
{
    const tj_problem problem = problem_of(r);
    cuEmuCounters counted, second;
    const tj_nvrtc *nvrtc;
    tj_config config;
    int64_t words, fma;
    tj_counts c;
    tj_error err;
    bool parts;

    cr_assert(tj_host_nvrtc(&context->host, &nvrtc, &err) == TJ_OK, "%s", err.message);
    parts = 100 * tj_nvrtc_major(nvrtc) + tj_nvrtc_minor(nvrtc) >= 1301;
    execute(context, r, PRODUCT, &counted);
    cr_assert(tj_config_parse(r->config, &config, &err) == TJ_OK);
    cr_assert(tj_count(&problem, &config, &c, &err) == TJ_OK, "%s: %s", r->config, err.message);
    if (c.pack.load.elements > 0)
        expect_pack(context, r, &c);
    /* An asynchronous copy has no type: the emulator counts it in words of 4 bytes. */
    words = c.async_bytes > 0 ? c.async_bytes / 4 : c.load_m.elements + c.load_n.elements;
    if (c.splits > 1) {
        execute(context, r, REDUCE, &second);
        expect_reduce(r, &problem, &c, &second);
        c.load_c = (tj_traffic){0}; /* that was the second kernel's */
        c.store_p = c.store_w;
    }
    /* A load of several 16-bit elements has words of 4 bytes too: compare only bytes there. */
    if (c.element_bytes > 2 || strncmp(r->config, "naive", 5) == 0 || strncmp(r->config, "tiled", 5) == 0)
        expect(r, "global loads", words + c.load_c.elements + c.load_pointers.elements + c.load_scales.elements,
               counted.global_loads);
    expect(r, "bytes of asynchronous copies", c.async_bytes + (stores_boxes(&problem, config) ? c.store_p.bytes : 0),
           counted.async_bytes);
    expect(r, "global load bytes",
           c.load_m.bytes + c.load_n.bytes + c.load_c.bytes + c.load_pointers.bytes + c.load_scales.bytes,
           counted.global_load_bytes);
    expect(r, "global load requests",
           c.load_m.requests + c.load_n.requests + c.load_c.requests + c.load_pointers.requests + c.load_scales.requests,
           counted.global_load_requests);
    expect(r, "global load sectors",
           c.load_m.sectors + c.load_n.sectors + c.load_c.sectors + c.load_pointers.sectors + c.load_scales.sectors,
           counted.global_load_sectors);
    if (strncmp(r->config, "wgmma", 5) != 0 && strncmp(r->config, "tcgen05", 7) != 0) /* several elements are stored as words */
        expect(r, "global stores", c.store_p.elements, counted.global_stores);
    expect(r, "global store bytes", c.store_p.bytes, counted.global_store_bytes);
    expect(r, "global store requests", c.store_p.requests, counted.global_store_requests);
    expect(r, "global store sectors", c.store_p.sectors, counted.global_store_sectors);
    expect(r, "shared loads", c.shared_load.elements, counted.shared_loads);
    /* The compiler stores two gathered halves, and two of a box, as a word or as a pair. */
    if (strncmp(r->config, "tcgen05", 7) != 0 && (c.mma == 0 || c.element_bytes != 2))
        expect(r, "shared stores", c.shared_store.elements, counted.shared_stores);
    expect_at_least(r, parts, "shared store requests", c.shared_store.requests, counted.shared_store_requests);
    expect_at_least(r, parts, "shared store wavefronts", c.shared_store.wavefronts, counted.shared_store_wavefronts);
    expect_at_least(r, parts, "shared load requests", c.shared_load.requests, counted.shared_load_requests);
    expect_at_least(r, parts, "shared load wavefronts", c.shared_load.wavefronts, counted.shared_load_wavefronts);
    expect(r, "block barriers", c.barriers, counted.block_barriers);
    if (c.mma > 0)
        expect(r, "products by tensor cores", c.work[c.pipe], counted.mma_flops);
    if (problem.m.type == TJ_S8 || problem.m.type == TJ_U8)
        return; /* the emulator counts no multiply-adds of integers */
    fma = c.work[TJ_PIPE_F32] + c.work[TJ_PIPE_F64] + c.work[TJ_PIPE_F16];
    expect(r, "fused multiply-adds", fma / 2, counted.fma);
    expect(r, "flop", fma + c.sums + (c.splits == 1 ? factors_of(&problem) * c.store_p.elements : 0), counted.flops);
}

Test(counts, are_those_of_the_emulator)
{
    tj_context *const context = open_emulator();

    cr_assert(ROWS >= 310);
    for (size_t i = 0; i < ROWS; i++)
        expect_counts(context, &rows[i]);
    tj_context_free(context);
}

/* tcgen05 runs on a device of its own. */
Test(counts, of_tensor_memory_are_those_of_the_emulator)
{
    static const row of_blackwell[] = {
        {"tcgen05", 128, 128, 256, BF16()},
        {"tcgen05:bn=256", 200, 200, 320, BF16()},
        {"tcgen05:bm=64,bn=96", 200, 72, 328, BF16(.n.layout = TJ_COL_MAJOR, .p.type = TJ_F32)},
        {"tcgen05:bn=112", 104, 200, 328, BF16(.m.layout = TJ_COL_MAJOR)},
        {"tcgen05:bm=64,bn=64", 100, 136, 136, BF16(.m.ld = 152, .n.ld = 136, .p.ld = 152, .batch = 3)},
        {"tcgen05:bn=64", 128, 72, 128, BF16(.p.layout = TJ_COL_MAJOR, .epilogue.has_alpha = 1)},
        {"tcgen05:bn=64", 200, 72, 136, BF16(.epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
        {"tcgen05:bn=48,store=lines", 100, 72, 136, BF16()},
        {"tcgen05:bn=64,store=elements", 100, 72, 133, BF16(.n.layout = TJ_COL_MAJOR)},
        {"tcgen05:bn=64,splits=2", 100, 200, 136, BF16()},
        {"tcgen05:bn=32,splits=5", 72, 200, 136, BF16(.batch = 2, .epilogue.has_beta = 1)},
        {"tcgen05:bn=64", 64, 0, 64, BF16(.m.ld = 8)},
        {"tcgen05:bn=64", 100, 75, 133, BF16(.batch = 2)}, /* packed */
        {"tcgen05:pair=yes,bn=64", 300, 72, 136, BF16()},
        {"tcgen05:pair=yes,bn=96", 300, 200, 328, BF16(.n.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1, .batch = 2)},
        {"tcgen05:pair=yes,swap=yes,bn=32,splits=2", 40, 200, 264, BF16(.p.type = TJ_F32)},
        {"tcgen05:bm=64,bn=64", 72, 160, 96, WITH(.m.type = TJ_S8)},
        {"tcgen05:bn=64", 72, 160, 96, WITH(.m.type = TJ_U8, .n.layout = TJ_COL_MAJOR, .p.type = TJ_S8)},
        {"tcgen05:bn=64", 72, 60, 96, WITH(.compute = TJ_COMPUTE_TF32, .n.layout = TJ_COL_MAJOR)},
        {"tcgen05:bn=64", 72, 60, 96, WITH(.compute = TJ_COMPUTE_TF32)}, /* packed */
        {"tcgen05:bn=64", 72, 160, 96, WITH(.m.type = TJ_E4M3)},
        {"tcgen05:swap=yes,bn=32", 20, 256, 136, BF16(.n.layout = TJ_COL_MAJOR)},
        {"tcgen05:swap=yes,bm=64,bn=24", 75, 200, 136, BF16(.epilogue.has_beta = 1)},
    };
    tj_context *context;

    cr_assert(setenv("CUDA_EMULATOR_DEVICES", "sm_100", 1) == 0);
    context = open_emulator();
    for (size_t i = 0; i < sizeof of_blackwell / sizeof of_blackwell[0]; i++)
        expect_counts(context, &of_blackwell[i]);
    tj_context_free(context);
}

/* The emulator counts the two parts of an element on their own; bytes, requests and multiply-adds are those predicted. */
Test(counts, of_complex_products_are_those_of_the_emulator)
{
    static const row complex_rows[] = {
        {"naive:tile_width=16", 33, 18, 29, WITH(.m.type = TJ_C64, .epilogue.has_alpha = 1, .epilogue.has_beta = 1)},
        {"tiled:tile_width=16", 33, 18, 29, WITH(.m.type = TJ_C64, .epilogue.has_beta = 1)},
        {"tiled:tile_width=8", 33, 18, 29, WITH(.m.type = TJ_C128, .n.layout = TJ_COL_MAJOR, .epilogue.has_alpha = 1)},
        {"simt:bm=32,bn=64,tm=4,tn=4", 68, 33, 132, WITH(.m.type = TJ_C64, .epilogue.has_alpha = 1)},
        {"simt:bm=32,bn=64,tm=4,tn=4", 68, 33, 132, WITH(.m.type = TJ_C64, .n.layout = TJ_COL_MAJOR, .n.conjugated = 1)},
        {"simt:bm=32,bn=64,bk=8,tm=4,tn=4", 64, 32, 64, WITH(.m.type = TJ_C128, .epilogue.has_beta = 1)},
        {"skinny:stream=n,splits=1", 7, 140, 90, WITH(.m.type = TJ_C64)},
        {"skinny:stream=m,splits=1", 90, 70, 5, WITH(.m.type = TJ_C128, .epilogue.has_beta = 1)},
        {"strip:splits=1", 80, 128, 12, WITH(.m.type = TJ_C64, .epilogue.has_alpha = 1)},
        {"strip:splits=1", 80, 64, 16, WITH(.m.type = TJ_C128)},
        {"small_batch", 16, 16, 16, WITH(.m.type = TJ_C64, .batch = 4)},
        {"mma:bm=32,bn=32,wm=16,wn=32", 64, 48, 32, WITH(.m.type = TJ_C128)},
        {"mma:bm=32,bn=32,wm=16,wn=16,load=needed", 64, 32, 64,
         WITH(.m = {.type = TJ_C128, .layout = TJ_COL_MAJOR}, .n.layout = TJ_COL_MAJOR)},
        {"mma:bm=32,bn=32,wm=16,wn=32", 64, 48, 32, WITH(.m.type = TJ_C64, .compute = TJ_COMPUTE_TF32)},
        {"mma:bm=32,bn=32,wm=16,wn=16", 64, 32, 64,
         WITH(.m = {.type = TJ_C64, .conjugated = 1}, .n.layout = TJ_COL_MAJOR, .compute = TJ_COMPUTE_F32_SPLIT)},
    };
    tj_context *const context = open_emulator();

    for (size_t i = 0; i < sizeof complex_rows / sizeof complex_rows[0]; i++) {
        const row *const r = &complex_rows[i];
        const tj_problem problem = problem_of(r);
        tj_config config = TJ_CONFIG_INIT;
        cuEmuCounters counted;
        tj_counts c;
        tj_error err;

        execute(context, r, PRODUCT, &counted);
        cr_assert(tj_config_parse(r->config, &config, &err) == TJ_OK);
        cr_assert(tj_count(&problem, &config, &c, &err) == TJ_OK, "%s: %s", r->config, err.message);
        expect(r, "global load bytes", c.load_m.bytes + c.load_n.bytes + c.load_c.bytes, counted.global_load_bytes);
        expect(r, "global load sectors", c.load_m.sectors + c.load_n.sectors + c.load_c.sectors, counted.global_load_sectors);
        expect(r, "global store bytes", c.store_p.bytes, counted.global_store_bytes);
        expect(r, "bytes of asynchronous copies", c.async_bytes, counted.async_bytes);
        expect(r, "block barriers", c.barriers, counted.block_barriers);
        expect(r, "fused multiply-adds", (c.work[TJ_PIPE_F32] + c.work[TJ_PIPE_F64]) / 2, counted.fma);
        if (c.mma > 0) {
            expect(r, "products by tensor cores", c.work[c.pipe], counted.mma_flops);
            expect(r, "wavefronts of shared loads", c.shared_load.wavefronts, counted.shared_load_wavefronts);
        }
    }
    tj_context_free(context);
}

/* Whichever way an operand lies and however wide its loads are: the bytes of a store fill the banks. */
Test(counts, tiles_through_registers_are_stored_without_bank_conflicts)
{
    static const char *const tiles[] = {"bm=64,bn=128,bk=16,tm=8,tn=8", "bm=64,bn=64,bk=32,tm=8,tn=4",
                                        "bm=128,bn=128,bk=8,tm=16,tn=8", "bm=32,bn=64,bk=16,tm=4,tn=4",
                                        "bm=16,bn=64,bk=64,tm=4,tn=8"};
    static const int extents[] = {256, 252, 254, 255};

    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++)
        for (int n = 0; n < 4; n++)
            for (int layouts = 0; layouts < 4; layouts++)
                for (int dtype = TJ_F32; dtype <= TJ_F16; dtype++) {
                    tj_problem problem = TJ_PROBLEM_INIT(extents[n], extents[n], extents[n], (tj_type)dtype);
                    char text[100];
                    tj_config config;
                    tj_counts c;
                    tj_error err;

                    problem.m.layout = layouts & 1;
                    problem.n.layout = layouts >> 1;
                    snprintf(text, sizeof text, "simt:copy=registers,%s", tiles[i]);
                    cr_assert(tj_config_parse(text, &config, &err) == TJ_OK);
                    if (tj_count(&problem, &config, &c, &err) != TJ_OK) { /* f64: too much shared memory */
                        cr_assert(dtype == TJ_F64, "%s", err.message);
                        continue;
                    }
                    cr_expect(c.shared_store.wavefronts * 128 == c.shared_store.bytes,
                              "%s of %d, layouts %d, type %d: %lld of %lld", text, extents[n], layouts, dtype,
                              (long long)c.shared_store.wavefronts, (long long)c.shared_store.bytes / 128);
                }
}
