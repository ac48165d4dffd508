/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Tensor memory as kernels for sm_100a use it: a ring of tiles, one thread that multiplies by tcgen05.mma, warps that load the sums,
 * and the ways in which these pieces fail each other. test_tcgen05.c has the instructions one by one.
 */
#include "program.h"

static void open_device(void)
{
    open_emulator("sm_100");
    cr_assert(cu.set_option(CUEMU_BUDGET, 10000000));
}

TestSuite(tensor_memory, .init = open_device, .timeout = 280);

#define HELPERS                                                                                                                \
    "typedef unsigned int u32;\n"                                                                                              \
    "typedef unsigned long long u64;\n"                                                                                        \
    "struct __align__(64) Map { char bytes[128]; };\n"                                                                         \
    "static __device__ u32 address(const void *p) { return (u32)__cvta_generic_to_shared(p); }\n"                              \
    "static __device__ void init(u64 *bar, u32 count)\n"                                                                       \
    "{ asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" :: \"r\"(address(bar)), \"r\"(count) : \"memory\"); }\n"       \
    "static __device__ void expect(u64 *bar, u32 bytes)\n"                                                                     \
    "{ asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" :: \"r\"(address(bar)), \"r\"(bytes) : "        \
    "\"memory\"); }\n"                                                                                                         \
    "static __device__ void arrive(u64 *bar)\n"                                                                                \
    "{ asm volatile(\"mbarrier.arrive.shared::cta.b64 _, [%0];\" :: \"r\"(address(bar)) : \"memory\"); }\n"                    \
    "static __device__ void wait(u64 *bar, u32 parity)\n"                                                                      \
    "{ asm volatile(\"{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra done; bra again; "    \
    "done:}\"\n"                                                                                                               \
    "               :: \"r\"(address(bar)), \"r\"(parity) : \"memory\"); }\n"                                                  \
    "static __device__ void bring(void *to, const Map *map, int x, int y, u64 *bar)\n"                                         \
    "{ asm volatile(\"cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\"\n" \
    "               :: \"r\"(address(to)), \"l\"(map), \"r\"(x), \"r\"(y), \"r\"(address(bar)) : \"memory\"); }\n"             \
    "static __device__ void before() { asm volatile(\"tcgen05.fence::before_thread_sync;\" ::: \"memory\"); }\n"               \
    "static __device__ void after() { asm volatile(\"tcgen05.fence::after_thread_sync;\" ::: \"memory\"); }\n"                 \
    "static __device__ u64 descriptor(const void *p) { return address(p) >> 4 | 16ull << 32 | 1ull << 46 | 6ull << 61; }\n"    \
    "static __device__ void multiply(u32 d, u64 a, u64 b, u32 how, int adds)\n"                                                \
    "{ asm volatile(\"{.reg .pred p; setp.ne.b32 p, %4, 0;\\n\"\n"                                                             \
    "               \"tcgen05.mma.cta_group::1.kind::tf32 [%0], %1, %2, %3, p;}\"\n"                                           \
    "               :: \"r\"(d), \"l\"(a), \"l\"(b), \"r\"(how), \"r\"(adds) : \"memory\"); }\n"                               \
    "static __device__ void commit(u64 *bar)\n"                                                                                \
    "{ asm volatile(\"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];\"\n"                         \
    "               :: \"r\"(address(bar)) : \"memory\"); }\n"

/*
 * Two tiles of 128 x 16 of a product of 128 x 32 and 32 x 32, the second factor by columns, with one set of sums. Warp 4 brings slices
 * of 8 through a ring of two stages, warp 5 multiplies, and warps 0 to 3 store the sums.
 */
static const char product_text[] = HELPERS
    "extern \"C\" __global__ void __launch_bounds__(192, 1)\n"
    "kernel(const float *in, float *out, const __grid_constant__ Map left, const __grid_constant__ Map right)\n"
    "{\n"
    "    __shared__ __align__(1024) float a[2][128][8];\n"
    "    __shared__ __align__(1024) float b[2][16][8];\n"
    "    __shared__ u64 full[2], empty[2], ready, taken;\n"
    "    __shared__ u32 place;\n"
    "    const int t = threadIdx.x, warp = t / 32;\n"
    "    const u32 how = 1 << 4 | 2 << 7 | 2 << 10 | 16 / 8 << 17 | 128 / 16 << 24;\n"
    "    if (t == 0) {\n"
    "        for (int s = 0; s < 2; ++s) { init(&full[s], 1); init(&empty[s], 1); }\n"
    "        init(&ready, 1);\n"
    "        init(&taken, 128);\n"
    "        asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
    "    }\n"
    "    if (warp == 5) {\n"
    "        asm volatile(\"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;\" :: \"r\"(address(&place)), "
    "\"r\"(32) : \"memory\");\n"
    "        asm volatile(\"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\");\n"
    "    }\n"
    "    __syncthreads();\n"
    "    const u32 d = place;\n"
    "    if (t == 128) {\n"
    "        for (int n = 0; n < 8; ++n) {\n"
    "            const int s = n % 2;\n"
    "            wait(&empty[s], (n / 2 & 1) ^ 1);  // multiplied\n"
    "            expect(&full[s], 4096 + 512);\n"
    "            bring(a[s], &left, n % 4 * 8, 0, &full[s]);\n"
    "            bring(b[s], &right, n % 4 * 8, n / 4 * 16, &full[s]);\n"
    "        }\n"
    "    } else if (t == 160) {\n"
    "        for (int n = 0; n < 8; ++n) {\n"
    "            const int s = n % 2;\n"
    "            if (n == 4) { wait(&taken, 0); after(); }  // the sums are free\n"
    "            wait(&full[s], n / 2 & 1);  // it is there\n"
    "            multiply(d, descriptor(a[s]), descriptor(b[s]), how, n % 4 != 0);\n"
    "            commit(&empty[s]);  // its stage\n"
    "            if (n % 4 == 3) commit(&ready);  // the tile\n"
    "        }\n"
    "    } else if (warp < 4) {\n"
    "        for (int tile = 0; tile < 2; ++tile) {\n"
    "            u32 r[16];\n"
    "            wait(&ready, tile); after();  // the sums are there\n"
    "            asm volatile(\"tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
    "%13, %14, %15}, [%16];\"\n"
    "                         : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3]), \"=r\"(r[4]), \"=r\"(r[5]), "
    "\"=r\"(r[6]), \"=r\"(r[7]),\n"
    "                           \"=r\"(r[8]), \"=r\"(r[9]), \"=r\"(r[10]), \"=r\"(r[11]), \"=r\"(r[12]), \"=r\"(r[13]), "
    "\"=r\"(r[14]), \"=r\"(r[15])\n"
    "                         : \"r\"(d + (warp * 32 << 16)) : \"memory\");\n"
    "            asm volatile(\"tcgen05.wait::ld.sync.aligned;\" ::: \"memory\");\n"
    "            before(); arrive(&taken);  // and read\n"
    "            for (int i = 0; i < 16; ++i) out[t * 32 + tile * 16 + i] = __uint_as_float(r[i]);\n"
    "        }\n"
    "    }\n"
    "    __syncthreads();  // all is done\n"
    "    if (warp == 5)\n"
    "        asm volatile(\"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;\" :: \"r\"(d), \"r\"(32));\n"
    "}\n";

/*
 * Twice a product of 256 x 16 and 16 x 16, the second factor by columns, by a pair of blocks. Each brings its 128 rows of the first and
 * 8 columns of the second factor, in slices of 8, and has 128 rows of the sums; the first block's thread multiplies for both.
 */
static const char pair_text[] = HELPERS
    "static __device__ void cluster_sync() { asm volatile(\"barrier.cluster.arrive; barrier.cluster.wait;\" ::: \"memory\"); "
    "}\n"
    "static __device__ void bring_for_both(void *to, const Map *map, int x, int y, u64 *bar)\n"
    "{ asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2 [%0], [%1, {%2, "
    "%3}], [%4];\"\n"
    "               :: \"r\"(address(to)), \"l\"(map), \"r\"(x), \"r\"(y), \"r\"(address(bar) & 0xfeffffff) : \"memory\"); }\n"
    "static __device__ void multiply_both(u32 d, u64 a, u64 b, u32 how, int adds)\n"
    "{ asm volatile(\"{.reg .pred p; setp.ne.b32 p, %4, 0;\\n\"\n"
    "               \"tcgen05.mma.cta_group::2.kind::tf32 [%0], %1, %2, %3, p;}\"\n"
    "               :: \"r\"(d), \"l\"(a), \"l\"(b), \"r\"(how), \"r\"(adds) : \"memory\"); }\n"
    "static __device__ void commit_to(u64 *bar, int blocks)\n"
    "{ asm volatile(\"tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;\"\n"
    "               :: \"r\"(address(bar)), \"h\"((unsigned short)blocks) : \"memory\"); }\n"
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(192, 1)\n"
    "kernel(const float *in, float *out, const __grid_constant__ Map left, const __grid_constant__ Map right)\n"
    "{\n"
    "    __shared__ __align__(1024) float a[2][128][8];\n"
    "    __shared__ __align__(1024) float b[2][8][8];\n"
    "    __shared__ u64 full[2], empty[2], ready;\n"
    "    __shared__ u32 place;\n"
    "    const int t = threadIdx.x, warp = t / 32, rank = blockIdx.x;\n"
    "    const u32 how = 1 << 4 | 2 << 7 | 2 << 10 | 16 / 8 << 17 | 256 / 16 << 24;\n"
    "    if (t == 0) {\n"
    "        for (int s = 0; s < 2; ++s) { init(&full[s], 1); init(&empty[s], 1); }\n"
    "        init(&ready, 1);\n"
    "        asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
    "    }\n"
    "    if (warp == 5)\n"
    "        asm volatile(\"tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;\" :: \"r\"(address(&place)), "
    "\"r\"(32) : \"memory\");\n"
    "    cluster_sync();  // begin\n"
    "    const u32 d = place;\n"
    "    if (t == 128) {\n"
    "        for (int n = 0; n < 4; ++n) {\n"
    "            const int s = n % 2;\n"
    "            wait(&empty[s], (n / 2 & 1) ^ 1);  // multiplied\n"
    "            if (rank == 0) expect(&full[s], 2 * (4096 + 256));\n"
    "            bring_for_both(a[s], &left, n % 2 * 8, rank * 128, &full[s]);\n"
    "            bring_for_both(b[s], &right, n % 2 * 8, rank * 8, &full[s]);\n"
    "        }\n"
    "    } else if (t == 160 && rank == 0) {\n"
    "        for (int n = 0; n < 4; ++n) {\n"
    "            const int s = n % 2;\n"
    "            wait(&full[s], n / 2 & 1);  // it is there\n"
    "            multiply_both(d, descriptor(a[s]), descriptor(b[s]), how, n != 0);\n"
    "            if (n < 2) commit_to(&empty[s], 3);  // its stage\n"
    "        }\n"
    "        commit_to(&ready, 3);  // the sums\n"
    "    } else if (warp < 4) {\n"
    "        u32 r[16];\n"
    "        wait(&ready, 0); after();  // the sums are there\n"
    "        asm volatile(\"tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
    "%13, %14, %15}, [%16];\"\n"
    "                     : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3]), \"=r\"(r[4]), \"=r\"(r[5]), \"=r\"(r[6]), "
    "\"=r\"(r[7]),\n"
    "                       \"=r\"(r[8]), \"=r\"(r[9]), \"=r\"(r[10]), \"=r\"(r[11]), \"=r\"(r[12]), \"=r\"(r[13]), "
    "\"=r\"(r[14]), \"=r\"(r[15])\n"
    "                     : \"r\"(d + (warp * 32 << 16)) : \"memory\");\n"
    "        asm volatile(\"tcgen05.wait::ld.sync.aligned;\" ::: \"memory\");\n"
    "        for (int i = 0; i < 16; ++i) out[(128 * rank + t) * 16 + i] = __uint_as_float(r[i]);\n"
    "    }\n"
    "    before();\n"
    "    asm volatile(\"barrier.cluster.arrive.relaxed; barrier.cluster.wait;\" ::: \"memory\");  // end\n"
    "    if (warp == 5)\n"
    "        asm volatile(\"tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;\" :: \"r\"(d), \"r\"(32));\n"
    "}\n";

typedef struct map {
    _Alignas(64) char bytes[128];
} map;

static int swizzle = 1; /* of the maps, for those who break it */

static float wanted_of_product(int i, const float *in)
{
    float sum = 0;

    for (int k = 0; k < 32; k++)
        sum += in[i / 32 * 32 + k] * in[i % 32 * 32 + k];
    return sum;
}

static void maps_of_product(uint64_t in, uint64_t out, void **parameters)
{
    enum { F32 = 7 };
    static map left, right;
    const uint64_t extent[2] = {32, 128}, stride[1] = {128};
    const unsigned box[2][2] = {{8, 128}, {8, 16}}, step[2] = {1, 1};

    (void)out;
    cr_assert(eq(int, cu.encode(&left, F32, 2, in, extent, stride, box[0], step, 0, swizzle, 0, 0), 0));
    cr_assert(eq(int, cu.encode(&right, F32, 2, in, extent, stride, box[1], step, 0, swizzle, 0, 0), 0));
    parameters[0] = &left;
    parameters[1] = &right;
}

static float wanted_of_pair(int i, const float *in)
{
    float sum = 0;

    for (int k = 0; k < 16; k++)
        sum += 2 * in[i / 16 * 16 + k] * in[i % 16 * 16 + k];
    return sum;
}

static void maps_of_pair(uint64_t in, uint64_t out, void **parameters)
{
    enum { F32 = 7 };
    static map left, right;
    const uint64_t extent[2] = {16, 256}, stride[1] = {64};
    const unsigned box[2][2] = {{8, 128}, {8, 8}}, step[2] = {1, 1};

    (void)out;
    cr_assert(eq(int, cu.encode(&left, F32, 2, in, extent, stride, box[0], step, 0, 1, 0, 0), 0));
    cr_assert(eq(int, cu.encode(&right, F32, 2, in, extent, stride, box[1], step, 0, 1, 0, 0), 0));
    parameters[0] = &left;
    parameters[1] = &right;
}

static const program programs[] = {
    {"product", product_text, "sm_100a", wanted_of_product, {1, 1, 1}, 192, 4096, .prepare = maps_of_product},
    {"product of a pair", pair_text, "sm_100a", wanted_of_pair, {2, 1, 1}, 192, 4096, .prepare = maps_of_pair}};

#define PAIR (programs + 1)

Test(tensor_memory, products_are_right_and_silent)
{
    expect_right_and_silent(nvrtc_or_skip("emulator/tensor_memory"), programs, 2);
}

#define MULTIPLY "tcgen05.mma", "\"r\"(how), \"r\"(adds)"
#define LOAD "tcgen05.ld", "\"r\"(d + "

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
     "a stage given back by a thread",
     "commit(&empty[s]);",
     "arrive(&empty[s]);",
     CUEMU_ASYNC_IN_FLIGHT,
     {"cp.async.bulk", "address(to)"},
     0,
     "no wait for a tcgen05.commit"},
    {programs,
     "loaded before the commit",
     "wait(&ready, tile); after();",
     "after();",
     CUEMU_ASYNC_IN_FLIGHT,
     {MULTIPLY},
     CUEMU_UNINITIALISED,
     "no barrier comes between"},
    {programs,
     "loaded after an arrival that is no commit",
     "commit(&ready);",
     "arrive(&ready);",
     CUEMU_ASYNC_IN_FLIGHT,
     {LOAD},
     0,
     "no tcgen05.commit of it was waited for"},
    {programs,
     "no fence after the wait",
     "wait(&ready, tile); after();",
     "wait(&ready, tile);",
     CUEMU_TENSOR_FENCE,
     {LOAD},
     0,
     "no tcgen05.fence::after_thread_sync"},
    {programs,
     "used before the loads are waited for",
     "tcgen05.wait::ld.sync.aligned;",
     "",
     CUEMU_ASYNC_IN_FLIGHT,
     {"out[t"},
     0,
     "before a tcgen05.wait::ld"},
    {programs,
     "sums not waited for",
     "wait(&taken, 0); after();",
     "",
     CUEMU_ASYNC_IN_FLIGHT,
     {MULTIPLY},
     0,
     "no barrier comes between"},
    {programs,
     "no fence after the sums are free",
     "wait(&taken, 0); after();",
     "wait(&taken, 0);",
     CUEMU_TENSOR_FENCE,
     {MULTIPLY},
     0,
     "no tcgen05.fence::after_thread_sync"},
    {programs,
     "no fence before the sums are free",
     "before(); arrive(&taken);",
     "arrive(&taken);",
     CUEMU_TENSOR_FENCE,
     {MULTIPLY},
     0,
     "tcgen05.fence::before_thread_sync"},
    {programs,
     "lanes of another warp",
     "(warp * 32 << 16)",
     "((warp ^ 1) * 32 << 16)",
     CUEMU_TENSOR_MEMORY,
     {LOAD},
     0,
     "warp 0 has lanes 0 to 31"},
    {programs,
     "columns that are not allocated",
     "(warp * 32 << 16)",
     "(warp * 32 << 16) + 24",
     CUEMU_TENSOR_MEMORY,
     {LOAD},
     0,
     "column 32 is not allocated"},
    {programs,
     "freed twice",
     "if (warp == 5)\n        asm volatile(\"tcgen05.dealloc",
     "if (warp >= 4)\n        asm volatile(\"tcgen05.dealloc",
     CUEMU_TENSOR_MEMORY,
     {"tcgen05.dealloc"},
     0,
     "was freed at line"},
    {programs,
     "never freed",
     "if (warp == 5)\n        asm volatile(\"tcgen05.dealloc",
     "if (warp == 6)\n        asm volatile(\"tcgen05.dealloc",
     CUEMU_TENSOR_MEMORY,
     {"tcgen05.alloc"},
     0,
     "has not freed these 32 columns"},
    {programs,
     "freed in part",
     "\"r\"(d), \"r\"(32)",
     "\"r\"(d), \"r\"(64)",
     CUEMU_TENSOR_MEMORY,
     {"tcgen05.dealloc"},
     0,
     "not allocated"},
    {programs,
     "freed before it is read",
     "__syncthreads();  // all is done",
     "",
     CUEMU_ASYNC_IN_FLIGHT,
     {"tcgen05.dealloc"},
     0,
     "may still access"},
    {programs,
     "a number of columns that is no power of two",
     "\"r\"(32) : \"memory\"",
     "\"r\"(48) : \"memory\"",
     CUEMU_ILLEGAL,
     {"tcgen05.alloc"},
     0,
     "48 columns"},
    {programs,
     "allocated after the permit was given back",
     "asm volatile(\"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\");",
     "asm volatile(\"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\"); asm "
     "volatile(\"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;\" :: \"r\"(address(&place)), \"r\"(32));",
     CUEMU_TENSOR_MEMORY,
     {"relinquish"},
     0,
     "has relinquished"},
    {programs,
     "more columns than there are",
     "asm volatile(\"tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\");",
     "asm volatile(\"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;\" :: \"r\"(address(&place)), "
     "\"r\"(512));",
     CUEMU_DEADLOCK,
     {"__syncthreads"},
     0,
     "no warp can go on"},
    {programs,
     "instructions of one block and of two",
     "tcgen05.relinquish_alloc_permit.cta_group::1",
     "tcgen05.relinquish_alloc_permit.cta_group::2",
     CUEMU_ILLEGAL,
     {"relinquish"},
     0,
     "cta_group::2"},
    {programs, "sums never written", "n % 4 != 0", "1", CUEMU_UNINITIALISED, {MULTIPLY}, 0, "adds to what was never written"},
    {programs, "M of no product", "128 / 16 << 24", "32 / 16 << 24", CUEMU_ILLEGAL, {MULTIPLY}, 0, "M = 32"},
    {programs,
     "types of another kind",
     "2 << 7 | 2 << 10",
     "1 << 7 | 1 << 10",
     CUEMU_ILLEGAL,
     {MULTIPLY},
     0,
     "types of A and B"},
    {programs,
     "stored by a thread without a proxy fence",
     "// it is there",
     "a[s][0][0] *= 2;",
     CUEMU_PROXY_FENCE,
     {MULTIPLY},
     0},
    {PAIR,
     "a stage given back in one block alone",
     "commit_to(&empty[s], 3);",
     "commit_to(&empty[s], 1);",
     CUEMU_DEADLOCK,
     {0},
     0,
     "arrivals missing"},
    {PAIR,
     "sums committed in one block alone",
     "commit_to(&ready, 3);",
     "commit_to(&ready, 1);",
     CUEMU_DEADLOCK,
     {0},
     0,
     "arrivals missing"},
    {PAIR,
     "a stage filled before both have read it",
     "wait(&empty[s], (n / 2 & 1) ^ 1);",
     "if (rank == 0) wait(&empty[s], (n / 2 & 1) ^ 1);",
     CUEMU_ASYNC_IN_FLIGHT,
     {"cp.async.bulk", "address(to)", "address(bar)"},
     CUEMU_RACE_SHARED,
     0},
    {PAIR,
     "one block alone allocates",
     "if (warp == 5)\n        asm volatile(\"tcgen05.alloc",
     "if (warp == 5 && rank == 0)\n        asm volatile(\"tcgen05.alloc",
     CUEMU_DEADLOCK,
     {0},
     0,
     "no warp can go on"},
    {PAIR,
     "other numbers of columns",
     "\"r\"(32) : \"memory\"",
     "\"r\"(32 << rank) : \"memory\"",
     CUEMU_ILLEGAL,
     {"tcgen05.alloc"},
     0,
     "the other block of the pair asks for"},
    {PAIR,
     "no fence after the wait of the second block",
     "wait(&ready, 0); after();",
     "wait(&ready, 0); if (rank == 0) after();",
     CUEMU_TENSOR_FENCE,
     {LOAD},
     0,
     "no tcgen05.fence::after_thread_sync"},
    {PAIR,
     "ended before the sums come",
     "barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
     "",
     CUEMU_TENSOR_MEMORY,
     {MULTIPLY},
     0,
     "was freed at line"},
    {PAIR,
     "no fence before the last barrier",
     "    before();\n    asm",
     "    asm",
     CUEMU_ASYNC_IN_FLIGHT,
     {"tcgen05.dealloc"},
     0,
     "which a tcgen05.ld of warp"},
    {PAIR, "no pair", "__cluster_dims__(2, 1, 1)", "__cluster_dims__(1, 1, 1)", CUEMU_DEADLOCK, {0}, 0, "no warp can go on"},
};

Test(tensor_memory, each_broken_program_is_caught_by_the_right_checker)
{
    expect_caught(nvrtc_or_skip("emulator/tensor_memory"), mutations, sizeof mutations / sizeof mutations[0]);
}

/* Tiles come by one swizzle and are read by another. */
Test(tensor_memory, another_swizzle_is_found)
{
    char *ptx = compile_text(nvrtc_or_skip("emulator/tensor_memory"), product_text, "sm_100a", "another swizzle");

    for (swizzle = 0; swizzle <= 4; swizzle++) {
        static const char *const says[] = {"as swizzled in 32 bytes, where a copy of a tile that is not swizzled", NULL,
                                           "a tile that is swizzled in 64 bytes", "a tile that is swizzled in 128 bytes has",
                                           "a tile that is swizzled in 128 bytes by 32 has"};
        const answer *a = run_program(programs, ptx);
        cr_assert(eq(int, a->result != 0, swizzle != 1), "%d", swizzle);
        cr_expect(swizzle == 1 || (a->found.first[0].kind == CUEMU_SWIZZLE && strstr(a->found.first[0].text, says[swizzle])),
                  "%s", a->found.first[0].text);
    }
    swizzle = 1;
    free(ptx);
}
