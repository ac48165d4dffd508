/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * tcgen05.mma of every dense kind against float64: types, swizzles, both orders of each factor, A in tensor memory, block scales. The
 * test computes the layouts of shared and tensor memory on its own. And the shapes of tcgen05.ld and st, and tcgen05.cp.
 */
#include "emulator_test.h"

#include <math.h>

static void open_device(void)
{
    open_emulator("sm_100");
}

TestSuite(tcgen05, .init = open_device, .timeout = 280);

/* ---- formats ----------------------------------------------------------------------------------------------------------- */

typedef struct format {
    int exponent, fraction; /* bits; 0: an integer */
    int bits, number;       /* of an element; in the instruction descriptor */
    bool is_signed;
} format;

static const format f16 = {5, 10, 16, 0, true}, bf16 = {8, 7, 16, 1, true}, tf32 = {8, 23, 32, 2, true},
                    e4m3 = {4, 3, 8, 0, true}, e5m2 = {5, 2, 8, 1, true}, e2m3 = {2, 3, 6, 3, true}, e3m2 = {3, 2, 6, 4, true},
                    e2m1 = {2, 1, 4, 5, true}, packed = {2, 1, 4, 1, true}, s8 = {0, 0, 8, 1, true}, u8 = {0, 0, 8, 0, false};

static int bias_of(const format *f)
{
    return (1 << (f->exponent - 1)) - 1;
}

static double value_of(const format *f, uint32_t code)
{
    const int exponent = (int)(code >> f->fraction) & ((1 << f->exponent) - 1);
    const int fraction = (int)(code & ((1u << f->fraction) - 1));
    double size;

    if (!f->exponent)
        return f->is_signed ? (int8_t)code : (uint8_t)code;
    size = exponent ? ldexp(1 + ldexp(fraction, -f->fraction), exponent - bias_of(f))
                    : ldexp(fraction, 1 - bias_of(f) - f->fraction);
    return code >> (f->exponent + f->fraction) & 1 ? -size : size;
}

/* A code of a number near 1. */
static uint32_t random_code(const format *f)
{
    const uint32_t code = (uint32_t)rand() & (f->bits == 32 ? UINT32_MAX : (1u << f->bits) - 1);
    const int most = (1 << f->exponent) - 2;
    int exponent;

    if (!f->exponent || f->bits < 8)
        return code;
    exponent = bias_of(f) + rand() % 6 - 3;
    exponent = exponent < 0 ? 0 : exponent > most ? most : exponent;
    return (code & ~(((1u << f->exponent) - 1) << f->fraction)) | (uint32_t)exponent << f->fraction;
}

/* ---- cases ------------------------------------------------------------------------------------------------------------- */

enum { MOST_ROWS = 128, MOST_COLUMNS = 256, MOST_K = 64, LANES = 128, COLUMNS = 288, SHARED = 1 << 16, B_AT = 1 << 15 };
enum { A_AT = 256, SCALES_A = 264, SCALES_B = 272 }; /* columns of tensor memory */
enum { F16_SUM, F32_SUM, S32_SUM };

typedef struct instruction {
    const char *kernel;
    const format *a, *b;
    int k, sum, scales; /* scales: of a row, or 0 */
    bool is_e4m3;       /* the scales */
} instruction;

/* How a factor lies: swizzle 0 to 3 as in a tensor map, or 4; across: neighbours in memory belong to neighbouring lines. */
typedef struct layout {
    int swizzle;
    bool is_across;
} layout;

typedef struct product {
    const instruction *what;
    int m, n;
    layout a, b;
    bool is_a_in_tensor, adds, negates;
    int halvings;
    uint32_t id;   /* first byte of the scales */
    uint32_t base; /* of 64 rows: the first lane */
    int blocks;    /* 0 means 1; of a pair: rows of A, and columns of B, lie half in either */
} product;

static const char text[] =
    "typedef unsigned int u32;\n"
    "typedef unsigned long long u64;\n"
    "static __device__ u32 address(const void *p) { return (u32)__cvta_generic_to_shared(p); }\n"
    "#ifdef PAIR\n"
    "#define GROUP \"2\"\n"
    "#define DIMS __cluster_dims__(2, 1, 1)\n"
    "#define SYNC asm volatile(\"barrier.cluster.arrive; barrier.cluster.wait;\" ::: \"memory\")\n"
    "#define COMMIT asm volatile(\"tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
    "[%0], %1;\" "
    ":: \"r\"(address(&done)), \"h\"((unsigned short)3) : \"memory\")\n"
    "#else\n"
    "#define GROUP \"1\"\n"
    "#define DIMS\n"
    "#define SYNC __syncthreads()\n"
    "#define COMMIT asm volatile(\"tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%0];\" :: \"l\"(&done) : "
    "\"memory\")\n"
    "#endif\n"
    "#define PREDICATE \"{.reg .pred p; setp.ne.b32 p, %4, 0;\\n\"\n"
    "#define REST \"r\"(d + 256), \"r\"(d + 264), \"r\"(d + 272)\n"
    "#define SAME(instruction, a, more) \\\n"
    "    asm volatile(PREDICATE instruction \" [%0], \" a \", %2, %3, \" more \"p;}\" \\\n"
    "                 :: \"r\"(d + (base << 16)), \"l\"(da), \"l\"(db), \"r\"(how), \"r\"(adds), REST : \"memory\")\n"
    "#define KERNEL(name, multiply) \\\n"
    "extern \"C\" __global__ void DIMS name(const uint4 *image, const uint4 *tensor, uint4 *out, u64 a, u64 b, u32 how, u32 "
    "adds, "
    "u32 base) \\\n"
    "{ \\\n"
    "    extern __shared__ __align__(1024) uint4 tile[]; \\\n"
    "    __shared__ u64 done; \\\n"
    "    __shared__ u32 place; \\\n"
    "    const int t = threadIdx.x; \\\n"
    "    image += blockIdx.x * 4096; \\\n"
    "    tensor += blockIdx.x * (128 * 72); \\\n"
    "    out += blockIdx.x * (128 * 72); \\\n"
    "    for (int i = t; i < 4096; i += 128) tile[i] = image[i]; \\\n"
    "    asm volatile(\"fence.proxy.async;\" ::: \"memory\"); \\\n"
    "    if (t == 0) { \\\n"
    "        asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(address(&done)) : \"memory\"); \\\n"
    "        asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\"); \\\n"
    "    } \\\n"
    "    if (t < 32) asm volatile(\"tcgen05.alloc.cta_group::\" GROUP \".sync.aligned.shared::cta.b32 [%0], 512;\" :: "
    "\"r\"(address(&place)) : \"memory\"); \\\n"
    "    SYNC; \\\n"
    "    const u32 d = place, own = d + (t / 32 * 32 << 16); \\\n"
    "    for (int c = 0; c < 72; ++c) { \\\n"
    "        const uint4 x = tensor[t * 72 + c]; \\\n"
    "        asm volatile(\"tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1, %2, %3, %4};\" :: \"r\"(own + 4 * c), \"r\"(x.x), "
    "\"r\"(x.y), \"r\"(x.z), \"r\"(x.w) : \"memory\"); \\\n"
    "    } \\\n"
    "    asm volatile(\"tcgen05.wait::st.sync.aligned;\" ::: \"memory\"); \\\n"
    "    asm volatile(\"tcgen05.fence::before_thread_sync;\" ::: \"memory\"); \\\n"
    "    SYNC; \\\n"
    "    asm volatile(\"tcgen05.fence::after_thread_sync;\" ::: \"memory\"); \\\n"
    "    const u64 da = a + (address(tile) >> 4), db = b + (address(tile) >> 4); \\\n"
    "    if (t == 0 && blockIdx.x == 0) { \\\n"
    "        multiply; \\\n"
    "        COMMIT; \\\n"
    "    } \\\n"
    "    asm volatile(\"{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @p bra done; bra again; "
    "done:}\" :: \"r\"(address(&done)) : \"memory\"); \\\n"
    "    asm volatile(\"tcgen05.fence::after_thread_sync;\" ::: \"memory\"); \\\n"
    "    for (int c = 0; c < 72; ++c) { \\\n"
    "        uint4 x; \\\n"
    "        asm volatile(\"tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];\" : \"=r\"(x.x), \"=r\"(x.y), "
    "\"=r\"(x.z), \"=r\"(x.w) : \"r\"(own + 4 * c) : \"memory\"); \\\n"
    "        asm volatile(\"tcgen05.wait::ld.sync.aligned;\" ::: \"memory\"); \\\n"
    "        out[t * 72 + c] = x; \\\n"
    "    } \\\n"
    "    SYNC; \\\n"
    "    if (t < 32) { \\\n"
    "        asm volatile(\"tcgen05.relinquish_alloc_permit.cta_group::\" GROUP \".sync.aligned;\"); \\\n"
    "        asm volatile(\"tcgen05.dealloc.cta_group::\" GROUP \".sync.aligned.b32 %0, 512;\" :: \"r\"(d)); \\\n"
    "    } \\\n"
    "}\n"
    "#define MMA \"tcgen05.mma.cta_group::\" GROUP \".\"\n"
    "#define BOTH(name, kind, more) \\\n"
    "    KERNEL(name, SAME(MMA kind, \"%1\", more)) KERNEL(name##_tensor, SAME(MMA kind, \"[%5]\", more))\n"
    "BOTH(f16, \"kind::f16\", \"\")\n"
    "BOTH(tf32, \"kind::tf32\", \"\")\n"
    "BOTH(f8f6f4, \"kind::f8f6f4\", \"\")\n"
    "BOTH(i8, \"kind::i8\", \"\")\n"
    "BOTH(mxf8f6f4, \"kind::mxf8f6f4.block_scale.scale_vec::1X\", \"[%6], [%7], \")\n"
    "KERNEL(mxf4, SAME(MMA \"kind::mxf4.block_scale.block32\", \"%1\", \"[%6], [%7], \"))\n"
    "KERNEL(mxf4nvf4, SAME(MMA \"kind::mxf4nvf4.block_scale.scale_vec::4X\", \"%1\", \"[%6], [%7], \"))\n"
    "#ifndef PAIR\n"
    "KERNEL(f16_halved, asm volatile(PREDICATE MMA \"kind::f16.collector::a::fill [%0], %1, %2, %3, {%6, %6, %7, 0}, p, 3;}\"\n"
    "    :: \"r\"(d), \"l\"(da), \"l\"(db), \"r\"(how), \"r\"(adds), \"r\"(0), \"r\"(0), \"r\"(0xf0000003) : \"memory\"))\n"
    "#endif\n";

/* ---- layouts ----------------------------------------------------------------------------------------------------------- */

static const uint32_t spans[] = {16, 32, 64, 128, 128};

/* Bits of the descriptor that tell a swizzle. */
static const uint64_t modes[] = {0, 6, 4, 2, 1};

/* Offsets of a layout in bytes: of groups of lines and of depth. Chosen larger than needed, so that none passes for another. */
typedef struct strides {
    uint32_t leading, stride;
} strides;

static strides strides_of(const layout *l, int lines, int k, int element_bits)
{
    const uint32_t span = spans[l->swizzle], core = l->swizzle == 4 ? 4 : 8;

    if (!l->swizzle && !l->is_across)
        return (strides){.leading = 144, .stride = 320};
    if (!l->swizzle)
        return (strides){.leading = (uint32_t)((lines * element_bits / 8 + 15) / 16) * 128 + 16, .stride = 128};
    if (!l->is_across)
        return (strides){.leading = 0, .stride = core * span};
    return (strides){.leading = ((uint32_t)k / core + 1) * core * span, .stride = core * span};
}

/* The offset of the 16 bytes that hold an element, unswizzled; *within is the element's number there. */
static uint32_t chunk_of(const layout *l, strides s, int line, int k, int in_chunk, int *within)
{
    const uint32_t span = spans[l->swizzle], core = l->swizzle == 4 ? 4 : 8;
    const uint32_t along = (uint32_t)(l->is_across ? line : k), other = (uint32_t)(l->is_across ? k : line);
    const uint32_t chunk = along / (uint32_t)in_chunk;

    *within = (int)along % in_chunk;
    if (!l->swizzle && !l->is_across)
        return other / 8 * s.stride + chunk * s.leading + other % 8 * 16;
    if (!l->swizzle)
        return chunk * s.stride + other / 8 * s.leading + other % 8 * 16;
    if (!l->is_across)
        return other / core * s.stride + other % core * span + chunk * 16;
    return chunk * 16 / span * s.leading + chunk * 16 % span + other / core * s.stride + other % core * span;
}

static uint32_t swizzled(int swizzle, uint32_t at)
{
    static const uint32_t masks[] = {0, 1, 3, 7};

    return swizzle == 4 ? at ^ ((at >> 7 & 3) << 5) : at ^ ((at >> 7 & masks[swizzle]) << 4);
}

/* Lay out a factor from an offset of shared memory on; its descriptor. */
static uint64_t lay_out(uint8_t *shared, uint32_t at, const layout *l, const format *f, bool is_mixed, int lines, int k,
                        uint32_t codes[][MOST_K])
{
    const strides s = strides_of(l, lines, k, f->bits);
    /* a tile whose rows are longer than the product's depth begins in the middle of a row */
    const uint32_t start = l->swizzle >= 2 && !l->is_across ? 32 : 0;
    const int in_chunk = is_mixed && f->bits < 8 ? 16 : 128 / f->bits;

    for (int line = 0; line < lines; line++)
        for (int i = 0; i < k; i++) {
            int within;
            const uint32_t chunk = swizzled(l->swizzle, at + start + chunk_of(l, s, line, i, in_chunk, &within));
            cr_assert(lt(u32, chunk, SHARED - 16));
            for (int bit = 0; bit < f->bits; bit++) {
                const int to = within * f->bits + bit;
                if (codes[line][i] >> bit & 1)
                    shared[chunk + (uint32_t)to / 8] |= (uint8_t)(1 << to % 8);
            }
        }
    return (at + start) >> 4 | (uint64_t)(s.leading >> 4) << 16 | (uint64_t)(s.stride >> 4) << 32 | UINT64_C(1) << 46 |
           modes[l->swizzle] << 61;
}

static int blocks_of(const product *p)
{
    return p->blocks ? p->blocks : 1;
}

/* Rows of A and D in a block. */
static int rows_of(const product *p)
{
    return p->m / blocks_of(p);
}

/* The lane and column of an element of D, of a row in its block. */
typedef struct spot {
    int lane, column;
} spot;

static spot spot_of(const product *p, int row, int column)
{
    const int half = p->n / 2;

    if (rows_of(p) == 128)
        return (spot){row, column};
    if (p->blocks == 2)
        return (spot){row + column / half * 64, column % half};
    return (spot){row / 16 * 32 + row % 16 + (int)p->base, column};
}

/* ---- running ----------------------------------------------------------------------------------------------------------- */

static struct {
    uint32_t a[2 * MOST_ROWS][MOST_K], b[MOST_COLUMNS][MOST_K];
    uint8_t scale_a[2 * MOST_ROWS][4], scale_b[MOST_COLUMNS][4];
    uint8_t shared[2][SHARED];
    uint32_t before[2][LANES][COLUMNS], after[2][LANES][COLUMNS];
} host;

static double scale_of(const instruction *what, uint8_t code)
{
    return what->is_e4m3 ? value_of(&e4m3, code & 127) : ldexp(1, code - 127);
}

static double sum_of(const instruction *what, uint32_t word)
{
    float value;

    if (what->sum == S32_SUM)
        return (int32_t)word;
    if (what->sum == F16_SUM)
        return value_of(&f16, word & 0xffff);
    memcpy(&value, &word, 4);
    return (double)value;
}

/* Put the scales of a row, or of a column, into the tensor memory of a block. quarters: those that need them. */
static void put_scales(int block, int first, int i, int quarters, const uint8_t *scales, const product *p)
{
    for (int q = 0; q < 4; q++)
        if (quarters >> q & 1)
            memcpy((uint8_t *)&host.before[block][q * 32 + i % 32][first + i / 32] + p->id, scales, (size_t)p->what->scales);
}

static void draw_scales(const product *p)
{
    const int rows = rows_of(p), half = p->n / 2;
    uint8_t *const all[] = {host.scale_a[0], host.scale_b[0]};
    const size_t bytes[] = {sizeof host.scale_a, sizeof host.scale_b};

    for (int factor = 0; factor < 2; factor++)
        for (size_t i = 0; i < bytes[factor]; i++)
            all[factor][i] = (uint8_t)(p->what->is_e4m3 ? rand() % 127 : 120 + rand() % 14);
    for (int block = 0; block < blocks_of(p); block++) {
        for (int i = 0; i < rows; i++)
            put_scales(block, SCALES_A, i, 15, host.scale_a[block * rows + i], p);
        for (int i = 0; i < p->n; i++)
            if (rows == 64)
                put_scales(block, SCALES_B, i % half, i < half ? 3 : 12, host.scale_b[i], p);
            else
                put_scales(block, SCALES_B, i, 15, host.scale_b[i], p);
    }
}

static void draw(const product *p, uint64_t descriptor[2])
{
    const instruction *what = p->what;
    const bool is_mixed = what->k == 32;
    const int rows = rows_of(p), columns = p->n / blocks_of(p);

    memset(host.shared, 0, sizeof host.shared);
    for (int k = 0; k < what->k; k++) {
        for (int i = 0; i < p->m; i++)
            host.a[i][k] = random_code(what->a);
        for (int i = 0; i < p->n; i++)
            host.b[i][k] = random_code(what->b);
    }
    for (int i = 0; i < 2 * LANES * COLUMNS; i++) {
        const float value = (float)(rand() % 2001 - 1000) / 8;
        uint32_t *word = &host.before[0][0][0] + i;
        memcpy(word, &value, 4);
        if (what->sum == F16_SUM)
            *word = (*word & 0xffff0000) | random_code(&f16);
    }
    for (int block = 0; block < blocks_of(p); block++) {
        descriptor[0] = lay_out(host.shared[block], 0, &p->a, what->a, is_mixed, rows, what->k, host.a + block * rows);
        descriptor[1] = lay_out(host.shared[block], B_AT, &p->b, what->b, is_mixed, columns, what->k, host.b + block * columns);
        for (int i = 0; i < rows && p->is_a_in_tensor; i++)
            for (int k = 0; k < what->k; k++) {
                const int bit = k * what->a->bits;
                uint32_t *word = &host.before[block][spot_of(p, i, 0).lane][A_AT + bit / 32];
                *word = (bit % 32 ? *word : 0) | host.a[block * rows + i][k] << bit % 32;
                if (p->blocks == 2 && rows == 64) /* both halves of the lanes need it */
                    host.before[block][i + 64][A_AT + bit / 32] = *word;
            }
    }
    if (what->scales)
        draw_scales(p);
}

static uint32_t descriptor_of(const product *p)
{
    const instruction *what = p->what;
    const uint32_t common = (uint32_t)(what->a->number << 7 | what->b->number << 10 | p->n / 8 << 17 | p->m / 16 << 24) |
                            (uint32_t)p->a.is_across << 15 | (uint32_t)p->b.is_across << 16 | (p->negates ? 3u << 13 : 0);

    if (what->scales)
        return common | p->id << 29 | p->id << 4 | (what->is_e4m3 ? 0 : 1u << 23);
    return common | (uint32_t)what->sum << 4;
}

/* Is the lane one that the kernel f16_halved tells to stay? */
static bool stays(const product *p, int lane)
{
    return p->halvings && lane / 32 == 2 && (0xf0000003u >> lane % 32 & 1);
}

static double reference(const product *p, int row, int column, double *size)
{
    const instruction *what = p->what;
    /* tensor cores ignore the lower 13 bits of tf32 */
    const uint32_t mask = what->a == &tf32 ? ~0x1fffu : UINT32_MAX;
    double sum = 0;

    for (int k = 0; k < what->k; k++) {
        const int s = what->scales ? k * what->scales / what->k : 0;
        const double scale = what->scales ? scale_of(what, host.scale_a[row][s]) * scale_of(what, host.scale_b[column][s]) : 1;
        const double term = value_of(what->a, host.a[row][k] & mask) * value_of(what->b, host.b[column][k] & mask) * scale;
        sum += term;
        *size += fabs(term);
    }
    return sum;
}

static void expect_product(const product *p, const char *label)
{
    const instruction *what = p->what;
    static bool is_d[2][LANES][COLUMNS];

    memset(is_d, 0, sizeof is_d);
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            const int block = i / rows_of(p);
            const spot at = spot_of(p, i % rows_of(p), j);
            const double c = p->adds ? ldexp(sum_of(what, host.before[block][at.lane][at.column]), -p->halvings) : 0;
            const double got = sum_of(what, host.after[block][at.lane][at.column]);
            double size = fabs(c), sum = c + reference(p, i, j, &size);
            if (stays(p, at.lane))
                continue;
            is_d[block][at.lane][at.column] = true;
            cr_assert(fabs(got - sum) <= (what->sum == S32_SUM ? 0 : ldexp(size, what->sum == F16_SUM ? -10 : -20)),
                      "%s: row %d, column %d: %g, not %g", label, i, j, got, sum);
        }
    for (int block = 0; block < blocks_of(p); block++)
        for (int lane = 0; lane < LANES; lane++)
            for (int c = 0; c < COLUMNS; c++)
                cr_assert(is_d[block][lane][c] || host.after[block][lane][c] == host.before[block][lane][c],
                          "%s: lane %d, column %d changed", label, lane, c);
}

/* Run a product; the findings. spoil: changes what was drawn, or NULL. */
static findings launch_product(void *module, const product *p, const char *label, void (*spoil)(void))
{
    enum { MOST_SHARED = 8 };
    uint64_t descriptor[2], image, tensor, out = device_memory(sizeof host.after, NULL);
    uint32_t how = descriptor_of(p), adds = p->adds, base = p->base;
    void *function = NULL, *parameters[] = {&image, &tensor, &out, &descriptor[0], &descriptor[1], &how, &adds, &base};
    findings found;
    char name[64];
    int result;

    draw(p, descriptor);
    if (spoil)
        spoil();
    image = device_memory(sizeof host.shared, host.shared);
    tensor = device_memory(sizeof host.before, host.before);
    snprintf(name, sizeof name, "%s%s", p->what->kernel, p->is_a_in_tensor ? "_tensor" : p->halvings ? "_halved" : "");
    cr_assert(eq(int, cu.function(&function, module, name), 0), "%s", name);
    cr_assert(eq(int, cu.set_attribute(function, MOST_SHARED, SHARED), 0));
    result = launch_and_wait(function, (unsigned)blocks_of(p), LANES, SHARED, parameters);
    found = take_findings();
    cr_assert(eq(int, result != 0, found.count != 0), "%s", label);
    if (result == 0)
        cr_assert(eq(int, cu.read(host.after, out, sizeof host.after), 0));
    cr_assert(cu.free(image) == 0 && cu.free(tensor) == 0 && cu.free(out) == 0);
    return found;
}

static void run(void *module, const product *p)
{
    char label[256];
    findings found;

    snprintf(label, sizeof label, "%s%s, types %d and %d, sum %d, %d x %d, A %s%d, B %s%d, scales from %u", p->what->kernel,
             p->is_a_in_tensor ? "_tensor" : "", p->what->a->number, p->what->b->number, p->what->sum, p->m, p->n,
             p->a.is_across ? "across " : "", p->a.swizzle, p->b.is_across ? "across " : "", p->b.swizzle, p->id);
    found = launch_product(module, p, label, NULL);
    cr_assert(eq(sz, found.count, 0), "%s: %s: %s", label, kind_names[found.first[0].kind], found.first[0].text);
    expect_product(p, label);
}

/* Load the kernels. before: text before theirs. */
static void *load_all(const char *target, const char *before)
{
    char *source = NULL, *ptx, log[1024];
    void *module;

    cr_assert(gt(int, asprintf(&source, "%s%s", before, text), 0));
    ptx = compile_text(nvrtc_or_skip("emulator/tcgen05"), source, target, "the instructions");
    module = load_ptx(ptx, log, sizeof log);
    free(source);

    cr_assert(ne(ptr, module, NULL), "%s", log);
    free(ptx);
    srand(1);
    return module;
}

static const instruction instructions[] = {
    {"f16", &f16, &f16, 16, F32_SUM, 0, false},        {"f16", &f16, &f16, 16, F16_SUM, 0, false},
    {"f16", &bf16, &bf16, 16, F32_SUM, 0, false},      {"f16", &f16, &bf16, 16, F32_SUM, 0, false},
    {"tf32", &tf32, &tf32, 8, F32_SUM, 0, false},      {"f8f6f4", &e4m3, &e5m2, 32, F32_SUM, 0, false},
    {"f8f6f4", &e4m3, &e4m3, 32, F16_SUM, 0, false},   {"f8f6f4", &e2m1, &e4m3, 32, F32_SUM, 0, false},
    {"f8f6f4", &e3m2, &e2m3, 32, F32_SUM, 0, false},   {"i8", &s8, &u8, 32, S32_SUM, 0, false},
    {"i8", &u8, &s8, 32, S32_SUM, 0, false},           {"mxf8f6f4", &e4m3, &e4m3, 32, F32_SUM, 1, false},
    {"mxf8f6f4", &e5m2, &e2m1, 32, F32_SUM, 1, false}, {"mxf8f6f4", &e2m3, &e3m2, 32, F32_SUM, 1, false},
    {"mxf4", &packed, &packed, 64, F32_SUM, 2, false}, {"mxf4nvf4", &packed, &packed, 64, F32_SUM, 4, true},
};

enum { INSTRUCTIONS = sizeof instructions / sizeof instructions[0] };

/* Can a factor lie so? Elements below a byte lie along the depth, and those of 32 bits have a swizzle of their own across it. */
static bool is_possible(const format *f, const layout *l)
{
    return !l->is_across || (f->bits >= 8 && (f->bits < 32 || l->swizzle == 4));
}

static const int widths[] = {8, 16, 32, 48, 64, 96, 128, 208, 256};

Test(tcgen05, products_of_shared_memory)
{
    void *const module = load_all("sm_100a", "");
    int runs = 0;

    for (int i = 0; i < INSTRUCTIONS; i++)
        for (int l = i % 2; l < 20; l += 2) {
            const instruction *what = &instructions[i];
            const int m = (what->scales || runs % 2) ? 128 : 64;
            const int most = what->k == 8 || l % 5 == 0 ? 5 : 9; /* B must fit into its half of the memory */
            product p = {.what = what,
                         .m = m,
                         .n = widths[runs % most],
                         .a = {l % 5, l / 5 % 2},
                         .b = {(l + i) % 5, l / 10},
                         .adds = runs % 3 != 0,
                         .negates = what->a->exponent && runs % 5 == 1,
                         .id = what->scales ? (uint32_t)(runs * what->scales % 4) : 0,
                         .base = m == 64 && runs % 4 == 0 ? 16 : 0};
            if (m == 128 && p.n % 16)
                p.n = 16;
            if (!is_possible(what->a, &p.a) || !is_possible(what->b, &p.b))
                continue;
            run(module, &p);
            runs++;
        }
    cr_assert(gt(int, runs, 90), "%d", runs);
}

Test(tcgen05, a_in_tensor_memory)
{
    void *const module = load_all("sm_100a", "");

    for (int i = 0; i < 12; i++) {
        const instruction *what = &instructions[i];
        product p = {.what = what,
                     .m = what->scales || i % 2 ? 128 : 64,
                     .n = 48,
                     .a = {3, false},
                     .b = {i % 4, false},
                     .is_a_in_tensor = true,
                     .adds = true};
        if (what->a->bits >= 8)
            run(module, &p);
    }
}

Test(tcgen05, sums_are_halved_and_lanes_stay)
{
    const product p = {.what = instructions, .m = 128, .n = 64, .a = {3, false}, .b = {3, false}, .adds = true, .halvings = 3};

    run(load_all("sm_100f", ""), &p);
}

Test(tcgen05, products_of_a_pair)
{
    void *const module = load_all("sm_100a", "#define PAIR\n");

    for (int i = 0; i < INSTRUCTIONS; i++)
        for (int l = i % 2; l < 6; l += 2) {
            const instruction *what = &instructions[i];
            const product p = {.what = what,
                               .m = l % 2 ? 128 : 256,
                               .n = l % 3 * 64 + 64,
                               .a = {(l + i) % 4, l > 3 && what->a->bits < 32 && what->a->bits >= 8},
                               .b = {l % 4, l == 3 && what->b->bits < 32 && what->b->bits >= 8},
                               .is_a_in_tensor = l == 1 && what->a->bits >= 8 && what->k < 64,
                               .adds = l % 3 != 0,
                               .blocks = 2};
            run(module, &p);
        }
}

/* A quarter of the lanes has another scale of B. */
static void spoil_scale(void)
{
    host.before[0][3 * 32 + 5][SCALES_B] ^= 1;
}

Test(tcgen05, scales_that_differ_between_quarters_are_found)
{
    static const product p = {.what = &instructions[11], .m = 128, .n = 32, .a = {3, false}, .b = {3, false}};
    const findings found = launch_product(load_all("sm_100a", ""), &p, "scales", spoil_scale);

    cr_assert(eq(int, found.first[0].kind, CUEMU_TENSOR_MEMORY));
    cr_expect(ne(ptr, strstr(found.first[0].text, "differ between lanes 5 and 101"), NULL), "%s", found.first[0].text);
}

/* ---- loads and stores -------------------------------------------------------------------------------------------------- */

/*
 * The word of register i of thread t, as strides in bits over rows of `width` bits: of t's lower, middle and upper digit, and of i's,
 * as CUTLASS has them for four times a shape. 16x32bx2 has the words of its upper threads 9 columns further.
 */
static const struct shape {
    const char *name, *second; /* second: an operand, or "" */
    int lanes, registers, width;
    int thread_digits[2], thread_strides[3], digits[2], strides[3];
} shapes[] = {
    {"16x64b", "", 16, 4, 256, {2, 2}, {8 * 256, 32, 256}, {4, 1}, {64}},
    {"16x128b", "", 16, 8, 512, {4, 8}, {32, 512}, {2, 4}, {8 * 512, 128}},
    {"16x256b", "", 16, 16, 1024, {4, 8}, {64, 1024}, {2, 2}, {32, 8 * 1024, 256}},
    {"32x32b", "", 32, 4, 128, {32, 1}, {128}, {4, 1}, {32}},
    {"16x32bx2", "9, ", 16, 4, 512, {16, 2}, {512, 0}, {4, 1}, {32}},
};

static int offset_of(int n, const int digits[2], const int strides[3])
{
    return n % digits[0] * strides[0] + n / digits[0] % digits[1] * strides[1] + n / digits[0] / digits[1] * strides[2];
}

/* "{%8, %9}" and "\"+r\"(r[0])," for registers. */
static void append_registers(char *to, int first, int count)
{
    for (int i = 0; i < count; i++)
        sprintf(to + strlen(to), "%s%%%d%s", i ? ", " : "{", first + i, i + 1 == count ? "}" : "");
}

static char *shape_text(const struct shape *s, bool packs)
{
    char registers[200] = "", outputs[400] = "", inputs[400] = "", split[8], *all = NULL;

    append_registers(registers, 0, s->registers);
    for (int i = 0; i < s->registers; i++) {
        sprintf(outputs + strlen(outputs), "%s\"=r\"(q[%d])", i ? ", " : "", i);
        sprintf(inputs + strlen(inputs), "%s\"r\"(r[%d])", i ? ", " : "", i);
    }
    snprintf(split, sizeof split, "%s%.1s", s->second[0] ? ", " : "", s->second);
    cr_assert(
        gt(int,
           asprintf(
               &all,
               "typedef unsigned int u32;\n"
               "extern \"C\" __global__ void kernel(u32 *words, u32 *back, u32 base)\n{\n"
               "    __shared__ u32 place;\n"
               "    const int t = threadIdx.x;\n"
               "    u32 r[16], q[16], x;\n"
               "    asm volatile(\"tcgen05.alloc.cta_group::1.sync.aligned.b32 [%%0], 128;\" :: \"l\"(&place) : \"memory\");\n"
               "    __syncwarp();\n"
               "    for (int i = 0; i < 16; ++i) r[i] = t << 16 | i;\n"
               "    x = ~0u;\n"
               "    for (int c = 0; c < 128; ++c)\n"
               "        asm volatile(\"tcgen05.st.sync.aligned.32x32b.x1.b32 [%%0], {%%1};\" :: \"r\"(place + c), \"r\"(x));\n"
               "    asm volatile(\"tcgen05.st.sync.aligned.%s.x4%s.b32 [%%%d], %s%s;\" :: %s, \"r\"(place + base));\n"
               "    asm volatile(\"tcgen05.wait::st.sync.aligned;\" ::: \"memory\");\n"
               "    for (int c = 0; c < 128; ++c) {\n"
               "        asm volatile(\"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%%0}, [%%1];\" : \"=r\"(x) : \"r\"(place + c));\n"
               "        asm volatile(\"tcgen05.wait::ld.sync.aligned;\" ::: \"memory\");\n"
               "        words[t * 128 + c] = x;\n"
               "    }\n"
               "    asm volatile(\"tcgen05.ld.sync.aligned.%s.x4%s.b32 %s, [%%%d]%s;\" : %s : \"r\"(place + base));\n"
               "    asm volatile(\"tcgen05.wait::ld.sync.aligned;\" ::: \"memory\");\n"
               "    for (int i = 0; i < %d; ++i) back[t * 16 + i] = q[i];\n"
               "    asm volatile(\"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %%0, 128;\" :: \"r\"(place));\n"
               "}\n",
               s->name, packs ? ".unpack::16b" : "", s->registers, s->second, registers, inputs, s->name,
               packs ? ".pack::16b" : "", registers, s->registers, split, outputs, s->registers),
           0));
    return all;
}

static void expect_shape(const struct shape *s, bool packs, uint32_t base, uint32_t words[32][128], uint32_t back[32][16])
{
    uint32_t wanted[32][128];

    memset(wanted, 0xff, sizeof wanted);
    for (int t = 0; t < 32; t++)
        for (int i = 0; i < s->registers; i++) {
            const int at = offset_of(t, s->thread_digits, s->thread_strides) + offset_of(i, s->digits, s->strides);
            const int lane = at / s->width + (int)base, further = s->second[0] && t >= 16 ? 9 : 0;
            const int column = at % s->width / 32 * (packs ? 2 : 1) + further;
            wanted[lane][column] = packs ? (uint32_t)i : (uint32_t)(t << 16 | i);
            if (packs)
                wanted[lane][column + 1] = (uint32_t)t;
            cr_expect(eq(u32, back[t][i], (uint32_t)(t << 16 | i)), "%s: thread %d, register %d", s->name, t, i);
        }
    for (int lane = 0; lane < 32; lane++)
        for (int c = 0; c < 128; c++)
            cr_assert(eq(u32, words[lane][c], wanted[lane][c]), "%s%s: lane %d, column %d", s->name, packs ? ", packed" : "",
                      lane, c);
}

Test(tcgen05, shapes_of_loads_and_stores)
{
    static uint32_t words[32][128], back[32][16];
    const nvrtc *by = nvrtc_or_skip("emulator/tcgen05");

    for (size_t n = 0; n < 2 * sizeof shapes / sizeof shapes[0]; n++) {
        const struct shape *s = &shapes[n / 2];
        const bool packs = n % 2;
        uint32_t base = s->lanes == 16 && n % 4 < 2 ? 16 : 0, where = base << 16;
        char *source = shape_text(s, packs), *ptx = compile_text(by, source, "sm_100a", s->name), log[1024];
        uint64_t to = device_memory(sizeof words, NULL), also = device_memory(sizeof back, NULL);
        void *function = NULL, *module, *parameters[] = {&to, &also, &where};
        findings found;
        int result;
        module = load_ptx(ptx, log, sizeof log);
        cr_assert(ne(ptr, module, NULL), "%s", log);
        cr_assert(eq(int, cu.function(&function, module, "kernel"), 0));
        result = launch_and_wait(function, 1, 32, 0, parameters);
        found = take_findings();
        cr_assert(eq(sz, found.count, 0), "%s: %s", s->name, found.first[0].text);
        cr_assert(eq(int, result, 0), "%s", s->name);
        cr_assert(cu.read(words, to, sizeof words) == 0 && cu.read(back, also, sizeof back) == 0);
        expect_shape(s, packs, base, words, back);
        cr_assert(cu.free(to) == 0 && cu.free(also) == 0);
        free(source);
        free(ptx);
    }
}

/* ---- copies ------------------------------------------------------------------------------------------------------------ */

/* Rows of 16 or 32 bytes; `lanes` are those of row 0, and of row 32 if there is one. */
static const struct copy {
    const char *name;
    int rows, words, lanes[2][4], copies;
} copies[] = {
    {"128x256b", 128, 8, {{0}, {32}}, 1},
    {"4x256b", 4, 8, {{0}}, 1},
    {"128x128b", 128, 4, {{0}, {32}}, 1},
    {"64x128b.warpx2::02_13", 64, 4, {{0, 64}, {32, 96}}, 2},
    {"64x128b.warpx2::01_23", 64, 4, {{0, 32}, {64, 96}}, 2},
    {"32x128b.warpx4", 32, 4, {{0, 32, 64, 96}}, 4},
};

static const char copy_text[] =
    "typedef unsigned int u32;\n"
    "typedef unsigned long long u64;\n"
    "static __device__ u32 address(const void *p) { return (u32)__cvta_generic_to_shared(p); }\n"
    "extern \"C\" __global__ void kernel(const uint4 *image, u32 *out, u64 descriptor)\n{\n"
    "    __shared__ __align__(1024) uint4 tile[1024];\n"
    "    __shared__ u64 done;\n"
    "    __shared__ u32 place;\n"
    "    const int t = threadIdx.x;\n"
    "    for (int i = t; i < 1024; i += 128) tile[i] = image[i];\n"
    "    asm volatile(\"fence.proxy.async;\" ::: \"memory\");\n"
    "    if (t == 0) {\n"
    "        asm volatile(\"mbarrier.init.shared::cta.b64 [%0], 1;\" :: \"r\"(address(&done)) : \"memory\");\n"
    "        asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n"
    "    }\n"
    "    if (t < 32) asm volatile(\"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;\" :: "
    "\"r\"(address(&place)) : \"memory\");\n"
    "    __syncthreads();\n"
    "    const u32 own = place + (t / 32 * 32 << 16);\n"
    "    for (int c = 0; c < 8; ++c)\n"
    "        asm volatile(\"tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};\" :: \"r\"(own + c), \"r\"(0));\n"
    "    asm volatile(\"tcgen05.wait::st.sync.aligned;\" ::: \"memory\");\n"
    "    asm volatile(\"tcgen05.fence::before_thread_sync;\" ::: \"memory\");\n"
    "    __syncthreads();\n"
    "    asm volatile(\"tcgen05.fence::after_thread_sync;\" ::: \"memory\");\n"
    "    if (t == 0) {\n"
    "        asm volatile(\"tcgen05.cp.cta_group::1.SHAPE [%0], %1;\" :: \"r\"(place), \"l\"(descriptor + (address(tile) >> "
    "4)) : "
    "\"memory\");\n"
    "        asm volatile(\"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];\" :: "
    "\"r\"(address(&done)) : \"memory\");\n"
    "    }\n"
    "    asm volatile(\"{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @p bra done; bra again; "
    "done:}\" :: \"r\"(address(&done)) : \"memory\");\n"
    "    asm volatile(\"tcgen05.fence::after_thread_sync;\" ::: \"memory\");\n"
    "    for (int c = 0; c < 8; ++c) {\n"
    "        u32 x;\n"
    "        asm volatile(\"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];\" : \"=r\"(x) : \"r\"(own + c));\n"
    "        asm volatile(\"tcgen05.wait::ld.sync.aligned;\" ::: \"memory\");\n"
    "        out[t * 8 + c] = x;\n"
    "    }\n"
    "    __syncthreads();\n"
    "    if (t < 32) asm volatile(\"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;\" :: \"r\"(place));\n"
    "}\n";

static void expect_copy(const struct copy *one, const uint32_t *image, int swizzle, const strides *s, uint32_t out[LANES][8])
{
    const layout l = {swizzle, false};
    uint32_t wanted[LANES][8] = {{0}};

    for (int row = 0; row < one->rows; row++)
        for (int word = 0; word < one->words; word++) {
            int within;
            const uint32_t at = swizzled(swizzle, chunk_of(&l, *s, row, word, 4, &within));
            for (int i = 0; i < one->copies; i++) {
                const int lane = one->rows == 4 ? 32 * row : one->lanes[row / 32 % 2][i] + row % 32 + (row >= 64 ? 64 : 0);
                wanted[lane][word] = image[at / 4 + (uint32_t)within];
            }
        }
    for (int lane = 0; lane < LANES; lane++)
        for (int word = 0; word < 8; word++)
            cr_assert(eq(u32, out[lane][word], wanted[lane][word]), "%s, swizzle %d: lane %d, column %d", one->name, swizzle,
                      lane, word);
}

Test(tcgen05, copies_to_tensor_memory)
{
    static uint32_t image[4096], out[LANES][8];
    const nvrtc *by = nvrtc_or_skip("emulator/tcgen05");

    for (uint32_t i = 0; i < 4096; i++)
        image[i] = i * 2654435761u;
    for (size_t n = 0; n < 2 * sizeof copies / sizeof copies[0]; n++) {
        const struct copy *one = &copies[n / 2];
        const layout l = {n % 2 ? 3 : 0, false};
        const strides s = n % 2 ? strides_of(&l, one->rows, 0, 32) : (strides){2048 + 128, 128};
        uint64_t descriptor =
            (uint64_t)(s.leading >> 4) << 16 | (uint64_t)(s.stride >> 4) << 32 | UINT64_C(1) << 46 | modes[l.swizzle] << 61;
        uint64_t in = device_memory(sizeof image, image), to = device_memory(sizeof out, NULL);
        const char *at = strstr(copy_text, "SHAPE");
        char *source = NULL, *ptx, log[1024];
        void *function = NULL, *module, *parameters[] = {&in, &to, &descriptor};
        findings found;
        cr_assert(gt(int, asprintf(&source, "%.*s%s%s", (int)(at - copy_text), copy_text, one->name, at + 5), 0));
        ptx = compile_text(by, source, "sm_100a", one->name);
        module = load_ptx(ptx, log, sizeof log);
        cr_assert(ne(ptr, module, NULL), "%s", log);
        cr_assert(eq(int, cu.function(&function, module, "kernel"), 0));
        cr_assert(eq(int, launch_and_wait(function, 1, LANES, 0, parameters), 0), "%s", one->name);
        found = take_findings();
        cr_assert(eq(sz, found.count, 0), "%s: %s", one->name, found.first[0].text);
        cr_assert(eq(int, cu.read(out, to, sizeof out), 0));
        expect_copy(one, image, l.swizzle, &s, out);
        cr_assert(cu.free(in) == 0 && cu.free(to) == 0);
        free(source);
        free(ptx);
    }
}
