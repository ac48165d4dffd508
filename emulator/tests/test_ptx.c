/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
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

/* A warp of k; out begins with zeros. parameters: those after out, or NULL. */
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

/* The value of a statement in %r10 of lanes 0 and 5. */
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
        ("mma.sync.aligned.m16n8k8.col.row.f32.tf32.tf32.f32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, "
         "{%r1,%r2}, {%r1,%r2,%r3,%r4};"),
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

Test(ptx, a_sum_is_a_number)
{
    static const row rows[] = {
        {"mov.u32 %r10, 3+4;", 7, 7},
        {"add.u32 %r10, %r1, 3+-4;", UINT32_MAX, 4},
        {"mov.b64 %d5, {3+4, 1};\nmov.b64 {%r10, %r11}, %d5;", 7, 7},
        {".global .u32 t[3] = {1, 2, 9};\nld.global.u32 %r10, [t+4+4];", 9, 9},
    };
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

/* Addresses of a function too: it reads word %r1 of its eight. And of local arrays, past their beginning. */
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

/* Load text, whose kernel "other" can run and whose kernel "k" cannot. says: the driver's reason. */
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
        {"", "wgmma.fence.sync.aligned;", "this instruction, which needs .target sm_90a: \"wgmma"},
        {"", "add.rq.f32 %f1, %f2, %f3;", "this instruction: \"add.rq"},
        {"", "add.u32.frob %r1, %r2, %r3;", "this instruction: \"add.u32.frob"},
        {"", "cvt.f32.s32 %f1, %r1;", "combination of modifiers"},
        {"", ".frob %r1;", "a directive"},
        {"", "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d2, {%f5, %f6}];", "this instruction: \"tex"},
        {"", "mbarrier.frob.shared.b64 [%r3], 32;", "this instruction: \"mbarrier"},
        {"", "mov.u32 %r10, %aggr_smem_size;", "the register %aggr_smem_size"},
        {"", "add.u32 %r10, %r10, (3 + 4);", "an expression: \"add.u32 %r10, %r10, (3 + 4);\""},
        {"", "mov.u32 %r9, 1; mov.u32 %r10, 3+4*2; mov.u32 %r9, 2;", "an expression: \"mov.u32 %r10, 3+4*2;\""},
        {"", "mov.u32 %r10, 3-4;", "an expression"},
        {"", "mov.u32 %r10, %r1+4;", "an expression"},
        {"", "mov.u32 %r10, 1<<4;", "an expression"},
        {"", "mov.u32 %r10, ~1;", "an expression"},
        {".global .u32 table[3] = {1, (4<<3)+1, 2*3};\n", "ld.global.u32 %r10, [table];",
         "table, a variable with an expression as its value"},
        {".global .u32 three = 1+2;\n", "ld.global.u32 %r10, [three];", "three, a variable with an expression as its value"},
        {"", "vadd4.u32.u32.u32 %r10.b10, %r1.b3210, %r2, %r3;", "selector of bytes or halves"},
        {"", "vadd4.u32.u32.u32 %r10, %r1.h1, %r2, %r3;", "selector of bytes or halves"},
        {".visible .func f() { ret; }\n.visible .func g();\n.alias g, f;\n", "call g;", "g, a function without a body"},
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
        {FUNCTION("f", "multimem.red;\nmov.u32 %r2, %r1;\n") FUNCTION("g", CALL("f", "%r2", "%r1")), CALL("g", "%r10", "%r1"),
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

Test(ptx, what_the_target_lacks_refuses_the_kernel_alone)
{
    static const struct {
        const char *target, *statement, *says;
    } rows[] = {
        {"75",
         "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, "
         "{%f1,%f2,%f3,%f4};",
         "sm_80 or later where the text has sm_75: \"mma"},
        {"80",
         "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, "
         "{%f1,%f2,%f3,%f4};",
         "sm_89 or later where the text has sm_80: \"mma"},
        {"89", "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%d4,%d5,%d6,%d7}, {%d4,%d5}, {%d4}, {%d4,%d5,%d6,%d7};",
         "sm_90 or later where the text has sm_89: \"mma"},
        {"75", "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc {%r2,%r3}, {%r4}, {%r5}, {%r6,%r7};",
         "sm_80 or later where the text has sm_75: \"mma"},
        {"75", "wmma.load.a.sync.aligned.row.m8n8k4.f64 {%d4}, [%d3];", "sm_80 or later where the text has sm_75: \"wmma"},
        {"86", "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", "sm_89 or later where the text has sm_86: \"cvt"},
        {"80", "cvt.rn.tf32.f32 %r2, %f1;", "sm_90 or later where the text has sm_80: \"cvt"},
        {"75", "cvt.rna.tf32.f32 %r2, %f1;", "sm_80 or later where the text has sm_75: \"cvt"},
        {"75", "cp.async.ca.shared.global [%r2], [%d3], 16;", "sm_80 or later where the text has sm_75: \"cp.async"},
        {"89", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r3};", "sm_90 or later where the text has sm_89: \"stmatrix"},
        {"100f", "tcgen05.mma.cta_group::1.kind::i8 [%r2], %d4, %d5, %r3, %p1;", "sm_100a: \"tcgen05.mma"},
        {"100f", "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [%r2], %d4, %d5, %r3, [%r4], [%r5], %p1;",
         "sm_100a: \"tcgen05.mma"},
        {"100", "tcgen05.wait::ld.sync.aligned;", "sm_100a: \"tcgen05.wait"},
        {"75", "fma.rn.bf16x2 %r2, %r3, %r4, %r5;", "sm_80 or later where the text has sm_75: \"fma"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[4096];
        snprintf(text, sizeof text, ".version 8.7\n.target sm_%s\n.address_size 64\n%s%s\n%s%s", rows[i].target, ENTRY,
                 rows[i].statement, DONE, OTHER);
        expect_refused(text, &rows[i].says, 1);
    }
}

Test(ptx, a_kernel_with_an_unknown_attribute_is_refused_alone)
{
    static const char *const says[] = {"(kernel k)", "an attribute of a function"};

    expect_refused(HEAD ".visible .entry k(.param .u64 out)\n.frobnicated 2\n{\nret;\n}\n" OTHER, says, 2);
}

/* The same statement is a mistake in one kernel and, with another register, beyond the emulator in the other. */
Test(ptx, messages_name_the_kernel_and_the_cuda_line)
{
#define LINES(statement) HEAD OTHER ENTRY ".loc 1 20 5\n" statement "\n" DONE ".file 1 \"/home/me/gemm.cu\"\n"
    static const char *const unknown[] = {"k cannot be run: line 27 (kernel k, gemm.cu:20): not supported by the emulator: ",
                                          "\"mov.u32 %r10, %aggr_smem_size;\""};
    static const char *const wrong[] = {"line 27 (kernel k, gemm.cu:20): the PTX is wrong: no register %r99",
                                        "\"mov.u32 %r10, %r99;\""};
    char log[512];

    expect_refused(LINES("mov.u32 %r10, %aggr_smem_size;"), unknown, 2);
    cr_expect(eq(ptr, load_ptx(LINES("mov.u32 %r10, %r99;"), log, sizeof log), NULL));
    for (int i = 0; i < 2; i++)
        cr_expect(ne(ptr, strstr(log, wrong[i]), NULL), "%s", log);
}

/* ---- matrices of a warp ------------------------------------------------------------------------------------------------ */

/* s holds 512 bytes that are 1; %d5 is its address anywhere. */
#define ONES                                                                                                     \
    ".shared .align 16 .b8 s[512];\nmov.u32 %r11, s;\nshl.b32 %r12, %r1, 4;\nadd.u32 %r12, %r11, %r12;\n"        \
    "mov.b32 %r13, 0x01010101;\nst.shared.v4.u32 [%r12], {%r13, %r13, %r13, %r13};\nbar.warp.sync 0xffffffff;\n" \
    "mov.u64 %d5, s;\ncvta.shared.u64 %d5, %d5;\n"
#define NOTHING "{%r10, %r10, %r10, %r10, %r10, %r10, %r10, %r10}"
#define PRODUCT_OF_ONES(a, b)                                                                                         \
    "wmma.load.a.sync.aligned.row.m8n32k16" a ";\nwmma.load.b.sync.aligned.col.m8n32k16" b ";\n"                      \
    "wmma.mma.sync.aligned.row.col.m8n32k16.s32.s8.u8.s32 {%r22, %r23, %r24, %r25, %r26, %r27, %r28, %r29}, {%r14}, " \
    "{%r15, %r16, %r17, %r18}, " NOTHING ";\n"

Test(ptx, wmma_takes_any_address_and_any_stride)
{
    static const row rows[] = {
        {ONES PRODUCT_OF_ONES(".shared.s8 {%r14}, [%r11]", ".shared.u8 {%r15, %r16, %r17, %r18}, [s]") "mov.b32 %r10, %r29;",
         16, 16},
        {ONES PRODUCT_OF_ONES(".s8 {%r14}, [%d5+64], 16", ".u8 {%r15, %r16, %r17, %r18}, [%d5], %r10") "mov.b32 %r10, %r22;",
         16, 16},
        {ONES PRODUCT_OF_ONES(".global.s8 {%r14}, [%d3]", ".u8 {%r15, %r16, %r17, %r18}, [%d5]") "mov.b32 %r10, %r22;", 0, 0},
        {ONES PRODUCT_OF_ONES(
             ".shared.s8 {%r14}, [%r11]",
             ".shared.u8 {%r15, %r16, %r17, %r18}, [s]") "wmma.store.d.sync.aligned.col.m8n32k16.s32 [%d3], {%r22, %r23, %r24, "
                                                         "%r25, %r26, %r27, %r28, %r29}, 16;\n"
                                                         "bar.warp.sync 0xffffffff;\nmul.wide.u32 %d6, %r1, 8;\nadd.s64 %d6, "
                                                         "%d3, %d6;\nld.global.u32 %r10, [%d6];",
         16, 0}, /* lines of 8 that begin every 16 */
    };

    CHECK_ROWS(rows);
}

Test(ptx, wmma_is_checked)
{
    static const struct {
        const char *statements, *says;
    } rows[] = {
        {ONES
         "mov.u32 %r10, 40;\n" PRODUCT_OF_ONES(".shared.s8 {%r14}, [s], %r10", ".shared.u8 {%r15, %r16, %r17, %r18}, [s+16]"),
         "beyond"},
        {ONES "wmma.store.d.sync.aligned.row.m8n32k16.shared.f16 [s], {%r1, %r1, %r1, %r1}, 8;", "since the last barrier"},
        {".shared .align 16 .b8 t[512];\n" ONES PRODUCT_OF_ONES(".shared.s8 {%r14}, [t]",
                                                                ".shared.u8 {%r15, %r16, %r17, %r18}, [s]"),
         "in a matrix product"},
        {ONES "wmma.load.a.sync.aligned.row.m8n32k16.shared.s8 {%r14}, [s], %r30;", "as the distance of lines"},
        {"wmma.store.d.sync.aligned.row.m8n32k16.f16 [%d3], {%r30, %r30, %r30, %r30}, 32;", "in a store to global memory"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[4096];
        run r;
        snprintf(text, sizeof text, "%s%s\n%s", HEAD ENTRY, rows[i].statements, DONE);
        r = run_kernel(text, NULL);
        cr_expect(ne(ptr, strstr(r.found.count ? r.found.first[0].text : "", rows[i].says), NULL), "%s: %s", rows[i].statements,
                  r.found.count ? r.found.first[0].text : "nothing found");
    }
}

/* ---- newer instructions ------------------------------------------------------------------------------------------------ */

Test(ptx, hints_change_nothing)
{
    static const row rows[] = {
        {"fence.proxy.alias;\nfence.proxy.async;\n"
         "fence.proxy.async.shared::cta;\nfence.proxy.async.global;\nfence.mbarrier_init.release.cluster;\nmembar.proxy.alias;"
         "\n"
         "fence.proxy.tensormap::generic.release.gpu;\nfence.proxy.tensormap::generic.acquire.gpu [%d1], 128;\n"
         "fence.acquire.sync_restrict::shared::cluster.cluster;\n"
         "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\n"
         "prefetch.global.L2::evict_last [%d1];\nprefetch.tensormap [%d1];\nprefetch.param.tensormap [out];\nprefetchu.L1 "
         "[%d1];\n"
         "applypriority.global.L2::evict_normal [%d1], 128;\nmov.u32 %r10, 7;",
         7, 7},
        {"mov.u32 %r10, %envreg0;\nmov.u32 %r11, %envreg31;\nadd.u32 %r10, %r10, %r11;", 0, 0},
        {"createpolicy.fractional.L2::evict_last.b64 %d5, 1.0;\n"
         "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %d6;\n"
         "createpolicy.range.global.L2::evict_last.L2::evict_first.b64 %d7, [%d1], 128, 256;\ncreatepolicy.cvt.L2.b64 %d8, "
         "%d7;\n"
         "st.global.L2::cache_hint.u32 [%d2], %r1, %d5;\nld.global.nc.L1::no_allocate.L2::cache_hint.u32 %r11, [%d2], %d6;\n"
         "atom.global.add.L2::cache_hint.u32 %r12, [%d2], 2, %d7;\nred.global.add.L2::cache_hint.u32 [%d2], 3, %d8;\n"
         "ld.L2::cache_hint.global.u32 %r13, [%d2], %d5;\nmad.lo.u32 %r10, %r11, 10000, %r12;\nmad.lo.u32 %r10, %r10, 10, "
         "%r13;",
         5, 500060},
        {".shared .align 16 .b8 s[512];\nmov.u32 %r11, s;\nshl.b32 %r12, %r1, 4;\nadd.u32 %r11, %r11, %r12;\n"
         "createpolicy.fractional.L2::evict_first.b64 %d5;\nst.global.u32 [%d2], 6;\n"
         "cp.async.ca.shared.global.L2::cache_hint.L2::128B [%r11], [%d2], 4, %d5;\ncp.async.wait_all;\nld.shared.u32 %r10, "
         "[%r11];",
         6, 6},
    };
    char text[2048], log[512];

    CHECK_ROWS(rows);
    snprintf(text, sizeof text, "%sld.global.L2::cache_hint.u32 %%r10, [%%d3];\n%s", HEAD ENTRY, DONE);
    cr_expect(eq(ptr, load_ptx(text, log, sizeof log), NULL), "a hint without its policy");
    snprintf(text, sizeof text, "%sld.global.u32 %%r10, [%%d3], %%d5;\n%s", HEAD ENTRY, DONE);
    cr_expect(eq(ptr, load_ptx(text, log, sizeof log), NULL), "a policy without its hint");
}

Test(ptx, what_was_discarded_is_not_read)
{
    static const char text[] =
        HEAD ENTRY "setp.eq.u32 %p2, %r1, 0;\n@%p2 discard.global.L2 [%d3], 128;\n@%p2 ld.global.u32 %r10, "
                   "[%d3+124];\n" DONE;
    const run r = run_kernel(text, NULL);

    cr_expect(eq(int, r.found.first[0].kind, CUEMU_UNINITIALISED), "%s", r.found.first[0].text);
}

#define PAIR(to, low, high) "mov.b64 " to ", {" low ", " high "};\n"

/* Compilers take the upper half of a register so. A half that nothing has set must not remain in the result. */
Test(ptx, a_half_that_is_shifted_out_need_not_be_set)
{
    static const struct {
        const char *shift;
        bool is_found;
    } rows[] = {
        {"shr.u64 %d6, %d5, 32;\nmov.b64 {%r10, %r12}, %d6;\n", false},
        {"shr.u64 %d6, %d5, 48;\nmov.b64 {%r10, %r12}, %d6;\n", false},
        {"mov.b64 {%r11, %r10}, %d5;\n", false},
        {"mov.b64 {%r11, %r10}, %d5;\nadd.u32 %r10, %r10, %r11;\n", true},
        {"shr.u64 %d6, %d5, 31;\nmov.b64 {%r10, %r12}, %d6;\n", true},
        {"shr.u64 %d6, %d5, 32;\nadd.u64 %d6, %d6, %d5;\nmov.b64 {%r10, %r12}, %d6;\n", true},
    };
    char text[2048];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run r;

        snprintf(text, sizeof text, "%s" PAIR("%%d5", "%%r14", "%%r1") "%s%s", HEAD ENTRY, rows[i].shift, DONE);
        r = run_kernel(text, NULL);
        cr_expect(eq(u64, r.found.count, rows[i].is_found), "row %zu: %s", i, r.found.first[0].text);
    }
}

Test(ptx, two_floats_in_one_register)
{
    static const row rows[] = {
        /* 1 and 2, with 2^-24 and 4: rounded to nearest, and upwards */
        {PAIR("%d5", "0f3f800000", "0f40000000")
             PAIR("%d6", "0f33800000", "0f40800000") "add.f32x2 %d7, %d5, %d6;\nadd.rp.f32x2 "
                                                     "%d8, %d5, %d6;\nmov.b64 {%r11, %r12}, %d7;\nmov.b64 {%r13, %r14}, "
                                                     "%d8;\nsub.u32 %r10, %r13, %r11;\nsub.u32 %r11, %r12, "
                                                     "0x40c00000;\nsub.u32 %r12, %r14, 0x40c00000;\nmad.lo.u32 %r10, %r11, 10, "
                                                     "%r10;\nmad.lo.u32 %r10, %r12, 10, %r10;",
         1, 1},
        {PAIR("%d5", "0f40400000", "0f40000000")
             PAIR("%d6", "0f3f800000", "0f40800000") "sub.rn.f32x2 %d7, %d5, %d6;\nmov.b64 {%r10, "
                                                     "%r11}, %d7;\nxor.b32 %r10, %r10, %r11;",
         0x80000000, 0x80000000},
        {PAIR("%d5", "0f40400000", "0f40000000")
             PAIR("%d6", "0f3f800000", "0f40800000") "mul.f32x2 %d7, %d5, %d6;\nmov.b64 {%r11, "
                                                     "%r10}, %d7;",
         0x41000000, 0x41000000},
        {PAIR("%d5", "0f40400000", "0f40000000")
             PAIR("%d6", "0f3f800000", "0f40800000") "fma.rn.f32x2 %d7, %d5, %d6, %d5;\nmov.b64 "
                                                     "{%r11, %r10}, %d7;",
         0x41200000, 0x41200000},
        {PAIR("%d5", "0f00000001",
              "0f00000001") "add.ftz.f32x2 %d7, %d5, %d5;\nadd.f32x2 %d8, %d5, %d5;\nmov.b64 {%r11, %r12}, "
                            "%d7;\nmov.b64 {%r13, %r14}, %d8;\nadd.u32 %r10, %r11, %r12;\nmad.lo.u32 %r10, %r10, 10, "
                            "%r13;\nadd.u32 %r10, %r10, %r14;",
         4, 4},
    };
    CHECK_ROWS(rows);
}

#define F32(body) body "mov.b32 %r10, %f1;"

Test(ptx, the_least_and_the_greatest_of_three)
{
    static const row rows[] = {
        {F32("max.f32 %f1, 0f3f800000, 0f40000000, 0f40400000;\n"), 0x40400000, 0x40400000},
        {F32("min.f32 %f1, 0f40000000, 0f40400000, 0f3f800000;\n"), 0x3f800000, 0x3f800000},
        {F32("max.f32 %f1, 0f7fc00000, 0fc0000000, 0f7fc00000;\n"), 0xc0000000, 0xc0000000},
        {F32("max.f32 %f1, 0f7fc00000, 0f7fc00000, 0f7fc00000;\n"), 0x7fffffff, 0x7fffffff},
        {F32("min.NaN.f32 %f1, 0f3f800000, 0f7fc00000, 0f40400000;\n"), 0x7fffffff, 0x7fffffff},
        {F32("max.abs.f32 %f1, 0fc0a00000, 0f3f800000, 0f40000000;\n"), 0x40a00000, 0x40a00000},
        {F32("min.f32 %f1, 0f00000000, 0f80000000, 0f00000000;\n"), 0x80000000, 0x80000000},
        {F32("max.ftz.f32 %f1, 0f00000001, 0f80000001, 0fbf800000;\n"), 0, 0},
        {F32("cvt.rn.f32.u32 %f2, %r1;\nadd.f32 %f2, %f2, 0fc0400000;\nredux.sync.min.f32 %f1, %f2, 0xffffffff;\n"), 0xc0400000,
         0xc0400000},
        {F32("cvt.rn.f32.u32 %f2, %r1;\nadd.f32 %f2, %f2, 0fc2200000;\nredux.sync.max.abs.f32 %f1, %f2, 0xffffffff;\n"),
         0x42200000, 0x42200000},
        {F32("mov.f32 %f2, 0f00000000;\n@%p1 mov.f32 %f2, 0f7fc00000;\nredux.sync.max.NaN.f32 %f1, %f2, 0xffffffff;\n"),
         0x7fffffff, 0x7fffffff},
        {F32("mov.f32 %f2, 0f80000000;\n@%p1 mov.f32 %f2, 0f7fc00000;\nredux.sync.max.f32 %f1, %f2, 0xffffffff;\n"), 0x80000000,
         0x80000000},
    };
    CHECK_ROWS(rows);
}

Test(ptx, four_bytes_at_once)
{
    static const row rows[] = {
        {"vadd4.s32.s32.s32.sat %r10, 0x7f80ff01, 0x01ff0102, 0;", 0x7f800003, 0x7f800003},
        {"vadd4.s32.s32.s32 %r10, 0x7f80ff01, 0x01ff0102, 0xffffffff;", 0x807f0003, 0x807f0003},
        {"vadd4.u32.u32.s32.sat %r10, 0x02ff0100, 0xff01ff05, 0;", 0x01ff0005, 0x01ff0005},
        {"vsub4.u32.u32.u32.sat %r10, 0x05010203, 0x04020200, 0;", 0x01000003, 0x01000003},
        {"vavrg4.s32.s32.s32 %r10, 0x000003ff, 0x00000400, 0;", 0x000004ff, 0x000004ff},
        {"vabsdiff4.u32.u32.u32 %r10, 0x10ff0005, 0x20010500, 77;", 0x10fe0505, 0x10fe0505},
        {"vabsdiff4.u32.u32.u32.add %r10, 0x10ff0005, 0x20010500, %r1;", 280, 285},
        {"vabsdiff4.u32.s32.s32 %r10, 0x80ff0005, 0x7f010500, 0;", 0xff020505, 0xff020505},
        {"vmin4.s32.s32.s32 %r10, 0x80ff0005, 0x7f010500, 0;", 0x80ff0000, 0x80ff0000},
        {"vmax4.u32.u32.u32 %r10, 0x80ff0005, 0x7f010500, 0;", 0x80ff0505, 0x80ff0505},
    };
    CHECK_ROWS(rows);
}

Test(ptx, floats_of_four_and_six_bits)
{
    static const row rows[] = {
        {"cvt.rn.satfinite.e2m1x2.f32 %b1, 0f3fc00000, 0fc0c00000;\ncvt.u32.u8 %r10, %b1;", 0x3f, 0x3f},
        {"cvt.rn.satfinite.e2m1x2.f32 %b1, 0f42c80000, 0fffc00000;\ncvt.u32.u8 %r10, %b1;", 0x77, 0x77},
        {"cvt.rn.satfinite.relu.e2m1x2.f32 %b1, 0fc0c00000, 0f3e800000;\ncvt.u32.u8 %r10, %b1;", 0x00,
         0x00}, /* 0.25: to even */
        {"cvt.rn.satfinite.e2m1x2.f32 %b1, 0f3fc00000, 0fc0c00000;\ncvt.rn.f16x2.e2m1x2 %r10, %b1;", 0x3e00c600, 0x3e00c600},
        {"cvt.rn.satfinite.e2m1x2.f32 %b1, 0f3fc00000, 0fc0c00000;\ncvt.rn.relu.f16x2.e2m1x2 %r10, %b1;", 0x3e000000,
         0x3e000000},
        {"cvt.rn.satfinite.e2m3x2.f32 %h1, 0f3f900000, 0fbe000000;\ncvt.u32.u16 %r10, %h1;", 0x0921, 0x0921},
        {"cvt.rn.satfinite.e2m3x2.f32 %h1, 0f42c80000, 0f7fc00000;\ncvt.u32.u16 %r10, %h1;", 0x1f1f, 0x1f1f},
        {"cvt.rn.satfinite.e3m2x2.f32 %h1, 0f41e00000, 0f3d800000;\ncvt.u32.u16 %r10, %h1;", 0x1f01, 0x1f01},
        {"mov.b16 %h1, 0x3f01;\ncvt.rn.f16x2.e3m2x2 %r10, %h1;", 0xcf002c00, 0xcf002c00},
        {"mov.b16 %h1, 0x2109;\ncvt.rn.f16x2.e2m3x2 %r10, %h1;", 0xb0003c80, 0xb0003c80},
        {"cvt.rn.satfinite.e4m3x2.f32 %h1, 0f7fc00000, 0fc3e00000;\ncvt.u32.u16 %r10, %h1;", 0x7ffe, 0x7ffe},
    };
    CHECK_ROWS(rows);
}

Test(ptx, atomics_of_vectors_and_of_128_bits)
{
    static const row rows[] = {
        {F32("atom.global.v4.f32.add {%f2, %f3, %f4, %f1}, [%d3], {0f3f800000, 0f40000000, 0f40400000, 0f40800000};\n"), 0,
         0x41a00000},
        {F32("red.global.add.v2.f32 [%d3], {0f3f800000, 0f40000000};\nbar.warp.sync 0xffffffff;\nld.relaxed.gpu.global.f32 "
             "%f1, "
             "[%d3+4];\n"),
         0x42800000, 0x42800000},
        {"mov.b16 %h1, 0x3c00;\nmov.b16 %h2, 0x4000;\natom.global.add.noftz.v2.f16 {%h3, %h4}, [%d3], {%h1, %h2};\n"
         "mov.b32 %r10, {%h3, %h4};",
         0, 0x49004500},
        {"mov.b64 %d5, 5;\nmov.b64 %d6, 6;\nmov.b128 %q1, {%d5, %d6};\nmov.b128 %q2, %q1;\n@!%p1 mov.u64 %d6, 0;\n"
         "mul.wide.u32 %d7, %r1, 16;\nadd.s64 %d7, %d3, %d7;\natom.global.b128.exch %q3, [%d7], %q2;\nld.global.b128 %q3, "
         "[%d7];\n"
         "mov.b128 {%d8, %d9}, %q3;\ncvt.u32.u64 %r11, %d8;\ncvt.u32.u64 %r12, %d9;\nmad.lo.u32 %r10, %r11, 10, %r12;",
         56, 56},
        /* lane 0 finds zeros and leaves 5, 6; lane 5 finds those, and no zeros */
        {"mov.b64 %d5, 5;\nmov.b64 %d6, 6;\nmov.b64 %d7, 0;\nmov.b128 %q1, {%d5, %d6};\nmov.b128 %q2, {%d7, %d7};\n"
         "atom.global.cas.b128 %q3, [%d3], %q2, %q1;\nmov.b128 {%d8, %d9}, %q3;\ncvt.u32.u64 %r11, %d8;\ncvt.u32.u64 %r12, "
         "%d9;\n"
         "mad.lo.u32 %r10, %r11, 10, %r12;",
         0, 56},
        {"mul.wide.u32 %d5, %r1, 1;\nmul.wide.u32 %d7, %r1, 16;\nadd.s64 %d7, %d3, %d7;\nmov.b128 %q1, {%d5, %d5};\n"
         "st.global.b128 [%d7], %q1;\nld.global.v2.u64 {%d8, %d9}, [%d7];\nadd.s64 %d8, %d8, %d9;\ncvt.u32.u64 %r10, %d8;",
         0, 10},
    };
    CHECK_ROWS(rows);
}

/* ---- what blocks and warps do to each other ---------------------------------------------------------------------------- */

/* 1 / 1 + 1 / 2 + ...: another order of the blocks gives other bits. */
static const char harmonic[] = HEAD ENTRY "mov.u32 %r11, %ctaid.x;\ncvt.rn.f32.u32 %f1, %r11;\nadd.f32 %f1, %f1, 0f3f800000;\n"
                                          "rcp.rn.f32 %f1, %f1;\nsetp.eq.u32 %p2, %r1, 0;\n"
                                          "@%p2 red.global.add.f32 [%d3], %f1;\nret;\n}\n";

Test(ptx, atomics_of_floats_take_the_blocks_in_order)
{
    enum { BLOCKS = 3000 };
    uint64_t out = device_memory(4096, NULL);
    void *module, *function, *parameters[] = {&out};
    float expected = 0, sum;
    char log[512];

    module = load_ptx(harmonic, log, sizeof log);
    cr_assert(ne(ptr, module, NULL), "%s", log);
    cr_assert(eq(int, cu.function(&function, module, "k"), 0));
    for (int i = 0; i < BLOCKS; i++)
        expected += 1 / (float)(i + 1);
    cu.set_option(CUEMU_CHECKS, 0);
    cu.set_option(CUEMU_THREADS, 4);
    for (int time = 0; time < 20; time++) {
        cr_assert(eq(int, cu.write(out + 1024, &(float){0}, sizeof sum), 0));
        cr_assert(eq(int, launch_and_wait(function, BLOCKS, 32, 0, parameters), 0));
        cr_assert(eq(int, cu.read(&sum, out + 1024, sizeof sum), 0));
        cr_expect(eq(flt, sum, expected));
    }
}

/* Warp 0 stores a word that warp 1 loads, with nothing between that orders them. */
Test(ptx, weak_accesses_race)
{
    static const char text[] =
        HEAD ENTRY ".shared .align 4 .b32 word;\nsetp.ge.u32 %p2, %r1, 32;\n@%p2 ld.weak.shared.u32 %r10, "
                   "[word];\nsetp.eq.u32 %p3, %r1, 0;\n@%p3 st.weak.shared.u32 [word], 1;\nret;\n}\n";
    uint64_t out = device_memory(4096, NULL);
    void *module, *function, *parameters[] = {&out};
    findings found;
    char log[512];

    module = load_ptx(text, log, sizeof log);
    cr_assert(ne(ptr, module, NULL), "%s", log);
    cr_assert(eq(int, cu.function(&function, module, "k"), 0));
    cu.set_option(CUEMU_CHECKS, CUEMU_CHECK_RACES);
    (void)launch_and_wait(function, 1, 64, 0, parameters);
    found = take_findings();
    cr_assert(ge(sz, found.count, 1));
    cr_expect(eq(int, found.first[0].kind, CUEMU_RACE_SHARED), "%s", found.first[0].text);
}

/* ---- products of small whole numbers ----------------------------------------------------------------------------------- */

/* Registers of each lane: a, then b, then c; any bits. */
static uint32_t word_of(unsigned lane, unsigned number)
{
    return (lane * 2654435761u + 12345) * (number * 40503u + 977) ^ lane << number;
}

typedef struct whole_product {
    const char *mnemonic;
    int m, k, bits;
    bool a_is_signed, b_is_signed;
    int how; /* 0: multiply; 1: xor; 2: and */
} whole_product;

static int64_t element_of(uint32_t word, int at, int bits, bool is_signed)
{
    const int64_t value = word >> at * bits & ((1u << bits) - 1);

    return is_signed && value >> (bits - 1) ? value - (INT64_C(1) << bits) : value;
}

/*
 * Lane l has, in its register n of A, row l / 4 (+ 8 in every second one, if there are 16 rows), and columns from 32 / bits *
 * (l % 4) on, in the upper half of the registers half of k further; for B row and column change places, and there is no second
 * half of rows.
 */
static int64_t expected_element(const whole_product *p, int row, int column, int in_a, int in_b)
{
    const int in_word = 32 / p->bits, halves = p->m / 8;
    int64_t sum = 0;

    for (int k = 0; k < p->k; k++) {
        const int place = k / in_word, lane = place % 4, part = place / 4;
        const int64_t a = element_of(word_of((unsigned)(row % 8 * 4 + lane), (unsigned)(part * halves + row / 8)), k % in_word,
                                     p->bits, p->a_is_signed);
        const int64_t b =
            element_of(word_of((unsigned)(column * 4 + lane), (unsigned)(in_a + part)), k % in_word, p->bits, p->b_is_signed);
        sum += p->how == 0 ? a * b : p->how == 1 ? a ^ b : a & b;
    }
    return sum + (int32_t)word_of((unsigned)(row % 8 * 4 + column / 2), (unsigned)(in_a + in_b + row / 8 * 2 + column % 2));
}

static void write_registers(char *text, size_t bytes, char name, int count)
{
    size_t n = strlen(text);

    n += (size_t)snprintf(text + n, bytes - n, "%c{", name == 'd' ? ' ' : ',');
    for (int i = 0; i < count; i++)
        n += (size_t)snprintf(text + n, bytes - n, "%s%c%d", i ? ", " : "", name, i);
    snprintf(text + n, bytes - n, "}");
}

static void check_product(const whole_product *p)
{
    const int in_a = p->m / 8 * p->k * p->bits / 128, in_b = p->k * p->bits / 128, in_d = p->m / 4;
    char text[8192] = HEAD ".visible .entry k(.param .u64 out)\n{\n" REGISTERS ".reg .b32 a<4>, b<4>, c<4>, d<4>;\n" BEGIN;
    const char *const names = "abc";
    unsigned number = 0;
    run r;

#define ADD(...) snprintf(text + strlen(text), sizeof text - strlen(text), __VA_ARGS__)
    ADD("mad.lo.u32 %%r11, %%r1, 2654435761, 12345;\n");
    for (int list = 0; list < 3; list++)
        for (int i = 0; i < (list == 0 ? in_a : list == 1 ? in_b : in_d); i++, number++)
            ADD("mul.lo.u32 %%r12, %%r11, %u;\nshl.b32 %%r13, %%r1, %u;\nxor.b32 %c%d, %%r12, %%r13;\n", number * 40503u + 977,
                number, names[list], i);
    ADD("mma.sync.aligned.%s", p->mnemonic);
    write_registers(text, sizeof text, 'd', in_d);
    write_registers(text, sizeof text, 'a', in_a);
    write_registers(text, sizeof text, 'b', in_b);
    write_registers(text, sizeof text, 'c', in_d);
    ADD(";\n");
    for (int i = 0; i < in_d; i++)
        ADD("st.global.u32 [%%d2+%d], d%d;\n", 128 * i, i);
    ADD("ret;\n}\n");
#undef ADD
    r = run_kernel(text, NULL);
    cr_assert(eq(sz, r.found.count, 0), "%s: %s", p->mnemonic, r.found.first[0].text);
    for (int row = 0; row < p->m; row++)
        for (int column = 0; column < 8; column++)
            cr_expect(eq(u32, r.out[(row / 8 * 2 + column % 2) * 32 + row % 8 * 4 + column / 2],
                         (uint32_t)expected_element(p, row, column, in_a, in_b)),
                      "%s: %d, %d", p->mnemonic, row, column);
}

Test(ptx, products_of_half_bytes_and_bits)
{
    static const whole_product products[] = {
        {"m8n8k32.row.col.s32.s4.s4.s32", 8, 32, 4, true, true, 0},
        {"m16n8k32.row.col.s32.u4.s4.s32", 16, 32, 4, false, true, 0},
        {"m16n8k64.row.col.s32.s4.u4.s32", 16, 64, 4, true, false, 0},
        {"m16n8k64.row.col.s32.u4.u4.s32", 16, 64, 4, false, false, 0},
        {"m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 8, 128, 1, false, false, 1},
        {"m16n8k128.row.col.s32.b1.b1.s32.and.popc", 16, 128, 1, false, false, 2},
        {"m16n8k256.row.col.s32.b1.b1.s32.xor.popc", 16, 256, 1, false, false, 1},
        {"m16n8k256.row.col.and.popc.s32.b1.b1.s32", 16, 256, 1, false, false, 2},
        {"m16n8k32.row.col.s32.s8.u8.s32", 16, 32, 8, true, false, 0},
    };

    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
        check_product(&products[i]);
}
