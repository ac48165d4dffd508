// j512 k300 l700 f32 compute:f32_split
//
//     P (512 x 700) = M (512 x 300) . N (300 x 700)
//
// FP32-accurate products on the tensor cores of Hopper. An element of M or N is written as a sum of narrower numbers, its planes, whose
// products tensor cores make; their sums are f32. The kernels of this text follow each other in the stream, and each may start before
// the one ahead has ended, for whose results it then waits:
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
//
// Of the warpgroups of a block that multiplies, 128 threads each, the first one brings the tiles of all planes, a phase of BK after
// the other, into a ring of STAGES; the MULTIPLIERS that follow multiply them, 64 rows of the block's tile of P each.

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
constexpr int MULTIPLIERS = 2;
constexpr int BM = 64 * MULTIPLIERS;
constexpr int BN = 128;
constexpr int BK = 64;  // 128 bytes of elements of a plane
constexpr int K_STEP = 16;  // elements along k of one product of the tensor cores
constexpr int TM = 2;  // elements of a thread in a column of P
constexpr int TN = BN / 4;  // and in a row
constexpr int THREADS = 128 * (1 + MULTIPLIERS);
constexpr int BLOCKS = 1;
constexpr int GROUP = 8;
constexpr int P_VECTOR = 2;  // elements that one instruction stores

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

// Barriers in shared memory (mbarrier). A phase of one ends when as many have arrived as it was made for, and all bytes are there that
// were announced. Phases take turns as 0 and 1: who waits says which one is to end.
using barrier_t = unsigned long long;

__device__ __forceinline__ unsigned shared_address(const void *at)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

__device__ __forceinline__ void make_barrier(barrier_t &barrier, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&barrier)), "r"(arrivals) : "memory");
}

// What was made is there for the copy engine too.
__device__ __forceinline__ void publish_barriers()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void arrive(barrier_t &barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier)) : "memory");
}

// Arrive, and announce so many bytes that copies will bring.
__device__ __forceinline__ void arrive_and_expect(barrier_t &barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)), "r"(bytes) : "memory");
}

__device__ __forceinline__ void wait(barrier_t &barrier, int phase)
{
    asm volatile(
        "{\n"
        ".reg .pred is_over;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 is_over, [%0], %1;\n"
        "@!is_over bra again;\n"
        "}" ::"r"(shared_address(&barrier)), "r"(phase) : "memory");
}

// Copies of boxes out of a matrix that a tensor map describes, past the registers and threads (TMA). What lies outside the matrix
// becomes zero. The bytes that arrive are counted by a barrier.
struct alignas(128) tensor_map_t {
    unsigned char bytes[128];
};

__device__ __forceinline__ void copy_box(void *to, const tensor_map_t &from, int element, int line, barrier_t &barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared_address(to)), "l"(&from), "r"(element), "r"(line), "r"(shared_address(&barrier)) : "memory");
}

// The tensor cores of Hopper: the four warps of a warpgroup multiply 64 x K_STEP elements of M by K_STEP x BN of N, both read from
// shared memory, and add the products to their sums. It goes on next to the threads, until they wait for it.
//
// A warp has 16 of the 64 rows; its lanes have two columns of every 8, in two rows:
//
//              columns 0 1   2 3   4 5   6 7   8 9 ...
//     row 0    lane    0     1     2     3     0
//     row 1            4     5     6     7     4         upper
//       :              :
//     row 8            0     1     2     3     0         lower
//       :
//
// Tiles lie in lines of 128 bytes, whose 16-byte chunks have changed places as the copies made them: the pattern repeats every 8
// lines. A descriptor says where a tile begins, and how far apart its parts are.
__device__ __forceinline__ unsigned long long descriptor(const void *tile, int from_block_to_block)
{
    constexpr unsigned long long SWIZZLED_BY_128 = 1ULL << 62;
    constexpr unsigned long long EIGHT_LINES = 8 * 128 / 16;
    return SWIZZLED_BY_128 | EIGHT_LINES << 32 | static_cast<unsigned long long>(from_block_to_block / 16) << 16 | (shared_address(tile) & 0x3ffff) / 16;
}

// The descriptor of what begins so many bytes later.
__device__ __forceinline__ unsigned long long moved(unsigned long long descriptor, unsigned bytes)
{
    return descriptor + bytes / 16;
}

// Broadcast a warp-uniform value from lane 0, so that the compiler computes descriptors once for the warp, not in each thread.
__device__ __forceinline__ int of_warp(int value)
{
    return __shfl_sync(0xffffffff, value, 0);
}

// Sums, and what shared memory holds, are the tensor cores' from here on.
__device__ __forceinline__ void begin_products()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void commit_products()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Until no more than so many groups of products are still on their way.
template <int LEFT>
__device__ __forceinline__ void wait_for_products()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// What is done with the sums on one side of this may not be moved to the other.
template <int ROWS>
__device__ __forceinline__ void settle(sum_t (&sum)[ROWS][TN])
{
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int c = 0; c < TN; ++c)
            asm volatile("" : "+f"(sum[r][c])::"memory");
}

// adds: to the sums; otherwise the products take their place.
template <int SUMS>
__device__ __forceinline__ void multiply_add(unsigned long long m, unsigned long long n, sum_t (&upper)[SUMS], sum_t (&lower)[SUMS], bool adds)
{
    asm volatile(
        "{\n"
        ".reg .pred adds;\n"
        "setp.ne.b32 adds, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
        "{%0, %1, %2, %3"
        ", %4, %5, %6, %7"
        ", %8, %9, %10, %11"
        ", %12, %13, %14, %15"
        ", %16, %17, %18, %19"
        ", %20, %21, %22, %23"
        ", %24, %25, %26, %27"
        ", %28, %29, %30, %31"
        ", %32, %33, %34, %35"
        ", %36, %37, %38, %39"
        ", %40, %41, %42, %43"
        ", %44, %45, %46, %47"
        ", %48, %49, %50, %51"
        ", %52, %53, %54, %55"
        ", %56, %57, %58, %59"
        ", %60, %61, %62, %63"
        "}, %64, %65, adds"
        ", 1, 1"  // neither factor is negated
        ", 0"  // 1: M lies across k
        ", 0"  // 1: N lies across k
        ";\n"
        "}"
        : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1])
        , "+f"(upper[2]), "+f"(upper[3]), "+f"(lower[2]), "+f"(lower[3])
        , "+f"(upper[4]), "+f"(upper[5]), "+f"(lower[4]), "+f"(lower[5])
        , "+f"(upper[6]), "+f"(upper[7]), "+f"(lower[6]), "+f"(lower[7])
        , "+f"(upper[8]), "+f"(upper[9]), "+f"(lower[8]), "+f"(lower[9])
        , "+f"(upper[10]), "+f"(upper[11]), "+f"(lower[10]), "+f"(lower[11])
        , "+f"(upper[12]), "+f"(upper[13]), "+f"(lower[12]), "+f"(lower[13])
        , "+f"(upper[14]), "+f"(upper[15]), "+f"(lower[14]), "+f"(lower[15])
        , "+f"(upper[16]), "+f"(upper[17]), "+f"(lower[16]), "+f"(lower[17])
        , "+f"(upper[18]), "+f"(upper[19]), "+f"(lower[18]), "+f"(lower[19])
        , "+f"(upper[20]), "+f"(upper[21]), "+f"(lower[20]), "+f"(lower[21])
        , "+f"(upper[22]), "+f"(upper[23]), "+f"(lower[22]), "+f"(lower[23])
        , "+f"(upper[24]), "+f"(upper[25]), "+f"(lower[24]), "+f"(lower[25])
        , "+f"(upper[26]), "+f"(upper[27]), "+f"(lower[26]), "+f"(lower[27])
        , "+f"(upper[28]), "+f"(upper[29]), "+f"(lower[28]), "+f"(lower[29])
        , "+f"(upper[30]), "+f"(upper[31]), "+f"(lower[30]), "+f"(lower[31])
        : "l"(m), "l"(n), "r"(static_cast<int>(adds)));
}

// The same of bf16, for wide.
__device__ __forceinline__ void multiply_add_wide(unsigned long long m, unsigned long long n, sum_t (&upper)[TN], sum_t (&lower)[TN], bool adds)
{
    asm volatile(
        "{\n"
        ".reg .pred adds;\n"
        "setp.ne.b32 adds, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3"
        ", %4, %5, %6, %7"
        ", %8, %9, %10, %11"
        ", %12, %13, %14, %15"
        ", %16, %17, %18, %19"
        ", %20, %21, %22, %23"
        ", %24, %25, %26, %27"
        ", %28, %29, %30, %31"
        ", %32, %33, %34, %35"
        ", %36, %37, %38, %39"
        ", %40, %41, %42, %43"
        ", %44, %45, %46, %47"
        ", %48, %49, %50, %51"
        ", %52, %53, %54, %55"
        ", %56, %57, %58, %59"
        ", %60, %61, %62, %63"
        "}, %64, %65, adds, 1, 1, 0, 0;\n"
        "}"
        : "+f"(upper[0]), "+f"(upper[1]), "+f"(lower[0]), "+f"(lower[1])
        , "+f"(upper[2]), "+f"(upper[3]), "+f"(lower[2]), "+f"(lower[3])
        , "+f"(upper[4]), "+f"(upper[5]), "+f"(lower[4]), "+f"(lower[5])
        , "+f"(upper[6]), "+f"(upper[7]), "+f"(lower[6]), "+f"(lower[7])
        , "+f"(upper[8]), "+f"(upper[9]), "+f"(lower[8]), "+f"(lower[9])
        , "+f"(upper[10]), "+f"(upper[11]), "+f"(lower[10]), "+f"(lower[11])
        , "+f"(upper[12]), "+f"(upper[13]), "+f"(lower[12]), "+f"(lower[13])
        , "+f"(upper[14]), "+f"(upper[15]), "+f"(lower[14]), "+f"(lower[15])
        , "+f"(upper[16]), "+f"(upper[17]), "+f"(lower[16]), "+f"(lower[17])
        , "+f"(upper[18]), "+f"(upper[19]), "+f"(lower[18]), "+f"(lower[19])
        , "+f"(upper[20]), "+f"(upper[21]), "+f"(lower[20]), "+f"(lower[21])
        , "+f"(upper[22]), "+f"(upper[23]), "+f"(lower[22]), "+f"(lower[23])
        , "+f"(upper[24]), "+f"(upper[25]), "+f"(lower[24]), "+f"(lower[25])
        , "+f"(upper[26]), "+f"(upper[27]), "+f"(lower[26]), "+f"(lower[27])
        , "+f"(upper[28]), "+f"(upper[29]), "+f"(lower[28]), "+f"(lower[29])
        , "+f"(upper[30]), "+f"(upper[31]), "+f"(lower[30]), "+f"(lower[31])
        : "l"(m), "l"(n), "r"(static_cast<int>(adds)));
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

// All tiles of P of a block: the kernels of both kinds of planes differ in their numbers alone.
template <int PLANES, int STAGES>
__device__ __forceinline__ void multiply_tiles(
    const tensor_map_t &M_map,
    const tensor_map_t &N_map,
    const lines_t *lines,
    output_t *P)
{
    // What one phase needs: lines of 128 bytes of each plane.
    struct __align__(1024) phase_t {
        plane_t M[PLANES][BM][BK];
        plane_t N[PLANES][BN][BK];
    };
    struct shared_t {
        phase_t phase[STAGES];
        barrier_t full[STAGES];   // its tiles have come
        barrier_t empty[STAGES];  // nobody needs them any more
    };
    extern __shared__ __align__(1024) unsigned char shared[];
    shared_t &ring = reinterpret_cast<shared_t &>(shared);

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            make_barrier(ring.full[stage], 1);
            make_barrier(ring.empty[stage], 4 * MULTIPLIERS);  // a lane of each warp arrives
        }
        publish_barriers();
    }
    __syncthreads();

    // Tiles that are multiplied at the same time should find their lines in the L2: GROUP rows of tiles are walked together, column by
    // column.
    constexpr int rows = (j + BM - 1) / BM, cols = (l + BN - 1) / BN, phases = (k + BK - 1) / BK;
    const auto place_of = [&](int tile, index_t &block_row, index_t &block_col) {
        const int first = tile / (GROUP * cols) * GROUP;
        const int height = min(GROUP, rows - first);
        block_row = static_cast<index_t>(first + tile % (GROUP * cols) % height) * BM;
        block_col = static_cast<index_t>(tile % (GROUP * cols) / height) * BN;
    };
    int stage = 0;  // the place in the ring,
    int turn = 0;   // and how often it was passed: 0, 1, 0, 1 ...
    const auto next_stage = [&] {
        if (++stage == STAGES) {
            stage = 0;
            turn ^= 1;
        }
    };

    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        // One thread starts all copies. The planes of a matrix follow each other, line after line.
        if (threadIdx.x == 0) {
            const int m_line = m_of(blockIdx.z) * MOST_PLANES * static_cast<int>(M_LINES);
            const int n_line = n_of(blockIdx.z) * MOST_PLANES * static_cast<int>(N_LINES);
            for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {
                index_t block_row, block_col;
                place_of(tile, block_row, block_col);
                for (int phase = 0; phase < phases; ++phase) {
                    wait(ring.empty[stage], turn ^ 1);  // what is new counts as empty
                    arrive_and_expect(ring.full[stage], sizeof(phase_t));
#pragma unroll
                    for (int plane = 0; plane < PLANES; ++plane) {
                        copy_box(&ring.phase[stage].M[plane], M_map, phase * BK, m_line + plane * static_cast<int>(M_LINES) + block_row, ring.full[stage]);
                        copy_box(&ring.phase[stage].N[plane], N_map, phase * BK, n_line + plane * static_cast<int>(N_LINES) + block_col, ring.full[stage]);
                    }
                    next_stage();
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        // The first row and column of P that this thread computes, in the block's tile.
        const int lane = threadIdx.x % 32;
        const int group_row = (of_warp(threadIdx.x / 128) - 1) * 64;
        const int thread_row = group_row + threadIdx.x % 128 / 32 * 16 + lane / 4;
        const int thread_col = lane % 4 * 2;
        // What this warpgroup multiplies first at the ring's first place; all else lies so many bytes further on.
        const auto m_first = descriptor(&ring.phase[0].M[0][group_row], sizeof(ring.phase[0].M[0]));
        const auto n_first = descriptor(&ring.phase[0].N[0], sizeof(ring.phase[0].N[0]));

        for (int tile = blockIdx.x; tile < rows * cols; tile += gridDim.x) {
            index_t block_row, block_col;
            place_of(tile, block_row, block_col);
            // Tensor cores cut off what their sums cannot hold, so they add up one phase alone, what is small first; the sums over all of k are
            // made in FP32, which rounds.
            sum_t sum[TM][TN] = {}, part[TM][TN] = {};
            for (int phase = 0; phase < phases; ++phase) {
                const auto m_now = moved(m_first, stage * sizeof(phase_t)), n_now = moved(n_first, stage * sizeof(phase_t));
                wait(ring.full[stage], turn);
                settle(part);
                begin_products();
#pragma unroll
                for (int order = PLANES - 1; order >= 0; --order) {
#pragma unroll
                    for (int plane = 0; plane <= order; ++plane)
#pragma unroll
                        for (int kk = 0; kk < BK; kk += K_STEP) {
                            const auto m = moved(m_now, plane * sizeof(ring.phase[0].M[0]) + kk * sizeof(plane_t));
                            const auto n = moved(n_now, (order - plane) * sizeof(ring.phase[0].N[0]) + kk * sizeof(plane_t));
                            const bool adds = order < PLANES - 1 || plane > 0 || kk > 0;
                            if constexpr (PLANES == 2)
                                multiply_add(m, n, part[0], part[1], adds);
                            else
                                multiply_add_wide(m, n, part[0], part[1], adds);
                        }
                    if (PLANES == 2 && order == 1) {
                        commit_products();
                        wait_for_products<0>();
                        settle(part);
#pragma unroll
                        for (int c = 0; c < TN; ++c)
#pragma unroll
                            for (int r = 0; r < TM; ++r)
                                part[r][c] *= 1.0f / (1 << LOW);
                        settle(part);
                        begin_products();
                    }
                }
                commit_products();
                wait_for_products<0>();
                if (lane == 0)
                    arrive(ring.empty[stage]);
                settle(part);
#pragma unroll
                for (int c = 0; c < TN; ++c)
#pragma unroll
                    for (int r = 0; r < TM; ++r)
                        sum[r][c] += part[r][c];
                next_stage();
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
                        for (int i = 0; i < 2; ++i)
                            sum[r][c + i] = scale_by(sum[r][c + i], row_exponent[r] + col_exponent.element[i]);
                }
                settle(sum);  // now, and not between the stores
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
    }
}

// Launch: THREADS threads in a block, and as many blocks as multiprocessors hold, or as there are tiles of P.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
wgmma_planes_f32_512x300x700(
    const __grid_constant__ tensor_map_t M_map,
    const __grid_constant__ tensor_map_t N_map,
    const int *paths,
    const lines_t *lines,
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
    multiply_tiles<2, 3>(
        M_map, N_map, lines,
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

// Launch: as the one above.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
wide_f32_512x300x700(
    const __grid_constant__ tensor_map_t M_map,
    const __grid_constant__ tensor_map_t N_map,
    const int *paths,
    const lines_t *lines,
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
    multiply_tiles<3, 2>(
        M_map, N_map, lines,
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
