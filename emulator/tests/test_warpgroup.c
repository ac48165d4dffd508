/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Instructions of four warps together: wgmma and setmaxnreg. One correct kernel, and the findings when a piece of it is
 * changed. vectors/wgmma.c tests that products have the bits of a device.
 */
#include "emulator_test.h"

enum { M = 64, N = 16, K = 16, THREADS = 128, A_BYTES = M * K * 2, B_BYTES = N * K * 2 };

static void open_device(void)
{
    open_emulator("sm_90");
}

TestSuite(warpgroup, .init = open_device, .timeout = 120);

/*
 * out = 2 (A . B), by two products on the same sums, A once from shared memory and once from registers. in: A and B as they lie in
 * shared memory, not swizzled: the core matrices along a line are 128 bytes apart, those across lines 256. Lines like //NAME are there
 * to be replaced.
 */
static const char kernel[] =
    ".version 8.4\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
    ".reg .pred %p<8>;\n.reg .b32 %r<64>;\n.reg .b64 %d<16>;\n.reg .f32 %f<32>;\n"
    ".shared .align 1024 .b8 tile[2560];\n"
    "ld.param.u64 %d1, [in];\nld.param.u64 %d2, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, tile;\n"
    "shr.u32 %r3, %r1, 5;\nand.b32 %r4, %r1, 31;\n"
    "mul.wide.u32 %d3, %r1, 16;\nadd.u64 %d3, %d1, %d3;\nshl.b32 %r5, %r1, 4;\nadd.u32 %r5, %r2, %r5;\n"
    "ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%d3];\nst.shared.v4.b32 [%r5], {%r10, %r11, %r12, %r13};\n"
    "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra STORED;\n"
    "ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%d3+2048];\nst.shared.v4.b32 [%r5+2048], {%r10, %r11, %r12, %r13};\n"
    "STORED:\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
    /* registers of A: rows 16 warp + lane / 4 and 8 below, columns 2 (lane % 4) and 8 further */
    "shl.b32 %r14, %r3, 9;\nadd.u32 %r14, %r14, %r2;\nshr.u32 %r15, %r4, 2;\nshl.b32 %r15, %r15, 4;\nadd.u32 %r14, %r14, "
    "%r15;\n"
    "and.b32 %r15, %r4, 3;\nshl.b32 %r15, %r15, 2;\nadd.u32 %r14, %r14, %r15;\n"
    "ld.shared.b32 %r20, [%r14];\nld.shared.b32 %r21, [%r14+256];\nld.shared.b32 %r22, [%r14+128];\nld.shared.b32 %r23, "
    "[%r14+384];\n"
    "shr.u32 %r16, %r2, 4;\ncvt.u64.u32 %d4, %r16;\nor.b64 %d4, %d4, 0x0000001000080000;\nadd.u64 %d5, %d4, 128;\n"
    "mov.f32 %f0, 0f00000000;\nmov.f32 %f1, %f0;\nmov.f32 %f2, %f0;\nmov.f32 %f3, %f0;\n"
    "mov.f32 %f4, %f0;\nmov.f32 %f5, %f0;\nmov.f32 %f6, %f0;\nmov.f32 %f7, %f0;\n"
    "//BEFORE\n"
    "wgmma.fence.sync.aligned;\n"
    "//FENCED\n"
    "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, %d4, %d5, 1, 1, 1, 0, 0;\n"
    "//BETWEEN\n"
    "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, {%r20, %r21, %r22, %r23}, "
    "%d5, 1, 1, 1, 0;\n"
    "wgmma.commit_group.sync.aligned;\n"
    "//PENDING\n"
    "wgmma.wait_group.sync.aligned 0;\n"
    "//WAITED\n"
    "mul.wide.u32 %d6, %r1, 32;\nadd.u64 %d6, %d2, %d6;\n"
    "st.global.v4.f32 [%d6], {%f0, %f1, %f2, %f3};\nst.global.v4.f32 [%d6+16], {%f4, %f5, %f6, %f7};\n"
    "END:\nret;\n}\n";

typedef struct outcome_of_group {
    int result;
    findings found;
    float out[THREADS][8];
} outcome_of_group;

/* The value of an element: a whole number, so that no order of sums matters. */
static int value_of(int line, int k, bool is_b)
{
    return (line * 5 + k * (is_b ? 7 : 3)) % 11 - 5;
}

/* A or B as it lies in shared memory, in bf16. */
static void lay_out(uint16_t *to, int lines, bool is_b)
{
    for (int line = 0; line < lines; line++)
        for (int k = 0; k < K; k++) {
            const float value = (float)value_of(line, k, is_b);
            uint32_t bits;
            memcpy(&bits, &value, 4);
            to[line / 8 * 128 + k / 8 * 64 + line % 8 * 8 + k % 8] = (uint16_t)(bits >> 16);
        }
}

static outcome_of_group run_text(const char *text, unsigned threads)
{
    static uint16_t content[(A_BYTES + B_BYTES) / 2];
    outcome_of_group o = {0};
    uint64_t in, out = device_memory(4 * sizeof o.out, NULL);
    void *module, *function = NULL, *parameters[] = {&in, &out};
    char log[1024];

    lay_out(content, M, false);
    lay_out(content + A_BYTES / 2, N, true);
    in = device_memory(sizeof content, content);
    module = load_ptx(text, log, sizeof log);
    cr_assert(ne(ptr, module, NULL), "%s", log);
    cr_assert(eq(int, cu.function(&function, module, "k"), 0));
    o.result = launch_and_wait(function, 1, threads, 0, parameters);
    o.found = take_findings();
    if (o.result == 0)
        cr_assert(eq(int, cu.read(o.out, out, sizeof o.out), 0));
    cr_assert(eq(int, cu.unload(module), 0));
    cr_assert(eq(int, cu.free(in), 0));
    cr_assert(eq(int, cu.free(out), 0));
    return o;
}

/* The kernel with something else in place of a piece. Owned: the caller's. */
static char *changed(const char *piece, const char *instead)
{
    const char *at = strstr(kernel, piece);
    char *text = NULL;

    cr_assert(ne(ptr, (void *)at, NULL), "no \"%s\" in the kernel", piece);
    cr_assert(gt(int, asprintf(&text, "%.*s%s%s", (int)(at - kernel), kernel, instead, at + strlen(piece)), 0));
    return text;
}

static void expect_products(const outcome_of_group *o)
{
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < 8; i++) {
            const int row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + t % 4 * 2 + i % 2;
            int sum = 0;
            for (int k = 0; k < K; k++)
                sum += 2 * value_of(row, k, false) * value_of(column, k, true);
            cr_expect(eq(flt, o->out[t][i], (float)sum), "row %d, column %d", row, column);
        }
}

Test(warpgroup, products_of_shared_memory_and_of_registers)
{
    const outcome_of_group o = run_text(kernel, THREADS);

    cr_assert(eq(sz, o.found.count, 0), "%s", o.found.first[0].text);
    cr_assert(eq(int, o.result, 0));
    expect_products(&o);
}

Test(warpgroup, a_copy_of_sums_on_their_way_is_no_access)
{
    char *text = changed("//PENDING\n", "mov.f32 %f9, %f0;\nmov.f32 %f0, %f9;\n");
    const outcome_of_group o = run_text(text, THREADS);

    cr_assert(eq(sz, o.found.count, 0), "%s", o.found.first[0].text);
    expect_products(&o);
    free(text);
}

/* nvcc leaves the zeros of sums next to their first use: the second fence has them after it. */
Test(warpgroup, a_constant_after_the_fence_is_no_access)
{
    char *text =
        changed("//FENCED\n", "mov.f32 %f0, 0f00000000;\nmov.b32 %r24, %r20;\nmov.b32 %r20, 0;\nmov.b32 %r20, %r24;\n");
    const outcome_of_group o = run_text(text, THREADS);

    cr_assert(eq(sz, o.found.count, 0), "%s", o.found.first[0].text);
    expect_products(&o);
    free(text);
}

Test(warpgroup, mistakes_are_found)
{
    static const struct {
        const char *piece, *instead;
        cuEmuKind kind;
        const char *says;
    } mistakes[] = {
        {"wgmma.fence.sync.aligned;\n", "", CUEMU_ASYNC_IN_FLIGHT, "no wgmma.fence stands before the warp's first wgmma"},
        {"//FENCED\n", "add.f32 %f0, %f0, %f1;\n", CUEMU_ASYNC_IN_FLIGHT, "no wgmma.fence stands between"},
        {"//FENCED\n", "xor.b32 %r20, %r20, 0;\n", CUEMU_ASYNC_IN_FLIGHT, "no wgmma.fence stands between"},
        {"wgmma.commit_group.sync.aligned;\n", "", CUEMU_ASYNC_IN_FLIGHT, "reads a sum of the wgmma at line"},
        {"wgmma.wait_group.sync.aligned 0;\n", "", CUEMU_ASYNC_IN_FLIGHT, "reads a sum of the wgmma at line"},
        {"wgmma.wait_group.sync.aligned 0;\n", "wgmma.wait_group.sync.aligned 1;\n", CUEMU_ASYNC_IN_FLIGHT,
         "reads a sum of the wgmma at line"},
        {"//PENDING\n", "add.f32 %f9, %f0, %f0;\n", CUEMU_ASYNC_IN_FLIGHT, "reads a sum of the wgmma at line"},
        {"//PENDING\n", "mov.f32 %f0, 0f00000000;\n", CUEMU_ASYNC_IN_FLIGHT, "writes a sum of the wgmma at line"},
        {"//PENDING\n", "mov.f32 %f9, %f0;\nadd.f32 %f10, %f9, %f9;\n", CUEMU_ASYNC_IN_FLIGHT,
         "reads a sum of the wgmma at line"},
        {"//PENDING\n", "mov.b32 %r21, 0;\n", CUEMU_ASYNC_IN_FLIGHT, "writes a factor of the wgmma at line"},
        {"//PENDING\n", "st.shared.v4.b32 [%r5], {%r10, %r11, %r12, %r13};\n", CUEMU_ASYNC_IN_FLIGHT,
         "of 16 bytes that a wgmma may still read: no wgmma.wait_group for it comes before"},
        {"//PENDING\n",
         ".shared .align 8 .b8 bar[8];\nmov.u32 %r30, bar;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra PAST;\n"
         "mbarrier.init.shared.b64 [%r30], 1;\nfence.mbarrier_init.release.cluster;\n"
         "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2+2048], [%d1], 128, [%r30];\nPAST:\n",
         CUEMU_ASYNC_IN_FLIGHT, "of 16 bytes that a wgmma may still read: no wgmma.wait_group for it comes before"},
        {"//BETWEEN\n", "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %d4, %d5, 1, 1, 1, 0, 0;\n",
         CUEMU_ASYNC_IN_FLIGHT, "which has another shape"},
        {"bar.sync 0;\n", "", CUEMU_RACE_SHARED, "reads shared offset"},
        {"fence.proxy.async.shared::cta;\n", "", CUEMU_PROXY_FENCE, "with no fence.proxy.async since"},
        {"fence.proxy.async.shared::cta;\nbar.sync 0;\n", "bar.sync 0;\nfence.proxy.async.global;\n", CUEMU_PROXY_FENCE,
         "with no fence.proxy.async since"},
        {"st.shared.v4.b32 [%r5+2048], {%r10, %r11, %r12, %r13};\n", "", CUEMU_UNINITIALISED,
         "multiplies what was never written"},
        {"0x0000001000080000", "0x0000101000080000", CUEMU_OUT_OF_BOUNDS, "16 bytes at shared offset"},
        {"//BEFORE\n", "setp.eq.u32 %p2, %r1, 37;\n@%p2 add.u64 %d5, %d5, 1;\n", CUEMU_ILLEGAL,
         "the descriptor of B is another than that of the warpgroup's first thread"},
        {"//BEFORE\n", "setp.eq.u32 %p2, %r3, 2;\n@%p2 bra END;\n", CUEMU_DEADLOCK,
         "waits for warp 2 of its warpgroup, which has returned"},
        {"//BEFORE\n", "setp.eq.u32 %p2, %r3, 3;\n@%p2 bra END;\n", CUEMU_DEADLOCK,
         "waits for warp 3 of its warpgroup, which has returned"},
        {"//BEFORE\n", "setp.eq.u32 %p2, %r3, 2;\n@%p2 bar.sync 1, 64;\n", CUEMU_DEADLOCK,
         "waits for warp 2 of its warpgroup, which is at line"},
        {"//BEFORE\n", "setp.eq.u32 %p2, %r1, 37;\n@%p2 bra END;\n", CUEMU_ILLEGAL, "needs all 32 lanes of the warp"},
        {"//BEFORE\n", "setp.eq.u32 %p2, %r3, 2;\n@%p2 setmaxnreg.dec.sync.aligned.u32 40;\n", CUEMU_DIVERGENT,
         "waits here while warp"},
        {"//BEFORE\n",
         "setp.eq.u32 %p2, %r3, 2;\n@%p2 setmaxnreg.dec.sync.aligned.u32 40;\n@!%p2 setmaxnreg.dec.sync.aligned.u32 48;\n",
         CUEMU_DIVERGENT, "waits here while warp"},
        {"//BEFORE\n", "setmaxnreg.dec.sync.aligned.u32 20;\n", CUEMU_ILLEGAL,
         "20 registers: a thread can have a multiple of 8"},
        {"//BEFORE\n", "setmaxnreg.inc.sync.aligned.u32 264;\n", CUEMU_ILLEGAL, "264 registers: a thread can have"},
        {"//BEFORE\n", "setmaxnreg.dec.sync.aligned.u32 100;\n", CUEMU_ILLEGAL, "100 registers: a thread can have"},
        {"//BEFORE\n", "setmaxnreg.dec.sync.aligned.u32 40;\nsetmaxnreg.dec.sync.aligned.u32 48;\n", CUEMU_ILLEGAL,
         "gives registers back to have 48, where each thread has 40"},
        {"//BEFORE\n", "setmaxnreg.dec.sync.aligned.u32 64;\nsetmaxnreg.inc.sync.aligned.u32 48;\n", CUEMU_ILLEGAL,
         "takes registers to have 48, where each thread has 64"},
    };

    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        char *text = changed(mistakes[i].piece, mistakes[i].instead);
        const outcome_of_group o = run_text(text, THREADS);
        cr_assert(gt(sz, o.found.count, 0), "\"%s\" in place of \"%s\": nothing found", mistakes[i].instead, mistakes[i].piece);
        cr_expect(eq(int, (int)o.found.first[0].kind, (int)mistakes[i].kind), "%s: %s: %s", mistakes[i].instead,
                  kind_names[o.found.first[0].kind], o.found.first[0].text);
        cr_expect(ne(ptr, strstr(o.found.first[0].text, mistakes[i].says), NULL), "%s: %s", mistakes[i].instead,
                  o.found.first[0].text);
        free(text);
    }
}

Test(warpgroup, a_block_of_fewer_warps_has_none)
{
    const outcome_of_group o = run_text(kernel, 96);

    cr_assert(gt(sz, o.found.count, 0));
    cr_expect(ne(ptr, strstr(o.found.first[0].text, "the four warps of a warpgroup; the block ends with warp 2"), NULL), "%s",
              o.found.first[0].text);
}

/* Three warpgroups have 168 registers each: one gives back what the others take. */
static const char registers[] = ".version 8.4\n.target sm_90a\n.address_size 64\n"
                                ".visible .entry k(.param .u64 in, .param .u64 out)\n.maxntid 384, 1, 1\n{\n"
                                ".reg .pred %%p<4>;\n.reg .b32 %%r<8>;\nmov.u32 %%r1, %%tid.x;\n"
                                "setp.ge.u32 %%p1, %%r1, 256;\n@%%p1 bra GIVE;\n"
                                "setmaxnreg.inc.sync.aligned.u32 %d;\nbra END;\n"
                                "GIVE: setmaxnreg.dec.sync.aligned.u32 %d;\n"
                                "END: ret;\n}\n";

Test(warpgroup, registers_are_waited_for)
{
    static const struct {
        int most, least;
        bool is_enough;
    } counts[] = {{240, 24, true}, {232, 40, true}, {240, 32, false}, {240, 40, false}};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char text[1024];
        outcome_of_group o;
        snprintf(text, sizeof text, registers, counts[i].most, counts[i].least);
        o = run_text(text, 384);
        cr_expect(eq(sz, o.found.count, counts[i].is_enough ? 0 : 1), "%d and %d: %s", counts[i].most, counts[i].least,
                  o.found.first[0].text);
        cr_expect(counts[i].is_enough ||
                      (o.found.first[0].kind == CUEMU_DEADLOCK &&
                       strstr(o.found.first[0].text, "its warpgroup waits for registers, of which the block has")),
                  "%s", o.found.first[0].text);
    }
}

Test(warpgroup, what_no_device_has_is_refused)
{
    static const struct {
        const char *piece, *instead, *says;
    } texts[] = {
        {".target sm_90a", ".target sm_90", "needs .target sm_90a"},
        {"m64n16k16", "m64n12k16", "this instruction"},
        {"f32.bf16.bf16", "f32.bf16.f16", "this instruction"},
        {"%f6, %f7}, %d4, %d5", "%f6}, %d4, %d5", "the operands do not fit"},
        {", 1, 1, 1, 0, 0;", ", 1, 1, 1, 0;", "the operands do not fit"},
        {", 1, 1, 1, 0;", ", 1, 1, 1, 0, 0;", "too many operands"},
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char *text = changed(texts[i].piece, texts[i].instead), log[1024], info[1024] = "";
        int option[] = {3, 4, 5, 6}; /* CU_JIT_INFO_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER, and their sizes */
        void *value[] = {info, (void *)(uintptr_t)sizeof info, log, (void *)(uintptr_t)sizeof log};
        void *module = NULL;
        log[0] = '\0';
        if (cu.load(&module, text, 4, option, value) == 0)
            cu.unload(module);
        cr_expect(strstr(log, texts[i].says) || strstr(info, texts[i].says), "%s: %s%s", texts[i].instead, log, info);
        free(text);
    }
}
