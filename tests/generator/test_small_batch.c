/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * small_batch: every constraint with its message, properties that the problem settles, and the launch form.
 */
#include "generator_test.h"
#include "of_problem.h"

Test(small_batch, says_which_constraint_does_not_hold)
{
    const request rows[] = {
        {CUBES(16, .batch = 100), "small_batch", NULL},
        {CUBES(128, .batch = 100), "small_batch", NULL},
        {CUBES(1, .batch = 100), "small_batch", NULL},
        {CUBES(16, .batch = TJ_ANY, .m.ld = TJ_ANY, .n.stride = TJ_ANY), "small_batch", NULL},
        {CUBES(129, .batch = 100), "small_batch", "j is 129, and family small_batch is for 128 at most: use another family"},
        {PROBLEM(.j = {FIXED(8)}, .k = {FIXED(500)}, .l = {FIXED(8)}), "small_batch", "k is 500"},
        {PROBLEM(.j = {FIXED(200)}, .k = {FIXED(5)}, .l = {FIXED(8)}, .p.layout = TJ_COL_MAJOR), "small_batch", "j is 200"},
        {PROBLEM(.j = {FIXED(8)}, .k = {.mode = TJ_DIM_ANY}, .l = {FIXED(8)}), "small_batch",
         "k is known only at launch, and family small_batch is made for exact sizes: fix it, or use another family"},
        {PROBLEM(.j = {FIXED(8)}, .k = {FIXED(0)}, .l = {FIXED(8)}), "small_batch",
         "k is 0, and family small_batch has nothing"},
        {CUBES(16, .batch = 100), "small_batch:vector=3", "vector is 3: it must be 1, 2 or 4"},
        {CUBES(16, .batch = 100, .m.type = TJ_F16), "small_batch:copy=async",
         "copy=async brings elements to shared memory as they are, and f16 is summed as f32: use copy=registers"},
        {CUBES(9, .batch = 100), "small_batch:tm=8,tn=3", "tm is 8, and with as many threads 5 is enough for j = 9: use tm=5"},
        {CUBES(9, .batch = 100), "small_batch:tm=3,tn=12",
         "tn is 12, and with as many threads 9 is enough for l = 9: use tn=9"},
        {PROBLEM(.j = {FIXED(9)}, .k = {FIXED(9)}, .l = {FIXED(16)}, .p.layout = TJ_COL_MAJOR), "small_batch:tm=5,tn=9",
         "tm is 5, and with as many threads 4 is enough for l = 16"},
        {CUBES(64, .batch = 100), "small_batch:tm=16,tn=8", "tm 16 x tn 8 makes 128 sums a thread: 64 of 4 bytes are the most"},
        {CUBES(64, .batch = 100, .m.type = TJ_F64), "small_batch:tm=8,tn=8", "32 of 8 bytes are the most"},
        {CUBES(16), "small_batch:products=4", "products is 4, and the problem is one product: use products=1"},
        {CUBES(16, .batch = 100), "small_batch:products=65,tm=4,tn=4",
         "65 products with 4 x 4 threads each make 1040 threads a block: 1024 is the most"},
        {CUBES(128, .batch = 100), "small_batch:products=2,tm=8,tn=8",
         "2 products need 266240 bytes of shared memory: 232448 are the most"},
        {CUBES(128, .batch = 100, .m.type = TJ_F64), "small_batch", "1 products need "},
    };

    expect_answers(rows, sizeof rows / sizeof rows[0]);
}

/* Several tiny products to a block, one large one; none of them idle, and what is settled resolves to itself. */
Test(small_batch, fills_blocks_with_products)
{
    for (int n = 1; n <= 128; n++) {
        const tj_problem problem = CUBES(n, .batch = 100000);
        tj_config config = parse("small_batch"), again;
        const tj_launch_step *form;
        tj_source *source = NULL;
        tj_error err = {0};

        cr_assert(eq(int, tj_config_resolve(&problem, &config, &err), TJ_OK), "%d: %s", n, err.message);
        again = config;
        cr_assert(eq(int, tj_config_resolve(&problem, &again, &err), TJ_OK), "%d: %s", n, err.message);
        cr_expect(eq(int, memcmp(&config, &again, sizeof config), 0), "%d", n);
        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%d: %s", n, err.message);
        form = tj_product_step(tj_source_launch(source));
        cr_expect(form->block_x >= (n <= 20 ? 32 : 64) && form->block_x <= 512, "%d: %d threads", n, form->block_x);
        cr_expect(eq(int, form->block_products, tj_config_get(&config, "products")));
        cr_expect(form->block_products * n * n <= 16384 && form->block_products >= 1, "%d: %d products", n,
                  form->block_products);
        cr_expect(form->dynamic_shared_bytes >= 8L * n * n * form->block_products, "%d", n);
        tj_source_free(source);
    }
}

Test(small_batch, takes_several_elements_at_once_where_lines_let_it)
{
    static const alignment rows[] = {
        {CUBES(16, .batch = 9), "small_batch", 16, 16, 16},
        {CUBES(16, .batch = 9), "small_batch:vector=1", 4, 4, 4},
        {CUBES(16, .batch = 9), "small_batch:vector=2", 8, 8, 4}, /* threads hold four columns: all at once, or one by one */
        {CUBES(16, .batch = 9, .m.stride = 258), "small_batch", 8, 16, 16},
        {CUBES(16, .batch = 9, .n.ld = 17), "small_batch", 16, 4, 16},
        {CUBES(16, .batch = 9, .p.ld = TJ_ANY), "small_batch", 16, 16, 4},
        {CUBES(18, .batch = 9), "small_batch", 8, 8, 8},
        {CUBES(23, .batch = 9), "small_batch", 4, 4, 4},
        {CUBES(16, .batch = 9, .m.type = TJ_F64), "small_batch", 16, 16, 16},
        {CUBES(16, .batch = 9, .m.type = TJ_F16), "small_batch", 8, 8, 8},
        {CUBES(16, .batch = 9, .p.layout = TJ_COL_MAJOR, .m.ld = 17), "small_batch", 4, 16, 4},
    };

    expect_alignments(rows, sizeof rows / sizeof rows[0]);
}

/*
 * A team finishes its product: no workspace, no second kernel. Its threads' results for rows and columns are stored next to the
 * operands.
 */
Test(small_batch, reduces_by_itself)
{
    tj_problem problem = TJ_PROBLEM_INIT(16, 8, 16, TJ_F32);
    tj_config config = TJ_CONFIG_INIT;
    tj_launch_form plain, reducing;
    tj_error err;

    problem.batch = 100;
    cr_assert(eq(int, tj_config_parse("small_batch:tm=2,tn=4,products=2", &config, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_preview_launch(&problem, &config, &plain, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_epilogue_parse("peak[row] = max(acc); total[col] = sum(acc); acc", &problem.epilogue, &err), TJ_OK),
              "%s", err.message);
    cr_assert(eq(int, tj_preview_launch(&problem, &config, &reducing, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, reducing.steps, 1));
    cr_expect(eq(i64, reducing.workspace_bytes, 0));
    cr_expect(
        eq(i64, tj_product_step(&reducing)->dynamic_shared_bytes,
           tj_product_step(&plain)->dynamic_shared_bytes + 2 * (2 * 32 * 4) * 4)); /* products, outputs, threads, TN, bytes */
}
