/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * steps: which products may overlap the preceding kernel, and that their sources wait for it.
 */
#include "family.h"
#include "generator_test.h"

#define SHORT PROBLEM(.j = {FIXED(16)}, .k = {FIXED(256)}, .l = {FIXED(512)})

static bool starts_early(const tj_problem *problem, const char *name)
{
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    tj_error err;
    const tj_launch_step *first;
    const char *wait, *body;
    bool is_early;

    cr_assert(eq(int, tj_config_parse(name, &config, &err), TJ_OK), "%s: %s", name, err.message);
    cr_assert(eq(int, tj_generate(problem, &config, &source, &err), TJ_OK), "%s: %s", name, err.message);
    first = &tj_source_launch(source)->step[0];
    body = strstr(tj_source_text(source), first->kernel);
    cr_assert(body != NULL, "%s", name);
    wait = strstr(body, "griddepcontrol.wait");
    is_early = first->overlaps != 0;
    if (is_early)
        cr_expect(wait && strstr(wait, "griddepcontrol.launch_dependents"), "%s waits, and lets the next start", name);
    tj_source_free(source);
    return is_early;
}

Test(steps, short_products_start_early)
{
    const struct {
        const char *config;
        tj_problem problem;
    } rows[] = {
        {"simt:bm=16,bn=32,bk=32,tm=4,tn=4", SHORT},
        {"simt:bm=16,bn=32,bk=32,tm=4,tn=4,copy=registers", SHORT},
        {"simt:bm=16,bn=32,bk=32,tm=4,tn=4,splits=2", SHORT},
        {"skinny", SHORT},
        {"strip", PROBLEM(.j = {FIXED(512)}, .k = {FIXED(256)}, .l = {FIXED(16)})},
        {"mma", PROBLEM(.j = {FIXED(16)}, .k = {FIXED(256)}, .l = {FIXED(512)}, .m.type = TJ_BF16)},
        {"wgmma", PROBLEM(.j = {FIXED(64)}, .k = {FIXED(256)}, .l = {FIXED(512)}, .m.type = TJ_BF16)},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect(starts_early(&rows[i].problem, rows[i].config), "%s", rows[i].config);
}

/* Addresses that are in memory, packed operands, and kernels that go before the product: the first kernel waits before all else. */
Test(steps, a_product_that_is_asked_to_overlap_waits_first)
{
    const struct {
        const char *config;
        tj_problem problem;
    } rows[] = {
        {"simt", PROBLEM(.j = {FIXED(1024)}, .k = {FIXED(1024)}, .l = {FIXED(1024)})},
        {"mma:pack=both", PROBLEM(.j = {FIXED(63)}, .k = {FIXED(255)}, .l = {FIXED(511)}, .m.type = TJ_BF16)},
        {"mma",
         PROBLEM(.j = {FIXED(64)}, .k = {FIXED(4096)}, .l = {FIXED(4096)}, .m.type = TJ_BF16, .n.stride = TJ_POINTERS_16)},
        {"mma", PROBLEM(.j = {FIXED(64)}, .k = {FIXED(256)}, .l = {FIXED(512)}, .m.type = TJ_BF16,
                        .rows = {TJ_ROWS_IN_GROUPS, 0, 0, 0, 4, 4, 0})},
        {"small_batch", PROBLEM(.j = {FIXED(16)}, .k = {FIXED(16)}, .l = {FIXED(16)}, .batch = 100)},
        {"planes", PROBLEM(.j = {FIXED(256)}, .k = {FIXED(256)}, .l = {FIXED(256)}, .compute = TJ_COMPUTE_F32_SPLIT)},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = rows[i].problem;

        cr_expect(not(starts_early(&problem, rows[i].config)), "%s, unasked", rows[i].config);
        problem.overlap = 1;
        cr_expect(starts_early(&problem, rows[i].config), "%s", rows[i].config);
    }
}

Test(steps, overlap_is_checked_and_printed)
{
    tj_problem problem = SHORT;
    char text[TJ_PROBLEM_TEXT_BYTES];
    tj_error err;

    problem.overlap = 1;
    cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_OK));
    tj_problem_print(&problem, text);
    cr_expect(strstr(text, " overlap") != NULL, "%s", text);
    problem.overlap = 2;
    cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "overlap is 2") != NULL, "%s", err.message);
}

Test(steps, others_start_behind_the_kernel_ahead)
{
    const struct {
        const char *what, *config;
        tj_problem problem;
    } rows[] = {
        {"long", "simt", PROBLEM(.j = {FIXED(1024)}, .k = {FIXED(1024)}, .l = {FIXED(1024)})},
        {"a large N", "skinny", PROBLEM(.j = {FIXED(1)}, .k = {FIXED(4096)}, .l = {FIXED(4096)})},
        {"a large P", "simt", PROBLEM(.j = {FIXED(1024)}, .k = {FIXED(8)}, .l = {FIXED(1024)})},
        {"a batch", "simt", PROBLEM(.j = {FIXED(16)}, .k = {FIXED(16)}, .l = {FIXED(16)}, .batch = 2)},
        {"an extent that the launch says", "simt", PROBLEM(.j = {FIXED(16)}, .k = {.mode = TJ_DIM_ANY}, .l = {FIXED(16)})},
        {"operands that are packed ahead", "mma:pack=both",
         PROBLEM(.j = {FIXED(63)}, .k = {FIXED(255)}, .l = {FIXED(511)}, .m.type = TJ_BF16)},
        {"a textbook's kernel", "tiled", SHORT},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect(not(starts_early(&rows[i].problem, rows[i].config)), "%s", rows[i].what);
}
