// One block computes one BM x BN tile of P, one thread TM x TN elements of it, which it keeps in
// registers. The k dimension is walked in phases of BK, one phase ahead: while the tiles of one phase
// are multiplied, those of the next are on their way from global memory into registers, and then go to
// the other half of shared memory. One barrier a phase is enough for that.

#include "parts/card.cuh"  //@ include
#include "parts/simt_card.cuh"  //@ include
constexpr int PADDING = 4;  // of a row of a tile: neighbours along k are stored into other banks

//@ if vector_p and splits_k
//@| struct __align__(VEC * sizeof(sum_t)) sum_vector_t {
//@|     sum_t element[VEC];
//@| };

//@ elif vector_p
struct __align__(VEC * sizeof(output_t)) output_vector_t {
    output_t element[VEC];
};

//@ end
#include "parts/simt_launch.cuh"  //@ include
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
simt(  //@ kernel for simt
#include "parts/parameters.cuh"  //@ include
{
    // Both tiles are stored k by k: a row holds what one step of the inner loop needs.
    __shared__ __align__(16) sum_t Mds[2][BK][BM + PADDING];
    __shared__ __align__(16) sum_t Nds[2][BK][BN + PADDING];

#include "parts/derived.cuh"  //@ include
#include "parts/product.cuh"  //@ include
    //@ if splits_k
//@| #include "parts/dependents.cuh"  //@ include
    //@ end
#include "parts/simt_block.cuh"  //@ include

    sum_t Pvalue[TM][TN] = {};
    sum_t m_next[BM * BK / THREADS];  // this thread's share of the next tiles
    sum_t n_next[BK * BN / THREADS];

    for (index_t phase = -1; phase * BK < k_steps; ++phase) {
        const bool is_last = (phase + 1) * BK >= k_steps;

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
                //@ if clips_rows and check_k
                m_next[i] = row < j && kk < k_steps ? M[at] : sum_t{0};
                //@ elif clips_rows
                //@| m_next[i] = row < j ? M[at] : sum_t{0};
                //@ elif check_k
                //@| m_next[i] = kk < k_steps ? M[at] : sum_t{0};
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
                //@ if clips_cols and check_k
                n_next[i] = kk < k_steps && col < l ? N[at] : sum_t{0};
                //@ elif clips_cols
                //@| n_next[i] = col < l ? N[at] : sum_t{0};
                //@ elif check_k
                //@| n_next[i] = kk < k_steps ? N[at] : sum_t{0};
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
                    m[r] = Mds[stage][i][thread_row + r / VEC * (4 * VEC) + r % VEC];
#pragma unroll
                for (int c = 0; c < TN; ++c)
                    n[c] = Nds[stage][i][thread_col + c / VEC * (8 * VEC) + c % VEC];
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

    //@ if splits_k
//@| #include "parts/simt_partial.cuh"  //@ include
    //@ else
#include "parts/simt_store.cuh"  //@ include
    //@ end
}
//@ if splits_k

#include "parts/reduce.cuh"  //@ include
//@ end
