/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* clusterlaunchcontrol: blocks that take over the work of those that have not begun, and what they must not do. */
#include "program.h"

static void open_device(void)
{
    open_emulator("sm_100");
    cr_assert(cu.set_option(CUEMU_BUDGET, 10000000));
}

TestSuite(launch_control, .init = open_device, .timeout = 120);

#define HELPERS                                                                                                               \
    "typedef unsigned int u32;\n"                                                                                             \
    "typedef unsigned long long u64;\n"                                                                                       \
    "static __device__ u32 address(const void *p) { return (u32)__cvta_generic_to_shared(p); }\n"                             \
    "static __device__ void init(u64 *bar, u32 count)\n"                                                                      \
    "{ asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" :: \"r\"(address(bar)), \"r\"(count) : \"memory\");\n"        \
    "  asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\"); }\n"                                            \
    "static __device__ void expect(u64 *bar, u32 bytes)\n"                                                                    \
    "{ asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" :: \"r\"(address(bar)), \"r\"(bytes) : "       \
    "\"memory\"); }\n"                                                                                                        \
    "static __device__ void wait(u64 *bar, u32 parity)\n"                                                                     \
    "{ asm volatile(\"{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra done; bra again; "   \
    "done:}\"\n"                                                                                                              \
    "               :: \"r\"(address(bar)), \"r\"(parity) : \"memory\"); }\n"                                                 \
    "static __device__ void ask(uint4 *to, u64 *bar)\n"                                                                       \
    "{ asm volatile(\"clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes\" HOW \".b128 [%0], "    \
    "[%1];\"\n"                                                                                                               \
    "               :: \"r\"(address(to)), \"r\"(address(bar)) : \"memory\"); }\n"                                            \
    "static __device__ bool is_taken(const uint4 *from, int *x)\n"                                                            \
    "{ u32 yes; u64 low, high;\n"                                                                                             \
    "  asm volatile(\"ld.shared.v2.b64 {%0, %1}, [%2];\" : \"=l\"(low), \"=l\"(high) : \"r\"(address(from)) : \"memory\");\n" \
    "  asm volatile(\"{.reg .pred p; .reg .b128 r; mov.b128 r, {%2, %3};\\n\"\n"                                              \
    "               \"clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, r; selp.b32 %0, 1, 0, p;\\n\"\n"             \
    "               \"@p clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, r;}\"\n"                           \
    "               : \"=r\"(yes), \"+r\"(*x) : \"l\"(low), \"l\"(high));\n"                                                  \
    "  return yes; }\n"

/* 64 tiles of 64 numbers, each made by the block of its number, or by one that takes it over. */
static const char tiles_text[] = "#define HOW\n" HELPERS "extern \"C\" __global__ void kernel(const float *in, float *out)\n{\n"
                                 "    __shared__ uint4 response;\n"
                                 "    __shared__ u64 there;\n"
                                 "    const int t = threadIdx.x;\n"
                                 "    int tile = blockIdx.x;\n"
                                 "    if (t == 0) init(&there, 1);\n"
                                 "    __syncthreads();\n"
                                 "    for (int n = 0;; n ^= 1) {\n"
                                 "        if (t == 0) { expect(&there, 16); ask(&response, &there); }\n"
                                 "        out[64 * tile + t] = 2 * in[64 * tile + t] + 1;\n"
                                 "        wait(&there, n);  // the answer\n"
                                 "        if (!is_taken(&response, &tile)) break;\n"
                                 "        asm volatile(\"fence.proxy.async;\" ::: \"memory\");\n"
                                 "        __syncthreads();  // all have read it\n"
                                 "    }\n"
                                 "    // none is left\n"
                                 "}\n";

/* The same by clusters of two: one thread asks for both blocks, and each finds its own tile. */
static const char clusters_text[] =
    "#define HOW \".multicast::cluster::all\"\n" HELPERS
    "static __device__ void cluster_sync() { asm volatile(\"barrier.cluster.arrive; "
    "barrier.cluster.wait;\" ::: \"memory\"); }\n"
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) kernel(const float *in, float *out)\n{\n"
    "    __shared__ uint4 response;\n"
    "    __shared__ u64 there;\n"
    "    const int t = threadIdx.x, rank = blockIdx.x % 2;\n"
    "    int tile = blockIdx.x;\n"
    "    if (t == 0) init(&there, 1);\n"
    "    cluster_sync();\n"
    "    for (int n = 0;; n ^= 1) {\n"
    "        if (t == 0) expect(&there, 16);\n"
    "        if (t == 0 && rank == 0) ask(&response, &there);\n"
    "        out[64 * tile + t] = 2 * in[64 * tile + t] + 1;\n"
    "        wait(&there, n);  // the answer\n"
    "        if (!is_taken(&response, &tile)) break;\n"
    "        tile += rank;\n"
    "        asm volatile(\"fence.proxy.async;\" ::: \"memory\");\n"
    "        cluster_sync();  // all have read it\n"
    "    }\n"
    "    cluster_sync();\n"
    "}\n";

static float wanted(int i, const float *in)
{
    return 2 * in[i] + 1;
}

static const program programs[] = {
    {"tiles", tiles_text, "sm_100", wanted, {64, 1, 1}, 64, 4096},
    {"tiles by clusters", clusters_text, "sm_100a", wanted, {64, 1, 1}, 64, 4096},
};

Test(launch_control, every_tile_is_made_under_every_schedule)
{
    expect_right_and_silent(nvrtc_or_skip("emulator/launch_control"), programs, 2);
}

static const broken mutations[] = {
    {programs,
     "asks again",
     "// none is left",
     "if (t == 0) { expect(&there, 16); ask(&response, &there); }",
     CUEMU_ILLEGAL,
     {"address(to)", "clusterlaunchcontrol"},
     0,
     "that there is none"},
    {programs,
     "an index that is none",
     "@p clusterlaunchcontrol",
     "clusterlaunchcontrol",
     CUEMU_ILLEGAL,
     {"clusterlaunchcontrol", "+r"},
     0,
     "from a response that there is none"},
    {programs,
     "read before it is there",
     "wait(&there, n);",
     "",
     CUEMU_ASYNC_IN_FLIGHT,
     {"ld.shared"},
     CUEMU_UNINITIALISED,
     "asynchronous copy"},
    {programs,
     "asked while others read",
     "__syncthreads();  // all have read it",
     "",
     CUEMU_ASYNC_IN_FLIGHT,
     {"ld.shared"},
     0,
     "is on its way"},
    {programs,
     "bytes that nobody expects",
     "expect(&there, 16); ask",
     "expect(&there, 0); ask",
     CUEMU_ASYNC_IN_FLIGHT,
     {"ld.shared"},
     0,
     "is on its way"},
    {programs + 1,
     "the second block expects nothing",
     "if (t == 0) expect(&there, 16);",
     "if (t == 0 && rank == 0) expect(&there, 16);",
     CUEMU_DEADLOCK,
     {0},
     0,
     "arrivals missing"},
};

Test(launch_control, each_broken_program_is_caught_by_the_right_checker)
{
    expect_caught(nvrtc_or_skip("emulator/launch_control"), mutations, sizeof mutations / sizeof mutations[0]);
}
