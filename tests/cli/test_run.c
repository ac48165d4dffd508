/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/* tilejit run: on the emulator where there is no GPU, with counts, batches and groups. */
#include "command_test.h"

#include <fcntl.h>
#include <sys/wait.h>

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
Test(command, shows_how_far_the_emulator_is, .timeout = 280)
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

Test(command, counts_both_kernels_of_a_split_k)
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

/* More products than the emulator has multiprocessors: each block has the tiles of several, and all that belongs to them. */
Test(command, runs_batches_whose_products_one_block_walks)
{
    static const char *const of_products[] = {
        ("--dtype bf16 --alpha 2 --beta 0.5 --scale-m each --scale-n one --config wgmma:bm=64,bn=16,multipliers=2,pingpong=yes "
         "--epilogue 'alpha * acc + beta * c + bias[col] * gain[row] + rest[row, col]'"),
        "--dtype bf16 --beta 1 --stride-p pointers --stride-c pointers --any batch --config wgmma:bm=64,bn=16",
        "--dtype bf16 --epilogue 'most[row] = max(acc); total[col] = sum(acc); acc' --config wgmma:bm=64,bn=16,multipliers=1",
        "--compute tf32 --stride-n broadcast --config wgmma:bm=64,bn=32,transpose=n,store=boxes",
    };

    NEEDS_COMPILER();
    for (size_t i = 0; i < sizeof of_products / sizeof of_products[0]; i++) {
        cr_assert(eq(int, shell("$T run 65x40x24 --batch 140 --device emulator:sm_90 %s", of_products[i]), 0), "%s", errors);
        cr_expect(strstr(out, "check      passed: 218400 of 218400 elements") != NULL, "%s: %s", of_products[i], out);
    }
}

/* factor[0] is read by the kernel, one for each product. */
Test(command, operands_of_one_element_lie_in_device_memory)
{
    static const char *const configs[] = {"naive", "simt", "mma:splits=2", "wgmma:swap=yes"};

    NEEDS_COMPILER();
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        cr_assert(eq(int,
                     shell("$T run 64x64x64 --dtype bf16 --batch 3 --config %s --device emulator:sm_90 --epilogue "
                           "'select(factor[0] == 0, 0, factor[0] * acc) + weight:bf16[0] * c'",
                           configs[i]),
                     0),
                  "%s: %s", configs[i], errors);
        cr_expect(strstr(out, "check      passed: 12288 of 12288 elements") != NULL, "%s: %s", configs[i], out);
    }
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
        {"50x24x40 --group-rows 5,26 --grouped masked", "group 1 has 26 rows, and room for 0 to 25 of them"},
        {"50x24x40 --groups 3 --grouped masked", "j is 50, which is not a multiple of the 3 masked groups"},
        {"50x24x40 --offsets host", "add groups"},
        {"50x24x40 --groups 3 --batch 2", "a batch or groups, not both"},
        {"50x24x40 --groups 3 --layout-p col", "P is column-major"},
        {"50x24x40 --groups 3 --family skinny", "family skinny takes no groups"},
    };
    json_t *answer, *problem;

    cr_assert(eq(int, shell("$T run 50x24x40 --device emulator --group-rows 5,0,17,20"), 0), "%s", errors);
    cr_expect(strstr(out, "check      passed: 1680 of 1680 elements") != NULL, "%s", out);
    cr_assert(
        eq(int, shell("$T run 52x24x40 --device emulator --group-rows 5,0,13,2 --grouped masked --expected 5 --gather"), 0),
        "%s", errors);
    cr_expect(strstr(out, "check      passed: 800 of 800 elements") != NULL, "%s", out);
    cr_assert(eq(int, shell("$T run 50x24x40 --device emulator --groups 70 --offsets host64 --any all --json"), 0), "%s",
              errors);
    answer = json_loads(out, 0, NULL);
    problem = json_object_get(answer, "problem");
    cr_expect(eq(i64, json_integer_value(json_object_get(problem, "groups")), 70));
    cr_expect(eq(str, (char *)json_string_value(json_object_get(problem, "offsets")), (char *)"host64"));
    cr_expect(eq(str, (char *)json_string_value(json_object_get(problem, "grouped")), (char *)"packed"));
    cr_expect(json_object_get(problem, "gather") == NULL);
    json_decref(answer);
    cr_assert(eq(int, shell("$T run 12x24x40 --device emulator --gather --combine 3 --json"), 0), "%s", errors);
    answer = json_loads(out, 0, NULL);
    problem = json_object_get(answer, "problem");
    cr_expect(eq(int, json_is_true(json_object_get(problem, "gather")), 1));
    cr_expect(json_object_get(problem, "grouped") == NULL);
    cr_expect(eq(i64, json_integer_value(json_object_get(problem, "combine")), 3));
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
