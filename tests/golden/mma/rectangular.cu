// j512 k304 l704 bf16
//
//     P (512 x 704) = M (512 x 304) . N (304 x 704)
//
// One block computes one BM x BN tile of P, one warp WM x WN elements of it, by products of 16 x 8 elements that the tensor cores
// make. The k dimension is walked in phases of BK, in four steps:
//
//                            BN
//                       +-----------+     copy      the tiles of a phase, from global memory past the registers into
//                    BK |  phase 0  |               one of STAGES places in shared memory: STAGES - 1 phases ahead
//                N      +-----------+     load      the fragments of one step of k, from there into registers: one step
//                    BK |  phase 1  |               ahead, into the other half of m and n
//        M              +-----------+     multiply  the fragments of one step, and add up the products
//    BK      BK               :           store     the sums, in the end
// +-------+-------+     +-----------+
// |phase 0|phase 1| ... | tile of P | BM
// +-------+-------+     +-----------+

// bfloat16 for storage: the upper 16 bits of a float.
struct bfloat16 {
    unsigned short bits;

    bfloat16() = default;

    // Round to nearest, ties to even. A NaN stays a NaN.
    __device__ explicit bfloat16(float value)
    {
#if __CUDA_ARCH__ >= 800
        unsigned int pair;  // value is its lower half
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.0f), "f"(value));
        bits = static_cast<unsigned short>(pair);
#else
        const unsigned int word = __float_as_uint(value);
        if ((word & 0x7fffffffu) > 0x7f800000u)
            bits = static_cast<unsigned short>((word >> 16) | 0x0040u);
        else
            bits = static_cast<unsigned short>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
#endif
    }

    // Convert from the packed half; shifting an integer makes ptxas widen every element to a 32-bit register.
    __device__ operator float() const
    {
        float value;
        asm("mov.b32 %0, {%1, %2};" : "=f"(value) : "h"(static_cast<unsigned short>(0)), "h"(bits));
        return value;
    }
};

using input_t = bfloat16;
using output_t = bfloat16;
using sum_t = float;
using index_t = int;

constexpr index_t j = 512;
constexpr index_t k = 304;
constexpr index_t l = 704;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 32;
constexpr int WM = 64;
constexpr int WN = 64;
constexpr int K_STEP = 16;  // elements along k of one product of the tensor cores
constexpr int STEPS = BK / K_STEP;  // of a phase
constexpr int TM = WM / 8;  // elements of a thread in a column of P
constexpr int TN = WN / 4;  // and in a row
constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
constexpr int STAGES = 3;
constexpr int BLOCKS = 1;
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

// Copies from global to shared memory past the registers (sm_80 and newer): a thread starts them, commits them as one group,
// and goes on; it waits for a group before it reads what the group brought.

// What is not wanted becomes zero, and is not read.
template <int BYTES>
__device__ __forceinline__ void copy_async_or_zero(void *to, const void *from, bool is_wanted)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(to));
    const int bytes = is_wanted ? BYTES : 0;
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from), "r"(bytes));
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared), "l"(from), "n"(BYTES), "r"(bytes));
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

// The same, transposed in units of 2 bytes: lane 4 g + t receives those numbered g of lines 2 t and 2 t + 1.
__device__ __forceinline__ void load_transposed(fragment_t (&to)[4], const void *line)
{
    const unsigned int shared = static_cast<unsigned int>(__cvta_generic_to_shared(line));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared));
}

__device__ __forceinline__ void multiply_add(const fragment_t (&m)[4], const fragment_t (&n)[2], sum_t &sum0, sum_t &sum1, sum_t &sum2, sum_t &sum3)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col"
                 ".f32"
                 ".bf16"
                 ".bf16"
                 ".f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum0),
                   "+f"(sum1),
                   "+f"(sum2),
                   "+f"(sum3)
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

// What one phase needs. The tiles lie as M and N do: a line holds neighbours in memory.
constexpr int CHUNK = 16 / sizeof(input_t);  // elements of 16 bytes
constexpr int M_LINES = BM, M_LINE = BK;  // lines, and elements of a line
constexpr int N_LINES = BK, N_LINE = BN;
constexpr int M_PITCH = M_LINE + 0;  // from one line to the next: so much more keeps lanes in different banks
constexpr int N_PITCH = N_LINE + 0;
struct __align__(128) phase_t {
    input_t M[M_LINES * M_PITCH];
    input_t N[N_LINES * N_PITCH];
};

// Where an element of a line lies in its tile.
__device__ __forceinline__ int m_place(int line, int element)
{
    return swizzle<M_LINE / CHUNK>(line, element / CHUNK, line % 8) * CHUNK + element % CHUNK;
}

__device__ __forceinline__ int n_place(int line, int element)
{
    return swizzle<N_LINE / CHUNK>(line, element / CHUNK, line % 8) * CHUNK + element % CHUNK;
}

// Launch: THREADS threads in a block, at least BLOCKS blocks on a multiprocessor,
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
mma_bf16_512x304x704(
    const input_t *M,
    const input_t *N,
    output_t *__restrict__ P)
{
    extern __shared__ phase_t tiles[];

    // This kernel may have started before the previous one has ended, whose results it needs.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    // The next kernel may get ready from here on, where the device can do that; it waits for what this one stores.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif

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

    // This thread's share of the copies: its first elements in each tile, and how many lines the block comes further in one go.
    constexpr int M_WIDTH = 8;  // elements of one copy
    constexpr int M_GO = THREADS * M_WIDTH / M_LINE;
    const int m_line = threadIdx.x / (M_LINE / M_WIDTH);
    const int m_first = threadIdx.x % (M_LINE / M_WIDTH) * M_WIDTH;
    const input_t *m_from = &M[(block_row + m_line) * ld_m + m_first];
    constexpr int N_WIDTH = 8;
    constexpr int N_GO = THREADS * N_WIDTH / N_LINE;
    const int n_line = threadIdx.x / (N_LINE / N_WIDTH);
    const int n_first = threadIdx.x % (N_LINE / N_WIDTH) * N_WIDTH;
    const input_t *n_from = &N[n_line * ld_n + block_col + n_first];
    const index_t n_left = l - block_col - n_first;  // elements inside N, from this thread's first on

    // copy: the tiles of a phase. What lies outside M and N becomes zero, and is not read.
    const auto copy = [&](phase_t &into, index_t phase) {
        const index_t k_left = k - phase * BK;
        const index_t m_left = k_left - m_first;
        const index_t n_lines_left = k_left - n_line;
#pragma unroll
        for (int line = 0; line < M_LINES; line += M_GO) {
            input_t *to = &into.M[m_place(m_line + line, m_first)];
            copy_async_or_zero<M_WIDTH * sizeof(input_t)>(to, &m_from[line * ld_m], m_left > 0);
        }
#pragma unroll
        for (int line = 0; line < N_LINES; line += N_GO) {
            input_t *to = &into.N[n_place(n_line + line, n_first)];
            copy_async_or_zero<N_WIDTH * sizeof(input_t)>(to, &n_from[line * ld_n], line < n_lines_left && n_left > 0);
        }
        m_from += BK;
        n_from += BK * ld_n;
    };

    // load: the fragments of one step, for the rows and columns of this warp.
    fragment_t m[2][WM / 16][4], n[2][WN / 8][2];
    const auto load = [&](const phase_t &from, int step) {
#pragma unroll
        for (int r = 0; r < WM / 16; ++r) {
            const int row = warp_row + 16 * r;
            fragment_t (&fragment)[4] = m[step % 2][r];
            load_matrices(fragment, &from.M[m_place(row + lane % 16, step * K_STEP + lane / 16 * CHUNK)]);
        }
#pragma unroll
        for (int c = 0; c < WN / 8; c += 2) {
            const int col = warp_col + 8 * c;
            fragment_t fragment[4];  // of two products: columns 0 to 7 and 8 to 15
            load_transposed(fragment, &from.N[n_place(step * K_STEP + lane % 16, col + lane / 16 * 8)]);
#pragma unroll
            for (int i = 0; i < 4; ++i)
                n[step % 2][c + i / 2][i % 2] = fragment[i];
        }
    };

    // multiply: one step's products, added to the thread's sums.
    sum_t sum[TM][TN] = {};
    const auto multiply = [&](int step) {
#pragma unroll
        for (int r = 0; r < WM / 16; ++r)
#pragma unroll
            for (int i = 0; i < WN / 8; ++i) {
                // To and fro, so that a fragment in two neighbouring products is read once.
                const int c = r % 2 == 0 ? i : WN / 8 - 1 - i;
                const int col = 2 * c, next = col + 1;
                multiply_add(m[step % 2][r], n[step % 2][c], sum[2 * r][col], sum[2 * r][next], sum[2 * r + 1][col], sum[2 * r + 1][next]);
            }
    };

#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        copy(tiles[s], s);
        commit_copies();
    }
    wait_for_copies<STAGES - 2>();
    __syncthreads();

    int current = 0;        // the stage that is multiplied
    int free = STAGES - 1;  // the one that was multiplied before: it takes the next copies
    load(tiles[0], 0);
    for (index_t phase = 0; phase < phases; ++phase) {
        const int next = current + 1 < STAGES ? current + 1 : 0;
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            if (step + 1 < STEPS) {
                load(tiles[current], step + 1);
            } else if (phase + 1 < phases) {
                wait_for_copies<STAGES - 2>();
                __syncthreads();  // the next phase's tiles are complete, and nobody needs this phase's any more
                load(tiles[next], 0);
            }
            if (step == 0) {
                if (phase + STAGES - 1 < phases)
                    copy(tiles[free], phase + STAGES - 1);
                commit_copies();
            }
            multiply(step);
        }
        free = current;
        current = next;
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
