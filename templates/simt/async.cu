// One block computes one BM x BN tile of P, one thread TM x TN elements of it, which it keeps in registers.
// The k dimension is walked in phases of BK, in four steps:
//
//                            BN
//                       +-----------+     copy      the tiles of a phase, from global memory past the registers into
//                    BK |  phase 0  |               one of STAGES places in shared memory: STAGES - 1 phases ahead
//                N      +-----------+     load      the elements of one step of k, from there into registers: one
//                    BK |  phase 1  |               step ahead, into the other half of m and n
//        M              +-----------+     multiply  the elements of one step, and add up the products
//    BK      BK               :           store     the sums, in the end
// +-------+-------+     +-----------+
// |phase 0|phase 1| ... | tile of P | BM
// +-------+-------+     +-----------+
//@ if sliced
//
// SLICES groups of threads share the block's tile of P. Each takes its part of the steps of every phase, and in
// the end the first adds up what the others have.
//@ end

#include "parts/card.cuh"
#include "simt/card.cuh"
constexpr int STAGES = 3;
constexpr int STEPS = BK / SLICES;  // of a phase, for one thread  //@ only sliced
//@| constexpr int STEPS = BK;  // of a phase  //@ steps for BK  //@ only not sliced
constexpr int PIECES = STEPS / 4;  // of a phase's copies: one is started every second step, in the first half of a phase  //@ only spreads_copies

#include "parts/vector.cuh"
#include "parts/async.cuh"
#include "simt/phase.cuh"  //@ phase

#include "parts/rows.cuh"
#include "simt/launch.cuh"
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
simt(
    #include "parts/parameters.cuh"
{
    extern __shared__ phase_t tiles[];

    //@| #include "parts/awaits.cuh"  //@ awaits
    //@ lines derived
    #include "parts/product.cuh"
    //@| #include "parts/dependents.cuh"  //@ dependents
    #include "simt/block.cuh"
    const int slice = thread / TILE_THREADS;  //@ only sliced

    // This thread's share of the copies: its first elements in each tile, and how far the block comes in one go.
    #include "simt/share_along.cuh"  //@ m_share
    #include "simt/share_across.cuh"  //@ n_share  //@ with n for m, N for M, col for row, COLS for ROWS, BN for BM
    //@| #include "simt/spread_place.cuh"  //@ spread_place
    const index_t rows_left = j - block_row - m_row;  //@ only clips_rows
    const index_t cols_left = l - block_col - n_col;  //@ only clips_cols
    #include "simt/first_phase.cuh"  //@ first_phase

    //@| // copy: a piece of the tiles of a phase. Started all at once, the copies would hold up the loads that come after them.  //@ only spreads_copies
    // copy: the tiles of a phase.  //@ only not spreads_copies
    const auto copy = [&](phase_t &into, index_t phase, int piece) {  //@ , check_k, spreads_copies
        #include "simt/copy.cuh"
        #include "simt/copy.cuh"  //@ with n for m, N for M, col for row, cols for rows, COLS for ROWS, BN for BM
        if (piece < PIECES - 1)  //@ only spreads_copies
            return;
        const index_t steps = phase == 0 ? first_steps : BK;  //@ only check_k
        m_from += steps;  //@ m_advance for steps
        n_from += steps * ld_n;  //@ n_advance for steps * ld_n
    };

    #include "simt/load.cuh"  //@ load
    #include "simt/multiply.cuh"  //@ multiply
    #include "parts/walk.cuh"
    //@ if sliced

    // The sums of the other slices, one after the other: always in the same order.
    sum_t *const partial = reinterpret_cast<sum_t *>(tiles) + thread % TILE_THREADS;
    for (int s = 1; s < SLICES; ++s) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TM * TN; ++i)
            if (slice == s)
                partial[i * TILE_THREADS] = sum[i / TN][i % TN];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TM * TN; ++i)
            if (slice == 0)
                sum[i / TN][i % TN] += partial[i * TILE_THREADS];
    }
    if (slice > 0)
        return;
    //@ end

    #include "parts/store.cuh"  //@ store
}
#include "parts/reduce.cuh"  //@ only splits_k
//@| #include "parts/combine.cuh"  //@ only reduces
