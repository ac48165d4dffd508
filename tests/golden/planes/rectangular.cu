// j512 k300 l700 f32 compute:f32_split
//
//     P (512 x 700) = M (512 x 300) . N (300 x 700)
//
// FP32-accurate products on tensor cores. An element of M or N is written as a sum of narrower numbers, its planes, whose products
// tensor cores make; their sums are f32. The kernels of this text follow each other in the stream, and each may start before the one
// ahead has ended, for whose results it then waits:
//
//     split     finds the largest of each line (a row of M, a column of N), scales the line by a power of two, and writes its two
//               planes of f16; on its way it measures what would make them inexact
//     decide    chooses, for each product of the batch, which of the three kernels below multiplies; the others return at once
//     planes    three products of f16: low * high and high * low, then high * high
//     widen     writes three planes of bf16 in the place of those of f16
//     wide      six products of bf16, where elements of one line span too much for f16
//     plain     FP32 as IEEE has it: infinities, NaN, products that may overflow or be subnormal
//
// A line lies along k in whichever layout its matrix is. Lines and k are filled up with zeros to whole tiles.

using input_t = float;
using output_t = float;
using sum_t = float;
using index_t = int;

constexpr index_t j = 512;
constexpr index_t k = 300;
constexpr index_t l = 700;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 32;
constexpr int WM = 64;
constexpr int WN = 32;
constexpr int STAGES = 3;
constexpr int BLOCKS = 1;
constexpr int P_VECTOR = 2;  // elements that one instruction stores
constexpr int PLANES = 2;  // of f16
constexpr int THREADS = 32 * (BM / WM) * (BN / WN);

// Neighbouring elements, as one instruction takes them.
template <typename element_t, int COUNT>
struct alignas(COUNT * sizeof(element_t)) vector_t {
    element_t element[COUNT];
};

template <int COUNT, typename element_t>
__device__ __forceinline__ vector_t<element_t, COUNT> read(const element_t *from)
{
    return *reinterpret_cast<const vector_t<element_t, COUNT> *>(from);
}

// Copies from global to shared memory past the registers (sm_80 and newer): a thread starts them, commits them as one group,
// and goes on; it waits for a group before it reads what the group brought.

template <int BYTES>
__device__ __forceinline__ void copy_async(void *to, const void *from)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(BYTES));
}

__device__ __forceinline__ void commit_copies()
{
    asm volatile("cp.async.commit_group;");
}

// Until at most this many groups, the latest ones, are still under way.
template <int GROUPS>
__device__ __forceinline__ void wait_for_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS));
}

// Products of small matrices by the tensor cores: a warp multiplies 16 rows of M by 8 columns of N, K_STEP elements deep, and adds
// the product to 16 x 8 sums. Each lane holds a part of each of the three, a fragment. Of lane 4 g + t:
//
//                                              columns of N
//                                                   g
//                          chunk 0             +---------+
//                                            t |  n[0]   |
//    rows        chunk 0     chunk 1           +---------+
//    of M           t           t      chunk 1 |         |
//             +-----------+-----------+      t |  n[1]   |
//           g |   m[0]    |   m[2]    |        +---------+
//             +-----------+-----------+          2t  2t+1
//       g + 8 |   m[1]    |   m[3]    |      g  sum  sum
//             +-----------+-----------+  g + 8  sum  sum
//
// A chunk is 16 bytes along k, of which lane t holds the 4 bytes numbered t.
using fragment_t = unsigned int;

// Four matrices of 8 lines of 16 bytes each. Lane i says where line i % 8 of matrix i / 8 begins; lane 4 g + t receives the 4 bytes
// numbered t of line g of each.
__device__ __forceinline__ void load_matrices(fragment_t (&to)[4], const void *line)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(line));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared));
}

// Of planes of f16 or of bf16.
template <bool ARE_BF16>
__device__ __forceinline__ void multiply_add(const fragment_t (&m)[4], const fragment_t (&n)[2], sum_t &sum0, sum_t &sum1, sum_t &sum2, sum_t &sum3)
{
    if constexpr (ARE_BF16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(sum0), "+f"(sum1), "+f"(sum2), "+f"(sum3)
                     : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(sum0), "+f"(sum1), "+f"(sum2), "+f"(sum3)
                     : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]));
}

// Tiles in shared memory whose lines ldmatrix reads, 8 lines at once, 16 bytes of each. In plain order these would lie in the same
// banks. So the 16-byte chunks of a line change places, in another way for each of the 8 lines that are read together.
template <int CHUNKS>
__device__ __forceinline__ int swizzle(int line, int chunk, int reader)
{
    constexpr int LINES = CHUNKS < 8 ? 8 / CHUNKS : 1;  // those that fill the banks once
    return line * CHUNKS + (chunk ^ reader / LINES % (CHUNKS < 8 ? CHUNKS : 8));
}

// A line is a row of M or a column of N, and lies along k in the planes.
using plane_t = unsigned short;  // the bits of an f16 or of a bf16
constexpr int PATH_F16 = 1, PATH_BF16 = 2, PATH_F32 = 3;  // tj_path
constexpr int MOST_PLANES = 3;
constexpr int TOP = 14;  // the largest of a line becomes a number from 2^14 on, below 2^15
constexpr int LOW = 11;  // what is missing in the high plane is multiplied by 2^11: bits of an f16
constexpr long long K_LINE = 320;  // elements of a line
constexpr long long M_LINES = 512;
constexpr long long N_LINES = 768;
constexpr int M_PRODUCTS = 1;  // matrices of M: one where the products of a batch share it
constexpr int N_PRODUCTS = 1;

// What is known of a line.
struct __align__(16) line_t {
    unsigned int most, least;  // bits of the largest absolute value, and of the smallest that is not 0
    int small, large;          // elements whose planes of f16 miss some of their bits; elements not far below the largest
};

// Of all lines, in the workspace: the exponents that their sums are multiplied by, and what decide looks at.
struct lines_t {
    int m_exponent[M_PRODUCTS][M_LINES];
    int n_exponent[N_PRODUCTS][N_LINES];
    line_t m[M_PRODUCTS][M_LINES];
    line_t n[N_PRODUCTS][N_LINES];
};

// Which M and N of the batch a product reads.
__device__ __forceinline__ int m_of(int product)
{
    return M_PRODUCTS > 1 ? product : 0;
}

__device__ __forceinline__ int n_of(int product)
{
    return N_PRODUCTS > 1 ? product : 0;
}

// 2^exponent, of a number that is not subnormal.
__device__ __forceinline__ float power_of_2(int exponent)
{
    return __int_as_float((exponent + 127) << 23);
}

// value * 2^exponent, rounded once: in two steps, both up or both down, because one might be beyond the range of f32.
__device__ __forceinline__ float scale_by(float value, int exponent)
{
    const int within = max(-252, min(254, exponent)), half = within >> 1;
    return value * power_of_2(half) * power_of_2(within - half);
}

// The exponent of the highest bit of a number that is not 0, subnormal ones included.
__device__ __forceinline__ int exponent_of(unsigned int bits)
{
    return bits >> 23 ? static_cast<int>(bits >> 23) - 127 : -118 - __clz(bits);
}

// A block walks LINES lines at a time, each thread a part of one of them: a chunk of neighbours along k, which are 16 bytes of a plane,
// and then every LINE_STEP elements another. Where a line lies along k in memory, so do the threads of a warp; where it lies across,
// threads side by side take LINES lines, and load neighbours too.
constexpr int LINE_THREADS = 512;
constexpr int LINE_BLOCKS = 2;
constexpr int LINES = 8;
constexpr int CHUNK = 8;
constexpr int LINE_STEP = LINE_THREADS / LINES * CHUNK;
using chunk_t = vector_t<input_t, CHUNK>;

template <bool ALONG_K>
__device__ __forceinline__ int line_of_thread()
{
    return ALONG_K ? threadIdx.x / 32 % LINES : threadIdx.x % LINES;
}

// use(k, the chunk from there on), for all of this thread's part of the line. VECTOR: elements that one instruction may load.
template <bool ALONG_K, int VECTOR, typename use_t>
__device__ __forceinline__ void walk_line(const input_t *from, long long ld, long long line, long long lines, use_t use)
{
    const int place = ALONG_K ? threadIdx.x / 32 / LINES * 32 + threadIdx.x % 32 : threadIdx.x / LINES;
    const auto load = [&](long long at_k) {
        chunk_t chunk;
#pragma unroll
        for (int i = 0; i < CHUNK; i += VECTOR) {
            const long long kk = at_k + i;
            vector_t<input_t, VECTOR> part = {};
            if (line < lines && kk < k)
                part = read<VECTOR>(&from[ALONG_K ? line * ld + kk : kk * ld + line]);
#pragma unroll
            for (int e = 0; e < VECTOR; ++e)
                chunk.element[i + e] = part.element[e];
        }
        return chunk;
    };
    long long at_k = place * CHUNK;
    chunk_t next = load(at_k);
#pragma unroll 1
    for (; at_k < K_LINE; at_k += LINE_STEP) {
        const chunk_t chunk = next;
        next = load(at_k + LINE_STEP);  // nothing, beyond the end
        use(at_k, chunk);
    }
}

// A chunk of one plane, as pairs of elements, in one piece.
__device__ __forceinline__ void store_chunk(plane_t *planes, long long lines, int plane, long long line, long long at_k, const unsigned int (&pairs)[CHUNK / 2])
{
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(&planes[(plane * lines + line) * K_LINE + at_k])),
                 "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3]) : "memory");
}

__device__ __forceinline__ unsigned int to_halves(float first, float second)
{
    unsigned int pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}

__device__ __forceinline__ float from_half(unsigned int bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(bits)));
    return value;
}

// LINES lines: the first walk finds their largest elements, the second writes the planes.
template <bool ALONG_K, int VECTOR>
__device__ __forceinline__ void split_lines(line_t (&found)[LINES], const input_t *from, long long ld, long long first, long long lines, long long all_lines, int *exponents, line_t *facts, plane_t *planes)
{
    constexpr int APART = ALONG_K ? 1 : LINES;  // lanes that have parts of the same line
    const bool speaks = threadIdx.x % 32 < APART;  // for these lanes
    const int which = line_of_thread<ALONG_K>();
    const long long line = first + which;
    if (threadIdx.x < LINES)
        found[threadIdx.x] = {0, ~0u, 0, 0};
    __syncthreads();

    unsigned int most = 0;
    walk_line<ALONG_K, VECTOR>(from, ld, line, lines, [&](long long, const chunk_t &chunk) {
#pragma unroll
        for (int i = 0; i < CHUNK; ++i)
            most = max(most, __float_as_uint(fabsf(chunk.element[i])));
    });
#pragma unroll
    for (int other = 16; other >= APART; other /= 2)
        most = max(most, __shfl_xor_sync(~0u, most, other));
    if (speaks)
        atomicMax(&found[which].most, most);
    __syncthreads();
    most = found[which].most;
    // Of a line with infinities or NaN it does not matter: plain will multiply.
    const int exponent = most == 0 ? 0 : min(exponent_of(most), 127) - TOP;

    unsigned int least = ~0u;
    int small = 0, large = 0;
    walk_line<ALONG_K, VECTOR>(from, ld, line, lines, [&](long long at_k, const chunk_t &chunk) {
        unsigned int high[CHUNK / 2], low[CHUNK / 2];
#pragma unroll
        for (int i = 0; i < CHUNK; i += 2) {
            const float scaled[2] = {scale_by(chunk.element[i], -exponent), scale_by(chunk.element[i + 1], -exponent)};
            const unsigned int pair = to_halves(scaled[0], scaled[1]);
            high[i / 2] = pair;
            // Exact, and of at most 13 bits; f16 has 11 of them, whatever the exponent, because it is multiplied.
            low[i / 2] = to_halves((scaled[0] - from_half(pair & 0xffff)) * (1 << LOW), (scaled[1] - from_half(pair >> 16)) * (1 << LOW));
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const float size = fabsf(scaled[e]);
                const unsigned int bits = __float_as_uint(fabsf(chunk.element[i + e]));
                if (bits != 0) {
                    least = min(least, bits);
                    small += size < 1.0f / (1 << (2 * LOW + 5 - TOP));  // 2^-27 of the largest
                }
                large += size >= 1 << (TOP - 12);
            }
        }
        store_chunk(planes, all_lines, 0, line, at_k, high);
        store_chunk(planes, all_lines, 1, line, at_k, low);
    });
#pragma unroll
    for (int other = 16; other >= APART; other /= 2) {
        least = min(least, __shfl_xor_sync(~0u, least, other));
        small += __shfl_xor_sync(~0u, small, other);
        large += __shfl_xor_sync(~0u, large, other);
    }
    if (speaks) {
        atomicMin(&found[which].least, least);
        atomicAdd(&found[which].small, small);
        atomicAdd(&found[which].large, large);
    }
    __syncthreads();
    if (threadIdx.x / 32 < (ALONG_K ? LINES : 1) && speaks) {
        line_t known = found[which];
        if (known.most == 0)
            known.large = k;  // nothing of it can be lost
        exponents[line] = exponent;
        facts[line] = known;
    }
    __syncthreads();  // before found is made anew
}

// Launch: LINE_THREADS threads in a block, and as many blocks as multiprocessors hold, so that the second walk finds in the L2 what the
//         first one has read.
extern "C" __global__ void __launch_bounds__(LINE_THREADS, LINE_BLOCKS)
split_f32_512x300x700(
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    lines_t *lines,
    plane_t *M_planes,
    plane_t *N_planes)
{
    __shared__ line_t found[LINES];
    // The next kernel may get ready from here on, where the device can do that; it waits for what this one stores.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif

    const int m = m_of(blockIdx.z), n = n_of(blockIdx.z);
#pragma unroll 1
    for (long long first = blockIdx.x * LINES; first < M_LINES + N_LINES; first += static_cast<long long>(gridDim.x) * LINES)
        if (first < M_LINES) {
            if (M_PRODUCTS > 1 || blockIdx.z == 0)
                split_lines<true, 4>(found, M, ld_m, first, j, M_LINES, lines->m_exponent[m], lines->m[m], M_planes);
        } else if (N_PRODUCTS > 1 || blockIdx.z == 0) {
            split_lines<false, 1>(found, N, ld_n, first - M_LINES, l, N_LINES, lines->n_exponent[n], lines->n[n], N_planes);
        }
}

constexpr int DECIDE_THREADS = 256;

// The extremes of two sets of lines.
__device__ __forceinline__ line_t worst_of(const line_t &a, const line_t &b)
{
    return {max(a.most, b.most), min(a.least, b.least), max(a.small, b.small), min(a.large, b.large)};
}

__device__ __forceinline__ line_t worst_of_block(line_t worst)
{
    __shared__ line_t of_warp[DECIDE_THREADS / 32];
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
        worst = worst_of(worst, {__shfl_xor_sync(~0u, worst.most, other), __shfl_xor_sync(~0u, worst.least, other),
                                 __shfl_xor_sync(~0u, worst.small, other), __shfl_xor_sync(~0u, worst.large, other)});
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = worst;
    __syncthreads();
    for (int warp = 0; warp < DECIDE_THREADS / 32; ++warp)
        worst = worst_of(worst, of_warp[warp]);
    return worst;
}

__device__ __forceinline__ int choose_path(const line_t &m, const line_t &n)
{
    constexpr unsigned int INFINITE = 0x7f800000;
    if (m.most >= INFINITE || n.most >= INFINITE)
        return PATH_F32;
    if (m.most == 0 || n.most == 0)
        return PATH_F16;  // P is 0
    const int m_most = exponent_of(m.most), n_most = exponent_of(n.most);
    const int m_least = exponent_of(m.least), n_least = exponent_of(n.least);
    // A sum of k products might overflow on its way.
    if (m_most + n_most + 2 + (32 - __clz(static_cast<int>(k))) > 126)
        return PATH_F32;
    // A small element loses up to 2^-50 of the largest of its line. That is no more than f32 would lose if every row of M meets
    // every column of N in so many places where both are large.
    const long long small = static_cast<long long>(m.small) + n.small;
    const long long both_large = static_cast<long long>(m.large) + n.large - k;
    if (small == 0 || small <= 32 * both_large)
        return PATH_F16;
    // Each element has all its bits in three planes of bf16, and no product of them is so small that sums lose it.
    if (m_most <= 126 && n_most <= 126 && m_least >= -110 && n_least >= -110 && m_least + n_least >= -112)
        return PATH_BF16;
    return PATH_F32;
}

// Launch: DECIDE_THREADS threads in a block, one block for each product.
extern "C" __global__ void __launch_bounds__(DECIDE_THREADS)
decide_f32_512x300x700(
    const lines_t *lines,
    int *paths)
{
    const line_t none = {0, ~0u, 0, 0x7fffffff};
    const line_t *const m = lines->m[m_of(blockIdx.z)], *const n = lines->n[n_of(blockIdx.z)];
    line_t m_worst = none, n_worst = none;
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif

    // This kernel may have started before the previous one has ended, whose results it needs.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    if (blockIdx.x > 0)
        return;
    for (long long line = threadIdx.x; line < j; line += DECIDE_THREADS)
        m_worst = worst_of(m_worst, m[line]);
    for (long long line = threadIdx.x; line < l; line += DECIDE_THREADS)
        n_worst = worst_of(n_worst, n[line]);
    m_worst = worst_of_block(m_worst);
    n_worst = worst_of_block(n_worst);
    if (threadIdx.x == 0)
        paths[blockIdx.z] = choose_path(m_worst, n_worst);
}

// A block's tile of P: the kernels of both kinds of planes differ in their numbers alone.
template <int BM, int BN, int BK, int WM, int WN, int STAGES, int PLANES, int THREADS>
__device__ __forceinline__ void multiply_tile(
    const lines_t *lines,
    const plane_t *M_planes,
    const plane_t *N_planes,
    output_t *P)
{
    constexpr int K_STEP = 16;  // elements along k of one product of the tensor cores
    constexpr int STEPS = BK / K_STEP;  // of a phase
    constexpr int TM = WM / 8;  // elements of a thread in a column of P
    constexpr int TN = WN / 4;  // and in a row
    constexpr int CHUNK = 8;  // elements of 16 bytes
    constexpr int CHUNKS = BK / CHUNK;  // of a line of a tile
    struct __align__(128) phase_t {
        plane_t M[PLANES][BM * BK];
        plane_t N[PLANES][BN * BK];
    };
    extern __shared__ __align__(128) unsigned char shared[];
    phase_t *const tiles = reinterpret_cast<phase_t *>(shared);

    const int tile_y = blockIdx.y;
    const int tile_x = blockIdx.x;
    // This block's tile of P begins here.
    const index_t block_row = static_cast<index_t>(tile_y) * BM;
    const index_t block_col = static_cast<index_t>(tile_x) * BN;

    const index_t phases = (k + BK - 1) / BK;

    // The first row and column of P that this thread computes, in the block's tile. The next come 8 rows and columns further.
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warp_row = warp / (BN / WN) * WM;
    const int warp_col = warp % (BN / WN) * WN;
    const int thread_row = warp_row + lane / 4;
    const int thread_col = warp_col + lane % 4 * 2;

    // copy: the tiles of a phase, of all planes. The lines of a tile lie along k.
    constexpr int GO = THREADS / CHUNKS;  // lines that the block copies at a time
    const int copy_line = threadIdx.x / CHUNKS;
    const int copy_chunk = threadIdx.x % CHUNKS;
    const plane_t *m_from = &M_planes[(block_row + copy_line) * K_LINE + copy_chunk * CHUNK];
    const plane_t *n_from = &N_planes[(block_col + copy_line) * K_LINE + copy_chunk * CHUNK];
    const auto place = [](int line, int chunk) { return swizzle<CHUNKS>(line, chunk, line % 8) * CHUNK; };
    const auto copy = [&](phase_t &into) {
#pragma unroll
        for (int plane = 0; plane < PLANES; ++plane) {
#pragma unroll
            for (int line = 0; line < BM; line += GO)
                copy_async<16>(&into.M[plane][place(copy_line + line, copy_chunk)], &m_from[(plane * M_LINES + line) * K_LINE]);
#pragma unroll
            for (int line = 0; line < BN; line += GO)
                copy_async<16>(&into.N[plane][place(copy_line + line, copy_chunk)], &n_from[(plane * N_LINES + line) * K_LINE]);
        }
        m_from += BK;
        n_from += BK;
    };

    // multiply: the products of one step. Tensor cores cut off what their sums cannot hold, so they add up one step alone, what is small
    // first; the sums over all of k are made in FP32, which rounds.
    sum_t sum[TM][TN] = {};
    const auto multiply = [&](const phase_t &from, int step) {
        fragment_t n[PLANES][WN / 8][2];
#pragma unroll
        for (int plane = 0; plane < PLANES; ++plane)
#pragma unroll
            for (int c = 0; c < WN / 8; c += 2) {
                fragment_t fragment[4];  // of two products: columns 0 to 7 and 8 to 15
                load_matrices(fragment, &from.N[plane][place(warp_col + 8 * c + lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2)]);
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    n[plane][c + i / 2][i % 2] = fragment[i];
            }
#pragma unroll
        for (int r = 0; r < WM / 16; ++r) {
            fragment_t m[PLANES][4];
#pragma unroll
            for (int plane = 0; plane < PLANES; ++plane)
                load_matrices(m[plane], &from.M[plane][place(warp_row + 16 * r + lane % 16, step * 2 + lane / 16)]);
            sum_t part[WN / 8][4] = {};
#pragma unroll
            for (int order = PLANES - 1; order >= 0; --order) {
#pragma unroll
                for (int plane = 0; plane <= order; ++plane)
#pragma unroll
                    for (int c = 0; c < WN / 8; ++c)
                        multiply_add<PLANES == 3>(m[plane], n[order - plane][c], part[c][0], part[c][1], part[c][2], part[c][3]);
                if constexpr (PLANES == 2) {
                    if (order == 1) {
#pragma unroll
                        for (int c = 0; c < WN / 8; ++c)
#pragma unroll
                            for (int i = 0; i < 4; ++i)
                                part[c][i] *= 1.0f / (1 << LOW);
                    }
                }
            }
#pragma unroll
            for (int c = 0; c < WN / 8; ++c)
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    sum[2 * r + i / 2][2 * c + i % 2] += part[c][i];
        }
    };

#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        copy(tiles[s]);
        commit_copies();
    }
    int current = 0;        // the stage that is multiplied
    int free = STAGES - 1;  // the one that was multiplied before: it takes the next copies
    for (index_t phase = 0; phase < phases; ++phase) {
        wait_for_copies<STAGES - 2>();
        __syncthreads();  // this phase's tiles are complete, and nobody needs those of the phase before any more
        if (phase + STAGES - 1 < phases)
            copy(tiles[free]);
        commit_copies();
#pragma unroll
        for (int step = 0; step < STEPS; ++step)
            multiply(tiles[current], step);
        free = current;
        current = current + 1 < STAGES ? current + 1 : 0;
    }

    // The scales of the two lines are powers of two, and are taken back exactly.
    if constexpr (PLANES == 2) {
        int row_exponent[TM];
#pragma unroll
        for (int r = 0; r < TM; ++r)
            row_exponent[r] = lines->m_exponent[m_of(blockIdx.z)][block_row + thread_row + 8 * r];
#pragma unroll
        for (int c = 0; c < TN; c += 2) {
            const vector_t<int, 2> col_exponent = read<2>(&lines->n_exponent[n_of(blockIdx.z)][block_col + thread_col + 4 * c]);
#pragma unroll
            for (int r = 0; r < TM; ++r)
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    sum[r][c + i] = scale_by(sum[r][c + i], row_exponent[r] + col_exponent.element[i]);
                    asm volatile("" : "+f"(sum[r][c + i]));  // now, and not between the stores
                }
        }
    }

    // store: the thread's sums, as elements of P.
#pragma unroll
    for (int r = 0; r < TM; ++r) {
        const index_t Row = block_row + thread_row + r * 8;
#pragma unroll
        for (int c = 0; c < TN; c += P_VECTOR) {
            const index_t Col = block_col + thread_col + c / 2 * 8 + c % 2;
            if (Col >= l)  // all P_VECTOR of them, or none
                break;
            vector_t<output_t, P_VECTOR> value;
#pragma unroll
            for (int i = 0; i < P_VECTOR; ++i) {
                value.element[i] = static_cast<output_t>(sum[r][c + i]);
            }
            reinterpret_cast<vector_t<output_t, P_VECTOR> &>(P[Row * ld_p + Col]) = value;
        }
    }
}

// Launch: THREADS threads in a block, at least BLOCKS blocks on a multiprocessor,
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
planes_f32_512x300x700(
    const int *paths,
    const lines_t *lines,
    const plane_t *M_planes,
    const plane_t *N_planes,
    output_t *P)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif

#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    if (paths[blockIdx.z] != PATH_F16)
        return;
    multiply_tile<BM, BN, BK, WM, WN, STAGES, PLANES, THREADS>(
        lines, M_planes, N_planes,
        P);
}

__device__ __forceinline__ unsigned int to_bfloats(float first, float second)
{
    unsigned int pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
}

// LINES lines: what a plane cannot hold is left for the next, and after the third nothing is left.
template <bool ALONG_K, int VECTOR>
__device__ __forceinline__ void widen_lines(const input_t *from, long long ld, long long first, long long lines, long long all_lines, plane_t *planes)
{
    const long long line = first + line_of_thread<ALONG_K>();
    walk_line<ALONG_K, VECTOR>(from, ld, line, lines, [&](long long at_k, chunk_t chunk) {
#pragma unroll
        for (int plane = 0; plane < MOST_PLANES; ++plane) {
            unsigned int pairs[CHUNK / 2];
#pragma unroll
            for (int i = 0; i < CHUNK; i += 2) {
                const unsigned int pair = to_bfloats(chunk.element[i], chunk.element[i + 1]);
                pairs[i / 2] = pair;
                chunk.element[i] -= __uint_as_float(pair << 16);
                chunk.element[i + 1] -= __uint_as_float(pair & 0xffff0000);
            }
            store_chunk(planes, all_lines, plane, line, at_k, pairs);
        }
    });
}

// Launch: as split.
extern "C" __global__ void __launch_bounds__(LINE_THREADS, LINE_BLOCKS)
widen_f32_512x300x700(
    const int *paths,
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    plane_t *M_planes,
    plane_t *N_planes)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif

#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    if (paths[blockIdx.z] != PATH_BF16)
        return;
#pragma unroll 1
    for (long long first = blockIdx.x * LINES; first < M_LINES + N_LINES; first += static_cast<long long>(gridDim.x) * LINES)
        if (first < M_LINES)
            widen_lines<true, 4>(M, ld_m, first, j, M_LINES, M_planes);
        else
            widen_lines<false, 1>(N, ld_n, first - M_LINES, l, N_LINES, N_planes);
}

// Launch: 128 threads in a block, blocks of 64 x 64 elements of P.
extern "C" __global__ void __launch_bounds__(128)
wide_f32_512x300x700(
    const int *paths,
    const lines_t *lines,
    const plane_t *M_planes,
    const plane_t *N_planes,
    output_t *P)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif

#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    if (paths[blockIdx.z] != PATH_BF16)
        return;
    multiply_tile<64, 64, 32, 32, 32, 3, 3, 128>(
        lines, M_planes, N_planes,
        P);
}

// A warp has 32 x 32 elements of P, a thread 4 x 8 of them, in the places that it would have of tensor cores.
// Launch: 128 threads in a block, blocks of 64 x 64 elements of P.
extern "C" __global__ void __launch_bounds__(128)
plain_f32_512x300x700(
    const int *paths,
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    output_t *P)
{
    constexpr int BM = 64, BN = 64, BK = 16, WM = 32, WN = 32, TM = 4, TN = 8, THREADS = 128;
    __shared__ sum_t Mds[BK][BM + 1];
    __shared__ sum_t Nds[BK][BN + 1];
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    if (paths[blockIdx.z] != PATH_F32)
        return;
    const int tile_y = blockIdx.y;
    const int tile_x = blockIdx.x;
    // This block's tile of P begins here.
    const index_t block_row = static_cast<index_t>(tile_y) * BM;
    const index_t block_col = static_cast<index_t>(tile_x) * BN;

    const index_t phases = (k + BK - 1) / BK;
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int thread_row = warp / (BN / WN) * WM + lane / 4;
    const int thread_col = warp % (BN / WN) * WN + lane % 4 * 2;

    sum_t sum[TM][TN] = {};
    for (index_t phase = 0; phase < phases; ++phase) {
        for (int i = threadIdx.x; i < BM * BK; i += THREADS) {
            const int row = i / BK, kk = i % BK;
            const index_t at = (block_row + row) * ld_m + phase * BK + kk;
            Mds[kk][row] = block_row + row < j && phase * BK + kk < k ? M[at] : sum_t{0};
        }
        for (int i = threadIdx.x; i < BN * BK; i += THREADS) {
            const int col = i % BN, kk = i / BN;
            const index_t at = (phase * BK + kk) * ld_n + block_col + col;
            Nds[kk][col] = block_col + col < l && phase * BK + kk < k ? N[at] : sum_t{0};
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < BK; ++kk)
#pragma unroll
            for (int r = 0; r < TM; ++r)
#pragma unroll
                for (int c = 0; c < TN; ++c)
                    sum[r][c] += Mds[kk][thread_row + r * 8] * Nds[kk][thread_col + c / 2 * 8 + c % 2];
        __syncthreads();
    }

    // store: the thread's sums, as elements of P.
#pragma unroll
    for (int r = 0; r < TM; ++r) {
        const index_t Row = block_row + thread_row + r * 8;
#pragma unroll
        for (int c = 0; c < TN; c += P_VECTOR) {
            const index_t Col = block_col + thread_col + c / 2 * 8 + c % 2;
            if (Col >= l)  // all P_VECTOR of them, or none
                break;
            vector_t<output_t, P_VECTOR> value;
#pragma unroll
            for (int i = 0; i < P_VECTOR; ++i) {
                value.element[i] = static_cast<output_t>(sum[r][c + i]);
            }
            reinterpret_cast<vector_t<output_t, P_VECTOR> &>(P[Row * ld_p + Col]) = value;
        }
    }
}
