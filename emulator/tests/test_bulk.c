/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Bulk copies between global memory and the shared memory of a cluster, on mbarriers and in groups; the fences between them and
 * ordinary stores; and the ways in which programs get them wrong.
 */
#include "program.h"

static void open_device(void)
{
    open_emulator("sm_90");
    cr_assert(cu.set_option(CUEMU_BUDGET, 10000000));
}

TestSuite(bulk, .init = open_device, .timeout = 280);

#define PRELUDE                                                                                                                \
    "typedef unsigned int u32;\n"                                                                                              \
    "typedef unsigned long long u64;\n"                                                                                        \
    "static __device__ u32 address(const void *p) { return (u32)__cvta_generic_to_shared(p); }\n"                              \
    "static __device__ void init(u64 *bar)\n"                                                                                  \
    "{ asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(address(bar)) : \"memory\"); }\n"                      \
    "static __device__ void expect(u64 *bar, u32 bytes)\n"                                                                     \
    "{ asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" :: \"r\"(address(bar)), \"r\"(bytes) : "        \
    "\"memory\"); }\n"                                                                                                         \
    "static __device__ void wait(u64 *bar, u32 parity)\n"                                                                      \
    "{ asm volatile(\"{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra done; bra again; "    \
    "done:}\" :: \"r\"(address(bar)), \"r\"(parity) : \"memory\"); }\n"                                                        \
    "static __device__ void fence() { asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\"); }\n"                    \
    "static __device__ void cluster_sync()\n"                                                                                  \
    "{ asm volatile(\"barrier.cluster.arrive; barrier.cluster.wait;\" ::: \"memory\"); }\n"                                    \
    "static __device__ u32 mapa(const void *p, u32 rank)\n"                                                                    \
    "{ u32 r; asm volatile(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(r) : \"r\"(address(p)), \"r\"(rank)); return r; " \
    "}\n"

/* Bulk copies bring in tiles, two in advance, and others write them out. */
static const char stream[] = PRELUDE
    "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
    "{\n"
    "    __shared__ __align__(128) float stage[2][256], result[256];\n"
    "    __shared__ u64 full[2];\n"
    "    const int t = threadIdx.x;\n"
    "    if (t == 0) {\n"
    "        init(&full[0]);\n"
    "        init(&full[1]);\n"
    "        asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
    "    }\n"
    "    __syncthreads();  // barriers are there\n"
    "    for (int n = 0; n < 6; ++n) {\n"
    "        for (int k = n ? n + 1 : 0; t == 0 && k < n + 2 && k < 6; ++k) {\n"
    "            expect(&full[k % 2], 1024);\n"
    "            asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\"\n"
    "                         :: \"r\"(address(stage[k % 2])), \"l\"(in + 256 * k), \"r\"(1024), \"r\"(address(&full[k % 2])) "
    ": \"memory\");\n"
    "        }\n"
    "        wait(&full[n % 2], n / 2 & 1);  // it is there\n"
    "        for (int i = t; i < 256; i += 64) result[i] = 3 * stage[n % 2][255 - i];\n"
    "        fence();  // what was stored may be copied\n"
    "        __syncthreads();  // by all\n"
    "        if (t == 0) {\n"
    "            asm volatile(\"cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\"\n"
    "                         :: \"l\"(out + 256 * n), \"r\"(address(result)), \"r\"(1024) : \"memory\");\n"
    "            asm volatile(\"cp.async.bulk.commit_group;\" ::: \"memory\");\n"
    "            asm volatile(\"cp.async.bulk.wait_group.read 0;\" ::: \"memory\");\n"
    "        }\n"
    "        __syncthreads();  // it has been read\n"
    "    }\n"
    "}\n";

static float wanted_of_stream(int i, const float *in)
{
    return 3 * in[i / 256 * 256 + 255 - i % 256];
}

/* Each block brings half of a tile to both. */
static const char multicast[] =
    PRELUDE "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) kernel(const float *in, float *out)\n"
            "{\n"
            "    __shared__ __align__(128) float stage[128];\n"
            "    __shared__ u64 full;\n"
            "    const int t = threadIdx.x, rank = blockIdx.x % 2;\n"
            "    if (t == 0) {\n"
            "        init(&full);\n"
            "        asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
            "    }\n"
            "    cluster_sync();  // barriers are there\n"
            "    for (int n = 0; n < 3; ++n) {\n"
            "        if (t == 0) {\n"
            "            expect(&full, 512);\n"
            "            asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
            "[%0], [%1], %2, [%3], "
            "%4;\"\n"
            "                         :: \"r\"(address(stage + 64 * rank)), \"l\"(in + 128 * n + 64 * rank), \"r\"(256), "
            "\"r\"(address(&full)), "
            "\"h\"((unsigned short)3) : \"memory\");\n"
            "        }\n"
            "        wait(&full, n & 1);  // both halves\n"
            "        out[128 * (3 * rank + n) + t] = stage[127 - t];\n"
            "        out[128 * (3 * rank + n) + 64 + t] = stage[63 - t];\n"
            "        cluster_sync();  // read by both\n"
            "    }\n"
            "}\n";

/*
 * Each block brings half of one tile to both, as soon as all mbarriers are there, which a relaxed arrival says after the fence of
 * mbarriers. Neither waits for the other in the end: all that is done in a block comes before what its own mbarrier waits for.
 */
static const char once[] =
    PRELUDE "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) kernel(const float *in, float *out)\n"
            "{\n"
            "    __shared__ __align__(128) float stage[128];\n"
            "    __shared__ u64 full;\n"
            "    const int t = threadIdx.x, rank = blockIdx.x % 2;\n"
            "    if (t == 0) {\n"
            "        init(&full);\n"
            "        asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
            "    }\n"
            "    asm volatile(\"barrier.cluster.arrive.relaxed;\" ::: \"memory\");\n"
            "    __syncthreads();\n"
            "    if (t == 0) expect(&full, 512);  // its own, which it knows\n"
            "    asm volatile(\"barrier.cluster.wait;\" ::: \"memory\");  // all are there\n"
            "    if (t == 0)\n"
            "        asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
            "[%1], %2, [%3], %4;\"\n"
            "                     :: \"r\"(address(stage + 64 * rank)), \"l\"(in + 64 * rank), \"r\"(256), "
            "\"r\"(address(&full)), \"h\"((unsigned short)3) : \"memory\");\n"
            "    wait(&full, 0);  // both halves\n"
            "    out[384 * rank + t] = stage[127 - t];\n"
            "    out[384 * rank + 64 + t] = stage[63 - t];\n"
            "}\n";

static float wanted_of_multicast(int i, const float *in)
{
    return in[i % 384 / 128 * 128 + 127 - i % 128];
}

/* A tile goes on to the next block; single values go back; all is added up in global memory. */
static const char onward[] = PRELUDE
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) kernel(const float *in, float *out)\n"
    "{\n"
    "    __shared__ __align__(128) float own[64], theirs[64], echo[64];\n"
    "    __shared__ u64 full, back;\n"
    "    const int t = threadIdx.x, rank = blockIdx.x % 2;\n"
    "    if (t == 0) {\n"
    "        init(&full);\n"
    "        init(&back);\n"
    "        expect(&full, 256);\n"
    "        expect(&back, 256);\n"
    "    }\n"
    "    fence();  // for the copies\n"
    "    own[t] = in[64 * rank + t];\n"
    "    if (rank == 0) out[t] = 0;\n"
    "    fence();  // what was stored may be copied\n"
    "    cluster_sync();  // all is there\n"
    "    if (t == 0)\n"
    "        asm volatile(\"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\"\n"
    "                     :: \"r\"(mapa(theirs, rank ^ 1)), \"r\"(address(own)), \"r\"(256), \"r\"(mapa(&full, rank ^ 1)) : "
    "\"memory\");\n"
    "    wait(&full, 0);  // theirs\n"
    "    asm volatile(\"st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];\"\n"
    "                 :: \"r\"(mapa(&echo[63 - t], rank ^ 1)), \"f\"(theirs[t]), \"r\"(mapa(&back, rank ^ 1)) : \"memory\");\n"
    "    wait(&back, 0);  // its own\n"
    "    echo[t] += theirs[t];\n"
    "    fence();\n"
    "    __syncthreads();\n"
    "    if (t == 0) {\n"
    "        asm volatile(\"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;\"\n"
    "                     :: \"l\"(out), \"r\"(address(echo)), \"r\"(256) : \"memory\");\n"
    "        asm volatile(\"cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;\" ::: \"memory\");\n"
    "    }\n"
    "    cluster_sync();  // nobody is needed any more\n"
    "}\n";

static float wanted_of_onward(int i, const float *in)
{
    return in[63 - i] + in[64 + i] + in[64 + 63 - i] + in[i];
}

/* Both blocks add to the same words of the first, by single values and by copies. */
static const char together[] = PRELUDE
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) kernel(const float *in, float *out)\n"
    "{\n"
    "    __shared__ __align__(128) u32 sum[64], own[64];\n"
    "    __shared__ u64 full;\n"
    "    const int t = threadIdx.x, rank = blockIdx.x % 2;\n"
    "    if (t == 0) {\n"
    "        init(&full);\n"
    "        if (rank == 0) expect(&full, 1024);  // from both\n"
    "    }\n"
    "    sum[t] = 1000;\n"
    "    own[t] = (u32)in[64 * rank + t];\n"
    "    fence();  // for the copies\n"
    "    cluster_sync();\n"
    "    asm volatile(\"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];\"\n"
    "                 :: \"r\"(mapa(&sum[63 - t], 0)), \"r\"(t), \"r\"(mapa(&full, 0)) : \"memory\");\n"
    "    if (t == 0)\n"
    "        asm volatile(\"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%0], [%1], "
    "%2, [%3];\"\n"
    "                     :: \"r\"(mapa(sum, 0)), \"r\"(address(own)), \"r\"(256), \"r\"(mapa(&full, 0)) : \"memory\");\n"
    "    if (rank == 0) {\n"
    "        wait(&full, 0);  // all sums\n"
    "        out[t] = (float)sum[t];\n"
    "    }\n"
    "    cluster_sync();\n"
    "}\n";

static float wanted_of_together(int i, const float *in)
{
    return 1000 + 2 * (float)(63 - i) + in[i] + in[64 + i];
}

static const program programs[] = {{"stream", stream, "sm_90", wanted_of_stream, {1, 1, 1}, 64, 1536},
                                   {"multicast", multicast, "sm_90", wanted_of_multicast, {2, 1, 1}, 64, 768},
                                   {"once", once, "sm_90", wanted_of_multicast, {2, 1, 1}, 64, 128},
                                   {"onward", onward, "sm_90", wanted_of_onward, {2, 1, 1}, 64, 64},
                                   {"together", together, "sm_90", wanted_of_together, {2, 1, 1}, 64, 64}};

Test(bulk, programs_are_right_and_silent)
{
    expect_right_and_silent(nvrtc_or_skip("emulator/bulk"), programs, sizeof programs / sizeof programs[0]);
}

/* In a block of no cluster a missing fence of mbarriers is said once, and the program goes on. */
Test(bulk, a_missing_fence_of_mbarriers_is_one_warning)
{
    char *text = mutate(stream, "fence.mbarrier_init.release.cluster;", "");
    char *ptx = compile_text(nvrtc_or_skip("emulator/bulk"), text, "sm_90", "no fence of mbarriers");
    const answer *a = run_program(&programs[0], ptx);

    cr_assert(eq(sz, a->found.count, 1), "%zu", a->found.count);
    cr_expect(a->found.first[0].kind == CUEMU_INIT_FENCE && strstr(a->found.first[0].text, "neither fence.mbarrier_init nor"),
              "%s", a->found.first[0].text);
    cr_expect(eq(int, a->result, 0));
    for (int i = 0; i < 1536; i++)
        cr_assert(eq(flt, a->out[i], wanted_of_stream(i, a->in)), "element %d", i);
    free(ptx);
    free(text);
}

#define STREAM &programs[0]
#define MULTICAST &programs[1]
#define ONCE &programs[2]
#define ONWARD &programs[3]
#define TOGETHER &programs[4]

static const broken mutations[] = {
    {STREAM, "read before its barrier", "wait(&full[n % 2], n / 2 & 1);", "", CUEMU_ASYNC_IN_FLIGHT, {"stage[n % 2]"}, 0},
    {STREAM, "the wrong phase", "n / 2 & 1", "~n / 2 & 1", CUEMU_ASYNC_IN_FLIGHT, {"stage[n % 2]"}, CUEMU_RACE_SHARED},
    {STREAM,
     "more bytes expected than come",
     "expect(&full[k % 2], 1024)",
     "expect(&full[k % 2], 1040)",
     CUEMU_DEADLOCK,
     {0},
     0,
     "16 bytes to come"},
    {STREAM,
     "less bytes expected than come",
     "expect(&full[k % 2], 1024)",
     "expect(&full[k % 2], 512)",
     CUEMU_DEADLOCK,
     {0},
     0,
     "512 bytes too many"},
    {STREAM,
     "nothing expected",
     "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;",
     "mbarrier.arrive.shared::cta.b64 _, [%0];",
     CUEMU_ASYNC_IN_FLIGHT,
     {"stage[n % 2]"},
     CUEMU_RACE_SHARED},
    {STREAM,
     "no proxy fence after the stores",
     "fence();  // what",
     "//",
     CUEMU_PROXY_FENCE,
     {"cp.async.bulk.global", ":: \"l\"(out"},
     0,
     "no fence.proxy.async since"},
    {STREAM,
     "a proxy fence before the stores",
     "wait(&full[n % 2], n / 2 & 1);  // it is there\n",
     "wait(&full[n % 2], n / 2 & 1); fence();\n#define fence()\n",
     CUEMU_PROXY_FENCE,
     {":: \"l\"(out"},
     0},
    {STREAM,
     "a proxy fence for global memory",
     "fence.proxy.async.shared::cta",
     "fence.proxy.async.global",
     CUEMU_PROXY_FENCE,
     {":: \"l\"(out"},
     0},
    {STREAM, "an ordinary fence", "fence();  // what", "__threadfence();  // what", CUEMU_PROXY_FENCE, {":: \"l\"(out"}, 0},
    {STREAM,
     "copied before all have stored",
     "__syncthreads();  // by all",
     "",
     CUEMU_RACE_SHARED,
     {":: \"l\"(out", "result[i] ="},
     0},
    {STREAM,
     "stored while it is copied",
     "asm volatile(\"cp.async.bulk.wait_group.read 0;\" ::: \"memory\");",
     "",
     CUEMU_ASYNC_IN_FLIGHT,
     {"result[i] ="},
     0,
     "still reads"},
    {STREAM,
     "not committed",
     "asm volatile(\"cp.async.bulk.commit_group;\" ::: \"memory\");",
     "",
     CUEMU_ASYNC_IN_FLIGHT,
     {"result[i] ="},
     0,
     "still reads"},
    {STREAM, "one group left on its way", "wait_group.read 0", "wait_group.read 1", CUEMU_ASYNC_IN_FLIGHT, {"result[i] ="}, 0},
    {STREAM,
     "brought while others read",
     "__syncthreads();  // it has",
     "//",
     CUEMU_RACE_SHARED,
     {"stage[k % 2]", "result[i] =", "stage[n % 2]"},
     0},
    {STREAM,
     "a length of no 16 bytes",
     "\"r\"(1024), \"r\"(address(&full",
     "\"r\"(1020), \"r\"(address(&full",
     CUEMU_MISALIGNED,
     {"stage[k % 2]"},
     0},
    {STREAM,
     "initialised again over a copy",
     "wait(&full[n % 2], n / 2 & 1);  // it",
     "if (t == 0 && n == 3) init(&full[1]); wait(&full[n % 2], n / 2 & 1);  // it",
     CUEMU_MBARRIER,
     {"init(&full[1])", "mbarrier.init"},
     0,
     "again while a copy is on its way"},
    {STREAM, "a source that is not aligned", "in + 256 * k", "in + 256 * k + 1", CUEMU_MISALIGNED, {"stage[k % 2]"}, 0},
    {STREAM, "a target that is not aligned", "stage[k % 2]))", "stage[k % 2] + 2))", CUEMU_MISALIGNED, {"stage[k % 2]"}, 0},
    {STREAM, "beyond the source", "in + 256 * k", "in + 4096 * k", CUEMU_OUT_OF_BOUNDS, {"stage[k % 2]"}, 0},
    {STREAM,
     "beyond the stages",
     "\"r\"(address(stage[k % 2]))",
     "\"r\"(address(stage[k % 2 + 1]))",
     CUEMU_OUT_OF_BOUNDS,
     {"stage[k % 2"},
     0},
    {STREAM, "beyond the result", "out + 256 * n)", "out + 1024 * n)", CUEMU_OUT_OF_BOUNDS, {"out + 1024"}, 0},
    {STREAM,
     "a tile not all stored",
     "i < 256; i += 64) result",
     "i < 192; i += 64) result",
     CUEMU_UNINITIALISED,
     {"out + 256", "wait_group"},
     0},
    {MULTICAST, "read before its barrier", "wait(&full, n & 1);", "", CUEMU_UNINITIALISED, {"out["}, CUEMU_RACE_SHARED},
    {MULTICAST, "only half expected", "expect(&full, 512)", "expect(&full, 256)", CUEMU_ASYNC_IN_FLIGHT, {"stage["}, 0},
    {MULTICAST, "to one block alone", "(unsigned short)3", "(unsigned short)1", CUEMU_DEADLOCK, {0}, 0, "bytes to come"},
    {MULTICAST, "to a block that is not there", "(unsigned short)3", "(unsigned short)5", CUEMU_ILLEGAL, {"stage + 64"}, 0},
    {MULTICAST,
     "brought while the other reads",
     "cluster_sync();  // read",
     "__syncthreads();  // read",
     CUEMU_ASYNC_IN_FLIGHT,
     {"stage["},
     CUEMU_RACE_SHARED},
    {MULTICAST,
     "before the other's barrier is there",
     "cluster_sync();  // barriers",
     "__syncthreads();  // barriers",
     CUEMU_RACE_SHARED,
     {"stage + 64"},
     0},
    {ONCE,
     "no fence of mbarriers",
     "fence.mbarrier_init.release.cluster;",
     "",
     CUEMU_PROXY_FENCE,
     {"stage + 64"},
     CUEMU_RACE_SHARED},
    {ONCE,
     "an arrival and nobody who waits",
     "asm volatile(\"barrier.cluster.wait;\" ::: \"memory\");",
     "",
     CUEMU_RACE_SHARED,
     {"stage + 64"},
     0},
    {ONCE,
     "stored ahead of an arrival that does not order it",
     "    asm volatile(\"barrier.cluster.arrive.relaxed;\" ::: \"memory\");\n",
     "    stage[t] = in[t];\n"
     "    asm volatile(\"barrier.cluster.arrive.relaxed;\" ::: \"memory\");\n",
     CUEMU_RACE_SHARED,
     {"stage + 64"},
     0},
    {ONCE,
     "ended while a copy is on its way to it",
     "wait(&full, 0);  // both halves",
     "if (rank == 1) return; wait(&full, 0);",
     CUEMU_ASYNC_IN_FLIGHT,
     {"stage + 64"},
     CUEMU_UNINITIALISED,
     "ends while this copy"},
    {TOGETHER, "read before all sums are there", "wait(&full, 0);", "", CUEMU_ASYNC_IN_FLIGHT, {"sum[t]"}, 0},
    {TOGETHER,
     "stored while others add",
     "        out[t] = (float)sum[t];",
     "        out[t] = (float)sum[t]; sum[t ^ 1] = 0;",
     CUEMU_RACE_SHARED,
     {"sum[t ^ 1]"},
     0},
    {TOGETHER,
     "bytes of one block alone",
     "expect(&full, 1024)",
     "expect(&full, 512)",
     CUEMU_RACE_SHARED,
     {"sum[t]"},
     CUEMU_ASYNC_IN_FLIGHT},
    {ONWARD, "no proxy fence", "fence();  // what", "//", CUEMU_PROXY_FENCE, {"mapa(theirs"}, 0},
    {ONWARD,
     "echo added without a fence",
     "    fence();\n    __syncthreads();",
     "    __syncthreads();",
     CUEMU_PROXY_FENCE,
     {"address(echo)"},
     0},
    {ONWARD,
     "echo read too early",
     "wait(&back, 0);",
     "",
     CUEMU_RACE_SHARED,
     {"mapa(&echo", "echo[t] +="},
     CUEMU_UNINITIALISED},
    {ONWARD,
     "the wrong barrier",
     "\"r\"(mapa(&full, rank ^ 1))",
     "\"r\"(address(&full))",
     CUEMU_MBARRIER,
     {"mapa(theirs"},
     0,
     "not in the shared memory that the copy writes"},
    {ONWARD,
     "ended with a copy on its way",
     "cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;",
     "cp.async.bulk.commit_group;",
     CUEMU_ASYNC_IN_FLIGHT,
     {"address(echo)"},
     0,
     "ends while this copy"},
};

Test(bulk, each_broken_program_is_caught_by_the_right_checker)
{
    expect_caught(nvrtc_or_skip("emulator/bulk"), mutations, sizeof mutations / sizeof mutations[0]);
}
