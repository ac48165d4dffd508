/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* The log of NVRTC: the first error, and the resources that ptxas reports. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

#include "compiler_log.h"

Test(compiler_log, finds_the_first_error)
{
    static const struct {
        const char *log, *line;
    } rows[] = {
        {"", ""},
        {"ptxas info    : 0 bytes gmem\n", ""},
        {"k.cu(1): warning #1: x\nk.cu(12): error: identifier \"y\" is undefined\n  y\n  ^\n",
         "k.cu(12): error: identifier \"y\" is undefined"},
        {"k.cu(2): error #20-D: z\n", "k.cu(2): error #20-D: z"},
        {"k.cu(2): catastrophic error: could not open source file\n",
         "k.cu(2): catastrophic error: could not open source file"},
        {"ptxas info    : 0 bytes gmem\nptxas error   : Entry function 'k' uses too much shared data\n",
         "ptxas error   : Entry function 'k' uses too much shared data"},
        {"ptxas application ptx input, line 27; error : Not a name of any known instruction\nptxas fatal : x\n",
         "ptxas application ptx input, line 27; error : Not a name of any known instruction"},
        {"nvrtc: error: invalid value for --gpu-architecture (-arch)",
         "nvrtc: error: invalid value for --gpu-architecture (-arch)"},
        {"k.cu(1): warning: the terror: of it\nsecond\n", "k.cu(1): warning: the terror: of it"},
        {"2 errors detected in the compilation of \"k.cu\".\n", "2 errors detected in the compilation of \"k.cu\"."},
        {"\n\nodd\n", "odd"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[200];
        tj_log_first_error(rows[i].log, line, sizeof line);
        cr_expect(eq(str, line, (char *)rows[i].line), "row %zu", i);
    }
}

Test(compiler_log, reads_resources_of_the_entry_function_only)
{
    static const struct {
        const char *name, *log;
        tj_resources want;
    } rows[] = {
        {"nothing", "", {-1, -1, -1, -1, -1, -1}},
        {"13.0 with a function of its own",
         "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'k' for 'sm_90'\n"
         "ptxas info    : Function properties for _Z1fPfi\nptxas         .     8 bytes stack frame, 1 bytes spill stores, 2 "
         "bytes spill loads\n"
         "ptxas info    : Function properties for k\nptxas         .     80 bytes stack frame, 4 bytes spill stores, 12 bytes "
         "spill loads\n"
         "ptxas info    : Used 32 registers, used 1 barriers, 80 bytes cumulative stack size, 512 bytes smem\n"
         "ptxas info    : Compile time = 13.064 ms\n",
         {32, 512, 80, 4, 12, -1}},
        {"11.8",
         "ptxas info    : Compiling entry function 'kk' for 'sm_86'\nptxas info    : Function properties for kk\n"
         "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 255 registers, 2048 bytes "
         "smem, 400 bytes cmem[0], 8 bytes cmem[2]\n",
         {255, 2048, 0, 0, 0, 400}},
        {"no shared memory",
         "ptxas info    : Compiling entry function 'k' for 'sm_86'\nptxas info    : Used 10 registers, 352 bytes cmem[0]\n",
         {10, 0, -1, -1, -1, 352}},
        {"cut in the middle", "ptxas info    : Compiling entry function 'k", {-1, -1, -1, -1, -1, -1}},
        {"numbers that no number is",
         "ptxas info    : Compiling entry function 'k' for 'sm_86'\nptxas info    : Used 99999999999999 registers, x bytes "
         "smem\n",
         {-1, -1, -1, -1, -1, -1}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_resources got = tj_log_resources(rows[i].log);
        cr_expect(memcmp(&got, &rows[i].want, sizeof got) == 0, "row %s: %d %d %d %d %d %d", rows[i].name, got.registers,
                  got.shared_bytes, got.stack_bytes, got.spill_stores, got.spill_loads, got.constant_bytes);
    }
}
