// One block computes one BM x BN tile of P, one thread TM x TN elements of it, which it keeps in
// registers. The k dimension is walked in phases of BK, one phase ahead: while the tiles of one phase
// are multiplied, those of the next are on their way from global memory into registers, and then go to
// the other half of shared memory. One barrier a phase is enough for that.
//
// A warp's lanes stand 4 x 8. The elements of a thread come in quads: 4 neighbouring rows by 4
// neighbouring columns, so that a quad's share of a tile is one 16-byte load from shared memory,
// the same address for all lanes of a row or a column.

#include "parts/card.cuh"  //@ include
constexpr int BM = 128;  //@ bm
constexpr int BN = 128;  //@ bn
constexpr int BK = 8;  //@ bk
constexpr int TM = 8;  //@ tm
constexpr int TN = 8;  //@ tn
constexpr int WARP_ROWS = 4 * TM;
constexpr int WARP_COLS = 8 * TN;
constexpr int THREADS = 32 * (BM / WARP_ROWS) * (BN / WARP_COLS);
constexpr int BLOCKS = 1;  //@ blocks
constexpr int PADDING = 4;  // of a row of a tile: neighbours along k are stored into other banks

// Launch: THREADS threads in a block,
//@ if rows_on_y
//         (ceil(l / BN), ceil(j / BM)) blocks in the grid.
//@ else
//@| //         (ceil(j / BM), ceil(l / BN)) blocks in the grid.
//@ end
//@ if batched
//         blockIdx.z counts the products of the batch.
//@ end
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
simt(  //@ kernel for simt
#include "parts/parameters.cuh"  //@ include
{
    // Both tiles are stored k by k: a row holds what one step of the inner loop needs.
    __shared__ __align__(16) sum_t Mds[2][BK][BM + PADDING];
    __shared__ __align__(16) sum_t Nds[2][BK][BN + PADDING];

#include "parts/derived.cuh"  //@ include
    // This block's tile of P begins here.
    //@ if rows_on_y
    const index_t block_row = static_cast<index_t>(blockIdx.y) * BM;
    const index_t block_col = static_cast<index_t>(blockIdx.x) * BN;
    //@ else
    //@| const index_t block_row = static_cast<index_t>(blockIdx.x) * BM;  // on x, which counts further than y
    //@| const index_t block_col = static_cast<index_t>(blockIdx.y) * BN;
    //@ end

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
                //@ if m_row_major
                const index_t row = block_row + e / BK;
                const index_t kk = (phase + 1) * BK + e % BK;
                const index_t at = row * ld_m + kk;
                //@ else
                //@| const index_t row = block_row + e % BM;
                //@| const index_t kk = (phase + 1) * BK + e / BM;
                //@| const index_t at = kk * ld_m + row;
                //@ end
                //@ if check_j and check_k
                m_next[i] = row < j && kk < k ? M[at] : sum_t{0};
                //@ elif check_j
                //@| m_next[i] = row < j ? M[at] : sum_t{0};
                //@ elif check_k
                //@| m_next[i] = kk < k ? M[at] : sum_t{0};
                //@ else
                //@| m_next[i] = M[at];
                //@ end
            }
#pragma unroll
            for (int i = 0; i < BK * BN / THREADS; ++i) {
                const int e = thread + i * THREADS;
                //@ if n_row_major
                const index_t kk = (phase + 1) * BK + e / BN;
                const index_t col = block_col + e % BN;
                const index_t at = kk * ld_n + col;
                //@ else
                //@| const index_t kk = (phase + 1) * BK + e % BK;
                //@| const index_t col = block_col + e / BK;
                //@| const index_t at = col * ld_n + kk;
                //@ end
                //@ if check_l and check_k
                n_next[i] = kk < k && col < l ? N[at] : sum_t{0};
                //@ elif check_l
                //@| n_next[i] = col < l ? N[at] : sum_t{0};
                //@ elif check_k
                //@| n_next[i] = kk < k ? N[at] : sum_t{0};
                //@ else
                //@| n_next[i] = N[at];
                //@ end
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
                //@ if m_row_major
                Mds[stage][e % BK][e / BK] = m_next[i];
                //@ else
                //@| Mds[stage][e / BM][e % BM] = m_next[i];
                //@ end
            }
#pragma unroll
            for (int i = 0; i < BK * BN / THREADS; ++i) {
                const int e = thread + i * THREADS;
                //@ if n_row_major
                Nds[stage][e / BN][e % BN] = n_next[i];
                //@ else
                //@| Nds[stage][e % BK][e / BK] = n_next[i];
                //@ end
            }
            __syncthreads();  // the next tiles are complete, and everyone is done with these
        }
    }

#pragma unroll
    for (int r = 0; r < TM; ++r) {
        const index_t Row = block_row + thread_row + r / 4 * 16 + r % 4;
        //@ if check_j
        if (Row >= j)
            break;  // rows of a thread only grow
        //@ end
#pragma unroll
        for (int c = 0; c < TN; ++c) {
            const index_t Col = block_col + thread_col + c / 4 * 32 + c % 4;
            sum_t value = Pvalue[r][c];
            //@ if check_l
            if (Col >= l)
                break;
            //@ end
            //@ if has_alpha
            value *= alpha;
            //@ end
            //@ if has_beta
            if (beta != 0)  // beta = 0 must not read C: it may hold NaN, or nothing yet
                value += beta * C[Row * ld_c + Col];
            //@ end
            P[Row * ld_p + Col] = static_cast<output_t>(value);
        }
    }
}
