/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PTX as other compilers and hands write it: modifiers in their own order, names with scopes, addresses of parameters, calls in any
 * order, the newer instructions; and what is said of a kernel that the emulator cannot run, while its module is loaded.
 */
#include "emulator_test.h"

#define HEAD ".version 8.8\n.target sm_100\n.address_size 64\n"
#define REGISTERS                                                                                                          \
    ".reg .pred %p<8>;\n.reg .b8 %b<4>;\n.reg .b16 %h<8>;\n.reg .b32 %r<32>;\n.reg .b64 %d<16>;\n.reg .f32 %f<16>;\n.reg " \
    ".b128 "                                                                                                               \
    "%q<4>;\n"
/* %r1: the lane; %d1: where results are; %d2: that of the lane; %d3: zeros, 2 KiB of them; %p1: is it below 5? */
#define BEGIN                                                                                                          \
    "ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\nadd.s64 %d2, %d1, %d2;\nadd.s64 %d3, " \
    "%d1, 1024;\nmov.u32 %r10, 0;\nsetp.lt.u32 %p1, %r1, 5;\n"
#define ENTRY ".visible .entry k(.param .u64 out)\n{\n" REGISTERS BEGIN
#define DONE "st.global.u32 [%d2], %r10;\nret;\n}\n"

enum { NOT_SUPPORTED = 801 };

static void open_device(void)
{
    open_emulator("sm_100");
}

TestSuite(ptx, .init = open_device, .timeout = 120);

typedef struct run {
    int result;
    findings found;
    uint32_t out[1024];
} run;

/* A warp of k; out begins with zeros. parameters: those behind out, or NULL. */
static run run_kernel(const char *text, void *second)
{
    static const uint32_t zeros[1024];
    uint64_t out = device_memory(sizeof zeros, zeros);
    void *module, *function = NULL, *parameters[] = {&out, second};
    char log[1024];
    run r;

    module = load_ptx(text, log, sizeof log);
    cr_assert(ne(ptr, module, NULL), "%s", log);
    cr_assert(eq(int, cu.function(&function, module, "k"), 0), "%s", text);
    r.result = launch_and_wait(function, 1, 32, 0, parameters);
    r.found = take_findings();
    cr_assert(eq(int, cu.read(r.out, out, sizeof r.out), 0));
    cr_assert(eq(int, cu.unload(module), 0));
    cr_assert(eq(int, cu.free(out), 0));
    return r;
}

/* What a statement leaves in %r10 of lanes 0 and 5. */
typedef struct row {
    const char *statements;
    uint32_t lane_0, lane_5;
} row;

static void check_rows(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char text[4096];
        run r;
        snprintf(text, sizeof text, "%s%s\n%s", HEAD ENTRY, rows[i].statements, DONE);
        r = run_kernel(text, NULL);
        cr_expect(eq(sz, r.found.count, 0), "%s: %s", rows[i].statements, r.found.first[0].text);
        cr_expect(eq(u32, r.out[0], rows[i].lane_0), "%s", rows[i].statements);
        cr_expect(eq(u32, r.out[5], rows[i].lane_5), "%s", rows[i].statements);
    }
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof(rows)[0])

/* ---- names and modifiers ----------------------------------------------------------------------------------------------- */

Test(ptx, modifiers_come_in_any_order)
{
    static const row rows[] = {
        {"vote.ballot.sync.b32 %r10, %p1, 0xffffffff;", 31, 31},
        {"vote.sync.ballot.b32 %r10, %p1, 0xffffffff;", 31, 31},
        {"shfl.bfly.sync.b32 %r10, %r1, 1, 31, 0xffffffff;", 1, 4},
        {"atom.global.sys.add.u32 %r10, [%d3], 1;", 0, 5},
        {"atom.global.gpu.acq_rel.add.u32 %r10, [%d3], 2;", 0, 10},
        {"atom.add.relaxed.gpu.s32 %r10, [%d3], 3;", 0, 15},
        {"atom.global.b32.relaxed.cas.gpu %r10, [%d3], %r1, 7;", 0, 7},
        {"red.global.add.release.gpu.s32 [%d3], 1;\nbar.warp.sync 0xffffffff;\nld.global.acquire.gpu.b32 %r10, [%d3];", 32, 32},
        {"st.global.release.gpu.b32 [%d2], 9;\nld.global.relaxed.sys.u32 %r10, [%d2];", 9, 9},
        {"st.relaxed.global.cta.u32 [%d2], 8;\nld.volatile.global.u32 %r10, [%d2];", 8, 8},
        {"ld.global.L2::128B.L1::no_allocate.nc.u32 %r10, [%d3];", 0, 0},
        {"sub.s32 %r11, %r1, 3;\nmax.s32.relu %r10, %r11, -9;", 0, 2},
        {"sub.s32 %r11, %r1, 3;\nmax.relu.s32 %r10, %r11, -9;", 0, 2},
        {"mov.f32 %f1, 0f00000001;\nadd.rn.ftz.f32 %f2, %f1, %f1;\nadd.ftz.rn.f32 %f3, %f1, %f1;\nadd.f32.rn %f4, %f1, %f1;\n"
         "mov.b32 %r11, %f2;\nmov.b32 %r12, %f3;\nmov.b32 %r13, %f4;\nmad.lo.u32 %r10, %r11, 16, %r12;\n"
         "mad.lo.u32 %r10, %r10, 16, %r13;",
         2, 2},
        {"mov.f32 %f1, 0f3F801FFF;\ncvt.f16.f32.rz %h1, %f1;\ncvt.u32.u16 %r10, %h1;", 0x3c00, 0x3c00},
        {".shared .align 16 .b8 s[512];\nmov.u32 %r11, s;\nshl.b32 %r12, %r1, 4;\nadd.u32 %r11, %r11, %r12;\n"
         "st.shared.v4.u32 [%r11], {%r1, %r1, %r1, %r1};\nbar.warp.sync 0xffffffff;\n"
         "ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%r13, %r14, %r15, %r10}, [%r11];",
         24, 25},
    };
    CHECK_ROWS(rows);
}

Test(ptx, types_and_pairs_of_spaces_keep_their_order)
{
    static const row rows[] = {{"cvt.rn.f32.s32 %f1, %r1;\nmov.b32 %r10, %f1;", 0, 0x40a00000},
                               {"cvt.rn.f32.s32 %f1, %r1;\ncvt.rzi.s32.f32 %r10, %f1;", 0, 5}};
    static const char *const unknown[] = {
        "cp.async.ca.global.shared [%r11], [%d3], 4;",
        "mma.sync.aligned.m16n8k8.col.row.f32.tf32.tf32.f32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, "
        "{%r1,%r2}, {%r1,%r2,%r3,%r4};",
        "add.f32.f32 %f1, %f1, %f1;"};

    CHECK_ROWS(rows);
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        char text[2048], log[1024];
        void *module, *function;
        snprintf(text, sizeof text, "%s%s\n%s", HEAD ENTRY, unknown[i], DONE);
        module = load_ptx(text, log, sizeof log);
        cr_assert(ne(ptr, module, NULL), "%s: %s", unknown[i], log);
        cr_expect(eq(int, cu.function(&function, module, "k"), NOT_SUPPORTED), "%s", unknown[i]);
    }
}

Test(ptx, the_size_of_a_warp_is_a_number)
{
    static const row rows[] = {{"mov.u32 %r10, WARP_SZ;", 32, 32},
                               {"add.u32 %r10, %r1, WARP_SZ;", 32, 37},
                               {".shared .align 4 .b32 s[WARP_SZ];\nmov.u32 %r11, s;\nst.shared.u32 [%r11+124], 3;\n"
                                "ld.shared.u32 %r10, [%r11+124];",
                                3, 3}};

    cu.set_option(CUEMU_CHECKS, 0); /* all lanes write one word */
    CHECK_ROWS(rows);
}

Test(ptx, labels_are_known_in_their_scope)
{
    static const row rows[] = {
        {"{ .reg .pred P; L: add.u32 %r10, %r10, 1; setp.lt.u32 P, %r10, 5; @P bra L; }\n"
         "{ .reg .pred P; L: add.u32 %r10, %r10, 1; setp.lt.u32 P, %r10, 15; @P bra L; }",
         15, 15},
        /* forward, outwards, and past one of the same name further in */
        {"bra L;\nadd.u32 %r10, %r10, 100;\n{ L: add.u32 %r10, %r10, 10; bra M; }\nL: add.u32 %r10, %r10, 1;\nM:", 1, 1},
        {"{ { @%p1 bra OUT; } add.u32 %r10, %r10, 7; OUT: add.u32 %r10, %r10, 1; }", 1, 8},
    };
    char text[2048], log[1024];

    CHECK_ROWS(rows);
    snprintf(text, sizeof text, "%s{ INSIDE: add.u32 %%r10, %%r10, 1; }\nbra INSIDE;\n%s", HEAD ENTRY, DONE);
    cr_expect(eq(ptr, load_ptx(text, log, sizeof log), NULL));
    cr_expect(ne(ptr, strstr(log, "no label INSIDE"), NULL), "%s", log);
}

static const char parameter_addresses[] = HEAD
    ".visible .entry k(.param .u64 out, .param .align 4 .b8 list[128])\n{\n" REGISTERS BEGIN
    "mov.b64 %d5, list;\nmul.wide.u32 %d6, %r1, 4;\nadd.s64 %d5, %d5, %d6;\nld.param.u32 %r11, [%d5];\n"
    "mov.b64 %d7, list+4;\ncvta.param.u64 %d7, %d7;\nadd.s64 %d8, %d7, %d6;\n@%p1 ld.u32 %r12, [%d8];\n@!%p1 mov.u32 %r12, 0;\n"
    "cvta.to.param.u64 %d9, %d7;\nld.param.u32 %r13, [%d9];\nisspacep.param %p2, %d7;\nselp.u32 %r14, 1, 0, %p2;\n"
    "isspacep.param %p3, %d1;\nselp.u32 %r15, 1, 0, %p3;\n"
    "mad.lo.u32 %r10, %r12, 1000, %r11;\nmad.lo.u32 %r10, %r13, 1000000, %r10;\nmad.lo.u32 %r10, %r14, 10000000, %r10;\n"
    "mad.lo.u32 %r10, %r15, 100000000, %r10;\n" DONE;

Test(ptx, parameters_of_a_kernel_have_addresses)
{
    uint32_t list[32];
    run r;

    for (uint32_t i = 0; i < 32; i++)
        list[i] = i + 1;
    r = run_kernel(parameter_addresses, list);
    cr_assert(eq(sz, r.found.count, 0), "%s", r.found.first[0].text);
    for (uint32_t i = 0; i < 32; i++)
        cr_expect(eq(u32, r.out[i], 10000000 + 2000000 + (i < 5 ? (i + 2) * 1000 : 0) + i + 1), "lane %u", i);
}

Test(ptx, a_parameter_is_not_written)
{
    static const char text[] = HEAD ".visible .entry k(.param .u64 out, .param .align 4 .b8 list[128])\n{\n" REGISTERS BEGIN
                                    "mov.b64 %d5, list;\ncvta.param.u64 %d5, %d5;\natom.add.u32 %r10, [%d5], 1;\n" DONE;
    uint32_t list[32] = {0};
    const run r = run_kernel(text, list);

    cr_expect(eq(int, r.found.first[0].kind, CUEMU_ILLEGAL));
    cr_expect(ne(ptr, strstr(r.found.first[0].text, "read only"), NULL), "%s", r.found.first[0].text);
}

/* Of a function too: it reads word %r1 of the eight that it is given. And of local arrays, behind their beginning. */
static const char function_addresses[] = HEAD
    ".func (.param .b32 result) pick(.param .align 4 .b8 list[32], .param .b32 which)\n{\n.reg .b32 %r<4>;\n.reg .b64 "
    "%d<4>;\nld.param.b32 %r1, [which];\nmul.wide.u32 %d1, %r1, 4;\nmov.b64 %d2, list;\ncvta.local.u64 %d2, %d2;\n"
    "add.s64 %d2, %d2, %d1;\nld.u32 %r2, [%d2];\nst.param.b32 [result], %r2;\nret;\n}\n" ENTRY
    ".local .align 4 .b8 own[8];\nst.local.u32 [own+4], %r1;\nmov.b64 %d5, own+4;\nld.local.u32 %r12, [%d5];\nand.b32 %r11, "
    "%r1, "
    "7;\n{\n.param .align 4 .b8 list[32];\n.param .b32 which;\n.param .b32 result;\nst.param.v4.b32 [list], {10, 11, 12, 13};\n"
    "st.param.v4.b32 [list+16], {14, 15, 16, 17};\nst.param.b32 [which], %r11;\ncall (result), pick, (list, which);\n"
    "ld.param.b32 %r10, [result];\n}\nmad.lo.u32 %r10, %r12, 100, %r10;\n" DONE;

Test(ptx, parameters_of_a_function_have_addresses)
{
    const run r = run_kernel(function_addresses, NULL);

    cr_assert(eq(sz, r.found.count, 0), "%s", r.found.first[0].text);
    for (uint32_t i = 0; i < 32; i++)
        cr_expect(eq(u32, r.out[i], 10 + i % 8 + 100 * i), "lane %u", i);
}

/* ---- calls and kernels that cannot be run ------------------------------------------------------------------------------ */

#define FUNCTION(name, body)                                                                                                 \
    ".func (.param .b32 result) " name "(.param .b32 x)\n{\n.reg .b32 %r<8>;\n.reg .pred %p;\nld.param.b32 %r1, [x];\n" body \
    "st.param.b32 [result], %r2;\nret;\n}\n"
#define CALL(name, to, from) \
    "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], " from ";\ncall (b), " name ", (a);\nld.param.b32 " to ", [b];\n}\n"
#define DECLARE(name) ".func (.param .b32 result) " name "(.param .b32 x);\n"

Test(ptx, functions_call_those_behind_them)
{
    static const char text[] =
        HEAD DECLARE("second") DECLARE("third") FUNCTION("first", CALL("second", "%r2", "%r1") "add.u32 %r2, %r2, %r1;\n")
            FUNCTION("second", "mul.lo.u32 %r1, %r1, 10;\n" CALL("third", "%r2", "%r1") "add.u32 %r2, %r2, %r1;\n")
                ENTRY CALL("first", "%r10", "%r1") DONE FUNCTION("third", "mul.lo.u32 %r2, %r1, 10;\n");
    const run r = run_kernel(text, NULL);

    cr_assert(eq(sz, r.found.count, 0), "%s", r.found.first[0].text);
    for (uint32_t i = 0; i < 32; i++)
        cr_expect(eq(u32, r.out[i], 111 * i), "lane %u", i);
}

/* Load text, whose kernel "other" can be run and whose kernel "k" cannot. Why not, in the driver's words. */
static void expect_refused(const char *text, const char *const *says, size_t count)
{
    static char errors[512], info[2048];
    int option[] = {3, 4, 5, 6}; /* CU_JIT_INFO_LOG_BUFFER and its size, CU_JIT_ERROR_LOG_BUFFER and its size */
    void *value[] = {info, (void *)sizeof info, errors, (void *)sizeof errors};
    void *module = NULL, *function = NULL;

    errors[0] = info[0] = '\0';
    cr_assert(eq(int, cu.load(&module, text, 4, option, value), 0), "%s: %s", text, errors);
    cr_expect(eq(int, cu.function(&function, module, "k"), NOT_SUPPORTED), "%s", text);
    cr_expect(eq(int, cu.function(&function, module, "other"), 0), "%s", text);
    cr_expect(eq(int, launch_and_wait(function, 1, 32, 0, NULL), 0), "%s", text);
    cr_expect(eq(sz, (size_t)value[1], strlen(info)));
    for (size_t i = 0; i < count; i++)
        cr_expect(ne(ptr, strstr(info, says[i]), NULL), "\"%s\" lacks \"%s\"", info, says[i]);
    cr_expect(eq(int, cu.unload(module), 0));
}

#define OTHER ".visible .entry other()\n{\n.shared .align 4 .b32 word;\nst.shared.u32 [word], 1;\nret;\n}\n"

Test(ptx, what_is_not_known_refuses_the_kernel_alone)
{
    static const struct {
        const char *before, *statements, *says;
    } rows[] = {
        {"", "wgmma.fence.sync.aligned;", "this instruction: \"wgmma"},
        {"", "add.rq.f32 %f1, %f2, %f3;", "this instruction: \"add.rq"},
        {"", "add.u32.frob %r1, %r2, %r3;", "this instruction: \"add.u32.frob"},
        {"", "cvt.f32.s32 %f1, %r1;", "combination of modifiers"},
        {"", ".frob %r1;", "a directive"},
        {"", "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d2, {%f5, %f6}];", "this instruction: \"tex"},
        {"", "mbarrier.init.shared.b64 [%r3], 32;", "this instruction: \"mbarrier"},
        {"", "mov.u32 %r10, %cluster_ctarank;", "the register %cluster_ctarank"},
        {"", "add.u32 %r10, %r10, (3 + 4);", "an expression"},
        {"", "pr: .callprototype (.param .b32 _) _ (.param .b32 _);", "a call through a pointer"},
        {"", "call (%r1), %d2, (%r2), pr;", "no .param variables"},
        {FUNCTION("f", "mov.u32 %r2, 1;\n"), "mov.u64 %d5, f;", "the address of a function"},
        {FUNCTION("f", "mov.u32 %r2, 1;\n") ".global .align 8 .u64 table[2] = {f, f};\n", "ld.global.u64 %d5, [table+8];",
         "table, a variable with the address of a function"},
        {".visible .global .attribute(.managed) .align 4 .u32 m;\n", "ld.global.u32 %r10, [m];",
         "m, a variable in managed memory"},
        {".global .texref image;\n", "mov.u64 %d5, image;", "image, a variable that is a texture"},
        {".extern .func (.param .b32 p) malloc(.param .b32 x);\n", CALL("malloc", "%r10", "%r1"),
         "malloc, a function without a body"},
        {FUNCTION("f", "mov.u32 %r2, 2;\n" CALL("f", "%r2", "%r2")), CALL("f", "%r10", "%r1"), "recursion"},
        {DECLARE("g") FUNCTION("f", CALL("g", "%r2", "%r1")) FUNCTION("g", CALL("f", "%r2", "%r1")), CALL("g", "%r10", "%r1"),
         "recursion"},
        {FUNCTION("f", "tcgen05.fence;\nmov.u32 %r2, %r1;\n") FUNCTION("g", CALL("f", "%r2", "%r1")), CALL("g", "%r10", "%r1"),
         "a call of g, which cannot be run"},
        {".func (.reg .b32 y) f(.reg .b32 x)\n{\nmov.b32 y, x;\nret;\n}\n", CALL("f", "%r10", "%r1"),
         "parameters in registers"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const says[] = {"k cannot be run: line ", "(kernel k)", "not supported by the emulator", rows[i].says};
        char text[4096];
        snprintf(text, sizeof text, "%s%s%s%s\n%s%s", HEAD, rows[i].before, ENTRY, rows[i].statements, DONE, OTHER);
        expect_refused(text, says, 4);
        snprintf(text, sizeof text, "%s%s%s%s%s\n%s", HEAD, rows[i].before, OTHER, ENTRY, rows[i].statements, DONE);
        expect_refused(text, says, 4);
    }
}

Test(ptx, a_kernel_of_clusters_is_refused_alone)
{
    static const char *const says[] = {"(kernel k)", "clusters"};

    expect_refused(HEAD ".visible .entry k(.param .u64 out)\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{\nret;\n}\n" OTHER,
                   says, 2);
}

/* The same statement is a mistake in one kernel and, with another register, beyond the emulator in the other. */
Test(ptx, messages_name_the_kernel_and_the_cuda_line)
{
#define LINES(statement) HEAD OTHER ENTRY ".loc 1 20 5\n" statement "\n" DONE ".file 1 \"/home/me/gemm.cu\"\n"
    static const char *const unknown[] = {"k cannot be run: line 27 (kernel k, gemm.cu:20): not supported by the emulator: ",
                                          "\"mov.u32 %r10, %clusterid.x;\""};
    static const char *const wrong[] = {"line 27 (kernel k, gemm.cu:20): the PTX is wrong: no register %r99",
                                        "\"mov.u32 %r10, %r99;\""};
    char log[512];

    expect_refused(LINES("mov.u32 %r10, %clusterid.x;"), unknown, 2);
    cr_expect(eq(ptr, load_ptx(LINES("mov.u32 %r10, %r99;"), log, sizeof log), NULL));
    for (int i = 0; i < 2; i++)
        cr_expect(ne(ptr, strstr(log, wrong[i]), NULL), "%s", log);
}
