// One block computes one BM x BN tile of P, one thread TM x TN elements of it, which it keeps in
// registers. The k dimension is walked in phases of BK, one phase ahead: while the tiles of one phase
// are multiplied, those of the next are on their way from global memory into registers, and then go to
// the other half of shared memory. One barrier a phase is enough for that.
//
// Within a phase, the threads read one step of k ahead as well: while the products of a step are summed,
// the elements of the next step come from shared memory into the other half of m and n.

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

    input_t m_next[BM * BK / THREADS];  // this thread's share of the next tiles, as it is stored
    input_t n_next[BK * BN / THREADS];

    // From global memory: the tiles of the phase that begins at step k_begin.
    const auto fetch = [&](index_t k_begin) {
#pragma unroll
        for (int i = 0; i < BM * BK / THREADS; ++i) {
            const int e = thread + i * THREADS;  // neighbouring threads load neighbouring elements
            //@ if m_row_major
            const index_t row = block_row + e / BK;
            const index_t kk = k_begin + e % BK;
            const index_t at = row * ld_m + kk;
            //@ else
            //@| const index_t row = block_row + e % BM;
            //@| const index_t kk = k_begin + e / BM;
            //@| const index_t at = kk * ld_m + row;
            //@ end
            //@ if clips_rows and check_k
            m_next[i] = row < j && kk < k_steps ? M[at] : input_t{};
            //@ elif clips_rows
            //@| m_next[i] = row < j ? M[at] : input_t{};
            //@ elif check_k
            //@| m_next[i] = kk < k_steps ? M[at] : input_t{};
            //@ else
            //@| m_next[i] = M[at];
            //@ end
        }
#pragma unroll
        for (int i = 0; i < BK * BN / THREADS; ++i) {
            const int e = thread + i * THREADS;
            //@ if n_row_major
            const index_t kk = k_begin + e / BN;
            const index_t col = block_col + e % BN;
            const index_t at = kk * ld_n + col;
            //@ else
            //@| const index_t kk = k_begin + e % BK;
            //@| const index_t col = block_col + e / BK;
            //@| const index_t at = col * ld_n + kk;
            //@ end
            //@ if clips_cols and check_k
            n_next[i] = kk < k_steps && col < l ? N[at] : input_t{};
            //@ elif clips_cols
            //@| n_next[i] = col < l ? N[at] : input_t{};
            //@ elif check_k
            //@| n_next[i] = kk < k_steps ? N[at] : input_t{};
            //@ else
            //@| n_next[i] = N[at];
            //@ end
        }
    };

    // Into one half of shared memory, as what is summed.
    const auto store = [&](int stage) {
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
#include "parts/simt_multiply.cuh"  //@ include
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
