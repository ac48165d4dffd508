/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * simt: every constraint with its message, and the number of elements per access, which alignment and the threads' shares
 * decide.
 */
#include "generator_test.h"

Test(simt, says_which_constraint_does_not_hold)
{
    static const request rows[] = {
        {CUBES(256), "simt", NULL},
        {CUBES(256), "simt:vector=8", NULL},
        {CUBES(256), "simt:vector=3", "vector is 3: it must be 1, 2, 4 or 8"},
        {CUBES(256), "simt:vector=6", "vector is 6: it must be 1, 2, 4 or 8"},
        {CUBES(256), "simt:tm=6", "tm is 6 and tn is 8: both must be 1, 2 or multiples of 4"},
        {CUBES(256), "simt:bm=4,bn=32,bk=64,tm=1,tn=2", NULL},
        {CUBES(256), "simt:bm=8,bn=32,bk=16,tm=2,tn=1", NULL},
        {CUBES(256), "simt:bm=16,bn=32,tm=2,tn=4,copy=registers",
         "tm is 2 and tn is 4: with copy=registers both must be multiples of 4"},
        {CUBES(256), "simt:tm=16,tn=16", "a thread tile of 16 x 16 does not fit the registers: 128 elements are the most"},
        {CUBES(256), "simt:bm=48,tm=8", "bm is 48: with tm 8 it must be a multiple of 32"},
        {CUBES(256), "simt:bn=96,tn=8", "bn is 96: with tn 8 it must be a multiple of 64"},
        {CUBES(256), "simt:bm=256,bn=256,tm=4,tn=4,slices=4,bk=32", "16384 threads: 1024 is the most"},
        {CUBES(256), "simt:bk=12", "bk is 12: with copy=async and slices=1 it must be a multiple of 8"},
        {CUBES(256), "simt:bk=16,slices=4,start=spread", "bk is 16: with start=spread and slices=4 it must be at least 32"},
        {CUBES(256, .m.type = TJ_F16), "simt:copy=async", "f16 is summed as f32: use copy=registers"},
        {CUBES(256), "simt:copy=registers,start=spread", "use copy=async with start=spread"},
        {CUBES(256), "simt:copy=registers,stages=3", "copy=registers has 2 stages and 1 slice, not 3 and 1"},
        {CUBES(256), "simt:copy=registers,bk=7", "bk is 7: with copy=registers it must be even"},
        {CUBES(256), "simt:copy=registers,bk=12", NULL},
        {CUBES(256), "simt:copy=registers,bm=96,tm=8,bn=64,tn=8,bk=16",
         "96 threads cannot share the copies of a tile of 16 x 64 alike"},
        {CUBES(256), "simt:copy=registers,bm=48,tm=12,bn=64,tn=8,bk=16", NULL},
        {CUBES(256), "simt:bm=256,bn=256,tm=8,tn=16,bk=64,stages=4", "528384 bytes of shared memory: 232448 are the most"},
        {CUBES(256), "simt:blocks=4", NULL},
        {CUBES(256), "simt:blocks=5",
         "blocks is 5: so many, of 128 threads, leave a thread 96 registers, and its tile of 8 x 8 takes 112: use blocks=4"},
        {CUBES(256, .m.type = TJ_F64), "simt:blocks=3", "its tile of 8 x 8 takes 208: use blocks=2"},
        {CUBES(256), "simt:copy=registers,bm=64,bn=64,bk=32,tm=8,tn=8,blocks=8", "its tile of 8 x 8 takes 160: use blocks=6"},
        {CUBES(256), "simt:bm=256,bn=128,bk=8,tm=8,tn=4,start=spread", /* ptxas 13.0 made a wrong kernel of it */
         "1024 threads leave each 64 registers, and a thread tile of 8 x 4 takes 72: use fewer threads"},
        {CUBES(256), "simt:bm=256,bn=128,bk=8,tm=8,tn=4,blocks=2", "1024 threads leave each 64 registers"},
        {CUBES(256), "simt:bm=128,bn=128,bk=8,tm=8,tn=4,start=spread", NULL},
        {CUBES(256), "simt:copy=registers,bk=32", "bytes of shared memory: 49152 are the most"},
        {CUBES(256), "simt:group=4,rows=x", "group is 4, which walks rows of blocks on y: use group=1 with rows=x"},
    };

    expect_answers(rows, sizeof rows / sizeof rows[0]);
}

Test(simt, takes_several_elements_at_once_where_lines_let_it)
{
    static const alignment rows[] = {
        /* Asynchronous copies cannot transpose: what lies along k they take one by one. */
        {CUBES(256), "simt", 4, 16, 16},
        {CUBES(256, .m.layout = TJ_COL_MAJOR), "simt", 16, 16, 16},
        {CUBES(256, .n.layout = TJ_COL_MAJOR), "simt", 4, 4, 16},
        {CUBES(258), "simt", 4, 8, 0},
        {CUBES(257), "simt", 4, 4, 0},
        {CUBES(256), "simt:vector=2", 4, 8, 0},
        {CUBES(256), "simt:vector=1", 4, 4, 0},
        {CUBES(256), "simt:bm=64,bn=64,bk=8,tm=4,tn=4", 4, 8, 16}, /* 256 threads, 512 elements */
        {CUBES(256, .m.type = TJ_F64), "simt", 8, 16, 16},
        /* Tiles of small thread tiles keep lines along k, unless something lies across k or is not aligned. */
        {CUBES(256, .n.layout = TJ_COL_MAJOR), "simt:bm=16,bn=32,bk=64,tm=2,tn=2", 16, 16, 0},
        {CUBES(256, .n.layout = TJ_COL_MAJOR), "simt:bm=16,bn=32,bk=64,tm=2,tn=2,vector=1", 4, 4, 0},
        {CUBES(258, .n.layout = TJ_COL_MAJOR), "simt:bm=16,bn=32,bk=64,tm=2,tn=2", 4, 4, 8},
        {CUBES(256), "simt:bm=16,bn=32,bk=64,tm=2,tn=2", 4, 16, 8},
        /* Through registers: both of them, 16 bytes where lines are aligned to it, less where they are not. */
        {CUBES(256), "simt:copy=registers", 16, 16, 16},
        {CUBES(258), "simt:copy=registers", 8, 8, 0},
        {CUBES(257), "simt:copy=registers", 4, 4, 0},
        {CUBES(256), "simt:copy=registers,vector=2", 8, 8, 0},
        {CUBES(256, .n.layout = TJ_COL_MAJOR, .n.ld = 258), "simt:copy=registers", 16, 8, 16},
        {CUBES(256, .m.layout = TJ_COL_MAJOR, .m.ld = TJ_ANY), "simt:copy=registers", 4, 16, 16},
        {CUBES(256, .m.type = TJ_F64), "simt:copy=registers,bk=8", 16, 16, 16},
        {CUBES(256, .m.type = TJ_F16), "simt", 16, 16, 8},
        {CUBES(256, .m.type = TJ_F16), "simt:vector=4", 8, 8, 8},
        {CUBES(256, .m.type = TJ_F16), "simt:vector=2", 4, 4, 0},
        {CUBES(260, .m.type = TJ_BF16), "simt", 8, 8, 8},
        {CUBES(257, .m.type = TJ_BF16), "simt", 2, 2, 0},
        {CUBES(256, .m.type = TJ_F16, .p.type = TJ_F32), "simt", 16, 16, 16},
        /* A thread has 4 elements of M for each phase, so no 8. */
        {CUBES(256, .m.type = TJ_F16), "simt:bm=32,bn=128,bk=16,tm=8,tn=4", 8, 16, 8},
        /* A phase is 4 long. */
        {CUBES(256, .m.type = TJ_F16), "simt:bm=128,bn=64,bk=4,tm=8,tn=8", 8, 4, 8},
        {CUBES(256, .m.type = TJ_F16, .batch = 3, .m.stride = 256 * 256 + 4), "simt", 8, 16, 8},
    };

    expect_alignments(rows, sizeof rows / sizeof rows[0]);
}
