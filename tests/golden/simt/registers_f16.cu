// j128 k100 l101 f16
//
//     P (128 x 101) = M (128 x 100) . N (100 x 101)
//
// One block computes one BM x BN tile of P, one thread TM x TN elements of it, which it keeps in
// registers. The k dimension is walked in phases of BK, one phase ahead: while the tiles of one phase
// are multiplied, those of the next are on their way from global memory into registers, and then go to
// the other half of shared memory. One barrier a phase is enough for that.
//
// Within a phase, the threads read one step of k ahead as well: while the products of a step are summed,
// the elements of the next step come from shared memory into the other half of m and n.

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
constexpr int BLOCKS = 1;
constexpr int PADDING = 4;  // of a row of a tile: neighbours along k are stored into other banks

// Launch: THREADS threads in a block, at least BLOCKS blocks on a multiprocessor,
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
simt_f16_128x100x101(
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    output_t *P)
{
    // Both tiles are stored k by k: a row holds what one step of the inner loop needs.
    __shared__ __align__(16) sum_t Mds[2][BK][BM + PADDING];
    __shared__ __align__(16) sum_t Nds[2][BK][BN + PADDING];

    const int tile_y = blockIdx.y;
    const int tile_x = blockIdx.x;
    // This block's tile of P begins here.
    // One that would reach beyond the edge is moved back over its neighbour, so that no copy needs a check; what both
    // compute, the neighbour stores.
    const index_t block_row = static_cast<index_t>(tile_y) * BM;
    const index_t own_col = static_cast<index_t>(tile_x) * BN;
    const index_t block_col = min(own_col, static_cast<index_t>(l - BN));

    const index_t k_steps = k;

    // The lanes of a warp stand 4 x 8. A thread's elements come VEC x VEC at a time: here are its first ones in the tile,
    // the next are 4 * VEC rows or 8 * VEC columns further.
    const int thread = threadIdx.x;
    const int lane = thread % 32;
    const int warp = thread / 32;
    const int thread_row = warp / (BN / WARP_COLS) * WARP_ROWS + lane / 8 * VEC;
    const int thread_col = warp % (BN / WARP_COLS) * WARP_COLS + lane % 8 * VEC;

    input_t m_next[BM * BK / THREADS];  // this thread's share of the next tiles, as it is stored
    input_t n_next[BK * BN / THREADS];

    // From global memory: the tiles of the phase that begins at step k_begin.
    const auto fetch = [&](index_t k_begin) {
#pragma unroll
        for (int i = 0; i < BM * BK / THREADS; ++i) {
            const int e = thread + i * THREADS;  // neighbouring threads load neighbouring elements
            const index_t row = block_row + e / BK;
            const index_t kk = k_begin + e % BK;
            const index_t at = row * ld_m + kk;
            m_next[i] = kk < k_steps ? M[at] : input_t{};
        }
#pragma unroll
        for (int i = 0; i < BK * BN / THREADS; ++i) {
            const int e = thread + i * THREADS;
            const index_t kk = k_begin + e / BN;
            const index_t col = block_col + e % BN;
            const index_t at = kk * ld_n + col;
            n_next[i] = kk < k_steps ? N[at] : input_t{};
        }
    };

    // Into one half of shared memory, as what is summed.
    const auto store = [&](int stage) {
#pragma unroll
        for (int i = 0; i < BM * BK / THREADS; ++i) {
            const int e = thread + i * THREADS;
            Mds[stage][e % BK][e / BK] = m_next[i];
        }
#pragma unroll
        for (int i = 0; i < BK * BN / THREADS; ++i) {
            const int e = thread + i * THREADS;
            Nds[stage][e / BN][e % BN] = n_next[i];
        }
    };

    // One step's elements for this thread's rows and columns.
    sum_t m[2][TM], n[2][TN];
    const auto load = [&](int stage, int step) {
#pragma unroll
        for (int r = 0; r < TM; ++r)
            m[step % 2][r] = Mds[stage][step][thread_row + r / VEC * (4 * VEC) + r % VEC];
#pragma unroll
        for (int c = 0; c < TN; ++c)
            n[step % 2][c] = Nds[stage][step][thread_col + c / VEC * (8 * VEC) + c % VEC];
    };

    sum_t Pvalue[TM][TN] = {};
    int stage = 0;
    if (k_steps > 0) {
        fetch(0);
        store(0);
        __syncthreads();
        load(0, 0);
    }
    for (index_t k_begin = 0; k_begin < k_steps; k_begin += BK) {
        const bool is_last = k_begin + BK >= k_steps;
        if (!is_last)
            fetch(k_begin + BK);
#pragma unroll
        for (int step = 0; step < BK; ++step) {
            if (step + 1 < BK) {
                load(stage, step + 1);
            } else if (!is_last) {
                stage = 1 - stage;
                store(stage);     // nobody has read this half since the last barrier
                __syncthreads();  // the next tiles are complete, and everyone is done with these
                load(stage, 0);
            }
#pragma unroll
            for (int r = 0; r < TM; ++r)
#pragma unroll
                for (int i = 0; i < TN; ++i) {
                    const int c = r % 2 == 0 ? i : TN - 1 - i;  // to and fro: an operand in two neighbouring sums is read once
                    Pvalue[r][c] += m[step % 2][r] * n[step % 2][c];
                }
        }
    }

#pragma unroll
    for (int r = 0; r < TM; ++r) {
        const index_t Row = block_row + thread_row + r / VEC * (4 * VEC) + r % VEC;
        #pragma unroll
        for (int c = 0; c < TN; ++c) {
            const index_t Col = block_col + thread_col + c / VEC * (8 * VEC) + c % VEC;
            if (Col < own_col)
                continue;
            P[Row * ld_p + Col] = static_cast<output_t>(Pvalue[r][c]);
        }
    }
}
