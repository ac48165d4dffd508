/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * Proof that the checkers check: small kernels of kinds that our families lack so far. With one piece of its text broken, each must
 * be caught by the right checker, at the right line; unbroken ones must be silent.
 */
#include "product_test.h"

enum { BUDGET = 3000000 }; /* warp instructions: some thirty times what the largest kernel here needs */

/* ---- kinds of kernels to come ------------------------------------------------------------------------------------------ */

/*
 * Each is one kernel text(const T *in, T *out) of one or two blocks; in holds small numbers. A mutation replaces a piece of it.
 * Lines that a finding should point at are marked by what they hold.
 */
static const char pipeline[] = "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
                               "{\n"
                               "    __shared__ float stage[3][256];\n"
                               "    const int t = threadIdx.x;\n"
                               "    float sum = 0;\n"
                               "    auto copy = [&](int n) {\n"
                               "        const unsigned to = (unsigned)__cvta_generic_to_shared(&stage[n % 3][4 * t]);\n"
                               "        const float *from = in + 256 * n + 4 * t;\n"
                               "        const int bytes = 16;\n"
                               "        if (n < 6)\n"
                               "            asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\" :: \"r\"(to), "
                               "\"l\"(from), \"r\"(bytes) : \"memory\");\n"
                               "        asm volatile(\"cp.async.commit_group;\" ::: \"memory\");\n"
                               "    };\n"
                               "    copy(0);\n"
                               "    copy(1);\n"
                               "    for (int n = 0; n < 6; ++n) {\n"
                               "        asm volatile(\"cp.async.wait_group 1;\" ::: \"memory\");\n"
                               "        __syncthreads();\n"
                               "        sum += stage[n % 3][(4 * t + 7) % 256];\n"
                               "        copy(n + 2);\n"
                               "    }\n"
                               "    out[blockIdx.x * 64 + t] = sum;\n"
                               "}\n";

static const char tail[] = "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
                           "{\n"
                           "    __shared__ __align__(16) float tile[256];\n"
                           "    const int t = threadIdx.x, left = 2045 - 4 * (448 + t);\n"
                           "    const unsigned to = (unsigned)__cvta_generic_to_shared(&tile[4 * t]);\n"
                           "    const int bytes = left >= 4 ? 16 : left > 0 ? 4 * left : 0;\n"
                           "    asm volatile(\"cp.async.ca.shared.global [%0], [%1], 16, %2;\" :: \"r\"(to), \"l\"(in + 4 * "
                           "(448 + t)), \"r\"(bytes) : \"memory\");\n"
                           "    asm volatile(\"cp.async.wait_all;\" ::: \"memory\");\n"
                           "    __syncthreads();\n"
                           "    out[blockIdx.x * 64 + t] = tile[255 - t];\n"
                           "}\n";

static const char exchange[] = "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
                               "{\n"
                               "    __shared__ float cell[64];\n"
                               "    const int t = threadIdx.x;\n"
                               "    cell[t] = in[t];\n"
                               "    __syncwarp();\n"
                               "    const float other = cell[t ^ 1];\n"
                               "    __syncwarp();\n"
                               "    cell[t ^ 2] = other;\n"
                               "    __syncwarp();\n"
                               "    out[blockIdx.x * 64 + t] = cell[t];\n"
                               "}\n";

static const char through_global[] = "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
                                     "{\n"
                                     "    const int t = blockIdx.x * 64 + threadIdx.x;\n"
                                     "    out[t] = in[t];\n"
                                     "    __syncwarp();\n"
                                     "    const float other = out[t ^ 1];\n"
                                     "    __syncwarp();\n"
                                     "    out[t ^ 2] = other;\n"
                                     "}\n";

static const char shuffle[] = "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
                              "{\n"
                              "    const int t = threadIdx.x, lane = t % 32;\n"
                              "    float value = in[t];\n"
                              "    if (lane < 16) {\n"
                              "        for (int by = 8; by > 0; by /= 2)\n"
                              "            value += __shfl_xor_sync(0x0000ffffu, value, by);\n"
                              "    }\n"
                              "    __syncthreads();\n"
                              "    out[blockIdx.x * 64 + t] = value;\n"
                              "}\n";

static const char tensor[] =
    "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
    "{\n"
    "    __shared__ __align__(16) unsigned short a[16][24], b[8][24];\n"
    "    const int lane = threadIdx.x % 32;\n"
    "    if (threadIdx.x < 32) {\n"
    "        for (int i = lane; i < 16 * 16; i += 32)\n"
    "            a[i / 16][i % 16] = 0x3c00;\n"
    "        for (int i = lane; i < 8 * 16; i += 32)\n"
    "            b[i / 16][i % 16] = 0x4000;\n"
    "        __syncwarp();\n"
    "        unsigned r[4], s[2];\n"
    "        float d[4] = {};\n"
    "        const unsigned at = (unsigned)__cvta_generic_to_shared(&a[lane % 16][lane / 16 * 8]);\n"
    "        const unsigned bt = (unsigned)__cvta_generic_to_shared(&b[lane % 8][lane / 8 % 2 * 8]);\n"
    "        asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\"\n"
    "                     : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3]) : \"r\"(at));\n"
    "        asm volatile(\"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];\" : \"=r\"(s[0]), \"=r\"(s[1]) : "
    "\"r\"(bt));\n"
    "        asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
    "\"\n"
    "                     \"{%0, %1, %2, %3};\" : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3])\n"
    "                     : \"r\"(r[0]), \"r\"(r[1]), \"r\"(r[2]), \"r\"(r[3]), \"r\"(s[0]), \"r\"(s[1]));\n"
    "        out[blockIdx.x * 64 + lane] = d[0];\n"
    "        out[blockIdx.x * 64 + lane + 32] = d[3];\n"
    "    }\n"
    "}\n";

static const char sums[] = "__device__ float total;\n"
                           "__device__ unsigned ticket;\n"
                           "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
                           "{\n"
                           "    __shared__ unsigned bin[8], last;\n"
                           "    __shared__ float sum;\n"
                           "    const int t = threadIdx.x;\n"
                           "    if (t < 8) bin[t] = 0;\n"
                           "    if (t == 0) sum = 0;\n"
                           "    __syncthreads();\n"
                           "    atomicAdd(&bin[t % 8], 1u);\n"
                           "    atomicAdd(&sum, 1.0f);\n"
                           "    atomicAdd(&total, 1.0f);\n"
                           "    __syncthreads();\n"
                           "    if (t == 0) {\n"
                           "        out[128 + blockIdx.x] = sum;\n"
                           "        __threadfence();\n"
                           "        last = atomicAdd(&ticket, 1u) == 1;\n"
                           "    }\n"
                           "    __syncthreads();\n"
                           "    float both = 0;\n"
                           "    if (last) both = out[128] + out[129];\n"
                           "    out[blockIdx.x * 64 + t] = (float)bin[t % 8] + both;\n"
                           "}\n";

static const char last_block[] = "__device__ volatile float partial[2];\n"
                                 "__device__ unsigned ticket;\n"
                                 "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
                                 "{\n"
                                 "    __shared__ bool last;\n"
                                 "    if (threadIdx.x == 0) {\n"
                                 "        partial[blockIdx.x] = in[blockIdx.x];\n"
                                 "        __threadfence();\n"
                                 "        last = atomicInc(&ticket, 1) == gridDim.x - 1;\n"
                                 "    }\n"
                                 "    __syncthreads();\n"
                                 "    if (last && threadIdx.x == 1)\n"
                                 "        out[0] = partial[0] + partial[1];\n"
                                 "}\n";

/* Decoupled look-back: each block takes its number from one counter and waits for the flag, with its value, of the one before. */
static const char look_back[] = "__device__ volatile unsigned long long state[2];\n"
                                "__device__ unsigned counter;\n"
                                "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
                                "{\n"
                                "    if (threadIdx.x != 0) return;\n"
                                "    const unsigned n = atomicAdd(&counter, 1u);\n"
                                "    unsigned long long before = 0;\n"
                                "    while (n > 0 && !(before = state[n - 1])) {}\n"
                                "    state[n] = before + 1 + (unsigned)in[n];\n"
                                "    out[n] = (float)before;\n"
                                "}\n";

static const char tally[] = "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
                            "{\n"
                            "    float *bins = (float *)in;\n"
                            "    atomicAdd(&bins[threadIdx.x % 7], 1.0f);\n"
                            "}\n";

static const char parties[] = "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
                              "{\n"
                              "    __shared__ float box[32];\n"
                              "    const int t = threadIdx.x;\n"
                              "    float value = 0;\n"
                              "    for (int n = 0; n < 3; ++n)\n"
                              "        if (t < 32) {\n"
                              "            box[t] = in[32 * n + t];\n"
                              "            asm volatile(\"bar.arrive 1, 64;\" ::: \"memory\");\n"
                              "            asm volatile(\"bar.sync 2, 64;\" ::: \"memory\");\n"
                              "        } else {\n"
                              "            asm volatile(\"bar.sync 1, 64;\" ::: \"memory\");\n"
                              "            value += box[t - 32];\n"
                              "            asm volatile(\"bar.arrive 2, 64;\" ::: \"memory\");\n"
                              "        }\n"
                              "    out[blockIdx.x * 64 + t] = value;\n"
                              "}\n";

static const char choices[] = "__device__ int depth(int n) { return n; }\n"
                              "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
                              "{\n"
                              "    const int t = threadIdx.x;\n"
                              "    float local[8];\n"
                              "    for (int i = 0; i < 8; ++i)\n"
                              "        local[i] = in[t + i];\n"
                              "    float sum = 0;\n"
                              "    for (int i = 0; i < (int)in[0] + 4; ++i)\n"
                              "        sum += local[(i * (int)in[1]) & 7];\n"
                              "    if (sum > 1e30f)\n"
                              "        __trap();\n"
                              "    out[blockIdx.x * 64 + t] = sum;\n"
                              "}\n";

/* Words that are written by halves, each by a thread, and read whole. */
static const char halves[] = "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
                             "{\n"
                             "    __shared__ unsigned words[32];\n"
                             "    unsigned short *half = (unsigned short *)words;\n"
                             "    const int t = threadIdx.x;\n"
                             "    half[t] = (unsigned short)in[t];\n"
                             "    __syncthreads();  // written\n"
                             "    const unsigned whole = words[t % 32];\n"
                             "    __syncthreads();  // read\n"
                             "    half[63 - t] = (unsigned short)(whole >> 3);\n"
                             "    __syncthreads();\n"
                             "    out[blockIdx.x * 64 + t] = (float)words[t % 32];\n"
                             "}\n";

static const struct small {
    const char *name, *text;
} smalls[] = {{"cp.async pipeline", pipeline},
              {"cp.async tail", tail},
              {"exchange in a warp", exchange},
              {"exchange in global memory", through_global},
              {"shuffle", shuffle},
              {"tensor cores", tensor},
              {"atomics", sums},
              {"last block", last_block},
              {"look back", look_back},
              {"tally", tally},
              {"producer and consumer", parties},
              {"choices", choices},
              {"halves of words", halves}};

static const struct small_mutation {
    const char *text, *what, *piece, *instead;
    cuEmuKind kind;
    const char *at[3];
    cuEmuKind after;
} small_mutations[] = {
    {pipeline, "wait_group missing", "cp.async.wait_group 1;", "", CUEMU_ASYNC_IN_FLIGHT, {"sum += stage"}, 0},
    {pipeline,
     "wait_group off by one",
     "cp.async.wait_group 1;",
     "cp.async.wait_group 2;",
     CUEMU_ASYNC_IN_FLIGHT,
     {"sum += stage"},
     0},
    {pipeline, "commit_group missing", "cp.async.commit_group;", "", CUEMU_ASYNC_IN_FLIGHT, {"sum += stage"}, 0},
    {pipeline, "one stage too few", "stage[n % 3][4 * t]", "stage[n % 2][4 * t]", CUEMU_RACE_SHARED, {"cp.async"}, 0},
    {pipeline,
     "barrier after the wait missing",
     "        __syncthreads();\n",
     "\n",
     CUEMU_RACE_SHARED,
     {"sum += stage", "cp.async"},
     0},
    {pipeline,
     "barrier before the wait",
     "asm volatile(\"cp.async.wait_group 1;\" ::: \"memory\");\n        __syncthreads();",
     "__syncthreads();\n        asm volatile(\"cp.async.wait_group 1;\" ::: \"memory\");",
     CUEMU_RACE_SHARED,
     {"sum += stage"},
     0},
    {pipeline,
     "copied before all have read",
     "int n = 0; n < 6; ++n) {\n",
     "int n = 0; n < 6; ++n) {\n        if (n) copy(n + 1);\n",
     CUEMU_ASYNC_IN_FLIGHT,
     {0},
     0},
    {pipeline,
     "target beyond the array",
     "&stage[n % 3][4 * t]",
     "&stage[n % 3 + 1][4 * t]",
     CUEMU_OUT_OF_BOUNDS,
     {"cp.async.cg"},
     0},
    {pipeline, "source beyond the matrix", "in + 256 * n", "in + 2048 * n", CUEMU_OUT_OF_BOUNDS, {"cp.async.cg"}, 0},
    {pipeline, "target misaligned", "&stage[n % 3][4 * t]", "&stage[n % 3][4 * t + 1]", CUEMU_MISALIGNED, {"cp.async.cg"}, 0},
    {pipeline, "source misaligned", "in + 256 * n + 4 * t", "in + 256 * n + 4 * t + 2", CUEMU_MISALIGNED, {"cp.async.cg"}, 0},
    {halves, "barrier after the halves missing", "__syncthreads();  // written", "", CUEMU_RACE_SHARED, {"whole = words"}, 0},
    {halves, "barrier before the halves missing", "__syncthreads();  // read", "", CUEMU_RACE_SHARED, {"half[63 - t] ="}, 0},
    {halves,
     "one byte written next to a whole word",
     "const unsigned whole = words[t % 32];",
     "if (t == 40) ((unsigned char *)words)[6] = 1;\n    const unsigned whole = words[t % 32];",
     CUEMU_RACE_SHARED,
     {"whole = words", "[6] = 1"},
     0},
    {tail, "tail of the source not clipped", "left > 0 ? 4 * left : 0", "16", CUEMU_OUT_OF_BOUNDS, {"cp.async.ca"}, 0},
    {tail, "wait missing", "cp.async.wait_all;", "", CUEMU_ASYNC_IN_FLIGHT, {"out["}, 0},
    {tail, "barrier missing", "__syncthreads();", "", CUEMU_RACE_SHARED, {"out[", "cp.async.ca"}, CUEMU_UNINITIALISED},
    {exchange,
     "a shuffle in place of __syncwarp",
     "__syncwarp();\n    const",
     "if (__shfl_sync(0xffffffffu, t, 3) > 99) return;\n    const",
     CUEMU_RACE_SHARED,
     {"other ="},
     0},
    {exchange,
     "only half of the warp synchronises",
     "__syncwarp();\n    const",
     "if (t % 32 < 16) __syncwarp(0xffffu);\n    const",
     CUEMU_RACE_SHARED,
     {"other ="},
     0},
    {exchange, "first __syncwarp missing", "    __syncwarp();\n    const", "    const", CUEMU_RACE_SHARED, {"other ="}, 0},
    {exchange, "second __syncwarp missing", "    __syncwarp();\n    cell", "    cell", CUEMU_RACE_SHARED, {"cell[t ^ 2]"}, 0},
    {exchange, "third __syncwarp missing", "    __syncwarp();\n    out", "    out", CUEMU_RACE_SHARED, {"out["}, 0},
    {exchange, "exchange across warps", "cell[t ^ 1]", "cell[t ^ 32]", CUEMU_RACE_SHARED, {"cell["}, CUEMU_UNINITIALISED},
    {through_global,
     "first __syncwarp missing",
     "    __syncwarp();\n    const",
     "    const",
     CUEMU_RACE_GLOBAL,
     {"other ="},
     0},
    {through_global,
     "second __syncwarp missing",
     "    __syncwarp();\n    out",
     "    out",
     CUEMU_RACE_GLOBAL,
     {"out[t ^ 2]"},
     0},
    {shuffle,
     "mask names lanes that are elsewhere",
     "0x0000ffffu",
     "0xffffffffu",
     CUEMU_DIVERGENT,
     {"__shfl_xor_sync", "__syncthreads"},
     0},
    {shuffle, "mask lacks lanes that are here", "0x0000ffffu", "0x000000ffu", CUEMU_ILLEGAL, {"__shfl_xor_sync"}, 0},
    {shuffle, "partner outside the mask", "by = 8", "by = 16", CUEMU_ILLEGAL, {"__shfl_xor_sync"}, 0},
    {tensor, "rows of ldmatrix misaligned", "a[16][24]", "a[16][20]", CUEMU_MISALIGNED, {"ldmatrix", "(r[0])"}, 0},
    {tensor,
     "rows of ldmatrix out of bounds",
     "lane / 16 * 8",
     "lane / 16 * 16 + lane % 16 * 8",
     CUEMU_OUT_OF_BOUNDS,
     {"ldmatrix", "(r[0])"},
     0},
    {tensor,
     "tile of the MMA not filled",
     "b[i / 16][i % 16] = 0x4000;",
     "if (i % 16 != 3) b[i / 16][i % 16] = 0x4000;",
     CUEMU_UNINITIALISED,
     {"mma.sync", "(r[0])"},
     0},
    {tensor, "__syncwarp missing", "        __syncwarp();\n", "", CUEMU_RACE_SHARED, {"ldmatrix", "(r[0])"}, 0},
    {tensor, "MMA by half a warp", "if (threadIdx.x < 32)", "if (threadIdx.x < 16)", CUEMU_ILLEGAL, {"ldmatrix", "(r[0])"}, 0},
    {sums,
     "bins without atomics",
     "atomicAdd(&bin[t % 8], 1u);",
     "bin[t % 8] += 1u;",
     CUEMU_RACE_SHARED,
     {"bin[t % 8] += 1u"},
     0},
    {sums,
     "total of the blocks without atomics",
     "atomicAdd(&total, 1.0f);",
     "if (t == 0) total += 1.0f;",
     CUEMU_RACE_GLOBAL,
     {"total +="},
     0},
    {sums, "fence missing", "        __threadfence();\n", "", CUEMU_RACE_GLOBAL, {"both = out"}, 0},
    {last_block, "fence missing", "        __threadfence();\n", "", CUEMU_RACE_GLOBAL, {"out[0] = partial"}, 0},
    {last_block, "a fence of the block only", "__threadfence();", "__syncwarp(1);", CUEMU_RACE_GLOBAL, {"out[0] = partial"}, 0},
    {tally, "bins never written", "= (float *)in", "= out", CUEMU_UNINITIALISED, {"atomicAdd"}, 0},
    {pipeline, "a loop that does not get on", "n < 6; ++n", "n < 6; n += 0", CUEMU_ENDLESS, {0}, CUEMU_ASYNC_IN_FLIGHT},
    {sums, "bins not cleared", "if (t < 8) bin[t] = 0;", "", CUEMU_UNINITIALISED, {0}, 0},
    {sums,
     "flag read without a barrier",
     "    }\n    __syncthreads();\n    float both",
     "    }\n    float both",
     CUEMU_RACE_SHARED,
     {"if (last)", "last ="},
     0},
    {parties, "consumer does not wait", "bar.sync 1, 64;", "bar.arrive 1, 64;", CUEMU_RACE_SHARED, {"box["}, 0},
    {parties, "producer waits for nobody", "bar.arrive 2, 64;", "", CUEMU_DEADLOCK, {"bar.sync"}, 0},
    {parties, "too many threads awaited", "bar.sync 2, 64;", "bar.sync 2, 96;", CUEMU_ILLEGAL, {"bar.sync 2, 96"}, 0},
    {choices,
     "a local array half filled",
     "i < 8; ++i)\n        local",
     "i < 2; ++i)\n        local",
     CUEMU_UNINITIALISED,
     {0},
     0},
    {choices,
     "what was never written decides a branch",
     "in[0] + 4",
     "out[t] + 4",
     CUEMU_UNINITIALISED,
     {"for (int i = 0; i < (int)out"},
     0},
    {choices, "trap", "sum > 1e30f", "sum < 1e30f", CUEMU_ASSERT, {"__trap"}, 0},
};

/* in: 2045 elements; out: 130, unwritten. */
static findings run_small(const char *ptx, int *result)
{
    static float content[2045];
    uint64_t in, out;
    void *module, *function = NULL, *parameters[] = {&in, &out};
    char log[1024];
    findings f;

    for (int i = 0; i < 2045; i++)
        content[i] = (float)(i % 7);
    in = device_memory(sizeof content, content);
    out = device_memory(130 * sizeof(float), NULL);
    module = load_ptx(ptx, log, sizeof log);
    cr_assert(ne(ptr, module, NULL), "%s", log);
    cr_assert(eq(int, cu.function(&function, module, "kernel"), 0));
    *result = launch_and_wait(function, 2, 64, 0, parameters);
    f = take_findings();
    cr_assert(eq(int, cu.unload(module), 0));
    cr_assert(eq(int, cu.free(in), 0));
    cr_assert(eq(int, cu.free(out), 0));
    return f;
}

static void open_all(void)
{
    open_emulator("sm_80");
    cr_assert(cu.set_option(CUEMU_BUDGET, BUDGET));
}

TestSuite(small_mutations, .init = open_all, .timeout = 280);

static void open_newest(void)
{
    open_emulator("sm_120");
}

TestSuite(small_dialects, .init = open_newest, .timeout = 280);

Test(small_dialects, every_target_is_right_and_silent)
{
    static const char *const targets[] = {"sm_80", "sm_90", "sm_100", "sm_120"};
    const nvrtc *by = nvrtc_or_skip("emulator/small_mutations");

    for (size_t t = 0; t < sizeof targets / sizeof targets[0]; t++)
        for (size_t i = 0; i < sizeof smalls / sizeof smalls[0]; i++) {
            char *ptx = compile_text(by, smalls[i].text, targets[t], smalls[i].name);
            int result;
            const findings f = run_small(ptx, &result);
            cr_expect(eq(sz, f.count, 0), "%s for %s: %s", smalls[i].name, targets[t], f.first[0].text);
            cr_expect(eq(int, result, 0), "%s for %s", smalls[i].name, targets[t]);
            free(ptx);
        }
}

Test(small_mutations, small_kernels_are_silent)
{
    const nvrtc *by = nvrtc_or_skip("emulator/small_mutations");

    for (size_t i = 0; i < sizeof smalls / sizeof smalls[0]; i++) {
        char *ptx = compile_text(by, smalls[i].text, "sm_80", smalls[i].name);

        for (int seed = 0; seed < 8; seed++) {
            int result;
            findings f;
            cu.set_option(CUEMU_SEED, (uint64_t)seed);
            f = run_small(ptx, &result);
            cr_expect(eq(sz, f.count, 0), "%s, seed %d: %s: %s", smalls[i].name, seed, kind_names[f.first[0].kind],
                      f.first[0].text);
            cr_expect(eq(int, result, 0), "%s", smalls[i].name);
        }
        free(ptx);
    }
}

Test(small_mutations, each_broken_small_kernel_is_caught_by_the_right_checker)
{
    const nvrtc *by = nvrtc_or_skip("emulator/small_mutations");
    const unsigned count = sizeof small_mutations / sizeof small_mutations[0];
    unsigned caught = 0;

    for (unsigned i = 0; i < count; i++) {
        const struct small_mutation *m = &small_mutations[i];
        char *text, *ptx, why[1200] = "";
        const cuEmuFinding *first;
        bool is_caught;
        int result;
        findings f;
        cr_assert(ne(ptr, strstr(m->text, m->piece), NULL), "%s: no \"%s\"", m->what, m->piece);
        text = mutate(m->text, m->piece, m->instead);
        ptx = compile_text(by, text, "sm_80", m->what);
        f = run_small(ptx, &result);
        first = wanted_finding(&f, m->kind, m->after);
        is_caught = f.count > 0 && first->kind == m->kind && leads_there(first, "kernel", text, ptx, m->at, why, sizeof why);
        caught += is_caught;
        cr_expect(is_caught, "%s: wanted %s, got %s: %s; %s", m->what, kind_names[m->kind],
                  f.count ? kind_names[first->kind] : "nothing", f.count ? first->text : "", why);
        cr_expect(ne(int, result, 0), "%s: the program hears nothing of it", m->what);
        free(ptx);
        free(text);
    }
    printf("emulator/small_mutations: of small kernels %u of %u caught by the right checker\n", caught, count);
}
