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

#include "parts/card.cuh"
#include "simt/card.cuh"

#include "parts/vector.cuh"
template <int COUNT>  //@ only copies_or_zero
__device__ __forceinline__ vector_t<input_t, COUNT> read_or_zero(const input_t *from, bool is_wanted)
{
    return is_wanted ? read<COUNT>(from) : vector_t<input_t, COUNT>{};
}
//@ if copies_or_zero

//@ end
#include "parts/rows.cuh"
#include "simt/launch.cuh"
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
simt(
    #include "parts/parameters.cuh"
{
    //@| #include "parts/awaits.cuh"  //@ awaits
    //@ lines derived
    #include "parts/product.cuh"
    //@| #include "parts/dependents.cuh"  //@ dependents
    #include "simt/block.cuh"

    // This thread's share of the copies: its first elements in each tile, and how far the block comes in one go.
    #include "simt/share_along.cuh"  //@ m_share
    #include "simt/share_across.cuh"  //@ n_share  //@ with n for m, N for M, col for row, COLS for ROWS, BN for BM
    //@| #include "simt/spread_place.cuh"  //@ spread_place
    const index_t rows_left = j - block_row - m_row;  //@ only clips_rows
    const index_t cols_left = l - block_col - n_col;  //@ only clips_cols
    #include "simt/first_phase.cuh"  //@ first_phase

    // Where a tile's elements lie in shared memory: k by k, so that a row holds what one step of the inner loop needs. Some
    // places stay empty, so that what the lanes of a warp store at the same time goes to different banks.
    #include "simt/place_along.cuh"  //@ m_places
    #include "simt/place_across.cuh"  //@ n_places  //@ with n for m, N for M, col for row, BN for BM
    __shared__ __align__(16) sum_t Mds[2][m_place(BK, 0)];
    __shared__ __align__(16) sum_t Nds[2][n_place(BK, 0)];

    // This thread's share of a phase, as it is stored.
    struct share_t {
        vector_t<input_t, M_WIDTH> M[BK / M_STEPS][BM / M_ROWS];
        vector_t<input_t, N_WIDTH> N[BK / N_STEPS][BN / N_COLS];
    } share;

    // fetch: the share of a phase.
    const auto fetch = [&](share_t &into, index_t phase) {  //@ , check_k
        #include "simt/fetch.cuh"
        #include "simt/fetch.cuh"  //@ with n for m, N for M, col for row, cols for rows, COLS for ROWS, BN for BM
        const index_t steps = phase == 0 ? first_steps : BK;  //@ only check_k
        m_from += steps;  //@ m_advance for steps
        n_from += steps * ld_n;  //@ n_advance for steps * ld_n
    };

    // put: the share into one half of shared memory, as elements of the sum.
    const auto put = [&](int stage, const share_t &from) {
        #include "simt/put.cuh"
        #include "simt/put.cuh"  //@ with n for m, N for M, Nds for Mds, col for row, COLS for ROWS, BN for BM
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

    #include "simt/multiply.cuh"
    int stage = 0;
    //@| if (phases > 0) {  //@ only may_be_empty
    //@|     fetch(share, 0);  //@ , check_k
    //@|     put(0, share);
    //@|     __syncthreads();
    //@|     load(0, 0);
    //@| }
    //@ if not may_be_empty
    fetch(share, 0);  //@ , check_k
    put(0, share);
    __syncthreads();
    load(0, 0);
    //@ end
    for (index_t phase = 0; phase < phases; ++phase) {
        const bool is_last = phase + 1 == phases;
        if (!is_last)
            fetch(share, phase + 1);  //@ , check_k
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

    #include "parts/store.cuh"  //@ store
}
#include "parts/reduce.cuh"  //@ only splits_k
//@| #include "parts/combine.cuh"  //@ only reduces
