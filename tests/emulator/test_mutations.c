/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * Proof that the checkers check: our kernels with one piece of their source broken, or launched wrongly. Each must be caught by the
 * right checker, at the right line; unbroken ones must be silent. test_small_mutations.c has kinds of kernels that our families
 * lack.
 */
#include "product_test.h"

enum { BUDGET = 3000000 }; /* warp instructions: some thirty times what the largest kernel here needs */

/* ---- our kernels ------------------------------------------------------------------------------------------------------ */

#define FIXED(extent)             \
    {                             \
        (extent), TJ_DIM_FIXED, 0 \
    }
#define ANY(extent)             \
    {                           \
        (extent), TJ_DIM_ANY, 0 \
    }
#define PROBLEM(J, K, L, TYPE) .struct_size = sizeof(tj_problem), .j = FIXED(J), .k = FIXED(K), .l = FIXED(L), .m.type = (TYPE)

/* No dimension is square or alike, so that a transposed index cannot pass. */
static const struct base {
    const char *name;
    product what;
} bases[] = {
    {"naive", {{PROBLEM(13, 11, 21, TJ_F32)}, "naive", 1, 0, 0}},
    {"naive padded", {{PROBLEM(13, 11, 21, TJ_F32), .n.ld = 32, .p.ld = 32}, "naive", 1, 0, 0}},
    {"naive divisible", {{PROBLEM(16, 24, 32, TJ_F32)}, "naive:tile_width=8", 1, 0, 0}},
    {"tiled", {{PROBLEM(20, 35, 41, TJ_F32)}, "tiled:tile_width=16", 1, 0, 0}},
    {"tiled divisible", {{PROBLEM(32, 48, 16, TJ_F32)}, "tiled:tile_width=16", 1, 0, 0}},
    {"tiled 32", {{PROBLEM(33, 70, 40, TJ_F32)}, "tiled:tile_width=32", 1, 0, 0}},
    {"tiled any",
     {{.struct_size = sizeof(tj_problem), .j = ANY(19), .k = ANY(21), .l = ANY(18), .m.type = TJ_F32, .m.ld = TJ_ANY},
      "tiled:tile_width=8",
      1,
      0,
      0}},
    {"dynamic", {{PROBLEM(20, 35, 41, TJ_F32)}, "tiled:tile_width=16,shared=dynamic", 1, 0, 0}},
    {"beta",
     {{PROBLEM(20, 35, 41, TJ_F32), .epilogue.has_alpha = 1, .epilogue.has_beta = 1, .c.ld = 48},
      "tiled:tile_width=16",
      1.5,
      0.75,
      0}},
    {"beta of 0",
     {{PROBLEM(20, 35, 41, TJ_F32), .epilogue.has_alpha = 1, .epilogue.has_beta = 1, .c.ld = 48},
      "tiled:tile_width=16",
      1.5,
      0,
      C_IS_UNWRITTEN}},
    {"beta of 0, no C",
     {{PROBLEM(20, 35, 41, TJ_F32), .epilogue.has_alpha = 1, .epilogue.has_beta = 1},
      "tiled:tile_width=16",
      1.5,
      0,
      C_IS_NULL}},
    {"batch", {{PROBLEM(20, 35, 41, TJ_F32), .batch = 3}, "tiled:tile_width=16", 1, 0, 0}},
    {"batch of equals",
     {{PROBLEM(20, 35, 41, TJ_F32), .batch = 3, .m.stride = TJ_BROADCAST, .n.stride = TJ_BROADCAST},
      "tiled:tile_width=16",
      1,
      0,
      0}},
    {"M column-major", {{PROBLEM(20, 35, 41, TJ_F32), .m.layout = TJ_COL_MAJOR}, "tiled:tile_width=16", 1, 0, 0}},
    {"N column-major", {{PROBLEM(20, 35, 41, TJ_F32), .n.layout = TJ_COL_MAJOR}, "tiled:tile_width=16", 1, 0, 0}},
    {"P column-major", {{PROBLEM(20, 35, 41, TJ_F32), .p.layout = TJ_COL_MAJOR}, "tiled:tile_width=16", 1, 0, 0}},
    {"f16", {{PROBLEM(20, 35, 41, TJ_F16)}, "tiled:tile_width=16", 1, 0, 0}},
    {"f64", {{PROBLEM(20, 35, 41, TJ_F64)}, "tiled:tile_width=16", 1, 0, 0}},
};

static const struct base *base_named(const char *name)
{
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++)
        if (strcmp(bases[i].name, name) == 0)
            return &bases[i];
    cr_fatal("no base %s", name);
    return NULL;
}

#define FIRST_BARRIER "        __syncthreads();  // read after write"
#define SECOND_BARRIER "        __syncthreads();  // write after read"
#define STORE "    P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);"
#define INNER "Pvalue += Mds[ty][i] * Nds[i][tx];"

/*
 * One thing broken. kind: of the first finding; CUEMU_NONE: only the result is wrong. at: what the line of the finding holds.
 * after: a kind that may be found before, as it is another side of the same: lanes that skip a barrier race first and then wait
 * elsewhere.
 */
static const struct mutation {
    const char *base, *what, *piece, *instead;
    cuEmuKind kind;
    const char *at[3];
    slip slip;
    cuEmuKind after;
} mutations[] = {
    /* barriers */
    {"tiled",
     "first barrier missing",
     FIRST_BARRIER,
     "        //",
     CUEMU_RACE_SHARED,
     {INNER, "Mds[ty][tx] =", "Nds[ty][tx] ="},
     0,
     0},
    {"tiled",
     "second barrier missing",
     SECOND_BARRIER,
     "        //",
     CUEMU_RACE_SHARED,
     {INNER, "Mds[ty][tx] =", "Nds[ty][tx] ="},
     0,
     0},
    {"dynamic", "first barrier missing", FIRST_BARRIER, "        //", CUEMU_RACE_SHARED, {0}, 0, 0},
    {"dynamic", "second barrier missing", SECOND_BARRIER, "        //", CUEMU_RACE_SHARED, {0}, 0, 0},
    {"tiled 32", "first barrier missing", FIRST_BARRIER, "        //", CUEMU_RACE_SHARED, {0}, 0, 0},
    {"tiled 32", "second barrier missing", SECOND_BARRIER, "        //", CUEMU_RACE_SHARED, {0}, 0, 0},
    {"N column-major", "second barrier missing", SECOND_BARRIER, "        //", CUEMU_RACE_SHARED, {0}, 0, 0},
    {"f16", "first barrier missing", FIRST_BARRIER, "        //", CUEMU_RACE_SHARED, {0}, 0, 0},
    {"batch", "second barrier missing", SECOND_BARRIER, "        //", CUEMU_RACE_SHARED, {0}, 0, 0},
    {"tiled", "a barrier of the warp only", FIRST_BARRIER, "        __syncwarp();  //", CUEMU_RACE_SHARED, {0}, 0, 0},
    {"tiled",
     "barrier inside the boundary check",
     FIRST_BARRIER,
     "        if (Row < j && Col < l) __syncthreads();  //",
     CUEMU_DIVERGENT,
     {"if (Row < j && Col < l) __syncthreads", "__syncthreads();  // write"},
     0,
     CUEMU_RACE_SHARED},
    {"tiled",
     "second barrier inside the boundary check",
     SECOND_BARRIER,
     "        if (Row < j && Col < l) __syncthreads();  //",
     CUEMU_DIVERGENT,
     {"if (Row < j && Col < l) __syncthreads", "__syncthreads();  // read"},
     0,
     CUEMU_RACE_SHARED},
    {"tiled",
     "half of the warps skip a barrier",
     FIRST_BARRIER,
     "        if (ty < 8) __syncthreads();  //",
     CUEMU_RACE_SHARED,
     {0},
     0,
     0},
    {"tiled",
     "return before the barrier",
     "    sum_t Pvalue = 0;",
     "    if (Row >= j || Col >= l) return;\n    sum_t Pvalue = 0;",
     CUEMU_EXITED_BARRIER,
     {"__syncthreads"},
     0,
     0},
    {"dynamic",
     "return before the barrier",
     "    sum_t Pvalue = 0;",
     "    if (Row >= j || Col >= l) return;\n    sum_t Pvalue = 0;",
     CUEMU_EXITED_BARRIER,
     {"__syncthreads"},
     0,
     0},
    /* boundary checks */
    {"naive", "j check off by one", "Row >= j", "Row > j", CUEMU_OUT_OF_BOUNDS, {"Pvalue += M"}, 0, 0},
    {"naive", "l check off by one", "Col >= l", "Col > l", CUEMU_OUT_OF_BOUNDS, {"Pvalue += M"}, 0, 0},
    {"naive", "k loop too long", "i < k", "i <= k", CUEMU_OUT_OF_BOUNDS, {"Pvalue += M"}, 0, 0},
    {"naive", "no check", "if (Row >= j || Col >= l)", "if (false)", CUEMU_OUT_OF_BOUNDS, {"Pvalue += M"}, 0, 0},
    {"naive padded", "l check off by one", "Col >= l", "Col > l", CUEMU_OUT_OF_BOUNDS, {"Pvalue += M"}, 0, 0},
    {"naive padded",
     "a zero stored after each row",
     STORE,
     "    if (Col + 1 == l && Row + 1 < j) P[Row * ld_p + l] = 0;\n" STORE,
     CUEMU_PADDING_WRITTEN,
     {0},
     0,
     0},
    {"naive", "j check one too early", "Row >= j", "Row >= j - 1", CUEMU_NEVER_WRITTEN, {0}, 0, 0},
    {"tiled", "store's j check off by one", "if (Row >= j ||", "if (Row > j ||", CUEMU_OUT_OF_BOUNDS, {STORE}, 0, 0},
    {"tiled", "store's l check one too early", "|| Col >= l)", "|| Col >= l - 1)", CUEMU_NEVER_WRITTEN, {0}, 0, 0},
    {"tiled", "k tail of M unmasked", "Row < j && k_tx < k", "Row < j", CUEMU_OUT_OF_BOUNDS, {"Mds[ty][tx] ="}, 0, 0},
    {"tiled", "k tail of N unmasked", "k_ty < k && Col < l", "Col < l", CUEMU_OUT_OF_BOUNDS, {"Nds[ty][tx] ="}, 0, 0},
    {"tiled", "rows of M unmasked", "Row < j && k_tx < k", "k_tx < k", CUEMU_OUT_OF_BOUNDS, {"Mds[ty][tx] ="}, 0, 0},
    {"tiled", "columns of N unmasked", "k_ty < k && Col < l", "k_ty < k", CUEMU_OUT_OF_BOUNDS, {"Nds[ty][tx] ="}, 0, 0},
    {"tiled", "mask of M's k off by one", "k_tx < k", "k_tx <= k", CUEMU_OUT_OF_BOUNDS, {"Mds[ty][tx] ="}, 0, 0},
    {"dynamic",
     "k tail of M unmasked",
     "Row < j && k_tx < k",
     "Row < j",
     CUEMU_OUT_OF_BOUNDS,
     {"Mds[ty * TILE_WIDTH + tx] ="},
     0,
     0},
    {"tiled any", "k tail of N unmasked", "k_ty < k && Col < l", "Col < l", CUEMU_OUT_OF_BOUNDS, {"Nds[ty][tx] ="}, 0, 0},
    {"N column-major",
     "columns of N unmasked",
     "k_tx < k && n_col < l",
     "k_tx < k",
     CUEMU_OUT_OF_BOUNDS,
     {"Nds[tx][ty] ="},
     0,
     0},
    {"M column-major", "rows of M unmasked", "m_row < j && k_ty < k", "k_ty < k", CUEMU_OUT_OF_BOUNDS, {"Mds[ty][tx] ="}, 0, 0},
    {"P column-major", "store's check off by one", "if (Row >= j ||", "if (Row > j ||", CUEMU_OUT_OF_BOUNDS, {STORE}, 0, 0},
    {"f16", "k tail of M unmasked", "Row < j && k_tx < k", "Row < j", CUEMU_OUT_OF_BOUNDS, {0}, 0, 0},
    {"f64", "rows of M unmasked", "Row < j && k_tx < k", "k_tx < k", CUEMU_OUT_OF_BOUNDS, {"Mds[ty][tx] ="}, 0, 0},
    /* phases and tiles */
    {"tiled divisible",
     "one phase too many",
     "phase * TILE_WIDTH < k",
     "phase * TILE_WIDTH <= k",
     CUEMU_OUT_OF_BOUNDS,
     {"Mds[ty][tx] =", "Nds[ty][tx] ="},
     0,
     0},
    {"tiled divisible",
     "index of the phase wrong",
     "k_tx = phase * TILE_WIDTH + tx",
     "k_tx = (phase + 1) * TILE_WIDTH + tx",
     CUEMU_OUT_OF_BOUNDS,
     {"Mds[ty][tx] ="},
     0,
     0},
    {"tiled", "inner loop too long", "i < TILE_WIDTH", "i <= TILE_WIDTH", CUEMU_OUT_OF_BOUNDS, {INNER}, 0, 0},
    {"tiled",
     "read beyond Mds, into Nds",
     "Mds[ty][i] *",
     "Mds[ty][i + 1] *",
     CUEMU_OUT_OF_BOUNDS,
     {"Pvalue += Mds[ty][i + 1]"},
     0,
     0},
    {"tiled",
     "written beyond Mds, into Nds",
     "Mds[ty][tx] =",
     "Mds[ty + 1][tx] =",
     CUEMU_OUT_OF_BOUNDS,
     {"Mds[ty + 1][tx] ="},
     0,
     0},
    {"dynamic",
     "written beyond Mds, into Nds",
     "Mds[ty * TILE_WIDTH + tx] =",
     "Mds[ty * TILE_WIDTH + tx + 1] =",
     CUEMU_RACE_SHARED,
     {"Mds[ty * TILE_WIDTH + tx + 1] =", "Nds[ty * TILE_WIDTH + tx] ="},
     0,
     0},
    {"dynamic",
     "Nds begins inside Mds",
     "shared_tiles + TILE_WIDTH * TILE_WIDTH",
     "shared_tiles + TILE_WIDTH * (TILE_WIDTH - 1)",
     CUEMU_RACE_SHARED,
     {"Mds[ty * TILE_WIDTH + tx] =", "Nds[ty * TILE_WIDTH + tx] ="},
     0,
     0},
    {"dynamic",
     "Nds begins too late",
     "shared_tiles + TILE_WIDTH * TILE_WIDTH",
     "shared_tiles + TILE_WIDTH * TILE_WIDTH + 1",
     CUEMU_OUT_OF_BOUNDS,
     {"Nds[ty * TILE_WIDTH + tx] ="},
     0,
     0},
    {"N column-major",
     "padding of Nds the wrong way",
     "[TILE_WIDTH + 1]",
     "[TILE_WIDTH - 1]",
     CUEMU_OUT_OF_BOUNDS,
     {"Nds[tx][ty] ="},
     0,
     0},
    {"tiled", "a column of Mds not filled", "Mds[ty][tx] =", "if (tx != 5) Mds[ty][tx] =", CUEMU_UNINITIALISED, {STORE}, 0, 0},
    {"tiled divisible", "tile of N not filled", "Nds[ty][tx] =", "if (ty) Nds[ty][tx] =", CUEMU_UNINITIALISED, {STORE}, 0, 0},
    {"tiled",
     "accumulator not set",
     "sum_t Pvalue = 0;",
     "sum_t Pvalue; asm volatile(\"\" : \"=f\"(Pvalue));",
     CUEMU_UNINITIALISED,
     {STORE},
     0,
     0},
    {"naive", "endless loop", "++i", "i += M == nullptr", CUEMU_ENDLESS, {0}, 0, 0},
    {"tiled", "endless phases", "++phase", "phase += M == nullptr", CUEMU_ENDLESS, {0}, 0, 0},
    /* indices */
    {"naive", "indices of N transposed", "N[i * ld_n + Col]", "N[Col * ld_n + i]", CUEMU_OUT_OF_BOUNDS, {"Pvalue += M"}, 0, 0},
    {"tiled",
     "indices of P transposed",
     "P[Row * ld_p + Col]",
     "P[Col * ld_p + Row]",
     CUEMU_OUT_OF_BOUNDS,
     {"P[Col * ld_p"},
     0,
     0},
    {"tiled", "leading dimension of M wrong", "ld_m = k;", "ld_m = k + 1;", CUEMU_OUT_OF_BOUNDS, {"Mds[ty][tx] ="}, 0, 0},
    {"tiled", "leading dimension of P wrong", "ld_p = l;", "ld_p = l - 1;", CUEMU_RACE_GLOBAL, {STORE}, 0, 0},
    {"f16", "element type wrong", "using input_t = half;", "using input_t = float;", CUEMU_OUT_OF_BOUNDS, {0}, 0, 0},
    {"naive divisible",
     "vectors of four elements, misaligned",
     "M[Row * ld_m + i]",
     "[](float4 v) { return v.x + 0 * (v.y + v.z + v.w); }(*(const float4 *)&M[Row * ld_m + i])",
     CUEMU_MISALIGNED,
     {"Pvalue += ["},
     0,
     0},
    {"naive divisible",
     "store of two elements, misaligned",
     STORE,
     "    if (Col % 2) *(float2 *)&P[Row * ld_p + Col] = {Pvalue, Pvalue};",
     CUEMU_MISALIGNED,
     {"if (Col % 2)"},
     0,
     0},
    /* alpha, beta, batch, P */
    {"beta of 0", "beta = 0 reads C", "if (beta != 0)", "if (true)", CUEMU_UNINITIALISED, {STORE}, 0, 0},
    {"beta of 0, no C", "beta = 0 reads C", "if (beta != 0)", "if (true)", CUEMU_OUT_OF_BOUNDS, {"Pvalue += beta"}, 0, 0},
    {"beta",
     "C read beyond its end",
     "C[Row * ld_c + Col]",
     "C[(Row + 1) * ld_c + Col]",
     CUEMU_OUT_OF_BOUNDS,
     {"Pvalue += beta"},
     0,
     0},
    {"batch",
     "product of the batch off by one",
     "M += blockIdx.z * stride_m",
     "M += (blockIdx.z + 1) * stride_m",
     CUEMU_OUT_OF_BOUNDS,
     {"Mds[ty][tx] ="},
     0,
     0},
    {"batch", "all products into one P", "P += blockIdx.z * stride_p", "P += 0", CUEMU_RACE_GLOBAL, {STORE}, 0, 0},
    {"batch of equals",
     "all products into one P",
     "P += blockIdx.z * stride_p",
     "P += 0",
     CUEMU_WRITTEN_TWICE,
     {0},
     0,
     CUEMU_NEVER_WRITTEN},
    {"tiled divisible",
     "P written in every phase",
     SECOND_BARRIER,
     STORE "\n        __syncthreads();  //",
     CUEMU_WRITTEN_TWICE,
     {0},
     0,
     0},
    {"naive",
     "an element written by its neighbour too",
     STORE,
     "    P[Row * ld_p + Col / 2 * 2] = Pvalue;",
     CUEMU_RACE_GLOBAL,
     {"P[Row * ld_p + Col / 2"},
     0,
     0},
    {"naive", "only every other element written", STORE, "    if (Col % 2)\n" STORE, CUEMU_NEVER_WRITTEN, {0}, 0, 0},
    /* the host program's part */
    {"tiled", "an address of host memory", NULL, NULL, CUEMU_OUT_OF_BOUNDS, {"Mds[ty][tx] ="}, M_IS_HOST, 0},
    {"tiled", "freed memory", NULL, NULL, CUEMU_OUT_OF_BOUNDS, {"Mds[ty][tx] ="}, M_IS_FREED, 0},
    {"naive", "a null pointer", NULL, NULL, CUEMU_OUT_OF_BOUNDS, {"Pvalue += M"}, M_IS_NULL, 0},
    {"naive", "M one element short", NULL, NULL, CUEMU_OUT_OF_BOUNDS, {"Pvalue += M"}, M_IS_SHORT, 0},
    {"tiled", "N never copied to the device", NULL, NULL, CUEMU_UNINITIALISED, {STORE}, N_IS_UNWRITTEN, 0},
    {"beta", "C never copied to the device", NULL, NULL, CUEMU_UNINITIALISED, {STORE}, C_IS_UNWRITTEN, 0},
    {"tiled divisible", "P in place of M", NULL, NULL, CUEMU_RACE_GLOBAL, {"Mds[ty][tx] =", STORE}, P_IS_M, 0},
    {"naive", "P at an odd address", NULL, NULL, CUEMU_MISALIGNED, {STORE}, P_IS_ODD, 0},
    {"tiled", "a block of half the threads", NULL, NULL, CUEMU_UNINITIALISED, {STORE}, BLOCK_IS_HALF, 0},
    {"tiled", "a grid one row of blocks short", NULL, NULL, CUEMU_NEVER_WRITTEN, {0}, GRID_IS_SHORT, 0},
    {"tiled divisible", "a grid one row of blocks long", NULL, NULL, CUEMU_OUT_OF_BOUNDS, {"Mds[ty][tx] ="}, GRID_IS_LONG, 0},
    {"dynamic",
     "too little dynamic shared memory",
     NULL,
     NULL,
     CUEMU_OUT_OF_BOUNDS,
     {"Nds[ty * TILE_WIDTH + tx] ="},
     SHARED_IS_SHORT,
     0},
    /* only the answer is wrong */
    {"naive", "k loop one short", "i < k", "i < k - 1", CUEMU_NONE, {0}, 0, 0},
    {"tiled", "one phase too few", "phase * TILE_WIDTH < k", "(phase + 1) * TILE_WIDTH < k", CUEMU_NONE, {0}, 0, 0},
    {"tiled", "phases do not advance in M", "k_tx = phase * TILE_WIDTH + tx", "k_tx = tx", CUEMU_NONE, {0}, 0, 0},
    {"tiled", "Nds read transposed", "Nds[i][tx]", "Nds[tx][i]", CUEMU_NONE, {0}, 0, 0},
    {"M column-major", "Mds read transposed", "Mds[i][ty]", "Mds[ty][i]", CUEMU_NONE, {0}, 0, 0},
    {"tiled", "a difference in place of a sum", "Pvalue +=", "Pvalue -=", CUEMU_NONE, {0}, 0, 0},
    {"beta", "alpha forgotten", "Pvalue *= alpha;", "", CUEMU_NONE, {0}, 0, 0},
    {"beta", "C read transposed", "C[Row * ld_c + Col]", "C[Row * ld_c + Col / 2]", CUEMU_NONE, {0}, 0, 0},
    {"batch", "N not advanced", "N += blockIdx.z * stride_n", "N += 0", CUEMU_NONE, {0}, 0, 0},
    {"f16",
     "sum kept in half precision",
     INNER,
     "Pvalue = half(Pvalue + half(Mds[ty][i] * Nds[i][tx]));",
     CUEMU_NONE,
     {0},
     0,
     0},
};

static void open_all(void)
{
    open_emulator("sm_80");
    cr_assert(cu.set_option(CUEMU_BUDGET, BUDGET));
}

TestSuite(mutations, .init = open_all, .timeout = 280);

Test(mutations, unbroken_kernels_are_right_and_silent)
{
    const nvrtc *by = nvrtc_or_skip("emulator/mutations");

    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        tj_source *source = generate(&bases[i].what);
        char *ptx = compile_text(by, tj_source_text(source), "sm_80", bases[i].name);
        const outcome o = run_product(ptx, source, &bases[i].what);
        cr_expect(eq(sz, o.found.count, 0), "%s: %s: %s", bases[i].name, kind_names[o.found.first[0].kind],
                  o.found.first[0].text);
        cr_expect(eq(int, o.result, 0), "%s", bases[i].name);
        cr_expect(o.is_right, "%s: %s", bases[i].name, o.reason);
        free(ptx);
        tj_source_free(source);
    }
}

/* The order in which warps and lanes run is nobody's to rely on: 16 of them, and 1 to 4 host threads, give the same bytes. */
Test(mutations, unbroken_kernels_give_the_same_bytes_in_every_schedule)
{
    const nvrtc *by = nvrtc_or_skip("emulator/mutations");

    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        tj_source *source = generate(&bases[i].what);
        char *ptx = compile_text(by, tj_source_text(source), "sm_80", bases[i].name);
        uint64_t digest = 0;
        for (uint64_t seed = 0; seed < 16; seed++) {
            outcome o;
            cu.set_option(CUEMU_SEED, seed);
            cu.set_option(CUEMU_THREADS, 1 + seed % 4);
            cu.set_option(CUEMU_CHECKS, seed % 2 ? CUEMU_CHECK_ALL : 0);
            o = run_product(ptx, source, &bases[i].what);
            digest = seed ? digest : o.digest;
            cr_expect(eq(sz, o.found.count, 0), "%s, seed %d: %s", bases[i].name, (int)seed, o.found.first[0].text);
            cr_expect(eq(u64, o.digest, digest), "%s, seed %d", bases[i].name, (int)seed);
        }
        free(ptx);
        tj_source_free(source);
    }
}

Test(mutations, each_broken_kernel_of_ours_is_caught_by_the_right_checker)
{
    const nvrtc *by = nvrtc_or_skip("emulator/mutations");
    unsigned caught = 0, wrong_answers = 0, missed = 0, by_kind[CUEMU_KINDS] = {0};

    for (size_t i = 0; i < sizeof mutations / sizeof mutations[0]; i++) {
        const struct mutation *m = &mutations[i];
        product what = base_named(m->base)->what;
        tj_source *source = generate(&what);
        const char *kernel = tj_source_kernel(source);
        char *text, *ptx, label[160], why[1200] = "";
        const cuEmuFinding *first;
        outcome o;
        bool is_caught;
        snprintf(label, sizeof label, "%s, %s", m->base, m->what);
        if (m->slip)
            what.slip = m->slip;
        cr_assert(eq(int, m->piece && !strstr(tj_source_text(source), m->piece), 0), "%s: no \"%s\" in\n%s", label, m->piece,
                  tj_source_text(source));
        text = m->piece ? mutate(tj_source_text(source), m->piece, m->instead) : strdup(tj_source_text(source));
        ptx = compile_text(by, text, "sm_80", label);
        o = run_product(ptx, source, &what);
        first = wanted_finding(&o.found, m->kind, m->after);
        if (m->kind == CUEMU_NONE) {
            is_caught = o.found.count == 0 && !o.is_right;
            wrong_answers += is_caught;
            cr_expect(is_caught, "%s: right: %d, findings: %zu: %s", label, o.is_right, o.found.count, first->text);
        } else {
            is_caught = o.found.count > 0 && first->kind == m->kind &&
                        leads_there(first, first->kind >= CUEMU_WRITTEN_TWICE ? first->kernel : kernel, text, ptx, m->at, why,
                                    sizeof why);
            caught += is_caught;
            by_kind[m->kind] += is_caught;
            cr_expect(is_caught, "%s: wanted %s, got %s: %s; %s", label, kind_names[m->kind],
                      o.found.count ? kind_names[first->kind] : "nothing", o.found.count ? first->text : "", why);
            cr_expect(o.result != 0 || m->kind >= CUEMU_WRITTEN_TWICE, "%s: the program hears nothing of it", label);
        }
        missed += !is_caught;
        free(ptx);
        free(text);
        tj_source_free(source);
    }
    printf("emulator/mutations: of our kernels %u caught by the right checker, %u by their wrong answer only, %u missed\n",
           caught, wrong_answers, missed);
    for (int kind = 1; kind < CUEMU_KINDS; kind++)
        if (by_kind[kind])
            printf("    %-20s %3u\n", kind_names[kind], by_kind[kind]);
    cr_expect(ge(uint, caught, 60));
    cr_expect(eq(uint, missed, 0));
}

/* NVRTC writes PTX in two dialects, the newer from sm_100 on. */
static void open_newest(void)
{
    open_emulator("sm_120");
}

TestSuite(dialects, .init = open_newest, .timeout = 280);

Test(dialects, every_target_is_right_and_silent)
{
    static const char *const targets[] = {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"};
    const nvrtc *by = nvrtc_or_skip("emulator/mutations");

    for (size_t t = 0; t < sizeof targets / sizeof targets[0]; t++) {
        for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
            tj_source *source = generate(&bases[i].what);
            char *ptx = compile_text(by, tj_source_text(source), targets[t], bases[i].name);
            const outcome o = run_product(ptx, source, &bases[i].what);
            cr_expect(eq(sz, o.found.count, 0), "%s for %s: %s", bases[i].name, targets[t], o.found.first[0].text);
            cr_expect(o.is_right, "%s for %s: %s", bases[i].name, targets[t], o.reason);
            free(ptx);
            tj_source_free(source);
        }
    }
}
