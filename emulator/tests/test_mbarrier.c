/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Barriers in shared memory: rings of stages between warps and between blocks, copies that arrive by themselves, and the ways in which
 * programs get them wrong.
 */
#include "program.h"

static void open_device(void)
{
    open_emulator("sm_90");
    cr_assert(cu.set_option(CUEMU_BUDGET, 10000000));
}

TestSuite(mbarrier, .init = open_device, .timeout = 280);

#define PRELUDE                                                                                                             \
    "typedef unsigned int u32;\n"                                                                                           \
    "typedef unsigned long long u64;\n"                                                                                     \
    "static __device__ u32 address(const void *p) { return (u32)__cvta_generic_to_shared(p); }\n"                           \
    "static __device__ void init(u64 *bar, u32 count)\n"                                                                    \
    "{\n"                                                                                                                   \
    "    asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" :: \"r\"(address(bar)), \"r\"(count) : \"memory\");\n"    \
    "}\n"                                                                                                                   \
    "static __device__ u64 arrive(u64 *bar)\n"                                                                              \
    "{\n"                                                                                                                   \
    "    u64 state;\n"                                                                                                      \
    "    asm volatile(\"mbarrier.arrive.shared::cta.b64 %0, [%1];\" : \"=l\"(state) : \"r\"(address(bar)) : \"memory\");\n" \
    "    return state;\n"                                                                                                   \
    "}\n"                                                                                                                   \
    "static __device__ void wait(u64 *bar, u32 parity)\n"                                                                   \
    "{\n"                                                                                                                   \
    "    asm volatile(\"{\\n.reg .pred p;\\nagain:\\n\"\n"                                                                  \
    "                 \"mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\\n\"\n"                                       \
    "                 \"@p bra done;\\nbra again;\\ndone:\\n}\" :: \"r\"(address(bar)), \"r\"(parity) : \"memory\");\n"     \
    "}\n"

/* One warp fills stages, another empties them. */
static const char ring[] = PRELUDE "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
                                   "{\n"
                                   "    __shared__ float stage[2][32];\n"
                                   "    __shared__ u64 full[2], empty[2];\n"
                                   "    const int t = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
                                   "    if (threadIdx.x < 2) {\n"
                                   "        init(&full[threadIdx.x], 32);\n"
                                   "        init(&empty[threadIdx.x], 32);\n"
                                   "    }\n"
                                   "    __syncthreads();  // the barriers are there\n"
                                   "    for (int n = 0; n < 8; ++n) {\n"
                                   "        const int s = n % 2, round = n / 2;\n"
                                   "        if (warp == 0) {\n"
                                   "            wait(&empty[s], (round & 1) ^ 1);  // nobody reads\n"
                                   "            stage[s][t] = in[32 * n + t];\n"
                                   "            arrive(&full[s]);  // filled\n"
                                   "        } else {\n"
                                   "            wait(&full[s], round & 1);  // it is filled\n"
                                   "            out[32 * n + t] = 2 * stage[s][31 - t];\n"
                                   "            arrive(&empty[s]);  // emptied\n"
                                   "        }\n"
                                   "    }\n"
                                   "}\n";

static float wanted_of_ring(int i, const float *in)
{
    return 2 * in[i / 32 * 32 + 31 - i % 32];
}

/* Tokens, counts, and threads that leave: a barrier of all, of which each round has fewer. */
static const char leaving[] = PRELUDE
    "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
    "{\n"
    "    __shared__ float cell[64];\n"
    "    __shared__ u64 all;\n"
    "    const int t = threadIdx.x;\n"
    "    if (t == 0) init(&all, 64);\n"
    "    __syncthreads();\n"
    "    cell[t] = in[t];\n"
    "    u64 state = arrive(&all);\n"
    "    u32 done = 0, left;\n"
    "    asm volatile(\"mbarrier.pending_count.b64 %0, %1;\" : \"=r\"(left) : \"l\"(state));\n"
    "    while (!done)\n"
    "        asm volatile(\"{\\n.reg .pred p;\\nmbarrier.test_wait.acquire.cta.shared.b64 p, [%1], %2;\\nselp.u32 %0, 1, 0, "
    "p;\\n}\"\n"
    "                     : \"=r\"(done) : \"r\"(address(&all)), \"l\"(state) : \"memory\");\n"
    "    out[t] = cell[63 - t] + (left >= 1 && left <= 64 ? 0 : 1000);\n"
    "    if (t >= 32) {\n"
    "        asm volatile(\"mbarrier.arrive_drop.release.cta.shared.b64 _, [%0];\" :: \"r\"(address(&all)) : \"memory\");\n"
    "        return;\n"
    "    }\n"
    "    if (t % 2 == 0)  // for its neighbour too\n"
    "        asm volatile(\"mbarrier.arrive.noComplete.release.cta.shared.b64 %0, [%1], 1;\" : \"=l\"(state) : "
    "\"r\"(address(&all)));\n"
    "    __syncwarp();\n"
    "    if (t % 2 == 1) arrive(&all);\n"
    "    wait(&all, 1);\n"
    "    cell[63 - t] = 0;\n"
    "    __syncwarp();\n"
    "    if (t == 0) asm volatile(\"mbarrier.inval.shared.b64 [%0];\" :: \"r\"(address(&all)) : \"memory\");\n"
    "}\n";

static float wanted_of_leaving(int i, const float *in)
{
    return in[63 - i];
}

/* The copies of each thread arrive at the barrier of their stage. */
static const char copies[] =
    PRELUDE "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
            "{\n"
            "    __shared__ __align__(16) float stage[3][128];\n"
            "    __shared__ u64 full[3];\n"
            "    const int t = threadIdx.x;\n"
            "    if (t < 3) init(&full[t], 32);\n"
            "    __syncthreads();\n"
            "    for (int n = 0; n < 6; ++n) {\n"
            "        for (int k = n ? n + 2 : 0; k < n + 3 && k < 6; ++k) {\n"
            "            asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16;\" :: \"r\"(address(&stage[k % 3][4 * t])), "
            "\"l\"(in + 128 * k + 4 * t) : \"memory\");\n"
            "            asm volatile(\"cp.async.mbarrier.arrive.noinc.shared.b64 [%0];\" :: \"r\"(address(&full[k % 3])) : "
            "\"memory\");\n"
            "        }\n"
            "        wait(&full[n % 3], n / 3 & 1);  // it is there\n"
            "        for (int i = t; i < 128; i += 32) out[128 * n + i] = stage[n % 3][127 - i];\n"
            "        __syncthreads();  // read by all\n"
            "    }\n"
            "}\n";

static float wanted_of_copies(int i, const float *in)
{
    return in[i / 128 * 128 + 127 - i % 128];
}

/* The block of rank 1 fills a stage of that of rank 0 and arrives there; the other gives it back. */
static const char across[] =
    PRELUDE "static __device__ u32 mapa(const void *p, u32 rank)\n"
            "{\n"
            "    u32 r;\n"
            "    asm volatile(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(r) : \"r\"(address(p)), \"r\"(rank));\n"
            "    return r;\n"
            "}\n"
            "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) kernel(const float *in, float *out)\n"
            "{\n"
            "    __shared__ float stage[32];\n"
            "    __shared__ u64 full, empty;\n"
            "    const int t = threadIdx.x, rank = blockIdx.x % 2;\n"
            "    if (t == 0) { init(&full, 32); init(&empty, 1); }\n"
            "    asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
            "    asm volatile(\"barrier.cluster.arrive;\\nbarrier.cluster.wait;\" ::: \"memory\");\n"
            "    for (int n = 0; n < 4; ++n) {\n"
            "        if (rank == 1) {\n"
            "            wait(&empty, (n & 1) ^ 1);  // read by the other\n"
            "            asm volatile(\"st.shared::cluster.f32 [%0], %1;\" :: \"r\"(mapa(&stage[t], 0)), \"f\"(in[32 * n + t]) "
            ": \"memory\");\n"
            "            asm volatile(\"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];\" :: \"r\"(mapa(&full, "
            "0)) : \"memory\");\n"
            "        } else {\n"
            "            wait(&full, n & 1);  // written by the other\n"
            "            out[32 * n + t] = stage[31 - t];\n"
            "            __syncwarp();\n"
            "            if (t == 0)\n"
            "                asm volatile(\"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];\" :: "
            "\"r\"(mapa(&empty, 1)) : \"memory\");\n"
            "        }\n"
            "    }\n"
            "    asm volatile(\"barrier.cluster.arrive;\\nbarrier.cluster.wait;\" ::: \"memory\");\n"
            "}\n";

static float wanted_of_across(int i, const float *in)
{
    return in[i / 32 * 32 + 31 - i % 32];
}

/* One that looks at the next stage before it gives back the one it has, and does not insist. */
static const char peek[] =
    PRELUDE "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
            "{\n"
            "    __shared__ float stage[32];\n"
            "    __shared__ u64 full, empty;\n"
            "    const int t = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
            "    if (threadIdx.x == 0) { init(&full, 32); init(&empty, 32); }\n"
            "    __syncthreads();\n"
            "    u32 is_full = 0;\n"
            "    for (int n = 0; n < 4; ++n) {\n"
            "        if (warp == 0) {\n"
            "            wait(&empty, (n & 1) ^ 1);\n"
            "            stage[t] = in[32 * n + t];\n"
            "            arrive(&full);\n"
            "        } else {\n"
            "            if (!is_full) wait(&full, n & 1);\n"
            "            out[32 * n + t] = stage[31 - t];\n"
            "            asm volatile(\"{\\n.reg .pred p;\\nmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\\nselp.u32 %0, 1, "
            "0, p;\\n}\"\n"
            "                         : \"=r\"(is_full) : \"r\"(address(&full)), \"r\"(~n & 1) : \"memory\");\n"
            "            arrive(&empty);\n"
            "        }\n"
            "    }\n"
            "}\n";

static const program programs[] = {{"ring", ring, "sm_90", wanted_of_ring, {1, 1, 1}, 64, 256},
                                   {"leaving", leaving, "sm_90", wanted_of_leaving, {1, 1, 1}, 64, 64},
                                   {"copies", copies, "sm_90", wanted_of_copies, {1, 1, 1}, 32, 768},
                                   {"across", across, "sm_90", wanted_of_across, {2, 1, 1}, 32, 128},
                                   {"peek", peek, "sm_90", wanted_of_across, {1, 1, 1}, 64, 128}};

Test(mbarrier, programs_are_right_and_silent)
{
    expect_right_and_silent(nvrtc_or_skip("emulator/mbarrier"), programs, sizeof programs / sizeof programs[0]);
}

static const broken mutations[] = {
    {&programs[0],
     "nobody waits until a stage is filled",
     "wait(&full[s], round & 1);",
     "",
     CUEMU_RACE_SHARED,
     {"stage[s][31 - t]", "stage[s][t] ="},
     CUEMU_UNINITIALISED},
    {&programs[0],
     "nobody waits until a stage is read",
     "wait(&empty[s], (round & 1) ^ 1);",
     "",
     CUEMU_RACE_SHARED,
     {"stage[s][t] =", "stage[s][31 - t]"},
     0},
    {&programs[0],
     "the wrong phase",
     "wait(&full[s], round & 1);",
     "wait(&full[s], (round & 1) ^ 1);",
     CUEMU_DEADLOCK,
     {0},
     CUEMU_UNINITIALISED},
    {&programs[0],
     "given back before it is read",
     "out[32 * n + t] = 2 * stage[s][31 - t];\n            arrive(&empty[s]);",
     "arrive(&empty[s]);\n            out[32 * n + t] = 2 * stage[s][31 - t];",
     CUEMU_RACE_SHARED,
     {"stage[s][t] =", "stage[s][31 - t]"},
     0},
    {&programs[0],
     "a relaxed arrival",
     "arrive(&full[s]);",
     "asm volatile(\"mbarrier.arrive.relaxed.cta.shared.b64 _, [%0];\" :: \"r\"(address(&full[s])));",
     CUEMU_RACE_SHARED,
     {"stage[s][31 - t]"},
     0},
    {&programs[0],
     "never initialised",
     "init(&full[threadIdx.x], 32);",
     "",
     CUEMU_MBARRIER,
     {"mbarrier."},
     0,
     "holds no mbarrier"},
    {&programs[0],
     "initialised while others use it",
     "    __syncthreads();  // the",
     "    //",
     CUEMU_RACE_SHARED,
     {0},
     CUEMU_MBARRIER},
    {&programs[0],
     "an arrival too few",
     "init(&full[threadIdx.x], 32);",
     "init(&full[threadIdx.x], 33);",
     CUEMU_DEADLOCK,
     {0},
     0,
     "1 of 33 arrivals missing"},
    {&programs[0], "nobody gives back", "arrive(&empty[s]);", "", CUEMU_DEADLOCK, {0}, 0, "32 of 32 arrivals missing"},
    {&programs[0],
     "bytes that never come",
     "arrive(&full[s]);",
     "asm volatile(\"mbarrier.arrive.expect_tx.shared.b64 _, [%0], 4;\" :: \"r\"(address(&full[s])));",
     CUEMU_DEADLOCK,
     {0},
     0,
     "128 bytes to come"},
    {&programs[0],
     "a count of 0",
     "init(&full[threadIdx.x], 32);",
     "init(&full[threadIdx.x], 0);",
     CUEMU_MBARRIER,
     {"mbarrier.init"},
     0,
     "counts 0 arrivals"},
    {&programs[0],
     "written over",
     "stage[s][t] = in[32 * n + t];",
     "((float *)full)[t & 3] = stage[s][t] = in[32 * n + t];",
     CUEMU_MBARRIER,
     {"mbarrier."},
     CUEMU_RACE_SHARED,
     "was written over"},
    {&programs[0],
     "a barrier in global memory",
     "mbarrier.arrive.shared::cta.b64 %0, [%1];\" : \"=l\"(state) : \"r\"(address(bar))",
     "mbarrier.arrive.b64 %0, [%1];\" : \"=l\"(state) : \"l\"((u64)bar & 0 | (u64)&state)",
     CUEMU_ILLEGAL,
     {"mbarrier."},
     0},
    {&programs[1],
     "more arrivals than are counted",
     "[%1], 1;\"",
     "[%1], 65;\"",
     CUEMU_MBARRIER,
     {"mbarrier."},
     0,
     "arrives 65 times"},
    {&programs[1],
     "the last arrival with noComplete",
     "[%1], 1;\"",
     "[%1], 32;\"",
     CUEMU_MBARRIER,
     {"mbarrier."},
     0,
     "which .noComplete must not"},
    {&programs[1],
     "bytes left at the end",
     "    cell[63 - t] = 0;\n",
     "if (t == 0) asm volatile(\"mbarrier.expect_tx.relaxed.cta.shared.b64 [%0], 16;\" :: \"r\"(address(&all))); return;\n",
     CUEMU_MBARRIER,
     {"mbarrier."},
     0,
     "does not come out"},
    {&programs[1],
     "used when it is one no longer",
     "    cell[63 - t] = 0;\n",
     "__syncwarp(); if (t == 1) asm volatile(\"mbarrier.inval.shared.b64 [%0];\" :: \"r\"(address(&all))); __syncwarp();\n",
     CUEMU_MBARRIER,
     {"mbarrier."},
     0,
     "holds no mbarrier"},
    {&programs[2],
     "read before the copies are there",
     "wait(&full[n % 3], n / 3 & 1);",
     "",
     CUEMU_ASYNC_IN_FLIGHT,
     {"stage[n % 3]"},
     0},
    {&programs[2],
     "overwritten while others read",
     "        __syncthreads();  // read",
     "        //",
     CUEMU_RACE_SHARED,
     {"cp.async"},
     0},
    {&programs[2], "counted twice", ".noinc", "", CUEMU_DEADLOCK, {0}, 0, "32 of 32 arrivals missing"},
    {&programs[3],
     "read before the other has written",
     "wait(&full, n & 1);",
     "",
     CUEMU_RACE_SHARED,
     {"stage[31 - t]", "st.shared"},
     CUEMU_UNINITIALISED},
    {&programs[3],
     "overwritten while the other reads",
     "wait(&empty, (n & 1) ^ 1);",
     "",
     CUEMU_RACE_SHARED,
     {"stage[31 - t]", "st.shared"},
     0},
    {&programs[3],
     "a state from another block",
     "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];\" :: \"r\"(mapa(&full, 0))",
     "{.reg .b64 s; mbarrier.arrive.release.cluster.shared::cluster.b64 s, [%0];}\" :: \"r\"(mapa(&full, 0))",
     CUEMU_MBARRIER,
     {"mbarrier."},
     0,
     "gives no state back"},
};

Test(mbarrier, each_broken_program_is_caught_by_the_right_checker)
{
    expect_caught(nvrtc_or_skip("emulator/mbarrier"), mutations, sizeof mutations / sizeof mutations[0]);
}
