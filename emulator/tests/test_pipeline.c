/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * A product as kernels for Hopper make it, from all that the emulator has of sm_90a at once: a cluster, tensor maps and multicast, a
 * ring of stages with mbarriers, wgmma and setmaxnreg. And the ways in which its pieces fail each other.
 */
#include "program.h"

static void open_device(void)
{
    open_emulator("sm_90");
    cr_assert(cu.set_option(CUEMU_BUDGET, 10000000));
}

TestSuite(pipeline, .init = open_device, .timeout = 280);

/*
 * Two blocks have 64 rows each, the second from row 32 on, of a product of 96 x 32 and 32 x 32, with the second factor by columns. One
 * warpgroup brings slices of 8 through a ring of two stages, those of the second factor half from either block to both. Two multiply,
 * each for half of the columns, and give a stage back by one thread for each block, when their product is done: what one warp has
 * waited for, its whole warpgroup has read.
 */
static const char product_text[] =
    "typedef unsigned int u32;\n"
    "typedef unsigned long long u64;\n"
    "struct __align__(64) Map { char bytes[128]; };\n"
    "static __device__ u32 address(const void *p) { return (u32)__cvta_generic_to_shared(p); }\n"
    "static __device__ void init(u64 *bar, u32 count)\n"
    "{ asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" :: \"r\"(address(bar)), \"r\"(count) : \"memory\"); }\n"
    "static __device__ void expect(u64 *bar, u32 bytes)\n"
    "{ asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" :: \"r\"(address(bar)), \"r\"(bytes) : "
    "\"memory\"); }\n"
    "static __device__ void wait(u64 *bar, u32 parity)\n"
    "{ asm volatile(\"{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra done; bra again; "
    "done:}\"\n"
    "               :: \"r\"(address(bar)), \"r\"(parity) : \"memory\"); }\n"
    "static __device__ void give_back(u64 *bar, u32 rank)\n"
    "{ asm volatile(\"{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\\n\"\n"
    "               \"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];}\" :: \"r\"(address(bar)), \"r\"(rank) : "
    "\"memory\"); }\n"
    "static __device__ void cluster_sync() { asm volatile(\"barrier.cluster.arrive; barrier.cluster.wait;\" ::: \"memory\"); "
    "}\n"
    "static __device__ u64 descriptor(const void *p) { return address(p) >> 4 | 16ull << 32 | 3ull << 62; }\n"
    "static __device__ void multiply(float (&d)[8], u64 a, u64 b)\n"
    "{ asm volatile(\"wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, "
    "1;\"\n"
    "               : \"+f\"(d[0]), \"+f\"(d[1]), \"+f\"(d[2]), \"+f\"(d[3]), \"+f\"(d[4]), \"+f\"(d[5]), \"+f\"(d[6]), "
    "\"+f\"(d[7])\n"
    "               : \"l\"(a), \"l\"(b)); }\n"
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1)\n"
    "kernel(const float *in, float *out, const __grid_constant__ Map left, const __grid_constant__ Map right)\n"
    "{\n"
    "    __shared__ __align__(256) float a[2][64][8];\n"
    "    __shared__ __align__(256) float b[2][32][8];\n"
    "    __shared__ u64 full[2], empty[2];\n"
    "    const int t = threadIdx.x, rank = blockIdx.x, group = t / 128;\n"
    "    if (t < 2) {\n"
    "        init(&full[t], 1);\n"
    "        init(&empty[t], 4);\n"
    "        asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
    "    }\n"
    "    cluster_sync();  // begin\n"
    "    if (group == 2) {\n"
    "        asm volatile(\"setmaxnreg.dec.sync.aligned.u32 40;\");\n"
    "        for (int n = 0; t == 256 && n < 4; ++n) {\n"
    "            const int s = n % 2;\n"
    "            wait(&empty[s], (n / 2 & 1) ^ 1);  // read in both blocks\n"
    "            expect(&full[s], 3072);\n"
    "            asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
    "%3}], [%4];\"\n"
    "                         :: \"r\"(address(a[s])), \"l\"(&left), \"r\"(8 * n), \"r\"(32 * rank), \"r\"(address(&full[s])) "
    ": \"memory\");\n"
    "            asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
    "\"\n"
    "                         \"[%0], [%1, {%2, %3}], [%4], %5;\"\n"
    "                         :: \"r\"(address(b[s][16 * rank])), \"l\"(&right), \"r\"(8 * n), \"r\"(16 * rank), "
    "\"r\"(address(&full[s])),\n"
    "                            \"h\"((unsigned short)3) : \"memory\");\n"
    "        }\n"
    "    } else {\n"
    "        asm volatile(\"setmaxnreg.inc.sync.aligned.u32 232;\");\n"
    "        float sum[8] = {};\n"
    "        #pragma unroll\n"
    "        for (int n = 0; n < 4; ++n) {\n"
    "            const int s = n % 2;\n"
    "            wait(&full[s], n / 2 & 1);  // it is there\n"
    "            for (float &x : sum) asm volatile(\"\" : \"+f\"(x) :: \"memory\");\n"
    "            asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
    "            multiply(sum, descriptor(a[s]), descriptor(b[s][16 * group]));\n"
    "            asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
    "            asm volatile(\"wgmma.wait_group.sync.aligned 1;\" ::: \"memory\");  // the one before\n"
    "            if (n && t % 64 == 0) give_back(&empty[s ^ 1], t / 64 % 2);\n"
    "        }\n"
    "        asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");  // the last\n"
    "        const int row = t % 128 / 32 * 16 + t % 32 / 4, col = 16 * group + t % 4 * 2;\n"
    "        for (int i = 0; i < 8; ++i) out[(64 * rank + row + i / 2 % 2 * 8) * 32 + col + i / 4 * 8 + i % 2] = sum[i];\n"
    "    }\n"
    "    cluster_sync();  // end\n"
    "}\n";

/* The swizzle of its maps, for those who break it. */
static int swizzle = 1;

typedef struct map {
    _Alignas(64) char bytes[128];
} map;

enum { OFFSET = 96 * 32 };

static float wanted_of_product(int i, const float *in)
{
    const int row = i / 32 % 64 + i / 2048 * 32, column = i % 32;
    float sum = 0;

    for (int k = 0; k < 32; k++)
        sum += in[row * 32 + k] * in[OFFSET + column * 32 + k];
    return sum;
}

static void maps_of_product(uint64_t in, uint64_t out, void **parameters)
{
    enum { F32 = 7 };
    static map left, right;
    const uint64_t extent[2][2] = {{32, 96}, {32, 32}}, stride[1] = {128};
    const unsigned box[2][2] = {{8, 64}, {8, 16}}, step[2] = {1, 1};

    (void)out;
    cr_assert(eq(int, cu.encode(&left, F32, 2, in, extent[0], stride, box[0], step, 0, swizzle, 0, 0), 0));
    cr_assert(
        eq(int, cu.encode(&right, F32, 2, in + OFFSET * sizeof(float), extent[1], stride, box[1], step, 0, swizzle, 0, 0), 0));
    parameters[0] = &left;
    parameters[1] = &right;
}

static const program programs[] = {
    {"product", product_text, "sm_90a", wanted_of_product, {2, 1, 1}, 384, 4096, .prepare = maps_of_product}};

Test(pipeline, products_are_right_and_silent)
{
    expect_right_and_silent(nvrtc_or_skip("emulator/pipeline"), programs, 1);
}

#define MULTIPLY "\"l\"(a), \"l\"(b)"
#define BRING_LEFT "\"l\"(&left)"
#define BRING_RIGHT "(unsigned short)3"

static const broken mutations[] = {
    {programs,
     "read before it is there",
     "wait(&full[s], n / 2 & 1);",
     "",
     CUEMU_ASYNC_IN_FLIGHT,
     {MULTIPLY},
     CUEMU_RACE_SHARED,
     "asynchronous copy"},
    {programs,
     "given back before it is read",
     "wait_group.sync.aligned 1;",
     "wait_group.sync.aligned 2;",
     CUEMU_ASYNC_IN_FLIGHT,
     {BRING_LEFT, BRING_RIGHT},
     0,
     "a wgmma may still read"},
    {programs,
     "given back in its own block alone",
     "t / 64 % 2);",
     "rank);",
     CUEMU_ASYNC_IN_FLIGHT,
     {BRING_RIGHT},
     0,
     "a wgmma may still read"},
    {programs,
     "bytes of its own copies alone",
     "expect(&full[s], 3072)",
     "expect(&full[s], 2560)",
     CUEMU_ASYNC_IN_FLIGHT,
     {MULTIPLY},
     0,
     "asynchronous copy"},
    {programs,
     "sums that are not waited for",
     "wgmma.wait_group.sync.aligned 0;",
     "",
     CUEMU_ASYNC_IN_FLIGHT,
     {"out["},
     0,
     "reads a sum"},
    {programs,
     "no fence before the first product",
     "wgmma.fence.sync.aligned;",
     "",
     CUEMU_ASYNC_IN_FLIGHT,
     {MULTIPLY},
     0,
     "no wgmma.fence"},
    {programs,
     "changed by a thread",
     "// it is there",
     "if (t == 0) b[s][0][0] *= 2; asm volatile(\"bar.sync 1, 256;\" ::: \"memory\");",
     CUEMU_PROXY_FENCE,
     {MULTIPLY},
     0},
    {programs,
     "more registers than there are",
     "u32 232",
     "u32 240",
     CUEMU_DEADLOCK,
     {"setmaxnreg.inc"},
     0,
     "waits for registers"},
    {programs,
     "registers that nobody gives back",
     "setmaxnreg.dec.sync.aligned.u32 40;",
     "",
     CUEMU_DEADLOCK,
     {"setmaxnreg.inc"},
     0,
     "waits for registers"},
    {programs,
     "a warp that has left",
     "float sum[8] = {};",
     "float sum[8] = {}; if (t / 32 == 1) return;",
     CUEMU_DEADLOCK,
     {0},
     0,
     "which has returned"},
    {programs,
     "ended while the other gives back",
     "cluster_sync();  // end",
     "",
     CUEMU_OUT_OF_BOUNDS,
     {0},
     CUEMU_RACE_SHARED,
     "which has ended"},
};

Test(pipeline, each_broken_program_is_caught_by_the_right_checker)
{
    expect_caught(nvrtc_or_skip("emulator/pipeline"), mutations, sizeof mutations / sizeof mutations[0]);
}

/* Tiles come by one swizzle and are read by another. */
Test(pipeline, another_swizzle_is_found)
{
    char *ptx = compile_text(nvrtc_or_skip("emulator/pipeline"), product_text, "sm_90a", "another swizzle");

    for (swizzle = 0; swizzle <= 3; swizzle++) {
        static const char *const says[] = {"as swizzled in 32 bytes, where a copy of a tile that is not swizzled", NULL,
                                           "a tile that is swizzled in 64 bytes", "a tile that is swizzled in 128 bytes"};
        const answer *a = run_program(programs, ptx);
        cr_assert(eq(int, a->result != 0, swizzle != 1), "%d", swizzle);
        cr_expect(swizzle == 1 || (a->found.first[0].kind == CUEMU_SWIZZLE && strstr(a->found.first[0].text, says[swizzle])),
                  "%s", a->found.first[0].text);
    }
    swizzle = 1;
    free(ptx);
}
