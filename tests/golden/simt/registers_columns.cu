// j128 k96 l192 bf16 M:col N:col
//
//     P (128 x 192) = M (128 x 96) . N (96 x 192)
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

    // As halves of a register: shifted as an integer, the compiler keeps what is yet to be converted in registers of 32 bits.
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

constexpr index_t j = 128;
constexpr index_t k = 96;
constexpr index_t l = 192;
constexpr index_t ld_m = j;
constexpr index_t ld_n = k;
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
constexpr int BLOCKS = 5;
constexpr int P_VECTOR = 4;  // elements that one instruction stores

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

// Launch: THREADS threads in a block, at least BLOCKS blocks on a multiprocessor,
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
simt_bf16_128x96x192(
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    output_t *P)
{
    // This kernel may have started beside the one ahead, whose results it needs.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    // The kernel behind this one may get ready from now on, where the device can do that; it waits for what this one stores.
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif

    const int tile_y = blockIdx.y;
    const int tile_x = blockIdx.x;
    // This block's tile of P begins here.
    const index_t block_row = static_cast<index_t>(tile_y) * BM;
    const index_t block_col = static_cast<index_t>(tile_x) * BN;

    const index_t phases = (k + BK - 1) / BK;

    // The lanes of a warp stand 4 x 8. A thread's elements come VEC x VEC at a time: here are its first ones in the tile,
    // the next are 4 * VEC rows or 8 * VEC columns further.
    const int thread = threadIdx.x;
    const int lane = thread % 32;
    const int warp = thread / 32;
    const int thread_row = warp / (BN / WARP_COLS) * WARP_ROWS + lane / 8 * VEC;
    const int thread_col = warp % (BN / WARP_COLS) * WARP_COLS + lane % 8 * VEC;

    // This thread's share of the copies: its first elements in each tile, and how far the block comes in one go.
    constexpr int M_WIDTH = 8;
    constexpr int M_ROWS = 64;
    constexpr int M_STEPS = THREADS * M_WIDTH / M_ROWS;
    const int m_kk = thread / (M_ROWS / M_WIDTH);
    const int m_row = thread % (M_ROWS / M_WIDTH) * M_WIDTH;
    const input_t *m_from = &M[m_kk * ld_m + block_row + m_row];
    constexpr int N_WIDTH = 8;
    constexpr int N_RUN = 2;  // threads that copy neighbours along k, which go to different rows of the tile
    constexpr int N_COLS = THREADS / N_RUN < BN ? THREADS / N_RUN : BN;
    constexpr int N_STEPS = THREADS * N_WIDTH / N_COLS;
    const int n_col = thread / N_RUN % N_COLS;
    const int n_kk = (thread / (N_RUN * N_COLS) * N_RUN + thread % N_RUN) * N_WIDTH;
    const input_t *n_from = &N[(block_col + n_col) * ld_n + n_kk];

    // Where a tile's elements lie in shared memory: k by k, so that a row holds what one step of the inner loop needs. Some
    // places stay empty, so that what the lanes of a warp store at the same time goes to different banks.
    constexpr int M_LINE = BM + BM / (8 * VEC) * VEC;
    constexpr auto m_place = [](int kk, int row) { return kk * M_LINE + row + row / (8 * VEC) * VEC; };
    constexpr int N_SKEW = 16;
    constexpr auto n_place = [](int kk, int col) { return kk * BN + col + kk / N_WIDTH * N_SKEW; };
    __shared__ __align__(16) sum_t Mds[2][m_place(BK, 0)];
    __shared__ __align__(16) sum_t Nds[2][n_place(BK, 0)];

    // This thread's share of a phase, as it is stored.
    struct share_t {
        vector_t<input_t, M_WIDTH> M[BK / M_STEPS][BM / M_ROWS];
        vector_t<input_t, N_WIDTH> N[BK / N_STEPS][BN / N_COLS];
    } share;

    // fetch: the share of a phase.
    const auto fetch = [&](share_t &into) {
#pragma unroll
        for (int kk = 0; kk < BK; kk += M_STEPS) {
#pragma unroll
            for (int row = 0; row < BM; row += M_ROWS) {
                auto &to = into.M[kk / M_STEPS][row / M_ROWS];
                const input_t *from = &m_from[kk * ld_m + row];
                to = read<M_WIDTH>(from);
            }
        }
#pragma unroll
        for (int kk = 0; kk < BK; kk += N_STEPS) {
#pragma unroll
            for (int col = 0; col < BN; col += N_COLS) {
                auto &to = into.N[kk / N_STEPS][col / N_COLS];
                const input_t *from = &n_from[col * ld_n + kk];
                to = read<N_WIDTH>(from);
            }
        }
        m_from += BK * ld_m;
        n_from += BK;
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
                    to[i] = value[i];
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
                    to[n_place(i, 0)] = value[i];
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
    fetch(share);
    put(0, share);
    __syncthreads();
    load(0, 0);
    for (index_t phase = 0; phase < phases; ++phase) {
        const bool is_last = phase + 1 == phases;
        if (!is_last)
            fetch(share);
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
            vector_t<output_t, P_VECTOR> value;
#pragma unroll
            for (int i = 0; i < P_VECTOR; ++i) {
                value.element[i] = static_cast<output_t>(sum[r][c + i]);
            }
            reinterpret_cast<vector_t<output_t, P_VECTOR> &>(P[Row * ld_p + Col]) = value;
        }
    }
}
