/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Tensor maps, and copies of tiles to and from shared memory: what a map may say, where each element goes in every swizzle and type,
 * what stands for elements outside, and the ways in which programs get them wrong.
 */
#include "program.h"

static void open_device(void)
{
    open_emulator("sm_90");
    cr_assert(cu.set_option(CUEMU_BUDGET, 10000000));
}

TestSuite(tile, .init = open_device, .timeout = 280);

typedef struct map {
    _Alignas(64) char bytes[128];
} map;

/* CUtensorMapDataType and CUtensorMapSwizzle */
enum { U8, U16, U32, S32, U64, S64, F16, F32, F64, BF16, F32_FTZ, TF32, TF32_FTZ, PACKED };
enum { PLAIN, SWIZZLE_32, SWIZZLE_64, SWIZZLE_128 };
enum { INVALID = 1, NOT_SUPPORTED = 801 };

/* ---- maps ------------------------------------------------------------------------------------------------------------- */

Test(tile, a_map_keeps_to_the_rules_of_the_driver)
{
    static const struct row {
        const char *what;
        int type;
        unsigned rank;
        uint64_t address, extent[5], stride[4];
        unsigned box[5], step[5];
        int interleave, swizzle, promotion, fill, result;
    } rows[] = {
        {"right", F32, 2, 64, {100, 50}, {416}, {32, 8}, {1, 1}, 0, SWIZZLE_128, 2, 0, 0},
        {"one dimension", U8, 1, 16, {1 << 20}, {0}, {256}, {1}, 0, PLAIN, 0, 0, 0},
        {"five dimensions",
         F16,
         5,
         16,
         {8, 2, 3, 4, 5},
         {16, 32, 96, 384},
         {8, 2, 3, 4, 5},
         {1, 1, 2, 8, 1},
         0,
         PLAIN,
         3,
         1,
         0},
        {"the first step is not looked at", F32, 2, 64, {100, 50}, {416}, {32, 8}, {9, 1}, 0, SWIZZLE_128, 2, 0, 0},
        {"lines over each other", F32, 2, 64, {100, 50}, {16}, {32, 8}, {1, 1}, 0, PLAIN, 0, 0, 0},
        {"no dimension", F32, 0, 64, {100}, {0}, {32}, {1}, 0, PLAIN, 0, 0, INVALID},
        {"six dimensions", F32, 6, 64, {100}, {0}, {32}, {1}, 0, PLAIN, 0, 0, INVALID},
        {"no type", 16, 1, 64, {100}, {0}, {32}, {1}, 0, PLAIN, 0, 0, INVALID},
        {"packed", PACKED, 1, 64, {256}, {0}, {128}, {1}, 0, PLAIN, 0, 0, NOT_SUPPORTED},
        {"address", F32, 1, 72, {100}, {0}, {32}, {1}, 0, PLAIN, 0, 0, INVALID},
        {"no address", F32, 1, 0, {100}, {0}, {32}, {1}, 0, PLAIN, 0, 0, INVALID},
        {"empty", F32, 2, 64, {100, 0}, {416}, {32, 8}, {1, 1}, 0, PLAIN, 0, 0, INVALID},
        {"2^32 lines", F32, 2, 64, {100, 1ull << 32}, {416}, {32, 8}, {1, 1}, 0, PLAIN, 0, 0, 0},
        {"more lines", F32, 2, 64, {100, (1ull << 32) + 1}, {416}, {32, 8}, {1, 1}, 0, PLAIN, 0, 0, INVALID},
        {"stride of no 16 bytes", F32, 2, 64, {100, 50}, {408}, {32, 8}, {1, 1}, 0, PLAIN, 0, 0, INVALID},
        {"stride of 2^40", F32, 2, 64, {100, 50}, {1ull << 40}, {32, 8}, {1, 1}, 0, PLAIN, 0, 0, INVALID},
        {"box of nothing", F32, 2, 64, {100, 50}, {416}, {32, 0}, {1, 1}, 0, PLAIN, 0, 0, INVALID},
        {"box of 257", F32, 2, 64, {100, 50}, {416}, {32, 257}, {1, 1}, 0, PLAIN, 0, 0, INVALID},
        {"lines of no 16 bytes", F32, 2, 64, {100, 50}, {416}, {30, 8}, {1, 1}, 0, PLAIN, 0, 0, INVALID},
        {"lines above the swizzle", F32, 2, 64, {100, 50}, {416}, {36, 8}, {1, 1}, 0, SWIZZLE_128, 0, 0, INVALID},
        {"above 64 bytes", F32, 2, 64, {100, 50}, {416}, {20, 8}, {1, 1}, 0, SWIZZLE_64, 0, 0, INVALID},
        {"above 32 bytes", F16, 2, 64, {100, 50}, {416}, {24, 8}, {1, 1}, 0, SWIZZLE_32, 0, 0, INVALID},
        {"step of nothing", F32, 2, 64, {100, 50}, {416}, {32, 8}, {1, 0}, 0, PLAIN, 0, 0, INVALID},
        {"step of 9", F32, 2, 64, {100, 50}, {416}, {32, 8}, {1, 9}, 0, PLAIN, 0, 0, INVALID},
        {"interleaved", F32, 3, 64, {100, 50, 2}, {416, 20800}, {8, 8, 1}, {1, 1, 1}, 1, PLAIN, 0, 0, NOT_SUPPORTED},
        {"no interleave", F32, 2, 64, {100, 50}, {416}, {32, 8}, {1, 1}, 3, PLAIN, 0, 0, INVALID},
        {"no swizzle", F32, 2, 64, {100, 50}, {416}, {32, 8}, {1, 1}, 0, 7, 0, 0, INVALID},
        {"chunks of 32 bytes", F32, 2, 64, {100, 50}, {416}, {32, 8}, {1, 1}, 0, 4, 0, 0, NOT_SUPPORTED},
        {"no promotion", F32, 2, 64, {100, 50}, {416}, {32, 8}, {1, 1}, 0, PLAIN, 4, 0, INVALID},
        {"no fill", F32, 2, 64, {100, 50}, {416}, {32, 8}, {1, 1}, 0, PLAIN, 0, 2, INVALID},
        {"NaN for whole numbers", S32, 2, 64, {100, 50}, {416}, {32, 8}, {1, 1}, 0, PLAIN, 0, 1, INVALID},
    };
    map two[2];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        cr_expect(eq(int,
                     cu.encode(&two[0], r->type, r->rank, r->address, r->extent, r->stride, r->box, r->step, r->interleave,
                               r->swizzle, r->promotion, r->fill),
                     r->result),
                  "%s", r->what);
    }
    cr_expect(eq(int, cu.encode(two[0].bytes + 32, F32, 1, 64, rows[1].extent, NULL, rows[1].box, rows[1].step, 0, 0, 0, 0),
                 INVALID));
    cr_expect(eq(int, cu.encode(NULL, F32, 1, 64, rows[1].extent, NULL, rows[1].box, rows[1].step, 0, 0, 0, 0), INVALID));
    cr_expect(eq(int, cu.encode(&two[0], F32, 2, 64, rows[0].extent, NULL, rows[0].box, rows[0].step, 0, 0, 0, 0), INVALID));
}

/* ---- where elements go ------------------------------------------------------------------------------------------------ */

#define PRELUDE                                                                                                                \
    "typedef unsigned int u32;\n"                                                                                              \
    "typedef unsigned long long u64;\n"                                                                                        \
    "struct __align__(64) Map { char bytes[128]; };\n"                                                                         \
    "static __device__ u32 address(const void *p) { return (u32)__cvta_generic_to_shared(p); }\n"                              \
    "static __device__ void init(u64 *bar)\n"                                                                                  \
    "{ asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\\nfence.mbarrier_init.release.cluster;\" :: \"r\"(address(bar)) " \
    ": "                                                                                                                       \
    "\"memory\"); }\n"                                                                                                         \
    "static __device__ void expect(u64 *bar, u32 bytes)\n"                                                                     \
    "{ asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" :: \"r\"(address(bar)), \"r\"(bytes) : "        \
    "\"memory\"); }\n"                                                                                                         \
    "static __device__ void wait(u64 *bar, u32 parity)\n"                                                                      \
    "{ asm volatile(\"{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra done; bra again; "    \
    "done:}\" :: \"r\"(address(bar)), \"r\"(parity) : \"memory\"); }\n"

#define LOAD(n, coordinates, list)                                                                             \
    "    if (rank == " n ") asm volatile(\"cp.async.bulk.tensor." n                                            \
    "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "                                              \
    "[%0], [%1, {" coordinates "}], [%2];\" :: \"r\"(address(box)), \"l\"(&map), \"r\"(address(&full)), " list \
    " : \"memory\");\n"

/* A box as it lies in shared memory, byte by byte, and back by a store at the same place of a second tensor. */
static const char image[] = PRELUDE
    "extern \"C\" __global__ void kernel(const __grid_constant__ Map map, const __grid_constant__ Map back, char *out, int "
    "rank, int "
    "bytes, int c0, int c1, int c2, int c3, int c4)\n"
    "{\n"
    "    __shared__ __align__(1024) char box[8192];\n"
    "    __shared__ u64 full;\n"
    "    if (threadIdx.x == 0) {\n"
    "        init(&full);\n"
    "        expect(&full, bytes);\n"
    "        asm volatile(\"prefetch.tensormap [%0];\" :: \"l\"(&map) : \"memory\");\n" LOAD("1", "%3", "\"r\"(c0)")
        LOAD("2", "%3, %4", "\"r\"(c0), \"r\"(c1)") LOAD("3", "%3, %4, %5", "\"r\"(c0), \"r\"(c1), \"r\"(c2)")
            LOAD("4", "%3, %4, %5, %6", "\"r\"(c0), \"r\"(c1), \"r\"(c2), \"r\"(c3)") LOAD(
                "5", "%3, %4, %5, %6, %7",
                "\"r\"(c0), \"r\"(c1), \"r\"(c2), \"r\"(c3), \"r\"(c4)") "    }\n"
                                                                         "    __syncthreads();\n"
                                                                         "    wait(&full, 0);\n"
                                                                         "    for (int i = threadIdx.x; i < bytes; i += 32) "
                                                                         "out[i] = box[i];\n"
                                                                         "    __syncthreads();\n"
                                                                         "    if (threadIdx.x == 0 && rank == 2) {\n"
                                                                         "        asm "
                                                                         "volatile(\"cp.async.bulk.tensor.2d.global.shared::"
                                                                         "cta.tile.bulk_group [%0, {%2, %3}], [%1];\\n\"\n"
                                                                         "                     "
                                                                         "\"cp.async.bulk.commit_group;\\ncp.async.bulk.wait_"
                                                                         "group 0;\"\n"
                                                                         "                     :: \"l\"(&back), "
                                                                         "\"r\"(address(box)), \"r\"(c0), \"r\"(c1) : "
                                                                         "\"memory\");\n"
                                                                         "    }\n"
                                                                         "}\n";

typedef struct shape {
    const char *what;
    int type;
    unsigned size, rank;
    uint64_t extent[5], stride[4];
    unsigned box[5], step[5];
    int swizzle, fill, at[5];
} shape;

/* The bytes of the box, one element after the other. */
static size_t draw(const shape *s, const uint8_t *tensor, uint8_t *box)
{
    static const unsigned rows_apart[] = {0, 2, 4, 8}; /* chunks of 16 bytes that change places */
    unsigned count[5] = {1, 1, 1, 1, 1}, n[5];
    size_t bytes = 0;

    for (unsigned i = 0; i < s->rank; i++)
        count[i] = i ? (s->box[i] + s->step[i] - 1) / s->step[i] : s->box[i];
    for (n[4] = 0; n[4] < count[4]; n[4]++)
        for (n[3] = 0; n[3] < count[3]; n[3]++)
            for (n[2] = 0; n[2] < count[2]; n[2]++)
                for (n[1] = 0; n[1] < count[1]; n[1]++)
                    for (n[0] = 0; n[0] < count[0]; n[0]++, bytes += s->size) {
                        const unsigned chunks = rows_apart[s->swizzle];
                        const size_t row = bytes / 128, chunk = bytes / 16 % 8;
                        const size_t moved = chunks ? chunk / chunks * chunks + (chunk % chunks ^ row % chunks) : chunk;
                        uint8_t *to = box + row * 128 + moved * 16 + bytes % 16;
                        uint64_t from = 0;
                        bool is_inside = true;
                        for (unsigned i = 0; i < s->rank; i++) {
                            const int64_t at = s->at[i] + (int64_t)n[i] * (i ? s->step[i] : 1);
                            is_inside &= at >= 0 && at < (int64_t)s->extent[i];
                            from += (uint64_t)at * (i ? s->stride[i - 1] : s->size);
                        }
                        if (is_inside)
                            memcpy(to, tensor + from, s->size);
                        else
                            memset(to, s->fill ? 0xff : 0, s->size), to[s->size - 1] = s->fill ? 0x7f : 0;
                    }
    return bytes;
}

Test(tile, every_element_goes_where_the_map_says)
{
    static const shape shapes[] = {
        {"a line", U8, 1, 1, {1000}, {0}, {256}, {1}, PLAIN, 0, {512}},
        {"the end of a line", U8, 1, 1, {1000}, {0}, {256}, {1}, PLAIN, 0, {880}},
        {"before a line", U16, 2, 1, {1000}, {0}, {64}, {1}, PLAIN, 0, {-16}},
        {"outside", F32, 4, 1, {1000}, {0}, {64}, {1}, PLAIN, 0, {-64}},
        {"f32", F32, 4, 2, {52, 37}, {208}, {32, 16}, {1, 1}, PLAIN, 0, {4, 9}},
        {"f32, 128 bytes", F32, 4, 2, {52, 37}, {208}, {32, 16}, {1, 1}, SWIZZLE_128, 0, {4, 9}},
        {"f32, the corner", F32, 4, 2, {53, 37}, {224}, {32, 16}, {1, 1}, SWIZZLE_128, 0, {32, 30}},
        {"f32, the other corner", F32, 4, 2, {53, 37}, {224}, {32, 16}, {1, 1}, SWIZZLE_128, 0, {-4, -3}},
        {"half a span", BF16, 2, 2, {100, 37}, {208}, {32, 16}, {1, 1}, SWIZZLE_128, 0, {8, 0}},
        {"f16, 64 bytes", F16, 2, 2, {101, 37}, {208}, {32, 32}, {1, 1}, SWIZZLE_64, 0, {80, 20}},
        {"u8, 32 bytes", U8, 1, 2, {200, 37}, {208}, {32, 64}, {1, 1}, SWIZZLE_32, 0, {176, -1}},
        {"f64", F64, 8, 2, {25, 20}, {208}, {16, 8}, {1, 1}, SWIZZLE_128, 0, {10, 15}},
        {"NaN of f16", F16, 2, 2, {101, 37}, {208}, {64, 8}, {1, 1}, SWIZZLE_128, 1, {80, 33}},
        {"NaN of f64", F64, 8, 2, {25, 20}, {208}, {16, 8}, {1, 1}, PLAIN, 1, {12, 15}},
        {"steps", S32, 4, 3, {16, 10, 9}, {64, 640}, {8, 8, 6}, {1, 3, 2}, PLAIN, 0, {8, 2, 1}},
        {"four dimensions", U64, 8, 4, {4, 5, 3, 4}, {32, 160, 480}, {2, 4, 2, 3}, {1, 1, 1, 1}, SWIZZLE_32, 0, {2, 2, 2, 0}},
        {"five dimensions",
         BF16,
         2,
         5,
         {16, 3, 2, 4, 3},
         {32, 96, 192, 768},
         {8, 2, 2, 3, 2},
         {1, 1, 1, 1, 1},
         PLAIN,
         0,
         {8, 1, 1, 2, 2}},
    };
    const nvrtc *by = nvrtc_or_skip("emulator/tile");
    char *ptx = compile_text(by, image, "sm_90", "image");
    void *module, *function = function_of(ptx, &module);
    static uint8_t content[16384], wanted[8192], is[8192], copied[16384];

    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (uint8_t)(i * 37 + i / 251);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        shape s = shapes[i];
        map in, back;
        uint64_t tensor = device_memory(sizeof content, content), out = device_memory(sizeof content, NULL),
                 second = device_memory(sizeof content, memset(copied, 0, sizeof copied));
        int rank = (int)s.rank, bytes;
        const unsigned one[3] = {1, 1, 1}, none[3] = {0};
        void *parameters[] = {&in, &back, &out, &rank, &bytes, &s.at[0], &s.at[1], &s.at[2], &s.at[3], &s.at[4]};
        findings f;
        memset(wanted, 0xee, sizeof wanted);
        bytes = (int)draw(&s, content, wanted);
        cr_assert(
            eq(int, cu.encode(&in, s.type, s.rank, tensor, s.extent, s.stride, s.box, s.step, 0, s.swizzle, 0, s.fill), 0),
            "%s", s.what);
        cr_assert(
            eq(int, cu.encode(&back, s.type, s.rank, second, s.extent, s.stride, s.box, s.step, 0, s.swizzle, 0, s.fill), 0));
        cr_expect(eq(int, launch_as(function, one, 32, none, false, parameters), 0), "%s", s.what);
        f = take_findings();
        cr_assert(eq(sz, f.count, 0), "%s: %s", s.what, f.first[0].text);
        cr_assert(eq(int, cu.read(is, out, (size_t)bytes), 0));
        for (int n = 0; n < bytes; n++)
            cr_assert(eq(int, is[n], wanted[n]), "%s: byte %d", s.what, n);
        cr_assert(eq(int, cu.read(copied, second, sizeof copied), 0));
        for (size_t y = 0; rank == 2 && y < s.extent[1]; y++)
            for (size_t x = 0; x < s.extent[0] * s.size; x++) {
                const bool is_in = (int)(x / s.size) >= s.at[0] && (int)(x / s.size) < s.at[0] + (int)s.box[0] &&
                                   (int)y >= s.at[1] && (int)y < s.at[1] + (int)s.box[1];
                cr_assert(eq(int, copied[y * s.stride[0] + x], is_in ? content[y * s.stride[0] + x] : 0), "%s: %zu, %zu",
                          s.what, y, x);
            }
        cu.free(tensor);
        cu.free(out);
        cu.free(second);
    }
    cu.unload(module);
    free(ptx);
}

/* ---- programs ---------------------------------------------------------------------------------------------------------- */

/* All of a matrix of 37 x 52, tile by tile from (-3, -4) on, through two stages; what lies outside must be 0. */
static const char tiled[] = PRELUDE
    "extern \"C\" __global__ void kernel(const float *in, float *out, const __grid_constant__ Map from, const "
    "__grid_constant__ Map to)\n"
    "{\n"
    "    __shared__ __align__(1024) float stage[2][8][32];\n"
    "    __shared__ __align__(128) float result[8][32];\n"
    "    __shared__ u64 full[2];\n"
    "    const int t = threadIdx.x;\n"
    "    if (t == 0) { init(&full[0]); init(&full[1]); }\n"
    "    __syncthreads();\n"
    "    for (int n = 0; n < 10; ++n) {\n"
    "        for (int k = n ? n + 1 : 0; t == 0 && k < n + 2 && k < 10; ++k) {\n"
    "            expect(&full[k % 2], 1024);\n"
    "            asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
    "%3}], [%4];\"\n"
    "                         :: \"r\"(address(stage[k % 2])), \"l\"(&from), \"r\"(k % 2 * 32 - 4), \"r\"(k / 2 * 8 - 3), "
    "\"r\"(address(&full[k % 2])) : \"memory\");\n"
    "        }\n"
    "        wait(&full[n % 2], n / 2 & 1);  // it is there\n"
    "        for (int i = t; i < 256; i += 64) {\n"
    "            const int row = i / 32, col = i % 32, y = n / 2 * 8 - 3 + row, x = n % 2 * 32 - 4 + col;\n"
    "            const float v = stage[n % 2][row][(col / 4 ^ row) * 4 + col % 4];\n"
    "            if ((y < 0 || y >= 37 || x < 0 || x >= 52) && v != 0) __trap();\n"
    "            result[row][col] = 2 * v + 1;\n"
    "        }\n"
    "        asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
    "        __syncthreads();\n"
    "        if (t == 0) {\n"
    "            asm volatile(\"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], "
    "[%3];\\ncp.async.bulk.commit_group;\"\n"
    "                         :: \"l\"(&to), \"r\"(n % 2 * 32 - 4), \"r\"(n / 2 * 8 - 3), \"r\"(address(result)) : "
    "\"memory\");\n"
    "            asm volatile(\"cp.async.bulk.wait_group.read 0;\" ::: \"memory\");\n"
    "        }\n"
    "        __syncthreads();\n"
    "    }\n"
    "}\n";

static float wanted_of_tiled(int i, const float *in)
{
    return 2 * in[i / 52 * 64 + i % 52] + 1;
}

static void maps_of_tiled(uint64_t in, uint64_t out, void **parameters)
{
    static map from, to;
    const uint64_t extent[2] = {52, 37}, wide[1] = {256}, tight[1] = {208};
    const unsigned box[2] = {32, 8}, step[2] = {1, 1};

    cr_assert(eq(int, cu.encode(&from, F32, 2, in, extent, wide, box, step, 0, SWIZZLE_128, 0, 0), 0));
    cr_assert(eq(int, cu.encode(&to, F32, 2, out, extent, tight, box, step, 0, PLAIN, 0, 0), 0));
    parameters[0] = &from;
    parameters[1] = &to;
}

/* A tensor of 6 elements: the last 16 bytes of its row are stored whole, and two elements after it are lost. */
static const char whole_chunks[] =
    PRELUDE "extern \"C\" __global__ void kernel(const float *in, float *out, const __grid_constant__ Map to)\n"
            "{\n"
            "    __shared__ __align__(128) float line[32];\n"
            "    line[threadIdx.x] = 2 * in[threadIdx.x];\n"
            "    asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
            "    __syncthreads();\n"
            "    if (threadIdx.x == 0) {\n"
            "        asm volatile(\"cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%1}], "
            "[%2];\\ncp.async.bulk.commit_group;\"\n"
            "                     :: \"l\"(&to), \"r\"(0), \"r\"(address(line)) : \"memory\");\n"
            "        asm volatile(\"cp.async.bulk.wait_group.read 0;\" ::: \"memory\");\n"
            "    }\n"
            "}\n";

static float wanted_of_whole_chunks(int i, const float *in)
{
    return 2 * in[i];
}

static void maps_of_whole_chunks(uint64_t in, uint64_t out, void **parameters)
{
    static map to;
    const uint64_t extent[1] = {6}, none[1] = {0};
    const unsigned box[1] = {32}, step[1] = {1};

    (void)in;
    cr_assert(eq(int, cu.encode(&to, F32, 1, out, extent, none, box, step, 0, PLAIN, 0, 0), 0));
    parameters[0] = &to;
}

/* Each block of a cluster brings half of a tile to both, and both add theirs up in global memory. */
static const char shared_tiles[] = PRELUDE
    "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) kernel(const float *in, float *out, const __grid_constant__ Map "
    "from, const "
    "__grid_constant__ Map to)\n"
    "{\n"
    "    __shared__ __align__(128) float tile[2][32], sum[32];\n"
    "    __shared__ u64 full;\n"
    "    const int t = threadIdx.x, rank = blockIdx.x % 2;\n"
    "    if (t == 0) { init(&full); expect(&full, 256); }\n"
    "    if (rank == 0) out[t] = 0;\n"
    "    asm volatile(\"barrier.cluster.arrive; barrier.cluster.wait;\" ::: \"memory\");  // begin\n"
    "    if (t == 0)\n"
    "        asm "
    "volatile(\"cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
    "{%2}], [%3], %4;\"\n"
    "                     :: \"r\"(address(tile[rank])), \"l\"(&from), \"r\"(32 * rank), \"r\"(address(&full)), "
    "\"h\"((unsigned short)3) : "
    "\"memory\");\n"
    "    wait(&full, 0);\n"
    "    sum[t] = tile[0][t] + tile[1][31 - t];\n"
    "    asm volatile(\"fence.proxy.async;\" ::: \"memory\");\n"
    "    __syncwarp();\n"
    "    if (t == 0)\n"
    "        asm volatile(\"cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%0, {%1}], [%2];\\n\"\n"
    "                     \"cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;\" :: \"l\"(&to), \"r\"(0), "
    "\"r\"(address(sum)) : "
    "\"memory\");\n"
    "    asm volatile(\"barrier.cluster.arrive; barrier.cluster.wait;\" ::: \"memory\");  // end\n"
    "}\n";

static float wanted_of_shared_tiles(int i, const float *in)
{
    return 2 * (in[i] + in[63 - i]);
}

static void maps_of_shared_tiles(uint64_t in, uint64_t out, void **parameters)
{
    static map from, to;
    const uint64_t extent[1] = {64}, result[1] = {32};
    const unsigned box[1] = {32}, step[1] = {1};

    cr_assert(eq(int, cu.encode(&from, F32, 1, in, extent, NULL, box, step, 0, PLAIN, 0, 0), 0));
    cr_assert(eq(int, cu.encode(&to, F32, 1, out, result, NULL, box, step, 0, PLAIN, 0, 0), 0));
    parameters[0] = &from;
    parameters[1] = &to;
}

/*
 * A product of 64 x 32 and 32 x 64 by a cluster of two blocks, each half of the rows: one warp brings slices of 8 through a ring of
 * three stages, those of the second factor half from either block to both; four warps multiply and give stages back in both.
 */
static const char product_text[] =
    PRELUDE "static __device__ void give_back(u64 *bar, u32 rank)\n"
            "{\n"
            "    asm volatile(\"{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\\n\"\n"
            "                 \"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];}\" :: \"r\"(address(bar)), "
            "\"r\"(rank) : "
            "\"memory\");\n"
            "}\n"
            "static __device__ void cluster_sync() { asm volatile(\"barrier.cluster.arrive; barrier.cluster.wait;\" ::: "
            "\"memory\"); }\n"
            "extern \"C\" __global__ void __cluster_dims__(2, 1, 1) kernel(const float *in, float *out, const "
            "__grid_constant__ Map left, const "
            "__grid_constant__ Map right)\n"
            "{\n"
            "    __shared__ __align__(256) float a[3][32][8];\n"
            "    __shared__ __align__(128) float b[3][8][64];\n"
            "    __shared__ u64 full[3], empty[3];\n"
            "    const int t = threadIdx.x, rank = blockIdx.x;\n"
            "    if (t < 3) {\n"
            "        init(&full[t]);\n"
            "        asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 8;\" :: \"r\"(address(&empty[t])) : \"memory\");\n"
            "        asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
            "    }\n"
            "    cluster_sync();  // begin\n"
            "    if (t >= 128) {\n"
            "        for (int n = 0; t == 128 && n < 4; ++n) {\n"
            "            const int s = n % 3;\n"
            "            wait(&empty[s], (n / 3 & 1) ^ 1);  // read in both blocks\n"
            "            expect(&full[s], 3072);\n"
            "            asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
            "{%2, %3}], "
            "[%4];\"\n"
            "                         :: \"r\"(address(a[s])), \"l\"(&left), \"r\"(8 * n), \"r\"(32 * rank), "
            "\"r\"(address(&full[s])) : "
            "\"memory\");\n"
            "            asm "
            "volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
            "[%1, {%2, %3}], [%4], %5;\"\n"
            "                         :: \"r\"(address(b[s][4 * rank])), \"l\"(&right), \"r\"(0), \"r\"(8 * n + 4 * rank), "
            "\"r\"(address(&full[s])), \"h\"((unsigned short)3) : \"memory\");\n"
            "        }\n"
            "    } else {\n"
            "        float sum[16] = {};\n"
            "        const int row = t / 4, col = t % 4 * 16;\n"
            "        for (int n = 0; n < 4; ++n) {\n"
            "            const int s = n % 3;\n"
            "            wait(&full[s], n / 3 & 1);  // it is there\n"
            "            for (int k = 0; k < 8; ++k) {\n"
            "                const float x = a[s][row][(k / 4 ^ row / 4 & 1) * 4 + k % 4];\n"
            "                for (int j = 0; j < 16; ++j) sum[j] += x * b[s][k][col + j];\n"
            "            }\n"
            "            __syncwarp();\n"
            "            if (t % 32 < 2) give_back(&empty[s], t % 32);\n"
            "        }\n"
            "        for (int j = 0; j < 16; ++j) out[(32 * rank + row) * 64 + col + j] = sum[j];\n"
            "    }\n"
            "    cluster_sync();  // end\n"
            "}\n";

static float wanted_of_product(int i, const float *in)
{
    float sum = 0;

    for (int k = 0; k < 32; k++)
        sum += in[i / 64 * 32 + k] * in[2048 + k * 64 + i % 64];
    return sum;
}

static void maps_of_product(uint64_t in, uint64_t out, void **parameters)
{
    static map left, right;
    const uint64_t extent[2][2] = {{32, 64}, {64, 32}}, stride[2][1] = {{128}, {256}};
    const unsigned box[2][2] = {{8, 32}, {64, 4}}, step[2] = {1, 1};

    (void)out;
    cr_assert(eq(int, cu.encode(&left, F32, 2, in, extent[0], stride[0], box[0], step, 0, SWIZZLE_32, 0, 0), 0));
    cr_assert(
        eq(int, cu.encode(&right, F32, 2, in + 2048 * sizeof(float), extent[1], stride[1], box[1], step, 0, PLAIN, 0, 0), 0));
    parameters[0] = &left;
    parameters[1] = &right;
}

/* A map with more rows than the tensor has. */
static void maps_beyond(uint64_t in, uint64_t out, void **parameters)
{
    static map from;
    const uint64_t extent[2] = {52, 3700}, wide[1] = {2048};
    const unsigned box[2] = {32, 8}, step[2] = {1, 1};

    maps_of_tiled(in, out, parameters);
    cr_assert(eq(int, cu.encode(&from, F32, 2, in, extent, wide, box, step, 0, SWIZZLE_128, 0, 0), 0));
    parameters[0] = &from;
}

/* A map that a kernel makes of zeros in shared memory, field by field, and puts where copies may use it; and then moves. */
#define REPLACE(field, value) \
    "        asm volatile(\"tensormap.replace.tile." field "; \" :: \"r\"(address(&map)), " value " : \"memory\");\n"

static const char made[] = PRELUDE
    "static __device__ void publish(void *to, Map *map)\n"
    "{\n"
    "    __syncwarp();\n"
    "    asm volatile(\"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
    "128;\"\n"
    "                 :: \"l\"(to), \"r\"(address(map)) : \"memory\");\n"
    "    asm volatile(\"fence.proxy.tensormap::generic.acquire.gpu [%0], 128;\" :: \"l\"(to) : \"memory\");\n"
    "}\n"
    "static __device__ void bring(void *tile, u64 *full, void *map)\n"
    "{\n"
    "    expect(full, 1024);\n"
    "    asm volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
    "[%4];\"\n"
    "                 :: \"r\"(address(tile)), \"l\"(map), \"r\"(32), \"r\"(8), \"r\"(address(full)) : \"memory\");\n"
    "}\n"
    "extern \"C\" __global__ void kernel(const float *in, float *out)\n"
    "{\n"
    "    __shared__ __align__(128) Map map;\n"
    "    __shared__ __align__(128) float tile[256];\n"
    "    __shared__ u64 full;\n"
    "    Map *room = (Map *)(out + 2048);\n"
    "    const int t = threadIdx.x;\n"
    "    ((u32 *)&map)[t] = 0;  // begun\n"
    "    __syncwarp();\n"
    "    if (t == 0) {\n"
    "        init(&full);\n" REPLACE("global_address.shared::cta.b1024.b64 [%0], %1", "\"l\"(in)") REPLACE(
        "rank.shared::cta.b1024.b32 [%0], %1", "\"r\"(1)") REPLACE("box_dim.shared::cta.b1024.b32 [%0], 0, %1", "\"r\"(32)")
        REPLACE("box_dim.shared::cta.b1024.b32 [%0], 1, %1", "\"r\"(8)") REPLACE("global_dim.shared::cta.b1024.b32 [%0], 0, %1",
                                                                                 "\"r\"(64)")
            REPLACE("global_dim.shared::cta.b1024.b32 [%0], 1, %1", "\"r\"(32)")
                REPLACE("global_stride.shared::cta.b1024.b64 [%0], 0, %1", "\"l\"(256ll)")
                    REPLACE("element_stride.shared::cta.b1024.b32 [%0], 0, %1", "\"r\"(1)")
                        REPLACE("element_stride.shared::cta.b1024.b32 [%0], 1, %1", "\"r\"(1)")
                            REPLACE("elemtype.shared::cta.b1024.b32 [%0], 7", "\"r\"(0)")
                                REPLACE("interleave_layout.shared::cta.b1024.b32 [%0], 0", "\"r\"(0)")
                                    REPLACE("swizzle_mode.shared::cta.b1024.b32 [%0], 0", "\"r\"(0)")
                                        REPLACE("swizzle_atomicity.shared::cta.b1024.b32 [%0], 0", "\"r\"(0)") REPLACE(
                                            "fill_mode.shared::cta.b1024.b32 [%0], 0",
                                            "\"r\"(0)") "    }\n"
                                                        "    publish(room, &map);  // made\n"
                                                        "    if (t == 0) bring(tile, &full, room);\n"
                                                        "    wait(&full, 0);\n"
                                                        "    for (int i = 0; i < 8; ++i) out[32 * i + t] = tile[32 * i + t];\n"
                                                        "    __syncwarp();\n"
                                                        "    if (t == 0)\n" REPLACE(
                                                            "global_address.shared::cta.b1024.b64 [%0], %1",
                                                            "\"l\"(in + 512)") "    publish(room, &map);  // moved\n"
                                                                               "    if (t == 0) bring(tile, &full, room);\n"
                                                                               "    wait(&full, 1);\n"
                                                                               "    for (int i = 0; i < 8; ++i) out[256 + 32 * "
                                                                               "i + t] = tile[32 * i + t];\n"
                                                                               "}\n";

static float wanted_of_made(int i, const float *in)
{
    return in[i / 256 * 512 + (8 + i % 256 / 32) * 64 + 32 + i % 32];
}

static const program programs[] = {
    {"tiled", tiled, "sm_90", wanted_of_tiled, {1, 1, 1}, 64, 1924, .prepare = maps_of_tiled},
    {"shared tiles", shared_tiles, "sm_90", wanted_of_shared_tiles, {2, 1, 1}, 32, 32, .prepare = maps_of_shared_tiles},
    {"product", product_text, "sm_90", wanted_of_product, {2, 1, 1}, 160, 4096, .prepare = maps_of_product},
    {"whole chunks", whole_chunks, "sm_90", wanted_of_whole_chunks, {1, 1, 1}, 32, 8, .prepare = maps_of_whole_chunks},
    {"made", made, "sm_90a", wanted_of_made, {1, 1, 1}, 32, 512},
    {"beyond", tiled, "sm_90", wanted_of_tiled, {1, 1, 1}, 64, 0, .prepare = maps_beyond}};

Test(tile, programs_are_right_and_silent)
{
    expect_right_and_silent(nvrtc_or_skip("emulator/tile"), programs, 5);
}

#define TILED &programs[0]
#define SHARED &programs[1]
#define PRODUCT &programs[2]
#define MADE &programs[4]

static const broken mutations[] = {
    {TILED, "read before its barrier", "wait(&full[n % 2], n / 2 & 1);", "", CUEMU_ASYNC_IN_FLIGHT, {"stage[n % 2]"}, 0},
    {TILED,
     "bytes of the part inside alone",
     "expect(&full[k % 2], 1024)",
     "expect(&full[k % 2], 640)",
     CUEMU_DEADLOCK,
     {0},
     CUEMU_ASYNC_IN_FLIGHT,
     "bytes too many"},
    {TILED,
     "no proxy fence",
     "asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");",
     "",
     CUEMU_PROXY_FENCE,
     {"&to"},
     0},
    {TILED,
     "stored while it is copied",
     "asm volatile(\"cp.async.bulk.wait_group.read 0;\" ::: \"memory\");",
     "",
     CUEMU_ASYNC_IN_FLIGHT,
     {"result[row][col] ="},
     0},
    {TILED, "no swizzle undone", "(col / 4 ^ row) * 4 + col % 4", "col", CUEMU_ASSERT, {"__trap"}, 0},
    {TILED,
     "a coordinate of no 16 bytes",
     "k % 2 * 32 - 4)",
     "k % 2 * 32 - 3)",
     CUEMU_ILLEGAL,
     {"stage[k % 2]"},
     0,
     "not a multiple of 16 bytes"},
    {TILED,
     "another number of dimensions",
     "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}]",
     "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}]",
     CUEMU_ILLEGAL,
     {"stage[k % 2]"},
     0,
     "of 2 dimensions"},
    {TILED, "no map", "\"l\"(&from)", "\"l\"((u64)in)", CUEMU_ILLEGAL, {"stage[k % 2]"}, 0, "no tensor map"},
    {TILED,
     "a tile that is not aligned",
     "\"r\"(address(stage[k % 2]))",
     "\"r\"(address(stage[k % 2]) + 64)",
     CUEMU_MISALIGNED,
     {"stage[k % 2]"},
     CUEMU_OUT_OF_BOUNDS},
    {TILED,
     "beyond the stages",
     "\"r\"(address(stage[k % 2]))",
     "\"r\"(address(stage[k % 2 + 1]))",
     CUEMU_OUT_OF_BOUNDS,
     {"stage[k % 2"},
     0},
    {TILED,
     "a part of the result never stored",
     "i < 256; i += 64",
     "i < 192; i += 64",
     CUEMU_UNINITIALISED,
     {"&to", "wait_group"},
     0,
     "never written"},
    {&programs[5],
     "beyond the memory",
     "2 * v + 1",
     "2 * v + 2",
     CUEMU_OUT_OF_BOUNDS,
     {"stage[k % 2]"},
     0,
     "a line of the tile"},
    {MADE,
     "a map that is not begun",
     "((u32 *)&map)[t] = 0;  // begun",
     "",
     CUEMU_ILLEGAL,
     {"global_address"},
     0,
     "neither a tensor map nor zeros"},
    {MADE,
     "a map that is not acquired",
     "fence.proxy.tensormap::generic.acquire.gpu [%0], 128;",
     "",
     CUEMU_PROXY_FENCE,
     {"\"l\"(map)"},
     0,
     "no fence.proxy.tensormap::generic.acquire"},
    {MADE,
     "a map that was acquired before it moved",
     "publish(room, &map);  // moved",
     "asm volatile(\"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;\" "
     ":: \"l\"(room), \"r\"(address(&map)) : \"memory\");",
     CUEMU_PROXY_FENCE,
     {"\"l\"(map)"},
     0,
     "no fence.proxy.tensormap::generic.acquire"},
    {MADE,
     "a box of nothing",
     "[%0], 1, %1; \" :: \"r\"(address(&map)), \"r\"(8)",
     "[%0], 1, %1; \" :: \"r\"(address(&map)), \"r\"(0)",
     CUEMU_ILLEGAL,
     {"\"l\"(map)"},
     0,
     "would refuse"},
    {MADE,
     "swizzled chunks of 32 bytes",
     "swizzle_atomicity.shared::cta.b1024.b32 [%0], 0",
     "swizzle_atomicity.shared::cta.b1024.b32 [%0], 1",
     CUEMU_ILLEGAL,
     {"swizzle_atomicity"},
     0,
     "with 1 there"},
    {PRODUCT,
     "brought while others read",
     "wait(&empty[s], (n / 3 & 1) ^ 1);",
     "",
     CUEMU_MBARRIER,
     {0},
     CUEMU_RACE_SHARED,
     "waits for 0 more"},
    {PRODUCT,
     "given back before it is read",
     "wait(&full[s], n / 3 & 1);",
     "wait(&full[s], n / 3 & 1); if (t % 32 < 2) give_back(&empty[s], t % 32);\n#define give_back(a, b)\n",
     CUEMU_RACE_SHARED,
     {"address(a[s])", "address(b[s]"},
     CUEMU_ASYNC_IN_FLIGHT},
    {PRODUCT,
     "given back in its own block alone",
     "t % 32 < 2) give_back(&empty[s], t % 32)",
     "t % 32 < 2) give_back(&empty[s], rank)",
     CUEMU_RACE_SHARED,
     {"address(b[s]"},
     CUEMU_ASYNC_IN_FLIGHT},
    {PRODUCT,
     "bytes of its own copies alone",
     "expect(&full[s], 3072)",
     "expect(&full[s], 2048)",
     CUEMU_ASYNC_IN_FLIGHT,
     {"sum[j] +=", "const float x"},
     CUEMU_RACE_SHARED},
    {PRODUCT, "ended while the other gives back", "cluster_sync();  // end", "", CUEMU_RACE_SHARED, {0}, CUEMU_OUT_OF_BOUNDS},
    {SHARED,
     "to one block alone",
     "(unsigned short)3",
     "(unsigned short)(1 << rank)",
     CUEMU_DEADLOCK,
     {0},
     0,
     "128 bytes to come"},
    {SHARED,
     "before the other has begun",
     "asm volatile(\"barrier.cluster.arrive; barrier.cluster.wait;\" ::: \"memory\");  // begin",
     "",
     CUEMU_RACE_SHARED,
     {"tile[rank]"},
     0},
    {SHARED,
     "added without a fence",
     "asm volatile(\"fence.proxy.async;\" ::: \"memory\");",
     "",
     CUEMU_PROXY_FENCE,
     {"address(sum)", "&to"},
     0},
};

Test(tile, each_broken_program_is_caught_by_the_right_checker)
{
    expect_caught(nvrtc_or_skip("emulator/tile"), mutations, sizeof mutations / sizeof mutations[0]);
}
