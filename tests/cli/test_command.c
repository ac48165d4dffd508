/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * The command as a user runs it: words in; stdout, stderr, exit code and files out.
 *
 * The driver is a fake that copies memory and computes nothing, so a product that it "ran" must fail its check. It does
 * not know the kernel's parameters and is told not to speak of them.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "locales.h"
#include "npy.h"
#include "shell.h"
#include "tier.h"

static void assign_variables(char *assignments, size_t bytes)
{
    snprintf(assignments, bytes, "LOCPATH=%s/locales FAKE_CUDA_HIDE=cuFuncGetParamInfo", folder);
}

static bool exists(const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

TestSuite(command, .init = make_folder, .fini = remove_folder);

/* ---- words -------------------------------------------------------------------------------------------------------- */

/* On stderr there is one line of it. */
static void expect_short_notice(const char *words)
{
    cr_expect(strncmp(errors, "tilejit: no GPU here", 20) == 0 && strstr(errors, "emulator"), "%s: %s", words, errors);
    cr_expect(strchr(errors, '\n') == strrchr(errors, '\n') && strlen(errors) <= 80, "%s: %s", words, errors);
}

Test(command, takes_the_emulator_where_there_is_no_gpu_and_says_so)
{
    static const char *const others[] = {"devices", "explain 33x30x70", "report 33x30x70 -o r.html", "cache explain 33x30x70"};
    json_t *answer;
    const char *name;

    NEEDS_COMPILER();
    if (shell("$T devices --device 0") == 0)
        SKIP_TEST("there is a GPU here");
    cr_assert(eq(int, shell("$T run 33x30x70"), 0), "%s", errors);
    expect_short_notice("run");
    cr_expect(strstr(out, "CUDA emulator sm_90") && strstr(out, "check      passed"), "%s", out);
    cr_expect(strstr(out, "time       not measured: the emulator") && strstr(out, " us median") == NULL,
              "emulated time is not a measure: %s", out);
    cr_assert(eq(int, shell("$T run 33x30x70 --device auto --json"), 0), "%s", errors);
    answer = json_loads(out, 0, NULL);
    name = json_string_value(json_object_get(answer, "device"));
    cr_expect(name && strstr(name, "emulator"), "%s", out);
    json_decref(answer);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        cr_expect(eq(int, shell("$T %s", others[i]), 0), "%s: %s", others[i], errors);
        expect_short_notice(others[i]);
    }
    cr_expect(eq(int, shell("$T run 33x30x70 --device 0"), 1), "a device that was named is not replaced");
    cr_expect(strstr(errors, "libcuda.so.1") && strstr(errors, "set TILEJIT_DRIVER=emulator"), "%s", errors);
    cr_expect(eq(int, shell("TILEJIT_DRIVER=/nonexistent/libcuda.so $T run 33x30x70"), 1), "nor is a driver");
    cr_expect(eq(int, shell("$T run 33x30x70 --device emulator --driver /x"), 2));
    cr_expect(eq(int, shell("TILEJIT_EMULATOR=/nonexistent.so $T run 33x30x70 --device emulator"), 1));
    cr_expect(strstr(errors, "/nonexistent.so") != NULL, "%s", errors);
    cr_expect(eq(int, shell("TILEJIT_EMULATOR=/nonexistent.so $T run 33x30x70"), 1));
    cr_expect(strstr(errors, "no GPU here, nor the emulator: TILEJIT_EMULATOR is \"/nonexistent.so\"") != NULL, "%s", errors);
    cr_expect(eq(int, shell("TILEJIT_EMULATOR=/dev/zero $T run 33x30x70 --device emulator"), 1));
    cr_expect(strstr(errors, "cannot load the emulator /dev/zero: it is not a regular file; set TILEJIT_EMULATOR") != NULL,
              "%s", errors);
    cr_expect(eq(int, shell("TILEJIT_EMULATOR=/etc/passwd $T run 33x30x70 --device emulator"), 1));
    cr_expect(strstr(errors, "cannot load the emulator /etc/passwd: ") && strstr(errors, "set TILEJIT_EMULATOR"), "%s", errors);
    cr_expect(strstr(errors, "TILEJIT_DRIVER") == NULL, "no remedy that is in use: %s", errors);
    cr_assert(eq(int, shell("mkdir alone && cp -L $T $(dirname $T)/libtilejit.so.0 alone"), 0), "%s", errors);
    cr_expect(eq(int, shell("alone/tilejit devices --device emulator"), 1));
    cr_expect(strstr(errors, "build TileJIT with -DTILEJIT_BUILD_EMULATOR=ON, or set TILEJIT_EMULATOR to the path of one") !=
                  NULL,
              "%s", errors);
    cr_expect(eq(int, shell("CUDA_EMULATOR_DEVICES= $T run 33x30x70 --device emulator"), 1));
    cr_expect(strstr(errors, "the emulator has no device, as CUDA_EMULATOR_DEVICES is empty: unset it") != NULL, "%s", errors);
}

/* All that is written to a terminal by a command whose stderr it is, and the exit code. */
static int on_terminal(const char *words, char *text, size_t bytes)
{
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    size_t used = 0;
    int status = 0;
    ssize_t got;
    pid_t child;
    int held;

    cr_assert(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    held = open(ptsname(terminal), O_RDWR | O_NOCTTY); /* until the child has it */
    child = fork();
    if (child == 0)
        _exit(shell("$T %s 2>%s", words, ptsname(terminal)));
    cr_assert(child > 0);
    fcntl(terminal, F_SETFL, O_NONBLOCK);
    do {
        const bool has_ended = waitpid(child, &status, WNOHANG) == child;

        got = read(terminal, text + used, bytes - 1 - used);
        used += got > 0 ? (size_t)got : 0;
        if (has_ended)
            break;
        usleep(10000);
    } while (used < bytes - 1);
    while (used < bytes - 1 && (got = read(terminal, text + used, bytes - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    close(held);
    close(terminal);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* How far a launch of the emulator is that takes seconds; the line is gone when it ends. */
Test(command, shows_how_far_the_emulator_is, .timeout = 280, .disabled = LEFT_TO_NIGHT)
{
    static const char drawn[] = "\r\033[Kemulator: ", cleared[] = "\r\033[K";
    static char text[1 << 16];
    const char *at;
    int draws = 0, percent = -1;

    NEEDS_COMPILER();
    cr_assert(eq(int, on_terminal("run 384x384x384 --config naive --no-check --device emulator", text, sizeof text), 0), "%s",
              text);
    for (at = strstr(text, drawn); at; at = strstr(at + 1, drawn), draws++) {
        int now = -1;

        cr_expect(sscanf(at + strlen(drawn), "%d %%, ", &now) == 1 && now >= percent && now <= 100, "%s", at);
        percent = now;
    }
    cr_expect(draws > 0 && percent > 0, "%s", text);
    cr_expect(eq(str, text + strlen(text) - strlen(cleared), (char *)cleared), "%s", text);
    cr_expect(eq(int, on_terminal("run 16x16x16 --config naive --device emulator", text, sizeof text), 0));
    cr_expect(eq(str, text, ""), "what takes no time has no progress");
    cr_expect(eq(int, shell("$T run 384x384x384 --config naive --no-check --device emulator"), 0));
    cr_expect(eq(str, errors, ""), "nor is there any in a file");
}

Test(command, counts_in_json_too)
{
    json_t *answer, *counters;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T run 64x32x48 --config tiled --device emulator --count-lines --json"), 0), "%s", errors);
    answer = json_loads(out, JSON_REJECT_DUPLICATES, NULL);
    counters = json_object_get(answer, "counters");
    cr_expect(eq(i64, json_integer_value(json_object_get(counters, "global_loads")), 12288), "%s", out);
    cr_expect(eq(i64, json_integer_value(json_object_get(counters, "block_barriers")), 4 * 3 * 2 * 2), "%s", out);
    cr_expect(eq(dbl, json_real_value(json_object_get(counters, "arithmetic_intensity")),
                 2.0 * 64 * 32 * 48 / (4.0 * (12288 + 64 * 48))));
    cr_expect(gt(sz, json_array_size(json_object_get(answer, "lines")), 20));
    json_decref(answer);
}

/* One that packs, one that multiplies, one that adds splits up. */
Test(command, counts_three_kernels_of_a_launch)
{
    NEEDS_COMPILER();
    cr_assert(eq(int,
                 shell("$T run 33x101x65 --dtype bf16 --device emulator --count --config mma:bm=64,bn=64,splits=2,pack=both"),
                 0),
              "%s", errors);
    cr_expect(strstr(out, "counted ") && strstr(out, "FLOP of it by MMA"), "%s", out);
    cr_expect(strstr(out, "  packing ") && strstr(out, "its sums "), "%s", out);
    cr_assert(
        eq(int, shell("$T explain 33x101x65 mma:bm=64,bn=64,splits=2,pack=both --dtype bf16 --device emulator --count"), 0),
        "%s", errors);
    cr_expect(strstr(out, "of operands copied to the workspace first") && strstr(out, "tensor cores in bf16"), "%s", out);
    cr_expect(strstr(out, "bytes stored") && !strstr(out, "DIFFERENT"), "%s", out);
}

Test(command, counts_both_kernels_of_a_split_k, .disabled = LEFT_TO_NIGHT)
{
    json_t *answer;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T run 64x4096x64 --device emulator --count --config simt:splits=8,bm=64,bn=64"), 0), "%s",
              errors);
    cr_expect(strstr(out, "counted ") && strstr(out, "524288 loads in"), "M and N once: %s", out);
    cr_expect(strstr(out, "its sums ") && strstr(out, "32768 loads in"), "8 parts of P: %s", out);
    cr_assert(eq(int, shell("$T run 64x4096x64 --device emulator --count --config simt:splits=8,bm=64,bn=64 --json"), 0), "%s",
              errors);
    answer = json_loads(out, JSON_REJECT_DUPLICATES, NULL);
    cr_expect(eq(i64, json_integer_value(json_object_get(json_object_get(answer, "counters"), "global_loads")), 524288 + 32768),
              "%s", out);
    json_decref(answer);
}

Test(command, counts_on_the_emulator_what_the_textbook_says)
{
    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T run 64x32x48 --device emulator --count-lines --config tiled:tile_width=16"), 0), "%s", errors);
    cr_expect(strstr(out, "12288 loads in") != NULL, "2 j k l / T: %s", out);
    cr_expect(strstr(out, "0 bank conflicts") != NULL, "%s", out);
    cr_expect(strstr(out, "Pvalue += Mds[ty][i] * Nds[i][tx];") != NULL, "%s", out);
    cr_assert(eq(int, shell("$T run 64x32x48 --device emulator --count --config naive"), 0), "%s", errors);
    cr_expect(strstr(out, "196608 loads in") != NULL, "2 j k l: %s", out);
}

Test(command, runs_batches_of_matrices_that_lie_anywhere)
{
    json_t *answer, *problem;

    NEEDS_COMPILER();
    cr_assert(
        eq(int,
           shell("$T run 17x12x20 --batch 9 --stride-m pointers --stride-n pointers16 --stride-p pointers --stride-c pointers "
                 "--alpha 2 --beta 3 --device emulator --json"),
           0),
        "%s", errors);
    answer = json_loads(out, JSON_REJECT_DUPLICATES, NULL);
    problem = json_object_get(answer, "problem");
    cr_expect(strcmp(json_string_value(json_object_get(problem, "stride_m")), "pointers") == 0, "%s", out);
    cr_expect(strcmp(json_string_value(json_object_get(problem, "stride_n")), "pointers16") == 0, "%s", out);
    cr_expect(ne(int, json_is_true(json_object_get(json_object_get(answer, "check"), "passed")), 0), "%s", out);
    json_decref(answer);
    cr_assert(eq(int, shell("$T run 17x12x20 --stride-p pointers --any all --device emulator"), 0), "%s", errors);
    cr_expect(strstr(out, "check      passed") != NULL, "%s", out);
    cr_assert(eq(int, shell("$T generate 17x12x20 --batch 9 --stride-n pointers --config naive"), 0), "%s", errors);
    cr_expect(strstr(out, "const input_t *N = N_array[blockIdx.z];") != NULL, "%s", out);
}

Test(command, names_operands_that_it_takes_for_one_number)
{
    NEEDS_COMPILER();
    cr_assert(eq(int, shell("TILEJIT_DRIVER=emulator $T run 5x3x2 --epilogue 'gelu(acc + bias)'"), 0), "%s", errors);
    cr_expect(strstr(out, "note       bias is one random number: give it by --with bias=0.5, or index it, as bias[col]\n") !=
                  NULL,
              "%s", out);
    cr_assert(eq(int, shell("TILEJIT_DRIVER=emulator $T run 5x3x2 --epilogue 'acc * s + b[col]' --with s=2"), 0), "%s", errors);
    cr_expect(strstr(out, "random number") == NULL, "%s", out);
}

Test(command, runs_groups_of_rows)
{
    static const struct {
        const char *words, *says;
    } wrong[] = {
        {"50x24x40 --group-rows 5,,17", "--group-rows of group 1"},
        {"50x24x40 --group-rows 5,-1", "--group-rows of group 1"},
        {"50x24x40 --group-rows 5,46", "--group-rows has 51 rows, and j is 50"},
        {"50x24x40 --group-rows 5,17 --groups 3", "--group-rows has 2 numbers, and there are 3 groups"},
        {"50x24x40 --offsets host", "add --groups"},
        {"50x24x40 --groups 3 --batch 2", "a batch or groups, not both"},
        {"50x24x40 --groups 3 --layout-p col", "P is column-major"},
        {"50x24x40 --groups 3 --family skinny", "family skinny takes no groups"},
    };
    json_t *answer, *problem;

    cr_assert(eq(int, shell("$T run 50x24x40 --device emulator --group-rows 5,0,17,20"), 0), "%s", errors);
    cr_expect(strstr(out, "check      passed: 1680 of 1680 elements") != NULL, "%s", out);
    cr_assert(eq(int, shell("$T run 50x24x40 --device emulator --groups 70 --offsets host64 --any all --json"), 0), "%s",
              errors);
    answer = json_loads(out, 0, NULL);
    problem = json_object_get(answer, "problem");
    cr_expect(eq(i64, json_integer_value(json_object_get(problem, "groups")), 70));
    cr_expect(eq(str, (char *)json_string_value(json_object_get(problem, "offsets")), (char *)"host64"));
    json_decref(answer);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_expect(eq(int, shell("$T run %s --device emulator", wrong[i].words), 2), "%s", wrong[i].words);
        cr_expect(strstr(errors, wrong[i].says) != NULL, "%s: %s", wrong[i].words, errors);
    }
}

Test(command, keeps_images_of_the_emulator_apart)
{
    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T run 33x30x70 --device emulator"), 0), "%s", errors);
    cr_expect(strstr(out, "image from the compiler") != NULL, "%s", out);
    cr_assert(eq(int, shell("$T run 33x30x70 --device emulator"), 0), "%s", errors);
    cr_expect(strstr(out, "image from store") != NULL, "%s", out);
    cr_assert(eq(int, shell("$T compile 33x30x70 --arch compute_90"), 0), "%s", errors);
    cr_expect(strstr(out, "compiled") != NULL, "the same target for a GPU is another image: %s", out);
}

Test(command, names_what_is_wrong_with_the_words)
{
    static const struct {
        const char *words, *said;
    } rows[] = {
        {"generat", "did you mean generate?"},
        {"cache", "cache what?"},
        {"cache lst", "did you mean cache list?"},
        {"xyzzyplugh", "there is no command \"xyzzyplugh\""},
        {"--json", "comes before any command"},
        {"run", "run needs <jxkxl>"},
        {"run 5x3", "write jxkxl"},
        {"run 5x3x2 --batch 3 --stride-p broadcast", "stride_p is broadcast"},
        {"run 5x3x2 --batch 3 --stride-m pointer", "--stride-m is \"pointer\""},
        {"run 5x3x2 --batch 3 --stride-c pointers", "add --beta"},
        {"run 5x3x2x1", "write jxkxl"},
        {"run ''", "write jxkxl"},
        {"run xx", "j is empty"},
        {"run 5xx2", "k is empty"},
        {"run 0x1x1", "j is 0"},
        {"run 1x1x0", "l is 0"},
        {"run -5x3x2", "j is -5"},
        {"run 5x-1x2", "k is -1"},
        {"run 1e9x2x3", "j is \"1e9\""},
        {"run 5x3x+2", "l is \"+2\""},
        {"run ' 5x3x2'", "j is \" 5\""},
        {"run 5.0x3x2", "j is \"5.0\""},
        {"run 0x10x5", "j is 0"},
        {"run 2147483648x1x1", "j is 2147483648: it must be from 1 to 2147483647"},
        {"run 1x4294967296x1", "k is 4294967296"},
        {"run 1x1x9223372036854775808", "l is 9223372036854775808"},
        {"run 12345678901234567890x1x1", "j is 12345678901234567890"},
        {"run 1111111111111111111111111111111111111111111111111111111111111111111111111x1x1", "73 digits"},
        {"run 2147483647x2147483647x2147483647", "does not fit 63 bits"},
        {"run 5x3x2 5x3x2", "one word too many"},
        {"families now", "takes no operand"},
        {"completion tcsh", "not for tcsh"},
        {"run 5x3x2 --tile-widht 8", "did you mean --tile-width?"},
        {"run 5x3x2 --til 8", "has no option --til"},
        {"run 5x3x2 -x", "has no option -x"},
        {"run 5x3x2 --tile-width", "--tile-width needs a value"},
        {"run 5x3x2 --tile-width --json", "--tile-width needs a value"},
        {"run 5x3x2 --tile-width=", "--tile-width is empty"},
        {"run 5x3x2 --json=1", "--json takes no value"},
        {"run 5x3x2 --tile-width 0", "from 4 to 32"},
        {"run 5x3x2 --tile-width -1", "from 4 to 32"},
        {"run 5x3x2 --tile-width 1", "from 4 to 32"},
        {"run 5x3x2 --tile-width 3.5", "from 4 to 32"},
        {"run 5x3x2 --tile-width 33", "from 4 to 32"},
        {"run 5x3x2 --tile-width 16abc", "from 4 to 32"},
        {"run 5x3x2 --tile-width 0x10", "from 4 to 32"},
        {"run 5x3x2 --tile-width 2147483648", "from 4 to 32"},
        {"run 5x3x2 --boundary none", "boundary check of j"},
        {"run 5x3x2 --boundary jq", "boundary"},
        {"run 5x3x2 --shared heap", "shared"},
        {"run 5x3x2 --rows z", "rows"},
        {"run 5x3x2 --family tyled", "tyled"},
        {"run 5x3x2 --config tiled:tile_width", "tile_width"},
        {"run 5x3x2 --config tiled --family naive", "--config names a family"},
        {"run 5x3x2 --dtype f8", "f8"},
        {"run 5x3x2 --dtype F32", "F32"},
        {"run 5x3x2 --dtype f64 --p-dtype f32", "f64"},
        {"run 5x3x2 --layout-m diagonal", "use one of row, col"},
        {"run 5x3x2 --ld-m 2", "2"},
        {"run 5x3x2 --ld-m 0", "--ld-m is 0"},
        {"run 5x3x2 --ld-m -4", "--ld-m is -4"},
        {"run 5x3x2 --ld-c 8", "add --beta"},
        {"run 5x3x2 --batch 0", "--batch is 0"},
        {"run 5x3x2 --batch 2147483648", "--batch is 2147483648"},
        {"run 5x3x2 --batch 4 --stride-p 5", "5"},
        {"run 5x3x2 --alpha 0x10", "--alpha is \"0x10\""},
        {"run 5x3x2 --alpha 1,5", "--alpha is \"1,5\""},
        {"run 5x3x2 --alpha 1e999", "too large"},
        {"run 5x3x2 --alpha ''", "--alpha is \"\""},
        {"run 5x3x2 --alpha e", "--alpha is \"e\""},
        {"run 5x3x2 --any q", "--any has \"q\""},
        {"run 5x3x2 --multiple-of j=5", "add j to --any"},
        {"run 5x3x2 --any j --multiple-of j=4", "breaks"},
        {"run 5x3x2 --any j --multiple-of j", "write j=16"},
        {"run 5x3x2 --repeat 0", "--repeat is 0"},
        {"run 5x3x2 --seed -1", "--seed is -1"},
        {"run 5x3x2 --device -1", "--device is -1"},
        {"run 5x3x2 --log loud", "--log is \"loud\""},
        {"compile 5x3x2 -o kernel.bin", "add --emit"},
        {"compile 5x3x2 --emit sass", "use one of ptx, cubin"},
        {"compile 5x3x2 --emit ptx --json", "stdout takes the JSON"},
        {"matmul M.npy", "needs <M.npy> <N.npy>"},
        {"matmul M.npy N.npy", "add -o P.npy"},
        {"matmul M.npy N.npy -o - --json", "--json and -o -"},
        {"matmul M.npy N.npy -o /dev/stdout --json", "--json and -o /dev/stdout"},
        {"run 8x8x8 --check-budget -1", "--check-budget is -1: it must be at least 1"},
        {"run 8x8x8 --check-budget 0", "--check-budget is 0"},
        {"run 8x8x8 --beta -0.01e-400", "--beta is -0.01e-400: too small for a double"},
        {"run 8x8x8 --check-budget nan", "--check-budget is nan"},
        {"matmul - - -o P.npy", "stdin"},
        {"matmul M.npy N.npy -o P.npy --beta 2", "add --c"},
        {"matmul M.npy N.npy -o P.npy --order K", "use one of C, F"},
        {"run 5x3x2 --arch sm_80", "--arch goes with --compile-only"},
        {"matmul M.npy N.npy -o P.npy --arch sm_80", "--arch goes with --compile-only"},
        {"help nonsense", "no command \"nonsense\"\ntry: tilejit help, which lists the commands\n"},
        {"help complie", "did you mean compile?"},
        {"run 5x3x2 --dtype float16", "no element type is named \"float16\": did you mean f16?"},
    };
    static const char *const locales[] = {"C", "de_DE.UTF-8", "tr_TR.UTF-8"};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t l = 0; l < sizeof locales / sizeof locales[0]; l++) {
            int code = shell("LC_ALL=%s $T %s", locales[l], rows[i].words);

            cr_expect(eq(int, code, 2), "%s: %s", rows[i].words, errors);
            cr_expect(strstr(errors, rows[i].said) != NULL, "%s: %s", rows[i].words, errors);
            cr_expect(strncmp(errors, "tilejit: ", 9) == 0, "%s: %s", rows[i].words, errors);
            cr_expect(strstr(errors, "\ntry: tilejit help") != NULL && strlen(errors) < 700, "%s: %s", rows[i].words, errors);
            cr_expect(strstr(rows[i].words, "--json") || !*out, "%s: %s", rows[i].words, out);
        }
    }
    cr_expect(eq(int, shell("$T"), 2));
    cr_expect(strstr(errors, "usage: tilejit <command>") && strstr(errors, "\n  generate ") && !*out, "%s", errors);
    cr_expect(not(exists("store")), "wrong words leave nothing behind");
    cr_expect(not(exists("P.npy")), "wrong words leave nothing behind");
}

/* A row of docs/what-it-does-not-do.md: the request between the first pair of backticks, its answer between the next. */
static bool next_refusal(char **page, char **request, char **answer)
{
    char *const line = strstr(*page, "| `tilejit "), *ends[2];

    if (!line)
        return false;
    *request = line + strlen("| `tilejit ");
    ends[0] = strstr(*request, "` | `");
    ends[1] = ends[0] ? strstr(ends[0] + 5, "` | ") : NULL;
    if (!ends[1])
        return false;
    *answer = ends[0] + 5;
    *ends[0] = *ends[1] = '\0';
    *page = ends[1] + 1;
    return true;
}

Test(command, does_not_do_what_the_page_says_so_of)
{
    static char page[OUTPUT_BYTES];
    char *rest = page, *request, *answer;
    int count = 0;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("cat " TJ_SOURCE_DIR "/docs/what-it-does-not-do.md"), 0));
    strcpy(page, out);
    cr_assert(eq(int,
                 shell("printf '\\223NUMPY\\1\\0\\106\\0%%-69s\\n' \"{'descr': '<f4', 'fortran_order': False, 'shape': "
                       "(1, 1, 1, 1), }\" >R4.npy; printf 0000 >>R4.npy"),
                 0));
    for (; next_refusal(&rest, &request, &answer); count++) {
        cr_expect(ne(int, shell("TILEJIT_DRIVER=emulator $T %s", request), 0), "%s is done after all", request);
        cr_expect(strstr(errors, answer) != NULL, "%s: %s, not %s", request, errors, answer);
    }
    cr_expect(eq(int, count, 15), "rows of the table");
}

Test(command, reports_a_failure_as_json_too)
{
    static const char *const rows[] = {"run 0x1x1 --json", "run --json", "compile 5x3x2 --arch sm_12 --no-cache --json",
                                       "devices --driver /nonexistent/libcuda.so --json"};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_error_t where;
        json_t *answer, *error;
        int code = shell("$T %s", rows[i]);

        cr_expect(code == 1 || code == 2, "%s", rows[i]);
        answer = json_loads(out, 0, &where);
        cr_assert(answer != NULL, "%s: %s: %s", rows[i], where.text, out);
        error = json_object_get(answer, "error");
        cr_expect(json_string_value(json_object_get(error, "status")) != NULL, "%s: %s", rows[i], out);
        cr_expect(json_string_value(json_object_get(error, "message")) != NULL, "%s: %s", rows[i], out);
        cr_expect(strncmp(errors, "tilejit: ", 9) == 0, "%s", errors);
        json_decref(answer);
    }
}

Test(command, takes_the_last_of_a_repeated_option)
{
    cr_assert(eq(int, shell("$T generate 64x64x64 --tile-width 8 --tile-width 32"), 0), "%s", errors);
    cr_expect(strstr(out, "TILE_WIDTH = 32;") != NULL, "%s", out);
}

Test(command, treats_words_after_two_dashes_as_operands)
{
    cr_expect(eq(int, shell("$T generate --tile-width=8 -- 64x64x64"), 0), "%s", errors);
    cr_expect(eq(int, shell("$T generate -- --json"), 2));
    cr_expect(strstr(errors, "shape \"--json\"") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T matmul -- -M.npy -N.npy -o"), 2));
}

Test(command, answers_help_for_every_command)
{
    static const char *const commands[] = {
        "matmul", "run",        "bench",       "generate",     "compile",     "families",    "devices",
        "doctor", "cache list", "cache stats", "cache verify", "cache clear", "cache path",  "cache explain",
        "pack",   "pack list",  "warm-up",     "pack verify",  "pack diff",   "pack unpack", "completion"};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        static char asked[OUTPUT_BYTES];

        cr_expect(eq(int, shell("COLUMNS=garbage TERM=$(printf '\\033[31m') $T help %s", commands[i]), 0), "%s", errors);
        cr_expect(strstr(out, "options:") != NULL, "%s: %s", commands[i], out);
        strcpy(asked, out);
        cr_expect(eq(int, shell("$T %s --help", commands[i]), 0), "%s", errors);
        cr_expect(eq(str, out, asked), "%s", commands[i]);
    }
    cr_expect(eq(int, shell("$T help run"), 0));
    cr_expect(strstr(out, "M and N: f32 (default), f64, f16") != NULL, "what the table offers: %s", out);
    cr_expect(eq(int, shell("$T help"), 0));
    cr_expect(eq(int, shell("$T --version"), 0));
    cr_expect(strncmp(out, "tilejit ", 8) == 0, "%s", out);
}

Test(command, completes_words_from_its_tables)
{
    static const struct {
        const char *words, *answer; /* the candidates, without their summaries */
    } rows[] = {
        {"cache ''", "list stats verify clear path explain "},
        {"help cache ''", "list stats verify clear path explain "},
        {"pack ''", "list verify diff unpack "},
        {"pack --target ''", ""},
        {"pack list ''", ":files "},
        {"pack --records ''", ":files "},
        {"help run ''", ""},
        {"completion ''", "bash zsh fish "},
        {"run 8x8x8 --layout-m ''", "row col "},
        {"run --stride-p ''", "pointers pointers16 "},
        {"run --dtype ''", "f32 f64 f16 bf16 e4m3 e5m2 s8 u8 s4 "},
        {"run --p-dtype ''", "f32 f64 f16 bf16 e4m3 e5m2 s8 u8 s32 "},
        {"run --compute ''", "f32 f64 tf32 s32 f32_split f32_fp8 "},
        {"run --scale-n ''", "one each along-k "},
        {"matmul ''", ":files "},
        {"matmul -o ''", ":files "},
        {"run --cache-dir ''", ":files "},
        {"run --alpha ''", ""},
        {"run ''", ""},
        {"nonsense ''", ""},
        {"cache nonsense ''", ""},
        {"run '' ''", ""},
        {"$(printf '%%0200d' 0) $(printf '%%0200d' 0) ''", ""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect(eq(int, shell("$T completion words -- %s | cut -f 1 | tr '\\n' ' '", rows[i].words), 0), "%s", errors);
        cr_expect(eq(str, out, (char *)rows[i].answer), "%s", rows[i].words);
        cr_expect(eq(str, errors, ""), "%s", rows[i].words);
    }
    /* All commands and all options, as --help has them; man is hidden there. */
    cr_expect(eq(int,
                 shell("for first in '' help; do $T help | awk '/^  [a-z]/ { print $1 }' | uniq > wanted; "
                       "$T completion words -- $first '' | cut -f 1 | grep -vx man | diff wanted - || exit 1; done"),
                 0),
              "%s", out);
    cr_expect(eq(int,
                 shell("$T help run | grep -oE '^  (-., )?--[a-z0-9-]+' | sed 's/.*--/--/' > wanted; test -s wanted && "
                       "$T completion words -- run -- | cut -f 1 | diff wanted -"),
                 0),
              "%s", out);
    cr_expect(eq(int, shell("$T completion words -- run --layout-m"), 0));
    cr_expect(strstr(out, "--layout-m\tHow M lies in memory\n") != NULL, "%s", out);
    cr_expect(strstr(out, "--alpha\tP = alpha * M . N\n") != NULL, "%s", out);
}

Test(command, man_page_has_every_option_and_troff_accepts_it)
{
    cr_assert(
        eq(int,
           shell("$T man > tilejit.1 && $T help matmul | grep -o -- '^  --[a-z-]*' | sed 's/-/\\\\\\\\-/g' | while read o; "
                 "do grep -qF -- \"$o\" tilejit.1 || echo \"$o\"; done"),
           0),
        "%s", errors);
    cr_expect(eq(str, out, ""), "options missing from the man page: %s", out);
    cr_expect(eq(int, shell("command -v groff >/dev/null || exit 0; groff -man -Tascii -ww -z tilejit.1"), 0), "%s", errors);
    cr_expect(eq(str, errors, ""), "%s", errors);
}

/* ---- output ------------------------------------------------------------------------------------------------------- */

Test(command, says_when_stdout_cannot_be_written)
{
    static const char *const commands[] = {"generate 64x64x64",
                                           "families",
                                           "help",
                                           "families --json",
                                           "man",
                                           "version",
                                           "doctor --driver " FAKE_CUDA_PATH,
                                           "devices --driver " FAKE_CUDA_PATH,
                                           "compile 33x30x70 --arch sm_90",
                                           "run 33x30x70 --no-check --driver " FAKE_CUDA_PATH,
                                           "cache list",
                                           "cache stats --json",
                                           "cache verify",
                                           "cache path",
                                           "cache explain 33x30x70 --arch sm_90",
                                           "cache clear"};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        cr_expect(eq(int, shell("TILEJIT_NVRTC=" FAKE_NVRTC_PATH " $T %s >/dev/full", commands[i]), 1), "%s", commands[i]);
        cr_expect(strstr(errors, "cannot write") != NULL, "%s: %s", commands[i], errors);
        cr_expect(eq(int, shell("TILEJIT_NVRTC=" FAKE_NVRTC_PATH " $T %s >&-", commands[i]), 1), "%s", commands[i]);
        cr_expect(strstr(errors, "cannot write") != NULL, "%s: %s", commands[i], errors);
    }
    cr_expect(eq(int, shell("$T generate 64x64x64 -o kernel.cu >&- 2>&- <&-"), 0), "nothing to say, nothing lost");
    cr_expect(exists("kernel.cu"));
}

Test(command, dies_quietly_of_a_closed_pipe)
{
    cr_expect(eq(int, shell("{ sleep 0.2; $T man; echo $? >code; } | true; cat code"), 0));
    cr_expect(strstr(out, "141") != NULL, "%s", out);
    cr_expect(eq(str, errors, ""), "%s", errors);
}

Test(command, replaces_a_file_whole_or_not_at_all)
{
    cr_expect(eq(int,
                 shell("echo old >k.cu && $T generate 64x64x64 --family tiled -o k.cu && grep -c TILE_WIDTH k.cu >/dev/null"),
                 0),
              "%s", errors);
    cr_expect(
        eq(int, shell("ln -s k.cu link.cu && $T generate 32x32x32 -o link.cu && test -L link.cu && grep -q 32x32x32 k.cu"), 0),
        "%s", errors);
    cr_expect(eq(int, shell("$T generate 64x64x64 -o missing/k.cu"), 1));
    cr_expect(strstr(errors, "missing/k.cu: its folder does not exist") != NULL, "%s", errors);
    cr_expect(eq(int, shell("mkdir dir; $T generate 64x64x64 -o dir"), 1));
    cr_expect(strstr(errors, "it is a folder") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T generate 64x64x64 -o /dev/full"), 1));
    cr_expect(eq(int, shell("$T generate 64x64x64 -o - | grep -c 'extern \"C\"'"), 0));
    cr_expect(eq(int, shell("ls -A | grep -e tmp -e part"), 1), "left behind: %s", out);
}

/* ---- generate, families ------------------------------------------------------------------------------------------- */

Test(command, generates_the_same_text_in_every_locale, .disabled = LEFT_TO_NIGHT)
{
    static const char *const words = "1234567x300x700 --alpha 0.5 --beta -1e-3";
    static char text[OUTPUT_BYTES], key[OUTPUT_BYTES];

    cr_assert(eq(int, shell("LC_ALL=C $T generate %s", words), 0), "%s", errors);
    strcpy(text, out);
    for (size_t i = 0; i < TEST_LOCALES; i++) {
        if (!make_locale(folder, test_locales[i]))
            continue;
        cr_expect(i == 0 || shell("test \"$(LC_ALL=%s locale decimal_point)\" = ,", test_locales[i]) == 0, "%s is not in use",
                  test_locales[i]);
        cr_expect(eq(int, shell("LC_ALL=%s $T generate %s", test_locales[i], words), 0), "%s", errors);
        cr_expect(eq(str, out, text), "%s", test_locales[i]);
    }
    for (size_t i = 0; i < TEST_LOCALES; i++) {
        json_t *answer;

        if (!make_locale(folder, test_locales[i]))
            continue;
        cr_expect(
            eq(int,
               shell("LC_ALL=%s TILEJIT_NVRTC=" FAKE_NVRTC_PATH " $T run 33x30x70 --no-check --json --driver " FAKE_CUDA_PATH,
                     test_locales[i]),
               0),
            "%s", errors);
        answer = json_loads(out, 0, NULL);
        cr_assert(answer != NULL, "%s: %s", test_locales[i], out);
        cr_expect(eq(int, json_is_number(json_object_get(json_object_get(answer, "time"), "median_us")), 1), "%s", out);
        cr_expect(eq(str, (char *)json_string_value(json_object_get(answer, "origin")), i == 0 ? "compiled" : "store"), "%s",
                  test_locales[i]);
        snprintf(out, sizeof out, "%s", json_string_value(json_object_get(answer, "key")));
        if (i == 0)
            strcpy(key, out);
        cr_expect(eq(str, out, key), "%s", test_locales[i]);
        json_decref(answer);
    }
}

Test(command, lists_families_that_it_can_generate)
{
    json_t *answer, *families, *family;
    size_t index;

    cr_assert(eq(int, shell("$T families --json"), 0), "%s", errors);
    answer = json_loads(out, 0, NULL);
    families = json_object_get(answer, "families");
    cr_assert(gt(sz, json_array_size(families), 1));
    json_array_foreach(families, index, family)
    {
        const char *name = json_string_value(json_object_get(family, "name"));

        const char *request = strstr(name, "planes")       ? "37x20x13 --compute f32_split"
                              : strcmp(name, "wgmma") == 0 ? "37x24x16 --dtype f16"
                                                           : "37x20x13 --dtype f64";

        /* with few columns and, where a family takes it, of f64 */
        cr_expect(eq(int, shell("$T generate %s --family %s", request, name), 0), "%s: %s", name, errors);
        cr_expect(strstr(out, "__global__") != NULL, "%s", name);
    }
    json_decref(answer);
    cr_expect(eq(int, shell("$T families"), 0));
    cr_expect(strstr(out, "tile_width") != NULL, "%s", out);
}

/* ---- every command ------------------------------------------------------------------------------------------------ */

static void write_matrix(const char *name, tj_type dtype, int rank, int64_t a, int64_t b, int64_t c, int is_fortran_order)
{
    tj_npy array = {dtype, rank, {a, b, c}, is_fortran_order, NULL, 0};
    int64_t count = a * b * (rank == 3 ? c : 1);
    char path[PATH_MAX];
    tj_output file;
    tj_error err;

    array.bytes = (size_t)count * tj_type_bytes(dtype);
    array.data = calloc(array.bytes + 1, 1);
    for (int64_t i = 0; i < count; i++) {
        float value = (float)(i % 7) - 3.0f;
        float *to = NULL;

        if (dtype == TJ_F32) {
            to = (float *)array.data + i;
            *to = value;
        }
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert(eq(int, tj_output_open(path, &file, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_npy_write(&file, &array, &err), TJ_OK), "%s", err.message);
    tj_output_close(&file);
    free(array.data);
}

/* docs/commands.md promises these members. */
Test(command, answers_json_for_every_command)
{
    static const struct {
        const char *words;
        int code;
        const char *members;
    } rows[] = {
        {"generate 33x30x70", 0, "kernel config checks problem launch source"},
        {"generate 33x30x70 -o k.cu", 0, "kernel config checks problem launch output"},
        {"families", 0, "families"},
        {"version", 0, ""},
        {"doctor --driver " FAKE_CUDA_PATH, 0, "findings missing"},
        {"doctor --driver /nonexistent/libcuda.so", 1, "findings missing error"},
        {"devices --driver " FAKE_CUDA_PATH, 0, "devices"},
        {"devices --driver /nonexistent/libcuda.so", 1, "error"},
        {"compile 33x30x70 --arch sm_90 -o k.ptx", 0,
         "kernel config checks problem target origin key compiler ptx_bytes cubin_bytes resources log output"},
        {"compile 33x30x70 --arch sm_9999", 1, "error"},
        {"run 33x30x70 --no-check --driver " FAKE_CUDA_PATH, 0,
         "kernel config target origin key was_run device device_ordinal time gflops seed"},
        {"run 33x30x70 --driver " FAKE_CUDA_PATH, 3, "kernel was_run check error"},
        {"bench 33x30x70 --driver /nonexistent/libcuda.so", 1, "error"},
        {"run 33x30x70 --driver /nonexistent/libcuda.so", 1, "kernel origin was_run error"},
        {"run 33x30x70 --count --driver " FAKE_CUDA_PATH, 1, "error"},
        {"devices --device emulator:sm_80,sm_90", 0, "devices"},
        {"run 33x30x70 --device emulator:sm_99", 1, "error"},
        {"run 33x30x70 --device -1", 2, "error"},
        {"run 33x30x70 --compile-only", 0, "kernel origin was_run"},
        {"run 0x30x70", 2, "error"},
        {"matmul M.npy N.npy -o P.npy --no-check --driver " FAKE_CUDA_PATH, 0, "kernel origin was_run time output"},
        {"matmul M.npy N.npy -o P.npy --driver " FAKE_CUDA_PATH, 3, "kernel check error"},
        {"matmul M.npy M.npy -o P.npy --driver " FAKE_CUDA_PATH, 1, "error"},
        {"cache list", 0, "entries records records_passed_over"},
        {"cache stats", 0, "path entries read_only_entries bytes max_bytes hits records records_passed_over"},
        {"cache stats --cache-dir /dev/null", 1, "error"},
        {"cache verify", 0, "entries damaged"},
        {"cache path", 0, "path"},
        {"cache explain 33x30x70 --arch sm_90", 0, "key hit fields"},
        {"cache explain 34x30x70 --arch sm_90", 0, "key hit fields"},
        {"cache clear", 0, "removed"},
        {"cache explain 34x30x70 --arch sm_90", 0, "key hit fields"},
        {"cache", 2, "error"},
        {"nonsense", 2, "error"},
    };

    write_matrix("M.npy", TJ_F32, 2, 5, 3, 0, 0);
    write_matrix("N.npy", TJ_F32, 2, 3, 2, 0, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char members[256], *rest = members, *member;
        json_error_t where;
        json_t *answer;

        cr_expect(eq(int, shell("TILEJIT_NVRTC=" FAKE_NVRTC_PATH " $T %s --json", rows[i].words), rows[i].code), "%s: %s",
                  rows[i].words, errors);
        answer = json_loads(out, JSON_REJECT_DUPLICATES, &where);
        cr_assert(eq(int, json_is_object(answer), 1), "%s: %s: %s", rows[i].words, where.text, out);
        strcpy(members, rows[i].members);
        while ((member = strsep(&rest, " ")) && *member)
            cr_expect(json_object_get(answer, member) != NULL, "%s has no %s: %s", rows[i].words, member, out);
        cr_expect(eq(int, json_object_get(answer, "error") != NULL, rows[i].code != 0), "%s: %s", rows[i].words, out);
        json_decref(answer);
    }
}

/* ---- compile, cache ----------------------------------------------------------------------------------------------- */

static json_t *answer_of(const char *words)
{
    json_error_t where;
    json_t *answer;

    shell("$T %s --json", words);
    answer = json_loads(out, 0, &where);
    cr_assert(answer != NULL, "%s: %s: %s", words, where.text, out);
    return answer;
}

Test(command, keeps_what_it_compiled_and_explains_hits_and_misses)
{
    json_t *answer, *entry;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T compile 33x300x700 --arch sm_90 -o k.ptx"), 0), "%s", errors);
    cr_expect(strstr(out, "origin     compiled") != NULL, "%s", out);
    cr_expect(eq(int, shell("grep -q '^.target sm_90' k.ptx"), 0));
    cr_assert(eq(int, shell("$T compile 33x300x700 --arch sm_90 -o k.cubin"), 0), "%s", errors);
    cr_expect(strstr(out, "origin     store") != NULL, "%s", out);
    cr_expect(eq(int, shell("head -c 4 k.cubin | grep -q ELF"), 0));
    cr_expect(eq(int, shell("$T compile 33x300x700 --arch sm_90 --emit ptx | cmp - k.ptx"), 0), "%s", errors);

    answer = answer_of("cache list");
    cr_assert(eq(sz, json_array_size(json_object_get(answer, "entries")), 1), "%s", out);
    entry = json_array_get(json_object_get(answer, "entries"), 0);
    cr_expect(eq(int, (int)json_integer_value(json_object_get(entry, "hits")), 2));
    cr_expect(eq(str, (char *)json_string_value(json_object_get(entry, "target")), "sm_90"));
    json_decref(answer);

    cr_expect(eq(int, shell("$T cache explain 33x300x700 --arch sm_90"), 0), "%s", errors);
    cr_expect(strstr(out, "this request would hit") != NULL, "%s", out);
    cr_expect(eq(int, shell("$T cache explain 34x300x700 --arch sm_90"), 0), "%s", errors);
    cr_expect(strstr(out, "source    different") != NULL && strstr(out, "would miss") != NULL, "%s", out);
    cr_expect(strstr(out, "found   // j33") != NULL, "the first differing line: %s", out);
    cr_expect(eq(int, shell("$T cache explain 33x300x700 --arch sm_80"), 0), "%s", errors);
    cr_expect(strstr(out, "target    different") != NULL, "%s", out);

    answer = answer_of("cache stats");
    cr_expect(eq(int, (int)json_integer_value(json_object_get(answer, "entries")), 1));
    cr_expect(gt(int, (int)json_integer_value(json_object_get(answer, "bytes")), 1000));
    json_decref(answer);
    cr_expect(eq(int, shell("test \"$($T cache path)\" = \"$TILEJIT_CACHE_DIR\""), 0));
}

Test(command, names_a_damaged_entry_and_recovers_from_it)
{
    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T compile 33x300x700 --arch sm_90 && $T compile 34x300x700 --arch sm_90 && $T cache verify"), 0),
              "%s", errors);
    cr_expect(strstr(out, "2 entries, all sound") != NULL, "%s", out);
    cr_assert(eq(int,
                 shell("f=$(grep -l 33x300x700 $(find store -name kernel.cu)); d=$(dirname $f); chmod u+w $d/*; "
                       "printf x | dd of=$d/kernel.cubin bs=1 seek=100 conv=notrunc; echo $d > damaged"),
                 0),
              "%s", errors);
    cr_expect(eq(int, shell("$T cache verify"), 1));
    cr_expect(strstr(out, "damaged") != NULL && strstr(errors, "1 of 2 entries is damaged") != NULL, "%s%s", out, errors);
    cr_expect(eq(int, shell("$T cache verify | grep -q \"$(cat damaged)\""), 0), "the entry is named: %s", out);
    cr_expect(eq(int, shell("$T cache clear --damaged"), 0), "%s", errors);
    cr_expect(strstr(out, "1 entry removed") != NULL, "%s", out);
    cr_expect(eq(int, shell("$T cache verify"), 0), "%s", errors);
    cr_expect(eq(int, shell("echo mine > store/mine.txt; $T cache clear && test -e store/mine.txt"), 0),
              "foreign files stay: %s", errors);
    cr_expect(eq(int, shell("$T cache list"), 0));
    cr_expect(eq(str, out, ""), "%s", out);
}

Test(command, works_whatever_the_cache_folder_is)
{
    static const char *const folders[] = {"/dev/null",    "/proc/self/mem", ":memory:",  "'file:x?mode=memory'", "no/such",
                                          "out",          "dangling-link",  "read-only", "with/../dots",         "''",
                                          "/proc/no/such"};

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("ln -s /proc/no/x dangling-link; mkdir read-only; chmod 500 read-only; mkdir with"), 0));
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        cr_expect(eq(int, shell("$T compile 33x300x700 --cache-dir %s", folders[i]), 0), "%s: %s", folders[i], errors);
        cr_expect(ne(int, shell("$T cache stats --cache-dir %s", folders[i]), 99), "%s: %s", folders[i], errors);
        cr_expect(ne(int, shell("$T doctor --cache-dir %s", folders[i]), 99), "%s: %s", folders[i], errors);
    }
}

Test(command, keeps_nothing_where_the_environment_switches_the_disk_off)
{
    NEEDS_COMPILER();
    for (int i = 0; i < 2; i++) {
        cr_expect(eq(int, shell("TILEJIT_CACHE_DIR=off $T run 33x30x70 --device emulator"), 0), "%s", errors);
        cr_expect(strstr(out, "image from the compiler") != NULL, "%s", out);
    }
    cr_expect(eq(int, shell("ls; test ! -e store -a ! -e off -a ! -e .cache"), 0), "%s", out);
    cr_expect(eq(int, shell("TILEJIT_CACHE_DIR=off $T doctor --driver " FAKE_CUDA_PATH), 0), "%s", errors);
    cr_expect(strstr(out, "note     store     the disk is switched off: TILEJIT_CACHE_DIR is \"off\"") != NULL, "%s", out);
    cr_expect(eq(int, shell("$T doctor --no-cache --driver " FAKE_CUDA_PATH), 0), "%s", errors);
    cr_expect(strstr(out, "the disk is switched off: the option cache_dir is empty") != NULL, "%s", out);
    cr_expect(eq(int, shell("TILEJIT_CACHE_DIR=off $T cache stats --json"), 0), "%s", errors);
    cr_expect(strstr(out, "\"trouble\": \"the disk is switched off: TILEJIT_CACHE_DIR is") != NULL, "%s", out);
    cr_expect(eq(int, shell("TILEJIT_CACHE_DIR=off $T cache path"), 1));
    cr_expect(strstr(errors, "TILEJIT_CACHE_DIR is \"off\"") != NULL, "%s", errors);
    cr_expect(eq(int, shell("TILEJIT_CACHE_DIR=./off $T run 33x30x70 --device emulator; test -d off/v1"), 0), "%s", errors);
    cr_expect(eq(int, shell("TILEJIT_CACHE_DIR=off $T run 33x30x70 --device emulator --cache-dir named; test -d named/v1"), 0),
              "%s", errors);
}

Test(command, leaves_nothing_behind_when_it_is_stopped_while_compiling)
{
    static const char *const signals[] = {"INT", "TERM", "KILL"};
    static const int codes[] = {130, 143, 137};

    for (size_t i = 0; i < 3; i++) {
        cr_expect(eq(int,
                     shell("FAKE_NVRTC_SLEEP_MS=5000 timeout --preserve-status -s %s 0.4 $T compile 33x30x70 --arch sm_90 "
                           "--nvrtc " FAKE_NVRTC_PATH " -o k.ptx",
                           signals[i]),
                     codes[i]),
                  "%s: %s", signals[i], errors);
        cr_expect(not(exists("k.ptx")), "%s", signals[i]);
        cr_expect(eq(int, shell("ls -A | grep -i tmp; test -d store/v1/tmp && find store/v1/tmp -mindepth 1"), 0), "%s",
                  errors);
        cr_expect(eq(str, out, ""), "%s left behind: %s", signals[i], out);
    }
    cr_expect(eq(int, shell("timeout 2 $T compile 33x30x70 --arch sm_90 --nvrtc " FAKE_NVRTC_PATH " -o k.ptx"), 0),
              "no lock is left either: %s", errors);
    cr_expect(strstr(out, "origin     compiled") != NULL, "%s", out);
}

/* The store is what a set-uid program must not let its caller choose: a CUBIN is code. */
Test(command, ignores_the_environment_in_a_set_uid_program)
{
    cr_assert(eq(int, shell("$T cache path"), 0), "%s", errors);
    cr_expect(strncmp(out, folder, strlen(folder)) == 0, "the variable counts otherwise: %s", out);
    if (geteuid() != 0)
        SKIP_TEST("only root can make a program of another user's");
    if (shell("cp $T suid && chown 65534 suid && chmod 4755 suid && chmod 755 . && ./suid version && "
              "! awk '$2 ~ /^\\/(tmp)?$/ && $4 ~ /nosuid/ { exit 1 }' /proc/mounts") == 0)
        SKIP_TEST("set-uid is switched off in this file system");
    if (shell("./suid version") != 0)
        SKIP_TEST("no set-uid program starts here: %s", errors);
    cr_expect(eq(int, shell("TILEJIT_LOG=loud $T cache path"), 1), "%s", errors);
    cr_expect(strstr(errors, "TILEJIT_LOG is \"loud\"") != NULL, "%s", errors);
    cr_expect(eq(int, shell("TILEJIT_LOG=loud ./suid cache path --cache-dir /given"), 0), "%s", errors);
    cr_expect(eq(str, out, "/given\n"));
    cr_expect(eq(int, shell("./suid cache path"), 1), "%s", out);
    cr_expect(strstr(errors, "there is no store") != NULL, "%s", errors);
}

Test(command, names_a_target_that_does_not_exist)
{
    static const char *const targets[] = {"sm_12", "banana", "''", "sm_", "sm_9000", "compute_1"};

    NEEDS_COMPILER();
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        int code = shell("$T compile 5x3x2 --arch %s", targets[i]);

        cr_expect(code == 1 || code == 2, "%s: %d", targets[i], code);
        cr_expect(gt(sz, strlen(errors), 10), "%s", targets[i]);
    }
    cr_expect(eq(int, shell("$T compile 5x3x2 --arch compute_90 -o k.ptx"), 0), "%s", errors);
    cr_expect(eq(int, shell("$T compile 5x3x2 --arch compute_90 -o k.cubin"), 1));
    cr_expect(strstr(errors, "PTX alone") != NULL, "%s", errors);
}

/* ---- machine ------------------------------------------------------------------------------------------------------ */

Test(command, says_that_there_is_nothing_to_run_on)
{
    NEEDS_COMPILER();
    cr_expect(eq(int, shell("$T run 33x30x70 --driver /nonexistent/libcuda.so"), 1));
    cr_expect(strstr(errors, "nothing here to run it on") != NULL && strstr(errors, "stored in") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T run 33x30x70 --driver /nonexistent/libcuda.so --compile-only"), 0), "%s", errors);
    cr_expect(strstr(out, "origin     store") != NULL, "%s", out);
    cr_expect(eq(int, shell("$T devices --driver /nonexistent/libcuda.so"), 1));
    cr_expect(strstr(errors, "/nonexistent/libcuda.so") != NULL, "%s", errors);
}

/* Each build by what is known of its machine code; one without a number, and the next of a minor version, are not known. */
Test(command, doctor_knows_builds_that_make_wrong_code)
{
    static const struct {
        const char *environment, *state, *words;
        bool has_remedy;
    } rows[] = {
        {"FAKE_NVRTC_BUILD=13.0.88", "note", "NVRTC 13.0 V13.0.88 has made kernels that spill registers and store to wrong",
         false},
        {"FAKE_NVRTC_BUILD=12.3.107", "OK", "NVRTC 13.0 V12.3.107 was looked at: none of the kernels", false},
        {"FAKE_NVRTC_BUILD=13.0.8", "note", "NVRTC 13.0 V13.0.8 was not looked at", true},
        {"FAKE_NVRTC_NO_BUILD=1", "note", " was not looked at", true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const words = "doctor --driver " FAKE_CUDA_PATH " --nvrtc " FAKE_NVRTC_PATH;
        json_t *answer, *finding;
        size_t index, times = 0;

        cr_expect(eq(int, shell("%s $T %s", rows[i].environment, words), 0), "%s%s", out, errors);
        cr_expect(strstr(out, rows[i].words) != NULL, "row %zu: %s", i, out);
        cr_expect(eq(int, shell("%s $T %s --json", rows[i].environment, words), 0), "%s%s", out, errors);
        answer = json_loads(out, 0, NULL);
        json_array_foreach(json_object_get(answer, "findings"), index, finding)
        {
            if (strcmp(json_string_value(json_object_get(finding, "topic")), "spills") != 0)
                continue;
            times++;
            cr_expect(strstr(json_string_value(json_object_get(finding, "text")), rows[i].words) != NULL, "row %zu: %s", i,
                      out);
            cr_expect(eq(str, (char *)json_string_value(json_object_get(finding, "state")), (char *)rows[i].state), "row %zu",
                      i);
            cr_expect(eq(int, strstr(json_string_value(json_object_get(finding, "remedy")), "check_sass.py") != NULL,
                         rows[i].has_remedy),
                      "row %zu: %s", i, out);
        }
        cr_expect(eq(sz, times, 1), "row %zu", i);
        json_decref(answer);
    }
}

Test(command, names_the_missing_compiler_and_the_remedy)
{
    cr_expect(eq(int, shell("$T compile 33x30x70 --nvrtc /nonexistent/libnvrtc.so"), 1));
    cr_expect(strstr(errors, "/nonexistent/libnvrtc.so") != NULL, "%s", errors);
    cr_expect(eq(int, shell("FAKE_NVRTC_VERSION=10.2 $T compile 33x30x70 --arch sm_75 --nvrtc " FAKE_NVRTC_PATH), 1));
    cr_expect(strstr(errors, "10.2") != NULL && strstr(errors, "11.2") != NULL && strstr(errors, "pip install") != NULL, "%s",
              errors);
    cr_expect(eq(
        int,
        shell("FAKE_NVRTC_VERSION=12.3 FAKE_NVRTC_NEEDS_BUILTINS=1 $T compile 33x30x70 --arch sm_90 --nvrtc " FAKE_NVRTC_PATH),
        1));
    cr_expect(strstr(errors, "libnvrtc-builtins.so.12.3") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T doctor --nvrtc /nonexistent/libnvrtc.so --driver /nonexistent/libcuda.so"), 1));
    cr_expect(strstr(out, "missing  nvrtc") != NULL && strstr(out, "missing  driver") != NULL, "%s", out);
    cr_expect(strstr(out, "remedy: ") != NULL, "%s", out);
    cr_expect(eq(int, shell("$T generate 33x30x70"), 0), "generating needs neither: %s", errors);
}

/* Every variable that docs/environment.md lists is known, and no other. */
Test(command, doctor_names_a_variable_that_nothing_reads)
{
    cr_assert(
        eq(int,
           shell("sed -n 's/^| `\\(TILEJIT_[A-Z_]*\\)`.*/\\1/p' " TJ_SOURCE_DIR "/docs/environment.md >names && "
                 "unset $(env | sed -n 's/^\\(TILEJIT_[A-Z_]*\\)=.*/\\1/p'); "
                 "TILEJIT_PACK=a TILEJIT_CACHEDIR=/b TILEJIT_DEVICES= $T doctor; for name in $(cat names); do echo $name; "
                 "env $name=0 $T doctor | grep 'nothing reads'; done; wc -l <names"),
           0),
        "%s", errors);
    cr_expect(strstr(out, "note     variable  TILEJIT_PACK is set, and nothing reads a variable of that name") &&
                  strstr(out, "remedy: did you mean TILEJIT_PACKS?") && strstr(out, "did you mean TILEJIT_CACHE_DIR?"),
              "%s", out);
    cr_expect(strstr(out, "TILEJIT_DEVICES") == NULL, "an empty variable is none: %s", out);
    cr_expect(strstr(strstr(out, "TILEJIT_CACHE_DIR\n"), "nothing reads") == NULL, "%s", out);
    cr_expect(strstr(out, "\n11\n") != NULL, "%s", out);
}

Test(command, doctor_is_content_with_a_whole_machine)
{
    json_t *answer;

    NEEDS_COMPILER();
    cr_expect(eq(int, shell("$T doctor --driver " FAKE_CUDA_PATH), 0), "%s%s", out, errors);
    cr_expect(strstr(out, "Fake Device 0") != NULL && strstr(out, "compiles for sm_90") != NULL, "%s", out);
    answer = answer_of("doctor --driver " FAKE_CUDA_PATH);
    cr_expect(eq(int, (int)json_integer_value(json_object_get(answer, "missing")), 0), "%s", out);
    json_decref(answer);
    cr_expect(not(exists("store")), "the doctor changes nothing");
    cr_expect(eq(int, shell("$T devices --driver " FAKE_CUDA_PATH), 0), "%s", errors);
    cr_expect(strstr(out, "0: Fake Device 0, compute capability 9.0") != NULL, "%s", out);
    cr_expect(eq(int, shell("$T run 5x3x2 --device 7 --driver " FAKE_CUDA_PATH), 1));
    cr_expect(strstr(errors, "no CUDA device 7") != NULL, "%s", errors);
}

Test(command, does_not_believe_a_device_that_computes_nothing)
{
    NEEDS_COMPILER();
    cr_expect(eq(int, shell("$T run 33x30x70 --driver " FAKE_CUDA_PATH), 3), "%s%s", out, errors);
    cr_expect(strstr(out, "NOT PASSED") != NULL && strstr(errors, "did not pass its check") != NULL, "%s%s", out, errors);
    cr_expect(eq(int, shell("$T run 33x30x70 --no-check --driver " FAKE_CUDA_PATH), 0), "%s", errors);
    cr_expect(strstr(out, "median") != NULL, "%s", out);
}

/* ---- matmul ------------------------------------------------------------------------------------------------------- */

Test(command, matmul_names_arrays_that_do_not_fit)
{
    static const struct {
        const char *words, *said[2];
    } rows[] = {
        {"M.npy M.npy", {"5 x 3", "3 columns do not meet 5 rows"}},
        {"M.npy N.npy --transpose-m", {"5 x 3, transposed", "5 columns do not meet 3 rows"}},
        {"batch4.npy batch5.npy", {"4 x 5 x 3", "batches of 4 and 5"}},
        {"M.npy wide.npy", {"M.npy holds f32 and wide.npy holds f64", "add --dtype"}},
        {"M.npy N.npy --c M.npy", {"M.npy is 5 x 3", "P is 5 x 2"}},
        {"missing.npy N.npy", {"missing.npy", ""}},
        {"M.npy folder", {"folder", ""}},
        {"text.npy N.npy", {"text.npy", ""}},
        {"M.npy N.npy --boundary none", {"boundary check of j", ""}},
        {"empty.npy N.npy", {"j is 0", ""}},
        {"none.npy N.npy", {"nothing to multiply", "0 x 5 x 3"}},
        {"F.npy N.npy --c CF.npy --order C", {"CF.npy is in F order", "leave --order out"}},
        {"batch4.npy N.npy --order F", {"leave --order F out", ""}},
    };

    write_matrix("M.npy", TJ_F32, 2, 5, 3, 0, 0);
    write_matrix("N.npy", TJ_F32, 2, 3, 2, 0, 0);
    write_matrix("F.npy", TJ_F32, 2, 5, 3, 0, 1);
    write_matrix("CF.npy", TJ_F32, 2, 5, 2, 0, 1);
    write_matrix("wide.npy", TJ_F64, 2, 3, 2, 0, 0);
    write_matrix("batch4.npy", TJ_F32, 3, 4, 5, 3, 0);
    write_matrix("batch5.npy", TJ_F32, 3, 5, 3, 2, 0);
    write_matrix("empty.npy", TJ_F32, 2, 0, 3, 0, 0);
    write_matrix("none.npy", TJ_F32, 3, 0, 5, 3, 0);
    cr_assert(eq(int, shell("mkdir folder; echo hello > text.npy"), 0));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int code = shell("$T matmul %s -o P.npy", rows[i].words);

        cr_expect(eq(int, code, 1), "%s: %s", rows[i].words, errors);
        for (size_t s = 0; s < 2; s++)
            cr_expect(strstr(errors, rows[i].said[s]) != NULL, "%s: %s", rows[i].words, errors);
        cr_expect(not(exists("P.npy")), "%s", rows[i].words);
    }
}

Test(command, matmul_writes_p_only_if_it_passed)
{
    NEEDS_COMPILER();
    write_matrix("M.npy", TJ_F32, 2, 5, 3, 0, 0);
    write_matrix("N.npy", TJ_F32, 2, 3, 2, 0, 1);
    cr_expect(eq(int, shell("$T matmul M.npy N.npy -o P.npy --driver " FAKE_CUDA_PATH), 3), "%s%s", out, errors);
    cr_expect(not(exists("P.npy")));
    cr_expect(eq(int, shell("$T matmul M.npy N.npy -o P.npy --keep --driver " FAKE_CUDA_PATH), 3), "%s", errors);
    cr_expect(exists("P.npy"), "asked for");
    cr_expect(eq(int, shell("$T matmul M.npy N.npy -o missing/P.npy --no-check --driver " FAKE_CUDA_PATH), 1), "%s", errors);
    cr_expect(strstr(errors, "missing/P.npy") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T matmul M.npy N.npy -o P.npy --compile-only --driver /nonexistent/libcuda.so"), 0), "%s",
              errors);
}

Test(command, matmul_takes_every_order_type_and_rank_the_files_have)
{
    static const struct {
        const char *words;
        tj_type dtype;
        int rank;
        int64_t shape[3];
        int is_fortran_order;
    } rows[] = {
        {"M.npy N.npy", TJ_F32, 2, {5, 2, 0}, 0},
        {"F.npy N.npy --order F", TJ_F32, 2, {5, 2, 0}, 1},
        {"N.npy M.npy --transpose-m --transpose-n", TJ_F32, 2, {2, 5, 0}, 0},
        {"batch4.npy N.npy", TJ_F32, 3, {4, 5, 2}, 0},
        {"M.npy wide.npy --dtype f64", TJ_F64, 2, {5, 2, 0}, 0},
        {"M.npy N.npy --dtype f16 --p-dtype f32", TJ_F32, 2, {5, 2, 0}, 0},
        {"M.npy N.npy --dtype bf16", TJ_BF16, 2, {5, 2, 0}, 0},
        {"M.npy N.npy --c CF.npy", TJ_F32, 2, {5, 2, 0}, 1},
        {"M.npy N.npy --any all --alpha 0.5", TJ_F32, 2, {5, 2, 0}, 0},
    };

    NEEDS_COMPILER();
    write_matrix("M.npy", TJ_F32, 2, 5, 3, 0, 0);
    write_matrix("N.npy", TJ_F32, 2, 3, 2, 0, 0);
    write_matrix("F.npy", TJ_F32, 2, 5, 3, 0, 1);
    write_matrix("CF.npy", TJ_F32, 2, 5, 2, 0, 1);
    write_matrix("wide.npy", TJ_F64, 2, 3, 2, 0, 0);
    write_matrix("batch4.npy", TJ_F32, 3, 4, 5, 3, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_npy p;
        tj_error err;
        char path[PATH_MAX];

        cr_assert(eq(int, shell("rm -f P.npy; $T matmul %s -o P.npy --no-check --driver " FAKE_CUDA_PATH, rows[i].words), 0),
                  "%s: %s", rows[i].words, errors);
        snprintf(path, sizeof path, "%s/P.npy", folder);
        cr_assert(eq(int, tj_npy_read(path, &p, &err), TJ_OK), "%s: %s", rows[i].words, err.message);
        cr_expect(eq(int, p.dtype, rows[i].dtype), "%s", rows[i].words);
        cr_expect(eq(int, p.rank, rows[i].rank), "%s", rows[i].words);
        cr_expect(eq(int, p.is_fortran_order, rows[i].is_fortran_order), "%s", rows[i].words);
        for (int d = 0; d < rows[i].rank; d++)
            cr_expect(eq(i64, p.shape[d], rows[i].shape[d]), "%s", rows[i].words);
        tj_npy_drop(&p);
    }
}
