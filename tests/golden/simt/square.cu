// j1024 k1024 l1024 f32
//
//     P (1024 x 1024) = M (1024 x 1024) . N (1024 x 1024)
//
// One block computes one BM x BN tile of P, one thread TM x TN elements of it, which it keeps in
// registers. The k dimension is walked in phases of BK, one phase ahead: while the tiles of one phase
// are multiplied, those of the next are on their way from global memory into registers, and then go to
// the other half of shared memory. One barrier a phase is enough for that.
//
// A warp's lanes stand 4 x 8. The elements of a thread come in quads: 4 neighbouring rows by 4
// neighbouring columns, so that a quad's share of a tile is one 16-byte load from shared memory,
// the same address for all lanes of a row or a column.

using input_t = float;
using output_t = float;
using sum_t = float;
using index_t = int;

constexpr index_t j = 1024;
constexpr index_t k = 1024;
constexpr index_t l = 1024;
constexpr index_t ld_m = k;
constexpr index_t ld_n = l;
constexpr index_t ld_p = l;
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int BK = 8;
constexpr int TM = 8;
constexpr int TN = 8;
constexpr int WARP_ROWS = 4 * TM;
constexpr int WARP_COLS = 8 * TN;
constexpr int THREADS = 32 * (BM / WARP_ROWS) * (BN / WARP_COLS);
constexpr int BLOCKS = 1;
constexpr int PADDING = 4;  // of a row of a tile: neighbours along k are stored into other banks

// Launch: THREADS threads in a block,
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
simt_f32_1024x1024x1024(
    const input_t *__restrict__ M,
    const input_t *__restrict__ N,
    output_t *P)
{
    // Both tiles are stored k by k: a row holds what one step of the inner loop needs.
    __shared__ __align__(16) sum_t Mds[2][BK][BM + PADDING];
    __shared__ __align__(16) sum_t Nds[2][BK][BN + PADDING];

    // This block's tile of P begins here.
    const index_t block_row = static_cast<index_t>(blockIdx.y) * BM;
    const index_t block_col = static_cast<index_t>(blockIdx.x) * BN;

    // The first quad of this thread in the tile; the next ones are 16 rows or 32 columns further.
    const int thread = threadIdx.x;
    const int warp = thread / 32;
    const int lane = thread % 32;
    const int thread_row = warp / (BN / WARP_COLS) * WARP_ROWS + lane / 8 * 4;
    const int thread_col = warp % (BN / WARP_COLS) * WARP_COLS + lane % 8 * 4;

    sum_t Pvalue[TM][TN] = {};
    sum_t m_next[BM * BK / THREADS];  // this thread's share of the next tiles
    sum_t n_next[BK * BN / THREADS];

    for (index_t phase = -1; phase * BK < k; ++phase) {
        const bool is_last = (phase + 1) * BK >= k;

        // From global memory: the tiles of the next phase.
        if (!is_last) {
#pragma unroll
            for (int i = 0; i < BM * BK / THREADS; ++i) {
                const int e = thread + i * THREADS;  // neighbouring threads load neighbouring elements
                const index_t row = block_row + e / BK;
                const index_t kk = (phase + 1) * BK + e % BK;
                const index_t at = row * ld_m + kk;
                m_next[i] = M[at];
            }
#pragma unroll
            for (int i = 0; i < BK * BN / THREADS; ++i) {
                const int e = thread + i * THREADS;
                const index_t kk = (phase + 1) * BK + e / BN;
                const index_t col = block_col + e % BN;
                const index_t at = kk * ld_n + col;
                n_next[i] = N[at];
            }
        }

        // Multiply the tiles of this phase; before the first there are none.
        if (phase >= 0) {
            const int stage = phase & 1;
#pragma unroll
            for (int i = 0; i < BK; ++i) {
                sum_t m[TM], n[TN];
#pragma unroll
                for (int r = 0; r < TM; ++r)
                    m[r] = Mds[stage][i][thread_row + r / 4 * 16 + r % 4];
#pragma unroll
                for (int c = 0; c < TN; ++c)
                    n[c] = Nds[stage][i][thread_col + c / 4 * 32 + c % 4];
#pragma unroll
                for (int r = 0; r < TM; ++r)
#pragma unroll
                    for (int c = 0; c < TN; ++c)
                        Pvalue[r][c] += m[r] * n[c];
            }
        }

        // Into the other half of shared memory, which nobody has read since the last barrier.
        if (!is_last) {
            const int stage = (phase + 1) & 1;
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
            __syncthreads();  // the next tiles are complete, and everyone is done with these
        }
    }

#pragma unroll
    for (int r = 0; r < TM; ++r) {
        const index_t Row = block_row + thread_row + r / 4 * 16 + r % 4;
#pragma unroll
        for (int c = 0; c < TN; ++c) {
            const index_t Col = block_col + thread_col + c / 4 * 32 + c % 4;
            sum_t value = Pvalue[r][c];
            P[Row * ld_p + Col] = static_cast<output_t>(value);
        }
    }
}
