/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * tilejit prove, as a user types it, on the emulator.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "shell.h"

static void assign_variables(char *assignments, size_t bytes)
{
    snprintf(assignments, bytes, "TILEJIT_DRIVER=emulator");
}

TestSuite(prove_command, .init = make_folder, .fini = remove_folder, .timeout = 280);

static json_int_t number(const char *name)
{
    json_t *root = json_loads(out, JSON_REJECT_DUPLICATES, NULL);
    json_int_t value;

    cr_assert(root != NULL, "no JSON: %s", out);
    value = json_integer_value(json_object_get(root, name));
    json_decref(root);
    return value;
}

Test(prove_command, proves_keeps_and_passes_over)
{
    NEEDS_COMPILER();
    cr_assert(eq(int, shell("printf '24,8,40\\n' >shapes.csv; $T prove 20x10x30 --shapes shapes.csv"), 0), "%s", errors);
    cr_expect(strstr(out, "proven     20x10x30") && strstr(out, "proven     24x8x40"), "%s", out);
    cr_expect(strstr(out, "600 of 600 elements compared") && strstr(out, "2 proven, 0 known, 0 failed"), "%s", out);
    cr_assert(eq(int, shell("$T prove 20x10x30 21x10x30 --resume --json"), 0), "%s", errors);
    cr_expect(number("proven") == 1 && number("known") == 1 && number("failed") == 0, "%s", out);
    cr_assert(eq(int, shell("$T prove 20x10x30 --json"), 0), "%s", errors);
    cr_expect(number("proven") == 1 && number("known") == 0, "without --resume everything is run: %s", out);
}

/* A stored proof says that the kernel failed: a request that names its config fails, and the library chooses another. */
Test(prove_command, a_kernel_that_failed_is_not_launched_again)
{
    NEEDS_COMPILER();
    cr_assert(eq(int,
                 shell("$T prove 20x10x30 --family tiled && sed -i 's/\"passed\": true/\"passed\": false/; s/\"reason\": "
                       "\"\"/\"reason\": "
                       "\"P is wrong\"/' $(find . -name 'proof-*')"),
                 0),
              "%s", errors);
    cr_expect(eq(int, shell("$T run 20x10x30 --family tiled"), 1));
    cr_expect(strstr(errors, "failed its proof on") && strstr(errors, "P is wrong"), "%s", errors);
    cr_expect(eq(int, shell("$T prove 20x10x30 --family tiled"), 3));
    cr_expect(eq(int, shell("$T run 20x10x30"), 0), "%s", errors);
}

/* mma copies an operand to the workspace once if all products share it: each must find it there. */
Test(prove_command, a_matrix_that_is_packed_once_serves_all_products)
{
    static const char *const shared[] = {"--stride-m broadcast", "--stride-n broadcast --layout-m col",
                                         "--stride-n broadcast --layout-p col", "--stride-m broadcast --layout-n col",
                                         "--stride-m broadcast --stride-n broadcast"};

    NEEDS_COMPILER();
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++) {
        cr_assert(eq(int,
                     shell("$T prove 33x121x47 --dtype bf16 --batch 3 %s --config mma:bm=32,bn=32,wm=16,wn=16,pack=both%s",
                           shared[i], i % 2 ? ",splits=3" : ""),
                     0),
                  "%s: %s", shared[i], errors);
        cr_expect(strstr(out, "1 proven, 0 known, 0 failed") != NULL, "%s: %s", shared[i], out);
    }
}

/* A command that only looks at a kernel that spills says that it is never launched. */
Test(prove_command, a_kernel_that_spills_is_named_by_those_that_only_look)
{
#define FAKE "FAKE_NVRTC_SPILLS=simt_f32 TILEJIT_NVRTC=" FAKE_NVRTC_PATH " $T "
    cr_assert(eq(int, shell(FAKE "explain 512x512x512 --config simt --arch sm_90"), 0), "%s", errors);
    cr_expect(strstr(out, "so it is never launched: use looser launch bounds") != NULL, "%s", out);
    cr_assert(eq(int, shell(FAKE "compile 512x512x512 --config simt --arch sm_90 --json"), 0), "%s", errors);
    cr_expect(strstr(out, "\"spilled\": true") != NULL, "%s", out);
    cr_assert(eq(int, shell(FAKE "explain 512x512x512 --config tiled --arch sm_90"), 0), "%s", errors);
    cr_expect(strstr(out, "never launched") == NULL, "%s", out);
}

Test(prove_command, refuses_what_it_cannot_mean)
{
    cr_expect(eq(int, shell("$T prove"), 2));
    cr_expect(strstr(errors, "there is no shape to prove") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T prove 8x8x8 --config tiled --family naive"), 2));
    cr_expect(eq(int, shell("$T prove 8x8x8 --config nothing"), 2));
    cr_expect(eq(int, shell("$T prove 8x8"), 2));
    cr_expect(eq(int, shell("$T prove --shapes /nowhere/shapes.csv"), 1));
}
