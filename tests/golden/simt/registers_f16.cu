// j128 k100 l101 f16
//
//     P (128 x 101) = M (128 x 100) . N (100 x 101)
//
// One block computes one BM x BN tile of P, one thread TM x TN elements of it, which it keeps in registers.
// The k dimension is walked in phases of BK, in five steps:
//
//                            BN
//                       +-----------+     fetch     the tiles of a phase, from global memory into registers: one
//                    BK |  phase 0  |               phase ahead
//                N      +-----------+     put       them from there into the half of shared memory that nobody
//                    BK |  phase 1  |               reads: one barrier a phase is enough for that
//        M              +-----------+     load      the elements of one step of k, from there into registers: one
//    BK      BK               :                     step ahead, into the other half of m and n
// +-------+-------+     +-----------+     multiply  the elements of one step, and add up the products
// |phase 0|phase 1| ... | tile of P | BM  store     the sums, in the end
// +-------+-------+     +-----------+

// IEEE half precision for storage: 16 bits in memory, a float in registers.
struct half {
    unsigned short bits;

    half() = default;

    // Round to nearest, ties to even.
    __device__ explicit half(float value)
    {
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    }

    __device__ operator float() const
    {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
        return value;
    }
};

using input_t = half;
using output_t = half;
using sum_t = float;
using index_t = int;

constexpr index_t j = 128;
constexpr index_t k = 100;
constexpr index_t l = 101;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr int BM = 64;
constexpr int BN = 64;
constexpr int BK = 16;
constexpr int TM = 8;
constexpr int TN = 4;
constexpr int VEC = 16 / sizeof(sum_t);  // elements of one 16-byte access to shared memory
constexpr int WARP_ROWS = 4 * TM;
constexpr int WARP_COLS = 8 * TN;
constexpr int TILE_THREADS = 32 * (BM / WARP_ROWS) * (BN / WARP_COLS);
constexpr int THREADS = TILE_THREADS;
constexpr int BLOCKS = 4;
constexpr int P_VECTOR = 1;  // elements that one instruction stores

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

template <int COUNT>
__device__ __forceinline__ vector_t<input_t, COUNT> read_or_zero(const input_t *from, bool is_wanted)
{
    return is_wanted ? read<COUNT>(from) : vector_t<input_t, COUNT>{};
}

// Launch: THREADS threads in a block, at least BLOCKS blocks on a multiprocessor,
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
simt_f16_128x100x101(
    const input_t *M,
    const input_t *N,
    output_t *__restrict__ P)
{
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
    // One that would reach beyond the edge is moved back over its neighbour, so that no copy needs a check; what both
    // compute, the neighbour stores.
    const index_t block_row = static_cast<index_t>(tile_y) * BM;
    const index_t own_col = static_cast<index_t>(tile_x) * BN;
    const index_t block_col = min(own_col, static_cast<index_t>(l - BN));

    const index_t phases = (k + BK - 1) / BK;

    // The lanes of a warp stand 4 x 8. A thread's elements come VEC x VEC at a time: here are its first ones in the tile,
    // the next are 4 * VEC rows or 8 * VEC columns further.
    const int thread = threadIdx.x;
    const int lane = thread % 32;
    const int warp = thread / 32;
    const int thread_row = warp / (BN / WARP_COLS) * WARP_ROWS + lane / 8 * VEC;
    const int thread_col = warp % (BN / WARP_COLS) * WARP_COLS + lane % 8 * VEC;

    // This thread's share of the copies: its first elements in each tile, and how far the block comes in one go.
    constexpr int M_WIDTH = 4;
    constexpr int M_RUN = 4;  // threads that copy neighbours along k, which go to different rows of the tile
    constexpr int M_ROWS = THREADS / M_RUN < BM ? THREADS / M_RUN : BM;
    constexpr int M_STEPS = THREADS * M_WIDTH / M_ROWS;
    const int m_row = thread / M_RUN % M_ROWS;
    const int m_kk = (thread / (M_RUN * M_ROWS) * M_RUN + thread % M_RUN) * M_WIDTH;
    const input_t *m_from = &M[(block_row + m_row) * ld_m + m_kk];
    constexpr int N_WIDTH = 1;
    constexpr int N_COLS = 32;
    constexpr int N_STEPS = THREADS * N_WIDTH / N_COLS;
    const int n_kk = thread / (N_COLS / N_WIDTH);
    const int n_col = thread % (N_COLS / N_WIDTH) * N_WIDTH;
    const input_t *n_from = &N[n_kk * ld_n + block_col + n_col];

    // The first phase takes what is no multiple of BK, so that all others are whole.
    const index_t first_steps = (k - 1) % BK + 1;

    // Where a tile's elements lie in shared memory: k by k, so that a row holds what one step of the inner loop needs. Some
    // places stay empty, so that what the lanes of a warp store at the same time goes to different banks.
    constexpr int M_SKEW = 8;
    constexpr auto m_place = [](int kk, int row) { return kk * BM + row + kk / M_WIDTH * M_SKEW; };
    constexpr auto n_place = [](int kk, int col) { return kk * BN + col; };
    __shared__ __align__(16) sum_t Mds[2][m_place(BK, 0)];
    __shared__ __align__(16) sum_t Nds[2][n_place(BK, 0)];

    // This thread's share of a phase, as it is stored.
    struct share_t {
        vector_t<input_t, M_WIDTH> M[BK / M_STEPS][BM / M_ROWS];
        vector_t<input_t, N_WIDTH> N[BK / N_STEPS][BN / N_COLS];
    } share;

    // fetch: the share of a phase.
    const auto fetch = [&](share_t &into, index_t phase) {
#pragma unroll
        for (int kk = 0; kk < BK; kk += M_STEPS) {
#pragma unroll
            for (int row = 0; row < BM; row += M_ROWS) {
                auto &to = into.M[kk / M_STEPS][row / M_ROWS];
                const input_t *from = &m_from[row * ld_m + kk];
                to = read_or_zero<M_WIDTH>(from, phase > 0 || m_kk + kk < first_steps);
            }
        }
#pragma unroll
        for (int kk = 0; kk < BK; kk += N_STEPS) {
#pragma unroll
            for (int col = 0; col < BN; col += N_COLS) {
                auto &to = into.N[kk / N_STEPS][col / N_COLS];
                const input_t *from = &n_from[kk * ld_n + col];
                to = read_or_zero<N_WIDTH>(from, phase > 0 || n_kk + kk < first_steps);
            }
        }
        const index_t steps = phase == 0 ? first_steps : BK;
        m_from += steps;
        n_from += steps * ld_n;
    };

    // put: the share into one half of shared memory, as elements of the sum.
    const auto put = [&](int stage, const share_t &from) {
#pragma unroll
        for (int kk = 0; kk < BK; kk += M_STEPS) {
#pragma unroll
            for (int row = 0; row < BM; row += M_ROWS) {
                sum_t *to = &Mds[stage][m_place(m_kk, m_row) + m_place(kk, row)];
                sum_t value[M_WIDTH];
#pragma unroll
                for (int i = 0; i < M_WIDTH; ++i)
                    value[i] = from.M[kk / M_STEPS][row / M_ROWS].element[i];
#pragma unroll
                for (int i = 0; i < M_WIDTH; ++i)
                    to[m_place(i, 0)] = value[i];
            }
        }
#pragma unroll
        for (int kk = 0; kk < BK; kk += N_STEPS) {
#pragma unroll
            for (int col = 0; col < BN; col += N_COLS) {
                sum_t *to = &Nds[stage][n_place(n_kk, n_col) + n_place(kk, col)];
                sum_t value[N_WIDTH];
#pragma unroll
                for (int i = 0; i < N_WIDTH; ++i)
                    value[i] = from.N[kk / N_STEPS][col / N_COLS].element[i];
#pragma unroll
                for (int i = 0; i < N_WIDTH; ++i)
                    to[i] = value[i];
            }
        }
    };

    // load: one step's elements for this thread's rows and columns.
    sum_t m[2][TM], n[2][TN];
    const auto load = [&](int stage, int step) {
        const sum_t *m_first = &Mds[stage][m_place(0, thread_row)];
        const sum_t *n_first = &Nds[stage][n_place(0, thread_col)];
#pragma unroll
        for (int r = 0; r < TM; ++r)
            m[step % 2][r] = m_first[m_place(step, r / VEC * (4 * VEC)) + r % VEC];
#pragma unroll
        for (int c = 0; c < TN; ++c)
            n[step % 2][c] = n_first[n_place(step, c / VEC * (8 * VEC)) + c % VEC];
    };

    // multiply: one step's products, added to the thread's sums.
    sum_t sum[TM][TN] = {};
    const auto multiply = [&](int step) {
#pragma unroll
        for (int r = 0; r < TM; ++r)
#pragma unroll
            for (int i = 0; i < TN; ++i) {
                // To and fro, so that an operand in two neighbouring sums is read once: column i, TN - 1 - i in odd rows.
                const int c = r % 2 * (TN - 1 - 2 * i) + i;
                sum[r][c] += m[step % 2][r] * n[step % 2][c];
            }
    };

    int stage = 0;
    fetch(share, 0);
    put(0, share);
    __syncthreads();
    load(0, 0);
    for (index_t phase = 0; phase < phases; ++phase) {
        const bool is_last = phase + 1 == phases;
        if (!is_last)
            fetch(share, phase + 1);
#pragma unroll
        for (int step = 0; step < BK; ++step) {
            if (step + 1 < BK) {
                load(stage, step + 1);
            } else if (!is_last) {
                stage = 1 - stage;
                put(stage, share);  // nobody has read this half since the last barrier
                __syncthreads();    // the next tiles are complete, and everyone is done with these
                load(stage, 0);
            }
            multiply(step);
        }
    }

    // store: the thread's sums, as elements of P.
#pragma unroll
    for (int r = 0; r < TM; ++r) {
        const index_t Row = block_row + thread_row + r / VEC * (4 * VEC) + r % VEC;
#pragma unroll
        for (int c = 0; c < TN; c += P_VECTOR) {
            const index_t Col = block_col + thread_col + c / VEC * (8 * VEC) + c % VEC;
            if (Col < own_col)  // all P_VECTOR of them, or none
                continue;
            sum_t &Pvalue = sum[r][c];
            P[Row * ld_p + Col] = static_cast<output_t>(Pvalue);
        }
    }
}
