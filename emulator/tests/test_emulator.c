/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * The emulator by small PTX texts through its Driver API: control flow of lanes, collectives, memory of every kind, and
 * messages about wrong texts and programs. Nothing here needs NVRTC.
 */
#include "emulator_test.h"

#include <criterion/redirect.h>

/*
 * In each: %r1 the thread, %r2 the block's threads, %r3 the block, %r4 the thread of the grid; %d3 the address of its result.
 */
#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define ENTRY                                                                                          \
    ".visible .entry k(.param .u64 out)\n{\n"                                                          \
    ".reg .pred %p<16>;\n.reg .b16 %h<16>;\n.reg .b32 %r<64>;\n.reg .b64 %d<32>;\n.reg .f32 %f<16>;\n" \
    "ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %ctaid.x;\n"  \
    "mad.lo.s32 %r4, %r3, %r2, %r1;\nmul.wide.u32 %d2, %r4, 4;\nadd.s64 %d3, %d1, %d2;\nmov.u32 %r10, 0;\n"
#define DONE "st.global.u32 [%d3], %r10;\nret;\n}\n"

enum { MAX_WORDS = 4096 };

static void open_device(void)
{
    open_emulator("sm_80");
}

TestSuite(emulator, .init = open_device, .timeout = 120);

typedef struct run {
    int result;
    findings found;
    uint32_t out[MAX_WORDS];
} run;

/* Run k over blocks x threads; out is set to zero before. */
static run run_ptx(const char *ptx, unsigned blocks, unsigned threads, unsigned shared_bytes)
{
    static const uint32_t zeros[MAX_WORDS];
    uint64_t out = device_memory(sizeof zeros, zeros);
    void *module, *function = NULL, *parameters[] = {&out};
    char log[1024];
    run r;

    module = load_ptx(ptx, log, sizeof log);
    cr_assert(ne(ptr, module, NULL), "%s", log);
    cr_assert(eq(int, cu.function(&function, module, "k"), 0));
    r.result = launch_and_wait(function, blocks, threads, shared_bytes, parameters);
    r.found = take_findings();
    cr_assert(eq(int, cu.read(r.out, out, sizeof r.out), 0));
    cr_assert(eq(int, cu.unload(module), 0));
    cr_assert(eq(int, cu.free(out), 0));
    return r;
}

/* The same where nothing may be found. */
static run run_silent(const char *ptx, unsigned blocks, unsigned threads, unsigned shared_bytes)
{
    const run r = run_ptx(ptx, blocks, threads, shared_bytes);

    cr_assert(eq(sz, r.found.count, 0), "%s: %s", kind_names[r.found.first[0].kind], r.found.first[0].text);
    cr_assert(eq(int, r.result, 0));
    return r;
}

/* ---- ways that lanes go ------------------------------------------------------------------------------------------------ */

static const char nested_ifs[] = HEAD ENTRY "and.b32 %r11, %r1, 1;\nand.b32 %r12, %r1, 2;\nand.b32 %r13, %r1, 4;\n"
                                            "setp.eq.u32 %p1, %r11, 0;\nsetp.eq.u32 %p2, %r12, 0;\nsetp.ne.u32 %p3, %r13, 0;\n"
                                            "@%p1 bra EVEN;\n"
                                            "@%p2 bra ONE;\nmov.u32 %r10, 3;\nbra ODD_JOIN;\n"
                                            "ONE: mov.u32 %r10, 1;\n"
                                            "ODD_JOIN: activemask.b32 %r20;\nbra JOIN;\n"
                                            "EVEN: @%p3 bra FOUR;\nmov.u32 %r10, 0;\nbra EVEN_JOIN;\n"
                                            "FOUR: mov.u32 %r10, 40;\n"
                                            "EVEN_JOIN: activemask.b32 %r20;\n"
                                            "JOIN: activemask.b32 %r21;\n"
                                            "st.global.u32 [%d3+128], %r20;\nst.global.u32 [%d3+256], %r21;\n" DONE;

Test(emulator, nested_ifs_join_where_they_end)
{
    const run r = run_silent(nested_ifs, 1, 32, 0);

    for (uint32_t t = 0; t < 32; t++) {
        cr_expect(eq(u32, r.out[t], t & 1 ? (t & 2 ? 3 : 1) : t & 4 ? 40 : 0), "thread %u", t);
        cr_expect(eq(u32, r.out[32 + t], t & 1 ? 0xaaaaaaaau : 0x55555555u), "thread %u", t);
        cr_expect(eq(u32, r.out[64 + t], 0xffffffffu), "thread %u", t);
    }
}

static const char loops[] = HEAD ENTRY "mov.u32 %r11, 0;\n"
                                       "OUTER: setp.ge.u32 %p1, %r11, %r1;\n@%p1 bra END;\n"
                                       "mov.u32 %r12, 0;\n"
                                       "INNER: and.b32 %r13, %r11, 3;\nsetp.gt.u32 %p2, %r12, %r13;\n@%p2 bra NEXT;\n"
                                       "add.u32 %r10, %r10, 1;\nadd.u32 %r12, %r12, 1;\nbra INNER;\n"
                                       "NEXT: add.u32 %r11, %r11, 1;\nbra OUTER;\n"
                                       "END: activemask.b32 %r21;\nst.global.u32 [%d3+256], %r21;\n" DONE;

Test(emulator, loops_of_different_lengths_join_behind_the_longest)
{
    const run r = run_silent(loops, 1, 64, 0);

    for (uint32_t t = 0; t < 64; t++) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < t; i++)
            sum += (i & 3) + 1;
        cr_expect(eq(u32, r.out[t], sum), "thread %u", t);
        cr_expect(eq(u32, r.out[64 + t], 0xffffffffu), "thread %u", t);
    }
}

static const char table[] = HEAD ENTRY "rem.u32 %r11, %r1, 5;\n"
                                       "T: .branchtargets A, B, C, B, E;\n"
                                       "brx.idx %r11, T;\n"
                                       "A: mov.u32 %r10, 100;\nbra JOIN;\n"
                                       "B: mov.u32 %r10, 200;\nbra JOIN;\n"
                                       "C: mov.u32 %r10, 300;\n" /* falls through, as a case without a break */
                                       "E: add.u32 %r10, %r10, 7;\n"
                                       "JOIN: activemask.b32 %r21;\nst.global.u32 [%d3+128], %r21;\n" DONE;

Test(emulator, a_switch_goes_everywhere_and_joins)
{
    static const uint32_t expected[] = {100, 200, 307, 200, 7};
    const run r = run_silent(table, 1, 32, 0);

    for (uint32_t t = 0; t < 32; t++) {
        cr_expect(eq(u32, r.out[t], expected[t % 5]), "thread %u", t);
        cr_expect(eq(u32, r.out[32 + t], 0xffffffffu), "thread %u", t);
    }
}

Test(emulator, a_switch_beyond_its_table_is_illegal)
{
    static const char text[] = HEAD ENTRY "T: .branchtargets A, A;\nbrx.idx %r1, T;\nA: " DONE;
    const run r = run_ptx(text, 1, 32, 0);

    cr_assert(eq(sz, r.found.count, 1));
    cr_expect(eq(int, r.found.first[0].kind, CUEMU_ILLEGAL));
    cr_expect(eq(u32, r.found.first[0].thread[0], 2));
    cr_expect(ne(int, r.result, 0));
}

static const char early[] = HEAD ENTRY "setp.ge.u32 %p1, %r1, 20;\n@%p1 exit;\n"
                                       "setp.lt.u32 %p2, %r1, 3;\n@%p2 bra OUT;\n"
                                       "activemask.b32 %r10;\nst.global.u32 [%d3], %r10;\nret;\nOUT: ret;\n}\n";

Test(emulator, lanes_that_leave_early_are_gone)
{
    const run r = run_silent(early, 1, 32, 0);

    for (uint32_t t = 0; t < 32; t++)
        cr_expect(eq(u32, r.out[t], t < 3 || t >= 20 ? 0 : 0x000ffff8u), "thread %u", t);
}

static const char exit_while_others_wait[] =
    HEAD ENTRY "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra WAIT;\n"
               "mov.u32 %r11, 0;\nL: add.u32 %r11, %r11, 1;\nsetp.lt.u32 %p2, %r11, %r1;\n@%p2 bra L;\nexit;\n"
               "WAIT: bar.warp.sync 0xffffffff;\nvote.sync.ballot.b32 %r10, %p1, 0xffffffff;\n" DONE;

Test(emulator, members_that_returned_are_not_waited_for)
{
    for (uint64_t seed = 0; seed < 16; seed++) {
        run r;
        cu.set_option(CUEMU_SEED, seed);
        r = run_silent(exit_while_others_wait, 2, 32, 0);
        for (uint32_t t = 0; t < 16; t++)
            cr_expect(eq(u32, r.out[t], 0xffffu), "seed %d thread %u", (int)seed, t);
    }
}

/* A lock that the lanes of one warp take one after the other: all must get on. */
static const char spin[] =
    HEAD ".global .u32 lock;\n.global .u32 sum;\n" ENTRY "mov.u64 %d5, lock;\nmov.u64 %d6, sum;\n"
         "TRY: atom.global.cas.b32 %r11, [%d5], 0, 1;\nsetp.ne.u32 %p1, %r11, 0;\n@%p1 bra TRY;\n"
         "ld.volatile.global.u32 %r12, [%d6];\nadd.u32 %r12, %r12, 1;\nst.volatile.global.u32 [%d6], %r12;\nmembar.gl;\n"
         "atom.global.exch.b32 %r13, [%d5], 0;\nmov.u32 %r10, %r12;\n" DONE;

Test(emulator, a_lock_between_lanes_is_no_endless_loop)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        uint64_t seen = 0;
        run r;
        cu.set_option(CUEMU_SEED, seed);
        r = run_silent(spin, 1, 64, 0);
        for (uint32_t t = 0; t < 64; t++)
            seen |= UINT64_C(1) << (r.out[t] - 1);
        cr_expect(eq(u64, seen, UINT64_MAX), "seed %d", (int)seed);
    }
}

/* ---- calls --------------------------------------------------------------------------------------------------------------- */

static const char calls[] = HEAD
    ".func (.param .b32 result) twice(.param .b32 a)\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [a];\nadd.u32 %r2, %r1, %r1;\n"
    "st.param.b32 [result], %r2;\nret;\n}\n"
    ".func (.param .b32 result) combine(.param .b32 a, .param .b64 b)\n{\n.reg .pred %p<3>;\n.reg .b32 %r<6>;\n.reg .b64 "
    "%d<3>;\n"
    "ld.param.u32 %r1, [a];\nld.param.u64 %d1, [b];\ncvt.u32.u64 %r2, %d1;\nsetp.lt.u32 %p1, %r1, 8;\n@%p1 bra SMALL;\n"
    "{\n.param .b32 to;\n.param .b32 back;\nst.param.b32 [to], %r1;\ncall.uni (back), twice, (to);\nld.param.b32 %r3, "
    "[back];\n}\n"
    "add.u32 %r4, %r3, %r2;\nst.param.b32 [result], %r4;\nret;\n"
    "SMALL: st.param.b32 [result], %r2;\nret;\n}\n" ENTRY "setp.gt.u32 %p1, %r1, 27;\n@%p1 bra SKIP;\n"
    "{\n.param .b32 a;\n.param .b64 b;\n.param .b32 back;\nst.param.b32 [a], %r1;\nst.param.b64 [b], 1000;\n"
    "call (back), combine, (a, b);\nld.param.b32 %r10, [back];\n}\n"
    "SKIP: activemask.b32 %r21;\nst.global.u32 [%d3+128], %r21;\n" DONE;

Test(emulator, functions_call_functions_with_lanes_of_their_own)
{
    const run r = run_silent(calls, 1, 32, 0);

    for (uint32_t t = 0; t < 32; t++) {
        cr_expect(eq(u32, r.out[t], t > 27 ? 0 : t < 8 ? 1000 : 1000 + 2 * t), "thread %u", t);
        cr_expect(eq(u32, r.out[32 + t], 0xffffffffu), "thread %u", t);
    }
}

static const char prints[] = HEAD
    ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 list);\n"
    ".global .align 1 .b8 format[] = {37, 100, 32, 37, 53, 46, 50, 102, 32, 37, 115, 32, 37, 108, 108, 120, 37, 37, 10, 0};\n"
    ".global .align 1 .b8 word[4] = {97, 98, 99};\n" ENTRY ".local .align 8 .b8 list[32];\n"
    "setp.ne.u32 %p1, %r1, 3;\n@%p1 bra SKIP;\n"
    "mov.u64 %d5, list;\ncvta.local.u64 %d6, %d5;\n"
    "st.local.u32 [list], -7;\nst.local.f64 [list+8], 0d3ff8000000000000;\nmov.u64 %d7, word;\ncvta.global.u64 %d8, %d7;\n"
    "st.local.u64 [%d5+16], %d8;\nst.local.u64 [%d5+24], 0x123456789abc;\nmov.u64 %d9, format;\ncvta.global.u64 %d10, %d9;\n"
    "{\n.param .b64 a;\n.param .b64 b;\n.param .b32 r;\nst.param.b64 [a], %d10;\nst.param.b64 [b], %d6;\n"
    "call (r), vprintf, (a, b);\n}\n"
    "SKIP: " DONE;

Test(emulator, prints, .init = NULL)
{
    cr_redirect_stdout();
    open_device();
    run_silent(prints, 1, 32, 0);
    fflush(stdout);
    cr_assert_stdout_eq_str("-7  1.50 abc 123456789abc%\n");
}

static const char asserts[] = HEAD
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);\n"
    ".global .align 1 .b8 message[] = {107, 32, 60, 32, 57, 0};\n.global .align 1 .b8 file[] = {97, 46, 99, 117, 0};\n" ENTRY
    "setp.lt.u32 %p1, %r4, 9;\n@%p1 bra FINE;\n"
    "mov.u64 %d5, message;\ncvta.global.u64 %d5, %d5;\nmov.u64 %d6, file;\ncvta.global.u64 %d6, %d6;\n"
    "{\n.param .b64 m;\n.param .b64 f;\n.param .b32 l;\n.param .b64 n;\n.param .b64 c;\nst.param.b64 [m], %d5;\n"
    "st.param.b64 [f], %d6;\nst.param.b32 [l], 42;\nst.param.b64 [n], %d5;\nst.param.b64 [c], 1;\n"
    "call __assertfail, (m, f, l, n, c);\n}\n"
    "FINE: " DONE;

Test(emulator, a_failed_assertion_says_what_and_where)
{
    const run r = run_ptx(asserts, 2, 8, 0);

    cr_assert(eq(sz, r.found.count, 1));
    cr_expect(eq(int, r.found.first[0].kind, CUEMU_ASSERT));
    cr_expect(ne(ptr, strstr(r.found.first[0].text, "k < 9, a.cu:42"), NULL), "%s", r.found.first[0].text);
    cr_expect(eq(u32, r.found.first[0].block[0], 1));
    cr_expect(eq(u32, r.found.first[0].thread[0], 1));
    cr_expect(eq(int, r.result, 710));
}

/* ---- together ------------------------------------------------------------------------------------------------------------ */

static const char reductions[] =
    HEAD ENTRY "rem.u32 %r11, %r1, 3;\nsetp.eq.u32 %p1, %r11, 0;\nsetp.lt.u32 %p2, %r1, 96;\n"
               "bar.red.popc.u32 %r12, 0, %p1;\n"
               "bar.red.and.pred %p3, 0, %p2;\nbar.red.or.pred %p4, 0, !%p2;\nbar.red.and.pred %p5, 0, %p1;\n"
               "selp.u32 %r13, 1000, 0, %p3;\nselp.u32 %r14, 100000, 0, %p5;\n@%p4 add.u32 %r14, %r14, 1000000;\n"
               "add.u32 %r10, %r12, %r13;\nadd.u32 %r10, %r10, %r14;\n" DONE;

Test(emulator, barriers_that_reduce)
{
    const run r = run_silent(reductions, 2, 96, 0);

    for (uint32_t t = 0; t < 192; t++)
        cr_expect(eq(u32, r.out[t], 1000 + 32), "thread %u", t);
}

/* Warps 0 and 1 fill a box for warps 2 and 3, four times, by barriers 1 (full) and 2 (empty) of 128 threads. */
static const char parties[] =
    HEAD ".shared .align 4 .b8 box[256];\n" ENTRY
         "mov.u32 %r11, 0;\nand.b32 %r12, %r1, 63;\nshl.b32 %r12, %r12, 2;\nmov.u32 %r13, box;\nadd.u32 %r13, %r13, %r12;\n"
         "setp.ge.u32 %p1, %r1, 64;\n@%p1 bra CONSUME;\n"
         "PRODUCE: mad.lo.u32 %r14, %r11, 100, %r1;\nst.shared.u32 [%r13], %r14;\nbarrier.sync 1, 128;\nbarrier.sync 2, 128;\n"
         "add.u32 %r11, %r11, 1;\nsetp.lt.u32 %p2, %r11, 4;\n@%p2 bra PRODUCE;\nbra END;\n"
         "CONSUME: barrier.sync 1, 128;\nxor.b32 %r15, %r13, 4;\nld.shared.u32 %r14, [%r15];\nadd.u32 %r10, %r10, %r14;\n"
         "barrier.arrive 2, 128;\nadd.u32 %r11, %r11, 1;\nsetp.lt.u32 %p2, %r11, 4;\n@%p2 bra CONSUME;\n"
         "END: " DONE;

Test(emulator, producers_and_consumers_meet_at_named_barriers)
{
    for (uint64_t seed = 0; seed < 16; seed++) {
        run r;
        cu.set_option(CUEMU_SEED, seed);
        r = run_silent(parties, 2, 128, 0);
        for (uint32_t t = 0; t < 128; t++)
            cr_expect(eq(u32, r.out[t], t < 64 ? 0 : 600 + 4 * ((t - 64) ^ 1)), "thread %u", t);
    }
}

/* The third warp has nothing to do and leaves; nobody waits for it. */
static const char two_of_three[] =
    HEAD ".shared .align 4 .b8 box[256];\n" ENTRY "setp.ge.u32 %p1, %r1, 64;\n@%p1 bra END;\n"
         "shl.b32 %r11, %r1, 2;\nmov.u32 %r12, box;\nadd.u32 %r13, %r12, %r11;\nst.shared.u32 [%r13], %r1;\nbar.sync 1, 64;\n"
         "xor.b32 %r14, %r11, 128;\nadd.u32 %r14, %r12, %r14;\nld.shared.u32 %r10, [%r14];\nst.global.u32 [%d3], %r10;\nEND: "
         "ret;\n}\n";

Test(emulator, a_barrier_that_counts_waits_for_no_others)
{
    for (uint64_t seed = 0; seed < 16; seed++) {
        run r;
        cu.set_option(CUEMU_SEED, seed);
        r = run_silent(two_of_three, 2, 96, 0);
        for (uint32_t t = 0; t < 96; t++)
            cr_expect(eq(u32, r.out[t], t < 64 ? t ^ 32 : 0), "thread %u", t);
    }
}

static const char shuffles[] = HEAD ENTRY "mul.lo.u32 %r11, %r1, 3;\n"
                                          "shfl.sync.up.b32 %r12|%p1, %r11, 2, 0, -1;\n"        /* whole warp */
                                          "shfl.sync.down.b32 %r13|%p2, %r11, 3, 0x181f, -1;\n" /* segments of 8 */
                                          "shfl.sync.bfly.b32 %r14, %r11, 5, 31, -1;\n"
                                          "shfl.sync.idx.b32 %r15, %r11, 6, 0x101f, -1;\n" /* segments of 16 */
                                          "@!%p1 mov.u32 %r12, 999;\n@!%p2 mov.u32 %r13, 998;\n"
                                          "st.global.u32 [%d3], %r12;\nst.global.u32 [%d3+128], %r13;\nst.global.u32 "
                                          "[%d3+256], %r14;\nst.global.u32 [%d3+384], %r15;\nret;\n}\n";

Test(emulator, shuffles)
{
    const run r = run_silent(shuffles, 1, 32, 0);

    for (uint32_t t = 0; t < 32; t++) {
        cr_expect(eq(u32, r.out[t], t < 2 ? 999 : 3 * (t - 2)), "up %u", t);
        cr_expect(eq(u32, r.out[32 + t], t % 8 + 3 > 7 ? 998 : 3 * (t + 3)), "down %u", t);
        cr_expect(eq(u32, r.out[64 + t], 3 * (t ^ 5)), "butterfly %u", t);
        cr_expect(eq(u32, r.out[96 + t], 3 * (t / 16 * 16 + 6)), "index %u", t);
    }
}

static const char votes[] = HEAD ENTRY
    "setp.gt.u32 %p1, %r1, 20;\nsetp.lt.u32 %p2, %r1, 99;\nshr.u32 %r11, %r1, 2;\nand.b32 %r11, %r11, 3;\n"
    "vote.sync.ballot.b32 %r12, %p1, -1;\nvote.sync.any.pred %p3, %p1, -1;\nvote.sync.all.pred %p4, %p1, -1;\n"
    "vote.sync.uni.pred %p5, %p2, -1;\nmatch.any.sync.b32 %r13, %r11, -1;\nmatch.all.sync.b32 %r14|%p6, %r11, -1;\n"
    "redux.sync.add.u32 %r15, %r1, -1;\nredux.sync.max.s32 %r16, %r1, -1;\n"
    "selp.u32 %r17, 1, 0, %p3;\n@%p4 add.u32 %r17, %r17, 2;\n@%p5 add.u32 %r17, %r17, 4;\n@%p6 add.u32 %r17, %r17, 8;\n"
    "st.global.u32 [%d3], %r12;\nst.global.u32 [%d3+128], %r13;\nst.global.u32 [%d3+256], %r17;\n"
    "add.u32 %r15, %r15, %r16;\nst.global.u32 [%d3+384], %r15;\nret;\n}\n";

Test(emulator, votes_and_matches)
{
    const run r = run_silent(votes, 1, 32, 0);

    for (uint32_t t = 0; t < 32; t++) {
        cr_expect(eq(u32, r.out[t], 0xffe00000u));
        cr_expect(eq(u32, r.out[32 + t], 0x000f000fu << (t / 4 % 4 * 4)), "match %u", t);
        cr_expect(eq(u32, r.out[64 + t], 1 + 4));
        cr_expect(eq(u32, r.out[96 + t], 496 + 31));
    }
}

static const char atomics[] =
    HEAD ".global .u32 count;\n.global .u32 most;\n.global .u64 bits;\n" ENTRY
         "mov.u64 %d5, count;\nmov.u64 %d6, most;\nmov.u64 %d7, bits;\n"
         "atom.global.add.u32 %r10, [%d5], 1;\nred.global.max.u32 [%d6], %r4;\n"
         "and.b32 %r11, %r4, 63;\nmov.u64 %d8, 1;\nshl.b64 %d8, %d8, %r11;\nred.global.or.b64 [%d7], %d8;\n" DONE;

Test(emulator, atomics_between_blocks)
{
    static bool seen[640];
    uint64_t address, zero = 0, out = device_memory(640 * 4, NULL), bits = 0;
    uint32_t most = 0, result[640];
    void *module, *function, *parameters[] = {&out};
    char log[1024];
    size_t bytes;

    module = load_ptx(atomics, log, sizeof log);
    cr_assert(ne(ptr, module, NULL), "%s", log);
    cr_assert(eq(int, cu.function(&function, module, "k"), 0));
    cr_assert(eq(int, launch_and_wait(function, 10, 64, 0, parameters), 0));
    cr_assert(eq(sz, cu.finding_count(), 0));
    cr_assert(eq(int, cu.read(result, out, sizeof result), 0));
    for (int t = 0; t < 640; t++) {
        cr_assert(lt(u32, result[t], 640));
        cr_expect(not(seen[result[t]]), "%u twice", result[t]);
        seen[result[t]] = true;
    }
    cr_assert(eq(int, cu.global(&address, &bytes, module, "most"), 0));
    cr_expect(eq(sz, bytes, 4));
    cr_assert(eq(int, cu.read(&most, address, 4), 0));
    cr_expect(eq(u32, most, 639));
    cr_assert(eq(int, cu.global(&address, &bytes, module, "bits"), 0));
    cr_assert(eq(int, cu.read(&bits, address, 8), 0));
    cr_expect(eq(u64, bits, UINT64_MAX));
    cr_assert(eq(int, cu.write(address, &zero, 8), 0));
    cr_expect(ne(int, cu.global(&address, &bytes, module, "nothing"), 0));
}

/* ---- memory -------------------------------------------------------------------------------------------------------------- */

static const char locals[] = HEAD ENTRY
    ".local .align 4 .b8 stack[64];\n"
    "mov.u32 %r11, 0;\nmov.u64 %d5, stack;\n"
    "FILL: mad.lo.u32 %r12, %r11, 1000, %r1;\nmul.wide.u32 %d6, %r11, 4;\nadd.s64 %d6, %d5, %d6;\nst.local.u32 [%d6], %r12;\n"
    "add.u32 %r11, %r11, 1;\nsetp.lt.u32 %p1, %r11, 16;\n@%p1 bra FILL;\n"
    "and.b32 %r13, %r1, 15;\nmul.wide.u32 %d6, %r13, 4;\ncvta.local.u64 %d7, %d5;\nadd.s64 %d7, %d7, %d6;\nld.u32 %r10, "
    "[%d7];\n" DONE;

Test(emulator, local_arrays_are_each_lane_s_own)
{
    const run r = run_silent(locals, 1, 64, 0);

    for (uint32_t t = 0; t < 64; t++)
        cr_expect(eq(u32, r.out[t], t % 16 * 1000 + t), "thread %u", t);
}

static const char variables[] = HEAD
    ".const .align 4 .u32 c[4] = {1, 20, 300, 4000};\n.global .align 4 .u32 g[3] = {5, 6};\n.global .align 8 .u64 to_g = "
    "generic(g)+4;\n"
    ".global .align 8 .u64 list[2] = {generic(to_g), generic(g)};\n.global .u32 rows[][3] = {{1, 2}, {3}};\n.global .f32 half "
    "= 0f3f000000;\n.global .f64 wide = 0.25;\n"
    ".global .align 2 .b16 small = 0x1234;\n" ENTRY
    "and.b32 %r11, %r1, 3;\nmul.wide.u32 %d5, %r11, 4;\nmov.u64 %d6, c;\nadd.s64 %d6, %d6, %d5;\nld.const.u32 %r12, [%d6];\n"
    "ld.global.u64 %d7, [list];\nld.u64 %d8, [%d7];\nld.u32 %r13, [%d8];\n" /* list -> to_g -> g[1] */
    "ld.global.u32 %r14, [g+8];\nld.global.u32 %r17, [rows+8];\nadd.u32 %r14, %r14, %r17;\nld.global.u32 %r17, "
    "[rows+12];\nadd.u32 %r14, %r14, %r17;\nld.global.f32 %f1, [half];\ncvt.rni.u32.f32 %r15, %f1;\nmul.f32 %f1, %f1, "
    "0f40000000;\n"
    "cvt.rni.u32.f32 %r15, %f1;\nld.global.u16 %r16, [small];\nadd.u32 %r10, %r12, %r13;\nadd.u32 %r10, %r10, %r14;\n"
    "mad.lo.u32 %r10, %r15, 10000, %r10;\nshl.b32 %r16, %r16, 16;\nadd.u32 %r10, %r10, %r16;\n" DONE;

Test(emulator, variables_begin_with_their_values_and_addresses)
{
    static const uint32_t c[] = {1, 20, 300, 4000};
    const run r = run_silent(variables, 1, 8, 0);

    for (uint32_t t = 0; t < 8; t++)
        cr_expect(eq(u32, r.out[t], c[t % 4] + 6 + 0 + 0 + 3 + 10000 + (0x1234u << 16)), "thread %u", t);
}

static const char dynamic[] =
    HEAD ".extern .shared .align 16 .b8 pool[];\n.shared .align 4 .b8 own[128];\n" ENTRY
         "shl.b32 %r11, %r1, 2;\nmov.u32 %r12, pool;\nadd.u32 %r13, %r12, %r11;\nst.shared.u32 [%r13], %r1;\nbar.sync 0;\n"
         "sub.u32 %r14, %r2, %r1;\nsub.u32 %r14, %r14, 1;\nshl.b32 %r14, %r14, 2;\nadd.u32 %r14, %r12, %r14;\nld.shared.u32 "
         "%r10, [%r14];\n"
         "mov.u32 %r15, %dynamic_smem_size;\nmad.lo.u32 %r10, %r15, 1000, %r10;\n" DONE;

Test(emulator, dynamic_shared_memory_has_the_size_of_the_launch)
{
    const run r = run_silent(dynamic, 2, 96, 96 * 4), one_short = run_ptx(dynamic, 1, 96, 95 * 4);

    for (uint32_t t = 0; t < 192; t++)
        cr_expect(eq(u32, r.out[t], 384000 + 95 - t % 96), "thread %u", t);
    cr_assert(eq(sz, one_short.found.count, 1));
    cr_expect(eq(int, one_short.found.first[0].kind, CUEMU_OUT_OF_BOUNDS));
    cr_expect(eq(u32, one_short.found.first[0].thread[0], 95));
}

/* Two kernels of 40000 and 24000 bytes: together more than a block may have. at: where k, which has the smaller, stores. */
#define TWO_KERNELS(at)                                                                                               \
    HEAD ".visible .entry large()\n{\n.shared .align 4 .b8 its[40000];\n.reg .b32 %r<2>;\nmov.u32 %r1, 7;\n"          \
         "st.shared.u32 [its+39996], %r1;\nret;\n}\n" ENTRY ".shared .align 16 .b8 own[24000];\nmov.u32 %r11, own;\n" \
         "st.shared.u32 [%r11+" #at "], %r4;\nld.shared.u32 %r12, [%r11+" #at "];\nmov.u32 %r13, %total_smem_size;\n" \
         "add.u32 %r10, %r12, %r13;\n" DONE

Test(emulator, a_block_has_the_shared_arrays_of_its_own_kernel)
{
    const run r = run_silent(TWO_KERNELS(23996), 3, 1, 0), beyond = run_ptx(TWO_KERNELS(24000), 1, 1, 0);

    for (uint32_t b = 0; b < 3; b++)
        cr_expect(eq(u32, r.out[b], 24000 + b));
    cr_assert(ge(sz, beyond.found.count, 1));
    cr_expect(eq(int, beyond.found.first[0].kind, CUEMU_OUT_OF_BOUNDS));
}

/* ---- what never ends ----------------------------------------------------------------------------------------------------- */

Test(emulator, an_endless_loop_is_reported_with_its_line)
{
    static const char text[] = HEAD ENTRY "FOREVER: add.u32 %r10, %r10, 1;\nbra FOREVER;\n}\n";
    run r;

    cu.set_option(CUEMU_BUDGET, 100000);
    r = run_ptx(text, 2, 64, 0);
    cr_assert(ge(sz, r.found.count, 1));
    cr_expect(eq(int, r.found.first[0].kind, CUEMU_ENDLESS));
    cr_expect(ge(u32, r.found.first[0].ptx_line, line_of(text, "FOREVER:")));
    cr_expect(eq(int, r.result, 702));
    cu.set_option(CUEMU_BUDGET, 1000000);
    run_silent(loops, 1, 64, 0); /* and the device works on */
}

/* Loops that the default budget would leave for minutes; one that adds up an array takes longer than the patience and is let be. */
Test(emulator, a_loop_without_progress_is_endless_and_a_long_one_is_not)
{
    static const char *const endless[] = {HEAD ENTRY "FOREVER: bra FOREVER;\n}\n",
                                          HEAD ENTRY "FOREVER: add.u32 %r10, %r10, 1;\nbra FOREVER;\n}\n",
                                          HEAD ENTRY "FOREVER: bar.sync 0;\nbra FOREVER;\n}\n",
                                          HEAD ENTRY "FOREVER: st.volatile.global.u32 [%d3], %r10;\nadd.u32 %r10, %r10, 1;\n"
                                                     "bra FOREVER;\n}\n",
                                          HEAD ENTRY "FOREVER: ld.volatile.global.u32 %r11, [%d3];\nsetp.eq.u32 %p1, %r11, 0;\n"
                                                     "@%p1 bra FOREVER;\n" DONE,
                                          HEAD ENTRY "setp.eq.u32 %p1, %r1, 40;\n@!%p1 bra WAIT;\nFOREVER: bra FOREVER;\n"
                                                     "WAIT: bar.sync 0;\n" DONE};
    static const char array[] =
        HEAD ENTRY "mov.u32 %r11, 0;\nNEXT: mul.wide.u32 %d4, %r11, 4;\nadd.s64 %d5, %d1, %d4;\nld.global.u32 %r12, [%d5];\n"
                   "add.u32 %r10, %r10, %r12;\nadd.u32 %r11, %r11, 1;\nsetp.lt.u32 %p1, %r11, 8000000;\n"
                   "@%p1 bra NEXT;\nst.global.u32 [%d1], %r10;\nret;\n}\n";
    const size_t bytes = 8000000 * sizeof(uint32_t);
    uint32_t *ones = malloc(bytes), sum = 0;
    uint64_t out;
    void *module, *function = NULL, *parameters[] = {&out};
    char log[1024];

    cr_assert(ne(ptr, ones, NULL));
    cu.set_option(CUEMU_PATIENCE, 1);
    for (size_t i = 0; i < sizeof endless / sizeof endless[0]; i++) {
        const run r = run_ptx(endless[i], 2, 64, 0);
        cr_assert(ge(sz, r.found.count, 1), "loop %zu", i);
        cr_expect(eq(int, r.found.first[0].kind, CUEMU_ENDLESS), "loop %zu: %s", i, r.found.first[0].text);
        cr_expect(ge(u32, r.found.first[0].ptx_line, line_of(endless[i], "FOREVER:")), "loop %zu", i);
        cr_expect(strcmp(r.found.first[0].kernel, "k") == 0);
        cr_expect(ne(ptr, strstr(r.found.first[0].text, "CUDA_EMULATOR_PATIENCE=N"), NULL), "%s", r.found.first[0].text);
        cr_expect(eq(int, r.result, 702), "loop %zu", i);
    }
    for (size_t i = 0; i < bytes / sizeof *ones; i++)
        ones[i] = 1;
    out = device_memory(bytes, ones);
    module = load_ptx(array, log, sizeof log);
    cr_assert(ne(ptr, module, NULL), "%s", log);
    cr_assert(eq(int, cu.function(&function, module, "k"), 0));
    cr_expect(eq(int, launch_and_wait(function, 1, 1, 0, parameters), 0));
    cr_expect(eq(sz, cu.finding_count(), 0));
    cr_assert(eq(int, cu.read(&sum, out, sizeof sum), 0));
    cr_expect(eq(u32, sum, 8000000));
    free(ones);
}

Test(emulator, a_deadlock_is_reported_with_where_each_warp_waits)
{
    static const char text[] =
        HEAD ENTRY "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra OTHER;\nbar.sync 1, 64;\nbra END;\nOTHER: bar.sync 2, 64;\nEND: " DONE;
    const run r = run_ptx(text, 1, 64, 0);
    char second[40];

    cr_assert(eq(sz, r.found.count, 1));
    cr_expect(eq(int, r.found.first[0].kind, CUEMU_DEADLOCK));
    cr_expect(eq(u32, r.found.first[0].ptx_line, line_of(text, "bar.sync 1")));
    snprintf(second, sizeof second, "warp 1 at line %u", line_of(text, "bar.sync 2"));
    cr_expect(ne(ptr, strstr(r.found.first[0].text, second), NULL), "%s", r.found.first[0].text);
    cr_expect(ne(int, r.result, 0));
}

Test(emulator, lanes_of_a_warp_at_different_barriers)
{
    static const char text[] =
        HEAD ENTRY "setp.ge.u32 %p1, %r1, 7;\n@%p1 bra OTHER;\nbar.sync 0;\nbra END;\nOTHER: bar.sync 0;\nEND: " DONE;
    const run r = run_ptx(text, 1, 64, 0);

    cr_assert(eq(sz, r.found.count, 1));
    cr_expect(eq(int, r.found.first[0].kind, CUEMU_DIVERGENT));
    cr_expect(r.found.first[0].ptx_line == line_of(text, "bar.sync") || r.found.first[0].ptx_line == line_of(text, "OTHER:"));
}

static const char half_returns[] = HEAD ENTRY "setp.ge.u32 %p1, %r1, 40;\n@%p1 ret;\nbar.sync 0;\nmov.u32 %r10, 7;\n" DONE;

/* A barrier counts the threads that have not returned: a warning, and no failure. */
Test(emulator, a_barrier_goes_on_without_threads_that_have_returned)
{
    const run r = run_ptx(half_returns, 1, 64, 0);

    cr_expect(eq(int, r.result, 0));
    cr_assert(eq(sz, r.found.count, 1));
    cr_expect(eq(int, r.found.first[0].kind, CUEMU_EXITED_BARRIER));
    for (uint32_t t = 0; t < 64; t++)
        cr_expect(eq(u32, r.out[t], t < 40 ? 7u : 0u), "thread %u", t);
    cu.set_option(CUEMU_CHECKS, CUEMU_CHECK_ALL & ~CUEMU_CHECK_BARRIERS);
    run_silent(half_returns, 1, 64, 0);
}

static const char not_in_mask[] = HEAD ENTRY "setp.lt.u32 %p1, %r1, 4;\nvote.sync.ballot.b32 %r10, %p1, 0xffff;\n" DONE;

Test(emulator, a_lane_outside_its_own_mask_is_let_be_if_asked_for)
{
    run r = run_ptx(not_in_mask, 1, 32, 0);

    cr_assert(eq(sz, r.found.count, 1));
    cr_expect(eq(int, r.found.first[0].kind, CUEMU_ILLEGAL));
    cr_expect(ne(int, r.result, 0));
    cu.set_option(CUEMU_CHECKS, CUEMU_CHECK_ALL & ~CUEMU_CHECK_MASKS);
    r = run_silent(not_in_mask, 1, 32, 0);
    for (uint32_t t = 0; t < 32; t++)
        cr_expect(eq(u32, r.out[t], 15), "thread %u", t);
}

/* ---- schedules ----------------------------------------------------------------------------------------------------------- */

/* Divergence, shuffles, shared memory, named barriers and integer atomics in one kernel. */
static const char mixture[] =
    HEAD ".shared .align 4 .b8 box[512];\n.shared .u32 total;\n" ENTRY
         "shl.b32 %r11, %r1, 2;\nmov.u32 %r12, box;\nadd.u32 %r13, %r12, %r11;\nsetp.ne.u32 %p9, %r1, 0;\n@!%p9 st.shared.u32 "
         "[total], 0;\n"
         "mov.u32 %r10, %r4;\nmov.u32 %r20, 0;\n"
         "TURN: and.b32 %r14, %r10, 3;\nT: .branchtargets A, B, C, D;\nbrx.idx %r14, T;\n"
         "A: mul.lo.u32 %r10, %r10, 1664525;\nbra JOIN;\nB: add.u32 %r10, %r10, 1013904223;\nbra JOIN;\n"
         "C: shr.u32 %r15, %r10, 7;\nxor.b32 %r10, %r10, %r15;\nbra JOIN;\nD: not.b32 %r10, %r10;\n"
         "JOIN: bar.warp.sync -1;\nshfl.sync.bfly.b32 %r16, %r10, 9, 31, -1;\nadd.u32 %r10, %r10, %r16;\n"
         "bar.sync 0;\nst.shared.u32 [%r13], %r10;\natom.shared.add.u32 %r18, [total], %r10;\nbar.sync 0;\n"
         "xor.b32 %r17, %r11, 332;\nadd.u32 %r17, %r12, %r17;\nld.shared.u32 %r19, [%r17];\nld.shared.u32 %r21, [total];\n"
         "xor.b32 %r10, %r10, %r19;\nadd.u32 %r10, %r10, %r21;\n"
         "add.u32 %r20, %r20, 1;\nsetp.lt.u32 %p2, %r20, 10;\n@%p2 bra TURN;\n" DONE;

Test(emulator, results_do_not_depend_on_host_threads_or_the_schedule)
{
    static run plain, other;

    plain = run_silent(mixture, 16, 128, 0);
    for (uint64_t seed = 0; seed < 16; seed++)
        for (uint64_t threads = 1; threads <= 4; threads++) {
            cu.set_option(CUEMU_SEED, seed);
            cu.set_option(CUEMU_THREADS, threads);
            cu.set_option(CUEMU_CHECKS, threads == 1 ? CUEMU_CHECK_ALL : 0); /* races are looked for on one thread */
            other = run_silent(mixture, 16, 128, 0);
            cr_expect(eq(int, memcmp(plain.out, other.out, sizeof plain.out), 0), "seed %d, %d threads", (int)seed,
                      (int)threads);
        }
}

Test(emulator, lines_of_a_loaded_module_have_their_text)
{
    static const char text[] =
        HEAD ENTRY "and.b32 %r11, %r1, 1;\nsetp.eq.u32 %p1, %r11, 0;\n@%p1 bra EVEN;\nmov.u32 %r10, 3;\nEVEN: " DONE;
    uint64_t out = device_memory(64 * 4, NULL);
    void *module, *function, *parameters[] = {&out};
    cuEmuLaunch launch;
    cuEmuCounters line;
    uint32_t ptx_line, cuda_line;
    char statement[100], log[1000];
    unsigned found = 0;

    cu.set_option(CUEMU_COUNT, 1);
    module = load_ptx(text, log, sizeof log);
    cr_assert(ne(ptr, module, NULL), "%s", log);
    cr_assert(eq(int, cu.function(&function, module, "k"), 0));
    cr_assert(eq(int, launch_and_wait(function, 1, 64, 0, parameters), 0));
    cr_assert(eq(int, cu.get_launch(&launch), 1));
    cr_expect(eq(u64, launch.total.divergences, 2));
    cr_expect(eq(u64, launch.total.global_stores, 64));
    cu.set_option(CUEMU_COUNT, 2); /* the next launch alone */
    cr_assert(eq(int, launch_and_wait(function, 1, 32, 0, parameters), 0));
    cr_assert(eq(int, launch_and_wait(function, 1, 64, 0, parameters), 0));
    cr_assert(eq(int, cu.get_launch(&launch), 1));
    cr_expect(eq(u64, launch.total.global_stores, 32));
    cu.set_option(CUEMU_COUNT, 3); /* the one after it alone */
    for (unsigned threads = 32; threads <= 96; threads += 32)
        cr_assert(eq(int, launch_and_wait(function, 1, threads == 96 ? 32 : threads, 0, parameters), 0));
    cr_assert(eq(int, cu.get_launch(&launch), 1));
    cr_expect(eq(u64, launch.total.global_stores, 64));
    cu.set_option(CUEMU_COUNT, 1);
    cr_assert(eq(int, launch_and_wait(function, 1, 64, 0, parameters), 0));
    for (size_t i = 0; cu.get_line(i, &ptx_line, &cuda_line, statement, sizeof statement, &line); i++)
        if (ptx_line == line_of(text, "@%p1 bra EVEN")) {
            found++;
            cr_expect(eq(u64, line.instructions, 2));
            cr_expect(eq(u64, line.divergences, 2));
            cr_expect(ne(ptr, strstr(statement, "bra EVEN"), NULL), "%s", statement);
        } else if (ptx_line == line_of(text, "mov.u32 %r10, 3")) {
            found++;
            cr_expect(eq(u64, line.lane_instructions, 32));
        }
    cr_expect(eq(uint, found, 2));
    cr_expect(eq(u32, cuda_line, 0));
}

/*
 * ---- texts that are wrong --------------------------------------------------------------------------------------------------
 */

Test(emulator, wrong_texts_are_refused_with_line_and_statement)
{
    static const struct {
        const char *statement, *says;
    } rows[] = {{"frobnicate.u32 %r1, %r2;", "no instruction is called frobnicate"},
                {"mov.u32 %r1, %envreg32;", "%envreg32"},
                {"bra NOWHERE;", "NOWHERE"},
                {"add.u32 %r1, %r2;", "lacks an operand"},
                {"add.u32 %r1, %r2, %r3, %r4;", "too many operands"},
                {"add.u32 %r1, %d2, %r3;", "width"},
                {"add.u32 %r1, %r99, %r3;", "%r99"},
                {"@%r1 bra NOWHERE;", "predicate"},
                {"mov.u32 %r1, 99999999999999999999;", "not PTX"},
                {"mov.f32 %f1, 0f12;", "not PTX"},
                {"ld.global.u32 %r1, [nothing];", "nothing"},
                {"call nothing;", "nothing"},
                {"ld.global.v4.u32 {%r1, %r2}, [%d1];", "do not fit"},
                {"K: K: ret;", "second label"},
                {"mov.u32 %r1, \"text", "not PTX"},
                {"{", "never closed"}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[2048], log[512], line[32];
        snprintf(text, sizeof text, "%s%s\n%s", HEAD ENTRY, rows[i].statement, DONE);
        cr_expect(eq(ptr, load_ptx(text, log, sizeof log), NULL), "%s", rows[i].statement);
        cr_expect(ne(ptr, strstr(log, rows[i].says), NULL), "%s: %s", rows[i].statement, log);
        snprintf(line, sizeof line, "line %u", line_of(text, rows[i].statement));
        if (rows[i].statement[0] != '{') {
            cr_expect(ne(ptr, strstr(log, line), NULL), "%s: %s", rows[i].statement, log);
            cr_expect(ne(ptr, strstr(log, rows[i].statement), NULL), "%s: %s", rows[i].statement, log);
        }
    }
}

Test(emulator, what_is_no_ptx_is_refused)
{
    static const unsigned char cubin[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x33};
    static const char *const texts[] = {"",
                                        "hello",
                                        "// only a comment\n",
                                        ".version 8.0\n",
                                        ".version 8.0\n.target sm_80\n.address_size 32\n",
                                        ".target sm_80\n",
                                        ".version 8.0\n.target sm_80\n.visible .entry k() {"};
    char log[512];

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        cr_expect(eq(ptr, load_ptx(texts[i], log, sizeof log), NULL), "\"%s\"", texts[i]);
    cr_expect(eq(ptr, load_ptx((const char *)cubin, log, sizeof log), NULL));
    cr_expect(ne(ptr, strstr(log, "PTX"), NULL), "%s", log);
}

Test(emulator, an_error_lasts_until_it_is_cleared)
{
    static const char text[] = HEAD ENTRY "st.global.u32 [%d3+1000000], %r1;\nret;\n}\n";
    run r = run_ptx(text, 1, 32, 0);
    uint64_t out = device_memory(4, NULL);
    void *module, *function, *parameters[] = {&out};
    char log[512];
    int result;

    cr_expect(eq(int, r.result, 700));
    module = load_ptx(text, log, sizeof log);
    cr_assert(eq(int, cu.function(&function, module, "k"), 0));
    result = launch_and_wait(function, 1, 32, 0, parameters);
    cr_expect(eq(int, result, 700));
    cr_expect(eq(int, cu.read(log, out, 4), 700), "as on a GPU, every call fails from then on");
    cu.clear();
    cr_expect(eq(sz, cu.finding_count(), 0));
    cr_expect(eq(int, cu.read(log, out, 4), 0));
}
