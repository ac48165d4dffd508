// j=any k=any*2 l=any*2 f64 alpha beta batch=3
//
//     P (j x l) = alpha * M (j x k) . N (k x l) + beta * C
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

using input_t = double;
using output_t = double;
using sum_t = double;
using index_t = long long;  // an offset may pass the largest int

constexpr int BM = 64;
constexpr int BN = 64;
constexpr int BK = 16;
constexpr int WM = 32;
constexpr int WN = 32;
constexpr int K_STEP = 8;  // elements along k of one product of the tensor cores
constexpr int STEPS = BK / K_STEP;  // of a phase
constexpr int TM = WM / 8;  // elements of a thread in a column of P
constexpr int TN = WN / 4;  // and in a row
constexpr int THREADS = 32 * (BM / WM) * (BN / WN);
constexpr int STAGES = 4;
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
// A chunk is 4 elements along k, of which lane t holds the one numbered t.
using fragment_t = double;

__device__ __forceinline__ void multiply_add(const double (&m)[4], const double (&n)[2], double &sum0, double &sum1, double &sum2, double &sum3)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(sum0), "+d"(sum1), "+d"(sum2), "+d"(sum3)
                 : "d"(m[0]), "d"(m[1]), "d"(m[2]), "d"(m[3]), "d"(n[0]), "d"(n[1]));
#else
#pragma unroll
    for (int chunk = 0; chunk < 2; ++chunk) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(sum0), "+d"(sum1)
                     : "d"(m[2 * chunk]), "d"(n[chunk]));
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(sum2), "+d"(sum3)
                     : "d"(m[2 * chunk + 1]), "d"(n[chunk]));
    }
#endif
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

// Where an element of a line lies in its tile. In plain order lanes that load together would find their elements in the same banks. So
// groups of 4 elements, 32 bytes, change places in a line, in another way in each of 4 lines that follow each other.
__device__ __forceinline__ int m_place(int line, int element)
{
    return line * M_LINE + (element ^ line % 4 * 4);
}

__device__ __forceinline__ int n_place(int line, int element)
{
    return line * N_LINE + (element ^ line % 4 * 4);
}

// Launch: THREADS threads in a block, at least BLOCKS blocks on a multiprocessor,
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.
//         blockIdx.z counts the products of the batch.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
mma_f64_jxkxl(
    int j,
    int k,
    int l,
    sum_t alpha,
    sum_t beta,
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    const output_t *C,  // may be P itself
    output_t *P)
{
    extern __shared__ phase_t tiles[];

    const index_t ld_m = k;
    const index_t ld_n = l;
    const index_t ld_p = l;
    const index_t ld_c = l;
    const long long stride_m = ld_m * j;
    const long long stride_n = ld_n * k;
    const long long stride_p = ld_p * j;
    const long long stride_c = ld_c * j;

    // The product of the batch that this block works on.
    M += blockIdx.z * stride_m;
    N += blockIdx.z * stride_n;
    C += blockIdx.z * stride_c;
    P += blockIdx.z * stride_p;

    const int tile_y = blockIdx.y;
    const int tile_x = blockIdx.x;
    // This block's tile of P begins here.
    const index_t block_row = static_cast<index_t>(tile_y) * BM;
    const index_t block_col = static_cast<index_t>(tile_x) * BN;

    const index_t phases = (static_cast<index_t>(k) + BK - 1) / BK;

    // The first row and column of P that this thread computes, in the block's tile. The next come 8 rows and columns further.
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warp_row = warp / (BN / WN) * WM;
    const int warp_col = warp % (BN / WN) * WN;
    const int thread_row = warp_row + lane / 4;
    const int thread_col = warp_col + lane % 4 * 2;

    // This thread's share of the copies: its first elements in each tile, and how many lines the block comes further in one go.
    constexpr int M_WIDTH = 2;  // elements of one copy
    constexpr int M_GO = THREADS * M_WIDTH / M_LINE;
    const int m_line = threadIdx.x / (M_LINE / M_WIDTH);
    const int m_first = threadIdx.x % (M_LINE / M_WIDTH) * M_WIDTH;
    const input_t *m_from = &M[(block_row + m_line) * ld_m + m_first];
    constexpr int N_WIDTH = 2;
    constexpr int N_GO = THREADS * N_WIDTH / N_LINE;
    const int n_line = threadIdx.x / (N_LINE / N_WIDTH);
    const int n_first = threadIdx.x % (N_LINE / N_WIDTH) * N_WIDTH;
    const input_t *n_from = &N[n_line * ld_n + block_col + n_first];
    const index_t m_lines_left = j - block_row - m_line;  // inside M, from this thread's first on
    const index_t n_left = l - block_col - n_first;  // elements inside N, from this thread's first on

    // copy: the tiles of a phase. What lies outside M and N becomes zero, and is not read.
    const auto copy = [&](phase_t &into, index_t phase) {
        const index_t k_left = k - phase * BK;
        const index_t m_left = k_left - m_first;
        const index_t n_lines_left = k_left - n_line;
#pragma unroll
        for (int line = 0; line < M_LINES; line += M_GO) {
            input_t *to = &into.M[m_place(m_line + line, m_first)];
            copy_async_or_zero<M_WIDTH * sizeof(input_t)>(to, &m_from[line * ld_m], line < m_lines_left && m_left > 0);
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
        // This lane's first elements, counted from the first tile of all: the others lie whole lines and groups of 16 further, or in other
        // groups of 4 or 8 of the 16, whose numbers the swizzle changes bit by bit. Only two places stay in registers from phase to phase.
        const input_t *const all = tiles->M;
        const int m_at = static_cast<int>(from.M - all) + m_place(warp_row + lane / 4, lane % 4);
        const int n_at = static_cast<int>(from.N - all) + n_place(lane % 4, warp_col + lane / 4);
#pragma unroll
        for (int r = 0; r < WM / 16; ++r) {
            fragment_t (&fragment)[4] = m[step % 2][r];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                fragment[i] = all[(16 * r + i % 2 * 8) * M_LINE + step / 2 * 16 + (m_at ^ step % 2 * 8 + i / 2 * 4)];
        }
#pragma unroll
        for (int c = 0; c < WN / 8; c += 2) {
            fragment_t fragment[4];  // of two products: columns 0 to 7 and 8 to 15
#pragma unroll
            for (int i = 0; i < 4; ++i)
                fragment[i] = all[(step * K_STEP + i % 2 * 4) * N_LINE + 8 * c + (n_at ^ i / 2 * 8)];
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
        if (s < phases)
            copy(tiles[s], s);
        commit_copies();
    }
    wait_for_copies<STAGES - 2>();
    __syncthreads();

    int current = 0;        // the stage that is multiplied
    int free = STAGES - 1;  // the one that was multiplied before: it takes the next copies
    if (phases > 0)
        load(tiles[0], 0);
    for (index_t phase = 0; phase < phases; ++phase) {
        // The last phase goes on to load what it began with, which nobody multiplies: a branch around that would take longer.
        const int next = phase + 1 == phases ? current : current + 1 < STAGES ? current + 1 : 0;
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            if (step + 1 < STEPS) {
                load(tiles[current], step + 1);
            } else {
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
        if (Row >= j)
            break;  // rows of a thread only grow
#pragma unroll
        for (int c = 0; c < TN; c += P_VECTOR) {
            const index_t Col = block_col + thread_col + c / 2 * 8 + c % 2;
            if (Col >= l)  // all P_VECTOR of them, or none
                break;
            vector_t<output_t, P_VECTOR> before = {};
            if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet
                before = read<P_VECTOR>(&C[Row * ld_c + Col]);
            vector_t<output_t, P_VECTOR> value;
#pragma unroll
            for (int i = 0; i < P_VECTOR; ++i) {
                sum[r][c + i] *= alpha;
                if (beta != 0)
                    sum[r][c + i] += beta * before.element[i];
                value.element[i] = static_cast<output_t>(sum[r][c + i]);
            }
            reinterpret_cast<vector_t<output_t, P_VECTOR> &>(P[Row * ld_p + Col]) = value;
        }
    }
}
