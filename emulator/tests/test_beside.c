/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Launches that a device may start before the preceding one ends (programmatic stream serialization): the emulator runs one
 * after the other, and finds accesses to memory of the preceding launch before griddepcontrol.wait.
 */
#include "program.h"

enum { BESIDE = 6 };

static void open_device(void)
{
    open_emulator("sm_90");
}

TestSuite(beside, .init = open_device, .timeout = 60);

/* kernel(in, out): `first` in each thread, then out = in + 1. */
#define TEXT(first, second)                                                                                        \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 in, .param .u64 out)\n"     \
    "{\n.reg .b32 %r<4>;\n.reg .f32 %f<4>;\n.reg .b64 %d<8>;\nld.param.u64 %d1, [in];\nld.param.u64 %d2, [out];\n" \
    "mov.u32 %r1, %tid.x;\nmul.wide.u32 %d3, %r1, 4;\nadd.u64 %d1, %d1, %d3;\nadd.u64 %d2, %d2, %d3;\n" first      \
    "ld.global.f32 %f1, [%d1];\nadd.f32 %f1, %f1, 0f3F800000;\n" second "st.global.f32 [%d2], %f1;\nret;\n}\n"
#define WAIT "griddepcontrol.wait;\n"
#define LET "griddepcontrol.launch_dependents;\n"

/* The same, with asynchronous copies, which begin before the wait or after it. */
#define COPY(first, second)                                                                                                    \
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 in, .param .u64 out)\n"                 \
    "{\n.reg .b32 %r<4>;\n.reg .f32 %f<4>;\n.reg .b64 %d<8>;\n.shared .align 16 .b8 tile[256];\n"                              \
    "ld.param.u64 %d1, [in];\nld.param.u64 %d2, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d3, %r1, 4;\n"                     \
    "add.u64 %d1, %d1, %d3;\nadd.u64 %d2, %d2, %d3;\nmov.u32 %r2, tile;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r2, %r2, %r3;\n" first \
    "cp.async.ca.shared.global [%r2], [%d1], 4;\ncp.async.commit_group;\n" second                                              \
    "cp.async.wait_group 0;\nld.shared.f32 %f1, [%r2];\nst.global.f32 [%d2], %f1;\nret;\n}\n"

/* Run a launch after one that reads `ahead_in` and writes `ahead_out`; numbers of three buffers. */
static findings run(const char *ptx, bool is_beside, int ahead_in, int ahead_out, int in, int out)
{
    static const float zeros[64];
    uint64_t buffer[3];
    attribute list[1];
    config how = {{1, 1, 1}, {64, 1, 1}, 0, NULL, list, is_beside};
    void *module, *function = function_of(ptx, &module), *plain, *plain_function = function_of(TEXT("", ""), &plain);
    findings found;

    memset(list, 0, sizeof list);
    list[0].id = BESIDE;
    list[0].value.number = 1;
    for (int i = 0; i < 3; i++)
        buffer[i] = device_memory(sizeof zeros, zeros);
    {
        void *parameters[] = {&buffer[ahead_in], &buffer[ahead_out]};
        cr_assert(eq(int, cu.launch(plain_function, 1, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL), 0));
    }
    {
        void *parameters[] = {&buffer[in], &buffer[out]};
        (void)cu.launch_ex(&how, function, parameters, NULL);
    }
    found = take_findings();
    for (int i = 0; i < 3; i++)
        cu.free(buffer[i]);
    cu.unload(module);
    cu.unload(plain);
    return found;
}

Test(beside, what_waits_may_touch_everything)
{
    cr_expect(eq(sz, run(TEXT(WAIT LET, ""), true, 0, 1, 1, 2).count, 0), "reads what the one ahead writes");
    cr_expect(eq(sz, run(TEXT(LET WAIT, ""), true, 0, 1, 1, 0).count, 0), "and writes what it reads");
    cr_expect(eq(sz, run(COPY(WAIT, ""), true, 0, 1, 1, 2).count, 0), "and copies");
}

Test(beside, what_does_not_wait_is_found)
{
    const struct {
        const char *what, *ptx, *says;
        int in, out;
    } rows[] = {{"reads what is written ahead", TEXT("", ""), "previous launch, which this one may overlap, writes it", 1, 2},
                {"writes what is written ahead", TEXT("", ""), "writes it", 2, 1},
                {"writes what is read ahead", TEXT("", ""), "reads it", 2, 0},
                {"to let others start is not a wait", TEXT(LET, ""), "before griddepcontrol.wait", 1, 2},
                {"waits too late", TEXT("", WAIT), "before griddepcontrol.wait", 1, 2},
                {"copies too early", COPY("", WAIT), "before griddepcontrol.wait", 1, 2}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const findings found = run(rows[i].ptx, true, 0, 1, rows[i].in, rows[i].out);

        cr_assert(found.count > 0, "%s", rows[i].what);
        cr_expect(eq(int, found.first[0].kind, CUEMU_RACE_GLOBAL), "%s: %s", rows[i].what, found.first[0].text);
        cr_expect(strstr(found.first[0].text, rows[i].says) != NULL, "%s: %s", rows[i].what, found.first[0].text);
    }
}

Test(beside, what_the_launch_ahead_leaves_alone_is_free)
{
    cr_expect(eq(sz, run(TEXT("", WAIT), true, 0, 1, 0, 2).count, 0), "both read it, and it is written after the wait");
    cr_expect(eq(sz, run(COPY("", WAIT), true, 0, 1, 0, 2).count, 0), "so, too, by copies that begin before the wait");
    cr_expect(eq(sz, run(TEXT("", ""), false, 0, 1, 1, 2).count, 0), "a usual launch starts after the previous one");
}
