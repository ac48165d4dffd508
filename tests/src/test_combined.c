/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * A P whose rows add up rows of the product: which problems may have one, right sums of every family, the bits of a sum, hostile
 * indexes, and what a launch refuses.
 */
#include <math.h>

#include "product_test.h"
#include "scales.h"

TestSuite(combined, .fini = stop, .timeout = 300);

static tj_problem combined(int64_t j, int64_t k, int64_t l, int32_t type, int combined)
{
    tj_problem problem = TJ_PROBLEM_INIT(j, k, l, type);

    problem.rows.combined = (int8_t)combined;
    return problem;
}

Test(combined, problems_that_cannot_have_sums_are_refused)
{
    static const char *const said[] = {"rows.combined is 33: use 1 to 32",
                                       "rows.combined is -1: use 1 to 32",
                                       "rows.combined is 2 and rows.scattered 1",
                                       "rows.combined is 2, and P is e4m3: sums with factors are of f32, f64, f16 or bf16",
                                       "rows.combined is 2, and the expression reads c",
                                       "rows.combined is 2, and j is known only at launch",
                                       "P is column-major, and rows of P add up rows of the product",
                                       "batch is 3, and an index of rows is for one product"};

    for (int i = 0; i < (int)(sizeof said / sizeof said[0]); i++) {
        tj_problem problem = combined(64, 32, 64, TJ_F16, i == 0 ? 33 : i == 1 ? -1 : 2);

        problem.rows.scattered = i == 2;
        if (i == 3) { /* nor may such a P be quantised */
            problem.p.type = TJ_E4M3;
            problem.scale[TJ_MATRIX_P] = (tj_scale)BY_ROW(1, 32);
        }
        if (i == 4)
            cr_assert(eq(int, tj_epilogue_parse("acc + c", &problem.epilogue, &err), TJ_OK), "%s", err.message);
        problem.j.mode = i == 5 ? TJ_DIM_ANY : TJ_DIM_FIXED;
        problem.p.layout = i == 6 ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
        problem.batch = i == 7 ? 3 : 0;
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT), "%s", said[i]);
        cr_expect(says(said[i]), "%s: %s", said[i], err.message);
    }
}

/* A record keeps the number, and one without it reads as before. */
Test(combined, the_number_is_kept_by_records)
{
    const tj_problem problem = combined(64, 32, 48, TJ_F16, 4);
    char *const text = tj_problem_to_json(&problem);
    tj_problem parsed;

    cr_expect(strstr(text, "\"combined\":4") != NULL, "%s", text);
    cr_assert(eq(int, tj_problem_from_json(text, &parsed, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, parsed.rows.combined, 4));
    free(text);
}

/* ---- right sums --------------------------------------------------------------------------------------------------- */

static const struct row {
    const char *config, *epilogue;
    int64_t j, k, l;
    int32_t type, p, layout_n, groups, combined;
    bool is_masked, gathers, has_beta;
} rows[] = {
    {"naive", NULL, 21, 35, 70, TJ_BF16, TJ_BF16, 0, 0, 2},
    {"naive", NULL, 21, 35, 71, TJ_F16, TJ_F16, 0, 0, 2, .has_beta = true},
    {"naive", NULL, 9, 5, 2100, TJ_F16, TJ_F16, 0, 0, 4},
    {"tiled", NULL, 50, 16, 40, TJ_F16, TJ_F16, 0, 3, 4},
    {"tiled:shared=dynamic", "alpha * acc", 20, 35, 70, TJ_F32, TJ_F32, 0, 0, 1, .has_beta = true},
    {"tiled", "silu(acc[2*col] + bias[col]) * acc[2*col+1]", 21, 35, 140, TJ_F16, TJ_F32, 0, 0, 3},
    {"tiled", "peak[row] = max(abs(acc)); acc", 21, 35, 70, TJ_F16, TJ_F16, 0, 0, 2},
    {"tiled", "other[row, col] = acc; acc * gain[row] + beside[row, col]", 21, 35, 70, TJ_F16, TJ_BF16, 0, 0, 2},
    {"tiled", NULL, 51, 16, 40, TJ_F64, TJ_F64, 0, 3, 2, .is_masked = true, .has_beta = true},
    {"tiled", NULL, 51, 16, 40, TJ_S8, TJ_F32, 0, 0, 2, .gathers = true},
    {"simt:copy=registers,bm=32,bn=32,bk=8,tm=4,tn=4,splits=2", NULL, 33, 64, 70, TJ_F32, TJ_F32, 0, 0, 2, .has_beta = true},
    {"simt:copy=registers,bm=32,bn=32,bk=8,tm=4,tn=4", NULL, 33, 64, 70, TJ_F32, TJ_F32, 0, 4, 8},
    {"skinny:stream=m", NULL, 70, 64, 5, TJ_F16, TJ_F16, 0, 0, 2},
    {"strip", NULL, 70, 64, 5, TJ_F16, TJ_F32, 0, 0, 2},
    {"small_batch:copy=registers", NULL, 12, 16, 40, TJ_F32, TJ_F32, 0, 0, 3},
    {"planes", NULL, 64, 64, 96, TJ_F32, TJ_F32, 0, 0, 2},
    {"mma:bm=32,bn=32,wm=16,wn=16,splits=2", NULL, 40, 128, 70, TJ_BF16, TJ_F32, 0, 0, 2, .has_beta = true},
    {"mma:bm=32,bn=64,wm=16,wn=32", "alpha * acc", 70, 64, 300, TJ_BF16, TJ_BF16, 0, 5, 32},
    {"mma:bm=32,bn=32,wm=16,wn=16", NULL, 72, 64, 72, TJ_F16, TJ_BF16, 0, 4, 2, .is_masked = true, .gathers = true},
    {"wgmma:bn=64,swap=yes", NULL, 70, 64, 64, TJ_BF16, TJ_BF16, 1, 0, 2},
    {"wgmma:bn=64", NULL, 70, 64, 80, TJ_F16, TJ_F16, 0, 3, 2, .has_beta = true},
    {"wgmma:bn=64,store=lines", NULL, 70, 64, 80, TJ_BF16, TJ_BF16, 0, 3, 8},
    {"wgmma:bm=64,bn=64", NULL, 72, 64, 80, TJ_BF16, TJ_BF16, 1, 3, 2, .is_masked = true, .gathers = true},
    {NULL, NULL, 70, 64, 80, TJ_E4M3, TJ_BF16, 1, 3, 2},
};

static tj_problem problem_of(const struct row *row)
{
    tj_problem problem = combined(row->j, row->k, row->l, row->type, row->combined);

    problem.p.type = row->p;
    problem.compute = (int8_t)(row->config && strcmp(row->config, "planes") == 0 ? TJ_COMPUTE_F32_SPLIT : TJ_COMPUTE_DEFAULT);
    problem.n.layout = (int8_t)row->layout_n;
    problem.rows.kind = (int8_t)(row->groups == 0 ? TJ_ROWS_AS_THEY_LIE : row->is_masked ? TJ_ROWS_MASKED : TJ_ROWS_IN_GROUPS);
    problem.rows.groups = row->groups;
    problem.rows.gathered = row->gathers;
    if (row->epilogue)
        cr_assert(eq(int, tj_epilogue_parse(row->epilogue, &problem.epilogue, &err), TJ_OK), "%s", err.message);
    problem.epilogue.has_beta = row->has_beta;
    return problem;
}

Test(combined, every_family_adds_up_its_rows)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    options.alpha = 1.5;
    options.beta = 0.5;
    options.guard_bytes = 256;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = problem_of(&rows[i]);

        expect_right_product(&problem, rows[i].config, &options, rows[i].config ? rows[i].config : "the library's choice");
    }
}

/* The proof multiplies by the simple kernel, and adds up what that finds. */
Test(combined, sums_are_proven)
{
    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = problem_of(&rows[i]);
        const tj_plan *const plan = prepare(&problem, rows[i].config, "a proof");
        tj_proof proof = TJ_PROOF_INIT;

        cr_expect(eq(int, tj_plan_prove(context, plan, &problem, 1, &proof, &err), TJ_OK), "%zu: %s", i, err.message);
        cr_expect(proof.passed, "%zu: %s", i, proof.reason);
        cr_expect(eq(i64, proof.elements, proof.elements_total), "%zu", i);
    }
}

/* ---- operands of our own ------------------------------------------------------------------------------------------ */

/* Operands in host memory, and where they lie on the device. */
enum { J = 48, K = 32, L = 72, LD_P = 80, GROUPS = 3, TOKENS = 29, TOP = 3, BUFFERS = 7 };

static const int32_t offsets[GROUPS + 1] = {4, 20, 20, 41}, counts[GROUPS] = {16, 0, 9};
static const int32_t wrong[GROUPS + 1] = {-7, 20, 12, INT32_MAX}, taken[GROUPS + 1] = {0, 20, 20, J},
                                    wrong_counts[GROUPS] = {17, -1, 9}, taken_counts[GROUPS] = {16, 0, 9};
static const int32_t hostile[] = {-1, INT32_MIN, INT32_MAX, J, 3, 41, J + 1};

typedef struct layer {
    uint16_t m[J * K], n[GROUPS * K * L], c[TOKENS * LD_P], p[TOKENS * LD_P];
    int32_t index[TOKENS * TOP];
    float factor[TOKENS * TOP];
    tj_buffer *buffer[BUFFERS];
    tj_operands x;
    tj_host_operands host;
} layer;

static layer own;

static const void *put(int i, const void *host, size_t bytes)
{
    tj_buffer_free(own.buffer[i]);
    cr_assert(eq(int, tj_buffer_create(context, bytes, &own.buffer[i], &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_write(own.buffer[i], 0, host, bytes, &err), TJ_OK), "%s", err.message);
    return tj_buffer_address(own.buffer[i]);
}

/* Entries that lead to no row, to a row of no group, or twice to the same; token 5 has none at all. */
static void lay_out(bool is_masked)
{
    memset(&own, 0, sizeof own);
    for (int i = 0; i < J * K; i++)
        own.m[i] = (uint16_t)(0x3800 + i * 37 % 1024); /* 0.5 to 1 */
    for (int i = 0; i < GROUPS * K * L; i++)
        own.n[i] = (uint16_t)((i % 3 == 0 ? 0xb800 : 0x3800) + i * 53 % 1024);
    for (int i = 0; i < TOKENS * LD_P; i++)
        own.c[i] = (uint16_t)(0x4000 + i * 29 % 1024);
    for (int i = 0; i < TOKENS * TOP; i++) {
        own.index[i] = i / TOP == 5 ? -1 - i : i % 5 == 2 ? hostile[i % 7] : i * 7 % J;
        own.factor[i] = (float)(i % 11 - 5) * 0.37F;
    }
    memset(own.p, 0xff, sizeof own.p);
    own.host = (tj_host_operands)TJ_HOST_OPERANDS(own.m, own.n);
    own.host.c = own.c;
    own.host.beta = 0.5;
    own.host.offsets = is_masked ? counts : offsets;
    own.host.p_index = own.index;
    own.host.p_factor = own.factor;
    own.host.p_rows = TOKENS;
    own.x = (tj_operands)TJ_OPERANDS_INIT;
    own.x.m.address = put(0, own.m, sizeof own.m);
    own.x.n.address = put(1, own.n, sizeof own.n);
    own.x.c.address = put(2, own.c, sizeof own.c);
    own.x.p.address = put(3, own.p, sizeof own.p);
    own.x.p_index = put(4, own.index, sizeof own.index);
    own.x.p_factor = put(5, own.factor, sizeof own.factor);
    own.x.offsets = put(6, own.host.offsets, is_masked ? sizeof counts : sizeof offsets);
    own.x.beta = 0.5;
    own.x.p_rows = TOKENS;
}

static void drop(void)
{
    for (int i = 0; i < BUFFERS; i++)
        tj_buffer_free(own.buffer[i]);
}

static tj_problem own_problem(bool is_masked)
{
    tj_problem problem = combined(J, K, L, TJ_F16, TOP);

    problem.rows.kind = is_masked ? TJ_ROWS_MASKED : TJ_ROWS_IN_GROUPS;
    problem.rows.groups = GROUPS;
    problem.p.ld = problem.c.ld = LD_P;
    return problem;
}

static void launch(const tj_plan *plan, const char *label)
{
    memset(own.p, 0xff, sizeof own.p);
    cr_assert(eq(int, tj_buffer_write(own.buffer[3], 0, own.p, sizeof own.p, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_launch(plan, &own.x, NULL, &err), TJ_OK), "%s: %s", label, err.message);
    cr_assert(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s: %s", label, err.message);
    cr_assert(eq(int, tj_buffer_read(own.buffer[3], 0, own.p, sizeof own.p, &err), TJ_OK), "%s", err.message);
}

static void check_rows(const tj_problem *problem, const char *label)
{
    tj_check_report report = TJ_CHECK_REPORT_INIT;

    cr_expect(eq(int, tj_reference_check(problem, &own.host, own.p, 0, 2, &report, &err), TJ_OK), "%s: %s", label, err.message);
    cr_expect(report.passed, "%s: %s", label, report.reason);
    cr_expect(eq(i64, report.elements, TOKENS * L), "%s", label);
    for (int row = 0; row < TOKENS; row++)
        for (int col = L; col < LD_P; col++)
            cr_expect(own.p[row * LD_P + col] == 0xffff, "%s: P[%d][%d] was written", label, row, col);
    for (int col = 0; col < L && !problem->epilogue.has_beta; col++)
        cr_expect(own.p[5 * LD_P + col] == 0, "%s: a row of no sum is %#x", label, own.p[5 * LD_P + col]);
}

Test(combined, an_index_and_offsets_may_hold_anything)
{
    static const char *const families[] = {"naive", "tiled", "simt:copy=registers,bm=32,bn=32,bk=8,tm=4,tn=4",
                                           "mma:bm=32,bn=32,wm=16,wn=16", "wgmma:bm=64,bn=64"};

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        for (int variant = 0; variant < 6; variant++) {
            tj_problem problem = own_problem(variant % 2);
            uint16_t first[TOKENS * LD_P];

            problem.epilogue.has_beta = variant / 2 == 1;
            lay_out(variant % 2);
            if (variant >= 4) /* a kernel takes them as those that the reference has */
                own.x.offsets = variant % 2 ? put(6, wrong_counts, sizeof wrong_counts) : put(6, wrong, sizeof wrong);
            own.host.offsets = variant < 4 ? own.host.offsets : variant % 2 ? taken_counts : taken;
            const tj_plan *const plan = prepare(&problem, families[i], families[i]);

            launch(plan, families[i]);
            check_rows(&problem, families[i]);
            memcpy(first, own.p, sizeof first);
            launch(plan, families[i]);
            cr_expect(memcmp(first, own.p, sizeof first) == 0, "%s: a second launch has other bits", families[i]);
            drop();
        }
}

/* Another kernel takes an M that the first one cannot, and leaves its rows in the same workspace. */
Test(combined, operands_may_lie_anywhere)
{
    static uint16_t shifted[J * K + 1];
    tj_problem problem = own_problem(false);
    tj_buffer *buffer = NULL;

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    lay_out(false);
    const tj_plan *const plan = prepare(&problem, NULL, "the library's choice");

    launch(plan, "aligned");
    check_rows(&problem, "aligned");
    memcpy(shifted + 1, own.m, sizeof own.m);
    cr_assert(eq(int, tj_buffer_create(context, sizeof shifted, &buffer, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_write(buffer, 0, shifted, sizeof shifted, &err), TJ_OK), "%s", err.message);
    own.x.m.address = (const uint16_t *)tj_buffer_address(buffer) + 1;
    launch(plan, "not aligned");
    check_rows(&problem, "not aligned");
    tj_buffer_free(buffer);
    drop();
}

static float half_to_float(uint16_t half)
{
    float number;

    tj_convert(TJ_F32, &number, TJ_F16, &half, 1);
    return number;
}

/* P has the bits of the product alone, whose rows are then added up from left to right in f32. */
Test(combined, the_sum_has_the_bits_of_two_kernels)
{
    static uint16_t product[J * L];
    tj_problem problem = own_problem(false), alone = problem;
    tj_buffer *buffer = NULL;

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    lay_out(false);
    alone.rows.combined = 0;
    alone.p.ld = alone.c.ld = 0;
    const tj_plan *const plan = prepare(&problem, "mma:bm=32,bn=32,wm=16,wn=16", "combined"), *const first = prepare(
                                                                                                  &alone,
                                                                                                  "mma:bm=32,bn=32,wm=16,wn=16",
                                                                                                  "alone");
    tj_operands x = own.x;

    launch(plan, "combined");
    cr_assert(eq(int, tj_buffer_create(context, sizeof product, &buffer, &err), TJ_OK), "%s", err.message);
    x.p.address = tj_buffer_address(buffer);
    cr_assert(eq(int, tj_plan_launch(first, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_read(buffer, 0, product, sizeof product, &err), TJ_OK), "%s", err.message);
    for (int row = 0; row < TOKENS; row++)
        for (int col = 0; col < L; col++) {
            float sum = 0;
            uint16_t expected;

            for (int i = row * TOP; i < (row + 1) * TOP; i++)
                if (own.index[i] >= offsets[0] && own.index[i] < offsets[GROUPS])
                    sum = fmaf(own.factor[i], half_to_float(product[own.index[i] * L + col]), sum);
            tj_convert(TJ_F16, &expected, TJ_F32, &sum, 1);
            cr_expect(own.p[row * LD_P + col] == expected, "P[%d][%d] is %#x, not %#x", row, col, own.p[row * LD_P + col],
                      expected);
        }
    tj_buffer_free(buffer);
    drop();
}

/* A row of the product that holds NaN or infinity reaches the sums that name it, and no others. */
Test(combined, the_reference_judges_sums)
{
    tj_problem problem = own_problem(false);
    tj_check_report report = TJ_CHECK_REPORT_INIT;

    open_context("sm_90", TJ_PROVE_NEVER);
    lay_out(false);
    own.m[7 * K] = 0x7e00;  /* NaN */
    own.m[14 * K] = 0x7c00; /* infinity */
    cr_assert(eq(int, tj_reference_product(&problem, &own.host, own.p, 2, &err), TJ_OK), "%s", err.message);
    check_rows(&problem, "the reference's own");
    own.p[9 * LD_P + 1] ^= 0x40;
    cr_assert(eq(int, tj_reference_check(&problem, &own.host, own.p, 0, 2, &report, &err), TJ_OK), "%s", err.message);
    cr_expect(report.passed == 0 && report.worst_row == 9 && report.worst_col == 1, "%s", report.reason);
    own.p[9 * LD_P + 1] ^= 0x40;
    own.p[5 * LD_P + 1] = 1; /* the smallest subnormal, where nothing is added */
    cr_assert(eq(int, tj_reference_check(&problem, &own.host, own.p, 1, 2, &report, &err), TJ_OK), "%s", err.message);
    cr_expect(report.elements < TOKENS * L && report.elements >= 2 * L, "%lld", (long long)report.elements);
    own.host.p_factor = NULL;
    cr_expect(eq(int, tj_reference_check(&problem, &own.host, own.p, 0, 2, &report, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("p_factor is NULL: the reference needs the factors"), "%s", err.message);
    drop();
}

Test(combined, launches_refuse_what_they_cannot_read)
{
    const tj_problem problem = own_problem(false);
    const tj_plan *plan;

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    lay_out(false);
    plan = prepare(&problem, "tiled", "tiled");

    const struct {
        tj_operands x;
        const char *says;
    } wrong[] = {
        {.says = "p_index is NULL: give the device address of the rows of the product for each of the 29 rows of P"},
        {.says = "p_factor is NULL: give the device address of the factors for each of the 29 rows of P"},
        {.says = "p_rows is -3: use 1 to 2147483647 rows, or 0 for 16"},
        {.says = "and p_index at"},
        {.says = "and p_factor at"},
        {.says = "p_factor is 0x"},
    };

    for (int i = 0; i < (int)(sizeof wrong / sizeof wrong[0]); i++) {
        tj_operands x = own.x;

        x.p_index = i == 0 ? NULL : i == 3 ? x.p.address : x.p_index;
        x.p_factor = i == 1   ? NULL
                     : i == 4 ? (const float *)((const char *)x.p.address + 4)
                     : i == 5 ? (const float *)((const char *)x.p_factor + 1)
                              : x.p_factor;
        x.p_rows = i == 2 ? -3 : x.p_rows;
        cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT), "%s", wrong[i].says);
        cr_expect(says(wrong[i].says), "%s: %s", wrong[i].says, err.message);
    }
    drop();
}
