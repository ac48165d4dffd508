/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Blocks that run at once: clusters with distributed shared memory, cooperative launches, and the ways in which programs get them
 * wrong. Kernels are compiled by NVRTC; each must be right and silent under every schedule, and each broken one caught.
 */
#include "program.h"

enum { TOO_LARGE = 720, BAD_CLUSTER = 912, NOT_SUPPORTED = 801 };

static void open_device(void)
{
    open_emulator("sm_90");
    cr_assert(cu.set_option(CUEMU_BUDGET, 10000000));
}

TestSuite(cluster, .init = open_device, .timeout = 280);

/* ---- registers, without NVRTC ------------------------------------------------------------------------------------------ */

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define ENTRY(attributes)                                                                         \
    ".visible .entry kernel(.param .u64 out)\n" attributes                                        \
    "{\n.reg .pred %p<4>;\n.reg .b32 %r<40>;\n.reg .b64 %d<8>;\n.shared .align 8 .b32 cell[4];\n" \
    "ld.param.u64 %d1, [out];\n"

/* Registers of a grid of 4 x 4 x 2 in clusters of 2 x 2 x 1; each block writes 16 words. */
#define REGISTERS                                                                                                       \
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ctaid.y;\nmov.u32 %r3, %ctaid.z;\nmad.lo.u32 %r4, %r3, 4, %r2;\n"            \
    "mad.lo.u32 %r4, %r4, 4, %r1;\nmul.wide.u32 %d2, %r4, 64;\nadd.u64 %d1, %d1, %d2;\n"                                \
    "mov.u32 %r5, %clusterid.x;\nmov.u32 %r6, %clusterid.y;\nmov.u32 %r7, %clusterid.z;\nmov.u32 %r8, %nclusterid.x;\n" \
    "mov.u32 %r9, %nclusterid.y;\nmov.u32 %r10, %nclusterid.z;\nmov.u32 %r11, %cluster_ctaid.x;\n"                      \
    "mov.u32 %r12, %cluster_ctaid.y;\nmov.u32 %r13, %cluster_ctaid.z;\nmov.u32 %r14, %cluster_nctaid.x;\n"              \
    "mov.u32 %r15, %cluster_nctaid.y;\nmov.u32 %r16, %cluster_nctaid.z;\nmov.u32 %r17, %cluster_ctarank;\n"             \
    "mov.u32 %r18, %cluster_nctarank;\nmov.pred %p1, %is_explicit_cluster;\nselp.u32 %r19, 1, 0, %p1;\n"                \
    "st.global.v4.u32 [%d1], {%r5, %r6, %r7, %r8};\nst.global.v4.u32 [%d1+16], {%r9, %r10, %r11, %r12};\n"              \
    "st.global.v4.u32 [%d1+32], {%r13, %r14, %r15, %r16};\nst.global.v2.u32 [%d1+48], {%r17, %r18};\n"                  \
    "st.global.u32 [%d1+56], %r19;\nret;\n}\n"

static void expect_registers(const char *ptx, const unsigned cluster[3], const unsigned size[3], bool is_explicit)
{
    static uint32_t words[32][16];
    const unsigned grid[3] = {4, 4, 2};
    uint64_t out = device_memory(sizeof words, NULL);
    void *module, *function = function_of(ptx, &module), *parameters[] = {&out};

    cr_assert(eq(int, launch_as(function, grid, 1, cluster, false, parameters), 0));
    cr_assert(eq(int, cu.read(words, out, sizeof words), 0));
    for (unsigned z = 0; z < 2; z++)
        for (unsigned y = 0; y < 4; y++)
            for (unsigned x = 0; x < 4; x++) {
                const uint32_t *is = words[(z * 4 + y) * 4 + x];
                const uint32_t in[3] = {x % size[0], y % size[1], z % size[2]};
                const uint32_t wanted[15] = {x / size[0],
                                             y / size[1],
                                             z / size[2],
                                             4 / size[0],
                                             4 / size[1],
                                             2 / size[2],
                                             in[0],
                                             in[1],
                                             in[2],
                                             size[0],
                                             size[1],
                                             size[2],
                                             (in[2] * size[1] + in[1]) * size[0] + in[0],
                                             size[0] * size[1] * size[2],
                                             is_explicit};
                for (int i = 0; i < 15; i++)
                    cr_expect(eq(u32, is[i], wanted[i]), "block (%u, %u, %u), word %d", x, y, z, i);
            }
    cr_expect(eq(sz, cu.finding_count(), 0));
    cu.unload(module);
    cu.free(out);
}

Test(cluster, registers_say_where_a_block_is)
{
    const unsigned none[3] = {0}, one[3] = {1, 1, 1}, square[3] = {2, 2, 1}, deep[3] = {1, 4, 2};

    expect_registers(HEAD ENTRY("") REGISTERS, none, one, false);
    expect_registers(HEAD ENTRY("") REGISTERS, square, square, true);
    expect_registers(HEAD ENTRY("") REGISTERS, deep, deep, true);
    expect_registers(HEAD ENTRY(".reqnctapercluster 2, 2, 1\n") REGISTERS, none, square, true);
    expect_registers(HEAD ENTRY(".explicitcluster\n.reqnctapercluster 1, 4, 2\n") REGISTERS, deep, deep, true);
}

Test(cluster, registers_need_a_target_that_has_them)
{
    char log[512];
    void *function = NULL, *module;

    module = load_ptx(".version 8.0\n.target sm_89\n.address_size 64\n" ENTRY("") "mov.u32 %r1, %cluster_ctarank;\nret;\n}\n",
                      log, sizeof log);
    cr_assert(ne(ptr, module, NULL));
    cr_expect(eq(int, cu.function(&function, module, "kernel"), NOT_SUPPORTED));
}

Test(cluster, wrong_clusters_are_refused)
{
    static const struct {
        const char *attributes;
        unsigned grid[3], cluster[3];
        int result;
    } rows[] = {{"", {8, 1, 1}, {8, 1, 1}, 0},
                {"", {8, 1, 1}, {3, 1, 1}, BAD_CLUSTER},   /* no whole number of clusters */
                {"", {16, 1, 1}, {16, 1, 1}, BAD_CLUSTER}, /* not allowed for this function */
                {"", {32, 1, 1}, {32, 1, 1}, BAD_CLUSTER},
                {"", {8, 1, 1}, {2, 0, 1}, BAD_CLUSTER},
                {".reqnctapercluster 2\n", {8, 1, 1}, {2, 1, 1}, 0},
                {".reqnctapercluster 2\n", {8, 1, 1}, {4, 1, 1}, BAD_CLUSTER},
                {".reqnctapercluster 2\n", {7, 1, 1}, {0, 0, 0}, BAD_CLUSTER},
                {".explicitcluster\n", {8, 1, 1}, {0, 0, 0}, BAD_CLUSTER},
                {".maxclusterrank 2\n", {8, 1, 1}, {4, 1, 1}, BAD_CLUSTER},
                {".reqnctapercluster 2, 0, 1\n", {8, 1, 1}, {0, 0, 0}, BAD_CLUSTER},
                {".reqnctapercluster 4294967295, 2\n", {8, 1, 1}, {0, 0, 0}, BAD_CLUSTER},
                {".blocksareclusters\n.reqnctapercluster 2\n", {3, 1, 1}, {0, 0, 0}, 0},
                {".blocksareclusters\n.reqnctapercluster 2\n", {2000000000, 1, 1}, {0, 0, 0}, 1}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1024];
        uint64_t out = 0;
        void *module, *function, *parameters[] = {&out};
        snprintf(text, sizeof text, HEAD ".visible .entry kernel(.param .u64 out)\n%s{\nret;\n}\n", rows[i].attributes);
        function = function_of(text, &module);
        cr_expect(eq(int, launch_as(function, rows[i].grid, 32, rows[i].cluster, false, parameters), rows[i].result), "row %zu",
                  i);
    }
}

Test(cluster, sixteen_blocks_must_be_allowed)
{
    const unsigned grid[3] = {16, 1, 1};
    uint64_t out = 0;
    void *module, *function, *parameters[] = {&out};

    function = function_of(
        HEAD ".visible .entry kernel(.param .u64 out)\n{\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nret;\n}\n", &module);
    cr_assert(eq(int, cu.set_attribute(function, 14, 1), 0));
    cr_expect(eq(int, launch_as(function, grid, 64, grid, false, parameters), 0));
}

Test(cluster, a_cooperative_launch_must_fit)
{
    const unsigned fits[3] = {132 * 2, 1, 1}, none[3] = {0};
    unsigned larger[3] = {132 * 2 + 1, 1, 1};
    uint64_t out = 0;
    void *module, *function, *parameters[] = {&out};

    function = function_of(HEAD ".visible .entry kernel(.param .u64 out)\n{\nret;\n}\n", &module);
    cr_expect(eq(int, launch_as(function, fits, 1024, none, true, parameters), 0));
    cr_expect(eq(int, launch_as(function, larger, 1024, none, true, parameters), TOO_LARGE));
}

/* ---- programs ---------------------------------------------------------------------------------------------------------- */

#define PRELUDE                                                                                                               \
    "typedef unsigned int u32;\n"                                                                                             \
    "static __device__ u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }\n"                      \
    "static __device__ u32 cluster_rank() { u32 r; asm volatile(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(r)); return r; "  \
    "}\n"                                                                                                                     \
    "static __device__ u32 mapa(u32 a, u32 rank) { u32 r; asm volatile(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(r) " \
    ": "                                                                                                                      \
    "\"r\"(a), \"r\"(rank)); return r; }\n"                                                                                   \
    "static __device__ void arrive() { asm volatile(\"barrier.cluster.arrive.release.aligned;\" ::: \"memory\"); }\n"         \
    "static __device__ void wait() { asm volatile(\"barrier.cluster.wait.acquire.aligned;\" ::: \"memory\"); }\n"

/* Each block sums its part; each reads what the others found. */
static const char reduction[] = PRELUDE
    "extern \"C\" __global__ void __cluster_dims__(4, 1, 1) kernel(const float *in, float *out)\n"
    "{\n"
    "    __shared__ float part[64], sum[2];\n"
    "    const int t = threadIdx.x;\n"
    "    part[t] = in[blockIdx.x * 64 + t];\n"
    "    __syncthreads();\n"
    "    for (int n = 32; n > 0; n /= 2) {\n"
    "        if (t < n) part[t] += part[t + n];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    if (t == 0) sum[1] = part[0];\n"
    "    arrive();\n"
    "    wait();  // all sums are there\n"
    "    float total = 0;\n"
    "    for (u32 b = 0; b < 4; ++b) {\n"
    "        float one;\n"
    "        asm volatile(\"ld.shared::cluster.f32 %0, [%1];\" : \"=f\"(one) : \"r\"(mapa(shared_address(&sum[1]), b)));\n"
    "        total += one;\n"
    "    }\n"
    "    out[blockIdx.x * 64 + t] = total;\n"
    "    arrive();\n"
    "    wait();  // nobody reads any more\n"
    "}\n";

static float wanted_of_reduction(int i, const float *in)
{
    float sum = 0;

    for (int n = 0; n < 256; n++)
        sum += in[i / 256 * 256 + n];
    return sum;
}

/* Counts of all blocks are kept by the first, at generic addresses. */
static const char histogram[] = PRELUDE
    "extern \"C\" __global__ void __cluster_dims__(2, 2, 1) kernel(const float *in, float *out)\n"
    "{\n"
    "    __shared__ u32 bin[8];\n"
    "    const int t = threadIdx.x, block = blockIdx.y * 2 + blockIdx.x;\n"
    "    const u32 rank = cluster_rank();\n"
    "    if (t < 8) bin[t] = 0;\n"
    "    arrive();\n"
    "    wait();  // bins are cleared\n"
    "    u32 *first;\n"
    "    asm volatile(\"mapa.u64 %0, %1, %2;\" : \"=l\"(first) : \"l\"(bin), \"r\"(0));\n"
    "    atomicAdd(first + (int)in[block * 64 + t], 1u);\n"
    "    asm volatile(\"red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;\" :: \"r\"(mapa(shared_address(&bin[7]), 0)));\n"
    "    u32 owner;\n"
    "    asm volatile(\"getctarank.u64 %0, %1;\" : \"=r\"(owner) : \"l\"(first));\n"
    "    arrive();\n"
    "    wait();  // all have counted\n"
    "    if (rank == 0 && t < 8) out[block * 64 + t] = (float)(bin[t] + owner);\n"
    "    if (rank != 0 || t >= 8) out[block * 64 + t] = (float)(rank != 0 && __isShared(bin) ? rank : t);\n"
    "}\n";

static float wanted_of_histogram(int i, const float *in)
{
    int count = 0;

    if (i >= 64)
        return (float)(i / 64);
    if (i >= 8)
        return (float)i;
    for (int n = 0; n < 256; n++)
        count += (int)in[n] == i;
    return (float)(i == 7 ? 256 : count);
}

/* The same with a fence before an arrival that orders nothing. */
static const char fenced_reduction[] =
    PRELUDE "extern \"C\" __global__ void __cluster_dims__(4, 1, 1) kernel(const float *in, float *out)\n"
            "{\n"
            "    __shared__ float sum;\n"
            "    const int t = threadIdx.x;\n"
            "    if (t == 0) {\n"
            "        sum = 0;\n"
            "        for (int i = 0; i < 64; ++i) sum += in[blockIdx.x * 64 + i];\n"
            "    }\n"
            "    asm volatile(\"fence.acq_rel.cluster;\" ::: \"memory\");\n"
            "    asm volatile(\"barrier.cluster.arrive.relaxed.aligned;\" ::: \"memory\");\n"
            "    wait();  // all sums are there\n"
            "    float total = 0;\n"
            "    for (u32 b = 0; b < 4; ++b) {\n"
            "        float one;\n"
            "        asm volatile(\"ld.shared::cluster.f32 %0, [%1];\" : \"=f\"(one) : \"r\"(mapa(shared_address(&sum), b)));\n"
            "        total += one;\n"
            "    }\n"
            "    out[blockIdx.x * 64 + t] = total;\n"
            "    arrive();\n"
            "    wait();\n"
            "}\n";

/* A barrier of the grid by an atomic; then each block reads what the next one wrote. */
static const char grid_barrier[] =
    "__device__ unsigned int arrived;\n"
    "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
    "{\n"
    "    const int t = threadIdx.x, blocks = gridDim.x, own = blockIdx.x * 64 + t;\n"
    "    for (unsigned int round = 0; round < 3; ++round) {\n"
    "        const float before = round == 0 ? in[own] : out[(own + 64) % (64 * blocks)];\n"
    "        __syncthreads();\n"
    "        for (int half = 0; half < 2; ++half) {\n"
    "            if (half == 1) out[own] = before + 1;\n"
    "            __syncthreads();\n"
    "            if (t == 0) {\n"
    "                __threadfence();\n"
    "                atomicAdd(&arrived, 1u);\n"
    "                while (*(volatile unsigned int *)&arrived < (2 * round + half + 1) * blocks) __nanosleep(100);\n"
    "                __threadfence();\n"
    "            }\n"
    "            __syncthreads();\n"
    "        }\n"
    "    }\n"
    "}\n";

static float wanted_of_grid_barrier(int i, const float *in)
{
    return in[(i + 128) % 256] + 3;
}

/* One warp waits in a loop for a flag that another sets after a barrier with a third. */
static const char spin[] = "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
                           "{\n"
                           "    __shared__ int flag;\n"
                           "    const int t = threadIdx.x;\n"
                           "    if (t == 0) flag = 0;\n"
                           "    __syncthreads();\n"
                           "    if (t < 32) {\n"
                           "        while (*(volatile int *)&flag == 0) continue;\n"
                           "    } else {\n"
                           "        asm volatile(\"bar.sync 1, 64;\" ::: \"memory\");\n"
                           "        if (t == 32) atomicExch(&flag, 1);\n"
                           "    }\n"
                           "    out[t] = in[t];\n"
                           "}\n";

static float wanted_of_spin(int i, const float *in)
{
    return in[i];
}

static const program programs[] = {
    {"reduction", reduction, "sm_90", wanted_of_reduction, {4, 1, 1}, 64, 256},
    {"reduction in two clusters", reduction, "sm_90", wanted_of_reduction, {8, 1, 1}, 64, 512},
    {"histogram", histogram, "sm_90", wanted_of_histogram, {2, 2, 1}, 64, 256},
    {"barrier of the grid", grid_barrier, "sm_90", wanted_of_grid_barrier, {4, 1, 1}, 64, 256, .is_cooperative = true},
    {"spin", spin, "sm_90", wanted_of_spin, {1, 1, 1}, 96, 96},
    {"reduction with a fence", fenced_reduction, "sm_90", wanted_of_reduction, {4, 1, 1}, 64, 256}};

Test(cluster, programs_are_right_and_silent)
{
    expect_right_and_silent(nvrtc_or_skip("emulator/cluster"), programs, sizeof programs / sizeof programs[0]);
}

static const broken mutations[] = {
    {&programs[0],
     "no barrier before the reads",
     "    arrive();\n    wait();  // all",
     "    //",
     CUEMU_RACE_SHARED,
     {"ld.shared::cluster"},
     0},
    {&programs[0],
     "a barrier of the block alone",
     "arrive();\n    wait();  // all",
     "__syncthreads();  //",
     CUEMU_RACE_SHARED,
     {"ld.shared::cluster"},
     0},
    {&programs[0],
     "a barrier that releases nothing",
     "arrive();\n    wait();  // all",
     "asm volatile(\"barrier.cluster.arrive.relaxed.aligned;\"); wait();  //",
     CUEMU_RACE_SHARED,
     {"ld.shared::cluster"},
     0},
    {&programs[5], "no fence", "fence.acq_rel.cluster;", "", CUEMU_RACE_SHARED, {"ld.shared::cluster"}, 0},
    {&programs[5], "a fence of the block", "acq_rel.cluster", "acq_rel.cta", CUEMU_RACE_SHARED, {"ld.shared::cluster"}, 0},
    {&programs[5],
     "a fence of mbarriers",
     "fence.acq_rel.cluster;",
     "fence.mbarrier_init.release.cluster;",
     CUEMU_RACE_SHARED,
     {"ld.shared::cluster"},
     0},
    {&programs[0],
     "no barrier after the reads",
     "    arrive();\n    wait();  // nobody",
     "    //",
     CUEMU_OUT_OF_BOUNDS,
     {"ld.shared::cluster"},
     CUEMU_RACE_SHARED},
    {&programs[0],
     "wait without arrival",
     "arrive();\n    wait();  // all",
     "wait();  //",
     CUEMU_ILLEGAL,
     {"wait();", "barrier.cluster.wait"},
     0},
    {&programs[0],
     "a second arrival",
     "wait();  // nobody",
     "arrive(); wait();  // nobody",
     CUEMU_ILLEGAL,
     {"arrive();", "barrier.cluster.arrive"},
     0},
    {&programs[0],
     "half of the warps arrive",
     "arrive();\n    wait();  // nobody",
     "if (t < 32) arrive();\n    wait();  // nobody",
     CUEMU_ILLEGAL,
     {"wait();", "barrier.cluster.wait"},
     0},
    {&programs[0],
     "the other half waits for the block",
     "arrive();\n    wait();  // nobody",
     "if (t < 32) { arrive(); wait(); }\n    __syncthreads();  // nobody",
     CUEMU_DEADLOCK,
     {"wait();", "barrier.cluster.wait"},
     0},
    {&programs[0], "a block that is not there", "b < 4", "b < 5", CUEMU_ILLEGAL, {"mapa"}, 0},
    {&programs[0],
     "beyond the other's array",
     "&sum[1]), b)",
     "&sum[1]) + 4, b)",
     CUEMU_OUT_OF_BOUNDS,
     {"ld.shared::cluster"},
     0},
    {&programs[0], "what the other has not written", "&sum[1]), b)", "&sum[0]), b)", CUEMU_UNINITIALISED, {"out["}, 0},
    {&programs[0],
     "an address of another block in shared::cta",
     "ld.shared::cluster.f32",
     "ld.shared.f32",
     CUEMU_OUT_OF_BOUNDS,
     {"ld.shared.f32"},
     0},
    {&programs[0], "misaligned", "&sum[1]), b)", "&sum[0]) + 2, b)", CUEMU_MISALIGNED, {"ld.shared::cluster"}, 0},
    {&programs[2],
     "bins not cleared before others count",
     "arrive();\n    wait();  // bins",
     "//",
     CUEMU_RACE_SHARED,
     {"atomicAdd", "red."},
     0},
    {&programs[2],
     "read before all have counted",
     "arrive();\n    wait();  // all",
     "//",
     CUEMU_RACE_SHARED,
     {"bin[t]", "atomicAdd", "red."},
     CUEMU_OUT_OF_BOUNDS},
    {&programs[2],
     "counted without atomics",
     "atomicAdd(first + (int)in[block * 64 + t], 1u);",
     "first[(int)in[block * 64 + t]] += 1u;",
     CUEMU_RACE_SHARED,
     {"first["},
     0},
    {&programs[3],
     "fence missing",
     "                __threadfence();\n                atomicAdd",
     "                atomicAdd",
     CUEMU_RACE_GLOBAL,
     {"before =", "out[own] ="},
     0},
};

Test(cluster, each_broken_program_is_caught_by_the_right_checker)
{
    expect_caught(nvrtc_or_skip("emulator/cluster"), mutations, sizeof mutations / sizeof mutations[0]);
}
